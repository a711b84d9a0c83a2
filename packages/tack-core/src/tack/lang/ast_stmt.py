"""Statements of a kernel and of device functions: assignments, loops, branches (K3, K4, E2, E3, N5).

The parallel loop is `ast_transform`'s; a `for` seen here is a serial one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from tack.errors import Span
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRBreak,
    IRConst,
    IRContinue,
    IREval,
    IRExpr,
    IRFor,
    IRIf,
    IRLeave,
    IRName,
    IRRange,
    IRRank,
    IRRegion,
    IRWhile,
)  # fmt: skip
from tack.ir.types import DTYPES, MatrixType, ScalarType, VectorType
from tack.ir.typing_errors import bracketed, unpacked
from tack.ir.walk import names_read, walk
from tack.lang.ast_context import at, has_load, is_fixed
from tack.lang.ast_memory import MemoryLowering
from tack.lang.device_class import Instance, is_number
from tack.lang.intrinsics import INTRINSICS
from tack.lang.values import Value, Vector, described

__all__ = ["StatementLowering"]

_JUMPS = (ast.Break, ast.Continue, ast.Return)


class StatementLowering(MemoryLowering):
    """Lowers blocks of statements into `out`."""

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for k, statement in enumerate(statements):
            if isinstance(statement, _JUMPS):
                self.dead(statements[k + 1 :])
                self.statement(statement)
                return
            self.statement(statement)

    def dead(self, statements: Sequence[ast.stmt]) -> None:
        """Code that no path reaches, kept under a false condition until it has been checked like any other."""
        if statements:
            _, block = self.sub(lambda: self.block(statements))
            if block:
                self.out.append(IRIf(IRConst(False), block, (), self.span(statements[0])))

    def statement(self, node: ast.stmt) -> None:
        """Lower one statement."""
        match node:
            case ast.Assign():
                self._assign(node)
            case ast.AugAssign():
                self._augmented(node)
            case ast.If():
                self._if(node)
            case ast.For():
                self.serial_loop(node)
            case ast.While():
                self._while(node)
            case ast.Expr():
                self._expression(node)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.Break() | ast.Continue():
                self._jump(node)
            case ast.Return():
                self.return_(node)
            case ast.Pass():
                pass
            case _:
                raise AssertionError(f"{type(node).__name__} has passed the check of the subset")

    def return_(self, node: ast.Return) -> None:
        """Lower a `return`; what it may do depends on the function it stands in."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ assignments

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if self.declared(node):
            return
        if len(node.targets) > 1:
            value = self.value(node.value)
            value = self.settled(value) if isinstance(value, Vector) else self.settle(value)
            for each in node.targets:
                if isinstance(each, ast.Tuple):
                    raise self.unsupported(each, "a tuple in a chained assignment", "Write one assignment a line.")
                self._store(each, value)
        elif isinstance(target, ast.Tuple):
            self._unpack(target, node)
        else:
            self._store(target, self.value(node.value))

    def _store(self, target: ast.expr, value: Value) -> None:
        """Assign `value`, evaluated before the target's index (E2)."""
        if isinstance(target, ast.Name):
            self._bind_name(target, value, self.span(target))
        else:
            mark, effects = len(self.out), self.effects
            place = self.place(target)
            if effects != self.effects:  # the index calls a function that stores
                after = self.out[mark:]
                del self.out[mark:]
                value = self.spill(value)
                self.out.extend(after)
            self.store(place, value, self.span(target))

    def _bind_name(self, target: ast.Name, value: Value, span: Span) -> None:
        if isinstance(value, IRName) and self.is_array(value):
            message = f"'{value.name}' is an array: a local is a number or a vector, and no second name for it"
            remedy = f"Write '{value.name}' in place of '{target.id}', or pass it to a @tack.func function."
            raise self.error(TypeError, value.span or span, message, remedy)
        if isinstance(value, Vector):
            self.assign_components(self.vector_variable(target.id, value.shape, target), value, span)
        else:
            self.emit(IRAssign(self.variable(target.id, target), value, span))

    def _unpack(self, target: ast.Tuple, node: ast.Assign) -> None:
        shape = node.value
        wanted = len(target.elts)
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and self.instance(shape.value) is None:
            if self._is_local_name(shape.value):
                array, span = self.array(shape.value), self.span(node)
                if array in self.arrays and len(self.arrays[array].shape) != wanted:
                    rank, name = len(self.arrays[array].shape), self.arrays[array].source_name
                    raise self.error(ValueError, node, *unpacked(name, wanted, rank))
                if array not in self.arrays:
                    self.ranks.append(IRRank(array, wanted, span))
                for k, each in enumerate(target.elts):
                    self._store(each, self.size_of(array, k, span))
                return
        values = self.values(node.value)
        if len(values) != wanted:
            raise self._miscounted(target, node, values)
        for each, value in zip(target.elts, self._settled(target.elts, values), strict=True):
            self._store(each, value)

    def _miscounted(self, target: ast.Tuple, node: ast.Assign, values: list[Value]) -> Exception:
        """Another number of values than of targets: a vector is one value, and so is a number."""
        wanted, shown = len(target.elts), ast.unparse(node.value)
        targets = f"{wanted} target{'s' if wanted != 1 else ''}"
        gives = f"`{shown}` gives " if isinstance(node.value, ast.Call) else ""
        if len(values) != 1:
            message = f"{gives}{len(values) or 'no'} value{'s' if values else ''} for {targets}"
            return self.error(ValueError, node, message, "Give each target one value.")
        if self.is_array(values[0]):
            message = f"'{shown}' is an array, for {targets}"
            return self.error(ValueError, node, message, f"Name elements: `{', '.join(f'{shown}[{k}]' for k in range(wanted))}`.")
        if not isinstance(values[0], Vector):
            message = f"{gives}a number, which is one value, for {targets}"
            return self.error(ValueError, node, message, "Give each target one value.")
        shape, shown = values[0].shape, bracketed(shown)
        places = [f"{shown}[{k}]" if len(shape) == 1 else f"{shown}[0, {k}]" for k in range(shape[-1])]
        if len(shape) == 1 and shape[0] <= 4:
            places = [f"{shown}.{letter}" for letter in "xyzw"[: shape[0]]]
        names = ", ".join(ast.unparse(each) for each in target.elts[: len(places)])
        remedy = f"Name its components: `{names} = {', '.join(places[:wanted])}`."
        return self.error(ValueError, node, f"{gives}{described(shape)}, which is one value, for {targets}", remedy)

    def _settled(self, targets: list[ast.expr], values: list[Value]) -> list[Value]:
        """The values as they are before any target changes: those that an earlier target touches go to temporaries."""
        changed: set[str] = set()
        stored = False
        settled: list[Value] = []
        for target, value in zip(targets, values, strict=True):
            parts = value.components if isinstance(value, Vector) else (value,)
            touched = (changed and bool(names_read(parts) & changed)) or (stored and any(map(has_load, parts)))
            settled.append(self.kept(value, "(value)") if touched else value)
            if not isinstance(target, ast.Name):
                changed |= self.names_of(target)
                stored = True
            elif isinstance(value, Vector):
                changed |= names_read(self.vector_variable(target.id, value.shape, target).components)
            else:
                changed.add(self.variable(target.id, target))
        return settled

    def _augmented(self, node: ast.AugAssign) -> None:
        target, span = node.target, self.span(node)
        if isinstance(target, ast.Name):
            old, value = self.in_order((lambda: self.value(target), lambda: self.value(node.value)))
            self._bind_name(target, self.operation(node.op, old, value, span), span)
        else:
            place = self.place(target, again=True)
            old, value = self.in_order((lambda: self.read(place, self.span(target)), lambda: self.value(node.value)))
            self.store(place, self.operation(node.op, old, value, span), span)

    def _annotated(self, node: ast.AnnAssign) -> None:
        assert isinstance(node.target, ast.Name) and node.value is not None
        found = self.lookup(node.annotation)
        if not (isinstance(found, (VectorType, MatrixType)) or (isinstance(found, ScalarType) and found in DTYPES)):
            remedy = f"Write one of {', '.join(map(str, DTYPES))}, by a name that the module binds."
            raise self.unsupported(node.annotation, "an annotation of a local is a Tack scalar type", remedy)
        self._only_locals_are_declared(node, node.target.id)
        value, name, declared = self.value(node.value), node.target.id, found.scalar
        if found.shape:
            value = self.broadcast(value, found.shape)
            if value.shape != found.shape:
                message = f"{described(value.shape)} for a local declared {found}"
                raise self.error(TypeError, node.value, message, "Use another name.")
            locals = names_read(self.vector_variable(name, value.shape, node.target).components)
        else:
            value = self.number(value, node.value)
            locals = {self.variable(name, node.target)}
        for each in locals:
            local = self.locals[each]
            if local.declared and local.type is not declared:
                message = f"local '{name}' is declared {local.type} and {declared}"
                raise self.error(TypeError, node, message, "Declare it once, or use two names.")
            self.locals[each] = replace(local, type=declared, declared=True)
        self._bind_name(node.target, value, self.span(node.target))

    def _only_locals_are_declared(self, node: ast.AnnAssign, name: str) -> None:
        """A declaration types all that the name holds, which must not narrow a loop variable or an argument."""
        if name in self.scope.looping:
            what = f"loop variable '{name}' is i64 and cannot be declared"
        elif name in self.scope.parsed.params:
            what = f"parameter '{name}' has its argument's type and cannot be declared"
        else:
            return
        raise self.unsupported(node.target, what, "Declare a local of another name.")

    # ------------------------------------------------------------------------------------------------ control flow

    def _if(self, node: ast.If) -> None:
        """`if`, `elif`, `else`, without recursion along the `elif`s; what a test needs runs where Python evaluates it."""
        chain: list[tuple[ast.If, Block, IRExpr, Block]] = []
        while True:
            test, pre = self.sub(lambda node=node: self.cond(node.test))
            _, then = self.sub(lambda node=node: self.block(node.body))
            chain.append((node, pre, test, then))
            if not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
                break
            node = node.orelse[0]
        _, orelse = self.sub(lambda: self.block(node.orelse))
        for each, pre, test, then in reversed(chain):
            orelse = (*pre, IRIf(test, then, orelse, self.span(each.test)))
        self.out.extend(orelse)

    def _while(self, node: ast.While) -> None:
        test, pre = self.sub(lambda: self.cond(node.test))
        body = self._loop_body(lambda: self.block(node.body))
        self.out.append(IRWhile(pre, test, body, self.span(node.test)))

    def _loop_body(self, make: Callable[[], None]) -> Block:
        self.scope.loops += 1
        try:
            return self.sub(make)[1]
        finally:
            self.scope.loops -= 1

    def serial_loop(self, node: ast.For) -> None:
        """A nested `for` over a range or an object."""
        owner = self.instance(node.iter)
        if owner is not None:
            self._object_loop(node, owner)
            return
        kind = self.loop_kind(node)
        if kind == "range" and isinstance(node.target, ast.Tuple):
            raise self.unsupported(node.target, "a serial loop has one variable", "Nest loops over range(...).")
        if kind == "ndindex":
            raise self.unsupported(node.iter, "tack.ndindex is for the parallel loop", "Nest loops over range(...).")
        assert isinstance(node.target, ast.Name)
        start, end, step = self.range_parts(node)
        name = node.target.id
        var = self.fresh(self.scope.prefix + name)
        body = self._loop_body(lambda: self.with_loop_variables({name: (var,)}, node))
        span = self.span(node.iter)
        self.out.append(IRFor(IRRange(var, start, end, step, span), body, self.span(node.target)))

    def _object_loop(self, node: ast.For, owner: Instance) -> None:
        """A nested `for c in obj`: one loop for each attribute of `__tack_iterate__`, the first one innermost."""
        sizes = self.object_sizes(owner, node.iter)
        variables, names = self.index_variables(node, len(sizes), ast.unparse(node.iter))
        depth = self.scope.loops + 1
        label = self.fresh(f"{self.scope.prefix}break")
        if len(sizes) > 1:
            self.scope.leaves[depth] = label
        body = self._loop_body(lambda: self.with_loop_variables(names, node))
        self.scope.leaves.pop(depth, None)
        span, place = self.span(node.iter), self.span(node.target)
        leaves = any(isinstance(each, IRLeave) and each.label == label for each in walk(body))
        for variable, size in zip(variables, sizes, strict=True):
            body = (IRFor(IRRange(variable, IRConst(0, None, span), size, IRConst(1, None, span), span), body, place),)
        self.out += (IRRegion(label, body, place),) if leaves else body

    def index_variables(self, node: ast.For, count: int, of: str) -> tuple[list[str], dict[str, tuple[str, ...]]]:
        """IR names for the `count` indices of a loop, and those that each name of the source stands for: one, or all of them."""
        prefix = self.scope.prefix
        if isinstance(node.target, ast.Name):
            made = tuple([self.fresh(prefix + node.target.id) for _ in range(count)])
            return list(made), {node.target.id: made}
        assert isinstance(node.target, ast.Tuple)
        names = [target.id for target in node.target.elts if isinstance(target, ast.Name)]
        if len(set(names)) < len(names):
            raise self.unsupported(node.target, "two loop variables of one name", "Name them apart.")
        if len(names) != count:
            message = f"{len(names)} loop variables for the {count} size{'' if count == 1 else 's'} of {of}"
            remedy = f"Write `for {', '.join('ijkl'[:count])} in {ast.unparse(node.iter)}`."
            raise self.error(ValueError, node.target, message, remedy)
        named = {name: (self.fresh(prefix + name),) for name in names}
        return [variable for (variable,) in named.values()], named

    def with_loop_variables(self, names: dict[str, tuple[str, ...]], node: ast.For) -> None:
        """Lower the body of `node` with its variables bound; one that the body assigns is copied to a local first (K4).

        A name that stands for several indices is a vector of them.
        """
        before = {name: self.scope.vars.get(name) for name in names}
        span = self.span(node.target)
        added = names.keys() - self.scope.looping
        self.scope.looping |= added
        for name, variables in names.items():
            value: Value = IRName(variables[0])
            if len(variables) > 1:
                value = Vector((len(variables),), tuple([IRName(each) for each in variables]))
            if self._assigns(node.body, name) or (isinstance(value, Vector) and name in self.scope.parsed.patched):
                value = self._copied(name, value, span)
            self.scope.vars[name] = value
        self.block(node.body)
        self.scope.looping -= added
        for name, outer in before.items():
            if outer is None:
                del self.scope.vars[name]
            else:
                self.scope.vars[name] = outer

    def _copied(self, name: str, value: Value, span: Span) -> Value:
        """A loop variable's value in a local of its own."""
        if isinstance(value, Vector):
            copies = self.component_locals(value.shape, name, weak=False)
            self.assign_components(copies, value, span)
            return copies
        copy = self.local(name)
        self.out.append(IRAssign(copy, at(value, span), span))
        return IRName(copy)

    def _assigns(self, body: list[ast.stmt], name: str) -> bool:
        parsed = self.scope.parsed
        if name not in parsed.stores and parsed.loop_names[name] < 2:
            return False
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                    return True
        return False

    def loop_kind(self, node: ast.For) -> str:
        """ "range", "ndindex" or "object"; any other iterable is refused."""
        if self.instance(node.iter) is not None:
            return "object"
        if isinstance(node.iter, ast.Call) and self.dotted(node.iter.func) is not None:
            target = self.callee(node.iter)
            for kind in ("range", "ndindex"):
                if target is INTRINSICS[kind]:
                    return kind
        array = node.iter.id if isinstance(node.iter, ast.Name) else "a"
        remedy = f"Loop over the indices: `for i in range({array}.shape[0])`."
        if isinstance(node.iter, (ast.Constant, ast.Call, ast.BinOp)) or is_number(self.passed(node.iter)):
            remedy = f"Write `range({ast.unparse(node.iter)})`."
        elif isinstance(vector := self.scope.vars.get(array), Vector):
            remedy = f"Loop over the components: `for k in range({vector.shape[0]})`, `{array}[k]`."
        elif isinstance(node.iter, (ast.Tuple, ast.List)) and any(isinstance(each, ast.Call) for each in node.iter.elts):
            remedy = "Write `for i, j in tack.ndindex(n, m):`, or, inside the kernel's loop, one `for` in another."
        elif isinstance(node.iter, (ast.Tuple, ast.List)):
            remedy = f"Write a vector, `v = [...]`, and loop over its indices: `for k in range({len(node.iter.elts)})`, `v[k]`."
        raise self.unsupported(node.iter, "a `for` loop runs over range(...) or tack.ndindex(...)", remedy)

    def range_parts(self, node: ast.For) -> tuple[IRExpr, IRExpr, IRExpr]:
        """Start, end and step of `range(...)`, lowered in order."""
        call = node.iter
        assert isinstance(call, ast.Call)
        if call.keywords:
            raise self.error(TypeError, call.keywords[0], "range() takes no keyword arguments", "Pass the bounds by position.")
        if not 1 <= len(call.args) <= 3:
            raise self.error(TypeError, call, f"range() takes 1 to 3 arguments, not {len(call.args)}", "Write range(start, end).")
        span = self.span(call)
        parts = self.in_order([lambda part=part: self.expr(part) for part in call.args])
        zero, one = IRConst(0, None, span), IRConst(1, None, span)
        if len(parts) == 1:
            return zero, parts[0], one
        step = parts[2] if len(parts) == 3 else one
        if isinstance(step, IRConst) and step.value == 0:
            raise self.error(ValueError, call.args[2], "range() with a step of zero never ends", "Use another step.")
        return parts[0], parts[1], step

    def _jump(self, node: ast.Break | ast.Continue) -> None:
        span = self.span(node)
        if isinstance(node, ast.Continue):
            self.out.append(IRContinue(span))
        elif self.scope.loops == 0 and self.scope.is_kernel:
            remedy = "Iterations have no order: test a condition in each, or use `continue`."
            raise self.unsupported(node, "`break` of the parallel loop", remedy)
        else:
            label = self.scope.leaves.get(self.scope.loops)
            self.out.append(IRBreak(span) if label is None else IRLeave(label, span))

    def _expression(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return
        if isinstance(value, ast.Call):
            values = self.call_values(value)
        else:
            self.value(value)  # what is wrong inside it comes first
            raise self.unsupported(value, "a statement that computes a value and does nothing with it", _meant(value))
        for each in values:
            for part in each.components if isinstance(each, Vector) else (each,):
                if not is_fixed(part):
                    self.emit(IREval(part, self.span(node)))


def _meant(node: ast.expr) -> str:
    """What a statement that is no call may have been meant to be."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and isinstance(node.left, (ast.Name, ast.Subscript)):
        return f"Write `=` to assign: `{ast.unparse(node.left)} = {ast.unparse(node.comparators[0])}`."
    if isinstance(node, (ast.BoolOp, ast.IfExp)):
        return "Write an `if` statement, or assign the value."
    return "Assign the value, or leave the statement out."
