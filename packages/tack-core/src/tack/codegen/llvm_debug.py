"""Debug mode's checks as LLVM: an index or a step that fails a check is noted and ends the iteration.

Knows the layout of the errors array (`ir.nodes.ERRORS`); nothing of statements or of the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tack.ir.nodes import ERRORS, NOTES, IRCheck, IRNonzero

if TYPE_CHECKING:
    from tack.codegen.llvm_expr import ExprWriter

__all__ = ["check", "nonzero", "note_access"]

# The first failure of the least iteration: whoever lowers word 0 takes the next note of the ring.
_NOTE = f"""\
define internal void @tack.note(ptr %errors, i64 %iteration, i64 %site, i64 %index, i64 %extent) cold noinline nounwind {{
  %old = atomicrmw min ptr %errors, i64 %iteration monotonic
  %first = icmp slt i64 %iteration, %old
  br i1 %first, label %take, label %done
take:
  %count = getelementptr inbounds i64, ptr %errors, i64 1
  %taken = atomicrmw add ptr %count, i64 1 monotonic
  %number = and i64 %taken, {NOTES - 1}
  %skip = mul i64 %number, 4
  %at = add i64 %skip, 2
  %note = getelementptr inbounds i64, ptr %errors, i64 %at
  store i64 %iteration, ptr %note
  %note1 = getelementptr inbounds i64, ptr %note, i64 1
  store i64 %site, ptr %note1
  %note2 = getelementptr inbounds i64, ptr %note, i64 2
  store i64 %index, ptr %note2
  %note3 = getelementptr inbounds i64, ptr %note, i64 3
  store i64 %extent, ptr %note3
  br label %done
done:
  ret void
}}
"""


def check(f: ExprWriter, node: IRCheck) -> str:
    """The flat index; `f` goes on in a block that runs only for indices inside."""
    flat, index = "", [f.expr(each) for each in node.index]
    for dim, (value, each) in enumerate(zip(index, node.extents, strict=True)):
        extent = f.expr(each)
        _require(f, f.op(f"icmp ult i64 {value}, {extent}"), node.site + dim, value, extent)
        flat = value if not dim else f.op(f"add i64 {f.op(f'mul i64 {flat}, {extent}')}, {value}")
    return flat


def note_access(f: ExprWriter, node: IRCheck, flat: str, loads: bool) -> None:
    """Before an access to a local array: a load needs a stored element, a store makes it one."""
    if node.stored is None:
        return
    place = f.op(f"getelementptr inbounds i8, ptr {f.arrays[node.stored]}, i64 {flat}")
    if loads:
        mark = f.op(f"load i8, ptr {place}")
        _require(f, f.op(f"icmp ne i8 {mark}, 0"), node.site + len(node.index), flat, "0")
    else:
        f.do(f"store i8 1, ptr {place}")


def nonzero(f: ExprWriter, node: IRNonzero) -> str:
    """The step, which is not zero."""
    value = f.expr(node.value)
    _require(f, f.op(f"icmp ne i64 {value}, 0"), node.site, "0", "0")
    return value


def _require(f: ExprWriter, test: str, site: int, index: str, extent: str) -> None:
    f.module.declare("@tack.note", _NOTE)
    n = f.fresh()
    f.branch(test, f"passed{n}", f"refused{n}")
    f.label(f"refused{n}")
    f.do(f"call void @tack.note(ptr {f.arrays[ERRORS]}, i64 {f.iteration}, i64 {site}, i64 {index}, i64 {extent})")
    f.goto(f.failed)
    f.label(f"passed{n}")
