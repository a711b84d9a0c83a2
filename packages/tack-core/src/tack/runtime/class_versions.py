"""Whether a class has changed since it was last looked at, in one read: CPython numbers the states of classes for its own caches.

A class gets a new number at its next look-up after it, or one of its bases, was changed in any way. Where the number lies in a
class is found by experiment; where it is not found, no class has one.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

__all__ = ["OFFSET", "version_word"]


def _offset() -> int | None:
    """Where a class has its number, in bytes: the one word that a change of its base clears and a look-up sets anew."""
    if sys.implementation.name != "cpython":
        return None

    class Base:
        value = 0

    class Probe(Base):
        pass

    size: Any = type.__basicsize__

    def words() -> tuple[int, ...]:
        return tuple((ctypes.c_uint32 * (size // 4)).from_address(id(Probe)))

    states: list[tuple[int, ...]] = []
    for value in (1, 2):
        Base.value = value
        states.append(words())
        assert Probe().value == value
        states.append(words())
    assert Probe().value == 2
    found = [
        4 * k
        for k, (cleared, first, again, second, last) in enumerate(zip(*states, words(), strict=True))
        if first and second == last and second not in (0, first) and cleared == again == 0
    ]
    return found[0] if len(found) == 1 else None


OFFSET = _offset()


def version_word(cls: type[Any]) -> Any:
    """The number of the class's state, as the `value` of a ctypes object that may be read while the class lives.

    0 means that it has none. None where this interpreter shows no numbers.
    """
    if OFFSET is None:
        return None
    type.__getattribute__(cls, "__repr__")  # a look-up, after which the class has its number
    return ctypes.c_uint32.from_address(id(cls) + OFFSET)
