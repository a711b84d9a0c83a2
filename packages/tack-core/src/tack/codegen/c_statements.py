"""Statements of the typed IR as structured C: loops, regions with early exits, and what moves data. No `goto`: Metal has none.

Knows neither dialects by name nor how a kernel is entered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tack.codegen.c_debug import mark_stored, meet
from tack.codegen.c_expr import bare
from tack.codegen.c_memory import MemoryWriter
from tack.codegen.c_output import print_line
from tack.codegen.c_prelude import Prelude
from tack.codegen.dialect import Dialect
from tack.codegen.emitter import Place
from tack.errors import Span
from tack.ir.nodes import (
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
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.types import BOOL, i64, u64
from tack.ir.walk import assigned_names

__all__ = ["StatementWriter", "place_of", "value_of"]


@dataclass(slots=True, eq=False)
class _Target:
    """A loop or region being written. `flag`: set when a jump to its end starts in a loop inside it.

    `through`: the flags of outer regions to which jumps pass through this one.
    """

    label: str | None = None  # None: a loop
    flag: str = ""
    through: list[_Target] = field(default_factory=list["_Target"])


class StatementWriter(MemoryWriter):
    """Writes the statements of one entry function."""

    def __init__(self, func: IRFunc, dialect: Dialect, prelude: Prelude, *, narrow: bool = False) -> None:
        super().__init__(func, dialect, prelude, narrow=narrow)
        self.targets: list[_Target] = []

    def block(self, block: Block) -> None:
        """Statements in order."""
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: IRStmt) -> None:
        """One statement; its lines come from where it stands in the source."""
        outer, self.text.place = self.text.place, place_of(stmt.span) or self.text.place
        self._statement(stmt)
        self.text.place = outer

    def _statement(self, stmt: IRStmt) -> None:
        line = self.text.line
        match stmt:
            case IRAssign():
                line(f"{self.names(stmt.name)} = {bare(self.expr(stmt.value))};")
            case IRStore():
                value, index = bare(self.expr(stmt.value)), self.index(stmt.index[0])
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
                print_line(self, stmt, self.func.name)
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
            step = value_of(over.step) or 0
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


def place_of(span: Span | None) -> Place | None:
    """The function that a span is in, and its line there: they stay as they are when the function moves within its file."""
    return None if span is None else (span.source.qualname.rpartition("<locals>.")[2], span.line + 1)


def value_of(bound: IRExpr) -> int | None:
    """The value of a literal."""
    return int(bound.value) if isinstance(bound, IRConst) else None


def _counts_by_itself(stmt: IRFor) -> bool:
    """Whether the loop variable can be C's own counter: the body leaves it alone and one step past the end does not overflow."""
    end, step = value_of(stmt.range.end), value_of(stmt.range.step)
    if stmt.range.var in assigned_names(stmt.body):
        return False
    if step in (1, -1):
        return True
    return bool(step) and end is not None and i64.min <= end + (step or 0) <= i64.max
