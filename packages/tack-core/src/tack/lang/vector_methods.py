"""The methods of vectors and matrices, and `@`, as scalar IR (V1).

Sums of products are an fma chain in index order (E5): the first product goes to a local, each further one is added to the sum so
far, and where the target has fma every addition is one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import reduce

from tack.errors import Span
from tack.ir.nodes import IRConst, IRExpr, IROp
from tack.lang.ast_vector import VectorLowering
from tack.lang.remedies import VECTOR_NAMES, did_you_mean
from tack.lang.values import METHODS, Value, Vector, described

__all__ = ["MethodLowering"]

Row = Sequence[IRExpr]


class MethodLowering(VectorLowering):
    """Lowers `v.dot(w)` and its like; what a method is called on, and its argument, are evaluated first."""

    def method_value(self, value: Vector, node: ast.Call) -> Value:
        """The value of the method call `node` on `value`."""
        func = node.func
        assert isinstance(func, ast.Attribute)
        name = func.attr
        if name not in METHODS:
            raise self.error(TypeError, func, f"{described(value.shape)} has no method '{name}'", _instead(name, value))
        kind, takes = METHODS[name]
        if node.keywords or len(node.args) != int(takes):
            remedy = f"Write `v.{name}({'w' if takes else ''})`."
            raise self.error(TypeError, node, f"{name}() takes {'one argument' if takes else 'no arguments'}", remedy)
        if kind != "any" and value.is_matrix != (kind == "matrix"):
            message = f"{name}() is a method of {_KINDS[kind]}, and this is {described(value.shape)}"
            raise self.error(TypeError, node, message, f"Call it on {_KINDS[kind]}.")
        span = self.span(node)
        if takes:
            first, second = self.in_order((lambda: value, lambda: self.value(node.args[0])))
            assert isinstance(first, Vector)
            if not isinstance(second, Vector) or second.is_matrix or (name != "outer" and second.shape != value.shape):
                wanted = "a vector" if name == "outer" else described(value.shape)
                given = described(second.shape if isinstance(second, Vector) else ())
                raise self.error(TypeError, node.args[0], f"{name}() takes {wanted}, not {given}", f"Pass {wanted}.")
            return self._pair(name, self.settled(first), self.settled(second), node)
        return self._alone(name, self.settled(value), node, span)

    def _pair(self, name: str, a: Vector, b: Vector, node: ast.Call) -> Value:
        span = self.span(node)
        if name == "dot":
            return self._dot(a.components, b.components, span)
        if name == "outer":
            if max(a.shape[0], b.shape[0]) > 4:
                raise self.error(TypeError, node, "outer() of vectors of more than 4 components", "Multiply them in a loop.")
            products = [self.temporary(_op("mul", span, x, y), "(product)") for x in a.components for y in b.components]
            return Vector((a.shape[0], b.shape[0]), tuple(products), span)
        if a.shape[0] not in (2, 3):
            raise self.error(TypeError, node, f"cross() of {described(a.shape)}", "It takes vectors of 2 or of 3.")
        x, y = a.components, b.components

        def minor(i: int, j: int) -> IRExpr:  # two products: neither is fused, so that it is 0 where they are equal
            return _op("sub", span, _op("mul", span, x[i], y[j]), _op("mul", span, x[j], y[i]))

        if a.shape[0] == 2:
            return minor(0, 1)
        return Vector((3,), (minor(1, 2), minor(2, 0), minor(0, 1)), span)

    def _alone(self, name: str, value: Vector, node: ast.Call, span: Span) -> Value:
        if name in ("norm", "normalized", "inverse"):
            value = self._floating(value, span)
        parts = value.components
        if name == "norm_sqr":
            return self._dot(parts, parts, span)
        if name == "norm":
            return _op("sqrt", span, self._dot(parts, parts, span))
        if name == "normalized":
            norm = self.temporary(_op("sqrt", span, self._dot(parts, parts, span)), "(norm)")
            return Vector(value.shape, tuple([_op("div", span, each, norm) for each in parts]), span)
        if name == "sum":
            return reduce(lambda a, b: _op("add", span, a, b), parts)
        if name == "min" or name == "max":
            return IROp(name, parts, None, span)
        if name == "transpose":
            rows, cols = value.shape
            return Vector((cols, rows), tuple([each for k in range(cols) for each in value.column(k)]), span)
        n = value.shape[0]
        if value.shape[1] != n:
            raise self.error(TypeError, node, f"{name}() of {described(value.shape)}", "It takes as many rows as columns.")
        if name == "trace":
            return reduce(lambda a, b: _op("add", span, a, b), [parts[k * n + k] for k in range(n)])
        minors = _Minors(self, value, span)
        everything = tuple(range(n))
        determinant = minors.determinant(everything, everything)
        return determinant if name == "determinant" else minors.inverse(determinant)

    def _floating(self, value: Vector, span: Span) -> Vector:
        """The components as floats, integers as the default float (T11), before they are multiplied: squares of integers wrap."""
        one = IRConst(1.0, None, span)
        parts = [self.temporary(_op("mul", span, each, one), "(component)") for each in value.components]
        return Vector(value.shape, tuple(parts), span)

    def _dot(self, a: Row, b: Row, span: Span) -> IRExpr:
        """The sum of products of evaluated components."""
        total: IRExpr = self.temporary(_op("mul", span, a[0], b[0]), "(product)")
        for x, y in zip(a[1:], b[1:], strict=True):
            total = _op("add", span, total, _op("mul", span, x, y))
        return total

    def matmul(self, left: Value, right: Value, span: Span) -> Value:
        """`a @ b`: of matrices, a matrix and a vector, or two vectors (their dot product)."""
        if not isinstance(left, Vector) or not isinstance(right, Vector):
            raise self.error(TypeError, span, "`@` of a number", "Write `*`; `@` multiplies matrices and vectors.")
        if left.shape[-1] != right.shape[0]:
            message = f"`@` of {described(left.shape)} and {described(right.shape)}"
            raise self.error(TypeError, span, message, "The left one needs as many columns as the right one has rows.")
        left, right = self.settled(left), self.settled(right)
        rows = [left.row(k) for k in range(left.shape[0])] if left.is_matrix else [left.components]
        columns = [right.column(k) for k in range(right.shape[1])] if right.is_matrix else [right.components]
        products = tuple([self._dot(row, column, span) for row in rows for column in columns])
        shape = (*left.shape[:-1], *right.shape[1:])
        return Vector(shape, products, span) if shape else products[0]


class _Minors:
    """Determinants of parts of a square matrix, each computed once: along the first row, as an fma chain of its components and
    their cofactors."""

    def __init__(self, lowering: MethodLowering, value: Vector, span: Span) -> None:
        self.lowering, self.value, self.span = lowering, value, span
        self.known: dict[tuple[tuple[int, ...], tuple[int, ...]], IRExpr] = {}

    def determinant(self, rows: tuple[int, ...], cols: tuple[int, ...]) -> IRExpr:
        """That of the given rows and columns; evaluated."""
        if len(rows) == 1:
            return self.value.row(rows[0])[cols[0]]
        key = rows, cols
        if key not in self.known:
            first, rest = self.value.row(rows[0]), rows[1:]
            cofactors = [self._signed(k, self.determinant(rest, cols[:k] + cols[k + 1 :])) for k in range(len(cols))]
            total = self.lowering._dot([first[c] for c in cols], cofactors, self.span)  # pyright: ignore[reportPrivateUsage]
            self.known[key] = self.lowering.temporary(total, "(determinant)")
        return self.known[key]

    def _signed(self, k: int, minor: IRExpr) -> IRExpr:
        return _op("neg", self.span, minor) if k % 2 else minor

    def inverse(self, determinant: IRExpr) -> Vector:
        """The cofactors, transposed, over the determinant."""
        n = self.value.shape[0]
        every = tuple(range(n))
        parts: list[IRExpr] = []
        for i in range(n):
            for j in range(n):
                minor = self.determinant(every[:j] + every[j + 1 :], every[:i] + every[i + 1 :])
                parts.append(_op("div", self.span, self._signed(i + j, minor), determinant))
        return Vector((n, n), tuple(parts), self.span)


_KINDS = {"vector": "vectors", "matrix": "matrices"}


def _instead(name: str, value: Vector) -> str:
    """What to write for a method that vectors and matrices do not have."""
    mine = [each for each, (kind, _) in METHODS.items() if kind in ("any", "matrix" if value.is_matrix else "vector")]
    known = VECTOR_NAMES.get(name)
    if known in mine:
        return f"Write `{'m' if value.is_matrix else 'v'}.{known}()`."
    return did_you_mean(name, mine) or f"It has {', '.join(mine)}."


def _op(name: str, span: Span, *args: IRExpr) -> IRExpr:
    return IROp(name, args, None, span)
