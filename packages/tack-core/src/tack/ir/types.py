"""Scalar types, their promotion and their join: rules T1 to T8 of the language, as pure functions.

`BOOL` is the type of truth values inside expressions; it is no storage type. `WEAK_INT` and `WEAK_FLOAT` are the types of
literals before they meet something; only `annotate` sees them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = [
    "BOOL", "DTYPES", "INTS", "FLOATS", "WEAK_FLOAT", "WEAK_INT", "ScalarType", "dtype_of", "f32", "f64", "holds", "i8", "i16",
    "i32", "i64", "integer_type_for_value", "promote", "u8", "u16", "u32", "u64",
]  # fmt: skip

Kind = Literal["int", "uint", "float", "bool", "weak_int", "weak_float"]


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType:
    """A scalar element type. `name` is its short name, `itemsize` its bytes, `numpy` the NumPy dtype; instances are unique."""

    name: str
    kind: Kind
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same values."""
        return _NUMPY[self.name]

    @property
    def is_float(self) -> bool:
        """Whether this is a floating type (weak ones count)."""
        return self.kind in ("float", "weak_float")

    @property
    def is_int(self) -> bool:
        """Whether this is a signed or unsigned integer type (neither weak nor a truth value)."""
        return self.kind in ("int", "uint")

    @property
    def signed(self) -> bool:
        """Whether this is a signed integer type."""
        return self.kind == "int"

    @property
    def min(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def max(self) -> int:
        """The greatest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def __str__(self) -> str:
        return f"tack.{self.name}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


i8, i16, i32, i64 = (ScalarType(f"i{b}", "int", b) for b in (8, 16, 32, 64))
u8, u16, u32, u64 = (ScalarType(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
f32, f64 = ScalarType("f32", "float", 32), ScalarType("f64", "float", 64)
BOOL = ScalarType("bool", "bool", 8)
WEAK_INT = ScalarType("int literal", "weak_int", 64)
WEAK_FLOAT = ScalarType("float literal", "weak_float", 64)

INTS = (i8, u8, i16, u16, i32, u32, i64, u64)
FLOATS = (f32, f64)
DTYPES = INTS + FLOATS
_ALL = {t.name: t for t in (*DTYPES, BOOL, WEAK_INT, WEAK_FLOAT)}
_NUMPY: dict[str, np.dtype[Any]] = {t.name: np.dtype(f"{'f' if t.is_float else t.name[0]}{t.itemsize}") for t in DTYPES}
_NUMPY["bool"] = np.dtype(bool)
_FROM_NUMPY = {dtype: _ALL[name] for name, dtype in _NUMPY.items() if name != "bool"}


def _named(name: str) -> ScalarType:
    return _ALL[name]


def dtype_of(dtype: Any) -> ScalarType | None:
    """The Tack type for a Tack type or anything NumPy takes as a dtype; None where there is none (f16, bool, big-endian...)."""
    if isinstance(dtype, ScalarType):
        return dtype if dtype in DTYPES else None
    try:
        return _FROM_NUMPY.get(np.dtype(dtype))
    except TypeError:
        return None


def holds(t: ScalarType, value: int) -> bool:
    """Whether integer type `t` has the integer `value`."""
    return t.min <= value <= t.max


def integer_type_for_value(value: int) -> ScalarType | None:
    """T1: i32, i64 or u64, the first that holds `value`; None beyond u64."""
    for t in (i32, i64, u64):
        if holds(t, value):
            return t
    return None


def promote(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """T3: the type of an operation on two typed operands; None for a signed integer with u64, which is rejected.

    Integers give the narrowest type that holds both ranges; an integer with a float gives f32, or f64 if the float is.
    Neither operand may be weak or a truth value.
    """
    if a is b:
        return a
    if a.is_float or b.is_float:
        return f64 if f64 in (a, b) else f32
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.signed else (b, a)
    if unsigned.bits == 64:
        return None
    if signed.bits > unsigned.bits:
        return signed
    return {8: i16, 16: i32, 32: i64}[unsigned.bits]
