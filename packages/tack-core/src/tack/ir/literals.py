"""Weak values (T2b, T7, T8): what an expression of literals is worth, which integers it can be, and what it is as a type.

Everything here works on Python numbers, exactly. Knows no IR nodes.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tack.ir.types import ScalarType, holds, integer_type_for_value, promote

__all__ = ["TRUTH", "Lit", "fold", "hull", "literal_type", "of_type", "range_of"]

_PYTHON: Any = operator  # untyped: its stubs name no types
_MOST_BITS = 4096  # a literal beyond this is a mistake, and folding it could take for ever


@dataclass(frozen=True, slots=True)
class Lit:
    """A weak integer that is known to lie in [low, high]: a literal where both are equal."""

    low: int
    high: int


TRUTH = Lit(0, 1)


def hull(a: Lit, b: Lit) -> Lit:
    """The least range with both."""
    return a if a == b else Lit(min(a.low, b.low), max(a.high, b.high))


def literal_type(lit: Lit) -> ScalarType | None:
    """T2: the narrowest of i32, i64, u64 that holds every value of the range; None where there is none."""
    if -0x80000000 <= lit.low and lit.high <= 0x7FFFFFFF:
        return integer_type_for_value(0)
    low, high = integer_type_for_value(lit.low), integer_type_for_value(lit.high)
    if low is None or high is None:
        return None
    if lit.low >= 0:
        return high
    return None if high.kind == "uint" else promote(low, high)


# --------------------------------------------------------------------------------------------------- exact folding


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, count: int) -> int:
        if count < 0:
            raise ValueError("negative shift count")
        if function is _PYTHON.lshift and a and a.bit_length() + count > _MOST_BITS:
            raise OverflowError("the literal has too many bits")
        return function(a, count) if count < _MOST_BITS or a else 0

    return shift


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and abs(a) > 1 and a.bit_length() * b > _MOST_BITS:
        raise OverflowError("the literal has too many bits")
    value = a**b
    if isinstance(value, complex):
        raise ValueError("the power of a negative number is not real")
    return value


def _least(a: Any, b: Any) -> Any:
    """T10: the number rather than NaN, -0.0 before 0.0."""
    if a == b:
        return b if math.copysign(1.0, b) < 0 else a
    return a if a < b or b != b else b


def _greatest(a: Any, b: Any) -> Any:
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return a if a > b or b != b else b


def _quotient(a: Any, b: Any) -> float:
    try:
        return a / b
    except OverflowError:
        raise OverflowError("the quotient is beyond the range of floats") from None


_FOLD: dict[str, Callable[..., Any]] = {
    "add": _PYTHON.add, "sub": _PYTHON.sub, "mul": _PYTHON.mul, "neg": _PYTHON.neg, "div": _quotient,
    "floordiv": _PYTHON.floordiv, "mod": _PYTHON.mod, "pow": _power, "band": _PYTHON.and_, "bor": _PYTHON.or_,
    "bxor": _PYTHON.xor, "invert": _PYTHON.invert, "shl": _shift(_PYTHON.lshift), "shr": _shift(_PYTHON.rshift),
    "eq": _PYTHON.eq, "ne": _PYTHON.ne, "lt": _PYTHON.lt, "le": _PYTHON.le, "gt": _PYTHON.gt, "ge": _PYTHON.ge,
    "min": _least, "max": _greatest, "abs": abs,
}  # fmt: skip


def fold(op: str, values: Sequence[Any]) -> Any:
    """The value of an operation on literals, as Python computes it; truth values count as integers.

    ZeroDivisionError, ValueError, OverflowError and TypeError as Python raises them, ValueError for a power that is not real.
    """
    values = [int(v) if v is True or v is False else v for v in values]
    function = _FOLD[op]
    if len(values) > 2:
        value = values[0]
        for each in values[1:]:
            value = function(value, each)
        return value
    return function(*values)


# ---------------------------------------------------------------------------------------------------------- ranges


def _corners(function: Callable[[int, int], int], a: Lit, b: Lit) -> Lit:
    values = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Lit(min(values), max(values))


def _bits(a: Lit, b: Lit) -> Lit:
    """A range that holds every bitwise combination of two ranges."""
    bits = max(abs(v).bit_length() for v in (a.low, a.high, b.low, b.high))
    return Lit(-(1 << bits) if a.low < 0 or b.low < 0 else 0, (1 << bits) - 1)


def _conjunction(a: Lit, b: Lit) -> Lit:
    if a.low >= 0 and b.low >= 0:
        return Lit(0, min(a.high, b.high))
    return Lit(0, a.high) if a.low >= 0 else Lit(0, b.high) if b.low >= 0 else _bits(a, b)


def _shifted(op: str, a: Lit, b: Lit) -> Lit | None:
    if b.low < 0 or b.high > 64:
        return None
    return _corners(_PYTHON.lshift if op == "shl" else _PYTHON.rshift, a, b)


def range_of(op: str, args: Sequence[Lit]) -> Lit | None:
    """The range of an operation on weak integers that are not all literals; None where it is typed like others instead."""
    a = args[0]
    if op == "neg":
        return Lit(-a.high, -a.low)
    if op == "invert":
        return Lit(~a.high, ~a.low)
    if op == "abs":
        low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
        return Lit(low, max(abs(a.low), abs(a.high)))
    if op in ("min", "max"):
        choose = min if op == "min" else max
        return Lit(choose(x.low for x in args), choose(x.high for x in args))
    b = args[1]
    if op in ("add", "sub", "mul"):
        return _corners({"add": _PYTHON.add, "sub": _PYTHON.sub, "mul": _PYTHON.mul}[op], a, b)
    if op == "band":
        return _conjunction(a, b)
    if op in ("bor", "bxor"):
        return _bits(a, b)
    return _shifted(op, a, b) if op in ("shl", "shr") else None


# ------------------------------------------------------------------------------------------------------ conversion


def _to_f32(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _int_to_float(value: int, bits: int) -> float:
    """Rounded once, to nearest even, to 24 or 53 bits; beyond the range infinity."""
    length = value.bit_length()
    if bits == 32 and length > 53:
        # Round to odd at 53 bits first, so that the second rounding sees whether anything was cut off.
        cut = length - 53
        magnitude = abs(value)
        magnitude = (magnitude >> cut | (magnitude & ((1 << cut) - 1) != 0)) << cut
        value = -magnitude if value < 0 else magnitude
    try:
        exact = float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf
    return _to_f32(exact) if bits == 32 else exact


def _float_to_int(value: float, t: ScalarType) -> int:
    if value != value:
        return 0
    if value >= t.max:
        return t.max
    return t.min if value <= t.min else int(value)


def of_type(value: int | float | bool, t: ScalarType) -> int | float | bool:
    """A literal as a value of `t`: converted once from its exact value (T4, T7, T8, T9). Floats of f32 stay Python floats."""
    if t.kind == "bool":
        return value != 0
    if t.is_float:
        if isinstance(value, float):
            return _to_f32(value) if t.bits == 32 else value
        return _int_to_float(int(value), t.bits)
    if isinstance(value, float):
        return _float_to_int(value, t)
    value = int(value)
    if holds(t, value):
        return value
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.signed and value > t.max else value
