"""What every stage of the IR promises, checked in one walk between passes. A failure is a fault of Tack, never of the user.

Structure in every stage; the types that the rules of `ops` ask for in stage "typed".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tack.ir.nodes import (
    ERRORS,
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
    IRFor,
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRLogic,
    IRName,
    IRNonzero,
    IROp,
    IRPrint,
    IRRange,
    IRRegion,
    IRStore,
    IRTextureSample,
    IRWhile,
    Stage,
)
from tack.ir.ops import OPS
from tack.ir.printer import print_expr
from tack.ir.types import BOOL, DTYPES, ScalarType, f32, i32, i64, u64

__all__ = ["IRError", "verify_ir"]

_TYPES = frozenset((*DTYPES, BOOL))


class IRError(RuntimeError):
    """The IR broke a promise of its stage: an internal fault."""


def verify_ir(func: IRFunc, stage: Stage) -> None:
    """Raise IRError, naming the kernel, the stage and the broken promise, if `func` is no well-formed IR of `stage`."""
    verifier = _Verifier(func, stage)
    verifier.run()


class _Verifier:
    """One walk. `depth` counts the serial loops around a statement; `labels` are the open regions."""

    def __init__(self, func: IRFunc, stage: Stage) -> None:
        self.func, self.stage, self.typed = func, stage, stage == "typed"
        self.arrays: dict[str, ScalarType | None] = {}
        self.own: set[str] = set()  # the local and shared arrays
        self.textures: set[str] = set()
        self.names: dict[str, ScalarType | None] = {}
        self.assignable: set[str] = set()
        self.used: set[str] = set()
        self.depth = 0
        self.labels: set[str] = set()
        self.sizes = self.stores = True  # whether IRDimSize and IRStore may stand here
        self._expressions: dict[type, Callable[[Any], None]] = {
            IRConst: self._const, IRName: self._name, IRDimSize: self._dim_size, IRLoad: self._load, IROp: self._op,
            IRTextureSample: self._sample, IRCast: self._cast, IRCond: self._cond, IRLogic: self._logic,
            IRCheck: self._check, IRNonzero: self._nonzero, IRComponent: self._component,
        }  # fmt: skip
        self._statements: dict[type, Callable[[Any], None]] = {
            IRAssign: self._assign, IRStore: self._store, IREval: lambda s: self.expr(s.value), IRIf: self._if, IRFor: self._for,
            IRWhile: self._while, IRBreak: self._break, IRContinue: self._continue, IRRegion: self._region, IRLeave: self._leave,
            IRPrint: self._print, IRAtomic: self._atomic, IRDeclare: self._declaration, IRBarrier: self._collective,
            IRBlockReduce: self._block_reduce,
        }  # fmt: skip

    def fault(self, promise: str, node: Any = None) -> NoReturn:
        where = "" if node is None else f": {print_expr(node)[:200]}"
        span = getattr(node, "span", None)
        place = f" ({span.where()})" if span is not None else ""
        raise IRError(f"Kernel '{self.func.name}', stage {self.stage}: {promise}{where}{place}")

    def run(self) -> None:
        func = self.func
        if func.stage != self.stage:
            self.fault(f"the function says it is {func.stage}")
        self._declare()
        lowered = self.stage == "lowered"
        self.stores, self.sizes = False, True
        declared = set(self.known)
        self.block(func.bound_prologue)
        self.known = declared  # the prologue may hold the same loops: the bound's are copies
        self.sizes = lowered
        self.block(func.prologue)
        self._dims()
        self.stores = True
        self.block(func.loop.body)
        self._result()

    def _result(self) -> None:
        self.stores = False
        for dim in self.func.loop.dims:
            del self.names[dim.var]
        self.block(self.func.epilogue)
        if self.func.result is not None:
            self.expr(self.func.result)
        elif self.func.epilogue:
            self.fault("an epilogue without a result")

    def _declare(self) -> None:
        func, typed = self.func, self.typed
        known: set[str] = set()
        for item in (*func.params, *func.locals):
            if item.name in known:
                self.fault(f"the name '{item.name}' is declared twice")
            known.add(item.name)
        for param in func.params:
            if self.stage != "lowered" and param.type not in DTYPES:
                self.fault(f"parameter '{param.name}' has no type")
            if self.stage == "lowered" or param.texture is not None:
                self.textures.add(param.name)
            if self.stage == "lowered" or param.is_array:
                self.arrays[param.name] = param.type
            if self.stage == "lowered" or not (param.is_array or param.texture is not None):
                self.names[param.name] = param.type
        for array in func.arrays:
            if array.name in known or (self.stage != "lowered" and array.type not in DTYPES):
                self.fault(f"the local array '{array.name}' has a name of its own and a type")
            known.add(array.name)
            self.own.add(array.name)
            self.arrays[array.name] = array.type
        groups: dict[str, ScalarType | None] = {}
        for local in func.locals:
            if typed and local.type not in _TYPES:
                self.fault(f"local '{local.name}' has no type")
            if typed and local.group and groups.setdefault(local.group, local.type) is not local.type:
                self.fault(f"the components of '{local.source_name}' have several types")
            self.names[local.name] = local.type
            self.assignable.add(local.name)
        self.known = known
        if not 1 <= len(func.loop.dims) <= 4:
            self.fault("the parallel loop has 1 to 4 dimensions")
        if typed and (func.default_float is None or not func.default_float.is_float):
            self.fault("a typed function has a default float")

    def _dims(self) -> None:
        for position, dim in enumerate(self.func.loop.dims):
            for part in (dim.start, dim.end, dim.step):
                self.sizes = self.stage == "lowered" or (part is dim.end and not position)
                self.expr(part)
                if self.typed and part.type is not i64 and part.type is not u64:
                    self.fault("a bound of the parallel loop is i64 or u64", part)
        self.sizes = self.stage == "lowered"
        for dim in self.func.loop.dims:
            self._open(dim)

    def _open(self, node: IRRange) -> None:
        if node.var in self.known:
            self.fault(f"the loop variable '{node.var}' is not the only thing of that name")
        self.known.add(node.var)
        self.names[node.var] = i64 if self.typed else None
        self.assignable.add(node.var)

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, block: Block) -> None:
        table = self._statements
        for stmt in block:
            table[stmt.__class__](stmt)

    def _assign(self, stmt: IRAssign) -> None:
        self.expr(stmt.value)
        if stmt.name not in self.assignable:
            self.fault(f"an assignment to '{stmt.name}', which is no local or loop variable in scope")
        if self.typed and stmt.value.type is not self.names[stmt.name]:
            self.fault(f"'{stmt.name}' is {self.names[stmt.name]}, its value {stmt.value.type}", stmt.value)

    def _store(self, stmt: IRStore) -> None:
        self.expr(stmt.value)
        if not self.stores:
            self.fault(f"a store to '{stmt.array}' outside the parallel loop")
        self._access(stmt.array, stmt.index, stmt.value)
        if self.typed and stmt.value.type is not self.arrays[stmt.array]:
            self.fault(f"'{stmt.array}' holds {self.arrays[stmt.array]}, not {stmt.value.type}", stmt.value)

    def _atomic(self, stmt: IRAtomic) -> None:
        self._access(stmt.array, stmt.index, stmt.value)
        self.expr(stmt.value)
        if not self.stores or stmt.array in self.own:
            self.fault(f"an atomic on '{stmt.array}', outside the parallel loop or on no parameter")
        if self.typed and stmt.value.type is not self.arrays[stmt.array]:
            self.fault(f"'{stmt.array}' holds {self.arrays[stmt.array]}, not {stmt.value.type}", stmt.value)
        if stmt.result is not None:
            self._result_local(stmt.result, self.arrays[stmt.array])

    def _result_local(self, name: str, t: ScalarType | None) -> None:
        if name not in self.assignable or (self.typed and self.names[name] is not t):
            self.fault(f"'{name}' is no local of type {t}")

    def _declaration(self, stmt: IRDeclare) -> None:
        if stmt.array not in self.own:
            self.fault(f"a declaration of '{stmt.array}', which is no local array")

    def _collective(self, _stmt: Any) -> None:
        if not self.stores:
            self.fault("a collective outside the parallel loop")

    def _block_reduce(self, stmt: IRBlockReduce) -> None:
        self._collective(stmt)
        self.expr(stmt.value)
        self._result_local(stmt.result, stmt.value.type)

    def _print(self, stmt: IRPrint) -> None:
        if not self.stores:
            self.fault("a print outside the parallel loop")
        for part in stmt.parts:
            if not isinstance(part, str):
                self.expr(part)

    def _if(self, stmt: IRIf) -> None:
        self._test(stmt.test)
        self.block(stmt.then)
        self.block(stmt.orelse)

    def _test(self, node: Any) -> None:
        self.expr(node)
        if self.typed and node.type is not BOOL:
            self.fault("a condition is a truth value", node)

    def _for(self, stmt: IRFor) -> None:
        node = stmt.range
        for part in (node.start, node.end, node.step):
            self.expr(part)
            if self.typed and part.type is not i64:
                self.fault("a bound of a loop is i64", part)
        self._open(node)
        self._loop(stmt.body)
        del self.names[node.var]
        self.assignable.discard(node.var)

    def _loop(self, body: Block) -> None:
        self.depth += 1
        self.block(body)
        self.depth -= 1

    def _while(self, stmt: IRWhile) -> None:
        self.block(stmt.pre)
        self._test(stmt.test)
        self._loop(stmt.body)

    def _break(self, stmt: IRBreak) -> None:
        if not self.depth:
            self.fault("a break outside any serial loop")

    def _continue(self, stmt: IRContinue) -> None:
        if not self.depth and not self.stores:
            self.fault("a continue in the prologue")

    def _region(self, stmt: IRRegion) -> None:
        if stmt.label in self.labels:
            self.fault(f"region '{stmt.label}' inside itself")
        self.labels.add(stmt.label)
        depth, self.depth = self.depth, self.depth
        self.block(stmt.body)
        self.depth = depth
        self.labels.discard(stmt.label)

    def _leave(self, stmt: IRLeave) -> None:
        if stmt.label not in self.labels:
            self.fault(f"leave '{stmt.label}' outside that region")

    # -------------------------------------------------------------------------------------------------- expressions

    def expr(self, node: Any) -> None:
        check = self._expressions.get(node.__class__)
        if check is None:
            self.fault(f"a {type(node).__name__} where an expression stands")
        check(node)

    def _const(self, node: IRConst) -> None:
        t, value = node.type, node.value
        if not self.typed:
            return
        if t is None or t not in _TYPES:
            self.fault("a literal has a concrete type", node)
        fits = (value is True or value is False) if t is BOOL else value.__class__ is (float if t.is_float else int)
        if not fits or (t.is_int and not t.min <= value <= t.max):
            self.fault(f"a literal of {t} is a value of that type", node)

    def _name(self, node: IRName) -> None:
        t = self.names.get(node.name, self)
        if t is self:
            self.fault(f"the name '{node.name}' is not in scope")
        if self.typed and node.type is not t:
            self.fault(f"'{node.name}' is {t}, not {node.type}")

    def _dim_size(self, node: IRDimSize) -> None:
        if node.array not in self.arrays:
            self.fault(f"a size of '{node.array}', which is no array")
        if not self.sizes:
            self.fault("an unresolved array size", node)
        if self.typed and node.type is not i64:
            self.fault("a size is i64", node)

    def _load(self, node: IRLoad) -> None:
        self._access(node.array, node.index, node)
        if self.typed and node.type is not self.arrays[node.array]:
            self.fault(f"'{node.array}' holds {self.arrays[node.array]}, not {node.type}", node)

    def _sample(self, node: IRTextureSample) -> None:
        if node.texture not in self.textures:
            self.fault(f"a sample of '{node.texture}', which is no texture")
        for each in node.coords:
            self.expr(each)
            if self.typed and each.type is not f32:
                self.fault("a coordinate is f32", each)
        if self.typed and node.type is not f32:
            self.fault("a sample is f32", node)

    def _access(self, array: str, index: tuple[Any, ...], node: Any) -> None:
        if array not in self.arrays:
            self.fault(f"an access to '{array}', which is no array")
        if not index or (self.stage != "lowered" and len(index) != 1):
            self.fault(f"an access to '{array}' with {len(index)} indices", node)
        for each in index:
            self.expr(each)
            if self.typed and each.type is not i64:
                self.fault("an index is i64", each)

    def _check(self, node: IRCheck) -> None:
        for each in (*node.index, *node.extents):
            self.expr(each)
            if self.typed and each.type is not i64:
                self.fault("an index and an extent are i64", each)
        if len(node.index) != len(node.extents) or (node.array and node.array not in self.arrays):
            self.fault("a check has an extent for each index of an array", node)
        self._notes(node)

    def _component(self, node: IRComponent) -> None:
        if self.stage != "lowered" or len(node.index) != len(node.shape):
            self.fault("the index of a component has become a number, of as many indices as its vector takes", node)
        for each in node.index:
            self.expr(each)

    def _nonzero(self, node: IRNonzero) -> None:
        self.expr(node.value)
        self._notes(node)

    def _notes(self, node: IRCheck | IRNonzero) -> None:
        if not 0 <= node.site < len(self.func.sites) or ERRORS not in self.arrays:
            self.fault("a check has a site and the errors array", node)
        if self.typed and node.type is not i64:
            self.fault("a check is i64", node)

    def _cast(self, node: IRCast) -> None:
        self.expr(node.value)
        if node.type not in _TYPES:
            self.fault("a cast to no concrete type", node)

    def _cond(self, node: IRCond) -> None:
        self._test(node.test)
        self.expr(node.then)
        self.expr(node.orelse)
        if self.typed and not (node.then.type is node.type is node.orelse.type):
            self.fault("both arms have the type of the expression", node)

    def _logic(self, node: IRLogic) -> None:
        self._test(node.left)
        self._test(node.right)
        if self.typed and node.type is not BOOL:
            self.fault("`and` and `or` give a truth value", node)

    def _op(self, node: IROp) -> None:
        row = OPS.get(node.op)
        if row is None:
            self.fault(f"no operation is called '{node.op}'")
        args = node.args
        for arg in args:
            self._expressions[arg.__class__](arg)
        if row.arity != len(args) and not (row.arity == -2 and len(args) >= 2):
            self.fault(f"'{node.op}' with {len(args)} operands", node)
        if self.typed:
            check = _RULES.get(row.rule)
            if check is None or not check(node.type, [arg.type for arg in args]):
                self.fault(f"operand types of '{node.op}' (rule {row.rule})", node)
            if row.rule == "powi" and not (isinstance(args[1], IRConst) and -4 <= args[1].value <= 4):
                self.fault("the power of powi is a literal from -4 to 4", node)
        elif self.stage == "resolved" and row.rule == "powi":
            self.fault("powi exists in typed functions only", node)


# --------------------------------------------------------------------------------- the rules of `ops`: (result, operands)

Types = list[Any]


def _same(t: Any, args: Types) -> bool:
    for arg in args:
        if arg is not t:
            return False
    return t is not BOOL and t is not None


def _same_int(t: Any, args: Types) -> bool:
    return _same(t, args) and t.is_int


def _same_float(t: Any, args: Types) -> bool:
    return _same(t, args) and t.is_float


def _is_int(t: Any) -> bool:
    return t is not None and t.is_int


def _power(t: Any, args: Types) -> bool:
    return args[0] is t and _is_int(args[1]) if _is_int(t) else _same_float(t, args)


def _compare(t: Any, args: Types) -> bool:
    return t is BOOL and args[0] is args[1] and args[0] is not None


_RULES: dict[str, Callable[[Any, Types], bool]] = {
    "arith": _same, "int": _same_int, "div": _same_float, "math": _same_float, "power": _power, "compare": _compare,
    "powi": lambda t, args: args[0] is t and t is not None and t.is_float and args[1] is i32,
    "shift": lambda t, args: args[0] is t and _is_int(t) and _is_int(args[1]),
    "truth": lambda t, args: t is BOOL and args[0] is BOOL,
    "extreme": lambda t, args: len(args) == 2 and _same(t, args),
    "select": lambda t, args: args[0] is BOOL and args[1] is t and args[2] is t and t is not None,
    "test": lambda t, args: t is BOOL and args[0] is not None and args[0].is_float, "bits": _same_int,
    "lane": lambda t, args: t is i64,
    "bitcast": lambda t, args: t in _TYPES and args[0] in _TYPES and t.bits == args[0].bits and t is not args[0],
}  # fmt: skip
