"""Runs programs on the simulated GPU, in every way that it has, and compares what they leave with the oracle, bit for bit."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpu_batch import Batch, OnDevice
from property.check import Failure, Known, raised
from property.generator import Program
from simulated import simulated_cuda

from tack.runtime.kernel_utils import KernelVariant, resolve_variant

__all__ = ["check_simulated"]

_LACKS = "which has no atomics on CUDA"  # of 8 and 16 bits


def check_simulated(programs: Sequence[Program]) -> tuple[list[Failure], int]:
    """What goes wrong with the programs, and how many of them the device ran: not those that need what it lacks.

    Each runs twice on one set of arguments: as it is launched, with 32-bit indices and, over two dimensions, a grid of
    workgroups; then with 64-bit indices and workgroups in a row.
    """
    (gpu,) = simulated_cuda()
    batch, failures = Batch(gpu), list[Failure]()
    cases: list[tuple[Known, OnDevice, KernelVariant]] = []
    with tempfile.TemporaryDirectory() as folder:
        for k, program in enumerate(programs):
            try:
                known = Known(program, Path(folder), f"program_{k}", fma=batch.capabilities.fma)
                given = OnDevice(known.tack_args, gpu)
                cases.append((known, given, resolve_variant(batch, known.kernel, replace(known.call, args=tuple(given.args)))))
            except Exception as error:  # whatever it is, it is the failure that is looked for
                if _LACKS not in str(error):
                    failures.append(raised(program, "compile for cuda", error))
        batch.compile()
    failures += [each for case in cases for each in _differences(batch, *case)]
    return failures, len(cases)


def _differences(batch: Batch, known: Known, given: OnDevice, variant: KernelVariant) -> list[Failure]:
    failures: list[Failure] = []
    for way, wide in (("cuda", False), ("cuda, wide", True)):

        def run(wide: bool = wide) -> None:
            given.send()
            batch.launch_by(variant, given.args, wide=wide, rows=wide)
            given.bring_back()

        try:
            difference = known.difference(run)
        except Exception as error:  # as above
            failures.append(raised(known.program, way, error))
            break  # after a fault nothing runs in the context
        if difference:
            failures.append(Failure(known.program, way, "wrong result", difference))
    return failures
