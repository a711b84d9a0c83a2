"""The state of one lowering: the block being written, the names given out, the scopes, and how operands keep their order.

Names: a local `x` of the kernel is "x" (or "x.1", "x.2" where it must differ), one of the third inlined call, of `f`, is "f.3.x".
A trailing number apart, equal names are one variable of the source (`assigned.base_name`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar

from tack.errors import Span, UnsupportedSyntaxError, fail
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRCond,
    IRConst,
    IRDimSize,
    IRExpr,
    IRLoad,
    IRLocal,
    IRLocalArray,
    IRLogic,
    IRName,
    IROp,
    IRRank,
    IRStmt,
    IRStore,
)  # fmt: skip
from tack.ir.walk import map_children, walk
from tack.lang.bindings import CallBindings
from tack.lang.call_shape import CallShape
from tack.lang.device_class import Instance
from tack.lang.func import Func
from tack.lang.intrinsics import Intrinsic
from tack.lang.source import Parsed
from tack.lang.values import Value, Vector, described

__all__ = ["Context", "Scope", "at", "has_load", "is_fixed", "is_truth", "negated", "truth"]

T = TypeVar("T")
V = TypeVar("V", bound=Value)


@dataclass(slots=True)
class Scope:
    """One function being lowered: the kernel, or one inlined call.

    `vars`: what a name of the source stands for now. `loops`: serial loops around the current place, within the function.
    `objects`: the parameters that are objects of device classes. `leaves`: the region that `break` leaves, by the number of loops
    around it, where a loop of the source is several of the IR. `looping`: the variables of loops around the current place.
    `results`: the locals of an inlined function's values; `label`: its region, once an early return needs one.
    """

    owner: Any  # the FunctionType; a checker would take that for a method
    parsed: Parsed
    prefix: str
    is_kernel: bool
    vars: dict[str, Value] = field(default_factory=lambda: dict[str, Value]())
    objects: dict[str, Instance] = field(default_factory=lambda: dict[str, Instance]())
    loops: int = 0
    leaves: dict[int, str] = field(default_factory=lambda: dict[int, str]())
    looping: set[str] = field(default_factory=lambda: set[str]())
    results: list[Value] | None = None
    label: str = ""
    region: bool = False
    call: str = ""

    def cell(self, name: str) -> Any:
        """What the function's closure holds under `name`, or None."""
        free = self.owner.__code__.co_freevars
        try:
            return self.owner.__closure__[free.index(name)].cell_contents
        except ValueError:  # no such name, or nothing in it
            return None


class Context:
    """What every part of the lowering shares. Statements go to `out`; `effects` counts the stores written so far."""

    def __init__(self, kernel: str, bindings: CallBindings, scope: Scope, params: Sequence[str]) -> None:
        self.kernel = kernel
        self.bindings = bindings
        self.scope = scope
        self.params: frozenset[str] = frozenset(params)
        self.out: list[IRStmt] = []
        self.effects = 0
        self.prologue = True
        self.call: CallShape | None = None  # the call that this is lowered for; None for any of numbers and scalar arrays
        self.locals: dict[str, IRLocal] = {}
        self.arrays: dict[str, IRLocalArray] = {}  # local and shared ones
        self.elements: dict[str, tuple[int, ...]] = {}  # the shape of an element's components, of arrays of vectors
        self.ranks: list[IRRank] = []
        self.unassigned: dict[str, ast.AST] = {}  # locals that were read and not assigned so far, and where
        self.calls: list[tuple[Func, tuple[str, ...]]] = []
        self.called_at: Span | None = None  # where the kernel calls the function being inlined
        self.inlined = 0
        self._used: dict[str, int] = dict.fromkeys((*params, *scope.parsed.params), 0)

    # ------------------------------------------------------------------------------------------ places and errors

    def span(self, node: ast.AST) -> Span:
        """The place of `node` in the function being lowered."""
        return self.scope.parsed.span(node, self.called_at)

    def name_span(self) -> Span:
        """The place of the name of the function being lowered, in its `def`."""
        return self.scope.parsed.name_span(self.called_at)

    def error(self, kind: type[Exception], node: ast.AST | Span, message: str, remedy: str = "") -> Exception:
        """The exception for a mistake at `node`."""
        span = node if isinstance(node, Span) else self.span(node)
        return fail(kind, message, kernel=self.kernel, span=span, remedy=remedy)

    def unsupported(self, node: ast.AST | Span, message: str, remedy: str = "") -> Exception:
        """The exception for a construct outside the language at `node`."""
        return self.error(UnsupportedSyntaxError, node, message, remedy)

    def first_store(self, name: str) -> ast.Name:
        """Where the function being lowered first assigns `name`, or loops over it."""
        stores = [n for n in ast.walk(self.scope.parsed.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        return min((n for n in stores if n.id == name), key=lambda n: (n.lineno, n.col_offset))

    # ------------------------------------------------------------------------------------------------------ names

    def fresh(self, name: str) -> str:
        """An IR name that nothing has yet: `name`, or `name` with a number."""
        count = self._used.get(name)
        if count is None:
            self._used[name] = 0
            return name
        while True:
            count += 1
            candidate = f"{name}.{count}"
            if candidate not in self._used:
                self._used[name] = count
                self._used[candidate] = 0
                return candidate

    def local(self, source_name: str, *, weak: bool = False) -> str:
        """A new local of the current function."""
        name = self.fresh(self.scope.prefix + source_name)
        self.locals[name] = IRLocal(name, source_name, weak=weak)
        return name

    def temporary(self, value: IRExpr, what: str) -> IRName:
        """A compiler-made local that holds `value` from here on; `what` names it in messages and is no identifier."""
        name = self.fresh(self.scope.prefix + what)
        self.locals[name] = IRLocal(name, what, weak=True)
        self.out.append(IRAssign(name, value, value.span))
        return IRName(name, None, value.span)

    def variable(self, name: str, node: ast.AST) -> str:
        """The local that assignments of a number to `name` go to, made when first seen."""
        bound = self.scope.vars.get(name)
        if isinstance(bound, IRName) and bound.name in self.locals:
            self.unassigned.pop(bound.name, None)
            return bound.name
        if isinstance(bound, Vector):
            message = f"'{name}' is {described(bound.shape)} and is assigned a number here"
            raise self.error(TypeError, node, message, "Use another name, or make a vector of the number.")
        local = self.local(name)
        self.scope.vars[name] = IRName(local)
        return local

    def vector_variable(self, name: str, shape: tuple[int, ...], node: ast.AST) -> Vector:
        """The locals that assignments of a vector or matrix to `name` go to, made when first seen."""
        bound = self.scope.vars.get(name)
        if bound is None:
            group = self.scope.prefix + name
            made = Vector(shape, tuple([IRName(self.fresh(group)) for _ in range(prod(shape))]))
            first = made.components[0]
            assert isinstance(first, IRName)
            for each in made.components:
                assert isinstance(each, IRName)
                self.locals[each.name] = IRLocal(each.name, name, group=first.name)
            self.scope.vars[name] = bound = made
        here = bound.shape if isinstance(bound, Vector) else ()
        if isinstance(bound, IRName) and bound.name in self.unassigned:
            message = f"local '{name}' is read before it is assigned"
            raise self.error(NameError, self.unassigned[bound.name], message, "Assign it a first value before.")
        if here != shape:
            message = f"'{name}' is {described(here)} and is assigned {described(shape)} here"
            remedy = "Use another name."
            if not here and len(shape) == 1 and shape[0] <= 4:
                remedy = f"Use another name, or make it a vector from the start: `{name} = tack.vec{shape[0]}(0.0)`."
            raise self.error(TypeError, node, message, remedy)
        assert isinstance(bound, Vector)
        return bound

    def is_bound(self, name: str) -> bool:
        """Whether `name` is a parameter or local of the function being lowered."""
        scope = self.scope
        return name in scope.vars or name in scope.objects or name in scope.parsed.stores or name in scope.parsed.loop_names

    # ----------------------------------------------------------------------------------------------------- blocks

    def emit(self, statement: IRStmt) -> None:
        """Append a statement. A store outside the parallel loop is refused (K2)."""
        if isinstance(statement, IRStore | IRAtomic | IRBarrier | IRBlockReduce):
            self.effects += 1
            if self.prologue and statement.span is not None:
                raise self.unsupported(
                    statement.span,
                    f"{self._effect(statement)} outside the parallel loop",
                    "Move it into the loop; for one serial step write a kernel whose loop is `for _ in range(1)`.",
                )
        self.out.append(statement)

    def _effect(self, statement: IRStore | IRAtomic | IRBarrier | IRBlockReduce) -> str:
        if isinstance(statement, IRBarrier | IRBlockReduce):
            return f"`{'barrier' if isinstance(statement, IRBarrier) else statement.primitive}()`"
        own = self.arrays.get(statement.array)
        name = statement.array if own is None else own.source_name
        return f"array '{name}' is {'stored to' if isinstance(statement, IRStore) else 'updated'}"

    def sub(self, make: Callable[[], T]) -> tuple[T, Block]:
        """Run `make` with a block of its own; its result and the statements it wrote."""
        outer = self.out
        self.out = []
        try:
            result = make()
            return result, tuple(self.out)
        finally:
            self.out = outer

    def in_order(self, makers: Sequence[Callable[[], V]]) -> list[V]:
        """The operands that `makers` lower, so that each is evaluated once, left to right (E1).

        Where a later operand writes statements that store, the loads of earlier ones go to temporaries before them.
        """
        done: list[V] = []
        for make in makers:
            mark, effects = len(self.out), self.effects
            value = make()
            if effects != self.effects and done:
                after = self.out[mark:]
                del self.out[mark:]
                done = [self.spill(e) for e in done]
                self.out.extend(after)
            done.append(value)
        return done

    def spill(self, value: Any) -> Any:
        """`value` with its loads in temporaries; whole where a load runs only under a condition."""
        if isinstance(value, Vector):
            return replace(value, components=tuple([self.spill(each) for each in value.components]))
        if isinstance(value, IRLoad):
            return self.temporary(value, "(element)")
        if isinstance(value, (IRCond, IRLogic)):
            return self.temporary(value, "(value)") if has_load(value) else value
        if isinstance(value, (IRConst, IRName, IRDimSize)):
            return value
        return map_children(value, self.spill)

    # ------------------------------------------------------------------------- written by the classes built on this

    def value(self, node: ast.expr) -> Value:
        """Lower an expression: a number, a vector or a matrix."""
        raise NotImplementedError

    def expr(self, node: ast.expr) -> IRExpr:
        """Lower an expression used as a number."""
        raise NotImplementedError

    def cond(self, node: ast.expr) -> IRExpr:
        """Lower an expression used as a condition: any scalar serves (T7)."""
        raise NotImplementedError

    def values(self, node: ast.expr) -> list[Value]:
        """Lower an expression that may give several values: a tuple, or a call."""
        raise NotImplementedError

    def call_values(self, node: ast.Call) -> list[Value]:
        """Lower a call; as many values as it returns."""
        raise NotImplementedError

    def inline(self, callee: Func, node: ast.Call, receiver: Instance | None = None) -> list[Value]:
        """Lower a call of a device function; of a method with `receiver` as its first argument."""
        raise NotImplementedError

    def index(self, node: ast.Subscript) -> list[IRExpr]:
        """Lower the indices of `a[i, j]`."""
        raise NotImplementedError

    def array(self, node: ast.expr) -> str:
        """The array that `node` names."""
        raise NotImplementedError

    def declared_by(self, node: ast.Assign) -> Intrinsic | None:
        """The primitive that declares an array in `name = tack.local_array(...)`; None for any other statement."""
        raise NotImplementedError

    def check_readable(self, array: str, node: ast.expr) -> None:
        """Refuse to read a local array where it holds nothing."""
        raise NotImplementedError

    def element_shape(self, array: str) -> tuple[int, ...]:
        """The shape of the components of an array's elements: () for numbers."""
        own = self.arrays.get(array)
        return self.elements.get(array, ()) if own is None else own.element

    def memory_call(self, target: Intrinsic, node: ast.Call) -> list[Value]:
        """Lower a call of an atomic or a workgroup primitive."""
        raise NotImplementedError

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Lower statements into `out`."""
        raise NotImplementedError

    def resolve(self, node: ast.expr) -> tuple[str, object] | None:
        """The dotted name that `node` spells and what it means outside; None where it is no such name."""
        raise NotImplementedError


def has_load(value: IRExpr) -> bool:
    """Whether evaluating `value` may read an array."""
    return any(isinstance(node, IRLoad) for node in walk(value))


def is_fixed(value: IRExpr) -> bool:
    """Whether `value` may be written in several places: a literal, a name, an array's size, a negated literal."""
    if isinstance(value, IROp):
        return value.op == "neg" and isinstance(value.args[0], IRConst)
    return isinstance(value, (IRConst, IRName, IRDimSize))


def at(value: IRExpr, span: Span) -> IRExpr:
    """A fixed value as it is read at another place."""
    if isinstance(value, IRName):
        return IRName(value.name, None, span)
    return replace(value, span=span)


_TRUTH_OPS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "not", "isnan", "isinf", "isfinite", "to_bool"))


def is_truth(value: IRExpr) -> bool:
    """Whether `value` is a truth value by its form alone."""
    if isinstance(value, IRConst):
        return isinstance(value.value, bool) and value.type is None
    return isinstance(value, IRLogic) or (isinstance(value, IROp) and value.op in _TRUTH_OPS)


def truth(value: IRExpr) -> IRExpr:
    """A condition as a truth value that may be kept in a local."""
    if isinstance(value, IROp) and value.op in _TRUTH_OPS:
        return value
    return IRCond(value, IRConst(True, None, value.span), IRConst(False, None, value.span), None, value.span)


def negated(value: IRExpr) -> IROp:
    """`not value`, for a condition."""
    return IROp("not", (value,), None, value.span)
