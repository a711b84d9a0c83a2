"""What happened to entries: in this process, and in all of them, summed from a small file in each version's directory.

A process adds one line at its end, which costs no call anything and needs no lock. Killed processes and those that may not
write are not counted; a line that is not whole is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass

from tack.runtime.cache_files import KINDS, NO_WAITING, read_private, write_whole

__all__ = ["COUNTERS", "Counts", "add_line", "no_counts", "shorten", "totals"]

COUNTERS = "counters"
_LONG = 1 << 16  # bytes: some thousand processes


@dataclass(slots=True)
class Counts:
    """What happened to the entries of one kind: every lookup is a hit, a miss or bad; every `put` is stored or failed."""

    hits: int = 0
    misses: int = 0
    bad: int = 0
    stored: int = 0
    failed: int = 0

    def __bool__(self) -> bool:
        return any(astuple(self))


def no_counts() -> dict[str, Counts]:
    """The counts of a process that has looked nothing up, by kind."""
    return {kind: Counts() for kind in KINDS}


def add_line(folder: str, counts: Mapping[str, Counts]) -> None:
    """Adds this process' counts to those in a version's directory; does nothing where that fails."""
    with suppress(OSError):
        descriptor = os.open(os.path.join(folder, COUNTERS), os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_WAITING, 0o600)
        with open(descriptor, "wb", buffering=0) as file:
            file.write(_line(counts))


def totals(folder: str) -> dict[str, Counts]:
    """The counts of all processes that have ended, by kind; zeros where none are known."""
    sums = no_counts()
    with suppress(OSError):
        found = read_private(os.path.join(folder, COUNTERS))
        for line in (found[0] if found else b"").splitlines():
            words = line.split()
            if len(words) == 5 * len(KINDS) and all(word.isdigit() and len(word) < 20 for word in words):
                numbers = map(int, words)
                for kind in KINDS:
                    old = sums[kind]
                    sums[kind] = Counts(*(have + next(numbers) for have in astuple(old)))
    return sums


def shorten(folder: str) -> None:
    """Makes one line of many when the file has grown long. What a process adds meanwhile may be lost."""
    path = os.path.join(folder, COUNTERS)
    with suppress(OSError):
        if os.path.getsize(path) > _LONG:
            write_whole(path, (_line(totals(folder)),))


def _line(counts: Mapping[str, Counts]) -> bytes:
    numbers = (number for kind in KINDS for number in astuple(counts[kind]))
    return " ".join(map(str, numbers)).encode() + b"\n"
