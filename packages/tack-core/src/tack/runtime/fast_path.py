"""The dispatch fast path: a call like one before reuses what that call resolved, in two steps.

`Kernel.quick_call` is the last call again: a function generated for one signature and variant, which tests that and launches.
Where it does not fit, `_fast_resolve` looks the call's signature up in `Kernel.signatures`. Equal signatures imply equal variant
keys, up to the sizes that the kernel bakes in and the arrays' overlap, which every call looks at anew. Neither takes a lock,
imports or walks IR, and neither raises: the slow path has the words. Both belong to one kernel and one backend's cache, by the
cache's serial number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tack.ir.facts import Dim, atomic_targets, ir_shape_deps, written_array_flags
from tack.ir.nodes import IRFunc
from tack.ir.resolve import dimension
from tack.ir.types import i32, i64, integer_type_for_value, u64
from tack.lang.array import Array
from tack.lang.call_shape import CallShape
from tack.lang.device_class import Template, is_device_object
from tack.lang.texture import Texture3D
from tack.runtime import native_entry
from tack.runtime.backend import Backend
from tack.runtime.launch_checks import check_full_workgroups
from tack.runtime.template_layout import Layout, _template_layouts, layout_of, read_object
from tack.runtime.variant_key import _disjoint_by_slots, overlap_partners
from tack.runtime.warm_call import QuickCall, WarmCall, quick_call

if TYPE_CHECKING:
    from tack.runtime.kernel_utils import KernelVariant

__all__ = ["MAX_SIGNATURES", "Entry", "Hit", "_call_signature", "_fast_resolve", "_template_layouts", "quicken", "remember"]

MAX_SIGNATURES = 256  # per kernel and backend; past it the kernel's entries are forgotten

Signature = tuple[Any, ...]


class Entry:
    """What the calls of one signature share. Slots count the arguments of compiled code, in which objects are expanded.

    `layouts` are the plan by which objects are read: one for each argument given, None for one that is its own; no plan at all
    where an object has no layout. `kinds` are the slots' parts of the signature. `written` are the
    slots of arrays that the kernel may store to, each with the slots that it must not overlap for `noalias`. `aligned` are the
    slots of arrays that atomics update, with the bits that their addresses may not have (M4). `dims` are the sizes baked into the
    code, but for arrays that objects hold, whose shapes are in the signature (`held`: their slots). `variants` and `quick_calls`
    are keyed on disjointness, or on (disjointness, *sizes) if there are any. No entry holds a class.
    """

    __slots__ = ("aligned", "dims", "held", "kinds", "layouts", "quick_calls", "variants", "written")

    def __init__(
        self,
        layouts: Sequence[Layout | None] | None,
        kinds: Sequence[Any],
        held: Sequence[int],
        written: Sequence[tuple[int, tuple[int, ...]]],
        dims: Sequence[tuple[int, Dim]],
        aligned: Sequence[tuple[int, int]],
    ) -> None:
        self.layouts = layouts
        self.kinds = kinds
        self.held = held
        self.written = written
        self.aligned = aligned
        self.dims = dims
        self.variants: dict[Any, KernelVariant] = {}
        self.quick_calls: dict[Any, tuple[WarmCall, QuickCall]] = {}

    def key(self, args: Sequence[Any], disjoint: bool | None) -> Any:
        """The key of a call in `variants`."""
        return (disjoint, *(dimension(args[slot].shape, dim) for slot, dim in self.dims)) if self.dims else disjoint

    def warm_call(self, args: Sequence[Any], disjoint: bool) -> WarmCall | None:
        """What a call must be like to launch the variant that these arguments launch; None without a plan."""
        if self.layouts is None:
            return None
        return WarmCall(
            layouts=tuple(self.layouts),
            kinds=tuple(self.kinds),
            sizes=tuple((slot, dim, dimension(args[slot].shape, dim)) for slot, dim in self.dims),
            shapes=tuple((slot, args[slot].shape) for slot in self.held),
            written=tuple(slot for slot, _ in self.written),
            aligned=tuple(self.aligned),
            overlaps=tuple((slot, other) for slot, others in self.written for other in others),
            disjoint=disjoint,
        )


class Hit(NamedTuple):
    """A call that has been seen before: its variant and the arguments of compiled code, and where they were found."""

    variant: KernelVariant
    args: Sequence[Any]
    entry: Entry
    key: Any
    disjoint: bool
    entries: dict[Signature, Entry]


def _call_signature(args: Sequence[Any]) -> Signature | None:
    """The signature of a call: an array's `_sig`, `float`, or the type that an integer's value selects; None if undescribed.

    An object of a device class is its layout (or its key, where it has none) and the parts of what it holds, with arrays' shapes.
    """
    found = _read_call(args)
    return None if found is None else found[0]


def _read_call(args: Sequence[Any]) -> tuple[Signature, Sequence[Any]] | None:
    """The signature of a call and the arguments of compiled code, both from one look at each object."""
    signature: list[Any] = []
    expanded: list[Any] | None = None
    add = signature.append
    for place, arg in enumerate(args):
        kind = type(arg)
        if kind is Array or kind is Texture3D:
            add(arg._sig)
        elif kind is float:
            add(float)
        elif kind is int:
            add(i32 if -0x80000000 <= arg < 0x80000000 else _wide(arg))
        elif is_device_object(arg):
            try:
                found = _object_parts(*read_object(arg))
            except TypeError:  # it cannot be an argument
                return None
            if found is None:
                return None
            expanded = list(args[:place]) if expanded is None else expanded
            signature += found[0]
            expanded += found[1]
            continue
        else:
            part = _scalar_part(arg)
            if part is None:
                return None
            add(part)
        if expanded is not None:
            expanded.append(arg)
    return tuple(signature), args if expanded is None else expanded


def _wide(value: int) -> Any:
    if -(2**63) <= value < 2**63:
        return i64
    return u64 if 0 <= value < 2**64 else None


def _scalar_part(arg: Any) -> Any:
    if isinstance(arg, (float, np.floating)):
        return float
    if isinstance(arg, (int, np.integer, np.bool_)):
        return integer_type_for_value(int(arg))
    return None


def _object_parts(
    layout: Layout | None, values: Sequence[Any], template: Template | None
) -> tuple[list[Any], Sequence[Any]] | None:
    """What an object adds to the signature, and the arguments that it becomes."""
    parts: list[Any] = [layout if template is None else template.key]
    for value in values:
        kind = type(value)
        if kind is Array:
            parts += value._sig, value.shape  # its whole shape is in the key
        elif kind is Texture3D:
            parts.append(value._sig)
        else:
            part = _scalar_part(value)
            if part is None:
                return None
            parts.append(part)
    return parts, values


def _fast_resolve(serial: int, kernel: Any, args: Sequence[Any]) -> Hit | None:
    """What a call like one that the cache numbered `serial` has seen resolved: a hit, whose arguments have been checked.

    None sends the call to the slow path, which also raises whatever is wrong with it.
    """
    entries = kernel.signatures.get(serial)
    if entries is None:
        return None
    found = _read_call(args)
    if found is None:
        return None
    entry = entries.get(found[0])
    if entry is None:
        return None
    args = found[1]
    for slot, bits in entry.aligned:
        if args[slot]._buffer.address & bits:
            return None
    disjoint = _disjoint_by_slots(args, entry.written)
    key = entry.key(args, disjoint) if entry.dims else disjoint
    variant = entry.variants.get(key)
    if variant is None or disjoint is None:
        return None
    if variant.requires_full_workgroups:
        check_full_workgroups(variant, args)
    return Hit(variant, args, entry, key, disjoint, entries)


def remember(serial: int, kernel: Any, template: IRFunc, call: CallShape, variant: KernelVariant, overlap_matters: bool) -> None:
    """Notes what a call of the cache numbered `serial` resolved, for later calls of its signature."""
    parts: list[Any] = []
    layouts: list[Layout | None] | None = []
    kinds: list[Any] = []
    held: list[int] = []
    for place, arg in enumerate(call.given):
        described = call.templates.get(place)
        layout = None if described is None else layout_of(arg, described)
        if described is None:
            found = _read_call((arg,))
        else:
            found = _object_parts(layout, described.values, described if layout is None else None)
        if found is None:
            return
        parts += found[0]
        if described is None:
            kinds += found[0]
        else:
            if layout is None:
                layouts = None
            elif not layout.fits(described.values):
                return
            held += [len(kinds) + k for k, value in enumerate(described.values) if type(value) is Array]
            kinds += [v._sig if isinstance(v, Array | Texture3D) else _scalar_part(v) for v in described.values]
        if layouts is not None:
            layouts.append(layout)
    if None in parts:
        return
    signature = tuple(parts)
    entries = kernel.signatures.setdefault(serial, {})
    entry = entries.get(signature)
    if entry is None:
        entry = _new_entry(template, call.args, layouts, kinds, held, overlap_matters)
        if len(entries) >= MAX_SIGNATURES:
            entries.clear()
        entries[signature] = entry
    disjoint = _disjoint_by_slots(call.args, entry.written)
    if disjoint is not None:
        entry.variants[entry.key(call.args, disjoint)] = variant


def _new_entry(
    template: IRFunc,
    args: Sequence[Any],
    layouts: Sequence[Layout | None] | None,
    kinds: Sequence[Any],
    held: Sequence[int],
    overlap_matters: bool,
) -> Entry:
    slots = {param.name: slot for slot, param in enumerate(template.params)}
    arrays = [slot for slot, arg in enumerate(args) if isinstance(arg, Array)]
    flags = written_array_flags(template)
    written = [slot for slot in arrays if flags[slot]]
    partners = overlap_partners(written, arrays if overlap_matters else [])
    sizes = ir_shape_deps(template)
    dims: list[tuple[int, Dim]] = [
        (slots[name], dim) for name, dim in sizes if slots[name] in arrays and slots[name] not in held
    ]  # a texture's signature has its extents
    aligned = tuple((slots[name], args[slots[name]].dtype.itemsize - 1) for name in atomic_targets(template))
    return Entry(layouts, kinds, held, partners, dims, aligned)


def quicken(serial: int, kernel: Any, hit: Hit, backend: Backend) -> None:
    """Makes a call that `_fast_resolve` has just resolved the kernel's quick call, and one that the native entry serves."""
    known = hit.entry.quick_calls.get(hit.key)
    if known is None:
        warm = None if hit.variant.requires_full_workgroups else hit.entry.warm_call(hit.args, hit.disjoint)
        if warm is None:
            return
        known = hit.entry.quick_calls[hit.key] = warm, quick_call(serial, warm, backend.launcher(hit.variant))
    kernel.quick_call = known[1]
    native_entry.add(kernel, serial, known[0], hit.variant, backend, hit.args)
    if kernel.signatures.get(serial) is not hit.entries:  # forgotten meanwhile
        kernel.forget_calls(serial)
