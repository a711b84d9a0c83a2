"""`tack.constant`: a number, vector or matrix of a module that kernels may read by name, baked into their code.

Knows the element types only.
"""

from __future__ import annotations

from math import isinf, prod
from typing import Any, cast

import numpy as np

from tack.errors import fail
from tack.ir.literals import of_type
from tack.ir.types import (
    MOST_COMPONENTS,
    MOST_ROWS,
    ElementType,
    MatrixType,
    ScalarType,
    VectorType,
    dtype_of,
    holds,
    mat,
    vec,
)

__all__ = ["Constant", "constant"]


class Constant:
    """A compile-time value. `value` is a Python int, float or bool, or nested tuples of one of these for a vector or matrix.

    `dtype` is a Tack element type, or None for a literal's.
    """

    __slots__ = ("_dtype", "_value")

    def __init__(self, value: Any, dtype: ElementType | None) -> None:
        self._value = value
        self._dtype = dtype

    @property
    def value(self) -> Any:
        """The number, as Python has it; of a vector or matrix nested tuples."""
        return self._value

    @property
    def dtype(self) -> ElementType | None:
        """The type, or None: then it behaves like a literal (T2b, T8)."""
        return self._dtype

    def __repr__(self) -> str:
        return f"tack.constant({self._value!r}{f', {self._dtype}' if self._dtype else ''})"

    def __index__(self) -> int:
        if isinstance(self._value, (float, tuple)):
            raise TypeError(f"{self!r} is not an integer")
        return int(self._value)

    def __float__(self) -> float:
        if isinstance(self._value, tuple):
            raise TypeError(f"{self!r} is not a number")
        return float(self._value)


def constant(value: Any, dtype: Any = None) -> Constant:
    """A value that kernels read by name: ``N = tack.constant(16)``, ``UP = tack.constant((0, 0, 1), tack.vec3)``.

    Nested lists, tuples or NumPy arrays are vectors (2 to 16 components) and matrices (2 to 4 rows and columns). Without `dtype`
    it behaves in kernels like the literal; with one (a Tack or NumPy dtype) it has that type. `TypeError` for anything else, or
    a fraction with an integer dtype; `OverflowError` for a number that the dtype cannot hold.
    """
    if isinstance(value, Constant):
        value = value.value
    if isinstance(value, (np.generic, np.ndarray)):
        value = cast(Any, value).tolist()
    parts, shape = _parts(value)
    wanted = None
    if dtype is not None:
        wanted = _element_type(dtype, shape)
        parts = [_exact(each, wanted.scalar) for each in parts]
        if wanted.shape and not shape:  # one number for every component
            shape = wanted.shape
            parts = parts * prod(shape)
    elif shape:
        kind = next(kind for kind in (float, int, bool) if any(type(each) is kind for each in parts))
        parts = [kind(each) for each in parts]
    if not shape:
        return Constant(parts[0], wanted)
    if len(shape) == 1:
        return Constant(tuple(parts), wanted)
    rows, cols = shape
    return Constant(tuple([tuple(parts[k * cols : (k + 1) * cols]) for k in range(rows)]), wanted)


def _parts(value: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The numbers in a value, row by row, and its shape."""
    if not isinstance(value, (list, tuple)):
        if isinstance(value, np.generic):
            value = cast(Any, value).item()
        if not isinstance(value, (bool, int, float)):
            raise fail(
                TypeError,
                f"tack.constant takes a number, a vector or a matrix, not {type(value).__name__}",
                remedy="Pass arrays to kernels as arguments.",
            )
        return [value], ()
    inner = [_parts(each) for each in cast(Any, value)]
    shapes = {shape for _, shape in inner}
    shape = (len(inner), *(next(iter(shapes)) if shapes else ()))
    if len(shapes) != 1 or not ((len(shape) == 1 and 2 <= shape[0] <= MOST_COMPONENTS) or _is_matrix(shape)):
        remedy = f"Write 2 to {MOST_COMPONENTS} numbers, or 2 to {MOST_ROWS} rows of 2 to {MOST_ROWS}."
        raise fail(TypeError, f"tack.constant: {value!r} is no vector or matrix", remedy=remedy)
    return [each for parts, _ in inner for each in parts], shape


def _is_matrix(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and 2 <= min(shape) and max(shape) <= MOST_ROWS


def _element_type(dtype: Any, shape: tuple[int, ...]) -> ElementType:
    """The type that `dtype` gives to a value of this shape."""
    if isinstance(dtype, (VectorType, MatrixType)):
        if shape and shape != dtype.shape:
            raise fail(TypeError, f"tack.constant: a value of shape {shape} is no {dtype}")
        return dtype
    kind = dtype_of(dtype)
    if kind is None:
        raise fail(TypeError, f"tack.constant: {dtype!r} is no scalar dtype", remedy="Write a Tack type, like tack.f32.")
    return kind if not shape else vec(shape[0], kind) if len(shape) == 1 else mat(shape[0], shape[1], kind)


def _exact(value: int | float | bool, kind: ScalarType) -> int | float:
    if kind.is_float:
        number = of_type(value, kind)
        if isinstance(value, int) and isinf(number):
            words = f"tack.constant: an integer of {value.bit_length()} bits does not fit {kind}"
            raise fail(OverflowError, words, remedy="Choose a wider dtype.")
        return number
    if isinstance(value, float) and not value.is_integer():
        raise fail(TypeError, f"tack.constant: {value!r} is not an integer", remedy="Write int(...) around it, or a float dtype.")
    if not holds(kind, int(value)):
        raise fail(OverflowError, f"tack.constant: {value!r} does not fit {kind}", remedy="Choose a wider dtype.")
    return int(value)
