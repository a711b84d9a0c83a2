"""Typed statements as LLVM blocks: assignments, stores and control flow. Loops run their exact interval, without overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tack.codegen.emitter import Names
from tack.codegen.llvm_atomic import atomic
from tack.codegen.llvm_expr import ExprWriter
from tack.codegen.llvm_math import convert
from tack.codegen.llvm_text import LLVM_TYPES, ModuleText
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRAtomic,
    IRBreak,
    IRConst,
    IRContinue,
    IRDeclare,
    IREval,
    IRExpr,
    IRFor,
    IRIf,
    IRLeave,
    IRPrint,
    IRRegion,
    IRStore,
    IRWhile,
)  # fmt: skip
from tack.ir.types import ScalarType, f64, i64, u64

__all__ = ["BlockWriter"]


class BlockWriter(ExprWriter):
    """Writes statements. `loops` holds the labels that `continue` and `break` go to, innermost last.

    `sites` numbers the prints, by `id`; their values go through the memory at %t_printed, and %t_print is what they call.
    """

    __slots__ = ("loops", "names", "regions", "sites")

    def __init__(self, module: ModuleText, fma: bool) -> None:
        super().__init__(module, fma)
        self.names = Names()
        self.loops: list[tuple[str, str]] = []
        self.regions: dict[str, str] = {}
        self.sites: dict[int, int] = {}

    def slot(self, name: str, type: ScalarType) -> str:
        """Gives local `name` a place in memory (LLVM's passes make registers of these); only in the entry block."""
        self.types[name] = type
        place = self.slots[name] = f"%{self.names(name)}.at"
        self.do(f"{place} = alloca {LLVM_TYPES[type]}")
        return place

    def assign(self, name: str, value: str) -> None:
        """Gives a local a value."""
        place = self.slots.get(name)
        if place is None:
            self.values[name] = value
        else:
            self.do(f"store {LLVM_TYPES[self.types[name]]} {value}, ptr {place}")

    def statements(self, block: Block) -> bool:
        """Writes a block; False if it never runs through to its end."""
        for stmt in block:
            if not self._STATEMENTS[type(stmt)](self, stmt):
                return False
        return True

    def _assign(self, stmt: IRAssign) -> bool:
        self.assign(stmt.name, self.expr(stmt.value))
        return True

    def _store(self, stmt: IRStore) -> bool:
        assert stmt.value.type is not None
        t, value = LLVM_TYPES[stmt.value.type], self.expr(stmt.value)
        self.write(stmt.value.type, stmt.array, self.element(t, stmt.array, stmt.index), value)
        return True

    def _atomic(self, stmt: IRAtomic) -> bool:
        type = stmt.value.type
        assert type is not None
        t = LLVM_TYPES[type]
        place, value = self.element(t, stmt.array, stmt.index), self.expr(stmt.value)
        old = atomic(self, stmt.op, type, place, value)
        if stmt.result is not None:
            self.assign(stmt.result, old)
        return True

    def _eval(self, stmt: IREval) -> bool:
        self.expr(stmt.value)
        return True

    def _print(self, stmt: IRPrint) -> bool:
        numbers = [part for part in stmt.parts if not isinstance(part, str)]
        for k, value in enumerate([self.wide(self.expr(part), part.type) for part in numbers]):
            self.do(f"store {value}, ptr {self.op(f'getelementptr inbounds i64, ptr %t_printed, i64 {k}')}")
        self.do(f"call void %t_print(i64 {self.sites[id(stmt)]}, ptr %t_printed)")
        return True

    def wide(self, value: str, type: ScalarType | None) -> str:
        """A number in 8 bytes, with its type before it: an integer or truth value as i64, a float as a double."""
        assert type is not None
        wanted = f64 if type.is_float else i64
        if type is u64:
            return f"i64 {value}"
        return f"{LLVM_TYPES[wanted]} {convert(self, value, type, wanted)}"

    def _if(self, stmt: IRIf) -> bool:
        test, n = self.expr(stmt.test), self.fresh()
        then, orelse, end = f"then{n}", f"else{n}", f"end{n}"
        self.branch(test, then, orelse if stmt.orelse else end)
        self.label(then)
        through = self.statements(stmt.then)
        if through:
            self.goto(end)
        if stmt.orelse:
            self.label(orelse)
            if self.statements(stmt.orelse):
                self.goto(end)
            elif not through:
                return False
        self.label(end)
        return True

    def _body(self, body: Block, proceed: str, leave: str) -> None:
        """A loop's body, ending in a jump to `proceed`."""
        self.loops.append((proceed, leave))
        if self.statements(body):
            self.goto(proceed)
        self.loops.pop()

    def _while(self, stmt: IRWhile) -> bool:
        n = self.fresh()
        head, body, end = f"while{n}", f"do{n}", f"end{n}"
        self.goto(head)
        self.label(head)
        if not self.statements(stmt.pre):
            return False
        self.branch(self.expr(stmt.test), body, end)
        self.label(body)
        self._body(stmt.body, head, end)
        self.label(end)
        return True

    def _for(self, stmt: IRFor) -> bool:
        r = stmt.range
        start, end, step = self.expr(r.start), self.expr(r.end), self.expr(r.step)
        known = r.step.value if isinstance(r.step, IRConst) else None
        if known in (1, -1):
            self._unit_loop(stmt, start, end, int(known))
        else:
            self._counted_loop(stmt, start, step, self.trip_count(start, end, step, r.step))
        return True

    def _unit_loop(self, stmt: IRFor, start: str, end: str, step: int) -> None:
        """Step 1 or -1: the next value cannot overflow before it reaches the end."""
        n, before = self.fresh(), self.block
        i, order = f"%for{n}.i", "slt" if step > 0 else "sgt"
        self.branch(self.op(f"icmp {order} i64 {start}, {end}"), f"for{n}", f"end{n}")
        self.label(f"for{n}")
        self.do(f"{i} = phi i64 [ {start}, %{before} ], [ {i}.next, %next{n} ]")
        self.loop_variable(stmt.range.var, i)
        self._body(stmt.body, f"next{n}", f"end{n}")
        self.label(f"next{n}")
        self.do(f"{i}.next = add nsw i64 {i}, {step}")
        self.branch(self.op(f"icmp {order} i64 {i}.next, {end}"), f"for{n}", f"end{n}", closes=True)
        self.label(f"end{n}")

    def _counted_loop(self, stmt: IRFor, start: str, step: str, count: str) -> None:
        """Any step: the iterations are counted, since the value after the last may overflow (it is never used)."""
        n, before = self.fresh(), self.block
        i, k = f"%for{n}.i", f"%for{n}.k"
        self.branch(self.op(f"icmp ne i64 {count}, 0"), f"for{n}", f"end{n}")
        self.label(f"for{n}")
        self.do(f"{i} = phi i64 [ {start}, %{before} ], [ {i}.next, %next{n} ]")
        self.do(f"{k} = phi i64 [ 0, %{before} ], [ {k}.next, %next{n} ]")
        self.loop_variable(stmt.range.var, i)
        self._body(stmt.body, f"next{n}", f"end{n}")
        self.label(f"next{n}")
        self.do(f"{i}.next = add nsw i64 {i}, {step}")
        self.do(f"{k}.next = add nuw i64 {k}, 1")
        self.branch(self.op(f"icmp ult i64 {k}.next, {count}"), f"for{n}", f"end{n}", closes=True)
        self.label(f"end{n}")

    def loop_variable(self, name: str, value: str) -> None:
        """Starts an iteration's variable; a body that assigns it works on a copy (K4)."""
        self.values.pop(name, None)
        self.assign(name, value)

    def trip_count(self, start: str, end: str, step: str, node: IRExpr) -> str:
        """The number of points of a range between i64 bounds as an unsigned i64, 0 for a zero step (i64 or u64)."""
        if isinstance(node, IRConst):
            if node.value == 0:
                return "0"
            low, high = (start, end) if node.value > 0 else (end, start)
            return self._points(low, high, str(abs(int(node.value))), "true")
        if node.type is u64:
            return self._points(start, end, step, self.op(f"icmp ne i64 {step}, 0"))
        up = self.op(f"icmp sgt i64 {step}, 0")
        low = self.op(f"select i1 {up}, i64 {start}, i64 {end}")
        high = self.op(f"select i1 {up}, i64 {end}, i64 {start}")
        size = self.intrinsic("abs", "i64", step, suffix=", i1 false")
        return self._points(low, high, size, self.op(f"icmp ne i64 {step}, 0"))

    def _points(self, low: str, high: str, size: str, moves: str) -> str:
        """ceil((high - low) / size) in unsigned arithmetic, 0 if the interval is empty or nothing `moves`."""
        some = self.op(f"icmp slt i64 {low}, {high}")
        if moves != "true":
            some = self.op(f"and i1 {some}, {moves}")
            size = self.op(f"select i1 {moves}, i64 {size}, i64 1")
        last = self.op(f"sub i64 {self.op(f'sub i64 {high}, {low}')}, 1")
        whole = last if size == "1" else self.op(f"udiv i64 {last}, {size}")
        return self.op(f"select i1 {some}, i64 {self.op(f'add i64 {whole}, 1')}, i64 0")

    def _break(self, stmt: IRBreak) -> bool:
        self.goto(self.loops[-1][1])
        return False

    def _continue(self, stmt: IRContinue) -> bool:
        self.goto(self.loops[-1][0])
        return False

    def _region(self, stmt: IRRegion) -> bool:
        end = self.regions[stmt.label] = f"region{self.fresh()}"
        if self.statements(stmt.body):
            self.goto(end)
        self.label(end)
        return True

    def _leave(self, stmt: IRLeave) -> bool:
        self.goto(self.regions[stmt.label])
        return False

    _STATEMENTS: ClassVar[dict[type[Any], Callable[[Any, Any], bool]]] = {
        IRAssign: _assign, IRStore: _store, IREval: _eval, IRIf: _if, IRFor: _for, IRWhile: _while, IRBreak: _break,
        IRContinue: _continue, IRRegion: _region, IRLeave: _leave,
        IRPrint: _print, IRAtomic: _atomic, IRDeclare: lambda f, stmt: True,
    }  # fmt: skip
