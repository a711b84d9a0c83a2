"""What is checked of a call before it may launch, and what of a kernel once: each refusal has its words here.

Checks on every call are those that a signature cannot stand for; the others run once for each new signature.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tack.errors import RaceWarning, fail, warning_text
from tack.ir.facts import atomic_targets, prints_of, workgroup_features
from tack.ir.failures import first_failure, fresh_errors
from tack.ir.interpret import check_range
from tack.ir.interpret_debug import Failed
from tack.ir.nodes import ERRORS, EXTENTS, LANES, IRFunc, IRParam
from tack.ir.races import race_pairs
from tack.ir.types import f64
from tack.ir.uniformity import check_collectives
from tack.ir.walk import walk_func
from tack.lang.array import Array
from tack.lang.texture import Texture3D
from tack.runtime.backend import Backend, Capabilities, require, require_atomic_dtype, require_dtype

if TYPE_CHECKING:
    from tack.runtime.kernel_utils import KernelVariant

__all__ = [
    "_check_call", "check_atomic_alignment", "check_atomic_dtypes", "check_dtypes", "check_f64", "check_full_workgroups",
    "check_prints", "check_workgroup_launch", "check_workgroup_support", "check_writable_arrays", "ranges_of_launch",
    "warn_of_races",
]  # fmt: skip


def _check_call(variant: KernelVariant, args: Sequence[Any]) -> None:
    """What is checked of every call, warm or not: full workgroups, atomic alignment, read-only arrays."""
    check_writable_arrays(variant, args)
    check_atomic_alignment(variant, args)
    check_full_workgroups(variant, args)


def check_writable_arrays(variant: KernelVariant, args: Sequence[Any]) -> None:
    """M3: `ValueError` for a read-only array that the kernel may store to."""
    for slot, name in variant.written_arrays:
        if not args[slot].writable:
            raise fail(
                ValueError,
                f"array '{name}' is read-only, and the kernel may store to it",
                kernel=variant.ir.name,
                remedy=f"Pass a copy: {name}.copy().",
            )


def check_dtypes(backend: Backend, template: IRFunc, args: Sequence[Any]) -> None:
    """`TypeError` for an array whose dtype the device does not support."""
    for param, arg in zip(template.params, args, strict=True):
        if isinstance(arg, Array):
            require_dtype(backend.capabilities, arg.dtype.scalar, kernel=template.name, parameter=param.name)


def check_prints(backend: Backend, template: IRFunc) -> None:
    """P1: `RuntimeError` for a `print`, run or not, on a device that has none."""
    for node in prints_of(template):
        require(backend.capabilities, "supports_print", kernel=template.name, span=node.span, what="`print`")


def check_f64(capabilities: Capabilities, func: IRFunc) -> None:
    """`RuntimeError` for a 64-bit float that compiled `func` computes with, on a device that has none."""
    if not capabilities.supports_f64:
        for node in walk_func(func):
            if getattr(node, "type", None) is f64:
                require(capabilities, "supports_f64", kernel=func.name, span=getattr(node, "span", None))


def check_workgroup_support(capabilities: Capabilities, template: IRFunc, kind: type[Exception] = RuntimeError) -> None:
    """W1: `kind` for a workgroup primitive, run or not, on a device without; ValueError for one that not all lanes may reach."""
    for name, span in workgroup_features(template).items():
        require(capabilities, "supports_workgroups", kernel=template.name, span=span, what=f"`tack.{name}`", kind=kind)
        check_collectives(template)


def check_workgroup_launch(variant: KernelVariant, count: int) -> None:
    """W1: `ValueError` for a launch of `count` iterations that leaves a workgroup whose lanes wait for each other incomplete."""
    if variant.requires_full_workgroups and count % LANES:
        raise fail(
            ValueError,
            f"a launch of {count} iterations has a workgroup without all its {LANES} lanes, which wait for each other",
            kernel=variant.ir.name,
            remedy=f"Run the loop to a multiple of {LANES}, and test inside it whether there is something to do.",
        )


def check_full_workgroups(variant: KernelVariant, args: Sequence[Any]) -> None:
    """`check_workgroup_launch` for the range of a call, which only kernels whose lanes wait for each other are asked for."""
    if variant.requires_full_workgroups:
        check_workgroup_launch(variant, math.prod(map(len, ranges_of_launch(variant.ir, args))))


def check_atomic_dtypes(capabilities: Capabilities, template: IRFunc, params: Sequence[IRParam]) -> None:
    """A1: `TypeError` for atomics on an array of a dtype that has none on the device."""
    types = {param.name: param.type for param in params if param.is_array}
    for name, span in atomic_targets(template).items():
        t = types[name]
        assert t is not None
        require_atomic_dtype(capabilities, t, kernel=template.name, parameter=name, span=span)


def check_atomic_alignment(variant: KernelVariant, args: Sequence[Any]) -> None:
    """M4: `ValueError` for an array that atomics update at an address that is no multiple of its elements' size."""
    for slot, alignment in variant.atomic_targets:
        if args[slot]._buffer.address % alignment:
            name = variant.ir.params[slot].name
            raise fail(
                ValueError,
                f"array '{name}' is the target of atomics and does not start at a multiple of {alignment} bytes",
                kernel=variant.ir.name,
                remedy=f"Pass a copy: {name}.copy().",
            )


def ranges_of_launch(func: IRFunc, args: Sequence[Any]) -> list[range]:
    """The range of each dimension of the parallel loop of compiled `func` in a call; `ValueError` where none can be run.

    Raises what a check of debug mode finds on the way.
    """
    values: list[Any] = []
    errors: Any = None
    for param, arg in zip(func.params, args, strict=True):
        assert param.type is not None
        if isinstance(arg, Array) and param.name == EXTENTS:
            values.append(arg.numpy())
        elif param.name == ERRORS:
            values.append(errors := fresh_errors())
        else:
            values.append(np.empty(0, param.type.numpy) if isinstance(arg, Array | Texture3D) else arg)
    shapes = {param.name: arg.shape for param, arg in zip(func.params, args, strict=True) if isinstance(arg, Array)}
    try:
        return check_range(func, values, shapes)
    except Failed:
        failure = first_failure(func, errors, list[range])
        assert failure is not None
        raise failure from None


def warn_of_races(kernel: Any, template: IRFunc) -> None:
    """E6: a `RaceWarning` at the store of each race that the source shows; once per kernel."""
    if kernel.warned_of_races:
        return
    kernel.warned_of_races = True  # before the warning, which may be an error
    for pair in race_pairs(template):
        if pair.store is not None:
            at = pair.var if not pair.offset else f"{pair.var} {'+' if pair.offset > 0 else '-'} {abs(pair.offset)}"
            text = warning_text(
                f"'{pair.array}' is stored at {pair.var} and read at {at}: iterations have no order, so what is read may be "
                "the old or the new value",
                kernel=template.name,
                span=pair.store,
                remedy="Store into another array than the one that is read.",
            )
            warnings.warn_explicit(text, RaceWarning, pair.store.source.file, pair.store.lineno)
