"""Settings of the whole suite: kernels are compiled from scratch, and random tests are the same in every run."""

import os

import pytest

os.environ.setdefault("TACK_CACHE", "off")

from hypothesis import HealthCheck, settings

settings.register_profile("tack", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tack")


@pytest.fixture(autouse=True, scope="session")
def messages_have_one_form():
    """Whatever message a test gets: it ends without a full stop, and what to write instead is whole sentences."""
    from tack.errors import Diagnostic

    text = Diagnostic.text

    def checked(self):
        assert self.message and self.message[-1] not in ".!? \n", f"a message ends without a full stop: {self.message!r}"
        assert not self.remedy or self.remedy[-1] in ".?", f"a remedy ends with a full stop: {self.remedy!r}"
        return text(self)

    Diagnostic.text = checked
    yield
    Diagnostic.text = text


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts in tests/golden anew")


def pytest_terminal_summary(terminalreporter):
    """What the conformance suite ran on each device."""
    lines = [v for r in terminalreporter.getreports("passed") for name, v in r.user_properties if name == "conformance"]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(line)
