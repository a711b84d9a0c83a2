"""M1: stage "lowered" to "resolved". Array sizes of one call become literals and every access gets one flat index.

The end of the parallel loop's first dimension, and the bound prologue, keep their sizes: they are read on every launch.
Also owns the checks that every new signature needs: what is an array, and of how many dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tack.errors import fail
from tack.ir.facts import ArrayUses, Dim, array_uses
from tack.ir.nodes import (
    IRAssign,
    IRAtomic,
    IRCheck,
    IRComponent,
    IRConst,
    IRDimSize,
    IRExpr,
    IRFunc,
    IRLoad,
    IRLocalArray,
    IRName,
    IROp,
    IRParallel,
    IRParam,
    IRRange,
    IRRank,
    IRStore,
)
from tack.ir.types import i64
from tack.ir.typing_errors import dimensions, fixed_array, source_text, unpacked
from tack.ir.walk import map_block, map_children, rewrite

__all__ = ["check_arrays", "dimension", "resolve_ir"]

Shapes = Mapping[str, tuple[int, ...]]


def dimension(shape: tuple[int, ...], dim: Dim) -> int:
    """The size that `IRDimSize.dim` names in `shape`: of one dimension, or "ndim", or "size". IndexError if there is none."""
    if isinstance(dim, int):
        return shape[dim]
    return len(shape) if dim == "ndim" else math.prod(shape)


def resolve_ir(func: IRFunc, params: tuple[IRParam, ...], shapes: Shapes) -> IRFunc:
    """The function for a call with `params` (types set) and the `shapes` of its array parameters; stage "resolved"."""
    check_arrays(func, params, shapes)
    stored = {p.name: (*shapes[p.name], *p.element) for p in params if p.is_array}  # with the components of elements
    stored |= {each.name: (*each.shape, *each.element) for each in func.arrays}

    def visit(node: Any) -> Any:
        kind = node.__class__
        if kind is IRName or kind is IRConst:
            return node
        if kind is IRDimSize:
            return IRConst(dimension(shapes[node.array], node.dim), i64, node.span)
        if kind is IRComponent:
            return visit(_indexed(node))
        node = map_children(node, visit)
        if kind is IRCheck:
            return _indexed(node)
        if kind is IRLoad:
            return IRLoad(node.array, (_flat(node.index, stored[node.array]),), None, node.span)
        if kind is IRStore:
            return IRStore(node.array, (_flat(node.index, stored[node.array]),), node.value, node.span)
        if kind is IRAtomic:
            return IRAtomic(node.op, node.array, (_flat(node.index, stored[node.array]),), node.value, node.result, node.span)
        return node

    first, *rest = func.loop.dims
    start, step = visit(first.start), visit(first.step)
    if start is not first.start or step is not first.step:
        first = IRRange(first.var, start, first.end, step, first.span)
    dims = (first, *(visit(each) for each in rest))
    loop = IRParallel(dims, map_block(func.loop.body, visit), func.loop.span)
    bound_prologue = map_block(func.bound_prologue, lambda stmt: rewrite(stmt, _indexed))
    prologue, epilogue = map_block(func.prologue, visit), map_block(func.epilogue, visit)
    result = None if func.result is None else visit(func.result)
    return replace(
        func, params=params, bound_prologue=bound_prologue, prologue=prologue, loop=loop, epilogue=epilogue, result=result,
        arrays=_typed_arrays(func, params), stage="resolved",
    )  # fmt: skip


def _typed_arrays(func: IRFunc, params: tuple[IRParam, ...]) -> tuple[IRLocalArray, ...]:
    """Local arrays with their types: those of `local_array_like` have their parameter's."""
    types = {param.name: param.type for param in params}
    return tuple([replace(each, type=types[each.like]) if each.type is None else each for each in func.arrays])


def _indexed(node: Any) -> Any:
    """A check with its indices marked by "index" operations, the number of a component as arithmetic with such; else the node."""
    if node.__class__ is IRCheck:
        index = tuple([IROp("index", (each,), None, each.span if node.array else node.span) for each in node.index])
        return replace(node, index=index)
    if node.__class__ is not IRComponent:
        return node
    span = node.span
    flat: int | IRExpr = 0
    for part, extent in zip(node.index, node.shape, strict=True):
        each: int | IRExpr = IROp("index", (part,), None, span)
        if isinstance(part, IRConst) and part.value.__class__ is int:
            each = int(part.value)
        if isinstance(flat, int) and isinstance(each, int):
            flat = flat * extent + each
            continue
        if isinstance(flat, int):
            rows: IRExpr = IRConst(flat * extent, None, span)
        else:
            rows = IROp("mul", (flat, IRConst(extent, None, span)), None, span)
        flat = IROp("add", (rows, IRConst(each, None, span) if isinstance(each, int) else each), None, span)
    return flat


def _flat(index: tuple[IRExpr, ...], shape: tuple[int, ...]) -> IRExpr:
    """Row-major address arithmetic in i64, each user index marked by an "index" operation."""
    first = index[0]
    if isinstance(first, IRCheck):
        return first
    flat: IRExpr = IROp("index", (first,), None, first.span)
    for each, size in zip(index[1:], shape[1:], strict=True):
        row = IROp("mul", (flat, IRConst(size, i64, each.span)), None, each.span)
        flat = IROp("add", (row, IROp("index", (each,), None, each.span)), None, each.span)
    return flat


# ---------------------------------------------------------------------------------------------------------- checks


def check_arrays(func: IRFunc, params: tuple[IRParam, ...], shapes: Shapes) -> None:
    """Refuse arguments that the kernel's text does not fit: numbers that are indexed, arrays used as numbers, wrong ranks.

    Needed once for every new signature, also where a variant exists already. TypeError, IndexError or ValueError with a place.
    """
    uses = array_uses(func)
    arrays = {param.name for param in params if param.is_array}
    _check_textures(func, uses, {param.name for param in params if param.texture is not None}, arrays)
    _check_kinds(func, uses, arrays)
    components = {param.name: len(param.element) for param in params}
    for use in uses.accesses:
        _check_access(func.name, use, len(shapes[use.array]), components.get(use.array, 0))
    for use in uses.unpacked:
        rank = len(shapes[use.array])
        if rank != use.rank:
            message, remedy = unpacked(use.array, use.rank, rank)
            raise fail(ValueError, message, kernel=func.name, span=use.span, remedy=remedy)
    for use in uses.sizes:
        rank = len(shapes[use.array])
        if isinstance(use.dim, int) and not -rank <= use.dim < rank:
            raise fail(
                IndexError, f"'{use.array}.shape[{use.dim}]' does not exist: '{use.array}' has {dimensions(rank)}",
                kernel=func.name, span=use.span, remedy=f"Pass an array of more dimensions, or use an index below {rank}.",
            )  # fmt: skip


def _check_textures(func: IRFunc, uses: ArrayUses, textures: set[str], arrays: set[str]) -> None:
    for sample in uses.samples:
        name = sample.texture
        if name not in textures:
            what = "an array" if name in arrays else "a number"
            raise fail(
                TypeError, f"'{name}' is sampled as a texture, but {what} was passed for it", kernel=func.name, span=sample.span,
                remedy=f"Pass tack.texture3d({name})." if name in arrays else f"Pass a texture for '{name}'.",
            )  # fmt: skip
    places = [(use.array, use.span) for use in (*uses.accesses, *uses.unpacked, *uses.sizes)]
    for name, span in (*places, *((each.name, each.span) for each in uses.scalars)):
        if name in textures:
            raise fail(
                TypeError, f"'{name}' is a texture: it has no elements, sizes or value, only samples", kernel=func.name,
                span=span, remedy=f"Write `{name}.sample(u, v, w)`, or pass the array that it was made of.",
            )  # fmt: skip


def _check_kinds(func: IRFunc, uses: ArrayUses, arrays: set[str]) -> None:
    for use in (*uses.accesses, *uses.unpacked, *uses.sizes):
        if use.array not in arrays:
            raise fail(
                TypeError, f"'{use.array}' is used as an array, but a number was passed for it", kernel=func.name,
                span=use.span, remedy=f"Pass an array for '{use.array}'.",
            )  # fmt: skip
    for each in func.arrays:
        if each.type is None and each.like not in arrays:
            raise fail(
                TypeError, f"'{each.like}' is used as an array, but a number was passed for it", kernel=func.name,
                span=each.span, remedy=f"Pass an array for '{each.like}'.",
            )  # fmt: skip
    for name in uses.scalars:
        if name.name in arrays:
            if _is_assigned(func, name):
                message, remedy = fixed_array(name.name)
                raise fail(TypeError, message, kernel=func.name, span=name.span, remedy=remedy)
            raise fail(
                TypeError, f"'{name.name}' is an array, but is used as a number", kernel=func.name, span=name.span,
                remedy=f"Write an element, such as `{name.name}[i]`, or pass a number.",
            )  # fmt: skip


def _is_assigned(func: IRFunc, name: IRName) -> bool:
    """Whether `name` is the copy of a parameter that the kernel assigns (N5)."""
    values = [stmt.value for stmt in (*func.bound_prologue, *func.prologue) if isinstance(stmt, IRAssign)]
    copied = [value.span for value in values if isinstance(value, IRName) and value.name == name.name]
    return name.span in copied and source_text(name) == name.name


def _check_access(kernel: str, use: IRRank, rank: int, components: int) -> None:
    if rank == use.rank:
        return
    one_each = ", ".join("ijklmnpq"[:rank]) if rank <= 8 else "i, ..."
    remedy = f"Write one index for each dimension, such as `{use.array}[{one_each}]`"
    if components and use.rank == rank + components:
        remedy = f"Its elements have components: `{use.array}[{one_each}][{', '.join('kl'[:components])}]`"
    elif use.rank == 1:
        remedy += f", or pass `{use.array}.ravel()` to see its elements in a row"
    indices = "1 index" if use.rank == 1 else f"{use.rank} indices"
    raise fail(
        IndexError, f"'{use.array}' has {dimensions(rank)}, but {indices} here", kernel=kernel, span=use.span,
        remedy=remedy + ".",
    )  # fmt: skip
