"""Compiled variants, the caches that hold them, and `resolve_variant`, the one place where they are made and looked up.

Every backend shares it. Knows no vendor API: a backend compiles what it is given and keeps what it likes as the payload.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tack.hooks import slots
from tack.ir.facts import Dim, atomic_targets, has_collectives, ir_shape_deps, written_array_flags
from tack.ir.nodes import IRFunc
from tack.ir.pipeline import CallFacts, compile_ir
from tack.ir.resolve import check_arrays
from tack.lang.array import Array
from tack.lang.call_shape import CallShape, describe_call
from tack.lang.texture import Texture3D
from tack.lang.type_inference import default_float, infer_param_types
from tack.runtime.backend import Backend
from tack.runtime.disk_cache import Built, variant_entry
from tack.runtime.fast_path import _fast_resolve, remember
from tack.runtime.launch_checks import (
    _check_call,
    check_atomic_dtypes,
    check_dtypes,
    check_f64,
    check_prints,
    check_workgroup_support,
    warn_of_races,
)
from tack.runtime.variant_key import (
    VariantKey,
    _KeyProbe,
    arrays_disjoint,
    kernel_variant_key,
    shape_signature,
    shapes_of,
    store_texture_shapes,
    typed_params,
)

__all__ = [
    "KernelCache", "KernelVariant", "Origin", "_KeyProbe", "_kernel_caches", "arrays_disjoint", "drop_variants",
    "kernel_cache_slot", "kernel_variant_key", "new_kernel_cache", "origins", "resolve_variant", "shape_signature",
]  # fmt: skip


_SLOW = 0.5  # seconds: compilations that take longer say so


class _Referable:
    """What `KernelVariant` is, besides what it has: its attributes are those that the specification names."""

    __slots__ = ("__weakref__",)


class KernelVariant(_Referable):
    """One compiled specialization of a kernel.

    `ir`: what was compiled, after all passes. `payload`: what the backend's `build` returned. `written_arrays`: (index, name)
    of each array argument that the kernel may store to. `atomic_targets`: indices and alignments of the atomics' targets.
    `dispatch_lock` is for backends whose payload holds launch state.
    """

    __slots__ = (
        "atomic_targets", "dispatch_lock", "has_textures", "ir", "payload", "requires_full_workgroups", "written_arrays",
    )  # fmt: skip

    def __init__(self, ir: IRFunc, payload: Any, written_arrays: tuple[tuple[int, str], ...]) -> None:
        self.ir = ir
        self.payload = payload
        self.requires_full_workgroups = False
        self.atomic_targets: tuple[tuple[int, int], ...] = ()
        self.written_arrays = written_arrays
        self.has_textures = False
        self.dispatch_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a variant came from: the seconds it took to compile it, or to load it `from_disk`; `sizes` names those baked in.

    They count from where the call began to look for its template: whoever lowers it, or waits for it, waits for the variant.
    """

    seconds: float
    from_disk: bool
    sizes: tuple[tuple[str, Dim], ...]


origins: weakref.WeakKeyDictionary[KernelVariant, Origin] = weakref.WeakKeyDictionary()


class KernelCache(weakref.WeakKeyDictionary[Any, dict[VariantKey, KernelVariant]]):
    """The variants of one backend: kernel -> key -> variant.

    Keyed on the kernel object, weakly: an `id` would be reused by the next kernel, and compiled code goes with its kernel. What
    the fast path knows stands in the kernel under the cache's `serial`, and goes with the kernel or with the cache.
    """

    _serials = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.serial = next(self._serials)

    def __del__(self) -> None:
        for kernel in tuple(self):
            kernel.forget_calls(self.serial)


_kernel_caches: list[weakref.ref[KernelCache]] = []


def new_kernel_cache() -> KernelCache:
    """An empty cache for a new backend, registered so that `drop_variants` finds it."""
    cache = KernelCache()
    _kernel_caches.append(weakref.ref(cache, _kernel_caches.remove))
    return cache


def kernel_cache_slot(cache: KernelCache, kernel: Any) -> dict[VariantKey, KernelVariant]:
    """The kernel's own dictionary in `cache`; threads that create it at once get the same one."""
    slot = cache.get(kernel)
    return cache.setdefault(kernel, {}) if slot is None else slot


def drop_variants(kernel: Any, is_stale: Callable[[VariantKey], bool]) -> None:
    """Removes the kernel's variants whose key `is_stale`, in every live cache, and what the fast paths know of the kernel."""
    for ref in tuple(_kernel_caches):
        cache = ref()
        slot = None if cache is None else cache.get(kernel)
        if cache is not None and slot is not None:
            for key in slot.copy():  # a copy in one step, since a class may be collected at any time
                if is_stale(key):
                    slot.pop(key, None)
            kernel.forget_calls(cache.serial)


slots.drop_variants = drop_variants


def resolve_variant(
    backend: Backend, kernel: Any, args: Sequence[Any] | CallShape, *, specialize_disjoint: bool = False
) -> KernelVariant:
    """The variant that runs `kernel` on these positional `args`: looked up, or compiled when there is none yet.

    Raises what is wrong with the kernel or with the arguments; nothing has run then. `specialize_disjoint`: arrays that do not
    overlap get a variant of their own. Who launches it describes the call first, so that the launch has the same arguments.
    """
    cache = backend._cache
    given = args.given if isinstance(args, CallShape) else args
    debug = isinstance(args, CallShape) and args.debug
    expanded = isinstance(args, CallShape) and args.templates  # objects were read, and must not be read again
    hit = None if debug or expanded else _fast_resolve(cache.serial, kernel, given)
    if hit is not None:
        return hit.variant
    start = time.perf_counter()
    call = args if isinstance(args, CallShape) else describe_call(kernel.param_names, given)
    args = call.args + call.hidden
    template = kernel.template(call)
    plain = kernel.template(replace(call, debug=False)) if debug else template  # as it was written
    check_workgroup_support(backend.capabilities, plain)
    warn_of_races(kernel, plain)
    probe = _KeyProbe(template)
    infer_param_types(template, args, probe)
    store_texture_shapes(probe, args, backend.capabilities.supports_textures)
    check_dtypes(backend, template, args)
    check_prints(backend, template)
    params = typed_params(template, probe, args)
    arrays = {param.name: arg for param, arg in zip(params, args, strict=True) if isinstance(arg, Array | Texture3D)}
    shapes = shapes_of(params, args)
    check_arrays(plain, params, shapes)  # ranks are not in the key, so a variant that exists says nothing about them
    check_atomic_dtypes(backend.capabilities, plain, params)
    disjoint = specialize_disjoint and arrays_disjoint(template, args)
    key = kernel_variant_key(probe, kernel, call.vector_arrays, call.templates, shape_signature(template, arrays), disjoint)
    slot = kernel_cache_slot(cache, kernel)
    variant = slot.get(key)
    if variant is None:
        facts = CallFacts(params, shapes, default_float(args), disjoint, backend.capabilities.fma)
        variant = slot[key] = _build_variant(backend, template, facts, args, key, start)
    if not debug:
        remember(cache.serial, kernel, template, call, variant, specialize_disjoint)
        if key not in slot:  # dropped meanwhile
            kernel.forget_calls(cache.serial)
    _check_call(variant, args)
    return variant


def _build_variant(
    backend: Backend, template: IRFunc, facts: CallFacts, args: Sequence[Any], key: VariantKey, start: float
) -> KernelVariant:
    """Loads the variant from the disk, or runs the passes and the backend's compiler. Two threads may do so for one key at once:
    either result is right. `start`: when the call began to look for its template."""
    entry = variant_entry(backend, template, key, facts)
    built = None if entry is None else entry.load(args)
    from_disk = built is not None
    if built is None:
        built = _compile(backend, template, facts, args)
    seconds = time.perf_counter() - start
    flags = written_array_flags(template)
    written = tuple((slot, p.name) for slot, p in enumerate(facts.params) if p.is_array and flags[slot])
    variant = KernelVariant(built.func, built.payload, written)
    variant.requires_full_workgroups = built.requires_full_workgroups
    variant.atomic_targets = built.atomic_targets
    variant.has_textures = any(param.texture is not None for param in facts.params)
    origins[variant] = Origin(seconds, from_disk, ir_shape_deps(template))
    if not from_disk:
        _say_if_slow(template.name, seconds)
        if entry is not None:
            entry.save(built)
    return variant


def _compile(backend: Backend, template: IRFunc, facts: CallFacts, args: Sequence[Any]) -> Built:
    func = compile_ir(template, facts)
    check_f64(backend.capabilities, func)
    targets = atomic_targets(template)
    aligned = tuple((slot, p.type.itemsize) for slot, p in enumerate(facts.params) if p.name in targets and p.type)
    return Built(func, backend.build(func, args), has_collectives(template), aligned)


def _say_if_slow(kernel: str, seconds: float) -> None:
    """Tells who waits at a terminal what for."""
    if seconds > _SLOW and sys.stderr is not None and sys.stderr.isatty():
        print(f"tack: compiled kernel '{kernel}' in {seconds:.1f} s", file=sys.stderr)
