"""M1, M5: accesses of local and shared arrays have one index for each dimension, and literal ones lie inside.

Their shapes are known in the template, so this needs no arguments.
"""

from __future__ import annotations

from tack.errors import fail
from tack.ir.facts import local_arrays
from tack.ir.nodes import IRConst, IRFunc, IRLoad, IRLocalArray, IRStore
from tack.ir.walk import walk_func

__all__ = ["check_local_arrays"]


def check_local_arrays(func: IRFunc) -> None:
    """Raise IndexError, with the place, at the first access that its array's shape does not have."""
    if not func.arrays:
        return
    own = local_arrays(func)
    for node in walk_func(func):
        if isinstance(node, IRLoad | IRStore) and node.array in own:
            _check(func.name, own[node.array], node)


def _check(kernel: str, array: IRLocalArray, node: IRLoad | IRStore) -> None:
    name, shape = array.source_name, array.shape
    count, rank = len(node.index) - len(array.element), len(shape)
    if count != rank:
        have = "1 dimension" if rank == 1 else f"{rank} dimensions"
        given = "1 index" if count == 1 else f"{count} indices"
        one_each = ", ".join("ijklmnpq"[:rank]) if rank <= 8 else "i, ..."
        raise fail(
            IndexError, f"'{name}' has {have}, but {given} here", kernel=kernel, span=node.span,
            remedy=f"Write one index for each dimension, such as `{name}[{one_each}]`.",
        )  # fmt: skip
    for each, size in zip(node.index, shape, strict=False):
        if isinstance(each, IRConst) and type(each.value) is int and each.value >= size:
            raise fail(
                IndexError, f"index {each.value} is outside '{name}', which has {size} elements there", kernel=kernel,
                span=each.span, remedy=f"Use an index below {size}.",
            )  # fmt: skip
