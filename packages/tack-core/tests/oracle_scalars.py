"""Scalars that wrap and round as rules T1 to T10 say, for `oracle`; they share no code with the compiler.

A value is a `Num`, a dtype's name and a Python number that the dtype holds; plain Python numbers are weak literals.
"""

from __future__ import annotations

import math
import operator
import struct
from typing import Any

import gmpy2

INT_BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}
TYPES = (*INT_BITS, "f32", "f64")
_FMA = {
    "f32": gmpy2.context(precision=24, emax=128, emin=-148, subnormalize=True),
    "f64": gmpy2.context(precision=53, emax=1024, emin=-1073, subnormalize=True),
}


class Several:
    """A value of several components, whose operators take numbers beside it (`oracle_vectors`)."""


class State:
    """What the running program's arguments fix: the default float (T1), and whether the target has fma (E5)."""

    default_float = "f32"
    fma = True


# ------------------------------------------------------------------------------------------- types and conversions


def range_of(t: str) -> tuple[int, int]:
    bits = INT_BITS[t]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "i" else (0, (1 << bits) - 1)


def fits(t: str, value: int) -> bool:
    low, high = range_of(t)
    return low <= value <= high


def type_by_value(value: int) -> str:
    return next(t for t in ("i32", "i64", "u64") if fits(t, value))


def common_type(a: str, b: str) -> str:
    """T3."""
    if a[0] == "f" or b[0] == "f":
        return "f64" if "f64" in (a, b) else "f32"
    (a_low, a_high), (b_low, b_high) = range_of(a), range_of(b)
    both = [t for t in INT_BITS if fits(t, min(a_low, b_low)) and fits(t, max(a_high, b_high))]
    if not both:
        raise TypeError(f"{a} with {b} needs a cast")
    return both[0]


def _wrap(value: int, t: str) -> int:
    bits = INT_BITS[t]
    value %= 1 << bits
    return value - (1 << bits) if t[0] == "i" and value >= 1 << (bits - 1) else value


def round_to(value: float, t: str) -> float:
    """A double as a value of `t`."""
    if t == "f64":
        return value
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _from_int(value: int, t: str) -> float:
    """An integer rounded once, half to even."""
    if t == "f64":
        return float(value)
    extra = max(0, abs(value).bit_length() - 24)
    kept, rest = divmod(abs(value), 1 << extra)
    half = 1 << extra >> 1
    kept += rest > half or (rest == half and extra > 0 and kept & 1)
    return math.copysign(float(kept << extra), value)


def _to_int(value: float, t: str) -> int:
    """T9: truncate, saturate, NaN gives 0."""
    low, high = range_of(t)
    if value != value:
        return 0
    if value in (math.inf, -math.inf):
        return high if value > 0 else low
    return min(high, max(low, int(value)))


def convert(value: Any, t: str) -> Num:
    """A cast or store (T4, T7, T9) of a number, weak or not."""
    raw = value.v if isinstance(value, Num) else value
    if isinstance(raw, float):
        return Num(t, _to_int(raw, t) if t in INT_BITS else round_to(raw, t))
    return Num(t, _wrap(int(raw), t) if t in INT_BITS else _from_int(int(raw), t))


def operand_type(x: Any, y: Any) -> str:
    """The type in which an operation on x and y is done: T2b, T3, T8; at least one has a type."""
    if isinstance(x, Num) and isinstance(y, Num):
        return common_type(x.t, y.t)
    typed, weak = (x, y) if isinstance(x, Num) else (y, x)
    if typed.t[0] == "f":
        return typed.t
    if isinstance(weak, float):
        return State.default_float
    return typed.t if fits(typed.t, weak) else common_type(typed.t, type_by_value(weak))


def is_weak(x: Any) -> bool:
    return isinstance(x, bool | int | float)


def float_type(*args: Any) -> str:
    """The type of a division or a math function: integers and literals alone go to the default float (T6, T11)."""
    types = [x.t for x in args if isinstance(x, Num) and x.t[0] == "f"]
    return ("f64" if "f64" in types else "f32") if types else State.default_float


# ------------------------------------------------------------------------------------------------- plain functions


def _divide(a: float, b: float, t: str) -> float:
    if b != 0 or a != a:
        return round_to(a / b if b != 0 else a, t)
    if a == 0:
        return math.nan
    return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def fmod(a: float, b: float) -> float:
    if b == 0 or abs(a) == math.inf or a != a or b != b:
        return math.nan
    return math.fmod(a, b)


def _floored(a: float, b: float, t: str) -> tuple[float, float]:
    """T5: `a // b` and `a % b` by CPython's algorithm; doubles ask CPython itself."""
    if b == 0:
        return _divide(a, b, t), math.nan
    if t == "f64":
        return a // b, a % b
    rest = fmod(a, b)
    quotient = _divide(round_to(a - rest, t), b, t)
    if rest:
        if (b < 0) != (rest < 0):
            rest = round_to(rest + b, t)
            quotient = round_to(quotient - 1, t)
    else:
        rest = math.copysign(0.0, b)
    if not quotient:
        return math.copysign(0.0, _divide(a, b, t)), rest
    floor = quotient if abs(quotient) >= 2.0**24 or quotient != quotient else float(math.floor(quotient))
    return round_to(floor + 1, t) if quotient - floor > 0.5 else floor, rest


def whole(function: Any, x: float) -> float:
    """floor, ceil, trunc and round of a float: a float of the same sign where it is zero."""
    if x != x or abs(x) >= 2.0**52:
        return x
    return float(function(x)) or math.copysign(0.0, x)


def _int_power(base: int, n: int, t: str) -> int:
    if n >= 0:
        return _wrap(pow(base, n, 1 << INT_BITS[t]), t)
    return {1: 1, -1: -1 if n % 2 else 1}.get(base, 0)


def _pick(a: float, b: float, least: bool) -> float:
    """T10 for floats."""
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        negative = math.copysign(1, a) < 0
        return a if negative == least else b
    return a if (a < b) == least else b


_INT_OPS: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "min": min,
    "max": max,
}
_FLOAT_OPS: dict[str, Any] = {
    "+": lambda a, b, t: round_to(a + b, t),
    "-": lambda a, b, t: round_to(a - b, t),
    "*": lambda a, b, t: round_to(a * b, t),
    "//": lambda a, b, t: _floored(a, b, t)[0],
    "%": lambda a, b, t: _floored(a, b, t)[1],
    "min": lambda a, b, t: _pick(a, b, True),
    "max": lambda a, b, t: _pick(a, b, False),
}


def binary(op: str, x: Any, y: Any) -> Num:
    t = operand_type(x, y)
    a, b = convert(x, t).v, convert(y, t).v
    return Num(t, _wrap(_INT_OPS[op](a, b), t) if t in INT_BITS else _FLOAT_OPS[op](a, b, t))


def _true_division(x: Any, y: Any) -> Num:
    t = float_type(x, y)
    return Num(t, _divide(convert(x, t).v, convert(y, t).v, t))


def _left_type(x: Any, count: Any) -> str:
    """T4, T6: a weak left operand takes the count's type when that has 32 bits or more and holds it."""
    if isinstance(x, Num):
        return x.t
    wide = INT_BITS.get(count.t, 0) >= 32 and fits(count.t, x)
    return count.t if wide else type_by_value(x)


def _shift(op: str, x: Any, count: Any) -> Num:
    t = _left_type(x, count)
    a, n = convert(x, t).v, (count.v if isinstance(count, Num) else count) % INT_BITS[t]
    return Num(t, _wrap(a << n if op == "<<" else a >> n, t))


def _power(x: Any, y: Any) -> Num:
    x_float = isinstance(x, float) or (isinstance(x, Num) and x.t[0] == "f")
    y_float = isinstance(y, float) or (isinstance(y, Num) and y.t[0] == "f")
    if not x_float and not y_float:
        t = _left_type(x, y)
        return Num(t, _int_power(convert(x, t).v, y.v if isinstance(y, Num) else int(y), t))
    if isinstance(y, int) and abs(y) <= 4:
        square = x * x
        power = (Num(x.t, 1.0), x, square, square * x, square * square)[abs(y)]
        return 1.0 / power if y < 0 else power
    t = float_type(x, y)
    return Num(t, elementary(math.pow, convert(x, t).v, convert(y, t).v, t=t))


def elementary(function: Any, *args: float, t: str) -> float:
    """A function of Python's math, for comparisons within a tolerance."""
    try:
        return round_to(function(*args), t)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


# ----------------------------------------------------------------------------------------------------- the scalars


def _compare(x: Any, y: Any) -> tuple[Any, Any]:
    t = operand_type(x, y)
    return convert(x, t).v, convert(y, t).v


class Num:
    """A typed number: `t` is a dtype's name, `v` a Python int or float that the dtype holds."""

    __slots__ = ("t", "v")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, t: str, v: Any) -> None:
        self.t, self.v = t, v

    def __repr__(self) -> str:
        return f"{self.t}({self.v})"

    def __bool__(self) -> bool:
        return self.v != 0

    def __neg__(self) -> Num:
        return Num(self.t, _wrap(-self.v, self.t) if self.t in INT_BITS else -self.v)

    def __invert__(self) -> Num:
        return Num(self.t, _wrap(~self.v, self.t))

    def __abs__(self) -> Num:
        return Num(self.t, _wrap(abs(self.v), self.t) if self.t in INT_BITS else abs(self.v))


def _add_operators() -> None:
    def forward(function: Any) -> Any:
        return lambda x, y: NotImplemented if isinstance(y, Product | Several) else function(x, y)

    def both(name: str, function: Any) -> None:
        setattr(Num, f"__{name}__", forward(function))
        setattr(Num, f"__r{name}__", forward(lambda y, x: function(x, y)))

    for name, op in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^"}.items():
        both(name, lambda x, y, op=op: binary(op, x, y))
    for name, op in {"lshift": "<<", "rshift": ">>"}.items():
        both(name, lambda x, y, op=op: _shift(op, x, y))
    both("truediv", _true_division)
    both("pow", _power)


def _add_comparisons() -> None:
    def compare(function: Any) -> Any:
        return lambda x, y: NotImplemented if isinstance(y, Several) else function(*_compare(x, y))

    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Num, f"__{name}__", compare(getattr(operator, name)))


_add_operators()
_add_comparisons()


class Product:
    """`a * b`, floating, as an operand of `+` or `-`: fused unless the other operand is such a product as well (E5)."""

    def __init__(self, a: Num, b: Num, negative: bool = False) -> None:
        self.a, self.b, self.negative = a, b, negative

    @property
    def value(self) -> Num:
        product = self.a * self.b
        return -product if self.negative else product

    def __neg__(self) -> Product:
        return Product(self.a, self.b, not self.negative)

    def __add__(self, other: Any) -> Num:
        return NotImplemented if isinstance(other, Several) else _sum(self, other, 1, 1)

    def __radd__(self, other: Any) -> Num:
        return _sum(other, self, 1, 1)

    def __sub__(self, other: Any) -> Num:
        return NotImplemented if isinstance(other, Several) else _sum(self, other, 1, -1)

    def __rsub__(self, other: Any) -> Num:
        return _sum(other, self, 1, -1)


def product(x: Any, y: Any) -> Any:
    """`x * y` where the source has it as an operand of `+` or `-`."""
    if is_weak(x) and is_weak(y):
        return x * y
    t = operand_type(x, y)
    return x * y if t in INT_BITS else Product(convert(x, t), convert(y, t))


def _sum(x: Any, y: Any, x_sign: int, y_sign: int) -> Num:
    """x + y or x - y, at least one a Product."""
    plain_x, plain_y = (v.value if isinstance(v, Product) else v for v in (x, y))
    t = operand_type(plain_x, plain_y)
    fusible = [isinstance(v, Product) and v.a.t == t for v in (x, y)]
    if not State.fma or fusible.count(True) != 1:
        return plain_x + plain_y if y_sign > 0 else plain_x - plain_y
    p, sign, c, c_sign = (x, x_sign, plain_y, y_sign) if fusible[0] else (y, y_sign, plain_x, x_sign)
    a = -p.a.v if p.negative != (sign < 0) else p.a.v
    return Num(t, float(_FMA[t].fma(a, p.b.v, c_sign * convert(c, t).v)))
