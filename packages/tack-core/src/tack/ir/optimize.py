"""Safe passes over typed functions, after `fuse`: what the compilers behind cannot see, or what makes their input smaller.

Literals fold by `numerics`, branches on literals go, copies are read through, locals nobody reads go. Nothing moves past a
store, nothing is reassociated, and no NaN is computed here. Every expression is pure, so an unused one may go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tack.ir.literals import of_type
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRAtomic,
    IRBlockReduce,
    IRBreak,
    IRCast,
    IRCond,
    IRConst,
    IRContinue,
    IREval,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLogic,
    IRName,
    IROp,
    IRPrint,
    IRRange,
    IRRegion,
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.numerics import constant, evaluate
from tack.ir.ops import OPS
from tack.ir.types import BOOL, ScalarType
from tack.ir.walk import assigned_name, map_block, map_children, walk, walk_statements, with_parts

__all__ = ["optimize"]

# Rules whose functions are exact everywhere; elementary functions are left to the code that every device shares.
_FOLDED_RULES = frozenset({"arith", "int", "shift", "div", "compare", "truth", "extreme", "powi", "bits", "bitcast"})
_FOLDED_MATH = frozenset({"floor", "ceil", "trunc", "round", "sqrt", "copysign"})


def optimize(func: IRFunc) -> IRFunc:
    """The typed function with the same meaning and less in it."""
    if func.sites:
        return func  # debug mode: no expression with a check in it may go
    again = True
    while again:  # a branch that went may leave a local with one assignment, whose value then decides another branch
        func, again = _round(func)
    return _with_used_locals(func)


def _round(func: IRFunc) -> tuple[IRFunc, bool]:
    """The function after one turn, and whether a branch went."""
    loop, result = func.loop, func.result
    bound = _Pass(func.bound_prologue, ())
    bound_prologue = bound.block(func.bound_prologue)
    dims = map_block(loop.dims, bound.expr)
    inner = _Pass(func.prologue, loop.body + func.epilogue, loop.dims)
    prologue, body, epilogue = inner.block(func.prologue), inner.block(loop.body), inner.block(func.epilogue)
    result = None if func.result is None else inner.expr(func.result)
    (bound_prologue,) = _without_unread((bound_prologue,), dims)
    prologue, body, epilogue = _without_unread((prologue, body, epilogue), () if result is None else (result,))
    func = with_parts(func, prologue, bound_prologue, dims, body, epilogue, result)
    return func, bound.pruned or inner.pruned


def _with_used_locals(func: IRFunc) -> IRFunc:
    used = {
        assigned_name(stmt)
        for block in (func.bound_prologue, func.prologue, func.loop.body, func.epilogue)
        for stmt in walk_statements(block)
    }
    kept = tuple(local for local in func.locals if local.name in used)
    return func if len(kept) == len(func.locals) else replace(func, locals=kept)


# ----------------------------------------------------------------------------------------------- folding and copies


def _literal(node: Any) -> bool:
    return node.__class__ is IRConst


def _const(value: Any, t: ScalarType, node: IRExpr) -> IRConst:
    python = bool(value) if t is BOOL else float(value) if t.is_float else int(value)
    return IRConst(python, t, node.span)


def _type(node: IRExpr) -> ScalarType:
    assert node.type is not None
    return node.type


class _Pass:
    """Rewrites blocks bottom-up. `copies` gives the literal or name that each single-assigned copy stands for."""

    def __init__(self, first: Block, second: Block, dims: tuple[IRRange, ...] = ()) -> None:
        counts = Counter(dim.var for dim in dims)
        for stmt in (*walk_statements(first), *walk_statements(second)):
            name = assigned_name(stmt)
            if name is not None:
                counts[name] += 1
            elif isinstance(stmt, IRFor):
                counts[stmt.range.var] += 1
        self.counts = counts
        self.pruned = False
        self.copies: dict[str, IRExpr] = {}
        self._statements: dict[type, Callable[[Any], tuple[IRStmt, ...]]] = {
            IRIf: self._if, IRFor: self._for, IRWhile: self._while, IRRegion: self._region, IREval: lambda _: (),
            IRAssign: self._assign, IRStore: self._mapped, IRPrint: self._mapped, IRAtomic: self._mapped,
            IRBlockReduce: self._mapped,
        }  # fmt: skip

    def expr(self, node: Any) -> Any:
        kind = node.__class__
        if kind is IRConst:
            return node
        if kind is IRName:
            return self.copies.get(node.name, node)
        node = map_children(node, self.expr)
        simplify = _SIMPLIFY.get(kind)
        return node if simplify is None else simplify(node)

    def block(self, block: Block) -> Block:
        result: list[IRStmt] = []
        table, same = self._statements, True
        for stmt in block:
            make = table.get(stmt.__class__)
            new = (stmt,) if make is None else make(stmt)
            result += new
            same = same and len(new) == 1 and new[0] is stmt
            if result and isinstance(result[-1], IRBreak | IRContinue | IRLeave):
                break  # what follows cannot be reached
        return block if same and len(result) == len(block) else tuple(result)

    def _mapped(self, stmt: IRStmt) -> tuple[IRStmt, ...]:
        return (map_children(stmt, self.expr),)

    def _assign(self, stmt: IRAssign) -> tuple[IRStmt, ...]:
        value = self.expr(stmt.value)
        if self.counts[stmt.name] == 1:
            # A name assigned once is assigned before every read of it (N3), so what it copies still has its value there,
            # if that is assigned once, too (or never: parameters).
            if _literal(value) or (isinstance(value, IRName) and self.counts[value.name] < 2):
                self.copies[stmt.name] = value
        return (stmt,) if value is stmt.value else (IRAssign(stmt.name, value, stmt.span),)

    def _if(self, stmt: IRIf) -> tuple[IRStmt, ...]:
        test = self.expr(stmt.test)
        if isinstance(test, IRConst):
            self.pruned = True
            return self.block(stmt.then if test.value else stmt.orelse)
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        if not then and not orelse:
            return ()
        if test is stmt.test and then is stmt.then and orelse is stmt.orelse:
            return (stmt,)
        return (IRIf(test, then, orelse, stmt.span),)

    def _for(self, stmt: IRFor) -> tuple[IRStmt, ...]:
        span = self.expr(stmt.range)
        if _runs_nothing(span):
            self.pruned = True
            return ()
        body = self.block(stmt.body)
        if not body:
            return ()
        return (stmt,) if span is stmt.range and body is stmt.body else (IRFor(span, body, stmt.span),)

    def _while(self, stmt: IRWhile) -> tuple[IRStmt, ...]:
        pre, test = self.block(stmt.pre), self.expr(stmt.test)
        if not pre and isinstance(test, IRConst) and not test.value:
            return ()
        body = self.block(stmt.body)
        same = pre is stmt.pre and test is stmt.test and body is stmt.body
        return (stmt,) if same else (IRWhile(pre, test, body, stmt.span),)

    def _region(self, stmt: IRRegion) -> tuple[IRStmt, ...]:
        body = _without_tail_leaves(self.block(stmt.body), stmt.label)
        if not any(isinstance(each, IRLeave) and each.label == stmt.label for each in walk_statements(body)):
            return body
        return (stmt,) if body is stmt.body else (IRRegion(stmt.label, body, stmt.span),)


def _runs_nothing(span: IRRange) -> bool:
    if not (isinstance(span.start, IRConst) and isinstance(span.end, IRConst) and isinstance(span.step, IRConst)):
        return False
    start, end, step = int(span.start.value), int(span.end.value), int(span.step.value)
    return step == 0 or not range(start, end, step)


def _without_tail_leaves(block: Block, label: str) -> Block:
    """The region's body with `leave` removed where the end follows anyway.

    `if t: ...; leave` before a rest becomes `if t: ... else: rest`.
    """
    for position, stmt in enumerate(block):
        if isinstance(stmt, IRLeave) and stmt.label == label:
            return block[:position]
        if isinstance(stmt, IRIf):
            then, orelse, rest = stmt.then, stmt.orelse, block[position + 1 :]
            if _ends_in(then, label):
                orelse = orelse + rest
            elif _ends_in(orelse, label):
                then = then + rest
            elif rest:
                continue
            then, orelse = _without_tail_leaves(then, label), _without_tail_leaves(orelse, label)
            if then is stmt.then and orelse is stmt.orelse:
                return block
            return (*block[:position], IRIf(stmt.test, then, orelse, stmt.span))
    return block


def _ends_in(block: Block, label: str) -> bool:
    return bool(block) and isinstance(block[-1], IRLeave) and block[-1].label == label


# --------------------------------------------------------------------------------------------------- simplification


def _simplify_op(node: IROp) -> IRExpr:
    args = node.args
    if all(arg.__class__ is IRConst for arg in args):
        return _folded(node)
    op = node.op
    if op == "select" and isinstance(args[0], IRConst):
        return args[1] if args[0].value else args[2]
    if op == "not" and isinstance(args[0], IROp) and args[0].op == "not":
        return args[0].args[0]
    if op == "powi" and isinstance(args[1], IRConst):
        if args[1].value == 0:
            return IRConst(1.0, node.type, node.span)
        return args[0] if args[1].value == 1 else node
    if (op == "add" or op == "mul") and _type(node).is_int:
        neutral = 0 if op == "add" else 1
        for this, other in (args, args[::-1]):
            if isinstance(this, IRConst) and this.value == neutral:
                return other
    return node


def _folded(node: IROp) -> IRExpr:
    rule, t = OPS[node.op].rule, _type(node)
    if node.op == "select":
        return node.args[1] if node.args[0].value else node.args[2]  # type: ignore[union-attr]
    if rule not in _FOLDED_RULES and node.op not in _FOLDED_MATH and not (rule == "power" and t.is_int):
        return node
    values = [constant(arg.value, _type(arg)) for arg in node.args if isinstance(arg, IRConst)]
    value = evaluate(node.op, t, values)
    return node if value != value else _const(value, t, node)


def _simplify_cast(node: IRCast) -> IRExpr:
    value = node.value
    if value.type is node.type:
        return value
    return IRConst(of_type(value.value, node.type), node.type, node.span) if isinstance(value, IRConst) else node


def _simplify_cond(node: IRCond) -> IRExpr:
    if not isinstance(node.test, IRConst):
        return node
    return node.then if node.test.value else node.orelse


def _simplify_logic(node: IRLogic) -> IRExpr:
    left, right, decides = node.left, node.right, node.op == "or"
    if isinstance(left, IRConst):
        return left if bool(left.value) is decides else right
    if isinstance(right, IRConst):
        return right if bool(right.value) is decides else left
    return node


_SIMPLIFY: dict[type, Callable[[Any], IRExpr]] = {
    IROp: _simplify_op, IRCast: _simplify_cast, IRCond: _simplify_cond, IRLogic: _simplify_logic,
}  # fmt: skip

# ----------------------------------------------------------------------------------------------------- dead locals


def _without_unread(blocks: tuple[Block, ...], roots: tuple[Any, ...]) -> tuple[Block, ...]:
    """The blocks without assignments to names that neither they nor `roots` read."""
    trees = (*(stmt for block in blocks for stmt in block), *roots)
    reads = Counter(node.name for node in walk(trees) if isinstance(node, IRName))
    changed = True

    def kept(block: Block) -> Block:
        result = [new for stmt in block for new in one(stmt)]
        same = len(result) == len(block) and all(a is b for a, b in zip(result, block, strict=True))
        return block if same else tuple(result)

    def one(stmt: IRStmt) -> tuple[IRStmt, ...]:
        nonlocal changed
        if isinstance(stmt, IRAssign):
            if reads[stmt.name]:
                return (stmt,)
            dropped: Any = stmt.value
        elif isinstance(stmt, IRAtomic):
            unread = stmt.result is not None and not reads[stmt.result]
            return (replace(stmt, result=None) if unread else stmt,)
        elif isinstance(stmt, IRIf):
            then, orelse = kept(stmt.then), kept(stmt.orelse)
            if then or orelse:
                return (stmt,) if then is stmt.then and orelse is stmt.orelse else (IRIf(stmt.test, then, orelse, stmt.span),)
            dropped = stmt.test
        elif isinstance(stmt, IRFor):
            body = kept(stmt.body)
            if body:
                return (stmt,) if body is stmt.body else (IRFor(stmt.range, body, stmt.span),)
            dropped = stmt.range
        else:
            return (map_children(stmt, lambda n: n) if not isinstance(stmt, IRWhile | IRRegion) else inside(stmt),)
        changed = True
        for node in walk(dropped):
            if isinstance(node, IRName):
                reads[node.name] -= 1
        return ()

    def inside(stmt: IRWhile | IRRegion) -> IRStmt:
        body = kept(stmt.body)
        if isinstance(stmt, IRRegion):
            return stmt if body is stmt.body else IRRegion(stmt.label, body, stmt.span)
        pre = kept(stmt.pre)
        return stmt if pre is stmt.pre and body is stmt.body else IRWhile(pre, stmt.test, body, stmt.span)

    while changed:
        changed = False
        blocks = tuple([kept(block) for block in blocks])
    return blocks
