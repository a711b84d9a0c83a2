"""What a call must still be asked when it may launch one certain variant: one description, and the Python function made of it.

The native entry's records are made of the same description (`native_entry`). Knows neither caches nor kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tack.ir.facts import Dim
from tack.ir.types import ScalarType, i32, i64, u64
from tack.lang.array import Array
from tack.lang.kernel import MISS
from tack.lang.texture import Texture3D
from tack.runtime.template_layout import Layout, Reading

__all__ = ["QuickCall", "WarmCall", "object_call", "quick_call"]

QuickCall = Callable[[int, Sequence[Any]], Any]  # (serial of the cache, arguments) -> the kernel's result, or MISS


@dataclass(frozen=True, slots=True)
class WarmCall:
    """The conditions under which a call launches one variant. Slots count the parameters of compiled code.

    `layouts`: of each argument given, how it is read if it is an object of a device class. `kinds`: of each slot an array's or
    texture's `_sig`, `float`, or the type that an integer's value selects. `sizes` baked into the code: (slot, dimension, value),
    and whole shapes of arrays that objects hold: (slot, shape). `written` slots must be writable, `aligned` ones, (slot, bits),
    have none of these bits in their addresses. The ranges of some pair in `overlaps` overlap exactly if not `disjoint`.
    """

    layouts: tuple[Layout | None, ...]
    kinds: tuple[Any, ...]
    sizes: tuple[tuple[int, Dim, int], ...]
    shapes: tuple[tuple[int, tuple[int, ...]], ...]
    written: tuple[int, ...]
    aligned: tuple[tuple[int, int], ...]
    overlaps: tuple[tuple[int, int], ...]
    disjoint: bool

    @property
    def reads_objects(self) -> bool:
        """Whether an argument is an object."""
        return any(layout is not None for layout in self.layouts)


def quick_call(serial: int, warm: WarmCall, launch: Callable[[Sequence[Any]], Any]) -> QuickCall:
    """The function that tests a call of the cache numbered `serial` and launches it.

    Straight code costs a third of loops over the arguments.
    """
    reading = Reading("return MISS")
    given = [f"p{place}" for place in range(len(warm.layouts))]
    lines = [f"if of != {serial} or len(args) != {len(given)}: return MISS"]
    lines += [f"{', '.join(given)}, = args"] if given else []
    slots = [f"a{slot}" for slot in range(len(warm.kinds))] if warm.reads_objects else given
    if warm.reads_objects:
        for layout, name in zip(warm.layouts, given, strict=True):
            if layout is None:
                reading.values.append(name)
            else:
                reading.object(layout.node, name)
        reading.lines.append(f"args = {', '.join(slots)}, = {', '.join(reading.values)}," if slots else "args = ()")
        lines += ["try:", *(f" {line}" for line in reading.lines), "except (AttributeError, KeyError): return MISS"]
    scope = {**reading.scope, "Array": Array, "Texture3D": Texture3D, "launch": launch, "MISS": MISS}
    lines += [f"if {test}: return MISS" for test in _tests(warm, slots, scope)]
    lines += _overlap_lines(warm, slots)
    lines.append("return launch(args)")
    exec("def quick_call(of, args):\n " + "\n ".join(lines), scope)
    return scope.pop("quick_call")  # left in its own globals it would be a cycle


def object_call(warm: WarmCall, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the arguments given that calls `run` with objects expanded, whose classes the caller has compared.

    It gives MISS where an object does not look like its layout, or where `run` does.
    """
    reading = Reading("return MISS")
    given = [f"p{place}" for place in range(len(warm.layouts))]
    for layout, name in zip(warm.layouts, given, strict=True):
        if layout is None:
            reading.values.append(name)
        else:
            reading.object(layout.node, name, known=True)
    lines = ["try:", *(f" {line}" for line in reading.lines), f" return run({', '.join(reading.values)})"]
    lines += ["except (AttributeError, KeyError): return MISS"]
    scope = {**reading.scope, "run": run, "MISS": MISS}
    exec(f"def object_call({', '.join(given)}):\n " + "\n ".join(lines), scope)
    return scope.pop("object_call")


def _tests(warm: WarmCall, slots: Sequence[str], scope: dict[str, Any]) -> list[str]:
    """What must not hold, on variables named `slots`."""
    tests: list[str] = []
    for slot, (name, kind) in enumerate(zip(slots, warm.kinds, strict=True)):
        if isinstance(kind, tuple):
            scope[f"s{slot}"] = kind
            cls = "Texture3D" if kind[0] == "texture" else "Array"
            tests.append(f"type({name}) is not {cls} or {name}._sig is not s{slot}")
        else:
            tests.append(f"type({name}) is not float" if kind is float else _integer_test(name, kind))
    for slot, dim, value in warm.sizes:
        if dim != "ndim":  # which is in the signature
            tests.append(f"{slots[slot]}.{'size' if dim == 'size' else f'_logical_shape[{dim}]'} != {value}")
    tests += [f"{slots[slot]}._logical_shape != {shape}" for slot, shape in warm.shapes]
    tests += [f"not {slots[slot]}._buffer.writable" for slot in warm.written]
    return tests + [f"{slots[slot]}._buffer.address & {bits}" for slot, bits in warm.aligned]


def _overlap_lines(warm: WarmCall, slots: Sequence[str]) -> list[str]:
    if not warm.overlaps:
        return []
    looked_at = sorted({slot for pair in warm.overlaps for slot in pair})
    some = " or ".join(f"(lo{a} < hi{b} and lo{b} < hi{a})" for a, b in warm.overlaps)
    return [
        "try:", *(f" lo{slot}, hi{slot} = {slots[slot]}._buffer.span" for slot in looked_at),
        "except TypeError: return MISS",  # a buffer without a span
        f"if {'' if warm.disjoint else 'not'} ({some}): return MISS",
    ]  # fmt: skip


def _integer_test(name: str, type: ScalarType) -> str:
    """Whether an argument is no `int` of which `type` is the type by value (T1)."""
    below = {i32: "", i64: f" or {i32.min} <= {name} <= {i32.max}", u64: f" or {name} <= {i64.max}"}[type]
    return f"type({name}) is not int or not {type.min} <= {name} <= {type.max}{below}"
