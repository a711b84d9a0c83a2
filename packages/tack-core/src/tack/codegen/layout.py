"""The argument pack of a kernel on the CPU: which 8-byte slot holds what. Knows no LLVM and no device.

The caller fills the parameters and the sizes; compiled code fills the loop and the prologue's values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tack.ir.nodes import (
    ERRORS,
    Block,
    IRAssign,
    IRAtomic,
    IRCast,
    IRCheck,
    IRComponent,
    IRCond,
    IRConst,
    IRDimSize,
    IREval,
    IRExpr,
    IRFor,
    IRFunc,
    IRIf,
    IRLoad,
    IRLogic,
    IRName,
    IRNonzero,
    IROp,
    IRParam,
    IRPrint,
    IRRegion,
    IRStmt,
    IRStore,
    IRTextureSample,
    IRWhile,
)  # fmt: skip
from tack.ir.types import ScalarType

__all__ = ["CODE_VERSION", "BodyNames", "PackLayout", "body_names", "pack_layout"]

Dim = tuple[str, int | Literal["ndim", "size"]]

CODE_VERSION = "llvm 1"  # of what compiled code expects of its caller: the pack, and the functions it exports


@dataclass(frozen=True, slots=True)
class PackLayout:
    """The slots of a pack, in order: `params`, `dims`, then start, size and step of each loop dimension, then `carried`.

    A parameter's slot holds an array's address, an integer's bits (extended by its own signedness) or a float's value as a
    double. `dims` are the sizes that the launch range depends on. Where the kernel `prints`, a slot with the address of
    `void print(i64 site, ptr values)` follows them. `carried` are the prologue's locals that the body or the result reads, as raw
    bits of their type. The last slot is that of a result of type `result`: an integer or truth value as i64, a float as a double.
    """

    params: tuple[IRParam, ...]
    dims: tuple[Dim, ...]
    rank: int
    carried: tuple[tuple[str, ScalarType], ...]
    prints: bool = False
    result: ScalarType | None = None

    @property
    def size(self) -> int:
        """Number of 8-byte slots."""
        return self.result_slot + (self.result is not None)

    @property
    def format(self) -> str:
        """The `struct` format of what the caller fills: one value for each parameter, then one for each of `dims`."""
        return "=" + "".join(_code(param) for param in self.params) + "q" * len(self.dims) + "Q" * self.prints

    @property
    def print_slot(self) -> int:
        """The slot of the address of `print`, where there is one."""
        return len(self.params) + len(self.dims)

    @property
    def loop_slot(self) -> int:
        """The slot of the first dimension's start; size and step follow, then the next dimension."""
        return self.print_slot + self.prints

    @property
    def carried_slot(self) -> int:
        """The slot of the first of `carried`."""
        return self.loop_slot + 3 * self.rank

    @property
    def result_slot(self) -> int:
        """The slot of the result, where there is one."""
        return self.carried_slot + len(self.carried)


def _code(param: IRParam) -> str:
    assert param.type is not None
    if param.is_array:
        return "Q"
    if param.type.is_float:
        return "d"
    return "q" if param.type.signed else "Q"


@dataclass(slots=True)
class BodyNames:
    """How a block uses names: what it reads, which arrays it stores to, which locals need a memory slot.

    `shared` are the assigned names that one value cannot stand for: assigned twice, or read where the only assignment is not
    known to have run, judged by the nesting of blocks. The other assigned names are `single`.
    """

    reads: set[str]
    stored: set[str]
    single: set[str]
    shared: set[str]
    dims: dict[Dim, None]
    prints: bool = False


class _Scan:
    """One walk over statements that fills a `BodyNames`."""

    def __init__(self) -> None:
        self.names = BodyNames(set(), set(), set(), set(), {})
        self._home: dict[str, int] = {}  # the block of a name's first use: 0 if it was read first
        self._assigned: set[str] = set()
        self._open: list[int] = []
        self._blocks = 0

    def block(self, block: Block) -> None:
        self._blocks += 1
        self._open.append(self._blocks)
        for stmt in block:
            self.stmt(stmt)
        self._open.pop()

    def _assign(self, name: str) -> None:
        self._assigned.add(name)
        if name in self._home:
            self.names.shared.add(name)
        else:
            self._home[name] = self._open[-1]

    def _read(self, name: str) -> None:
        self.names.reads.add(name)
        home = self._home.get(name)
        if home is not None and home not in self._open:
            self.names.shared.add(name)
        elif home is None:
            self._home[name] = 0

    def stmt(self, stmt: IRStmt) -> None:
        match stmt:
            case IRAssign():
                self.expr(stmt.value)
                self._assign(stmt.name)
            case IRStore():
                self.expr(stmt.value)
                self.exprs(stmt.index)
                self.names.stored.add(stmt.array)
            case IRAtomic():
                self.exprs((*stmt.index, stmt.value))
                self.names.stored.add(stmt.array)
                if stmt.result is not None:
                    self._assign(stmt.result)
            case IREval():
                self.expr(stmt.value)
            case IRIf():
                self.expr(stmt.test)
                self.block(stmt.then)
                self.block(stmt.orelse)
            case IRFor():
                self.exprs((stmt.range.start, stmt.range.end, stmt.range.step))
                self.block(stmt.body)
            case IRWhile():
                self._while(stmt)
            case IRRegion():
                self.block(stmt.body)
            case IRPrint():
                self.names.prints = True
                self.exprs(tuple([part for part in stmt.parts if not isinstance(part, str)]))
            case _:
                pass

    def _while(self, stmt: IRWhile) -> None:
        self._blocks += 1
        self._open.append(self._blocks)
        for each in stmt.pre:
            self.stmt(each)
        self.expr(stmt.test)
        self.block(stmt.body)
        self._open.pop()

    def exprs(self, exprs: tuple[IRExpr, ...]) -> None:
        for expr in exprs:
            self.expr(expr)

    def expr(self, expr: IRExpr) -> None:
        match expr:
            case IRName():
                self._read(expr.name)
            case IROp():
                for arg in expr.args:
                    self.expr(arg)
            case IRLoad():
                for index in expr.index:
                    self.expr(index)
            case IRCast():
                self.expr(expr.value)
            case IRConst():
                pass
            case IRCond():
                self.expr(expr.test)
                self.expr(expr.then)
                self.expr(expr.orelse)
            case IRLogic():
                self.expr(expr.left)
                self.expr(expr.right)
            case IRCheck():
                self.exprs(expr.index + expr.extents)
                self.names.stored.add(ERRORS)
            case IRNonzero():
                self.expr(expr.value)
                self.names.stored.add(ERRORS)
            case IRDimSize():
                self.names.dims[(expr.array, expr.dim)] = None
            case IRTextureSample():
                self.exprs(expr.coords)
            case IRComponent():  # of stage "lowered": resolve has made arithmetic of it
                self.exprs(expr.index)

    def finish(self) -> BodyNames:
        self.names.shared &= self._assigned
        self.names.single = self._assigned - self.names.shared
        return self.names


def body_names(block: Block) -> BodyNames:
    """How `block` (a parallel loop's body) uses names. Takes time linear in its nodes."""
    scan = _Scan()
    scan.block(block)
    return scan.finish()


def pack_layout(func: IRFunc, body: BodyNames | None = None) -> PackLayout:
    """The pack of a kernel at stage "typed"; `body` may pass on what `body_names(func.loop.body)` found."""
    names = body or body_names(func.loop.body)
    outside = _Scan()
    outside.block(func.bound_prologue)
    for dim in func.loop.dims:
        outside.exprs((dim.start, dim.end, dim.step))
    outside.block(func.prologue)
    found = outside.finish()
    types = {local.name: local.type for local in func.locals}
    carried: list[tuple[str, ScalarType]] = []
    reads = names.reads if func.result is None else names.reads | body_names((*func.epilogue, IREval(func.result))).reads
    for name in sorted((found.single | found.shared) & reads):
        type = types[name]
        assert type is not None
        carried.append((name, type))
    result = None if func.result is None else func.result.type
    return PackLayout(func.params, tuple(found.dims | names.dims), len(func.loop.dims), tuple(carried), names.prints, result)
