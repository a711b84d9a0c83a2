"""What the parser makes of PTX text: typed instructions, functions and variables. Knows nothing of LLVM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "BITS",
    "TYPES",
    "Address",
    "Call",
    "Float",
    "Function",
    "Instruction",
    "Int",
    "Label",
    "Name",
    "Not",
    "Operand",
    "Pair",
    "Param",
    "Place",
    "PtxError",
    "PtxModule",
    "Reg",
    "Sampled",
    "Signature",
    "Sink",
    "Special",
    "Variable",
    "Vector",
]

_KINDS = {"b": (8, 16, 32, 64, 128), "u": (8, 16, 32, 64), "s": (8, 16, 32, 64), "f": (32, 64)}
BITS = {f"{kind}{bits}": bits for kind, sizes in _KINDS.items() for bits in sizes} | {"pred": 1, "u16x2": 32, "s16x2": 32}
TYPES = frozenset(BITS)


class PtxError(ValueError):
    """PTX that the simulator does not know or that is malformed. The text names the line of the PTX and the instruction."""


class Place(NamedTuple):
    """Where an instruction comes from: the line it stands in, and the line of the kernel into which that was inlined."""

    file: str
    line: int
    outer_file: str
    outer_line: int


class Reg(NamedTuple):
    """A virtual register; two of one name in different scopes have different names here."""

    name: str
    type: str


class Int(NamedTuple):
    """An integer literal of any size and sign."""

    value: int


class Float(NamedTuple):
    """A float literal by its bits; `bits` is 32 or 64."""

    pattern: int
    bits: int


class Special(NamedTuple):
    """A special register, `%tid.x`."""

    name: str


class Name(NamedTuple):
    """A variable, function or parameter by its name, and an offset in bytes."""

    name: str
    offset: int = 0


class Not(NamedTuple):
    """A negated predicate."""

    reg: Reg


class Pair(NamedTuple):
    """Two predicate destinations, `p|q`."""

    first: Operand
    second: Operand


class Sink(NamedTuple):
    """A destination that nobody wants, `_`."""


class Address(NamedTuple):
    """A place in memory: a register, name or number, and an offset in bytes."""

    base: Reg | Name | Int
    offset: int


class Vector(NamedTuple):
    """Several operands in braces."""

    items: tuple[Operand, ...]


class Sampled(NamedTuple):
    """A texture and the coordinates at which it is read."""

    texture: Operand
    coordinates: Vector


Operand = Reg | Int | Float | Special | Name | Not | Pair | Sink | Address | Vector | Sampled


class Instruction(NamedTuple):
    """One instruction. `words` are its modifiers that are no types, `types` those that are, each in order."""

    opcode: str
    name: str
    words: tuple[str, ...]
    types: tuple[str, ...]
    operands: tuple[Operand, ...]
    predicate: Reg | None
    negated: bool
    registers: tuple[Reg, ...]
    place: Place
    position: int


class Label(NamedTuple):
    """A place that branches name."""

    name: str


class Call(NamedTuple):
    """A call. `target` is a function's name, or the register that holds its address; then `prototype` names the signature.

    `results` and `arguments` name byte arrays of the caller's.
    """

    results: tuple[str, ...]
    target: Name | Reg
    arguments: tuple[str, ...]
    prototype: str


class Signature(NamedTuple):
    """The sizes in bytes of the results and parameters of a function."""

    results: tuple[int, ...]
    params: tuple[int, ...]


class Param(NamedTuple):
    """A parameter: sizes and offsets are in bytes, the offset is where a launch's argument buffer holds it."""

    name: str
    offset: int
    size: int
    align: int


class Variable(NamedTuple):
    """A variable of a module or function. `space` is global, const, shared or local; `size` is 0 for an array of unknown size.

    `data`: the bytes it starts with, missing ones are zeros. `links`: (offset, name, addend) of 8-byte addresses of other
    variables or functions in it.
    """

    name: str
    space: str
    size: int
    align: int
    data: bytes
    links: tuple[tuple[int, str, int], ...] = ()


@dataclass(slots=True)
class Function:
    """A kernel (`entry`) or device function. `arrays` are the sizes of byte arrays for calls by unique name."""

    name: str
    entry: bool
    results: tuple[Param, ...]
    params: tuple[Param, ...]
    position: int
    max_threads: int = 1024
    body: list[Instruction | Label] = field(default_factory=list)
    calls: dict[int, Call] = field(default_factory=dict)  # by position of the instruction
    arrays: dict[str, int] = field(default_factory=dict)
    prototypes: dict[str, Signature] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)

    @property
    def signature(self) -> Signature:
        return Signature(tuple(p.size for p in self.results), tuple(p.size for p in self.params))


@dataclass(slots=True)
class PtxModule:
    """A parsed module. `text` is what positions count in; `declared` are functions without a body."""

    text: str
    functions: dict[str, Function] = field(default_factory=dict)
    declared: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)

    def error(self, position: int, message: str) -> PtxError:
        """An error at a position of the text, with its line number and the instruction that stands there."""
        start = position + len(self.text[position:]) - len(self.text[position:].lstrip())
        end = min(k for k in (self.text.find(";", start), self.text.find("\n", start), len(self.text)) if k >= 0)
        shown = " ".join(self.text[start : end + 1].split())[:200]
        return PtxError(f"PTX line {self.text.count(chr(10), 0, start) + 1}: {message}: {shown}")
