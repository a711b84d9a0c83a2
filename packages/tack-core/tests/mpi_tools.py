"""Programs that tests run on several MPI ranks, started by a real launcher, and what each of the ranks reports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

# The wheel of MPICH puts its launcher beside the interpreter (docs/decisions/0007).
_PLACES = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])

_KERNELS = """
import tack


@tack.kernel
def scale(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


@tack.kernel
def shift(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] + a


@tack.kernel
def square(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * x[i] * a
"""

# Every program begins with this. Whatever the process does with files below TACK_CACHE_DIR is noted before Tack is imported.
_PRELUDE = """
import json, os, sys

folder, touched = os.environ["TACK_CACHE_DIR"], set()


def note(event, path):
    if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith(folder):
        touched.add((event, os.path.relpath(os.fsdecode(path), folder)))


def audit(event, arguments):
    if event == "open":
        path, _, flags = arguments
        note("write" if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else "read", path)
    elif event.startswith("os."):
        for argument in arguments:
            note(event, argument)


def ask(name):  # no audit event tells of these
    real = getattr(os, name)

    def asked(path, *args, **kwargs):
        note("ask", path)
        return real(path, *args, **kwargs)

    setattr(os, name, asked)


sys.addaudithook(audit)
for name in ("stat", "lstat", "access"):
    ask(name)

from mpi4py import MPI

comm = MPI.COMM_WORLD

import kernels
import numpy as np
import tack
from tack.runtime import cache_mode, cache_store

WANT = {"scale": np.arange(8.0) * 3, "shift": np.arange(8.0) + 3, "square": np.arange(8.0) ** 2 * 3}


def run(*names):
    for name in names:
        out = tack.zeros(8, dtype=tack.f64)
        getattr(kernels, name)(tack.arange(8.0, dtype=tack.f64), out, 3.0)
        assert out.numpy().tolist() == WANT[name].tolist(), name


def report(**facts):
    store = cache_store.current()
    names = ("hits", "misses", "bad", "stored", "failed")
    stats = {} if store is None else store.stats
    facts["counts"] = {kind: {n: getattr(c, n) for n in names if getattr(c, n)} for kind, c in stats.items()}
    facts["compiled"] = "tack.codegen.llvm_gen" in sys.modules
    facts["touched"] = sorted(touched)
    facts["mode"] = cache_mode.mode()
    with open(os.path.join(os.environ["REPORTS"], f"{comm.rank}.json"), "w") as file:
        json.dump(facts, file)


"""


def run_ranks(folder: Path, ranks: int, program: str, **env: str | None) -> list[dict[str, Any]]:
    """What each rank of a program reported, by rank; a rank that hangs or fails fails the test. `ranks` 0: without a launcher.

    The program begins with `comm`, `np` and `tack`; with `run(*names)` for the kernels scale, shift and square, each compared
    with NumPy; and with `report(**facts)`, which adds the mode, the counts of the cache that are not zero, whether code was
    generated, and what the rank did with files of the cache: ["read", "write", "ask" or "os.x", name]. `env` as for `launch`.
    """
    reports = folder / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    (folder / "kernels.py").write_text(_KERNELS, "utf-8")
    (folder / "program.py").write_text(_PRELUDE + textwrap.dedent(program), "utf-8")
    # With `-m mpi4py`, a rank that fails ends the others, which may wait for it.
    launch(folder, ranks, "-m", "mpi4py", "program.py", REPORTS=str(reports), **env)
    return [json.loads((reports / f"{rank}.json").read_text("utf-8")) for rank in range(ranks or 1)]


def launch(folder: Path, ranks: int, *command: str, **env: str | None) -> str:
    """What `mpiexec -n ranks python *command` prints, run in a folder with warnings as errors; `ranks` 0: without a launcher.

    `env` are variables of its environment, None for one that is not set. TACK_CACHE is not set and TACK_CACHE_DIR is the folder's
    `cache`, unless `env` says otherwise.
    """
    variables: dict[str, str | None] = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "TACK_CACHE": None,
        "TACK_CACHE_DIR": str(folder / "cache"),
        "TACK_CPU_THREADS": "1",
        "MPIEXEC_TIMEOUT": "60",  # seconds, after which the launcher ends its ranks
        **env,
    }
    start = [sys.executable, "-W", "error", *command]
    if ranks:
        mpiexec = shutil.which("mpiexec", path=_PLACES)
        assert mpiexec, "there is no mpiexec: pip install -e 'packages/tack-core[cpu,test]' brings MPICH's"
        start = [mpiexec, "-n", str(ranks), *start]
    done = subprocess.run(
        start,
        cwd=folder,
        env={name: value for name, value in variables.items() if value is not None},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
