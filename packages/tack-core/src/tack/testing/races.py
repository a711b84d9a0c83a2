"""`check_races`: a kernel run by the interpreter, which tells of races between iterations and of reads of undefined elements."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, Literal

import numpy as np

from tack.ir.assigned import base_name
from tack.ir.facts import local_arrays
from tack.ir.interpret import check_range, iteration_in_words
from tack.ir.interpret_races import Conflict, find_conflicts
from tack.ir.nodes import IRFunc
from tack.lang.call_shape import describe_call
from tack.lang.kernel import Kernel
from tack.runtime.device import get_default_device
from tack.testing.targets import host_args, typed

__all__ = ["Finding", "check_races"]


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """What `check_races` found at one pair of places. As text it says everything, with the source lines.

    `kind`: two iterations race for an element ("race"), or one reads an element of a local array that it has not stored
    ("unset"). `array` and `index` are the element's, `lines` the numbers of the source lines.
    """

    kind: Literal["race", "unset"]
    array: str
    index: tuple[int, ...]
    lines: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.text}>"


def check_races(kernel: Kernel, *args: Any) -> tuple[Finding, ...]:
    """Runs `kernel(*args)` in the interpreter, on copies of the arrays, and tells what depends on the order of iterations.

    A race (rule E6): two iterations touch one element, one of them writes, and not all do so by atomics; storing the same value
    is none. Also reads of local arrays before they are stored (M5). Empty when this call has neither; each pair of places is
    told once. Iterations run one by one in Python: use small arrays. What is wrong with a call is raised as by the call, and an
    index outside an array is `IndexError`.
    """
    if isinstance(kernel, MethodType):  # obj.kernel
        kernel, args = kernel.__func__, (kernel.__self__, *args)
    call = describe_call(kernel.param_names, kernel.bind(args, {}))
    func = typed(kernel, call.given, fma=get_default_device()._backend.capabilities.fma)
    held = host_args(kernel, call.given)
    values = _copies(held)
    ranges = check_range(func, values, {})
    arrays = [(param, value) for param, value in zip(func.params, held, strict=True) if param.is_array]
    places = {param.name: (value.ctypes.data, value.itemsize) for param, value in arrays}
    conflicts = find_conflicts(func, values, places)
    extents = {param.name: value.shape for param, value in arrays}
    extents |= {name: (*each.shape, *each.element) for name, each in local_arrays(func).items()}
    return tuple(_finding(func, ranges, extents, conflict) for conflict in conflicts)


def _copies(values: Sequence[Any]) -> list[Any]:
    """The values with copies of the arrays, which share storage where the originals do."""
    copies = list(values)
    arrays = [(v.ctypes.data, v.ctypes.data + v.nbytes, k) for k, v in enumerate(values) if isinstance(v, np.ndarray)]
    ends: list[tuple[int, int]] = []
    for lo, hi, _ in sorted(arrays):
        if ends and lo < ends[-1][1]:
            ends[-1] = ends[-1][0], max(hi, ends[-1][1])
        else:
            ends.append((lo, hi))
    memories = [(lo, hi, bytearray(ctypes.string_at(lo, hi - lo))) for lo, hi in ends]
    for address, end, k in arrays:
        lo, _, memory = next(each for each in memories if each[0] <= address and end <= each[1])
        copies[k] = np.ndarray(values[k].shape, values[k].dtype, memory, address - lo)
    return copies


# ------------------------------------------------------------------------------------------------------------- words

_DOES = {"load": "reads it", "store": "stores it", "atomic": "updates it by an atomic"}


def _finding(func: IRFunc, ranges: list[range], extents: dict[str, tuple[int, ...]], conflict: Conflict) -> Finding:
    elements = [(t.array, tuple(int(i) for i in np.unravel_index(t.index, extents[t.array]))) for t in conflict.touches]
    iterations = [iteration_in_words(func, ranges, touch.iteration) for touch in conflict.touches]
    names = [f"{base_name(array)}[{', '.join(map(str, index))}]" for array, index in elements]
    if conflict.kind == "unset":
        message = f"{names[0]}, an element of a local array, is read before it is stored, at {iterations[0]}."
        remedy = "Store every element that is read: a local array starts with undefined values."
    else:
        does = [_DOES[touch.access] for touch in conflict.touches]
        deed = "both store it, different values" if does[0] == does[1] else f"the first {does[0]}, the second {does[1]}"
        shown = names[0] if names[0] == names[1] else f"{names[0]}, which is also {names[1]}"
        message = f"iterations {iterations[0]} and {iterations[1]} race for {shown}: {deed}."
        remedy = "Let one iteration alone touch what is stored, store into another array, or use atomics for all accesses."
    spans = list(dict.fromkeys(touch.span for touch in conflict.touches if touch.span is not None))
    places = "\n".join(f"  {span.where()}\n{span.excerpt()}" for span in spans)
    text = f"Kernel '{func.name}': {message}\n{places}\n  {remedy}"
    return Finding(conflict.kind, *elements[0], tuple(span.lineno for span in spans), text)
