"""Debug mode's checks as C: an index or a step that fails a check is noted and ends the iteration, by `return`.

Knows the layout of the errors array (`ir.nodes.ERRORS`) and nothing of statements. The lines of a check stand before the
statement that needs it, in the order of evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tack.codegen.dialect import Dialect
from tack.ir.nodes import ERRORS, NOTES, IRCheck, IRExpr, IRNonzero
from tack.ir.types import i64

if TYPE_CHECKING:
    from tack.codegen.c_expr import ExprWriter

__all__ = ["check", "mark_stored", "nonzero", "require_stored"]


def check(f: ExprWriter, node: IRCheck) -> str:
    """The flat index, in a variable."""
    index = [_kept(f, each) for each in node.index]
    extents = [_kept(f, each) for each in node.extents]
    for dim, (at, extent) in enumerate(zip(index, extents, strict=True)):
        _require(f, f"(u64){at} < (u64){extent}", node.site + dim, at, extent)
    flat = index[0]
    for at, extent in zip(index[1:], extents[1:], strict=True):
        flat = f"({flat} * {extent} + {at})"
    if len(index) == 1:
        return flat
    whole = f.temporary(i64)
    f.text.line(f"{whole} = {flat};")
    return whole


def require_stored(f: ExprWriter, node: IRExpr, flat: str) -> None:
    """Before a load at `flat`, whose index is `node`: that the element of a local array has been stored."""
    if isinstance(node, IRCheck) and node.stored is not None:
        _require(f, f"{f.names(node.stored)}[{flat}] != 0", node.site + len(node.index), flat, "0")


def mark_stored(f: ExprWriter, node: IRExpr, flat: str) -> None:
    """Notes that the element of a local array at `flat`, the index `node` of a store, has a value."""
    if isinstance(node, IRCheck) and node.stored is not None:
        f.text.line(f"{f.names(node.stored)}[{flat}] = 1;")


def nonzero(f: ExprWriter, node: IRNonzero) -> str:
    """The step, which is not zero, in a variable."""
    step = _kept(f, node.value)
    _require(f, f"{step} != 0", node.site, "0", "0")
    return step


def _kept(f: ExprWriter, node: IRExpr) -> str:
    value = f.expr(node)
    kept = f.temporary(i64)
    f.text.line(f"{kept} = {value};")
    return kept


def _require(f: ExprWriter, test: str, site: int, index: str, extent: str) -> None:
    dialect = f.dialect
    pointer = dialect.pointer.format(type="i64")
    params = f"{pointer} errors, i64 iteration, i64 site, i64 index, i64 extent"
    f.prelude.define("tack_note", "void", params, _note(dialect))
    f.text.line(f"if (!({test})) {{")
    with f.text.indented():
        f.text.line(f"tack_note({f.names(ERRORS)}, (i64)t_lane, {site}, {index}, {extent});")
        f.text.line("return;")
    f.text.line("}")


def _note(dialect: Dialect) -> str:
    """The first failure of the least iteration: whoever lowers word 0 takes the next note of the ring."""
    least = dialect.atomics.get("min.i64", "{p}[0]; if ({v} < old) {p}[0] = {v}").format(p="errors", v="iteration")
    count = dialect.atomics.get("add.i64", "({p})[0]++").format(p="(errors + 1)", v="1")
    words = " ".join(f"note[{k}] = {word};" for k, word in enumerate(("iteration", "site", "index", "extent")))
    note = dialect.pointer.format(type="i64")
    return f"i64 old = {least}; if (iteration < old) {{ {note} note = errors + 2 + 4 * ({count} & {NOTES - 1}); {words} }}"
