"""The disk cache as users see it: what it holds, emptying it, and bundles for MPI. Loads when `tack.cache` is first named."""

from __future__ import annotations

import os
import warnings
from typing import Any

from tack import settings
from tack.errors import fail
from tack.runtime import cache_bundle, cache_prune
from tack.runtime.cache_bundle import Bundle
from tack.runtime.cache_files import distrust
from tack.runtime.cache_mode import NOWHERE, folder
from tack.runtime.cache_prune import Removed
from tack.runtime.cache_report import Info, survey
from tack.runtime.cache_store import Store, version

__all__ = ["bundle", "clear", "info", "load_bundle", "prune"]


def info() -> Info:
    """What the disk cache holds, by version of Tack, with hits, misses and damaged entries; `print` it.

    The counts of a version are those of its processes that could write to the cache and have ended. `OSError` when the directory
    cannot be read, `ValueError` for a bad `TACK_CACHE`, `TACK_CACHE_DIR` or `TACK_CACHE_SIZE`.
    """
    return survey()


def clear() -> Removed:
    """Deletes the entries and counts of all versions and the bundles in the cache directory; returns how many entries and bytes.

    Files that the cache has not made stay, and so does what this process has loaded. `PermissionError` when the directory or that
    of a version is another user's or others may write to it, `OSError` when something cannot be deleted.
    """
    return cache_prune.clear(_folder())


def prune() -> Removed:
    """Deletes the least recently used entries until 90 % of `TACK_CACHE_SIZE` are left, if there are more than that now.

    Processes that store entries do so by themselves once an hour. Returns how many entries and bytes were deleted; errors are
    those of `clear`.
    """
    return cache_prune.prune(_folder(), settings.CACHE_SIZE.read())


def bundle(path: str | os.PathLike[str] | None = None) -> int:
    """Writes all entries of this version of Tack to one file, and returns how many.

    `path`: the file; by default the place in the cache directory where a process with `TACK_CACHE=bundle`, and so every rank of
    an MPI job, looks for it. `RuntimeError` when there is nothing to bundle, `PermissionError` as for `clear`, `OSError` when the
    file cannot be written.
    """
    store = Store(_folder(), version())
    payloads = store.payloads()
    first = next(payloads, None)
    if first is None:
        raise fail(
            RuntimeError,
            f"There is nothing to bundle: {store.root} holds no entries of this version of Tack",
            remedy="Run the program once with TACK_CACHE=write.",
        )
    target = cache_bundle.bundle_path(store.root, store.fingerprint) if path is None else os.fspath(path)
    return cache_bundle.write_bundle(target, store.fingerprint, (entry for part in ((first,), payloads) for entry in part))


def load_bundle(path: str | os.PathLike[str] | None = None, comm: Any = None) -> int:
    """Reads a bundle, from which kernels are served before the cache directory is asked; returns how many entries it has.

    `path`: the file; by default the one that `bundle()` writes. `comm`: an mpi4py communicator; its rank 0 reads the file and
    broadcasts it, and where that fails every rank raises the same error. All its ranks must call. A bundle is machine code: load
    only what you would run.

    `FileNotFoundError` when there is none, `ValueError` when it is damaged, `OSError` when it cannot be read. A bundle of another
    version of Tack is ignored, with a `RuntimeWarning` and 0 entries. With `TACK_CACHE=off` what is loaded is not used.
    """
    found: Any = _read(path) if comm is None or comm.Get_rank() == 0 else None
    if comm is not None:
        found = comm.bcast(found, root=0)
    if isinstance(found, Exception):
        raise found
    name, data = found
    if not data:  # rank 0 has said why
        return 0
    loaded = cache_bundle.unpack(data, name)
    if not _fits(loaded, name, depth=3):
        return 0
    cache_bundle.loaded.update(loaded.entries)
    return len(loaded.entries)


def _read(path: str | os.PathLike[str] | None) -> tuple[str, bytes] | Exception:
    """The name and the bytes of a bundle, no bytes if it does not fit; or what every rank is to raise, which can be pickled."""
    try:
        name = cache_bundle.bundle_path(_folder(), version()) if path is None else os.fspath(path)
        data = cache_bundle.read_bundle(name, own=path is None)
        return name, data if _fits(cache_bundle.unpack(data, name), name, depth=4) else b""
    except (OSError, ValueError, RuntimeWarning) as error:
        return error
    except Exception as error:  # the other ranks wait for a word
        return RuntimeError(f"The bundle could not be read: {error!r}")


def _fits(loaded: Bundle, name: str, depth: int) -> bool:
    """Whether a bundle is of this version of Tack; if not, warns at the place so many calls above."""
    if loaded.fingerprint == version():
        return True
    text = (
        f"The bundle {name} is ignored: it was made by another version of Tack ({loaded.fingerprint[:16]}, and this is "
        f"{version()[:16]}). Make it anew with `tack cache bundle`."
    )
    warnings.warn(text, RuntimeWarning, stacklevel=depth)
    return False


def _folder() -> str:
    """The cache directory, if it may be used or is not there."""
    path = folder()
    if path is None:
        raise fail(RuntimeError, f"There is no disk cache: {NOWHERE}", remedy="Set TACK_CACHE_DIR to an absolute path.")
    try:
        reason = distrust(path)
    except FileNotFoundError:
        return path
    if reason:
        raise fail(PermissionError, f"The disk cache is not touched, since {reason}")
    return path
