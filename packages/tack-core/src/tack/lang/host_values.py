"""Numbers on their way between Python or NumPy and arrays: which dtypes there are, how values convert, how shapes are written.

Knows the scalar types and NumPy; no arrays, devices or kernels.
"""

from __future__ import annotations

import operator
from math import isfinite
from typing import Any

import numpy as np

from tack.errors import fail
from tack.ir.numerics import convert
from tack.ir.types import (
    DTYPES,
    ElementType,
    MatrixType,
    ScalarType,
    VectorType,
    dtype_of,
    f32,
    f64,
    holds,
    i32,
    i64,
    u8,
    u64,
)

__all__ = [
    "Host", "converted", "default_type", "element_type", "exact_element", "exact_value", "is_a", "is_number", "logical_shape",
    "read_values", "shape_tuple", "storage_type", "unsupported_dtype", "written_shape",
]  # fmt: skip

Host = np.ndarray[Any, np.dtype[Any]]


def is_a(value: Any, kinds: Any) -> bool:
    """`isinstance`, after which a type checker still takes the value for Any, not for an array of unknown elements."""
    return isinstance(value, kinds)


_STORAGE = frozenset(DTYPES)
_NUMBERS = (int, float, np.number, np.bool_)


def storage_type(dtype: Any) -> ScalarType:
    """The element type for a Tack or NumPy dtype; `TypeError` names an unsupported one and what to write."""
    if isinstance(dtype, ScalarType) and dtype in _STORAGE:
        return dtype
    if isinstance(dtype, (VectorType, MatrixType)):
        raise fail(TypeError, f"{dtype} has components, and a scalar dtype is needed here", remedy=f"Use {dtype.dtype}.")
    parsed = None if dtype is None or is_a(dtype, ScalarType) else _numpy_dtype(dtype)
    if parsed is None:
        raise fail(TypeError, f"{dtype!r} is no dtype of arrays", remedy=f"Dtypes: {', '.join(map(str, DTYPES))}.")
    found = dtype_of(parsed)
    if found is None:
        name, wanted = _describe(parsed)
        raise fail(TypeError, f"arrays of {name} are not supported", remedy=f"Use {wanted or 'another dtype'}.")
    return found


def element_type(dtype: Any) -> ElementType:
    """Like `storage_type`, where vectors and matrices are welcome."""
    return dtype if is_a(dtype, (VectorType, MatrixType)) else storage_type(dtype)


def logical_shape(values: Host, dtype: ElementType) -> tuple[int, ...]:
    """The shape of an array whose elements are `dtype` and whose components are `values`; `ValueError` where they are not."""
    components = dtype.shape
    split = values.ndim - len(components)
    if components and (split < 0 or values.shape[split:] != components):
        wanted = ", ".join(map(str, components))
        raise fail(ValueError, f"values of shape {values.shape} are no elements of {dtype}, whose shape ends in {wanted}")
    return values.shape[:split] if components else values.shape


def _numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # the last two for strings that look like lists of fields
        return None


def _describe(dtype: np.dtype[Any]) -> tuple[str, ScalarType | None]:
    """An unsupported dtype in words, and the dtype that takes its values (None when a conversion must choose)."""
    if not dtype.isnative and dtype.kind in "iuf":
        native = dtype.newbyteorder("=")
        return f"big-endian {native}" if np.little_endian else f"little-endian {native}", _holder(native)
    return str(dtype), _holder(dtype)


def _holder(dtype: np.dtype[Any]) -> ScalarType | None:
    if dtype.kind == "b":
        return u8
    if dtype.kind == "f":
        return dtype_of(dtype) or (f32 if dtype.itemsize == 2 else f64)
    return dtype_of(dtype) if dtype.kind in "iu" else None


_CONVERSIONS = {
    "c": "Convert it first: x.real, x.imag or abs(x).",
    "O": "Convert it first: x.astype(np.float64).",
    "U": "Convert it first: x.astype(np.float64).",
    "S": "Convert it first: np.frombuffer(x, np.uint8) for bytes, x.astype(np.float64) for text.",
    "V": "Pass one field: x['name'].",
    "M": "Convert it first: x.astype(np.int64).",
    "m": "Convert it first: x.astype(np.int64).",
}


def unsupported_dtype(dtype: np.dtype[Any], *, takes_dtype: bool) -> Exception:
    """The `TypeError` for input of a NumPy dtype that arrays do not have; `takes_dtype`: the call has a `dtype=`."""
    name, wanted = _describe(dtype)
    if wanted is None:
        remedy = _CONVERSIONS.get(dtype.kind, "Convert it first.")
        return fail(TypeError, f"{name} values cannot be array elements", remedy=remedy)
    astype = f"x.astype(np.{wanted.numpy})"
    remedy = f"Say what to convert it to: dtype={wanted}, or {astype}." if takes_dtype else f"Convert it first: {astype}."
    return fail(TypeError, f"{name} values are not converted without being asked", remedy=remedy)


def is_number(value: Any) -> bool:
    """Whether this is one number: Python's or NumPy's int, float or bool."""
    return is_a(value, _NUMBERS) and not is_a(value, np.complexfloating)


def read_values(obj: Any) -> tuple[Host, bool]:
    """What NumPy reads from an object, and whether it was written as plain Python numbers, which have no dtype of their own.

    Ragged lists are `ValueError`; integers that fit no dtype together are `TypeError`.
    """
    if is_a(obj, np.ndarray):
        if hasattr(obj, "filled"):
            raise fail(TypeError, "a masked array has elements without a value", remedy="Give them one: x.filled(value).")
        return obj, False
    plain = _is_plain(obj)
    values: Host = np.asarray(obj)
    if plain and values.size and (values.dtype.kind == "O" or (values.dtype.kind == "f" and np.abs(values).max() >= 2.0**63)):
        return _large_integers(obj, values), True
    return values, plain


def _large_integers(obj: Any, values: Host) -> Host:
    """`values` read again as u64 if all are integers: NumPy makes floats of integers on both sides of 2^63."""
    leaves = [x for x in _leaves(obj) if is_a(x, (int, np.integer))]
    if len(leaves) < values.size:
        return values
    low, high = int(min(leaves)), int(max(leaves))
    if low < 0 or not holds(u64, high):
        ends = " and ".join(map(str, dict.fromkeys((low, high))))
        raise fail(TypeError, f"no integer dtype holds {ends}", remedy="Write floats, or reduce the numbers first.")
    return np.asarray(obj, np.uint64)


def _is_plain(obj: Any) -> bool:
    if not is_a(obj, (list, tuple)):
        return is_a(obj, range) or (is_a(obj, (int, float)) and not is_a(obj, np.generic))
    kinds: set[Any] = set(map(type, obj))
    if kinds & {list, tuple}:
        return any(map(_is_plain, obj))
    return not kinds or any(not hasattr(kind, "__array__") for kind in kinds)


def _leaves(obj: Any) -> list[Any]:
    return [leaf for item in obj for leaf in _leaves(item)] if is_a(obj, (list, tuple)) else [obj]


def default_type(values: Host, plain: bool) -> ScalarType:
    """The dtype of an array made of `values` when none is asked for: i32 or f32 for plain numbers, else NumPy's own."""
    if plain and values.dtype.kind == "f":
        return f32
    found = dtype_of(values.dtype)
    if found is None:
        raise unsupported_dtype(values.dtype, takes_dtype=True)
    if not plain or found is u64:
        return found
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    return i32 if holds(i32, low) and holds(i32, high) else i64


def converted(values: Host, dtype: ScalarType) -> Host:
    """`values` as `dtype` by the language's rules: integers modulo 2^N, floats to integers saturate and NaN gives 0 (T4, T9).

    bool, float16, long double and big-endian input counts as asked for. The result may be `values` itself.
    """
    source = dtype_of(values.dtype)
    if source is dtype:
        return values
    if source is None:
        kind = values.dtype.kind
        if kind == "b":
            return values.astype(dtype.numpy)
        _, source = _describe(values.dtype)
        if source is None:
            raise unsupported_dtype(values.dtype, takes_dtype=False)
        values = values.astype(source.numpy)
    return convert(values, source, dtype)


def exact_value(value: Any, dtype: ScalarType) -> Any:
    """One number as a NumPy scalar of `dtype`; `OverflowError` when the dtype cannot hold it (floats are rounded)."""
    if is_a(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not is_number(value):
        raise fail(TypeError, f"expected a number for an element of dtype {dtype}, not {type(value).__name__}")
    number: Any = float(value) if is_a(value, (float, np.floating)) else int(value)
    if dtype.is_int:
        if is_a(number, float):
            if not isfinite(number) or number != int(number):
                raise _cannot_hold(number, dtype, "Round it first: int(x).")
            number = int(number)
        if not holds(dtype, number):
            raise _cannot_hold(number, dtype, f"{dtype} holds {dtype.min} to {dtype.max}.")
        return dtype.numpy.type(number)
    try:
        with np.errstate(all="ignore"):
            # through int64, so that a large integer is rounded once
            whole = not is_a(number, float) and holds(i64, number)
            result = np.int64(number).astype(dtype.numpy) if whole else dtype.numpy.type(number)
    except OverflowError:
        raise _cannot_hold(number, dtype, "") from None
    if np.isinf(result) and not (is_a(number, float) and not isfinite(number)):
        raise _cannot_hold(number, dtype, "")
    return result


def exact_element(value: Any, dtype: ElementType) -> Any:
    """One element: a NumPy scalar, or a NumPy array of a vector's or matrix's components, all equal where `value` is a number."""
    scalar, shape = dtype.scalar, dtype.shape
    if not shape or is_number(value):
        number = exact_value(value, scalar)
        return np.full(shape, number) if shape else number
    values, _ = read_values(value)
    if not values.ndim:
        raise fail(TypeError, f"expected {shape} components for an element of dtype {dtype}, not {type(value).__name__}")
    if values.shape != shape:
        raise fail(ValueError, f"a value of shape {values.shape} is no element of {dtype}, whose components have shape {shape}")
    return np.array([exact_value(each, scalar) for each in values.reshape(-1)], scalar.numpy).reshape(shape)


def _cannot_hold(value: Any, dtype: ScalarType, remedy: str) -> Exception:
    return fail(OverflowError, f"{dtype} cannot hold {value!r}", remedy=remedy)


def shape_tuple(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints; it may be one int. Negative extents are `ValueError`."""
    extents = written_shape(shape)
    if extents and min(extents) < 0:
        raise fail(ValueError, f"negative extent in shape {extents}")
    return extents


def written_shape(shape: Any) -> tuple[int, ...]:
    """The same, where extents may be negative."""
    if type(shape) is int:
        return (shape,)
    if is_a(shape, (int, np.integer)) and not is_a(shape, bool):
        shape = (shape,)
    try:
        return tuple(map(operator.index, shape))
    except TypeError:
        raise fail(TypeError, f"a shape is an int or a tuple of ints, not {shape!r}") from None
