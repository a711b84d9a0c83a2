"""Kernels in debug mode for tests: the typed function that checks, and its hidden arguments as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tack
from tack.ir.nodes import IRFunc
from tack.lang.call_shape import describe_call
from tack.lang.kernel import Kernel
from tack.runtime.checked_launch import checked_call
from tack.testing.targets import typed_call

__all__ = ["checked", "first_failure"]


def checked(kernel: Kernel, args: Sequence[Any]) -> tuple[IRFunc, list[Any]]:
    """The typed function of a debug call with NumPy arrays and numbers, and all its arguments; arrays are copies."""
    device = tack.device("cpu")
    values = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
    call = checked_call(kernel, describe_call(kernel.param_names, values), device)
    func = typed_call(kernel, call, fma=True)
    return func, [a.numpy() if isinstance(a, tack.Array) else a for a in call.args + call.hidden]


def first_failure(errors: np.ndarray) -> tuple[int, ...] | None:
    """(iteration, site, index, extent) of the first failed check in an errors array."""
    notes = errors[2:].reshape(-1, 4)
    found = notes[notes[:, 0] == errors[0]]
    return None if errors[0] == 2**63 - 1 else tuple(int(word) for word in found[0])
