"""Definite assignment (N3): every local is assigned on every path before it is read, and a loop variable ends with its loop.

Works on the lowered template. `check_assigned` raises; it changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from tack.errors import Span, fail
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRBreak,
    IRConst,
    IRContinue,
    IRDeclare,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRName,
    IRNode,
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)  # fmt: skip
from tack.ir.walk import assigned_names, children, walk

__all__ = ["base_name", "check_assigned"]


def base_name(name: str) -> str:
    """The variable of the source that an IR name belongs to: the name without the number that tells it apart."""
    head, dot, last = name.rpartition(".")
    return head if dot and last.isdigit() else name


@dataclass(slots=True)
class _State:
    """What holds at one place: `unassigned` maps each local that may have no value to why (a phrase that follows "not when")."""

    unassigned: dict[str, str]

    def copy(self) -> _State:
        return _State(dict(self.unassigned))


@dataclass(slots=True)
class _Loop:
    """The states at the `break`s and `continue`s of a loop."""

    breaks: list[tuple[_State, str]] = field(default_factory=lambda: list[tuple[_State, str]]())
    continues: list[_State] = field(default_factory=lambda: list[_State]())


_Once = Callable[[_State], "tuple[_State | None, _Loop]"]


def check_assigned(func: IRFunc) -> None:
    """Raise `NameError` at the first read of a local that some path leaves unassigned; the message names the path."""
    _Checker(func).run()


class _Checker:
    def __init__(self, func: IRFunc) -> None:
        self.func = func
        # Locals that the compiler made have names that are no identifiers; they are written where they are read.
        self.locals = {local.name: local.source_name for local in func.locals if local.source_name.isidentifier()}
        self.arrays = {array.name for array in func.arrays}
        self.locals |= {array.name: array.source_name for array in func.arrays}
        self.by_base: dict[str, list[str]] = {}
        for name in self.locals:
            self.by_base.setdefault(base_name(name), []).append(name)
        self.loops: list[_Loop] = []
        self.regions: dict[str, list[tuple[_State, str]]] = {}

    def run(self) -> None:
        state: _State | None = _State(dict.fromkeys(self.locals, ""))
        state = self.block(self.func.prologue, state)
        if state is None:
            return
        if self.func.result is not None:  # what the iterations assign is theirs (K3)
            after = self.block(self.func.epilogue, state.copy())
            if after is not None:
                self.expr(self.func.result, after)
        for dim in self.func.loop.dims:
            self.expr(dim.start, state)
            self.expr(dim.end, state)
            self.expr(dim.step, state)
        self.loops.append(_Loop())
        self.block(self.func.loop.body, state)

    # ------------------------------------------------------------------------------------------------- statements

    def block(self, block: Block, state: _State | None) -> _State | None:
        """The state after a block that starts in `state`; None where no path reaches the end. `state` is consumed."""
        for statement in block:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, node: IRStmt, state: _State) -> _State | None:
        if isinstance(node, IRAssign):
            self.expr(node.value, state)
            state.unassigned.pop(node.name, None)
            return state
        if isinstance(node, IRDeclare):
            state.unassigned.pop(node.array, None)
            return state
        if isinstance(node, IRIf):
            self.expr(node.test, state)
            line = _line(node.span)
            if isinstance(node.test, IRConst) and not node.test.value:
                self.dead(node.then, state.copy())
                return self.block(node.orelse, state)
            then = self.block(node.then, state.copy())
            orelse = self.block(node.orelse, state)
            return _join(then, f"the condition{line} is true", orelse, f"the condition{line} is false")
        if isinstance(node, IRFor):
            return self.counted(node, state)
        if isinstance(node, IRWhile):
            return self.conditional(node, state)
        if isinstance(node, IRBreak):
            self.loops[-1].breaks.append((state, f"the loop is left by the `break`{_line(node.span)}"))
            return None
        if isinstance(node, IRContinue):
            self.loops[-1].continues.append(state)
            return None
        if isinstance(node, IRRegion):
            self.regions[node.label] = []
            after = self.block(node.body, state)
            for left, why in self.regions.pop(node.label):
                after = _join(after, "", left, why)
            return after
        if isinstance(node, IRLeave):
            self.regions[node.label].append((state, f"the function returns{_line(node.span)}"))
            return None
        if isinstance(node, IRStore) and node.array in state.unassigned:
            self.refuse(node.array, node.span, state.unassigned[node.array])
        for child in children(node):  # stores, atomics and expressions
            self.expr(child, state)
        return state

    def dead(self, block: Block, state: _State) -> None:
        """Checks code that never runs; its jumps count for nothing."""
        loops, regions = self.loops, self.regions
        self.loops, self.regions = [_Loop()], defaultdict(list)
        self.block(block, state)
        self.loops, self.regions = loops, regions

    def counted(self, node: IRFor, state: _State) -> _State:
        for part in (node.range.start, node.range.end, node.range.step):
            self.expr(part, state)
        line = _line(node.span)

        def once(head: _State) -> tuple[_State | None, _Loop]:
            self.loops.append(_Loop())
            end = self.block(node.body, head.copy())
            self._kill(node, end)
            loop = self.loops.pop()
            for each in (*loop.continues, *(s for s, _ in loop.breaks)):
                self._kill(node, each)
            return end, loop

        head, end, loop = self.fixed(once, state)
        after = _join(head, f"the loop{line} runs no iteration", end, "")
        for left, why in loop.breaks:
            after = _join(after, "", left, why)
        assert after is not None
        self._kill(node, after)
        return after

    def conditional(self, node: IRWhile, state: _State) -> _State | None:
        tested: list[_State] = []

        def once(head: _State) -> tuple[_State | None, _Loop]:
            start = self.block(node.pre, head.copy())
            assert start is not None
            self.expr(node.test, start)
            tested[:] = [start.copy()]
            self.loops.append(_Loop())
            end = self.block(node.body, start)
            return end, self.loops.pop()

        _, _, loop = self.fixed(once, state)
        inside = assigned_names(node.body)
        endless = isinstance(node.test, IRConst) and bool(node.test.value)
        after = None if endless else _named(tested[0], f"the loop{_line(node.span)} runs no iteration", inside)
        for left, why in loop.breaks:
            after = _join(after, "", _named(left, why, inside), why)
        return after

    def fixed(self, once: _Once, state: _State) -> tuple[_State, _State | None, _Loop]:
        """Runs a loop body until its end leaves no local unassigned that its start took for assigned."""
        head = state
        while True:
            end, loop = once(head)
            back = head.copy()
            for each in (end, *loop.continues):
                if each is not None:
                    for name, why in each.unassigned.items():
                        back.unassigned.setdefault(name, why)
            if len(back.unassigned) == len(head.unassigned):
                return head, end, loop
            head = back

    def _kill(self, node: IRFor, state: _State | None) -> None:
        """After a loop over `k` no local `k` has a value."""
        if state is not None:
            for name in self.by_base.get(base_name(node.range.var), ()):
                state.unassigned[name] = f"it was the variable of the loop{_line(node.span)}, which has ended"

    # ------------------------------------------------------------------------------------------------ expressions

    def expr(self, node: IRExpr | IRNode, state: _State) -> None:
        if not state.unassigned:
            return
        for each in walk(node):
            if isinstance(each, IRName):
                if each.name in state.unassigned:
                    self.refuse(each.name, each.span, state.unassigned[each.name])
            elif isinstance(each, IRLoad) and each.array in state.unassigned:
                self.refuse(each.array, each.span, state.unassigned[each.array])

    def refuse(self, name: str, span: Span | None, why: str) -> None:
        array, name = name in self.arrays, self.locals[name]
        if array:
            when = f": it is not when {why}" if why else ""
            message = f"local array '{name}' is used where it may not be declared{when}"
            raise fail(NameError, message, kernel=self.func.name, span=span, remedy="Declare it before, on every path.")
        if why.startswith("it was"):
            message = f"'{name}' is read where {why}"
            remedy = f"Assign a local before the loop, set it to `{name}` inside, and read that local."
        elif why:
            message = f"local '{name}' may be read before it is assigned: it is not when {why}"
            remedy = "Assign it a first value before."
        else:
            message, remedy = f"local '{name}' is read before it is assigned", "Assign it a first value before."
        raise fail(NameError, message, kernel=self.func.name, span=span, remedy=remedy)


def _line(span: Span | None) -> str:
    return "" if span is None else f" on line {span.lineno}"


def _named(state: _State, why: str, among: set[str]) -> _State:
    """The state, where locals `among` that have no value yet are explained by `why`."""
    return _State({name: known or (why if name in among else "") for name, known in state.unassigned.items()})


def _join(a: _State | None, why_a: str, b: _State | None, why_b: str) -> _State | None:
    """What holds where two paths meet; a local that one of them leaves unassigned says which."""
    if a is None or b is None:
        return b if a is None else a
    joined = dict(a.unassigned)
    for name, why in b.unassigned.items():
        joined[name] = joined.get(name) or why if name in joined else why or why_b
    for name, why in a.unassigned.items():
        if name not in b.unassigned:
            joined[name] = why or why_a
    return _State(joined)
