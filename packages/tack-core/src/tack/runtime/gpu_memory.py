"""The memory of a GPU: allocation, and the buffers that arrays on it hold. Every byte moves in the order of the device's queue.

Memory that a program has dropped may still be used by queued work, so it is kept for arrays of the same size, whose work comes
later in the queue, and given back after waits. Knows no vendor: a `GpuApi` does what is asked here.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from tack.errors import fail
from tack.runtime.buffers import view_of_pointer
from tack.runtime.dlpack_capsule import set_device
from tack.runtime.gpu_queue import GpuApi, GpuTextureApi

__all__ = ["GpuBuffer", "GpuMemory", "GpuTexture"]

T = TypeVar("T")
Host = np.ndarray[Any, np.dtype[Any]]


def _host_address(values: Host) -> int:
    return values.__array_interface__["data"][0]  # `values.ctypes` imports at every call


class _Block:
    """Memory that buffers share. `shared`: others use it, too, and whatever Tack queues on it completes before a call returns.

    Tack frees what it has allocated when the last buffer goes; `owner` keeps memory that somebody else has allocated.
    """

    __slots__ = ("address", "memory", "nbytes", "owner", "shared")

    def __init__(self, memory: GpuMemory, address: int, nbytes: int, owner: Any = None, foreign: bool = False) -> None:
        self.memory = None if foreign else memory
        self.address = address
        self.nbytes = nbytes
        self.owner = owner
        self.shared = foreign

    def __del__(self) -> None:
        # Runs wherever the last reference goes: in a collection, without a context, at exit. It only leaves a note.
        if self.memory is not None and self.nbytes:
            self.memory._dropped.append((self.address, self.nbytes, self.shared))


class GpuMemory:
    """Allocates `GpuBuffer`s on one device. `name` is the device's spec."""

    def __init__(self, api: GpuApi) -> None:
        self.api = api
        self.name = api.name
        self.dlpack_device = api.dlpack_device
        self._lock = threading.RLock()
        self._dropped: deque[tuple[int, int, bool]] = deque()  # (address, size, shared), not looked at yet
        self._kept: dict[int, list[int]] = {}  # by size: dropped since the last wait
        self._older: dict[int, list[int]] = {}  # dropped before it, and not asked for since
        self._unwanted: list[int] = []  # of no use to new arrays
        self._later: deque[Callable[[], object]] = deque()

    # ------------------------------------------------------------------------------------------------------ allocation

    def empty(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> GpuBuffer:
        """Uninitialised memory; `MemoryError` when there is not enough."""
        nbytes = prod(shape) * dtype.itemsize
        try:
            address = self.allocate(nbytes)
        except MemoryError as error:
            words = f"no memory for {nbytes} bytes (shape {shape}, {dtype.itemsize} bytes an element) on {self.name}: {error}"
            raise fail(MemoryError, words) from None
        return GpuBuffer(self, _Block(self, address, nbytes), address, dtype, shape, True)

    def zeros(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> GpuBuffer:
        """The same, holding zeros."""
        made = self.empty(dtype, shape)
        made.fill(dtype.type(0))
        return made

    def texture(self, extents: tuple[int, int, int], nearest: bool) -> GpuBuffer | GpuTexture:
        """Where a texture's texels live, f32 in a row: the device's hardware, or plain memory on a device without."""
        made = self.api.texture(extents, nearest)
        return GpuTexture(self, made, extents) if made is not None else self.empty(np.dtype(np.float32), (prod(extents),))

    def wrap(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], writable: bool, owner: Any) -> GpuBuffer:
        """A buffer over memory of the device that somebody else has allocated and `owner` keeps.

        `ValueError` where kernels cannot load the elements: to a GPU, a number's address is a multiple of its size.
        """
        nbytes = prod(shape) * dtype.itemsize
        if nbytes and address % dtype.itemsize:
            words = f"memory of {self.name} at {address:#x} is not aligned to {dtype.itemsize} bytes, the size of {dtype.name}"
            raise fail(ValueError, words, remedy="Copy it to aligned memory, with what allocated it, and pass the copy.")
        block = _Block(self, address, nbytes, owner, foreign=True)
        return GpuBuffer(self, block, address, dtype, shape, writable)

    def allocate(self, nbytes: int) -> int:
        """The address of memory that no work uses which is queued after this; 0 for no bytes. `MemoryError` says what is free."""
        if not nbytes:
            return 0
        with self._lock:
            self._sort()
            for kept in (self._kept, self._older):
                if kept.get(nbytes):
                    return kept[nbytes].pop()
            made = None
            if nbytes <= sys.maxsize:  # larger sizes fit no API's type
                made = self.api.allocate(nbytes)
                if made is None:
                    self.give_back()
                    made = self.api.allocate(nbytes)
            if made is None:
                free, total = self.api.memory()
                raise MemoryError(f"{free} of {total} bytes are free")
            return made

    def drop(self, address: int, nbytes: int) -> None:
        """Takes back what `allocate` gave. Needs no context and raises nothing."""
        if nbytes:
            self._dropped.append((address, nbytes, False))

    def later(self, release: Callable[[], object]) -> None:
        """Calls `release` after a wait, when nothing queued uses any more what it gives back."""
        self._later.append(release)

    def _sort(self) -> None:
        """Looks at what was dropped. Called with the lock held."""
        while self._dropped:
            address, nbytes, shared = self._dropped.popleft()
            if shared:  # what others have queued comes in no order that is known here
                self._unwanted.append(address)
            else:
                self._kept.setdefault(nbytes, []).append(address)

    def wait(self) -> None:
        """Waits for all that is queued on the device. Memory that was dropped and not asked for again goes back to the device."""
        with self._lock:
            self._sort()
            ripe = [*self._unwanted, *(address for addresses in self._older.values() for address in addresses)]
            self._older, self._kept, self._unwanted = self._kept, {}, []
            releases = [self._later.popleft() for _ in range(len(self._later))]
        mark = self.api.queued.mark()
        try:
            self.api.wait()
        except BaseException:  # what was to be given back still is
            self._unwanted += ripe
            self._later.extend(releases)
            raise
        self.api.queued.finished(mark)
        for address in ripe:
            self.api.free(address)
        for release in releases:
            release()

    def give_back(self) -> None:
        """Waits, and gives back all memory that no array holds."""
        for _ in range(2):
            self.wait()

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns, on a thread of Tack's own, which may use the device meanwhile."""
        return self.api.run(call)

    def settle(self, *blocks: _Block) -> None:
        """Waits if others use one of these, so that they need not."""
        if any(block.shared for block in blocks):
            self.wait()

    # ---------------------------------------------------------------------------------------------------------- copies

    def copy_out(self, host: int, address: int, nbytes: int) -> None:
        """Copies to the host when all that is queued has finished."""
        mark = self.api.queued.mark()
        self.api.copy_out(host, address, nbytes)
        self.api.queued.finished(mark)

    def move(self, to: int, source: int, nbytes: int) -> None:
        """Queues a copy on the device; the two may overlap."""
        if not nbytes or to == source:
            return
        if abs(to - source) >= nbytes:
            self.api.copy(to, source, nbytes)
            return
        between = self.allocate(nbytes)
        self.api.copy(between, source, nbytes)
        self.api.copy(to, between, nbytes)
        self.drop(between, nbytes)


class GpuBuffer:
    """C-contiguous memory of a GPU, which the host cannot address: elements of `dtype`, in `shape`.

    `address` is that of the first element, `span` the byte range (lo, hi), `writable` says whether anybody may store to it.
    """

    __slots__ = ("address", "block", "dtype", "memory", "shape", "span", "writable")
    host = None

    def __init__(
        self, memory: GpuMemory, block: _Block, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], writable: bool
    ) -> None:
        self.memory = memory
        self.block = block
        self.address = address
        self.dtype = dtype
        self.shape = shape
        self.span: tuple[int, int] | None = (address, address + prod(shape) * dtype.itemsize)
        self.writable = writable

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def owner(self) -> Any:
        """What keeps memory that Tack has not allocated; else what Tack has."""
        return self.block if self.block.owner is None else self.block.owner

    def sliced(self, start: int, stop: int) -> GpuBuffer:
        """The rows start..stop-1 of the leading axis, sharing storage."""
        rows = self.shape[1:]
        address = self.address + start * prod(rows) * self.dtype.itemsize
        return GpuBuffer(self.memory, self.block, address, self.dtype, (stop - start, *rows), self.writable)

    def reshaped(self, shape: tuple[int, ...]) -> GpuBuffer:
        """The same storage in another shape of equal size."""
        return GpuBuffer(self.memory, self.block, self.address, self.dtype, shape, self.writable)

    def read(self) -> Host:
        """A new NumPy array with the elements. Waits."""
        values = np.empty(self.shape, self.dtype)
        if values.nbytes:
            self.memory.copy_out(_host_address(values), self.address, values.nbytes)
        return values

    def write(self, values: Host) -> None:
        """Queues that `values`, of the same dtype and shape, are stored. They may change when the call returns."""
        source = np.ascontiguousarray(values)
        if source.nbytes:
            self.memory.api.copy_in(self.address, _host_address(source), source.nbytes)
            self.memory.settle(self.block)

    def copy_from(self, source: GpuBuffer) -> None:
        """Queues that the elements of `source` are stored: a buffer in the same memory, of the same dtype and size, which may
        overlap this one."""
        self.memory.move(self.address, source.address, self.nbytes)
        self.memory.settle(self.block, source.block)

    def _at(self, position: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The address of one element, and the shape of its components."""
        place = 0
        for index, extent in zip(position, self.shape, strict=False):
            place = place * extent + index
        components = self.shape[len(position) :]
        return self.address + place * prod(components) * self.dtype.itemsize, components

    def load(self, position: tuple[int, ...]) -> Any:
        """One element as a NumPy scalar or array of components; the position is in range. Waits."""
        address, components = self._at(position)
        value = np.empty(components, self.dtype)
        self.memory.copy_out(_host_address(value), address, value.nbytes)
        return value if components else value[()]

    def store(self, position: tuple[int, ...], value: Any) -> None:
        """Queues that one element of the same dtype is stored; the position is in range."""
        address, components = self._at(position)
        source = np.array(np.broadcast_to(value, components), self.dtype)
        self.memory.api.copy_in(address, _host_address(source), source.nbytes)
        self.memory.settle(self.block)

    def fill(self, value: Any) -> None:
        """Queues that one element, a number or components of the same dtype, is stored everywhere."""
        pattern = np.asarray(value, self.dtype).tobytes()
        if self.nbytes:
            self.memory.api.fill(self.address, pattern, self.nbytes // len(pattern))
            self.memory.settle(self.block)

    def export_dlpack(self, array: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
        """A DLPack capsule over `array`'s storage, which it keeps alive. Waits, but for stream=-1, with which nobody does.

        The capsule is made by NumPy, which never looks at the memory: its deleter is C code, which works on every thread and
        after the interpreter has ended.
        """
        memory = self.memory
        if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int) or stream < -1 or stream == 0):
            remedy = "Pass a stream's handle, 1 or 2 for the default streams, None, or -1 to order the work yourself."
            raise fail(ValueError, f"__dlpack__: {stream!r} is no stream", remedy=remedy)
        if dl_device is not None and tuple(dl_device) != memory.dlpack_device:
            if tuple(dl_device) != (1, 0) or copy is False:
                raise BufferError(f"__dlpack__: memory of {memory.name} is not exported to the device {tuple(dl_device)}")
            return self.read().__dlpack__(max_version=max_version)
        shown: Any = self
        if copy:
            shown = memory.empty(self.dtype, self.shape)
            shown.copy_from(self)
        if stream != -1:
            memory.wait()
        view = view_of_pointer(shown.address, self.dtype, self.shape, shown.writable, array if shown is self else shown)
        capsule = view.__dlpack__(max_version=max_version)
        set_device(capsule, memory.dlpack_device, copied=bool(copy))
        shown.block.shared = True
        return capsule

    def cuda_array_interface(self) -> dict[str, Any] | None:
        """The interface that CUDA's libraries share, version 3; None for memory that they cannot use. Waits."""
        if not self.memory.api.cuda_interface:
            return None
        self.memory.wait()
        self.block.shared = True
        return {
            "version": 3,
            "data": (self.address, not self.writable),
            "typestr": self.dtype.str,
            "shape": self.shape,
            "strides": None,
            "stream": None,
        }

    def export_memory(self) -> Any:
        """A handle of the operating system for the memory; `RuntimeError` where the device or the driver has none. Waits."""
        if self.block.memory is None or self.address != self.block.address:
            words = "the array does not start where its memory does" if self.block.memory else "the memory is not Tack's"
            raise fail(RuntimeError, f"export_memory: {words}", remedy="Export a copy: a.copy().export_memory().")
        self.memory.wait()
        handle = self.memory.api.export(self.block.address, self.block.nbytes)
        self.block.shared = True
        return handle


class GpuTexture:
    """Texels in a texture of the device, as the buffer of a `Texture3D`. Kernels take its `address`, which is a handle."""

    __slots__ = ("_texture", "address", "block", "dtype", "memory", "shape")
    host = None
    span = None
    writable = True

    def __init__(self, memory: GpuMemory, texture: GpuTextureApi, extents: tuple[int, int, int]) -> None:
        self.memory = memory
        self._texture = texture
        self.address = texture.handle
        self.dtype = np.dtype(np.float32)
        self.shape = (prod(extents),)
        self.block = _Block(memory, 0, 0)

    def __del__(self) -> None:
        self.memory.later(self._texture.free)

    def write(self, values: Host) -> None:
        """Queues that the texels are stored; `values` may change when the call returns."""
        source = np.ascontiguousarray(values)
        self._texture.copy_in(_host_address(source))

    def copy_from(self, source: GpuBuffer) -> None:
        """Queues that the elements of an array of the device are stored."""
        self._texture.copy_from(source.address)
        self.memory.settle(source.block)

    def read(self) -> Host:
        """A new NumPy array with the texels. Waits."""
        values = np.empty(self.shape, self.dtype)
        self._texture.copy_out(_host_address(values))
        return values
