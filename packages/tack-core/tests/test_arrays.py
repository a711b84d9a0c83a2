"""Arrays on the host side: elements and views, copies and conversions, reductions, NumPy's protocols, and every refusal."""

import asyncio
import copy
import gc
import math
import pickle
import sys
import weakref

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES

FLOATS = (tack.f32, tack.f64)
INTS = tuple(t for t in DTYPES if t not in FLOATS)


def read_only(values):
    """An array over read-only memory."""
    host = np.array(values)
    host.flags.writeable = False
    return tack.from_dlpack(host)


# ------------------------------------------------------------------------------------------------- description


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4), (1, 1, 1, 1)], ids=str)
def test_attributes(dtype, shape):
    a = tack.zeros(shape, dtype)
    assert (a.dtype, a.shape, a.ndim) == (dtype, shape, len(shape))
    assert a.size == math.prod(shape) and a.nbytes == math.prod(shape) * dtype.itemsize
    assert a.writable and a.device is tack.get_default_device()
    assert a.numpy().dtype == dtype.numpy and a.numpy().shape == shape


def test_length():
    assert len(tack.zeros((3, 4))) == 3 and len(tack.zeros(0)) == 0
    with pytest.raises(TypeError, match=r"0-d array has no length"):
        len(tack.zeros(()))


@pytest.mark.parametrize("name", ["dtype", "shape", "ndim", "size", "nbytes", "device", "writable", "other"])
def test_description_cannot_be_assigned(name):
    a = tack.zeros(3)
    with pytest.raises(AttributeError):
        setattr(a, name, 1)


def test_storage_is_aligned_for_vector_code():
    for n in (0, 1, 7, 1000, 5000, 100_000):
        for make in (tack.empty, tack.zeros):
            a = make(n)
            assert a._buffer.address % 64 == 0
            assert a._buffer.span == (a._buffer.address, a._buffer.address + a.nbytes)


def test_equal_signatures_are_one_object():
    serial = tack.device("cpu", num_threads=1)
    a, b = tack.zeros((2, 3)), tack.ones((4, 5), device=serial)
    assert a._sig is b._sig and hash(a._sig) == hash(b._sig)
    assert a._sig is not tack.zeros(6)._sig and a._sig is not tack.zeros((2, 3), tack.f64)._sig
    assert tack.zeros((5, 2, 3))[0:1].reshape(2, 3)._sig is a._sig


def test_repr_shows_shape_dtype_device_and_a_few_values():
    text = repr(tack.arange(1000).reshape(10, 100))
    for part in ("(10, 100)", "tack.i32", "cpu", "0, 1, 2"):
        assert part in text
    assert "999" not in text and len(text) < 120
    assert repr(tack.zeros(0)) == "tack.Array([], shape=(0,), dtype=tack.f32, device=cpu)"
    assert "1.5" in repr(tack.array(1.5))


# ------------------------------------------------------------------------------------------------- elements


def test_elements_are_python_numbers():
    a = tack.array([[1, 2, 3], [4, 5, 6]])
    assert a[1, 2] == 6 and type(a[1, 2]) is int
    assert a[-1, -3] == 4 and a[np.int64(0), np.uint8(1)] == 2
    assert type(tack.ones(3)[0]) is float and tack.array(2.5)[()] == 2.5
    assert tack.array([2**64 - 1])[0] == 2**64 - 1
    assert math.isnan(tack.array([float("nan")])[0])


def test_elements_are_stored():
    a = tack.zeros((2, 3), tack.i16)
    a[1, 2], a[-2, 0], a[0, np.int32(1)] = 7, -3, True
    np.testing.assert_array_equal(a.numpy(), [[-3, 1, 0], [0, 0, 7]])
    x = tack.zeros(())
    x[()] = np.float64(1.5)
    assert x[()] == 1.5


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        (0, (2, 3)),
        ((0, 1, 2), (2, 3)),
        ((slice(0, 1), 0), (2, 3)),
        ((0, slice(0, 1)), (2, 3)),
        (..., (4,)),
        (None, (4,)),
        (1.0, (4,)),
        (True, (4,)),
        (np.True_, (4,)),
        ([0, 1], (4,)),
        (np.array([0, 1]), (4,)),
        ("x", (4,)),
        ((), (4,)),
        (0, ()),
    ],
    ids=str,
)
def test_other_indices_are_refused_with_what_to_use(index, shape):
    a = tack.zeros(shape)
    for use in (lambda: a[index], lambda: a.__setitem__(index, 1)):
        with pytest.raises(IndexError) as error:
            use()
        assert "a.numpy()[...]" in str(error.value) and str(shape) in str(error.value)
    assert a.sum() == 0


@pytest.mark.parametrize("index", [3, -4, 2**70])
def test_indices_out_of_bounds(index):
    a = tack.zeros(3)
    with pytest.raises(IndexError, match=rf"index {index} is out of bounds for extent 3"):
        a[index]
    with pytest.raises(IndexError, match="out of bounds"):
        a[index] = 1
    with pytest.raises(IndexError, match="out of bounds"):
        tack.zeros((2, 3))[0, index]


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_a_number_that_the_dtype_cannot_hold_is_not_stored(dtype):
    a = tack.ones(4, dtype)
    for value in (dtype.max + 1, dtype.min - 1, 2**70, 1.5, float("nan"), float("inf"), float(2**64)):
        with pytest.raises(OverflowError, match=f"{dtype} cannot hold"):
            a.fill(value)
        with pytest.raises(OverflowError, match=f"{dtype} cannot hold"):
            a[0] = value
    assert a.numpy().tolist() == [1] * 4
    for value in (dtype.max, dtype.min, 3.0, np.int8(5), np.float32(6.0), False):
        a.fill(value)
        a[0] = value
        assert a.numpy().tolist() == [int(value)] * 4


def test_floats_are_filled_with_the_nearest_value():
    a = tack.zeros(2)
    for value in (1e300, -1e300, 10**400, np.float64(1e39)):
        with pytest.raises(OverflowError, match="f32 cannot hold"):
            a.fill(value)
    for value in (float("inf"), -0.0, 1e-300, 0.1, 2**24 + 1, 2**60 + 2**36 + 1, np.longdouble(1.5)):
        a.fill(value)
        want = np.float32(value) if isinstance(value, float) else np.asarray(value).astype(np.float32)
        assert a.numpy().tobytes() == np.full(2, want).tobytes()
    a.fill(float("nan"))
    assert np.isnan(a.numpy()).all()
    for value in ("1", None, [1, 2], 1j, np.complex64(1)):
        with pytest.raises(TypeError, match="expected a number"):
            a.fill(value)


def test_iteration():
    assert list(tack.array([1, 2, 3])) == [1, 2, 3] and 2 in tack.array([1, 2, 3])
    with pytest.raises(TypeError, match="only 1-d arrays are iterable"):
        list(tack.zeros((2, 2)))


# ------------------------------------------------------------------------------------------------- views


def test_a_slice_of_rows_shares_storage():
    base = np.arange(12, dtype=np.int32).reshape(4, 3)
    a = tack.array(base)
    view = a[1:3]
    np.testing.assert_array_equal(view.numpy(), base[1:3])
    assert view._buffer.address == a._buffer.address + 12 and view._buffer.span[1] == view._buffer.address + 24
    view[0, 0] = 99
    assert a[1, 0] == 99
    a.fill(5)
    assert view.numpy().tolist() == [[5] * 3] * 2


@pytest.mark.parametrize(
    "rows", [slice(None), slice(2), slice(1, None, 1), slice(-2, None), slice(3, 1), slice(9, 12), slice(0, 0)]
)
def test_slices_have_pythons_meaning(rows):
    base = np.arange(5.0)
    np.testing.assert_array_equal(tack.array(base)[rows].numpy(), base[rows])
    grid = np.arange(10.0).reshape(5, 2)
    np.testing.assert_array_equal(tack.array(grid)[rows].numpy(), grid[rows])


@pytest.mark.parametrize("step", [2, -1, 0])
def test_a_slice_with_a_step_is_refused(step):
    with pytest.raises(IndexError, match=r"tack.array\(a.numpy\(\)\[lo:hi:step\]\)"):
        tack.zeros(5)[::step]


def test_a_slice_stores_nothing():
    a = tack.zeros(5)
    with pytest.raises(IndexError, match=r"tack.copyto\(a\[lo:hi\], values\)"):
        a[1:3] = 1
    tack.copyto(a[1:3], 1)
    assert a.numpy().tolist() == [0, 1, 1, 0, 0]
    with pytest.raises(IndexError, match="0-d"):
        tack.zeros(())[:]


def test_reshape_is_a_view():
    a = tack.arange(12)
    for shape in ((3, 4), (-1, 6), (2, -1, 2), (12, 1), [4, 3], np.array([2, 6])):
        view = a.reshape(shape)
        np.testing.assert_array_equal(view.numpy(), a.numpy().reshape(shape))
        assert view._buffer.span == a._buffer.span
    assert a.reshape(3, 4).shape == (3, 4) and a.reshape(-1).shape == (12,) and a.reshape(np.int64(12)).shape == (12,)
    a.reshape(3, 4)[1, 1] = 77
    assert a[5] == 77 and a.reshape(2, 6).ravel().shape == (12,)
    assert tack.ones(1).reshape(()).shape == () and tack.ones(()).ravel().shape == (1,)
    assert tack.zeros((0, 3)).reshape(5, 0).shape == (5, 0) and tack.zeros((0, 3)).ravel().shape == (0,)


@pytest.mark.parametrize("shape", [(5,), (-1, -1), (-1, 5), (0, -1), (-2, -6), (2**40, 2**40)], ids=str)
def test_reshape_to_another_size_is_refused(shape):
    with pytest.raises(ValueError, match=r"shape"):
        tack.arange(12).reshape(shape)


def test_views_keep_the_storage():
    a = tack.arange(100_000)
    view = a[10:20].reshape(2, 5)
    del a
    gc.collect()
    noise = [tack.full(100_000, 9) for _ in range(5)]
    assert view.numpy().tolist() == [[10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]
    del noise


# ------------------------------------------------------------------------------------------------- copies


def test_copies_are_independent():
    a = tack.arange(4)
    for other in (a.copy(), copy.copy(a), copy.deepcopy(a), a.astype(tack.i32), tack.array(a)):
        assert other.dtype is tack.i32 and other.device is a.device
        other.fill(9)
    assert a.numpy().tolist() == [0, 1, 2, 3]
    host = a.numpy()
    host[:] = 9
    assert a.numpy().tolist() == [0, 1, 2, 3]
    assert read_only([1.0, 2.0]).copy().writable


def test_arrays_are_not_pickled():
    with pytest.raises(TypeError, match=r"a\.numpy\(\)"):
        pickle.dumps(tack.zeros(3))


@pytest.mark.rule("T4")
@pytest.mark.parametrize("source", INTS, ids=str)
@pytest.mark.parametrize("target", INTS, ids=str)
def test_integers_convert_modulo(source, target):
    values = sorted(
        {v for v in (0, 1, -1, 5, source.min, source.max, source.min + 1, 127, 128, 255) if source.min <= v <= source.max}
    )
    bits = 8 * target.itemsize
    want = [(v - target.min) % 2**bits + target.min for v in values]
    a = tack.array(np.array(values, source.numpy))
    assert a.astype(target).numpy().tolist() == want
    out = tack.zeros(len(values), target)
    tack.copyto(out, a)
    assert out.numpy().tolist() == want


@pytest.mark.rule("T9")
@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", INTS, ids=str)
def test_floats_convert_to_integers_saturating(source, target):
    edges = [float(target.min), float(target.max), float(target.max) + 1]
    values = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 1e30, -1e30, float("inf"), float("-inf"), float("nan"), 100.75, *edges]
    values = np.array(values + [np.nextafter(source.numpy.type(e), source.numpy.type(0)) for e in edges], source.numpy)
    want = [0 if v != v else max(target.min, min(target.max, int(max(-(2.0**70), min(2.0**70, v))))) for v in values.tolist()]
    assert tack.array(values).astype(target).numpy().tolist() == want
    out = tack.zeros(len(values), target)
    tack.copyto(out, values)
    assert out.numpy().tolist() == want
    tack.copyto(out, values.tolist() if source is tack.f64 else values)
    assert out.numpy().tolist() == want
    tack.copyto(out, source.numpy.type(1e30))
    assert out.numpy().tolist() == [target.max] * len(values)


@pytest.mark.rule("T9")
def test_other_conversions():
    assert tack.array([2**24 + 1, -(2**31)]).astype(tack.f32).numpy().tolist() == [2.0**24, -(2.0**31)]
    assert tack.array([2**64 - 1], dtype=tack.u64).astype(tack.f32)[0] == 2.0**64
    assert tack.array(np.array([1e300, -1e300, 0.1])).astype("f4").numpy().tolist() == [
        math.inf,
        -math.inf,
        float(np.float32(0.1)),
    ]
    assert tack.array([0.1]).astype(float)[0] == float(np.float32(0.1))
    assert tack.array([1]).astype(np.dtype("int8")).dtype is tack.i8


def test_copyto_takes_arrays_lists_and_numbers():
    a = tack.zeros((2, 3), tack.i32)
    for source in ([[1, 2, 3], [4, 5, 6]], np.arange(6).reshape(2, 3), tack.arange(6).reshape(2, 3), np.zeros((3, 2)).T):
        tack.copyto(a, source)
        np.testing.assert_array_equal(a.numpy(), np.asarray(source))
    for number, want in ((7, 7), (2.9, 2), (np.uint8(200), 200), (True, 1), (-(2**31) - 1, 2**31 - 1), (float("nan"), 0)):
        tack.copyto(a, number)
        assert a.numpy().tolist() == [[want] * 3] * 2
    tack.copyto(tack.zeros((0, 3)), np.zeros((0, 3)))


def test_copyto_converts_what_needs_asking_elsewhere():
    a = tack.zeros(2)
    for source in (
        np.array([True, False]),
        np.array([1, 0], np.float16),
        np.array([1, 0], ">i8"),
        np.array([1, 0], np.longdouble),
    ):
        tack.copyto(a, source)
        assert a.numpy().tolist() == [1, 0]
        a.fill(9)
    for source in (np.array([1j, 2]), np.array([1, "x"], object), np.array(["1", "2"]), ["a", "b"], [None, 1]):
        with pytest.raises(TypeError, match="cannot be array elements"):
            tack.copyto(a, source)
    assert a.numpy().tolist() == [9, 9]


@pytest.mark.parametrize(
    "source", [[1, 2], [[1, 2, 3]], np.zeros((3, 2)), np.zeros(6), np.zeros(()), np.zeros((1, 2, 3))], ids=repr
)
def test_copyto_wants_the_exact_shape(source):
    a = tack.ones((2, 3))
    with pytest.raises(ValueError, match=r"shape .* does not fit .*\(2, 3\)"):
        tack.copyto(a, source)
    assert a.sum() == 6


@pytest.mark.parametrize("dtype", [tack.i32, tack.f64], ids=str)
def test_copyto_of_overlapping_arrays_goes_as_if_through_a_temporary(dtype):
    for to, start in ((1, 0), (0, 1), (3, 1)):
        a = tack.arange(10_000, dtype=dtype)
        want = a.numpy()
        want[to : to + 9000] = want[start : start + 9000].copy()
        tack.copyto(a[to : to + 9000], a[start : start + 9000])
        np.testing.assert_array_equal(a.numpy(), want)
    a = tack.arange(6, dtype=dtype)
    tack.copyto(a, a.view_numpy()[::-1])
    assert a.numpy().tolist() == [5, 4, 3, 2, 1, 0]


def test_copyto_stores_into_arrays_only():
    with pytest.raises(TypeError, match=r"dst\[...\] = a.numpy\(\)"):
        tack.copyto(np.zeros(3), tack.ones(3))


def test_read_only_arrays_take_no_host_writes():
    a = read_only([1.0, 2.0, 3.0])
    assert not a.writable and not a[1:].writable and not a.reshape(3, 1).writable
    for write in (
        lambda: a.fill(1),
        lambda: a.__setitem__(0, 1),
        lambda: a[1:].fill(1),
        lambda: tack.copyto(a, [4.0, 5.0, 6.0]),
        lambda: tack.copyto(a, 1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert a.numpy().tolist() == [1, 2, 3]


@pytest.mark.spec("back-017", "back-023", "back-035")
def test_to_device_returns_the_array_where_its_memory_is_usable():
    serial = tack.device("cpu", num_threads=1)
    a = tack.arange(3)
    assert a.to_device(serial) is a and a.to_device("cpu") is a and a.to_device(a.device) is a
    b = tack.arange(3, device=serial)
    assert b.device is serial and b.to_device("cpu") is b and b.copy().device is serial and b[1:].device is serial
    assert b.sum() == 3
    with pytest.raises(ValueError, match="unknown device"):
        a.to_device("gpu")


# ------------------------------------------------------------------------------------------------- NumPy


def test_numpy_gives_copies_and_asarray_views():
    a = tack.arange(6).reshape(2, 3)
    for view in (np.asarray(a), a.view_numpy(), np.array(a, copy=False)):
        assert view.__array_interface__["data"][0] == a._buffer.address and view.flags.writeable
        view[0, 0] += 1
    assert a[0, 0] == 3
    for made in (a.numpy(), np.array(a), np.asarray(a, dtype=np.float64)):
        assert not np.shares_memory(made, a.view_numpy())
        np.testing.assert_array_equal(made, a.view_numpy())
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    assert a.__array__(np.float64).dtype == np.float64 and np.shares_memory(a.__array__(), a.view_numpy())
    with pytest.raises(ValueError, match="copy"):
        a.__array__(np.float64, copy=False)
    np.testing.assert_array_equal(np.add(a, 1), a.numpy() + 1)


def test_views_of_numpy_keep_the_array_and_its_read_only_flag():
    for take in (np.asarray, lambda a: a.view_numpy()):
        a = tack.full(100_000, 7, tack.i32)
        alive = weakref.ref(a)
        view = take(a)
        del a
        gc.collect()
        assert alive() is not None and (view == 7).all()
        del view
        gc.collect()
        assert alive() is None
        view = take(read_only([1, 2]))
        assert not view.flags.writeable and view.tolist() == [1, 2]


def test_array_interface_describes_any_shape():
    for shape in ((), (0,), (2, 0), (3, 1, 2)):
        a = tack.zeros(shape, tack.u16)
        assert np.asarray(a).shape == shape and np.asarray(a).dtype == np.uint16


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes export buffers from Python 3.12 on")
def test_buffer_protocol():
    a = tack.arange(6).reshape(2, 3)
    view = memoryview(a)
    assert view.shape == (2, 3) and view.format == "i" and view.tolist() == [[0, 1, 2], [3, 4, 5]]
    view[0, 0] = 9
    assert a[0, 0] == 9
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is not None and view[1, 2] == 5
    frozen = read_only([1.0])
    assert memoryview(frozen).readonly
    with pytest.raises(BufferError, match="read-only"):
        frozen.__buffer__(1)


def test_numpy_async():
    async def main():
        return await tack.arange(4).numpy_async()

    np.testing.assert_array_equal(asyncio.run(main()), [0, 1, 2, 3])


def test_host_memory_has_no_handle():
    with pytest.raises(RuntimeError, match="only CUDA memory"):
        tack.zeros(3).export_memory()


# ------------------------------------------------------------------------------------------------- reductions


@pytest.mark.spec("back-023")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype):
    values = np.array([[3, 1, 2], [9, 100, 5]], dtype.numpy)
    a = tack.array(values)
    number = float if dtype in FLOATS else int
    assert (a.sum(), a.min(), a.max(), a.mean()) == (120, 1, 100, 20.0)
    assert {type(a.sum()), type(a.min()), type(a.max())} == {number} and type(a.mean()) is float
    one = tack.array(values[0, :1]).reshape(())
    assert (one.sum(), one.min(), one.max(), one.mean()) == (3, 3, 3, 3.0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions_without_elements(dtype):
    a = tack.zeros((3, 0), dtype)
    assert a.sum() == 0 and type(a.sum()) is (float if dtype in FLOATS else int)
    assert math.isnan(a.mean())
    for call in (a.min, a.max):
        with pytest.raises(ValueError, match="without elements"):
            call()


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_sums_are_exact_modulo_64_bits(dtype):
    values = np.full(1000, dtype.max, dtype.numpy)
    exact = 1000 * dtype.max
    want = exact % 2**64 if dtype.min == 0 else (exact + 2**63) % 2**64 - 2**63
    assert tack.array(values).sum() == want
    assert tack.array(np.array([dtype.min, dtype.max, dtype.min], dtype.numpy)).min() == dtype.min


def test_nan_and_infinities_propagate():
    for dtype in FLOATS:
        a = tack.array([1.0, float("nan"), -5.0], dtype=dtype)
        assert all(map(math.isnan, (a.min(), a.max(), a.sum(), a.mean())))
        assert math.isnan(tack.array([math.inf, -math.inf], dtype=dtype).sum())
        assert tack.array([math.inf, 1.0], dtype=dtype).max() == math.inf


def test_f32_sums_do_not_drift():
    values = np.random.default_rng(1).random(1_000_000).astype(np.float32)
    want = math.fsum(values.tolist())
    assert abs(tack.array(values).sum() - want) < 1e-6 * want
    assert abs(tack.array(values.reshape(1000, 1000)).mean() - want / 1e6) < 1e-6
    assert tack.array(np.array([3e38, 3e38], np.float32)).mean() == pytest.approx(3e38)
