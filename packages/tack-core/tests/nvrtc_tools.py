"""Compiles emitted CUDA C with NVIDIA's own compiler, many kernels to a translation unit; no GPU and no driver is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.ir.nodes import IRFunc
from tack.runtime.cuda_nvrtc import compile_ptx

__all__ = ["UNIT", "compile_all", "compile_unit"]

UNIT = 50  # kernels in a translation unit


def compile_all(kernels: Iterable[tuple[IRFunc, str]], arch: str = "compute_75") -> dict[str, str]:
    """PTX of every kernel's unit by entry name."""
    listed = list(kernels)
    found: dict[str, str] = {}
    for k in range(0, len(listed), UNIT):
        part = listed[k : k + UNIT]
        ptx = compile_unit(emit_unit(part, CUDA), arch)
        for _, entry in part:
            assert re.search(rf"\.entry {entry}\b", ptx), f"no entry {entry} in the PTX"
            found[entry] = ptx
    return found


def compile_unit(source: str, arch: str = "compute_75") -> str:
    """PTX of one translation unit, as the backend makes it; `RuntimeError` shows the lines that do not compile."""
    return compile_ptx(source, "unit", divmod(int(arch.removeprefix("compute_")), 10)).decode()
