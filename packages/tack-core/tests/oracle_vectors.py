"""Vectors and matrices for `oracle`: tuples of scalars, with rules V1 and V2 written down a second time.

A component is a `Num`, a plain Python number where it is weak, a bool in a mask, or a `Product` that a sum may fuse (E5).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from oracle_scalars import Num, Several, convert, float_type, product, round_to

LETTERS = "xyzw"


class Vec(Several):
    """A value of several components. `home` stores into the array element that it was read from, if it was."""

    def __init__(self, parts: list[Any], shape: tuple[int, ...] | None = None, home: Callable[[int, Any], None] | None = None):
        self.__dict__.update(parts=parts, shape=shape or (len(parts),), home=home)

    def __repr__(self) -> str:
        return f"Vec{self.shape}({self.parts})"

    def copy(self) -> Vec:
        return Vec(list(self.parts), self.shape)

    # ------------------------------------------------------------------------------------------------ components

    def _at(self, index: Any) -> int:
        indices = [i.v if isinstance(i, Num) else i for i in (index if isinstance(index, tuple) else (index,))]
        if len(indices) != len(self.shape) or not all(0 <= i < n for i, n in zip(indices, self.shape, strict=True)):
            raise IndexError(f"component {index} of {self}")
        return indices[0] if len(indices) == 1 else indices[0] * self.shape[1] + indices[1]

    def __getitem__(self, index: Any) -> Any:
        return self.parts[self._at(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        k = self._at(index)
        self.parts[k] = value
        if self.home is not None:
            self.home(k, value)

    def __getattr__(self, letters: str) -> Any:
        if not letters or not set(letters) <= set(LETTERS):
            raise AttributeError(letters)
        parts = [self.parts[LETTERS.index(c)] for c in letters]
        return parts[0] if len(parts) == 1 else Vec(parts)

    def __setattr__(self, letter: str, value: Any) -> None:
        self[LETTERS.index(letter)] = value

    def row(self, i: int) -> list[Any]:
        return self.parts[i * self.shape[1] : (i + 1) * self.shape[1]]

    def column(self, j: int) -> list[Any]:
        return self.parts[j :: self.shape[1]]

    # --------------------------------------------------------------------------------------------------- methods

    def dot(self, other: Vec) -> Any:
        return chain(self.parts, other.parts)

    def norm_sqr(self) -> Any:
        return chain(self.parts, self.parts)

    def norm(self) -> Num:
        return root(self.floating().norm_sqr())

    def normalized(self) -> Vec:
        length = self.norm()
        return Vec([part / length for part in self.floating().parts])

    def floating(self) -> Vec:
        """T11: integers are converted before anything is computed of them."""
        return Vec([part * 1.0 for part in self.parts], self.shape)

    def cross(self, other: Vec) -> Any:
        a, b = self.parts, other.parts
        minor = lambda i, j: a[i] * b[j] - a[j] * b[i]  # noqa: E731
        return minor(0, 1) if len(a) == 2 else Vec([minor(1, 2), minor(2, 0), minor(0, 1)])

    def outer(self, other: Vec) -> Vec:
        return Vec([x * y for x in self.parts for y in other.parts], (len(self.parts), len(other.parts)))

    def sum(self) -> Any:
        return reduce(operator.add, self.parts)

    def transpose(self) -> Vec:
        rows, cols = self.shape
        return Vec([x for j in range(cols) for x in self.column(j)], (cols, rows))

    def trace(self) -> Any:
        return reduce(operator.add, [self[k, k] for k in range(self.shape[0])])

    def without(self, row: int, col: int) -> Vec:
        n = self.shape[0]
        return Vec([self[i, j] for i in range(n) if i != row for j in range(n) if j != col], (n - 1, n - 1))

    def determinant(self) -> Any:
        """Along the first row, as a chain."""
        n = self.shape[0]
        if n == 1:
            return self.parts[0]
        minors = [self.without(0, k).determinant() for k in range(n)]
        return chain(self.row(0), [-m if k % 2 else m for k, m in enumerate(minors)])

    def inverse(self) -> Vec:
        n, values = self.shape[0], self.floating()
        whole = values.determinant()
        minors = [(i + j, values.without(j, i).determinant()) for i in range(n) for j in range(n)]
        return Vec([(-m if k % 2 else m) / whole for k, m in minors], self.shape)

    def __matmul__(self, other: Vec) -> Any:
        rows = [self.row(i) for i in range(self.shape[0])] if len(self.shape) == 2 else [self.parts]
        columns = [other.column(j) for j in range(other.shape[1])] if len(other.shape) == 2 else [other.parts]
        shape = (*self.shape[:-1], *other.shape[1:])
        parts = [chain(r, c) for r in rows for c in columns]
        return Vec(parts, shape) if shape else parts[0]


def chain(a: list[Any], b: list[Any]) -> Any:
    """E5: the first product is rounded, each further one is fused with the sum so far."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + product(x, y)
    return total


def root(x: Any) -> Num:
    t = float_type(x)
    value = convert(x, t).v
    return Num(t, round_to(math.sqrt(value), t) if value >= 0 else float("nan"))  # `** 0.5` rounds otherwise


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers that acts per component, and broadcasts numbers, where an argument is a vector."""

    def call(*args: Any) -> Any:
        shapes = {a.shape for a in args if isinstance(a, Vec)}
        if not shapes:
            return function(*args)
        (shape,) = shapes
        count = max(len(a.parts) for a in args if isinstance(a, Vec))
        rows = [a.parts if isinstance(a, Vec) else [a] * count for a in args]
        return Vec([function(*parts) for parts in zip(*rows, strict=True)], shape)

    return call


def _add_operators() -> None:
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
        call, word = lifted(getattr(operator, name)), name.rstrip("_")
        setattr(Vec, f"__{word}__", lambda x, y, call=call: call(x, y))
        setattr(Vec, f"__r{word}__", lambda y, x, call=call: call(x, y))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Vec, f"__{name}__", lambda x, y, call=lifted(getattr(operator, name)): call(x, y))
    for name in ("neg", "invert", "abs"):
        setattr(Vec, f"__{name}__", lambda x, call=lifted(getattr(operator, name)): call(x))


_add_operators()
Vec.__hash__ = None  # type: ignore[assignment]


def vector_product(x: Any, y: Any) -> Any:
    """`x * y` as an operand of `+` or `-`, per component."""
    return lifted(product)(x, y)


def value(x: Any) -> Any:
    """What a name stands for after it is assigned `x`: vectors are values."""
    if isinstance(x, tuple):
        return tuple(map(value, x))
    return x.copy() if isinstance(x, Vec) else x


def made(parts: list[Any]) -> Vec:
    """A list in a kernel."""
    if all(isinstance(part, Vec) for part in parts):
        return Vec([x for part in parts for x in part.parts], (len(parts), len(parts[0].parts)))
    return Vec(list(parts))


def vector_type(n: int, t: Callable[[Any], Any]) -> Callable[..., Vec]:
    """`tack.vec(n, t)`."""

    def construct(*args: Any) -> Vec:
        flat = [x for arg in args for x in (arg.parts if isinstance(arg, Vec) else [arg])]
        flat = flat * n if len(args) == 1 and not isinstance(args[0], Vec) else flat
        assert len(flat) == n, (flat, n)
        return Vec([t(x) for x in flat])

    return construct


def matrix_type(rows: int, cols: int, t: Callable[[Any], Any]) -> Callable[..., Vec]:
    """`tack.mat(rows, cols, t)`."""

    def construct(*args: Any) -> Vec:
        flat = [t(x) for arg in args for x in arg.parts]
        assert len(flat) == rows * cols
        return Vec(flat, (rows, cols))

    return construct


def any_of(mask: Vec) -> bool:
    return any(bool(part) for part in mask.parts)


def all_of(mask: Vec) -> bool:
    return all(bool(part) for part in mask.parts)


def stored(x: Any, t: str, count: int) -> list[Any]:
    """The components that a store of `x` into an element writes."""
    return [convert(part, t).v for part in (x.parts if isinstance(x, Vec) else [x] * count)]
