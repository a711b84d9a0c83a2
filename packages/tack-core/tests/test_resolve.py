"""M1: how many indices an array takes, what becomes of sizes, and the flat index. Row-major order is NumPy's."""

import itertools

import numpy as np
import pytest
from typed_tools import annotated, facts, nodes, operations, template

from tack.ir.nodes import IRConst, IRDimSize, IRLoad, IROp, IRStore
from tack.ir.resolve import check_arrays, dimension, resolve_ir
from tack.ir.types import i64
from tack.testing import kernel_from


def resolved(body, types, **more):
    types = {**types, "n": "i32"}
    call = facts(types)
    return resolve_ir(template(body, list(types), **more), call.params, call.shapes)


def value(node, env):
    """An index expression on Python integers."""
    if isinstance(node, IRConst):
        return node.value
    if isinstance(node, IROp):
        args = [value(arg, env) for arg in node.args]
        return args[0] if node.op == "index" else args[0] + args[1] if node.op == "add" else args[0] * args[1]
    return env[node.name]


@pytest.mark.rule("M1")
@pytest.mark.spec("cache-061")
def test_the_flat_index_is_row_major():
    for rank in range(1, 5):
        names = [f"q{k}" for k in range(rank)]
        commas = "," * (rank - 1)
        func = resolved(f"a[{', '.join(names)}] = 1", {"a": f"f32[{commas}]", **dict.fromkeys(names, "i32")})
        (store,) = nodes(func, IRStore)
        (flat,) = store.index
        shape = (8,) * rank
        for index in itertools.islice(itertools.product(range(8), repeat=rank), 0, None, 7):
            assert value(flat, dict(zip(names, index))) == np.ravel_multi_index(index, shape)
        assert all(isinstance(op, IROp) for op in operations(func, "index")) and len(operations(func, "index")) == rank


@pytest.mark.rule("M1")
def test_index_arithmetic_is_64_bit():
    func = annotated("a[i, q] = 1", {"a": "u8[,]", "q": "u16"})
    assert all(op.type is i64 for op in operations(func, "mul", "add")) and operations(func, "mul")
    assert all(each.type is i64 for store in nodes(func, IRStore) for each in store.index)


@pytest.mark.rule("T10")
def test_sizes_become_literals():
    body = (
        "out[i] = a.shape[0] + 10 * a.shape[-1] + 100 * a.ndim + 1000 * a.size + 10000 * len(a)\nh, w = a.shape\nout[i] = h + w"
    )
    func = resolved(body, {"a": "f32[,]", "out": "i64[]"})
    assert not nodes(func, IRDimSize)
    assert {c.value for c in nodes(func, IRConst) if c.type is i64} == {8, 2, 64}


@pytest.mark.rule("M1")
@pytest.mark.spec("cache-071")
def test_only_the_end_of_the_first_dimension_keeps_its_size():
    text = "for i, j in tack.ndindex(a.shape[0], a.shape[1]):\n        a[i, j] = 1\n"
    k = kernel_from(f"@tack.kernel\ndef k(a, n):\n    m = n * a.shape[0]\n    {text}").template()
    call = facts({"a": "f32[,]", "n": "i32"})
    func = resolve_ir(k, call.params, call.shapes)
    assert [each.dim for each in nodes(func, IRDimSize)] == [0]
    assert func.loop.dims[1].end == IRConst(8, i64)


WRONG = [
    ("out[i] = a[i]", {"a": "f32[,]"}, IndexError, ("'a' has 2 dimensions, but 1 index", "a.ravel()", "a[i, j]"), "a[i]"),
    ("a[i] = 1", {"a": "f32[,,]"}, IndexError, ("'a' has 3 dimensions", "a.ravel()"), None),
    ("out[i] = a[i, 0]", {"a": "f32[]"}, IndexError, ("'a' has 1 dimension, but 2 indices", "a[i]"), "a[i, 0]"),
    ("out[i] = a[i, 0]", {"a": "f32[,,]"}, IndexError, ("'a' has 3 dimensions, but 2 indices", "a[i, j, k]"), "a[i, 0]"),
    ("h, w = a.shape", {"a": "f32[]"}, ValueError, ("unpacked into 2 names, but it has 1 dimension",), None),
    ("out[i] = a.shape[1]", {"a": "f32[]"}, IndexError, ("'a.shape[1]' does not exist", "1 dimension"), None),
    ("out[i] = a.shape[-2]", {"a": "f32[]"}, IndexError, ("'a.shape[-2]' does not exist",), None),
    ("out[i] = a[i]", {"a": "f32"}, TypeError, ("'a' is used as an array, but a number was passed",), "a[i]"),
    ("out[i] = a.shape[0]", {"a": "i32"}, TypeError, ("'a' is used as an array",), None),
    ("out[i] = a + 1", {"a": "f32[]"}, TypeError, ("'a' is an array, but is used as a number", "a[i]"), "a"),
]


@pytest.mark.rule("M1")
@pytest.mark.parametrize(("body", "types", "kind", "words", "at"), WRONG, ids=[f"{w[0]} {w[1]['a']}" for w in WRONG])
def test_arguments_that_do_not_fit_the_text_are_refused(body, types, kind, words, at):
    with pytest.raises(kind) as caught:
        resolved(body, {**types, "out": "f32[]"})
    assert type(caught.value) is kind
    for word in words:
        assert word in str(caught.value)
    span = caught.value.diagnostic.span
    assert span is not None
    if at is not None:
        assert span.source.lines[span.line][span.col : span.end_col] == at


@pytest.mark.rule("M1")
def test_bounds_are_checked_too():
    for loop in ("range(a.shape[1])", "range(a.shape[1], 5)", "tack.ndindex(a.shape[1])"):
        with pytest.raises(IndexError, match="does not exist"):
            resolved("out[i] = 1", {"a": "f32[]", "out": "f32[]"}, loop=loop)
    with pytest.raises(IndexError, match="does not exist"):
        resolved("out[i] = 1", {"a": "f32[]", "out": "f32[]"}, loop="range(m)", before="m = a.shape[1]\n")


@pytest.mark.rule("M1")
def test_the_check_for_new_signatures_needs_no_pass():
    lowered = template("out[i] = a[i]", ["a", "out", "n"])
    good, bad = facts({"a": "f32[]", "out": "f32[]", "n": "i32"}), facts({"a": "f32[,]", "out": "f32[]", "n": "i32"})
    check_arrays(lowered, good.params, good.shapes)
    with pytest.raises(IndexError):
        check_arrays(lowered, bad.params, bad.shapes)


def test_dimensions():
    assert [dimension((2, 3, 4), d) for d in (0, 2, -1, -3, "ndim", "size")] == [2, 4, 4, 2, 3, 24]
    assert dimension((), "size") == 1


def test_what_needs_nothing_stays_the_same_object():
    lowered = template("for q in range(3):\n    t = q + n", ["a", "n"])
    call = facts({"a": "f32[]", "n": "i32"})
    func = resolve_ir(lowered, call.params, call.shapes)
    assert all(new is old for new, old in zip(func.loop.body, lowered.loop.body))
    assert not nodes(func, IRLoad)
