"""What exists only inside kernels: the functions of the op table and the device-only helpers, as objects that kernels name.

Calling one from Python raises `RuntimeError` that says where it belongs. How they are lowered is `ast_call`'s.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from tack.ir.ops import MATH_NAMES, OPS

__all__ = ["INTRINSICS", "Intrinsic", "device_class", "texture3d"]

# A name that this version knows and cannot lower yet: what it needs, in words.
_LATER: Final = {
    "local_array": "local arrays", "local_array_like": "local arrays", "shared": "shared arrays", "shared_like": "shared arrays",
    "barrier": "barriers", "thread_id": "workgroups", "block_sum": "block reductions", "block_min": "block reductions",
    "block_max": "block reductions", "atomic_add": "atomics", "atomic_min": "atomics", "atomic_max": "atomics",
    "print": "printing from kernels",
}  # fmt: skip
_VECTORS: Final = (
    *(f"{p}vec{n}" for p in ("", "d", "i", "u") for n in (2, 3, 4)), "vec", "mat", "mat2", "mat3", "mat4", "dot", "cross",
    "norm", "length", "distance", "normalize", "reflect",
)  # fmt: skip


class Intrinsic:
    """A function that exists only inside kernels. `op` names its row in the op table ("" for none).

    `later`: what the language needs for it and this version does not have ("" where it works).
    """

    def __init__(self, name: str, op: str = "", later: str = "", doc: str = "") -> None:
        self.__name__ = name
        self.op = op
        self.later = later
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{self._label}() belongs inside a @tack.kernel (or a @tack.func that one calls)")

    @property
    def _label(self) -> str:
        return f"tack.math.{self.__name__}" if OPS.get(self.op) and self.op != "select" else f"tack.{self.__name__}"

    def __repr__(self) -> str:
        return f"<{self._label}, a function of kernels>"


def _table() -> dict[str, Intrinsic]:
    table = {name: Intrinsic(name, op, doc=OPS[op].doc) for name, op in MATH_NAMES.items()}
    table["range"] = Intrinsic("range", doc="range(end), range(start, end), range(start, end, step): what a loop runs over.")
    table["len"] = Intrinsic("len", doc="len(a): the size of an array's first dimension.")
    table["ndindex"] = Intrinsic("ndindex", doc=_NDINDEX)
    for name, what in _LATER.items():
        table[name] = Intrinsic(name, later=what)
    for name in _VECTORS:
        table[name] = Intrinsic(name, later="vectors and matrices")
    return table


_NDINDEX = """ndindex(*sizes): a kernel's parallel loop over 1 to 4 dimensions, rows first (the last index runs fastest).

Each size is a number, or a pair (start, end): ``for i, j in tack.ndindex(a.shape[0], (1, n)):``."""

INTRINSICS: Final[dict[str, Intrinsic]] = _table()  # every name that means something in a kernel without being bound


def device_class(cls: type) -> NoReturn:
    """Not in this version: classes whose instances are kernel arguments."""
    raise NotImplementedError("tack.device_class: this version of Tack has no device classes yet; pass arrays and numbers")


def texture3d(*args: Any, **kwargs: Any) -> NoReturn:
    """Not in this version: textures that kernels sample."""
    raise NotImplementedError("tack.texture3d: this version of Tack has no textures yet; pass an array and index it")
