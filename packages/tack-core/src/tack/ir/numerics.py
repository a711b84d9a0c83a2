"""What each row of `ops` computes, on NumPy scalars and arrays of the exact dtype: the meaning every emitter must meet.

Rules T4 to T7 and T9 to T12. Knows no IR nodes. Elementary functions are the C library's, which compiled code calls too.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tack.ir.ops import OPS
from tack.ir.types import BOOL, ScalarType

__all__ = ["constant", "conversion", "convert", "evaluate", "operation", "quiet"]

Function = Callable[..., Any]


def quiet() -> np.errstate:
    """The context in which `operation` and `conversion` functions run: wrapping, NaN and infinity are values, not warnings."""
    return np.errstate(all="ignore")


def constant(value: float, type: ScalarType) -> Any:
    """The NumPy scalar of `type` for a Python number: floats round once, an integer must fit (`OverflowError`)."""
    with quiet():
        return type.numpy.type(value)


def evaluate(op: str, type: ScalarType, args: Sequence[Any]) -> Any:
    """The value of a typed `IROp`: `type` is the node's type, `args` NumPy scalars or arrays of the operands' dtypes.

    Arrays broadcast. Never warns and never raises for a value.
    """
    with quiet():
        return _apply(operation(op, type), type, args)


def convert(value: Any, src: ScalarType, dst: ScalarType) -> Any:
    """T4, T7, T9: a NumPy scalar or array of `src` as `dst`: modulo, saturating truncation, nearest even; BOOL is "not 0"."""
    with quiet():
        return _apply(conversion(src, dst), dst, (value,))


def _apply(function: Function, type: ScalarType, args: Sequence[Any]) -> Any:
    if function in _BRANCHING and any(isinstance(a, np.ndarray) for a in args):
        arrays = np.broadcast_arrays(*args)
        values = [function(*each) for each in zip(*(a.flat for a in arrays), strict=True)]
        return np.array(values, type.numpy).reshape(arrays[0].shape)
    return function(*args)


# Functions that look at one value at a time; all others take arrays as they stand.
_BRANCHING: set[Function] = set()


def _scalar(function: Function) -> Function:
    _BRANCHING.add(function)
    return function


# ------------------------------------------------------------------------------------------------------- integers


def _shl(a: Any, count: Any) -> Any:
    return a << (count & (a.itemsize * 8 - 1)).astype(a.dtype)


def _shr(a: Any, count: Any) -> Any:
    return a >> (count & (a.itemsize * 8 - 1)).astype(a.dtype)


@_scalar
def _int_pow(a: Any, exponent: Any) -> Any:
    """T6: wraps; a negative exponent gives 0 except for bases 1 and -1."""
    base, n = int(a), int(exponent)
    if n < 0:
        return a.dtype.type({1: 1, -1: -1 if n % 2 else 1}.get(base, 0))
    modulus = 1 << int(8 * a.itemsize)
    value = pow(base, n, modulus)
    if a.dtype.kind == "i" and value >= modulus // 2:
        value -= modulus
    return a.dtype.type(value)


@_scalar
def _clz(a: Any) -> Any:
    bits = 8 * int(a.itemsize)
    return a.dtype.type(bits - (int(a) & ((1 << bits) - 1)).bit_length())


@_scalar
def _popcount(a: Any) -> Any:
    return a.dtype.type((int(a) & ((1 << 8 * int(a.itemsize)) - 1)).bit_count())


# --------------------------------------------------------------------------------------------------------- floats


@_scalar
def _float_floordiv(a: Any, b: Any) -> Any:
    """T5: CPython's algorithm, every step rounded to the operands' type."""
    if b == 0:
        return a / b
    remainder = np.fmod(a, b)
    quotient = (a - remainder) / b
    if remainder != 0 and (remainder < 0) != (b < 0):
        quotient -= b.dtype.type(1)
    if quotient == 0:
        return np.copysign(quotient, a / b)
    floored = np.floor(quotient)
    return floored + b.dtype.type(1) if quotient - floored > 0.5 else floored


@_scalar
def _float_mod(a: Any, b: Any) -> Any:
    remainder = np.fmod(a, b)
    if remainder == 0:
        return np.copysign(remainder, b)
    return remainder + b if (remainder < 0) != (b < 0) else remainder


@_scalar
def _powi(x: Any, exponent: Any) -> Any:
    """T6: a float to a literal integer power from -4 to 4, by multiplication."""
    n = int(exponent)
    one = x.dtype.type(1)
    square = x * x
    power = (one, x, square, square * x, square * square)[abs(n)]
    return one / power if n < 0 else power


@_scalar
def _min(a: Any, b: Any) -> Any:
    if a == b:
        return a if np.signbit(a) else b
    return a if a < b or math.isnan(b) else b


@_scalar
def _max(a: Any, b: Any) -> Any:
    if a == b:
        return b if np.signbit(a) else a
    return a if a > b or math.isnan(b) else b


@_scalar
def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


@cache
def _c_library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:  # macOS, musl: part of the process itself
        return ctypes.CDLL(None)


def _libm(name: str, arity: int, type: ScalarType) -> Function:
    """The C function for `type`: the double's name, or the float's with an `f` appended."""
    c_type = ctypes.c_double if type.bits == 64 else ctypes.c_float
    raw = _c_library()[name if type.bits == 64 else name + "f"]
    raw.restype, raw.argtypes = c_type, [c_type] * arity
    wrap = type.numpy.type

    def call(*args: Any) -> Any:
        return wrap(raw(*args))

    return _scalar(call)


# -------------------------------------------------------------------------------------------------------- the rows

_PYTHON: Any = operator  # untyped: its stubs know nothing of NumPy
_ANY: dict[str, Function] = {
    "add": _PYTHON.add, "sub": _PYTHON.sub, "mul": _PYTHON.mul, "neg": _PYTHON.neg, "div": _PYTHON.truediv,
    "band": _PYTHON.and_, "bor": _PYTHON.or_, "bxor": _PYTHON.xor, "invert": _PYTHON.invert, "shl": _shl, "shr": _shr,
    "eq": _PYTHON.eq, "ne": _PYTHON.ne, "lt": _PYTHON.lt, "le": _PYTHON.le, "gt": _PYTHON.gt, "ge": _PYTHON.ge,
    "not": _PYTHON.invert, "select": _select, "abs": abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "sqrt": np.sqrt, "copysign": np.copysign, "fmod": np.fmod, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "powi": _powi,
}  # fmt: skip
_INTEGER: dict[str, Function] = {
    "floordiv": _PYTHON.floordiv, "mod": _PYTHON.mod, "pow": _int_pow, "min": np.minimum, "max": np.maximum,
    "clz": _clz, "popcount": _popcount,
}  # fmt: skip
_FLOAT: dict[str, Function] = {"floordiv": _float_floordiv, "mod": _float_mod, "min": _min, "max": _max}


def _view(type: ScalarType) -> Function:
    dtype = type.numpy

    def view(value: Any) -> Any:
        return value.view(dtype)

    return view


@cache
def operation(op: str, type: ScalarType) -> Function:
    """The function of one row on NumPy scalars, for an `IROp` of type `type`; call it inside `quiet()`."""
    found = _ANY.get(op) or (_FLOAT if type.is_float else _INTEGER).get(op)
    if found is not None:
        return found
    if op == "bitcast":
        return _view(type)
    row = OPS[op]
    if row.rule in ("math", "power") and type.is_float:
        return _libm(row.c_float or op, row.arity, type)
    raise KeyError(f"operation {op} has no value on {type}")


# ----------------------------------------------------------------------------------------------------- conversions


def _identity(value: Any) -> Any:
    return value


def _truth(value: Any) -> Any:
    return value != 0


@cache
def conversion(src: ScalarType, dst: ScalarType) -> Function:
    """The function that converts NumPy scalars of `src` to `dst`; call it inside `quiet()`."""
    if src is dst:
        return _identity
    if dst is BOOL:
        return _truth
    if src.is_float and dst.is_int:
        return _saturating(dst)
    dtype = dst.numpy

    def cast(value: Any) -> Any:
        return value.astype(dtype)

    return cast


def _saturating(dst: ScalarType) -> Function:
    """T9: truncation toward zero, the nearest limit beyond the range, 0 for NaN."""
    low, high, wrap = dst.min, dst.max, dst.numpy.type

    def function(value: Any) -> Any:
        if value.ndim:
            # no float of either width lies between a limit and the float it rounds to
            above, below = value >= float(high), value <= float(low)
            result: Any = np.where(above | below | np.isnan(value), 0, value).astype(dst.numpy)
            result[above], result[below] = high, low
            return result
        x = float(value)
        if math.isnan(x):
            return wrap(0)
        if x >= high:  # Python compares an int and a float exactly
            return wrap(high)
        return wrap(low) if x <= low else wrap(int(x))

    return function
