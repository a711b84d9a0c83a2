"""Literals as exact numbers: what they are as a value of each type, and the ranges of weak integers (T2b, T4, T7 to T10)."""

import itertools
import math
import random

import numpy as np
import pytest
from typed_tools import TYPES

from tack.ir.literals import Lit, fold, hull, literal_type, of_type, range_of
from tack.ir.numerics import convert
from tack.ir.types import BOOL, DTYPES, f32, f64


@pytest.mark.rule("T4", "T7", "T8", "T9")
def test_literals_convert_as_typed_values_do():
    values = [
        0.0,
        -0.0,
        0.1,
        -0.5,
        1.5,
        2.5,
        1e30,
        -1e30,
        1e300,
        math.inf,
        -math.inf,
        5e-324,
        1e-40,
        255.9,
        -128.9,
        2.0**63,
        2.0**64,
    ]
    for value, t in itertools.product(values, DTYPES):
        got, want = of_type(value, t), convert(np.float64(value), f64, t)
        assert got == want and (got != 0 or math.copysign(1, got) == math.copysign(1, want)), (value, t)
        assert type(got) is (float if t.is_float else int)
    assert of_type(math.nan, TYPES["i32"]) == 0 and math.isnan(of_type(math.nan, f32))
    assert of_type(math.nan, BOOL) is True and of_type(0, BOOL) is False and of_type(True, TYPES["u8"]) == 1


@pytest.mark.rule("T2b", "T9")
def test_integers_round_once_to_floats():
    random.seed(1)
    near = [
        (1 << n) + d for n in (24, 53, 54, 63, 64, 70, 127) for d in (-1, 0, 1, 1 << max(0, n - 24), (1 << max(0, n - 25)) + 1)
    ]
    for value in near + [random.getrandbits(random.randrange(1, 120)) for _ in range(300)]:
        for sign in (1, -1):
            assert of_type(sign * value, f64) == float(sign * value)
            low = of_type(sign * value, f32)
            exact = sign * value
            other = [float(np.nextafter(np.float32(low), np.float32(d))) for d in (-np.inf, np.inf)]
            distance = abs(int(low) - exact)
            assert all(
                distance < abs(int(o) - exact) or (distance == abs(int(o) - exact) and even(low))
                for o in other
                if math.isfinite(o)
            )
    assert of_type((1 << 128) - (1 << 103), f32) == math.inf and of_type((1 << 128) - (1 << 104), f32) == float(
        np.finfo("f4").max
    )
    assert of_type(-(10**400), f64) == -math.inf


def even(value):
    return np.float32(value).view(np.uint32) % 2 == 0


@pytest.mark.rule("T2b")
def test_ranges_hold_every_result():
    """The range of an operation on weak integers covers what it gives for all values in the operands' ranges."""
    ranges = [Lit(0, 1), Lit(-1, 0), Lit(-3, 5), Lit(7, 7), Lit(-6, -2), Lit(0, 9)]
    for op in ("add", "sub", "mul", "band", "bor", "bxor", "min", "max", "shl", "shr"):
        for a, b in itertools.product(ranges, ranges):
            found = range_of(op, [a, b])
            if found is None:
                assert op in ("shl", "shr") and b.low < 0
                continue
            for x, y in itertools.product(range(a.low, a.high + 1), range(b.low, b.high + 1)):
                assert found.low <= fold(op, [x, y]) <= found.high, (op, a, b, x, y)
    for op, a in itertools.product(("neg", "invert", "abs"), ranges):
        found = range_of(op, [a])
        assert all(found.low <= fold(op, [x]) <= found.high for x in range(a.low, a.high + 1))
    assert hull(Lit(0, 1), Lit(-5, 0)) == Lit(-5, 1)
    assert literal_type(Lit(-1, 1 << 63)) is None and literal_type(Lit(0, 1 << 64)) is None


@pytest.mark.rule("T10")
def test_min_and_max_of_literals_follow_the_rule():
    assert fold("min", [math.nan, 1]) == 1 and fold("max", [1.0, math.nan]) == 1.0
    assert math.copysign(1, fold("min", [0.0, -0.0])) == -1 and math.copysign(1, fold("max", [-0.0, 0.0])) == 1
    assert fold("min", [3, 2.5, 2]) == 2 and fold("max", [True, 5]) == 5
