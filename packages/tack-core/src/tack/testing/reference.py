"""What each operation of the language is worth, in Python's integers, NumPy's floats and closed forms: rules T4 to T12.

Written from the rules, so that a wrong row of the op table is wrong here only by coincidence.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tack.ir.types import ScalarType, f64
from tack.testing.values import wrap

__all__ = [
    "BITS", "COMPARE", "TESTS", "ULPS", "binary", "bitcast", "count_bits", "elementary", "extreme", "power", "powi", "shift",
    "unary",
]  # fmt: skip

_NUMBER: Any = operator
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _NUMBER.eq, "ne": _NUMBER.ne, "lt": _NUMBER.lt, "le": _NUMBER.le, "gt": _NUMBER.gt, "ge": _NUMBER.ge,
}  # fmt: skip
BITS: dict[str, Callable[[int, int], int]] = {"band": operator.and_, "bor": operator.or_, "bxor": operator.xor}
TESTS: dict[str, Callable[[Any], bool]] = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite}

# Largest error of elementary functions against NumPy's, which has its own share of it. The C library promises no figure; these
# are above what glibc, macOS and Windows document.
ULPS = {32: 4.0, 64: 8.0}


def binary(op: str, a: Any, b: Any, t: ScalarType) -> Any:
    """`a op b` of two values of `t`, for the arithmetic and bitwise operators."""
    if t.is_float:
        return _float_binary(op, a, b)
    if op in BITS:
        return wrap(BITS[op](a, b), t)
    if op in ("floordiv", "mod"):
        if b == 0:
            return 0
        return wrap(a // b if op == "floordiv" else a % b, t)  # the minimum // -1 wraps to itself
    return wrap({"add": operator.add, "sub": operator.sub, "mul": operator.mul}[op](a, b), t)


def _float_binary(op: str, a: Any, b: Any) -> Any:
    functions: dict[str, Any] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
        "mod": np.remainder, "fmod": np.fmod, "copysign": np.copysign,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return functions[op](a, b)


def shift(op: str, a: int, count: int, t: ScalarType) -> int:
    """T4: the count modulo the width of the left operand's type `t`; a right shift fills the sign."""
    count %= t.bits
    return wrap(a << count, t) if op == "shl" else a >> count


def power(base: Any, exponent: Any, t: ScalarType) -> Any:
    """T6: integers wrap, and negative exponents give 0 except for bases 1 and -1; floats as C's pow."""
    if t.is_float:
        return elementary("pow", (base, exponent), t)
    if exponent < 0:
        return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    return wrap(pow(base, exponent, 1 << t.bits), t)


def powi(x: Any, exponent: int) -> Any:
    """T6: the literal powers from -4 to 4 of a float, by multiplication."""
    with np.errstate(all="ignore"):
        square, one = x * x, type(x)(1)
        value = (one, x, square, square * x, square * square)[abs(exponent)]
        return one / value if exponent < 0 else value


def extreme(op: str, values: tuple[Any, ...]) -> Any:
    """T10: the least or greatest; a number rather than NaN, -0.0 before +0.0."""
    numbers = [v for v in values if not math.isnan(v)] or list(values)
    key: Callable[[Any], Any] = lambda v: (v, math.copysign(1, v) if isinstance(v, np.floating) else 0)  # noqa: E731
    return min(numbers, key=key) if op == "min" else max(numbers, key=key)


def unary(op: str, a: Any, t: ScalarType) -> Any:
    """Operators and functions of one operand that are exact or correctly rounded."""
    if t.is_int:
        return wrap({"neg": operator.neg, "abs": abs, "invert": operator.invert}[op](a), t)
    functions: dict[str, Any] = {
        "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
        "sqrt": np.sqrt,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return functions[op](a)


def count_bits(op: str, a: int, t: ScalarType) -> int:
    """Zero bits above the highest one, or one bits, of a value of `t` in two's complement."""
    digits = f"{a & ((1 << t.bits) - 1):0{t.bits}b}"
    return digits.count("1") if op == "popcount" else len(digits) - len(digits.lstrip("0"))


def bitcast(a: Any, t: ScalarType) -> Any:
    """The bits of a number as type `t` of the same width."""
    if isinstance(a, int):
        data = (a & ((1 << t.bits) - 1)).to_bytes(t.itemsize, sys.byteorder)
    else:
        data = a.tobytes()
    value = np.frombuffer(data, t.numpy)[0]
    return int(value) if t.is_int else value


def _pow(base: Any, exponent: Any) -> Any:
    """NumPy takes the square root for an exponent of 0.5, which differs from C99 for -0.0 and -inf."""
    return np.power(abs(base) if exponent == 0.5 and (base == 0 or math.isinf(base)) else base, exponent)


_NUMPY: dict[str, Any] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "pow": _pow, "erf": math.erf, "erfc": math.erfc,
}  # fmt: skip


def elementary(op: str, args: tuple[Any, ...], t: ScalarType) -> Any:
    """The function in double precision by NumPy (erf and erfc by Python), rounded to `t`."""
    function = _NUMPY.get(op) or getattr(np, op)
    with np.errstate(all="ignore"):
        value = f64.numpy.type(function(*(f64.numpy.type(a) for a in args)))
        return t.numpy.type(value)
