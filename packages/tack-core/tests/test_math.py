"""`tack.math`: GLSL's helpers against their formulas in NumPy, with the edge cases that their docstrings promise."""

import math

import numpy as np
import pytest
from rule_tools import of, refuses, value

import tack
from tack.ir.ops import MATH_NAMES
from tack.testing import define

NAN, INF = math.nan, math.inf
HELPERS = ["clamp", "cross", "degrees", "distance", "dot", "fract", "length", "mix", "normalize", "radians", "reflect",
           "saturate", "sign", "smoothstep", "step"]  # fmt: skip
FLOATS = [np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def check(text, expected, *args, dtype, **names):
    """The expression gives these values: equal ones, NaN where NaN is expected, and zeros of the same sign."""
    got = np.array(value(text, *args, dtype=dtype, **names), dtype)
    want = np.array(expected, dtype)
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


def samples(dtype):
    """Numbers of either sign, on both sides of 0 and 1."""
    return np.linspace(-3, 3, 49).astype(dtype)


@pytest.mark.rule("T10")
def test_the_module_has_every_function_of_the_table_and_the_helpers():
    functions = set(MATH_NAMES) - {"int", "float", "bool", "select"}
    assert set(tack.math.__all__) == functions | set(HELPERS) | {"pi", "e", "tau", "inf", "nan"}
    assert all(getattr(tack.math, name).__doc__ for name in tack.math.__all__ if name in functions | set(HELPERS))
    assert (tack.math.pi, tack.math.e, tack.math.tau, tack.math.inf) == (math.pi, math.e, math.tau, math.inf)
    assert math.isnan(tack.math.nan)


@pytest.mark.parametrize("name", ["clamp", "sin", "dot"])
def test_calls_from_python_say_where_they_belong(name):
    with pytest.raises(RuntimeError, match=rf"{name}\(\).*inside a @tack.kernel"):
        getattr(tack.math, name)(1.0)


@pytest.mark.rule("F1", "N2")
def test_helpers_are_called_by_any_name_of_theirs():
    """Through the module, an alias of it, and a name of their own."""
    names = {"m": tack.math, "hold": tack.math.clamp}
    assert value("tack.math.clamp(7, 0, 5) * 100 + m.clamp(-1, 0, 5) * 10 + hold(3, 0, 5)", **names) == [503]
    assert value("tack.math.clamp(high=5, low=0, x=7)") == [5]


def test_a_wrong_number_of_arguments_is_refused():
    refuses(TypeError, lambda: value("tack.math.mix(1.0, 2.0)"), "mix() misses argument 't'", at="tack.math.mix(1.0, 2.0)")


def test_pythons_degrees_are_refused_with_those_to_write():
    def call():
        value("math.degrees(a[i])", of(np.float32, 3))

    refuses(tack.UnsupportedSyntaxError, call, "`math.degrees`", "Write tack.math.degrees(...).", at="math.degrees(a[i])")


@pytest.mark.rule("N1")
def test_constants_are_weak_doubles():
    assert value("tack.math.pi * a[i]", of(np.float64, 3), dtype=np.float64) == [math.pi * 3]
    assert value("tack.math.tau", dtype=np.float32) == [float(np.float32(math.tau))]
    assert value("tack.math.inf", dtype=np.float32) == [INF]


# clamp and saturate


@pytest.mark.rule("T10")
@pytest.mark.parametrize("dtype", FLOATS)
def test_clamp_of_floats(dtype):
    x = samples(dtype)
    check("tack.math.clamp(a[i], -0.5, 1.25)", np.clip(x, -0.5, 1.25), x, dtype=dtype)
    edges = of(dtype, NAN, INF, -INF, -0.0)
    check("tack.math.clamp(a[i], -0.5, 1.25)", [-0.5, 1.25, -0.5, -0.0], edges, dtype=dtype)
    check("tack.math.clamp(a[i], 2.0, 1.0)", [1] * len(x), x, dtype=dtype)  # low > high
    check("tack.math.saturate(a[i])", np.clip(x, 0, 1), x, dtype=dtype)
    check("tack.math.saturate(a[i])", [0, 1, 0, 0.0], edges, dtype=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_clamp_of_integers_is_exact(dtype):
    info = np.iinfo(dtype)
    x = of(dtype, info.min, info.max, 5, 6, 7)
    check("tack.math.clamp(a[i], 6, b[i])", [6, info.max, 6, 6, 6], x, of(dtype, *[info.max] * 3, 6, 6), dtype=dtype)
    check("tack.math.saturate(a[i]) * 0.5", np.clip(x.astype(float), 0, 1) * 0.5, x, dtype=np.float32)


# mix, step, smoothstep


@pytest.mark.parametrize("dtype", FLOATS)
def test_mix_is_the_blend_of_the_formula(dtype):
    a, b = samples(dtype), samples(dtype)[::-1] * dtype(1.7)
    for t in (0.0, 0.25, 0.3, 1.0, -0.5, 2.0):
        check(f"tack.math.mix(a[i], b[i], {t})", a * (dtype(1) - dtype(t)) + b * dtype(t), a, b.copy(), dtype=dtype)
    big = of(dtype, 1e30, 3.0)
    check("tack.math.mix(a[i], b[i], c)", big, of(dtype, 1, 2), big, 1, dtype=dtype)  # exact at the ends
    check("tack.math.mix(a[i], b[i], 0)", big, big, of(dtype, 1, 2), dtype=dtype)
    check("tack.math.mix(a[i], 1.0, b[i])", [NAN, NAN, INF], of(dtype, INF, 2, INF), of(dtype, 1, NAN, 0), dtype=dtype)


@pytest.mark.rule("T6")
def test_mix_of_integers_is_a_float():
    check("tack.math.mix(a[i], 10, 0.25)", [3.25, 4.0], of(np.int32, 1, 2), dtype=np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_step(dtype):
    x = samples(dtype)
    check("tack.math.step(0.5, a[i])", np.where(x < 0.5, 0, 1), x, dtype=dtype)
    edges = of(dtype, INF, -INF, NAN, 0.0, -0.0)
    check("tack.math.step(0.0, a[i])", [1, 0, 1, 1, 1], edges, dtype=dtype)
    check("tack.math.step(a[i], 0.0)", [0, 1, 1, 1, 1], edges, dtype=dtype)


def test_step_has_the_floating_type_of_its_arguments():
    """A third in f64 is not one in f32."""
    check("tack.math.step(0.0, tack.f64(a[i])) / 3", [1 / 3], of(np.int32, 1), dtype=np.float64)
    check("tack.math.step(tack.f64(0.0), a[i]) / 3", [1 / 3], of(np.int32, 1), dtype=np.float64)
    check("tack.math.step(2, a[i]) / 2", [0, 0.5, 0.5], of(np.uint64, 1, 2, 3), dtype=np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_smoothstep(dtype):
    x = samples(np.float64)
    t = np.clip((x + 1) / 3, 0, 1)
    got = value("tack.math.smoothstep(-1.0, 2.0, a[i])", x.astype(dtype), dtype=dtype)
    np.testing.assert_allclose(got, t * t * (3 - 2 * t), rtol=16 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)
    falling = value("tack.math.smoothstep(2.0, -1.0, a[i])", x.astype(dtype), dtype=dtype)
    np.testing.assert_allclose(falling, 1 - t * t * (3 - 2 * t), rtol=0, atol=4 * np.finfo(dtype).eps)
    edges = of(dtype, -INF, -1, 0, 1, INF, NAN)
    check("tack.math.smoothstep(0.0, 1.0, a[i])", [0, 0, 0, 1, 1, 0], edges, dtype=dtype)
    check("tack.math.smoothstep(0.0, b, a[i])", [0, 0, 0, 1, 1, 0], edges, 0.0, dtype=dtype)  # equal edges
    check("tack.math.smoothstep(0, 1, 0.5)", [0.5], dtype=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_smoothstep_of_integers_does_not_wrap(dtype):
    check("tack.math.smoothstep(b, c, a[i])", [0, 0, 0.5, 1, 1], of(dtype, 0, 10, 15, 20, 100), 10, 20, dtype=np.float32)
    edges = of(dtype, 10), of(dtype, 20), of(dtype, 5)
    check("tack.math.smoothstep(a[i], b[i], c[i])", [0], *edges, dtype=np.float32)


# fract and sign, degrees and radians


@pytest.mark.parametrize("dtype", FLOATS)
def test_fract(dtype):
    x = samples(dtype)
    check("tack.math.fract(a[i])", x - np.floor(x), x, dtype=dtype)
    edges = of(dtype, -0.25, 0.0, -0.0, 1e30, -1e-30, INF, -INF, NAN)
    check("tack.math.fract(a[i])", [0.75, 0, 0, 0, 1, NAN, NAN, NAN], edges, dtype=dtype)
    near = {np.float32: (-(2.0**-25), -(2.0**-24)), np.float64: (-(2.0**-54), -(2.0**-53))}[dtype]
    check("tack.math.fract(a[i])", [1, 1 + near[1]], of(dtype, *near), dtype=dtype)
    check("tack.math.fract(a[i])", [0, 0], of(np.int32, -3, 2_000_000_011), dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sign_of_floats(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = of(dtype, 0.0, -0.0, tiny, -tiny, 3, -3, INF, -INF, NAN)
    check("tack.math.sign(a[i])", np.sign(x), x, dtype=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sign_of_integers_has_their_type(dtype):
    info = np.iinfo(dtype)
    x = of(dtype, info.min, info.max, 0, 1)
    check("tack.math.sign(a[i])", np.sign(x), x, dtype=dtype)
    wrapped = np.array([(int(np.sign(v)) - 2) % 2**info.bits for v in x], f"u{info.bits // 8}").astype(dtype)
    check("tack.math.sign(a[i]) - 2", wrapped, x, dtype=dtype)  # in x's type, so it wraps there


def test_literals_stay_literals():
    """T8: a helper of literals alone is evaluated as doubles, and takes the type of what it meets."""
    check("tack.math.mix(0.0, 1.0, 0.1) * a[i]", [0.1 * 3], of(np.float64, 3), dtype=np.float64)
    check("tack.math.sign(-3) + a[i]", [255], of(np.uint8, 0), dtype=np.uint8)
    check("tack.math.clamp(7, 0, 5)", [5], dtype=np.int64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_degrees_and_radians(dtype):
    x = samples(dtype)
    check("tack.math.degrees(a[i])", x * dtype(180 / math.pi), x, dtype=dtype)
    check("tack.math.radians(a[i])", x * dtype(math.pi / 180), x, dtype=dtype)
    check("tack.math.radians(a[i])", [dtype(180) * dtype(math.pi / 180)], of(np.int32, 180), dtype=dtype)


@pytest.mark.rule("E5")
def test_helpers_hide_their_products_from_the_caller():
    """A product inside a helper is not fused with a sum outside it."""
    a = samples(np.float32)
    check("tack.math.radians(a[i]) + b[i]", np.zeros(len(a)), a, -(a * np.float32(math.pi / 180)), dtype=np.float32)


def test_helpers_work_inside_device_functions():
    helpers = define("@tack.func\ndef luma(x):\n    return tack.math.saturate(tack.math.smoothstep(0.0, 2.0, x))\n")
    check("luma(a[i])", [0, 0.5, 1], of(np.float32, -1, 1, 3), dtype=np.float32, luma=helpers["luma"])
