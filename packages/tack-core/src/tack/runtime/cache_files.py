"""Files of the disk cache: whom a directory belongs to, how a file appears whole or not at all, and the frame around an entry.

Knows neither modes nor counts. What is read here becomes machine code, so only what nobody else could write is read.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import BinaryIO

__all__ = [
    "KINDS", "NO_WAITING", "TEMPORARY", "distrust", "entry_payload", "frame_entry", "is_private", "make_private", "read_private",
    "read_whole", "write_whole",
]  # fmt: skip

KINDS = ("ir", "variant")
TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{16}")
NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # without it, opening a named pipe waits for its other end, for ever

_LARGEST = 1 << 30  # bytes: no entry comes near it
_OF_ANOTHER = "; set TACK_CACHE_DIR to a directory of your own"

_MAGIC = b"tack cache entry 1\n"
_HASH = len(_MAGIC)
_LABEL = _HASH + sha256().digest_size
_KEY = _LABEL + 8
_PAYLOAD = _KEY + 32


def frame_entry(kind: str, key: bytes, payload: bytes) -> tuple[bytes, ...]:
    """An entry in parts: magic, SHA-256 of all that follows it, kind, the entry's own key, payload."""
    label = kind.encode().ljust(_KEY - _LABEL, b"\0")
    digest = sha256(label + key)
    digest.update(payload)
    return _MAGIC, digest.digest(), label, key, payload


def entry_payload(data: bytes, kind: str, key: bytes) -> bytes | None:
    """The payload of the entry `data`; None unless it is whole, and the entry of this kind and key."""
    whole = (
        data[:_HASH] == _MAGIC
        and data[_LABEL:_KEY] == kind.encode().ljust(_KEY - _LABEL, b"\0")
        and data[_KEY:_PAYLOAD] == key
        and data[_HASH:_LABEL] == sha256(memoryview(data)[_LABEL:]).digest()
    )
    return data[_PAYLOAD:] if whole else None


def distrust(path: str) -> str:
    """Why the directory at `path` is not used, in words; "" when it is the user's and nobody else may write to it.

    `OSError` when nothing is there or it cannot be looked at.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):  # whoever owns a link chooses what is read through it
        if os.name != "nt" and found.st_uid not in (0, os.geteuid()):
            return f"{path} is a link of user {found.st_uid}, and you are user {os.geteuid()}{_OF_ANOTHER}"
        found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is not a directory{_OF_ANOTHER}"
    if is_private(found):
        return ""
    if found.st_uid != os.geteuid():
        return f"{path} belongs to user {found.st_uid}, and you are user {os.geteuid()}{_OF_ANOTHER}"
    return f"others may write to {path} (mode {stat.S_IMODE(found.st_mode):04o}); take that from them: chmod go-w"


def is_private(found: os.stat_result) -> bool:
    """Whether a file or directory is the user's and nobody else may write to it."""
    if os.name == "nt":  # neither users nor modes; its folder for caches is private to the user
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(path: str) -> None:
    """Makes the directory and the missing ones above it, which the user alone may enter. `OSError` if it cannot."""
    missing: list[str] = []
    while path and not os.path.isdir(path):
        missing.append(path)
        parent = os.path.dirname(path)
        path = "" if parent == path else parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process was quicker; distrust() looks at what it made
            os.mkdir(each, 0o700)


def read_private(path: str, largest: int = _LARGEST) -> tuple[bytes, float] | None:
    """What a file holds and its time; None when it is no plain file, others may write to it, or it has more than `largest` bytes.

    `OSError` if it cannot be read.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_WAITING)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not is_private(found) or found.st_size > largest:
            return None
        return read_whole(file), found.st_mtime


def read_whole(file: BinaryIO) -> bytes:
    """The rest of an open file. `OSError` if it cannot be read, or the memory cannot hold it."""
    try:
        return file.read()
    except MemoryError:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), file.name) from None


def write_whole(path: str, parts: Iterable[bytes], rights: int = 0o600) -> None:
    """Makes a file of `parts`, or replaces the one that is there: readers see the old file or the new one, never a part of it.

    `OSError` when it cannot be written; then nothing is left of it.
    """
    temporary = os.path.join(os.path.dirname(path), f".tmp-{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, rights)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:  # also when the user interrupts
        with suppress(OSError):
            os.unlink(temporary)
        raise
