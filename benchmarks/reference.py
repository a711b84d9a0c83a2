"""Builds `reference.cpp` with g++ and binds it through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("reference.cpp")
FLAGS = ["-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-std=c++17"]

_P, _I, _F, _N = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float, ctypes.c_int
SIGNATURES = {
    "c_saxpy": [_P] * 3 + [_F, _I, _N],
    "c_stencil2d": [_P, _P, _F, _I, _I, _N],
    "c_stencil3d": [_P, _P, _F, _I, _N],
    "c_spmv": [_P] * 5 + [_I, _N],
    "c_k1": [_P, _F, _I],
    "c_k3": [_P] * 3 + [_F, _I],
    "c_k8": [_P] * 8 + [_F, _I],
}


@cache
def load() -> ctypes.CDLL:
    """The compiled library; built once per source and flags, in the temporary folder."""
    tag = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"tack-benchmarks-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    library = folder / f"reference-{tag}.so"
    if not library.exists():
        part = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(part)], check=True)
        part.replace(library)
    lib = ctypes.CDLL(str(library))
    for name, types in SIGNATURES.items():
        function = getattr(lib, name)
        function.argtypes, function.restype = types, None
    return lib


def ptr(a: np.ndarray) -> int:
    """The address of an array's first element."""
    return a.ctypes.data
