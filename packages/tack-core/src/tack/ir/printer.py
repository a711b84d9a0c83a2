"""IR as readable text, one statement a line, in the notation of Python; types are shown where they are known."""

from __future__ import annotations

from typing import Any

from tack.ir.nodes import (
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRBreak,
    IRCast,
    IRCheck,
    IRComponent,
    IRCond,
    IRConst,
    IRContinue,
    IRDeclare,
    IRDimSize,
    IREval,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRLocal,
    IRLocalArray,
    IRLogic,
    IRName,
    IRNonzero,
    IROp,
    IRParam,
    IRPrint,
    IRRange,
    IRRegion,
    IRStore,
    IRTextureSample,
    IRWhile,
)
from tack.ir.ops import OPS
from tack.ir.types import ScalarType

__all__ = ["print_expr", "print_ir"]


def print_ir(func: IRFunc) -> str:
    """The whole function. The same text for equal functions."""
    head = f"kernel {func.name}({', '.join(_param(p) for p in func.params)})  # {func.stage}"
    lines = [head + _marks(func)]
    for local in func.locals:
        lines.append(f"  local {_local(local)}")
    for array in func.arrays:
        lines.append(f"  {_array(array)}")
    for rank in func.ranks:
        lines.append(f"  rank {rank.array} == {rank.rank}")
    if func.bound_prologue:
        lines.append("  bounds:")
        _block(func.bound_prologue, "    ", lines)
    _block(func.prologue, "  ", lines)
    dims = " × ".join(_range(each) for each in func.loop.dims)
    lines.append(f"  parallel {dims}:")
    _body(func.loop.body, "    ", lines)
    _block(func.epilogue, "  ", lines)
    if func.result is not None:
        lines.append(f"  return {print_expr(func.result)}")
    return "\n".join(lines) + "\n"


def _marks(func: IRFunc) -> str:
    marks = [f", {func.default_float}"] if func.default_float is not None else []
    marks += [", disjoint"] if func.disjoint_arrays else []
    marks += [] if func.fma else [", no fma"]
    return "".join(marks)


def _type(t: ScalarType | None) -> str:
    return "" if t is None else f": {t.name}"


def _param(param: IRParam) -> str:
    shown = "" if param.type is None else param.type.name
    if param.element:
        shown += f"({' x '.join(map(str, param.element))})"
    if param.texture is not None:
        return f"{param.name}: texture"
    return param.name + (f": {shown}[]" if param.is_array else f": {shown}" if shown else "")


def _array(array: IRLocalArray) -> str:
    of = f"like {array.like}" if array.type is None else array.type.name
    of += f"({' x '.join(map(str, array.element))})" if array.element else ""
    shown = f" from {array.source_name}" if array.source_name != array.name else ""
    return f"{'shared' if array.shared else 'local'} array {array.name}: {of}{list(array.shape)}{shown}"


def _local(local: IRLocal) -> str:
    words = [local.name + _type(local.type)]
    words += ["declared"] if local.declared else []
    words += ["weak"] if local.weak else []
    words += [f"from {local.source_name}"] if local.source_name != local.name else []
    return " ".join(words)


# ------------------------------------------------------------------------------------------------------- statements


def _block(block: Block, indent: str, lines: list[str]) -> None:
    for stmt in block:
        _statement(stmt, indent, lines)


def _body(block: Block, indent: str, lines: list[str]) -> None:
    if block:
        _block(block, indent, lines)
    else:
        lines.append(f"{indent}pass")


def _statement(stmt: Any, indent: str, lines: list[str]) -> None:
    inner = indent + "  "
    match stmt:
        case IRAssign():
            lines.append(f"{indent}{stmt.name} = {print_expr(stmt.value)}")
        case IRStore():
            lines.append(f"{indent}{stmt.array}[{_list(stmt.index)}] = {print_expr(stmt.value)}")
        case IRAtomic():
            old = f"{stmt.result} = " if stmt.result else ""
            lines.append(f"{indent}{old}atomic_{stmt.op} {stmt.array}[{_list(stmt.index)}], {print_expr(stmt.value)}")
        case IRDeclare():
            lines.append(f"{indent}declare {stmt.array}")
        case IRBarrier():
            lines.append(f"{indent}barrier")
        case IRBlockReduce():
            lines.append(f"{indent}{stmt.result} = {stmt.primitive} {print_expr(stmt.value)}")
        case IREval():
            lines.append(f"{indent}eval {print_expr(stmt.value)}")
        case IRIf():
            lines.append(f"{indent}if {print_expr(stmt.test)}:")
            _body(stmt.then, inner, lines)
            if stmt.orelse:
                lines.append(f"{indent}else:")
                _block(stmt.orelse, inner, lines)
        case IRFor():
            lines.append(f"{indent}for {_range(stmt.range)}:")
            _body(stmt.body, inner, lines)
        case IRWhile():
            if stmt.pre:
                lines.append(f"{indent}before:")
                _block(stmt.pre, inner, lines)
            lines.append(f"{indent}while {print_expr(stmt.test)}:")
            _body(stmt.body, inner, lines)
        case IRRegion():
            lines.append(f"{indent}region {stmt.label}:")
            _body(stmt.body, inner, lines)
        case IRPrint():
            parts = ", ".join(repr(part) if isinstance(part, str) else print_expr(part) for part in stmt.parts)
            lines.append(f"{indent}print({parts})")
        case IRLeave():
            lines.append(f"{indent}leave {stmt.label}")
        case IRBreak():
            lines.append(f"{indent}break")
        case IRContinue():
            lines.append(f"{indent}continue")
        case _:
            lines.append(f"{indent}{stmt!r}")


def _range(node: IRRange) -> str:
    return f"{node.var} in range({print_expr(node.start)}, {print_expr(node.end)}, {print_expr(node.step)})"


# ------------------------------------------------------------------------------------------------------ expressions


def _list(nodes: tuple[Any, ...]) -> str:
    return ", ".join(print_expr(node) for node in nodes)


def print_expr(node: Any) -> str:
    """One expression. Operations show their type, other nodes where it does not follow from what they name."""
    match node:
        case IRConst():
            return f"{node.value!r}" if node.type is None or node.type.name == "bool" else f"{node.value!r}:{node.type.name}"
        case IRName():
            return node.name
        case IRDimSize():
            return f"{node.array}.{node.dim}" if isinstance(node.dim, str) else f"{node.array}.shape[{node.dim}]"
        case IRLoad():
            return f"{node.array}[{_list(node.index)}]"
        case IRCast():
            return f"{node.type.name}({print_expr(node.value)})"
        case IRCond():
            return f"({print_expr(node.then)} if {print_expr(node.test)} else {print_expr(node.orelse)})"
        case IRComponent():
            return f"component([{_list(node.index)}] of {node.shape})"
        case IRCheck():
            stored = f", stored in {node.stored}" if node.stored else ""
            return f"check {node.site}([{_list(node.index)}] in [{_list(node.extents)}]{stored})"
        case IRNonzero():
            return f"nonzero {node.site}({print_expr(node.value)})"
        case IRLogic():
            return f"({print_expr(node.left)} {node.op} {print_expr(node.right)})"
        case IROp():
            return _operation(node)
        case IRTextureSample():
            return f"{node.texture}.sample({_list(node.coords)})"
        case _:
            return repr(node)


def _operation(node: IROp) -> str:
    symbol = OPS[node.op].symbol if node.op in OPS else ""
    shown = "" if node.type is None or node.type.name == "bool" else f".{node.type.name}"
    if symbol and len(node.args) == 2:
        return f"({print_expr(node.args[0])} {symbol}{shown} {print_expr(node.args[1])})"
    return f"{node.op}{shown}({_list(node.args)})"
