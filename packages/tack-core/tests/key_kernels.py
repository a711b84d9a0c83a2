"""Kernels that cover the language, each with a call, and the changes of one input of a call at a time.

The kernels are those of the goldens and what these leave out: objects, matrices, sizes as values, unused parameters, workgroups.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from golden import kernels as golden

import tack
from tack.ir.types import DTYPES, MatrixType, VectorType
from tack.lang.device_class import is_device_object, is_number

__all__ = ["CASES", "Case", "Change", "changes"]


@tack.kernel
def passed_by(x, other, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a + 0.1


@tack.kernel
def unused(thing, out):
    for i in range(out.shape[0]):
        out[i] = i / 3


@tack.kernel
def reverse(x, out):
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]


@tack.kernel
def sizes(x, y, out):
    for i in range(y.shape[0]):
        out[i] = x.ndim * 100 + x.size + len(x) * y[i]


@tack.kernel
def unpacked(a, out):
    h, w = a.shape
    for i in range(h * w):
        row, column = i // w, i % w
        out[i] = a[row, column] if (row + column) % 2 else -a[row, column]


@tack.kernel
def boxes(a, out, first):
    for i, j, k in tack.ndindex((first, a.shape[0]), a.shape[1], (1, a.shape[2])):
        out[i, j, k] = a[i, j, k] - a[i, j, k - 1]


@tack.kernel
def scalars(out, a, b, n):
    scale = a / 2
    for i in range(out.shape[0]):
        out[i] = scale * i + b * 0.1 + n // 3


@tack.kernel
def lengths(v, w, out):
    for i in range(v.shape[0]):
        out[i] = v[i].dot(v[i]) + w[i].x


@tack.kernel
def products(m, v, out):
    for i in range(v.shape[0]):
        out[i] = m[i] @ v[i]


@tack.kernel
def components(m, out):
    for i in range(m.shape[0]):
        out[i] = m[i]


@tack.kernel
def fused(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * y[i] + out[i] + tack.fma(x[i], 2.0, y[i])


@tack.kernel
def scratch(x, out):
    for i in range(x.shape[0]):
        last = tack.local_array_like(x, (2, 3))
        for j in range(2):
            for k in range(3):
                last[j, k] = x[i] + j * k
        total = 0.0
        for k in range(3):
            total += last[1, k]
        out[i] = total


@tack.kernel
def drawn(seed, out):
    for i in range(out.shape[0]):
        out[i] = tack.random.uniform_f32(seed, i, 0)


@tack.kernel
def in_groups(x, out):
    for i in range(x.shape[0]):
        row = tack.shared_like(x, 256)
        row[tack.thread_id()] = x[i]
        tack.barrier()
        out[i] = row[255 - tack.thread_id()] + tack.block_sum(x[i])


@tack.func
def twice(v):
    return v * 2


@tack.func
def thrice(v):
    return v * 3


@tack.device_class
class Scaled:
    factor = 2.0
    steps = 3
    kind = tack.constant(7, tack.u8)

    def __init__(self, offset, data, held):
        self.offset = offset
        self.data = data
        self.held = held

    @tack.func
    def at(self, i):
        total = self.offset
        for k in range(self.steps):
            total += self.data[i] * self.factor + (self.kind - 9)
        return self.held(total)


@tack.device_class
class Grid:
    __tack_iterate__ = ("nx", "ny")
    nx = 3
    ny = 2
    spacing = 0.5

    def __init__(self, inner, points, tex):
        self.inner = inner
        self.points = points
        self.tex = tex


@tack.kernel
def by_object(s, out):
    for i in range(out.shape[0]):
        out[i] = s.at(i)


@tack.kernel
def by_nested(grid, out):
    for i, j in grid:
        at = j * grid.nx + i
        out[at] = grid.inner.at(at) * grid.spacing + grid.points[i].x


@tack.kernel
def by_texture_of_object(grid, out):
    for i in range(out.shape[0]):
        out[i] = grid.tex.sample(i * grid.spacing, 0.5, 0.25)


@tack.kernel
def two_objects(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a.at(i) - b.at(i)


@dataclass(frozen=True)
class Case:
    """A kernel, a function that makes the arguments of a call, and the changes of extents that bake nothing in ("x.shape[0]")."""

    kernel: tack.Kernel
    args: Callable[[], tuple[Any, ...]]
    kept: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.kernel.__name__


def _f(*shape: int) -> tack.Array:
    return tack.array(np.linspace(-3, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape))


def _vectors(n: int, dtype: Any) -> tack.Array:
    return tack.zeros(n, dtype)


def _scaled() -> Scaled:
    return Scaled(1.5, _f(6), twice)


def _grid() -> Grid:
    return Grid(_scaled(), _vectors(6, tack.vec3), tack.texture3d(_f(2, 3, 4)))


def _golden(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tack.array(a) if isinstance(a, np.ndarray) else a for a in args)


# Where the length of every array may change without a new variant.
_FREE = {
    "saxpy": "xy", "integers": ("a", "b", "out"), "casts": ("x", "n", "out"), "extremes": ("x", "out"), "countdown": ("n", "out"),
    "histogram": ("x", "bins", "least"), "ring": ("x", "out"), "turned": ("points", "turns", "out"),
    "window": ("x", "out"), "rows": ("start", "value", "out"), "volume": ("u", "v", "w", "out"),
}  # fmt: skip


def _lengths(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.shape[0]" for name in names)


CASES = [
    *(Case(getattr(golden, name), partial(_golden, args), _lengths(*_FREE.get(name, ()))) for name, args in golden.CALLS.items()),
    Case(passed_by, lambda: (_f(8), _f(8), _f(8), 2.0), _lengths("x", "other", "out")),
    Case(unused, lambda: (_f(8), _f(8)), _lengths("thing", "out")),
    Case(reverse, lambda: (_f(8), _f(8)), _lengths("out")),
    Case(sizes, lambda: (_f(8), _f(8), _f(8)), _lengths("y", "out")),
    Case(unpacked, lambda: (_f(4, 6), _f(24)), _lengths("out")),
    Case(boxes, lambda: (_f(3, 4, 5), _f(3, 4, 5), 1), _lengths("a", "out")),
    Case(scalars, lambda: (_f(8), 2.0, 5, 7), _lengths("out")),
    Case(lengths, lambda: (_vectors(4, tack.vec3), _vectors(4, tack.vec2), _f(4)), _lengths("v", "w", "out")),
    Case(products, lambda: (_vectors(4, tack.mat(2, 3)), _vectors(4, tack.vec3), _vectors(4, tack.vec2)),
         _lengths("m", "v", "out")),
    Case(components, lambda: (_vectors(4, tack.mat(2, 2)), _vectors(4, tack.mat(2, 2))), _lengths("m", "out")),
    Case(fused, lambda: (_f(8), _f(8), _f(8)), _lengths("x", "y", "out")),
    Case(scratch, lambda: (_f(8), _f(8)), _lengths("x", "out")),
    Case(drawn, lambda: (5, _f(8)), _lengths("out")),
    Case(in_groups, lambda: (_f(256), _f(256)), _lengths("out")),
    Case(by_object, lambda: (_scaled(), _f(6)), _lengths("out")),
    Case(by_nested, lambda: (_grid(), _f(6)), _lengths("out")),
    Case(by_texture_of_object, lambda: (_grid(), _f(6)), _lengths("out")),
    Case(two_objects, lambda: (_scaled(), _scaled(), _f(6)), _lengths("out")),
]  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- changes


@dataclass(frozen=True)
class Change:
    """A call that differs from another in one input. `kept`: in one that is deliberately not in the key."""

    name: str
    args: tuple[Any, ...]
    kept: bool = False


def changes(case: Case) -> Iterator[Change]:
    """The calls that differ from the case's own in one input; each must be made before the next one is asked for."""
    names = case.kernel.param_names
    base = case.args()
    for slot, (name, value) in enumerate(zip(names, base, strict=True)):
        for what, other, kept in _changed(name, value):
            yield Change(what, (*base[:slot], other, *base[slot + 1 :]), kept or what in case.kept)
    arrays = [slot for slot, value in enumerate(base) if isinstance(value, tack.Array)]
    for slot in arrays:
        for other in arrays:
            if slot != other and base[slot].dtype is base[other].dtype and base[slot].shape == base[other].shape:
                yield Change(f"{names[slot]} is {names[other]}", (*base[:slot], base[other], *base[slot + 1 :]))


Changes = Iterator[tuple[str, Any, bool]]


def _changed(name: str, value: Any) -> Changes:
    """Other values for one argument, or for one attribute of an object: what was changed, the value, whether it is `kept`."""
    if isinstance(value, tack.Array):
        yield from _changed_array(name, value)
    elif isinstance(value, tack.Texture3D):
        yield from _changed_texture(name, value)
    elif is_device_object(value):
        yield from _changed_object(name, value)
    elif callable(value):
        yield f"{name} is another function", thrice, False
    else:
        yield from _changed_number(name, value)


def _changed_array(name: str, a: tack.Array) -> Changes:
    yield f"{name}: contents and address", tack.full_like(a, 1), True
    yield f"{name} is a number", 1.5, False
    for dtype in DTYPES:
        if dtype is not a.dtype.scalar:
            yield f"{name}: {dtype}", tack.zeros(a.shape, _of(a.dtype, dtype)), False
    shapes = a.dtype.shape
    for element in (a.dtype.scalar, tack.vec(2), tack.vec(3), tack.vec(4), tack.mat(2, 2), tack.mat(2, 3), tack.mat(3, 2)):
        if element.shape != shapes:
            yield f"{name}: {element}", tack.zeros(a.shape, element), False
    for dim, size in enumerate(a.shape):
        shape = (*a.shape[:dim], size + 1, *a.shape[dim + 1 :])
        yield f"{name}.shape[{dim}]", tack.zeros(shape, a.dtype), False
    yield f"{name}: one dimension more", tack.zeros((*a.shape, 1), a.dtype), False
    if a.shape != a.shape[::-1]:
        yield f"{name}: turned", tack.zeros(a.shape[::-1], a.dtype), False


def _of(element: Any, scalar: Any) -> Any:
    if isinstance(element, VectorType):
        return tack.vec(element.shape[0], scalar)
    return tack.mat(*element.shape, scalar) if isinstance(element, MatrixType) else scalar


def _changed_texture(name: str, tex: tack.Texture3D) -> Changes:
    width, height, depth = tex.shape_3d
    yield f"{name}: contents and address", tack.texture3d(_f(depth, height, width)), tex.interp == "linear"
    yield f"{name}: filter", tack.texture3d(_f(depth, height, width), interp="nearest"), False
    for shape in ((depth, height, width + 1), (depth, height + 1, width), (depth + 1, height, width), (width, height, depth)):
        yield f"{name}: {shape}", tack.texture3d(_f(*shape)), False
    yield f"{name} is an array", _f(depth, height, width), False


_INTS = (1, -5, 2**31 - 1, True, np.int8(3), np.uint64(9), np.bool_(False), -(2**31))
_FLOATS = (0.25, -0.0, float("nan"), float("inf"), np.float32(2), np.float64(0.1), np.float16(1))
_WIDE = (2**31, 2**40, -(2**31) - 1, -(2**63), np.int64(2**40))
_UNSIGNED = (2**63, 2**64 - 1, np.uint64(2**63))
_KINDS = (_INTS, _WIDE, _UNSIGNED, _FLOATS)


def _changed_number(name: str, value: Any) -> Changes:
    own = _FLOATS if isinstance(value, float) else _INTS
    for kind in _KINDS:
        for other in kind if kind is own else kind[:2]:
            yield f"{name}: {other!r}", other, kind is own
    yield f"{name} is an array", _f(8), False


# ------------------------------------------------------------------------------------------------------------- objects


def _changed_object(name: str, thing: Any) -> Changes:
    for attribute, value in vars(thing).items():
        for what, other, kept in _changed(f"{name}.{attribute}", value):
            yield what, _with(thing, attribute, other), kept
    cls = type(thing)
    for attribute, value in vars(cls).items():
        if not attribute.startswith("_") and is_number(value):
            yield f"{name}.{attribute}: its own value", _with(thing, attribute, value), True
            for other in _other_constants(value):
                yield f"{name}.{attribute}: {other!r}", _with(thing, attribute, other), False
                setattr(cls, attribute, other)
                yield f"{cls.__name__}.{attribute}: {other!r}", copy.copy(thing), False
                setattr(cls, attribute, value)
    yield f"{name}: one more number", _with(thing, "unheard_of", 1.0), False
    yield f"{name}: one more constant", _with(thing, "unheard_of", tack.constant(1)), False
    turned = copy.copy(thing)
    turned.__dict__ = dict(reversed(vars(thing).items()))
    yield f"{name}: order of its attributes", turned, True
    other = copy.copy(thing)
    other.__class__ = _another_class(cls)
    yield f"{name}: another class", other, False


def _another_class(cls: type) -> type:
    """A class like `cls`, of the same name, whose method `at` negates."""
    members = {name: value for name, value in vars(cls).items() if not name.startswith("_") or name == "__tack_iterate__"}

    def at(self, i):
        return -self.offset

    if "at" in members:
        members["at"] = tack.func(at)
    return tack.device_class(type(cls.__name__, cls.__bases__, members))


def _with(thing: Any, attribute: str, value: Any) -> Any:
    made = copy.copy(thing)
    setattr(made, attribute, value)
    return made


def _other_constants(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (int, float)):
        return value + 1, float(value + 2), True, 2**40, tack.constant(value), -0.0, 0.0
    return (tack.constant(8, tack.u8), tack.constant(7, tack.i32), 7, 7.0)
