"""The disk cache's files under test: a cache in a folder of the test, its keys and payloads, and light processes that use it.

Nothing here compiles: payloads are bytes. A light process loads the modules of the store without the rest of Tack, in 50 ms.
"""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import tack
from tack.runtime import cache_bundle, cache_mode, cache_store

OWN, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4  # fingerprints of two versions of Tack
KINDS = ("ir", "variant")

# What decides where the cache is and who may write to it; a test sets what it needs.
_VARIABLES = (
    "TACK_CACHE",
    "TACK_CACHE_DIR",
    "TACK_CACHE_SIZE",
    "XDG_CACHE_HOME",
    *(name for rank, sizes in cache_mode._LAUNCHERS for name in (rank, *sizes)),
)

_LIGHT = f"""
import sys, types
tack = types.ModuleType("tack")
tack.__path__ = {list(tack.__path__)!r}
sys.modules["tack"] = tack
import hashlib, os, random, traceback
from tack.runtime import cache_bundle, cache_files, cache_mode, cache_prune, cache_store
from tack.runtime.cache_store import Store

cache_store.set_version(lambda: {OWN!r})


def key(n):
    return hashlib.sha256(b"key %d" % n).digest()


def payload(n, size=300):
    return random.Random(n).randbytes(size + n % 7)


def fork(task):
    # The process number of a child that runs `task`, with random numbers of its own; it ends with 0 if that raises nothing.
    seed = random.random()
    pid = os.fork()
    if not pid:
        random.seed(seed)
        status = 1
        try:
            task()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return pid


def join(pids):
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"a process ended with {{status:#x}}"

"""


def key(n: int) -> bytes:
    return sha256(b"key %d" % n).digest()


def payload(n: int, size: int = 300) -> bytes:
    """The only right payload under `key(n)`."""
    return random.Random(n).randbytes(size + n % 7)


def run_light(program: str, *arguments: object, **env: str) -> str:
    """What a program prints in a light process: `Store`, `key`, `payload`, `fork`, `join` and the cache's modules are there."""
    source = _LIGHT + textwrap.dedent(program)
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES} | env
    command = [sys.executable, "-W", "error", "-S", "-c", source, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


@contextmanager
def fresh_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache of this process in `folder`, in write mode, of the version OWN; then as it was."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TACK_CACHE_DIR", str(folder))
    monkeypatch.setattr(cache_store, "_make_version", lambda: OWN)
    monkeypatch.setattr(cache_store, "_version", None)
    monkeypatch.setattr(cache_store, "_current", None)
    monkeypatch.setattr(cache_bundle, "loaded", {})
    yield folder


def the_store() -> cache_store.Store:
    found = cache_store.store()
    assert found is not None
    return found


def files(folder: Path) -> list[str]:
    """Every file under a folder, by its path there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What every file under a folder holds, with its time."""
    return {name: ((folder / name).read_bytes(), (folder / name).stat().st_mtime_ns) for name in files(folder)}


def age(path: Path, seconds: float) -> None:
    """Makes a file older."""
    found = path.lstat()
    os.utime(path, (found.st_atime, found.st_mtime - seconds), follow_symlinks=False)


def without_memory(*args: Any, **kwargs: Any) -> io.FileIO:
    """`open`, for files that are too large for the memory."""

    class Large(io.FileIO):
        def read(self, *_: Any) -> bytes:
            raise MemoryError

    return Large(*args, **kwargs)
