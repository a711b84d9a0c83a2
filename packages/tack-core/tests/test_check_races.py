"""`tack.testing.check_races`: the interpreter tells of races (E6) and of local arrays read before they are stored (M5)."""

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
        "Kernel 'smooth': iterations i = 2 and i = 3 race for x[2]: the first stores it, the second reads it.\n"
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
    assert "iterations i = 0 and i = 2 race for out[0]: both store it, different values." in finding.text


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
    assert "tmp[1, 1], an element of a local array, is read before it is stored, at i = 0." in finding.text


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


def test_an_index_outside_is_an_error() -> None:
    @tack.kernel
    def past(x, n):
        for i in range(x.shape[0]):
            x[i + n] = 1

    with pytest.raises(IndexError, match="index 3 is outside x, which has 3 elements"):
        check_races(past, ints(0, 0, 0), 1)
