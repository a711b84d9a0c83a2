"""The CPU's worker threads: a fan-out hands chunks of a launch to them, and the caller runs chunks too.

Knows native bodies `(lo, hi, pack)` and nothing of kernels. Threads start with the first fan-out. Any number of Python threads
may fan out at once, since every fan-out is a job of its own; after a fork the child starts afresh.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from time import perf_counter_ns
from typing import Any

from tack.runtime import native_mode

__all__ = ["Body", "Forced", "Pool", "force_fanout"]

Body = Callable[[int, int, int], object]  # (lo, hi, address of the pack)
Chunks = deque[tuple[int, int]]

_CHUNKS_PER_THREAD = 4  # a thread that starts late or runs slowly leaves its share to the others
_ALIGN = 64  # large chunks are multiples of this: whole cache lines of every element type, so that threads share no line


class Forced:
    """What `force_fanout` asks of every launch, and what it saw: `worker_chunks` counts the chunks that workers ran."""

    __slots__ = ("sizes", "worker_chunks")

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.worker_chunks = 0


forced: Forced | None = None


@contextmanager
def force_fanout(sizes: Sequence[int] = (1, 2, 3, 4, 5, 6, 7)) -> Iterator[Forced]:
    """Inside the block every launch of a device with two threads or more fans out, in chunks of `sizes` iterations in turn.

    For tests. A worker runs a chunk of each launch of two or more chunks, since the caller waits for one to begin.
    """
    global forced
    before, forced = forced, Forced(sizes)
    native_mode.hold()
    try:
        yield forced
    finally:
        native_mode.release()
        forced = before


class _Job:
    """One fan-out. It holds `keep` (the memory that chunks read and write) for as long as any worker holds the job."""

    __slots__ = ("_done", "_lock", "_open", "_running", "body", "chunks", "keep", "pack", "started", "worker_chunks")

    def __init__(self, body: Body, pack: int, chunks: Chunks, keep: Any) -> None:
        self.body, self.pack, self.chunks, self.keep = body, pack, chunks, keep
        self.started: threading.Event | None = None  # set when a worker has run a chunk, where the caller waits for that
        self.worker_chunks = 0  # counted only then
        self._lock = threading.Lock()
        self._running = 0  # workers inside
        self._open = True  # workers may join
        self._done = threading.Lock()  # held while a worker is inside

    def work(self) -> int:
        """Runs chunks until none is left; the number of iterations. Taking one from a deque is atomic: each runs once."""
        body, pack, take = self.body, self.pack, self.chunks.popleft
        count = 0
        while True:
            try:
                lo, hi = take()
            except IndexError:
                return count
            body(lo, hi, pack)
            count += hi - lo

    def join_in(self) -> None:
        """A worker's part."""
        with self._lock:
            if not self._open:
                return
            if not self._running:
                self._done.acquire(blocking=False)
            self._running += 1
        try:
            if self.started is not None:
                self._work_watched(self.started)
            self.work()
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._done.release()

    def _work_watched(self, started: threading.Event) -> None:
        take = self.chunks.popleft
        try:
            while True:
                lo, hi = take()
                self.body(lo, hi, self.pack)
                with self._lock:
                    self.worker_chunks += 1
                started.set()
        except IndexError:
            started.set()

    def finish(self) -> None:
        """The caller's end: no worker may join any more, and those inside are waited for."""
        with self._lock:
            self._open = False
            waiting = self._running > 0
        if waiting:
            self._done.acquire()


class Pool:
    """`threads` threads, the caller among them, so `threads - 1` workers; they start with the first fan-out.

    `fanout_ns` is for `cpu_cost` to keep what it measured.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.fanout_ns: int | None = None
        self.reset()
        _pools.add(self)

    def reset(self) -> None:
        """Forgets all workers (after a fork the child has none)."""
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._starting = threading.Lock()

    def run(self, body: Body, lo: int, hi: int, pack: int, keep: Any = None) -> tuple[int, int]:
        """Runs iterations lo..hi-1, each exactly once, on all threads, and returns when all have run.

        `keep` is held while any thread may still touch the launch's memory, even if the caller is interrupted. The result is
        the number of iterations that the caller itself ran, and the nanoseconds it took them.
        """
        force = forced
        chunks = _chunks(lo, hi, self.threads) if force is None else _forced_chunks(lo, hi, force.sizes)
        job = _Job(body, pack, chunks, keep)
        if force is None:
            return self._share(job)
        job.started = threading.Event()
        own = self._share(job)
        force.worker_chunks += job.worker_chunks
        return own

    def time_empty(self) -> int:
        """The nanoseconds of a fan-out without work in which a worker takes part."""
        start = perf_counter_ns()
        job = _Job(_nothing, 0, deque([(0, 0)] * self.threads), None)
        job.started = threading.Event()
        self._share(job)
        return perf_counter_ns() - start

    def _share(self, job: _Job) -> tuple[int, int]:
        helpers = min(self.threads, len(job.chunks)) - 1
        if helpers > len(self._workers):
            self._start()
        for _ in range(helpers):
            self._queue.put(job)
        try:
            if job.started is not None and helpers > 0:
                job.started.wait()
            start = perf_counter_ns()
            return job.work(), perf_counter_ns() - start
        finally:
            job.chunks.clear()
            job.finish()

    def _start(self) -> None:
        with self._starting:
            while len(self._workers) < self.threads - 1:
                name = f"tack-cpu-{len(self._workers) + 1}"
                worker = threading.Thread(target=_serve, args=(self._queue,), name=name, daemon=True)
                worker.start()
                self._workers.append(worker)

    def __del__(self) -> None:
        for _ in self._workers:
            self._queue.put(None)


def _nothing(_lo: int, _hi: int, _pack: int) -> None:
    """The body of a fan-out without work."""


def _chunks(lo: int, hi: int, threads: int) -> Chunks:
    size = -(-(hi - lo) // (threads * _CHUNKS_PER_THREAD))
    if size > _ALIGN:
        size = -(-size // _ALIGN) * _ALIGN
    return deque((k, min(k + size, hi)) for k in range(lo, hi, max(1, size)))


def _forced_chunks(lo: int, hi: int, sizes: tuple[int, ...]) -> Chunks:
    chunks: Chunks = deque()
    for size in itertools.cycle(sizes):
        if lo >= hi:
            break
        chunks.append((lo, min(lo + size, hi)))
        lo += size
    return chunks


def _serve(queue: SimpleQueue[_Job | None]) -> None:
    """A worker's life. It holds its queue but not its pool, so that a pool which nobody uses any more ends its workers."""
    while (job := queue.get()) is not None:
        job.join_in()
        job = None  # lets go of the launch's memory while waiting


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in _pools:
        pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
