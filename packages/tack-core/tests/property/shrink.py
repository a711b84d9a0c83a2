"""Makes a failing program smaller: drops statements and puts operands in place of expressions while it fails the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from property.generator import Program


def shrink(program: Program, fails: Callable[[Program], bool], tries: int = 2000) -> Program:
    """The smallest program found with `fails` true, which it is of `program`; `tries` bounds the calls of `fails`."""
    best = replace(program, source=ast.unparse(ast.parse(program.source)))
    if not fails(best):
        return program
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(best.source):
            if tries <= 0:
                return best
            tries -= 1
            candidate = replace(best, source=smaller)
            if fails(candidate):
                best, progress = candidate, True
                break
    return best


def _smaller(source: str) -> Iterator[str]:
    """Sources with one thing less, statements first."""
    tree = ast.parse(source)
    for edit in (_without_statement, _unwrapped, _with_operand):
        for node in list(ast.walk(tree)):
            for _ in edit(node):  # changes the tree, and undoes it when it goes on
                text = ast.unparse(tree)
                if len(text) < len(source):
                    yield text


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _without_statement(node: ast.AST) -> Iterator[None]:
    for block in _blocks(node):
        whole = list(block)
        for k in range(len(whole)):
            block[:] = [*whole[:k], *whole[k + 1 :]] or [ast.Pass()]
            yield
        block[:] = whole


def _unwrapped(node: ast.AST) -> Iterator[None]:
    """The body of an `if` or loop in place of the whole."""
    for block in _blocks(node):
        whole = list(block)
        for k, statement in enumerate(whole):
            if not isinstance(statement, ast.FunctionDef):
                for inner in _blocks(statement):
                    block[:] = [*whole[:k], *inner, *whole[k + 1 :]]
                    yield
        block[:] = whole


def _with_operand(node: ast.AST) -> Iterator[None]:
    """An operand, or a small number, in place of an expression."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            for k, item in enumerate(value):
                for value[k] in _operands(item):
                    yield
                value[k] = item
        else:
            for operand in _operands(value):
                setattr(node, name, operand)
                yield
            setattr(node, name, value)


def _operands(node: object) -> list[ast.expr]:
    if not isinstance(node, ast.expr) or isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return []
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)] + [ast.Constant(1)]
