"""`tack.texture3d`: a 3-D grid of f32 that kernels sample between its elements. It owns a copy; knows no device by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tack.errors import fail
from tack.ir.types import IRTexture, f32
from tack.lang.array import Array, copyto
from tack.lang.host_values import is_a, shape_tuple

__all__ = ["Texture3D"]

_MOST = 1 << 24  # texels along one axis: beyond, f32 has no number for each
_FILTERS = ("linear", "nearest")
_signatures: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # interned, as those of arrays


class Texture3D:
    """Made by `tack.texture3d`; kernels read it by ``tex.sample(u, v, w)``.

    `shape_3d` are the extents (W, H, D), x first and fastest in memory; `interp` is "linear" or "nearest". The texels are a copy
    of the source's; `update()` copies them again.
    """

    __slots__ = ("__weakref__", "_copy", "_extents", "_interp", "_sig", "_source")

    def __init__(self, source: Any, copy: Array, extents: tuple[int, int, int], interp: str) -> None:
        """Internal: `copy` holds the texels in a row, `source` the Tack or NumPy array that `update` reads."""
        self._source = source
        self._copy = copy
        self._extents = extents
        self._interp = interp
        key = ("texture", extents, interp, copy.device.memory.name)
        self._sig = _signatures.setdefault(key, key)

    @property
    def shape_3d(self) -> tuple[int, int, int]:
        """The extents (W, H, D)."""
        return self._extents

    @property
    def interp(self) -> str:
        """ "linear" or "nearest"."""
        return self._interp

    @property
    def device(self) -> Any:
        """The `tack.Device` it lives on."""
        return self._copy.device

    @property
    def _buffer(self) -> Any:
        return self._copy._buffer  # pyright: ignore[reportPrivateUsage]

    def update(self) -> None:
        """Copies the source's elements again. Kernels that were called before have read the old ones."""
        copyto(self._copy, self._source.reshape(-1))

    def facts(self, hardware: bool) -> IRTexture:
        """What code that samples it bakes in."""
        return IRTexture(self._extents, self._interp == "nearest", hardware)

    def __repr__(self) -> str:
        width, height, depth = self._extents
        return f"tack.texture3d({width} x {height} x {depth}, {self._interp}, device={self.device})"


def extents_of(source: Any, shape: Any) -> tuple[int, int, int]:
    """The extents (W, H, D): `shape` if given, else those of a 3-D array, whose last index runs along x."""
    if shape is None:
        if len(source.shape) != 3:
            remedy = "Pass a 3-D array, indexed [z, y, x], or shape=(W, H, D)."
            raise fail(ValueError, f"texture3d: the array has {len(source.shape)} dimensions and not 3", remedy=remedy)
        extents = tuple(reversed(source.shape))
    else:
        extents = shape_tuple(shape)
    if len(extents) != 3:
        raise fail(ValueError, f"texture3d: shape is (W, H, D), not {extents}")
    width, height, depth = extents
    if width * height * depth != source.size:
        words = f"texture3d: {width} x {height} x {depth} texels for an array of {source.size} elements"
        raise fail(ValueError, words, remedy="Pass shape=(W, H, D), x first, that multiply to the size of the array.")
    if not source.size or max(extents) >= _MOST:
        raise fail(ValueError, f"texture3d: an extent is from 1 to {_MOST - 1}, not {extents}")
    return width, height, depth


def checked_source(source: Any, interp: str) -> Any:
    """The Tack or NumPy array of f32; `TypeError` or `ValueError` for anything else."""
    if interp not in _FILTERS:
        raise fail(ValueError, f"texture3d: interp is 'linear' or 'nearest', not {interp!r}")
    if not is_a(source, (Array, np.ndarray)):
        remedy = "Write tack.array(values, dtype=tack.f32)."
        raise fail(TypeError, f"texture3d takes a Tack or NumPy array, not {type(source).__name__}", remedy=remedy)
    dtype = source.dtype if is_a(source, Array) else f32 if source.dtype == f32.numpy else source.dtype
    if dtype is not f32:
        astype = "a.astype(tack.f32)" if is_a(source, Array) else "a.astype(np.float32)"
        raise fail(TypeError, f"texture3d: textures hold {f32}, not {dtype}", remedy=f"Write {astype}.")
    return source
