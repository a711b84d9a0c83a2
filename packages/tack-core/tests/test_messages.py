"""What messages of the kernel language say: the thing that was written, its place, why it is wrong and what to write instead.

The table of likely mistakes has tests of its own (`test_mistakes`); here stand the kinds behind them, each with its neighbours.
"""

from __future__ import annotations

import collections
import dataclasses
import random
import types

import numpy as np
import pytest
from rule_tools import kernel, refuses

import tack
from tack.errors import Diagnostic
from tack.lang import remedies
from tack.testing import define, kernel_from

UNSUPPORTED = tack.UnsupportedSyntaxError
OBJECTS = """
@tack.device_class
class Inner:
    def __init__(self):
        self.gain = 2.0

    @tack.func
    def twice(self, v):
        return 2 * v * self.gain


@tack.device_class
class Grid:
    __tack_iterate__ = ("n",)
    K = 3

    def __init__(self, n=4):
        self.n = n
        self.data = tack.ones(4)
        self.inner = Inner()
        self.label = "x"
        self._hidden = 3
        self.listed = [1, 2]
        self.values = np.ones(3)

    @tack.func
    def scaled(self, v):
        return v * self.n

    @tack.func
    def bits(self, v):
        return v & self.n

    def plain(self):
        return 3

    @tack.kernel
    def run(self, out):
        for i in range(len(out)):
            out[i] = self.n

    @tack.kernel
    def call(this, out):
        for i in range(len(out)):
            out[i] = this.scaled(1.0)
"""


def arguments():
    """What the kernels of these tests are called with, by the names of their parameters."""
    space = define(OBJECTS, np=np)
    return space | {
        "x": tack.arange(4.0), "out": tack.zeros(4), "counts": tack.arange(4), "n": 4, "grid": tack.ones((4, 3)),
        "points": tack.zeros(4, tack.vec3), "pairs": tack.zeros(4, tack.vec2), "mats": tack.zeros(4, tack.mat2),
        "o": space["Grid"](), "t": tack.texture3d(tack.zeros((2, 2, 2))), "big": tack.ones(4, tack.u64),
    }  # fmt: skip


def check(body, at, kind, *words, head="", **names):
    """The kernel of this body, called with the `arguments` whose names the body holds, is refused at the text `at`."""
    space = arguments() | names
    written = head + body
    params = [name for name in ("x", "counts", "n", "grid", "points", "pairs", "mats", "o", "t", "big", *names) if name in space]
    params = [name for name in params if any(word == name for word in _words(body))]
    before = define(head, **{k: v for k, v in space.items() if k not in params}) if head else {}
    defined = {k: v for k, v in before.items() if not k.startswith("__")} | {"np": np, "Grid": space["Grid"]}
    k = kernel(body, ", ".join([*params, "out"]), **defined)
    return refuses(kind, lambda: k(*(space[name] for name in params), space["out"]), "'k'", *words, at=at), written


def _words(text):
    return "".join(c if c.isalnum() or c == "_" else " " for c in text.replace(".", " . ")).split()


# ------------------------------------------------------------------------------------------- objects of device classes


@pytest.mark.rule("F2")
@pytest.mark.parametrize(
    ("body", "at", "kind", "words"),
    [
        ("out[i] = o.nope", "o.nope", NameError, ("of class Grid, has no 'nope'", "It has K, n, data, inner, bits(), scaled().")),
        ("out[i] = o.nope()", "o.nope", NameError, ("has no 'nope'", "It has K, n,")),
        ("out[i] = o.nope[i]", "o.nope", NameError, ("has no 'nope'", "It has K, n,")),
        ("o.nope[i] = 1", "o.nope", NameError, ("has no 'nope'", "It has K, n,")),
        ("out[i] = o.dta[i]", "o.dta", NameError, ("has no 'dta'", "Did you mean 'data'?")),
        ("out[i] = o.scald(1.0)", "o.scald", NameError, ("has no 'scald'", "Did you mean 'scaled'?")),
        ("out[i] = o.inner.gian", "o.inner.gian", NameError, ("'o.inner', of class Inner,", "Did you mean 'gain'?")),
        ("out[i] = o.inner.nope()", "o.inner.nope", NameError, ("has no 'nope'", "It has gain, twice().")),
        ("out[i] = o.iner.gain", "o.iner", NameError, ("has no 'iner'", "Did you mean 'inner'?")),
        ("out[i] = o.N", "o.N", NameError, ("has no 'N'", "Did you mean 'n'?")),
        ("out[i] = o.n()", "o.n", TypeError, ("'o.n' is no function", "Leave the parentheses out")),
        ("out[i] = o.data(i)", "o.data", TypeError, ("'o.data' is an array and no function", "Write brackets: `o.data[i]`.")),
        ("out[i] = o.data.shap[0]", "o.data.shap", UNSUPPORTED, ("'.shap'", "Did you mean 'shape'?")),
        ("out[i] = o.plain()", "o.plain", UNSUPPORTED, ("`Grid.plain`, an ordinary Python method", "@tack.func")),
        ("out[i] = o()", "o", TypeError, ("'o' is an object of class Grid and no function", "`o.method(...)`")),
        ("out[i] = o[i]", "o", TypeError, ("'o' is an object of class Grid and no value", "attributes")),
        ("out[i] = o.values[i]", "o.values", TypeError, ("of type ndarray", "tack.array(values)")),
        ("o = 3\nout[i] = 1", "o", UNSUPPORTED, ("'o' is an object of class Grid and cannot be assigned", "another name")),
        ("for o in range(3):\n    out[i] = 1", "o", UNSUPPORTED, ("'o' is an object of class Grid and cannot be assigned",)),
        ("o.n = 3", "o.n", UNSUPPORTED, ("assigning an attribute", "Store into an array")),
        ("out[i] = Grid.k + o.n", "Grid.k", NameError, ("class 'Grid' has no 'k'", "Did you mean 'K'?")),
        ("out[i] = Grid.nope + o.n", "Grid.nope", NameError, ("class 'Grid' has no 'nope'", "`dir(Grid)`")),
    ],
)
def test_what_an_object_does_not_have(body, at, kind, words):
    check(body, at, kind, *words)


@pytest.mark.rule("F2", "K1")
@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("real",), ("counts up to 'o.real', which must be an integer, not tack.f32", "`o.real = int(o.real)`")),
        (("SCALE",), ("counts up to 'o.SCALE' (`__tack_iterate__` of class Loop), which is a float", "`o.SCALE = 4`")),
        (("TYPED",), ("counts up to 'o.TYPED' (`__tack_iterate__` of class Loop), which is a float",)),
        (("VECTOR",), ("counts up to 'o.VECTOR' (`__tack_iterate__` of class Loop), which is no number",)),
        (("data",), ("counts up to 'o.data' (`__tack_iterate__` of class Loop), which is no number",)),
        (("text",), ("counts up to 'o.text' (`__tack_iterate__` of class Loop), which is no number",)),
        (("reals",), ("counts up to 'o.reals' (`__tack_iterate__` of class Loop), which does not exist", "Did you mean 'real'?")),
        (("whole", "real"), ("counts up to 'o.real', which must be an integer",)),
    ],
)
def test_a_loop_over_an_object_whose_extent_is_no_integer(names, words):
    """The message names the attribute, which the source does not show, and never says `int(o)`."""

    @tack.device_class
    class Loop:
        __tack_iterate__ = names
        SCALE = 2.5
        TYPED = tack.constant(2, tack.f32)
        VECTOR = tack.constant((1, 2))

        def __init__(self, real):
            self.real, self.whole, self.data, self.text = real, 2, tack.ones(3), "text"

    inside = kernel("for c in o:\n    out[i] += 1", "o, out")
    parallel = kernel_from("@tack.kernel\ndef k(o, out):\n    for c in o:\n        out[0] = 1\n")
    for k in (inside, parallel):
        error = refuses(TypeError, lambda k=k: k(Loop(4.0), tack.zeros(4)), "a loop over 'o'", *words, at="o")
        assert "int(o)" not in str(error)


@pytest.mark.rule("F2")
def test_a_kernel_of_a_class_that_is_called_without_its_object():
    space = arguments()
    grid, out = space["Grid"], space["out"]
    for first, what in ((5, "a number"), (2.5, "a number"), (space["x"], "an array")):
        for method, name, at in ((grid.run, "self", "self.n"), (grid.call, "this", "this.scaled(1.0)")):
            if at.endswith(")") and what == "an array":
                at = "this.scaled(1.0)"
            words = f"'{name}' has no '{at[5:].partition('(')[0]}': {what} was passed for it", f"`obj.{method.__name__}(...)`"
            refuses(TypeError, lambda method=method, first=first: method(first, out), *words, at=at)
    for call, words in (
        (lambda: grid.run(out), "misses 1 argument: 'out'"), (lambda: space["o"].run(), "misses 1 argument: 'out'"),
        (lambda: space["o"].run(out, out), "takes 2 arguments but 3 were given"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words) as caught:
            call()
        assert "Call obj.run(out)." in str(caught.value)
    grid.run(space["o"], out)
    assert out.numpy().tolist() == [4] * 4


@pytest.mark.rule("F2", "T1")
@pytest.mark.parametrize("read", ["p.n", "p['n']", "p.f()", "p"])
def test_arguments_that_no_kernel_takes_are_named_whatever_the_kernel_does_with_them(read):
    class Plain:
        n = 3

    @dataclasses.dataclass
    class Record:
        n: int

    device = tack.device_class(type("Device", (), {"n": 3}))
    cases = [
        (Plain(), "an object of class Plain, which is no device class", "Put @tack.device_class above class Plain"),
        (Record(3), "an object of class Record, which is no device class", "Put @tack.device_class above class Record"),
        (collections.namedtuple("Pair", "n m")(1, 2), "Pair", "Pass its fields as arguments of their own."),
        ({"n": 3}, "of type dict", "Pass an array or a number."),
        ("text", "of type str", "Pass an array or a number."),
        (device, "class Device", "Pass an object: Device(...)."),
        (tack.constant(3), "Constant", "Pass p.value"),
        (np, "of type module", "by their names"),
        (len, "of type builtin_function_or_method", "by their names"),
        (b"abcd", "of type bytes", "np.frombuffer(p, np.uint8)"),
        (np.array(3.0), "numpy.ndarray", "p.item()"),
        (np.ones(3), "numpy.ndarray", "Write tack.from_dlpack(p) to share its memory, or tack.array(p) for a copy."),
    ]
    for debug in (False, True):
        tack.set_debug(debug)
        try:
            for thing, what, remedy in cases:
                k = kernel(f"out[i] = {read}", "p, out")
                with pytest.raises(TypeError) as caught:
                    k(thing, tack.zeros(2))
                message = str(caught.value)
                assert message.startswith("Kernel 'k': argument 'p' is "), message
                assert what in message and remedy in message and "a kernel takes arrays" in message, message
        finally:
            tack.set_debug(False)


# ------------------------------------------------------------------------------------------------ vectors and matrices


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("body", "at", "words"),
    [
        ("v = points[i]\nout[i] = v.length()", "v.length", ("a vector of 3 has no method 'length'", "Write `v.norm()`.")),
        ("v = points[i]\nout[i] = v.nrm()", "v.nrm", ("has no method 'nrm'", "Did you mean 'norm'?")),
        ("out[i] = points[i].normalize().x", "points[i].normalize", ("has no method", "Write `v.normalized()`.")),
        ("v = points[i]\nout[i] = v.nope()", "v.nope", ("no method 'nope'", "It has dot, cross, outer, norm,")),
        ("m = mats[i]\nout[i] = m.det()", "m.det", ("a 2x2 matrix has no method 'det'", "Write `m.determinant()`.")),
        ("m = mats[i]\nout[i] = m.nope()", "m.nope", ("no method 'nope'", "It has norm, norm_sqr, sum, min, max, transpose,")),
        ("v = points[i]\nout[i] = v.norm", "v.norm", ("a vector of 3 has no '.norm'", "Call the method: `v.norm()`.")),
        ("v = points[i]\nout[i] = v.dot", "v.dot", ("has no '.dot'", "Call the method: `v.dot(w)`.")),
        ("v = points[i]\nout[i] = v.length", "v.length", ("has no '.length'", "Call the method: `v.norm()`.")),
        ("m = mats[i]\nout[i] = m.T[0, 0]", "m.T", ("a 2x2 matrix has no '.T'", "`m.transpose()`")),
        ("m = mats[i]\nout[i] = m.x", "m.x", ("a 2x2 matrix has no '.x'", "Write `m[i, j]`.")),
        ("v = points[i]\nout[i] = v.r", "v.r", ("a vector of 3 has no '.r'", "Its components are .x, .y, .z, or `v[k]`.")),
        ("v = points[i]\nout[i] = v.xw", "v.xw", ("a vector of 3 has no '.xw'", ".x, .y, .z")),
        ("out[i] = points[i].q", "points[i].q", ("a vector of 3 has no '.q'", ".x, .y, .z")),
        ("v = points[i]\nv.q = 1.0", "v.q", ("a vector of 3 has no '.q'", ".x, .y, .z")),
        ("points[i].q = 1.0", "points[i].q", ("a vector of 3 has no '.q'", ".x, .y, .z")),
        ("v = points[i]\nout[i] = len(v)", "v", ("'v' is a vector of 3 and no array", "`v[0]` to `v[2]`")),
        ("v = points[i]\nout[i] = v.shape[0]", "v", ("'v' is a vector of 3 and no array", "`v[0]` to `v[2]`")),
        ("v = 0.0\nfor k in range(3):\n    v += points[k]", "v", ("'v' is a number and is assigned", "tack.vec3(0.0)")),
        ("out[i] = points[i] > 0", "out[i]", ("a mask of 3 cannot be stored into 'out'", "any(...) or all(...)")),
    ],
)
def test_components_and_methods_that_vectors_do_not_have(body, at, words):
    check(body, at, TypeError, *words)


@pytest.mark.rule("V1", "E2")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("a, b = pairs[i]", ("a vector of 2, which is one value, for 2 targets", "`a, b = pairs[i].x, pairs[i].y`")),
        ("a, b = points[i]", ("a vector of 3, which is one value, for 2 targets", "`a, b = points[i].x, points[i].y`")),
        ("a, b, c, d = points[i]", ("for 4 targets", "`a, b, c = points[i].x, points[i].y, points[i].z`")),
        ("a, b = mats[i]", ("a 2x2 matrix, which is one value", "`a, b = mats[i][0, 0], mats[i][0, 1]`")),
        ("a, b = points[i].norm()", ("`points[i].norm()` gives a number, which is one value",)),
        ("a, b = x[i]", ("a number, which is one value, for 2 targets", "Give each target one value.")),
        ("a, b = x", ("'x' is an array, for 2 targets", "`x[0], x[1]`")),
        ("a, b = 1, 2, 3", ("3 values for 2 targets",)),
        ("a, b, c = f(x[i])", ("`f(x[i])` gives 2 values for 3 targets",)),
        ("a, b = g(x[i])", ("`g(x[i])` gives a vector of 2, which is one value", "`a, b = g(x[i]).x, g(x[i]).y`")),
    ],
)
def test_an_assignment_to_several_names_says_what_its_value_is(body, words):
    head = "@tack.func\ndef f(v):\n    return v, v\n@tack.func\ndef g(v):\n    return [v, v]\n"
    check(body, body, ValueError, *words, head=head)


# ---------------------------------------------------------------------------------------- names of modules and of arrays


@pytest.mark.rule("N1", "M1")
@pytest.mark.parametrize(
    ("body", "at", "kind", "words"),
    [
        ("out[i] = tack.nope(1)", "tack.nope", NameError, ("module 'tack' has no 'nope'", "`dir(tack)` lists what it has.")),
        ("out[i] = tack.atomic_ad(out, i, 1)", "tack.atomic_ad", NameError, ("Did you mean 'atomic_add'?",)),
        ("out[i] = tack.sqrt(1.0)", "tack.sqrt", NameError, ("module 'tack' has no 'sqrt'", "Write `sqrt`.")),
        ("out[i] = tack.clamp(1.0, 0, 1)", "tack.clamp", NameError, ("Write `tack.math.clamp`.",)),
        ("out[i] = tack.float32(1)", "tack.float32", NameError, ("Write `tack.f32`.",)),
        ("out[i] = tack.f16(1)", "tack.f16", NameError, ("Kernels compute with tack.f32 and tack.f64.",)),
        ("out[i] = tack.vec5(1.0).x", "tack.vec5", NameError, ("tack.vec(n, tack.f32)",)),
        ("out[i] = tack.math.sinn(1.0)", "tack.math.sinn", NameError, ("Did you mean 'sin'?",)),
        ("out[i] = tack.zeros(3)", "tack.zeros(3)", UNSUPPORTED, ("a function for Python", "tack.local_array(dtype, n)")),
        ("tack.set_debug(True)", "tack.set_debug(True)", UNSUPPORTED, ("a function for Python", "before the launch")),
        ("out[i] = x.sum()", "x.sum()", UNSUPPORTED, ("arrays have no methods in kernels", "Loop over the elements")),
        ("out[i] = x.astype(np.float32)", "x.astype(np.float32)", UNSUPPORTED, ("no methods", "tack.f32(x[i])")),
        ("x.append(3)", "x.append(3)", UNSUPPORTED, ("arrays have no methods", "Arrays keep their size")),
        ("out[i] = x.nope()", "x.nope()", TypeError, ("'x' has no 'nope': an array was passed for it", "shape, ndim and size")),
        ("out[i] = x.size()", "x.size()", TypeError, ("`x.size` is no function", "Leave the parentheses out.")),
        ("out[i] = x.T[i]", "x.T", UNSUPPORTED, ("'.T'", "Swap the indices")),
        ("out[i] = x.lenght", "x.lenght", TypeError, ("'x' has no 'lenght'",)),
        ("out[i] = x(i)", "x", TypeError, ("'x' is an array and no function", "Write brackets: `x[i]`.")),
        ("out[i] = n.value", "n.value", TypeError, ("'n' has no 'value': a number was passed for it", "an object of a")),
        ("out[i] = t.width", "t", TypeError, ("'t' is a texture", "`t.sample(u, v, w)`")),
        ("out[i].x = 3", "out[i].x", TypeError, ("an element of 'out' is a number and has no '.x'",)),
        ("tack.atomic_add(out[i], 0, 1)", "out[i]", TypeError, ("is an element", "`tack.atomic_add(out, i, value)`")),
        ("tack.atomic_add(out, 1)", "tack.atomic_add(out, 1)", TypeError, ("`tack.atomic_add(array, index, value)`",)),
        ("tack.atomic_sub(out, i, 1)", "tack.atomic_sub", NameError, ("`tack.atomic_add(a, i, -value)`",)),
    ],
)
def test_what_modules_and_arrays_do_not_have(body, at, kind, words):
    check(body, at, kind, *words)


@pytest.mark.rule("N1")
@pytest.mark.parametrize(
    ("body", "at", "words"),
    [
        ("k = cuda.grid(1)\nout[i] = k", "cuda", ("name 'cuda' is not defined", "The loop variable is the index")),
        ("k = cuda.threadIdx.x\nout[i] = k", "cuda", ("name 'cuda' is not defined", "The loop variable is the index")),
        ("out[i] = threadIdx.x", "threadIdx", ("name 'threadIdx' is not defined", "The loop variable is the index")),
        ("k = wp.tid()\nout[i] = k", "wp", ("name 'wp' is not defined", "The loop variable is the index")),
        ("for k in ti.static(range(3)):\n    out[i] = k", "ti", ("name 'ti' is not defined", "Leave it out")),
        ("for k in prange(3):\n    out[i] = k", "prange", ("Write `range`",)),
        ("cuda.atomic.add(out, i, 1)", "cuda", ("`tack.atomic_add(a, i, value)`",)),
        ("cuda.syncthreads()", "cuda", ("`tack.barrier()`",)),
        ("s = cuda.shared.array(4, 1)\nout[i] = 1", "cuda", ("`s = tack.shared(dtype, n)`",)),
        ("out[i] = clamp(1.0, 0, 1)", "clamp", ("name 'clamp' is not defined", "`tack.math.clamp`")),
        ("out[i] = clip(1.0, 0, 1)", "clip", ("tack.math.clamp(x, low, high)",)),
        ("out[i] = rsqrt(2.0)", "rsqrt", ("`1.0 / sqrt(x)`",)),
        ("out[i] = int32(2.0)", "int32", ("Write `tack.i32`.",)),
        ("out[i] = pi", "pi", ("Write `math.pi`.",)),
        ("out[i] = math.PI", "math.PI", ("Did you mean 'pi'?",)),
        ("out[i] = missing", "missing", ("name 'missing' is not defined", "or pass it as an argument.")),
        ("out[i] = missing(2)", "missing", ("name 'missing' is not defined", "@tack.func")),
        ("out[i] = missing.member(2)", "missing", ("name 'missing' is not defined", "Import it at the top of the file.")),
        ("out[i] = grid_", "grid_", ("name 'grid_' is not defined", "pass it as an argument")),
    ],
)
def test_names_of_other_systems_and_names_that_are_nowhere(body, at, words):
    check(body, at, NameError, *words)


@pytest.mark.rule("N1", "K7")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("np.zeros(3)", ("NumPy's `np.zeros` cannot be called", "tack.local_array(dtype, n)")),
        ("np.random.rand()", ("NumPy's `np.random.rand`", "tack.random.uniform_f32(seed, i, 0)")),
        ("np.clip(1.0, 0, 1)", ("NumPy's `np.clip`", "tack.math.clamp(x, low, high)")),
        ("np.sum(out)", ("NumPy's `np.sum`", "Add the elements in a loop")),
        ("np.sign(1.0)", ("NumPy's `np.sign`", "Write tack.math.sign(...)")),
        ("np.minimum(1.0, 2.0)", ("NumPy's `np.minimum`", "Write `min`.")),
        ("np.dot(out, out)", ("NumPy's `np.dot`", "Write a loop over the elements.")),
        ("random.random()", ("`random.random`", "tack.random.uniform_f32(seed, i, 0)")),
        ("tuple(out)", ("Python's `tuple`", "Use separate locals")),
        ("list(out)", ("Python's `list`", "tack.local_array(dtype, n)")),
        ("math.factorial(3)", ("`math.factorial`", "Write it out in a @tack.func function")),
        ("math.degrees(3.0)", ("`math.degrees`", "Write tack.math.degrees(...).")),
    ],
)
def test_calls_of_other_libraries_say_what_kernels_have(call, words):
    k = kernel(f"out[i] = {call}", "out", np=np, random=random)
    refuses(UNSUPPORTED, lambda: k(tack.zeros(2)), *words, at=call)


@pytest.mark.rule("N1")
def test_functions_of_libraries_are_known_by_their_module():
    grid = types.FunctionType((lambda n: n).__code__, {}, "grid")
    grid.__module__ = "numba.cuda"
    k = kernel("out[i] = grid(1)", "out", grid=grid)
    words = ("`grid`, an ordinary Python function", "The loop variable is the index")
    refuses(UNSUPPORTED, lambda: k(tack.zeros(2)), *words, at="grid(1)")
    mine = types.FunctionType((lambda n: n).__code__, {}, "grid")
    mine.__module__ = "my.own"
    k = kernel("out[i] = grid(1)", "out", grid=mine)
    refuses(UNSUPPORTED, lambda: k(tack.zeros(2)), "Make it a device function with @tack.func", at="grid(1)")


def test_the_helpers_that_remedies_name_are_those_of_tack_math():
    own = {name for name in dir(tack.math) if name[0] != "_" and callable(getattr(tack.math, name))}
    functions = {name for name in own if type(getattr(tack.math, name)).__name__ == "Func"}
    assert set(remedies.HELPERS) == functions


# -------------------------------------------------------------------------------------------------------- assignments


@pytest.mark.rule("N5", "M1")
@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("x = out", "x"), ("x = 3", "x"), ("x += 1", "x"), ("x //= 2", "x"), ("for x in range(3):\n    out[i] = x", "x"),
        ("y = 1\nx, y = y, 2", "x"), ("out += 1", "out"), ("out[i] = 1\nif i > 2:\n    out = 3", "out"),
    ],
)  # fmt: skip
def test_assigning_to_an_array_is_shown_at_the_assignment(body, at):
    error, _ = check(body, at, TypeError, f"'{at}' is an array and cannot be assigned", f"`{at}[i] = ...`")
    assert error.lineno > 3


@pytest.mark.rule("N5", "M1")
def test_assigning_to_an_array_before_the_loop_and_after_a_call_with_a_number():
    """The template of a call with a number serves calls with arrays, too: the check is made for each new signature."""
    text = "@tack.kernel\ndef k(x, out):\n    x = x + 1\n    for i in range(2):\n        out[i] = x\n"
    k = kernel_from(text)
    k(3, tack.zeros(2))
    for _ in range(2):
        error = refuses(TypeError, lambda: k(tack.zeros(2), tack.zeros(2)), "'x' is an array and cannot be assigned", at="x")
        assert error.lineno == 3
    fresh = kernel_from(text)
    error = refuses(TypeError, lambda: fresh(tack.zeros(2), tack.zeros(2)), "'x' is an array and cannot be assigned", at="x")
    assert error.lineno == 3


@pytest.mark.rule("F1", "M1")
def test_a_function_that_assigns_a_parameter_which_is_an_array():
    names = define("@tack.func\ndef f(v, k):\n    k = k + 1\n    v = k\n    return v\n")
    k = kernel("out[i] = f(a, i)", f=names["f"])
    words = "parameter 'v' of f() is assigned, but is passed an array"
    refuses(TypeError, lambda: k(tack.zeros(4), tack.zeros(4)), words, at="v")


@pytest.mark.rule("M1")
def test_a_second_name_for_an_array():
    check("y = x\nout[i] = y[i]", "x", TypeError, "'x' is an array: a local is a number or a vector", "Write 'x' in place of 'y'")


# -------------------------------------------------------------------------------------------------------------- calls


def test_launch_configurations_of_other_systems_are_refused():
    @tack.kernel
    def k(out):
        for i in range(2):
            out[i] = 1

    for key in (4, (1, 32), (1, 32, 0, 0), slice(3)):
        with pytest.raises(TypeError, match="a kernel has no launch configuration") as caught:
            k[key](tack.zeros(2))
        assert "Call k(out)." in str(caught.value)
    with pytest.raises(TypeError):
        iter(k)


def test_a_misspelt_argument_is_found():
    @tack.kernel
    def k(source, target):
        for i in range(2):
            target[i] = source

    with pytest.raises(TypeError, match=r"no parameter named 'sorce'\n  Did you mean 'source'\? Call k\(source, target\)\."):
        k(sorce=1, target=tack.zeros(2))
    with pytest.raises(TypeError, match=r"no parameter named 'size'\n  Call k\(source, target\)\."):
        k(1, size=tack.zeros(2))


@pytest.mark.rule("F1")
@pytest.mark.parametrize(
    ("call", "at", "words"),
    [
        ("h(g, i)", "g", ("function 'g' cannot be an argument", "Name it inside the function")),
        ("g(K=i)", "K=i", ("g() has no parameter named 'K'", "Did you mean 'k'?")),
        ("nothing(i)", "nothing(i)", ("`nothing(...)` returns no value", "end it with `return` and a value")),
        ("two(i)", "two(i)", ("`two(...)` gives 2 values where one is needed", "Assign them: `a, b = ...`.")),
        ("sqrt(1.0, 2.0)", "sqrt(1.0, 2.0)", ("sqrt() takes one argument, not 2",)),
        ("tack.select(i > 1, 2)", "tack.select(i > 1, 2)", ("select() takes 3 arguments", "`select(condition, a, b)`")),
        ("max(i)", "max(i)", ("max() takes two or more arguments, not 1", "`v.max()`", "in a loop")),
        ("print(i)", "print(i)", ("`print(...)` returns no value", "Call it as a statement of its own.")),
    ],
)
def test_calls_that_do_not_fit(call, at, words):
    head = "@tack.func\ndef g(k):\n    return k\n@tack.func\ndef h(f, k):\n    return f(k)\n"
    head += "@tack.func\ndef nothing(k):\n    k = 1\n@tack.func\ndef two(k):\n    return k, k\n"
    check(f"out[i] = {call}", at, TypeError, *words, head=head)


# -------------------------------------------------------------------------------------------------------------- loops


@pytest.mark.rule("K1", "K4")
@pytest.mark.parametrize(
    ("head", "at", "words"),
    [
        ("k in 3", "3", "`range(3)`"),
        ("k in n", "n", "`range(n)`"),
        ("k in len(x)", "len(x)", "`range(len(x))`"),
        ("k in x", "x", "`for i in range(x.shape[0])`"),
        ("k in (1, 2, 4)", "(1, 2, 4)", "`for k in range(3)`"),
        ("k, j in (range(3), range(4))", "(range(3), range(4))", "tack.ndindex(n, m)"),
        ("k in v", "v", "`for k in range(2)`, `v[k]`"),
    ],
)
def test_what_loops_do_not_run_over(head, at, words):
    check(f"v = [x[i], x[i] + n]\nfor {head}:\n    out[i] += 1", at, UNSUPPORTED, "runs over range(...)", words)


@pytest.mark.rule("K1")
@pytest.mark.parametrize(
    ("sizes", "kind", "words"),
    [
        ("a.shape", UNSUPPORTED, ("no size of tack.ndindex", "`tack.ndindex(a.shape[0], a.shape[1])`")),
        ("*a.shape", UNSUPPORTED, ("a starred expression", "a.shape[0], a.shape[1]")),
        ("3", ValueError, ("2 loop variables for the 1 size of tack.ndindex",)),
    ],
)
def test_sizes_of_ndindex(sizes, kind, words):
    k = kernel_from(f"@tack.kernel\ndef k(a):\n    for i, j in tack.ndindex({sizes}):\n        a[i, j] = 1\n")
    refuses(kind, lambda: k(tack.zeros((2, 2))), *words, at=sizes if kind is UNSUPPORTED else "i, j")


@pytest.mark.rule("K1", "M1")
def test_a_loop_variable_named_like_an_array():
    k = kernel_from("@tack.kernel\ndef k(x):\n    for x in range(3):\n        x[0] = 1\n")
    refuses(TypeError, lambda: k(tack.zeros(2)), "'x' is a loop variable here and no array", "let no array have its name", at="x")


# -------------------------------------------------------------------------------------------------------------- others


@pytest.mark.parametrize(
    ("body", "at", "kind", "words"),
    [
        (
            "out[i] = x[i] > 0 & x[i] < 3",
            "x[i]",
            TypeError,
            ("an operand of `&`", "Comparisons joined by `&` stand in parentheses."),
        ),
        ("out[i] = any(x)", "any(x)", TypeError, ("any() takes a mask, not an array", "Test its elements in a loop.")),
        ("out[i] = x[1.0]", "1.0", TypeError, ("an index must be an integer, not a float literal", "Write `1`.")),
        ("out[i] = x[1.5]", "1.5", TypeError, ("an index must be an integer, not a float literal", "Write `int(1.5)`.")),
        (
            "points[i, 0] = 1",
            "points[i, 0]",
            IndexError,
            ("1 dimension, but 2 indices", "Its elements have components: `points[i][k]`."),
        ),
        ("out[i] = x[i],", "x[i],", UNSUPPORTED, ("a tuple is no value here", "Leave the comma at its end out.")),
        ("v = [1] * 3\nout[i] = v[0]", "[1]", TypeError, ("a list of 1", "tack.local_array(dtype, n)")),
        ("out[i] = 1 if n == 'fast' else 2", "'fast'", UNSUPPORTED, ("a string", "Let a number stand for it")),
        ("if n is None:\n    out[i] = 1", "n is None", UNSUPPORTED, ("`is`", "never None")),
        ("out[i] = sin(x[i])", "sin(x[i])", UNSUPPORTED, ("NumPy's `sin`", "Write tack.math.sin(...)")),
        ("out[i] = TABLE[i]", "TABLE", NameError, ("'TABLE' is no parameter", "`TABLE = tack.constant(...)`")),
    ],
)
def test_other_mistakes_of_newcomers(body, at, kind, words):
    check(body, at, kind, *words, head="from numpy import sin\nTABLE = (1.0, 2.0)\n" if "sin(" in body or "TABLE" in body else "")


def test_a_vector_type_called_from_python_says_where_it_belongs():
    with pytest.raises(RuntimeError, match=r"tack.vec3\(\) belongs inside a @tack.kernel") as caught:
        tack.vec3(1, 2, 3)
    assert "tack.constant(values, tack.vec3)" in str(caught.value)


# ------------------------------------------------------------------------------------------------------- the one form


def test_the_form_of_messages_is_checked_for_every_test():
    """`conftest` sees to it; this shows that it does."""
    with pytest.raises(AssertionError, match="without a full stop"):
        Diagnostic("it is wrong.").text()
    with pytest.raises(AssertionError, match="with a full stop"):
        Diagnostic("it is wrong", remedy="Write it right").text()
    assert Diagnostic("it is wrong", "k", None, "Write it right.").text() == "Kernel 'k': it is wrong\n  Write it right."
