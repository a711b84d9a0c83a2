"""A 3-D texture of CUDA's: the array that holds its texels, and the object by which kernels sample it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]  (compiled)

from tack.errors import fail

if TYPE_CHECKING:
    from tack.runtime.cuda_driver import CudaDevice

__all__ = ["CudaTexture"]

_TEXEL = 4  # bytes
_Memory = driver.CUmemorytype


class CudaTexture:
    """Texels of f32, x fastest, sampled with normalized coordinates and clamped at the edges. `handle` is the object's."""

    __slots__ = ("_array", "_device", "_extents", "handle")

    def __init__(self, device: CudaDevice, extents: tuple[int, int, int], nearest: bool) -> None:
        from tack.runtime.cuda_driver import attribute

        axes = ("WIDTH", "HEIGHT", "DEPTH")
        limits = [attribute(device.index, f"MAXIMUM_TEXTURE3D_{axis}") for axis in axes]
        if any(extent > limit for extent, limit in zip(extents, limits, strict=True)):
            words = f"texture3d: the extents {extents} are past the limits {tuple(limits)} of {device.name}"
            raise fail(ValueError, words, remedy="Use an array, or several textures.")
        self._device = device
        self._extents = extents
        shape = driver.CUDA_ARRAY3D_DESCRIPTOR()
        shape.Width, shape.Height, shape.Depth = extents
        shape.Format = driver.CUarray_format.CU_AD_FORMAT_FLOAT
        shape.NumChannels = 1
        self._array = device.call(driver.cuArray3DCreate, shape)
        try:
            self.handle = int(device.call(driver.cuTexObjectCreate, _resource(self._array), _sampling(nearest), None))
        except BaseException:  # nobody else will free it
            device.call(driver.cuArrayDestroy, self._array)
            raise

    def copy_in(self, host: int) -> None:
        """Queues a copy of all texels from the host."""
        copy = self._copy()
        copy.srcMemoryType, copy.srcHost = _Memory.CU_MEMORYTYPE_HOST, host
        self._to_array(copy)

    def copy_from(self, address: int) -> None:
        """Queues a copy of all texels from the device's memory."""
        copy = self._copy()
        copy.srcMemoryType, copy.srcDevice = _Memory.CU_MEMORYTYPE_DEVICE, address
        self._to_array(copy)

    def copy_out(self, host: int) -> None:
        """Copies all texels to the host, when the work queued before has finished."""
        width, height, _ = self._extents
        copy = self._copy()
        copy.srcMemoryType, copy.srcArray = _Memory.CU_MEMORYTYPE_ARRAY, self._array
        copy.dstMemoryType, copy.dstHost = _Memory.CU_MEMORYTYPE_HOST, host
        copy.dstPitch, copy.dstHeight = width * _TEXEL, height
        self._device.call(driver.cuMemcpy3DAsync, copy, driver.CU_STREAM_LEGACY)
        self._device.wait()

    def free(self) -> None:
        """Gives the texture back."""
        self._device.call(driver.cuTexObjectDestroy, self.handle)
        self._device.call(driver.cuArrayDestroy, self._array)

    def _copy(self) -> driver.CUDA_MEMCPY3D:
        width, height, depth = self._extents
        copy = driver.CUDA_MEMCPY3D()
        copy.WidthInBytes, copy.Height, copy.Depth = width * _TEXEL, height, depth
        return copy

    def _to_array(self, copy: driver.CUDA_MEMCPY3D) -> None:
        width, height, _ = self._extents
        copy.srcPitch, copy.srcHeight = width * _TEXEL, height
        copy.dstMemoryType, copy.dstArray = _Memory.CU_MEMORYTYPE_ARRAY, self._array
        self._device.call(driver.cuMemcpy3DAsync, copy, driver.CU_STREAM_LEGACY)


def _resource(array: driver.CUarray) -> driver.CUDA_RESOURCE_DESC:
    resource = driver.CUDA_RESOURCE_DESC()
    resource.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    resource.res.array.hArray = array
    return resource


def _sampling(nearest: bool) -> driver.CUDA_TEXTURE_DESC:
    sampling = driver.CUDA_TEXTURE_DESC()
    mode = driver.CUfilter_mode
    sampling.filterMode = mode.CU_TR_FILTER_MODE_POINT if nearest else mode.CU_TR_FILTER_MODE_LINEAR
    sampling.addressMode = [driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP] * 3
    sampling.flags = driver.CU_TRSF_NORMALIZED_COORDINATES
    return sampling
