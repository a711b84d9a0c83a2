"""A kernel as a whole: its prologue and its one parallel loop (K1, K2, K3, K5, K6).

The result is the "lowered" template of `ir.nodes`; nothing here depends on the arguments of a call.
"""

from __future__ import annotations

import ast
from types import FunctionType

from tack.errors import Span
from tack.ir.nodes import IRAssign, IRConst, IRExpr, IRFunc, IRLocal, IRName, IRParallel, IRParam, IRRange
from tack.lang.ast_context import Scope
from tack.lang.ast_inline import InlineLowering, check_annotations
from tack.lang.bindings import CallBindings
from tack.lang.source import Parsed

__all__ = ["lower_kernel"]

_ONE_LOOP = "A kernel is one `for` loop over range(...) or tack.ndindex(...), directly in its body."
_MAX_DIMS = 4


def lower_kernel(fn: FunctionType, parsed: Parsed, bindings: CallBindings) -> IRFunc:
    """The template of kernel `fn`. Errors name the kernel and the place, and say what to write."""
    return KernelLowering(fn, parsed, bindings).lower()


class KernelLowering(InlineLowering):
    """Lowers one kernel."""

    def __init__(self, fn: FunctionType, parsed: Parsed, bindings: CallBindings) -> None:
        super().__init__(fn.__name__, bindings, Scope(fn, parsed, "", is_kernel=True))

    def lower(self) -> IRFunc:
        """The whole kernel."""
        parsed = self.scope.parsed
        check_annotations(self, parsed)
        loop, before, after = self._split(parsed.node.body)
        self._enter_parameters(loop)
        self.block(before)
        dims, names = self._bounds(loop)
        prologue = self.out
        self.out = []
        self.prologue = False
        self.with_loop_variables(names, loop)
        body = tuple(self.out)
        self.out = []
        self.prologue = True
        self._after(after)
        arguments = parsed.node.args
        params = tuple(IRParam(a.arg, span=self.span(a)) for a in (*arguments.posonlyargs, *arguments.args))
        return IRFunc(
            name=self.kernel,
            params=params,
            prologue=tuple(prologue),
            loop=IRParallel(dims, body, self.span(loop.target)),
            locals=tuple(self.locals.values()),
            ranks=tuple(self.ranks),
            span=parsed.name_span(),
        )

    # --------------------------------------------------------------------------------------------- the one loop

    def _split(self, body: list[ast.stmt]) -> tuple[ast.For, list[ast.stmt], list[ast.stmt]]:
        """The parallel loop, the statements before it and those after it (K1)."""
        loops = [k for k, statement in enumerate(body) if isinstance(statement, ast.For)]
        if not loops:
            nested = next((n for s in body for n in ast.walk(s) if isinstance(n, ast.For)), None)
            if nested is not None:
                raise self.unsupported(self._head(nested), "the parallel loop stands inside another statement", _ONE_LOOP)
            raise self.unsupported(self.scope.parsed.name_span(), "it has no parallel loop", _ONE_LOOP)
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
        return Span(whole.source, whole.line, whole.col, end.end_line, end.end_col)

    def _enter_parameters(self, loop: ast.For) -> None:
        """Parameters stand for themselves; one that is assigned becomes a local that starts with its value (N5)."""
        parsed = self.scope.parsed
        own = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        arguments = parsed.node.args
        for argument in (*arguments.posonlyargs, *arguments.args):
            name = argument.arg
            self.scope.vars[name] = IRName(name)
            if name in parsed.stores or parsed.loop_names[name] > own.count(name):
                local = self.fresh(name)
                self.locals[local] = IRLocal(local, name)
                span = self.span(argument)
                self.out.append(IRAssign(local, IRName(name, None, span), span))
                self.scope.vars[name] = IRName(local)

    def _bounds(self, loop: ast.For) -> tuple[tuple[IRRange, ...], dict[str, str]]:
        """The ranges of the parallel loop, and the IR name of each of its variables."""
        span = self.span(loop.iter)
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(set(names)) < len(names):
            raise self.unsupported(loop.target, "two loop variables of one name", "Name them apart.")
        if self.loop_kind(loop) == "range":
            if isinstance(loop.target, ast.Tuple):
                raise self.unsupported(loop.target, "range(...) gives one index", "Write tack.ndindex(n, m) for two.")
            parts = [self.range_parts(loop)]
        else:
            parts = self._ndindex(loop, len(names), isinstance(loop.target, ast.Tuple))
        named = {name: self.fresh(name) for name in names}
        dims = tuple(IRRange(named[n], start, end, step, span) for n, (start, end, step) in zip(names, parts, strict=True))
        return dims, named

    def _ndindex(self, loop: ast.For, wanted: int, unpacked: bool) -> list[tuple[IRExpr, IRExpr, IRExpr]]:
        call = loop.iter
        assert isinstance(call, ast.Call)
        if call.keywords:
            raise self.error(TypeError, call.keywords[0], "tack.ndindex takes no keyword arguments", "Pass sizes by position.")
        count = len(call.args)
        if not 1 <= count <= _MAX_DIMS:
            raise self.error(TypeError, call, f"tack.ndindex takes 1 to {_MAX_DIMS} sizes, not {count}")
        if count > 1 and not unpacked:
            names = ", ".join("ijkl"[:count])
            message = f"tack.ndindex of {count} sizes gives {count} indices, and this version of Tack has no integer vectors yet"
            raise self.unsupported(loop.target, message, f"Write `for {names} in tack.ndindex(...)`.")
        if count != wanted:
            raise self.error(ValueError, loop.target, f"{wanted} loop variables for the {count} sizes of tack.ndindex")
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        for part in call.args:
            if isinstance(part, ast.Tuple):
                if len(part.elts) != 2:
                    raise self.error(TypeError, part, "a range of tack.ndindex is a pair (start, end)")
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
            raise self.unsupported(node, "`return` in the parallel loop", remedy)
        else:
            raise self.unsupported(
                node, "`return` before the parallel loop", "Call the kernel under an `if`, or let the loop be empty."
            )

    def _after(self, statements: list[ast.stmt]) -> None:
        """What follows the loop: nothing but a plain `return` at the end (K6)."""
        annotation = self.scope.parsed.node.returns
        for statement in statements:
            if isinstance(statement, ast.Return):
                value = statement.value
                if value is None or (isinstance(value, ast.Constant) and value.value is None):
                    if statement is not statements[-1]:
                        raise self.unsupported(statement, "`return` before the end of the kernel", "Leave it out.")
                    continue
                raise self._returned(statement, annotation)
            if isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                continue
            self.statement(statement)  # stores and loops are refused with their own words
            remedy = "Move it into the loop, or before it."
            raise self.unsupported(statement, "statements after the parallel loop serve only a `return` of a value", remedy)
        if annotation is not None and not (isinstance(annotation, ast.Constant) and annotation.value in (None, "None")):
            raise self.unsupported(annotation, "a return annotation without a `return`", "Leave it out, or write `-> None`.")

    def _returned(self, node: ast.Return, annotation: ast.expr | None) -> Exception:
        if annotation is None:
            message = "a kernel that returns a value says its type: it has no return annotation"
            return self.unsupported(
                node, message, "Write `-> float` (or int, bool, a Tack scalar type), or store it in an array."
            )
        message = "this version of Tack has no kernels that return a value yet"
        return self.unsupported(node, message, "Store the value in an array of one element.")
