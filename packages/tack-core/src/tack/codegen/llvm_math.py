"""Each operation and conversion of the op table, as LLVM instructions on operands that are already values.

The table's LLVM spelling is used where there is one; the rest is built here by rules T4 to T11. No fast-math flags.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from tack.codegen import llvm_helpers as helpers
from tack.codegen.llvm_text import LLVM_TYPES, FunctionText, constant, rounded
from tack.ir.nodes import IRConst, IROp
from tack.ir.ops import OPS
from tack.ir.types import BOOL, ScalarType, f32

__all__ = ["convert", "operate"]

Args = list[str]
# LLVM spellings of the table that are intrinsics; other words on rows of rule "math" are functions of the C library.
_INTRINSICS = frozenset({"fabs", "fma", "floor", "ceil", "trunc", "roundeven", "sqrt", "copysign"})


def operate(f: FunctionText, node: IROp, args: Args, fma: bool) -> str:
    """The value of a typed operation. `fma`: the target multiplies and adds with one rounding."""
    type = node.args[-1].type if node.op != "select" else node.type
    assert type is not None
    special = _SPECIAL.get(node.op)
    if special is not None:
        return special(f, node, args, type, fma)
    word = _words(node.op)[2 if type.is_float else 0 if type.signed else 1]
    t = LLVM_TYPES[type]
    if word in _INTRINSICS:
        return f.intrinsic(word, t, *args)
    if not word:
        return _invert(f, args, t) if node.op in ("invert", "not") else _negate(f, args, t)
    if OPS[node.op].rule == "math":
        return _library(f, word, type, args)
    return f.op(f"{word} {t} {', '.join(args)}")


@cache
def _words(op: str) -> tuple[str, str, str]:
    return OPS[op].llvm


def _negate(f: FunctionText, args: Args, t: str) -> str:
    return f.op(f"sub {t} 0, {args[0]}")


def _invert(f: FunctionText, args: Args, t: str) -> str:
    return f.op(f"xor {t} {args[0]}, {'true' if t == 'i1' else '-1'}")


def _library(f: FunctionText, name: str, type: ScalarType, args: Args) -> str:
    """Calls the C library's function; LLVM must not fold it, its own arithmetic gives other bits."""
    t = LLVM_TYPES[type]
    full = f"@{name}f" if type is f32 else f"@{name}"
    if not f.module.has(full):
        f.module.declare(full, f"declare {t} {full}({', '.join([t] * len(args))}) #0")
    return f.op(f"call {t} {full}({', '.join(f'{t} {a}' for a in args)})")


def _call(f: FunctionText, name: str, t: str, args: Args) -> str:
    return f.op(f"call {t} {name}({', '.join(f'{t} {a}' for a in args)})")


# -------------------------------------------------------------------------------------------- division and powers


def _literal(node: IROp, k: int) -> int | None:
    arg = node.args[k]
    return int(arg.value) if isinstance(arg, IRConst) and not isinstance(arg.value, float) else None


def _floordiv(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    if type.is_float:
        return _call(f, helpers.float_floordiv(f.module, type, fma), t, args)
    divisor = _literal(node, 1)
    if divisor is not None and divisor > 0 and not divisor & (divisor - 1):
        return f.op(f"{'ashr' if type.signed else 'lshr'} {t} {args[0]}, {divisor.bit_length() - 1}")
    return _call(f, helpers.int_floordiv(f.module, type), t, args)


def _mod(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    if type.is_float:
        return _call(f, helpers.float_mod(f.module, type, fma), t, args)
    divisor = _literal(node, 1)
    if divisor is not None and divisor > 0 and not divisor & (divisor - 1):
        return f.op(f"and {t} {args[0]}, {divisor - 1}")
    return _call(f, helpers.int_mod(f.module, type), t, args)


def _fmod(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    return _call(f, helpers.float_fmod(f.module, type, fma), LLVM_TYPES[type], args)


def _pow(f: FunctionText, node: IROp, args: Args, _: ScalarType, fma: bool) -> str:
    type, exponent = node.type, node.args[1].type
    assert type is not None and exponent is not None
    if type.is_float:
        return _library(f, "pow", type, args)
    t, literal = LLVM_TYPES[type], _literal(node, 1)
    if literal is not None and literal >= 0:
        return _chain(f, args[0], t, literal)
    name = helpers.int_pow(f.module, type, exponent.signed)
    wide = args[1]
    if exponent.bits < 64:
        wide = f.op(f"{'sext' if exponent.signed else 'zext'} {LLVM_TYPES[exponent]} {wide} to i64")
    return f.op(f"call {t} {name}({t} {args[0]}, i64 {wide})")


def _chain(f: FunctionText, base: str, t: str, exponent: int) -> str:
    power = ""
    while True:
        if exponent & 1:
            power = f.op(f"mul {t} {power}, {base}") if power else base
        exponent >>= 1
        if not exponent:
            return power or "1"
        base = f.op(f"mul {t} {base}, {base}")


def _powi(f: FunctionText, node: IROp, args: Args, _: ScalarType, fma: bool) -> str:
    """T6: the multiplications of `x*x`, `x*x*x`, `(x*x)*(x*x)`, and 1 over them."""
    type, n = node.type, _literal(node, 1)
    assert type is not None and n is not None
    t, x, one = LLVM_TYPES[type], args[0], constant(1.0, type)
    power = one if n == 0 else x
    if abs(n) >= 2:
        power = f.op(f"fmul {t} {x}, {x}")
    if abs(n) == 3:
        power = f.op(f"fmul {t} {power}, {x}")
    elif abs(n) == 4:
        power = f.op(f"fmul {t} {power}, {power}")
    return f.op(f"fdiv {t} {one}, {power}") if n < 0 else power


# ------------------------------------------------------------------------------------------- bits, choices and tests


def _shift(f: FunctionText, node: IROp, args: Args, count: ScalarType, fma: bool) -> str:
    """T4: the count modulo the width, whatever the count's own type."""
    type = node.type
    assert type is not None
    t, literal = LLVM_TYPES[type], _literal(node, 1)
    word = OPS[node.op].llvm[0 if type.signed else 1]
    if literal is not None:
        return f.op(f"{word} {t} {args[0]}, {literal % type.bits}")
    masked = f.op(f"and {LLVM_TYPES[count]} {args[1]}, {type.bits - 1}")
    if count.bits != type.bits:
        masked = f.op(f"{'trunc' if count.bits > type.bits else 'zext'} {LLVM_TYPES[count]} {masked} to {t}")
    return f.op(f"{word} {t} {args[0]}, {masked}")


def _select(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    return f.op(f"select i1 {args[0]}, {t} {args[1]}, {t} {args[2]}")


def _abs(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    if type.is_float:
        return f.intrinsic("fabs", t, *args)
    return f.intrinsic("abs", t, *args, suffix=", i1 false") if type.signed else args[0]


def _extreme(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    """T10: the number rather than NaN, -0.0 below 0.0."""
    t, least = LLVM_TYPES[type], node.op == "min"
    if type.is_int:
        return f.intrinsic(f"{'s' if type.signed else 'u'}{node.op}", t, *args)
    if type is BOOL:
        return f.op(f"{'and' if least else 'or'} i1 {args[0]}, {args[1]}")
    a, b = args
    for k, (x, c) in enumerate(((b, a), (a, b))):
        arg = node.args[k]
        if isinstance(arg, IRConst) and not math.isnan(arg.value):
            return _extreme_of_constant(f, x, c, rounded(arg.value, type), t, least)
    better = f.op(f"fcmp {'olt' if least else 'ogt'} {t} {a}, {b}")
    best = f.op(f"select i1 {better}, {t} {a}, {t} {b}")
    i = f"i{type.bits}"  # equal values have equal bits, but for the sign of zero
    bits = f.op(f"{'or' if least else 'and'} {i} {f.op(f'bitcast {t} {a} to {i}')}, {f.op(f'bitcast {t} {b} to {i}')}")
    zero = f.op(f"bitcast {i} {bits} to {t}")
    equal = f.op(f"fcmp oeq {t} {a}, {b}")
    best = f.op(f"select i1 {equal}, {t} {zero}, {t} {best}")
    nan = f.op(f"fcmp uno {t} {b}, {b}")
    return f.op(f"select i1 {nan}, {t} {a}, {t} {best}")


def _extreme_of_constant(f: FunctionText, x: str, c: str, value: float, t: str, least: bool) -> str:
    """One comparison does for a constant: `x` wins a tie only where its zero may be the better one."""
    negative = math.copysign(1.0, value) < 0
    tie = value == 0 and negative != least
    word = ("ole" if tie else "olt") if least else ("oge" if tie else "ogt")
    return f.op(f"select i1 {f.op(f'fcmp {word} {t} {x}, {c}')}, {t} {x}, {t} {c}")


def _isnan(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    return f.op(f"fcmp uno {LLVM_TYPES[type]} {args[0]}, {constant(0.0, type)}")


def _isinf(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    return f.op(f"fcmp oeq {t} {f.intrinsic('fabs', t, args[0])}, {constant(math.inf, type)}")


def _isfinite(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    t = LLVM_TYPES[type]
    return f.op(f"fcmp olt {t} {f.intrinsic('fabs', t, args[0])}, {constant(math.inf, type)}")


def _bits(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    return f.intrinsic(OPS[node.op].llvm[0], LLVM_TYPES[type], *args, suffix=", i1 false" if node.op == "clz" else "")


def _bitcast(f: FunctionText, node: IROp, args: Args, type: ScalarType, fma: bool) -> str:
    assert node.type is not None
    s, t = LLVM_TYPES[type], LLVM_TYPES[node.type]
    return args[0] if s == t else f.op(f"bitcast {s} {args[0]} to {t}")


_Special = Callable[[FunctionText, IROp, Args, ScalarType, bool], str]
_SPECIAL: dict[str, _Special] = {
    "floordiv": _floordiv, "mod": _mod, "fmod": _fmod, "pow": _pow, "powi": _powi, "shl": _shift, "shr": _shift,
    "select": _select, "abs": _abs, "min": _extreme, "max": _extreme, "isnan": _isnan, "isinf": _isinf, "isfinite": _isfinite,
    "clz": _bits, "popcount": _bits, "bitcast": _bitcast,
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------ conversions


def convert(f: FunctionText, x: str, src: ScalarType, dst: ScalarType) -> str:
    """T4, T7, T9: the value `x` of type `src` as `dst`."""
    if src is dst:
        return x
    s, t = LLVM_TYPES[src], LLVM_TYPES[dst]
    if dst is BOOL:
        return f.op(f"fcmp une {s} {x}, {constant(0.0, src)}" if src.is_float else f"icmp ne {s} {x}, 0")
    if src.is_float:
        if dst.is_float:
            return f.op(f"{'fptrunc' if dst.bits < src.bits else 'fpext'} {s} {x} to {t}")
        return _saturate(f, x, src, dst)
    if dst.is_float:
        return f.op(f"{'sitofp' if src.signed else 'uitofp'} {s} {x} to {t}")
    if src is not BOOL and src.bits == dst.bits:
        return x
    word = "zext" if src is BOOL else "trunc" if src.bits > dst.bits else "sext" if src.signed else "zext"
    return f.op(f"{word} {s} {x} to {t}")


def _saturate(f: FunctionText, x: str, src: ScalarType, dst: ScalarType) -> str:
    """T9 by clamping, so that it vectorizes (LLVM's saturating intrinsics become scalar code on x86)."""
    s, t = LLVM_TYPES[src], LLVM_TYPES[dst]
    digits = 24 if src is f32 else 53
    exact = dst.bits - dst.signed <= digits  # whether the greatest integer is a number of `src`
    top = float(dst.max) if exact else math.ldexp(1.0, dst.bits - dst.signed) * (1 - 2.0**-digits)
    low, high = constant(float(dst.min), src), constant(top, src)
    above = f.op(f"select i1 {f.op(f'fcmp ogt {s} {x}, {low}')}, {s} {x}, {s} {low}")
    inside = f.op(f"select i1 {f.op(f'fcmp olt {s} {above}, {high}')}, {s} {above}, {s} {high}")
    value = f.op(f"{'fptosi' if dst.signed else 'fptoui'} {s} {inside} to {t}")
    if not exact:
        over = f.op(f"fcmp ogt {s} {x}, {high}")
        value = f.op(f"select i1 {over}, {t} {dst.max}, {t} {value}")
    if dst.signed:  # NaN was clamped to the least value, which is 0 already if unsigned
        value = f.op(f"select i1 {f.op(f'fcmp uno {s} {x}, {x}')}, {t} 0, {t} {value}")
    return value
