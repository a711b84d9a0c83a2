"""Rules F1, N2 and what goes with them: device functions inside kernels."""

import types

import numpy as np
import pytest
from rule_tools import functions, kernel, of, refuses, run, value

import tack
from tack.testing import define, kernel_from

UNSUPPORTED = tack.UnsupportedSyntaxError


def text(body):
    """Device functions from text."""
    return functions(body)


@pytest.mark.rule("F1")
def test_functions_return_one_or_several_values_or_none():
    helpers = text(
        """
        @tack.func
        def divmod_(a, b):
            return a // b, a % b

        @tack.func
        def swap(a, b):
            return b, a

        @tack.func
        def put(out, i, v):
            out[i] = v

        @tack.func
        def put_and_end(out, i, v):
            if v < 0:
                return
            out[i] = v
        """
    )
    assert value("q, r = divmod_(a[i], 3)\nout[i] = q * 10 + r", of(np.int32, 7, -7), **helpers) == [21, -28]
    assert value("x, y = swap(1, 2)\nx, y = swap(y, x + y)\nout[i] = x * 10 + y", **helpers) == [31]
    assert value("q, r = divmod_(7, 2)\nx, y = swap(q, r)\nout[i] = x * 10 + y", **helpers) == [13]
    k = kernel("put(out, i, a[i])\nput_and_end(out, i, -a[i])", **helpers)
    assert run(k, of(np.int64, 7, -7), np.zeros(2, np.int64)).tolist() == [7, 7]


@pytest.mark.rule("F1")
def test_early_returns_also_from_loops():
    helpers = text(
        """
        @tack.func
        def find(a, v):
            for k in range(a.shape[0]):
                if a[k] == v:
                    return k
            return -1

        @tack.func
        def steps(n):
            count = 0
            while True:
                if n == 1:
                    return count
                for k in range(2):
                    if n % 2 == k:
                        if k == 0:
                            n = n // 2
                        else:
                            n = 3 * n + 1
                        break
                count += 1

        @tack.func
        def sign(x):
            if x > 0:
                return 1
            elif x < 0:
                return -1
            else:
                return 0
        """
    )
    k = kernel("out[i] = find(a, i) * 100 + sign(a[i])", "a, out", **helpers)
    assert run(k, of(np.int64, 3, 0, -2, 1), np.zeros(4, np.int64)).tolist() == [101, 300, -101, 1]
    assert value("steps(a[i])", of(np.int64, 1, 6, 7, 27), **helpers) == [0, 8, 16, 111]


@pytest.mark.rule("F1", "E4")
def test_arrays_pass_by_reference():
    helpers = text(
        """
        @tack.func
        def inner(x, k):
            x[k] += 1
            return x[k]

        @tack.func
        def add(x, y, k):
            y[k] = inner(x, k) + x.shape[0]
            return y[k]
        """
    )
    k = kernel("b[i] = add(a, b, i) * 2 + a[i]", "a, b", "range(a.shape[0])", **helpers)
    a, b = run(k, of(np.int64, 1, 5), np.zeros(2, np.int64))
    assert (a.tolist(), b.tolist()) == ([2, 6], [(2 + 2) * 2 + 2, (6 + 2) * 2 + 6])
    shared = tack.array(of(np.int64, 1, 5))
    k(shared, shared)
    assert shared.numpy().tolist() == [4 * 2 + 4, 8 * 2 + 8]


@pytest.mark.rule("F1", "T2")
def test_parameters_and_locals_are_the_calls_own():
    helpers = text(
        """
        @tack.func
        def twice(x):
            x = x * 2
            t = x
            return t

        @tack.func
        def mixed(x, y=10, *, z=100):
            return x + y + z
        """
    )
    assert value("t = 3\nx = 5\nu = twice(x) + twice(t)\nout[i] = u * 100 + t * 10 + x", **helpers) == [1635]
    # each call has types of its own
    assert value("out[i] = twice(a[i])\nout[i] += twice(b[i])", of(np.int8, 100), of(np.int64, 100), **helpers) == [-56 + 200]
    assert value("mixed(1) * 1000 + mixed(1, 2) + mixed(1, z=3) + mixed(y=1, x=2)", **helpers) == [111000 + 103 + 14 + 103]


@pytest.mark.rule("N2", "N1")
def test_a_function_resolves_in_its_own_module_and_its_arguments_in_the_callers():
    one = define("K = tack.constant(1)\n@tack.func\ndef f(x):\n    return x * 10 + K\n")
    two = define("K = tack.constant(2)\n@tack.func\ndef f(x):\n    return x * 10 + K\n")
    names = {"f": one["f"], "g": two["f"], "K": tack.constant(7)}
    assert value("f(K) * 1000 + g(K)", **names) == [71 * 1000 + 72]
    module = types.ModuleType("helpers")
    module.f, module.K = two["f"], two["K"]
    assert value("helpers.f(K) + helpers.K + f(helpers.f(1))", helpers=module, **names) == [72 + 2 + 121]
    closure = functions("def make(f):\n    @tack.func\n    def both(x):\n        return f(f(x))\n    return both\n")["make"]
    assert value("both(3)", both=closure(one["f"])) == [311]
    assert value("both(3)", both=closure(two["f"])) == [322]


@pytest.mark.rule("N1", "N2")
def test_a_namespace_comes_before_the_globals():
    space = define(
        """
        K = tack.constant(1)
        other = tack.constant(9)

        @tack.func
        def f(x):
            return x + K
        """
    )
    k = kernel_from(
        """
        @tack.kernel(namespace={"K": FIVE, "f": G})
        def k(out):
            for i in range(1):
                out[i] = f(K) * 100 + other
        """,
        FIVE=tack.constant(5), G=space["f"], other=space["other"], K=tack.constant(2), f=None,
    )  # fmt: skip
    assert run(k, np.zeros(1, np.int64)).tolist() == [(5 + 1) * 100 + 9]  # f still reads the K of its own module


@pytest.mark.rule("N1")
def test_parameters_and_locals_shadow_all_else():
    assert value("abs = a[i] * 2\nout[i] = abs", of(np.int32, -3)) == [-6]
    assert value("N = 4\nout[i] = N", N=tack.constant(9)) == [4]
    k = kernel("out[i] = max + range", "max, range, out", "tack.ndindex(out.shape[0])")
    assert run(k, 3, 4, np.zeros(1, np.int64)).tolist() == [7]
    assert value("math.pi + math.e + math.tau", dtype=np.float64) == [np.pi + np.e + 2 * np.pi]
    assert value("math.inf", dtype=np.float32) == [np.inf]
    assert np.isnan(value("math.nan", dtype=np.float32, interpreted=False)[0])


@pytest.mark.rule("N2")
def test_recursion_is_refused():
    helpers = text("@tack.func\ndef f(x):\n    if x > 0:\n        return f(x - 1)\n    return x\n")
    refuses(UNSUPPORTED, kernel("out[i] = f(i)", **helpers).template, "'k'", "recurs", at="f(x - 1)")
    both = text("@tack.func\ndef even(x):\n    return odd(x)\n\n@tack.func\ndef odd(x):\n    return even(x)\n")
    refuses(UNSUPPORTED, kernel("out[i] = even(i)", **both).template, "recurs", at="even(x)")


@pytest.mark.rule("F1")
def test_wrong_calls_are_refused_with_their_place():
    helpers = text(
        """
        @tack.func
        def one(x):
            return x

        @tack.func
        def two(x):
            return x, x

        @tack.func
        def none(x):
            pass

        @tack.func
        def uneven(x):
            if x > 0:
                return 1, 2
            return 3

        @tack.func
        def falls(x):
            if x > 0:
                return 1

        @tack.func
        def element(a):
            return a[0]
        """
    )

    def bad(line, kind, *words, at):
        refuses(kind, kernel(f"{line}\nout[i] = 1", **helpers).template, "'k'", *words, at=at)

    bad("t = one()", TypeError, "one", at="one()")
    bad("t = one(1, 2)", TypeError, "one", at="one(1, 2)")
    bad("t = one(y=1)", TypeError, "'y'", at="y=1")
    bad("t = two(1)", TypeError, "2 values", at="two(1)")
    bad("t, u, v = two(1)", ValueError, "2 values", at="t, u, v = two(1)")
    bad("t = none(1)", TypeError, "no value", at="none(1)")
    bad("t = one", NameError, "'one'", "Call it", at="one")
    bad("t = element(i)", TypeError, "'a'", at="a")
    bad("t = uneven(i)", TypeError, "uneven", "values", at="return 3")
    bad("t = falls(i)", TypeError, "falls()", "some paths only", at="falls")


@pytest.mark.rule("F1", "K7")
def test_errors_inside_functions_show_the_function():
    helpers = text("@tack.func\ndef f(a, b):\n    t = 3\n    return a + b + t\n")
    k = kernel("out[i] = f(x[i], y[i])", "x, y, out", **helpers)
    args = tack.zeros(1, dtype=tack.i32), tack.zeros(1, dtype=tack.u64), tack.zeros(1)
    error = refuses(TypeError, lambda: k(*args), "'k'", "in f", at="a + b")
    assert "line 4" in str(error)


@pytest.mark.rule("K7", "N1")
def test_ordinary_functions_cannot_be_called():
    space = functions("def plain(x):\n    return x\n")
    refuses(UNSUPPORTED, kernel("out[i] = plain(i)", **space).template, "`plain`", "@tack.func", at="plain(i)")
    refuses(UNSUPPORTED, kernel("out[i] = np.sin(1.0)", np=np).template, "`np.sin`", "Write sin(...)", at="np.sin(1.0)")
    refuses(UNSUPPORTED, kernel("out[i] = k2(1.0)", k2=kernel("out[i] = 1")).template, "kernel", "@tack.func", at="k2(1.0)")
    refuses(UNSUPPORTED, kernel("out[i] = len('abc')").template, "'k'", at="'abc'")


@pytest.mark.rule("F1")
def test_calling_a_device_function_from_python_says_where_it_belongs():
    helpers = text("@tack.func\ndef f(x):\n    return x\n")
    with pytest.raises(RuntimeError, match="tack.kernel"):
        helpers["f"](1)
    with pytest.raises(RuntimeError, match="tack.kernel"):
        tack.select(True, 1, 2)
    with pytest.raises(RuntimeError, match="tack.kernel"):
        tack.math.sqrt(2.0)
