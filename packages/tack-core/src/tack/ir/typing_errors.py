"""The wording of type errors: what was combined, where it stands, and the exact cast to write."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tack.errors import Span, fail
from tack.ir.literals import Lit, literal_type
from tack.ir.nodes import IRConst, IRExpr, IRName, IROp
from tack.ir.ops import OPS
from tack.ir.types import WEAK_FLOAT, ScalarType, i64, u64
from tack.ir.typing_rules import AType

__all__ = [
    "ARM", "EXPONENT", "NEGATED", "bound_needs_integer", "bracketed", "by_value", "conflict", "dimensions", "fixed_array",
    "line_of", "needs_integer", "operand_text", "refusal", "source_text", "symbol", "too_large", "type_name", "unpacked",
]  # fmt: skip


def source_text(node: IRExpr) -> str:
    """What the user wrote for an expression, in one line."""
    span = node.span
    if span is not None and 0 <= span.line <= span.end_line < len(span.source.lines):
        lines = span.source.lines[span.line : span.end_line + 1]
        if len(lines) == 1:
            return lines[0][span.col : span.end_col]
        parts = [lines[0][span.col :], *lines[1:-1], lines[-1][: span.end_col]]
        return " ".join(part.strip() for part in parts)
    if isinstance(node, IRName):
        return node.name
    return str(node.value) if isinstance(node, IRConst) else "..."


# How tightly an expression must bind to stand without parentheses: as an arm of `a if b else c`, after `not`, after `**`; 9 is
# what stands anywhere.
ARM, NEGATED, EXPONENT = 1, 2, 5
_BINDING: dict[type[ast.AST], int] = {ast.IfExp: 0, ast.Lambda: 0, ast.BoolOp: 1, ast.Compare: 3, ast.BinOp: 4, ast.UnaryOp: 5}


def bracketed(text: str, least: int = 9) -> str:
    """An expression's text, in parentheses unless it binds as tightly as `least`: what is outside it is no part of its text."""
    try:
        node = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return f"({text})"
    binding = 2 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else _BINDING.get(type(node), 9)
    return text if binding >= least else f"({text})"


def operand_text(node: IRExpr, least: int = 9) -> str:
    """What the user wrote for an expression, as an operand in what a remedy shows."""
    return bracketed(source_text(node), least)


def type_name(t: AType) -> str:
    """A type as users write it."""
    if isinstance(t, Lit):
        return f"the integer {t.low}" if t.low == t.high else "an integer literal"
    if t is WEAK_FLOAT:
        return "a float literal"
    return "a truth value" if t is None or t.kind == "bool" else str(t)


def line_of(span: Span | None) -> str:
    """A place within a message that already shows another."""
    return "elsewhere" if span is None else f"in line {span.lineno}"


def symbol(op: str) -> str:
    """How users write an operation."""
    row = OPS[op]
    return row.symbol or f"{row.call or op}()"


def refusal(kernel: str, node: IRExpr, message: str, remedy: str = "", kind: type[Exception] = TypeError) -> Exception:
    """An error at the place of an expression."""
    return fail(kind, message, kernel=kernel, span=node.span, remedy=remedy)


def fixed_array(name: str) -> tuple[str, str]:
    """What is wrong with an assignment to a parameter that is an array, and what to write instead."""
    return f"'{name}' is an array and cannot be assigned", f"Store into its elements, `{name}[i] = ...`, or use another name."


def dimensions(rank: int) -> str:
    """A number of dimensions in words."""
    return "1 dimension" if rank == 1 else f"{rank} dimensions"


def unpacked(name: str, names: int, rank: int) -> tuple[str, str]:
    """What is wrong with `h, w = a.shape` where `a` has another number of dimensions, and what to write instead."""
    count = "1 name" if names == 1 else f"{names} names"
    message = f"the shape of '{name}' is unpacked into {count}, but it has {dimensions(rank)}"
    return message, f"Write as many names as it has dimensions, or pass an array of {dimensions(names)}."


def by_value(t: AType) -> ScalarType | None:
    """The type of an operand, a weak integer's by its value; None where it has none."""
    return literal_type(t) if isinstance(t, Lit) else t


def conflict(kernel: str, node: IRExpr, what: str, args: Sequence[IRExpr], types: Sequence[AType]) -> Exception:
    """T3: a signed integer with u64. `what` names the operation; `node` is where it stands."""
    resolved = [by_value(t) for t in types]
    signed = next((i for i, t in enumerate(resolved) if t is not None and t.signed), None)
    if signed is None:
        return too_large(kernel, node, types)
    negative, remedy = _is_negative(types[signed]), f"Write `tack.u64({source_text(args[signed])})`."
    if negative or (isinstance(node, IROp) and OPS[node.op].rule == "compare"):  # where u64 would change the value unseen
        large = [k for k, t in enumerate(types) if isinstance(t, Lit) and t.high > i64.max]
        wide = next((k for k, t in enumerate(resolved) if t is u64), None)
        if wide is not None and not large:
            remedy = f"Write `tack.i64({source_text(args[wide])})`, if its values are below 2**63."
        elif negative:
            remedy = "Write smaller integers, or floats."
        else:
            remedy = f"{remedy.removesuffix('.')}, if it is never negative."
    message = f"{what} of {type_name(types[signed])} and {u64}: no integer type holds the values of both"
    return refusal(kernel, node, message, remedy)


def _is_negative(t: AType) -> bool:
    return isinstance(t, Lit) and t.low < 0


def too_large(kernel: str, node: IRExpr, types: Sequence[AType]) -> Exception:
    """An integer literal beyond every integer type, or literals in the arms of one expression that no type holds together."""
    lits = [t for t in types if isinstance(t, Lit) and literal_type(t) is None]
    low, high = (lits[0].low, lits[0].high) if lits else (0, 0)
    if low < high and literal_type(Lit(low, low)) is not None and literal_type(Lit(high, high)) is not None:
        return refusal(kernel, node, f"no integer type holds both {low} and {high}", "Write smaller integers, or floats.")
    shown = high if high > u64.max else low
    return refusal(
        kernel, node, f"the integer {shown} does not fit any integer type (the greatest is tack.u64)",
        "Write a smaller integer, or a float such as `1e30`.",
    )  # fmt: skip


def needs_integer(kernel: str, node: IRExpr, what: str, t: AType) -> Exception:
    """A float where only an integer can stand."""
    text = source_text(node)
    whole = isinstance(node, IRConst) and isinstance(node.value, float) and node.value.is_integer() and text == repr(node.value)
    remedy = f"Write `{text.removesuffix('.0') if whole else f'int({text})'}`."
    if what.endswith(("`&`", "`|`")):
        remedy += f" Comparisons joined by {what[-3:]} stand in parentheses."
    return refusal(kernel, node, f"{what} must be an integer, not {type_name(t)}", remedy)


def bound_needs_integer(kernel: str, node: IRExpr, t: AType) -> Exception:
    """A float as a bound of a loop, written or, in a loop over an object, held by it."""
    text = source_text(node)
    if isinstance(node, IRName) and "." in node.name and not text.endswith(f".{node.name.rpartition('.')[2]}"):
        message = f"a loop over '{text}' counts up to '{node.name}', which must be an integer, not {type_name(t)}"
        return refusal(kernel, node, message, f"Let the object hold an integer: `{node.name} = int({node.name})`.")
    return needs_integer(kernel, node, "a bound of a loop", t)
