"""The CUDA backend on a simulated GPU, by NVIDIA's own binding and compiler: devices, contexts, errors, exchange, waiting."""

import asyncio
import gc
import re
import threading

import numpy as np
import pytest
from cuda.bindings import driver
from fresh_process import run_program
from simulated import simulated_cuda

import tack
import tack_sim
from tack.runtime import cuda_backend, cuda_driver, cuda_nvrtc
from tack.runtime import device as devices
from tack.runtime.dispatch import get_backend


@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


@tack.kernel
def total(x) -> float:
    for i in range(x.size):
        x[i] = x[i] + 1
    return x[0] + x[x.size - 1]


@tack.kernel
def less_first(x, out):
    first = x[0]
    for i in range(out.size):
        out[i] = x[i] - first


@tack.kernel
def out_of_bounds(x, n):
    for i in range(n):
        x[i] = 1


@pytest.fixture(scope="module")
def gpus():
    return simulated_cuda(2)


@pytest.fixture(scope="module")
def gpu(gpus):
    return gpus[0]


@pytest.fixture(autouse=True)
def _nothing_is_found_wrong(request):
    """The simulated driver has no complaints, but in tests that ask for `complaints`."""
    yield
    tack.sync()
    found = tack_sim.take_reports()
    assert not found or "complaints" in request.fixturenames, found


@pytest.fixture
def complaints():
    """For tests that do something wrong."""


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    monkeypatch.setattr(devices, "_default", None)


def checked(function, *args):
    code, *values = function(*args)
    assert not code, (function.__name__, code)
    return values[0] if len(values) == 1 else values


# --------------------------------------------------------------------------------------------------------------- devices


@pytest.mark.spec("back-009", "back-029", "back-030", "back-031")
def test_devices_are_numbered(gpus):
    assert tack.device_count("cuda") == 2
    assert [str(each) for each in gpus] == ["cuda:0", "cuda:1"]
    assert tack.device("cuda") is tack.device("cuda:0") is gpus[0], "the GPU that this thread uses"
    with pytest.raises(ValueError) as error:
        tack.device("cuda:2")
    assert str(error.value) == ("device 'cuda:2' is not there: device_count('cuda') is 2\n  Devices: \"cuda:0\" to \"cuda:1\".")


@pytest.mark.spec("back-031")
def test_a_bare_cuda_is_the_gpu_that_the_thread_uses(gpus):
    checked(driver.cuCtxPushCurrent, driver.CUcontext(gpus[1].memory.api.context))
    try:
        assert tack.device("cuda") is gpus[1]
    finally:
        checked(driver.cuCtxPopCurrent)
    assert tack.device("cuda") is gpus[0]


@pytest.mark.spec("back-018", "back-037")
def test_the_code_block_of_devices(gpu):
    x = tack.arange(8, dtype=tack.f32)
    grid = tack.zeros(1024, device=gpu)  # allocated on the GPU
    b = x.to_device(gpu)  # a copy of the CPU array
    c = tack.empty_like(b)  # on b's device
    scale(b, c, 2.0)  # runs on the GPU, whatever the default
    assert grid.device is b.device is c.device is gpu and tack.get_default_device() is tack.device("cpu")
    assert c.numpy().tolist() == [0, 2, 4, 6, 8, 10, 12, 14] and not grid.numpy().any()


@pytest.mark.spec("back-033")
def test_arrays_move_between_gpus_through_the_host(gpus):
    x = tack.arange(300, dtype=tack.f32, device=gpus[0])
    scale(x, x, 2.0)
    b = x.to_device(tack.device("cuda:1"))
    scale(b, b, 3.0)
    assert b.device is gpus[1] and np.array_equal(b.numpy(), np.arange(300) * 6)
    assert np.array_equal(x.numpy(), np.arange(300) * 2)
    with pytest.raises(ValueError, match="share no memory"):
        scale(x, b, 1.0)


@pytest.mark.spec("back-096", "back-061")
def test_the_default_device(gpu):
    tack.set_default_device("cuda")
    be = get_backend()
    assert be is gpu._backend and (be.supports_f64, be.supports_workgroups, be.supports_device_reductions) == (True,) * 3
    assert be.supported_atomic_dtypes == (tack.i32, tack.u32, tack.i64, tack.u64, tack.f32, tack.f64)
    x = tack.ones(10)
    scale(x, x, 4.0)
    assert x.device is gpu and x.sum() == 40.0


def test_properties(gpu):
    facts = gpu.properties
    assert facts["name"] == "Simulated NVIDIA GPU (tack-sim)" and facts["memory"] > 0 and facts["compute_units"] > 0
    assert facts["limits"]["max_iterations"] == facts["limits"]["max_grid"][0] * 256


# ------------------------------------------------------------------------------------------------------------- contexts


def in_thread(work):
    """What `work` returns or raises on a thread of its own."""
    found = []

    def run():
        try:
            found.append(work())
        except Exception as error:  # it belongs to the caller
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.spec("back-097", "back-101")
def test_the_primary_context_is_current_on_the_thread_that_asked_first(gpus):
    primary = int(checked(driver.cuDevicePrimaryCtxRetain, checked(driver.cuDeviceGet, 0)))
    checked(driver.cuDevicePrimaryCtxRelease, checked(driver.cuDeviceGet, 0))
    assert gpus[0].memory.api.context == primary == int(checked(driver.cuCtxGetCurrent))
    tack.zeros(3, device=gpus[1]).fill(1)
    assert int(checked(driver.cuCtxGetCurrent)) == primary, "work on another GPU leaves it current"


@pytest.mark.spec("back-102", "back-103")
def test_other_threads_make_the_context_current_themselves(gpu):
    x = tack.ones(300, device=gpu)
    scale(x, x, 2.0)
    for work in (lambda: scale(x, x, 2.0), lambda: x.numpy(), lambda: tack.zeros(3, device="cuda:0"), lambda: x.fill(3)):
        error = in_thread(work)
        assert type(error) is RuntimeError and str(error) == (
            "no CUDA context is current on this thread, which uses cuda:0\n"
            "  Make the one that Tack works in current first:\n"
            "    from cuda.bindings import driver\n"
            "    _, cu_device = driver.cuDeviceGet(0)\n"
            "    _, primary = driver.cuDevicePrimaryCtxRetain(cu_device)\n"
            "    driver.cuCtxSetCurrent(primary)\n"
            "  A thread on which PyTorch, CuPy or the CUDA runtime has used the device has it already."
        )

    def work():
        _, cu_device = driver.cuDeviceGet(0)
        _, primary = driver.cuDevicePrimaryCtxRetain(cu_device)
        driver.cuCtxSetCurrent(primary)
        scale(x, x, 2.0)
        found = x.numpy()
        driver.cuDevicePrimaryCtxRelease(cu_device)
        return found

    assert in_thread(work).tolist() == [4.0] * 300


def test_waiting_needs_no_context(gpu):
    x = tack.ones(300, device=gpu)
    scale(x, x, 2.0)
    assert in_thread(tack.sync) is None and in_thread(gpu.synchronize) is None


def test_the_last_reference_may_go_on_any_thread(gpu):
    held = [tack.ones(300, device=gpu)]
    scale(held[0], held[0], 2.0)
    assert in_thread(held.clear) is None
    tack.sync()
    tack.sync()


@pytest.mark.spec("back-105", "back-106")
def test_threads_call_one_kernel_with_scalars_of_their_own(gpu):
    wrong = []

    def work(k):
        checked(driver.cuCtxSetCurrent, driver.CUcontext(gpu.memory.api.context))
        x, out = tack.ones(300, device=gpu), tack.empty(300, device=gpu)
        for n in range(10):
            scale(x, out, float(100 * k + n))
            if n % 3 == 0 and out[299] != 100 * k + n:
                wrong.append((k, n))
        if out.numpy().tolist() != [100.0 * k + 9] * 300:
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ------------------------------------------------------------------------------------------------------- what kernels do


@pytest.mark.spec("back-066")
def test_sync_is_for_memory_that_others_read(gpu):
    x = tack.ones(300, device=gpu)
    stream = checked(driver.cuStreamCreate, driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    values = np.empty(300, np.float32)
    scale(x, x, 4.0)
    tack.sync()
    checked(driver.cuMemcpyDtoHAsync, values.ctypes.data, x._buffer.address, values.nbytes, stream)
    checked(driver.cuStreamSynchronize, stream)
    assert values.tolist() == [4.0] * 300
    checked(driver.cuStreamDestroy, stream)


@pytest.mark.spec("back-093", "back-094")
@pytest.mark.parametrize("dtype", cuda_backend.CAPABILITIES.supported_dtypes, ids=str)
def test_fills_and_copies_of_every_dtype(gpu, dtype):
    value = -3 if dtype.signed or dtype.is_float else 3
    a = tack.full(1001, value, dtype=dtype, device=gpu)
    assert (a.numpy() == value).all() and not tack.zeros(1001, dtype=dtype, device=gpu).numpy().any()
    a[1:4].fill(7)
    a[-1] = 9
    b = a.copy()
    a.fill(1)
    assert b.numpy().tolist() == [value, 7, 7, 7] + [value] * 996 + [9] and (a.numpy() == 1).all()


def test_fills_of_patterns(gpu):
    assert (tack.full(1001, 0.1, dtype=tack.f64, device=gpu).numpy() == 0.1).all()
    assert (tack.full(333, (1, 2, 3), dtype=tack.vec3, device=gpu).numpy() == [1, 2, 3]).all()
    assert tack.concatenate([tack.full(3, 2, device=gpu), tack.ones(2, device=gpu)]).numpy().tolist() == [2, 2, 2, 1, 1]


@pytest.mark.rule("K6")
def test_results(gpu):
    x = tack.arange(300, dtype=tack.f32, device=gpu)
    assert total(x) == 1 + 300 and total(x) == 2 + 301


@pytest.mark.rule("K2")
def test_a_prologue_reads_what_was_there_before_any_iteration(gpu):
    x = tack.full(1000, 5, device=gpu)
    less_first(x, x)
    assert not x.numpy().any()


@pytest.mark.spec("back-051")
@pytest.mark.parametrize("names", [("sum", "mean"), ("min", "max")], ids=" ".join)
def test_reductions_on_the_device(gpu, monkeypatch, names):
    rng = np.random.default_rng(3)
    for n in (1, 255, 5000):
        values = rng.standard_normal(n).astype(np.float32)
        a = tack.array(values, device=gpu)
        with monkeypatch.context() as patch:
            patch.setattr(type(a), "_values", None)
            found = [getattr(a, name)() for name in names]
        if names == ("sum", "mean"):
            assert found[0] == pytest.approx(values.sum(dtype=np.float64), rel=1e-14, abs=1e-12)
            assert found[1] == found[0] / n and a.sum() == found[0], "in the same order each time"
        else:
            assert found == [values.min(), values.max()]
    values[1234] = np.nan
    assert all(np.isnan(getattr(tack.array(values, device=gpu), name)()) for name in names)


def test_other_reductions_are_computed_by_numpy(gpu):
    ints = tack.array(np.arange(10), dtype=tack.i64, device=gpu)
    assert (ints.sum(), ints.min(), ints.max(), ints.mean()) == (45, 0, 9, 4.5)
    vectors = tack.full(3, (1, 2), dtype=tack.vec2, device=gpu)
    assert vectors.sum().tolist() == [3, 6] and vectors.max().tolist() == [1, 2]
    assert tack.zeros(0, device=gpu).sum() == 0.0 and np.isnan(tack.zeros(0, device=gpu).mean())
    with pytest.raises(ValueError, match="without elements"):
        tack.zeros(0, device=gpu).min()


@pytest.mark.spec("back-054")
def test_textures_are_sampled_by_hardware(gpu):
    values = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    for interp in ("nearest", "linear"):
        tex = tack.texture3d(values, interp=interp, device=gpu)

        @tack.kernel
        def centres(tex, out):
            for i, j, k in tack.ndindex(2, 3, 4):
                out[i, j, k] = tex.sample((k + 0.5) / 4, (j + 0.5) / 3, (i + 0.5) / 2)

        out = tack.empty((2, 3, 4), device=gpu)
        centres(tex, out)
        before = out.numpy()
        values += 100
        tex.update()
        values -= 100
        centres(tex, out)
        assert np.allclose(before, values, atol=0.05) and np.allclose(out.numpy(), values + 100, atol=0.5)
    source = tack.array(values, device=gpu)
    again = tack.texture3d(source, interp="nearest")
    centres(again, out)
    assert again.device is gpu and np.array_equal(out.numpy(), values)


def test_a_texture_past_the_devices_limits_is_refused(gpu):
    with pytest.raises(ValueError, match="past the limits"):
        tack.texture3d(np.zeros((1, 1, 1 << 20), np.float32), device=gpu)


def test_debug_mode(gpu):
    x = tack.zeros(4, device=gpu)
    tack.set_debug(True)
    try:
        with pytest.raises(IndexError, match="index 4 is outside 'x', which has 4 elements, at i = 4"):
            out_of_bounds(x, 9)
        out_of_bounds(x, 4)
    finally:
        tack.set_debug(False)
    assert x.numpy().tolist() == [1, 1, 1, 1]


@pytest.mark.spec("back-127")
def test_inspect(gpu):
    x = tack.zeros(4, device=gpu)
    assert "__global__" in tack.inspect(scale, x, x, 2.0)
    assert ".visible .entry k_scale" in tack.inspect(scale, x, x, 2.0, mode="ptx")
    with pytest.raises(ValueError, match="Modes: 'ir', 'source', 'ptx'"):
        tack.inspect(scale, x, x, 2.0, mode="asm")


# ----------------------------------------------------------------------------------------------------- exchange with others


@pytest.mark.spec("back-098")
def test_dlpack_round_trip_without_a_copy(gpu):
    a = tack.arange(12, dtype=tack.f32, device=gpu).reshape(3, 4)
    b = tack.from_dlpack(a)
    assert b._buffer.address == a._buffer.address and b.device is gpu and b.shape == (3, 4)
    b.fill(7)
    assert (a.numpy() == 7).all()
    moved = tack.from_dlpack(a, device="cpu")
    assert moved.device.kind == "cpu" and (moved.numpy() == 7).all()
    copied = tack.from_dlpack(a, copy=True)
    assert copied._buffer.address != a._buffer.address and (copied.numpy() == 7).all()
    with pytest.raises(BufferError, match="needs a copy"):
        tack.from_dlpack(a, device="cpu", copy=False)
    assert (tack.array(a).numpy() == 7).all()


class Strided:
    """A producer of every second column of an array, from the last to the first."""

    def __init__(self, a):
        self.a = a

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()

    def __dlpack__(self, **wishes):
        assert wishes["stream"] == 1, "Tack works on the legacy default stream"
        capsule = self.a.__dlpack__(**wishes)
        _edit(capsule)
        return capsule


def _edit(capsule):
    from tack.runtime import dlpack_capsule as d

    tensor = d._Versioned.from_address(d._get_pointer(capsule, b"dltensor_versioned")).tensor
    tensor.byte_offset = 3 * 4
    tensor.shape[1] = 2
    tensor.strides[1] = -2


def test_strided_memory_of_others_is_copied(gpu):
    a = tack.arange(12, dtype=tack.f32, device=gpu).reshape(3, 4)
    b = tack.from_dlpack(Strided(a))
    assert b.numpy().tolist() == [[3, 1], [7, 5], [11, 9]] and b.device is gpu
    with pytest.raises(BufferError, match="strided memory needs a copy"):
        tack.from_dlpack(Strided(a), copy=False)


@pytest.mark.spec("back-068")
def test_memory_of_others_is_wrapped(gpu):
    pointer = checked(driver.cuMemAlloc, 400)
    checked(driver.cuMemsetD8, pointer, 0, 400)
    assert tack.memory_space(int(pointer)) == "cuda"
    a = tack.array_from_ptr(int(pointer), tack.f32, 100, writable=True)
    assert a.device is gpu
    scale(a, a, 1.0)
    a.fill(2)
    scale(a, a, 3.0)
    values = np.empty(100, np.float32)
    checked(driver.cuMemcpyDtoH, values.ctypes.data, pointer, 400)
    assert (values == 6).all()
    with pytest.raises(ValueError, match="cannot be used on cpu"):
        tack.array_from_ptr(int(pointer), tack.f32, 100, device="cpu")
    with pytest.raises(ValueError, match="read-only"):
        tack.array_from_ptr(int(pointer), tack.f32, 100).fill(1)
    host = np.zeros(4, np.float32)
    assert tack.memory_space(host.ctypes.data) == "cpu"
    with pytest.raises(ValueError, match="host memory cannot be used on cuda:0"):
        tack.array_from_ptr(host.ctypes.data, tack.f32, 4, device=gpu)
    del a
    gc.collect()
    tack.sync()
    checked(driver.cuMemFree, pointer)


class Shifted(Strided):
    """A tensor that begins two bytes after the array that it was made of, and ends with it."""

    def __dlpack__(self, **wishes):
        from tack.runtime import dlpack_capsule as d

        capsule = self.a.__dlpack__(**wishes)
        tensor = d._Versioned.from_address(d._get_pointer(capsule, b"dltensor_versioned")).tensor
        tensor.byte_offset, tensor.shape[0] = 2, self.a.size - 1
        return capsule


def test_memory_of_others_that_kernels_cannot_load_is_refused(gpu):
    """A misaligned load would end the context."""
    a = tack.arange(8, dtype=tack.f32, device=gpu)
    address = a.__cuda_array_interface__["data"][0]
    with pytest.raises(ValueError, match="is not aligned to 4 bytes, the size of float32\n  Copy it"):
        tack.array_from_ptr(address + 2, tack.f32, 4, device=gpu)
    with pytest.raises(ValueError, match="is not aligned to 4 bytes"):
        tack.array_from_ptr(address + 2, tack.vec3, 1)
    for copy in (None, True, False):
        with pytest.raises(ValueError, match="is not aligned to 4 bytes"):
            tack.from_dlpack(Shifted(a), copy=copy)
    b = tack.array_from_ptr(address + 4, tack.vec3, 2, writable=True)  # aligned as its components are
    out = tack.empty_like(b)
    scale(b, out, 2.0)
    assert out.numpy().tolist() == [[2, 4, 6], [8, 10, 12]]
    assert tack.array_from_ptr(address + 2, tack.u16, 4).size == 4


def test_memory_spaces(gpu):
    x = tack.ones(10, device=gpu)
    address = x._buffer.address
    assert tack.memory_space(address) == "cuda" == in_thread(lambda: tack.memory_space(address)), "also without a context"
    pinned = int(checked(driver.cuMemHostAlloc, 64, 0))
    managed = int(checked(driver.cuMemAllocManaged, 64, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL))
    assert (tack.memory_space(pinned), tack.memory_space(managed)) == ("cuda_pinned", "cuda_managed")
    on_host = tack.array_from_ptr(pinned, tack.f32, 16, writable=True)
    assert on_host.device.kind == "cpu"
    on_host.fill(3)
    on_gpu = tack.array_from_ptr(pinned, tack.f32, 16, writable=True, device=gpu)
    scale(on_gpu, on_gpu, 2.0)
    assert on_host.numpy().tolist() == [6.0] * 16
    with pytest.raises(ValueError, match="cannot be used on cuda:1"):
        tack.array_from_ptr(address, tack.f32, 10, device="cuda:1")
    del on_host, on_gpu
    checked(driver.cuMemFreeHost, pinned)
    checked(driver.cuMemFree, managed)


def test_a_driver_without_handles_says_so(gpu):
    with pytest.raises(RuntimeError, match="export_memory: the driver of cuda:0 exports no memory as a dma-buf\n  Share it"):
        tack.ones(10, device=gpu).export_memory()


def test_no_driver_is_loaded_to_look_at_an_address():
    assert "cuda False" == run_program("""
        import sys
        import numpy as np
        import tack
        a = np.zeros(4, np.float32)
        assert tack.memory_space(a.ctypes.data) == "cpu"
        tack.array_from_ptr(a.ctypes.data, tack.f32, 4)
        print("cuda", any(name.startswith("cuda") for name in sys.modules))
    """)


# ------------------------------------------------------------------------------------------------------------- waiting


@pytest.mark.spec("back-069")
def test_waiting_from_asyncio(gpu):
    """The loop turns while a worker thread waits, which has no context of its own."""
    x = tack.ones(1000, device=gpu)

    async def main():
        beats = 0
        scale(x, x, 3.0)
        task = asyncio.create_task(x.numpy_async())
        while not task.done():
            beats += 1
            await asyncio.sleep(0)
        await tack.sync_async()
        return beats, task.result()

    beats, values = asyncio.run(main())
    assert beats > 0 and (values == 3).all()


# ------------------------------------------------------------------------------------------------------------- compiling


@pytest.mark.spec("back-125")
def test_errors_of_the_compiler_show_the_lines_at_fault():
    source = 'extern "C" __global__ void k(float* x) {\n  x[0] = nothing;\n  x[1] = 2;\n}\n'
    with pytest.raises(RuntimeError) as error:
        cuda_nvrtc.compile_ptx(source, "my_kernel", (9, 0))
    text = str(error.value)
    assert text.startswith("Kernel 'my_kernel': the CUDA backend could not compile it. NVRTC says:\n")
    assert 'identifier "nothing" is undefined' in text and "x[0] = nothing;" in text and "x[1]" not in text


def test_architectures():
    """The device's own, at most what NVRTC knows."""
    assert cuda_nvrtc.architecture((9, 0)) == "compute_90"
    assert cuda_nvrtc.architecture((99, 0)) == f"compute_{max(cuda_nvrtc.nvrtc.nvrtcGetSupportedArchs()[1])}"
    with pytest.raises(RuntimeError, match=r"compute capability 7\.5 and newer, the device has 3\.0"):
        cuda_nvrtc.architecture((3, 0))


def test_a_broken_module_names_the_kernel(gpu, complaints):
    words = "Kernel 'k': cuModuleLoadData has failed on cuda:0: CUDA_ERROR_INVALID_IMAGE"
    with pytest.raises(cuda_driver.CudaError, match=words):
        gpu.memory.api.load(b"no PTX at all", "k")


@pytest.mark.spec("cache-204")
def test_the_cache_target_names_all_that_code_depends_on(gpu):
    target = gpu._backend.cache_target()
    assert target[:2] == ("Simulated NVIDIA GPU (tack-sim)", ".".join(map(str, gpu.memory.api.compute)))
    assert target[2] == ".".join(map(str, cuda_driver.driver_version()))
    assert target[3] == ".".join(map(str, cuda_nvrtc.version())) and target[4:] == cuda_nvrtc.OPTIONS
    assert "--fmad=false" in target


def test_artifacts_hold_what_a_launch_needs(gpu):
    x = tack.ones(300, device=gpu)
    scale(x, x, 2.0)
    backend = gpu._backend
    variant = next(iter(backend._cache[scale].values()))
    artifact = backend.variant_artifact(variant.payload)
    loaded = backend.load_variant(variant.ir, artifact, (x, x, 2.0))
    assert loaded.layout == variant.payload.layout and loaded.image == variant.payload.image
    loaded.launch(variant.dispatch_lock, (x, x, 5.0))
    assert x.numpy().tolist() == [10.0] * 300


# ---------------------------------------------------------------------------------------------------------------- errors


def test_errors_name_call_code_and_meaning(gpu, complaints):
    with pytest.raises(cuda_driver.CudaError) as error:
        gpu.memory.api.free(0x1234)
    assert re.fullmatch(r"cuMemFree has failed on cuda:0: CUDA_ERROR_INVALID_VALUE \(1\), .+", str(error.value))
    assert isinstance(error.value, RuntimeError) and (error.value.call, error.value.code) == ("cuMemFree", 1)


def test_memory_that_does_not_suffice(gpu):
    total = gpu.properties["memory"]
    with pytest.raises(MemoryError, match=rf"no memory for {2 * total} bytes .* on cuda:0: \d+ of {total} bytes are free"):
        tack.empty(2 * total, dtype=tack.u8, device=gpu)


@pytest.mark.parametrize("make", [tack.zeros, tack.empty, tack.ones])
def test_sizes_past_what_the_driver_can_be_asked_for(gpu, make):
    for rows in (2**58, 2**59, 2**60, 2**62):  # 2**62 to 2**66 bytes
        with pytest.raises(MemoryError, match=f"no memory for {rows * 16} bytes"):
            make((rows, 4), device=gpu)
    with pytest.raises(MemoryError, match=f"no memory for {2**66} bytes"):
        make((2**62, 4), device="cpu")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (0, "no device"),
        (RuntimeError("the library libcuda.so.1 is not there"), "missing driver"),
        (cuda_driver.CudaError("cuInit has failed", "cuInit", 34), "missing driver"),  # a stub in its place
        (cuda_driver.CudaError("cuInit has failed", "cuInit", 100), "no device"),
        (cuda_driver.CudaError("cuInit has failed", "cuInit", 803), "its driver fails"),  # another version in the kernel
        (cuda_driver.CudaError("cuInit has failed", "cuInit", 999), "its driver fails"),
    ],
    ids=str,
)
def test_what_is_missing_is_said(monkeypatch, answer, words):
    """Only a driver that is not there is to be installed."""

    def count():
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(cuda_driver, "device_count", count)
    with pytest.raises(RuntimeError, match=f"Cannot start the 'cuda' device: {words}") as error:
        tack.device("cuda:9")
    assert ("install" in str(error.value)) == (words == "missing driver")
    assert tack.device_count("cuda") == 0


def test_a_forked_process_is_told_so():
    """Nothing is to be installed: the driver works in the process that this one was forked from."""
    out = run_program("""
import os, sys
import tack_sim
tack_sim.install("cuda")
import tack
assert tack.ones(3, device="cuda").sum() == 3
sys.stdout.flush()
child = os.fork()
if child == 0:
    (row,) = (each for each in tack.devices() if each.kind == "cuda")
    print(row.available, row.missing, row.install, row.found, sep="|")
    try:
        tack.device("cuda:9")
    except RuntimeError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    row, *error = out.strip().splitlines()
    found = "cuInit has failed: this process was forked from one that uses CUDA, which does not work in both"
    assert row == f"False|it was used before this process was forked||{found}"
    assert [line.strip() for line in error] == [
        "Cannot start the 'cuda' device: it was used before this process was forked.",
        found,
        'Start processes with multiprocessing\'s method "spawn".',
    ]


def test_a_missing_compiler_is_said(gpu, monkeypatch):
    def fails():
        raise RuntimeError("the library libnvrtc.so.13 is not there")

    monkeypatch.setattr(cuda_nvrtc, "version", fails)
    with pytest.raises(RuntimeError, match="Cannot start the 'cuda' device: missing NVRTC"):
        tack.device("cuda:9")
