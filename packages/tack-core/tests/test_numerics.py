"""The op table's reference functions against Python's big integers, CPython's and NumPy's floats, and MPFR."""

import itertools
import math

import gmpy2
import numpy as np
import pytest

from tack.ir.numerics import constant, conversion, convert, evaluate, operation, quiet
from tack.ir.ops import OPS
from tack.ir.types import BOOL, DTYPES, FLOATS, INTS, f32, f64, i8, i32, i64, promote, u8, u64

CONTEXTS = {
    f32: gmpy2.context(precision=24, emax=128, emin=-148, subnormalize=True),
    f64: gmpy2.context(precision=53, emax=1024, emin=-1073, subnormalize=True),
}
ids = pytest.mark.parametrize


def wrap(value, t):
    """`value` modulo 2**N, in the range of integer type `t`."""
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.signed and value >> (t.bits - 1) else value


def edges(t):
    """The integers where something can go wrong in `t`."""
    near = {0, 1, 2, 3, 7, t.bits - 1, t.bits, t.max, t.max - 1, t.max // 2, t.max // 2 + 1, 0x55 & t.max}
    return sorted(near | ({-1, -2, -3, -7, t.min, t.min + 1, t.min // 2} if t.signed else set()))


def floats(t):
    """Floats of every kind: signed zeros, denormals, limits, halves, infinities, NaN and random bits."""
    info = np.finfo(t.numpy)
    plain = [0.0, info.smallest_subnormal, info.tiny, info.eps, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 1e10, info.max, math.inf]
    values = [*plain, *(-v for v in plain), math.nan, float(2 ** (info.nmant + 1) + 2), 1 + info.eps, 1 - info.epsneg]
    bits = np.random.default_rng(3).integers(0, 256, 40 * t.itemsize, np.uint8)
    return np.concatenate([np.array(values, t.numpy), bits.view(t.numpy)])


def pairs(t):
    """Every pair of `floats(t)` as two arrays."""
    a, b = np.meshgrid(floats(t), floats(t))
    return a.ravel(), b.ravel()


def same(actual, expected):
    """Equal bit for bit, except that every NaN equals every other."""
    assert actual.dtype == expected.dtype
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    wrong = (actual.view(bits) != expected.view(bits)) & ~(np.isnan(actual) & np.isnan(expected))
    assert not wrong.any(), (actual[wrong][:5], expected[wrong][:5])


def mpfr(t, operation_name, *arrays):
    """What MPFR says, correctly rounded to `t`."""
    context = CONTEXTS[t]
    method = getattr(context, operation_name)
    with gmpy2.context(context):
        values = [float(method(*(gmpy2.mpfr(float(v)) for v in each))) for each in zip(*arrays, strict=True)]
    return np.array(values, t.numpy)


# -------------------------------------------------------------------------------------------------------- integers

INTEGER = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "band": lambda a, b: a & b,
    "bor": lambda a, b: a | b,
    "bxor": lambda a, b: a ^ b,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "min": min,
    "max": max,
}
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
PAIRS = [(a, b) for a, b in itertools.product(INTS, INTS) if promote(a, b)]


@pytest.mark.rule("T3", "T4", "T5", "T7", "T10")
@ids(("ta", "tb"), PAIRS, ids=lambda t: t.name)
def test_integer_pairs_equal_big_integers(ta, tb):
    t = promote(ta, tb)
    assert t is not None
    values = list(itertools.product(edges(ta), edges(tb)))
    a = convert(np.array([v for v, _ in values], ta.numpy), ta, t)
    b = convert(np.array([v for _, v in values], tb.numpy), tb, t)
    for op, big in INTEGER.items():
        result = evaluate(op, t, (a, b))
        assert result.dtype == t.numpy
        assert result.tolist() == [wrap(big(*v), t) for v in values], op
        assert evaluate(op, t, (a[-1], b[-1])) == result[-1]
    for op, big in COMPARE.items():
        assert evaluate(op, BOOL, (a, b)).tolist() == [big(*v) for v in values], op


@pytest.mark.rule("T4", "T6")
@ids(("ta", "tb"), list(itertools.product(INTS, INTS)), ids=lambda t: t.name)
def test_shifts_and_powers_keep_the_left_type(ta, tb):
    for a, n in itertools.product(edges(ta), edges(tb)):
        args = constant(a, ta), constant(n, tb)
        count = n % ta.bits
        for op, expected in (("shl", a << count), ("shr", a >> count), ("pow", power(a, n, ta))):
            result = evaluate(op, ta, args)
            assert result.dtype == ta.numpy
            assert result == wrap(expected, ta), (op, a, n)


def power(base, exponent, t):
    if exponent < 0:
        return (
            base**-exponent
            if abs(base) == 1 and exponent > -1000
            else base
            if abs(base) == 1 and exponent % 2
            else abs(base) == 1
        )
    return pow(base, exponent, 1 << t.bits)


@pytest.mark.rule("T4", "T5", "T6", "T10")
@ids("t", INTS, ids=str)
def test_integer_corner_values(t):
    def value(op, *args):
        return int(evaluate(op, t, [constant(a, t) for a in args]))

    for a in edges(t):
        assert value("neg", a) == wrap(-a, t)
        assert value("invert", a) == wrap(~a, t)
        assert value("abs", a) == wrap(abs(a), t)
        assert value("floordiv", a, 0) == value("mod", a, 0) == 0
    assert value("pow", 0, 0) == 1
    if t.signed:
        assert value("floordiv", t.min, -1) == t.min
        assert value("mod", t.min, -1) == 0
        assert [value("pow", 2, -1), value("pow", 1, -5), value("pow", -1, -5), value("pow", -1, -4), value("pow", 0, -1)] == [
            0, 1, -1, 1, 0,
        ]  # fmt: skip


@pytest.mark.rule("T4")
@ids(("src", "dst"), list(itertools.product(INTS, INTS)), ids=lambda t: t.name)
def test_integer_casts_are_modular(src, dst):
    result = convert(np.array(edges(src), src.numpy), src, dst)
    assert result.dtype == dst.numpy
    assert result.tolist() == [wrap(v, dst) for v in edges(src)]
    assert convert(constant(edges(src)[0], src), src, dst) == result[0]


# ------------------------------------------------------------------------------------------------- conversions


@pytest.mark.rule("T9")
@ids(("src", "dst"), list(itertools.product(INTS, FLOATS)), ids=lambda t: t.name)
def test_integers_round_to_nearest_even(src, dst):
    width = np.finfo(dst.numpy).nmant + 1
    halves = [(1 << width) + d for d in range(-3, 6)] + [(3 << width) + d for d in range(8)]
    values = edges(src) + [v for v in halves if src.min <= v <= src.max]
    result = convert(np.array(values, src.numpy), src, dst)
    with gmpy2.context(CONTEXTS[dst]):
        assert result.tolist() == [float(gmpy2.mpfr(v)) for v in values]
    assert result.dtype == dst.numpy


@pytest.mark.rule("T9")
@ids(("src", "dst"), list(itertools.product(FLOATS, INTS)), ids=lambda t: t.name)
def test_floats_truncate_and_saturate(src, dst):
    near = [float(limit) + d for limit in (dst.min, dst.max) for d in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0)]
    limits = [
        np.nextafter(src.numpy.type(limit), src.numpy.type(way)) for limit in (dst.min, dst.max + 1) for way in (-np.inf, np.inf)
    ]
    values = np.concatenate([floats(src), np.array(near, src.numpy), np.array(limits, src.numpy)])
    result = convert(values, src, dst)
    assert result.dtype == dst.numpy

    def expected(v):
        if math.isnan(v):
            return 0
        if math.isinf(v):
            return dst.max if v > 0 else dst.min
        return max(dst.min, min(dst.max, math.trunc(v)))

    assert result.tolist() == [expected(v) for v in values.tolist()]
    assert convert(values[0], src, dst).dtype == dst.numpy


@pytest.mark.rule("T9", "T12")
def test_doubles_round_to_floats_and_back():
    limit = float(np.finfo(np.float32).max)
    values = np.concatenate(
        [floats(f64), floats(f32).astype(np.float64), [limit * (1 + 2**-25), limit * (1 + 2**-24), -1e300, 1e-46, 7e-46]]
    )
    result = convert(values, f64, f32)
    with gmpy2.context(CONTEXTS[f32]):
        same(result, np.array([float(gmpy2.mpfr(v)) for v in values.tolist()], np.float32))
    same(convert(floats(f32), f32, f64), np.array(floats(f32).tolist(), np.float64))
    assert np.signbit(convert(np.float64(-1e-300), f64, f32))


@pytest.mark.rule("T7")
@ids("t", DTYPES, ids=str)
def test_truth_is_nonzero_or_nan(t):
    values = floats(t) if t.is_float else np.array(edges(t), t.numpy)
    assert convert(values, t, BOOL).tolist() == [bool(v) for v in values.tolist()]
    back = convert(np.array([False, True]), BOOL, t)
    assert (back.dtype, back.tolist()) == (t.numpy, [0, 1])
    assert evaluate("not", BOOL, [np.bool_(False)]) is np.True_


# ------------------------------------------------------------------------------------------------------------ floats


@pytest.mark.rule("T11", "T12")
@ids("t", FLOATS, ids=str)
@ids("op", ["add", "sub", "mul", "div", "sqrt"])
def test_basic_operations_are_correctly_rounded(op, t):
    args = (floats(t),) if op == "sqrt" else pairs(t)
    same(evaluate(op, t, args), mpfr(t, op, *args))


@pytest.mark.rule("E5", "T12")
@ids("t", FLOATS, ids=str)
def test_fma_rounds_once(t):
    a, b, c = (x.ravel() for x in np.meshgrid(floats(t)[::2], floats(t)[1::3], floats(t)[::3]))
    with quiet():
        tight = -(a * b)  # cancels all but the product's rounding error
    same(evaluate("fma", t, (a, b, c)), mpfr(t, "fma", a, b, c))
    same(evaluate("fma", t, (a, b, tight)), mpfr(t, "fma", a, b, tight))
    same(evaluate("fma", t, (a[:1], b[:1], c[:1])), np.array([operation("fma", t)(a[0], b[0], c[0])]))


@pytest.mark.rule("T5")
def test_float_division_of_doubles_equals_cpython():
    a, b = pairs(f64)
    quotient, remainder = evaluate("floordiv", f64, (a, b)), evaluate("mod", f64, (a, b))
    finite = b != 0
    plain = [(x // y, x % y) for x, y in zip(a[finite].tolist(), b[finite].tolist(), strict=True)]
    same(quotient[finite], np.array([q for q, _ in plain]))
    same(remainder[finite], np.array([r for _, r in plain]))
    with quiet():
        same(quotient[~finite], a[~finite] / b[~finite])
    assert np.isnan(remainder[~finite]).all()


@pytest.mark.rule("T5")
@ids("t", FLOATS, ids=str)
def test_float_division_equals_numpy(t):
    a, b = pairs(t)
    with quiet():
        same(evaluate("floordiv", t, (a, b)), np.floor_divide(a, b))
        same(evaluate("mod", t, (a, b)), np.remainder(a, b))
        same(evaluate("fmod", t, (a, b)), np.fmod(a, b))


@pytest.mark.rule("T10")
@ids("t", FLOATS, ids=str)
def test_extremes_prefer_numbers_and_order_zeros(t):
    a, b = pairs(t)

    def key(v):
        return (v, not math.copysign(1, v) < 0)

    def expected(pick, x, y):
        numbers = [v for v in (x, y) if not math.isnan(v)]
        return pick(numbers, key=key) if numbers else math.nan

    for op, pick in (("min", min), ("max", max)):
        values = [expected(pick, x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        same(evaluate(op, t, (a, b)), np.array(values, t.numpy))


@pytest.mark.rule("T10")
@ids("t", FLOATS, ids=str)
def test_rounding_stays_a_float_and_keeps_zeros(t):
    x = np.concatenate([floats(t), np.array([0.5, 1.5, 2.5, -0.5, -1.5, -0.4, 4503599627370497.5], t.numpy)])
    finite = np.isfinite(x)
    for op, whole in (("round", round), ("floor", math.floor), ("ceil", math.ceil), ("trunc", math.trunc)):
        result = evaluate(op, t, [x])
        assert result[finite].tolist() == [whole(v) for v in x[finite].tolist()]
        same(result[~finite], x[~finite])
        zeros = result == 0
        assert (np.signbit(result[zeros]) == np.signbit(x[zeros])).all()


@pytest.mark.rule("T4", "T10")
@ids("t", FLOATS, ids=str)
def test_signs(t):
    a, b = pairs(t)
    sign = t.numpy.type(-1)
    same(evaluate("neg", t, [a]), np.copysign(a, np.where(np.signbit(a), t.numpy.type(1), sign)))
    same(evaluate("abs", t, [a]), np.copysign(a, -sign))
    assert not np.signbit(evaluate("abs", t, [t.numpy.type(-0.0)]))
    same(evaluate("copysign", t, (a, b)), np.where(np.signbit(b), -np.abs(a), np.abs(a)))


@pytest.mark.rule("T7")
@ids("t", FLOATS, ids=str)
def test_comparisons_and_tests_of_floats(t):
    a, b = pairs(t)
    for op, plain in COMPARE.items():
        assert evaluate(op, BOOL, (a, b)).tolist() == [plain(*v) for v in zip(a.tolist(), b.tolist(), strict=True)]
    for op in ("isnan", "isinf", "isfinite"):
        assert evaluate(op, BOOL, [a]).tolist() == [getattr(math, op)(v) for v in a.tolist()]
    condition = evaluate("lt", BOOL, (a, b))
    same(evaluate("select", t, (condition, a, b)), np.where(condition, a, b))


@pytest.mark.rule("T6")
@ids("t", FLOATS, ids=str)
def test_literal_powers_multiply(t):
    x = floats(t)
    one = t.numpy.type(1)
    with quiet():
        positive = [np.ones_like(x), x, x * x, x * x * x, (x * x) * (x * x)]
        for n, expected in enumerate(positive):
            same(evaluate("powi", t, (x, np.int32(n))), expected)
            if n:
                same(evaluate("powi", t, (x, np.int32(-n))), one / expected)


# ------------------------------------------------------------------------------------------------ elementary functions

MPFR_NAMES = {"pow": "pow", "fmod": "fmod"}
RANGES = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 50), "log1p": (-0.9, 50)}


@pytest.mark.rule("T11")
@ids("t", FLOATS, ids=str)
@ids("op", [row.name for row in OPS.values() if row.python_math and row.rule == "math" and row.arity == 1])
def test_elementary_functions_are_near_mpfr(op, t):
    low, high = RANGES.get(op, (0.01, 50) if op.startswith(("log", "sqrt")) else (-20, 20))
    x = np.linspace(low, high, 301).astype(t.numpy)
    wide = gmpy2.context(precision=120)
    names = {"round": "rint", **MPFR_NAMES}
    method = getattr(wide, names.get(op, op), None) or getattr(gmpy2, op)
    with gmpy2.context(wide):
        exact = [method(gmpy2.mpfr(v)) for v in x.tolist()]
        result = evaluate(op, t, [x])
        for y, e in zip(result, exact, strict=True):
            assert abs(gmpy2.mpfr(float(y)) - e) <= 4 * abs(float(np.spacing(y))), (op, y, e)


@pytest.mark.rule("T11")
@ids("t", FLOATS, ids=str)
def test_special_values_of_elementary_functions(t):
    def value(op, *args):
        result = evaluate(op, t, [t.numpy.type(a) for a in args])
        assert result.dtype == t.numpy
        return float(result)

    inf, nan = math.inf, math.nan
    assert value("exp", -inf) == 0.0
    assert value("exp", inf) == value("exp", 1e5) == inf
    assert value("log", 0.0) == -inf
    assert math.isnan(value("log", -1.0))
    assert math.isnan(value("sin", inf))
    assert str(value("sin", -0.0)) == "-0.0"
    assert [value("pow", nan, 0.0), value("pow", 1.0, nan), value("pow", 2.0, 10.0), value("pow", -8.0, 3.0)] == [
        1,
        1,
        1024,
        -512,
    ]
    assert value("atan2", 0.0, -1.0) == pytest.approx(math.pi, rel=1e-6)
    assert value("hypot", inf, nan) == inf


# --------------------------------------------------------------------------------------------------------- interface


@pytest.mark.rule("T1")
def test_scalars_keep_their_dtype_and_never_warn():
    for t in DTYPES:
        three = constant(3, t)
        for op, row in OPS.items():
            if row.rule in ("arith", "extreme") or (row.rule == "int" and t.is_int):
                result = evaluate(op, t, [three] * abs(row.arity))
                assert (result.dtype, result.shape) == (t.numpy, ()), op
    assert evaluate("add", u8, [np.uint8(200), np.uint8(100)]) == 44
    assert evaluate("mul", i64, [np.int64(1 << 62), np.int64(4)]) == 0
    assert evaluate("neg", i8, [np.int8(-128)]) == -128
    assert evaluate("div", f32, [np.float32(1), np.float32(-0.0)]) == -math.inf


def test_constants_round_once_and_must_fit():
    assert constant(0.1, f32) == np.float32(0.1)
    assert constant(1e300, f32) == math.inf
    with pytest.raises(OverflowError):
        constant(1 << 31, i32)
    assert constant((1 << 64) - 1, u64) == np.uint64(2**64 - 1)


def test_functions_are_shared_and_unknown_rows_are_refused():
    assert operation("sin", f32) is operation("sin", f32)
    assert conversion(i32, i32)(np.int32(5)) == 5
    with pytest.raises(KeyError, match="sin"):
        operation("sin", i32)
