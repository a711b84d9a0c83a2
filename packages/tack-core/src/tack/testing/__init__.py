"""The conformance suite for any device, as a library: every operation with every type, against numbers from Python and NumPy.

    from tack.testing import DeviceTarget, run_cells
    print(run_cells(DeviceTarget(tack.device("cpu"), "cpu")))

`run_memory` does the same for atomics and local arrays, `run_workgroups` for workgroups, and `run_agreement` compares two targets
bit for bit. `python -m tack.testing.device KIND` runs all of it and more.

`check_races` looks for races in a kernel of yours.

Nothing in Tack needs it; `import tack` does not load it.
"""

from tack.testing.agreement import Agreement, run_agreement
from tack.testing.memory import run_memory
from tack.testing.races import Finding, check_races
from tack.testing.sources import define, kernel_from
from tack.testing.suite import Failure, Report, run_cells, run_refusals
from tack.testing.targets import DeviceTarget, FanoutTarget, InterpreterTarget, Target, typed
from tack.testing.workgroups import run_workgroups

__all__ = [
    "Agreement", "DeviceTarget", "Failure", "FanoutTarget", "Finding", "InterpreterTarget", "Report", "Target", "check_races",
    "define", "kernel_from", "run_agreement", "run_cells", "run_memory", "run_refusals", "run_workgroups", "typed",
]  # fmt: skip
