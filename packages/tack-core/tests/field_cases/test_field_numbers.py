"""Numbers that came out wrong without a word, reported against kernel compilers."""

import math

import numpy as np
import pytest
from field_tools import runs

import tack

INTS = [np.int8, np.int16, np.int32, np.int64]


def arr(values, dtype):
    return tack.array(np.array(values, dtype=dtype))


# A01: // and % with a negative operand known only at run time


@tack.kernel
def divide(a, b, quotient, remainder):
    for i in range(a.shape[0]):
        quotient[i] = a[i] // b[i]
        remainder[i] = a[i] % b[i]


@pytest.mark.parametrize("dtype", INTS + [np.float32, np.float64])
def test_floor_division_and_modulo_of_negatives(dtype):
    a = [-7, 7, -7, 7, -1, 1, -6, 6, 0, -100, 100]
    b = [2, -2, -2, 2, 2, -2, 5, -5, 3, 7, -7]
    q, r = arr([99] * len(a), dtype), arr([99] * len(a), dtype)
    divide(arr(a, dtype), arr(b, dtype), q, r)
    assert q.numpy().tolist() == [x // y for x, y in zip(a, b)]
    assert r.numpy().tolist() == [x % y for x, y in zip(a, b)]


# A02: signed and unsigned in one expression


@tack.kernel
def mix(a, b, total, less):
    for i in range(a.shape[0]):
        total[i] = a[i] + b[i]
        less[i] = a[i] < b[i]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.int32, np.uint32),
        (np.uint32, np.int32),
        (np.int8, np.uint8),
        (np.uint16, np.int16),
        (np.int64, np.uint32),
        (np.int16, np.uint32),
    ],
)
def test_mixed_signedness_holds_both_operands(left, right):
    def pick(dtype):
        info = np.iinfo(dtype)
        low = -1 if info.min < 0 else info.max
        return [low, low, 1, 100]

    a, b = pick(left), pick(right)
    if left == np.int64:
        b[0] = np.iinfo(right).max
    total, less = arr([0] * 4, np.int64), arr([7] * 4, np.int32)
    mix(arr(a, left), arr(b, right), total, less)
    assert total.numpy().tolist() == [int(x) + int(y) for x, y in zip(a, b)]
    assert less.numpy().tolist() == [int(int(x) < int(y)) for x, y in zip(a, b)]


# A03: a comparison is the integer 0 or 1, in arithmetic as well


@tack.kernel
def truths(a, b, both, negated, scaled):
    for i in range(a.shape[0]):
        both[i] = (a[i] > 0) + (b[i] > 0)
        negated[i] = -(a[i] > b[i])
        scaled[i] = (a[i] >= b[i]) * 10 - (a[i] == b[i])


def test_comparisons_count_as_zero_or_one():
    a, b = [1, 1, -1, 5, 0], [1, -1, -1, 4, 3]
    outs = [arr([77] * 5, np.int32) for _ in range(3)]
    truths(arr(a, np.int32), arr(b, np.int32), *outs)
    both, negated, scaled = (o.numpy().tolist() for o in outs)
    assert both == [2, 1, 0, 2, 1]
    assert negated == [0, -1, 0, -1, 0]
    assert scaled == [9, 10, 9, 10, 0]


@tack.kernel
def cast_truth(a, b, out):
    for i in range(a.shape[0]):
        out[i] = int(a[i] > b[i])


def test_int_of_a_comparison_is_not_minus_one():
    out = arr([77, 77], np.int64)
    if runs(cast_truth, arr([2, 1], np.int32), arr([1, 2], np.int32), out):
        assert out.numpy().tolist() == [1, 0]


# A04: one name, first a for-loop's variable, then a while-loop's counter


@tack.kernel
def reuse(out):
    for t in range(out.shape[0]):
        acc = 0
        for k in range(2):
            acc = acc + k
        k = 0
        while k < 3:
            acc = acc + 10
            k = k + 1
        out[t] = acc


def test_loop_variable_name_used_again():
    out = arr([0, 0, 0], np.int32)
    reuse(out)
    assert out.numpy().tolist() == [31, 31, 31]


# A05: an int in one branch, a float in the other


@tack.kernel
def branch_types(x, out):
    for i in range(x.shape[0]):
        if x[i] > 0:
            a = 0
        else:
            a = 0.5
        out[i] = a


def test_branches_of_int_and_float():
    out = arr([9, 9, 9], np.float32)
    if runs(branch_types, arr([1, -1, 0], np.int32), out):
        assert out.numpy().tolist() == [0.0, 0.5, 0.5]


# A06: min and max give the number, not the NaN, on either side


@tack.kernel
def extremes(a, b, low, high):
    for i in range(a.shape[0]):
        low[i] = min(a[i], b[i])
        high[i] = max(a[i], b[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_min_max_prefer_the_number(dtype):
    nan = float("nan")
    low, high = arr([9] * 5, dtype), arr([9] * 5, dtype)
    extremes(arr([nan, 1, nan, 2, -math.inf], dtype), arr([1, nan, nan, 3, nan], dtype), low, high)
    for got, want in ((low.numpy(), [1, 1, nan, 2, -math.inf]), (high.numpy(), [1, 1, nan, 3, -math.inf])):
        np.testing.assert_array_equal(got, np.array(want, dtype=dtype))


# A07: loops that count down; A08: in-place division before them


@tack.kernel
def descend(x, out, first, last, step):
    for i in range(out.shape[0]):
        acc = x[0] * 0.0
        for k in range(first, last, step):
            acc = acc * 2.0 + x[k]
        out[i] = acc


def test_runtime_negative_step():
    x = np.arange(1, 13, dtype=np.float64)
    for first, last, step in ((8, -1, -4), (11, 0, -1), (0, 12, 5), (3, 9, -1), (9, 3, 2)):
        out = arr([-1.0, -1.0], np.float64)
        if not runs(descend, tack.array(x), out, first, last, step):
            continue
        want = 0.0
        for k in range(first, last, step):
            want = want * 2.0 + x[k]
        assert out.numpy().tolist() == [want, want], (first, last, step)


@tack.kernel
def tridiagonal(lower, diag, upper, rhs, work, n):
    for c in range(rhs.shape[1]):
        work[0, c] = upper[0] / diag[0]
        rhs[0, c] /= diag[0]
        for r in range(1, n):
            scale = 1.0 / (diag[r] - lower[r] * work[r - 1, c])
            work[r, c] = upper[r] * scale
            rhs[r, c] = (rhs[r, c] - lower[r] * rhs[r - 1, c]) * scale
        for r in range(n - 2, -1, -1):
            rhs[r, c] -= work[r, c] * rhs[r + 1, c]


def test_sweeps_forward_and_back():
    rng = np.random.default_rng(7)
    n, columns = 17, 5
    lower, upper = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    diag = 4 + rng.uniform(0, 1, n)
    rhs = rng.uniform(-1, 1, (n, columns))
    full = np.diag(diag) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    x = tack.array(rhs)
    tridiagonal(tack.array(lower), tack.array(diag), tack.array(upper), x, tack.array(np.zeros((n, columns))), n)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(full, rhs), rtol=1e-11)


# A09: a chained comparison


@tack.kernel
def between(x, out):
    for i in range(x.shape[0]):
        if 0.0 < x[i] < 1.0:
            out[i] = 1
        else:
            out[i] = 0


def test_chained_comparison():
    out = arr([9] * 5, np.int32)
    if runs(between, arr([-1, 0, 0.5, 1, 5], np.float32), out):
        assert out.numpy().tolist() == [0, 0, 1, 0, 0]


# A10: the same array as input and output, after a call with two arrays


@tack.kernel
def pile_up(x, out):
    for i in range(x.shape[0]):
        for k in range(4):
            out[i] += x[i]


@tack.kernel
def reread(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * 2.0
        out[i] = out[i] + x[i]


def test_one_array_as_input_and_output():
    for order in ((False, True), (True, False, True)):
        for shared in order:
            x = arr([1, 2, 3], np.float32)
            out = x if shared else arr([0, 0, 0], np.float32)
            pile_up(x, out)
            factor = 16 if shared else 4
            assert out.numpy().tolist() == [factor, 2 * factor, 3 * factor]
            x = arr([1, 2, 3], np.float32)
            out = x if shared else arr([0, 0, 0], np.float32)
            reread(x, out)
            factor = 4 if shared else 3
            assert out.numpy().tolist() == [factor, 2 * factor, 3 * factor]


# A12: a float literal has the precision of what it meets


@tack.kernel
def add_tenth(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_literal_takes_the_array_precision(dtype):
    x = np.array([0.0, 0.3, 1.0, 1e6], dtype=dtype)
    out = tack.array(np.zeros_like(x))
    add_tenth(tack.array(x), out)
    np.testing.assert_array_equal(out.numpy(), x + dtype(0.1))


@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_argument_takes_the_array_precision(dtype):
    x = np.array([1.0, 3.0, 1e6], dtype=dtype)
    out = tack.array(np.zeros_like(x))
    scale(tack.array(x), out, 0.1)
    np.testing.assert_array_equal(out.numpy(), x * dtype(0.1))


# A13: shifts keep the sign of a signed value and not of an unsigned one


@tack.kernel
def shift(x, right, left):
    for i in range(x.shape[0]):
        right[i] = x[i] >> 2
        left[i] = x[i] << 1


@pytest.mark.parametrize("dtype", INTS + [np.uint8, np.uint16, np.uint32, np.uint64])
def test_shifts(dtype):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, 5, info.max // 2], dtype=dtype)
    right, left = tack.array(np.zeros_like(x)), tack.array(np.zeros_like(x))
    shift(tack.array(x), right, left)
    bits = info.bits
    wrapped = [(int(v) << 1) % (1 << bits) for v in x]
    if info.min < 0:
        wrapped = [v - (1 << bits) if v >= 1 << (bits - 1) else v for v in wrapped]
    assert right.numpy().tolist() == [int(v) >> 2 for v in x]
    assert left.numpy().tolist() == wrapped


# A11: exact integer division, and true division


@tack.kernel
def both_divisions(a, b, floor, true):
    for i in range(a.shape[0]):
        floor[i] = a[i] // b[i]
        true[i] = a[i] / b[i]


def test_integer_division_is_exact():
    a, b = np.meshgrid(np.arange(1, 400), np.arange(1, 80))
    a = np.concatenate([a.ravel(), [2**31 - 1, 2**31 - 1, 16777217, 33554435]]).astype(np.int32)
    b = np.concatenate([b.ravel(), [2**31 - 1, 2, 1, 5]]).astype(np.int32)
    floor, true = tack.array(np.zeros_like(a)), tack.array(np.zeros(a.shape, dtype=np.float32))
    both_divisions(tack.array(a), tack.array(b), floor, true)
    np.testing.assert_array_equal(floor.numpy(), a // b)
    np.testing.assert_array_equal(true.numpy(), a.astype(np.float32) / b.astype(np.float32))
