"""Classes of arguments are keyed by a token: one that is collected takes its templates and variants with it."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import tack
from tack.hooks import slots
from tack.lang import class_token
from tack.lang.kernel import _class_token, _class_tokens, _ClassToken, _retire_class
from tack.runtime.dispatch import get_backend


def make_class(by: float) -> type:
    @tack.device_class
    class Shift:
        amount = by

        @tack.func
        def at(self, v):
            return v + self.amount

    return Shift


def make_kernel() -> tack.Kernel:
    @tack.kernel
    def evaluate(thing, x, out):
        for i in range(x.shape[0]):
            out[i] = thing.at(x[i])

    return evaluate


def run(kernel: tack.Kernel, thing: object, n: int = 3) -> list[float]:
    x = tack.array(np.arange(n, dtype=np.float32))
    out = tack.empty_like(x)
    kernel(thing, x, out)
    return out.numpy().tolist()


def kept(kernel: tack.Kernel) -> tuple[int, int]:
    return len(get_backend()._cache.get(kernel, {})), len(kernel._ir_cache)


@pytest.mark.spec("cache-116", "cache-052")
def test_a_class_has_one_token_that_holds_no_class() -> None:
    one, two = make_class(1.0), make_class(2.0)
    token = _class_token(one)
    assert isinstance(token, _ClassToken) and _class_tokens[one] is token
    assert _class_token(one) is token and _class_token(two) is not token
    assert one not in gc.get_referents(token)
    gone = weakref.ref(one)
    gc.collect()
    before = len(_class_tokens)
    del one
    gc.collect()
    assert gone() is None and len(_class_tokens) == before - 1


def test_threads_get_one_token_for_a_class() -> None:
    for _ in range(20):
        cls, barrier, found = make_class(1.0), threading.Barrier(4), []

        def ask(cls: type = cls, barrier: threading.Barrier = barrier, found: list = found) -> None:
            barrier.wait()
            found.append(_class_token(cls))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and len(set(found)) == 1


@pytest.mark.spec("cache-117")
def test_a_token_knows_the_kernels_specialized_on_its_class() -> None:
    cls, one, two = make_class(1.0), make_kernel(), make_kernel()
    run(one, cls())
    token = _class_token(cls)
    assert isinstance(token.kernels, weakref.WeakSet) and set(token.kernels) == {one}
    run(two, cls())
    assert set(token.kernels) == {one, two}
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None and set(token.kernels) == {one}


@pytest.mark.spec("cache-118", "cache-119")
def test_a_collected_class_takes_its_templates_and_variants_with_it() -> None:
    kernel, stays = make_kernel(), make_class(10.0)
    assert run(kernel, stays()) == [10, 11, 12]
    (variant,) = get_backend()._cache[kernel].values()
    cls = make_class(1.0)
    for n in (2, 3):
        thing = cls()
        thing.amount = float(n)
        assert run(kernel, thing, n) == [n, n + 1, n + 2][:n]
    assert kept(kernel) == (3, 3)
    gone = weakref.ref(cls)
    del cls, thing
    gc.collect()
    assert gone() is None
    assert kept(kernel) == (1, 1)
    assert list(get_backend()._cache[kernel].values()) == [variant]
    assert run(kernel, stays()) == [10, 11, 12]
    assert kept(kernel) == (1, 1)


@pytest.mark.spec("cache-118")
def test_every_live_backend_forgets() -> None:
    kernel, cls = make_kernel(), make_class(1.0)
    other = tack.device("cpu", num_threads=1)
    run(kernel, cls())
    with other:
        run(kernel, cls())
    assert len(other._backend._cache[kernel]) == 1
    token = _class_token(cls)
    del cls
    gc.collect()
    assert len(other._backend._cache[kernel]) == 0 and kept(kernel) == (0, 0)
    _retire_class(token)  # once more does nothing
    assert kept(kernel) == (0, 0)


def test_classes_of_nested_objects_and_functions_of_objects_let_go_too() -> None:
    kernel = make_kernel()

    @tack.device_class
    class Outer:
        def __init__(self, inner):
            self.inner = inner

        @tack.func
        def at(self, v):
            return self.inner.at(v)

    @tack.device_class
    class Applies:
        def __init__(self, fn):
            self.at = fn

    def make_function(by: float) -> object:
        amount = tack.constant(by)

        @tack.func
        def shift(v):
            return v + amount

        return shift

    gone = []
    for step in range(3):
        cls, function = make_class(float(step)), make_function(float(step))
        expected = [step, step + 1, step + 2]
        assert run(kernel, Outer(cls())) == expected
        assert run(kernel, Outer(Applies(function))) == expected
        gone += [weakref.ref(cls), weakref.ref(function)]
    del cls, function
    gc.collect()
    assert [ref() for ref in gone] == [None] * 6
    assert kept(kernel) == (0, 0)


@pytest.mark.spec("cache-115", "cache-228")
def test_300_rounds_of_a_class_made_per_call_leave_nothing_behind() -> None:
    """Field case B08, at length: the kernel outlives hundreds of classes."""
    kernel = make_kernel()
    gc.collect()
    tokens = len(_class_tokens)
    classes: weakref.WeakSet[type] = weakref.WeakSet()
    code = []
    for step in range(300):
        cls = make_class(float(step % 7))
        if step % 30 == 0:  # the others are only lowered, which is what costs little
            assert run(kernel, cls()) == [step % 7, step % 7 + 1, step % 7 + 2]
            code += [weakref.ref(v.payload.code) for v in get_backend()._cache[kernel].values()]
        else:
            kernel.template(tack.lang.call_shape.describe_call(kernel.param_names, (cls(), 1, 2)))
        classes.add(cls)
        del cls
        if step % 50 == 49:
            gc.collect()
            assert not classes and kept(kernel) == (0, 0)
    assert len(_class_tokens) == tokens
    assert [ref() for ref in code] == [None] * len(code) and len(code) >= 10


def test_a_class_collected_while_another_thread_launches() -> None:
    """Retirement takes no lock and may run at any allocation, in any thread."""
    kernel, wrong = make_kernel(), []

    def work(seed: int) -> None:
        for step in range(5):
            by = float(seed * 100 + step)
            if run(kernel, make_class(by)()) != [by, by + 1, by + 2]:
                wrong.append(by)
            gc.collect()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong and kept(kernel) == (0, 0)


def test_retirement_before_the_runtime_is_loaded_has_nothing_to_drop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "drop_variants", type(slots)().drop_variants)
    kernel, cls = make_kernel(), make_class(1.0)
    run(kernel, cls())
    token = _class_token(cls)
    class_token._retire_class(token)
    assert kept(kernel) == (1, 0)


def test_an_error_in_lowering_keeps_no_class() -> None:
    kernel = make_kernel()

    @tack.device_class
    class NoMethod:
        pass

    with pytest.raises(NameError, match="no 'at'"):
        run(kernel, NoMethod())
    gone = weakref.ref(NoMethod)
    del NoMethod
    gc.collect()
    assert gone() is None and kept(kernel) == (0, 0)


def test_checked_code_goes_with_its_class_too() -> None:
    kernel, cls = make_kernel(), make_class(1.0)
    tack.set_debug(True)
    try:
        assert run(kernel, cls()) == [1, 2, 3]
    finally:
        tack.set_debug(False)
    assert len(kernel._ir_cache) == 2 and kept(kernel)[0] == 1  # as it was written, and with checks
    del cls
    gc.collect()
    assert kept(kernel) == (0, 0)
