"""Workgroups on a target that has them (W1): lanes, shared arrays, barriers and reductions of every dtype, in several groups.

Expected values come from NumPy; sums of floats have the bits of the documented order, in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tack.ir.nodes import LANES
from tack.ir.types import DTYPES, ScalarType
from tack.testing.sources import kernel_from
from tack.testing.suite import Failure, Report
from tack.testing.targets import Target

__all__ = ["run_workgroups"]

_GROUPS = 3
_N = _GROUPS * LANES
Values = np.ndarray[Any, Any]


def run_workgroups(target: Target) -> Report:
    """Everything about workgroups, or one skipped cell for a target without them."""
    report = Report(target.name)
    if not target.capabilities.supports_workgroups:
        report.skipped["supports_workgroups"] += 1
        return report
    types = [t for t in DTYPES if t in target.capabilities.supported_dtypes]
    report.skipped.update(str(t) for t in DTYPES if t not in types)
    _lanes(target, report)
    _shared(target, types, report)
    _scans(target, types, report)
    _reductions(target, types, report)
    _uniform_control(target, report)
    _grids(target, report)
    _atomics(target, [t for t in types if t in target.capabilities.supported_atomic_dtypes], report)
    _partial_groups(target, report)
    return report


# ------------------------------------------------------------------------------------------------------------ helpers


def _kernel(params: Sequence[str], body: Sequence[str], before: Sequence[str] = (), loop: str = "range(n)") -> Any:
    """A kernel of these lines, over `loop`; its last parameter is n, the number of lanes."""
    lines = ["@tack.kernel", f"def grouped({', '.join([*params, 'n'])}):", *(f"    {line}" for line in before)]
    return kernel_from("\n".join([*lines, f"    for i in {loop}:", *(f"        {line}" for line in body)]) + "\n")


def _values(t: ScalarType) -> Values:
    """Numbers of which some wrap when a group adds them, for integers; floats whose sum depends on the order."""
    rng = np.random.default_rng(11)
    if t.is_int:
        return rng.integers(t.min, t.max, _N, t.numpy, endpoint=True)
    return (rng.standard_normal(_N) * 10.0 ** rng.integers(-3, 4, _N)).astype(t.numpy)


def _groups(x: Values) -> Values:
    return x.reshape(-1, LANES)


def _check(report: Report, cell: str, got: Values, expected: Values) -> None:
    """Counts a cell, and a failure where values differ; NaN is NaN."""
    report.ran[cell.partition(" of ")[0]] += 1
    got, expected = got.ravel(), expected.ravel()
    with np.errstate(invalid="ignore"):
        equal = (got == expected) | ((got != got) & (expected != expected))
    wrong = np.flatnonzero(~equal)
    if len(wrong):
        first = int(wrong[0])
        report.failures.append(Failure(cell, (first,), got[first].item(), expected[first].item(), len(wrong)))


def _each(target: Target, types: Sequence[ScalarType], lines: Callable[[str], Sequence[str]], before: str = "") -> list[Values]:
    """What a kernel of these lines for each type leaves in `y_<type>`, from `_values` in `x_<type>`."""
    params = [name for t in types for name in (f"x_{t.name}", f"y_{t.name}")]
    declared = [before.format(t=t.name) for t in types] if before else []
    kernel = _kernel(params, [line for t in types for line in lines(t.name)], declared)
    args = [array for t in types for array in (_values(t), np.zeros(_N, t.numpy))]
    target.run(kernel, (*args, _N))
    return args[1::2]


def _folded(x: Values, function: Callable[[Values, Values], Values]) -> Values:
    """The reduction of each group, in pairs as the language defines it."""
    rows = _groups(x)
    with np.errstate(over="ignore"):
        while rows.shape[1] > 1:
            half = rows.shape[1] // 2
            rows = function(rows[:, :half], rows[:, half:])
    return np.repeat(rows, LANES, 1)


# -------------------------------------------------------------------------------------------------------------- cells


def _lanes(target: Target, report: Report) -> None:
    kernel = _kernel(["lane"], ["lane[i] = tack.thread_id()"])
    for count in (_N, LANES, 1, LANES + 17):  # also groups that are not full
        lane = np.full(count, -1, np.int64)
        target.run(kernel, (lane, count))
        _check(report, f"thread_id of {count} lanes", lane, np.arange(count) % LANES)


def _shared(target: Target, types: Sequence[ScalarType], report: Report) -> None:
    """Groups turned round through arrays of one and of two dimensions, and by `shared_like`."""
    got = _each(
        target, types,
        lambda t: (f"s_{t}[tack.thread_id()] = x_{t}[i]", "tack.barrier()", f"y_{t}[i] = s_{t}[{LANES - 1} - tack.thread_id()]"),
        f"s_{{t}} = tack.shared(tack.{{t}}, {LANES})",
    )  # fmt: skip
    for t, y in zip(types, got, strict=True):
        _check(report, f"shared of {t}", y, _groups(_values(t))[:, ::-1])
    got = _each(
        target, types,
        lambda t: (
            "lane = tack.thread_id()", f"s_{t}[lane // 16, lane % 16] = x_{t}[i]", "tack.barrier()",
            f"y_{t}[i] = s_{t}[lane % 16, lane // 16]",
        ),
        "s_{t} = tack.shared_like(x_{t}, (16, 16))",
    )  # fmt: skip
    for t, y in zip(types, got, strict=True):
        _check(report, f"shared_like of {t}", y, _values(t).reshape(-1, 16, 16).transpose(0, 2, 1))


def _scans(target: Target, types: Sequence[ScalarType], report: Report) -> None:
    """Inclusive sums with a barrier on each side of every step: integers wrap, floats add in the order of the steps."""
    got = _each(
        target, types,
        lambda t: (
            "lane = tack.thread_id()", f"s_{t}[lane] = x_{t}[i]", "tack.barrier()", "step = 1",
            f"while step < {LANES}:", f"    had_{t} = s_{t}[lane]", "    if lane >= step:",
            f"        had_{t} = s_{t}[lane - step] + had_{t}", "    tack.barrier()", f"    s_{t}[lane] = had_{t}",
            "    tack.barrier()", "    step *= 2", f"y_{t}[i] = s_{t}[lane]",
        ),
        f"s_{{t}} = tack.shared(tack.{{t}}, {LANES})",
    )  # fmt: skip
    for t, y in zip(types, got, strict=True):
        rows, step = _groups(_values(t)).copy(), 1
        with np.errstate(over="ignore"):
            while step < LANES:
                rows[:, step:] = rows[:, :-step] + rows[:, step:]
                step *= 2
        _check(report, f"barrier of {t}", y, rows)


_FOLDS: dict[str, Callable[[Values, Values], Values]] = {"sum": np.add, "min": np.fmin, "max": np.fmax}


def _reductions(target: Target, types: Sequence[ScalarType], report: Report) -> None:
    for op, function in _FOLDS.items():
        got = _each(target, types, lambda t, op=op: (f"y_{t}[i] = tack.block_{op}(x_{t}[i])",))
        for t, y in zip(types, got, strict=True):
            _check(report, f"block_{op} of {t}", y, _folded(_values(t), function))
    for op in ("min", "max"):  # NaN is passed over, unless a group has nothing else
        kernel = _kernel(["x", "y"], [f"y[i] = tack.block_{op}(x[i])"])
        for t in types:
            if t.is_float:
                x, y = _values(t), np.zeros(_N, t.numpy)
                x[::2], x[:LANES] = np.nan, np.nan
                target.run(kernel, (x, y, _N))
                _check(report, f"block_{op} of {t} with NaN", y, _folded(x, _FOLDS[op]))


def _uniform_control(target: Target, report: Report) -> None:
    """Collectives in loops, branches and functions' ways that are the same for all lanes."""
    body = [
        "total = 0", "for k in range(rounds):", "    s[(tack.thread_id() + k) % 256] = x[i] + k", "    tack.barrier()",
        "    total += s[tack.thread_id()]", "    tack.barrier()", "    if k % 2 == 0:", "        total += tack.block_max(x[i])",
        "    if k > 4:", "        break", "left = rounds", "while tack.block_max(left) > 0:", "    left -= 1", "    total += 1",
        "y[i] = total",
    ]  # fmt: skip
    kernel = _kernel(["x", "y", "rounds"], body, ["s = tack.shared(tack.i32, 256)"])
    for rounds in (0, 1, 3, 9):
        x = np.random.default_rng(2).integers(-1000, 1000, _N).astype(np.int32)
        y = np.zeros(_N, np.int64)
        target.run(kernel, (x, y, rounds, _N))
        expected = np.zeros(_groups(x).shape, np.int64)
        for k in range(min(rounds, 6)):
            expected += np.roll(_groups(x), k, 1) + k
            expected += _groups(x).max(1, keepdims=True) if k % 2 == 0 else 0
        _check(report, f"uniform loop of {rounds} rounds", y, expected + rounds)


def _grids(target: Target, report: Report) -> None:
    """The iterations of an `ndindex` are dealt to groups in their order, the last index fastest."""
    for shape in ((6, LANES // 2), (2, 2 * LANES), (32, 248), (3, 4, 64)):
        names = ", ".join("ijk"[: len(shape)])
        loop = f"tack.ndindex({', '.join(f'x.shape[{d}]' for d in range(len(shape)))})"
        kernel = kernel_from(
            f"@tack.kernel\ndef grouped(x, y, lane):\n    for {names} in {loop}:\n"
            f"        y[{names}] = tack.block_sum(x[{names}])\n        lane[{names}] = tack.thread_id()\n"
        )
        x = np.random.default_rng(3).integers(-1000, 1000, shape).astype(np.int32)
        y, lane = np.zeros(shape, np.int64), np.zeros(shape, np.int32)
        target.run(kernel, (x, y, lane))
        _check(report, f"ndindex of {shape}", y, np.repeat(_groups(x).sum(1), LANES).reshape(shape))
        _check(report, f"thread_id of {shape}", lane, (np.arange(x.size) % LANES).reshape(shape))


def _atomics(target: Target, types: Sequence[ScalarType], report: Report) -> None:
    """One lane of each group hands over the group's sum, extremes and count."""
    body = [
        "total = tack.block_sum(x[i])", "least = tack.block_min(x[i])", "most = tack.block_max(x[i])",
        "if tack.thread_id() == 0:", "    tack.atomic_add(out, 0, total)", "    tack.atomic_min(out, 1, least)",
        "    tack.atomic_max(out, 2, most)",
    ]  # fmt: skip
    kernel = _kernel(["x", "out"], body)
    for t in types:
        x = np.random.default_rng(5).integers(0 if t.kind == "uint" else -9, 9, _N).astype(t.numpy)
        out = np.array([0, x[0], x[0]], t.numpy)
        target.run(kernel, (x, out, _N))
        _check(report, f"group to atomic of {t}", out, np.array([x.sum(), x.min(), x.max()]).astype(t.numpy))


def _partial_groups(target: Target, report: Report) -> None:
    """Collectives in a launch whose last group is not full are refused, and nothing has run."""
    kernel = _kernel(["out"], ["tack.barrier()", "out[i] = 1"])
    for count in (1, LANES - 1, LANES + 1):
        out, message = np.full(count, 77, np.int32), "nothing was raised"
        try:
            target.run(kernel, (out, count))
        except ValueError as error:
            message = str(error)
        report.ran["partial group"] += 1
        if "workgroup without all its" not in message or (out != 77).any():
            report.failures.append(Failure(f"partial group of {count} lanes", (count,), message, "ValueError, nothing run", 1))
