"""Calls of device functions: arguments bound, the body written in place, its values brought out (F1, N2).

Values and arguments pass through locals of their own unless they are literals, names or sizes, so that no product is fused
through a call (E5) and literals stay weak (T8).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tack.errors import Diagnostic, UnsupportedSyntaxError
from tack.ir.nodes import IRAssign, IRConst, IRIf, IRLeave, IRLocal, IRName, IRRegion
from tack.ir.types import MatrixType, ScalarType, VectorType
from tack.lang.ast_context import Scope, is_fixed
from tack.lang.ast_stmt import StatementLowering
from tack.lang.constant import Constant
from tack.lang.device_class import Instance
from tack.lang.func import Func
from tack.lang.remedies import did_you_mean
from tack.lang.source import Parsed
from tack.lang.values import Value, Vector, described, parts_of

__all__ = ["InlineLowering", "check_annotations", "returns"]

_DEEPEST = 24  # guard clauses nested into `else` blocks before early returns leave a region instead


class InlineLowering(StatementLowering):
    """Inlines device functions."""

    def inline(self, callee: Func, node: ast.Call, receiver: Instance | None = None) -> list[Value]:
        parsed = self._parsed(callee, node)
        arguments = self._bind(callee, parsed, node, receiver)
        # A function may call itself for an object that another one holds: that ends where the objects do.
        call = callee, tuple(each.path for each in arguments.values() if isinstance(each, Instance))
        if call in self.calls:
            chain = " -> ".join(f.__name__ for f, _ in (*self.calls[self.calls.index(call) :], call))
            raise self.unsupported(node, f"recursion ({chain})", "Write a loop; device functions are inlined.")
        self.inlined += 1
        outer = self.scope
        scope = Scope(callee.__wrapped__, parsed, f"{callee.__name__}.{self.inlined}.", is_kernel=False, call=callee.__name__)
        if not self.calls:
            self.called_at = self.span(node)
        self.scope = scope
        self.calls.append(call)
        try:
            check_annotations(self, parsed)
            self._enter(scope, arguments)
            given = [part for e in arguments.values() if not isinstance(e, Instance) for part in parts_of(e)]
            passed = {part.name for part in given if isinstance(part, IRName)}
            return self._body(parsed, passed)
        finally:
            self.calls.pop()
            self.scope = outer
            if not self.calls:
                self.called_at = None

    def _parsed(self, callee: Func, node: ast.Call) -> Parsed:
        """The syntax tree of a function called at `node`."""
        try:
            return callee.parsed(self.kernel)
        except UnsupportedSyntaxError as error:
            found: Diagnostic = error.__dict__["diagnostic"]
            here = self.called_at or self.span(node)
            span = self.span(node) if found.span is None else replace(found.span, called=here)
            raise self.unsupported(span, found.message, found.remedy) from None

    # -------------------------------------------------------------------------------------------------- arguments

    def _bind(self, callee: Func, parsed: Parsed, node: ast.Call, receiver: Instance | None) -> dict[str, Value | Instance]:
        """The argument of each parameter, lowered in the caller's scope and in the call's order; objects as they are."""
        spec = parsed.node.args
        by_place = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        own = by_place[:1] if receiver is not None else []
        if receiver is not None and not own:
            message = f"method {callee.__name__}() has no parameter for the object it is called on"
            raise self.error(TypeError, node, message, "Write `def name(self, ...)`, or make it a @staticmethod.")
        by_place = by_place[len(own) :]
        by_name = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
        name = f"{callee.__name__}()"
        if len(node.args) > len(by_place):
            count = f"{len(by_place)} positional argument{'' if len(by_place) == 1 else 's'}"
            message = f"{name} takes {count}, not {len(node.args)}"
            raise self.error(TypeError, node, message, f"Call {callee.__name__}({', '.join(by_place)}).")
        order = by_place[: len(node.args)]
        for keyword in node.keywords:
            assert keyword.arg is not None
            if keyword.arg not in by_name or keyword.arg in own:
                has = did_you_mean(keyword.arg, by_name - {*own}) or f"It has {', '.join(by_place)}."
                raise self.error(TypeError, keyword, f"{name} has no parameter named '{keyword.arg}'", has)
            if keyword.arg in order:
                raise self.error(TypeError, keyword, f"{name} got two values for parameter '{keyword.arg}'", "Pass one.")
            order.append(keyword.arg)
        given = [*node.args, *(k.value for k in node.keywords)]
        objects = [self.instance(part) for part in given]
        parts = [part for part, thing in zip(given, objects, strict=True) if thing is None]
        values = iter(self.in_order([lambda part=part: self.argument(part) for part in parts]))
        bound: dict[str, Value | Instance] = {own[0]: receiver} if receiver is not None else {}
        bound.update((p, next(values) if thing is None else thing) for p, thing in zip(order, objects, strict=True))
        defaults = self._defaults(callee, by_place)
        missing = [p for p in parsed.params if p not in bound and p not in defaults]
        if missing:
            takes = ", ".join(p for p in parsed.params if p not in own)
            raise self.error(TypeError, node, f"{name} misses argument '{missing[0]}'", f"Call {name.rstrip('()')}({takes}).")
        for param in parsed.params:
            if param not in bound:
                bound[param] = self._default(callee, param, defaults[param], node)
        return bound

    @staticmethod
    def _defaults(callee: Func, by_place: list[str]) -> dict[str, object]:
        values = callee.__wrapped__.__defaults__ or ()
        return dict(zip(by_place[len(by_place) - len(values) :], values, strict=True)) | (callee.__wrapped__.__kwdefaults__ or {})

    def _default(self, callee: Func, param: str, value: object, node: ast.Call) -> Value:
        if isinstance(value, Constant):
            return self.constant(value, node)
        if isinstance(value, np.generic):
            value = cast(Any, value).item()
        if not isinstance(value, (bool, int, float)):
            message = f"the default of parameter '{param}' of {callee.__name__}() is no number"
            raise self.error(TypeError, node, message, "Defaults of device functions are numbers or tack.constants.")
        return IRConst(value, None, self.span(node))

    def _enter(self, scope: Scope, arguments: dict[str, Value | Instance]) -> None:
        """Bind the parameters: a fixed argument by substitution, any other (or one the body assigns) through a local."""
        parsed = scope.parsed
        for param, value in arguments.items():
            if isinstance(value, Instance):
                if param in parsed.stores or param in parsed.loop_names:
                    raise self.object_is_fixed(value, param, self.first_store(param))
                scope.objects[param] = value
                continue
            changes = param in parsed.stores or param in parsed.loop_names
            if isinstance(value, Vector):
                changes = changes or param in parsed.patched
                scope.vars[param] = self.kept(value, param) if changes else self.settled(value)
                continue
            if is_fixed(value) and not changes:
                scope.vars[param] = value
                continue
            if self.is_array(value):  # and assigned
                message = f"parameter '{param}' of {parsed.node.name}() is assigned, but is passed an array"
                raise self.error(TypeError, self.first_store(param), message, "Give the local another name.")
            name = self.fresh(scope.prefix + param)
            self.locals[name] = IRLocal(name, param, weak=True)
            self.out.append(IRAssign(name, value, value.span))
            scope.vars[param] = IRName(name)

    # ------------------------------------------------------------------------------------------------------- body

    def _body(self, parsed: Parsed, passed: set[str]) -> list[Value]:
        body = parsed.node.body
        found = returns(body)
        with_value = [r for r in found if r.value is not None]
        if with_value and (len(with_value) < len(found) or not _ends(body)):
            message = f"{parsed.node.name}() returns a value on some paths only"
            raise self.error(TypeError, self.name_span(), message, "End every path with `return` and a value.")
        last = body[-1]
        if len(found) == 1 and found[0] is last:
            self.block(body[:-1])
            if found[0].value is None:
                return []
            values = self.values(found[0].value)
            return [v if _passes(v, passed) else self.kept(v, f"{parsed.node.name}()") for v in values]
        _, block = self.sub(lambda: self._tail(body, 0))
        scope = self.scope
        if scope.region:
            self.out.append(IRRegion(scope.label, block, self.name_span()))
        else:
            self.out.extend(block)
        return list(scope.results or ())

    def _tail(self, statements: Sequence[ast.stmt], depth: int) -> None:
        """Lower statements at whose end the function ends too: a `return` there need not leave anything.

        What follows a guard clause goes into its other arm, which leaves regions to returns inside loops.
        """
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, ast.Return):
                self.dead(rest)
                self._results(statement)
                return
            if isinstance(statement, ast.If) and depth < _DEEPEST and returns([statement]):
                then_ends, else_ends = _ends(statement.body), _ends(statement.orelse)
                if not rest or then_ends or else_ends:
                    if then_ends and else_ends:
                        self.dead(rest)
                        rest = ()
                    test = self.cond(statement.test)
                    then: list[ast.stmt] = [*statement.body, *rest] if else_ends else statement.body
                    orelse: list[ast.stmt] = [*statement.orelse, *rest] if not else_ends else statement.orelse
                    _, then_block = self.sub(lambda then=then: self._tail(then, depth + 1))
                    _, else_block = self.sub(lambda orelse=orelse: self._tail(orelse, depth + 1))
                    self.out.append(IRIf(test, then_block, else_block, self.span(statement.test)))
                    return
            self.statement(statement)

    def return_(self, node: ast.Return) -> None:
        """An early return: the values go to the result locals, then the region is left."""
        self._results(node)
        scope = self.scope
        if not scope.region:
            scope.region = True
            scope.label = self.fresh(f"{scope.prefix}return")
        self.out.append(IRLeave(scope.label, self.span(node)))

    def _results(self, node: ast.Return) -> None:
        scope = self.scope
        if node.value is None:
            return
        values = self.values(node.value)
        if scope.results is None:
            scope.results = [self._result_locals(value, node) for value in values]
        if len(values) != len(scope.results):
            count = f"{len(values)} value{'' if len(values) == 1 else 's'}"
            message = f"{scope.call}() returns {count} here and {len(scope.results)} elsewhere"
            raise self.error(TypeError, node, message, "Return as many values on every path.")
        for result, value in zip(scope.results, values, strict=True):
            here, there = _shape(value), _shape(result)
            if here != there:
                message = f"{scope.call}() returns {described(here)} here and {described(there)} elsewhere"
                raise self.error(TypeError, node, message, "Return values of one shape on every path.")
            for name, part in zip(parts_of(result), parts_of(value), strict=True):
                assert isinstance(name, IRName)
                self.out.append(IRAssign(name.name, part, self.span(node)))

    def _result_locals(self, value: Value, node: ast.Return) -> Value:
        """The locals for a value of the function."""
        scope = self.scope
        what = f"{scope.call}()"
        if isinstance(value, Vector):
            return self.component_locals(value.shape, what, weak=True)
        name = self.fresh(scope.prefix + what)
        self.locals[name] = IRLocal(name, what, weak=True)
        return IRName(name, None, self.name_span())


def _passes(value: Value, passed: set[str]) -> bool:
    """Whether a result may be handed out as it is: it reads no local of the inlined function."""
    return all(part.name in passed if isinstance(part, IRName) else is_fixed(part) for part in parts_of(value))


def _shape(value: Value) -> tuple[int, ...]:
    return value.shape if isinstance(value, Vector) else ()


def returns(statements: Sequence[ast.stmt]) -> list[ast.Return]:
    """Every `return` in the statements."""
    found: list[ast.Return] = []
    stack: list[ast.stmt] = list(reversed(statements))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        elif isinstance(node, ast.If):
            stack.extend(reversed((*node.body, *node.orelse)))
        elif isinstance(node, (ast.For, ast.While)):
            stack.extend(reversed(node.body))
    return found


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether no path falls off the end of the statements, as far as returns and endless loops tell."""
    for node in statements:
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.If) and node.orelse and _ends(node.body) and _ends(node.orelse):
            return True
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value and not _breaks(node.body):
            return True
    return False


def _breaks(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements hold a `break` of the loop they are the body of."""
    for node in statements:
        if isinstance(node, ast.Break) or (isinstance(node, ast.If) and (_breaks(node.body) or _breaks(node.orelse))):
            return True
    return False


def check_annotations(lowering: InlineLowering, parsed: Parsed) -> None:
    """Annotations speak to the reader alone; one that is a Tack type would promise more. Of a kernel's value it does (K6)."""
    spec = parsed.node.args
    for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        if argument.annotation is not None and _is_type(lowering, argument.annotation):
            note = argument.annotation
            message = f"parameter '{argument.arg}' cannot be given a type: it has that of what is passed"
            remedy = f"Declare a local: `{argument.arg}_: {ast.unparse(note)} = {argument.arg}`."
            raise lowering.unsupported(note, message, remedy)
    note = None if lowering.scope.is_kernel else parsed.node.returns
    if note is not None and _is_type(lowering, note):
        message = f"the value of {parsed.node.name}() cannot be given a type: it has that of what is returned"
        raise lowering.unsupported(note, message, f"Leave the annotation out, and convert: `return {ast.unparse(note)}(...)`.")


def _is_type(lowering: InlineLowering, note: ast.expr) -> bool:
    """Whether an annotation names a Tack type."""
    dotted = lowering.dotted(note)
    try:
        found = None if dotted is None else lowering.bindings.resolve(lowering.scope.owner, dotted)
    except LookupError:
        return False
    return isinstance(found, (ScalarType, VectorType, MatrixType))
