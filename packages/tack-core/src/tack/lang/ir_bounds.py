"""Debug mode's lowering: a template in which each index, each inner step and each read of a local array is checked (M1, M5, K4).

The two arrays of `ir.nodes.ERRORS` and `EXTENTS` follow the kernel's parameters, and array sizes are read from the second one at
run time, so that a debug template bakes no size into its code. Sees no arguments and no devices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from tack.errors import Span
from tack.ir.nodes import (
    ERRORS,
    EXTENTS,
    Block,
    IRAtomic,
    IRCheck,
    IRConst,
    IRDeclare,
    IRDimSize,
    IRExpr,
    IRFor,
    IRFunc,
    IRLoad,
    IRLocalArray,
    IRName,
    IRNonzero,
    IRParam,
    IRRange,
    IRSite,
    IRStmt,
    IRStore,
)
from tack.ir.types import i64, u8
from tack.ir.verify import verify_ir
from tack.ir.walk import expand_block, map_block, map_children, walk_statements, with_parts

__all__ = ["checked_template"]

Dim = int | Literal["ndim", "size"]


def checked_template(template: IRFunc) -> IRFunc:
    """The debug template of a plain template that has passed its checks; both at stage "lowered"."""
    checked = _Bounds(template).run()
    verify_ir(checked, "lowered")
    return checked


class _Bounds:
    """One rewrite. Slots of the extents array and sites are numbered in the order in which they are met."""

    def __init__(self, template: IRFunc) -> None:
        self.template = template
        self.local_arrays = {array.name: array for array in template.arrays}
        self.elements = {param.name: param.element for param in template.params}
        self.stored = {a.name: f"{a.name}.stored" for a in template.arrays if not a.shared}
        self.slots: dict[tuple[str, Dim], int] = {}
        self.sites: list[IRSite] = []
        self.clears = 0

    def run(self) -> IRFunc:
        func, visit = self.template, self.visit
        first, *rest = func.loop.dims
        first = IRRange(first.var, visit(first.start), first.end, visit(first.step), first.span)
        prologue = map_block(func.prologue, visit)
        body = expand_block(map_block(func.loop.body, visit), self._cleared)
        early = [stmt for stmt in walk_statements(prologue) if isinstance(stmt, IRDeclare)]
        body = (*(new for stmt in early for new in self._cleared(stmt)[1:]), *body)
        epilogue, result = map_block(func.epilogue, visit), None if func.result is None else visit(func.result)
        dims = (first, *map_block(tuple(rest), visit))
        func = with_parts(func, prologue, func.bound_prologue, dims, body, epilogue, result)
        hidden = (IRParam(ERRORS), IRParam(EXTENTS))
        marks = tuple(IRLocalArray(name, name, (_size(self.local_arrays[of]),), (), u8) for of, name in self.stored.items())
        return replace(
            func, params=func.params + hidden, arrays=func.arrays + marks, sites=tuple(self.sites), extents=tuple(self.slots)
        )  # fmt: skip

    def visit(self, node: Any) -> Any:
        """A node with what is in it checked."""
        kind = node.__class__
        if kind is IRDimSize:
            return self._size(node.array, node.dim, node.span)
        node = map_children(node, self.visit)
        if kind is IRLoad:
            return IRLoad(node.array, self._checked(node), node.type, node.span)
        if kind is IRStore or kind is IRAtomic:
            return replace(node, index=self._checked(node))
        if kind is IRFor:
            over = node.range
            if isinstance(over.step, IRConst) and over.step.value:
                return node
            step = IRNonzero(over.step, self._site(IRSite("step", span=over.step.span or over.span)), None, over.step.span)
            return IRFor(IRRange(over.var, over.start, over.end, step, over.span), node.body, node.span)
        return node

    def _size(self, array: str, dim: Dim, span: Span | None) -> IRExpr:
        slot = self.slots.setdefault((array, dim), len(self.slots))
        return IRLoad(EXTENTS, (IRConst(slot, i64, span),), None, span)

    def _checked(self, node: IRLoad | IRStore | IRAtomic) -> tuple[IRExpr, ...]:
        """The one index that stands for all of an access."""
        name, rank, span = node.array, len(node.index), node.span
        local = self.local_arrays.get(name)
        if local is None:
            element = self.elements.get(name, ())
            shown, shape, indices = name, (), rank - len(element)
            extents = (
                *(self._size(name, dim, span) for dim in range(indices)),
                *(IRConst(size, i64, span) for size in element),
            )
        else:
            shown, shape, indices = local.source_name, (*local.shape, *local.element), len(local.shape)
            extents = tuple(IRConst(size, i64, span) for size in shape)
        first = len(self.sites)
        for dim in range(rank):
            self._site(IRSite("index", shown, dim, indices, shape, span))
        if name in self.stored:
            self._site(IRSite("unset", shown, 0, indices, shape, span))
        return (IRCheck(name, node.index, extents, first, self.stored.get(name), None, span),)

    def _site(self, site: IRSite) -> int:
        self.sites.append(site)
        return len(self.sites) - 1

    def _cleared(self, stmt: IRStmt) -> Block:
        """A declaration, followed by that of the array that says what is stored, with nothing stored yet."""
        if not isinstance(stmt, IRDeclare) or stmt.array not in self.stored:
            return (stmt,)
        name, size = self.stored[stmt.array], _size(self.local_arrays[stmt.array])
        self.clears += 1
        var, span = f"{name}.{self.clears}", stmt.span
        over = IRRange(var, IRConst(0, i64), IRConst(size, i64), IRConst(1, i64), span)
        clear = IRFor(over, (IRStore(name, (IRName(var, None, span),), IRConst(0, None, span), span),), span)
        return stmt, IRDeclare(name, span), clear


def _size(array: IRLocalArray) -> int:
    return math.prod((*array.shape, *array.element))
