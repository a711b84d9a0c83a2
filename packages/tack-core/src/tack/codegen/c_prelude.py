"""Helper functions of emitted C: operations that take more than an operator, written once for all types and dialects.

A translation unit gets the ones it uses, each once. Knows no statements and no IR nodes.
"""

from __future__ import annotations

from string import Template

from tack.codegen.dialect import Dialect, unsigned_word
from tack.ir.types import DTYPES, ScalarType

__all__ = ["Prelude"]

# Bodies by helper and kind of type (i: signed, u: unsigned, f: floating): result, parameters, body. $T is the type, $W the
# unsigned type its arithmetic is done in; $fmod, $floor ... are math functions for $T.
_BODIES: dict[str, tuple[str, str, str]] = {
    "floordiv.i": (
        "$T",
        "$T a, $T b",
        "if (b == 0) return 0; if (b == -1) return ($T)(($W)0 - ($W)a); return ($T)(a / b - (a % b != 0 && (a ^ b) < 0));",
    ),
    "floordiv.u": ("$T", "$T a, $T b", "return b == 0 ? 0 : ($T)(a / b);"),
    "mod.i": (
        "$T",
        "$T a, $T b",
        "if (b == 0 || b == -1) return 0; $T r = ($T)(a % b); return (r != 0 && (r ^ b) < 0) ? ($T)(r + b) : r;",
    ),
    "mod.u": ("$T", "$T a, $T b", "return b == 0 ? 0 : ($T)(a % b);"),
    # CPython's algorithm (T5), with NumPy's answers for a divisor of zero.
    "floordiv.f": (
        "$T",
        "$T a, $T b",
        "if (b == $ZERO) return a / b; $T m = $fmod(a, b), q = (a - m) / b; "
        "if (m != $ZERO && (b < $ZERO) != (m < $ZERO)) q = q - $ONE; "
        "if (q == $ZERO) return $copysign($ZERO, a / b); $T w = $floor(q); return q - w > $HALF ? w + $ONE : w;",
    ),
    "mod.f": (
        "$T",
        "$T a, $T b",
        "$T m = $fmod(a, b); if (b == $ZERO) return m; "
        "if (m == $ZERO) return $copysign($ZERO, b); return (b < $ZERO) != (m < $ZERO) ? m + b : m;",
    ),
    "upow.iu": (
        "$T",
        "$T a, u64 n",
        "$W r = 1, p = ($W)a; while (n != 0) { if (n & 1) r = r * p; p = p * p; n = n >> 1; } return ($T)r;",
    ),
    "ipow.i": (
        "$T",
        "$T a, i64 n",
        "if (n < 0) return a == 1 ? 1 : a == -1 ? ((n & 1) ? -1 : 1) : 0; return $upow(a, (u64)n);",
    ),
    "ipow.u": ("$T", "$T a, i64 n", "if (n < 0) return a == 1; return $upow(a, (u64)n);"),
    "powi2.f": ("$T", "$T x", "return x * x;"),
    "powi3.f": ("$T", "$T x", "return x * x * x;"),
    "powi4.f": ("$T", "$T x", "$T y = x * x; return y * y;"),
    "abs.i": ("$T", "$T a", "return a < 0 ? ($T)(($W)0 - ($W)a) : a;"),
    "abs.u": ("$T", "$T a", "return a;"),
    "min.iu": ("$T", "$T a, $T b", "return a < b ? a : b;"),
    "max.iu": ("$T", "$T a, $T b", "return a > b ? a : b;"),
    # A number rather than NaN; of two zeros the one with the right sign (T10).
    "min.f": (
        "$T",
        "$T a, $T b",
        "if (a != a) return b; if (a == b) return $copysign($ONE, a) < $ZERO ? a : b; return b < a ? b : a;",
    ),
    "max.f": (
        "$T",
        "$T a, $T b",
        "if (a != a) return b; if (a == b) return $copysign($ONE, a) < $ZERO ? b : a; return b > a ? b : a;",
    ),
    "isnan.f": ("bool", "$T x", "return x != x;"),
    "isinf.f": ("bool", "$T x", "return $fabs(x) == $INF;"),
    "isfinite.f": ("bool", "$T x", "return $fabs(x) < $INF;"),
    # The number of iterations of range(start, end, step); it needs 64 bits without a sign.
    "trips.i": (
        "u64",
        "$T start, $T end, $T step",
        "if (step > 0) return start < end ? ((u64)end - (u64)start - 1) / (u64)step + 1 : 0; "
        "if (step < 0) return start > end ? ((u64)start - (u64)end - 1) / (0 - (u64)step) + 1 : 0; return 0;",
    ),
}
_MATH = {"fmod": "fmod", "floor": "floor", "copysign": "copysign", "fabs": "abs"}


class Prelude:
    """Collects what one translation unit needs: helper functions and short type names."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._functions: dict[str, str] = {}  # name -> definition, in order of definition
        self._floats: set[str] = set()  # a device may lack f64: it is named where it is used only

    def type(self, t: ScalarType) -> str:
        """The short name of a type in emitted text."""
        if t.name not in self._dialect.types:
            raise RuntimeError(f"the {self._dialect.name} dialect has no type {t}")
        if t.is_float:
            self._floats.add(t.name)
        return t.name

    def helper(self, op: str, t: ScalarType) -> str:
        """The name of helper `op` for operands of type `t`; its definition goes into the unit."""
        name = f"tack_{op}_{t.name}"
        if name not in self._functions:
            kind = "f" if t.is_float else "i" if t.signed else "u"
            row = next(body for key, body in _BODIES.items() if key.split(".")[0] == op and kind in key.split(".")[1])
            self._define(name, t, *row)
        return name

    def from_float(self, target: ScalarType, source: ScalarType) -> str:
        """The name of the conversion of a float to an integer type that truncates, saturates and makes 0 of NaN (T9)."""
        name = f"tack_{target.name}_of_{source.name}"
        if name not in self._functions:
            low, high = (self._dialect.literal(float(v), source) for v in (target.min, target.max + 1))
            least, most = (self._dialect.literal(v, target) for v in (target.min, target.max))
            body = f"return x != x ? 0 : x >= {high} ? {most} : x <= {low} ? {least} : ({self.type(target)})x;"
            self._define(name, source, self.type(target), "$T x", body)
        return name

    def text(self) -> str:
        """The header, the short type names and the functions, in an order in which they compile."""
        used = [t for t in DTYPES if t.is_int or t.name in self._floats]
        types = " ".join(f"typedef {self._dialect.types[t.name]} {t.name};" for t in used)
        line = self._dialect.line.format(line=1, name="tack")
        return "\n".join(part for part in (self._dialect.header, line, types, *self._functions.values()) if part)

    def define(self, name: str, result: str, params: str, body: str) -> None:
        """Adds a function as it stands, unless it is there."""
        self._functions.setdefault(name, f"{self._dialect.helper} {result} {name}({params}) {{ {body} }}")

    def _define(self, name: str, t: ScalarType, result: str, params: str, body: str) -> None:
        words = {"T": self.type(t)}
        if t.is_float:
            words |= {key: self._dialect.function(row, t) for key, row in _MATH.items()}
            numbers = {"ZERO": 0.0, "HALF": 0.5, "ONE": 1.0, "INF": float("inf")}
            words |= {key: self._dialect.literal(value, t) for key, value in numbers.items()}
        else:
            words["W"] = unsigned_word(t).name
        if "$upow" in body:
            words["upow"] = self.helper("upow", t)
        fill = Template(f"{self._dialect.helper} {result} {name}({params}) {{ {body} }}").substitute
        self._functions[name] = fill(words)
