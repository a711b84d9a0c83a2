"""The key of a variant names every fact that compiled code has baked in, and nothing that it has not.

The cache was once keyed on types alone, and a new row stride reused code with the old stride in it: the first test is that fault.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tack
from tack.ir.types import f32, f64, i32, i64, u64
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import KernelVariant, kernel_variant_key, resolve_variant
from tack.runtime.variant_key import _KeyProbe


def variants(kernel: tack.Kernel) -> int:
    return len(get_backend()._cache.get(kernel, {}))


def keys(kernel: tack.Kernel) -> list:
    return list(get_backend()._cache[kernel])


def array(*shape: int, dtype: object = np.float32) -> tack.Array:
    return tack.array(np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape))


def like(x: tack.Array, value: float = -1) -> tack.Array:
    return tack.full_like(x, value)


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    return scale


def make_copy() -> tack.Kernel:
    @tack.kernel
    def copy(a, out):
        for i, j in tack.ndindex(a.shape[0], a.shape[1]):
            out[i, j] = a[i, j]

    return copy


def make_reverse() -> tack.Kernel:
    @tack.kernel
    def reverse(x, out):
        for i in range(x.shape[0]):
            out[i] = x[x.shape[0] - 1 - i]

    return reverse


def make_reverse_by_n() -> tack.Kernel:
    @tack.kernel
    def reverse(x, out, n):
        for i in range(x.shape[0]):
            out[i] = x[n - 1 - i]

    return reverse


def make_stencil() -> tack.Kernel:
    @tack.kernel
    def stencil(x, out):
        for i in range(1, x.shape[0] - 1):
            out[i] = x[i - 1] + x[i + 1]

    return stencil


# ------------------------------------------------------------------------------------------------------ the faults of old


@pytest.mark.spec("cache-001", "cache-167")
@pytest.mark.parametrize("warm", [False, True])
def test_a_new_row_stride_does_not_reuse_code_with_the_old_one(warm: bool) -> None:
    copy = make_copy()
    for shape in ((4, 8), (4, 9), (6, 4), (4, 8)):
        a = array(*shape)
        for _ in range(2 if warm else 1):
            out = like(a)
            copy(a, out)
            np.testing.assert_array_equal(out.numpy(), a.numpy())


def test_a_row_stride_of_the_output_counts_too() -> None:
    @tack.kernel
    def into(a, out):
        for i, j in tack.ndindex(a.shape[0], a.shape[1]):
            out[i, j] = a[i, j]

    a = array(3, 4)
    for width in (4, 7, 5, 4):
        out = tack.full((3, width), -1.0)
        into(a, out)
        expected = np.full((3, width), -1, np.float32)
        expected[:, :4] = a.numpy()
        np.testing.assert_array_equal(out.numpy(), expected)
    assert variants(into) == 3


def test_a_variant_for_one_rank_never_serves_another() -> None:
    """Ranks are not in the key, so they are checked for every new signature."""
    scale = make_scale()
    x = array(8)
    scale(x, like(x), 2.0)
    square = array(8, 8)
    out = like(square)
    with pytest.raises(IndexError, match="2 dimensions"):
        scale(square, out, 2.0)
    assert (out.numpy() == -1).all()
    scale(x, like(x), 2.0)
    with pytest.raises(IndexError, match="2 dimensions"):
        scale(square, out, 2.0)


def test_a_dimension_of_the_bound_must_exist_though_nothing_bakes_it_in() -> None:
    @tack.kernel
    def columns(a, out):
        for i in range(a.shape[1]):
            out[i] = 1.0

    out = tack.zeros(4)
    columns(array(2, 4), out)
    with pytest.raises(IndexError, match="shape"):
        columns(array(4), out)


# ----------------------------------------------------------------------------------------------------- the spec's examples


@pytest.mark.spec(
    "cache-004",
    "cache-094",
    "cache-096",
    "cache-098",
    "cache-169",
    "cache-170",
    "cache-171",
    "cache-172",
    "cache-173",
    "cache-174",
    "cache-175",
)
def test_worked_example_scale() -> None:
    scale = make_scale()

    def call(n: int, a: object, dtype: object = np.float32) -> int:
        x = array(n, dtype=dtype)
        out = like(x)
        scale(x, out, a)
        np.testing.assert_array_equal(out.numpy(), x.numpy() * np.dtype(dtype).type(a))
        return variants(scale)

    assert [call(8, 2.0), call(16, 2.0), call(32, 2.0)] == [1, 1, 1]
    assert call(8, 3.5) == 1
    assert call(8, 3) == 2
    assert call(8, 2**40) == 3
    assert call(8, 2.0, np.float64) == 4
    x = array(8)
    scale(x, x, 2.0)
    assert variants(scale) == 5
    assert x.numpy().tolist() == [2.0 * i for i in range(8)]
    assert [key[4] for key in keys(scale)] == [True, True, True, True, False]


@pytest.mark.spec("cache-176", "cache-177", "cache-179")
@pytest.mark.parametrize(
    ("make", "lengths", "expected"),
    [(make_reverse, (8, 16, 32), [1, 2, 3]), (make_reverse_by_n, (8, 16, 32), [1, 1, 1]), (make_stencil, (8, 16, 32), [1, 1, 1])],
)
def test_worked_examples_of_lengths(make: object, lengths: tuple[int, ...], expected: list[int]) -> None:
    kernel = make()
    counts = []
    for n in lengths:
        x = array(n)
        out = like(x)
        kernel(x, out, *([n] if make is make_reverse_by_n else []))
        counts.append(variants(kernel))
        values = x.numpy()
        if make is make_stencil:
            np.testing.assert_array_equal(out.numpy()[1:-1], values[:-2] + values[2:])
            assert out[0] == out[n - 1] == -1
        else:
            np.testing.assert_array_equal(out.numpy(), values[::-1])
    assert counts == expected


@pytest.mark.spec("cache-178")
def test_worked_example_of_rows() -> None:
    copy = make_copy()
    counts = []
    for shape in ((4, 8), (16, 8), (4, 9)):
        a = array(*shape)
        out = like(a)
        copy(a, out)
        np.testing.assert_array_equal(out.numpy(), a.numpy())
        counts.append(variants(copy))
    assert counts == [1, 1, 2]


@pytest.mark.spec("cache-015", "cache-023")
def test_repeated_calls_return_the_same_variant() -> None:
    scale = make_scale()
    x, out = array(8), array(8)
    first = resolve_variant(get_backend(), scale, (x, out, 2.0), specialize_disjoint=True)
    assert resolve_variant(get_backend(), scale, (x, out, 7.0), specialize_disjoint=True) is first
    assert resolve_variant(get_backend(), scale, (array(99), array(99), 7.0), specialize_disjoint=True) is first
    assert resolve_variant(get_backend(), scale, (x, out, 2), specialize_disjoint=True) is not first
    assert resolve_variant(get_backend(), scale, (x, out, np.float64(2)), specialize_disjoint=True) is first


# --------------------------------------------------------------------------------------------------------------- the key


@pytest.mark.spec("cache-031", "cache-032", "cache-033", "cache-036", "cache-039", "cache-102")
def test_the_key_has_five_parts() -> None:
    scale = make_scale()
    x = array(8)
    scale(x, like(x), 2)
    (key,) = keys(scale)
    param_sig, vec_sig, tmpl_key, shape_sig, disjoint = key
    assert param_sig == ((f32, True, False, None), (f32, True, False, None), (i32, False, False, None))
    assert vec_sig == () and not tmpl_key and shape_sig == () and disjoint is True


@pytest.mark.spec("cache-034")
def test_the_key_is_made_from_a_probe_of_its_own() -> None:
    scale = make_scale()
    template = scale.template()
    probe = _KeyProbe(template)
    for entry, kind, is_array in zip(probe.params, (f64, f64, i64), (True, True, False), strict=True):
        entry.type_annotation, entry._is_array = kind, is_array
    key = kernel_variant_key(probe, scale, {}, {}, (), False)
    assert key == (((f64, True, False, None), (f64, True, False, None), (i64, False, False, None)), (), None, (), False)
    assert all(param.type is None for param in template.params)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, i32), (-1, i32), (2**31 - 1, i32), (-(2**31), i32), (2**31, i64), (-(2**31) - 1, i64), (2**63 - 1, i64),
        (-(2**63), i64), (2**63, u64), (2**64 - 1, u64), (True, i32), (False, i32), (np.bool_(True), i32), (np.int8(5), i32),
        (np.uint64(2**63), u64), (np.int64(2**40), i64), (np.uint32(2**32 - 1), i64), (1.5, f32), (np.float32(1), f32),
        (np.float64(1), f32), (np.float16(1), f32), (float("nan"), f32),
    ],
)  # fmt: skip
@pytest.mark.rule("T1")
def test_types_of_scalar_arguments(value: object, expected: object) -> None:
    scale = make_scale()
    x = array(4)
    scale(x, like(x), value)
    scale(x, like(x), value)
    (key,) = keys(scale)
    assert key[0][2] == (expected, False, False, None)


@pytest.mark.rule("T1")
@pytest.mark.parametrize("value", [2.0, np.float32(2), np.float64(2)])
def test_floats_are_f64_when_any_array_is(value: object) -> None:
    scale = make_scale()
    scale(array(4), array(4, dtype=np.float64), value)
    (key,) = keys(scale)
    assert key[0][2][0] is f64


@pytest.mark.spec("cache-005", "cache-006", "cache-008", "cache-090")
def test_variants_have_exactly_the_seven_attributes() -> None:
    expected = {
        "ir", "payload", "requires_full_workgroups", "atomic_targets", "written_arrays", "has_textures", "dispatch_lock",
    }  # fmt: skip
    assert set(KernelVariant.__slots__) == expected
    scale = make_scale()
    x = array(4)
    scale(x, like(x), 2.0)
    (variant,) = get_backend()._cache[scale].values()
    assert variant.written_arrays == ((1, "out"),)
    assert variant.requires_full_workgroups is False and variant.has_textures is False and variant.atomic_targets == ()
    assert variant.ir.stage == "typed" and variant.ir.disjoint_arrays
    assert not hasattr(variant, "__dict__")
    with variant.dispatch_lock:
        pass


@pytest.mark.spec("cache-122")
def test_threads_that_use_different_types_do_not_read_each_others() -> None:
    """Key derivation writes onto a probe of the dispatch's own; and threads that miss together both get right code."""
    scale = make_scale()
    barrier = threading.Barrier(4)
    wrong: list[object] = []

    def work(dtype: object) -> None:
        barrier.wait()
        for n in range(1, 30):
            x = array(n, dtype=dtype)
            out = like(x)
            scale(x, out, 3)
            if not np.array_equal(out.numpy(), x.numpy() * 3):
                wrong.append(dtype)

    threads = [threading.Thread(target=work, args=(dtype,)) for dtype in (np.float32, np.float64, np.int32, np.float32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []
    assert variants(scale) == 3
    assert scale.lowerings == 1


@pytest.mark.spec("cache-100", "cache-112")
def test_devices_have_their_own_variants() -> None:
    scale = make_scale()
    x = array(4)
    scale(x, like(x), 2.0)
    serial = tack.device("cpu", num_threads=1)
    assert len(serial._backend._cache) == 0
    with serial:
        scale(x, like(x), 2.0)
        assert variants(scale) == 1
    assert len(serial._backend._cache[scale]) == 1
    (one,) = serial._backend._cache[scale].values()
    (two,) = get_backend()._cache[scale].values()
    assert one is not two
    tack.set_default_device("cpu")
    scale(x, like(x), 2.0)
    assert list(get_backend()._cache[scale].values()) == [two]
