"""Tack compiles kernels written in Python to machine code for CPUs and GPUs.

Importing it loads no compiler and no GPU library; those load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tack import math, random
from tack.errors import RaceWarning, UnsupportedSyntaxError
from tack.forks import importing as _importing
from tack.hooks import slots as _slots
from tack.ir.types import ELEMENT_TYPES as _ELEMENT_TYPES
from tack.ir.types import MatrixType, ScalarType, VectorType, f32, f64, i8, i16, i32, i64, mat, u8, u16, u32, u64, vec
from tack.lang.array import Array, copyto
from tack.lang.constant import constant
from tack.lang.device_class import device_class
from tack.lang.func import func
from tack.lang.intrinsics import INTRINSICS as _INTRINSICS
from tack.lang.kernel import Kernel, kernel
from tack.lang.texture import Texture3D
from tack.runtime.constructors import (
    arange,
    array,
    array_from_ptr,
    concatenate,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    linspace,
    memory_space,
    ones,
    ones_like,
    stack,
    zeros,
    zeros_like,
)
from tack.runtime.debug import set_debug
from tack.runtime.device import Device, device, device_count, get_default_device, set_default_device
from tack.runtime.inspect import inspect
from tack.runtime.kernel_tools import specialize as _specialize  # noqa: F401  # which fills two slots
from tack.runtime.textures import texture3d
from tack.runtime.waits import sync, sync_async

if _TYPE_CHECKING:
    from tack import cache
    from tack.lang.variant_info import VariantInfo
    from tack.runtime.device_report import DeviceInfo, devices


def _first_launch(kernel: Kernel, args: tuple[_Any, ...], kwargs: dict[str, _Any]) -> _Any:
    with _importing:
        import tack.runtime.dispatch  # noqa: F401  # which takes this function's place

    return _slots.launch(kernel, args, kwargs)


_slots.launch = _first_launch


_LATER = {
    "VariantInfo": "tack.lang.variant_info",
    "DeviceInfo": "tack.runtime.device_report",
    "devices": "tack.runtime.device_report",
}


def __getattr__(name: str) -> _Any:
    """What few programs name loads when they do."""
    import importlib

    with _importing:
        if name == "cache":
            return importlib.import_module("tack.cache")
        if name in _LATER:
            return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'tack' has no attribute {name!r}")


ndindex, select = _INTRINSICS["ndindex"], _INTRINSICS["select"]
bitcast, clz, fma, popcount = (_INTRINSICS[name] for name in ("bitcast", "clz", "fma", "popcount"))

atomic_add, atomic_min, atomic_max = (_INTRINSICS[f"atomic_{name}"] for name in ("add", "min", "max"))
barrier, thread_id = _INTRINSICS["barrier"], _INTRINSICS["thread_id"]
block_sum, block_min, block_max = (_INTRINSICS[f"block_{name}"] for name in ("sum", "min", "max"))
local_array, local_array_like = _INTRINSICS["local_array"], _INTRINSICS["local_array_like"]
shared, shared_like = _INTRINSICS["shared"], _INTRINSICS["shared_like"]
vec2, vec3, vec4 = (_ELEMENT_TYPES[name] for name in ("vec2", "vec3", "vec4"))
dvec2, dvec3, dvec4 = (_ELEMENT_TYPES[name] for name in ("dvec2", "dvec3", "dvec4"))
ivec2, ivec3, ivec4 = (_ELEMENT_TYPES[name] for name in ("ivec2", "ivec3", "ivec4"))
uvec2, uvec3, uvec4 = (_ELEMENT_TYPES[name] for name in ("uvec2", "uvec3", "uvec4"))
mat2, mat3, mat4 = (_ELEMENT_TYPES[name] for name in ("mat2", "mat3", "mat4"))

__all__ = [
    "Array", "Device", "DeviceInfo", "Kernel", "MatrixType", "RaceWarning", "ScalarType", "Texture3D", "UnsupportedSyntaxError",
    "VariantInfo", "VectorType", "arange", "array", "array_from_ptr", "atomic_add", "atomic_max", "atomic_min", "barrier",
    "bitcast", "block_max", "block_min", "block_sum", "cache", "clz", "concatenate", "constant", "copyto", "device",
    "device_class", "device_count", "devices", "dvec2", "dvec3", "dvec4", "empty", "empty_like", "f32", "f64", "fma",
    "from_dlpack", "full", "full_like", "func", "get_default_device", "i16", "i32", "i64", "i8", "inspect", "ivec2", "ivec3",
    "ivec4", "kernel", "linspace", "local_array", "local_array_like", "mat", "mat2", "mat3", "mat4", "math", "memory_space",
    "ndindex", "ones", "ones_like", "popcount", "random", "select", "set_debug", "set_default_device", "shared", "shared_like",
    "stack", "sync", "sync_async", "texture3d", "thread_id", "u16", "u32", "u64", "u8", "uvec2", "uvec3", "uvec4", "vec", "vec2",
    "vec3", "vec4", "zeros", "zeros_like",
]  # fmt: skip
