"""What a lowered expression may be: one IR expression, or a vector or matrix of them (V1). The IR itself knows scalars only.

The components of a `Vector` have one type in every call: whoever makes one sees to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tack.errors import Span
from tack.ir.nodes import IRExpr

__all__ = ["METHODS", "Value", "Vector", "described", "parts_of"]

# The methods: which values have them ("vector", "matrix", "any"), and whether they take another value.
METHODS: dict[str, tuple[str, bool]] = {
    "dot": ("vector", True), "cross": ("vector", True), "outer": ("vector", True), "norm": ("any", False),
    "norm_sqr": ("any", False), "normalized": ("vector", False), "sum": ("any", False), "min": ("any", False),
    "max": ("any", False), "transpose": ("matrix", False), "trace": ("matrix", False), "determinant": ("matrix", False),
    "inverse": ("matrix", False),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector (`shape` is `(n,)`), a matrix (`(rows, cols)`, row by row), or a mask: a vector of truth values."""

    shape: tuple[int, ...]
    components: tuple[IRExpr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_matrix(self) -> bool:
        """Whether it has rows and columns."""
        return len(self.shape) == 2

    def row(self, k: int) -> tuple[IRExpr, ...]:
        """The components of row `k` of a matrix."""
        cols = self.shape[1]
        return self.components[k * cols : (k + 1) * cols]

    def column(self, k: int) -> tuple[IRExpr, ...]:
        """The components of column `k` of a matrix."""
        return self.components[k :: self.shape[1]]


Value = IRExpr | Vector


def parts_of(value: Value) -> tuple[IRExpr, ...]:
    """The components of a value; a number is its own."""
    return value.components if isinstance(value, Vector) else (value,)


def described(shape: tuple[int, ...]) -> str:
    """A value of this shape in words: "a number", "a vector of 3", "a 2x3 matrix"."""
    if not shape:
        return "a number"
    return f"a vector of {shape[0]}" if len(shape) == 1 else f"a {shape[0]}x{shape[1]} matrix"
