"""Runs emitted CUDA C on the CPU: a few lines of C++ stand in for the GPU's words, g++ compiles, undefined behaviour is counted.

This shows the emitter's numbers where there is no GPU; it says nothing about NVIDIA's compiler (`nvrtc_tools` does).
"""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tack.codegen.c_family import emit_unit, hidden_parameters
from tack.codegen.cuda_gen import BLOCK, CUDA
from tack.ir.interpret import _bind, _bounds, _compile
from tack.ir.nodes import IRFunc

__all__ = ["HostUnit"]

_SHIM = """
#include <cmath>
#include <cstring>
#include <cstddef>
#include <utility>
#include <type_traits>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
struct Index { unsigned x, y, z; };
static Index blockIdx, threadIdx;
static float __uint_as_float(unsigned b) { float x; memcpy(&x, &b, 4); return x; }
static double __longlong_as_double(long long b) { double x; memcpy(&x, &b, 8); return x; }
struct Where { const char* file; unsigned line, column; };
unsigned faults, fault_line;  // what the sanitizer reports comes here instead of to its library
static void fault(Where* where) { if (!faults++) fault_line = where->line; }
#define CAUGHT(name) extern "C" void __ubsan_handle_##name(Where* where, size_t, size_t) { fault(where); }
CAUGHT(add_overflow) CAUGHT(sub_overflow) CAUGHT(mul_overflow) CAUGHT(negate_overflow) CAUGHT(divrem_overflow)
CAUGHT(shift_out_of_bounds) CAUGHT(float_cast_overflow) CAUGHT(load_invalid_value)
template<class... A, size_t... I> void call(void (*f)(A...), void** a, std::index_sequence<I...>) {
    f(*(std::remove_reference_t<A>*)a[I]...);
}
template<class... A> void launch(void (*f)(A...), void** a, long long count) {
    for (long long n = 0; n < count; ++n) {  // whole blocks, so that the guard is tested too
        blockIdx.x = n / %d; threadIdx.x = n %% %d;
        call(f, a, std::index_sequence_for<A...>{});
    }
}
""" % (BLOCK, BLOCK)  # noqa: UP031 (the text is full of braces)
_FLAGS = ("-O1", "-std=c++17", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing")
_CHECKED = "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow,bool"
_numbers = itertools.count()


class HostUnit:
    """Kernels compiled together. `run` executes one of them; the unit stays loaded as long as the process."""

    def __init__(self, kernels: Sequence[tuple[IRFunc, str]], folder: Path) -> None:
        self.functions = {entry: func for func, entry in kernels}
        source = emit_unit(kernels, CUDA)
        runs = "\n".join(f'extern "C" void run_{e}(void** a, long long n) {{ launch({e}, a, n); }}' for _, e in kernels)
        self.text = f'{_SHIM}\n#line 1 "emitted"\n{source}\n{runs}\n'
        stem = folder / f"unit{next(_numbers)}"  # a library is loaded once for each name
        text, built, library = (str(stem.with_suffix(suffix)) for suffix in (".cpp", ".o", ".so"))
        Path(text).write_text(self.text)
        for command in (("g++", *_FLAGS, _CHECKED, "-c", text, "-o", built), ("g++", "-shared", built, "-o", library)):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:4000]
        self.source = source.splitlines()
        self.library = ctypes.CDLL(library)

    def run(self, entry: str, args: Sequence[Any], shapes: Mapping[str, tuple[int, ...]] | None = None) -> None:
        """One launch: arrays are changed in place. Fails if an operation was undefined in C."""
        func = self.functions[entry]
        ranges = _ranges(func, args, shapes or {})
        sizes = [max(0, -(-(r.stop - r.start) // r.step)) for r in ranges]
        count = int(np.prod(sizes, dtype=object))
        cells: list[np.ndarray] = []
        for param, arg in zip(func.params, args, strict=True):
            assert param.type is not None
            cells.append(np.array([arg.ctypes.data], np.uint64) if param.is_array else np.array([arg], param.type.numpy))
        for hidden in hidden_parameters(func):
            of = ranges[hidden.dim]
            values = {"count": count, "start": of.start, "step": of.step, "size": sizes[hidden.dim]}
            cells.append(np.array([values[hidden.kind]], np.int64))
        pointers = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
        faults = ctypes.c_uint.in_dll(self.library, "faults")
        faults.value = 0
        getattr(self.library, f"run_{entry}")(pointers, ctypes.c_longlong(-(-count // BLOCK) * BLOCK))
        line = ctypes.c_uint.in_dll(self.library, "fault_line").value
        assert faults.value == 0, f"{entry}: undefined behaviour in C: {self.source[line - 1]}"


def _ranges(func: IRFunc, args: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> list[range]:
    """The bounds of the parallel loop, as the interpreter computes them."""
    program, env = _compile(func), _bind(func.params, args, shapes)
    program.bound_prologue(env)
    return [_bounds(func.name, *(int(bound(env)) for bound in dim[1:])) for dim in program.dims]
