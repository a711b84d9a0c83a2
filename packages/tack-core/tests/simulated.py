"""Simulated CUDA devices for tests: tack-sim's driver under the real `cuda.bindings`, for the rest of the process.

Tests of what happens where there is no driver run in processes of their own, or replace the kind's probe.
"""

from __future__ import annotations

from functools import cache

import tack

__all__ = ["simulated_cuda"]

_COUNT = 2


def simulated_cuda(count: int = 1) -> list[tack.Device]:
    """The first `count` (1 or 2) of this process' simulated CUDA devices; the driver is installed with the first call."""
    _install()
    return [tack.device(f"cuda:{index}") for index in range(count)]


@cache
def _install() -> None:
    import tack_sim  # which only tests of simulated devices load

    tack_sim.install("cuda", count=_COUNT)
