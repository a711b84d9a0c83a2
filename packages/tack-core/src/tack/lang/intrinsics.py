"""What exists only inside kernels: the functions of the op table and the device-only helpers, as objects that kernels name.

Calling one from Python raises `RuntimeError` that says where it belongs. How they are lowered is `ast_call`'s.
"""

from __future__ import annotations

from typing import Any, Final

from tack.errors import fail
from tack.ir.ops import MATH_NAMES, OPS

__all__ = ["INTRINSICS", "Intrinsic"]

_MEMORY: Final = {
    "local_array": "local_array(dtype, shape): an array of each iteration's own, of a fixed shape; its elements start undefined.",
    "local_array_like": "local_array_like(array, shape): a local array with the dtype of another array.",
    "shared": "shared(dtype, shape): an array that the 256 lanes of a workgroup share; its elements start undefined.",
    "shared_like": "shared_like(array, shape): a shared array with the dtype of another array.",
    "barrier": "barrier(): waits until every lane of the workgroup is here; each then sees what the others have stored.",
    "thread_id": "thread_id(): the number of the lane in its workgroup, 0 to 255.",
    "block_sum": "block_sum(x): the sum of x over the lanes of the workgroup, the same in each of them.",
    "block_min": "block_min(x): the least x of the workgroup's lanes.",
    "block_max": "block_max(x): the greatest x of the workgroup's lanes.",
    "atomic_add": "atomic_add(array, index, value): adds to an element in one step; the element's old value.",
    "atomic_min": "atomic_min(array, index, value): lowers an element to a value in one step; the element's old value.",
    "atomic_max": "atomic_max(array, index, value): raises an element to a value in one step; the element's old value.",
}  # how they are lowered is `ast_memory`'s


class Intrinsic:
    """A function that exists only inside kernels. `op` names its row in the op table ("" for none).

    `memory`: whether it declares an array, updates one atomically or is a workgroup primitive.
    """

    def __init__(self, name: str, op: str = "", doc: str = "", memory: bool = False) -> None:
        self.__name__ = name
        self.op = op
        self.memory = memory
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # not NoReturn, after which editors grey out the kernel's code
        message = f"{self._label}() belongs inside a @tack.kernel (or a @tack.func that one calls)"
        raise fail(RuntimeError, message, remedy="Write a kernel that calls it, and call the kernel.")

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
    for name, doc in _MEMORY.items():
        table[name] = Intrinsic(name, doc=doc, memory=True)
    table["print"] = Intrinsic("print", doc=_PRINT)
    table["any"] = Intrinsic("any", doc="any(mask): whether a component is true.")
    table["all"] = Intrinsic("all", doc="all(mask): whether every component is true.")
    return table


_NDINDEX = """ndindex(*sizes): a kernel's parallel loop over 1 to 4 dimensions, rows first (the last index runs fastest).

Each size is a number, or a pair (start, end): ``for i, j in tack.ndindex(a.shape[0], (1, n)):``."""

_PRINT = """print(*parts, sep=" "): prints one line of literal strings, numbers and f-strings with plain fields."""

INTRINSICS: Final[dict[str, Intrinsic]] = _table()  # every name that means something in a kernel without being bound
