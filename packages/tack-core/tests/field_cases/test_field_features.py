"""Things people asked for, as far as Tack's documents promise them."""

import numpy as np
import pytest
from field_tools import runs

import tack

ALL = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]


# F01: atomics on every array type the CPU has


@tack.kernel
def count(one, out):
    for i in range(one.shape[0]):
        tack.atomic_add(out, 0, one[i])


@pytest.mark.parametrize("dtype", ALL)
def test_atomic_add_counts_every_iteration(dtype):
    n = 20_000
    out = tack.array(np.zeros(1, dtype=dtype))
    count(tack.array(np.ones(n, dtype=dtype)), out)
    want = np.array([n]).astype(dtype)[0]
    assert out.numpy()[0] == want


@tack.kernel
def histogram(x, bins):
    for i in range(x.shape[0]):
        tack.atomic_add(bins, x[i], 1)


def test_histogram():
    x = np.random.default_rng(3).integers(0, 7, 100_000).astype(np.int32)
    for dtype in (np.int32, np.int64, np.uint32):
        bins = tack.array(np.zeros(7, dtype=dtype))
        histogram(tack.array(x), bins)
        np.testing.assert_array_equal(bins.numpy(), np.bincount(x, minlength=7))


# F03: two and three indices


@tack.kernel
def transpose(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[j, i] = a[i, j] + i * 1000 + j


def test_two_indices():
    for shape in ((3, 5), (5, 3), (1, 9), (64, 33), (3, 5)):
        a = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        out = tack.array(np.zeros(shape[::-1], dtype=np.int32))
        transpose(tack.array(a), out)
        i, j = np.indices(shape)
        np.testing.assert_array_equal(out.numpy(), (a + i * 1000 + j).T)


@tack.kernel
def blend(a, out):
    for i, j, k in tack.ndindex(a.shape[0], a.shape[1], a.shape[2]):
        out[i, j, k] = a[i, j, k] * 2.0 + k


def test_three_indices():
    a = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    out = tack.array(np.zeros_like(a))
    if runs(blend, tack.array(a), out):
        np.testing.assert_array_equal(out.numpy(), a * 2 + np.arange(4))


# F04: group primitives on a device without groups


def test_group_primitives_are_refused_on_the_cpu():
    @tack.kernel
    def grouped(x, out):
        for i in range(x.shape[0]):
            if x[i] > 1e30:
                tack.barrier()
            out[i] = x[i]

    x = tack.array(np.arange(4, dtype=np.float32))
    out = tack.array(np.full(4, 9.0, dtype=np.float32))
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            grouped(x, out)
        assert "grouped" in str(caught.value)
        assert out.numpy().tolist() == [9.0] * 4
    with pytest.raises(NotImplementedError):
        tack.inspect(grouped, x, out, mode="source")


# F05: seeing what was generated does not run it


@tack.kernel
def plain(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + 1.0


def test_inspect_shows_and_does_not_run():
    x = tack.array(np.arange(4, dtype=np.float32))
    out = tack.array(np.full(4, 9.0, dtype=np.float32))
    text = tack.inspect(plain, x, out, mode="source")
    assert isinstance(text, str) and text.strip()
    assert out.numpy().tolist() == [9.0] * 4
    plain(x, out)
    assert out.numpy().tolist() == [1, 2, 3, 4]


# F02: device functions that give two values, and that call each other


@tack.func
def split(v):
    return v // 10, v % 10


@tack.kernel
def digits(x, tens, ones):
    for i in range(x.shape[0]):
        t, o = split(x[i])
        tens[i] = t
        ones[i] = o


def test_two_results():
    tens, ones = (tack.array(np.zeros(4, dtype=np.int32)) for _ in range(2))
    if runs(digits, tack.array(np.array([42, 7, 90, -3], dtype=np.int32)), tens, ones):
        assert tens.numpy().tolist() == [4, 0, 9, -1]
        assert ones.numpy().tolist() == [2, 7, 0, 7]


@tack.kernel
def swap(a, b):
    for i in range(a.shape[0]):
        a[i], b[i] = b[i], a[i]


def test_swap_in_one_statement():
    a, b = (tack.array(np.arange(4, dtype=np.float32) + k) for k in (0, 100))
    if runs(swap, a, b):
        assert a.numpy().tolist() == [100, 101, 102, 103]
        assert b.numpy().tolist() == [0, 1, 2, 3]
