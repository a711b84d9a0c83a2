"""A kernel as a whole: its prologue and its one parallel loop (K1, K2, K3, K5, K6).

The result is the "lowered" template of `ir.nodes`; nothing here depends on the arguments of a call.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from tack.errors import Span
from tack.ir.nodes import IRAssign, IRCast, IRConst, IRExpr, IRFunc, IRLocal, IRName, IROp, IRParallel, IRParam, IRRange
from tack.ir.types import DTYPES, ScalarType, dtype_of
from tack.ir.typing_errors import fixed_array
from tack.lang.ast_context import Scope
from tack.lang.ast_inline import InlineLowering, check_annotations
from tack.lang.bindings import UNBOUND, CallBindings, builtin_name
from tack.lang.call_shape import CallShape
from tack.lang.device_class import Template
from tack.lang.source import Parsed

__all__ = ["lower_kernel"]

_ONE_LOOP = "A kernel is one `for` loop over range(...) or tack.ndindex(...), directly in its body."
_MAX_DIMS = 4


def lower_kernel(fn: FunctionType, parsed: Parsed, bindings: CallBindings, call: CallShape | None = None) -> IRFunc:
    """The template of kernel `fn` for calls of this shape. Errors name the kernel and the place, and say what to write."""
    return KernelLowering(fn, parsed, bindings, call).lower()


class KernelLowering(InlineLowering):
    """Lowers one kernel."""

    def __init__(self, fn: FunctionType, parsed: Parsed, bindings: CallBindings, call: CallShape | None) -> None:
        params = parsed.params if call is None else call.names
        super().__init__(fn.__name__, bindings, Scope(fn, parsed, "", is_kernel=True), params)
        self.call = call
        self.elements = {} if call is None else call.elements
        self.templates: Mapping[int, Template] = {} if call is None else call.templates
        self.after = False

    def lower(self) -> IRFunc:
        """The whole kernel."""
        parsed = self.scope.parsed
        check_annotations(self, parsed)
        loop, before, after = self._split(parsed.node.body)
        self._enter_parameters(loop)
        self.block(before)
        outside = self.scope.vars.keys() | self.scope.objects.keys()
        dims, names = self._bounds(loop)
        prologue = self.out
        self.out = []
        self.prologue = False
        self.with_loop_variables(names, loop)
        body = tuple(self.out)
        self.out = []
        self.prologue = True
        if after:
            self._check_carried(loop, after, outside)
        result = self._after(after)
        return IRFunc(
            name=self.kernel,
            params=self._parameters(),
            prologue=tuple(prologue),
            loop=IRParallel(dims, body, self.span(loop.target)),
            locals=tuple(self.locals.values()),
            arrays=tuple(self.arrays.values()),
            ranks=tuple(self.ranks),
            epilogue=tuple(self.out) if result is not None else (),
            result=result,
            span=parsed.name_span(),
        )

    def _parameters(self) -> tuple[IRParam, ...]:
        """The parameters of the template; an object is the parameters it holds."""
        spec = self.scope.parsed.node.args
        params: list[IRParam] = []
        for index, argument in enumerate((*spec.posonlyargs, *spec.args)):
            names = self.templates[index].names if index in self.templates else (argument.arg,)
            span = self.span(argument)
            params += (IRParam(name, span=span, element=self.elements.get(name, ())) for name in names)
        return tuple(params)

    # --------------------------------------------------------------------------------------------- the one loop

    def _split(self, body: list[ast.stmt]) -> tuple[ast.For, list[ast.stmt], list[ast.stmt]]:
        """The parallel loop, the statements before it and those after it (K1)."""
        loops = [k for k, statement in enumerate(body) if isinstance(statement, ast.For)]
        if not loops:
            nested = next((n for s in body for n in ast.walk(s) if isinstance(n, ast.For)), None)
            if nested is not None:
                raise self.unsupported(self._head(nested), "the parallel loop stands inside another statement", _ONE_LOOP)
            serial = _ONE_LOOP.removesuffix(".") + "; for one serial step write `for _ in range(1):`."
            raise self.unsupported(self.name_span(), "it has no parallel loop", serial)
        if len(loops) > 1:
            remedy = "Move it into a kernel of its own, or put both loops into one."
            raise self.unsupported(self._head(body[loops[1]]), "a second loop beside the parallel loop", remedy)
        at = loops[0]
        loop = body[at]
        assert isinstance(loop, ast.For)
        return loop, body[:at], body[at + 1 :]

    def _head(self, node: ast.stmt) -> Span:
        """The place of a loop's first line, without its body."""
        whole = self.span(node)
        last = node.iter if isinstance(node, ast.For) else node
        end = self.span(last)
        return replace(whole, end_line=end.end_line, end_col=end.end_col)

    def _enter_parameters(self, loop: ast.For) -> None:
        """Parameters stand for themselves; one that is assigned becomes a local that starts with its value (N5)."""
        parsed = self.scope.parsed
        own = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        arguments = parsed.node.args
        for index, argument in enumerate((*arguments.posonlyargs, *arguments.args)):
            name = argument.arg
            if index in self.templates:
                instance = self.scope.objects[name] = self.templates[index].instance
                if name in parsed.stores or name in parsed.loop_names:
                    raise self.object_is_fixed(instance, name, self.first_store(name))
                continue
            self.scope.vars[name] = IRName(name)
            if name in parsed.stores or parsed.loop_names[name] > own.count(name):
                store = self.first_store(name)
                if self.is_array(IRName(name)) and not self.is_array_later(store):
                    raise self.error(TypeError, store, *fixed_array(name))
                local = self.fresh(name)
                self.locals[local] = IRLocal(local, name)
                self.out.append(IRAssign(local, IRName(name, None, self.span(store)), self.span(argument)))
                self.scope.vars[name] = IRName(local)

    def _bounds(self, loop: ast.For) -> tuple[tuple[IRRange, ...], dict[str, tuple[str, ...]]]:
        """The ranges of the parallel loop, and the IR names that each of its variables stands for."""
        span = self.span(loop.iter)
        kind = self.loop_kind(loop)
        if kind == "range" and isinstance(loop.target, ast.Tuple):
            raise self.unsupported(loop.target, "range(...) gives one index", "Write tack.ndindex(n, m) for two.")
        if kind == "object":
            parts = self._object_bounds(loop)
        else:
            parts = [self.range_parts(loop)] if kind == "range" else self._ndindex(loop)
        of = ast.unparse(loop.iter) if kind == "object" else "tack.ndindex"
        variables, named = self.index_variables(loop, len(parts), of)
        dims = [IRRange(var, start, end, step, span) for var, (start, end, step) in zip(variables, parts, strict=True)]
        return tuple(dims[::-1] if kind == "object" else dims), named

    def _object_bounds(self, loop: ast.For) -> list[tuple[IRExpr, IRExpr, IRExpr]]:
        """The bounds of `for c in obj`, the fastest first."""
        owner = self.instance(loop.iter)
        assert owner is not None
        span = self.span(loop.iter)
        sizes = self.object_sizes(owner, loop.iter)
        return [(IRConst(0, None, span), size, IRConst(1, None, span)) for size in sizes]

    def _ndindex(self, loop: ast.For) -> list[tuple[IRExpr, IRExpr, IRExpr]]:
        call = loop.iter
        assert isinstance(call, ast.Call)
        if call.keywords:
            raise self.error(TypeError, call.keywords[0], "tack.ndindex takes no keyword arguments", "Pass sizes by position.")
        count = len(call.args)
        if not 1 <= count <= _MAX_DIMS:
            remedy = "Flatten some of them: `tack.ndindex(n, m * k)`."
            raise self.error(TypeError, call, f"tack.ndindex takes 1 to {_MAX_DIMS} sizes, not {count}", remedy)
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        for part in call.args:
            if isinstance(part, ast.Attribute) and part.attr == "shape":
                array = ast.unparse(part)
                remedy = f"Write its sizes: `tack.ndindex({array}[0], {array}[1])`."
                raise self.unsupported(part, "a shape as a whole is no size of tack.ndindex", remedy)
            if isinstance(part, ast.Tuple):
                if len(part.elts) != 2:
                    raise self.error(TypeError, part, "a range of tack.ndindex is a pair (start, end)", "Write two numbers.")
                pairs.append((part.elts[0], part.elts[1]))
            else:
                pairs.append((None, part))
        flat = [node for pair in pairs for node in pair if node is not None]
        values = iter(self.in_order([lambda node=node: self.expr(node) for node in flat]))
        parts: list[tuple[IRExpr, IRExpr, IRExpr]] = []
        for (start, _), node in zip(pairs, call.args, strict=True):
            span = self.span(node)
            first = next(values) if start is not None else IRConst(0, None, span)
            parts.append((first, next(values), IRConst(1, None, span)))
        return parts

    # ------------------------------------------------------------------------------------------ outside the loop

    def serial_loop(self, node: ast.For) -> None:
        if self.prologue and self.scope.is_kernel:
            raise self.unsupported(self._head(node), "a `for` loop inside a statement outside the parallel loop", _ONE_LOOP)
        super().serial_loop(node)

    def return_(self, node: ast.Return) -> None:
        if not self.scope.is_kernel:
            super().return_(node)
        elif not self.prologue:
            remedy = "Write `continue` to end one iteration."
            if not _is_none(node.value):
                remedy = "Store the value in an array: `out[i] = value`; `continue` ends one iteration."
            raise self.unsupported(node, "`return` in the parallel loop", remedy)
        elif self.after:
            raise self.unsupported(node, "`return` before the end of the kernel", "Write one `return`, as the last line.")
        else:
            raise self.unsupported(
                node, "`return` before the parallel loop", "Call the kernel under an `if`, or let the loop be empty."
            )

    def _after(self, statements: list[ast.stmt]) -> IRExpr | None:
        """What follows the loop: nothing, or what the final `return` of a value needs, and that value (K6)."""
        self.after = True
        annotation = self.scope.parsed.node.returns
        last = statements[-1] if statements else None
        if isinstance(last, ast.Return) and not _is_none(last.value):
            self.block(statements[:-1])
            return self._result(last, annotation)
        for statement in statements:
            if isinstance(statement, ast.Return) and statement is last:
                continue
            if isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                continue
            self.statement(statement)  # stores and loops are refused with their own words
            remedy = "Move it into the loop, or before it."
            raise self.unsupported(statement, "statements after the parallel loop serve only a `return` of a value", remedy)
        if annotation is not None and not _is_none(annotation):
            raise self.unsupported(annotation, "a return annotation without a `return`", "Leave it out, or write `-> None`.")
        return None

    def _check_carried(self, loop: ast.For, after: list[ast.stmt], outside: set[str]) -> None:
        """Refuse a result that reads what only iterations assign, or what each updates as if for the next (K3)."""
        named = [n for statement in after for n in ast.walk(statement) if isinstance(n, ast.Name)]
        again = {n.id for n in named if isinstance(n.ctx, ast.Store)}
        assigned = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - again
        remedy = "Store it in an array, or combine values by an atomic: `tack.atomic_add(total, 0, value)`, `return total[0]`."
        for name in (n for n in named if n.id in assigned - outside - self.scope.parsed.loop_names.keys()):
            message = f"local '{name.id}' is assigned in the loop: each iteration has its own, and none is left afterwards"
            raise self.error(NameError, name, message, remedy)
        read = {n.id for n in named} & assigned & outside
        for statement in ast.walk(loop):
            for name in _updated(statement) & read if isinstance(statement, ast.stmt) else ():
                message = f"each iteration updates its own '{name}': after the loop '{name}' is what it was before"
                raise self.unsupported(statement, message, remedy)

    def _result(self, node: ast.Return, annotation: ast.expr | None) -> IRExpr:
        """The value of the kernel, as what the annotation says."""
        assert node.value is not None
        if annotation is None or _is_none(annotation):
            no = "it has no return annotation" if annotation is None else "its return annotation is None"
            message = f"a kernel that returns a value says its type: {no}"
            remedy = "Write `-> float` (or int, bool, a Tack scalar type), or store it in an array."
            raise self.unsupported(node, message, remedy)
        kind = self._result_type(annotation)
        if isinstance(node.value, ast.Tuple):
            raise self.unsupported(node.value, "a kernel returns one number", "Store the values in an array.")
        value, span = self.expr(node.value), self.span(node.value)
        return IRCast(value, kind, span) if isinstance(kind, ScalarType) else IROp(kind, (value,), None, span)

    def _result_type(self, node: ast.expr) -> ScalarType | str:
        """A scalar type, or the conversion that Python's type of that name is in kernels."""
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else self.dotted(node)
        found: Any = UNBOUND
        if text is not None:
            try:
                found = self.bindings.resolve(self.scope.owner, text)
            except LookupError:
                pass
        name = text if found is UNBOUND else builtin_name(found)
        if name in ("int", "float", "bool"):
            return f"to_{name}"
        numpy = isinstance(found, type) and issubclass(found, np.generic)
        kind = dtype_of(found) if numpy or isinstance(found, ScalarType) else None
        if kind is None:
            message = f"`{ast.unparse(node)}` is no type of a kernel's value"
            raise self.unsupported(node, message, f"Write float, int, bool, or one of {', '.join(map(str, DTYPES))}.")
        return kind


def _updated(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns a value made of their own."""
    if isinstance(statement, ast.AugAssign):
        return {statement.target.id} if isinstance(statement.target, ast.Name) else set()
    if not isinstance(statement, ast.Assign):
        return set()
    named = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
    stored = {n.id for n in named if isinstance(n.ctx, ast.Store)}
    return stored & {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value in (None, "None"))
