"""Threads, two GPUs and event loops on simulated devices: each call runs with its own arguments, each wait in its place."""

import asyncio
import gc
import threading

import numpy as np
import pytest
from cuda.bindings import driver
from simulated import simulated_cuda

import tack
import tack_sim
from tack.hooks import slots
from tack.runtime import device as devices
from tack.runtime.cuda_driver import CudaDevice

THREADS = 8


@tack.kernel
def affine(x, out, a, b):
    for i in range(x.shape[0]):
        out[i] = x[i] * a + b


@tack.kernel
def shifted(x, first) -> float:
    """Its prologue reads what iterations store to: another thread's carried values would show."""
    start = x[0] + first
    for i in range(x.shape[0]):
        x[i] = start + i
    return x[x.shape[0] - 1] - start


@pytest.fixture(scope="module")
def gpus():
    return simulated_cuda(2)


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    monkeypatch.setattr(devices, "_default", None)


@pytest.fixture(autouse=True)
def _nothing_is_reported(gpus):
    before = tack_sim.reports()
    yield
    tack.sync()
    assert tack_sim.reports() == before


def current_on(gpu):
    """Makes the device's context current on this thread, as the documentation has it."""
    _, cu_device = driver.cuDeviceGet(gpu.index)
    _, primary = driver.cuDevicePrimaryCtxRetain(cu_device)
    (code,) = driver.cuCtxSetCurrent(primary)
    assert not code
    driver.cuDevicePrimaryCtxRelease(cu_device)  # the device keeps it


def together(*works):
    """Runs these at once, each on a thread of its own; raises what the first of them raised."""
    failed = []
    start = threading.Barrier(len(works))

    def run(work):
        try:
            start.wait(60)
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    for error in failed:
        raise error


# --------------------------------------------------------------------------------------------------------------- threads


@pytest.mark.spec("back-105", "back-106", "back-102", "back-103")
def test_each_thread_gets_its_own_results(gpus):
    """One kernel, scalars and arrays of each thread's own, of three lengths and two types; no wait between the calls."""

    def work(k):
        current_on(gpus[0])
        rng = np.random.default_rng(k)
        calls = []
        for n in range(24):
            x = rng.integers(-50, 50, (3, 300, 1000)[n % 3]).astype((np.float32, np.float64)[n % 2])
            a, b = float(100 * k + n), -float(k)
            out = tack.empty(len(x), x.dtype, device=gpus[0])
            affine(tack.array(x, device=gpus[0]), out, a, b)
            calls.append((x, a, b, out))
        for x, a, b, out in calls:
            np.testing.assert_array_equal(out.numpy(), x * x.dtype.type(a) + x.dtype.type(b))

    together(*(lambda k=k: work(k) for k in range(THREADS)))


@pytest.mark.spec("back-105")
@pytest.mark.rule("K2", "K6")
def test_threads_with_results_and_prologues_of_their_own(gpus):
    def work(k):
        current_on(gpus[0])
        for n in range(12):
            size = (40, 500)[k % 2]  # it is baked in
            x = tack.full(size, float(k), device=gpus[0])
            assert shifted(x, float(n)) == size - 1
            assert x.numpy().tolist() == [float(k + n + i) for i in range(size)]

    together(*(lambda k=k: work(k) for k in range(THREADS)))


@pytest.mark.spec("back-105")
def test_variants_may_be_dropped_while_threads_call(gpus):
    """A launch that is queued keeps its module and its pack, whoever forgets the variant meanwhile."""
    x = {dtype: tack.arange(500, dtype=dtype, device=gpus[0]) for dtype in (tack.f32, tack.i32)}
    dropped = []

    def work(k):
        current_on(gpus[0])
        dtype = (tack.f32, tack.i32)[k % 2]
        outs = [tack.empty(500, dtype, device=gpus[0]) for _ in range(9)]
        for n, out in enumerate(outs):
            affine(x[dtype], out, k + 1, n)
            if k == n and k < 3:
                slots.drop_variants(affine, lambda key: True)
                gc.collect()
                dropped.append(k)
        for n, out in enumerate(outs):
            assert out.numpy().tolist() == [i * (k + 1) + n for i in range(500)]

    together(*(lambda k=k: work(k) for k in range(THREADS)))
    assert sorted(dropped) == [0, 1, 2]


@pytest.mark.spec("back-105")
def test_kernels_made_and_forgotten_by_threads(gpus):
    """Each thread's kernel has one name, and another constant."""

    def work(k):
        current_on(gpus[0])
        out = tack.zeros(300, tack.i64, device=gpus[0])
        for n in range(2):
            namespace = {"tack": tack, "ADDED": tack.constant(10 * k + n)}

            @tack.kernel(namespace=namespace)
            def add(out):
                for i in range(out.shape[0]):
                    out[i] += ADDED  # noqa: F821 (in the namespace)

            add(out)
            del add
        assert out.numpy().tolist() == [20 * k + 1] * 300

    together(*(lambda k=k: work(k) for k in range(4)))
    gc.collect()


# -------------------------------------------------------------------------------------------------------- two simulated GPUs


@pytest.mark.spec("back-029", "back-030", "back-032", "back-010")
def test_each_gpu_compiles_its_own_kernels(gpus, monkeypatch):
    assert tack.device_count("cuda") == 2 and tack.device("cuda:1") is gpus[1]

    @tack.kernel
    def fresh(x, n):
        for i in range(x.shape[0]):
            x[i] += n

    compiled, compile_ = [], CudaDevice.compile
    monkeypatch.setattr(CudaDevice, "compile", lambda self, *args: compiled.append(self.index) or compile_(self, *args))
    arrays = [tack.zeros(300, device=gpu) for gpu in gpus]
    for _ in range(2):
        for k, x in enumerate(arrays):
            fresh(x, float(k + 1))
    assert compiled == [0, 1]
    first, second = (next(iter(gpu._backend._cache[fresh].values())) for gpu in gpus)
    assert first is not second and first.payload.backend is gpus[0]._backend and second.payload.backend is gpus[1]._backend
    assert [set(x.numpy()) for x in arrays] == [{2.0}, {4.0}]


@pytest.mark.spec("back-022", "back-033")
def test_arrays_of_two_gpus_are_refused_and_moved_through_the_host(gpus, monkeypatch):
    x, out = tack.arange(300, dtype=tack.f32, device=gpus[0]), tack.zeros(300, device=gpus[1])
    for _ in range(2):
        with pytest.raises(ValueError, match="array 'x' is on cuda:0 and array 'out' on cuda:1") as error:
            affine(x, out, 2.0, 1.0)
        assert "'affine'" in str(error.value) and "to_device" in str(error.value)
    for other in (tack.zeros(300), tack.zeros(300, device="cpu")):
        with pytest.raises(ValueError, match="share no memory"):
            affine(x, other, 2.0, 1.0)
    moves = []
    for name in ("copy_in", "copy_out", "copy"):
        real = getattr(CudaDevice, name)
        monkeypatch.setattr(CudaDevice, name, lambda self, *a, n=name, r=real: moves.append((n, self.index)) or r(self, *a))
    affine(x, x, 2.0, 1.0)  # is in the queue when the copy is asked for
    there = x.to_device(tack.device("cuda:1"))
    assert [move for move in moves if move != ("copy_in", 0)] == [("copy_out", 0), ("copy_in", 1)]
    affine(there, out, 1.0, 0.0)
    assert out.device is there.device is gpus[1] and out.numpy().tolist() == [2.0 * i + 1 for i in range(300)]
    assert there.to_device("cuda:1") is there


@pytest.mark.spec("back-031")
def test_a_bare_cuda_is_the_gpu_of_the_threads_context(gpus):
    found = {}

    def work(k):
        current_on(gpus[k])
        device = tack.device("cuda")
        x = tack.full(300, 2.0, device="cuda")
        affine(x, x, 3.0, float(k))
        found[k] = device, x.device, set(x.numpy())
        _, current = driver.cuCtxGetCurrent()
        assert int(current) == gpus[k].memory.api.context, "it stays the thread's"

    together(lambda: work(0), lambda: work(1))
    assert found == {k: (gpus[k], gpus[k], {6.0 + k}) for k in (0, 1)}


@pytest.mark.spec("back-027", "back-028", "back-105")
def test_threads_use_two_gpus_at_once(gpus):
    """Four threads on each, and some whose context is that of the other one; a wait for all waits for both."""

    def work(k):
        gpu = gpus[k % 2]
        current_on(gpus[k // 2 % 2])
        x, out = tack.arange(300, dtype=tack.f32, device=gpu), tack.empty(300, device=gpu)
        for n in range(10):
            affine(x, out, float(n), float(k))
        if k < 2:
            tack.sync()
        else:
            gpu.synchronize()
        assert out.numpy().tolist() == [9.0 * i + k for i in range(300)]

    together(*(lambda k=k: work(k) for k in range(THREADS)))


# ------------------------------------------------------------------------------------------------------------ event loops


@pytest.mark.spec("back-069")
@pytest.mark.parametrize(("method", "task"), [("wait", "sync_async"), ("copy_out", "numpy_async")])
def test_the_event_loop_turns_while_a_worker_waits(gpus, monkeypatch, method, task):
    """The wait ends only when the loop has turned a hundred times after it began: a wait in the loop's thread never would."""
    began, may_end = threading.Event(), threading.Event()
    threads, real = [], getattr(CudaDevice, method)

    def slow(self, *args):
        threads.append(threading.get_ident())
        began.set()
        assert may_end.wait(20), "the loop does not turn"
        return real(self, *args)

    x = tack.ones(300, device=gpus[0])
    affine(x, x, 2.0, 1.0)
    monkeypatch.setattr(CudaDevice, method, slow)

    async def main():
        waiting = asyncio.create_task(tack.sync_async() if task == "sync_async" else x.numpy_async())
        beats = 0
        while not began.is_set() or beats < 100:
            beats += began.is_set()
            await asyncio.sleep(0)
        assert not waiting.done()
        may_end.set()
        return await waiting

    values = asyncio.run(main())
    assert threads and threading.get_ident() not in threads
    assert (values is None) if task == "sync_async" else (values == 3).all()


@pytest.mark.spec("back-067", "back-069")
def test_several_tasks_wait_at_once(gpus):
    """Each gets the values of its own array, of either GPU; an error in a task is that of its wait."""
    arrays = [tack.full(300, float(k), device=gpus[k % 2]) for k in range(6)]

    async def main():
        for k, x in enumerate(arrays):
            affine(x, x, 2.0, float(k))
        return await asyncio.gather(tack.sync_async(), *(x.numpy_async() for x in arrays))

    _, *values = asyncio.run(main())
    assert [set(each) for each in values] == [{3.0 * k} for k in range(6)]
