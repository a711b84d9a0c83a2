"""Two devices compute every cell of the conformance suite on random bits: what is exact must have the same bits on both.

Elementary functions need not agree to the bit; how far they are apart is told in units in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tack.ir.types import DTYPES, ScalarType
from tack.runtime.backend import Capabilities
from tack.testing.cells import Cell, Group, groups
from tack.testing.suite import Failure, Report, packs, run_pack, with_capabilities
from tack.testing.targets import Target
from tack.testing.values import apart

__all__ = ["Agreement", "random_operands", "run_agreement"]

Values = np.ndarray[Any, Any]
_COUNT = 2048  # operands of each cell


@dataclass(slots=True)
class Agreement:
    """`report`: cells that must agree to the bit. `ulps`: the largest distance of the others, by function and type."""

    report: Report
    ulps: dict[str, float] = field(default_factory=dict[str, float])


def run_agreement(target: Target, other: Target, *, chosen: Sequence[Group] | None = None) -> Agreement:
    """All cells (or those of the `chosen` groups) that both targets can run, on the same random operands."""
    found = Agreement(Report(target.name))
    both = _common(target.capabilities, other.capabilities)
    kept = [with_capabilities(group, both, found.report) for group in (groups() if chosen is None else chosen)]
    for pack in packs([group for group in kept if group.cells]):
        operands = [random_operands(group.operands) for group in pack]
        mine, theirs = (run_pack(each, pack, operands) for each in (target, other))
        for group, columns, got, expected in zip(pack, operands, mine, theirs, strict=True):
            for cell, a, b in zip(group.cells, got, expected, strict=True):
                found.report.ran[cell.op] += 1
                _compare(found, group, cell, columns, a, b)
    return found


def _common(a: Capabilities, b: Capabilities) -> Capabilities:
    """What both have, as far as cells depend on it."""
    return replace(
        a,
        supported_dtypes=tuple(t for t in DTYPES if t in a.supported_dtypes and t in b.supported_dtypes),
        fma=a.fma and b.fma,
        exact_sqrt=a.exact_sqrt and b.exact_sqrt,
    )


# ----------------------------------------------------------------------------------------------------------- operands


def random_operands(types: Sequence[ScalarType]) -> list[Values]:
    """A column of operands for each type: a third any bits, a third of like magnitude, a third small integers."""
    rng = np.random.default_rng([len(types), *(DTYPES.index(t) for t in types)])
    return [np.concatenate(list(_columns(rng, t))) for t in types]


def _columns(rng: np.random.Generator, t: ScalarType) -> Iterator[Values]:
    some, rest = _COUNT // 3, _COUNT - 2 * (_COUNT // 3)
    yield np.frombuffer(rng.bytes(some * t.itemsize), t.numpy).copy()
    if t.is_float:
        yield (rng.standard_normal(some) * 2.0 ** rng.integers(-4, 5, some)).astype(t.numpy)
    else:  # of any number of bits
        yield np.frombuffer(rng.bytes(some * t.itemsize), t.numpy) >> rng.integers(0, t.bits, some).astype(t.numpy)
    yield rng.integers(-20 if t.signed or t.is_float else 0, 40, rest).astype(t.numpy)


# --------------------------------------------------------------------------------------------------------- comparison


def _compare(found: Agreement, group: Group, cell: Cell, operands: Sequence[Values], got: Values, expected: Values) -> None:
    if cell.ulp:
        name = f"{cell.op} {cell.result.name}"
        found.ulps[name] = max(found.ulps.get(name, 0.0), _distance(got, expected))
        return
    wrong = np.flatnonzero(~_same_bits(got, expected))
    if len(wrong):
        first = int(wrong[0])
        name = f"{cell.op} `{cell.text}` of {group.name}"
        given = tuple(column[first].item() for column in operands)
        found.report.failures.append(Failure(name, given, got[first].item(), expected[first].item(), len(wrong)))


def _same_bits(a: Values, b: Values) -> Values:
    """Where values have one bit pattern; any NaN is NaN."""
    equal = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    return equal | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else equal


def _distance(a: Values, b: Values) -> float:
    """The most steps between floats from one value to the other; infinite where one is NaN and the other is not."""
    if (np.isnan(a) != np.isnan(b)).any():
        return float("inf")
    numbers = ~np.isnan(a)
    return float(max(apart(a[numbers], b[numbers]), default=0))
