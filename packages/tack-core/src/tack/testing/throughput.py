"""How fast a device is at plain kernels, against two of its own: a copy, and a loop of fused multiply-adds.

A row's `ratio` is the time that the roofline allows (bytes at the copy's rate, or operations at the loop's, whichever is longer)
over the time it took. Sizes grow until a launch takes long enough to be measured, so the rows fit a device of any speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tack
from tack.ir.types import ScalarType, f32, f64, i32
from tack.runtime.device import Device
from tack.testing.cases import same

__all__ = ["Row", "run_throughput", "saxpy", "spmv", "stencil2d", "stencil3d", "time_launches"]

_FIRST = 4096  # elements of the first try
_LONG = 4e-3  # seconds: a launch that takes so long is large enough
_MOST = 1 << 27  # elements at most
_SHARE = 12  # arrays of a row take up one part in so many of the device's memory, at most


@dataclass(frozen=True, slots=True)
class Row:
    """One measured kernel: seconds of a launch (the best of several blocks), and what it moves and computes.

    `bytes` counts what must be read and written once; `flops` counts a fused multiply-add as two, `roof` names the rate that
    limits the row, and `ratio` is 1 where it is reached.
    """

    name: str
    elements: int
    seconds: float
    bytes: int
    flops: int
    roof: str = ""
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """One launch over some number of elements; `check` raises AssertionError where its results are wrong."""

    elements: int
    bytes: int
    flops: int
    run: Callable[[], object]
    check: Callable[[], None]
    float: ScalarType = f32


# ------------------------------------------------------------------------------------------------------------ kernels


@tack.kernel
def _ramp(x):
    for i in range(x.shape[0]):
        x[i] = i % 64


@tack.kernel
def _copy(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i]


@tack.kernel
def saxpy(x, y, out, a):
    for i in range(x.shape[0]):
        out[i] = a * x[i] + y[i]


@tack.kernel
def stencil2d(u, out, c):
    for i, j in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        out[i, j] = u[i, j] + c * (u[i, j - 1] + u[i, j + 1] + u[i - 1, j] + u[i + 1, j] - 4.0 * u[i, j])


@tack.kernel
def stencil3d(u, out, c):
    for i, j, k in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1), (1, u.shape[2] - 1)):
        around = u[i, j, k - 1] + u[i, j, k + 1] + u[i, j - 1, k] + u[i, j + 1, k] + u[i - 1, j, k] + u[i + 1, j, k]
        out[i, j, k] = u[i, j, k] + c * (around - 6.0 * u[i, j, k])


@tack.kernel
def _columns(p, idx, rows):
    for i in range(rows):
        for k in range(p[i], p[i + 1]):
            idx[k] = min(max(i + k * 7919 % 8192 - 4096, 0), rows - 1)


@tack.kernel
def spmv(p, idx, v, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(p[i], p[i + 1]):
            s += v[k] * x[idx[k]]
        y[i] = s


@tack.kernel
def _group_sums(x, out):
    for i in range(x.shape[0]):
        total = tack.block_sum(x[i])
        if tack.thread_id() == 0:
            tack.atomic_add(out, 0, total)


@tack.kernel
def _philox(out, seed):
    for i in range(out.shape[0] // 4):
        a, b, c, d = tack.random.bits4_u32(seed, i, 0)
        out[4 * i] = a
        out[4 * i + 1] = b
        out[4 * i + 2] = c
        out[4 * i + 3] = d


_CHAINS, _ROUNDS = 8, 256


@tack.kernel
def _fma_loop(x, factors, rounds):
    a = factors[0]
    b = factors[1]
    for i in range(x.shape[0]):
        x0 = x[i]
        x1 = x0 + 1
        x2 = x0 + 2
        x3 = x0 + 3
        x4 = x0 + 4
        x5 = x0 + 5
        x6 = x0 + 6
        x7 = x0 + 7
        for _ in range(rounds):
            x0 = x0 * a + b
            x1 = x1 * a + b
            x2 = x2 * a + b
            x3 = x3 * a + b
            x4 = x4 * a + b
            x5 = x5 * a + b
            x6 = x6 * a + b
            x7 = x7 * a + b
        x[i] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))


# --------------------------------------------------------------------------------------------------------------- rows


def _filled(shape: int | tuple[int, ...], t: ScalarType = f32) -> Any:
    """0, 1, ... 63, 0, 1, ... in every array of inputs."""
    x = tack.empty(shape, t)
    _ramp(x.reshape(-1))
    return x


def _some(n: int) -> Any:
    """Places whose results are checked: the ends, and some between."""
    return np.unique(np.concatenate([np.arange(min(n, 20)), np.arange(max(n - 20, 0), n), np.linspace(0, n - 1, 20, dtype=int)]))


def _part(array: Any, at: Any) -> Any:
    """The values at some places; the array itself may be too large to be copied."""
    flat = array.reshape(-1)
    return np.concatenate([flat[int(k) : int(k) + 1].numpy() for k in at])


def _copy_work(n: int) -> _Work:
    x, out = _filled(n), tack.zeros(n)

    def check() -> None:
        same(_part(out, _some(n)), (_some(n) % 64).astype(np.float32))

    return _Work(n, 8 * n, 0, lambda: _copy(x, out), check)


def _saxpy_work(n: int) -> _Work:
    x, y, out = _filled(n), _filled(n), tack.zeros(n)

    def check() -> None:
        same(_part(out, _some(n)), (_some(n) % 64 * 4).astype(np.float32))

    return _Work(n, 12 * n, 2 * n, lambda: saxpy(x, y, out, 3.0), check)


def _stencil_work(n: int, rank: int) -> _Work:
    """On u = place modulo 64, compared with NumPy at some places inside."""
    side = max(4, round(n ** (1 / rank)))
    shape = (side,) * rank
    u, out = _filled(shape), tack.zeros(shape)
    kernel, total = (stencil2d, stencil3d)[rank - 2], side**rank
    steps = [side**d for d in range(rank)]

    def check() -> None:
        at = np.ravel_multi_index(tuple(np.linspace(1, side - 2, 30, dtype=int) for _ in range(rank)), shape)
        around = sum((at + s) % 64 + (at - s) % 64 for s in steps) - 2 * rank * (at % 64)
        same(_part(out, at), (at % 64 + 0.5 * around).astype(np.float32))  # halves of small integers: exact in any order

    return _Work(total, 8 * total, (2 * rank + 3) * total, lambda: kernel(u, out, 0.5), check)


def _spmv_work(n: int) -> _Work:
    """Rows of 4 to 12 entries within 4096 of the diagonal."""
    rows = max(64, min(n // 8, 1 << 21))
    starts = np.concatenate([[0], np.cumsum(4 + np.arange(rows) % 9)]).astype(np.int32)
    entries = int(starts[-1])
    p, idx, v, x, y = tack.array(starts), tack.empty(entries, i32), _filled(entries), _filled(rows), tack.zeros(rows)
    _columns(p, idx, rows)

    def check() -> None:
        for row, value in zip(_some(rows), _part(y, _some(rows)), strict=True):
            k = np.arange(int(starts[row]), int(starts[row + 1]))
            columns = np.clip(row + k * 7919 % 8192 - 4096, 0, rows - 1)
            same(value, np.float32((k % 64 * (columns % 64)).sum()), f"row {row}")

    moved = 8 * entries + 12 * rows
    return _Work(entries, moved, 2 * entries, lambda: spmv(p, idx, v, x, y), check)


def _sum_work(n: int) -> _Work:
    n -= n % 64
    x = _filled(n)
    found: list[Any] = [0.0]

    def run() -> None:
        found[0] = x.sum()

    def check() -> None:
        expected = n / 64 * 2016
        same(abs(found[0] - expected) <= 1e-5 * expected, True, f"a.sum() is {found[0]}, not {expected}")

    return _Work(n, 4 * n, n, run, check)


def _group_sums_work(n: int) -> _Work:
    n -= n % 256
    x, out = _filled(n, i32), tack.zeros(1, i32)

    def check() -> None:
        out.fill(0)
        _group_sums(x, out)
        same(out[0], np.array(n // 64 * 2016).astype(np.int32))  # which may have wrapped

    return _Work(n, 4 * n, 0, lambda: _group_sums(x, out), check)


def _philox_work(n: int) -> _Work:
    n -= n % 4
    out = tack.zeros(n, tack.u32)

    def check() -> None:
        at = _some(n)
        same(_part(out, at), np.stack(tack.random.mirror.bits4_u32(5, at // 4, 0))[at % 4, np.arange(len(at))])

    return _Work(n, 4 * n, 0, lambda: _philox(out, 5), check)


def _fma_work(n: int, t: ScalarType) -> _Work:
    """x * 0.5 + 1, again and again, ends at 2 in each chain."""
    n = max(256, min(n // 16, 1 << 24))
    x, factors = _filled(n, t), tack.array(np.array([0.5, 1], t.numpy))

    def check() -> None:
        same(_part(x, _some(n)), np.full(len(_some(n)), 2.0 * _CHAINS, t.numpy))

    flops = 2 * _CHAINS * _ROUNDS * n
    return _Work(n, 2 * t.itemsize * n, flops, lambda: _fma_loop(x, factors, _ROUNDS), check, t)


_ROOFS: dict[str, Callable[[int], _Work]] = {
    "copy f32": _copy_work,
    "FMA loop f32": lambda n: _fma_work(n, f32),
    "FMA loop f64": lambda n: _fma_work(n, f64),
}
_ROWS: dict[str, Callable[[int], _Work]] = {
    "saxpy f32": _saxpy_work,
    "2-D 5-point stencil f32": lambda n: _stencil_work(n, 2),
    "3-D 7-point stencil f32": lambda n: _stencil_work(n, 3),
    "SpMV CSR f32": _spmv_work,
    "a.sum() f32": _sum_work,
    "block_sum and atomics i32": _group_sums_work,
    "Philox4x32 fill": _philox_work,
}
_NEEDS = {"block_sum and atomics i32": "supports_workgroups", "FMA loop f64": "supports_f64"}


# ---------------------------------------------------------------------------------------------------------- measuring


def time_launches(device: Device, run: Callable[[], object], seconds: float) -> float:
    """Seconds of a launch, without waiting between launches: the best of 2 to 9 blocks, in about this time in all."""
    once = _block(device, run, 1)
    launches = max(1, min(1000, int(seconds / 9 / max(once, 1e-7))))
    best, begin = once, time.perf_counter()
    for done in range(9):
        if done > 1 and time.perf_counter() - begin > seconds:
            break
        best = min(best, _block(device, run, launches))
    return best


def _block(device: Device, run: Callable[[], object], launches: int) -> float:
    device.synchronize()
    begin = time.perf_counter()
    for _ in range(launches):
        run()
    device.synchronize()
    return (time.perf_counter() - begin) / launches


def run_throughput(device: Device, seconds: float, left_out: list[str]) -> tuple[list[Row], list[str]]:
    """Measures every row in about so many `seconds`; the rows, and what was wrong with results.

    Rows for which no time is left are added to `left_out`, as are those for which the device lacks a capability.
    """
    rows: list[Row] = []
    wrong: list[str] = []
    end = time.perf_counter() + seconds
    names = [*_ROOFS, *_ROWS]
    with device:
        for k, name in enumerate(names):
            share = (end - time.perf_counter()) / (len(names) - k)
            need = _NEEDS.get(name, "")
            if need and not getattr(device._backend.capabilities, need):
                left_out.append(f"throughput of {name}: the device lacks {need}")
            elif share < 0.02:
                left_out.append(f"throughput of {name}: no time was left")
            else:
                _measure(device, name, share, rows, wrong)
    return rows, wrong


def _measure(device: Device, name: str, seconds: float, rows: list[Row], wrong: list[str]) -> None:
    try:
        work = _large_enough(device, {**_ROOFS, **_ROWS}[name], seconds)
        taken = time_launches(device, work.run, min(seconds / 2, 0.5))
        work.check()
    except Exception as error:  # wrong results, or a device that fails: the other rows still run
        wrong.append(f"{name}: {type(error).__name__}: {str(error).strip()}")
        return
    roof, ratio = _roofline(work, taken, rows)
    rows.append(Row(name, work.elements, taken, work.bytes, work.flops, roof, None if name in _ROOFS else ratio))


def _large_enough(device: Device, make: Callable[[int], _Work], seconds: float) -> _Work:
    """The work of the first size that takes long enough, or of the last that fits the device and the time."""
    memory = device.properties["memory"] or 1 << 32
    make(_FIRST).run()  # compiles
    n, begin = _FIRST, time.perf_counter()
    while True:
        work = make(n)
        work.run()  # compiles where the size counts, and touches the memory
        once = min(_block(device, work.run, 1) for _ in range(3))
        room = n * 8 <= _MOST and work.bytes * 8 <= memory // _SHARE
        if once >= min(_LONG, seconds / 8) or not room or time.perf_counter() - begin > seconds / 3:
            return work
        n *= 8


def _roofline(work: _Work, seconds: float, rows: list[Row]) -> tuple[str, float | None]:
    """The rate that limits some work, and which part of it was reached; "" and None where a roof was not measured."""
    found = {row.name: row for row in rows}
    copy, loop = found.get("copy f32"), found.get(f"FMA loop {work.float.name}")
    if copy is None or loop is None:
        return "", None
    moving, computing = work.bytes * copy.seconds / copy.bytes, work.flops * loop.seconds / loop.flops
    return ("copy" if moving >= computing else "FMA loop"), max(moving, computing) / seconds
