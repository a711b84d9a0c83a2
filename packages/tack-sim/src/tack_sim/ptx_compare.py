"""Writes comparisons, selections and conversions between types."""

from __future__ import annotations

from tack_sim.ptx_floats import MODES, flushed, round_mode
from tack_sim.ptx_integers import truth
from tack_sim.ptx_model import BITS, Instruction, Pair
from tack_sim.ptx_writer import Writer, instruction, llvm

__all__: list[str] = []

_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {
    "eq": "eq",
    "ne": "ne",
    "lt": "ult",
    "le": "ule",
    "gt": "ugt",
    "ge": "uge",
    "lo": "ult",
    "ls": "ule",
    "hi": "ugt",
    "hs": "uge",
}
_EQUAL = {"eq": "eq", "ne": "ne"}
_COMPARISONS = " ".join({**_ORDERED, **_UNORDERED, **_UNSIGNED})
_COMPARED = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"


def _compared(w: Writer, i: Instruction, t: str) -> str:
    """The comparison of the two operands, combined with a third predicate if the instruction has one."""
    names = {"f": _ORDERED | _UNORDERED, "s": _SIGNED, "u": _UNSIGNED, "b": _EQUAL}[t[0]]
    word = i.words[0]
    if word not in names or ("ftz" in i.words and t != "f32"):
        raise w.error("comparison of this type")
    a, b = (flushed(w, i, w.get(x, t)) if t == "f32" else w.get(x, t) for x in i.operands[1:3])
    return w.op(f"{'fcmp' if t[0] == 'f' else 'icmp'} {names[word]} {llvm(t)} {a}, {b}")


@instruction("setp", "set", words=f"{_COMPARISONS} and or xor ftz", types=_COMPARED, operands=[3, 4])
def _setp(w: Writer, i: Instruction) -> None:
    if len(i.types) != (2 if i.name == "set" else 1):
        raise w.error("types")
    found = _compared(w, i, i.types[-1])
    joins = [word for word in i.words if word in ("and", "or", "xor")]
    if len(joins) != len(i.operands) - 3:
        raise w.error("wrong number of operands")
    dest = i.operands[0]
    opposite = w.op(f"xor i1 {found}, true") if isinstance(dest, Pair) else found
    if joins:
        third = truth(w, i.operands[3])
        found, opposite = (w.op(f"{joins[0]} i1 {x}, {third}") for x in (found, opposite))
    if i.name == "set":
        t = i.types[0]
        if t not in ("u32", "s32", "f32"):
            raise w.error("types")
        values = ("1.0", "0.0") if t == "f32" else ("-1", "0")
        w.set(dest, t, w.op(f"select i1 {found}, {llvm(t)} {values[0]}, {llvm(t)} {values[1]}"))
    elif isinstance(dest, Pair):
        w.set(dest.first, "pred", found)
        w.set(dest.second, "pred", opposite)
    else:
        w.set(dest, "pred", found)


def _chosen(w: Writer, i: Instruction, condition: str, t: str) -> None:
    """One of two operands, bits as they are."""
    t = f"b{BITS[t]}"
    a, b = (w.get(x, t) for x in i.operands[1:3])
    w.set(i.operands[0], t, w.op(f"select i1 {condition}, {llvm(t)} {a}, {llvm(t)} {b}"))


@instruction("selp", types=_COMPARED, operands=[4])
def _selp(w: Writer, i: Instruction) -> None:
    _chosen(w, i, truth(w, i.operands[3]), i.types[0])


@instruction("slct", words="ftz", types=_COMPARED, operands=[4])
def _slct(w: Writer, i: Instruction) -> None:
    if len(i.types) != 2 or i.types[1] not in ("s32", "f32"):
        raise w.error("types")
    c = w.get(i.operands[3], i.types[1])
    if i.types[1] == "s32":
        condition = w.op(f"icmp sge i32 {c}, 0")
    else:
        condition = w.op(f"fcmp oge float {flushed(w, i, c)}, 0.0")
    _chosen(w, i, condition, i.types[0])


_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@instruction(
    "cvt",
    words=f"{' '.join(MODES)} {' '.join(_TO_INTEGER)} ftz sat",
    types="b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
    operands=[2],
)
def _cvt(w: Writer, i: Instruction) -> None:
    if len(i.types) != 2 or any(t[0] == "b" for t in i.types):
        raise w.error("types")
    to, source = i.types
    value = w.get(i.operands[1], source)
    if "ftz" in i.words:
        if "f32" not in i.types:
            raise w.error("modifiers of these types")
        value = flushed(w, i, value) if source == "f32" else value
    if source[0] != "f" and to[0] != "f":
        w.set(i.operands[0], to, _resized(w, i, value))
    elif source[0] != "f":
        _result(w, i, _float_of_integer(w, i, value))
    elif to[0] != "f":
        w.set(i.operands[0], to, _integer_of_float(w, i, value))
    else:
        _result(w, i, _float_of_float(w, i, value))


def _result(w: Writer, i: Instruction, value: str) -> None:
    t = i.types[0]
    if "ftz" in i.words and t == "f32":
        value = flushed(w, i, value)
    if "sat" in i.words:
        value = w.call(llvm(t), f"saturate.{t}", f"{llvm(t)} {value}")
    w.set(i.operands[0], t, value, raw=True)


def _resized(w: Writer, i: Instruction, value: str) -> str:
    to, source = i.types
    have, want = BITS[source], BITS[to]
    if set(i.words) - {"sat"}:
        raise w.error("modifiers of these types")
    if "sat" in i.words:
        return _clamped(w, value, source, to)
    if have == want:
        return value
    op = "trunc" if want < have else "sext" if source[0] == "s" else "zext"
    return w.op(f"{op} {llvm(source)} {value} to {llvm(to)}")


def _clamped(w: Writer, value: str, source: str, to: str) -> str:
    """An integer of one type clamped to the range of another."""
    wide = w.op(f"{'sext' if source[0] == 's' else 'zext'} {llvm(source)} {value} to i128")
    bits = BITS[to]
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    wide = w.op(f"call i128 @llvm.smax.i128(i128 {wide}, i128 {least})")
    return w.op(f"trunc i128 {w.op(f'call i128 @llvm.smin.i128(i128 {wide}, i128 {most})')} to {llvm(to)}")


def _float_of_integer(w: Writer, i: Instruction, value: str) -> str:
    to, source = i.types
    modes = [word for word in i.words if word in MODES]
    if len(modes) != 1 or set(i.words) & set(_TO_INTEGER):
        raise w.error("rounding")
    signed = source[0] == "s"
    if modes == ["rn"]:
        return w.op(f"{'sitofp' if signed else 'uitofp'} {llvm(source)} {value} to {llvm(to)}")
    if BITS[source] < 64:
        value = w.op(f"{'sext' if signed else 'zext'} {llvm(source)} {value} to i64")
    return w.call(llvm(to), f"sim_{to}_of_{source[0]}64", f"i32 {round_mode(i)}", f"i64 {value}")


def _integer_of_float(w: Writer, i: Instruction, value: str) -> str:
    """Rounded and clamped; for NaN what the manual's table says."""
    to, source = i.types
    modes = [word for word in i.words if word in _TO_INTEGER]
    if len(modes) != 1 or set(i.words) & set(MODES):
        raise w.error("rounding")
    kind = llvm(source)
    if modes != ["rzi"]:
        value = w.op(f"call {kind} @llvm.{_TO_INTEGER[modes[0]]}.{source}({kind} {value})")
    name = "fptosi" if to[0] == "s" else "fptoui"
    found = w.op(f"call {llvm(to)} @llvm.{name}.sat.{llvm(to)}.{source}({kind} {value})")
    bits = BITS[to]
    if source == "f64" or bits == 64:
        bad = w.op(f"fcmp uno {kind} {value}, {value}")
        found = w.op(f"select i1 {bad}, {llvm(to)} {-(1 << (bits - 1))}, {llvm(to)} {found}")
    return found


def _float_of_float(w: Writer, i: Instruction, value: str) -> str:
    to, source = i.types
    rounding = [word for word in i.words if word in MODES]
    integral = [word for word in i.words if word in _TO_INTEGER]
    if len(rounding) > (to, source).count("f64") % 2 * (to == "f32") or len(integral) > (to == source):
        raise w.error("rounding")
    if to == source:
        if integral:
            value = w.op(f"call {llvm(to)} @llvm.{_TO_INTEGER[integral[0]]}.{to}({llvm(to)} {value})")
        return value
    if to == "f64":
        return w.op(f"fpext float {value} to double")
    if len(rounding) != 1:
        raise w.error("rounding")
    if rounding == ["rn"]:
        return w.op(f"fptrunc double {value} to float")
    return w.call("float", "sim_narrow", f"i32 {round_mode(i)}", f"double {value}")
