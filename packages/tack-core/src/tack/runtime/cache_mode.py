"""What the disk cache may do in this process and where it lives: `TACK_CACHE`, `TACK_CACHE_DIR` and the launchers of MPI.

Everything is read from the environment at each call. Knows no file of the cache.
"""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass

from tack import settings

__all__ = ["NOWHERE", "World", "folder", "mode", "world"]

NOWHERE = "no home directory is known, or the working directory is gone"  # why there is no `folder()`

# The variable that gives a process' rank, and those that give the number of processes, of which the first that is set counts.
# PMIx itself has none for the number: Open MPI and Slurm, which speak it, set their own. `SLURM_NTASKS` is not here, since in the
# shell of a batch script it stands beside a rank of 0, and there is one process; `SLURM_STEP_NUM_TASKS` is set by srun alone.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("PMI_RANK", ("PMI_SIZE",)),
    ("PMIX_RANK", ("PMIX_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")),
    ("MV2_COMM_WORLD_RANK", ("MV2_COMM_WORLD_SIZE",)),
    ("MVP_COMM_WORLD_RANK", ("MVP_COMM_WORLD_SIZE",)),  # MVAPICH 3 and later
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS",)),
)


@dataclass(frozen=True, slots=True)
class World:
    """The place of this process among those that one launcher started: `rank` from 0, `size` 2 or more."""

    rank: int
    size: int


def mode() -> str:
    """One of "write", "read", "off" and "bundle". `ValueError` for another `TACK_CACHE`."""
    return settings.CACHE.read() or ("bundle" if world() else "write")


def world() -> World | None:
    """Where this process stands in an MPI job, by its launcher's variables; None for a process alone."""
    for rank_name, size_names in _LAUNCHERS:
        rank = _number(rank_name)
        size = next((n for n in map(_number, size_names) if n is not None), 0)
        if rank is not None and size > 1:
            return World(rank, size)
    return None


def folder() -> str | None:
    """The absolute path of the cache directory; None when nothing says where, as for a user without a home directory.

    A relative one is taken from where the process was when it was first asked for, and stays there.
    """
    chosen = settings.CACHE_DIR.read()
    if chosen is not None:
        try:
            return _absolute(os.path.expanduser(chosen))
        except OSError:  # the working directory has been deleted
            return None
    base = settings.foreign("XDG_CACHE_HOME")
    if os.path.isabs(base):  # the XDG rules: a relative path is ignored
        return os.path.join(base, "tack")
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        local = settings.foreign("LOCALAPPDATA")
        parts = (local, "tack", "cache") if local else (home, "AppData", "Local", "tack", "cache")
    elif sys.platform == "darwin":
        parts = (home, "Library", "Caches", "tack")
    else:
        parts = (home, ".cache", "tack")
    path = os.path.join(*parts)
    return path if os.path.isabs(path) else None


_absolute = functools.cache(os.path.abspath)


def _number(name: str) -> int | None:
    text = settings.foreign(name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None  # Python refuses very long ones
