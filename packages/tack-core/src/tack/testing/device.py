"""`python -m tack.testing.device KIND [REPORT]`: checks and measures one device of this machine, in minutes.

Needs NumPy, llvmlite, and what the device needs. Prints a summary and writes one JSON object to the file REPORT.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from tack.runtime.device import Device, device
from tack.testing import agreement, features, field, launches
from tack.testing.cases import Case, run_cases
from tack.testing.latency import first_calls, launch_costs
from tack.testing.memory import run_memory
from tack.testing.report import DeviceReport, describe
from tack.testing.suite import Report, run_cells, run_refusals
from tack.testing.targets import DeviceTarget
from tack.testing.throughput import run_throughput
from tack.testing.workgroups import run_workgroups

__all__ = ["check_device", "main"]

T = TypeVar("T")
SECONDS = 270.0  # what is measured ends by then; what is checked is never cut short
_DEFAULTS = ("cpu", "tack-device-report.json")
_USAGE = "usage: python -m tack.testing.device [KIND [REPORT]]"


def main(arguments: Sequence[str]) -> int:
    """Runs everything on the device of the given spec (default "cpu"), prints the report and writes it to the given file (default
    "tack-device-report.json" in the working folder); the exit status.

    0: all as it should be, 1: something is wrong or nothing ran, 2: there is no such device, it runs no kernel at all, or the
    report cannot be written.
    """
    if len(arguments) > 2:
        print(_USAGE, file=sys.stderr)
        return 2
    spec, path = (*arguments, *_DEFAULTS[len(arguments) :])
    try:
        chosen = device(spec)
        with chosen, suppress(AssertionError):
            field.ranges()  # a driver that is too old, say, is told once; what is wrong is told by the checks
        report = DeviceReport(spec, *describe(chosen))
        file = open(path, "w", encoding="utf-8")
    except (RuntimeError, ValueError, OSError) as error:  # not here, no such device, no such folder, no kernel runs
        print(error, file=sys.stderr)
        return 2
    with file:
        check_device(chosen, report, SECONDS)
        file.write(report.to_json() + "\n")
    print(report)
    print(f"written to {path}")
    return 0 if report.ok else 1


def check_device(chosen: Device, report: DeviceReport, seconds: float) -> None:
    """Runs every check, then measures in what is left of so many `seconds`; fills the report."""
    begin = time.perf_counter()

    def left() -> float:
        return begin + seconds - time.perf_counter()

    _check(chosen, report)
    _compare_with_cpu(chosen, report, left)
    _measure(chosen, report, left)
    report.seconds = time.perf_counter() - begin


# ------------------------------------------------------------------------------------------------------------- checks


def _check(chosen: Device, report: DeviceReport) -> None:
    target = DeviceTarget(chosen, report.spec)
    sections: dict[str, Callable[[], Report]] = {
        "conformance": lambda: run_cells(target),
        "memory": lambda: run_memory(target),
        "refusals": lambda: run_refusals(target),
        "field cases": lambda: run_cases(chosen, report.spec, field.CASES),
        "launches": lambda: run_cases(chosen, report.spec, launches.CASES),
        "features": lambda: run_cases(chosen, report.spec, features.CASES),
    }
    if chosen._backend.capabilities.supports_workgroups:
        sections["workgroups"] = lambda: run_workgroups(target)
    else:
        report.left_out.append("workgroups: the device has none")
    for name, run in sections.items():
        _section(report, name, run)


def _section(report: DeviceReport, name: str, run: Callable[[], Report]) -> None:
    begin = time.perf_counter()
    found = _attempt(report, name, run)
    if found is not None:
        report.sections[name] = found, time.perf_counter() - begin


def _attempt(report: DeviceReport, name: str, run: Callable[[], T]) -> T | None:
    """The value of `run()`. An error that nobody expects ends that part of the run alone, and is in the report."""
    try:
        return run()
    except Exception as error:  # what one part meets must not hide what the others say
        report.wrong.append(f"{name} ended with {type(error).__name__}: {error}")
        return None


def _compare_with_cpu(chosen: Device, report: DeviceReport, left: Callable[[], float]) -> None:
    if left() < 20:
        report.left_out.append("agreement with the CPU: no time was left")
        return

    def run() -> Report:
        one = device("cpu", num_threads=1)
        found = agreement.run_agreement(DeviceTarget(chosen, report.spec), DeviceTarget(one, "cpu"))
        report.agreement_ulps = found.ulps
        return found.report

    _section(report, "agreement", run)


# ----------------------------------------------------------------------------------------------------------- measures

_PAST_32_BITS = 1 << 31


def _measure(chosen: Device, report: DeviceReport, left: Callable[[], float]) -> None:
    def throughput() -> None:
        report.throughput, wrong = run_throughput(chosen, min(left() / 2, 30), report.left_out)
        report.wrong += [f"throughput of {each}" for each in wrong]

    def costs() -> None:
        report.launch_costs = launch_costs(chosen, min(left() / 4, 4))

    def first() -> None:
        report.first_calls = first_calls(report.spec, min(left() - 1, 120), report.left_out)

    _attempt(report, "large", lambda: _large(chosen, report, left))
    for name, run in (("throughput", throughput), ("launch costs", costs), ("first calls", first)):
        if left() > 5:
            _attempt(report, name, run)
        else:
            report.left_out.append(f"{name}: no time was left")


def _large(chosen: Device, report: DeviceReport, left: Callable[[], float]) -> None:
    """Elements and iterations that 32 bits do not count, where the device has the memory and the speed for them."""
    cases: list[Case] = []
    memory = chosen.properties["memory"]
    if memory and memory >= 5 * _PAST_32_BITS:
        cases.append(Case("elements past 2^31", lambda: launches.elements_past(_PAST_32_BITS)))
    else:
        report.left_out.append("elements past 2^31: the device has less than 10 GiB of memory")
    with chosen:
        sample = 1 << 20
        field.iterations_past(1)  # compiles
        begin = time.perf_counter()
        field.iterations_past(sample)
    expected = (time.perf_counter() - begin) * (_PAST_32_BITS / sample)
    if expected < min(left() / 4, 10):
        cases.append(Case("C07 iterations past 2^31", lambda: field.iterations_past(_PAST_32_BITS)))
    else:
        report.left_out.append(f"iterations past 2^31: they would take about {expected:.0f} s")
    if cases:
        _section(report, "large", lambda: run_cases(chosen, report.spec, cases))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
