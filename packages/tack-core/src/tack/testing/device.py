"""`python -m tack.testing.device KIND`: the conformance suite on one device of this machine; exits 1 when a cell is wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tack.runtime.device import device
from tack.testing.memory import run_memory
from tack.testing.suite import run_cells, run_refusals
from tack.testing.targets import DeviceTarget

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Runs everything on the device of the given spec (default "cpu") and prints the reports; the exit status.

    0: all as it should be, 1: something is wrong or nothing ran, 2: there is no such device.
    """
    if len(arguments) > 1:
        print("usage: python -m tack.testing.device [KIND]", file=sys.stderr)
        return 2
    spec = arguments[0] if arguments else "cpu"
    try:
        target = DeviceTarget(device(spec), spec)
    except (RuntimeError, ValueError) as error:  # not here, or no such device
        print(error, file=sys.stderr)
        return 2
    reports = [run_cells(target), run_memory(target), run_refusals(target)]
    for report in reports:
        print(report)
    return 1 if any(report.failures or not report.cells for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
