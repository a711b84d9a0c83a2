"""The caches under threads: one lowering however many miss together, duplicate compiles that are right, no lock when warm."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import thread_storm
from key_tools import array, both_counts, like

import tack
from tack import forks
from tack.lang import kernel as kernel_module
from tack.runtime import kernel_utils
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import kernel_cache_slot, new_kernel_cache

N = 8  # threads
TIMEOUT = 60


def together(work: Callable[[int], Any], n: int = N) -> list[Any]:
    """What `work(0)` to `work(n - 1)` return, on `n` threads that begin together; raises what one of them raised."""
    barrier, results, errors = threading.Barrier(n), [None] * n, []

    def run(k: int) -> None:
        try:
            barrier.wait(TIMEOUT)
            results[k] = work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(n)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + TIMEOUT
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]
    return results


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    return scale


def make_dot() -> tack.Kernel:
    @tack.kernel
    def dot(v, out):
        for i in range(v.shape[0]):
            out[i] = v[i].dot(v[i])

    return dot


def make_reads() -> tack.Kernel:
    @tack.kernel
    def reads(s, out):
        for i in range(out.shape[0]):
            out[i] = s.value * 2

    return reads


@tack.device_class
class Holder:
    def __init__(self, value: float) -> None:
        self.value = value


# ----------------------------------------------------------------------------------------------------------- lowering


class _MeetingPoint:
    """Stands for `_transform_lock`, and knows when `n` threads have come to it: each has then missed the cache."""

    def __init__(self, n: int) -> None:
        self.lock, self.arrived, self.n = threading.RLock(), set[int](), n
        self.all_here = threading.Event()

    def __enter__(self) -> None:
        self.arrived.add(threading.get_ident())
        if len(self.arrived) == self.n:
            self.all_here.set()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


@pytest.mark.spec("cache-121")
@pytest.mark.parametrize("kind", ["a plain kernel", "vectors", "an object"])
def test_a_template_is_lowered_once_however_many_threads_miss(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lowering ends only after every thread has missed and stands at the lock: a cache that did not look again there
    would lower once for each."""
    meeting, lowered = _MeetingPoint(N), []
    lower = tack.Kernel._lower

    def lower_last(self: tack.Kernel, call: Any) -> Any:
        assert meeting.all_here.wait(TIMEOUT), "not all threads have missed"
        lowered.append(self)
        return lower(self, call)

    monkeypatch.setattr(kernel_module, "_transform_lock", meeting)
    monkeypatch.setattr(tack.Kernel, "_lower", lower_last)
    scale, dot, reads = make_scale(), make_dot(), make_reads()

    def work(k: int) -> list[float]:
        if kind == "a plain kernel":
            x = array(4, dtype=(np.float32, np.float64)[k % 2])
            out = like(x)
            scale(x, out, 2.0 * k)
        elif kind == "vectors":
            out = tack.zeros(3)
            dot(tack.full(3, k, tack.vec3), out)
        else:
            out = tack.zeros(2)
            reads(Holder(float(k)), out)
        return out.numpy().tolist()

    expected = {
        "a plain kernel": lambda k: [2.0 * k * i for i in range(4)], "vectors": lambda k: [3.0 * k * k] * 3,
        "an object": lambda k: [2.0 * k] * 2,
    }[kind]  # fmt: skip
    assert together(work) == [expected(k) for k in range(N)]
    kernel = {"a plain kernel": scale, "vectors": dot, "an object": reads}[kind]
    assert lowered == [kernel] and kernel.lowerings == 1 and both_counts(kernel)[1] == 1


@pytest.mark.spec("cache-121")
def test_templates_of_different_keys_are_lowered_once_each() -> None:
    for _ in range(5):
        dot = make_dot()
        widths = [2 + k % 3 for k in range(N)]

        def work(k: int, dot: tack.Kernel = dot, widths: list[int] = widths) -> float:
            out = tack.zeros(1)
            dot(tack.ones(1, tack.vec(widths[k])), out)
            return out[0]

        assert together(work) == widths
        assert dot.lowerings == 3 and both_counts(dot) == (3, 3)


def test_a_lowering_that_fails_leaves_the_lock_and_fails_again_alike() -> None:
    @tack.kernel
    def wrong(x):
        for i in range(x.shape[0]):
            x[i] = nothing_of_this_name

    x = array(3)

    def work(k: int) -> str:
        with pytest.raises(NameError, match="nothing_of_this_name") as caught:
            wrong(x)
        return str(caught.value)

    assert len(set(together(work))) == 1
    assert together(lambda k: both_counts(make_scale()), 2) == [(0, 0)] * 2
    scale = make_scale()
    scale(x, like(x), 2.0)


# ---------------------------------------------------------------------------------------------------------- compiling


@pytest.mark.spec("cache-123", "cache-124", "cache-125")
def test_threads_that_miss_on_one_key_both_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are inside the build at once, so no lock is around it; each returns the variant it built, and one stays."""
    scale, n = make_scale(), 3
    scale.template()
    inside = threading.Barrier(n)
    build, built = kernel_utils._build_variant, []

    def build_together(*args: Any, **kwargs: Any) -> Any:
        inside.wait(TIMEOUT)
        variant = build(*args, **kwargs)
        built.append((threading.get_ident(), variant))
        inside.wait(TIMEOUT)
        return variant

    monkeypatch.setattr(kernel_utils, "_build_variant", build_together)
    backend = get_backend()

    def work(k: int) -> tuple[int, Any, list[float]]:
        x = array(4)
        out = like(x)
        variant = backend.resolve(scale, (x, out, float(k)))
        backend.launch(variant, (x, out, float(k)))
        return threading.get_ident(), variant, out.numpy().tolist()

    found = together(work, n)
    assert len({id(variant) for _, variant in built}) == n
    assert {thread: id(variant) for thread, variant, _ in found} == {thread: id(variant) for thread, variant in built}
    assert [numbers for *_, numbers in found] == [[k * i for i in range(4)] for k in range(n)]
    (kept,) = backend._cache[scale].values()
    assert any(kept is variant for _, variant in built)


@pytest.mark.spec("cache-124", "cache-107")
def test_no_thread_replaces_the_slot_of_another() -> None:
    """Each stores into the dictionary it was given; all of it must be in the one that stays."""
    for _ in range(50):
        kernel, cache = make_scale(), new_kernel_cache()

        def work(k: int, kernel: tack.Kernel = kernel, cache: Any = cache) -> None:
            kernel_cache_slot(cache, kernel)[k] = "a variant"  # type: ignore[index]

        together(work)
        assert sorted(cache[kernel]) == list(range(N))


@pytest.mark.spec("cache-124", "cache-125")
def test_first_calls_on_many_threads_give_right_numbers() -> None:
    for _ in range(3):
        scale = make_scale()

        def work(k: int, scale: tack.Kernel = scale) -> list[float]:
            x = array(4, dtype=(np.float32, np.float64, np.int32)[k % 3])
            out = like(x)
            scale(x, out, (2.0, 3)[k % 2])
            return out.numpy().tolist()

        assert together(work) == [[(2.0, 3)[k % 2] * i for i in range(4)] for k in range(N)]
        assert both_counts(scale) == (6, 1)


# ---------------------------------------------------------------------------------------------------------- the warm path


@contextlib.contextmanager
def all_locks_held(kernels: Sequence[tack.Kernel]) -> Iterator[int]:
    """Inside, this thread holds every lock of Tack's that outlives a call; the number of them."""
    with contextlib.ExitStack() as stack:
        locks: list[Any] = [lock for _, lock in forks._held]
        locks += [variant.dispatch_lock for kernel in kernels for variant in get_backend()._cache[kernel].values()]
        for lock in locks:
            stack.enter_context(lock)
        yield len(locks)


@pytest.mark.spec("cache-120")
def test_a_warm_call_waits_for_no_lock() -> None:
    """While one thread holds every lock, the others' warm calls return."""
    scale, dot, reads = make_scale(), make_dot(), make_reads()
    x, v, s = array(4), tack.ones(2, tack.vec3), Holder(3.0)

    def work(k: int) -> list[Any]:
        a, b, c = like(x), tack.zeros(2), tack.zeros(2)
        scale(x, a, 2.0)
        scale(x, a, a=2.0)
        dot(v, b)
        reads(s, c)
        return [each.numpy().tolist() for each in (a, b, c)]

    expected = [[0, 2, 4, 6], [3, 3], [6, 6]]
    tack.set_default_device(tack.device("cpu", num_threads=1))  # what a fan-out takes is the pool's affair
    try:
        assert [work(k) for k in range(3)] == [expected] * 3
        with all_locks_held((scale, dot, reads)) as held:
            assert held >= len(forks._held) + 3
            assert together(work) == [expected] * N
    finally:
        tack.set_default_device("cpu")


# -------------------------------------------------------------------------------------------------------------- storms


@pytest.mark.spec("cache-120", "cache-122", "cache-123", "cache-125", "cache-152")
@pytest.mark.parametrize("way", thread_storm.WAYS)
def test_threads_that_call_while_classes_go_and_variants_are_dropped(way: str) -> None:
    storm = thread_storm.Storm(threads=4, calls=60, way=way, upset=25).run()
    assert not storm.errors and not storm.wrong
    assert storm.dropped and not storm.classes


@pytest.mark.slow
@pytest.mark.spec("cache-120", "cache-122", "cache-123", "cache-125", "cache-152")
@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("way", thread_storm.WAYS)
def test_eight_threads_make_a_hundred_thousand_calls_each(way: str, native: str) -> None:
    command = [sys.executable, thread_storm.__file__, "--threads=8", "--calls=100000", f"--way={way}", "--upset=10000"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TACK_NATIVE_DISPATCH": native}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("800000 calls, ")
