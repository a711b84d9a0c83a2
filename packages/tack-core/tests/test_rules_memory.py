"""Rules M1 to M4: indices, aliasing, read-only storage and unaligned arrays."""

import numpy as np
import pytest
from rule_tools import functions, kernel, of, refused, refuses, run, value

import tack
from tack.testing import kernel_from


def grid(shape, dtype=np.int64):
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


# ------------------------------------------------------------------------------------------------------ M1: indices


@pytest.mark.rule("M1")
@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_any_integer_is_an_index(name):
    dtype = np.dtype(f"{name[0]}{int(name[1:]) // 8}")
    a = grid((100,))
    index = np.array([0, 5, 99], dtype)
    k = kernel("out[i] = a[at[i]]\na[at[i]] = -1", "a, at, out")
    assert run(k, a, index, np.zeros(3, np.int64)).tolist() == [0, 5, 99]
    assert value("b[a[i] > 1]", of(np.int32, 0, 5), of(np.int64, 7, 8)) == [7, 8]  # a truth value counts as 0 or 1


@pytest.mark.rule("M1")
def test_index_arithmetic_is_64_bit():
    """300 as a u8 index sum would be 44; a sum of i32 wraps before it becomes an index, as any sum does."""
    a = grid((600,))
    k = kernel("out[i] = a[i + at[i]] + a[at[i] * 2 + i]", "a, at, out", "range(1)")
    k2 = kernel("out[0] = a[at[0] + n]", "a, at, n, out", "range(1)")
    assert run(k2, a, of(np.uint8, 200), 100, np.zeros(1, np.int64)).tolist() == [300]  # u8 + i32
    assert run(k, a, of(np.int64, 250), np.zeros(1, np.int64)).tolist() == [750]
    # the row offset: u8 row times the width would wrap at u8
    rows = kernel("out[i] = a[at[i], at[i]]", "a, at, out", "range(1)")
    b = grid((200, 300))
    assert run(rows, b, of(np.uint8, 150), np.zeros(1, np.int64)).tolist() == [150 * 300 + 150]


@pytest.mark.rule("M1")
@pytest.mark.parametrize("shape", [(4,), (4, 5), (4, 5, 3), (4, 5, 3, 2)])
def test_one_index_per_dimension(shape):
    names = "ijkl"[: len(shape)]
    sizes = ", ".join(f"a.shape[{d}]" for d in range(len(shape)))
    target = ", ".join(names) if len(names) > 1 else "i"
    at = ", ".join(names)
    text = f"@tack.kernel\ndef k(a, out):\n    for {target} in tack.ndindex({sizes}):\n        out[{at}] = a[{at}] * 2\n"
    a = grid(shape)
    assert run(kernel_from(text), a, np.zeros(shape, np.int64)).tolist() == (a * 2).tolist()
    last = kernel("out[0] = a[" + ", ".join(str(n - 1) for n in shape) + "]", "a, out", "range(1)")
    assert run(last, a, np.zeros(1, np.int64)).tolist() == [a.size - 1]


@pytest.mark.rule("M1")
def test_any_other_number_of_indices_is_refused():
    a, out = tack.array(grid((4, 5))), tack.full(4, 7, dtype=tack.i64)

    def call(text):
        return lambda: kernel(text)(a, out)

    refuses(IndexError, call("out[i] = a[i]"), "'k'", "'a'", "2 dimensions", "a.ravel()", at="a[i]")
    refuses(IndexError, call("out[i] = a[i, 0, 0]"), "'a'", "2 dimensions", at="a[i, 0, 0]")
    refuses(IndexError, call("out[i, 0] = 1"), "'out'", "1 dimension", at="out[i, 0]")
    refuses(IndexError, call("a[i] += 1\nout[i] = 1"), "a.ravel()", at="a[i] += 1")
    refuses(ValueError, call("h, w, d = a.shape\nout[i] = h"), "'a'", at="h, w, d = a.shape")
    helpers = functions("@tack.func\ndef f(x, i):\n    return x[i]\n")
    refuses(IndexError, lambda: kernel("out[i] = f(a, i)", **helpers)(a, out), "'a'", "in f", at="x[i]")
    assert out.numpy().tolist() == [7] * 4
    refuses(tack.UnsupportedSyntaxError, kernel("out[i] = a[i][0]").template, "a[i, j]", at="a[i]")
    refuses(IndexError, kernel("out[i] = a[()]").template, at="a[()]")
    # a rank that was right says nothing about the next call
    k = kernel("out[i] = a[i]")
    k(tack.zeros(4, dtype=tack.i64), out)
    with pytest.raises(IndexError):
        k(a, out)


@pytest.mark.rule("M1")
def test_floats_are_no_indices_and_numbers_have_none():
    refused(TypeError, "a[b[i]]", of(np.int64, 1, 2), of(np.float32, 0, 1), at="b[i]", words=["integer", "int(b[i])"])
    refused(TypeError, "a[1.0]", of(np.int64, 1, 2), at="1.0", words=["integer"])
    k = kernel("out[i] = n[i]", "n, out")
    refuses(TypeError, lambda: k(3, tack.zeros(2)), "'n'", "number", at="n[i]")
    refuses(TypeError, kernel("t = 3\nout[i] = t[i]").template, "'t'", at="t")
    k = kernel("out[i] = a + 1", "a, out")
    refuses(TypeError, lambda: k(tack.zeros(2), tack.zeros(2)), "'a'", "array", at="a")


@pytest.mark.rule("M1")
def test_negative_literal_indices_are_refused():
    refused(IndexError, "a[-1]", of(np.int64, 1, 2), at="-1", words=["index -1", "a.shape[0] - 1"])
    refused(IndexError, "out[-1] = 1", of(np.int64, 1), at="-1")
    refused(IndexError, "a[2 - 3]", of(np.int64, 1, 2), at="2 - 3")
    assert value("a[a.shape[0] - 1]", of(np.int64, 1, 2)) == [2, 2]  # what to write instead


# ----------------------------------------------------------------------------------------------------- M2: aliasing


@pytest.mark.rule("M2")
@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 1), (1, 0), (0, 7), (3, 5)])
def test_arguments_may_alias_in_any_way(first, second):
    """Each iteration reads before it writes elements that no other iteration touches, through views of one buffer."""
    k = kernel("t = x[i * 16]\ny[i * 16 + 8] = t * 2 + y[i * 16 + 8]\nx[i * 16] = y[i * 16 + 8] + x[i * 16]", "x, y", "range(4)")
    base = np.arange(80, dtype=np.float64)
    shared = tack.array(base)
    k(shared[first : first + 72], shared[second : second + 72])
    model = base.copy()
    for i in range(4):
        at, to = first + i * 16, second + i * 16 + 8
        model[to] = model[at] * 2 + model[to]
        model[at] = model[to] + model[at]
    assert shared.numpy().tolist() == model.tolist()


@pytest.mark.rule("M2")
def test_views_of_other_types_may_alias():
    """The bytes of an array of floats, read as integers while they are written."""
    base = np.zeros(8, np.float32)
    floats = tack.from_dlpack(base)
    words = tack.from_dlpack(base.view(np.uint32))
    k = kernel("f[i] = 1.0\nw[i] = w[i] + 1\nf[i] = f[i] * 2.0", "f, w", "range(f.shape[0])")
    k(floats, words)
    assert base.tolist() == [float(np.nextafter(np.float32(1), np.float32(2))) * 2] * 8


@pytest.mark.rule("M2", "M3")
def test_the_same_array_read_only_and_writable():
    base = np.arange(6, dtype=np.float32)
    writable = tack.from_dlpack(base)
    frozen = tack.array_from_ptr(base.ctypes.data, tack.f32, (6,), owner=base)
    assert not frozen.writable
    k = kernel("out[i] = x[i] + out[i]", "x, out")
    k(frozen, writable)
    assert base.tolist() == [0, 2, 4, 6, 8, 10]


# --------------------------------------------------------------------------------------------------- M3: read-only


@pytest.mark.rule("M3")
@pytest.mark.spec("cache-012")
def test_a_kernel_that_may_store_to_a_read_only_array_is_refused():
    base = np.arange(6, dtype=np.float32)
    base.setflags(write=False)
    frozen = tack.from_dlpack(base, copy=False)
    assert not frozen.writable
    out = tack.zeros(6)
    plain = kernel("out[i] = x[i]", "x, out")
    plain(frozen, out)
    assert out.numpy().tolist() == base.tolist()
    helpers = functions("@tack.func\ndef put(x, i):\n    x[i] = 1.0\n")
    kernels = [
        kernel("x[i] = 1.0", "x, out", "range(2)"), kernel("if i > 100:\n    x[i] += 1.0", "x, out", "range(2)"),
        kernel("put(x, i)", "x, out", "range(2)", **helpers), kernel("x[i] = 1.0", "x, out", "range(0)"),
    ]  # fmt: skip
    for k in kernels:
        for _ in range(2):
            with pytest.raises(ValueError) as caught:
                k(frozen, out)
            assert "'k'" in str(caught.value) and "'x'" in str(caught.value) and "read-only" in str(caught.value)
            assert "copy()" in str(caught.value)
        k(tack.zeros(6), out)  # a compiled variant refuses too
        with pytest.raises(ValueError, match="read-only"):
            k(frozen, out)
    with pytest.raises(ValueError, match="read-only"):
        plain(out, frozen)
    assert base.tolist() == list(range(6))


# --------------------------------------------------------------------------------------------------- M4: unaligned


@pytest.mark.rule("M4")
@pytest.mark.parametrize("dtype", [np.int16, np.uint32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("offset", [1, 2, 3, 5])
def test_unaligned_arrays_load_and_store(dtype, offset):
    n, size = 67, np.dtype(dtype).itemsize
    source, target = np.zeros(n * size + 16, np.uint8), np.zeros(n * size + 16, np.uint8)
    values = np.random.default_rng(2).integers(0, 1000, n).astype(dtype)
    source[offset : offset + n * size] = values.view(np.uint8)
    kind = tack.array(values).dtype
    x = tack.array_from_ptr(source.ctypes.data + offset, kind, (n,), owner=source)
    y = tack.array_from_ptr(target.ctypes.data + offset, kind, (n,), writable=True, owner=target)
    k = kernel("y[i] = x[i] + x[n - 1 - i]", "x, y, n", "range(n)")
    k(x, y, n)
    expected = values + values[::-1]
    assert target[offset : offset + n * size].tobytes() == expected.tobytes()
    assert not target[:offset].any() and not target[offset + n * size :].any()
    # beside an aligned array
    aligned = np.zeros(n, dtype)
    k(x, tack.from_dlpack(aligned), n)
    assert aligned.tobytes() == expected.tobytes()


@pytest.mark.rule("M4")
@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32, np.float64])
def test_unaligned_arrays_come_through_dlpack(dtype):
    """As a field of packed records, whose address is odd, and as a view at an offset of whole elements."""
    base = np.zeros(8 * np.dtype(dtype).itemsize + 1, np.uint8)
    odd = np.ndarray((8,), dtype, base.data, offset=1)
    odd[:] = np.arange(8)
    x = tack.from_dlpack(odd, copy=False)
    assert x._buffer.address == odd.ctypes.data and x._buffer.address % np.dtype(dtype).itemsize
    k = kernel("x[i] = x[i] * 2 + x[i]", "x", "range(x.shape[0])")
    k(x)
    assert odd.tolist() == [3 * v for v in range(8)]
    plain = np.arange(10).astype(dtype)
    k(tack.from_dlpack(plain[3:7], copy=False))
    assert plain.tolist() == [0, 1, 2, 9, 12, 15, 18, 7, 8, 9]


@pytest.mark.rule("M4", "M2")
def test_overlapping_views_at_odd_bytes():
    base = np.zeros(64, np.uint8)
    a = tack.array_from_ptr(base.ctypes.data, tack.u32, (4,), writable=True, owner=base)
    b = tack.array_from_ptr(base.ctypes.data + 2, tack.u32, (4,), writable=True, owner=base)
    k = kernel("a[i] = 0x11223344\nb[i] = 0xAABBCCDD\nout[i] = a[i]", "a, b, out", "range(1)")
    out = tack.zeros(1, dtype=tack.u32)
    k(a, b, out)
    model = bytearray(8)
    model[0:4] = (0x11223344).to_bytes(4, "little")
    model[2:6] = (0xAABBCCDD).to_bytes(4, "little")
    assert out.numpy()[0] == int.from_bytes(model[:4], "little")
    assert bytes(base[:8]) == bytes(model)
