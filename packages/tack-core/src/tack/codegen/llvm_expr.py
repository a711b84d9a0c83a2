"""Typed expressions as LLVM instructions. An expression's value is a word of text; its type is the node's."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, ClassVar

from tack.codegen.llvm_address import linear
from tack.codegen.llvm_debug import check, nonzero, note_access
from tack.codegen.llvm_math import convert, operate
from tack.codegen.llvm_text import LLVM_TYPES, FunctionText, ModuleText, constant
from tack.ir.nodes import (
    BEFORE,
    IRCast,
    IRCheck,
    IRCond,
    IRConst,
    IRDimSize,
    IRExpr,
    IRLoad,
    IRLogic,
    IRName,
    IRNonzero,
    IROp,
)  # fmt: skip
from tack.ir.ops import OPS
from tack.ir.types import ScalarType

__all__ = ["ExprWriter"]


class ExprWriter(FunctionText):
    """Writes expressions. The writer of the function fills the tables of what names stand for.

    `values`: names that are one value (scalar parameters, loop variables, locals assigned once); `slots`: locals in memory;
    `arrays`: each array's pointer; `dims`: the sizes that are known only at run time; `relaxed`: the arrays that atomics update;
    `own`: the local arrays; `origins`: what the value of a loop variable counts from, and at what literal distance; in debug
    mode `iteration`: the number of the iteration, and `failed`: where a failed check goes.
    """

    __slots__ = ("arrays", "dims", "failed", "fma", "iteration", "origins", "own", "relaxed", "slots", "types", "values")

    def __init__(self, module: ModuleText, fma: bool) -> None:
        super().__init__(module)
        self.fma = fma
        self.values: dict[str, str] = {}
        self.slots: dict[str, str] = {}
        self.types: dict[str, ScalarType] = {}
        self.arrays: dict[str, str] = {}
        self.origins: dict[str, tuple[str, int]] = {}
        self.dims: dict[tuple[str, Any], str] = {}
        self.relaxed: Set[str] = frozenset()
        self.own: Set[str] = frozenset()
        self.iteration, self.failed = str(BEFORE), "failed"

    def expr(self, node: IRExpr) -> str:
        """The value of a typed expression, evaluated here."""
        return self._WRITERS[type(node)](self, node)

    def _const(self, node: IRConst) -> str:
        assert node.type is not None
        return constant(node.value, node.type)

    def _name(self, node: IRName) -> str:
        value = self.values.get(node.name)
        if value is not None:
            return value
        assert node.type is not None
        return self.op(f"load {LLVM_TYPES[node.type]}, ptr {self.slots[node.name]}")

    def _dim(self, node: IRDimSize) -> str:
        return self.dims[(node.array, node.dim)]

    def _load(self, node: IRLoad) -> str:
        assert node.type is not None
        t = LLVM_TYPES[node.type]
        return self.read(node.type, node.array, self.element(t, node.array, node.index, loads=True))

    def read(self, type: ScalarType, array: str, place: str) -> str:
        """The element at an address, by a relaxed atomic load where atomics update the array; an undefined one is some number."""
        t = LLVM_TYPES[type]
        if array in self.relaxed:
            return self.op(f"load atomic {t}, ptr {place} monotonic, align {type.itemsize}")
        value = self.op(f"load {t}, ptr {place}, align 1")
        return self.op(f"freeze {t} {value}") if array in self.own else value

    def write(self, type: ScalarType, array: str, place: str, value: str) -> None:
        """Stores the element at an address, in the same manner."""
        t = LLVM_TYPES[type]
        if array in self.relaxed:
            self.do(f"store atomic {t} {value}, ptr {place} monotonic, align {type.itemsize}")
        else:
            self.do(f"store {t} {value}, ptr {place}, align 1")

    def element(self, t: str, array: str, index: tuple[IRExpr, ...], *, loads: bool = False) -> str:
        """The address of an array's element at a flat index, to load it or to store to it."""
        if isinstance(index[0], IRCheck):
            flat, rest = self.expr(index[0]), 0
            note_access(self, index[0], flat, loads)
        else:
            flat, rest = self._flat(index[0])
        if rest == 0:
            return self.op(f"getelementptr inbounds {t}, ptr {self.arrays[array]}, i64 {flat}")
        base = self.op(f"getelementptr {t}, ptr {self.arrays[array]}, i64 {flat}")  # may lie outside the array
        return self.op(f"getelementptr {t}, ptr {base}, i64 {rest}")

    def _flat(self, node: IRExpr) -> tuple[str, int]:
        """A flat index as a value and a literal distance from it."""
        if isinstance(node, IRName):
            return self.expr(node), 0
        terms, rest = linear(node, self.expr, self.origins)
        flat = ""
        for word, factor in terms:
            term = word if factor == 1 else self.op(f"mul i64 {word}, {factor}")
            flat = self.op(f"add i64 {flat}, {term}") if flat else term
        return (flat, rest) if flat else (str(rest), 0)

    def _op(self, node: IROp) -> str:
        args: list[str] = []
        for arg in node.args:  # one Python frame for each level of nesting: sums of many terms are deep
            args.append(self._WRITERS[type(arg)](self, arg))
        return operate(self, node, args, self.fma)

    def _cast(self, node: IRCast) -> str:
        source = node.value.type
        assert source is not None
        return convert(self, self._WRITERS[type(node.value)](self, node.value), source, node.type)

    def _logic(self, node: IRLogic) -> str:
        left = self.expr(node.left)
        if _is_cheap(node.right, 6):
            return self.op(f"{node.op} i1 {left}, {self.expr(node.right)}")
        n, before = self.fresh(), self.block
        then, orelse = f"logic{n}", f"logic{n}.end"
        self.branch(left, *((then, orelse) if node.op == "and" else (orelse, then)))
        self.label(then)
        right = self.expr(node.right)
        after = self.block
        self.goto(orelse)
        self.label(orelse)
        decided = "false" if node.op == "and" else "true"
        return self.op(f"phi i1 [ {decided}, %{before} ], [ {right}, %{after} ]")

    def _cond(self, node: IRCond) -> str:
        assert node.type is not None
        t, test = LLVM_TYPES[node.type], self.expr(node.test)
        if _is_cheap(node.then, 2) and _is_cheap(node.orelse, 2):
            then = self.expr(node.then)
            return self.op(f"select i1 {test}, {t} {then}, {t} {self.expr(node.orelse)}")
        n = self.fresh()
        self.branch(test, f"pick{n}", f"pick{n}.else")
        self.label(f"pick{n}")
        then = self.expr(node.then)
        then_end = self.block
        self.goto(f"pick{n}.end")
        self.label(f"pick{n}.else")
        orelse = self.expr(node.orelse)
        else_end = self.block
        self.goto(f"pick{n}.end")
        self.label(f"pick{n}.end")
        return self.op(f"phi {t} [ {then}, %{then_end} ], [ {orelse}, %{else_end} ]")

    _WRITERS: ClassVar[dict[type[Any], Callable[[Any, Any], str]]] = {
        IRConst: _const, IRName: _name, IRDimSize: _dim, IRLoad: _load, IROp: _op, IRCast: _cast, IRLogic: _logic, IRCond: _cond,
        IRCheck: check, IRNonzero: nonzero,
    }  # fmt: skip


_CHEAP_RULES = frozenset({"arith", "int", "shift", "compare", "truth", "extreme", "select", "test", "bits", "bitcast"})
_DEAR = frozenset({"floordiv", "mod"})


def _is_cheap(node: IRExpr, budget: int) -> bool:
    """Whether evaluating `node` needlessly costs less than a branch and can neither be seen nor fault: no load, few steps."""
    return _left(node, budget) >= 0


def _left(node: IRExpr, budget: int) -> int:
    """What is left of `budget` steps after evaluating `node`; negative if it does not suffice."""
    if isinstance(node, IRConst | IRName) or budget < 0:
        return budget
    if isinstance(node, IRCast):
        return _left(node.value, budget - 1)
    if isinstance(node, IROp) and node.op not in _DEAR and OPS[node.op].rule in _CHEAP_RULES:
        budget -= 1
        for arg in node.args:
            budget = _left(arg, budget)
        return budget
    return -1
