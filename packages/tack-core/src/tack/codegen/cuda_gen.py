"""CUDA C: the dialect record that NVRTC compiles. Words only; the emitter is `c_family`."""

from __future__ import annotations

from tack.codegen.dialect import Dialect

__all__ = ["BLOCK", "CUDA"]

BLOCK = 256  # lanes in a block

CUDA = Dialect(
    name="cuda",
    types={
        "bool": "bool",
        "i8": "signed char",
        "u8": "unsigned char",
        "i16": "short",
        "u16": "unsigned short",
        "i32": "int",
        "u32": "unsigned int",
        "i64": "long long",
        "u64": "unsigned long long",
        "f32": "float",
        "f64": "double",
    },
    suffixes={"u32": "u", "i64": "LL", "u64": "ULL", "f32": "f"},
    kernel=f'extern "C" __global__ void __launch_bounds__({BLOCK}) {{entry}}',
    helper="static __device__ __forceinline__",
    array="{const}{type}* {restrict}{name}",
    scalar="{type} {name}",
    restrict="__restrict__ ",
    linear_index=f"(u64)blockIdx.x * {BLOCK} + threadIdx.x",
    from_bits={"f32": "__uint_as_float({bits})", "f64": "__longlong_as_double({bits})"},
)
