"""Calls in a kernel: casts, functions of the op table, Python's builtins and `math`, and who may not be called.

Device functions go to `ast_inline`.
"""

from __future__ import annotations

import ast
from typing import Any

from tack.ir.nodes import IRCast, IRDimSize, IRExpr, IROp
from tack.ir.ops import MATH_NAMES, OPS
from tack.ir.types import DTYPES, ScalarType
from tack.lang.ast_expr import ExprLowering
from tack.lang.bindings import UNBOUND, builtin_name, did_you_mean, math_name, numpy_remedy
from tack.lang.func import Func
from tack.lang.intrinsics import INTRINSICS, Intrinsic

__all__ = ["CallLowering"]

_LOOPS = ("range", "ndindex")


class CallLowering(ExprLowering):
    """Lowers calls to the values they give."""

    def call_values(self, node: ast.Call) -> list[IRExpr]:
        target = self.callee(node)
        if isinstance(target, Func):
            return self.inline(target, node)
        if isinstance(target, ScalarType):
            (value,) = self._arguments(node, str(target), 1)
            return [IRCast(value, target, self.span(node))]
        return [self._intrinsic(target, node)]

    def values(self, node: ast.expr) -> list[IRExpr]:
        if isinstance(node, ast.Tuple):
            return self.in_order([lambda part=part: self.expr(part) for part in node.elts])
        return self.call_values(node) if isinstance(node, ast.Call) else [self.expr(node)]

    def callee(self, node: ast.Call) -> Func | ScalarType | Intrinsic:
        """What a call calls; everything that kernels cannot call is refused here."""
        func = node.func
        dotted = self.dotted(func)
        if dotted is None:
            raise self._no_function(node)
        value = self.lookup(func)
        if value is UNBOUND:
            value = INTRINSICS.get(dotted, UNBOUND)
            if value is UNBOUND:
                name = dotted.partition(".")[0]
                if "." not in dotted and name in _builtin_names():
                    raise self._refused(node, f"Python's `{name}`", "")
                raise self._unknown(func, name)
        if isinstance(value, Intrinsic):
            return value
        if isinstance(value, Func):
            return value
        if isinstance(value, ScalarType) and value in DTYPES:
            return value
        name = builtin_name(value) or math_name(value)
        if name is not None and name in INTRINSICS:
            return INTRINSICS[name]
        raise self._refused_object(node, dotted, value)

    # ------------------------------------------------------------------------------------------------- intrinsics

    def _intrinsic(self, target: Intrinsic, node: ast.Call) -> IRExpr:
        name = target.__name__
        if target.later:
            raise self.unsupported(node, f"`{name}`: this version of Tack has no {target.later} yet")
        if name in _LOOPS:
            remedy = "Write `for i in range(n):`." if name == "range" else "Write `for i, j in tack.ndindex(n, m):`."
            raise self.unsupported(node, f"`{name}(...)` stands only in the head of a `for` loop", remedy)
        if name == "len":
            self._check_arguments(node, name, 1)
            return IRDimSize(self.array(node.args[0]), 0, None, self.span(node))
        if name == "select":
            self._check_arguments(node, name, 3)
            test, a, b = node.args
            args = self.in_order((lambda: self.cond(test), lambda: self.expr(a), lambda: self.expr(b)))
            return IROp("select", tuple(args), None, self.span(node))
        row = OPS[target.op]
        return IROp(target.op, tuple(self._arguments(node, name, row.arity)), None, self.span(node))

    def _arguments(self, node: ast.Call, name: str, arity: int) -> list[IRExpr]:
        self._check_arguments(node, name, arity)
        return self.in_order([lambda part=part: self.expr(part) for part in node.args])

    def _check_arguments(self, node: ast.Call, name: str, arity: int) -> None:
        """TypeError unless the call has `arity` positional arguments (-2: two or more) and no keywords."""
        if node.keywords:
            keyword = node.keywords[0].arg
            raise self.error(
                TypeError, node.keywords[0], f"{name}() takes no keyword argument '{keyword}'", "Pass it by position."
            )
        count = len(node.args)
        if count == arity or (arity == -2 and count >= 2):
            return
        wants = "two or more arguments" if arity == -2 else "one argument" if arity == 1 else f"{arity} arguments"
        remedy = f"Write {name}(a, b)." if arity == -2 else ""
        if name == "round" and count == 2:
            remedy = "Scale the value: `round(x * 100.0) / 100.0`."
        raise self.error(TypeError, node, f"{name}() takes {wants}, not {count}", remedy)

    # --------------------------------------------------------------------------------------------------- refusals

    def _no_function(self, node: ast.Call) -> Exception:
        func = node.func
        if isinstance(func, ast.Name):
            what = f"'{func.id}' is a parameter or local and no function"
            return self.unsupported(node, what, "Functions come from the kernel's closure, its globals or its namespace.")
        if isinstance(func, ast.Attribute):
            remedy = "Write a function call instead of a method call."
            return self.unsupported(node, f"`.{func.attr}(...)`: numbers and arrays have no methods in kernels", remedy)
        return self.unsupported(node, "only functions can be called", "Call a function by its name.")

    def _refused(self, node: ast.Call, what: str, remedy: str) -> Exception:
        remedy = remedy or "Make it a device function with @tack.func, or compute it before the launch and pass it."
        return self.unsupported(node, f"{what} cannot be called in kernels", remedy)

    def _refused_object(self, node: ast.Call, dotted: str, value: Any) -> Exception:
        remedy = numpy_remedy(value, MATH_NAMES)
        if remedy is not None:
            return self._refused(node, f"NumPy's `{dotted}`", remedy)
        if isinstance(getattr(value, "_ir_cache", None), dict):
            return self._refused(node, f"kernel `{dotted}`", "Move the shared part into a @tack.func function and call that.")
        if math_name(value) is not None:
            hint = did_you_mean(str(value.__name__), list(MATH_NAMES))
            return self._refused(node, f"`math.{value.__name__}`", hint)
        if builtin_name(value) is not None:
            return self._refused(node, f"Python's `{value.__name__}`", "")
        if isinstance(value, type):
            return self._refused(node, f"class `{dotted}`", "Kernels make no objects; use numbers and arrays.")
        if not callable(value):
            return self.error(TypeError, node, f"'{dotted}' is a {type(value).__name__} and no function")
        return self._refused(node, f"`{dotted}`, an ordinary Python function,", "")


def _builtin_names() -> frozenset[str]:
    import builtins

    return frozenset(vars(builtins))
