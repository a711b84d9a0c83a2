"""`kernel.specialize()` compiles a call without running it; `kernel.variants()` says what is compiled, in words.

Knows devices and backends by their contract alone. Fills two slots of `hooks`; the compiler loads when they are first used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tack.forks import importing
from tack.hooks import slots
from tack.ir.types import mat, vec
from tack.lang.class_token import _ClassToken
from tack.runtime import debug
from tack.runtime.device import Device, started_devices

if TYPE_CHECKING:
    from tack.ir.nodes import IRParam
    from tack.lang.variant_info import VariantInfo
    from tack.runtime.kernel_utils import KernelVariant
    from tack.runtime.variant_key import VariantKey

__all__ = ["specialize", "variants"]


def specialize(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Compiles what `kernel(*args, **kwargs)` would run, where it would run, and raises what that would raise before a launch."""
    with importing:
        from tack.lang.call_shape import describe_call
        from tack.runtime.checked_launch import checked_call
        from tack.runtime.dispatch import device_of_call
        from tack.runtime.launch_checks import ranges_of_launch

    call = describe_call(kernel.param_names, kernel.bind(args, kwargs))
    device = device_of_call(kernel, call)
    if debug.is_on():
        call = checked_call(kernel, call, device)
    ranges_of_launch(device._backend.resolve(kernel, call).ir, call.args + call.hidden)


def variants(kernel: Any) -> list[VariantInfo]:
    """A row for each variant of the kernel on each device, in the order they were made."""
    devices = sorted(started_devices(), key=_name)
    if not devices:  # then nothing has been compiled, and the compiler need not load
        return []
    with importing:
        from tack.lang.variant_info import VariantInfo
        from tack.runtime.kernel_utils import origins

    rows: list[VariantInfo] = []
    for device in devices:
        for key, variant in device._backend._cache.get(kernel, {}).copy().items():  # other threads may be compiling
            origin = origins[variant]
            words = _in_words(kernel, key, variant, origin.sizes)
            rows.append(VariantInfo(_name(device), words, origin.seconds, origin.from_disk))
    return rows


def _name(device: Device) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in device._options.items())
    return f"{device} ({options})" if options else str(device)


def _in_words(kernel: Any, key: VariantKey, variant: KernelVariant, sizes: tuple[tuple[str, int | str], ...]) -> str:
    """The key of a variant: objects with their constants, parameters with their types, sizes baked in, and overlap."""
    from tack.ir.nodes import ERRORS, EXTENTS

    param_sig, _, tmpl_key, shape_sig, disjoint = key
    parts: list[str] = []
    full: dict[str, tuple[int, ...]] = {}  # of arrays in objects, whose whole shapes are keyed
    templates: Any = tmpl_key or ()
    for name, *described in templates:
        if name.startswith("tmpl_"):
            path = kernel.param_names[int(name.removeprefix("tmpl_"))]
            token, constants, arrays, _ = described
            parts.append(f"{path}: {token.name}{_constants(constants)}")
            full |= {f"{path}.{attribute}": shape for attribute, _, shape, _ in arrays}
    entries: Any = param_sig
    params = [(p, entry) for p, entry in zip(variant.ir.params, entries, strict=True) if p.name not in (ERRORS, EXTENTS)]
    parts += [_parameter(param, entry, full.get(param.name)) for param, entry in params]
    textures = {param.name for param, entry in params if entry[3]}
    baked = [
        f"{name}.shape[{dim}] = {value}" if isinstance(dim, int) else f"{name}.{dim} = {value}"
        for (name, dim), value in zip(sizes, shape_sig, strict=True)
        if name not in full and name not in textures
    ]
    checks = ["index checks"] if len(params) < len(entries) else []
    overlap = ["no overlap" if disjoint else "arrays may overlap"] if any(entry[1] for _, entry in params) else []
    return "; ".join([", ".join(parts) or "no arguments", *baked, *checks, *overlap])


def _parameter(param: IRParam, entry: tuple[Any, ...], shape: tuple[int, ...] | None) -> str:
    """One parameter, by its entry in the key; `shape`: of an array in an object."""
    dtype, is_array, is_texture, extents, *nearest = entry
    if extents is not None:
        how = ", ".join([*(nearest or ["linear"]), *(["by hardware"] if is_texture else [])])
        return f"{param.name}: texture {' x '.join(map(str, extents))} ({how})"
    if not is_array:
        return f"{param.name}: {dtype.name}"
    element = {0: lambda: dtype, 1: lambda n: vec(n, dtype), 2: lambda n, m: mat(n, m, dtype)}[len(param.element)](*param.element)
    return f"{param.name}: {str(element).removeprefix('tack.')} array{f' of shape {shape}' if shape else ''}"


def _constants(constants: tuple[tuple[str, Any, Any], ...]) -> str:
    """What of an object is baked in: its constants, the classes of objects in it, and the functions that it holds."""
    words = [f"{name}={_constant(kind, value)}" for name, kind, value in constants]
    return f" with {', '.join(words)}" if words else ""


def _constant(kind: Any, value: Any) -> str:
    if kind is _ClassToken:
        return value.name
    if isinstance(kind, tuple):  # of a `tack.constant`: its class and its dtype, or None
        return _number(value) if kind[1] is None else f"{kind[1]}({_number(value)})"
    return _number((kind, value))


def _number(key: Any) -> str:
    """A number's key, which is its type and its value or bits, or those of components in a tuple."""
    if isinstance(key[0], tuple):
        return f"({', '.join(map(_number, key))})"
    kind, value = key
    return repr(struct.unpack("!d", value)[0] if kind is float else value)


slots.specialize, slots.variants = specialize, variants
