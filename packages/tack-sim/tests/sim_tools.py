"""What tests of the engine need besides it: device memory, NVRTC, and kernels called with NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

import numpy as np
from cuda.bindings import nvrtc

from tack_sim import engine
from tack_sim.memory import Allocation, Region, write_bytes

__all__ = ["Device", "compiled", "run"]

OPTIONS = ("--fmad=false", "--std=c++17", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "--generate-line-info")


@cache
def compiled(source: str, arch: str = "compute_75", *more: str) -> str:
    """PTX of a CUDA C source, with the options that Tack's backend gives."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cu", 0, [], [])
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *OPTIONS, *more)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return ptx.rstrip(b"\0").decode()


class Device(Region):
    """A device's memory for one test."""

    def __init__(self, span: int = 1 << 24) -> None:
        super().__init__(span)

    def put(self, array: np.ndarray) -> Allocation:
        """A copy."""
        made = self.allocate(array.nbytes)
        with self.opened():
            write_bytes(made.address, array.tobytes())
        return made

    def get(self, made: Allocation, array: np.ndarray) -> None:
        """Copies back."""
        with self.opened():
            ctypes.memmove(array.ctypes.data, made.address, array.nbytes)


def run(
    ptx: str,
    name: str,
    args: Any,
    *,
    grid: Any = (1, 1, 1),
    block: Any = (1, 1, 1),
    device: Device | None = None,
    **options: Any,
) -> engine.Fault | None:
    """One launch; arrays are copied to the device and back, NumPy scalars and bytes are passed as they are."""
    own = device is None
    device = device or Device()
    module = engine.load(ptx)
    kernel = module.kernels[name]
    grid, block = ((*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3] for size in (grid, block))
    places = {id(a): device.put(a) for a in args if isinstance(a, np.ndarray)}
    buffer = bytearray(kernel.param_bytes)
    for param, arg in zip(kernel.params, args, strict=True):
        data = arg if isinstance(arg, bytes) else arg.tobytes()
        if isinstance(arg, np.ndarray):
            data = struct.pack("<Q", places[id(arg)].address)
        assert len(data) == param.size, (param, arg)
        buffer[param.offset : param.offset + param.size] = data
    addresses = [device.allocate(v.size, "module").address for v in module.variables]
    with device.opened():
        for variable, address in zip(module.variables, addresses, strict=True):
            write_bytes(address, module.initial(variable, addresses))
        fault = engine.launch(kernel, bytes(buffer), grid, block, device, variables=addresses, **options)
    for arg in args:
        if isinstance(arg, np.ndarray):
            device.get(places[id(arg)], arg)
    if own:
        device.close()
    return fault
