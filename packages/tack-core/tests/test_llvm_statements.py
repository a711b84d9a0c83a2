"""The LLVM emitter's loops, names and control flow, on typed IR built by hand and called through the pack."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import replace

import numpy as np
import pytest
from llvm_unit import RUN, Unit

from tack.codegen.layout import body_names, pack_layout
from tack.codegen.llvm_gen import emit_module
from tack.ir.interpret import interpret
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
)  # fmt: skip
from tack.ir.types import BOOL, f32, f64, i32, i64, u8, u64
from tack.runtime.cpu_jit import optimized

LEAST, MOST = -(2**63), 2**63 - 1


def c(value, t=i64):
    return IRConst(value, t)


def name(text, t=i64):
    return IRName(text, t)


def op(row, *args):
    t = BOOL if row in ("eq", "ne", "lt", "le", "gt", "ge", "not") else args[0].type
    return IROp(row, args, t)


def load(array, index, t=i64):
    return IRLoad(array, (index,), t)


def store(array, index, value):
    return IRStore(array, (index,), value)


def bump(index=name("i"), by=1):
    return store("out", index, op("add", load("out", index), c(by)))


def count(var, end, start=0, step=1, t=i64):
    return IRRange(var, *(c(v) if isinstance(v, int) else v for v in (start, end, step)))


def visit(local, value):
    """`local = local * 31 + value`: shows the order and number of visits."""
    return IRAssign(local, op("add", op("mul", name(local), c(31)), value))


def kernel(body, dims=(count("i", 8),), params=(), locals=(), **more):
    """A kernel over `out` (i64) and further parameters; `locals` are i64 by name, or given."""
    found = tuple(IRLocal(n, n, i64) if isinstance(n, str) else n for n in locals)
    loop = IRParallel(tuple(dims), tuple(body))
    return IRFunc(
        "k", (IRParam("out", True, i64), *params), more.pop("prologue", ()), loop, found, stage="typed", default_float=f32, **more
    )


def ints(*names):
    return tuple(IRParam(n, False, i64) for n in names)


def agree(func, *args, chunk=3):
    """Compiled, compiled in pieces, and interpreted on copies: returns the arrays after agreeing."""
    unit = Unit([("k", func)])
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(3)]
    unit("k", *copies[0])
    unit("k", *copies[1], chunk=chunk)
    interpret(func, copies[2])
    for a, b, d in zip(*copies, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, d)
    return [a for a in copies[0] if isinstance(a, np.ndarray)]


X = np.array([LEAST, -3, -1, 0, 1, 2, 5, MOST], np.int64)
X_PARAM = IRParam("x", True, i64)
OUT = np.zeros(8, np.int64)

# ---------------------------------------------------------------------------------------------------- launch ranges


STEPS = (1, -1, 2, -2, 3, -7, 2**62, LEAST)


@pytest.fixture(scope="module")
def ranges():
    body = (store("out", name("i"), op("add", name("i"), c(100))),)
    run_time = kernel(body, (count("i", name("b"), name("a"), name("s")),), ints("a", "b", "s"))
    literal = [
        (f"step{k}", kernel(body, (count("i", name("b"), name("a"), s),), ints("a", "b", "s"))) for k, s in enumerate(STEPS)
    ]
    return Unit([("run_time", run_time), *literal])


@pytest.mark.rule("K1", "K4", "K5")
def test_a_range_runs_exactly_its_points(ranges):
    for a, b, (k, s) in itertools.product((0, 1, 3, 7, 8), (-3, -1, 0, 1, 2, 7, 8), enumerate(STEPS)):
        points = list(range(a, b, s))
        if min(points, default=0) < 0:
            continue  # these would store outside the array
        expected = np.zeros(9, np.int64)
        expected[points] = np.array(points, np.int64) + 100
        for which, chunk in itertools.product(("run_time", f"step{k}"), (0, 1, 3)):
            out = np.zeros(9, np.int64)
            assert ranges(which, out, a, b, s, chunk=chunk) == len(points)
            assert out.tolist() == expected.tolist()


@pytest.mark.rule("K5")
def test_the_number_of_points_of_long_ranges_is_exact_or_refused(ranges):
    out = np.zeros(1, np.int64)
    limits = (LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST)
    for a, b, (k, s) in itertools.product(limits, limits, enumerate(STEPS)):
        points = max(0, -((a - b) // s))
        expected = points if points <= MOST else -2
        for which in ("run_time", f"step{k}"):
            assert ranges.enter(which, ranges.pack(which, out, a, b, s)) == expected, (a, b, s)


@pytest.mark.rule("K5")
def test_indices_at_the_limits_of_i64_are_exact():
    """Each iteration's index, for ranges whose next value would overflow."""
    slot = op("band", name("i"), c(63))
    func = kernel((store("out", slot, name("i")),), (count("i", name("b"), name("a"), name("s")),), ints("a", "b", "s"))
    unit = Unit([("k", func)])
    for a, b, s in [
        (MOST - 5, MOST, 1),
        (LEAST + 5, LEAST, -1),
        (LEAST, MOST, 2**62 + 1),
        (MOST, LEAST, LEAST + 1),
        (MOST - 9, MOST, 4),
    ]:
        for chunk in (0, 1):
            out = np.zeros(64, np.int64)
            unit("k", out, a, b, s, chunk=chunk)
            expected = np.zeros(64, np.int64)
            for i in range(a, b, s):
                expected[i & 63] = i
            assert out.tolist() == expected.tolist()


@pytest.mark.rule("K1", "K5")
def test_zero_steps_and_bounds_beyond_i64_are_told_apart():
    """Every mixture of i64 and u64 bounds and steps: empty intervals run nothing, points that no i64 can be are refused."""
    mixtures = list(itertools.product((i64, u64), repeat=3))
    kernels = []
    for k, types in enumerate(mixtures):
        params = tuple(IRParam(n, False, t) for n, t in zip("abs", types, strict=True))
        dim = count("i", *(name(n, t) for n, t in zip("bas", (types[1], types[0], types[2]), strict=True)))
        kernels.append((f"mix{k}", kernel((bump(),), (dim,), params)))
    unit = Unit([("zero", kernel((bump(),), (count("i", 8, 0, 0),))), *kernels], opt=1)
    out = np.zeros(9, np.int64)
    assert unit.enter("zero", unit.pack("zero", out)) == -1
    limits = {i64: (LEAST, -3, 0, 5, MOST), u64: (0, 5, MOST, 2**63, 2**63 + 7, 2**64 - 1)}
    for k, (ta, tb, ts) in enumerate(mixtures):
        for a, b, s in itertools.product(limits[ta], limits[tb], (0, 1, 7, *limits[ts])):
            if s < ts.min:
                continue
            points = 0 if s == 0 else max(0, -((a - b) // s))
            refused = points > MOST or (points and max(a, b) > MOST)
            expected = -1 if s == 0 else -2 if refused else points
            assert unit.enter(f"mix{k}", unit.pack(f"mix{k}", out, a, b, s)) == expected, (k, a, b, s)


@pytest.mark.rule("K1", "K5")
def test_a_step_beyond_i64_runs_its_one_or_two_points():
    dim = count("i", name("b"), name("a"), name("s", u64))
    func = kernel((store("out", op("band", name("i"), c(7)), name("i")),), (dim,), (*ints("a", "b"), IRParam("s", False, u64)))
    unit = Unit([("k", func)])
    for a, b, s, points in [(0, 5, 2**63 + 3, [0]), (LEAST, MOST, 2**63 + 1, [LEAST, 1]), (2, 7, 3, [2, 5]), (7, 2, 3, [])]:
        for chunk in (0, 1):
            out = np.zeros(8, np.int64)
            assert unit("k", out, a, b, s, chunk=chunk) == len(points)
            assert [out[p & 7] for p in points] == points


@pytest.mark.rule("K2", "K5")
def test_enter_writes_the_loop_and_run_leaves_long_launches_to_the_caller():
    func = kernel((bump(),), (count("i", name("n"), 2, 3),), ints("n"))
    unit = Unit([("k", func)])
    layout = unit.layouts["k"]
    out = np.zeros(16, np.int64)
    pack = unit.pack("k", out, 12)
    assert unit.enter("k", pack) == 4
    assert list(pack[layout.loop_slot : layout.loop_slot + 3]) == [2, 4, 3]
    run = RUN(unit.code.address("k.run"))
    assert run(ctypes.addressof(pack), 3) == 4
    assert not out.any()
    assert run(ctypes.addressof(pack), 4) == 0
    assert np.nonzero(out)[0].tolist() == [2, 5, 8, 11]


SIZES = (3, 5, 2, 7)


def grid_kernel(rank, literal, start=0):
    names = ["p", "q", "r", "s"][:rank]
    dims = [count(n, c(SIZES[k] + start) if literal else name(f"n{k}"), start) for k, n in enumerate(names)]
    index, value = name(names[0]), c(0)
    for k, n in enumerate(names[1:], 1):
        index = op("add", op("mul", index, c(SIZES[k])), name(n))
    for n in names:
        value = op("add", op("mul", value, c(100)), name(n))
    body = (store("out", index, op("add", load("out", index), op("add", value, c(1)))),)
    return kernel(body, dims, ints(*(f"n{k}" for k in range(rank))))


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize("literal", [True, False], ids=["literal", "run-time"])
def test_ndindex_runs_each_point_once_however_it_is_cut(literal):
    unit = Unit([(f"rank{rank}", grid_kernel(rank, literal)) for rank in (1, 2, 3, 4)])
    for rank in (1, 2, 3, 4):
        sizes = SIZES[:rank]
        total = int(np.prod(sizes))
        expected = np.array([sum(x * 100 ** (rank - 1 - k) for k, x in enumerate(p)) + 1 for p in np.ndindex(*sizes)])
        for chunk in {0, 1, 2, 3, 4, 5, 7, 11, 13, total - 1, total, total + 1}:
            out = np.zeros(total, np.int64)
            assert unit(f"rank{rank}", out, *sizes, chunk=chunk) == total
            assert out.tolist() == expected.tolist(), chunk


@pytest.mark.rule("K5")
def test_ndindex_of_long_rows_vectorizes_and_stays_exact():
    func = kernel((store("out", op("add", op("mul", name("p"), name("m")), name("q")), op("sub", name("q"), name("p"))),),
                  (count("p", name("n")), count("q", name("m"))), ints("n", "m"))  # fmt: skip
    unit = Unit([("k", func)])
    expected = np.arange(103)[None, :] - np.arange(9)[:, None]
    for chunk in (0, 1, 17, 64, 103, 104, 500):
        out = np.zeros((9, 103), np.int64)
        assert unit("k", out, 9, 103, chunk=chunk) == 927
        assert (out == expected).all()


@pytest.mark.rule("K5")
def test_empty_negative_and_huge_grids():
    unit = Unit([("k", grid_kernel(3, False))])
    out = np.zeros(1, np.int64)
    big = 2**40
    empty = [(0, 4, 4), (4, -1, 4), (4, 4, LEAST), (-1, -1, 4), (big, big, 0), (0, big, big), (big, big, -3)]
    refused = [(big, big, 1), (2**31, 2**31, 2), (MOST, 2, 1), (2**32, 2**32, 1)]
    for sizes, expected in [
        *((sizes, 0) for sizes in empty),
        *((sizes, -2) for sizes in refused),
        ((2**31, 2**31, 1), 2**62),
        ((MOST, 1, 1), MOST),
    ]:
        assert unit.enter("k", unit.pack("k", out, *sizes)) == expected


@pytest.mark.rule("K3")
def test_parts_without_iterations_run_nothing():
    unit = Unit([("one", kernel((bump(),))), ("two", grid_kernel(2, True))])
    for which, args in (("one", ()), ("two", (3, 5))):
        out = np.zeros(15, np.int64)
        pack = unit.pack(which, out, *args)
        unit.enter(which, pack)
        for lo, hi in [(0, 0), (3, 3), (5, 2)]:
            unit.body(which, lo, hi, pack)
        assert not out.any()


# ---------------------------------------------------------------------------------------------- prologue and names


@pytest.mark.rule("K2", "K3", "N5")
def test_the_prologue_runs_once_and_each_iteration_starts_from_its_values():
    """Locals of all kinds; `s` and `flag` are changed by the body."""
    locals = [
        IRLocal("s", "s", i64),
        IRLocal("flag", "flag", BOOL),
        IRLocal("f", "f", f32),
        IRLocal("d", "d", f64),
        IRLocal("b", "b", u8),
    ]
    prologue = (
        IRAssign("s", load("x", c(6))),
        IRAssign("flag", op("gt", name("s"), c(4))),
        IRAssign("f", c(0.1, f32)),
        IRAssign("d", c(0.1, f64)),
        IRAssign("b", c(200, u8)),
    )
    total = op("add", name("s"), op("add", IRCast(name("flag", BOOL), i64), IRCast(name("b", u8), i64)))
    floats = op("eq", IRCast(name("f", f32), f64), name("d", f64))
    body = (
        IRAssign("s", op("add", name("s"), name("i"))),
        IRIf(op("gt", name("i"), c(3)), (IRAssign("flag", c(False, BOOL)),)),
        store("out", name("i"), op("add", total, IRCast(floats, i64))),
    )
    func = kernel(body, (count("i", name("n")),), (X_PARAM, *ints("n")), locals, prologue=prologue)
    assert {n for n, _ in pack_layout(func).carried} == {"s", "flag", "f", "d", "b"}
    (out, _) = agree(func, OUT, X, 8)
    assert out.tolist() == [5 + i + (i <= 3) + 200 for i in range(8)]


@pytest.mark.rule("K2")
def test_the_prologue_does_not_run_without_iterations():
    func = kernel(
        (store("out", name("i"), name("s")),),
        (count("i", name("n")),),
        (X_PARAM, *ints("n")),
        ["s"],
        prologue=(IRAssign("s", load("x", c(0))),),
    )
    unit = Unit([("k", func)])
    pack = unit.pack("k", OUT.copy(), X, 0)
    pack[1] = 0  # a load would fault
    assert unit.enter("k", pack) == 0


@pytest.mark.rule("K1", "K2")
def test_bounds_see_sizes_and_the_prologue_s_locals():
    half = IRAssign("m", op("floordiv", IRDimSize("x", 0, i64), c(2)))
    func = kernel(
        (bump(),),
        (count("i", op("add", name("m"), IRDimSize("x", -1, i64))),),
        (X_PARAM,),
        ["m"],
        prologue=(half,),
        bound_prologue=(half,),
    )
    layout = pack_layout(func)
    assert set(layout.dims) == {("x", 0), ("x", -1)}
    assert layout.carried == ()
    assert layout.size == 2 + 2 + 3
    assert layout.format == "=QQqq"
    unit = Unit([("k", func)])
    out = np.zeros(12, np.int64)
    assert unit("k", out, X) == 12
    assert out.tolist() == [1] * 12


@pytest.mark.rule("T1")
def test_scalars_of_every_kind_are_passed():
    params = tuple(IRParam(n, False, t) for n, t in (("a", i32), ("b", u64), ("f", f32), ("d", f64)))
    body = (
        store("out", c(0), IRCast(name("a", i32), i64)),
        store("out", c(1), IRCast(name("b", u64), i64)),
        store("out", c(2), IRCast(op("mul", name("f", f32), c(2.0**30, f32)), i64)),
        store("out", c(3), IRCast(op("mul", name("d", f64), c(2.0**30, f64)), i64)),
    )
    (out,) = agree(kernel(body, (count("i", 1),), params), OUT, -7, 2**64 - 1, 0.1, 0.1)
    assert out[:4].tolist() == [-7, -1, int(np.float32(0.1) * np.float32(2**30)), int(0.1 * 2**30)]


@pytest.mark.rule("N4")
def test_any_identifier_is_a_name():
    names = [
        "entry",
        "lo",
        "hi",
        "n",
        "i",
        "pack",
        "done",
        "next",
        "row",
        "define",
        "é",
        "_e9_",
        "变量",
        "x_",
        "a_1",
        "t_size1",
        "iteration",
        "first",
    ]
    body = [IRAssign("s", c(1)), *(IRAssign(n, op("add", name("s"), c(k))) for k, n in enumerate(names))]
    body += [
        *(visit("s", name(n)) for n in names),
        *(IRAssign(n, name("s")) for n in names),
        store("out", name("return"), name("s")),
    ]
    func = kernel(body, (count("return", 4), ), (X_PARAM,), ["s", *names])  # fmt: skip
    agree(func, OUT, X)


def test_what_a_body_does_with_names_is_judged_by_blocks():
    inner = (
        IRAssign("a", c(1)),
        IRIf(op("gt", name("a"), c(0)), (IRAssign("b", name("a")),)),
        store("out", name("i"), name("c")),
    )
    names = body_names((*inner, IRAssign("c", c(2)), IRAssign("d", c(1)), IRAssign("d", c(2)), IREval(name("b"))))
    assert names.single == {"a"}
    assert names.shared == {"b", "c", "d"}  # read outside its block, read before, assigned twice
    assert names.reads == {"a", "b", "c", "i"}
    assert names.stored == {"out"}


# ---------------------------------------------------------------------------------------------------- control flow


@pytest.mark.rule("K4", "E3")
def test_nested_ranges_of_every_step_and_bound():
    triples = np.array(list(itertools.product(range(-3, 4), repeat=3)), np.int64)
    at = [load("x", op("add", op("mul", name("i"), c(3)), c(k))) for k in range(3)]
    body = (
        *(IRAssign(n, v) for n, v in zip("abd", at, strict=True)),
        IRAssign("s", c(1)),
        IRFor(count("j", name("b"), name("a"), name("d")), (visit("s", name("j")), IRAssign("b", c(9)), IRAssign("d", c(0)))),
        *(IRFor(count(f"k{step}", at[1], at[0], step), (visit("s", name(f"k{step}")),)) for step in (1, -1, 2, -2, 0)),
        IRFor(count("m", 2, at[0], 2), (visit("s", name("m")), IRAssign("m", c(7)), visit("s", name("m")))),
        store("out", name("i"), name("s")),
    )
    func = kernel(body, (count("i", len(triples)),), (X_PARAM,), ["s", "a", "b", "d"])
    agree(func, np.zeros(len(triples), np.int64), triples.ravel(), chunk=100)


@pytest.mark.rule("K4")
def test_inner_loops_at_the_limits_of_i64_do_not_overflow():
    runs = [
        (MOST - 3, MOST, 1),
        (LEAST + 3, LEAST, -1),
        (LEAST, MOST, MOST),
        (MOST, LEAST, LEAST),
        (LEAST, MOST, 2**62),
        (MOST - 5, MOST, 4),
    ]
    body = [IRAssign("s", c(1))]
    for k, (a, b, step) in enumerate(runs):
        moved = [op("add", load("x", c(3)), c(v)) for v in (a, b, step)]
        body.append(IRFor(count(f"j{k}", b, a, step), (visit("s", name(f"j{k}")),)))
        body.append(IRFor(count(f"l{k}", moved[1], moved[0], step), (visit("s", name(f"l{k}")),)))
        body.append(IRFor(count(f"m{k}", moved[1], moved[0], moved[2]), (visit("s", name(f"m{k}")),)))
    agree(kernel([*body, store("out", name("i"), name("s"))], (count("i", 2),), (X_PARAM,), ["s"]), OUT, X)


@pytest.mark.rule("K3", "K4", "F1")
def test_break_continue_while_and_leaving_regions():
    cmp_x = load("x", name("i"))
    inner = IRRegion(
        "inner",
        (
            IRIf(op("lt", cmp_x, c(0)), (IRAssign("r", c(-1)), IRLeave("inner"))),
            IRFor(
                count("k", 9),
                (
                    IRIf(op("eq", name("k"), cmp_x), (IRAssign("r", name("k")), IRLeave("inner"))),
                    IRIf(op("eq", op("mod", name("k"), c(3)), c(1)), (IRContinue(),)),
                    IRWhile(
                        (visit("s", name("k")), IRAssign("w", op("add", name("w"), c(1)))),
                        op("lt", name("w"), c(4)),
                        (
                            IRIf(op("gt", op("add", name("j"), name("k")), c(12)), (IRAssign("r", c(99)), IRLeave("outer"))),
                            IRIf(op("eq", name("w"), c(3)), (IRBreak(),), (IRContinue(),)),
                            visit("s", c(1000)),
                        ),
                    ),
                ),
            ),
            IRAssign("r", c(-2)),
        ),
    )
    outer = IRRegion(
        "outer",
        (
            IRAssign("w", c(0)),
            inner,
            visit("s", name("r")),
            IRIf(op("eq", name("r"), c(2)), (IRLeave("outer"),)),
            visit("s", c(5)),
        ),
    )
    body = (
        IRAssign("s", c(1)),
        IRIf(op("eq", name("i"), c(3)), (IRContinue(),)),
        IRFor(count("j", 7), (IRAssign("w", c(0)), outer, visit("s", name("r")))),
        IRRegion("late", (IRIf(op("eq", name("i"), c(5)), (IRContinue(),)), store("out", name("i"), name("s")))),
    )
    (out, _) = agree(kernel(body, (count("i", 8),), (X_PARAM,), ["s", "w", "r"]), OUT, X)
    assert out[3] == out[5] == 0


@pytest.mark.rule("K4")
def test_endless_whiles_left_by_break_and_blocks_that_never_end():
    """Nothing is written after a jump, whatever the source says there."""
    loop = IRWhile(
        (), c(True, BOOL), (IRAssign("s", op("add", name("s"), c(1))), IRIf(op("gt", name("s"), c(9)), (IRBreak(), bump(by=500))))
    )
    both = IRIf(op("gt", name("i"), c(3)), (IRContinue(), bump(by=500)), (bump(by=2), IRContinue()))
    (out,) = agree(kernel((IRAssign("s", name("i")), loop, bump(by=1), both, bump(by=900)), locals=["s"]), OUT)
    assert out.tolist() == [3] * 4 + [1] * 4


@pytest.mark.rule("K3", "K4")
def test_loop_variables_can_be_assigned_for_the_rest_of_an_iteration():
    body = (
        IRIf(op("gt", name("i"), c(3)), (IRAssign("i", op("sub", c(7), name("i"))),)),
        IRFor(
            count("k", 4),
            (
                IRIf(op("eq", name("k"), c(1)), (IRAssign("k", c(10)),)),
                bump(by=1),
                store("out", name("i"), op("add", load("out", name("i")), name("k"))),
            ),
        ),
    )
    (out,) = agree(kernel(body), OUT)
    assert out.tolist() == [2 * (4 + 0 + 10 + 2 + 3)] * 4 + [0] * 4


@pytest.mark.rule("E1")
def test_conditions_evaluate_only_what_they_need():
    """An arm that must not run would read far outside the array."""
    far = op("mul", name("i"), c(2**40))
    zero = op("eq", name("i"), c(0))
    wild = op("gt", load("x", far), c(-1))
    body = (
        IRAssign("a", IRCond(zero, load("x", far), c(-5), i64)),
        IRAssign("b", IRCast(IRLogic("and", zero, wild, BOOL), i64)),
        IRAssign("d", IRCast(IRLogic("or", op("not", zero), wild, BOOL), i64)),
        IRAssign("e", IRCond(op("lt", name("i"), c(4)), name("i"), op("neg", name("i")), i64)),
        IRAssign("g", IRCast(IRLogic("or", op("lt", name("i"), c(2)), op("gt", name("i"), c(6)), BOOL), i64)),
        IRAssign("s", c(0)),
        *(visit("s", name(n)) for n in "abdeg"),
        store("out", name("i"), name("s")),
    )
    agree(kernel(body, (count("i", 8),), (X_PARAM,), list("abdegs")), OUT, X)


@pytest.mark.rule("E1", "E2", "E4", "M2")
@pytest.mark.parametrize("disjoint", [False, True])
def test_loads_see_earlier_stores_also_through_another_array(disjoint):
    body = (
        store("out", name("i"), op("add", load("x", name("i")), c(1))),
        store("x", name("i"), op("mul", load("out", name("i")), c(10))),
        bump(),
    )
    func = replace(kernel(body, (count("i", name("n")),), (X_PARAM, *ints("n"))), disjoint_arrays=disjoint)
    unit = Unit([("k", func)])
    a, b = np.zeros(99, np.int64), np.arange(99)
    unit("k", a, b, 99)
    assert (a == np.arange(99) + 2).all()
    assert (b == 10 * (np.arange(99) + 1)).all()
    if not disjoint:
        unit("k", b, b, 99)
        assert (b == 10 * (10 * (np.arange(99) + 1) + 1) + 1).all()


@pytest.mark.rule("M4")
def test_unaligned_arrays_load_and_store():
    params = (IRParam("x", True, f64), IRParam("y", True, f64), *ints("n"))
    func = kernel(
        (IRStore("y", (name("i"),), op("mul", load("x", name("i"), f64), c(3.0, f64))),), (count("i", name("n")),), params
    )
    memory = np.zeros(8 * 200 + 8, np.uint8)
    x, y = (np.frombuffer(memory.data, np.float64, 100, offset) for offset in (1, 803))
    y.flags.writeable = True
    x[:] = np.arange(100)
    Unit([("k", func)])("k", OUT, x, y, 100)
    assert (y == 3 * np.arange(100)).all()


# -------------------------------------------------------------------------------------------------------- the text


@pytest.mark.rule("M2", "E5")
def test_what_llvm_is_promised():
    body = (store("out", name("i"), IRCast(op("mul", load("x", name("i"), f32), load("x", name("i"), f32)), i64)),)
    func = kernel(body, params=(IRParam("x", True, f32),))
    text = emit_module(func, prefix="p.")
    assert "ptr captures(none) %v_out, ptr readonly captures(none) %v_x" in text
    assert "ptr noalias captures(none) %v_out, ptr noalias readonly captures(none) %v_x" in emit_module(
        replace(func, disjoint_arrays=True)
    )
    for flag in ("fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"):
        assert f" {flag}" not in text
    assert "load float, ptr %" in text
    assert ", align 1" in text
    assert [line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("define")] == [
        "p.enter",
        "p.loop",
        "p.body",
        "p.run",
    ]


def test_the_library_s_functions_are_not_folded_by_llvm():
    body = (IRStore("y", (name("i"),), IROp("sin", (c(1.0, f32),), f32)),)
    text = optimized(emit_module(kernel(body, params=(IRParam("y", True, f32),))))
    assert "call float @sinf(float 1.0" in text


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_contiguous_loops_vectorize(rank):
    dims = [count(n, name(f"n{k}")) for k, n in enumerate("pqr"[:rank])]
    index = name("p")
    for k, n in enumerate("qr"[: rank - 1], 1):
        index = op("add", op("mul", index, name(f"n{k}")), name(n))
    value = IROp("fma", (load("x", index, f32), c(0.5, f32), load("x", op("add", index, c(1)), f32)), f32)
    func = kernel(
        (IRStore("y", (index,), value),),
        dims,
        (IRParam("x", True, f32), IRParam("y", True, f32), *ints(*(f"n{k}" for k in range(rank)))),
    )
    assert " x float>, ptr" in optimized(emit_module(replace(func, disjoint_arrays=True)))
