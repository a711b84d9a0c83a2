"""Expressions of the typed IR as C: every operation with the language's meaning, and none of C's undefined behaviour.

The text of an expression has its exact type in C, except that 8- and 16-bit integers may stand as an `int` of the same value.
Knows no dialect by name.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import ClassVar

from tack.codegen.c_debug import check, nonzero, require_stored
from tack.codegen.c_index import keeps_low_bits, literal_count, without_offset
from tack.codegen.c_output import bitcast, count_bits, sample
from tack.codegen.c_prelude import Prelude
from tack.codegen.dialect import Dialect, unsigned_word
from tack.codegen.emitter import Names, Text, bare
from tack.ir.nodes import IRCast, IRCheck, IRCond, IRConst, IRExpr, IRLoad, IRLogic, IRName, IRNonzero, IROp, IRTextureSample
from tack.ir.ops import OPS
from tack.ir.types import BOOL, ScalarType, i64, u32

__all__ = ["ExprWriter", "bare"]

# Expressions higher than this go through a temporary: compilers limit the nesting of brackets (clang to 256).
_HEIGHT = 60
_RING = ("add", "sub", "mul", "neg")


class ExprWriter:
    """Writes expressions. What cannot stand inside an expression goes before it, as statements of `text`."""

    def __init__(self, dialect: Dialect, prelude: Prelude, *, narrow: bool = False) -> None:
        self.dialect = dialect
        self.prelude = prelude
        self.names = Names()
        self.text = Text()
        self.temporaries: dict[str, ScalarType] = {}
        self.relaxed: Set[str] = frozenset()  # arrays that atomics update
        self.iteration = ""  # the number of the iteration, for notes of debug mode
        self.together = False  # debug mode, and lanes wait for each other
        self.narrow = narrow  # indices are computed modulo 2^32
        self._tallest = 0

    def temporary(self, t: ScalarType) -> str:
        """A new variable of the emitter's own."""
        name = f"t_{len(self.temporaries)}"
        self.temporaries[name] = t
        return name

    def expr(self, node: IRExpr, word: ScalarType | None = None) -> str:
        """The text of an expression; it can stand as an operand anywhere.

        With `word`, an unsigned type no wider than that of the node's arithmetic: an expression of that type that agrees with the
        node modulo two to the power of its bits, or of the node's if these are fewer.
        """
        outer, self._tallest = self._tallest, 0
        if word is None:
            text = self._writer(node)(self, node)
        else:
            text = self._modular(node, word)
        height = self._tallest + 1
        if height > _HEIGHT:
            value = bare(text)
            text, height = self.temporary(word or _type(node)), 0
            self.text.line(f"{text} = {value};")
        self._tallest = max(outer, height)
        return text

    def _writer(self, node: IRExpr) -> Callable[..., str]:
        if isinstance(node, IROp):
            return self._BY_OP.get(node.op) or self._BY_RULE[OPS[node.op].rule]
        return self._BY_CLASS[type(node)]

    def _const(self, node: IRConst) -> str:
        return self.dialect.literal(node.value, _type(node))

    def _name(self, node: IRName) -> str:
        return self.names(node.name)

    def _load(self, node: IRLoad) -> str:
        index = self.index(node.index[0])
        require_stored(self, node.index[0], index)
        return self.element(node.array, index, _type(node))

    def index(self, node: IRExpr) -> str:
        """The flat index of an access.

        Where 32 bits do, a literal offset stands beside it, for the address to take in. An index in [0, NARROW_ELEMENTS) less
        such an offset fits an i32, so that its low 32 bits say what it is.
        """
        if not self.narrow:
            return bare(self.expr(node))
        rest, offset = without_offset(node)
        if rest is None:
            return bare(self.dialect.literal(offset, i64))
        text = f"(i32){self.expr(rest, u32)}"
        return f"(i64){text} {'-' if offset < 0 else '+'} {self.dialect.literal(abs(offset), i64)}" if offset else text

    def element(self, array: str, index: str, t: ScalarType) -> str:
        """An element of an array, to read or to assign."""
        place = f"{self.names(array)}[{index}]"
        return self.dialect.relaxed.format(type=self.prelude.type(t), place=place) if array in self.relaxed else place

    def _lane(self, node: IROp) -> str:
        return f"(i64){self.dialect.lane}"

    def _cast(self, node: IRCast) -> str:
        source, target = _type(node.value), node.type
        value = self.expr(node.value)
        if source is target:
            return value
        if target is BOOL:
            return f"({value} != {self.dialect.literal(0, source)})"
        if source.is_float and target.is_int:
            return f"{self.prelude.from_float(target, source)}({bare(value)})"
        return f"({self.prelude.type(target)}){value}"

    def _logic(self, node: IRLogic) -> str:
        left = self.expr(node.left)
        with self.text.indented(), self.text.captured() as before:
            right = self.expr(node.right)
        if not before:
            return f"({left} {'&&' if node.op == 'and' else '||'} {right})"
        result = self.temporary(BOOL)
        self.text.line(f"{result} = {bare(left)};")
        self.text.line(f"if ({result}) {{" if node.op == "and" else f"if (!{result}) {{")
        self.text.lines += before
        with self.text.indented():
            self.text.line(f"{result} = {bare(right)};")
        self.text.line("}")
        return result

    def _choice(self, test: IRExpr, then: IRExpr, orelse: IRExpr, t: ScalarType) -> str:
        condition = self.expr(test)
        with self.text.indented(), self.text.captured() as before_then:
            yes = self.expr(then)
        with self.text.indented(), self.text.captured() as before_else:
            no = self.expr(orelse)
        if not before_then and not before_else:
            return f"({condition} ? {yes} : {no})"
        result = self.temporary(t)
        for head, before, value in ((f"if ({bare(condition)}) {{", before_then, yes), ("} else {", before_else, no)):
            self.text.line(head)
            self.text.lines += before
            with self.text.indented():
                self.text.line(f"{result} = {bare(value)};")
        self.text.line("}")
        return result

    def _cond(self, node: IRCond) -> str:
        return self._choice(node.test, node.then, node.orelse, _type(node))

    # ------------------------------------------------------------------------------------------------ operations

    def _plain(self, node: IROp) -> str:
        """An operator of C."""
        row, t = OPS[node.op], _type(node.args[0])
        word = row.c_float if t.is_float else row.c
        first = self.expr(node.args[0])
        return f"({word}{first})" if len(node.args) == 1 else f"({first} {word} {self.expr(node.args[1])})"

    def _ring(self, node: IROp) -> str:
        """+ - * and unary minus: floats as they are, integers in their unsigned word, where C wraps too."""
        t = _type(node)
        if t.is_float:
            return self._plain(node)
        return self._wrapped(self._modular(node, unsigned_word(t)), t)

    def _modular(self, node: IRExpr, word: ScalarType) -> str:
        if isinstance(node, IRConst):
            return self.dialect.literal(int(node.value) % (1 << word.bits), word)
        if isinstance(node, IROp) and node.op in _RING:
            first = self.expr(node.args[0], word)
            if len(node.args) == 1:
                return f"({self.dialect.literal(0, word)} - {first})"
            return f"({first} {OPS[node.op].c} {self.expr(node.args[1], word)})"
        if self.narrow and keeps_low_bits(node, word):
            if isinstance(node, IRCast):
                return self.expr(node.value, word)
            assert isinstance(node, IROp)
            if node.op == "invert":
                return f"(~{self.expr(node.args[0], word)})"
            if node.op == "shl":
                return self._shifted(node, word)
            return f"({self.expr(node.args[0], word)} {OPS[node.op].c} {self.expr(node.args[1], word)})"
        text = self.expr(node)
        return text if _type(node) is word else f"({self.prelude.type(word)}){text}"

    def _shifted(self, node: IROp, word: ScalarType) -> str:
        by = literal_count(node)
        return self.dialect.literal(0, word) if by >= word.bits else f"({self.expr(node.args[0], word)} << {by})"

    def _wrapped(self, text: str, t: ScalarType) -> str:
        return text if t is unsigned_word(t) else f"({self.prelude.type(t)}){text}"

    def _invert(self, node: IROp) -> str:
        t = _type(node)
        text = f"(~{self.expr(node.args[0])})"
        return text if t.signed or t.bits >= 32 else f"({self.prelude.type(t)}){text}"

    def _shift(self, node: IROp) -> str:
        t = _type(node)
        value, count = node.args
        if isinstance(count, IRConst):
            by = str(literal_count(node))
        else:
            by = f"({self.expr(count)} & {t.bits - 1})"
        if node.op == "shr":  # every compiler fills the sign
            return f"({self.expr(value)} >> {by})"
        return self._wrapped(f"({self.expr(value, unsigned_word(t))} << {by})", t)

    def _call(self, name: str, node: IROp) -> str:
        args: list[str] = []
        for arg in node.args:
            args.append(bare(self.expr(arg)))
        return f"{name}({', '.join(args)})"

    def _helper(self, node: IROp) -> str:
        return self._call(self.prelude.helper(node.op, _type(node.args[0])), node)

    def _math(self, node: IROp) -> str:
        return self._call(self.dialect.function(node.op, _type(node)), node)

    def _abs(self, node: IROp) -> str:
        return self._math(node) if _type(node).is_float else self._helper(node)

    def _pow(self, node: IROp) -> str:
        t, exponent = _type(node), _type(node.args[1])
        if t.is_float:
            return self._math(node)
        return self._call(self.prelude.helper("ipow" if exponent.signed else "upow", t), node)

    def _powi(self, node: IROp) -> str:
        """A float to a literal power by multiplication (T6)."""
        t, count = _type(node), node.args[1]
        assert isinstance(count, IRConst)
        power = int(count.value)
        one = self.dialect.literal(1.0, t)
        if power == 0:
            return one
        base = self.expr(node.args[0])
        text = base if abs(power) == 1 else f"{self.prelude.helper(f'powi{abs(power)}', t)}({bare(base)})"
        return text if power > 0 else f"({one} / {text})"

    def _select(self, node: IROp) -> str:
        test, then, orelse = node.args
        return self._choice(test, then, orelse, _type(node))

    # What writes a node. Python's stack bounds the depth of expressions, so a node takes two frames, no more.
    _BY_CLASS: ClassVar[dict[type, Callable[..., str]]] = {
        IRConst: _const,
        IRName: _name,
        IRLoad: _load,
        IRCast: _cast,
        IRCond: _cond,
        IRLogic: _logic,
        IRTextureSample: sample,
        IRCheck: check,
        IRNonzero: nonzero,
    }
    _BY_OP: ClassVar[dict[str, Callable[..., str]]] = {
        **dict.fromkeys(_RING, _ring),
        **dict.fromkeys(("floordiv", "mod"), _helper),
        "invert": _invert,
        "abs": _abs,
    }
    _BY_RULE: ClassVar[dict[str, Callable[..., str]]] = {
        **dict.fromkeys(("compare", "truth", "int", "div"), _plain),
        **dict.fromkeys(("extreme", "test"), _helper),
        "shift": _shift,
        "bits": count_bits,
        "bitcast": bitcast,
        "math": _math,
        "power": _pow,
        "lane": _lane,
        "powi": _powi,
        "select": _select,
    }


def _type(node: IRExpr) -> ScalarType:
    if node.type is None:
        raise AssertionError(f"an expression without a type reached the emitter: {node}")
    return node.type
