"""What tests of the simulated driver need: a fresh machine under the real binding, checked calls, kernels from CUDA C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from cuda.bindings import driver
from sim_tools import compiled

import tack_sim

__all__ = ["Cuda", "code", "kinds", "machine", "ok"]


def ok(result: tuple[Any, ...]) -> Any:
    """What a call returns that must succeed."""
    status, *values = result
    assert not status, status
    return values[0] if len(values) == 1 else tuple(values)


def code(result: tuple[Any, ...]) -> int:
    """The number of a call's result code."""
    return int(result[0])


def kinds() -> list[str]:
    """The kinds of the reports so far."""
    return [report.kind for report in tack_sim.reports()]


class Cuda:
    """Shorthands in the current context."""

    def __init__(self) -> None:
        ok(driver.cuInit(0))
        self.context = ok(driver.cuDevicePrimaryCtxRetain(0))
        ok(driver.cuCtxSetCurrent(self.context))

    def put(self, array: np.ndarray) -> int:
        """New memory with a copy."""
        address = int(ok(driver.cuMemAlloc(array.nbytes)))
        ok(driver.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes))
        return address

    def get(self, address: int, like: np.ndarray) -> np.ndarray:
        """A copy of memory."""
        out = np.empty_like(like)
        ok(driver.cuMemcpyDtoH(out.ctypes.data, address, out.nbytes))
        return out

    def module(self, source: str) -> Any:
        """A loaded module."""
        return ok(driver.cuModuleLoadData(compiled(source).encode() + b"\0"))

    def launch(self, function: Any, grid: int, block: int, *args: Any, shared: int = 0, stream: int = 0) -> tuple[Any, ...]:
        """Queues a launch; addresses are integers, other arguments ctypes values."""
        values = tuple(getattr(arg, "value", arg) for arg in args)
        types = tuple(ctypes.c_uint64 if isinstance(arg, int) else type(arg) for arg in args)
        return driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, (values, types), 0)


@contextmanager
def machine(**options: Any) -> Iterator[Cuda]:
    """A fresh machine with the context of its first device; the process' own, which other tests may use, returns after it."""
    tack_sim.install("cuda", count=2)
    with tack_sim.fresh(**options):
        yield Cuda()
