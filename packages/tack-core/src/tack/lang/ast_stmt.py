"""Statements of a kernel and of device functions: assignments, loops, branches (K3, K4, E2, E3, N5).

The parallel loop is `ast_transform`'s; a `for` seen here is a serial one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tack.ir.nodes import (
    Block,
    IRAssign,
    IRBreak,
    IRConst,
    IRContinue,
    IRDimSize,
    IREval,
    IRExpr,
    IRFor,
    IRIf,
    IRLoad,
    IRLocal,
    IRName,
    IROp,
    IRRange,
    IRRank,
    IRStore,
    IRWhile,
)  # fmt: skip
from tack.ir.types import DTYPES, ScalarType
from tack.ir.walk import names_read
from tack.lang.ast_call import CallLowering
from tack.lang.ast_context import has_load, is_fixed
from tack.lang.ast_expr import BINARY
from tack.lang.intrinsics import INTRINSICS

__all__ = ["StatementLowering"]

_JUMPS = (ast.Break, ast.Continue, ast.Return)


class StatementLowering(CallLowering):
    """Lowers blocks of statements into `out`."""

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for k, statement in enumerate(statements):
            if isinstance(statement, _JUMPS):
                self.dead(statements[k + 1 :])
                self.statement(statement)
                return
            self.statement(statement)

    def dead(self, statements: Sequence[ast.stmt]) -> None:
        """Code that no path reaches, kept under a false condition until it has been checked like any other."""
        if statements:
            _, block = self.sub(lambda: self.block(statements))
            if block:
                self.out.append(IRIf(IRConst(False), block, (), self.span(statements[0])))

    def statement(self, node: ast.stmt) -> None:
        """Lower one statement."""
        match node:
            case ast.Assign():
                self._assign(node)
            case ast.AugAssign():
                self._augmented(node)
            case ast.If():
                self._if(node)
            case ast.For():
                self.serial_loop(node)
            case ast.While():
                self._while(node)
            case ast.Expr():
                self._expression(node)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.Break() | ast.Continue():
                self._jump(node)
            case ast.Return():
                self.return_(node)
            case ast.Pass():
                pass
            case _:
                raise self.unsupported(node, f"`{type(node).__name__}` is not part of the kernel language")

    def return_(self, node: ast.Return) -> None:
        """Lower a `return`; what it may do depends on the function it stands in."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ assignments

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) > 1:
            value = self.expr(node.value)
            if not is_fixed(value):
                value = self.temporary(value, "(value)")
            for each in node.targets:
                if isinstance(each, ast.Tuple):
                    raise self.unsupported(each, "a tuple in a chained assignment", "Write one assignment a line.")
                self._store(each, value)
        elif isinstance(target, ast.Tuple):
            self._unpack(target, node)
        else:
            self._store(target, self.expr(node.value))

    def _store(self, target: ast.expr, value: IRExpr) -> None:
        """Assign `value`, evaluated before the target's index (E2)."""
        if isinstance(target, ast.Name):
            self.emit(IRAssign(self.variable(target.id), value, self.span(target)))
        elif isinstance(target, ast.Subscript):
            array = self.array(target.value)
            mark, effects = len(self.out), self.effects
            index = self.index(target)
            if effects != self.effects:  # the index calls a function that stores
                after = self.out[mark:]
                del self.out[mark:]
                value = self.spill(value)
                self.out.extend(after)
            self.emit(IRStore(array, tuple(index), value, self.span(target)))
        elif isinstance(target, ast.Attribute):
            raise self.unsupported(target, "assigning an attribute is not part of the kernel language", "Store into an array.")
        else:
            raise self.unsupported(target, "nested targets are not part of the kernel language", "Write one assignment a line.")

    def _unpack(self, target: ast.Tuple, node: ast.Assign) -> None:
        shape = node.value
        wanted = len(target.elts)
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and isinstance(shape.value, ast.Name):
            if self.is_bound(shape.value.id):
                array, span = self.array(shape.value), self.span(node)
                self.ranks.append(IRRank(array, wanted, span))
                for k, each in enumerate(target.elts):
                    self._store(each, IRDimSize(array, k, None, span))
                return
        values = self.values(node.value)
        if len(values) != wanted:
            few = f"{len(values)} value{'s' if len(values) != 1 else ''} for {wanted} target{'s' if wanted != 1 else ''}"
            raise self.error(ValueError, node, few, "Give each target one value.")
        for each, value in zip(target.elts, self._settled(target.elts, values), strict=True):
            self._store(each, value)

    def _settled(self, targets: list[ast.expr], values: list[IRExpr]) -> list[IRExpr]:
        """The values as they are before any target changes: those that an earlier target touches go to temporaries."""
        changed: set[str] = set()
        stored = False
        settled: list[IRExpr] = []
        for target, value in zip(targets, values, strict=True):
            touched = (changed and bool(names_read(value) & changed)) or (stored and has_load(value))
            settled.append(self.temporary(value, "(value)") if touched else value)
            if isinstance(target, ast.Name):
                changed.add(self.variable(target.id))
            else:
                stored = True
        return settled

    def _augmented(self, node: ast.AugAssign) -> None:
        target, op, span = node.target, BINARY[type(node.op)], self.span(node)
        if isinstance(target, ast.Name):
            name = self.variable(target.id)
            old, value = self.in_order((lambda: IRName(name, None, self.span(target)), lambda: self.expr(node.value)))
            self.emit(IRAssign(name, IROp(op, (old, value), None, span), span))
        elif isinstance(target, ast.Subscript):
            array = self.array(target.value)
            index = tuple(self._once(part) for part in self.index(target))
            place = self.span(target)
            old, value = self.in_order((lambda: IRLoad(array, index, None, place), lambda: self.expr(node.value)))
            self.emit(IRStore(array, index, IROp(op, (old, value), None, span), span))
        else:
            raise self.unsupported(target, "assigning an attribute is not part of the kernel language", "Store into an array.")

    def _once(self, part: IRExpr) -> IRExpr:
        """An index that is written twice but evaluated once: one that reads no array may be repeated."""
        return self.temporary(part, "(index)") if has_load(part) else part

    def _annotated(self, node: ast.AnnAssign) -> None:
        assert isinstance(node.target, ast.Name) and node.value is not None
        found = self.lookup(node.annotation)
        if not (isinstance(found, ScalarType) and found in DTYPES):
            remedy = f"Write one of {', '.join(map(str, DTYPES))}, by a name that the module binds."
            raise self.unsupported(node.annotation, "an annotation of a local is a Tack scalar type", remedy)
        self._only_locals_are_declared(node, node.target.id)
        value = self.expr(node.value)
        name = self.variable(node.target.id)
        local = self.locals[name]
        if local.declared and local.type is not found:
            message = f"local '{local.source_name}' is declared {local.type} and {found}"
            raise self.error(TypeError, node, message, "Declare it once, or use two names.")
        self.locals[name] = IRLocal(name, local.source_name, found, declared=True, weak=local.weak)
        self.emit(IRAssign(name, value, self.span(node.target)))

    def _only_locals_are_declared(self, node: ast.AnnAssign, name: str) -> None:
        """A declaration types all that the name holds, which must not narrow a loop variable or an argument."""
        if name in self.scope.looping:
            what = f"loop variable '{name}' is i64 and cannot be declared"
        elif name in self.scope.parsed.params:
            what = f"parameter '{name}' has its argument's type and cannot be declared"
        else:
            return
        raise self.unsupported(node.target, what, "Declare a local of another name.")

    # ------------------------------------------------------------------------------------------------ control flow

    def _if(self, node: ast.If) -> None:
        """`if`, `elif`, `else`, without recursion along the `elif`s; what a test needs runs where Python evaluates it."""
        chain: list[tuple[ast.If, Block, IRExpr, Block]] = []
        while True:
            test, pre = self.sub(lambda node=node: self.cond(node.test))
            _, then = self.sub(lambda node=node: self.block(node.body))
            chain.append((node, pre, test, then))
            if not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
                break
            node = node.orelse[0]
        _, orelse = self.sub(lambda: self.block(node.orelse))
        for each, pre, test, then in reversed(chain):
            orelse = (*pre, IRIf(test, then, orelse, self.span(each.test)))
        self.out.extend(orelse)

    def _while(self, node: ast.While) -> None:
        test, pre = self.sub(lambda: self.cond(node.test))
        body = self._loop_body(lambda: self.block(node.body))
        self.out.append(IRWhile(pre, test, body, self.span(node.test)))

    def _loop_body(self, make: Callable[[], None]) -> Block:
        self.scope.loops += 1
        try:
            return self.sub(make)[1]
        finally:
            self.scope.loops -= 1

    def serial_loop(self, node: ast.For) -> None:
        """A nested `for` over a range."""
        if isinstance(node.target, ast.Tuple):
            raise self.unsupported(node.target, "a serial loop has one variable", "Nest loops over range(...).")
        assert isinstance(node.target, ast.Name)
        if self.loop_kind(node) == "ndindex":
            raise self.unsupported(node.iter, "tack.ndindex is for the parallel loop", "Nest loops over range(...).")
        start, end, step = self.range_parts(node)
        name = node.target.id
        var = self.fresh(self.scope.prefix + name)
        body = self._loop_body(lambda: self.with_loop_variables({name: var}, node))
        span = self.span(node.iter)
        self.out.append(IRFor(IRRange(var, start, end, step, span), body, self.span(node.target)))

    def with_loop_variables(self, names: dict[str, str], node: ast.For) -> None:
        """Lower the body of `node` with its variables bound; one that the body assigns is copied to a local first (K4)."""
        before = {name: self.scope.vars.get(name) for name in names}
        added = names.keys() - self.scope.looping
        self.scope.looping |= added
        for name, var in names.items():
            self.scope.vars[name] = IRName(var)
            if self._assigns(node.body, name):
                span = self.span(node.target)
                copy = self.local(name)
                self.out.append(IRAssign(copy, IRName(var, None, span), span))
                self.scope.vars[name] = IRName(copy)
        self.block(node.body)
        self.scope.looping -= added
        for name, value in before.items():
            if value is None:
                del self.scope.vars[name]
            else:
                self.scope.vars[name] = value

    def _assigns(self, body: list[ast.stmt], name: str) -> bool:
        parsed = self.scope.parsed
        if name not in parsed.stores and parsed.loop_names[name] < 2:
            return False
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                    return True
        return False

    def loop_kind(self, node: ast.For) -> str:
        """ "range" or "ndindex"; any other iterable is refused."""
        if isinstance(node.iter, ast.Call) and self.dotted(node.iter.func) is not None:
            target = self.callee(node.iter)
            for kind in ("range", "ndindex"):
                if target is INTRINSICS[kind]:
                    return kind
        remedy = "Loop over the indices: `for i in range(a.shape[0])`."
        raise self.unsupported(node.iter, "a `for` loop runs over range(...) or tack.ndindex(...)", remedy)

    def range_parts(self, node: ast.For) -> tuple[IRExpr, IRExpr, IRExpr]:
        """Start, end and step of `range(...)`, lowered in order."""
        call = node.iter
        assert isinstance(call, ast.Call)
        if call.keywords:
            raise self.error(TypeError, call.keywords[0], "range() takes no keyword arguments", "Pass the bounds by position.")
        if not 1 <= len(call.args) <= 3:
            raise self.error(TypeError, call, f"range() takes 1 to 3 arguments, not {len(call.args)}")
        span = self.span(call)
        parts = self.in_order([lambda part=part: self.expr(part) for part in call.args])
        zero, one = IRConst(0, None, span), IRConst(1, None, span)
        if len(parts) == 1:
            return zero, parts[0], one
        step = parts[2] if len(parts) == 3 else one
        if isinstance(step, IRConst) and step.value == 0:
            raise self.error(ValueError, call.args[2], "range() with a step of zero never ends", "Use another step.")
        return parts[0], parts[1], step

    def _jump(self, node: ast.Break | ast.Continue) -> None:
        span = self.span(node)
        if isinstance(node, ast.Continue):
            self.out.append(IRContinue(span))
        elif self.scope.loops == 0 and self.scope.is_kernel:
            remedy = "Iterations have no order: test a condition in each, or use `continue`."
            raise self.unsupported(node, "`break` of the parallel loop", remedy)
        else:
            self.out.append(IRBreak(span))

    def _expression(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return
        if isinstance(value, ast.Call):
            for each in self.call_values(value):
                if not is_fixed(each):
                    self.emit(IREval(each, self.span(node)))
            return
        self.emit(IREval(self.expr(value), self.span(node)))
