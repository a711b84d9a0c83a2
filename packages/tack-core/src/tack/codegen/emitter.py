"""What an emitter of text needs besides its language: names that cannot collide, and lines with indentation.

Knows nothing of any target language but that identifiers are made of ASCII letters, digits and underscores.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["Names", "Text", "bare"]


class Names:
    """The identifiers for the names of one function (N4): no two names share one, and none is a word of any language.

    They start with `v_` and look like the name. Names that an emitter makes up itself start with `t_` (hidden parameters,
    temporaries) and `tack_` (functions).
    """

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, name: str) -> str:
        """The identifier; the same one for the same name, and it follows from the names asked for before."""
        found = self._given.get(name)
        if found is None:
            wanted = found = "v_" + "".join(map(_spelled, name))
            number = 1
            while found in self._taken:
                number += 1
                found = f"{wanted}_{number}"
            self._given[name] = found
            self._taken.add(found)
        return found


def _spelled(char: str) -> str:
    if char.isascii():
        return char if char.isalnum() else "_"
    return f"u{ord(char):x}"


class Text:
    """Lines of text with a current indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._indent = 0

    def line(self, text: str) -> None:
        """Adds one line."""
        self.lines.append("    " * self._indent + text if text else "")

    @contextmanager
    def indented(self) -> Generator[None]:
        """Lines added inside stand one step to the right."""
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    @contextmanager
    def captured(self) -> Generator[list[str]]:
        """Lines added inside go into the list given, and not into the text."""
        kept, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = kept


def bare(text: str) -> str:
    """The expression without brackets around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
