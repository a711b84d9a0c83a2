"""Workgroups in the reference interpreter (W1): the lanes of a group take turns, each runs from one barrier to the next.

A statement in which lanes may wait becomes a generator that yields where they do; all others stay the compiler's closures.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tack.errors import fail
from tack.ir.interpret_debug import ITERATION, Failed
from tack.ir.nodes import LANES, Block, IRBarrier, IRBlockReduce, IRExpr, IRFor, IRIf, IRRegion, IRStmt, IRWhile
from tack.ir.numerics import operation
from tack.ir.walk import walk_statements

__all__ = ["BREAK", "CONTINUE", "GROUP", "Group", "Steps", "lane_number", "run_group", "steps"]

Env = dict[Any, Any]
Wait = tuple[IRBarrier | IRBlockReduce, Any]  # where a lane waits, and what it gives to the reduction
Steps = Callable[[Env], Generator[Wait, Any, object]]

BREAK, CONTINUE = object(), object()  # what a statement returns that leaves its block by such a jump
GROUP = ("group",)  # where an environment keeps the `Group` of its lane


@dataclass(slots=True, eq=False)
class Group:
    """A workgroup while it runs. `barriers` counts those passed; `notes` belong to whoever watches the group."""

    number: int
    barriers: int = 0
    notes: dict[Any, Any] = field(default_factory=dict[Any, Any])


class Compiler(Protocol):
    """Makes closures of expressions and statements."""

    def value(self, node: IRExpr) -> Callable[[Env], Any]: ...

    def action(self, node: IRStmt) -> Callable[[Env], object]: ...


def lane_number(env: Env) -> int:
    """The number of a lane in its group."""
    return env[ITERATION] % LANES


def run_group(kernel: str, body: Steps, lanes: Iterable[Env], number: int) -> None:
    """Runs the lanes of group `number`, in this order between barriers. Where one has failed a check of debug mode, the others
    end when they meet next.

    ValueError where some wait that others do not come to, and where lanes wait in a group that has not all of them.
    """
    group = Group(number)
    running: dict[int, Generator[Wait, Any, object]] = {}
    for env in lanes:
        env[GROUP] = group
        running[lane_number(env)] = body(env)
    full, ended, failed = len(running) == LANES, 0, False
    answer: Any = None
    while running:
        waiting: dict[int, Wait] = {}
        for lane, generator in tuple(running.items()):
            try:
                waiting[lane] = generator.send(answer)
            except StopIteration:
                ended += 1
                del running[lane]
            except Failed:
                failed = True
                del running[lane]
        if failed:
            return
        if waiting:
            _together(kernel, group, waiting, ended, full)
            answer = _pass(group, waiting)


def _together(kernel: str, group: Group, waiting: Mapping[int, Wait], ended: int, full: bool) -> None:
    """ValueError unless all lanes of a full group wait at one place."""
    places = {id(node): node for node, _ in waiting.values()}
    node = next(iter(places.values()))
    name = "barrier" if isinstance(node, IRBarrier) else node.primitive
    if not full:
        raise fail(
            ValueError, f"`tack.{name}` stands in a workgroup without all its {LANES} lanes", kernel=kernel, span=node.span,
            remedy=f"Run the loop to a multiple of {LANES}, and test inside it whether there is something to do.",
        )  # fmt: skip
    if ended or len(places) > 1:
        here = sum(each is node for each, _ in waiting.values())
        raise fail(
            ValueError, f"`tack.{name}` is reached by {here} lanes of workgroup {group.number} and not by all {LANES}",
            kernel=kernel, span=node.span, remedy="Move it out of what differs between lanes.",
        )  # fmt: skip


def _pass(group: Group, waiting: Mapping[int, Wait]) -> Any:
    """What each lane goes on with: nothing after a barrier, after a reduction its value, folded in pairs."""
    node = next(iter(waiting.values()))[0]
    if isinstance(node, IRBarrier):
        group.barriers += 1
        return None
    assert node.value.type is not None
    combine, cells = operation(node.op, node.value.type), {lane: value for lane, (_, value) in waiting.items()}
    half = LANES // 2
    while half:
        for lane in range(half):
            cells[lane] = combine(cells[lane], cells[lane + half])
        half //= 2
    return cells[0]


# ------------------------------------------------------------------------------------------------- statements that wait


def steps(compiler: Compiler, block: Block) -> Steps:
    """A block in which lanes may wait."""
    parts: list[tuple[Steps | None, Callable[[Env], object]]] = []
    for stmt in block:
        waits = any(isinstance(each, IRBarrier | IRBlockReduce) for each in walk_statements((stmt,)))
        parts.append((_steps(compiler, stmt), _nothing) if waits else (None, compiler.action(stmt)))

    def run(env: Env) -> Generator[Wait, Any, object]:
        for waiting, action in parts:
            signal = action(env) if waiting is None else (yield from waiting(env))
            if signal is not None:
                return signal
        return None

    return run


def _steps(compiler: Compiler, node: IRStmt) -> Steps:
    match node:
        case IRBarrier():
            return _barrier(node)
        case IRBlockReduce():
            return _reduce(compiler, node)
        case IRIf():
            return _if(compiler, node)
        case IRFor():
            return _for(compiler, node)
        case IRWhile():
            return _while(compiler, node)
        case IRRegion():
            return _region(compiler, node)
        case _:
            raise AssertionError(f"no lane waits in {node}")


def _nothing(_env: Env) -> object:
    return None


def _barrier(node: IRBarrier) -> Steps:
    def run(_env: Env) -> Generator[Wait, Any, object]:
        yield node, None

    return run


def _reduce(compiler: Compiler, node: IRBlockReduce) -> Steps:
    value, name = compiler.value(node.value), node.result

    def run(env: Env) -> Generator[Wait, Any, object]:
        env[name] = yield node, value(env)

    return run


def _if(compiler: Compiler, node: IRIf) -> Steps:
    test, then, orelse = compiler.value(node.test), steps(compiler, node.then), steps(compiler, node.orelse)

    def run(env: Env) -> Generator[Wait, Any, object]:
        return (yield from (then if test(env) else orelse)(env))

    return run


def _for(compiler: Compiler, node: IRFor) -> Steps:
    bounds = [compiler.value(each) for each in (node.range.start, node.range.end, node.range.step)]
    body, var = steps(compiler, node.body), node.range.var

    def run(env: Env) -> Generator[Wait, Any, object]:
        start, end, step = [int(value(env)) for value in bounds]
        for i in range(start, end, step) if step else ():  # a zero step runs nothing (K4)
            env[var] = np.int64(i)
            signal = yield from body(env)
            if signal is BREAK:
                break
            if signal is not None and signal is not CONTINUE:
                return signal
        return None

    return run


def _while(compiler: Compiler, node: IRWhile) -> Steps:
    pre, test, body = steps(compiler, node.pre), compiler.value(node.test), steps(compiler, node.body)

    def run(env: Env) -> Generator[Wait, Any, object]:
        while True:
            signal = yield from pre(env)
            if signal is None:
                if not test(env):
                    return None
                signal = yield from body(env)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal

    return run


def _region(compiler: Compiler, node: IRRegion) -> Steps:
    body, label = steps(compiler, node.body), node.label

    def run(env: Env) -> Generator[Wait, Any, object]:
        signal = yield from body(env)
        return None if signal == label else signal

    return run
