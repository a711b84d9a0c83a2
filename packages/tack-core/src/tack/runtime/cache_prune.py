"""What lies in the cache directory, and what is deleted: the least recently used entries past the size limit, or everything.

Only names that the cache itself gives are counted or deleted. Knows nothing of what entries hold.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from tack.errors import fail
from tack.runtime.cache_counts import COUNTERS, shorten
from tack.runtime.cache_files import KINDS, NO_WAITING, TEMPORARY, distrust

__all__ = ["BUNDLE", "HOUR", "MARK", "NAME", "Entry", "Removed", "VersionFolder", "clear", "prune", "seconds_to_scan", "versions"]

HOUR = 3600.0
MARK = ".pruned"
NAME = "version"  # a file in each version's directory that says in words which version it is
BUNDLE = re.compile(r"[0-9a-f]{16}\.bundle")

_FOLDER = re.compile(r"[0-9a-f]{16}")
_ENTRY = re.compile(rf"[0-9a-f]{{64}}\.({'|'.join(KINDS)})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its file, kind, size in bytes, and when it was last used, to the hour."""

    path: str
    kind: str
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class VersionFolder:
    """The directory of one version of Tack. `refused` says why nothing is read from it, or is empty."""

    path: str
    entries: tuple[Entry, ...]
    refused: str


@dataclass(frozen=True, slots=True)
class Removed:
    """How many entries were deleted, and their size in bytes."""

    entries: int
    size: int


def versions(root: str) -> list[VersionFolder]:
    """The directories of all versions, by name; none if there is no cache directory. `OSError` when it cannot be read."""
    found: list[VersionFolder] = []
    for item in sorted(_items(root), key=lambda item: item.name):
        if _FOLDER.fullmatch(item.name) and item.is_dir(follow_symlinks=False):
            entries: tuple[Entry, ...] = ()
            try:
                refused = distrust(item.path)
                if not refused:
                    entries = tuple(_entries(item.path))
            except FileNotFoundError:  # another process deleted it
                continue
            except OSError as error:
                refused = f"{item.path} cannot be read: {error.strerror}"
            found.append(VersionFolder(item.path, entries, refused))
    return found


def seconds_to_scan(root: str) -> float:
    """How long until the cache is to be scanned; 0.0 means by the caller, who alone is told so within an hour."""
    mark = os.path.join(root, MARK)
    now = time.time()
    with suppress(FileNotFoundError):
        age = now - os.stat(mark).st_mtime
        if abs(age) < HOUR:  # a time far ahead is a clock that was wrong
            return HOUR - max(age, 0.0)
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | NO_WAITING, 0o600))
        os.utime(mark)
    except OSError:  # without a mark every process would scan
        return HOUR
    return 0.0


def prune(root: str, limit: int) -> Removed:
    """If all versions have more than `limit` bytes: deletes the least recently used entries until 90 % of `limit` are left.

    What killed writers left behind an hour ago goes too. `OSError` when something cannot be deleted.
    """
    folders = versions(root)
    _delete_remains([root, *(folder.path for folder in folders if not folder.refused)])
    entries = sorted((entry for folder in folders for entry in folder.entries), key=lambda entry: (entry.used, entry.path))
    total = sum(entry.size for entry in entries)
    count = size = 0
    if total > limit:
        for entry in entries:
            if total - size <= limit * 9 // 10:
                break
            _delete(entry.path)
            count, size = count + 1, size + entry.size
    for folder in folders:
        if not folder.refused:
            shorten(folder.path)
            if not folder.entries and _is_old(folder.path):
                _delete_folder(folder.path)
    return Removed(count, size)


def clear(root: str) -> Removed:
    """Deletes everything that is the cache's, bundles in its directory too. `OSError` when something cannot be deleted.

    The directory of a version that is refused stays; `PermissionError` says so when all else is deleted.
    """
    count = size = 0
    folders = versions(root)
    for folder in folders:
        if folder.refused:
            continue
        for entry in folder.entries:
            _delete(entry.path)
            count, size = count + 1, size + entry.size
        _delete_remains([folder.path], however_young=True)
        _delete_folder(folder.path)
    _delete_remains([root], however_young=True)
    for item in _items(root):
        if item.name == MARK or BUNDLE.fullmatch(item.name):
            _delete(item.path)
    refused = "; ".join(folder.refused for folder in folders if folder.refused)
    if refused:
        raise fail(PermissionError, f"Not all of the disk cache is deleted, since {refused}")
    return Removed(count, size)


def _items(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except FileNotFoundError:  # not made yet, or deleted by another process
        return []


def _entries(folder: str) -> list[Entry]:
    found: list[Entry] = []
    for item in _items(folder):
        name = _ENTRY.fullmatch(item.name)
        if name is not None:
            with suppress(FileNotFoundError):  # another process deleted it
                known = item.stat(follow_symlinks=False)
                if not stat.S_ISDIR(known.st_mode):
                    found.append(Entry(item.path, name[1], known.st_size, known.st_mtime))
    return found


def _delete_remains(folders: list[str], however_young: bool = False) -> None:
    """Temporary files whose writers were killed; a young one may still be written."""
    for folder in folders:
        for item in _items(folder):
            if TEMPORARY.fullmatch(item.name) and (however_young or _is_old(item.path)):
                _delete(item.path)


def _delete_folder(folder: str) -> None:
    """A version's directory without entries; it stays if it holds a file that is not the cache's."""
    _delete(os.path.join(folder, NAME))
    _delete(os.path.join(folder, COUNTERS))
    with suppress(OSError):
        os.rmdir(folder)


def _is_old(path: str) -> bool:
    with suppress(FileNotFoundError):
        return time.time() - os.lstat(path).st_mtime > HOUR
    return False


def _delete(path: str) -> None:
    """Deletes a file; a directory is not the cache's, whatever its name, and stays."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
