"""Local and shared arrays, atomics and workgroup primitives as emitted C: the statements, and the helper functions of atomics.

What a language calls them is data of its `Dialect`. Knows nothing of control flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tack.codegen.c_debug import meet
from tack.codegen.c_expr import ExprWriter, bare
from tack.codegen.c_prelude import Prelude
from tack.codegen.dialect import Dialect, unsigned_word
from tack.ir.facts import atomic_targets
from tack.ir.nodes import LANES, IRAtomic, IRBlockReduce, IRFunc
from tack.ir.types import ScalarType, u32, u64

__all__ = ["MemoryWriter"]


class MemoryWriter(ExprWriter):
    """Writes what touches memory other than by plain loads and stores."""

    def __init__(self, func: IRFunc, dialect: Dialect, prelude: Prelude, *, narrow: bool = False) -> None:
        super().__init__(dialect, prelude, narrow=narrow)
        self.func = func
        self.reduced: dict[ScalarType, None] = {}  # types that have cells for block reductions
        self.relaxed = atomic_targets(func).keys()

    def array_declarations(self) -> Iterator[str]:
        """The declarations of the local and shared arrays that the text names, and of what block reductions need."""
        for array in self.func.arrays:
            if array.name not in self.names:
                continue
            assert array.type is not None
            shape = self.dialect.shared if array.shared else "{type} {name}[{size}];"
            size = prod((*array.shape, *array.element))
            yield shape.format(type=self.prelude.type(array.type), name=self.names(array.name), size=size)
        for t in self.reduced:
            yield self.dialect.shared.format(type=self.prelude.type(t), name=_scratch(t), size=LANES)

    def atomic(self, stmt: IRAtomic) -> None:
        """An atomic update of an element."""
        t = stmt.value.type
        assert t is not None
        index = self.index(stmt.index[0])
        call = f"{atomic_helper(self.prelude, self.dialect, stmt.op, t)}(&{self.names(stmt.array)}[{index}], "
        call += f"{bare(self.expr(stmt.value))})"
        self.text.line(f"{call};" if stmt.result is None else f"{self.names(stmt.result)} = {call};")

    def barrier(self) -> None:
        """All lanes of the workgroup wait for each other."""
        self.text.line(f"{self.dialect.barrier};")

    def block_reduce(self, stmt: IRBlockReduce) -> None:
        """In pairs: each lane of the lower half takes its partner in the upper half, until one is left."""
        t, line = stmt.value.type, self.text.line
        assert t is not None
        self.reduced[t] = None
        value, lane, cells = bare(self.expr(stmt.value)), f"(u32){self.dialect.lane}", _scratch(t)
        if self.together:
            meet(self)
        line(f"{cells}[{lane}] = {value};")
        self.barrier()
        half = self.temporary(u32)
        line(f"for ({half} = {LANES // 2}; {half} > 0; {half} = {half} >> 1) {{")
        with self.text.indented():
            here, there = f"{cells}[{lane}]", f"{cells}[{lane} + {half}]"
            line(f"if ({lane} < {half}) {here} = {combined(self.prelude, stmt.op, t, here, there)};")
            self.barrier()
        line("}")
        line(f"{self.names(stmt.result)} = {cells}[0];")
        self.barrier()  # nobody may start the next reduction before all have read


def _scratch(t: ScalarType) -> str:
    return f"t_block_{t.name}"


def combined(prelude: Prelude, op: str, t: ScalarType, a: str, b: str) -> str:
    """The expression for the sum, least or greatest of two values of a type."""
    if op != "add":
        return f"{prelude.helper(op, t)}({a}, {b})"
    if t.is_float:
        return f"{a} + {b}"
    word = unsigned_word(t).name
    return f"({prelude.type(t)})(({word}){a} + ({word}){b})"


def atomic_helper(prelude: Prelude, dialect: Dialect, op: str, t: ScalarType) -> str:
    """The name of the function that updates an element and returns the old value; its definition goes into the unit.

    Where the language has no such operation, or one that is not exact, it compares and swaps until nobody came between.
    """
    name, key = f"tack_atomic_{op}_{t.name}", f"{op}.{t.name}"
    native, loop = dialect.atomics.get(key), ""
    if native is not None:
        native = native.format(p="p", v="v")
    if native is None or key in dialect.flushing:
        word = u64 if t.bits == 64 else u32
        if t.bits < 32 or word.name not in dialect.compare_and_swap:
            raise RuntimeError(f"the {dialect.name} dialect has no atomics on {t}")
        loop = _loop(prelude, dialect, op, t, word)
    if native is not None and loop:
        # A sum with a value this large is the same whether or not subnormal numbers count as zero, and it is none itself.
        loop = f"if ({dialect.function('abs', t)}(v) >= {dialect.literal(2.0**-100, t)}) return {native}; {loop}"
    pointer = dialect.pointer.format(type=prelude.type(t))
    prelude.define(name, prelude.type(t), f"{pointer} p, {prelude.type(t)} v", loop or f"return {native};")
    return name


def _loop(prelude: Prelude, dialect: Dialect, op: str, t: ScalarType, word: ScalarType) -> str:
    w = word.name
    place = f"({dialect.pointer.format(type=w)})p"
    old = dialect.from_bits[t.name].format(bits="seen") if t.is_float else f"({t.name})seen"
    new = combined(prelude, op, t, "old", "v")
    bits = dialect.to_bits[t.name].format(value=f"({new})") if t.is_float else f"({w})({new})"
    swap = dialect.compare_and_swap[w].format(p=place, old="seen", new="next")
    first = dialect.relaxed.format(type=w, place=f"*({place})")
    return (
        f"{w} seen = {first}; for (;;) {{ {t.name} old = {old}; {w} next = {bits}; if (next == seen) return old; "
        f"{w} now = {swap}; if (now == seen) return old; seen = now; }}"
    )
