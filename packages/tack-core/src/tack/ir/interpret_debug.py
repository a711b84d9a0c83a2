"""Debug mode's checks in the interpreter: an index or a step that fails one is noted and ends the iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from tack.ir.nodes import BEFORE, ERRORS, NOTES, IRCheck, IRExpr, IRLoad, IRNonzero, IRStore

__all__ = ["ITERATION", "Failed", "check", "checked_load", "nonzero", "refuse", "stored_marks", "unset"]

ITERATION = ("iteration",)  # where an environment keeps the number of the iteration; absent in the prologue

Env = dict[Any, Any]
Value = Callable[[Env], Any]


class Failed(Exception):
    """A check has failed: the iteration ends."""


class Compiler(Protocol):
    """Makes closures of expressions. `unset` is told of a load of an element of a local array that nothing has been stored in."""

    def value(self, node: IRExpr) -> Value: ...

    def unset(self, env: Env, node: IRLoad, at: int) -> None: ...


def refuse(env: Env, site: int, index: int, extent: int) -> NoReturn:
    """Ends the iteration, and notes why if it is the first of all that failed."""
    errors, number = env[ERRORS], env.get(ITERATION, BEFORE)
    if number < errors[0]:
        at = 2 + 4 * (int(errors[1]) % NOTES)
        errors[0] = number
        errors[1] += 1
        errors[at : at + 4] = number, site, index, extent
    raise Failed


def check(compiler: Compiler, node: IRCheck) -> Value:
    """The flat index; raises Failed where a dimension is outside."""
    index, extents = [compiler.value(each) for each in node.index], [compiler.value(each) for each in node.extents]

    def flat(env: Env) -> Any:
        found = [int(value(env)) for value in index]
        result = 0
        for dim, (at, value) in enumerate(zip(found, extents, strict=True)):
            extent = int(value(env))
            if not 0 <= at < extent:
                refuse(env, node.site + dim, at, extent)
            result = result * extent + at
        return np.int64(result)

    return flat


def nonzero(compiler: Compiler, node: IRNonzero) -> Value:
    """The step; raises Failed for zero."""
    value = compiler.value(node.value)

    def step(env: Env) -> Any:
        found = value(env)
        if found == 0:
            refuse(env, node.site, 0, 0)
        return found

    return step


def unset(env: Env, node: IRLoad, at: int) -> NoReturn:
    """Ends the iteration at a load of an element that nothing has been stored in."""
    first = node.index[0]
    assert isinstance(first, IRCheck)
    refuse(env, first.site + len(first.index), at, 0)


def stored_marks(node: IRLoad | IRStore) -> str | None:
    """The array that says which elements of a local array have been stored; None where nothing is checked."""
    first = node.index[0]
    return first.stored if isinstance(first, IRCheck) else None


def checked_load(compiler: Compiler, node: IRLoad, index: Callable[[Env, int], int]) -> Value | None:
    """The load of an element of a local array, which must have been stored; None where that is not checked."""
    name, marks = node.array, stored_marks(node)
    if marks is None:
        return None

    def load(env: Env) -> Any:
        flat = env[name]
        at = index(env, flat.size)
        if not env[marks][at]:
            compiler.unset(env, node, at)
        return flat[at]

    return load
