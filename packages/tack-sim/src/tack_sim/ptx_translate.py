"""Turns a parsed module into LLVM IR text, function by function, with what a launch must know of each. Compiles nothing."""

from __future__ import annotations

from ctypes import Array, c_uint32
from dataclasses import dataclass

from tack_sim import ptx_compare, ptx_floats, ptx_flow, ptx_integers, ptx_memory  # noqa: F401 (they enter their instructions)
from tack_sim.ptx_helpers import FAULTS, text_of
from tack_sim.ptx_model import Function, Instruction, Param, PtxModule, Variable
from tack_sim.ptx_writer import LOCAL_TOP, STACK_LIMIT, Layout, Site, Writer, depot_name, shared_key

__all__ = ["KERNEL", "Range", "Translated", "Translation", "translate"]

KERNEL = "kernel"  # the name of a kernel's function in its LLVM module
_GAP = 16  # bytes between shared variables that belong to none, so that running over the end of one is seen
_RECURSION = 1 << 16  # bytes of local memory beyond one frame of each function


@dataclass(frozen=True, slots=True)
class Translated:
    """One function. `helpers`, `callees` and `shared` name what it uses; `local_bytes` is its own local memory."""

    text: str
    helpers: frozenset[str]
    callees: frozenset[str]
    shared: frozenset[str]
    local_bytes: int
    barriers: bool
    float_atomics: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a block's shared memory that belong to a variable."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Translation:
    """A module. `variables` are those in global and constant memory, in the order of the table of their addresses.

    `dynamic` is where dynamic shared memory begins, in the simulator's layout. `site_lines` has a number for each site, the same
    for sites of one source line.
    """

    module: PtxModule
    functions: dict[str, Translated]
    variables: tuple[Variable, ...]
    sites: tuple[Site, ...]
    shared: dict[str, int]
    dynamic: int
    numbers: dict[str, int]
    site_lines: Array[c_uint32]

    def reachable(self, name: str) -> list[str]:
        """A function and all it may call."""
        found, open_ = [name], [name]
        while open_:
            for callee in sorted(self.functions[open_.pop()].callees):
                if callee not in found:
                    found.append(callee)
                    open_.append(callee)
        return found

    def used(self, name: str) -> set[str]:
        """The shared variables of a kernel and all it may call."""
        return set[str]().union(*(self.functions[part].shared for part in self.reachable(name)))

    def kernel_text(self, name: str) -> str:
        """The LLVM module of one kernel, whose function is `KERNEL`."""
        parts = [self.functions[part] for part in self.reachable(name)]
        helpers = set[str]().union(*(part.helpers for part in parts))
        return "\n".join((text_of(helpers), *(part.text for part in parts))) + "\n"

    def kernel_shared(self, name: str) -> tuple[int, tuple[Range, ...]]:
        """The bytes of static shared memory of a kernel as a GPU counts them, and where its variables are here."""
        keys = self.used(name)
        size = 0
        ranges: list[Range] = []
        for key in (key for key in self.shared if key in keys):
            variable = _shared_variable(self.module, key)
            if variable.size:
                size = -(-size // variable.align) * variable.align + variable.size
                ranges.append(Range(self.shared[key], variable.size))
        return size, tuple(ranges)

    def kernel_local(self, name: str) -> int:
        """The bytes of local memory that a lane may need."""
        own, *others = (self.functions[part].local_bytes for part in self.reachable(name))
        return own + sum(others) + (_RECURSION if any(others) else 0)


def translate(module: PtxModule) -> Translation:
    """Writes all functions of a module. `PtxError` names line and instruction of what the simulator does not know."""
    shared, dynamic = _shared_layout(module)
    stored = tuple(v for v in module.variables.values() if v.space in ("global", "const"))
    numbers = {name: k for k, name in enumerate(module.functions)}
    layout = Layout(module, shared, {v.name: k for k, v in enumerate(stored)}, numbers)
    functions = {name: _function(function, layout) for name, function in module.functions.items()}
    sites = tuple(layout.sites)
    return Translation(module, functions, stored, sites, shared, dynamic, numbers, _line_numbers(sites))


def _line_numbers(sites: tuple[Site, ...]) -> Array[c_uint32]:
    """A number for the source line of each site; sites without a line have a number each."""
    known: dict[object, int] = {}
    keys = ((site.place if site.place.line else site.position) for site in sites)
    return (c_uint32 * len(sites))(*(known.setdefault(key, len(known)) for key in keys))


def _shared_layout(module: PtxModule) -> tuple[dict[str, int], int]:
    """An offset for every shared variable of the module, and for dynamic shared memory."""
    keyed = {v.name: v for v in module.variables.values() if v.space == "shared"}
    for function in module.functions.values():
        keyed |= {shared_key(function, v.name): v for v in function.variables.values() if v.space == "shared"}
    offsets: dict[str, int] = {}
    end = 0
    for key, variable in keyed.items():
        if variable.size:
            offsets[key] = -(-end // max(variable.align, 16)) * max(variable.align, 16)
            end = offsets[key] + variable.size + _GAP
    dynamic = -(-end // 1024) * 1024
    return offsets | {key: dynamic for key, variable in keyed.items() if not variable.size}, dynamic


def _shared_variable(module: PtxModule, key: str) -> Variable:
    owner, _, name = key.rpartition(":")
    return module.functions[owner].variables[name] if owner else module.variables[key]


def _function(function: Function, layout: Layout) -> Translated:
    writer = Writer(function, layout)
    local = _prologue(writer)
    writer.write()
    instructions = [item for item in function.body if isinstance(item, Instruction)]
    return Translated(
        _text(writer),
        frozenset(writer.used),
        frozenset(writer.callees),
        frozenset(writer.shared),
        local,
        any(i.name in ("bar", "barrier") for i in instructions),
        any(i.name in ("atom", "red") and i.types[:1] in (("f32",), ("f64",)) for i in instructions),
    )


def _prologue(writer: Writer) -> int:
    """Arrays for calls, and local variables; the bytes of these."""
    function, head = writer.function, writer.head
    head += (f'%"a {name}" = alloca [{max(size, 1)} x i8], align 16' for name, size in function.arrays.items())
    local = [v for v in function.variables.values() if v.space == "local"]
    if local:
        head += (f"%top.place = getelementptr i8, ptr %lane, i64 {LOCAL_TOP}", "%top = load i64, ptr %top.place")
        writer.used.add("sim_depot")
    for v in local:
        head.append(f"{depot_name(v.name)} = call i64 @sim_depot(ptr %lane, i64 {v.size}, i64 {v.align}, {writer.site()})")
    return sum(v.size + v.align + _GAP for v in local)


def _text(writer: Writer) -> str:
    """The whole function."""
    function = writer.function
    if function.entry:
        signature, tail = f"define void @{KERNEL}(ptr noalias %lane)", ["br label %start"]
    else:
        params: tuple[Param, ...] = (*function.results, *function.params)
        listed = "".join(f", ptr %p.{k}" for k in range(len(params)))
        signature = f"define internal void @func.{writer.layout.functions[function.name]}(ptr %lane{listed})"
        tail = _stack_check(writer)
    return "\n".join((signature + " {", "entry:", *writer.head, *tail, *writer.lines, "}"))


def _stack_check(writer: Writer) -> list[str]:
    """Recursion without end is a fault, not a crash."""
    writer.used.add("sim_fault")
    writer.at = writer.first
    site = writer.site()
    return [
        "%frame = call ptr @llvm.frameaddress.p0(i32 0)",
        "%frame.at = ptrtoint ptr %frame to i64",
        f"%limit.place = getelementptr i8, ptr %lane, i64 {STACK_LIMIT}",
        "%limit = load i64, ptr %limit.place",
        "%deep = icmp ult i64 %frame.at, %limit",
        "br i1 %deep, label %overflow, label %start",
        "overflow:",
        f"call void @sim_fault(ptr %lane, i32 {FAULTS.index('stack overflow')}, i64 0, {site})",
        "unreachable",
    ]
