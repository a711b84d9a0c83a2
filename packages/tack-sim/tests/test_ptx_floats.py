"""Floating-point instructions in every rounding mode, against exact fractions; conversions and comparisons against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ptx_cases import Case, check

MODES = ("rn", "rz", "rm", "rp")
FORMATS = {"f32": (24, -149, np.float32), "f64": (53, -1074, np.float64)}


def rounded(value: Fraction, t: str, mode: str, *, zero: float = 0.0) -> Any:
    """An exact value as a float; `zero` is returned for an exact zero."""
    digits, least, kind = FORMATS[t]
    if value == 0:
        return kind(zero)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    steps = size / unit
    low = steps.numerator // steps.denominator
    rest = steps - low
    negative = value < 0
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1)
    else:
        up = rest > 0 and (mode == "rm" and negative or mode == "rp" and not negative)
    exact = (low + up) * unit
    largest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** (127 if t == "f32" else 1023)
    if exact > largest:
        inward = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        return kind(float(largest) * (-1 if negative else 1)) if inward else kind(-math.inf if negative else math.inf)
    return kind(math.copysign(float(exact), -1 if negative else 1))


def finite(*values: Any) -> bool:
    return all(np.isfinite(v) for v in values)


def total(a: Any, b: Any, t: str, mode: str) -> Any:
    if not finite(a, b):
        return a + b
    exact = Fraction(float(a)) + Fraction(float(b))
    if a == 0 and b == 0 and np.signbit(a) == np.signbit(b):
        return a
    return rounded(exact, t, mode, zero=-0.0 if mode == "rm" else 0.0)


def product(a: Any, b: Any, t: str, mode: str) -> Any:
    if not finite(a, b):
        return a * b
    sign = -0.0 if np.signbit(a) != np.signbit(b) else 0.0
    return rounded(Fraction(float(a)) * Fraction(float(b)), t, mode, zero=sign)


def fused(a: Any, b: Any, c: Any, t: str, mode: str) -> Any:
    if not finite(a, b):
        return a * b + c
    if not finite(c):
        return c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    negative = np.signbit(a) != np.signbit(b)
    if (a == 0 or b == 0) and c == 0 and negative == np.signbit(c):
        return c
    return rounded(exact, t, mode, zero=-0.0 if mode == "rm" else 0.0)


def quotient(a: Any, b: Any, t: str, mode: str) -> Any:
    if not finite(a, b) or b == 0:
        return a / b
    sign = -0.0 if np.signbit(a) != np.signbit(b) else 0.0
    return rounded(Fraction(float(a)) / Fraction(float(b)), t, mode, zero=sign)


def root(a: Any, t: str, mode: str) -> Any:
    if not finite(a) or a <= 0:
        return np.sqrt(a)
    exact = Fraction(float(a))
    shift = 400 + 2 * 1100
    whole = math.isqrt((exact.numerator << shift) // exact.denominator)
    value = Fraction(whole, 1 << shift // 2)
    if value * value != exact:
        value += Fraction(1, 1 << (shift // 2 + 1))  # between two candidates: only its side counts
    return rounded(value, t, mode)


def _rounding(t: str) -> list[Case]:
    cases: list[Case] = []
    kind = FORMATS[t][2]
    for mode in MODES:
        cases += [
            Case(f"add.{mode}.{t}", (t, t), t, lambda a, b, m=mode: total(a, b, t, m)),
            Case(f"sub.{mode}.{t}", (t, t), t, lambda a, b, m=mode: total(a, -b, t, m)),
            Case(f"mul.{mode}.{t}", (t, t), t, lambda a, b, m=mode: product(a, b, t, m)),
            Case(f"fma.{mode}.{t}", (t, t, t), t, lambda a, b, c, m=mode: fused(a, b, c, t, m)),
            Case(f"div.{mode}.{t}", (t, t), t, lambda a, b, m=mode: quotient(a, b, t, m)),
            Case(f"rcp.{mode}.{t}", (t,), t, lambda a, m=mode: quotient(kind(1), a, t, m)),
            Case(f"sqrt.{mode}.{t}", (t,), t, lambda a, m=mode: root(a, t, m)),
        ]
    return cases


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_arithmetic_is_exact_in_every_rounding_mode(t: str) -> None:
    check(_rounding(t))


def flush(x: Any) -> Any:
    return np.float32(math.copysign(0.0, x)) if abs(x) < np.float32(2.0**-126) else x


def saturate(x: Any) -> Any:
    return type(x)(x if 0 < x < 1 else 1 if x >= 1 else 0)


def lesser(a: Any, b: Any) -> Any:
    if np.isnan(a):
        return b
    if np.isnan(b):
        return a
    if a == b == 0:
        return a if np.signbit(a) else b
    return min(a, b)


def greater(a: Any, b: Any) -> Any:
    return -lesser(-a, -b)


def test_flushing_saturation_extremes_and_signs() -> None:
    cases: list[Case] = []
    f = np.float32
    for t, kind in (("f32", np.float32), ("f64", np.float64)):
        cases += [
            Case(f"min.{t}", (t, t), t, lesser),
            Case(f"max.{t}", (t, t), t, greater),
            Case(f"copysign.{t}", (t, t), t, lambda a, b, k=kind: np.copysign(b, a)),
            Case(f"mov.{t}", (t,), t, lambda a: a),
            Case(f"testp.finite.{t}", (t,), "pred", np.isfinite),
            Case(f"testp.infinite.{t}", (t,), "pred", np.isinf),
            Case(f"testp.number.{t}", (t,), "pred", lambda a: not np.isnan(a)),
            Case(f"testp.notanumber.{t}", (t,), "pred", np.isnan),
            Case(f"testp.normal.{t}", (t,), "pred", lambda a, k=kind: np.isfinite(a) and abs(a) >= np.finfo(k).tiny),
            Case(f"testp.subnormal.{t}", (t,), "pred", lambda a, k=kind: 0 < abs(a) < np.finfo(k).tiny),
            Case(f"slct.{t}.f32", (t, t, "f32"), t, lambda a, b, c: a if c >= 0 else b),
        ]
    cases += [
        Case("min.NaN.f32", ("f32", "f32"), "f32", lambda a, b: f(np.nan) if np.isnan(a) or np.isnan(b) else lesser(a, b)),
        Case("max.NaN.f32", ("f32", "f32"), "f32", lambda a, b: f(np.nan) if np.isnan(a) or np.isnan(b) else greater(a, b)),
        Case("min.ftz.f32", ("f32", "f32"), "f32", lambda a, b: lesser(flush(a), flush(b))),
        Case("add.ftz.f32", ("f32", "f32"), "f32", lambda a, b: flush(flush(a) + flush(b))),
        Case("mul.rn.ftz.f32", ("f32", "f32"), "f32", lambda a, b: flush(flush(a) * flush(b))),
        Case("mul.sat.f32", ("f32", "f32"), "f32", lambda a, b: saturate(a * b)),
        Case("add.rz.sat.f32", ("f32", "f32"), "f32", lambda a, b: saturate(total(a, b, "f32", "rz"))),
        Case("cvt.sat.f32.f32", ("f32",), "f32", saturate),
        Case("cvt.ftz.f32.f32", ("f32",), "f32", flush),
        Case("abs.ftz.f32", ("f32",), "f32", lambda a: flush(abs(a))),
        Case("setp.lt.ftz.f32", ("f32", "f32"), "pred", lambda a, b: flush(a) < flush(b)),
        Case("set.gtu.f32.f32", ("f32", "f32"), "f32", lambda a, b: float(not a <= b)),
    ]
    check(cases)


def test_signs_of_nans_change_like_those_of_numbers() -> None:
    flip, clear = 1 << 31, (1 << 31) - 1
    check([Case("neg.f32", ("b32",), "b32", lambda a: a ^ flip), Case("abs.f32", ("b32",), "b32", lambda a: a & clear)])


def test_comparisons_with_nan() -> None:
    unordered = lambda a, b: np.isnan(a) or np.isnan(b)  # noqa: E731
    plain: dict[str, Callable[[Any, Any], Any]] = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b and not unordered(a, b),
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    cases = [Case(f"setp.{name}.{t}", (t, t), "pred", holds) for name, holds in plain.items() for t in ("f32", "f64")]
    for name, holds in plain.items():
        cases.append(Case(f"setp.{name}u.f64", ("f64", "f64"), "pred", lambda a, b, h=holds: h(a, b) or unordered(a, b)))
    cases.append(Case("setp.num.f32", ("f32", "f32"), "pred", lambda a, b: not unordered(a, b)))
    cases.append(Case("setp.nan.f32", ("f32", "f32"), "pred", unordered))
    check(cases)


_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _to_integer(x: Any, to: str, source: str, mode: str) -> int:
    """The manual's table: clamped; NaN gives 0 for f32 and at most 32 bits, else the word with the top bit alone."""
    bits = int(to[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    if np.isnan(x):
        return 1 << (bits - 1) if source == "f64" or bits == 64 else 0
    if np.isinf(x):
        return high if x > 0 else low
    return max(low, min(high, int(_WHOLE[mode](x))))


def test_conversions() -> None:
    cases: list[Case] = []
    for source, kind in (("f32", np.float32), ("f64", np.float64)):
        for mode, whole in _WHOLE.items():
            cases.append(Case(f"cvt.{mode}.{source}.{source}", (source,), source, whole))
            for to in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
                cases.append(
                    Case(f"cvt.{mode}.{to}.{source}", (source,), to, lambda a, t=to, s=source, m=mode: _to_integer(a, t, s, m))
                )
        for mode in MODES:
            for t in ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"):
                cases.append(
                    Case(f"cvt.{mode}.{source}.{t}", (t,), source, lambda a, s=source, m=mode: rounded(Fraction(a), s, m))
                )
    for mode in MODES:

        def narrowed(a: Any, m: str = mode) -> Any:
            return rounded(Fraction(float(a)), "f32", m, zero=float(a)) if np.isfinite(a) else np.float32(a)

        cases.append(Case(f"cvt.{mode}.f32.f64", ("f64",), "f32", narrowed))
    cases.append(Case("cvt.f64.f32", ("f32",), "f64", np.float64))
    check(cases)


@pytest.mark.parametrize(
    ("opcode", "function", "least", "most", "error"),
    [
        ("rcp.approx.f32", lambda x: 1 / x, 1e-30, 1e30, 1),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 2),
        ("sqrt.approx.f32", np.sqrt, 1e-30, 1e30, 2),
        ("ex2.approx.ftz.f32", np.exp2, -100, 100, 2),
        ("lg2.approx.f32", np.log2, 2, 1e30, 2),
        ("sin.approx.f32", np.sin, 0.01, 3, 4),
        ("cos.approx.f32", np.cos, 0.01, 1.5, 4),
        ("tanh.approx.f32", np.tanh, 0.01, 5, 4),
        ("rcp.approx.ftz.f64", lambda x: 1 / x, 1e-200, 1e200, 1 << 33),
        ("rsqrt.approx.ftz.f64", lambda x: 1 / np.sqrt(x), 1e-200, 1e200, 1 << 33),
        ("rsqrt.approx.f64", lambda x: 1 / np.sqrt(x), 1e-200, 1e200, 2),
    ],
)
def test_approximations_are_close(opcode: str, function: Callable[[Any], Any], least: float, most: float, error: float) -> None:
    from ptx_cases import ROWS, ptx_of
    from sim_tools import run

    t = opcode[-3:]
    kind = FORMATS[t][2]
    space = np.linspace if most < 1000 else np.geomspace
    x = space(least, most, ROWS).astype(kind)
    out = np.zeros(ROWS, kind)
    assert run(ptx_of([Case(opcode, (t,), t, function)]), "k0", [out, x], block=ROWS) is None
    np.testing.assert_allclose(out, function(x.astype("f8")), rtol=error * np.finfo(kind).eps)


def test_an_approximate_quotient_is_zero_for_the_largest_divisors() -> None:
    """PTX: a divisor above 2**126 gives 0, or NaN where the dividend is infinite; the full-range form divides."""
    huge = np.float32(2.0**127)

    def approximate(a: Any, b: Any) -> Any:
        large = 2.0**126 < abs(b) < math.inf
        if large and not np.isnan(a):
            return np.float32(np.nan) if np.isinf(a) else np.float32(np.copysign(0, a / b))
        return a / b

    assert approximate(np.float32(1), huge) == 0
    check(
        [
            Case("div.approx.f32", ("f32", "f32"), "f32", approximate),
            Case("div.full.f32", ("f32", "f32"), "f32", lambda a, b: a / b),
        ]
    )
