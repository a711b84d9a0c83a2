"""`kernel.specialize()` compiles and checks a call and runs nothing; `kernel.variants()` lists what is compiled, in words."""

from __future__ import annotations

import dataclasses
import gc
import traceback
from typing import Any

import numpy as np
import pytest
from fresh_process import run_program
from key_tools import array, both_counts, counted, like

import tack
from tack.runtime import cpu_jit, kernel_utils
from tack.runtime.kernel_utils import drop_variants


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    return scale


@tack.kernel
def window(out, first, last, step):
    for i in range(first, last, step):
        out[i] = 1.0


@tack.device_class
class Holder:
    factor = 2.0
    kind = tack.constant(3, tack.u8)
    axis = tack.constant((1.0, 0.5))

    def __init__(self, data: tack.Array) -> None:
        self.data = data
        self.offset = 1.0

    @tack.func
    def at(self, i):
        return self.data[i] * self.factor + self.offset + self.kind


@tack.kernel
def apply(s, out):
    for i in range(out.shape[0]):
        out[i] = s.at(i)


# ---------------------------------------------------------------------------------------------------------- specialize


def test_specialize_runs_nothing_and_the_call_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scale, x = make_scale(), array(8)
    out = like(x)
    with counted(monkeypatch, (cpu_jit, "compile_module"), (tack.Kernel, "_lower")) as counts:
        assert scale.specialize(x, out, 2.0) is None
        assert counts == {"compile_module": 1, "_lower": 1}
        assert out.numpy().tolist() == [-1] * 8
        scale(x, out, 3.0)
        scale.specialize(x, out, a=5.0)
        scale.specialize(array(16), like(array(16)), 2.0)
        assert counts == {"compile_module": 1, "_lower": 1} and both_counts(scale) == (1, 1)
        assert out.numpy().tolist() == [3.0 * i for i in range(8)]
        scale.specialize(x, out, 2)
        scale.specialize(x, x, 2.0)
        assert counts == {"compile_module": 3, "_lower": 1} and both_counts(scale) == (3, 1)
    assert x.numpy().tolist() == list(range(8))


def test_specialize_of_objects_and_methods() -> None:
    @tack.device_class
    class Field:
        def __init__(self, data):
            self.data = data

        @tack.kernel
        def double(self, out):
            for i in range(out.shape[0]):
                out[i] = self.data[i] * 2

    field, out = Field(array(4)), tack.zeros(4)
    Field.double.specialize(field, out)
    assert out.numpy().tolist() == [0] * 4
    (row,) = Field.double.variants()
    field.double(out)
    assert out.numpy().tolist() == [0, 2, 4, 6] and Field.double.variants() == [row]


def test_specialize_compiles_for_the_device_of_the_call() -> None:
    scale, x = make_scale(), array(4)
    device = tack.device("cpu", num_threads=1)
    with device:
        scale.specialize(x, like(x), 2.0)
    assert both_counts(scale) == (0, 1) and len(device._backend._cache[scale]) == 1


def test_specialize_in_debug_mode_compiles_checked_code() -> None:
    scale, x = make_scale(), array(4)
    tack.set_debug(True)
    try:
        scale.specialize(x, like(x), 2.0)
    finally:
        tack.set_debug(False)
    (row,) = scale.variants()
    assert "index checks" in row.key


def read_only(n: int = 4) -> tack.Array:
    values = np.zeros(n, np.float32)
    values.flags.writeable = False
    return tack.from_dlpack(values)


# Calls that are refused, as arguments of `scale` or of `window`.
WRONG: dict[str, tuple[str, Any]] = {
    "too few arguments": ("scale", lambda x, out: (x, out)),
    "too many arguments": ("scale", lambda x, out: (x, out, 1.0, 2.0)),
    "a list": ("scale", lambda x, out: (x, [1.0], 2.0)),
    "an array for a number": ("scale", lambda x, out: (x, out, x)),
    "a number for an array": ("scale", lambda x, out: (x, 2.0, 2.0)),
    "another rank": ("scale", lambda x, out: (tack.zeros((2, 2)), out, 2.0)),
    "an integer that no type holds": ("scale", lambda x, out: (x, out, 2**70)),
    "a read-only array": ("scale", lambda x, out: (x, read_only(), 2.0)),
    "a step of zero": ("window", lambda x, out: (out, 0, 4, 0)),
    "too many iterations": ("window", lambda x, out: (out, -(2**63), 2**63 - 1, 1)),
}


@pytest.mark.parametrize("row", WRONG)
def test_specialize_raises_what_the_call_raises(row: str) -> None:
    name, make = WRONG[row]
    kernels = {"scale": make_scale, "window": lambda: tack.kernel(window.__wrapped__)}
    x, out = array(4), like(array(4))
    found = []
    for specialize in (True, False, True):
        kernel = kernels[name]()
        with pytest.raises((TypeError, ValueError, IndexError)) as caught:
            (kernel.specialize if specialize else kernel)(*make(x, out))
        found.append((type(caught.value), str(caught.value)))
        if hasattr(caught.value, "diagnostic"):  # a mistake of the user's, which is shown where it was made
            assert len(traceback.extract_tb(caught.value.__traceback__)) <= 2
    assert found[0] == found[1] == found[2]
    assert out.numpy().tolist() == [-1] * 4


@pytest.mark.parametrize(("name", "text"), [("TACK_CACHE", "WRITE"), ("TACK_CACHE_SIZE", "1.5G")])
def test_a_bad_variable_is_shown_at_the_users_call(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv("TACK_CACHE", "read")
    monkeypatch.setenv(name, text)
    scale, x = make_scale(), array(4)
    for call in (scale, scale.specialize):
        with pytest.raises(ValueError, match=f"{name}='{text}': the variable takes ") as caught:
            call(x, like(x), 2.0)
        assert len(traceback.extract_tb(caught.value.__traceback__)) <= 2
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_specialize_takes_keywords_and_names_wrong_ones() -> None:
    scale, x = make_scale(), array(4)
    scale.specialize(a=2.0, x=x, out=like(x))
    assert both_counts(scale) == (1, 1)
    with pytest.raises(TypeError, match="no parameter named 'b'"):
        scale.specialize(x, like(x), b=2.0)


def test_specialize_warns_of_races_as_the_call_does() -> None:
    @tack.kernel
    def shift(x):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1]

    with pytest.warns(tack.RaceWarning):
        shift.specialize(array(4))


# ------------------------------------------------------------------------------------------------------------ variants


def words(kernel: tack.Kernel) -> list[tuple[str, str]]:
    return [(row.device, row.key) for row in kernel.variants()]


def test_variants_of_a_kernel_that_nobody_called() -> None:
    assert make_scale().variants() == []


def test_variants_list_types_overlap_and_devices() -> None:
    scale, x = make_scale(), array(8)
    scale(x, like(x), 2.0)
    scale(x, like(x), 3)
    scale(array(8, dtype=np.float64), array(8, dtype=np.float64), 2**40)
    scale(x, x, 2.0)
    serial = tack.device("cpu", num_threads=1)
    with serial:
        scale(x, like(x), 2.0)
    found = words(scale)
    assert ("cpu (num_threads=1)", "x: f32 array, out: f32 array, a: f32; no overlap") in found
    assert [key for device, key in found if device == "cpu"] == [
        "x: f32 array, out: f32 array, a: f32; no overlap", "x: f32 array, out: f32 array, a: i32; no overlap",
        "x: f64 array, out: f64 array, a: i64; no overlap", "x: f32 array, out: f32 array, a: f32; arrays may overlap",
    ]  # fmt: skip
    del serial  # which takes its variants with it
    gc.collect()
    assert [device for device, _ in words(scale)] == ["cpu"] * 4


def test_variants_name_the_sizes_that_are_baked_in() -> None:
    @tack.kernel
    def rows(a, out):
        for i in range(a.shape[0]):
            out[i] = a[i, a.shape[1] - 1] + a.size

    rows(tack.zeros((2, 5)), tack.zeros(2))
    (row,) = rows.variants()
    assert row.key == "a: f32 array, out: f32 array; a.shape[1] = 5; a.size = 10; no overlap"


def test_variants_describe_vectors_and_textures() -> None:
    @tack.kernel
    def mixed(v, m, tex, out):
        for i in range(out.shape[0]):
            out[i] = v[i].x + m[i][0, 1] + tex.sample(0.5, 0.5, 0.5)

    tex = tack.texture3d(tack.zeros((2, 3, 4)), interp="nearest")
    mixed(tack.zeros(2, tack.ivec2), tack.zeros(2, tack.mat(2, 3)), tex, tack.zeros(2))
    (row,) = mixed.variants()
    assert row.key == (
        "v: ivec2 array, m: mat(2, 3, tack.f32) array, tex: texture 4 x 3 x 2 (nearest), out: f32 array; no overlap"
    )


def test_variants_describe_objects() -> None:
    out = tack.zeros(4)
    apply(Holder(array(4)), out)
    (row,) = apply.variants()
    assert row.key == (
        "s: Holder with axis=(1.0, 0.5), factor=2.0, kind=tack.u8(3), s.data: f32 array of shape (4,), s.offset: f32, "
        "out: f32 array; no overlap"
    )
    drop_variants(apply, lambda key: True)
    assert apply.variants() == []


def test_variants_of_kernels_with_numbers_alone() -> None:
    @tack.kernel
    def nothing(n):
        for i in range(n):
            pass

    nothing(3)
    (row,) = nothing.variants()
    assert row.key == "n: i32"


def test_a_row_is_a_value_that_reads_well() -> None:
    scale, x = make_scale(), array(4)
    scale(x, like(x), 2.0)
    (row,) = scale.variants()
    assert isinstance(row, tack.VariantInfo) and row.seconds > 0 and not row.from_disk
    assert scale.variants() == [row] and hash(row) == hash(scale.variants()[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.key = ""  # type: ignore[misc]
    row = tack.VariantInfo("cpu", "n: i32", 0.0123, False)
    assert repr(row) == "<cpu: n: i32; compiled in 12.3 ms>"
    assert repr(dataclasses.replace(row, from_disk=True)) == "<cpu: n: i32; loaded from disk in 12.3 ms>"


def test_the_seconds_are_those_of_the_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.5])
    monkeypatch.setattr(kernel_utils.time, "perf_counter", lambda: next(clock))
    scale, x = make_scale(), array(4)
    get = tack.get_default_device()._backend
    get.resolve(scale, (x, like(x), 2.0))
    monkeypatch.undo()
    (row,) = scale.variants()
    assert row.seconds == 2.5


def test_the_seconds_count_the_lowering_that_the_call_did(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [10.0]
    lower, build = tack.Kernel._lower, kernel_utils._compile

    def lowered(*args: Any) -> Any:
        clock[0] += 1.0
        return lower(*args)

    def built(*args: Any) -> Any:
        clock[0] += 0.25
        return build(*args)

    scale, x = make_scale(), array(4)
    backend = tack.get_default_device()._backend
    with monkeypatch.context() as patch:
        patch.setattr(kernel_utils.time, "perf_counter", lambda: clock[0])
        patch.setattr(tack.Kernel, "_lower", lowered)
        patch.setattr(kernel_utils, "_compile", built)
        backend.resolve(scale, (x, like(x), 2.0))
        backend.resolve(scale, (x, like(x), 2))
    assert [row.seconds for row in scale.variants()] == [1.25, 0.25]


PROGRAM = """
    import numpy as np, tack

    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    x, out = tack.array(np.arange(4, dtype=np.float32)), tack.zeros(4)
    print(scale.variants())
    scale.specialize(x, out, 2.0)
    print(out.numpy().tolist(), [(row.key, row.from_disk) for row in scale.variants()])
    scale(x, out, 2.0)
    print(out.numpy().tolist(), len(scale.variants()))
"""


def test_variants_say_what_came_from_disk(tmp_path: Any) -> None:
    key = "x: f32 array, out: f32 array, a: f32; no overlap"
    for from_disk in (False, True):
        lines = run_program(PROGRAM, TACK_CACHE="write", TACK_CACHE_DIR=str(tmp_path)).splitlines()
        assert lines == ["[]", f"[0.0, 0.0, 0.0, 0.0] [({key!r}, {from_disk})]", "[0.0, 2.0, 4.0, 6.0] 1"]
