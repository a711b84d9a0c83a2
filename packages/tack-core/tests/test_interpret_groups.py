"""The interpreter runs workgroups (W1): lanes wait at barriers and reductions. Expected values from NumPy; emitted C agrees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debug_tools import checked, first_failure
from host_c import HostUnit
from nvrtc_tools import compile_all

import tack
from tack.ir.failures import first_failure as failure
from tack.ir.interpret import interpret
from tack.ir.nodes import LANES
from tack.testing import typed


@pytest.fixture
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


@tack.func
def first_above(x, start, limit):
    for k in range(5):
        if x[start + k] > limit:
            return k
    return 5


@tack.func
def sum_of(x, value):
    if x > 0:
        return tack.block_sum(value)
    return tack.block_sum(value * 0 + 1)


@tack.kernel
def turned(x, out):
    for i in range(x.shape[0]):
        tile = tack.shared(tack.i32, 256)
        lane = tack.thread_id()
        tile[lane] = x[i]
        tack.barrier()
        out[i] = tile[255 - lane]


@tack.kernel
def doubling(x, out, rounds):
    tile = tack.shared(tack.i32, 256)
    for i in range(x.shape[0]):
        lane = tack.thread_id()
        tile[lane] = x[i]
        for k in range(rounds):
            if k == 3:
                continue
            if k == 5:
                break
            tack.barrier()
            other = tile[(lane + (1 << k)) % 256]
            tack.barrier()
            tile[lane] += other
        out[i] = tile[lane]


@tack.kernel
def halving(x, out, least):
    for i in range(x.shape[0]):
        value = x[i]
        steps = 0
        while tack.block_max(value) > least:
            if value > least:
                value //= 2
            steps += 1
        out[i] = steps * 1000 + value


@tack.kernel
def early(x, out, sign):
    for i in range(x.shape[0] // 2):
        found = first_above(x, i, 90)
        out[i] = sum_of(sign, found) * 10 + tack.block_min(found)


@tack.kernel
def tiles(a, out):
    for i in range(a.shape[0]):
        m = tack.shared(tack.vec2, (16, 16))
        lane = tack.thread_id()
        m[lane // 16, lane % 16] = [a[i], lane]
        tack.barrier()
        v = m[lane % 16, lane // 16]
        out[i] = v.x * 1000 + v.y


@tack.kernel
def box(out, value):
    for i, j in tack.ndindex((1, 9), 64):
        tack.atomic_add(out, (i - 1) // 4, tack.thread_id() * value)
        tack.barrier()
        out[2 + (i - 1) * 64 + j] = out[(i - 1) // 4]


@tack.kernel
def lanes_alone(out):
    for i in range(out.shape[0]):
        own = tack.shared(tack.i32, 256)
        own[tack.thread_id()] = i
        out[i] = own[tack.thread_id()] * 1000 + tack.thread_id()


def ints(n: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 100, n).astype(np.int32)


X = ints(2 * LANES)
GROUPS = X.reshape(2, LANES)


def doubled(rounds: int) -> np.ndarray:
    tile = GROUPS.copy()
    for k in range(rounds):
        if k == 3:
            continue
        if k == 5:
            break
        tile = tile + np.roll(tile, -(1 << k), 1)
    return tile.ravel()


def halved(least: int) -> np.ndarray:
    value, steps = GROUPS.copy(), np.zeros((2, 1), np.int32)
    while (more := value.max(1, keepdims=True) > least).any():
        value = np.where(more & (value > least), value // 2, value)
        steps += more
    return (steps * 1000 + value).ravel()


def above(sign: int) -> np.ndarray:
    n = len(X) // 2
    found = np.array([next((k for k in range(5) if X[i + k] > 90), 5) for i in range(n)])
    total = found.sum() if sign > 0 else n
    return np.append(np.full(n, total * 10 + found.min()), np.zeros(n))


def transposed() -> np.ndarray:
    lanes = np.arange(LANES).reshape(16, 16)
    return np.concatenate([group.reshape(16, 16).T.ravel() * 1000 + lanes.T.ravel() for group in GROUPS])


def boxed(value: int) -> np.ndarray:
    total = LANES * (LANES - 1) // 2 * value
    return np.full(2 + 8 * 64, total)


CASES: dict[str, tuple[Any, tuple[Any, ...], np.ndarray]] = {
    "turned": (turned, (X, np.zeros_like(X)), GROUPS[:, ::-1].ravel()),
    "rounds with continue and break": (doubling, (X, np.zeros_like(X), 7), doubled(7)),
    "no rounds": (doubling, (X, np.zeros_like(X), 0), X),
    "a while on a reduction": (halving, (X, np.zeros_like(X), 7), halved(7)),
    "reductions in a function": (early, (X, np.zeros_like(X), 1), above(1)),
    "the function's other return": (early, (X, np.zeros_like(X), -1), above(-1)),
    "shared vectors": (tiles, (X, np.zeros_like(X)), transposed()),
    "groups of an ndindex": (box, (np.zeros(2 + 8 * 64, np.int32), 2), boxed(2)),
    "no lane waits": (lanes_alone, (np.zeros(300, np.int32),), np.arange(300) * 1000 + np.arange(300) % LANES),
}


@pytest.mark.rule("W1", "K3", "F1", "M5")
def test_the_interpreter_and_emitted_c_do_the_same(tmp_path: Path) -> None:
    functions = {f"k{n}": typed(kernel, args, fma=True) for n, (kernel, args, _) in enumerate(CASES.values())}
    compile_all((func, entry) for entry, func in functions.items())
    unit = HostUnit([(func, entry) for entry, func in functions.items()], tmp_path)
    for (case, (_, args, expected)), (entry, func) in zip(CASES.items(), functions.items(), strict=True):
        for reverse in (False, True):
            for how in ("interpreter", "C"):
                mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
                if how == "C":
                    unit.run(entry, mine, reverse=reverse)
                else:
                    interpret(func, mine, reverse=reverse)
                out = [a for a in mine if isinstance(a, np.ndarray)][-1]
                np.testing.assert_array_equal(out, expected, err_msg=f"{case}, {how}, {reverse=}")


@pytest.mark.rule("W1", "T4")
def test_float_sums_are_folded_in_the_documented_order() -> None:
    """In pairs, lane k with lane k + 128, and so on; so the bits are those of NumPy's halves."""

    @tack.kernel
    def total(x, out):
        for i in range(x.shape[0]):
            out[i] = tack.block_sum(x[i])

    x = np.random.default_rng(8).standard_normal(LANES).astype(np.float32) * np.float32(1e4)
    out, folded = np.zeros_like(x), x
    interpret(typed(total, (x, out), fma=True), (x, out))
    while len(folded) > 1:
        folded = folded[: len(folded) // 2] + folded[len(folded) // 2 :]
    assert (out == folded[0]).all()


@pytest.mark.rule("W1")
def test_each_group_has_shared_arrays_of_its_own() -> None:
    @tack.kernel
    def counted(out):
        for i in range(out.shape[0]):
            n = tack.shared(tack.i32, 1)
            if tack.thread_id() == 0:
                n[0] = i
            tack.barrier()
            out[i] = n[0]

    out = np.zeros(3 * LANES, np.int32)
    interpret(typed(counted, (out,), fma=True), (out,))
    assert (out == np.repeat([0, LANES, 2 * LANES], LANES)).all()


@pytest.mark.rule("W1")
def test_lanes_that_do_not_meet_are_an_error() -> None:
    """The checks before a launch refuse such kernels; the interpreter, which is told nothing of these, sees it happen."""

    @tack.kernel
    def some(out, n):
        for i in range(out.shape[0]):
            if i < n:
                tack.barrier()
            out[i] = 1

    @tack.kernel
    def two_places(out, n):
        for i in range(out.shape[0]):
            if i < n:
                out[i] = tack.block_sum(1)
            else:
                out[i] = tack.block_sum(2)

    def run(kernel: Any, size: int, n: int) -> None:
        out = np.zeros(size, np.int32)
        interpret(typed(kernel, (out, n), fma=True), (out, n))

    for kernel, name, at in ((some, "barrier", "tack.barrier()"), (two_places, "block_sum", "tack.block_sum(1)")):
        for n in (5, LANES + 5):
            words = rf"`tack.{name}` is reached by 5 lanes of workgroup {n // LANES} and not by all 256"
            with pytest.raises(ValueError, match=words) as caught:
                run(kernel, 2 * LANES, n)
            assert at in str(caught.value)
        run(kernel, 2 * LANES, LANES)
    with pytest.raises(ValueError, match="`tack.barrier` stands in a workgroup without all its 256 lanes"):
        run(some, 100, 100)
    run(some, 100, 0)


# ------------------------------------------------------------------------------------------------------------ debug mode


@tack.kernel
def shifted(x, out, ahead, stored):
    for i in range(x.shape[0]):
        tile = tack.shared(tack.i32, 256)
        lane = tack.thread_id()
        if lane < stored:
            tile[lane] = x[i]
        tack.barrier()
        out[i] = tile[lane + ahead]
        total = tack.block_sum(x[i])
        if lane == 0:
            out[i] += total


@pytest.mark.rule("W1", "M1", "M5")
@pytest.mark.usefixtures("debug")
def test_shared_arrays_are_checked_in_the_interpreter_and_in_c(tmp_path: Path) -> None:
    """A lane ends where its check fails, the others where they would wait for it. The least iteration that fails is reported."""
    unit = None
    for ahead, stored, error in (
        (0, 256, ""),
        (1, 256, "index 256 is outside 'tile', which has 256 elements, at i = 255"),
        (-1, 256, "index -1 is outside 'tile', which has 256 elements, at i = 0"),
        (0, 200, "element [200] of shared array 'tile' is read before it is stored, at i = 200"),
        (3, 0, "element [3] of shared array 'tile' is read before it is stored, at i = 0"),
    ):
        outcomes: list[Any] = []
        for reverse in (False, True):
            for how in ("interpreter", "C"):
                func, values = checked(shifted, (X, np.zeros_like(X), ahead, stored))
                unit = unit or HostUnit([(func, "k")], tmp_path)
                if how == "C":
                    unit.run("k", values, reverse=reverse, leaving=True)
                else:
                    interpret(func, values, reverse=reverse)
                found = failure(func, values[-2], lambda: [range(len(X))])
                assert ("" if found is None else str(found).splitlines()[0].partition(": ")[2]) == error
                outcomes.append((first_failure(values[-2]), values[1].tobytes()))
        assert outcomes == [outcomes[0]] * 4
        if not error:
            expected = GROUPS.copy()
            expected[:, 0] += GROUPS.sum(1)
            assert outcomes[0][1] == expected.tobytes()


@pytest.mark.rule("W1", "M1")
@pytest.mark.usefixtures("debug")
def test_no_lane_waits_for_ever_for_one_that_failed(tmp_path: Path) -> None:
    """The lane that failed would have been the one to end the loop."""

    @tack.kernel
    def until_all_are_zero(x, out, bad):
        for i in range(x.shape[0]):
            value = 5
            while tack.block_max(value) > 0:
                out[i] += 1
                value -= 1 if i != bad else x[x.shape[0]]
                tack.barrier()
            out[i] += 10

    for bad in (-1, 7, LANES + 3):
        outcomes: list[Any] = []
        for how in ("interpreter", "C"):
            func, values = checked(until_all_are_zero, (X, np.zeros_like(X), bad))
            if how == "C":
                HostUnit([(func, "k")], tmp_path).run("k", values, leaving=True)
            else:
                interpret(func, values)
            outcomes.append((first_failure(values[-2]), values[1].tolist()))
        expected = np.full(2 * LANES, 15)
        if bad >= 0:
            expected.reshape(2, LANES)[bad // LANES] = 1
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][1] == expected.tolist()
        assert (outcomes[0][0] or [-1])[0] == bad


@pytest.mark.rule("M5", "W1")
@pytest.mark.usefixtures("debug")
def test_what_is_stored_in_shared_arrays_is_known_where_there_is_room_and_lanes_wait() -> None:
    @tack.kernel
    def large(x):
        for i in range(x.shape[0]):
            a = tack.shared(tack.f32, 8000)
            b = tack.shared(tack.f32, 4000)
            a[tack.thread_id()] = x[i]
            b[tack.thread_id()] = x[i]
            tack.barrier()

    func, _ = checked(large, (np.zeros(LANES, np.float32),))
    assert not [array.name for array in func.arrays if array.name.endswith(".stored")]
    func, _ = checked(lanes_alone, (np.zeros(300, np.int32),))
    assert [array.name for array in func.arrays] == ["own"]
    compile_all([(func, "lanes_alone")])
