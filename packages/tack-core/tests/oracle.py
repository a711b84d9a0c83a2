"""A second opinion on kernels: their own Python source, run one index after another over scalars that wrap and round.

Shares no code with the compiler. The only liberties taken with the source are rule E5, a product that is an operand of `+`
or `-` is kept apart so that it can take part in an fma, and rule K3, each iteration starts from the prologue's values. A
local has the type of the value it was given last, so programs give every local one type by casts.
"""

from __future__ import annotations

import ast
import copy
import math
import operator
import textwrap
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from oracle_memory import Array, atomic, iterate, local_array
from oracle_scalars import (
    TYPES,
    Num,
    State,
    binary,
    convert,
    elementary,
    float_type,
    fmod,
    is_weak,
    operand_type,
    round_to,
    type_by_value,
    whole,
)
from oracle_vectors import Vec, all_of, any_of, lifted, made, matrix_type, value, vector_product, vector_type

# ------------------------------------------------------------------------------------------ what programs can name


def _range(*args: Any) -> Any:
    values = [a.v if isinstance(a, Num) else a for a in args]
    if len(values) == 3 and values[2] == 0:
        return iter(())
    return (Num("i64", i) for i in range(*values))


def _parallel_range(*args: Any) -> Any:
    if len(args) == 3 and not args[2]:
        raise ValueError("the step of the parallel loop is zero")
    return _range(*args)


def _ndindex(*sizes: Any) -> Any:
    pairs = [s if isinstance(s, tuple) else (0, s) for s in sizes]
    ranges = [range(*(v.v if isinstance(v, Num) else v for v in pair)) for pair in pairs]

    def walk(left: list[range], done: tuple[Num, ...]) -> Any:
        if not left:
            yield done if len(done) > 1 else done[0]
            return
        for i in left[0]:
            yield from walk(left[1:], (*done, Num("i64", i)))

    return walk(ranges, ())


def _extreme(op: str) -> Any:
    def function(first: Any, *rest: Any) -> Any:
        for other in rest:
            first = (min if op == "min" else max)(first, other) if is_weak(first) and is_weak(other) else binary(op, first, other)
        return first

    return function


Vec.min, Vec.max = (lambda v, f=_extreme(op): f(*v.parts) for op in ("min", "max"))


def _select(condition: Any, x: Any, y: Any) -> Any:
    chosen = x if condition else y
    return chosen if is_weak(x) and is_weak(y) else convert(chosen, operand_type(x, y))


def _unary(function: Any) -> Any:
    def call(x: Any) -> Num:
        t = float_type(x)
        return Num(t, function(convert(x, t).v, t))

    return call


def _copysign(x: Any, y: Any) -> Num:
    t = float_type(x, y)
    return Num(t, math.copysign(convert(x, t).v, convert(y, t).v))


def _fmod_call(x: Any, y: Any) -> Num:
    t = float_type(x, y)
    return Num(t, fmod(convert(x, t).v, convert(y, t).v))


def _test(function: Any) -> Any:
    return lambda x: function(convert(x, float_type(x)).v)


def _int(x: Any) -> Num:
    return x if isinstance(x, Num) and x.t == "u64" else convert(x, "i64")


def _float(x: Any) -> Num:
    return x if isinstance(x, Num) and x.t == "f64" else convert(x, State.default_float)


def _abs(x: Any) -> Any:
    return abs(x)


_MATH: dict[str, Any] = {
    "sqrt": _unary(lambda x, t: round_to(math.sqrt(x), t) if x >= 0 or x != x else math.nan),
    "floor": _unary(lambda x, t: whole(math.floor, x)),
    "ceil": _unary(lambda x, t: whole(math.ceil, x)),
    "trunc": _unary(lambda x, t: whole(math.trunc, x)),
    "copysign": _copysign,
    "fmod": _fmod_call,
    "isnan": _test(math.isnan),
    "isinf": _test(math.isinf),
    "isfinite": _test(math.isfinite),
    **{
        name: _unary(lambda x, t, f=getattr(math, name): elementary(f, x, t=t))
        for name in ("exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "erf")
    },
}
_BARE: dict[str, Any] = {
    "range": _range, "min": _extreme("min"), "max": _extreme("max"), "abs": _abs, "int": _int, "float": _float, "bool": bool,
    "round": _unary(lambda x, t: whole(round, x)), "len": lambda a: a.shape[0], **_MATH,
}  # fmt: skip


def _namespace() -> dict[str, Any]:
    def mark(function: Any = None, **_: Any) -> Any:
        return mark if function is None else function

    def constant(value: Any, dtype: Any = None) -> Any:
        return value if dtype is None else dtype(value)

    def cast(t: str) -> Any:
        return lambda x: convert(x, t)

    casts = {t: lifted(cast(t)) for t in TYPES}
    lifted_math = {name: lifted(function) for name, function in _MATH.items()}
    math_names = {**lifted_math, "pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan, "fabs": _abs}
    tack = SimpleNamespace(kernel=mark, func=mark, constant=constant, select=lifted(_select), ndindex=_ndindex, **casts)
    tack.math = SimpleNamespace(**lifted_math)
    tack.vec = lambda n, t: vector_type(n, t)
    tack.mat = lambda rows, cols, t: matrix_type(rows, cols, t)
    for prefix, t in {"": "f32", "d": "f64", "i": "i32", "u": "u32"}.items():
        vars(tack).update({f"{prefix}vec{n}": vector_type(n, casts[t]) for n in (2, 3, 4)})
    tack.local_array, tack.device_class = local_array, mark
    vars(tack).update({f"atomic_{op}": atomic(word) for op, word in {"add": "+", "min": "min", "max": "max"}.items()})
    vars(tack).update({f"mat{n}": matrix_type(n, n, casts["f32"]) for n in (2, 3, 4)})
    bare = {name: function if name in ("range", "len") else lifted(function) for name, function in _BARE.items()}
    hidden = {
        "__product__": vector_product, "__parallel_range__": _parallel_range, "__value__": value, "__list__": made,
        "__not__": lifted(operator.not_), "__iterate__": iterate, "any": any_of, "all": all_of,
    }  # fmt: skip
    return {"tack": tack, "math": SimpleNamespace(**math_names), **bare, **hidden}


# ----------------------------------------------------------------------------------------------------- the rewrite


def _mult(node: ast.expr) -> ast.BinOp | None:
    """The product that `node` is, seen through one unary minus."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return node if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None


class _Rewrite(ast.NodeTransformer):
    """E5, K3 and annotated assignment, on the source's tree."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel

    def _operand(self, node: ast.expr) -> ast.expr:
        found = _mult(node)
        if found is None:
            return self.visit(node)
        call = ast.Call(ast.Name("__product__", ast.Load()), [self.visit(found.left), self.visit(found.right)], [])
        return call if node is found else ast.UnaryOp(ast.USub(), call)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if not isinstance(node.op, ast.Add | ast.Sub):
            return self.generic_visit(node)  # type: ignore[return-value]
        return ast.BinOp(self._operand(node.left), node.op, self._operand(node.right))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self._operand(node.value) if isinstance(node.op, ast.Add | ast.Sub) else self.visit(node.value)
        return ast.AugAssign(self.visit(node.target), node.op, value)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.Assign([self.visit(target) for target in node.targets], _value(self.visit(node.value)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.Call(ast.Name("__not__", ast.Load()), [operand], [])
        return ast.UnaryOp(node.op, operand)

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.Call(ast.Name("__list__", ast.Load()), [ast.List([self.visit(part) for part in node.elts], ast.Load())], [])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        assert node.value is not None
        return ast.Assign([node.target], _value(ast.Call(self.visit(node.annotation), [self.visit(node.value)], [])))

    def visit_For(self, node: ast.For) -> ast.stmt:
        if not isinstance(node.iter, ast.Call):  # an object
            together = ast.Constant(isinstance(node.target, ast.Name))
            node.iter = ast.Call(ast.Name("__iterate__", ast.Load()), [node.iter, together], [])
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.returns = None
        node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) == "staticmethod"]
        for argument in node.args.args:
            argument.annotation = None
        node.body = [self.visit(statement) for statement in node.body]
        if node.name == self.kernel:
            self._own_locals(node)
        else:  # a function's parameters are its own
            node.body[:0] = [_copy(argument.arg, argument.arg) for argument in node.args.args]
        return node

    def _own_locals(self, node: ast.FunctionDef) -> None:
        """K3: every iteration starts from the values that parameters and prologue locals have before the loop."""
        at = next(k for k, statement in enumerate(node.body) if isinstance(statement, ast.For))
        loop: Any = node.body[at]
        if isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "range":
            loop.iter.func.id = "__parallel_range__"
        declares = lambda s: any(isinstance(n, ast.Attribute) and n.attr == "local_array" for n in ast.walk(s))  # noqa: E731
        loop.body[:0] = [copy.deepcopy(s) for s in node.body[:at] if declares(s)]
        before = {a.arg for a in node.args.args} | _assigned(node.body[:at])
        for name in sorted(before & _assigned(loop.body)):
            node.body.insert(at, _copy(f"__first_{name}", name))
            loop.body.insert(0, _copy(name, f"__first_{name}"))


def _assigned(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind, or change a component of."""
    stores = [n for s in body for n in ast.walk(s) if isinstance(getattr(n, "ctx", None), ast.Store)]
    inner = [n.value if isinstance(n, ast.Attribute | ast.Subscript) else n for n in stores]
    return {n.id for n in inner if isinstance(n, ast.Name)}


def _copy(target: str, source: str) -> ast.stmt:
    return ast.Assign([ast.Name(target, ast.Store())], _value(ast.Name(source, ast.Load())))


def _value(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("__value__", ast.Load()), [node], [])


def load(source: str, kernel: str = "kernel") -> Any:
    """The kernel of a module's text, as a Python function of `Array` and `Num`; a function `bind` in it makes the arguments."""
    tree = ast.parse(textwrap.dedent(source))
    tree.body = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
    tree = ast.fix_missing_locations(_Rewrite(kernel).visit(tree))
    namespace = _namespace()
    exec(compile(tree, f"<oracle {kernel}>", "exec"), namespace)
    call, bind = namespace[kernel], namespace.get("bind")
    return call if bind is None else lambda *args: call(*bind(*args))


def run(
    source: str,
    args: list[Any],
    kernel: str = "kernel",
    *,
    fma: bool = True,
    elements: Mapping[int, tuple[int, ...]] | None = None,
) -> None:
    """Run the kernel in `source` on NumPy arrays, in place, and Python numbers (typed by rule T1).

    `elements`: the shape of the components of those arguments, by position, that are arrays of vectors or matrices.
    """
    shapes = elements or {}
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    State.default_float = "f64" if any(a.dtype == np.float64 for a in arrays) else "f32"
    State.fma = fma
    load(source, kernel)(*(_argument(a, shapes.get(k, ())) for k, a in enumerate(args)))


def _argument(value: Any, element: tuple[int, ...]) -> Any:
    if isinstance(value, np.ndarray):
        return Array(value, element)
    if isinstance(value, float | np.floating):
        return convert(float(value), State.default_float)
    return convert(int(value), type_by_value(int(value)))
