"""The code blocks of the page on backends that need no GPU, as they stand there, and its table of CPU capabilities."""

import runpy

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES
from tack.runtime import device as devices
from tack.runtime.backend import require_iterations

DEVICES = """\
import numpy as np
import tack

tack.set_default_device("cpu")


@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


x = tack.arange(8, dtype=tack.f32)
out = tack.empty_like(x)            # on x's device
scale(x, out, 2.0)                  # runs where x and out are
assert x.device == tack.get_default_device() and str(x.device) == "cpu"

serial = tack.device("cpu", num_threads=1)
with serial:                        # the default device inside the block
    y = tack.ones(8)
    scale(x, out, 3.0)              # serial can address CPU arrays: runs there
assert y.device == serial
assert x.to_device(serial) is x     # same memory, so no copy
np.testing.assert_allclose(out.numpy(), np.arange(8) * 3.0)
"""

CAPABILITIES = """\
from tack.runtime.dispatch import get_backend
be = get_backend()
be.supports_f64, be.supports_workgroups, be.supported_atomic_dtypes
"""

CPU = """\
tack.set_default_device("cpu")
"""


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    monkeypatch.delenv("TACK_DEVICE", raising=False)
    monkeypatch.setattr(devices, "_default", None)


def run(tmp_path, block, **names):
    """The names that a block leaves behind, run as a script, so that its kernels have a source file."""
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    return runpy.run_path(str(script), init_globals=names)


@pytest.mark.spec("back-036", "back-020", "back-034", "back-035", "back-077", "back-032", "back-010")
def test_devices(tmp_path):
    names = run(tmp_path, DEVICES)
    x, out, scale, serial = (names[name] for name in ("x", "out", "scale", "serial"))
    assert len(serial._backend._cache[scale]) == 1 == len(x.device._backend._cache[scale])  # each compiled its own
    scale(x, out, 4.0)
    np.testing.assert_array_equal(out.numpy(), np.arange(8, dtype=np.float32) * 4)
    assert len(tack.device("cpu")._backend._cache[scale]) == 1
    with serial:
        assert serial._backend.pool.threads == 1


@pytest.mark.spec("back-061", "back-041", "back-050", "back-056", "back-133")
def test_capabilities(tmp_path):
    backend = run(tmp_path, CAPABILITIES)["be"]
    assert backend is tack.device("cpu")._backend and backend.label == "CPU"
    assert backend.supports_f64 and not backend.supports_workgroups and not backend.supports_device_reductions
    assert set(backend.supported_dtypes) == set(DTYPES)
    assert set(backend.supported_atomic_dtypes) <= set(DTYPES)
    require_iterations(backend.capabilities, 2**63 - 1, kernel="k")  # all that an index can count


@pytest.mark.spec("back-084")
def test_cpu(tmp_path):
    run(tmp_path, CPU, tack=tack)
    assert str(tack.get_default_device()) == "cpu"


def test_properties_of_the_cpu():
    facts = tack.device("cpu", num_threads=2).properties
    assert set(facts) == {"name", "memory", "compute_units", "limits"}
    assert facts["name"] and facts["compute_units"] == 2 and (facts["memory"] or 2**30) >= 2**20
