"""Writes integer and logical instructions, moves, and conversions of addresses. Results are the PTX manual's, to the bit."""

from __future__ import annotations

from tack_sim.ptx_model import BITS, Float, Instruction, Int, Not, Sink, Vector
from tack_sim.ptx_writer import CARRY, SHARED_WINDOW, Writer, instruction, llvm

__all__: list[str] = []

_INTEGERS = "u16 s16 u32 s32 u64 s64"
_WIDE = "u16 s16 u32 s32 u64 s64 u16x2 s16x2"
_BITS = "b16 b32 b64 pred"


def add_or_subtract(w: Writer, i: Instruction) -> None:
    """Integer forms of add and sub, with saturation or carry out."""
    t = i.types[0]
    a, b = (w.get(x, t) for x in i.operands[1:3])
    name, kind = i.name, llvm(t)
    if t.endswith("x2"):
        a, b = (w.op(f"bitcast i32 {x} to <2 x i16>") for x in (a, b))
        w.set(i.operands[0], "b32", w.op(f"bitcast <2 x i16> {w.op(f'{name} <2 x i16> {a}, {b}')} to i32"))
    elif "sat" in i.words:
        if t != "s32":
            raise w.error("saturation of this type")
        w.set(i.operands[0], t, w.op(f"call i32 @llvm.s{name}.sat.i32(i32 {a}, i32 {b})"))
    elif "cc" in i.words:
        _carrying(w, i, a, b, None)
    else:
        w.set(i.operands[0], t, w.op(f"{name} {kind} {a}, {b}"))


def _carrying(w: Writer, i: Instruction, a: str, b: str, carry: str | None) -> None:
    """a + b + carry, and the carry out if `.cc` asks for it.

    Subtraction is a + ~b + carry, as in the hardware: the flag is 0 after a borrow. NVIDIA's own code adds after subtractions.
    """
    t = i.types[0]
    kind, bits = llvm(t), BITS[t]
    if i.name.startswith("sub"):
        b, carry = w.op(f"xor {kind} {b}, -1"), carry or "true"
    twice = f"i{2 * bits}"
    wide_a, wide_b = (w.op(f"zext {kind} {x} to {twice}") for x in (a, b))
    total = w.op(f"add {twice} {wide_a}, {wide_b}")
    if carry is not None:
        total = w.op(f"add {twice} {total}, {w.op(f'zext i1 {carry} to {twice}')}")
    w.set(i.operands[0], t, w.op(f"trunc {twice} {total} to {kind}"))
    if "cc" in i.words:
        over = w.op(f"lshr {twice} {total}, {bits}")
        w.set(CARRY, "pred", w.op(f"trunc {twice} {over} to i1"))


@instruction("addc", "subc", words="cc", types="u32 s32 u64 s64", operands=[3])
def _with_carry(w: Writer, i: Instruction) -> None:
    a, b = (w.get(x, i.types[0]) for x in i.operands[1:])
    _carrying(w, i, a, b, w.get(CARRY, "pred"))


def _product(w: Writer, i: Instruction, t: str, part: str) -> str:
    """Low half, high half or all of a product."""
    a, b = (w.get(x, t) for x in i.operands[1:3])
    kind, bits = llvm(t), BITS[t]
    if part == "lo":
        return w.op(f"mul {kind} {a}, {b}")
    twice, extend = f"i{2 * bits}", "sext" if t[0] == "s" else "zext"
    a, b = (w.op(f"{extend} {kind} {x} to {twice}") for x in (a, b))
    whole = w.op(f"mul {twice} {a}, {b}")
    if part == "wide":
        return whole
    return w.op(f"trunc {twice} {w.op(f'lshr {twice} {whole}, {bits}')} to {kind}")


def _part(w: Writer, i: Instruction) -> str:
    found = [word for word in i.words if word in ("lo", "hi", "wide")]
    if len(found) != 1 or (found == ["wide"] and BITS[i.types[0]] == 64):
        raise w.error("product not understood")
    return found[0]


def multiply(w: Writer, i: Instruction) -> None:
    """Integer forms of mul."""
    t, part = i.types[0], _part(w, i)
    w.set(i.operands[0], _wider(t) if part == "wide" else t, _product(w, i, t, part))


def _wider(t: str) -> str:
    return f"{t[0]}{2 * BITS[t]}"


def multiply_add(w: Writer, i: Instruction) -> None:
    """Integer forms of mad and madc."""
    t, part = i.types[0], _part(w, i)
    result = _wider(t) if part == "wide" else t
    product = _product(w, i, t, part)
    c = w.get(i.operands[3], result)
    if "cc" in i.words or i.name == "madc":
        if part == "wide":
            raise w.error("carry of a wide product")
        _carrying(w, i, product, c, w.get(CARRY, "pred") if i.name == "madc" else None)
    elif "sat" in i.words:
        if (t, part) != ("s32", "hi"):
            raise w.error("saturation of this type")
        w.set(i.operands[0], t, w.op(f"call i32 @llvm.sadd.sat.i32(i32 {product}, i32 {c})"))
    else:
        w.set(i.operands[0], result, w.op(f"add {llvm(result)} {product}, {c}"))


@instruction("madc", words="lo hi cc", types="u32 s32 u64 s64", operands=[4])
def _madc(w: Writer, i: Instruction) -> None:
    multiply_add(w, i)


@instruction("mul24", "mad24", words="lo hi", types="u32 s32", operands=[3, 4])
def _of_24_bits(w: Writer, i: Instruction) -> None:
    t, part = i.types[0], _part(w, i)
    shift = "ashr" if t == "s32" else "lshr"
    values = [w.op(f"{shift} i32 {w.op(f'shl i32 {w.get(x, t)}, 8')}, 8") for x in i.operands[1:3]]
    extend = "sext" if t == "s32" else "zext"
    a, b = (w.op(f"{extend} i32 {x} to i64") for x in values)
    whole = w.op(f"mul i64 {a}, {b}")
    if part == "hi":
        whole = w.op(f"lshr i64 {whole}, 16")
    value = w.op(f"trunc i64 {whole} to i32")
    if i.name == "mad24":
        value = w.op(f"add i32 {value}, {w.get(i.operands[3], t)}")
    w.set(i.operands[0], t, value)


def divide(w: Writer, i: Instruction) -> None:
    """Integer forms of div, and rem."""
    t = i.types[0]
    a, b = (w.get(x, t) for x in i.operands[1:])
    kind = llvm(t)
    w.set(i.operands[0], t, w.call(kind, f"{t[0]}{i.name}.{BITS[t]}", f"{kind} {a}", f"{kind} {b}"))


@instruction("rem", types=_INTEGERS, operands=[3])
def _rem(w: Writer, i: Instruction) -> None:
    divide(w, i)


def absolute_or_negated(w: Writer, i: Instruction) -> None:
    """Integer forms of abs and neg; both wrap."""
    t = i.types[0]
    a, kind = w.get(i.operands[1], t), llvm(t)
    if i.name == "neg":
        w.set(i.operands[0], t, w.op(f"sub {kind} 0, {a}"))
    else:
        w.set(i.operands[0], t, w.op(f"call {kind} @llvm.abs.{kind}({kind} {a}, i1 false)"))


def least_or_greatest(w: Writer, i: Instruction) -> None:
    """Integer forms of min and max."""
    t = i.types[0]
    value, kind = w.get(i.operands[1], t), llvm(t)
    for x in i.operands[2:]:
        other = w.get(x, t)
        if t.endswith("x2"):
            value, other = (w.op(f"bitcast i32 {v} to <2 x i16>") for v in (value, other))
            both = w.op(f"call <2 x i16> @llvm.{t[0]}{i.name}.v2i16(<2 x i16> {value}, <2 x i16> {other})")
            value = w.op(f"bitcast <2 x i16> {both} to i32")
        else:
            value = w.op(f"call {kind} @llvm.{t[0]}{i.name}.{kind}({kind} {value}, {kind} {other})")
    w.set(i.operands[0], "b32" if t.endswith("x2") else t, value)


@instruction("sad", types=_INTEGERS, operands=[4])
def _sad(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    a, b, c = (w.get(x, t) for x in i.operands[1:])
    kind = llvm(t)
    more = w.op(f"icmp {t[0]}gt {kind} {a}, {b}")
    up, down = w.op(f"sub {kind} {a}, {b}"), w.op(f"sub {kind} {b}, {a}")
    w.set(i.operands[0], t, w.op(f"add {kind} {c}, {w.op(f'select i1 {more}, {kind} {up}, {kind} {down}')}"))


@instruction("and", "or", "xor", types=_BITS, operands=[3])
def _logic(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    a, b = (truth(w, x) if t == "pred" else w.get(x, t) for x in i.operands[1:])
    w.set(i.operands[0], t, w.op(f"{i.name} {llvm(t)} {a}, {b}"))


def truth(w: Writer, x: object) -> str:
    """A predicate operand, negated or not."""
    if isinstance(x, Not):
        return w.op(f"xor i1 {w.get(x.reg, 'pred')}, true")
    return w.get(x, "pred")  # type: ignore[arg-type]


@instruction("not", types=_BITS, operands=[2])
def _not(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    w.set(i.operands[0], t, w.op(f"xor {llvm(t)} {w.get(i.operands[1], t)}, {'true' if t == 'pred' else '-1'}"))


@instruction("cnot", types="b16 b32 b64", operands=[2])
def _cnot(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    zero = w.op(f"icmp eq {llvm(t)} {w.get(i.operands[1], t)}, 0")
    w.set(i.operands[0], t, w.op(f"zext i1 {zero} to {llvm(t)}"))


@instruction("lop3", types="b32", operands=[5])
def _lop3(w: Writer, i: Instruction) -> None:
    table = i.operands[4]
    if not isinstance(table, Int) or not 0 <= table.value < 256:
        raise w.error("truth table")
    plain = [w.get(x, "b32") for x in i.operands[1:4]]
    flipped = [w.op(f"xor i32 {x}, -1") for x in plain]
    result = "0"
    for row in range(8):
        if table.value >> row & 1:
            a, b, c = ((plain if row >> (2 - k) & 1 else flipped)[k] for k in range(3))
            two = w.op(f"and i32 {a}, {b}")
            result = w.op(f"or i32 {result}, {w.op(f'and i32 {two}, {c}')}")
    w.set(i.operands[0], "b32", result)


@instruction("shl", "shr", types="b16 b32 b64 u16 u32 u64 s16 s32 s64", operands=[3])
def _shift(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    bits, kind = BITS[t], llvm(t)
    if i.name == "shl" and t[0] != "b":
        raise w.error("type of a left shift")
    value, amount = w.get(i.operands[1], t), i.operands[2]
    op = "shl" if i.name == "shl" else "ashr" if t[0] == "s" else "lshr"
    if isinstance(amount, Int):
        n = amount.value % (1 << 32)
        if n < bits:
            result = w.op(f"{op} {kind} {value}, {n}")
        else:
            result = w.op(f"ashr {kind} {value}, {bits - 1}") if op == "ashr" else "0"
        w.set(i.operands[0], t, result)
        return
    n = w.get(amount, "u32")
    kept = w.op(f"call i32 @llvm.umin.i32(i32 {n}, i32 {bits - 1})")
    sized = kept if bits == 32 else w.op(f"{'zext' if bits > 32 else 'trunc'} i32 {kept} to {kind}")
    result = w.op(f"{op} {kind} {value}, {sized}")
    if op != "ashr":
        over = w.op(f"icmp ugt i32 {n}, {bits - 1}")
        result = w.op(f"select i1 {over}, {kind} 0, {kind} {result}")
    w.set(i.operands[0], t, result)


@instruction("shf", words="l r wrap clamp", types="b32", operands=[4])
def _funnel(w: Writer, i: Instruction) -> None:
    a, b, c = (w.get(x, "b32") for x in i.operands[1:])
    n = w.op(f"and i32 {c}, 31") if "wrap" in i.words else w.op(f"call i32 @llvm.umin.i32(i32 {c}, i32 32)")
    low, high = (w.op(f"zext i32 {x} to i64") for x in (a, b))
    both = w.op(f"or i64 {w.op(f'shl i64 {high}, 32')}, {low}")
    wide = w.op(f"zext i32 {n} to i64")
    if "l" in i.words:
        result = w.op(f"lshr i64 {w.op(f'shl i64 {both}, {wide}')}, 32")
    else:
        result = w.op(f"lshr i64 {both}, {wide}")
    w.set(i.operands[0], "b32", w.op(f"trunc i64 {result} to i32"))


@instruction("bfe", types="u32 s32 u64 s64", operands=[4])
def _bfe(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    a, b, c = w.get(i.operands[1], t), w.get(i.operands[2], "u32"), w.get(i.operands[3], "u32")
    w.set(i.operands[0], t, w.call(llvm(t), f"bfe.{t}", f"{llvm(t)} {a}", f"i32 {b}", f"i32 {c}"))


@instruction("bfi", types="b32 b64", operands=[5])
def _bfi(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    a, b = (w.get(x, t) for x in i.operands[1:3])
    c, d = (w.get(x, "u32") for x in i.operands[3:])
    kind = llvm(t)
    w.set(i.operands[0], t, w.call(kind, f"bfi.{t}", f"{kind} {a}", f"{kind} {b}", f"i32 {c}", f"i32 {d}"))


@instruction("bfind", words="shiftamt", types="u32 s32 u64 s64", operands=[2])
def _bfind(w: Writer, i: Instruction) -> None:
    t = i.types[0]
    a, kind, bits = w.get(i.operands[1], t), llvm(t), BITS[t]
    if t[0] == "s":
        a = w.op(f"xor {kind} {a}, {w.op(f'ashr {kind} {a}, {bits - 1}')}")
    zeros = w.op(f"call {kind} @llvm.ctlz.{kind}({kind} {a}, i1 false)")
    zeros = zeros if bits == 32 else w.op(f"trunc i64 {zeros} to i32")
    if "shiftamt" in i.words:
        none = w.op(f"icmp eq {kind} {a}, 0")
        w.set(i.operands[0], "u32", w.op(f"select i1 {none}, i32 -1, i32 {zeros}"))
    else:
        w.set(i.operands[0], "u32", w.op(f"sub i32 {bits - 1}, {zeros}"))


@instruction("clz", "popc", types="b32 b64", operands=[2])
def _count(w: Writer, i: Instruction) -> None:
    kind = llvm(i.types[0])
    a = w.get(i.operands[1], i.types[0])
    if i.name == "clz":
        found = w.op(f"call {kind} @llvm.ctlz.{kind}({kind} {a}, i1 false)")
    else:
        found = w.op(f"call {kind} @llvm.ctpop.{kind}({kind} {a})")
    w.set(i.operands[0], "u32", found if kind == "i32" else w.op(f"trunc i64 {found} to i32"))


@instruction("brev", types="b32 b64", operands=[2])
def _brev(w: Writer, i: Instruction) -> None:
    kind = llvm(i.types[0])
    w.set(i.operands[0], i.types[0], w.op(f"call {kind} @llvm.bitreverse.{kind}({kind} {w.get(i.operands[1], i.types[0])})"))


@instruction("prmt", types="b32", operands=[4])
def _prmt(w: Writer, i: Instruction) -> None:
    a, b, c = (w.get(x, "b32") for x in i.operands[1:])
    w.set(i.operands[0], "b32", w.call("i32", "prmt", f"i32 {a}", f"i32 {b}", f"i32 {c}"))


@instruction("dp2a", "dp4a", words="lo hi", types="u32 s32", operands=[4])
def _dot(w: Writer, i: Instruction) -> None:
    """Bytes of `b` times bytes of `a`, or times its halves: then `b` gives its lower or its upper two."""
    if len(i.types) != 2 or len(i.words) != (i.name == "dp2a"):
        raise w.error("modifiers")
    total = w.get(i.operands[3], "b32")
    a, b = (w.get(x, "b32") for x in i.operands[1:3])
    width, first = (16, 2 if "hi" in i.words else 0) if i.name == "dp2a" else (8, 0)
    for k in range(32 // width):
        parts: list[str] = []
        for x, t, bits, at in ((a, i.types[0], width, width * k), (b, i.types[1], 8, 8 * (k + first))):
            up = w.op(f"shl i32 {x}, {32 - bits - at}")
            parts.append(w.op(f"{'ashr' if t == 's32' else 'lshr'} i32 {up}, {32 - bits}"))
        total = w.op(f"add i32 {total}, {w.op(f'mul i32 {parts[0]}, {parts[1]}')}")
    w.set(i.operands[0], "b32", total)


@instruction("mov", types="b8 b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64 pred", operands=[2])
def _mov(w: Writer, i: Instruction) -> None:
    dest, source = i.operands
    t = i.types[0]
    if t[0] == "f" and not isinstance(source, Float):
        t = f"b{BITS[t]}"  # bits as they are, also those of NaNs
    if isinstance(source, Vector):
        part = f"b{BITS[t] // len(source.items)}"
        whole = "0"
        for k, item in enumerate(source.items):
            wide = w.op(f"zext {llvm(part)} {w.get(item, part)} to {llvm(t)}")
            shifted = w.op(f"shl {llvm(t)} {wide}, {k * BITS[part]}") if k else wide
            whole = w.op(f"or {llvm(t)} {whole}, {shifted}") if k else shifted
        w.set(dest, t, whole)
    elif isinstance(dest, Vector):
        part = f"b{BITS[t] // len(dest.items)}"
        whole = w.get(source, t)
        for k, item in enumerate(dest.items):
            if not isinstance(item, Sink):
                shifted = w.op(f"lshr {llvm(t)} {whole}, {k * BITS[part]}") if k else whole
                w.set(item, part, w.op(f"trunc {llvm(t)} {shifted} to {llvm(part)}"))
    else:
        w.set(dest, t, truth(w, source) if t == "pred" else w.get(source, t))


@instruction("cvta", words="to global shared local const param", types="u32 u64", operands=[2])
def _cvta(w: Writer, i: Instruction) -> None:
    if i.types != ("u64",):
        raise w.error("only 64-bit addresses are simulated")
    address = w.get(i.operands[1], "u64")
    if "shared" in i.words:
        address = w.op(f"{'sub' if 'to' in i.words else 'add'} i64 {address}, {SHARED_WINDOW}")
    w.set(i.operands[0], "u64", address)


@instruction("isspacep", words="shared", operands=[2])
def _isspacep(w: Writer, i: Instruction) -> None:
    offset = w.op(f"sub i64 {w.get(i.operands[1], 'u64')}, {SHARED_WINDOW}")
    w.set(i.operands[0], "pred", w.op(f"icmp ult i64 {offset}, {1 << 32}"))
