"""F1: a message about something inside a device function says where the kernel calls it, whichever stage finds it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from rule_tools import kernel, refuses

import tack
from tack.errors import Source, Span, warning_text
from tack.ir.walk import walk_func
from tack.testing import define
from tack.testing.targets import typed

UNSUPPORTED = tack.UnsupportedSyntaxError
INSIDE = """
@tack.func
def inner(v, a, wide, k):
    {0}
    return v

@tack.func
def outer(v, a, wide, k):
    return inner(v, a, wide, k)
"""


@pytest.mark.rule("F1")
@pytest.mark.parametrize(
    ("line", "at", "kind"),
    [
        ("k = v & 1", "v", TypeError),  # types
        ("z = wide[k] + k", "wide[k] + k", TypeError),
        ("k = k << 99", "99", ValueError),
        ("k = k ** -1", "-1", ValueError),
        ("k = ~(k > 1)", "~(k > 1)", TypeError),
        ("v = v or 1.0", "v", TypeError),
        ("z = k\n    if v > 1:\n        z = v\n    z = z // 2", "z // 2", TypeError),
        ("z = bitcast(tack.u64, v)", "bitcast(tack.u64, v)", TypeError),
        ("k = 1 // 0", "1 // 0", ZeroDivisionError),
        ("for j in range(v):\n        k += 1", "v", TypeError),
        ("k = a[k, 0]", "a[k, 0]", IndexError),  # ranks and kinds of arguments
        ("k = a[-1]", "-1", IndexError),
        ("k = a.shape[1]", "a.shape[1]", IndexError),
        ("h, w = a.shape", "h, w = a.shape", ValueError),
        ("v = a + 1", "a", TypeError),
        ("v = a[k / 2]", "k / 2", TypeError),
        ("if v > 1:\n        z = 1\n    k = z", "z", NameError),  # flow
        ("z = tack.local_array(tack.f32, 3)\n    v = z[3]", "3", IndexError),
        ("z = tack.local_array(tack.f32, 3)\n    v = z[0, 0]", "z[0, 0]", IndexError),
        ("k = nothing", "nothing", NameError),  # the lowering
        ("k = v.sum()", "v.sum()", UNSUPPORTED),
        ("a = 3", "a", TypeError),
        ("k = 'text'", "'text'", UNSUPPORTED),  # the subset
        ("yield k", "yield k", UNSUPPORTED),
    ],
)
def test_a_mistake_in_a_function_says_where_the_kernel_calls_it(line, at, kind):
    """Whichever stage finds it: the place is the function's, and the kernel's call is named, also through another function."""
    names = define(INSIDE.format(line))
    k = kernel("x = a[i]\nout[i] = outer(x, a, wide, i)", "a, wide, out", outer=names["outer"])
    error = refuses(kind, lambda: k(tack.ones(4), tack.ones(4, tack.u64), tack.zeros(4)), at=at)
    place = next(text for text in str(error).splitlines() if text.startswith("  File "))
    (file,) = {called.source.file for called in [error.diagnostic.span.called]}
    assert place.endswith(f'in inner (called on line 5 of "{file}")')


@pytest.mark.rule("F1", "F2")
def test_methods_and_warnings_of_races_name_the_call_too():
    space = define(
        """
        @tack.device_class
        class Grid:
            @tack.func
            def bits(self, v):
                return v & 1
        """
    )
    k = kernel("out[i] = 0\nout[i] = o.bits(1.5)", "o, out")
    error = refuses(TypeError, lambda: k(space["Grid"](), tack.zeros(4)), "an operand of `&` must be an integer, not", at="v")
    assert " in Grid.bits (called on line 5 of " in str(error)
    names = define("@tack.func\ndef f(v, k):\n    v[k] = v[k + 1]\n")
    k = kernel("f(out, i)", "out", f=names["f"])
    with pytest.warns(tack.RaceWarning, match=r"in f \(called on line 4 of "):
        k(tack.zeros(4))


@pytest.mark.rule("F1")
def test_failures_of_debug_mode_name_the_call_too():
    names = define("@tack.func\ndef f(v, k):\n    return v[k + 1]\n")
    k = kernel("out[i] = f(a, i)", f=names["f"])
    tack.set_debug(True)
    try:
        with pytest.raises(IndexError, match=r"in f \(called on line 4 of "):
            k(tack.zeros(4), tack.zeros(4))
    finally:
        tack.set_debug(False)


def test_calls_survive_the_passes_and_pickling():
    names = define("@tack.func\ndef f(v, k):\n    return v[k] * 2\n")
    k = kernel("out[i] = f(a, i)", f=names["f"])
    args = (np.zeros(4, np.float32), np.zeros(4, np.float32))
    for func in (k.template(), typed(k, args, fma=True)):
        for each in (func, pickle.loads(pickle.dumps(func))):
            spans = {node.span for node in walk_func(each) if node.span is not None and node.span.source.qualname == "f"}
            assert spans and {span.called.lineno for span in spans} == {4}


def test_the_place_names_the_file_of_the_call_where_it_is_another():
    one, two = Source("one.py", 10, ("def f():", "    x"), "f"), Source("two.py", 3, ("def k():", "    f()"), "k")
    inside = Span(one, 1, 4, 1, 5, Span(one, 0, 0, 0, 3))
    assert inside.where() == 'File "one.py", line 11, column 5, in f (called on line 10)'
    inside = Span(one, 1, 4, 1, 5, Span(two, 1, 4, 1, 7))
    assert inside.where() == 'File "one.py", line 11, column 5, in f (called on line 4 of "two.py")'
    text = warning_text("a", kernel="k", span=inside, remedy="Write b.")
    assert text.splitlines() == [
        "Kernel 'k': a",
        '  File "one.py", line 11, column 5, in f (called on line 4 of "two.py")', "    x", "    ^",
        '  File "two.py", line 4, column 5, in k', "    f()", "    ^^^",
        "  Write b.",
    ]  # fmt: skip


def test_a_mistake_in_the_arguments_of_tacks_own_functions_shows_the_call():
    k = kernel("out[i] = tack.random.uniform_f32(1, i, 2.5)", "out")
    with pytest.raises(TypeError) as caught:
        k(tack.zeros(2))
    shown = str(caught.value).splitlines()
    (at,) = [n for n, line in enumerate(shown) if line.endswith(", in k")]
    assert shown[at].startswith("  File ") and ", line 4, column 18," in shown[at]
    assert shown[at + 1].strip() == "out[i] = tack.random.uniform_f32(1, i, 2.5)"
    assert shown[at + 2].strip() == "^" * len("tack.random.uniform_f32(1, i, 2.5)")
