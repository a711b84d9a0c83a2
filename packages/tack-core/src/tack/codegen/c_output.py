"""What emitted C gives out besides arrays: lines by `printf`, and a kernel's result by an entry function of its own.

Samples of hardware textures stand here, too. Knows no dialect by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tack.codegen.dialect import unsigned_word
from tack.codegen.emitter import bare
from tack.errors import fail
from tack.ir.nodes import IRExpr, IROp, IRPrint, IRTextureSample
from tack.ir.types import BOOL, ScalarType

if TYPE_CHECKING:
    from tack.codegen.c_expr import ExprWriter

__all__ = ["bitcast", "count_bits", "print_line", "sample"]


def print_line(writer: ExprWriter, stmt: IRPrint, kernel: str) -> None:
    """One call of `printf`, so that a line stays whole. Floats get as many digits as tell any two apart."""
    words, args = "", ""
    for part in stmt.parts:
        if isinstance(part, str):
            if "\0" in part:
                message = f"`print` of the character NUL, at which {writer.dialect.name}'s `printf` ends"
                raise fail(ValueError, message, kernel=kernel, span=stmt.span, remedy="Leave it out.")
            words += "".join(map(_escaped, part.encode()))
            continue
        t, value = _type(part), bare(writer.expr(part))
        words += writer.dialect.prints[t.name]
        args += f', ({value}) ? "True" : "False"' if t is BOOL else f", {value}"
    writer.text.line(f'printf("{words}\\n"{args});')


def _escaped(byte: int) -> str:
    """A byte of a format string of `printf`. Octal escapes end after three digits, whatever follows."""
    char = chr(byte)
    if char == "%":
        return "%%"
    return char if char.isascii() and char.isprintable() and char not in '"\\?' else f"\\{byte:03o}"


def sample(writer: ExprWriter, node: IRTextureSample) -> str:
    """A sample of a hardware texture."""
    u, v, w = (bare(writer.expr(each)) for each in node.coords)
    return writer.dialect.sample.format(texture=writer.names(node.texture), u=u, v=v, w=w)


def bitcast(writer: ExprWriter, node: IROp) -> str:
    """The bits of a number as another type of its width."""
    (value,) = node.args
    source, target = _type(value), _type(node)
    text, word = bare(writer.expr(value)), unsigned_word(source if source.is_int else target)
    if target.is_float:
        text = text if source is word else f"({writer.prelude.type(word)})({text})"
        return writer.dialect.from_bits[target.name].format(bits=text)
    if source.is_float:
        text = writer.dialect.to_bits[source.name].format(value=text)
    return f"({writer.prelude.type(target)})({text})"


def count_bits(writer: ExprWriter, node: IROp) -> str:
    """Leading zeros or one bits; narrow types in a word of 32 bits, without their sign."""
    t = _type(node)
    word = unsigned_word(t)
    own = f"u{t.bits}"
    text = f"({own})({bare(writer.expr(node.args[0]))})"
    text = writer.dialect.bits[f"{node.op}.{word.name}"].format(x=text if own == word.name else f"({word.name}){text}")
    less = f" - {word.bits - t.bits}" if node.op == "clz" and word.bits > t.bits else ""
    return f"({writer.prelude.type(t)})({text}{less})"


def _type(node: IRExpr) -> ScalarType:
    assert node.type is not None
    return node.type
