"""The functions that make arrays: which dtype comes out, what is copied, and what is refused in which words."""

import array as python_array
import gc
import math
import weakref

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES

REFUSED = {
    "bool": (np.zeros(2, bool), "dtype=tack.u8, or x.astype(np.uint8)"),
    "float16": (np.zeros(2, np.float16), "dtype=tack.f32, or x.astype(np.float32)"),
    "longdouble": (np.zeros(2, np.longdouble), "dtype=tack.f64, or x.astype(np.float64)"),
    "big-endian float32": (np.zeros(2, ">f4"), "dtype=tack.f32, or x.astype(np.float32)"),
    "big-endian int64": (np.zeros(2, ">i8"), "dtype=tack.i64, or x.astype(np.int64)"),
    "big-endian float16": (np.zeros(2, ">f2"), "dtype=tack.f32, or x.astype(np.float32)"),
    "list of bool": ([True, False], "dtype=tack.u8"),
}
NEVER = {
    "complex64": (np.zeros(2, np.complex64), "x.real, x.imag or abs(x)"),
    "complex128": ([1j, 2.0], "x.real, x.imag or abs(x)"),
    "object": (np.array([1, None], object), "x.astype(np.float64)"),
    "None": (None, "x.astype(np.float64)"),
    "<U1": (["a"], "x.astype(np.float64)"),
    "bytes": (b"abc", "np.frombuffer(x, np.uint8)"),
    "datetime64": (np.zeros(2, "M8[s]"), "x.astype(np.int64)"),
    "structured": (np.zeros(2, [("x", "f4")]), "x['name']"),
    "generator": ((i for i in range(3)), "x.astype(np.float64)"),
}


def same(a, want, dtype):
    assert a.dtype is dtype and a.shape == np.shape(want)
    np.testing.assert_array_equal(a.numpy(), np.asarray(want))


# ------------------------------------------------------------------------------------------------- array


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        ([1, 2, 3], tack.i32),
        ([[1, -(2**31)], [2**31 - 1, 0]], tack.i32),
        ([1, 2**31], tack.i64),
        ([-(2**31) - 1], tack.i64),
        ([2**64 - 1, 0], tack.u64),
        ([1, 2.5], tack.f32),
        ([[0.5], [2]], tack.f32),
        ([], tack.f32),
        ([[], []], tack.f32),
        ((1, 2), tack.i32),
        (range(4), tack.i32),
        (7, tack.i32),
        (2**40, tack.i64),
        (1.5, tack.f32),
        ([True, 3], tack.i32),
        ([1, np.int8(2)], tack.i32),
        ([np.float64(0.1), 2.5], tack.f32),
        ([2.0**70, 1], tack.f32),
    ],
    ids=repr,
)
def test_plain_numbers_give_i32_or_f32(source, dtype):
    a = tack.array(source)
    assert a.dtype is dtype and a.shape == np.shape(source)
    np.testing.assert_array_equal(a.numpy(), np.asarray(source, dtype.numpy))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_input_keeps_its_dtype(dtype):
    values = np.array([[1, 2], [3, 4]], dtype.numpy)
    same(tack.array(values), values, dtype)
    same(tack.array(values[0, 0]), values[0, 0], dtype)
    same(tack.array(list(values)), values, dtype)
    same(tack.array([list(row) for row in values]), values, dtype)
    same(tack.array(tack.array(values)), values, dtype)
    same(tack.array([tack.array(row) for row in values]), values, dtype)
    same(tack.array(memoryview(values)), values, dtype)


def test_other_objects_that_numpy_reads():
    same(tack.array(python_array.array("d", [1.0, 2.0])), [1, 2], tack.f64)
    same(tack.array(bytearray(b"ab")), [97, 98], tack.u8)

    class Readable:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2], np.int16)

    same(tack.array(Readable()), [1, 2], tack.i16)


def test_strided_and_reversed_input_is_copied_right():
    base = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    for view in (base[::2], base[:, ::-1], base.T, base[:, 1:3, ::2], np.asfortranarray(base), base[::-1, ::-1, ::-1]):
        same(tack.array(view), view, tack.i16)
    wide = np.broadcast_to(np.float32(3), (4, 5))
    same(tack.array(wide), wide, tack.f32)
    records = np.zeros(3, [("a", "i1"), ("x", "f4")])
    records["x"] = 1, 2, 3
    same(tack.array(records["x"]), [1, 2, 3], tack.f32)
    assert not records["x"].flags.aligned


def test_input_is_copied_never_shared():
    host = np.arange(4, dtype=np.int32)
    a = tack.array(host)
    host[:] = 9
    assert a.numpy().tolist() == [0, 1, 2, 3]
    host.flags.writeable = False
    assert tack.array(host).writable


@pytest.mark.parametrize("name", REFUSED)
def test_input_that_is_converted_only_when_asked(name):
    source, remedy = REFUSED[name]
    with pytest.raises(TypeError) as error:
        tack.array(source)
    assert remedy in str(error.value)
    assert name.removeprefix("list of ") in str(error.value) or name == "longdouble"
    same(tack.array(source, dtype=tack.f64), np.asarray(source).astype(float), tack.f64)
    same(tack.array(source, dtype=tack.i8), np.asarray(source).astype(np.int8), tack.i8)


@pytest.mark.parametrize("name", NEVER)
def test_input_that_is_never_converted(name):
    source, remedy = NEVER[name]
    for dtype in (None, tack.f32):
        with pytest.raises(TypeError) as error:
            tack.array(source, dtype=dtype)
        assert remedy in str(error.value) and "cannot be array elements" in str(error.value)


@pytest.mark.parametrize("source", [[2**64], [2**63, -1], 2**70, [[1], [2**100]]], ids=str)
def test_integers_that_no_dtype_holds(source):
    for dtype in (None, tack.i32, tack.f32):
        with pytest.raises(TypeError, match="no integer dtype holds"):
            tack.array(source, dtype=dtype)


def test_masked_arrays():
    for call in (tack.array, lambda x: tack.copyto(tack.zeros(2), x)):
        with pytest.raises(TypeError, match=r"masked array .*\n  Give them one: x.filled\(value\)"):
            call(np.ma.masked_invalid([1.0, math.nan]))


def test_ragged_lists():
    with pytest.raises(ValueError, match="inhomogeneous"):
        tack.array([[1, 2], [3]])


@pytest.mark.rule("T4", "T9")
def test_values_convert_by_the_rules_of_the_language():
    same(tack.array([300, -1], dtype=tack.u8), [44, 255], tack.u8)
    same(tack.array([1e10, -2.7, math.nan], dtype=tack.i32), [2**31 - 1, -2, 0], tack.i32)
    same(tack.array(np.array([65504.0, np.inf], np.float16), dtype=tack.i16), [32767, 32767], tack.i16)
    same(tack.array(np.array([1, 2], ">u4"), dtype="u1"), [1, 2], tack.u8)


def test_zero_dimensional_arrays():
    a = tack.array(np.float64(2.5))
    assert a.shape == () and a[()] == 2.5 and a.dtype is tack.f64
    assert tack.array(np.array(3, np.int8)).shape == ()


# ------------------------------------------------------------------------------------------------- dtypes and shapes


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_numpy_dtype_serves_as_a_dtype(dtype):
    for spelling in (dtype, dtype.numpy, dtype.numpy.type, dtype.numpy.str, str(dtype.numpy)):
        assert tack.zeros(2, spelling).dtype is dtype
    assert tack.zeros(2, np.longlong).dtype is tack.i64 and tack.zeros(2, float).dtype is tack.f64


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (np.float16, "arrays of float16 are not supported\n  Use tack.f32."),
        (bool, "arrays of bool are not supported\n  Use tack.u8."),
        (">f8", "arrays of big-endian float64 are not supported\n  Use tack.f64."),
        (complex, "arrays of complex128 are not supported"),
        (object, "arrays of object are not supported"),
        (str, "arrays of <U0 are not supported"),
        ("f3", "'f3' is no dtype of arrays\n  Dtypes: tack.i8,"),
        (3, "3 is no dtype of arrays"),
        ("vec3", "'vec3' is no dtype of arrays"),
        ("f4, 3 x", "'f4, 3 x' is no dtype of arrays"),
    ],
    ids=repr,
)
def test_unsupported_dtypes_are_named_with_what_to_write(dtype, message):
    for call in (
        lambda: tack.zeros(2, dtype),
        lambda: tack.array([1], dtype=dtype),
        lambda: tack.zeros(2).astype(dtype),
        lambda: tack.array_from_ptr(0, dtype, 0),
        lambda: tack.empty_like(tack.zeros(2), dtype=dtype),
    ):
        with pytest.raises(TypeError) as error:
            call()
        assert message in str(error.value)


def test_weak_types_are_no_dtypes():
    from tack.ir.types import BOOL, WEAK_FLOAT

    for dtype in (BOOL, WEAK_FLOAT):
        with pytest.raises(TypeError, match="is no dtype of arrays"):
            tack.zeros(2, dtype)


@pytest.mark.parametrize("make", [tack.empty, tack.zeros, tack.ones, lambda shape: tack.full(shape, 1)])
def test_shapes(make):
    for shape in (3, np.int64(3), (3,), [3], np.array([3])):
        assert make(shape).shape == (3,) and make(shape).dtype is tack.f32
    for shape in ((), (0,), (2, 0, 3), (1,) * 8):
        assert make(shape).shape == shape
    for shape in (-1, (2, -1), np.array([-3])):
        with pytest.raises(ValueError, match="negative extent"):
            make(shape)
    for shape in (1.5, "ab", (1, 2.0), None, True, ((1, 2), 3)):
        with pytest.raises(TypeError, match="a shape is an int or a tuple of ints"):
            make(shape)
    for shape in (2**62, (2**40, 2**40), 2**100):
        with pytest.raises(MemoryError, match=r"no memory for \d+ bytes"):
            make(shape)


# ------------------------------------------------------------------------------------------------- filled and ranged


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_filled(dtype):
    same(tack.zeros((2, 3), dtype), np.zeros((2, 3)), dtype)
    same(tack.ones((2, 3), dtype), np.ones((2, 3)), dtype)
    same(tack.full((2, 3), 7, dtype), np.full((2, 3), 7), dtype)
    assert tack.empty((2, 3), dtype).dtype is dtype
    big = tack.zeros(100_000, dtype)
    assert not big.numpy().any()


def test_full_of_a_number_the_dtype_cannot_hold():
    with pytest.raises(OverflowError, match=r"tack.u8 cannot hold 256"):
        tack.full(3, 256, tack.u8)
    same(tack.full((), True), 1.0, tack.f32)


@pytest.mark.spec("back-016", "back-019")
def test_like():
    serial = tack.device("cpu", num_threads=1)
    a = tack.ones((2, 3), tack.i16, device=serial)
    for like in (tack.empty_like, tack.zeros_like, tack.ones_like, lambda x, **k: tack.full_like(x, 5, **k)):
        b = like(a)
        assert (b.dtype, b.shape, b.device) == (tack.i16, (2, 3), serial)
        b = like(a, dtype=tack.f64, shape=4, device="cpu")
        assert (b.dtype, b.shape, b.device) == (tack.f64, (4,), tack.device("cpu"))
        assert like(np.zeros((3, 1), np.uint16)).dtype is tack.u16
        assert like(np.zeros(2, bool), dtype=tack.u8).dtype is tack.u8
        assert like([1, 2]).dtype is tack.i32
        with pytest.raises(TypeError, match="dtype=tack.u8"):
            like(np.zeros(2, bool))
    assert tack.zeros_like(a).sum() == 0 and tack.ones_like(a).sum() == 6 and tack.full_like(a, 5).max() == 5


@pytest.mark.parametrize("args", [(5,), (0,), (-3,), (2, 9), (2, 9, 3), (9, 2, -2), (5, 1), (0, 10, 100), (-4, 4)], ids=str)
def test_arange_of_integers(args):
    same(tack.arange(*args), np.arange(*args), tack.i32)
    same(tack.arange(*map(np.int16, args)), np.arange(*args), tack.i32)
    for dtype in (tack.f32, tack.f64, tack.i8, tack.i64):
        same(tack.arange(*args, dtype=dtype), np.arange(*args), dtype)


def test_arange_of_large_integers():
    same(tack.arange(2**31 - 2, 2**31), [2**31 - 2, 2**31 - 1], tack.i32)
    same(tack.arange(2**31 - 1, 2**31 + 1), [2**31 - 1, 2**31], tack.i64)
    same(tack.arange(-(2**63), 2**63 - 1, 2**62), [-(2**63), -(2**62), 0, 2**62], tack.i64)
    same(tack.arange(2**64 - 2, 2**64), np.array([2**64 - 2, 2**64 - 1], np.uint64), tack.u64)
    same(tack.arange(2**64 - 1, 2**64 - 3, -1, dtype=tack.f64), [2.0**64, 2.0**64], tack.f64)
    for args, dtype in (((300,), tack.u8), ((-1, 3), tack.u64), ((2**64, 2**64 + 2), None), ((-1, 2**64, 2**60), None)):
        with pytest.raises(OverflowError, match="cannot hold the values from"):
            tack.arange(*args, dtype=dtype)


def test_arange_of_floats():
    for args in ((1.0,), (0, 1, 0.1), (1.5, -1, -0.25), (3.0, 1.0), (np.float32(0), 2, np.float32(0.5))):
        want = np.arange(*map(float, args))
        same(tack.arange(*args), want.astype(np.float32), tack.f32)
        same(tack.arange(*args, dtype=tack.f64), want, tack.f64)
    same(tack.arange(0, 3, 0.75, dtype=tack.i32), [0, 0, 1, 2], tack.i32)
    for step in (0, 0.0):
        with pytest.raises(ValueError, match="the step is zero"):
            tack.arange(1, 2, step)
    with pytest.raises(ValueError, match="(?i)arange|maximum allowed size"):
        tack.arange(0.0, math.nan)


def test_linspace():
    for args in ((0, 1), (2.0, -1.0, 7), (0, 1, 1), (0, 1, 0), (0, 1, 5, False)):
        want = np.linspace(*args)
        same(tack.linspace(*args), want.astype(np.float32), tack.f32)
        same(tack.linspace(*args, dtype=tack.f64), want, tack.f64)
    a, step = tack.linspace(0, 1, 5, retstep=True)
    assert step == 0.25 and a.shape == (5,)
    same(tack.linspace(-2, 2, 6, dtype=tack.i32), np.linspace(-2, 2, 6, dtype=np.int32), tack.i32)
    with pytest.raises(ValueError, match="non-negative"):
        tack.linspace(0, 1, -1)


# ------------------------------------------------------------------------------------------------- joined


def test_concatenate_and_stack():
    parts = [np.arange(6).reshape(2, 3), np.zeros((0, 3), int), np.arange(9).reshape(3, 3)]
    same(tack.concatenate([tack.array(p) for p in parts]), np.concatenate(parts), tack.i64)
    same(tack.concatenate((tack.arange(3),)), np.arange(3), tack.i32)
    same(tack.stack([tack.array(p) for p in parts[:1] * 3]), np.stack(parts[:1] * 3), tack.i64)
    same(tack.stack([tack.array(1), tack.array(2)]), [1, 2], tack.i32)
    serial = tack.device("cpu", num_threads=1)
    assert tack.concatenate([tack.ones(2), tack.ones(3, device=serial)], device=serial).device is serial
    assert tack.stack([tack.ones(2, device=serial)] * 2).device is serial


def test_what_cannot_be_joined():
    mixed = [tack.ones(2), tack.ones(2, tack.f64)]
    for join in (tack.concatenate, tack.stack):
        with pytest.raises(TypeError, match=r"dtypes tack.f32, tack.f64 differ\n  Write a.astype\(tack.f32\)"):
            join(mixed)
        with pytest.raises(TypeError, match=r"takes Tack arrays, not ndarray\n  Write tack.array"):
            join([np.ones(2)])
        with pytest.raises(ValueError, match="at least one array"):
            join([])
    with pytest.raises(ValueError, match="differ in more than the leading axis"):
        tack.concatenate([tack.ones((2, 3)), tack.ones((2, 4))])
    with pytest.raises(ValueError, match="differ in more than the leading axis"):
        tack.concatenate([tack.ones(2), tack.ones(())])
    with pytest.raises(ValueError, match="0-d array"):
        tack.concatenate([tack.ones(())])
    with pytest.raises(ValueError, match=r"stack: shapes \(2,\), \(3,\) differ"):
        tack.stack([tack.ones(2), tack.ones(3)])


# ------------------------------------------------------------------------------------------------- foreign memory


def test_array_from_ptr_wraps_memory():
    host = np.arange(6, dtype=np.float64)
    a = tack.array_from_ptr(host.ctypes.data, tack.f64, (2, 3), writable=True, owner=host)
    np.testing.assert_array_equal(a.numpy(), host.reshape(2, 3))
    a[1, 2] = 50
    assert host[5] == 50 and a._buffer.span == (host.ctypes.data, host.ctypes.data + 48)
    assert a._buffer.owner is host and a[1:]._buffer.owner is host
    frozen = tack.array_from_ptr(host.ctypes.data, "f8", 6)
    assert not frozen.writable and not np.asarray(frozen).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        frozen.fill(0)
    assert tack.memory_space(host.ctypes.data) == "cpu"


def test_array_from_ptr_keeps_its_owner_and_lets_go():
    host = np.arange(50_000, dtype=np.int32)
    alive = weakref.ref(host)
    a = tack.array_from_ptr(host.ctypes.data, tack.i32, 50_000, owner=host)
    view = a[100:200]
    del host, a
    gc.collect()
    assert alive() is not None and view[0] == 100
    del view
    gc.collect()
    assert alive() is None


def test_array_from_ptr_of_unaligned_memory():
    raw = np.zeros(33, np.uint8)
    a = tack.array_from_ptr(raw.ctypes.data + 1, tack.f64, 4, writable=True, owner=raw)
    a.fill(2.5)
    a[3] = 1.0
    assert a.sum() == 8.5 and raw[1:].view(np.uint8).tobytes() == np.array([2.5, 2.5, 2.5, 1.0]).tobytes()


def test_array_from_ptr_refuses_what_is_no_address():
    for ptr in (0, -8, 2**64):
        with pytest.raises(ValueError, match="address"):
            tack.array_from_ptr(ptr, tack.f32, 3)
    assert tack.array_from_ptr(0, tack.f32, (0, 3)).shape == (0, 3)
    with pytest.raises(TypeError):
        tack.array_from_ptr("x", tack.f32, 3)
    with pytest.raises(ValueError, match="address"):
        tack.memory_space(-1)
