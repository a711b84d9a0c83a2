"""Debug mode's lowering: a template in which each index, inner step and read of a local or shared array is checked (M1, M5, K4).

The two arrays of `ir.nodes.ERRORS` and `EXTENTS` follow the kernel's parameters, and array sizes are read from the second one at
run time, so that a debug template bakes no size into its code. Sees no arguments and no devices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from tack.errors import Span
from tack.ir.facts import has_collectives
from tack.ir.nodes import (
    ERRORS,
    EXTENTS,
    LANES,
    Block,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRCheck,
    IRComponent,
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
    IROp,
    IRParam,
    IRRange,
    IRSite,
    IRStmt,
    IRStore,
)
from tack.ir.types import DTYPES, i64, u8
from tack.ir.verify import verify_ir
from tack.ir.walk import expand_block, map_block, map_children, walk_statements, with_parts
from tack.lang.ast_memory import MOST_SHARED_BYTES

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
        self.stored = {array.name: f"{array.name}.stored" for array in _marked(template)}
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
        body = (*self._cleared_together(), *(new for stmt in early for new in self._cleared(stmt)[1:]), *body)
        epilogue, result = map_block(func.epilogue, visit), None if func.result is None else visit(func.result)
        dims = (first, *map_block(tuple(rest), visit))
        bound_prologue = map_block(func.bound_prologue, self._bound)
        func = with_parts(func, prologue, bound_prologue, dims, body, epilogue, result)
        hidden = (IRParam(ERRORS), IRParam(EXTENTS))
        marks = tuple([self._marks(self.local_arrays[of], name) for of, name in self.stored.items()])
        return replace(
            func, params=func.params + hidden, arrays=func.arrays + marks, sites=tuple(self.sites), extents=tuple(self.slots)
        )  # fmt: skip

    def visit(self, node: Any) -> Any:
        """A node with what is in it checked."""
        if node.__class__ is IRDimSize:
            return self._size(node.array, node.dim, node.span)
        return self._node(map_children(node, self.visit))

    def _bound(self, node: Any) -> Any:
        """`visit` for the bound prologue, whose sizes are those of each launch anyway."""
        return self._node(map_children(node, self._bound))

    def _node(self, node: Any) -> Any:
        """A node whose children are checked."""
        kind = node.__class__
        if kind is IRLoad:
            return IRLoad(node.array, self._checked(node), node.type, node.span)
        if kind is IRStore or kind is IRAtomic:
            return replace(node, index=self._checked(node))
        if kind is IRComponent:
            return self._component(node)
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
            self._site(IRSite("index", shown, dim, indices, shape, "element", span))
        if local is not None and name in self.stored:
            what = "shared array" if local.shared else "local array"
            self._site(IRSite("unset", shown, 0, indices, shape, what, span))
        return (IRCheck(name, node.index, extents, first, self.stored.get(name), None, span),)

    def _component(self, node: IRComponent) -> IRCheck:
        """The number of a component, each index checked."""
        first, shape, span = len(self.sites), node.shape, node.span
        for dim in range(len(shape)):
            self._site(IRSite("index", node.vector, dim, len(shape), shape, "component", span))
        extents = tuple([IRConst(size, i64, span) for size in shape])
        return IRCheck("", node.index, extents, first, None, None, span)

    def _site(self, site: IRSite) -> int:
        self.sites.append(site)
        return len(self.sites) - 1

    def _cleared(self, stmt: IRStmt) -> Block:
        """A declaration, followed by that of the array that says what is stored, with nothing stored yet."""
        if not isinstance(stmt, IRDeclare) or stmt.array not in self.stored or self.local_arrays[stmt.array].shared:
            return (stmt,)
        return stmt, *self._clear(stmt.array, IRConst(0, i64), 1, stmt.span)

    def _cleared_together(self) -> Block:
        """What the lanes of a workgroup begin with: nothing is stored in its arrays, whenever they are declared."""
        shared = [name for name in self.stored if self.local_arrays[name].shared]
        clears = [new for name in shared for new in self._clear(name, IROp("thread_id", ()), LANES, None)]
        return (*clears, IRBarrier()) if clears else ()

    def _clear(self, array: str, first: IRExpr, step: int, span: Span | None) -> Block:
        """Marks that nothing is stored in every element, or in each `step`-th from `first` on."""
        name, size = self.stored[array], _size(self.local_arrays[array])
        self.clears += 1
        var = f"{name}.{self.clears}"
        over = IRRange(var, first, IRConst(size, i64), IRConst(step, i64), span)
        clear = IRFor(over, (IRStore(name, (IRName(var, None, span),), IRConst(0, None, span), span),), span)
        return IRDeclare(name, span), clear

    def _marks(self, array: IRLocalArray, name: str) -> IRLocalArray:
        return IRLocalArray(name, name, (_size(array),), (), u8, shared=array.shared)


def _marked(template: IRFunc) -> list[IRLocalArray]:
    """The arrays of which is known what is stored in them. Shared ones need lanes that wait for each other, and memory."""
    local = [array for array in template.arrays if not array.shared]
    shared = [array for array in template.arrays if array.shared]
    if not has_collectives(template):
        return local
    reductions = sum(isinstance(stmt, IRBlockReduce) for stmt in walk_statements(template.loop.body))
    room = MOST_SHARED_BYTES - min(reductions, len(DTYPES)) * LANES * 8 - 16  # which the emitter needs
    room -= sum(_size(array) * (8 if array.type is None else array.type.itemsize) for array in shared)
    for array in shared:
        if _size(array) <= room:
            room -= _size(array)
            local.append(array)
    return local


def _size(array: IRLocalArray) -> int:
    return math.prod((*array.shape, *array.element))
