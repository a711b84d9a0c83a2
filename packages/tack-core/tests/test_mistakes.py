"""The mistakes that users make most often: what is wrong, where, why, and what to write instead, for each in the docs' table."""

import ast
import re
import traceback

import pytest

import mistakes
import tack
from mistakes import FILE, MISTAKES, complaint

EACH = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)


def call_place(error):
    """The range of the last piece of the program in the traceback, and whether the traceback ends there."""
    frames = list(traceback.walk_tb(error.__traceback__))
    (frame, line) = [f for f in frames if f[0].f_code.co_filename == FILE][-1]
    at = [tb for tb in _tracebacks(error) if tb.tb_frame is frame][-1]
    positions = list(frame.f_code.co_positions())[at.tb_lasti // 2]
    assert positions[0] == line
    return (positions[0], positions[2], positions[1], positions[3]), frame is frames[-1][0]


def _tracebacks(error):
    tb = error.__traceback__
    while tb is not None:
        yield tb
        tb = tb.tb_next


@pytest.mark.rule("K1", "K2", "K3", "K7", "N1", "N2", "N3", "T2", "T3", "T4", "T5", "T6", "T7", "M1", "M3", "V1", "V2", "F1")
@EACH
def test_the_message_says_what_where_and_why(mistake):
    error = complaint(mistake)
    assert type(error) is mistake.error, repr(error)
    diagnostic = error.diagnostic
    message = str(error)
    assert mistake.says in message and mistake.says, message
    if diagnostic.kernel:
        assert message.startswith(f"Kernel '{diagnostic.kernel}': ")
    if diagnostic.span is None:
        assert call_place(error)[0] == mistake.place
        return
    line, column, end_line, end_column = mistake.place
    assert f'File "{FILE}", line {line}, column {column + 1}, in ' in message
    shown = message.splitlines()
    at = next(k for k, text in enumerate(shown) if text.startswith("  File "))
    source, carets = shown[at + 1], shown[at + 2]
    assert source.strip() == mistake.program.splitlines()[line - 1].strip()
    first = mistake.program.splitlines()[line - 1]
    marked = first[column : end_column if end_line == line else len(first)]
    assert set(carets) == {" ", "^"}
    assert source[carets.index("^") : len(carets)] == marked, message


@EACH
def test_the_message_says_what_to_write_and_that_works(mistake):
    remedy = complaint(mistake).diagnostic.remedy
    assert mistake.write and mistake.write in remedy, remedy
    mistakes.run(mistake.corrected)


@EACH
def test_a_traceback_ends_at_the_users_call(mistake):
    error = complaint(mistake)
    if not error.diagnostic.kernel or "@tack.kernel" not in mistake.program:
        return  # raised by a function of the library, not by a kernel's call
    called = [node for node in ast.parse(mistake.program).body if isinstance(node, ast.Expr)]
    if called:
        (line, *_), is_last = call_place(error)
        assert is_last and line == called[-1].lineno


@EACH
def test_nothing_is_stored_before_the_refusal(mistake, monkeypatch):
    """Only a bad index that debug mode finds while the kernel runs comes after stores."""
    made = {}
    first = mistakes.arguments()
    monkeypatch.setattr(mistakes, "arguments", lambda: made.update(mistakes_arguments()) or dict(made))
    complaint(mistake)
    if "debug" in mistake.title:
        return
    for name, before in first.items():
        if isinstance(before, tack.Array):
            assert made[name].numpy().tolist() == before.numpy().tolist(), name


mistakes_arguments = mistakes.arguments


def test_the_table_holds_the_likely_mistakes_once_each():
    assert len(MISTAKES) >= 60
    for field in ("title", "marked"):
        assert len({getattr(m, field) for m in MISTAKES}) == len(MISTAKES)
    groups = [m.group for m in MISTAKES]
    assert sorted(groups, key=groups.index) == groups, "a group stands together"


def test_the_page_shows_every_message():
    page = mistakes.page()
    for mistake in MISTAKES:
        assert f"### {mistake.title}\n" in page
        assert str(complaint(mistake)) in page
    assert not re.search(r" at 0x[0-9a-f]+", page)


def test_the_given_names_are_those_that_the_page_states():
    (block,) = re.findall(r"```python\n(.*?)```", mistakes.page(), re.DOTALL)
    space = {}
    exec(block, space)
    given = mistakes.arguments()
    assert set(given) == {name for name in space if not name.startswith("__")}
    for name, value in given.items():
        if isinstance(value, tack.Array):
            assert (value.dtype, value.shape) == (space[name].dtype, space[name].shape)
            assert value.numpy().tolist() == space[name].numpy().tolist()
