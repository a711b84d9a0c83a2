"""Rule P1: `print` in kernels. One call is one whole line, from any thread; lines have no order."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_c import HostUnit
from nvrtc_tools import compile_all
from rule_tools import CPU, INTERPRETER, kernel, of, refuses

import tack
from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.testing import FanoutTarget, define
from tack.testing.targets import typed

UNSUPPORTED = tack.UnsupportedSyntaxError
PAIR = FanoutTarget(tack.device("cpu", num_threads=2), "pool")


def lines(k, *args, target=CPU):
    """The lines that a call prints, in their order."""
    out = io.StringIO()
    with redirect_stdout(out):
        target.run(k, [a.copy() if isinstance(a, np.ndarray) else a for a in args])
    text = out.getvalue()
    assert text == "" or text.endswith("\n")
    return text.splitlines()


def printed(body, *args, loop="range(1)", **names):
    """What a loop body prints, compiled and interpreted."""
    k = kernel(body, ", ".join("abcdefgh"[: len(args)]), loop, **names)
    compiled = lines(k, *args)
    assert lines(k, *args, target=INTERPRETER) == compiled
    return compiled


@pytest.mark.rule("P1")
def test_strings_numbers_and_fields_stand_as_python_would_print_them():
    assert printed("print('x', i, a[i], sep=' = ')", of(np.int32, 5)) == ["x = 0 = 5"]
    assert printed("print(f'a[{i}] is {a[i]}: {{ok}}', True, i > 0)", of(np.int32, -5)) == ["a[0] is -5: {ok} True False"]
    assert printed("print()") == [""]
    assert printed("print('')") == [""]
    assert printed("print('a', 'b')") == ["a b"]
    assert printed("print('a' 'b', i, f'c{i}' 'd', sep='')") == ["ab0c0d"]
    assert printed("print('é€', '%d %s \\\\ \"?\"', i, sep='\\t', end='\\n')") == ['é€\t%d %s \\ "?"\t0']
    assert printed("print(i, sep=None, end=None)") == ["0"]


@pytest.mark.rule("P1")
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_print_in_full(dtype):
    ends = np.iinfo(dtype)
    assert printed("print(a[0], a[1])", of(dtype, ends.min, ends.max)) == [f"{ends.min} {ends.max}"]


@pytest.mark.rule("P1")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_print_with_the_fewest_digits_that_give_them_back(dtype):
    info = np.finfo(dtype)
    values = [0.1, -0.0, 1 / 3, 1e10, 1.5e-7, info.max, info.smallest_subnormal, np.inf, -np.inf, 16777216]
    for value in map(dtype, values):
        (text,) = printed("print(a[0])", of(dtype, value))
        assert dtype(text) == value and np.signbit(dtype(text)) == np.signbit(value)
        assert len(text) <= len(repr(value.item()))
    assert printed("print(a[0])", of(dtype, np.nan)) == ["nan"]
    assert printed("print(a[0], a[1])", of(dtype, 0.1, 2**24)) == ["0.1 16777216.0"]


@pytest.mark.rule("P1", "T8", "T2b")
def test_literals_print_as_they_are_alone():
    assert printed("print(1, 1 << 40, 0.1, 2.5 * 2, 2 > 1, -7 // 2)") == ["1 1099511627776 0.1 5.0 True -4"]


@pytest.mark.rule("P1", "E1", "E2")
def test_parts_are_evaluated_once_from_left_to_right():
    names = define(
        """
        @tack.func
        def bump(a):
            a[0] = a[0] + 1
            return a[0]
        """
    )
    assert printed("print(a[0], bump(a), a[0], bump(a))", of(np.int32, 5), bump=names["bump"]) == ["5 6 6 7"]


@pytest.mark.rule("P1", "K3", "K4")
def test_prints_stand_under_conditions_in_loops_and_in_functions():
    names = define(
        """
        @tack.func
        def tell(i, v):
            if v < 0:
                return
            print("at", i, v)
        """
    )
    body = "if i % 2:\n    continue\nfor j in range(2):\n    print(f'{i},{j}')\ntell(i, a[i])"
    found = printed(body, of(np.int32, 1, 2, -3, 4, 5), loop="range(5)", tell=names["tell"])
    assert sorted(found) == ["0,0", "0,1", "2,0", "2,1", "4,0", "4,1", "at 0 1", "at 4 5"]


@pytest.mark.rule("P1")
def test_lines_of_many_threads_stay_whole():
    k = kernel("print('line', i, 'of', n, 'x' 'y', i * 3)", "n", "range(n)")
    found = lines(k, 500, target=PAIR)
    assert PAIR.worker_chunks
    assert sorted(found) == sorted(f"line {i} of 500 xy {i * 3}" for i in range(500))


@pytest.mark.rule("P1")
def test_a_print_that_never_runs_prints_nothing():
    assert printed("if False:\n    print('no')\nif a[0] > 9:\n    print('no')", of(np.int32, 1)) == []


@pytest.mark.rule("P1")
def test_lines_go_where_standard_output_goes_at_that_moment(capsys):
    k = kernel("print('to', i)", "n", "range(n)")
    k(1)
    assert capsys.readouterr().out == "to 0\n"
    assert lines(k, 1) == ["to 0"]
    k(1)
    assert capsys.readouterr().out == "to 0\n"


def test_what_writing_raises_is_raised_by_the_call():
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(text)

    k = kernel("print('x')\na[i] = 1", "a", "range(3)")
    a = tack.zeros(3, tack.i32)
    with redirect_stdout(Broken()), pytest.raises(BrokenPipeError, match="x"):
        k(a)
    assert a.numpy().tolist() == [1, 1, 1]
    with redirect_stdout(None):
        k(a)
    assert lines(k, np.zeros(3, np.int32)) == ["x"] * 3


@pytest.mark.rule("P1", "K2", "K7")
@pytest.mark.parametrize(
    ("body", "words", "at"),
    [
        ("print(f'{i:3}')", "an f-string field with a format", "i"),
        ("print(f'{i!r}')", "an f-string field with a format", "i"),
        ("t = f'{i}'", "an f-string outside `print`", "f'{i}'"),
        ("t = 'x'", "a string", "'x'"),
        ("print('x' + 'y')", "a string", "'x'"),
        ("print(i, end='')", "one call of `print` is one line", "end=''"),
        ("print(i, end=i)", "one call of `print` is one line", "end=i"),
        ("print(i, sep=i)", "a literal string", "sep=i"),
        ("print(i, file=i)", "no `file`", "file=i"),
        ("print(*i)", "a starred expression", "*i"),
        ("print(None)", "`None`", "None"),
        ("print((i, i))", "a tuple", "(i, i)"),
        ("t = print(i)", "returns no value", "print(i)"),
        ("print(" + ", ".join(["i"] * 33) + ")", "33 numbers", "print(" + ", ".join(["i"] * 33) + ")"),
    ],
)
def test_refusals(body, words, at):
    kind = TypeError if "no value" in words else UNSUPPORTED
    refuses(kind, lambda: kernel(body, "n", "range(n)")(1), "'k'", words, at=at)


@pytest.mark.rule("P1", "K2")
def test_outside_the_loop_it_is_refused_also_in_functions():
    names = define("@tack.func\ndef tell(v):\n    print(v)\n    return v\n")
    for before, at in (("print(n)", "print(n)"), ("t = tell(n)", "print(v)")):
        k = kernel("t = i", "n", "range(n)", before=before, tell=names["tell"])
        refuses(UNSUPPORTED, lambda k=k: k(1), "`print` outside the parallel loop", at=at)
    k = kernel("t = i", "n", "range(n)", after="print(n)")
    refuses(UNSUPPORTED, lambda: k(1), "`print` outside the parallel loop", at="print(n)")


@pytest.mark.rule("P1")
def test_an_array_is_no_number():
    refuses(TypeError, lambda: kernel("print(a)", "a", "range(1)")(tack.zeros(2)), "is an array", at="a")


@pytest.mark.rule("P1")
@pytest.mark.spec("back-039", "back-040")
def test_a_device_without_it_refuses_before_anything_runs():
    device = tack.device("cpu", num_threads=1)
    backend = device._backend
    backend.capabilities = replace(backend.capabilities, supports_print=False, label="Silent")
    k = kernel("a[i] = 1\nif False:\n    print(i)", "a", "range(1)")
    a = tack.zeros(1, tack.i32, device=device)
    with device:
        refuses(RuntimeError, lambda: k(a), "'k'", "`print`", "not supported on Silent", at="print(i)")
    assert a.numpy().tolist() == [0]


def test_python_prints_itself_where_it_is_called(capsys):
    """The name inside kernels is no function of Python's."""
    with pytest.raises(RuntimeError, match="belongs inside"):
        tack.lang.intrinsics.INTRINSICS["print"]("x")
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------------------------------- emitted C

TEXT = '100% "é"? \\\\'


# What the C library prints bypasses `sys.stdout`: a child's output is caught as a whole.
CHILD = """
import ctypes, sys
import numpy as np

arrays = list(np.load(sys.argv[2]).values())
given = [*arrays, np.array([2], np.int64)]  # the pack: two iterations
ctypes.CDLL(sys.argv[1]).run_k((ctypes.c_void_p * 5)(*(a.ctypes.data for a in given)), (ctypes.c_uint * 3)(1, 1, 1))
"""


@pytest.mark.rule("P1")
def test_emitted_c_prints_the_same_lines(tmp_path: Path):
    k = kernel(f"print('{TEXT}', i, a[i], b[i], c[i], d[i], a[i] > 1)", "a, b, c, d", "range(2)")
    args = [of(np.uint64, 1, 2**64 - 1), of(np.float32, 0.5, -2.25), of(np.int8, -1, 5), of(np.uint32, 1, 2**32 - 1)]
    func = typed(k, args, fma=True)
    assert "vprintf" in compile_all([(func, "k")])["k"]
    HostUnit([(func, "k")], tmp_path)
    np.savez(tmp_path / "args.npz", *args)
    script = [sys.executable, "-c", CHILD, str(next(tmp_path.glob("*.so"))), str(tmp_path / "args.npz")]
    done = subprocess.run(script, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == lines(k, *args)


@pytest.mark.rule("P1")
def test_a_character_that_printf_cannot_print_is_refused():
    k = kernel("print('a\\0b', i)", "a", "range(1)")
    func = typed(k, [np.zeros(1)], fma=True)
    with pytest.raises(ValueError, match="'k': `print` of the character NUL"):
        emit_unit([(func, "k")], CUDA)


@pytest.mark.rule("P1", "V1")
def test_vectors_and_matrices_print_in_brackets():
    assert printed("print('v', tack.vec3(1, 2, i), tack.mat2([1, 2], [3, 4]))") == ["v [1.0, 2.0, 0.0] [[1.0, 2.0], [3.0, 4.0]]"]
