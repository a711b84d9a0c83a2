"""The key of a variant names every fact that compiled code has baked in, and nothing that it has not.

The cache was once keyed without vector widths, and width-2 code served width-3 calls; before that on types alone, and a new row
stride reused code with the old stride in it: the first tests are these faults.
"""

from __future__ import annotations

import math
import struct
import threading

import numpy as np
import pytest
from key_tools import array, both_counts, keys, like, variants

import tack
from tack.ir.types import f32, f64, i32, i64, u64
from tack.lang.call_shape import describe_call
from tack.lang.kernel import _class_token
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import KernelVariant, kernel_variant_key, resolve_variant
from tack.runtime.variant_key import _KeyProbe


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


# ------------------------------------------------------------------------------------------------------ the faults of old


@pytest.mark.spec("cache-044", "cache-045", "cache-046", "cache-167")
@pytest.mark.parametrize("warm", [False, True])
def test_width_2_code_never_serves_width_3(warm: bool) -> None:
    """The norms of vectors that differ in nothing but their number of components (LC3)."""

    @tack.kernel
    def norms(v, out):
        for i in range(v.shape[0]):
            out[i] = math.sqrt(v[i].dot(v[i]))

    for width in (2, 3, 2, 4, 3):
        values = np.arange(5.0 * width, dtype=np.float32).reshape(5, width)
        for _ in range(2 if warm else 1):
            out = tack.zeros(5)
            norms(tack.array(values, tack.vec(width)), out)
            np.testing.assert_allclose(out.numpy(), np.linalg.norm(values, axis=1), rtol=1e-6)
    assert variants(norms) == 3 and norms.lowerings == 3
    assert [key[1] for key in keys(norms)] == [((0, width),) for width in (2, 3, 4)]


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


# ------------------------------------------------------------------------------------------------------- device classes


@tack.device_class
class Scaled:
    factor = 2.0

    def __init__(self, offset: float, data: tack.Array) -> None:
        self.offset = offset
        self.data = data

    @tack.func
    def at(self, i):
        return self.data[i] * self.factor + self.offset


def make_apply() -> tack.Kernel:
    @tack.kernel
    def apply(s, out):
        for i in range(out.shape[0]):
            out[i] = s.at(i)

    return apply


def make_reads() -> tack.Kernel:
    @tack.kernel
    def reads(s, out):
        for i in range(out.shape[0]):
            out[i] = s.value

    return reads


def holder(**attributes: object) -> object:
    """An object of a class of its own with these instance attributes."""
    thing = tack.device_class(type("Holder", (), {}))()
    for name, value in attributes.items():
        setattr(thing, name, value)
    return thing


@pytest.mark.spec("cache-163", "cache-047", "cache-048", "cache-049", "cache-050", "cache-052", "cache-059", "cache-060")
def test_the_template_key_of_an_object() -> None:
    apply = make_apply()
    s = Scaled(1.0, array(4))
    apply(s, array(4))
    expected = (
        (
            "tmpl_0",
            _class_token(Scaled),
            (("factor", float, struct.pack("!d", 2.0)),),
            (("data", f32, (4,), 1),),
            ("offset",),
        ),
    )
    assert list(apply._ir_cache) == [expected]
    ((param_sig, vec_sig, tmpl_key, shape_sig, disjoint),) = keys(apply)
    assert tmpl_key == expected and vec_sig == () and shape_sig == () and disjoint is True
    assert param_sig == ((f32, True, False, None), (f32, False, False, None), (f32, True, False, None))
    call = describe_call(apply.param_names, (s, array(4)))
    assert apply._make_cache_key({}, call.templates, {}, False) == expected
    assert apply._make_cache_key({}, call.templates, {}, True) == (("debug",), *expected)
    assert apply._ir is None


@pytest.mark.spec("cache-047")
def test_every_object_has_a_part_of_the_key() -> None:
    @tack.kernel
    def two(out, a, b):
        for i in range(out.shape[0]):
            out[i] = a.value - b.value

    a, b = holder(value=5.0), holder(value=2.0)
    out = tack.zeros(1)
    two(out, a, b)
    two(out, b, a)
    assert out.numpy().tolist() == [-3]
    assert [[part[0] for part in key] for key in two._ir_cache] == [["tmpl_1", "tmpl_2"]] * 2
    assert both_counts(two) == (2, 2)


@pytest.mark.spec("cache-053", "cache-054", "cache-055")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 1.0, True, 1), 3),
        ((0.0, -0.0, 0.0), 2),
        ((float("nan"), float("nan"), -float("nan")), 2),
        ((2, np.int8(2), np.int64(2)), 1),
        ((0.5, np.float32(0.5), np.float64(0.5)), 1),
        ((2.0, 3.0, 2.0, 3.0), 2),
        ((2**70, 2**70 + 1), 2),
        ((1, tack.constant(1, tack.u8), tack.constant(1, tack.i32), tack.constant(1)), 4),
        ((tack.constant(0.0), tack.constant(-0.0)), 2),
        ((tack.constant(1), tack.constant(True), tack.constant(1.0), tack.constant(1)), 3),
    ],
)
def test_constants_are_keyed_by_type_and_bits(values: tuple[object, ...], expected: int) -> None:
    reads = make_reads()
    cls = tack.device_class(type("Holder", (), {}))
    for value in values:
        cls.value = value
        out = tack.zeros(1, tack.f64)
        reads(cls(), out)
        number = value.value if isinstance(value, tack.lang.constant.Constant) else value
        expected_value = np.array(float(number))
        np.testing.assert_array_equal(out.numpy()[0], expected_value)
        assert np.signbit(out.numpy()[0]) == np.signbit(expected_value) or np.isnan(expected_value)
    assert both_counts(reads) == (expected, expected)


@pytest.mark.spec("cache-054")
def test_an_integer_and_a_float_of_one_value_lower_differently() -> None:
    @tack.kernel
    def halves(s, out):
        for i in range(out.shape[0]):
            out[i] = 7 // s.value + s.value / 2

    cls = tack.device_class(type("Holder", (), {}))
    seen = []
    for value in (2, 2.5, 2, 2.0):
        cls.value = value
        out = tack.zeros(1, tack.f64)
        halves(cls(), out)
        seen.append(out[0])
    assert seen == [7 // 2 + 1.0, 7 // 2.5 + 1.25, 4.0, 4.0]
    assert both_counts(halves) == (3, 3)


@pytest.mark.spec("cache-056", "cache-057", "cache-058", "cache-097")
def test_roles_of_instance_numbers() -> None:
    reads = make_reads()

    class Holder:
        pass

    tack.device_class(Holder)
    one, two, shadows = Holder(), Holder(), Holder()
    one.value, two.value, two.unused = 1.0, 2.0, 7.0
    out = tack.zeros(1)

    def call(thing: object) -> tuple[float, tuple[int, int]]:
        reads(thing, out)
        return out[0], both_counts(reads)

    assert call(one) == (1, (1, 1))
    one.value = 9.0
    assert call(one) == (9, (1, 1))
    assert call(two) == (2, (2, 2))  # one more name
    del two.unused
    assert call(two) == (2, (2, 2))
    one.value = 3
    assert call(one) == (3, (3, 2))  # another type, the same text
    Holder.value = 4.0
    shadows.value = 5.0
    assert call(shadows) == (5, (4, 3))
    assert call(Holder()) == (4, (5, 4))
    shadows.value = 4.0
    assert call(shadows) == (4, (5, 4))  # the same constant as the class's
    del Holder.value
    assert call(shadows) == (4, (5, 4))


def test_the_order_of_attributes_means_nothing() -> None:
    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.a * 10.0 + s.b

    @tack.device_class
    class Holder:
        pass

    one, two = Holder(), Holder()
    one.a, one.b = 1.0, 2.0
    two.b, two.a = 2.0, 1.0
    for thing in (one, two):
        out = tack.zeros(1)
        k(thing, out)
        assert out[0] == 12
    assert both_counts(k) == (1, 1)


@pytest.mark.spec("cache-049")
def test_arrays_of_objects_are_keyed_by_dtype_and_full_shape() -> None:
    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.data.size

    cls = tack.device_class(type("Holder", (), {}))
    out = tack.zeros(1)
    for data, count in ((array(4), 1), (array(5), 2), (array(2, 2), 3), (array(4, dtype=np.int32), 4), (array(4), 4)):
        thing = cls()
        thing.data = data
        k(thing, out)
        assert out[0] == data.size
        assert both_counts(k) == (count, count)


def test_nested_objects_are_keyed_by_class_constants_and_names() -> None:
    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.inner.value

    outer = tack.device_class(type("Outer", (), {}))
    first, second = (tack.device_class(type("Inner", (), {"value": value})) for value in (1.0, 1.0))
    out = tack.zeros(1)
    counts = []
    for inner, value in ((first(), 1.0), (first(), 1.0), (second(), 1.0), (first(), 3.0), (holder(value=2), 2.0), (first(), 1.0)):
        thing = outer()
        thing.inner = inner
        if value == 3.0:
            inner.value = value
        k(thing, out)
        assert out[0] == value
        counts.append(both_counts(k))
    assert counts == [(1, 1), (1, 1), (2, 2), (3, 3), (4, 4), (4, 4)]
    part = next(iter(k._ir_cache))[0]
    assert part[1] is _class_token(outer)
    assert part[2] == (("inner", type(part[1]), _class_token(first)), ("inner.value", float, struct.pack("!d", 1.0)))


def test_functions_of_objects_are_keyed_by_identity() -> None:
    @tack.func
    def plus(v):
        return v + 1.0

    @tack.func
    def minus(v):
        return v - 1.0

    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.fn(5.0)

    out = tack.zeros(1)
    cls = tack.device_class(type("Holder", (), {}))
    for fn, value, count in ((plus, 6, 1), (minus, 4, 2), (plus, 6, 2)):
        thing = cls()
        thing.fn = fn
        k(thing, out)
        assert out[0] == value
        assert both_counts(k) == (count, count)


def test_what_an_object_holds_is_not_taken_for_arguments() -> None:
    """The signature of the fast path describes arguments; an object that was expanded must not leave one behind."""

    @tack.kernel
    def k(a, out):
        for i in range(out.shape[0]):
            out[i] = a.value

    out = tack.zeros(1)
    for _ in range(3):
        k(holder(value=2.0), out)
        assert out[0] == 2
        with pytest.raises(TypeError, match="'a' has no 'value': a number was passed for it"):
            k(2.0, out)


@pytest.mark.spec("cache-026", "cache-097")
def test_changing_constants_between_warm_calls_is_seen() -> None:
    apply = make_apply()
    s, out = Scaled(0.0, array(4)), tack.zeros(4)
    for round in range(3):
        for factor in (2.0, 3.0, 2.0):
            s.factor = factor
            for offset in (1.0, round * 10.0, 4):
                s.offset = offset
                apply(s, out)
                np.testing.assert_array_equal(out.numpy(), s.data.numpy() * np.float32(factor) + np.float32(offset))
    assert both_counts(apply) == (4, 2)


@pytest.mark.rule("M2")
def test_arrays_inside_objects_count_for_overlap() -> None:
    @tack.kernel
    def k(s, out):
        for i in range(out.shape[0]):
            out[i] = s.data[i] + 1.0

    s, out = Scaled(0.0, array(4)), tack.zeros(4)
    k(s, out)
    k(s, s.data)
    k(s, s.data[0:4])
    assert s.data.numpy().tolist() == [2, 3, 4, 5]
    assert sorted(key[4] for key in keys(k)) == [False, True]
    assert both_counts(k) == (2, 1)


@pytest.mark.spec("cache-049", "cache-051")
def test_vector_arrays_of_objects_are_keyed_by_their_components() -> None:
    @tack.kernel
    def k(s, v, out):
        for i in range(out.shape[0]):
            out[i] = s.data.shape[0] + v[i].x

    cls = tack.device_class(type("Holder", (), {}))
    v, out = tack.zeros(1, tack.vec3), tack.zeros(1)
    widths = (tack.f32, tack.vec2, tack.vec4, tack.mat2, tack.vec2)
    for dtype, count in zip(widths, (1, 2, 3, 4, 4), strict=True):
        thing = cls()
        thing.data = tack.zeros(3, dtype)
        k(thing, v, out)
        assert out[0] == 3
        assert both_counts(k) == (count, count)
    parts = list(k._ir_cache)
    assert [key[0] for key in parts] == [("vec", (1, 3))] * 4
    assert [key[1][3] for key in parts] == [(("data", f32, (3,), width),) for width in (1, 2, 4, (2, 2))]
    assert [key[2] for key in keys(k)] == parts and {key[1] for key in keys(k)} == {((1, 3),)}
