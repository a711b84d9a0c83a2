"""The specification's table of what a hit does and what a miss, by counters around each step.

A call is missed when its variant has to be made, hit by the slow path when there is a variant but the fast path does not know the
call, and hit by the fast path after that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from key_tools import array, counted

import tack
from tack.codegen import llvm_gen
from tack.ir import facts, pipeline, verify
from tack.runtime import cpu, cpu_jit, disk_cache, dispatch, fast_path, kernel_utils, launch_checks
from tack.runtime.cache_store import Store
from tack.runtime.dispatch import get_backend

# Step of the table -> the functions that do it, and how often each of them runs in a miss, in a slow hit and in a fast hit.
STEPS: dict[str, tuple[list[tuple[Any, str]], tuple[int, int, int]]] = {
    "classify arguments": ([(dispatch, "describe_call")], (1, 1, 0)),
    "look up the IR template": ([(tack.Kernel, "template"), (tack.Kernel, "_make_cache_key")], (1, 1, 0)),
    "check_workgroup_support": ([(kernel_utils, "check_workgroup_support")], (1, 1, 0)),
    "type inference, sizes, overlap": (
        [(kernel_utils, "infer_param_types"), (kernel_utils, "shape_signature"), (kernel_utils, "arrays_disjoint")], (1, 1, 0),
    ),
    "build the key, look up the variant": (
        [(kernel_utils, "kernel_variant_key"), (kernel_utils, "kernel_cache_slot")], (1, 1, 0),
    ),
    "look up the variant in the disk cache": ([(kernel_utils, "variant_entry")], (1, 0, 0)),
    "passes": (
        [(pipeline, name) for name in ("expand_samples", "resolve_ir", "annotate_types", "fuse", "optimize")],
        (1, 0, 0),
    ),
    "codegen": ([(llvm_gen, "emit_module"), (cpu, "pack_layout")], (1, 0, 0)),
    "native compile": ([(cpu_jit, "emit_object"), (cpu_jit, "load_object")], (1, 0, 0)),
    "check what each call must be": (
        [(launch_checks, "check_atomic_alignment"), (launch_checks, "check_writable_arrays"),
         (launch_checks, "check_full_workgroups")], (1, 1, 0),
    ),
    "remember the call": ([(kernel_utils, "remember")], (1, 1, 0)),
}  # fmt: skip
MORE_THAN_ONCE = ("_make_cache_key",)  # the key of a variant has that of its template in it


def make_plain() -> tack.Kernel:
    @tack.kernel
    def plain(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * 2.0

    return plain


def make_dot() -> tack.Kernel:
    @tack.kernel
    def dot(v, out):
        for i in range(v.shape[0]):
            out[i] = v[i].dot(v[i])

    return dot


def make_sample() -> tack.Kernel:
    @tack.kernel
    def sample(tex, out):
        for i in range(out.shape[0]):
            out[i] = tex.sample(0.5, 0.5, 0.5)

    return sample


@tack.device_class
class Shift:
    by = 3.0

    def __init__(self, data: tack.Array) -> None:
        self.data = data

    @tack.func
    def at(self, i):
        return self.data[i] + self.by


def make_apply() -> tack.Kernel:
    @tack.kernel
    def apply(s, out):
        for i in range(out.shape[0]):
            out[i] = s.at(i)

    return apply


def make_histogram() -> tack.Kernel:
    @tack.kernel
    def histogram(x, bins):
        for i in range(x.shape[0]):
            tack.atomic_add(bins, 0, x[i])

    return histogram


# Kind of call -> a kernel, its arguments but for `out`, and what comes out.
CALLS: dict[str, tuple[Callable[[], tack.Kernel], Callable[[], Any], list[float]]] = {
    "arrays": (make_plain, lambda: array(3), [0, 2, 4]),
    "vectors": (make_dot, lambda: tack.full(3, 2.0, tack.vec3), [12, 12, 12]),
    "a texture": (make_sample, lambda: tack.texture3d(tack.full((2, 3, 4), 7.0)), [7, 7, 7]),
    "an object": (make_apply, lambda: Shift(array(3)), [3, 4, 5]),
    "atomics": (make_histogram, lambda: array(3), [3, 0, 0]),
}


@pytest.fixture(autouse=True, scope="module")
def _what_is_made_and_learned_once() -> None:
    """Of classes and devices, and the native entry of all kernels."""
    for make, thing, _ in CALLS.values():
        kernel, first = make(), thing()
        for _ in range(4):
            kernel(first, tack.zeros(3))


def three_calls(kind: str, patch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Iterator[tuple[str, Counter[str]]]:
    """A miss, a hit of the slow path and a hit of the fast one, with the counts of the functions at `places`."""
    make, thing, expected = CALLS[kind]
    kernel, first = make(), thing()
    for what in ("miss", "slow hit", "fast hit"):
        if what == "slow hit":
            kernel.forget_calls(get_backend()._cache.serial)
        out = tack.zeros(3)
        with counted(patch, *places) as counts:
            kernel(first, out)
        assert out.numpy().tolist() == expected, what
        yield what, counts
        if what == "slow hit":
            kernel(first, tack.zeros(3))  # the fast path's own first time


@pytest.mark.spec("cache-133", "cache-134", "cache-135", "cache-136", "cache-137", "cache-138", "cache-139", "cache-142")
@pytest.mark.spec("cache-143", "cache-146", "cache-148")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", CALLS)
def test_steps_of_the_table(kind: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places, expected = STEPS[step]
    for (what, counts), times in zip(three_calls(kind, monkeypatch, *places), expected, strict=True):
        for _, name in places:
            if name in MORE_THAN_ONCE:
                assert bool(counts[name]) == bool(times), (what, name)
            else:
                assert counts[name] == times, (what, name)


@pytest.mark.spec("cache-134")
@pytest.mark.parametrize("kind", CALLS)
def test_a_template_key_is_built_for_objects_vectors_and_textures(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make_key = tack.Kernel._make_cache_key

    def noting(*args: Any) -> Any:
        made.append(make_key(*args))
        return made[-1]

    monkeypatch.setattr(tack.Kernel, "_make_cache_key", noting)
    for what, _ in three_calls(kind, monkeypatch):
        assert all((key is None) == (kind in ("arrays", "atomics")) for key in made), what
        assert bool(made) == (what != "fast hit"), what
        made.clear()


@pytest.mark.spec("cache-141", "cache-146")
@pytest.mark.parametrize("kind", CALLS)
def test_a_miss_verifies_at_each_boundary_and_a_hit_not_at_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    verify_ir = verify.verify_ir

    def noting(func: Any, stage: str) -> Any:
        stages.append(stage)
        return verify_ir(func, stage)

    monkeypatch.setattr(pipeline, "verify_ir", noting)
    for what, _ in three_calls(kind, monkeypatch):
        order = [stage for k, stage in enumerate(stages) if not k or stages[k - 1] != stage]
        assert order == (["lowered", "resolved", "typed"] if what == "miss" else []), what
        stages.clear()


@pytest.mark.spec("cache-147")
@pytest.mark.parametrize("kind", CALLS)
def test_a_hit_walks_no_ir(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of a template is memoized on it, and what of a variant is recorded: nodes are walked by a miss alone."""
    for what, counts in three_calls(kind, monkeypatch, (facts, "walk_func"), (facts, "walk_statements"), (facts, "walk")):
        assert bool(counts) == (what == "miss"), (what, counts)


@pytest.mark.spec("cache-147")
def test_the_work_of_a_slow_hit_does_not_grow_with_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in Python's own function calls."""
    import sys

    from tack.testing import kernel_from

    def calls(lines: int) -> int:
        body = "\n".join(f"        out[i] = x[i] * {k}.5 + out[i]" for k in range(lines))
        kernel = kernel_from(f"@tack.kernel\ndef k(x, out):\n    for i in range(x.shape[0]):\n{body}\n")
        x, out = array(3), tack.zeros(3)
        kernel(x, out)
        kernel(x, out)
        kernel.forget_calls(get_backend()._cache.serial)
        count = 0

        def watch(frame: Any, event: str, arg: Any) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(watch)
        try:
            kernel(x, out)
        finally:
            sys.setprofile(None)
        return count

    assert calls(40) == calls(2)


@pytest.mark.spec("cache-143")
def test_every_hit_refuses_read_only_and_misaligned_storage() -> None:
    """Whatever path a call takes, these two depend on the storage of the one call."""
    histogram, x = make_histogram(), array(3)
    raw = np.zeros(20, np.uint8)
    shifted = tack.array_from_ptr(raw.ctypes.data + 1, tack.f32, 3, writable=True, owner=raw)
    locked = np.zeros(3, np.float32)
    locked.flags.writeable = False
    for _ in range(3):
        bins = tack.zeros(3)
        histogram(x, bins)
        histogram(x, bins)
        assert bins.numpy().tolist() == [6, 0, 0]
        with pytest.raises(ValueError, match="multiple of 4 bytes"):
            histogram(x, shifted)
        with pytest.raises(ValueError, match="read-only"):
            histogram(x, tack.from_dlpack(locked))
    assert not raw.any() and not locked.any()


@pytest.mark.spec("cache-144")
def test_every_hit_evaluates_the_launch_range() -> None:
    @tack.kernel
    def fill(out, first, last):
        for i in range(first, last):
            out[i] = 1.0

    for first, last in ((0, 8), (3, 5), (5, 3), (0, 1), (7, 8)):
        for _ in range(3):
            out = tack.zeros(8)
            fill(out, first, last)
            expected = np.zeros(8)
            expected[first:last] = 1
            np.testing.assert_array_equal(out.numpy(), expected)
    assert len(get_backend()._cache[fill]) == 1


@pytest.mark.spec("cache-017", "cache-148")
def test_a_repeated_call_derives_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in CALLS:
        for what, counts in three_calls(kind, monkeypatch, (kernel_utils, "resolve_variant"), (fast_path, "_read_call")):
            assert what != "fast hit" or not counts["resolve_variant"], kind


@pytest.mark.spec("cache-138", "cache-188")
@pytest.mark.parametrize("kind", CALLS)
def test_the_disk_is_asked_by_a_miss_alone(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second kernel of the same source loads what the first has stored: no pass, no verifier, no code generation."""
    monkeypatch.setenv("TACK_CACHE", "write")
    monkeypatch.setenv("TACK_CACHE_DIR", str(tmp_path))
    disk = [(Store, "get"), (Store, "put"), (disk_cache.VariantEntry, "load"), (disk_cache.VariantEntry, "save")]
    work = [(tack.Kernel, "_lower"), (pipeline, "verify_ir"), (kernel_utils, "compile_ir"), (llvm_gen, "emit_module"),
            (cpu_jit, "emit_object"), (cpu_jit, "load_object")]  # fmt: skip
    make, thing, expected = CALLS[kind]
    for stored in (False, True):
        kernel, first, out = make(), thing(), tack.zeros(3)
        with counted(monkeypatch, *disk, *work) as counts:
            kernel(first, out)
        assert out.numpy().tolist() == expected
        wanted = {"get": 2, "load": 1, "load_object": 1}
        if not stored:
            wanted |= {"put": 2, "save": 1, "_lower": 1, "compile_ir": 1, "emit_module": 1, "emit_object": 1}
        assert {name: count for name, count in counts.items() if name != "verify_ir"} == wanted
        assert bool(counts["verify_ir"]) is not stored
        for forget in (True, False, False):
            if forget:
                kernel.forget_calls(get_backend()._cache.serial)
            with counted(monkeypatch, *disk, *work) as counts:
                kernel(first, tack.zeros(3))
            assert not counts


@pytest.mark.spec("cache-153")
@pytest.mark.parametrize("way", ["by keywords", "in debug mode", "an argument without a signature"])
def test_calls_that_always_take_the_slow_path(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often they are made, and though calls of the kernel by position are warm."""
    kernel, x = make_plain(), array(3)
    for _ in range(4):
        kernel(x, tack.zeros(3))
    assert fast_path._call_signature((x, [0.0])) is None
    tack.set_debug(way == "in debug mode")
    try:
        for _ in range(4):
            out = tack.zeros(3)
            with counted(monkeypatch, (dispatch, "describe_call"), (kernel_utils, "_fast_resolve")) as counts:
                if way == "an argument without a signature":
                    with pytest.raises(TypeError, match="argument 'out' is of type list"):
                        kernel(x, [0.0, 0.0, 0.0])
                else:
                    kernel(x, out) if way == "in debug mode" else kernel(out=out, x=x)
                    assert out.numpy().tolist() == [0, 2, 4]
            assert counts["describe_call"] == 1
            assert way != "in debug mode" or not counts["_fast_resolve"]
    finally:
        tack.set_debug(False)
