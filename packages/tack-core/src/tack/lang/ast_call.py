"""Calls in a kernel: casts, functions of the op table, Python's builtins and `math`, and who may not be called.

Device functions go to `ast_inline`.
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from tack.ir.nodes import IRConst, IRExpr, IRName, IROp
from tack.ir.ops import MATH_NAMES, OPS
from tack.ir.types import DTYPES, ELEMENT_TYPES, ElementType, MatrixType, ScalarType, VectorType, mat, vec
from tack.ir.typing_errors import bracketed
from tack.lang.ast_expr import ExprLowering
from tack.lang.ast_print import lower_print
from tack.lang.ast_texture import lower_sample
from tack.lang.bindings import UNBOUND, builtin_name, math_name
from tack.lang.constant import Constant
from tack.lang.func import Func
from tack.lang.intrinsics import INTRINSICS, Intrinsic
from tack.lang.remedies import BUILTINS, CLASS_METHOD, HELPERS, did_you_mean, from_library, numpy_remedy
from tack.lang.values import METHODS, Value, Vector

__all__ = ["CallLowering"]

_LOOPS = ("range", "ndindex")
_MAKERS = ("tack.zeros", "tack.ones", "tack.empty", "tack.full", "tack.array")
_HOST = "Call it before the launch, and pass what it gives."
_VECTOR_TYPES = "Write tack.vec(3, tack.f32) or tack.mat(2, 3, tack.f32), with literal sizes."


class CallLowering(ExprLowering):
    """Lowers calls to the values they give."""

    def call_values(self, node: ast.Call) -> list[Value]:
        method = self.method(node)
        if method is not None:
            return self.inline(method[0], node, method[1])
        texture = self._sampled(node)
        if texture is not None:
            return [lower_sample(self, texture, node)]
        vector = self._receiver(node)
        if vector is not None:
            return [self.method_value(vector, node)]
        target = self.callee(node)
        if isinstance(target, Func):
            return self.inline(target, node)
        if isinstance(target, ScalarType):
            (value,) = self._arguments(node, str(target), 1)
            return [self.cast(target, value, self.span(node))]
        if isinstance(target, (VectorType, MatrixType)):
            return [self.construct(target, node)]
        if target.memory:
            return self.memory_call(target, node)
        if target is INTRINSICS["print"]:
            lower_print(self, node)
            return []
        return [self._intrinsic(target, node)]

    def values(self, node: ast.expr) -> list[Value]:
        if isinstance(node, ast.Tuple):
            return self.in_order([lambda part=part: self.value(part) for part in node.elts])
        return self.call_values(node) if isinstance(node, ast.Call) else [self.value(node)]

    def _receiver(self, node: ast.Call) -> Vector | None:
        """The vector or matrix whose method a call calls; None for other calls."""
        func = node.func
        if not isinstance(func, ast.Attribute) or (func.attr not in METHODS and self.dotted(func) is not None):
            return None
        return self.vector_base(func.value)

    def _made_type(self, node: ast.Call) -> VectorType | MatrixType | None:
        """The type that `tack.vec(n, dtype)` or `tack.mat(rows, cols, dtype)` gives; None for other calls."""
        target: Any = self.lookup(node.func) if self.dotted(node.func) is not None else None
        if target is not vec and target is not mat:
            return None
        sizes: list[Any] = []
        dtypes: list[Any] = []
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            dotted = self.dotted(part)
            found = self.lookup(part) if dotted is not None else UNBOUND
            if found is UNBOUND or isinstance(found, Constant):
                size = self.expr(part)
                if not (isinstance(size, IRConst) and isinstance(size.value, int)):
                    message = "the size of a vector type is an integer literal or constant"
                    raise self.error(TypeError, part, message, _VECTOR_TYPES)
                sizes.append(size.value)
            else:
                dtypes.append(found)
        try:
            return target(*sizes, *dtypes)
        except (TypeError, ValueError) as error:
            found = getattr(error, "diagnostic", None)
            message = str(error) if found is None else found.message
            remedy = "" if found is None else found.remedy
            raise self.error(type(error), node, message, remedy or _VECTOR_TYPES) from None

    def _sampled(self, node: ast.Call) -> str | None:
        """The parameter of the texture that a call `tex.sample(...)` samples; None for other calls."""
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr != "sample":
            return None
        if isinstance(func.value, ast.Name):
            bound = self.scope.vars.get(func.value.id)
            return bound.name if isinstance(bound, IRName) and bound.name in self.params else None
        return self.member_array(func.value) if isinstance(func.value, ast.Attribute) else None

    def _bitcast(self, node: ast.Call) -> Value:
        self._check_arguments(node, "bitcast", 2)
        dtype = self.lookup(node.args[0])
        if not (isinstance(dtype, ScalarType) and dtype in DTYPES):
            message = "the first argument of bitcast() is a Tack scalar type"
            raise self.error(TypeError, node.args[0], message, "Write tack.bitcast(tack.u32, x).")
        span = self.span(node)

        def made(args: tuple[IRExpr, ...]) -> IRExpr:
            return IROp("bitcast", args, dtype, span)

        return self.per_component((self.value(node.args[1]),), made, "bitcast()", span)

    def callee(self, node: ast.Call) -> Func | ElementType | Intrinsic:
        """What a call calls; everything that kernels cannot call is refused here."""
        func = node.func
        dotted = self.dotted(func)
        if dotted is None:
            made = self._made_type(func) if isinstance(func, ast.Call) else None
            if made is not None:
                return made
            raise self._no_function(node)
        value = self.lookup(func)
        if value is UNBOUND:
            value = INTRINSICS.get(dotted) or ELEMENT_TYPES.get(dotted, UNBOUND)
            if value is UNBOUND:
                name = dotted.partition(".")[0]
                if "." not in dotted and name in _builtin_names():
                    raise self._refused(node, f"Python's `{name}`", BUILTINS.get(name, ""))
                raise self.unknown(func, called=True)
        if isinstance(value, Intrinsic):
            return value
        if isinstance(value, Func):
            return value
        if (isinstance(value, ScalarType) and value in DTYPES) or isinstance(value, (VectorType, MatrixType)):
            return value
        if value is vec or value is mat:
            remedy = f"Call the type to make a value: `{ast.unparse(node)}(...)`."
            raise self.error(TypeError, node, f"`{ast.unparse(node)}` is a type and no value", remedy)
        name = builtin_name(value) or math_name(value)
        if name is not None and name in INTRINSICS:
            return INTRINSICS[name]
        raise self._refused_object(node, dotted, value)

    # ------------------------------------------------------------------------------------------------- intrinsics

    def _intrinsic(self, target: Intrinsic, node: ast.Call) -> Value:
        name = target.__name__
        if name in _LOOPS:
            remedy = "Write `for i in range(n):`." if name == "range" else "Write `for i, j in tack.ndindex(n, m):`."
            raise self.unsupported(node, f"`{name}(...)` stands only in the head of a `for` loop", remedy)
        if name == "len":
            self._check_arguments(node, name, 1)
            return self.size_of(self.array(node.args[0]), 0, self.span(node))
        if name == "select":
            self._check_arguments(node, name, 3)
            test, a, b = node.args
            chosen, *args = self.in_order((lambda: self._select_test(test), lambda: self.value(a), lambda: self.value(b)))
            return self.select(chosen, args, self.span(node))
        if name in ("any", "all"):
            self._check_arguments(node, name, 1)
            value = self.value(node.args[0])
            if self.is_array(value):
                raise self.error(TypeError, node, f"{name}() takes a mask, not an array", "Test its elements in a loop.")
            return self.reduced(name, value, node)
        if name == "bitcast":
            return self._bitcast(node)
        row = OPS[target.op]
        return self.elementwise(target.op, self._arguments(node, name, row.arity), self.span(node))

    def _select_test(self, node: ast.expr) -> Value:
        return self.cond(node) if isinstance(node, ast.BoolOp) else self.value(node)

    def _arguments(self, node: ast.Call, name: str, arity: int) -> list[Value]:
        self._check_arguments(node, name, arity)
        return self.in_order([lambda part=part: self.value(part) for part in node.args])

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
        remedy = f"Write `{_example(name, arity)}`."
        if arity == -2 and count == 1:
            remedy = f"Write `{name}(a, b)`; of a vector's components `v.{name}()`; compare an array's elements in a loop."
        if name == "round" and count == 2:
            remedy = "Scale the value: `round(x * 100.0) / 100.0`."
        raise self.error(TypeError, node, f"{name}() takes {wants}, not {count}", remedy)

    # --------------------------------------------------------------------------------------------------- refusals

    def _no_function(self, node: ast.Call) -> Exception:
        func = node.func
        if isinstance(func, ast.Name):
            name, owner = func.id, self.scope.objects.get(func.id)
            if owner is not None:
                message = f"'{name}' is an object of class {owner.cls.__name__} and no function"
                return self.error(TypeError, func, message, f"Call one of its methods: `{name}.method(...)`.")
            if self.is_array(self.scope.vars.get(name)):
                return self.error(TypeError, func, f"'{name}' is an array and no function", f"Write brackets: `{name}[i]`.")
            what = f"'{name}' is a parameter or local and no function"
            return self.unsupported(node, what, "Functions come from the kernel's closure, its globals or its namespace.")
        if isinstance(func, ast.Attribute):
            return self.no_attribute(func, node)
        return self.unsupported(node, "only functions can be called", "Call a function by its name.")

    def _refused(self, node: ast.Call, what: str, remedy: str) -> Exception:
        remedy = remedy or "Make it a device function with @tack.func, or compute it before the launch and pass it."
        return self.unsupported(node, f"{what} cannot be called in kernels", remedy)

    def _refused_object(self, node: ast.Call, dotted: str, value: Any) -> Exception:
        if isinstance(getattr(value, "__func__", None), Func):
            message = f"kernels do not see `{dotted}`, a class method"
            return self.error(TypeError, node.func, message, CLASS_METHOD)
        given = ast.unparse(node.args[0]) if len(node.args) == 1 else "x"
        remedy = numpy_remedy(value, MATH_NAMES, given, bracketed(given))
        if remedy is not None and dotted in INTRINSICS:
            remedy = f"Write tack.math.{dotted}(...): here, the name stands for NumPy's."
        if remedy is not None:
            return self._refused(node, f"NumPy's `{dotted}`", remedy)
        if isinstance(getattr(value, "_ir_cache", None), dict):
            return self._refused(node, f"kernel `{dotted}`", "Move the shared part into a @tack.func function and call that.")
        if math_name(value) is not None:
            name = str(value.__name__)
            hint = f"Write tack.math.{name}(...)." if name in HELPERS else did_you_mean(name, MATH_NAMES)
            hint = hint or "Write it out in a @tack.func function, or compute it before the launch and pass it."
            return self._refused(node, f"`math.{name}`", hint)
        if builtin_name(value) is not None:
            return self._refused(node, f"Python's `{value.__name__}`", BUILTINS.get(value.__name__, ""))
        if isinstance(value, type):
            return self._refused(node, f"class `{dotted}`", "Kernels make no objects; use numbers and arrays.")
        if isinstance(module := getattr(value, "__module__", None), str) and module.partition(".")[0] == "tack":
            made = "Write `t = tack.local_array(dtype, n)` for an array of each iteration's own." if dotted in _MAKERS else _HOST
            return self._refused(node, f"`{dotted}`, a function for Python,", made)
        if not callable(value):
            message = f"'{dotted}' is a {type(value).__name__} and no function"
            return self.error(TypeError, node, message, "Leave the parentheses out, or call a @tack.func function.")
        remedy = from_library(dotted, value) or ("" if isinstance(value, FunctionType) else _HOST)
        return self._refused(node, f"`{dotted}`, an ordinary Python function,", remedy)


def _example(name: str, arity: int) -> str:
    """How a function is called, with the names of its documentation where it gives them."""
    intrinsic = INTRINSICS.get(name)
    head, colon, _ = (intrinsic.__doc__ or "").partition(":") if intrinsic is not None else ("", "", "")
    if colon and head.startswith(f"{name}("):
        return f"tack.{head}" if intrinsic is not None and intrinsic.memory else head
    return f"{name}({', '.join('abc'[: abs(arity)])})"


def _builtin_names() -> frozenset[str]:
    import builtins

    return frozenset(vars(builtins))
