"""Index arithmetic modulo 2^32: which operations depend on the low bits of their operands alone, and what a literal adds.

Knows no text and no dialect.
"""

from __future__ import annotations

from tack.codegen.gpu_layout import NARROW_OFFSET
from tack.ir.nodes import IRCast, IRConst, IRExpr, IROp
from tack.ir.types import ScalarType, u32

__all__ = ["keeps_low_bits", "literal_count", "without_offset"]


def keeps_low_bits(node: IRExpr, word: ScalarType) -> bool:
    """Whether the low bits of a value, as many as `word` has, depend on those of its operands alone; not asked of sums."""
    if isinstance(node, IRCast):
        source, target = node.value.type, node.type
        return source is not None and source.is_int and min(source.bits, target.bits) >= word.bits
    if not isinstance(node, IROp) or node.type is None or node.type.bits < word.bits:
        return False
    return node.op in ("band", "bor", "bxor", "invert") or (node.op == "shl" and isinstance(node.args[1], IRConst))


def literal_count(node: IROp) -> int:
    """The literal count of a shift (T4)."""
    count = node.args[1]
    assert isinstance(count, IRConst) and node.type is not None
    return int(count.value) % node.type.bits


def without_offset(node: IRExpr) -> tuple[IRExpr | None, int]:
    """An index as another (None for 0) plus a literal above -NARROW_OFFSET, equal to it modulo 2^32."""
    rest, offset = _split(node)
    if rest is None:
        return None, offset % (1 << 32)
    offset = (offset + (1 << 31)) % (1 << 32) - (1 << 31)
    return (rest, offset) if offset > -NARROW_OFFSET else (node, 0)


def _split(node: IRExpr) -> tuple[IRExpr | None, int]:
    if isinstance(node, IRConst):
        return None, int(node.value)
    if isinstance(node, IRCast) and keeps_low_bits(node, u32):
        rest, offset = _split(node.value)
        if rest is None or rest is node.value:
            return (None if rest is None else node), offset
        return IRCast(rest, node.type, node.span), offset
    if not isinstance(node, IROp) or node.type is None or node.type.bits < u32.bits:
        return node, 0
    if node.op in ("add", "sub"):
        return _sum(node)
    if node.op == "neg":
        rest, offset = _split(node.args[0])
        return None if rest is None else IROp("neg", (rest,), node.type, node.span), -offset
    if node.op == "mul":
        return _product(node)
    return node, 0


def _sum(node: IROp) -> tuple[IRExpr | None, int]:
    (left, first), (right, second) = _split(node.args[0]), _split(node.args[1])
    offset = first + second if node.op == "add" else first - second
    if left is node.args[0] and right is node.args[1]:
        return node, 0
    if left is None and right is not None and node.op == "sub":
        return IROp("neg", (right,), node.type, node.span), offset
    if left is None or right is None:
        return right if left is None else left, offset
    return IROp(node.op, (left, right), node.type, node.span), offset


def _product(node: IROp) -> tuple[IRExpr | None, int]:
    """A sum times a literal is the sum of the products."""
    for k, other in enumerate(node.args):
        factor = node.args[1 - k]
        if isinstance(factor, IRConst):
            rest, offset = _split(other)
            offset *= int(factor.value)
            if rest is None:
                return None, offset
            return (node if rest is other else IROp("mul", (rest, factor), node.type, node.span)), offset
    return node, 0
