"""Matrices in kernels (V1): made of rows, `@`, methods, components by two indices. Expected values from NumPy."""

import numpy as np
import pytest
from rule_tools import kernel, refuses
from vector_tools import VECTORS, array, chain, fma, run, value

import tack

RNG = np.random.default_rng(5)
M3 = RNG.integers(-8, 9, (4, 3, 3)).astype(np.float32) / 2
N3 = RNG.integers(-8, 9, (4, 3, 3)).astype(np.float32) / 4
SKEW = RNG.normal(size=(4, 3, 3)).astype(np.float32)
WIDE = RNG.integers(-8, 9, (4, 2, 3)).astype(np.float32) / 2
A, B, S = (array(each, tack.mat3) for each in (M3, N3, SKEW))
W, V = array(WIDE, tack.mat(2, 3)), array(VECTORS, tack.vec3)
NAMES = {name: getattr(tack, name) for name in ("vec2", "vec3", "mat2", "mat3")}
f32 = np.float32


def check(text, expected, *args, dtype=None):
    out = tack.zeros(4, dtype) if dtype else None
    np.testing.assert_array_equal(value(text, *args, out=out, **NAMES), expected)


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    "text",
    [
        "mat2([1.0, 2.0], [3.0, i])",
        "mat2([[1.0, 2.0], [3.0, i]])",
        "mat2(vec2(1.0, 2.0), vec2(3.0, i))",
        "[[1, 2], [3, i]]",
        "[vec2(1.0, 2.0), vec2(3.0, i)]",
        "mat2([[1, 2], [3, i]])",
        "tack.mat(2, 2, tack.f64)([1, 2], [3, i])",
        "tack.mat(2, 2)([1, 2], [3, i])",
        "ROWS + [[0, 0], [0, i]]",
    ],
)
def test_rows_come_first(text) -> None:
    expected = np.array([[[1, 2], [3, i]] for i in range(4)], f32)
    found = value(text, out=tack.zeros(4, tack.mat2), ROWS=tack.constant([[1, 2], [3, 0]]), **NAMES)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.rule("V1")
def test_the_types_of_matrices() -> None:
    assert tack.mat3 is tack.mat(3, 3) and tack.mat2.dtype is tack.f32 and (tack.mat4.rows, tack.mat4.cols) == (4, 4)
    assert str(tack.mat(2, 3, np.float64)) == "tack.mat(2, 3, tack.f64)" and str(tack.mat3) == "tack.mat3"
    for wrong in ((1, 2), (2, 5), (0, 0)):
        with pytest.raises(ValueError, match="2 to 4 rows and columns"):
            tack.mat(*wrong)
    with pytest.raises(TypeError, match="is no scalar dtype"):
        tack.mat(2, 2, tack.vec2)


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] + b[i]", lambda: M3 + N3),
        ("a[i] * b[i]", lambda: M3 * N3),
        ("a[i] * 2.0 - b[i]", lambda: fma(M3, f32(2), -N3)),
        ("-a[i]", lambda: -M3),
        ("abs(a[i])", lambda: np.abs(M3)),
        ("max(a[i], b[i])", lambda: np.maximum(M3, N3)),
        ("tack.select(a[i] < 0.0, 0.0, a[i])", lambda: np.maximum(M3, 0)),
        ("a[i] if i < 2 else b[i]", lambda: np.where(np.arange(4)[:, None, None] < 2, M3, N3)),
        ("a[i].transpose()", lambda: M3.transpose(0, 2, 1)),
        ("mat3(tack.i32(a[i]))", lambda: np.trunc(M3)),
    ],
)
def test_operations_act_per_component(text, expected) -> None:
    check(text, expected(), A, B, dtype=tack.mat3)


@pytest.mark.rule("V1", "E5")
def test_products_are_fma_chains_in_index_order() -> None:
    """Of rows and columns; small values are exact, so that NumPy's order of adding does not matter there."""
    check("a[i] @ b[i]", M3 @ N3, A, B, dtype=tack.mat3)
    check("a[i] @ b[i]", chain(SKEW[:, :, None, :], N3.transpose(0, 2, 1)[:, None, :, :]), S, B, dtype=tack.mat3)
    check("a[i] @ b[i]", chain(SKEW, VECTORS[:, None, :]), S, V, dtype=tack.vec3)
    check("a[i] @ b[i]", chain(VECTORS[:, None, :], SKEW.transpose(0, 2, 1)), V, S, dtype=tack.vec3)
    check("a[i] @ b[i]", chain(WIDE, VECTORS[:, None, :]), W, V, dtype=tack.vec2)
    check("a[i] @ b[i]", WIDE @ M3, W, A, dtype=tack.mat(2, 3))
    check("a[i] @ a[i].transpose()", WIDE @ WIDE.transpose(0, 2, 1), W, dtype=tack.mat2)
    check("v = b[i]\nv = a[i] @ v\nout[i] = v", chain(SKEW, VECTORS[:, None, :]), S, V, dtype=tack.vec3)
    check("(a[i] @ b[i]) @ a[i]", M3 @ N3 @ M3, A, B, dtype=tack.mat3)


@pytest.mark.rule("V1", "E5")
def test_determinants_follow_the_first_row() -> None:
    def two(m):
        return fma(m[..., 0, 1], -m[..., 1, 0], m[..., 0, 0] * m[..., 1, 1])

    def minor(m, k):
        return m[..., 1:, [c for c in range(m.shape[-1]) if c != k]]

    expected = fma(
        SKEW[:, 0, 2], two(minor(SKEW, 2)), fma(SKEW[:, 0, 1], -two(minor(SKEW, 1)), SKEW[:, 0, 0] * two(minor(SKEW, 0)))
    )
    check("a[i].determinant()", expected, S)
    check("a[i].determinant()", np.linalg.det(M3.astype(float)).round(3), A)
    check("mat2([a[i][0, 0], a[i][0, 1]], [a[i][1, 0], a[i][1, 1]]).determinant()", two(SKEW[:, :2, :2]), S)
    four = RNG.integers(-3, 4, (4, 4, 4)).astype(f32)
    check("a[i].determinant()", np.linalg.det(four.astype(float)).round(), array(four, tack.mat4))


@pytest.mark.rule("V1")
def test_inverses() -> None:
    identity = value("a[i].inverse() @ a[i]", S, out=tack.zeros(4, tack.mat3))
    np.testing.assert_allclose(identity, np.tile(np.eye(3), (4, 1, 1)), atol=2e-5)
    four = np.eye(4) * 4 + RNG.integers(-1, 2, (4, 4, 4))
    found = value("a[i].inverse()", array(four, tack.mat(4, 4, tack.f64)), out=tack.zeros(4, tack.mat(4, 4, tack.f64)))
    np.testing.assert_allclose(found, np.linalg.inv(four), rtol=1e-13, atol=1e-15)
    two = array([[[2, 1], [4, 4]]], tack.mat(2, 2, tack.i32))
    np.testing.assert_array_equal(value("a[i].inverse()", two, out=tack.zeros(1, tack.mat2)), [[[1, -0.25], [-1, 0.5]]])
    singular = array([[[1, 2], [2, 4]]], tack.mat2)
    assert not np.isfinite(value("a[i].inverse()", singular, out=tack.zeros(1, tack.mat2))).any()


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i].trace()", lambda: M3[:, 0, 0] + M3[:, 1, 1] + M3[:, 2, 2]),
        ("a[i].sum()", lambda: M3.sum((1, 2))),
        ("a[i].min()", lambda: M3.min((1, 2))),
        ("a[i].max()", lambda: M3.max((1, 2))),
        ("a[i].norm_sqr()", lambda: (M3 * M3).sum((1, 2))),
        ("a[i][1, 2]", lambda: M3[:, 1, 2]),
        ("a[i][i % 3, 2]", lambda: M3[np.arange(4), np.arange(4) % 3, 2]),
        ("a[i][0, i % 3]", lambda: M3[np.arange(4), 0, np.arange(4) % 3]),
        ("a[i][i % 3, (i + 1) % 3]", lambda: M3[np.arange(4), np.arange(4) % 3, (np.arange(4) + 1) % 3]),
        ("m = a[i]\nout[i] = m[tack.ivec2(2, 1)]", lambda: M3[:, 2, 1]),
        ("1 if any(a[i] > 3.5) else 0", lambda: (M3 > 3.5).any((1, 2))),
    ],
)
def test_numbers_of_matrices(text, expected) -> None:
    check(text, expected(), A)


@pytest.mark.rule("V1", "E2")
@pytest.mark.parametrize(
    ("text", "store"),
    [
        ("m[1, 2] = 9.0", lambda m, i: m.__setitem__((1, 2), 9)),
        ("m[i % 3, 0] = 9.0", lambda m, i: m.__setitem__((i % 3, 0), 9)),
        ("m[2, 2] += m[0, 0]", lambda m, i: m.__setitem__((2, 2), m[2, 2] + m[0, 0])),
        ("m[0, 1], m[1, 0] = m[1, 0], m[0, 1]", lambda m, i: m.__setitem__(([0, 1], [1, 0]), m[[1, 0], [0, 1]])),
        ("m = m.transpose()", lambda m, i: m.__setitem__(slice(3), m.T.copy())),
    ],
)  # fmt: skip
def test_components_of_locals_are_stored(text, store) -> None:
    expected = M3.copy()
    for i, m in enumerate(expected):
        store(m, i)
    check(f"m = a[i]\n{text}\nout[i] = m", expected, A, dtype=tack.mat3)
    # The same of the elements of an array.
    elements = text.replace("m[", "out[i][").replace("m.", "out[i].").replace("m =", "out[i] =")
    check(f"out[i] = a[i]\n{elements}", expected, A, dtype=tack.mat3)


@pytest.mark.rule("V1")
def test_rotations() -> None:
    """A program that people write: points turned about an axis given as a matrix, in place."""
    text = """
        c, s = cos(angle), sin(angle)
        turn = mat3([c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0])
        p[i] = turn @ p[i]
    """
    k = kernel(text, "p, angle", "range(p.shape[0])", **NAMES)
    (found,) = run(k, V, 0.5)
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(found, VECTORS @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T, rtol=1e-5)


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("kind", "text", "at", "words"),
    [
        (TypeError, "t = a[i] @ 2.0", "a[i] @ 2.0", ("`@` of a number", "Write `*`")),
        (TypeError, "t = a[i] @ w[i]", "a[i] @ w[i]", ("`@` of a 3x3 matrix and a 2x3 matrix",)),
        (TypeError, "t = a[i] @ vec2(1.0)", "a[i] @ vec2(1.0)", ("`@` of a 3x3 matrix and a vector of 2",)),
        (TypeError, "t = w[i].determinant()", "w[i].determinant()", ("determinant() of a 2x3 matrix",)),
        (TypeError, "t = w[i].trace()", "w[i].trace()", ("trace() of a 2x3 matrix",)),
        (TypeError, "t = a[i].transpose(1)", "a[i].transpose(1)", ("no arguments",)),
        (TypeError, "t = mat2(1.0, 2.0, 3.0, 4.0)", "mat2(1.0, 2.0, 3.0, 4.0)", ("takes 2 rows of 2", "tack.mat2([...], [...])")),
        (TypeError, "t = mat2(1.0)", "mat2(1.0)", ("takes 2 rows of 2 components",)),
        (TypeError, "t = mat2([1.0, 2.0])", "mat2([1.0, 2.0])", ("takes 2 rows",)),
        (TypeError, "t = [[1, 2], [3, 4, 5]]", "[[1, 2], [3, 4, 5]]", ("a list of a vector of 2, a vector of 3",)),
        (TypeError, "t = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]", "[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]", ("2 to 4 rows",)),
        (IndexError, "t = a[i][3, 0]", "a[i][3, 0]", ("index 3 is outside a 3x3 matrix",)),
        (IndexError, "t = a[i][0, -1]", "a[i][0, -1]", ("index -1",)),
        (IndexError, "m = a[i]\nm[0] = 1.0", "m[0]", ("takes two indices",)),
        (TypeError, "out[i] = w[i]", "out[i]", ("a 2x3 matrix cannot be stored into 'out'", "a 3x3 matrix")),
        (TypeError, "if a[i] == a[i]:\n    pass", "a[i] == a[i]", ("a 3x3 matrix as a condition",)),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_their_place(kind, text, at, words) -> None:
    k = kernel(text, "a, w, out", **NAMES)
    refuses(kind, lambda: k(A, W, A.copy()), "'k'", *words, at=at)
