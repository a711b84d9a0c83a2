"""The memory of GPUs, whatever their make: the order of copies and fills, when memory comes back, and how others share it."""

import ctypes
import gc
import threading

import numpy as np
import pytest
from gpu_fake import LateGpu

import tack
from tack.runtime.dlpack_capsule import Capsule
from tack.runtime.gpu_memory import GpuMemory
from tack.runtime.gpu_queue import Queued

F4 = np.dtype(np.float32)


@pytest.fixture
def gpu():
    return LateGpu()


@pytest.fixture
def memory(gpu):
    return GpuMemory(gpu)


@pytest.fixture
def device(memory):
    """What an array needs of a device."""

    class Device:
        of = staticmethod(lambda spec: spec)

        def __str__(self):
            return "cuda:0"

    made = Device()
    made.memory = memory
    made.reduce = lambda array, name: None
    return made


def array(values, device):
    values = np.asarray(values)
    return tack.Array._new(values, dtype_of(values), device)


def dtype_of(values):
    return {"f4": tack.f32, "f8": tack.f64, "i4": tack.i32, "u1": tack.u8}[values.dtype.str[1:]]


# -------------------------------------------------------------------------------------------------------- order and copies


@pytest.mark.spec("back-063")
def test_fills_copies_and_host_writes_take_their_place_in_the_queue(device, gpu):
    a = array(np.arange(6, dtype=F4), device)
    b = a.copy()
    a.fill(7)
    a[2] = -1
    c = a.copy()
    tack.copyto(a[4:], b[:2])
    assert "wait" not in gpu.calls and len(gpu.queue) == 6
    assert b.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert c.numpy().tolist() == [7, 7, -1, 7, 7, 7]
    assert a.numpy().tolist() == [7, 7, -1, 7, 0, 1]


def test_host_values_may_change_when_a_write_returns(device):
    values = np.ones(4, F4)
    a = array(values, device)
    values[:] = 2
    tack.copyto(a[1:3], values[:2])
    values[:] = 3
    assert a.numpy().tolist() == [1, 2, 2, 1]


def test_strided_host_values_are_copied_right(device):
    a = array(np.zeros((2, 3), F4), device)
    tack.copyto(a, np.arange(12, dtype=F4).reshape(3, 4)[:, ::2].T)
    assert a.numpy().tolist() == [[0, 4, 8], [2, 6, 10]]


@pytest.mark.parametrize("shift", [-3, -1, 1, 3])
def test_overlapping_copies_go_through_other_memory(device, shift):
    values = np.arange(16, dtype=np.int32)
    a = array(values, device)
    lo, hi = max(0, shift), max(0, -shift)
    tack.copyto(a[lo : 16 - hi], a[hi : 16 - lo])
    values[lo : 16 - hi] = values[hi : 16 - lo].copy()
    assert a.numpy().tolist() == values.tolist()


def test_elements_are_read_and_stored_alone(device):
    a = array(np.arange(24, dtype=np.float64).reshape(2, 3, 4), device)
    assert a[1, 2, 3] == 23.0 and a[-1, 0, -4] == 12.0
    a[0, 1, 2] = 99
    assert a[0, 1, 2] == 99.0 and a.numpy()[0, 1, 2] == 99.0
    v = tack.Array(device.memory.zeros(F4, (3, 2)), tack.vec2, (3,), device)
    v[1] = (4, 5)
    assert v[1].tolist() == [4, 5] and v.numpy().tolist() == [[0, 0], [4, 5], [0, 0]]
    v.fill((8, 9))
    assert v[2].tolist() == [8, 9]


def test_arrays_without_elements_have_no_memory(device, gpu):
    a = array(np.zeros((0, 3), F4), device)
    a.fill(1)
    assert a.numpy().shape == (0, 3) and a.copy().shape == (0, 3) and "allocate" not in gpu.calls


# ------------------------------------------------------------------------------------------------------ when memory comes back


def test_dropped_memory_serves_the_next_array_of_its_size(device, gpu):
    a = array(np.arange(8, dtype=F4), device)
    address = a._buffer.address
    b = a.copy()
    del a
    c = array(np.full(8, 5, F4), device)
    assert c._buffer.address == address and gpu.calls.count("allocate") == 2
    assert b.numpy().tolist() == list(range(8)), "the copy comes first in the queue"
    assert c.numpy().tolist() == [5] * 8


def test_memory_goes_back_when_two_waits_have_found_no_use_for_it(device, gpu, memory):
    a = array(np.zeros(8, F4), device)
    a.fill(1)
    del a  # while the fill is queued
    assert gpu.live
    memory.wait()
    assert gpu.live
    memory.wait()
    assert not gpu.live


def test_a_view_keeps_the_memory(device, gpu, memory):
    a = array(np.arange(8, dtype=F4), device)
    view = a.reshape(2, 4)[1:]
    del a
    gc.collect()
    memory.give_back()
    assert view.numpy().tolist() == [[4, 5, 6, 7]] and gpu.live


def test_memory_that_runs_out_is_looked_for_among_what_was_dropped(gpu, memory):
    gpu.total = 100
    a = memory.empty(np.dtype(np.uint8), (60,))
    del a
    b = memory.empty(np.dtype(np.uint8), (80,))
    assert b.nbytes == 80 and gpu.calls.count("free") == 1
    with pytest.raises(MemoryError, match=r"no memory for 21 bytes \(shape \(21,\), 1 bytes an element\) on cuda:0: 20 of 100"):
        memory.empty(np.dtype(np.uint8), (21,))


def test_the_last_reference_may_go_anywhere(device, gpu, memory):
    """On a thread without a context, in a collection: it only leaves a note."""
    held = [array(np.zeros(8, F4), device)]
    gpu.calls.clear()
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    cycle = [array(np.zeros(8, F4), device)]
    cycle.append(cycle)
    del cycle
    gpu.calls.clear()
    gc.collect()
    assert gpu.calls == []
    memory.give_back()
    assert not gpu.live


def test_a_wait_that_fails_loses_nothing(device, gpu, memory):
    released = []
    array(np.zeros(8, F4), device)
    memory.later(lambda: released.append(1))
    memory.wait()
    memory.later(lambda: released.append(2))
    gpu.fails = RuntimeError("a launch has failed")
    with pytest.raises(RuntimeError, match="a launch has failed"):
        memory.wait()
    assert released == [1] and gpu.live
    gpu.fails = None
    memory.wait()
    assert released == [1, 2] and not gpu.live


def test_threads_that_allocate_get_memory_of_their_own(memory, gpu):
    gpu.total = 1 << 30
    addresses, errors = [], []

    def work():
        try:
            for _ in range(50):
                held = [memory.empty(np.dtype(np.uint8), (64,)) for _ in range(4)]
                assert len({each.address for each in held}) == 4
            addresses.extend(held)
        except Exception as error:  # a thread has nobody to tell
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len({each.address for each in addresses}) == 32


# -------------------------------------------------------------------------------------------------------- shared with others


def tensor(capsule):
    """What a consumer sees, and the capsule that keeps it."""
    found = Capsule(capsule)
    return found, found.take()


@pytest.mark.spec("back-065")
@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_dlpack_export_waits_and_names_the_device(device, gpu, version):
    a = array(np.arange(6, dtype=np.int32).reshape(2, 3), device)
    assert a.__dlpack_device__() == (2, 0) and gpu.queue
    seen, owner = tensor(a.__dlpack__(max_version=version))
    assert not gpu.queue
    assert (seen.pointer, seen.device, seen.shape, seen.component) == (a._buffer.address, (2, 0), (2, 3), "int32")
    assert seen.contiguous and not seen.read_only
    del a
    gc.collect()
    assert gpu.live, "the consumer's memory"
    del owner, seen
    gc.collect()


@pytest.mark.parametrize("stream", [None, 1, 2, 0x7F00])
def test_dlpack_streams(device, gpu, stream):
    a = array(np.zeros(2, F4), device)
    a.__dlpack__(stream=stream)
    assert not gpu.queue


def test_dlpack_without_a_wait(device, gpu):
    a = array(np.zeros(2, F4), device)
    a.__dlpack__(stream=-1)
    assert gpu.queue and "wait" not in gpu.calls


@pytest.mark.parametrize("stream", [0, -2, True, "1"])
def test_what_is_no_stream(device, stream):
    with pytest.raises(ValueError, match="is no stream"):
        array(np.zeros(2, F4), device).__dlpack__(stream=stream)


def test_read_only_memory_needs_the_versioned_form(device):
    buffer = device.memory.wrap(0x1000, F4, (4,), False, None)
    a = tack.Array(buffer, tack.f32, (4,), device)
    with pytest.raises(BufferError):
        a.__dlpack__()
    assert Capsule(a.__dlpack__(max_version=(1, 0))).read_only
    with pytest.raises(ValueError, match="read-only"):
        a.fill(1)


def test_a_copy_is_exported_on_demand(device, gpu):
    a = array(np.arange(4, dtype=F4), device)
    seen = Capsule(a.__dlpack__(max_version=(1, 0), copy=True))
    assert seen.pointer != a._buffer.address and seen.pointer in gpu.live
    on_host = Capsule(a.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert on_host.device == (1, 0)
    values = (ctypes.c_float * 4).from_address(on_host.pointer)
    assert list(values) == [0, 1, 2, 3]
    for wrong in ({"dl_device": (2, 5)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError, match="cuda:0"):
            a.__dlpack__(**wrong)


def test_the_interface_of_cudas_libraries(device, gpu):
    a = array(np.zeros((2, 3), np.float64), device)
    assert a.__cuda_array_interface__ == {
        "version": 3, "data": (a._buffer.address, False), "typestr": "<f8", "shape": (2, 3), "strides": None, "stream": None,
    }  # fmt: skip
    assert not gpu.queue
    assert not hasattr(tack.zeros(3, device="cpu"), "__cuda_array_interface__")
    assert not hasattr(a, "__array_interface__")


@pytest.mark.spec("back-068")
@pytest.mark.parametrize(
    "share", [lambda a: a.__dlpack__(), lambda a: a.__cuda_array_interface__, lambda a: a.export_memory()],
    ids=["dlpack", "interface", "handle"],
)  # fmt: skip
def test_what_is_queued_on_shared_memory_completes_before_the_call_returns(device, gpu, share):
    a = array(np.zeros(8, F4), device)
    other = a.copy()
    kept = share(a)
    other.fill(3)
    assert gpu.queue, "this one is Tack's alone"
    for work in (lambda: a.fill(1), lambda: tack.copyto(a[:4], other[4:]), lambda: a[4:].__setitem__(0, 9)):
        work()
        assert not gpu.queue
    del kept


def test_shared_memory_is_not_used_again(device, gpu, memory):
    """The other library may have work of its own on it."""
    a = array(np.zeros(8, F4), device)
    a.__cuda_array_interface__
    address = a._buffer.address
    del a
    assert array(np.zeros(8, F4), device)._buffer.address != address
    memory.wait()
    assert address not in gpu.live


def test_foreign_memory_is_not_freed(device, gpu, memory):
    class Owner:
        pass

    owner = Owner()
    buffer = memory.wrap(0x7000, F4, (4,), True, owner)
    assert buffer.owner is owner
    with pytest.raises(RuntimeError, match="export_memory: the memory is not Tack's"):
        buffer.export_memory()
    del buffer
    memory.give_back()
    assert "free" not in gpu.calls


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_foreign_memory_that_no_kernel_could_read_is_refused(device, memory, size):
    """A number's address is a multiple of its size, also in vectors: their components are what is loaded."""
    dtype = np.dtype(f"u{size}")
    for offset in range(1, 9):
        address = 0x7000 + offset
        assert memory.wrap(address, dtype, (0, 4), True, None).address == address  # without elements, nothing is loaded
        if offset % size == 0:
            assert memory.wrap(address, dtype, (4, 3), True, None).address == address
            continue
        with pytest.raises(ValueError) as error:
            memory.wrap(address, dtype, (4, 3), True, None)
        assert str(error.value) == (
            f"memory of cuda:0 at {address:#x} is not aligned to {size} bytes, the size of uint{8 * size}\n"
            "  Copy it to aligned memory, with what allocated it, and pass the copy."
        )


@pytest.mark.parametrize("shape", [(2**62, 4), (2**63,), (2**64,), (2**60 - 1, 8), (2**70, 3)])
def test_sizes_beyond_the_apis_types_are_memory_errors(memory, gpu, shape):
    """Of what an API's type cannot hold, the device is not asked."""
    with pytest.raises(
        MemoryError, match=r"no memory for \d+ bytes \(shape .*, 1 bytes an element\) on cuda:0: \d+ of \d+ bytes"
    ):
        memory.empty(np.dtype(np.uint8), shape)
    assert ("allocate" in gpu.calls) == (shape == (2**60 - 1, 8))


# ------------------------------------------------------------------------------------------------------------- names


def test_errors_name_what_was_queued_since_the_last_wait():
    queued = Queued()
    assert queued.in_words() == "no kernel of Tack's was queued"
    queued.note("early")
    mark = queued.mark()
    queued.note("one")
    queued.note("two")
    queued.finished(mark)
    assert queued.in_words() == "kernels 'two', 'one' were queued"
    queued.note("one")
    assert queued.in_words() == "kernels 'one', 'two' were queued"
    queued.finished(queued.mark())
    for n in range(10):
        queued.note(f"k{n}")
    assert queued.in_words().endswith("'k2' and 2 more were queued")
