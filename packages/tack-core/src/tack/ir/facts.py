"""What a template depends on and does, derived once and memoized on it: sizes baked into code, arrays written, ranks needed.

The variant key and the passes that bake something in both read these facts, so they cannot disagree. Knows no arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tack.errors import Span
from tack.ir.bounds import split_prologue
from tack.ir.nodes import (
    ERRORS,
    EXTENTS,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRCheck,
    IRDimSize,
    IRFunc,
    IRLoad,
    IRLocalArray,
    IRName,
    IRNode,
    IROp,
    IRPrint,
    IRRank,
    IRStore,
    IRTextureSample,
)
from tack.ir.walk import walk, walk_func, walk_statements

__all__ = [
    "ArrayUses", "Dim", "array_uses", "atomic_targets", "component_indices", "has_collectives", "ir_shape_deps", "local_arrays",
    "memoized", "prints_of", "prologue_hazards", "workgroup_features", "written_array_flags", "written_array_params",
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
    yield from walk(func.epilogue)
    if func.result is not None:
        yield from walk(func.result)


ByClass = dict[type[Any], list[Any]]


def _by_class(nodes: Iterator[IRNode]) -> ByClass:
    found: ByClass = {}
    for node in nodes:
        found.setdefault(node.__class__, []).append(node)
    return found


@memoized("_nodes")
def _nodes(func: IRFunc) -> ByClass:
    """Every node of the function by its class, in program order: one walk serves all facts."""
    return _by_class(walk_func(func))


def _of(func: IRFunc, *classes: type[Any]) -> list[Any]:
    nodes = _nodes(func)
    return [node for each in classes for node in nodes.get(each, ())]


@memoized("_aliases")
def _static_array_aliases(func: IRFunc) -> dict[str, str]:
    """Names that only ever stand for one parameter, through any chain of copies: name -> parameter."""
    sources: dict[str, set[str]] = {}
    for node in _of(func, IRAssign):
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


_ACCESSES = (IRLoad, IRStore, IRAtomic)


def component_indices(func: IRFunc) -> dict[str, int]:
    """For each parameter, how many of an access's indices name a component of the element: 0, 1 or 2."""
    return {param.name: len(param.element) for param in func.params}


@memoized("_shape_deps")
def ir_shape_deps(func: IRFunc) -> tuple[tuple[str, Dim], ...]:
    """The array sizes that a variant bakes into its code, each once: (parameter, dimension), or "ndim" or "size" for these."""
    aliases = _static_array_aliases(func)
    found: dict[tuple[str, Dim], None] = {}
    components, own = component_indices(func), local_arrays(func)
    for node in _dependent_nodes(func):
        if isinstance(node, IRDimSize):
            found[aliases.get(node.array, node.array), node.dim] = None
        elif isinstance(node, IRTextureSample):
            found.update(((aliases.get(node.texture, node.texture), dim), None) for dim in range(3))
        elif isinstance(node, _ACCESSES) and node.array not in own:
            for dim in range(1, len(node.index) - components.get(node.array, 0)):  # the row sizes of the flat index
                found[aliases.get(node.array, node.array), dim] = None
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------- writes


@memoized("_written_params")
def written_array_params(func: IRFunc) -> frozenset[str] | None:
    """The parameters that the kernel may store to; None (all of them) if a store goes to a name that is no parameter's."""
    aliases = _static_array_aliases(func)
    stores = {node.array for node in _of(func, IRStore, IRAtomic)} - local_arrays(func).keys()
    stores |= {ERRORS} if func.sites else set()
    if not stores <= aliases.keys():
        return None
    return frozenset(aliases[name] for name in stores)


def local_arrays(func: IRFunc) -> dict[str, IRLocalArray]:
    """The local and shared arrays of a function by name."""
    return {array.name: array for array in func.arrays}


@memoized("_atomic_targets")
def atomic_targets(func: IRFunc) -> dict[str, Span | None]:
    """The array parameters that atomics update, each with the place of the first such statement (A1)."""
    found: dict[str, Span | None] = {}
    for stmt in walk_statements(func.loop.body):
        if isinstance(stmt, IRAtomic):
            found.setdefault(stmt.array, stmt.span)
    return found


@memoized("_workgroup_features")
def workgroup_features(func: IRFunc) -> dict[str, Span | None]:
    """The workgroup primitives that a kernel uses, run or not, each with its first place: "shared", "barrier", "thread_id"..."""
    found: dict[str, Span | None] = {}
    for array in func.arrays:
        if array.shared:
            found.setdefault("shared_like" if array.like else "shared", array.span)
    for node in _of(func, IRBarrier, IRBlockReduce):
        found.setdefault("barrier" if isinstance(node, IRBarrier) else node.primitive, node.span)
    for node in _of(func, IROp):
        if node.op == "thread_id":
            found.setdefault("thread_id", node.span)
    return found


def has_collectives(func: IRFunc) -> bool:
    """Whether lanes of a workgroup wait for each other, so that every launch must have full ones (W1)."""
    return any(name == "barrier" or name.startswith("block_") for name in workgroup_features(func))


@memoized("_written_flags")
def written_array_flags(func: IRFunc) -> tuple[bool, ...]:
    """For each parameter, whether the kernel may store to it."""
    written = written_array_params(func)
    return tuple(written is None or param.name in written for param in func.params)


@memoized("_prologue_hazards")
def prologue_hazards(func: IRFunc) -> tuple[tuple[str, str], ...]:
    """K2: pairs of an array that the prologue reads and one that iterations may store to, where both may be one memory.

    Both are parameters; where they are the same one, no launch is without the hazard.
    """
    aliases = _static_array_aliases(func)
    loads = {node.array for node in walk(func.prologue) if isinstance(node, IRLoad)} - {EXTENTS}
    loaded = {aliases.get(name, name) for name in loads}
    arrays = [param.name for param in func.params if param.is_array]
    flags = written_array_flags(func)
    written = {param.name for param, flag in zip(func.params, flags, strict=True) if flag and param.is_array} - {ERRORS}
    pairs = [(read, stored) for read in arrays if read in loaded for stored in arrays if stored in written]
    return tuple((a, b) for a, b in pairs if a == b or not func.disjoint_arrays)


# ---------------------------------------------------------------------------------------------------------- prints


@memoized("_prints")
def prints_of(func: IRFunc) -> tuple[IRPrint, ...]:
    """The prints of the kernel, in program order."""
    return tuple(stmt for stmt in walk_statements(func.loop.body) if isinstance(stmt, IRPrint))


# ----------------------------------------------------------------------------------------------------------- ranks


@dataclass(frozen=True, slots=True)
class ArrayUses:
    """How the source uses parameters, one example of each kind: accesses with a number of indices, unpacked shapes, sizes of
    dimensions, parameters read as numbers, and sampled ones."""

    accesses: tuple[IRRank, ...]
    unpacked: tuple[IRRank, ...]
    sizes: tuple[IRDimSize, ...]
    scalars: tuple[IRName, ...]
    samples: tuple[IRTextureSample, ...] = ()


@memoized("_array_uses")
def array_uses(func: IRFunc) -> ArrayUses:
    """What every new signature is checked against (M1); the first place of each kind of use."""
    params = {param.name for param in func.params}
    accesses: dict[tuple[str, int], IRRank] = {}
    sizes: dict[tuple[str, Dim], IRDimSize] = {}
    scalars: dict[str, IRName] = {}
    samples: dict[str, IRTextureSample] = {}
    components, own = component_indices(func), local_arrays(func)
    for node in _of(func, IRName):
        if node.name in params:
            scalars.setdefault(node.name, node)
    for node in _of(func, IRStore, IRLoad, IRAtomic):  # `a[i] += v` is shown as a whole
        if node.array not in own:
            first = node.index[0]
            count = len(first.index if isinstance(first, IRCheck) else node.index)
            key = (node.array, count - components.get(node.array, 0))
            if key not in accesses:
                accesses[key] = IRRank(*key, node.span)
    for node in _of(func, IRDimSize):
        sizes.setdefault((node.array, node.dim), node)
    for node in _of(func, IRTextureSample):
        samples.setdefault(node.texture, node)
    return ArrayUses(
        tuple(accesses.values()), func.ranks, tuple(sizes.values()), tuple(scalars.values()), tuple(samples.values())
    )
