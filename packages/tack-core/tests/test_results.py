"""Rule K6: kernels that return a number, computed after the launch; and K2, where it uses the prologue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emitted import EmittedTarget
from rule_tools import CPU, INTERPRETER, kernel, of, refuses

import tack
from tack.testing import FanoutTarget, InterpreterTarget, define, kernel_from

UNSUPPORTED = tack.UnsupportedSyntaxError
TARGETS = (
    CPU,
    FanoutTarget(tack.device("cpu", num_threads=2), "pool"),
    INTERPRETER,
    InterpreterTarget(CPU.capabilities, "reversed", reverse=True),
)


def returning(
    annotation, body="out[i] = a[i]", params="a, out", after="return out[0]", before="", loop="range(out.shape[0])", **names
):
    text = f"@tack.kernel\ndef k({params}) -> {annotation}:\n"
    text += "".join(f"    {line}\n" for line in before.splitlines())
    text += f"    for i in {loop}:\n" + "".join(f"        {line}\n" for line in body.splitlines())
    text += "".join(f"    {line}\n" for line in after.splitlines())
    return kernel_from(text, **names)


def result(k, *args):
    """What the kernel returns, the same from every target, whatever its call has returned before."""
    values = []
    for target in TARGETS:
        for _ in range(2):
            values.append(target.run(k, [a.copy() if isinstance(a, np.ndarray) else a for a in args]))
    first = values[0]
    for value in values:
        assert type(value) is type(first) and (value == first or value != value), values
    return first


@pytest.mark.rule("K6")
def test_the_value_is_computed_after_the_launch_from_arrays_arguments_constants_and_prologue_locals():
    k = returning(
        "float",
        "out[i] = a[i] * s",
        "a, out, s",
        "return out[0] + out[1] * HALF + s + n",
        before="n = a.shape[0]",
        HALF=tack.constant(0.5),
    )
    assert result(k, of(np.float32, 1, 2, 3), np.zeros(3, np.float32), 4.0) == 4 + 8 * 0.5 + 4 + 3


@pytest.mark.rule("K6")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("float", 300.0), ("int", 300), ("bool", True), ("tack.f32", 300.0), ("tack.f64", 300.0), ("tack.u8", 44),
        ("tack.i8", 44), ("tack.i16", 300), ("tack.u16", 300), ("tack.i32", 300), ("tack.u32", 300), ("tack.i64", 300),
        ("tack.u64", 300), ("np.int16", 300), ("'tack.u8'", 44), ("'float'", 300.0),
    ],
)  # fmt: skip
def test_the_annotation_says_the_type_and_the_value_is_a_python_number(annotation, expected):
    value = result(returning(annotation, np=np), of(np.int32, 300), np.zeros(1, np.int32))
    assert value == expected and type(value) is type(expected)


@pytest.mark.rule("K6", "T4", "T9", "T10")
def test_the_value_converts_as_a_store_and_int_float_and_bool_as_in_kernels():
    assert result(returning("tack.u8"), of(np.float32, -3.7), np.zeros(1, np.float32)) == 0
    assert result(returning("tack.i32"), of(np.float64, 1e20), np.zeros(1)) == 2**31 - 1
    assert result(returning("int"), of(np.float32, -3.7), np.zeros(1, np.float32)) == -3
    assert result(returning("int"), of(np.uint64, 2**64 - 1), np.zeros(1, np.uint64)) == 2**64 - 1
    assert result(returning("tack.u64"), of(np.int64, -1), np.zeros(1, np.int64)) == 2**64 - 1
    assert result(returning("float"), of(np.float64, 0.1), np.zeros(1)) == 0.1
    assert result(returning("float"), of(np.float32, 0.1), np.zeros(1, np.float32)) == float(np.float32(0.1))
    assert result(returning("tack.f32"), of(np.float64, 1e300), np.zeros(1)) == float("inf")
    assert result(returning("bool"), of(np.float64, float("nan")), np.zeros(1)) is True
    assert result(returning("bool", after="return out[0] > 1"), of(np.int32, 1), np.zeros(1, np.int32)) is False


@pytest.mark.rule("K6", "T8")
def test_literals_take_the_type_that_the_annotation_asks_for():
    assert result(returning("tack.f64", after="return 0.1"), of(np.float32, 1), np.zeros(1, np.float32)) == 0.1
    assert result(returning("float", after="return 0.1"), of(np.float32, 1), np.zeros(1, np.float32)) == float(np.float32(0.1))
    assert result(returning("int", after="return 1 << 40"), of(np.int32, 1), np.zeros(1, np.int32)) == 1 << 40
    assert result(returning("tack.u8", after="return 300"), of(np.int32, 1), np.zeros(1, np.int32)) == 44


@pytest.mark.rule("K2", "K6")
def test_prologue_locals_have_their_values_from_before_the_iterations():
    k = returning("int", "a[i] = a[i] * 10\nfirst = 7", "a", "return first * 100 + a[0]", before="first = a[0]", loop="range(3)")
    assert result(k, of(np.int64, 1, 2, 3)) == 110


@pytest.mark.rule("N5", "K6")
def test_a_parameter_that_an_iteration_assigns_is_itself_after_the_loop():
    k = returning("int", "n = i + 6\na[i] = n", "a, n", "return n * 100 + a[0]", loop="range(2)")
    assert result(k, np.zeros(2, np.int64), 5) == 506


@pytest.mark.rule("K2", "K6")
def test_without_iterations_only_what_the_return_uses_is_evaluated():
    before = "last = a[5]\nk = n\nif n > 3:\n    k = 3\ntwice = k * 2"
    k = returning("int", "a[i] = last", "a, n, m", "return twice + 1", before, loop="range(m)")
    empty = np.zeros(0, np.int64)
    assert result(k, empty, 2, 0) == 5  # nothing reads a[5]
    assert result(k, empty, 9, -4) == 7
    assert result(k, np.arange(6, dtype=np.int64), 9, 6) == 7


@pytest.mark.rule("K6", "K2")
def test_after_the_loop_locals_may_be_bound_and_functions_called():
    names = define(
        """
        @tack.func
        def total(a, n):
            s = 0.0
            for k in range(n):
                if a[k] < 0:
                    return -1.0
                s += a[k]
            return s
        """
    )
    after = "s = total(out, out.shape[0])\nn = 0\nwhile s > 1:\n    s = s / 2\n    n += 1\nif n > 100:\n    n = 100\nreturn n"
    k = returning("int", after=after, total=names["total"])
    assert result(k, of(np.float32, 10, 20, 34), np.zeros(3, np.float32)) == 6
    assert result(k, of(np.float32, 10, -20, 34), np.zeros(3, np.float32)) == 0


@pytest.mark.rule("K6", "E5")
def test_products_fuse_as_anywhere():
    x = np.float32(1 + 2**-12)
    exact = float(np.float32(float(x) * float(x) - 1.0))
    assert result(returning("float", after="return out[0] * out[0] - 1.0"), of(np.float32, x), np.zeros(1, np.float32)) == exact


@pytest.mark.rule("K6")
def test_no_return_and_a_plain_one_give_none():
    for after in ("", "return", "return None"):
        k = kernel("out[i] = a[i]", after=after)
        assert CPU.run(k, [of(np.int32, 1), np.zeros(1, np.int32)]) is None
    assert CPU.run(returning("None", after="return"), [of(np.int32, 1), np.zeros(1, np.int32)]) is None


@pytest.mark.rule("K6", "K5")
def test_a_refused_launch_returns_nothing():
    k = returning("int", "a[i] = 1", "a, s", "return a[0]", loop="range(0, 3, s)")
    assert result(k, np.zeros(3, np.int64), 1) == 1
    with pytest.raises(ValueError, match="step"):
        k(tack.zeros(3, tack.i64), 0)


@pytest.mark.rule("K3", "K6")
@pytest.mark.parametrize(
    ("before", "body", "at"),
    [
        ("s = 0.0", "s += a[i]", "s += a[i]"),
        ("s = 0.0", "s = max(s, a[i])", "s = max(s, a[i])"),
        ("s = 0.0", "if a[i] > 1:\n    s = a[i] - s", "s = a[i] - s"),
        ("s = 0.0\nt = 1.0", "s, t = t, s", "s, t = t, s"),
        ("s = [0.0, 1.0]", "for k in range(3):\n    s = [s.y, s.x + a[k]]", "s = [s.y, s.x + a[k]]"),
        ("", "n += 1", "n += 1"),
    ],
)
def test_an_iteration_that_updates_what_is_returned_is_refused(before, body, at):
    """Each updates its own: as a sum over the loop, as other systems have it, the result would be wrong in silence."""
    after = "return n" if "n +" in at else "return s.x" if "[" in before else "return s"
    k = returning("float", body, "a, n", after, before, loop="range(4)")
    remedy = "tack.atomic_add(total, 0, value)"
    refuses(UNSUPPORTED, lambda: k(tack.ones(4), 0.0), "each iteration updates its own", remedy, at=at)


@pytest.mark.rule("K3", "K6")
def test_what_is_assigned_after_the_loop_may_be_returned_whatever_the_iterations_do_with_the_name():
    k = returning("float", "s += a[i]\na[i] = s", "a", "s = a[0] * 2\nreturn s", before="s = 1.0", loop="range(4)")
    assert result(k, of(np.float32, 3, 4, 5, 6)) == 8
    k = returning("int", "s = 1\na[s] = s * 2", "a", "return s * 10 + a[1]", before="s = 7", loop="range(4)")
    assert result(k, np.zeros(4, np.int64)) == 72  # an index and a value that name it are no update of it


@pytest.mark.rule("K6")
def test_a_quick_call_returns_too():
    k = returning("int", "a[i] = s", "a, s", "return a[0] + s", loop="range(3)")
    a = tack.zeros(3, tack.i64)
    assert [k(a, s) for s in range(6)] == [0, 2, 4, 6, 8, 10]
    assert [k(a=a, s=s) for s in range(3)] == [0, 2, 4]


@pytest.mark.rule("K6")
@pytest.mark.parametrize(
    ("annotation", "after", "kind", "words", "at"),
    [
        (None, "return a[0]", UNSUPPORTED, "no return annotation", "return a[0]"),
        ("None", "return a[0]", UNSUPPORTED, "annotation is None", "return a[0]"),
        ("float", "", UNSUPPORTED, "without a `return`", "float"),
        ("float", "return", UNSUPPORTED, "without a `return`", "float"),
        ("str", "return a[0]", UNSUPPORTED, "no type of a kernel's value", "str"),
        ("list[int]", "return a[0]", UNSUPPORTED, "no type of a kernel's value", "list[int]"),
        ("complex", "return a[0]", UNSUPPORTED, "no type of a kernel's value", "complex"),
        ("np.float16", "return a[0]", UNSUPPORTED, "no type of a kernel's value", "np.float16"),
        ("int", "return a[0], a[1]", UNSUPPORTED, "returns one number", "a[0], a[1]"),
        ("int", "return a", TypeError, "used as a number", "a"),
        ("int", "return i", NameError, "exists only inside its loop", "i"),
        ("int", "return t", NameError, "'t' is assigned in the loop: each iteration has its own", "t"),
        ("int", "if a[0]:\n    u = 1\nreturn u", NameError, "it is not when the condition", "u"),
        ("int", "a[0] = 1\nreturn a[0]", UNSUPPORTED, "outside the parallel loop", "a[0]"),
        ("int", "for j in range(3):\n    pass\nreturn 1", UNSUPPORTED, "a second loop", "for j in range(3)"),
        ("int", "if a[0]:\n    return 1\nreturn 2", UNSUPPORTED, "before the end of the kernel", "return 1"),
        ("int", "return 1\nu = 2", UNSUPPORTED, "before the end of the kernel", "return 1"),
        ("tack.i32", "return a[0] + b", TypeError, "tack.u64(", "a[0] + b"),
    ],
)  # fmt: skip
def test_refusals(annotation, after, kind, words, at):
    arrow = "" if annotation is None else f" -> {annotation}"
    text = f"@tack.kernel\ndef k(a, b){arrow}:\n    for i in range(3):\n        t = i\n        a[i] = t\n"
    k = kernel_from(text + "".join(f"    {line}\n" for line in after.splitlines()), np=np)
    a = tack.zeros(3, tack.i64)
    refuses(kind, lambda: k(a, 2**63), "'k'", words, at=at)
    assert a.numpy().tolist() == [0, 0, 0]


@pytest.mark.rule("K6")
def test_an_element_read_after_the_loop_is_no_bound_and_its_rank_is_checked():
    k = returning("int", "a[i] = 1", "a", "return a[0, 0]", loop="range(3)")
    refuses(IndexError, lambda: k(tack.zeros(3, tack.i64)), "1 dimension", at="a[0, 0]")


def test_only_kernels_with_a_result_have_code_for_it():
    a = tack.zeros(3, tack.i64)
    assert "finish" not in tack.inspect(kernel("a[i] = 1", "a", "range(3)"), a)
    assert "@finish" in tack.inspect(returning("int", "a[i] = 1", "a", "return a[0]", loop="range(3)"), a)
    text = tack.inspect(returning("int", "a[i] = 1", "a", "return a[0]", loop="range(3)"), a, mode="ir")
    assert text.rstrip().endswith("return a[0:i64]")


@pytest.mark.rule("K6")
def test_emitted_c_computes_it_in_a_launch_of_its_own(tmp_path: Path):
    target = EmittedTarget(tmp_path)
    k = returning("float", "out[i] = a[i] * s", "a, out, s", "m = out[1] / n\nreturn m + s", before="n = a.shape[0]")
    args = [of(np.float32, 1, 2, 3), np.zeros(3, np.float32), 4.0]
    assert target.run(k, [args[0], args[1].copy(), args[2]]) == result(k, *args)
    assert target.run(returning("tack.u64"), [of(np.int64, -1), np.zeros(1, np.int64)]) == 2**64 - 1
