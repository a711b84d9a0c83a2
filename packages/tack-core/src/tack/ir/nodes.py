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
from tack.ir.types import ScalarType

__all__ = [
    "Block", "IRAssign", "IRBreak", "IRCast", "IRCond", "IRConst", "IRContinue", "IRDimSize", "IREval", "IRExpr", "IRFor",
    "IRFunc", "IRIf", "IRLeave", "IRLoad", "IRLocal", "IRLogic", "IRName", "IRNode", "IROp", "IRParallel", "IRParam", "IRRange",
    "IRRank", "IRRegion", "IRStmt", "IRStore", "IRWhile", "Stage",
]  # fmt: skip

Stage = Literal["lowered", "resolved", "typed"]


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


IRExpr = IRConst | IRName | IRDimSize | IRLoad | IROp | IRCast | IRCond | IRLogic

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
class IREval:
    """Evaluates an expression and drops its value (an expression statement)."""

    value: IRExpr
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


IRStmt = IRAssign | IRStore | IREval | IRIf | IRFor | IRWhile | IRBreak | IRContinue | IRRegion | IRLeave
Block = tuple[IRStmt, ...]
IRNode = IRExpr | IRStmt | IRRange

# ------------------------------------------------------------------------------------------------------- function


@dataclass(frozen=True, slots=True)
class IRParam:
    """A parameter, in the order of the Python function.

    In a template only the name is set. Afterwards `type` is an array's dtype or a scalar's type, and `is_array` says which.
    """

    name: str
    is_array: bool = False
    type: ScalarType | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IRLocal:
    """A local. `source_name` is what the user wrote.

    `declared`: its type was fixed by an annotation (T2). `weak`: made by the compiler for the result or an argument of an
    inlined function, so that a value made of literals alone stays weak through it (T8). After annotation `type` is set.
    """

    name: str
    source_name: str
    type: ScalarType | None = None
    declared: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class IRRank:
    """The source uses parameter `array` as an array of `rank` dimensions (`h, w = a.shape`); checked on every new signature."""

    array: str
    rank: int
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
    evaluated; the names it assigns are the prologue's. `disjoint_arrays`: the variant may promise that no written array
    overlaps another. `fma`: the target has it, so `fuse` may make them. `facts` memoizes what `ir.facts` derives and starts
    empty in a copy made by `replace`.
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
    span: Span | None = _span()
    facts: dict[str, Any] = field(default_factory=dict[str, Any], init=False, compare=False, repr=False, hash=False)

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple({} if name == "facts" else getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            object.__setattr__(self, name, value)
