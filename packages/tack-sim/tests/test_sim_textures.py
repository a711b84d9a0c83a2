"""Arrays and texture objects on the simulated driver."""

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver
from driver_tools import code, kinds, ok

import tack_sim

SOURCE = """
extern "C" __global__ void sample(unsigned long long t, float* out, float x, float y, float z) {
    out[0] = tex3D<float>(t, x, y, z);
}
"""
TEXELS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)  # depth, height, width
Memory = driver.CUmemorytype


def new_array(shape=(4, 3, 2), form=driver.CUarray_format.CU_AD_FORMAT_FLOAT, channels=1):
    given = driver.CUDA_ARRAY3D_DESCRIPTOR()
    given.Width, given.Height, given.Depth = shape
    given.Format, given.NumChannels = form, channels
    return driver.cuArray3DCreate(given)


def copy_of_all(array, host, to_array):
    copy = driver.CUDA_MEMCPY3D()
    copy.WidthInBytes, copy.Height, copy.Depth = 16, 3, 2
    array_end, host_end = ("dst", "src") if to_array else ("src", "dst")
    for end, name, value in (
        (array_end, "MemoryType", Memory.CU_MEMORYTYPE_ARRAY), (array_end, "Array", array),
        (host_end, "MemoryType", Memory.CU_MEMORYTYPE_HOST), (host_end, "Host", host.ctypes.data),
        (host_end, "Pitch", 16), (host_end, "Height", 3),
    ):  # fmt: skip
        setattr(copy, end + name, value)
    return copy


def new_texture(array, linear=False, mode=driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP, flags=0):
    of, how = driver.CUDA_RESOURCE_DESC(), driver.CUDA_TEXTURE_DESC()
    of.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    of.res.array.hArray = array
    how.filterMode = driver.CUfilter_mode(int(linear))
    how.addressMode = [mode] * 3
    how.flags = flags
    return driver.cuTexObjectCreate(of, how, None)


@pytest.fixture
def array(cuda):
    made = ok(new_array())
    ok(driver.cuMemcpy3D(copy_of_all(made, TEXELS, True)))
    return made


def sampled(cuda, texture, *at):
    function = ok(driver.cuModuleGetFunction(cuda.module(SOURCE), b"sample"))
    out = cuda.put(np.zeros(1, np.float32))
    ok(cuda.launch(function, 1, 1, int(texture), out, *map(ctypes.c_float, at)))
    return cuda.get(out, np.zeros(1, np.float32))[0]


def test_texels_go_in_and_out(cuda, array):
    out = np.zeros_like(TEXELS)
    ok(driver.cuMemcpy3DAsync(copy_of_all(array, out, False), 0))
    assert not out.any()
    ok(driver.cuCtxSynchronize())
    assert np.array_equal(out, TEXELS)
    shape = ok(driver.cuArray3DGetDescriptor(array))
    assert (shape.Width, shape.Height, shape.Depth, shape.NumChannels) == (4, 3, 2, 1)


def test_kernels_sample_texels(cuda, array):
    plain, linear = ok(new_texture(array)), ok(new_texture(array, True))
    normalized = ok(new_texture(array, flags=driver.CU_TRSF_NORMALIZED_COORDINATES))
    assert sampled(cuda, plain, 2.5, 1.5, 1.5) == TEXELS[1, 1, 2]
    assert sampled(cuda, plain, 99, -5, 0) == TEXELS[0, 0, 3]
    assert sampled(cuda, linear, 2.0, 1.5, 1.5) == (TEXELS[1, 1, 1] + TEXELS[1, 1, 2]) / 2
    assert sampled(cuda, normalized, 0.6, 0.5, 0.9) == TEXELS[1, 1, 2]


def test_what_is_not_simulated_is_refused(cuda, array):
    F = driver.CUarray_format
    assert code(new_array(form=F.CU_AD_FORMAT_HALF)) == 801
    assert code(new_array(channels=4)) == 801
    assert code(new_array(shape=(4, 0, 0))) == 801
    assert code(new_texture(array, mode=driver.CUaddress_mode.CU_TR_ADDRESS_MODE_WRAP)) == 801
    assert kinds() == ["unsupported"] * 4
    assert code(new_array(shape=(1 << 15, 1, 1))) == 1


def test_arrays_use_memory_of_the_device(cuda):
    ok(new_array((1000, 100, 10)))
    assert ok(driver.cuMemGetInfo())[0] == (1 << 30) - 4_000_000
    assert code(new_array((16384, 16384, 2))) == 2


def test_textures_and_arrays_end(cuda, array):
    texture = ok(new_texture(array))
    assert code(driver.cuArrayDestroy(array)) == 1
    function = ok(driver.cuModuleGetFunction(cuda.module(SOURCE), b"sample"))
    out = cuda.put(np.zeros(1, np.float32))
    ok(cuda.launch(function, 1, 1, int(texture), out, *[ctypes.c_float(0)] * 3))
    ok(driver.cuTexObjectDestroy(texture))
    assert code(driver.cuTexObjectDestroy(texture)) == 1
    ok(driver.cuArrayDestroy(array))
    assert code(driver.cuArrayDestroy(array)) == 400
    assert code(driver.cuCtxSynchronize()) == 719
    assert kinds() == ["invalid value", "freed while in flight", "destroyed handle", "destroyed handle", "bad texture"]


def test_copies_stay_within_an_array(cuda, array):
    copy = copy_of_all(array, TEXELS, True)
    copy.dstY = 1
    assert code(driver.cuMemcpy3D(copy)) == 1
    copy.dstY, copy.dstXInBytes, copy.WidthInBytes = 0, 2, 4
    assert code(driver.cuMemcpy3D(copy)) == 1
    assert kinds() == ["copy out of bounds", "misaligned address"]


def test_what_is_not_given_back_is_a_leak(cuda, array):
    ok(new_texture(array))
    cuda.module(SOURCE)
    own = ok(driver.cuCtxCreate(None, 0, 1))
    leaks = tack_sim.check_leaks()
    for words in ("a texture object", "an array of (4, 3, 2) texels", "a module with kernels sample", "a context of device 1"):
        assert len([leak for leak in leaks if words in leak]) == 1
    ok(driver.cuCtxDestroy(own))
