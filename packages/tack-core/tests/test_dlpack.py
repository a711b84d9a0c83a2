"""DLPack in both directions: capsules old and new, the read-only flag, who keeps what alive, and what is refused.

Producers and consumers that NumPy would not be are made here from the C structures, independently of the library's.
"""

import ctypes
import gc
import weakref

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES

CPU = (1, 0)


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


api = ctypes.pythonapi
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", api))
capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))


class Producer:
    """Exports `data` as described and counts the calls of its deleter. All of them live on, as an exporter's memory must."""

    made = []

    def __init__(self, data, versioned=True, **fields):
        self.made.append(self)
        self.data = data
        self.deleted = 0
        self.versioned = versioned
        self.managed = (Versioned if versioned else Legacy)()
        self.managed.deleter = self.deleter = Deleter(self._delete)
        if versioned:
            self.managed.major = 1
            self.managed.flags = fields.pop("flags", 0)
            self.managed.major = fields.pop("major", 1)
        shape, strides = fields.pop("shape", data.shape), fields.pop("strides", None)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        tensor = self.managed.tensor
        tensor.data = data.ctypes.data
        tensor.device_type, tensor.device_id = CPU
        tensor.ndim = len(shape)
        tensor.code, tensor.bits, tensor.lanes = {"i": 0, "u": 1, "f": 2}[data.dtype.kind], 8 * data.itemsize, 1
        tensor.shape = ctypes.addressof(self.shape)
        tensor.strides = None if self.strides is None else ctypes.addressof(self.strides)
        for name, value in fields.items():
            setattr(tensor, name, value)

    def _delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack__(self, **wishes):
        if not self.versioned and wishes:
            raise TypeError("an old producer takes no such arguments")
        self.wishes = wishes
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        self.capsule = new_capsule(ctypes.addressof(self.managed), name, None)
        return self.capsule

    def __dlpack_device__(self):
        return (self.managed.tensor.device_type, self.managed.tensor.device_id)


# ------------------------------------------------------------------------------------------------- import


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_import_shares_the_memory(dtype, versioned):
    data = np.arange(6).astype(dtype.numpy).reshape(2, 3)
    producer = Producer(data, versioned)
    a = tack.from_dlpack(producer)
    assert (a.dtype, a.shape, a.writable) == (dtype, (2, 3), True) and a.device is tack.get_default_device()
    assert a._buffer.address == data.ctypes.data and a._buffer.span == (data.ctypes.data, data.ctypes.data + data.nbytes)
    a[1, 2] = 50
    assert data[1, 2] == 50
    assert capsule_name(producer.capsule) == (b"used_dltensor_versioned" if versioned else b"used_dltensor")
    assert not versioned or producer.wishes == {"max_version": (1, 0)}


@pytest.mark.parametrize("versioned", [True, False])
def test_the_deleter_runs_once_after_the_last_view(versioned):
    producer = Producer(np.arange(10.0), versioned)
    a = tack.from_dlpack(producer)
    view, host = a[2:4], np.asarray(a)
    del a, producer.capsule
    gc.collect()
    assert producer.deleted == 0 and view[0] == 2
    del view
    gc.collect()
    assert producer.deleted == 0 and host[9] == 9
    del host
    gc.collect()
    assert producer.deleted == 1


def test_a_copy_gives_the_memory_back_at_once():
    producer = Producer(np.arange(4.0))
    a = tack.from_dlpack(producer, copy=True)
    gc.collect()
    assert producer.deleted == 1
    producer.data[:] = 9
    assert a.numpy().tolist() == [0, 1, 2, 3] and a.writable


def test_a_producer_without_a_deleter():
    producer = Producer(np.arange(4.0))
    producer.managed.deleter = Deleter(0)
    a = tack.from_dlpack(producer)
    assert a.sum() == 6
    del a
    gc.collect()


def test_read_only_flag_of_the_producer():
    a = tack.from_dlpack(Producer(np.arange(4.0), flags=1))
    assert not a.writable and not np.asarray(a).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        a.fill(0)
    assert tack.from_dlpack(Producer(np.arange(4.0), flags=2)).writable  # "is copied" says nothing about storing
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    assert not tack.from_dlpack(frozen).writable and tack.from_dlpack(frozen, copy=True).writable


def test_byte_offset_and_strides_of_extents_of_one():
    data = np.arange(24, dtype=np.float32)
    assert tack.from_dlpack(Producer(data, shape=(4,), byte_offset=20)).numpy().tolist() == [5, 6, 7, 8]
    a = tack.from_dlpack(Producer(data, shape=(1, 7), strides=(-99, 1)), copy=False)
    assert a._buffer.address == data.ctypes.data and a.numpy().tolist() == [list(range(7))]
    a = tack.from_dlpack(Producer(data, shape=(7, 1), strides=(1, 12345)), copy=False)
    assert a.shape == (7, 1)
    assert tack.from_dlpack(Producer(data, shape=(), strides=()))[()] == 0
    producer = Producer(data, shape=(3, 0, 2), strides=(7, 7, 7))
    producer.managed.tensor.data = None
    empty = tack.from_dlpack(producer, copy=False)
    assert empty.shape == (3, 0, 2) and empty.numpy().size == 0


@pytest.mark.parametrize("strides", [(2,), (-1,), (0,)], ids=str)
def test_strided_memory_is_copied_or_refused(strides):
    producer = Producer(np.arange(20.0), shape=(5,), strides=strides, byte_offset=32)
    want = [4 + strides[0] * k for k in range(5)]
    a = tack.from_dlpack(producer)
    assert a.numpy().tolist() == want and a.writable
    gc.collect()
    assert producer.deleted == 1
    with pytest.raises(BufferError, match="copy=None or copy=True"):
        tack.from_dlpack(producer, copy=False)
    assert producer.wishes == {"max_version": (1, 0), "copy": False}
    assert capsule_name(producer.capsule) == b"dltensor_versioned" and producer.deleted == 1


def test_views_of_numpy():
    base = np.arange(24, dtype=np.int16).reshape(4, 6)
    assert tack.from_dlpack(base[2:])._buffer.address == base[2:].ctypes.data
    for view in (base[:, ::2], base.T, base[::-1], base[1:, 2:4]):
        a = tack.from_dlpack(view)
        np.testing.assert_array_equal(a.numpy(), view)
        assert not np.shares_memory(np.asarray(a), base)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"code": 6, "bits": 8}, r"bool values are not converted.*\n  Convert it first: x.astype\(np.uint8\)"),
        ({"code": 2, "bits": 16}, r"float16 values are not converted.*\n  Convert it first: x.astype\(np.float32\)"),
        ({"code": 5, "bits": 64}, r"complex64 values cannot be array elements"),
        ({"code": 4, "bits": 16}, r"elements of bfloat16 are not supported\n  Convert them at the producer"),
        ({"code": 0, "bits": 4}, r"elements of int4 are not supported"),
        ({"code": 17, "bits": 8}, r"elements of DLPack-17-8 are not supported"),
        ({"code": 2, "bits": 32, "lanes": 4}, r"elements of 4 lanes of float32"),
    ],
    ids=str,
)
def test_other_elements_are_refused_and_stay_with_the_producer(fields, message):
    producer = Producer(np.zeros(4), **fields)
    with pytest.raises(TypeError, match=message):
        tack.from_dlpack(producer)
    assert capsule_name(producer.capsule) == b"dltensor_versioned" and producer.deleted == 0


def test_a_later_major_version_is_refused():
    producer = Producer(np.zeros(4), major=2)
    with pytest.raises(BufferError, match="DLPack version 2.0 is not supported"):
        tack.from_dlpack(producer)
    assert producer.deleted == 0


def test_memory_of_other_devices(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "hip", None)
    with pytest.raises(RuntimeError, match="Cannot start the 'hip' device"):
        tack.from_dlpack(Producer(np.zeros(4), device_type=10, device_id=1))
    with pytest.raises(BufferError, match="type 99"):
        tack.from_dlpack(Producer(np.zeros(4), device_type=99))
    assert tack.from_dlpack(Producer(np.ones(4), device_type=3)).sum() == 4  # pinned host memory


def test_what_is_no_producer():
    for thing in (3, [1.0], None, "x"):
        with pytest.raises(TypeError, match="takes an object with __dlpack__"):
            tack.from_dlpack(thing)
    producer = Producer(np.zeros(4))
    first = tack.from_dlpack(producer)
    producer.__class__ = type("Again", (Producer,), {"__dlpack__": lambda self, **_: self.capsule})
    with pytest.raises(BufferError, match="not an unconsumed DLPack capsule"):
        tack.from_dlpack(producer)
    assert first.shape == (4,)


def test_errors_of_the_producer_are_its_own():
    class Broken:
        def __dlpack__(self, **wishes):
            raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        tack.from_dlpack(Broken())


def test_array_reads_producers_too():
    data = np.arange(6, dtype=np.int64).reshape(2, 3)
    a = tack.array(Producer(data))
    assert a.dtype is tack.i64 and not np.shares_memory(np.asarray(a), data)
    assert tack.array(Producer(data), dtype=tack.f32).dtype is tack.f32
    np.testing.assert_array_equal(tack.array(Producer(data, shape=(2,), strides=(3,))).numpy(), [0, 3])


def test_device_of_an_import():
    serial = tack.device("cpu", num_threads=1)
    assert tack.from_dlpack(np.ones(3), device=serial).device is serial
    with serial:
        assert tack.from_dlpack(np.ones(3)).device is serial


# ------------------------------------------------------------------------------------------------- export


def managed(array, form, **wishes):
    capsule = array.__dlpack__(**wishes)
    name = {Versioned: b"dltensor_versioned", Legacy: b"dltensor"}[form]
    assert capsule_name(capsule) == name
    return capsule, form.from_address(capsule_pointer(capsule, name))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_capsules_describe_the_array(dtype):
    a = tack.ones((2, 3), dtype)[1:]
    for form, wishes in ((Legacy, {}), (Legacy, {"max_version": (0, 8)}), (Versioned, {"max_version": (1, 0)})):
        capsule, content = managed(a, form, **wishes)
        tensor = content.tensor
        assert tensor.data + tensor.byte_offset == a._buffer.address and tensor.ndim == 2
        assert list((ctypes.c_int64 * 2).from_address(tensor.shape)) == [1, 3]
        assert (tensor.device_type, tensor.device_id) == CPU == a.__dlpack_device__()
        code = {"i": 0, "u": 1, "f": 2}[dtype.numpy.kind]
        assert (tensor.code, tensor.bits, tensor.lanes) == (code, 8 * dtype.itemsize, 1)
        if form is Versioned:
            assert content.major == 1 and content.flags == 0
        del capsule
    capsule, content = managed(a, Versioned, max_version=(3, 1))
    assert content.major == 1


def test_round_trip_shares_memory():
    for shape in ((5,), (2, 3), (), (0, 4), (1, 7), (7, 1)):
        a = tack.ones(shape, tack.i32)
        b = tack.from_dlpack(a)
        assert b.shape == shape and b._buffer.address == a._buffer.address
        host = np.from_dlpack(a)
        assert host.shape == shape and (not host.size or host.__array_interface__["data"][0] == a._buffer.address)


def test_an_export_keeps_the_array_and_lets_go():
    for consume in (np.from_dlpack, tack.from_dlpack, lambda a: a.__dlpack__(), lambda a: a.__dlpack__(max_version=(1, 0))):
        a = tack.full(50_000, 3)
        alive = weakref.ref(a)
        taken = consume(a)
        del a
        gc.collect()
        assert alive() is not None
        del taken
        gc.collect()
        assert alive() is None


def test_capsules_that_nobody_takes_while_an_exception_is_in_flight():
    def refuse(capsule):
        raise LookupError("not this one")

    for wishes in ({}, {"max_version": (1, 0)}):
        a = tack.ones(100)
        alive = weakref.ref(a)
        with pytest.raises(LookupError, match="not this one"):
            refuse(a.__dlpack__(**wishes))
        del a
        gc.collect()
        assert alive() is None


def test_read_only_exports():
    frozen = tack.from_dlpack(Producer(np.arange(4.0), flags=1))
    capsule, content = managed(frozen, Versioned, max_version=(1, 0))
    assert content.flags == 1
    assert not np.from_dlpack(frozen).flags.writeable and not tack.from_dlpack(frozen).writable
    with pytest.raises(BufferError, match="(?i)read-?only"):
        frozen.__dlpack__()  # the legacy form cannot say so


def test_copies_on_export():
    a = tack.arange(4)
    capsule, content = managed(a, Versioned, max_version=(1, 0), copy=True)
    assert content.tensor.data != a._buffer.address and content.flags & 2
    capsule, content = managed(a, Versioned, max_version=(1, 0), copy=False)
    assert content.tensor.data == a._buffer.address and content.flags == 0
    frozen = tack.from_dlpack(Producer(np.arange(4.0), flags=1))
    assert np.from_dlpack(frozen, copy=True).flags.writeable


def test_wishes_that_host_memory_cannot_grant():
    a = tack.ones(3)
    assert np.from_dlpack(a, device="cpu").sum() == 3 and a.__dlpack__(dl_device=CPU) is not None
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream=None"):
        a.__dlpack__(stream=1)
