"""Fixtures of the simulated driver's tests."""

import pytest


@pytest.fixture
def cuda():
    """The first of two fresh devices of 1 GiB, with its primary context current."""
    from driver_tools import machine

    with machine(memory=1 << 30) as first:
        yield first
