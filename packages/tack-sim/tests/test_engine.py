"""The engine on kernels that NVRTC compiles for three architectures: right results, and every planted fault with its line."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import pytest
from sim_tools import Device, compiled, run

from tack_sim import engine

ARCHES = ("compute_75", "compute_90", "compute_120")

SOURCE = r"""
typedef unsigned long long u64;
struct V3 { float x, y, z; };
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 7;
__device__ int* chain = &counter;
__device__ __noinline__ V3 cross(V3 a, V3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
__device__ __noinline__ int fact(int n, int* calls) { ++*calls; return n < 2 ? 1 : fact(n - 1, calls) * n + *calls * 0; }
extern __shared__ float dynamic[];

extern "C" __global__ void structs(V3 a, V3 b, float* o, int k) {
    V3 c = cross(a, b);
    o[0] = c.x * table[k]; o[1] = c.y + *chain; o[2] = c.z; int calls = 0; o[3] = fact(6, &calls); o[4] = calls;
}
extern "C" __global__ void locals(const int* x, int* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int buffer[16];
    for (int k = 0; k < 16; k++) buffer[(k * x[i]) & 15] = k;
    int s = 0;
    for (int k = 0; k < 16; k++) s += buffer[(k + x[i]) & 15] * k;
    o[i] = s;
}
extern "C" __global__ void indices(unsigned* o) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned lane = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    o[block * blockDim.x * blockDim.y * blockDim.z + lane] = block * 1000 + lane;
}
extern "C" __global__ void sums(const float* x, float* o, int n) {
    __shared__ float s[256];
    __shared__ int count;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t == 0) count = 0;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    atomicAdd(&count, 1);
    __syncthreads();
    if (t == 0) o[blockIdx.x] = s[0] + count;
}
extern "C" __global__ void reversed(const float* x, float* o, int n) {
    dynamic[threadIdx.x] = x[threadIdx.x]; __syncthreads(); o[threadIdx.x] = dynamic[n - 1 - threadIdx.x];
}
extern "C" __global__ void votes(const int* x, int* o) {
    int t = threadIdx.x;
    int a = __syncthreads_count(x[t]), b = __syncthreads_and(x[t]), c = __syncthreads_or(x[t]);
    o[3 * t] = a; o[3 * t + 1] = b != 0; o[3 * t + 2] = c != 0;
}
extern "C" __global__ void atomics(int* a, unsigned* u, u64* q, float* f, double* d, unsigned short* h) {
    int t = threadIdx.x;
    atomicAdd(a, t); atomicMin(a + 1, t - 5); atomicMax(a + 2, t); atomicAnd(a + 3, ~t); atomicOr(a + 4, t); atomicXor(a + 5, t);
    atomicExch(a + 6, t); atomicCAS(a + 7, t, t + 1); atomicInc(u, 9); atomicDec(u + 1, 9);
    atomicMin((long long*)q, -(long long)t); atomicAdd(q + 1, (u64)t << 33); atomicCAS(q + 2, (u64)t, (u64)t + 1);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.5); atomicCAS(h, (unsigned short)t, (unsigned short)(t + 1));
    u[2 + atomicAdd(u + 258, 1)] = t;
}
extern "C" __global__ void subnormals(float* f) {
    __shared__ float s;
    s = 0; atomicAdd(f, 1e-40f); atomicAdd(&s, 1e-40f); f[1] = s; f[2] = f[2] + 1e-40f;
}
extern "C" __global__ void vectors(float4* a, int2* b, short4* s, uchar4* c, longlong2* l) {
    int i = threadIdx.x;
    float4 v = a[i]; v.x += v.w; a[i] = v;
    int2 w = b[i]; b[i] = {w.y, w.x};
    short4 z = s[i]; s[i] = {z.w, z.z, z.y, z.x};
    uchar4 y = c[i]; c[i] = {y.w, y.z, y.y, y.x};
    longlong2 q = l[i]; l[i] = {q.y, q.x};
}
extern "C" __global__ void prints(int n, double d) {
    printf("%d %5.2f|%-4u|%s %c%% %lld %llx\n", n, d, 3u, "text", 'x', 1ll << 40, 255ull);
}
extern "C" __global__ void pointers(const int* which, int* o) {
    int (*f[2])(int, int*) = {fact, [](int x, int* c) { return x - *c; }};
    int calls = 0;
    o[0] = f[*which](5, &calls);
}
extern "C" __global__ void samples(cudaTextureObject_t t, const float* p, float* o, int n) {
    int i = threadIdx.x;
    if (i < n) o[i] = tex3D<float>(t, p[3 * i], p[3 * i + 1], p[3 * i + 2]);
}
extern "C" __global__ void nans(float* o, const float* x) {
    o[0] = x[0] - x[0]; o[1] = x[1] * x[0]; o[2] = sqrtf(-x[2]); o[3] = x[3];
}
"""


@pytest.fixture(params=ARCHES)
def ptx(request: pytest.FixtureRequest) -> str:
    return compiled(SOURCE, request.param)


def words(*values: float) -> bytes:
    return np.array(values, "f4").tobytes()


def test_structs_calls_constants_and_links(ptx: str) -> None:
    o = np.zeros(5, "f4")
    assert run(ptx, "structs", [words(1, 2, 3), words(4, 5, 6), o, np.int32(2)]) is None
    assert o.tolist() == [-9, 13, -3, 720, 6]


def test_local_arrays(ptx: str) -> None:
    x = np.arange(40, dtype="i4") * 3 + 1
    x += x % 2 == 0  # an odd factor permutes all 16 cells
    o = np.zeros(40, "i4")
    assert run(ptx, "locals", [x, o, np.int32(40)], grid=3, block=16) is None
    cells = np.zeros((40, 16), "i4")
    for k in range(16):
        cells[np.arange(40), k * x & 15] = k
    assert np.array_equal(o, sum(cells[np.arange(40), k + x & 15] * k for k in range(16)))


def test_grids_and_blocks_of_three_dimensions(ptx: str) -> None:
    o = np.zeros(2 * 3 * 4 * 24, "u4")
    for reverse in (False, True):
        o[:] = 0
        assert run(ptx, "indices", [o], grid=(2, 3, 4), block=(2, 3, 4), reverse=reverse) is None
        assert np.array_equal(o.reshape(24, 24), 1000 * np.arange(24)[:, None] + np.arange(24))


@pytest.mark.parametrize("reverse", [False, True])
def test_shared_memory_barriers_and_shared_atomics(ptx: str, reverse: bool) -> None:
    x = np.random.default_rng(1).integers(0, 9, 1000).astype("f4")
    o = np.zeros(4, "f4")
    assert run(ptx, "sums", [x, o, np.int32(1000)], grid=4, block=256, reverse=reverse) is None
    assert np.array_equal(o, np.append(x, np.zeros(24)).reshape(4, 256).sum(1) + 256)
    y, z = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    assert run(ptx, "reversed", [y, z, np.int32(64)], block=64, dynamic_shared=256, reverse=reverse) is None
    assert np.array_equal(z, y[::-1])


def test_barriers_that_reduce(ptx: str) -> None:
    for x in (np.zeros(64, "i4"), np.ones(64, "i4"), (np.arange(64, dtype="i4") % 3 == 0).astype("i4")):
        o = np.zeros((64, 3), "i4")
        assert run(ptx, "votes", [x, o], block=64) is None
        assert (o == [x.sum(), x.all(), x.any()]).all()


def test_atomics(ptx: str) -> None:
    a, u, q, f, d, h = (
        np.zeros(8, "i4"),
        np.zeros(259, "u4"),
        np.zeros(3, "u8"),
        np.zeros(1, "f4"),
        np.zeros(1),
        np.zeros(1, "u2"),
    )
    a[3] = -1
    assert run(ptx, "atomics", [a, u, q, f, d, h], block=256) is None
    lanes = np.arange(256)
    assert a.tolist() == [lanes.sum(), -5, 255, ~255, 255, np.bitwise_xor.reduce(lanes), 255, 256]
    assert u[:2].tolist() == [256 % 10, -256 % 10]
    assert q.view("i8").tolist() == [-255, int(lanes.sum()) << 33, 256]
    assert (f[0], d[0], h[0], u[258]) == (128, 128, 256, 256)
    assert sorted(u[2:258]) == lanes.tolist()


def test_float_atomics_flush_subnormals_in_global_memory_alone(ptx: str) -> None:
    f = np.zeros(3, "f4")
    assert run(ptx, "subnormals", [f]) is None
    assert f.tolist() == [0, np.float32(1e-40), np.float32(1e-40)]


def test_vectors_of_all_widths(ptx: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 99, (8, 4)).astype("f4"), rng.integers(-9, 99, (8, 2)).astype("i4")
    s, c, l = rng.integers(-9, 99, (8, 4)).astype("i2"), rng.integers(0, 99, (8, 4)).astype("u1"), rng.integers(0, 99, (8, 2))
    expected = a.copy(), b[:, ::-1].copy(), s[:, ::-1].copy(), c[:, ::-1].copy(), l[:, ::-1].copy()
    expected[0][:, 0] += a[:, 3]
    assert run(ptx, "vectors", [a, b, s, c, l], block=8) is None
    for got, wanted in zip((a, b, s, c, l), expected, strict=True):
        assert np.array_equal(got, wanted)


def test_printf_goes_to_file_descriptor_1(ptx: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(ptx, "prints", [np.int32(-7), np.float64(2.5)], block=2) is None
    assert capfd.readouterr().out == "-7  2.50|3   |text x% 1099511627776 ff\n" * 2


def test_calls_through_pointers(ptx: str) -> None:
    for which, expected in ((0, 120), (1, 5)):
        o = np.zeros(1, "i4")
        assert run(ptx, "pointers", [np.array([which], "i4"), o]) is None
        assert o[0] == expected


def test_nans_of_single_precision_have_the_hardwares_bits(ptx: str) -> None:
    x = np.array([np.inf, 0, 1, 0], "f4")
    x.view("u4")[3] = 0xFFC01234
    o = np.zeros(4, "f4")
    assert run(ptx, "nans", [o, x]) is None
    assert o.view("u4").tolist() == [0x7FFFFFFF] * 3 + [0xFFC01234]


def _sampled(volume: np.ndarray, point: np.ndarray, linear: bool) -> float:
    """One clamped sample at texel coordinates."""
    at = np.asarray(point, "f8") - (0.5 if linear else 0)
    low = np.floor(at).astype(int)
    weight = np.floor((at - low) * 256 + 0.5) / 256 if linear else np.zeros(3)
    total = 0.0
    for corner in np.ndindex(2, 2, 2):
        x, y, z = (int(np.clip(low[k] + corner[k], 0, volume.shape[2 - k] - 1)) for k in range(3))
        total += float(np.prod([weight[k] if corner[k] else 1 - weight[k] for k in range(3)])) * float(volume[z, y, x])
    return total


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_textures_clamp_and_interpolate_with_weights_of_8_bits(ptx: str, linear: bool, normalized: bool) -> None:
    rng = np.random.default_rng(2)
    volume = rng.random((4, 8, 16)).astype("f4")
    size = np.array([16, 8, 4], "f4")
    points = (rng.random((64, 3)) * 1.4 - 0.2).astype("f4")
    if not normalized:
        points *= size
    o = np.zeros(64, "f4")
    texture = engine.Texture(77, volume.ctypes.data, 16, 8, 4, linear=linear, normalized=normalized)
    assert run(ptx, "samples", [np.uint64(77), points, o, np.int32(64)], block=64, textures=[texture]) is None
    texels = points * size if normalized else points
    np.testing.assert_allclose(o, [_sampled(volume, p, linear) for p in texels], rtol=3e-7)


FAULTY = r"""
extern __shared__ float dynamic[];
__device__ __forceinline__ float inner(const float* x, int i) {
    return x[i];  // READ
}
extern "C" __global__ void over(const float* x, float* o, int i) {
    o[threadIdx.x] = inner(x, i);  // OUTER
}
extern "C" __global__ void writes(float* o, int i) { o[i] = 1; }  // WRITE
extern "C" __global__ void bytes(char* o, int i) { o[i] = 1; }
extern "C" __global__ void wide(const double2* x, double* o, int i) { o[0] = x[i].x + x[i].y; }
extern "C" __global__ void odd(const char* x, float* o, int i) { o[0] = *(const float*)(x + i); }  // ODD
extern "C" __global__ void uninitialized(float* o, int n) {
    __shared__ float s[64];
    if (threadIdx.x < n) s[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x];  // UNINITIALIZED
}
extern "C" __global__ void missing(float* o, int n) {
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;  // FIRST
    if (n) __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x];  // SECOND
}
extern "C" __global__ void same(int* o) {
    dynamic[0] = threadIdx.x + 1;  // SAME
    __syncthreads();
    o[0] = dynamic[0];
}
extern "C" __global__ void mixed(int* o) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, 1);
    if (threadIdx.x == 5) o[0] = s;  // MIXED
}
extern "C" __global__ void polite(int* o) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, 1);
    o[threadIdx.x] = *(volatile int*)&s >= 1;
}
extern "C" __global__ void ends(float* o, int n) {
    if (threadIdx.x >= n) return;
    __syncthreads();  // WAIT
    o[threadIdx.x] = 1;
}
extern "C" __global__ void leaves(float* o, int n) {
    if (threadIdx.x >= n) asm volatile("exit;");
    __syncthreads();
    o[threadIdx.x] = 1;
}
extern "C" __global__ void agree(int* o, int n) {
    __shared__ int s;
    s = threadIdx.x < n ? 7 : 8;  // AGREE
    __syncthreads();
    o[threadIdx.x] = s;
}
extern "C" __global__ void peeks(int* o, int n, int i, int k) {
    __shared__ int s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x == n) s[i] = 7;  // AGAIN
    else o[threadIdx.x] = s[k];  // PEEK
}
extern "C" __global__ void apart(float* o, int n) {
    if (threadIdx.x < n) {
        o[threadIdx.x] = 2;
        __syncthreads();  // HERE
        o[threadIdx.x] += 3;
    } else {
        __syncthreads();  // THERE
        o[threadIdx.x] = 5;
    }
}
extern "C" __global__ void between(float* o, int i) {
    __shared__ float a[4], b[4];
    a[threadIdx.x] = 1; b[threadIdx.x] = 2;
    __syncthreads();
    o[threadIdx.x] = a[i] + b[threadIdx.x];  // BETWEEN
}
extern "C" __global__ void local(int* o, int i) {
    int x[8];
    for (int k = 0; k < 8; ++k) x[k ^ (i & 7)] = k;
    o[0] = x[i];  // LOCAL
}
__device__ __noinline__ int deep(int n, int* o) { if (n == -1) return 0; o[0] = n; return deep(n + 1, o) + o[0]; }
extern "C" __global__ void endless(int* o) { o[1] = deep(0, o); }
extern "C" __global__ void textured(cudaTextureObject_t t, float* o) { o[0] = tex3D<float>(t, 0, 0, 0); }
extern "C" __global__ void traps(int n) { if (threadIdx.x == n) __trap(); }
extern "C" __global__ void null(int* o) { *o = 1; }
"""


def line(mark: str) -> int:
    return next(k for k, text in enumerate(FAULTY.splitlines(), 1) if text.endswith(f"// {mark}"))


def fault(name: str, args: Any, arch: str = "compute_75", **options: Any) -> engine.Fault:
    found = run(compiled(FAULTY, arch), name, args, **options)
    assert found is not None
    assert found.kernel == name
    assert found.kind in str(found)
    return found


@pytest.mark.parametrize("arch", ARCHES)
def test_reads_out_of_bounds_name_line_caller_block_and_lane(arch: str) -> None:
    x, o = np.ones(10, "f4"), np.zeros(8, "f4")
    for i in (10, 11, -1, 40):
        found = fault("over", [x, o, np.int32(i)], arch, grid=2, block=4)
        assert (found.kind, found.block, found.lane) == ("out of bounds", (0, 0, 0), 0)
        assert (found.line, found.outer_line) == (line("READ"), line("OUTER"))
        assert found.file.endswith("unit.cu") and f"line {found.line}" not in found.detail
        assert "ld.global" in found.detail
        assert found.size == 4


def test_the_last_lane_alone_is_named() -> None:
    found = fault("writes", [np.zeros(10, "f4"), np.int32(10)])
    assert (found.kind, found.line) == ("out of bounds", line("WRITE"))
    o = np.zeros(7, "f4")
    found = fault("over", [np.ones(10, "f4"), o, np.int32(0)], grid=2, block=8)
    assert (found.block, found.lane) == ((0, 0, 0), 7)
    assert (o == 1).all()
    found = fault("over", [np.ones(10, "f4"), np.zeros(7, "f4"), np.int32(0)], grid=2, block=8, reverse=True)
    assert (found.block, found.lane) == ((1, 0, 0), 7)


def test_every_byte_of_an_allocation_counts() -> None:
    ptx = compiled(FAULTY)
    for size in range(1, 18):
        o = np.zeros(size, "u1")
        assert run(ptx, "bytes", [o, np.int32(size - 1)]) is None
        assert fault("bytes", [o, np.int32(size)]).kind == "out of bounds"


def test_wide_reads_over_the_end() -> None:
    x, o = np.ones(5), np.zeros(1)
    assert run(compiled(FAULTY), "wide", [x, o, np.int32(1)]) is None
    assert o[0] == 2
    assert fault("wide", [x, o, np.int32(2)]).kind == "out of bounds"


def test_freed_memory_host_pointers_and_null() -> None:
    ptx = compiled(FAULTY)
    device = Device()
    freed = device.put(np.zeros(4, "f4"))
    device.free(freed)
    host = np.zeros(4, "f4")
    other = Device()
    for pointer, kind in (
        (freed.address, "use after free"),
        (host.ctypes.data, "not device memory"),
        (0, "not device memory"),
        (other.put(host).address, "not device memory"),
    ):
        found = run(ptx, "null", [np.uint64(pointer)], device=device)
        assert found is not None
        assert (found.kind, found.address) == (kind, pointer)
    assert not host.any()


def test_misaligned_accesses() -> None:
    found = fault("odd", [np.zeros(64, "u1"), np.zeros(1, "f4"), np.int32(2)])
    assert (found.kind, found.line) == ("misaligned access", line("ODD"))


def test_shared_memory_that_nobody_wrote() -> None:
    assert run(compiled(FAULTY), "uninitialized", [np.zeros(64, "f4"), np.int32(64)], block=64) is None
    found = fault("uninitialized", [np.zeros(64, "f4"), np.int32(40)], block=64)
    assert (found.kind, found.line, found.lane) == ("uninitialized shared memory", line("UNINITIALIZED"), 40)


def test_shared_memory_is_not_that_of_the_block_before() -> None:
    """The first block writes all, the second reads what only the first wrote."""
    source = r"""extern "C" __global__ void k(int* o) {
        __shared__ int s[4]; if (blockIdx.x == 0) s[threadIdx.x] = 1; __syncthreads(); o[threadIdx.x] = s[3 - threadIdx.x]; }"""
    found = run(compiled(source), "k", [np.zeros(4, "i4")], grid=2, block=4)
    assert found is not None
    assert (found.kind, found.block) == ("uninitialized shared memory", (1, 0, 0))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_missing_barrier_is_a_race_with_both_lines(reverse: bool) -> None:
    o = np.zeros(64, "f4")
    assert run(compiled(FAULTY), "missing", [o, np.int32(1)], block=64) is None
    assert np.array_equal(o, np.arange(63, -1, -1))
    found = fault("missing", [o, np.int32(0)], block=64, reverse=reverse)
    assert found.kind == "shared memory race"
    assert f"line {line('FIRST')}" in found.detail and f"line {line('SECOND')}" in found.detail


def test_two_lanes_that_write_one_place_are_a_race() -> None:
    found = fault("same", [np.zeros(1, "i4")], block=2, dynamic_shared=4)
    assert (found.kind, found.line, found.lane) == ("shared memory race", line("SAME"), 1)
    assert run(compiled(FAULTY), "same", [np.zeros(1, "i4")], block=1, dynamic_shared=4) is None


@pytest.mark.parametrize("reverse", [False, True])
def test_lanes_that_store_one_value_are_no_race_unless_another_reads_it(reverse: bool) -> None:
    o = np.zeros(64, "i4")
    assert run(compiled(FAULTY), "agree", [o, np.int32(64)], block=64, reverse=reverse) is None
    assert (o == 7).all()
    found = fault("agree", [o, np.int32(40)], block=64, reverse=reverse)
    assert (found.kind, found.line) == ("shared memory race", line("AGREE"))

    apart = [o, np.int32(20), np.int32(0), np.int32(1)]
    assert run(compiled(FAULTY), "peeks", apart, block=64, reverse=reverse) is None
    found = fault("peeks", [o, np.int32(20), np.int32(1), np.int32(1)], block=64, reverse=reverse)
    assert found.kind == "shared memory race"
    assert f"line {line('AGAIN')}" in found.detail and f"line {line('PEEK')}" in found.detail


def test_atomics_race_with_plain_reads_but_not_with_volatile_ones() -> None:
    found = fault("mixed", [np.zeros(1, "i4")], block=32)
    assert found.kind == "shared memory race"
    assert f"line {line('MIXED')}" in found.detail
    o = np.zeros(32, "i4")
    assert run(compiled(FAULTY), "polite", [o], block=32) is None
    assert o.all()


@pytest.mark.parametrize("arch", ARCHES)
def test_lanes_that_end_before_a_barrier(arch: str) -> None:
    o = np.zeros(64, "f4")
    assert run(compiled(FAULTY, arch), "ends", [o, np.int32(64)], block=64) is None
    found = fault("ends", [o, np.int32(40)], arch, grid=2, block=64)
    assert (found.kind, found.line, found.block) == ("barrier divergence", line("WAIT"), (0, 0, 0))
    assert "40 of 64 lanes wait" in found.detail and "lane 40 has ended" in found.detail
    o[:] = 0
    assert run(compiled(FAULTY, arch), "ends", [o, np.int32(40)], block=64, leaving=True) is None
    assert o.sum() == 40


@pytest.mark.parametrize("arch", ARCHES)
def test_lanes_that_end_by_exit_release_those_at_a_barrier(arch: str) -> None:
    for reverse in (False, True):
        o = np.zeros(64, "f4")
        assert run(compiled(FAULTY, arch), "leaves", [o, np.int32(40)], block=64, reverse=reverse) is None
        assert o.tolist() == [1] * 40 + [0] * 24
    assert fault("ends", [o, np.int32(40)], arch, block=64).kind == "barrier divergence"  # by `return`


def test_lanes_at_different_barriers() -> None:
    found = fault("apart", [np.zeros(64, "f4"), np.int32(40)], block=64)
    assert found.kind == "barrier divergence"
    assert found.line == line("HERE") and f"line {line('THERE')}" in found.detail


def test_one_shared_array_does_not_reach_into_the_next() -> None:
    o = np.zeros(4, "f4")
    assert run(compiled(FAULTY), "between", [o, np.int32(3)], block=4) is None
    assert (o == 3).all()
    found = fault("between", [o, np.int32(4)], block=4)
    assert (found.kind, found.line) == ("out of bounds", line("BETWEEN"))


def test_local_arrays_have_ends() -> None:
    found = fault("local", [np.zeros(1, "i4"), np.int32(800)])
    assert (found.kind, found.line) == ("out of bounds", line("LOCAL"))
    assert "local memory" in found.detail


def test_recursion_without_end() -> None:
    assert fault("endless", [np.zeros(2, "i4")]).kind == "stack overflow"


def test_textures_traps_and_null() -> None:
    found = fault("textured", [np.uint64(12), np.zeros(1, "f4")])
    assert found.kind == "bad texture"
    found = fault("traps", [np.int32(3)], block=8)
    assert (found.kind, found.lane) == ("trap", 3)


def test_launches_after_a_fault_are_unharmed() -> None:
    for _ in range(3):
        fault("uninitialized", [np.zeros(64, "f4"), np.int32(40)], block=64)
        o = np.zeros(64, "f4")
        assert run(compiled(FAULTY), "uninitialized", [o, np.int32(64)], block=64) is None
        assert o.all()


def test_assertions_name_text_and_line() -> None:
    source = r"""
extern "C" { __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t) __attribute__((noreturn)); }
extern "C" __global__ void k(int n) { if (threadIdx.x == n) __assertfail("n < 3", "file.cu", 17, "k", 1); }"""
    found = run(compiled(source), "k", [np.int32(5)], block=8)
    assert found is not None
    assert (found.kind, found.lane, found.detail) == ("assertion failed", 5, "file.cu:17: k: n < 3")


def test_facts_about_kernels() -> None:
    kernels = engine.load(compiled(SOURCE)).kernels
    assert {name for name, k in kernels.items() if k.uses_barriers} == {"sums", "reversed", "votes"}
    assert {name for name, k in kernels.items() if k.uses_shared} == {"sums", "reversed", "subnormals"}
    assert {name for name, k in kernels.items() if k.float_atomics} == {"atomics", "subnormals"}
    assert (kernels["sums"].shared_bytes, kernels["reversed"].shared_bytes) == (1028, 0)
    assert kernels["structs"].params == (
        engine.Param("structs_param_0", 0, 12, 4),
        engine.Param("structs_param_1", 12, 12, 4),
        engine.Param("structs_param_2", 24, 8, 8),
        engine.Param("structs_param_3", 32, 4, 4),
    )
    assert kernels["structs"].param_bytes == 36
    bounded = engine.load(compiled('extern "C" __global__ void __launch_bounds__(128) k() {}')).kernels["k"]
    assert bounded.max_threads == 128
    with pytest.raises(ValueError, match="kernel k cannot run"):
        engine.launch(bounded, b"", (1, 1, 1), (129, 1, 1), Device())
    with pytest.raises(ValueError, match="takes 0 bytes of arguments"):
        engine.launch(bounded, b"1", (1, 1, 1), (1, 1, 1), Device())


def test_the_same_text_is_loaded_once() -> None:
    assert engine.load(compiled(SOURCE)) is engine.load(str(compiled(SOURCE)))


def test_what_the_simulator_does_not_know_is_refused_with_line_and_instruction() -> None:
    source = 'extern "C" __global__ void k(int* o) { o[threadIdx.x] = __shfl_down_sync(~0u, o[threadIdx.x], 1); }'
    with pytest.raises(engine.PtxError, match=r"PTX line \d+: .*: shfl\.sync\.down\.b32"):
        engine.load(compiled(source))
    with pytest.raises(engine.PtxError, match=r"PTX line \d+: .*%clock"):
        engine.load(compiled('extern "C" __global__ void k(int* o) { o[0] = clock(); }'))
    with pytest.raises(engine.PtxError, match=r"PTX line \d+: malloc is not known"):
        engine.load(compiled('extern "C" __global__ void k(int** o) { o[0] = (int*)malloc(4); }'))
    with pytest.raises(engine.PtxError, match=r"PTX line \d+: "):
        engine.load("nonsense")


def test_fibers_of_the_c_library_do_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no hand-written switch, ucontext is used."""
    from pathlib import Path

    from tack_sim import build, engine_native

    source = Path(engine_native.__file__).with_name("lanes.cpp")
    (tmp_path / "portable.cpp").write_text(f'#define SIM_UCONTEXT\n#include "{source}"\n')
    library = ctypes.CDLL(os.fspath(build.shared_object(tmp_path / "portable.cpp")))
    library.sim_launch.argtypes, library.sim_launch.restype = engine_native.library().sim_launch.argtypes, ctypes.c_int
    monkeypatch.setattr(engine, "library", lambda: library)
    ptx = compiled(SOURCE).replace("//\n// Generated", "// portable\n// Generated", 1)
    x, o = np.ones(512, "f4"), np.zeros(2, "f4")
    assert run(ptx, "sums", [x, o, np.int32(512)], grid=2, block=256) is None
    assert o.tolist() == [512, 512]
    found = run(compiled(FAULTY).replace("//\n//", "// portable\n//", 1), "ends", [np.zeros(64, "f4"), np.int32(40)], block=64)
    assert found is not None
    assert found.kind == "barrier divergence"
