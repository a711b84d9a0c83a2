"""`tack.constant`: a number of a module that kernels may read by name, baked into their code.

Knows the scalar types only.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tack.errors import fail
from tack.ir.types import ScalarType, dtype_of, holds

__all__ = ["Constant", "constant"]


class Constant:
    """A compile-time number. `value` is a Python int, float or bool; `dtype` a Tack scalar type, or None for a literal's."""

    __slots__ = ("_dtype", "_value")

    def __init__(self, value: int | float | bool, dtype: ScalarType | None) -> None:
        self._value = value
        self._dtype = dtype

    @property
    def value(self) -> int | float | bool:
        """The number, as Python has it."""
        return self._value

    @property
    def dtype(self) -> ScalarType | None:
        """The type, or None: then it behaves like a literal (T2b, T8)."""
        return self._dtype

    def __repr__(self) -> str:
        return f"tack.constant({self._value!r}{f', {self._dtype}' if self._dtype else ''})"

    def __index__(self) -> int:
        if isinstance(self._value, float):
            raise TypeError(f"{self!r} is not an integer")
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)


def constant(value: Any, dtype: Any = None) -> Constant:
    """A number that kernels read by name: ``N = tack.constant(16)``.

    Without `dtype` it behaves in kernels like the literal; with one (a Tack or NumPy dtype) it has that type. `TypeError`
    for anything but one number, or a fraction with an integer dtype; `OverflowError` for a number that the dtype cannot hold.
    """
    if isinstance(value, Constant):
        value = value.value
    if isinstance(value, np.generic):
        value = cast(Any, value).item()
    if not isinstance(value, (bool, int, float)):
        raise fail(
            TypeError,
            f"tack.constant takes one number, not {type(value).__name__}",
            remedy="Pass arrays to kernels as arguments.",
        )
    if dtype is None:
        return Constant(value, None)
    kind = dtype_of(dtype)
    if kind is None:
        raise fail(TypeError, f"tack.constant: {dtype!r} is no scalar dtype", remedy="Write a Tack type, like tack.f32.")
    if kind.is_float:
        return Constant(_rounded(float(value), kind), kind)
    if isinstance(value, float) and not value.is_integer():
        raise fail(TypeError, f"tack.constant: {value!r} is not an integer", remedy="Write int(...) around it, or a float dtype.")
    if not holds(kind, int(value)):
        raise fail(OverflowError, f"tack.constant: {value!r} does not fit {kind}", remedy="Choose a wider dtype.")
    return Constant(int(value), kind)


def _rounded(value: float, kind: ScalarType) -> float:
    with np.errstate(all="ignore"):
        return float(kind.numpy.type(value))
