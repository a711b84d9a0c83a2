"""`@tack.func`: a device function, inlined where kernels call it (F1).

Holds the Python function and its syntax tree; how it is inlined is `ast_inline`'s.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tack.errors import Source, Span, UnsupportedSyntaxError, fail
from tack.lang.source_text import SourceText

if TYPE_CHECKING:
    from tack.lang.source import Parsed

__all__ = ["Func", "check_signature", "func"]


class Func:
    """A device function. Calling it from Python raises `RuntimeError`; kernels and other device functions call it.

    `__wrapped__` is the Python function; `is_static`: it was made of a staticmethod, so that objects do not pass themselves.
    """

    def __init__(self, fn: FunctionType, is_static: bool = False) -> None:
        self.__wrapped__ = fn
        self.is_static = is_static
        self.__name__: str = fn.__name__
        self.__qualname__: str = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self._text = SourceText.of(fn)
        self._parsed: Parsed | None = None

    def parsed(self, kernel: str) -> Parsed:
        """The syntax tree, made at first use; errors name `kernel`."""
        if self._parsed is None:
            from tack.lang.source import parse  # with the first function that is lowered, not with `import tack`

            self._parsed = parse(self.__wrapped__, self._text, kernel, "device function")
        return self._parsed

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__wrapped__)

    def __reduce__(self) -> str:
        """Copied as functions are, which is not at all; pickled by name."""
        return self.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # not NoReturn, after which editors grey out the code
        raise RuntimeError(
            f"{self.__qualname__}() is a device function: call it inside a @tack.kernel ({self.__qualname__}.__wrapped__ is the "
            "plain Python function)"
        )

    def __repr__(self) -> str:
        return f"<tack.func {self.__module__}.{self.__qualname__}>"


def func(fn: Any) -> Func:
    """Makes a device function of a plain function: ``@tack.func``. It may return one or several values, and may return early.

    In a class it may stand above or below `@staticmethod`. `TypeError` for anything but a function written with `def`; `*args`
    and `**kwargs` are rejected.
    """
    if isinstance(fn, staticmethod):
        return Func(check_signature(fn.__func__, "func"), is_static=True)  # pyright: ignore
    return Func(check_signature(fn, "func"))


def check_signature(fn: Any, decorator: str) -> FunctionType:
    """`fn`, if it is a function that `@tack.<decorator>` takes, told from its code object alone."""
    if isinstance(fn, (Func, type)) or not isinstance(fn, FunctionType):
        remedy = f"Put @tack.{decorator} directly above `def`, below other decorators."
        raise fail(TypeError, f"@tack.{decorator} takes a function, not {_describe(fn)}", remedy=remedy)
    if fn.__name__ == "<lambda>":
        raise fail(TypeError, f"@tack.{decorator} takes a function written with `def`, not a lambda", remedy="Write `def`.")
    code = fn.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise _refusal(fn, decorator, "takes a fixed number of parameters, not `*args` or `**kwargs`", "Name each parameter.")
    if decorator == "kernel":
        if fn.__defaults__ or fn.__kwdefaults__:
            raise _refusal(fn, decorator, "has no default arguments", "Pass the value at each call, or read a tack.constant.")
        if code.co_kwonlyargcount:
            raise _refusal(fn, decorator, "has no keyword-only parameters", "Leave the `*` out; callers may still use keywords.")
    return fn


def _describe(thing: object) -> str:
    if isinstance(thing, type):
        return f"class {thing.__name__}"
    return "another Tack function" if isinstance(thing, Func) else type(thing).__name__


def _refusal(fn: FunctionType, decorator: str, what: str, remedy: str) -> Exception:
    text = SourceText.of(fn)
    span = None
    index = text.first_line - 1
    while index < len(text.lines) and not text.lines[index].lstrip().startswith("def "):
        index += 1
    if index < len(text.lines):
        line = text.lines[index].rstrip("\n")
        source = Source(text.file, text.first_line, tuple(text.lines[text.first_line - 1 : index + 1]), fn.__qualname__)
        span = Span(source, index - text.first_line + 1, len(line) - len(line.lstrip()), index - text.first_line + 1, len(line))
    kernel = fn.__name__ if decorator == "kernel" else ""
    noun = "a kernel" if decorator == "kernel" else f"device function '{fn.__name__}'"
    return fail(UnsupportedSyntaxError, f"{noun} {what}", kernel=kernel, span=span, remedy=remedy)
