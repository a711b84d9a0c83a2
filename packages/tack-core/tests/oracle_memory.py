"""Arrays, local arrays, atomics and loops over objects, for `oracle` (rules M1, M5, A1, F2); no code of the compiler."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from oracle_scalars import TYPES, Num, binary, convert
from oracle_vectors import Vec, stored


def dtype_of(t: str) -> np.dtype[Any]:
    """The NumPy dtype of a type's name."""
    return np.dtype(f"{t[0]}{int(t[1:]) // 8}")


class Array:
    """A kernel's view of a NumPy array, whose last dimensions are the components of its elements; every index is checked."""

    def __init__(self, data: np.ndarray, element: tuple[int, ...] = ()) -> None:
        self.data, self.element = data, element
        self.t = next(t for t in TYPES if dtype_of(t) == data.dtype)

    @property
    def shape(self) -> tuple[Num, ...]:
        return tuple(Num("i64", n) for n in self.extents)

    @property
    def extents(self) -> tuple[int, ...]:
        return self.data.shape[: self.data.ndim - len(self.element)]

    @property
    def ndim(self) -> Num:
        return Num("i64", len(self.extents))

    @property
    def size(self) -> Num:
        return Num("i64", math.prod(self.extents))

    def at(self, index: Any) -> tuple[int, ...]:
        indices = index if isinstance(index, tuple) else (index,)
        indices = [i for part in indices for i in (part.parts if isinstance(part, Vec) else [part])]
        at = tuple(i.v if isinstance(i, Num) else i for i in indices)
        if len(at) != len(self.extents) or not all(
            isinstance(i, int) and 0 <= i < n for i, n in zip(at, self.extents, strict=True)
        ):
            raise IndexError(f"index {at} of an array of shape {self.extents}")
        return at

    def __getitem__(self, index: Any) -> Any:
        found = self.data[self.at(index)]
        if not self.element:
            return Num(self.t, found.item())

        def store(k: int, value: Any) -> None:
            found.reshape(-1)[k] = convert(value, self.t).v

        return Vec([Num(self.t, each) for each in found.reshape(-1).tolist()], self.element, store)

    def __setitem__(self, index: Any, value: Any) -> None:
        at = self.at(index)
        if self.element:
            self.data[at] = np.array(stored(value, self.t, math.prod(self.element)), self.data.dtype).reshape(self.element)
        else:
            self.data[at] = convert(value, self.t).v


class LocalArray(Array):
    """A local array: reading what nothing has stored is an error."""

    def __init__(self, data: np.ndarray, element: tuple[int, ...]) -> None:
        super().__init__(data, element)
        self.known = np.zeros(self.extents, bool)

    def __getitem__(self, index: Any) -> Any:
        assert self.known[self.at(index)], "a local array is read before it is written"
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self.known[self.at(index)] = True


def local_array(make: Any, shape: Any) -> LocalArray:
    """`tack.local_array(tack.f32, (2, 3))`, where `make` makes an element of numbers."""
    zero = make(0)
    t, element = (zero.parts[0].t, zero.shape) if isinstance(zero, Vec) else (zero.t, ())
    extents = [n.v if isinstance(n, Num) else n for n in (shape if isinstance(shape, tuple) else (shape,))]
    return LocalArray(np.zeros((*extents, *element), dtype_of(t)), element)


def atomic(op: str) -> Any:
    """`tack.atomic_add` and its like: the value is converted once, the old value is the result."""

    def update(array: Array, index: Any, value: Any) -> Num:
        assert not array.element and not isinstance(array, LocalArray)
        old = array[index]
        array[index] = binary(op, old, convert(value, array.t))
        return old

    return update


def iterate(thing: Any, together: bool) -> Any:
    """What `for ... in thing` runs over, an object: indices, the first named running fastest; `together` in one vector."""
    names = type(thing).__tack_iterate__
    names = (names,) if isinstance(names, str) else names
    sizes = [n.v if isinstance(n, Num) else n for n in (getattr(thing, name) for name in names)]
    for point in itertools.product(*(range(n) for n in reversed(sizes))):
        indices = [Num("i64", i) for i in reversed(point)]
        yield indices[0] if len(indices) == 1 else Vec(indices) if together else tuple(indices)
