"""Simulated GPUs: drivers that stand in for the vendors' and run kernels on the CPU, with checks that hardware does not have.

`install("cuda")` before the first use of `cuda.bindings`; then `reports`, `take_reports`, `check_leaks`, `fresh` and `reset`.
"""

from __future__ import annotations

from tack_sim.driver_report import Report
from tack_sim.install import check_leaks, fresh, install, reports, reset, take_reports

__all__ = ["Report", "check_leaks", "fresh", "install", "reports", "reset", "take_reports"]
