"""Debug mode checks a component's index that is known at run time only, like an array's (V1, M1); and what it means without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debug_tools import everywhere
from host_c import HostUnit

import tack
from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.ir.interpret import interpret
from tack.testing import typed


@pytest.fixture(autouse=True)
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


@tack.kernel
def read(v, out, k):
    for i in range(out.shape[0]):
        out[i] = v[i][k + i] + (v[i] * 2.0)[k]


@tack.kernel
def one(v, out, k):
    for i in range(out.shape[0]):
        out[i] = v[i][k]


@tack.kernel
def write(v, k):
    for i in range(v.shape[0]):
        v[i][k + i] = 9.0
        v[i][k] += v[i].x


@tack.kernel
def local(out, k):
    for i in range(out.shape[0]):
        v = tack.vec3(1.0, 2.0, 3.0)
        v[k] = 7.0
        v[i] *= 2.0
        out[i] = v.x + v.y * 10.0 + v[k + i] * 100.0


@tack.kernel
def matrix(m, out, r, c):
    for i in range(out.shape[0]):
        m[i][r, c] += 10.0
        t = m[i]
        t[1, c] -= 1.0
        out[i] = t[r, 0] + m[i][r + i, c]


@tack.kernel
def scratch(out, k, c):
    for i in range(out.shape[0]):
        tmp = tack.local_array(tack.vec2, 3)
        for j in range(3):
            tmp[j] = [j, j + 10.0]
        tmp[k][c] = 5.0
        out[i] = tmp[1].x + tmp[k][c + i]


@tack.func
def pick(v, k):
    if k > 5:
        return -1.0
    return v[k]


@tack.kernel
def guarded(v, out, keys):
    for i in range(out.shape[0]):
        k = keys[i]
        out[i] = v[0][k] if 0 <= k and k < 3 else pick(v[0], k)
        while k > 2 and v[0][k - 3] > 0.5:
            k -= 1


@tack.kernel
def bounds(out, k, c):
    size = [2, 3, 4]
    m = [[1, 2], [3, 4]]
    for i, j in tack.ndindex(size[k], m[k, c]):
        out[i, j] = 1.0


@tack.kernel
def answer(x, k) -> float:
    v = tack.vec2(x[0], x[1])
    for i in range(x.shape[0]):
        x[i] = v[i]
    return v[k]


THREE = np.arange(6, dtype=np.float32).reshape(2, 3)


def vectors() -> tack.Array:
    return tack.array(THREE, tack.vec3)


def matrices() -> tack.Array:
    return tack.array(np.arange(8, dtype=np.float32).reshape(2, 2, 2), tack.mat2)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


# Kernel, arguments, the error ("" for none), and NumPy's value of the last array where there is none.
CASES: list[tuple[Any, tuple[Any, ...], str, Any]] = [
    (read, (vectors(), zeros(2), 1), "", [1 + 2, 5 + 8]),
    (read, (vectors(), zeros(2), 2), "index 3 is outside 'v[i]', which has 3 components, at i = 1", None),
    (read, (vectors(), zeros(2), 3), "index 3 is outside 'v[i]', which has 3 components, at i = 0", None),
    (read, (vectors(), zeros(2), -1), "index -1 is outside 'v[i]', which has 3 components, at i = 0", None),
    (one, (vectors(), zeros(2), 2), "", THREE[:, 2]),
    (one, (vectors(), zeros(2), 2**64 - 5), f"index {2**64 - 5} is outside 'v[i]', which has 3 components, at i = 0", None),
    (write, (vectors(), 1), "", [[0, 9, 2], [3, 7, 9]]),
    (write, (vectors(), 2), "index 3 is outside 'v[i]', which has 3 components, at i = 1", None),
    (write, (vectors(), -2), "index -2 is outside 'v[i]', which has 3 components, at i = 0", None),
    (write, (vectors(), 2**40), "index 1099511627776 is outside 'v[i]', which has 3 components, at i = 0", None),
    (local, (zeros(2), 1), "", [2 + 70 + 700, 1 + 140 + 300]),
    (local, (zeros(2), 2), "index 3 is outside 'v', which has 3 components, at i = 1", None),
    (local, (zeros(4), 0), "index 3 is outside 'v', which has 3 components, at i = 3", None),
    (matrix, (matrices(), zeros(2), 0, 1), "", [0 + 11, 4 + 7]),
    (matrix, (matrices(), zeros(1), 2, 0), "index 2 is outside dimension 0 of 'm[i]', which has size 2, at i = 0", None),
    (matrix, (matrices(), zeros(1), 0, 2), "index 2 is outside dimension 1 of 'm[i]', which has size 2, at i = 0", None),
    (matrix, (matrices(), zeros(2), 1, 0), "index 2 is outside dimension 0 of 'm[i]', which has size 2, at i = 1", None),
    (matrix, (matrices(), zeros(1), 1, -1), "index -1 is outside dimension 1 of 'm[i]', which has size 2, at i = 0", None),
    (scratch, (zeros(2), 1, 0), "", [10, 5 + 11]),
    (scratch, (zeros(2), 2, 1), "index 2 is outside 'tmp[k]', which has 2 components, at i = 1", None),
    (scratch, (zeros(2), 0, -1), "index -1 is outside 'tmp[k]', which has 2 components, at i = 0", None),
    (scratch, (zeros(2), 3, 1), "index 3 is outside 'tmp', which has 3 elements, at i = 0", None),
    (guarded, (vectors(), zeros(2), ints(2, 0)), "", [2, 0]),
    (guarded, (vectors(), zeros(3), ints(2, 0, 6)), "index 3 is outside 'v[0]', which has 3 components, at i = 2", None),
    (guarded, (vectors(), zeros(3), ints(2, 4, -1)), "index 4 is outside 'v', which has 3 components, at i = 1", None),
    (bounds, (zeros(4, 5), 1, 0), "", np.pad(np.ones((3, 3)), ((0, 1), (0, 2)))),
    (bounds, (zeros(4, 5), 3, 0), "index 3 is outside 'size', which has 3 components, before the parallel loop", None),
    (bounds, (zeros(4, 5), 2, 0), "index 2 is outside dimension 0 of 'm', which has size 2, before the parallel loop", None),
    (bounds, (zeros(4, 5), 0, -1), "index -1 is outside dimension 1 of 'm', which has size 2, before the parallel loop", None),
    (answer, (np.array([4, 5], np.float32), 1), "", [4, 5]),
    (answer, (np.array([4, 5, 6], np.float32), 0), "index 2 is outside 'v', which has 2 components, at i = 2", None),
    (answer, (np.array([4, 5], np.float32), 2), "index 2 is outside 'v', which has 2 components, in the kernel's result", None),
]  # fmt: skip


@pytest.mark.rule("V1", "M1", "K1", "K6")
@pytest.mark.spec("cache-027")
def test_an_index_of_a_component_is_checked_on_every_target(tmp_path: Path) -> None:
    outcomes = everywhere([(kernel, args) for kernel, args, _, _ in CASES], tmp_path)
    for (kernel, args, error, expected), outcome in zip(CASES, outcomes, strict=True):
        assert outcome.error == error, (kernel, args)
        if expected is not None:
            np.testing.assert_array_equal(outcome.arrays[-1], expected, err_msg=kernel.__name__)


@pytest.mark.rule("V1")
def test_the_error_says_what_an_array_s_says() -> None:
    with pytest.raises(IndexError) as caught:
        write(vectors(), 3)
    with open(__file__, encoding="utf-8") as file:
        line = next(number for number, text in enumerate(file, 1) if text == "        v[i][k + i] = 9.0\n")
    assert [text.rstrip(".") for text in str(caught.value).split("\n")] == [
        "Kernel 'write': index 3 is outside 'v[i]', which has 3 components, at i = 0",
        f'  File "{__file__}", line {line}, column 9, in write',
        "    v[i][k + i] = 9.0",
        "    ^^^^^^^^^^^",
        "  Check the index: the last one is 2",
    ]
    assert caught.value.lineno == line


@pytest.mark.rule("V1", "F1", "F2")
def test_components_in_functions_and_objects_are_named_as_they_are_written_there() -> None:
    @tack.device_class
    class Field:
        axes = (0, 2)

        def __init__(self, data: tack.Array) -> None:
            self.data = data

        @tack.func
        def at(self, i, k):
            return self.data[i][k]

    @tack.kernel
    def sample(field, out, k):
        for i in range(out.shape[0]):
            out[i] = field.at(i, k)

    out = tack.zeros(2)
    sample(Field(vectors()), out, 2)
    assert out.numpy().tolist() == THREE[:, 2].tolist()
    with pytest.raises(IndexError, match=r"index 3 is outside 'self.data\[i\]', which has 3 components, at i = 0"):
        sample(Field(vectors()), out, 3)
    with pytest.raises(IndexError, match=r"index 2 is outside 'field.data', which has 2 elements, at i = 2"):
        sample(Field(vectors()), tack.zeros(3), 2)


@pytest.mark.rule("V1")
def test_an_index_that_is_no_integer_is_refused_as_ever() -> None:
    messages: list[str] = []
    for on in (True, False):
        tack.set_debug(on)
        with pytest.raises(TypeError, match="index must be an integer") as caught:
            write(vectors(), 1.0)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


# ---------------------------------------------------------------------------------------------------- without debug mode


@tack.kernel
def plain_read(v, out, keys):
    for i in range(out.shape[0]):
        out[i] = v[0][keys[i]]


@tack.kernel
def plain_write(v, m, keys):
    for i in range(keys.shape[0]):
        v[i][keys[i]] = 9.0
        m[i][keys[i], keys[i]] = 9.0


@pytest.mark.rule("V1")
def test_without_debug_mode_no_index_reaches_past_its_vector(tmp_path: Path) -> None:
    """A read gives one of the vector's components and a store changes at most one of them, on every target the same."""
    tack.set_debug(False)
    keys = np.array([-1, 3, 4, 100, -(2**40), 2**62], np.int64)
    found: list[Any] = []
    for how in ("cpu", "interpreter", "C"):
        v, m = np.arange(18, dtype=np.float32).reshape(6, 3), np.arange(24, dtype=np.float32).reshape(6, 2, 2)
        arrays = [tack.array(v, tack.vec3), tack.array(m, tack.mat2), tack.array(keys)]
        out = tack.zeros(6)
        for kernel, args in ((plain_read, [arrays[0], out, arrays[2]]), (plain_write, arrays)):
            if how == "cpu":
                kernel(*args)
                continue
            func, views = typed(kernel, args, fma=True), [a.view_numpy() for a in args]
            if how == "C":
                HostUnit([(func, "k")], tmp_path).run("k", views)
            else:
                interpret(func, views)
        assert np.isin(out.numpy(), v[0]).all()
        for after, before in ((arrays[0].numpy(), v), (arrays[1].numpy(), m)):
            changed = (after != before).reshape(6, -1)
            assert (changed.sum(1) <= 1).all() and (after.reshape(6, -1)[changed] == 9).all()
        found.append([out.numpy().tobytes(), *(a.numpy().tobytes() for a in arrays)])
    assert found == [found[0]] * 3


@pytest.mark.rule("V1")
@pytest.mark.spec("cache-030")
def test_code_of_components_without_debug_mode_is_what_it_was() -> None:
    def texts() -> list[str]:
        tack.set_debug(False)
        found: list[str] = []
        for kernel, args, _, _ in CASES:
            given = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
            found += [tack.inspect(kernel, *given, mode=mode) for mode in ("ir", "source")]
            found.append(emit_kernel(typed(kernel, given, fma=True), CUDA, "k"))
        return found

    before = texts()
    tack.set_debug(True)
    for kernel, args, error, _ in CASES:
        if not error:
            kernel(*[tack.array(a) if isinstance(a, np.ndarray) else a.copy() if isinstance(a, tack.Array) else a for a in args])
    assert texts() == before
    assert not any("check " in text or "note" in text for text in before)
