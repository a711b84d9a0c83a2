"""Which dimensions a kernel bakes into its code, and that exactly these are in the key.

A row stride was once baked in and not keyed, so that arrays of another width were walked with the old one: the first test is
that fault, seen from the arrays' side.
"""

from __future__ import annotations

import numpy as np
import pytest

import tack
from tack.ir.facts import ir_shape_deps
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import shape_signature


def array(*shape: int) -> tack.Array:
    return tack.array(np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape))


def signature(kernel: tack.Kernel, **arrays: tack.Array) -> tuple[int, ...]:
    return shape_signature(kernel.template(), arrays)


def deps(kernel: tack.Kernel) -> set:
    return set(ir_shape_deps(kernel.template()))


@tack.kernel
def transpose(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[j, i] = a[i, j]


def test_arrays_of_another_width_are_walked_with_their_own_stride() -> None:
    for shape in ((2, 3), (3, 2), (5, 7), (2, 7), (2, 3)):
        a = array(*shape)
        out = tack.zeros(shape[::-1])
        transpose(a, out)
        np.testing.assert_array_equal(out.numpy(), a.numpy().T)


# ----------------------------------------------------------------------------- the spec's table of baked-in dimensions


@tack.kernel
def double(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * 2


@tack.kernel
def stencil(x, out):
    for i in range(1, x.shape[0] - 1):
        out[i] = x[i - 1] + x[i + 1]


@tack.kernel
def reverse(x, out):
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]


@tack.kernel
def copy(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[i, j] = a[i, j]


@pytest.mark.spec("cache-070", "cache-071", "cache-073")
def test_a_launch_bound_bakes_nothing_in() -> None:
    assert signature(double, x=array(8), out=array(9)) == ()


@pytest.mark.spec("cache-074")
def test_a_start_and_a_bound_with_arithmetic_bake_nothing_in() -> None:
    assert signature(stencil, x=array(8), out=array(9)) == ()


@pytest.mark.spec("cache-062", "cache-065", "cache-068", "cache-075")
def test_a_size_in_an_index_is_baked_in() -> None:
    assert signature(reverse, x=array(8), out=array(9)) == (8,)


@pytest.mark.spec("cache-063", "cache-076")
def test_row_strides_are_baked_in_and_the_row_count_is_not() -> None:
    assert signature(copy, a=array(4, 8), out=array(5, 9)) == (8, 9)
    assert deps(copy) == {("a", 1), ("out", 1)}


# ------------------------------------------------------------------------------------------ the same through device functions


@tack.func
def at_the_end(v, i):
    return v[v.shape[0] - 1 - i]


@tack.func
def at(m, i, j):
    return m[i, j]


@tack.func
def put(m, i, j, value):
    m[i, j] = value


@tack.func
def put_again(m, i, j, value):
    put(m, i, j, value)


@tack.kernel
def double_by_func(x, out):
    for i in range(x.shape[0]):
        out[i] = twice(x, i)


@tack.func
def twice(v, k):
    return v[k] * 2


@tack.kernel
def reverse_by_func(x, out):
    for i in range(x.shape[0]):
        out[i] = at_the_end(x, i)


@tack.kernel
def copy_by_func(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        put_again(out, i, j, at(a, i, j))


@pytest.mark.spec("cache-066")
def test_the_table_holds_through_device_functions() -> None:
    assert signature(double_by_func, x=array(8), out=array(9)) == ()
    assert signature(reverse_by_func, x=array(8), out=array(9)) == (8,)
    assert signature(copy_by_func, a=array(4, 8), out=array(5, 9)) == (8, 9)


def test_device_functions_compute_with_the_sizes_of_what_they_were_given() -> None:
    for n in (3, 5, 3):
        x, out = array(n), tack.zeros(n)
        reverse_by_func(x, out)
        assert out.numpy().tolist() == x.numpy()[::-1].tolist()
    for shape in ((2, 3), (2, 4), (3, 3)):
        a, out = array(*shape), tack.zeros(shape)
        copy_by_func(a, out)
        np.testing.assert_array_equal(out.numpy(), a.numpy())


# ------------------------------------------------------------------------------------------------------- the rest of it


def test_sizes_of_inner_loops_conditions_and_values_are_baked_in() -> None:
    @tack.kernel
    def sums(a, b, c, out):
        for i in range(out.shape[0]):
            acc = 0.0
            for k in range(a.shape[0]):
                acc += a[k]
            if i < b.shape[0]:
                acc += len(c)
            out[i] = acc

    assert deps(sums) == {("a", 0), ("b", 0), ("c", 0)}
    assert sorted(signature(sums, a=array(3), b=array(4), c=array(5), out=array(6))) == [3, 4, 5]


@pytest.mark.spec("cache-064")
def test_prologue_locals_that_feed_only_the_bound_bake_nothing_in() -> None:
    @tack.kernel
    def by_local(x, out):
        n = x.shape[0]
        for i in range(n):
            out[i] = x[i]

    @tack.kernel
    def by_local_used(x, out):
        n = x.shape[0]
        for i in range(n):
            out[i] = x[n - 1 - i]

    assert deps(by_local) == set()
    assert deps(by_local_used) == {("x", 0)}
    for n in (4, 7):
        x, out = array(n), tack.zeros(n)
        by_local(x, out)
        assert out.numpy().tolist() == x.numpy().tolist()
        by_local_used(x, out)
        assert out.numpy().tolist() == x.numpy()[::-1].tolist()
    assert len(get_backend()._cache[by_local]) == 1


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3)])
def test_size_and_number_of_dimensions_are_values(shape: tuple[int, ...]) -> None:
    @tack.kernel
    def facts(a, out):
        for i in range(1):
            out[0] = a.ndim
            out[1] = a.size
            out[2] = a.shape[-1]

    out = tack.zeros(3, dtype=tack.i64)
    for _ in range(2):
        facts(array(*shape), out)
        assert out.numpy().tolist() == [len(shape), 6, shape[-1]]


def test_one_kernel_serves_ranks_whose_sizes_it_asks_for() -> None:
    @tack.kernel
    def facts(a, out):
        for i in range(1):
            out[0] = a.ndim
            out[1] = a.size

    out = tack.zeros(2, dtype=tack.i64)
    for shape in ((6,), (2, 3), (3, 2), (6,), (7,)):
        facts(array(*shape), out)
        assert out.numpy().tolist() == [len(shape), int(np.prod(shape))]


def test_bounds_that_read_sizes_follow_the_arrays_of_each_call() -> None:
    @tack.kernel
    def edges(a, out):
        for i in range(a.size, a.shape[-1] - 1, -2):
            out[i] = 1.0

    for shape in ((6,), (2, 3), (3, 2), (2, 5)):
        out = tack.zeros(16)
        edges(array(*shape), out)
        expected = np.zeros(16)
        expected[int(np.prod(shape)) : shape[-1] - 1 : -2] = 1
        np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.spec("cache-061", "cache-164")
def test_shapes_that_change_from_call_to_call_are_walked_with_their_own_sizes() -> None:
    """Three arrays of random shapes, as slow and as warm calls, in one kernel that reads strides, sizes and bounds."""

    @tack.kernel
    def mixed(a, b, out):
        for i, j in tack.ndindex(a.shape[0], a.shape[1]):
            acc = 0.0
            for k in range(b.shape[0]):
                acc += a[i, j] * b[k, a.shape[1] - 1 - j]
            out[j, i] = acc + a.size - b.shape[-1]

    rng = np.random.default_rng(8)
    shapes = set()
    for _ in range(60):
        h, w, n = (int(k) for k in rng.integers(1, 3, 3))
        a, b = array(h, w), array(n, w + 1)
        out = tack.zeros((w, h))
        shapes.add((h, w, n))
        for _ in range(int(rng.integers(1, 3))):
            mixed(a, b, out)
            x, y = a.numpy(), b.numpy()
            expected = (x * y[:, w - 1 :: -1][:, :w].sum(0)).T + x.size - y.shape[1]
            np.testing.assert_array_equal(out.numpy(), expected)
    assert len(get_backend()._cache[mixed]) == len(shapes) == 8


def test_arrays_without_elements_run_nothing() -> None:
    for shape in ((0, 5), (5, 0), (0, 0)):
        a, out = tack.zeros(shape), tack.ones(shape)
        copy(a, out)
        assert out.shape == shape
    x, out = tack.zeros(0), tack.ones(3)
    double(x, out)
    assert out.numpy().tolist() == [1, 1, 1]


@pytest.mark.spec("cache-061")
def test_sizes_become_literals_in_the_variant() -> None:
    a = array(4, 8)
    text = tack.inspect(copy, a, tack.zeros((5, 9)), mode="ir")
    assert "* 8" in text.replace("*.i64 ", "* ") and "* 9" in text.replace("*.i64 ", "* ")
    assert "a.shape[0]" in text  # the row count is read on every launch


@pytest.mark.spec("cache-156")
def test_addresses_and_spans_are_computed_once() -> None:
    buffer = array(8)[2:6]._buffer
    assert buffer.span is buffer.span and buffer.address == buffer.span[0]
    assert buffer.span[1] - buffer.span[0] == 16
