"""What is the same in all iterations of the parallel loop, and which statements all of them reach together (W1, E6).

A value is uniform if it follows from arguments, sizes, constants, the prologue and reductions alone; what is loaded inside the
loop is not, since another iteration may have stored there. Works on templates and on typed functions; sees no arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tack.errors import fail
from tack.ir.facts import memoized
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRBreak,
    IRContinue,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRName,
    IROp,
    IRRegion,
    IRStmt,
    IRTextureSample,
    IRWhile,
)
from tack.ir.walk import walk

__all__ = ["Uniformity", "check_collectives", "uniformity"]

_LOADS = (IRLoad, IRTextureSample)


class Uniformity:
    """One function's parallel loop. `varying`: the names whose value may differ between iterations.

    The search widens `varying` until it is stable. Each part of the body has a reason why not every iteration may reach it, or ""
    where all do; jumps that only some take leave what follows with such a reason, up to where they go.
    """

    def __init__(self, func: IRFunc) -> None:
        self.body = func.loop.body
        self.varying = {dim.var for dim in func.loop.dims}
        self._loops: list[int] = []
        self._found: list[tuple[IRStmt, str]] = []
        known = -1
        while known != len(self.varying):
            known = len(self.varying)
            self._found = []
            self._block(self.body, "")

    def varies(self, node: Any) -> bool:
        """Whether the value of an expression can differ between iterations."""
        for each in walk(node):
            if isinstance(each, IRName):
                if each.name in self.varying:
                    return True
            elif isinstance(each, _LOADS) or (isinstance(each, IROp) and each.op == "thread_id"):
                return True
        return False

    def statements(self) -> Iterator[tuple[IRStmt, str]]:
        """Every statement, with the reason why some iterations may not reach it ("": all do), outer ones first."""
        return iter(self._found)

    # ------------------------------------------------------------------------------------------------------- search

    def _block(self, block: Block, why: str) -> dict[Any, str]:
        """Goes through a block that is reached but for `why`; where jumps that only some take go to, each with its reason."""
        exits: dict[Any, str] = {}
        for stmt in block:
            reason = why or next(iter(exits.values()), "")
            self._found.append((stmt, reason))
            for goal, each in self._statement(stmt, reason).items():
                exits.setdefault(goal, each)
        return exits

    def _statement(self, stmt: Any, why: str) -> dict[Any, str]:
        match stmt:
            case IRAssign():
                if why or self.varies(stmt.value):
                    self.varying.add(stmt.name)
            case IRAtomic(result=str() as name):
                self.varying.add(name)
            case IRBlockReduce():
                if why:
                    self.varying.add(stmt.result)
            case IRIf():
                inner = why or self._differs("condition", stmt, stmt.test)
                return self._block(stmt.then, inner) | self._block(stmt.orelse, inner)
            case IRFor():
                inner = why or self._differs("range", stmt, stmt.range)
                if inner:
                    self.varying.add(stmt.range.var)
                return self._loop((), stmt.body, inner)
            case IRWhile():
                return self._loop(stmt.pre, stmt.body, why or self._differs("condition", stmt, stmt.test))
            case IRRegion():
                exits = self._block(stmt.body, why)
                exits.pop(stmt.label, None)
                return exits
            case IRBreak() | IRContinue():
                loop = self._loops[-1] if self._loops else 0
                return {(loop, type(stmt)): why} if why else {}
            case IRLeave():
                return {stmt.label: why} if why else {}
            case _:
                pass
        return {}

    def _differs(self, what: str, stmt: Any, node: Any) -> str:
        if not self.varies(node):
            return ""
        place = "" if stmt.span is None else f" on line {stmt.span.lineno}"
        return f"the {what}{place} can differ between iterations"

    def _loop(self, pre: Block, body: Block, why: str) -> dict[Any, str]:
        """A loop that some leave before others is one in which the rest of its iterations are not everybody's."""
        number = len(self._loops) + 1
        again = (number, IRContinue)
        self._loops.append(number)
        mark = len(self._found)
        exits = self._block((*pre, *body), why)
        early = next((each for goal, each in exits.items() if goal != again), "")
        if early and not why:
            del self._found[mark:]
            exits = self._block((*pre, *body), early)
        self._loops.pop()
        return {goal: each for goal, each in exits.items() if not (isinstance(goal, tuple) and goal[0] == number)}


@memoized("_uniformity")
def uniformity(func: IRFunc) -> Uniformity:
    """What is uniform in a function."""
    return Uniformity(func)


def check_collectives(func: IRFunc) -> None:
    """W1: ValueError at a barrier or reduction of the workgroup that some lanes may not reach."""
    for stmt, why in uniformity(func).statements():
        if why and isinstance(stmt, IRBarrier | IRBlockReduce):
            name = "barrier" if isinstance(stmt, IRBarrier) else stmt.primitive
            raise fail(
                ValueError,
                f"`tack.{name}` is not reached by every lane of a workgroup: {why}",
                kernel=func.name,
                span=stmt.span,
                remedy="Move it out of there. Arguments, sizes and what is read before the loop are the same for all lanes.",
            )
