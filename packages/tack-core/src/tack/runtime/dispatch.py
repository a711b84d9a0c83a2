"""A kernel call: which device runs it, by which variant. Fills the launch slot of `hooks`, through `debug`.

Knows devices and backends by their contract alone. A call like one before takes the first lines of `launch` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tack.errors import fail
from tack.hooks import slots
from tack.lang.array import Array
from tack.lang.call_shape import CallShape, describe_call
from tack.lang.kernel import MISS
from tack.lang.texture import Texture3D
from tack.runtime import debug, native_entry, native_mode
from tack.runtime.backend import Backend
from tack.runtime.checked_launch import checked_call, raise_first_failure
from tack.runtime.device import Device, get_default_device
from tack.runtime.fast_path import _fast_resolve, quicken

__all__ = ["device_of_call", "get_backend", "launch"]


def get_backend() -> Backend:
    """The backend of the default device."""
    return get_default_device()._backend


def launch(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Runs `kernel(*args, **kwargs)` and gives its result; on the CPU it has finished on return.

    Whatever is wrong is raised before anything runs.
    """
    default = get_default_device()
    backend = default._backend
    if not kwargs:
        if kernel.native is not None:  # something about the call has kept the native entry from serving it
            native_entry.describe_arrays(args)
        serial = backend._cache.serial
        result = kernel.quick_call(serial, args)
        if result is not MISS:
            return result
        hit = _fast_resolve(serial, kernel, args)
        if hit is not None:
            result = backend.launch(hit.variant, hit.args)
            quicken(serial, kernel, hit, backend)
            return result
        result = _launch_elsewhere(default, kernel, args)
        if result is not MISS:
            return result
    native_entry.check_setting()
    call = describe_call(kernel.param_names, kernel.bind(args, kwargs))
    backend = device_of_call(kernel, call)._backend
    return backend.launch(backend.resolve(kernel, call), call.args)


def _launch_elsewhere(default: Device, kernel: Any, args: tuple[Any, ...]) -> Any:
    """A call like one before whose first array is on a device that shares no memory with the default one; MISS for others."""
    for arg in args:
        if type(arg) is Array or type(arg) is Texture3D:
            break
    else:
        return MISS
    if arg.device.memory is default.memory:
        return MISS
    backend = arg.device._backend
    serial = backend._cache.serial
    result = kernel.quick_call(serial, args)
    if result is not MISS:
        return result
    hit = _fast_resolve(serial, kernel, args)
    if hit is None:
        return MISS
    result = backend.launch(hit.variant, hit.args)
    quicken(serial, kernel, hit, backend)
    return result


def launch_checked(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`launch` in debug mode: runs checked code, always by the slow path, and raises what a check has found after it has run."""
    call = describe_call(kernel.param_names, kernel.bind(args, kwargs))
    device = device_of_call(kernel, call)
    call = checked_call(kernel, call, device)
    variant = device._backend.resolve(kernel, call)
    result = device._backend.launch(variant, call.args + call.hidden)
    raise_first_failure(variant.ir, call)
    return result


def device_of_call(kernel: Any, call: CallShape) -> Device:
    """Where a call runs: on the default device when that can address all its arrays, else on the arrays' own device.

    `ValueError` for arrays on devices that share no memory.
    """
    default = get_default_device()
    placed = [(name, arg) for name, arg in zip(call.names, call.args, strict=True) if isinstance(arg, Array | Texture3D)]
    if all(array.device.memory is default.memory for _, array in placed):
        return default
    (name, first), *others = placed
    for other, array in others:
        if array.device.memory is not first.device.memory:
            raise fail(
                ValueError,
                f"array '{name}' is on {first.device} and array '{other}' on {array.device}, which share no memory",
                kernel=kernel.__name__,
                remedy=(
                    f"Make the texture there: tack.texture3d(..., device={name}.device)."
                    if isinstance(array, Texture3D)
                    else f"Move one first: {other}.to_device({name}.device)."
                ),
            )
    return first.device


slots.launch_changed = lambda chosen: native_mode.set_launch(chosen is launch)
debug.install(launch, launch_checked)
