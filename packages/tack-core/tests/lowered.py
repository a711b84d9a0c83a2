"""Runs a lowered template with Python's own numbers, to compare it with the kernel's Python source, store by store.

It shares no code with the compiler but the node classes. Reading a local without a value raises `KeyError`.
"""

import math
import operator

import numpy as np

from tack.ir.nodes import (
    IRAssign,
    IRBreak,
    IRCast,
    IRCond,
    IRConst,
    IRContinue,
    IRDimSize,
    IREval,
    IRFor,
    IRIf,
    IRLeave,
    IRLoad,
    IRLogic,
    IRName,
    IROp,
    IRRegion,
    IRStore,
    IRWhile,
)


class Array:
    """A small array that notes every load and store, in order. Indices must be inside."""

    def __init__(self, name, values, log):
        self.values = np.array(values, dtype=object)
        self.name, self.log = name, log

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        self.check(index)
        self.log.append(("load", self.name, index))
        return self.values[index]

    def __setitem__(self, index, value):
        self.check(index)
        self.log.append(("store", self.name, index, value))
        self.values[index] = value

    def check(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        assert len(parts) == self.ndim
        assert all(type(i) is int and 0 <= i < n for i, n in zip(parts, self.shape)), (self.name, index)


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Leave(Exception):
    pass


_OPS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "band": operator.and_,
    "bor": operator.or_,
    "bxor": operator.xor,
    "invert": operator.invert,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "not": operator.not_,
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "to_int": int,
    "to_float": float,
    "to_bool": bool,
}


class Run:
    """One run of a template on arguments by name."""

    def __init__(self, func, args):
        self.func, self.args, self.env = func, args, {}

    def run(self):
        func = self.func
        self.block(func.bound_prologue)
        parts = [[self.expr(e) for e in (d.start, d.end, d.step)] for d in func.loop.dims]
        self.env = {}
        self.block(func.prologue)
        start = dict(self.env)
        points = [()]
        for part in parts:
            points = [(*p, i) for p in points for i in range(*part)]
        for point in points:
            self.env = dict(start)
            self.env.update((d.var, i) for d, i in zip(func.loop.dims, point))
            try:
                self.block(func.loop.body)
            except _Continue:
                pass

    def block(self, block):
        for node in block:
            self.statement(node)

    def statement(self, node):
        match node:
            case IRAssign():
                self.env[node.name] = self.expr(node.value)
            case IRStore():
                value = self.expr(node.value)
                self.args[node.array][self.index(node)] = value
            case IREval():
                self.expr(node.value)
            case IRIf():
                self.block(node.then if self.expr(node.test) else node.orelse)
            case IRFor():
                r = node.range
                for i in range(self.expr(r.start), self.expr(r.end), self.expr(r.step)):
                    self.env[r.var] = i
                    if self.body(node.body):
                        break
            case IRWhile():
                self.block(node.pre)
                while self.expr(node.test) and not self.body(node.body):
                    self.block(node.pre)
            case IRBreak():
                raise _Break
            case IRContinue():
                raise _Continue
            case IRRegion():
                try:
                    self.block(node.body)
                except _Leave as leave:
                    if leave.args != (node.label,):
                        raise
            case IRLeave():
                raise _Leave(node.label)
            case _:
                raise AssertionError(node)

    def body(self, block):
        """Runs a loop's body; whether it was left by `break`."""
        try:
            self.block(block)
        except _Break:
            return True
        except _Continue:
            pass
        return False

    def index(self, node):
        index = tuple(self.expr(i) for i in node.index)
        return index if len(index) > 1 else index[0]

    def expr(self, node):
        match node:
            case IRConst():
                return node.value
            case IRName():
                return self.args[node.name] if node.name in self.args else self.env[node.name]
            case IRDimSize():
                array = self.args[node.array]
                return array.shape[node.dim] if isinstance(node.dim, int) else getattr(array, node.dim)
            case IRLoad():
                return self.args[node.array][self.index(node)]
            case IROp("select", (test, a, b)):
                test, a, b = self.expr(test), self.expr(a), self.expr(b)
                return a if test else b
            case IROp():
                return _OPS[node.op](*(self.expr(a) for a in node.args))
            case IRCast():
                return float(self.expr(node.value)) if node.type.is_float else int(self.expr(node.value))
            case IRCond():
                return self.expr(node.then if self.expr(node.test) else node.orelse)
            case IRLogic():
                left = self.expr(node.left)
                return left and self.expr(node.right) if node.op == "and" else left or self.expr(node.right)
            case _:
                raise AssertionError(node)


def agree(kernel, python, args):
    """Run the template of `kernel` and the plain function `python` on copies of `args` (lists are arrays); they must do the same.

    Stores agree in order, loads as a multiset: each operand is evaluated once, under the same conditions. Arrays end equal.
    """
    logs, arrays = [], []
    func = kernel.template()
    for run in (lambda a: python(*a.values()), lambda a: Run(func, a).run()):
        log = []
        made = {n: Array(n, v, log) if isinstance(v, list) else v for n, v in args.items()}
        run(made)
        logs.append(log)
        arrays.append({n: a.values.tolist() for n, a in made.items() if isinstance(a, Array)})
    assert arrays[0] == arrays[1]
    assert [e for e in logs[0] if e[0] == "store"] == [e for e in logs[1] if e[0] == "store"]
    assert sorted(map(repr, logs[0])) == sorted(map(repr, logs[1]))
