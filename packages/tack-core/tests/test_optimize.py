"""The safe passes: what they remove, what they must keep, and that the meaning stays (the interpreter before and after)."""

import math
import random

import numpy as np
import pytest
from typed_tools import annotated, compiled, nodes

import tack
from tack.ir.interpret import interpret
from tack.ir.nodes import IRAssign, IRCast, IRConst, IRFor, IRIf, IRLoad, IRName, IROp, IRRegion, IRStore, IRWhile
from tack.ir.optimize import optimize
from tack.ir.printer import print_ir
from tack.ir.types import i64
from tack.ir.verify import verify_ir
from tack.testing import define

TYPES = {"a": "f32[]", "m": "i32[]", "out": "f32[]"}


def statements(body, types=None, **more):
    func = compiled(body, types or TYPES, **more)
    return func.loop.body


def value(text, types=None, **more):
    (store,) = nodes(compiled(f"out[i] = {text}", types or TYPES, **more), IRStore)
    return store.value


# ------------------------------------------------------------------------------------------------------------- folding


@pytest.mark.rule("E5")
def test_typed_literals_fold_by_the_reference_functions():
    for text, want in {
        "tack.i8(100) + tack.i8(100)": -56,
        "tack.u8(3) - tack.u8(5)": 254,
        "tack.i32(-7) // tack.i32(2)": -4,
        "tack.i32(7) // tack.i32(0)": 0,
        "tack.i32(5) << tack.i32(33)": 10,
        "tack.u32(2) ** tack.i8(-1)": 0,
        "tack.f32(0.1) + tack.f32(0.2)": float(np.float32(0.1) + np.float32(0.2)),
        "tack.f32(1) / tack.f32(3)": float(np.float32(1) / 3),
        "sqrt(tack.f32(2))": float(np.sqrt(np.float32(2))),
        "tack.f32(1) / tack.f32(0)": math.inf,
        "round(2.5)": 2.0,
        "tack.f32(3) ** 2": 9.0,
        "min(tack.f32(0.0), tack.f32(-0.0))": -0.0,
        "tack.f32(-0.0) + tack.f32(-0.0)": -0.0,
        "tack.f32(5) if tack.i32(0) else tack.f32(6)": 6.0,
        "select(tack.i32(1), tack.f32(5), tack.f32(6))": 5.0,
        "a.shape[0] * 2 + 1": 17,
    }.items():
        found = value(text)
        assert isinstance(found, IRConst) and found.value == want, (text, found)
        assert math.copysign(1, found.value) == math.copysign(1, want)


@pytest.mark.rule("E5", "T11")
def test_what_must_not_fold():
    for text in ("tack.f32(0) / tack.f32(0)", "sin(tack.f32(1))", "tack.f32(2) ** tack.f32(0.5)"):
        assert not isinstance(value(text), IRConst)  # a NaN's bits; what mathlib defines
    for text in ("a[i] * 0.0", "a[i] + 0.0", "a[i] - a[i]", "0.0 * a[i]", "a[i] / a[i]", "a[i] * 1.0", "-(-a[i])", "a[i] + -0.0"):
        assert isinstance(value(text), IROp), text
    assert isinstance(value("a[i] == a[i]"), IRCast)


@pytest.mark.rule("T6")
def test_powers_zero_and_one():
    assert value("a[i] ** 0") == IRConst(1.0, value("a[i]").type)
    assert isinstance(value("a[i] ** 1"), IRLoad)


# ------------------------------------------------------------------------------------------------- branches and locals


@pytest.mark.rule("K7", "E5")
def test_branches_on_literals_go_after_they_were_checked():
    body = (
        "if DEBUG:\n    out[i] = 1\nelse:\n    out[i] = a[i]\nwhile DEBUG:\n    out[i] = 3\nout[i] = a[i] if 1 < 2 else m[i] % 3"
    )
    found = statements(body, DEBUG=tack.constant(False))
    assert [type(s) for s in found] == [IRStore, IRStore] and all(isinstance(s.value, IRLoad) for s in found)
    with pytest.raises(TypeError):
        statements("if False:\n    out[i] = a[i] << 1")
    assert statements("for q in range(5, 3):\n    out[i] = 1\nif a[i] > 0:\n    pass") == ()


def test_what_cannot_be_reached_goes():
    (loop,) = statements("for q in range(3):\n    out[i] = 1\n    break\n    out[i] = 2")
    assert isinstance(loop, IRFor) and len(loop.body) == 2


def test_unread_locals_and_loads_go():
    func = compiled(
        "t = a[i]\nu = t + m[i]\nv = u\nif a[i] > 2:\n    v = u * 2\nfor q in range(3):\n    v = 1.5\nout[i] = 1", TYPES
    )
    assert [type(s) for s in func.loop.body] == [IRStore] and func.locals == ()
    (kept,) = [s for s in statements("while a[i] > 3:\n    t = 1\nout[i] = 1") if isinstance(s, IRWhile)]
    assert kept.body == ()


def test_compiler_made_locals_vanish():
    names = define("""
        @tack.func
        def clamp(v, lo, hi):
            return min(max(v, lo), hi)

        @tack.func
        def scaled(v, k):
            return clamp(v, 0, k) * k
    """)
    names = {k: names[k] for k in ("clamp", "scaled")}
    func = compiled("k = 3\nx = m[i]\nout[i] = scaled(x, k) + scaled(i, 2) + clamp(a[i], 0.5, n)", TYPES, **names)
    copies = [s for s in nodes(func, IRAssign) if isinstance(s.value, IRConst | IRName)]
    assert copies == [], print_ir(func)
    assert not nodes(func, IRRegion)


@pytest.mark.rule("E4", "E5")
def test_copies_are_read_through_only_where_the_value_is_the_same():
    func = compiled("t = m[0]\nu = t\nt = 5\nout[i] = u", TYPES)
    assert len(nodes(func, IRLoad)) == 1 and isinstance(nodes(func, IRStore)[0].value, IRCast)
    func = compiled("t = out[i]\nout[i] = 5\nout[0] = t", TYPES)
    assert isinstance(nodes(func, IRAssign)[0].value, IRLoad)  # a load does not move past a store
    func = compiled("k = n\nfor q in range(3):\n    u = k\n    k = k + q\n    out[i] = u", TYPES)
    (assign,) = [s for s in nodes(func, IRAssign) if s.name.startswith("u")]
    assert isinstance(assign.value, IRName)


@pytest.mark.rule("F1")
def test_early_returns_become_branches():
    names = define("""
        @tack.func
        def pick(v):
            if v < 0:
                return 1.5
            if v < 1:
                return v * 2
            return v
    """)
    func = compiled("out[i] = pick(a[i])", TYPES, pick=names["pick"])
    assert not nodes(func, IRRegion) and len(nodes(func, IRIf)) == 2


def test_regions_left_from_loops_stay():
    names = define("""
        @tack.func
        def find(v, n):
            for q in range(n):
                if v[q] > 0:
                    return q
            return -1
    """)
    func = compiled("out[i] = find(a, n)", TYPES, find=names["find"])
    assert len(nodes(func, IRRegion)) == 1


def test_prologue_and_bounds():
    before = "p = n * 2\nq = p\ndead = a[0]\nend = 4\n"
    func = compiled("out[i] = q", TYPES, loop="range(0, end)", before=before)
    assert func.loop.dims[0].end == IRConst(4, i64) and func.bound_prologue == ()
    assert len(func.prologue) == 1 and len(func.locals) == 1


def test_nothing_to_do_is_the_same_object():
    func = compiled("t = a[i] * 2\nif t > 1:\n    out[i] = t\nfor q in range(n):\n    out[q] = t", TYPES)
    assert optimize(func) is func


# ------------------------------------------------------------------------------------------------ the meaning is kept


def program(rng):
    """A random body over locals, arrays and control flow."""
    names = ["t", "u", "v"]
    lines = ["t = a[i]", "u = m[i]", "v = 2"]

    def expr(depth=2):
        leaf = rng.choice([*names, "a[i]", "m[i]", "i", "3", "0.5", "0", "n", "(u > 1)"])
        if depth == 0 or rng.random() < 0.25:
            return leaf
        x, y = expr(depth - 1), expr(depth - 1)
        return rng.choice(
            [f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} if {y} else {x})", f"min({x}, {y})", f"abs({x})"]
        )

    def block(indent, depth):
        for _ in range(rng.randrange(1, 4)):
            kind = rng.random()
            pad = "    " * indent
            if kind < 0.5 or depth == 0:
                lines.append(f"{pad}{rng.choice(names)} = {expr()}")
            elif kind < 0.65:
                lines.append(f"{pad}out[i] = {expr()}")
            elif kind < 0.85:
                lines.append(f"{pad}if {rng.choice([expr(1) + ' > 1', 'True', 'False', expr(0)])}:")
                block(indent + 1, depth - 1)
                if rng.random() < 0.5:
                    lines.append(f"{pad}else:")
                    block(indent + 1, depth - 1)
            else:
                lines.append(f"{pad}for q{indent} in range({rng.choice(['3', '0', 'n', '2'])}):")
                block(indent + 1, depth - 1)
                if rng.random() < 0.3:
                    lines.append(f"{pad}    {rng.choice(['break', 'continue'])}")

    block(0, 2)
    lines.append("out[i] = out[i] + t + u + v")
    return "\n".join(lines)


@pytest.mark.rule("E5")
def test_random_programs_mean_the_same():
    rng = random.Random(11)
    a = np.array([0.5, -1.0, 3.25, -0.0], np.float32)
    m = np.array([3, -2, 0, 7], np.int32)
    for _ in range(60):
        body = program(rng)
        typed = annotated(body, TYPES)
        smaller = optimize(typed)
        verify_ir(smaller, "typed")
        results = []
        for func in (typed, smaller):
            out = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
            interpret(func, [a, m, out, 4])
            results.append(out)
        np.testing.assert_array_equal(results[0].view(np.uint32), results[1].view(np.uint32), err_msg=body)
