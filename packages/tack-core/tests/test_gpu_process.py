"""What is decided once in a process that uses a simulated GPU: which context Tack works in, and how it ends."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fresh_process import run_program

SETUP = """
import atexit
import tack_sim
tack_sim.install("cuda", count=2)
from cuda.bindings import driver
import numpy as np
import tack

def checked(function, *args):
    code, *values = function(*args)
    assert not code, (function.__name__, code)
    return values[0] if len(values) == 1 else values

def current():
    return int(checked(driver.cuCtxGetCurrent))

def primary_is_active(index):
    return checked(driver.cuDevicePrimaryCtxGetState, index)[1]

@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor

def use(device):
    x = tack.ones(300, device=device)
    scale(x, x, 2.0)
    return x.sum()

checked(driver.cuInit, 0)
"""


def ended(body):
    """A program after `SETUP` that has run to its end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(SETUP + body)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=120)


def program(body):
    """What a program prints in which the simulated driver finds nothing wrong, not even a leak at the end."""
    done = ended(body)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.spec("back-099")
def test_a_context_that_is_current_is_adopted_and_left_alone():
    out = program("""
own = checked(driver.cuCtxCreate, None, 0, 0)
def at_the_end():
    print(int(own) == current(), primary_is_active(0))
    pointer = checked(driver.cuMemAlloc, 16)
    checked(driver.cuMemFree, pointer)
    checked(driver.cuCtxDestroy, own)
atexit.register(at_the_end)
gpu = tack.device("cuda")
print(gpu.memory.api.context == int(own) == current(), use(gpu), primary_is_active(0))
checked(driver.cuCtxPopCurrent)
try:
    use(gpu)
except RuntimeError as error:
    print("cuCtxSetCurrent" in str(error))
checked(driver.cuCtxPushCurrent, own)
""")
    assert out.splitlines() == ["True 600.0 0", "True", "True 0"]


@pytest.mark.spec("back-097", "back-100")
def test_the_primary_context_is_retained_once_and_released():
    """Another library holds it, too: it lives on when Tack has released it; the other device's goes."""
    out = program("""
def at_the_end():
    print(primary_is_active(0), primary_is_active(1))
    checked(driver.cuDevicePrimaryCtxRelease, 0)
    print(primary_is_active(0))
atexit.register(at_the_end)
other = checked(driver.cuDevicePrimaryCtxRetain, 0)
gpus = [tack.device(f"cuda:{k}") for k in (0, 1)]
print(current() == int(other) == gpus[0].memory.api.context, [use(gpu) for gpu in gpus], primary_is_active(1))
""")
    assert out.splitlines() == ["True [600.0, 600.0] 1", "1 0", "0"]


def test_a_primary_context_that_is_current_is_retained_too():
    out = program("""
def at_the_end():
    print(primary_is_active(0))
atexit.register(at_the_end)
other = checked(driver.cuDevicePrimaryCtxRetain, 0)
checked(driver.cuCtxSetCurrent, other)
gpu = tack.device("cuda")
checked(driver.cuDevicePrimaryCtxRelease, 0)
print(primary_is_active(0), use(gpu))
""")
    assert out.splitlines() == ["1 600.0", "0"]


@pytest.mark.spec("back-031")
def test_a_bare_cuda_follows_the_framework_that_came_first():
    out = program("""
other = checked(driver.cuDevicePrimaryCtxRetain, 1)
checked(driver.cuCtxSetCurrent, other)
tack.set_default_device("cuda")
print(tack.get_default_device(), tack.device("cuda"), current() == int(other), tack.ones(3).sum())
zero = tack.device("cuda:0")
print(use(zero), current() == int(other), tack.device("cuda"))
checked(driver.cuDevicePrimaryCtxRelease, 1)
""")
    assert out.splitlines() == ["cuda:1 cuda:1 True 3.0", "600.0 True cuda:1"]


def test_a_program_ends_without_a_word():
    """With arrays, kernels, textures and exports that live to the end, and a queue that nobody has waited for."""
    out = program("""
gpu = tack.device("cuda")
x = tack.ones(300, device=gpu)
y = x.copy()
del y
scale(x, x, 2.0)
texture = tack.texture3d(np.zeros((2, 2, 2), np.float32), device=gpu)
capsule = x[10:].__dlpack__()
class Cycle: pass
cycle = Cycle()
cycle.me, cycle.array = cycle, x.copy()
scale(x, x, 2.0)
print("done")
""")
    assert out == "done"


BEYOND = """
@tack.kernel
def beyond(x, n):
    for i in range(n):
        x[i] = 1

x = tack.ones(300, device="cuda")
scale(x, x, 2.0)
tack.sync()
beyond(x, 4000)
"""


def test_a_failure_that_nobody_has_waited_for_is_told_at_the_end():
    assert "kernel 'beyond' was queued" in ended(BEYOND).stderr


@pytest.mark.spec("back-067")
def test_an_error_of_a_launch_is_raised_at_the_wait():
    """It names the kernels queued since the last wait and CUDA's meaning, at each wait after it."""
    done = ended(
        BEYOND
        + """
scale(x[:10], x[:10], 2.0)
for wait in (tack.sync, x.numpy, lambda: x[3], x.sum, x.__dlpack__, tack.device("cuda").synchronize):
    try:
        wait()
    except RuntimeError as error:
        text = str(error)
        assert "'beyond'" in text and "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text, text
        print(type(error).__name__)
"""
    )
    assert done.stdout.splitlines() == ["CudaError"] * 6
    assert "beyond" in done.stderr and "Traceback" not in done.stderr, "the simulated driver's report alone"


def test_a_forked_process_is_told():
    done = ended("""
import multiprocessing
x = tack.ones(300, device="cuda")

def child(results):
    try:
        scale(x, x, 2.0)
        results.put("ran")
    except RuntimeError as error:
        results.put(str(error))

context = multiprocessing.get_context("fork")
results = context.SimpleQueue()
process = context.Process(target=child, args=(results,))
process.start()
print(results.get())
process.join()
print(process.exitcode, use("cuda"))
""")
    first, second, last = done.stdout.splitlines()
    assert first.endswith("has failed: this process was forked from one that uses CUDA, which does not work in both")
    assert "spawn" in second and last == "0 600.0"


@pytest.mark.spec("cache-204")
def test_code_of_a_gpu_is_kept_on_the_disk(tmp_path):
    """A second process compiles nothing: PTX is loaded, and scalars get a pack of their own."""
    body = """
from tack.runtime import cuda_nvrtc
compiled = []
real = cuda_nvrtc.compile_ptx
cuda_nvrtc.compile_ptx = lambda source, kernel, compute: (compiled.append(kernel), real(source, kernel, compute))[1]

@tack.kernel
def last(x, shift) -> float:
    for i in range(x.size):
        x[i] = i + shift
    return x[x.size - 1]

@tack.kernel
def less_first(x, out):
    first = x[0]
    for i in range(out.size):
        out[i] = x[i] - first

gpu = tack.device("cuda")
x = tack.ones(300, device=gpu)
scale(x, x, 3.0)
print(x.numpy().sum(), last(x, 1), last(x, 2))
less_first(x, x)
print(x[299], compiled, [v.from_disk for k in (scale, last, less_first) for v in k.variants()])
"""
    (tmp_path / "cache").mkdir(mode=0o700)
    env = {"TACK_CACHE": "write", "TACK_CACHE_DIR": str(tmp_path / "cache")}
    path = tmp_path / "kernels.py"
    path.write_text(SETUP + body)
    code = f"import runpy; runpy.run_path({str(path)!r})"
    first, second = (run_program(code, **env).splitlines() for _ in range(2))
    assert first == ["900.0 300.0 301.0", "299.0 ['scale', 'last', 'less_first'] [False, False, False]"]
    assert second == ["900.0 300.0 301.0", "299.0 [] [True, True, True]"]


def test_a_driver_older_than_nvrtc():
    """The driver refuses the version of the PTX: both versions are named, and the wheel to install."""
    out = run_program("""
        import tack
        import tack_sim
        tack_sim.install("cuda", ptx_version=(9, 0), driver_version=13000)

        @tack.kernel
        def fill(x):
            for i in range(x.size):
                x[i] = 1

        x = tack.ones(10, device="cuda")
        try:
            fill(x)
        except RuntimeError as error:
            print(error)
    """)
    first, second = out.splitlines()
    start = "Kernel 'fill': the driver knows CUDA 13.0 and cannot load the PTX that NVRTC 13."
    assert first.startswith(start) and first.endswith(" writes")
    assert second.endswith("install the NVRTC of its version: pip install 'nvidia-cuda-nvrtc==13.0.*'.")


def test_the_setting_that_simulates():
    out = run_program(
        """
        import sys
        import tack
        assert "tack_sim" not in sys.modules
        x = tack.ones(10)
        print(x.device, x.sum(), tack.device_count("cuda"), "tack_sim" in sys.modules)
        """,
        TACK_SIMULATE="cuda",
        TACK_DEVICE="cuda",
    )
    assert out == "cuda:0 10.0 1 True"
