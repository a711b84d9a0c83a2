"""Vectors and matrices in kernels: making them, computing per component, reading and storing components (V1, V2).

Everything becomes scalar IR here. What is written once in the source and several times in the IR is made `shared` first, so that
it is evaluated once; a product stays in sight, because an fma may take it (E5). Methods are `vector_methods`'.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from tack.errors import Span
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRCast,
    IRComponent,
    IRConst,
    IRExpr,
    IRIf,
    IRLoad,
    IRLocal,
    IRLogic,
    IRName,
    IROp,
    IRStore,
)
from tack.ir.ops import OPS
from tack.ir.types import MOST_COMPONENTS, MOST_ROWS, MatrixType, ScalarType, VectorType
from tack.ir.walk import names_read
from tack.lang.ast_context import Context, at, has_load, is_fixed, is_truth, truth
from tack.lang.remedies import VECTOR_NAMES
from tack.lang.values import METHODS, Value, Vector, described

__all__ = ["Part", "VectorLowering"]

_LETTERS = "xyzw"
_ONE_TRUTH = "Write any(...) or all(...) around it, or tack.select(mask, a, b)."


@dataclass(frozen=True, slots=True)
class Part:
    """What is stored to: an element of `array`, or its component number `at`, or that of the vector in the locals `names`.

    `at` is an i64 expression where it is known at run time only.
    """

    shape: tuple[int, ...]
    at: int | IRExpr | None = None
    names: tuple[str, ...] = ()
    array: str = ""
    index: tuple[IRExpr, ...] = ()


class VectorLowering(Context):
    """Lowers values of several components."""

    # ----------------------------------------------------------------------------------------- values written twice

    def shared(self, value: IRExpr) -> IRExpr:
        """`value` in a form that may be written several times."""
        if is_fixed(value):
            return value
        if isinstance(value, IROp) and _is_product(value):
            return replace(value, args=tuple([self.shared(arg) for arg in value.args]))
        if isinstance(value, IRCast):
            return replace(value, value=self.shared(value.value))
        return self.temporary(value, "(value)")

    def apart(self, value: IRExpr) -> IRExpr:
        """`value`, out of reach of an fma where it is a product: the source names a part of it, not the product (E5)."""
        return self.temporary(value, "(value)") if _is_product(value) else value

    def settled(self, value: Vector) -> Vector:
        """The vector with its components evaluated: what is done to it then sees no products."""
        return replace(value, components=tuple([self.settle(each) for each in value.components]))

    def settle(self, value: IRExpr) -> IRExpr:
        """`value`, evaluated: a literal, a name or a size."""
        return value if is_fixed(value) else self.temporary(value, "(value)")

    def kept(self, value: Value, what: str) -> Value:
        """`value` in locals made by the compiler."""
        if not isinstance(value, Vector):
            return self.temporary(value, what)
        made = self.component_locals(value.shape, what, weak=True)
        self.assign_components(made, value, value.span)
        return replace(made, span=value.span)

    def component_locals(self, shape: tuple[int, ...], what: str, *, weak: bool, joined: bool = False) -> Vector:
        """New locals for the components of a value, which have one type."""
        names = [self.fresh(self.scope.prefix + what) for _ in range(prod(shape))]
        for name in names:
            self.locals[name] = IRLocal(name, what, weak=weak, group=names[0], joined=joined)
        return Vector(shape, tuple([IRName(name) for name in names]))

    def assign_components(self, target: Vector, value: Vector, span: Span | None) -> None:
        """Assign every component; those that read what an earlier one changes are evaluated before (E2)."""
        names = [each.name for each in target.components if isinstance(each, IRName)]
        changed: set[str] = set()
        values: list[IRExpr] = []
        for name, each in zip(names, value.components, strict=True):
            values.append(self.temporary(each, "(value)") if changed & names_read(each) else each)
            changed.add(name)
        for name, each in zip(names, values, strict=True):
            self.emit(IRAssign(name, each, span))

    def number(self, value: Value, node: ast.AST) -> IRExpr:
        """`value` where one number is needed; TypeError for a vector or matrix."""
        if isinstance(value, Vector):
            remedy = "Name a component: `v.x`, `v[k]`." if not value.is_matrix else "Name a component: `m[i, j]`."
            raise self.error(TypeError, node, f"{described(value.shape)} where one number is needed", remedy)
        return value

    def condition(self, value: Value, node: ast.AST) -> IRExpr:
        """`value` where a condition is needed; TypeError for a mask."""
        if isinstance(value, Vector):
            message = f"{_in_words(value)} as a condition: each component is true or false on its own"
            raise self.error(TypeError, node, message, _ONE_TRUTH)
        return value

    # ---------------------------------------------------------------------------------------------- per component

    def elementwise(self, op: str, values: Sequence[Value], span: Span) -> Value:
        """The operation of the op table on each component; numbers count as vectors of equal components."""
        return self.per_component(values, lambda args: IROp(op, args, None, span), OPS[op].symbol or f"{OPS[op].call}()", span)

    def per_component(
        self, values: Sequence[Value], make: Callable[[tuple[IRExpr, ...]], IRExpr], what: str, span: Span
    ) -> Value:
        """What `make` makes of the values' components; of the values themselves where all are numbers."""
        shape = self.common_shape(values, what, span)
        if not shape:
            return make(tuple([each for each in values if not isinstance(each, Vector)]))
        rows = [self.broadcast(each, shape).components for each in values]
        return Vector(shape, tuple([make(args) for args in zip(*rows, strict=True)]), span)

    def common_shape(self, values: Sequence[Value], what: str, span: Span) -> tuple[int, ...]:
        """The shape that all vectors among `values` have; () if there is none."""
        shape: tuple[int, ...] = ()
        for each in values:
            if isinstance(each, Vector):
                if shape and each.shape != shape:
                    remedy = "Write `@` to multiply matrices and vectors." if what == "*" else "Both need the same components."
                    message = f"`{what}` of {described(shape)} and {described(each.shape)}"
                    raise self.error(TypeError, span, message, remedy)
                shape = each.shape
        return shape

    def broadcast(self, value: Value, shape: tuple[int, ...]) -> Vector:
        """A number as a vector of equal components; a vector as it is."""
        if isinstance(value, Vector):
            return value
        each = self.shared(value)
        return Vector(shape, (each,) * prod(shape), value.span)

    def cast(self, target: ScalarType, value: Value, span: Span) -> Value:
        """`tack.f32(v)`: each component converted."""
        return self.per_component((value,), lambda args: IRCast(args[0], target, span), str(target), span)

    def select(self, test: Value, values: Sequence[Value], span: Span) -> Value:
        """`select(mask, a, b)`, `select(condition, a, b)`."""
        if not isinstance(test, Vector) and any(isinstance(each, Vector) for each in values) and not is_fixed(test):
            test = self.temporary(truth(test), "(condition)")
        return self.elementwise("select", (test, *values), span)

    def chosen(self, test: IRExpr, then: tuple[Value, Block], orelse: tuple[Value, Block], span: Span) -> Vector:
        """A conditional expression, each arm with the statements that it needs: one branch for all components."""
        shape = self.common_shape((then[0], orelse[0]), "if", span)
        result = self.component_locals(shape, "(value)", weak=True)

        def arm(value: Value, block: Block) -> Block:
            return block + self.sub(lambda: self.assign_components(result, self.broadcast(value, shape), span))[1]

        self.out.append(IRIf(test, arm(*then), arm(*orelse), span))
        return self.vector_at(result, span)

    def reduced(self, word: str, value: Value, node: ast.expr) -> IRExpr:
        """`any(mask)`, `all(mask)`: a component counts as it would in a condition."""
        if not isinstance(value, Vector):
            remedy = "Use the condition as it is."
            raise self.error(TypeError, node, f"{word}() takes a mask, not a number", remedy)
        op = "or" if word == "any" else "and"
        parts = [each if is_truth(each) else truth(each) for each in value.components]
        return reduce(lambda left, right: IRLogic(op, left, right, None, value.span), parts)

    # ------------------------------------------------------------------------------------------------- constructors

    def list_value(self, node: ast.List) -> Vector:
        """`[x, y]`: a vector whose components take the join of theirs; lists or vectors of one length make a matrix's rows."""
        if isinstance(node.ctx, ast.Store):
            raise self.unsupported(node, "a list of targets", "Write a tuple: `a, b = x, y`.")
        span = self.span(node)
        parts: list[Value] = self.in_order([lambda part=part: self.value(part) for part in node.elts])
        shape = self._list_shape(parts, node)
        components = tuple([each for part in parts for each in (part.components if isinstance(part, Vector) else (part,))])
        return self._joined(Vector(shape, components, span))

    def _joined(self, value: Vector) -> Vector:
        """The vector with components of one type, which literals alone get from what they meet."""
        literals = [each for each in value.components if isinstance(each, IRConst)]
        if len(literals) == len(value.components):
            kinds = {(type(each.value), each.type) for each in literals}
            if len(kinds) == 1 and (literals[0].type is not None or not isinstance(literals[0].value, int)):
                return value
        made = self.component_locals(value.shape, "(list)", weak=True, joined=True)
        self.assign_components(made, value, value.span)
        return replace(made, span=value.span)

    def _list_shape(self, parts: list[Value], node: ast.List) -> tuple[int, ...]:
        rows = {part.shape if isinstance(part, Vector) else () for part in parts}
        count = len(parts)
        if len(rows) > 1:
            listed = ", ".join(sorted(map(described, rows)))
            raise self.error(TypeError, node, f"a list of {listed}", "All its parts have one shape.")
        row = rows.pop() if rows else ()
        if not row and 2 <= count <= MOST_COMPONENTS:
            return (count,)
        if len(row) == 1 and 2 <= count <= MOST_ROWS and row[0] <= MOST_ROWS:
            return (count, *row)
        if row:
            raise self.error(TypeError, node, f"{count} rows, each {described(row)}", f"A matrix has 2 to {MOST_ROWS} rows.")
        remedy = f"A list is a vector of 2 to {MOST_COMPONENTS} components; for an array write tack.local_array(dtype, n)."
        raise self.error(TypeError, node, f"a list of {count}", remedy)

    def literal(self, value: Any, dtype: ScalarType | None, span: Span) -> Value:
        """The value of a `tack.constant`: a number, or nested tuples of them."""
        if not isinstance(value, tuple):
            return IRConst(value, dtype, span)
        parts = np.array(value, object)
        flat = tuple([IRConst(each, dtype, span) for each in parts.reshape(-1).tolist()])
        return self._joined(Vector(parts.shape, flat, span))

    def construct(self, target: VectorType | MatrixType, node: ast.Call) -> Vector:
        """`vec3(...)`, `mat2(...)`: the components in order, each converted."""
        span = self.span(node)
        if node.keywords:
            message = f"{target}() takes no keyword arguments"
            raise self.error(TypeError, node.keywords[0], message, "Pass components by position.")
        parts: list[Value] = self.in_order([lambda part=part: self.value(part) for part in node.args])
        if isinstance(target, VectorType):
            components = self._vector_components(target, parts, node)
        else:
            components = self._matrix_components(target, parts, node)
        return Vector(target.shape, tuple([IRCast(each, target.dtype, span) for each in components]), span)

    def _vector_components(self, target: VectorType, parts: list[Value], node: ast.Call) -> list[IRExpr]:
        if len(parts) == 1 and not isinstance(parts[0], Vector):
            return [self.shared(parts[0])] * target.n
        flat: list[IRExpr] = []
        for part, written in zip(parts, node.args, strict=True):
            if isinstance(part, Vector) and part.is_matrix:
                raise self.error(TypeError, written, f"{described(part.shape)} as part of {target}", "Name its components.")
            flat += part.components if isinstance(part, Vector) else (part,)
        if len(flat) != target.n:
            remedy = f"Write {target}(s) for equal components, or {target.n} numbers in all."
            raise self.error(TypeError, node, f"{target}() takes {target.n} components, not {len(flat)}", remedy)
        return flat

    def _matrix_components(self, target: MatrixType, parts: list[Value], node: ast.Call) -> list[IRExpr]:
        if len(parts) == 1 and isinstance(parts[0], Vector) and parts[0].shape == target.shape:
            return list(parts[0].components)
        flat: list[IRExpr] = []
        for part in parts:
            if isinstance(part, Vector) and part.shape == target.shape[1:]:
                flat += part.components
        if len(flat) != prod(target.shape) or len(parts) != target.rows:
            rows = ", ".join(["[...]"] * target.rows)
            message = f"{target}() takes {target.rows} rows of {target.cols} components"
            raise self.error(TypeError, node, message, f"Write {target}({rows}).")
        return flat

    # --------------------------------------------------------------------------------------------------- components

    def load(self, array: str, index: Sequence[IRExpr], span: Span) -> Value:
        """The element of an array, its index evaluated once."""
        shape = self.element_shape(array)
        if not shape:
            return IRLoad(array, tuple(index), None, span)
        at = tuple([self.once(part) for part in index])
        return Vector(shape, tuple([IRLoad(array, (*at, *k), None, span) for k in _positions(shape, span)]), span)

    def once(self, part: IRExpr) -> IRExpr:
        """An index that is written several times but evaluated once: one that reads no array may be repeated."""
        return self.temporary(part, "(index)") if has_load(part) else part

    def swizzle(self, value: Vector, node: ast.Attribute) -> Value:
        """`v.x`, `v.zyx`."""
        span = self.span(node)
        found = [self.letter(value.shape, node, letter) for letter in node.attr]
        if len(found) == 1:
            return self.apart(value.components[found[0]])
        if len(found) > len(_LETTERS):
            raise self.error(TypeError, node, f"'.{node.attr}' has more than {len(_LETTERS)} letters", "Take 2 to 4 components.")
        parts = {k: self.apart(value.components[k]) for k in found}
        parts = {k: self.shared(part) if found.count(k) > 1 else part for k, part in parts.items()}
        return Vector((len(found),), tuple([parts[k] for k in found]), span)

    def letter(self, shape: tuple[int, ...], node: ast.Attribute, letter: str) -> int:
        """The number of the component that a letter names."""
        k = _LETTERS.find(letter)
        if len(shape) == 1 and 0 <= k < shape[0]:
            return k
        method = VECTOR_NAMES.get(node.attr, node.attr)
        if method in METHODS and METHODS[method][0] in ("any", "matrix" if len(shape) == 2 else "vector"):
            remedy = f"Call the method: `{'m' if len(shape) == 2 else 'v'}.{method}({'w' if METHODS[method][1] else ''})`."
        elif len(shape) == 2:
            remedy = "Write `m[i, j]`."
        else:
            remedy = f"Its components are {', '.join(f'.{each}' for each in _LETTERS[: shape[0]])}, or `v[k]`."
        raise self.error(TypeError, node, f"{described(shape)} has no '.{node.attr}'", remedy)

    def component(self, value: Vector, node: ast.Subscript) -> IRExpr:
        """`v[i]`, `m[i, j]`."""
        value, at = self.in_order((lambda: value, lambda: self.index_vector(node)))
        k = self.number_of(value.shape, at.components, node)
        if isinstance(k, int):
            return self.apart(value.components[k])
        value, k, span = self.settled(value), self.settle(k), self.span(node)
        chosen = value.components[-1]
        for j in range(len(value.components) - 2, -1, -1):
            test = IROp("eq", (k, IRConst(j, None, span)), None, span)
            chosen = IROp("select", (test, value.components[j], chosen), None, span)
        return chosen

    def index_vector(self, node: ast.Subscript) -> Vector:
        """The indices of a component, as one value."""
        index = self.index(node)
        return Vector((len(index),), tuple(index), self.span(node))

    def number_of(self, shape: tuple[int, ...], index: Sequence[IRExpr], node: ast.Subscript) -> int | IRExpr:
        """The number of the component that an index names: an int, or an expression for an index known at run time."""
        span = self.span(node)
        if len(index) != len(shape):
            wants = "one index: `v[i]`" if len(shape) == 1 else "two indices: `m[i, j]`"
            example = "m[i, j]" if len(shape) == 2 else "v[i]"
            raise self.error(IndexError, node, f"{described(shape)} takes {wants}", f"Write `{example}`.")
        flat: int | None = 0
        parts: list[IRExpr] = []
        for part, extent in zip(index, shape, strict=True):
            k = _literal(part)
            if k is not None and not 0 <= k < extent:
                remedy = f"Use 0 to {extent - 1}."
                raise self.error(IndexError, node, f"index {k} is outside {described(shape)}", remedy)
            parts.append(part if k is None else IRConst(k, None, span))
            flat = None if flat is None or k is None else flat * extent + k
        return IRComponent(ast.unparse(node.value), tuple(parts), shape, None, span) if flat is None else flat

    # ------------------------------------------------------------------------------------------------------- stores

    def store_element(self, array: str, index: Sequence[IRExpr], value: Value, span: Span) -> None:
        """Store into an array: a number into each component, a vector into an element of its shape alone (V2, E2)."""
        shape = self.element_shape(array)
        if not shape:
            if isinstance(value, Vector):
                message = f"{_in_words(value)} cannot be stored into '{array}', whose elements are numbers"
                remedy = _ONE_TRUTH if _is_mask(value) else "Store its components one by one, or pass an array of vectors."
                raise self.error(TypeError, span, message, remedy)
            self.emit(IRStore(array, tuple(index), value, span))
            return
        if isinstance(value, Vector) and value.shape != shape:
            message = f"{described(value.shape)} cannot be stored into '{array}', each element of which is {described(shape)}"
            raise self.error(TypeError, span, message, f"Make a value of that shape first{_example(shape)}.")
        at = tuple([self.once(part) for part in index])
        first, *rest = self.broadcast(value, shape).components
        # The first store may change what the others load.
        values = [first, *(self.temporary(each, "(value)") if has_load(each) else each for each in rest)]
        for k, each in zip(_positions(shape, span), values, strict=True):
            self.emit(IRStore(array, (*at, *k), each, span))

    def place(self, target: ast.expr, *, again: bool = False) -> Part:
        """What the target of an assignment names, its indices lowered in order; `again`: it is read, too."""
        if not isinstance(target, ast.Subscript | ast.Attribute):
            raise self.unsupported(target, "nested targets are not part of the kernel language", "Write one assignment a line.")
        base = target.value
        bound = self.scope.vars.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(bound, Vector):
            names = tuple([each.name for each in bound.components if isinstance(each, IRName)])
            return Part(bound.shape, self._component_target(bound.shape, target), names)
        if isinstance(base, ast.Subscript) and not isinstance(base.value, ast.Subscript):
            array = self.array(base.value)
            shape = self.element_shape(array)
            if shape:
                index = tuple([self.once(part) for part in self.index(base)])
                return Part(shape, self._component_target(shape, target), (), array, index)
            if isinstance(target, ast.Attribute):
                message = f"an element of '{ast.unparse(base.value)}' is a number and has no '.{target.attr}'"
                raise self.error(TypeError, target, message, "Leave it out, or pass an array of vectors.")
        if isinstance(target, ast.Attribute):
            remedy = "Store into an array, of the object perhaps: `obj.state[i] = value`."
            raise self.unsupported(target, "assigning an attribute is not part of the kernel language", remedy)
        array = self.array(base)
        if again:
            self.check_readable(array, target)
        index = self.index(target)
        return Part(self.element_shape(array), None, (), array, tuple([self.once(part) for part in index] if again else index))

    def _component_target(self, shape: tuple[int, ...], target: ast.Subscript | ast.Attribute) -> int | IRExpr:
        if isinstance(target, ast.Subscript):
            k = self.number_of(shape, self.index(target), target)
            return k if isinstance(k, int) else self.settle(k)
        if len(target.attr) > 1:
            remedy = f"Store the components one by one: `{ast.unparse(target.value)}.{target.attr[0]} = ...`."
            raise self.unsupported(target, f"several components, '.{target.attr}', cannot be stored at once", remedy)
        return self.letter(shape, target, target.attr)

    def names_of(self, target: ast.expr) -> set[str]:
        """The locals that an assignment to a component may change."""
        base = target.value if isinstance(target, ast.Subscript | ast.Attribute) else None
        bound = self.scope.vars.get(base.id) if isinstance(base, ast.Name) else None
        return names_read(bound.components) if isinstance(bound, Vector) else set()

    def read(self, part: Part, span: Span) -> Value:
        """The value of what is stored to, too."""
        if part.at is None:
            return self.load(part.array, part.index, span)
        values = [IRName(name, None, span) for name in part.names] or [
            IRLoad(part.array, (*part.index, *k), None, span) for k in _positions(part.shape, span)
        ]
        if isinstance(part.at, int):
            return values[part.at]
        chosen: IRExpr = values[-1]
        for j in range(len(values) - 2, -1, -1):
            test = IROp("eq", (part.at, IRConst(j, None, span)), None, span)
            chosen = IROp("select", (test, values[j], chosen), None, span)
        return chosen

    def store(self, part: Part, value: Value, span: Span) -> None:
        """Store an element, or a component; where its index is known at run time, the one that it names, if any."""
        if part.at is None:
            self.store_element(part.array, part.index, value, span)
            return
        if isinstance(value, Vector):
            message = f"{described(value.shape)} cannot be stored into a component, which is a number"
            raise self.error(TypeError, span, message, "Name a component of it.")
        if isinstance(part.at, int):
            self._store_one(part, part.at, value, span)
            return
        value = self.settle(value)
        for j in range(prod(part.shape)):
            test = IROp("eq", (part.at, IRConst(j, None, span)), None, span)
            _, block = self.sub(lambda j=j, value=value: self._store_one(part, j, value, span))
            self.out.append(IRIf(test, block, (), span))

    def _store_one(self, part: Part, k: int, value: IRExpr, span: Span) -> None:
        if part.names:
            self.emit(IRAssign(part.names[k], value, span))
        else:
            self.emit(IRStore(part.array, (*part.index, *_positions(part.shape, span)[k]), value, span))

    def vector_at(self, value: Vector, span: Span) -> Vector:
        """A vector of names as it is read at another place."""
        return Vector(value.shape, tuple([at(each, span) if is_fixed(each) else each for each in value.components]), span)


def _is_product(value: IRExpr) -> bool:
    """Whether this is a product, or a negated one, which a sum may fuse."""
    if not isinstance(value, IROp):
        return False
    return value.op == "mul" or (value.op == "neg" and isinstance(value.args[0], IROp) and value.args[0].op == "mul")


def _is_mask(value: Vector) -> bool:
    return not value.is_matrix and all(map(is_truth, value.components))


def _in_words(value: Vector) -> str:
    return f"a mask of {value.shape[0]}" if _is_mask(value) else described(value.shape)


def _positions(shape: tuple[int, ...], span: Span | None) -> list[tuple[IRConst, ...]]:
    """The indices of each component, in order."""
    if len(shape) == 1:
        return [(IRConst(k, None, span),) for k in range(shape[0])]
    return [(IRConst(i, None, span), IRConst(j, None, span)) for i in range(shape[0]) for j in range(shape[1])]


def _literal(node: IRExpr) -> int | None:
    """The value of an integer literal or constant, or of its negative; None for anything else."""
    if isinstance(node, IRConst) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, IROp) and node.op == "neg" and isinstance(node.args[0], IRConst):
        inner = _literal(node.args[0])
        return None if inner is None else -inner
    return None


def _example(shape: tuple[int, ...]) -> str:
    """How a value of a shape is written, where it has a name."""
    n = shape[0]
    if len(shape) == 2 or n > 4:
        return ""
    return f", such as `tack.vec{n}({', '.join('xyzw'[:n])})`"
