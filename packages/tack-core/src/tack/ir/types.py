"""Element types: scalars, their promotion and their join (rules T1 to T8, as pure functions), vectors and matrices of them.

Every element type has `shape` (of its components), `scalar` (their type), `width`, `itemsize` and `numpy`. `BOOL` is the type of
truth values inside expressions; it is no storage type. `WEAK_INT` and `WEAK_FLOAT` are the types of literals before they meet
something; only `annotate` sees them.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tack.errors import fail

__all__ = [
    "IRTexture", "BOOL", "DTYPES", "ELEMENT_TYPES", "INTS", "FLOATS", "MOST_COMPONENTS", "MOST_ROWS", "SCALARS", "WEAK_FLOAT",
    "WEAK_INT", "ElementType", "MatrixType", "ScalarType", "VectorType", "Width", "dtype_of", "f32", "f64", "holds", "i8",
    "i16", "i32", "i64", "integer_type_for_value", "mat", "promote", "u8", "u16", "u32", "u64", "vec",
]  # fmt: skip

Kind = Literal["int", "uint", "float", "bool", "weak_int", "weak_float"]


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType:
    """A scalar element type. `name` is its short name, `itemsize` its bytes, `numpy` the NumPy dtype; instances are unique."""

    name: str
    kind: Kind
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same values."""
        return _NUMPY[self.name]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an element's components: a scalar has none."""
        return ()

    @property
    def scalar(self) -> ScalarType:
        """The type of an element's components: this one."""
        return self

    @property
    def width(self) -> Width:
        """The number of components of an element, as keys of compiled code have it."""
        return 1

    @property
    def is_float(self) -> bool:
        """Whether this is a floating type (weak ones count)."""
        return self.kind in ("float", "weak_float")

    @property
    def is_int(self) -> bool:
        """Whether this is a signed or unsigned integer type (neither weak nor a truth value)."""
        return self.kind in ("int", "uint")

    @property
    def signed(self) -> bool:
        """Whether this is a signed integer type."""
        return self.kind == "int"

    @property
    def min(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def max(self) -> int:
        """The greatest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # not NoReturn, after which editors grey out the kernel's code
        raise RuntimeError(f"{self}(x) is a cast of kernels; from Python, convert with numpy.{self.numpy}(x)")

    def __str__(self) -> str:
        return f"tack.{self.name}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


i8, i16, i32, i64 = (ScalarType(f"i{b}", "int", b) for b in (8, 16, 32, 64))
u8, u16, u32, u64 = (ScalarType(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
f32, f64 = ScalarType("f32", "float", 32), ScalarType("f64", "float", 64)
BOOL = ScalarType("bool", "bool", 8)
WEAK_INT = ScalarType("int literal", "weak_int", 64)
WEAK_FLOAT = ScalarType("float literal", "weak_float", 64)

INTS = (i8, u8, i16, u16, i32, u32, i64, u64)
FLOATS = (f32, f64)
DTYPES = INTS + FLOATS
SCALARS = {t.name: t for t in (*DTYPES, BOOL, WEAK_INT, WEAK_FLOAT)}  # by name
_NUMPY: dict[str, np.dtype[Any]] = {t.name: np.dtype(f"{'f' if t.is_float else t.name[0]}{t.itemsize}") for t in DTYPES}
_NUMPY["bool"] = np.dtype(bool)
_FROM_NUMPY = {dtype: SCALARS[name] for name, dtype in _NUMPY.items() if name != "bool"}


def _named(name: str) -> ScalarType:
    return SCALARS[name]


# ------------------------------------------------------------------------------------------------ vectors and matrices

MOST_COMPONENTS = 16
MOST_ROWS = 4
_PREFIXES = {"f32": "", "f64": "d", "i32": "i", "u32": "u"}


class _Composite:
    """What vector and matrix types share; called in kernels, where it makes a value."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        message = f"{self}() belongs inside a @tack.kernel (or a @tack.func that one calls)"
        remedy = f"Write tack.constant(values, {self}) for kernels to read; elements of arrays are written as tuples."
        raise fail(RuntimeError, message, remedy=remedy)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorType(_Composite):
    """An element type of `n` components of the scalar type `dtype`; made by `vec`. NumPy has such arrays as `(*shape, n)`."""

    n: int
    dtype: ScalarType

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an element's components: `(n,)`."""
        return (self.n,)

    @property
    def scalar(self) -> ScalarType:
        """The type of the components."""
        return self.dtype

    @property
    def width(self) -> Width:
        """The number of components, as keys of compiled code have it."""
        return self.n

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.n * self.dtype.itemsize

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of a component."""
        return self.dtype.numpy

    def __str__(self) -> str:
        prefix = _PREFIXES.get(self.dtype.name)
        return f"tack.vec({self.n}, {self.dtype})" if prefix is None or self.n > 4 else f"tack.{prefix}vec{self.n}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (vec, (self.n, self.dtype))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatrixType(_Composite):
    """An element type of `rows` times `cols` components of the scalar type `dtype`, row by row; made by `mat`.

    NumPy has such arrays as `(*shape, rows, cols)`.
    """

    rows: int
    cols: int
    dtype: ScalarType

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an element's components: `(rows, cols)`."""
        return (self.rows, self.cols)

    @property
    def scalar(self) -> ScalarType:
        """The type of the components."""
        return self.dtype

    @property
    def width(self) -> Width:
        """`(rows, cols)`, as keys of compiled code have it: a 2x2 matrix is no vector of 4."""
        return (self.rows, self.cols)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.rows * self.cols * self.dtype.itemsize

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of a component."""
        return self.dtype.numpy

    def __str__(self) -> str:
        if self.rows == self.cols and self.dtype is f32:
            return f"tack.mat{self.rows}"
        return f"tack.mat({self.rows}, {self.cols}, {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (mat, (self.rows, self.cols, self.dtype))


Width = int | tuple[int, int]  # components of an element: 1 for a scalar, n for a vector, (rows, cols) for a matrix
ElementType = ScalarType | VectorType | MatrixType
_vectors: dict[tuple[int, ScalarType], VectorType] = {}
_matrices: dict[tuple[int, int, ScalarType], MatrixType] = {}


def vec(n: int, dtype: Any = f32) -> VectorType:
    """The vector type of `n` components (2 to 16) of a scalar dtype: an element type of arrays, and in kernels a constructor.

    `ValueError` for another `n`, `TypeError` for another dtype. Equal arguments give the same object.
    """
    key = (operator.index(n), _component("vec", dtype))
    if not 2 <= key[0] <= MOST_COMPONENTS:
        raise fail(ValueError, f"tack.vec: a vector has 2 to {MOST_COMPONENTS} components, not {n}")
    return _vectors.setdefault(key, VectorType(*key))


def mat(rows: int, cols: int, dtype: Any = f32) -> MatrixType:
    """The matrix type of `rows` times `cols` components (2 to 4 each) of a scalar dtype, like `vec`."""
    key = (operator.index(rows), operator.index(cols), _component("mat", dtype))
    if not (2 <= key[0] <= MOST_ROWS and 2 <= key[1] <= MOST_ROWS):
        raise fail(ValueError, f"tack.mat: a matrix has 2 to {MOST_ROWS} rows and columns, not {rows} and {cols}")
    return _matrices.setdefault(key, MatrixType(*key))


def _component(name: str, dtype: Any) -> ScalarType:
    found = dtype_of(dtype)
    if found is None:
        raise fail(TypeError, f"tack.{name}: {dtype!r} is no scalar dtype", remedy="Write a Tack type, like tack.f32.")
    return found


def dtype_of(dtype: Any) -> ScalarType | None:
    """The Tack type for a Tack type or anything NumPy takes as a dtype; None where there is none (f16, bool, big-endian...)."""
    if isinstance(dtype, ScalarType):
        return dtype if dtype in DTYPES else None
    if isinstance(dtype, _Composite) or dtype is None:
        return None
    try:
        return _FROM_NUMPY.get(np.dtype(dtype))
    except TypeError:
        return None


def holds(t: ScalarType, value: int) -> bool:
    """Whether integer type `t` has the integer `value`."""
    return t.min <= value <= t.max


def integer_type_for_value(value: int) -> ScalarType | None:
    """T1: i32, i64 or u64, the first that holds `value`; None beyond u64."""
    for t in (i32, i64, u64):
        if holds(t, value):
            return t
    return None


def promote(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """T3: the type of an operation on two typed operands; None for a signed integer with u64, which is rejected.

    Integers give the narrowest type that holds both ranges; an integer with a float gives f32, or f64 if the float is.
    Neither operand may be weak or a truth value.
    """
    if a is b:
        return a
    if a.is_float or b.is_float:
        return f64 if f64 in (a, b) else f32
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.signed else (b, a)
    if unsigned.bits == 64:
        return None
    if signed.bits > unsigned.bits:
        return signed
    return {8: i16, 16: i32, 32: i64}[unsigned.bits]


ELEMENT_TYPES: dict[str, VectorType | MatrixType] = {
    **{f"{prefix}vec{n}": vec(n, SCALARS[name]) for name, prefix in _PREFIXES.items() for n in (2, 3, 4)},
    **{f"mat{n}": mat(n, n) for n in (2, 3, 4)},
}  # the short names that `tack` exports


@dataclass(frozen=True, slots=True)
class IRTexture:
    """How a texture is sampled: its extents, x first, whether the nearest texel is taken, and whether hardware does it."""

    extents: tuple[int, int, int]
    nearest: bool = False
    hardware: bool = False
