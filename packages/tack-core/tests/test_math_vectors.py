"""`tack.math` on vectors: the helpers act per component, and those that only vectors have agree with NumPy's formulas."""

import numpy as np
import pytest
from rule_tools import kernel as make
from rule_tools import of, run, value

import tack

FLOATS = [np.float32, np.float64]
VECTORS = {np.float32: "tack.vec3", np.float64: "tack.dvec3", np.int32: "tack.ivec3", np.uint32: "tack.uvec3"}


def triples(dtype, seed=5, rows=20):
    """Rows of three numbers between -2 and 3, some of them 0 and 1."""
    table = np.random.default_rng(seed).uniform(-2, 3, (rows, 3))
    table[0], table[1] = 0, 1
    return table.astype(dtype)


def vectors(text, dtype, *tables):
    """What `text` gives for the vectors a, b ... in the rows of the tables: three numbers for each row."""
    names = "abc"[: len(tables)]
    columns = [np.ascontiguousarray(column) for table in tables for column in table.T]
    body = "".join(f"{n} = {VECTORS[dtype]}({n}0[i], {n}1[i], {n}2[i])\n" for n in names)
    body += f"r = {text}\nx[i], y[i], z[i] = r.x, r.y, r.z"
    params = ", ".join(f"{n}{k}" for n in names for k in range(3))
    results = [np.zeros(len(tables[0]), dtype) for _ in range(3)]
    return np.stack(run(make(body, f"{params}, x, y, z", "range(x.shape[0])"), *columns, *results)[-3:], axis=1)


def numbers(text, dtype, *tables):
    """The same where `text` gives a number."""
    return vectors(f"{VECTORS[dtype]}({text})", dtype, *tables)[:, 0]


COMPONENTWISE = [
    ("clamp({a}, -0.5, 1.25)", 1),
    ("clamp({a}, {b}, {c})", 3),
    ("saturate({a})", 1),
    ("mix({a}, {b}, 0.3)", 2),
    ("mix({a}, {b}, {c})", 3),
    ("step(0.5, {a})", 1),
    ("step({a}, {b})", 2),
    ("smoothstep(-1.0, 2.0, {a})", 1),
    ("smoothstep({a}, {b}, {c})", 3),
    ("fract({a})", 1),
    ("sign({a})", 1),
    ("degrees({a})", 1),
    ("radians({a})", 1),
    ("sqrt(abs({a}))", 1),
]


@pytest.mark.rule("V1", "T10")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("text", "count"), COMPONENTWISE, ids=[text for text, _ in COMPONENTWISE])
def test_helpers_act_on_each_component(text, count, dtype):
    """As on numbers, bit for bit; numbers beside vectors are for every component."""
    tables = [triples(dtype, seed) for seed in range(count)]
    got = vectors("tack.math." + text.format(a="a", b="b", c="c").replace("sqrt(abs", "sqrt(tack.math.abs"), dtype, *tables)
    scalar = "tack.math." + text.format(a="a[i]", b="b[i]", c="c[i]").replace("sqrt(abs", "sqrt(tack.math.abs")
    for k in range(3):
        want = value(scalar, *(np.ascontiguousarray(table[:, k]) for table in tables), dtype=dtype)
        np.testing.assert_array_equal(got[:, k], np.array(want, dtype))


@pytest.mark.rule("V1")
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_helpers_keep_integer_vectors(dtype):
    table = triples(np.int32).astype(dtype)
    np.testing.assert_array_equal(vectors("tack.math.sign(a)", dtype, table), np.sign(table))
    np.testing.assert_array_equal(vectors("tack.math.clamp(a, 0, 1)", dtype, table), np.clip(table, 0, 1))
    np.testing.assert_array_equal(numbers("tack.math.dot(a, a)", dtype, table), (table * table).sum(1, dtype=dtype))


@pytest.mark.rule("V1")
@pytest.mark.parametrize("dtype", FLOATS)
def test_products_and_lengths(dtype):
    a, b = triples(dtype, 1), triples(dtype, 2)
    close = {"rtol": 8 * np.finfo(dtype).eps, "atol": 16 * np.finfo(dtype).eps}
    x, y = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_allclose(numbers("tack.math.dot(a, b)", dtype, a, b), (x * y).sum(1), **close)
    np.testing.assert_allclose(vectors("tack.math.cross(a, b)", dtype, a, b), np.cross(x, y), **close)
    np.testing.assert_allclose(numbers("tack.math.length(a)", dtype, a), np.linalg.norm(x, axis=1), **close)
    np.testing.assert_allclose(numbers("tack.math.distance(a, b)", dtype, a, b), np.linalg.norm(x - y, axis=1), **close)
    unit = x[1:] / np.linalg.norm(x[1:], axis=1, keepdims=True)
    np.testing.assert_allclose(vectors("tack.math.normalize(a)", dtype, a[1:]), unit, **close)


@pytest.mark.rule("V1")
@pytest.mark.parametrize("dtype", FLOATS)
def test_reflect_mirrors_at_the_surface(dtype):
    a, n = triples(dtype, 3), triples(np.float64, 4)[1:]
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    a, n = a[1:], n.astype(dtype)
    x, m = a.astype(np.float64), n.astype(np.float64)
    want = x - 2 * (m * x).sum(1, keepdims=True) * m
    np.testing.assert_allclose(vectors("tack.math.reflect(a, b)", dtype, a, n), want, rtol=0, atol=32 * np.finfo(dtype).eps)
    down, up = of(dtype, 1, -1, 0).reshape(1, 3), of(dtype, 0, 1, 0).reshape(1, 3)
    np.testing.assert_array_equal(vectors("tack.math.reflect(a, b)", dtype, down, up), [[1, 1, 0]])


@pytest.mark.rule("V1")
@pytest.mark.parametrize("dtype", FLOATS)
def test_edge_cases_of_the_docstrings(dtype):
    zero = np.zeros((1, 3), dtype)
    assert np.isnan(vectors("tack.math.normalize(a)", dtype, zero)).all()
    assert numbers("tack.math.length(a)", dtype, zero)[0] == 0
    assert np.isinf(numbers("tack.math.length(a)", dtype, zero + np.finfo(dtype).max))[0]
    assert value("tack.math.cross(tack.vec2(a[i], 3.0), tack.vec2(5.0, 7.0))", of(np.float32, 2), dtype=np.float32) == [-1]


@pytest.mark.rule("V1")
def test_vectors_of_two_and_four_components():
    text = "tack.math.length(tack.vec2(a[i], 4.0)) + tack.math.distance(tack.vec4(a[i]), tack.vec4(a[i] + 1.0))"
    assert value(text, of(np.float32, 3), dtype=np.float32) == [7]


@pytest.mark.rule("V1")
def test_numbers_have_no_length():
    with pytest.raises((TypeError, tack.UnsupportedSyntaxError), match="norm"):
        value("tack.math.length(a[i])", of(np.float32, 3), dtype=np.float32)
