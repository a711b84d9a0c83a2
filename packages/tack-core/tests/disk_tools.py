"""Programs that are edited between two runs: within this process, where each run makes the modules anew, or in fresh ones.

A run in this process is as good as a process: caches in memory belong to the kernel objects, and each run makes new ones.
"""

from __future__ import annotations

import linecache
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tack
from tack.runtime import cache_store, kernel_utils

__all__ = ["Project", "Run", "in_write_mode"]


def in_write_mode(patch: pytest.MonkeyPatch, folder: Path, mode: str = "write") -> cache_store.Store:
    """The store of a cache below `folder`, for the length of a test."""
    patch.setenv("TACK_CACHE", mode)
    patch.setenv("TACK_CACHE_DIR", str(folder / "cache"))
    store = cache_store.store()
    assert store is not None
    return store


@dataclass(frozen=True)
class Run:
    """What one run did: `answer` is that of the function `answer` of the module, `lowered` the names of the kernels that were
    lowered, `compiled` and `loaded` how many variants were compiled and read from the disk."""

    answer: Any
    lowered: list[str]
    compiled: int
    loaded: int
    module: ModuleType

    @property
    def from_disk(self) -> bool:
        """Whether every kernel came from the disk, and there was one."""
        return not self.lowered and not self.compiled and self.loaded > 0


class Project:
    """Python modules in a folder, and runs of them."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.patch = patch
        self.texts: dict[str, str] = {}
        self.store = in_write_mode(patch, folder)

    def write(self, **modules: str) -> None:
        """Writes or edits modules."""
        for name, text in modules.items():
            self.texts[name] = textwrap.dedent(text)
            (self.folder / f"{name}.py").write_text(self.texts[name])

    def run(self, **modules: str) -> Run:
        """Edits `modules`, then runs the module `main` (made after the others, in the order in which they were written)."""
        self.write(**modules)
        kernels: list[tack.Kernel] = []
        loads: list[bool] = []
        make, origin = tack.Kernel.__init__, kernel_utils.Origin

        def noted(kernel: tack.Kernel, *args: Any, **kwargs: Any) -> None:
            make(kernel, *args, **kwargs)
            kernels.append(kernel)

        def noted_origin(*parts: Any) -> kernel_utils.Origin:
            made = origin(*parts)
            loads.append(made.from_disk)
            return made

        with self.patch.context() as patch:
            patch.setattr(tack.Kernel, "__init__", noted)
            patch.setattr(kernel_utils, "Origin", noted_origin)
            for name in [*(each for each in self.texts if each != "main"), "main"]:
                self._make(name, patch)
            main = sys.modules["main"]
            answer = main.answer()
        lowered = [kernel.__name__ for kernel in kernels for _ in range(kernel.lowerings)]
        return Run(answer, lowered, len(loads) - sum(loads), sum(loads), main)

    def _make(self, name: str, patch: pytest.MonkeyPatch) -> None:
        path, text = str(self.folder / f"{name}.py"), self.texts[name]
        module = ModuleType(name)
        module.__file__ = path
        patch.setitem(sys.modules, name, module)
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)  # edits are faster than file times
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
