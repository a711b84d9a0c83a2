"""The interpreter as a detector: races between iterations (E6, W1), and reads of elements that nothing was stored in (M5).

Runs a typed function of debug mode as `interpret` does and remembers who touched what. Knows no devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tack.errors import Span
from tack.ir.facts import local_arrays
from tack.ir.interpret import Access, Compiler, Env, interpret_with
from tack.ir.interpret_debug import ITERATION, stored_marks
from tack.ir.interpret_groups import GROUP, Group
from tack.ir.nodes import AFTER, BEFORE, EXTENTS, LANES, IRDeclare, IRExpr, IRFunc, IRLoad, IRStmt, IRStore
from tack.ir.walk import walk_func

__all__ = ["Conflict", "Touch", "find_conflicts"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access of iteration number `iteration`, at `span`, after so many `barriers` of its workgroup."""

    access: Access
    array: str
    index: int
    iteration: int
    span: Span | None
    barriers: int = 0

    @property
    def group(self) -> int:
        """The number of the workgroup that the iteration is in, where there are workgroups."""
        return self.iteration // LANES


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two iterations race for an element ("race": the earlier touch first), or an undefined element is read ("unset")."""

    kind: Literal["race", "unset"]
    touches: tuple[Touch, ...]


def find_conflicts(func: IRFunc, args: Sequence[Any], places: Mapping[str, tuple[int, int]]) -> list[Conflict]:
    """Runs `func`, of debug mode, on `args`, which it changes, in index order; the first conflict of each pair of source places.

    `places` gives each array parameter's address and the bytes of an element, so that arrays may share storage. Raises what
    `interpret` raises, and notes what it notes in the errors array, but for undefined elements.
    """
    tracer = _Tracer(func, places)
    interpret_with(tracer, func, args)
    return list(tracer.conflicts.values())


Seen = tuple[Touch, bytes]  # and what a store stored there


class _Touches:
    """Who touched a byte or element in one manner: so many touches that any later conflict is with one of them.

    `recent` are those since the last barrier of the workgroup that runs, `old` those before, which only other groups meet.
    """

    __slots__ = ("old", "recent")

    def __init__(self) -> None:
        self.recent: list[Seen] = []
        self.old: list[Seen] = []

    def clash(self, touch: Touch, value: bytes | None = None) -> Touch | None:
        """A touch that nothing orders with this one, of another iteration; with `value`, one that stored another value."""
        for other, stored in (*self.recent, *self.old):
            apart = other.group != touch.group or other.barriers == touch.barriers
            if apart and other.iteration != touch.iteration and (value is None or stored != value):
                return other
        return None

    def add(self, touch: Touch, value: bytes) -> None:
        # Two suffice: of two iterations if all stored one value, else of two values, one of which is another.
        if self.recent:
            last = self.recent[-1][0]
            if last.group != touch.group or last.barriers != touch.barriers:
                for each, stored in self.recent:
                    if len(self.old) < 2 and all((o.group, v) != (each.group, stored) for o, v in self.old):
                        self.old.append((each, stored))
                self.recent.clear()
        if len(self.recent) < 2 and all((o.iteration, v) != (touch.iteration, value) for o, v in self.recent):
            self.recent.append((touch, value))


class _Cell:
    """All touches of one byte or element."""

    __slots__ = ("atomics", "loads", "stores")

    def __init__(self) -> None:
        self.loads, self.stores, self.atomics = _Touches(), _Touches(), _Touches()

    def meet(self, touch: Touch, value: bytes) -> Touch | None:
        """An earlier touch that conflicts with this one, if any; remembers this one."""
        loads, stores, atomics = self.loads, self.stores, self.atomics
        if touch.access == "store":
            mine = stores
            clash = stores.clash(touch, value) or loads.clash(touch) or atomics.clash(touch)
        else:
            mine, others = (loads, atomics) if touch.access == "load" else (atomics, loads)
            clash = stores.clash(touch) or others.clash(touch)
        mine.add(touch, value)
        return clash


class _Tracer(Compiler):
    """A compiler whose closures remember accesses to parameters and to shared arrays, in the parallel loop. Of local arrays,
    which belong to one iteration, it hears where they are read and hold nothing."""

    def __init__(self, func: IRFunc, places: Mapping[str, tuple[int, int]]) -> None:
        super().__init__(func.name, local_arrays(func))
        marks = {name for node in walk_func(func) if isinstance(node, IRLoad | IRStore) and (name := stored_marks(node))}
        self.shared = {array.name for array in func.arrays if array.shared} - marks
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
            return inner  # `stored` knows the value
        note = self._watch(array)
        if note is None:
            return inner

        def index(env: Env, size: int) -> int:
            i = inner(env, size)
            note(env, _touch(env, access, array, i, span), b"")
            return i

        return index

    def stored(self, node: IRStore) -> Callable[[Env, int], None] | None:
        mark, note, name, span = super().stored(node), self._watch(node.array), node.array, node.span
        if note is None:
            return mark

        def stored(env: Env, at: int) -> None:
            if mark is not None:
                mark(env, at)
            note(env, _touch(env, "store", name, at, span), env[name][at].tobytes())

        return stored

    def action(self, node: IRStmt) -> Callable[[Env], object]:
        if not isinstance(node, IRDeclare) or node.array not in self.shared:
            return super().action(node)
        key = "declared", node.array

        def declare(env: Env) -> None:
            env[key] = env.get(key, 0) + 1

        return declare

    def unset(self, env: Env, node: IRLoad, at: int) -> None:
        if node.array not in self.shared:  # `_shared` has seen to those
            self._report("unset", _touch(env, "load", node.array, at, node.span, BEFORE))

    # ------------------------------------------------------------------------------------------------------- memory

    def _watch(self, array: str) -> Callable[[Env, Touch, bytes], None] | None:
        """What is told of accesses to an array; None where nothing is."""
        if array in self.shared:
            return self._shared
        return None if array in self.arrays or array == EXTENTS else self._touch

    def _touch(self, _env: Env, touch: Touch, value: bytes) -> None:
        if touch.iteration == AFTER:
            return
        address, size = self.places[touch.array]
        first = address + touch.index * size
        for at in range(first, first + size, self.unit):
            cell = self.cells.get(at)
            if cell is None:
                cell = self.cells[at] = _Cell()
            clash = cell.meet(touch, value if self.unit > 1 else value[at - first : at - first + 1])
            if clash is not None:
                self._report("race", clash, touch)

    def _shared(self, env: Env, touch: Touch, value: bytes) -> None:
        """An access to a shared array. What was stored before the array was declared again is gone."""
        group: Group = env[GROUP]
        place = touch.array, touch.index
        life = env.get(("declared", touch.array), 0)
        if touch.access == "store":
            group.notes["stored", place] = life
        elif group.notes.get(("stored", place), 0) < life:
            self._report("unset", touch)
        clash = group.notes.setdefault(place, _Cell()).meet(touch, value)
        if clash is not None:
            self._report("race", clash, touch)

    def _report(self, kind: Literal["race", "unset"], *touches: Touch) -> None:
        places = frozenset((t.access, t.array, t.span and (t.span.source.file, t.span.lineno, t.span.col)) for t in touches)
        self.conflicts.setdefault((kind, places), Conflict(kind, touches))


def _touch(env: Env, access: Access, array: str, index: int, span: Span | None, outside: int = AFTER) -> Touch:
    """An access by the iteration of `env`; `outside` stands for its number where there is none."""
    group: Group | None = env.get(GROUP)
    return Touch(access, array, index, env.get(ITERATION, outside), span, 0 if group is None else group.barriers)
