"""The code blocks of the page on backends that need a GPU, as they stand there, and its table of CUDA's capabilities."""

import threading

import pytest
from simulated import simulated_cuda
from test_backends_page import CAPABILITIES, DEVICES, run

import tack
from tack.ir.types import DTYPES
from tack.runtime import device as devices

DEVICES_GPU = """\
gpu = tack.device("cuda")
grid = tack.zeros(1024, device=gpu) # allocated on the GPU
b = x.to_device(gpu)                # a copy of the CPU array
c = tack.empty_like(b)              # on b's device
scale(b, c, 2.0)                    # runs on the GPU, whatever the default
"""

CUDA = """\
tack.set_default_device("cuda")
"""

THREAD = """\
from cuda.bindings import driver

_, cu_device = driver.cuDeviceGet(0)
_, primary = driver.cuDevicePrimaryCtxRetain(cu_device)   # in the other thread
driver.cuCtxSetCurrent(primary)
"""


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    monkeypatch.delenv("TACK_DEVICE", raising=False)
    monkeypatch.setattr(devices, "_default", None)


@pytest.fixture(scope="module")
def gpu():
    return simulated_cuda()[0]


@pytest.mark.spec("back-001", "back-004", "back-018", "back-021", "back-037")
def test_devices(tmp_path, gpu):
    names = run(tmp_path, DEVICES)
    found = run(tmp_path, DEVICES_GPU, tack=tack, x=names["x"], scale=names["scale"])
    assert found["gpu"] is gpu and found["grid"].device is gpu and not found["grid"].numpy().any()
    assert found["c"].device is gpu and found["c"].numpy().tolist() == [2.0 * k for k in range(8)]
    assert str(tack.get_default_device()) == "cpu" and len(gpu._backend._cache[names["scale"]]) == 1


@pytest.mark.spec("back-042", "back-045", "back-048", "back-057", "back-061", "back-096", "back-135")
def test_capabilities(tmp_path, gpu):
    run(tmp_path, CUDA, tack=tack)
    assert tack.get_default_device() is gpu
    be = run(tmp_path, CAPABILITIES)["be"]
    assert be is gpu._backend and be.label == "CUDA" and be.supports_f64 and be.supports_workgroups
    assert be.supports_device_reductions and be.supported_dtypes == DTYPES
    assert set(be.supported_atomic_dtypes) == {tack.i32, tack.u32, tack.i64, tack.u64, tack.f32, tack.f64}
    assert be.capabilities.supports_textures and be.capabilities.supports_print
    assert be.capabilities.max_iterations == gpu.properties["limits"]["max_grid"][0] * 256


@pytest.mark.spec("back-103")
def test_a_thread_that_makes_the_context_current(tmp_path, gpu):
    names = run(tmp_path, DEVICES)
    x = names["x"].to_device(gpu)
    found = []

    def work():
        block = run(tmp_path, THREAD)
        names["scale"](x, x, 5.0)
        found.append(x.numpy())
        block["driver"].cuDevicePrimaryCtxRelease(block["cu_device"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].tolist() == [5.0 * k for k in range(8)]
