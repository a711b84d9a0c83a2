"""Typed nodes for expressions: operands converted to what the row of the op table asks for, literals given their types.

A node of type WEAK_INT or WEAK_FLOAT is still weak: it gets a type from what it meets, in `coerce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tack.ir.literals import TRUTH, Lit, fold, hull, literal_type, of_type, range_of
from tack.ir.nodes import IRCast, IRCheck, IRCond, IRConst, IRDimSize, IRExpr, IRLoad, IRLogic, IRName, IROp, IRTextureSample
from tack.ir.ops import OPS
from tack.ir.types import BOOL, DTYPES, WEAK_FLOAT, WEAK_INT, ScalarType, f32, i32, i64
from tack.ir.typing_errors import (
    ARM,
    EXPONENT,
    NEGATED,
    conflict,
    needs_integer,
    operand_text,
    refusal,
    source_text,
    symbol,
    too_large,
    type_name,
)
from tack.ir.typing_rules import (
    AType,
    Conflict,
    TooLarge,
    as_lit,
    fits,
    float_type,
    is_weak,
    math_type,
    meet,
    power_type,
    shift_type,
    to_float_type,
    to_int_type,
    weak_result,
)

__all__ = ["Expressions"]

_MOST_ARMS = 16  # literals in the arms of one expression that are folded one by one
_POWERS = range(-4, 5)


class Expressions:
    """Types expressions of one function. `names` gives the type of each scalar name, `arrays` each array's dtype."""

    def __init__(self, kernel: str, names: dict[str, AType], arrays: dict[str, ScalarType], default_float: ScalarType) -> None:
        self.kernel, self.names, self.arrays, self.default_float = kernel, names, arrays, default_float
        self.known: dict[str, IRConst] = {}  # weak locals with one literal as their value
        self.variants: dict[tuple[str, ScalarType], str] = {}  # weak locals by the type they are used as
        self._by_class: dict[type, Callable[[Any], IRExpr]] = {
            IRConst: self._const, IRName: self._name, IRLoad: self._load, IRCast: self._cast, IRCond: self._cond,
            IRLogic: self._logic, IROp: self._op, IRCheck: self._check, IRTextureSample: self._sample,
            IRDimSize: lambda n: IRDimSize(n.array, n.dim, i64, n.span),
        }  # fmt: skip
        self._by_rule: dict[str, Callable[[IROp], IRExpr]] = {
            "arith": self._arith, "int": self._int, "extreme": self._arith, "shift": self._shift, "power": self._power,
            "div": self._div, "compare": self._compare, "truth": self._not, "select": self._select, "math": self._math,
            "test": self._math, "index": self._index, "to_int": self._to_int, "to_float": self._to_float,
            "to_bool": lambda n: self.condition(n.args[0]), "bits": self._bits, "bitcast": self._bitcast,
            "lane": lambda n: IROp(n.op, (), i64, n.span),
        }  # fmt: skip

    def expr(self, node: IRExpr) -> IRExpr:
        """The typed (or weak) form of an expression."""
        return self._by_class[node.__class__](node)

    def exprs(self, nodes: tuple[IRExpr, ...]) -> list[IRExpr]:
        """The typed (or weak) forms of several expressions."""
        table = self._by_class
        typed: list[IRExpr] = []  # a loop, since a comprehension would be one more frame at every level of the recursion
        for node in nodes:
            typed.append(table[node.__class__](node))
        return typed

    # ------------------------------------------------------------------------------------------------ types of nodes

    def abstract(self, node: IRExpr) -> AType:
        """The type of a node made here, as the rules see it."""
        t = node.type
        return self._range(node) if t is WEAK_INT else t

    def _range(self, node: IRExpr) -> Lit:
        """The range of a weak integer or truth value."""
        if node.type is BOOL:
            return TRUTH
        match node:
            case IRConst(value=value):
                return Lit(int(value), int(value))
            case IRName(name=name):
                t = self.names[name]
                assert isinstance(t, Lit)
                return t
            case IRCond():
                return hull(self._range(node.then), self._range(node.orelse))
            case IROp(op="select"):
                return hull(self._range(node.args[1]), self._range(node.args[2]))
            case IROp():
                found = range_of(node.op, [self._range(arg) for arg in node.args])
                assert found is not None
                return found
            case _:
                raise AssertionError(node)

    # -------------------------------------------------------------------------------------------------- conversions

    def coerce(self, node: IRExpr, t: ScalarType) -> IRExpr:
        """The node as a value of `t`: a literal converted once, a weak value typed as `t`, anything else behind an IRCast."""
        have = node.type
        if have is t:
            return node
        if have is WEAK_INT or have is WEAK_FLOAT or have is BOOL:
            if node.__class__ is IRConst:
                return IRConst(of_type(node.value, t), t, node.span)  # type: ignore[union-attr]
            if t is BOOL:
                return self._truth(node)
            if have is not BOOL:
                return self._push(node, t)
        return IRCast(node, t, node.span)

    def _push(self, node: IRExpr, t: ScalarType) -> IRExpr:
        """A weak value that is no literal, as `t`."""
        match node:
            case IRCond():
                return IRCond(node.test, self.coerce(node.then, t), self.coerce(node.orelse, t), t, node.span)
            case IRName(name=name):
                return IRName(self._variant(name, t), t, node.span)
            case IROp(op="select", args=(test, then, orelse)):
                return IROp("select", (test, self.coerce(then, t), self.coerce(orelse, t)), t, node.span)
            case IROp():
                return self._push_operation(node, t)
            case _:
                raise AssertionError(node)

    def _push_operation(self, node: IROp, t: ScalarType) -> IRExpr:
        if node.type is WEAK_FLOAT:
            inner = t if t.is_float else self.default_float
        else:
            whole = self._range(node)
            for arg in node.args:
                whole = hull(whole, self._range(arg))
            inner = self._literal_type(node, whole)
        typed = self._make(node, [self.coerce(arg, inner) for arg in node.args], inner)
        return typed if inner is t else IRCast(typed, t, node.span)

    def _variant(self, name: str, t: ScalarType) -> str:
        found = self.variants.get((name, t))
        if found is None:
            found = f"{name}_{t.name}"
            while found in self.names or found in self.variants.values() or found in self.arrays:
                found += "_"
            self.variants[name, t] = found
        return found

    def _literal_type(self, node: IRExpr, lit: Lit) -> ScalarType:
        t = literal_type(lit)
        if t is None:
            raise too_large(self.kernel, node, [lit])
        return t

    def alone(self, node: IRExpr) -> IRExpr:
        """A weak value that met nothing: an integer by its value, a float as the default float."""
        if node.type is WEAK_INT:
            return self.coerce(node, self._literal_type(node, self._range(node)))
        return self.coerce(node, self.default_float) if node.type is WEAK_FLOAT else node

    def check_size(self, node: IRExpr, t: ScalarType) -> None:
        """Refuse an integer literal beyond every integer type where an integer is stored."""
        if t.is_int and node.type is WEAK_INT:
            lit = self._range(node)
            if literal_type(Lit(lit.low, lit.low)) is None or literal_type(Lit(lit.high, lit.high)) is None:
                raise too_large(self.kernel, node, [lit])

    # --------------------------------------------------------------------------------------------------- conditions

    def condition(self, node: IRExpr) -> IRExpr:
        """T7: an untyped expression as a condition: any scalar, nonzero or NaN is true."""
        match node:
            case IRLogic():
                return IRLogic(node.op, self.condition(node.left), self.condition(node.right), BOOL, node.span)
            case IRCond():
                test, then, orelse = self.condition(node.test), self.condition(node.then), self.condition(node.orelse)
                return IRCond(test, then, orelse, BOOL, node.span)
            case _:
                return self._truth(self.expr(node))

    def _truth(self, node: IRExpr) -> IRExpr:
        if node.type is BOOL:
            return node
        if isinstance(node, IRConst) and is_weak(self.abstract(node)):
            return IRConst(node.value != 0, BOOL, node.span)
        node = self.alone(node)
        return IRCast(node, BOOL, node.span)

    # ------------------------------------------------------------------------------------------------------- leaves

    def _const(self, node: IRConst) -> IRExpr:
        value, t = node.value, node.type
        if t is not None:
            return IRConst(of_type(value, t), t, node.span)
        if value is True or value is False:
            return IRConst(value, BOOL, node.span)
        return IRConst(value, WEAK_FLOAT if isinstance(value, float) else WEAK_INT, node.span)

    def _name(self, node: IRName) -> IRExpr:
        t = self.names[node.name]
        if isinstance(t, ScalarType):
            if t is WEAK_FLOAT:
                known = self.known.get(node.name)
                if known is not None:
                    return IRConst(known.value, known.type, node.span)
            return IRName(node.name, t, node.span)
        assert t is not None
        return IRConst(t.low, WEAK_INT, node.span) if t.low == t.high else IRName(node.name, WEAK_INT, node.span)

    def _load(self, node: IRLoad) -> IRExpr:
        return IRLoad(node.array, tuple(self.exprs(node.index)), self.arrays[node.array], node.span)

    def _check(self, node: IRCheck) -> IRExpr:
        index, extents = tuple(self.exprs(node.index)), tuple(self.exprs(node.extents))
        return IRCheck(node.array, index, extents, node.site, node.stored, i64, node.span)

    def _cast(self, node: IRCast) -> IRExpr:
        value, t = self.expr(node.value), node.type
        # A cast to the type it has already stays where it keeps a product from being fused (E5: it is a call).
        if value.type is t and value.__class__ is IROp and t.is_float:
            return IRCast(value, t, node.span)
        return self.coerce(value, t)

    def _to_float(self, node: IROp) -> IRExpr:
        value = self.expr(node.args[0])
        t = to_float_type(self.abstract(value), self.default_float)
        return IRCast(value, t, node.span) if value.type is t and value.__class__ is IROp else self.coerce(value, t)

    def _to_int(self, node: IROp) -> IRExpr:
        value = self.expr(node.args[0])
        t = to_int_type(self.abstract(value))
        self.check_size(value, t)
        return self.coerce(value, t)

    def _logic(self, node: IRLogic) -> IRExpr:
        left, right = self.expr(node.left), self.expr(node.right)
        for side, given in ((node.left, left), (node.right, right)):
            if given.type is not BOOL:
                a, b = operand_text(node.left, ARM), operand_text(node.right, ARM)
                chosen = f"{a} if {a} else {b}" if node.op == "or" else f"{b} if {a} else {a}"
                raise refusal(
                    self.kernel, side, f"`{node.op}` used as a value takes truth values, not {type_name(self.abstract(given))}",
                    f"Write `({chosen})`.",
                )  # fmt: skip
        return IRLogic(node.op, left, right, BOOL, node.span)

    # -------------------------------------------------------------------------------------------------------- arms

    def _cond(self, node: IRCond) -> IRExpr:
        test = self.condition(node.test)
        arms = self.exprs((node.then, node.orelse))
        t = self._common(node, "`if` and `else` arms", (node.then, node.orelse), [self.abstract(arm) for arm in arms])
        if t is WEAK_INT:
            value = IRCond(test, arms[0], arms[1], t, node.span)
            return self._known(value, self._range(value))
        then, orelse = arms if t is WEAK_FLOAT else [self.coerce(arm, t) for arm in arms]
        return IRCond(test, then, orelse, t, node.span)

    def _select(self, node: IROp) -> IRExpr:
        test = self.condition(node.args[0])
        arms = self.exprs(node.args[1:])
        t = self._common(node, "`select()`", node.args[1:], [self.abstract(arm) for arm in arms])
        if t is WEAK_INT:
            value = IROp("select", (test, *arms), t, node.span)
            return self._known(value, self._range(value))
        if t is not WEAK_FLOAT:
            arms = [self.coerce(arm, t) for arm in arms]
        return IROp("select", (test, *arms), t, node.span)

    def _known(self, node: IRExpr, lit: Lit) -> IRExpr:
        """A weak integer, as the literal it is where its range has one value."""
        return IRConst(lit.low, WEAK_INT, node.span) if lit.low == lit.high else node

    def _common(self, node: IRExpr, what: str, args: Sequence[IRExpr], types: Sequence[AType]) -> ScalarType:
        """The common type of operands; WEAK_INT and WEAK_FLOAT when all are weak, BOOL when all are truth values."""
        try:
            t = meet(types, self.default_float)
        except Conflict:
            raise conflict(self.kernel, node, what, args, types) from None
        except TooLarge:
            raise too_large(self.kernel, node, types) from None
        if isinstance(t, ScalarType):
            return t
        assert t is not None
        return WEAK_INT

    # --------------------------------------------------------------------------------------------------- operations

    def _op(self, node: IROp) -> IRExpr:
        return self._by_rule[OPS[node.op].rule](node)

    def _make(self, node: IROp, args: Sequence[IRExpr], t: ScalarType) -> IRExpr:
        """The operation on operands of its types; `min` and `max` of many are nested in pairs."""
        op, span = node.op, node.span
        if len(args) > 2 and OPS[op].rule == "extreme":
            result = args[0]
            for arg in args[1:]:
                result = IROp(op, (result, arg), t, span)
            return result
        return IROp(op, tuple(args), t, span)

    def _arith(self, node: IROp) -> IRExpr:
        if len(node.args) == 2:  # most nodes: without the frame of `exprs`
            a, b = node.args
            args = [self._by_class[a.__class__](a), self._by_class[b.__class__](b)]
        else:
            args = self.exprs(node.args)
        t = args[0].type
        # Fast path: operands of one type already.
        if t is not args[-1].type or len(args) > 2 or t is WEAK_INT or t is WEAK_FLOAT or t is BOOL:
            types = [self.abstract(arg) for arg in args]
            t = self._common(node, f"`{symbol(node.op)}`", node.args, types)
            if t is WEAK_INT or t is WEAK_FLOAT or t is BOOL:
                return self._weak(node, args)
            args = [self.coerce(arg, t) for arg in args]
        assert t is not None
        return self._make(node, args, t)

    def _int(self, node: IROp) -> IRExpr:
        args = self.exprs(node.args)
        for given, arg in zip(node.args, args, strict=True):
            t = arg.type
            if t is not None and t.is_float:
                raise needs_integer(self.kernel, given, f"an operand of `{symbol(node.op)}`", t)
        if node.op == "invert" and args[0].type is BOOL:
            text = operand_text(node.args[0], NEGATED)
            raise refusal(self.kernel, node, "`~` of a truth value", f"Write `(not {text})`.")
        types = [self.abstract(arg) for arg in args]
        t = self._common(node, f"`{symbol(node.op)}`", node.args, types)
        if t is WEAK_INT or t is BOOL:
            return self._weak(node, args)
        return IROp(node.op, tuple([self.coerce(arg, t) for arg in args]), t, node.span)

    def _div(self, node: IROp) -> IRExpr:
        args = self.exprs(node.args)
        t = float_type([self.abstract(arg) for arg in args], self.default_float)
        if t is WEAK_FLOAT:
            return self._weak(node, args)
        return IROp(node.op, tuple([self.coerce(arg, t) for arg in args]), t, node.span)

    def _math(self, node: IROp) -> IRExpr:
        args = self.exprs(node.args)
        t = math_type([self.abstract(arg) for arg in args], self.default_float)
        result = BOOL if OPS[node.op].rule == "test" else t
        return IROp(node.op, tuple([self.coerce(arg, t) for arg in args]), result, node.span)

    def _bits(self, node: IROp) -> IRExpr:
        """`clz` and `popcount`: a literal counts in the type that it has alone."""
        (value,) = self.exprs(node.args)
        if value.type is not None and value.type.is_float:
            raise needs_integer(self.kernel, node.args[0], f"the operand of `{node.op}()`", value.type)
        value = self.coerce(value, i32) if value.type is BOOL else self.alone(value)
        return IROp(node.op, (value,), value.type, node.span)

    def _bitcast(self, node: IROp) -> IRExpr:
        """A literal first becomes a number of the same kind and of the target's width."""
        (value,), target = self.exprs(node.args), node.type
        assert target is not None
        have = self.abstract(value)
        if is_weak(have):
            lit = as_lit(have)
            kinds = ("float",) if lit is None else ("uint", "int")
            same = [t for kind in kinds for t in DTYPES if t.bits == target.bits and t.kind == kind]
            found = next((t for t in same if lit is None or fits(lit, t)), None)
            value = self.coerce(value, found) if found else self.alone(value)
        assert value.type is not None
        if value.type.bits != target.bits:
            text = f"`bitcast({target}, ...)` of a {value.type}, which has {value.type.bits} bits and not {target.bits}"
            same = " or ".join(f"tack.{t.name}" for t in DTYPES if t.bits == value.type.bits and t is not value.type)
            raise refusal(self.kernel, node, text, f"Cast it first, or take the bits as {same}.")
        return value if value.type is target else IROp("bitcast", (value,), target, node.span)

    def _sample(self, node: IRTextureSample) -> IRExpr:
        u, v, w = (self.coerce(arg, f32) for arg in self.exprs(node.coords))
        return IRTextureSample(node.texture, (u, v, w), f32, node.span)

    def _not(self, node: IROp) -> IRExpr:
        value = self.condition(node.args[0])
        if isinstance(value, IRConst):
            return IRConst(not value.value, BOOL, node.span)
        return IROp("not", (value,), BOOL, node.span)

    def _compare(self, node: IROp) -> IRExpr:
        args = self.exprs(node.args)
        types = [self.abstract(arg) for arg in args]
        if args[0].__class__ is IRConst and args[1].__class__ is IRConst and is_weak(types[0]) and is_weak(types[1]):
            return IRConst(fold(node.op, [arg.value for arg in args]), BOOL, node.span)  # type: ignore[union-attr]
        t = self._common(node, f"`{symbol(node.op)}`", node.args, types)
        if t is BOOL and node.op not in ("eq", "ne"):
            t = i32
        elif t is WEAK_FLOAT:
            t = self.default_float
        elif t is WEAK_INT:
            left, right = as_lit(types[0]), as_lit(types[1])
            assert left is not None and right is not None
            t = self._literal_type(node, hull(left, right))
        return IROp(node.op, tuple([self.coerce(arg, t) for arg in args]), BOOL, node.span)

    def _shift(self, node: IROp) -> IRExpr:
        left, count = self.exprs(node.args)
        for given, arg, what in ((node.args[0], left, "the left operand"), (node.args[1], count, "the count")):
            if arg.type is not None and arg.type.is_float:
                raise needs_integer(self.kernel, given, f"{what} of `{symbol(node.op)}`", arg.type)
        counts = as_lit(self.abstract(count))
        types = (self.abstract(left), self.abstract(count))
        if left.type is BOOL or left.type is WEAK_INT:
            if counts is not None:
                return self._weak(node, [left, count])
            try:
                t = shift_type(*types)
            except TooLarge:
                raise too_large(self.kernel, node, types) from None
        else:
            t = left.type
        assert isinstance(t, ScalarType)
        if counts is not None:
            self._check_count(node, counts, t)
            count = self.coerce(count, t)
        return IROp(node.op, (self.coerce(left, t), count), t, node.span)

    def _check_count(self, node: IROp, counts: Lit, t: ScalarType) -> None:
        if counts.low < 0 or counts.high >= t.bits:
            found = counts.low if counts.low < 0 else counts.high
            raise refusal(
                self.kernel, node.args[1], f"the shift count {found} is outside [0, {t.bits}), the bits of {t}",
                "Write a count in that range, or cast the left operand to a wider type.", ValueError,
            )  # fmt: skip

    def _power(self, node: IROp) -> IRExpr:
        base, exponent = self.exprs(node.args)
        types = (self.abstract(base), self.abstract(exponent))
        if all(each.__class__ is IRConst for each in (base, exponent)) and all(is_weak(t) for t in types):
            return self._folded(node, [base, exponent])
        try:
            t = power_type(*types, self.default_float)
            if isinstance(t, Lit):
                t = self._literal_type(node, t)
        except TooLarge:
            raise too_large(self.kernel, node, types) from None
        if t is WEAK_FLOAT:
            t = self.default_float
        assert isinstance(t, ScalarType)
        base, power = self.coerce(base, t), types[1]
        if t.is_int:
            if isinstance(power, Lit) and power.low < 0:
                remedy = f"Write `float({source_text(node.args[0])}) ** {operand_text(node.args[1], EXPONENT)}` for a fraction."
                message = f"the integer power {power.low} is negative"
                raise refusal(self.kernel, node.args[1], message, remedy, ValueError)
            exponent = self.coerce(exponent, i32) if exponent.type is BOOL else self.alone(exponent)
            return IROp("pow", (base, exponent), t, node.span)
        if isinstance(power, Lit) and exponent.__class__ is IRConst and power.low in _POWERS:
            return IROp("powi", (base, IRConst(power.low, i32, exponent.span)), t, node.span)
        return IROp("pow", (base, self.coerce(exponent, t)), t, node.span)

    def _index(self, node: IROp) -> IRExpr:
        given = node.args[0]
        value = self.expr(given)
        t = self.abstract(value)
        if isinstance(t, ScalarType) and t.is_float:
            raise needs_integer(self.kernel, given, "an index", t)
        lit = t if isinstance(t, Lit) else None
        if isinstance(value, IRConst) and isinstance(t, ScalarType) and t.kind in ("int", "uint"):
            lit = self._range(value)
        if lit is not None and (lit.low < 0 or not fits(lit, i64)):
            raise refusal(
                self.kernel, given, f"the index {lit.low if lit.low < 0 else lit.high} is outside every array",
                f"Count from the end with the size: `a[a.shape[0] - {max(1, -lit.low)}]`.", IndexError,
            )  # fmt: skip
        return self.coerce(value, i64)

    # ------------------------------------------------------------------------------------------------- weak operands

    def _weak(self, node: IROp, args: list[IRExpr]) -> IRExpr:
        """An operation on weak values alone: folded where they are literals, arm by arm where they are conditional."""
        if all(arg.__class__ is IRConst for arg in args):
            return self._folded(node, args)
        arms = self._arms(args)
        if arms is not None:
            return self._distributed(node, args)
        op = node.op
        types = [self.abstract(arg) for arg in args]
        if any(t is WEAK_FLOAT for t in types) or op == "div":
            return IROp(op, tuple(args), WEAK_FLOAT, node.span)
        try:
            t = weak_result(op, types)
        except TooLarge:
            raise too_large(self.kernel, node, types) from None
        if isinstance(t, Lit):
            return self._known(IROp(op, tuple(args), WEAK_INT, node.span), t)
        assert t is not None
        if OPS[op].rule == "shift":
            counts = as_lit(types[1])
            assert counts is not None
            self._check_count(node, counts, t)
        return IROp(op, tuple([self.coerce(arg, t) for arg in args]), t, node.span)

    def _folded(self, node: IROp, args: Sequence[IRExpr]) -> IRExpr:
        try:
            value = fold(node.op, [arg.value for arg in args])  # type: ignore[union-attr]
        except (ArithmeticError, ValueError) as error:
            kind = ZeroDivisionError if isinstance(error, ZeroDivisionError) else ValueError
            text = f"`{source_text(node)}` has no value: {error.args[-1]}"
            raise refusal(self.kernel, node, text, "Write a value that Python can compute.", kind) from None
        return IRConst(value, WEAK_FLOAT if isinstance(value, float) else WEAK_INT, node.span)

    def _arms(self, args: Sequence[IRExpr]) -> int | None:
        """How many combinations of literals the operands are; None where one is not made of literals, or they are too many."""
        count = 1
        for arg in args:
            leaves = _leaves(arg)
            if leaves is None:
                return None
            count *= leaves
        return count if count <= _MOST_ARMS else None

    def _distributed(self, node: IROp, args: list[IRExpr]) -> IRExpr:
        """The operation inside the arms of its conditional operands, so that literals meet literals."""
        for i, arg in enumerate(args):
            if isinstance(arg, IRCond):
                then = self._distributed(node, [*args[:i], arg.then, *args[i + 1 :]])
                orelse = self._distributed(node, [*args[:i], arg.orelse, *args[i + 1 :]])
                weak_float = then.type is WEAK_FLOAT or orelse.type is WEAK_FLOAT
                value = IRCond(arg.test, then, orelse, WEAK_FLOAT if weak_float else WEAK_INT, node.span)
                return value if weak_float else self._known(value, self._range(value))
        return self._folded(node, args)


def _leaves(node: IRExpr) -> int | None:
    """The number of literals in a tree of conditional expressions; None if there is anything else in it."""
    if isinstance(node, IRConst):
        return 1
    if not isinstance(node, IRCond):
        return None
    then, orelse = _leaves(node.then), _leaves(node.orelse)
    return None if then is None or orelse is None else then + orelse
