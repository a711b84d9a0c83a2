"""E5: makes an fma of a floating `+` or `-` with exactly one operand that is a product in the same source expression.

Decided here once, before bodies and targets split; no compiler behind may contract anything else.
"""

from __future__ import annotations

from typing import Any

from tack.ir.nodes import IRConst, IRExpr, IRFunc, IRName, IROp
from tack.ir.walk import map_children, map_func

__all__ = ["fuse"]


def fuse(func: IRFunc) -> IRFunc:
    """The typed function with fma operations where the target has them (`func.fma`)."""
    return map_func(func, _visit) if func.fma else func


def _visit(node: Any) -> Any:
    kind = node.__class__
    if kind is IRName or kind is IRConst:
        return node
    node = map_children(node, _visit)
    if kind is IROp and (node.op == "add" or node.op == "sub") and node.type.is_float:
        return _fused(node)
    return node


def _product(node: IRExpr) -> tuple[IROp, bool] | None:
    """(the product, whether one minus stands before it) of an operand; None if it is none."""
    if not isinstance(node, IROp):
        return None
    if node.op == "mul":
        return node, False
    if node.op == "neg":
        inner = node.args[0]
        if isinstance(inner, IROp) and inner.op == "mul":
            return inner, True
    return None


def _negative(node: IRExpr, negate: bool) -> IRExpr:
    return IROp("neg", (node,), node.type, node.span) if negate else node


def _fused(node: IROp) -> IROp:
    left, right = node.args
    first, second = _product(left), _product(right)
    if (first is None) == (second is None):
        return node
    subtract = node.op == "sub"
    if first is not None:
        product, negated = first
        other = _negative(right, subtract)
    else:
        assert second is not None
        product, negated = second
        negated ^= subtract
        other = left
    a, b = product.args
    return IROp("fma", (_negative(a, negated), b, other), node.type, node.span)
