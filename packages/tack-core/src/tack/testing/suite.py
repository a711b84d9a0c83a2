"""Runs the cells on a target and reports what was run, what was skipped for want of a capability, and what came out wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tack.ir.types import ScalarType
from tack.runtime.backend import Capabilities
from tack.testing.cells import Cell, Group, Refusal, capability_refusals, groups, refusals, stored
from tack.testing.sources import group_kernel, kernel_from
from tack.testing.targets import Target
from tack.testing.values import apart

__all__ = ["Failure", "Report", "packs", "run_cells", "run_pack", "run_refusals", "with_capabilities"]

Values = np.ndarray[Any, Any]
_MOST_RESULTS = 40  # arrays of results in one kernel: compiling many small kernels, or few huge ones, takes longer


@dataclass(frozen=True, slots=True)
class Failure:
    """One wrong cell: its operation and types, and the first operands for which it is wrong."""

    cell: str
    operands: tuple[Any, ...]
    got: Any
    expected: Any
    wrong: int

    def __str__(self) -> str:
        return f"{self.cell}: for {self.operands} {self.got!r}, not {self.expected!r} ({self.wrong} wrong)"


@dataclass(slots=True)
class Report:
    """What `target` did: cells run by operation, cells skipped by the capability they lack, and failures."""

    target: str
    ran: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    failures: list[Failure] = field(default_factory=list[Failure])

    @property
    def cells(self) -> int:
        """How many cells were run."""
        return self.ran.total()

    def __str__(self) -> str:
        counts = ", ".join(f"{op} {count}" for op, count in sorted(self.ran.items()))
        lines = [f"{self.target}: {self.cells} cells, {self.skipped.total()} skipped, {len(self.failures)} wrong", f"  {counts}"]
        lines += [f"  skipped for want of {name}: {count}" for name, count in sorted(self.skipped.items())]
        lines += [f"  {failure}" for failure in self.failures]
        return "\n".join(lines)


def run_cells(target: Target, *, chosen: Sequence[Group] | None = None) -> Report:
    """All cells (or those of the `chosen` groups) on one target."""
    report = Report(target.name)
    kept = [with_capabilities(group, target.capabilities, report) for group in (groups() if chosen is None else chosen)]
    for pack in packs([group for group in kept if group.cells]):
        operands = [[_column(group, k) for k in range(len(group.operands))] for group in pack]
        for group, results in zip(pack, run_pack(target, pack, operands), strict=True):
            for cell, got in zip(group.cells, results, strict=True):
                report.ran[cell.op] += 1
                failure = _compare(group, cell, got)
                if failure is not None:
                    report.failures.append(failure)
    return report


def with_capabilities(group: Group, capabilities: Capabilities, report: Report) -> Group:
    """The group without the cells that the target cannot run, which are counted."""
    kept: list[Cell] = []
    for cell in group.cells:
        lacking = [t for t in (*group.operands, stored(cell.result), group.floating) if t not in capabilities.supported_dtypes]
        if lacking:
            report.skipped[str(lacking[0])] += 1
        elif cell.capability and not getattr(capabilities, cell.capability):
            report.skipped[cell.capability] += 1
        else:
            kept.append(cell)
    return Group(group.operands, group.floating, tuple(kept))


def packs(found: Iterable[Group]) -> list[list[Group]]:
    """Groups that share a kernel: of one default float, which is the kernel's, and with so many results in all."""
    made: list[list[Group]] = []
    room: dict[ScalarType, int] = {}
    last: dict[ScalarType, list[Group]] = {}
    for group in found:
        t, size = group.floating, len(group.cells)
        if room.get(t, 0) < size:
            last[t], room[t] = [], _MOST_RESULTS
            made.append(last[t])
        last[t].append(group)
        room[t] -= size
    return made


def run_pack(target: Target, pack: Sequence[Group], operands: Sequence[Sequence[Values]]) -> list[list[Values]]:
    """The results of each cell, by group, for the columns of `operands` of each group, in one launch."""
    counts = [len(columns[0]) for columns in operands]
    length = max(counts)
    args: list[Any] = [np.resize(column, length) for columns in operands for column in columns]
    results = [[np.full(length, 77, stored(cell.result).numpy) for cell in group.cells] for group in pack]
    args += [array for arrays in results for array in arrays]
    target.run(group_kernel(tuple(pack)), (*args, length))
    return [[array[:count] for array in arrays] for arrays, count in zip(results, counts, strict=True)]


def _column(group: Group, k: int) -> Values:
    return np.array([row[k] for row in group.inputs()], group.operands[k].numpy)


@cache
def _expected(group: Group, cell: Cell) -> Values:
    return np.array([cell.value(*row) for row in group.inputs()], stored(cell.result).numpy)


def _compare(group: Group, cell: Cell, got: Values) -> Failure | None:
    expected = _expected(group, cell)
    wrong = np.flatnonzero(~_agree(got, expected, cell.ulp))
    if not len(wrong):
        return None
    first = int(wrong[0])
    name = f"{cell.op} `{cell.text}` of {group.name}"
    return Failure(name, group.inputs()[first], got[first].item(), expected[first].item(), len(wrong))


def _agree(got: Values, expected: Values, ulp: float) -> Values:
    """Where two arrays are equal: NaN is NaN, zeros have signs, and floats may be `ulp` units in the last place apart."""
    if got.dtype.kind != "f":
        return got == expected
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected))
    if not ulp:
        return same
    near = (np.signbit(got) == np.signbit(expected)) & (apart(got, expected) <= ulp)
    return same | (near & ~np.isnan(got) & ~np.isnan(expected))


# ---------------------------------------------------------------------------------------------------------- refusals


def run_refusals(target: Target) -> Report:
    """Everything that the type rules refuse, and what needs a capability that the target lacks: nothing may have run."""
    report = Report(target.name)
    for refusal in refusals():
        lacking = [t for t in refusal.operands if t not in target.capabilities.supported_dtypes]
        if lacking:
            report.skipped[str(lacking[0])] += 1
        else:
            _refuse(target, report, refusal)
    for refusal in capability_refusals(target.capabilities):
        _refuse(target, report, refusal)
    return report


def _refuse(target: Target, report: Report, refusal: Refusal) -> None:
    report.ran[refusal.op] += 1
    names = "ab"[: len(refusal.operands)]
    text = refusal.text.format(*(f"{name}[i]" for name in names))
    head = f"@tack.kernel\ndef refused({', '.join([*names, 'out'])}):\n    for i in range(1):\n        {text}\n"
    kernel = kernel_from(head + "        out[i] += 1\n")
    args = [*(np.ones(1, t.numpy) for t in refusal.operands), np.full(1, 77, np.int32)]
    message = ""
    try:
        target.run(kernel, args)
    except refusal.kind as error:
        message = str(error)
    needed = [refusal.words, "refused"] + ([text, "line 4"] if refusal.op != "dtype" else [])
    if args[-1][0] != 77 or not all(word in message for word in needed):
        cell = f"{refusal.op} `{refusal.text}` of {' '.join(t.name for t in refusal.operands)}"
        report.failures.append(Failure(cell, (), message or "accepted", f"{refusal.kind.__name__} with {needed}", 1))
