"""Expressions of a kernel, as IR: operators, conditions, names, array elements and sizes (E1, N1, T7).

Calls are `ast_call`'s. Evaluation order is kept by `Context.in_order`; operands that write statements run under their condition.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tack.errors import Span
from tack.ir.nodes import IRCond, IRConst, IRDimSize, IRExpr, IRIf, IRLogic, IRName, IROp
from tack.ir.types import ScalarType, i64
from tack.lang.ast_class import SIZES, ClassLowering
from tack.lang.ast_context import at, is_fixed, is_truth, negated, truth
from tack.lang.bindings import MATH_CONSTANTS, UNBOUND, MissingAttribute, NotAModule
from tack.lang.constant import Constant
from tack.lang.func import Func
from tack.lang.intrinsics import INTRINSICS, Intrinsic
from tack.lang.remedies import did_you_mean, for_name
from tack.lang.texture import Texture3D
from tack.lang.values import Value, Vector, described

__all__ = ["BINARY", "ExprLowering"]

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "band", ast.BitOr: "bor", ast.BitXor: "bxor",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


class ExprLowering(ClassLowering):
    """Lowers expressions; `expr` where a number is needed, `cond` where any number serves as a condition."""

    def expr(self, node: ast.expr) -> IRExpr:
        return self.number(self.value(node), node)

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Constant():
                return self._constant(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
            case ast.Compare():
                return self._compare(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BoolOp():
                return self._bool_op(node, condition=False)
            case ast.IfExp():
                return self._if_expression(node)
            case ast.List():
                return self.list_value(node)
            case ast.Tuple():
                remedy = "Assign it to as many names, `a, b = x, y`, or write a list, `[x, y]`, which is a vector."
                if len(node.elts) == 1:
                    remedy = "Leave the comma at its end out."
                raise self.unsupported(node, "a tuple is no value here", remedy)
            case _:
                raise AssertionError(f"{type(node).__name__} has passed the check of the subset")

    def cond(self, node: ast.expr) -> IRExpr:
        if isinstance(node, ast.BoolOp):
            return self._bool_op(node, condition=True)
        return self.condition(self.value(node), node)

    # -------------------------------------------------------------------------------------------------- operators

    def _constant(self, node: ast.Constant) -> IRExpr:
        value = node.value
        if not isinstance(value, (bool, int, float)):
            what = "a string" if isinstance(value, str) else f"`{value!r}`"
            raise self.unsupported(node, f"{what} is not part of the kernel language", "Kernels compute with numbers and arrays.")
        return IRConst(value, None, self.span(node))

    def _binary(self, node: ast.BinOp) -> Value:
        """`a + b + c`, without recursion along the left side: sums in generated kernels are long."""
        chain = [node]
        while isinstance(node.left, ast.BinOp):
            node = node.left
            chain.append(node)
        value = self.value(node.left)
        for each in reversed(chain):
            left, right = self.in_order((lambda value=value: value, lambda each=each: self.value(each.right)))
            value = self.operation(each.op, left, right, self.span(each))
        return value

    def operation(self, op: ast.operator, left: Value, right: Value, span: Span) -> Value:
        """`left op right`."""
        if isinstance(op, ast.MatMult):
            return self.matmul(left, right, span)
        if isinstance(left, Vector) or isinstance(right, Vector):
            return self.elementwise(BINARY[type(op)], (left, right), span)
        return IROp(BINARY[type(op)], (left, right), None, span)

    def _unary(self, node: ast.UnaryOp) -> Value:
        span = self.span(node)
        if isinstance(node.op, ast.Not):
            test = self.cond(node.operand) if isinstance(node.operand, ast.BoolOp) else self.value(node.operand)
            return self.elementwise("not", (test,), span)
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return self.elementwise("neg", (value,), span)
        if isinstance(node.op, ast.Invert):
            return self.elementwise("invert", (value,), span)
        if is_truth(value.components[0] if isinstance(value, Vector) else value):
            return self.elementwise("add", (value, IRConst(0, None, span)), span)
        return self.per_component((value,), lambda args: self.apart(args[0]), "+", span)

    def _bool_op(self, node: ast.BoolOp, *, condition: bool) -> IRExpr:
        """`a and b and c`: an operand that writes statements runs them only where Python would evaluate it."""
        lower = self.cond if condition else self._operand_of_logic
        word = "and" if isinstance(node.op, ast.And) else "or"
        span = self.span(node)
        value = lower(node.values[0])
        for operand in node.values[1:]:
            value = self._logic(word, value, lambda operand=operand: lower(operand), span, condition=condition)
        return value

    def _operand_of_logic(self, node: ast.expr) -> IRExpr:
        value = self.value(node)
        if isinstance(value, Vector):
            remedy = "Combine masks with `&` and `|`, or write any(...) or all(...) around each."
            raise self.error(TypeError, node, f"`and` and `or` take conditions, not {described(value.shape)}", remedy)
        return value

    def _logic(self, word: Any, left: IRExpr, right: Any, span: Any, *, condition: bool) -> IRExpr:
        value, block = self.sub(right)
        if block:
            if not is_fixed(left):
                left = self.temporary(truth(left) if condition else left, "(condition)")
            self.out.append(IRIf(left if word == "and" else negated(left), block, (), span))
        return IRLogic(word, left, value, None, span)

    def _compare(self, node: ast.Compare) -> Value:
        span = self.span(node)
        chained = len(node.ops) > 1

        def operand(index: int) -> Value:  # the middle of a chain is evaluated once
            value = self.value(node.comparators[index])
            last = index + 1 == len(node.ops)
            return value if last or isinstance(value, Vector) or is_fixed(value) else self.temporary(value, "(operand)")

        left, right = self.in_order((lambda: self.value(node.left), lambda: operand(0)))
        compared = self.elementwise(_COMPARE[type(node.ops[0])], (left, right), span)
        if not chained:
            return compared
        if isinstance(left, Vector) or isinstance(right, Vector) or isinstance(compared, Vector):
            remedy = "Write the comparisons one by one, joined by `&`."
            raise self.error(TypeError, node, "a chain of comparisons of vectors", remedy)
        return self._chain(node, compared, right, operand)

    def _chain(self, node: ast.Compare, result: IRExpr, before: IRExpr, value: Callable[[int], Value]) -> IRExpr:
        """The further comparisons of a chain, each made only where those before it hold."""
        span = self.span(node)

        def operand(index: int) -> IRExpr:
            return self.number(value(index), node.comparators[index])

        for index in range(1, len(node.ops)):

            def link(index: int = index, before: IRExpr = before) -> tuple[IRExpr, IRExpr]:
                after = operand(index)
                return IROp(_COMPARE[type(node.ops[index])], (before, after), None, span), after

            (test, after), block = self.sub(link)
            if block:
                result = self.temporary(result, "(condition)")
                self.out.append(IRIf(result, block, (), span))
            result = IRLogic("and", result, test, None, span)
            before = after
        return result

    def _if_expression(self, node: ast.IfExp) -> Value:
        test = self.cond(node.test)
        then, then_block = self.sub(lambda: self.value(node.body))
        orelse, else_block = self.sub(lambda: self.value(node.orelse))
        span = self.span(node)
        if isinstance(then, Vector) or isinstance(orelse, Vector):
            return self.chosen(test, (then, then_block), (orelse, else_block), span)
        if then_block or else_block:
            if not is_fixed(test):
                test = self.temporary(truth(test), "(condition)")
            self.out.append(IRIf(test, then_block, else_block, span))
        return IRCond(test, then, orelse, None, span)

    # ------------------------------------------------------------------------------------------- arrays and sizes

    def _subscript(self, node: ast.Subscript) -> Value:
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and self._is_local_name(base.value):
            return self._size(node, base)
        vector = self.vector_base(base)
        if vector is not None:
            return self.component(vector, node)
        array = self.array(base)
        self.check_readable(array, base)
        return self.load(array, self.index(node), self.span(node))

    def vector_base(self, node: ast.expr) -> Vector | None:
        """The vector or matrix that `node` stands for where a component of it is named; None for anything else."""
        if isinstance(node, ast.Name) and self.is_bound(node.id):
            bound = self.scope.vars.get(node.id)
            return self.vector_at(bound, self.span(node)) if isinstance(bound, Vector) else None
        if isinstance(node, ast.Name):
            found = self.lookup(node)
            value = self.constant(found, node) if isinstance(found, Constant) else None
        elif not isinstance(node, ast.Attribute):
            value = self.value(node)
        elif self.instance(node.value) is not None:
            value = None if self.instance(node) is not None else self.member(node)
        else:
            inner = self.vector_base(node.value)
            if inner is not None:
                value = self.swizzle(inner, node)
            else:
                found = self.lookup(node)
                value = self.constant(found, node) if isinstance(found, Constant) else None
        return value if isinstance(value, Vector) else None

    def index(self, node: ast.Subscript) -> list[IRExpr]:
        """The index expressions of `a[i]` or `a[i, j]`, lowered in order; a vector is one for each component."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not parts:
            raise self.error(IndexError, node, "an empty index", "Give one index for each dimension.")
        values: list[Value] = self.in_order([lambda part=part: self.value(part) for part in parts])
        return [each for value in values for each in (value.components if isinstance(value, Vector) else (value,))]

    def array(self, node: ast.expr) -> str:
        """The array parameter that `node` names; everything else cannot be indexed."""
        if isinstance(node, ast.Subscript):
            message = "an element of an array is a value and no array"
            remedy = "Name the array itself: for `a[i][j]` of a 2-D array write `a[i, j]`, for the length of a row `a.shape[1]`."
            raise self.unsupported(node, message, remedy)
        if isinstance(node, ast.Attribute):
            array = self.member_array(node)
            if array is not None:
                return array
            self.value(node)  # which refuses most of them, in words of its own
        if not isinstance(node, ast.Name):
            remedy = "Name an array: a parameter or a local array. A list, `[x, y]`, is a vector, if it stands in a local."
            raise self.unsupported(node, "only arrays can be indexed or have a length", remedy)
        bound = self.scope.vars.get(node.id)
        if isinstance(bound, IRName) and (bound.name in self.params or bound.name in self.arrays):
            return bound.name
        if node.id in self.scope.objects:
            raise self.object_is_no_value(self.scope.objects[node.id], node)
        if self.is_bound(node.id):
            if self.is_array_later(node):
                message = f"local array '{node.id}' is used before it is declared"
                raise self.error(NameError, node, message, "Declare it before, in front of the loop perhaps.")
            remedy = "Arrays are parameters of the kernel; index those."
            if isinstance(bound, Vector):
                message = f"'{node.id}' is {described(bound.shape)} and no array"
                last = ", ".join(str(extent - 1) for extent in bound.shape)
                remedy = f"Its components are `{node.id}[{'0, 0' if len(bound.shape) == 2 else 0}]` to `{node.id}[{last}]`."
            elif node.id in self.scope.looping:
                message = f"'{node.id}' is a loop variable here and no array"
                remedy = "Index an array by it, `a[i]`, and let no array have its name."
            elif node.id in self.scope.parsed.params:
                message = f"'{node.id}' holds a number here (it is assigned, or was passed one), so it is no array"
                if not self.scope.is_kernel:
                    remedy = f"Pass the array itself: `{self.scope.call}(a)`, not one of its elements."
            else:
                message = f"local '{node.id}' is a number and no array"
            raise self.error(TypeError, node, message, remedy)
        found = self.lookup(node)
        if found is UNBOUND:
            raise self.unknown(node)
        remedy = "Pass the array as an argument."
        if isinstance(found, (list, tuple)):
            remedy = f"Pass the array as an argument, or, if it never changes, write `{node.id} = tack.constant(...)`."
        raise self.error(NameError, node, f"'{node.id}' is no parameter of this kernel", remedy)

    def _size(self, node: ast.Subscript, shape: ast.Attribute) -> IRExpr:
        array = self.array(shape.value)
        index = self.expr(node.slice) if not isinstance(node.slice, ast.Tuple) else None
        sign = 1
        if isinstance(index, IROp) and index.op == "neg":
            sign, index = -1, index.args[0]
        if not isinstance(index, IRConst) or isinstance(index.value, (bool, float)):
            remedy = "Write the dimension's number: `a.shape[0]`."
            raise self.unsupported(node, "an index of a shape is an integer literal or constant", remedy)
        return self.size_of(array, sign * index.value, self.span(node))

    def size_of(self, array: str, dim: Any, span: Span) -> IRExpr:
        """A size of an array: that of a local one is known here."""
        own = self.arrays.get(array)
        if own is None:
            return IRDimSize(array, dim, None, span)
        rank = len(own.shape)
        if isinstance(dim, int) and not -rank <= dim < rank:
            message = f"'{own.source_name}.shape[{dim}]' does not exist: '{own.source_name}' has {rank} dimension(s)"
            raise self.error(IndexError, span, message, f"Use an index below {rank}.")
        value = own.shape[dim] if isinstance(dim, int) else rank if dim == "ndim" else math.prod(own.shape)
        return IRConst(value, i64, span)

    def check_readable(self, array: str, node: ast.expr) -> None:
        """Refuse to read a local array outside the loop, where nothing is stored in it (K2)."""
        if self.prologue and array in self.arrays:
            name = self.arrays[array].source_name
            message = f"local array '{name}' is read outside the parallel loop, where it holds nothing"
            raise self.unsupported(node, message, "Store and read it inside the loop: each iteration has its own.")

    def array_is_no_value(self, node: ast.Name) -> Exception:
        """The error for a local array used as a number."""
        message = f"local array '{node.id}' is used as a number"
        return self.error(TypeError, node, message, f"Write an element, such as `{node.id}[0]`, or pass it to a function.")

    def is_array_later(self, name: ast.Name) -> bool:
        """Whether a statement of the function, not lowered yet, declares a local array of this name."""
        for node in ast.walk(self.scope.parsed.node):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name.id:
                if self.declared_by(node) is not None:
                    return True
        return False

    def argument(self, node: ast.expr) -> Value:
        """Lower an argument of a device function: a value, or a local array by its name (F1)."""
        bound = self.scope.vars.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(bound, IRName) and bound.name in self.arrays:
            return at(bound, self.span(node))
        if isinstance(node, ast.Name) and bound is None and not self.is_bound(node.id) and isinstance(self.lookup(node), Func):
            remedy = "Name it inside the function instead, or let an object of a device class hold it."
            raise self.error(TypeError, node, f"function '{node.id}' cannot be an argument", remedy)
        return self.value(node)

    def _is_local_name(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return self.instance(node.value) is not None
        return isinstance(node, ast.Name) and self.is_bound(node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        member = self.member(node)
        if member is not None:
            return member
        vector = self.vector_base(node.value)
        if vector is not None:
            return self.swizzle(vector, node)
        if self._is_local_name(node.value):
            if isinstance(self.passed(node.value), Texture3D):
                raise self.no_attribute(node)
            if node.attr == "ndim" or node.attr == "size":
                return self.size_of(self.array(node.value), node.attr, self.span(node))
            if node.attr == "shape":
                remedy = "Write `a.shape[0]`, or unpack it: `h, w = a.shape`."
                raise self.unsupported(node, "a shape as a whole is no value", remedy)
            raise self.no_attribute(node)
        dotted = self.dotted(node)
        if dotted is None:
            message = f"'.{node.attr}' of an expression is not part of the kernel language"
            raise self.unsupported(node, message, "Only vectors, arrays and modules have attributes.")
        value = self.lookup(node)
        if value is UNBOUND:
            raise self.unknown(node)
        if node.attr in MATH_CONSTANTS and self._is_math(node.value):
            return IRConst(float(getattr(math, node.attr)), None, self.span(node))
        return self._outer(node, dotted, value)

    def _is_math(self, node: ast.expr) -> bool:
        module = self.lookup(node)
        return module is math or (isinstance(module, ModuleType) and module.__name__ == "tack.math")

    # ------------------------------------------------------------------------------------------------------ names

    def _name(self, node: ast.Name) -> Value:
        bound = self.scope.vars.get(node.id)
        if isinstance(bound, Vector):
            return self.vector_at(bound, self.span(node))
        if bound is not None:
            if isinstance(bound, IRName) and bound.name in self.arrays:
                raise self.array_is_no_value(node)
            return at(bound, self.span(node))
        if node.id in self.scope.objects:
            raise self.object_is_no_value(self.scope.objects[node.id], node)
        parsed = self.scope.parsed
        if node.id in parsed.stores:
            local = self.variable(node.id, node)
            self.unassigned[local] = node
            return IRName(local, None, self.span(node))
        if node.id in parsed.loop_names:
            remedy = f"Assign a local before the loop, set it to `{node.id}` inside, and read that local."
            raise self.error(NameError, node, f"loop variable '{node.id}' exists only inside its loop", remedy)
        value = self.lookup(node)
        if value is UNBOUND:
            if node.id in INTRINSICS:
                raise self._outer(node, node.id, INTRINSICS[node.id])
            raise self.unknown(node)
        return self._outer(node, node.id, value)

    def dotted(self, node: ast.expr) -> str | None:
        """ "a.b.c" for a chain of names that starts at no parameter or local, else None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or self.is_bound(node.id):
            return None
        return ".".join([node.id, *reversed(parts)])

    def lookup(self, node: ast.expr) -> Any:
        """What the dotted name `node` means outside the kernel, or UNBOUND; errors of its later parts are raised here."""
        dotted = self.dotted(node)
        if dotted is None:
            return UNBOUND
        try:
            return self.bindings.resolve(self.scope.owner, dotted)
        except MissingAttribute as error:
            module, name, thing = error.args
            hint = f"Write `{name}`." if name in INTRINSICS else for_name(f"{module}.{name}")
            hint = hint or did_you_mean(name, [each for each in dir(thing) if each[:1] != "_"])
            kind = "class" if isinstance(thing, type) else "module"
            hint = hint or f"`dir({module})` lists what it has."
            raise self.error(NameError, node, f"{kind} '{module}' has no '{name}'", hint) from None
        except NotAModule as error:
            thing, name, value = error.args
            message = f"'{thing}.{name}' cannot be read: '{thing}' is {_kind(value)}, and only modules have names in kernels"
            hint = for_name(f"{thing}.{name}") or "Pass it as an argument, or name it in a tack.constant."
            raise self.error(NameError, node, message, hint) from None

    def _outer(self, node: ast.expr, dotted: str, value: Any) -> Any:
        """The value of a name bound outside: a constant, or the error for anything else."""
        if isinstance(value, Constant):
            return self.constant(value, node)
        if isinstance(value, (bool, int, float, complex, np.generic)):
            last = dotted.rpartition(".")[2]
            if last in MATH_CONSTANTS and isinstance(value, float) and repr(float(value)) == repr(getattr(math, last)):
                remedy = f"Write math.{last}."
            else:
                remedy = f"Write `{last} = tack.constant({value!r})`, or pass it as an argument."
            raise self.error(NameError, node, f"'{dotted}' is a plain number outside the kernel, which could change", remedy)
        if isinstance(value, (Func, Intrinsic, ScalarType)) or callable(value):
            raise self.error(NameError, node, f"'{dotted}' is a function or type and no value", "Call it, with parentheses.")
        raise self.error(NameError, node, f"'{dotted}' is {_kind(value)}, which kernels cannot read", "Pass it as an argument.")

    def unknown(self, node: ast.expr, *, called: bool = False) -> Exception:
        """The error for a name, `a` or `a.b`, that has no meaning around the kernel."""
        parsed, dotted = self.scope.parsed, ast.unparse(node)
        while isinstance(node, ast.Attribute):
            node = node.value
        assert isinstance(node, ast.Name)
        name = node.id
        known = [*self.scope.vars, *parsed.stores, *parsed.loop_names, *INTRINSICS, *self.bindings.visible(self.scope.owner)]
        hint = for_name(dotted, called=called) or did_you_mean(name, known)
        if not hint and name != dotted and dotted.rpartition(".")[2] not in SIZES:
            hint = "Import it at the top of the file."
        elif not hint:
            hint = "Define it with @tack.func." if called else "Assign it before, or pass it as an argument."
        return self.error(NameError, node, f"name '{name}' is not defined", hint)

    def _call(self, node: ast.Call) -> Value:
        values = self.call_values(node)
        if len(values) == 1:
            return values[0]
        if values:
            remedy = f"Assign them: `{', '.join('abcdefgh'[: len(values)])} = ...`."
            message = f"`{ast.unparse(node.func)}(...)` gives {len(values)} values where one is needed"
            raise self.error(TypeError, node, message, remedy)
        name, message = ast.unparse(node.func), f"`{ast.unparse(node.func)}(...)` returns no value"
        own = "" if name.rpartition(".")[2] in INTRINSICS else ", or end it with `return` and a value"
        raise self.error(TypeError, node, message, f"Call it as a statement of its own{own}.")


def _kind(value: object) -> str:
    if isinstance(value, (type, ModuleType)):
        return "a class" if isinstance(value, type) else "a module"
    return f"a {type(value).__name__}"
