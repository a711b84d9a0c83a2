"""CUDA C: the dialect record that NVRTC compiles. Words only; the emitter is `c_family`."""

from __future__ import annotations

from tack.codegen.dialect import Dialect
from tack.ir.nodes import LANES

__all__ = ["BLOCK", "CUDA", "OPTIONS"]

BLOCK = LANES

# Of the compiler, besides the architecture. Contraction is decided by Tack alone (rule E5), division and square root are
# correctly rounded, and subnormal numbers stay. Lines are for tools: debuggers and profilers show them.
OPTIONS = (
    "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--generate-line-info",
)  # fmt: skip

# By operation and type; floats have no least and greatest of their own.
_ATOMICS = {
    **{f"add.{t}": "atomicAdd({p}, {v})" for t in ("i32", "u32", "u64", "f32", "f64")},
    "add.i64": "(i64)atomicAdd((u64*){p}, (u64){v})",
    **{f"min.{t}": "atomicMin({p}, {v})" for t in ("i32", "u32", "i64", "u64")},
    **{f"max.{t}": "atomicMax({p}, {v})" for t in ("i32", "u32", "i64", "u64")},
}

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
    pack="const {type}* __restrict__ {name}",
    restrict="__restrict__ ",
    linear_index=f"(u64)blockIdx.x * {BLOCK} + threadIdx.x",
    row="blockIdx.y",
    plane="blockIdx.z",
    line='#line {line} "{name}"',
    shared="__shared__ {type} {name}[{size}];",
    lane="threadIdx.x",
    barrier="__syncthreads()",
    leave='asm volatile("exit;"); return;',  # PTX promises of `exit` alone that barriers go on without the lane
    atomics=_ATOMICS,
    flushing=frozenset({"add.f32"}),  # in global memory
    compare_and_swap={"u32": "atomicCAS({p}, {old}, {new})", "u64": "atomicCAS({p}, {old}, {new})"},
    to_bits={"f32": "__float_as_uint({value})", "f64": "(u64)__double_as_longlong({value})"},
    relaxed="(*(volatile {type}*)&{place})",
    bits={
        "clz.u32": "__clz((int){x})",
        "clz.u64": "__clzll((i64){x})",
        "popcount.u32": "__popc({x})",
        "popcount.u64": "__popcll({x})",
    },
    prints={
        **dict.fromkeys(("i8", "u8", "i16", "u16", "i32"), "%d"),
        "u32": "%u",
        "i64": "%lld",
        "u64": "%llu",
        "f32": "%.9g",
        "f64": "%.17g",
        "bool": "%s",
    },
    texture="cudaTextureObject_t {name}",
    sample="tex3D<float>({texture}, __saturatef({u}), __saturatef({v}), __saturatef({w}))",
    from_bits={"f32": "__uint_as_float({bits})", "f64": "__longlong_as_double({bits})"},
)
