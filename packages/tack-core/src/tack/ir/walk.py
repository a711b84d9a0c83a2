"""The only code that knows the shapes of IR nodes generically: their children, in evaluation order, and rebuilding them.

A rebuilt node is the same object when none of its children changed, so a pass that changes nothing costs no memory and
returns its input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tack.ir.nodes import (
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
    IRLogic,
    IRName,
    IRNode,
    IRNonzero,
    IROp,
    IRParallel,
    IRPrint,
    IRRange,
    IRRegion,
    IRStmt,
    IRStore,
    IRTextureSample,
    IRWhile,
)

__all__ = [
    "assigned_name", "assigned_names", "children", "expand_block", "map_block", "map_children", "map_func", "names_read",
    "rewrite", "walk", "walk_func", "walk_statements", "with_parts",
]  # fmt: skip

Map = Callable[[Any], Any]

# ------------------------------------------------------------------------------------------------------- children


def _leaf(_node: Any) -> tuple[IRNode, ...]:
    return ()


_CHILDREN: dict[type, Callable[[Any], tuple[IRNode, ...]]] = {
    IRConst: _leaf,
    IRName: _leaf,
    IRDimSize: _leaf,
    IRBreak: _leaf,
    IRContinue: _leaf,
    IRLeave: _leaf,
    IRDeclare: _leaf,
    IRBarrier: _leaf,
    IRLoad: lambda n: n.index,
    IROp: lambda n: n.args,
    IRCast: lambda n: (n.value,),
    IRCond: lambda n: (n.test, n.then, n.orelse),
    IRLogic: lambda n: (n.left, n.right),
    IRComponent: lambda n: n.index,
    IRCheck: lambda n: n.index + n.extents,
    IRNonzero: lambda n: (n.value,),
    IRAssign: lambda n: (n.value,),
    IRStore: lambda n: (n.value, *n.index),
    IRAtomic: lambda n: (*n.index, n.value),
    IRBlockReduce: lambda n: (n.value,),
    IREval: lambda n: (n.value,),
    IRIf: lambda n: (n.test, *n.then, *n.orelse),
    IRRange: lambda n: (n.start, n.end, n.step),
    IRFor: lambda n: (n.range, *n.body),
    IRWhile: lambda n: (*n.pre, n.test, *n.body),
    IRRegion: lambda n: n.body,
    IRPrint: lambda n: tuple([part for part in n.parts if part.__class__ is not str]),
    IRTextureSample: lambda n: n.coords,
}


def children(node: IRNode) -> tuple[IRNode, ...]:
    """The direct children of a node, in the order they are evaluated."""
    return _CHILDREN[node.__class__](node)


def walk(root: IRNode | tuple[IRNode, ...]) -> Iterator[IRNode]:
    """Every node of a tree, or of each tree of a block, parents before children, in evaluation order."""
    stack: list[IRNode] = list(reversed(root)) if isinstance(root, tuple) else [root]
    table = _CHILDREN
    while stack:
        node = stack.pop()
        yield node
        below = table[node.__class__](node)
        if below:
            stack.extend(below[::-1])


def walk_func(func: IRFunc) -> Iterator[IRNode]:
    """Every node of a function: bound prologue, prologue, bounds, body, epilogue, result."""
    yield from walk(func.bound_prologue)
    yield from walk(func.prologue)
    yield from walk(func.loop.dims)
    yield from walk(func.loop.body)
    yield from walk(func.epilogue)
    if func.result is not None:
        yield from walk(func.result)


_BLOCKS: dict[type, Callable[[Any], Block]] = {
    IRIf: lambda n: n.then + n.orelse,
    IRFor: lambda n: n.body,
    IRWhile: lambda n: n.pre + n.body,
    IRRegion: lambda n: n.body,
}


def walk_statements(block: Block) -> Iterator[IRStmt]:
    """Every statement of a block and of the blocks in it, in program order; no expressions."""
    stack: list[IRStmt] = list(block[::-1])
    table = _BLOCKS
    while stack:
        node = stack.pop()
        yield node
        below = table.get(node.__class__)
        if below is not None:
            stack.extend(below(node)[::-1])


def names_read(root: IRNode | tuple[IRNode, ...]) -> set[str]:
    """The names whose values a tree or block reads (locals, loop variables and scalar parameters)."""
    return {node.name for node in walk(root) if isinstance(node, IRName)}


def assigned_name(node: IRNode) -> str | None:
    """The name that a statement by itself gives a value to: of an assignment, an atomic or a reduction; else None."""
    if isinstance(node, IRAssign):
        return node.name
    return node.result if isinstance(node, IRAtomic | IRBlockReduce) else None


def assigned_names(root: IRNode | tuple[IRNode, ...]) -> set[str]:
    """The names that statements of a tree or block give a value to (loop variables of IRFor do not count)."""
    return {name for node in walk(root) if (name := assigned_name(node)) is not None}


# -------------------------------------------------------------------------------------------------------- rebuild


def map_block(block: tuple[Any, ...], fn: Map) -> tuple[Any, ...]:
    """`fn` of each element, the same tuple when all stayed the same."""
    new: list[Any] = []  # a loop, since a comprehension would be one more frame at every level of the recursion
    same = True
    for item in block:
        made = fn(item)
        same = same and made is item
        new.append(made)
    return block if same else tuple(new)


def _same(node: Any, _fn: Map) -> Any:
    return node


def _load(n: IRLoad, fn: Map) -> IRLoad:
    index = map_block(n.index, fn)
    return n if index is n.index else IRLoad(n.array, index, n.type, n.span)


def _op(n: IROp, fn: Map) -> IROp:
    if len(n.args) == 2:  # most nodes: without the frame of `map_block`
        a, b = n.args
        left, right = fn(a), fn(b)
        return n if left is a and right is b else IROp(n.op, (left, right), n.type, n.span)
    args = map_block(n.args, fn)
    return n if args is n.args else IROp(n.op, args, n.type, n.span)


def _cast(n: IRCast, fn: Map) -> IRCast:
    value = fn(n.value)
    return n if value is n.value else IRCast(value, n.type, n.span)


def _cond(n: IRCond, fn: Map) -> IRCond:
    test, then, orelse = fn(n.test), fn(n.then), fn(n.orelse)
    if test is n.test and then is n.then and orelse is n.orelse:
        return n
    return IRCond(test, then, orelse, n.type, n.span)


def _logic(n: IRLogic, fn: Map) -> IRLogic:
    left, right = fn(n.left), fn(n.right)
    return n if left is n.left and right is n.right else IRLogic(n.op, left, right, n.type, n.span)


def _component(n: IRComponent, fn: Map) -> IRComponent:
    index = map_block(n.index, fn)
    return n if index is n.index else IRComponent(n.vector, index, n.shape, n.type, n.span)


def _check(n: IRCheck, fn: Map) -> IRCheck:
    index, extents = map_block(n.index, fn), map_block(n.extents, fn)
    if index is n.index and extents is n.extents:
        return n
    return IRCheck(n.array, index, extents, n.site, n.stored, n.type, n.span)


def _nonzero(n: IRNonzero, fn: Map) -> IRNonzero:
    value = fn(n.value)
    return n if value is n.value else IRNonzero(value, n.site, n.type, n.span)


def _assign(n: IRAssign, fn: Map) -> IRAssign:
    value = fn(n.value)
    return n if value is n.value else IRAssign(n.name, value, n.span)


def _store(n: IRStore, fn: Map) -> IRStore:
    value, index = fn(n.value), map_block(n.index, fn)
    return n if value is n.value and index is n.index else IRStore(n.array, index, value, n.span)


def _atomic(n: IRAtomic, fn: Map) -> IRAtomic:
    index, value = map_block(n.index, fn), fn(n.value)
    return n if index is n.index and value is n.value else IRAtomic(n.op, n.array, index, value, n.result, n.span)


def _block_reduce(n: IRBlockReduce, fn: Map) -> IRBlockReduce:
    value = fn(n.value)
    return n if value is n.value else IRBlockReduce(n.op, value, n.result, n.span)


def _eval(n: IREval, fn: Map) -> IREval:
    value = fn(n.value)
    return n if value is n.value else IREval(value, n.span)


def _if(n: IRIf, fn: Map) -> IRIf:
    test, then, orelse = fn(n.test), map_block(n.then, fn), map_block(n.orelse, fn)
    if test is n.test and then is n.then and orelse is n.orelse:
        return n
    return IRIf(test, then, orelse, n.span)


def _range(n: IRRange, fn: Map) -> IRRange:
    start, end, step = fn(n.start), fn(n.end), fn(n.step)
    if start is n.start and end is n.end and step is n.step:
        return n
    return IRRange(n.var, start, end, step, n.span)


def _for(n: IRFor, fn: Map) -> IRFor:
    span, body = fn(n.range), map_block(n.body, fn)
    return n if span is n.range and body is n.body else IRFor(span, body, n.span)


def _while(n: IRWhile, fn: Map) -> IRWhile:
    pre, test, body = map_block(n.pre, fn), fn(n.test), map_block(n.body, fn)
    return n if pre is n.pre and test is n.test and body is n.body else IRWhile(pre, test, body, n.span)


def _region(n: IRRegion, fn: Map) -> IRRegion:
    body = map_block(n.body, fn)
    return n if body is n.body else IRRegion(n.label, body, n.span)


def _print(n: IRPrint, fn: Map) -> IRPrint:
    parts = map_block(n.parts, lambda part: part if part.__class__ is str else fn(part))
    return n if parts is n.parts else IRPrint(parts, n.span)


def _sample(n: IRTextureSample, fn: Map) -> IRTextureSample:
    u, v, w = n.coords
    coords = fn(u), fn(v), fn(w)
    if coords[0] is u and coords[1] is v and coords[2] is w:
        return n
    return IRTextureSample(n.texture, coords, n.type, n.span)


_MAP: dict[type, Callable[[Any, Map], Any]] = {
    IRConst: _same,
    IRName: _same,
    IRDimSize: _same,
    IRBreak: _same,
    IRContinue: _same,
    IRLeave: _same,
    IRDeclare: _same,
    IRBarrier: _same,
    IRLoad: _load,
    IROp: _op,
    IRCast: _cast,
    IRCond: _cond,
    IRLogic: _logic,
    IRComponent: _component,
    IRCheck: _check,
    IRNonzero: _nonzero,
    IRAssign: _assign,
    IRStore: _store,
    IRAtomic: _atomic,
    IRBlockReduce: _block_reduce,
    IREval: _eval,
    IRIf: _if,
    IRRange: _range,
    IRFor: _for,
    IRWhile: _while,
    IRRegion: _region,
    IRPrint: _print,
    IRTextureSample: _sample,
}


def map_children(node: Any, fn: Callable[[Any], Any]) -> Any:
    """The node with `fn` applied to each direct child; the same object when no child changed."""
    return _MAP[node.__class__](node, fn)


def rewrite(node: Any, fn: Callable[[Any], Any]) -> Any:
    """Rebuilds a tree bottom-up: `fn` gets each node after its children were rewritten and returns its replacement."""

    def visit(item: Any) -> Any:
        return fn(_MAP[item.__class__](item, visit))

    return visit(node)


def expand_block(block: Block, fn: Callable[[IRStmt], Sequence[IRStmt]]) -> Block:
    """The block with each statement replaced by the statements `fn` gives for it, inner blocks first."""
    result: list[IRStmt] = []
    for stmt in block:
        inner: Any = stmt
        match stmt:
            case IRIf():
                then, orelse = expand_block(stmt.then, fn), expand_block(stmt.orelse, fn)
                if then is not stmt.then or orelse is not stmt.orelse:
                    inner = IRIf(stmt.test, then, orelse, stmt.span)
            case IRFor():
                body = expand_block(stmt.body, fn)
                inner = stmt if body is stmt.body else IRFor(stmt.range, body, stmt.span)
            case IRWhile():
                pre, body = expand_block(stmt.pre, fn), expand_block(stmt.body, fn)
                if pre is not stmt.pre or body is not stmt.body:
                    inner = IRWhile(pre, stmt.test, body, stmt.span)
            case IRRegion():
                body = expand_block(stmt.body, fn)
                inner = stmt if body is stmt.body else IRRegion(stmt.label, body, stmt.span)
            case _:
                pass
        result += fn(inner)
    same = len(result) == len(block) and all(a is b for a, b in zip(result, block, strict=True))
    return block if same else tuple(result)


def with_parts(
    func: IRFunc,
    prologue: Block,
    bound_prologue: Block,
    dims: tuple[IRRange, ...],
    body: Block,
    epilogue: Block,
    result: IRExpr | None,
) -> IRFunc:
    """The function with these code parts; the same object when all of them are the same objects."""
    loop = func.loop
    if dims is not loop.dims or body is not loop.body:
        loop = IRParallel(dims, body, loop.span)
    if loop is func.loop and prologue is func.prologue and bound_prologue is func.bound_prologue:
        if epilogue is func.epilogue and result is func.result:
            return func
    return replace(func, prologue=prologue, bound_prologue=bound_prologue, loop=loop, epilogue=epilogue, result=result)


def map_func(func: IRFunc, fn: Callable[[IRStmt | IRRange | IRExpr], Any]) -> IRFunc:
    """The function with `fn` applied to each outermost statement, to the ranges of the parallel loop and to the result."""
    return with_parts(
        func,
        map_block(func.prologue, fn),
        map_block(func.bound_prologue, fn),
        map_block(func.loop.dims, fn),
        map_block(func.loop.body, fn),
        map_block(func.epilogue, fn),
        None if func.result is None else fn(func.result),
    )
