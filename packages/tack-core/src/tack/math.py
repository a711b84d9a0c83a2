"""The math functions of kernels under one roof: `tack.math.sin(x)` is what a bare `sin(x)` or `math.sin(x)` means there.

Each belongs inside a kernel; from Python they raise `RuntimeError`. `math.pyi` shows their signatures to editors.
"""

from __future__ import annotations

import math as _math

from tack.ir.ops import MATH_NAMES
from tack.lang.intrinsics import INTRINSICS

pi, e, tau, inf, nan = _math.pi, _math.e, _math.tau, _math.inf, _math.nan

_NAMES = [name for name in MATH_NAMES if name not in ("int", "float", "bool", "select")]
globals().update({name: INTRINSICS[name] for name in _NAMES})

__all__ = ["e", "inf", "nan", "pi", "tau", *_NAMES]  # pyright: ignore[reportUnsupportedDunderAll]
