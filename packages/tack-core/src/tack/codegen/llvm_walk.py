"""How the parallel loop walks its iterations `lo` to `hi`: a range by steps, several dimensions row by row.

No division per element: a chunk's first row is found by division, then counters advance, and the inner loop is contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence

from tack.codegen.llvm_stmt import BlockWriter
from tack.ir.nodes import ERRORS, IRConst, IRExpr, IRParallel, IRRange
from tack.ir.types import u64

__all__ = ["write_rows", "write_steps"]

Fresh = Sequence[tuple[str, str]]  # prologue locals that the body assigns, and the values each iteration starts from


def write_steps(f: BlockWriter, loop: IRParallel, fresh: Fresh) -> None:
    """The whole function for one dimension, after its allocas."""
    dim = loop.dims[0]
    f.branch(f.op("icmp slt i64 %lo, %hi"), "first", "done")
    f.label("first")
    start, step = _word(dim.start, "%t_start0"), _word(dim.step, "%t_step0")
    begin = "" if step == "1" else f.op(f"add i64 {start}, {f.op(f'mul i64 %lo, {step}')}")
    f.goto("iteration")
    f.label("iteration")
    f.do("%n = phi i64 [ %lo, %first ], [ %n.next, %next ]")
    if begin:
        variable = "%i"
        f.do(f"%i = phi i64 [ {begin}, %first ], [ %i.next, %next ]")
    else:
        variable = "%n" if start == "0" else f.op(f"add nsw i64 {start}, %n")
    f.iteration = "%n"
    _iteration(f, loop, [(dim, variable)], fresh, "next")
    f.label("next")
    if begin:
        # The value after the last may overflow; it is never used. A u64 step is no signed number.
        f.do(f"%i.next = add {'' if dim.step.type is u64 else 'nsw '}i64 %i, {step}")
    f.do("%n.next = add nuw nsw i64 %n, 1")
    f.branch(f.op("icmp eq i64 %n.next, %hi"), "done", "iteration", closes=True)
    f.label("done")
    f.do("ret void")


def _word(node: IRExpr, argument: str) -> str:
    return str(node.value) if isinstance(node, IRConst) else argument


def _size(dim: IRRange, k: int) -> str:
    if isinstance(dim.start, IRConst) and isinstance(dim.end, IRConst):
        return str(max(0, int(dim.end.value) - int(dim.start.value)))
    return f"%t_size{k}"


def _iteration(f: BlockWriter, loop: IRParallel, variables: list[tuple[IRRange, str]], fresh: Fresh, proceed: str) -> None:
    for dim, value in variables:
        f.loop_variable(dim.var, value)
    for name, value in fresh:
        f.assign(name, value)
    f.failed = proceed
    f.loops.append((proceed, ""))
    if f.statements(loop.body):
        f.goto(proceed)
    f.loops.pop()


def write_rows(f: BlockWriter, loop: IRParallel, fresh: Fresh) -> None:
    """The whole function for two to four dimensions: rows from the one `lo` is in to the one `hi - 1` is in."""
    last = len(loop.dims) - 1
    sizes = [_size(dim, k) if k else "" for k, dim in enumerate(loop.dims)]
    f.branch(f.op("icmp slt i64 %lo, %hi"), "first", "done")
    f.label("first")
    row, column = _split(f, "%lo", sizes[last])
    final, rest = _split(f, f.op("add nsw i64 %hi, -1"), sizes[last])
    stop = f.op(f"add nuw nsw i64 {rest}, 1")
    outer, left = [""] * last, row
    for k in range(last - 1, 0, -1):
        left, outer[k] = _split(f, left, sizes[k])
    outer[0] = left
    f.goto("row")
    f.label("row")
    f.do(f"%r = phi i64 [ {row}, %first ], [ %r.next, %row.end ]")
    f.do(f"%column = phi i64 [ {column}, %first ], [ 0, %row.end ]")
    digits = [f"%x{k}" for k in range(last)] if last > 1 else ["%r"]
    for digit, first in zip(digits, outer, strict=True):
        if digit != "%r":
            f.do(f"{digit} = phi i64 [ {first}, %first ], [ {digit}.next, %row.end ]")
    at_end = f.op(f"icmp eq i64 %r, {final}")
    end = f.op(f"select i1 {at_end}, i64 {stop}, i64 {sizes[last]}")
    f.goto("iteration")
    f.label("iteration")
    f.do("%n = phi i64 [ %column, %row ], [ %n.next, %next ]")
    variables: list[tuple[IRRange, str]] = []
    for k, dim in enumerate(loop.dims):
        start, index = _word(dim.start, f"%t_start{k}"), (*digits, "%n")[k]
        value = index if start == "0" else f.op(f"add nsw i64 {start}, {index}")
        if isinstance(dim.start, IRConst):
            f.origins[value] = (index, int(dim.start.value))
        variables.append((dim, value))
    if ERRORS in f.arrays:
        f.iteration = f.op(f"add i64 {f.op(f'mul i64 %r, {sizes[last]}')}, %n")
    _iteration(f, loop, variables, fresh, "next")
    f.label("next")
    f.do("%n.next = add nuw nsw i64 %n, 1")
    f.branch(f.op(f"icmp eq i64 %n.next, {end}"), "row.end", "iteration", closes=True)
    f.label("row.end")
    _advance(f, sizes[:last])
    f.branch(at_end, "done", "row")
    f.label("done")
    f.do("ret void")


def _split(f: BlockWriter, number: str, size: str) -> tuple[str, str]:
    return f.op(f"udiv i64 {number}, {size}"), f.op(f"urem i64 {number}, {size}")


def _advance(f: BlockWriter, sizes: list[str]) -> None:
    """The next row: its outer indices advance like the digits of a counter; a single one is the row's own number."""
    f.do("%r.next = add nuw nsw i64 %r, 1")
    if len(sizes) == 1:
        return
    carry = "1"
    for k in range(len(sizes) - 1, 0, -1):
        more = f.op(f"add nuw nsw i64 %x{k}, {carry}")
        full = f.op(f"icmp eq i64 {more}, {sizes[k]}")
        f.do(f"%x{k}.next = select i1 {full}, i64 0, i64 {more}")
        carry = f.op(f"zext i1 {full} to i64")
    f.do(f"%x0.next = add nuw nsw i64 %x0, {carry}")
