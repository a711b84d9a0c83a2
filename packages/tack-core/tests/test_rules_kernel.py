"""Rules K1 to K7 and N3 to N6, end to end: the shape of a kernel, its loop, its iterations and its names."""

import numpy as np
import pytest
from host_c import HostUnit
from rule_tools import CPU, INTERPRETER, functions, kernel, of, refused, refuses, run, value

import tack
from tack.testing import FanoutTarget, kernel_from
from tack.testing.targets import typed

UNSUPPORTED = tack.UnsupportedSyntaxError


def lowered(k):
    """Lowers a kernel, which every call does first."""
    return lambda: k.template()


# --------------------------------------------------------------------------------------------------- K1: the one loop


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize(
    "bounds",
    [(7,), (2, 7), (0, 7, 1), (0, 7, 2), (1, 8, 3), (7, 0, -1), (7, 0, -3), (6, -1, -2), (-3, 4), (-8, -1, 5), (4, -5, -4)],
)
def test_the_loop_runs_over_a_range_with_any_step(bounds):
    out = np.zeros(20, np.int64)
    expected = np.zeros(20, np.int64)
    for i in range(*bounds):
        expected[i + 10] = i * 3 + 1
    text = ", ".join(map(str, bounds))
    assert run(kernel("out[i + 10] += i * 3 + 1", "out", f"range({text})"), out).tolist() == expected.tolist()
    # the same bounds as arguments
    names = ["first", "last", "by"][: len(bounds)] if len(bounds) > 1 else ["last"]
    k = kernel("out[i + 10] += i * 3 + 1", ", ".join([*names, "out"]), f"range({', '.join(names)})")
    assert run(k, *bounds, out).tolist() == expected.tolist()


@pytest.mark.rule("K1")
def test_a_zero_step_is_refused_before_the_launch():
    k = kernel("out[i] = 1", "step, out", "range(0, 4, step)")
    out = tack.zeros(4, dtype=tack.i64)
    with pytest.raises(ValueError) as caught:
        k(0, out)
    assert "'k'" in str(caught.value) and "step" in str(caught.value) and "zero" in str(caught.value)
    assert out.numpy().tolist() == [0] * 4
    k(2, out)
    assert out.numpy().tolist() == [1, 0, 1, 0]
    refuses(ValueError, lowered(kernel("out[i] = 1", "out", "range(0, 4, 0)")), "zero", at="0")


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_ndindex_walks_rows(dims):
    shape = (3, 2, 4, 5)[:dims]
    names = "ijkl"[:dims]
    sizes = ", ".join(f"out.shape[{d}]" for d in range(dims))
    target = ", ".join(names) if dims > 1 else "i"
    position = " + ".join(f"{n} * {10**d}" for d, n in enumerate(names))
    text = (
        f"@tack.kernel\ndef k(out):\n    for {target} in tack.ndindex({sizes}):\n        out[{', '.join(names)}] += {position}\n"
    )
    expected = sum(index * 10**d for d, index in enumerate(np.indices(shape)))
    assert run(kernel_from(text), np.zeros(shape, np.int64)).tolist() == expected.tolist()
    # pairs (start, end)
    pairs = ", ".join(f"(1, out.shape[{d}])" for d in range(dims))
    inner = np.zeros(shape, np.int64)
    inner[(slice(1, None),) * dims] = expected[(slice(1, None),) * dims]
    assert run(kernel_from(text.replace(sizes, pairs)), np.zeros(shape, np.int64)).tolist() == inner.tolist()


@pytest.mark.rule("K1", "K3", "K5")
@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_every_index_runs_once_in_chunks_of_any_size(dims):
    """Chunks that begin and end anywhere in a row, on three threads."""
    shape, first = (4, 3, 2, 5)[:dims], (1, 0, 1, 2)[:dims]
    names, target = "ijkl"[:dims], ", ".join("ijkl"[:dims])
    pairs = ", ".join(f"({low}, out.shape[{d}])" for d, low in enumerate(first))
    position = " + ".join(f"{n} * {10**d}" for d, n in enumerate(names))
    text = f"@tack.kernel\ndef k(out):\n    for {target} in tack.ndindex({pairs}):\n        out[{target}] += 1 + {position}\n"
    expected = np.zeros(shape, np.int64)
    inside = tuple(slice(low, None) for low in first)
    expected[inside] = 1 + sum(index * 10**d for d, index in enumerate(np.indices(shape)))[inside]
    target = FanoutTarget(tack.device("cpu", num_threads=3), "three threads")
    k = kernel_from(text)
    for _ in range(3):
        out = np.zeros(shape, np.int64)
        target.run(k, [out])
        assert out.tolist() == expected.tolist()
    assert target.worker_chunks or expected.size < 2


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize(("first", "last", "step"), [(3, 50, 1), (50, 3, -1), (0, 50, 7), (49, -1, -4), (-5, 40, 3)])
def test_every_index_of_a_range_with_a_step_runs_once_in_chunks(first, last, step):
    expected = np.zeros(64, np.int64)
    for i in range(first, last, step):
        expected[i + 8] += i
    target = FanoutTarget(tack.device("cpu", num_threads=3), "three threads")
    for loop, args in ((f"range({first}, {last}, {step})", ()), ("range(first, last, step)", (first, last, step))):
        k = kernel("out[i + 8] += i", "first, last, step, out" if args else "out", loop)
        out = np.zeros(64, np.int64)
        target.run(k, [*args, out])
        assert out.tolist() == expected.tolist()


@pytest.mark.rule("K1", "K2")
def test_bounds_of_scalars_shapes_constants_and_prologue_locals():
    N = tack.constant(3)
    before = "m = a.shape[0] - 1\nif n > 2:\n    m = m - N\nn = m * 2"
    k = kernel("out[i] = n", "a, n, out", "range(N - 2, n)", before, N=N)
    for n, size in ((1, 4), (5, 7)):
        m = size - 1 - (3 if n > 2 else 0)
        expected = [2 * m if 1 <= i < 2 * m else 0 for i in range(12)]
        assert run(k, np.zeros(size, np.int32), n, np.zeros(12, np.int64))[:].tolist() == expected


@pytest.mark.rule("K1")
def test_an_array_element_in_a_bound_is_refused():
    for k in (kernel("out[i] = 1", loop="range(a[0])"), kernel("out[i] = 1", loop="range(n)", before="n = a[0] + 1")):
        refuses(TypeError, lowered(k), "'a'", "bound of the parallel loop", "Pass it as an argument", at="a[0]")


@pytest.mark.rule("K1")
def test_no_loop_two_loops_and_nested_loops_are_refused():
    refuses(UNSUPPORTED, lowered(kernel_from("@tack.kernel\ndef alone(a):\n    t = a[0]\n")), "no parallel loop", at="alone")
    two = "@tack.kernel\ndef k(a):\n    for i in range(3):\n        a[i] = 1\n    for j in range(4):\n        a[j] = 2\n"
    refuses(UNSUPPORTED, lowered(kernel_from(two)), "second loop", at="for j in range(4)")
    nested = "@tack.kernel\ndef k(a, n):\n    if n:\n        for i in range(3):\n            a[i] = 1\n"
    refuses(UNSUPPORTED, lowered(kernel_from(nested)), "inside", at="for i in range(3)")
    loop = "@tack.kernel\ndef k(a, n):\n    while n:\n        for i in range(3):\n            a[i] = 1\n"
    refuses(UNSUPPORTED, lowered(kernel_from(loop)), "inside", at="for i in range(3)")
    other = kernel("out[i] = 1", loop="a")
    refuses(UNSUPPORTED, lowered(other), "range(...)", at="a")
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", loop="enumerate(a)")), "enumerate", at="enumerate(a)")


@pytest.mark.rule("K1")
def test_the_wrong_number_of_loop_variables_or_sizes_is_refused():
    def text(target, sizes):
        return kernel_from(f"@tack.kernel\ndef k(a):\n    for {target} in {sizes}:\n        a[0] = 1\n")

    refuses(ValueError, lowered(text("i, j", "tack.ndindex(2, 3, 4)")), "2 loop variables", "3 sizes", at="i, j")
    refuses(UNSUPPORTED, lowered(text("i, i", "tack.ndindex(2, 3)")), "of one name", at="i, i")
    refuses(UNSUPPORTED, lowered(text("i, j", "range(3)")), "one index", at="i, j")
    refuses(TypeError, lowered(text("i", "tack.ndindex()")), "1 to 4", at="tack.ndindex()")
    refuses(TypeError, lowered(text("i", "range()")), at="range()")
    refuses(TypeError, lambda: kernel("out[i] = 1", "out", "range(1.5)")(tack.zeros(2)), "integer", at="1.5")
    k = kernel("out[i] = 1", "x, out", "range(x)")
    refuses(TypeError, lambda: k(2.5, tack.zeros(2)), "int", at="x")


@pytest.mark.rule("K1", "K4", "M1")
def test_one_loop_variable_for_several_sizes_is_a_vector_of_indices():
    k = kernel_from("""
        @tack.kernel
        def k(out):
            for c in tack.ndindex(out.shape[0], (1, out.shape[1])):
                out[c] = c.x * 10 + c[1]
    """)
    i, j = np.indices((3, 4))
    assert run(k, np.zeros((3, 4), np.int64)).tolist() == np.where(j > 0, i * 10 + j, 0).tolist()
    k = kernel_from("""
        @tack.kernel
        def k(out):
            for c in tack.ndindex(3, 4):
                i = c.x
                c.x += 100
                out[i, c.y] = c.x
    """)
    assert run(k, np.zeros((3, 4), np.int64)).tolist() == (i + 100).tolist()


@pytest.mark.rule("K1b")
def test_a_serial_step_is_a_kernel_whose_loop_runs_once():
    scan = kernel(
        "t = 0\nfor k in range(a.shape[0]):\n    t += a[k]\n    out[k] = t", "a, out", "range(1)"
    )  # each step needs the one before
    a = np.arange(1, 9, dtype=np.int64)
    assert run(scan, a, np.zeros(8, np.int64)).tolist() == np.cumsum(a).tolist()
    k = kernel_from("@tack.kernel\ndef k(out):\n    for _ in range(1):\n        out[0] += 1\n")
    assert run(k, np.zeros(1)).tolist() == [1]


# ------------------------------------------------------------------------------------------------- K2: the prologue


@pytest.mark.rule("K2")
def test_the_prologue_is_evaluated_before_any_iteration():
    """It reads what the iterations then overwrite."""
    k = kernel("a[i] = a[i] + first + i", "a", "range(a.shape[0])", "first = a[0] * 10")
    (a,) = run(k, of(np.int64, 1, 2, 3))
    assert a.tolist() == [11, 13, 15]
    many = np.ones(4096, np.int64)
    (a,) = run(k, many, interpreted=False)
    assert a.tolist() == [1 + 10 + i for i in range(4096)]


@pytest.mark.rule("K2")
def test_the_prologue_is_not_evaluated_when_nothing_runs():
    """It would read far outside the array."""
    k = kernel("out[i] = far", "a, n, where, out", "range(n)", "far = a[where]")
    assert run(k, of(np.int64, 5), 0, 1 << 44, np.zeros(1, np.int64)).tolist() == [0]
    assert run(k, of(np.int64, 5), -3, 1 << 44, np.zeros(1, np.int64)).tolist() == [0]
    assert run(k, of(np.int64, 5), 1, 0, np.zeros(1, np.int64)).tolist() == [5]


@pytest.mark.rule("K2")
def test_the_prologue_may_compute_with_functions_and_branches():
    helpers = functions("@tack.func\ndef pick(a, n):\n    if n > 1:\n        return a[1]\n    return a[0]\n")
    k = kernel("out[i] = t + u", "a, n, out", before="t = pick(a, n)\nu = 1\nif t > 5:\n    u = t * t", **helpers)
    assert run(k, of(np.int64, 3, 7), 1, np.zeros(2, np.int64)).tolist() == [4, 4]
    assert run(k, of(np.int64, 3, 7), 2, np.zeros(2, np.int64)).tolist() == [56, 56]


@pytest.mark.rule("K2")
def test_stores_outside_the_loop_are_refused():
    before = kernel("out[i] = 1", before="out[0] = 5")
    refuses(UNSUPPORTED, lowered(before), "'out'", "outside the parallel loop", "range(1)", at="out[0]")
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", after="out[0] += 5")), "outside the parallel loop", at="out[0] += 5")
    helpers = functions("@tack.func\ndef put(a):\n    a[0] = 1\n    return 2\n")
    error = refuses(UNSUPPORTED, lowered(kernel("out[i] = t", before="t = put(out)", **helpers)), "outside", at="a[0]")
    assert "in put" in str(error)
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", before="print(3)")), "print", at="print(3)")
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", after="t = 3")), "after the parallel loop", at="t = 3")


# ----------------------------------------------------------------------------------------------- K3: the iterations


@pytest.mark.rule("K3")
def test_each_iteration_owns_its_locals_and_starts_from_the_prologue():
    k = kernel("t += i\nu = t * 2\nt = u\nout[i] = t", "n, out", before="t = n")
    assert run(k, 100, np.zeros(5, np.int64)).tolist() == [200 + 2 * i for i in range(5)]
    assert run(k, 100, np.zeros(3000, np.int64), interpreted=False).tolist() == [200 + 2 * i for i in range(3000)]


@pytest.mark.rule("K3")
def test_continue_ends_one_iteration():
    assert value("out[i] = 1\nif i % 3 == 1:\n    continue\nout[i] = 2", size=7) == [2, 1, 2, 2, 1, 2, 2]
    nested = "for k in range(5):\n    if k == 2:\n        continue\n    out[i] += k\nif i:\n    continue\nout[i] += 100"
    assert value(nested, size=2) == [108, 8]


@pytest.mark.rule("K3")
def test_break_and_return_of_the_parallel_loop_are_refused():
    refuses(
        UNSUPPORTED, lowered(kernel("if i > 2:\n    break\nout[i] = 1")), "`break` of the parallel loop", "continue", at="break"
    )
    refuses(
        UNSUPPORTED,
        lowered(kernel("if i > 2:\n    return\nout[i] = 1")),
        "`return` in the parallel loop",
        "continue",
        at="return",
    )
    refuses(UNSUPPORTED, lowered(kernel("return 3")), "`return` in the parallel loop", at="return 3")
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", before="return")), "`return` before the parallel loop", at="return")


# ------------------------------------------------------------------------------------------------ K4: control flow


@pytest.mark.rule("K4", "E3")
@pytest.mark.parametrize(
    ("first", "last", "step"), [(0, 7, 1), (0, 7, 3), (7, 0, -1), (7, -2, -3), (5, 5, 1), (3, 9, -1), (9, 3, 2), (-4, 4, 5)]
)
def test_nested_ranges_take_both_signs_of_a_run_time_step(first, last, step):
    body = "for k in range(a, b, c):\n    out[i] = out[i] * 31 + k + 7"
    expected = 0
    for k in range(first, last, step):
        expected = expected * 31 + k + 7
    assert value(body, first, last, step) == [expected]
    assert value(f"for k in range({first}, {last}, {step}):\n    out[i] = out[i] * 31 + k + 7") == [expected]
    assert value(f"for k in range(a, b, {step}):\n    out[i] = out[i] * 31 + k + 7", first, last) == [expected]


@pytest.mark.rule("K4")
def test_a_nested_run_time_step_of_zero_runs_nothing():
    assert value("for k in range(0, 5, a):\n    out[i] += 1\nout[i] += 100", 0) == [100]
    refused(ValueError, "for k in range(0, 5, 0):\n    out[i] += 1", at="0", words=["zero"])


@pytest.mark.rule("K4")
def test_ranges_at_the_ends_of_64_bits():
    least, most = -(2**63), 2**63 - 1
    assert value("for k in range(a, b):\n    out[i] += 1", most - 3, most) == [3]
    assert value("for k in range(a, b, 2):\n    out[i] += 1", most - 4, most) == [2]  # the next one would be past the end
    assert value("for k in range(a, b, -1):\n    out[i] += 1", least + 3, least) == [3]
    assert value("for k in range(a, b, c):\n    out[i] += 1", least, most, 2**62) == [4]
    assert value("for k in range(a, b, c):\n    out[i] += 1", most, least, -(2**62)) == [4]


@pytest.mark.rule("K4")
def test_statements_of_an_iteration():
    body = """
    "a docstring"
    total = 0
    k = 0
    while True:
        k += 1
        if k > 9:
            break
        if k % 2:
            continue
        total += k
    pass
    x, y = 1, 2
    x, y = y, x
    total = total * 10 + (x if k > 3 else y)
    if 0 < x <= 2 < k:
        total = -total
    elif x:
        total = 0
    else:
        pass
    total -= 1; total *= 2; total //= 3; total %= 1000; total <<= 2
    total |= 1; total ^= 6; total &= 1023; total **= 1; total >>= 1
    out[i] = total
    """
    total = -((2 + 4 + 6 + 8) * 10 + 2) - 1
    total = ((((((total * 2) // 3) % 1000) << 2) | 1) ^ 6) & 1023
    assert value(body) == [total >> 1]
    assert value("t = 7.0\nt /= 2\nt -= 0.5\nout[i] = t", dtype=np.float64) == [3.0]


@pytest.mark.rule("K4")
def test_assigning_a_loop_variable_changes_that_iteration_only():
    body = """
    for k in range(4):
        out[i] = out[i] * 10 + k
        k = k + 5
        if k > 7:
            k = 0
        out[i] = out[i] * 10 + k
    """
    expected = 0
    for k in range(4):
        expected = expected * 10 + k
        k = k + 5 if k + 5 <= 7 else 0
        expected = expected * 10 + k
    assert value(body) == [expected]
    assert value("i = i * 2\nout[i] = 1", size=8, loop="range(4)") == [1, 0] * 4


# ------------------------------------------------------------------------------------------------ K5: the interval


@pytest.mark.rule("K5")
@pytest.mark.parametrize(("first", "last", "step"), [(0, 0, 1), (5, 3, 1), (3, 5, -1), (0, -1, 1), (2, 2, -3)])
def test_empty_and_reversed_intervals_run_nothing(first, last, step):
    k = kernel("out[i] = 1", "first, last, step, out", "range(first, last, step)")
    assert run(k, first, last, step, np.zeros(8, np.int64)).tolist() == [0] * 8
    assert run(kernel("out[i] = 1", "out", f"range({first}, {last}, {step})"), np.zeros(8, np.int64)).tolist() == [0] * 8


@pytest.mark.rule("K5")
def test_ndindex_with_a_zero_or_negative_size_runs_nothing():
    k = kernel_from("@tack.kernel\ndef k(n, m, out):\n    for i, j in tack.ndindex(n, m):\n        out[0] += 1\n")
    for n, m in ((0, 5), (5, 0), (-1, 5), (5, -3), (-4, -4)):
        assert run(k, n, m, np.zeros(1, np.int64)).tolist() == [0]
    assert run(k, 1, 1, np.zeros(1, np.int64)).tolist() == [1]


@pytest.mark.rule("K5")
def test_intervals_away_from_zero():
    k = kernel("out[i - first] += 1", "first, last, out", "range(first, last)")
    for first in (2**31 - 2, -(2**31) - 2, 2**40, -(2**62), 2**63 - 6):
        assert run(k, first, first + 5, np.zeros(5, np.int64)).tolist() == [1] * 5


@pytest.mark.rule("K5")
def test_past_2_to_the_63_points_the_launch_is_refused():
    out = tack.zeros(1, dtype=tack.i64)
    two = kernel_from("@tack.kernel\ndef k(n, m, out):\n    for i, j in tack.ndindex(n, m):\n        out[0] = 1\n")
    for n, m in ((2**32, 2**31), (2**62, 2), (2**63 - 1, 2**63 - 1)):
        with pytest.raises(ValueError) as caught:
            two(n, m, out)
        assert "'k'" in str(caught.value) and "iterations" in str(caught.value)
    one = kernel("out[0] = 1", "n, out", "range(n)")
    with pytest.raises(ValueError) as caught:
        one(2**63, out)
    assert "'k'" in str(caught.value) and "iterations" in str(caught.value)
    wide = kernel("out[0] = 1", "first, last, out", "range(first, last)")
    with pytest.raises(ValueError):
        wide(-(2**63), 2**63 - 1, out)
    assert out.numpy().tolist() == [0]


@pytest.mark.rule("K5")
def test_a_dimension_without_points_runs_nothing_however_many_the_others_have(tmp_path):
    """On the CPU, interpreted and as emitted C. Sizes beyond i64 are refused only where there are points."""
    text = "@tack.kernel\ndef k(n, m, out) -> int:\n    for {} in tack.ndindex({}):\n        out[0] += 1\n    return n\n"
    sizes = kernel_from(text.format("i, j", "n, m"))
    pairs = kernel_from(text.format("i, j, k", "(7, m), n, (3, m)"))
    literal = kernel_from(text.format("i, j, k", "4, 1 << 63, 0"))
    start = kernel_from(text.format("i, j", "(1 << 63, 3), 1 << 63"))
    cases = [
        (sizes, 0, 2**63), (sizes, -3, 2**64 - 1), (sizes, 2**63, 0), (sizes, 2**64 - 1, -(2**31)), (pairs, 0, 2**63),
        (pairs, -1, 2**64 - 1), (literal, 1, 1), (start, 1, 1),
    ]  # fmt: skip
    out = np.zeros(1, np.int64)
    unit = HostUnit([(typed(k, (n, m, out), fma=True), f"k{at}") for at, (k, n, m) in enumerate(cases)], tmp_path)
    for at, (k, n, m) in enumerate(cases):
        results = CPU.run(k, [n, m, out]), INTERPRETER.run(k, [n, m, out]), unit.run(f"k{at}", [n, m, out])
        assert results == (n, n, n) and out.tolist() == [0]
    for k, n, m in ((sizes, 1, 2**63), (sizes, 2**63, 1), (pairs, 1, 2**63)):
        for target in (CPU, INTERPRETER):
            with pytest.raises(ValueError, match="iterations"):
                target.run(k, [n, m, out])
        assert out.tolist() == [0]


# -------------------------------------------------------------------------------------------------- K6: the result


@pytest.mark.rule("K6")
def test_returns_without_an_annotation_and_annotations_without_a_return_are_refused():
    refuses(UNSUPPORTED, lowered(kernel("out[i] = 1", after="return 3")), "annotation", at="return 3")
    text = "@tack.kernel\ndef k(out){}:\n    for i in range(1):\n        out[i] = 1\n{}"
    refuses(UNSUPPORTED, lowered(kernel_from(text.format(" -> float", ""))), "without a `return`", at="float")
    for annotation, after in ((" -> None", ""), ("", "    return\n"), (" -> None", "    return None\n")):
        assert run(kernel_from(text.format(annotation, after)), np.zeros(1)).tolist() == [1]


# ------------------------------------------------------------------------------------------------- K7: the subset


@pytest.mark.rule("K7")
def test_everything_the_language_has_is_accepted_together():
    helpers = functions("@tack.func\ndef half(x):\n    return x / 2\n")
    body = """
    t: tack.f32 = 0.5
    x = y = 3
    u = half(t) if not (x == 3) else -t
    v = +x - ~y
    for k in range(2):
        while x > 0 and (y < 5 or x != 2):
            x -= 1
            if x == 1: break
    out[i] = tack.f64(u) + v + x
    """
    assert value(body, dtype=np.float64, **helpers) == [-0.5 + (3 + 4) + 0]


@pytest.mark.rule("K7")
@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("t = lambda: 3", "lambda: 3"), ("assert i", "assert i"), ("del i", "del i"),
        ("t = i is None", "i is None"), ("t = a[0:2]", "0:2"), ("t = (u := 3)", "u := 3"), ("t = f'{i}'", "f'{i}'"),
        ("t = {1: 2}", "{1: 2}"), ("import math", "import math"), ("global q", "global q"), ("t = sorted(a)", "sorted(a)"),
        ("t = [k for k in a]", "[k for k in a]"), ("raise ValueError", "raise ValueError"), ("t = 'text'", "'text'"),
        ("t = a.sum()", "a.sum()"), ("t = max(*a)", "*a"), ("t = 1j", "1j"),
    ],
    ids=lambda v: v,
)  # fmt: skip
def test_everything_else_is_refused_also_where_it_is_never_reached(line, at):
    refuses(UNSUPPORTED, lowered(kernel(f"{line}\nout[i] = 1")), "'k'", at=at)
    refuses(UNSUPPORTED, lowered(kernel(f"continue\n{line}")), "'k'", at=at)
    refuses(UNSUPPORTED, lowered(kernel(f"if False:\n    {line}\nout[i] = 1")), "'k'", at=at)


@pytest.mark.rule("K7", "T3")
def test_types_are_checked_where_no_path_leads():
    refused(TypeError, "if False:\n    out[i] = a[i] + b[i]", of(np.int32, 1), of(np.uint64, 1), at="a[i] + b[i]")
    refused(TypeError, "continue\nout[i] = ~a[i]", of(np.float32, 1), at="a[i]")
    refused(TypeError, "out[i] = 1 if True else ~a[i]", of(np.float32, 1), at="a[i]")


# ------------------------------------------------------------------------------------------------------- N: names


@pytest.mark.rule("N3")
def test_a_loop_variable_ends_with_its_loop():
    refuses(NameError, lowered(kernel("for k in range(3):\n    pass\nout[i] = k")), "'k'", "only inside its loop", at="k")
    refuses(NameError, lowered(kernel("out[i] = 1", after="t = i")), at="i")
    twice = "k = 5\nfor k in range(2):\n    out[i] += k\nout[i] += 10 * k"
    refused(NameError, twice, at="k", words=["which has ended"])
    assert value("for k in range(3):\n    out[i] += k\nk = 5\nout[i] += 10 * k\nfor k in range(2):\n    out[i] += k") == [54]


@pytest.mark.rule("N3")
@pytest.mark.parametrize(
    "body",
    [
        "if i > 0:\n    t = 1\nout[i] = t", "if i > 0:\n    t = 1\nelif i < 0:\n    t = 2\nout[i] = t",
        "for k in range(3):\n    t = k\nout[i] = t", "while i > 0:\n    t = 1\n    break\nout[i] = t",
        "for k in range(3):\n    if k:\n        out[i] = t\n    t = 1", "out[i] = t\nt = 1",
        "while True:\n    if i:\n        break\n    t = 1\n    break\nout[i] = t", "if i:\n    t = 1\nif not i:\n    out[i] = t",
    ],
)  # fmt: skip
def test_a_local_must_be_assigned_on_every_path(body):
    """The error names the path: the line of the condition or loop that is not taken."""
    refuses(NameError, lowered(kernel(body)), "'k'", "'t'", "line", at="t")


@pytest.mark.rule("N3")
def test_paths_that_do_assign():
    assert value("if i > 0:\n    t = 1\nelse:\n    t = 2\nout[i] = t", size=2) == [2, 1]
    assert value("while True:\n    t = 3\n    if i < 5:\n        break\nout[i] = t") == [3]
    assert value("if i > 0:\n    continue\nelse:\n    t = 4\nout[i] = t", size=2) == [4, 0]
    assert value("while True:\n    if i:\n        t = 1\n        break\n    t = 2\n    break\nout[i] = t", size=2) == [2, 1]
    assert value("if i > 0:\n    t = 1\nif i > 0:\n    t = 2\n    out[i] = t", size=2) == [0, 2]


NAMES = [
    "int_", "double", "float32", "restrict", "kernel", "main", "enter", "body", "run", "pack", "lo", "hi", "n",
    "register", "auto", "void", "struct", "signed", "volatile", "template", "constant", "threadgroup", "half", "goto",
    "switch", "case", "typedef", "min_", "exp_", "ptr", "entry", "i64", "f32", "label", "ret", "br", "define", "élan",
    "π", "名前", "_", "__x__", "value", "tack_", "x0", "r1", "loop", "next", "blockIdx", "threadIdx", "self", "this",
    "new", "delete_", "namespace", "operator", "asm", "inline",
]  # fmt: skip


@pytest.mark.rule("N4")
def test_any_identifier_works_as_a_local():
    lines = "\n".join(f"{name} = a[i] + {k}" for k, name in enumerate(NAMES))
    total = " + ".join(NAMES)
    assert value(f"{lines}\nout[i] = {total}", of(np.int64, 7)) == [sum(7 + k for k in range(len(NAMES)))]


@pytest.mark.rule("N4")
@pytest.mark.parametrize(
    "name", ["double", "π", "main", "enter", "pack", "abs", "range", "print", "i64", "名前", "out_", "float", "max"]
)
def test_any_identifier_works_as_parameter_loop_variable_and_kernel(name):
    text = f"@tack.kernel\ndef {name}({name}, x, y):\n    for i in tack.ndindex(2):\n        y[i] = x[i] * {name}\n"
    _, y = run(kernel_from(text), 3, of(np.int32, 1, 2), np.zeros(2, np.int32))
    assert y.tolist() == [3, 6]
    loop = f"@tack.kernel\ndef k(x, y):\n    for {name} in tack.ndindex(2):\n        y[{name}] = x[{name}] + {name}\n"
    _, y = run(kernel_from(loop), of(np.int32, 1, 2), np.zeros(2, np.int32))
    assert y.tolist() == [1, 3]


@pytest.mark.rule("N5")
def test_an_assigned_parameter_is_a_local_of_the_iteration():
    k = kernel("n = n + i\nfor k in range(2):\n    n *= 2\nout[i] = n", "n, out")
    assert run(k, 5, np.zeros(4, np.int64)).tolist() == [(5 + i) * 4 for i in range(4)]
    typed = kernel("x = x * 0.5\nout[i] = x", "x, out")  # an integer and a float: the local is a float
    assert run(typed, 3, np.zeros(2, np.float32)).tolist() == [1.5, 1.5]
    loop = kernel("for n in range(2):\n    out[i] += n", "n, out")
    assert run(loop, 9, np.zeros(2, np.int64)).tolist() == [1, 1]


@pytest.mark.rule("N1", "N2", "N6")
def test_names_keep_the_meaning_of_the_first_lowering():
    space = {"N": tack.constant(3), **functions("@tack.func\ndef f(x):\n    return x + 1\n")}
    k = kernel("out[i] = f(N)", "out", **space)
    assert run(k, np.zeros(1, np.int64)).tolist() == [4]
    k.__wrapped__.__globals__["N"] = tack.constant(30)
    assert run(k, np.zeros(1, np.int64)).tolist() == [4]
    assert run(k, np.zeros(1, np.int32)).tolist() == [4]  # another variant of the same template
    with CPU.device:
        assert k.lowerings == 1


@pytest.mark.rule("N1")
def test_other_names_are_refused_with_their_place():
    refuses(NameError, lowered(kernel("out[i] = G * 2", G=5)), "'G'", "tack.constant", at="G")
    refuses(NameError, lowered(kernel("out[i] = undefined_thing")), "'undefined_thing'", "not defined", at="undefined_thing")
    refuses(NameError, lowered(kernel("out[i] = sqrtt(2.0)")), "'sqrtt'", "'sqrt'", at="sqrtt")
    refuses(NameError, lowered(kernel("out[i] = table[i]", table=np.zeros(3))), "'table'", "argument", at="table")
