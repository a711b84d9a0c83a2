"""Runs emitted CUDA C on the CPU: a few lines of C++ stand in for the GPU's words, g++ compiles, undefined behaviour is counted.

This shows the emitter's numbers where there is no GPU; it says nothing about NVIDIA's compiler (`nvrtc_tools` does).
"""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import BLOCK, CUDA
from tack.codegen.gpu_layout import GpuLayout, gpu_layout
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
#include <ucontext.h>
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
// Lanes of one block, each with a stack of its own: a barrier goes back to the loop, which resumes each lane in turn.
#define __shared__ static
#define LANES %d
static ucontext_t loop, lanes[LANES];
static char stacks[LANES][1 << 16];
static bool finished[LANES];
static unsigned lane;
typedef void Call(void** a);  // of a kernel, with arguments that are pointers, all of them
static Call* job;
static void** job_args;
unsigned reversed, divergent, leaving;
static void enter() { job(job_args); finished[lane] = true; }
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
static void launch(Call* f, void** a, const unsigned* grid, bool together) {
    for (unsigned z = 0; z < grid[2]; ++z) for (unsigned y = 0; y < grid[1]; ++y) for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        if (together) { job = f; job_args = a; block(); }
        else for (threadIdx.x = 0; threadIdx.x < LANES; ++threadIdx.x) f(a);
    }
}
"""
    % BLOCK
)  # noqa: UP031 (the text is full of braces)
_FLAGS = ("-O1", "-std=c++17", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing")
_CHECKED = "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow,bool"
_numbers = itertools.count()


_RUN = """extern "C" void run_{name}(void** a, const unsigned* grid) {{
    launch([](void** a) {{ ((void (*)({types})){name})({args}); }}, a, grid, {how});
}}"""
_MAX_GRID = (2**31 - 1, 65535, 65535)


class HostUnit:
    """Kernels compiled together. `run` executes one of them; the unit stays loaded as long as the process."""

    def __init__(self, kernels: Sequence[tuple[IRFunc, str]], folder: Path) -> None:
        self.functions = {entry: func for func, entry in kernels}
        self.layouts = {entry: gpu_layout(func, grids=True, entry=entry) for func, entry in kernels}
        # The lines are those of the emitted text, so that what is undefined can be shown.
        source = re.sub(r"^#line .*\n", "", emit_unit(kernels, CUDA).replace(CUDA.leave, "return;"), flags=re.MULTILINE)
        runs = "\n".join(
            _RUN.format(name=name, types=", ".join(["void*"] * count), args=", ".join(f"a[{k}]" for k in range(count)), how=how)
            for name, count, how in self._entries()
        )
        self.text = f'{_SHIM}\n#line 1 "emitted"\n{source}\n{runs}\n'
        stem = folder / f"unit{next(_numbers)}"  # a library is loaded once for each name
        text, built, library = (str(stem.with_suffix(suffix)) for suffix in (".cpp", ".o", ".so"))
        Path(text).write_text(self.text)
        for command in (("g++", *_FLAGS, _CHECKED, "-c", text, "-o", built), ("g++", "-shared", built, "-o", library)):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:4000]
        self.source = source.splitlines()
        self.library = ctypes.CDLL(library)

    def _entries(self) -> Iterator[tuple[str, int, str]]:
        """Each entry function, the number of its parameters, and whether its lanes wait for each other."""
        for name, layout in self.layouts.items():
            together = str(has_collectives(self.functions[name])).lower()
            count = len(layout.pointers) + bool(layout.pack_size) + bool(layout.carried_size)
            for entry in filter(None, (layout.entry, layout.narrow)):
                yield entry, count, together
            if layout.before:
                yield layout.before, count, "false"
            if layout.result:
                yield layout.result, count + 1, "false"

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

        Fails if an operation was undefined in C, and where not all lanes reach a barrier. It runs with 32-bit indices, and with
        workgroups in rows and planes, wherever a host would, after a run with neither, which must leave the same bytes.

        `reverse`: between barriers the lanes of a block run backwards, which shows a barrier that is missing. `leaving`: a lane
        may end before others do, which then wait without it, as on GPUs: in debug mode it does so where a check fails.
        """
        func, layout = self.functions[entry], self.layouts[entry]
        try:
            ranges = check_range(func, args, shapes or {})
        except Failed:  # a check of debug mode, which is noted in the errors array
            return None
        sizes = [max(0, -(-(r.stop - r.start) // r.step)) for r in ranges]
        ctypes.c_uint.in_dll(self.library, "reversed").value = reverse
        ctypes.c_uint.in_dll(self.library, "leaving").value = leaving
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        narrow = layout.fits_narrow([array.size for array in arrays], ranges)
        grid, flag = layout.grid(sizes, _MAX_GRID)
        plain = (layout.grid(sizes, (2**31 - 1, 0, 0))[0], 0)
        first = [array.copy() for array in arrays]
        result = self._launch(layout, layout.entry, args, ranges, plain)
        if narrow:
            wide = [array.copy() for array in arrays]
            for array, before in zip(arrays, first, strict=True):
                array[...] = before
            again = self._launch(layout, layout.narrow, args, ranges, (grid, flag))
            assert result is None or result.tobytes() == again.tobytes(), entry
            assert [a.tobytes() for a in arrays] == [a.tobytes() for a in wide], f"{entry}: 32-bit indices change the result"
        return None if result is None else result[0].item()

    def _launch(
        self, layout: GpuLayout, main: str, args: Sequence[Any], ranges: Sequence[range], grid: tuple[tuple[int, ...], int]
    ) -> np.ndarray | None:
        first = layout.comes_first(lambda slot: np.lib.array_utils.byte_bounds(args[slot]))
        pack = np.frombuffer(bytearray(layout.pack(args, ranges, grid[1], first)), np.uint8)
        assert pack.size == layout.pack_size
        given = [args[slot] for slot in layout.pointers] + [pack]
        given += [np.full(layout.carried_size, 0xA5, np.uint8)] if layout.carried_size else []
        result = None if layout.result_type is None else np.zeros(1, layout.result_type.numpy)
        runs = all(ranges)
        if first and (runs or layout.result):
            self._call(layout.before, given, (1, 1, 1))
        if runs:
            self._call(main, given, grid[0])
        if result is not None:
            self._call(layout.result, [*given, result], (1, 1, 1))
        return result

    def _call(self, function: str, given: Sequence[np.ndarray], grid: Sequence[int]) -> None:
        faults, divergent = (ctypes.c_uint.in_dll(self.library, name) for name in ("faults", "divergent"))
        faults.value = divergent.value = 0
        pointers = (ctypes.c_void_p * len(given))(*(each.ctypes.data for each in given))
        getattr(self.library, f"run_{function}")(pointers, (ctypes.c_uint * 3)(*grid))
        line = ctypes.c_uint.in_dll(self.library, "fault_line").value
        assert not divergent.value, f"{function}: some lanes wait at a barrier that others do not reach"
        assert faults.value == 0, f"{function}: undefined behaviour in C: {self.source[line - 1]}"
