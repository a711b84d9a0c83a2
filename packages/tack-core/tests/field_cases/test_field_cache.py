"""Caches that served the wrong code, or none, or kept too much."""

import gc
import weakref

import numpy as np
import pytest
from field_tools import cached, finish, run, start, write

import tack

MAIN = """
    import numpy as np
    import tack

    tack.set_default_device("cpu")
    from kernels import apply

    x = tack.array(np.arange(4, dtype=np.float32))
    out = tack.empty_like(x)
    apply(x, out)
    print(out.numpy().tolist())
"""

KERNELS = """
    import tack
    from helper import bump


    @tack.kernel
    def apply(x, out):
        for i in range(x.shape[0]):
            out[i] = bump(x[i])
"""

HELPER = """
    import tack


    @tack.func
    def bump(v):
        return v + {amount}
"""


# B01: a device function in another file is edited between two runs


@pytest.mark.slow
def test_edited_helper_is_not_served_from_disk(tmp_path):
    write(tmp_path, main=MAIN, kernels=KERNELS, helper=HELPER.format(amount="1.0"))
    assert run(tmp_path, "main") == [1, 2, 3, 4]
    assert run(tmp_path, "main") == [1, 2, 3, 4]
    write(tmp_path, helper=HELPER.format(amount="2.0"))
    assert run(tmp_path, "main") == [2, 3, 4, 5]
    write(tmp_path, helper=HELPER.format(amount="1.0"))
    assert run(tmp_path, "main") == [1, 2, 3, 4]


@pytest.mark.slow
def test_edited_helper_of_a_helper(tmp_path):
    write(
        tmp_path,
        main=MAIN,
        kernels=KERNELS,
        deep=HELPER.format(amount="1.0"),
        helper="""
              import tack
              import deep


              @tack.func
              def bump(v):
                  return deep.bump(v) * 10.0
          """,
    )
    assert run(tmp_path, "main") == [10, 20, 30, 40]
    write(tmp_path, deep=HELPER.format(amount="3.0"))
    assert run(tmp_path, "main") == [30, 40, 50, 60]


# B02: one factory, two device functions

FACTORY = """
    import numpy as np
    import tack

    tack.set_default_device("cpu")


    @tack.func
    def double(v):
        return v * 2.0


    @tack.func
    def negate(v):
        return -v


    def make(fn):
        @tack.kernel
        def kernel(x, out):
            for i in range(x.shape[0]):
                out[i] = fn(x[i])
        return kernel


    x = tack.array(np.arange(1, 4, dtype=np.float32))
    answers = []
    for fn in {order}:
        out = tack.empty_like(x)
        make(fn)(x, out)
        answers.append(out.numpy().tolist())
    print(answers)
"""


@pytest.mark.slow
def test_factory_kernels_keep_their_own_functions(tmp_path):
    doubled, negated = [2, 4, 6], [-1, -2, -3]
    write(tmp_path, one=FACTORY.format(order="(double, negate)"))
    for _ in range(2):
        assert run(tmp_path, "one") == [doubled, negated]
    write(tmp_path, one=FACTORY.format(order="(negate, double, negate)"))
    assert run(tmp_path, "one") == [negated, doubled, negated]


# B03: a damaged entry is a miss


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["empty", "half", "noise"])
def test_damaged_entries_are_compiled_again(tmp_path, damage):
    write(tmp_path, main=MAIN, kernels=KERNELS, helper=HELPER.format(amount="1.0"))
    assert run(tmp_path, "main") == [1, 2, 3, 4]
    files = cached(tmp_path)
    assert files, "nothing was cached"
    for path in files:
        data = path.read_bytes()
        if damage == "empty":
            data = b""
        elif damage == "half":
            data = data[: len(data) // 2]
        else:
            middle = len(data) // 2
            data = data[:middle] + bytes(b ^ 0x5A for b in data[middle : middle + 64]) + data[middle + 64 :]
        path.write_bytes(data)
    for _ in range(2):
        assert run(tmp_path, "main") == [1, 2, 3, 4]


# B04: several processes compile the same kernel into one empty cache


@pytest.mark.slow
def test_processes_racing_for_one_cache(tmp_path):
    write(tmp_path, main=MAIN, kernels=KERNELS, helper=HELPER.format(amount="1.0"))
    for _ in range(2):
        children = [start(tmp_path, "main") for _ in range(6)]
        assert [finish(child) for child in children] == [[1, 2, 3, 4]] * 6


# B05: constants of a class belong to the kernel compiled with them


@tack.device_class
class Line:
    factor = 2.0

    def __init__(self, offset):
        self.offset = offset

    @tack.func
    def at(self, v):
        return v * self.factor + self.offset


@tack.kernel
def evaluate(line, x, out):
    for i in range(x.shape[0]):
        out[i] = line.at(x[i])


def test_changed_class_constant_is_seen():
    x = tack.array(np.arange(3, dtype=np.float32))

    def values(line):
        out = tack.empty_like(x)
        evaluate(line, x, out)
        return out.numpy().tolist()

    line, other = Line(1.0), Line(5.0)
    assert values(line) == [1, 3, 5]
    assert values(other) == [5, 7, 9]
    line.factor = 3.0
    assert values(line) == [1, 4, 7]
    assert values(other) == [5, 7, 9]
    Line.factor = 10.0
    try:
        assert values(other) == [5, 15, 25]
        assert values(line) == [1, 4, 7]
    finally:
        Line.factor = 2.0
    assert values(other) == [5, 7, 9]


# B08: a class made for one call is let go, and what was compiled for it


def test_class_of_one_call_is_released():
    x = tack.array(np.arange(3, dtype=np.float32))
    gone = []
    for step in range(3):

        @tack.device_class
        class Shift:
            by = float(step)

            @tack.func
            def at(self, v):
                return v + self.by

        out = tack.empty_like(x)
        evaluate(Shift(), x, out)
        assert out.numpy().tolist() == [step, step + 1, step + 2]
        gone.append(weakref.ref(Shift))
        del Shift
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


# B07: lengths and values of scalars are no reason to compile again


@tack.kernel
def scale(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


def variants(kernel):
    from tack.runtime.dispatch import get_backend

    return len(get_backend()._cache[kernel])


def test_lengths_and_scalar_values_share_a_variant():
    for n in (1, 2, 8, 16, 31, 1000):
        for a in (0.5, 1.0, 16.0, -3.25):
            x = tack.array(np.arange(n, dtype=np.float32))
            out = tack.empty_like(x)
            scale(x, out, a)
            np.testing.assert_array_equal(out.numpy(), np.arange(n, dtype=np.float32) * np.float32(a))
    assert variants(scale) == 1


# B06: the type of a scalar changes from call to call


@tack.kernel
def stretch(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


def test_scalar_types_do_not_borrow_each_others_code():
    x = tack.array(np.array([1, 2, 3], dtype=np.float64))
    out = tack.empty_like(x)
    for a in (3, 3.5, 2**40, 3, 0.1, -7, 2**63, -(2**40), 3.5, 3):
        stretch(x, out, a)
        assert out.numpy().tolist() == [a * v for v in (1.0, 2.0, 3.0)], a
    single = tack.array(np.array([1, 2, 3], dtype=np.float32))
    out = tack.empty_like(single)
    for a in (3, 0.1, 3):
        stretch(single, out, a)
        np.testing.assert_array_equal(out.numpy(), np.array([1, 2, 3], np.float32) * np.float32(a))
