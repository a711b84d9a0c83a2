"""Driver functions about devices, primary contexts, contexts, and the meaning of result codes."""

from __future__ import annotations

import ctypes

from tack_sim.driver_attributes import NAME, attribute
from tack_sim.driver_codes import MEANINGS, code_name
from tack_sim.driver_entry import I32, MAYBE, OUT, U32, U64, entry
from tack_sim.driver_report import CuError
from tack_sim.driver_state import Context, Device, Machine
from tack_sim.memory import write_bytes

__all__: list[str] = []

_CONTEXT_FLAGS = 0xFF
_API_VERSION = 3020  # of contexts
_NAMES = {code: (ctypes.create_string_buffer(code_name(code).encode()), ctypes.create_string_buffer(words.encode()))
          for code, (_, words) in MEANINGS.items()}  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- the driver


@entry(2000, U32, needs="nothing")
def cuInit(machine: Machine, flags: int) -> None:
    if flags:
        raise CuError(1, "invalid value", f"the flags must be 0, not {flags:#x}")
    if not machine.devices:
        raise CuError(100)
    machine.initialized = True


@entry(2020, OUT(I32), needs="nothing")
def cuDriverGetVersion(machine: Machine) -> int:
    return machine.options.driver_version


@entry(6000, I32, U64, needs="nothing")
def cuGetErrorName(machine: Machine, code: int, where: int) -> None:
    _text(code, where, 0)


@entry(6000, I32, U64, needs="nothing")
def cuGetErrorString(machine: Machine, code: int, where: int) -> None:
    _text(code, where, 1)


def _text(code: int, where: int, which: int) -> None:
    if not where:
        raise CuError(1, "null pointer", "an address where a result shall be stored is null")
    known = _NAMES.get(code)
    U64.from_address(where).value = ctypes.addressof(known[which]) if known else 0
    if not known:
        raise CuError(1)


# ---------------------------------------------------------------------------------------------------------------- devices


@entry(2000, OUT(I32), I32, needs="driver")
def cuDeviceGet(machine: Machine, ordinal: int) -> int:
    return machine.device(ordinal).index


@entry(2000, OUT(I32), needs="driver")
def cuDeviceGetCount(machine: Machine) -> int:
    return len(machine.devices)


@entry(2000, U64, I32, I32, needs="driver")
def cuDeviceGetName(machine: Machine, where: int, size: int, index: int) -> None:
    machine.device(index)
    _store_text(where, size, NAME)


@entry(4010, U64, I32, I32, needs="driver")
def cuDeviceGetPCIBusId(machine: Machine, where: int, size: int, index: int) -> None:
    _store_text(where, size, f"FFFF:{machine.device(index).index:02X}:00.0")


def _store_text(where: int, size: int, text: str) -> None:
    if not where or size < 1:
        raise CuError(1, "null pointer", "there is no room for the text")
    write_bytes(where, text.encode()[: size - 1] + b"\0")


@entry(9020, U64, I32, needs="driver")
def cuDeviceGetUuid(machine: Machine, where: int, index: int) -> None:
    if not where:
        raise CuError(1, "null pointer", "the address of the result is null")
    write_bytes(where, b"tack-sim GPU" + machine.device(index).index.to_bytes(4, "big"))


@entry(3020, OUT(U64), I32, needs="driver")
def cuDeviceTotalMem(machine: Machine, index: int) -> int:
    machine.device(index)
    return machine.options.memory


@entry(2000, OUT(I32), I32, I32, needs="driver")
def cuDeviceGetAttribute(machine: Machine, number: int, index: int) -> int:
    machine.device(index)
    value = attribute(machine.options, number)
    if value is None:
        raise CuError(1, "invalid value", f"there is no attribute {number}")
    return value if number != 33 else index  # the bus, by which devices are told apart


@entry(2000, OUT(I32), OUT(I32), I32, needs="driver")
def cuDeviceComputeCapability(machine: Machine, index: int) -> tuple[int, int]:
    machine.device(index)
    return machine.options.compute


@entry(4000, OUT(I32), I32, I32, needs="driver")
def cuDeviceCanAccessPeer(machine: Machine, index: int, peer: int) -> int:
    machine.device(index)
    machine.device(peer)
    return 0


# ------------------------------------------------------------------------------------------------------- primary contexts


@entry(7000, OUT(U64), I32, needs="driver")
def cuDevicePrimaryCtxRetain(machine: Machine, index: int) -> int:
    device = machine.device(index)
    if device.primary is None:
        device.primary = machine.new_context(device, True, device.flags)
    device.retained += 1
    return device.primary.handle


@entry(7000, I32, needs="driver")
def cuDevicePrimaryCtxRelease(machine: Machine, index: int) -> None:
    device = machine.device(index)
    if not device.retained:
        raise CuError(201, "invalid value", f"the primary context of device {index} is released more often than retained")
    device.retained -= 1
    if not device.retained:
        _end_primary(machine, device)


@entry(7000, I32, needs="driver")
def cuDevicePrimaryCtxReset(machine: Machine, index: int) -> None:
    device = machine.device(index)
    device.retained = 0
    _end_primary(machine, device)


def _end_primary(machine: Machine, device: Device) -> None:
    if device.primary is not None:
        machine.end_context(device.primary)
        device.primary = None


@entry(7000, I32, MAYBE(U32), MAYBE(I32), needs="driver")
def cuDevicePrimaryCtxGetState(machine: Machine, index: int) -> tuple[int, int]:
    device = machine.device(index)
    return device.flags, device.primary is not None


@entry(7000, I32, U32, needs="driver")
def cuDevicePrimaryCtxSetFlags(machine: Machine, index: int, flags: int) -> None:
    _check_flags(flags)
    device = machine.device(index)
    device.flags = flags
    if device.primary is not None:
        device.primary.flags = flags


def _check_flags(flags: int) -> None:
    if flags & ~_CONTEXT_FLAGS:
        raise CuError(1, "invalid value", f"{flags:#x} are no flags of a context")


# --------------------------------------------------------------------------------------------------------------- contexts


def _create(machine: Machine, flags: int, index: int) -> int:
    _check_flags(flags)
    made = machine.new_context(machine.device(index), False, flags)
    machine.stack().append(made)
    return made.handle


@entry(3020, OUT(U64), U32, I32, needs="driver")
def cuCtxCreate(machine: Machine, flags: int, index: int) -> int:
    return _create(machine, flags, index)


@entry(11040, OUT(U64), U64, I32, U32, I32, needs="driver", name="cuCtxCreate")
def cuCtxCreate_v3(machine: Machine, parameters: int, count: int, flags: int, index: int) -> int:
    if parameters or count:
        raise CuError(801, "unsupported", "contexts with an execution affinity are not simulated")
    return _create(machine, flags, index)


@entry(12050, OUT(U64), U64, U32, I32, needs="driver", name="cuCtxCreate")
def cuCtxCreate_v4(machine: Machine, parameters: int, flags: int, index: int) -> int:
    if parameters and any(ctypes.string_at(parameters, 24)):  # a pointer, a number and a pointer
        raise CuError(801, "unsupported", "contexts with parameters are not simulated")
    return _create(machine, flags, index)


@entry(4000, U64, needs="driver")
def cuCtxDestroy(machine: Machine, handle: int) -> None:
    context = machine.find(Context, handle, "context", 201)
    if context.primary:
        raise CuError(201, "wrong handle", f"{context} is released, not destroyed")
    if machine.current() is context:
        machine.stack().pop()
    machine.end_context(context)


@entry(4000, OUT(U64), needs="driver")
def cuCtxGetCurrent(machine: Machine) -> int:
    context = machine.current()
    return context.handle if context else 0


@entry(4000, U64, needs="driver")
def cuCtxSetCurrent(machine: Machine, handle: int) -> None:
    stack = machine.stack()
    context = machine.find(Context, handle, "context", 201) if handle else None
    if stack:
        stack.pop()
    if context is not None:
        stack.append(context)


@entry(4000, U64, needs="driver")
def cuCtxPushCurrent(machine: Machine, handle: int) -> None:
    machine.stack().append(machine.find(Context, handle, "context", 201))


@entry(4000, MAYBE(U64), needs="driver")
def cuCtxPopCurrent(machine: Machine) -> int:
    stack = machine.stack()
    if not stack:
        raise CuError(201, "no current context", "there is no context to pop on this thread")
    return stack.pop().handle


@entry(2000, OUT(I32), needs="context")
def cuCtxGetDevice(context: Context) -> int:
    return context.device.index


@entry(13000, OUT(I32), U64, needs="driver", name="cuCtxGetDevice")
def cuCtxGetDevice_v2(machine: Machine, handle: int) -> int:
    return _given(machine, handle).device.index


def _given(machine: Machine, handle: int) -> Context:
    """The context of a handle, or the current one for null."""
    if handle:
        return machine.find(Context, handle, "context", 201)
    context = machine.current()
    if context is None:
        raise CuError(201, "no current context", "no context is current on this thread")
    return context


@entry(7000, OUT(U32), needs="context")
def cuCtxGetFlags(context: Context) -> int:
    return context.flags


@entry(12000, U64, OUT(U64), needs="driver")
def cuCtxGetId(machine: Machine, handle: int) -> int:
    return _given(machine, handle).handle


@entry(3020, U64, OUT(U32), needs="driver")
def cuCtxGetApiVersion(machine: Machine, handle: int) -> int:
    _given(machine, handle)
    return _API_VERSION


@entry(5050, MAYBE(I32), MAYBE(I32))
def cuCtxGetStreamPriorityRange(context: Context) -> tuple[int, int]:
    return 0, -5


@entry(2000)
def cuCtxSynchronize(context: Context) -> None:
    context.machine.wait(context, *context.queue.values())


@entry(13000, U64, needs="driver", name="cuCtxSynchronize")
def cuCtxSynchronize_v2(machine: Machine, handle: int) -> None:
    context = _given(machine, handle)
    machine.wait(context, *context.queue.values())


@entry(4000, U64, U32)
def cuCtxEnablePeerAccess(context: Context, peer: int, flags: int) -> None:
    raise CuError(217)


@entry(4000, U64)
def cuCtxDisablePeerAccess(context: Context, peer: int) -> None:
    raise CuError(705)
