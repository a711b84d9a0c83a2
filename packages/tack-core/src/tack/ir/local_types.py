"""T2: the type of every local as the join of what is assigned to it, found as a fixed point before anything is rejected.

Works on expression types alone (`typing_rules.Typing`); builds no nodes and rejects nothing.

The first phase keeps literals symbolic (a local of integer literals alone is WEAK_INT): it takes the least types that the typed
values ask for. It runs again when a local
turned out to be a float after it had been read as something less, because what was computed from it may have been too wide.
The second phase gives literals their types and widens what they ask for. Types only ever widen within a phase, so each ends at
its least fixed point, whatever the order of statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tack.ir.literals import Lit, hull
from tack.ir.nodes import IRAssign, IRAtomic, IRBlockReduce, IRConst, IRFor, IRFunc, IRLoad, IROp, IRStmt
from tack.ir.types import BOOL, WEAK_FLOAT, WEAK_INT, ScalarType, i32, i64, u64
from tack.ir.typing_rules import AType, Conflict, TooLarge, Typing, as_lit, fits, literal_alone, meet, promote_all
from tack.ir.walk import names_read, walk_statements

__all__ = ["Contribution", "LocalTypes", "local_types"]


@dataclass(slots=True)
class Contribution:
    """One assignment and the type of its value before conversion."""

    assign: IRAssign
    type: AType = None
    dirty: bool = True
    seen: bool = False


@dataclass(slots=True)
class LocalTypes:
    """What is known about names: `names` gives each scalar name's type (a Lit or WEAK_FLOAT for weak locals), `by_local` the
    assignments of each local whose type was found."""

    names: dict[str, AType]
    by_local: dict[str, list[Contribution]] = field(default_factory=dict[str, list[Contribution]])

    def mixed(self) -> dict[str, tuple[Contribution, Contribution]]:
        """Float locals that also get a typed integer: name -> (the integer assignment, a float assignment)."""
        found: dict[str, tuple[Contribution, Contribution]] = {}
        for name, contributions in self.by_local.items():
            t = self.names[name]
            if not (isinstance(t, ScalarType) and t.kind == "float"):
                continue
            integer = next((c for c in contributions if isinstance(c.type, ScalarType) and c.type.is_int), None)
            floating = next((c for c in contributions if isinstance(c.type, ScalarType) and c.type.is_float), None)
            if integer is not None and floating is not None:
                found[name] = (integer, floating)
        return found

    def integer_assignments(self) -> set[int]:
        """The ids of the assignments whose value is a typed integer."""
        every = (each for contributions in self.by_local.values() for each in contributions)
        return {id(each.assign) for each in every if isinstance(each.type, ScalarType) and each.type.is_int}


def local_types(func: IRFunc, default_float: ScalarType) -> LocalTypes:
    """The types of all names of a resolved function. Linear in its nodes, times the few rounds that joins need."""
    names: dict[str, AType] = {p.name: p.type for p in func.params if not p.is_array}
    arrays = {p.name: p.type for p in func.params if p.is_array and p.type is not None}
    arrays |= {each.name: each.type for each in func.arrays if each.type is not None}
    search = _Search(func, Typing(names, arrays, default_float))
    if search.by_local:
        search.run()
    return LocalTypes(names, search.by_local)


class _Search:
    """The state of the fixed point for one function. The components of a vector share what is found for the first: `leader`."""

    def __init__(self, func: IRFunc, typing: Typing) -> None:
        self.typing, self.names = typing, typing.names
        self.floats: set[str] = set()  # locals known to be floats
        self.by_local: dict[str, list[Contribution]] = {}
        self.users: dict[str, list[Contribution]] = {}
        locals = {local.name: local for local in func.locals}
        first: dict[str, str] = {}
        self.leader = {local.name: first.setdefault(local.group, local.name) for local in func.locals if local.group}
        self.members: dict[str, list[str]] = {}
        for name, leader in self.leader.items():
            self.members.setdefault(leader, []).append(name)
        for each in func.loop.dims:
            self.names[each.var] = i64
        for local in func.locals:
            self.names[local.name] = local.type if local.declared else None
        self.all: list[Contribution] = []  # in program order
        for block in (func.bound_prologue, func.prologue, func.loop.body, func.epilogue):
            for node in walk_statements(block):
                if isinstance(node, IRFor):
                    self.names[node.range.var] = i64
                assign = _assignment(node)
                if assign is not None:
                    local = locals.get(assign.name)
                    if local is not None and not local.declared:
                        each = Contribution(assign)
                        self.all.append(each)
                        self.by_local.setdefault(self.leader.get(assign.name, assign.name), []).append(each)
        depends: dict[str, set[str]] = {}
        for name, contributions in self.by_local.items():
            below = depends[name] = set()
            for each in contributions:
                for used in names_read(each.assign.value):
                    used = self.leader.get(used, used)
                    if used in self.by_local:
                        self.users.setdefault(used, []).append(each)
                        below.add(used)
        self.weak = _acyclic({n for n in self.by_local if locals[n].weak}, depends)
        self.joined = {n for n in self.weak if locals[n].joined}

    def run(self) -> None:
        typing, names = self.typing, self.names
        typing.loose = True
        if not self._settle():
            for name in self.by_local:
                self._set(name, WEAK_FLOAT if name in self.floats else None)
            for each in self.all:
                each.type = None
            self._settle()
        for name, contributions in self.by_local.items():
            if names[name] is WEAK_INT or (names[name] is WEAK_FLOAT and name not in self.weak):
                types = [c.type for c in contributions]
                self._set(name, None if name in self.weak else self._strict(name, types))
        typing.loose = False
        self._settle()
        unknown = [name for name in self.by_local if names[name] is None]
        if unknown:  # in code that cannot be reached, a local may have no value but one computed from itself
            for name in unknown:
                self._set(name, i32)
            self._settle()
        for name, leader in self.leader.items():
            if leader in self.by_local:
                self.by_local[name] = self.by_local[leader]

    def _set(self, name: str, t: AType) -> None:
        self.names[name] = t
        for each in self.members.get(name, ()):
            self.names[each] = t

    def _settle(self) -> bool:
        """Sweeps in program order until nothing changes. False if a local became a float after it had been read as less."""
        names, typing, users = self.names, self.typing, self.users
        for each in self.all:
            each.dirty, each.seen = True, False
        join = self._loose if typing.loose else self._strict
        sound, again = True, True
        while again:
            again = False
            for each in self.all:
                if not each.dirty:
                    continue
                each.type, each.dirty, each.seen = typing.of(each.assign.value), False, True
                name = self.leader.get(each.assign.name, each.assign.name)
                old = names[name]
                t = _wider(old, join(name, [c.type for c in self.by_local[name]]))
                if t is old or t == old:
                    continue
                self._set(name, t)
                if typing.loose and name not in self.floats and isinstance(t, ScalarType) and t.is_float:
                    self.floats.add(name)
                    sound &= not any(user.seen for user in users.get(name, ()))
                for user in users.get(name, ()):
                    user.dirty = again = True
        return sound

    def _stays_weak(self, name: str, types: list[AType]) -> bool:
        typed = any(isinstance(t, ScalarType) and (t.is_int or t.kind == "float") for t in types)
        return name in self.weak and not (typed and name in self.joined)

    def _loose(self, name: str, types: list[AType]) -> AType:
        """The join of the typed values; literals alone are not known yet, unless the local stays weak."""
        if self._stays_weak(name, types):
            return _meet(types, self.typing.default_float, loose=True)
        floats = [t for t in types if isinstance(t, ScalarType) and t.kind == "float"]
        if floats:
            return promote_all(floats)
        if WEAK_FLOAT in types or name in self.floats:
            return WEAK_FLOAT
        integers = [t for t in types if isinstance(t, ScalarType) and t.is_int]
        if integers:
            return _promoted(integers)
        if any(t is WEAK_INT or t.__class__ is Lit for t in types):
            return WEAK_INT
        return BOOL if BOOL in types else None

    def _strict(self, name: str, types: list[AType]) -> AType:
        default_float = self.typing.default_float
        if self._stays_weak(name, types):
            return _meet(types, default_float, loose=False)
        floats = [t for t in types if isinstance(t, ScalarType) and t.kind == "float"]
        if floats:
            return promote_all(floats)
        if WEAK_FLOAT in types:
            return default_float
        integers = [t for t in types if isinstance(t, ScalarType) and t.is_int]
        lits = [lit for lit in map(as_lit, types) if lit is not None]
        if not integers and all(t is BOOL or t is None for t in types):
            return BOOL if BOOL in types else None
        return _integer_join(integers, lits) if integers or lits else None


def _assignment(node: IRStmt) -> IRAssign | None:
    """The statement as an assignment that types its result as it will be: an element's old value, a reduction as a number."""
    match node:
        case IRAssign():
            return node
        case IRAtomic(result=str() as name):
            return IRAssign(name, IRLoad(node.array, node.index), node.span)
        case IRBlockReduce():
            return IRAssign(node.result, IROp("add", (node.value, IRConst(0))), node.span)
        case _:
            return None


def _integer_join(integers: list[ScalarType], lits: list[Lit]) -> ScalarType:
    """T2: typed integers and literals; u64 where no type will do, which `annotate` then rejects."""
    try:
        if not integers:
            whole = lits[0]
            for lit in lits[1:]:
                whole = hull(whole, lit)
            return literal_alone(whole)
        t = promote_all(integers)
        return promote_all([t, *(literal_alone(lit) for lit in lits if t.bits < 32 or not fits(lit, t))])
    except (Conflict, TooLarge):
        return u64


def _promoted(types: Sequence[ScalarType]) -> ScalarType:
    try:
        return promote_all(types)
    except Conflict:
        return u64


def _meet(types: list[AType], default_float: ScalarType, loose: bool) -> AType:
    try:
        return meet(types, default_float, loose)
    except (Conflict, TooLarge):
        return u64


def _wider(old: AType, new: AType) -> AType:
    """The new type, widened by the old one, so that a search can only go up."""
    if _rank(old) != _rank(new):
        return old if _rank(old) > _rank(new) else new
    if isinstance(old, ScalarType) and isinstance(new, ScalarType) and old is not new:
        return _promoted([old, new])
    return new


def _rank(t: AType) -> int:
    """Nothing known, truth, integer literals, integers, float literals, floats: in a join each gives way to those behind."""
    if not isinstance(t, ScalarType):
        return 0 if t is None else 2
    return _RANKS[t.kind]


_RANKS = {"bool": 1, "weak_int": 2, "int": 3, "uint": 3, "weak_float": 4, "float": 5}


def _acyclic(weak: set[str], depends: dict[str, set[str]]) -> set[str]:
    """The weak locals whose value does not come back to themselves: others are typed as a user's local would be."""
    result: set[str] = set()
    for name in weak:
        seen: set[str] = set()
        stack = [name]
        while stack:
            for below in depends[stack.pop()] & weak:
                if below not in seen:
                    seen.add(below)
                    stack.append(below)
        if name not in seen:
            result.add(name)
    return result
