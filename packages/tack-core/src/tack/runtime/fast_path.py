"""The dispatch fast path: a call like one before reuses what that call resolved, in two steps.

`Kernel.quick_call` is the last call again: a function generated for one signature and variant, which tests that and launches.
Where it does not fit, `_fast_resolve` looks the call's signature up in `Kernel.signatures`. Equal signatures imply equal variant
keys, up to the sizes that the kernel bakes in and the arrays' overlap, which every call looks at anew. Neither takes a lock,
imports or walks IR, and neither raises: the slow path has the words. Both belong to one kernel and one backend's cache, by the
cache's serial number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tack.ir.facts import Dim, atomic_targets, ir_shape_deps, written_array_flags
from tack.ir.nodes import IRFunc
from tack.ir.resolve import dimension
from tack.ir.types import ScalarType, i32, i64, integer_type_for_value, u64
from tack.lang.array import Array
from tack.lang.texture import Texture3D
from tack.runtime.variant_key import _disjoint_by_slots, overlap_partners

if TYPE_CHECKING:
    from tack.runtime.kernel_utils import KernelVariant

__all__ = ["MAX_SIGNATURES", "Entry", "QuickCall", "_call_signature", "_fast_resolve", "quicken", "remember"]

QuickCall = Callable[[int, Sequence[Any]], bool]  # (serial of the cache, arguments) -> whether it has launched

MAX_SIGNATURES = 256  # per kernel and backend; past it the kernel's entries are forgotten


class Entry:
    """What the calls of one signature share.

    `written` are the slots of arrays that the kernel may store to, each with the slots that it must not overlap for `noalias`.
    `aligned` are the slots of arrays that atomics update, with the bits that their addresses may not have (M4). `dims` are the
    sizes baked into the code. `variants` and `quick_calls` are keyed on disjointness, or on (disjointness, *sizes)
    if there are any.
    """

    __slots__ = ("aligned", "dims", "quick_calls", "variants", "written")

    def __init__(
        self,
        written: Sequence[tuple[int, tuple[int, ...]]],
        dims: Sequence[tuple[int, Dim]],
        aligned: Sequence[tuple[int, int]],
    ) -> None:
        self.written = written
        self.aligned = aligned
        self.dims = dims
        self.variants: dict[Any, KernelVariant] = {}
        self.quick_calls: dict[Any, QuickCall] = {}

    def key(self, args: Sequence[Any], disjoint: bool | None) -> Any:
        """The key of a call in `variants`."""
        return (disjoint, *(dimension(args[slot].shape, dim) for slot, dim in self.dims)) if self.dims else disjoint


def _call_signature(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The signature of a call: an array's `_sig`, `float`, or the type that an integer's value selects; None if undescribed."""
    signature: list[Any] = []
    add = signature.append
    for arg in args:
        kind = type(arg)
        if kind is Array or kind is Texture3D:
            add(arg._sig)
        elif kind is float:
            add(float)
        elif kind is int:
            add(i32 if -0x80000000 <= arg < 0x80000000 else _wide(arg))
        elif isinstance(arg, (float, np.floating)):
            add(float)
        elif isinstance(arg, (int, np.integer, np.bool_)):
            add(integer_type_for_value(int(arg)))
        else:
            return None
    return tuple(signature)


def _wide(value: int) -> Any:
    if -(2**63) <= value < 2**63:
        return i64
    return u64 if 0 <= value < 2**64 else None


def _fast_resolve(serial: int, kernel: Any, args: Sequence[Any]) -> KernelVariant | None:
    """The variant of a call like one that the cache numbered `serial` has seen, its arrays checked.

    None sends the call to the slow path, which also raises whatever is wrong with it.
    """
    entries = kernel.signatures.get(serial)
    if entries is None:
        return None
    entry = entries.get(_call_signature(args))
    if entry is None:
        return None
    for slot, bits in entry.aligned:
        if args[slot]._buffer.address & bits:
            return None
    disjoint = _disjoint_by_slots(args, entry.written)
    return entry.variants.get(entry.key(args, disjoint) if entry.dims else disjoint)


def remember(
    serial: int, kernel: Any, template: IRFunc, args: Sequence[Any], variant: KernelVariant, overlap_matters: bool
) -> None:
    """Notes what a call of the cache numbered `serial` resolved, for later calls of its signature."""
    signature = _call_signature(args)
    if signature is None or None in signature:
        return
    entries = kernel.signatures.setdefault(serial, {})
    entry = entries.get(signature)
    if entry is None:
        entry = _new_entry(template, args, overlap_matters)
        if len(entries) >= MAX_SIGNATURES:
            entries.clear()
        entries[signature] = entry
    disjoint = _disjoint_by_slots(args, entry.written)
    if disjoint is not None:
        entry.variants[entry.key(args, disjoint)] = variant


def _new_entry(template: IRFunc, args: Sequence[Any], overlap_matters: bool) -> Entry:
    slots = {param.name: slot for slot, param in enumerate(template.params)}
    arrays = [slot for slot, arg in enumerate(args) if isinstance(arg, Array)]
    flags = written_array_flags(template)
    written = [slot for slot in arrays if flags[slot]]
    partners = overlap_partners(written, arrays if overlap_matters else [])
    sizes = ir_shape_deps(template)
    dims: list[tuple[int, Dim]] = [
        (slots[name], dim) for name, dim in sizes if slots[name] in arrays
    ]  # a texture's signature has its extents
    aligned = tuple((slots[name], args[slots[name]].dtype.itemsize - 1) for name in atomic_targets(template))
    return Entry(partners, dims, aligned)


def quicken(serial: int, kernel: Any, args: Sequence[Any], launch: Callable[[Sequence[Any]], object]) -> None:
    """Makes a call that `_fast_resolve` has just resolved the kernel's quick call; `launch` runs its variant."""
    signature = _call_signature(args)
    entry = kernel.signatures.get(serial, {}).get(signature)
    if entry is None or signature is None:
        return
    disjoint = _disjoint_by_slots(args, entry.written)
    key = entry.key(args, disjoint)
    quick = entry.quick_calls.get(key)
    if quick is None:
        quick = entry.quick_calls[key] = _generate(serial, args, signature, entry, bool(disjoint), launch)
    kernel.quick_call = quick


def _generate(
    serial: int,
    args: Sequence[Any],
    signature: Sequence[Any],
    entry: Entry,
    disjoint: bool,
    launch: Callable[[Sequence[Any]], object],
) -> QuickCall:
    """The function of one signature and variant. Straight code costs a third of the loops over the arguments."""
    scope: dict[str, Any] = {"Array": Array, "Texture3D": Texture3D, "launch": launch}
    tests = [f"p{slot}.shape[{d}] != {args[slot].shape[d]}" for slot, d in entry.dims if isinstance(d, int)]
    tests += [f"p{slot}.size != {args[slot].size}" for slot, d in entry.dims if d == "size"]
    kinds: list[str] = []
    for slot, part in enumerate(signature):
        if isinstance(args[slot], Array | Texture3D):
            scope[f"s{slot}"] = part
            kinds.append(f"p{slot}.__class__ is not {args[slot].__class__.__name__} or p{slot}._sig is not s{slot}")
        else:
            kinds.append(f"p{slot}.__class__ is not float" if part is float else _integer_test(f"p{slot}", part))
    tests = kinds + tests + [f"not p{slot}._buffer.writable" for slot, _ in entry.written]
    tests += [f"p{slot}._buffer.address & {bits}" for slot, bits in entry.aligned]
    lines = [f"if of != {serial} or len(args) != {len(args)}: return False"]
    lines += [f"{', '.join(f'p{slot}' for slot in range(len(args)))}, = args"] if args else []
    lines += [f"if {test}: return False" for test in tests]
    overlaps = [f"(lo{w} < hi{o} and lo{o} < hi{w})" for w, others in entry.written for o in others]
    if overlaps:
        looked_at = sorted({slot for w, others in entry.written if others for slot in (w, *others)})
        lines += ["try:", *(f" lo{slot}, hi{slot} = p{slot}._buffer.span" for slot in looked_at)]
        lines += ["except TypeError: return False"]  # a buffer without a span
        lines += [f"if {'' if disjoint else 'not'} ({' or '.join(overlaps)}): return False"]
    lines += ["launch(args)", "return True"]
    exec("def quick_call(of, args):\n " + "\n ".join(lines), scope)
    return scope.pop("quick_call")  # left in its own globals it would be a cycle


def _integer_test(name: str, type: ScalarType) -> str:
    """Whether an argument is no `int` of which `type` is the type by value (T1)."""
    below = {i32: "", i64: f" or {i32.min} <= {name} <= {i32.max}", u64: f" or {name} <= {i64.max}"}[type]
    return f"{name}.__class__ is not int or not {type.min} <= {name} <= {type.max}{below}"
