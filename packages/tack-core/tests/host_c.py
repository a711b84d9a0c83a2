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
from tack.ir.facts import has_collectives
from tack.ir.interpret import check_range
from tack.ir.interpret_debug import Failed
from tack.ir.nodes import IRFunc

__all__ = ["HostUnit"]

_SHIM = (
    """
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cstddef>
#include <functional>
#include <ucontext.h>
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
static unsigned __float_as_uint(float x) { unsigned b; memcpy(&b, &x, 4); return b; }
static long long __double_as_longlong(double x) { long long b; memcpy(&b, &x, 8); return b; }
template<class T> T swapped(T* p, T v) { T old = *p; *p = v; return old; }
static int atomicAdd(int* p, int v) { return swapped(p, (int)((unsigned)*p + (unsigned)v)); }
template<class T> T atomicAdd(T* p, T v) { return swapped(p, (T)(*p + v)); }
template<class T> T atomicMin(T* p, T v) { return swapped(p, v < *p ? v : *p); }
template<class T> T atomicMax(T* p, T v) { return swapped(p, v > *p ? v : *p); }
template<class T> T atomicCAS(T* p, T old, T v) { T seen = *p; if (seen == old) *p = v; return seen; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
struct Where { const char* file; unsigned line, column; };
unsigned faults, fault_line;  // what the sanitizer reports comes here instead of to its library
static void fault(Where* where) { if (!faults++) fault_line = where->line; }
#define CAUGHT(name) extern "C" void __ubsan_handle_##name(Where* where, size_t, size_t) { fault(where); }
CAUGHT(add_overflow) CAUGHT(sub_overflow) CAUGHT(mul_overflow) CAUGHT(negate_overflow) CAUGHT(divrem_overflow)
CAUGHT(shift_out_of_bounds) CAUGHT(float_cast_overflow) CAUGHT(load_invalid_value)
template<class... A, size_t... I> void call(void (*f)(A...), void** a, std::index_sequence<I...>) {
    f(*(std::remove_reference_t<A>*)a[I]...);
}
// Lanes of one block, each with a stack of its own: a barrier goes back to the loop, which resumes each lane in turn.
#define __shared__ static
#define LANES %d
static ucontext_t loop, lanes[LANES];
static char stacks[LANES][1 << 16];
static bool finished[LANES];
static unsigned lane;
static std::function<void()> job;
unsigned reversed, divergent, leaving;
static void enter() { job(); finished[lane] = true; }
static void __syncthreads() { swapcontext(&lanes[lane], &loop); }
static void block() {
    for (unsigned k = 0; k < LANES; ++k) {
        finished[k] = false;
        getcontext(&lanes[k]);
        lanes[k].uc_stack.ss_sp = stacks[k];
        lanes[k].uc_stack.ss_size = sizeof stacks[k];
        lanes[k].uc_link = &loop;
        makecontext(&lanes[k], enter, 0);
    }
    for (unsigned done = 0; done < LANES;) {
        done = 0;
        for (unsigned k = 0; k < LANES; ++k) {
            lane = threadIdx.x = reversed ? LANES - 1 - k : k;
            if (!finished[lane]) swapcontext(&loop, &lanes[lane]);
            done += finished[lane];
        }
        if (done && done < LANES && !leaving) { divergent = 1; return; }  // some wait at a barrier that others never reach
    }
}
template<class... A> void launch(void (*f)(A...), void** a, long long count, bool together) {
    for (long long n = 0; n < count; ++n) {  // whole blocks, so that the guard is tested too
        blockIdx.x = n / LANES; threadIdx.x = n %% LANES;
        if (!together) call(f, a, std::index_sequence_for<A...>{});
        else if (threadIdx.x == 0) { job = [=] { call(f, a, std::index_sequence_for<A...>{}); }; block(); }
    }
}
"""
    % BLOCK
)  # noqa: UP031 (the text is full of braces)
_FLAGS = ("-O1", "-std=c++17", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing")
_CHECKED = "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow,bool"
_numbers = itertools.count()


class HostUnit:
    """Kernels compiled together. `run` executes one of them; the unit stays loaded as long as the process."""

    def __init__(self, kernels: Sequence[tuple[IRFunc, str]], folder: Path) -> None:
        self.functions = {entry: func for func, entry in kernels}
        source = emit_unit(kernels, CUDA)
        entries = {e: "true" if has_collectives(func) else "false" for func, e in kernels}
        entries |= {f"{e}_result": "false" for func, e in kernels if func.result is not None}
        head = 'extern "C" void run_{0}(void** a, long long n) {{ launch({0}, a, n, {1}); }}'
        runs = "\n".join(head.format(*entry) for entry in entries.items())
        self.text = f'{_SHIM}\n#line 1 "emitted"\n{source}\n{runs}\n'
        stem = folder / f"unit{next(_numbers)}"  # a library is loaded once for each name
        text, built, library = (str(stem.with_suffix(suffix)) for suffix in (".cpp", ".o", ".so"))
        Path(text).write_text(self.text)
        for command in (("g++", *_FLAGS, _CHECKED, "-c", text, "-o", built), ("g++", "-shared", built, "-o", library)):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:4000]
        self.source = source.splitlines()
        self.library = ctypes.CDLL(library)

    def run(
        self,
        entry: str,
        args: Sequence[Any],
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        *,
        reverse: bool = False,
        leaving: bool = False,
    ) -> Any:
        """One launch: arrays are changed in place; the kernel's result.

        Fails if an operation was undefined in C, and where not all lanes reach a barrier.

        `reverse`: between barriers the lanes of a block run backwards, which shows a barrier that is missing. `leaving`: a lane
        may end before others do, which then wait without it, as on GPUs: in debug mode it does so where a check fails.
        """
        func = self.functions[entry]
        try:
            ranges = check_range(func, args, shapes or {})
        except Failed:  # a check of debug mode, which is noted in the errors array
            return None
        sizes = [max(0, -(-(r.stop - r.start) // r.step)) for r in ranges]
        count = int(np.prod(sizes, dtype=object))
        own: list[np.ndarray] = []
        for param, arg in zip(func.params, args, strict=True):
            assert param.type is not None
            own.append(np.array([arg.ctypes.data], np.uint64) if param.is_array else np.array([arg], param.type.numpy))
        cells = own.copy()
        for hidden in hidden_parameters(func):
            of = ranges[hidden.dim]
            values = {"count": count, "start": of.start, "step": of.step, "size": sizes[hidden.dim]}
            cells.append(np.array([values[hidden.kind] % (1 << 64)], np.uint64))
        faults, divergent = (ctypes.c_uint.in_dll(self.library, name) for name in ("faults", "divergent"))
        faults.value = divergent.value = 0
        ctypes.c_uint.in_dll(self.library, "reversed").value = reverse
        ctypes.c_uint.in_dll(self.library, "leaving").value = leaving
        self._launch(entry, cells, count)
        result = None
        if func.result is not None:
            assert func.result.type is not None
            result = np.zeros(1, func.result.type.numpy)
            self._launch(f"{entry}_result", [*own, np.array([result.ctypes.data], np.uint64)], 1)
        line = ctypes.c_uint.in_dll(self.library, "fault_line").value
        assert not divergent.value, f"{entry}: some lanes wait at a barrier that others do not reach"
        assert faults.value == 0, f"{entry}: undefined behaviour in C: {self.source[line - 1]}"
        return None if result is None else result[0].item()

    def _launch(self, function: str, cells: Sequence[np.ndarray], count: int) -> None:
        pointers = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
        getattr(self.library, f"run_{function}")(pointers, ctypes.c_longlong(-(-count // BLOCK) * BLOCK))
