"""`tex.sample(u, v, w)` in kernels: the call becomes a statement, so that every sample stands alone, made once and in order."""

from __future__ import annotations

import ast

from tack.ir.nodes import IRAssign, IRLocal, IRName, IRTextureSample
from tack.ir.types import f32
from tack.lang.ast_context import Context

__all__ = ["lower_sample"]


def lower_sample(lowering: Context, texture: str, node: ast.Call) -> IRName:
    """Lower a sample of the texture that parameter `texture` holds; whether it holds one, every call is checked for."""
    if node.keywords:
        remedy = "Pass the coordinates by position."
        raise lowering.error(TypeError, node.keywords[0], "sample() takes no keyword arguments", remedy)
    if len(node.args) != 3:
        message = f"sample() takes three coordinates, not {len(node.args)}"
        raise lowering.error(TypeError, node, message, "Write tex.sample(u, v, w), each from 0 to 1 across the texture.")
    u, v, w = lowering.in_order([lambda part=part: lowering.expr(part) for part in node.args])
    span = lowering.span(node)
    name = lowering.fresh(f"{lowering.scope.prefix}(sample)")
    lowering.locals[name] = IRLocal(name, "(sample)", f32, declared=True)
    lowering.out.append(IRAssign(name, IRTextureSample(texture, (u, v, w), None, span), span))
    return IRName(name, None, span)
