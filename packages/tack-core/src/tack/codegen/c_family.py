"""The one emitter of C-like kernels: a typed kernel becomes a GPU entry function in which each lane runs one iteration.

What differs between CUDA, HIP, Metal and OpenCL is data of the `Dialect`; no branch here asks for one. Control flow is
structured (no `goto`: Metal has none). Knows no vendor, no device and no host code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tack.codegen.c_debug import begin_group, group_declaration, mark_stored, meet, stop_after_failure
from tack.codegen.c_expr import bare
from tack.codegen.c_memory import MemoryWriter
from tack.codegen.c_output import print_line
from tack.codegen.c_prelude import Prelude
from tack.codegen.dialect import Dialect
from tack.ir.bounds import result_prologue
from tack.ir.facts import has_collectives, written_array_flags
from tack.ir.nodes import (
    AFTER,
    BEFORE,
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRBreak,
    IRConst,
    IRContinue,
    IRDeclare,
    IREval,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRPrint,
    IRRange,
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.types import BOOL, i64, u64
from tack.ir.walk import assigned_names

__all__ = ["Hidden", "emit_kernel", "emit_unit", "hidden_parameters"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A parameter that follows the kernel's own: an i64 that the launch computes from the bounds of the parallel loop.

    `count`: the number of iterations in all; `start` and `step` of dimension `dim`; `size`: its number of iterations.
    """

    kind: Literal["count", "start", "step", "size"]
    dim: int = 0

    @property
    def name(self) -> str:
        """Its name in emitted text."""
        return "t_count" if self.kind == "count" else f"t_{self.kind}_{self.dim}"


def hidden_parameters(func: IRFunc) -> tuple[Hidden, ...]:
    """The hidden parameters of a kernel, in order: the count, then what of each dimension's bounds is no literal."""
    found = [Hidden("count")]
    for k, dim in enumerate(func.loop.dims):
        if not isinstance(dim.start, IRConst):
            found.append(Hidden("start", k))
        if not isinstance(dim.step, IRConst):
            found.append(Hidden("step", k))
        if k and _literal_size(dim) is None:
            found.append(Hidden("size", k))
    return tuple(found)


def emit_kernel(func: IRFunc, dialect: Dialect, entry: str) -> str:
    """A translation unit with one kernel; `func` is at stage "typed", `entry` a C identifier."""
    return emit_unit([(func, entry)], dialect)


def emit_unit(kernels: Sequence[tuple[IRFunc, str]], dialect: Dialect) -> str:
    """A translation unit with several kernels, each with its own entry name; helper functions are shared.

    A kernel with a result has a second entry, `<entry>_result`, for one lane after the launch: see `_KernelWriter.result`.
    """
    prelude = Prelude(dialect)
    texts: list[str] = []
    for func, entry in kernels:
        texts.append(_KernelWriter(func, dialect, prelude).kernel(entry))
        if func.result is not None:
            texts.append(_KernelWriter(func, dialect, prelude).result(func.result, f"{entry}_result"))
    return "\n\n".join([prelude.text(), *texts]) + "\n"


def _literal_size(dim: IRRange) -> int | None:
    if isinstance(dim.start, IRConst) and isinstance(dim.end, IRConst) and isinstance(dim.step, IRConst):
        over = range(int(dim.start.value), int(dim.end.value), int(dim.step.value) or 1)
        return max(0, -(-(over.stop - over.start) // over.step))  # `len` cannot count past sys.maxsize
    return None


@dataclass(slots=True, eq=False)
class _Target:
    """A loop or region being written. `flag`: set when a jump to its end starts in a loop inside it.

    `through`: the flags of outer regions to which jumps pass through this one.
    """

    label: str | None = None  # None: a loop
    flag: str = ""
    through: list[_Target] = field(default_factory=list["_Target"])


class _KernelWriter(MemoryWriter):
    """Writes one kernel."""

    def __init__(self, func: IRFunc, dialect: Dialect, prelude: Prelude) -> None:
        super().__init__(func, dialect, prelude)
        self.types = {local.name: local.type for local in func.locals}
        self.targets: list[_Target] = []

    # ----------------------------------------------------------------------------------------- entry and iteration

    def kernel(self, entry: str) -> str:
        """The whole function."""
        loop = self.func.loop
        self.together = bool(self.func.sites) and has_collectives(self.func)
        with self.text.indented(), self.text.captured() as body:
            if self.together:
                begin_group(self)
            self._position()
            self.iteration = self.dialect.literal(BEFORE, i64)
            self.block(self.func.prologue)
            self.iteration = "(i64)t_lane"
            self.block(loop.body)
        text = self.text
        text.line(f"{self.dialect.kernel.format(entry=entry)}({', '.join(self._parameters())})")
        text.line("{")
        with text.indented():
            text.line(f"const u64 t_lane = {self.dialect.linear_index};")
            text.line("if (t_lane >= (u64)t_count) return;")
            if self.together:
                text.line(group_declaration(self))
            for declaration in (*self.array_declarations(), *self._declarations()):
                text.line(declaration)
        text.lines += body
        text.line("}")
        return "\n".join(text.lines)

    def result(self, value: IRExpr, entry: str) -> str:
        """The function that writes the kernel's result to its last parameter (K6); it takes the kernel's own ones before.

        It evaluates the prologue's part again: who launches it must have seen that the kernel stores to no array read there.
        """
        assert value.type is not None
        t, text = self.prelude.type(value.type), self.text
        with text.indented(), text.captured() as body:
            if self.func.sites:
                stop_after_failure(self)
            self.iteration = self.dialect.literal(BEFORE, i64)
            self.block(result_prologue(self.func))
            self.iteration = self.dialect.literal(AFTER, i64)
            self.block(self.func.epilogue)
            text.line(f"t_result[0] = {bare(self.expr(value))};")
        parameters = self._own_parameters()
        parameters.append(self.dialect.array.format(const="", restrict="", type=t, name="t_result", slot=len(parameters)))
        parameters += self.dialect.extra_params
        text.line(f"{self.dialect.kernel.format(entry=entry)}({', '.join(parameters)})")
        text.line("{")
        with text.indented():
            text.line(f"if ({self.dialect.linear_index} != 0) return;")
            for declaration in (*self.array_declarations(), *self._declarations()):
                text.line(declaration)
        text.lines += body
        text.line("}")
        return "\n".join(text.lines)

    def _own_parameters(self) -> list[str]:
        parameters: list[str] = []
        for slot, (param, written) in enumerate(zip(self.func.params, written_array_flags(self.func), strict=True)):
            assert param.type is not None
            if param.texture is not None:
                parameters.append(self.dialect.texture.format(name=self.names(param.name), slot=slot))
                continue
            shape = self.dialect.array if param.is_array else self.dialect.scalar
            parameters.append(
                shape.format(
                    const="" if written else self.dialect.const,
                    restrict=self.dialect.restrict if self.func.disjoint_arrays and param.name not in self.relaxed else "",
                    type=self.prelude.type(param.type),
                    name=self.names(param.name),
                    slot=slot,
                )
            )
        return parameters

    def _parameters(self) -> list[str]:
        parameters = self._own_parameters()
        for slot, hidden in enumerate(hidden_parameters(self.func), len(parameters)):
            parameters.append(self.dialect.scalar.format(type="i64", name=hidden.name, slot=slot))
        return [*parameters, *self.dialect.extra_params]

    def _declarations(self) -> Iterable[str]:
        """Locals and temporaries, a line for each type."""
        by_type: dict[str, list[str]] = {}
        for name, t in self.types.items():
            if t is None:
                raise AssertionError(f"local '{name}' has no type")
            by_type.setdefault(self.prelude.type(t), []).append(self.names(name))
        for name, t in self.temporaries.items():
            by_type.setdefault(self.prelude.type(t), []).append(name)
        return (f"{t} {', '.join(names)};" for t, names in by_type.items())

    def _position(self) -> None:
        """Gives the loop variables their values: the lane's position in the row-ordered space of the loop."""
        dims = self.func.loop.dims
        rest = "t_lane"
        if len(dims) > 1:
            rest = self.temporary(u64)
            self.text.line(f"{rest} = t_lane;")
        for k, dim in reversed(tuple(enumerate(dims))):
            if k == 0:
                self._variable(dim, k, rest)
                return
            size = _literal_size(dim)  # an empty loop has no lanes, so that 1 will do for 0
            by = f"(u64){Hidden('size', k).name}" if size is None else self.dialect.literal(max(size, 1), u64)
            self._variable(dim, k, f"({rest} % {by})")
            self.text.line(f"{rest} = {rest} / {by};")

    def _variable(self, dim: IRRange, k: int, trip: str) -> None:
        """Gives a loop variable its value in iteration `trip`, a u64, of its dimension."""
        start, step = _value(dim.start), _value(dim.step)
        if step != 1:
            trip = f"{trip} * {self._word(step, Hidden('step', k))}"
        if start != 0:
            trip = f"{self._word(start, Hidden('start', k))} + {trip}"
        self.text.line(f"i64 {self.names(dim.var)} = (i64){trip if start == 0 and step == 1 else f'({trip})'};")

    def _word(self, value: int | None, hidden: Hidden) -> str:
        return f"(u64){hidden.name}" if value is None else self.dialect.literal(value % (1 << 64), u64)

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, block: Block) -> None:
        """Statements in order."""
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: IRStmt) -> None:
        """One statement."""
        line = self.text.line
        match stmt:
            case IRAssign():
                line(f"{self.names(stmt.name)} = {bare(self.expr(stmt.value))};")
            case IRStore():
                value, index = bare(self.expr(stmt.value)), bare(self.expr(stmt.index[0]))
                assert stmt.value.type is not None
                mark_stored(self, stmt.index[0], index)
                line(f"{self.element(stmt.array, index, stmt.value.type)} = {value};")
            case IRAtomic():
                self.atomic(stmt)
            case IRDeclare():
                pass
            case IRBarrier() if self.together:
                meet(self)
            case IRBarrier():
                self.barrier()
            case IRBlockReduce():
                self.block_reduce(stmt)
            case IRPrint():
                print_line(self, stmt)
            case IREval():
                line(f"(void){self.expr(stmt.value)};")
            case IRIf():
                self._if(stmt)
            case IRFor():
                self._for(stmt)
            case IRWhile():
                self._while(stmt)
            case IRRegion():
                self._region(stmt)
            case IRLeave():
                self._leave(stmt.label)
            case IRBreak() | IRContinue():
                self._loop_jump(stmt)

    def _if(self, stmt: IRIf) -> None:
        self.text.line(f"if ({bare(self.expr(stmt.test))}) {{")
        with self.text.indented():
            self.block(stmt.then)
        if stmt.orelse:
            self.text.line("} else {")
            with self.text.indented():
                self.block(stmt.orelse)
        self.text.line("}")

    def _while(self, stmt: IRWhile) -> None:
        target = _Target()
        with self.text.captured() as before:
            self._inside(target, stmt.pre)
            with self.text.indented():
                test = self.expr(stmt.test)
        if before:
            self.text.line("for (;;) {")
            self.text.lines += before
            with self.text.indented():
                self.text.line(f"if (!{test}) break;")
        else:
            self.text.line(f"while ({bare(test)}) {{")
        self._close(self._inside(target, stmt.body), "}")

    def _for(self, stmt: IRFor) -> None:
        """A range evaluated once; the counter cannot overflow, whatever the bounds are."""
        over = stmt.range
        name = self.names(over.var)
        start = bare(self.expr(over.start))
        if _counts_by_itself(stmt):
            end = self._once(over.end)
            step = _value(over.step) or 0
            by = "++" if step == 1 else "--" if step == -1 else f" += {self.dialect.literal(step, i64)}"
            self.text.line(f"for (i64 {name} = {start}; {name} {'<' if step > 0 else '>'} {end}; {name}{by}) {{")
        else:
            first = self.temporary(i64)
            self.text.line(f"{first} = {start};")
            end, step_text = self._once(over.end), self._once(over.step)
            trips = self.temporary(u64)
            trip = f"{trips}_trip"
            self.text.line(f"{trips} = {self.prelude.helper('trips', i64)}({first}, {end}, {step_text});")
            self.text.line(f"for (u64 {trip} = 0; {trip} < {trips}; ++{trip}) {{")
            with self.text.indented():
                self.text.line(f"i64 {name} = (i64)((u64){first} + {trip} * (u64){step_text});")
        self._close(self._inside(_Target(), stmt.body), "}")

    def _once(self, bound: IRExpr) -> str:
        """A bound of a loop as a literal or as a variable that nothing else changes."""
        text = self.expr(bound)
        if isinstance(bound, IRConst):
            return text
        kept = self.temporary(i64)
        self.text.line(f"{kept} = {bare(text)};")
        return kept

    # ------------------------------------------------------------------------------------------------------- jumps

    def _region(self, stmt: IRRegion) -> None:
        target = _Target(label=stmt.label)
        with self.text.captured() as body:
            self._inside(target, stmt.body)
        if target.flag:
            self.text.line(f"{target.flag} = false;")
        self.text.line("do {")
        self.text.lines += body
        self._close(target, "} while (0);")

    def _inside(self, target: _Target, body: Block) -> _Target:
        self.targets.append(target)
        with self.text.indented():
            self.block(body)
        self.targets.pop()
        return target

    def _close(self, done: _Target, text: str) -> None:
        """Ends a loop or region, and hands on the jumps that came out of it."""
        self.text.line(text)
        for outer in done.through:
            self.text.line(f"if ({outer.flag}) break;")
            self._pass(outer)

    def _leave(self, label: str) -> None:
        target = next(t for t in reversed(self.targets) if t.label == label)
        if target is not self.targets[-1]:
            target.flag = target.flag or self.temporary(BOOL)
            self.text.line(f"{target.flag} = true;")
            self._pass(target)
        self.text.line("break;")

    def _pass(self, target: _Target) -> None:
        """Notes that a jump to the end of `target` leaves the innermost loop or region, unless that is the target itself."""
        inner = self.targets[-1]
        if inner is not target and target not in inner.through:
            inner.through.append(target)

    def _loop_jump(self, stmt: IRBreak | IRContinue) -> None:
        if isinstance(stmt, IRContinue) and all(target.label is not None for target in self.targets):
            self.text.line("return;")  # the end of the parallel iteration
            return
        if self.targets[-1].label is not None:
            raise AssertionError("a break or continue crosses the border of an inlined function")
        self.text.line("break;" if isinstance(stmt, IRBreak) else "continue;")


def _value(bound: IRExpr) -> int | None:
    return int(bound.value) if isinstance(bound, IRConst) else None


def _counts_by_itself(stmt: IRFor) -> bool:
    """Whether the loop variable can be C's own counter: the body leaves it alone and one step past the end does not overflow."""
    end, step = _value(stmt.range.end), _value(stmt.range.step)
    if stmt.range.var in assigned_names(stmt.body):
        return False
    if step in (1, -1):
        return True
    return bool(step) and end is not None and i64.min <= end + (step or 0) <= i64.max
