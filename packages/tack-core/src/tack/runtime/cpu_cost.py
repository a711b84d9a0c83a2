"""When a launch is worth sharing: the measured cost of a fan-out against the measured cost of each kernel's iterations.

Both are low percentiles of several samples. A kernel is measured again whenever a launch is larger than what was measured, is
shared, and every so many launches, so that a busy moment fixes nothing for good. Times are nanoseconds.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from tack.runtime.cpu_pool import Body, Pool

__all__ = ["ALWAYS_SERIAL", "MEASURE_EVERY", "Cost", "fanout_cost"]

ALWAYS_SERIAL = 2**63 - 1  # a limit that no launch exceeds
MEASURE_EVERY = 64  # launches: how often one that is not shared is measured again; a power of two

_SAMPLES = 8  # samples of a kernel kept; the oldest goes
_FANOUT_SAMPLES = 15
_MARGIN = 1.5  # how much more than break-even a launch must be worth to be shared
_PROBE = 256  # iterations of the first probe of an unknown kernel
_REACH = 8  # a sample speaks for launches of up to this many times its iterations: the cost of the call itself is in it
_LEAST_NS = 10_000  # no fan-out is as cheap as this
_PROBE_NS = 20_000  # a probe this long is far above the clock's and the call's own cost


def fanout_cost(pool: Pool) -> int:
    """What a fan-out without work costs until a worker has joined and left; measured once per pool."""
    if pool.fanout_ns is None:
        pool.time_empty()  # starts the threads
        pool.fanout_ns = int(_low([pool.time_empty() for _ in range(_FANOUT_SAMPLES)]))
    return pool.fanout_ns


def _low(samples: Sequence[float]) -> float:
    """The lower quartile: what a run takes that nothing disturbed, yet no single lucky reading among many."""
    return sorted(samples)[len(samples) // 4]


class Cost:
    """The cost of one compiled kernel's iterations on one pool. Up to `serial_max` of them run serially and unmeasured.

    `words` are for the native entry: `serial_max`, and how many more launches it may serve so before Python measures one. With
    one thread there is nothing to decide.
    """

    __slots__ = ("_reach", "_samples", "pool", "serial_max", "words")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self._reach = 0
        alone = pool.threads == 1
        self.serial_max = ALWAYS_SERIAL if alone else 1
        self.words = array("q", [self.serial_max, ALWAYS_SERIAL if alone else MEASURE_EVERY - 1])

    def run(self, body: Body, count: int, pack: int, keep: Any) -> None:
        """Runs a launch of `count` iterations in the better way, and learns from it."""
        lo = self._probe(body, count, pack) if count > self._reach else 0
        expected = (count - lo) * self._per_iteration()
        worth = self._worth(expected)
        if expected > worth:
            own, elapsed = self.pool.run(body, lo, count, pack, keep)
        else:
            start = perf_counter_ns()
            body(lo, count, pack)
            own, elapsed = count - lo, perf_counter_ns() - start
            if elapsed > 2 * worth:  # iterations cost more than they did: what was measured says nothing any more
                self._samples.clear()
        if own:
            self._note(own, elapsed)
        each = self._per_iteration()
        if each:
            self.serial_max = self.words[0] = max(1, min(self._reach, int(worth / each)))
        self.words[1] = MEASURE_EVERY - 1

    def _worth(self, expected: float) -> float:
        """How long a serial run must be expected to take to be worth sharing. The fan-out is measured when it first matters."""
        if expected < _LEAST_NS and self.pool.fanout_ns is None:
            return _LEAST_NS
        return _MARGIN * fanout_cost(self.pool) * self.pool.threads / (self.pool.threads - 1)

    def _probe(self, body: Body, count: int, pack: int) -> int:
        """Measures growing pieces from the start of the launch; the number of iterations done."""
        lo, size, elapsed = 0, _PROBE, 0
        while lo < count and elapsed < _PROBE_NS:
            hi = min(count, lo + size)
            start = perf_counter_ns()
            body(lo, hi, pack)
            elapsed = perf_counter_ns() - start
            self._note(hi - lo, elapsed)
            lo, size = hi, size * _REACH
        return lo

    def _note(self, count: int, elapsed: int) -> None:
        self._samples.append(max(elapsed, 1) / count)
        self._reach = max(self._reach, _REACH * count)

    def _per_iteration(self) -> float:
        samples = tuple(self._samples)  # another thread may have emptied it
        return _low(samples) if samples else 0.0
