"""How times are taken: interleaved with what they are compared with, answers checked elsewhere, best and median kept."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Run = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """Seconds of a run and of its reference, taken in turn; `ratio` is the median of the ratios of neighbours."""

    best: float
    median: float
    reference_best: float
    reference_median: float
    ratio: float


def once(run: Run) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def interleave(runs: Sequence[Run], *, budget: float = 2.0, least: int = 7, most: int = 40) -> list[list[float]]:
    """Times the runs in turn until `budget` seconds are spent; one list of seconds for each."""
    times: list[list[float]] = [[] for _ in runs]
    begin = time.perf_counter()
    gc.disable()
    try:
        for done in range(most):
            for k, run in enumerate(runs):
                times[k].append(once(run))
            if done + 1 >= least and time.perf_counter() - begin > budget:
                break
    finally:
        gc.enable()
    return times


def pair(run: Run, reference: Run, **how: float) -> Pair:
    """Interleaved times of a run and its reference, each warmed by one call first."""
    run()
    reference()
    mine, other = interleave([run, reference], **how)  # pyright: ignore[reportArgumentType]
    ratio = statistics.median(a / b for a, b in zip(mine, other, strict=True))
    return Pair(min(mine), statistics.median(mine), min(other), statistics.median(other), ratio)


def per_call(function: Callable[..., object], arguments: Sequence[object], calls: int) -> Callable[[], float]:
    """A sampler of seconds per call of `function`, over a block of calls with locals, as a user's loop makes them; what the loop
    itself costs is taken off."""
    names = [f"a{k}" for k in range(len(arguments))]
    scope: dict[str, object] = {"function": function, "clock": time.perf_counter, **dict(zip(names, arguments, strict=True))}
    exec(
        f"def block(n, function=function, clock=clock, {', '.join(f'{name}={name}' for name in names)}):\n"
        "    start = clock()\n"
        f"    for _ in range(n): function({', '.join(names)})\n"
        "    full = clock() - start\n"
        "    start = clock()\n"
        "    for _ in range(n): pass\n"
        "    return (full - (clock() - start)) / n\n",
        scope,
    )
    block = scope["block"]
    assert callable(block)
    return lambda: float(block(calls))  # pyright: ignore[reportArgumentType]


def compare_calls(
    runs: dict[str, tuple[Callable[..., object], Sequence[object]]], calls: int = 5_000, rounds: int = 15
) -> dict[str, float]:
    """Median seconds per call of each function with its arguments, in interleaved blocks."""
    samplers = {name: per_call(function, arguments, calls) for name, (function, arguments) in runs.items()}
    for sample in samplers.values():
        sample()
    times: dict[str, list[float]] = {name: [] for name in runs}
    gc.disable()
    try:
        for _ in range(rounds):
            for name, sample in samplers.items():
                times[name].append(sample())
    finally:
        gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}
