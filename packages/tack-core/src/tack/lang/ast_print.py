"""`print(...)` in kernels (P1): one call is one line, made of literal strings, numbers and f-strings with plain fields.

Where strings may stand is checked by `subset`, which sees every call of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tack.ir.nodes import IRExpr, IRPrint
from tack.lang.ast_context import Context
from tack.lang.values import Value, Vector

__all__ = ["lower_print"]

_MOST = 32  # numbers in one line: as many as `printf` of CUDA takes


def lower_print(lowering: Context, node: ast.Call) -> None:
    """Lower the call `print(...)`."""
    if lowering.prologue:
        remedy = "Move it into the loop, or print from Python."
        raise lowering.unsupported(node, "`print` outside the parallel loop", remedy)
    separator = _separator(lowering, node)
    pieces: list[str | ast.expr] = []
    for k, argument in enumerate(node.args):
        pieces += [separator] if k else []
        pieces += _pieces(argument)
    wanted = [piece for piece in pieces if not isinstance(piece, str)]
    values = iter(lowering.in_order([lambda each=each: lowering.value(each) for each in wanted]))
    parts = tuple(_joined(part for piece in pieces for part in ([piece] if isinstance(piece, str) else _parts(next(values)))))
    numbers = sum(not isinstance(part, str) for part in parts)
    if numbers > _MOST:
        raise lowering.unsupported(node, f"`print` of {numbers} numbers at once", f"Print up to {_MOST} in one line.")
    lowering.out.append(IRPrint(parts, lowering.span(node)))


def _separator(lowering: Context, node: ast.Call) -> str:
    """What `sep=` says; `end=` may only say what holds anyway."""
    separator = " "
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else keyword.value
        if keyword.arg == "sep":
            if not (isinstance(value, str) or value is None):
                raise lowering.unsupported(keyword, "`sep` of `print` is a literal string", 'Write sep=", ", or leave it out.')
            separator = " " if value is None else value
        elif keyword.arg != "end" or value not in ("\n", None):
            message = "one call of `print` is one line" if keyword.arg == "end" else f"`print` in kernels has no `{keyword.arg}`"
            raise lowering.unsupported(keyword, message, f"Leave `{keyword.arg}` out.")
    return separator


def _pieces(node: ast.expr) -> Iterator[str | ast.expr]:
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _pieces(value.value if isinstance(value, ast.FormattedValue) else value)
    else:
        yield node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else node


def _parts(value: Value) -> Iterator[str | IRExpr]:
    """A number, or a vector or matrix in NumPy's brackets."""
    if not isinstance(value, Vector):
        yield value
    elif value.is_matrix:
        rows = [Vector(value.shape[1:], value.row(k)) for k in range(value.shape[0])]
        yield from _listed([_parts(row) for row in rows])
    else:
        yield from _listed([(each,) for each in value.components])


def _listed(items: list[Iterable[str | IRExpr]]) -> Iterator[str | IRExpr]:
    yield "["
    for k, item in enumerate(items):
        if k:
            yield ", "
        yield from item
    yield "]"


def _joined(parts: Iterable[str | IRExpr]) -> Iterator[str | IRExpr]:
    """The parts with neighbouring strings put together, and without empty ones."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
            text = ""
        yield part
    if text:
        yield text
