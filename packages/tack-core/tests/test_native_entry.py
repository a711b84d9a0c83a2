"""The native entry: it serves what the generated Python functions serve, and decides nothing otherwise than they do.

`held` sends the calls of a block through Python, so that one kernel can be called on both paths with the same arguments.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fresh_process import run_program
from test_warm_path import only_the_warm_path

import tack
from tack.codegen import llvm_entry
from tack.lang.array import Array
from tack.runtime import native_entry, native_mode
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import drop_variants

# Nothing else is an excuse: an entry that does not work here makes these tests fail.
_BY_PYTHON = sys.implementation.name != "cpython" or os.environ.get("TACK_NATIVE_DISPATCH") == "0"
pytestmark = pytest.mark.skipif(_BY_PYTHON, reason="this process dispatches by Python alone")


@contextlib.contextmanager
def held() -> Iterator[None]:
    native_mode.hold()
    try:
        yield
    finally:
        native_mode.release()


class Slow:
    """Stands in front of a kernel's Python function and counts the calls that come there."""

    def __init__(self, kernel: tack.Kernel) -> None:
        self.calls = 0
        self.function = kernel.native.plan.slow
        kernel.native.plan.slow = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


def array(n: int, dtype: Any = np.float32) -> tack.Array:
    return tack.array(np.arange(n, dtype=dtype))


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(out.shape[0]):
            out[i] = x[i] * a

    return scale


def warmed(kernel: tack.Kernel, *args: Any) -> Slow:
    """Calls until the entry serves the call."""
    for _ in range(3):
        kernel(*args)
    slow = Slow(kernel)
    kernel(*args)
    assert slow.calls == 0
    return slow


# ------------------------------------------------------------------------------------------------------- what it serves


def test_a_kernel_is_served_from_its_third_call_on() -> None:
    scale, x, out = make_scale(), array(8), tack.zeros(8)
    scale(x, out, 1.0)
    assert scale.native is None
    scale(x, out, 2.0)
    slow = Slow(scale)
    for a in (3.0, 4.0, -0.0):
        assert scale(x, out, a) is None
        assert out.numpy().tobytes() == (x.numpy() * np.float32(a)).tobytes()
    assert slow.calls == 0
    for a in (2, 2, 2**40, 2**40, -(2**63), 2**63, 2**64 - 1, 2**64 - 1):
        scale(x, out, a)
        np.testing.assert_allclose(out.numpy(), x.numpy() * np.float32(a), rtol=1e-6)
    assert 0 < slow.calls <= 2 * 5


def test_a_warm_call_imports_locks_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scale, x, out = make_scale(), array(8), tack.zeros(8)
    slow = warmed(scale, x, out, 2.0)
    with only_the_warm_path(monkeypatch):
        for _ in range(200):
            scale(x, out, 3.0)
    assert slow.calls == 0 and out.numpy().tolist() == [3.0 * i for i in range(8)]


@pytest.mark.parametrize("dtype", [tack.f32, tack.f64, tack.i8, tack.u16, tack.i32, tack.i64, tack.u64])
def test_results_and_scalars_of_every_type(dtype: Any) -> None:
    @tack.kernel
    def total(x, a) -> tack.f64:
        for i in range(x.shape[0]):
            x[i] = x[i] + 1
        return x[0] + tack.f64(a)

    @tack.kernel
    def same(x, a) -> int:
        for i in range(x.shape[0]):
            x[i] = a
        return a

    @tack.kernel
    def unsigned(x, a) -> tack.u64:
        for i in range(x.shape[0]):
            x[i] = 1
        return tack.u64(a)

    @tack.kernel
    def more(x, a) -> bool:
        for i in range(x.shape[0]):
            x[i] = 1
        return a > 3

    x = tack.zeros(4, dtype)
    for kernel, values, expected in (
        (total, (1, 1, 1, 1), (2.0, 3.0, 4.0, 5.0)), (same, (5, 6, 7, -8), (5, 6, 7, -8)),
        (unsigned, (1, 2, 3, 4), (1, 2, 3, 4)), (more, (2, 3, 4, 5), (False, False, True, True)),
    ):  # fmt: skip
        found = [kernel(x, value) for value in values]
        assert found == list(expected) and {type(f) for f in found} == {type(e) for e in expected}
        slow = Slow(kernel)
        assert kernel(x, values[0]) is not None and slow.calls == 0
    for value in (2**63, 2**64 - 1):
        assert [unsigned(x, value) for _ in range(4)] == [value] * 4
    empty = tack.zeros(0, dtype)
    for _ in range(3):
        assert same(empty, 9) == 9


def test_bounds_and_sizes_are_read_at_each_call() -> None:
    """M1: a size in the bounds of the loop is of the call, a size in its body of the variant."""

    @tack.kernel
    def corner(a, out):
        for i, j in tack.ndindex(a.shape[0], out.shape[1]):
            out[i, j] = a[i, j] + a.size + out.shape[-1]

    slow = None
    for shape in ((2, 3), (2, 3), (2, 3), (5, 3), (4, 7), (4, 7), (4, 7), (9, 7), (2, 3), (3, 2)):
        a, out = tack.full(shape, 1.0), tack.zeros(shape)
        for _ in range(3):
            out.fill(0)
            corner(a, out)
            assert (out.numpy() == 1 + a.size + shape[1]).all()
        slow = slow or Slow(corner)
    assert 0 < slow.calls < 30
    before = slow.calls
    corner(out, out)
    assert slow.calls == before + 1  # arrays that overlap are another variant


def test_a_range_that_cannot_be_run_is_refused_with_the_same_words() -> None:
    @tack.kernel
    def span(out, first, last, step):
        for i in range(first, last, step):
            out[i] = i

    out = tack.zeros(10, tack.i32)
    warmed(span, out, 0, 10, 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="step"):
            span(out, 0, 10, 0)
        span(out, 9, -1, -1)
        span(out, 3, 3, 1)
    assert out.numpy().tolist() == list(range(10))


@pytest.mark.rule("M3", "M4")
def test_every_check_of_a_call_is_kept() -> None:
    @tack.kernel
    def count(x, out):
        for i in range(x.shape[0]):
            tack.atomic_add(out, i % 2, x[i])

    x, out = array(8, np.int64), tack.zeros(2, tack.i64)
    warmed(count, x, out)
    raw = np.zeros(33, np.uint8)
    values = raw[1:17].view(np.int64)
    odd = tack.array_from_ptr(values.ctypes.data, tack.i64, (2,), writable=True, owner=raw)
    frozen_values = np.zeros(2, np.int64)
    frozen_values.flags.writeable = False
    frozen = tack.from_dlpack(frozen_values)
    for wrong, words in ((odd, "multiple of 8 bytes"), (frozen, "read-only")):
        for _ in range(3):
            with pytest.raises(ValueError, match=words):
                count(x, wrong)
    assert not raw.any() and not frozen_values.any()
    count(odd, out)  # reading is fine


# ------------------------------------------------------------------------------------------------------ both paths agree


class Sub(Array):
    __slots__ = ()


def sub(x: tack.Array) -> tack.Array:
    """An Array whose class is not Array."""
    return Sub(x._buffer, x._dtype, x._logical_shape, x._device)


@tack.device_class
class Thing:
    factor = 2.0

    def __init__(self, data: Any, offset: Any) -> None:
        self.data = data
        self.offset = offset


def kernels() -> dict[str, tack.Kernel]:
    @tack.kernel
    def plain(x, out, a):
        for i in range(out.shape[0]):
            out[i] = x[i] * a

    @tack.kernel
    def baked(x, out, a):
        for i in range(out.shape[0]):
            out[i] = x[x.shape[0] - 1 - i] + a

    @tack.kernel
    def atomic(x, out, a):
        for i in range(x.shape[0]):
            tack.atomic_add(out, 0, x[i])

    @tack.kernel
    def reading(x, out, a) -> float:
        for i in range(out.shape[0]):
            out[i] = x[i]
        return x[0] * 2.0 + a

    @tack.kernel
    def thing(x, out, a):
        for i in range(out.shape[0]):
            out[i] = x.data[i] * x.factor + x.offset + a

    return {"plain": plain, "baked": baked, "atomic": atomic, "reading": reading, "thing": thing}


SCALARS: tuple[Callable[[], Any], ...] = (
    *[lambda v=v: v for v in (2.0, -0.0, float("nan"), 1e300, 3, 0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1)],
    *[lambda v=v: v for v in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30, True, False, None, "a", 1j)],
    *[lambda v=v: v for v in (np.float32(2), np.float64(2), np.int8(3), np.uint64(2**63), np.bool_(1), np.float16(2))],
    lambda: [1.0], lambda: np.arange(3.0), lambda: tack.constant(2.0), lambda: type("F", (float,), {})(2.0),
    lambda: type("I", (int,), {})(2), lambda: array(3),
)  # fmt: skip


def random_call(rng: random.Random, name: str, base: dict[str, np.ndarray]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of one call, views of `base`; most are as a warm call has them."""

    def one(place: int) -> Any:
        data = base[rng.choice(("f4", "f4", "f4", "i4"))]
        n = rng.choice((4, 4, 4, 4, 5, 6, 0))
        at = rng.choice((8 * place, 8 * place, 8 * place, 2))
        kind = rng.choices(("view", "2d", "frozen", "odd", "sub", "other"), (20, 1, 1, 1, 1, 1))[0]
        view = data[at : at + n]
        if kind == "2d":
            view = data[:4].reshape(2, 2)
        elif kind == "odd":
            raw = base["raw"]
            view = raw[1 : 1 + 4 * n].view(data.dtype)
        elif kind == "other":
            return rng.choice(SCALARS)()
        made = tack.array_from_ptr(view.ctypes.data, view.dtype, view.shape, writable=kind != "frozen", owner=base)
        return sub(made) if kind == "sub" else made

    x: Any = one(0)
    if name == "thing" and rng.random() < 0.9:
        x = Thing(x, rng.choice(SCALARS[:8])())
        if rng.random() < 0.1:
            x.factor = rng.choice((2.0, 3.0, np.float32(2)))
        if rng.random() < 0.1:
            x.more = rng.choice((1.0, "text", None))
    args: list[Any] = [x, one(1), rng.choice(SCALARS)() if rng.random() < 0.6 else 2.5]
    kwargs: dict[str, Any] = {}
    match rng.randrange(30):
        case 0:
            args.pop()
        case 1:
            args.append(1)
        case 2:
            kwargs["a"] = args.pop()
        case 3:
            kwargs["no"] = 1
        case 4:
            kwargs["x"] = args[0]
    return tuple(args), kwargs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "baked", "atomic", "reading", "thing"])
def test_both_paths_give_the_same_outcome(name: str) -> None:
    """Random calls, each through Python and then as it comes: the same numbers, or the same error with the same words."""
    kernel, rng = kernels()[name], random.Random(name)
    slow: Slow | None = None
    served = errors = 0

    def outcome() -> Any:
        for code in ("f4", "i4"):
            base[code][:] = np.arange(24) % 7
        base["raw"][:] = 0
        try:
            result = kernel(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)
        return repr(result), [each.tobytes() for each in base.values()]

    for _ in range(1000):
        base = {"f4": np.zeros(24, np.float32), "i4": np.zeros(24, np.int32), "raw": np.zeros(64, np.uint8)}
        args, kwargs = random_call(random.Random(f"{name} {rng.randrange(350)}"), name, base)
        with held():
            expected = outcome()
        before = slow.calls if slow else 0
        for _ in range(3):  # the second describes new arrays
            assert outcome() == expected
        if slow is not None:
            served += 3 - (slow.calls - before)
        elif kernel.native is not None:
            slow = Slow(kernel)
        errors += isinstance(expected[0], type)
    assert served > 400 and errors > 200, (served, errors)


def test_arguments_that_only_python_knows() -> None:
    scale, x, out = make_scale(), array(4), tack.zeros(4)
    slow = warmed(scale, x, out, 2.0)
    for args in ((sub(x), out, 2.0), (x, out, np.float32(2)), (x, out, True), (x, out, np.int64(2))):
        before = slow.calls
        for _ in range(3):
            out.fill(0)
            scale(*args)
            assert out.numpy().tolist() == [float(args[2]) * i for i in range(4)]
        assert slow.calls == before + 3


def test_a_descriptor_that_is_none_is_not_read() -> None:
    scale, x, out = make_scale(), array(4), tack.zeros(4)
    slow = warmed(scale, x, out, 2.0)
    other = array(4)
    other._desc = 5  # what nobody should do
    for _ in range(3):
        scale(other, out, 2.0)
    assert slow.calls == 3 and out.numpy().tolist() == [0, 2, 4, 6]


# --------------------------------------------------------------------------------------- who is asked before the entry


def test_another_device_sends_calls_to_python() -> None:
    """The entry knows no thread: a block of another device on any thread sends all calls to Python, and on that thread there."""
    scale, x, out = make_scale(), array(4), tack.zeros(4)
    slow = warmed(scale, x, out, 2.0)
    other = tack.device("cpu", num_threads=1)
    assert native_mode.word.value == get_backend()._cache.serial
    with tack.device("cpu"):  # the default one
        scale(x, out, 3.0)
        assert slow.calls == 0
        with other:
            scale(x, out, 4.0)
            assert slow.calls == 1 and scale in other._backend._cache
            entered, leave = threading.Event(), threading.Event()

            def wait() -> None:
                with other:
                    entered.set()
                    leave.wait()

            thread = threading.Thread(target=wait)
            thread.start()
            entered.wait()
    scale(x, out, 5.0)
    assert slow.calls == 2
    leave.set()
    thread.join()
    scale(x, out, 6.0)
    assert slow.calls == 2 and out.numpy().tolist() == [0, 6, 12, 18]
    variants = len(other._backend._cache[scale])
    tack.set_default_device(other)
    try:
        for _ in range(3):
            scale(x, out, 7.0)
        before = slow.calls
        scale(x, out, 8.0)
        assert slow.calls == before and len(other._backend._cache[scale]) == variants
    finally:
        tack.set_default_device("cpu")
    assert native_mode.word.value == get_backend()._cache.serial
    before = slow.calls
    scale(x, out, 9.0)
    assert slow.calls == before and out.numpy().tolist() == [0, 9, 18, 27]


def test_debug_mode_recorders_and_forced_fan_outs_send_calls_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    @tack.kernel
    def shifted(x, out):
        for i in range(out.shape[0]):
            out[i] = x[i + 1]

    x, out = array(9), tack.zeros(8)
    slow = warmed(shifted, x, out)
    tack.set_debug(True)
    try:
        with pytest.raises(IndexError, match="index 9"):
            shifted(x, tack.zeros(9))
    finally:
        tack.set_debug(False)
    assert slow.calls == 1
    seen = []
    launch = tack.hooks.slots.launch
    with monkeypatch.context() as patch:
        patch.setattr(tack.hooks.slots, "launch", lambda *call: (seen.append(call), launch(*call))[1])
        shifted(x, out)
    assert len(seen) == 1 and seen[0][0] is shifted
    with tack.device("cpu", num_threads=2) as device, force_fanout() as forced:
        for _ in range(4):
            shifted(x, out)
    assert forced.worker_chunks > 0 and device._backend is not get_backend()
    before = slow.calls
    shifted(x, out)
    assert slow.calls == before and out.numpy().tolist() == list(range(1, 9))


def test_a_launch_is_measured_every_64th_time_unless_it_is_short_by_its_code() -> None:
    @tack.kernel
    def loops(x, n):
        for i in range(x.shape[0]):
            for _ in range(n):
                x[i] = x[i] + 1.0

    @tack.kernel
    def short(x, n):
        for i in range(x.shape[0]):
            x[i] = x[i] + 1.0

    device = tack.device("cpu", num_threads=2)
    tack.set_default_device(device)
    try:
        x = tack.zeros(4)
        calls = {}
        for kernel in (loops, short):
            for _ in range(5):
                kernel(x, 1)
            slow = Slow(kernel)
            for _ in range(64 * 5):
                kernel(x, 1)
            calls[kernel] = slow.calls
        assert calls == {loops: 5, short: 0}
        assert x.numpy().tolist() == [650.0] * 4
        long = tack.zeros(100_000)  # more than what was measured speaks for
        for _ in range(5):
            loops(long, 1)
        assert (long.numpy() == 5).all()
    finally:
        tack.set_default_device("cpu")


# ------------------------------------------------------------------------------------------------------ objects and classes


def test_objects_are_expanded_and_served() -> None:
    kernel, x, out = kernels()["thing"], array(4), tack.zeros(4)
    thing = Thing(x, 1.0)
    slow = warmed(kernel, thing, out, 0.5)
    for offset in (2.0, 3.0):
        thing.offset = offset
        kernel(thing, out, 0.5)
        assert out.numpy().tolist() == [2 * i + offset + 0.5 for i in range(4)]
    assert slow.calls == 0
    other = Thing(array(4), 4.0)
    for _ in range(3):
        kernel(other, out, 0.5)
    assert slow.calls == 1  # whose array had no descriptor
    for change in (
        lambda: setattr(thing, "factor", 3.0), lambda: setattr(thing, "data", array(5)), lambda: setattr(Thing, "factor", 5.0),
        lambda: delattr(thing, "factor"), lambda: setattr(thing, "note", 1), lambda: setattr(thing, "note", None),
        lambda: setattr(thing, "data", array(4, np.int32)), lambda: setattr(Thing, "factor", 2.0),
        lambda: setattr(thing, "__class__", type("Other", (Thing,), {"factor": 7.0})), lambda: setattr(thing, "offset", 2),
    ):  # fmt: skip
        change()
        data, factor, offset = thing.data.numpy()[:4].astype(np.float32), np.float32(thing.factor), np.float32(thing.offset)
        expected = data * factor + offset + np.float32(0.5)
        for _ in range(4):
            kernel(thing, out, 0.5)
            assert out.numpy().tolist() == expected.tolist()
        before = slow.calls
        kernel(thing, out, 0.5)
        assert slow.calls == before


def test_a_class_made_per_call_is_collected_with_what_the_entry_knows_of_it() -> None:
    kernel, out = kernels()["thing"], tack.zeros(2)
    gone = []
    for factor in (2.0, 3.0, 4.0):
        cls = type("Thing", (Thing,), {"factor": factor})
        thing = cls(array(2), 1.0)
        for _ in range(4):
            kernel(thing, out, 0)
            assert out.numpy().tolist() == [1.0, 1.0 + factor]
        gone += [weakref.ref(cls), *(weakref.ref(v.payload.code) for v in get_backend()._cache[kernel].values())]
        del cls, thing
        gc.collect()
        assert [ref() for ref in gone] == [None] * len(gone)
    assert kernel.native.plan.objects is None and not kernel.native.expanded


# ---------------------------------------------------------------------------------------------------- lifetimes, threads


def test_variants_that_are_dropped_are_not_served() -> None:
    scale, x, out = make_scale(), array(4), tack.zeros(4)
    slow = warmed(scale, x, out, 2.0)
    code = [weakref.ref(v.payload.code) for v in get_backend()._cache[scale].values()]
    drop_variants(scale, lambda key: True)
    gc.collect()
    assert [ref() for ref in code] == [None] and scale.native.plan.records == ()
    for _ in range(3):
        scale(x, out, 3.0)
    assert slow.calls == 2 and len(scale.native.plan.records) == 1
    other = tack.device("cpu", num_threads=1)
    tack.set_default_device(other)
    for _ in range(3):
        scale(x, out, 3.0)
    tack.set_default_device("cpu")
    assert len(scale.native.plan.records) == 2
    del other
    gc.collect()
    assert len(scale.native.plan.records) == 1


def test_a_plan_keeps_the_latest_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_entry, "MAX_RECORDS", 3)

    @tack.kernel
    def fill(out, a, b):
        for i in range(out.shape[0]):
            out[i] = a + b

    out = tack.zeros(2, dtype=tack.f64)
    for a in (1, 2**40, 2.0):
        for b in (1, 2**40, 2.0):
            for _ in range(3):
                fill(out, a, b)
                assert out[0] == float(a + b)
    assert len(fill.native.plan.records) == 3
    for a in (1, 2**40, 2.0):
        fill(out, a, a)
        assert out[0] == float(2 * a)


def test_a_kernel_and_its_code_go_by_counting_alone() -> None:
    gc.collect()
    gc.disable()
    try:
        for make, first in ((make_scale, array(4)), (lambda: kernels()["thing"], Thing(array(4), 1.0))):
            kernel, out = make(), tack.zeros(4)
            for _ in range(4):
                kernel(first, out, 2.0)
            gone = [weakref.ref(kernel), *(weakref.ref(v.payload.code) for v in get_backend()._cache[kernel].values())]
            served = kernel.func
            del kernel
            assert gone[0]() is None and served.__name__
            del served
            assert [ref() for ref in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_references_do_not_drift_over_20_000_calls() -> None:
    scale, thing = make_scale(), kernels()["thing"]
    x, out, number = array(4), tack.zeros(4), 1234567.5
    held_by = Thing(x, number)
    warmed(scale, x, out, number)
    warmed(thing, held_by, out, number)
    plan = scale.native.plan
    watched = (x, out, number, held_by, None, scale.func, plan, plan.records[0], native_entry.MISS, x._desc)
    odd = (x, out, True)

    def counts() -> list[int]:
        return [sys.getrefcount(each) for each in watched]

    before, blocks = counts(), sys.getallocatedblocks()
    for k in range(20_000):
        scale(x, out, number)
        thing(held_by, out, number)
        if k % 50 == 0:
            scale(*odd)
            with contextlib.suppress(TypeError):
                scale(x, out)
    gc.collect()
    after = counts()
    assert all(abs(b - a) < 300 for a, b in zip(before, after, strict=True)), (before, after)  # None is everywhere
    assert sys.getallocatedblocks() - blocks < 500


def long_kernel() -> tack.Kernel:
    @tack.kernel
    def long(x, n):
        for i in range(x.shape[0]):
            for _ in range(n):
                x[i] = x[i] * 0.5 + 1.0

    return long


def test_dropped_while_a_thread_is_inside() -> None:
    """The thread holds its record, and with it the code, until it comes out; the interpreter's lock is free meanwhile."""
    seen = 0
    for _ in range(5):
        kernel, x = long_kernel(), tack.zeros(1)
        warmed(kernel, x, 1)
        (record,) = kernel.native.plan.records
        outside = sys.getrefcount(record)
        gone = [weakref.ref(kernel), weakref.ref(record.keep.keep.code)]
        thread = threading.Thread(target=kernel, args=(x, 20_000_000))
        thread.start()
        while thread.is_alive() and sys.getrefcount(record) <= outside:
            pass
        drop_variants(kernel, lambda key: True)
        seen += sys.getrefcount(record) == outside  # the plan has let go of it, the thread has not
        del record, kernel
        thread.join()
        del thread
        gc.collect()
        assert [ref() for ref in gone] == [None, None] and x[0] == 2.0
    assert seen


@pytest.mark.slow
@pytest.mark.spec("cache-120")
def test_threads_call_while_variants_come_and_go() -> None:
    scale, loops = make_scale(), long_kernel()
    thing = kernels()["thing"]
    wrong: list[Any] = []
    working = 6

    def work(seed: int) -> None:
        nonlocal working
        try:
            n = 3 + seed
            dtype = (np.float32, np.float64, np.int32)[seed % 3]
            x, out = array(n, dtype), tack.array(np.zeros(n, dtype))
            held_by, y = Thing(x, 1), tack.zeros(1)
            for k in range(4000):
                a = k % 5
                scale(x, out, a)
                if out[n - 1] != (n - 1) * a:
                    wrong.append((seed, k, "scale"))
                if k % 8 == 0:
                    thing(held_by, out, a)
                    if out[n - 1] != 2 * (n - 1) + 1 + a:
                        wrong.append((seed, k, "thing"))
                    loops(y, 3)
        except Exception as error:
            wrong.append(error)
        finally:
            working -= 1

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    dtypes = (np.int8, np.int16, np.uint8)
    while working > 0:
        for dtype in dtypes:
            x, out = array(4, dtype), tack.array(np.zeros(4, dtype))
            for _ in range(3):
                scale(x, out, 2)
            assert out.numpy().tolist() == [0, 2, 4, 6]
            for kernel in (scale, loops, thing):
                drop_variants(kernel, lambda key: True)
        threads[0].join(0.2)
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_served() -> None:
    scale, x, out = make_scale(), array(4), tack.zeros(4)
    slow = warmed(scale, x, out, 2.0)
    entered, leave = threading.Event(), threading.Event()

    def wait() -> None:
        with tack.device("cpu", num_threads=1):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    entered.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of what this test is about
        child = os.fork()
    if child == 0:
        code = 1
        try:
            scale(x, out, 3.0)  # the thread that was on another device is not here
            code = 2 if slow.calls else 0 if out.numpy().tolist() == [0, 3, 6, 9] else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    leave.set()
    thread.join()
    scale(x, out, 4.0)
    assert out.numpy().tolist() == [0, 4, 8, 12]


# --------------------------------------------------------------------------------------------- where it does not work


PROGRAM = """
    import numpy as np, tack
    from tack.runtime import native_entry
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a
    BEFORE
    x, out = tack.array(np.arange(4, dtype=np.float32)), tack.zeros(4)
    for k in range(5):
        scale(x, out, float(k))
        assert out.numpy().tolist() == [0, k, 2 * k, 3 * k]
    print(scale.native is None, native_entry.entry() is None)
"""


def test_a_variable_turns_it_off() -> None:
    assert run_program(PROGRAM.replace("BEFORE", ""), TACK_NATIVE_DISPATCH="0") == "True True"
    assert run_program(PROGRAM.replace("BEFORE", ""), TACK_NATIVE_DISPATCH="") == "False False"


def test_a_bad_variable_is_named_before_anything_runs() -> None:
    code = """
        import tack
        @tack.kernel
        def fill(x, a):
            for i in range(x.shape[0]):
                x[i] = a
        x = tack.zeros(4)
        try:
            fill(x, 2.0)
        except ValueError as error:
            print("TACK_NATIVE_DISPATCH" in str(error), x.sum())
    """
    assert run_program(code, TACK_NATIVE_DISPATCH="maybe") == "True 0.0"


@pytest.mark.parametrize(
    "surprise",
    [
        "native_entry._word_at = lambda address: 0",
        "native_entry._test = lambda made: 1 / 0",
        "import types; native_entry.sys = types.SimpleNamespace(implementation=types.SimpleNamespace(name='other'))",
        "native_entry.arrays.DESC_KIND = 20",
        "import tack.runtime.cpu_jit as jit; jit.target_key = None",
    ],
)
def test_any_surprise_leaves_calls_to_python(surprise: str) -> None:
    assert run_program(PROGRAM.replace("BEFORE", surprise)) == "True True"


def test_the_text_of_the_entry_holds_no_address() -> None:
    """It is cached on the disk: what differs from process to process is data."""
    first, second = (run_program("""
        from tack.codegen import llvm_entry
        from tack.runtime import native_entry
        print(hash(1), llvm_entry.emit_entry(native_entry._offsets()))
    """) for _ in range(2))  # fmt: skip
    assert first == second and llvm_entry.ENTRY in first


def test_it_is_built_once_and_comes_from_the_disk(tmp_path: Any) -> None:
    code = """
        import numpy as np, tack
        from tack.runtime import cpu_jit, native_entry
        built, emit = [], cpu_jit.emit_object
        cpu_jit.emit_object = lambda text, *args, **kw: (built.append("tack_entry" in text), emit(text, *args, **kw))[1]
        @tack.kernel
        def fill(x, a):
            for i in range(x.shape[0]):
                x[i] = a
        @tack.kernel
        def other(x, a):
            for i in range(x.shape[0]):
                x[i] = a + 1.0
        x = tack.zeros(4)
        for kernel in (fill, other):
            for k in range(3):
                kernel(x, 2.0)
        assert x.numpy().tolist() == [3.0] * 4
        print(sum(built), fill.native is not None and other.native is not None)
    """
    environment = {"TACK_CACHE": "write", "TACK_CACHE_DIR": str(tmp_path / "cache")}
    assert [run_program(code, **environment) for _ in range(2)] == ["1 True", "0 True"]
