"""Atomics and local arrays of every dtype on a target. Iterations have no order: old and new values must pair up."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from tack.ir.types import DTYPES, ScalarType
from tack.lang.kernel import Kernel
from tack.testing.reference import extreme
from tack.testing.sources import kernel_from
from tack.testing.suite import Failure, Report
from tack.testing.targets import Target
from tack.testing.values import wrap

__all__ = ["chain_error", "run_memory"]

_OPS = ("add", "min", "max")
_N, _CELLS = 300, 3


@cache
def _atomic_kernel(op: str) -> Kernel:
    return kernel_from(
        f"@tack.kernel\ndef k(at, v, cells, old):\n    for i in range(v.shape[0]):\n"
        f"        old[i] = tack.atomic_{op}(cells, at[i], v[i])\n"
    )


@cache
def _ring_kernel(name: str) -> Kernel:
    return kernel_from(
        f"@tack.kernel\ndef k(x, out):\n    for i in range(x.shape[0]):\n        ring = tack.local_array(tack.{name}, (2, 2))\n"
        "        for k in range(4):\n            ring[k // 2, k % 2] = x[max(i - k, 0)]\n"
        "        out[i] = ring[0, 0] + ring[0, 1] + ring[1, 0] + ring[1, 1]\n"
    )


def run_memory(target: Target) -> Report:
    """Every atomic operation on every dtype that has atomics there, and local arrays of every dtype."""
    report = Report(target.name)
    capabilities = target.capabilities
    for t in DTYPES:
        if t not in capabilities.supported_dtypes:
            report.skipped[str(t)] += 1
            continue
        _local_array(target, t, report)
        for op in _OPS:
            if t in capabilities.supported_atomic_dtypes:
                _atomic(target, op, t, report)
            else:
                report.skipped[f"atomics on {t}"] += 1
    return report


def _values(t: ScalarType) -> np.ndarray[Any, Any]:
    low = 0 if t.kind == "uint" else -90
    return np.random.default_rng(7).integers(low, 90, _N).astype(t.numpy)


def _local_array(target: Target, t: ScalarType, report: Report) -> None:
    report.ran["local_array"] += 1
    x = _values(t)
    out = np.zeros_like(x)
    target.run(_ring_kernel(t.name), (x, out))
    shifted = [x[np.maximum(np.arange(_N) - k, 0)] for k in range(4)]
    expected = (shifted[0] + shifted[1] + shifted[2] + shifted[3]).astype(t.numpy)
    wrong = np.flatnonzero(out != expected)
    if len(wrong):
        first = int(wrong[0])
        report.failures.append(Failure(f"local_array of {t.name}", (first,), out[first], expected[first], len(wrong)))


def _atomic(target: Target, op: str, t: ScalarType, report: Report) -> None:
    report.ran[f"atomic_{op}"] += 1
    at, v = np.random.default_rng(8).integers(0, _CELLS, _N), _values(t)
    before = np.array([5, 9, 0], t.numpy)
    cells, old = before.copy(), np.zeros(_N, t.numpy)
    target.run(_atomic_kernel(op), (at, v, cells, old))
    for k in range(_CELLS):
        mine = at == k
        error = chain_error(op, t, before[k], cells[k], v[mine], old[mine])
        if error is not None:
            report.failures.append(Failure(f"atomic_{op} of {t.name}", (k,), *error, int(mine.sum())))


def chain_error(op: str, t: ScalarType, first: Any, last: Any, v: Any, old: Any) -> tuple[Any, Any] | None:
    """What is wrong with the old values of atomics on one element: (what was got, what was expected), or None.

    In whatever order they came, what each found is what another one left, but for the first value and the last.
    """
    left = [_combined(op, a, b, t) for a, b in zip(old.tolist(), v.tolist(), strict=True)]
    got, expected = Counter([*old.tolist(), last.item()]), Counter([first.item(), *left])
    if got != expected:
        return dict(got - expected), dict(expected - got)
    if op == "add":
        total = first.item() + sum(v.tolist())
        final = wrap(int(total), t) if t.is_int else total
    else:
        final = extreme(op, (first, *v)).item()
    return None if last.item() == final else (last.item(), final)


def _combined(op: str, old: Any, v: Any, t: ScalarType) -> Any:
    if op == "add":
        return wrap(int(old + v), t) if t.is_int else old + v
    return min(old, v) if op == "min" else max(old, v)
