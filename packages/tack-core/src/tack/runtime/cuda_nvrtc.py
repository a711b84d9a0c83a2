"""NVRTC: from CUDA C to PTX, with options that keep IEEE arithmetic. Needs no driver and no GPU.

Importing it imports the binding.
"""

from __future__ import annotations

import re

from cuda.bindings import nvrtc  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]  (compiled)

from tack.codegen.cuda_gen import OPTIONS
from tack.errors import fail

__all__ = ["OPTIONS", "compile_ptx", "too_new", "version"]

# NVRTC puts the working directory before the names of kernels in the table of files; what is kept on the disk must not name it.
_FILE = re.compile(rb'^(\s*\.file\s+\d+\s+)"[^"\n]*/', re.MULTILINE)
_SHOWN, _LINES = 3, 3  # errors of a compilation that a message shows, and lines of each


def version() -> tuple[int, int]:
    """NVRTC's version; some `RuntimeError` where it is not there."""
    _, major, minor = nvrtc.nvrtcVersion()
    return major, minor


def architecture(compute: tuple[int, int]) -> str:
    """The architecture to compile for: the device's own, or the newest before it that NVRTC knows. `RuntimeError` for older
    devices."""
    known = nvrtc.nvrtcGetSupportedArchs()[1]
    number = compute[0] * 10 + compute[1]
    fitting = [arch for arch in known if arch <= number]
    if not fitting:
        oldest = min(known)
        text = f"NVRTC {_words(version())} compiles for compute capability {oldest / 10} and newer, the device has {number / 10}"
        raise fail(RuntimeError, text, remedy="Use tack.device('cpu').")
    return f"compute_{max(fitting)}"


def compile_ptx(source: str, kernel: str, compute: tuple[int, int]) -> bytes:
    """PTX of a translation unit for devices of a compute capability. RuntimeError names the kernel and the lines at fault."""
    options = [option.encode() for option in (f"--gpu-architecture={architecture(compute)}", *OPTIONS)]
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    try:
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if code:
            raise _failure(kernel, _log(program) or str(code))
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = bytes(size)
        nvrtc.nvrtcGetPTX(program, ptx)
        return _FILE.sub(rb'\1"', ptx.rstrip(b"\0"))
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _log(program: nvrtc.nvrtcProgram) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytes(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.rstrip(b"\0").decode(errors="replace").strip()


def _failure(kernel: str, log: str) -> Exception:
    """The error of a compilation: NVRTC's first errors with the lines that they are about, not its whole log."""
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", log)]
    errors = [line for block in blocks if "): error" in block[0] or "catastrophic error" in block[0] for line in block[:_LINES]]
    body = "\n    ".join(line[:200] for line in (errors or log.splitlines())[: _SHOWN * _LINES])
    return fail(RuntimeError, f"the CUDA backend could not compile it. NVRTC says:\n    {body}", kernel=kernel)


def too_new(kernel: str, driver: tuple[int, int]) -> Exception:
    """The error for a driver that is older than the PTX that NVRTC writes."""
    text = f"the driver knows CUDA {_words(driver)} and cannot load the PTX that NVRTC {_words(version())} writes"
    remedy = f"Update the driver, or install the NVRTC of its version: pip install 'nvidia-cuda-nvrtc=={_words(driver)}.*'."
    return fail(RuntimeError, text, kernel=kernel, remedy=remedy)


def _words(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
