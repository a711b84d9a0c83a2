"""LLVM IR as text: types, constants, and one function being written line by line. Knows no node of Tack's IR.

Text is written with f-strings; nothing here loads LLVM. The syntax is what LLVM 20 to 22 read.
"""

from __future__ import annotations

import struct

from tack.ir.types import BOOL, INTS, ScalarType, f32, f64

__all__ = ["LLVM_TYPES", "FunctionText", "ModuleText", "constant", "rounded"]

LLVM_TYPES: dict[ScalarType, str] = {t: f"i{t.bits}" for t in INTS} | {f32: "float", f64: "double", BOOL: "i1"}


def rounded(value: float, type: ScalarType) -> float:
    """The number that `value` is in floating type `type`: to the nearest, beyond f32's range infinity."""
    if type is not f32:
        return float(value)
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def constant(value: float, type: ScalarType) -> str:
    """The spelling of a constant of `type`; a float is rounded once."""
    if type is BOOL:
        return "true" if value else "false"
    if type.is_int:
        return str(int(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded(value, type)))[0]:016X}"


class ModuleText:
    """A module: functions, and once each the declarations and helpers that they call."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._helpers: dict[str, str] = {}
        self._loops = 0

    def declare(self, name: str, text: str) -> None:
        """Adds the declaration or the internal function `name`, unless it is there."""
        if name not in self._helpers:
            self._helpers[name] = text

    def has(self, name: str) -> bool:
        """Whether `declare` was called for `name`."""
        return name in self._helpers

    def loop(self) -> str:
        """What to append to the branch that closes a loop: no unrolling for counts that are not known, no interleaving.

        Copies of a short loop with a remainder loop cost more mispredicted branches than they save (sparse rows). Processors
        overlap independent iterations by themselves: interleaved vectors made stencils slower to compile and no faster to run.
        """
        self._loops += 1
        return f", !llvm.loop !{self._loops}"

    def text(self) -> str:
        """The whole module. Attribute group 0 is the C library's: pure, and not folded by what LLVM knows of the name."""
        parts = [*self._helpers.values(), *self.functions, "attributes #0 = { nobuiltin nounwind willreturn memory(none) }"]
        if self._loops:
            last = self._loops + 1
            parts.append('!0 = !{!"llvm.loop.unroll.runtime.disable"}')
            parts += [f"!{k} = distinct !{{!{k}, !0, !{last}}}" for k in range(1, last)]
            parts.append(f'!{last} = !{{!"llvm.loop.interleave.count", i32 1}}')
        return "\n".join(parts) + "\n"


class FunctionText:
    """A function being written. Values are numbered in the order of their lines, as LLVM demands; labels are made fresh."""

    __slots__ = ("_count", "_labels", "block", "lines", "module")

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.lines: list[str] = ["entry:"]
        self.block = "entry"
        self._count = -1
        self._labels = 0

    def op(self, text: str) -> str:
        """Adds an instruction with a result, and returns the result's name."""
        self._count += 1
        self.lines.append(f"  %{self._count} = {text}")
        return f"%{self._count}"

    def do(self, text: str) -> None:
        """Adds an instruction without a result, or one that names its own."""
        self.lines.append(f"  {text}")

    def fresh(self) -> int:
        """A number for the labels and named values of one construct."""
        self._labels += 1
        return self._labels

    def label(self, name: str) -> None:
        """Starts the block `name`."""
        self.lines.append(f"{name}:")
        self.block = name

    def goto(self, name: str) -> None:
        """Ends the block with a jump."""
        self.lines.append(f"  br label %{name}")

    def branch(self, test: str, then: str, orelse: str, *, closes: bool = False) -> None:
        """Ends the block with a jump that depends on an i1. `closes`: it closes a counted loop."""
        self.lines.append(f"  br i1 {test}, label %{then}, label %{orelse}{self.module.loop() if closes else ''}")

    def intrinsic(self, name: str, type: str, *args: str, suffix: str = "") -> str:
        """Calls `llvm.name` overloaded on `type`, all of whose operands and result have that type, and declares it."""
        full = f"@llvm.{name}.{'f32' if type == 'float' else 'f64' if type == 'double' else type}"
        if not self.module.has(full):
            extra = ", i1" if suffix else ""
            self.module.declare(full, f"declare {type} {full}({', '.join([type] * len(args))}{extra})")
        return self.op(f"call {type} {full}({', '.join(f'{type} {a}' for a in args)}{suffix})")

    def text(self, head: str) -> str:
        """The finished function; `head` is everything before the brace."""
        return "\n".join([f"{head} {{", *self.lines, "}\n"])
