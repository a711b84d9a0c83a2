"""Checks of a device that are whole programs: each runs kernels on the default device, and raises where results are wrong.

Knows no backend: what a case needs it says by the name of a capability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tack.ir.types import ScalarType
from tack.runtime.constructors import array
from tack.runtime.device import Device
from tack.testing.suite import Failure, Report

__all__ = ["Case", "arr", "refused", "run_cases", "same"]


@dataclass(frozen=True, slots=True)
class Case:
    """One program. With `types` it takes one of them as argument and runs once for each that the device has, else it takes none.

    `needs`: the field of `Capabilities` without which it is skipped. `atomics`: it updates arrays of its type by atomics.
    """

    name: str
    run: Callable[..., None]
    types: tuple[ScalarType, ...] = ()
    needs: str = ""
    atomics: bool = False


def run_cases(device: Device, name: str, cases: Sequence[Case]) -> Report:
    """Runs the cases with `device` as the default; `name` is what the report calls it."""
    report, capabilities = Report(name), device._backend.capabilities
    with device:
        for case in cases:
            if case.needs and not getattr(capabilities, case.needs):
                report.skipped[case.needs] += 1
                continue
            for t in case.types or (None,):
                if t is not None and t not in capabilities.supported_dtypes:
                    report.skipped[str(t)] += 1
                elif case.atomics and t not in capabilities.supported_atomic_dtypes:
                    report.skipped[f"atomics on {t}"] += 1
                else:
                    _run(case, t, report)
    return report


def _run(case: Case, t: ScalarType | None, report: Report) -> None:
    report.ran[case.name] += 1
    what = case.name if t is None else f"{case.name}, {t}"
    try:
        case.run() if t is None else case.run(t)
    except AssertionError as error:
        report.failures.append(Failure(what, (), str(error).strip(), "equality", 1))
    except Exception as error:  # a device that fails must not hide what the others say
        report.failures.append(Failure(what, (), f"{type(error).__name__}: {error}", "no error", 1))


# ------------------------------------------------------------------------------------------------------------ helpers


def arr(values: Any, t: ScalarType) -> Any:
    """An array of `t` on the default device; values that do not fit wrap, as NumPy's casts do."""
    return array(np.array(values).astype(t.numpy))


def same(got: Any, expected: Any, what: str = "") -> None:
    """AssertionError unless the two have one shape and equal values; NaN equals NaN, and zeros have signs."""
    got, expected = np.asarray(got), np.asarray(expected)
    np.testing.assert_array_equal(got, expected, err_msg=what)
    if got.dtype.kind == "f" and expected.dtype.kind == "f":
        numbers = ~np.isnan(got)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers], err_msg=f"{what} (signs)")


def refused(call: Callable[[], object], kind: type[Exception], *words: str) -> None:
    """AssertionError unless the call raises an error of this kind, with these words in its text."""
    try:
        call()
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        if missing:
            raise AssertionError(f"the error does not say {missing}: {error}") from error
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
