"""The reference interpreter: runs a typed `IRFunc` over NumPy arrays in place, one iteration after another, or one workgroup.

Owns the meaning of statements; `numerics` owns the meaning of operations. Knows no backend. The tree becomes Python closures
once per function, so that running it costs about a call for each node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tack.errors import Span, fail
from tack.ir.assigned import base_name
from tack.ir.bounds import result_prologue
from tack.ir.facts import local_arrays, workgroup_features
from tack.ir.failures import outside
from tack.ir.interpret_debug import ITERATION, Failed, check, checked_load, nonzero, stored_marks, unset
from tack.ir.interpret_groups import BREAK, CONTINUE, Steps, lane_number, run_group, steps
from tack.ir.interpret_memory import atomic, declare
from tack.ir.nodes import (
    AFTER,
    LANES,
    Block,
    IRAssign,
    IRAtomic,
    IRBarrier,
    IRBlockReduce,
    IRBreak,
    IRCast,
    IRCheck,
    IRComponent,
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

__all__ = ["Access", "Compiler", "Env", "check_range", "interpret", "interpret_with"]

# Values by name: NumPy scalars for scalars, flat arrays for arrays, shapes under ("shape", name).
Env = dict[Any, Any]
Value = Callable[[Env], Any]
# A statement returns None to go on, BREAK, CONTINUE, or the label that an IRLeave goes to.
Action = Callable[[Env], object]
Access = Literal["load", "store", "atomic"]

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
    iterations backwards, between barriers too. ValueError for a zero step, for more than 2**63 - 1 points, and for lanes that
    wait for others which do not come; IndexError for an index outside an array: storage may have been changed by then. What
    a check of debug mode finds is noted in the errors array.
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
    """A compiled function: what fixes the bounds, what runs once, what runs for each index, and what the result needs.

    `lanes` is the body for iterations that run in workgroups, and `shared` declares the arrays of one; None and () otherwise.
    """

    name: str
    bound_prologue: Action
    dims: tuple[tuple[str, Value, Value, Value], ...]
    prologue: Action
    body: Action
    lanes: Steps | None
    shared: tuple[tuple[str, Action], ...]
    result_prologue: Action
    epilogue: Action
    result: Value | None

    def ranges(self, env: Env) -> list[range]:
        """The range of each dimension of the launch; ValueError if it has a zero step or more points than can be counted.

        Failed where a check of debug mode fails.
        """
        self.bound_prologue(env)
        ranges = [_bounds(self.name, *(int(value(env)) for value in dim[1:])) for dim in self.dims]
        if all(ranges):
            _check_points(self.name, ranges)
        return ranges

    def run(self, env: Env, reverse: bool) -> Any:
        try:
            ranges = self.ranges(env)
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
        iterations = self._iterations(env, ranges, reverse)
        if self.lanes is None:
            for iteration in iterations:
                with suppress(Failed):
                    self.body(iteration)
            return
        for number, group in itertools.groupby(iterations, lambda each: each[ITERATION] // LANES):
            lanes = list(group)
            for name, declare_shared in self.shared:
                declare_shared(lanes[0])
                for lane in lanes:
                    lane[name] = lanes[0][name]
            run_group(self.name, self.lanes, lanes, number)

    def _iterations(self, env: Env, ranges: list[range], reverse: bool) -> Iterator[Env]:
        """The environment of each iteration, made when its turn comes."""
        names = [dim[0] for dim in self.dims]
        if reverse:
            ranges = [each[::-1] for each in ranges]
        i64 = np.int64
        last = math.prod(_length(each) for each in ranges) - 1
        numbers = itertools.count(last, -1) if reverse else itertools.count()
        for number, indices in zip(numbers, itertools.product(*ranges), strict=False):
            iteration = env.copy()
            iteration[ITERATION] = number
            for name, index in zip(names, indices, strict=True):
                iteration[name] = i64(index)
            yield iteration


def _bounds(kernel: str, start: int, end: int, step: int) -> range:
    if step == 0:
        raise fail(ValueError, "the step of the parallel loop is zero", kernel=kernel, remedy="Pass another step.")
    return range(start, end, step)


def _check_points(kernel: str, ranges: Sequence[range]) -> None:
    """K5: ValueError for a launch with points of which not all can be counted."""
    points, where = math.prod(map(_length, ranges)), ""
    beyond = next((each for each in ranges if max(each.start, each.stop) > _MOST_POINTS), None)
    if beyond is not None:
        points, where = _length(beyond), f" from {beyond.start} to {beyond.stop}"
    if beyond is not None or points > _MOST_POINTS:
        message = f"a launch of {points} iterations{where} is past the limit of {_MOST_POINTS}"
        raise fail(ValueError, message, kernel=kernel, remedy="Split the work across several calls.")


def _length(each: range) -> int:
    # len() cannot count past sys.maxsize.
    distance = each.stop - each.start
    return max(0, -(-distance // each.step))


def _compile(func: IRFunc, compiler: Compiler | None = None) -> _Program:
    compiler = compiler or Compiler(func.name, local_arrays(func))
    together = bool(workgroup_features(func))
    dims = tuple((d.var, compiler.value(d.start), compiler.value(d.end), compiler.value(d.step)) for d in func.loop.dims)
    return _Program(
        func.name,
        compiler.block(func.bound_prologue),
        dims,
        compiler.block(func.prologue),
        compiler.block(() if together else func.loop.body),
        steps(compiler, func.loop.body) if together else None,
        tuple([(array.name, declare(array)) for array in func.arrays if array.shared]),
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
            case IRComponent():
                raise AssertionError("a typed function computes the numbers of components")

    def _operation(self, node: IROp) -> Value:
        if node.op == "thread_id":
            return lambda env: np.int64(lane_number(env))
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
            raise outside(kernel, base_name(array), i, size, None, "", span)

        return index

    def _load(self, node: IRLoad) -> Value:
        name, index = node.array, self.index(node.array, node.index, node.span, "load")

        def load(env: Env) -> Any:
            flat = env[name]
            return flat[index(env, flat.size)]

        return checked_load(self, node, index) or load

    def unset(self, env: Env, node: IRLoad, at: int) -> None:
        """What is done at a load of an element of a local array that nothing has been stored in, where that is checked."""
        unset(env, node, at)

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
                array = self.arrays[node.array]
                return (lambda env: None) if array.shared else declare(array)
            case IRBarrier() | IRBlockReduce():
                raise AssertionError("lanes wait in steps, not in actions")
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
                return lambda env: BREAK
            case IRContinue():
                return lambda env: CONTINUE
            case IRLeave(label=label):
                return lambda env: label

    def _assign(self, node: IRAssign) -> Action:
        name, value = node.name, self.value(node.value)

        def assign(env: Env) -> None:
            env[name] = value(env)

        return assign

    def _store(self, node: IRStore) -> Action:
        name, value = node.array, self.value(node.value)
        index, then = self.index(name, node.index, node.span, "store"), self.stored(node)

        def store(env: Env) -> None:
            result = value(env)  # before the index (E2)
            flat = env[name]
            at = index(env, flat.size)
            flat[at] = result
            if then is not None:
                then(env, at)

        return store

    def stored(self, node: IRStore) -> Callable[[Env, int], None] | None:
        """What follows a store to an element; None for nothing."""
        marks = stored_marks(node)
        if marks is None:
            return None

        def mark(env: Env, at: int) -> None:
            env[marks][at] = 1

        return mark

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
                if signal is BREAK:
                    break
                if signal is not None and signal is not CONTINUE:
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
                if signal is BREAK:
                    return None
                if signal is not None and signal is not CONTINUE:
                    return signal

        return run


def _dim_size(node: IRDimSize) -> Value:
    key, dim = ("shape", node.array), node.dim
    if dim == "ndim":
        return lambda env: np.int64(len(env[key]))
    if dim == "size":
        return lambda env: np.int64(math.prod(env[key]))
    return lambda env: np.int64(env[key][dim])
