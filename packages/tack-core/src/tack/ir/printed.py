"""P1: what a `print` of a kernel writes: its parts as one line, and the line as a whole to Python's standard output.

The interpreter and the CPU backend print by this module, so that they agree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tack.ir.nodes import IRPrint
from tack.ir.types import BOOL, ScalarType, f32

__all__ = ["line_of", "value_types", "write_line"]

Line = Callable[[Sequence[Any]], str]


def value_types(node: IRPrint) -> tuple[ScalarType, ...]:
    """The types of the numbers that a typed print shows, in order."""
    types: list[ScalarType] = []
    for part in node.parts:
        if not isinstance(part, str):
            assert part.type is not None
            types.append(part.type)
    return tuple(types)


def line_of(node: IRPrint) -> Line:
    """The function from the values of a typed print (Python or NumPy numbers) to the text of its line.

    Integers are written in full, floats with the fewest digits that give them back in their type, truth values as Python's.
    """
    texts = iter([_writer(t) for t in value_types(node)])
    parts = [part if isinstance(part, str) else next(texts) for part in node.parts]

    def line(values: Sequence[Any]) -> str:
        given = iter(values)
        return "".join([part if isinstance(part, str) else part(next(given)) for part in parts])

    return line


def _writer(t: ScalarType) -> Callable[[Any], str]:
    if t is BOOL:
        return lambda value: str(bool(value))
    if t.is_int:
        return lambda value: str(int(value))
    # NumPy knows the few digits of an f32; Python's float would show those of the double it becomes.
    return (lambda value: repr(float(str(np.float32(value))))) if t is f32 else (lambda value: repr(float(value)))


def write_line(text: str) -> None:
    """Writes one whole line to what `sys.stdout` is now; nothing where there is none."""
    out = sys.stdout
    if out is not None:
        out.write(text + "\n")
