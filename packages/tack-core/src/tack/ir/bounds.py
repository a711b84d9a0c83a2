"""K1: splits a template's prologue into what the bounds of the parallel loop need and what the iterations need.

The bound prologue holds copies of the pure statements that feed a bound. Statements that feed nothing else leave the prologue,
so that `n = x.shape[0]` before `range(n)` bakes no size into the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tack.errors import fail
from tack.ir.nodes import EXTENTS, Block, IRDeclare, IRFunc, IRIf, IRLoad, IRStmt, IRTextureSample
from tack.ir.walk import assigned_names, expand_block, names_read, walk, walk_statements, with_parts

__all__ = ["result_prologue", "split_prologue"]


def split_prologue(func: IRFunc) -> IRFunc:
    """The template with `bound_prologue` set and its prologue cut down; a template that is split already stays as it is.

    TypeError where an array element would decide a bound.
    """
    found = func.facts.get("_split")
    if found is None:
        found = func.facts["_split"] = _split(func)
        found.facts["_split"] = found
    return found


def _split(func: IRFunc) -> IRFunc:
    dims, prologue = func.loop.dims, func.prologue
    bound = func.bound_prologue or _keep(prologue, _closure(prologue, names_read(dims)))
    _no_loads(func, (*dims, *bound))
    needed = assigned_names(bound)
    rest = assigned_names(prologue) - needed
    roots = names_read(func.loop.body) | _names_of_result(func) | rest
    for assigned, read in _units(prologue):
        if not assigned:
            roots |= read
    prologue = _drop(prologue, needed - _closure(prologue, roots))
    # A local array declared in front of the loop is each iteration's own (K2, K3): its declaration starts the body.
    declared = tuple(stmt for stmt in walk_statements(prologue) if isinstance(stmt, IRDeclare))
    if declared:
        prologue = expand_block(prologue, lambda stmt: () if isinstance(stmt, IRDeclare) else (stmt,))
    return with_parts(func, prologue, bound, dims, declared + func.loop.body, func.epilogue, func.result)


def result_prologue(func: IRFunc) -> Block:
    """K2: the part of the prologue that the kernel's result needs, which is evaluated even where no iteration runs."""
    return _keep(func.prologue, _closure(func.prologue, _names_of_result(func)))


def _names_of_result(func: IRFunc) -> set[str]:
    return set() if func.result is None else names_read((*func.epilogue, func.result))


def _no_loads(func: IRFunc, roots: tuple[Any, ...]) -> None:
    for node in walk(roots):
        if isinstance(node, IRLoad) and node.array != EXTENTS:
            raise fail(
                TypeError, f"an element of '{node.array}' decides a bound of the parallel loop", kernel=func.name,
                span=node.span, remedy="Pass it as an argument.",
            )  # fmt: skip
        if isinstance(node, IRTextureSample):
            raise fail(
                TypeError, f"a sample of '{node.texture}' decides a bound of the parallel loop", kernel=func.name,
                span=node.span, remedy="Pass it as an argument.",
            )  # fmt: skip


def _units(block: Block) -> Iterator[tuple[set[str], set[str]]]:
    """The names each separable part of a block assigns, and those it reads. Loops and regions are taken whole."""
    for stmt in block:
        if isinstance(stmt, IRIf):
            test = names_read(stmt.test)
            yield set(), set() if assigned_names((stmt,)) else test
            for assigned, read in _units(stmt.then + stmt.orelse):
                yield assigned, read | test
        else:
            yield assigned_names((stmt,)), names_read((stmt,))


def _closure(block: Block, wanted: Iterable[str]) -> set[str]:
    """The names that the block assigns and that the values of `wanted` depend on."""
    units = [(assigned, read) for assigned, read in _units(block) if assigned]
    assignable = {name for assigned, _ in units for name in assigned}
    found: set[str] = set()
    front = set(wanted) & assignable
    while front:
        found |= front
        front = {name for assigned, read in units if assigned & found for name in (read | assigned) & assignable} - found
    return found


def _keep(block: Block, names: set[str]) -> Block:
    """The statements that assign one of `names`, with the conditions around them."""
    kept: list[IRStmt] = []
    for stmt in block:
        if isinstance(stmt, IRIf):
            then, orelse = _keep(stmt.then, names), _keep(stmt.orelse, names)
            if then or orelse:
                kept.append(IRIf(stmt.test, then, orelse, stmt.span))
        elif assigned_names((stmt,)) & names:
            kept.append(stmt)
    return tuple(kept)


def _drop(block: Block, names: set[str]) -> Block:
    """The block without the statements that assign nothing but `names`."""
    kept: list[IRStmt] = []
    for stmt in block:
        assigned = assigned_names((stmt,))
        if isinstance(stmt, IRIf) and assigned & names:
            then, orelse = _drop(stmt.then, names), _drop(stmt.orelse, names)
            if then or orelse:
                kept.append(IRIf(stmt.test, then, orelse, stmt.span))
        elif not assigned or not assigned <= names:
            kept.append(stmt)
    return block if len(kept) == len(block) and all(a is b for a, b in zip(kept, block, strict=True)) else tuple(kept)
