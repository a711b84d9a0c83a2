"""Bundles: all entries of one version of Tack in a single file, and those that this process has loaded.

Many ranks on a shared file system read one file in place of thousands, or one rank reads it for all. Knows no payload's meaning.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from struct import Struct

from tack.errors import fail
from tack.runtime.cache_files import read_private, read_whole, write_whole

__all__ = ["Bundle", "bundle_path", "loaded", "read_bundle", "unpack", "write_bundle"]

# A bundle: magic, length and digits of the version's fingerprint, then of each entry kind, key, length and payload; at the end
# the SHA-256 of all that.
_MAGIC = b"tack cache bundle 1\n"
_DIGEST = sha256().digest_size
_NAME = Struct("<H")
_ENTRY = Struct("<8s32sQ")

Entries = dict[tuple[str, bytes], memoryview]

loaded: Entries = {}
"""What this process has loaded, by kind and key."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle holds: the fingerprint of the Tack that made it, and its payloads by kind and key."""

    fingerprint: str
    entries: Entries


def bundle_path(root: str, fingerprint: str) -> str:
    """Where in the cache directory the bundle of a version stands."""
    return os.path.join(root, f"{fingerprint[:16]}.bundle")


def write_bundle(path: str, fingerprint: str, entries: Iterable[tuple[str, bytes, bytes]]) -> int:
    """Makes a bundle of (kind, key, payload), or replaces the one at `path`; the number of entries. `OSError` if it cannot."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise fail(FileNotFoundError, f"There is no directory {folder} for the bundle")
    if os.path.isdir(path):
        raise fail(IsADirectoryError, f"The bundle {path} is a directory", remedy="Name a file.")
    count = 0

    def parts() -> Iterator[bytes]:
        nonlocal count
        digest = sha256()
        name = fingerprint.encode()
        head = _MAGIC + _NAME.pack(len(name)) + name
        digest.update(head)
        yield head
        for kind, key, payload in entries:
            head = _ENTRY.pack(kind.encode(), key, len(payload))
            digest.update(head)
            digest.update(payload)
            yield head
            yield payload
            count += 1
        yield digest.digest()

    # A bundle that others could replace would not be read, so a umask of 002 must not make it one.
    write_whole(path, parts(), rights=0o644)
    return count


def read_bundle(path: str, own: bool = False) -> bytes:
    """The bytes of the bundle at `path`. `FileNotFoundError` when there is none, another `OSError` if it cannot be read.

    With `own`, one that others may write to is a `PermissionError`: the cache directory is read unasked.
    """
    try:
        if own:
            found = read_private(path, largest=sys.maxsize)
            if found is None:
                raise fail(
                    PermissionError,
                    f"The bundle {path} is not read: it is another user's, or others may write to it",
                    remedy="Delete it, and make one with `tack cache bundle`.",
                )
            return found[0]
        with open(path, "rb") as file:
            return read_whole(file)
    except IsADirectoryError:
        raise fail(IsADirectoryError, f"The bundle {path} is a directory") from None
    except FileNotFoundError:
        raise fail(FileNotFoundError, f"There is no bundle at {path}", remedy="Make one with `tack cache bundle`.") from None


def unpack(data: bytes, path: str) -> Bundle:
    """The bundle whose bytes are `data`; `path` is for the message. `ValueError` when it is damaged, or no bundle."""
    view = memoryview(data)
    place = len(_MAGIC)
    if data[:place] != _MAGIC:
        raise fail(ValueError, f"{path} is no bundle of Tack's disk cache")
    if len(data) < place + _DIGEST or sha256(view[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise fail(ValueError, f"The bundle {path} is damaged", remedy="Make it anew with `tack cache bundle`.")
    (length,) = _NAME.unpack_from(data, place)
    place += _NAME.size + length
    fingerprint = data[place - length : place].decode()
    entries: Entries = {}
    while place < len(data) - _DIGEST:
        label, key, size = _ENTRY.unpack_from(data, place)
        place += _ENTRY.size + size
        entries[label.rstrip(b"\0").decode(), key] = view[place - size : place]
    return Bundle(fingerprint, entries)
