"""The second oracle itself: its scalars against the op table's functions, and its reading of rules E5, K3 and T2b to T8."""

import itertools
import math

import gmpy2
import numpy as np
import oracle
import pytest
from oracle_scalars import Num, convert

from tack.ir import numerics
from tack.ir.types import BOOL, DTYPES, INTS, f32, f64

X, Y, Z = 1.1, 1.3, -1.43


def values(t):
    """Edge values of a type."""
    if not t.is_float:
        return sorted({0, 1, 2, 3, t.max, t.max - 1, t.max // 3, t.min, max(t.min, -1), max(t.min, -7), t.min // 2})
    info = np.finfo(t.numpy)
    some = [0.0, float(info.smallest_subnormal), float(info.tiny) * 1.5, 0.1, 0.5, 1.5, 2.5, 7.0, float(info.max), math.inf]
    return [float(t.numpy.type(v)) for v in [*some, *(-v for v in some), math.nan]]


def agree(mine, theirs):
    """The same number, NaN included, zeros by sign."""
    theirs = theirs.item()
    assert (mine == theirs and math.copysign(1, mine) == math.copysign(1, theirs)) or (mine != mine and theirs != theirs)


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b, "min": oracle._BARE["min"], "max": oracle._BARE["max"], "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b,
}  # fmt: skip
INTEGER = {
    "band": lambda a, b: a & b, "bor": lambda a, b: a | b, "bxor": lambda a, b: a ^ b, "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b, "pow": lambda a, b: a**b,
}  # fmt: skip
FLOAT = {"div": lambda a, b: a / b, "fmod": oracle._MATH["fmod"], "copysign": oracle._MATH["copysign"]}
UNARY = {"neg": lambda a: -a, "abs": abs}
ROUNDING = {name: oracle._BARE[name] for name in ("floor", "ceil", "trunc", "round", "sqrt")}


@pytest.mark.rule("T4", "T5", "T6", "T9", "T10", "T12")
@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_scalars_agree_with_the_op_table(t):
    for op, function in (BINARY | (FLOAT if t.is_float else INTEGER)).items():
        kind = BOOL if op in ("eq", "lt", "ge") else t
        for a, b in itertools.product(values(t), values(t)):
            mine = function(Num(t.name, a), Num(t.name, b))
            agree(getattr(mine, "v", mine), numerics.evaluate(op, kind, [numerics.constant(v, t) for v in (a, b)]))
    for op, function in (UNARY | (ROUNDING if t.is_float else {"invert": lambda a: ~a})).items():
        for a in values(t):
            agree(function(Num(t.name, a)).v, numerics.evaluate(op, t, [numerics.constant(a, t)]))
    for dst in DTYPES:
        for a in values(t):
            agree(convert(Num(t.name, a), dst.name).v, numerics.convert(numerics.constant(a, t), t, dst))
    if t.is_float:
        for a, n in itertools.product(values(t), range(-4, 5)):
            agree((Num(t.name, a) ** n).v, numerics.evaluate("powi", t, [numerics.constant(a, t), np.int32(n)]))


def once(expression, t=np.float32, **options):
    """What a kernel stores for `expression` of arrays x, y and z."""
    source = f"""
    import tack

    @tack.func
    def twice(v):
        return v * 2

    @tack.kernel
    def kernel(x, y, z, out):
        for i in range(1):
            out[i] = {expression}
    """
    x, y, z = (np.array([v], t) for v in (X, Y, Z))
    out = np.zeros(1, np.float64 if t is np.float64 else np.float32)
    oracle.run(source, [x, y, z, out], **options)
    return out[0]


def fma(a, b, c, t):
    context = gmpy2.context(precision=24 if t is np.float32 else 53)
    return t(float(context.fma(float(t(a)), float(t(b)), float(t(c)))))


@pytest.mark.rule("E5")
@pytest.mark.parametrize("t", [np.float32, np.float64])
def test_one_product_in_a_sum_is_fused(t):
    x, y, z = t(X), t(Y), t(Z)
    plain = x * y + z
    fused = fma(X, Y, Z, t)
    assert plain != fused
    for text in ("x[i] * y[i] + z[i]", "z[i] + (x[i] * y[i])", "z[i] - -(x[i] * y[i])", "-(x[i] * -y[i]) + z[i]"):
        assert once(text, t) == fused, text
    assert once("x[i] * y[i] - -z[i]", t) == fused
    assert once("-(x[i] * y[i]) - z[i]", t) == -fused
    assert once("-z[i] - x[i] * y[i]", t) == -fused
    assert once("x[i] * y[i] + z[i]", t, fma=False) == plain
    cast = f"tack.{'f32' if t is np.float32 else 'f64'}"
    for text in (f"{cast}(x[i] * y[i]) + z[i]", "(x[i] * y[i] if i == 0 else z[i]) + z[i]", "x[i] * y[i] * 1 + z[i] - 0"):
        assert once(text, t) == (plain if "* 1" not in text else fma(x * y, 1, Z, t)), text
    assert once("x[i] * y[i] - x[i] * y[i]", t) == 0
    assert once("x[i] ** 2 + z[i]", t) == x * x + z
    assert once("twice(x[i]) + z[i]", t) == x * t(2) + z


@pytest.mark.rule("E5", "T3")
def test_only_products_of_the_sums_type_count():
    source = """
    @tack.kernel
    def kernel(a, b, c, d, n, out):
        for i in range(1):
            out[0] = a[i] * b[i] + c[i]            # the product is f32, the sum f64
            out[1] = a[i] * b[i] + c[i] * d[i]     # one product of the sum's type
            out[2] = n[i] * n[i] + a[i]            # an integer product
            out[3] = 1.5
            out[3] += c[i] * d[i]
            out[4] = 2 * a[i] - 0.5
    """
    a, b = np.array([X], np.float32), np.array([Y], np.float32)
    c, d, n = np.array([Z]), np.array([Y]), np.array([70000], np.int32)
    out = np.zeros(5)
    oracle.run(source, [a, b, c, d, n, out])
    product = float(a[0] * b[0])
    wrapped = np.float32(np.int32(70000 * 70000 - (1 << 32)))
    expected = [
        product + Z,
        fma(Z, Y, product, np.float64),
        float(wrapped + a[0]),
        fma(Z, Y, 1.5, np.float64),
        float(2 * a[0] - np.float32(0.5)),
    ]
    assert out.tolist() == expected


@pytest.mark.rule("T2b", "T3", "T4", "T6", "T7", "T8")
def test_literals_are_weak():
    source = """
    @tack.kernel
    def kernel(a, u, n, out):
        for i in range(1):
            out[0] = a[i] * 2
            out[1] = u[i] + 1
            out[2] = a[i] + 256
            out[3] = n[i] / 4
            out[4] = n[i] * 0.1
            out[5] = 1 << a[i]
            out[6] = u[i] * (a[i] > 3)
            out[7] = 7 // 2 + 1 / 4
    """
    out = np.zeros(8, np.float64)
    args = [np.array([200], np.uint8), np.array([2**64 - 1], np.uint64), np.array([3], np.int32), out]
    oracle.run(source, args)
    assert out.tolist() == [144, 0, 456, 0.75, 3 * 0.1, 256, float(2**64 - 1), 3.25]


@pytest.mark.rule("K1", "K3", "K5", "N5")
def test_iterations_start_from_the_prologue():
    source = """
    @tack.kernel
    def kernel(out, n, start):
        t = tack.i32(out[0])
        for i in range(start, out.shape[0], 2):
            t += i
            n = tack.i32(n * 2)
            out[i] = t + n
    """
    out = np.array([5, 0, 0, 0, 0], np.int32)
    oracle.run(source, [out, 50, 1])
    assert out.tolist() == [5, 106, 0, 108, 0]
    with pytest.raises(IndexError):
        oracle.run(source.replace("out[i]", "out[i - 2]"), [out, 50, 1])
    with pytest.raises(ValueError, match="zero"):
        oracle.run(source.replace(", 2)", ", n - n)"), [out, 50, 1])


def test_integer_types_join_as_promote_says():
    from tack.ir.types import promote

    for a, b in itertools.product(INTS, INTS):
        expected = promote(a, b)
        if expected is None:
            with pytest.raises(TypeError, match="cast"):
                Num(a.name, 1) + Num(b.name, 1)
        else:
            assert (Num(a.name, 1) + Num(b.name, 1)).t == expected.name
    assert (Num("i64", 1) + Num("f32", 1.0)).t == promote(INTS[-2], f32).name == "f32"
    assert (Num("u64", 1) + Num("f64", 1.0)).t == promote(INTS[-1], f64).name == "f64"
