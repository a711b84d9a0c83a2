"""The key of a variant: every fact of a call that passes or code generators may bake into compiled code, and nothing else.

Facts about the source come from `ir.facts`; what they are in one call is read off its arguments here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tack.ir.facts import ir_shape_deps, written_array_flags
from tack.ir.nodes import IRFunc, IRParam
from tack.ir.resolve import dimension
from tack.ir.types import ScalarType, Width
from tack.lang.array import Array
from tack.lang.texture import Texture3D

__all__ = [
    "VariantKey", "_KeyProbe", "_disjoint_by_slots", "arrays_disjoint", "kernel_variant_key", "overlap_partners",
    "shape_signature", "shapes_of", "store_texture_shapes", "typed_params",
]  # fmt: skip

VariantKey = tuple[Hashable, Hashable, Hashable, tuple[int, ...], bool]


class _ProbeParam:
    """The type and category of one parameter in one call."""

    __slots__ = ("_is_array", "_is_texture", "_nearest", "_texture_shape", "type_annotation")

    def __init__(self) -> None:
        self._nearest = False  # the texture's filter
        self.type_annotation: ScalarType | None = None
        self._is_array = False
        self._is_texture = False
        self._texture_shape: tuple[int, int, int] | None = None


class _KeyProbe:
    """Where one dispatch writes its argument types: its own, so that concurrent dispatches cannot read each other's."""

    __slots__ = ("params",)

    def __init__(self, template: IRFunc) -> None:
        self.params = tuple(_ProbeParam() for _ in template.params)


def kernel_variant_key(
    ir_func: _KeyProbe,
    kernel: Any,
    vector_arrays: Mapping[int, Width],
    template_args: Mapping[int, Any],
    shape_sig: tuple[int, ...],
    disjoint: bool,
) -> VariantKey:
    """The key `(param_sig, vec_sig, tmpl_key, shape_sig, disjoint)` of a call whose types stand on the probe `ir_func`.

    By position of the argument, `vector_arrays` are the component counts of vector arrays and `template_args` describe objects of
    device classes.
    """
    param_sig = tuple(
        (p.type_annotation, p._is_array, p._is_texture, p._texture_shape, *(["nearest"] if p._nearest else []))
        for p in ir_func.params
    )
    tmpl_key = kernel._make_cache_key(vector_arrays, template_args, {}, False) if template_args else None
    return param_sig, tuple(sorted(vector_arrays.items())), tmpl_key, shape_sig, disjoint


def store_texture_shapes(probe: _KeyProbe, args: Sequence[Any], hardware: bool) -> None:
    """Writes what is known of the textures of a call onto its probe. Without `hardware` they are sampled by Tack's own code."""
    for entry, arg in zip(probe.params, args, strict=True):
        if isinstance(arg, Texture3D):
            entry._is_texture, entry._texture_shape, entry._nearest = hardware, arg.shape_3d, arg.interp == "nearest"


def typed_params(template: IRFunc, probe: _KeyProbe, args: Sequence[Any]) -> tuple[IRParam, ...]:
    """The parameters of the template with what the probe says of them. Textures sampled by software are arrays, too."""
    return tuple(
        IRParam(
            param.name,
            entry._is_array and not entry._is_texture,
            entry.type_annotation,
            param.span,
            texture=arg.facts(entry._is_texture) if isinstance(arg, Texture3D) else None,
            element=param.element,
        )
        for param, entry, arg in zip(template.params, probe.params, args, strict=True)
    )


def shapes_of(params: Sequence[IRParam], args: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter that is an array; a texture's texels stand in a row."""
    shapes: dict[str, tuple[int, ...]] = {}
    for param, arg in zip(params, args, strict=True):
        if param.is_array:
            shapes[param.name] = (math.prod(arg.shape_3d),) if isinstance(arg, Texture3D) else arg.shape
    return shapes


def shape_signature(template: IRFunc, name_to_array: Mapping[str, Any]) -> tuple[int, ...]:
    """The sizes that the kernel bakes into its code, in the order of `ir_shape_deps`; empty for most 1-D kernels.

    The bound of the parallel loop bakes nothing in. `check_arrays` has seen that there are such arrays and sizes.
    """
    return tuple(dimension(_extents(name_to_array[name]), dim) for name, dim in ir_shape_deps(template))


def _extents(arg: Any) -> tuple[int, ...]:
    return arg.shape_3d if isinstance(arg, Texture3D) else arg.shape


def arrays_disjoint(template: IRFunc, effective_args: Sequence[Any]) -> bool:
    """Whether no array that the kernel may store to overlaps another one of this call, by their byte ranges.

    Arrays that are only read may overlap each other. False when any array's buffer has no `span`.
    """
    spans: list[tuple[int, int, bool]] = []
    for arg, written in zip(effective_args, written_array_flags(template), strict=True):
        if isinstance(arg, Array):
            span = arg._buffer.span
            if span is None:
                return False
            spans.append((*span, written))
    return _apart(spans)


def _apart(spans: list[tuple[int, int, bool]]) -> bool:
    """One walk in the order of addresses: no written (lo, hi, True) range may reach into the next ones, nor be reached."""
    spans.sort()
    end = written_end = 0
    for lo, hi, written in spans:
        if lo < hi:
            if lo < (end if written else written_end):
                return False
            end = max(end, hi)
            if written:
                written_end = max(written_end, hi)
    return True


def overlap_partners(written: Sequence[int], arrays: Sequence[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Each written slot with the array slots that it must not overlap; of two written ones only the first lists the other."""
    return tuple((w, tuple(a for a in arrays if a != w and not (a in written and a < w))) for w in written)


def _disjoint_by_slots(args: Sequence[Any], partners: Sequence[tuple[int, Sequence[int]]]) -> bool | None:
    """`arrays_disjoint` for a call whose `overlap_partners` are known: no template is looked at.

    None where an array that the kernel may store to is read-only (M3).
    """
    disjoint = True
    for slot, others in partners:
        buffer = args[slot]._buffer
        if not buffer.writable:
            return None
        span = buffer.span
        if span is None:
            disjoint = False
        elif disjoint:
            lo, hi = span
            for other in others:
                span = args[other]._buffer.span
                if span is None or (lo < span[1] and span[0] < hi and lo < hi and span[0] < span[1]):
                    disjoint = False
    return disjoint
