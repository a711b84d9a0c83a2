"""The specification's worked examples, row by row: how many variants and IR templates there are after each call.

Every example begins with a kernel that nobody has called, and is counted in `backend._cache[kernel]`. A call is made twice, so
that the row's number is also that of the fast path, and its result is compared with NumPy's.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from key_tools import TextBackend, array, both_counts, counted, keys, like, variants

import tack
from tack.ir.types import f32, f64, i32, i64
from tack.runtime import cpu_jit, kernel_utils


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    return scale


def make_reverse() -> tack.Kernel:
    @tack.kernel
    def reverse(x, out):
        for i in range(x.shape[0]):
            out[i] = x[x.shape[0] - 1 - i]

    return reverse


def make_reverse_by_n() -> tack.Kernel:
    @tack.kernel
    def reverse(x, out, n):
        for i in range(x.shape[0]):
            out[i] = x[n - 1 - i]

    return reverse


def make_copy() -> tack.Kernel:
    @tack.kernel
    def copy(a, out):
        for i, j in tack.ndindex(a.shape[0], a.shape[1]):
            out[i, j] = a[i, j]

    return copy


def make_stencil() -> tack.Kernel:
    @tack.kernel
    def stencil(x, out):
        for i in range(1, x.shape[0] - 1):
            out[i] = x[i - 1] + x[i + 1]

    return stencil


def make_dot() -> tack.Kernel:
    @tack.kernel
    def dot(v, out):
        for i in range(v.shape[0]):
            out[i] = v[i].dot(v[i])

    return dot


# --------------------------------------------------------------------------------------------------------------- scale

# The row, its id, length, dtype, factor, the number of variants after it, and the type of `a` in the last of them.
SCALE_ROWS = [
    ("scale(x8, o8, 2.0)", 8, np.float32, 2.0, 1, f32),
    ("then length 16", 16, np.float32, 2.0, 1, f32),
    ("then length 32", 32, np.float32, 2.0, 1, f32),
    ("scale(x8, o8, 3.5)", 8, np.float32, 3.5, 1, f32),
    ("scale(x8, o8, 3)", 8, np.float32, 3, 2, i32),
    ("scale(x8, o8, 2**40)", 8, np.float32, 2**40, 3, i64),
    ("scale(x8_f64, o8_f64, 2.0)", 8, np.float64, 2.0, 4, f64),
]


@pytest.mark.spec("cache-004", "cache-094", "cache-096", "cache-098", "cache-169", "cache-170", "cache-171", "cache-172")
@pytest.mark.spec("cache-173", "cache-174", "cache-175")
def test_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = make_scale()
    assert both_counts(scale) == (0, 0)
    with counted(monkeypatch, (kernel_utils, "_build_variant"), (cpu_jit, "compile_module")) as counts:
        for row, n, dtype, a, expected, kind in SCALE_ROWS:
            x = array(n, dtype=dtype)
            for _ in range(2):
                out = like(x)
                scale(x, out, a)
                np.testing.assert_array_equal(out.numpy(), x.numpy() * np.dtype(dtype).type(a), err_msg=row)
            assert both_counts(scale) == (expected, 1), row
            assert keys(scale)[-1][0][2][0] is kind, row
            assert counts == {"_build_variant": expected, "compile_module": expected}, row
        x = array(8)
        scale(x, x, 2.0)
        scale(x, x, 2.0)
        assert x.numpy().tolist() == [4.0 * i for i in range(8)]
        assert both_counts(scale) == (5, 1) and counts == {"_build_variant": 5, "compile_module": 5}
    assert [key[4] for key in keys(scale)] == [True, True, True, True, False]


# ------------------------------------------------------------------------------------------------------ sizes and widths


def _stencil(x: np.ndarray) -> np.ndarray:
    out = np.full_like(x, -1)
    out[1:-1] = x[:-2] + x[2:]
    return out


Make = Callable[[], tack.Kernel]
Function = Callable[..., Any]

# The kernel, the shapes of the calls, the number of variants after each, what else is passed, and what comes out.
SIZE_ROWS: dict[str, tuple[Make, list[tuple[int, ...]], list[int], Function, Function]] = {
    "out[i] = x[x.shape[0] - 1 - i]": (
        make_reverse, [(8,), (16,), (32,)], [1, 2, 3], lambda x: (), lambda x: x[::-1],
    ),
    "the same with n passed as a scalar": (
        make_reverse_by_n, [(8,), (16,), (32,)], [1, 1, 1], lambda x: (len(x),), lambda x: x[::-1],
    ),
    "ndindex over 2-D arrays": (make_copy, [(4, 8), (16, 8), (4, 9)], [1, 1, 2], lambda x: (), lambda x: x),
    "range(1, x.shape[0] - 1) stencil": (make_stencil, [(8,), (16,), (32,)], [1, 1, 1], lambda x: (), _stencil),
}  # fmt: skip


@pytest.mark.spec("cache-169", "cache-176", "cache-177", "cache-178", "cache-179")
@pytest.mark.parametrize("row", SIZE_ROWS)
def test_sizes(row: str) -> None:
    make, shapes, counts, rest, expected = SIZE_ROWS[row]
    kernel = make()
    found = []
    for shape in shapes:
        x = array(*shape)
        for _ in range(2):
            out = like(x)
            kernel(x, out, *rest(x))
            np.testing.assert_array_equal(out.numpy(), expected(x.numpy()))
        found.append(variants(kernel))
    assert found == counts and both_counts(kernel) == (counts[-1], 1)
    assert all(key[4] for key in keys(kernel))


@pytest.mark.spec("cache-169", "cache-180")
def test_widths() -> None:
    dot = make_dot()
    found = []
    for width in (2, 3):
        values = np.arange(4.0 * width).reshape(4, width)
        for _ in range(2):
            out = tack.zeros(4)
            dot(tack.array(values, tack.vec(width)), out)
            assert out.numpy().tolist() == (values * values).sum(1).tolist()
        found.append(both_counts(dot))
    assert found == [(1, 1), (2, 2)]
    assert all(key[4] for key in keys(dot))


# --------------------------------------------------------------------------------------------------------- device classes


@tack.device_class
class Scaled:
    factor = 2.0

    def __init__(self, offset: float, data: tack.Array) -> None:
        self.offset = offset
        self.data = data

    @tack.func
    def at(self, i):
        return self.data[i] * self.factor + self.offset


def class_per_call() -> type:
    @tack.device_class
    class Scaled:
        factor = 2.0

        def __init__(self, offset, data):
            self.offset = offset
            self.data = data

        @tack.func
        def at(self, i):
            return self.data[i] * self.factor + self.offset

    return Scaled


def make_apply() -> tack.Kernel:
    @tack.kernel
    def apply(s, out):
        for i in range(out.shape[0]):
            out[i] = s.at(i)

    return apply


@pytest.mark.spec(
    "cache-025", "cache-026", "cache-169", "cache-181", "cache-182", "cache-183", "cache-184", "cache-185", "cache-186"
)
@pytest.mark.spec("cache-227", "cache-229")
def test_a_device_class() -> None:
    apply = make_apply()

    def call(s: Any, factor: float = 2.0) -> tuple[int, int]:
        for _ in range(2):
            out = tack.zeros(8)
            apply(s, out)
            np.testing.assert_array_equal(out.numpy(), s.data.numpy()[:8] * np.float32(factor) + np.float32(s.offset))
        return both_counts(apply)

    s = Scaled(1.0, array(8))
    assert call(s) == (1, 1)
    s.offset = 5.0
    assert call(s) == (1, 1)
    assert call(Scaled(5.0, array(16))) == (2, 2)
    s.factor = 3.0
    assert call(s, 3.0) == (3, 3)
    per_call = class_per_call()
    assert call(per_call(5.0, array(8))) == (4, 4)
    assert all(key[4] for key in keys(apply))
    del per_call
    gc.collect()
    assert both_counts(apply) == (3, 3)
    assert call(s, 3.0) == (3, 3)


# ------------------------------------------------------------------------------------------------------- costs and advice


@pytest.mark.spec("cache-222")
def test_causes_multiply() -> None:
    """Every combination of a dtype, a scalar type, a width, a size, a constant and aliasing is a variant of its own."""

    @tack.kernel
    def all_of_it(s, v, x, out, a):
        for i in range(out.shape[0]):
            out[i] = s.factor * v[i].x + x[x.shape[0] - 1] * a

    backend = TextBackend()
    s, v = Scaled(0.0, array(4)), [tack.ones(4, tack.vec(width)) for width in (2, 3)]
    expected = 0
    for factor in (2.0, 3.0):
        s.factor = factor
        for width in v:
            for x in (array(4), array(5), array(4, dtype=np.float64)):
                for a in (1.5, 2):
                    for overlapping in (False, True):
                        backend.resolve(all_of_it, (s, width, x, x[:4] if overlapping else tack.zeros(4), a))
                        expected += 1
                        assert len(backend._cache[all_of_it]) == backend.compiled == expected
    assert expected == 2 * 2 * 3 * 2 * 2


@pytest.mark.spec("cache-223", "cache-224")
def test_lengths_passed_as_numbers_and_lengths_in_the_outermost_range_cost_nothing() -> None:
    kernels = [make_reverse(), make_reverse_by_n(), make_stencil(), make_scale()]
    for n in (5, 9, 13, 17):
        x = array(n)
        for kernel, rest in zip(kernels, ((), (n,), (), (2.0,)), strict=True):
            kernel(x, like(x), *rest)
    assert [variants(kernel) for kernel in kernels] == [4, 1, 1, 1]


@pytest.mark.spec("cache-225", "cache-226")
def test_integers_are_typed_by_value_and_floats_by_the_arrays() -> None:
    scale = make_scale()
    x, wide = array(4), array(4, dtype=np.float64)
    for a, count in ((0, 1), (2**31 - 1, 1), (2**31, 2), (2**40, 2), (-(2**31), 2), (2**63, 3)):
        scale(x, like(x), a)
        assert variants(scale) == count
    for a in (1.0, np.float32(2), np.float64(0.1)):
        scale(x, like(x), a)
        scale(wide, like(wide), a)
        scale(x, like(wide), a)
    assert [key[0][2][0] for key in keys(scale)[3:]] == [f32, f64, f64]


@pytest.mark.spec("cache-227")
def test_each_new_value_of_a_class_constant_compiles_and_an_old_one_does_not() -> None:
    apply, s = make_apply(), Scaled(0.0, array(4))
    for factor, count in ((2.0, 1), (3.0, 2), (2.0, 2), (4.0, 3), (3.0, 3)):
        s.factor = factor
        apply(s, tack.zeros(4))
        assert both_counts(apply) == (count, count)


@pytest.mark.spec("cache-228")
def test_a_class_per_call_pays_each_time_and_is_released() -> None:
    apply, counts = make_apply(), []
    for _ in range(3):
        apply(class_per_call()(0.0, array(4)), tack.zeros(4))
        counts.append(apply.lowerings)
        gc.collect()
        assert both_counts(apply) == (0, 0)
    assert counts == [1, 2, 3]


@pytest.mark.spec("cache-059", "cache-060", "cache-229")
def test_an_objects_array_is_keyed_by_its_whole_shape() -> None:
    apply = make_apply()
    for n, count in ((8, 1), (9, 2), (8, 2), (10, 3)):
        apply(Scaled(0.0, array(n)), tack.zeros(4))
        assert both_counts(apply) == (count, count)


def test_the_guide_shows_each_point_by_a_count() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/users-guide/specialization.md").read_text("utf-8")
    _, *sections = page.split("\n## ")
    assert len(sections) >= 6
    for section in sections:
        assert re.search(r"^assert .*\.variants\(\)", section, re.MULTILINE), section.splitlines()[0]
