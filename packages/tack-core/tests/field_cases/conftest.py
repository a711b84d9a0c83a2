"""Field cases run on the CPU, whatever an earlier test left as the default device."""

import pytest

import tack


@pytest.fixture(autouse=True)
def on_the_cpu():
    tack.set_default_device("cpu")
    yield
    tack.set_debug(False)
