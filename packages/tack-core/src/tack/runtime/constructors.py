"""The functions that make arrays: from numbers, from other arrays, and from memory that somebody else owns.

Knows devices, arrays and host values; nothing of kernels.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tack.errors import fail
from tack.ir.types import ElementType, ScalarType, dtype_of, f32, holds, i32, i64, u64
from tack.lang.array import Array
from tack.lang.host_values import (
    converted,
    default_type,
    element_type,
    exact_element,
    read_values,
    shape_tuple,
    storage_type,
    unsupported_dtype,
)
from tack.runtime.buffers import HOST, NumpyBuffer, view_of_pointer
from tack.runtime.device import Device, spaces
from tack.runtime.dlpack_capsule import Capsule, request_capsule

__all__ = [
    "arange", "array", "array_from_ptr", "concatenate", "empty", "empty_like", "from_dlpack", "full", "full_like", "linspace",
    "memory_space", "ones", "ones_like", "stack", "zeros", "zeros_like",
]  # fmt: skip

_Spec = Device | str | None


def array(obj: Any, dtype: Any = None, device: _Spec = None) -> Array:
    """A new array with the values of a number, nested lists, anything NumPy can read, a Tack array or a DLPack producer.

    Plain Python ints give i32 (i64 if needed) and floats f32; other input keeps its dtype. bool, float16, long double and
    big-endian input needs a `dtype`. Values convert by the language's rules. With a vector or matrix dtype, the last one or two
    dimensions of the values are the components (`ValueError` where they do not fit).
    """
    wanted = None if dtype is None else element_type(dtype)
    if isinstance(obj, Array):
        values, plain = obj._values(), False
        wanted = wanted or obj.dtype
    elif hasattr(obj, "__dlpack__") and (not hasattr(obj, "__array__") or not _on_host(obj)):
        values, plain = from_dlpack(obj)._values(), False
    else:
        values, plain = read_values(obj)
    if wanted is None:
        wanted = default_type(values, plain)
    return Array._new(converted(values, wanted.scalar), wanted, Device.of(device))


def empty(shape: Any, dtype: Any = f32, device: _Spec = None) -> Array:
    """An array of undefined values."""
    return _empty(shape_tuple(shape), f32 if dtype is None else element_type(dtype), Device.of(device))


def zeros(shape: Any, dtype: Any = f32, device: _Spec = None) -> Array:
    """An array of zeros."""
    return _zeros(shape_tuple(shape), f32 if dtype is None else element_type(dtype), Device.of(device))


def ones(shape: Any, dtype: Any = f32, device: _Spec = None) -> Array:
    """An array of ones."""
    return full(shape, 1, dtype, device)


def full(shape: Any, fill_value: Any, dtype: Any = f32, device: _Spec = None) -> Array:
    """An array that holds one number (or element) everywhere; `OverflowError` when the dtype cannot hold it."""
    wanted = f32 if dtype is None else element_type(dtype)
    return _full(shape_tuple(shape), fill_value, wanted, Device.of(device))


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, device: _Spec = None) -> Array:
    """An array of undefined values with the prototype's shape, dtype and device, as far as not given."""
    return _empty(*_like(prototype, dtype, shape, device))


def zeros_like(prototype: Any, dtype: Any = None, shape: Any = None, device: _Spec = None) -> Array:
    """An array of zeros with the prototype's shape, dtype and device, as far as not given."""
    return _zeros(*_like(prototype, dtype, shape, device))


def ones_like(prototype: Any, dtype: Any = None, shape: Any = None, device: _Spec = None) -> Array:
    """An array of ones with the prototype's shape, dtype and device, as far as not given."""
    return full_like(prototype, 1, dtype, shape, device)


def full_like(prototype: Any, fill_value: Any, dtype: Any = None, shape: Any = None, device: _Spec = None) -> Array:
    """An array of one number with the prototype's shape, dtype and device, as far as not given."""
    extents, wanted, target = _like(prototype, dtype, shape, device)
    return _full(extents, fill_value, wanted, target)


def _empty(shape: tuple[int, ...], dtype: ElementType, target: Device) -> Array:
    return Array(target.memory.empty(dtype.numpy, (*shape, *dtype.shape)), dtype, shape, target)


def _zeros(shape: tuple[int, ...], dtype: ElementType, target: Device) -> Array:
    return Array(target.memory.zeros(dtype.numpy, (*shape, *dtype.shape)), dtype, shape, target)


def _full(shape: tuple[int, ...], value: Any, dtype: ElementType, target: Device) -> Array:
    element = exact_element(value, dtype)
    made = _empty(shape, dtype, target)
    made._buffer.fill(element)
    return made


def _like(prototype: Any, dtype: Any, shape: Any, device: _Spec) -> tuple[tuple[int, ...], ElementType, Device]:
    wanted = None if dtype is None else element_type(dtype)
    if isinstance(prototype, Array):
        extents, own, where = prototype.shape, prototype.dtype, prototype.device
    else:
        values, plain = read_values(prototype)
        extents, own, where = values.shape, wanted or default_type(values, plain), None
    return extents if shape is None else shape_tuple(shape), wanted or own, Device.of(where if device is None else device)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, device: _Spec = None) -> Array:
    """`arange(stop)`, `arange(start, stop, step)`: start, start + step, ... before stop.

    Of ints i32 by default (i64 if needed), else f32. A zero step is `ValueError`, a value that the dtype cannot hold
    `OverflowError`.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise fail(ValueError, "arange: the step is zero")
    wanted = None if dtype is None else storage_type(dtype)
    if any(isinstance(x, (float, np.floating)) for x in (start, stop, step)):
        wanted = wanted or f32
        return Array._new(converted(np.arange(float(start), float(stop), float(step)), wanted), wanted, Device.of(device))
    first, end, stride = map(operator.index, (start, stop, step))
    span = range(first, end, stride)
    low, high = (min(span[0], span[-1]), max(span[0], span[-1])) if span else (0, 0)
    natural = next((t for t in (i32, i64, u64) if holds(t, low) and holds(t, high)), None)
    wanted = wanted or natural
    if wanted is None or natural is None or (wanted.is_int and not (holds(wanted, low) and holds(wanted, high))):
        raise fail(OverflowError, f"arange: {wanted or 'no dtype'} cannot hold the values from {low} to {high}")
    # modulo 2^64, which is exact for every value that the dtype holds
    values = np.arange(len(span), dtype=np.uint64) * np.uint64(stride % 2**64) + np.uint64(first % 2**64)
    values = values if natural is u64 else values.view(np.int64)
    return Array._new(converted(values, wanted), wanted, Device.of(device))


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    device: _Spec = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, without the last if not `endpoint`; f32 by default.

    Computed in f64. With `retstep` the pair (array, step). Integer dtypes take the floor, as NumPy does.
    """
    wanted = f32 if dtype is None else storage_type(dtype)
    values, step = np.linspace(float(start), float(stop), num, endpoint, retstep=True)
    made = Array._new(converted(np.floor(values) if wanted.is_int else values, wanted), wanted, Device.of(device))
    return (made, float(step)) if retstep else made


def concatenate(arrays: Any, device: _Spec = None) -> Array:
    """The arrays one after the other along the leading axis; equal dtypes (`TypeError`) and trailing shapes (`ValueError`)."""
    parts, target = _parts("concatenate", arrays, device)
    if not parts[0].shape:
        raise fail(ValueError, "concatenate: a 0-d array has no leading axis", remedy="Use tack.stack.")
    rows = parts[0].shape[1:]
    if any(part.shape[1:] != rows or not part.shape for part in parts):
        raise fail(ValueError, f"concatenate: shapes {_shapes(parts)} differ in more than the leading axis")
    return _joined(parts, (sum(part.shape[0] for part in parts), *rows), target)


def stack(arrays: Any, device: _Spec = None) -> Array:
    """The arrays along a new leading axis; dtypes (`TypeError`) and shapes (`ValueError`) must be equal."""
    parts, target = _parts("stack", arrays, device)
    if any(part.shape != parts[0].shape for part in parts):
        raise fail(ValueError, f"stack: shapes {_shapes(parts)} differ")
    return _joined(parts, (len(parts), *parts[0].shape), target)


def _parts(name: str, arrays: Any, device: _Spec) -> tuple[list[Array], Device]:
    parts = list(arrays)
    for part in parts:
        if not isinstance(part, Array):
            raise fail(TypeError, f"{name} takes Tack arrays, not {type(part).__name__}", remedy="Write tack.array(x).")
    if not parts:
        raise fail(ValueError, f"{name} takes at least one array")
    if len({part.dtype for part in parts}) > 1:
        dtypes = ", ".join(str(part.dtype) for part in parts)
        raise fail(TypeError, f"{name}: dtypes {dtypes} differ", remedy=f"Write a.astype({parts[0].dtype}).")
    target = parts[0].device if device is None else Device.of(device)
    if device is None and any(part.device.memory is not target.memory for part in parts):
        devices = ", ".join(str(part.device) for part in parts)
        raise fail(ValueError, f"{name}: the arrays live on {devices}", remedy="Move them with a.to_device(d), or pass device=.")
    return parts, target


def _shapes(parts: list[Array]) -> str:
    return ", ".join(str(part.shape) for part in parts)


def _joined(parts: list[Array], shape: tuple[int, ...], target: Device) -> Array:
    """The elements of all parts, in C order, in one array of `shape`."""
    made = _empty(shape, parts[0].dtype, target)
    flat = made.ravel()._buffer
    done = 0
    for part in parts:
        rows = flat.sliced(done, done + part.size)
        if part.device.memory is target.memory:
            rows.copy_from(part.ravel()._buffer)
        else:
            rows.write(part._values().reshape(-1, *part.dtype.shape))
        done += part.size
    return made


def memory_space(ptr: int) -> str:
    """Which kind of memory is at an address: "cpu", or what a GPU can use: "cuda", "cuda_pinned" (the host's, which the GPU
    reads, too) or "cuda_managed" (which moves between them)."""
    return spaces(_address(ptr))[0]


def _address(ptr: Any) -> int:
    address = operator.index(ptr)
    if not 0 <= address < 2**64:
        raise fail(ValueError, f"{address} is not an address")
    return address


def array_from_ptr(ptr: int, dtype: Any, shape: Any, writable: bool = False, device: _Spec = None, owner: Any = None) -> Array:
    """An array over memory that somebody else owns, without copying: C-contiguous elements of `dtype` from the address `ptr`.

    `owner` is kept alive as long as the array or a view of it. The memory must stay valid; a null pointer is `ValueError`,
    except for arrays without elements. Memory of a GPU gives an array on that device, other memory one on the CPU; a `device`
    that cannot use it is `ValueError`. Launches that use the array complete before they return.
    """
    wanted, extents, address = element_type(dtype), shape_tuple(shape), _address(ptr)
    if not address and 0 not in extents:
        raise fail(ValueError, "array_from_ptr: the address is null")
    space, home = spaces(address) if address else ("cpu", None)
    target = _host_device(device) if home is None else _device_for(space, home, device)
    buffer = target.memory.wrap(address, wanted.numpy, (*extents, *wanted.shape), writable, owner)
    return Array(buffer, wanted, extents, target)


def _device_for(space: str, home: Device, device: _Spec) -> Device:
    """The device for an array over memory of a GPU, its `home`: that, or the CPU, which can address some of it."""
    hosted = space.endswith(("_pinned", "_managed"))
    wanted = Device.of(device) if device is not None else None
    if wanted is None:
        return Device.of("cpu") if space.endswith("_pinned") else home
    if wanted.memory is home.memory or (hosted and wanted.memory is HOST):
        return wanted
    raise fail(ValueError, f"memory of {home} ({space}) cannot be used on {wanted}", remedy="Copy it: a.to_device(d).")


def _host_device(device: _Spec) -> Device:
    """The device for an array over host memory: the one asked for, the default if it can address that, else the CPU."""
    target = Device.of(device)
    if target.memory is HOST:
        return target
    if device is not None:
        raise fail(ValueError, f"host memory cannot be used on {target}", remedy="Copy it: tack.array(x, device=d).")
    return Device.of("cpu")


# DLPack's device types whose memory the host can address, and those of other kinds of device.
_HOST_TYPES = frozenset({1, 3, 11, 13})
_DEVICE_TYPES = {2: "cuda", 8: "metal", 10: "hip", 14: "level_zero"}


def from_dlpack(obj: Any, copy: bool | None = None, device: _Spec = None) -> Array:
    """An array over the memory of a DLPack producer (PyTorch, NumPy, CuPy, JAX...), which it keeps alive.

    `copy=True` always copies, `None` when it must (strided memory, another device), `False` raises `BufferError` instead. Memory
    that the producer marks read-only gives a read-only array.
    """
    if copy not in (None, True, False):
        raise fail(TypeError, f"from_dlpack: copy is {copy!r}", remedy="Pass copy=None, copy=True or copy=False.")
    capsule = request_capsule(obj, copy)
    dtype = _dlpack_dtype(capsule)
    home = _home(capsule.device)
    target = Device.of(device) if device is not None else _host_device(None) if home is None else home
    held = HOST if home is None else home.memory
    must = not capsule.contiguous or target.memory is not held
    if must and copy is False:
        why = f"memory for {target}" if capsule.contiguous else "strided memory"
        raise BufferError(f"from_dlpack: {why} needs a copy; pass copy=None or copy=True")
    strides = None if capsule.contiguous else tuple(s * dtype.itemsize for s in capsule.strides or ())
    writable = not capsule.read_only
    if home is None:
        host = view_of_pointer(capsule.pointer, dtype.numpy, capsule.shape, writable, capsule.take(), strides)
        if copy or must:
            return Array._new(host, dtype, target)
        return Array(NumpyBuffer(host, capsule.pointer, writable), dtype, capsule.shape, target)
    if strides is not None:
        return Array._new(_gathered(capsule, dtype, home, strides), dtype, target)
    buffer = home.memory.wrap(capsule.pointer, dtype.numpy, capsule.shape, writable, capsule.take())
    wrapped = Array(buffer, dtype, capsule.shape, home)
    return wrapped.copy() if copy and not must else wrapped.to_device(target)


def _on_host(producer: Any) -> bool:
    where = getattr(producer, "__dlpack_device__", None)
    return where is None or where()[0] in _HOST_TYPES


def _home(where: tuple[int, int]) -> Device | None:
    """The device whose memory DLPack's (type, number) names; None for memory that the host can address."""
    kind, index = where
    if kind in _HOST_TYPES:
        return None
    if kind not in _DEVICE_TYPES:
        raise BufferError(f"from_dlpack: memory on a device of DLPack's type {kind} is not supported")
    return Device.of(_DEVICE_TYPES[kind] if kind == 8 else f"{_DEVICE_TYPES[kind]}:{index}")  # says why it cannot start


def _gathered(capsule: Capsule, dtype: ScalarType, home: Device, strides: tuple[int, ...]) -> Any:
    """The elements of strided memory of a GPU, on the host: the range that they span is copied in one piece."""
    reach = [(extent - 1) * stride for extent, stride in zip(capsule.shape, strides, strict=True)]
    first, last = (sum(f(0, each) for each in reach) for f in (min, max))
    start, nbytes = capsule.pointer + first, last - first + dtype.itemsize
    span = home.memory.wrap(start, np.dtype(np.uint8), (nbytes,), False, capsule.take()).read()
    return np.ndarray(capsule.shape, dtype.numpy, span, -first, strides).copy()


def _dlpack_dtype(capsule: Capsule) -> ScalarType:
    name = capsule.component
    if capsule.lanes != 1:
        raise fail(TypeError, f"elements of {capsule.lanes} lanes of {name} are not supported", remedy="Export scalars.")
    try:
        parsed: np.dtype[Any] | None = np.dtype(name)
    except TypeError:
        remedy = "Convert them at the producer, to float32."
        raise fail(TypeError, f"elements of {name} are not supported", remedy=remedy) from None
    found = dtype_of(parsed)
    if found is None:
        raise unsupported_dtype(parsed, takes_dtype=False)
    return found
