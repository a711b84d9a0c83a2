"""Puts the simulated driver under the vendor's binding, and hands out what it has found."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tack_sim.build import shared_object
from tack_sim.driver_attributes import known_names
from tack_sim.driver_report import CuError, Report, say
from tack_sim.driver_state import Machine, Options

__all__ = ["check_leaks", "fresh", "install", "reports", "reset", "take_reports"]

_SONAME = "libcuda.so.1"
_INT = 2**31 - 1  # the driver's functions give these values as C ints
# The options that are whole numbers, with the least and the greatest; and those that are tuples of them, with the length first.
_NUMBERS = {"count": (0, 1024), "memory": (1, 1 << 43), "driver_version": (1, _INT)}
_TUPLES = {"max_grid": (3, 1, _INT), "compute": (2, 0, 1000), "ptx_version": (2, 0, 1000)}
_machine: list[Machine] = []
_asked: list[Options] = []  # what `install` or `reset` was given, whatever `fresh` has put in its place


def install(kind: str, **options: Any) -> None:
    """Puts a simulated driver under the binding of a kind of GPU; "cuda" is the one kind there is.

    Call it before `cuda.bindings` is first used: RuntimeError if a driver is loaded. The options:
    `count`: how many GPUs, 1. `memory`: bytes of each, 8 GiB. `max_grid`: the most blocks of a launch in each direction,
    (2**31 - 1, 65535, 65535). `compute`: the compute capability, (9, 0). `ptx_version`: the newest PTX that the driver takes,
    as (9, 0); the default takes all. `driver_version`: what cuDriverGetVersion answers, 13997, a number no real driver has.
    `early_exit`: whether lanes may end while others wait at a barrier, False. `attributes`: values of device attributes by
    their names behind CU_DEVICE_ATTRIBUTE_. ValueError for a kind or values that cannot be simulated; a second call must ask for
    the same or for nothing, see `reset`.
    """
    if kind != "cuda":
        raise ValueError(f"tack_sim simulates 'cuda', not {kind!r}")
    asked = _options(Options(), options)
    if _machine:
        if options and asked not in _asked:
            raise RuntimeError("the simulated CUDA driver is installed with other options: tack_sim.reset(...) changes them")
        return
    if _is_loaded():
        raise RuntimeError(f"{_SONAME} is loaded already: call tack_sim.install before cuda.bindings is used")
    _load(asked)
    _asked[:] = [asked]
    atexit.register(_at_exit, os.getpid())


def reset(**options: Any) -> None:
    """A fresh machine in place of the one there is, with the options of `install`, changed by these.

    All contexts, memory, modules, queued work and reports are gone; handles and pointers of before are not valid any more.
    """
    machine = _installed()
    _asked[:] = [_use(_options(machine.options, options)).options]
    machine.close()


@contextlib.contextmanager
def fresh(**options: Any) -> Iterator[None]:
    """A fresh machine inside the block, with the options of `install`, changed by these; the one of before returns after it.

    For tests that must not touch what others have on the simulated devices.
    """
    before = _installed()
    machine = _use(_options(before.options, options))
    try:
        yield
    finally:
        _put(before)
        machine.close()


def reports() -> tuple[Report, ...]:
    """What was found wrong so far, the oldest first."""
    machine = _installed()
    with machine.lock:
        return tuple(machine.reports)


def take_reports() -> tuple[Report, ...]:
    """What was found wrong so far, which is then forgotten: contexts in which work has failed can be used again.

    Memory is as the failed work has left it. What was queued behind it does not run.
    """
    machine = _installed()
    with machine.lock:
        taken = tuple(machine.reports)
        machine.reports.clear()
        for context in machine.contexts:
            context.error = 0
        return taken


def check_leaks() -> tuple[str, ...]:
    """What the program has not given back: allocations, arrays, textures and modules in words, then contexts.

    What a destroyed context held counts as given back with it, and one in which work has failed cannot give anything back.
    """
    machine = _installed()
    with machine.lock:
        return tuple(_leaks(machine))


def _leaks(machine: Machine) -> list[str]:
    found: list[str] = []
    for context in machine.contexts:
        if context.error:
            continue
        where = f"in {context}"
        found += [f"{each}, {where}" for each in context.region.live() if each.kind != "module"]
        found += [f"a texture object of {texture.array.extents} texels, {where}" for texture in context.textures.values()]
        found += [f"an array of {array.extents} texels, {where}" for array in context.arrays]
        found += [f"a module with kernels {', '.join(m.module.kernels) or '(none)'}, {where}" for m in context.modules]
    for device in machine.devices:
        if device.retained:
            found.append(f"the primary context of device {device.index}, retained {device.retained} times more than released")
    found += [f"a context of device {context.device.index}" for context in machine.contexts if not context.primary]
    return found


def _options(base: Options, changes: Mapping[str, Any]) -> Options:
    """Options with changes. TypeError or ValueError, which name the option and what it takes, for values that cannot be."""
    for name, value in changes.items():
        _check_option(name, value)
    made = replace(base, **changes)
    tuples = {name: tuple(value) for name in _TUPLES if (value := getattr(made, name)) is not None}
    return replace(made, **tuples, attributes=MappingProxyType(dict(made.attributes)))


def _check_option(name: str, value: Any) -> None:
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        takes = f"a whole number from {least} to {most}"
        typed = _are_whole([value])
        right = typed and least <= value <= most
    elif name in _TUPLES:
        length, least, most = _TUPLES[name]
        takes = f"a tuple of {length} whole numbers from {least} to {most}"
        typed = isinstance(value, (tuple, list)) and _are_whole(value)
        right = typed and len(value) == length and least <= min(value) and max(value) <= most
        if name == "ptx_version" and value is None:
            return
    elif name == "attributes":
        takes = f"a dict of whole numbers of 32 bits by names, which are {', '.join(sorted(known_names()))}"
        typed = isinstance(value, Mapping) and _are_whole(value.values())
        right = typed and known_names() >= set(value) and all(abs(number) <= _INT for number in value.values())
    elif name == "early_exit":
        takes, typed = "True or False", isinstance(value, bool)
        right = typed
    else:
        raise TypeError(f"a simulated GPU has no option {name!r}: they are {', '.join(f.name for f in fields(Options))}")
    if not right:
        raise (ValueError if typed else TypeError)(f"{name} takes {takes}, not {value!r}")


def _are_whole(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _is_loaded() -> bool:
    with contextlib.suppress(OSError):
        ctypes.CDLL(_SONAME, mode=os.RTLD_NOLOAD)
        return True
    return False


def _installed() -> Machine:
    if not _machine:
        raise RuntimeError('no simulated driver is installed: call tack_sim.install("cuda") first')
    return _machine[0]


@cache
def _stub() -> ctypes.CDLL:
    path = shared_object(Path(__file__).with_name("stub.cpp"), _SONAME)
    loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    loaded.tack_sim_thread.restype = ctypes.c_uint64
    loaded.tack_sim_add.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    return loaded


_callbacks: list[Any] = []  # the C functions, which the binding keeps addresses of


def _load(options: Options) -> None:
    from tack_sim import driver

    stub = _stub()
    _use(options)
    for each in driver.TABLE:
        made = driver.callback(each)
        _callbacks.append(made)
        stub.tack_sim_add(each.name.encode(), each.version, ctypes.cast(made, ctypes.c_void_p))


def _use(options: Options) -> Machine:
    made = Machine(options, _stub().tack_sim_thread)
    _put(made)
    return made


def _put(machine: Machine) -> None:
    from tack_sim import driver

    _machine[:] = [machine]
    driver.use(machine)


def _at_exit(process: int) -> None:
    """Runs what nobody has waited for, so that its faults are told, and reports leaks."""
    machine = _machine[0]
    if os.getpid() != process or not machine.initialized:
        return
    with machine.lock:
        for context in list(machine.contexts):
            with contextlib.suppress(CuError):
                machine.drain(context, at_exit=True)
        for leak in _leaks(machine):
            say(f"leak: {leak}")
