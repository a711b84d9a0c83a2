"""Atomics (A1, M4): every dtype and operation, on one thread, the pool, in the interpreter and emitted as C, with old values."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from host_c import HostUnit
from nvrtc_tools import compile_all
from rule_tools import CPU, functions, kernel, of, refused, refuses, run, value

import tack
from tack.ir.facts import atomic_targets, written_array_params
from tack.ir.interpret import interpret
from tack.ir.types import DTYPES, FLOATS
from tack.testing import DeviceTarget, FanoutTarget, InterpreterTarget
from tack.testing.memory import chain_error, run_memory
from tack.testing.reference import extreme
from tack.testing.targets import typed
from tack.testing.values import wrap

TARGETS = {
    "serial": DeviceTarget(tack.device("cpu", num_threads=1), "one thread"),
    "pool": FanoutTarget(tack.device("cpu", num_threads=3), "three threads in chunks of 1 to 7 iterations"),
    "interpreter": InterpreterTarget(CPU.capabilities),
    "backwards": InterpreterTarget(CPU.capabilities, reverse=True),
}
KERNELS = {
    op: kernel(f"old[i] = tack.atomic_{op}(cells, at[i], v[i])", "at, v, cells, old", "range(v.shape[0])")
    for op in ("add", "min", "max")
}


@pytest.mark.rule("A1", "M5")
@pytest.mark.spec("back-047")
@pytest.mark.parametrize("target", TARGETS)
def test_every_dtype_and_operation(target, record_property):
    """Old values and new ones form a chain, in whatever order the iterations came; local arrays of every dtype."""
    report = run_memory(TARGETS[target])
    assert not report.failures, str(report)
    assert report.ran == Counter(atomic_add=10, atomic_min=10, atomic_max=10, local_array=10) and not report.skipped
    record_property("conformance", str(report).splitlines()[0])


@pytest.mark.rule("A1")
def test_a_lost_update_is_noticed():
    """The check itself: an old value that two iterations were given, and a count that is missing."""
    old = np.arange(5)
    assert chain_error("add", tack.i64, np.int64(0), np.int64(5), np.ones(5, np.int64), old) is None
    twice = np.array([0, 1, 2, 2, 3])
    assert chain_error("add", tack.i64, np.int64(0), np.int64(4), np.ones(5, np.int64), twice) is not None
    assert chain_error("add", tack.i64, np.int64(0), np.int64(4), np.ones(5, np.int64), old) is not None
    assert chain_error("min", tack.i64, np.int64(9), np.int64(3), np.array([5, 3]), np.array([9, 9])) is not None
    assert chain_error("min", tack.i64, np.int64(9), np.int64(3), np.array([5, 3]), np.array([9, 5])) is None


@pytest.mark.rule("A1")
def test_no_count_is_lost_under_contention():
    n = 50_000
    k = kernel("tack.atomic_add(out, i % 2, 1)", "n, out", "range(n)")
    for t in DTYPES:
        out = np.zeros(2, t.numpy)
        TARGETS["pool"].run(k, (n, out))
        assert out.tolist() == [wrap(n // 2, t) if t.is_int else n // 2] * 2, t


@pytest.mark.rule("A1", "T10")
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_extremes_of_floats_prefer_numbers_and_order_zeros(name, op):
    t = next(t for t in FLOATS if t.name == name)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324 if name == "f64" else 1e-45, -2.5]
    pairs = np.array(list(itertools.product(special, special)), t.numpy)
    k = kernel(f"tack.atomic_{op}(out, i, v[i])", "v, out")
    out = run(k, pairs[:, 1].copy(), pairs[:, 0].copy())
    expected = np.array([extreme(op, tuple(pair)) for pair in pairs])
    np.testing.assert_array_equal(out, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(out[number]), np.signbit(expected[number]))


@pytest.mark.rule("A1", "T10", "T12")
@pytest.mark.parametrize("t", [t for t in DTYPES if t.bits >= 32], ids=str)
def test_emitted_c_does_the_same(t, tmp_path):
    """One lane after another, so old values are those of the interpreter, too; NVIDIA's compiler takes it."""
    rng = np.random.default_rng(3)
    low = 0 if t.kind == "uint" else -90
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 5e-324, 1e-38, 3e38]
    v = rng.integers(low, 90, 60).astype(t.numpy)
    if t.is_float:
        with np.errstate(over="ignore"):
            v[:40] = rng.choice(np.array(special, t.numpy), 40)
    kernels = [(typed(k, (np.zeros(60, np.int64), v, v, v), fma=True), f"k_{op}") for op, k in KERNELS.items()]
    compile_all(kernels)
    unit = HostUnit(kernels, tmp_path)
    for func, op in kernels:
        for first in (0, 7):
            args = [rng.integers(0, 5, 60), v, np.full(5, first, t.numpy), np.zeros(60, t.numpy)]
            theirs = [a.copy() for a in args]
            unit.run(op, args)
            interpret(func, theirs)
            for a, b in zip(args[2:], theirs[2:], strict=True):
                np.testing.assert_array_equal(a, b, op)
                if t.is_float:
                    number = ~np.isnan(a)
                    np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]), op)


@pytest.mark.rule("A1", "T12")
def test_sums_of_subnormal_numbers_are_exact():
    for t, least in ((np.float32, 1e-45), (np.float64, 5e-324)):
        v = np.full(5, least, t)
        assert run(kernel("tack.atomic_add(out, 0, v[i])", "v, out", "range(5)"), v, np.zeros(1, t))[0] == t(5 * v[0])


@pytest.mark.rule("A1", "T4", "T9", "T7")
def test_the_value_is_converted_once_as_by_a_store():
    f = of(np.float32, 3.9, -2.0, 1e9, np.nan)
    for t in DTYPES:
        stored = run(kernel("out[i] = v[i]", "v, out"), f, np.zeros(4, t.numpy))
        added = run(kernel("tack.atomic_add(out, i, v[i])", "v, out"), f, np.zeros(4, t.numpy))
        np.testing.assert_array_equal(stored, added)
    assert value("tack.atomic_add(a, i, 300)\nout[i] = a[i]", of(np.uint8, 1)) == [45]
    assert value("tack.atomic_add(a, i, -1)\nout[i] = a[i]", of(np.uint32, 0)) == [2**32 - 1]
    assert value("tack.atomic_add(a, i, b[i] > 1)\nout[i] = a[i]", of(np.int64, 5, 5), of(np.int32, 1, 2)) == [5, 6]
    assert value("tack.atomic_add(a, i, 0.1)\nout[i] = a[i] == 0.1", of(np.float64, 0.0)) == [1]
    # an i8 sum of two i32: the value is wrapped, not the sum checked
    assert value("tack.atomic_max(a, i, b[i])\nout[i] = a[i]", of(np.int8, -3), of(np.int32, 0x180)) == [-3]


@pytest.mark.rule("A1")
def test_integer_extremes_go_by_signedness():
    top = 1 << 31
    assert value("tack.atomic_max(a, i, 1)\nout[i] = a[i]", of(np.uint32, top)) == [top]
    assert value("tack.atomic_max(a, i, 1)\nout[i] = a[i]", of(np.int32, -top)) == [1]
    assert value("tack.atomic_min(a, i, 1)\nout[i] = a[i]", of(np.uint8, 200)) == [1]
    assert value("tack.atomic_min(a, i, 1)\nout[i] = a[i]", of(np.int8, -56)) == [-56]


@pytest.mark.rule("A1", "M1")
def test_the_index_is_a_number_or_one_for_each_dimension():
    k = kernel("tack.atomic_add(out, (i % 2, i % 3), i)", "n, out", "range(n)")
    expected = np.zeros((2, 3), np.int64)
    for i in range(30):
        expected[i % 2, i % 3] += i
    assert run(k, 30, np.zeros((2, 3), np.int64)).tolist() == expected.tolist()
    whole = kernel("tack.atomic_add(out, (i,), 1)", "out")
    assert run(whole, np.zeros(3, np.int64)).tolist() == [1, 1, 1]
    flat = kernel("tack.atomic_add(out, i, 1)", "out")
    words = "Kernel 'k'", "2 dimensions", "1 index", "out.ravel()"
    refuses(IndexError, lambda: flat(tack.zeros((2, 3))), *words, at="tack.atomic_add(out, i, 1)")
    refused(TypeError, "tack.atomic_add(a, b[i], 1)\nout[i] = 0", of(np.int64, 1), of(np.float32, 0), words=["index"], at="b[i]")
    refused(IndexError, "tack.atomic_add(a, -1, 1)\nout[i] = 0", of(np.int64, 1), words=["-1"], at="-1")


@pytest.mark.rule("A1", "V1", "F2", "M1")
def test_vectors_as_indices_and_arrays_of_objects():
    body = "tack.atomic_add(counts, tack.ivec2(i % 2, i % 3), 1)\ntack.atomic_max(most, at, i)"
    k = kernel(body, "counts, most", "range(12)", before="at = tack.ivec2(1, 2)")
    counts, most = run(k, np.zeros((2, 3), np.int32), np.zeros((2, 3), np.int64))
    assert counts.tolist() == [[2, 2, 2]] * 2 and most.tolist() == [[0, 0, 0], [0, 0, 11]]
    vectors = tack.zeros(2, dtype=tack.vec3)
    plain = kernel("tack.atomic_add(out, i, 1.0)", "out")
    refuses(tack.UnsupportedSyntaxError, lambda: plain(vectors), "elements of 'out' are vectors", at="out")

    @tack.device_class
    class Counter:
        def __init__(self, counts):
            self.counts = counts

        @tack.func
        def add(self, k):
            return tack.atomic_add(self.counts, k % 3, 2)

    k = kernel("out[i] = counter.add(i)", "counter, out", "range(out.shape[0])")
    counts, out = tack.zeros(3, dtype=tack.u16), tack.zeros(9, dtype=tack.i32)
    k(Counter(counts), out)
    assert counts.numpy().tolist() == [6, 6, 6] and sorted(out.numpy()) == [0, 0, 0, 2, 2, 2, 4, 4, 4]


@pytest.mark.rule("A1", "E1", "E2", "E4")
def test_order_of_evaluation():
    """Operands from left to right: a load before an atomic gives the old value, one after it the new."""
    assert value("a[0] + tack.atomic_add(a, 0, 5) * 100 + a[0] * 10000", of(np.int64, 1)) == [1 + 100 + 60000]
    body = "tack.atomic_add(a, tack.atomic_add(a, 0, 1), tack.atomic_add(a, 0, 1))\nout[0] = a[0]\nout[1] = a[1]"
    assert value(body, of(np.int64, 1, 7), size=2, loop="range(1)") == [3, 9]  # a[1] += 2
    body = "x = 7 if a[0] > 5 else tack.atomic_add(a, 0, 1)\nout[0] = x\n"
    body += "y = a[0] > 1 and tack.atomic_add(a, 0, 1) > 1\nout[1] = y"
    assert value(body, of(np.int64, 1), size=2, loop="range(1)") == [1, 1]
    assert value(body, of(np.int64, 6), size=2, loop="range(1)") == [7, 1]
    loop = "n = 0\nwhile tack.atomic_add(a, 0, -1) > 0:\n    n += 1\nout[0] = n * 100 + a[0]"
    assert value(loop, of(np.int64, 3), loop="range(1)") == [299]


@pytest.mark.rule("A1", "F1", "N5")
def test_atomics_in_device_functions():
    names = functions(
        "@tack.func\ndef push(stack, top, v):\n    at = tack.atomic_add(top, 0, 1)\n    stack[at] = v\n    return at\n"
    )
    k = kernel("if v[i] > 2:\n    at[i] = push(stack, top, v[i])", "v, stack, top, at", "range(v.shape[0])", **names)
    v = np.arange(20)
    args = [v, np.full(20, -1, np.int64), np.zeros(1, np.int32), np.full(20, -1, np.int64)]
    for target in TARGETS.values():
        mine = [a.copy() for a in args]
        target.run(k, mine)
        _, stack, top, at = mine
        assert top[0] == 17 and sorted(stack[:17]) == list(range(3, 20))
        assert all(stack[at[i]] == v[i] for i in range(3, 20))


@pytest.mark.rule("A1", "M2")
@pytest.mark.spec("cache-083")
def test_loads_of_an_updated_array_are_relaxed_and_it_promises_nothing():
    k = kernel("tack.atomic_add(hist, x[i], 1)\nout[i] = hist[0]", "x, hist, out", "range(x.shape[0])")
    x, hist, out = tack.array(np.zeros(4, np.int32)), tack.zeros(4, dtype=tack.i32), tack.zeros(4, dtype=tack.i32)
    text = tack.inspect(k, x, hist, out)
    assert "load atomic i32" in text and "atomicrmw add" in text
    head = next(line for line in text.splitlines() if line.startswith("define internal void @loop("))
    params = dict(zip(("x", "hist", "out"), head.split("(", 1)[1].split("ptr ")[1:], strict=True))
    assert "noalias" in params["x"] and "noalias" in params["out"] and "noalias" not in params["hist"]
    assert "readonly" in params["x"] and "readonly" not in params["hist"]
    assert written_array_params(k.template()) == {"hist", "out"} and set(atomic_targets(k.template())) == {"hist"}
    seen = np.zeros(4, np.int32)
    CPU.run(k, (np.zeros(4, np.int32), np.zeros(4, np.int32), seen))
    assert sorted(seen) == [1, 2, 3, 4]


@pytest.mark.rule("A1", "M2")
def test_one_array_as_two_arguments():
    k = kernel("tack.atomic_add(b, 0, 1)\na[i + 1] = i", "a, b", "range(3)")
    a = tack.zeros(4, dtype=tack.i32)
    k(a, a)
    assert a.numpy().tolist() == [3, 0, 1, 2]


@pytest.mark.rule("A1")
def test_plain_stores_to_an_updated_array():
    body = "a[i] = 10\ntack.atomic_add(a, i, i)\na[i] += 100\nout[i] = tack.atomic_min(a, i, 0) + a[i]"
    assert value(body, of(np.int16, 0, 0, 0)) == [110, 111, 112]


@pytest.mark.rule("A1")
def test_the_old_value_has_the_type_of_the_array():
    assert value("x = tack.atomic_add(a, i, 1)\nx += 255\nout[i] = x", of(np.uint8, 3)) == [2]  # u8 wraps
    assert value("x = tack.atomic_add(a, i, 1) + 300\nout[i] = x", of(np.uint8, 3)) == [303]
    assert value("t = 0.5\nt = tack.atomic_add(a, i, 1)\nout[i] = t * 2", of(np.float64, 0.25)) == [0]


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.rule("A1", "K2", "K7")
def test_what_atomics_do_not_take():
    a = of(np.int64, 1)
    refused(TypeError, "tack.atomic_add(a, 0)\nout[i] = 0", a, words=["3 arguments, not 2"], at="tack.atomic_add(a, 0)")
    refused(TypeError, "tack.atomic_add(a, 0, value=1)\nout[i] = 0", a, words=["value"], at="value=1")
    refused(
        tack.UnsupportedSyntaxError, "t = tack.local_array(tack.i64, 2)\ntack.atomic_add(t, 0, 1)\nout[i] = 0", a,
        words=["'t' is a local array", "t[i] += v"], at="t",
    )  # fmt: skip
    refused(TypeError, "tack.atomic_add(a[0], 0, 1)\nout[i] = 0", a, words=["`tack.atomic_add(a, 0, value)`"], at="a[0]")
    refused(TypeError, "n = 3\ntack.atomic_add(n, 0, 1)\nout[i] = 0", a, words=["'n'"], at="n")
    update = "tack.atomic_add(a, 0, 2.0)"
    refused(TypeError, f"{update}\nout[i] = 0", 5, words=["'a' is used as an array"], at=update)
    prologue = kernel("out[i] = old", "a, out", before="old = tack.atomic_add(a, 0, 1)")
    out = tack.zeros(2)
    words = "array 'a' is updated outside the parallel loop", "range(1)"
    refuses(tack.UnsupportedSyntaxError, lambda: prologue(tack.zeros(2), out), *words, at="tack.atomic_add(a, 0, 1)")
    names = functions("@tack.func\ndef f(a):\n    return tack.atomic_add(a, 0, 1)\n")
    through = kernel("out[i] = old", "a, out", before="old = f(a)", **names)
    words += ("called on line",)
    refuses(tack.UnsupportedSyntaxError, lambda: through(tack.zeros(2), out), *words, at="tack.atomic_add(a, 0, 1)")


def test_atomics_belong_into_kernels():
    with pytest.raises(RuntimeError, match=r"tack\.atomic_add\(\) belongs inside a @tack\.kernel"):
        tack.atomic_add(tack.zeros(1), 0, 1)


@pytest.mark.rule("A1")
def test_a_device_without_atomics_on_a_dtype_refuses():
    device = tack.device("cpu", num_threads=2)
    backend = device._backend
    backend.capabilities = replace(backend.capabilities, supported_atomic_dtypes=(tack.i32,))
    k = kernel("tack.atomic_add(out, 0, 1)", "out", "range(3)")
    with device:
        out = tack.zeros(1, dtype=tack.i32)
        k(out)
        assert out[0] == 3
        out = tack.zeros(1, dtype=tack.i64)
        words = "parameter 'out'", "tack.i64", "no atomics on CPU", "Atomic dtypes: tack.i32"
        refuses(TypeError, lambda: k(out), *words, at="tack.atomic_add(out, 0, 1)")
        assert out[0] == 0


# -------------------------------------------------------------------------------- what is checked on every single call


@pytest.mark.rule("M4", "A1")
@pytest.mark.spec("cache-011")
@pytest.mark.parametrize("t", [t for t in DTYPES if t.bits > 8], ids=str)
def test_targets_are_naturally_aligned_on_every_call(t):
    host = np.zeros(64 + t.itemsize, np.uint8)
    base = -host.ctypes.data % t.itemsize
    k = kernel("tack.atomic_add(out, 0, v[i])", "v, out", "range(v.shape[0])")
    v = tack.ones(3, dtype=t)

    def at(offset):
        return tack.array_from_ptr(host.ctypes.data + base + offset, t, 2, writable=True, owner=host)

    for _ in range(3):  # a miss, then the fast path, then the call that was compiled
        k(v, at(0))
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"'out' is the target of atomics .* multiple of {t.itemsize} bytes") as caught:
            k(v, at(1))
        assert "out.copy()" in str(caught.value)
    k(v, at(t.itemsize))
    assert at(0).numpy().tolist() == [9, 3]
    variant = next(iter(tack.get_default_device()._backend._cache[k].values()))
    assert variant.atomic_targets == ((1, t.itemsize),)
    unaligned = tack.array_from_ptr(host.ctypes.data + base + 1, t, 2, owner=host)
    k(unaligned, tack.zeros(1, dtype=t))  # what is only read may lie anywhere


@pytest.mark.rule("M3", "A1")
def test_a_read_only_target_is_refused():
    host = np.zeros(2, np.int32)
    k = kernel("tack.atomic_max(out, 0, i)", "out", "range(3)")
    k(tack.zeros(1, dtype=tack.i32))
    for _ in range(2):
        with pytest.raises(ValueError, match="'out' is read-only"):
            k(tack.array_from_ptr(host.ctypes.data, tack.i32, 2, owner=host))
    assert host.tolist() == [0, 0]
