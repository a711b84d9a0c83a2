"""Settings of the whole suite: kernels are compiled from scratch, and random tests are the same in every run."""

import os

import pytest

os.environ.setdefault("TACK_CACHE", "off")

from hypothesis import HealthCheck, settings

settings.register_profile("tack", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tack")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts in tests/golden anew")


def pytest_terminal_summary(terminalreporter):
    """What the conformance suite ran on each device."""
    lines = [v for r in terminalreporter.getreports("passed") for name, v in r.user_properties if name == "conformance"]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(line)
