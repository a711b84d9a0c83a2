"""Reading DLPack capsules: the C structures of DLPack 1.0 and before, and taking over what a producer exported.

Making capsules is the buffers' task. Knows no arrays and no devices: it hands out a pointer, a shape and an owner.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["DLPACK_VERSION", "Capsule", "request_capsule", "set_device"]

DLPACK_VERSION = (1, 0)
_READ_ONLY, _COPIED = 1, 2  # bits of DLManagedTensorVersioned.flags
_CUDA, _LEGACY_STREAM = 2, 1
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Legacy(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


# Prototypes of our own: argument types set on ctypes.pythonapi would be seen by every other user of it.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# The name while unconsumed, the name afterwards, the structure.
_FORMS = ((b"dltensor_versioned", b"used_dltensor_versioned", _Versioned), (b"dltensor", b"used_dltensor", _Legacy))
for _, _used, _ in _FORMS:
    _keep(_used)  # a capsule points to its name, perhaps for longer than this module lives


class _Owner:
    """A tensor taken over from its producer, whose deleter runs exactly once, when nothing uses the memory any more."""

    __slots__ = ("_address", "_delete")

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._delete = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


class Capsule:
    """The tensor that a producer's capsule describes. Until `take` is called the capsule stays its producer's.

    `pointer` is the address of element 0; `strides` counts elements, None for C order; `component` names the dtype of a component
    as NumPy does, an element has `lanes` of them; `device` is DLPack's (type, number).
    """

    def __init__(self, capsule: Any) -> None:
        form = next((form for form in _FORMS if _is_valid(capsule, form[0])), None)
        if form is None:
            raise BufferError(f"not an unconsumed DLPack capsule: {capsule!r}")
        self._name, self._used, structure = form
        self._capsule = capsule
        self._address: int = _get_pointer(capsule, self._name)
        managed = structure.from_address(self._address)
        self.read_only = False  # the legacy form cannot say so; its producers refuse to export read-only memory
        if isinstance(managed, _Versioned):
            if managed.major != DLPACK_VERSION[0]:  # nothing else of the structure may be read then
                raise BufferError(f"DLPack version {managed.major}.{managed.minor} is not supported, only version 1")
            self.read_only = bool(managed.flags & _READ_ONLY)
        self._deleter: int | None = managed.deleter
        tensor = managed.tensor
        self.pointer: int = (tensor.data or 0) + tensor.byte_offset
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.strides: tuple[int, ...] | None = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        kind = _KINDS.get(tensor.code)
        self.component = "bool" if kind == "bool" else f"{kind or f'DLPack-{tensor.code}-'}{tensor.bits}"
        self.lanes: int = tensor.lanes
        self.device: tuple[int, int] = (tensor.device_type, tensor.device_id)

    @property
    def contiguous(self) -> bool:
        """Whether the elements stand in C order without gaps; strides of extents of one do not matter."""
        if self.strides is None or 0 in self.shape:
            return True
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    def take(self) -> object:
        """Consume the capsule: the object that keeps the memory, and gives it back to the producer when it is freed."""
        owner = _Owner(self._address, self._deleter)
        _set_name(self._capsule, self._used)
        return owner


def set_device(capsule: Any, device: tuple[int, int], *, copied: bool) -> None:
    """Says in an unconsumed capsule where its tensor lives, by DLPack's (type, number), and whether it is a copy."""
    name, _, structure = next(form for form in _FORMS if _is_valid(capsule, form[0]))
    managed = structure.from_address(_get_pointer(capsule, name))
    managed.tensor.device_type, managed.tensor.device_id = device
    if copied and isinstance(managed, _Versioned):
        managed.flags |= _COPIED


def request_capsule(obj: Any, copy: bool | None) -> Capsule:
    """Ask a producer for a capsule, of version 1 if it knows that.

    Memory of a CUDA device is asked for in the order of the legacy default stream, in which Tack uses it.
    """
    export = getattr(obj, "__dlpack__", None)
    if export is None:
        raise TypeError(f"from_dlpack takes an object with __dlpack__, not {type(obj).__name__}")
    where = getattr(obj, "__dlpack_device__", None)
    stream = {"stream": _LEGACY_STREAM} if where is not None and int(where()[0]) == _CUDA else {}
    wishes: dict[str, Any] = {"max_version": DLPACK_VERSION, **stream}
    if copy is False:
        wishes["copy"] = False
    try:
        return Capsule(export(**wishes))
    except TypeError:  # a producer from before version 1 knows no such arguments
        return Capsule(export(**stream))
