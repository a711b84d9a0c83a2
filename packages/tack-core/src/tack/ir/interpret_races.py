"""The interpreter as a detector: races between iterations (E6), and reads of local arrays before they are stored (M5).

Runs a typed function as `interpret` does and remembers who touched what. Knows no devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tack.errors import Span
from tack.ir.facts import local_arrays
from tack.ir.interpret import Access, Compiler, Env, interpret_with
from tack.ir.interpret_debug import ITERATION
from tack.ir.nodes import AFTER, IRDeclare, IRExpr, IRFunc, IRStmt, IRStore

__all__ = ["Conflict", "Touch", "find_conflicts"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access of iteration number `iteration`, at `span`; `value` is what a store stored, as bytes."""

    access: Access
    array: str
    index: int
    iteration: int
    span: Span | None
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two iterations race for an element ("race": the earlier touch first), or an undefined element is read ("unset")."""

    kind: Literal["race", "unset"]
    touches: tuple[Touch, ...]


def find_conflicts(func: IRFunc, args: Sequence[Any], places: Mapping[str, tuple[int, int]]) -> list[Conflict]:
    """Runs `func` on `args`, which it changes, in index order; the first conflict of each pair of source places.

    `places` gives each array parameter's address and the bytes of an element, so that arrays may share storage. Raises what
    `interpret` raises.
    """
    tracer = _Tracer(func, places)
    interpret_with(tracer, func, args)
    return list(tracer.conflicts.values())


class _Cell:
    """Who touched one byte or element: of each kind of access so many touches that any later conflict is with one of them."""

    __slots__ = ("atomics", "loads", "stores")

    def __init__(self) -> None:
        self.loads: list[Touch] = []
        self.stores: list[tuple[Touch, bytes]] = []
        self.atomics: list[Touch] = []


class _Tracer(Compiler):
    """A compiler whose closures remember accesses. Only the parallel loop races; local arrays belong to one iteration."""

    def __init__(self, func: IRFunc, places: Mapping[str, tuple[int, int]]) -> None:
        super().__init__(func.name, local_arrays(func))
        self.places = places
        # Arrays of elements of one size and alignment have a cell for each element, otherwise for each byte.
        sizes = {size for _, size in places.values()}
        self.unit = sizes.pop() if len(sizes) == 1 else 1
        if any(address % self.unit for address, _ in places.values()):
            self.unit = 1
        self.cells: dict[int, _Cell] = {}
        self.conflicts: dict[Any, Conflict] = {}

    # ---------------------------------------------------------------------------------------------------- closures

    def index(self, array: str, nodes: tuple[IRExpr, ...], span: Span | None, access: Access) -> Callable[[Env, int], int]:
        inner = super().index(array, nodes, span, access)
        if access == "store":
            return inner  # `_store` knows the value
        note = self._own_load if array in self.arrays else self._touch

        def index(env: Env, size: int) -> int:
            i = inner(env, size)
            note(env, Touch(access, array, i, env.get(ITERATION, AFTER), span))
            return i

        return index

    def _store(self, node: IRStore) -> Callable[[Env], None]:
        name, value, span = node.array, self.value(node.value), node.span
        index, own = self.index(name, node.index, span, "store"), name in self.arrays

        def store(env: Env) -> None:
            result = value(env)  # before the index (E2)
            flat = env[name]
            i = index(env, flat.size)
            flat[i] = result
            if own:
                _stored(env, name).add(i)
            else:
                self._touch(env, Touch("store", name, i, env.get(ITERATION, AFTER), span, flat[i].tobytes()))

        return store

    def action(self, node: IRStmt) -> Callable[[Env], object]:
        inner = super().action(node)
        if not isinstance(node, IRDeclare):
            return inner
        name = node.array

        def declare(env: Env) -> None:
            env["stored", name] = env.get(ITERATION), set[int]()
            inner(env)

        return declare

    # ------------------------------------------------------------------------------------------------------- memory

    def _own_load(self, env: Env, touch: Touch) -> None:
        if touch.index not in _stored(env, touch.array):
            self._report("unset", touch)

    def _touch(self, _env: Env, touch: Touch) -> None:
        if touch.iteration == AFTER:
            return
        address, size = self.places[touch.array]
        first = address + touch.index * size
        for at in range(first, first + size, self.unit):
            cell = self.cells.get(at)
            if cell is None:
                cell = self.cells[at] = _Cell()
            part = touch.value if self.unit > 1 else touch.value[at - first : at - first + 1]
            self._meet(cell, touch, part)

    def _meet(self, cell: _Cell, touch: Touch, value: bytes) -> None:
        """Reports the touch if it conflicts with one of another iteration, and remembers it."""
        number = touch.iteration
        if touch.access == "store":
            clash = next((s for s, v in cell.stores if s.iteration != number and v != value), None)
            clash = clash or _other(cell.loads, number) or _other(cell.atomics, number)
            # Two stores suffice: of two iterations if all stored one value, else of two values, one of which is another.
            if len(cell.stores) < 2 and all((s.iteration, v) != (number, value) for s, v in cell.stores):
                cell.stores.append((touch, value))
        else:
            mine, others = (cell.loads, cell.atomics) if touch.access == "load" else (cell.atomics, cell.loads)
            clash = _other([s for s, _ in cell.stores], number) or _other(others, number)
            if len(mine) < 2 and all(t.iteration != number for t in mine):
                mine.append(touch)
        if clash is not None:
            self._report("race", clash, touch)

    def _report(self, kind: Literal["race", "unset"], *touches: Touch) -> None:
        places = frozenset((t.access, t.array, t.span and (t.span.source.file, t.span.lineno, t.span.col)) for t in touches)
        self.conflicts.setdefault((kind, places), Conflict(kind, touches))


def _stored(env: Env, name: str) -> set[int]:
    """The indices of a local array that this iteration has stored, also of one that was declared before the loop."""
    if env["stored", name][0] != env.get(ITERATION):
        env["stored", name] = env.get(ITERATION), set[int]()
    return env["stored", name][1]


def _other(touches: Sequence[Touch], number: int) -> Touch | None:
    return next((touch for touch in touches if touch.iteration != number), None)
