"""Driver functions about arrays and texture objects: 3-D arrays of f32, clamped at the edges. Anything else is refused."""

from __future__ import annotations

import ctypes

from tack_sim.driver_attributes import limit
from tack_sim.driver_entry import OUT, U64, entry
from tack_sim.driver_report import CuError
from tack_sim.driver_state import TEXEL, Array, Context, TextureObject
from tack_sim.memory import write_bytes

__all__: list[str] = []

_FLOAT = 0x20  # CUarray_format
_OF_ARRAY = 0  # CUresourcetype
_CLAMP = 1  # CUaddress_mode
_POINT, _LINEAR = 0, 1  # CUfilter_mode
_AS_INTEGER, _NORMALIZED = 1, 2  # flags of textures


class _ArrayDescriptor(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("width", "height", "depth")),
        *((name, ctypes.c_uint32) for name in ("format", "channels", "flags")),
    ]


class _Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC, as far as it is about arrays."""

    _fields_ = [("kind", ctypes.c_uint64), ("array", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 15), ("flags", ctypes.c_uint64)]


class _Texture(ctypes.Structure):
    """CUDA_TEXTURE_DESC."""

    _fields_ = [
        ("address", ctypes.c_uint32 * 3),
        *((name, ctypes.c_uint32) for name in ("filter", "flags", "anisotropy", "between_levels")),
        *((name, ctypes.c_float) for name in ("bias", "least_level", "most_level")),
        ("border", ctypes.c_float * 4),
        ("reserved", ctypes.c_uint32 * 12),
    ]


def _refuse(what: str) -> CuError:
    return CuError(801, "unsupported", f"{what}: only 3-D arrays of one f32 are simulated, clamped, with point or linear filter")


# ----------------------------------------------------------------------------------------------------------------- arrays


@entry(3020, OUT(U64), U64)
def cuArray3DCreate(context: Context, where: int) -> int:
    if not where:
        raise CuError(1, "null pointer", "the description of the array is null")
    given = _ArrayDescriptor.from_address(where)
    shape = given.width, given.height, given.depth
    if given.format != _FLOAT or given.channels != 1 or given.flags:
        raise _refuse(f"an array of format {given.format:#x}, {given.channels} channels and flags {given.flags:#x}")
    if not all(shape):
        raise _refuse(f"an array of {shape} texels")
    most = tuple(limit(context.machine.options, f"MAXIMUM_TEXTURE3D_{axis}") for axis in ("WIDTH", "HEIGHT", "DEPTH"))
    if any(size > top for size, top in zip(shape, most, strict=True)):
        raise CuError(1, "invalid value", f"an array of {shape} texels; the limits are {most}")
    if shape[0] * shape[1] * shape[2] * TEXEL > context.device.free_memory():
        raise CuError(2)
    return context.new_array(shape, 1).handle


@entry(3020, U64, U64)
def cuArray3DGetDescriptor(context: Context, where: int, handle: int) -> None:
    array = context.machine.find(Array, handle, "array")
    if not where:
        raise CuError(1, "null pointer", "the address of the result is null")
    made = _ArrayDescriptor.from_address(where)
    made.width, made.height, made.depth = array.shape
    made.format, made.channels, made.flags = _FLOAT, array.channels, 0


@entry(2000, U64)
def cuArrayDestroy(context: Context, handle: int) -> None:
    machine = context.machine
    array = machine.find(Array, handle, "array")
    users = [texture for texture in array.context.textures.values() if texture.array is array]
    if users:
        words = f"the array of {array.extents} texels is destroyed before {len(users)} texture objects of it"
        raise CuError(1, "invalid value", words)
    queued = [work for work in array.context.queue.values() if work.uses(array.address, array.address + array.texels.nbytes)]
    array.destroyed = True
    array.context.arrays.remove(array)
    machine.drop_handle(handle, f"an array of {array.extents} texels")
    if queued:
        names = ", ".join(dict.fromkeys(work.name for work in queued))
        error = CuError(0, "freed while in flight", f"the array of {array.extents} texels is used by queued work: {names}")
        machine.tell(error, "cuArrayDestroy", context.device.index)


# --------------------------------------------------------------------------------------------------------------- textures


@entry(5000, OUT(U64), U64, U64, U64)
def cuTexObjectCreate(context: Context, resource: int, texture: int, view: int) -> int:
    if not resource or not texture:
        raise CuError(1, "null pointer", "the description of the resource or of the texture is null")
    of, how = _Resource.from_address(resource), _Texture.from_address(texture)
    if of.kind & 0xFFFFFFFF != _OF_ARRAY or view:
        raise _refuse("a texture of memory that is no array, or with a view")
    array = context.machine.find(Array, of.array, "array")
    if array.context is not context:
        raise CuError(400, "wrong handle", f"the array belongs to {array.context}, but {context} is current")
    modes = tuple(how.address)
    if modes != (_CLAMP,) * 3 or how.filter not in (_POINT, _LINEAR) or how.flags & ~(_NORMALIZED | _AS_INTEGER):
        raise _refuse(f"a texture of address modes {modes}, filter {how.filter} and flags {how.flags:#x}")
    if how.anisotropy > 1 or how.bias or how.least_level or how.most_level:
        raise _refuse("a texture with levels of detail")
    data = ctypes.string_at(resource, ctypes.sizeof(_Resource)), ctypes.string_at(texture, ctypes.sizeof(_Texture))
    handle = context.machine.new_texture_handle()
    made = TextureObject(context, handle, array, how.filter == _LINEAR, bool(how.flags & _NORMALIZED), data)
    context.textures[handle] = made
    return handle


@entry(5000, U64)
def cuTexObjectDestroy(context: Context, handle: int) -> None:
    found = context.textures.pop(handle, None)
    if found is None:
        raise CuError(1, "destroyed handle", f"{handle:#x} is no texture object of {context}")
    queued = [work.name for work in context.queue.values() if work.uses(handle, handle + 1)]
    if queued:
        names = ", ".join(dict.fromkeys(queued))
        error = CuError(0, "freed while in flight", f"the texture object is used by queued work that has not run: {names}")
        context.machine.tell(error, "cuTexObjectDestroy", context.device.index)


def _described(context: Context, where: int, handle: int, which: int) -> None:
    found = context.textures.get(handle)
    if found is None or not where:
        raise CuError(1, "wrong handle", f"{handle:#x} is no texture object of {context}, or the address of the result is null")
    write_bytes(where, found.descriptors[which])


@entry(5000, U64, U64)
def cuTexObjectGetResourceDesc(context: Context, where: int, handle: int) -> None:
    _described(context, where, handle, 0)


@entry(5000, U64, U64)
def cuTexObjectGetTextureDesc(context: Context, where: int, handle: int) -> None:
    _described(context, where, handle, 1)
