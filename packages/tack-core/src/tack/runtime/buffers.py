"""Host memory: aligned allocation and `NumpyBuffer`, the bytes that an `Array` on a CPU device holds.

Knows NumPy and nothing of devices, kernels or dtypes of the language.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from tack.errors import fail

__all__ = ["HOST", "HostMemory", "NumpyBuffer", "view_of_pointer"]

T = TypeVar("T")
Host = np.ndarray[Any, np.dtype[Any]]

_ALIGNMENT = 64  # a cache line, and the widest vector
_SMALL = 4096  # bytes up to which a bytearray is made, shown to NumPy and located in half the time of a NumPy array
_BYTE = ctypes.c_char


class NumpyBuffer:
    """C-contiguous host memory, seen as the NumPy array `host` of the elements' dtype and shape.

    `address` is that of the first element and `span` the byte range (lo, hi); both hold as long as the buffer lives, since `host`
    keeps the memory. `writable` says whether anybody may store to it.
    """

    __slots__ = ("address", "host", "span", "writable")

    def __init__(self, host: Host, address: int, writable: bool) -> None:
        self.host = host
        self.address = address
        self.span: tuple[int, int] | None = (address, address + host.nbytes)
        self.writable = writable

    @property
    def owner(self) -> Any:
        """The object that keeps the memory: NumPy storage, an imported tensor, or what `array_from_ptr` was given."""
        base = self.host
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        return base.owner if isinstance(base, _Pointer) else base

    def sliced(self, start: int, stop: int) -> NumpyBuffer:
        """The rows start..stop-1 of the leading axis, sharing storage."""
        host = self.host[start:stop]
        return NumpyBuffer(host, self.address + start * self.host.strides[0], self.writable)

    def reshaped(self, shape: tuple[int, ...]) -> NumpyBuffer:
        """The same storage in another shape of equal size."""
        return NumpyBuffer(self.host.reshape(shape), self.address, self.writable)

    def read(self) -> Host:
        """A new NumPy array with the elements."""
        return self.host.copy()

    def write(self, values: Host) -> None:
        """Store `values`, of the same dtype and shape; they may overlap this buffer."""
        np.copyto(self.host, values)

    def load(self, position: tuple[int, ...]) -> Any:
        """One element as a NumPy scalar; the position is in range."""
        return self.host[position]

    def store(self, position: tuple[int, ...], value: Any) -> None:
        """Store one element of the same dtype; the position is in range."""
        self.host[position] = value

    def fill(self, value: Any) -> None:
        """Store one element everywhere, a number or components of the same dtype."""
        np.copyto(self.host, value)

    def copy_from(self, source: NumpyBuffer) -> None:
        """Store the elements of another buffer of the same dtype and shape, which may overlap this one."""
        np.copyto(self.host, source.host)

    def export_dlpack(self, array: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
        """A DLPack capsule over `array`'s storage, which it keeps alive.

        The capsule is NumPy's: its deleter is C code, which also works while an exception is in flight, on a thread that Python
        does not know, and after the interpreter has ended.
        """
        if stream is not None:
            raise BufferError("__dlpack__: host memory has no streams; pass stream=None")
        return np.asarray(array).__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def cuda_array_interface(self) -> None:
        """Host memory has none."""

    def export_memory(self) -> Any:
        """Host memory has no handle to export."""
        raise fail(
            RuntimeError,
            "export_memory: only CUDA memory has a handle that another process or API can open; this array is host memory",
            remedy="Share it in this process through np.asarray(a), DLPack or the buffer protocol.",
        )


class HostMemory:
    """Allocates `NumpyBuffer`s. There is one, `HOST`: devices that hold it can use each other's arrays."""

    __slots__ = ()
    name = "cpu"
    dlpack_device = (1, 0)

    def empty(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NumpyBuffer:
        """Uninitialised storage, aligned to 64 bytes; `MemoryError` when there is not enough."""
        return self._allocate(np.empty, dtype, shape)

    def zeros(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NumpyBuffer:
        """The same, holding zeros; the system may hand out the pages on first use."""
        return self._allocate(np.zeros, dtype, shape)

    def texture(self, extents: tuple[int, int, int], nearest: bool) -> NumpyBuffer:
        """Storage for the texels of a texture, f32 in a row."""
        return self.empty(np.dtype(np.float32), (prod(extents),))

    def wrap(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], writable: bool, owner: Any) -> NumpyBuffer:
        """A buffer over memory that somebody else has allocated and `owner` keeps."""
        return NumpyBuffer(view_of_pointer(address, dtype, shape, writable, owner), address, writable)

    def wait(self) -> None:
        """Nothing is queued."""

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns: any thread may use host memory."""
        return call()

    def _allocate(self, make: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NumpyBuffer:
        nbytes = prod(shape) * dtype.itemsize
        try:
            raw = bytearray(nbytes + _ALIGNMENT) if nbytes <= _SMALL else make(nbytes + _ALIGNMENT, np.uint8)
        except (MemoryError, ValueError, OverflowError) as error:
            raise fail(MemoryError, f"no memory for {nbytes} bytes (shape {shape}, {dtype.itemsize} bytes an element)") from error
        start = ctypes.addressof(_BYTE.from_buffer(raw))  # a quarter of the time of raw.ctypes.data
        offset = -start % _ALIGNMENT
        return NumpyBuffer(np.ndarray(shape, dtype, raw, offset), start + offset, True)


HOST = HostMemory()


class _Pointer:
    """What NumPy needs to see foreign memory as an array; the array keeps it, and it keeps the owner."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def view_of_pointer(
    pointer: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    writable: bool,
    owner: Any,
    strides: tuple[int, ...] | None = None,
) -> Host:
    """Host memory at an address as a NumPy array that keeps `owner` alive; `strides` in bytes, None for C order."""
    interface = {
        "version": 3,
        "data": (pointer, not writable),
        "typestr": dtype.str,
        "shape": shape,
        "strides": strides,
    }
    return np.asarray(_Pointer(interface, owner))
