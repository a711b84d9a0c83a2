"""`SourceText`: the text of the file a decorated function stands in. Loads with `import tack`; parsing it does not."""

from __future__ import annotations

import linecache
from types import FunctionType
from typing import NamedTuple

__all__ = ["SourceText"]


class SourceText(NamedTuple):
    """Where a function's text stands, taken when it is decorated: a file edited later must not become the running code."""

    file: str
    first_line: int
    lines: list[str]  # of the whole file; empty when nobody can read it

    @staticmethod
    def of(fn: FunctionType) -> SourceText:
        """The text of `fn`'s file as it is now; never raises."""
        file = fn.__code__.co_filename
        linecache.checkcache(file)
        return SourceText(file, fn.__code__.co_firstlineno, linecache.getlines(file, fn.__globals__))
