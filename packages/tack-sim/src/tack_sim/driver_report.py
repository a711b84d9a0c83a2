"""Reports: what the simulated driver found wrong, as values and as lines on stderr."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass

from tack_sim.driver_codes import code_name

__all__ = ["CuError", "Report", "say"]


@dataclass(frozen=True, slots=True)
class Report:
    """One thing found wrong.

    `kind`: that of an engine's fault ("out of bounds", "barrier divergence", ...), or one of "race", "freed while in flight",
    "unloaded while in flight", "use after free", "double free", "inner pointer", "host pointer", "device pointer",
    "null pointer", "misaligned address", "copy out of bounds", "overlapping copy", "no current context", "destroyed handle",
    "wrong handle", "wrong device", "wrong argument size", "launch limits", "out of resources", "invalid image",
    "unsupported image", "unsupported", "invalid value" or "internal error".
    `code` is the CUresult that the program got, or gets at its next wait; `call` the driver function that gave it, "" for a
    fault of queued work. `kernel`, `file` and `line` say where in the source of the kernel, "" and 0 if unknown: where it is in
    a function that is inlined says `text`; `block` and `lane` are those of the launch. `device` is a number, -1 if none is meant.
    """

    kind: str
    text: str
    code: int
    call: str = ""
    kernel: str = ""
    file: str = ""
    line: int = 0
    block: tuple[int, int, int] | None = None
    lane: int | None = None
    device: int = -1

    def __str__(self) -> str:
        where = f" in {self.call}" if self.call else ""
        where += f" in kernel {self.kernel}" if self.kernel else ""
        where += f" at {self.file or 'line'}:{self.line}" if self.line else ""
        where += f", block {self.block}, lane {self.lane}" if self.block is not None else ""
        return f"{self.kind}{where}: {self.text} [{code_name(self.code)}]"


class CuError(Exception):
    """What a driver function returns instead of success. With a `kind` and a `text` it is also reported as a mistake."""

    def __init__(self, code: int, kind: str = "", text: str = "") -> None:
        super().__init__(code, kind, text)
        self.code = code
        self.kind = kind
        self.text = text


def say(text: str) -> None:
    """A line on stderr; none where that is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(f"tack-sim: {text}", file=sys.stderr, flush=True)
