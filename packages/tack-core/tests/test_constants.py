"""`tack.constant` with one number: weak ones behave like the literal, typed ones like a value of their type (N1, T2b, T8)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rule_tools import of, refused, value

import tack
from tack import constant


@pytest.mark.rule("N1", "T2b", "T8")
def test_weak_constants_take_the_type_of_what_they_meet():
    names = {"N": constant(200), "X": constant(0.1), "T": constant(True)}
    assert value("a[i] + N", of(np.uint8, 100), **names) == [44]  # wraps as a u8
    assert value("a[i] + N", of(np.uint64, 2**63), dtype=np.uint64, **names) == [2**63 + 200]
    assert value("a[i] * X", of(np.float64, 3), dtype=np.float64, **names) == [3 * 0.1]
    assert value("a[i] * X", of(np.float32, 3), dtype=np.float32, **names) == [float(np.float32(3) * np.float32(0.1))]
    assert value("N << 40", dtype=np.int64, **names) == [200 << 40]
    assert value("N / 3", dtype=np.float64, **names) == [200 / 3]
    assert value("1 if T else 2", **names) == [1]
    assert value("a[i] + T", of(np.uint64, 1), dtype=np.uint64, **names) == [2]


@pytest.mark.rule("N1", "T3")
def test_typed_constants_have_their_type():
    names = {
        "N": constant(200, tack.u8),
        "X": constant(0.1, tack.f32),
        "D": constant(0.1, tack.f64),
        "B": constant(2**63, tack.u64),
    }
    assert value("N + 100", **names) == [44]
    assert value("N << 1", **names) == [144]
    assert value("a[i] * X", of(np.float64, 3), dtype=np.float64, **names) == [3 * float(np.float32(0.1))]
    assert value("a[i] * D", of(np.float32, 3), dtype=np.float64, **names) == [3 * 0.1]
    refused(TypeError, "a[i] + B", of(np.int64, 1), at="a[i] + B", words=["tack.u64(a[i])"], **names)
    assert value("x = N\nx = x + 100\nout[i] = x", **names) == [44]


@pytest.mark.rule("N1")
def test_constants_bound_loops_index_and_shape():
    names = {"N": constant(3), "K": constant(1)}
    assert value("s = 0\nfor j in range(N):\n    s += a[j]\nout[i] = s * 10 + a[K]", of(np.int64, 1, 2, 3), size=1, **names) == [
        62
    ]
    assert value(
        "t = tack.local_array(tack.i32, N)\nt[K] = 5\nout[i] = t[1] + a.shape[K]", np.zeros((2, 4)), size=1, **names
    ) == [9]


@pytest.mark.rule("T8")
def test_the_exact_value_is_converted_once():
    exact = 2**63 + 2**39 + 1  # halfway in f32 once it has gone through f64
    assert constant(exact, tack.f32).value == float(2**63 + 2**40)
    assert value("X", dtype=np.float32, X=constant(exact)) == [float(2**63 + 2**40)]
    assert constant(2**53 + 1, tack.f64).value == float(2**53)


@pytest.mark.parametrize(
    ("given", "dtype", "kind", "words"),
    [
        (10**400, tack.f64, OverflowError, "1329 bits does not fit tack.f64"),
        (2**200, tack.f32, OverflowError, "does not fit tack.f32"),
        (300, tack.u8, OverflowError, "300 does not fit tack.u8"),
        (-1, tack.u64, OverflowError, "-1 does not fit tack.u64"),
        (2.5, tack.i32, TypeError, "2.5 is not an integer"),
        (math.nan, tack.i32, TypeError, "not an integer"),
        (1j, None, TypeError, "not complex"),
        ("3", None, TypeError, "not str"),
        (None, None, TypeError, "not NoneType"),
        (3, "bool", TypeError, "no scalar dtype"),
        (3, np.float16, TypeError, "no scalar dtype"),
    ],
)
def test_what_is_no_constant(given, dtype, kind, words):
    with pytest.raises(kind, match=r"tack\.constant") as caught:
        constant(given, dtype)
    assert words in str(caught.value)


@pytest.mark.rule("N1")
def test_a_constant_beyond_u64_is_refused_where_an_integer_is_needed():
    assert value("X / 2", dtype=np.float64, X=constant(2**70)) == [2.0**69]
    refused(TypeError, "X", at="X", words=["does not fit any integer type"], X=constant(2**70))


@pytest.mark.rule("N1", "N5")
def test_constants_cannot_be_assigned_but_are_shadowed():
    assert value("N = 5\nout[i] = N", N=constant(3)) == [5]
    refused(NameError, "N += 1\nout[i] = N", at="N", words=["read before it is assigned"], N=constant(3))
