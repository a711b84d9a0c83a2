"""3-D textures: trilinear and nearest sampling in software against NumPy and closed forms, their keys, and refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from emitted import EmittedTarget
from nvrtc_tools import compile_all
from rule_tools import CPU, INTERPRETER, kernel, of, refuses

import tack
from tack.ir.facts import ir_shape_deps
from tack.runtime.kernel_utils import _KeyProbe, shape_signature
from tack.runtime.variant_key import store_texture_shapes
from tack.testing import FanoutTarget, define
from tack.testing.targets import typed

F32 = np.float32
PAIR = FanoutTarget(tack.device("cpu", num_threads=2), "pool")


def sampler():
    return kernel("out[i] = tex.sample(u[i], v[i], w[i])", "tex, u, v, w, out")


def samples(tex, u, v, w, k=None):
    """The samples at these places, the same bits from compiled code, the pool and the interpreter."""
    places = [np.ascontiguousarray(c, F32) for c in np.broadcast_arrays(u, v, w)]
    found = []
    for target in (CPU, PAIR, INTERPRETER):
        out = np.full(places[0].shape, 77, F32)
        target.run(k or sampler(), [tex, *places, out])
        found.append(out)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].view(np.uint32), other.view(np.uint32))
    return found[0]


def trilinear(a, u, v, w):
    """NumPy's, in f64, of an array indexed [z, y, x]."""
    total = np.zeros(np.broadcast(u, v, w).shape)
    axes = []
    for c, n in zip((w, v, u), a.shape):
        x = np.clip(np.asarray(c, np.float64) * n - 0.5, 0, n - 1)
        low = np.floor(x).astype(int)
        axes.append(((low, 1 - (x - low)), (np.minimum(low + 1, n - 1), x - low)))
    for z, wz in axes[0]:
        for y, wy in axes[1]:
            for x, wx in axes[2]:
                total += a[z, y, x].astype(np.float64) * wz * wy * wx
    return total


def ramp(width, height, depth):
    """x + 10 y + 100 z at texel (x, y, z)."""
    z, y, x = np.indices((depth, height, width))
    return (x + 10 * y + 100 * z).astype(F32)


# ------------------------------------------------------------------------------------------------------- the values


def test_texel_centres_hold_the_texels():
    a = np.random.default_rng(1).uniform(-5, 5, (2, 4, 8)).astype(F32)
    z, y, x = (c.ravel() for c in np.indices(a.shape))
    for interp in ("linear", "nearest"):
        tex = tack.texture3d(a, interp=interp)
        assert tex.shape_3d == (8, 4, 2)
        np.testing.assert_array_equal(samples(tex, (x + 0.5) / 8, (y + 0.5) / 4, (z + 0.5) / 2), a.ravel())


def test_linear_functions_are_reproduced_exactly_inside():
    tex = tack.texture3d(ramp(8, 4, 16))
    rng = np.random.default_rng(2)
    x, y, z = (rng.integers(0, 64 * (n - 1), 500) / 64 for n in (8, 4, 16))
    got = samples(tex, (x + 0.5) / 8, (y + 0.5) / 4, (z + 0.5) / 16)
    np.testing.assert_array_equal(got, (x + 10 * y + 100 * z).astype(F32))


@pytest.mark.spec("back-053")
@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 4, 6), (2, 1, 9), (5, 3, 1), (1, 1, 1), (4, 4, 4)])
def test_against_numpy_inside_and_outside(shape):
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, shape).astype(F32)
    u, v, w = rng.uniform(-0.5, 1.5, (3, 2000)).astype(F32)
    np.testing.assert_allclose(samples(tack.texture3d(a), u, v, w), trilinear(a, u, v, w), atol=2e-6)
    index = [np.clip(np.floor(c * F32(n)), 0, n - 1).astype(int) for c, n in zip((w, v, u), shape)]
    np.testing.assert_array_equal(samples(tack.texture3d(a, interp="nearest"), u, v, w), a[tuple(index)])


def test_places_outside_have_the_edges_value():
    a = ramp(4, 4, 4)
    edges = of(F32, -np.inf, -1e30, -1, 0, 1, 2, 1e30, np.inf)
    expected = [0, 0, 0, 0, 3, 3, 3, 3]
    for interp in ("linear", "nearest"):
        tex = tack.texture3d(a, interp=interp)
        centre = 0.5 / 4
        assert samples(tex, edges, centre, centre).tolist() == expected
        assert samples(tex, centre, edges, centre).tolist() == [10 * e for e in expected]
        assert samples(tex, centre, centre, edges).tolist() == [100 * e for e in expected]


def test_nan_samples_like_zero():
    for interp in ("linear", "nearest"):
        tex = tack.texture3d(ramp(4, 4, 4) + 7, interp=interp)
        assert samples(tex, np.nan, of(F32, 0.625), np.nan).tolist() == [27.0]


def test_an_axis_of_one_texel_is_constant():
    """Without arithmetic along it: infinity times a weight of zero would be NaN."""
    tex = tack.texture3d(np.full((1, 1, 1), np.inf, F32))
    assert samples(tex, of(F32, 0, 1), 0.3, 0.9).tolist() == [math.inf, math.inf]


@pytest.mark.rule("E5")
def test_interpolation_is_one_fma():
    a, b, weight = F32(1.1), F32(3.3), F32(0.3)
    u = (weight + F32(0.5)) / F32(2)
    x = np.float64(u) * 2 - 0.5  # exact
    expected = F32(np.float64(a) + np.float64(F32(x)) * np.float64(F32(b - a)))
    assert samples(tack.texture3d(np.array([[[a, b]]])), of(F32, u), 0, 0)[0] == expected


def test_coordinates_of_any_type_and_a_local_of_f32():
    k = kernel("s = tex.sample(a[i], 0.5, True)\nout[i] = s", "tex, a, out")
    for dtype in (np.float64, np.int32, np.uint8):
        out = np.zeros(2)
        CPU.run(k, [tack.texture3d(ramp(2, 1, 1)), of(dtype, 0, 1), out])
        assert out.tolist() == [0, 1]
    text = tack.inspect(k, tack.texture3d(ramp(2, 1, 1)), tack.zeros(2, tack.f64), tack.zeros(2, tack.f64), mode="ir")
    assert "f64 s" not in text and "(texel 0): f32" in text


@pytest.mark.rule("T1")
def test_a_texture_does_not_count_for_the_default_float():
    k = kernel("t = s\nout[i] = t", "tex, s, out")
    for dtype in (np.float64, F32):
        out = np.zeros(1, dtype)
        CPU.run(k, [tack.texture3d(ramp(1, 1, 1)), 0.1, out])
        assert out[0] == dtype(0.1)


# ---------------------------------------------------------------------------------------------------- where it stands


@pytest.mark.rule("F1")
def test_textures_pass_to_functions_by_reference():
    names = define(
        """
        @tack.func
        def twice(t, u):
            return t.sample(u, 0.5, 0.5) * 2

        @tack.func
        def outer(tex, u):
            if u < 0:
                return -1.0
            return twice(tex, u)
        """
    )
    k = kernel("out[i] = outer(volume, (i + 0.5) / 4)", "volume, out", outer=names["outer"])
    out = np.zeros(4, F32)
    CPU.run(k, [tack.texture3d(ramp(4, 1, 1)), out])
    assert out.tolist() == [0, 2, 4, 6]


@pytest.mark.rule("E1", "K4")
def test_samples_stand_in_conditions_and_loops():
    body = """
        s = 0.0
        k = 0
        while tex.sample((k + 0.5) / 4, 0.5, 0.5) < n and k < 3:
            s += tex.sample((k + 0.5) / 4, 0.5, 0.5) if k % 2 else -tex.sample((k + 0.5) / 4, 0.5, 0.5)
            k += 1
        out[i] = s
        """
    k = kernel(body, "tex, n, out")
    for n, expected in ((0, 0), (1, 0), (2, 1), (9, -1)):
        out = np.zeros(1, F32)
        CPU.run(k, [tack.texture3d(ramp(4, 1, 1)), n, out])
        assert out[0] == expected


@pytest.mark.rule("K2", "K6")
def test_samples_stand_in_the_prologue_and_in_the_result():
    from tack.testing import kernel_from

    k = kernel_from(
        """
@tack.kernel
def k(tex, out) -> float:
    first = tex.sample(0.125, 0.5, 0.5)
    for i in range(out.shape[0]):
        out[i] = first + i
    return out[1] + tex.sample(0.875, 0.5, 0.5)
"""
    )
    tex = tack.texture3d(ramp(4, 1, 1) + 5)
    for target in (CPU, PAIR, INTERPRETER):
        assert target.run(k, [tex, np.zeros(3, F32)]) == 5 + 1 + 8


@pytest.mark.rule("F2")
def test_objects_of_device_classes_hold_textures():
    names = define(
        """
        @tack.device_class
        class Field:
            scale = 2

            def __init__(self, tex):
                self.tex = tex

            @tack.func
            def at(self, u):
                return self.tex.sample(u, 0.5, 0.5) * self.scale
        """
    )
    k = kernel("out[i] = f.at((i + 0.5) / 4) + f.tex.sample(0.875, 0.5, 0.5)", "f, out")
    out = tack.zeros(4)
    for interp, expected in (("linear", [3, 5, 7, 9]), ("nearest", [3, 5, 7, 9])):
        k(names["Field"](tack.texture3d(ramp(4, 1, 1), interp=interp)), out)
        assert out.numpy().tolist() == expected
    k(names["Field"](tack.texture3d(ramp(2, 1, 1))), out)
    assert out.numpy().tolist() == [1, 1.5, 2.5, 3]


# -------------------------------------------------------------------------------------------------------- the object


def test_it_owns_a_copy_and_update_copies_again():
    source = tack.array(ramp(2, 2, 2))
    tex = tack.texture3d(source)
    source.fill(50)
    assert samples(tex, of(F32, 0, 1), 0, 0).tolist() == [0, 1]
    tex.update()
    assert samples(tex, of(F32, 0, 1), 0, 0).tolist() == [50, 50]
    host = ramp(2, 2, 2)
    tex = tack.texture3d(host)
    host[...] = 3
    assert samples(tex, of(F32, 1), 0, 0).tolist() == [1]
    tex.update()
    assert samples(tex, of(F32, 1), 0, 0).tolist() == [3]


def test_shape_is_x_first_and_x_is_fastest():
    flat = np.arange(24, dtype=F32)
    for source in (flat, tack.array(flat), flat.reshape(4, 6)):
        tex = tack.texture3d(source, shape=(4, 3, 2))
        assert tex.shape_3d == (4, 3, 2)
        assert samples(tex, (np.arange(4) + 0.5) / 4, 0, 0).tolist() == [0, 1, 2, 3]
        assert samples(tex, 0, of(F32, 0.5), 1).tolist() == [16]
    assert repr(tex) == "tack.texture3d(4 x 3 x 2, linear, device=cpu)"
    assert tex.interp == "linear" and str(tex.device) == "cpu"


def test_strided_sources_are_copied_right():
    a = ramp(4, 4, 4)[::2, ::-1, ::2]
    tex = tack.texture3d(a)
    assert tex.shape_3d == (2, 4, 2)
    assert samples(tex, 0, of(F32, 0), 0).tolist() == [30]


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "words"),
    [
        ((np.zeros((2, 2, 2)),), {}, TypeError, ("hold tack.f32, not float64", "astype(np.float32)")),
        ((tack.zeros((2, 2, 2), tack.i32),), {}, TypeError, ("hold tack.f32, not tack.i32", "a.astype(tack.f32)")),
        (([[[1.0]]],), {}, TypeError, ("not list", "tack.array")),
        ((np.zeros(8, F32),), {}, ValueError, ("1 dimensions and not 3", "shape=(W, H, D)")),
        ((np.zeros(8, F32), (2, 2)), {}, ValueError, ("(W, H, D)",)),
        ((np.zeros(8, F32), 8), {}, ValueError, ("(W, H, D)",)),
        ((np.zeros(8, F32), (2, 2, 3)), {}, ValueError, ("2 x 2 x 3", "8 elements")),
        ((np.zeros((0, 2, 2), F32),), {}, ValueError, ("from 1 to",)),
        ((np.zeros((1, 1, 1), F32),), {"interp": "cubic"}, ValueError, ("'linear' or 'nearest'", "'cubic'")),
        ((np.zeros((1, 1, 1), F32),), {"device": "abacus"}, ValueError, ("abacus",)),
    ],
)
def test_bad_arguments(args, kwargs, kind, words):
    with pytest.raises(kind) as caught:
        tack.texture3d(*args, **kwargs)
    assert all(word in str(caught.value) for word in words), str(caught.value)


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "kind", "words", "at"),
    [
        ("out[i] = tex[i]", TypeError, "is a texture", "tex[i]"),
        ("out[i] = tex[0, 0, 0]", TypeError, "is a texture", "tex[0, 0, 0]"),
        ("tex[i] = 1", TypeError, "is a texture", "tex[i]"),
        ("tex[0] += 1", TypeError, "is a texture", "tex[0] += 1"),
        ("out[i] = tex", TypeError, "is a texture", "tex"),
        ("out[i] = tex + 1", TypeError, "is a texture", "tex"),
        ("out[i] = tex.shape[0]", TypeError, "is a texture", "tex.shape[0]"),
        ("out[i] = len(tex)", TypeError, "is a texture", "len(tex)"),
        ("out[i] = tex.size", TypeError, "only `sample`", "tex"),
        ("out[i] = tex.sample(0.5, 0.5)", TypeError, "three coordinates, not 2", "tex.sample(0.5, 0.5)"),
        ("out[i] = tex.sample(0.5, 0.5, w=0.5)", TypeError, "no keyword", "w=0.5"),
        ("out[i] = out.sample(0.5, 0.5, 0.5)", TypeError, "an array was passed", "out.sample(0.5, 0.5, 0.5)"),
        ("out[i] = n.sample(0.5, 0.5, 0.5)", TypeError, "a number was passed", "n.sample(0.5, 0.5, 0.5)"),
        ("t = 1\nout[i] = t.sample(0.5, 0.5, 0.5)", tack.UnsupportedSyntaxError, "no methods", "t.sample(0.5, 0.5, 0.5)"),
        ("out[i] = tex.update()", TypeError, "only `sample`", "tex"),
        ("out[i] = tex.shape_3d", TypeError, "only `sample`", "tex"),
        ("tex = 1\nout[i] = tex", TypeError, "is a texture", "tex"),
    ],
)
def test_refusals(body, kind, words, at):
    k = kernel(body, "tex, n, out")
    out = tack.zeros(2)
    refuses(kind, lambda: k(tack.texture3d(ramp(2, 2, 2)), 3, out), "'k'", words, at=at)
    assert out.numpy().tolist() == [0, 0]


def test_a_sample_bounds_no_loop():
    k = kernel("out[i] = 1", "tex, out", loop="range(int(tex.sample(0, 0, 0)))")
    refuses(TypeError, lambda: k(tack.texture3d(ramp(2, 2, 2)), tack.zeros(2)), "bound", at="tex.sample(0, 0, 0)")


# ------------------------------------------------------------------------------------------------------------- keys


def variants(k):
    return tack.get_default_device()._backend._cache.get(k, {})


@pytest.mark.spec("cache-013", "cache-039", "cache-041", "cache-043", "cache-067", "cache-069", "cache-077")
def test_extents_and_filter_are_keys_texels_are_not():
    k = sampler()
    coordinates = [tack.zeros(2) for _ in range(3)]
    out = tack.zeros(2)

    def call(a, interp="linear"):
        tex = tack.texture3d(a, interp=interp)
        k(tex, *coordinates, out)
        k(tex, *coordinates, out)
        return len(variants(k))

    assert [call(ramp(2, 3, 4)), call(ramp(2, 3, 4) + 1), call(ramp(4, 3, 2)), call(ramp(2, 3, 4), "nearest")] == [1, 1, 2, 3]
    key, variant = next(iter(variants(k).items()))
    param_sig, vec_sig, tmpl_key, shape_sig, _ = key
    assert param_sig[0] == (tack.f32, True, False, (2, 3, 4))
    assert all(entry == (tack.f32, True, False, None) for entry in param_sig[1:])
    assert vec_sig == () and tmpl_key is None and shape_sig == (2, 3, 4)
    assert variant.has_textures
    template = k._ir_cache[(("tex", (0, (2, 3, 4))),)]
    assert ir_shape_deps(template) == (("tex", 0), ("tex", 1), ("tex", 2))
    assert shape_signature(template, {"tex": tack.texture3d(ramp(5, 6, 7))}) == (5, 6, 7)


@pytest.mark.spec("cache-025", "cache-026")
def test_a_texture_that_is_not_sampled_is_in_the_key_by_its_extents_alone():
    k = kernel("out[i] = 1", "tex, out")
    out = tack.zeros(2)
    for a in (ramp(2, 3, 4), ramp(2, 3, 4), ramp(4, 3, 2)):
        k(tack.texture3d(a), out)
    assert [(key[0][0][3], key[3]) for key in variants(k)] == [((2, 3, 4), ()), ((4, 3, 2), ())]


@pytest.mark.spec("cache-035", "cache-041")
def test_the_probe_says_whether_hardware_samples():
    k = sampler()
    args = [tack.texture3d(ramp(2, 3, 4)), *(tack.zeros(2) for _ in range(4))]
    for hardware in (True, False):
        probe = _KeyProbe(k.template())
        store_texture_shapes(probe, args, hardware)
        assert probe.params[0]._is_texture is hardware and probe.params[0]._texture_shape == (2, 3, 4)
        assert not probe.params[1]._is_texture and probe.params[1]._texture_shape is None


def test_arrays_that_do_not_overlap_stay_disjoint_beside_textures():
    k = kernel("out[i] = tex.sample(u[i], 0, 0)", "tex, u, out")
    u, out = tack.zeros(4), tack.zeros(4)
    k(tack.texture3d(ramp(2, 2, 2)), u, out)
    k(tack.texture3d(ramp(2, 2, 2)), u, u)
    assert [key[4] for key in variants(k)] == [True, False]


# -------------------------------------------------------------------------------------------------------- emitted C


def test_emitted_c_samples_in_software_or_by_hardware(tmp_path: Path):
    rng = np.random.default_rng(5)
    tex = tack.texture3d(rng.uniform(-1, 1, (3, 4, 5)).astype(F32))
    u, v, w = rng.uniform(-0.2, 1.2, (3, 300)).astype(F32)
    target = EmittedTarget(tmp_path)
    out = np.zeros(300, F32)
    target.run(sampler(), [tex, u, v, w, out])
    np.testing.assert_array_equal(out, samples(tex, u, v, w))
    func = typed(sampler(), [tex, u, v, w, out], fma=True, hardware=True)
    ptx = compile_all([(func, "hardware"), *target.kernels])
    assert "tex.3d" in ptx["hardware"].partition("hardware")[2]
