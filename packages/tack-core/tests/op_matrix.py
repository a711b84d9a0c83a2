"""Every row of the op table with every type it takes, each as a tiny typed kernel `out[i] = op(a[i], ...)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tack.ir.nodes import (
    IRAssign,
    IRCast,
    IRConst,
    IRExpr,
    IRFunc,
    IRLoad,
    IRLocal,
    IRName,
    IROp,
    IRParallel,
    IRParam,
    IRRange,
    IRStore,
)
from tack.ir.ops import OPS, Op
from tack.ir.types import BOOL, DTYPES, FLOATS, INTS, ScalarType, f32, i8, i32, i64, u8, u64

__all__ = [
    "OpCase",
    "cast_cases",
    "constant_kernel",
    "constants",
    "elementwise",
    "grid",
    "literal_cases",
    "op_cases",
    "operand",
    "same",
    "stored",
    "values",
]

_UNTYPED = ("thread_id", "index", "to_int", "to_float", "to_bool")


@dataclass(frozen=True, slots=True)
class OpCase:
    """One cell: operand types, the kernel, and a literal second operand (powi)."""

    name: str
    op: str
    operands: tuple[ScalarType, ...]
    result: ScalarType
    func: IRFunc
    literal: int | None = None


def elementwise(name: str, arrays: Sequence[ScalarType], value: IRExpr, result: ScalarType) -> IRFunc:
    """`for i in range(n): out[i] = value`, where value may load `in0`, `in1`, ... at `i`; n is an i64 parameter."""
    params = [IRParam(f"in{k}", True, t) for k, t in enumerate(arrays)]
    loop = IRRange("i", IRConst(0, i64), IRName("n", i64), IRConst(1, i64))
    body = (IRAssign("value", value), IRStore("out", (IRName("i", i64),), IRName("value", result)))
    return IRFunc(
        name=name,
        params=(*params, IRParam("out", True, result), IRParam("n", False, i64)),
        prologue=(),
        loop=IRParallel((loop,), body),
        locals=(IRLocal("value", "value", result),),
        stage="typed",
        default_float=f32,
    )


def operand(k: int, t: ScalarType) -> IRExpr:
    """`in<k>[i]`; a truth value is a nonzero byte."""
    index = (IRName("i", i64),)
    return IRCast(IRLoad(f"in{k}", index, u8), BOOL) if t is BOOL else IRLoad(f"in{k}", index, t)


def stored(t: ScalarType) -> ScalarType:
    """The type of an array that holds values of type `t`."""
    return u8 if t is BOOL else t


def _signatures(row: Op) -> Iterable[tuple[tuple[ScalarType, ...], ScalarType]]:
    """Operand types and result type of a typed IROp, as the row's rule says."""
    several = abs(row.arity)
    match row.rule:
        case "arith" | "extreme":
            return [((t,) * several, t) for t in DTYPES]
        case "int" | "bits":
            return [((t,) * several, t) for t in INTS]
        case "shift":
            return [((t, count), t) for t in INTS for count in INTS]
        case "power":
            return [*(((t, e), t) for t in INTS for e in INTS), *(((t, t), t) for t in FLOATS)]
        case "compare":
            return [((t, t), BOOL) for t in (*DTYPES, BOOL)]
        case "bitcast":
            return [((a,), b) for a in DTYPES for b in DTYPES if a.bits == b.bits and a is not b]
        case "truth":
            return [((BOOL,), BOOL)]
        case "select":
            return [((BOOL, t, t), t) for t in DTYPES]
        case "test":
            return [((t,), BOOL) for t in FLOATS]
        case _:
            return [((t,) * several, t) for t in FLOATS]


def _case(name: str, op: str, operands: tuple[ScalarType, ...], result: ScalarType, literal: int | None = None) -> OpCase:
    args = [operand(k, t) for k, t in enumerate(operands)]
    if literal is not None:
        args.append(IRConst(literal, i32))
    value: IRExpr = IROp(op, tuple(args), result)
    if result is BOOL:
        value = IRCast(value, u8)
    func = elementwise(name, [stored(t) for t in operands], value, stored(result))
    return OpCase(name, op, operands, result, func, literal)


def op_cases() -> Iterator[OpCase]:
    """All rows that a typed function can have."""
    for row in OPS.values():
        if row.name in _UNTYPED:
            continue
        if row.name == "powi":
            for t in FLOATS:
                for power in range(-4, 5):
                    yield _case(f"powi_{t.name}_{'m' if power < 0 else ''}{abs(power)}", "powi", (t,), t, power)
            continue
        for operands, result in _signatures(row):
            named = (*operands, result) if row.rule == "bitcast" else operands
            yield _case("_".join([row.name, *(t.name for t in named)]), row.name, operands, result)


def cast_cases() -> Iterator[tuple[str, ScalarType, ScalarType, IRFunc]]:
    """Every conversion between two types, truth values included: name, source, target, kernel."""
    for source in (*DTYPES, BOOL):
        for target in (*DTYPES, BOOL):
            if source is target:
                continue
            value: IRExpr = IRCast(operand(0, source), target)
            if target is BOOL:
                value = IRCast(value, u8)
            name = f"cast_{source.name}_{target.name}"
            yield name, source, target, elementwise(name, [stored(source)], value, stored(target))


def literal_cases() -> list[tuple[str, IRFunc, str, ScalarType, ScalarType, int | float, bool]]:
    """Operations with a literal, which are written in a shorter way: name, kernel, op, types, literal, whether it is first."""
    found: list[tuple[str, IRFunc, str, ScalarType, ScalarType, int | float, bool]] = []

    def add(op: str, t: ScalarType, other: ScalarType, value: float, first: bool = False) -> None:
        args = [operand(0, t), IRConst(value, other)]
        func = elementwise(op, [t], IROp(op, tuple(reversed(args) if first else args), t), t)
        found.append((f"literal{len(found)}_{op}", func, op, t, other, value, first))

    for t in (i8, i32, i64, u8, u64):
        for value in {0, 1, 2, 3, 7, 8, 64, t.max, t.max // 2 + 1, *((-1, -2, -3, -8, t.min) if t.signed else ())}:
            if t.min <= value <= t.max:
                add("floordiv", t, t, value)
                add("mod", t, t, value)
                add("mul", t, t, value)
                add("sub", t, t, value)
                add("sub", t, t, value, True)
        for count in (0, 1, 7, t.bits - 1):
            add("shl", t, i64, count)
            add("shr", t, i64, count)
        for exponent in (0, 1, 2, 3, 5, 10, 63):
            add("pow", t, i32, exponent)
    for t in FLOATS:
        for value in (0.0, -0.0, 1.5, -2.0, 1e-60, float("inf"), float("-inf"), float("nan")):
            for first in (False, True):
                add("min", t, t, value, first)
                add("max", t, t, value, first)
        for value in (1.0, 0.3, -2.5, 0.0):
            add("mod", t, t, value)
            add("floordiv", t, t, value)
    return found


def values(t: ScalarType) -> np.ndarray:
    """Values of a type where something can go wrong, and some others."""
    if t is BOOL:
        return np.array([0, 1, 2, 255], np.uint8)
    rng = np.random.default_rng(t.bits)
    if t.is_int:
        edges = {0, 1, 2, 3, 5, t.bits - 1, t.bits, t.max, t.max - 1, t.max // 2 + 1, t.min, t.min + 1}
        edges |= {-1, -2, -3, -7} if t.signed else set()
        return np.concatenate([np.array(sorted(edges), t.numpy), rng.integers(0, 256, 4 * t.itemsize, np.uint8).view(t.numpy)])
    info = np.finfo(t.numpy)
    plain = [0.0, info.smallest_subnormal, info.tiny, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 127.5, 128, 255.9, 2**31, 2**63, 2**64]
    plain += [info.max, np.inf]
    edges = np.array([*plain, *(-x for x in plain), np.nan], t.numpy)
    return np.concatenate([edges, rng.integers(0, 256, 12 * t.itemsize, np.uint8).view(t.numpy)])


def grid(types: tuple[ScalarType, ...]) -> list[np.ndarray]:
    """Every combination of `values` of up to two types; a third operand takes random ones."""
    first = [values(t) for t in types[:2]]
    found = [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*first, indexing="ij")]
    rng = np.random.default_rng(5)
    return found + [rng.choice(values(t), found[0].size) for t in types[2:]]


def same(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where two arrays are equal bit for bit, or both NaN."""
    assert actual.dtype == expected.dtype
    bits = np.dtype(f"u{actual.itemsize}")
    return (actual.view(bits) == expected.view(bits)) | ((actual != actual) & (expected != expected))


def constants() -> list[tuple[str, ScalarType, object]]:
    """Literals of every type: name, type, value."""
    return [(f"constant_{t.name}_{k}", t, v) for t in DTYPES for k, v in enumerate(values(t).tolist())]


def constant_kernel(t: ScalarType, value: object) -> IRFunc:
    """`out[i] = value`."""
    assert isinstance(value, int | float)
    return elementwise("constant", [t], IRConst(value, t), t)
