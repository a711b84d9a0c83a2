"""What of a call's arguments decides how its kernel is lowered, and the arguments as compiled code takes them.

Objects of device classes are expanded here, once for each call, so that a variant and its arguments cannot disagree. Knows no IR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tack.ir.types import Width
from tack.lang.array import Array
from tack.lang.device_class import Template, describe, is_device_object
from tack.lang.texture import Texture3D

__all__ = ["CallShape", "describe_call"]


def _empty() -> Any:
    return field(default_factory=dict[int, Any])


@dataclass(frozen=True, slots=True)
class CallShape:
    """One call. `given`: the arguments by position; `names` and `args`: the parameters of the lowered kernel and their values,
    in which each object of a device class has become what it holds ("line.offset", "line.data").

    By position in `given`: `templates` describe the objects of device classes, `vector_arrays` are the component counts of
    vector arrays (rows and columns of matrices), `texture_arrays` the extents of textures. In `debug` mode checked code is
    lowered, which takes `hidden` after `args`.
    """

    given: tuple[Any, ...]
    names: tuple[str, ...]
    args: tuple[Any, ...]
    templates: Mapping[int, Template] = _empty()
    vector_arrays: Mapping[int, Width] = _empty()
    texture_arrays: Mapping[int, tuple[int, int, int]] = _empty()
    debug: bool = False
    hidden: tuple[Any, ...] = ()

    @property
    def elements(self) -> dict[str, tuple[int, ...]]:
        """The shape of an element's components, of each of `names` that is an array of vectors or matrices."""
        pairs = zip(self.names, self.args, strict=True)
        return {name: arg.dtype.shape for name, arg in pairs if isinstance(arg, Array) and arg.dtype.shape}


def describe_call(names: Sequence[str], given: Sequence[Any]) -> CallShape:
    """The shape of a call with these arguments for the parameters `names`."""
    templates: dict[int, Template] = {}
    textures: dict[int, tuple[int, int, int]] = {}
    vectors: dict[int, Width] = {}
    all_names: list[str] = []
    args: list[Any] = []
    for index, (name, arg) in enumerate(zip(names, given, strict=True)):
        if is_device_object(arg):
            template = templates[index] = describe(name, arg)
            all_names += template.names
            args += template.values
        else:
            if isinstance(arg, Texture3D):
                textures[index] = arg.shape_3d
            elif isinstance(arg, Array) and arg.dtype.shape:
                vectors[index] = arg.dtype.width
            all_names.append(name)
            args.append(arg)
    return CallShape(tuple(given), tuple(all_names), tuple(args), templates, vectors, textures)
