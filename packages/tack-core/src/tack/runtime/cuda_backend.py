"""The CUDA backend: what NVIDIA's GPUs can do, whether they can be used here, and the memory and backend of each.

The binding is imported by the functions here, when the first device is asked for.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import sys
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tack.forks import hold_over_fork
from tack.ir.nodes import LANES
from tack.ir.types import DTYPES, f32, f64, i32, i64, u32, u64
from tack.runtime.backend import (
    Capabilities,
    failing_driver,
    forked,
    missing_compiler,
    missing_dependency,
    missing_driver,
    no_device,
)
from tack.runtime.gpu_memory import GpuMemory

if TYPE_CHECKING:
    from tack.runtime.gpu import GpuBackend

__all__ = ["CAPABILITIES", "DEPENDS", "count", "current", "describe", "memory", "probe", "space", "start"]

_MAX_GRID_X = 2**31 - 1  # of every GPU that NVRTC 13 compiles for

CAPABILITIES = Capabilities(
    label="CUDA",
    supported_dtypes=DTYPES,
    supported_atomic_dtypes=(i32, u32, i64, u64, f32, f64),
    supports_workgroups=True,
    supports_device_reductions=True,
    supports_textures=True,
    supports_print=True,
    fma=True,
    exact_sqrt=True,
    f32_denormals=True,
    max_iterations=_MAX_GRID_X * LANES,
)
# What a device may answer otherwise when it starts, and on what that depends.
DEPENDS = {"max_iterations": "the device's largest grid x 256"}

_lock = hold_over_fork(2, threading.RLock())
_memories: dict[int, GpuMemory] = {}


def probe() -> None:
    """Raises what is missing: the binding, the driver, a device or NVRTC."""
    try:
        importlib.import_module("cuda.bindings")
        from tack.runtime import cuda_driver, cuda_nvrtc
    except ImportError as error:
        raise missing_dependency("cuda", error) from error
    try:
        found = cuda_driver.device_count()
    except RuntimeError as error:
        code = getattr(error, "code", None)
        if code in (None, 34):  # no library that the binding finds; CUDA_ERROR_STUB_LIBRARY, the toolkit's in its place
            raise missing_driver("cuda", error) from error
        if cuda_driver.is_forked():
            raise forked("cuda", error) from error
        if code == 100:  # CUDA_ERROR_NO_DEVICE
            raise no_device("cuda", str(error)) from error
        raise failing_driver("cuda", error) from error
    if not found:
        raise no_device("cuda", "its driver sees no device")
    try:
        cuda_nvrtc.version()
    except RuntimeError as error:
        raise missing_compiler("cuda", error) from error


def count() -> int:
    """How many GPUs can be used; 0 where something is missing."""
    try:
        probe()
    except RuntimeError:
        return 0
    from tack.runtime import cuda_driver

    return cuda_driver.device_count()


def current() -> int:
    """The GPU that this thread uses already, else the first."""
    from tack.runtime import cuda_driver

    return cuda_driver.current_device() or 0


def memory(index: int) -> GpuMemory:
    """The memory of a GPU, whose context is found or made current by the first call."""
    with _lock:
        if index not in _memories:
            from tack.runtime.cuda_driver import CudaDevice

            device = CudaDevice(index)
            made = _memories[index] = GpuMemory(device)
            atexit.register(device.close, made.give_back)
        return _memories[index]


def start(index: int) -> GpuBackend:
    """The backend of a GPU."""
    from tack.codegen.cuda_gen import CUDA
    from tack.runtime import cuda_driver, cuda_nvrtc
    from tack.runtime.gpu import GpuBackend

    compute = ".".join(map(str, cuda_driver.compute_capability(index)))
    versions = [".".join(map(str, version)) for version in (cuda_driver.driver_version(), cuda_nvrtc.version())]
    grid = cuda_driver.max_grid(index)
    return GpuBackend(
        memory(index),
        CUDA,
        replace(CAPABILITIES, max_iterations=grid[0] * LANES),
        target=(cuda_driver.model(index), compute, *versions, *cuda_nvrtc.OPTIONS),
        max_grid=grid,
        image_mode="ptx",
        properties={
            "name": cuda_driver.model(index),
            "memory": cuda_driver.total_memory(index),
            "compute_units": cuda_driver.attribute(index, "MULTIPROCESSOR_COUNT"),
            "limits": {"max_iterations": grid[0] * LANES, "max_grid": grid, "workgroup": LANES},
        },
    )


def describe(index: int) -> str:
    """What the GPU is, in words."""
    from tack.runtime import cuda_driver, cuda_nvrtc

    name, (major, minor) = cuda_driver.model(index), cuda_driver.compute_capability(index)
    driver, nvrtc = (".".join(map(str, version)) for version in (cuda_driver.driver_version(), cuda_nvrtc.version()))
    return f"{name}, compute capability {major}.{minor}, driver for CUDA {driver}, NVRTC {nvrtc}"


def space(address: int) -> tuple[str, int] | None:
    """The kind of memory at an address, "cuda", "cuda_pinned" or "cuda_managed", and the GPU it belongs to.

    None for memory that CUDA does not know, and where nothing in the process has loaded CUDA's driver.
    """
    if not _driver_is_loaded():
        return None
    from tack.runtime import cuda_driver

    ask = partial(cuda_driver.pointer_facts, address)
    any_memory = next(iter(_memories.values()), None)
    alone = any_memory is not None and cuda_driver.current_device() is None  # a thread without a context
    facts = any_memory.run(ask) if any_memory and alone else ask()
    if facts is None:
        return None
    kind, index = facts
    return "cuda" if kind == "device" else f"cuda_{kind}", index


def _driver_is_loaded() -> bool:
    if _memories:
        return True
    try:
        if sys.platform == "win32":
            return bool(ctypes.WinDLL("kernel32").GetModuleHandleW("nvcuda.dll"))
        ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True
