"""What a template depends on and does, derived once and memoized on it: sizes baked into code, arrays written, ranks needed.

The variant key and the passes that bake something in both read these facts, so they cannot disagree. Knows no arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tack.ir.bounds import split_prologue
from tack.ir.nodes import IRAssign, IRDimSize, IRFunc, IRLoad, IRName, IRNode, IRRank, IRStore
from tack.ir.walk import walk, walk_func

__all__ = [
    "ArrayUses", "Dim", "array_uses", "ir_shape_deps", "memoized", "written_array_flags", "written_array_params",
]  # fmt: skip

Dim = int | Literal["ndim", "size"]
T = TypeVar("T")


def memoized(key: str) -> Callable[[Callable[[IRFunc], T]], Callable[[IRFunc], T]]:
    """Keeps a function's result in `IRFunc.facts[key]`. Two threads may both compute it: they find the same."""

    def decorate(derive: Callable[[IRFunc], T]) -> Callable[[IRFunc], T]:
        def fact(func: IRFunc) -> T:
            facts: dict[str, Any] = func.facts
            if key in facts:
                return facts[key]
            value = facts[key] = derive(func)
            return value

        fact.__doc__ = derive.__doc__
        return fact

    return decorate


# ----------------------------------------------------------------------------------------------------------- sizes


def _dependent_nodes(func: IRFunc) -> Iterator[IRNode]:
    """Every node whose value reaches generated code as the variant bakes it.

    Not the end of the first parallel dimension, nor what only the bounds need: these are read on every launch.
    """
    func = split_prologue(func)
    yield from walk(func.prologue)
    for position, dim in enumerate(func.loop.dims):
        yield from walk(dim.start)
        if position:
            yield from walk(dim.end)
        yield from walk(dim.step)
    yield from walk(func.loop.body)


@memoized("_aliases")
def _static_array_aliases(func: IRFunc) -> dict[str, str]:
    """Names that only ever stand for one parameter, through any chain of copies: name -> parameter."""
    sources: dict[str, set[str]] = {}
    for node in walk_func(func):
        if isinstance(node, IRAssign):
            value = node.value
            sources.setdefault(node.name, set()).add(value.name if isinstance(value, IRName) else "")
    aliases = {param.name: param.name for param in func.params if param.name not in sources}
    changed = True
    while changed:
        changed = False
        for name, origins in sources.items():
            targets = {aliases.get(origin, "") for origin in origins}
            if name not in aliases and len(targets) == 1 and "" not in targets:
                aliases[name] = targets.pop()
                changed = True
    return aliases


@memoized("_shape_deps")
def ir_shape_deps(func: IRFunc) -> tuple[tuple[str, Dim], ...]:
    """The array sizes that a variant bakes into its code, each once: (parameter, dimension), or "ndim" or "size" for these."""
    aliases = _static_array_aliases(func)
    found: dict[tuple[str, Dim], None] = {}
    for node in _dependent_nodes(func):
        if isinstance(node, IRDimSize):
            found[aliases.get(node.array, node.array), node.dim] = None
        elif isinstance(node, IRLoad | IRStore):
            for dim in range(1, len(node.index)):  # the row sizes of the flat index
                found[aliases.get(node.array, node.array), dim] = None
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------- writes


@memoized("_written_params")
def written_array_params(func: IRFunc) -> frozenset[str] | None:
    """The parameters that the kernel may store to; None (all of them) if a store goes to a name that is no parameter's."""
    aliases = _static_array_aliases(func)
    stores = {node.array for node in walk_func(func) if isinstance(node, IRStore)}
    if not stores <= aliases.keys():
        return None
    return frozenset(aliases[name] for name in stores)


@memoized("_written_flags")
def written_array_flags(func: IRFunc) -> tuple[bool, ...]:
    """For each parameter, whether the kernel may store to it."""
    written = written_array_params(func)
    return tuple(written is None or param.name in written for param in func.params)


# ----------------------------------------------------------------------------------------------------------- ranks


@dataclass(frozen=True, slots=True)
class ArrayUses:
    """How the source uses parameters, one example of each kind: accesses with a number of indices, unpacked shapes, sizes of
    dimensions, and parameters read as numbers."""

    accesses: tuple[IRRank, ...]
    unpacked: tuple[IRRank, ...]
    sizes: tuple[IRDimSize, ...]
    scalars: tuple[IRName, ...]


@memoized("_array_uses")
def array_uses(func: IRFunc) -> ArrayUses:
    """What every new signature is checked against (M1); the first place of each kind of use."""
    params = {param.name for param in func.params}
    accesses: dict[tuple[str, int], IRRank] = {}
    sizes: dict[tuple[str, Dim], IRDimSize] = {}
    scalars: dict[str, IRName] = {}
    for node in walk_func(func):
        if isinstance(node, IRName):
            if node.name in params:
                scalars.setdefault(node.name, node)
        elif isinstance(node, IRLoad | IRStore):
            key = (node.array, len(node.index))
            if key not in accesses:
                accesses[key] = IRRank(node.array, len(node.index), node.span)
        elif isinstance(node, IRDimSize):
            sizes.setdefault((node.array, node.dim), node)
    return ArrayUses(tuple(accesses.values()), func.ranks, tuple(sizes.values()), tuple(scalars.values()))
