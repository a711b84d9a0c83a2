"""The no-overlap bit: arrays may share storage, and only calls whose arrays do not get code that says so.

Code once promised `noalias` for all arrays, and kernels over overlapping views gave other numbers: the first test is that fault.
"""

from __future__ import annotations

import numpy as np
import pytest

import tack
from tack.ir import facts
from tack.ir.facts import written_array_flags
from tack.lang.array import Array
from tack.runtime import cpu
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import arrays_disjoint
from tack.runtime.variant_key import _disjoint_by_slots, overlap_partners


def bits(kernel: tack.Kernel) -> list[bool]:
    return [key[4] for key in get_backend()._cache[kernel]]


def base(n: int = 16, dtype: object = np.float32) -> tack.Array:
    return tack.array(np.arange(n, dtype=dtype))


def make_shift() -> tack.Kernel:
    @tack.kernel
    def total(x, out, n):
        for i in range(1):
            for k in range(n):
                out[0] = out[0] + x[k]

    return total


@pytest.mark.spec("cache-078", "cache-081")
@pytest.mark.rule("E4", "M2")
def test_overlapping_arrays_are_reloaded_after_every_store() -> None:
    total = make_shift()
    x = base(4)
    apart = tack.zeros(1)
    total(x, apart, 4)
    assert apart.numpy().tolist() == [6]
    for _ in range(2):  # from the slow path and from the fast one
        data = tack.array(np.array([1, 2, 3, 4], np.float32))
        total(data, data[2:3], 4)  # the accumulator is x[2]: 3 + 1 + 2 = 6, + itself = 12, + 4 = 16
        assert data.numpy().tolist() == [1, 2, 16, 4]
    assert bits(total) == [True, False]


@pytest.mark.spec("cache-079", "cache-091")
def test_only_the_disjoint_variant_promises_it() -> None:
    total = make_shift()
    x, out = base(4), tack.zeros(1)
    assert "noalias" in tack.inspect(total, x, out, 4, mode="source").split("@loop")[1].split("{")[0]
    assert "noalias" not in tack.inspect(total, x, x, 4, mode="source").split("@loop")[1].split("{")[0]


def make_add() -> tack.Kernel:
    @tack.kernel
    def add(x, y, out):
        for i in range(out.shape[0]):
            out[i] = x[i] + y[i]

    return add


@pytest.mark.spec("cache-086", "cache-088")
@pytest.mark.parametrize(
    ("slices", "disjoint"),
    [
        (((0, 4), (4, 8), (8, 12)), True),
        (((0, 4), (0, 4), (8, 12)), True),  # arrays that are only read may overlap
        (((0, 4), (2, 6), (8, 12)), True),
        (((0, 4), (4, 8), (0, 4)), False),
        (((0, 4), (4, 8), (7, 11)), False),
        (((0, 4), (4, 8), (3, 7)), False),
        (((0, 4), (8, 12), (4, 8)), True),  # between the others, touching both
        (((8, 12), (12, 16), (4, 8)), True),
        (((0, 8), (8, 16), (2, 4)), False),  # inside another
        (((2, 4), (12, 16), (0, 8)), False),  # around another
        (((4, 4), (6, 6), (4, 8)), True),  # arrays without elements overlap nothing
    ],
)
def test_which_calls_are_disjoint(slices: tuple[tuple[int, int], ...], disjoint: bool) -> None:
    data = base()
    args = tuple(data[lo:hi] for lo, hi in slices)
    template = make_add().template()
    assert arrays_disjoint(template, args) is disjoint
    assert _disjoint_by_slots(args, overlap_partners([2], [0, 1, 2])) is disjoint


def test_both_overlap_checks_agree_on_random_calls() -> None:
    @tack.kernel
    def four(a, b, c, d):
        for i in range(1):
            a[i] = b[i]
            d[i] = c[i]

    template = four.template()
    assert written_array_flags(template) == (True, False, False, True)
    partners = overlap_partners([0, 3], [0, 1, 2, 3])
    data, rng = base(40), np.random.default_rng(1)
    outcomes = set()
    for _ in range(500):
        starts = rng.integers(0, 38, 4)
        args = tuple(data[int(s) : int(s + rng.integers(0, 6))] for s in starts)
        expected = arrays_disjoint(template, args)
        outcomes.add(expected)
        spans = [set(range(*arg._buffer.span)) for arg in args]
        assert expected == all(not (spans[w] & spans[o]) for w in (0, 3) for o in range(4) if o != w)
        assert _disjoint_by_slots(args, partners) == expected
    assert outcomes == {True, False}


@pytest.mark.spec("cache-089")
def test_dot_of_an_array_with_itself_still_qualifies() -> None:
    @tack.kernel
    def dot(x, y, out):
        for i in range(1):
            acc = 0.0
            for k in range(x.shape[0]):
                acc += x[k] * y[k]
            out[i] = acc

    x, out = base(5), tack.zeros(1)
    dot(x, x, out)
    dot(x, x, out)
    assert out[0] == 30.0
    assert bits(dot) == [True]


@pytest.mark.spec("cache-082", "cache-085")
def test_every_argument_written_through_a_copied_name_counts() -> None:
    @tack.func
    def put(target, i, value):
        target[i] = value

    @tack.kernel
    def through(x, out):
        for i in range(x.shape[0]):
            put(out, i, x[i])

    template = through.template()
    assert written_array_flags(template) == (False, True)
    x = base(8)
    assert arrays_disjoint(template, (x, base(8)))
    assert not arrays_disjoint(template, (x, x))


@pytest.mark.spec("cache-084")
def test_untraceable_stores_make_every_array_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACK_CACHE", "off")  # a template from the disk has its facts with it
    monkeypatch.setattr(facts, "written_array_params", lambda template: None)
    template = make_add().template()
    assert written_array_flags(template) == (True, True, True)
    data = base()
    assert not arrays_disjoint(template, (data[0:4], data[0:4], data[8:12]))
    assert arrays_disjoint(template, (data[0:4], data[4:8], data[8:12]))


class _NoSpan:
    """Storage whose byte range is not known."""

    span = None
    writable = True

    def __init__(self, address: int) -> None:
        self.address = address


@pytest.mark.spec("cache-087")
def test_a_buffer_without_a_span_is_never_disjoint() -> None:
    data, other = base(8), base(8)
    blind = Array(_NoSpan(other._buffer.address), other.dtype, other.shape, other.device)  # type: ignore[arg-type]
    add = make_add()
    template = add.template()
    assert arrays_disjoint(template, (data, data, other))
    assert not arrays_disjoint(template, (data, blind, other))
    assert not arrays_disjoint(template, (data, data, blind))
    out = base(8)
    for _ in range(2):
        add(data, blind, out)
        assert out.numpy().tolist() == [2.0 * i for i in range(8)]
    assert bits(add) == [False]


@pytest.mark.spec("cache-092")
def test_both_variants_agree_on_race_free_programs() -> None:
    @tack.kernel
    def update(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] * 0.1 + y[i] / 3.0 - 1.7

    rng = np.random.default_rng(2)
    x = rng.standard_normal(257).astype(np.float32)
    apart = tack.array(x)
    update(tack.array(x), apart)
    same = tack.array(x)
    update(same, same)
    assert bits(update) == [True, False]
    assert same.numpy().tobytes() == apart.numpy().tobytes()


@pytest.mark.spec("cache-078", "cache-079", "cache-092")
@pytest.mark.rule("M2", "E4")
def test_views_that_overlap_from_call_to_call_give_the_numbers_of_a_plain_loop() -> None:
    """A running sum over random views of one array, where every store may change what is read next."""

    @tack.kernel
    def running(x, y, out, n):
        for _ in range(1):
            for k in range(n):
                out[k] = x[k] + y[0]
                y[0] = out[k] - x[0]

    rng = np.random.default_rng(3)
    data = tack.array(np.zeros(24, np.int32))
    seen = set()
    for _ in range(150):
        data.view_numpy()[:] = rng.integers(-99, 99, 24)
        n = int(rng.integers(1, 7))
        starts = [int(s) for s in rng.integers(0, 25 - n, 3)]
        args = [*(data[s : s + n] for s in starts), n]
        expected = data.numpy().tolist()
        for k in range(n):
            expected[starts[2] + k] = expected[starts[0] + k] + expected[starts[1]]
            expected[starts[1]] = expected[starts[2] + k] - expected[starts[0]]
        seen.add(arrays_disjoint(running.template(), args))
        running(*args)
        assert data.numpy().tolist() == expected, (n, starts)
    assert seen == {True, False} and sorted(bits(running)) == [False, True]


@pytest.mark.spec("cache-078")
def test_imported_pointers_to_one_allocation_overlap() -> None:
    total, owner = make_shift(), np.array([1, 2, 3, 4], np.float32)
    address = owner.ctypes.data
    x = tack.array_from_ptr(address, tack.f32, 4, owner=owner)
    out = tack.array_from_ptr(address + 8, tack.f32, 1, writable=True, owner=owner)
    apart = tack.array_from_ptr(address + 16 - 4, tack.f32, 1, writable=True, owner=owner)
    total(x[:3], apart, 3)  # beside it in one allocation: 4 + 1 + 2 + 3
    assert owner.tolist() == [1, 2, 3, 10]
    total(x, out, 4)  # x[2] is the sum: 3 + 1 + 2 = 6, + itself = 12, + 10 = 22
    assert owner.tolist() == [1, 2, 22, 10]
    assert bits(total) == [True, False]


@pytest.mark.spec("cache-080")
def test_the_cpu_backend_specializes_by_its_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu._SPECIALIZE_DISJOINT is True
    monkeypatch.setattr(cpu, "_SPECIALIZE_DISJOINT", False)
    total = make_shift()
    x, out = base(4), tack.zeros(1)
    for _ in range(2):
        total(x, out, 4)
    assert bits(total) == [False]
    assert out[0] == 12.0
