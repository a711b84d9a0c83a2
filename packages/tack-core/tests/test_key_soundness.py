"""Whatever compiled code depends on is in its key: each input of a call is changed alone, and what the cache gives is compared
with an independent compile of it. The end of the file is the reverse: what is deliberately not in the key compiles nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from key_kernels import CASES, Case, Scaled, changes, twice
from key_tools import TextBackend, array, both_counts, counted, keys, like
from property import check as property_check
from property.generator import generate

import tack
from tack.errors import UnsupportedSyntaxError
from tack.runtime import cpu_jit, kernel_utils
from tack.runtime.dispatch import get_backend

REFUSALS = (TypeError, ValueError, IndexError, AttributeError, NameError, UnsupportedSyntaxError)


def outcome(backend: TextBackend, kernel: tack.Kernel, args: tuple[Any, ...], debug: bool = False) -> tuple[Any, Any]:
    """The key and the code of a call; for a call that is refused None and the error."""
    try:
        return backend.compile(kernel, args, debug)
    except REFUSALS as error:
        return None, (type(error), str(error))


def alone(case: Case, args: tuple[Any, ...], backend: TextBackend | None = None) -> tuple[Any, Any]:
    """The outcome for a kernel of the same text that nobody has called."""
    return outcome(backend or TextBackend(), tack.kernel(case.kernel.__wrapped__), args)


@cache
def outcomes(name: str) -> tuple[tuple[str, Any, Any], ...]:
    """The name, the key and the code of the kernel's own call and of each change that is not refused."""
    (case,) = (case for case in CASES if case.name == name)
    backend = TextBackend()
    found = [("as it is", *outcome(backend, case.kernel, case.args()))]
    found += [(change.name, *outcome(backend, case.kernel, change.args)) for change in changes(case)]
    return tuple((what, key, code) for what, key, code in found if key is not None)


# ------------------------------------------------------------------------------------- what is baked in is in the key


def test_the_kernels_cover_enough() -> None:
    assert len(CASES) >= 25
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(len(outcomes(case.name)) for case in CASES[:5]) > 100


@pytest.mark.spec("cache-002", "cache-003", "cache-158")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reused_code_is_that_of_an_independent_compile(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change of one input: through a cache that knows all the others, by the slow path and again by the fast one, a call
    runs the code of its own compile, or is refused in the same words. What the key leaves out compiles nothing."""
    _check(case, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [30002, 30003, 30006, 30008, 30009, 30010, 30011])
def test_reused_code_of_random_kernels(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = property_check.Case(generate(seed), tmp_path, "program")
    _check(Case(program.kernel, lambda: tuple(program.given)), monkeypatch, overlapping=True)


def _check(case: Case, monkeypatch: pytest.MonkeyPatch, overlapping: bool = False) -> None:
    """`overlapping`: the call's own arrays may overlap, which those of a change do not."""
    backend, kernel = TextBackend(), case.kernel
    base = outcome(backend, kernel, case.args())
    assert base[0] is not None, base[1]
    same = 0
    for change in changes(case):
        before = backend.compiled, kernel.lowerings
        found = outcome(backend, kernel, change.args)
        assert found == alone(case, change.args), change.name
        if change.kept and not overlapping:
            assert found == base and (backend.compiled, kernel.lowerings) == before, change.name
            same += 1
        with counted(monkeypatch, (kernel_utils, "_build_variant"), (tack.Kernel, "_lower")) as counts:
            assert outcome(backend, kernel, change.args) == found, change.name
        assert not counts or found[0] is None, change.name
    assert (same or overlapping) and outcome(backend, kernel, case.args()) == base


@pytest.mark.spec("cache-002", "cache-187", "cache-189", "cache-190")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_code_from_the_disk_is_that_of_an_independent_compile(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with caches in memory that are empty at each call, so that the keys on the disk alone tell the calls apart."""
    monkeypatch.setenv("TACK_CACHE_DIR", str(tmp_path))
    expected: dict[str, Any] = {}
    compiled = {"first": 0, "second": 0}
    for round in compiled:
        for change in changes(case):
            if round == "first":
                monkeypatch.setenv("TACK_CACHE", "off")
                expected[change.name] = alone(case, change.args)[1]
            monkeypatch.setenv("TACK_CACHE", "write")
            backend = TextBackend()
            assert alone(case, change.args, backend)[1] == expected[change.name], change.name
            compiled[round] += backend.compiled
    assert compiled["first"] and not compiled["second"]


@pytest.mark.spec("cache-003", "cache-158")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_calls_with_different_code_have_different_keys(case: Case) -> None:
    codes: dict[Any, tuple[str, Any]] = {}
    for what, key, code in outcomes(case.name):
        first, known = codes.setdefault(key, (what, code))
        assert code == known, f"{what} has the key of: {first}"
    assert len({repr(code) for _, code in codes.values()}) > 1


def _param(*kept: int) -> Callable[[Any], Any]:
    """The key without one part of its parameters' entries: those at the places `kept` stay."""
    return lambda key: (tuple(tuple(entry[k] for k in kept if k < len(entry)) for entry in key[0]), *key[1:])


def _without(*places: int) -> Callable[[Any], Any]:
    return lambda key: tuple(part for place, part in enumerate(key) if place not in places)


def _without_extents(key: Any) -> Any:
    return _without(3)(_param(0, 1, 2, 4)(key))


def _template(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """The key with its parts of objects changed, as they are without their name."""
    return lambda key: (
        *key[:2], tuple(change(part[1:]) if part[0].startswith("tmpl") else part for part in key[2] or ()), *key[3:],
    )  # fmt: skip


CUTS = {
    "type_annotation": ("saxpy", _param(1, 2, 3, 4)),
    "_is_array": ("unused", _param(0, 2, 3, 4)),
    "the filter of a texture": ("volume", _param(0, 1, 2, 3)),
    "_texture_shape and shape_sig": ("volume", _without_extents),
    "vec_sig": ("lengths", _without(1)),
    "vec_sig, of a matrix": ("components", _without(1)),
    "tmpl_key": ("by_object", _without(2)),
    "the class": ("by_object", _template(lambda part: part[1:])),
    "the constants": ("by_object", _template(lambda part: (part[0], *part[2:]))),
    "the types of constants": (
        "by_object", _template(lambda part: (part[0], tuple((name, value) for name, _, value in part[1]), *part[2:]))
    ),
    "the values of constants": (
        "by_object", _template(lambda part: (part[0], tuple((name, kind) for name, kind, _ in part[1]), *part[2:]))
    ),
    "the arrays of objects": ("by_nested", _template(lambda part: (*part[:2], *part[3:]))),
    "shape_sig": ("stencil", _without(3)),
    "shape_sig, of a value": ("sizes", _without(3)),
    "disjoint": ("saxpy", _without(4)),
}  # fmt: skip


@pytest.mark.spec("cache-159", "cache-160", "cache-161", "cache-162", "cache-164", "cache-165")
@pytest.mark.parametrize("cut", CUTS)
def test_no_part_of_the_key_can_be_left_out(cut: str) -> None:
    """Row by row of the table that pairs baked-in facts with what names them: without it, calls with different code meet."""
    name, shorten = CUTS[cut]
    codes: dict[Any, set[str]] = {}
    for _, key, code in outcomes(name):
        codes.setdefault(shorten(key), set()).add(repr(code))
    assert max(map(len, codes.values())) > 1


@pytest.mark.spec("cache-166")
def test_the_source_is_named_by_the_kernels_own_slot() -> None:
    @tack.kernel
    def one(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + 1.0

    @tack.kernel
    def two(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + 2.0

    backend = TextBackend()
    args = (array(4), array(4))
    found = [backend.compile(kernel, args) for kernel in (one, two, one)]
    assert found[0][0] == found[1][0] and found[0][1] != found[1][1] and found[0] == found[2]
    assert [len(backend._cache[kernel]) for kernel in (one, two)] == [1, 1]


def _numbers(kernel: tack.Kernel, args: tuple[Any, ...]) -> Any:
    """What a call on copies of the arguments leaves in its arrays, or how it is refused."""
    copies = [arg.copy() if isinstance(arg, tack.Array) else arg for arg in args]
    for at, arg in enumerate(args):  # the same array twice stays the same array
        copies[at] = copies[next(k for k, each in enumerate(args) if each is arg)]
    try:
        kernel(*copies)
    except REFUSALS as error:
        return type(error), str(error)
    return [arg.numpy().tobytes() for arg in copies if isinstance(arg, tack.Array)]


def _inside(kernel: tack.Kernel, args: tuple[Any, ...]) -> bool:
    """Whether a call accesses nothing outside its arrays."""
    tack.set_debug(True)
    try:
        found = _numbers(kernel, args)
    finally:
        tack.set_debug(False)
    return not (isinstance(found, tuple) and "is outside" in found[1])


@pytest.mark.slow
@pytest.mark.spec("cache-002", "cache-148", "cache-150")
@pytest.mark.parametrize("name", ["saxpy", "stencil", "volume", "scalars", "lengths", "by_object"])
def test_warm_calls_give_the_numbers_of_an_independent_compile(name: str) -> None:
    """The same on the CPU for every third change, through the public call: whatever path it takes, once cold and twice warm."""
    (case,) = (case for case in CASES if case.name == name)
    kernel = tack.kernel(case.kernel.__wrapped__)
    base = _numbers(kernel, case.args())
    expected: dict[str, Any] = {}
    for _ in range(3):
        for change in itertools.islice(changes(case), 0, None, 3):
            if ".steps" in change.name:  # an inner loop of 2**40 iterations
                continue
            if change.name not in expected:
                inside = _inside(tack.kernel(case.kernel.__wrapped__), change.args)
                expected[change.name] = _numbers(tack.kernel(case.kernel.__wrapped__), change.args) if inside else None
            if expected[change.name] is not None:
                assert _numbers(kernel, change.args) == expected[change.name], change.name
        assert _numbers(kernel, case.args()) == base
    assert sum(isinstance(found, list) for found in expected.values()) > 5


# ----------------------------------------------------------------------------------------- what the device and mode bake in


@pytest.mark.spec("cache-100")
def test_what_a_device_bakes_in_is_named_by_its_own_cache() -> None:
    """A fused multiply-add is in the code and in no key: it belongs to the backend, whose cache nobody else reads."""
    (case,) = (case for case in CASES if case.name == "fused")
    with_fma, without = TextBackend(fma=True), TextBackend(fma=False)
    (key, code), (other_key, other) = (outcome(backend, case.kernel, case.args()) for backend in (with_fma, without))
    assert key == other_key and code != other
    assert with_fma._cache is not without._cache
    assert outcome(with_fma, case.kernel, case.args()) == (key, code)
    plain = TextBackend(disjoint=False)
    assert outcome(plain, case.kernel, case.args())[0] == (*key[:4], False)


@pytest.mark.spec("cache-190")
@pytest.mark.parametrize("name", ["fused", "volume"])
def test_devices_that_share_a_disk_do_not_share_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no caches of their own on the disk, so the keys there name what the devices' code depends on."""
    (case,) = (case for case in CASES if case.name == name)
    devices = [{"fma": fma, "supports_textures": hardware} for fma in (True, False) for hardware in (False, True)]
    expected = [alone(case, case.args(), TextBackend(**device)) for device in devices]
    assert len({repr(code) for _, code in expected}) > 1
    monkeypatch.setenv("TACK_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TACK_CACHE", "write")
    for round in range(2):
        backends = [TextBackend(**device) for device in devices]
        assert [alone(case, case.args(), backend) for backend in backends] == expected
        assert any(backend.compiled for backend in backends) is (not round)


@pytest.mark.spec("cache-041", "cache-161")
@pytest.mark.parametrize("name", ["volume", "by_texture_of_object"])
def test_sampling_by_hardware_is_in_the_key(name: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    (key, code), (other_key, other) = (
        outcome(TextBackend(supports_textures=hardware), case.kernel, case.args()) for hardware in (False, True)
    )
    assert code != other
    differing = [(a, b) for a, b in zip(key[0], other_key[0], strict=True) if a != b]
    assert len(differing) == 1 and [entry[2] for entry in differing[0]] == [False, True]
    assert key[1:] == other_key[1:]


@pytest.mark.spec("cache-101")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_checked_code_has_keys_of_its_own(case: Case) -> None:
    backend = TextBackend()
    key, code = outcome(backend, case.kernel, case.args())
    checked_key, checked = outcome(backend, case.kernel, case.args(), debug=True)
    assert checked_key is not None and checked != code
    assert len(checked_key[0]) == len(key[0]) + 2
    assert outcome(backend, case.kernel, case.args()) == (key, code)
    assert outcome(backend, case.kernel, case.args(), debug=True) == (checked_key, checked)


# ------------------------------------------------------------------------------------- what is deliberately not in the key


def make_scale() -> tack.Kernel:
    @tack.kernel
    def scale(x, out, a):
        for i in range(x.shape[0]):
            out[i] = x[i] * a

    return scale


def _values_of_one_type(kernel: tack.Kernel) -> None:
    x = array(8)
    for a in (2.0, 3.5, -0.0, float("inf"), np.float32(0.1), np.float64(0.25), np.float16(2)):
        out = like(x)
        kernel(x, out, a)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(out.numpy(), x.numpy() * np.float32(a))


def _launch_lengths(kernel: tack.Kernel) -> None:
    for n in (8, 16, 1, 0, 1000):
        x = array(n)
        out = like(x)
        kernel(x, out, 2.0)
        np.testing.assert_array_equal(out.numpy(), x.numpy() * 2)


def _contents_and_addresses(kernel: tack.Kernel) -> None:
    big = array(64)
    for lo in (0, 8, 17, 23):
        x, out = big[lo : lo + 8], tack.zeros(40)[lo : lo + 8]
        kernel(x, out, 2.0)
        np.testing.assert_array_equal(out.numpy(), big.numpy()[lo : lo + 8] * 2)
    owned = np.arange(8, dtype=np.float32)
    out = tack.zeros(8)
    kernel(tack.from_dlpack(owned), out, 2.0)
    np.testing.assert_array_equal(out.numpy(), owned * 2)


def _read_only_inputs(kernel: tack.Kernel) -> None:
    owned = np.arange(8, dtype=np.float32)
    owned.flags.writeable = False
    out = tack.zeros(8)
    kernel(tack.from_dlpack(owned), out, 2.0)
    np.testing.assert_array_equal(out.numpy(), owned * 2)


def _way_of_calling(kernel: tack.Kernel) -> None:
    x = array(8)
    for call in (lambda out: kernel(x, out, a=3.0), lambda out: kernel(a=3.0, out=out, x=x), lambda out: kernel(x, out, 3.0)):
        out = like(x)
        call(out)
        np.testing.assert_array_equal(out.numpy(), x.numpy() * 3)


def _name_of_the_kernel(kernel: tack.Kernel) -> None:
    kernel.__name__ = kernel.__qualname__ = "another_name"
    _launch_lengths(kernel)


NOT_KEYED = {
    "values of scalars": _values_of_one_type,
    "the launch length": _launch_lengths,
    "contents and addresses": _contents_and_addresses,
    "read-only inputs": _read_only_inputs,
    "keywords and order of arguments": _way_of_calling,
    "the kernel's name": _name_of_the_kernel,
}


@pytest.mark.spec("cache-004", "cache-094", "cache-096", "cache-098", "cache-099")
@pytest.mark.parametrize("row", NOT_KEYED)
def test_what_is_not_in_the_key_compiles_nothing(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scale = make_scale()
    x = array(8)
    scale(x, like(x), 2.0)
    (key,) = keys(scale)
    steps = ((tack.Kernel, "_lower"), (kernel_utils, "_build_variant"), (cpu_jit, "compile_module"))
    with counted(monkeypatch, *steps) as counts:
        NOT_KEYED[row](scale)
        NOT_KEYED[row](scale)
    assert not counts and keys(scale) == [key] and both_counts(scale) == (1, 1) and scale.lowerings == 1


@pytest.mark.spec("cache-097")
def test_numbers_of_objects_are_not_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    @tack.kernel
    def apply(s, out):
        for i in range(out.shape[0]):
            out[i] = s.at(i)

    s = Scaled(1.0, array(8), twice)
    apply(s, tack.zeros(8))
    with counted(monkeypatch, (tack.Kernel, "_lower"), (kernel_utils, "_build_variant")) as counts:
        for offset in (2.0, -3.5, np.float32(7)):
            s.offset = offset
            for n in (8, 4):
                out = tack.zeros(n)
                apply(s, out)
                expected = 2 * (offset + 3 * (np.arange(n, dtype=np.float32) * 2 + 254))  # 7 - 9 as u8
                np.testing.assert_array_equal(out.numpy(), expected)
    assert not counts and both_counts(apply) == (1, 1)


@pytest.mark.spec("cache-100")
def test_the_backend_is_not_in_the_key() -> None:
    scale = make_scale()
    x = array(8)
    scale(x, like(x), 2.0)
    one = tack.device("cpu", num_threads=1)
    with one:
        scale(x, like(x), 2.0)
    assert list(one._backend._cache[scale]) == list(get_backend()._cache[scale]) and scale.lowerings == 1


@pytest.mark.spec("cache-101")
def test_debug_mode_is_not_in_the_key_as_a_flag() -> None:
    scale = make_scale()
    x = array(8)
    scale(x, like(x), 2.0)
    tack.set_debug(True)
    try:
        for n in (8, 16):  # the checks read sizes: no variant for each length
            x = array(n)
            scale(x, like(x), 2.0)
    finally:
        tack.set_debug(False)
    plain, checked = keys(scale)
    assert checked[0][:3] == plain[0] and len(checked[0]) == 5 and checked[1:4] == plain[1:4]
    assert list(scale._ir_cache) == [(("debug",),)]
    assert both_counts(scale) == (2, 2)


@pytest.mark.spec("cache-103")
def test_names_bound_anew_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"amount": tack.constant(1.0)}

    def make() -> tack.Kernel:
        @tack.kernel(namespace=names)
        def add(x, out):
            for i in range(x.shape[0]):
                out[i] = x[i] + amount

        return add

    add, x = make(), array(4)
    add(x, like(x))
    names["amount"] = tack.constant(5.0)
    with counted(monkeypatch, (tack.Kernel, "_lower"), (kernel_utils, "_build_variant")) as counts:
        out = like(x)
        add(x, out)
    assert not counts and out.numpy().tolist() == [1, 2, 3, 4]
    again = make()
    again(x, out)
    assert out.numpy().tolist() == [5, 6, 7, 8]
