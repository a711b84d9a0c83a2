"""The CPU's threads: how many there are, that each iteration runs exactly once, and that forks and concurrent fan-outs work."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref
from pathlib import Path

import pytest

from tack.runtime import cpu_cost, cpu_pool, cpu_topology
from tack.runtime.cpu_cost import ALWAYS_SERIAL, Cost
from tack.runtime.cpu_pool import Pool, force_fanout


class Seen:
    """A body that records which iterations ran, and on which threads."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []
        self.threads: set[int] = set()

    def __call__(self, lo: int, hi: int, pack: int) -> None:
        self.ranges.append((lo, hi))
        self.threads.add(threading.get_ident())

    def iterations(self) -> list[int]:
        return sorted(i for lo, hi in self.ranges for i in range(lo, hi))


# ------------------------------------------------------------------------------------------------------ how many threads


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def cores(pairs: dict[int, str]) -> dict[str, str]:
    return {f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text for cpu, text in pairs.items()}


FOUR_BY_TWO = cores({cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)})


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [(range(8), 4), ({0, 4}, 1), ({0, 1}, 2), ({0, 1, 4, 5}, 2), ({3}, 1)],
)
def test_threads_are_distinct_cores_within_the_affinity_mask(tmp_path: Path, cpus: set[int], expected: int) -> None:
    root = machine(tmp_path, FOUR_BY_TWO)
    assert cpu_topology.default_threads(root, frozenset(cpus)) == expected


def test_cpus_that_sysfs_does_not_describe_count_as_cores(tmp_path: Path) -> None:
    assert cpu_topology.default_threads(tmp_path, frozenset({0, 1, 2})) == 3


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "200000 100000"}, 2.0),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "max 1", "sys/fs/cgroup/a/cpu.max": "150000 100000"}, 1.5),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
        ({"proc/self/cgroup": "0::/not/mounted/here", "sys/fs/cgroup/cpu.max": "100000 100000"}, 1.0),
        (
            {
                "proc/self/cgroup": "4:memory:/m\n2:cpu,cpuacct:/g\n0::/",
                "sys/fs/cgroup/cpu,cpuacct/g/cpu.cfs_quota_us": "250000",
                "sys/fs/cgroup/cpu,cpuacct/g/cpu.cfs_period_us": "100000",
            },
            2.5,
        ),
        (
            {
                "proc/self/cgroup": "1:cpu:/",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        ({}, None),
    ],
)
def test_quota_of_the_control_group(tmp_path: Path, files: dict[str, str], expected: float | None) -> None:
    assert cpu_topology.cgroup_quota(machine(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("quota", "expected"), [("200000 100000", 2), ("800000 100000", 4), ("150000 100000", 1), ("50000 100000", 1)]
)
def test_quota_caps_the_cores(tmp_path: Path, quota: str, expected: int) -> None:
    root = machine(tmp_path, {**FOUR_BY_TWO, "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": quota})
    assert cpu_topology.default_threads(root, frozenset(range(8))) == expected


def test_this_machine_has_a_thread() -> None:
    assert 1 <= cpu_topology.default_threads() <= len(cpu_topology.available_cpus())


# ------------------------------------------------------------------------------------------------------------ the pool


@pytest.mark.rule("K5")
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("count", [2, 3, 63, 64, 1000, 4097, 100_003])
def test_every_iteration_runs_exactly_once(threads: int, count: int) -> None:
    seen = Seen()
    Pool(threads).run(seen, 7, 7 + count, 0)
    assert seen.iterations() == list(range(7, 7 + count))


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("sizes", [(1,), (7,), (1, 2, 3, 4, 5, 6, 7)])
def test_forced_chunks_have_the_sizes_asked_for_and_workers_run_some(threads: int, sizes: tuple[int, ...]) -> None:
    seen = Seen()
    with force_fanout(sizes) as forced:
        Pool(threads).run(seen, 0, 50, 0)
    assert seen.iterations() == list(range(50))
    assert {hi - lo for lo, hi in seen.ranges if hi < 50} <= set(sizes)
    assert forced.worker_chunks > 0
    assert len(seen.threads) > 1 or threading.get_ident() not in seen.threads


def test_a_pool_starts_its_threads_with_the_first_fan_out_and_keeps_them() -> None:
    pool = Pool(3)
    assert pool._workers == []
    pool.run(Seen(), 0, 1000, 0)
    workers = list(pool._workers)
    assert len(workers) == 2
    for _ in range(5):
        pool.run(Seen(), 0, 1000, 0)
        assert pool._workers == workers and all(worker.is_alive() for worker in workers)


def test_a_pool_that_nobody_uses_ends_its_threads() -> None:
    pool = Pool(3)
    pool.run(Seen(), 0, 1000, 0)
    workers = list(pool._workers)
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    assert gone() is None
    for worker in workers:
        worker.join(30)
        assert not worker.is_alive()


def test_memory_of_a_launch_is_let_go() -> None:
    class Memory:
        pass

    pool = Pool(2)
    memory = Memory()
    gone = weakref.ref(memory)
    with force_fanout((1,)):
        pool.run(Seen(), 0, 10, 0, memory)
    del memory
    with force_fanout((1,)):  # the worker has taken the next job, so it has let go of the first
        pool.run(Seen(), 0, 10, 0)
    assert gone() is None


def test_fan_outs_from_several_threads_at_once_do_not_meet() -> None:
    pool = Pool(3)
    wrong: list[int] = []

    def work(count: int) -> None:
        for _ in range(40):
            seen = Seen()
            pool.run(seen, 0, count, 0)
            if seen.iterations() != list(range(count)):
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(count,)) for count in (100, 257, 333, 1001)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_an_interrupted_caller_waits_for_the_chunks_that_run() -> None:
    """A `KeyboardInterrupt` between the caller's chunks must not hand memory back that a worker still writes."""
    pool = Pool(2)
    running, finished = threading.Event(), threading.Event()
    caller = threading.get_ident()

    def body(lo: int, hi: int, pack: int) -> None:
        if threading.get_ident() == caller:
            running.wait(60)
            raise KeyboardInterrupt
        running.set()
        finished.wait(0.05)
        finished.set()

    with pytest.raises(KeyboardInterrupt):
        pool.run(body, 0, 4096, 0)
    assert finished.is_set()
    seen = Seen()
    pool.run(seen, 0, 100, 0)
    assert seen.iterations() == list(range(100))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_its_own_threads() -> None:
    pool = Pool(2)
    pool.run(Seen(), 0, 1000, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of what this test is about
        child = os.fork()
    if child == 0:  # no assertion may leave the child
        code = 1
        try:
            seen = Seen()
            with force_fanout((3,)) as forced:
                pool.run(seen, 0, 100, 0)
            code = 0 if seen.iterations() == list(range(100)) and forced.worker_chunks else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    seen = Seen()
    pool.run(seen, 0, 1000, 0)
    assert seen.iterations() == list(range(1000))


# ------------------------------------------------------------------------------------------------- when sharing is worth it


class Clock:
    """Time that only bodies advance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr(cpu_cost, "perf_counter_ns", lambda: self.now)


class FakePool:
    """A pool of two threads whose fan-out costs 100 us; it notes what was shared."""

    threads = 2
    fanout_ns = 100_000

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.shared: list[int] = []

    def run(self, body: cpu_pool.Body, lo: int, hi: int, pack: int, keep: object = None) -> tuple[int, int]:
        self.shared.append(hi - lo)
        before = self.clock.now
        body(lo, (lo + hi) // 2, pack)
        elapsed = self.clock.now - before
        return (hi - lo) // 2, elapsed


def work(clock: Clock, each_ns: float, call_ns: int = 500) -> cpu_pool.Body:
    def body(lo: int, hi: int, pack: int) -> None:
        clock.now += int(call_ns + each_ns * (hi - lo))

    return body


@pytest.mark.parametrize(
    ("each_ns", "count", "shared"), [(0.25, 100_000, False), (0.25, 10_000_000, True), (1000, 4000, True), (1e6, 3000, True)]
)
def test_a_launch_is_shared_when_it_takes_longer_than_a_fan_out(
    monkeypatch: pytest.MonkeyPatch, each_ns: float, count: int, shared: bool
) -> None:
    clock = Clock(monkeypatch)
    pool = FakePool(clock)
    cost = Cost(pool)  # type: ignore[arg-type]
    for _ in range(3):
        if count > cost.serial_max:
            cost.run(work(clock, each_ns), count, 0, None)
    assert bool(pool.shared) is shared
    assert (count > cost.serial_max) is shared


def test_small_launches_say_little_about_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of the call itself, on 16 iterations, must not make a kernel look slow."""
    clock = Clock(monkeypatch)
    pool = FakePool(clock)
    cost = Cost(pool)  # type: ignore[arg-type]
    for count in (16, 16, 16, 16, 50_000, 200_000):
        if count > cost.serial_max:
            cost.run(work(clock, 0.25, call_ns=2000), count, 0, None)
    assert pool.shared == []


def test_a_kernel_that_became_slow_is_noticed_when_it_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pool = FakePool(clock)
    cost = Cost(pool)  # type: ignore[arg-type]
    for _ in range(10):
        cost.run(work(clock, 1.0), 10_000, 0, None)
    assert cost.serial_max >= 10_000
    assert pool.shared == []
    cost.run(work(clock, 1000.0), 10_000, 0, None)  # as the entry does now and then
    assert cost.serial_max < 10_000
    cost.run(work(clock, 1000.0), 10_000, 0, None)
    assert pool.shared == [10_000]


def test_a_kernel_that_became_fast_is_no_longer_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pool = FakePool(clock)
    cost = Cost(pool)  # type: ignore[arg-type]
    for _ in range(10):
        cost.run(work(clock, 1000.0), 10_000, 0, None)
    shared = len(pool.shared)
    assert shared >= 9
    for _ in range(20):
        cost.run(work(clock, 1.0), 10_000, 0, None)
    assert len(pool.shared) <= shared + 8
    assert cost.serial_max >= 10_000


def test_a_busy_moment_fixes_nothing_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pool = FakePool(clock)
    cost = Cost(pool)  # type: ignore[arg-type]
    cost.run(work(clock, 1.0, call_ns=3_000_000), 50_000, 0, None)
    for _ in range(10):
        cost.run(work(clock, 1.0), 50_000, 0, None)
    assert cost.serial_max >= 50_000


def test_one_thread_never_shares() -> None:
    assert Cost(Pool(1)).serial_max == ALWAYS_SERIAL


def test_the_cost_of_a_fan_out_is_measured_once_per_pool() -> None:
    pool = Pool(2)
    measured = cpu_cost.fanout_cost(pool)
    assert 0 < measured < 10**9
    assert cpu_cost.fanout_cost(pool) is measured
