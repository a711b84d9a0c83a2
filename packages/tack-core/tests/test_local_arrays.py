"""Local arrays (M5, K2): declared in the loop or in front of it, private to an iteration, with any dtype and shape."""

import numpy as np
import pytest
from rule_tools import CPU, INTERPRETER, functions, kernel, of, refused, refuses, run, value

import tack
from tack.ir.facts import ir_shape_deps, written_array_params
from tack.ir.types import DTYPES
from tack.testing import FanoutTarget

POOL = FanoutTarget(tack.device("cpu", num_threads=3), "three threads")
N = tack.constant(4)
UNSUPPORTED = tack.UnsupportedSyntaxError


@pytest.mark.rule("M5", "T4", "T9")
@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_elements_of_every_dtype(t):
    """Sums of the last four elements, held in a ring; stores convert as stores to arrays do."""
    body = f"""
    ring = tack.local_array(tack.{t.name}, 4)
    for k in range(4):
        ring[k] = 0
    for k in range(i + 1):
        ring[k % 4] = x[k]
    out[i] = ring[0] + ring[1] + ring[2] + ring[3]
    """
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], t.numpy)
    expected = np.array([x[max(0, i - 3) : i + 1].sum(dtype=t.numpy) for i in range(12)])
    assert run(kernel(body, "x, out"), x, np.zeros(12, t.numpy)).tolist() == expected.tolist()
    body = f"t = tack.local_array(tack.{t.name}, 1)\nt[0] = a[i]\nout[i] = t[0]"
    stored = np.zeros(3, t.numpy)
    floats = of(np.float64, 300.7, -1.5, np.nan)
    assert value(body, floats, dtype=t.numpy) == pytest.approx(run(kernel("out[i] = a[i]"), floats, stored).tolist(), nan_ok=True)


@pytest.mark.rule("M5", "M1")
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3), (2, 2, 2, 3)])
def test_one_or_more_dimensions(shape):
    names = "jklm"[: len(shape)]
    sizes = enumerate(zip(names, shape, strict=True))
    loops = "".join(f"{'    ' * d}for {name} in range({size}):\n" for d, (name, size) in sizes)
    inner = "    " * len(shape)
    at = ", ".join(names)
    flat = "0"
    for name, size in zip(names, shape, strict=True):
        flat = f"({flat}) * {size} + {name}"
    body = f"t = tack.local_array(tack.i32, {shape if len(shape) > 1 else shape[0]})\n{loops}{inner}t[{at}] = i * 100 + {flat}\n"
    body += f"{loops}{inner}out[i] += t[{at}] * ({flat} + 1)"
    size = int(np.prod(shape))
    expected = [sum((i * 100 + f) * (f + 1) for f in range(size)) for i in range(3)]
    assert value(body, size=3) == expected


@pytest.mark.rule("M5")
def test_shapes_are_made_of_literals_and_constants():
    for text in ("4", "N", "N * 2 - 4", "(N, 1)", "(2, N // 2)", "2**2", "+4"):
        whole = f"t = tack.local_array(tack.i32, {text})\nout[0] = t.size\nout[1] = len(t) * 10 + t.ndim"
        size, rest = value(whole, size=2, loop="range(1)", N=N)
        assert size == 4, text
        assert rest in (41, 42, 22), text
    body = "t = tack.local_array(tack.i32, (2, 3))\nh, w = t.shape\n"
    body += "out[i] = h * 10000 + w * 1000 + t.shape[-1] * 100 + t.shape[0] * 10 + t.ndim"
    assert value(body) == [23322]
    names = functions("@tack.func\ndef total(n):\n    t = tack.local_array(tack.i32, n)\n    t[n - 1] = n\n    return t[n - 1]\n")
    assert value("total(3) + total(5)", **names) == [8]


@pytest.mark.rule("M5", "T2", "T2b", "T8")
def test_elements_have_their_type():
    assert value("t = tack.local_array(tack.u8, 1)\nt[0] = 250\nt[0] += 10\nout[i] = t[0]") == [4]
    assert value("t = tack.local_array(tack.u8, 1)\nt[0] = 250\nx = t[0] + 10\nout[i] = x") == [4]
    assert value("t = tack.local_array(tack.f64, 1)\nt[0] = 0.1\nout[i] = t[0] == 0.1") == [1]
    # T1: a local array does not decide the default float
    assert value("t = tack.local_array(tack.f64, 1)\nt[0] = 1\nx = 0.1\nout[i] = x == a[i]", of(np.float32, 0.1)) == [1]
    body = "t = tack.local_array(np.int16, 2)\nt[1] = 40000\nout[i] = t[1]"
    assert value(body, np=np) == [40000 - 65536]


@pytest.mark.rule("M5", "K3", "K4")
def test_each_iteration_has_its_own():
    """What an iteration stores, no other sees, on the pool and in any order."""
    body = """
    t = tack.local_array(tack.i64, 8)
    for k in range(8):
        t[k] = i
    for k in range(8):
        t[(k + 3) % 8] += t[k]
    s = 0
    for k in range(8):
        s += t[k]
    out[i] = s
    """
    k, expected = kernel(body, "out"), [55 * i for i in range(500)]
    t = [1] * 8
    for j in range(8):
        t[(j + 3) % 8] += t[j]
    expected = [sum(t) * i for i in range(500)]
    for target in (CPU, POOL, INTERPRETER):
        out = np.zeros(500, np.int64)
        target.run(k, (out,))
        assert out.tolist() == expected


@pytest.mark.rule("K2", "M5")
def test_declared_in_front_of_the_loop():
    k = kernel(
        "for j in range(m):\n    t[j] = i * j\nout[i] = t[m - 1] + scale", "a, out", "range(out.shape[0])",
        before="m = 3\nt = tack.local_array(tack.i32, 4)\nscale = a[0]",
    )  # fmt: skip
    out = run(k, of(np.int64, 1000), np.zeros(5, np.int64))
    assert out.tolist() == [1000 + 2 * i for i in range(5)]
    POOL.run(k, (of(np.int64, 1000), out := np.zeros(300, np.int64)))
    assert out.tolist() == [1000 + 2 * i for i in range(300)]
    bound = kernel("t[i % 3] = i\nout[i] = t[i % 3]", "out", "range(len(t))", before="t = tack.local_array(tack.i32, 3)")
    assert run(bound, np.full(5, 9, np.int64)).tolist() == [0, 1, 2, 9, 9]
    branch = kernel(
        "if n > 2:\n    t[0] = i\n    out[i] = t[0]", "n, out", "range(out.shape[0])",
        before="if n > 2:\n    t = tack.local_array(tack.i32, 3)",
    )  # fmt: skip
    refuses(NameError, lambda: branch(3, tack.zeros(2)), "local array 't'", "may not be declared", "line 3 is false", at="t[0]")


@pytest.mark.rule("F1", "N2", "E4")
def test_functions_take_them_by_reference():
    names = functions(
        "@tack.func\ndef push(stack, top, v):\n    stack[top] = v\n    return top + 1\n"
        "@tack.func\ndef pop(stack, top):\n    return stack[top - 1], top - 1\n"
        "@tack.func\ndef clear(t):\n    for k in range(len(t)):\n        t[k] = 0\n"
        "@tack.func\ndef both(t, u):\n    clear(t)\n    clear(u)\n"
    )
    body = """
    s, other = 0, 5
    t = tack.local_array(tack.i64, 8)
    u = tack.local_array_like(t, 3)
    both(t, u)
    top = 0
    for k in range(i):
        top = push(t, top, k * k)
    while top > 0:
        v, top = pop(t, top)
        s = s * 10 + v
    out[i] = s + u[2] + len(u)
    """
    assert value(body, size=4, **names) == [3, 3, 13, 413]
    # a function's own array, once for each call
    own = functions(
        "@tack.func\ndef median(a, b, c):\n    t = tack.local_array(tack.i32, 3)\n    t[0], t[1], t[2] = a, b, c\n"
        "    for n in range(2):\n        for k in range(2):\n            if t[k] > t[k + 1]:\n"
        "                t[k], t[k + 1] = t[k + 1], t[k]\n    return t[1]\n"
    )
    assert value("median(3, 1, 2) * 100 + median(median(9, 8, 7), 5, i)", size=2, **own) == [205, 205]


@pytest.mark.rule("M5")
def test_like_takes_the_dtype_of_another_array():
    body = "t = tack.local_array_like(a, N)\nt[0] = 300\nout[i] = t[0]"
    for t in DTYPES:
        k = kernel(body, "a, out", N=N)
        assert run(k, np.zeros(1, t.numpy), np.zeros(1, np.int64))[0] == (44 if t.bits == 8 else 300)
    k = kernel(body, "a, out", N=N)
    refuses(TypeError, lambda: k(1, tack.zeros(1)), "'a' is used as an array", at="tack.local_array_like(a, N)")


@pytest.mark.rule("E1", "E2", "E4", "E5")
def test_loads_and_stores_keep_their_order():
    names = functions("@tack.func\ndef bump(t):\n    t[0] += 1\n    return t[0]\n")
    before = "t = tack.local_array(tack.i64, 2)\nt[0] = 5\nt[1] = 1\n"
    assert value(before + "out[i] = t[0] * 10000 + bump(t) * 100 + t[0]", **names) == [50606]
    assert value(before + "t[t[1]] = bump(t) + t[1]\nout[i] = t[1]", **names) == [7]
    assert value(before + "t[0], t[1] = t[1], t[0]\nout[i] = t[0] * 10 + t[1]") == [15]
    fused = "t = tack.local_array(tack.f32, 2)\nt[0] = a[i]\nt[0] += a[i] * a[i]\nout[i] = t[0] - 2.0 == 0.0"
    assert value(fused, of(np.float32, 1.0)) == [1]


@pytest.mark.rule("M5")
def test_variants_and_facts_do_not_see_them():
    k = kernel("t = tack.local_array(tack.i32, (2, 5))\nt[1, 2] = i\nout[i] = t[1, 2]", "out")
    template = k.template()
    assert written_array_params(template) == {"out"} and ir_shape_deps(template) == ()
    assert [(a.name, a.shape) for a in template.arrays] == [("t", (2, 5))]


@pytest.mark.rule("T5", "M5")
def test_reading_what_was_not_stored_is_harmless():
    body = "t = tack.local_array(tack.i64, 64)\nout[i] = (7 // t[i % 64] + 7 % t[i % 32]) * 0 + 1"
    out = np.zeros(64, np.int64)
    CPU.run(kernel(body, "out"), (out,))
    assert out.tolist() == [1] * 64


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.rule("M5", "K7")
def test_shapes_that_are_no_constants():
    for text in ("a.shape[0]", "n", "2.0", "a[0]", "4 / 2", "True"):
        words = "shape of a local array is made of integer literals and constants", "tack.constant"
        k = kernel(f"n = 3\nt = tack.local_array(tack.i32, {text})\nout[i] = 0", "a, out")
        refuses(TypeError, lambda k=k: k(tack.zeros(4, dtype=tack.i32), tack.zeros(2)), *words, at=text)
    for text, words in (("0", "not 0"), ("-3", "not -3"), ("(2, 0)", "not 0"), ("()", "one dimension")):
        at = {"(2, 0)": "0"}.get(text, text)
        refused(ValueError, f"t = tack.local_array(tack.i32, {text})\nout[i] = 0", of(np.int64, 1), words=[words], at=at)
    words = ["262152 bytes", "past the 262144"]
    refused(ValueError, "t = tack.local_array(tack.f64, (3, 10923))\nout[i] = 0", of(np.int64, 1), words=words, at="(3, 10923)")
    both = "t = tack.local_array(tack.f64, 30000)\nu = tack.local_array(tack.f64, 3000)\nout[i] = 0"
    refused(ValueError, both, of(np.int64, 1), words=["264000 bytes"], at="3000")


@pytest.mark.rule("M5", "K7")
def test_dtypes_that_are_none():
    for text in ("int", "a", "np.float16", "'f4'", "3"):
        k = kernel(f"t = tack.local_array({text}, 4)\nout[i] = 0", "a, out", np=np)
        with pytest.raises((TypeError, UNSUPPORTED), match="dtype of the elements|a string"):
            k(tack.zeros(4), tack.zeros(2))
    refused(TypeError, "t = tack.local_array(4)\nout[i] = 0", 1, words=["2 arguments, not 1"], at="tack.local_array(4)")
    refused(TypeError, "t = tack.local_array(tack.f32, shape=4)\nout[i] = 0", 1, words=["shape"], at="shape=4")


@pytest.mark.rule("M5", "N1", "N3", "K2")
def test_names_of_local_arrays():
    make = "tack.local_array(tack.i32, 3)"
    one = of(np.int64, 1)
    refused(UNSUPPORTED, f"out[i] = {make}", one, words=["gives the array its name"], at=make)
    refused(UNSUPPORTED, f"s = t = {make}\nout[i] = 0", one, words=["gives the array its name"], at=make)
    refused(UNSUPPORTED, f"t, s = {make}, 1\nout[i] = 0", one, words=["gives the array its name"], at=make)
    refused(UNSUPPORTED, f"{make}\nout[i] = 0", one, words=["gives the array its name"], at=make)
    refused(UNSUPPORTED, f"a = {make}\nout[i] = 0", one, words=["parameter 'a'"], at="a")
    elsewhere = ["'t' names a local array and is assigned elsewhere"]
    refused(UNSUPPORTED, f"t = {make}\nt = 3\nout[i] = 0", one, words=elsewhere, at="t")
    refused(UNSUPPORTED, f"t = {make}\nfor t in range(3):\n    out[i] = t", one, words=["'t'"], at="t")
    refused(TypeError, f"t = {make}\nout[i] = t + 1", one, words=["local array 't' is used as a number"], at="t")
    refused(TypeError, f"t = {make}\nu = t\nout[i] = 0", one, words=["local array 't' is used as a number"], at="t")
    refused(TypeError, f"t = {make}\nout[i] = 1 if t else 2", one, words=["local array 't'"], at="t")
    refused(UNSUPPORTED, f"t = {make}\nt += 1\nout[i] = 0", one, words=["'t'"], at="t")
    late = f"out[i] = t[0]\nt = {make}"
    refused(NameError, late, one, words=["local array 't'", "before it is declared"], at="t")
    maybe = f"if i > 0:\n    t = {make}\nt[0] = 1\nout[i] = t[0]"
    refused(NameError, maybe, one, words=["local array 't'", "is false"], at="t[0]")
    names = functions("@tack.func\ndef f():\n    t = tack.local_array(tack.i32, 2)\n    return t\n")
    refused(TypeError, "out[i] = f()", one, words=["local array 't' is used as a number"], at="t", **names)
    names = functions("@tack.func\ndef f(t):\n    t = 3\n    return t\n")
    refused(TypeError, f"t = {make}\nout[i] = f(t)", one, words=["is passed an array"], at="t", **names)


@pytest.mark.rule("M1", "M5", "K2")
def test_wrong_indices():
    make = "t = tack.local_array(tack.i32, (2, 3))\n"
    one = of(np.int64, 1)
    refused(IndexError, make + "out[i] = t[0]", one, words=["'t' has 2 dimensions", "1 index"], at="t[0]")
    refused(IndexError, make + "t[0, 0, i] = 1\nout[i] = 0", one, words=["3 indices"], at="t[0, 0, i]")
    refused(IndexError, make + "out[i] = t[0, 3]", one, words=["3", "'t'"], at="3")
    refused(IndexError, make + "t[2, i] = 0\nout[i] = 0", one, words=["2", "'t'"], at="2")
    refused(IndexError, make + "out[i] = t[0, -1]", one, words=["-1"], at="-1")
    refused(TypeError, make + "out[i] = t[0, 1.0]", one, words=["index"], at="1.0")
    refused(IndexError, make + "out[i] = t.shape[2]", one, words=["t.shape[2]"], at="t.shape[2]")
    refused(ValueError, make + "n, = t.shape\nout[i] = 0", one, words=["'t' is unpacked into 1 name"], at="n, = t.shape")
    read = kernel("out[i] = s", "out", before="t = tack.local_array(tack.i32, 3)\ns = t[0]")
    refuses(UNSUPPORTED, lambda: read(tack.zeros(2)), "read outside the parallel loop", at="t")
    store = kernel("out[i] = 0", "out", before="t = tack.local_array(tack.i32, 3)\nt[0] = 1")
    refuses(UNSUPPORTED, lambda: store(tack.zeros(2)), "'t' is stored to outside", at="t[0]")


def test_local_arrays_belong_into_kernels():
    for name in ("local_array", "local_array_like"):
        with pytest.raises(RuntimeError, match=rf"tack\.{name}\(\) belongs inside"):
            getattr(tack, name)(tack.f32, 3)


@pytest.mark.rule("M5", "V1", "V2")
def test_elements_that_are_vectors_and_matrices():
    body = """
    t = tack.local_array(tack.vec3, (2, N))
    u = tack.local_array_like(p, 2)
    m = tack.local_array(tack.mat2, 2)
    v = tack.local_array(tack.vec(5, tack.f64), 1)
    for k in range(N):
        t[1, k] = p[i] * k
    u[1] = t[1, 3] + t[1, 2]
    u[1].y += 100.0
    m[1] = tack.mat2([1.0, 2.0], [3.0, 4.0])
    m[1][0, 1] += 5.0
    v[0] = 0.5
    r = m[1] @ tack.vec2(1.0, 10.0)
    out[i] = u[1].x + u[1].y * 10 + u[1].z * 100 + r.x + v[0][4] + len(t) * 1000 + u.size * 10000 + t.ndim * 0.25
    """
    p = tack.array(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=tack.vec3)
    out = tack.zeros(2, dtype=tack.f64)
    kernel(body, "p, out", N=N)(p, out)
    x, y, z = p.numpy().T * 5
    assert out.numpy().tolist() == (x + (y + 100) * 10 + z * 100 + 71 + 0.5 + 2000 + 20000 + 0.5).tolist()
    for text in ("t[0] = tack.vec2(1.0, 2.0)", "t[0, 1] = 1.0", "out[i] = t[0]"):
        k = kernel(f"t = tack.local_array(tack.vec3, 2)\n{text}", "p, out")
        with pytest.raises((TypeError, IndexError), match="cannot be stored|2 indices"):
            k(p, out)
