"""Objects of device classes on the warm path: equal signatures imply equal keys, whatever happens to objects and classes between.

The states are random; the key of each is derived by the slow path's own description, which knows no layouts.
"""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from key_tools import TextBackend

import tack
from tack.lang import device_class
from tack.lang.call_shape import CallShape, describe_call
from tack.lang.kernel import MISS
from tack.lang.type_inference import integer_type_for_value
from tack.runtime import dispatch, kernel_utils
from tack.runtime.class_versions import version_word
from tack.runtime.dispatch import get_backend
from tack.runtime.fast_path import _call_signature, _fast_resolve, _read_call, _template_layouts
from tack.runtime.template_layout import read_object
from tack.runtime.warm_call import WarmCall, quick_call

NUMBERS = (
    2.0, 3.0, 2, 3, True, 0.0, -0.0, float("nan"), 2**31, 2**63, -(2**31) - 1, np.float32(2), np.float64(2), np.int64(2),
    np.bool_(True), tack.constant(2.0), tack.constant(2), tack.constant(2.0, tack.f32), tack.constant((1.0, 2.0)),
)  # fmt: skip
ARRAYS = tuple(tack.zeros(shape, dtype) for shape in (3, 4, (2, 2)) for dtype in (tack.f32, tack.f64, tack.vec2, tack.mat2))
OTHERS = (None, "text", (), print, object(), np.arange(3), type("Plain", (), {})())


@tack.func
def one(v):
    return v


@tack.func
def two(v):
    return v + v


def make_classes() -> tuple[type, ...]:
    """A class with a base, one with slots, and one for what they hold; new ones each time, since the states change them."""

    class Base:
        factor = 2.0
        label = "text"

    @tack.device_class
    class Plain(Base):
        limit = None

        @property
        def twice(self):
            return 2 * self.factor

    @tack.device_class
    class Slotted:
        __slots__ = ("__dict__", "data", "factor", "inner")

    @tack.device_class
    class Inner:
        scale = 1.0

    class Derived(Plain):
        pass

    return Plain, Slotted, Inner, Derived, Base


NAMES = ("factor", "offset", "data", "inner", "label", "limit", "twice", "fn", "_hidden", "class", "a name")


def change(rng: random.Random, thing: Any, classes: tuple[type, ...]) -> None:
    """One change of an object, of what it holds, or of a class."""
    value = rng.choice((rng.choice(NUMBERS), rng.choice(ARRAYS), rng.choice(OTHERS), one, two, rng.choice(classes[:4])()))
    inner = getattr(thing, "inner", None)
    owner = rng.choice((thing, thing, thing, inner if type(inner) in classes else thing, rng.choice(classes)))
    name = rng.choice(NAMES)
    if isinstance(owner, type) and name in ("data", "inner") and owner is classes[1]:
        return  # slots stay
    try:
        if rng.random() < 0.3:
            delattr(owner, name)
        elif name != "twice" or isinstance(owner, type) or rng.random() < 0.5:
            setattr(owner, name, value)
        else:
            owner.__dict__[name] = value
    except (AttributeError, TypeError):
        pass


def key_of(args: tuple[Any, ...]) -> tuple[Any, CallShape] | None:
    """What the variant key says of a call whose source bakes no sizes in; None where the call is refused."""
    try:
        call = describe_call(("thing", "x", "a"), args)
    except TypeError:
        return None
    parts = []
    for arg in call.args:
        if isinstance(arg, tack.Array):
            parts.append(("array", arg.dtype.scalar, arg.ndim, arg.dtype.shape))
        else:
            parts.append(float if isinstance(arg, (float, np.floating)) else integer_type_for_value(int(arg)))
    return (call.names, tuple(parts), tuple((k, t.key) for k, t in call.templates.items())), call


def trampoline(args: tuple[Any, ...], serial: int) -> Callable[[int, tuple[Any, ...]], Any] | None:
    """The generated function of a call, whose launch gives the arguments of compiled code back."""
    layouts, kinds, shapes = [], [], []
    for arg in args:
        layout, values = None, (arg,)
        if not isinstance(arg, (tack.Array, float, int)):
            layout, values, _ = read_object(arg)
            if layout is None:
                return None
        layouts.append(layout)
        for value in values:
            if layout is not None and isinstance(value, tack.Array):
                shapes.append((len(kinds), value.shape))
            kinds.append(_call_signature((value,))[0])
    if None in kinds:
        return None
    warm = WarmCall(tuple(layouts), tuple(kinds), (), tuple(shapes), (), (), (), True)
    return quick_call(serial, warm, lambda found: tuple(found))


@pytest.mark.spec("cache-149", "cache-150")
@pytest.mark.parametrize("seed", range(6))
def test_equal_signatures_imply_equal_keys_in_random_states(seed: int) -> None:
    rng = random.Random(seed)
    classes = make_classes()
    keys: dict[Any, Any] = {}
    quick: dict[Any, Any] = {}
    served = again = 0
    things = [rng.choice((classes[0], classes[1], classes[3]))() for _ in range(3)]
    x = ARRAYS[0]
    for _ in range(500):
        thing = rng.choice(things)
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            change(rng, thing, classes)
        args = (thing, x, rng.choice((1.0, 1, 2**40)))
        expected = key_of(args)
        found = _read_call(args)
        if expected is None:
            assert found is None
            continue
        if found is None or None in found[0]:
            continue
        key, call = expected
        assert len(found[1]) == len(call.args) and all(a is b for a, b in zip(found[1], call.args, strict=True))
        again += found[0] in keys
        assert keys.setdefault(found[0], key) == key
        for signature, call_again in quick.items():
            result = call_again(7, args)
            if result is not MISS:
                served += 1
                assert signature == found[0] and all(a is b for a, b in zip(result, call.args, strict=True))
        if found[0] not in quick and len(quick) < 60:
            made = trampoline(args, 7)
            if made is not None:
                quick[found[0]] = made
    assert served > 20 and len(keys) > 50 and again > 20, (served, len(keys), again)


@tack.device_class
class Line:
    factor = 2.0

    def __init__(self, offset: Any = 1.0, data: Any = None) -> None:
        self.offset = offset
        self.data = tack.array(np.arange(4, dtype=np.float32)) if data is None else data


def make_apply() -> tack.Kernel:
    @tack.kernel
    def apply(line, out):
        for i in range(out.shape[0]):
            out[i] = line.data[i] * line.factor + line.offset

    return apply


def fast_calls(patch: pytest.MonkeyPatch) -> list[bool]:
    """Of each call from here on, whether it was served without the slow path."""
    seen: list[bool] = []
    launch, bind = dispatch.launch, tack.Kernel.bind

    def watched(kernel: Any, args: Any, kwargs: Any) -> Any:
        seen.append(True)
        return launch(kernel, args, kwargs)

    def slow(self: Any, args: Any, kwargs: Any) -> Any:
        seen[-1] = False
        return bind(self, args, kwargs)

    patch.setattr(tack.hooks.slots, "launch", watched)
    patch.setattr(tack.Kernel, "bind", slow)
    return seen


@pytest.mark.spec("cache-148", "cache-149", "cache-155")
def test_a_call_with_an_object_is_served_by_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing describes the object again, which is how the slow path reads it."""
    apply, out = make_apply(), tack.zeros(4)
    seen = fast_calls(monkeypatch)
    for k, offset in enumerate((1.0, 2.0, 3.5)):
        with monkeypatch.context() as patch:
            if k:
                patch.setattr(device_class, "_attributes", lambda thing: pytest.fail("described"))
            for line in (Line(offset), Line(offset)):
                apply(line, out)
                assert out.numpy().tolist() == [2 * i + offset for i in range(4)]
    assert seen == [False] + [True] * 5
    apply(Line(3), out)  # an int
    apply(Line(4), out)
    assert out.numpy().tolist() == [2 * i + 4 for i in range(4)]
    assert seen[-2:] == [False, True]


@pytest.mark.spec("cache-151")
@pytest.mark.rule("M3", "M4", "W1")
def test_a_hit_makes_the_checks_of_every_call() -> None:
    """Full workgroups, the alignment of atomics' targets and read-only arrays: a signature cannot stand for them."""

    @tack.kernel
    def together(line, out):
        for i in range(line.data.shape[0]):
            tack.barrier()
            tack.atomic_add(out, 0, line.data[i])

    backend = TextBackend()
    raw = np.zeros(64, np.uint8)
    odd = tack.array_from_ptr(raw[1:].ctypes.data, tack.f32, (2,), writable=True, owner=raw)
    frozen = tack.array_from_ptr(raw.ctypes.data, tack.f32, (2,), owner=raw)
    full, short, out = Line(1.0, tack.zeros(512)), Line(1.0, tack.zeros(500)), tack.zeros(2)
    for _ in range(2):
        variant = backend.resolve(together, (full, out))
    serial = backend._cache.serial
    hit = _fast_resolve(serial, together, (full, out))
    assert hit is not None and hit.variant is variant and hit.args[0] is full.data and hit.args[2] is out
    for wrong, words in ((odd, "multiple of 4 bytes"), (frozen, "read-only")):
        assert _fast_resolve(serial, together, (full, wrong)) is None
        with pytest.raises(ValueError, match=words):
            backend.resolve(together, (full, wrong))
    with pytest.raises(ValueError, match="workgroup"):
        backend.resolve(together, (short, out))
    with pytest.raises(ValueError, match="workgroup"):
        _fast_resolve(serial, together, (short, out))


@pytest.mark.spec("cache-154")
def test_a_layout_is_relearned_when_names_or_types_differ() -> None:
    apply, out = make_apply(), tack.zeros(4)
    line = Line()
    apply(line, out)
    first = _template_layouts[Line]
    line.note = "seen by nobody"
    apply(line, out)
    second = _template_layouts[Line]
    assert second is not first
    line.note = 3.0
    apply(line, out)
    assert _template_layouts[Line] not in (first, second)
    del line.note
    apply(line, out)
    assert _template_layouts[Line] is first  # the same again
    Line.factor = 5.0
    try:
        apply(line, out)
        assert out.numpy().tolist() == [5 * i + 1 for i in range(4)]
        assert _template_layouts[Line] is not first
    finally:
        Line.factor = 2.0
    apply(line, out)
    assert out.numpy().tolist() == [2 * i + 1 for i in range(4)]
    assert _template_layouts[Line] is first


@pytest.mark.spec("cache-152")
def test_layouts_and_entries_hold_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    apply, out = make_apply(), tack.zeros(4)

    def run() -> list[weakref.ref[Any]]:
        cls = tack.device_class(type("Line", (), {"factor": 3.0}))
        inner = tack.device_class(type("Inner", (), {"factor": 3.0}))
        line = cls()
        line.offset, line.data, line.inner, line.extra = 1.0, tack.ones(4), inner(), cls
        for _ in range(3):
            apply(line, out)
            assert out[0] == 4
        assert _template_layouts[cls].read(line) is not None
        return [weakref.ref(cls), weakref.ref(inner), weakref.ref(line)]

    gone = run()
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3
    assert not any(apply.signatures.values()) and len(get_backend()._cache[apply]) == 0


def test_an_object_that_comes_to_hold_itself_is_refused() -> None:
    @tack.kernel
    def k(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.offset

    thing, out = Line(), tack.zeros(2)
    thing.other = None
    for _ in range(3):
        k(thing, out)
    thing.other = thing
    with pytest.raises(TypeError, match="holds itself"):
        k(thing, out)


def test_objects_that_no_layout_describes_are_still_read_right() -> None:
    """A class with its own way of handing attributes out is described at each call."""

    @tack.device_class
    class Odd:
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    @tack.device_class
    class Empty:
        __slots__ = ("factor", "offset")

    @tack.kernel
    def k(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.offset

    out = tack.zeros(1)
    for thing in (Odd(), Empty()):
        for value in (1.0, 2.0, 3):
            thing.offset = value
            k(thing, out)
            assert out[0] == value
        assert type(thing) not in _template_layouts
    assert len(k.signatures[get_backend()._cache.serial]) == 4


def test_a_dict_of_the_users_own_kind_is_read_as_python_reads_it() -> None:
    """Attributes come from what such a dict holds, not from its own way of handing items out, on the first call and later."""

    class Own(dict[str, float]):
        def __getitem__(self, name: str) -> float:
            return 77.0

    @tack.device_class
    class Holds:
        def __init__(self, offset):
            self.offset = offset

    @tack.kernel
    def k(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.offset

    odd, out = Holds(1.0), tack.zeros(1)
    odd.__dict__ = Own(offset=9.0)
    for thing, expected in [(odd, 9.0), *[(Holds(1.0), 1.0)] * 5, (odd, 9.0), (odd, odd.offset)]:
        k(thing, out)
        assert out[0] == expected


def test_objects_in_random_states_compute_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers, through whichever path each call takes."""
    rng = random.Random(4)
    apply, out = make_apply(), tack.zeros(4)
    seen = fast_calls(monkeypatch)
    cls = tack.device_class(type("Line", (Line,), {}))
    lines = [cls(), cls(), Line()]
    arrays = [tack.array(np.arange(1, 5, dtype=d)) for d in (np.float32, np.int32)] + [tack.array(np.arange(5, dtype=np.float32))]
    for _ in range(150):
        line = rng.choice(lines)
        match rng.randrange(7):
            case 0:
                line.offset = rng.choice((1.0, 2.0, 3, np.float32(2)))
            case 1:
                line.data = rng.choice(arrays)
            case 2:
                line.factor = rng.choice((2.0, 3.0, 2))
            case 3 if "factor" in vars(line):
                del line.factor
            case 4:
                cls.factor = rng.choice((2.0, 4.0))
            case 5:
                line.__class__ = rng.choice((cls, Line))
        apply(line, out)
        expected = line.data.numpy()[:4].astype(np.float32) * np.float32(line.factor) + np.float32(line.offset)
        np.testing.assert_array_equal(out.numpy(), expected)
    assert sum(seen) > 50


def test_threads_that_change_what_others_pass() -> None:
    """Each call computes one state of its object: what was read is what decides and what is passed."""

    @tack.kernel
    def k(thing, out):
        for i in range(out.shape[0]):
            out[i] = thing.value * thing.weight

    cls = tack.device_class(type("Holder", (), {"weight": 1.0}))
    thing, wrong = cls(), []
    thing.value = 1.0
    stop = threading.Event()

    def vary() -> None:
        while not stop.is_set():
            for value in (1.0, 2, 3.0, 2**40):
                thing.value = value
            thing.weight = 1.0
            del thing.weight

    def call() -> None:
        out = tack.zeros(1, tack.f64)
        for _ in range(300):
            k(thing, out)
            if out[0] not in (1.0, 2.0, 3.0, 2.0**40):
                wrong.append(out[0])

    changer, callers = threading.Thread(target=vary), [threading.Thread(target=call) for _ in range(3)]
    for thread in (changer, *callers):
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    changer.join()
    assert not wrong


def test_a_class_has_a_new_number_after_every_change() -> None:
    class Base:
        value = 1

    class Derived(Base):
        pass

    word = version_word(Derived)
    seen = [word.value]
    for change_it in (
        lambda: setattr(Base, "value", 2), lambda: setattr(Derived, "value", 1), lambda: delattr(Derived, "value"),
        lambda: setattr(Base, "other", 1), lambda: setattr(Derived, "__bases__", (type("Other", (Base,), {}),)),
    ):  # fmt: skip
        change_it()
        assert word.value not in seen
        version_word(Derived)
        assert word.value and word.value not in seen
        seen.append(word.value)
    Derived.value, Derived().value
    before = version_word(Derived).value
    Derived().value
    assert word.value == before


def test_without_class_numbers_every_object_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that shows no state of its classes gets the same answers."""
    monkeypatch.setattr("tack.runtime.class_versions.OFFSET", None)
    apply, out = make_apply(), tack.zeros(4)
    cls = tack.device_class(type("Line", (Line,), {}))
    line = cls()
    for factor in (2.0, 3.0, 2.0):
        cls.factor = factor
        for _ in range(2):
            apply(line, out)
            assert out.numpy().tolist() == [factor * i + 1 for i in range(4)]
    assert cls not in _template_layouts


def test_a_variant_and_its_arguments_come_from_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object is not read again between the choice of its variant and the launch."""
    apply, out = make_apply(), tack.zeros(4)
    line = Line()
    for _ in range(2):
        apply(line, out)
    monkeypatch.setattr(kernel_utils, "_fast_resolve", lambda *args: pytest.fail("read twice"))
    line.offset = 2**40
    apply(line, out)
    assert out[0] == float(2**40)
