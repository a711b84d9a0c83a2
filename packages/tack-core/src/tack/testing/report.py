"""One report of a device: what it is, what ran, what was wrong and how fast it is, as JSON and in words.

Measures nothing and asks nothing of a device but its properties and its capabilities.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from tack.ir.types import ScalarType
from tack.runtime.device import Device
from tack.testing.latency import FirstCalls, LaunchCost
from tack.testing.suite import Report
from tack.testing.throughput import Row

__all__ = ["DeviceReport", "describe"]

_SHOWN = 20  # failures of a section, in words
FORMAT = 1  # of the JSON object; it changes when a reader of an older one would be misled


@dataclass(slots=True)
class DeviceReport:
    """Everything that `python -m tack.testing.device` has found out. Seconds are seconds, sizes are bytes.

    `device` and `versions` say what was tested; `sections` holds a `Report` and its seconds by name; `agreement_ulps` the
    largest distances from the CPU's elementary functions. `wrong` lists what failed outside of the sections, `left_out` what
    was not run or not measured, and why.
    """

    spec: str
    device: Mapping[str, Any]
    versions: Mapping[str, str]
    sections: dict[str, tuple[Report, float]] = field(default_factory=dict[str, tuple[Report, float]])
    agreement_ulps: Mapping[str, float] = field(default_factory=dict[str, float])
    throughput: Sequence[Row] = ()
    launch_costs: Sequence[LaunchCost] = ()
    first_calls: Sequence[FirstCalls] = ()
    wrong: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether every section ran something, and nothing was wrong."""
        ran = all(report.cells and not report.failures for report, _ in self.sections.values())
        return bool(self.sections) and ran and not self.wrong

    def to_json(self) -> str:
        """One JSON object."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("sections", "throughput")}
        for name in ("launch_costs", "first_calls"):
            values[name] = [asdict(each) for each in values[name]]
        sections = {
            name: {
                "cells": report.cells, "seconds": seconds, "ran": report.ran, "skipped": report.skipped,
                "failures": [asdict(failure) for failure in report.failures],
            }
            for name, (report, seconds) in self.sections.items()
        }  # fmt: skip
        rows = [
            asdict(row) | {"bytes_per_second": row.bytes / row.seconds, "flops_per_second": row.flops / row.seconds}
            for row in self.throughput
        ]
        whole = {"format": FORMAT, "ok": self.ok, **values, "sections": sections, "throughput": rows}
        return json.dumps(_plain(whole), indent=1, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        lines = [f"{self.spec}: {self.device.get('name')}; {', '.join(f'{k} {v}' for k, v in self.versions.items())}", ""]
        for name, (report, seconds) in self.sections.items():
            skipped = ", ".join(f"{count} for want of {what}" for what, count in sorted(report.skipped.items()))
            lines.append(
                f"{name:<14}{report.cells:>6} cells, {len(report.failures)} wrong, {seconds:.1f} s"
                + (f"; skipped {skipped}" if skipped else "")
            )
            lines += [f"    WRONG {failure}" for failure in report.failures[:_SHOWN]]
            if len(report.failures) > _SHOWN:
                lines.append(f"    and {len(report.failures) - _SHOWN} more, in the JSON report")
        lines += [f"WRONG {each}" for each in self.wrong]
        lines += _figures(self)
        lines += [f"left out: {each}" for each in self.left_out]
        lines += ["", f"{'as it should be' if self.ok else 'SOMETHING IS WRONG'}, after {self.seconds:.0f} s"]
        return "\n".join(lines)


def _figures(report: DeviceReport) -> list[str]:
    lines: list[str] = []
    if report.agreement_ulps:
        far = sorted(((name, ulps) for name, ulps in report.agreement_ulps.items() if ulps), key=lambda each: -each[1])
        lines += ["", f"elementary functions, most units in the last place from the CPU's; {len(far)} are not equal"]
        lines += ["  " + ", ".join(f"{name} {ulps:g}" for name, ulps in far)] if far else []
    if report.throughput:
        lines += ["", f"{'throughput':<28}{'elements':>12}{'a launch':>12}{'GB/s':>9}{'GFLOP/s':>10}  of the roofline"]
        for row in report.throughput:
            rates = f"{row.bytes / row.seconds / 1e9:>9.1f}{row.flops / row.seconds / 1e9:>10.1f}"
            reached = "" if row.ratio is None else f"{row.ratio:.2f} of {row.roof}"
            lines.append(f"{row.name:<28}{row.elements:>12}{row.seconds * 1e3:>9.3f} ms{rates}  {reached}")
    if report.launch_costs:
        lines += ["", f"{'launch cost':<28}{'call':>12}{'launch':>12}{'alone':>12}"]
        for cost in report.launch_costs:
            lines.append(f"{cost.name:<28}" + "".join(f"{t * 1e6:>9.2f} us" for t in (cost.call, cost.launch, cost.alone)))
    if report.first_calls:
        lines += ["", f"{'first calls':<28}{'start':>12}{'first':>12}{'small':>12}{'medium':>12}"]
        for each in report.first_calls:
            times = "".join(f"{t * 1e3:>9.1f} ms" for t in (each.start, each.first, each.small, each.medium))
            lines.append(f"{'from the disk cache' if each.from_disk else 'compiled':<28}{times}")
    return lines


def _plain(value: Any) -> Any:
    """A value as JSON has it: NaN and infinities, and whatever else it lacks, become text."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | None):
        return value
    return value if isinstance(value, float) and np.isfinite(value) else str(value)


# ---------------------------------------------------------------------------------------------------- what was tested

_PACKAGES = ("numpy", "llvmlite", "cuda-bindings", "nvidia-cuda-nvrtc", "hip-python", "pyobjc-framework-Metal", "tack-core")


def describe(device: Device) -> tuple[dict[str, Any], dict[str, str]]:
    """The device's properties, capabilities and compile target, and the versions of what it was tested with."""
    capabilities = device._backend.capabilities
    values = {f.name: getattr(capabilities, f.name) for f in fields(capabilities)}
    words = {
        name: [t.name for t in value] if isinstance(value, tuple) and all(isinstance(t, ScalarType) for t in value) else value
        for name, value in values.items()
    }
    target = device._backend.cache_target()
    found = {"kind": device.kind, "index": device.index, **device.properties, "capabilities": words, "target": target}
    versions = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.release()} {platform.machine()}"}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found, versions
