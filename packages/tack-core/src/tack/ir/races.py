"""E6: the pairs of a store at `i` and a load at `i + c` of one parameter that certainly meet in two iterations of the loop.

Works on the template; sees no arguments. Says nothing where a condition that depends on the parallel index may keep them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tack.errors import Span
from tack.ir.facts import local_arrays, memoized
from tack.ir.nodes import (
    IRAssign,
    IRCond,
    IRConst,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLoad,
    IRLogic,
    IRName,
    IROp,
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.uniformity import uniformity
from tack.ir.walk import assigned_name, children, walk_statements

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
        assigns: dict[str, list[IRStmt]] = {}
        for stmt in walk_statements((*func.prologue, *body)):
            name = assigned_name(stmt)
            if name is not None:
                assigns.setdefault(name, []).append(stmt)
        single = {name: found[0] for name, found in assigns.items() if len(found) == 1}
        self.values = {name: stmt.value for name, stmt in single.items() if isinstance(stmt, IRAssign)}
        self.dims = {dim.var: dim for dim in func.loop.dims if dim.var not in assigns}
        self.lanes, own = uniformity(func), local_arrays(func)
        for stmt, why in self.lanes.statements():
            if not why:
                self._statement(stmt)
        self.loads = [load for load in self.loads if load.array not in own]
        self.stores = [store for store in self.stores if store.array not in own]

    # -------------------------------------------------------------------------------------------------- accesses

    def _statement(self, stmt: IRStmt) -> None:
        match stmt:
            case IRIf() | IRWhile():
                self._expressions(stmt.test)
            case IRFor():
                self._expressions(stmt.range)
            case IRRegion():
                pass
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
        if isinstance(node, IRCond) and self.lanes.varies(node.test):
            below = (node.test,)
        elif isinstance(node, IRLogic) and self.lanes.varies(node.left):
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
