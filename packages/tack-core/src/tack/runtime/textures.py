"""`tack.texture3d`, the constructor: a texture's copy goes to a device. `lang.texture` owns the object."""

from __future__ import annotations

from typing import Any

from tack.ir.types import f32
from tack.lang.array import Array
from tack.lang.texture import Texture3D, checked_source, extents_of
from tack.runtime.device import Device

__all__ = ["texture3d"]


def texture3d(array: Any, shape: Any = None, interp: str = "linear", device: Device | str | None = None) -> Texture3D:
    """A texture of W x H x D f32 elements, x fastest, which kernels sample: ``tex.sample(u, v, w)``.

    `array` is a Tack or NumPy array of f32; without `shape` a 3-D one, indexed [z, y, x], with `shape=(W, H, D)` any of as many
    elements. Coordinates are normalized: 0 to 1 spans the texture, texel i of N has its centre at (i + 0.5) / N, and places
    outside have the nearest edge's value; NaN samples like 0. `interp`: "linear" between texels, or "nearest". It lives on
    `device` (else on the array's own, else on the default device) and owns a copy, which `update()` makes anew. `TypeError` for
    another dtype, `ValueError` for sizes that do not fit.
    """
    source = checked_source(array, interp)
    extents = extents_of(source, shape)
    where = source.device if device is None and isinstance(source, Array) else device
    target = Device.of(where)
    texels = Array(target.memory.texture(extents, interp == "nearest"), f32, (source.size,), target)
    made = Texture3D(source, texels, extents, interp)
    made.update()
    return made
