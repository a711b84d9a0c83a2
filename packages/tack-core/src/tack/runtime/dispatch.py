"""A kernel call: which device runs it, by which variant. Fills the launch slot of `hooks`.

Knows devices and backends by their contract alone. A call like one before takes the first lines of `launch` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tack.errors import fail
from tack.hooks import slots
from tack.lang.array import Array
from tack.runtime.backend import Backend
from tack.runtime.device import Device, get_default_device
from tack.runtime.fast_path import _fast_resolve, quicken

__all__ = ["device_of_call", "get_backend", "launch"]


def get_backend() -> Backend:
    """The backend of the default device."""
    return get_default_device()._backend


def launch(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Runs `kernel(*args, **kwargs)`; on the CPU it has finished on return. Whatever is wrong is raised before anything runs."""
    backend = get_default_device()._backend
    if not kwargs:
        serial = backend._cache.serial
        if kernel.quick_call(serial, args):
            return
        variant = _fast_resolve(serial, kernel, args)
        if variant is not None:
            backend.launch(variant, args)
            quicken(serial, kernel, args, backend.launcher(variant))
            return
    values = kernel.bind(args, kwargs)
    backend = device_of_call(kernel, values)._backend
    backend.launch(backend.resolve(kernel, values), values)


def device_of_call(kernel: Any, args: Sequence[Any]) -> Device:
    """Where a call runs: on the default device when that can address all its arrays, else on the arrays' own device.

    `ValueError` for arrays on devices that share no memory.
    """
    default = get_default_device()
    placed = [(name, arg) for name, arg in zip(kernel.param_names, args, strict=True) if isinstance(arg, Array)]
    if all(array.device.memory is default.memory for _, array in placed):
        return default
    (name, first), *others = placed
    for other, array in others:
        if array.device.memory is not first.device.memory:
            raise fail(
                ValueError,
                f"array '{name}' is on {first.device} and array '{other}' on {array.device}, which share no memory",
                kernel=kernel.__name__,
                remedy=f"Move one first: {other}.to_device({name}.device).",
            )
    return first.device


slots.launch = launch
