"""What of compiled kernels is kept across processes, and under which key: templates (`.ir`) and variants (`.variant`).

The caches in memory stand in front of it: it is asked only where they have nothing. A key names everything that an entry was made
of; names that lowering resolved are resolved again before an entry is used. Nothing here makes a call fail. Knows no device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tack.errors import Source
from tack.hooks import slots
from tack.ir.facts import array_uses, atomic_targets, ir_shape_deps, prints_of, workgroup_features, written_array_flags
from tack.ir.nodes import IRFunc
from tack.ir.pipeline import CallFacts
from tack.ir.races import race_pairs
from tack.lang.call_shape import CallShape
from tack.lang.source import private_names
from tack.runtime import cache_store
from tack.runtime.backend import Backend
from tack.runtime.cache_fingerprint import Print, Unstable, digest, instance_print, lines_of, tack_version, value_print
from tack.runtime.cache_format import dumps, dumps_func, joined, loads, loads_func, split
from tack.runtime.cache_names import Name, _lookup, _Recorder
from tack.runtime.variant_key import VariantKey

__all__ = ["Built", "VariantEntry", "variant_entry"]

cache_store.set_version(tack_version)

_LINEAGE = "_disk"  # the fact of a template that says which entry it is

# What dispatch asks of a template, so that a variant can be looked up while the IR itself stays unread.
_FACTS: Mapping[str, Callable[[IRFunc], Any]] = {
    "_shape_deps": ir_shape_deps, "_written_flags": written_array_flags, "_atomic_targets": atomic_targets,
    "_array_uses": array_uses, "_workgroup_features": workgroup_features, "_race_pairs": race_pairs,
}  # fmt: skip
_OF_DEBUG = ("_shape_deps", "_written_flags", "_atomic_targets")  # the rest is asked of the template as it was written


@dataclass(frozen=True, slots=True)
class _Lineage:
    """The `.ir` entry of a template: its key, the names in it and their digest, and where the functions in its spans stand here.

    Holds no function: one of a class made per call would keep the class alive.
    """

    key: bytes
    names: tuple[Name, ...]
    names_digest: bytes
    sources: tuple[Source, ...]

    @property
    def places(self) -> dict[Source, int]:
        """The numbers of the sources; of equal ones the first."""
        return {source: number for number, source in reversed(tuple(enumerate(self.sources)))}


# ----------------------------------------------------------------------------------------------------------- templates


def _template(kernel: Any, call: CallShape | None) -> IRFunc:
    """The template of a kernel for calls of this shape: from the disk, else lowered, and stored if it can be."""
    store = cache_store.store()
    key = None if store is None else _ir_key(kernel, call)
    if store is None or key is None:
        return kernel._lower(call)
    found = store.use("ir", key, lambda data: _read_template(data, key, kernel, call))
    if found is not None:
        return found
    if call is not None and call.debug:
        template = kernel._lower(call)  # made of the plain template, whose names are its own
        plain: _Lineage | None = kernel.template(replace(call, debug=False)).facts.get(_LINEAGE)
        lineage = None if plain is None else replace(plain, key=key)
    else:
        recorder = _Recorder(kernel, call)
        template = kernel._lower(call, recorder)
        lineage = _lineage(key, recorder)
    if lineage is not None:
        template.facts[_LINEAGE] = lineage
        _write_template(store, lineage, template)
    return template


slots.template_store = _template


def _ir_key(kernel: Any, call: CallShape | None) -> bytes | None:
    """The key of a template's entry; None where something in it has no fingerprint. Options of the decorator belong here."""
    if kernel._namespace is not None:
        return None
    try:
        return digest(("ir", *_kernel_print(kernel), *_shape_print(call)))
    except Exception:  # `Unstable`, or whatever an object of the user's says when it is looked at
        return None


def _kernel_print(kernel: Any) -> Print:
    fn = kernel.__wrapped__
    cells = tuple(map(_cell_print, fn.__closure__ or ()))
    return kernel.__module__, kernel.__qualname__, kernel.__name__, lines_of(kernel), private_names(fn), _result_print(fn), cells


def _cell_print(cell: Any) -> Print:
    try:
        return value_print(cell.cell_contents)
    except ValueError:  # the enclosing function has not assigned it yet
        return ("unbound",)


def _result_print(fn: Any) -> Print:
    """The type of the kernel's value, where its annotation is one."""
    try:
        return value_print(fn.__annotations__.get("return"))
    except Exception:  # Python may evaluate it here; its text is part of the source, and its names are recorded
        return ("text",)


def _shape_print(call: CallShape | None) -> Print:
    if call is None:
        return (), (), (), "plain"
    return (
        tuple(sorted(call.vector_arrays.items())),
        tuple(sorted(call.texture_arrays.items())),
        tuple((index, instance_print(each.instance)) for index, each in sorted(call.templates.items())),
        "debug" if call.debug else "plain",
    )


def _lineage(key: bytes, recorder: _Recorder) -> _Lineage | None:
    """What a recorded lowering was made of; None where that cannot be told."""
    try:
        sources = recorder.sources()
    except Unstable:
        return None
    return None if recorder.unstable else _Lineage(key, names := tuple(recorder.names), digest(names), sources)


def _read_template(data: bytes, key: bytes, kernel: Any, call: CallShape | None) -> IRFunc | None:
    """The template in an entry; None where a name in it means something else here. Raises whatever is wrong with the entry."""
    listed, func = split(data, 2)
    recorder = _lookup(kernel, call, loads(listed))
    if recorder is None:
        return None
    lineage = _lineage(key, recorder)
    assert lineage is not None
    template = loads_func(func, lineage.sources)
    template.facts[_LINEAGE] = lineage
    if call is None or not call.debug:
        template.facts["_split"] = template  # which is how `lower_checks` leaves one
    return template


def _write_template(store: cache_store.Store, lineage: _Lineage, template: IRFunc) -> None:
    if not store.writes:
        return
    try:
        facts = {name: derive(template) for name, derive in _FACTS.items() if not template.sites or name in _OF_DEBUG}
        if not prints_of(template):
            facts["_prints"] = ()
        data = joined(dumps(lineage.names), dumps_func(template, facts, lineage.places))
    except Exception:  # `Unstorable`, or one of the recursion in deep IR
        return
    store.put("ir", lineage.key, data)


# ------------------------------------------------------------------------------------------------------------ variants


@dataclass(frozen=True, slots=True)
class Built:
    """What compiling a variant gives: the function after all passes, what the backend keeps of it, whether every launch must have
    full workgroups, and the atomics' targets as (slot, alignment)."""

    func: IRFunc
    payload: Any
    requires_full_workgroups: bool
    atomic_targets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class VariantEntry:
    """The place of one variant in the store."""

    store: cache_store.Store
    key: bytes
    lineage: _Lineage
    backend: Backend

    def load(self, args: Sequence[Any]) -> Built | None:
        """The stored variant, ready to be launched with arguments like `args`; None if there is none."""

        def read(data: bytes) -> Built:
            head, artifact, ir = split(data, 3)
            full, targets = loads(head)
            func = loads_func(ir, self.lineage.sources)
            return Built(func, self.backend.load_variant(func, artifact, args), full, targets)

        return self.store.use("variant", self.key, read)

    def save(self, built: Built) -> None:
        """Stores a variant that has just been compiled."""
        if not self.store.writes:
            return
        try:
            artifact = self.backend.variant_artifact(built.payload)
            facts = {} if prints_of(built.func) else {"_prints": ()}
            ir = dumps_func(built.func, facts, self.lineage.places)
            head = dumps((built.requires_full_workgroups, built.atomic_targets))
        except Exception:  # `Unstorable`, or one of the recursion in deep IR
            return
        if artifact is not None:
            self.store.put("variant", self.key, joined(head, artifact, ir))


def variant_entry(backend: Backend, template: IRFunc, key: VariantKey, facts: CallFacts) -> VariantEntry | None:
    """The entry of the variant with this `key` in memory, of a template of this process; None where none is kept.

    In the key on the disk the template's entry and the names in it stand for the kernel and the classes of its objects.
    """
    lineage: _Lineage | None = template.facts.get(_LINEAGE)
    store = None if lineage is None else cache_store.store()
    if lineage is None or store is None:
        return None
    try:
        target = backend.cache_target()
    except Exception:  # the variant is compiled, which says what is wrong if it matters
        return None
    if target is None:
        return None
    param_sig, vec_sig, _, shape_sig, disjoint = key
    whole = ("variant", lineage.key, lineage.names_digest, param_sig, vec_sig, shape_sig, disjoint)
    whole += (str(facts.default_float), facts.fma, backend.label, *target)
    return VariantEntry(store, digest(whole), lineage, backend)
