"""What the person who wrote the kernel is told."""

import numpy as np
import pytest
from field_tools import line_of, points_at, rejection

import tack


def two():
    x = tack.array(np.arange(4, dtype=np.float32))
    return x, tack.array(np.full(4, 9.0, dtype=np.float32))


# E01: Python that kernels do not speak: refused, with the place


def bad_try():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            try:  # BAD try
                out[i] = x[i]
            except ValueError:
                out[i] = 0.0

    return kernel


def bad_with():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            with open("f") as f:  # BAD with
                out[i] = x[i]

    return kernel


def bad_list():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            parts = [x[i] * k for k in range(3)]  # BAD list
            out[i] = parts[1]

    return kernel


def bad_dict():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            table = {"a": x[i]}  # BAD dict
            out[i] = table["a"]

    return kernel


def bad_lambda():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            f = lambda v: v + 1.0  # BAD lambda
            out[i] = f(x[i])

    return kernel


def bad_name():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * misspelt  # BAD name

    return kernel


def bad_return():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i]
        return out  # BAD return

    return kernel


def bad_slice():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            part = x[1:3]  # BAD slice
            out[i] = part[0]

    return kernel


@pytest.mark.parametrize("build", [bad_try, bad_with, bad_list, bad_dict, bad_lambda, bad_name, bad_return, bad_slice])
def test_unsupported_python_is_refused_with_its_place(build):
    x, out = two()
    exc = rejection(lambda: build()(x, out))
    line = line_of(__file__, "# BAD " + build.__name__.removeprefix("bad_"))
    assert points_at(exc, __file__, line), f"no place in: {exc}"
    assert out.numpy().tolist() == [9.0] * 4


# E03: the one parallel loop: nothing beside it, nothing around it


def second_loop():
    @tack.kernel
    def kernel(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i]
        for i in range(1, x.shape[0]):
            out[i] = out[i - 1] + x[i]

    return kernel


def loop_in_a_branch():
    @tack.kernel
    def kernel(x, out):
        if x[0] < 100.0:
            for i in range(x.shape[0]):
                out[i] = x[i]

    return kernel


def no_loop():
    @tack.kernel
    def kernel(x, out):
        out[0] = x[0]

    return kernel


@pytest.mark.parametrize("build", [second_loop, loop_in_a_branch, no_loop])
def test_exactly_one_parallel_loop(build):
    x, out = two()
    exc = rejection(lambda: build()(x, out))
    assert "loop" in str(exc).lower() or "for" in str(exc).lower()
    assert out.numpy().tolist() == [9.0] * 4


# E04: an index outside the array, in debug mode


@tack.kernel
def reach(x, out, ahead):
    for i in range(out.shape[0]):
        out[i] = x[i + ahead]


@tack.kernel
def poke(out, where, value):
    for i in range(1):
        out[where] = value


def test_debug_mode_catches_reads_outside():
    x, out = two()
    reach(x, out, 0)
    tack.set_debug(True)
    exc = rejection(reach, x, out, 3)
    assert "reach" in str(exc) and "x" in str(exc)
    reach(x, out, 0)
    assert out.numpy().tolist() == [0, 1, 2, 3]


def test_debug_mode_stops_writes_outside():
    base = np.zeros(16, dtype=np.float32)
    middle = tack.from_dlpack(base[4:12])
    tack.set_debug(True)
    for where in (8, -1, 1000):
        rejection(poke, middle, where, 5.0)
        assert base.tolist() == [0.0] * 16
    poke(middle, 7, 5.0)
    assert base[11] == 5.0 and base.sum() == 5.0


# E05: a kernel whose source nobody can read


def test_kernel_without_source():
    text = "import tack\n@tack.kernel\ndef kernel(x, out):\n    for i in range(x.shape[0]):\n        out[i] = x[i]\n"

    def build_and_call():
        names = {"__name__": "nowhere"}
        exec(compile(text, "<string>", "exec"), names)
        x, out = two()
        names["kernel"](x, out)

    exc = rejection(build_and_call)
    assert "source" in str(exc).lower()


# E02: an array used with the wrong number of indices


def flat_index():
    @tack.kernel
    def kernel(a, out):
        for i in range(out.shape[0]):
            out[i] = a[i]  # BAD flat_index

    return kernel


def deep_index():
    @tack.kernel
    def kernel(a, out):
        for i in range(out.shape[0]):
            out[i] = a[i, 0, 0]  # BAD deep_index

    return kernel


def float_index():
    @tack.kernel
    def kernel(a, out):
        for i in range(out.shape[0]):
            out[i] = out[a[i, 0]]  # BAD float_index

    return kernel


@pytest.mark.parametrize("build", [flat_index, deep_index, float_index])
def test_wrong_indices_are_refused(build):
    a = tack.array(np.ones((4, 3), dtype=np.float32))
    out = tack.array(np.full(4, 9.0, dtype=np.float32))
    exc = rejection(lambda: build()(a, out))
    assert points_at(exc, __file__, line_of(__file__, "# BAD " + build.__name__)), str(exc)
    assert out.numpy().tolist() == [9.0] * 4
