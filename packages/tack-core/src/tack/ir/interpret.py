"""The reference interpreter: runs a typed `IRFunc` over NumPy arrays in place, one iteration after another.

Owns the meaning of statements; `numerics` owns the meaning of operations. Knows no backend. The tree becomes Python closures
once per function, so that running it costs about a call for each node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tack.errors import Span, fail
from tack.ir.assigned import base_name
from tack.ir.bounds import result_prologue
from tack.ir.facts import local_arrays
from tack.ir.interpret_debug import ITERATION, Failed, check, checked_load, nonzero, stored_marks
from tack.ir.interpret_memory import atomic, declare, without_workgroups
from tack.ir.nodes import (
    AFTER,
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRBreak,
    IRCast,
    IRCheck,
    IRCond,
    IRConst,
    IRContinue,
    IRDeclare,
    IRDimSize,
    IREval,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRLocalArray,
    IRLogic,
    IRName,
    IRNonzero,
    IROp,
    IRParam,
    IRPrint,
    IRRange,
    IRRegion,
    IRStmt,
    IRStore,
    IRTextureSample,
    IRWhile,
)
from tack.ir.numerics import constant, conversion, operation, quiet
from tack.ir.printed import line_of, write_line
from tack.ir.types import ScalarType

__all__ = ["Access", "Compiler", "Env", "check_range", "interpret", "interpret_with", "iteration_in_words"]

# Values by name: NumPy scalars for scalars, flat arrays for arrays, shapes under ("shape", name).
Env = dict[Any, Any]
Value = Callable[[Env], Any]
# A statement returns None to go on, `_BREAK`, `_CONTINUE`, or the label that an IRLeave goes to.
Action = Callable[[Env], object]
Access = Literal["load", "store", "atomic"]

_BREAK, _CONTINUE = object(), object()
_MOST_POINTS = (1 << 63) - 1


def interpret(
    func: IRFunc,
    args: Sequence[Any],
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    reverse: bool = False,
) -> int | float | bool | None:
    """Run `func` (stage "typed") on `args`, one for each parameter: C-contiguous NumPy arrays, changed in place, and numbers.

    The result is the kernel's, if it returns one (K6). `shapes` gives the sizes of arrays passed flat; `reverse` runs the
    iterations backwards. ValueError for a zero step and for more than 2**63 - 1 points, IndexError for an index outside an
    array: storage may have been changed by then.
    """
    if func.stage != "typed":
        raise ValueError(f"the interpreter runs typed functions, not {func.stage} ones")
    program = func.facts.get("interpreter")
    if program is None:
        program = func.facts["interpreter"] = _compile(func)
    with quiet():
        value = program.run(_bind(func.params, args, shapes or {}), reverse)
    return None if value is None else value.item()


def interpret_with(compiler: Compiler, func: IRFunc, args: Sequence[Any]) -> None:
    """`interpret` by the closures of another compiler, which sees every access."""
    with quiet():
        _compile(func, compiler).run(_bind(func.params, args, {}), False)


def check_range(func: IRFunc, args: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> list[range]:
    """The range of each dimension of a launch of `func`; arrays in `args` need no elements (but that of debug mode's extents).

    ValueError for a launch that cannot be run.
    """
    with quiet():
        return _compile(func).ranges(_bind(func.params, args, shapes))


def _bind(params: Sequence[IRParam], args: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> Env:
    env: Env = {}
    for param, arg in zip(params, args, strict=True):
        assert param.type is not None
        if not param.is_array:
            env[param.name] = param.type.numpy.type(arg)
            continue
        if type(arg) is not np.ndarray or arg.dtype != param.type.numpy or not arg.flags.c_contiguous:
            raise TypeError(f"argument {param.name}: expected a contiguous array of {param.type}")
        env[param.name] = arg.reshape(-1)
        env["shape", param.name] = shapes.get(param.name, arg.shape[: arg.ndim - len(param.element)])
    return env


@dataclass(frozen=True, slots=True)
class _Program:
    """A compiled function: what fixes the bounds, what runs once, what runs for each index, and what the result needs."""

    name: str
    bound_prologue: Action
    dims: tuple[tuple[str, Value, Value, Value], ...]
    prologue: Action
    body: Action
    result_prologue: Action
    epilogue: Action
    result: Value | None

    def ranges(self, env: Env) -> list[range]:
        """The range of each dimension of the launch; ValueError if it has a zero step or more points than can be counted."""
        self.bound_prologue(env)
        ranges = [_bounds(self.name, *(int(value(env)) for value in dim[1:])) for dim in self.dims]
        points = math.prod(_length(each) for each in ranges)
        if points > _MOST_POINTS:
            message = f"a launch of {points} iterations is past the limit of {_MOST_POINTS}."
            raise fail(ValueError, message, kernel=self.name, remedy="Split the work across several calls.")
        return ranges

    def run(self, env: Env, reverse: bool) -> Any:
        ranges = self.ranges(env)
        try:
            if all(ranges):
                self.prologue(env)
                self._iterate(env, ranges, reverse)
            else:
                self.result_prologue(env)
            if self.result is None:
                return None
            env[ITERATION] = AFTER
            self.epilogue(env)
            return self.result(env)
        except Failed:  # outside the loop
            return None

    def _iterate(self, env: Env, ranges: list[range], reverse: bool) -> None:
        names = [dim[0] for dim in self.dims]
        if reverse:
            ranges = [each[::-1] for each in ranges]
        body, i64 = self.body, np.int64
        last = math.prod(_length(each) for each in ranges) - 1
        numbers = itertools.count(last, -1) if reverse else itertools.count()
        for number, indices in zip(numbers, itertools.product(*ranges), strict=False):
            iteration = env.copy()
            iteration[ITERATION] = number
            for name, index in zip(names, indices, strict=True):
                iteration[name] = i64(index)
            with suppress(Failed):
                body(iteration)


def _bounds(kernel: str, start: int, end: int, step: int) -> range:
    if step == 0:
        raise fail(ValueError, "the step of the parallel loop is zero.", kernel=kernel)
    points = _length(range(start, end, step))
    if points and max(start, end) > _MOST_POINTS:
        message = f"a launch of {points} iterations from {start} to {end} is past the limit of {_MOST_POINTS}."
        raise fail(ValueError, message, kernel=kernel, remedy="Split the work across several calls.")
    return range(start, end, step)


def _length(each: range) -> int:
    # len() cannot count past sys.maxsize.
    distance = each.stop - each.start
    return max(0, -(-distance // each.step))


def iteration_in_words(func: IRFunc, ranges: Sequence[range], number: int) -> str:
    """The loop variables in iteration `number` of a launch over `ranges`: "i = 2, j = 5"."""
    values: list[int] = []
    for each in reversed(ranges[1:]):
        number, step = divmod(number, len(each))
        values.append(each[step])
    values.append(ranges[0].start + ranges[0].step * number)
    names = [base_name(dim.var) for dim in func.loop.dims]
    return ", ".join(f"{name} = {value}" for name, value in zip(names, reversed(values), strict=True))


def _compile(func: IRFunc, compiler: Compiler | None = None) -> _Program:
    compiler = compiler or Compiler(func.name, local_arrays(func))
    dims = tuple((d.var, compiler.value(d.start), compiler.value(d.end), compiler.value(d.step)) for d in func.loop.dims)
    return _Program(
        func.name,
        compiler.block(func.bound_prologue),
        dims,
        compiler.block(func.prologue),
        compiler.block(func.loop.body),
        compiler.block(result_prologue(func)),
        compiler.block(func.epilogue),
        None if func.result is None else compiler.value(func.result),
    )


def _type(node: IROp | IRConst) -> ScalarType:
    assert node.type is not None
    return node.type


def _type_of(node: IRExpr) -> ScalarType:
    assert node.type is not None
    return node.type


class Compiler:
    """Turns nodes into closures over an environment."""

    def __init__(self, kernel: str, arrays: dict[str, IRLocalArray]) -> None:
        self.kernel = kernel
        self.arrays = arrays

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, node: IRExpr) -> Value:
        match node:
            case IRConst():
                literal = constant(node.value, _type(node))
                return lambda env: literal
            case IRName(name=name):
                return lambda env: env[name]
            case IRDimSize():
                return _dim_size(node)
            case IRLoad():
                return self._load(node)
            case IROp():
                return self._operation(node)
            case IRCast():
                return self._cast(node)
            case IRCond():
                test, then, orelse = self.value(node.test), self.value(node.then), self.value(node.orelse)
                return lambda env: then(env) if test(env) else orelse(env)
            case IRLogic():
                left, right = self.value(node.left), self.value(node.right)
                if node.op == "and":
                    return lambda env: left(env) and right(env)
                return lambda env: left(env) or right(env)
            case IRCheck():
                return check(self, node)
            case IRNonzero():
                return nonzero(self, node)
            case IRTextureSample():
                raise ValueError("the interpreter samples textures in software")

    def _operation(self, node: IROp) -> Value:
        if node.op == "thread_id":
            return without_workgroups
        function = operation(node.op, _type(node))
        args = [self.value(arg) for arg in node.args]
        if len(args) == 1:
            a = args[0]
            return lambda env: function(a(env))
        if len(args) == 2:
            a, b = args
            return lambda env: function(a(env), b(env))
        return lambda env: function(*[arg(env) for arg in args])

    def _cast(self, node: IRCast) -> Value:
        value = self.value(node.value)
        src = _type_of(node.value)
        if src is node.type:
            return value
        function = conversion(src, node.type)
        return lambda env: function(value(env))

    def index(self, array: str, nodes: tuple[IRExpr, ...], span: Span | None, access: Access) -> Callable[[Env, int], int]:
        """The flat index of an access to an array of so many elements. `access` says what for."""
        (node,) = nodes
        value, kernel = self.value(node), self.kernel

        def index(env: Env, size: int) -> int:
            i = int(value(env))
            if 0 <= i < size:
                return i
            raise fail(IndexError, f"index {i} is outside {array}, which has {size} elements.", kernel=kernel, span=span)

        return index

    def _load(self, node: IRLoad) -> Value:
        name, index = node.array, self.index(node.array, node.index, node.span, "load")

        def load(env: Env) -> Any:
            flat = env[name]
            return flat[index(env, flat.size)]

        return checked_load(node, index) or load

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, block: Block) -> Action:
        actions = [self.action(statement) for statement in block]
        if len(actions) == 1:
            return actions[0]

        def run(env: Env) -> object:
            for action in actions:
                signal = action(env)
                if signal is not None:
                    return signal
            return None

        return run

    def action(self, node: IRStmt) -> Action:
        match node:
            case IRAssign():
                return self._assign(node)
            case IRStore():
                return self._store(node)
            case IRAtomic():
                return atomic(self, node)
            case IRDeclare():
                return declare(self.arrays[node.array])
            case IRBarrier() | IRBlockReduce():
                return without_workgroups
            case IREval():
                return self._eval(node)
            case IRIf():
                test, then, orelse = self.value(node.test), self.block(node.then), self.block(node.orelse)
                return lambda env: then(env) if test(env) else orelse(env)
            case IRFor():
                return self._for(node)
            case IRWhile():
                return self._while(node)
            case IRPrint():
                line = line_of(node)
                values = [self.value(part) for part in node.parts if not isinstance(part, str)]
                return lambda env: write_line(line([value(env) for value in values]))
            case IRRegion(label=label):
                body = self.block(node.body)

                def region(env: Env) -> object:
                    signal = body(env)
                    return None if signal == label else signal

                return region
            case IRBreak():
                return lambda env: _BREAK
            case IRContinue():
                return lambda env: _CONTINUE
            case IRLeave(label=label):
                return lambda env: label

    def _assign(self, node: IRAssign) -> Action:
        name, value = node.name, self.value(node.value)

        def assign(env: Env) -> None:
            env[name] = value(env)

        return assign

    def _store(self, node: IRStore) -> Action:
        name, value = node.array, self.value(node.value)
        index = self.index(name, node.index, node.span, "store")

        marks = stored_marks(node)

        def store(env: Env) -> None:
            result = value(env)  # before the index (E2)
            flat = env[name]
            at = index(env, flat.size)
            flat[at] = result
            if marks is not None:
                env[marks][at] = 1

        return store

    def _eval(self, node: IREval) -> Action:
        value = self.value(node.value)

        def evaluate(env: Env) -> None:
            value(env)

        return evaluate

    def _for(self, node: IRFor) -> Action:
        bounds, body, var, i64 = self._range(node.range), self.block(node.body), node.range.var, np.int64

        def run(env: Env) -> object:
            start, end, step = (int(value(env)) for value in bounds)
            for i in range(start, end, step) if step else ():  # a zero step runs nothing (K4)
                env[var] = i64(i)
                signal = body(env)
                if signal is _BREAK:
                    break
                if signal is not None and signal is not _CONTINUE:
                    return signal
            return None

        return run

    def _range(self, node: IRRange) -> tuple[Value, Value, Value]:
        return self.value(node.start), self.value(node.end), self.value(node.step)

    def _while(self, node: IRWhile) -> Action:
        pre, test, body = self.block(node.pre), self.value(node.test), self.block(node.body)

        def run(env: Env) -> object:
            while True:
                signal = pre(env)
                if signal is None:
                    if not test(env):
                        return None
                    signal = body(env)
                if signal is _BREAK:
                    return None
                if signal is not None and signal is not _CONTINUE:
                    return signal

        return run


def _dim_size(node: IRDimSize) -> Value:
    key, dim = ("shape", node.array), node.dim
    if dim == "ndim":
        return lambda env: np.int64(len(env[key]))
    if dim == "size":
        return lambda env: np.int64(math.prod(env[key]))
    return lambda env: np.int64(env[key][dim])
