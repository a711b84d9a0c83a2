"""How a driver function is written in Python: its name, version and arguments, and what stands around every call.

A function takes its inputs as numbers, returns its outputs, and raises `CuError`. No Python exception gets past here.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from tack_sim.driver_report import CuError, Report, say
from tack_sim.driver_state import Machine

__all__ = [
    "F32", "I32", "MAYBE", "OUT", "TABLE", "U8", "U16", "U32", "U64", "Entry", "callback", "entry", "load", "store", "use",
]  # fmt: skip

I32, U8, U16, U32, U64, F32 = ctypes.c_int, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_float


@dataclass(frozen=True)
class OUT:
    """An argument that is the address of a result of a type; null is an error."""

    kind: Any


@dataclass(frozen=True)
class MAYBE(OUT):
    """The same, which may be null."""


_LEVELS = ("nothing", "driver", "context", "working")  # what must stand for a call: each needs all before it


@dataclass(frozen=True)
class Entry:
    """A driver function. `version`: of the first CUDA that has it in this form.

    `needs` says what must stand at a call: "nothing", "driver" (cuInit), "context" (a current one) or "working" (one in which
    nothing has failed); the function's first argument is the machine for the first two, the context for the others.
    """

    name: str
    version: int
    kinds: tuple[Any, ...]
    needs: str
    function: Callable[..., Any]

    def call(self, machine: Machine, raw: tuple[Any, ...]) -> int:
        """Runs the function on raw arguments. What it returns is stored at the addresses of its outputs."""
        inputs: list[Any] = []
        outputs: list[tuple[Any, int]] = []
        for kind, value in zip(self.kinds, raw, strict=True):
            if isinstance(kind, OUT):
                outputs.append((kind, value))
            else:
                inputs.append(value)
        first = self._first(machine)
        if any(not address and not isinstance(kind, MAYBE) for kind, address in outputs):
            raise CuError(1, "null pointer", "an address where a result shall be stored is null")
        result = self.function(first, *inputs)
        results = result if len(outputs) > 1 else (result,)
        for (kind, address), value in zip(outputs, results, strict=False):
            if address:
                store(kind.kind, address, value)
        return 0

    def _first(self, machine: Machine) -> Any:
        level = _LEVELS.index(self.needs)
        if os.getpid() != machine.process:
            raise CuError(
                3, "invalid value", "this process was forked from the one that uses the device: CUDA does not work in both"
            )
        if level >= 1 and not machine.initialized:
            raise CuError(3, "invalid value", "cuInit was not called")
        if level < 2:
            return machine
        context = machine.current()
        if context is None:
            raise CuError(201, "no current context", "no context is current on this thread")
        if not context.alive:
            raise CuError(709, "destroyed handle", f"{context}, which is current on this thread, is destroyed")
        if level == 3 and context.error:
            raise CuError(context.error)
        return context


TABLE: list[Entry] = []
_machine: list[Machine] = []


def use(machine: Machine) -> None:
    """Makes a machine the one that all entries act on."""
    _machine[:] = [machine]


def entry(
    version: int, *kinds: Any, needs: str = "working", name: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a driver function of the Python function's name, or `name`."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE.append(Entry(name or function.__name__, version, kinds, needs, function))
        return function

    return declare


def callback(which: Entry) -> Any:
    """The C function of an entry."""
    raw_kinds = [U64 if isinstance(kind, OUT) else kind for kind in which.kinds]

    def run(*raw: Any) -> int:
        machine = _machine[0]
        try:
            with machine.lock:
                return _guarded(which, machine, raw)
        except BaseException as error:
            return _internal(which, machine, error)

    return ctypes.CFUNCTYPE(I32, *raw_kinds)(run)


def _guarded(which: Entry, machine: Machine, raw: tuple[Any, ...]) -> int:
    try:
        return which.call(machine, raw)
    except CuError as error:
        context = machine.current() if os.getpid() == machine.process else None
        machine.tell(error, which.name, context.device.index if context else -1)
        return error.code


def _internal(which: Entry, machine: Machine, error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        _thread.start_new_thread(_interrupt_later, (threading.main_thread().ident,))
        return 999
    say(f"internal error in {which.name}:\n{''.join(traceback.format_exception(error)).rstrip()}")
    machine.report(Report("internal error", f"{type(error).__name__}: {error}", 999, which.name))
    return 999


def _interrupt_later(thread: Any) -> None:
    """Interrupts the main thread when it has returned to the binding: an exception inside of a callback is lost."""
    while _is_inside(sys._current_frames().get(thread)):
        time.sleep(0.001)
    _thread.interrupt_main()


def _is_inside(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            return True
        frame = frame.f_back
    return False


def load(kind: Any, address: int) -> Any:
    """The value of a C type at an address of the host."""
    return kind.from_address(address).value


def store(kind: Any, address: int, value: Any) -> None:
    """Stores a value of a C type at an address of the host."""
    kind.from_address(address).value = value
