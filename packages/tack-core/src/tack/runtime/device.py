"""Devices: the table of kinds, their identity, and which one is the default on a thread.

Backends are named in the table and imported when first used; nothing else here knows one from another.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tack import settings
from tack.errors import fail
from tack.forks import hold_over_fork
from tack.lang.array import Memory
from tack.runtime import native_mode
from tack.runtime.buffers import HOST

if TYPE_CHECKING:
    from tack.runtime.backend import Backend

__all__ = ["Device", "DeviceKind", "device", "device_count", "get_default_device", "set_default_device", "started_devices"]


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """One row of the table. `probe` raises when the binding or runtime is missing, which `requires` names in words.

    `options` maps an option to the function that checks its value. `start` makes the backend of a device with an index and
    options, `memory` its memory; both are None while this version has no backend of the kind. `count` counts devices.
    """

    name: str
    label: str
    requires: str = ""
    numbered: bool = False
    options: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Callable[[Any], Any]])
    probe: Callable[[], object] = lambda: None
    count: Callable[[], int] = lambda: 0
    start: Callable[..., Backend] | None = None
    memory: Callable[[int], Memory] | None = None


def _module(name: str) -> Callable[[], object]:
    return lambda: importlib.import_module(name)


def _library(name: str) -> Callable[[], object]:
    """A shared library by its bare name; `OSError` when the loader does not find it."""

    def load() -> object:
        from ctypes.util import find_library  # it imports subprocess and much else, which `import tack` need not

        return ctypes.CDLL(find_library(name) or f"lib{name}.so.1")

    return load


def _thread_count(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise fail(ValueError, f"num_threads={value!r}: the number of threads is a whole number of at least 1")
    return int(value)


def _start_cpu(index: int, num_threads: int | None = None) -> Backend:
    from tack.runtime.cpu import CpuBackend  # with the first kernel, not with `import tack`

    return CpuBackend(num_threads=num_threads)


_KINDS = {
    kind.name: kind
    for kind in (
        DeviceKind(
            "cpu", "CPU", options={"num_threads": _thread_count}, count=lambda: 1, start=_start_cpu, memory=lambda index: HOST
        ),
        DeviceKind(
            "metal", "Metal", "a Mac with Apple silicon, plus pyobjc-framework-Metal", probe=_module("Metal")
        ),
        DeviceKind(
            "cuda", "CUDA", "an NVIDIA GPU with its driver, plus cuda-python>=13.2 and NVRTC 13", True,
            probe=_module("cuda.bindings"),
        ),
        DeviceKind("hip", "HIP", "an AMD GPU with ROCm, plus hip-python", True, probe=_module("hip")),
        DeviceKind(
            "level_zero", "Level Zero", "an Intel GPU with the Level Zero runtime and libocloc", True,
            options={"external_context": lambda value: value}, probe=_library("ze_loader"),
        ),
    )
}  # fmt: skip


class Device:
    """Where arrays live and kernels run; made by `tack.device`. Equal only to itself.

    `kind` and `index` name it, `str()` gives the spec, `memory` allocates its arrays. As a context manager it is the default
    device inside the block, on this thread; blocks nest.
    """

    __slots__ = ("__weakref__", "_backend", "_options", "index", "kind", "memory")

    def __init__(self, kind: DeviceKind, index: int, options: Mapping[str, Any]) -> None:
        """Internal: `tack.device` makes devices."""
        assert kind.memory is not None
        self.kind = kind.name
        self.index = index
        self.memory = kind.memory(index)
        self._options = dict(options)

    def __getattr__(self, name: str) -> Any:
        # The slot `_backend` is empty until a kernel, or `properties`, first needs it; then it is a plain load.
        if name != "_backend":
            raise AttributeError(f"'Device' object has no attribute {name!r}")
        with _lock:
            if self not in _started:
                start = _KINDS[self.kind].start
                assert start is not None
                self._backend = start(self.index, **self._options)
                _started.add(self)
                _say_default()
        return self._backend

    @staticmethod
    def of(spec: Any) -> Device:
        """The device for a Device, a spec or None (the default device)."""
        if spec is None:
            return get_default_device()
        return spec if isinstance(spec, Device) else device(spec)

    @property
    def properties(self) -> dict[str, Any]:
        """Facts about the device: `name`, `memory` in bytes, `compute_units`, and its `limits`, a dict."""
        return self._backend.properties()

    def synchronize(self) -> None:
        """Wait for all launches queued on the device. CPU kernels have finished when their call returns."""
        if self in _started:
            self._backend.synchronize()

    def __enter__(self) -> Device:
        _active.stack.append(self)
        native_mode.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        native_mode.leave(_active.stack.pop())

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}" if _KINDS[self.kind].numbered else self.kind

    def __repr__(self) -> str:
        return f"tack.device({', '.join([repr(str(self)), *(f'{k}={v!r}' for k, v in self._options.items())])})"

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: Any) -> Device:
        return self

    def __reduce__(self) -> Any:
        if self._options:
            raise fail(TypeError, f"{self!r} is not pickled: a device with options belongs to one process")
        return device, (str(self),)


class _Active(threading.local):
    """The devices of the `with` blocks that this thread is in."""

    def __init__(self) -> None:
        self.stack: list[Device] = []


_active = _Active()
_lock = hold_over_fork(1, threading.RLock())
_devices: dict[tuple[str, int], Device] = {}  # the devices without options
_started: weakref.WeakSet[Device] = weakref.WeakSet()  # those whose backend exists
_default: Device | None = None


def device(spec: str = "cpu", **options: Any) -> Device:
    """The device for a spec: "cpu", "metal", "cuda", "hip", "level_zero", and numbered ones such as "cuda:1".

    Without options the same device each time; with options (`num_threads=` >= 1 on the CPU) a new one, with kernels of its own.
    An unknown spec or option is `ValueError`; a missing binding or runtime is `RuntimeError`.
    """
    kind, index = _parse(spec)
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in kind.options:
            accepted = ", ".join(f"{option}=" for option in kind.options) or "none"
            raise fail(ValueError, f"the {kind.name!r} device has no option {name!r}", remedy=f"Options: {accepted}.")
        checked[name] = kind.options[name](value)
    if checked:
        _check_startable(kind)
        return Device(kind, index, checked)
    found = _devices.get((kind.name, index))
    if found is None:
        _check_startable(kind)
        with _lock:
            found = _devices.setdefault((kind.name, index), Device(kind, index, {}))
    return found


def _parse(spec: Any) -> tuple[DeviceKind, int]:
    name, colon, number = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    kind = _KINDS.get(name)
    numeral = number.isascii() and number.isdigit()
    if kind is None or (colon and not (kind.numbered and numeral)):
        numbered = " or ".join(f'"{k.name}:1"' for k in _KINDS.values() if k.numbered)
        accepted = ", ".join(f'"{k}"' for k in _KINDS)
        raise fail(ValueError, f"unknown device {spec!r}", remedy=f"Devices: {accepted}; numbered ones are written {numbered}.")
    return kind, int(number or 0)


def _check_startable(kind: DeviceKind) -> None:
    """Raise `RuntimeError` when a device of this kind cannot start here."""
    try:
        kind.probe()
    except (ImportError, OSError) as error:
        from tack.runtime.backend import missing_dependency  # with the first refusal, not with `import tack`

        raise missing_dependency(kind.name, kind.requires, error) from error
    if kind.start is None:
        raise RuntimeError(
            f"Cannot start the {kind.name!r} device: this version of Tack has no {kind.label} backend yet.\n"
            "  Its dependency is installed, but nothing here uses it. Use tack.device('cpu')."
        )


def device_count(kind: str = "cpu") -> int:
    """How many devices of a kind can be started: "cuda:0" to "cuda:<count - 1>". An unknown kind is `ValueError`."""
    row, _ = _parse(kind)
    if row.name != kind:
        raise fail(ValueError, f"device_count takes a kind, not {kind!r}", remedy=f"Write device_count({row.name!r}).")
    return row.count()


def set_default_device(device: Device | str) -> None:
    """Make a device the default of the process: where arrays are allocated and kernels without arrays run."""
    global _default
    _default = Device.of(device)
    _say_default()


def get_default_device() -> Device:
    """This thread's innermost `with` device, else what `set_default_device` chose, else `TACK_DEVICE`, else the CPU."""
    global _default
    stack = _active.stack
    if stack:
        return stack[-1]
    chosen = _default
    if chosen is None:
        chosen = _default = device(settings.DEVICE.read())
        _say_default()
    return chosen


def _say_default() -> None:
    """Tells `native_mode` which device is the default, after that or the start of a device has changed."""
    while True:
        default = _default
        started = default is not None and default in _started
        native_mode.set_default(default, default._backend._cache.serial if default and started else native_mode.NONE)
        if default is _default:
            return


def _after_fork() -> None:
    native_mode.only(_active.stack)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def started_devices() -> list[Device]:
    """The devices whose backend exists: those that may have launches to wait for."""
    with _lock:
        return list(_started)
