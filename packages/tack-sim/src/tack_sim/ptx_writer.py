"""Writes one PTX function as LLVM IR text: registers, values by type, blocks, and the table that says which function writes
which instruction. Knows nothing of what single instructions do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tack_sim.ptx_model import (
    BITS,
    Float,
    Function,
    Instruction,
    Int,
    Label,
    Name,
    Operand,
    Place,
    PtxError,
    PtxModule,
    Reg,
    Sink,
    Special,
    Variable,
)

__all__ = [
    "CARRY",
    "FUNCTIONS",
    "LOCAL_TOP",
    "PARAMS",
    "SHARED_WINDOW",
    "STACK_LIMIT",
    "Layout",
    "Site",
    "Writer",
    "block_name",
    "depot_name",
    "instruction",
    "llvm",
    "shared_key",
]

# Generic addresses of shared memory and the addresses of functions: no memory of a process lies at either.
SHARED_WINDOW = 0x7E00_0000_0000_0000
FUNCTIONS = 0x7F00_0000_0000_0000

# Offsets in struct Lane of lanes.cpp.
_TRIPLES = ("tid", "ntid", "ctaid", "nctaid")
_SPECIALS = {f"%{name}.{axis}": 12 * k + 4 * n for k, name in enumerate(_TRIPLES) for n, axis in enumerate("xyz")}
_SPECIALS |= {"%dynamic_smem_size": 52, "%total_smem_size": 136}
_LANE_NUMBER, PARAMS, LOCAL_TOP, _VARIABLES, STACK_LIMIT = 48, 56, 96, 112, 120


def llvm(type_name: str) -> str:
    """The LLVM type of a PTX type."""
    return _LLVM[type_name]


_LLVM = {name: f"i{bits}" for name, bits in BITS.items()} | {"f32": "float", "f64": "double"}
_FLOAT_BITS = {"float": 32, "double": 64}
CARRY = Reg("CC.CF", "pred")


class Site(NamedTuple):
    """An instruction that may fault."""

    place: Place
    position: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What the functions of a module share: places of its variables, numbers of its functions, and the faulting sites so far.

    `shared`: offsets in the block's memory. `variables`: rows of the table of addresses that a launch brings.
    """

    module: PtxModule
    shared: dict[str, int]
    variables: dict[str, int]
    functions: dict[str, int]
    sites: list[Site] = field(default_factory=list[Site])


class _Row(NamedTuple):
    write: Callable[[Writer, Instruction], None]
    words: frozenset[str]
    types: frozenset[str]
    counts: frozenset[int]


_ROWS: dict[str, _Row] = {}
_known: dict[str, _Row] = {}


def instruction(
    *names: str, words: str = "", types: str = "", operands: Iterable[int] = ()
) -> Callable[[Callable[[Writer, Instruction], None]], Callable[[Writer, Instruction], None]]:
    """Enters a function into the table as what writes the instructions `names`, with exactly these modifiers, types and
    numbers of operands; any other raises `PtxError`."""

    def enter(write: Callable[[Writer, Instruction], None]) -> Callable[[Writer, Instruction], None]:
        row = _Row(write, frozenset(words.split()), frozenset(types.split()), frozenset(operands))
        for name in names:
            _ROWS[name] = row
        return write

    return enter


def _row(i: Instruction) -> _Row | None:
    row = _known.get(i.opcode)
    if row is None:
        row = _ROWS.get(i.name)
        if row is None or not row.words.issuperset(i.words) or not row.types.issuperset(i.types):
            return None
        if len(set(i.words)) != len(i.words):
            return None
        _known[i.opcode] = row
    return row


class Writer:
    """The text of one function while it is written. Values are LLVM operands, as text, of the LLVM type asked for."""

    def __init__(self, function: Function, layout: Layout) -> None:
        self.function = function
        self.layout = layout
        self.head: list[str] = []  # the entry block
        self.lines: list[str] = []
        self.used: set[str] = set()  # helpers
        self.callees: set[str] = set()
        self.shared: set[str] = set()  # keys of the shared variables in use
        place = next((item.place for item in function.body if isinstance(item, Instruction)), Place("", 0, "", 0))
        self.first = self.at = Instruction("", "", (), (), (), None, False, (), place, function.position)  # the function as such
        self._count = 0
        self._now: dict[str, dict[str, str]] = {}  # register -> LLVM type -> value, in the block being written
        self._raw: set[str] = set()  # f32 values whose NaNs may have any bits
        self._homes: dict[str, str] = {}  # register -> its place in memory, for those that live in several blocks
        self._shared_regs = self._crossing()
        self.open = True
        self._special: dict[str, str] = {}

    # ---- text

    def fresh(self) -> str:
        """A name that is free, without its sigil."""
        self._count += 1
        return f"n{self._count}"

    def line(self, text: str) -> None:
        """Adds a line as it stands."""
        self.lines.append(text)

    def op(self, text: str) -> str:
        """Adds `%name = text`; the name."""
        self._count += 1
        name = f"%n{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def call(self, result: str, name: str, *args: str) -> str:
        """Calls a helper or a function of the C++ side, which the text then declares or defines; the result's name."""
        self.used.add(name)
        text = f"call {result} @{name}({', '.join(args)})"
        if result == "void":
            self.lines.append(text)
            return ""
        return self.op(text)

    def label(self, name: str) -> None:
        """Begins a block, into which the block before runs on."""
        if self.open:
            self.lines.append(f"br label %{name}")
        self.begin(name)

    def begin(self, name: str) -> None:
        """Begins a block after a terminator."""
        self.lines.append(f"{name}:")
        self.open = True

    def end(self, terminator: str) -> None:
        """Ends the block; what follows until the next label is never reached."""
        self.lines.append(terminator)
        self.open = False

    # ---- errors and sites

    def error(self, message: str) -> PtxError:
        """The error of the instruction being written."""
        return self.layout.module.error(self.at.position, message)

    def site(self) -> str:
        """The number of the instruction being written, as an `i32` argument."""
        sites = self.layout.sites
        if not sites or sites[-1].position != self.at.position:
            sites.append(Site(self.at.place, self.at.position))
        return f"i32 {len(sites) - 1}"

    # ---- values

    def get(self, operand: Operand, type_name: str) -> str:
        """The value of an operand as a PTX type. Registers wider than the type give their low bits."""
        want = _LLVM[type_name]
        if isinstance(operand, Reg):
            return self._register(operand, want, BITS[type_name])
        if isinstance(operand, Int):
            return self._constant(operand.value, type_name)
        if isinstance(operand, Float):
            if operand.bits != BITS[type_name]:
                raise self.error(f"a literal of {operand.bits} bits as .{type_name}")
            if want in _FLOAT_BITS:
                return f"bitcast (i{operand.bits} {operand.pattern} to {want})"
            return str(operand.pattern)
        if isinstance(operand, Special):
            return self._fit(self.special(operand.name), 32, want, type_name)
        if isinstance(operand, Name):
            return self._fit(self.address_of(operand), 64, want, type_name)
        raise self.error(f"no value: {operand}")

    def _constant(self, value: int, type_name: str) -> str:
        want, bits = _LLVM[type_name], BITS[type_name]
        if want in _FLOAT_BITS:
            return f"bitcast (i{bits} {value % (1 << bits)} to {want})"
        if bits == 1:
            return "true" if value else "false"
        value %= 1 << bits
        return str(value - (1 << bits) if value >> (bits - 1) else value)

    def _fit(self, value: str, bits: int, want: str, type_name: str) -> str:
        wanted = BITS[type_name]
        if want in _FLOAT_BITS or wanted not in (bits, 32, 64):
            raise self.error(f"an address or special register as .{type_name}")
        if wanted == bits:
            return value
        return self.op(f"{'trunc' if wanted < bits else 'zext'} i{bits} {value} to {want}")

    def _register(self, reg: Reg, want: str, bits: int) -> str:
        forms = self._now.get(reg.name)
        if forms is not None and want in forms:
            return forms[want]
        width = BITS[reg.type]
        if bits > width or ((want in _FLOAT_BITS or bits == 1 or width == 1) and bits != width):
            raise self.error(f"register {reg.name} of {width} bits where {bits} are needed")
        whole = self.bits(reg)
        if bits < width:
            value = self.op(f"trunc i{width} {whole} to {want}")
        elif want in _FLOAT_BITS:
            value = self.op(f"bitcast i{width} {whole} to {want}")
        else:
            return whole
        self._now[reg.name][want] = value
        return value

    def bits(self, reg: Reg) -> str:
        """The whole register as an integer."""
        width = BITS[reg.type]
        name = f"i{width}"
        forms = self._now.get(reg.name)
        if forms is None:
            forms = self._now[reg.name] = {name: self.op(f"load {name}, ptr {self._home(reg)}")}
        if name not in forms:
            kind = "float" if width == 32 else "double"
            value = forms[kind]
            if value in self._raw:
                value = self.canonical(value)
            forms[name] = self.op(f"bitcast {kind} {value} to {name}")
        return forms[name]

    def canonical(self, value: str) -> str:
        """An f32 result with the bits that the hardware gives every NaN of single precision, 0x7FFFFFFF."""
        bad = self.op(f"fcmp uno float {value}, {value}")
        return self.op(f"select i1 {bad}, float bitcast (i32 2147483647 to float), float {value}")

    def set(self, dest: Operand, type_name: str, value: str, *, raw: bool = False) -> None:
        """Gives a register a value of a PTX type; a wider register gets it extended by the type's sign.

        `raw`: the value is the result of f32 arithmetic, whose NaNs are not the hardware's yet.
        """
        if isinstance(dest, Sink):
            return
        if not isinstance(dest, Reg):
            raise self.error("destination is no register")
        kind, bits, width = _LLVM[type_name], BITS[type_name], BITS[dest.type]
        if bits > width or (bits < width and (kind in _FLOAT_BITS or bits == 1)) or (width == 1) != (bits == 1):
            raise self.error(f"register {dest.name} of {width} bits for a result of {bits}")
        if bits < width:
            value = self.op(f"{'sext' if type_name[0] == 's' else 'zext'} {kind} {value} to i{width}")
            kind = f"i{width}"
        self._now[dest.name] = {kind: value}
        if raw and kind == "float":
            self._raw.add(value)
        if dest.name in self._shared_regs:
            self.line(f"store i{width} {self.bits(dest)}, ptr {self._home(dest)}")

    def _home(self, reg: Reg) -> str:
        """Where a register lives that several blocks use. Registers are 0 before their first value."""
        home = self._homes.get(reg.name)
        if home is None:
            self._shared_regs.add(reg.name)
            home = self._homes[reg.name] = f"%h{len(self._homes)}"
            kind = f"i{BITS[reg.type]}"
            self.head += (f"{home} = alloca {kind}", f"store {kind} {'false' if kind == 'i1' else '0'}, ptr {home}")
        return home

    def _crossing(self) -> set[str]:
        """Registers that are used behind several labels, or by instructions that may be skipped."""
        first: dict[str, int] = {}
        crossing: set[str] = set()
        part = 0
        for item in self.function.body:
            if isinstance(item, Label):
                part += 1
                continue
            for reg in item.registers:
                if first.setdefault(reg.name, part) != part or (item.predicate is not None and item.name != "bra"):
                    crossing.add(reg.name)
            if item.predicate is not None and "cc" in item.words:
                crossing.add(CARRY.name)
        return crossing

    # ---- addresses and special registers

    def lane_word(self, offset: int, kind: str = "i32", *, fixed: bool = True) -> str:
        """A field of struct Lane; `fixed` ones are read once for each function."""
        key = f"{kind} {offset}"
        if fixed and key in self._special:
            return self._special[key]
        place, value = f"%l{len(self.head)}", f"%v{len(self.head)}"
        text = (f"{place} = getelementptr i8, ptr %lane, i64 {offset}", f"{value} = load {kind}, ptr {place}")
        if fixed:
            self.head += text
            self._special[key] = value
            return value
        place = self.op(f"getelementptr i8, ptr %lane, i64 {offset}")
        return self.op(f"load {kind}, ptr {place}")

    def special(self, name: str) -> str:
        """The value of a special register, an i32."""
        offset = _SPECIALS.get(name)
        if offset is not None:
            return self.lane_word(offset)
        number = self.lane_word(_LANE_NUMBER)
        if name == "%laneid":
            return self.op(f"and i32 {number}, 31")
        if name == "%warpid":
            return self.op(f"lshr i32 {number}, 5")
        if name == "%nwarpid":
            x, y, z = (self.lane_word(_SPECIALS[f"%ntid.{axis}"]) for axis in "xyz")
            lanes = self.op(f"mul i32 {self.op(f'mul i32 {x}, {y}')}, {z}")
            return self.op(f"lshr i32 {self.op(f'add i32 {lanes}, 31')}, 5")
        raise self.error(f"special register {name} is not known to the simulator")

    def variable(self, name: str) -> Variable | None:
        """The variable of this name, the function's own before the module's."""
        return self.function.variables.get(name) or self.layout.module.variables.get(name)

    def address_of(self, name: Name) -> str:
        """The address of a variable, function or parameter in its own space, an i64."""
        variable = self.variable(name.name)
        if variable is None:
            if name.name in self.layout.functions and not name.offset:
                return str(FUNCTIONS + 16 * self.layout.functions[name.name])
            for param in self.function.params if self.function.entry else ():
                if param.name == name.name:
                    return self.op(f"add i64 {self.lane_word(PARAMS, 'i64')}, {param.offset + name.offset}")
            raise self.error(f"{name.name} is not known to the simulator")
        if variable.space == "shared":
            key = self.shared_key(name.name)
            self.shared.add(key)
            return str(self.layout.shared[key] + name.offset)
        if variable.space == "local":
            return self.op(f"add i64 {depot_name(name.name)}, {name.offset}")
        table = self.lane_word(_VARIABLES, "ptr")
        place = self.op(f"getelementptr i64, ptr {table}, i64 {self.layout.variables[name.name]}")
        base = self.op(f"load i64, ptr {place}")
        return self.op(f"add i64 {base}, {name.offset}") if name.offset else base

    def shared_key(self, name: str) -> str:
        """Shared variables of functions are told apart by the function."""
        return shared_key(self.function, name)

    # ---- writing

    def write(self) -> None:
        """Writes all instructions."""
        self.begin("start")
        for item in self.function.body:
            if isinstance(item, Label):
                self._now.clear()
                self.label(block_name(item.name))
                continue
            self.at = item
            row = _row(item)
            if row is None:
                raise self.error("instruction is not known to the simulator")
            if row.counts and len(item.operands) not in row.counts:
                raise self.error("wrong number of operands")
            if not self.open:
                self.begin(self.fresh())
            if item.predicate is None or item.name == "bra":
                row.write(self, item)
            else:
                self._guarded(item, row)
        if self.open:
            self.leave()

    def leave(self) -> None:
        """Returns from the function, which gives its local memory back."""
        if any(v.space == "local" for v in self.function.variables.values()):
            self.line("store i64 %top, ptr %top.place")
        self.end("ret void")

    def condition(self, i: Instruction) -> str:
        """The predicate of a guarded instruction, an i1."""
        assert i.predicate is not None
        value = self.get(i.predicate, "pred")
        return self.op(f"xor i1 {value}, true") if i.negated else value

    def _guarded(self, i: Instruction, row: _Row) -> None:
        do, skip = self.fresh(), self.fresh()
        self.line(f"br i1 {self.condition(i)}, label %{do}, label %{skip}")
        self.begin(do)
        before = {name: dict(forms) for name, forms in self._now.items()}
        row.write(self, i)
        self.label(skip)
        written = {CARRY.name, *(reg.name for reg in i.registers)}
        self._now = {name: forms for name, forms in before.items() if name not in written}


def block_name(label: str) -> str:
    """The LLVM block of a PTX label."""
    return '"L ' + label + '"'


def depot_name(variable: str) -> str:
    """The LLVM value that is the address of a local variable."""
    return f'%"v {variable}"'


def shared_key(function: Function, name: str) -> str:
    """The name of a shared variable among all of the module's."""
    return f"{function.name}:{name}" if name in function.variables else name
