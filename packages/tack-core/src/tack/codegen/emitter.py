"""What an emitter of text needs besides its language: names that cannot collide, and lines with indentation.

Knows nothing of any target language but that identifiers are made of ASCII letters, digits and underscores.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["Names", "Place", "Text", "bare", "spelled"]


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
            wanted = found = "v_" + "".join(map(spelled, name))
            number = 1
            while found in self._taken:
                number += 1
                found = f"{wanted}_{number}"
            self._given[name] = found
            self._taken.add(found)
        return found

    def __contains__(self, name: str) -> bool:
        """Whether the name has been asked for."""
        return name in self._given


def spelled(char: str) -> str:
    """A character of a name as characters of an identifier."""
    if char.isascii():
        return char if char.isalnum() else "_"
    return f"u{ord(char):x}"


Place = tuple[str, int]  # the name of a function and a line of its source, which counts from 1


class Text:
    """Lines of text with a current indentation, and the place in a source that each line comes from.

    `place`: of the lines that are added next; None for lines that come from no source.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[str, Place | None]] = []
        self.place: Place | None = None
        self._indent = 0

    def line(self, text: str) -> None:
        """Adds one line."""
        place = None if text.startswith("}") else self.place  # the end of a block does nothing
        self.lines.append(("    " * self._indent + text if text else "", place))

    @contextmanager
    def indented(self) -> Generator[None]:
        """Lines added inside stand one step to the right."""
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    @contextmanager
    def captured(self) -> Generator[list[tuple[str, Place | None]]]:
        """Lines added inside go into the list given, and not into the text."""
        kept, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = kept

    def rendered(self, directive: str) -> str:
        """The whole text, with `directive` ({line}, {name}), unless "", where a line does not follow the place before it."""
        found: list[str] = []
        name, number = "", 0
        for text, place in self.lines:
            if directive and place is not None and place != (name, number):
                name, number = place
                found.append(directive.format(line=number, name=name))
            found.append(text)
            number += 1
        return "\n".join(found)


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
