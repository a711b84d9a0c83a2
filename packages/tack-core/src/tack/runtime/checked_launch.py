"""What debug mode adds to a launch: the two hidden arguments before it, and after it the error of the first failed check.

The layout of the errors array stands in `ir.nodes`. Knows backends by their contract alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tack.ir.facts import Dim
from tack.ir.failures import first_failure, fresh_errors
from tack.ir.nodes import IRFunc
from tack.ir.resolve import dimension
from tack.ir.types import i64
from tack.lang.array import Array
from tack.lang.call_shape import CallShape
from tack.runtime.device import Device
from tack.runtime.launch_checks import ranges_of_launch

__all__ = ["checked_call", "raise_first_failure"]

_FRESH = fresh_errors()


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
    failure = first_failure(func, call.hidden[0].numpy(), lambda: ranges_of_launch(func, call.args + call.hidden))
    if failure is not None:
        raise failure
