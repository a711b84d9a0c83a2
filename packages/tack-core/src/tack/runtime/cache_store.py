"""The disk cache as its users see it: payloads by kind and key, which come back whole or not at all.

Nothing on the disk makes a call fail: what is missing, damaged, foreign or full is counted. Knows not what the payloads mean.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from tack import settings
from tack.errors import fail
from tack.runtime import cache_bundle, cache_counts, cache_mode, cache_prune
from tack.runtime.cache_files import distrust, entry_payload, frame_entry, make_private, read_private, write_whole
from tack.runtime.cache_prune import HOUR

__all__ = ["Store", "current", "set_version", "store", "version"]

T = TypeVar("T")


class Store:
    """The cache directory `root` for one version of Tack, named by its fingerprint.

    `files`: whether entries are looked up as files, which bundle mode does not. `writes`: whether they are stored. `limit`: bytes
    of entries, of all versions, past which the least recently used are deleted. The directories are looked at anew at each use,
    since the user may delete them or change their rights while the process runs.
    """

    def __init__(self, root: str, fingerprint: str, *, files: bool = True, writes: bool = True, limit: int = 1 << 30) -> None:
        self.root = root
        self.folder = os.path.join(root, fingerprint[:16])
        self.fingerprint = fingerprint
        self.files = files
        self.writes = writes
        self.limit = limit
        self.stats = cache_counts.no_counts()
        self.refused = 0  # times that a directory was not used because others could write to it
        self.bad_bundles = 0
        self._next_scan = 0.0

    def get(self, kind: str, key: bytes) -> bytes | None:
        """The payload stored under a 32-byte key, or None."""
        counts = self.stats[kind]
        bundled = cache_bundle.loaded.get((kind, key))
        if bundled is not None:
            counts.hits += 1
            return bytes(bundled)
        if not self.files or not self._is_usable():
            counts.misses += 1
            return None
        path = self._path(kind, key)
        try:
            found = read_private(path)
            payload = None if found is None else entry_payload(found[0], kind, key)
        except (FileNotFoundError, NotADirectoryError):
            counts.misses += 1
            return None
        except (OSError, MemoryError):
            counts.bad += 1
            return None
        if found is None or payload is None:
            counts.bad += 1
            return None
        counts.hits += 1
        if self.writes and abs(time.time() - found[1]) > HOUR:
            with suppress(OSError):
                os.utime(path)
        return payload

    def put(self, kind: str, key: bytes, payload: bytes) -> None:
        """Stores a payload under a 32-byte key, in the place of what is there."""
        if not self.writes:
            return
        counts = self.stats[kind]
        parts = frame_entry(kind, key, payload)
        for last in (False, True):
            try:
                if self._make_usable():
                    write_whole(self._path(kind, key), parts)
                    counts.stored += 1
                break
            except FileNotFoundError:  # the directory was deleted meanwhile: make it once more
                counts.failed += last
            except OSError:
                counts.failed += 1
                break
        self._scan()

    def use(self, kind: str, key: bytes, read: Callable[[bytes], T | None]) -> T | None:
        """What `read` makes of the payload under a 32-byte key; None if there is none that it can use.

        It gives None for a payload that is sound, but made with names that mean something else: a miss. Whatever it raises, the
        payload is bad. One of a bundle that is of no use makes room for the file, which may be younger; both lookups count.
        """
        counts = self.stats[kind]
        while (payload := self.get(kind, key)) is not None:
            try:
                made = read(payload)
            except Exception:  # whatever is wrong with an entry, what it holds is made anew
                counts.bad += 1
            else:
                if made is not None:
                    return made
                counts.misses += 1
            counts.hits -= 1
            if not self.files or cache_bundle.loaded.pop((kind, key), None) is None:
                break
        return None

    def payloads(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Every sound entry of this version as (kind, key, payload), in the order of their names.

        `PermissionError` when the version's directory is not used.
        """
        for folder in cache_prune.versions(self.root):
            if folder.path == self.folder:
                if folder.refused:
                    raise fail(PermissionError, f"Nothing is bundled, since {folder.refused}")
                for entry in sorted(folder.entries, key=lambda entry: entry.path):
                    key = bytes.fromhex(os.path.basename(entry.path).split(".")[0])
                    with suppress(OSError):  # another process deleted it, say
                        found = read_private(entry.path)
                        payload = None if found is None else entry_payload(found[0], entry.kind, key)
                        if payload is not None:
                            yield entry.kind, key, payload

    def load_default_bundle(self) -> None:
        """Loads the bundle in the cache directory; one that is not there, or is another's, or damaged, is none."""
        path = cache_bundle.bundle_path(self.root, self.fingerprint)
        try:
            if distrust(self.root):
                self.refused += 1
                return
            bundle = cache_bundle.unpack(cache_bundle.read_bundle(path, own=True), path)
        except FileNotFoundError:
            return
        except (OSError, ValueError):
            bundle = None
        if bundle is None or bundle.fingerprint != self.fingerprint:
            self.bad_bundles += 1
        else:
            cache_bundle.loaded.update(bundle.entries)

    def write_counts(self) -> None:
        """Adds what this process has counted to the version's file."""
        if self.writes and any(self.stats.values()) and self._is_usable():
            cache_counts.add_line(self.folder, self.stats)

    def _path(self, kind: str, key: bytes) -> str:
        return os.path.join(self.folder, f"{key.hex()}.{kind}")

    def _is_usable(self) -> bool:
        """Whether both directories are there and may be trusted."""
        with suppress(OSError):
            return self._trusts(self.root) and self._trusts(self.folder)
        return False

    def _make_usable(self) -> bool:
        """Whether both directories may be trusted, after making those that are missing. `OSError` if one cannot be made."""
        made = not os.path.isdir(self.folder)
        if made:
            make_private(self.root)
        if not self._trusts(self.root):
            return False
        if made:
            make_private(self.folder)
        if not self._trusts(self.folder):
            return False
        if made:
            with suppress(OSError):
                write_whole(os.path.join(self.folder, cache_prune.NAME), (_describe(self.fingerprint),))
        return True

    def _trusts(self, folder: str) -> bool:
        reason = distrust(folder)
        self.refused += bool(reason)
        return not reason

    def _scan(self) -> None:
        """Deletes what is past the limit, if no process has looked for an hour."""
        if time.monotonic() < self._next_scan:
            return
        self._next_scan = time.monotonic() + HOUR
        with suppress(OSError):
            if not distrust(self.root):
                wait = cache_prune.seconds_to_scan(self.root)
                if wait:
                    self._next_scan = time.monotonic() + wait
                else:
                    cache_prune.prune(self.root, self.limit)


_make_version: Callable[[], str] | None = None
_version: str | None = None
_current: tuple[object, Store] | None = None


def set_version(make: Callable[[], str]) -> None:
    """Takes the function that computes Tack's fingerprint, hexadecimal digits, which is called when it is first needed."""
    global _make_version, _version, _current
    _make_version, _version, _current = make, None, None
    cache_bundle.loaded.clear()


def version() -> str:
    """Tack's fingerprint."""
    global _version
    if _version is None:
        if _make_version is None:
            import tack.runtime.disk_cache  # noqa: F401  # which calls set_version

            assert _make_version is not None
        _version = _make_version()
    return _version


def store() -> Store | None:
    """The store of this process as the environment says, None when there is none. `ValueError` for a bad variable."""
    global _current
    mode, root, limit, world = cache_mode.mode(), cache_mode.folder(), settings.CACHE_SIZE.read(), cache_mode.world()
    if mode == "off" or root is None:
        return None
    chosen = (mode, root, limit, world)
    if _current is None or _current[0] != chosen:
        _write_counts()
        writes = mode == "write" and (world is None or world.rank == 0)
        made = Store(root, version(), files=mode != "bundle", writes=writes, limit=limit)
        if mode == "bundle" and not cache_bundle.loaded:
            made.load_default_bundle()
        _current = chosen, made
    return _current[1]


def current() -> Store | None:
    """The store that this process has used last, None before the first use."""
    return None if _current is None else _current[1]


def _describe(fingerprint: str) -> bytes:
    """What the file in a version's directory says about it."""
    try:
        from importlib.metadata import version as release

        name = f"Tack {release('tack-core')}"
    except Exception:  # not installed, but run from its source tree; or what Python says of it is damaged, or may not be read
        name = "Tack"
    place = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    text = f"{name}, Python {sys.version_info.major}.{sys.version_info.minor}, in {place}\n{fingerprint}\n"
    return text.encode(errors="surrogateescape")  # a path may be no text


def _write_counts() -> None:
    if _current is not None:
        _current[1].write_counts()


def _begin_anew() -> None:
    """In a forked child: its parent writes down what it has counted itself."""
    global _current
    _current = None


atexit.register(_write_counts)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
