"""What the arguments of one call make of a kernel's parameters: rule T1 and the kinds of arguments.

Writes onto a probe that belongs to the call, never onto the shared template. Knows no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from tack.errors import fail
from tack.ir.nodes import IRFunc
from tack.ir.types import ScalarType, f32, f64, integer_type_for_value
from tack.lang.array import Array
from tack.lang.texture import Texture3D

__all__ = ["Probe", "default_float", "infer_param_types", "integer_type_for_value"]


class Probe(Protocol):
    """What inference says about one call: for each parameter an entry with `type_annotation` and `_is_array`, in order."""

    @property
    def params(self) -> Sequence[Any]: ...


def default_float(args: Sequence[Any]) -> ScalarType:
    """T1: the type of floating arguments and unmet float literals: f64 when any array argument is f64, else f32."""
    return f64 if any(isinstance(arg, Array) and arg.dtype.scalar is f64 for arg in args) else f32


def infer_param_types(ir_func: IRFunc, args: Sequence[Any], probe: Probe) -> None:
    """Writes the type and category of each parameter of `ir_func` for this call's `args` onto `probe.params`.

    `TypeError` for an argument that is neither an array of one or more dimensions nor a number, and for integers beyond u64;
    it names the kernel, the parameter and what to pass.
    """
    floating = default_float(args)
    for param, arg, entry in zip(ir_func.params, args, probe.params, strict=True):
        if isinstance(arg, Array):
            if arg.ndim == 0:
                remedy = f"Pass the number, {param.name}[()], or {param.name}.reshape(1)."
                raise _refusal(ir_func, param.name, "is an array without dimensions", remedy)
            entry.type_annotation, entry._is_array = arg.dtype.scalar, True
        elif isinstance(arg, Texture3D):
            entry.type_annotation, entry._is_array, entry._is_texture = f32, True, True
        else:
            entry.type_annotation, entry._is_array = _scalar_type(ir_func, param.name, arg, floating), False


def _scalar_type(ir_func: IRFunc, name: str, arg: Any, floating: ScalarType) -> ScalarType:
    if isinstance(arg, (float, np.floating)):
        return floating
    if isinstance(arg, (int, np.integer, np.bool_)):
        found = integer_type_for_value(int(cast(Any, arg)))
        if found is None:
            raise _refusal(ir_func, name, f"is {arg}, which no 64-bit integer holds", f"Write float({name}).")
        return found
    takes = "a kernel takes arrays, textures, numbers and objects of device classes"
    raise _refusal(ir_func, name, f"is {_described(arg)}; {takes}", _remedy(name, arg))


def _refusal(ir_func: IRFunc, name: str, what: str, remedy: str) -> Exception:
    return fail(TypeError, f"argument '{name}' {what}", kernel=ir_func.name, remedy=remedy)


def _described(arg: Any) -> str:
    if arg is None:
        return "None"
    kind: type[Any] = type(arg)  # pyright: ignore[reportUnknownVariableType]
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"of type {name}"


def _remedy(name: str, arg: Any) -> str:
    if isinstance(arg, (complex, np.complexfloating)):
        return f"Pass {name}.real and {name}.imag as two arguments."
    if isinstance(arg, np.ndarray) or hasattr(arg, "__array__") or isinstance(arg, (list, tuple, range)):
        return f"Write tack.array({name})."
    if hasattr(arg, "__dlpack__"):
        return f"Write tack.from_dlpack({name})."
    return f"Write tack.array({name}) if it holds numbers, or pass a number."
