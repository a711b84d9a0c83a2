"""Remedies that are right where they are pasted, and statements and members that are refused with one that fits."""

from __future__ import annotations

import pytest
from rule_tools import kernel, refuses
from test_messages import UNSUPPORTED, check

import tack
from tack.testing import define

# -------------------------------------------------------------------------- remedies that can be pasted where they are


@pytest.mark.rule("T3", "T6", "T7")
@pytest.mark.parametrize(
    ("body", "at", "kind", "remedy"),
    [
        ("out[i] = ~(x[i] > 3) & (x[i] < 5)", "~(x[i] > 3)", TypeError, "Write `(not x[i] > 3)`."),
        ("out[i] = ~(x[i] > 3 or n > 1)", "~(x[i] > 3 or n > 1)", TypeError, "Write `(not (x[i] > 3 or n > 1))`."),
        ("out[i] = ~(not n > 1)", "~(not n > 1)", TypeError, "Write `(not not n > 1)`."),
        ("v = select(~(points[i] > 3), 1.0, 0.0)\nout[i] = v.x", "~(points[i] > 3)", TypeError, "Write `(not points[i] > 3)`."),
        ("out[i] = counts[i] ** (2 - 3)", "2 - 3", ValueError, "Write `float(counts[i]) ** (2 - 3)` for a fraction."),
        ("out[i] = i ** (o.K-5)", "o.K-5", ValueError, "Write `float(i) ** (o.K-5)` for a fraction."),
        ("out[i] = i ** -1", "-1", ValueError, "Write `float(i) ** -1` for a fraction."),
        ("out[i] = x[i] or 1.0", "x[i]", TypeError, "Write `(x[i] if x[i] else 1.0)`."),
        (
            "out[i] = (x[i] if n else 2.0) and 1.0",
            "x[i] if n else 2.0",
            TypeError,
            "`(1.0 if (x[i] if n else 2.0) else (x[i] if n else 2.0))`",
        ),
        (
            "a, b = points[i] + 1.0\nout[i] = a",
            "a, b = points[i] + 1.0",
            ValueError,
            "`a, b = (points[i] + 1.0).x, (points[i] + 1.0).y`",
        ),
        ("out[i] = 2 / np.square(x[i] + 1)", "np.square(x[i] + 1)", UNSUPPORTED, "Write `((x[i] + 1) * (x[i] + 1))`."),
        ("out[i] = np.float32(counts[i] + 1)", "np.float32(counts[i] + 1)", UNSUPPORTED, "Write tack.f32(counts[i] + 1)."),
        ("out[i] = x.astype(tack.i32)", "x.astype(tack.i32)", UNSUPPORTED, "Convert elements: tack.i32(x[i])."),
        ("out[i] = x[i].astype(np.int16)", "x[i].astype(np.int16)", UNSUPPORTED, "Write tack.i16(x[i])."),
    ],
)
def test_what_a_remedy_shows_means_the_same_where_it_is_pasted(body, at, kind, remedy):
    check(body, at, kind, remedy)


@pytest.mark.rule("T3")
@pytest.mark.parametrize(
    ("body", "at", "remedy"),
    [
        ("out[i] = big[i] > -1", "big[i] > -1", "`tack.i64(big[i])`, if its values are below 2**63."),
        ("out[i] = i == big[i] + big[0]", "i == big[i] + big[0]", "`tack.i64(big[i] + big[0])`, if its values are below 2**63."),
        ("out[i] = i < 2**63", "i < 2**63", "Write `tack.u64(i)`, if it is never negative."),
        ("out[i] = big[i] + -1", "big[i] + -1", "`tack.i64(big[i])`, if its values are below 2**63."),
        ("out[i] = max(big[i], -1)", "max(big[i], -1)", "`tack.i64(big[i])`, if its values are below 2**63."),
        ("out[i] = big[i] if n else -1", "big[i] if n else -1", "`tack.i64(big[i])`, if its values are below 2**63."),
        ("s = -1\ns = big[i]\nout[i] = s", "s", "Write `tack.i64(big[i])` in line 5, if its values are below 2**63."),
        ("out[i] = big[i] + i", "big[i] + i", "Write `tack.u64(i)`."),
    ],
)
def test_a_cast_that_would_change_a_number_is_not_advised(body, at, remedy):
    error, _ = check(body, at, TypeError, "no integer type holds", remedy)
    assert "u64(-1)" not in str(error)


def test_the_advised_cast_to_i64_compares_as_numbers_do():
    k = kernel("out[i] = tack.i64(big[i]) > -1", "big, out")
    out = tack.zeros(4, tack.i32)
    k(tack.ones(4, tack.u64), out)
    assert out.numpy().tolist() == [1, 1, 1, 1]


# ------------------------------------------------------------------------------------------- statements that do nothing


@pytest.mark.rule("K7")
@pytest.mark.parametrize(
    ("body", "at", "remedy"),
    [
        ("out[i] == 1", "out[i] == 1", "Write `=` to assign: `out[i] = 1`."),
        ("s = 0\ns == x[i]\nout[i] = s", "s == x[i]", "Write `=` to assign: `s = x[i]`."),
        ("x[i] + 1\nout[i] = 1", "x[i] + 1", "Assign the value, or leave the statement out."),
        ("out[i] = 1\nout[i]", "out[i]", "Assign the value"),
        ("out[i] = 1\nif n:\n    3", "3", "Assign the value"),
        ("out[i] = 1\npoints[i] * 2", "points[i] * 2", "Assign the value"),
        (
            "out[i] = 1\nn > 1 and tack.atomic_add(out, 0, 1) > 0",
            "n > 1 and tack.atomic_add(out, 0, 1) > 0",
            "Write an `if` statement",
        ),
    ],
)
def test_a_statement_that_does_nothing_is_refused(body, at, remedy):
    check(body, at, UNSUPPORTED, "a statement that computes a value and does nothing with it", remedy)


@pytest.mark.rule("K7")
def test_strings_and_calls_are_statements():
    k = kernel("'a note'\ntack.atomic_add(out, i, 1)\nsqrt(2.0)\n'another'", "out")
    out = tack.zeros(3, tack.i32)
    k(out)
    assert out.numpy().tolist() == [1, 1, 1]


@pytest.mark.rule("K7")
@pytest.mark.parametrize(
    "body",
    [
        "for k in range(3):\n    out[i] = 1\nelse:\n    out[i] = 2",
        "while x[i] > 3:\n    out[i] = 1\n# else: none\nelse:  # then\n    # a note\n    out[i] = 2",
        "for k in range(3):\n    if n:\n        out[i] = 1\n    else:\n        out[i] = 3\nelse: out[i] = 2",
    ],
)
def test_else_of_a_loop_is_shown_at_its_keyword(body):
    error, _ = check(body, "else", UNSUPPORTED, "`else` of a loop", "test it afterwards")
    text = error.diagnostic.span.source.lines[error.diagnostic.span.line]
    assert text.startswith("        else"), text  # that of the loop, which stands at its depth


@pytest.mark.rule("K4", "N1")
def test_the_remedy_for_a_loop_variable_after_its_loop_compiles():
    check(
        "for j in range(3):\n    out[i] = 1\nout[i] = j", "j", NameError, "Assign a local before the loop, set it to `j` inside"
    )
    k = kernel("last = 0\nfor j in range(3):\n    last = j\nout[i] = last", "out")
    out = tack.zeros(2, tack.i32)
    k(out)
    assert out.numpy().tolist() == [2, 2]


# -------------------------------------------------------------------------------------------------------- class methods

CLASS_METHODS = """
@tack.device_class
class D:
    K = 3

    @classmethod
    @tack.func
    def made(cls, i):
        return i

    @property
    @tack.func
    def twice(self):
        return 2
"""


@pytest.mark.rule("F2")
@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("d.made(i)", "d.made", ("'made' of class D", "a class method", "Write `@staticmethod` for `@classmethod`")),
        ("d.made", "d.made", ("'made' of class D", "a class method", "`@staticmethod`")),
        ("D.made(i) + d.K", "D.made", ("`D.made`, a class method", "`@staticmethod`")),
        ("d.twice()", "d.twice", ("of type property", "write a @tack.func method")),
    ],
)
def test_class_methods_and_properties_are_not_seen(text, at, words):
    space = define(CLASS_METHODS)
    k = kernel(f"out[i] = {text}", "d, out", D=space["D"])
    error = refuses(TypeError, lambda: k(space["D"](), tack.zeros(2)), "kernels do not see", *words, at=at)
    assert "parentheses" not in str(error)
