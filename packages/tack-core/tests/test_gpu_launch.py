"""How GPU backends launch, whatever their make: packs and their lock, limits, results, what launches not at all, and where."""

import asyncio
import struct
import threading

import pytest
from gpu_fake import LateGpu, late_devices

import tack
from tack.lang.kernel import MISS
from tack.runtime import dispatch, launch_checks
from tack.runtime.dispatch import get_backend
from tack.runtime.launch_ranges import launch_ranges


@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


@tack.kernel
def last(x) -> tack.f32:
    for i in range(x.size):
        x[i] = 1
    return x[0]


@tack.kernel
def less_first(x, out):
    first = x[0]
    for i in range(out.size):
        out[i] = x[i] - first


@tack.kernel
def ask(n):
    for i in range(n):
        pass


@tack.kernel
def gather(x):
    kept = tack.shared(tack.f32, 256)
    for i in range(x.size):
        kept[tack.thread_id()] = x[i]
        tack.barrier()
        x[i] = kept[255 - tack.thread_id()]


@pytest.fixture
def gpus():
    return LateGpu(0), LateGpu(1)


@pytest.fixture
def on(monkeypatch, gpus):
    return late_devices(monkeypatch, *gpus)


def packs(gpu):
    """The packs of the launches that have run."""
    return [launch.memory[-1] for launch in gpu.launches]


# ------------------------------------------------------------------------------------------------------------ queueing


@pytest.mark.spec("back-063", "cache-009", "cache-040", "cache-095")
def test_a_call_returns_when_its_launch_is_queued(on, gpus):
    x = tack.ones(300, device=on[0])
    out = tack.empty_like(x)
    scale(x, out, 2.5)
    scale(x, out, 3.5)
    assert gpus[0].launches == [] and "wait" not in gpus[0].calls
    tack.sync()
    first, second = gpus[0].launches
    assert first.words[:2] == (x._buffer.address, out._buffer.address) and first.grid == (2, 1, 1)
    assert struct.pack("<f", 2.5) in packs(gpus[0])[0] and struct.pack("<f", 3.5) in packs(gpus[0])[1]


@pytest.mark.spec("cache-007")
def test_a_pack_is_written_when_it_changes(on, gpus):
    x = tack.ones(300, device=on[0])
    out = tack.empty_like(x)
    for factor in (2.0, 2.0, 2.0, 4.0, 2.0):
        scale(x, out, factor)
    tack.sync()
    assert gpus[0].calls.count("copy_in") == 3
    found = [
        struct.unpack("<f", pack[pack.index(struct.pack("<f", f)) :][:4])[0] for f, pack in zip((2, 2, 2, 4, 2), packs(gpus[0]))
    ]
    assert found == [2, 2, 2, 4, 2]
    variant = next(iter(on[0]._backend._cache[scale].values()))
    assert [p.name for p in variant.ir.params] == ["x", "out", "factor"], "the IR kept is that before packing"


@pytest.mark.spec("cache-014", "cache-126", "cache-127", "back-105", "back-106")
def test_threads_that_call_one_kernel_take_turns(on, gpus, monkeypatch):
    """The lock is held from the update of the pack to the launch, so that each launch sees its own scalar."""
    x = tack.ones(300, device=on[0])
    out = tack.empty_like(x)
    scale(x, out, 0.0)
    launch, copy_in = LateGpu.launch, LateGpu.copy_in
    variant = next(iter(on[0]._backend._cache[scale].values()))

    def held(method):
        def check(self, *args):
            assert variant.dispatch_lock.locked()
            return method(self, *args)

        return check

    monkeypatch.setattr(LateGpu, "launch", held(launch))
    monkeypatch.setattr(LateGpu, "copy_in", held(copy_in))
    calls = []

    def work(k):
        for n in range(40):
            factor = float(1 + k * 40 + n)
            scale(x, out, factor)
            calls.append(factor)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tack.sync()
    at = next(f.offset for f in variant.payload.layout.fields if f.kind == "param")
    seen = [struct.unpack_from("<f", pack, at)[0] for pack in packs(gpus[0])]
    assert sorted(seen) == [float(k) for k in range(321)] and len(calls) == 320
    assert not variant.dispatch_lock.locked()


@pytest.mark.spec("cache-093")
def test_a_variant_serves_arrays_that_overlap_and_arrays_that_do_not(on):
    x = tack.ones(300, device=on[0])
    for out in (x, x[100:], tack.empty_like(x)):
        scale(x[:200], out, 1.0)
    (key,) = on[0]._backend._cache[scale]
    assert key[-1] is False


def test_the_loop_turns_while_an_array_is_read(on, gpus, monkeypatch):
    """The worker thread cannot finish before the loop has turned."""
    x = tack.ones(300, device=on[0])
    turned = threading.Event()
    copy_out = LateGpu.copy_out

    def waits(*args):
        assert turned.wait(60)
        copy_out(*args)

    monkeypatch.setattr(LateGpu, "copy_out", waits)

    async def main():
        reading = asyncio.ensure_future(x.numpy_async())
        await asyncio.sleep(0)
        assert not reading.done()
        turned.set()
        return await reading

    assert asyncio.run(main()).tolist() == [1.0] * 300
    assert "run" in gpus[0].calls, "on a thread that has been given the device"


def test_two_kernels_overlap(on):
    x = tack.ones(300, device=on[0])
    scale(x, x, 1.0)
    variant = next(iter(on[0]._backend._cache[scale].values()))
    with variant.dispatch_lock:
        last.specialize(x)
        less_first(x, tack.empty_like(x))


# ------------------------------------------------------------------------------------------- limits and what does not launch


@pytest.mark.spec("back-057", "back-059", "cache-145")
def test_a_launch_past_the_limit_is_refused(monkeypatch, gpus):
    (gpu,) = late_devices(monkeypatch, gpus[0], max_grid=3)
    with gpu:
        ask(3 * 256)
        with pytest.raises(ValueError) as error:
            ask(3 * 256 + 1)
    assert str(error.value) == (
        "Kernel 'ask': a launch of 769 iterations is past the limit of 768 on CUDA\n  Split the work across several calls."
    )
    tack.sync()
    assert [launch.grid for launch in gpus[0].launches] == [(3, 1, 1)]


@pytest.mark.rule("K5")
def test_a_launch_of_nothing_launches_nothing(on, gpus):
    with on[0]:
        ask(0)
        ask(-5)
    scale(tack.zeros(0, device=on[0]), tack.zeros(0, device=on[0]), 1.0)
    tack.sync()
    assert gpus[0].launches == []


@pytest.mark.rule("K6")
def test_a_result_is_read_when_the_call_returns(on, gpus):
    assert isinstance(last(tack.ones(300, device=on[0])), float)
    assert [launch.entry.rpartition("_")[2] for launch in gpus[0].launches] == ["narrow", "result"]
    assert gpus[0].launches[1].grid == (1, 1, 1) and len(gpus[0].launches[1].words) == 3


@pytest.mark.rule("K2")
def test_the_prologue_runs_first_where_arrays_overlap(on, gpus):
    x = tack.ones(300, device=on[0])
    less_first(x, tack.empty_like(x))
    less_first(x, x)
    less_first(x[:200], x[100:])
    less_first(x[:100], x[100:])
    less_first(x[:0], x[:0])
    tack.sync()
    kinds = [launch.entry.rpartition("_")[2] for launch in gpus[0].launches]
    assert kinds == ["narrow", "before", "narrow", "before", "narrow", "narrow"]


@pytest.mark.rule("W1")
def test_workgroups_are_full(on, gpus):
    gather(tack.ones(512, device=on[0]))
    for _ in range(2):  # at a first and at a warm call
        with pytest.raises(ValueError, match="256"):
            gather(tack.ones(300, device=on[0]))
    tack.sync()
    assert [launch.grid for launch in gpus[0].launches] == [(2, 1, 1)]


def test_long_arrays_take_the_wide_entry(on, gpus):
    """Indices of 32 bits would not do: by the sizes of the arrays, and by the values of the bounds."""
    memory = on[0].memory
    huge = tack.Array(memory.wrap(0x1000, tack.u8.numpy, (2**31,), True, None), tack.u8, (2**31,), on[0])
    fits = tack.Array(memory.wrap(0x1000, tack.f64.numpy, (2**28 + 8,), True, None), tack.f64, (2**28 + 8,), on[0])

    @tack.kernel
    def touch(a, lo, hi):
        for i in range(lo, hi):
            a[i] = 0

    touch(huge, 0, 10)
    touch(fits, 0, 10)
    touch(fits, 2**40, 2**40 + 10)
    tack.sync()
    assert [launch.entry.endswith("narrow") for launch in gpus[0].launches] == [False, True, False]


# ---------------------------------------------------------------------------------------------------------------- where


@pytest.mark.spec("back-021", "back-032", "cache-111")
def test_a_kernel_runs_where_its_arrays_are(on, gpus):
    a, b = (tack.ones(300, device=device) for device in on)
    scale(a, a, 1.0)
    scale(b, b, 1.0)
    tack.sync()
    assert [len(gpu.launches) for gpu in gpus] == [1, 1]
    assert on[0]._backend._cache[scale] and on[1]._backend._cache[scale], "each device compiles its own"


@pytest.mark.spec("back-022", "back-033")
def test_arrays_of_two_devices_are_refused(on, gpus):
    a, b = (tack.ones(4, device=device) for device in on)
    for x, out in ((a, b), (tack.ones(4, device="cpu"), a)):
        for _ in range(2):
            with pytest.raises(ValueError, match=r"which share no memory\n  Move one first: out.to_device\(x.device\)"):
                scale(x, out, 1.0)
    moved = b.to_device(on[0])
    assert moved.device is on[0] and moved.numpy().tolist() == [1, 1, 1, 1] and b.to_device("cuda:1") is b
    scale(a, moved, 1.0)


@pytest.mark.spec("back-020")
def test_a_warm_call_elsewhere_takes_the_fast_path(on, gpus, monkeypatch):
    x = tack.ones(300, device=on[0])
    scale(x, x, 1.0)
    scale(x, x, 2.0)
    for name in ("describe_call", "device_of_call"):
        monkeypatch.setattr(dispatch, name, None)
    scale(x, x, 3.0)
    with on[0]:
        scale(x, x, 4.0)
        assert get_backend() is on[0]._backend
    assert scale.quick_call(on[0]._backend._cache.serial, (x, x, 5.0)) is not MISS
    tack.sync()
    assert len(gpus[0].launches) == 5


def test_a_warm_call_imports_nothing_and_takes_no_other_lock(on, monkeypatch):
    x = tack.ones(300, device=on[0])
    for factor in (1.0, 2.0, 3.0):
        scale(x, x, factor)
    with monkeypatch.context() as patch:
        patch.setattr(on[0].memory, "_lock", None)
        patch.setattr("builtins.__import__", None)
        scale(x, x, 4.0)


@pytest.mark.spec("back-068")
def test_a_launch_on_shared_memory_completes_before_the_call_returns(on, gpus):
    x, out = tack.ones(300, device=on[0]), tack.zeros(300, device=on[0])
    scale(x, out, 1.0)
    assert gpus[0].launches == []
    capsule = x[100:].__dlpack__()
    for n in (2, 3, 4):
        scale(x, out, float(n))
        assert len(gpus[0].launches) == n
    scale(out, out, 5.0)
    assert len(gpus[0].launches) == 4, "both arrays are Tack's alone"
    del capsule


# --------------------------------------------------------------------------------------------------------- what goes back


def test_modules_and_packs_go_back_after_a_wait(on, gpus):
    @tack.kernel
    def once(x, n):
        for i in range(x.size):
            x[i] = n

    x = tack.ones(300, device=on[0])
    on[0].memory.give_back()
    before = len(gpus[0].live)
    once(x, 3)
    assert len(gpus[0].live) == before + 1, "its pack"
    on[0]._backend._cache.pop(once)
    once.signatures.clear()
    once.forget_calls(on[0]._backend._cache.serial)
    assert "unload" not in gpus[0].calls, "the launch is still queued"
    tack.sync()
    assert gpus[0].calls.count("unload") == 1
    tack.sync()
    assert len(gpus[0].live) == before


# ------------------------------------------------------------------------------------------------------------- ranges


def test_ranges_are_those_of_the_interpreter(on, monkeypatch):
    x = tack.ones((3, 5), device=on[0])

    @tack.kernel
    def rows(x, n):
        for i, j in tack.ndindex(x.shape[0], x.shape[1]):
            x[i, j] = n

    @tack.kernel
    def counted(x, n):
        for i in range(n):
            x[0, 0] = 1

    @tack.kernel
    def strided(x, n):
        for i in range(2, n, 3):
            x[0, 0] = 1

    for kernel, n, quick in ((rows, 2, True), (counted, 7, True), (counted, -7, True), (strided, 12, False)):
        kernel.specialize(x, n)
        func = next(iter(on[0]._backend._cache[kernel].values())).ir
        found = launch_ranges(func)
        assert found((x, n)) == launch_checks.ranges_of_launch(func, (x, n))
        assert (found.__name__ == "ranges" if hasattr(found, "__name__") else False) is quick


def test_a_loop_of_too_many_points_is_refused(on):
    @tack.kernel
    def cube(x, n):
        for i, j, k in tack.ndindex(n, n, n):
            x[0] = 1

    with pytest.raises(ValueError, match="cube"):
        cube(tack.ones(1, device=on[0]), 2**30)
