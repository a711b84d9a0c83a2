"""LLVM IR of the small functions that written instructions call, and the declarations of the C++ side's. Text only."""

from __future__ import annotations

__all__ = ["FAULTS", "NATIVE", "text_of"]

# The kinds of faults, in the order of the enum in lanes.cpp.
FAULTS = (
    "",
    "out of bounds",
    "use after free",
    "not device memory",
    "misaligned access",
    "uninitialized shared memory",
    "shared memory race",
    "barrier divergence",
    "bad texture",
    "bad call",
    "bad branch",
    "stack overflow",
    "assertion failed",
    "trap",
)

# Functions of lanes.cpp: result and parameters, as declared in LLVM IR.
NATIVE: dict[str, str] = {
    "sim_global": "ptr @sim_global(ptr, i64, i32, i32)",
    "sim_generic": "ptr @sim_generic(ptr, i64, i32, i32, i32)",
    "sim_shared": "ptr @sim_shared(ptr, i64, i32, i32, i32)",
    "sim_write": "i32 @sim_write(ptr, i64, i32, i64)",
    "sim_local": "ptr @sim_local(ptr, i64, i32, i32)",
    "sim_param": "ptr @sim_param(ptr, i64, i32, i32)",
    "sim_depot": "i64 @sim_depot(ptr, i64, i64, i32)",
    "sim_barrier": "i32 @sim_barrier(ptr, i32, i32, i32, i32)",
    "sim_exit": "void @sim_exit(ptr)",
    "sim_fault": "void @sim_fault(ptr, i32, i64, i32) cold noreturn",
    "sim_assert": "void @sim_assert(ptr, i64, i64, i32, i64, i32) cold noreturn",
    "sim_printf": "i32 @sim_printf(ptr, i64, i64, i32)",
    "sim_tex3d": "void @sim_tex3d(ptr, i64, float, float, float, ptr, i32)",
    "sim_round_f32": "float @sim_round_f32(i32, i32, float, float, float)",
    "sim_round_f64": "double @sim_round_f64(i32, i32, double, double, double)",
    "sim_narrow": "float @sim_narrow(i32, double)",
    "sim_f32_of_s64": "float @sim_f32_of_s64(i32, i64)",
    "sim_f32_of_u64": "float @sim_f32_of_u64(i32, i64)",
    "sim_f64_of_s64": "double @sim_f64_of_s64(i32, i64)",
    "sim_f64_of_u64": "double @sim_f64_of_u64(i32, i64)",
    **{f"sim_{name}": f"float @sim_{name}(float)" for name in ("sin", "cos", "ex2", "lg2", "tanh", "rsqrt")},
}

_SIZES = (1, 2, 4, 8, 16, 32)

# The shadow has a byte for 8 bytes of memory: 0 all valid, 1..7 the first so many, anything else none. What the fast path
# does not settle, sim_global does: it returns for an access that is right, and never for one that is not.
_SHADOWED = """define internal ptr @{name}(ptr %lane, i64 %a, {mode}i32 %site) alwaysinline {{
%bp = getelementptr i8, ptr %lane, i64 64
%base = load i64, ptr %bp
%np = getelementptr i8, ptr %lane, i64 72
%size = load i64, ptr %np
%off = sub i64 %a, %base
%in = icmp ult i64 %off, %size
%rest = and i64 %off, {low}
%even = icmp eq i64 %rest, 0
%sound = and i1 %in, %even
br i1 %sound, label %look, label %slow
look:
%sp = getelementptr i8, ptr %lane, i64 80
%shadow = load ptr, ptr %sp
%k = lshr i64 %off, 3
%cell = getelementptr i8, ptr %shadow, i64 %k
%valid = load i{cells}, ptr %cell, align 1
%whole = icmp eq i{cells} %valid, 0
br i1 %whole, label %fine, label %slow
fine:
%p = inttoptr i64 %a to ptr
ret ptr %p
slow:
%q = call ptr @{slow}(ptr %lane, i64 %a, i32 {bytes}, {pass_mode}i32 %site)
ret ptr %q
}}"""

_LOCAL = """define internal ptr @local.{bytes}(ptr %lane, i64 %a, i32 %site) alwaysinline {{
%bp = getelementptr i8, ptr %lane, i64 88
%base = load i64, ptr %bp
%tp = getelementptr i8, ptr %lane, i64 96
%top = load i64, ptr %tp
%size = sub i64 %top, %base
%off = sub i64 %a, %base
%last = add i64 %off, {bytes}
%in = icmp ule i64 %last, %size
%begun = icmp ult i64 %off, %size
%rest = and i64 %off, {low}
%even = icmp eq i64 %rest, 0
%ok = and i1 %in, %begun
%good = and i1 %ok, %even
br i1 %good, label %fine, label %slow
fine:
%p = inttoptr i64 %a to ptr
ret ptr %p
slow:
%q = call ptr @sim_local(ptr %lane, i64 %a, i32 {bytes}, i32 %site)
ret ptr %q
}}"""

# Division by zero is unspecified in PTX, but must not end the process: compilers hoist divisions above the test of the divisor.
_SDIV = """define internal i{w} @sdiv.{w}(i{w} %a, i{w} %b) alwaysinline {{
%z = icmp eq i{w} %b, 0
%m = icmp eq i{w} %b, -1
%zm = or i1 %z, %m
%d = select i1 %zm, i{w} 1, i{w} %b
%q = sdiv i{w} %a, %d
%n = sub i{w} 0, %a
%r = select i1 %m, i{w} %n, i{w} %q
%s = select i1 %z, i{w} -1, i{w} %r
ret i{w} %s
}}"""
_SREM = """define internal i{w} @srem.{w}(i{w} %a, i{w} %b) alwaysinline {{
%z = icmp eq i{w} %b, 0
%m = icmp eq i{w} %b, -1
%zm = or i1 %z, %m
%d = select i1 %zm, i{w} 1, i{w} %b
%q = srem i{w} %a, %d
%r = select i1 %m, i{w} 0, i{w} %q
%s = select i1 %z, i{w} %a, i{w} %r
ret i{w} %s
}}"""
_UDIV = """define internal i{w} @udiv.{w}(i{w} %a, i{w} %b) alwaysinline {{
%z = icmp eq i{w} %b, 0
%d = select i1 %z, i{w} 1, i{w} %b
%q = udiv i{w} %a, %d
%s = select i1 %z, i{w} -1, i{w} %q
ret i{w} %s
}}"""
_UREM = """define internal i{w} @urem.{w}(i{w} %a, i{w} %b) alwaysinline {{
%z = icmp eq i{w} %b, 0
%d = select i1 %z, i{w} 1, i{w} %b
%q = urem i{w} %a, %d
%s = select i1 %z, i{w} %a, i{w} %q
ret i{w} %s
}}"""

# Of a number and a NaN the number; of two zeros the one with the right sign.
_EXTREME = """define internal {t} @{name}.{f}({t} %a, {t} %b) alwaysinline {{
%na = fcmp uno {t} %a, %a
%nb = fcmp uno {t} %b, %b
%less = fcmp olt {t} %a, %b
%more = fcmp ogt {t} %a, %b
%ia = bitcast {t} %a to {i}
%ib = bitcast {t} %b to {i}
%same = {merge} {i} %ia, %ib
%fs = bitcast {i} %same to {t}
%r = select i1 %{first}, {t} %a, {t} %fs
%s = select i1 %{second}, {t} %b, {t} %r
%u = select i1 %nb, {t} %a, {t} %s
%v = select i1 %na, {t} %b, {t} %u
ret {t} %v
}}"""

_SATURATED = """define internal {t} @saturate.{f}({t} %a) alwaysinline {{
%pos = fcmp ogt {t} %a, 0.0
%one = fcmp olt {t} %a, 1.0
%r = select i1 %one, {t} %a, {t} 1.0
%s = select i1 %pos, {t} %r, {t} 0.0
ret {t} %s
}}"""

_FLUSHED = """define internal float @flush(float %a) alwaysinline {
%i = bitcast float %a to i32
%e = and i32 %i, 2139095040
%z = icmp eq i32 %e, 0
%s = and i32 %i, -2147483648
%r = select i1 %z, i32 %s, i32 %i
%f = bitcast i32 %r to float
ret float %f
}"""

_BIT_FIELDS = """define internal i{w} @bfe.u{w}(i{w} %a, i32 %b, i32 %c) alwaysinline {{
%pos = and i32 %b, 255
%len = and i32 %c, 255
%p = call i32 @llvm.umin.i32(i32 %pos, i32 {w})
%l = call i32 @llvm.umin.i32(i32 %len, i32 {w})
%wa = zext i{w} %a to i{d}
%wp = zext i32 %p to i{d}
%wl = zext i32 %l to i{d}
%v = lshr i{d} %wa, %wp
%one = shl i{d} 1, %wl
%mask = sub i{d} %one, 1
%r = and i{d} %v, %mask
%t = trunc i{d} %r to i{w}
ret i{w} %t
}}
define internal i{w} @bfe.s{w}(i{w} %a, i32 %b, i32 %c) alwaysinline {{
%pos = and i32 %b, 255
%len = and i32 %c, 255
%none = icmp eq i32 %len, 0
%p = call i32 @llvm.umin.i32(i32 %pos, i32 {w})
%l = call i32 @llvm.umin.i32(i32 %len, i32 {w})
%wa = sext i{w} %a to i{d}
%wp = zext i32 %p to i{d}
%l1 = select i1 %none, i32 1, i32 %l
%up = sub i32 {d}, %l1
%wu = zext i32 %up to i{d}
%v = ashr i{d} %wa, %wp
%h = shl i{d} %v, %wu
%r = ashr i{d} %h, %wu
%t = trunc i{d} %r to i{w}
%u = select i1 %none, i{w} 0, i{w} %t
ret i{w} %u
}}
define internal i{w} @bfi.b{w}(i{w} %a, i{w} %b, i32 %c, i32 %d) alwaysinline {{
%pos = and i32 %c, 255
%len = and i32 %d, 255
%p = call i32 @llvm.umin.i32(i32 %pos, i32 {w})
%l = call i32 @llvm.umin.i32(i32 %len, i32 {w})
%wp = zext i32 %p to i{d}
%wl = zext i32 %l to i{d}
%one = shl i{d} 1, %wl
%ones = sub i{d} %one, 1
%wm = shl i{d} %ones, %wp
%m = trunc i{d} %wm to i{w}
%wa = zext i{w} %a to i{d}
%ws = shl i{d} %wa, %wp
%s = trunc i{d} %ws to i{w}
%x = xor i{w} %s, %b
%y = and i{w} %x, %m
%r = xor i{w} %y, %b
ret i{w} %r
}}"""

_PERMUTED = (
    "define internal i32 @prmt(i32 %a, i32 %b, i32 %c) alwaysinline {\n"
    "%za = zext i32 %a to i64\n%zb = zext i32 %b to i64\n%hb = shl i64 %zb, 32\n%ab = or i64 %za, %hb\n"
    + "\n".join(
        f"%c{k} = lshr i32 %c, {4 * k}\n%n{k} = and i32 %c{k}, 7\n%s{k} = shl i32 %n{k}, 3\n%w{k} = zext i32 %s{k} to i64\n"
        f"%v{k} = lshr i64 %ab, %w{k}\n%b{k} = trunc i64 %v{k} to i8\n%g{k} = ashr i8 %b{k}, 7\n%m{k} = and i32 %c{k}, 8\n"
        f"%q{k} = icmp ne i32 %m{k}, 0\n%r{k} = select i1 %q{k}, i8 %g{k}, i8 %b{k}\n%x{k} = zext i8 %r{k} to i32\n"
        f"%y{k} = shl i32 %x{k}, {8 * k}"
        for k in range(4)
    )
    + "\n%o1 = or i32 %y0, %y1\n%o2 = or i32 %y2, %y3\n%o = or i32 %o1, %o2\nret i32 %o\n}"
)


def _made() -> dict[str, str]:
    made: dict[str, str] = {"flush": _FLUSHED, "prmt": _PERMUTED}
    for n in _SIZES:
        cells = 8 * max(1, n // 8)
        common = {"bytes": n, "low": n - 1, "cells": cells}
        made[f"global.{n}"] = _SHADOWED.format(name=f"global.{n}", mode="", slow="sim_global", pass_mode="", **common)
        made[f"generic.{n}"] = _SHADOWED.format(
            name=f"generic.{n}", mode="i32 %mode, ", slow="sim_generic", pass_mode="i32 %mode, ", **common
        )
        made[f"local.{n}"] = _LOCAL.format(bytes=n, low=n - 1)
    for w in (16, 32, 64):
        for name, text in (("sdiv", _SDIV), ("srem", _SREM), ("udiv", _UDIV), ("urem", _UREM)):
            made[f"{name}.{w}"] = text.format(w=w)
    for f, t, i in (("f32", "float", "i32"), ("f64", "double", "i64")):
        made[f"min.{f}"] = _EXTREME.format(name="min", f=f, t=t, i=i, merge="or", first="less", second="more")
        made[f"max.{f}"] = _EXTREME.format(name="max", f=f, t=t, i=i, merge="and", first="more", second="less")
        made[f"saturate.{f}"] = _SATURATED.format(f=f, t=t)
    for w in (32, 64):
        whole = _BIT_FIELDS.format(w=w, d=2 * w).split("\ndefine ")
        for name, text in zip((f"bfe.u{w}", f"bfe.s{w}", f"bfi.b{w}"), whole, strict=True):
            made[name] = text if text.startswith("define ") else "define " + text
    return made


_HELPERS = _made() | {name: f"declare {text}" for name, text in NATIVE.items()}
_NEEDS = {"global": "sim_global", "generic": "sim_generic", "local": "sim_local"}


def text_of(names: set[str]) -> str:
    """The definitions and declarations of some helpers and of what they call; LLVM's own intrinsics need none."""
    wanted = names | {_NEEDS[head] for name in names if (head := name.partition(".")[0]) in _NEEDS}
    return "\n".join(_HELPERS[name] for name in sorted(wanted))
