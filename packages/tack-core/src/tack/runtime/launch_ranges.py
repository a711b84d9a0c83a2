"""The ranges of a launch, quickly: Python code for bounds that are literals, sizes of arrays and integer arguments.

All other bounds, and ranges that cannot be run, are left to `launch_checks.ranges_of_launch`, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tack.ir.nodes import IRCast, IRConst, IRDimSize, IRExpr, IRFunc, IRName
from tack.ir.types import ScalarType, i64
from tack.runtime.launch_checks import ranges_of_launch

__all__ = ["launch_ranges"]

Ranges = Callable[[Sequence[Any]], list[range]]


def launch_ranges(func: IRFunc) -> Ranges:
    """The function from the arguments of compiled `func` to the range of each dimension of its loop; `ValueError` where none can
    be run."""
    slow = partial(ranges_of_launch, func)
    bounds = [] if func.bound_prologue else [_dimension(func, dim.start, dim.end, dim.step) for dim in func.loop.dims]
    if not bounds or None in bounds:
        return slow
    names = [f"r{k}" for k in range(len(bounds))]
    lines = [f"{name} = {bound}" for name, bound in zip(names, bounds, strict=True)]
    if len(names) > 1:  # the extents of one range are below 2^63, a product may not be
        lines.append(f"if {' * '.join(f'len({name})' for name in names)} > {i64.max}: return slow(args)")
    scope: dict[str, Any] = {"slow": slow}
    exec("def ranges(args):\n " + "\n ".join([*lines, f"return [{', '.join(names)}]"]), scope)
    return scope.pop("ranges")  # left in its own globals it would be a cycle


def _dimension(func: IRFunc, start: IRExpr, end: IRExpr, step: IRExpr) -> str | None:
    """Python code for one range; None for bounds that it does not stand for."""
    if not (isinstance(start, IRConst) and isinstance(step, IRConst) and int(start.value) == 0 and int(step.value) == 1):
        return None  # ranges from elsewhere may have more points than `len` can count
    stop = _bound(func, end)
    return None if stop is None else f"range({stop})"


def _bound(func: IRFunc, bound: IRExpr) -> str | None:
    slots = {param.name: slot for slot, param in enumerate(func.params)}
    match bound:
        case IRConst() if int(bound.value) <= i64.max:  # `len` counts no further
            return str(int(bound.value))
        case IRDimSize():
            attribute = f"shape[{bound.dim}]" if isinstance(bound.dim, int) else bound.dim
            return f"args[{slots[bound.array]}].{attribute}"
        case IRCast() if _widens(bound):
            return _bound(func, bound.value)
        case IRName() if bound.name in slots:
            param = func.params[slots[bound.name]]
            whole = not param.is_array and param.type is not None and param.type.is_int and param.type.max <= i64.max
            return f"int(args[{slots[bound.name]}])" if whole else None
        case _:
            return None


def _widens(cast: IRCast) -> bool:
    source: ScalarType | None = cast.value.type
    return cast.type is i64 and source is not None and source.is_int and source.max <= i64.max
