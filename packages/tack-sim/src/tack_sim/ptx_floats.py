"""Writes floating-point instructions, and those that have integer and floating-point forms.

IEEE operations are exact to the bit in every rounding mode; nothing is contracted or reordered. Approximate ones are close.
"""

from __future__ import annotations

from tack_sim.ptx_integers import absolute_or_negated, add_or_subtract, divide, least_or_greatest, multiply, multiply_add
from tack_sim.ptx_model import Instruction
from tack_sim.ptx_writer import Writer, instruction, llvm

__all__ = ["MODES", "flushed", "round_mode"]

MODES = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}  # as in lanes.cpp
_OPERATIONS = {"add": 0, "sub": 1, "mul": 2, "fma": 3, "div": 4, "sqrt": 5}  # as in lanes.cpp
_ARITHMETIC = "u16 s16 u32 s32 u64 s64 f32 f64"
_PAIRS = "u16x2 s16x2"
_ROUNDING = "rn rz rm rp"
_NAN = {"f32": "bitcast (i32 2147483647 to float)", "f64": "bitcast (i64 9223372036854775807 to double)"}


def round_mode(i: Instruction) -> int:
    """The rounding mode of an instruction, as lanes.cpp counts them; to nearest if it names none."""
    return next((MODES[word] for word in i.words if word in MODES), 0)


def flushed(w: Writer, i: Instruction, value: str) -> str:
    """The f32 value, subnormals made zeros of their sign if the instruction is `.ftz`."""
    return w.call("float", "flush", f"float {value}") if "ftz" in i.words else value


def _operands(w: Writer, i: Instruction) -> list[str]:
    t = i.types[0]
    return [flushed(w, i, w.get(x, t)) if t == "f32" else w.get(x, t) for x in i.operands[1:]]


def _result(w: Writer, i: Instruction, value: str) -> None:
    """Flushes, saturates and stores the result of arithmetic."""
    t = i.types[0]
    if "ftz" in i.words:
        value = flushed(w, i, value)
    if "sat" in i.words:
        value = w.call(llvm(t), f"saturate.{t}", f"{llvm(t)} {value}")
    w.set(i.operands[0], t, value, raw=True)


def _check_words(w: Writer, i: Instruction, allowed: str) -> None:
    """Integer and floating-point forms share a row of the table; each has modifiers of its own."""
    wrong = set(i.words) - set(allowed.split())
    if wrong or len(i.types) != 1 or (i.types[0] == "f64" and set(i.words) & {"ftz", "sat"}):
        raise w.error("modifiers of this type")


def _rounded(w: Writer, i: Instruction, name: str, values: list[str]) -> str:
    """One correctly rounded operation."""
    t = i.types[0]
    kind, mode = llvm(t), round_mode(i)
    if mode:
        three = [f"{kind} {x}" for x in (*values, "0.0", "0.0")[:3]]
        return w.call(kind, f"sim_round_{t}", f"i32 {_OPERATIONS[name]}", f"i32 {mode}", *three)
    if name in ("fma", "sqrt"):
        listed = ", ".join(f"{kind} {x}" for x in values)
        return w.op(f"call {kind} @llvm.{name}.{t}({listed})")
    return w.op(f"f{name} {kind} {values[0]}, {values[1]}")


@instruction("add", "sub", words=f"{_ROUNDING} ftz sat cc", types=f"{_ARITHMETIC} {_PAIRS}", operands=[3])
def _add(w: Writer, i: Instruction) -> None:
    if i.types[0][0] != "f":
        _check_words(w, i, "sat cc")
        add_or_subtract(w, i)
    else:
        _check_words(w, i, f"{_ROUNDING} ftz sat")
        _result(w, i, _rounded(w, i, i.name, _operands(w, i)))


@instruction("mul", words=f"{_ROUNDING} ftz sat lo hi wide", types=_ARITHMETIC, operands=[3])
def _mul(w: Writer, i: Instruction) -> None:
    if i.types[0][0] != "f":
        _check_words(w, i, "lo hi wide")
        multiply(w, i)
    else:
        _check_words(w, i, f"{_ROUNDING} ftz sat")
        _result(w, i, _rounded(w, i, "mul", _operands(w, i)))


@instruction("mad", "fma", words=f"{_ROUNDING} ftz sat cc lo hi wide", types=_ARITHMETIC, operands=[4])
def _mad(w: Writer, i: Instruction) -> None:
    if i.types[0][0] != "f":
        _check_words(w, i, "sat cc lo hi wide")
        if i.name == "fma":
            raise w.error("instruction is not known to the simulator")
        multiply_add(w, i)
    else:
        _check_words(w, i, f"{_ROUNDING} ftz sat")
        _result(w, i, _rounded(w, i, "fma", _operands(w, i)))


@instruction("div", words=f"{_ROUNDING} ftz approx full", types=_ARITHMETIC, operands=[3])
def _div(w: Writer, i: Instruction) -> None:
    if i.types[0][0] != "f":
        _check_words(w, i, "")
        divide(w, i)
        return
    _check_words(w, i, f"{_ROUNDING} ftz approx full")
    a, b = _operands(w, i)
    value = _rounded(w, i, "div", [a, b])
    if "approx" in i.words:
        # The manual: a divisor between 2**126 and 2**128 gives 0, or NaN if the dividend is infinite.
        size = w.op(f"call float @llvm.fabs.f32(float {b})")
        large = w.op(f"fcmp ogt float {size}, bitcast (i32 {253 << 23} to float)")
        huge = w.op(f"and i1 {large}, {w.op(f'fcmp olt float {size}, bitcast (i32 {255 << 23} to float)')}")
        zero = w.op(f"call float @llvm.copysign.f32(float 0.0, float {value})")
        infinite = w.op(f"fcmp oeq float {w.op(f'call float @llvm.fabs.f32(float {a})')}, bitcast (i32 {255 << 23} to float)")
        other = w.op(f"select i1 {infinite}, float {_NAN['f32']}, float {zero}")
        number = w.op(f"fcmp ord float {a}, {b}")
        value = w.op(f"select i1 {w.op(f'and i1 {huge}, {number}')}, float {other}, float {value}")
    _result(w, i, value)


@instruction("sqrt", words=f"{_ROUNDING} ftz approx", types="f32 f64", operands=[2])
def _sqrt(w: Writer, i: Instruction) -> None:
    _check_words(w, i, f"{_ROUNDING} ftz approx")
    _result(w, i, _rounded(w, i, "sqrt", _operands(w, i)))


@instruction("rcp", words=f"{_ROUNDING} ftz approx", types="f32 f64", operands=[2])
def _rcp(w: Writer, i: Instruction) -> None:
    (t,) = i.types
    if t == "f64" and "approx" in i.words:
        if "ftz" not in i.words:
            raise w.error("modifiers of this type")
        value = w.op(f"fdiv double 1.0, {_high_word(w, w.get(i.operands[1], 'f64'))}")
        w.set(i.operands[0], "f64", _high_word(w, value, nearest=True))
        return
    _check_words(w, i, f"{_ROUNDING} ftz approx")
    _result(w, i, _rounded(w, i, "div", ["1.0", *_operands(w, i)]))


def _high_word(w: Writer, value: str, *, nearest: bool = False) -> str:
    """The gross approximations of double precision read and give the upper 32 bits alone; subnormals are zeros there."""
    bits = w.op(f"bitcast double {value} to i64")
    bits = w.op(f"add i64 {bits}, {1 << 31}") if nearest else bits
    bits = w.op(f"and i64 {bits}, {-1 << 32}")
    subnormal = w.op(f"icmp eq i64 {w.op(f'and i64 {bits}, {2047 << 52}')}, 0")
    zero = w.op(f"and i64 {bits}, {-(1 << 63)}")
    return w.op(f"bitcast i64 {w.op(f'select i1 {subnormal}, i64 {zero}, i64 {bits}')} to double")


@instruction("rsqrt", words="ftz approx", types="f32 f64", operands=[2])
def _rsqrt(w: Writer, i: Instruction) -> None:
    if i.types == ("f64",):  # without .ftz it is a whole function, with it a gross approximation
        value = w.get(i.operands[1], "f64")
        gross = "ftz" in i.words
        root = w.op(f"call double @llvm.sqrt.f64(double {_high_word(w, value) if gross else value})")
        value = w.op(f"fdiv double 1.0, {root}")
        w.set(i.operands[0], "f64", _high_word(w, value, nearest=True) if gross else value)
        return
    (x,) = _operands(w, i)
    _result(w, i, w.call("float", "sim_rsqrt", f"float {x}"))


@instruction("sin", "cos", "ex2", "lg2", "tanh", words="ftz approx", types="f32", operands=[2])
def _approximate(w: Writer, i: Instruction) -> None:
    if "approx" not in i.words:
        raise w.error("modifiers")
    (x,) = _operands(w, i)
    _result(w, i, w.call("float", f"sim_{i.name}", f"float {x}"))


@instruction("abs", "neg", words="ftz", types="s16 s32 s64 f32 f64", operands=[2])
def _sign(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    if t[0] != "f":
        absolute_or_negated(w, i)
        return
    value = flushed(w, i, w.get(i.operands[1], t))
    if i.name == "neg":
        w.set(i.operands[0], t, w.op(f"fneg {llvm(t)} {value}"))
    else:
        w.set(i.operands[0], t, w.op(f"call {llvm(t)} @llvm.fabs.{t}({llvm(t)} {value})"))


@instruction("min", "max", words="ftz NaN", types=f"{_ARITHMETIC} {_PAIRS}", operands=[3, 4])
def _extreme(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    if t[0] != "f":
        _check_words(w, i, "")
        least_or_greatest(w, i)
        return
    _check_words(w, i, "ftz NaN" if t == "f32" else "")
    values = _operands(w, i)
    kind, value = llvm(t), values[0]
    for other in values[1:]:
        value = w.call(kind, f"{i.name}.{t}", f"{kind} {value}", f"{kind} {other}")
    if "NaN" in i.words:
        for x in values:
            bad = w.op(f"fcmp uno {kind} {x}, {x}")
            value = w.op(f"select i1 {bad}, {kind} {_NAN[t]}, {kind} {value}")
    w.set(i.operands[0], t, value, raw=True)


@instruction("copysign", types="f32 f64", operands=[3])
def _copysign(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    sign, size = (w.get(x, t) for x in i.operands[1:])
    w.set(i.operands[0], t, w.op(f"call {llvm(t)} @llvm.copysign.{t}({llvm(t)} {size}, {llvm(t)} {sign})"))


# Classes of llvm.is.fpclass: 1 and 2 NaNs, 4 and 512 infinities, 8 and 256 normals, 16 and 128 subnormals, 32 and 64 zeros.
_CLASSES = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 264, "subnormal": 144}


@instruction("testp", words=" ".join(_CLASSES), types="f32 f64", operands=[2])
def _testp(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    (word,) = i.words
    value = w.get(i.operands[1], t)
    w.set(i.operands[0], "pred", w.op(f"call i1 @llvm.is.fpclass.{t}({llvm(t)} {value}, i32 {_CLASSES[word]})"))
