"""A kernel's translation unit and its layout: the pack, grids, 32-bit indices, what runs once, and the lines of the source."""

from __future__ import annotations

import keyword
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debug_tools import checked
from host_c import HostUnit
from nvrtc_tools import compile_all, compile_unit
from rule_tools import kernel

import tack
from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.codegen.gpu_layout import NARROW_ELEMENTS
from tack.codegen.gpu_unit import Field, GpuLayout, GpuUnit, gpu_unit
from tack.ir.interpret import interpret
from tack.ir.nodes import IRFunc
from tack.ir.types import f32, f64, i32, i64, u64
from tack.runtime.cache_format import dumps, loads
from tack.testing import kernel_from
from tack.testing.targets import host_args, typed

MOST = (2**31 - 1, 65535, 65535)


@pytest.fixture
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


def unit_of(k: Any, *args: Any) -> GpuUnit:
    return gpu_unit(typed(k, args, fma=True), CUDA)


def emitted(folder: Path, k: Any, *args: Any, func: IRFunc | None = None) -> list[np.ndarray]:
    """Runs a kernel as emitted C and in the interpreter, which must agree, also on the result; the arrays afterwards."""
    func = func or typed(k, args, fma=True)
    compile_all([(func, "k")])
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    got, wanted = HostUnit([(func, "k")], folder).run("k", mine), interpret(func, theirs)
    assert got == wanted
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    return [a for a in mine if isinstance(a, np.ndarray)]


# ---------------------------------------------------------------------------------------------------------------- the pack


@pytest.mark.spec("cache-040")
def test_the_layout_says_what_lies_where() -> None:
    k = kernel_from(
        "@tack.kernel\ndef k(n, a, out, b, m):\n    for i, j in tack.ndindex((n, m), 300):\n        out[i, j] = a * b + n + m\n"
    )
    args = (3, 0.5, np.zeros((4, 300)), 2.0, 2**40)
    layout = unit_of(k, *args).layout
    assert layout.pointers == (2,)
    kinds = [(f.kind, f.at, f.type, f.offset) for f in layout.fields]
    assert kinds == [
        ("count", 0, i64, 0), ("start", 0, i64, 8), ("param", 0, i32, 16), ("param", 1, f64, 24), ("param", 3, f64, 32),
        ("param", 4, i64, 40), ("grid", 0, i32, 48),
    ]  # fmt: skip
    assert layout.pack_size == 56 and layout.carried_size == 0
    packed = layout.pack(args, [range(3, 5), range(300)], 1, False)
    assert packed == struct.pack("<qqixxxxddqixxxx", 600, 3, 3, 0.5, 2.0, 2**40, 1)


def test_scalars_take_their_field_s_type() -> None:
    """T1: floats round to f32, beyond it to infinity; NumPy's scalars and truth values are numbers."""
    k = kernel("out[i] = a + n", "a, n, out", "range(1)")
    layout = unit_of(k, 0.5, 1, np.zeros(1, np.float32)).layout
    at = {f.at: (f.offset, f.type) for f in layout.fields if f.kind == "param"}
    assert at[0][1] is f32 and at[1][1] is i32
    numbers = [0.1, -1e300, 1e300, float("nan"), -0.0, np.float32(0.1), np.float64(1e-50), 3.4028235677973366e38, True]
    for value in numbers:
        packed = np.frombuffer(layout.pack((value, np.bool_(True), None), [range(1)], 0, False), np.uint8)
        with np.errstate(over="ignore"):
            wanted = np.float64(value).astype(np.float32)
        assert packed[at[0][0] :][:4].tobytes() == wanted.tobytes(), value
        assert packed[at[1][0] :][:4].view(np.int32)[0] == 1
    with pytest.raises(struct.error):
        layout.pack((0.0, 2**40, None), [range(1)], 0, False)


@pytest.mark.rule("T1")
def test_scalars_of_every_kind_arrive(tmp_path: Path) -> None:
    k = kernel("out[i] = a\nwide[i] = big + tack.u64(n)\nflags[i] = small", "out, a, wide, big, n, flags, small", "range(n)")
    out, wide, flags = emitted(tmp_path, k, np.zeros(3), 0.1, np.zeros(3, np.uint64), 2**64 - 9, 3, np.zeros(3, np.int8), -7)
    assert (out == 0.1).all() and (wide == 2**64 - 6).all() and (flags == -7).all()


def test_a_layout_goes_on_the_disk_and_comes_back() -> None:
    k = kernel_from(
        "@tack.kernel\ndef k(x, n) -> bool:\n    t = x[0]\n    for i in range(1, n):\n        x[i] = t\n    return t > n"
    )
    layout = unit_of(k, np.zeros(8, np.float32), 5).layout
    assert layout.before and layout.result and layout.carried_size == 8
    again = GpuLayout.restored(loads(dumps(layout.stored())))
    assert again == layout and isinstance(again.fields[0], Field)
    assert again.pack((None, 5), [range(1, 5)], 0, True) == layout.pack((None, 5), [range(1, 5)], 0, True)


# ------------------------------------------------------------------------------------------------------------------- grids


TWO = "@tack.kernel\ndef k(out):\n    for i, j in tack.ndindex(out.shape[0], out.shape[1]):\n        out[i, j] = i\n"
FOUR = "@tack.kernel\ndef k(out, n):\n    for p, q, r, s in tack.ndindex(n, n, n, n):\n        out[0] = p\n"


def test_workgroups_lie_in_rows_where_few_lanes_are_left_over() -> None:
    two = unit_of(kernel_from(TWO), np.zeros((2, 2))).layout
    four = unit_of(kernel_from(FOUR), np.zeros(2), 2).layout
    cases = [
        (two, (100, 1024), MOST, ((4, 100, 1), 1)),
        (two, (100, 1000), MOST, ((4, 100, 1), 1)),
        (two, (100, 257), MOST, ((101, 1, 1), 0)),  # nearly half of all lanes would be idle
        (two, (1000, 3), MOST, ((12, 1, 1), 0)),
        (two, (65536, 256), MOST, ((65536, 1, 1), 0)),  # more rows than there may be
        (two, (65535, 256), MOST, ((1, 65535, 1), 1)),
        (two, (1, 512), (1, 65535, 65535), ((2, 1, 1), 0)),
        (two, (0, 256), MOST, ((0, 1, 1), 0)),
        (four, (2, 3, 5, 256), MOST, ((1, 5, 6), 1)),
        (four, (300, 300, 5, 256), MOST, ((450000, 1, 1), 0)),
    ]
    for layout, sizes, most, wanted in cases:
        assert layout.grid(sizes, most) == wanted


@pytest.mark.rule("W1", "K5")
def test_workgroups_of_kernels_that_use_them_are_256_iterations_in_row_order(tmp_path: Path) -> None:
    k = kernel_from(TWO.replace("= i\n", "= tack.thread_id() * 1000 + tack.block_sum(j)\n"))
    layout = unit_of(k, np.zeros((4, 256), np.int64)).layout
    assert layout.grid((4, 256), MOST) == ((4, 1, 1), 0) and not layout.has_grid
    (out,) = emitted(tmp_path, k, np.zeros((8, 128), np.int64))
    lane = np.arange(1024).reshape(8, 128) % 256
    assert (out == lane * 1000 + 2 * sum(range(128))).all()


@pytest.mark.rule("K5", "M1")
@pytest.mark.parametrize("shape", [(3, 256), (2, 3, 500), (2, 3, 2, 256), (2, 1, 3, 255)])
def test_rows_and_planes_give_each_iteration_its_place_once(shape: tuple[int, ...], tmp_path: Path) -> None:
    names = "pqrs"[: len(shape)]
    number = "0"
    for name, size in zip(names, shape, strict=True):
        number = f"({number}) * {size} + {name}"
    for loop in (f"tack.ndindex{shape}", f"tack.ndindex({', '.join(f'(n - 2, {size} + n - 2)' for size in shape)})"):
        k = kernel_from(
            f"@tack.kernel\ndef k(out, n):\n    for {', '.join(names)} in {loop}:\n        out[{', '.join(names)}] += {number}\n"
        )
        (out,) = emitted(tmp_path, k, np.ones(shape, np.int64), 2)
        assert (out.reshape(-1) == np.arange(out.size) + 1).all()
        layout = unit_of(k, out, 2).layout
        assert layout.grid(shape, MOST)[1] == 1


# ---------------------------------------------------------------------------------------------------------- 32-bit indices


def test_when_32_bits_do() -> None:
    layout = unit_of(kernel("out[i] = i", "out, n", "range(n)"), np.zeros(2), 2).layout
    fits = layout.fits_narrow
    assert fits([NARROW_ELEMENTS - 1, 0], [range(10)]) and not fits([5, NARROW_ELEMENTS], [range(10)])
    assert NARROW_ELEMENTS < 2**31
    assert fits([1], [range(2**31 - 257)]) and not fits([1], [range(2**31 - 256)])
    assert fits([1], [range(-(2**31), -(2**31) + 5)]) and not fits([1], [range(-(2**31) - 1, -(2**31) + 5)])
    assert fits([1], [range(2**31 - 5, 2**31 - 1)]) and not fits([1], [range(2**31 - 5, 2**31)])
    assert not fits([1], [range(0, 5, 2**31)]) and fits([1], [range(5, 0, -(2**31))])
    assert not fits([1], [range(2**16), range(2**15)]) and fits([1], [range(2**15), range(2**15)])
    assert not replace(layout, narrow="").fits_narrow([1], [range(1)])


INDICES = (
    "i", "i + 3 - 3", "(i - 5) * 4 - i * 3 + 20", "2 * (i + 7) - i - 14", "-(-i - 1) - 1", "i + big - big",
    "(i * big + i) % big", "(i + 4294967296) - 4294967296", "(i << 3) >> 3", "(i << 40) >> 40", "i & 63", "(i | 64) ^ 64",
    "~(~i)", "(i * big) // big", "i * 4294967297 & 63", "tack.i32(i) + n - n", "tack.u8(i)",
    "tack.u32(i) * 3 - tack.u32(i) * 2", "tack.i64(tack.i32(i) + 1) - 1", "tack.i32(i + 4294967296)", "int(x[i] + 0.25)",
    "min(i, 99)", "i if i < 100 else -1", "p[i] - 100", "tack.u64(i) + 5 - tack.u64(5)", "i + 20000000 - 20000000",
    "(i - 3 * 10000000) + 30000000", "n - (n - i)", "tack.u32(i) + 7 - 7", "tack.i8(i) + 1 - 1",
    "i + tack.i32(2147483647) - 2147483647", "(i // 7) * 7 + i % 7", "tack.i32(n - 7) * 0 + i",
    "tack.i32(tack.i64(p[i]) - 99) - 1",
)  # fmt: skip


@pytest.mark.rule("M1", "T4")
def test_indices_of_every_form_are_the_same_in_32_bits(tmp_path: Path) -> None:
    """The host runs each kernel with both kinds of indices and compares; the loads here are also what NumPy has."""
    body = "".join(f"out[{k}, i] = x[{index}]\nout[{k}, {index}] += 1\n" for k, index in enumerate(INDICES))
    k = kernel(body, "x, p, out, n, big", "range(len(x))")
    x = np.arange(64, dtype=np.float64)
    p = np.arange(100, 164, dtype=np.int16)
    args = (x, p, np.zeros((len(INDICES), 64)), 7, 2**33)
    text = gpu_unit(typed(k, args, fma=True), CUDA).source
    assert "narrow" in text
    (_, _, out) = emitted(tmp_path, k, *args)
    for index, row in zip(INDICES, out, strict=True):
        np.testing.assert_array_equal(row, x + 1, index)


@pytest.mark.rule("M1")
def test_what_a_program_stores_and_compares_keeps_64_bits(tmp_path: Path) -> None:
    k = kernel("out[i - n] = i * big + (i < 0) + (i + big > big)\nfar[i - n] = i // 3", "out, far, n, big", "range(n, n + 5)")
    out, far = emitted(tmp_path, k, np.zeros(5, np.int64), np.zeros(5, np.int64), -2, 2**40)
    i = np.arange(-2, 3)
    assert (out == i * 2**40 + (i < 0) + (i > 0)).all() and (far == i // 3).all()


@pytest.mark.rule("M1")
def test_arrays_past_32_bits_run_with_64(tmp_path: Path) -> None:
    k = kernel("out[i - 2147483640] = x[i] + 1\nx[i] = 9", "x, out", "range(2147483640, 2147483656)")
    x, out = np.zeros(2**31 + 8, np.uint8), np.zeros(16, np.uint8)  # pages that nobody touches take no memory
    x[-9:] = range(9)
    func = typed(k, (np.zeros(16, np.uint8), out), fma=True)
    unit = HostUnit([(func, "k")], tmp_path)
    layout = unit.layouts["k"]
    ranges = [range(2147483640, 2147483656)]
    assert not layout.fits_narrow([x.size, out.size], ranges)
    unit._launch(layout, layout.entry, [x, out], ranges, ((1, 1, 1), 0))
    assert out.tolist() == [1] * 7 + list(range(1, 10)) and (x[-16:] == 9).all()


def test_the_machine_code_of_narrow_indices_multiplies_no_64_bit_numbers() -> None:
    k = kernel_from(
        "@tack.kernel\ndef k(x, out):\n    for i, j in tack.ndindex((1, 9), 1000):\n"
        "        out[i, j] = (x[i - 1, j] + x[i + 1, j]) * x[i, j]\n"
    )
    unit = unit_of(k, np.zeros((10, 1000), np.float32), np.zeros((10, 1000), np.float32))
    ptx = compile_unit(unit.source)
    wide, narrow = (ptx[ptx.index(f".entry {entry}(") :][8:].partition("\n}\n")[0] for entry in ("k_k", "k_k_narrow"))
    assert re.search(r"(mul|mad)\.lo\.[us]64|mul\.hi\.u64|div\.u64", wide)
    assert not re.search(r"(mul|mad)\.lo\.[us]64|mul\.hi\.u64|div\.u64", narrow)
    assert re.search(r"ld\.global(\.nc)?\.[bf]32\s+%\w+, \[%rd\d+\+(4000|8000)\]", narrow)  # neighbours share one address


# --------------------------------------------------------------------------------------------------------- what runs once


PROLOGUES = {
    "by name": ("x, out", "t = x[0]\nflag = t > 1", "x[i] = t + i\nout[i] = flag"),
    "a condition": ("x, out", "t = 1.0\nif x[0] > 1:\n    t = x[1]", "x[i] = t"),
    "a loop": ("x, out", "t = 0.0\nk = 0\nwhile k < 3:\n    t += x[k]\n    k += 1", "x[2 - i] = t\nt += 1\nout[i] = t + k"),
    "atomics": ("x, out", "t = x[0]", "tack.atomic_add(x, 0, 1.0)\nout[i] = t"),
    "a size": ("x, out", "n = len(x)\nt = x[n - 1]", "x[n - 1 - i] = t * n"),
}


@pytest.mark.rule("K2")
@pytest.mark.parametrize("name", PROLOGUES)
def test_a_prologue_that_iterations_could_change_is_evaluated_before_them(name: str, tmp_path: Path) -> None:
    params, prologue, body = PROLOGUES[name]
    text = f"@tack.kernel\ndef k({params}):\n{_indented(prologue)}    for i in range(3):\n{_indented(body, 8)}"
    k = kernel_from(text)
    args = (np.array([2.0, 5.0, 7.0], np.float32), np.zeros(3, np.float32))
    layout = unit_of(k, *args).layout
    assert layout.before and layout.carried_size > 0 and layout.comes_first(lambda slot: (slot * 64, slot * 64 + 12))
    emitted(tmp_path, k, *args)


def _indented(text: str, by: int = 4) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


@pytest.mark.rule("K2", "M2")
def test_arrays_that_may_overlap_count_as_one(tmp_path: Path) -> None:
    k = kernel_from("@tack.kernel\ndef k(x, y):\n    t = x[0]\n    for i in range(4):\n        y[i] = t + i\n")
    x = np.full(4, 3, np.int64)
    func = typed(k, (x, x.copy()), fma=True)
    assert func.disjoint_arrays and not gpu_unit(func, CUDA).layout.before
    shared = replace(func, disjoint_arrays=False)
    layout = gpu_unit(shared, CUDA).layout
    assert layout.before and layout.hazards == ((0, 1),)
    for span, wanted in {(0, 32): False, (0, 33): True, (63, 99): True, (64, 99): False, (40, 40): False, None: True}.items():
        assert layout.comes_first(lambda slot, span=span: span if slot else (32, 64)) == wanted
    unit = HostUnit([(shared, "k")], tmp_path)
    unit.run("k", [x, apart := x.copy()])
    assert x.tolist() == [3] * 4 and apart.tolist() == [3, 4, 5, 6]
    unit.run("k", [x, x])
    assert x.tolist() == [3, 4, 5, 6]
    both = np.arange(6)
    unit.run("k", [both[2:], both[:4]])
    assert both.tolist() == [2, 3, 4, 5, 4, 5]
    compile_all([(shared, "k")])
    only_read = kernel_from("@tack.kernel\ndef k(x, y):\n    t = len(x)\n    for i in range(4):\n        y[i] = t + x[i]\n")
    assert not gpu_unit(replace(typed(only_read, (x, x.copy()), fma=True), disjoint_arrays=False), CUDA).layout.before


RESULT = """
@tack.kernel
def k(x, n) -> float:
    first = x[0]
    unused = x[n - 1]
    for i in range(n):
        x[i] = first + unused + i
    last = x[1]
    return first * 100 + last
"""


@pytest.mark.rule("K2", "K6", "K5")
def test_a_result_sees_the_prologue_s_values_and_the_arrays_afterwards(tmp_path: Path) -> None:
    """Without iterations the prologue's other statements do not run: here one would read outside the array."""
    k = kernel_from(RESULT)
    x = np.array([2.0, 3.0, 5.0], np.float32)
    layout = unit_of(k, x, 3).layout
    assert layout.before and layout.result and layout.result_type is f32
    func = typed(k, (x, 3), fma=True)
    unit = HostUnit([(func, "k")], tmp_path)
    assert unit.run("k", [empty := x.copy(), 0]) == 203.0 and (empty == x).all()
    assert unit.run("k", [x, 3]) == 200 + (2 + 5 + 1)
    assert x.tolist() == [7, 8, 9]
    compile_all([(func, "k")])


@pytest.mark.rule("K2")
def test_truth_values_and_every_type_are_carried(tmp_path: Path) -> None:
    names = [t for t in "i8 u8 i16 u16 i32 u32 i64 u64 f32 f64".split()]
    prologue = "".join(f"t_{t} = tack.{t}(x[{k}])\n" for k, t in enumerate(names)) + "yes = x[0] < 0\nno = x[0] > 0\n"
    body = (
        "".join(f"out[{k}] = t_{t}\n" for k, t in enumerate(names))
        + "out[10] = 1 if yes else 0\nout[11] = 1 if no else 0\nx[0] = 5\n"
    )
    k = kernel_from(f"@tack.kernel\ndef k(x, out):\n{_indented(prologue)}    for i in range(1):\n{_indented(body, 8)}")
    x = np.array([-3, 200, -300, 60000, -70000, 2**32 - 1, -(2**40), 2**40, 0.1, 0.1])
    layout = unit_of(k, x, np.zeros(12)).layout
    assert layout.carried_size == 56
    _, out = emitted(tmp_path, k, x, np.zeros(12))
    assert out.tolist() == [*x[:8], np.float32(0.1), 0.1, 1, 0]


@pytest.mark.rule("K2")
def test_a_prologue_that_fails_its_check_stops_every_iteration(tmp_path: Path, debug: None) -> None:
    """Debug mode: the one lane that evaluates it notes the failure, and the iterations leave their arrays alone."""
    k = kernel_from("@tack.kernel\ndef k(x, n):\n    t = x[n]\n    for i in range(300):\n        x[i] = t\n")
    for n, wanted in ((300, 0), (2, 1)):
        x = np.arange(300, dtype=np.float32)
        func, values = checked(k, (x, n))
        layout = gpu_unit(func, CUDA).layout
        assert layout.before and not layout.narrow
        HostUnit([(func, "k")], tmp_path).run("k", values)
        assert (values[0] == 2).all() == bool(wanted) and (values[0] == x).all() != bool(wanted)
        assert values[-2][0] == (2**63 - 1 if wanted else -1)


# ------------------------------------------------------------------------------------------------------------ source lines

LINES = """
@tack.func
def helper(v):
    w = v + 1.0
    return w * v


@tack.kernel
def lines(x, n):
    for i in range(n):
        t = x[i]

        x[i] = helper(
            t
        ) + n
        if t > 3.0:
            x[i] = 0.0
"""


def _locations(ptx: str, entry: str) -> set[tuple[str, int]]:
    """The (source, line) pairs of the instructions of an entry, but for those of Tack's own helpers."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "(?:.*/)?([^"/]*)"', ptx, re.MULTILINE))
    text = ptx[ptx.index(f".entry {entry}(") :]
    text = text[: text.index("\n}\n")]
    return {(files[file], int(line)) for file, line in re.findall(r"^\s*\.loc\s+(\d+) (\d+)", text, re.MULTILINE)}


def test_code_names_the_lines_of_the_function_that_it_comes_from() -> None:
    k = kernel_from(LINES)
    unit = unit_of(k, np.zeros(8, np.float32), 8)
    places = _locations(compile_unit(unit.source), unit.layout.entry) - {("tack", 1)}
    assert places <= {("lines", n) for n in (2, 3, 4, 6, 9, 10)} | {("helper", 3), ("helper", 4)}
    assert places >= {("lines", 3), ("lines", 4), ("lines", 6), ("lines", 10), ("helper", 3), ("helper", 4)}


def test_the_text_does_not_depend_on_where_the_kernel_stands() -> None:
    args = (np.zeros(8, np.float32), 8)
    moved = kernel_from("\n\n\nX = 1\n" + LINES)
    assert unit_of(kernel_from(LINES), *args).source == unit_of(moved, *args).source


def test_helpers_have_lines_of_their_own() -> None:
    k = kernel("out[i] = out[i] // 3", "out", "range(4)")
    text = unit_of(k, np.zeros(4, np.int64)).source
    assert text.startswith('#line 1 "tack"\n')
    assert text.index("tack_floordiv_i64(i64 a") < text.index("#line", 5)


# ------------------------------------------------------------------------------------------------------------------- names

WORDS = (
    "threadIdx blockIdx blockDim gridDim warpSize float4 int2 dim3 min max printf atomicAdd __syncthreads __shared__ __global__ "
    "__device__ __launch_bounds__ __restrict__ __constant__ __CUDA_ARCH__ __CUDACC__ __FILE__ __LINE__ __func__ signed unsigned "
    "register asm typename template NULL nullptr true false this new delete operator namespace using union struct static_assert "
    "thread_local constexpr alignas char16_t wchar_t bool double float int long short char void volatile inline extern goto "
    "switch case default do sizeof typedef enum auto const public private friend virtual mutable explicit export catch throw "
    "and_eq bitand bitor compl not_eq or_eq xor xor_eq main errno assert INFINITY NAN M_PI sqrtf fmaf tex3D size_t uint32_t "
    "std cuda v_x t_lane t_pack t_count t_carried t_result t_grid p0_x k_k tack_min_i32 i32 f32 u64 tack_pack "
    "größe 变量 ℵ α é _ __ ___ a_ _a __a A ª µ ſ"
).split()  # fmt: skip


@pytest.mark.rule("N4")
def test_any_identifier_names_kernels_parameters_and_locals(tmp_path: Path) -> None:
    words = [w for w in dict.fromkeys(WORDS) if w.isidentifier() and not keyword.iskeyword(w)]
    assert len(words) > 100
    kernels: list[tuple[IRFunc, str]] = []
    args = (np.arange(4, dtype=np.int32), 4, np.zeros(4, np.int32))
    entries: list[str] = []
    for word in words:
        array, scalar, local = word, f"{word}1", f"{word}2"
        text = (
            f"@tack.kernel\ndef {word}({array}, {scalar}, out):\n    {local} = {array}[1]\n"
            f"    for {word}3 in range({scalar}):\n        {word}4 = {array}[{word}3] * {scalar}\n"
            f"        out[{word}3] = {word}4 + {local}\n"
        )
        func = typed(kernel_from(text), args, fma=True)
        layout = gpu_unit(func, CUDA).layout
        assert layout.entry.isascii() and layout.entry.isidentifier()
        kernels.append((func, layout.entry))
        entries.append(layout.entry)
    named = {entry: pair for entry, pair in zip(entries, kernels, strict=True)}
    compile_all(named.values())
    unit = HostUnit(list(named.values()), tmp_path)
    for entry in named:
        out = np.zeros(4, np.int32)
        unit.run(entry, [args[0], 4, out])
        assert out.tolist() == [1, 5, 9, 13], entry


# ---------------------------------------------------------------------------------------------------- limits and textures


BODY = "s[tack.thread_id()] = x[i]\ntack.barrier()\nx[i] = s[255 - tack.thread_id()]"
SHARED = "@tack.kernel\ndef k(x):\n    s = tack.shared(tack.f32, {n})\n    for i in range(256):\n{body}"


@pytest.mark.rule("W1")
def test_shared_memory_counts_block_reductions() -> None:
    """48 KiB of arrays alone fit; with cells of a block reduction they do not."""
    x = np.zeros(256, np.float32)
    full = kernel_from(SHARED.format(n=12288, body=_indented(BODY, 8)))
    assert unit_of(full, x).layout.shared_bytes == 48 << 10
    summed = _indented(f"{BODY}\nx[i] += tack.block_sum(x[i])", 8)
    fits = unit_of(kernel_from(SHARED.format(n=12032, body=summed)), x)
    assert fits.layout.shared_bytes == 48 << 10
    ptx = compile_unit(fits.source)
    entry = ptx[ptx.index(".entry k_k(") :].partition("\n}\n")[0]
    assert sum(int(n) for n in re.findall(r"\.shared .* \S+\[(\d+)\];", ptx)) in (48 << 10, 96 << 10) and "bar.sync" in entry
    with pytest.raises(ValueError, match=r"'k': the shared arrays and block reductions .* 49156 bytes, past the 49152|49160"):
        unit_of(kernel_from(SHARED.format(n=12033, body=summed)), x)


@pytest.mark.rule("W1")
def test_shared_memory_counts_the_marks_of_debug_mode(debug: None) -> None:
    k = kernel_from(SHARED.format(n=12288, body=_indented(BODY, 8)))
    func, _ = checked(k, (np.zeros(256, np.float32),))
    with pytest.raises(ValueError, match="with what debug mode needs, past the 49152"):
        gpu_unit(func, CUDA)


def test_coordinates_that_are_no_number_sample_like_0() -> None:
    """Hardware says nothing of NaN; one instruction clamps to [0, 1], which samples the same texels, and makes 0 of NaN."""
    k = kernel("out[i] = tex.sample(u[i], 0.5, 0.5)", "tex, u, out")
    args = (tack.texture3d(np.zeros((2, 3, 4), np.float32)), np.zeros(3, np.float32), np.zeros(3, np.float32))
    unit = gpu_unit(typed(k, args, fma=True, hardware=True), CUDA)
    assert unit.layout.pointers == (0, 1, 2)
    assert compile_unit(unit.source).count("cvt.sat.f32.f32") >= 1


def test_several_kernels_share_their_helpers() -> None:
    funcs = [typed(kernel("out[i] //= 3", "out", "range(4)"), (np.zeros(4, np.int64),), fma=True) for _ in range(2)]
    text = emit_unit([(func, f"k{n}") for n, func in enumerate(funcs)], CUDA)
    assert text.count("i64 tack_floordiv_i64(") == 1


def test_host_arguments_are_those_of_the_layout() -> None:
    k = kernel("out[i] = x[i]", "x, out", "range(4)")
    args = (np.zeros(4), np.zeros(4))
    assert len(host_args(k, args)) == len(unit_of(k, *args).layout.pointers)
    assert unit_of(kernel("out[i] = n", "n, out", "range(4)"), 2**64 - 1, np.zeros(4)).layout.fields[-1].type is u64
