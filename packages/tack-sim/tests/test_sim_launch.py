"""Modules and launches on the simulated driver: checks at the call, faults at the wait, and the second run in reversed order."""

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver
from driver_tools import code, kinds, machine, ok
from sim_tools import compiled

import tack_sim

SOURCE = """
__device__ int counter = 41;
__constant__ int table[3] = {1, 2, 3};
extern "C" __global__ void add(int* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += table[1]; }
extern "C" __global__ void __launch_bounds__(64) small(int* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void past(int* x, long long n) {
    x[n] = 1;
}
extern "C" __global__ void count(int* x) { x[0] = atomicAdd(&counter, 1); }
extern "C" __global__ void odd(char* x) { *(int*)(x + 2) = 1; }
extern "C" __global__ void turn(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void last(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    x[0] = s[threadIdx.x];
}
extern "C" __global__ void collect(int* x, int* n) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    x[atomicAdd(n, 1)] = s[threadIdx.x];
}
extern "C" __global__ void total(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    atomicAdd(x, s[threadIdx.x]);
    if (threadIdx.x == 0) printf("once\\n");
}
extern "C" __global__ void part(int* x) { if (threadIdx.x < 7) __syncthreads(); x[0] = 1; }
extern "C" __global__ void early(int* x) { if (threadIdx.x < 7) return; __syncthreads(); x[0] = 1; }
extern "C" __global__ void dynamic(int* x) { extern __shared__ int d[]; d[threadIdx.x] = 1; __syncthreads(); x[0] = d[0]; }
extern "C" __global__ void padded(int* x, char c) { x[0] = c; }
__device__ __forceinline__ void store(int* x, long long n) { x[n] = 1; }
extern "C" __global__ void outer(int* x, long long n) {
    x[0] = 1;
    store(x, n);
}
"""
ZEROS = np.zeros(64, np.int32)


@pytest.fixture
def kernels(cuda):
    module = cuda.module(SOURCE)
    return lambda name: ok(driver.cuModuleGetFunction(module, name.encode()))


def test_a_launch_runs_late_and_in_order(cuda, kernels):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("add"), 1, 64, x, ctypes.c_int(60)))
    ok(driver.cuMemsetD32(x, 5, 1))
    ok(cuda.launch(kernels("add"), 1, 64, x, ctypes.c_int(64)))
    expected = np.full(64, 4, np.int32)
    expected[60:], expected[0] = 2, 7
    assert np.array_equal(cuda.get(x, ZEROS), expected)
    assert kinds() == []


def test_a_fault_surfaces_at_the_wait_with_its_line_and_breaks_the_context(cuda, kernels, capsys):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("past"), 1, 1, x, ctypes.c_longlong(64)))
    assert kinds() == []
    assert code(driver.cuCtxSynchronize()) == 700
    (report,) = tack_sim.reports()
    assert (report.kind, report.code, report.kernel, report.line) == ("out of bounds", 700, "past", 7)
    assert (report.block, report.lane, report.device) == ((0, 0, 0), 0, 0)
    assert "0 bytes behind the end of 256 bytes of device memory" in report.text
    assert "unit.cu:7" in capsys.readouterr().err
    for result in (driver.cuMemAlloc(8), driver.cuCtxSynchronize(), driver.cuStreamCreate(0), driver.cuMemFree(x)):
        assert code(result) == 700
    assert tack_sim.take_reports() == (report,)
    assert np.array_equal(cuda.get(x, ZEROS), ZEROS)


def test_a_fault_in_what_is_inlined_has_the_line_of_the_kernel(cuda, kernels):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("outer"), 1, 1, x, ctypes.c_longlong(64)))
    assert code(driver.cuCtxSynchronize()) == 700
    (report,) = tack_sim.reports()
    lines = SOURCE.splitlines()
    inner, outer = (next(k for k, text in enumerate(lines, 1) if part in text) for part in ("x[n] = 1; }", "    store(x, n)"))
    assert report.line == outer and f"unit.cu:{inner}" in report.text


def test_what_is_queued_behind_a_fault_never_runs(cuda, kernels):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("odd"), 1, 1, x))
    ok(cuda.launch(kernels("add"), 1, 64, x, ctypes.c_int(64)))
    assert code(driver.cuStreamSynchronize(0)) == 716
    tack_sim.take_reports()
    assert not cuda.get(x, ZEROS).any()


def test_memory_of_others_is_no_memory_of_a_launch(cuda, kernels):
    host = ZEROS.copy()
    ok(driver.cuCtxPushCurrent(ok(driver.cuDevicePrimaryCtxRetain(1))))
    there = cuda.put(ZEROS)
    ok(driver.cuCtxPopCurrent())
    for address in (host.ctypes.data, there):
        ok(cuda.launch(kernels("add"), 1, 1, address, ctypes.c_int(1)))
        assert code(driver.cuCtxSynchronize()) == 700
        assert [report.kind for report in tack_sim.take_reports()] == ["not device memory"]


def test_memory_freed_before_a_launch_has_run_is_used_after_it(cuda, kernels):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("add"), 1, 1, x, ctypes.c_int(1)))
    ok(driver.cuMemFree(x))
    assert code(driver.cuCtxSynchronize()) == 700
    assert kinds() == ["freed while in flight", "use after free"]
    assert "kernel add" in tack_sim.reports()[0].text


@pytest.mark.parametrize(
    ("grid", "block", "shared", "name"),
    [
        (0, 1, 0, "add"),
        (1, 0, 0, "add"),
        (1, 1025, 0, "add"),
        (2**31, 1, 0, "add"),
        (1, 1, 49153, "dynamic"),
        (1, 1, 49152 - 255, "turn"),
    ],
)
def test_limits_are_checked_at_the_call(cuda, kernels, grid, block, shared, name):
    x = cuda.put(ZEROS)
    args = (x, ctypes.c_int(1)) if name == "add" else (x,)
    assert code(cuda.launch(kernels(name), grid, block, *args, shared=shared)) == 1
    assert kinds() == ["launch limits"]


def test_a_block_is_no_larger_than_the_kernel_was_compiled_for(cuda, kernels):
    assert code(cuda.launch(kernels("small"), 1, 65, cuda.put(ZEROS))) == 701
    assert kinds() == ["out of resources"]


def test_chosen_attributes_are_the_limits():
    chosen = {"MAX_THREADS_PER_BLOCK": 32, "MAX_BLOCK_DIM_X": 16, "MAX_SHARED_MEMORY_PER_BLOCK": 100}
    with machine(attributes=chosen, max_grid=(3, 1, 1)) as cuda:
        module, x = cuda.module(SOURCE), cuda.put(ZEROS)
        add, dynamic = (ok(driver.cuModuleGetFunction(module, name)) for name in (b"add", b"dynamic"))
        sizes = [(3, 16, 0, 0), (4, 16, 0, 1), (1, 17, 0, 1)]
        for grid, block, shared, expected in sizes:
            assert code(cuda.launch(add, grid, block, x, ctypes.c_int(1), shared=shared)) == expected
        assert [code(cuda.launch(dynamic, 1, 1, x, shared=n)) for n in (100, 101)] == [0, 1]


def test_more_shared_memory_must_be_asked_for(cuda, kernels):
    wanted = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    function, x = kernels("dynamic"), cuda.put(ZEROS)
    ok(driver.cuFuncSetAttribute(function, wanted, 100_000))
    ok(cuda.launch(function, 1, 64, x, shared=100_000))
    ok(driver.cuCtxSynchronize())
    assert code(cuda.launch(function, 1, 64, x, shared=100_001)) == 1
    assert code(driver.cuFuncSetAttribute(function, wanted, 300_000)) == 1


def buffered(function, data):
    """A launch with its arguments in one buffer."""
    buffer, size = ctypes.create_string_buffer(data, len(data)), ctypes.c_size_t(len(data))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    return driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, ctypes.addressof(extra))


def test_an_argument_buffer_has_the_kernels_size(cuda, kernels):
    x = cuda.put(ZEROS)
    data = x.to_bytes(8, "little") + b"\x05"
    ok(buffered(kernels("padded"), data))
    ok(buffered(kernels("padded"), data + bytes(7)))  # a C struct ends in padding
    for wrong in (data[:8], data + bytes(1), data + bytes(15)):
        assert code(buffered(kernels("padded"), wrong)) == 1
    assert cuda.get(x, ZEROS)[0] == 5
    assert kinds() == ["wrong argument size"] * 3


def test_arguments_must_be_given(cuda, kernels):
    assert code(driver.cuLaunchKernel(kernels("padded"), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)) == 1
    assert kinds() == ["null pointer"]


def test_variables_of_a_module(cuda):
    module = cuda.module(SOURCE)
    address, nbytes = ok(driver.cuModuleGetGlobal(module, b"counter"))
    assert (nbytes, cuda.get(address, ZEROS[:1])[0]) == (4, 41)
    x = cuda.put(ZEROS)
    for expected in (41, 42):
        ok(cuda.launch(ok(driver.cuModuleGetFunction(module, b"count")), 1, 1, x))
        assert cuda.get(x, ZEROS)[0] == expected
    assert code(driver.cuModuleGetGlobal(module, b"nothing")) == 500
    assert code(driver.cuModuleGetFunction(module, b"nothing")) == 500
    assert kinds() == []


def test_a_module_ends_with_its_kernels(cuda):
    module = cuda.module(SOURCE)
    function = ok(driver.cuModuleGetFunction(module, b"add"))
    x = cuda.put(ZEROS)
    ok(cuda.launch(function, 1, 1, x, ctypes.c_int(1)))
    ok(driver.cuModuleUnload(module))
    assert code(driver.cuCtxSynchronize()) == 719
    assert [report.kind for report in tack_sim.take_reports()] == ["unloaded while in flight"] * 2
    assert code(cuda.launch(function, 1, 1, x, ctypes.c_int(1))) == 400
    assert code(driver.cuModuleUnload(module)) == 400
    assert kinds() == ["destroyed handle"] * 2


def test_attributes_of_kernels(cuda, kernels):
    F = driver.CUfunction_attribute
    assert ok(driver.cuFuncGetAttribute(F.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernels("small"))) == 64
    assert ok(driver.cuFuncGetAttribute(F.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels("turn"))) == 256
    assert ok(driver.cuFuncGetAttribute(F.CU_FUNC_ATTRIBUTE_BINARY_VERSION, kernels("turn"))) == 90
    assert ok(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernels("turn"), 256, 0)) == 8
    assert [int(n) for n in ok(driver.cuFuncGetParamInfo(kernels("padded"), 1))] == [8, 1]


# ------------------------------------------------------------------------------------------------------------ order of lanes


def test_a_kernel_with_barriers_is_the_same_in_reversed_order(cuda, kernels):
    x = cuda.put(np.arange(64, dtype=np.int32))
    ok(cuda.launch(kernels("turn"), 1, 64, x))
    assert np.array_equal(cuda.get(x, ZEROS), np.arange(64)[::-1])


def test_results_that_depend_on_the_order_of_lanes_are_a_race(cuda, kernels):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("last"), 1, 64, x))
    assert code(driver.cuCtxSynchronize()) == 719
    (report,) = tack_sim.take_reports()
    assert (report.kind, report.kernel, report.line) == ("race", "last", 20)
    assert "byte 0 of 256 bytes of device memory" in report.text


def test_atomics_may_depend_on_the_order_of_lanes(cuda, kernels):
    x, n = cuda.put(ZEROS), cuda.put(ZEROS)
    ok(cuda.launch(kernels("collect"), 1, 64, x, n))
    assert sorted(cuda.get(x, ZEROS)) == list(range(64))
    assert kinds() == []


def test_the_second_run_counts_and_prints_nothing(cuda, kernels, capfd):
    x = cuda.put(ZEROS)
    ok(cuda.launch(kernels("total"), 1, 64, x))
    assert cuda.get(x, ZEROS)[0] == 63 * 32
    assert capfd.readouterr().out == "once\n"


def test_lanes_that_miss_a_barrier_are_reported(cuda, kernels):
    for name in ("part", "early"):
        ok(cuda.launch(kernels(name), 1, 64, cuda.put(ZEROS)))
        assert code(driver.cuCtxSynchronize()) == 719
        (report,) = tack_sim.take_reports()
        assert (report.kind, report.kernel) == ("barrier divergence", name)
    with machine(early_exit=True) as other:
        module = other.module(SOURCE)
        x = other.put(ZEROS)
        ok(other.launch(ok(driver.cuModuleGetFunction(module, b"early")), 1, 64, x))
        assert other.get(x, ZEROS)[0] == 1


# ------------------------------------------------------------------------------------------------------------------- images


def load(text):
    return driver.cuModuleLoadData(text.encode() + b"\0")


def test_images_that_the_device_cannot_run(cuda):
    text = compiled(SOURCE)
    assert code(load("\x7fELF")) == 209
    assert code(load("no PTX")) == 200
    assert code(load(text.replace(".target sm_75", ".target sm_120"))) == 218
    assert code(load(text.replace("add.s32", "frobnicate.s32", 1))) == 218
    assert kinds() == ["unsupported image", "invalid image", "invalid image", "invalid image"]
    assert "frobnicate" in tack_sim.reports()[-1].text
    with machine(ptx_version=(7, 0)):
        assert code(load(text)) == 222


def test_the_error_log_says_what_is_wrong(cuda):
    log = bytearray(400)
    J = driver.CUjit_option
    options = [J.CU_JIT_ERROR_LOG_BUFFER, J.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    text = compiled(SOURCE).replace("add.s32", "frobnicate.s32", 1).encode() + b"\0"
    assert code(driver.cuModuleLoadDataEx(text, 2, options, [log, 400])) == 218
    assert b"frobnicate" in log
