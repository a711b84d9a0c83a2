"""Compiles emitted CUDA C with NVIDIA's own compiler, many kernels to a translation unit; no GPU and no driver is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cuda.bindings import nvrtc

from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.ir.nodes import IRFunc

__all__ = ["NvrtcError", "compile_all", "compile_unit"]

OPTIONS = ("--fmad=false", "--std=c++17", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
UNIT = 50  # kernels in a translation unit


class NvrtcError(AssertionError):
    """NVRTC refused a unit; the text names the kernels and shows the lines."""


def compile_all(kernels: Iterable[tuple[IRFunc, str]], arch: str = "compute_75") -> dict[str, str]:
    """PTX of every kernel's unit by entry name."""
    listed = list(kernels)
    found: dict[str, str] = {}
    for k in range(0, len(listed), UNIT):
        part = listed[k : k + UNIT]
        ptx = compile_unit(emit_unit(part, CUDA), arch)
        for _, entry in part:
            if not re.search(rf"\.entry {entry}\b", ptx):
                raise NvrtcError(f"no entry {entry} in the PTX")
            found[entry] = ptx
    return found


def compile_unit(source: str, arch: str = "compute_75") -> str:
    """PTX of one translation unit; `NvrtcError` names the kernels that do not compile."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cu", 0, [], [])
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *OPTIONS)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise NvrtcError(_explain(source, _log(program)))
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return ptx.rstrip(b"\0").decode()


def _log(program: nvrtc.nvrtcProgram) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.rstrip(b"\0").decode()


def _explain(source: str, log: str) -> str:
    lines = source.splitlines()
    wrong = [int(n) for n in re.findall(r"unit\.cu\((\d+)\): error", log)]
    places: list[str] = []
    for n in wrong[:5]:
        heads = (re.search(r"__global__ .*?(\w+)\((?!\d)", line) for line in reversed(lines[:n]))
        kernel = next((head[1] for head in heads if head), "the prelude")
        places.append(f"kernel {kernel}, line {n}: {lines[n - 1].strip()}")
    return "\n".join([*places, log])
