"""Driver functions that copy and fill memory. Every copy is a box of rows between two sides: host, device or array."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tack_sim.driver_entry import U8, U16, U32, U64, entry
from tack_sim.driver_memory import device_range, host_range
from tack_sim.driver_report import CuError
from tack_sim.driver_state import TEXEL, Array, Context, Machine, Stream
from tack_sim.driver_streams import stream_of
from tack_sim.memory import Allocation, fill_bytes

__all__: list[str] = []

_HOST, _DEVICE, _ARRAY, _UNIFIED = 1, 2, 3, 4  # CUmemorytype


@dataclass(frozen=True, slots=True)
class _Box:
    """The extent of a copy: bytes of a row, rows, and slices."""

    width: int
    height: int = 1
    depth: int = 1

    @property
    def nbytes(self) -> int:
        return self.width * self.height * self.depth


@dataclass(frozen=True, slots=True)
class _Side:
    """Where a copy reads or writes: the address of its first byte, and the bytes from row to row and from slice to slice.

    `allocation` is that of memory the driver gave, `array` an array; neither is there for pageable memory of the host.
    `keep` holds what the address points into.
    """

    what: str
    address: int
    pitch: int
    slice: int
    allocation: Allocation | None = None
    array: Array | None = None
    keep: object = None

    @property
    def on_host(self) -> bool:
        """Whether the host sees this side."""
        return self.array is None and (self.allocation is None or self.allocation.host)

    @property
    def pageable(self) -> bool:
        """Whether it is memory of the host that the driver does not know."""
        return self.array is None and self.allocation is None

    def extent(self, box: _Box) -> int:
        """The bytes from the first to behind the last."""
        return (box.depth - 1) * self.slice + (box.height - 1) * self.pitch + box.width


def _device_side(machine: Machine, address: int, box: _Box, what: str, pitch: int = 0, slice_: int = 0) -> _Side:
    side = _Side(what, address, pitch, slice_)
    return _Side(what, address, pitch, slice_, device_range(machine, address, side.extent(box), what))


def _host_side(machine: Machine, address: int, box: _Box, what: str, pitch: int = 0, slice_: int = 0) -> _Side:
    side = _Side(what, address, pitch, slice_)
    return _Side(what, address, pitch, slice_, host_range(machine, address, side.extent(box), what))


def _any_side(machine: Machine, address: int, box: _Box, what: str, pitch: int = 0, slice_: int = 0) -> _Side:
    make = _host_side if machine.owner(address) is None else _device_side
    return make(machine, address, box, what, pitch, slice_)


# ----------------------------------------------------------------------------------------------------------------- copies


def _move(target: _Side, source: _Side, box: _Box) -> None:
    if box.height == box.depth == 1 or (
        target.pitch == source.pitch == box.width and target.slice == source.slice == box.width * box.height
    ):
        ctypes.memmove(target.address, source.address, box.nbytes)
        return
    for z in range(box.depth):
        for y in range(box.height):
            to = target.address + z * target.slice + y * target.pitch
            ctypes.memmove(to, source.address + z * source.slice + y * source.pitch, box.width)


def _staged(source: _Side, box: _Box) -> _Side:
    """A copy of pageable memory, taken at the call as the driver takes it."""
    buffer = ctypes.create_string_buffer(box.nbytes)
    made = _Side(source.what, ctypes.addressof(buffer), box.width, box.width * box.height, keep=buffer)
    _move(made, source, box)
    return made


def _check_alive(side: _Side) -> None:
    if side.allocation is not None and side.allocation.freed:
        raise CuError(700, "use after free", f"{side.what} of queued work is {side.allocation}")
    if side.array is not None and side.array.destroyed:
        raise CuError(700, "use after free", f"{side.what} of queued work is an array that is destroyed")


def _copy(context: Context, call: str, stream: Stream, target: _Side, source: _Side, box: _Box, waits: bool) -> None:
    """Queues a copy; `waits` for functions that return when it has run."""
    machine = context.machine
    if not box.nbytes:
        return
    sides = (target, source)
    if source.pageable and not waits:
        source = _staged(source, box)

    def action() -> None:
        for side in sides:
            _check_alive(side)
        with ExitStack() as stack:
            for side in sides:
                owner = machine.owner(side.address) if side.allocation is not None else None
                if owner is not None:
                    stack.enter_context(owner.region.opened())
            _move(target, source, box)

    def uses(start: int, end: int) -> bool:
        return any(side.address < end and start < side.address + side.extent(box) for side in sides if not side.pageable)

    work = machine.submit(call, stream, action, uses, writes_host=target.pageable)
    if waits:
        machine.wait(context, work)


def _check_apart(target: int, source: int, nbytes: int) -> None:
    if target < source + nbytes and source < target + nbytes and nbytes:
        raise CuError(1, "overlapping copy", f"{nbytes} bytes at {source:#x} and at {target:#x} overlap")


def _to_device(context: Context, call: str, target: int, source: int, nbytes: int, stream: Stream, waits: bool) -> None:
    box = _Box(nbytes)
    if not nbytes:
        return
    to = _device_side(context.machine, target, box, "the target")
    _copy(context, call, stream, to, _host_side(context.machine, source, box, "the source"), box, waits)


def _to_host(context: Context, call: str, target: int, source: int, nbytes: int, stream: Stream, waits: bool) -> None:
    box = _Box(nbytes)
    if not nbytes:
        return
    to = _host_side(context.machine, target, box, "the target")
    _copy(context, call, stream, to, _device_side(context.machine, source, box, "the source"), box, waits)


def _on_device(context: Context, call: str, target: int, source: int, nbytes: int, stream: Stream) -> None:
    box = _Box(nbytes)
    if not nbytes:
        return
    to = _device_side(context.machine, target, box, "the target")
    origin = _device_side(context.machine, source, box, "the source")
    _check_apart(target, source, nbytes)
    _copy(context, call, stream, to, origin, box, False)


def _anywhere(context: Context, call: str, target: int, source: int, nbytes: int, stream: Stream, waits: bool) -> None:
    box = _Box(nbytes)
    if not nbytes:
        return
    to = _any_side(context.machine, target, box, "the target")
    origin = _any_side(context.machine, source, box, "the source")
    _check_apart(target, source, nbytes)
    _copy(context, call, stream, to, origin, box, waits and (to.on_host or origin.on_host))


@entry(3020, U64, U64, U64)
def cuMemcpyHtoD(context: Context, target: int, source: int, nbytes: int) -> None:
    _to_device(context, "cuMemcpyHtoD", target, source, nbytes, context.legacy, True)


@entry(3020, U64, U64, U64, U64)
def cuMemcpyHtoDAsync(context: Context, target: int, source: int, nbytes: int, stream: int) -> None:
    _to_device(context, "cuMemcpyHtoDAsync", target, source, nbytes, stream_of(context, stream), False)


@entry(3020, U64, U64, U64)
def cuMemcpyDtoH(context: Context, target: int, source: int, nbytes: int) -> None:
    _to_host(context, "cuMemcpyDtoH", target, source, nbytes, context.legacy, True)


@entry(3020, U64, U64, U64, U64)
def cuMemcpyDtoHAsync(context: Context, target: int, source: int, nbytes: int, stream: int) -> None:
    _to_host(context, "cuMemcpyDtoHAsync", target, source, nbytes, stream_of(context, stream), False)


@entry(3020, U64, U64, U64)
def cuMemcpyDtoD(context: Context, target: int, source: int, nbytes: int) -> None:
    _on_device(context, "cuMemcpyDtoD", target, source, nbytes, context.legacy)


@entry(3020, U64, U64, U64, U64)
def cuMemcpyDtoDAsync(context: Context, target: int, source: int, nbytes: int, stream: int) -> None:
    _on_device(context, "cuMemcpyDtoDAsync", target, source, nbytes, stream_of(context, stream))


@entry(4000, U64, U64, U64)
def cuMemcpy(context: Context, target: int, source: int, nbytes: int) -> None:
    _anywhere(context, "cuMemcpy", target, source, nbytes, context.legacy, True)


@entry(4000, U64, U64, U64, U64)
def cuMemcpyAsync(context: Context, target: int, source: int, nbytes: int, stream: int) -> None:
    _anywhere(context, "cuMemcpyAsync", target, source, nbytes, stream_of(context, stream), False)


def _peer(context: Context, call: str, target: tuple[int, int], source: tuple[int, int], nbytes: int, stream: Stream) -> None:
    for (address, handle), what in ((target, "target"), (source, "source")):
        owner = context.machine.find(Context, handle, "context", 201)
        if nbytes and address not in owner.region:
            raise CuError(1, "wrong device", f"the {what}, {address:#x}, is no memory of {owner}")
    _on_device(context, call, target[0], source[0], nbytes, stream)


@entry(4000, U64, U64, U64, U64, U64)
def cuMemcpyPeer(context: Context, target: int, to: int, source: int, origin: int, nbytes: int) -> None:
    _peer(context, "cuMemcpyPeer", (target, to), (source, origin), nbytes, context.legacy)


@entry(4000, U64, U64, U64, U64, U64, U64)
def cuMemcpyPeerAsync(context: Context, target: int, to: int, source: int, origin: int, nbytes: int, stream: int) -> None:
    _peer(context, "cuMemcpyPeerAsync", (target, to), (source, origin), nbytes, stream_of(context, stream))


# ------------------------------------------------------------------------------------------------------- copies of boxes


class _End3D(ctypes.Structure):
    """One half of CUDA_MEMCPY3D."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("x", "y", "z", "level")] + [
        ("kind", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("host", "device", "array", "reserved", "pitch", "height")),
    ]


class _Copy3D(ctypes.Structure):
    _fields_ = [("source", _End3D), ("target", _End3D), *((n, ctypes.c_size_t) for n in ("width", "height", "depth"))]


class _End2D(ctypes.Structure):
    """One half of CUDA_MEMCPY2D."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("x", "y")] + [
        ("kind", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("host", "device", "array", "pitch")),
    ]


class _Copy2D(ctypes.Structure):
    _fields_ = [("source", _End2D), ("target", _End2D), *((n, ctypes.c_size_t) for n in ("width", "height"))]


def _side_of(context: Context, end: _End3D, box: _Box, what: str) -> _Side:
    """The side that a half of a copy's description means."""
    machine = context.machine
    if end.level or end.reserved:
        raise CuError(1, "invalid value", f"the level of detail and the reserved field of {what} must be 0")
    if end.kind == _ARRAY:
        return _array_side(context, end, box, what)
    pitch = end.pitch or end.x + box.width
    height = end.height or end.y + box.height
    if end.x + box.width > pitch or (end.y + box.height > height and box.depth > 1):
        words = (
            f"rows of {box.width} bytes from {end.x} on do not fit a pitch of {pitch}, or {box.height} rows a height of {height}"
        )
        raise CuError(1, "copy out of bounds", f"{what}: {words}")
    offset = (end.z * height + end.y) * pitch + end.x
    makers: dict[int, tuple[Callable[..., _Side], int]] = {
        _HOST: (_host_side, end.host), _DEVICE: (_device_side, end.device), _UNIFIED: (_any_side, end.device)
    }  # fmt: skip
    if end.kind not in makers:
        raise CuError(1, "invalid value", f"{end.kind} is no kind of memory")
    make, base = makers[end.kind]
    if not base:
        raise CuError(1, "null pointer", f"{what} is null")
    return make(machine, base + offset, box, what, pitch, pitch * height)


def _array_side(context: Context, end: _End3D, box: _Box, what: str) -> _Side:
    array = context.machine.find(Array, end.array, "array")
    if array.context is not context:
        raise CuError(400, "wrong handle", f"{what} is an array of {array.context}, but {context} is current")
    width, height, depth = array.extents
    row = width * array.channels * TEXEL
    if end.x + box.width > row or end.y + box.height > height or end.z + box.depth > depth:
        words = f"{box.width} bytes x {box.height} x {box.depth} from ({end.x}, {end.y}, {end.z}) on"
        raise CuError(1, "copy out of bounds", f"{what}: {words} in an array of {row} x {height} x {depth}")
    if end.x % TEXEL or box.width % TEXEL:
        raise CuError(1, "misaligned address", f"{what}: the start and width of rows are no whole texels")
    address = array.address + (end.z * height + end.y) * row + end.x
    return _Side(what, address, row, row * height, array=array, keep=array.texels)


def _copy_3d(context: Context, call: str, where: int, stream: Stream, waits: bool) -> None:
    if not where:
        raise CuError(1, "null pointer", "the description of the copy is null")
    given = _Copy3D.from_address(where)
    _copy_box(context, call, given.target, given.source, _Box(given.width, given.height, given.depth), stream, waits)


def _copy_2d(context: Context, call: str, where: int, stream: Stream, waits: bool) -> None:
    if not where:
        raise CuError(1, "null pointer", "the description of the copy is null")
    given = _Copy2D.from_address(where)
    ends = [_End3D(x=e.x, y=e.y, kind=e.kind, host=e.host, device=e.device, array=e.array, pitch=e.pitch)
            for e in (given.target, given.source)]  # fmt: skip
    _copy_box(context, call, ends[0], ends[1], _Box(given.width, given.height), stream, waits)


def _copy_box(context: Context, call: str, to: _End3D, origin: _End3D, box: _Box, stream: Stream, waits: bool) -> None:
    if not box.nbytes:
        return
    target, source = _side_of(context, to, box, "the target"), _side_of(context, origin, box, "the source")
    _copy(context, call, stream, target, source, box, waits and (target.on_host or source.on_host))


@entry(3020, U64)
def cuMemcpy3D(context: Context, where: int) -> None:
    _copy_3d(context, "cuMemcpy3D", where, context.legacy, True)


@entry(3020, U64, U64)
def cuMemcpy3DAsync(context: Context, where: int, stream: int) -> None:
    _copy_3d(context, "cuMemcpy3DAsync", where, stream_of(context, stream), False)


@entry(3020, U64)
def cuMemcpy2D(context: Context, where: int) -> None:
    _copy_2d(context, "cuMemcpy2D", where, context.legacy, True)


@entry(3020, U64)
def cuMemcpy2DUnaligned(context: Context, where: int) -> None:
    _copy_2d(context, "cuMemcpy2DUnaligned", where, context.legacy, True)


@entry(3020, U64, U64)
def cuMemcpy2DAsync(context: Context, where: int, stream: int) -> None:
    _copy_2d(context, "cuMemcpy2DAsync", where, stream_of(context, stream), False)


# ------------------------------------------------------------------------------------------------------------------ fills


def _fill(
    context: Context, call: str, address: int, pitch: int, pattern: bytes, rows: tuple[int, int], stream: int | None
) -> None:
    """Queues that `rows`, elements of a row and number of rows, hold a pattern.

    `stream` is None for functions that wait where the host sees the target.
    """
    machine = context.machine
    width, height = rows
    box = _Box(width * len(pattern), height)
    if not box.nbytes:
        return
    if height > 1 and pitch < box.width:
        raise CuError(1, "copy out of bounds", f"rows of {box.width} bytes do not fit a pitch of {pitch}")
    if address % len(pattern) or (height > 1 and pitch % len(pattern)):
        raise CuError(1, "misaligned address", f"{address:#x} or a pitch of {pitch} is no multiple of {len(pattern)} bytes")
    target = _device_side(machine, address, box, "the target", pitch)

    def action() -> None:
        _check_alive(target)
        owner = machine.owner(address)
        assert owner is not None
        with owner.region.opened():
            for y in range(height):
                fill_bytes(address + y * pitch, pattern, width)

    queue = stream_of(context, stream or 0)
    work = machine.submit(call, queue, action, lambda start, end: address < end and start < address + target.extent(box))
    if stream is None and target.on_host:
        machine.wait(context, work)


def _declare_fills(kind: Any, size: int) -> None:
    bits = 8 * size

    def fill(context: Context, address: int, value: int, count: int, stream: int | None = None) -> None:
        _fill(context, f"cuMemsetD{bits}", address, 0, value.to_bytes(size, "little"), (count, 1), stream)

    def boxed(context: Context, address: int, pitch: int, value: int, width: int, height: int, stream: int | None = None) -> None:
        _fill(context, f"cuMemsetD2D{bits}", address, pitch, value.to_bytes(size, "little"), (width, height), stream)

    entry(3020, U64, kind, U64, name=f"cuMemsetD{bits}")(fill)
    entry(3020, U64, kind, U64, U64, name=f"cuMemsetD{bits}Async")(fill)
    entry(3020, U64, U64, kind, U64, U64, name=f"cuMemsetD2D{bits}")(boxed)
    entry(3020, U64, U64, kind, U64, U64, U64, name=f"cuMemsetD2D{bits}Async")(boxed)


for _kind, _size in ((U8, 1), (U16, 2), (U32, 4)):
    _declare_fills(_kind, _size)
