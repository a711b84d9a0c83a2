"""Kernels from text that no file holds, and the kernels of groups of cells.

Tack compiles source text: the text is given to `linecache`, where Python's own tracebacks look, as notebooks do with cells.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
from functools import cache
from typing import Any

from tack.lang.kernel import Kernel
from tack.testing.cells import Group

__all__ = ["define", "group_kernel", "kernel_from"]

_serial = itertools.count(1)


def define(text: str, **names: Any) -> dict[str, Any]:
    """Runs Python text with kernels and device functions in it; the names it has bound. `tack` and `math` are bound before."""
    text = textwrap.dedent(text)
    file = f"<tack.testing {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": file}
    exec("import math, tack", space)
    space |= names
    exec(compile(text, file, "exec"), space)
    return space


def kernel_from(text: str, **names: Any) -> Kernel:
    """The one kernel in Python text."""
    given = set(map(id, names.values()))
    (only,) = [v for v in define(text, **names).values() if isinstance(v, Kernel) and id(v) not in given]
    return only


@cache
def group_kernel(groups: tuple[Group, ...]) -> Kernel:
    """A kernel, the same each time, of all cells of these groups: arrays of operands, then of results, one for each cell.

    In group number g operand k is `x<g>_<k>`, and cell number c goes to `y<g>_<c>`.
    """
    reads: list[str] = []
    writes: list[str] = []
    lines: list[str] = []
    for g, group in enumerate(groups):
        names = [f"x{g}_{k}" for k in range(len(group.operands))]
        reads += names
        operands = [f"{name}[i]" for name in names]
        for c, cell in enumerate(group.cells):
            writes.append(f"y{g}_{c}")
            lines.append(f"        y{g}_{c}[i] = {cell.text.format(*operands)}")
    head = f"@tack.kernel\ndef cells({', '.join([*reads, *writes, 'n'])}):\n    for i in range(n):\n"
    return kernel_from(head + "\n".join(lines) + "\n")
