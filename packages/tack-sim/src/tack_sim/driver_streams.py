"""Driver functions about streams and events."""

from __future__ import annotations

import time

from tack_sim.driver_entry import F32, I32, MAYBE, OUT, U32, U64, entry
from tack_sim.driver_report import CuError
from tack_sim.driver_state import Context, Event, Machine, Stream

__all__ = ["stream_of"]

_LEGACY, _PER_THREAD = 1, 2  # handles
_NON_BLOCKING = 1
_BLOCKING_SYNC, _NO_TIMING, _INTERPROCESS = 1, 2, 4


def stream_of(context: Context, handle: int) -> Stream:
    """The stream of a handle, which must be of this context; 0 is the legacy default stream."""
    if handle in (0, _LEGACY):
        return context.legacy
    if handle == _PER_THREAD:
        thread = context.machine.thread_number()
        return context.per_thread.setdefault(thread, Stream(context, _PER_THREAD))
    found = context.machine.find(Stream, handle, "stream")
    if found.context is not context:
        raise CuError(400, "wrong handle", f"the stream belongs to {found.context}, but {context} is current")
    return found


def _any_stream(context: Context, handle: int) -> Stream:
    """The same for functions that take streams of every context."""
    return stream_of(context, handle) if handle in (0, _LEGACY, _PER_THREAD) else context.machine.find(Stream, handle, "stream")


def _new_stream(context: Context, flags: int, priority: int) -> int:
    if flags & ~_NON_BLOCKING:
        raise CuError(1, "invalid value", f"{flags:#x} are no flags of a stream")
    made = Stream(context, blocking=not flags, flags=flags, priority=max(-5, min(0, priority)))
    made.handle = context.machine.new_handle(made)
    context.streams[:] = [s for s in context.streams if not s.destroyed or (s.last is not None and not s.last.done)]
    context.streams.append(made)
    return made.handle


@entry(2000, OUT(U64), U32)
def cuStreamCreate(context: Context, flags: int) -> int:
    return _new_stream(context, flags, 0)


@entry(5050, OUT(U64), U32, I32)
def cuStreamCreateWithPriority(context: Context, flags: int, priority: int) -> int:
    return _new_stream(context, flags, priority)


@entry(4000, U64)
def cuStreamDestroy(context: Context, handle: int) -> None:
    found = context.machine.find(Stream, handle, "stream")
    context.machine.drop_handle(handle, "a stream")
    found.destroyed = True  # what is queued stays so, and the default stream goes on waiting for it


@entry(2000, U64)
def cuStreamSynchronize(context: Context, handle: int) -> None:
    found = _any_stream(context, handle)
    context.machine.wait(found.context, found.last)


@entry(2000, U64)
def cuStreamQuery(context: Context, handle: int) -> None:
    found = _any_stream(context, handle)
    if found.last is not None and not found.last.done:
        _progress(context.machine, found.context)
        raise CuError(600)


def _progress(machine: Machine, context: Context) -> None:
    """One operation runs after a query, so that a program that asks again and again comes to an end."""
    if context.queue:
        machine.run(next(iter(context.queue.values())))


@entry(5050, U64, OUT(I32))
def cuStreamGetPriority(context: Context, handle: int) -> int:
    return _any_stream(context, handle).priority


@entry(5050, U64, OUT(U32))
def cuStreamGetFlags(context: Context, handle: int) -> int:
    return _any_stream(context, handle).flags


@entry(9020, U64, OUT(U64))
def cuStreamGetCtx(context: Context, handle: int) -> int:
    return _any_stream(context, handle).context.handle


@entry(12050, U64, OUT(U64), MAYBE(U64), name="cuStreamGetCtx")
def cuStreamGetCtx_v2(context: Context, handle: int) -> tuple[int, int]:
    return _any_stream(context, handle).context.handle, 0


@entry(12080, U64, OUT(I32))
def cuStreamGetDevice(context: Context, handle: int) -> int:
    return _any_stream(context, handle).context.device.index


@entry(10000, U64, OUT(U32))
def cuStreamIsCapturing(context: Context, handle: int) -> int:
    _any_stream(context, handle)
    return 0


@entry(3020, U64, U64, U32)
def cuStreamWaitEvent(context: Context, handle: int, event: int, flags: int) -> None:
    found, point = _any_stream(context, handle), context.machine.find(Event, event, "event")
    if flags & ~1:
        raise CuError(1, "invalid value", f"{flags:#x} are no flags of a wait")
    context.machine.submit("cuStreamWaitEvent", found, lambda: None, needs=(point.work,))


# ----------------------------------------------------------------------------------------------------------------- events


@entry(2000, OUT(U64), U32)
def cuEventCreate(context: Context, flags: int) -> int:
    if flags & ~(_BLOCKING_SYNC | _NO_TIMING | _INTERPROCESS):
        raise CuError(1, "invalid value", f"{flags:#x} are no flags of an event")
    if flags & _INTERPROCESS:
        raise CuError(801, "unsupported", "events that processes share are not simulated")
    made = Event(context, 0, not flags & _NO_TIMING)
    made.handle = context.machine.new_handle(made)
    return made.handle


@entry(4000, U64)
def cuEventDestroy(context: Context, handle: int) -> None:
    context.machine.find(Event, handle, "event")
    context.machine.drop_handle(handle, "an event")


def _record(context: Context, handle: int, stream: int) -> None:
    found, queue = context.machine.find(Event, handle, "event"), _any_stream(context, stream)
    if found.context is not queue.context:
        raise CuError(400, "wrong handle", f"the event belongs to {found.context}, the stream to {queue.context}")

    def reach() -> None:
        found.time = time.perf_counter_ns()

    found.time = None
    found.work = context.machine.submit("cuEventRecord", queue, reach)


@entry(2000, U64, U64)
def cuEventRecord(context: Context, handle: int, stream: int) -> None:
    _record(context, handle, stream)


@entry(11010, U64, U64, U32)
def cuEventRecordWithFlags(context: Context, handle: int, stream: int, flags: int) -> None:
    if flags:
        raise CuError(801, "unsupported", "events of graphs are not simulated")
    _record(context, handle, stream)


@entry(2000, U64)
def cuEventSynchronize(context: Context, handle: int) -> None:
    found = context.machine.find(Event, handle, "event")
    context.machine.wait(found.context, found.work)


@entry(2000, U64)
def cuEventQuery(context: Context, handle: int) -> None:
    found = context.machine.find(Event, handle, "event")
    if found.work is not None and not found.work.done:
        _progress(context.machine, found.context)
        raise CuError(600)


@entry(2000, OUT(F32), U64, U64)
def cuEventElapsedTime(context: Context, start: int, end: int) -> float:
    times: list[int] = []
    for handle in (start, end):
        found = context.machine.find(Event, handle, "event")
        if not found.timing or found.work is None:
            raise CuError(400, "invalid value", "an event that was not recorded, or takes no times, has no time")
        if not found.work.done or found.time is None:
            raise CuError(600)
        times.append(found.time)
    return (times[1] - times[0]) / 1e6
