"""Kernels in debug mode for tests: the typed function that checks, its hidden arguments, and runs on every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gpu_batch import Batch, OnDevice
from host_c import HostUnit
from simulated import simulated_cuda

import tack
from tack.ir.failures import first_failure as failure
from tack.ir.interpret import check_range, interpret
from tack.ir.nodes import IRFunc
from tack.lang.call_shape import describe_call
from tack.lang.kernel import Kernel
from tack.runtime.checked_launch import checked_call
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.kernel_utils import KernelVariant
from tack.testing.targets import typed_call

__all__ = ["Outcome", "checked", "everywhere", "first_failure"]


def checked(kernel: Kernel, args: Sequence[Any]) -> tuple[IRFunc, list[Any]]:
    """The typed function of a debug call with arrays and numbers, and all its arguments; arrays are copies."""
    device = tack.device("cpu")
    call = checked_call(kernel, describe_call(kernel.param_names, _given(args)), device)
    func = typed_call(kernel, call, fma=True)
    return func, [a.numpy() if isinstance(a, tack.Array) else a for a in call.args + call.hidden]


def first_failure(errors: np.ndarray) -> tuple[int, ...] | None:
    """(iteration, site, index, extent) of the first failed check in an errors array."""
    notes = errors[2:].reshape(-1, 4)
    found = notes[notes[:, 0] == errors[0]]
    return None if errors[0] == 2**63 - 1 else tuple(int(word) for word in found[0])


@dataclass(frozen=True)
class Outcome:
    """What a debug call says, the first line of its error or "", and what it leaves in the arrays."""

    error: str
    arrays: tuple[np.ndarray, ...]


def everywhere(cases: Sequence[tuple[Kernel, Sequence[Any]]], folder: Path) -> list[Outcome]:
    """Debug calls on the CPU, on its pool, in the interpreter in both orders, as C and on a simulated GPU, which must agree to
    the bit."""
    functions: list[IRFunc] = []  # one for all calls of a variant
    numbers: list[int] = []
    for kernel, args in cases:
        func, _ = checked(kernel, args)
        if func not in functions:
            functions.append(func)
        numbers.append(functions.index(func))
    entries = [f"k{n}" for n in range(len(functions))]
    unit = HostUnit(list(zip(functions, entries, strict=True)), folder)
    batch = Batch(simulated_cuda()[0])
    variants = [batch.variant(func) for func in functions]
    return [
        _everywhere(kernel, args, unit, entries[n], batch, variants[n]) for (kernel, args), n in zip(cases, numbers, strict=True)
    ]


def _everywhere(kernel: Kernel, args: Sequence[Any], unit: HostUnit, entry: str, batch: Batch, variant: KernelVariant) -> Outcome:
    outcomes = [_called(kernel, args)]
    with tack.device("cpu", num_threads=3), force_fanout():
        outcomes.append(_called(kernel, args))
    for how in ("forwards", "backwards", "C", "GPU"):
        func, values = checked(kernel, args)
        error: Exception | None = None
        if how == "C":
            unit.run(entry, values)
        elif how == "GPU":
            there = OnDevice(values, simulated_cuda()[0])
            try:
                batch.launch(variant, there.args)
            except (IndexError, ValueError) as raised:  # by the loop's bounds, before anything runs
                error = raised
            there.bring_back()
        else:
            interpret(func, values, reverse=how == "backwards")
        error = error or failure(func, values[-2], lambda func=func, values=values: check_range(func, values, {}))
        arrays = [value for param, value in zip(func.params[:-2], values, strict=False) if param.is_array]
        outcomes.append(Outcome(_line(error), tuple(arrays)))
    for each in outcomes[1:]:
        assert each.error == outcomes[0].error
        assert [a.tobytes() for a in each.arrays] == [a.tobytes() for a in outcomes[0].arrays]
    return outcomes[0]


def _called(kernel: Kernel, args: Sequence[Any]) -> Outcome:
    given, error = _given(args), None
    try:
        kernel(*given)
    except (IndexError, ValueError) as raised:
        error = raised
    return Outcome(_line(error), tuple(a.numpy() for a in given if isinstance(a, tack.Array)))


def _given(args: Sequence[Any]) -> list[Any]:
    """The arguments of one call, with arrays of its own."""
    arrays = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
    return [a.copy() if isinstance(a, tack.Array) else a for a in arrays]


def _line(error: Exception | None) -> str:
    return "" if error is None else str(error).splitlines()[0].partition(": ")[2].removesuffix(".")
