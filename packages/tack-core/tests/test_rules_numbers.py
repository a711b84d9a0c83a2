"""Rules T5 to T12: division, powers, truth values, float literals, casts and functions, with values from Python and NumPy."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from rule_tools import functions, kernel, of, refused, run, value

import tack

FLOATS = (np.float32, np.float64)
NAN, INF = math.nan, math.inf


def same(got, expected):
    """Equal, zeros by sign, NaN like NaN."""
    assert len(got) == len(expected)
    for x, y in zip(got, expected):
        x, y = float(x), float(y)
        assert (x == y and math.copysign(1, x) == math.copysign(1, y)) or (x != x and y != y), (got, expected)


# ------------------------------------------------------------------------------------------------------- T5: // and %


@pytest.mark.rule("T5")
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_integer_division_floors_and_never_traps(dtype):
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    pairs = list(itertools.product((least, least + 1, -7, -1, 0, 1, 7, most), repeat=2))
    a, b = (np.array(column, dtype) for column in zip(*pairs))
    bits = dtype().itemsize * 8

    def wrapped(v):
        return (v - least) % (1 << bits) + least

    assert value("a[i] // b[i]", a, b) == [wrapped(x // y) if y else 0 for x, y in pairs]
    assert value("a[i] % b[i]", a, b) == [x % y if y else 0 for x, y in pairs]
    assert value("a[i] // b[i]", of(dtype, least), of(dtype, -1)) == [least]
    assert value("a[i] % b[i]", of(dtype, least), of(dtype, -1)) == [0]


@pytest.mark.rule("T5")
def test_division_by_a_literal_zero_does_not_trap():
    assert value("a[i] // 0", of(np.int32, 5, -5)) == [0, 0]
    assert value("a[i] % 0", of(np.uint64, 5, 6), dtype=np.uint64) == [0, 0]
    assert value("a[i] // -1", of(np.int64, -(2**63))) == [-(2**63)]


@pytest.mark.rule("T5", "T2b")
def test_expressions_of_literals_without_a_value_are_refused():
    """They are Python's, and Python has none."""
    for text in ("1 // 0", "7 % 0", "1 / 0", "1.0 // 0.0", "0.0 ** -1"):
        refused(ZeroDivisionError, text, at=text, words=["no value"], dtype=np.float64)
    refused(ValueError, "(-8) ** 0.5", at="(-8) ** 0.5", words=["not real"], dtype=np.float64)
    refused(ValueError, "1 << -1", at="1 << -1")


@pytest.mark.rule("T5", "T12")
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_division_floors_as_python_does(dtype):
    some = (0.0, -0.0, 1.0, -1.0, 7.5, -7.5, 0.1, -0.3, 2.0, -2.0, INF, -INF, NAN, 1e-310 if dtype is np.float64 else 1e-40)
    a, b = (np.array(column, dtype) for column in zip(*itertools.product(some, some)))
    with np.errstate(all="ignore"):
        same(value("a[i] // b[i]", a, b, dtype=dtype), np.floor_divide(a, b))
        same(value("a[i] % b[i]", a, b, dtype=dtype), np.remainder(a, b))
    finite = [(x, y) for x, y in itertools.product(some, some) if y and math.isfinite(x) and math.isfinite(y)]
    if dtype is np.float64:
        x, y = (np.array(column, dtype) for column in zip(*finite))
        same(value("a[i] // b[i]", x, y, dtype=dtype), [p // q for p, q in finite])
        same(value("a[i] % b[i]", x, y, dtype=dtype), [p % q for p, q in finite])


@pytest.mark.rule("T5")
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_remainders_are_those_of_fmod(dtype):
    """Near and far quotients: |a / b| up to and beyond 2**22 (2**51), and divisors near the smallest normal."""
    draw = np.random.default_rng(5)
    a = draw.uniform(-1, 1, 4000).astype(dtype) * dtype(2.0) ** draw.integers(-120, 120, 4000).astype(dtype)
    b = draw.uniform(-1, 1, 4000).astype(dtype) * dtype(2.0) ** draw.integers(-120, 120, 4000).astype(dtype)
    same(value("a[i] % b[i]", a, b, dtype=dtype), np.remainder(a, b))
    with np.errstate(all="ignore"):
        same(value("a[i] // b[i]", a, b, dtype=dtype), np.floor_divide(a, b))
    same(value("fmod(a[i], b[i])", a, b, dtype=dtype), np.fmod(a, b))
    tiny = np.finfo(dtype).tiny * draw.uniform(0.1, 4, 4000).astype(dtype)
    same(value("a[i] % b[i]", a, tiny, dtype=dtype), np.remainder(a, tiny))


# ------------------------------------------------------------------------------------------------------ T6: / and **


@pytest.mark.rule("T6")
def test_true_division_goes_to_the_default_float():
    a, b = of(np.int32, 7, -1, 1, 0), of(np.int32, 2, 3, 0, 0)
    with np.errstate(all="ignore"):
        same(value("a[i] / b[i]", a, b, dtype=np.float32), a.astype(np.float32) / b.astype(np.float32))
        same(value("a[i] / b[i]", a, b, dtype=np.float64), a / b)  # the f64 array makes f64 the default
    assert value("a[i] / b[i]", of(np.int64, 2**24 + 1), of(np.int64, 1), dtype=np.float32) == [2**24]
    assert value("1 / a[i]", of(np.uint8, 3), dtype=np.float32) == [float(np.float32(1) / np.float32(3))]
    # u64 with a signed integer meets no integer type here
    assert value("a[i] / b[i]", of(np.uint64, 10), of(np.int8, -4), dtype=np.float32) == [-2.5]


@pytest.mark.rule("T6")
def test_integer_powers_keep_the_type_of_the_base():
    assert value("a[i] ** b[i]", of(np.uint8, 3, 2, 0, 255), of(np.int64, 5, 8, 0, 2)) == [243, 0, 1, 1]
    assert value("a[i] ** b[i]", of(np.int8, 2, -2, -1), of(np.uint64, 7, 7, 2**63 + 1)) == [-128, -128, -1]
    assert value("a[i] ** 3", of(np.int32, 2000)) == [(2000**3 + 2**31) % 2**32 - 2**31]
    assert value("a[i] ** b[i]", of(np.int32, 2, 1, -1, -1, 0, -7), of(np.int8, -1, -3, -3, -4, -1, -2)) == [0, 1, -1, 1, 0, 0]
    assert value("a[i] ** 0", of(np.int16, 0, 5)) == [1, 1]


@pytest.mark.rule("T6")
def test_weak_bases_are_typed_as_in_shifts():
    assert value("2 ** a[i]", of(np.int32, 31)) == [-(2**31)]
    assert value("2 ** a[i]", of(np.uint32, 31)) == [2**31]
    assert value("2 ** a[i]", of(np.uint8, 40)) == [0]  # i32
    assert value("2 ** a[i]", of(np.int64, 40)) == [2**40]
    assert value("(1 << 40) ** a[i]", of(np.int32, 1)) == [2**40]


@pytest.mark.rule("T6")
def test_negative_literal_exponents_of_integers_are_refused():
    refused(ValueError, "a[i] ** -1", of(np.int32, 2), at="-1", words=["-1"])
    refused(ValueError, "a[i] ** (1 - 3)", of(np.uint64, 2), at="1 - 3", words=["-2"])


@pytest.mark.rule("T6", "E5")
@pytest.mark.parametrize("dtype", FLOATS)
def test_small_literal_powers_of_floats_multiply(dtype):
    x = np.random.default_rng(6).uniform(-3, 3, 50).astype(dtype)
    x = np.concatenate([x, np.array([0.0, -0.0, INF, -INF, NAN], dtype)])
    one = dtype(1)
    with np.errstate(all="ignore"):
        powers = {0: x * 0 + 1, 1: x, 2: x * x, 3: x * x * x, 4: (x * x) * (x * x)}
        powers[0][:] = 1
        for k, expected in powers.items():
            same(value(f"a[i] ** {k}", x, dtype=dtype), expected)
            if k:
                same(value(f"a[i] ** -{k}", x, dtype=dtype), one / expected)
        # the exponent is a literal also by way of a constant; as a float it is no integer literal
        same(value("a[i] ** K", x, dtype=dtype, K=tack.constant(3)), powers[3])


@pytest.mark.rule("T6", "T11")
def test_other_powers_of_floats_are_pow():
    a, b = of(np.float64, 2.0, 10.0, 0.0, -2.0, -2.0, NAN, 1.0), of(np.float64, 0.5, 5.0, -1.0, 3.0, 0.5, 0.0, NAN)
    same(value("a[i] ** b[i]", a, b, dtype=np.float64), [2**0.5, 1e5, INF, -8.0, NAN, 1.0, 1.0])
    same(value("pow(a[i], b[i])", a, b, dtype=np.float64), [2**0.5, 1e5, INF, -8.0, NAN, 1.0, 1.0])
    assert value("a[i] ** b[i]", of(np.float32, 3, 2), of(np.int32, 4, -2), dtype=np.float32) == [81, 0.25]
    assert value("a[i] ** b[i]", of(np.int32, 3, 2), of(np.float32, 4, -2), dtype=np.float32) == [81, 0.25]
    same(value("a[i] ** 0.5", of(np.float64, 2.25), dtype=np.float64), [1.5])
    # integers where the result is an integer below 2**24 (2**53) are exact
    k = np.arange(1, 25)
    assert (
        value("a[i] ** b[i]", np.full(24, 2, np.float32)[:23], k[:23].astype(np.float32), dtype=np.float32)
        == (2.0 ** k[:23]).tolist()
    )
    assert value("a[i] ** b[i]", np.full(24, 3, np.float64), k.astype(np.float64), dtype=np.float64) == [
        3.0**n for n in k.tolist()
    ]


# ------------------------------------------------------------------------------------------------- T7: truth values


@pytest.mark.rule("T7")
def test_truth_values_count_as_weak_integers():
    a = of(np.uint64, 2**64 - 1, 5)
    assert value("a[i] + (a[i] > 6)", a, dtype=np.uint64) == [0, 5]  # u64 wraps
    assert value("a[i] + (a[i] > 6)", of(np.uint8, 255, 5)) == [0, 5]
    assert value("(a[i] > 6) - 2", of(np.uint8, 255, 5)) == [-1, -2]  # alone an i32
    assert value("-(a[i] > 6)", of(np.uint8, 255, 5)) == [-1, 0]
    assert value("(a[i] > 0) + (a[i] > 6)", of(np.uint8, 255, 5)) == [2, 1]
    assert value("a[i] > 6", of(np.uint8, 255, 5), dtype=np.float32) == [1, 0]
    assert value("tack.u8(a[i] > 6) - 2", of(np.uint8, 255, 5)) == [255, 254]
    assert value("int(a[i] > 6)", of(np.uint8, 255, 5)) == [1, 0]
    assert value("not a[i]", of(np.int32, 0, -7)) == [1, 0]
    assert value("(not a[i]) * 0.5", of(np.float32, 0, -7), dtype=np.float32) == [0.5, 0]
    assert value("True + True", dtype=np.float64) == [2]


@pytest.mark.rule("T7")
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float64])
def test_any_scalar_serves_as_a_condition(dtype):
    special = [NAN, -0.0, 0.5, INF] if dtype in FLOATS else [0, 1, 2, 3]
    a = np.array([0, 1, *special], dtype)
    expected = [int(bool(x)) for x in a]
    assert value("if a[i]:\n    out[i] = 1", a) == expected
    assert value("1 if a[i] else 0", a) == expected
    assert value("while a[i]:\n    out[i] = 1\n    break", a) == expected
    assert value("if not a[i]:\n    out[i] = 0\nelse:\n    out[i] = 1", a) == expected
    assert value("if a[i] and a[i]:\n    out[i] = 1", a) == expected
    assert value("if 0 or a[i]:\n    out[i] = 1", a) == expected
    assert value("tack.select(a[i], 1, 0)", a) == expected
    assert value("bool(a[i])", a) == expected


@pytest.mark.rule("T7")
def test_logic_as_a_value_takes_truth_operands_only():
    a = of(np.float32, 2.0, 0.0)
    assert value("t = a[i] > 1 and a[i] < 3\nout[i] = t", a) == [1, 0]
    assert value("out[i] = a[i] > 1 or not a[i]", a) == [1, 1]
    refused(TypeError, "a[i] or 1.0", a, at="a[i]", dtype=np.float32, words=["`or`", "a[i] if a[i] else 1.0"])
    error = refused(TypeError, "t = a[i] > 0 and a[i]\nout[i] = t", a, at="a[i]", dtype=np.float32, words=["`and`"])
    assert " if " in str(error) and " else " in str(error)
    refused(TypeError, "3 and 4", at="3", words=["truth"])


@pytest.mark.rule("T7")
def test_the_complement_of_a_truth_value_is_refused():
    refused(TypeError, "~(a[i] > 1)", of(np.int32, 5), at="~(a[i] > 1)", words=["not"])
    refused(TypeError, "t = a[i] > 1\nout[i] = ~t", of(np.int32, 5), at="~t", words=["not"])
    refused(TypeError, "~True", at="~True", words=["not"])


# ------------------------------------------------------------------------------------------------- T8: float literals


@pytest.mark.rule("T8")
def test_a_float_literal_takes_the_type_of_what_it_meets():
    x32, x64 = of(np.float32, 3.3), of(np.float64, 3.3)
    assert value("a[i] * 0.1", x32, dtype=np.float32) == [float(x32[0] * np.float32(0.1))]
    assert value("a[i] * 0.1", x64, dtype=np.float64) == [3.3 * 0.1]
    # f32 beside an f64 array stays f32: the literal is no f64
    assert value("a[i] * 0.1", x32, dtype=np.float64) == [float(x32[0] * np.float32(0.1))]
    assert value("tack.f64(0.1) == 0.1", x32) == [1]
    assert value("tack.f32(0.1) == 0.1", x64) == [1]  # the literal is converted to the cast's type
    assert value("max(a[i], 5.1)", x32, dtype=np.float64) == [float(np.float32(5.1))]
    assert value("a[i] if a[i] > 4 else 0.1", x32, dtype=np.float64) == [float(np.float32(0.1))]


@pytest.mark.rule("T8")
def test_alone_it_is_the_default_float():
    assert value("t = 0.1\nout[i] = t * 10", of(np.float32, 0), dtype=np.float32) == [float(np.float32(0.1) * np.float32(10))]
    assert value("t = 0.1\nout[i] = t", of(np.float64, 0), dtype=np.float64) == [0.1]
    x = of(np.float64, 1.7, 2.9)
    assert value("dt = 0.1\nout[i] = a[i] * dt", x, dtype=np.float64) == (x * 0.1).tolist()
    assert value("a[i] * 0.1", of(np.int32, 3), dtype=np.float32) == [float(np.float32(3) * np.float32(0.1))]
    assert value("a[i] * 0.1", of(np.int32, 3), dtype=np.float64) == [3 * 0.1]
    assert value("0.1", dtype=np.float64) == [0.1]
    assert value("0.1", dtype=np.float32) == [float(np.float32(0.1))]


@pytest.mark.rule("T8")
def test_it_is_converted_once_from_its_exact_value():
    """Between two f32 values, nearer the upper, but 2**-60 further on than the middle as a double: one rounding goes up."""
    middle = 1 + 2.0**-24
    assert value(f"{middle!r}", dtype=np.float32) == [1.0]
    assert value(f"{1 + 2.0**-24 + 2.0**-50!r}", dtype=np.float32) == [1 + 2.0**-23]
    assert value("16777217", dtype=np.float32) == [16777216]
    assert value("9007199791611905", dtype=np.float32) == [float(np.float32(9007200328482816))]  # an integer, rounded once


@pytest.mark.rule("T8", "F1")
def test_literals_stay_weak_through_arms_arguments_and_returns():
    helpers = functions(
        """
        @tack.func
        def tenth(flag):
            if flag:
                return 0.1
            return 0.3

        @tack.func
        def times(x, factor):
            return x * factor

        @tack.func
        def three():
            return 3
        """
    )
    x64, x32 = of(np.float64, 1.7), of(np.float32, 1.7)
    for x in (x32, x64):
        kind = x.dtype.type
        assert value("a[i] * (0.1 if i == 0 else 0.3)", x, dtype=kind) == [float(x[0] * kind(0.1))]
        assert value("a[i] * tenth(i == 0)", x, dtype=kind, **helpers) == [float(x[0] * kind(0.1))]
        assert value("times(a[i], 0.1)", x, dtype=kind, **helpers) == [float(x[0] * kind(0.1))]
    # with f32 data beside f64: nothing but the literal could widen it
    assert value("a[i] * tenth(True)", x32, dtype=np.float64, **helpers) == [float(x32[0] * np.float32(0.1))]
    assert value("a[i] + three()", of(np.uint8, 254), **helpers) == [1]
    assert value("a[i] + (3 if i == 0 else 4)", of(np.uint8, 254), **helpers) == [1]
    assert value("times(a[i], 2)", of(np.uint8, 200), **helpers) == [144]


# ---------------------------------------------------------------------------------------------------------- T9: casts


@pytest.mark.rule("T9")
@pytest.mark.parametrize("target", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_float_to_integer_truncates_and_saturates(target):
    bits = int(target[1:])
    least, most = (0, 2**bits - 1) if target[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    some = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 126.99, 127.5, 255.9, 256.0, -128.9, -129.0, float(most), float(least), 1e30, -1e30]
    some += [2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**63), INF, -INF, NAN, math.nextafter(2.0**63, 0)]
    for dtype in FLOATS:
        x = np.array(some, dtype)
        expected = [
            0 if v != v else min(max(int(v), least), most) if math.isfinite(v) else (most if v > 0 else least) for v in x.tolist()
        ]
        narrow = np.dtype(f"{target[0]}{bits // 8}")
        assert value("a[i]", x, dtype=narrow) == expected
        assert value(f"tack.{target}(a[i])", x, dtype=narrow) == expected


@pytest.mark.rule("T9")
def test_f64_to_f32_rounds_and_overflows_to_infinity():
    most = float(np.finfo(np.float32).max)
    x = of(np.float64, 0.1, 1e39, -1e39, most, most * (1 + 2**-26), most * (1 + 2**-24), 1e-46, -1e-45, NAN, -0.0, 1e-40)
    with np.errstate(all="ignore"):
        same(value("a[i]", x, dtype=np.float32), x.astype(np.float32))
        same(value("tack.f32(a[i])", x, dtype=np.float64), x.astype(np.float32).astype(np.float64))


@pytest.mark.rule("T9")
def test_integer_to_float_rounds_to_nearest_even():
    some = [2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 2**63 - 1, 2**63 - 2**38, 2**62 + 2**38, 2**62 + 2**38 + 1, -(2**24) - 1]
    a = np.array(some, np.int64)

    def nearest(v, digits):
        cut = max(abs(v).bit_length() - digits, 0)
        return float(round(Fraction(v, 1 << cut)) << cut)

    assert value("a[i]", a, dtype=np.float32) == [nearest(v, 24) for v in some]
    assert value("a[i]", a, dtype=np.float64) == [nearest(v, 53) for v in some]
    top = [2**64 - 1, 2**63 + 2**39, 2**63 + 2**39 + 1, 2**64 - 2**39]
    assert value("a[i]", np.array(top, np.uint64), dtype=np.float32) == [nearest(v, 24) for v in top]
    assert value("tack.f64(a[i])", np.array(top, np.uint64), dtype=np.float64) == [nearest(v, 53) for v in top]


# -------------------------------------------------------------------------------------------------- T10: functions


@pytest.mark.rule("T10")
@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_prefer_numbers_and_order_zeros(dtype):
    a = np.array([NAN, 1, NAN, 0.0, -0.0, -0.0, INF, -INF], dtype)
    b = np.array([1, NAN, NAN, -0.0, 0.0, -0.0, NAN, NAN], dtype)
    same(value("min(a[i], b[i])", a, b, dtype=dtype), [1, 1, NAN, -0.0, -0.0, -0.0, INF, -INF])
    same(value("max(a[i], b[i])", a, b, dtype=dtype), [1, 1, NAN, 0.0, 0.0, -0.0, INF, -INF])
    same(value("max(a[i], b[i], 0.5)", a, b, dtype=dtype), [1, 1, 0.5, 0.5, 0.5, 0.5, INF, 0.5])
    same(value("min(a[i], b[i], 2, -1)", a, b, dtype=dtype), [-1] * 7 + [-INF])


@pytest.mark.rule("T10")
def test_extremes_and_magnitudes_of_integers_are_exact():
    big = of(np.int64, 2**53 + 1, -(2**63))
    assert value("max(a[i], 2)", big) == [2**53 + 1, 2]
    assert value("min(a[i], b[i])", big, of(np.int8, 3, 3)) == [3, -(2**63)]
    assert value("abs(a[i])", big) == [2**53 + 1, -(2**63)]
    assert value("abs(a[i])", of(np.int8, -128, -5)) == [-128, 5]
    assert value("max(a[i], b[i], 7)", of(np.uint64, 2**64 - 1, 1), of(np.uint8, 3, 3), dtype=np.uint64) == [2**64 - 1, 7]
    refused(TypeError, "min(a[i])", big, at="min(a[i])", words=["two or more"])


@pytest.mark.rule("T10")
def test_casts_named_as_in_python():
    x = of(np.float32, 2.9, -2.9, NAN, 1e30)
    assert value("int(a[i])", x) == [2, -2, 0, 2**63 - 1]
    assert value("int(a[i]) + 0 * int(b[i])", of(np.int8, -5), of(np.int8, 1)) == [-5]
    assert value("int(a[i]) << 40", of(np.int8, 3)) == [3 << 40]  # i64
    assert value("int(a[i])", of(np.uint64, 2**64 - 1), dtype=np.uint64) == [2**64 - 1]  # u64 stays
    assert value("float(a[i]) + 16777217.0", of(np.int32, 0), dtype=np.float32) == [16777216]
    assert value("float(a[i]) + 16777217.0", of(np.float32, 0), dtype=np.float64) == [16777217]  # the default float is f64
    assert value("float(a[i]) + 1", of(np.float64, 2**53 - 2), dtype=np.float64) == [2**53 - 1]
    assert value("bool(a[i]) + bool(b[i])", of(np.float32, NAN, -0.0), of(np.int8, 2, 0)) == [2, 0]


@pytest.mark.rule("T10")
@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_stays_a_float(dtype):
    x = np.array([0.5, 1.5, 2.5, -0.5, -0.2, 0.2, -1.5, 2.5e10, INF, -INF, NAN, 0.0, -0.0, 4503599627370495.5], dtype)
    for name, function in {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
        same(value(f"{name}(a[i])", x, dtype=dtype), function(x))
    same(value("floor(a[i]) / 2", of(np.int32, 5), dtype=dtype), [2.5])


@pytest.mark.rule("T10")
def test_shapes_are_i64():
    a = np.zeros((3, 5), np.int8)
    body = """
    out[0] = a.shape[0] << 40
    out[1] = a.shape[1]
    out[2] = a.shape[-1]
    out[3] = a.shape[-2]
    out[4] = len(a)
    out[5] = a.ndim << 40
    out[6] = a.size
    h, w = a.shape
    out[7] = h * 10 + w
    """
    assert run(kernel(body, loop="range(1)"), a, np.zeros(8, np.int64)).tolist() == [3 << 40, 5, 5, 3, 3, 2 << 40, 15, 35]
    for text, at in {"a.shape[2]": "a.shape[2]", "a.shape[-3]": "a.shape[-3]"}.items():
        k = kernel(f"out[i] = {text}", loop="range(1)")
        with pytest.raises(IndexError) as caught:
            k(tack.array(a), tack.zeros(1))
        assert "2 dimensions" in str(caught.value) or "dimension" in str(caught.value)
        span = caught.value.diagnostic.span
        assert span.source.lines[span.line][span.col : span.end_col] == at
    refused(tack.UnsupportedSyntaxError, "a.shape[i]", of(np.int32, 1), at="a.shape[i]", words=["literal"])


@pytest.mark.rule("T10")
def test_every_function_has_its_three_names():
    from tack.ir.ops import MATH_NAMES, OPS

    for call, op in MATH_NAMES.items():
        row = OPS[op]
        if row.rule not in ("math", "test") or not row.call:
            continue
        args = ", ".join(["a[i]", "b[i]", "a[i]"][: row.arity])
        spellings = [call, f"tack.math.{call}"] + ([f"math.{call}"] if row.python_math else [])
        body = "\n".join(f"out[{k}] = {name}({args})" for k, name in enumerate(spellings))
        found = value(body, of(np.float64, 1.25), of(np.float64, 0.75), dtype=np.float64, size=3, loop="range(1)")
        assert len({repr(v) for v in found[: len(spellings)]}) == 1, call
    assert value("math.fabs(a[i])", of(np.float64, -1.25), dtype=np.float64) == [1.25]


# --------------------------------------------------------------------------------------------- T11, T12: functions


@pytest.mark.rule("T11")
def test_functions_of_integers_go_to_the_default_float():
    n = of(np.int32, 2, 3)
    assert value("sqrt(a[i])", n, dtype=np.float32) == np.sqrt(n.astype(np.float32)).tolist()
    assert value("sqrt(a[i])", n, dtype=np.float64) == np.sqrt(n.astype(np.float64)).tolist()
    assert value("sqrt(2)", dtype=np.float64) == [math.sqrt(2)]
    assert value("isnan(a[i])", n) == [0, 0]
    same(value("atan2(a[i], b[i])", n, of(np.float64, -0.0, 1), dtype=np.float64), [math.atan2(2, -0.0), math.atan2(3, 1)])


@pytest.mark.rule("T11")
@pytest.mark.parametrize("dtype", FLOATS)
def test_basic_operations_are_correctly_rounded(dtype):
    """Against exact fractions, not against another machine's arithmetic."""
    draw = np.random.default_rng(11)
    a, b = (draw.uniform(0.1, 4, 300).astype(dtype) for _ in range(2))

    def nearest(exact):
        got = float(exact)  # correctly rounded to a double
        return got if dtype is np.float64 else float(np.float32(got)) if _once(exact, got) else None

    def _once(exact, got):
        return Fraction(got) == exact or abs(Fraction(float(np.float32(got))) - exact) * 2 != Fraction(
            float(np.spacing(np.float32(got)))
        )

    for op, function in {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}.items():
        got = value(f"a[i] {op} b[i]", a, b, dtype=dtype)
        for x, y, z in zip(a.tolist(), b.tolist(), got):
            expected = nearest(function(Fraction(x), Fraction(y)))
            assert expected is None or z == expected
    for x, root in zip(a.tolist(), value("sqrt(a[i])", a, dtype=dtype)):
        up, down = (Fraction(float(np.nextafter(dtype(root), dtype(to)))) for to in (10, 0))
        middle_up, middle_down = (Fraction(root) + up) / 2, (Fraction(root) + down) / 2
        assert middle_down**2 < Fraction(x) < middle_up**2


@pytest.mark.rule("T11")
def test_special_values_are_those_of_c():
    expected = {
        "exp": {-INF: 0.0, INF: INF, -0.0: 1.0}, "log": {0.0: -INF, -1.0: NAN, INF: INF, 1.0: 0.0}, "sin": {-0.0: -0.0, INF: NAN},
        "atan": {INF: math.atan(INF), -0.0: -0.0}, "tanh": {INF: 1.0, -INF: -1.0}, "sqrt": {-0.0: -0.0, -1.0: NAN, INF: INF},
        "cbrt": {-8.0: -2.0, -0.0: -0.0}, "erf": {INF: 1.0, -0.0: -0.0}, "log1p": {-1.0: -INF, -0.0: -0.0}, "expm1": {-INF: -1.0},
        "acosh": {0.5: NAN, 1.0: 0.0}, "atanh": {1.0: INF, 2.0: NAN}, "exp2": {10.0: 1024.0, -1.0: 0.5}, "log2": {1024.0: 10.0},
    }  # fmt: skip
    for name, rows in expected.items():
        for dtype in FLOATS:
            x = np.array([*rows, NAN], dtype)
            same(value(f"{name}(a[i])", x, dtype=dtype, interpreted=False), [*np.array(list(rows.values()), dtype), NAN])


@pytest.mark.rule("T12")
@pytest.mark.parametrize("dtype", FLOATS)
def test_denormals_keep_their_value(dtype):
    info = np.finfo(dtype)
    least, tiny = dtype(info.smallest_subnormal), dtype(info.tiny)
    x = np.array([least, -least, tiny / dtype(2), tiny - least], dtype)
    same(value("a[i]", x, dtype=dtype), x)
    same(value("a[i] + a[i]", x, dtype=dtype), x + x)
    same(value("a[i] * 0.5", x, dtype=dtype), x * dtype(0.5))
    same(value("a[i] - b[i]", np.full(4, tiny), x, dtype=dtype), tiny - x)
    same(value("a[i] / 2 * 2", x, dtype=dtype), x / dtype(2) * dtype(2))
    assert value("a[i] != 0", x) == [1] * 4
    same(value("sqrt(a[i])", abs(x), dtype=dtype), np.sqrt(abs(x)))


@pytest.mark.rule("T12", "E5")
def test_there_is_no_fast_math():
    a = of(np.float32, 1e30, NAN, INF, -0.0, 1.0)
    same(value("(a[i] + 1.0) - a[i]", a, dtype=np.float32), [0, NAN, NAN, 1, 1])
    same(value("a[i] * 0.0", a, dtype=np.float32), [0, NAN, NAN, -0.0, 0])
    same(value("a[i] + 0.0", a, dtype=np.float32), np.float32([1e30, NAN, INF, 0, 1]))
    same(value("a[i] - a[i]", a, dtype=np.float32), [0, NAN, NAN, 0, 0])
    same(value("a[i] / a[i]", a, dtype=np.float32), [1, NAN, NAN, NAN, 1])
    assert value("a[i] == a[i]", a) == [1, 0, 1, 1, 1]
    same(value("0.0 - a[i]", of(np.float32, 0.0, -0.0), dtype=np.float32), [0.0, 0.0])
    same(value("-a[i]", of(np.float32, 0.0, -0.0), dtype=np.float32), [-0.0, 0.0])
    # a sum keeps its order
    ones = np.array([1e8] + [1.0] * 64, np.float32)
    total = np.float32(0)
    for v in ones:
        total += v
    assert value("t = 0.0\nfor k in range(65):\n    t += a[k]\nout[i] = t", ones, dtype=np.float32, size=1) == [total]
