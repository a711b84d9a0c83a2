"""Writes loads, stores, atomics, textures, barriers and fences. Every access goes through a check of its space."""

from __future__ import annotations

from tack_sim.ptx_model import BITS, Address, Instruction, Int, Name, Operand, Reg, Sampled, Sink, Vector
from tack_sim.ptx_writer import PARAMS, SHARED_WINDOW, Writer, instruction, llvm

__all__ = ["READ", "WRITE", "param_place"]

# Kinds of access, as in lanes.cpp. Strong ones are those that other lanes may meet without a race.
READ, WRITE, STRONG_READ, STRONG_WRITE, ATOMIC = range(5)

_SPACES = ("global", "shared", "shared::cta", "const", "local", "param", "param::entry", "param::func")
_SCOPES = "cta cluster gpu sys"
_STRENGTH = "weak volatile relaxed acquire release"
_STRONG = {"volatile", "relaxed", "acquire", "release"}
_CACHE = "nc ca cg cs lu cv wb wt L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
_PREFETCH = "L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first"
_LOADED = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_MODIFIERS = f"{' '.join(_SPACES)} {_SCOPES} {_STRENGTH} {_CACHE} {_PREFETCH} {' '.join(_VECTORS)}"


def _space(w: Writer, i: Instruction) -> str:
    found = [word.partition("::")[0] for word in i.words if word in _SPACES]
    if len(found) > 1:
        raise w.error("several spaces")
    return found[0] if found else "generic"


def place(w: Writer, address: Operand, space: str, size: int, kind: int, stored: str = "") -> str:
    """The checked pointer of an access of `size` bytes. `stored`: the i64 that a plain write stores there."""
    if not isinstance(address, Address):
        raise w.error("no address")
    if space == "param" and isinstance(address.base, Name):
        return param_place(w, address, size)
    base = address.base
    if isinstance(base, Name):
        variable = w.variable(base.name)
        if variable is not None and space == "generic":
            raise w.error("a variable's own address used as a generic one")
        if variable is not None and variable.space != space:
            raise w.error(f"a .{variable.space} variable as .{space}")
        where = w.address_of(Name(base.name, base.offset + address.offset))
    elif isinstance(base, Int):
        where = str(base.value + address.offset)
    else:
        where = w.get(base, "u32" if BITS[base.type] == 32 else "u64")
        if BITS[base.type] == 32:
            where = w.op(f"zext i32 {where} to i64")
        if address.offset:
            where = w.op(f"add i64 {where}, {address.offset}")
    lane, site, bytes_ = "ptr %lane", w.site(), f"i32 {size}"
    if space in ("global", "const"):
        return w.call("ptr", f"global.{size}", lane, f"i64 {where}", site)
    if space == "local":
        return w.call("ptr", f"local.{size}", lane, f"i64 {where}", site)
    if space == "shared":
        mode = w.call("i32", "sim_write", lane, f"i64 {where}", bytes_, f"i64 {stored}") if stored else kind
        return w.call("ptr", "sim_shared", lane, f"i64 {where}", bytes_, f"i32 {mode}", site)
    if space == "param":
        return w.call("ptr", "sim_param", lane, f"i64 {where}", bytes_, site)
    return w.call("ptr", f"generic.{size}", lane, f"i64 {where}", f"i32 {kind}", site)


def param_place(w: Writer, address: Address, size: int) -> str:
    """The pointer to a parameter of this function or to an array for a call, whose bounds are known while writing."""
    assert isinstance(address.base, Name)
    name, offset = address.base.name, address.base.offset + address.offset
    function = w.function
    arrays = {p.name: (p.size, f"%p.{k}") for k, p in enumerate((*function.results, *function.params))}
    if name in function.arrays:
        limit, base = function.arrays[name], f'%"a {name}"'
    elif name in arrays and function.entry:
        param = next(p for p in function.params if p.name == name)
        limit, base = param.size, ""
        offset_in = param.offset + offset
        pointer = w.lane_word(PARAMS, "ptr")
        if 0 <= offset and offset + size <= limit:
            return w.op(f"getelementptr i8, ptr {pointer}, i64 {offset_in}")
    elif name in arrays:
        limit, base = arrays[name]
    else:
        raise w.error(f"{name} is no parameter")
    if not (0 <= offset and offset + size <= limit):
        raise w.error(f"{name} has {limit} bytes")
    return w.op(f"getelementptr i8, ptr {base}, i64 {offset}")


def _vector(w: Writer, i: Instruction, operand: Operand) -> tuple[Operand, ...]:
    """The registers of a load or store."""
    counts = [_VECTORS[word] for word in i.words if word in _VECTORS]
    if not counts:
        if isinstance(operand, Vector):
            raise w.error("a vector of one")
        return (operand,)
    if len(counts) > 1 or not isinstance(operand, Vector) or len(operand.items) != counts[0]:
        raise w.error("vector")
    return operand.items


def _moved(i: Instruction) -> str:
    """The type in which bits are moved: floats as they are."""
    t = i.types[0]
    return f"b{BITS[t]}" if t[0] == "f" else t


def _element(w: Writer, pointer: str, k: int, width: int) -> str:
    return w.op(f"getelementptr i8, ptr {pointer}, i64 {k * width}") if k else pointer


def _sizes(w: Writer, i: Instruction, count: int) -> tuple[str, int, int]:
    """Type, bytes of an element, and bytes of the access."""
    if len(i.types) != 1:
        raise w.error("types")
    t = _moved(i)
    width = BITS[t] // 8
    if width * count > 32:
        raise w.error("vector of more than 32 bytes")
    return t, width, width * count


@instruction("ld", "ldu", words=_MODIFIERS, types=_LOADED, operands=[2])
def _ld(w: Writer, i: Instruction) -> None:
    dests, address = _vector(w, i, i.operands[0]), i.operands[1]
    t, width, size = _sizes(w, i, len(dests))
    kind = STRONG_READ if _STRONG & set(i.words) else READ
    pointer = place(w, address, _space(w, i), size, kind)
    values = [w.op(f"load {llvm(t)}, ptr {_element(w, pointer, k, width)}, align 1") for k in range(len(dests))]
    for dest, value in zip(dests, values, strict=True):
        if not isinstance(dest, Sink):
            w.set(dest, t, value)


@instruction("st", words=_MODIFIERS, types=_LOADED, operands=[2])
def _st(w: Writer, i: Instruction) -> None:
    address, sources = i.operands[0], _vector(w, i, i.operands[1])
    t, width, size = _sizes(w, i, len(sources))
    space = _space(w, i)
    if space == "const" or (space == "param" and _is_own_param(w, address)):
        raise w.error("a store to constant memory")
    kind = STRONG_WRITE if _STRONG & set(i.words) else WRITE
    values = [w.get(source, t) for source in sources]
    stored = ""
    if space == "shared" and kind == WRITE and len(values) == 1 and size <= 8:
        stored = values[0] if size == 8 else w.op(f"zext {llvm(t)} {values[0]} to i64")
    pointer = place(w, address, space, size, kind, stored)
    for k, value in enumerate(values):
        w.line(f"store {llvm(t)} {value}, ptr {_element(w, pointer, k, width)}, align 1")


def _is_own_param(w: Writer, address: Operand) -> bool:
    if not isinstance(address, Address) or not isinstance(address.base, Name):
        return True
    return address.base.name in {p.name for p in w.function.params}


_ATOMIC_OPS = "add min max and or xor exch cas inc dec"
_ATOMIC_TYPES = {
    "add": "u32 s32 u64 s64 f32 f64",
    "min": "u32 s32 u64 s64",
    "max": "u32 s32 u64 s64",
    "and": "b32 b64",
    "or": "b32 b64",
    "xor": "b32 b64",
    "exch": "b32 b64 b128",
    "cas": "b16 b32 b64 b128",
    "inc": "u32",
    "dec": "u32",
}


@instruction(
    "atom",
    "red",
    words=f"global shared shared::cta {_SCOPES} relaxed acquire release acq_rel {_ATOMIC_OPS}",
    types="u32 s32 u64 s64 f32 f64 b16 b32 b64 b128",
    operands=[2, 3, 4],
)
def _atom(w: Writer, i: Instruction) -> None:
    """One thread runs all lanes, so an atomic is a load and a store."""
    ops = [word for word in i.words if word in _ATOMIC_TYPES]
    first = 1 if i.name == "atom" else 0
    if len(ops) != 1 or len(i.types) != 1 or i.types[0] not in _ATOMIC_TYPES[ops[0]].split():
        raise w.error("atomic operation")
    op, t, space = ops[0], i.types[0], _space(w, i)
    if len(i.operands) != first + (3 if op == "cas" else 2):
        raise w.error("wrong number of operands")
    address = i.operands[first]
    values = [w.get(x, t) for x in i.operands[first + 1 :]]
    pointer = place(w, address, space, BITS[t] // 8, ATOMIC)
    kind = llvm(t)
    old = w.op(f"load {kind}, ptr {pointer}, align 1")
    new = _updated(w, op, t, old, values)
    if (op, t) == ("add", "f32"):
        new = _flushed_sum(w, address, space, old, values[0], new)
    w.line(f"store {kind} {new}, ptr {pointer}, align 1")
    if first:
        w.set(i.operands[0], t, old)


def _updated(w: Writer, op: str, t: str, old: str, values: list[str]) -> str:
    """What an atomic operation leaves in memory."""
    kind, value = llvm(t), values[0]
    if op == "exch":
        return value
    if op == "cas":
        same = w.op(f"icmp eq {kind} {old}, {value}")
        return w.op(f"select i1 {same}, {kind} {values[1]}, {kind} {old}")
    if op == "add" and t[0] == "f":
        return w.op(f"fadd {kind} {old}, {value}")
    if op in ("add", "and", "or", "xor"):
        return w.op(f"{op} {kind} {old}, {value}")
    if op in ("min", "max"):
        return w.op(f"call {kind} @llvm.{t[0]}{op}.{kind}({kind} {old}, {kind} {value})")
    if op == "inc":
        over = w.op(f"icmp uge i32 {old}, {value}")
        return w.op(f"select i1 {over}, i32 0, i32 {w.op(f'add i32 {old}, 1')}")
    out = w.op(f"or i1 {w.op(f'icmp eq i32 {old}, 0')}, {w.op(f'icmp ugt i32 {old}, {value}')}")
    return w.op(f"select i1 {out}, i32 {value}, i32 {w.op(f'sub i32 {old}, 1')}")


def _flushed_sum(w: Writer, address: Operand, space: str, old: str, value: str, total: str) -> str:
    """The f32 sum in memory: outside of shared memory the hardware takes subnormals for zeros there."""
    total = w.canonical(total)
    if space == "shared":
        return total
    a, b = (w.call("float", "flush", f"float {x}") for x in (old, value))
    flushed = w.canonical(w.call("float", "flush", f"float {w.op(f'fadd float {a}, {b}')}"))
    if space == "global":
        return flushed
    assert isinstance(address, Address) and isinstance(address.base, Reg)
    offset = w.op(f"sub i64 {w.get(address.base, 'u64')}, {SHARED_WINDOW}")
    is_shared = w.op(f"icmp ult i64 {offset}, {1 << 32}")
    return w.op(f"select i1 {is_shared}, float {total}, float {flushed}")


@instruction("membar", words="cta gl sys")
@instruction("fence", words=f"{_SCOPES} sc acq_rel acquire release")
@instruction("nanosleep", types="u32", operands=[1])
@instruction("prefetch", "prefetchu", words="global local L1 L2 L2::evict_last L2::evict_normal", operands=[1])
def _nothing(w: Writer, i: Instruction) -> None:
    """One thread runs all lanes in turn: there is nothing to order."""


@instruction("bar", "barrier", words="sync cta aligned red popc and or", types="u32 pred", operands=[1, 2, 3])
def _barrier(w: Writer, i: Instruction) -> None:
    """All lanes of the block wait; `red` also combines a predicate of theirs."""
    reduced = [k for k, word in enumerate(("popc", "and", "or"), 1) if word in i.words]
    if "red" in i.words:
        operands = i.operands[1:]
        if len(reduced) != 1 or len(operands) != 2 or len(i.types) != 1:
            raise w.error("only barriers of the whole block are simulated")
        number, predicate = operands
        negated = hasattr(predicate, "reg")
        value = w.get(predicate.reg if negated else predicate, "pred")  # type: ignore[union-attr]
        value = w.op(f"xor i1 {value}, true") if negated else value
        given = w.op(f"zext i1 {value} to i32")
    else:
        if "sync" not in i.words or reduced or len(i.operands) != 1:
            raise w.error("only barriers of the whole block are simulated")
        number, given = i.operands[0], "0"
    if not isinstance(number, Int) or not 0 <= number.value < 16:
        raise w.error("only barriers with a constant number are simulated")
    found = w.call(
        "i32", "sim_barrier", "ptr %lane", f"i32 {number.value}", f"i32 {reduced[0] if reduced else 0}", f"i32 {given}", w.site()
    )
    if "red" in i.words:
        if "popc" in i.words:
            w.set(i.operands[0], "u32", found)
        else:
            w.set(i.operands[0], "pred", w.op(f"trunc i32 {found} to i1"))


@instruction("tex", words="3d v4", types="f32", operands=[2])
def _tex(w: Writer, i: Instruction) -> None:
    dest, sampled = i.operands
    if i.types != ("f32", "f32") or i.words != ("3d", "v4") or not isinstance(dest, Vector) or not isinstance(sampled, Sampled):
        raise w.error("only 3-D textures of f32 with f32 coordinates are simulated")
    x, y, z = (w.get(c, "f32") for c in sampled.coordinates.items[:3])
    handle = w.get(sampled.texture, "u64")
    texel = f"%t{len(w.head)}"
    w.head.append(f"{texel} = alloca [4 x i32], align 16")
    at = [f"float {c}" for c in (x, y, z)]
    w.call("void", "sim_tex3d", "ptr %lane", f"i64 {handle}", *at, f"ptr {texel}", w.site())
    for k, item in enumerate(dest.items):
        if not isinstance(item, Sink):
            w.set(item, "b32", w.op(f"load i32, ptr {_element(w, texel, k, 4)}"))
