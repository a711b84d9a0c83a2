"""A kernel as an object: it is a partial object for speed alone, and behaves as the decorated function does.

Everything holds before the native entry has become its target and after.
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import pydoc
import threading
import traceback
import types
import warnings
import weakref
from typing import Any

import pytest

import tack


@tack.kernel
def scale(x, out, a):
    """Scales."""
    for i in range(x.shape[0]):
        out[i] = x[i] * a


@tack.kernel
def warm(x, out, a):
    """Scales."""
    for i in range(x.shape[0]):
        out[i] = x[i] * a


@pytest.fixture(params=["scale", "warm"])
def kernel(request: pytest.FixtureRequest) -> tack.Kernel:
    """A kernel that may never have been called, and one that was called often."""
    found: tack.Kernel = globals()[request.param]
    if request.param == "warm":
        x, out = tack.ones(4), tack.zeros(4)
        for _ in range(4):
            found(x, out, 2.0)
    return found


def test_what_a_decorated_function_has(kernel: tack.Kernel) -> None:
    name = kernel.__name__
    assert isinstance(kernel, tack.Kernel) and callable(kernel) and name in ("scale", "warm")
    assert (kernel.__qualname__, kernel.__module__, kernel.__doc__) == (name, __name__, "Scales.")
    assert isinstance(kernel.__wrapped__, types.FunctionType) and inspect.unwrap(kernel) is kernel.__wrapped__
    assert repr(kernel) == f"<tack.kernel {__name__}.{name}>" == str(kernel)
    assert str(inspect.signature(kernel)) == "(x, out, a)" and list(kernel.__signature__.parameters) == ["x", "out", "a"]
    assert inspect.getdoc(kernel) == "Scales." and "def " in inspect.getsource(kernel)
    assert not inspect.isfunction(kernel) and not inspect.iscoroutinefunction(kernel)
    assert "Kernel" in pydoc.render_doc(kernel)
    with pytest.raises(TypeError, match="misses 3 arguments"):
        kernel()


def test_identity(kernel: tack.Kernel) -> None:
    twin = tack.kernel(kernel.__wrapped__)
    assert kernel == kernel and kernel != twin and hash(kernel) == hash(kernel) and len({kernel, twin, kernel}) == 2
    assert copy.copy(kernel) is kernel and copy.deepcopy([kernel])[0] is kernel
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert weakref.ref(kernel)() is kernel
    kernel.note = "attributes of one's own"
    assert kernel.note == vars(kernel)["note"]
    del kernel.note


def test_parameters_may_have_any_name() -> None:
    @tack.kernel
    def odd(self, kernel, args, kwargs, fn, func, call):
        for i in range(kernel.shape[0]):
            kernel[i] = self + args + kwargs + fn + func + call

    out = tack.zeros(2)
    for _ in range(3):
        odd(call=1.0, self=2.0, kernel=out, fn=3.0, args=4.0, kwargs=5.0, func=6.0)
        assert out.numpy().tolist() == [21, 21]
        odd(1.0, out, 1.0, 1.0, 1.0, 1.0, 1.0)
        assert out.numpy().tolist() == [6, 6]


def test_partial_objects_of_kernels_hold_the_kernel(kernel: tack.Kernel) -> None:
    x, out = tack.ones(4), tack.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = functools.partial(kernel, x, out)
        for a in (2.0, 3.0, 4.0):
            bound(a)
            assert out.numpy().tolist() == [a] * 4
    assert bound.func is kernel and (kernel.args, kernel.keywords) == ((), {})


@tack.device_class
class Field:
    def __init__(self) -> None:
        self.data = tack.zeros(3)

    @tack.kernel
    def fill(self, value):
        for i in range(self.data.shape[0]):
            self.data[i] = value


def test_a_kernel_in_a_class_is_a_method() -> None:
    field = Field()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # partial objects in classes are deprecated from 3.13 on
        assert isinstance(Field.fill, tack.Kernel) and isinstance(field.fill, types.MethodType)
        assert field.fill.__self__ is field and field.fill.__func__ is Field.fill
        for value in (1.0, 2.0, 3.0, 4.0):
            field.fill(value)
            assert field.data.numpy().tolist() == [value] * 3
            Field.fill(field, value + 0.5)
            assert field.data.numpy().tolist() == [value + 0.5] * 3


def test_a_traceback_ends_at_the_call(kernel: tack.Kernel) -> None:
    x, out = tack.ones(4), tack.zeros(4)
    for wrong in ((x, out), (x, out, "a"), (x, 2.0, out), (x, out, 2**70)):
        with pytest.raises(TypeError) as caught:
            kernel(*wrong)
        assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__
    field = Field()
    for _ in range(4):
        field.fill(1.0)
    field.data = 3
    with pytest.raises(TypeError) as caught:
        field.fill(1.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__


def test_kernels_are_freed_without_a_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        for calls in (0, 1, 4):

            @tack.kernel
            def fill(x):
                for i in range(x.shape[0]):
                    x[i] = 1.0

            for _ in range(calls):
                fill(tack.zeros(2))
            gone = weakref.ref(fill)
            del fill
            assert gone() is None
    finally:
        gc.enable()


def test_threads_that_are_first_together() -> None:
    """Whichever thread makes the native entry the target, all calls run."""
    for _ in range(10):

        @tack.kernel
        def add(x, a):
            for i in range(x.shape[0]):
                x[i] = x[i] + a

        barrier, found = threading.Barrier(4), []

        def work(add: Any = add, barrier: Any = barrier, found: Any = found) -> None:
            x = tack.zeros(3)
            barrier.wait()
            for _ in range(20):
                add(x, 1.0)
            found.append(x.numpy().tolist())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [[20.0] * 3] * 4
