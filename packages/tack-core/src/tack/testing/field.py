"""Field cases that any device can run: each began with a public report about a kernel compiler that gave wrong numbers.

The reports are cited in packages/tack-core/tests/field_cases/README.md, whose tests run the same functions on the CPU. Functions
that take a type run with arrays of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tack
from tack.ir.types import DTYPES, FLOATS, INTS, ScalarType, f32, f64, i16, i32, i64, u8, u16, u32
from tack.testing.cases import Case, arr, same

__all__ = ["CASES", "MIXED", "SCALARS", "SIGNED"]

SIGNED = tuple(t for t in INTS if t.signed)

# A01: // and % with a negative operand known only at run time


@tack.kernel
def _divide(a, b, quotient, remainder):
    for i in range(a.shape[0]):
        quotient[i] = a[i] // b[i]
        remainder[i] = a[i] % b[i]


def floor_division_and_modulo(t: ScalarType) -> None:
    """Both floor, for every combination of signs."""
    a = [-7, 7, -7, 7, -1, 1, -6, 6, 0, -100, 100]
    b = [2, -2, -2, 2, 2, -2, 5, -5, 3, 7, -7]
    q, r = arr([99] * len(a), t), arr([99] * len(a), t)
    _divide(arr(a, t), arr(b, t), q, r)
    same(q.numpy(), np.array([x // y for x, y in zip(a, b, strict=True)], t.numpy), "quotients")
    same(r.numpy(), np.array([x % y for x, y in zip(a, b, strict=True)], t.numpy), "remainders")


# A02: signed and unsigned in one expression


@tack.kernel
def _mix(a, b, total, less):
    for i in range(a.shape[0]):
        total[i] = a[i] + b[i]
        less[i] = a[i] < b[i]


MIXED = ((i32, u32), (u32, i32), (tack.i8, u8), (u16, i16), (i64, u32), (i16, u32))


def mixed_signedness(left: ScalarType, right: ScalarType) -> None:
    """The sum holds both operands, and comparisons are those of the numbers."""
    a, b = ([-1, -1, 1, 100] if t.signed else [t.max, t.max, 1, 100] for t in (left, right))
    total, less = arr([0] * 4, i64), arr([7] * 4, i32)
    _mix(arr(a, left), arr(b, right), total, less)
    same(total.numpy(), [x + y for x, y in zip(a, b, strict=True)], f"{left} + {right}")
    same(less.numpy(), [int(x < y) for x, y in zip(a, b, strict=True)], f"{left} < {right}")


def _every_mix() -> None:
    for left, right in MIXED:
        mixed_signedness(left, right)


# A03: a comparison is the integer 0 or 1, in arithmetic as well


@tack.kernel
def _truths(a, b, both, negated, scaled, cast):
    for i in range(a.shape[0]):
        both[i] = (a[i] > 0) + (b[i] > 0)
        negated[i] = -(a[i] > b[i])
        scaled[i] = (a[i] >= b[i]) * 10 - (a[i] == b[i])
        cast[i] = int(a[i] > b[i])


def comparisons_count_as_zero_or_one() -> None:
    """In sums, products and casts."""
    outs = [arr([77] * 5, i32) for _ in range(4)]
    _truths(arr([1, 1, -1, 5, 0], i32), arr([1, -1, -1, 4, 3], i32), *outs)
    expected = [2, 1, 0, 2, 1], [0, -1, 0, -1, 0], [9, 10, 9, 10, 0], [0, 1, 0, 1, 0]
    for out, values in zip(outs, expected, strict=True):
        same(out.numpy(), values)


# A04: one name, first a for-loop's variable, then a while-loop's counter


@tack.kernel
def _reuse(out):
    for t in range(out.shape[0]):
        acc = 0
        for k in range(2):
            acc = acc + k
        k = 0
        while k < 3:
            acc = acc + 10
            k = k + 1
        out[t] = acc


def loop_variable_name_used_again() -> None:
    """The second loop counts from its own start."""
    out = arr([0, 0, 0], i32)
    _reuse(out)
    same(out.numpy(), [31, 31, 31])


# A05: an int in one branch, a float in the other


@tack.kernel
def _branch_types(x, out):
    for i in range(x.shape[0]):
        if x[i] > 0:
            a = 0
        else:
            a = 0.5
        out[i] = a


def branches_of_int_and_float() -> None:
    """The local is a float in both."""
    out = arr([9, 9, 9], f32)
    _branch_types(arr([1, -1, 0], i32), out)
    same(out.numpy(), [0.0, 0.5, 0.5])


# A06: min and max give the number, not the NaN, on either side


@tack.kernel
def _extremes(a, b, low, high):
    for i in range(a.shape[0]):
        low[i] = min(a[i], b[i])
        high[i] = max(a[i], b[i])


def min_max_prefer_the_number(t: ScalarType) -> None:
    """On either side; two NaNs give NaN."""
    nan = math.nan
    low, high = arr([9] * 5, t), arr([9] * 5, t)
    _extremes(arr([nan, 1, nan, 2, -math.inf], t), arr([1, nan, nan, 3, nan], t), low, high)
    same(low.numpy(), np.array([1, 1, nan, 2, -math.inf], t.numpy), "min")
    same(high.numpy(), np.array([1, 1, nan, 3, -math.inf], t.numpy), "max")


# A07: loops that count down


@tack.kernel
def _descend(x, out, first, last, step):
    for i in range(out.shape[0]):
        acc = x[0] * 0.0
        for k in range(first, last, step):
            acc = acc * 2.0 + x[k]
        out[i] = acc


def runtime_step_of_either_sign(t: ScalarType) -> None:
    """A `range` whose step is an argument has Python's meaning."""
    x = np.arange(1, 13).astype(t.numpy)
    for first, last, step in ((8, -1, -4), (11, 0, -1), (0, 12, 5), (3, 9, -1), (9, 3, 2)):
        out = arr([-1.0, -1.0], t)
        _descend(tack.array(x), out, first, last, step)
        want = 0.0
        for k in range(first, last, step):
            want = want * 2.0 + x[k]
        same(out.numpy(), [want, want], f"range({first}, {last}, {step})")


# A08: in-place division before sweeps


@tack.kernel
def _tridiagonal(lower, diag, upper, rhs, work, n):
    for c in range(rhs.shape[1]):
        work[0, c] = upper[0] / diag[0]
        rhs[0, c] /= diag[0]
        for r in range(1, n):
            scale = 1.0 / (diag[r] - lower[r] * work[r - 1, c])
            work[r, c] = upper[r] * scale
            rhs[r, c] = (rhs[r, c] - lower[r] * rhs[r - 1, c]) * scale
        for r in range(n - 2, -1, -1):
            rhs[r, c] -= work[r, c] * rhs[r + 1, c]


def sweeps_forward_and_back(t: ScalarType) -> None:
    """A tridiagonal solver, one system in each iteration."""
    rng = np.random.default_rng(7)
    n, columns = 17, 5
    lower, upper, diag = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), 4 + rng.uniform(0, 1, n)
    rhs = rng.uniform(-1, 1, (n, columns))
    full = np.diag(diag) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    x = arr(rhs, t)
    _tridiagonal(arr(lower, t), arr(diag, t), arr(upper, t), x, arr(np.zeros((n, columns)), t), n)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(full, rhs), rtol=1e-11 if t is f64 else 1e-4)


# A09: a chained comparison


@tack.kernel
def _between(x, out):
    for i in range(x.shape[0]):
        if 0.0 < x[i] < 1.0:
            out[i] = 1
        else:
            out[i] = 0


def chained_comparison() -> None:
    """Both halves count."""
    out = arr([9] * 5, i32)
    _between(arr([-1, 0, 0.5, 1, 5], f32), out)
    same(out.numpy(), [0, 0, 1, 0, 0])


# A10: the same array as input and output, after a call with two arrays


@tack.kernel
def _pile_up(x, out):
    for i in range(x.shape[0]):
        for _ in range(4):
            out[i] += x[i]


@tack.kernel
def _reread(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * 2.0
        out[i] = out[i] + x[i]


def one_array_as_input_and_output() -> None:
    """Compiled for two arrays first, and for one array first."""
    for order in ((False, True), (True, False, True)):
        for shared in order:
            for kernel, factor in ((_pile_up, 16 if shared else 4), (_reread, 4 if shared else 3)):
                x = arr([1, 2, 3], f32)
                out = x if shared else arr([0, 0, 0], f32)
                kernel(x, out)
                same(out.numpy(), [factor, 2 * factor, 3 * factor], f"{kernel.__name__}, shared: {shared}")


# A11: exact integer division, and true division


@tack.kernel
def _both_divisions(a, b, floor, true):
    for i in range(a.shape[0]):
        floor[i] = a[i] // b[i]
        true[i] = a[i] / b[i]


def integer_division_is_exact() -> None:
    """`//` of integers does not go through floats, and `/` rounds once."""
    a, b = np.meshgrid(np.arange(1, 400), np.arange(1, 80))
    a = np.concatenate([a.ravel(), [2**31 - 1, 2**31 - 1, 16777217, 33554435]]).astype(np.int32)
    b = np.concatenate([b.ravel(), [2**31 - 1, 2, 1, 5]]).astype(np.int32)
    floor, true = arr(np.zeros(a.shape), i32), arr(np.zeros(a.shape), f32)
    _both_divisions(tack.array(a), tack.array(b), floor, true)
    same(floor.numpy(), a // b)
    same(true.numpy(), a.astype(np.float32) / b.astype(np.float32))


# A12: a float literal, and a float argument, has the precision of what it meets


@tack.kernel
def _add_tenth(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + 0.1


@tack.kernel
def scale(x, out, factor):
    """out = x * factor, element by element."""
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


def literal_takes_the_precision_of_the_array(t: ScalarType) -> None:
    """As NumPy computes it."""
    x = np.array([0.0, 0.3, 1.0, 1e6], t.numpy)
    out = arr(np.zeros(4), t)
    _add_tenth(tack.array(x), out)
    same(out.numpy(), x + t.numpy.type(0.1))


def argument_takes_the_precision_of_the_array(t: ScalarType) -> None:
    """As NumPy computes it."""
    x = np.array([1.0, 3.0, 1e6], t.numpy)
    out = arr(np.zeros(3), t)
    scale(tack.array(x), out, 0.1)
    same(out.numpy(), x * t.numpy.type(0.1))


# A13: shifts keep the sign of a signed value and not of an unsigned one


@tack.kernel
def _shift(x, right, left):
    for i in range(x.shape[0]):
        right[i] = x[i] >> 2
        left[i] = x[i] << 1


def shifts(t: ScalarType) -> None:
    """Right shifts fill the sign, left shifts wrap."""
    x = [t.min, t.max, 0, 1, 5, t.max // 2]
    right, left = arr([0] * 6, t), arr([0] * 6, t)
    _shift(tack.array(np.array(x, t.numpy)), right, left)
    wrapped = [(v << 1) % (1 << t.bits) for v in x]
    wrapped = [v - (1 << t.bits) if t.signed and v > t.max else v for v in wrapped]
    same(right.numpy(), np.array([v >> 2 for v in x], t.numpy), "right")
    same(left.numpy(), np.array(wrapped, t.numpy), "left")


# C03: arrays without elements


@tack.kernel
def copy2(a, out):
    """out = a, of two dimensions."""
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[i, j] = a[i, j]


def arrays_without_elements() -> None:
    """They are made, passed and read."""
    x = arr(np.zeros(0), f32)
    out = tack.empty_like(x)
    scale(x, out, 2.0)
    same(out.numpy(), np.zeros(0, np.float32))
    for shape in ((0, 5), (5, 0), (0, 0)):
        a = arr(np.zeros(shape), i32)
        b = tack.empty_like(a)
        copy2(a, b)
        same(b.numpy(), np.zeros(shape))
    a = arr(np.arange(6).reshape(2, 3), i32)
    b = tack.empty_like(a)
    copy2(a, b)
    same(b.numpy(), a.numpy())


# C04: arrays from views that are not laid out in order


def views() -> dict[str, Any]:
    """NumPy's views of every kind, by a name in words."""
    base = np.arange(60, dtype=np.float32)
    grid = base.reshape(6, 10)
    return {
        "every second": base[::2],
        "backwards": base[::-1],
        "a column": grid[:, 3],
        "columns": grid[:, 2:7],
        "transposed": grid.T,
        "fortran": np.asfortranarray(grid),
        "rows backwards": grid[::-1],
        "repeated": np.broadcast_to(base[:5], (4, 5)),
        "swapped": grid.reshape(2, 3, 10).swapaxes(0, 2)[1],
    }


def view_keeps_its_values(name: str) -> None:
    """An array made from the view `name` has its values, also in kernels."""
    view = views()[name]
    x = tack.array(view)
    same(x.numpy(), view, name)
    out = arr(np.zeros(view.shape), f32)
    if view.ndim == 1:
        scale(x, out, 2.0)
        same(out.numpy(), view * 2, name)
    else:
        copy2(x, out)
        same(out.numpy(), view, name)


def _every_view() -> None:
    for name in views():
        view_keeps_its_values(name)


# C05: the same number as a Python or a NumPy scalar

SCALARS = (5, 5.0, np.float32(5), np.float64(5), np.int8(5), np.uint8(5), np.int32(5), np.int64(5), np.uint32(5))


def python_and_numpy_scalars(t: ScalarType) -> None:
    """All fives are five."""
    for factor in SCALARS:
        out = arr([0, 0, 0], t)
        scale(arr([1, 2, 3], t), out, factor)
        same(out.numpy(), np.array([5, 10, 15], t.numpy), f"times {factor!r}")


# C06: ranges without iterations, and ranges that start elsewhere


@tack.kernel
def _span(out, first, last):
    for i in range(first, last):
        out[i] = i


def ranges() -> None:
    """Empty and reversed ranges run nothing, others exactly what they hold."""
    for first, last in ((0, 0), (5, 5), (7, 3), (2, 6), (0, 10), (9, 10)):
        out = arr([-1] * 10, i32)
        _span(out, first, last)
        same(out.numpy(), [i if first <= i < last else -1 for i in range(10)], f"range({first}, {last})")


# C07: more iterations than a 32-bit integer counts


@tack.kernel
def _tail(out, n, base):
    for i in range(n):
        if i >= base:
            out[i - base] = i


def iterations_past(base: int) -> None:
    """A launch of `base` + 8 iterations, of which the last eight are seen."""
    out = arr([-1] * 8, i64)
    _tail(out, base + 8, base)
    same(out.numpy(), [base + k for k in range(8)])


# F01: atomics on every array type


@tack.kernel
def _count(one, out):
    for i in range(one.shape[0]):
        tack.atomic_add(out, 0, one[i])


def atomic_add_counts_every_iteration(t: ScalarType) -> None:
    """20,000 of them, on one element."""
    out = arr([0], t)
    _count(arr(np.ones(20_000), t), out)
    same(out.numpy(), np.array([20_000]).astype(t.numpy))


@tack.kernel
def _histogram(x, bins):
    for i in range(x.shape[0]):
        tack.atomic_add(bins, x[i], 1)


def histogram(t: ScalarType) -> None:
    """Of 20,000 numbers in seven bins."""
    x = np.random.default_rng(3).integers(0, 7, 20_000).astype(np.int32)
    bins = arr([0] * 7, t)
    _histogram(tack.array(x), bins)
    same(bins.numpy(), np.bincount(x, minlength=7))


# F02: device functions that give two values, and a swap in one statement


@tack.func
def _split(v):
    return v // 10, v % 10


@tack.kernel
def _digits(x, tens, ones):
    for i in range(x.shape[0]):
        t, o = _split(x[i])
        tens[i] = t
        ones[i] = o


def two_results() -> None:
    """Of a device function."""
    tens, ones = arr([0] * 4, i32), arr([0] * 4, i32)
    _digits(arr([42, 7, 90, -3], i32), tens, ones)
    same(tens.numpy(), [4, 0, 9, -1])
    same(ones.numpy(), [2, 7, 0, 7])


@tack.kernel
def _swap(a, b):
    for i in range(a.shape[0]):
        a[i], b[i] = b[i], a[i]


def swap_in_one_statement() -> None:
    """The right side is read before anything is stored."""
    a, b = arr(np.arange(4), f32), arr(np.arange(4) + 100, f32)
    _swap(a, b)
    same(a.numpy(), [100, 101, 102, 103])
    same(b.numpy(), [0, 1, 2, 3])


# F03: two and three indices


@tack.kernel
def _transpose(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[j, i] = a[i, j] + i * 1000 + j


def two_indices() -> None:
    """A transposition of several shapes, one of them twice."""
    for shape in ((3, 5), (5, 3), (1, 9), (64, 33), (3, 5)):
        a = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        out = arr(np.zeros(shape[::-1]), i32)
        _transpose(tack.array(a), out)
        i, j = np.indices(shape)
        same(out.numpy(), (a + i * 1000 + j).T, str(shape))


@tack.kernel
def _blend(a, out):
    for i, j, k in tack.ndindex(a.shape[0], a.shape[1], a.shape[2]):
        out[i, j, k] = a[i, j, k] * 2.0 + k


def three_indices() -> None:
    """Over an array of three dimensions."""
    a = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    out = arr(np.zeros(a.shape), f32)
    _blend(tack.array(a), out)
    same(out.numpy(), a * 2 + np.arange(4, dtype=np.float32))


# F05: seeing what was generated does not run it


@tack.kernel
def _plain(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + 1.0


def inspect_shows_and_does_not_run() -> None:
    """The source is text, and the arrays stay as they are."""
    x, out = arr(np.arange(4), f32), arr([9] * 4, f32)
    text = tack.inspect(_plain, x, out, mode="source")
    same(isinstance(text, str) and bool(text.strip()), True, "no text")
    same(out.numpy(), [9.0] * 4)
    _plain(x, out)
    same(out.numpy(), [1.0, 2.0, 3.0, 4.0])


_ARITHMETIC = (f32, f64, i32, i64)
CASES = (
    Case("A01 // and % of negatives", floor_division_and_modulo, SIGNED + FLOATS),
    Case("A02 mixed signedness", _every_mix),
    Case("A03 comparisons are 0 or 1", comparisons_count_as_zero_or_one),
    Case("A04 loop variable used again", loop_variable_name_used_again),
    Case("A05 branches of int and float", branches_of_int_and_float),
    Case("A06 min and max of NaN", min_max_prefer_the_number, FLOATS),
    Case("A07 run-time steps", runtime_step_of_either_sign, FLOATS),
    Case("A08 sweeps forward and back", sweeps_forward_and_back, FLOATS),
    Case("A09 chained comparison", chained_comparison),
    Case("A10 one array as input and output", one_array_as_input_and_output),
    Case("A11 integer division is exact", integer_division_is_exact),
    Case("A12 precision of literals", literal_takes_the_precision_of_the_array, FLOATS),
    Case("A12 precision of arguments", argument_takes_the_precision_of_the_array, FLOATS),
    Case("A13 shifts", shifts, INTS),
    Case("C03 arrays without elements", arrays_without_elements),
    Case("C04 views keep their values", _every_view),
    Case("C05 Python and NumPy scalars", python_and_numpy_scalars, _ARITHMETIC),
    Case("C06 ranges", ranges),
    Case("F01 atomic counts", atomic_add_counts_every_iteration, DTYPES, atomics=True),
    Case("F01 histogram", histogram, (i32, i64, u32), atomics=True),
    Case("F02 two results", two_results),
    Case("F02 swap in one statement", swap_in_one_statement),
    Case("F03 two indices", two_indices),
    Case("F03 three indices", three_indices),
    Case("F05 inspect does not run", inspect_shows_and_does_not_run),
)
