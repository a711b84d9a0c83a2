"""Kernels that must be refused, as text with the refused place between « and »."""

import itertools
import math

import numpy as np
import pytest

from tack.errors import UnsupportedSyntaxError
from tack.ir import types
from tack.ir.assigned import check_assigned
from tack.lang.constant import constant
from tack.lang.func import func
from tack.lang.intrinsics import INTRINSICS
from tack.lang.kernel import Kernel, kernel

_count = itertools.count()
NAMES = {
    "kernel": kernel,
    "func": func,
    "constant": constant,
    "ndindex": INTRINSICS["ndindex"],
    "math": math,
    "np": np,
    "f32": types.f32,
    "u8": types.u8,
    "i64": types.i64,
}
UNSUPPORTED = UnsupportedSyntaxError


def load(tmp_path, text, **names):
    """The module namespace that `text` makes, run from a file of its own."""
    path = tmp_path / f"module_{next(_count)}.py"
    path.write_text(text, "utf-8")
    space = NAMES | names | {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), space)
    return space


def refused(tmp_path, marked, **names):
    """The error for the last kernel of `marked`, after a look at its place: line, column, end, and the text that shows them."""
    marked = marked.strip("\n") + "\n"
    text = marked.replace("«", "").replace("»", "")
    space = load(tmp_path, text, **names)
    last = [v for v in space.values() if isinstance(v, Kernel)][-1]
    with pytest.raises(Exception) as caught:
        check_assigned(last.template())
    error = caught.value
    assert type(error) in (UNSUPPORTED, NameError, TypeError, ValueError, IndexError), repr(error)
    before, rest = marked.split("«")
    inside, _ = rest.split("»")
    line = before.count("\n") + 1
    col = len(before) - before.rfind("\n") - 1
    span = error.diagnostic.span
    assert error.lineno == span.lineno == line, f"{error}\nexpected line {line}"
    assert span.col == col, f"{error}\nexpected column {col + 1}"
    if "\n" not in inside:
        assert (span.end_line, span.end_col) == (span.line, col + len(inside)), f"{error}\nexpected {inside!r}"
    message = str(error)
    assert f"line {line}, column {col + 1}, in" in message
    assert text.splitlines()[line - 1].strip() in message and "^" in message
    assert message.startswith(f"Kernel '{last.__name__}': ")
    return error


def check(tmp_path, marked, kind, *phrases, **names):
    """Asserts that the kernel is refused at the mark with an error of class `kind` whose text holds each phrase."""
    error = refused(tmp_path, marked, **names)
    assert type(error) is kind, repr(error)
    for phrase in phrases:
        assert phrase in str(error), f"{phrase!r} is not in:\n{error}"
    return error
