"""What the field cases share: running, refusing, and running in a fresh process."""

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

# An error of one of these kinds is the compiler tripping over itself,
# not an answer to the person who wrote the kernel.
LEAKS = (AssertionError, AttributeError, KeyError, RecursionError, UnboundLocalError, SystemError, MemoryError)


def rejection(call, *args):
    """The error with which call(*args) refuses; fails when it accepts."""
    try:
        call(*args)
    except LEAKS as exc:
        raise AssertionError(f"an internal {type(exc).__name__} reached the user: {exc}") from exc
    except Exception as exc:
        assert str(exc).strip(), f"{type(exc).__name__} without a message"  # noqa: PT017
        return exc
    raise AssertionError("this should have been refused, and was accepted")


def line_of(path, marker):
    """The 1-based number of the only line of *path* that ends in *marker*."""
    lines = Path(path).read_text().splitlines()
    hits = [n for n, text in enumerate(lines, 1) if text.rstrip().endswith(marker)]
    assert len(hits) == 1, (marker, hits)
    return hits[0]


def points_at(exc, path, line):
    """Whether the error names the line, by number or by its text."""
    if getattr(exc, "lineno", None) == line:
        return True
    text = str(exc)
    source = Path(path).read_text().splitlines()[line - 1].split("#")[0].strip()
    return str(line) in text or source in text


def write(directory, **modules):
    """Write each keyword as a Python module of that name into *directory*."""
    for name, source in modules.items():
        Path(directory, name + ".py").write_text(textwrap.dedent(source).lstrip())


def child_env(directory, cache="write", **extra):
    """An environment whose Tack cache lives under *directory*/home."""
    home = Path(directory, "home")
    (home / ".cache").mkdir(mode=0o700, parents=True, exist_ok=True)
    env = dict(os.environ)
    env.update(
        HOME=str(home),
        XDG_CACHE_HOME=str(home / ".cache"),
        TACK_CACHE_DIR=str(home / ".cache" / "tack"),
        TACK_CACHE=cache,
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONPATH=os.pathsep.join([str(directory)] + [p for p in sys.path if p]),
    )
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_NTASKS"):
        env.pop(name, None)
    env.update(extra)
    return env


def start(directory, module, **env):
    return subprocess.Popen(
        [sys.executable, module + ".py"],
        cwd=directory,
        env=child_env(directory, **env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process, timeout=300):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"no answer after {timeout} s")
    assert process.returncode == 0, (process.returncode, err[-2000:])
    return ast.literal_eval(out.strip().splitlines()[-1])


def run(directory, module, timeout=300, **env):
    """Run a module in a fresh process; the value of the last line it prints."""
    return finish(start(directory, module, **env), timeout)


def cached(directory):
    """Every file under the child's home."""
    home = Path(directory, "home")
    return sorted(p for p in home.rglob("*") if p.is_file())
