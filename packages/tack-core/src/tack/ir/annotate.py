"""Stage "resolved" to "typed": rules T1 to T11. Every expression gets a type, every implicit conversion becomes an IRCast.

Owns statements and names; `annotate_ops` types the operations and gives weak values their types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tack.errors import fail
from tack.ir.annotate_ops import Expressions
from tack.ir.literals import Lit
from tack.ir.local_types import LocalTypes, local_types
from tack.ir.mixed import check_mixed
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
    IRLocal,
    IRNonzero,
    IRParallel,
    IRParam,
    IRPrint,
    IRRange,
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.types import BOOL, WEAK_FLOAT, ScalarType, i64, promote, u64
from tack.ir.typing_errors import bound_needs_integer, line_of, refusal, source_text, too_large, type_name
from tack.ir.typing_rules import AType, fits
from tack.ir.walk import expand_block, walk_statements

__all__ = ["annotate_types"]


def annotate_types(func: IRFunc, params: tuple[IRParam, ...], default_float: ScalarType) -> IRFunc:
    """The typed function. TypeError, ValueError or IndexError, with the place and what to write, where a rule is broken."""
    if params != func.params:
        func = replace(func, params=params)
    found = local_types(func, default_float)
    mixed = found.mixed()
    if mixed:
        check_mixed(func, mixed, found.integer_assignments())
    return _Annotator(func, found, default_float).run()


class _Annotator(Expressions):
    """Builds the typed function statement by statement."""

    def __init__(self, func: IRFunc, found: LocalTypes, default_float: ScalarType) -> None:
        arrays = {p.name: p.type for p in func.params if p.is_array and p.type is not None}
        arrays |= {each.name: each.type for each in func.arrays if each.type is not None}
        super().__init__(func.name, found.names, arrays, default_float)
        self.func, self.by_local = func, found.by_local
        self.locals = {local.name: local for local in func.locals}
        self._statements: dict[type, Callable[[Any], IRStmt]] = {
            IRAssign: self._assign, IRStore: self._store, IREval: self._eval, IRIf: self._if, IRFor: self._for,
            IRWhile: self._while, IRRegion: lambda n: IRRegion(n.label, self.block(n.body), n.span),
            IRBreak: lambda n: n, IRContinue: lambda n: n, IRLeave: lambda n: n, IRPrint: self._print,
            IRAtomic: self._atomic, IRDeclare: lambda n: n, IRBarrier: lambda n: n, IRBlockReduce: self._block_reduce,
        }  # fmt: skip

    def run(self) -> IRFunc:
        func = self.func
        bound_prologue, prologue = self.block(func.bound_prologue), self.block(func.prologue)
        dims = tuple([self._dim(each) for each in func.loop.dims])
        body, epilogue = self.block(func.loop.body), self.block(func.epilogue)
        result = None if func.result is None else self.alone(self.expr(func.result))
        weak = {name for name, t in self.names.items() if t is WEAK_FLOAT or isinstance(t, Lit)}
        if weak:
            bound_prologue, prologue, body, epilogue = self.spread_weak((bound_prologue, prologue, body, epilogue), weak)
        return replace(
            func, bound_prologue=bound_prologue, prologue=prologue, loop=IRParallel(dims, body, func.loop.span),
            epilogue=epilogue, result=result, locals=self._typed_locals(weak), stage="typed", default_float=self.default_float,
        )  # fmt: skip

    def _typed_locals(self, weak: set[str]) -> tuple[IRLocal, ...]:
        locals: list[IRLocal] = []
        for local in self.func.locals:
            t = self.names[local.name]
            if isinstance(t, ScalarType) and local.name not in weak:
                locals.append(local if local.type is t else replace(local, type=t))
        for (name, t), variant in self.variants.items():
            locals.append(IRLocal(variant, self.locals[name].source_name, t, weak=True))
        return tuple(locals)

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, block: Block) -> Block:
        table = self._statements
        return tuple([table[stmt.__class__](stmt) for stmt in block])

    def _assign(self, node: IRAssign) -> IRAssign:
        name, value = node.name, self.expr(node.value)
        t = self.names[name]
        if t is WEAK_FLOAT or isinstance(t, Lit):
            if value.__class__ is IRConst and len(self.by_local[name]) == 1:
                self.known[name] = value  # type: ignore[assignment]
            return IRAssign(name, value, node.span)  # `spread_weak` replaces it
        assert t is not None
        local = self.locals.get(name)
        if local is None:
            self._check_loop_variable(node, value)
        elif local.declared:
            self.check_size(value, t)
        elif value.type is not t:
            self._check_join(node, value, t)
        return IRAssign(name, self.coerce(value, t), node.span)

    def _check_loop_variable(self, node: IRAssign, value: IRExpr) -> None:
        t = self.abstract(value)
        if isinstance(t, ScalarType) and t.is_float:
            raise fail(
                TypeError, f"the loop variable is tack.i64 and cannot hold {type_name(t)}", kernel=self.kernel, span=node.span,
                remedy=f"Use another name, or write `int({source_text(node.value)})`.",
            )  # fmt: skip
        if t is u64 or (isinstance(t, Lit) and not fits(t, i64)):
            raise fail(
                TypeError, f"the loop variable is tack.i64 and cannot hold {type_name(t)}", kernel=self.kernel, span=node.span,
                remedy=f"Write `tack.i64({source_text(node.value)})`.",
            )  # fmt: skip

    def _check_join(self, node: IRAssign, value: IRExpr, t: ScalarType) -> None:
        """T2, T3: a local whose integers no type holds together. Names both assignments."""
        if not t.is_int:
            return
        given = self.abstract(value)
        if isinstance(given, Lit):
            if fits(given, t):
                return
            if not (fits(given, i64) or fits(given, u64)):
                raise too_large(self.kernel, node.value, [given])
        elif given is None or given is BOOL or promote(given, t) is t:
            return
        name = self.locals[node.name].source_name
        other = next((c for c in self.by_local[node.name] if c.assign is not node and _unsigned(c.type)), None)
        where = line_of(other.assign.span) if other is not None else "elsewhere"
        remedy = f"Write `tack.u64({source_text(node.value)})`."
        if isinstance(given, Lit) and given.low < 0:  # as u64 it would be another number
            remedy = "Write smaller integers, or use two names."
            if other is not None and isinstance(other.type, ScalarType):
                remedy = f"Write `tack.i64({source_text(other.assign.value)})` {where}, if its values are below 2**63."
        raise fail(
            TypeError, f"'{name}' is assigned {type_name(given)} here and {u64} {where}: no integer type holds both",
            kernel=self.kernel, span=node.span, remedy=remedy,
        )  # fmt: skip

    def _store(self, node: IRStore) -> IRStore:
        value, (index,) = self.expr(node.value), node.index
        t = self.arrays[node.array]
        self.check_size(value, t)
        return IRStore(node.array, (self.expr(index),), self.coerce(value, t), node.span)

    def _atomic(self, node: IRAtomic) -> IRAtomic:
        (index,), value = node.index, self.expr(node.value)
        t = self.arrays[node.array]
        self.check_size(value, t)
        return IRAtomic(node.op, node.array, (self.expr(index),), self.coerce(value, t), node.result, node.span)

    def _block_reduce(self, node: IRBlockReduce) -> IRBlockReduce:
        value, t = self.expr(node.value), self.names[node.result]
        assert isinstance(t, ScalarType)
        self.check_size(value, t)
        return IRBlockReduce(node.op, self.coerce(value, t), node.result, node.span)

    def _eval(self, node: IREval) -> IREval:
        return IREval(self.alone(self.expr(node.value)), node.span)

    def _print(self, node: IRPrint) -> IRPrint:
        return IRPrint(tuple([part if isinstance(part, str) else self.alone(self.expr(part)) for part in node.parts]), node.span)

    def _if(self, node: IRIf) -> IRIf:
        return IRIf(self.condition(node.test), self.block(node.then), self.block(node.orelse), node.span)

    def _for(self, node: IRFor) -> IRFor:
        span = node.range
        start, end, step = (self._bound(each, parallel=False) for each in (span.start, span.end, span.step))
        return IRFor(IRRange(span.var, start, end, step, span.span), self.block(node.body), node.span)

    def _while(self, node: IRWhile) -> IRWhile:
        return IRWhile(self.block(node.pre), self.condition(node.test), self.block(node.body), node.span)

    # ------------------------------------------------------------------------------------------------------- bounds

    def _dim(self, node: IRRange) -> IRRange:
        start, end, step = (self._bound(each, parallel=True) for each in (node.start, node.end, node.step))
        if isinstance(step, IRConst) and step.value == 0:
            raise fail(
                ValueError, "the step of the parallel loop is zero", kernel=self.kernel, span=step.span or node.span,
                remedy="Pass another step.",
            )  # fmt: skip
        return IRRange(node.var, start, end, step, node.span)

    def _bound(self, node: IRExpr, parallel: bool) -> IRExpr:
        """A range's start, end or step as i64; a parallel loop's u64 stays, so that a bound beyond i64 can be refused."""
        if isinstance(node, IRNonzero):
            return IRNonzero(self._bound(node.value, parallel), node.site, i64, node.span)
        value = self.expr(node)
        t = self.abstract(value)
        if isinstance(t, ScalarType) and t.is_float:
            raise bound_needs_integer(self.kernel, node, t)
        if t is i64 or (parallel and t is u64):
            return value
        if isinstance(t, Lit) and value.__class__ is IRConst and not fits(t, i64):
            if not (parallel and fits(t, u64)):
                remedy = f"Write a value up to {i64.max}."
                raise refusal(self.kernel, node, f"a bound of a loop is tack.i64, which does not hold {t.high}", remedy)
            return self.coerce(value, u64)
        return self.coerce(value, i64)

    # -------------------------------------------------------------------------------------------------- weak locals

    def spread_weak(self, blocks: tuple[Block, ...], weak: set[str]) -> tuple[Block, ...]:
        """T8: replaces each assignment of a weak local by one for every type that its value is used as.

        Each converts the literals once, from their exact values, to the type that the use asked for.
        """
        values: dict[tuple[int, ScalarType], IRExpr] = {}
        done: set[tuple[str, ScalarType]] = set()
        sources: dict[str, list[IRAssign]] = {name: [] for name in weak}
        for stmt in (each for block in blocks for each in walk_statements(block)):
            if isinstance(stmt, IRAssign) and stmt.name in sources:
                sources[stmt.name].append(stmt)
        while len(done) < len(self.variants):
            for name, t in [key for key in self.variants if key not in done]:
                done.add((name, t))
                for each in sources[name]:
                    values[id(each), t] = self.coerce(each.value, t)
        wanted: dict[str, list[tuple[str, ScalarType]]] = {}
        for (name, t), variant in self.variants.items():
            wanted.setdefault(name, []).append((variant, t))

        def replaced(stmt: IRStmt) -> list[IRStmt]:
            if isinstance(stmt, IRAssign) and stmt.name in weak:
                uses = wanted.get(stmt.name, ())
                return [IRAssign(variant, values[id(stmt), t], stmt.span) for variant, t in uses]
            return [stmt]

        return tuple([expand_block(block, replaced) for block in blocks])


def _unsigned(t: AType) -> bool:
    return t is u64 or (isinstance(t, Lit) and t.high > i64.max)
