"""Threads that call the same kernels with different types, while classes are collected and variants dropped.

`python thread_storm.py --threads 8 --calls 100000 --way positional` runs a storm by hand and prints what it did.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tack
from tack.hooks import slots

__all__ = ["WAYS", "Storm"]

WAYS = ("positional", "keywords", "objects", "mixed")
DTYPES = (np.float32, np.float64, np.int32, np.int64)


@tack.kernel
def affine(x, out, a, b):
    for i in range(x.shape[0]):
        out[i] = x[i] * a + b


@tack.kernel
def through(s, out):
    for i in range(out.shape[0]):
        out[i] = s.at(i)


def class_per_call() -> type:
    """A new class with the methods of the others."""

    @tack.device_class
    class Shift:
        factor = 2

        def __init__(self, data: tack.Array, offset: Any) -> None:
            self.data = data
            self.offset = offset

        @tack.func
        def at(self, i):
            return self.data[i] * self.factor + self.offset

    return Shift


Lasting = class_per_call()


@dataclass
class Storm:
    """`calls` of each of `threads`, in one of `WAYS`. Every `upset` calls one of the threads drops all variants, or uses a class
    that is collected afterwards. `wrong` lists the calls with wrong numbers, `errors` what was raised."""

    threads: int = 8
    calls: int = 200
    way: str = "mixed"
    upset: int = 50
    wrong: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    classes: weakref.WeakSet[type] = field(default_factory=weakref.WeakSet)
    dropped: int = 0

    def run(self) -> Storm:
        """Runs it; the threads begin together and switch often."""
        barrier = threading.Barrier(self.threads)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=self._work, args=(k, barrier)) for k in range(self.threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        gc.collect()
        return self

    def _work(self, seed: int, barrier: threading.Barrier) -> None:
        try:
            self._calls(np.random.default_rng(seed), seed, barrier)
        except BaseException as error:  # a thread's error would only be printed
            self.errors.append(error)
            barrier.abort()

    def _calls(self, rng: Any, seed: int, barrier: threading.Barrier) -> None:
        mine = [_Own(dtype, 5 + (seed + k) % 4) for k, dtype in enumerate(DTYPES)]
        picks = rng.integers(0, len(mine), self.calls).tolist()
        numbers = rng.integers(-50, 50, self.calls).tolist()
        kinds = rng.integers(0, 3, self.calls).tolist()
        ways = dict(zip(WAYS, ([0], [1], [2], [0, 1, 2]), strict=True))[self.way]
        barrier.wait()
        for step in range(self.calls):
            own, number = mine[picks[step]], numbers[step]
            own.call(ways[kinds[step] % len(ways)], number)
            if not own.right(number):
                self.wrong.append((seed, step, own.dtype, number, own.out.numpy()))
            if step % self.upset == seed % self.upset:
                self._upset(step // self.upset + seed, own, number)

    def _upset(self, turn: int, own: _Own, number: int) -> None:
        if turn % 8 == 0:
            slots.drop_variants(affine, lambda key: True)
            slots.drop_variants(through, lambda key: True)
            self.dropped += 1
        elif turn % 8 == 1:
            cls = class_per_call()
            self.classes.add(cls)
            through(cls(own.x, number), own.out)
            if not own.right(number):
                self.wrong.append((turn, "a class made per call", own.dtype, number))
            del cls
            gc.collect()


class _Own:
    """One thread's arrays of one type, of a length that other threads do not have."""

    def __init__(self, dtype: Any, n: int) -> None:
        self.dtype = dtype
        self.values = np.arange(n).astype(dtype)
        self.x = tack.array(self.values)
        self.out = tack.empty_like(self.x)
        self.shown = self.out.view_numpy()
        self.thing = Lasting(self.x, 0)
        self.doubled = (self.values * 2).tolist()

    def call(self, way: int, number: int) -> None:
        """Doubles the values and adds `number`: by position, by keywords, or through an object."""
        if way == 0:
            affine(self.x, self.out, 2, number)
        elif way == 1:
            affine(b=number, out=self.out, x=self.x, a=2)
        else:
            self.thing.offset = number
            through(self.thing, self.out)

    def right(self, number: int) -> bool:
        """Whether the numbers are those of the call."""
        return self.shown.tolist() == [value + number for value in self.doubled]


def main(argv: list[str] | None = None) -> int:
    """Runs a storm as the command line says; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--calls", type=int, default=100_000, help="of each thread")
    parser.add_argument("--way", choices=WAYS, default="mixed")
    parser.add_argument("--upset", type=int, default=5000, help="calls from one dropping of variants or classes to the next")
    storm = Storm(**vars(parser.parse_args(argv))).run()
    kept = len(storm.classes), len(through._ir_cache)
    print(f"{storm.threads * storm.calls} calls, {storm.dropped} drops, {len(storm.wrong)} wrong, {len(storm.errors)} errors")
    print(f"{kept[0]} classes made per call and {kept[1]} templates are left")
    print(*storm.wrong[:3], *storm.errors[:3], sep="\n")
    return int(bool(storm.wrong or storm.errors or kept[0]))


if __name__ == "__main__":
    sys.exit(main())
