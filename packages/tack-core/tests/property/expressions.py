"""Random well-typed expressions of the kernel language, as source text: every one has exactly the type that was asked for.

Knows the rules of types from the oracle's scalars, nothing of the compiler. `Writer` is also the scope that expressions read.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from oracle_scalars import INT_BITS, TYPES, common_type, fits, range_of
from property.vectors import VectorArray, VectorVar, number, truth

INTS = tuple(INT_BITS)
FLOATS = ("f32", "f64")


def _pairs() -> dict[str, list[tuple[str, str]]]:
    """For each type the pairs of types whose operations have it."""
    pairs: dict[str, list[tuple[str, str]]] = {t: [] for t in TYPES}
    for a, b in itertools.product(TYPES, TYPES):
        try:
            pairs[common_type(a, b)].append((a, b))
        except TypeError:  # a signed integer with u64
            pass
    return pairs


PAIRS = _pairs()


@dataclass
class Var:
    """A scalar that expressions may read; `mutable` ones may be assigned."""

    name: str
    type: str
    mutable: bool = True


@dataclass
class ArrayParam:
    """An array parameter; `own`: an iteration may touch only its own elements of it, `width` of them."""

    name: str
    type: str
    shape: tuple[int, ...]
    own: bool
    width: int = 0
    tame: bool = False  # small numbers alone
    local: bool = False  # a local array: the iteration's own, whole


@dataclass
class Func:
    """A device function: its parameters' types, and its results'. `array`: it takes an array of that type and an index first,
    which is no local array if it does an `atomic`. `given`: what else it takes, before all."""

    name: str
    params: tuple[str, ...]
    results: tuple[str, ...]
    array: str = ""
    atomic: bool = False
    given: str = ""


def palette(rng: random.Random) -> tuple[str, ...]:
    """The types of one program, repeated by weight. Few types let values travel far before a cast cuts them down."""
    style = rng.random()
    if style < 0.2:
        return TYPES
    if style < 0.6:
        floats = rng.choice([("f32",), ("f64",), FLOATS])
        return (*floats * (6 // len(floats)), *rng.sample(INTS, 2))
    return (*rng.sample(INTS, 4), rng.choice(FLOATS))


@dataclass
class Writer:
    """Draws expressions from `rng`. `slot` is the text of the iteration's own slot, "" where arrays cannot be reached."""

    rng: random.Random
    types: tuple[str, ...]
    default_float: str
    variables: list[Var] = field(default_factory=list)
    arrays: list[ArrayParam] = field(default_factory=list)
    funcs: list[Func] = field(default_factory=list)
    slot: str = ""
    nested: int = 0  # indices inside indices
    extra: list[Form] = field(default_factory=list)  # expressions that the program's features add
    statements: list[Callable[..., None]] = field(default_factory=list)  # and statements
    weak_ints: list[str] = field(default_factory=list)  # names of small constants that are weak like literals
    weak_floats: list[str] = field(default_factory=list)
    vectors: list[VectorVar] = field(default_factory=list)
    vector_arrays: list[VectorArray] = field(default_factory=list)
    vector_funcs: list[tuple[str, tuple[int, ...], str]] = field(default_factory=list)

    @property
    def has_vectors(self) -> bool:
        """Whether the program is one with vectors."""
        return bool(self.vectors or self.vector_arrays)

    def any_type(self) -> str:
        """A type of the program's palette, now and then any other."""
        return self.rng.choice(self.types if self.rng.random() < 0.95 else TYPES)

    def int_type(self) -> str:
        """The same of integers."""
        ints = [t for t in self.types if t in INTS]
        return self.rng.choice(ints if ints and self.rng.random() < 0.9 else INTS)

    def float_type(self) -> str:
        """The same of floats."""
        floats = [t for t in self.types if t in FLOATS]
        return self.rng.choice(floats or FLOATS)

    def pair(self, t: str) -> tuple[str, str]:
        """Two types whose operations have type `t`."""
        known = [p for p in PAIRS[t] if p[0] in self.types and p[1] in self.types]
        return self.rng.choice(known if known and self.rng.random() < 0.8 else PAIRS[t])

    # ------------------------------------------------------------------------------------------------------- leaves

    def literal(self, t: str) -> str:
        """A weak literal, or a sum of some, that stays weak and fits `t`."""
        rng = self.rng
        if self.weak_ints and rng.random() < 0.2:
            return rng.choice(self.weak_floats if t in FLOATS and self.weak_floats and rng.random() < 0.7 else self.weak_ints)
        if t in FLOATS:
            usual = ["0.1", "0.3", "1.7", "-2.3", "3.14", "-0.77", "1.1", "-1.9"]
            edges = ["0.0", "-0.0", "0.5", "1.0", "-2.5", "3", "-1", "1e-3", "1e30", "16777217", "math.inf", "HALF"]
            folded = ["(1.0 / 3)", "(0.1 + 0.2)", "(2 * 3.5)", "math.pi", "(7 // 2)", "(1 - 0.9)", "-math.e"]
            return rng.choice(rng.choices([usual, edges, folded], [6, 2, 2])[0])
        low, high = range_of(t)
        near = [0, 1, 2, 3, 5, 7, 10, 17, 100, -1, -2, -3, low, high, high - 1, high // 3]
        value = rng.choice([v for v in near if fits(t, v)])
        if rng.random() < 0.1:
            return rng.choice(["(1 << 4)", "(3 * 5)", "(20 // 3)", "(2 ** 5)", "(12 - 5)", "(0x55 ^ 3)", "FIVE", "(FIVE * 2)"])
        return str(value)

    def leaf(self, t: str) -> str:
        """A variable, an element or a cast literal of type `t`."""
        rng = self.rng
        found = [v.name for v in self.variables if v.type == t]
        loads = [a for a in self.arrays if a.type == t] if self.slot else []
        tame = [a for a in loads if a.tame]
        if tame and rng.random() < 0.4:
            return self.element(rng.choice(tame))
        if found and (not loads or rng.random() < 0.6):
            return rng.choice(found)
        if loads:
            return self.element(rng.choice(loads))
        others = [v for v in self.variables if v.type != t]
        if others and rng.random() < 0.7:
            return f"tack.{t}({rng.choice(others).name})"
        return f"tack.{t}({self.literal(t)})"

    def small(self, limit: int, d: int = 1) -> str:
        """An integer expression from 0 to limit - 1, of a type that may index and meet i64."""
        if self.rng.random() < 0.4 or self.nested >= 2:
            return str(self.rng.randrange(limit))
        t = self.int_type()
        self.nested += 1
        text = f"{self.expr(t, d)} % {limit}"
        self.nested -= 1
        return f"tack.i64({text})" if t == "u64" else f"({text})"

    def element(self, array: ArrayParam) -> str:
        """An element that this iteration may read, and write if the array is its own."""
        if not array.own:
            return f"{array.name}[{', '.join(self.index(array, k) for k in range(len(array.shape)))}]"
        within = self.small(array.width)
        if len(array.shape) == 2:
            return f"{array.name}[{self.slot}, {within}]"
        return f"{array.name}[{self.slot} * {array.width} + {within}]"

    def index(self, array: ArrayParam, k: int) -> str:
        size = array.shape[k]
        if self.rng.random() < 0.3 and not self.nested:
            names = [f"{array.name}.shape[{k}]", f"{array.name}.shape[{k - len(array.shape)}]"]
            self.nested += 1  # an index in an index, and so on, would never end
            text = f"{self.expr(self.rng.choice(['i8', 'i32', 'i64', 'u16']), 1)} % {self.rng.choice(names)}"
            self.nested -= 1
            return text
        return self.small(size)

    # -------------------------------------------------------------------------------------------------- truth values

    def condition(self, d: int) -> str:
        """A truth value."""
        rng = self.rng
        kind = rng.randrange(10) if d > 0 else 0
        if d > 0 and self.has_vectors and rng.random() < 0.2:
            return truth(self, d - 1)
        if kind < 5:
            a, b = self.pair(self.any_type())
            relation = rng.choice(["<", "<=", ">", ">=", "==", "!="])
            right = self.literal(a) if rng.random() < 0.3 else self.expr(b, d - 1)
            return f"({self.expr(a, d - 1)} {relation} {right})"
        if kind == 5:
            t = self.any_type()
            first, second = (rng.choice(["<", "<=", ">", "!="]) for _ in range(2))
            return f"({self.expr(t, d - 1)} {first} {self.expr(t, d - 1)} {second} {self.expr(t, d - 1)})"
        if kind == 6:
            return f"(not {self.condition(d - 1) if rng.random() < 0.5 else self.expr(self.any_type(), d - 1)})"
        if kind == 7:
            name = rng.choice(["isnan", "isinf", "isfinite", "math.isnan"])
            return f"{name}({self.expr(self.float_type(), d - 1)})"
        if kind == 8:
            return f"({self.condition(d - 1)} {rng.choice(['==', '!='])} {self.condition(d - 1)})"
        return f"({self.condition(d - 1)} {rng.choice(['and', 'or'])} {self.condition(d - 1)})"

    def test(self, d: int) -> str:
        """What may stand in `if` and `while`: a truth value or any scalar."""
        return self.expr(self.any_type(), d) if self.rng.random() < 0.15 else self.condition(d)

    # -------------------------------------------------------------------------------------------------- expressions

    def expr(self, t: str, d: int) -> str:
        """An expression of type `t`, at most `d` deep."""
        if d <= 0 or self.rng.random() < 0.12:
            return self.leaf(t)
        if self.has_vectors and self.rng.random() < 0.25:
            return number(self, t, d - 1)
        if self.extra and self.rng.random() < 0.08:
            return self.rng.choice(self.extra)(self, t, d - 1) or self.leaf(t)
        forms = _FLOAT_FORMS if t in FLOATS else _INT_FORMS
        form = self.rng.choices(*forms)[0]
        return form(self, t, d - 1) or self.leaf(t)

    def operands(self, t: str, d: int, truth: bool = True) -> tuple[str, str]:
        """Two operands whose operation has type `t`: one may be a literal or, if `truth`, a truth value."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return self.expr(t, d), self.expr(t, d)
        if kind < 0.75:
            a, b = self.pair(t)
            return self.expr(a, d), self.expr(b, d)
        other = self.literal(t) if kind < 0.93 or not truth else self.condition(min(d, 1))
        pair = self.expr(t, d), other
        return pair if rng.random() < 0.6 else pair[::-1]

    def call(self, func: Func, d: int) -> str:
        """A call of a device function; "" if no array serves."""
        args = [*([func.given] if func.given else []), *(self.expr(t, d) for t in func.params)]
        if func.array:
            fit = [a for a in self.arrays if a.type == func.array and len(a.shape) == 1]
            fit = [a for a in fit if a.own or (a.local and not func.atomic)]
            if not fit or not self.slot:
                return ""
            array = self.rng.choice(fit)
            args = [array.name, f"{'' if array.local else f'{self.slot} * {array.width} + '}{self.small(array.width)}", *args]
        return f"{func.name}({', '.join(args)})"


Form = Callable[[Writer, str, int], str]


def _arith(w: Writer, t: str, d: int) -> str:
    a, b = w.operands(t, d)
    return f"({a} {w.rng.choice(['+', '-', '*', '//', '%'])} {b})"


def _bits(w: Writer, t: str, d: int) -> str:
    a, b = w.operands(t, d)
    return f"({a} {w.rng.choice('&|^')} {b})"


def _shift(w: Writer, t: str, d: int) -> str:
    op = w.rng.choice(["<<", ">>"])
    if INT_BITS[t] >= 32 and w.rng.random() < 0.15:
        return f"({w.rng.choice([1, 3, 100])} {op} {w.expr(t, d)})"  # a weak left operand takes the count's type
    count = str(w.rng.randrange(INT_BITS[t])) if w.rng.random() < 0.5 else w.expr(w.int_type(), d)
    return f"({w.expr(t, d)} {op} {count})"


def _int_power(w: Writer, t: str, d: int) -> str:
    exponent = str(w.rng.randrange(6)) if w.rng.random() < 0.6 else w.expr(w.int_type(), min(d, 1))
    return f"({w.expr(t, d)} ** {exponent})"


def _unary(w: Writer, t: str, d: int) -> str:
    return w.rng.choice(["(-{})", "(~{})", "abs({})"] if t in INTS else ["(-{})", "abs({})"]).format(w.expr(t, d))


def _extreme(w: Writer, t: str, d: int) -> str:
    args = list(w.operands(t, d, truth=False))
    if w.rng.random() < 0.3:
        args = [w.expr(t, d) for _ in range(3)]
    elif t in FLOATS and w.rng.random() < 0.15:
        args = [f"({arg} * tack.{t}(0.0))" for arg in args]  # zeros of either sign, and NaN
    return f"{w.rng.choice(['min', 'max'])}({', '.join(args)})"


def _cast(w: Writer, t: str, d: int) -> str:
    return f"tack.{t}({w.expr(w.any_type(), d) if w.rng.random() < 0.9 else w.condition(d)})"


def _conditional(w: Writer, t: str, d: int) -> str:
    return f"({w.expr(t, d)} if {w.test(d)} else {w.expr(t, d)})"


def _select(w: Writer, t: str, d: int) -> str:
    a, b = w.pair(t) if w.rng.random() < 0.3 else (t, t)
    return f"tack.select({w.condition(d)}, {w.expr(a, d)}, {w.expr(b, d)})"


def _call(w: Writer, t: str, d: int) -> str:
    funcs = [f for f in w.funcs if f.results == (t,)]
    return w.call(w.rng.choice(funcs), min(d, 1)) if funcs else ""


def _python_cast(w: Writer, t: str, d: int) -> str:
    """`int(x)` and `float(x)`, where they have type `t`."""
    if t == "i64":
        return f"int({w.expr(w.rng.choice([s for s in TYPES if s != 'u64']), d)})"
    if t == "u64":
        return f"int({w.expr('u64', d)})"
    if t == "f64":
        return f"float({w.expr('f64', d)})"
    return f"float({w.expr('f32', d)})" if t == w.default_float else ""


def _quotient(w: Writer, t: str, d: int) -> str:
    if t == w.default_float and w.rng.random() < 0.4:
        a, b = w.pair(w.int_type())
        return f"({w.expr(a, d)} / {w.expr(b, d)})"
    a, b = w.operands(t, d)
    return f"({a} / {b})"


def _fusible(w: Writer, t: str, d: int) -> str:
    """Sums with products: rule E5."""
    a, b = w.operands(t, d) if w.rng.random() < 0.8 else (w.expr("f32", d), w.expr("f32", d))
    c, e = w.expr(t, d), w.expr(t, d)
    forms = ["{a} * {b} + {c}", "{c} + {a} * {b}", "{c} - {a} * {b}", "{a} * {b} - {c}", "-({a} * {b}) + {c}",
             "{c} - -({a} * {b})", "{a} * {b} - {c} * {e}", "{a} * {b} + {c} * {b}", "{c} + {a} * {b} + {e}"]  # fmt: skip
    return f"({w.rng.choice(forms).format(a=a, b=b, c=c, e=e)})"


def _rounding(w: Writer, t: str, d: int) -> str:
    if w.rng.random() < 0.2:
        return f"round(tack.{t}({w.expr(w.int_type(), d)}) * 0.5)"  # often halfway
    name = w.rng.choice(["floor", "ceil", "trunc", "round", "sqrt", "math.floor", "math.sqrt", "tack.math.trunc"])
    source = w.int_type() if t == w.default_float and w.rng.random() < 0.2 else t
    return f"{name}({w.expr(source, d)})"


def _two_floats(w: Writer, t: str, d: int) -> str:
    if w.rng.random() < 0.5:
        return f"fmod({w.expr(t, d)}, {w.expr(t, d)})"
    # A NaN's sign is nobody's promise, so the second operand is never NaN.
    return f"copysign({w.expr(t, d)}, tack.{t}({w.expr(w.int_type(), d)}))"


def _float_power(w: Writer, t: str, d: int) -> str:
    return f"({w.expr(t, d)} ** {w.rng.randrange(-4, 5)})"


def _literal_meets_int(w: Writer, t: str, d: int) -> str:
    """A float literal beside an integer is of the default float."""
    if t != w.default_float:
        return ""
    literal = w.rng.choice(["0.1", "2.5", "-0.5", "1e-3"])
    return f"({w.expr(w.int_type(), d)} {w.rng.choice('+-*/')} {literal})"


_INT_FORMS: tuple[list[Form], list[int]] = (
    [_arith, _bits, _shift, _int_power, _unary, _extreme, _cast, _conditional, _select, _call, _python_cast],
    [30, 10, 10, 4, 8, 6, 14, 6, 3, 6, 4],
)
_FLOAT_FORMS: tuple[list[Form], list[int]] = (
    [_arith, _quotient, _fusible, _unary, _extreme, _rounding, _two_floats, _float_power, _literal_meets_int, _cast, _conditional,
     _select, _call, _python_cast],
    [20, 8, 20, 6, 6, 8, 4, 4, 3, 12, 6, 3, 6, 3],
)  # fmt: skip
