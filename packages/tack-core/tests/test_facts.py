"""What a template's facts are: the sizes a variant bakes in, arrays written, bounds split off, races that are certain."""

import pytest
from typed_tools import compiled, template

from tack.ir.facts import ir_shape_deps, written_array_flags, written_array_params
from tack.ir.nodes import (
    IRAssign,
    IRConst,
    IRDimSize,
    IRFunc,
    IRLoad,
    IRLocal,
    IRName,
    IRParallel,
    IRParam,
    IRRange,
    IRStore,
)
from tack.ir.pipeline import lower_checks
from tack.ir.races import race_pairs
from tack.ir.walk import assigned_names
from tack.testing import define, kernel_from


def kernel(params, lines, **names):
    return kernel_from(f"@tack.kernel\ndef k({params}):\n" + "".join(f"    {line}\n" for line in lines), **names).template()


FUNCS = """
    @tack.func
    def at(v, i):
        return v[i]

    @tack.func
    def last(v, i):
        return v[v.shape[0] - 1 - i]

    @tack.func
    def put(v, i, x):
        v[i] = x

    @tack.func
    def put_deeper(v, i, x):
        put(v, i, x)

    @tack.func
    def put2(v, i, x):
        v[i, 0] = x
"""
NAMES = {k: v for k, v in define(FUNCS).items() if k in ("at", "last", "put", "put_deeper", "put2")}

# ------------------------------------------------------------------------------------------------------ baked-in sizes

SIZES = [
    ("x, out", ["for i in range(x.shape[0]):", "    out[i] = x[i] * 2"], ()),
    ("x, out", ["for i in range(1, x.shape[0] - 1):", "    out[i] = x[i - 1] + x[i + 1]"], ()),
    ("x, out", ["for i in range(out.shape[0]):", "    out[i] = x[x.shape[0] - 1 - i]"], (("x", 0),)),
    ("a, out", ["for i, j in tack.ndindex(a.shape[0], a.shape[1]):", "    out[i, j] = a[i, j]"], (("a", 1), ("out", 1))),
    ("x, out", ["n = x.shape[0]", "for i in range(n):", "    out[i] = x[i]"], ()),
    ("x, out", ["n = x.shape[0]", "m = n * 2", "if m > 8:", "    n = m", "for i in range(n):", "    out[i] = x[i]"], ()),
    ("x, out", ["n = x.shape[0]", "for i in range(n):", "    out[i] = x[n - 1 - i]"], (("x", 0),)),
    ("x, out", ["for i in range(x.shape[0] // 2, x.shape[0]):", "    out[i] = x[i]"], (("x", 0),)),
    ("x, out", ["for i in range(0, out.shape[0], x.shape[0]):", "    out[i] = x[i]"], (("x", 0),)),
    ("x, out", ["for i in range(len(x)):", "    for k in range(x.size):", "        out[i] += x[k]"], (("x", "size"),)),
    ("x, out", ["for i in range(x.size):", "    out[i] = x.ndim"], (("x", "ndim"),)),
    ("x, out", ["for i in range(x.shape[0]):", "    out[i] = at(x, i)"], ()),
    ("x, out", ["for i in range(out.shape[0]):", "    out[i] = last(x, i)"], (("x", 0),)),
    ("x, y, out", ["for i in range(9):", "    out[i] = last(x, i) + last(y, i) + last(x, i)"], (("x", 0), ("y", 0))),
    ("x, out", ["for i in range(9):", "    put2(out, i, 1)"], (("out", 1),)),
    ("x, out", ["h, w, d = x.shape", "for i in range(9):", "    out[i] = x[0, i, 0] + w"], (("x", 1), ("x", 2), ("x", 0))),
]


@pytest.mark.spec("cache-063", "cache-064", "cache-065", "cache-073", "cache-074", "cache-075", "cache-076")
@pytest.mark.parametrize(("params", "lines", "want"), SIZES, ids=[" ".join(lines) for _, lines, _ in SIZES])
def test_baked_in_sizes(params, lines, want):
    assert sorted(map(str, ir_shape_deps(kernel(params, lines, **NAMES)))) == sorted(map(str, want))


def hand(body, prologue=(), params=("x", "out"), locals=(), end=IRConst(8), **more):
    """A template made by hand, without the checks that lowering ends with."""
    loop = IRParallel((IRRange("i", IRConst(0), end, IRConst(1)),), tuple(body))
    return IRFunc("k", tuple(IRParam(p) for p in params), tuple(prologue), loop, tuple(IRLocal(n, n) for n in locals), **more)


@pytest.mark.spec("cache-066", "cache-082")
def test_names_that_copy_an_array_stand_for_it():
    """As an inlined function's parameters may: through any chain, never through two arrays."""
    I = IRName("i")
    body = [IRAssign("v", IRName("x")), IRAssign("w", IRName("v")), IRStore("w", (I, I), IRDimSize("v", 0))]
    func = hand(body, locals=("v", "w"))
    assert set(ir_shape_deps(func)) == {("x", 0), ("x", 1)}
    assert written_array_params(func) == {"x"}
    both = hand([IRAssign("v", IRName("x")), IRAssign("v", IRName("out")), IRStore("v", (I,), I)], locals=("v",))
    assert written_array_params(both) is None


# ------------------------------------------------------------------------------------------------------ arrays written


@pytest.mark.spec("cache-082", "cache-085")
def test_written_arrays():
    func = kernel(
        "x, y, out", ["for i in range(9):", "    out[i] = x[i]", "    if i > 3:", "        put_deeper(y, i, 2)"], **NAMES
    )
    assert written_array_params(func) == {"y", "out"}
    assert written_array_flags(func) == (False, True, True) == func.facts["_written_flags"]
    assert written_array_params(hand([IRAssign("t", IRLoad("x", (IRName("i"),)))], locals=("t",))) == frozenset()


@pytest.mark.spec("cache-084")
def test_a_store_that_cannot_be_traced_writes_every_array():
    func = hand([IRStore("mystery", (IRName("i"),), IRConst(1))])
    assert written_array_params(func) is None
    assert written_array_flags(func) == (True, True)


@pytest.mark.spec("cache-063")
def test_facts_are_derived_once():
    func = kernel("x, out", ["for i in range(9):", "    out[i] = x[x.shape[0] - 1]"])
    assert ir_shape_deps(func) is ir_shape_deps(func) is func.facts["_shape_deps"]


# -------------------------------------------------------------------------------------------------------------- bounds


@pytest.mark.rule("K1")
def test_what_only_the_bounds_need_leaves_the_prologue():
    lines = ["n = x.shape[0]", "m = n + k", "if m > 9:", "    m = 9", "s = x[0]", "for i in range(n, m):", "    out[i] = s + n"]
    func = kernel("x, out, k", lines)
    assert assigned_names(func.bound_prologue) == {"n", "m"}
    assert assigned_names(func.prologue) == {"n", "s"}
    assert lower_checks(func) is func


@pytest.mark.rule("K1")
def test_conditions_loops_and_regions_of_the_prologue_go_whole():
    lines = [
        "n = 1",
        "q = 0",
        "while n < k:",
        "    n = n * 2",
        "    q = q + 1",
        "for j in range(3):",
        "    n = n + j",
        "for i in range(n):",
        "    out[i] = q",
    ]
    func = kernel("out, k", [line for line in lines if not line.startswith(("for j", "    n = n + j"))])
    assert assigned_names(func.bound_prologue) == {"n", "q"} and assigned_names(func.prologue) == {"n", "q"}


@pytest.mark.rule("K1")
def test_dead_statements_of_the_prologue_stay_to_be_checked():
    func = kernel("x, out", ["n = x.shape[0]", "dead = n + x[0]", "float(x[1])", "for i in range(n):", "    out[i] = 1"])
    assert assigned_names(func.prologue) == {"n", "dead"} and len(func.prologue) == 3


@pytest.mark.rule("K1")
@pytest.mark.parametrize(
    "lines",
    [
        ["for i in range(x[0]):", "    out[i] = 1"],
        ["for i in range(x[0], 9):", "    out[i] = 1"],
        ["n = x[0] + 1", "m = n", "for i in range(m):", "    out[i] = 1"],
        ["n = 3", "if x[0] > 1:", "    n = 4", "for i in range(n):", "    out[i] = 1"],
        ["n = at(x, 0)", "for i in range(n):", "    out[i] = 1"],
    ],
    ids=" ".join,
)
def test_an_array_element_in_a_bound_is_refused(lines):
    with pytest.raises(TypeError) as caught:
        kernel("x, out", lines, **NAMES)
    assert "an element of 'x' decides a bound" in str(caught.value) and "Pass it as an argument" in str(caught.value)


@pytest.mark.rule("K1")
def test_a_size_that_bounds_alone_use_is_read_at_each_launch():
    func = compiled("out[i] = x[i]", {"x": "f32[]", "out": "f32[]"}, loop="range(m)", before="m = min(x.shape[0], n)\n")
    assert assigned_names(func.bound_prologue) == {"m"} and not func.prologue
    assert func.loop.dims[0].end == IRName("m", func.locals[0].type)


# --------------------------------------------------------------------------------------------------------------- races

CERTAIN = [
    ("x[i] = x[i + 1]", "range(n)", 1),
    ("x[i] = x[i - 2]", "range(n)", -2),
    ("x[i] = x[1 + i]", "range(n)", 1),
    ("x[i] += x[i - 1]", "range(n)", -1),
    ("x[i] = x[i + 4]", "range(0, n, 2)", 4),
    ("x[i] = x[i - 3]", "range(n, 0, -3)", -3),
    ("t = i + 1\nx[i] = x[t]", "range(n)", 1),
    ("for q in range(3):\n    x[i] = x[i + 1]", "range(n)", 1),
    ("if n > 3:\n    x[i] = 1\nt = x[i + 1]", "range(n)", 1),
    ("t = x[i + 1] if n > 2 else 0\nx[i] = t", "range(n)", 1),
    ("x[i] = 1\nif x[i + 1] > 2:\n    y[i] = 1", "range(n)", 1),
    ("x[i, 2] = x[i + 1, 2]", "range(n)", 1),
    ("x[i] = x[i + 1 + 1]", "range(n)", 2),
    ("for q in range(n):\n    if q > 2:\n        break\nx[i] = x[i + 1]", "range(n)", 1),
]
NONE = [
    ("x[i] = x[i]", "range(n)"),
    ("y[i] = x[i + 1]", "range(n)"),
    ("x[i] = x[i + n]", "range(n)"),
    ("x[i + 1] = x[i + 1]", "range(n)"),
    ("x[i] = x[i + 1]", "range(0, n, 2)"),
    ("x[i] = x[i + 1]", "range(0, n, n)"),
    ("if i > 3:\n    x[i] = x[i + 1]", "range(n)"),
    ("x[i] = 1\nif i > 3:\n    y[i] = x[i + 1]", "range(n)"),
    ("t = i > 3\nif t:\n    x[i] = x[i + 1]", "range(n)"),
    ("if y[i] > 3:\n    x[i] = x[i + 1]", "range(n)"),
    ("x[i] = x[i + 1] if i > 2 else 0", "range(n)"),
    ("t = i > 2 and x[i + 1] > 0\nx[i] = t", "range(n)"),
    ("if i > 3:\n    continue\nx[i] = x[i + 1]", "range(n)"),
    ("for q in range(i):\n    x[i] = x[i + 1]", "range(n)"),
    ("x[i] = x[i + 1]", "range(1)"),
    ("x[i] = x[i + 8]", "range(8)"),
    ("x[i, 2] = x[i + 1, 3]", "range(n)"),
    ("x[i, n] = x[i + 1, n]", "range(n)"),
    ("x[2 * i] = x[2 * i + 1]", "range(n)"),
    ("t = 0\nif i > 3:\n    t = 1\nif t:\n    x[i] = x[i + 1]", "range(n)"),
    ("for q in range(n):\n    if i > 2:\n        break\n    x[i] = x[i + 1]", "range(n)"),
]


@pytest.mark.rule("E6")
@pytest.mark.parametrize(("body", "loop", "offset"), CERTAIN, ids=[f"{c[0]} {c[1]}" for c in CERTAIN])
def test_certain_races(body, loop, offset):
    (pair,) = race_pairs(template(body, ["x", "y", "n"], loop=loop))
    assert (pair.array, pair.var, pair.offset) == ("x", "i", offset)
    assert pair.store is not None and pair.load is not None


@pytest.mark.rule("E6")
@pytest.mark.parametrize(("body", "loop"), NONE, ids=[f"{c[0]} {c[1]}" for c in NONE])
def test_no_certain_race(body, loop):
    assert race_pairs(template(body, ["x", "y", "n"], loop=loop)) == ()


@pytest.mark.rule("E6")
def test_an_offset_in_any_one_dimension_of_ndindex():
    head = "for i, j in tack.ndindex(n, n):"
    assert [p.var for p in race_pairs(kernel("x, n", [head, "    x[i, j] = x[i, j - 1]"]))] == ["j"]
    assert [p.var for p in race_pairs(kernel("x, n", [head, "    x[i, j] = x[i + 2, j]"]))] == ["i"]
    assert race_pairs(kernel("x, n", [head, "    x[i, j] = x[i + 1, j + 1]"])) == ()
    assert race_pairs(kernel("x, n", [head, "    x[i, j] = x[j, i]"])) == ()
    two = kernel("x, y, n", [head, "    x[i, j] = x[i, j + 1] + x[i, j + 2]", "    y[j, i] = y[j + 1, i]"])
    assert [(p.array, p.offset) for p in race_pairs(two)] == [("x", 1), ("y", 1)]
