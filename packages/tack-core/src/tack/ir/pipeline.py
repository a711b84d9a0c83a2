"""The passes in the order they run, as one readable list, with the verifier after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tack.errors import too_deep
from tack.ir.annotate import annotate_types
from tack.ir.assigned import check_assigned
from tack.ir.bounds import split_prologue
from tack.ir.fuse import fuse
from tack.ir.local_arrays import check_local_arrays
from tack.ir.nodes import IRFunc, IRParam, Stage
from tack.ir.optimize import optimize
from tack.ir.resolve import resolve_ir
from tack.ir.sampling import as_arrays, expand_samples
from tack.ir.types import ScalarType, f32
from tack.ir.verify import verify_ir

__all__ = ["PASSES", "CallFacts", "compile_ir", "lower_checks"]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a variant is specialized on: parameter types in order, the shape of each array parameter, the default float (T1),
    whether no written array overlaps another, and whether the target has a fused multiply-add."""

    params: tuple[IRParam, ...]
    shapes: Mapping[str, tuple[int, ...]]
    default_float: ScalarType = f32
    disjoint: bool = False
    fma: bool = True


def _split(func: IRFunc, _facts: CallFacts) -> IRFunc:
    return split_prologue(func)


def _sample(func: IRFunc, facts: CallFacts) -> IRFunc:
    return expand_samples(func, facts.params)


def _resolve(func: IRFunc, facts: CallFacts) -> IRFunc:
    return resolve_ir(func, as_arrays(facts.params), facts.shapes)


def _annotate(func: IRFunc, facts: CallFacts) -> IRFunc:
    return annotate_types(func, func.params, facts.default_float)


def _fuse(func: IRFunc, facts: CallFacts) -> IRFunc:
    return fuse(replace(func, fma=facts.fma, disjoint_arrays=facts.disjoint))


def _optimize(func: IRFunc, _facts: CallFacts) -> IRFunc:
    return optimize(func)


PASSES: tuple[tuple[str, Stage, Callable[[IRFunc, CallFacts], IRFunc]], ...] = (
    ("split", "lowered", _split),
    ("sample", "lowered", _sample),
    ("resolve", "resolved", _resolve),
    ("annotate", "typed", _annotate),
    ("fuse", "typed", _fuse),
    ("optimize", "typed", _optimize),
)


def lower_checks(template: IRFunc) -> IRFunc:
    """A fresh template, after what it must pass (N3, K1), its prologue split into what bounds and what iterations need."""
    if template.facts.get("_split") is template:
        return template
    verify_ir(template, "lowered")
    check_assigned(template)
    check_local_arrays(template)
    split = split_prologue(template)
    if split is not template:
        verify_ir(split, "lowered")
    return split


def compile_ir(template: IRFunc, facts: CallFacts, watch: Callable[[str, IRFunc], None] | None = None) -> IRFunc:
    """The typed function for one call, ready for an emitter. `watch` is told each pass's name and result.

    TypeError, ValueError or IndexError where the arguments' types and shapes do not fit the kernel's text.
    """
    func = template
    try:
        for name, stage, run in PASSES:
            before, func = func, run(func, facts)
            if func is not before or stage != func.stage:  # what a pass left as it was has been verified
                verify_ir(func, stage)
            if watch is not None:
                watch(name, func)
    except RecursionError:
        raise too_deep(template.name, template.span) from None
    return func
