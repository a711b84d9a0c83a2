"""The math functions of kernels under one roof: `tack.math.sin(x)` is what a bare `sin(x)` or `math.sin(x)` means there.

Besides those of the op table: the helpers of shading languages (GLSL's names and formulas), written as device functions.
They work on numbers, and on vectors per component. From Python they raise `RuntimeError`; `math.pyi` is what editors see.
"""

from __future__ import annotations

import math as _math

from tack.ir.ops import MATH_NAMES
from tack.lang.func import Func as _Func
from tack.lang.func import func as _func
from tack.lang.intrinsics import INTRINSICS

pi, e, tau, inf, nan = _math.pi, _math.e, _math.tau, _math.inf, _math.nan

_NAMES = [name for name in MATH_NAMES if name not in ("int", "float", "bool", "select")]
globals().update({name: INTRINSICS[name] for name in _NAMES})
_select = INTRINSICS["select"]


@_func
def clamp(x, low, high):
    """x, held within [low, high]: `min(max(x, low), high)`; integers stay exact. NaN gives low; low > high gives high."""
    return min(max(x, low), high)


@_func
def saturate(x):
    """x, held within [0, 1]: `clamp(x, 0.0, 1.0)`, a float. NaN gives 0."""
    return min(max(x, 0.0), 1.0)


@_func
def mix(a, b, t):
    """Linear blend from a (t = 0) to b (t = 1): `a * (1 - t) + b * t`, exact at both ends for finite a and b.

    t is not clamped: outside [0, 1] it extrapolates. An infinite a or b gives NaN at the other end.
    """
    u = 1.0 - t
    return a * u + b * t


@_func
def step(edge, x):
    """0 where x < edge, else 1 (also for NaN, as GLSL's formula has it), in the floating type of edge and x."""
    one = abs(_math.copysign(_math.copysign(1.0, edge), x))  # 1 in the type of both
    return _select(x < edge, one - one, one)


@_func
def smoothstep(edge0, edge1, x):
    """0 up to edge0, 1 from edge1, and between them the cubic `t * t * (3 - 2 * t)`, t running from 0 to 1.

    With edge0 > edge1 the curve falls from 1 to 0; with equal edges it is a step whose value at the edge is 0. NaN gives 0.
    """
    start, end, at = edge0 * 1.0, edge1 * 1.0, x * 1.0  # unsigned integers must not wrap below
    t = min(max((at - start) / (end - start), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@_func
def fract(x):
    """The part of x above its floor: `x - floor(x)`, in [0, 1]. fract(-0.25) is 0.75.

    An x just below 0 gives 1, by rounding (from -2**-25 in f32, -2**-54 in f64). Infinities and NaN give NaN.
    """
    return x - _math.floor(x)


@_func
def sign(x):
    """-1, 0 or 1 by the sign of x, in the type of x. Both zeros give 0, NaN stays NaN."""
    one = _select(x == x, 1, x)
    return _select(x > 0, one, _select(x < 0, -one, one - one))


@_func
def degrees(x):
    """Radians to degrees: `x * (180 / pi)`."""
    return x * (180.0 / _math.pi)


@_func
def radians(x):
    """Degrees to radians: `x * (pi / 180)`."""
    return x * (_math.pi / 180.0)


@_func
def dot(a, b):
    """Sum of the products of the components of two vectors of one width; an fma chain in index order."""
    return a.dot(b)


@_func
def cross(a, b):
    """Cross product of two 3-vectors; of two 2-vectors the number `a.x * b.y - a.y * b.x`."""
    return a.cross(b)


@_func
def length(v):
    """Euclidean length of a vector, in floats: `v.norm()`. Components whose squares overflow give infinity."""
    return v.norm()


@_func
def distance(a, b):
    """Euclidean distance of two points: `length(a - b)`."""
    d = a - b
    return d.norm()


@_func
def normalize(v):
    """The vector of length 1 in the direction of v: `v / length(v)`. A vector of zeros gives NaN in every component."""
    return v.normalized()


@_func
def reflect(i, n):
    """Direction i mirrored at the surface with normal n: `i - 2 * dot(n, i) * n`. n must have length 1."""
    twice = 2.0 * n.dot(i)
    return i - twice * n


_HELPERS = [name for name, value in globals().items() if isinstance(value, _Func)]

__all__ = ["e", "inf", "nan", "pi", "tau", *_NAMES, *_HELPERS]  # pyright: ignore[reportUnsupportedDunderAll]
