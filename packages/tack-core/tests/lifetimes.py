"""Kernels and classes made per call, and what of them is left: classes, templates, variants, machine code, resident memory.

`python lifetimes.py --count 10000` counts for long, prints a line for each part of the run, and fails if anything is left.
"""

from __future__ import annotations

import argparse
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tack
from tack.lang.kernel import _class_tokens
from tack.runtime import kernel_utils
from tack.runtime.dispatch import get_backend

__all__ = ["KINDS", "Left", "live_through", "slope"]


@tack.kernel
def lasting(thing, x, out):
    for i in range(x.shape[0]):
        out[i] = thing.at(x[i])


def a_kernel(step: int) -> Callable[..., Any]:
    """A call of a kernel that nobody else has."""
    amount = tack.constant(float(step % 7))

    @tack.kernel
    def own(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + amount

    return own


def a_class(step: int) -> Callable[..., Any]:
    """A call of a lasting kernel with an object of a class that nobody else has."""

    @tack.device_class
    class Shift:
        amount = float(step % 7)

        @tack.func
        def at(self, v):
            return v + self.amount

    thing = Shift()
    return lambda x, out: lasting(thing, x, out)


def a_function(step: int) -> Callable[..., Any]:
    """A call of a lasting kernel with an object that holds a device function that nobody else has."""
    amount = tack.constant(float(step % 7))

    @tack.func
    def shift(v):
        return v + amount

    thing = Holder()
    thing.at = shift
    return lambda x, out: lasting(thing, x, out)


def a_device(step: int) -> Callable[..., Any]:
    """A call on a device that nobody else has."""
    device, call = tack.device("cpu", num_threads=1), a_kernel(step)

    def on_it(x: tack.Array, out: tack.Array) -> None:
        with device:
            call(x, out)

    return on_it


@tack.device_class
class Holder:
    pass


KINDS: dict[str, Callable[[int], Callable[..., Any]]] = {
    "kernels": a_kernel, "classes": a_class, "functions": a_function, "devices": a_device,
}  # fmt: skip


@dataclass(frozen=True)
class Left:
    """What is alive: class tokens, templates and variants of the lasting kernel, kernels with variants, caches of devices, pieces
    of machine code of calls that are over, and the resident memory in KiB."""

    tokens: int
    templates: int
    variants: int
    kernels: int
    caches: int
    code: int
    resident: int

    @property
    def counts(self) -> tuple[int, ...]:
        """All but the memory."""
        return (self.tokens, self.templates, self.variants, self.kernels, self.caches, self.code)


def live_through(kind: str, count: int, parts: int = 10) -> Iterator[Left]:
    """Makes `count` calls of things of one of `KINDS`, checks their numbers, and yields what is left at the start and after each
    of the parts."""
    code: weakref.WeakSet[Any] = weakref.WeakSet()
    build = kernel_utils._build_variant
    x, out = tack.array(np.arange(3, dtype=np.float32)), tack.zeros(3)

    def noting(*args: Any, **kwargs: Any) -> Any:
        variant = build(*args, **kwargs)
        code.add(variant.payload.code)
        return variant

    kernel_utils._build_variant = noting
    try:
        KINDS[kind](0)(x, out)  # what lasts: the compiler, the token of a class that stays
        yield _left(code)
        for part in range(parts):
            for step in range(part * count // parts, (part + 1) * count // parts):
                call = KINDS[kind](step)
                for _ in range(2):  # once more, so that the fast path knows the call
                    call(x, out)
                assert out.numpy().tolist() == [step % 7 + i for i in range(3)]
            del call
            yield _left(code)
    finally:
        kernel_utils._build_variant = build


def _left(code: weakref.WeakSet[Any]) -> Left:
    gc.collect()
    cache = get_backend()._cache
    return Left(
        len(_class_tokens), len(lasting._ir_cache), len(cache.get(lasting, ())), len(cache), len(kernel_utils._kernel_caches),
        len(code), _resident(),
    )  # fmt: skip


def _resident() -> int:
    """The process's resident memory in KiB; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4
    except OSError:
        return 0


def slope(left: list[Left], count: int) -> float:
    """By how many KiB the resident memory grows with each thing made, over the second half of a run of `count` things."""
    half = left[len(left) // 2 :]
    per_part = np.polyfit(range(len(half)), [each.resident for each in half], 1)[0]
    return float(per_part) * (len(left) - 1) / count


def main(argv: list[str] | None = None) -> int:
    """Runs all kinds, or those chosen; the exit status is 1 if anything is left, or if the memory grows over the second half of a
    run by more than a MiB and by more than 0.2 KiB a thing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="things of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args(argv)
    failed = False
    for kind in options.kind or KINDS:
        print(f"{kind}: tokens, templates, variants, kernels, caches, machine code; KiB")
        left = []
        for each in live_through(kind, options.count):
            left.append(each)
            print("  ", *each.counts, each.resident, flush=True)
        growth = slope(left, options.count)
        wrong = len({each.counts for each in left}) > 1 or growth * options.count / 2 > max(1024, 0.1 * options.count)
        print(f"   {growth:.3f} KiB more for each", "-- SOMETHING IS LEFT" if wrong else "")
        failed |= wrong
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
