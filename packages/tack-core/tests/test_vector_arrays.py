"""Arrays of vectors and matrices: on the host, as arguments, in keys (V1, V2, M1, T1). Width is part of both keys."""

import pickle

import numpy as np
import pytest
from rule_tools import kernel, refuses
from vector_tools import VECTORS, array, run, value

import tack
from tack.errors import RaceWarning
from tack.testing import typed

M = np.arange(8.0).reshape(2, 2, 2)


def variants(k):
    return tack.get_default_device()._backend._cache.get(k, {})


def templates(k):
    return len(k._ir_cache) + (k._ir is not None)


# ------------------------------------------------------------------------------------------------------ on the host


@pytest.mark.rule("V1")
def test_types_are_made_once() -> None:
    assert tack.vec(3) is tack.vec3 is tack.vec(3, np.float32) and tack.vec(3, "f8") is tack.dvec3
    assert pickle.loads(pickle.dumps(tack.vec(7, tack.i8))) is tack.vec(7, tack.i8)
    assert pickle.loads(pickle.dumps(tack.mat(2, 4))) is tack.mat(2, 4)
    t = tack.vec(5, tack.i16)
    assert (t.n, t.dtype, t.itemsize, t.shape, str(t)) == (5, tack.i16, 10, (5,), "tack.vec(5, tack.i16)")
    assert isinstance(t, tack.VectorType) and isinstance(tack.mat2, tack.MatrixType)
    for n in (0, 1, 17):
        with pytest.raises(ValueError, match="2 to 16 components"):
            tack.vec(n)
    for dtype in (np.float16, tack.vec2, None, "x"):
        with pytest.raises(TypeError, match="no scalar dtype"):
            tack.vec(3, dtype)


def test_numpy_has_components_as_last_dimensions() -> None:
    a = tack.array(VECTORS, tack.vec3)
    assert (a.shape, a.ndim, a.size, a.nbytes, len(a), a.dtype) == ((4,), 1, 4, 48, 4, tack.vec3)
    np.testing.assert_array_equal(a.numpy(), VECTORS)
    assert np.shares_memory(np.asarray(a), a.view_numpy()) and np.asarray(a).shape == (4, 3)
    m = tack.array(M, tack.mat(2, 2, tack.f64))
    assert m.shape == (2,) and m.numpy().dtype == np.float64
    np.testing.assert_array_equal(m.numpy(), M)
    np.testing.assert_array_equal(np.from_dlpack(a), VECTORS)
    grid = tack.array(np.zeros((5, 2, 3)), tack.ivec3)
    assert grid.shape == (5, 2) and grid.numpy().shape == (5, 2, 3) and grid.numpy().dtype == np.int32


def test_constructors_take_vector_types() -> None:
    assert tack.zeros((2, 3), tack.vec2).numpy().tolist() == [[[0, 0]] * 3] * 2
    assert tack.ones(2, tack.mat2).numpy().tolist() == [[[1, 1], [1, 1]]] * 2
    assert tack.full(2, [1, 2, 3], tack.ivec3).numpy().tolist() == [[1, 2, 3]] * 2
    assert tack.full(2, 7, tack.uvec2).numpy().tolist() == [[7, 7]] * 2
    like = tack.zeros_like(tack.empty((2,), tack.dvec4))
    assert like.dtype is tack.dvec4 and like.shape == (2,)
    assert tack.full_like(like, 3).numpy().tolist() == [[3.0] * 4] * 2
    assert tack.array(tack.full(2, [1, 2], tack.vec2)).dtype is tack.vec2
    assert tack.array([[1, 2], [3, 4]], tack.vec2).shape == (2,)
    memory = np.arange(6, dtype=np.float32)
    view = tack.array_from_ptr(memory.ctypes.data, tack.vec3, 2, writable=True, owner=memory)
    view[1] = [7, 8, 9]
    assert view.shape == (2,) and memory.tolist() == [0, 1, 2, 7, 8, 9]
    for wrong in (lambda: tack.array([1, 2, 3], tack.vec2), lambda: tack.array(1.0, tack.vec2)):
        with pytest.raises(ValueError, match=r"are no elements of tack\.vec2"):
            wrong()
    for wrong in (lambda: tack.arange(3, dtype=tack.vec3), lambda: tack.linspace(0, 1, 5, dtype=tack.vec2)):
        with pytest.raises(TypeError, match="a scalar dtype is needed"):
            wrong()


def test_elements_are_read_and_stored() -> None:
    a = tack.array(VECTORS.reshape(2, 2, 3), tack.vec3)
    element = a[1, 0]
    assert type(element) is np.ndarray and element.tolist() == VECTORS[2].tolist()
    element[0] = 99  # a copy
    assert a[1, 0].tolist() == VECTORS[2].tolist()
    a[0, -1] = [1, 2, 3]
    a[1, 1] = 5
    assert a.numpy()[0, 1].tolist() == [1, 2, 3] and a.numpy()[1, 1].tolist() == [5, 5, 5]
    a[0, 0] = np.array([0.5, 1.5, 2.5])
    assert a[0, 0].tolist() == [0.5, 1.5, 2.5]
    rows = a[1:]
    rows[0, 0] = 0
    assert a[1, 0].tolist() == [0, 0, 0] and rows.shape == (1, 2)
    i = tack.zeros(2, tack.ivec2)
    for wrong, kind in (([1, 2, 3], ValueError), ([[1, 2]], ValueError), ([1.5, 2], OverflowError), ("x", TypeError)):
        with pytest.raises(kind):
            i[0] = wrong
    with pytest.raises(IndexError):
        a[0]
    assert [row.tolist() for row in tack.array([[1, 2], [3, 4]], tack.ivec2)] == [[1, 2], [3, 4]]


def test_repr_shows_elements() -> None:
    a = tack.array([[1.5, 2], [3, 4]], tack.vec2)
    assert repr(a) == "tack.Array([[1.5, 2], [3, 4]], shape=(2,), dtype=tack.vec2, device=cpu)"
    assert repr(tack.zeros(9, tack.mat(2, 2, tack.i32))).startswith("tack.Array([[[0, 0], [0, 0]], [[0, 0], [0, 0]],")
    assert repr(tack.zeros(0, tack.vec2)) == "tack.Array([], shape=(0,), dtype=tack.vec2, device=cpu)"


def test_copyto_takes_components_as_last_dimensions() -> None:
    a = tack.zeros(4, tack.vec3)
    tack.copyto(a, VECTORS)
    np.testing.assert_array_equal(a.numpy(), VECTORS)
    tack.copyto(a, VECTORS.tolist())
    tack.copyto(a, tack.array(VECTORS.astype(np.int32), tack.ivec3))
    np.testing.assert_array_equal(a.numpy(), np.trunc(VECTORS))
    tack.copyto(a, 2.5)
    assert (a.numpy() == 2.5).all()
    tack.copyto(a[1:], a[:3])
    for wrong in (VECTORS[:, :2], VECTORS[0], tack.zeros(4), tack.zeros(4, tack.vec4)):
        with pytest.raises(ValueError, match=r"destination of shape \(4, 3\)"):
            tack.copyto(a, wrong)


def test_copies_views_and_reductions() -> None:
    a = tack.array(VECTORS, tack.vec3)
    b = a.copy()
    b[0] = 0
    assert a[0].tolist() == VECTORS[0].tolist()
    assert a.reshape(2, 2)[1, 0].tolist() == VECTORS[2].tolist() and a.reshape(2, -1).ravel().shape == (4,)
    assert a.astype(tack.ivec3).dtype is tack.ivec3
    np.testing.assert_array_equal(a.astype(tack.ivec3).numpy(), np.trunc(VECTORS))
    for wrong in (tack.f64, tack.vec4, tack.mat3):
        with pytest.raises(TypeError, match="do not convert"):
            a.astype(wrong)
    a.fill([1, 2, 3])
    assert a.sum().tolist() == [4, 8, 12] and a.min().tolist() == [1, 2, 3] and a.mean().tolist() == [1, 2, 3]
    assert tack.zeros(0, tack.ivec2).sum().tolist() == [0, 0] and np.isnan(tack.zeros(0, tack.vec2).mean()).all()
    joined = tack.concatenate([a, tack.ones(1, tack.vec3)])
    assert joined.shape == (5,) and joined[4].tolist() == [1, 1, 1]
    assert tack.stack([a, a]).shape == (2, 4)
    with pytest.raises(TypeError, match="dtypes"):
        tack.concatenate([a, tack.ones(1, tack.vec2)])


def test_signatures_tell_widths_and_layouts_apart() -> None:
    arrays = [tack.zeros(2, t) for t in (tack.f32, tack.vec2, tack.vec4, tack.mat2, tack.mat(2, 3), tack.mat(3, 2), tack.dvec2)]
    assert len({a._sig for a in arrays}) == len(arrays)
    assert tack.zeros(5, tack.vec2)._sig is arrays[1]._sig
    assert tack.zeros((4, 2))._sig is not arrays[1]._sig


# ------------------------------------------------------------------------------------------------------- as arguments


@pytest.mark.rule("V1", "V2")
def test_elements_are_stored_whole_or_per_component() -> None:
    a = array(VECTORS, tack.vec3)
    out = tack.zeros(4, tack.vec3)
    np.testing.assert_array_equal(value("a[i]", a, out=out), VECTORS)
    np.testing.assert_array_equal(value("i", a, out=out), np.tile(np.arange(4)[:, None], 3))  # every component
    np.testing.assert_array_equal(
        value("out[i].y = a[i].x\nout[i][2] = 1", a, out=out)[:, 1:], np.stack([VECTORS[:, 0], np.ones(4)], 1)
    )
    np.testing.assert_array_equal(
        value("tack.ivec3(a[i])", a, out=tack.zeros(4, tack.uvec3)), np.trunc(VECTORS).astype(np.int32).view(np.uint32)
    )
    wide = value("for k in range(7):\n    out[i][k] = a[i][6 - k]", tack.array(np.arange(14).reshape(2, 7), tack.vec(7, tack.u8)),
                 out=tack.zeros(2, tack.vec(7)))  # fmt: skip
    assert wide.tolist() == [list(range(6, -1, -1)), list(range(13, 6, -1))]


@pytest.mark.rule("E2", "E4", "V1")
def test_all_components_are_evaluated_before_any_is_stored() -> None:
    a = array(VECTORS, tack.vec3)
    np.testing.assert_array_equal(run(kernel("out[i] = out[i].zxy", "out"), a), VECTORS[:, [2, 0, 1]])
    np.testing.assert_array_equal(run(kernel("out[i] = out[i] + out[i].z", "out"), a), VECTORS + VECTORS[:, 2:])
    m = np.random.default_rng(3).integers(-4, 5, (2, 2, 2)).astype(np.float32)
    np.testing.assert_array_equal(run(kernel("out[i] = out[i] @ out[i]", "out"), array(m, tack.mat2)), m @ m)
    np.testing.assert_array_equal(run(kernel("out[i] = out[i].transpose()", "out"), array(m, tack.mat2)), m.transpose(0, 2, 1))
    # Through a view that is one component behind: the load of `b[i]` and the store to `a[i]` overlap.
    memory = np.arange(13, dtype=np.float32)
    one = tack.array_from_ptr(memory.ctypes.data, tack.vec3, 4, writable=True, owner=memory)
    behind = tack.array_from_ptr(memory.ctypes.data + 4, tack.vec3, 4, writable=True, owner=memory)
    kernel("b[i] = a[i]", "a, b", "range(3, 4)")(one, behind)
    assert memory.tolist() == [*range(10), 9, 10, 11]


@pytest.mark.rule("M1", "V1")
def test_integer_vectors_are_indices() -> None:
    grid = tack.array(np.arange(12.0).reshape(3, 4).astype(np.float32))
    at = tack.array([[0, 1], [2, 3], [1, 0]], tack.ivec2)
    assert value("b[a[i]]", at, grid).tolist() == [1, 11, 4]
    assert value("b[a[i].yx // 2]", at, grid).tolist() == [0, 5, 0]
    found = run(kernel("out[a[i]] += 100.0", "a, out", "range(a.shape[0])"), at, grid)
    assert found.tolist() == [[0, 101, 2, 3], [104, 5, 6, 7], [8, 9, 10, 111]]
    vectors = tack.array(np.arange(24.0).reshape(3, 4, 2), tack.vec2)
    assert value("b[a[i]].y", at, vectors).tolist() == [3, 23, 9]
    refuses(TypeError, lambda: kernel("out[i] = b[a[i]]", "a, b, out")(tack.zeros(3, tack.vec2), grid, tack.zeros(3)), at="a[i]")


@pytest.mark.rule("M1", "T2b")
def test_the_index_of_several_dimensions_is_a_vector() -> None:
    @tack.kernel
    def shifted(a, out):
        for p in tack.ndindex(a.shape[0], (1, a.shape[1])):
            out[p] = a[p - [0, 1]] + p.x * 10 + p[1]

    a = np.arange(12, dtype=np.int64).reshape(3, 4)
    out = run(shifted, tack.array(a), tack.zeros((3, 4), tack.i64))
    expected = np.zeros((3, 4), np.int64)
    for i in range(3):
        for j in range(1, 4):
            expected[i, j] = a[i, j - 1] + i * 10 + j
    np.testing.assert_array_equal(out, expected)


@pytest.mark.rule("T1")
def test_vector_arrays_count_for_the_default_float() -> None:
    text = "out[i] = x * 3.0"
    for dtype, expected in (
        (tack.vec2, np.float32(0.1) * np.float32(3)),
        (tack.dvec2, 0.1 * 3),
        (tack.mat(2, 2, tack.f64), 0.1 * 3),
    ):
        k = kernel(text, "a, x, out")
        out = tack.zeros(1, tack.f32 if dtype is tack.vec2 else tack.vec(2, tack.f64))
        found = run(k, tack.zeros(1, dtype), 0.1, out)
        assert found.reshape(-1)[0] == expected


@pytest.mark.rule("M1")
def test_ranks_and_sizes_count_elements() -> None:
    a = tack.array(np.arange(24.0).reshape(2, 4, 3), tack.vec3)
    k = kernel("h, w = a.shape\nout[i] = a[i % h, i // h].z + a.ndim + a.size * 100 + w * 1000 + len(a) * 10000", "a, out")
    found = run(k, a, tack.zeros(2))
    assert found.tolist() == [2 + 2 + 800 + 4000 + 20000, 14 + 2 + 800 + 4000 + 20000]
    k = kernel("out[i] = a[i].x", "a, out")
    refuses(IndexError, lambda: k(a, tack.zeros(2)), "'a' has 2 dimensions, but 1 index", "a.ravel()", at="a[i]")
    k = kernel("out[i] = a[i, 0, 1].x", "a, out")
    refuses(IndexError, lambda: k(a, tack.zeros(2)), "'a' has 2 dimensions, but 3 indices", at="a[i, 0, 1]")
    assert run(kernel("out[i] = a[i].x", "a, out"), a.ravel(), tack.zeros(8)).tolist() == list(range(0, 24, 3))


@pytest.mark.rule("M3")
def test_read_only_arrays_of_vectors_are_refused() -> None:
    memory = np.zeros((2, 2), np.float32)
    fixed = tack.array_from_ptr(memory.ctypes.data, tack.vec2, 2, owner=memory)
    k = kernel("a[i].x = 1.0", "a", "range(a.shape[0])")
    with pytest.raises(ValueError, match="read-only"):
        k(fixed)


@pytest.mark.rule("M2", "E4")
def test_views_of_vectors_may_alias() -> None:
    base = tack.zeros(6, tack.vec2)
    k = kernel("b[i] = a[i] + 1.0\nc[i].x = a[i].x + b[i].y", "a, b, c", "range(3)")
    k(base[:3], base[:3], base[3:])
    assert base.numpy().tolist() == [[1, 1]] * 3 + [[2, 0]] * 3
    assert len(variants(k)) == 1
    k(base[:3], tack.zeros(3, tack.vec2), base[3:])
    assert len(variants(k)) == 2  # apart: a variant of its own


@pytest.mark.rule("E6")
def test_races_of_elements_are_seen_through_components() -> None:
    k = kernel("a[i].x = a[i + 1].x", "a", "range(3)")
    with pytest.warns(RaceWarning, match="'a' is stored at i and read at i \\+ 1"):
        k(tack.zeros(4, tack.vec2))
    quiet = kernel("a[i].x = a[i + 1].y", "a", "range(3)")
    quiet(tack.zeros(4, tack.vec2))  # another component: no race


# ------------------------------------------------------------------------------------------------------------- keys


DOT = "out[i] = v[i].dot(v[i])"


@pytest.mark.spec("cache-044", "cache-045", "cache-046", "cache-180")
def test_width_2_then_3() -> None:
    """A key without widths once let the code for width 2 serve arrays of width 3, with wrong numbers and no error."""
    k = kernel(DOT, "v, out")
    two, three = np.arange(8.0).reshape(4, 2), np.arange(12.0).reshape(4, 3)
    for values in (two, three, two, three):
        found = tack.zeros(4)
        k(tack.array(values, tack.vec(values.shape[1])), found)
        assert found.numpy().tolist() == (values * values).sum(1).tolist()
    assert len(variants(k)) == 2 and templates(k) == 2


@pytest.mark.rule("V1")
@pytest.mark.spec("cache-044", "cache-051")
def test_mat2_and_vec4_never_share() -> None:
    k = kernel("out[i] = a[i].sum()", "a, out")
    square = np.arange(8.0).reshape(2, 2, 2)
    for dtype, values in ((tack.vec4, square.reshape(2, 4)), (tack.mat2, square), (tack.mat(2, 3), np.ones((2, 2, 3)))):
        found = tack.zeros(2)
        k(tack.array(values, dtype), found)
        assert found.numpy().tolist() == values.reshape(2, -1).sum(1).tolist()
    k(tack.array(np.ones((2, 3, 2)), tack.mat(3, 2)), tack.zeros(2))
    assert len(variants(k)) == 4 and templates(k) == 4
    assert {key[1] for key in variants(k)} == {((0, 4),), ((0, (2, 2)),), ((0, (2, 3)),), ((0, (3, 2)),)}
    assert set(k._ir_cache) == {(("vec", (0, w)),) for w in (4, (2, 2), (2, 3), (3, 2))}


@pytest.mark.spec("cache-044")
def test_scalar_arrays_and_vector_arrays_have_templates_of_their_own() -> None:
    k = kernel("out[i] = a[i] + 1", "a, out")
    k(tack.zeros(2), tack.zeros(2))
    k(tack.zeros(2, tack.vec2), tack.zeros(2, tack.vec2))
    k(tack.zeros(2), tack.zeros(2, tack.vec2))
    assert templates(k) == 3 and sorted(key[1] for key in variants(k)) == [(), ((0, 2), (1, 2)), ((1, 2),)]
    before = len(variants(k))
    k(tack.zeros(5, tack.vec2), tack.zeros(5, tack.vec2))  # neither lengths nor contents
    assert len(variants(k)) == before
    k(tack.zeros(2, tack.dvec2), tack.zeros(2, tack.dvec2))  # a dtype is a variant, but no template
    assert len(variants(k)) == before + 1 and templates(k) == 3


@pytest.mark.spec("cache-044")
def test_positions_of_vector_arrays_are_in_the_key() -> None:
    k = kernel("out[i] = a[i] * b[i]", "a, b, out")
    one, many, out = tack.ones(2), tack.full(2, [2, 3], tack.vec2), tack.zeros(2, tack.vec2)
    k(one, many, out)
    first = out.numpy().tolist()
    k(many, one, out)
    assert first == out.numpy().tolist() == [[2, 3]] * 2
    assert {key[1] for key in variants(k)} == {((1, 2), (2, 2)), ((0, 2), (2, 2))}


@pytest.mark.rule("V1", "N6")
def test_a_name_keeps_its_meaning_for_later_widths() -> None:
    space = {"K": tack.constant(2.0)}
    k = kernel("out[i] = a[i] * K", "a, out", **space)
    out2, out3 = tack.zeros(1, tack.vec2), tack.zeros(1, tack.vec3)
    k(tack.ones(1, tack.vec2), out2)
    k.__wrapped__.__globals__["K"] = tack.constant(50.0)
    k(tack.ones(1, tack.vec3), out3)
    assert out2[0].tolist() == [2, 2] and out3[0].tolist() == [2, 2, 2]


def test_sizes_of_vector_arrays_are_baked_in_as_others() -> None:
    """Row sizes count elements; the number of components is in the template."""
    k = kernel("out[i] = a[i, 1].y", "a, out")
    for cols in (2, 3, 3):
        values = np.arange(2.0 * cols * 2).reshape(2, cols, 2)
        found = tack.zeros(2)
        k(tack.array(values, tack.vec2), found)
        assert found.numpy().tolist() == values[:, 1, 1].tolist()
    assert sorted(key[3] for key in variants(k)) == [(2,), (3,)] and templates(k) == 1


def test_parameters_name_their_components() -> None:
    a = tack.zeros(2, tack.vec3)
    k = kernel("out[i] = a[i].x", "a, out")
    func = typed(k, [a, tack.zeros(2)], fma=True)
    assert [p.element for p in func.params] == [(3,), ()] and func.params[0].type is tack.f32
    assert "a: f32(3)[]" in tack.inspect(k, a, tack.zeros(2), mode="ir")
