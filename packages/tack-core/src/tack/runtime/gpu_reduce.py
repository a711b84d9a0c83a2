"""Sums and extrema of f32 arrays on a GPU: kernels written in Tack. Partial sums are f64, in an order that depends on the array's
size alone; an extremum is NaN if an element is.

Knows no vendor; arrays of other dtypes are the host's task.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tack.ir.types import f32, f64
from tack.lang.array import Array
from tack.lang.kernel import kernel

__all__ = ["reduce_on_device"]

_LANES = 1 << 16  # of the first pass
_PARTS = 1 << 10  # that the host gets


@kernel
def tack_sum_f32(values, parts):
    for part in range(parts.size):
        total = 0.0
        for i in range(part, values.size, parts.size):
            total += f64(values[i])
        parts[part] = total


@kernel
def tack_sum_f64(values, parts):
    for part in range(parts.size):
        total = 0.0
        for i in range(part, values.size, parts.size):
            total += values[i]
        parts[part] = total


@kernel
def tack_min(values, parts):
    for part in range(parts.size):
        least = math.inf
        unordered = False
        for i in range(part, values.size, parts.size):
            value = values[i]
            unordered = unordered or value != value
            least = min(least, value)
        parts[part] = math.nan if unordered else least


@kernel
def tack_max(values, parts):
    for part in range(parts.size):
        greatest = -math.inf
        unordered = False
        for i in range(part, values.size, parts.size):
            value = values[i]
            unordered = unordered or value != value
            greatest = max(greatest, value)
        parts[part] = math.nan if unordered else greatest


_PASSES = {"sum": (f64, tack_sum_f32, tack_sum_f64), "min": (f32, tack_min, tack_min), "max": (f32, tack_max, tack_max)}


def reduce_on_device(array: Array, name: str) -> float | None:
    """The "sum", "min" or "max" of a non-empty array; None for one whose elements are no f32 numbers. Waits."""
    if array.dtype is not f32:
        return None
    dtype, first, second = _PASSES[name]
    lanes = min(array.size, _LANES)
    parts = _reduced(first, array.ravel(), lanes, dtype)
    if lanes > _PARTS:
        parts = _reduced(second, parts, _PARTS, dtype)
    with np.errstate(all="ignore"):
        return float(getattr(parts.numpy(), name)())


def _reduced(how: Any, values: Array, count: int, dtype: Any) -> Array:
    device = values.device
    parts = Array(device.memory.empty(dtype.numpy, (count,)), dtype, (count,), device)
    how(values, parts)
    return parts
