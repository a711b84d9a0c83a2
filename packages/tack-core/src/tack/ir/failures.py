"""What is said of a check that failed: debug mode, the interpreter and `check_races` have one text for one mistake.

Reads the errors array whose layout stands in `ir.nodes`. Knows no arguments and no devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tack.errors import Span, fail
from tack.ir.assigned import base_name
from tack.ir.nodes import AFTER, BEFORE, NONE, NOTES, IRCast, IRCheck, IRFunc
from tack.ir.types import u64
from tack.ir.walk import walk_func

__all__ = ["first_failure", "fresh_errors", "outside", "unset", "where_in_words"]


def fresh_errors() -> Any:
    """An errors array before any check has failed."""
    errors = np.full(2 + 4 * NOTES, NONE, np.int64)
    errors[1] = 0
    return errors


def first_failure(func: IRFunc, errors: Any, ranges: Callable[[], Sequence[range]]) -> Exception | None:
    """The error of the first iteration that failed a check, by the errors array after a launch of `func`; None if none did.

    `ranges` gives those of the parallel loop.
    """
    number = int(errors[0])
    if number == NONE:
        return None
    notes = errors[2:].reshape(-1, 4)
    _, at, index, extent = (int(word) for word in notes[notes[:, 0] == number][0])
    site, where = func.sites[at], where_in_words(func, ranges, number)
    if site.kind == "step":
        return fail(
            ValueError, f"the step of this `range` is 0, {where}", kernel=func.name, span=site.span,
            remedy="Python raises an error here, too; without debug mode the loop runs no iteration.",
        )  # fmt: skip
    if site.kind == "unset":
        place = [int(i) for i in np.unravel_index(index, site.shape)[: site.rank]]
        return unset(func.name, site.noun, site.array, place, where, site.span)
    if _is_u64(func, at):
        index %= 1 << 64
    dim = site.dim if site.rank > 1 else None
    return outside(func.name, site.array, index, extent, dim, where, site.span, site.noun)


def outside(
    kernel: str, name: str, index: int, extent: int, dim: int | None, where: str, span: Span | None, noun: str = "element"
) -> Exception:
    """The IndexError for an index outside array or vector `name`: of dimension `dim` (None: its only one), which has `extent`.

    `where` says in which iteration ("" if not), `noun` what it has so many of.
    """
    has = f"'{name}', which has {_count(extent, noun)}"
    if dim is not None:
        has = f"dimension {dim} of '{name}', which has size {extent}"
    last = f"the last one is {extent - 1}" if extent else "there are no elements"
    remedy = f"Negative indices do not count from the end: {last}." if index < 0 else f"Check the index: {last}."
    text = f"index {index} is outside {has}{', ' if where else ''}{where}"
    return fail(IndexError, text, kernel=kernel, span=span, remedy=remedy)


def unset(kernel: str, noun: str, name: str, place: Sequence[int], where: str, span: Span | None) -> Exception:
    """The ValueError for element `place` of a "local array" or "shared array", read before it is stored."""
    message = f"element [{', '.join(map(str, place))}] of {noun} '{name}' is read before it is stored, {where}"
    remedy = f"Store every element that is read: a {noun} starts with undefined values."
    return fail(ValueError, message, kernel=kernel, span=span, remedy=remedy)


def where_in_words(func: IRFunc, ranges: Callable[[], Sequence[range]], number: int) -> str:
    """Where iteration `number` is: "at i = 2, j = 5"."""
    if number == BEFORE:
        return "before the parallel loop"
    if number == AFTER:
        return "in the kernel's result"
    return f"at {_iteration(func, ranges(), number)}"


def _iteration(func: IRFunc, ranges: Sequence[range], number: int) -> str:
    """The values of the loop variables in iteration `number` of a launch over `ranges`."""
    values: list[int] = []
    for each in reversed(ranges[1:]):
        number, step = divmod(number, len(each))
        values.append(each[step])
    values.append(ranges[0].start + ranges[0].step * number)
    names = [base_name(dim.var) for dim in func.loop.dims]
    return ", ".join(f"{name} = {value}" for name, value in zip(names, reversed(values), strict=True))


def _is_u64(func: IRFunc, site: int) -> bool:
    """Whether the index that the check at `site` looks at was made of a u64, whose upper half notes hold as negative numbers."""
    for node in walk_func(func):
        if isinstance(node, IRCheck) and 0 <= site - node.site < len(node.index):
            index = node.index[site - node.site]
            return isinstance(index, IRCast) and index.value.type is u64
    return False


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
