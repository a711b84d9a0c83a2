"""Rules T2b to T11 as functions from operand types to result types, and the type of an expression before it has nodes of its own.

A type here is a `ScalarType`, a `Lit` (a weak integer known to lie in a range), or None (not known yet, while the types of
locals are being found). `annotate` builds nodes by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tack.ir.literals import TRUTH, Lit, fold, hull, literal_type, range_of
from tack.ir.nodes import IRCast, IRCheck, IRCond, IRConst, IRDimSize, IRExpr, IRLoad, IRLogic, IRName, IROp, IRTextureSample
from tack.ir.ops import OPS
from tack.ir.types import BOOL, WEAK_FLOAT, WEAK_INT, ScalarType, f32, f64, holds, i64, promote, u64

__all__ = [
    "AType", "Conflict", "TooLarge", "Typing", "as_lit", "fits", "float_type", "folded", "is_weak", "math_type", "meet",
    "power_type", "promote_all", "shift_type", "to_float_type", "to_int_type", "weak_result",
]  # fmt: skip

AType = ScalarType | Lit | None


class Conflict(Exception):
    """A signed integer met u64 (T3)."""


class TooLarge(Exception):
    """An integer literal that no integer type holds was needed as an integer."""


def promote_all(types: Sequence[ScalarType]) -> ScalarType:
    """T3 over any number of typed operands, whatever their order; raises Conflict."""
    result = types[0]
    for t in types[1:]:
        joined = promote(result, t)
        if joined is None:
            raise Conflict
        result = joined
    return result


def fits(lit: Lit, t: ScalarType) -> bool:
    """Whether integer type `t` holds every value of the range."""
    return holds(t, lit.low) and holds(t, lit.high)


def as_lit(t: AType) -> Lit | None:
    """The range of a weak integer or truth value (T7: 0 or 1)."""
    if t.__class__ is Lit:
        return t  # type: ignore[return-value]
    return TRUTH if t is BOOL else None


def is_weak(t: AType) -> bool:
    """Whether a value of this type takes the type of what it meets (truth values do, T7)."""
    return t is WEAK_FLOAT or t is BOOL or t.__class__ is Lit


def literal_alone(lit: Lit) -> ScalarType:
    """The type of a weak integer by its value; raises TooLarge."""
    t = literal_type(lit)
    if t is None:
        raise TooLarge
    return t


def meet(types: Sequence[AType], default_float: ScalarType, loose: bool = False) -> AType:
    """T2b, T3, T7, T8: the common type of operands or arms.

    Weak ones take the type of the others where it holds them; weak alone give WEAK_FLOAT, BOOL or the range of them all, with
    an unknown one None. `loose`: literals are ignored where they would only widen, and WEAK_INT stands for a local of integer
    literals alone. Raises Conflict and TooLarge.
    """
    integers: list[ScalarType] = []
    floats: list[ScalarType] = []
    lits: list[Lit] = []
    weak_float = truth = unknown = symbolic = False
    for t in types:
        if t is None:
            unknown = True
        elif t is WEAK_INT:
            symbolic = True
        elif isinstance(t, Lit):
            lits.append(t)
        elif t is WEAK_FLOAT:
            weak_float = True
        elif t is BOOL:
            truth = True
        else:
            (floats if t.is_float else integers).append(t)
    if floats:
        return promote_all(floats)
    if weak_float:
        return default_float if integers and not loose else WEAK_FLOAT
    if integers:
        t = promote_all(integers)
        if loose:
            return t
        return promote_all([t, *(literal_alone(lit) for lit in lits if not fits(lit, t))])
    if symbolic:
        return WEAK_INT
    if truth and not lits:
        return BOOL
    if unknown:
        return None
    if loose and truth:
        return WEAK_INT
    result = lits[0]
    for lit in lits[1:]:
        result = hull(result, lit)
    return hull(result, TRUTH) if truth else result


# ----------------------------------------------------------------------------------------------- by rule of the row


def float_type(types: Sequence[AType], default_float: ScalarType, loose: bool = False) -> ScalarType:
    """T6: the type of `/`, a float; WEAK_FLOAT for weak operands."""
    floats = [t for t in types if isinstance(t, ScalarType) and t.kind == "float"]
    if floats:
        return promote_all(floats)
    integers = any(isinstance(t, ScalarType) and t.is_int for t in types)
    return default_float if integers and not (loose and WEAK_FLOAT in types) else WEAK_FLOAT


def math_type(types: Sequence[AType], default_float: ScalarType, loose: bool = False) -> ScalarType:
    """T11: the float type of a math function; integers, and literals that meet no float, go to the default float."""
    typed = [t for t in types if isinstance(t, ScalarType) and t.kind in ("int", "uint", "float")]
    if typed:
        return promote_all([default_float if t.is_int else t for t in typed])
    return WEAK_FLOAT if loose and WEAK_FLOAT in types else default_float


def weak_left(lit: Lit, right: ScalarType, loose: bool = False) -> ScalarType:
    """T4: a weak left operand (or base) takes the right one's type when that has 32 bits and holds it, else its own."""
    if right.bits >= 32 and fits(lit, right):
        return right
    return WEAK_INT if loose else literal_alone(lit)


def shift_type(left: AType, right: AType, loose: bool = False) -> AType:
    """T4: the left operand's type. A weak left with a weak count is a range or None (see `weak_result`)."""
    lit = as_lit(left)
    if lit is None:
        return left
    if loose and left is BOOL:  # it may yet become a typed integer, which the count would not change
        return WEAK_INT
    return weak_left(lit, right, loose) if isinstance(right, ScalarType) and right.is_int else lit


def power_type(base: AType, exponent: AType, default_float: ScalarType, loose: bool = False) -> AType:
    """T6: integers keep the base's type, floats take the common type."""
    lit = as_lit(base)
    either = (base, exponent)
    if any(isinstance(t, ScalarType) and t.is_float for t in either):
        return meet(either, default_float, loose)
    if lit is None:
        return base
    if loose and base is BOOL:
        return WEAK_INT
    return weak_left(lit, exponent, loose) if isinstance(exponent, ScalarType) and exponent.is_int else lit


def to_int_type(t: AType) -> ScalarType:
    """T10: i64, u64 from u64 (and from a literal that only u64 holds)."""
    return u64 if t is u64 or (isinstance(t, Lit) and t.high > i64.max) else i64


def to_float_type(t: AType, default_float: ScalarType, loose: bool = False) -> ScalarType:
    """T10: f64 stays, everything else becomes the default float."""
    if loose and t is WEAK_FLOAT:
        return WEAK_FLOAT
    return f64 if t is f64 else default_float


def folded(op: str, types: Sequence[AType]) -> AType:
    """The type of an operation on weak integers that are all literals; None where it has no value or the value is a float."""
    try:
        value = fold(op, [lit.low for lit in map(as_lit, types) if lit is not None])
    except (ArithmeticError, ValueError):
        return None
    return WEAK_FLOAT if isinstance(value, float) else Lit(value, value)


def weak_result(op: str, types: Sequence[AType]) -> AType:
    """The type of an integer operation on weak integers and truth values: a range where it stays weak, else its own type."""
    lits = [lit for lit in map(as_lit, types) if lit is not None]
    if len(lits) != len(types):
        return None
    if all(lit.low == lit.high for lit in lits) and BOOL not in types:
        return folded(op, types)
    found = range_of(op, lits)
    if found is not None:
        return found
    whole = lits[0]
    if OPS[op].rule == "arith":
        for lit in lits[1:]:
            whole = hull(whole, lit)
    return literal_alone(whole)


# ------------------------------------------------------------------------------------------------- whole expressions


class Typing:
    """The types of expressions, given those of names: `names` is read on every call and may change between calls.

    `loose` is the first phase of T2, where literals are symbolic: they only count where nothing else can.
    """

    def __init__(self, names: dict[str, AType], arrays: dict[str, ScalarType], default_float: ScalarType) -> None:
        self.names, self.arrays, self.default_float = names, arrays, default_float
        self.loose = False
        self._by_class: dict[type, Callable[[Any], AType]] = {
            IRConst: self._const,
            IRName: lambda n: self.names[n.name],
            IRDimSize: lambda _: i64,
            IRLoad: lambda n: self.arrays[n.array],
            IRCast: lambda n: n.type,
            IRLogic: lambda _: BOOL,
            IRCond: lambda n: self._meet((n.then, n.orelse)),
            IROp: self._op,
            IRTextureSample: lambda _: f32,
            IRCheck: lambda _: i64,
        }
        self._by_rule: dict[str, Callable[[IROp], AType]] = {
            "arith": self._arith, "int": self._arith, "extreme": self._arith,
            "shift": self._shift, "power": self._power,
            "div": lambda n: self._div(n.args),
            "compare": lambda _: BOOL, "truth": lambda _: BOOL, "test": lambda _: BOOL, "to_bool": lambda _: BOOL,
            "select": lambda n: self._meet(n.args[1:]),
            "math": lambda n: math_type(self._all(n.args), self.default_float, self.loose),
            "index": lambda _: i64,
            "lane": lambda _: i64,
            "bits": self._bits,
            "bitcast": lambda n: n.type,
            "to_int": lambda n: to_int_type(self.of(n.args[0])),
            "to_float": lambda n: to_float_type(self.of(n.args[0]), self.default_float, self.loose),
        }  # fmt: skip

    def of(self, node: IRExpr) -> AType:
        """The type of an expression. Where a rule is broken, a type that lets the search go on: `annotate` rejects later."""
        return self._by_class[node.__class__](node)

    def _all(self, nodes: tuple[IRExpr, ...]) -> list[AType]:
        table = self._by_class
        if len(nodes) == 2:  # most nodes; a comprehension would be one more frame at every level of the recursion
            a, b = nodes
            return [table[a.__class__](a), table[b.__class__](b)]
        return [table[node.__class__](node) for node in nodes]

    def _const(self, node: IRConst) -> AType:
        value = node.value
        if node.type is not None:
            return node.type
        if value is True or value is False:
            return BOOL
        return WEAK_FLOAT if isinstance(value, float) else Lit(value, value)

    def _meet(self, nodes: tuple[IRExpr, ...]) -> AType:
        return self._joined(self._all(nodes))

    def _joined(self, types: list[AType]) -> AType:
        try:
            return meet(types, self.default_float, self.loose)
        except (Conflict, TooLarge):
            return u64

    def _op(self, node: IROp) -> AType:
        return self._by_rule[OPS[node.op].rule](node)

    def _arith(self, node: IROp) -> AType:
        types = self._all(node.args)
        first = types[0]
        if first.__class__ is ScalarType and first is types[-1] and first is not BOOL and len(types) <= 2:
            return first
        t = self._joined(types)
        return self._weak(node.op, types) if t is BOOL or t.__class__ is Lit else t

    def _weak(self, op: str, types: list[AType]) -> AType:
        if self.loose and BOOL in types:  # a truth value may yet become an integer
            return WEAK_INT
        try:
            t = weak_result(op, types)
        except TooLarge:
            return u64
        return WEAK_INT if self.loose and isinstance(t, ScalarType) and t.is_int else t

    def _div(self, args: tuple[IRExpr, ...]) -> AType:
        return float_type(self._all(args), self.default_float, self.loose)

    def _shift(self, node: IROp) -> AType:
        types = self._all(node.args)
        try:
            t = shift_type(types[0], types[1], self.loose)
        except TooLarge:
            return u64
        return self._weak(node.op, types) if t.__class__ is Lit else t

    def _bits(self, node: IROp) -> AType:
        t = self.of(node.args[0])
        lit = as_lit(t)
        if lit is None:
            return t
        return literal_type(lit) or u64

    def _power(self, node: IROp) -> AType:
        types = self._all(node.args)
        try:
            t = power_type(types[0], types[1], self.default_float, self.loose)
        except (Conflict, TooLarge):
            return u64
        return self._weak(node.op, types) if t.__class__ is Lit else t
