"""Debug mode at its edges: what the bounds and the result need, extreme indices, every kind of array, many failures at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debug_tools import checked, everywhere

import tack
from tack.lang.call_shape import describe_call
from tack.runtime.checked_launch import checked_call
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.launch_checks import ranges_of_launch


@pytest.fixture(autouse=True)
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def outside(index: int, name: str = "x", size: int = 3, where: str = "at i = 1") -> str:
    return f"index {index} is outside '{name}', which has {size} elements, {where}"


# ------------------------------------------------------------------------------------------- what is outside the loop


@tack.func
def counted(n, step):
    count = 0
    for k in range(0, n, step):
        count += 1
    return count


@tack.func
def total(x, start, step):
    t = 0.0
    for k in range(start, 4, step):
        t += x[k]
    return t


@tack.kernel
def bound_alone(x, n, step):
    m = counted(n, step)
    for i in range(m):
        x[i] = 1.0


@tack.kernel
def bound_and_body(x, n, step):
    m = counted(n, step)
    for i in range(m):
        x[i] = m


@tack.kernel
def inner_bound(x, n, step):
    m = counted(n, step)
    for i, j in tack.ndindex(2, m):
        x[i * m + j] = i


@tack.kernel
def summed(x, out, start, step, first) -> float:
    s = x[first]
    for i in range(4):
        out[i] = x[i] + s
    return s + total(x, start, step)


@tack.kernel
def no_iterations(x, out, n, first) -> float:
    s = x[first]
    unused = x[first + 1]
    for i in range(n):
        out[i] = unused
    return s * 2.0


ZERO_STEP = "the step of this `range` is 0, "
BEFORE, AFTER = "before the parallel loop", "in the kernel's result"
FOUR = f32(1, 2, 3, 4)
OUTSIDE: list[tuple[Any, tuple[Any, ...], str, Any]] = [
    (bound_alone, (f32(0, 0, 0, 0), 8, 3), "", [1, 1, 1, 0]),
    (bound_alone, (f32(0, 0, 0, 0), 8, 0), ZERO_STEP + BEFORE, [0] * 4),
    (bound_alone, (f32(0, 0, 0, 0), -8, -3), "", [1, 1, 1, 0]),
    (bound_and_body, (f32(0, 0, 0, 0), 8, 4), "", [2, 2, 0, 0]),
    (bound_and_body, (f32(0, 0, 0, 0), 8, 0), ZERO_STEP + BEFORE, [0] * 4),
    (inner_bound, (f32(0, 0, 0, 0), 2, 1), "", [0, 0, 1, 1]),
    (inner_bound, (f32(0, 0, 0, 0), 2, 0), ZERO_STEP + BEFORE, [0] * 4),
    (summed, (FOUR, f32(0, 0, 0, 0), 1, 2, 0), "", [2, 3, 4, 5]),
    (summed, (FOUR, f32(0, 0, 0, 0), 1, 0, 0), ZERO_STEP + AFTER, [2, 3, 4, 5]),
    (summed, (FOUR, f32(0, 0, 0, 0), 1, -1, 0), "", [2, 3, 4, 5]),
    (summed, (FOUR, f32(0, 0, 0, 0), -1, 1, 3), outside(-1, "x", 4, AFTER), [5, 6, 7, 8]),
    (summed, (FOUR, f32(0, 0, 0, 0), 1, 1, 4), outside(4, "x", 4, BEFORE), [0] * 4),
    (summed, (f32(1, 2), f32(0, 0, 0, 0), 0, 1, 0), outside(2, "x", 2, "at i = 2"), [2, 3, 0, 0]),
    (no_iterations, (f32(1, 2), f32(0, 0), 0, 0), "", [0, 0]),
    (no_iterations, (f32(1, 2), f32(0, 0), 0, 2), outside(2, "x", 2, BEFORE), [0, 0]),
    (no_iterations, (f32(1, 2), f32(0, 0), 1, 1), outside(2, "x", 2, BEFORE), [0, 0]),
]  # fmt: skip


@pytest.mark.rule("K1", "K2", "K4", "K6")
def test_bounds_prologue_and_result_are_checked_on_every_target(tmp_path: Path) -> None:
    """Also a zero step in a loop that feeds the bounds alone, and what only the result needs."""
    outcomes = everywhere([(kernel, args) for kernel, args, _, _ in OUTSIDE], tmp_path)
    for (kernel, args, error, left), outcome in zip(OUTSIDE, outcomes, strict=True):
        assert outcome.error == error, (kernel, args)
        assert outcome.arrays[-1].tolist() == left, (kernel, args)
    assert summed(tack.array(FOUR), tack.zeros(4), 1, 2, 0) == 1 + 2 + 4


@pytest.mark.rule("K1", "K4")
def test_a_launch_whose_bounds_the_host_evaluates_is_checked_there() -> None:
    """What a device does that is told its bounds: the error comes before the launch."""
    device = tack.device("cpu")
    for args, count in (((tack.zeros(4), 8, 3), 3), ((tack.zeros(4), 8, 0), None)):
        call = checked_call(bound_alone, describe_call(bound_alone.param_names, args), device)
        func, _ = checked(bound_alone, args)
        if count is not None:
            assert ranges_of_launch(func, call.args + call.hidden) == [range(count)]
            continue
        with pytest.raises(ValueError, match="the step of this `range` is 0, before the parallel loop") as caught:
            ranges_of_launch(func, call.args + call.hidden)
        assert "for k in range(0, n, step)" in str(caught.value)


# ------------------------------------------------------------------------------------------------------ extreme indices


@tack.kernel
def at(x, out, keys):
    for i in range(keys.shape[0]):
        out[i] = x[keys[i]]


@tack.kernel
def cast(x, out, keys):
    for i in range(keys.shape[0]):
        out[i] = x[int(keys[i])]


@tack.kernel
def corner(x, a, b, c, d):
    for i in range(1):
        x[a, b, c, d] += 1.0


EXTREMES: list[tuple[Any, tuple[Any, ...], str]] = [
    *((at, (f32(5, 6, 7), f32(0, 0), np.array([2, key], t)), outside(key)) for t, key in (
        (np.uint64, 2**63 + 5), (np.uint64, 2**64 - 1), (np.uint64, 2**63 - 1), (np.int64, -(2**63)), (np.int64, 2**63 - 1),
        (np.int32, -(2**31)), (np.uint32, 2**32 - 1), (np.int8, -1), (np.uint8, 255), (np.int16, -(2**15)),
    )),
    *((cast, (f32(5, 6, 7), f32(0, 0), np.array([2, key], t)), error) for t, key, error in (
        (np.float32, np.nan, ""), (np.float32, np.inf, outside(2**63 - 1)), (np.float64, -np.inf, outside(-(2**63))),
        (np.float32, -0.9, ""), (np.float64, 2.99, ""), (np.float64, 3.0, outside(3)), (np.float32, -1.0, outside(-1)),
    )),
    *((corner, (np.zeros((2, 3, 4, 5), np.float32), *(at if dim == k else 1 for k in range(4))),
       f"index {at} is outside dimension {dim} of 'x', which has size {size}, at i = 0" if not 0 <= at < size else "")
      for dim, size in enumerate((2, 3, 4, 5)) for at in (-1, 0, size - 1, size, -(2**62))),
]  # fmt: skip


@pytest.mark.rule("M1", "T9")
def test_extreme_indices_are_named_as_they_are(tmp_path: Path) -> None:
    """Beyond i64, of every integer type, from NaN (which is 0) and infinity, and in each of four dimensions."""
    outcomes = everywhere([(kernel, args) for kernel, args, _ in EXTREMES], tmp_path)
    for (kernel, args, error), outcome in zip(EXTREMES, outcomes, strict=True):
        assert outcome.error == error, (kernel, args)
        if kernel is corner:
            assert outcome.arrays[0].sum() == (not error)
        else:
            assert outcome.arrays[1].tolist() == [7, 0 if error else args[0][int(np.nan_to_num(args[2][1]))]]


@pytest.mark.rule("M1")
def test_a_u64_beyond_i64_does_not_count_as_negative() -> None:
    x = tack.zeros(3)

    @tack.kernel
    def put(x, k):
        for i in range(1):
            x[k] = 1.0

    for key, words in ((2**64 - 1, "Check the index: the last one is 2"), (-1, "Negative indices do not count from the end")):
        with pytest.raises(IndexError, match=f"index {key} is outside(.|\n)*{words}"):
            put(x, key)


# --------------------------------------------------------------------------------------------------- kinds of accesses


@tack.func
def prefix(x, n, stop):
    tmp = tack.local_array(tack.f32, 3)
    for k in range(n):
        if k == stop:
            return tmp[k - 1]
        tmp[k] = x[k]
    return tmp[1]


@tack.kernel
def prefixes(x, out, n, stop):
    for i in range(out.shape[0]):
        out[i] = prefix(x, n + i, stop)


@tack.kernel
def updates(a, keys, old):
    for i in range(keys.shape[0]):
        k = keys[i]
        old[i] = tack.atomic_add(a, [k, 1], 5)
        tack.atomic_max(a, (1, k), i)


@tack.kernel
def swapped(a, b, k):
    for i in range(a.shape[0]):
        a[i, k], b[k, i] = b[k, i], a[i, k]


I2 = np.arange(6, dtype=np.int32).reshape(2, 3)
KINDS: list[tuple[Any, tuple[Any, ...], str]] = [
    (prefixes, (f32(1, 2, 3, 4), f32(0, 0), 2, 9), ""),
    (prefixes, (f32(1, 2, 3, 4), f32(0, 0), 5, 3), ""),
    (prefixes, (f32(1, 2, 3, 4), f32(0, 0), 5, 0), "index -1 is outside 'tmp', which has 3 elements, at i = 0"),
    (prefixes, (f32(1, 2, 3, 4), f32(0, 0, 0), 2, 9), "index 3 is outside 'tmp', which has 3 elements, at i = 2"),
    (prefixes, (f32(1, 2, 3, 4), f32(0, 0), 1, 9), "element [1] of local array 'tmp' is read before it is stored, at i = 0"),
    (prefixes, (f32(1, 2), f32(0, 0), 2, 9), "index 2 is outside 'x', which has 2 elements, at i = 1"),
    (updates, (I2, np.array([0, 1], np.int32), np.zeros(2, np.int32)), ""),
    (updates, (I2, np.array([0, 2], np.int32), np.zeros(2, np.int32)),
     "index 2 is outside dimension 0 of 'a', which has size 2, at i = 1"),
    (updates, (I2, np.array([-1, 0], np.int32), np.zeros(2, np.int32)),
     "index -1 is outside dimension 0 of 'a', which has size 2, at i = 0"),
    (updates, (I2, np.array([0, 1], np.int32), np.zeros(1, np.int32)), "index 1 is outside 'old', which has 1 element, at i = 1"),
    (swapped, (I2, I2.T.copy(), 1), ""),
    (swapped, (np.zeros((2, 4), np.int32), I2.T.copy(), 3), "index 3 is outside dimension 0 of 'b', which has size 3, at i = 0"),
    (swapped, (I2, I2.T[:, :1].copy(), 2), "index 1 is outside dimension 1 of 'b', which has size 1, at i = 1"),
]  # fmt: skip


@pytest.mark.rule("M1", "M5", "A1", "F1", "E2")
def test_every_kind_of_access_is_checked_on_every_target(tmp_path: Path) -> None:
    outcomes = everywhere([(kernel, args) for kernel, args, _ in KINDS], tmp_path)
    for (kernel, args, error), outcome in zip(KINDS, outcomes, strict=True):
        assert outcome.error == error, (kernel, args)
    assert outcomes[0].arrays[1].tolist() == [2, 2] and outcomes[1].arrays[1].tolist() == [3, 3]
    assert outcomes[6].arrays[0].tolist() == [[0, 6, 2], [3, 9, 5]] and outcomes[6].arrays[2].tolist() == [1, 4]
    assert outcomes[7].arrays[0].tolist() == [[0, 6, 2], [3, 4, 5]], "an atomic whose check fails updates nothing"
    assert outcomes[10].arrays[0].tolist() == I2.tolist()


@pytest.mark.rule("M1")
def test_samples_of_textures_are_inside_whatever_the_coordinates_are() -> None:
    @tack.kernel
    def sampled(texture, at, out):
        for i in range(out.shape[0]):
            out[i] = texture.sample(at[i], at[i + 1], 0.5)

    volume = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    at = f32(0.5, np.nan, np.inf, -np.inf, -3.0, 1e30, 0.5)
    out = tack.zeros(6)
    sampled(tack.texture3d(volume), tack.array(at), out)
    assert ((out.numpy() >= 0) & (out.numpy() <= 23) | np.isnan(out.numpy())).all()
    with pytest.raises(IndexError, match="index 7 is outside 'at', which has 7 elements, at i = 6"):
        sampled(tack.texture3d(volume), tack.array(at), tack.zeros(7))


@pytest.mark.rule("F2", "V1")
def test_arrays_of_every_kind_in_nested_objects() -> None:
    @tack.device_class
    class Inner:
        def __init__(self, v: tack.Array, m: tack.Array) -> None:
            self.v, self.m = v, m

        @tack.func
        def at(self, i, j):
            return self.v[j].x + self.m[i, j][1, 0]

    @tack.device_class
    class Outer:
        def __init__(self, inner: Any, shift: int) -> None:
            self.inner, self.shift = inner, shift

        @tack.func
        def at(self, i, j):
            return self.inner.at(i, j + self.shift)

        @tack.kernel
        def fill(self, out):
            for i, j in tack.ndindex(out.shape[0], out.shape[1]):
                out[i, j] = self.at(i, j)

    v = np.arange(9, dtype=np.float32).reshape(3, 3)
    m = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    inner, out = Inner(tack.array(v, tack.vec3), tack.array(m, tack.mat2)), tack.zeros((2, 3))
    Outer(inner, 0).fill(out)
    np.testing.assert_array_equal(out.numpy(), v[:, 0] + m[:, :, 1, 0])
    for shift, words in ((1, "index 3 is outside 'self.inner.v', which has 3 elements, at i = 0, j = 2"),
                         (-1, "index -1 is outside 'self.inner.v', which has 3 elements, at i = 0, j = 0")):  # fmt: skip
        with pytest.raises(IndexError, match=words):
            Outer(inner, shift).fill(out)
    with pytest.raises(IndexError, match="index 2 is outside dimension 0 of 'self.inner.m', which has size 2, at i = 2, j = 0"):
        Outer(inner, 0).fill(tack.zeros((3, 3)))


# ------------------------------------------------------------------------------------------- many failures, many threads


@tack.kernel
def failing(x, out, first, shift):
    for i in range(out.shape[0]):
        out[i] = x[i - i + shift] if i >= first else 1.0


@tack.kernel
def sound(x, out):
    for i in range(out.shape[0]):
        out[i] = x[i] + 1.0


def test_of_many_failures_at_once_the_first_iteration_s_is_reported() -> None:
    x, out = tack.zeros(4), tack.zeros(40_000)
    with tack.device("cpu", num_threads=8), force_fanout():
        for first in (0, 1, 19_999, 39_999):
            with pytest.raises(IndexError, match=f"index 9 is outside 'x', which has 4 elements, at i = {first}(?!\\d)"):
                failing(x, out, first, 9)
            np.testing.assert_array_equal(out.numpy()[:first], 1.0)


def test_a_failure_leaves_nothing_to_the_next_call() -> None:
    x, out = tack.array(np.arange(4, dtype=np.float32)), tack.zeros(4)
    for _ in range(3):
        with pytest.raises(IndexError, match="Kernel 'failing': index -3 .* at i = 2"):
            failing(x, out, 2, -3)
        sound(x, out)
        assert out.numpy().tolist() == [1, 2, 3, 4]
        with pytest.raises(TypeError):
            sound(x)
        with pytest.raises(IndexError, match="Kernel 'sound': index 4 is outside 'x'"):
            sound(x, tack.zeros(5))
        failing(x, out, 0, 3)
        assert out.numpy().tolist() == [3, 3, 3, 3]


def test_the_switch_is_thrown_while_other_threads_call() -> None:
    """Each call is one of debug mode or none, and right either way."""
    x, wrong = tack.array(np.arange(8, dtype=np.float32)), list[BaseException]()
    done = threading.Event()

    def call() -> None:
        out = tack.zeros(8)
        try:
            while not done.is_set():
                sound(x, out)
                assert out.numpy().tolist() == list(range(1, 9))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(200):
        tack.set_debug(k % 2 == 0)
        sound(x, tack.zeros(8))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_throws_the_switch_for_all() -> None:
    x = np.zeros(8, np.float32)
    part = tack.from_dlpack(x[:4])
    tack.set_debug(False)
    thread = threading.Thread(target=tack.set_debug, args=(True,))
    thread.start()
    thread.join()
    with pytest.raises(IndexError):
        sound(part, tack.zeros(5))
