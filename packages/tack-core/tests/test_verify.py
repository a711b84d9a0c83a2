"""The verifier: every promise of a stage, broken once."""

from dataclasses import replace

import pytest
from typed_tools import compiled, template

from tack.errors import Source, Span
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
    IRFunc,
    IRIf,
    IRLeave,
    IRLoad,
    IRLocal,
    IRLogic,
    IRName,
    IROp,
    IRParallel,
    IRParam,
    IRRange,
    IRRegion,
    IRStore,
    IRWhile,
)
from tack.ir.printer import print_ir
from tack.ir.types import BOOL, WEAK_INT, f32, f64, i8, i32, i64, u64
from tack.ir.verify import IRError, verify_ir
from tack.ir.walk import children, map_children, map_func, rewrite, walk, walk_func, walk_statements

I, ONE, ZERO = IRName("i", i64), IRConst(1, i64), IRConst(0, i64)
X, T, YES = IRLoad("x", (I,), f32), IRName("t", f32), IRConst(True, BOOL)
F = IRConst(1.5, f32)


def func(*body, prologue=(), dims=None, stage="typed", bound=(), locals=(IRLocal("t", "t", f32), IRLocal("k", "k", i32)), **more):
    params = (IRParam("x", True, f32), IRParam("n", False, i32))
    loop = IRParallel(dims or (IRRange("i", ZERO, IRDimSize("x", 0, i64), ONE),), body)
    return IRFunc("k", params, prologue, loop, locals, bound_prologue=bound, stage=stage, default_float=f32, **more)


def op(name, *args, t=f32):
    return IROp(name, args, t)


def keep(value):
    return IREval(value)


GOOD = [
    IRAssign("t", X),
    IRAssign("i", ONE),
    IRStore("x", (I,), F),
    keep(op("fma", X, X, F)),
    keep(op("powi", X, IRConst(-4, i32))),
    keep(op("shl", IRConst(1, i8), I, t=i8)),
    keep(op("pow", IRConst(1, i8), I, t=i8)),
    keep(op("select", YES, X, X)),
    keep(op("eq", YES, YES, t=BOOL)),
    keep(op("isnan", X, t=BOOL)),
    keep(IRCond(YES, X, F, f32)),
    keep(IRLogic("and", YES, YES, BOOL)),
    IRFor(IRRange("q", ZERO, ONE, ONE), (IRBreak(), IRAssign("q", ONE))),
    IRWhile((IRAssign("t", F),), YES, (IRContinue(),)),
    IRRegion("r", (IRFor(IRRange("q", ZERO, ONE, ONE), (IRLeave("r"),)),)),
    IRContinue(),
    IRIf(YES, (), (IRAssign("t", F),)),
]
BAD = [
    (IRAssign("t", I), "is tack.f32, its value tack.i64"),
    (IRAssign("n", IRConst(1, i32)), "no local or loop variable"),
    (IRAssign("zz", X), "no local or loop variable"),
    (IRStore("x", (I,), ONE), "holds tack.f32, not tack.i64"),
    (IRStore("t", (I,), F), "which is no array"),
    (IRStore("x", (I, I), F), "2 indices"),
    (IRStore("x", (), F), "0 indices"),
    (IRStore("x", (IRConst(1, i32),), F), "index is i64"),
    (keep(IRName("zz", f32)), "'zz' is not in scope"),
    (keep(IRName("x", f32)), "not in scope"),
    (keep(IRName("t", f64)), "'t' is tack.f32, not tack.f64"),
    (keep(IRName("q", i64)), "'q' is not in scope"),
    (keep(IRDimSize("x", 0, i64)), "unresolved array size"),
    (keep(IRConst(1.5, i32)), "literal of tack.i32"),
    (keep(IRConst(1, f32)), "literal of tack.f32"),
    (keep(IRConst(300, i8)), "literal"),
    (keep(IRConst(1, BOOL)), "literal"),
    (keep(IRConst(1, WEAK_INT)), "concrete type"),
    (keep(IRConst(1)), "concrete type"),
    (keep(op("add", X, IRConst(1.0, f64))), "rule arith"),
    (keep(op("add", X, X, t=f64)), "rule arith"),
    (keep(op("add", YES, YES, t=BOOL)), "arith"),
    (keep(op("add", X)), "1 operands"),
    (keep(op("zzz", X)), "no operation"),
    (keep(op("band", X, X)), "rule int"),
    (keep(op("div", I, I, t=i64)), "rule div"),
    (keep(op("shl", X, I)), "shift"),
    (keep(op("lt", X, I, t=BOOL)), "compare"),
    (keep(op("lt", X, X)), "compare"),
    (keep(op("not", X, t=BOOL)), "truth"),
    (keep(op("min", X, X, X)), "extreme"),
    (keep(op("select", X, X, X)), "select"),
    (keep(op("sin", I, t=i64)), "math"),
    (keep(op("isnan", I, t=BOOL)), "test"),
    (keep(op("powi", X, IRConst(5, i32))), "from -4 to 4"),
    (keep(op("powi", X, IRName("k", i32))), "from -4 to 4"),
    (keep(op("index", I, t=i64)), "rule index"),
    (keep(op("to_int", X, t=i64)), "rule to_int"),
    (keep(IRCast(X, WEAK_INT)), "cast"),
    (keep(IRCond(X, X, X, f32)), "condition is a truth value"),
    (keep(IRCond(YES, X, I, f32)), "both arms"),
    (keep(IRLogic("or", YES, X, BOOL)), "condition is a truth value"),
    (keep(IRLogic("or", YES, YES, i32)), "give a truth value"),
    (IRIf(X, (), ()), "condition is a truth value"),
    (IRWhile((), X, ()), "condition is a truth value"),
    (IRBreak(), "outside any serial loop"),
    (IRFor(IRRange("q", IRConst(0, i32), ONE, ONE), ()), "bound of a loop"),
    (IRFor(IRRange("t", ZERO, ONE, ONE), ()), "only thing of that name"),
    (IRLeave("r"), "outside that region"),
    (IRRegion("r", (IRRegion("r", ()),)), "inside itself"),
    (keep(IRAssign("t", F)), "IRAssign where an expression"),
]


@pytest.mark.parametrize("statement", GOOD, ids=repr)
def test_what_keeps_the_promises(statement):
    verify_ir(func(statement), "typed")


@pytest.mark.parametrize(("statement", "words"), BAD, ids=[repr(b[0]) for b in BAD])
def test_every_broken_promise_is_found(statement, words):
    with pytest.raises(IRError, match="Kernel 'k', stage typed") as caught:
        verify_ir(func(statement), "typed")
    assert words in str(caught.value)


def test_promises_of_the_whole_function():
    one = (IRRange("i", ZERO, ONE, ONE),)
    cases = [
        (func(stage="resolved"), "says it is resolved"),
        (func(locals=(IRLocal("x", "x", f32),)), "declared twice"),
        (func(locals=(IRLocal("t", "t"),)), "local 't' has no type"),
        (replace(func(), default_float=None), "default float"),
        (func(prologue=(IRStore("x", (ZERO,), F),)), "outside the parallel loop"),
        (func(prologue=(IRContinue(),)), "continue in the prologue"),
        (func(prologue=(IRAssign("t", IRLoad("x", (IRDimSize("x", 0, i64),), f32)),)), "unresolved"),
        (func(dims=one * 5), "1 to 4"),
        (func(dims=(IRRange("i", IRDimSize("x", 0, i64), ONE, ONE),)), "unresolved"),
        (func(dims=one + one), "only thing of that name"),
        (func(dims=(IRRange("i", ZERO, IRConst(1, i32), ONE),)), "i64 or u64"),
        (func(prologue=(keep(I),)), "not in scope"),
        (replace(func(), params=(IRParam("x", True), IRParam("n", False, i32))), "parameter 'x' has no type"),
    ]
    for broken, words in cases:
        with pytest.raises(IRError) as caught:
            verify_ir(broken, broken.stage if "says" not in words else "typed")
        assert words in str(caught.value)
    verify_ir(func(bound=(keep(IRDimSize("x", 0, i64)),), dims=(IRRange("i", ZERO, IRConst(1, u64), ONE),)), "typed")


def test_a_fault_says_where():
    span = Span(Source("f.py", 3, ("a\n", "b\n"), "k"), 1, 0, 1, 1)
    with pytest.raises(IRError, match='File "f.py", line 4'):
        verify_ir(func(keep(IRConst(1, None, span))), "typed")


def test_templates_are_checked_without_types():
    lowered = template("x[i, 2] = y[i] + 1", ["x", "y", "n"])
    verify_ir(lowered, "lowered")
    with pytest.raises(IRError, match="says it is lowered"):
        verify_ir(lowered, "resolved")
    with pytest.raises(IRError, match="with 2 indices"):
        verify_ir(
            replace(lowered, stage="resolved", params=tuple(IRParam(p.name, p.name != "n", f32) for p in lowered.params)),
            "resolved",
        )
    with pytest.raises(IRError, match="powi exists"):
        verify_ir(replace(func(keep(op("powi", X, ONE))), stage="resolved"), "resolved")


# ------------------------------------------------------------------------------------------------------ walk and print

BODY = """
    t = x[i] if n > 3 and i else 2
    for q in range(n):
        while t < q:
            t += 1
            if t == 5:
                break
        x[q] = t
    float(x[i])
"""


def test_walking_and_rebuilding():
    lowered = template(BODY, ["x", "n"])
    every = list(walk_func(lowered))
    assert len(every) == len(set(map(id, every))) > 30
    for node in every:
        assert map_children(node, lambda child: child) is node
        assert tuple(walk(node))[0] is node and set(map(id, children(node))) <= set(map(id, walk(node)))
    assert map_func(lowered, lambda node: rewrite(node, lambda each: each)) is lowered
    changed = map_func(lowered, lambda node: rewrite(node, lambda n: IRConst(9) if n == IRConst(5) else n))
    assert changed != lowered and sum(n == IRConst(9) for n in walk_func(changed)) == 1
    assert len(list(walk_statements(lowered.loop.body))) == 9 - 1


def test_equal_functions_print_alike_and_types_show():
    a, b = template(BODY, ["x", "n"]), template(BODY, ["x", "n"])
    assert a == b and print_ir(a) == print_ir(b)
    text = print_ir(compiled(BODY, {"x": "f32[]"}, loop="range(x.shape[0])"))
    for words in ("kernel k(x: f32[], n: i32)  # typed, tack.f32", "local t: f32", "x.shape[0]", "while (", "break", "if "):
        assert words in text, text
