"""Debug mode's checks as C: an index or a step that fails a check is noted and ends the iteration, by `return`.

Where lanes wait for each other, all of a workgroup end when they meet next: none waits for long, or counts on one that is gone.

Knows the layout of the errors array (`ir.nodes.ERRORS`) and nothing of statements. The lines of a check stand before the
statement that needs it, in the order of evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tack.codegen.dialect import Dialect
from tack.ir.nodes import ERRORS, NONE, NOTES, IRCheck, IRExpr, IRNonzero
from tack.ir.types import i32, i64

if TYPE_CHECKING:
    from tack.codegen.c_expr import ExprWriter

__all__ = [
    "begin_group", "check", "group_declaration", "mark_stored", "meet", "nonzero", "require_stored", "stop_after_failure",
    "stop_after_prologue",
]  # fmt: skip

_FAILED = "t_failed"


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


def begin_group(f: ExprWriter) -> None:
    """The first lines of lanes that wait for each other: none of them has failed."""
    f.text.line(f"if ({f.dialect.lane} == 0) {_FAILED}[0] = 0;")
    f.text.line(f"{f.dialect.barrier};")


def meet(f: ExprWriter) -> None:
    """A barrier behind which nobody is who has failed, or whose workgroup has lost one before."""
    failed = f.temporary(i32)
    f.text.line(f"{f.dialect.barrier};")
    f.text.line(f"{failed} = {_FAILED}[0];")
    f.text.line(f"{f.dialect.barrier};")  # nobody may fail before all have read
    f.text.line(f"if ({failed} != 0) return;")


def group_declaration(f: ExprWriter) -> str:
    """The declaration of what lanes that wait for each other know of their workgroup."""
    return f.dialect.shared.format(type=f.prelude.type(i32), name=_FAILED, size=1)


def stop_after_failure(f: ExprWriter) -> None:
    """Before the kernel's result: what failed has left its locals without values."""
    f.text.line(f"if ({f.names(ERRORS)}[0] != {f.dialect.literal(NONE, i64)}) return;")


def stop_after_prologue(f: ExprWriter) -> None:
    """Before an iteration: where the prologue has failed, which alone notes a number below zero, none runs."""
    f.text.line(f"if ({f.names(ERRORS)}[0] < 0) return;")


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
        f.text.line(f"tack_note({f.names(ERRORS)}, {f.iteration}, {site}, {index}, {extent});")
        if f.together:
            place = dialect.relaxed.format(type=f.prelude.type(i32), place=f"{_FAILED}[0]")
            f.text.line(f"{place} = 1;")  # as others do at the same time
        f.text.line(dialect.leave if f.together else "return;")
    f.text.line("}")


def _note(dialect: Dialect) -> str:
    """The first failure of the least iteration: whoever lowers word 0 takes the next note of the ring."""
    least = dialect.atomics.get("min.i64", "{p}[0]; if ({v} < old) {p}[0] = {v}").format(p="errors", v="iteration")
    count = dialect.atomics.get("add.i64", "({p})[0]++").format(p="(errors + 1)", v="1")
    words = " ".join(f"note[{k}] = {word};" for k, word in enumerate(("iteration", "site", "index", "extent")))
    note = dialect.pointer.format(type="i64")
    return f"i64 old = {least}; if (iteration < old) {{ {note} note = errors + 2 + 4 * ({count} & {NOTES - 1}); {words} }}"
