"""E6: the pairs of a store at `i` and a load at `i + c` of one parameter that certainly meet in two iterations of the loop.

Works on the template; sees no arguments. Says nothing where a condition that depends on the parallel index may keep them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tack.errors import Span
from tack.ir.facts import memoized
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
    IRLoad,
    IRLogic,
    IRName,
    IROp,
    IRRegion,
    IRStore,
    IRWhile,
)
from tack.ir.walk import children, walk, walk_statements

__all__ = ["RacePair", "race_pairs"]


@dataclass(frozen=True, slots=True)
class RacePair:
    """Array `array` is stored at the loop variable `var` and read at `var + offset`."""

    array: str
    var: str
    offset: int
    store: Span | None
    load: Span | None


@memoized("_race_pairs")
def race_pairs(func: IRFunc) -> tuple[RacePair, ...]:
    """The first such pair of each array."""
    search = _Search(func)
    search.block(func.loop.body, False)
    found: dict[str, RacePair] = {}
    for store in search.stores:
        for load in search.loads:
            if store.array == load.array and store.array not in found:
                pair = search.pair(store, load)
                if pair is not None:
                    found[store.array] = pair
    return tuple(found.values())


def literal_int(node: IRExpr) -> int | None:
    """The value of an integer literal or of its negative; None for anything else."""
    if isinstance(node, IRConst):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, IROp) and node.op == "neg":
        value = literal_int(node.args[0])
        return None if value is None else -value
    return None


class _Search:
    """Collects the accesses of the loop body that every iteration makes."""

    def __init__(self, func: IRFunc) -> None:
        body = func.loop.body
        self.stores: list[IRStore] = []
        self.loads: list[IRLoad] = []
        self.params = {param.name for param in func.params}
        assigns: dict[str, list[IRAssign]] = {}
        for stmt in walk_statements((*func.prologue, *body)):
            if isinstance(stmt, IRAssign):
                assigns.setdefault(stmt.name, []).append(stmt)
        self.values = {name: found[0].value for name, found in assigns.items() if len(found) == 1}
        self.dims = {dim.var: dim for dim in func.loop.dims if dim.var not in assigns}
        self.varying = {dim.var for dim in func.loop.dims}
        while self._spread(body, False):
            pass

    # ------------------------------------------------------------------------- what depends on the parallel index

    def _varies(self, node: Any) -> bool:
        """Whether a value can differ between iterations; a load's can, as another iteration may have stored there."""
        return any(each.name in self.varying if isinstance(each, IRName) else isinstance(each, IRLoad) for each in walk(node))

    def _spread(self, block: Block, conditional: bool) -> bool:
        """One round of adding the locals that depend on the index, by value or by condition; whether any was added."""
        before = len(self.varying)
        for stmt in block:
            match stmt:
                case IRAssign():
                    if conditional or self._varies(stmt.value):
                        self.varying.add(stmt.name)
                case IRIf():
                    inner = conditional or self._varies(stmt.test)
                    self._spread(stmt.then, inner)
                    self._spread(stmt.orelse, inner)
                case IRFor():
                    inner = conditional or self._varies(stmt.range)
                    if inner:
                        self.varying.add(stmt.range.var)
                    self._spread(stmt.body, inner or self._jumps(stmt.body, inner))
                case IRWhile():
                    inner = conditional or self._varies(stmt.test)
                    inner = inner or self._jumps(stmt.body, inner) or self._jumps(stmt.pre, inner)
                    self._spread(stmt.pre, inner)
                    self._spread(stmt.body, inner)
                case IRRegion():
                    self._spread(stmt.body, conditional or self._jumps(stmt.body, conditional))
                case _:
                    pass
            conditional = conditional or self._jumps((stmt,), conditional)
        return len(self.varying) > before

    def _jumps(self, block: Block, conditional: bool) -> bool:
        """Whether a jump under a varying condition may skip what follows in some iterations."""
        for stmt in block:
            if isinstance(stmt, IRBreak | IRContinue | IRLeave):
                if conditional:
                    return True
            elif isinstance(stmt, IRIf):
                inner = conditional or self._varies(stmt.test)
                if self._jumps(stmt.then, inner) or self._jumps(stmt.orelse, inner):
                    return True
            elif isinstance(stmt, IRFor | IRWhile):
                inner = conditional or self._varies(stmt.range if isinstance(stmt, IRFor) else stmt.test)
                if self._jumps(stmt.body, inner):
                    return True
            elif isinstance(stmt, IRRegion) and self._jumps(stmt.body, conditional):
                return True
        return False

    # -------------------------------------------------------------------------------------------------- accesses

    def block(self, block: Block, conditional: bool) -> None:
        """Collects the accesses that stand outside any varying condition."""
        for stmt in block:
            if not conditional:
                self._statement(stmt)
            conditional = conditional or self._jumps((stmt,), conditional)

    def _statement(self, stmt: Any) -> None:
        match stmt:
            case IRIf():
                self._expressions(stmt.test)
                if not self._varies(stmt.test):
                    self.block(stmt.then, False)
                    self.block(stmt.orelse, False)
            case IRFor():
                self._expressions(stmt.range)
                if not self._varies(stmt.range) and not self._jumps(stmt.body, False):
                    self.block(stmt.body, False)
            case IRWhile():
                if not self._varies(stmt.test) and not self._jumps(stmt.pre + stmt.body, False):
                    self.block(stmt.pre, False)
                    self._expressions(stmt.test)
                    self.block(stmt.body, False)
            case IRRegion():
                self.block(stmt.body, False)
            case _:
                if isinstance(stmt, IRStore):
                    self.stores.append(stmt)
                for child in children(stmt):
                    self._expressions(child)

    def _expressions(self, node: Any) -> None:
        for each in self._unconditional(node):
            if isinstance(each, IRLoad):
                self.loads.append(each)

    def _unconditional(self, node: Any) -> Iterator[Any]:
        yield node
        below = children(node)
        if isinstance(node, IRCond) and self._varies(node.test):
            below = (node.test,)
        elif isinstance(node, IRLogic) and self._varies(node.left):
            below = (node.left,)
        for child in below:
            yield from self._unconditional(child)

    # ------------------------------------------------------------------------------------------------------ offsets

    def _offset(self, node: IRExpr, depth: int = 4) -> tuple[str, int] | None:
        """(variable, c) of an index `variable + c`, seen through locals assigned once; ("", c) of a literal."""
        value = literal_int(node)
        if value is not None:
            return "", value
        if isinstance(node, IRName):
            if node.name in self.dims:
                return node.name, 0
            inner = self.values.get(node.name)
            return self._offset(inner, depth - 1) if inner is not None and depth else None
        if isinstance(node, IROp) and node.op in ("add", "sub"):
            left, right = (self._offset(arg, depth) for arg in node.args)
            if left is None or right is None:
                return None
            if right[0] == "":
                return left[0], left[1] + right[1] if node.op == "add" else left[1] - right[1]
            if left[0] == "" and node.op == "add":
                return right[0], left[1] + right[1]
        return None

    def pair(self, store: IRStore, load: IRLoad) -> RacePair | None:
        """The race of a store and a load of one array, if every index but one is the same and that one is off by steps."""
        if len(store.index) != len(load.index):
            return None
        at, read = [self._offset(i) for i in store.index], [self._offset(i) for i in load.index]
        different: list[tuple[str, int]] = []
        for a, b in zip(at, read, strict=True):
            if a is None or b is None or a[0] != b[0] or (a[0] == "" and a != b) or (a[0] and a[1]):
                return None
            if a != b:
                different.append((a[0], b[1]))
        if len(different) != 1:
            return None
        var, c = different[0]
        dim = self.dims[var]
        start, end, step = (literal_int(node) for node in (dim.start, dim.end, dim.step))
        if not step or c % step or (start is not None and end is not None and abs(c) >= abs(end - start)):
            return None
        return RacePair(store.array, var, c, store.span, load.span)
