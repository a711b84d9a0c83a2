"""How a GPU kernel is called: its entry functions, what they take, and where each scalar lies in the pack of a launch.

The emitter and the host read one description. Knows no dialect, no device and no text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np

from tack.codegen.emitter import spelled
from tack.ir.facts import prologue_hazards, workgroup_features
from tack.ir.nodes import LANES, IRBlockReduce, IRConst, IRFunc, IRRange
from tack.ir.types import BOOL, ScalarType, i32, i64, u8
from tack.ir.walk import assigned_names, names_read, walk_statements

__all__ = ["NARROW_ELEMENTS", "NARROW_OFFSET", "Field", "GpuLayout", "carried_locals", "gpu_layout", "literal_size"]

# The narrow entry computes an index as a 32-bit number plus a literal, above -NARROW_OFFSET: the sum must not leave 32 bits in
# between, so that arrays have this many elements fewer than 2^31.
NARROW_OFFSET = 1 << 24
NARROW_ELEMENTS = (1 << 31) - NARROW_OFFSET
_NARROW_ITERATIONS = (1 << 31) - LANES  # the lanes of the last workgroup are counted, too

FieldKind = Literal["param", "count", "start", "step", "size", "grid", "first"]
_CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}


@dataclass(frozen=True, slots=True)
class Field:
    """A scalar in the pack, at byte `offset`, little-endian, aligned to its size.

    `kind`: "param" is the kernel's parameter of slot `at`; "count" the number of iterations; "start", "step" and "size" (number
    of iterations) belong to dimension `at` of the loop; "grid" is 1 where workgroups lie in rows and planes, else 0; "first" is 1
    where `before` has run, else 0.
    """

    kind: FieldKind
    at: int
    type: ScalarType
    offset: int


@dataclass(frozen=True)
class GpuLayout:
    """The entry functions of a kernel's translation unit and their parameters.

    `entry`: one lane for each iteration. `narrow`: the same with 32-bit indices, "" where there is none; see `fits_narrow`.
    `before`: one lane evaluates the prologue and leaves its locals in the carried buffer; it must have run before the others
    where `comes_first` says so, and else each iteration evaluates the prologue. `result`: one lane computes the kernel's result,
    of type `result_type` (a truth value as one byte), after the iterations. Both are "" where there is none. A launch of no
    iterations needs neither `before` nor `entry`, unless there is a result: then it needs `before` (as ever) and `result`.

    All take: the arrays and textures of `pointers` (slots of the kernel's parameters), the pack (if `pack_size`), the carried
    buffer (if `carried_size`), and `result` alone the address of the result. Sizes are bytes. The pack's contents are `fields`.
    `shared_bytes`: memory of a workgroup of `entry`. `hazards`: slots of an array that the prologue reads and of one that
    iterations store to, where both may be one memory.
    """

    entry: str
    narrow: str
    before: str
    result: str
    pointers: tuple[int, ...]
    fields: tuple[Field, ...]
    pack_size: int
    carried_size: int
    result_type: ScalarType | None
    shared_bytes: int
    hazards: tuple[tuple[int, int], ...]

    def pack(self, args: Sequence[Any], ranges: Sequence[range], grid: int, first: bool) -> bytes:
        """The contents of the pack for a launch over `ranges`; `args` has the kernel's arguments by slot, `grid` is the flag
        that `grid` has returned, `first` what `comes_first` has. Floats are rounded to their field's type, beyond it to infinity.
        """
        return self._packer(args, ranges, grid, first)

    def comes_first(self, span: Callable[[int], tuple[int, int] | None]) -> bool:
        """Whether a launch must run `before`: an array that the prologue reads overlaps one that iterations store to (K2).

        `span` gives the byte range (lo, hi) of the array in a slot, None where nobody knows it.
        """
        if not self.before:
            return False
        for read, stored in self.hazards:
            one, other = span(read), span(stored)
            if read == stored or one is None or other is None or max(one[0], other[0]) < min(one[1], other[1]):
                return True
        return False

    def grid(self, sizes: Sequence[int], max_grid: Sequence[int]) -> tuple[tuple[int, int, int], int]:
        """How many workgroups of 256 lanes a launch needs in each direction, x first, and the flag for `pack`.

        `sizes` are the numbers of iterations of each dimension of the loop, `max_grid` the device's limits. Two and more
        dimensions become rows and planes of workgroups where few lanes are left over; else workgroups lie in one row.
        """
        if self.has_grid:
            inner, rows, planes = sizes[-1], sizes[-2], prod(sizes[:-2])
            groups = -(-inner // LANES)
            few_left = 8 * (groups * LANES - inner) <= inner
            if few_left and groups <= max_grid[0] and 0 < rows <= max_grid[1] and 0 < planes <= max_grid[2]:
                return (groups, rows, planes), 1
        return (-(-prod(sizes) // LANES), 1, 1), 0

    def fits_narrow(self, sizes: Iterable[int], ranges: Sequence[range]) -> bool:
        """Whether `narrow` may run a launch over `ranges`. `sizes`: the numbers of elements of the arrays, components counted."""
        if not self.narrow or prod(map(_length, ranges)) >= _NARROW_ITERATIONS or not all(n < NARROW_ELEMENTS for n in sizes):
            return False
        return all(i32.min <= number <= i32.max for each in ranges for number in (each.start, each.step, each.stop))

    @cached_property
    def has_grid(self) -> bool:
        """Whether workgroups may lie in rows and planes."""
        return any(field.kind == "grid" for field in self.fields)

    @cached_property
    def _packer(self) -> Callable[[Sequence[Any], Sequence[range], int, bool], bytes]:
        form, at = "<", 0
        for field in self.fields:
            form += "x" * (field.offset - at) + _CODES[field.type.name]
            at = field.offset + field.type.itemsize
        pack = struct.Struct(form + "x" * (self.pack_size - at)).pack
        fields = self.fields

        def packed(args: Sequence[Any], ranges: Sequence[range], grid: int, first: bool) -> bytes:
            values = [_value(field, args, ranges, grid, first) for field in fields]
            try:
                return pack(*values)
            except (struct.error, OverflowError):
                return pack(*[_converted(value, field) for value, field in zip(values, fields, strict=True)])

        return packed

    def stored(self) -> tuple[Any, ...]:
        """The layout as plain tuples, numbers, strings and types, for the disk; `restored` makes it again."""
        fields = tuple((f.kind, f.at, f.type, f.offset) for f in self.fields)
        entries = (self.entry, self.narrow, self.before, self.result)
        sizes = (self.pack_size, self.carried_size, self.result_type, self.shared_bytes)
        return (*entries, self.pointers, fields, *sizes, self.hazards)

    @staticmethod
    def restored(parts: tuple[Any, ...]) -> GpuLayout:
        """The layout of which `stored` made these parts."""
        entry, narrow, before, result, pointers, fields, *rest = parts
        return GpuLayout(entry, narrow, before, result, pointers, tuple(Field(*each) for each in fields), *rest)


def _value(field: Field, args: Sequence[Any], ranges: Sequence[range], grid: int, first: bool) -> Any:
    match field.kind:
        case "param":
            return args[field.at]
        case "count":
            return prod(map(_length, ranges))
        case "start":
            return ranges[field.at].start
        case "step":
            return ranges[field.at].step
        case "size":
            return _length(ranges[field.at])
        case "grid":
            return grid
        case "first":
            return first


def _converted(value: Any, field: Field) -> Any:
    """What `struct` refuses, as it goes: NumPy's truth values, floats beyond f32, sizes beyond i64 of a launch of nothing."""
    if field.type.is_float:
        with np.errstate(over="ignore"):
            return float(field.type.numpy.type(value))
    return int(value) if field.kind == "param" else (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def _length(each: range) -> int:
    return max(0, -(-(each.stop - each.start) // each.step))  # `len` cannot count past sys.maxsize


def literal_size(dim: IRRange) -> int | None:
    """The number of iterations of a dimension, where literals say it."""
    if isinstance(dim.start, IRConst) and isinstance(dim.end, IRConst) and isinstance(dim.step, IRConst):
        return _length(range(int(dim.start.value), int(dim.end.value), int(dim.step.value) or 1))
    return None


def gpu_layout(func: IRFunc, *, grids: bool, entry: str = "") -> GpuLayout:
    """The layout of a kernel at stage "typed". `grids`: workgroups have a row and a plane; `entry`: another name than its own."""
    entry = entry or "k_" + "".join(map(spelled, func.name))
    checked = bool(func.sites)  # debug mode is for reading, not for speed: it has one entry, and numbers iterations in a row
    several = grids and len(func.loop.dims) > 1 and not workgroup_features(func) and not checked
    hazards = prologue_hazards(func)
    carried = carried_locals(func) if hazards else ()
    before = bool(carried) or (checked and bool(hazards))
    depends = before and all(read != stored for read, stored in hazards)
    fields, pack_size = _fields(func, several, depends)
    slots = {param.name: slot for slot, param in enumerate(func.params)}
    result = None if func.result is None else func.result.type
    return GpuLayout(
        entry=entry,
        narrow="" if checked else f"{entry}_narrow",
        before=f"{entry}_before" if before else "",
        result="" if result is None else f"{entry}_result",
        pointers=tuple(slot for slot, param in enumerate(func.params) if param.is_array or param.texture is not None),
        fields=fields,
        pack_size=pack_size,
        carried_size=_aligned(_end([u8 if t is BOOL else t for _, t in carried]), 8),
        result_type=result,
        shared_bytes=_shared_bytes(func),
        hazards=tuple((slots[read], slots[stored]) for read, stored in hazards),
    )


def carried_locals(func: IRFunc) -> tuple[tuple[str, ScalarType], ...]:
    """The prologue's locals that iterations or the kernel's result read, in the order of the carried buffer."""
    read = names_read(func.loop.body)
    if func.result is not None:
        read |= names_read((*func.epilogue, func.result))
    wanted = assigned_names(func.prologue) & read
    return tuple((local.name, local.type) for local in func.locals if local.name in wanted and local.type is not None)


def _fields(func: IRFunc, several: bool, depends: bool) -> tuple[tuple[Field, ...], int]:
    wanted: list[tuple[FieldKind, int, ScalarType]] = [("count", 0, i64)]
    for k, dim in enumerate(func.loop.dims):
        if not isinstance(dim.start, IRConst):
            wanted.append(("start", k, i64))
        if not isinstance(dim.step, IRConst):
            wanted.append(("step", k, i64))
        if k and literal_size(dim) is None:
            wanted.append(("size", k, i64))
    for slot, param in enumerate(func.params):
        if not param.is_array and param.texture is None:
            assert param.type is not None
            wanted.append(("param", slot, param.type))
    if several:
        wanted.append(("grid", 0, i32))
    if depends:
        wanted.append(("first", 0, i32))
    fields: list[Field] = []
    at = 0
    for kind, where, t in wanted:
        at = _aligned(at, t.itemsize)
        fields.append(Field(kind, where, t, at))
        at += t.itemsize
    return tuple(fields), _aligned(at, 8)


def _shared_bytes(func: IRFunc) -> int:
    """Bytes of shared memory: arrays, what block reductions need, and the word by which debug mode ends a workgroup together."""
    sizes: list[tuple[ScalarType, int]] = []
    for array in func.arrays:
        if array.shared:
            assert array.type is not None
            sizes.append((array.type, prod((*array.shape, *array.element))))
    reduced = {s.value.type for s in walk_statements(func.loop.body) if isinstance(s, IRBlockReduce)}
    sizes += [(t, LANES) for t in reduced if t is not None]
    if func.sites and workgroup_features(func):
        sizes.append((i32, 1))
    return sum(_aligned(t.itemsize * size, 8) for t, size in sizes)


def _end(types: Iterable[ScalarType]) -> int:
    at = 0
    for t in types:
        at = _aligned(at, t.itemsize) + t.itemsize
    return at


def _aligned(at: int, size: int) -> int:
    return -(-at // size) * size
