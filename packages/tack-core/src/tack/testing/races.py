"""`check_races`: a kernel run by the interpreter, which tells of races between iterations and of reads of undefined elements."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, Literal

import numpy as np

from tack.ir.assigned import base_name
from tack.ir.facts import has_collectives, local_arrays, written_array_flags
from tack.ir.failures import first_failure, unset, where_in_words
from tack.ir.interpret_races import Conflict, Touch, find_conflicts
from tack.ir.nodes import ERRORS, EXTENTS, IRFunc
from tack.ir.uniformity import check_collectives
from tack.lang.array import Array
from tack.lang.call_shape import describe_call
from tack.lang.kernel import Kernel
from tack.lang.texture import Texture3D
from tack.runtime.checked_launch import checked_call
from tack.runtime.device import device, get_default_device
from tack.runtime.kernel_utils import KernelVariant
from tack.runtime.launch_checks import check_workgroup_launch, check_writable_arrays, ranges_of_launch
from tack.testing.targets import typed_call

__all__ = ["Finding", "check_races"]


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """What `check_races` found at one pair of places. As text it says everything, with the source lines.

    `kind`: two iterations race for an element ("race"), or one reads an element of a local or shared array in which nothing has
    been stored ("unset"). `array` and `index` are the element's, `lines` the numbers of the source lines.
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
    is none, nor is what a barrier of their workgroup keeps apart. Also reads of local and shared arrays before they are stored
    (M5). Empty when this call has neither; each pair of places is told once. Iterations run one by one in Python: use small
    arrays. What is wrong with a call is raised as by the call, and what debug mode checks is raised as in debug mode.

    Kernels for workgroups run here, too, 256 lanes to a group (W1).
    """
    if isinstance(kernel, MethodType):  # obj.kernel
        kernel, args = kernel.__func__, (kernel.__self__, *args)
    call = checked_call(kernel, describe_call(kernel.param_names, kernel.bind(args, {})), device("cpu"))
    check_collectives(kernel.template(call))
    func = typed_call(kernel, call, fma=get_default_device()._backend.capabilities.fma)
    held = [_host(arg) for arg in call.args + call.hidden]

    def ranges() -> list[range]:
        return ranges_of_launch(func, call.args + call.hidden)

    flags = written_array_flags(func)
    variant = KernelVariant(func, None, tuple([(k, p.name) for k, p in enumerate(func.params) if p.is_array and flags[k]]))
    variant.requires_full_workgroups = has_collectives(func)
    check_writable_arrays(variant, call.args + call.hidden)
    check_workgroup_launch(variant, math.prod(map(len, ranges())))
    values = _copies(held)
    given = {param.name: value for param, value in zip(func.params, held, strict=True) if param.is_array}
    watched = {name: value for name, value in given.items() if name not in (ERRORS, EXTENTS)}
    places = {name: (value.ctypes.data, value.itemsize) for name, value in watched.items()}
    conflicts = find_conflicts(func, values, places)
    failure = first_failure(func, values[-2], ranges)
    if failure is not None:
        raise failure
    return tuple(_finding(func, ranges(), _shapes(func, given), conflict) for conflict in conflicts)


def _host(arg: Any) -> Any:
    """An argument as the interpreter takes it: NumPy's view of an array, and of a texture's texels."""
    arg = arg._copy if isinstance(arg, Texture3D) else arg
    return arg.view_numpy() if isinstance(arg, Array) else arg


def _shapes(func: IRFunc, given: dict[str, Any]) -> dict[str, tuple[tuple[int, ...], int]]:
    """The extents of each array with those of its elements' components, and how many of them are the array's own."""
    ranks = {param.name: len(param.element) for param in func.params}
    shapes = {name: (value.shape, value.ndim - ranks[name]) for name, value in given.items()}
    own = {name: ((*each.shape, *each.element), len(each.shape)) for name, each in local_arrays(func).items()}
    return shapes | own


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


def _finding(func: IRFunc, ranges: list[range], shapes: dict[str, tuple[tuple[int, ...], int]], conflict: Conflict) -> Finding:
    def index_of(touch: Touch) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(touch.index, shapes[touch.array][0]))

    first = conflict.touches[0]
    own = local_arrays(func).get(first.array)
    wheres = [where_in_words(func, lambda: ranges, touch.iteration) for touch in conflict.touches]
    spans = list(dict.fromkeys(touch.span for touch in conflict.touches if touch.span is not None))
    if conflict.kind == "unset":
        assert own is not None
        place = index_of(first)[: len(own.shape)]
        noun = "shared array" if own.shared else "local array"
        text = str(unset(func.name, noun, own.source_name, place, wheres[0], first.span))
    else:
        does = [_DOES[touch.access] for touch in conflict.touches]
        deed = "both store it, different values" if does[0] == does[1] else f"the first {does[0]}, the second {does[1]}"
        names = [_element(touch.array, index_of(touch), shapes[touch.array][1]) for touch in conflict.touches]
        shown = names[0] if names[0] == names[1] else f"{names[0]}, which is also {names[1]}"
        between = "" if own is None else ", with no barrier between"
        one, two = (where.removeprefix("at ") for where in wheres)
        message = f"iterations {one} and {two} race for {shown}: {deed}{between}"
        remedy = "Let one iteration alone touch what is stored, store into another array, or use atomics for all accesses."
        if own is not None:
            remedy = "Write `tack.barrier()` between the two, where all lanes of the workgroup pass."
        places = "\n".join(f"  {span.where()}\n{span.excerpt()}" for span in spans)
        text = f"Kernel '{func.name}': {message}\n{places}\n  {remedy}"
    return Finding(conflict.kind, base_name(first.array), index_of(first), tuple(span.lineno for span in spans), text)


def _element(array: str, index: tuple[int, ...], rank: int) -> str:
    """An element, or its component, as the source would write it."""
    parts = [index[:rank], index[rank:]]
    return base_name(array) + "".join(f"[{', '.join(map(str, part))}]" for part in parts if part)
