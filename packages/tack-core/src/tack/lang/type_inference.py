"""What the arguments of one call make of a kernel's parameters: rule T1 and the kinds of arguments.

Writes onto a probe that belongs to the call, never onto the shared template. Knows no device.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol

import numpy as np

from tack.errors import fail
from tack.ir.nodes import IRFunc
from tack.ir.types import ScalarType, f32, f64, integer_type_for_value
from tack.lang.array import Array
from tack.lang.constant import Constant
from tack.lang.device_class import is_device_class
from tack.lang.host_values import is_a
from tack.lang.texture import Texture3D

__all__ = ["Probe", "check_kinds", "default_float", "infer_param_types", "integer_type_for_value"]


_KINDS = (Array, Texture3D, int, float, np.integer, np.floating, np.bool_)


class Probe(Protocol):
    """What inference says about one call: for each parameter an entry with `type_annotation` and `_is_array`, in order."""

    @property
    def params(self) -> Sequence[Any]: ...


def default_float(args: Sequence[Any]) -> ScalarType:
    """T1: the type of floating arguments and unmet float literals: f64 when any array argument is f64, else f32."""
    return f64 if any(isinstance(arg, Array) and arg.dtype.scalar is f64 for arg in args) else f32


def check_kinds(kernel: str, names: Sequence[str], args: Sequence[Any]) -> None:
    """`TypeError` for the first argument that no kernel takes, whatever its text says; names what to pass."""
    for name, arg in zip(names, args, strict=True):
        if not isinstance(arg, _KINDS):
            takes = "a kernel takes arrays, textures, numbers and objects of device classes"
            raise _refusal(kernel, name, f"is {_described(arg)}; {takes}", _remedy(name, arg))


def infer_param_types(ir_func: IRFunc, args: Sequence[Any], probe: Probe) -> None:
    """Writes the type and category of each parameter of `ir_func` for this call's `args` onto `probe.params`.

    `TypeError` for an argument that is neither an array of one or more dimensions nor a number, and for integers beyond u64;
    it names the kernel, the parameter and what to pass.
    """
    check_kinds(ir_func.name, [param.name for param in ir_func.params], args)
    floating = default_float(args)
    for param, arg, entry in zip(ir_func.params, args, probe.params, strict=True):
        if isinstance(arg, Array):
            if arg.ndim == 0:
                remedy = f"Pass the number, {param.name}[()], or {param.name}.reshape(1)."
                raise _refusal(ir_func.name, param.name, "is an array without dimensions", remedy)
            entry.type_annotation, entry._is_array = arg.dtype.scalar, True
        elif isinstance(arg, Texture3D):
            entry.type_annotation, entry._is_array, entry._is_texture = f32, True, True
        else:
            entry.type_annotation, entry._is_array = _scalar_type(ir_func, param.name, arg, floating), False


def _scalar_type(ir_func: IRFunc, name: str, arg: Any, floating: ScalarType) -> ScalarType:
    if isinstance(arg, (float, np.floating)):
        return floating
    found = integer_type_for_value(int(arg))
    if found is None:
        raise _refusal(ir_func.name, name, f"is {arg}, which no 64-bit integer holds", f"Write float({name}).")
    return found


def _refusal(kernel: str, name: str, what: str, remedy: str) -> Exception:
    return fail(TypeError, f"argument '{name}' {what}", kernel=kernel, remedy=remedy)


def _described(arg: Any) -> str:
    if arg is None:
        return "None"
    if isinstance(arg, type):
        return f"class {arg.__name__}"
    kind: type[Any] = arg.__class__
    if _is_own(kind):
        return f"an object of class {kind.__name__}, which is no device class"
    return f"of type {kind.__name__ if kind.__module__ == 'builtins' else f'{kind.__module__}.{kind.__qualname__}'}"


def _is_own(kind: type[Any]) -> bool:
    """Whether a class is a user's, or another library's, rather than Python's, NumPy's or Tack's."""
    return kind.__module__.partition(".")[0] not in {"numpy", "tack", *sys.stdlib_module_names} or kind.__module__ == "__main__"


_FUNCTIONS = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def _remedy(name: str, arg: Any) -> str:
    kind: type[Any] = arg.__class__
    if is_a(arg, (complex, np.complexfloating)):
        return f"Pass {name}.real and {name}.imag as two arguments."
    if is_device_class(arg):
        return f"Pass an object: {arg.__name__}(...)."
    if is_a(arg, Constant):
        return f"Pass {name}.value, or read the constant by its name in the kernel."
    if is_a(arg, _FUNCTIONS) or kind.__module__.startswith("tack."):
        return "Leave it out: kernels read functions, types and modules by their names, in the code around them."
    if is_a(arg, (str, dict, set, frozenset)) or arg is None:
        return "Pass an array or a number."
    if is_a(arg, (np.generic, np.ndarray)) and arg.ndim == 0:
        return f"Pass the number: {name}.item()."
    if hasattr(arg, "__dlpack__"):
        return f"Write tack.from_dlpack({name}) to share its memory, or tack.array({name}) for a copy."
    if is_a(arg, tuple) and kind is not tuple:
        return "Pass its fields as arguments of their own."
    if is_a(arg, (bytes, bytearray)):
        return f"Write tack.array(np.frombuffer({name}, np.uint8))."
    if hasattr(arg, "__array__") or is_a(arg, (list, tuple, range, memoryview, array)):
        return f"Write tack.array({name})."
    if hasattr(kind, "__float__"):
        return f"Write float({name})."
    if _is_own(kind):
        return f"Put @tack.device_class above class {kind.__name__}, or pass what it holds."
    return "Pass an array or a number."
