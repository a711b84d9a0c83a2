"""`Array`: n-dimensional C-contiguous storage on one device, and what a host program can do with it.

Bytes move only through the buffer that an array holds, new ones come from its device's memory; knows no device by name.
"""

from __future__ import annotations

import itertools
import operator
import struct
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Protocol

import numpy as np

from tack.errors import fail
from tack.ir.types import ElementType
from tack.lang.host_values import (
    Host,
    converted,
    element_type,
    exact_element,
    is_a,
    is_number,
    logical_shape,
    read_values,
    written_shape,
)

__all__ = ["Array", "Buffer", "DeviceLike", "Memory", "copyto"]


class Buffer(Protocol):
    """Storage of one array. `host` is a NumPy view of its elements, None where the host cannot address them."""

    @property
    def address(self) -> int: ...
    @property
    def span(self) -> tuple[int, int] | None: ...
    @property
    def host(self) -> Host | None: ...
    @property
    def writable(self) -> bool: ...
    def sliced(self, start: int, stop: int) -> Buffer: ...
    def reshaped(self, shape: tuple[int, ...]) -> Buffer: ...
    def read(self) -> Host: ...
    def write(self, values: Host) -> None: ...
    def load(self, position: tuple[int, ...]) -> Any: ...
    def store(self, position: tuple[int, ...], value: Any) -> None: ...
    def fill(self, value: Any) -> None: ...
    def copy_from(self, source: Any) -> None: ...
    def export_dlpack(self, array: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any: ...
    def cuda_array_interface(self) -> dict[str, Any] | None: ...
    def export_memory(self) -> Any: ...


class Memory(Protocol):
    """Where the arrays of a device live. Devices with the same memory object use each other's arrays."""

    @property
    def name(self) -> str: ...
    @property
    def dlpack_device(self) -> tuple[int, int]: ...
    def empty(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Buffer: ...
    def zeros(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Buffer: ...
    def texture(self, extents: tuple[int, int, int], nearest: bool) -> Any: ...
    def wrap(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], writable: bool, owner: Any) -> Buffer: ...
    def wait(self) -> None: ...
    def run(self, call: Callable[[], Any]) -> Any: ...


class DeviceLike(Protocol):
    """What an array asks of its device: its memory, and to find another one by its spec."""

    @property
    def memory(self) -> Memory: ...
    @staticmethod
    def of(spec: Any) -> DeviceLike: ...


# Signatures are interned, so that equal ones are the same object and a compiled call compares them by identity.
_signatures: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_LAYOUTS = ("scalar", "vector", "matrix")

# What native code reads of an array, at these offsets in the bytes of `_desc`: the addresses of its first byte and behind its
# last, the number of its signature, whether it is read-only, how many dimensions and elements it has, and the extents.
_DESCRIPTOR = struct.Struct("=QQIIqq")
DESC_ADDRESS, DESC_END, DESC_KIND, DESC_READ_ONLY, DESC_NDIM, DESC_SIZE, DESC_SHAPE = 0, 8, 16, 20, 24, 32, 40
_numbers: dict[tuple[Any, ...], int] = {}
_next_number = itertools.count(16).__next__  # below, native code has numbers for numbers


def signature_number(signature: tuple[Any, ...]) -> int:
    """The number that stands for an array's signature in native code; at least 16."""
    found = _numbers.get(signature)
    return _numbers.setdefault(signature, _next_number()) if found is None else found


class Array:
    """n-dimensional C-contiguous storage on one device; made by `tack.array`, `tack.zeros` and their like.

    Elements are scalars, vectors or matrices; NumPy has a vector's or matrix's components as one or two more dimensions.
    `dtype`, `shape`, `ndim`, `size`, `nbytes`, `device` and `writable` describe it. Reading elements on the host waits for queued
    launches.
    """

    __slots__ = ("__weakref__", "_buffer", "_desc", "_device", "_dtype", "_logical_shape", "_sig")

    def __init__(self, buffer: Buffer, dtype: ElementType, shape: tuple[int, ...], device: Any) -> None:
        """Internal: wraps a buffer that holds `shape` elements of `dtype` on `device`; its own shape counts components, too."""
        self._buffer = buffer
        self._dtype = dtype
        self._logical_shape = shape
        self._device = device
        key = (dtype.scalar, len(shape), dtype.width, _LAYOUTS[len(dtype.shape)], device.memory.name)
        self._sig = _signatures.setdefault(key, key)

    def _describe(self) -> None:
        """Internal: makes the descriptor, which is never changed, if the host can address the elements."""
        span = self._buffer.span
        if span is not None:
            shape = self._logical_shape
            read_only = not self._buffer.writable
            head = _DESCRIPTOR.pack(*span, signature_number(self._sig), read_only, len(shape), prod(shape))
            self._desc = head + struct.pack(f"={len(shape)}q", *shape)

    # Properties, since a shape that a user could assign would let kernels run out of bounds.
    @property
    def dtype(self) -> ElementType:
        """The element type: a scalar, vector or matrix type."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._logical_shape

    @property
    def device(self) -> Any:
        """The `tack.Device` it lives on."""
        return self._device

    @property
    def writable(self) -> bool:
        """Whether it may be stored to."""
        return self._buffer.writable

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._logical_shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self._logical_shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return prod(self._logical_shape) * self._dtype.itemsize

    def __len__(self) -> int:
        if not self._logical_shape:
            raise fail(TypeError, "a 0-d array has no length", remedy="Read its element with a[()].")
        return self._logical_shape[0]

    # --------------------------------------------------------------------------------------------- elements and views

    def __getitem__(self, index: Any) -> Any:
        """`a[i, j]`: one element, a Python number or a new NumPy array of its components; `a[lo:hi]`: a view of rows. Waits."""
        shape = self._logical_shape
        if type(index) is int and len(shape) == 1 and 0 <= index < shape[0]:  # the common case, three times as fast
            found = self._buffer.load((index,))
        elif is_a(index, slice):
            return self._rows(index)
        else:
            found = self._buffer.load(self._position(index))
        return found.copy() if self._dtype.shape else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        """`a[i, j] = v`: stores one element; a number goes to all its components. `OverflowError` if it does not fit. Waits."""
        if is_a(index, slice):
            raise fail(IndexError, "an index that is a slice stores nothing", remedy="Write tack.copyto(a[lo:hi], values).")
        position = self._position(index)
        self._check_writable()
        self._buffer.store(position, exact_element(value, self._dtype))

    def __iter__(self) -> Iterator[Any]:
        if self.ndim != 1:
            raise fail(TypeError, f"only 1-d arrays are iterable, this one has {self.ndim} dimensions", remedy="Use a.numpy().")
        return iter(self._values().copy() if self._dtype.shape else self._values().tolist())

    def _rows(self, index: Any) -> Array:
        if not self._logical_shape:
            raise fail(IndexError, "a 0-d array has no rows", remedy="Read its element with a[()].")
        if index.step not in (None, 1):
            raise fail(
                IndexError, f"a slice with step {index.step} is no view", remedy="Write tack.array(a.numpy()[lo:hi:step])."
            )
        start, stop, _ = index.indices(self._logical_shape[0])
        stop = max(start, stop)
        return Array(self._buffer.sliced(start, stop), self._dtype, (stop - start, *self._logical_shape[1:]), self._device)

    def _position(self, index: Any) -> tuple[int, ...]:
        """The checked position of one element: as many indices as dimensions, negative ones from the end."""
        indices: tuple[Any, ...] = index if is_a(index, tuple) else (index,)
        shape = self._logical_shape
        if len(indices) != len(shape) or any(isinstance(i, (bool, np.bool_)) for i in indices):
            raise self._bad_index(index)
        try:
            numbers = tuple(map(operator.index, indices))
        except TypeError:
            raise self._bad_index(index) from None
        for i, extent in zip(numbers, shape, strict=True):
            if not -extent <= i < extent:
                raise fail(IndexError, f"index {i} is out of bounds for extent {extent}, in an array of shape {shape}")
        return tuple(i + extent if i < 0 else i for i, extent in zip(numbers, shape, strict=True))

    def _bad_index(self, index: Any) -> Exception:
        words = ", ".join("ijklmnpq"[: self.ndim]) if self.ndim <= 8 else "..."
        element = f"a[{words}]" if self.ndim else "a[()]"
        return fail(
            IndexError,
            f"index {index!r} does not name one element of an array of shape {self._logical_shape}",
            remedy=f"Use {element} for one element, a[lo:hi] for a view of rows, or a.numpy()[...] for any other selection.",
        )

    def _check_writable(self) -> None:
        if not self._buffer.writable:
            raise fail(ValueError, "the array is read-only", remedy="Store to a copy: b = a.copy().")

    def reshape(self, *shape: Any) -> Array:
        """A view of the same elements in C order; one extent may be -1. `ValueError` when the sizes differ."""
        given = written_shape(shape[0] if len(shape) == 1 else shape)
        rest = prod(extent for extent in given if extent != -1)
        fitted = tuple(self.size // rest if extent == -1 and rest else extent for extent in given)
        if min(fitted, default=0) < 0 or given.count(-1) > 1 or prod(fitted) != self.size:
            raise fail(ValueError, f"an array of shape {self._logical_shape} cannot be reshaped to {given}")
        return Array(self._buffer.reshaped((*fitted, *self._dtype.shape)), self._dtype, fitted, self._device)

    def ravel(self) -> Array:
        """A 1-d view of the same elements."""
        return self.reshape(-1) if self.size else self.reshape(0)

    # ------------------------------------------------------------------------------------------------- copies and NumPy

    def _values(self) -> Host:
        """The elements for reading: a view on host memory, else a copy."""
        host = self._buffer.host
        return self._buffer.read() if host is None else host

    def numpy(self) -> Host:
        """A new NumPy array with the elements; components are its last dimensions. Waits for queued launches."""
        return self._buffer.read()

    async def numpy_async(self) -> Host:
        """Like `numpy`, waiting in a worker thread, so that the event loop keeps running."""
        import asyncio  # costs tens of milliseconds, which only programs that use it should pay

        return await asyncio.to_thread(self._device.memory.run, self.numpy)

    def view_numpy(self) -> Host:
        """A NumPy view of host memory that keeps the array alive and has its read-only flag; elsewhere `RuntimeError`."""
        if self._buffer.host is None:
            raise fail(RuntimeError, f"the memory of {self._device} has no NumPy view", remedy="Copy it: a.numpy().")
        return np.asarray(self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        host = self._buffer.host
        if host is None:
            raise AttributeError("__array_interface__: the array is not in host memory")
        return {
            "version": 3,
            "data": (self._buffer.address, not self._buffer.writable),
            "typestr": host.dtype.str,
            "shape": host.shape,
            "strides": None,
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Host:
        host = self._buffer.host
        if host is None:
            if copy is False:
                raise fail(ValueError, f"the memory of {self._device} can only be copied to NumPy")
            return self._buffer.read() if dtype is None else self._buffer.read().astype(dtype, copy=False)
        view = np.asarray(self)  # through __array_interface__
        return np.array(view, dtype, copy=copy)

    def __buffer__(self, flags: int) -> memoryview:
        host = self._buffer.host
        if host is None:
            raise BufferError(f"the memory of {self._device} cannot be addressed by the host")
        if flags & 1 and not self._buffer.writable:  # PyBUF_WRITABLE
            raise BufferError("the array is read-only")
        return memoryview(host)  # pyright: ignore[reportArgumentType]  (NumPy's stubs hide it before Python 3.12)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """A DLPack capsule, versioned if `max_version` is (1, 0) or more; read-only arrays need that, or `copy=True`.

        Waits for queued launches, but for stream=-1, with which the consumer orders its own work after them.
        """
        return self._buffer.export_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device.memory.dlpack_device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found = self._buffer.cuda_array_interface()
        if found is None:
            raise AttributeError("__cuda_array_interface__: the array is not in CUDA memory")
        return found

    def export_memory(self) -> Any:
        """A handle of the operating system for CUDA memory (on Linux a file descriptor, which the caller closes); elsewhere
        `RuntimeError`. Waits for queued launches."""
        return self._buffer.export_memory()

    def copy(self) -> Array:
        """A new array on the same device."""
        shape = (*self._logical_shape, *self._dtype.shape)
        buffer = self._device.memory.empty(self._dtype.numpy, shape)
        buffer.copy_from(self._buffer)
        return Array(buffer, self._dtype, self._logical_shape, self._device)

    def astype(self, dtype: Any) -> Array:
        """A new array, converted by the language's rules: integers modulo 2^N, floats to integers saturate, NaN gives 0.

        `TypeError` for elements with other components than this array's.
        """
        wanted = element_type(dtype)
        if wanted.shape != self._dtype.shape:
            raise fail(TypeError, f"elements of {self._dtype} do not convert to {wanted}", remedy="Write tack.array(a.numpy()).")
        return self._new(converted(self._values(), wanted.scalar), wanted, self._device)

    def to_device(self, device: Any) -> Array:
        """The array itself if its memory is usable on `device` (a Device or a spec), else a copy there."""
        target = self._device.of(device)
        if target.memory is self._device.memory:
            return self
        return self._new(self._values(), self._dtype, target)

    @staticmethod
    def _new(values: Host, dtype: ElementType, device: Any) -> Array:
        shape = logical_shape(values, dtype)
        buffer = device.memory.empty(dtype.numpy, values.shape)
        buffer.write(values)
        return Array(buffer, dtype, shape, device)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        raise fail(TypeError, "arrays are not pickled, since they belong to a device", remedy="Pickle a.numpy().")

    def fill(self, value: Any) -> None:
        """Store one element everywhere; `OverflowError` when the dtype cannot hold it, `ValueError` on read-only arrays."""
        element = exact_element(value, self._dtype)
        self._check_writable()
        self._buffer.fill(element)

    # ------------------------------------------------------------------------------------------------------ reductions

    # A vector's or matrix's components are reduced apart: the result is a NumPy array of them.

    def sum(self) -> Any:
        """The sum of all elements: a float, or an int modulo 2^64; 0 when empty. Floats are added in f64, pairwise or in
        equal pieces, in an order that the size alone decides. Waits."""
        found = self._reduced("sum")
        if found is not None:
            return found
        wide = {"int": "i8", "uint": "u8", "float": "f8"}[self._dtype.scalar.kind]
        with np.errstate(all="ignore"):
            return self._number(self._values().sum(axis=self._axes, dtype=wide))

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(len(self._logical_shape)))

    def _number(self, found: Any) -> Any:
        return found if self._dtype.shape else found.item()

    def min(self) -> Any:
        """The least element; NaN if there is one; `ValueError` when empty. Waits."""
        return self._extreme("min")

    def max(self) -> Any:
        """The greatest element; NaN if there is one; `ValueError` when empty. Waits."""
        return self._extreme("max")

    def _reduced(self, name: str) -> Any:
        """A reduction that the device computes; None where the host shall do it."""
        return None if self._buffer.host is not None or not self.size else self._device.reduce(self, name)

    def _extreme(self, name: str) -> Any:
        found = self._reduced(name)
        if found is not None:
            return found
        values = self._values()
        if not values.size:
            raise fail(ValueError, f"{name} of an array without elements")
        return self._number(getattr(values, name)(axis=self._axes))

    def mean(self) -> Any:
        """The mean of all elements, added in f64 as by `sum`; NaN when empty. Waits."""
        total = self._reduced("sum")
        if total is not None:
            return total / self.size
        values = self._values()
        if not values.size:
            return self._number(np.full(self._dtype.shape, np.nan))
        with np.errstate(all="ignore"):
            return self._number(values.mean(axis=self._axes, dtype="f8"))

    def __repr__(self) -> str:
        head = self.ravel()[:7]
        values = head._values().tolist()
        shown = ", ".join(map(_shown, values[:6]))
        dots = ", ..." if len(values) > 6 else ""
        return f"tack.Array([{shown}{dots}], shape={self._logical_shape}, dtype={self._dtype}, device={self._device})"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def copyto(dst: Array, src: Any) -> None:
    """Store `src` into `dst`: an array of NumPy or Tack, nested lists, or one number that goes everywhere.

    Shapes must be equal (NumPy's include the components of elements). Values convert by the language's rules: integers modulo
    2^N, floats to integers saturate, NaN gives 0. Overlapping arrays behave as if copied through a temporary. A read-only `dst`
    is `ValueError`. Waits.
    """
    if not is_a(dst, Array):
        raise fail(TypeError, f"copyto stores into a tack.Array, not {type(dst).__name__}", remedy="Write dst[...] = a.numpy().")
    dst._check_writable()  # pyright: ignore[reportPrivateUsage]
    if _same_elements(dst, src):
        dst._buffer.copy_from(src._buffer)  # pyright: ignore[reportPrivateUsage]
        return
    values = src._values() if isinstance(src, Array) else read_values(src)[0]  # pyright: ignore[reportPrivateUsage]
    values = converted(values, dst.dtype.scalar)
    buffer = dst._buffer  # pyright: ignore[reportPrivateUsage]
    wanted = (*dst.shape, *dst.dtype.shape)
    if is_number(src):
        buffer.fill(values[()])
    elif values.shape != wanted:
        raise fail(ValueError, f"copyto: a source of shape {values.shape} does not fit a destination of shape {wanted}")
    else:
        buffer.write(values)


def _same_elements(dst: Array, src: Any) -> bool:
    """Whether `src` is an array in the same memory whose elements need no conversion."""
    return isinstance(src, Array) and src.device.memory is dst.device.memory and src.dtype is dst.dtype and src.shape == dst.shape
