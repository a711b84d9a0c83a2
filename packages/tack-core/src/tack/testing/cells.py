"""The cells of the conformance suite: every row of the op table with every type it takes, as kernel text and expected values.

A cell is one expression of a kernel's operands. Cells with the same operands form a group, which shares its inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from tack.ir.ops import OPS, Op
from tack.ir.types import BOOL, DTYPES, FLOATS, INTS, ScalarType, f32, f64, i64, promote, u8, u64
from tack.runtime.backend import Capabilities
from tack.testing import reference
from tack.testing.values import combinations, convert, fused

__all__ = ["Cell", "Group", "Refusal", "capability_refusals", "groups", "refusals", "stored"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One expression `text` of operands `{0}`, `{1}`, `{2}`; `value` gives its value, of type `result`, from Python's operands.

    `ulp`: how far a float may be off, 0 for the same bits. `capability`: the field of `Capabilities` without which it is skipped.
    """

    op: str
    text: str
    result: ScalarType
    value: Callable[..., Any]
    ulp: float = 0.0
    capability: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Cells over operands of the same types, and the default float they were written for (T1)."""

    operands: tuple[ScalarType, ...]
    floating: ScalarType
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The types in words."""
        return " ".join(t.name for t in self.operands)

    def inputs(self) -> tuple[tuple[Any, ...], ...]:
        """The operands of each iteration."""
        return combinations(self.operands)

    @property
    def dtypes(self) -> set[ScalarType]:
        """The dtypes of the arrays that a kernel of this group has."""
        return {*self.operands, *(stored(cell.result) for cell in self.cells), self.floating}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A statement that is refused for operands `{0}`, `{1}` of these types, with words that the message must have."""

    op: str
    text: str
    operands: tuple[ScalarType, ...]
    words: str
    kind: type[Exception] = TypeError


def stored(result: ScalarType) -> ScalarType:
    """The dtype of the array that a value is stored to: wide for integers, so that its sign and width show."""
    if result is BOOL:
        return u8
    return result if result.is_float else u64 if result is u64 else i64


def _converted(function: Callable[..., Any], sources: tuple[ScalarType, ...], t: ScalarType) -> Callable[..., Any]:
    """`function` after each operand has become a `t` (T3)."""
    return lambda *args: function(*(convert(a, source, t) for a, source in zip(args, sources, strict=True)))


def _call(row: Op, count: int) -> str:
    return f"{row.call}({', '.join(f'{{{k}}}' for k in range(count))})"


# ----------------------------------------------------------------------------------------------------- two operands


def _binary_cells(a: ScalarType, b: ScalarType, floating: ScalarType) -> Iterator[Cell]:
    """Everything that takes two operands, for operands of types `a` and `b`."""
    common = promote(a, b)
    pair = (a, b)
    for row in OPS.values():
        if abs(row.arity) != 2:
            continue
        text = f"{{0}} {row.symbol} {{1}}" if row.symbol else _call(row, 2)
        match row.rule:
            case "arith" if common:
                yield Cell(row.name, text, common, _converted(partial(_binary, row.name, t=common), pair, common))
            case "int" if common and common.is_int:
                yield Cell(row.name, text, common, _converted(partial(_binary, row.name, t=common), pair, common))
            case "compare" if common:
                yield Cell(row.name, text, BOOL, _converted(reference.COMPARE[row.name], pair, common))
            case "extreme" if common:
                yield Cell(row.name, text, common, _converted(lambda *v, op=row.name: reference.extreme(op, v), pair, common))
            case "shift" if a.is_int and b.is_int:
                yield Cell(row.name, text, a, partial(reference.shift, row.name, t=a))
            case "power":
                yield from _power_cells(a, b, common)
            case "div":
                t = _float_of(pair, floating)
                yield Cell("div", text, t, _converted(partial(_binary, "div", t=t), pair, t))
            case "math":
                yield _math_cell(row, pair, floating)
            case _:
                pass  # refused for these types, or `powi`, which `_unary_cells` has


def _binary(op: str, a: Any, b: Any, t: ScalarType) -> Any:
    return reference.binary(op, a, b, t)


def _power_cells(a: ScalarType, b: ScalarType, common: ScalarType | None) -> Iterator[Cell]:
    if a.is_int and b.is_int:
        yield Cell("pow", "{0} ** {1}", a, partial(reference.power, t=a))
    elif common:
        value = _converted(partial(reference.power, t=common), (a, b), common)
        yield Cell("pow", "{0} ** {1}", common, value, reference.ULPS[common.bits])


def _float_of(types: tuple[ScalarType, ...], floating: ScalarType) -> ScalarType:
    """T6, T11: the float type of `/` and of functions; integers go to the default float first."""
    found = [t if t.is_float else floating for t in types]
    return f64 if f64 in found else f32


def _math_cell(row: Op, types: tuple[ScalarType, ...], floating: ScalarType) -> Cell:
    t = _float_of(types, floating)
    exact = row.name in ("floor", "ceil", "trunc", "round", "sqrt", "copysign", "fmod")
    if not exact:
        function, ulp = (lambda *args: reference.elementary(row.name, args, t)), reference.ULPS[t.bits]
    elif len(types) == 1:
        function, ulp = partial(reference.unary, row.name, t=t), 0.0
    else:
        function, ulp = partial(_binary, row.name, t=t), 0.0
    capability = "exact_sqrt" if row.name == "sqrt" else ""
    return Cell(row.name, _call(row, len(types)), t, _converted(function, types, t), ulp, capability)


# ------------------------------------------------------------------------------------------------------ one operand


def _unary_cells(a: ScalarType, floating: ScalarType) -> Iterator[Cell]:
    """Everything that takes one operand of type `a`, powers with a literal exponent and casts among them."""
    for row in OPS.values():
        if row.arity != 1 or row.name == "index":
            continue
        text = f"{row.symbol} {{0}}" if row.symbol else _call(row, 1)
        match row.rule:
            case "arith":
                yield Cell(row.name, text, a, partial(reference.unary, row.name, t=a))
            case "int" if a.is_int:
                yield Cell(row.name, "~{0}", a, partial(reference.unary, row.name, t=a))
            case "truth":
                yield Cell("not", text, BOOL, lambda x: x == 0)
            case "bits" if a.is_int:
                yield Cell(row.name, text, a, partial(reference.count_bits, row.name, t=a))
            case "bitcast":
                for t in DTYPES:
                    if t.bits == a.bits and t is not a and (t is not f64 or floating is f64):
                        yield Cell("bitcast", f"tack.bitcast(tack.{t.name}, {{0}})", t, partial(reference.bitcast, t=t))
            case "math":
                yield _math_cell(row, (a,), floating)
            case "test":
                t = _float_of((a,), floating)
                yield Cell(row.name, text, BOOL, _converted(reference.TESTS[row.name], (a,), t))
            case _:
                pass
    yield from _casts(a, floating)
    if a.is_float:
        for k in range(-4, 5):
            yield Cell("powi", f"{{0}} ** {k}" if k >= 0 else f"{{0}} ** ({k})", a, partial(reference.powi, exponent=k))
    else:
        for k in (0, 1, 2, 3, 5):
            yield Cell("pow", f"{{0}} ** {k}", a, partial(reference.power, exponent=k, t=a))


def _casts(a: ScalarType, floating: ScalarType) -> Iterator[Cell]:
    for t in DTYPES:
        if t is not f64 or f64 in (a, floating):
            yield Cell(f"cast to {t.name}", f"tack.{t.name}({{0}})", t, partial(convert, source=a, target=t))
    to_int = u64 if a is u64 else i64
    to_float = f64 if a is f64 else floating
    yield Cell("to_int", "int({0})", to_int, partial(convert, source=a, target=to_int))
    yield Cell("to_float", "float({0})", to_float, partial(convert, source=a, target=to_float))
    yield Cell("to_bool", "bool({0})", BOOL, lambda x: x != 0)


# --------------------------------------------------------------------------------------------------- three operands


def _ternary_cells(a: ScalarType) -> Iterator[Cell]:
    """Selection and extremes of three; for floats the fused products of rule E5."""
    yield Cell("select", "tack.select({0} != 0, {1}, {2})", a, lambda c, x, y: x if c != 0 else y)
    yield Cell("select", "{1} if {0} else {2}", a, lambda c, x, y: x if c != 0 else y)
    for op in ("min", "max"):
        yield Cell(op, f"{op}({{0}}, {{1}}, {{2}})", a, lambda *v, op=op: reference.extreme(op, v))
    if a.is_float:
        for text, signs in _FUSED.items():
            yield Cell("fma", text, a, partial(_fused, signs=signs, t=a), capability="fma")
        yield Cell("fma", "fma({0}, {1}, {2})", a, partial(_fused, signs=(1, 1), t=a))


# Every way in which rule E5 fuses: the signs of the product and of the addend.
_FUSED = {
    "{0} * {1} + {2}": (1, 1), "{2} + {0} * {1}": (1, 1), "{0} * {1} - {2}": (1, -1), "{2} - {0} * {1}": (-1, 1),
    "{2} + (-({0} * {1}))": (-1, 1), "-({0} * {1}) - {2}": (-1, -1),
}  # fmt: skip


def _fused(a: Any, b: Any, c: Any, signs: tuple[int, int], t: ScalarType) -> Any:
    return fused(a if signs[0] > 0 else -a, b, c if signs[1] > 0 else -c, t)


# ------------------------------------------------------------------------------------------------------- all of them


@cache
def groups() -> tuple[Group, ...]:
    """All cells."""
    found: list[Group] = []
    for a in DTYPES:
        for floating in FLOATS:
            if a is f64 and floating is f32:
                continue  # an f64 array makes f64 the default float
            cells = _unary_cells(a, floating)
            if a is not f64 and floating is f64:  # only what depends on the default float
                cells = (c for c in cells if c.result is f64)
            found.append(Group((a,), floating, tuple(cells)))
        found.append(Group((a, a, a), f64 if a is f64 else f32, tuple(_ternary_cells(a))))
    for a, b in itertools.product(DTYPES, DTYPES):
        found.append(Group((a, b), f64 if f64 in (a, b) else f32, tuple(_binary_cells(a, b, f64 if f64 in (a, b) else f32))))
        if a is b and a.is_int:
            cells = tuple(c for c in _binary_cells(a, b, f64) if c.op == "div")
            found.append(Group((a, b), f64, cells))
    return tuple(group for group in found if group.cells)


def refusals() -> Iterator[Refusal]:
    """What the type rules refuse: signed integers with u64 (T3), bits of floats (T4), and indices that are no integers (M1)."""
    signed = [t for t in INTS if t.signed]
    for row in OPS.values():
        text = f"out[i] = {{0}} {row.symbol} {{1}}" if row.symbol else f"out[i] = {row.call}({{0}}, {{1}})"
        if row.rule in ("arith", "int", "compare", "extreme") and abs(row.arity) == 2:
            cast = "tack.i64(" if row.rule == "compare" else "tack.u64("  # a negative number cast to u64 compares as a great one
            for t in signed:
                yield Refusal(row.name, text, (t, u64), cast)
                yield Refusal(row.name, text, (u64, t), cast)
        if row.rule in ("int", "shift") and row.arity == 2:
            for t in FLOATS:
                yield Refusal(row.name, text, (t, i64), "int(")
                yield Refusal(row.name, text, (i64, t), "int(")
    for t in signed:
        yield Refusal("select", "out[i] = tack.select({0} != 0, {0}, {1})", (t, u64), "tack.u64(")
        yield Refusal("select", "out[i] = {0} if {0} else {1}", (u64, t), "tack.u64(")
    for t in FLOATS:
        yield Refusal("invert", "out[i] = ~{0}", (t,), "int(")
        yield Refusal("index", "out[i] = a[{0}]", (t,), "int(")
        yield Refusal("clz", "out[i] = clz({0})", (t,), "int(")
        yield Refusal("popcount", "out[i] = popcount({0})", (t,), "int(")
        yield Refusal("bitcast", "out[i] = tack.bitcast(tack.u8, {0})", (t,), f"tack.i{t.bits}")


_CONSTRUCTS = {"supports_workgroups": "tack.barrier()", "supports_print": "print(i)"}


def capability_refusals(capabilities: Capabilities) -> Iterator[Refusal]:
    """One statement for each capability that a device lacks: it must be refused, never run differently."""
    for t in DTYPES:
        if t not in capabilities.supported_dtypes:
            yield Refusal("dtype", "out[i] = {0}", (t,), str(t))
        elif t not in capabilities.supported_atomic_dtypes:
            yield Refusal("atomics", "tack.atomic_add(a, i, {0})", (t,), "atomic", Exception)
    for name, text in _CONSTRUCTS.items():
        if not getattr(capabilities, name):
            yield Refusal(name, text, (), text.partition("(")[0].removeprefix("tack."), RuntimeError)
