"""The syntax tree of a decorated function, found in its text and checked against the subset of Python for kernels (K7).

Knows Python's AST and nothing of names, types or IR. Positions are kept as they are in the file, whatever the indentation.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

from tack.errors import Source, Span, UnsupportedSyntaxError, fail
from tack.lang.source_text import SourceText

__all__ = ["Parsed", "parse", "private_names", "written_lines"]

_TRIES = 200  # ends of the function that are tried before the source is said not to match


@dataclass(slots=True)
class Parsed:
    """One function's syntax tree, its `Source`, and what a first look at the tree told.

    `params` in order; `stores`: names bound by assignment; `patched`: names with an element or component
    that is stored to; `loop_names`: how many `for` loops bind a name.
    """

    source: Source
    node: ast.FunctionDef
    params: tuple[str, ...]
    line_shift: int
    ascii: bool
    stores: set[str] = field(default_factory=lambda: set[str]())
    patched: set[str] = field(default_factory=lambda: set[str]())
    loop_names: Counter[str] = field(default_factory=lambda: Counter[str]())

    def span(self, node: Any, called: Span | None = None) -> Span:
        """The place of a syntax node that has one, with columns in characters; `called` as in `Span`."""
        shift = self.line_shift
        line, end_line, col, end_col = node.lineno - shift, node.end_lineno - shift, node.col_offset, node.end_col_offset
        if not self.ascii:
            col, end_col = self._characters(line, col), self._characters(end_line, end_col)
        return Span(self.source, line, col, end_line, end_col, called)

    def name_span(self, called: Span | None = None) -> Span:
        """The place of the function's name in its `def` line."""
        line = self.node.lineno - self.line_shift
        text = self.source.lines[line]
        found = re.compile(r"def\s+(\w+)").search(text)
        start, end = found.span(1) if found else (0, len(text.rstrip()))
        return Span(self.source, line, start, line, end, called)

    def _characters(self, line: int, col: int) -> int:
        return len(self.source.lines[line].encode()[:col].decode(errors="replace"))


def parse(fn: FunctionType, text: SourceText, kernel: str, what: str) -> Parsed:
    """The syntax tree of `fn`, within the subset. `what` is "kernel" or "device function".

    Raises `UnsupportedSyntaxError` for syntax outside it (at its place), and where the source cannot be read.
    """
    from tack.lang.subset import scan  # with the first function that is lowered, not with `import tack`

    found, lines, shift = _find(fn, text, kernel, what)
    node: Any = found  # `async def` has the same fields, and is refused below
    source = Source(text.file, text.first_line, tuple(lines), fn.__qualname__)
    arguments = node.args
    params = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    parsed = Parsed(source, node, params, shift, all(line.isascii() for line in lines))
    if isinstance(node, ast.AsyncFunctionDef):
        raise fail(
            UnsupportedSyntaxError,
            f"`async def` is not part of the kernel language: a {what} is a plain function",
            kernel=kernel,
            span=parsed.name_span(),
            remedy="Write `def`; await the arrays instead (`await a.numpy_async()`).",
        )
    scan(parsed, kernel)
    return parsed


def written_lines(fn: FunctionType, text: SourceText) -> tuple[str, ...]:
    """The function's own lines as far as they can be told without parsing; () where its source cannot be read.

    Where they are those that `parse` finds, equal lines and `private_names` mean equal syntax trees.
    """
    start = text.first_line - 1
    if start >= len(text.lines):
        return ()
    end = _block_end(text.lines, _last_line(fn, text), _indent(text.lines[start]))
    return tuple(_trim(text.lines[start:end]))


def private_names(fn: FunctionType) -> tuple[str, ...]:
    """Where the function stands among classes, and its names that one of these may be part of (`__x` in a class body)."""
    code = fn.__code__
    return code.co_qualname, *(name for name in (*code.co_names, *code.co_freevars) if name.startswith("_") and "__" in name)


def _last_line(fn: FunctionType, text: SourceText) -> int:
    """The number of the last line that has code of the function, one that there is."""
    last = max((line for _, _, line in fn.__code__.co_lines() if line is not None), default=text.first_line)
    return min(max(last, text.first_line), len(text.lines))


def _find(fn: FunctionType, text: SourceText, kernel: str, what: str) -> tuple[ast.stmt, list[str], int]:
    """The function's tree, its own lines, and how many line numbers its tree's are ahead of their index in those lines."""
    start = text.first_line - 1
    if start >= len(text.lines):
        raise _unreadable(fn, text, kernel, what)
    indent = _indent(text.lines[start])
    code = fn.__code__
    end = _last_line(fn, text)
    for _ in range(_TRIES):
        end = _block_end(text.lines, end, indent)
        block = text.lines[start:end]
        node = _parse_block("".join(block), bool(indent))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any("__" in line for line in block):
                _mangle(node, code)
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if node.name == code.co_name and names == [*code.co_varnames[: len(names)]]:
                return node, _trim(block), 2 if indent else 1
            break
        if node is not None or end == len(text.lines):
            break
        end += 1
    if text.file == "<string>":  # of `python -c`, whose text Python 3.13 keeps under the name that exec gives too
        raise _unreadable(fn, text, kernel, what)
    raise fail(
        UnsupportedSyntaxError,
        f"the source at {text.file}, line {text.first_line} is not that of {what} '{fn.__qualname__}'",
        kernel=kernel,
        remedy="The file may have changed since it was imported: start the program again.",
    )


def _unreadable(fn: FunctionType, text: SourceText, kernel: str, what: str) -> Exception:
    return fail(
        UnsupportedSyntaxError,
        f"the source of {what} '{fn.__qualname__}' cannot be read ({text.file}, line {text.first_line})",
        kernel=kernel,
        remedy=f"A {what} is compiled from its source text: define it in a file or a notebook cell, not by exec. `python -c` "
        "and the REPL keep theirs from Python 3.13 on, a program piped to `python` does not.",
    )


_NAMES: dict[type[ast.AST], str] = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg"}  # not keywords: Python leaves those


def _mangle(node: ast.AST, code: CodeType) -> None:
    """Gives names such as `__x` in a class body the name that Python gives them, `_Class__x`."""
    places = [(each, _NAMES[type(each)]) for each in ast.walk(node) if type(each) in _NAMES]
    private = {name for each, place in places if (name := getattr(each, place)).startswith("__") and not name.endswith("__")}
    prefix = _private_prefix(code, private) if private else ""
    for each, place in places if prefix else ():
        if getattr(each, place) in private:
            setattr(each, place, prefix + getattr(each, place))


def _private_prefix(code: CodeType, private: set[str]) -> str:
    """What Python has put before the names `private` when it compiled `code`: "_Class", of the innermost class around it."""
    classes = [name for name, inner in pairwise(code.co_qualname.split(".")) if "<locals>" not in (name, inner)]
    if classes:
        bare = classes[-1].lstrip("_")
        return bare and f"_{bare}"
    # A function that a class body declares `global` has no class in its name: its names tell.
    compiled = {*code.co_names, *code.co_varnames, *code.co_freevars}
    if private & compiled:
        return ""
    ours = [name for name in compiled if name.startswith("_") and not name.startswith("__")]
    return min((name.removesuffix(own) for name in ours for own in private if name.endswith(own)), key=len, default="")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _block_end(lines: list[str], end: int, indent: str) -> int:
    """The first index from `end` whose line may be outside the block: indented no deeper, not blank and no comment."""
    depth = len(indent)
    while end < len(lines):
        line = lines[end]
        bare = line.strip()
        if bare and not bare.startswith("#") and not (line.startswith(indent) and line[depth : depth + 1] in (" ", "\t")):
            break
        end += 1
    return end


def _parse_block(text: str, indented: bool) -> ast.stmt | None:
    """The one statement in `text`, or None. An indented block goes under an `if`, so that its columns stay as they are."""
    whole = "if 1:\n" + text if indented else text
    try:
        if "\\" in text:  # an escape that Python has already warned about at import
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                body = ast.parse(whole).body
        else:
            body = ast.parse(whole).body
    except SyntaxError:
        return None
    if indented and isinstance(body[0], ast.If):
        body = body[0].body
    return body[0] if body else None  # none: comments alone


def _trim(block: list[str]) -> list[str]:
    """The block without blank lines and comments that follow it."""
    end = len(block)
    while end > 1 and (not block[end - 1].strip() or block[end - 1].lstrip().startswith("#")):
        end -= 1
    return block[:end]
