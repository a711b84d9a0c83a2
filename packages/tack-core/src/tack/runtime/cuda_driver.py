"""CUDA's driver API as Tack calls it: one `CudaDevice` for each GPU, in its context, on the legacy default stream.

Importing it imports the binding. Knows no arrays, no kernels but their names, and no IR.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]  (compiled)

from tack.errors import fail
from tack.ir.nodes import LANES
from tack.runtime import cuda_nvrtc
from tack.runtime.gpu_queue import Queued

__all__ = [
    "CudaDevice", "CudaError", "attribute", "compute_capability", "current_device", "device_count", "driver_version",
    "is_forked", "max_grid", "model", "pointer_facts", "total_memory",
]  # fmt: skip

T = TypeVar("T")

# The stream that other streams of its context wait for and wait on, by its handle: 0 may be made to mean another.
_STREAM = driver.CU_STREAM_LEGACY
_Result = driver.CUresult
_PROCESS = os.getpid()  # in which CUDA works; not in those that are forked from it

# What these say went wrong in work that was queued earlier, or in its kernels: the context is of no use any more.
_OF_QUEUED_WORK = frozenset(int(code) for code in (
    _Result.CUDA_ERROR_ECC_UNCORRECTABLE, _Result.CUDA_ERROR_NVLINK_UNCORRECTABLE, _Result.CUDA_ERROR_ILLEGAL_ADDRESS,
    _Result.CUDA_ERROR_LAUNCH_TIMEOUT, _Result.CUDA_ERROR_ASSERT, _Result.CUDA_ERROR_HARDWARE_STACK_ERROR,
    _Result.CUDA_ERROR_ILLEGAL_INSTRUCTION, _Result.CUDA_ERROR_MISALIGNED_ADDRESS, _Result.CUDA_ERROR_INVALID_ADDRESS_SPACE,
    _Result.CUDA_ERROR_INVALID_PC, _Result.CUDA_ERROR_LAUNCH_FAILED,
))  # fmt: skip


_MAKE_CURRENT = """Make the one that Tack works in current first:
    from cuda.bindings import driver
    _, cu_device = driver.cuDeviceGet({index})
    _, primary = driver.cuDevicePrimaryCtxRetain(cu_device)
    driver.cuCtxSetCurrent(primary)
  A thread on which PyTorch, CuPy or the CUDA runtime has used the device has it already."""
_MAKE_OWN_CURRENT = "Make the context current that was so when the device was first asked for, with cuCtxSetCurrent."


class CudaError(RuntimeError):
    """A call of CUDA's that failed. `call` is its name, `code` CUDA's number for the error."""

    def __init__(self, text: str, call: str = "", code: int = 0) -> None:
        super().__init__(text)
        self.call = call
        self.code = code

    def of(self, kernel: str) -> CudaError:
        """The error with the name of the kernel that the call was made for, unless it is about queued work."""
        return self if self.code in _OF_QUEUED_WORK else CudaError(f"Kernel '{kernel}': {self}", self.call, self.code)


def _checked(function: Callable[..., tuple[Any, ...]], *args: Any) -> Any:
    """What a function of the driver returns; `CudaError` with its name and the meaning of its code where it fails."""
    code, *values = function(*args)
    if code:
        raise _error(function.__name__, code)
    return values[0] if len(values) == 1 else tuple(values)


def is_forked() -> bool:
    """Whether this process was forked from the one in which CUDA works."""
    return os.getpid() != _PROCESS


def _error(name: str, code: Any, where: str = "") -> CudaError:
    if is_forked():
        text = f"{name} has failed: this process was forked from one that uses CUDA, which does not work in both"
        return CudaError(f'{text}\n  Start processes with multiprocessing\'s method "spawn".', name, int(code))
    return CudaError(f"{name} has failed{where}: {_meaning(code)}", name, int(code))


def _meaning(code: Any) -> str:
    """The name, number and meaning of an error, in CUDA's words."""
    known, words = driver.cuGetErrorString(code)
    text = words.decode() if not known and words else "no meaning known"
    return f"{getattr(code, 'name', 'CUDA error')} ({int(code)}), {text}"


def driver_version() -> tuple[int, int]:
    """The CUDA version that the driver has: (13, 2) and so on."""
    number = _checked(driver.cuDriverGetVersion)
    return number // 1000, number % 1000 // 10


def device_count() -> int:
    """How many GPUs the driver sees. `CudaError` where it does not start, some `RuntimeError` where there is no driver."""
    _checked(driver.cuInit, 0)
    return _checked(driver.cuDeviceGetCount)


def current_device() -> int | None:
    """The GPU whose context is current on this thread."""
    return int(_checked(driver.cuCtxGetDevice)) if int(_checked(driver.cuCtxGetCurrent)) else None


def attribute(index: int, name: str) -> int:
    """An attribute of a GPU by the end of its name: "MAX_GRID_DIM_X"."""
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(_checked(driver.cuDeviceGetAttribute, which, _checked(driver.cuDeviceGet, index)))


def compute_capability(index: int) -> tuple[int, int]:
    """The compute capability of a GPU: (9, 0) and so on."""
    major, minor = (attribute(index, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    return major, minor


def max_grid(index: int) -> tuple[int, int, int]:
    """The most blocks of a launch in each direction."""
    x, y, z = (attribute(index, f"MAX_GRID_DIM_{axis}") for axis in "XYZ")
    return x, y, z


def model(index: int) -> str:
    """The name of a GPU."""
    return _checked(driver.cuDeviceGetName, 256, _checked(driver.cuDeviceGet, index)).split(b"\0")[0].decode()


def total_memory(index: int) -> int:
    """The bytes of memory of a GPU."""
    return int(_checked(driver.cuDeviceTotalMem, _checked(driver.cuDeviceGet, index)))


def pointer_facts(address: int) -> tuple[str, int] | None:
    """What CUDA knows of an address: the kind of memory, "device", "pinned" or "managed", and the device it belongs to.

    None for memory that CUDA does not know. `CudaError` on a thread without a context.
    """
    wanted = driver.CUpointer_attribute
    code, kind = driver.cuPointerGetAttribute(wanted.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)
    if int(code) in (_Result.CUDA_ERROR_INVALID_VALUE, _Result.CUDA_ERROR_NOT_INITIALIZED) or (not code and not int(kind)):
        return None
    if code:
        raise _error("cuPointerGetAttribute", code)
    code, managed = driver.cuPointerGetAttribute(wanted.CU_POINTER_ATTRIBUTE_IS_MANAGED, address)
    pinned = int(kind) == int(driver.CUmemorytype.CU_MEMORYTYPE_HOST)
    index = _checked(driver.cuPointerGetAttribute, wanted.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)
    return ("managed" if not code and managed else "pinned" if pinned else "device"), int(index)


class CudaDevice:
    """One GPU as a `GpuApi`. Its context is the one that is current on this thread, if that is of this GPU, else the primary one,
    which is made current if none is.

    Every call looks at the thread's context: without one it is `RuntimeError`, in another one it switches for its duration.
    """

    label = "CUDA"
    cuda_interface = True

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = f"cuda:{index}"
        self.dlpack_device: tuple[int, int] = (2, index)
        self.queued = Queued()
        self._device = _checked(driver.cuDeviceGet, index)
        self.compute = compute_capability(index)
        self.retained = False
        self.context = self._find_context()  # its handle; 0 when the device is closed
        self._told = False  # that queued work has failed

    # -------------------------------------------------------------------------------------------------------- context

    def _find_context(self) -> int:
        current = _checked(driver.cuCtxGetCurrent)
        if int(current) and int(_checked(driver.cuCtxGetDevice)) == int(self._device):
            _, active = _checked(driver.cuDevicePrimaryCtxGetState, self._device)
            if active:  # it may be the primary one, which is kept alive by retaining it
                primary = _checked(driver.cuDevicePrimaryCtxRetain, self._device)
                if int(primary) == int(current):
                    self.retained = True
                else:
                    _checked(driver.cuDevicePrimaryCtxRelease, self._device)
            return int(current)
        primary = _checked(driver.cuDevicePrimaryCtxRetain, self._device)
        self.retained = True
        if not int(current):
            _checked(driver.cuCtxSetCurrent, primary)
        return int(primary)

    def call(self, function: Callable[..., tuple[Any, ...]], *args: Any) -> Any:
        """`_checked` in the device's context. An error of work that was queued names the kernels that were."""
        code, current = driver.cuCtxGetCurrent()
        if code:
            raise self._error("cuCtxGetCurrent", code)
        switch = int(current) != self.context
        if switch:
            self._enter(int(current))
        try:
            code, *values = function(*args)
        finally:
            if switch:
                driver.cuCtxPopCurrent()
        if code:
            raise self._error(function.__name__, code)
        return values[0] if len(values) == 1 else values

    def _enter(self, current: int) -> None:
        if self.context and not current:
            words = f"no CUDA context is current on this thread, which uses {self.name}"
            remedy = _MAKE_CURRENT.format(index=self.index) if self.retained else _MAKE_OWN_CURRENT
            raise fail(RuntimeError, words, remedy=remedy)
        self._push()

    def _push(self) -> None:
        if not self.context:
            raise fail(RuntimeError, f"{self.name} cannot be used any more: the program is ending")
        (code,) = driver.cuCtxPushCurrent(driver.CUcontext(self.context))
        if code:
            raise self._error("cuCtxPushCurrent", code)

    def _error(self, name: str, code: Any) -> CudaError:
        if int(code) not in _OF_QUEUED_WORK:
            return _error(name, code, f" on {self.name}")
        self._told = True
        text = (
            f"work that was queued on {self.name} has failed: {_meaning(code)}; {self.queued.in_words()} (found by {name})\n"
            "  Run the program with TACK_DEBUG=1, which checks every index. CUDA runs nothing more in this process."
        )
        return CudaError(text, name, int(code))

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns, on a thread on which the device's context is current meanwhile."""
        self._push()
        try:
            return call()
        finally:
            driver.cuCtxPopCurrent()

    def close(self, release: Callable[[], object]) -> None:
        """Ends the use of the device, at exit: `release` gives back what is not in use, then the primary context is released.

        `CudaError` where queued work has failed and nobody was told.
        """
        if is_forked():
            return
        told = self._told
        try:
            self.run(release)
        except CudaError:
            if self._told and not told:
                raise
        finally:
            self.context = 0
            if self.retained:
                driver.cuDevicePrimaryCtxRelease(self._device)

    # ---------------------------------------------------------------------------------------------------------- memory

    def allocate(self, nbytes: int) -> int | None:
        """The address of new memory; None where there is not enough."""
        try:
            return int(self.call(driver.cuMemAlloc, nbytes))
        except CudaError as error:
            if error.code == _Result.CUDA_ERROR_OUT_OF_MEMORY:
                return None
            raise

    def free(self, address: int) -> None:
        """Gives memory back."""
        self.call(driver.cuMemFree, address)

    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and in all."""
        free, total = self.call(driver.cuMemGetInfo)
        return int(free), int(total)

    def copy_in(self, address: int, host: int, nbytes: int) -> None:
        """Queues a copy from pageable host memory, which CUDA has read when the call returns."""
        self.call(driver.cuMemcpyHtoDAsync, address, host, nbytes, _STREAM)

    def copy_out(self, host: int, address: int, nbytes: int) -> None:
        """Copies to the host, when the work queued before has finished."""
        self.call(driver.cuMemcpyDtoHAsync, host, address, nbytes, _STREAM)
        self.call(driver.cuStreamSynchronize, _STREAM)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Queues a copy within the device's memory."""
        self.call(driver.cuMemcpyDtoDAsync, to, source, nbytes, _STREAM)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Queues that `count` times `pattern` is stored: by CUDA's fills, else by copies of what is filled so far."""
        size = next(k for k in (1, 2, 4, len(pattern)) if pattern == pattern[:k] * (len(pattern) // k))
        total = len(pattern) * count
        fills = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
        if size in fills and address % size == 0:
            self.call(fills[size], address, int.from_bytes(pattern[:size], "little"), total // size, _STREAM)
            return
        done = min(total, max(1, 1024 // len(pattern)) * len(pattern))
        start = ctypes.create_string_buffer(pattern * (done // len(pattern)), done)
        self.copy_in(address, ctypes.addressof(start), done)
        while done < total:
            more = min(done, total - done)
            self.copy(address + done, address, more)
            done += more

    def wait(self) -> None:
        """Waits for everything queued."""
        self.call(driver.cuStreamSynchronize, _STREAM)

    def export(self, address: int, nbytes: int) -> int:
        """A file descriptor (dma-buf) for memory that `allocate` has made, which the caller closes."""
        if attribute(self.index, "DMA_BUF_SUPPORTED"):
            kind = driver.CUmemRangeHandleType.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
            try:
                return int(self.call(driver.cuMemGetHandleForAddressRange, address, nbytes, kind, 0))
            except CudaError as error:
                why = str(error)
        else:
            why = f"the driver of {self.name} exports no memory as a dma-buf"
        remedy = "Share it in this process through DLPack, or copy it: a.numpy()."
        raise fail(RuntimeError, f"export_memory: {why}", remedy=remedy)

    # ------------------------------------------------------------------------------------------------------------ code

    def compile(self, source: str, kernel: str) -> bytes:
        """PTX of a translation unit, for this device."""
        return cuda_nvrtc.compile_ptx(source, kernel, self.compute)

    def load(self, image: bytes, kernel: str) -> CudaModule:
        """A module from PTX, which the driver compiles for the device."""
        try:
            return CudaModule(self, self.call(driver.cuModuleLoadData, image + b"\0"), kernel)
        except CudaError as error:
            if error.code == _Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
                raise cuda_nvrtc.too_new(kernel, driver_version()) from error
            raise error.of(kernel) from None

    def texture(self, extents: tuple[int, int, int], nearest: bool) -> Any:
        """A 3-D texture of f32, clamped at the edges, with normalized coordinates."""
        from tack.runtime.cuda_texture import CudaTexture

        return CudaTexture(self, extents, nearest)


class CudaModule:
    """A module loaded in a device's context."""

    __slots__ = ("_device", "_handle", "_kernel")

    def __init__(self, device: CudaDevice, handle: Any, kernel: str) -> None:
        self._device = device
        self._handle = handle
        self._kernel = kernel

    def function(self, entry: str, words: int) -> Callable[[Sequence[int], Sequence[int]], None]:
        """The function that queues launches of `entry`, in blocks of 256 threads; its arguments are `words` words of 8 bytes."""
        found = self._device.call(driver.cuModuleGetFunction, self._handle, entry.encode())
        return _launcher(self._device.call, found, words, self._kernel)

    def unload(self) -> None:
        """Gives the module back."""
        self._device.call(driver.cuModuleUnload, self._handle)


def _launcher(run: Callable[..., Any], function: Any, count: int, kernel: str) -> Callable[[Sequence[int], Sequence[int]], None]:
    values = (ctypes.c_uint64 * count)()
    pointers = (ctypes.c_void_p * count)(*(ctypes.addressof(values) + 8 * k for k in range(count)))
    where, launch = ctypes.addressof(pointers), driver.cuLaunchKernel

    def queue(grid: Sequence[int], words: Sequence[int], keep: Any = pointers) -> None:
        values[:] = words
        try:
            run(launch, function, *grid, LANES, 1, 1, 0, _STREAM, where, 0)
        except CudaError as error:
            raise error.of(kernel) from None

    return queue
