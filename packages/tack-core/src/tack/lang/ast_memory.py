"""Local and shared arrays, atomics and workgroup primitives of a kernel, as IR (M5, A1, W1, K2).

Whether a device has them, and whether every lane of a workgroup reaches them, is checked when a kernel is called.
"""

from __future__ import annotations

import ast
import math
from typing import Any

from tack.ir.literals import fold
from tack.ir.nodes import AtomicOp, IRAtomic, IRBarrier, IRBlockReduce, IRConst, IRDeclare, IRExpr, IRLocalArray, IRName, IROp
from tack.ir.types import DTYPES, MatrixType, ScalarType, VectorType, dtype_of
from tack.lang.ast_call import CallLowering
from tack.lang.bindings import UNBOUND
from tack.lang.intrinsics import INTRINSICS, Intrinsic
from tack.lang.values import METHODS, Value

__all__ = ["DECLARATIONS", "MOST_LOCAL_BYTES", "MemoryLowering"]

DECLARATIONS = ("local_array", "local_array_like", "shared", "shared_like")
MOST_LOCAL_BYTES = 1 << 18  # of one iteration: they stand on the stack of the thread that runs it
MOST_SHARED_BYTES = 48 << 10  # of one workgroup, on any device of the last ten years


class MemoryLowering(CallLowering):
    """Lowers declarations of arrays, and calls that touch memory other iterations see."""

    # ----------------------------------------------------------------------------------------------- declarations

    def declared(self, node: ast.Assign) -> bool:
        """Lower `name = tack.local_array(...)` and its like; False if the statement is no declaration."""
        target, call = self.declared_by(node), node.value
        if target is None:
            return False
        assert isinstance(call, ast.Call)
        if len(node.targets) > 1 or not isinstance(node.targets[0], ast.Name):
            raise self._stands_alone(call, target.__name__)
        self._declare(node.targets[0], target.__name__, call)
        return True

    def declared_by(self, node: ast.Assign) -> Intrinsic | None:
        call = node.value
        dotted = self.dotted(call.func) if isinstance(call, ast.Call) else None
        if dotted is None or not isinstance(call, ast.Call) or dotted.rpartition(".")[2] in METHODS:
            return None
        value = self.lookup(call.func)
        target = INTRINSICS.get(dotted) if value is UNBOUND else value
        return target if isinstance(target, Intrinsic) and target.__name__ in DECLARATIONS else None

    def _stands_alone(self, node: ast.AST, name: str) -> Exception:
        remedy = f"Write `t = tack.{name}(...)`, and store its elements one by one."
        return self.unsupported(node, f"`{name}(...)` stands only in a statement that gives the array its name", remedy)

    def _declare(self, target: ast.Name, primitive: str, call: ast.Call) -> None:
        name, span = target.id, self.span(call)
        self._check_name(target)
        self._check_arguments(call, primitive, 2)
        like = ""
        if primitive.endswith("_like"):
            source = self.array(call.args[0])
            own = self.arrays.get(source)
            element = self.element_shape(source)
            dtype, like = (own.type, own.like) if own is not None else (None, source)
        else:
            dtype, element = self._element_type(call.args[0])
        shape = self._shape(call.args[1])
        array = IRLocalArray(
            self.fresh(self.scope.prefix + name), name, shape, element, dtype, like, primitive.startswith("shared"), span
        )  # fmt: skip
        self._check_size(array, call.args[1])
        self.arrays[array.name] = array
        self.scope.vars[name] = IRName(array.name)
        self.out.append(IRDeclare(array.name, span))

    def _check_name(self, target: ast.Name) -> None:
        """A name of an array is bound once and means nothing else."""
        name, parsed = target.id, self.scope.parsed
        if name in parsed.params:
            raise self.unsupported(target, f"parameter '{name}' becomes an array of its own", "Give the array another name.")
        stores = sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(parsed.node))
        if stores > 1:
            message = f"'{name}' names a local array and is assigned elsewhere, too"
            raise self.unsupported(target, message, "Give each its own name; one array may be declared in front of both.")

    def _element_type(self, node: ast.expr) -> tuple[ScalarType, tuple[int, ...]]:
        value: Any = self._made_type(node) if isinstance(node, ast.Call) else None
        if value is None and self.dotted(node) is not None:
            value = self.lookup(node)
        if isinstance(value, (VectorType, MatrixType)):
            return value.scalar, value.shape
        found = None if value is UNBOUND or value is None else dtype_of(value)
        if found is None:
            remedy = f"Write `(tack.f32, n)`; dtypes are {', '.join(map(str, DTYPES))}, and vector types such as tack.vec3."
            raise self.error(TypeError, node, "the first argument is the dtype of the elements", remedy)
        return found, ()

    def _shape(self, node: ast.expr) -> tuple[int, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if not parts:
            raise self.error(ValueError, node, "an array has one dimension or more", "Write its size.")
        return tuple(self._extent(part) for part in parts)

    def _extent(self, node: ast.expr) -> int:
        """A size made of literals, constants and class constants."""
        value, block = self.sub(lambda: self.expr(node))
        size = None if block else _known(value)
        if isinstance(size, bool) or not isinstance(size, int):
            message = "the shape of a local array is made of integer literals and constants"
            raise self.error(TypeError, node, message, "Write a number or a tack.constant: one size serves all launches.")
        if size < 1:
            message = f"a dimension of a local array has at least one element, not {size}"
            raise self.error(ValueError, node, message, "Write 1 or more.")
        return size

    def _check_size(self, array: IRLocalArray, node: ast.expr) -> None:
        """Arrays of one iteration (or workgroup) fit where they are kept; without a dtype yet, elements count 8 bytes."""
        most, owner = (MOST_SHARED_BYTES, "workgroup") if array.shared else (MOST_LOCAL_BYTES, "iteration")
        total = sum(_nbytes(each) for each in (*self.arrays.values(), array) if each.shared == array.shared)
        if total > most:
            message = f"the {'shared' if array.shared else 'local'} arrays of one {owner} take {total} bytes, past the {most}"
            raise self.error(ValueError, node, f"{message} that there are", "Pass an array that has a part for each iteration.")

    # ---------------------------------------------------------------------------------------------------- the calls

    def memory_call(self, target: Intrinsic, node: ast.Call) -> list[Value]:
        """Lower a call of an atomic or a workgroup primitive."""
        name = target.__name__
        if name in DECLARATIONS:
            raise self._stands_alone(node, name)
        kind, _, op = name.partition("_")
        if kind == "atomic":
            return [self._atomic(op, name, node)]  # type: ignore[arg-type]
        if kind == "block":
            return [self._block_reduce("add" if op == "sum" else op, name, node)]  # type: ignore[arg-type]
        self._check_arguments(node, name, 0)
        if name == "thread_id":
            if self.prologue:
                message = "`thread_id()` outside the parallel loop, where there are no lanes yet"
                raise self.unsupported(node, message, "Move it into the loop.")
            return [IROp("thread_id", (), None, self.span(node))]
        self.emit(IRBarrier(self.span(node)))
        return []

    def _atomic(self, op: AtomicOp, name: str, node: ast.Call) -> IRExpr:
        self._check_arguments(node, name, 3)
        target, index, value = node.args
        if isinstance(target, ast.Subscript):
            remedy = f"Write `tack.{name}({ast.unparse(target.value)}, {ast.unparse(target.slice)}, value)`."
            raise self.error(TypeError, target, f"`{ast.unparse(target)}` is an element: {name}() takes the array", remedy)
        array = self.array(target)
        written = ast.unparse(target)
        if array in self.arrays:
            message = f"'{written}' is a {'shared' if self.arrays[array].shared else 'local'} array: atomics update parameters"
            raise self.unsupported(target, message, f"Write `{written}[i] += v`, or pass an array to `tack.{name}`.")
        if self.element_shape(array):
            message = f"the elements of '{written}' are vectors: atomics update arrays of numbers"
            raise self.unsupported(target, message, "Pass an array with one more dimension for the components.")
        place = ast.copy_location(ast.Subscript(target, index, ast.Load()), index)
        parts: list[IRExpr] = []

        def indices() -> IRExpr:  # one operand to `in_order`, so that what it needs keeps its place
            parts[:] = self.index(place)
            return IROp("(index)", tuple(parts), None, self.span(index))

        at, amount = self.in_order((indices, lambda: self.expr(value)))
        assert isinstance(at, IROp)
        result = self.local(f"{name}()")
        self.emit(IRAtomic(op, array, at.args, amount, result, self.span(node)))
        return IRName(result, None, self.span(node))

    def _block_reduce(self, op: AtomicOp, name: str, node: ast.Call) -> IRExpr:
        self._check_arguments(node, name, 1)
        value = self.expr(node.args[0])
        result = self.local(f"{name}()")
        self.emit(IRBlockReduce(op, value, result, self.span(node)))
        return IRName(result, None, self.span(node))


def _known(node: IRExpr) -> int | float | bool | None:
    """The value of an expression of constants; None for any other."""
    if isinstance(node, IRConst):
        return node.value
    if not isinstance(node, IROp):
        return None
    args = [_known(arg) for arg in node.args]
    if any(arg is None for arg in args):
        return None
    try:
        return fold(node.op, args)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None


def _nbytes(array: IRLocalArray) -> int:
    itemsize = 8 if array.type is None else array.type.itemsize
    return math.prod((*array.shape, *array.element)) * itemsize
