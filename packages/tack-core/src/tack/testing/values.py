"""Numbers at the edges of every type, and exact arithmetic on them: what the conformance suite feeds kernels and expects back.

Python's integers and fractions; nothing of the compiler, and nothing of `ir.numerics`, is asked. Integers are Python ints, floats
NumPy scalars of their type.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from tack.ir.types import INTS, ScalarType, f64

__all__ = ["apart", "combinations", "convert", "edges", "few_edges", "fused", "rounded", "wrap"]

_POWERS = (7, 8, 15, 16, 24, 31, 32, 53, 63)  # where some type ends, or a float stops holding every integer


@cache
def edges(t: ScalarType) -> tuple[Any, ...]:
    """The values of `t` at which something can go wrong."""
    return _float_edges(t) if t.is_float else _integer_edges(t)


def _integer_edges(t: ScalarType) -> tuple[int, ...]:
    near = {t.min, t.min + 1, t.min // 2, t.max, t.max - 1, t.max // 3, *range(-3, 4), -7, 7}
    near |= {sign * (1 << power) + d for power in _POWERS for d in (-1, 0, 1) for sign in (1, -1)}
    return tuple(sorted(v for v in near if t.min <= v <= t.max))


def _float_edges(t: ScalarType) -> tuple[Any, ...]:
    info, kind = np.finfo(t.numpy), t.numpy.type
    one, tiny, least, most = kind(1), kind(info.tiny), kind(info.smallest_subnormal), kind(info.max)
    some = [kind(v) for v in (0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 7.0, 10.0, 1e10)]
    some += [least, kind(tiny - least), tiny, np.nextafter(one, kind(0)), np.nextafter(one, kind(2)), most, kind(math.inf)]
    for power in (8, 24, 31, 32, 53, 63, 64):
        near = kind(2.0**power)
        some += [near, np.nextafter(near, kind(0)), np.nextafter(near, most)]
    some += [kind(2.0**24 + 1), kind(2.0**52 + 0.5)]
    return (*some, *(-v for v in some), kind(math.nan))


@cache
def few_edges(t: ScalarType) -> tuple[Any, ...]:
    """About fifteen of them, for operations on two or three operands."""
    if not t.is_float:
        near = {t.min, t.min + 1, t.max, t.max - 1, t.max // 3, -7, -2, -1, 0, 1, 2, 3, 7, 31, 40, 100}
        near |= {1 << (t.bits // 2), (1 << (t.bits // 2)) - 1, -(1 << (t.bits // 2)) - 1}
        return tuple(sorted(v for v in near if t.min <= v <= t.max))
    info, kind = np.finfo(t.numpy), t.numpy.type
    some = [0.0, info.smallest_subnormal, float(info.tiny) * 1.5, 0.1, 0.5, 1.0, 2.5, 3.0, 7.75, 2.0**31, info.max, math.inf]
    return (*(kind(v) for v in some), *(-kind(v) for v in some), kind(math.nan))


@cache
def combinations(types: tuple[ScalarType, ...]) -> tuple[tuple[Any, ...], ...]:
    """Edge values of one type, or combinations of those of two or three."""
    if len(types) == 1:
        return tuple((v,) for v in edges(types[0]))
    if len(types) == 3 and types[0].is_float:
        return tuple(_float_triples(types[0]))
    lists = [few_edges(t) if len(types) == 2 else few_edges(t)[::2] for t in types]
    return tuple(itertools.product(*lists))


def _float_triples(t: ScalarType) -> Iterator[tuple[Any, ...]]:
    """Special values, and inexact products with what takes them away again: where one rounding differs from two."""
    kind, info = t.numpy.type, np.finfo(t.numpy)
    special = [kind(v) for v in (0.0, -0.0, 0.1, -7.3, info.tiny * 3, info.max, -math.inf, math.nan)]
    yield from itertools.product(special, special, special)
    some = np.random.default_rng(1).uniform(-2, 2, (60, 2)).astype(t.numpy)
    for a, b in some:
        for c in (-(a * b), np.nextafter(a * b, kind(0)), kind(1)):
            yield a, b, c


def apart(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many steps from one float to its neighbour lead from `a` to `b`; an infinity is the largest number's neighbour.

    Zeros are no step apart, and NaNs have no meaning here.
    """
    word = np.dtype(f"u{a.itemsize}")
    mask = word.type((1 << (8 * a.itemsize - 1)) - 1)
    x, y = a.view(word) & mask, b.view(word) & mask
    return np.where(np.signbit(a) == np.signbit(b), np.maximum(x, y) - np.minimum(x, y), x + y)


def wrap(value: int, t: ScalarType) -> int:
    """T4: the integer modulo 2^N, as `t` reads it."""
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.signed and value > t.max else value


@cache
def _rounded_integer(value: int, t: ScalarType) -> Any:
    return rounded(Fraction(value), t)


def rounded(value: Fraction, t: ScalarType) -> Any:
    """The float of `t` nearest to an exact number, ties to even; infinity beyond the range. Zero is +0.0."""
    if value == 0:
        return t.numpy.type(0)
    digits, least = (53, -1074) if t is f64 else (24, -149)
    most = 1024 if t is f64 else 128
    size = abs(value)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - digits, least)
    while size >= Fraction(2) ** (exponent + digits):
        exponent += 1
    mantissa = round(size / Fraction(2) ** exponent)  # Python rounds a fraction half to even
    found = math.ldexp(mantissa, exponent) if mantissa.bit_length() + exponent <= most else math.inf
    return t.numpy.type(-found if value < 0 else found)


def fused(a: Any, b: Any, c: Any, t: ScalarType) -> Any:
    """E5: a * b + c of finite or special floats, rounded once."""
    with np.errstate(all="ignore"):
        if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
            if np.isfinite(a) and np.isfinite(b):
                return c  # an infinite or NaN c swallows a finite product, even one that would overflow
            return a * b + c
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        if exact == 0 and (a == 0 or b == 0):
            return t.numpy.type(math.copysign(0, a) * math.copysign(1, b)) + c
        return rounded(exact, t)


def convert(value: Any, source: ScalarType, target: ScalarType) -> Any:
    """T4, T9: a value of `source` as `target`. A truth value counts as the integer 0 or 1."""
    if source in INTS or source.kind == "bool":
        return wrap(int(value), target) if target.is_int else _rounded_integer(int(value), target)
    if target.is_int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return target.max if value > 0 else target.min
        return min(max(int(value), target.min), target.max)
    with np.errstate(all="ignore"):
        return target.numpy.type(value)
