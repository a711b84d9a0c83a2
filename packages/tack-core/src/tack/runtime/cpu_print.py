"""`print` in compiled code: the callback that it calls for each line, and what went wrong in it.

Each line is formatted and written under Python's lock, so lines stay whole and go where `sys.stdout` goes at that moment.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from tack.ir.nodes import IRPrint
from tack.ir.printed import line_of, value_types, write_line
from tack.ir.types import u64

__all__ = ["Printer"]

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)  # (number of the print, its values in 8 bytes each)


class Printer:
    """The prints of one kernel. `address` is that of the native function, valid while this object lives."""

    __slots__ = ("_callback", "_errors", "address")

    def __init__(self, nodes: Sequence[IRPrint]) -> None:
        self._errors: list[BaseException] = []
        self._callback = _callback(nodes, self._errors)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value

    def check(self) -> None:
        """Raises what the first line that could not be written has raised: no exception leaves compiled code."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error


def _callback(nodes: Sequence[IRPrint], errors: list[BaseException]) -> Any:
    sites = [(struct.Struct("=" + "".join(map(_code, value_types(node)))), line_of(node)) for node in nodes]

    def write(site: int, values: int) -> None:
        try:
            shape, line = sites[site]
            write_line(line(shape.unpack(ctypes.string_at(values, shape.size))))
        except BaseException as error:  # also the user's interrupt: it is raised when the launch has ended
            errors.append(error)

    return _Callback(write)


def _code(t: Any) -> str:
    return "d" if t.is_float else "Q" if t is u64 else "q"
