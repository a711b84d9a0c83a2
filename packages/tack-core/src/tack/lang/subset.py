"""Which Python syntax kernels may use (K7): one table of what is allowed, one of what is refused and what to write instead.

One walk over a function's tree, which also notes the names it binds; unreachable code is walked like any other.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from tack.errors import Span, UnsupportedSyntaxError, fail
from tack.lang.remedies import TEXT

if TYPE_CHECKING:
    from tack.lang.source import Parsed

__all__ = ["scan"]

# Allowed node classes, with their fields in source order.
_CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Assign: ("targets", "value"),
    ast.AugAssign: ("target", "value"),
    ast.AnnAssign: ("target", "value"),
    ast.For: ("iter", "body"),  # the target is looked at by `_for`
    ast.While: ("test", "body"),
    ast.If: ("test", "body", "orelse"),
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.Pass: (),
    ast.Break: (),
    ast.Continue: (),
    ast.BoolOp: ("values",),
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.IfExp: ("body", "test", "orelse"),
    ast.Compare: ("left", "comparators"),
    ast.Call: ("func", "args", "keywords"),
    ast.keyword: ("value",),
    ast.Attribute: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Name: (),
    ast.Constant: (),
}

_NESTED = "Define it at module level with @tack.func and call it."
_LOOP = "Write a `for` loop over range(...)."
_REJECTED: dict[str, tuple[str, str]] = {
    "FunctionDef": ("a nested function", _NESTED),
    "AsyncFunctionDef": ("a nested function", _NESTED),
    "ClassDef": ("a class definition", "Define it at module level."),
    "Lambda": ("`lambda`", _NESTED),
    "Try": ("`try`", "Test for the condition with `if` instead; kernels raise nothing."),
    "TryStar": ("`try`", "Test for the condition with `if` instead; kernels raise nothing."),
    "Raise": ("`raise`", "Store a flag in an array and check it after the launch."),
    "Assert": ("`assert`", "Check the arguments before the launch, or store a flag in an array."),
    "With": ("`with`", "Move it around the kernel's call."),
    "AsyncWith": ("`async with`", "Move it around the kernel's call."),
    "AsyncFor": ("`async for`", _LOOP),
    "Await": ("`await`", "Move it outside the kernel."),
    "Yield": ("`yield`", "Store the values in an array."),
    "YieldFrom": ("`yield from`", "Store the values in an array."),
    "Match": ("`match`", "Write `if` and `elif`."),
    "Import": ("an import", "Move it to the top of the file."),
    "ImportFrom": ("an import", "Move it to the top of the file."),
    "Global": ("`global`", "Pass an array of one element and store into it."),
    "Nonlocal": ("`nonlocal`", "Pass an array of one element and store into it."),
    "Delete": ("`del`", "Leave it out."),
    "TypeAlias": ("a type alias", "Move it to the top of the file."),
    "NamedExpr": ("the walrus `:=`", "Assign in a statement of its own."),
    "ListComp": ("a list comprehension", _LOOP),
    "SetComp": ("a set comprehension", _LOOP),
    "DictComp": ("a dict comprehension", _LOOP),
    "GeneratorExp": ("a generator expression", _LOOP),
    "Dict": ("a dict", "Use separate locals, or pass arrays."),
    "Set": ("a set", "Use separate locals, or pass an array."),
    "JoinedStr": ("an f-string outside `print`", TEXT),
    "TemplateStr": ("a template string", "Leave it out."),
    "Slice": ("a slice", "Index one element, in a loop over the range; or pass the slice, `a[lo:hi]`, to the kernel."),
    "Starred": ("a starred expression", "Write the values out one by one, such as `a.shape[0], a.shape[1]`."),
}
_CONSTANTS: dict[type, tuple[str, str]] = {
    str: ("a string", TEXT),
    bytes: ("a bytes string", "Pass an array of tack.u8."),
    complex: ("a complex number", "Compute with its real and imaginary part, or with a tack.vec2."),
    type(...): ("`...`", "Index one element, in a loop over the range; where nothing is to be done, write `pass`."),
}
_COMPARES: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Is: ("`is`", "Compare values with `==`; arguments are numbers and arrays, never None."),
    ast.IsNot: ("`is not`", "Compare values with `!=`; arguments are numbers and arrays, never None."),
    ast.In: ("`in`", "Write the comparisons out, joined by `or`."),
    ast.NotIn: ("`not in`", "Write the comparisons out, joined by `and`."),
}


def scan(parsed: Parsed, kernel: str) -> None:
    """Walk the whole body of `parsed.node`: refuse what is not in the language, note the names that it binds."""
    stack: list[Any] = list(reversed(parsed.node.body))
    while stack:
        node = stack.pop()
        kind: type[ast.AST] = node.__class__
        fields = _CHILDREN.get(kind)
        if fields is None:
            raise _refusal(parsed, kernel, node, *_REJECTED.get(kind.__name__, (f"`{kind.__name__}`", "")))
        special = _SPECIAL.get(kind)
        if special is not None:
            special(parsed, kernel, node)
            if kind is ast.Expr and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                continue  # a docstring, or a string that says something to the reader
            if kind is ast.Call and isinstance(node.func, ast.Name) and node.func.id == "print":
                stack += [each for part in reversed((*node.args, *node.keywords)) for each in _printed(parsed, kernel, part)]
                continue
        for name in reversed(fields):
            child = getattr(node, name)
            if type(child) is list:
                stack.extend(reversed(child))  # type: ignore[arg-type]
            elif child is not None:
                stack.append(child)


def _refusal(parsed: Parsed, kernel: str, node: ast.AST, what: str, remedy: str) -> Exception:
    message = f"{what} is not part of the kernel language"
    return fail(UnsupportedSyntaxError, message, kernel=kernel, span=parsed.span(node), remedy=remedy)


def _printed(parsed: Parsed, kernel: str, node: ast.expr | ast.keyword) -> list[ast.expr]:
    """What is no string in an argument of `print`, the last first: the only place where strings stand for something (P1)."""
    if isinstance(node, ast.keyword):
        _keyword(parsed, kernel, node)
        node = node.value
    if isinstance(node, ast.JoinedStr):
        return [each for part in reversed(node.values) for each in _printed(parsed, kernel, part)]
    if isinstance(node, ast.FormattedValue):
        if node.conversion != -1 or node.format_spec is not None:
            remedy = "Write `{x}`; numbers are printed with as many digits as tell them apart."
            raise _refusal(parsed, kernel, node.value, "an f-string field with a format", remedy)
        return [node.value]
    return [] if isinstance(node, ast.Constant) and isinstance(node.value, str) else [node]


def _name(parsed: Parsed, kernel: str, node: ast.Name) -> None:
    if isinstance(node.ctx, ast.Store):
        parsed.stores.add(node.id)


def _component(parsed: Parsed, kernel: str, node: ast.Attribute | ast.Subscript) -> None:
    if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
        parsed.patched.add(node.value.id)


def _list(parsed: Parsed, kernel: str, node: ast.List) -> None:
    if isinstance(node.ctx, ast.Store):
        raise _refusal(parsed, kernel, node, "a list of targets", "Write a tuple: `a, b = x, y`.")


def _for(parsed: Parsed, kernel: str, node: ast.For) -> None:
    names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    for name in names:
        if not isinstance(name, ast.Name):
            raise _refusal(parsed, kernel, name, "a loop variable that is no name", "Loop over a name: `for i in range(n)`.")
        parsed.loop_names[name.id] += 1
    _else(parsed, kernel, node)


def _else(parsed: Parsed, kernel: str, node: ast.For | ast.While) -> None:
    """Refuse `else` of a loop, at the keyword, which stands before its first statement, maybe with comments between."""
    if not node.orelse:
        return
    span = parsed.span(node.orelse[0])
    for line in range(span.line, parsed.span(node.body[-1]).end_line, -1):
        text = span.source.lines[line]
        found = re.match(r"\s*(else)\s*:", text)
        if found:
            span = Span(span.source, line, found.start(1), line, found.end(1), span.called)
            break
    message = "`else` of a loop is not part of the kernel language"
    remedy = "Set a local in the loop and test it afterwards."
    raise fail(UnsupportedSyntaxError, message, kernel=kernel, span=span, remedy=remedy)


def _while(parsed: Parsed, kernel: str, node: ast.While) -> None:
    _else(parsed, kernel, node)


def _annotated(parsed: Parsed, kernel: str, node: ast.AnnAssign) -> None:
    if node.value is None:
        raise _refusal(parsed, kernel, node, "an annotation without a value", "Assign a first value: `name: tack.f32 = 0.0`.")
    if not isinstance(node.target, ast.Name):
        raise _refusal(parsed, kernel, node.target, "an annotation of anything but a name", "Leave the annotation out.")


def _compare(parsed: Parsed, kernel: str, node: ast.Compare) -> None:
    for op in node.ops:
        found = _COMPARES.get(type(op))
        if found is not None:
            raise _refusal(parsed, kernel, node, *found)


def _keyword(parsed: Parsed, kernel: str, node: ast.keyword) -> None:
    if node.arg is None:
        raise _refusal(parsed, kernel, node, "`**` arguments", "Write the arguments out one by one.")


def _constant(parsed: Parsed, kernel: str, node: ast.Constant) -> None:
    value = node.value
    if isinstance(value, (bool, int, float)) or value is None:
        return  # None is refused where it is used: `return None` is a plain return
    raise _refusal(parsed, kernel, node, *_CONSTANTS.get(type(value), (f"`{value!r}`", "Kernels compute with numbers.")))


_SPECIAL: dict[type[ast.AST], Any] = {
    ast.Name: _name,
    ast.Attribute: _component,
    ast.Subscript: _component,
    ast.List: _list,
    ast.For: _for,
    ast.While: _while,
    ast.AnnAssign: _annotated,
    ast.Compare: _compare,
    ast.keyword: _keyword,
    ast.Constant: _constant,
    ast.Expr: lambda parsed, kernel, node: None,  # type: ignore[misc]
    ast.Call: lambda parsed, kernel, node: None,  # type: ignore[misc]
}
