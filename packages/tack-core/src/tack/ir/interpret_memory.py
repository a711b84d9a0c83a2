"""Local arrays and atomics in the reference interpreter: what `interpret` does not need to know of them.

Iterations run one after another, or in turns, so an atomic is a load, an operation and a store.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tack.ir.nodes import IRAtomic, IRExpr, IRLocalArray
from tack.ir.numerics import operation

__all__ = ["atomic", "declare"]

Env = dict[Any, Any]
_UNDEFINED = 0xC5  # each byte of an element that nothing was stored in: a mistake shows in the numbers


class Compiler(Protocol):
    """What is needed of the interpreter's compiler."""

    def value(self, node: IRExpr) -> Callable[[Env], Any]: ...

    def index(self, array: str, nodes: tuple[IRExpr, ...], span: Any, access: Any) -> Callable[[Env, int], int]: ...


def declare(array: IRLocalArray) -> Callable[[Env], None]:
    """The action that gives a local or shared array new, undefined elements."""
    assert array.type is not None
    name, dtype, size = array.name, array.type.numpy, math.prod((*array.shape, *array.element))

    def run(env: Env) -> None:
        env[name] = np.full(size * dtype.itemsize, _UNDEFINED, np.uint8).view(dtype)

    return run


def atomic(compiler: Compiler, node: IRAtomic) -> Callable[[Env], None]:
    """The action of an atomic update."""
    value, result = compiler.value(node.value), node.result
    assert node.value.type is not None
    name, function = node.array, operation(node.op, node.value.type)
    index = compiler.index(name, node.index, node.span, "atomic")

    def run(env: Env) -> None:
        array = env[name]
        i = index(env, array.size)
        amount = value(env)
        old = array[i]
        array[i] = function(old, amount)
        if result is not None:
            env[result] = old

    return run
