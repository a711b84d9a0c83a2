"""Objects of device classes in kernels: their attributes, their methods, and loops over them (F2).

No object exists in the IR: an attribute is a literal or a parameter of the lowered kernel, a method is inlined like any function.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tack.errors import Span
from tack.ir.nodes import IRConst, IRExpr, IRName
from tack.ir.types import ScalarType
from tack.lang.array import Array
from tack.lang.constant import Constant
from tack.lang.device_class import Instance, is_number, iterated
from tack.lang.func import Func
from tack.lang.remedies import ARRAY_NAMES, CLASS_METHOD, did_you_mean, listed, numpy_remedy
from tack.lang.texture import Texture3D
from tack.lang.values import Value
from tack.lang.vector_methods import MethodLowering

__all__ = ["SIZES", "ClassLowering"]

SIZES = ("shape", "ndim", "size")


class ClassLowering(MethodLowering):
    """Lowers what kernels do with objects."""

    def instance(self, node: ast.expr) -> Instance | None:
        """The object that `node` ("line", "self.inner") names; None where it names none."""
        if isinstance(node, ast.Name):
            return self.scope.objects.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.instance(node.value)
            return None if owner is None else owner.nested.get(node.attr)
        return None

    def member(self, node: ast.expr) -> Value | None:
        """What `obj.name` is: a literal, or the parameter for a number, array or texture; None where `node` is no such thing."""
        owner = self.instance(node.value) if isinstance(node, ast.Attribute) else None
        if owner is None or not isinstance(node, ast.Attribute):
            return None
        name = node.attr
        if name in owner.constants:
            value = owner.constants[name]
            return self.constant(value, node) if isinstance(value, Constant) else IRConst(value, None, self.span(node))
        if name in owner.scalars or name in owner.arrays or name in owner.textures:
            return IRName(owner.parameter(name), None, self.span(node))
        raise self._no_member(owner, node)

    def member_array(self, node: ast.Attribute) -> str | None:
        """The parameter of the array or texture `obj.name`; None where `node` is no attribute of an object."""
        value = self.member(node)
        owner = self.instance(node.value)
        if value is None or owner is None:
            return None
        if node.attr in owner.arrays or node.attr in owner.textures:
            return owner.parameter(node.attr)
        message = f"'{owner.parameter(node.attr)}' is a number and no array"
        raise self.error(TypeError, node, message, "Give the object a tack.Array, or leave the index out.")

    # ---------------------------------------------------------------------------------------------------- methods

    def method(self, node: ast.Call) -> tuple[Func, Instance | None] | None:
        """The device function that `obj.name(...)` calls, and the object to pass as `self` if there is one; None for others."""
        func = node.func
        if not isinstance(func, ast.Attribute):
            return None
        owner = self.instance(func.value)
        if owner is None:
            return self._super_method(func)
        if func.attr in owner.funcs:
            return owner.funcs[func.attr], None
        return self._found(owner, func, self.bindings.method(owner, func.attr))

    def _found(self, owner: Instance, node: ast.Attribute, found: Any) -> tuple[Func, Instance | None]:
        if isinstance(found, classmethod):
            raise self._class_method(owner, node)
        static = isinstance(found, staticmethod)
        func: Any = found.__func__ if static else found  # pyright: ignore
        if isinstance(func, Func) and node.attr not in owner.nested:
            return func, None if static or func.is_static else owner
        name = f"{owner.cls.__name__}.{node.attr}"
        if inspect.isfunction(func):
            remedy = "Put @tack.func above its `def`."
            raise self.unsupported(node, f"`{name}`, an ordinary Python method, cannot be called in kernels", remedy)
        if isinstance(getattr(func, "_ir_cache", None), dict):
            remedy = "Move the shared part into a @tack.func method and call that."
            raise self.unsupported(node, f"kernel `{name}` cannot be called in kernels", remedy)
        if node.attr in owner.seen:
            path, array = owner.parameter(node.attr), node.attr in owner.arrays
            remedy = f"Write brackets: `{path}[i]`." if array else "Leave the parentheses out, or call a @tack.func method."
            raise self.error(TypeError, node, f"'{path}' is {'an array and ' if array else ''}no function", remedy)
        raise self._no_member(owner, node)

    def _super_method(self, node: ast.Attribute) -> tuple[Func, Instance | None] | None:
        """`super().name`: the next class that has the name, as Python finds it."""
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super" and not call.args):
            return None
        scope = self.scope
        cls = scope.cell("__class__")
        owner = scope.objects.get(scope.parsed.params[0]) if scope.parsed.params else None
        if owner is None or not isinstance(cls, type) or cls not in owner.cls.__mro__:
            remedy = "Name the class's function: `Class.method(...)`."
            raise self.unsupported(call, "`super()` stands only in methods of device classes", remedy)
        found = self.bindings.method(owner, node.attr, cls)
        if found is not None:
            return self._found(owner, node, found)
        hint = did_you_mean(node.attr, _methods(cls)) or "Call a method that a base class has."
        raise self.error(NameError, node, f"no base class of '{cls.__name__}' has a '{node.attr}'", hint)

    # ------------------------------------------------------------------------------------------------------ loops

    def object_sizes(self, owner: Instance, node: ast.expr) -> list[IRExpr]:
        """The sizes that `for c in obj` runs over, fastest first."""
        names = iterated(owner.cls)
        if not names:
            remedy = f'Write `__tack_iterate__ = ("n",)` in class {owner.cls.__name__}, or loop over range(...).'
            raise self.error(TypeError, node, f"objects of class {owner.cls.__name__} say nothing to loop over", remedy)
        sizes: list[IRExpr] = []
        for name in names:
            made = None
            if name in owner.constants or name in owner.scalars:
                made = self.member(ast.copy_location(ast.Attribute(node, name, ast.Load()), node))
            if isinstance(made, IRName) or (isinstance(made, IRConst) and not isinstance(made.value, float)):
                sizes.append(made)
                continue
            cls, has = owner.cls.__name__, [*owner.seen, *owner.ignored]
            message = f"a loop over '{owner.path}' counts up to '{owner.parameter(name)}' (`__tack_iterate__` of class {cls})"
            what = "is a float" if isinstance(made, IRConst) else "is no number" if name in has else "does not exist"
            remedy = did_you_mean(name, owner.seen) or f"Let it be an integer, such as `{owner.parameter(name)} = 4`."
            raise self.error(TypeError, node, f"{message}, which {what}", remedy)
        return sizes

    # --------------------------------------------------------------------------------------------------- refusals

    def constant(self, value: Constant, node: ast.expr) -> Value:
        """The value of a `tack.constant`."""
        return self.literal(value.value, None if value.dtype is None else value.dtype.scalar, self.span(node))

    def lookup(self, node: ast.expr) -> Any:
        """What a dotted name means outside the kernel."""
        raise NotImplementedError

    def object_is_no_value(self, owner: Instance, node: ast.expr) -> Exception:
        """An object where a number or an array is needed."""
        message = f"'{owner.path}' is an object of class {owner.cls.__name__} and no value"
        return self.error(TypeError, node, message, "Name one of its attributes, call a method, or pass it to a device function.")

    def passed(self, node: ast.expr) -> Any:
        """What this call passes for the parameter that `node` names; None where it names none, or the call is not known."""
        owner = self.instance(node.value) if isinstance(node, ast.Attribute) else None
        if owner is not None and isinstance(node, ast.Attribute):
            return owner.arrays.get(node.attr, owner.textures.get(node.attr))
        bound = self.scope.vars.get(node.id) if isinstance(node, ast.Name) else None
        return self._argument(bound.name) if isinstance(bound, IRName) else None

    def _argument(self, name: str) -> Any:
        return self.call.args[self.call.names.index(name)] if self.call is not None and name in self.call.names else None

    def is_array(self, value: Value | None) -> bool:
        """Whether `value` is the name of an array, as far as the call tells."""
        return isinstance(value, IRName) and (value.name in self.arrays or isinstance(self._argument(value.name), Array))

    def no_attribute(self, node: ast.Attribute, call: ast.Call | None = None) -> Exception:
        """`a.name`, read or called, of an array or a number."""
        name, place = node.attr, call or node
        passed, shown = self.passed(node.value), ast.unparse(node.value)
        if isinstance(passed, Texture3D):
            remedy = f"Write `{shown}.sample(u, v, w)`, or pass sizes as arguments."
            return self.error(TypeError, node.value, f"'{shown}' is a texture, of which kernels see only `sample`", remedy)
        own = self.scope.vars.get(node.value.id) if isinstance(node.value, ast.Name) else None
        array = isinstance(passed, Array) or self.is_array(own)
        if array and name in SIZES:
            return self.error(TypeError, place, f"`{shown}.{name}` is no function", "Leave the parentheses out.")
        remedy = ARRAY_NAMES.get(name) or did_you_mean(name, SIZES)
        if name == "astype" and call is not None and call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)):
            wanted = self.lookup(call.args[0])
            element = f"{shown}[i]" if array else shown
            if isinstance(wanted, ScalarType):
                remedy = f"Convert elements: {ast.unparse(call.args[0])}({element})."
            else:
                remedy = numpy_remedy(wanted, {}, element) or remedy
        if passed is not None and not remedy:
            message = f"'{shown}' has no '{name}': {'an array' if array else 'a number'} was passed for it"
            return self.error(TypeError, place, message, self._pass_object(node, array))
        if call is not None:
            who = "arrays" if array else "numbers" if is_number(passed) else "numbers and arrays"
            message = f"`.{name}(...)`: {who} have no methods in kernels"
            return self.unsupported(place, message, remedy or "Write a call of a function.")
        message = f"'.{name}' is not part of the kernel language: arrays have shape, ndim and size, numbers nothing"
        return self.unsupported(place, message, remedy or "Pass what it stands for as an argument.")

    def _pass_object(self, node: ast.Attribute, array: bool) -> str:
        """What to write where an attribute is read of an array or a number that was passed."""
        shown, scope = ast.unparse(node.value), self.scope
        owner = scope.parsed.source.qualname.rpartition(".")[0]
        if scope.is_kernel and owner and not owner.endswith("<locals>") and shown == scope.parsed.params[0]:
            return f"Call it on an object: `obj.{self.kernel}(...)`."
        if array:
            return f"Arrays have shape, ndim and size, and elements: `{shown}[i]`."
        return f"Pass an object of a device class for '{shown}'."

    def object_is_fixed(self, owner: Instance, name: str, node: ast.AST | Span) -> Exception:
        """An assignment to a parameter that is an object."""
        message = f"'{name}' is an object of class {owner.cls.__name__} and cannot be assigned"
        return self.unsupported(node, message, "Use another name for the local.")

    def _class_method(self, owner: Instance, node: ast.Attribute) -> Exception:
        message = f"kernels do not see '{node.attr}' of class {owner.cls.__name__}: it is a class method"
        return self.error(TypeError, node, message, CLASS_METHOD)

    def _no_member(self, owner: Instance, node: ast.Attribute) -> Exception:
        name, cls = node.attr, owner.cls.__name__
        if name in owner.nested:
            return self.object_is_no_value(owner.nested[name], node)
        found: Any = inspect.getattr_static(owner.cls, name, None)
        if isinstance(found, classmethod):
            return self._class_method(owner, node)
        if name in owner.funcs or isinstance(found, Func) or isinstance(getattr(found, "__func__", None), Func):
            return self.error(NameError, node, f"'{cls}.{name}' is a function and no value", "Call it, with parentheses.")
        if name.startswith("_"):
            remedy = f"Name it `{(name.partition('__')[2] or name).strip('_') or 'value'}`, or compute with it before the launch."
            return self.error(TypeError, node, f"kernels do not see '{name}' of class {cls}: its name starts with `_`", remedy)
        if name in owner.ignored:
            kind = owner.ignored[name]
            message = f"kernels do not see '{name}' of class {cls}: it is of type {kind.__name__}"
            remedy = "They see numbers, tack arrays and textures, objects of device classes, and @tack.func functions."
            if kind is property:
                remedy = "Keep its value in an attribute, or write a @tack.func method."
            elif kind.__module__ == "numpy" and kind.__name__ == "ndarray":
                remedy = f"Give the object tack.array({name})."
            return self.error(TypeError, node, message, remedy)
        has = [*owner.seen, *(f"{each}()" for each in (*owner.funcs, *_methods(owner.cls)))]
        hint = did_you_mean(name, [each.rstrip("()") for each in has]) or (f"It has {listed(has)}." if has else "It has nothing.")
        return self.error(NameError, node, f"the object passed for '{owner.path}', of class {cls}, has no '{name}'", hint)


def _methods(cls: type) -> list[str]:
    """The names of a class's device functions."""
    return [name for name in dir(cls) if isinstance(getattr(cls, name, None), Func)]
