"""What ended a launch, in words: kinds of faults, source lines, lanes. Knows the C++ side's numbers and the module's sites."""

from __future__ import annotations

from dataclasses import dataclass

from tack_sim.engine_native import LOCAL, NOWHERE, SHARED, CFault, Job
from tack_sim.ptx_helpers import FAULTS
from tack_sim.ptx_model import Place
from tack_sim.ptx_translate import Translation

__all__ = ["Fault", "fault_of"]


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing in a launch that a GPU would not forgive, or would answer with a wrong number.

    `kind`: "out of bounds", "use after free", "not device memory", "misaligned access", "uninitialized shared memory",
    "shared memory race", "barrier divergence", "bad texture", "bad call", "bad branch", "stack overflow", "assertion failed"
    or "trap". `line` and `file` are where the instruction stands, 0 and "" if the PTX has no lines; `outer_line` and
    `outer_file` where the kernel calls what it was inlined from, else the same. `block` has three indices, `lane` is the number
    in the block. `address` and `size` are those of an access in device memory, in bytes, else 0.
    """

    kind: str
    kernel: str
    line: int
    file: str
    block: tuple[int, int, int]
    lane: int
    detail: str
    outer_line: int = 0
    outer_file: str = ""
    address: int = 0
    size: int = 0

    def __str__(self) -> str:
        where = f" at {self.file or 'line'}:{self.line}" if self.line else ""
        if self.line and (self.outer_line, self.outer_file) != (self.line, self.file):
            where += f" (inlined into {self.outer_file}:{self.outer_line})"
        return f"{self.kind} in kernel {self.kernel}{where}, block {self.block}, lane {self.lane}: {self.detail}"


def fault_of(job: Job, kernel: str, translation: Translation) -> Fault:
    """The fault that a job describes."""
    raw: CFault = job.fault
    kind = FAULTS[raw.kind]
    place = translation.sites[raw.site].place
    device = raw.size and raw.space not in (SHARED, LOCAL)
    return Fault(
        kind=kind,
        kernel=kernel,
        line=place.line,
        file=place.file,
        block=(raw.block[0], raw.block[1], raw.block[2]),
        lane=raw.lane,
        detail=_detail(job, kernel, translation),
        outer_line=place.outer_line,
        outer_file=place.outer_file,
        address=raw.address if device else 0,
        size=raw.size if device else 0,
    )


def _instruction(translation: Translation, site: int) -> str:
    text = translation.module.text
    start = translation.sites[site].position
    return " ".join(text[start : text.find(";", start)].split())


def _line(place: Place) -> str:
    inner = f"line {place.line}"
    return inner if place.outer_line == place.line else f"{inner} (inlined at line {place.outer_line})"


def _where(raw: CFault, kernel: str, translation: Translation) -> str:
    """An address in words."""
    if raw.space == SHARED:
        before = [
            (start, name)
            for name, start in translation.shared.items()
            if start <= raw.address and name in translation.used(kernel)
        ]
        start, name = max(before, default=(0, ""))
        within = f"shared variable {name.rpartition(':')[2]}" if name else "shared memory"
        return f"byte {raw.address - start} of {within}"
    return f"byte {raw.address} of local memory" if raw.space == LOCAL else f"address {raw.address:#x}"


def _detail(job: Job, kernel: str, translation: Translation) -> str:
    raw: CFault = job.fault
    kind = FAULTS[raw.kind]
    instruction = _instruction(translation, raw.site)
    where = _where(raw, kernel, translation)
    if kind == "shared memory race":
        other = translation.sites[raw.other_site].place
        return (
            f"lane {raw.lane} ({_line(translation.sites[raw.site].place)}) and lane {raw.other_lane} ({_line(other)}) "
            f"use {where} without a barrier between them: {instruction}"
        )
    if kind == "barrier divergence":
        waits = f"{raw.waiting} of {raw.lanes} lanes wait"
        if raw.other_site == NOWHERE:
            return f"{waits}, lane {raw.lane} among them, but lane {raw.other_lane} has ended"
        other = translation.sites[raw.other_site].place
        return f"{waits}, lane {raw.lane} here, but lane {raw.other_lane} at another barrier ({_line(other)})"
    if kind == "assertion failed":
        return job.message.decode(errors="replace")
    if kind == "bad texture":
        return f"{raw.address:#x} is no texture of this device: {instruction}"
    if kind == "bad call":
        return f"{raw.address:#x} is no function that fits: {instruction}"
    if kind == "bad branch":
        return f"no branch target {raw.address}: {instruction}"
    if raw.size:
        why = {"not device memory": " (no memory of this device)", "uninitialized shared memory": ", which nobody wrote"}
        return f"{raw.size} bytes at {where}{why.get(kind, '')}: {instruction}"
    return instruction
