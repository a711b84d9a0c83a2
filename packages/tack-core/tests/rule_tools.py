"""What the rule tests share: kernels from a few lines of text, run compiled and interpreted, and refusals with their place."""

import textwrap

import numpy as np
import pytest

import tack
from tack.testing import DeviceTarget, InterpreterTarget, define, kernel_from

CPU = DeviceTarget(tack.device("cpu"), "cpu")
INTERPRETER = InterpreterTarget(CPU.capabilities)


def kernel(body, params="a, out", loop="range(out.shape[0])", before="", after="", **names):
    """A kernel whose one loop `for i in <loop>` has this body; `before` and `after` stand around the loop."""
    parts = [
        f"@tack.kernel\ndef k({params}):",
        textwrap.indent(textwrap.dedent(before).strip("\n"), "    "),
        f"    for i in {loop}:",
        textwrap.indent(textwrap.dedent(body).strip("\n"), "        "),
        textwrap.indent(textwrap.dedent(after).strip("\n"), "    "),
    ]
    return kernel_from("\n".join(part for part in parts if part.strip()) + "\n", **names)


def functions(text, **names):
    """The device functions and whatever else a text defines, as keyword arguments for `kernel`."""
    return {k: v for k, v in define(text, **names).items() if not k.startswith("__") and k not in ("math", "tack")}


def run(k, *args, interpreted=True):
    """Runs `k` on copies of NumPy arrays and on numbers; the arrays afterwards, the last one alone if it is `out`.

    The interpreter must leave the same bits.
    """
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    CPU.run(k, mine)
    if interpreted:
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        INTERPRETER.run(k, theirs)
        for a, b in zip(mine, theirs):
            if isinstance(a, np.ndarray):
                np.testing.assert_array_equal(a, b)
                if a.dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))
    arrays = [a for a in mine if isinstance(a, np.ndarray)]
    return arrays[-1] if k.param_names[-1] == "out" else arrays


def value(text, *args, dtype=np.int64, size=None, interpreted=True, **names):
    """What a body leaves in `out`, or the values of one expression: `a`, `b`, ... are the arguments, `i` counts from 0.

    Arrays are NumPy arrays; `out` has `dtype` and the size of the first of them (1 without arrays).
    """
    letters = "abcdefgh"[: len(args)]
    body = text if "out[" in text else f"out[i] = {text.strip()}"
    if size is None:
        size = next((len(a) for a in args if isinstance(a, np.ndarray)), 1)
    k = kernel(body, ", ".join([*letters, "out"]), **names)
    return run(k, *args, np.zeros(size, dtype), interpreted=interpreted).tolist()


def of(dtype, *values):
    """A NumPy array."""
    return np.array(values, dtype)


def refuses(kind, call, *words, at):
    """Runs `call`, which must raise exactly `kind`, with a message that has `words` and whose caret covers the text `at`."""
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert type(error) is kind, type(error)
    text = str(error)
    for word in words:
        assert word in text, (word, text)
    span = error.diagnostic.span
    assert span is not None, text
    line = span.source.lines[span.line].rstrip("\n")
    end = span.end_col if span.end_line == span.line else len(line)
    assert line[span.col : end] == at, text
    assert error.lineno == span.source.first_line + span.line
    assert f"line {error.lineno}, column {span.col + 1}" in text
    carets = text.splitlines()
    below = next(n for n, each in enumerate(carets) if each.strip() and not each.strip("^\t "))
    assert carets[below - 1][carets[below].index("^") :].startswith(at)
    assert carets[below].count("^") == max(1, len(at))
    return error


def refused(kind, text, *args, words=(), at, dtype=np.int64, **names):
    """`value(text, *args)` must be refused; `out` stays as it was."""
    letters = "abcdefgh"[: len(args)]
    body = text if "out[" in text else f"out[i] = {text.strip()}"
    size = next((len(a) for a in args if isinstance(a, np.ndarray)), 1)
    k = kernel(body, ", ".join([*letters, "out"]), **names)
    out = tack.array(np.full(size, 77, dtype))
    arrays = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
    error = refuses(kind, lambda: k(*arrays, out), "'k'", *words, at=at)
    assert (out.numpy() == 77).all()
    return error
