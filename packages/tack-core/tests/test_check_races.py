"""`tack.testing.check_races`: the interpreter tells of races (E6, W1) and of arrays read before they are stored (M5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tack
from tack.testing import Finding, check_races


def ints(*values: int) -> tack.Array:
    return tack.array(np.array(values, np.int32))


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def only(found: tuple[Finding, ...]) -> Finding:
    (finding,) = found
    return finding


@tack.kernel
def smooth(x):
    for i in range(1, x.shape[0]):
        if x[i] > 0:
            x[i] = x[i - 1] + 1


@pytest.mark.rule("E6")
def test_a_race_is_told_with_both_places() -> None:
    x = ints(1, 0, 2, 3)
    finding = only(check_races(smooth, x))
    line = line_of("x[i] = x[i - 1] + 1")
    assert str(finding) == (
        "Kernel 'smooth': iterations i = 2 and i = 3 race for x[2]: the first stores it, the second reads it\n"
        f'  File "{__file__}", line {line}, column 13, in smooth\n'
        "    x[i] = x[i - 1] + 1\n"
        "    ^^^^\n"
        f'  File "{__file__}", line {line}, column 20, in smooth\n'
        "    x[i] = x[i - 1] + 1\n"
        "           ^^^^^^^^\n"
        "  Let one iteration alone touch what is stored, store into another array, or use atomics for all accesses."
    )
    assert (finding.kind, finding.array, finding.index, finding.lines) == ("race", "x", (2,), (line, line))
    assert repr(finding) == f"<{finding}>"
    assert x.numpy().tolist() == [1, 0, 2, 3], "it runs on copies"


@pytest.mark.rule("E6")
def test_a_kernel_without_races_gives_nothing() -> None:
    @tack.kernel
    def fine(x, out, counts):
        for i in range(out.shape[0]):
            out[i] = x[0] + x[out.shape[0] - 1]
            out[i] += out[i]
            tack.atomic_add(counts, i % 2, 1)

    assert check_races(fine, ints(1, 2, 3), ints(0, 0, 0), ints(0, 0)) == ()
    assert check_races(smooth, ints(0, 0, 0)) == ()


@pytest.mark.rule("E6")
def test_storing_the_same_value_is_no_race() -> None:
    @tack.kernel
    def mark(keys, flags):
        for i in range(keys.shape[0]):
            flags[keys[i]] = 1

    @tack.kernel
    def number(keys, out):
        for i in range(keys.shape[0]):
            out[keys[i]] = i

    assert check_races(mark, ints(0, 1, 1, 1), ints(0, 0)) == ()
    finding = only(check_races(number, ints(0, 1, 0), ints(0, 0)))
    assert "iterations i = 0 and i = 2 race for out[0]: both store it, different values\n" in finding.text


@pytest.mark.rule("E6")
def test_a_value_that_one_iteration_stores_in_passing_counts() -> None:
    @tack.kernel
    def twice(out):
        for i in range(2):
            out[0] = i + 5
            out[0] = 7

    findings = check_races(twice, ints(0))
    assert {finding.index for finding in findings} == {(0,)}
    assert len(findings) == 2


@pytest.mark.rule("E6", "A1")
def test_atomics_race_with_plain_accesses_alone() -> None:
    @tack.kernel
    def total(x, s):
        for i in range(x.shape[0]):
            tack.atomic_add(s, 0, x[i])

    @tack.kernel
    def peeked(x, s):
        for i in range(x.shape[0]):
            if s[0] < 100:
                tack.atomic_max(s, 0, x[i])

    @tack.kernel
    def reset(x, s):
        for i in range(x.shape[0]):
            tack.atomic_add(s, 0, x[i])
            if i == 1:
                s[0] = 0

    x = ints(1, 2, 3)
    assert check_races(total, x, ints(0)) == ()
    assert "the first updates it by an atomic, the second reads it" in only(check_races(peeked, x, ints(0))).text
    assert "the first updates it by an atomic, the second stores it" in only(check_races(reset, x, ints(0))).text


@pytest.mark.rule("E6", "M2")
def test_arrays_that_share_storage_are_seen_to() -> None:
    @tack.kernel
    def copy(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i]

    base = ints(0, 1, 2, 3, 4, 5)
    assert check_races(copy, base[:3], base[3:]) == ()
    finding = only(check_races(copy, base[1:4], base[:3]))
    assert (
        "iterations i = 0 and i = 1 race for a[0], which is also b[1]: the first reads it, the second stores it" in finding.text
    )
    assert check_races(copy, base, base) == ()
    assert base.numpy().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.rule("E6", "M2")
def test_elements_of_two_sizes_that_overlap() -> None:
    @tack.kernel
    def both(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i]

    base = np.zeros(6, np.int32)
    wide, narrow = tack.from_dlpack(base.view(np.int64)), tack.from_dlpack(base.view(np.int16)[2:5])
    finding = only(check_races(both, wide, narrow))
    assert "race for a[0]" in finding.text or "race for b[" in finding.text
    narrow = tack.from_dlpack(base.view(np.int16)[:1])
    assert check_races(both, wide[:1], narrow) == ()


def test_loop_variables_and_indices_of_several_dimensions() -> None:
    @tack.kernel
    def fill(a, k):
        for row, column in tack.ndindex((1, 3), 4):
            a[row, column // k] = column

    finding = only(check_races(fill, tack.zeros((3, 4), tack.i32), 2))
    assert "iterations row = 1, column = 0 and row = 1, column = 1 race for a[1, 0]" in finding.text
    assert finding.index == (1, 0)
    assert check_races(fill, tack.zeros((3, 4), tack.i32), 1) == ()


@pytest.mark.rule("M5")
def test_a_local_array_is_stored_before_it_is_read() -> None:
    @tack.kernel
    def scratch(x, out, n):
        for i in range(out.shape[0]):
            tmp = tack.local_array(tack.i32, (2, 3))
            for k in range(n):
                tmp[k // 3, k % 3] = x[i]
            out[i] = tmp[1, 1]

    x = ints(1, 2)
    assert check_races(scratch, x, ints(0, 0), 5) == ()
    finding = only(check_races(scratch, x, ints(0, 0), 4))
    line = line_of("out[i] = tmp[1, 1]")
    assert (finding.kind, finding.array, finding.index, finding.lines) == ("unset", "tmp", (1, 1), (line,))
    tack.set_debug(True)
    try:
        with pytest.raises(ValueError) as caught:
            scratch(x, ints(0, 0), 4)
    finally:
        tack.set_debug(False)
    assert finding.text == str(caught.value), "one text, here and in debug mode"
    assert "element [1, 1] of local array 'tmp' is read before it is stored, at i = 0" in finding.text


@pytest.mark.rule("M5")
def test_what_another_iteration_stored_does_not_count() -> None:
    @tack.kernel
    def inside(out):
        for i in range(out.shape[0]):
            tmp = tack.local_array(tack.i32, 2)
            if i == 0:
                tmp[1] = 5
            out[i] = tmp[1]

    @tack.kernel
    def before(out):
        tmp = tack.local_array(tack.i32, 2)
        for i in range(out.shape[0]):
            if i == 0:
                tmp[1] = 5
            out[i] = tmp[1]

    for kernel in (inside, before):
        assert "at i = 1" in only(check_races(kernel, ints(0, 0))).text


def test_reads_before_and_after_the_loop_race_with_nothing() -> None:
    @tack.kernel
    def around(x) -> int:
        first = x[0]
        for i in range(x.shape[0]):
            x[i] = first + i
        return x[0] + x[1]

    assert check_races(around, ints(3, 0, 0)) == ()


def test_what_is_wrong_with_a_call_is_raised_as_by_the_call() -> None:
    refused: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((), TypeError, "misses 1 argument"),
        (([1, 2],), TypeError, "argument 'x' is of type list"),
        ((tack.zeros((2, 2)),), IndexError, "2 dimensions"),
    ]
    for args, kind, words in refused:
        with pytest.raises(kind, match=words):
            check_races(smooth, *args)
    fixed = np.ones(3, np.int32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="array 'x' is read-only"):
        check_races(smooth, tack.from_dlpack(fixed))


@pytest.mark.rule("M1", "K4", "V1")
def test_what_debug_mode_checks_is_raised_in_its_words() -> None:
    """Each dimension by itself, the step of a loop, a component: the text is debug mode's."""

    @tack.kernel
    def past(a, v, row, column, component, step):
        for i in range(2):
            for k in range(0, 2, step):
                a[row + i, column] = v[i][component]

    calls = [(1, 0, 0, 1), (0, 3, 0, 1), (0, -1, 0, 1), (0, 0, 3, 1), (0, 0, 0, 0), (-1, 0, 0, 1)]
    for call in calls:
        arrays = tack.zeros((2, 3)), tack.zeros(2, tack.vec3)
        messages: list[str] = []
        for on in (False, True):
            tack.set_debug(on)
            with pytest.raises((IndexError, ValueError)) as caught:
                past(*arrays, *call) if on else check_races(past, *arrays, *call)
            messages.append(f"{type(caught.value).__name__} {caught.value}")
        tack.set_debug(False)
        assert messages[0] == messages[1]
        assert "Kernel 'past': " in messages[0] and ", at i = " in messages[0]
    assert check_races(past, tack.zeros((2, 3)), tack.zeros(2, tack.vec3), 0, 0, 0, 1) == ()


@pytest.mark.rule("E6", "V1")
def test_elements_with_components_are_named_as_they_are_written() -> None:
    @tack.kernel
    def both(v, m):
        for i in range(2):
            v[1].y = i
            m[0, 1][1, 0] = i

    first, second = check_races(both, tack.zeros(2, tack.vec3), tack.zeros((1, 2), tack.mat2))
    assert "race for v[1][1]: both store it" in first.text and first.index == (1, 1)
    assert "race for m[0, 1][1, 0]: both store it" in second.text and second.index == (0, 1, 1, 0)


# ------------------------------------------------------------------------------------------------------------ workgroups

LANES = 256


@tack.kernel
def turned(x, out, barriers):
    for i in range(x.shape[0]):
        tile = tack.shared(tack.i32, 256)
        lane = tack.thread_id()
        for k in range(2):
            tile[lane] = x[i] + k
            if barriers > 0:
                tack.barrier()
            out[i] += tile[255 - lane]
            if barriers > 1:
                tack.barrier()


def lanes(groups: int = 1) -> tack.Array:
    return tack.array(np.arange(groups * LANES, dtype=np.int32))


@pytest.mark.rule("W1", "E6")
def test_lanes_of_a_group_race_for_shared_elements_between_barriers() -> None:
    out = tack.zeros(2 * LANES, tack.i32)
    assert check_races(turned, lanes(2), out, 2) == ()
    finding = only(check_races(turned, lanes(2), out, 1))
    store, load = line_of("tile[lane] = x[i] + k"), line_of("out[i] += tile[255 - lane]")
    assert (finding.kind, finding.array, finding.index, finding.lines) == ("race", "tile", (127,), (store, load))
    assert str(finding) == (
        "Kernel 'turned': iterations i = 127 and i = 128 race for tile[127]: the first stores it, the second reads it, "
        "with no barrier between\n"
        f'  File "{__file__}", line {store}, column 13, in turned\n'
        "    tile[lane] = x[i] + k\n"
        "    ^^^^^^^^^^\n"
        f'  File "{__file__}", line {load}, column 23, in turned\n'
        "    out[i] += tile[255 - lane]\n"
        "              ^^^^^^^^^^^^^^^^\n"
        "  Write `tack.barrier()` between the two, where all lanes of the workgroup pass."
    )
    found = check_races(turned, lanes(2), out, 0)
    assert {finding.kind for finding in found} == {"race", "unset"}
    assert not out.numpy().any(), "it runs on copies"


@pytest.mark.rule("M5", "W1")
def test_shared_elements_are_stored_before_they_are_read() -> None:
    @tack.kernel
    def gaps(x, out, stored):
        for i in range(x.shape[0]):
            tile = tack.shared(tack.i32, (2, 256))
            lane = tack.thread_id()
            if lane < stored:
                tile[1, lane] = x[i]
            tack.barrier()
            out[i] = tile[1, lane]

    @tack.kernel
    def again(x, out):
        for i in range(x.shape[0]):
            for k in range(2):
                tile = tack.shared(tack.i32, 256)
                if k == 0:
                    tile[tack.thread_id()] = x[i]
                tack.barrier()
                out[i] = tile[tack.thread_id()]

    @tack.kernel
    def own(out, stored):
        for i in range(out.shape[0]):
            tile = tack.shared(tack.i32, 256)
            if i < stored:
                tile[tack.thread_id()] = i
            out[i] = tile[tack.thread_id()]

    out = tack.zeros(LANES, tack.i32)
    assert check_races(gaps, lanes(), out, 256) == ()
    finding = only(check_races(gaps, lanes(), out, 200))
    assert (finding.kind, finding.array, finding.index) == ("unset", "tile", (1, 200))
    assert "element [1, 200] of shared array 'tile' is read before it is stored, at i = 200" in finding.text
    assert "element [0] of shared array 'tile'" in only(check_races(again, lanes(), out)).text, "declared again, it holds nothing"
    assert check_races(own, out[:100], 100) == ()
    assert only(check_races(own, out[:100], 99)).index == (99,)


@pytest.mark.rule("W1", "E6")
def test_a_barrier_orders_a_group_and_no_other() -> None:
    """Also what its lanes store in arrays; a reduction orders nothing."""

    @tack.kernel
    def handed(x, out, reach):
        for i in range(x.shape[0]):
            x[i] = i
            tack.barrier()
            out[i] = x[(i + reach) % x.shape[0]]

    @tack.kernel
    def reduced(x, out):
        for i in range(x.shape[0]):
            x[i] = i
            out[i] = tack.block_sum(1) + x[i - i % 256]

    x, out = lanes(2), tack.zeros(2 * LANES, tack.i32)
    assert check_races(handed, x, out, 0) == ()
    finding = only(check_races(handed, x, out, 1))
    assert "iterations i = 255 and i = 256 race for x[256]: the first reads it, the second stores it\n" in finding.text
    assert "iterations i = 0 and i = 1 race for x[0]" in only(check_races(reduced, x, out)).text


@pytest.mark.rule("W1", "E6")
def test_a_right_reduction_in_shared_memory_has_no_findings() -> None:
    """And is told of the round in which its barrier is missing."""

    @tack.kernel
    def total(x, out, without):
        for i in range(x.shape[0]):
            part = tack.shared(tack.i32, 256)
            lane = tack.thread_id()
            part[lane] = x[i]
            half = 128
            while half > 0:
                if half != without:
                    tack.barrier()
                if lane < half:
                    part[lane] += part[lane + half]
                half //= 2
            if lane == 0:
                tack.atomic_add(out, 0, part[0])

    out = tack.zeros(1, tack.i32)
    assert check_races(total, lanes(2), out, 0) == ()
    for without in (128, 64, 1):
        findings = [each for each in check_races(total, lanes(2), out, without) if each.kind == "race"]
        assert findings and all(each.array == "part" for each in findings)


@pytest.mark.rule("W1")
def test_what_no_device_runs_is_refused() -> None:
    @tack.kernel
    def some(x):
        for i in range(x.shape[0]):
            if x[i] > 3:
                tack.barrier()

    @tack.kernel
    def all_of_them(x):
        for i in range(x.shape[0]):
            tack.barrier()
            x[i] = 1

    with pytest.raises(ValueError, match="`tack.barrier` is not reached by every lane of a workgroup: the condition on line"):
        check_races(some, lanes())
    with pytest.raises(ValueError, match="a launch of 200 iterations has a workgroup without all its 256 lanes"):
        check_races(all_of_them, lanes()[:200])
    assert check_races(all_of_them, lanes()[:0]) == ()
    assert check_races(all_of_them, lanes(3)) == ()
