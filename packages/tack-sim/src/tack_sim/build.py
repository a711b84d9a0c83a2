"""Builds shared objects from C++ sources with the machine's compiler, once for each source, and keeps them in the user's cache.

Knows nothing of what the sources do.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["shared_object"]

# The binary must run on every machine that shares the cache folder, so no -march=native. Floating point stays as written.
_FLAGS = (
    "-O2",
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-frounding-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-pthread",
)
_COMPILERS = ("c++", "g++", "clang++")


def shared_object(source_path: Path, soname: str | None = None) -> Path:
    """The shared object made of one C++ source file and what it includes, built if the cache has none for them and these flags.

    `soname`: the name under which the dynamic loader knows the object, for one that stands in for a library.
    RuntimeError if there is no compiler, with the command that installs one, and if the source does not compile.
    """
    flags = (*_FLAGS, *((f"-Wl,-soname,{soname}",) if soname else ()))
    parts = (*_texts(source_path), " ".join(flags).encode(), platform.machine().encode(), sys.platform.encode())
    key = hashlib.sha256(b"\0".join(parts))
    target = _folder() / f"{source_path.stem}-{key.hexdigest()[:24]}.so"
    if target.exists():
        return target
    compiler = _compiler(source_path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        built = Path(folder) / target.name
        command = [compiler, *flags, "-o", str(built), str(source_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tack-sim: {compiler} could not build {source_path.name}:\n{done.stderr[:4000]}")
        os.replace(built, target)  # whole or not at all, also if another process builds it at the same time
    return target


def _texts(source_path: Path) -> list[bytes]:
    """A source file and the files that it includes by name."""
    text = source_path.read_bytes()
    included = re.findall(rb'^#include "(.+)"', text, re.MULTILINE)
    return [text, *(part for name in included for part in _texts(source_path.parent / os.fsdecode(name)))]


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "tack-sim"


def _compiler(source_path: Path) -> str:
    chosen = os.environ.get("CXX")
    for name in (chosen, *_COMPILERS):
        if name and (found := shutil.which(name)):
            return found
    how = "xcode-select --install" if sys.platform == "darwin" else "apt-get install g++ (or: dnf install gcc-c++)"
    raise RuntimeError(
        f"tack-sim needs a C++ compiler to build {source_path.name}, and there is none on PATH "
        f"(looked for {', '.join(_COMPILERS)}). Install one: {how}"
    )
