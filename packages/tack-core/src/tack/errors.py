"""Every error Tack raises about a user's program is built here, as a value with a kernel, a place and a remedy.

Knows nothing of the rest of Tack: a `Span` is all that is needed to show the line where a mistake was made.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["Diagnostic", "RaceWarning", "Source", "Span", "UnsupportedSyntaxError", "fail", "too_deep", "warning_text"]

_ROOM = 500  # calls: who leaves the compiler fewer has used the stack up himself


class UnsupportedSyntaxError(NotImplementedError):
    """Python syntax that is not part of the kernel language."""


class RaceWarning(UserWarning):
    """A kernel stores an array at `i` and reads it at `i + c`: two iterations may touch one element."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one decorated function: where it stands and its lines, as they are in the file.

    Lines are kept relative to the function, so that moving the function within its file changes `first_line` alone.
    """

    file: str
    first_line: int  # 1-based line of `lines[0]` in the file
    lines: tuple[str, ...]
    qualname: str


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text. `line` counts from 0 at the first line of `source`; columns count from 0, in characters.

    `called`: for text of a device function, where the kernel calls it, or calls what calls it.
    """

    source: Source
    line: int
    col: int
    end_line: int
    end_col: int
    called: Span | None = None

    @property
    def lineno(self) -> int:
        """The 1-based line in the file."""
        return self.source.first_line + self.line

    def excerpt(self) -> str:
        """The source line with carets under the range (to the end of the first line if it spans several)."""
        if not 0 <= self.line < len(self.source.lines):
            return ""
        text = self.source.lines[self.line].rstrip("\n")
        body = text.lstrip()
        shift = len(text) - len(body)
        end = self.end_col if self.end_line == self.line else len(text)
        width = max(1, end - self.col)
        lead = "".join("\t" if c == "\t" else " " for c in text[shift : self.col])
        return f"    {body}\n    {lead}{'^' * width}"

    def where(self) -> str:
        """The place in words, as tracebacks print it."""
        source, called = self.source, self.called
        where = f'File "{source.file}", line {self.lineno}, column {self.col + 1}, in {source.qualname}'
        if called is None:
            return where
        file = "" if called.source.file == source.file else f' of "{called.source.file}"'
        return f"{where} (called on line {called.lineno}{file})"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What went wrong (`message`), in which kernel, where, and what to write instead (`remedy`).

    The message ends without a full stop, since the place follows it; the remedy is whole sentences.
    """

    message: str
    kernel: str = ""
    span: Span | None = None
    remedy: str = ""

    def text(self) -> str:
        """The whole message: the fact, the place with a caret, and the remedy, a paragraph each.

        Where a device function is of another file than the kernel, the kernel's call is shown, too.
        """
        head = f"Kernel '{self.kernel}': {self.message}" if self.kernel else self.message
        parts = [head]
        span = self.span
        called = None if span is None or span.called is None or span.called.source.file == span.source.file else span.called
        for place in (span, called):
            if place is not None:
                parts += filter(None, (f"  {place.where()}", place.excerpt()))
        if self.remedy:
            parts.append(f"  {self.remedy}")
        return "\n".join(parts)


def fail(kind: type[Exception], message: str, *, kernel: str = "", span: Span | None = None, remedy: str = "") -> Exception:
    """The exception of class `kind` for one mistake; raise it: ``raise fail(TypeError, ...)``.

    It carries its `Diagnostic` as `.diagnostic` and the 1-based source line as `.lineno` (None without a span).
    """
    diagnostic = Diagnostic(message, kernel, span, remedy)
    error = kind(diagnostic.text())
    error.__dict__["diagnostic"] = diagnostic
    error.__dict__["lineno"] = None if span is None else span.lineno
    return error


def too_deep(kernel: str, span: Span | None) -> Exception:
    """The exception for a `RecursionError` of the compiler, made in the function that called it.

    Either the kernel is nested too deeply, or it is called, and compiled, where little of Python's stack is left.
    """
    frame, used, limit = sys._getframe(1), 0, sys.getrecursionlimit()
    while frame is not None:
        frame, used = frame.f_back, used + 1
    if limit - used < _ROOM:
        message = f"compiling it takes more of Python's stack than is left: its call is {used} deep, the limit is {limit}"
        remedy = "Call it first from less deep a recursion, or raise the limit: sys.setrecursionlimit(...)."
        return fail(RecursionError, message, kernel=kernel, span=span, remedy=remedy)
    remedy = "Name parts of long expressions in locals, and move parts of the body into @tack.func functions."
    message = "its statements or expressions are nested too deeply"
    return fail(UnsupportedSyntaxError, message, kernel=kernel, span=span, remedy=remedy)


def warning_text(message: str, *, kernel: str, span: Span, remedy: str) -> str:
    """The text of a warning, in the same form as an error's."""
    return Diagnostic(message, kernel, span, remedy).text()
