"""Rules E1 to E6 through compiled code and the interpreter: order, aliasing, fused products and races."""

import math
import warnings

import gmpy2
import numpy as np
import pytest
from rule_tools import CPU, functions, kernel, of, run, value

import tack
from tack.testing import FanoutTarget, kernel_from

# Each call appends its number to `log`, so that the order of evaluation shows, and gives `x`.
NOTE = functions(
    """
    @tack.func
    def note(log, n, x):
        log[0] += 1
        log[log[0]] = n
        return x

    @tack.func
    def bump(a, k):
        a[k] += 1
        return a[k]
    """
)


def order(text):
    """The numbers that `note(out, n, value)` calls in one statement wrote, in order; `a` is a scratch array."""
    log = run(kernel(text, "a, out", "range(1)", **NOTE), np.arange(1, 9), np.zeros(32, np.int64))
    return log[1 : 1 + log[0]].tolist()


# ----------------------------------------------------------------------------------------------------- E1: the order


@pytest.mark.rule("E1", "F1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[0] = note(out, 1, 2) + note(out, 2, 3) * note(out, 3, 4)", [1, 2, 3]),
        ("a[0] = (note(out, 1, 2) + note(out, 2, 3)) * -note(out, 3, 4)", [1, 2, 3]),
        ("a[0] = min(note(out, 1, 2), note(out, 2, 3), note(out, 3, 4))", [1, 2, 3]),
        ("a[0] = tack.select(note(out, 1, 2) > 5, note(out, 2, 3), note(out, 3, 4))", [1, 2, 3]),
        ("a[0] = note(out, 1, 2) if note(out, 2, 0) else note(out, 3, 4)", [2, 3]),
        ("a[0] = note(out, 1, 0) > 0 and note(out, 2, 3) > 0", [1]),
        ("a[0] = note(out, 1, 1) > 0 and note(out, 2, 3) > 0", [1, 2]),
        ("a[0] = note(out, 1, 1) > 0 or note(out, 2, 3) > 0", [1]),
        ("a[0] = not (note(out, 1, 0) > 0 or note(out, 2, 3) > 0)", [1, 2]),
        ("a[0] = note(out, 1, 1) < note(out, 2, 3) < note(out, 3, 4)", [1, 2, 3]),
        ("a[0] = note(out, 1, 5) < note(out, 2, 3) < note(out, 3, 4)", [1, 2]),
        ("a[note(out, 2, 1)] = note(out, 1, 5)", [1, 2]),
        ("a[note(out, 1, 1)] += note(out, 2, 5)", [1, 2]),
        ("a[note(out, 3, 1)], a[note(out, 4, 2)] = note(out, 1, 5), note(out, 2, 6)", [1, 2, 3, 4]),
        ("a[0] = a[1] = note(out, 1, 5)", [1]),
        ("for k in range(note(out, 1, 0), note(out, 2, 2), note(out, 3, 1)):\n    a[0] = note(out, 4, 1)", [1, 2, 3, 4, 4]),
        ("n = 0\nwhile note(out, 1, n) < 2:\n    n += 1", [1, 1, 1]),
        ("if note(out, 1, 0):\n    a[0] = note(out, 2, 1)\nelif note(out, 3, 1):\n    a[0] = note(out, 4, 1)", [1, 3, 4]),
        ("note(out, 1, note(out, 2, 3))", [2, 1]),
        ("a[0] = tack.i8(note(out, 1, 3)) + abs(note(out, 2, 3)) + tack.math.floor(note(out, 3, 1.5))", [1, 2, 3]),
        ("a[0] = note(out, 1, 2) ** note(out, 2, 3) << note(out, 3, 1)", [1, 2, 3]),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_operands_are_evaluated_left_to_right_each_once(text, expected):
    assert order(text) == expected


@pytest.mark.rule("E1", "E4")
def test_loads_see_the_stores_of_operands_before_them():
    a = np.arange(1, 5, dtype=np.int64)

    def both(text):
        return run(kernel(f"out[0] = {text}", "a, out", "range(1)", **NOTE), a, np.zeros(1, np.int64)).tolist()

    assert both("a[0] * 100 + bump(a, 0) * 10 + a[0]") == [100 + 20 + 2]
    assert both("bump(a, 0) - a[0] + bump(a, 0) * a[0]") == [2 - 2 + 9]
    assert both("a[a[0]] * bump(a, 0) + a[a[0]]") == [2 * 2 + 3]
    assert both("(a[1] if a[0] == 1 else 0) + bump(a, 1) * 0 + bump(a, 0) * 0 + (a[1] if a[0] == 1 else 0)") == [2]
    assert both("max(a[0], bump(a, 0) * 0, a[0] * 0)") == [1]


@pytest.mark.rule("E1")
def test_what_is_not_evaluated_is_not_read():
    """The other arm would read far outside."""
    far = 1 << 44
    assert value(f"a[i] if i < 2 else a[i + {far}]", of(np.int64, 5, 6)) == [5, 6]
    assert value(f"t = i > 5 and a[i + {far}] > 0\nout[i] = t", of(np.int64, 5, 6)) == [0, 0]
    assert value(f"t = i < 5 or a[i + {far}] > 0\nout[i] = t", of(np.int64, 5, 6)) == [1, 1]
    assert value(f"t = 9 < i < a[i + {far}]\nout[i] = t", of(np.int64, 5, 6)) == [0, 0]
    assert value(f"if i > 5:\n    out[i] = a[i + {far}]", of(np.int64, 5, 6)) == [0, 0]
    assert value(f"for k in range(i):\n    if i > 1:\n        out[i] = a[i + {far}]", of(np.int64, 5, 6)) == [0, 0]


# ------------------------------------------------------------------------------------------------- E2: assignments


@pytest.mark.rule("E2")
def test_a_store_evaluates_the_value_then_the_index():
    k = kernel("out[bump(a, 0)] = bump(a, 0) * 10", "a, out", "range(1)", **NOTE)
    assert run(k, of(np.int64, 0), np.zeros(4, np.int64)).tolist() == [0, 0, 10, 0]


@pytest.mark.rule("E2", "F1")
def test_augmented_assignment_evaluates_the_index_once_and_reads_before_the_value():
    """`f(a, i)` changes a[i]: the old value was read before."""
    helpers = functions("@tack.func\ndef f(a, i):\n    a[i] = 100\n    return 1\n")
    (a,) = run(kernel("a[i] += f(a, i)", "a", "range(a.shape[0])", **helpers), of(np.int64, 1, 2, 3))
    assert a.tolist() == [2, 3, 4]
    k = kernel("out[bump(a, 0)] += 7", "a, out", "range(1)", **NOTE)
    assert run(k, of(np.int64, 0), np.ones(4, np.int64)).tolist() == [1, 8, 1, 1]
    k = kernel("out[a[0]] -= bump(a, 0)", "a, out", "range(1)", **NOTE)
    assert run(k, of(np.int64, 0), np.zeros(4, np.int64)).tolist() == [-1, 0, 0, 0]


@pytest.mark.rule("E2", "K4")
def test_tuple_assignment_evaluates_the_whole_right_side_first():
    (a,) = run(kernel("a[0], a[1], a[2] = a[1], a[2], a[0]", "a", "range(1)"), of(np.int64, 1, 2, 3))
    assert a.tolist() == [2, 3, 1]
    assert value("x, y = 1, 2\nx, y = y, x + y\nx, y = y, x + y\nout[i] = x * 10 + y") == [35]
    (a, b) = run(kernel("a[i], b[i] = b[i], a[i]", "a, b", "range(a.shape[0])"), of(np.int64, 1, 2), of(np.int64, 8, 9))
    assert (a.tolist(), b.tolist()) == ([8, 9], [1, 2])
    # targets from left to right: the second index sees the new x
    assert value("x = 0\nx, out[x] = 1, 5", size=2, loop="range(1)") == [0, 5]


# ---------------------------------------------------------------------------------------------------- E3: the bounds


@pytest.mark.rule("E3")
def test_bounds_of_inner_loops_are_evaluated_once():
    assert value("n = 3\nfor k in range(n):\n    n += 5\n    out[i] += 1\nout[i] = out[i] * 100 + n") == [318]
    assert value("s = 2\nfor k in range(0, 10, s):\n    s = 1\n    out[i] += 1") == [5]
    k = kernel("for k in range(a[0]):\n    a[0] = 9\n    out[0] += 1", "a, out", "range(1)")
    assert run(k, of(np.int64, 4), np.zeros(1, np.int64)).tolist() == [4]


# ------------------------------------------------------------------------------------------------------ E4: aliasing


@pytest.mark.rule("E4", "M2")
def test_a_load_sees_earlier_stores_through_any_array():
    """`a` and `b` are one array, or shifted views of one, so nothing may be kept in a register."""
    k = kernel("a[0] = 5\nb[0] = 7\nout[0] = a[0] * 100 + b[1]\na[1] = 3\nout[1] = b[0] * 10 + b[1]", "a, b, out", "range(1)")

    def both(shift, n=8):
        base = tack.array(np.arange(n, dtype=np.int64))
        out = tack.zeros(2, dtype=tack.i64)
        k(base[: n - 1], base[shift : shift + n - 1], out)
        model = list(range(n))
        model[0] = 5
        model[shift] = 7
        first = model[0] * 100 + model[shift + 1]
        model[1] = 3
        second = model[shift] * 10 + model[shift + 1]
        assert out.numpy().tolist() == [first, second]
        assert base.numpy().tolist() == model

    both(0)
    both(1)
    apart = [tack.array(np.arange(3, dtype=np.int64)) for _ in range(2)]
    out = tack.zeros(2, dtype=tack.i64)
    k(*apart, out)
    assert out.numpy().tolist() == [501, 71]


@pytest.mark.rule("E4", "E5")
def test_loads_are_not_hoisted_past_stores_that_may_alias():
    k = kernel("for k in range(n):\n    out[i] += x[0]\n    y[0] += 1", "x, y, n, out", "range(1)")
    for shared in (True, False):
        x = tack.array(of(np.int64, 1))
        y = x if shared else tack.array(of(np.int64, 1))
        out = tack.zeros(1, dtype=tack.i64)
        k(x, y, 5, out)
        assert out.numpy().tolist() == [1 + 2 + 3 + 4 + 5 if shared else 5]
        out = tack.zeros(1, dtype=tack.i64)
        k(x[:0], y, 0, out)  # a loop that runs nothing reads nothing
        assert out.numpy().tolist() == [0]


# --------------------------------------------------------------------------------------------------------- E5: fma


def fused(a, b, c, dtype):
    """a * b + c, rounded once, by MPFR."""
    with gmpy2.context(precision=24 if dtype is np.float32 else 53):
        return float(gmpy2.fma(gmpy2.mpfr(float(a)), gmpy2.mpfr(float(b)), gmpy2.mpfr(float(c))))


def with_inexact_products(dtype):
    draw = np.random.default_rng(4)
    return [draw.uniform(1, 2, 40).astype(dtype) for _ in range(4)]


operands = pytest.mark.parametrize("triple", [*map(with_inexact_products, [np.float32, np.float64])], ids=["f32", "f64"])


FUSED = {
    "a[i] * b[i] + c[i]": (1, 1), "c[i] + a[i] * b[i]": (1, 1), "a[i] * b[i] - c[i]": (1, -1), "c[i] - a[i] * b[i]": (-1, 1),
    "(a[i] * b[i]) + c[i]": (1, 1), "-(a[i] * b[i]) + c[i]": (-1, 1), "c[i] + (-(a[i] * b[i]))": (-1, 1),
    "c[i] - (-(a[i] * b[i]))": (1, 1), "-(a[i] * b[i]) - c[i]": (-1, -1), "-a[i] * b[i] + c[i]": (-1, 1),
}  # fmt: skip


@pytest.mark.rule("E5")
@pytest.mark.parametrize("text", FUSED)
@operands
def test_a_sum_with_one_product_is_fused(text, triple):
    if not CPU.capabilities.fma:
        return
    a, b, c, _ = triple
    kind = a.dtype.type
    product, addend = FUSED[text]
    expected = [fused(product * x, y, addend * z, kind) for x, y, z in zip(a, b, c)]
    assert value(text, a, b, c, dtype=kind) == expected
    assert expected != (product * (a * b) + addend * c).tolist()  # the operands do tell the two apart


@pytest.mark.rule("E5")
@operands
def test_augmented_sums_are_fused(triple):
    if not CPU.capabilities.fma:
        return
    a, b, c, _ = triple
    kind = a.dtype.type
    plus, minus = ([fused(s * x, y, z, kind) for x, y, z in zip(a, b, c)] for s in (1, -1))
    assert value("t = c[i]\nt += a[i] * b[i]\nout[i] = t", a, b, c, dtype=kind) == plus
    assert value("t = c[i]\nt -= a[i] * b[i]\nout[i] = t", a, b, c, dtype=kind) == minus
    assert value("out[i] = c[i]\nout[i] += a[i] * b[i]", a, b, c, dtype=kind) == plus
    # a chain from left to right: (a*b + c) + d*a
    first = value("a[i] * b[i] + c[i] + a[i] * c[i]", a, b, c, dtype=kind)
    assert first == [fused(x, z, p, kind) for x, z, p in zip(a, c, plus)]


@pytest.mark.rule("E5")
@operands
def test_two_products_are_not_fused(triple):
    a, b, c, d = triple
    kind = a.dtype.type
    assert value("a[i] * b[i] - c[i] * d[i]", a, b, a, b, dtype=kind) == [0.0] * 40
    assert value("a[i] * b[i] + c[i] * d[i]", a, b, c, d, dtype=kind) == (a * b + c * d).tolist()
    assert value("a[i] * b[i] - a[i] * b[i]", a, b, dtype=kind) == [0.0] * 40
    assert value("t = a[i] * b[i]\nt -= a[i] * b[i]\nout[i] = t + 1", a, b, dtype=kind) == (
        [kind(1) + kind(fused(-x, y, x * y, kind)) for x, y in zip(a, b)] if CPU.capabilities.fma else [1.0] * 40
    )


@pytest.mark.rule("E5", "F1", "T6")
@operands
def test_products_through_locals_calls_and_powers_are_not_fused(triple):
    a, b, c, _ = triple
    kind = a.dtype.type
    helpers = functions(
        """
        @tack.func
        def times(x, y):
            return x * y

        @tack.func
        def plus(x, y):
            return x + y
        """
    )
    rounded = (a * b + c).tolist()
    assert value("t = a[i] * b[i]\nout[i] = t + c[i]", a, b, c, dtype=kind) == rounded
    assert value("times(a[i], b[i]) + c[i]", a, b, c, dtype=kind, **helpers) == rounded
    assert value("plus(a[i] * b[i], c[i])", a, b, c, dtype=kind, **helpers) == rounded
    assert value("out[i] = a[i] * b[i]\nout[i] += c[i]", a, b, c, dtype=kind) == rounded
    assert value("a[i] ** 2 + c[i]", a, b, c, dtype=kind) == (a * a + c).tolist()
    assert value("a[i] ** 3 + c[i]", a, b, c, dtype=kind) == (a * a * a + c).tolist()
    assert value("max(a[i] * b[i], 0.0) + c[i]", a, b, c, dtype=kind) == rounded
    assert value("+(a[i] * b[i]) / 1.0 + c[i]", a, b, c, dtype=kind) == rounded


@pytest.mark.rule("E5")
def test_only_floating_products_of_the_same_type_are_fused():
    a, b = of(np.float32, 1.1, 1.3), of(np.float32, 1.7, 1.9)
    c = of(np.float64, 0.3, 0.7)
    # an f32 product beside an f64 is rounded to f32 and then converted
    assert value("a[i] * b[i] + c[i]", a, b, c, dtype=np.float64) == ((a * b).astype(np.float64) + c).tolist()
    n = of(np.int32, 3, 5)
    assert value("a[i] * a[i] + b[i]", n, a, dtype=np.float32) == ((n * n).astype(np.float32) + a).tolist()


@pytest.mark.rule("E5", "M2")
def test_disjoint_and_aliasing_calls_give_the_same_bits():
    k = kernel("out[i] = x[i] * y[i] + x[i]", "x, y, out", "range(x.shape[0])")
    draw = np.random.default_rng(3)
    x, y = (draw.uniform(-1, 1, 1000).astype(np.float32) for _ in range(2))
    apart = run(k, x, y, np.zeros(1000, np.float32), interpreted=False)
    tx, ty = tack.array(x), tack.array(y)
    k(tx, ty, tx)
    np.testing.assert_array_equal(tx.numpy(), apart)


@pytest.mark.rule("E5")
def test_results_do_not_depend_on_threads():
    k = kernel("t = 0.0\nfor k in range(20):\n    t = t * 0.9 + x[i] * 0.3\nout[i] = t", "x, out")
    x = np.random.default_rng(8).uniform(-1, 1, 500).astype(np.float32)
    whole = run(k, x, np.zeros(500, np.float32))
    for threads in (2, 3):
        target = FanoutTarget(tack.device("cpu", num_threads=threads), f"{threads} threads")
        out = np.zeros(500, np.float32)
        target.run(k, [x, out])
        np.testing.assert_array_equal(out, whole)
        assert target.worker_chunks


# -------------------------------------------------------------------------------------------------------- E6: races


@pytest.mark.rule("E6")
def test_a_sieve_that_reads_the_flags_of_others_is_right():
    sieve = kernel(
        "if flags[i]:\n    for k in range(i * i, flags.shape[0], i):\n        flags[k] = 0", "flags", "range(2, flags.shape[0])"
    )
    n = 3000
    expected = [int(p > 1 and all(p % q for q in range(2, math.isqrt(p) + 1))) for p in range(n)]
    flags = np.ones(n, np.uint8)
    flags[:2] = 0
    target = FanoutTarget(tack.device("cpu", num_threads=3), "three threads")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            found = flags.copy()
            target.run(sieve, [found])
            assert found.tolist() == expected


@pytest.mark.rule("E6")
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float32, np.int64, np.float64])
def test_a_race_leaves_one_of_the_stored_values(dtype):
    """Two values that share no byte, so that a torn store would show; the elements beside it are untouched."""
    k = kernel("out[3] = a[i % 2]", "a, n, out", "range(n)")
    raw = np.frombuffer(bytes([0x11] * 8 + [0x22] * 8), np.uint8)
    a = (
        np.ascontiguousarray(np.array([raw[: np.dtype(dtype).itemsize], raw[8 : 8 + np.dtype(dtype).itemsize]]))
        .view(dtype)
        .ravel()
    )
    target = FanoutTarget(tack.device("cpu", num_threads=3), "three threads")
    out = np.zeros(8, dtype)
    target.run(k, [a, 400, out])
    assert out[3] in a
    out[3] = 0
    assert not out.any()


def _call(k):
    values = {"n": 4, "x": tack.zeros(64), "out": tack.zeros(64), "g": tack.zeros((8, 8)), "h": tack.zeros((8, 8))}
    k(*(values[name] for name in k.param_names))


WARNS = {
    "x[i] = x[i + 1]": "range(n)", "x[i] = x[i - 1] + 1": "range(1, n)", "out[i] = x[i + 1]\nx[i] = 0.0": "range(n)",
    "x[i] += x[i + 2]": "range(0, n, 2)", "t = x[i + 1]\nx[i] = t": "range(n)", "x[i] = x[1 + i]": "range(n)",
    "for k in range(3):\n    x[i] += x[i + 1]": "range(n)", "j = i + 3\nx[i] = x[j]": "range(n)",
}  # fmt: skip


@pytest.mark.rule("E6")
@pytest.mark.parametrize("body", WARNS)
def test_a_stored_array_read_at_a_constant_offset_warns_once(body):
    params = "x, n, out"
    k = kernel(body, params, WARNS[body])
    with pytest.warns(tack.RaceWarning) as caught:
        _call(k)
    (warning,) = caught
    text = str(warning.message)
    line = next(n for n, each in enumerate(body.splitlines(), 4) if each.lstrip().startswith("x[i]"))
    assert "'k'" in text and "'x'" in text and f"line {line}, column" in text  # where it is stored
    assert "x[i]" in text and "^^^^" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _call(k)  # once per kernel


@pytest.mark.rule("E6")
def test_the_warning_shows_in_ndindex_in_any_one_dimension():
    text = "@tack.kernel\ndef k(g):\n    for i, j in tack.ndindex(6, 6):\n        g[i, j] = g[{}]\n"
    for index in ("i, j + 1", "i + 1, j", "i, 1 + j"):
        with pytest.warns(tack.RaceWarning, match="'g'|g\\["):
            _call(kernel_from(text.format(index)))
    for index in ("i, j", "i + 1, j + 1", "j, i"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _call(kernel_from(text.format(index)))


@pytest.mark.rule("E6")
@pytest.mark.parametrize(
    ("body", "loop"),
    [
        ("out[i] = x[i + 1]", "range(n)"), ("x[i] = x[i] + 1", "range(n)"), ("if i == 0:\n    x[i] = x[i + 1]", "range(n)"),
        ("x[i] = x[i + 1]", "range(0, n, 2)"), ("x[i] = x[i + 1] if i == 0 else 0.0", "range(n)"),
        ("if x[i] > 0:\n    x[i] = x[i + 1]", "range(n)"), ("x[2 * i] = x[2 * i + 1]", "range(n)"), ("x[i] = x[n]", "range(n)"),
        ("if i % 2:\n    continue\nx[i] = x[i + 1]", "range(n)"), ("x[i] = x[0]", "range(n)"), ("x[i] = out[i + 1]", "range(n)"),
        ("x[i] = x[i + 1]", "range(1)"),
    ],
)  # fmt: skip
def test_other_accesses_do_not_warn(body, loop):
    k = kernel(body, "x, n, out", loop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _call(k)


@pytest.mark.rule("E6")
def test_the_warning_can_be_made_an_error_before_anything_runs():
    k = kernel("x[i] = x[i + 1]", "x, n, out", "range(n)")
    x = tack.array(np.arange(64, dtype=np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error", tack.RaceWarning)
        with pytest.raises(tack.RaceWarning):
            k(x, 4, tack.zeros(64))
    assert x.numpy().tolist() == list(range(64))
