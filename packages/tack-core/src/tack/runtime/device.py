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

__all__ = [
    "Device", "DeviceKind", "device", "device_count", "get_default_device", "memories", "set_default_device", "spaces",
    "started_devices",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """One row of the table; what the kind needs stands in `backend.NEEDS`. `probe` raises one of its errors,
    `ImportError` or `OSError` when something is missing.

    `options` maps an option to the function that checks its value. `start` makes the backend of a device with an index and
    options, `memory` its memory; both are None while this version has no backend of the kind. `count` counts devices. `describe`
    says in words what the device with an index is, without starting it; it raises what `probe` raises. `current` is the index of
    the device that this thread uses already, else 0. `space` says which kind of the device's memory is at an address, in
    the words of `tack.memory_space`, and on which device; None for other memory.
    """

    name: str
    label: str
    numbered: bool = False
    options: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Callable[[Any], Any]])
    probe: Callable[[], object] = lambda: None
    count: Callable[[], int] = lambda: 0
    start: Callable[..., Backend] | None = None
    memory: Callable[[int], Memory] | None = None
    describe: Callable[[int], str] = lambda index: ""
    current: Callable[[], int] = lambda: 0
    space: Callable[[int], tuple[str, int] | None] = lambda address: None


def _module(name: str) -> Callable[[], object]:
    return lambda: importlib.import_module(name)


def _library(name: str) -> Callable[[], object]:
    """A shared library by its bare name; `OSError` when the loader does not find it."""

    def load() -> object:
        from ctypes.util import find_library  # it imports subprocess and much else, which `import tack` need not

        return ctypes.CDLL(find_library(name) or f"lib{name}.so.1")

    return load


def _with_backend(name: str, label: str, module: str) -> DeviceKind:
    """A numbered kind of which the backend's module in this package says all else; it is imported when first asked."""

    def later(name: str) -> Callable[..., Any]:
        return lambda *args: getattr(importlib.import_module(f"tack.runtime.{module}"), name)(*args)

    said = {name: later(name) for name in ("probe", "count", "start", "memory", "describe", "current")}
    return DeviceKind(name, label, True, space=later("space"), **said)  # pyright: ignore[reportArgumentType]


def _thread_count(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise fail(ValueError, f"num_threads={value!r}: the number of threads is a whole number of at least 1")
    return int(value)


def _start_cpu(index: int, num_threads: int | None = None) -> Backend:
    from tack.runtime.cpu import CpuBackend  # with the first kernel, not with `import tack`

    return CpuBackend(num_threads=num_threads)


def _describe_cpu(index: int) -> str:
    from tack.runtime.cpu import describe

    return describe()


_KINDS = {
    kind.name: kind
    for kind in (
        DeviceKind(
            "cpu", "CPU", options={"num_threads": _thread_count}, count=lambda: 1, start=_start_cpu, memory=lambda index: HOST,
            describe=_describe_cpu,
        ),
        DeviceKind("metal", "Metal", probe=_module("Metal")),
        _with_backend("cuda", "CUDA", "cuda_backend"),
        DeviceKind("hip", "HIP", True, probe=_module("hip")),
        DeviceKind(
            "level_zero", "Level Zero", True,
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
        with _lock:
            _made.add(self)

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
        """Wait for all work queued on the device. CPU kernels have finished when their call returns."""
        self.memory.run(self.memory.wait)

    def reduce(self, array: Any, name: str) -> Any:
        """Internal: the "sum", "min" or "max" of an array's elements; None where the host shall compute it."""
        return self._backend.reduce(array, name)

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
_made: weakref.WeakSet[Device] = weakref.WeakSet()
_started: weakref.WeakSet[Device] = weakref.WeakSet()  # those whose backend exists
_default: Device | None = None
_simulated: set[str] = set()  # the kinds under whose binding a simulated driver stands


def device(spec: str = "cpu", **options: Any) -> Device:
    """The device for a spec: "cpu", "metal", "cuda", "hip", "level_zero", and numbered ones such as "cuda:1".

    Without options the same device each time; with options (`num_threads=` >= 1 on the CPU) a new one, with kernels of its own.
    A bare "cuda" is the GPU that this thread uses already, else the first. An unknown spec or option and a number that no device
    has are `ValueError`; a missing binding or runtime is `RuntimeError`.
    """
    kind, index = _parse(spec)
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in kind.options:
            accepted = ", ".join(f"{option}=" for option in kind.options) or "none"
            raise fail(ValueError, f"the {kind.name!r} device has no option {name!r}", remedy=f"Options: {accepted}.")
        checked[name] = kind.options[name](value)
    if index is None:
        if kind.numbered and not any(name == kind.name for name, _ in tuple(_devices)):
            _check_startable(kind)
        index = kind.current()
    found = None if checked else _devices.get((kind.name, index))
    if found is None:
        _check_startable(kind)
        _check_number(kind, index)
        made = Device(kind, index, checked)
        if checked:
            return made
        with _lock:
            found = _devices.setdefault((kind.name, index), made)
    return found


def _check_number(kind: DeviceKind, index: int) -> None:
    count = kind.count()
    if index >= count:
        words = f"device '{kind.name}:{index}' is not there: device_count({kind.name!r}) is {count}"
        remedy = f'Devices: "{kind.name}:0"' + (f' to "{kind.name}:{count - 1}".' if count > 1 else ".")
        raise fail(ValueError, words, remedy=remedy if count else "")


def _parse(spec: Any) -> tuple[DeviceKind, int | None]:
    name, colon, number = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    kind = _KINDS.get(name)
    numeral = number.isascii() and number.isdigit()
    if kind is None or (colon and not (kind.numbered and numeral)):
        numbered = " or ".join(f'"{k.name}:1"' for k in _KINDS.values() if k.numbered)
        accepted = ", ".join(f'"{k}"' for k in _KINDS)
        raise fail(ValueError, f"unknown device {spec!r}", remedy=f"Devices: {accepted}; numbered ones are written {numbered}.")
    return kind, int(number) if number else None


def _check_startable(kind: DeviceKind) -> None:
    """Raise `RuntimeError` when a device of this kind cannot start here."""
    from tack.runtime import backend  # with the first device that is asked for, not with `import tack`

    _simulate(kind)
    try:
        kind.probe()
    except (ImportError, OSError) as error:
        raise backend.missing_dependency(kind.name, error) from error
    if kind.start is None:
        raise backend.no_backend(kind.name, kind.label)


def _simulate(kind: DeviceKind) -> None:
    """Puts a simulated driver under the binding of a kind that `TACK_SIMULATE` names, before the binding is first imported."""
    if kind.name not in settings.SIMULATE.read() or kind.name in _simulated:
        return
    with _lock:
        if kind.name not in _simulated:
            try:
                importlib.import_module("tack_sim").install(kind.name)
            except (ImportError, ValueError) as error:  # it is not there, or has no such kind
                lead = f"TACK_SIMULATE asks for {kind.name!r}, which requires tack-sim; in a clone"
                from tack.runtime.backend import Unavailable

                missing = Unavailable(kind.name, "missing simulator", str(error), lead, "pip install -e packages/tack-sim")
                raise missing.error() from error
            _simulated.add(kind.name)


def device_count(kind: str = "cpu") -> int:
    """How many devices of a kind can be started: "cuda:0" to "cuda:<count - 1>". An unknown kind is `ValueError`."""
    row, _ = _parse(kind)
    if row.name != kind:
        raise fail(ValueError, f"device_count takes a kind, not {kind!r}", remedy=f"Write device_count({row.name!r}).")
    _simulate(row)
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


def memories() -> list[Memory]:
    """The memories of all devices that have been made: where there may be work to wait for."""
    with _lock:
        return list({id(each.memory): each.memory for each in _made}.values())


def spaces(address: int) -> tuple[str, Device | None]:
    """Which kind of memory is at an address, in the words of `tack.memory_space`, and the device that it belongs to.

    "cpu" and None for other memory. Starts no driver: who has memory of a device has started that.
    """
    for kind in _KINDS.values():
        found = kind.space(address)
        if found is not None:
            return found[0], device(f"{kind.name}:{found[1]}")
    return "cpu", None
