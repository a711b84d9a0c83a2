"""What a simulated machine is made of: devices, contexts, streams, events, modules, arrays, textures, and the handles of all.

Knows no entries: those change what stands here.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from tack_sim import engine
from tack_sim.driver_report import CuError, Report, say
from tack_sim.memory import POISON, Allocation, Region

__all__ = [
    "TEXEL", "Array", "Context", "Device", "Event", "Function", "LoadedModule", "Machine", "Options", "Stream", "TextureObject",
    "Work",
]  # fmt: skip

T = TypeVar("T")
TEXEL = 4  # bytes of an array's element: f32
_SPARE = 16 << 30  # addresses beyond four times the memory: those of freed memory are not used again soon
# Of all machines of the process. They are no addresses, so that following one fails.
_handles, _texture_handles = itertools.count(0x5AC0_0000_0000_0010, 16), itertools.count(0x7E57_0000_0000_0001)
_KEPT_CONTEXTS = 64
_LONGEST_QUEUE = 1024  # operations; when there are more the oldest runs, as on hardware


@dataclass(frozen=True, slots=True)
class Options:
    """What is simulated; `install` says what each means."""

    count: int = 1
    memory: int = 8 << 30
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    compute: tuple[int, int] = (9, 0)
    ptx_version: tuple[int, int] | None = None
    driver_version: int = 13_997
    early_exit: bool = False
    attributes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(slots=True, eq=False)
class Work:
    """An operation in a queue. `action` does it and raises CuError; `uses` says whether it touches a range of addresses."""

    name: str
    stream: Stream
    action: Callable[[], None]
    uses: Callable[[int, int], bool]
    needs: list[Work]
    serial: int
    writes_host: bool = False
    done: bool = False


@dataclass(slots=True, eq=False)
class Stream:
    """A queue of a context. `blocking`: its work and that of the default stream wait for each other."""

    context: Context
    handle: int = 0
    blocking: bool = True
    flags: int = 0
    priority: int = 0
    last: Work | None = None
    destroyed: bool = False


@dataclass(slots=True, eq=False)
class Event:
    """A point in a stream. `time` in nanoseconds is when its work ran."""

    context: Context
    handle: int
    timing: bool
    work: Work | None = None
    time: int | None = None


@dataclass(slots=True, eq=False)
class LoadedModule:
    """A module with the memory of its variables, in their order."""

    context: Context
    handle: int
    module: engine.Module
    variables: list[Allocation]
    ptx_version: tuple[int, int]
    functions: dict[str, Function] = field(default_factory=dict)
    loaded: bool = True


@dataclass(slots=True, eq=False)
class Function:
    """A kernel of a loaded module. `dynamic_limit`: bytes of dynamic shared memory that were asked for, None for the default."""

    module: LoadedModule
    handle: int
    kernel: engine.Kernel
    dynamic_limit: int | None = None


@dataclass(slots=True, eq=False)
class Array:
    """A 3-D CUDA array of f32; sizes in texels, a missing dimension counts as 1. `shape` is as the program gave it."""

    context: Context
    handle: int
    shape: tuple[int, int, int]
    texels: np.ndarray[Any, np.dtype[np.uint8]]
    channels: int = 1
    destroyed: bool = False

    @property
    def extents(self) -> tuple[int, int, int]:
        """Width, height and depth in texels, each at least 1."""
        width, height, depth = (max(1, n) for n in self.shape)
        return width, height, depth

    @property
    def address(self) -> int:
        """The address of the first texel, in host memory."""
        return self.texels.ctypes.data


@dataclass(slots=True, eq=False)
class TextureObject:
    """A texture object over an array."""

    context: Context
    handle: int
    array: Array
    linear: bool
    normalized: bool
    descriptors: tuple[bytes, bytes]

    def for_engine(self) -> engine.Texture:
        """The texture as kernels sample it."""
        width, height, depth = self.array.extents
        return engine.Texture(
            self.handle, self.array.address, width, height, depth, self.array.channels, self.linear, self.normalized
        )


class Context:
    """A context: its memory, streams, and queue. `error` is the code that every call returns after queued work has failed."""

    def __init__(self, machine: Machine, device: Device, primary: bool, flags: int) -> None:
        self.machine = machine
        self.device = device
        self.primary = primary
        self.flags = flags
        self.region = Region(4 * machine.options.memory + _SPARE)
        self.error = 0
        self.alive = True
        self.queue: dict[int, Work] = {}  # by serial: what has not run
        self.legacy = Stream(self)
        self.per_thread: dict[int, Stream] = {}
        self.streams: list[Stream] = []
        self.modules: list[LoadedModule] = []
        self.arrays: list[Array] = []
        self.textures: dict[int, TextureObject] = {}
        self.handle = machine.new_handle(self)

    def new_array(self, shape: tuple[int, int, int], channels: int) -> Array:
        """An array that holds 0xCB in every byte."""
        count = channels * TEXEL
        for n in shape:
            count *= max(1, n)
        texels = np.full(count, POISON, np.uint8)
        made = Array(self, 0, shape, texels, channels)
        made.handle = self.machine.new_handle(made)
        self.arrays.append(made)
        return made

    def __str__(self) -> str:
        return f"the {'primary ' if self.primary else ''}context of device {self.device.index}"


class Device:
    """One simulated GPU."""

    def __init__(self, machine: Machine, index: int) -> None:
        self.machine = machine
        self.index = index
        self.primary: Context | None = None
        self.retained = 0
        self.flags = 0

    def contexts(self) -> list[Context]:
        """The living contexts of the device."""
        return [context for context in self.machine.contexts if context.device is self]

    def free_memory(self) -> int:
        """Bytes that no context uses."""
        used = sum(context.region.used + sum(a.texels.nbytes for a in context.arrays) for context in self.contexts())
        return self.machine.options.memory - used


class Machine:
    """All that a process sees of its simulated devices. One lock stands around every call."""

    def __init__(self, options: Options, thread_number: Callable[[], int]) -> None:
        self.options = options
        self.lock = threading.RLock()
        self.process = os.getpid()
        self.initialized = False
        self.contexts: list[Context] = []
        self.ended: list[Context] = []  # their addresses stay reserved, so that late uses are noticed
        self.devices = [Device(self, index) for index in range(options.count)]
        self.reports: list[Report] = []
        self.stacks: dict[int, list[Context]] = {}
        self.thread_number = thread_number
        self._handles: dict[int, Any] = {}
        self._destroyed: dict[int, str] = {}
        self._next_work = 0

    # --------------------------------------------------------------------------------------------------------- handles

    def new_handle(self, thing: Any) -> int:
        """A handle that no other object of the process has had."""
        handle = next(_handles)
        self._handles[handle] = thing
        return handle

    def new_texture_handle(self) -> int:
        """A handle for a texture object, of a value that is no other handle and no address."""
        return next(_texture_handles)

    def find(self, wanted: type[T], handle: int, what: str, code: int = 400) -> T:
        """The object of a handle, which must be of a class; `what` names that in reports."""
        thing = self._handles.get(handle)
        if isinstance(thing, wanted):
            return thing
        if handle in self._destroyed:
            raise CuError(code, "destroyed handle", f"{handle:#x} was {self._destroyed[handle]}, which is destroyed")
        if not handle:
            raise CuError(code, "wrong handle", f"the handle of {what} is null")
        is_what = f"is a {type(thing).__name__}" if thing is not None else "was never handed out"
        raise CuError(code, "wrong handle", f"{handle:#x} is the handle of no {what}: it {is_what}")

    def drop_handle(self, handle: int, was: str) -> None:
        """Ends a handle; uses of it are reported as those of `was`."""
        self._handles.pop(handle, None)
        self._destroyed[handle] = was

    # -------------------------------------------------------------------------------------------------------- contexts

    def stack(self) -> list[Context]:
        """The contexts that the calling thread has made current, the current one last."""
        return self.stacks.setdefault(self.thread_number(), [])

    def current(self) -> Context | None:
        """The context that is current on the calling thread."""
        stack = self.stack()
        return stack[-1] if stack else None

    def device(self, index: int) -> Device:
        """A device by its number."""
        if not 0 <= index < len(self.devices):
            raise CuError(101, "wrong device", f"there is no device {index}: {len(self.devices)} devices are simulated")
        return self.devices[index]

    def new_context(self, device: Device, primary: bool, flags: int) -> Context:
        """A context of a device."""
        made = Context(self, device, primary, flags)
        self.contexts.append(made)
        return made

    def end_context(self, context: Context) -> None:
        """Destroys a context with all that is in it, once the work in its queue has run."""
        self.drain(context)
        context.alive = False
        self.contexts.remove(context)
        self.ended.append(context)
        if len(self.ended) > _KEPT_CONTEXTS:
            self.ended.pop(0).region.close()
        self.drop_handle(context.handle, str(context))
        for each in (*context.streams, *context.modules, *context.arrays):
            self.drop_handle(each.handle, f"a handle of {context}")
        for allocation in context.region.live():
            context.region.free(allocation)
        for module in context.modules:
            module.loaded = False
            for function in module.functions.values():
                self.drop_handle(function.handle, f"a function of {context}")
        for things in (context.streams, context.modules, context.arrays, context.textures):
            things.clear()

    def owner(self, address: int) -> Context | None:
        """The context, living or destroyed, among whose addresses one is."""
        for context in (*self.contexts, *self.ended):
            if address in context.region:
                return context
        return None

    def close(self) -> None:
        """Gives all addresses back."""
        for context in (*self.contexts, *self.ended):
            context.region.close()

    # ----------------------------------------------------------------------------------------------------------- queue

    def submit(
        self,
        name: str,
        stream: Stream,
        action: Callable[[], None],
        uses: Callable[[int, int], bool] = lambda start, end: False,
        needs: tuple[Work | None, ...] = (),
        writes_host: bool = False,
    ) -> Work:
        """Queues an operation behind the others of its stream and `needs`. It runs when something waits for it."""
        context = stream.context
        before = [stream.last, *needs]
        if stream is context.legacy:
            before += [other.last for other in (*context.streams, *context.per_thread.values()) if other.blocking]
        elif stream.blocking:
            before.append(context.legacy.last)
        self._next_work += 1
        waits_for = [work for work in before if work is not None and not work.done]
        made = Work(name, stream, action, uses, waits_for, self._next_work, writes_host)
        stream.last = context.queue[made.serial] = made
        if len(context.queue) > _LONGEST_QUEUE:
            self.run(next(iter(context.queue.values())))
        return made

    def run(self, *works: Work) -> None:
        """Runs operations and all that they need, in the order of their queuing. What fails marks its context."""
        wanted: dict[int, Work] = {}
        open_ends = [work for work in works if not work.done]
        while open_ends:
            work = open_ends.pop()
            if work.serial not in wanted:
                wanted[work.serial] = work
                open_ends += [need for need in work.needs if not need.done]
        for _, work in sorted(wanted.items()):
            if not work.done:
                self._run_one(work)

    def _run_one(self, work: Work) -> None:
        context = work.stream.context
        try:
            work.action()
        except CuError as error:
            self.tell(error, device=context.device.index)
            context.error = error.code
        self._finish(work)
        if context.error:  # what is queued behind never runs
            for other in list(context.queue.values()):
                self._finish(other)

    @staticmethod
    def _finish(work: Work) -> None:
        work.done = True
        work.needs = []
        work.action = _nothing
        work.stream.context.queue.pop(work.serial, None)

    def drain(self, context: Context, at_exit: bool = False) -> None:
        """Runs what is queued in a context; at exit without what writes to host memory, which may be gone."""
        for work in list(context.queue.values()):
            if not work.done and not (at_exit and work.writes_host):
                self.run(work)

    def wait(self, context: Context, *works: Work | None) -> None:
        """Runs operations, and raises the error that their context then has."""
        self.run(*(work for work in works if work is not None))
        if context.error:
            raise CuError(context.error)

    def in_flight(self, start: int, end: int) -> list[Work]:
        """The queued operations that are known to touch a range of addresses."""
        return [work for context in self.contexts for work in context.queue.values() if work.uses(start, end)]

    # --------------------------------------------------------------------------------------------------------- reports

    def tell(self, error: CuError, call: str = "", device: int = -1) -> None:
        """Reports an error that has a text."""
        if error.text:
            self.report(Report(error.kind, error.text, error.code, call, device=device))

    def report(self, report: Report) -> None:
        """Keeps a report and prints it on stderr."""
        self.reports.append(report)
        say(str(report))


def _nothing() -> None:
    """The action of what has run: what it held is free."""
