"""Driver functions that launch kernels: checks at the call; the run, late; and a second one in reversed order of lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tack_sim import engine
from tack_sim.driver_attributes import limit, limits
from tack_sim.driver_codes import FAULT_CODES
from tack_sim.driver_entry import I32, OUT, U32, U64, entry, load
from tack_sim.driver_modules import dynamic_limit, function_of
from tack_sim.driver_order import stores_of, takes_turns
from tack_sim.driver_report import CuError, Report
from tack_sim.driver_state import Context, Function
from tack_sim.driver_streams import stream_of
from tack_sim.memory import Allocation, read_bytes

__all__: list[str] = []

Triple = tuple[int, int, int]

_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_*
_WARP = 32
_SHOWN = 3  # allocations that a report of a race names


@dataclass(frozen=True, slots=True)
class _Launch:
    function: Function
    grid: Triple
    block: Triple
    dynamic: int
    params: bytes

    @property
    def name(self) -> str:
        return self.function.kernel.name

    def uses(self, start: int, end: int) -> bool:
        """Whether an argument is an address in a range."""
        return any(start <= word < end for word in self.words())

    def words(self) -> list[int]:
        """The arguments of 8 bytes."""
        return [
            int.from_bytes(self.params[p.offset : p.offset + 8], "little") for p in self.function.kernel.params if p.size == 8
        ]


# ------------------------------------------------------------------------------------------------------ checks at the call


@entry(4000, U64, U32, U32, U32, U32, U32, U32, U32, U64, U64, U64)
def cuLaunchKernel(context: Context, handle: int, *rest: int) -> None:
    grid, block = (rest[0], rest[1], rest[2]), (rest[3], rest[4], rest[5])
    dynamic, stream, values, extra = rest[6:]
    function, queue = function_of(context, handle), stream_of(context, stream)
    _check_limits(context, function, grid, block, dynamic)
    launch = _Launch(function, grid, block, dynamic, _arguments(function, values, extra))
    context.machine.submit(f"kernel {launch.name}", queue, lambda: _run(context, launch), launch.uses)


def _check_limits(context: Context, function: Function, grid: Triple, block: Triple, dynamic: int) -> None:
    kernel, options = function.kernel, context.machine.options
    for sizes, what in ((grid, "grid"), (block, "block")):
        most = limits(options, f"MAX_{what.upper()}_DIM_")
        if any(not 1 <= size <= top for size, top in zip(sizes, most, strict=True)):
            raise CuError(1, "launch limits", f"kernel {kernel.name}: a {what} of {sizes}; the limits are 1 to {most}")
    lanes = block[0] * block[1] * block[2]
    if lanes > limit(options, "MAX_THREADS_PER_BLOCK"):
        words = f"kernel {kernel.name}: a block of {lanes} threads; the limit is {limit(options, 'MAX_THREADS_PER_BLOCK')}"
        raise CuError(1, "launch limits", words)
    if lanes > kernel.max_threads:
        words = f"kernel {kernel.name}: a block of {lanes} threads; it was compiled for at most {kernel.max_threads}"
        raise CuError(701, "out of resources", words)
    most = dynamic_limit(context, function)
    if dynamic > most:
        beside = f" beside {kernel.shared_bytes} static ones" if kernel.shared_bytes else ""
        words = f"kernel {kernel.name}: {dynamic} bytes of dynamic shared memory{beside}; the limit is {most}"
        raise CuError(1, "launch limits", words)


def _arguments(function: Function, values: int, extra: int) -> bytes:
    """The argument buffer of a launch, from an array of addresses or from the caller's buffer."""
    kernel = function.kernel
    if values and extra:
        raise CuError(1, "invalid value", f"kernel {kernel.name}: kernelParams and extra are both given")
    if extra:
        return _buffer(kernel, extra)
    if not values and kernel.params:
        raise CuError(1, "null pointer", f"kernel {kernel.name} takes {len(kernel.params)} arguments, and none are given")
    params = bytearray(kernel.param_bytes)
    for k, param in enumerate(kernel.params):
        address = load(U64, values + 8 * k)
        if not address:
            raise CuError(1, "null pointer", f"kernel {kernel.name}: the address of argument {k} is null")
        params[param.offset : param.offset + param.size] = read_bytes(address, param.size)
    return bytes(params)


def _buffer(kernel: engine.Kernel, extra: int) -> bytes:
    given: dict[int, int] = {}
    for k in range(3):
        key = load(U64, extra + 16 * k)
        if key == _END:
            break
        if key not in (_BUFFER, _BUFFER_SIZE):
            raise CuError(1, "invalid value", f"kernel {kernel.name}: {key:#x} in `extra` is no key")
        given[key] = load(U64, extra + 16 * k + 8)
    if not given.get(_BUFFER) or not given.get(_BUFFER_SIZE):
        raise CuError(1, "null pointer", f"kernel {kernel.name}: `extra` has no buffer or no address of its size")
    size = load(U64, given[_BUFFER_SIZE])
    unit = max((param.align for param in kernel.params), default=1)
    if size not in (kernel.param_bytes, -(-kernel.param_bytes // unit) * unit):  # a C struct ends in padding
        words = f"kernel {kernel.name} takes {kernel.param_bytes} bytes of arguments, the buffer has {size}"
        raise CuError(1, "wrong argument size", words)
    return read_bytes(given[_BUFFER], kernel.param_bytes)


# -------------------------------------------------------------------------------------------------------------- the launch


def _run(context: Context, launch: _Launch) -> None:
    if not launch.function.module.loaded:
        raise CuError(719, "unloaded while in flight", f"kernel {launch.name} of queued work belongs to an unloaded module")
    kernel = launch.function.kernel
    with context.region.opened():
        if not kernel.uses_shared or kernel.float_atomics or takes_turns(kernel):
            _fail(context, launch, _engine(context, launch))
            return
        before = context.region.snapshot()
        fault = _engine(context, launch, reverse=True)
        changed = context.region.changes(before)
        context.region.restore({each: before[each] for each in changed})
        _fail(context, launch, _engine(context, launch))
        _fail(context, launch, fault, " (with blocks and lanes in reversed order)")
        reversed_ = before | changed
        different = context.region.changes(reversed_)
        if different:
            _race(context, launch, different, reversed_)


def _engine(context: Context, launch: _Launch, reverse: bool = False) -> engine.Fault | None:
    return engine.launch(
        launch.function.kernel,
        launch.params,
        launch.grid,
        launch.block,
        context.region,
        [texture.for_engine() for texture in context.textures.values()],
        variables=[allocation.address for allocation in launch.function.module.variables],
        dynamic_shared=launch.dynamic,
        reverse=reverse,
        leaving=context.machine.options.early_exit,
        silent=reverse,
    )


def _fail(context: Context, launch: _Launch, fault: engine.Fault | None, how: str = "") -> None:
    """Reports a fault and raises the code of its kind."""
    if fault is None:
        return
    code = FAULT_CODES[fault.kind]
    near = _where(context, fault.address) if fault.address >= 1 << 32 else ""
    text = (f"{fault.detail} ({near})" if near else fault.detail) + how
    file, line = fault.outer_file, fault.outer_line
    if (fault.file, fault.line) != (file, line):
        text += f", in what is inlined there from {fault.file}:{fault.line}"
    context.machine.report(
        Report(fault.kind, text, code, "", launch.name, file, line, fault.block, fault.lane, context.device.index)
    )
    raise CuError(code)


def _where(context: Context, address: int) -> str:
    owner = context.machine.owner(address)
    words = owner.region.describe(address) if owner is not None else ""
    return words if owner is context or not words else f"{words}, of {owner}"


def _race(context: Context, launch: _Launch, different: dict[Allocation, bytes], reversed_: dict[Allocation, bytes]) -> None:
    """Reports memory whose bytes depend on the order in which lanes ran."""
    words: list[str] = []
    for each, now in list(different.items())[:_SHOWN]:
        places = np.flatnonzero(np.frombuffer(now, np.uint8) != np.frombuffer(reversed_[each], np.uint8))
        words.append(f"byte {places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''} of {each}")
    if len(different) > _SHOWN:
        words.append(f"{len(different) - _SHOWN} more")
    stores = stores_of(launch.function.kernel)
    lines = ", ".join(str(line) for _, line in stores)
    text = f"other results when blocks and lanes run in reversed order: {', '.join(words)}"
    text += f"; the kernel stores at line{'s' if len(stores) > 1 else ''} {lines}" if lines else ""
    file, line = stores[0] if stores else ("", 0)
    context.machine.report(Report("race", text, 719, "", launch.name, file, line, device=context.device.index))
    raise CuError(719)


# -------------------------------------------------------------------------------------------------------------- occupancy


def _blocks_at_once(context: Context, handle: int, threads: int, dynamic: int) -> int:
    kernel, options = function_of(context, handle).kernel, context.machine.options
    if threads < 1:
        raise CuError(1, "invalid value", f"a block of {threads} threads")
    if threads > min(limit(options, "MAX_THREADS_PER_BLOCK"), kernel.max_threads):
        return 0
    warps = -(-threads // _WARP)
    shared = max(1, kernel.shared_bytes + dynamic)
    by_threads = limit(options, "MAX_THREADS_PER_MULTIPROCESSOR") // (warps * _WARP)
    by_shared = limit(options, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") // shared
    return min(limit(options, "MAX_BLOCKS_PER_MULTIPROCESSOR"), by_threads, by_shared)


@entry(6050, OUT(I32), U64, I32, U64)
def cuOccupancyMaxActiveBlocksPerMultiprocessor(context: Context, handle: int, threads: int, dynamic: int) -> int:
    return _blocks_at_once(context, handle, threads, dynamic)


@entry(7000, OUT(I32), U64, I32, U64, U32)
def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    context: Context, handle: int, threads: int, dynamic: int, flags: int
) -> int:
    return _blocks_at_once(context, handle, threads, dynamic)
