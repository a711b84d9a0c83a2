"""Addresses as a base and a literal distance: the same index, modulo 2^64 (T4), in any nesting of sums and products."""

from __future__ import annotations

import random

import pytest

from tack.codegen.llvm_address import linear
from tack.ir.nodes import IRConst, IRExpr, IRName, IROp
from tack.ir.types import i64

NAMES = {"a": 7, "b": -(2**62) - 3, "c": 2**63 - 1, "n": 5}
ORIGINS = {"i": ("n", -(2**63)), "j": ("n", 11)}  # the value of i is n - 2^63
VALUES = NAMES | {name: NAMES[base] + rest for name, (base, rest) in ORIGINS.items()}


def _wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _random(chance: random.Random, depth: int) -> tuple[IRExpr, int]:
    """An expression, and its value by Python's integers."""
    if depth == 0 or chance.random() < 0.15:
        if chance.random() < 0.5:
            name = chance.choice(sorted(VALUES))
            return IRName(name, type=i64), VALUES[name]
        number = chance.choice([0, 1, -1, 3, 2**31, 2**63 - 1, -(2**63)])
        return IRConst(number, type=i64), number
    op = chance.choice(["add", "sub", "mul", "and"])
    (left, x), (right, y) = _random(chance, depth - 1), _random(chance, depth - 1)
    value = {"add": x + y, "sub": x - y, "mul": x * y, "and": _wrap(x) & _wrap(y)}[op]
    return IROp(op, (left, right), type=i64), _wrap(value)


def _value(node: IRExpr) -> int:
    if isinstance(node, IRConst):
        return int(node.value)
    if isinstance(node, IRName):
        return VALUES[node.name]
    assert isinstance(node, IROp)
    x, y = (_wrap(_value(arg)) for arg in node.args)
    return _wrap({"add": x + y, "sub": x - y, "mul": x * y, "and": x & y}[node.op])


@pytest.mark.parametrize("seed", range(200))
def test_a_sum_of_products_has_the_value_of_the_expression(seed: int) -> None:
    node, expected = _random(random.Random(seed), 5)
    parts: dict[str, int] = {}

    def write(part: IRExpr) -> str:
        if isinstance(part, IRName):
            return part.name
        parts[f"%{len(parts)}"] = _value(part)
        return f"%{len(parts) - 1}"

    terms, rest = linear(node, write, ORIGINS)
    assert -(2**63) <= rest < 2**63 and all(-(2**63) <= factor < 2**63 and factor for _, factor in terms)
    assert _wrap(sum((NAMES | parts)[word] * factor for word, factor in terms) + rest) == expected


def test_points_around_a_moving_centre_share_their_base() -> None:
    i, j = (IRName(name, type=i64) for name in "ab")
    row = IROp("mul", (i, IRConst(16, type=i64)), type=i64)
    for distance in (-16, -1, 0, 1, 16):
        index = IROp("add", (row, IROp("add", (j, IRConst(distance, type=i64)), type=i64)), type=i64)
        assert linear(index, lambda part: part.name, {}) == ([("a", 16), ("b", 1)], distance)  # pyright: ignore
