"""What debug mode adds to a launch: the two hidden arguments before it, and after it the error of the first failed check.

The layout of the errors array stands in `ir.nodes`. Knows backends by their contract alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tack.errors import fail
from tack.ir.facts import Dim
from tack.ir.interpret import iteration_in_words
from tack.ir.nodes import AFTER, BEFORE, NONE, NOTES, IRFunc, IRSite
from tack.ir.resolve import dimension
from tack.ir.types import i64
from tack.lang.array import Array
from tack.lang.call_shape import CallShape
from tack.runtime.device import Device
from tack.runtime.launch_checks import ranges_of_launch

__all__ = ["checked_call", "raise_first_failure"]

_FRESH = np.full(2 + 4 * NOTES, NONE, np.int64)
_FRESH[1] = 0


def checked_call(kernel: Any, call: CallShape, device: Device) -> CallShape:
    """The call as debug mode launches it on `device`: with an errors array of its own and the sizes that its checks read."""
    call = replace(call, debug=True)
    template: IRFunc = kernel.template(call)
    given = dict(zip(call.names, call.args, strict=True))
    sizes = np.array([_size(given[name], dim) for name, dim in template.extents], np.int64)
    hidden = (Array._new(_FRESH, i64, device), Array._new(sizes, i64, device))
    return replace(call, hidden=hidden)


def _size(arg: Any, dim: Dim) -> int:
    """A size of an argument; 0 where there is none: `resolve_variant` refuses such a call, in better words."""
    try:
        return dimension(arg.shape, dim)
    except (AttributeError, IndexError):
        return 0


def raise_first_failure(func: IRFunc, call: CallShape) -> None:
    """After the launch of a checked call by code made of `func`: raises the error of the first iteration that failed, if any."""
    errors = call.hidden[0].numpy()
    number = int(errors[0])
    if number == NONE:
        return
    notes = errors[2:].reshape(-1, 4)
    _, site, index, extent = (int(word) for word in notes[notes[:, 0] == number][0])
    raise _failure(func, func.sites[site], index, extent, _where(func, call, number))


def _where(func: IRFunc, call: CallShape, number: int) -> str:
    """The values of the loop variables in an iteration, in words."""
    if number == BEFORE:
        return "before the parallel loop"
    if number == AFTER:
        return "in the kernel's result"
    return "at " + iteration_in_words(func, ranges_of_launch(func, call.args + call.hidden), number)


def _failure(func: IRFunc, site: IRSite, index: int, extent: int, where: str) -> Exception:
    name = site.array
    if site.kind == "step":
        return fail(
            ValueError, f"the step of this `range` is 0, {where}.", kernel=func.name, span=site.span,
            remedy="Python raises an error here, too; without debug mode the loop runs no iteration.",
        )  # fmt: skip
    if site.kind == "unset":
        at = ", ".join(str(i) for i in np.unravel_index(index, site.shape)[: site.rank])
        return fail(
            ValueError, f"element [{at}] of local array '{name}' is read before it is stored, {where}.", kernel=func.name,
            span=site.span, remedy="Store every element that is read: a local array starts with undefined values.",
        )  # fmt: skip
    has = f"'{name}', which has {_count(extent, 'element')}"
    if site.rank > 1:
        has = f"dimension {site.dim} of '{name}', which has size {extent}"
    last = f"the last one is {extent - 1}" if extent else "there are no elements"
    remedy = f"Negative indices do not count from the end: {last}." if index < 0 else f"Check the index: {last}."
    return fail(IndexError, f"index {index} is outside {has}, {where}.", kernel=func.name, span=site.span, remedy=remedy)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
