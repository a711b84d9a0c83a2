"""Vectors in kernels (V1, V2): made, computed per component, compared, their methods and components. The oracle is NumPy."""

import numpy as np
import pytest
from rule_tools import functions, kernel, refuses
from vector_tools import OTHERS, VECTORS, array, chain, fma, run, value

import tack

A, B = array(VECTORS, tack.vec3), array(OTHERS, tack.vec3)
INTS = np.array([[7, -3, 2], [0, 5, -9], [100, 2, 3], [-8, 6, 1]], np.int32)
I3 = array(INTS, tack.ivec3)
f32 = np.float32


def three():
    return tack.zeros(4, tack.vec3)


def four(dtype):
    return tack.zeros(4, dtype)


def rows(*columns):
    return np.stack([np.broadcast_to(np.asarray(c, f32), 4) for c in columns], 1)


# ----------------------------------------------------------------------------------------------------- constructors


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vec3(1.0, i, 2)", lambda: rows(1, [0, 1, 2, 3], 2)),
        ("vec3(0.5)", lambda: rows(0.5, 0.5, 0.5)),
        ("vec3(i)", lambda: rows(*[np.arange(4)] * 3)),
        ("vec3(a[i].x * a[i].x)", lambda: rows(*[VECTORS[:, 0] ** 2] * 3)),
        ("vec3(a[i])", lambda: VECTORS),
        ("vec3(vec2(1.0, i), 7.0)", lambda: rows(1, [0, 1, 2, 3], 7)),
        ("vec3(7.0, a[i].xy)", lambda: rows(7, VECTORS[:, 0], VECTORS[:, 1])),
        ("tack.vec(3)(1.0, 2.0, 3.0)", lambda: rows(1, 2, 3)),
        ("tack.vec(N, tack.i16)(70000, -1.9, i)", lambda: rows(4464, -1, [0, 1, 2, 3])),
        ("tack.vec(3, np.float64)(0.1, 1, i)", lambda: rows(0.1, 1, [0, 1, 2, 3])),
        ("tack.vec(3, dtype=tack.u8)(257, -1, i)", lambda: rows(1, 255, [0, 1, 2, 3])),
        ("V(0.1, 1.0, i)", lambda: rows(0.1, 1, [0, 1, 2, 3])),
        ("tack.ivec3(a[i])", lambda: np.trunc(VECTORS)),
        ("[1.0, i, 2.5]", lambda: rows(1, [0, 1, 2, 3], 2.5)),
        ("[1, 2, 3]", lambda: rows(1, 2, 3)),
        ("vec3([a[i].x, 0, i])", lambda: rows(VECTORS[:, 0], 0, [0, 1, 2, 3])),
        ("UP", lambda: rows(0, 0, 1)),
        ("UP * a[i]", lambda: VECTORS * f32([0, 0, 1])),
    ],
)
def test_constructors(text, expected) -> None:
    names = {"N": tack.constant(3), "V": tack.vec(3, tack.f64), "UP": tack.constant((0, 0, 1), tack.vec3), "np": np}
    for short in ("vec2", "vec3"):
        names[short] = getattr(tack, short)
    np.testing.assert_array_equal(value(text, A, out=three(), **names), expected())


@pytest.mark.rule("V1")
def test_constructors_of_all_short_names() -> None:
    for prefix, dtype in {"": np.float32, "d": np.float64, "i": np.int32, "u": np.uint32}.items():
        for n in (2, 3, 4):
            t = getattr(tack, f"{prefix}vec{n}")
            assert t is tack.vec(n, dtype) and t.dtype.numpy == dtype and str(t) == f"tack.{prefix}vec{n}"
            found = value(f"tack.{prefix}vec{n}({', '.join(map(str, range(n)))}) + i", out=tack.zeros(2, t))
            assert found.dtype == dtype and found.tolist() == [list(range(n)), list(range(1, n + 1))]
    with pytest.raises(RuntimeError, match=r"tack\.vec3\(\) belongs inside a @tack\.kernel"):
        tack.vec3(1, 2, 3)


@pytest.mark.rule("V1", "T2")
def test_a_list_takes_the_join_of_its_components() -> None:
    """As a local that is assigned each of them would."""
    u8 = tack.array(np.array([200], np.uint8))
    assert value("[a[i], 100].y + a[i]", u8, out=tack.zeros(1, tack.i64))[0] == 300
    assert value("([a[i], 1] * [a[i], 2]).x", u8, out=tack.zeros(1, tack.i64))[0] == 40000  # i32 beside an integer literal
    assert value("([i, 0.25] + [1, 1]).x / 2", out=tack.zeros(2, tack.f64)).tolist() == [0.5, 1.0]
    found = value("v = [0, 0]\nv.x = 0.5\nv.y += 1\nout[i] = v / 2", out=tack.zeros(1, tack.vec2))
    assert found.tolist() == [[0.25, 0.5]]  # what one component is given, all of the vector count with


@pytest.mark.rule("V1", "T8", "T2b")
def test_lists_of_literals_stay_weak() -> None:
    x = tack.array(np.array([1.0 / 3, 2.5]))
    found = value("a[i] * [0.1, 0.2, 0.7]", x, out=tack.zeros(2, tack.dvec3))
    np.testing.assert_array_equal(found, x.numpy()[:, None] * np.array([0.1, 0.2, 0.7]))
    bytes_ = tack.array(np.array([200, 7], np.uint8))
    found = value("a[i] * [2, 3]", bytes_, out=tack.zeros(2, tack.vec(2, tack.i64)))
    np.testing.assert_array_equal(found, bytes_.numpy()[:, None] * np.array([2, 3], np.uint8))
    wide = tack.array(np.array([1], np.uint64))
    assert value("a[i] + [1, 18446744073709551614]", wide, out=tack.zeros(1, tack.vec(2, tack.u64))).tolist() == [[2, 2**64 - 1]]


@pytest.mark.rule("V1", "N1")
def test_constants_hold_vectors() -> None:
    weak = tack.constant([0.1, 0.2, 0.3])
    typed = tack.constant(np.arange(3), tack.f32)
    x = tack.array(np.array([2.0, 3.0]))
    found = value("a[i] * weak + typed", x, out=tack.zeros(2, tack.dvec3), weak=weak, typed=typed)
    expected = np.array(
        [[float(f) for f in row] for row in fma_64(x.numpy()[:, None], np.array([0.1, 0.2, 0.3]), np.arange(3.0))]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    text = "out[i] = vec2(COLORS.y, COLORS[i]) + COLORS.zx.x"
    found = value(text, out=tack.zeros(2, tack.vec2), COLORS=tack.constant([1, 2, 3]), vec2=tack.vec2)
    assert found.tolist() == [[5, 4], [5, 5]]
    assert value("WEIGHTS.dot([1.0, 2.0])", WEIGHTS=tack.constant((3.0, 4.0))).tolist() == [11.0]
    with pytest.raises(TypeError, match="is no vector or matrix"):
        tack.constant([[1, 2], [3]])


def fma_64(x, y, z):
    return x * y + z


# ---------------------------------------------------------------------------------------------- arithmetic, E5 and T


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] + b[i]", lambda: VECTORS + OTHERS),
        ("a[i] - 2.0", lambda: VECTORS - f32(2)),
        ("2.0 - a[i]", lambda: f32(2) - VECTORS),
        ("a[i] * b[i]", lambda: VECTORS * OTHERS),
        ("a[i] / b[i]", lambda: VECTORS / OTHERS),
        ("a[i] // b[i]", lambda: VECTORS // OTHERS),
        ("a[i] % b[i]", lambda: np.remainder(VECTORS, OTHERS)),
        ("a[i] ** 2", lambda: VECTORS * VECTORS),
        ("-a[i]", lambda: -VECTORS),
        ("+a[i]", lambda: VECTORS),
        ("a[i] * i", lambda: VECTORS * np.arange(4, dtype=f32)[:, None]),
        ("abs(a[i])", lambda: np.abs(VECTORS)),
        ("min(a[i], b[i])", lambda: np.minimum(VECTORS, OTHERS)),
        ("max(a[i], 0.0, b[i])", lambda: np.maximum(np.maximum(VECTORS, 0), OTHERS)),
        ("sqrt(abs(a[i]))", lambda: np.sqrt(np.abs(VECTORS))),
        ("floor(a[i])", lambda: np.floor(VECTORS)),
        ("math.copysign(a[i], -1.0)", lambda: -np.abs(VECTORS)),
        ("round(a[i])", lambda: np.rint(VECTORS)),
        ("int(a[i])", lambda: np.trunc(VECTORS)),
        ("float(int(b[i]))", lambda: np.trunc(OTHERS)),
        ("tack.u8(a[i])", lambda: np.clip(np.trunc(VECTORS), 0, 255)),
        ("tack.fma(a[i], 2.0, b[i])", lambda: fma(VECTORS, f32(2), OTHERS)),
        ("tack.bitcast(tack.f32, tack.bitcast(tack.u32, a[i]) ^ 0x80000000)", lambda: -VECTORS),
        ("popcount(tack.ivec3(abs(a[i])))", lambda: np.bitwise_count(np.abs(VECTORS).astype(np.int32))),
        ("a[i] if i % 2 == 0 else b[i]", lambda: np.where(np.arange(4)[:, None] % 2 == 0, VECTORS, OTHERS)),
        ("a[i] if i > 1 else 0.5", lambda: np.where(np.arange(4)[:, None] > 1, VECTORS, f32(0.5))),
        ("0 if i > 1 else a[i] + 1", lambda: np.where(np.arange(4)[:, None] > 1, f32(0), VECTORS + f32(1))),
    ],
)
def test_operations_act_per_component(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, out=three()), expected())


@pytest.mark.rule("V1", "T4")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] & 3", lambda: INTS & 3),
        ("a[i] | 64", lambda: INTS | 64),
        ("a[i] ^ a[i].zyx", lambda: INTS ^ INTS[:, ::-1]),
        ("~a[i]", lambda: ~INTS),
        ("a[i] << 2", lambda: INTS << 2),
        ("a[i] >> [0, 1, 2]", lambda: INTS >> np.array([0, 1, 2])),
        ("a[i] // 2", lambda: INTS // 2),
        ("a[i] % -3", lambda: INTS % -3),
        ("a[i] * 1000000000", lambda: (INTS.astype(np.int64) * 10**9).astype(np.int32)),
        ("a[i] ** 3", lambda: INTS**3),
    ],
)
def test_operations_on_integers(text, expected) -> None:
    np.testing.assert_array_equal(value(text, I3, out=four(tack.ivec3)), expected())


@pytest.mark.rule("V1", "T6", "T11")
def test_integers_divide_and_have_norms_as_floats() -> None:
    np.testing.assert_array_equal(value("a[i] / 3", I3, out=three()), INTS.astype(f32) / f32(3))
    np.testing.assert_array_equal(value("a[i].dot(a[i])", I3, out=four(tack.i32)), (INTS * INTS).sum(1))
    np.testing.assert_array_equal(value("a[i].norm_sqr() // 2", I3, out=four(tack.i32)), (INTS * INTS).sum(1) // 2)
    np.testing.assert_array_equal(value("a[i].norm()", I3), np.sqrt((INTS * INTS).sum(1).astype(f32)))


@pytest.mark.rule("V1", "E5")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] * b[i] + 1.5", lambda: fma(VECTORS, OTHERS, f32(1.5))),
        ("a[i] - b[i] * 3.0", lambda: fma(-OTHERS, f32(3), VECTORS)),
        ("a[i].x * a[i].y + b[i]", lambda: fma(VECTORS[:, :1], VECTORS[:, 1:2], OTHERS)),
        ("-(a[i].x * 0.1) + b[i]", lambda: fma(-VECTORS[:, :1], f32(0.1), OTHERS)),
        ("sqrt(abs(a[i].x)) * 0.1 + b[i]", lambda: fma(np.sqrt(np.abs(VECTORS[:, :1])), f32(0.1), OTHERS)),
        ("a[i] * b[i] - b[i] * a[i]", lambda: np.zeros((4, 3), f32)),
        ("vec3(a[i].x * 0.1) + b[i]", lambda: VECTORS[:, :1] * f32(0.1) + OTHERS),
        ("p = a[i] * 0.1\nout[i] = p + b[i]", lambda: VECTORS * f32(0.1) + OTHERS),
        ("vec3((a[i] * 0.1).y + b[i].x)", lambda: np.tile(VECTORS[:, 1:2] * f32(0.1) + OTHERS[:, :1], 3)),  # of a part
        ("vec3((a[i] * 0.1)[1] + b[i].x)", lambda: np.tile(VECTORS[:, 1:2] * f32(0.1) + OTHERS[:, :1], 3)),
        ("+(a[i] * 0.1) + b[i]", lambda: VECTORS * f32(0.1) + OTHERS),  # only a minus is seen through
        ("(a[i] * 0.1).zyx + b[i]", lambda: VECTORS[:, ::-1] * f32(0.1) + OTHERS),
        ("v = b[i]\nv += a[i] * 0.1\nout[i] = v", lambda: fma(VECTORS, f32(0.1), OTHERS)),
        ("out[i] = b[i]\nout[i] -= a[i] * 0.1", lambda: fma(-VECTORS, f32(0.1), OTHERS)),
        ("twice(a[i]) + b[i]", lambda: VECTORS * f32(0.1) + OTHERS),
    ],
)
def test_products_fuse_per_component(text, expected) -> None:
    names = functions("@tack.func\ndef twice(v):\n    return v * 0.1\n") | {"vec3": tack.vec3}
    np.testing.assert_array_equal(value(text, A, B, out=three(), **names), expected())


@pytest.mark.rule("V1", "E5")
def test_methods_are_fma_chains_in_index_order() -> None:
    np.testing.assert_array_equal(value("a[i].dot(b[i])", A, B), chain(VECTORS, OTHERS))
    np.testing.assert_array_equal(value("a[i] @ b[i]", A, B), chain(VECTORS, OTHERS))
    np.testing.assert_array_equal(value("a[i].norm_sqr()", A), chain(VECTORS, VECTORS))
    np.testing.assert_array_equal(value("a[i].norm()", A), np.sqrt(chain(VECTORS, VECTORS)))
    np.testing.assert_array_equal(value("(a[i] * b[i]).sum()", A, B), np.cumsum(VECTORS * OTHERS, 1, f32)[:, -1])
    np.testing.assert_array_equal(value("(a[i] * 0.1).dot(b[i])", A, B), chain(VECTORS * f32(0.1), OTHERS))


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i].sum()", lambda: np.cumsum(VECTORS, 1, f32)[:, -1]),
        ("a[i].min()", lambda: VECTORS.min(1)),
        ("a[i].max()", lambda: VECTORS.max(1)),
        ("a[i].xy.cross(b[i].xy)", lambda: VECTORS[:, 0] * OTHERS[:, 1] - VECTORS[:, 1] * OTHERS[:, 0]),
        ("(a[i] + b[i]).norm()", lambda: np.sqrt(chain(VECTORS + OTHERS, VECTORS + OTHERS))),
        ("a[i].cross(a[i]).norm()", lambda: np.zeros(4, f32)),
        ("UP.dot(a[i])", lambda: VECTORS[:, 2]),
    ],
)
def test_methods_that_give_numbers(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, UP=tack.constant((0, 0, 1), tack.vec3)), expected())


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i].normalized()", lambda: VECTORS / np.sqrt(chain(VECTORS, VECTORS))[:, None]),
        ("a[i].cross(b[i])", lambda: np.cross(VECTORS, OTHERS)),
        ("vec3(a[i].outer(b[i])[0, 1], a[i].outer(b[i].xy)[2, 1], 0.0)",
         lambda: rows(VECTORS[:, 0] * OTHERS[:, 1], VECTORS[:, 2] * OTHERS[:, 1], 0)),
        ("vec3(a[i].outer(b[i])[0, 1]) + a[i]", lambda: VECTORS[:, :1] * OTHERS[:, 1:2] + VECTORS),
    ],
)  # fmt: skip
def test_methods_that_give_vectors(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, out=three(), vec3=tack.vec3), expected())


# ------------------------------------------------------------------------------------------------------------- masks


@pytest.mark.rule("V1", "T7")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tack.select(a[i] < b[i], a[i], b[i])", lambda: np.minimum(VECTORS, OTHERS)),
        ("tack.select(a[i] >= 0, a[i], 0)", lambda: np.maximum(VECTORS, 0)),
        ("tack.select(i > 1, a[i], 1.0)", lambda: np.where(np.arange(4)[:, None] > 1, VECTORS, f32(1))),
        ("tack.select(a[i] != a[i], 1.0, b[i])", lambda: OTHERS),
        ("tack.select((a[i] > 0.0) & (b[i] > 0.0), 1.0, 0.0)", lambda: ((VECTORS > 0) & (OTHERS > 0)).astype(f32)),
        ("tack.select(not a[i] > 0.0, 1.0, 0.0)", lambda: (~(VECTORS > 0)).astype(f32)),
        ("m = a[i] > b[i]\nout[i] = tack.select(m, 2, 3)", lambda: np.where(VECTORS > OTHERS, f32(2), f32(3))),
        ("(a[i] < b[i]) + 1", lambda: (VECTORS < OTHERS) + f32(1)),
        ("isnan(a[i] / 0.0)", lambda: np.zeros((4, 3), f32)),
    ],
)
def test_comparisons_give_masks(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, out=three()), expected())


@pytest.mark.rule("V1")
def test_any_and_all_make_a_condition_of_a_mask() -> None:
    less, more = VECTORS < OTHERS, VECTORS > 0
    np.testing.assert_array_equal(value("1 if any(a[i] < b[i]) else 0", A, B), less.any(1))
    np.testing.assert_array_equal(value("1 if all(a[i] < b[i]) else 0", A, B), less.all(1))
    np.testing.assert_array_equal(value("any(a[i] < b[i]) + all(a[i] > 0.0)", A, B), less.any(1).astype(int) + more.all(1))
    text = "m = a[i] < b[i]\nif not all(m) and any(m):\n    out[i] = 1.0"
    np.testing.assert_array_equal(value(text, A, B), less.any(1) & ~less.all(1))
    np.testing.assert_array_equal(value("1 if all(a[i]) else 0", I3), INTS.all(1))  # each component as in a condition


# -------------------------------------------------------------------------------------------------------- components


@pytest.mark.rule("V1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i].x", lambda: VECTORS[:, 0]),
        ("a[i].z - a[i].y", lambda: VECTORS[:, 2] - VECTORS[:, 1]),
        ("a[i][1]", lambda: VECTORS[:, 1]),
        ("a[i][i % 3]", lambda: VECTORS[np.arange(4), np.arange(4) % 3]),
        ("(a[i] + b[i])[i % 3]", lambda: (VECTORS + OTHERS)[np.arange(4), np.arange(4) % 3]),
        ("v = a[i]\nout[i] = v[K] + v.x", lambda: VECTORS[:, 2] + VECTORS[:, 0]),
        ("vec4(a[i], 9.0).w", lambda: np.full(4, 9.0)),
        ("a[i].zx.x", lambda: VECTORS[:, 2]),
        ("a[i].zx[1]", lambda: VECTORS[:, 0]),
        ("total = 0.0\nfor k in range(3):\n    total += a[i][k]\nout[i] = total", lambda: np.cumsum(VECTORS, 1, f32)[:, -1]),
    ],
)
def test_components_are_read(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, vec4=tack.vec4, K=tack.constant(2)), expected())


@pytest.mark.rule("V1")
@pytest.mark.parametrize("letters", ["xy", "zz", "zyx", "xxx", "yxz", "xyzx", "zzyy"])
def test_swizzles_are_read(letters) -> None:
    t = tack.vec(len(letters), tack.f32)
    expected = VECTORS[:, ["xyz".index(c) for c in letters]]
    np.testing.assert_array_equal(value(f"a[i].{letters}", A, out=four(t)), expected)
    doubled = value(f"(a[i] * 2.0).{letters} + 1.0", A, out=four(t))
    np.testing.assert_array_equal(doubled, expected * f32(2) + f32(1))


@pytest.mark.rule("V1", "E2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v.x = 9.0", lambda v: [9.0, v[1], v[2]]),
        ("v[2] = v.x", lambda v: [v[0], v[1], v[0]]),
        ("v.y += v.x * 2.0", lambda v: [v[0], fma(v[0], f32(2), v[1]), v[2]]),
        ("v[1] -= 1.0", lambda v: [v[0], v[1] - f32(1), v[2]]),
        ("v = v.zyx", lambda v: [v[2], v[1], v[0]]),
        ("v = [v.y, v.x, v.x + v.y]", lambda v: [v[1], v[0], v[0] + v[1]]),
        ("v.x, v.z = v.z, v.x", lambda v: [v[2], v[1], v[0]]),
        ("v, w = w, v", lambda v: [1.0, 1.0, 1.0]),
        ("w = v\nw.x = 7.0", lambda v: [v[0], v[1], v[2]]),
        ("w = v\nv.x = 7.0\nv.y = w.x", lambda v: [7.0, v[0], v[2]]),
        ("w = v = v * 2.0\nw.x = 0.0", lambda v: v * f32(2)),
        ("v *= 2.0", lambda v: v * f32(2)),
        ("v += v", lambda v: v + v),
        ("v @= m", lambda v: [v[1], v[2], v[0]]),
    ],
)
def test_components_of_locals_are_stored(text, expected) -> None:
    body = f"v = a[i]\nw = vec3(1.0)\nm = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\n{text}\nout[i] = v"
    np.testing.assert_array_equal(value(body, A, out=three(), vec3=tack.vec3), np.array([expected(v) for v in VECTORS], f32))


@pytest.mark.rule("V1")
def test_a_component_is_chosen_at_run_time_for_a_store() -> None:
    expected = VECTORS.copy()
    expected[np.arange(4), np.arange(4) % 3] = 9
    np.testing.assert_array_equal(value("v = a[i]\nv[i % 3] = 9.0\nout[i] = v", A, out=three()), expected)
    expected[np.arange(4), np.arange(4) % 3] = VECTORS[np.arange(4), np.arange(4) % 3] * 3
    np.testing.assert_array_equal(value("v = a[i]\nk = i % 3\nv[k] *= 3.0\nout[i] = v", A, out=three()), expected)
    found = value("v = [1, 2, 0]\nv[v.x] = 0\nv[v[2]] = 7\nout[i] = v", out=tack.zeros(1, tack.ivec3))
    assert found.tolist() == [[7, 0, 0]]


@pytest.mark.rule("V1", "E1")
def test_what_is_written_once_is_evaluated_once() -> None:
    """Also where it is broadcast, or where several components of one value are used."""
    names = functions(
        """
        @tack.func
        def count(calls, k):
            calls[k] += 1
            return calls[k]
    """.replace("\n        ", "\n")
    )
    text = """
        v = vec3(count(calls, 0)) + count(calls, 0) * vec3(1.0)
        w = vec3(count(calls, 1), 2.0, 3.0).normalized() * v[count(calls, 1) - 2]
        w[count(calls, 2) - 1] += 1.0
        result[i] = v + w * 0.0
    """
    k = kernel(text, "calls, result", "range(1)", **names, vec3=tack.vec3)
    calls, out = run(k, tack.zeros(3, tack.i32), tack.zeros(1, tack.vec3))
    assert calls.tolist() == [2, 2, 1] and out.tolist() == [[3, 3, 3]]


@pytest.mark.rule("V1", "E1")
def test_operands_are_read_before_a_later_one_stores() -> None:
    names = functions("@tack.func\ndef bump(a, j):\n    a[j] = a[j] * 2.0\n    return 1\n")
    text = "out[i] = a[i] + bump(a, i) * a[i]\n"
    found = run(kernel(text, "a, out", **names), A, three())
    np.testing.assert_array_equal(found, fma(f32(1), VECTORS * f32(2), VECTORS))
    found = run(kernel("out[i] = vec3(a[i][bump(a, i)], a[i].x, 0.0)", "a, out", **names, vec3=tack.vec3), A, three())
    np.testing.assert_array_equal(found, rows(VECTORS[:, 1], VECTORS[:, 0] * 2, 0))


# --------------------------------------------------------------------------------------------- locals and functions


@pytest.mark.rule("V1", "K4", "T2")
def test_vectors_live_in_locals_through_loops_and_branches() -> None:
    text = """
        acc = vec3(0.0)
        best = [0.0, 0.0, 0.0]
        k = 0
        while k < 4:
            if a[k].x > 0.0:
                acc += a[k]
                best = max(best, a[k])
            k += 1
        out[i] = acc - best
    """
    positive = VECTORS[VECTORS[:, 0] > 0]
    total = np.cumsum(positive, 0, f32)[-1]
    best = np.maximum(positive.max(0), 0)
    np.testing.assert_array_equal(value(text, A, out=three(), vec3=tack.vec3), np.tile(total - best, (4, 1)))


@pytest.mark.rule("V1", "K2", "K3")
def test_vectors_of_the_prologue_start_every_iteration_anew() -> None:
    k = kernel("v.x += i\nout[i] = v + w", "a, out", before="v = a[1]\nw = v.zyx * 2.0")
    first = VECTORS[1] + np.outer(np.arange(4), [1, 0, 0]).astype(f32)
    np.testing.assert_array_equal(run(k, A, three()), first + VECTORS[1, ::-1] * f32(2))
    text = "v = a[i]\nwhile any(abs(v) > 1.0) and not all(v == 0.0):\n    v *= 0.5\nout[i] = v"
    expected = VECTORS.copy()
    for v in expected:
        while (np.abs(v) > 1).any():
            v *= f32(0.5)
    np.testing.assert_array_equal(value(text, A, out=three()), expected)


@pytest.mark.rule("V1", "T2")
def test_a_local_is_declared_a_vector() -> None:
    text = "v: tack.vec3 = 0.1\nw: tack.dvec3 = v\nout[i] = w"
    assert value(text, out=tack.zeros(1, tack.dvec3)).tolist() == [[float(f32(0.1))] * 3]
    x = tack.zeros(1, tack.ivec2)
    k = kernel("v: tack.vec3 = a[i]\nout[i] = v.x", "a, out")
    refuses(TypeError, lambda: k(x, tack.zeros(1)), "a vector of 2 for a local declared tack.vec3", at="a[i]")


FUNCTIONS = """
    @tack.func
    def reflect(v, n):
        return v - 2.0 * v.dot(n) * n

    @tack.func
    def pair(v, s=0.5):
        return v * s, v.x

    @tack.func
    def clipped(v):
        if v.x < 0.0:
            return vec3(0.0)
        for k in range(3):
            if v[k] > 3.0:
                return v * 0.5
        return v

    @tack.func
    def changed(v):
        v.x = 100.0
        v += 1.0
        return v

    @tack.func
    def at(a, i):
        return a[i]

    @tack.func
    def put(a, i, v):
        a[i] = v

    @tack.func
    def lifted(v, by=UP):
        return v + by

    @tack.func
    def weak():
        return [0.1, 0.2, 0.3]
"""
CHANGED = np.where(np.arange(3) == 0, f32(101), VECTORS + f32(1))
NAMES = functions("\n".join(line[4:] for line in FUNCTIONS.splitlines()), vec3=tack.vec3, UP=tack.constant((0, 0, 1)))


@pytest.mark.rule("V1", "F1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reflect(a[i], b[i])", lambda: fma(-(f32(2) * chain(VECTORS, OTHERS))[:, None], OTHERS, VECTORS)),
        ("v, x = pair(a[i])\nout[i] = v + x", lambda: VECTORS * f32(0.5) + VECTORS[:, :1]),
        ("clipped(a[i])", lambda: np.array([[0, 0, 0] if v[0] < 0 else v * f32(0.5) if max(v) > 3 else v for v in VECTORS])),
        ("v = a[i]\nw = changed(v)\nout[i] = w - v", lambda: CHANGED - VECTORS),
        ("changed(a[i])", lambda: CHANGED),
        ("lifted(a[i]) + lifted(a[i], by=b[i])", lambda: VECTORS + f32([0, 0, 1]) + (VECTORS + OTHERS)),
        ("at(a, i) + at(b, i)", lambda: VECTORS + OTHERS),
        ("put(out, i, a[i] + 1.0)\nout[i].x = 0.0", lambda: (VECTORS + f32(1)) * f32([0, 1, 1])),
    ],
)  # fmt: skip
def test_functions_take_and_return_vectors(text, expected) -> None:
    np.testing.assert_array_equal(value(text, A, B, out=three(), **NAMES), expected())


@pytest.mark.rule("V1", "T8", "F1")
def test_literal_vectors_stay_weak_through_functions() -> None:
    x = tack.array(np.array([1.0 / 3]))
    np.testing.assert_array_equal(
        value("a[i] * weak()", x, out=tack.zeros(1, tack.dvec3), **NAMES)[0], np.array([0.1, 0.2, 0.3]) / 3
    )
    found = value("a[i] * ([0.1, 0.2] if i == 0 else [1, 2])", x, out=tack.zeros(1, tack.dvec2))
    np.testing.assert_array_equal(found[0], np.array([0.1, 0.2]) * (1.0 / 3))


@pytest.mark.rule("T11", "V1")
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint32, np.int64])
def test_integers_become_floats_before_they_are_squared(dtype) -> None:
    """Squares of integers would wrap (T4): norms and inverses compute in floats."""
    high = min(np.iinfo(dtype).max, 40_000)
    rows = np.array([[high, high // 2, 7], [3, 0, 4], [high, high, high], [0, 0, 1]], dtype)
    a, exact = array(rows, tack.vec(3, dtype)), rows.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1)
    for text in ("a[i].norm()", "length(a[i])"):
        np.testing.assert_allclose(value(text, a, out=four(tack.f32), length=tack.math.length), lengths, rtol=3e-7)
    np.testing.assert_allclose(value("a[i].normalized()", a, out=three()), exact / lengths[:, None], rtol=5e-7)
    square = np.array([[[high, 1], [1, high]]] * 4, dtype)
    m, out = array(square, tack.mat(2, 2, dtype)), tack.zeros(4, tack.mat(2, 2, tack.f32))
    np.testing.assert_allclose(value("a[i].inverse()", m, out=out), np.linalg.inv(square.astype(np.float64)), rtol=1e-6)
