"""Device functions: arguments, values, early returns, and what is refused (F1)."""

import pytest
from lowered import agree
from refusals import UNSUPPORTED, check

from tack.ir.nodes import IRConst, IRLeave, IRLoad, IRRegion, IRStore
from tack.ir.types import u8
from tack.ir.walk import walk
from tack.lang.constant import constant
from tack.lang.func import func
from tack.lang.kernel import kernel


def same(fn, x=(3, 1, 4, 1, 5, -9, 2, 6), python=None):
    """The kernel `out[i] = fn(x, i)` must do what Python does."""

    @kernel
    def apply(x, out):
        for i in range(out.shape[0]):
            out[i] = fn(x, i)

    plain = python or fn.__wrapped__

    def source(x, out):
        for i in range(out.shape[0]):
            out[i] = plain(x, i)

    agree(apply, source, dict(x=list(x), out=[0] * len(x)))
    return apply


@pytest.mark.rule("F1")
def test_one_value_and_arrays_by_reference():
    @func
    def shift(a, k):
        a[k] = a[k] + 1
        return a[k] * 2

    same(shift)


@pytest.mark.rule("F1")
def test_early_returns_under_conditions():
    @func
    def classify(a, k):
        v = a[k]
        if v < 0:
            if k == 5:
                return -v
            v = 0
        elif v == 1:
            return 100
        else:
            if k > 6:
                return 7
        w = v + 1
        if w > 5:
            return w
        return w * 10

    k = same(classify)
    assert any(isinstance(n, IRRegion) for n in walk(k.template().loop.body))


@pytest.mark.rule("F1")
def test_early_returns_inside_loops():
    @func
    def search(a, k):
        for j in range(a.shape[0]):
            n = 0
            while n < 4:
                n += 1
                if a[j] == n and j > k:
                    return j * 10 + n
                if n == 3:
                    break
            if j == 6:
                return -1
        return -2

    same(search)


@pytest.mark.rule("F1")
def test_returns_in_endless_loops_need_no_last_one():
    @func
    def count(a, k):
        n = a[k]
        while True:
            n += 3
            if n > 10:
                return n

    same(count)


@pytest.mark.rule("F1")
def test_many_guard_clauses():
    text = "".join(f"    if k == {n}:\n        return a[{n}] * {n}\n" for n in range(8)) * 5

    def make(tmp):
        space = {"func": func, "__name__": "guards"}
        path = tmp / "guards.py"
        path.write_text(f"@func\ndef guards(a, k):\n{text}    return 0\n")
        exec(compile(path.read_text(), str(path), "exec"), space)
        return space["guards"]

    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        k = same(make(pathlib.Path(folder)))
    assert any(isinstance(n, IRLeave) for n in walk(k.template().loop.body))


@pytest.mark.rule("F1")
def test_several_values():
    @func
    def split(v):
        if v < 0:
            return 0, v
        return v // 10, v % 10

    @func
    def again(v, w):
        a, b = split(v)
        return b, a + w, 1

    @kernel
    def digits(x, out):
        for i in range(x.shape[0]):
            a, b = split(x[i])
            c, a, out[i] = again(a, b)
            a, b = b, a
            out[i] += a + 2 * b + 3 * c

    def python(x, out):
        s = split.__wrapped__

        def g(v, w):
            a, b = s(v)
            return b, a + w, 1

        for i in range(x.shape[0]):
            a, b = s(x[i])
            c, a, out[i] = g(a, b)
            a, b = b, a
            out[i] += a + 2 * b + 3 * c

    agree(digits, python, dict(x=[42, 7, 90, -3], out=[0] * 4))


@func
def three(x, y, z=3):
    return x * 100 + y * 10 + z


CONST = constant(7, u8)


@func
def defaults(x, k=2, *, m=CONST):
    return x + k * m


@pytest.mark.rule("F1")
def test_keywords_and_defaults():
    @kernel
    def calls(out):
        for i in range(1):
            out[0] = three(1, 2)
            out[1] = three(z=1, x=2, y=3)
            out[2] = three(1, z=5, y=6)
            out[3] = defaults(1) + defaults(1, 3) + defaults(1, m=4)

    def python(out):
        f, g = three.__wrapped__, lambda x, k=2, m=7: x + k * m
        out[0], out[1], out[2] = f(1, 2), f(z=1, x=2, y=3), f(1, z=5, y=6)
        out[3] = g(1) + g(1, 3) + g(1, m=4)

    agree(calls, python, dict(out=[0] * 4))
    assert IRConst(7, u8) in list(walk(calls.template().loop.body))


@pytest.mark.rule("F1")
def test_assigned_parameters_are_the_functions_own():
    @func
    def count_down(n, a):
        total = 0
        while n > 0:
            total += a[n]
            n -= 1
        for n in range(3):
            total += n
        return total

    @kernel
    def uses(x, out):
        for i in range(4):
            out[i] = count_down(i, x) + i

    def python(x, out):
        for i in range(4):
            out[i] = count_down.__wrapped__(i, x) + i

    agree(uses, python, dict(x=[1, 2, 3, 4], out=[0] * 4))


@pytest.mark.rule("F1")
def test_a_function_called_in_a_loop_starts_afresh():
    @func
    def fresh(a, k):
        seen = 0
        for j in range(3):
            if a[j] > k:
                seen += 1
        return seen

    @kernel
    def loops(x, out):
        for i in range(4):
            for j in range(3):
                out[i] += fresh(x, j) if j != 1 else fresh(x, i) * 10

    def python(x, out):
        for i in range(4):
            for j in range(3):
                out[i] += fresh.__wrapped__(x, j) if j != 1 else fresh.__wrapped__(x, i) * 10

    agree(loops, python, dict(x=[1, 2, 3], out=[0] * 4))


@pytest.mark.rule("F1")
def test_arrays_are_never_copied():
    @func
    def inner(b, k):
        b[k] = b[k] + 1

    @func
    def outer(a, k):
        inner(a, k)
        inner(b=a, k=k)

    @kernel
    def writes(x):
        for i in range(3):
            outer(x, i)

    accesses = [n.array for n in walk(writes.template().loop.body) if isinstance(n, (IRLoad, IRStore))]
    assert accesses == ["x"] * 4


REFUSED = {
    "missing argument": ("x[i] = «f(1)»", "@func\ndef f(a, b):\n    return a\n", TypeError, "f() misses argument 'b'"),
    "too many": ("x[i] = «f(1, 2)»", "@func\ndef f(a):\n    return a\n", TypeError, "takes 1 positional argument, not 2"),
    "unknown keyword": ("x[i] = f(1, «c=2»)", "@func\ndef f(a):\n    return a\n", TypeError, "no parameter named 'c'"),
    "twice": ("x[i] = f(1, «a=2»)", "@func\ndef f(a, b):\n    return a\n", TypeError, "two values for parameter 'a'"),
    "by place only": ("x[i] = f(«a=2»)", "@func\ndef f(a, /):\n    return a\n", TypeError, "no parameter named 'a'"),
    "by name only": ("x[i] = «f(2)»", "@func\ndef f(*, a):\n    return a\n", TypeError, "takes 0 positional"),
    "other default": ("x[i] = «f()»", "@func\ndef f(a=None):\n    return a\n", TypeError, "is no number"),
    "no value": ("x[i] = «f()»", "@func\ndef f():\n    pass\n", TypeError, "returns no value"),
    "two values": ("x[i] = «f()»", "@func\ndef f():\n    return 1, 2\n", TypeError, "gives 2 values"),
    "wrong count": ("«a, b, c = f()»", "@func\ndef f():\n    return 1, 2\n", ValueError, "2 values for 3 targets"),
    "unpacked number": (
        "«a, b = f()»",
        "@func\ndef f():\n    return 1\n",
        ValueError,
        "`f()` gives a number, which is",
    ),
    "falls off": (
        "x[i] = f(x, i)",
        "@func\ndef «f»(x, i):\n    if i > 2:\n        return 1\n",
        TypeError,
        "f() returns a value on some paths only",
    ),
    "plain and value": (
        "x[i] = f(x, i)",
        "@func\ndef «f»(x, i):\n    if i > 2:\n        return\n    return 1\n",
        TypeError,
        "returns a value on some paths only",
    ),
    "loop may end": (
        "x[i] = f(x, i)",
        "@func\ndef «f»(x, i):\n    while True:\n        if i > 2:\n            break\n        return 1\n",
        TypeError,
        "on some paths only",
    ),
    "different counts": (
        "a, b = f(x, i)",
        "@func\ndef f(x, i):\n    if i > 2:\n        return 1, 2\n    «return 1»\n",
        TypeError,
        "returns 1 value here and 2 elsewhere",
    ),
    "number as array": ("x[i] = f(i)", "@func\ndef f(a):\n    return «a»[0]\n", TypeError, "'a' holds a number here"),
    "literal as array": ("x[i] = f(3)", "@func\ndef f(a):\n    return «a».shape[0]\n", TypeError, "'a' holds a number here"),
    "element as array": ("x[i] = f(x[i])", "@func\ndef f(a):\n    return len(«a»)\n", TypeError, "'a' holds a number here"),
    "typed value": ("x[i] = f(1)", "@func\ndef f(a) -> «f32»:\n    return a\n", UNSUPPORTED, "cannot be given a type"),
    "typed parameter": ("x[i] = f(1)", "@func\ndef f(a: «f32»):\n    return a\n", UNSUPPORTED, "cannot be given a type"),
    "a mistake inside": ("x[i] = f(1)", "@func\ndef f(a):\n    return a + «q»\n", NameError, "name 'q' is not defined"),
    "method of a parameter": ("x[i] = f(x)", "@func\ndef f(a):\n    return «a.sum()»\n", UNSUPPORTED, "no methods"),
}


@pytest.mark.rule("F1")
@pytest.mark.parametrize("case", REFUSED)
def test_wrong_calls_and_functions_are_refused(tmp_path, case):
    line, functions, kind, phrase = REFUSED[case]
    check(tmp_path, f"{functions}@kernel\ndef k(x):\n    for i in range(3):\n        {line}\n", kind, phrase)


def test_annotations_for_the_reader_are_fine():
    @func
    def f(v: float, n: "int" = 2) -> float:
        return v * n

    @kernel
    def k(x: np_array, n: int) -> None:
        for i in range(n):
            x[i] = f(x[i])

    k.template()


np_array = object


def test_a_typed_kernel_parameter_is_refused(tmp_path):
    check(
        tmp_path,
        "@kernel\ndef k(x, n: «i64»):\n    for i in range(n):\n        x[i] = 1\n",
        UNSUPPORTED,
        "cannot be given a type",
    )


def test_from_python_a_device_function_says_where_it_belongs():
    with pytest.raises(RuntimeError, match=r"device function: call it inside a @tack\.kernel"):
        three(1, 2)
    assert three.__wrapped__(1, 2, 4) == 124
    assert three.__name__ == "three" and str(three.__signature__) == "(x, y, z=3)"
