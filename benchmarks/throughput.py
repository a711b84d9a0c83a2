"""Steady state on one thread: each row's kernel against the same loop in C++, answers checked against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tack
from benchmarks import reference
from benchmarks.timing import Pair, Run, pair
from tack.testing.throughput import saxpy, spmv, stencil2d, stencil3d

f32 = np.float32


@dataclass(frozen=True)
class Row:
    """A row of the table: `build(quick)` gives (Tack's run, the C++ run, a check of both answers)."""

    name: str
    goal: float
    build: Callable[[bool], tuple[Run, Run, Callable[[], bool]]]


def _close(got: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.abs(got.astype(np.float64) - want) <= tolerance * (1 + np.abs(want))))


def _row(
    call: Run,
    name: str,
    inputs: tuple[np.ndarray, ...],
    rest: tuple[float, ...],
    out: tuple[tack.Array, np.ndarray],
    checked: Any,
) -> tuple[Run, Run, Callable[[], bool]]:
    """`name`: the C++ function, called with the addresses of `inputs` and of its output `out[1]`, then `rest`, on one thread."""
    function, (mine, theirs), (want, tolerance) = getattr(reference.load(), name), out, checked
    arguments = (*(reference.ptr(a) for a in (*inputs, theirs)), *rest, 1)

    def check() -> bool:  # holds the arrays whose addresses the C++ call was given
        assert len(inputs) > 0
        return _close(mine.numpy(), want, tolerance) and _close(theirs, want, tolerance)

    return call, lambda: function(*arguments), check


def _saxpy(quick: bool) -> Any:
    n, random = 1 << (20 if quick else 24), np.random.default_rng(1)
    x, y = random.random(n, dtype=f32), random.random(n, dtype=f32)
    out_c = np.zeros(n, f32)
    tx, ty, out = tack.array(x), tack.array(y), tack.zeros(n)
    want = f32(2.5) * x + y
    return _row(lambda: saxpy(tx, ty, out, 2.5), "c_saxpy", (x, y), (2.5, n), (out, out_c), (want, 1e-6))


def _stencil2d(quick: bool) -> Any:
    n = 512 if quick else 4096
    u = np.random.default_rng(2).random((n, n), dtype=f32)
    want = np.zeros_like(u)
    centre = u[1:-1, 1:-1]
    want[1:-1, 1:-1] = centre + f32(0.125) * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * centre)
    out_c, tu, out = np.zeros_like(u), tack.array(u), tack.zeros((n, n))
    return _row(lambda: stencil2d(tu, out, 0.125), "c_stencil2d", (u,), (0.125, n, n), (out, out_c), (want, 1e-5))


def _stencil3d(quick: bool) -> Any:
    n = 64 if quick else 256
    u = np.random.default_rng(3).random((n, n, n), dtype=f32)
    want = np.zeros_like(u)
    s, low, high = slice(1, -1), slice(None, -2), slice(2, None)
    around = u[low, s, s] + u[high, s, s] + u[s, low, s] + u[s, high, s] + u[s, s, low] + u[s, s, high]
    want[s, s, s] = u[s, s, s] + f32(0.125) * (around - 6 * u[s, s, s])
    out_c, tu, out = np.zeros_like(u), tack.array(u), tack.zeros((n, n, n))
    return _row(lambda: stencil3d(tu, out, 0.125), "c_stencil3d", (u,), (0.125, n), (out, out_c), (want, 1e-5))


def _spmv(quick: bool) -> Any:
    n, random = 20_000 if quick else 1_000_000, np.random.default_rng(6)
    number = random.integers(4, 13, n).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(number)])
    row = np.repeat(np.arange(n), number)
    idx = np.clip(row + random.integers(-4096, 4097, len(row)), 0, n - 1).astype(np.int32)
    v, x, p = random.random(len(row)), random.random(n), start.astype(np.int32)
    want = np.add.reduceat(v * x[idx], start[:-1])
    out_c = np.zeros(n)
    arrays = [tack.array(a) for a in (p, idx, v, x)]
    out = tack.zeros(n, dtype=tack.f64)
    return _row(lambda: spmv(*arrays, out), "c_spmv", (p, idx, v, x), (n,), (out, out_c), (want, 1e-10))


ROWS = (
    Row("saxpy 16M", 1.05, _saxpy),
    Row("2-D 5-point stencil 4096^2", 1.05, _stencil2d),
    Row("3-D 7-point stencil 256^3", 1.05, _stencil3d),
    Row("SpMV CSR f64, 10^6 rows", 1.1, _spmv),
)


def _warm_other_dtype() -> None:
    """Every kernel gets a variant of another dtype first: the rows are measured as in a program with several."""
    x = tack.ones(8, dtype=tack.f64)
    saxpy(x, x.copy(), x.copy(), 2.0)
    stencil2d(tack.ones((4, 4), dtype=tack.f64), tack.ones((4, 4), dtype=tack.f64), 0.5)
    stencil3d(tack.ones((4, 4, 4), dtype=tack.f64), tack.ones((4, 4, 4), dtype=tack.f64), 0.5)
    p, i = tack.array(np.array([0, 1, 2], np.int64)), tack.array(np.array([0, 1], np.int64))
    spmv(p, i, tack.ones(2), tack.ones(2), tack.ones(2))


def measure(quick: bool) -> list[tuple[str, Pair, float]]:
    """(row, times, goal) for each row."""
    results: list[tuple[str, Pair, float]] = []
    with tack.device("cpu", num_threads=1):
        _warm_other_dtype()
        for row in ROWS:
            run, run_c, check = row.build(quick)
            times = pair(run, run_c)
            if not check():
                raise SystemExit(f"{row.name}: the answers differ from NumPy's")
            results.append((row.name, times, row.goal))
    return results
