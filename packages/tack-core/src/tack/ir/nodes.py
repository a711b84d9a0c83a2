"""The intermediate representation: frozen dataclasses, shared by every stage from the lowered template to the emitters.

Three shapes of the same classes exist, told apart by `IRFunc.stage` and checked by `verify`:

- "lowered": the template. Names are resolved and functions inlined, but nothing has a type (`type` is None, except on
  `IRCast`, `IRConst` of a typed `tack.constant`, and declared locals). Array dimensions are `IRDimSize`, arrays have one
  index expression per dimension.
- "resolved": dimensions are literals, each access has exactly one flat index; only the bound of the parallel loop's
  first dimension, and `bound_prologue`, keep `IRDimSize`.
- "typed": every expression has a concrete type or BOOL, every implicit conversion is an `IRCast`, all operands of an
  `IROp` have the types its row in `ops` asks for, literals are `IRConst` of a concrete type.

Spans never take part in equality. Positions are relative to the function they stand in (`errors.Span`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tack.errors import Span
from tack.ir.types import IRTexture, ScalarType

__all__ = [
    "AFTER", "BEFORE", "ERRORS", "EXTENTS", "LANES", "NONE", "NOTES", "AtomicOp", "Block", "IRAssign", "IRAtomic", "IRBarrier",
    "IRBlockReduce", "IRBreak", "IRCast", "IRCheck", "IRComponent", "IRCond", "IRConst", "IRContinue", "IRDeclare", "IRDimSize",
    "IREval", "IRExpr", "IRFor", "IRFunc", "IRIf", "IRLeave", "IRLoad", "IRLocal", "IRLocalArray", "IRLogic", "IRName", "IRNode",
    "IRNonzero", "IROp", "IRParallel", "IRParam", "IRPrint", "IRRange", "IRRank", "IRRegion", "IRSite", "IRStmt", "IRStore",
    "IRTextureSample", "IRWhile", "Stage",
]  # fmt: skip

Stage = Literal["lowered", "resolved", "typed"]
AtomicOp = Literal["add", "min", "max"]
LANES = 256  # iterations that one workgroup runs

# The two i64 array parameters of debug mode. ERRORS: the number of the first iteration that failed a check (NONE before any did;
# BEFORE in the prologue, AFTER in the kernel's result), how many notes were taken, and a ring of NOTES notes of four words:
# iteration, site, index, extent. An iteration takes a note when it becomes the first. Where a check ends one, the others of its
# workgroup end where they would wait for it. EXTENTS: the sizes `IRFunc.extents`.
ERRORS, EXTENTS = "tack.errors", "tack.extents"
NOTES = 1024  # a power of two, more than the threads of any pool
NONE = (1 << 63) - 1
BEFORE, AFTER = -1, NONE - 1


def _span() -> Any:
    return field(default=None, compare=False, repr=False)


# ---------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class IRConst:
    """A literal. Untyped ones are weak (T2b, T8): an `int`, a `float` (its exact value is the Python double) or a `bool`."""

    value: int | float | bool
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRName:
    """The value of a local, of a loop variable, or of a scalar parameter (names are unique in the whole IRFunc)."""

    name: str
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRDimSize:
    """A size of array parameter `array`: of dimension `dim` (negative counts from the end), or its "ndim" or "size". i64."""

    array: str
    dim: int | Literal["ndim", "size"]
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRLoad:
    """An element of an array parameter. "lowered": one index per dimension; later: one flat i64 index."""

    array: str
    index: tuple[IRExpr, ...]
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IROp:
    """An operation of the op table on its operands, evaluated left to right."""

    op: str
    args: tuple[IRExpr, ...]
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRCast:
    """A conversion of `value` to `type` by rules T4, T7 and T9; to BOOL it is "nonzero or NaN"."""

    value: IRExpr
    type: ScalarType
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRCond:
    """`then if test else orelse`; only the chosen arm is evaluated."""

    test: IRExpr
    then: IRExpr
    orelse: IRExpr
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRLogic:
    """`and` / `or` of two operands, the right one evaluated only when needed; its value is a truth value."""

    op: Literal["and", "or"]
    left: IRExpr
    right: IRExpr
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRTextureSample:
    """The f32 that texture parameter `texture` holds at normalized coordinates. It stands alone as the value of an IRAssign.

    Where the device samples in software, `ir.sampling` replaces it before stage "resolved".
    """

    texture: str
    coords: tuple[IRExpr, IRExpr, IRExpr]
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRComponent:
    """Stage "lowered": the number, row by row, of the component that `index` names, known at run time only (V1).

    It stands alone as the value of an IRAssign. `vector` is how the source writes the vector or matrix, whose shape is `shape`.
    """

    vector: str
    index: tuple[IRExpr, ...]
    shape: tuple[int, ...]
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRCheck:
    """Debug mode: the flat index of an access to `array` (i64). It stands alone as the index of a load, store or atomic.

    Where `array` is "" it is the number of a component, and stands alone as the value of an IRAssign.

    An index outside its extent ends the iteration, after dimension `k` was noted in `ERRORS` as `IRFunc.sites[site + k]`.
    `stored`: the local array of u8 that says which elements of `array` have been stored; to load one that has not been ends the
    iteration, too, noted as the site after the dimensions'.
    """

    array: str
    index: tuple[IRExpr, ...]
    extents: tuple[IRExpr, ...]
    site: int
    stored: str | None = None
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRNonzero:
    """Debug mode: the step of an IRFor as it is; a zero is noted in `ERRORS` as `IRFunc.sites[site]` and ends the iteration."""

    value: IRExpr
    site: int
    type: ScalarType | None = None
    span: Span | None = _span()


IRExpr = (
    IRConst | IRName | IRDimSize | IRLoad | IROp | IRCast | IRCond | IRLogic | IRTextureSample | IRComponent | IRCheck | IRNonzero
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class IRAssign:
    """Gives local `name` the value of `value`, converted to the local's type."""

    name: str
    value: IRExpr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRStore:
    """Stores `value` into an array parameter. The value is evaluated before the index (E2)."""

    array: str
    index: tuple[IRExpr, ...]
    value: IRExpr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRAtomic:
    """Adds `value` to an element of an array parameter, or lowers or raises the element to it, as one step (A1).

    Evaluates the index, then the value. `result`, if any, is a local of the array's type that gets the element's old value.
    """

    op: AtomicOp
    array: str
    index: tuple[IRExpr, ...]
    value: IRExpr
    result: str | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRDeclare:
    """Starts the life of local or shared array `array` of `IRFunc.arrays`: its elements are undefined from here on (M5)."""

    array: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRBarrier:
    """Waits until every lane of the workgroup is here; what each has stored is seen by all afterwards (W1)."""

    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRBlockReduce:
    """Gives local `result` the sum, least or greatest of `value` over the lanes of the workgroup, the same in each of them.

    In pairs: lane k takes lane k + 128, then k + 64, and so on, so that float sums have one rounding everywhere.
    """

    op: AtomicOp
    value: IRExpr
    result: str
    span: Span | None = _span()

    @property
    def primitive(self) -> str:
        """What users call it by."""
        return f"block_{'sum' if self.op == 'add' else self.op}"


@dataclass(frozen=True, slots=True)
class IREval:
    """Evaluates an expression and drops its value (an expression statement)."""

    value: IRExpr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRPrint:
    """Prints one line: its parts, strings as they stand and numbers in their shortest form, with nothing between them (P1)."""

    parts: tuple[str | IRExpr, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRIf:
    """Runs one of two blocks."""

    test: IRExpr
    then: Block
    orelse: Block = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRRange:
    """`range(start, end, step)` for variable `var` (i64). All three are evaluated once, on entry (E3)."""

    var: str
    start: IRExpr
    end: IRExpr
    step: IRExpr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRFor:
    """A serial loop over a range. Assigning `range.var` in the body lasts for the rest of that iteration (K4)."""

    range: IRRange
    body: Block
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRWhile:
    """`while`: before each iteration runs `pre` (what the condition needs), then evaluates `test`. `continue` goes there too."""

    pre: Block
    test: IRExpr
    body: Block
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRBreak:
    """Leaves the innermost IRFor or IRWhile."""

    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRContinue:
    """Goes to the next iteration of the innermost loop; outside IRFor and IRWhile, ends the parallel iteration (K3)."""

    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRRegion:
    """A block that `IRLeave(label)` inside it may leave early: the body of an inlined function with early returns."""

    label: str
    body: Block
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRLeave:
    """Goes to the end of the enclosing IRRegion of that label, out of any loops in between."""

    label: str
    span: Span | None = _span()


IRStmt = (
    IRAssign | IRStore | IREval | IRIf | IRFor | IRWhile | IRBreak | IRContinue | IRRegion | IRLeave | IRPrint
    | IRAtomic | IRDeclare | IRBarrier | IRBlockReduce
)  # fmt: skip
Block = tuple[IRStmt, ...]
IRNode = IRExpr | IRStmt | IRRange

# ------------------------------------------------------------------------------------------------------- function


@dataclass(frozen=True, slots=True)
class IRParam:
    """A parameter, in the order of the Python function.

    In a template only the name is set. Afterwards `type` is an array's dtype or a scalar's type, and `is_array` says which.
    `texture` says how a texture is sampled; one that software samples is an array of its texels, too. `element`: the shape of an
    element's components, for which every access has literal indices after those of the dimensions; sizes do not count them.
    """

    name: str
    is_array: bool = False
    type: ScalarType | None = None
    span: Span | None = _span()
    texture: IRTexture | None = None
    element: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IRLocal:
    """A local. `source_name` is what the user wrote.

    `declared`: its type was fixed by an annotation (T2). `weak`: made by the compiler for the result or an argument of an
    inlined function, so that a value made of literals alone stays weak through it (T8). Locals of one `group` ("" for none) are
    the components of a vector and have one type; those of a list (`joined`) stay weak only if all are, else they join as values
    of a user's local do (T2). After annotation `type` is set.
    """

    name: str
    source_name: str
    type: ScalarType | None = None
    declared: bool = False
    weak: bool = False
    group: str = ""
    joined: bool = False


@dataclass(frozen=True, slots=True)
class IRLocalArray:
    """An array that belongs to an iteration or, if `shared`, to a workgroup (M5). IRLoad and IRStore access it by its name.

    `element` is the shape of vector and matrix elements, whose indices follow those of `shape`. In a template `type` is None
    where it is that of array parameter `like`.
    """

    name: str
    source_name: str
    shape: tuple[int, ...]
    element: tuple[int, ...] = ()
    type: ScalarType | None = None
    like: str = ""
    shared: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRRank:
    """The source uses parameter `array` as an array of `rank` dimensions (`h, w = a.shape`); checked on every new signature."""

    array: str
    rank: int
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRSite:
    """A place that debug mode may report: dimension `dim` of `rank` of an access to `array`, a vector's text for a component; an
    element of local or shared `array` read before it was stored (`shape` is the array's); or the step of a loop.

    `noun`: what the vector or array has ("element", "component"); for "unset", what it is ("local array", "shared array").
    """

    kind: Literal["index", "unset", "step"]
    array: str = ""
    dim: int = 0
    rank: int = 1
    shape: tuple[int, ...] = ()
    noun: str = ""
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRParallel:
    """The parallel loop: one range, or up to four of step 1 walked in row order, the last one fastest."""

    dims: tuple[IRRange, ...]
    body: Block
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRFunc:
    """A kernel. `prologue` runs once per launch, before any iteration, if there is one (K2).

    `bound_prologue` holds copies of the pure prologue statements that the bounds need (no loads), run before the bounds are
    evaluated; the names it assigns are the prologue's. `epilogue` and `result` are the value of the kernel's final `return`,
    evaluated once after the launch (K6); its type is what the annotation asks for. `disjoint_arrays`: the variant may promise
    that no written array overlaps another. `fma`: the target has it, so `fuse` may make them. `sites` and `extents`: what debug
    mode's checks may report, and the (array, dimension) of each size in `EXTENTS`; empty without debug mode. `facts` memoizes
    what `ir.facts` derives and starts empty in a copy made by `replace`.
    """

    name: str
    params: tuple[IRParam, ...]
    prologue: Block
    loop: IRParallel
    locals: tuple[IRLocal, ...] = ()
    ranks: tuple[IRRank, ...] = ()
    bound_prologue: Block = ()
    stage: Stage = "lowered"
    default_float: ScalarType | None = None
    disjoint_arrays: bool = False
    fma: bool = True
    arrays: tuple[IRLocalArray, ...] = ()
    epilogue: Block = ()
    result: IRExpr | None = None
    sites: tuple[IRSite, ...] = ()
    extents: tuple[tuple[str, int | Literal["ndim", "size"]], ...] = ()
    span: Span | None = _span()
    facts: dict[str, Any] = field(default_factory=dict[str, Any], init=False, compare=False, repr=False, hash=False)

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple({} if name == "facts" else getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            object.__setattr__(self, name, value)
