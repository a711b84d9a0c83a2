"""The C emitter knows no language by name: records in the manner of Metal and OpenCL are enough for it to write them.

Their real compilers judge the real records; here the host's C and C++ compilers do, through a few macros.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from op_matrix import cast_cases, op_cases

from tack.codegen.c_family import emit_kernel, emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.codegen.dialect import Dialect
from tack.codegen.gpu_unit import gpu_unit
from tack.ir.types import f32, f64, i64
from tack.testing import kernel_from
from tack.testing.targets import typed

_TYPES = {
    "bool": "bool", "i8": "char", "u8": "uchar", "i16": "short", "u16": "ushort", "i32": "int", "u32": "uint", "i64": "long",
    "u64": "ulong", "f32": "float",
}  # fmt: skip
_SUFFIXES = {"u32": "u", "i64": "L", "u64": "UL", "f32": "f"}
_BITS = {f"{op}.{t}": f"{op}({{x}})" for op in ("clz", "popcount") for t in ("u32", "u64")}

METAL = Dialect(
    name="metal-like",
    types=_TYPES,
    suffixes=_SUFFIXES,
    header="#include <metal_stdlib>\nusing namespace metal;",
    kernel="kernel void {entry}",
    helper="static inline",
    array="device {const}{type}* {restrict}{name} [[buffer({slot})]]",
    pack="constant {type}* {name} [[buffer({slot})]]",
    extra_params=("uint3 t_position [[thread_position_in_grid]]", "uint3 t_group [[threadgroup_position_in_grid]]"),
    linear_index="(u64)t_position.x",
    row="t_group.y",
    plane="t_group.z",
    from_bits={"f32": "as_type<float>({bits})"},
    to_bits={"f32": "as_type<uint>({value})"},
    bits=_BITS,
    f32_suffix="",
)
OPENCL = Dialect(
    name="opencl-like",
    types={**_TYPES, "f64": "double"},
    suffixes=_SUFFIXES,
    kernel="__kernel void {entry}",
    helper="static inline",
    array="__global {const}{type}* {restrict}{name}",
    pack="__global const {type}* restrict {name}",
    restrict="restrict ",
    linear_index="get_global_id(0)",
    from_bits={"f32": "as_float({bits})", "f64": "as_double({bits})"},
    to_bits={"f32": "as_uint({value})", "f64": "as_ulong({value})"},
    bits=_BITS,
    f32_suffix="",
)
_WORDS = "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;\n"
_METAL_WORDS = """#include <cmath>
#define kernel extern "C"
#define device
#define constant const
struct uint3 { unsigned x, y, z; };
namespace metal { using std::sqrt; template<class T, class B> T as_type(B b) { return (T)b; }
template<class T> T clz(T x) { return x; } template<class T> T popcount(T x) { return x; } }
"""
_OPENCL_WORDS = """#include <stdbool.h>
#include <stddef.h>
#include <tgmath.h>
#define __kernel
#define __global
#define as_float(b) ((float)(b))
#define as_double(b) ((double)(b))
#define as_uint(x) ((uint)(x))
#define as_ulong(x) ((ulong)(x))
#define clz(x) (x)
#define popcount(x) (x)
size_t get_global_id(int);
"""


def compiles(tmp_path: Path, source: str, *command: str) -> None:
    path = tmp_path / "unit.txt"
    path.write_text(source)
    done = subprocess.run([*command, "-fsyntax-only", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def test_a_record_like_metal_s_gives_c_plus_plus_without_goto_or_f64(tmp_path: Path) -> None:
    kernels = [(c.func, c.name) for c in op_cases() if f64 not in (*c.operands, c.result)]
    kernels += [(func, name) for name, *types, func in cast_cases() if f64 not in types]
    text = emit_unit(kernels, METAL)
    assert "goto" not in text
    assert "f64" not in text
    assert "double" not in text
    words = _METAL_WORDS + _WORDS + text.replace("#include <metal_stdlib>", "using namespace std;")
    compiles(tmp_path, words, "g++", "-x", "c++", "-std=gnu++14", "-w")


def test_a_record_like_opencl_s_gives_c(tmp_path: Path) -> None:
    kernels = [(c.func, c.name) for c in op_cases()] + [(func, name) for name, _, _, func in cast_cases()]
    compiles(tmp_path, _OPENCL_WORDS + _WORDS + emit_unit(kernels, OPENCL), "gcc", "-x", "c", "-std=c11", "-w")


def test_packs_carried_locals_grids_and_results_are_written_by_records_alone(tmp_path: Path) -> None:
    k = kernel_from(
        "@tack.kernel\ndef k(x, n, m) -> int:\n    t = x[0, 0] > n\n    for i, j in tack.ndindex(n, m):\n"
        "        x[i, j] = t + m\n    return n + t\n"
    )
    func = typed(k, (np.zeros((2, 3), np.int32), 2, 3), fma=True)
    for dialect, words, *command in (
        (METAL, _METAL_WORDS + _WORDS, "g++", "-x", "c++", "-std=gnu++14", "-w"),
        (OPENCL, _OPENCL_WORDS + _WORDS, "gcc", "-x", "c", "-std=c11", "-w"),
    ):
        unit = gpu_unit(func, dialect)
        assert unit.layout.has_grid == (dialect is METAL)
        assert all((unit.layout.narrow, unit.layout.before, unit.layout.result)) and "#line" not in unit.source
        compiles(tmp_path, words + unit.source.replace("#include <metal_stdlib>", "using namespace std;"), *command)


def test_a_type_that_the_language_lacks_is_refused() -> None:
    case = next(c for c in op_cases() if c.name == "add_f64_f64")
    with pytest.raises(RuntimeError, match="the metal-like dialect has no type tack.f64"):
        emit_kernel(case.func, METAL, "k")


def test_literals_take_the_language_s_words() -> None:
    assert OPENCL.literal(-(2**63), i64) == "(-9223372036854775807L - 1)"
    assert CUDA.literal(-(2**63), i64) == "(-9223372036854775807LL - 1)"
    assert METAL.literal(float("-inf"), f32) == "as_type<float>(0xff800000u)"
    assert OPENCL.literal(float("inf"), f64) == "as_double(0x7ff0000000000000UL)"
