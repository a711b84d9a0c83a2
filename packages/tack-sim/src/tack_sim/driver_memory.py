"""Driver functions that allocate, free and describe memory, and the checks of addresses that all others use."""

from __future__ import annotations

from tack_sim.driver_entry import I32, MAYBE, OUT, U32, U64, entry, load, store
from tack_sim.driver_report import CuError
from tack_sim.driver_state import Context, Machine, Stream
from tack_sim.driver_streams import stream_of
from tack_sim.memory import Allocation

__all__ = ["device_range", "host_range"]

_HOST, _DEVICE = 1, 2  # CUmemorytype
_ATTACH = (1, 2)  # flags of cuMemAllocManaged: global, host
_PITCH = 512  # bytes to which cuMemAllocPitch rounds rows
_HOST_ALLOC_FLAGS = 7  # portable, mapped, write-combined


# -------------------------------------------------------------------------------------------------------- checks of addresses


def device_range(machine: Machine, address: int, nbytes: int, what: str) -> Allocation:
    """The allocation that holds a range of device addresses; `what` names the range in reports."""
    if not address:
        raise CuError(1, "null pointer", f"{what} is null")
    owner = machine.owner(address)
    if owner is None:
        raise CuError(1, "host pointer", f"{what} is {address:#x}, which is no memory of a device: a host pointer?")
    found = owner.region.find(address)
    if found is None or not owner.alive:
        raise CuError(1, "use after free", f"{what} is {address:#x}, where no memory is allocated on device {owner.device.index}")
    if found.freed:
        raise CuError(1, "use after free", f"{what} is {address:#x}: {owner.region.describe(address)}")
    if address < found.address or address + nbytes > found.end:
        words = f"{what} is {nbytes} bytes at {address:#x}: {owner.region.describe(address)}"
        raise CuError(1, "copy out of bounds", words)
    return found


def host_range(machine: Machine, address: int, nbytes: int, what: str) -> Allocation | None:
    """The pinned or managed allocation that holds a range of host addresses, None for other memory of the host."""
    if not address:
        raise CuError(1, "null pointer", f"{what} is null")
    owner = machine.owner(address)
    if owner is None:
        return None
    found = owner.region.find(address)
    if found is None or not found.host:
        words = f"{what} is {address:#x}, an address of device {owner.device.index}: {owner.region.describe(address)}"
        raise CuError(1, "device pointer", words)
    return device_range(machine, address, nbytes, what)


# ------------------------------------------------------------------------------------------------------------ allocation


def _allocate(context: Context, nbytes: int, kind: str) -> int:
    if not nbytes:
        raise CuError(1, "invalid value", "0 bytes cannot be allocated")
    if kind != "pinned" and nbytes > context.device.free_memory():
        raise CuError(2)
    try:
        return context.region.allocate(nbytes, kind).address
    except MemoryError:
        raise CuError(2) from None


def _release(machine: Machine, address: int, kinds: tuple[str, ...], call: str) -> None:
    """Frees an allocation by its address, whatever is queued."""
    if not address:
        raise CuError(1, "null pointer", "the address is null")
    owner = machine.owner(address)
    found = owner.region.find(address) if owner is not None else None
    if owner is None:
        raise CuError(1, "host pointer", f"{address:#x} is no memory of a device")
    if found is None or not owner.alive:
        raise CuError(1, "double free", f"nothing is allocated at {address:#x}")
    if found.address != address:
        raise CuError(1, "inner pointer", f"{address:#x} is {owner.region.describe(address)}")
    if found.freed:
        raise CuError(1, "double free", f"{found} is freed again")
    if found.kind not in kinds:
        raise CuError(1, "wrong handle", f"{found} is not freed by {call}")
    users = machine.in_flight(found.address, found.end)
    owner.region.free(found)
    if users:
        names = ", ".join(dict.fromkeys(work.name for work in users))
        error = CuError(0, "freed while in flight", f"{found}, is used by queued work that has not run: {names}")
        machine.tell(error, call, owner.device.index)


@entry(3020, OUT(U64), U64)
def cuMemAlloc(context: Context, nbytes: int) -> int:
    return _allocate(context, nbytes, "device")


@entry(3020, OUT(U64), OUT(U64), U64, U64, U32)
def cuMemAllocPitch(context: Context, width: int, height: int, element: int) -> tuple[int, int]:
    if element not in (4, 8, 16):
        raise CuError(1, "invalid value", f"elements have 4, 8 or 16 bytes, not {element}")
    pitch = -(-width // _PITCH) * _PITCH
    return _allocate(context, pitch * height, "device"), pitch


@entry(3020, U64)
def cuMemFree(context: Context, address: int) -> None:
    _release(context.machine, address, ("device", "managed"), "cuMemFree")


@entry(11020, OUT(U64), U64, U64)
def cuMemAllocAsync(context: Context, nbytes: int, stream: int) -> int:
    stream_of(context, stream)
    return _allocate(context, nbytes, "device")


@entry(11020, U64, U64)
def cuMemFreeAsync(context: Context, address: int, stream: int) -> None:
    machine = context.machine
    queue: Stream = stream_of(context, stream)
    found = device_range(machine, address, 1, "the address")
    if found.address != address or found.kind != "device":
        raise CuError(1, "inner pointer", f"{address:#x} is no start of an allocation of cuMemAlloc or cuMemAllocAsync")
    machine.submit("cuMemFreeAsync", queue, lambda: _release(machine, address, ("device",), "cuMemFreeAsync"))


@entry(6000, OUT(U64), U64, U32)
def cuMemAllocManaged(context: Context, nbytes: int, flags: int) -> int:
    if flags not in _ATTACH:
        raise CuError(1, "invalid value", f"the flags must be global (1) or host (2), not {flags}")
    return _allocate(context, nbytes, "managed")


@entry(3020, OUT(U64), U64)
def cuMemAllocHost(context: Context, nbytes: int) -> int:
    return _allocate(context, nbytes, "pinned")


@entry(2020, OUT(U64), U64, U32)
def cuMemHostAlloc(context: Context, nbytes: int, flags: int) -> int:
    if flags & ~_HOST_ALLOC_FLAGS:
        raise CuError(1, "invalid value", f"{flags:#x} are no flags of pinned memory")
    return _allocate(context, nbytes, "pinned")


@entry(2000, U64)
def cuMemFreeHost(context: Context, address: int) -> None:
    _release(context.machine, address, ("pinned",), "cuMemFreeHost")


@entry(3020, OUT(U64), U64, U32)
def cuMemHostGetDevicePointer(context: Context, address: int, flags: int) -> int:
    if host_range(context.machine, address, 1, "the address") is None:
        raise CuError(1)
    return address


@entry(3020, OUT(U64), OUT(U64))
def cuMemGetInfo(context: Context) -> tuple[int, int]:
    return context.device.free_memory(), context.machine.options.memory


@entry(3020, MAYBE(U64), MAYBE(U64), U64)
def cuMemGetAddressRange(context: Context, address: int) -> tuple[int, int]:
    found = _known(context.machine, address)
    if found is None:
        raise CuError(500)
    return found.address, found.nbytes


@entry(11070, U64, U64, U64, I32, U64)
def cuMemGetHandleForAddressRange(context: Context, where: int, address: int, nbytes: int, kind: int, flags: int) -> None:
    raise CuError(801)


@entry(10020, U64, U64, I32, U64)
def cuMemExportToShareableHandle(context: Context, where: int, handle: int, kind: int, flags: int) -> None:
    raise CuError(801)


# ------------------------------------------------------------------------------------------------- attributes of pointers


def _known(machine: Machine, address: int) -> Allocation | None:
    owner = machine.owner(address)
    found = owner.region.find(address) if owner is not None and owner.alive else None
    return found if found is not None and not found.freed and found.address <= address < found.end else None


def _facts(machine: Machine, found: Allocation, address: int) -> dict[int, tuple[type, int]]:
    """The attributes of an address by their numbers, with their C types."""
    owner = machine.owner(address)
    assert owner is not None
    return {
        1: (U64, owner.handle),
        2: (U32, _HOST if found.kind == "pinned" else _DEVICE),
        3: (U64, address),
        4: (U64, address if found.host else 0),
        6: (U32, 0),
        7: (U64, found.start),
        8: (U32, found.kind == "managed"),
        9: (I32, owner.device.index),
        10: (U32, 0),
        11: (U64, found.address),
        12: (U64, found.nbytes),
        13: (U32, 1),
        14: (U64, 0),
        15: (U32, 0),
        16: (U32, 3),
        17: (U64, 0),
    }


@entry(4000, U64, I32, U64)
def cuPointerGetAttribute(context: Context, where: int, number: int, address: int) -> None:
    found = _known(context.machine, address)
    if found is None:
        raise CuError(1)
    facts = _facts(context.machine, found, address)
    if number not in facts or not where:
        raise CuError(1, "invalid value", f"attribute {number} is not simulated")
    if number == 4 and not found.host:  # there is no such address
        raise CuError(1)
    kind, value = facts[number]
    store(kind, where, value)


@entry(7000, U32, U64, U64, U64)
def cuPointerGetAttributes(context: Context, count: int, numbers: int, where: int, address: int) -> None:
    if not numbers or not where:
        raise CuError(1, "null pointer", "the list of attributes or of results is null")
    found = _known(context.machine, address)
    facts = _facts(context.machine, found, address) if found is not None else {}
    for k in range(count):
        number, to = load(I32, numbers + 4 * k), load(U64, where + 8 * k)
        kind, value = facts.get(number, (U64 if number in (1, 3, 4, 7, 11, 12, 14, 17) else U32, -2 if number == 9 else 0))
        store(kind, to, value)
