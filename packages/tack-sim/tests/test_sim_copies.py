"""Allocation, copies and fills on the simulated driver: sizes and bounds on both sides, and when each of them runs."""

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver
from driver_tools import code, kinds, ok

import tack_sim

DATA = np.arange(64, dtype=np.float32)


def test_memory_comes_and_goes(cuda):
    assert ok(driver.cuMemGetInfo()) == (1 << 30, 1 << 30)
    address = cuda.put(DATA)
    assert address % 256 == 0
    assert ok(driver.cuMemGetInfo())[0] == (1 << 30) - 256
    assert np.array_equal(cuda.get(address, DATA), DATA)
    assert [int(n) for n in ok(driver.cuMemGetAddressRange(address + 100))] == [address, DATA.nbytes]
    ok(driver.cuMemFree(address))
    assert ok(driver.cuMemGetInfo())[0] == 1 << 30
    assert tack_sim.check_leaks() == ("the primary context of device 0, retained 1 times more than released",)


def test_a_device_has_its_memory_and_no_more(cuda):
    assert code(driver.cuMemAlloc((1 << 30) + 1)) == 2
    held = ok(driver.cuMemAlloc(1 << 20))
    assert code(driver.cuMemAlloc(1 << 30)) == 2
    ok(driver.cuMemFree(held))
    assert code(driver.cuMemAlloc(0)) == 1
    assert kinds() == ["invalid value"]  # running out of memory is no mistake


def test_fresh_memory_holds_a_pattern(cuda):
    assert set(cuda.get(ok(driver.cuMemAlloc(100)), np.zeros(100, np.uint8))) == {0xCB}


def test_what_is_freed_wrongly_is_reported(cuda):
    address = cuda.put(DATA)
    assert code(driver.cuMemFree(address + 16)) == 1
    ok(driver.cuMemFree(address))
    assert code(driver.cuMemFree(address)) == 1
    assert code(driver.cuMemFree(DATA.ctypes.data)) == 1
    assert code(driver.cuMemFree(0)) == 1
    assert code(driver.cuMemFreeHost(cuda.put(DATA))) == 1
    assert kinds() == ["inner pointer", "double free", "host pointer", "null pointer", "wrong handle"]


@pytest.mark.parametrize(
    ("shift", "nbytes", "kind"), [(0, 257, "copy out of bounds"), (1, 256, "copy out of bounds"), (-1, 1, "copy out of bounds")]
)
def test_copies_stay_within_an_allocation(cuda, shift, nbytes, kind):
    address, host = cuda.put(DATA), np.zeros(1000, np.uint8)
    other = ok(driver.cuMemAlloc(4096))
    for result in (
        driver.cuMemcpyHtoD(address + shift, host.ctypes.data, nbytes),
        driver.cuMemcpyHtoDAsync(address + shift, host.ctypes.data, nbytes, 0),
        driver.cuMemcpyDtoH(host.ctypes.data, address + shift, nbytes),
        driver.cuMemcpyDtoD(other, address + shift, nbytes),
        driver.cuMemcpyDtoD(address + shift, other, nbytes),
        driver.cuMemsetD8(address + shift, 0, nbytes),
    ):
        assert code(result) == 1
    assert kinds() == [kind] * 6
    assert np.array_equal(cuda.get(address, DATA), DATA)


def test_host_and_device_pointers_are_not_exchanged(cuda):
    address, host = cuda.put(DATA), DATA.copy()
    assert code(driver.cuMemcpyHtoD(host.ctypes.data, address, 4)) == 1
    assert code(driver.cuMemcpyHtoD(address, address, 4)) == 1
    assert code(driver.cuMemcpyDtoH(address, address, 4)) == 1
    assert code(driver.cuMemcpyDtoH(host.ctypes.data, host.ctypes.data, 4)) == 1
    assert code(driver.cuMemcpyDtoH(0, address, 4)) == 1
    assert kinds() == ["host pointer", "device pointer", "device pointer", "host pointer", "null pointer"]
    tack_sim.take_reports()
    ok(driver.cuMemcpy(host.ctypes.data, address, 4))  # which looks where each is
    assert kinds() == []


def test_copies_on_the_device_do_not_overlap(cuda):
    address = cuda.put(DATA)
    assert code(driver.cuMemcpyDtoD(address, address + 4, 8)) == 1
    assert kinds() == ["overlapping copy"]


def test_a_copy_to_the_host_is_late_until_something_waits(cuda):
    address, host = cuda.put(DATA), np.zeros_like(DATA)
    ok(driver.cuMemcpyDtoHAsync(host.ctypes.data, address, DATA.nbytes, 0))
    assert not host.any()
    ok(driver.cuStreamSynchronize(0))
    assert np.array_equal(host, DATA)


def test_pageable_memory_is_read_at_the_call_and_pinned_memory_when_the_copy_runs(cuda):
    pageable, address = DATA.copy(), ok(driver.cuMemAlloc(DATA.nbytes))
    ok(driver.cuMemcpyHtoDAsync(address, pageable.ctypes.data, DATA.nbytes, 0))
    pageable[:] = 0
    assert np.array_equal(cuda.get(address, DATA), DATA)
    pinned = ok(driver.cuMemHostAlloc(DATA.nbytes, 0))
    ctypes.memmove(pinned, DATA.ctypes.data, DATA.nbytes)
    ok(driver.cuMemcpyHtoDAsync(address, pinned, DATA.nbytes, 0))
    ctypes.memset(pinned, 0, DATA.nbytes)
    assert not cuda.get(address, DATA).any()
    ok(driver.cuMemFreeHost(pinned))


def test_freed_memory_that_queued_work_uses_is_reported_and_the_work_fails(cuda):
    address, other = cuda.put(DATA), cuda.put(DATA)
    ok(driver.cuMemcpyDtoDAsync(other, address, 16, 0))
    ok(driver.cuMemFree(address))
    assert kinds() == ["freed while in flight"]
    assert code(driver.cuCtxSynchronize()) == 700
    assert code(driver.cuMemAlloc(4)) == 700  # as every call until the reports are taken
    assert [report.kind for report in tack_sim.take_reports()] == ["freed while in flight", "use after free"]
    assert np.array_equal(cuda.get(other, DATA), DATA)


def test_fills(cuda):
    address = int(ok(driver.cuMemAlloc(256)))
    ok(driver.cuMemsetD8(address, 7, 256))
    ok(driver.cuMemsetD16(address + 64, 0x1234, 2))
    ok(driver.cuMemsetD32Async(address + 128, 0xDEADBEEF, 3, 0))
    ok(driver.cuMemsetD2D8(address, 32, 9, 2, 2))
    expected = np.full(256, 7, np.uint8)
    expected[64:68] = (0x34, 0x12) * 2
    expected[128:140] = (0xEF, 0xBE, 0xAD, 0xDE) * 3
    expected[[0, 1, 32, 33]] = 9
    assert np.array_equal(cuda.get(address, expected), expected)
    assert code(driver.cuMemsetD32(address + 2, 0, 1)) == 1
    assert code(driver.cuMemsetD2D8(address, 1, 0, 2, 2)) == 1
    assert kinds() == ["misaligned address", "copy out of bounds"]


def test_two_devices_copy_to_each_other(cuda):
    address = cuda.put(DATA)
    second = ok(driver.cuDevicePrimaryCtxRetain(1))
    ok(driver.cuCtxPushCurrent(second))
    there = ok(driver.cuMemAlloc(DATA.nbytes))
    ok(driver.cuMemcpyPeer(there, second, address, cuda.context, DATA.nbytes))
    assert np.array_equal(cuda.get(there, DATA), DATA)
    assert code(driver.cuMemcpyPeer(there, cuda.context, address, cuda.context, DATA.nbytes)) == 1
    assert ok(driver.cuDeviceCanAccessPeer(0, 1)) == 0
    assert kinds() == ["wrong device"]


def test_pointers_have_attributes(cuda):
    P = driver.CUpointer_attribute
    device, pinned = cuda.put(DATA), ok(driver.cuMemHostAlloc(100, 0))
    managed = int(ok(driver.cuMemAllocManaged(100, 1)))
    ctypes.memset(managed, 1, 100)  # the host may
    for address, kind, is_managed in ((device, 2, 0), (pinned, 1, 0), (managed, 2, 1)):
        assert int(ok(driver.cuPointerGetAttribute(P.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))) == kind
        assert int(ok(driver.cuPointerGetAttribute(P.CU_POINTER_ATTRIBUTE_IS_MANAGED, address))) == is_managed
        assert int(ok(driver.cuPointerGetAttribute(P.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address))) == 0
        assert int(ok(driver.cuPointerGetAttribute(P.CU_POINTER_ATTRIBUTE_CONTEXT, address))) == int(cuda.context)
    assert code(driver.cuPointerGetAttribute(P.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, DATA.ctypes.data)) == 1
    wanted = [P.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, P.CU_POINTER_ATTRIBUTE_RANGE_SIZE]
    assert [int(n) for n in ok(driver.cuPointerGetAttributes(2, wanted, device + 4))] == [2, DATA.nbytes]
    assert [int(n) for n in ok(driver.cuPointerGetAttributes(2, wanted, DATA.ctypes.data))] == [0, 0]
    assert kinds() == []


def test_stream_ordered_allocation(cuda):
    address = ok(driver.cuMemAllocAsync(DATA.nbytes, 0))
    ok(driver.cuMemcpyHtoDAsync(address, DATA.ctypes.data, DATA.nbytes, 0))
    ok(driver.cuMemFreeAsync(address, 0))  # comes after the copy in the queue: no fault
    ok(driver.cuCtxSynchronize())
    assert code(driver.cuMemFree(address)) == 1
    assert kinds() == ["double free"]


def box(nbytes, height, depth):
    copy = driver.CUDA_MEMCPY3D()
    copy.WidthInBytes, copy.Height, copy.Depth = nbytes, height, depth
    return copy


def test_boxes_are_copied_between_host_and_device(cuda):
    """A box of 3 x 2 x 2 floats out of 5 x 4 x 3, and back into another place."""
    host = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    there = cuda.put(np.zeros(60, np.float32))
    copy = box(12, 2, 2)
    copy.srcMemoryType, copy.srcHost, copy.srcPitch, copy.srcHeight = (
        driver.CUmemorytype.CU_MEMORYTYPE_HOST,
        host.ctypes.data,
        20,
        4,
    )
    copy.srcXInBytes, copy.srcY, copy.srcZ = 4, 1, 1
    copy.dstMemoryType, copy.dstDevice, copy.dstPitch, copy.dstHeight = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, there, 20, 4
    copy.dstXInBytes, copy.dstY = 8, 2
    kept = host.copy()
    ok(driver.cuMemcpy3DAsync(copy, 0))
    host[:] = -1  # taken at the call
    expected = np.zeros((3, 4, 5), np.float32)
    expected[0:2, 2:4, 2:5] = kept[1:3, 1:3, 1:4]
    assert np.array_equal(cuda.get(there, expected), expected)
    copy.dstZ = 2
    assert code(driver.cuMemcpy3D(copy)) == 1
    copy.dstZ, copy.dstPitch = 0, 19
    assert code(driver.cuMemcpy3D(copy)) == 1
    assert kinds() == ["copy out of bounds"] * 2


def test_rows_are_copied_on_the_device(cuda):
    there, pitch = ok(driver.cuMemAllocPitch(12, 3, 4))
    assert pitch % 256 == 0
    host = np.arange(9, dtype=np.float32).reshape(3, 3)
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType, copy.srcHost, copy.srcPitch = driver.CUmemorytype.CU_MEMORYTYPE_HOST, host.ctypes.data, 12
    copy.dstMemoryType, copy.dstDevice, copy.dstPitch = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, there, pitch
    copy.WidthInBytes, copy.Height = 12, 3
    ok(driver.cuMemcpy2D(copy))
    assert np.array_equal(cuda.get(int(there) + 2 * pitch, host[0]), host[2])
