"""T2: a local that is a float, but was also given a typed integer, must not be divided by `//` or `%`, shifted or used as an
index where that integer may arrive: Python would have computed with an integer there.

A forward search over the statements: the state is the set of such locals that may hold a value assigned as an integer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tack.errors import fail
from tack.ir.local_types import Contribution
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRBreak,
    IRCond,
    IRConst,
    IRContinue,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRName,
    IROp,
    IRRegion,
    IRWhile,
)
from tack.ir.types import ScalarType
from tack.ir.typing_errors import line_of, source_text, symbol, type_name
from tack.ir.walk import children, walk

__all__ = ["check_mixed"]

State = frozenset[str] | None  # None: this point cannot be reached
Mixed = Mapping[str, tuple[Contribution, Contribution]]
_SEEING = frozenset({"floordiv", "mod", "shl", "shr", "index"})
_THROUGH = frozenset({"neg", "abs", "min", "max", "select"})  # operations that pass an operand's value on


def check_mixed(func: IRFunc, mixed: Mixed, integers: set[int]) -> None:
    """Raise TypeError, naming both assignments, where an operation that tells integers from floats can see either.

    `integers`: the ids of the assignments whose value is a typed integer.
    """
    search = _Search(func.name, mixed, integers)
    start: State = frozenset()
    for dim in func.loop.dims:
        search.see(dim, search.block(func.bound_prologue, start))
    inside = search.block(func.prologue, start)
    search.block(func.loop.body, inside)
    if func.result is not None:
        search.see(func.result, search.block(func.epilogue, inside))


def _join(a: State, b: State) -> State:
    return b if a is None else a if b is None else a | b


def _arriving(node: IRExpr) -> Iterator[IRName]:
    """The names whose value an operand may be as it stands."""
    if isinstance(node, IRName):
        yield node
    elif isinstance(node, IRCond):
        yield from _arriving(node.then)
        yield from _arriving(node.orelse)
    elif isinstance(node, IROp) and node.op in _THROUGH:
        for arg in node.args:
            yield from _arriving(arg)


class _Search:
    """The search through one function. It collects the states at the jumps out of each open loop and region."""

    def __init__(self, kernel: str, mixed: Mixed, integers: set[int]) -> None:
        self.kernel, self.mixed, self.integers = kernel, mixed, integers
        self.breaks: list[State] = []
        self.continues: list[State] = []
        self.leaves: dict[str, State] = {}

    def see(self, root: Any, state: State) -> None:
        """Check the expressions of a statement or range."""
        if not state:
            return
        for node in walk(root):
            if isinstance(node, IROp) and node.op in _SEEING:
                for name in (each for arg in node.args for each in _arriving(arg)):
                    if name.name in state:
                        raise self._error(node, name)

    def _error(self, node: IROp, name: IRName) -> Exception:
        integer, floating = self.mixed[name.name]
        text = source_text(name)
        what = "an index" if node.op == "index" else f"`{symbol(node.op)}`"
        there = line_of(integer.assign.span)
        assert isinstance(integer.type, ScalarType)
        cast, wrong = ("float", integer.assign) if node.op in ("floordiv", "mod") else ("int", floating.assign)
        return fail(
            TypeError, f"{what} sees '{text}', which is assigned {type_name(integer.type)} {there} and "
            f"{type_name(floating.type)} {line_of(floating.assign.span)}", kernel=self.kernel, span=node.span,
            remedy=f"Use another name for one of them, or write `{cast}({source_text(wrong.value)})` {line_of(wrong.span)}.",
        )  # fmt: skip

    def block(self, block: Block, state: State) -> State:
        for stmt in block:
            if state is None:
                return None
            state = self._statement(stmt, state)
        return state

    def _statement(self, stmt: Any, state: State) -> State:
        match stmt:
            case IRAssign():
                return self._assign(stmt, state)
            case IRIf():
                self.see(stmt.test, state)
                return _join(self.block(stmt.then, state), self.block(stmt.orelse, state))
            case IRFor():
                self.see(stmt.range, state)
                return self._loop((), None, stmt.body, state)
            case IRWhile():
                return self._loop(stmt.pre, stmt.test, stmt.body, state)
            case IRRegion():
                outer = self.leaves.get(stmt.label)
                self.leaves[stmt.label] = None
                end = _join(self.block(stmt.body, state), self.leaves[stmt.label])
                self.leaves[stmt.label] = outer
                return end
            case IRBreak():
                self.breaks[-1] = _join(self.breaks[-1], state)
                return None
            case IRContinue():
                if self.continues:
                    self.continues[-1] = _join(self.continues[-1], state)
                return None
            case IRLeave():
                self.leaves[stmt.label] = _join(self.leaves[stmt.label], state)
                return None
            case _:
                for child in children(stmt):
                    self.see(child, state)
                return state

    def _assign(self, stmt: IRAssign, state: State) -> State:
        assert state is not None
        self.see(stmt.value, state)
        if stmt.name not in self.mixed:
            return state
        return state | {stmt.name} if id(stmt) in self.integers else state - {stmt.name}

    def _loop(self, pre: Block, test: IRExpr | None, body: Block, entry: State) -> State:
        endless = isinstance(test, IRConst) and bool(test.value)
        while True:
            self.breaks.append(None)
            self.continues.append(None)
            ready = self.block(pre, entry)
            if test is not None:
                self.see(test, ready)
            end = self.block(body, ready)
            left, again = self.breaks.pop(), self.continues.pop()
            back = _join(_join(entry, end), again)
            if back == entry:
                return left if endless else _join(ready, left)
            entry = back
