"""Driver functions about modules, their kernels and variables."""

from __future__ import annotations

import ctypes
import re

from tack_sim import engine
from tack_sim.driver_attributes import limit
from tack_sim.driver_entry import I32, MAYBE, OUT, U32, U64, entry, load, store
from tack_sim.driver_report import CuError
from tack_sim.driver_state import Context, Function, LoadedModule
from tack_sim.memory import write_bytes

__all__ = ["dynamic_limit", "function_of"]

_ELF, _FATBIN = b"\x7fELF", b"\x50\xed\x55\xba"
_INFO_LOG, _INFO_LOG_SIZE, _ERROR_LOG, _ERROR_LOG_SIZE = 3, 4, 5, 6  # CUjit_option
_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)
_REGISTERS = 32  # of a lane: what a kernel would need is not known


# ---------------------------------------------------------------------------------------------------------------- loading


def _image_text(address: int) -> str:
    if not address:
        raise CuError(1, "null pointer", "the address of the image is null")
    start = ctypes.string_at(address, 1) and ctypes.string_at(address)[:4]
    if start in (_ELF, _FATBIN):
        raise CuError(209, "unsupported image", "the image is machine code (cubin or fatbin); only PTX is simulated")
    try:
        return ctypes.string_at(address).decode()
    except UnicodeDecodeError:
        raise CuError(200, "invalid image", "the image is no PTX: it is no UTF-8") from None


def _ptx_version(context: Context, text: str) -> tuple[int, int]:
    """The version of a PTX text, which the driver must know, as the device must know its target."""
    version, target = _VERSION.search(text), _TARGET.search(text)
    if version is None or target is None:
        raise CuError(200, "invalid image", "the image is no PTX: it has no .version or no .target")
    found = int(version[1]), int(version[2])
    allowed = context.machine.options.ptx_version
    if allowed is not None and found > allowed:
        raise CuError(222, "invalid image", f"the image is PTX {found[0]}.{found[1]}, the driver knows {allowed[0]}.{allowed[1]}")
    major, minor = context.machine.options.compute
    if int(target[1]) > 10 * major + minor:
        raise CuError(218, "invalid image", f"the image is for sm_{target[1]}, the device has compute capability {major}.{minor}")
    return found


def _load(context: Context, address: int) -> int:
    text = _image_text(address)
    version = _ptx_version(context, text)
    try:
        module = engine.load(text)
    except engine.PtxError as error:
        raise CuError(218, "invalid image", f"the simulator cannot run this PTX: {error}") from error
    made = LoadedModule(context, 0, module, [], version)
    made.handle = context.machine.new_handle(made)
    for variable in module.variables:
        made.variables.append(context.region.allocate(max(1, variable.size), "module"))
    addresses = [allocation.address for allocation in made.variables]
    with context.region.opened():
        for variable, address_ in zip(module.variables, addresses, strict=True):
            write_bytes(address_, module.initial(variable, addresses))
    context.modules.append(made)
    return made.handle


@entry(2000, OUT(U64), U64)
def cuModuleLoadData(context: Context, image: int) -> int:
    return _load(context, image)


@entry(2010, OUT(U64), U64, U32, U64, U64)
def cuModuleLoadDataEx(context: Context, image: int, count: int, options: int, values: int) -> int:
    chosen = {load(I32, options + 4 * k): values + 8 * k for k in range(count)}
    try:
        handle = _load(context, image)
    except CuError as error:
        _write_log(chosen, _ERROR_LOG, _ERROR_LOG_SIZE, error.text)
        raise
    _write_log(chosen, _ERROR_LOG, _ERROR_LOG_SIZE, "")
    _write_log(chosen, _INFO_LOG, _INFO_LOG_SIZE, "")
    return handle


def _write_log(chosen: dict[int, int], buffer: int, size: int, text: str) -> None:
    """Stores a text in one of the logs that a caller may have given, and its length where the log's size was."""
    if buffer in chosen and size in chosen:
        room = load(U32, chosen[size])
        data = text.encode()[: max(0, room - 1)]
        if room:
            write_bytes(load(U64, chosen[buffer]), data + b"\0")
        store(U64, chosen[size], len(data))


@entry(2000, U64)
def cuModuleUnload(context: Context, handle: int) -> None:
    machine = context.machine
    found = machine.find(LoadedModule, handle, "module")
    names = ", ".join(found.module.kernels)
    queued = [work.name for work in found.context.queue.values() if work.name in {f"kernel {n}" for n in found.functions}]
    found.loaded = False
    found.context.modules.remove(found)
    machine.drop_handle(handle, f"a module with kernels {names}")
    for function in found.functions.values():
        machine.drop_handle(function.handle, f"kernel {function.kernel.name} of a module that is unloaded")
    for allocation in found.variables:
        found.context.region.free(allocation)
    if queued:
        error = CuError(0, "unloaded while in flight", f"the module is used by queued work that has not run: {', '.join(queued)}")
        machine.tell(error, "cuModuleUnload", found.context.device.index)


@entry(2000, OUT(U64), U64, U64)
def cuModuleGetFunction(context: Context, handle: int, name: int) -> int:
    module = context.machine.find(LoadedModule, handle, "module")
    wanted = _name(name)
    if wanted not in module.module.kernels:
        raise CuError(500)
    if wanted not in module.functions:
        made = Function(module, 0, module.module.kernels[wanted])
        made.handle = context.machine.new_handle(made)
        module.functions[wanted] = made
    return module.functions[wanted].handle


@entry(12040, OUT(U32), U64)
def cuModuleGetFunctionCount(context: Context, handle: int) -> int:
    return len(context.machine.find(LoadedModule, handle, "module").module.kernels)


@entry(3020, MAYBE(U64), MAYBE(U64), U64, U64)
def cuModuleGetGlobal(context: Context, handle: int, name: int) -> tuple[int, int]:
    module = context.machine.find(LoadedModule, handle, "module")
    wanted = _name(name)
    for variable, allocation in zip(module.module.variables, module.variables, strict=True):
        if variable.name == wanted:
            return allocation.address, variable.size
    raise CuError(500)


def _name(address: int) -> str:
    if not address:
        raise CuError(1, "null pointer", "the name is null")
    return ctypes.string_at(address).decode(errors="replace")


# ---------------------------------------------------------------------------------------------------------------- kernels


def function_of(context: Context, handle: int) -> Function:
    """The kernel of a handle, which must belong to the current context."""
    found = context.machine.find(Function, handle, "kernel")
    if found.module.context is not context:
        raise CuError(400, "wrong handle", f"kernel {found.kernel.name} was loaded in {found.module.context}, not in {context}")
    return found


@entry(2020, OUT(I32), I32, U64)
def cuFuncGetAttribute(context: Context, number: int, handle: int) -> int:
    function = context.machine.find(Function, handle, "kernel")
    kernel = function.kernel
    major, minor = context.machine.options.compute
    ptx_major, ptx_minor = function.module.ptx_version
    values = {
        0: kernel.max_threads,
        1: kernel.shared_bytes,
        2: 0,
        3: kernel.local_bytes,
        4: _REGISTERS,
        5: 10 * ptx_major + ptx_minor,
        6: 10 * major + minor,
        7: 0,
        8: dynamic_limit(context, function),
        9: -1,
    }
    if number not in values:
        raise CuError(1, "invalid value", f"attribute {number} of kernels is not simulated")
    return values[number]


def dynamic_limit(context: Context, function: Function) -> int:
    """The most bytes of dynamic shared memory that a launch of a kernel may ask for."""
    if function.dynamic_limit is not None:
        return function.dynamic_limit
    return limit(context.machine.options, "MAX_SHARED_MEMORY_PER_BLOCK") - function.kernel.shared_bytes


@entry(9000, U64, I32, I32)
def cuFuncSetAttribute(context: Context, handle: int, number: int, value: int) -> None:
    function = context.machine.find(Function, handle, "kernel")
    if number == 8:
        most = limit(context.machine.options, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if not 0 <= value <= most - function.kernel.shared_bytes:
            words = f"{value} bytes of dynamic and {function.kernel.shared_bytes} of static shared memory; the limit is {most}"
            raise CuError(1, "launch limits", words)
        function.dynamic_limit = value
    elif number != 9:  # a hint
        raise CuError(1, "invalid value", f"attribute {number} of kernels cannot be set")


@entry(3000, U64, I32)
def cuFuncSetCacheConfig(context: Context, handle: int, preference: int) -> None:
    context.machine.find(Function, handle, "kernel")


@entry(11000, OUT(U64), U64)
def cuFuncGetModule(context: Context, handle: int) -> int:
    return context.machine.find(Function, handle, "kernel").module.handle


@entry(12040, U64, U64, OUT(U64), MAYBE(U64))
def cuFuncGetParamInfo(context: Context, handle: int, index: int) -> tuple[int, int]:
    parameters = context.machine.find(Function, handle, "kernel").kernel.params
    if index >= len(parameters):
        raise CuError(1)  # how programs count the parameters
    return parameters[index].offset, parameters[index].size
