"""Operations that take more than a few instructions, as internal LLVM functions: division, remainder, integer power.

Each function returns the text of one function; `ModuleText.declare` adds it once to a module. Nothing here traps (T5).
"""

from __future__ import annotations

from tack.codegen.llvm_text import LLVM_TYPES, ModuleText, constant
from tack.ir.types import ScalarType, f32

__all__ = ["float_floordiv", "float_fmod", "float_mod", "int_floordiv", "int_mod", "int_pow"]


def int_floordiv(module: ModuleText, type: ScalarType) -> str:
    """Declares and names the floored quotient: x // 0 is 0, the least value // -1 wraps to itself."""
    t, name = LLVM_TYPES[type], f"@tack.floordiv.{type.name}"
    if type.signed:
        body = f"""\
  %zero = icmp eq {t} %b, 0
  %minus = icmp eq {t} %b, -1
  %unsafe = or i1 %zero, %minus
  %safe = select i1 %unsafe, {t} 1, {t} %b
  %q = sdiv {t} %a, %safe
  %r = srem {t} %a, %safe
  %mixed = xor {t} %r, %safe
  %opposite = icmp slt {t} %mixed, 0
  %rest = icmp ne {t} %r, 0
  %down = and i1 %opposite, %rest
  %step = sext i1 %down to {t}
  %floored = add {t} %q, %step
  %negated = sub {t} 0, %a
  %nonzero = select i1 %minus, {t} %negated, {t} %floored
  %value = select i1 %zero, {t} 0, {t} %nonzero"""
    else:
        body = f"""\
  %zero = icmp eq {t} %b, 0
  %safe = select i1 %zero, {t} 1, {t} %b
  %q = udiv {t} %a, %safe
  %value = select i1 %zero, {t} 0, {t} %q"""
    return _pair(module, name, t, body)


def int_mod(module: ModuleText, type: ScalarType) -> str:
    """Declares and names the remainder with the divisor's sign: x % 0 and the least value % -1 are 0."""
    t, name = LLVM_TYPES[type], f"@tack.mod.{type.name}"
    if type.signed:  # dividing by 1 leaves 0, which is right for both divisors that could trap
        body = f"""\
  %zero = icmp eq {t} %b, 0
  %minus = icmp eq {t} %b, -1
  %unsafe = or i1 %zero, %minus
  %safe = select i1 %unsafe, {t} 1, {t} %b
  %r = srem {t} %a, %safe
  %mixed = xor {t} %r, %safe
  %opposite = icmp slt {t} %mixed, 0
  %rest = icmp ne {t} %r, 0
  %up = and i1 %opposite, %rest
  %step = select i1 %up, {t} %safe, {t} 0
  %value = add {t} %r, %step"""
    else:
        body = f"""\
  %zero = icmp eq {t} %b, 0
  %safe = select i1 %zero, {t} 1, {t} %b
  %value = urem {t} %a, %safe"""
    return _pair(module, name, t, body)


def _pair(module: ModuleText, name: str, t: str, body: str) -> str:
    head = f"define internal {t} {name}({t} %a, {t} %b) alwaysinline nounwind"
    module.declare(name, f"{head} {{\n{body}\n  ret {t} %value\n}}\n")
    return name


def int_pow(module: ModuleText, type: ScalarType, signed_exponent: bool) -> str:
    """Declares and names the power of an integer to an exponent of 64 bits, wrapping (T6), by repeated squaring.

    A negative exponent gives 0 except for bases 1 and -1.
    """
    t = LLVM_TYPES[type]
    name = f"@tack.pow.{type.name}.{'s' if signed_exponent else 'u'}"
    odd = f"%odd = and i64 %e, 1\n  %isodd = icmp ne i64 %odd, 0\n  %sign = select i1 %isodd, {t} -1, {t} 1"
    minus = f"%isminus = icmp eq {t} %a, -1\n  %m = select i1 %isminus, {t} %sign, {t} 0" if type.signed else f"%m = add {t} 0, 0"
    guard = "%negative = icmp slt i64 %e, 0" if signed_exponent else "%negative = icmp ne i64 0, 0"
    module.declare(name, f"""\
define internal {t} {name}({t} %a, i64 %e) nounwind {{
entry:
  {guard}
  br i1 %negative, label %inverse, label %test
inverse:
  {odd}
  {minus}
  %isone = icmp eq {t} %a, 1
  %inv = select i1 %isone, {t} 1, {t} %m
  ret {t} %inv
test:
  %n = phi i64 [ %e, %entry ], [ %n.half, %square ]
  %base = phi {t} [ %a, %entry ], [ %base.squared, %square ]
  %power = phi {t} [ 1, %entry ], [ %power.next, %square ]
  %end = icmp eq i64 %n, 0
  br i1 %end, label %done, label %square
square:
  %bit = and i64 %n, 1
  %set = icmp ne i64 %bit, 0
  %times = mul {t} %power, %base
  %power.next = select i1 %set, {t} %times, {t} %power
  %base.squared = mul {t} %base, %base
  %n.half = lshr i64 %n, 1
  br label %test
done:
  ret {t} %power
}}
""")  # fmt: skip
    return name


def _declare(module: ModuleText, type: ScalarType, *names: str) -> None:
    t, arity = LLVM_TYPES[type], {"fma": 3, "copysign": 2}
    for name in names:
        full = f"@llvm.{name}.{type.name}"
        module.declare(full, f"declare {t} {full}({', '.join([t] * arity.get(name, 1))})")


def float_fmod(module: ModuleText, type: ScalarType, fma: bool) -> str:
    """Declares and names the exact remainder with the dividend's sign.

    T5: with an fma, the truncated quotient's remainder is exact, and off by at most one divisor, while the quotient is small and
    the divisor far from the ends of the range; only other operands take the C library's slow way.
    """
    t, x = LLVM_TYPES[type], type.name
    name, slow = f"@tack.fmod.{x}", f"@tack.fmod.slow.{x}"
    library = f"{{\n  %value = frem {t} %a, %b\n  ret {t} %value\n}}\n"
    if not fma:
        module.declare(name, f"define internal {t} {name}({t} %a, {t} %b) alwaysinline nounwind {library}")
        return name
    module.declare(slow, f"define internal {t} {slow}({t} %a, {t} %b) noinline cold nounwind {library}")
    _declare(module, type, "fma", "fabs", "trunc", "copysign")
    quotient, least, greatest = (22, -100, 120) if type is f32 else (51, -1000, 1000)
    limits = [constant(2.0**k, type) for k in (quotient, least, greatest)]
    module.declare(name, f"""\
define internal {t} {name}({t} %a, {t} %b) alwaysinline nounwind {{
  %q = fdiv {t} %a, %b
  %q.abs = call {t} @llvm.fabs.{x}({t} %q)
  %b.abs = call {t} @llvm.fabs.{x}({t} %b)
  %small = fcmp olt {t} %q.abs, {limits[0]}
  %above = fcmp oge {t} %b.abs, {limits[1]}
  %below = fcmp ole {t} %b.abs, {limits[2]}
  %usual = and i1 %above, %below
  %fast = and i1 %small, %usual
  br i1 %fast, label %quick, label %library
quick:
  %whole = call {t} @llvm.trunc.{x}({t} %q)
  %minus = fneg {t} %whole
  %r = call {t} @llvm.fma.{x}({t} %minus, {t} %b, {t} %a)
  %back = call {t} @llvm.copysign.{x}({t} %b.abs, {t} %a)
  %r.back = fadd {t} %r, %back
  %r.signed = call {t} @llvm.copysign.{x}({t} %r, {t} %a)
  %over = fcmp une {t} %r, %r.signed
  %exact = select i1 %over, {t} %r.back, {t} %r.signed
  ret {t} %exact
library:
  %value = call {t} {slow}({t} %a, {t} %b)
  ret {t} %value
}}
""")  # fmt: skip
    return name


def float_mod(module: ModuleText, type: ScalarType, fma: bool) -> str:
    """Declares and names CPython's float `%`: the divisor's sign, zeros with the divisor's sign."""
    t, x = LLVM_TYPES[type], type.name
    fmod = float_fmod(module, type, fma)
    _declare(module, type, "copysign")
    zero = constant(0.0, type)
    return _pair(module, f"@tack.mod.{x}", t, f"""\
  %r = call {t} {fmod}({t} %a, {t} %b)
  %rest = fcmp une {t} %r, {zero}
  %b.below = fcmp olt {t} %b, {zero}
  %r.below = fcmp olt {t} %r, {zero}
  %opposite = xor i1 %b.below, %r.below
  %r.up = fadd {t} %r, %b
  %r.floored = select i1 %opposite, {t} %r.up, {t} %r
  %none = call {t} @llvm.copysign.{x}({t} {zero}, {t} %b)
  %value = select i1 %rest, {t} %r.floored, {t} %none""")  # fmt: skip


def float_floordiv(module: ModuleText, type: ScalarType, fma: bool) -> str:
    """Declares and names CPython's float `//`; a zero divisor gives NumPy's a / b."""
    t, x = LLVM_TYPES[type], type.name
    fmod = float_fmod(module, type, fma)
    _declare(module, type, "copysign", "floor")
    zero, one, half = (constant(v, type) for v in (0.0, 1.0, 0.5))
    return _pair(module, f"@tack.floordiv.{x}", t, f"""\
  %ratio = fdiv {t} %a, %b
  %r = call {t} {fmod}({t} %a, {t} %b)
  %less = fsub {t} %a, %r
  %q = fdiv {t} %less, %b
  %rest = fcmp une {t} %r, {zero}
  %b.below = fcmp olt {t} %b, {zero}
  %r.below = fcmp olt {t} %r, {zero}
  %opposite = xor i1 %b.below, %r.below
  %down = and i1 %rest, %opposite
  %q.less = fsub {t} %q, {one}
  %q.down = select i1 %down, {t} %q.less, {t} %q
  %floor = call {t} @llvm.floor.{x}({t} %q.down)
  %gap = fsub {t} %q.down, %floor
  %short = fcmp ogt {t} %gap, {half}
  %floor.up = fadd {t} %floor, {one}
  %snapped = select i1 %short, {t} %floor.up, {t} %floor
  %some = fcmp une {t} %q.down, {zero}
  %none = call {t} @llvm.copysign.{x}({t} {zero}, {t} %ratio)
  %whole = select i1 %some, {t} %snapped, {t} %none
  %byzero = fcmp oeq {t} %b, {zero}
  %value = select i1 %byzero, {t} %ratio, {t} %whole""")  # fmt: skip
