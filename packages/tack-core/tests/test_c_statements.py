"""The C emitter's statements: emitted CUDA C runs on the CPU and must do what the interpreter does."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from host_c import HostUnit
from nvrtc_tools import compile_all

from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.codegen.emitter import Names
from tack.codegen.gpu_layout import gpu_layout
from tack.ir.interpret import interpret
from tack.ir.nodes import (
    Block,
    IRAssign,
    IRBreak,
    IRCast,
    IRCond,
    IRConst,
    IRContinue,
    IRDimSize,
    IREval,
    IRExpr,
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
    IRStmt,
    IRStore,
    IRWhile,
)
from tack.ir.types import BOOL, ScalarType, f32, i32, i64, u64
from tack.ir.verify import verify_ir
from tack.ir.walk import walk


def name(n: str, t: ScalarType = i64) -> IRName:
    return IRName(n, t)


def c(value: float, t: ScalarType = i64) -> IRConst:
    return IRConst(value, t)


def op(o: str, *args: IRExpr, t: ScalarType = i64) -> IROp:
    return IROp(o, args, t)


def load(array: str, index: IRExpr, t: ScalarType = i64) -> IRLoad:
    return IRLoad(array, (index,), t)


def add(n: str, value: IRExpr) -> IRAssign:
    """`n = n * 31 + value`, so that order and number of visits show."""
    return IRAssign(n, op("add", op("mul", name(n), c(31)), value))


def cmp(o: str, a: IRExpr, b: IRExpr) -> IROp:
    return IROp(o, (a, b), BOOL)


def out(value: IRExpr = name("s"), index: IRExpr = name("i")) -> IRStore:
    return IRStore("out", (index,), value)


def kernel(
    *body: IRStmt,
    ints: tuple[str, ...] = ("s", "j", "k"),
    dims: tuple[IRRange, ...] = (IRRange("i", c(0), name("n"), c(1)),),
    params: tuple[IRParam, ...] = (IRParam("x", True, i64), IRParam("out", True, i64), IRParam("n", False, i64)),
    prologue: Block = (),
    bound_prologue: Block = (),
    disjoint: bool = False,
) -> IRFunc:
    loops = {node.var for node in walk(body) if isinstance(node, IRRange)}
    locals_ = tuple(IRLocal(n, n, i64) for n in ints if n not in loops)
    return IRFunc(
        "k", params, prologue, IRParallel(dims, body), locals_, (), bound_prologue, "typed", f32, disjoint_arrays=disjoint
    )


def check(tmp_path: Path, func: IRFunc, *args: object) -> list[np.ndarray]:
    """Runs `func` both ways on copies of the arguments; returns the arrays."""
    verify_ir(func, "typed")
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    unit = func.facts.get("unit") or HostUnit([(func, "k")], tmp_path)
    func.facts["unit"] = unit
    unit.run("k", mine)
    interpret(func, theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    if "ptx" not in func.facts:
        func.facts["ptx"] = compile_all([(func, "k")])
    return [a for a in mine if isinstance(a, np.ndarray)]


def hidden(func: IRFunc) -> list[str]:
    """What the pack has besides the kernel's scalars."""
    return [field.kind for field in gpu_layout(func, grids=True).fields if field.kind != "param"]


def start(value: int = 1) -> IRAssign:
    return IRAssign("s", c(value))


X = np.array([-(2**63), -3, -1, 0, 1, 2, 5, 2**63 - 1], np.int64)
OUT = np.zeros(8, np.int64)


@pytest.mark.rule("K4", "E3")
def test_nested_ranges_of_every_step_and_bound(tmp_path: Path) -> None:
    """All triples of small bounds and steps, with the bounds changed in the body."""
    values = np.array(list(itertools.product(range(-3, 4), repeat=3)), np.int64)
    at = [load("x", op("add", op("mul", name("i"), c(3)), c(k))) for k in range(3)]
    body = (
        *(IRAssign(n, v) for n, v in zip("abc", at, strict=True)),
        start(),
        IRFor(IRRange("j", name("a"), name("b"), name("c")), (add("s", name("j")), IRAssign("b", c(9)), IRAssign("c", c(0)))),
        *(IRFor(IRRange(f"k{step}", at[0], at[1], c(step)), (add("s", name(f"k{step}")),)) for step in (1, -1, 2, -2)),
        IRFor(IRRange("l", at[0], c(2), c(2)), (add("s", name("l")), IRAssign("l", c(7)), add("s", name("l")))),
        IRFor(IRRange("m", at[0], c(2), c(2)), (add("s", name("m")),)),
        out(),
    )
    func = kernel(*body, ints=("s", "a", "b", "c"))
    check(tmp_path, func, values.ravel(), np.zeros(len(values), np.int64), len(values))


@pytest.mark.rule("K4")
def test_loops_at_the_limits_of_i64_do_not_overflow(tmp_path: Path) -> None:
    least, most = -(2**63), 2**63 - 1
    runs = [(most - 3, most, 1), (least + 3, least, -1), (least, most, most), (most, least, least)]
    runs += [(least, most, 2**62), (most - 5, most, 4)]
    loops: list[IRStmt] = [start()]
    for k, run in enumerate(runs):
        literal = [c(v) for v in run]
        loaded = [op("add", load("x", c(3)), v) for v in literal]  # x[3] is 0
        for how, bounds in enumerate((literal, [*loaded[:2], literal[2]], [*literal[:2], loaded[2]])):
            var = f"j{k}{how}"
            loops.append(IRFor(IRRange(var, *bounds), (add("s", name(var)),)))
    check(tmp_path, kernel(*loops, out()), X, OUT, 8)


@pytest.mark.rule("K4", "F1")
def test_break_continue_while_and_early_leaves(tmp_path: Path) -> None:
    """An inlined function with returns at three depths, twice inside another, within a loop that goes on."""
    inner = IRRegion(
        "inner",
        (
            IRIf(cmp("lt", load("x", name("i")), c(0)), (IRAssign("r", c(-1)), IRLeave("inner"))),
            IRFor(
                IRRange("k", c(0), c(9), c(1)),
                (
                    IRIf(cmp("eq", name("k"), load("x", name("i"))), (IRAssign("r", name("k")), IRLeave("inner"))),
                    IRIf(cmp("eq", op("mod", name("k"), c(3)), c(1)), (IRContinue(),)),
                    IRWhile(
                        (add("s", name("k")), IRAssign("w", op("add", name("w"), c(1)))),
                        cmp("lt", name("w"), c(4)),
                        (
                            IRIf(cmp("gt", op("add", name("j"), name("k")), c(12)), (IRAssign("r", c(99)), IRLeave("outer"))),
                            IRIf(cmp("eq", name("w"), c(3)), (IRBreak(),), (IRContinue(),)),
                            add("s", c(1000)),
                        ),
                    ),
                ),
            ),
            IRAssign("r", c(-2)),
        ),
    )
    after = (add("s", name("r")), IRIf(cmp("eq", name("r"), c(2)), (IRLeave("outer"),)), add("s", c(5)))
    outer = IRRegion("outer", (IRAssign("w", c(0)), inner, *after))
    body = (start(), IRFor(IRRange("j", c(0), c(7), c(1)), (IRAssign("w", c(0)), outer, add("s", name("r")))), out())
    check(tmp_path, kernel(*body, ints=("s", "j", "k", "w", "r")), X, OUT, 8)


@pytest.mark.rule("K3", "F1")
def test_continue_ends_the_parallel_iteration_also_inside_a_region(tmp_path: Path) -> None:
    skip = IRIf(cmp("lt", load("x", name("i")), c(0)), (IRContinue(),))
    check(tmp_path, kernel(skip, out(c(4))), X, OUT, 8)
    check(tmp_path, kernel(IRRegion("r", (skip, out(c(4)))), out(c(5))), X, OUT, 8)


@pytest.mark.rule("K1", "K5")
def test_bounds_with_run_time_start_and_step(tmp_path: Path) -> None:
    params = (*(IRParam(n, True, i64) for n in ("x", "out")), *(IRParam(n, False, i64) for n in "abc"))
    func = kernel(out(op("add", name("i"), c(1))), dims=(IRRange("i", name("a"), name("b"), name("c")),), params=params, ints=())
    assert hidden(func) == ["count", "start", "step"]
    for a, b, step in [(0, 8, 1), (7, -1, -1), (1, 8, 3), (3, 3, 1), (5, 2, 1), (6, 0, -4)]:
        check(tmp_path, func, X, OUT, a, b, step)
    func = kernel(out(name("i")), dims=(IRRange("i", c(6), c(0), c(-4)),), params=params, ints=())
    assert hidden(func) == ["count"]
    check(tmp_path, func, X, OUT, 0, 0, 0)


@pytest.mark.rule("K5", "M1")
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("literal", [True, False])
def test_ndindex_in_one_to_four_dimensions(tmp_path: Path, rank: int, literal: bool) -> None:
    """Sizes as literals and as scalars; each lane writes its own coordinates at its own place."""
    sizes = (3, 5, 2, 7)[:rank]
    names = ["p", "q", "r", "s"][:rank]
    params = (IRParam("out", True, i64), *(IRParam(f"n{k}", False, i64) for k in range(rank)))
    bounds = [c(size) if literal else name(f"n{k}") for k, size in enumerate(sizes)]
    dims = tuple(IRRange(n, c(0), bound, c(1)) for n, bound in zip(names, bounds, strict=True))
    index: IRExpr = name(names[0])
    for n, bound in zip(names[1:], bounds[1:], strict=True):
        index = op("add", op("mul", index, bound), name(n))
    value: IRExpr = c(0)
    for n in names:
        value = op("add", op("mul", value, c(100)), name(n))
    func = kernel(out(value, index), dims=dims, params=params, ints=())
    assert hidden(func) == ["count", *([] if literal else ["size"] * (rank - 1)), *(["grid"] if rank > 1 else [])]
    (result,) = check(tmp_path, func, np.full(sizes, -1, np.int64), *sizes)
    assert (result >= 0).all()


@pytest.mark.rule("K2", "K5")
def test_the_prologue_runs_for_each_lane_and_feeds_bounds(tmp_path: Path) -> None:
    prologue = (IRAssign("s", load("x", c(6))), IRAssign("m", op("floordiv", name("n"), c(2))))
    func = kernel(
        add("s", name("i")),
        out(),
        ints=("s", "m"),
        prologue=prologue,
        bound_prologue=(prologue[1],),
        dims=(IRRange("i", c(0), name("m"), c(1)),),
    )
    check(tmp_path, func, X, OUT, 8)


@pytest.mark.rule("K5")
def test_a_size_in_the_bound_is_the_launch_s_matter(tmp_path: Path) -> None:
    func = kernel(out(c(3)), dims=(IRRange("i", c(0), IRDimSize("x", 0, i64), c(1)),), ints=())
    check(tmp_path, func, X, OUT, 0)


@pytest.mark.rule("E1")
def test_deep_expressions_pass_compilers_with_bracket_limits(tmp_path: Path) -> None:
    """300 nested operations, also in arms that must not run: those would read outside the array."""
    i = name("i")

    def tower(value: IRExpr, height: int = 300) -> IRExpr:
        for k in range(height):
            value = op("sub", value, c(k)) if k % 3 else op("mod", value, c(1000 + k)) if k % 2 else op("neg", value)
        return value

    inside = cmp("lt", i, c(6))
    body = (
        IRAssign("s", tower(load("x", i))),
        IRAssign("j", IRCond(inside, tower(load("x", op("mul", i, c(1)))), tower(c(7)), i64)),
        IRAssign("k", IRCast(IRLogic("and", inside, cmp("gt", tower(load("x", op("add", i, c(2)))), c(-(10**6))), BOOL), i64)),
        IRAssign("k", op("add", name("k"), IRCast(IRLogic("or", inside, cmp("gt", tower(i), c(0)), BOOL), i64))),
        IRAssign("w", c(5)),
        IRWhile(
            (),
            cmp("ne", op("sub", tower(name("w")), tower(c(0))), c(0)),
            (IRAssign("w", op("sub", name("w"), c(1))), add("s", name("w"))),
        ),
        IREval(tower(name("j"))),
        out(op("add", name("s"), op("add", name("j"), name("k")))),
    )
    func = kernel(*body, ints=("s", "j", "k", "w"))
    text = emit_kernel(func, CUDA, "k")
    assert max(line.count("(") for line in text.splitlines()) < 200
    small = np.arange(8, dtype=np.int64)
    check(tmp_path, func, small, OUT, 8)


@pytest.mark.rule("N4")
def test_any_identifier_is_a_name(tmp_path: Path) -> None:
    """C and CUDA words, names of the emitter's own, Unicode, and names that differ only in what must be escaped."""
    names = [
        "int", "double", "asm", "template", "threadIdx", "blockIdx", "blockDim", "warpSize", "NULL", "INFINITY", "linux", "errno",
        "__global__", "__restrict__", "_Bool", "i64", "u64", "f32", "min", "sqrtf", "t_lane", "t_count", "t_0", "v_x",
        "tack_trips_i64",
        "é", "_e9_", "u__e9_", "变量", "ℵ", "x_", "_x", "__x", "main", "printf", "k", "α", "a.1", "a_1", "a_1_2", "a()", "a.b",
    ]  # fmt: skip
    given = Names()
    assert len({given(n) for n in names}) == len(names)
    assert all(given(n).isascii() and given(n).isidentifier() for n in names)
    given = [IRAssign(n, op("add", name("s"), c(k))) for k, n in enumerate(names)]
    body = [start(), *given, *(add("s", name(n)) for n in names), out()]
    check(tmp_path, kernel(*body, ints=("s", *names)), X, OUT, 8)
    params = (IRParam("restrict", True, i64), IRParam("__shared__", True, i64), IRParam("return_", False, i64))
    copy = IRStore("__shared__", (name("this"),), load("restrict", name("this")))
    check(tmp_path, kernel(copy, params=params, dims=(IRRange("this", c(0), name("return_"), c(1)),), ints=()), X, OUT, 8)


@pytest.mark.rule("M2")
def test_restrict_is_promised_only_for_disjoint_arrays_and_const_for_unwritten_ones() -> None:
    body = (out(load("x", name("i"))),)
    pack = "const k_pack* __restrict__ t_pack)"
    assert f"(const i64* v_x, i64* v_out, {pack}" in emit_kernel(kernel(*body), CUDA, "k")
    text = emit_kernel(kernel(*body, disjoint=True), CUDA, "k")
    assert f"(const i64* __restrict__ v_x, i64* __restrict__ v_out, {pack}" in text


@pytest.mark.rule("T3")
def test_scalars_of_every_kind_are_passed(tmp_path: Path) -> None:
    params = (IRParam("out", True, f32), IRParam("a", False, f32), IRParam("b", False, i32), IRParam("c", False, u64))
    value = IROp("add", (name("a", f32), IRCast(name("b", i32), f32)), f32)
    value = IROp("add", (value, IRCast(name("c", u64), f32)), f32)
    func = kernel(IRStore("out", (name("i"),), value), params=params, dims=(IRRange("i", c(0), c(3), c(1)),), ints=())
    (result,) = check(tmp_path, func, np.zeros(3, np.float32), 0.5, -7, 2**64 - 1)
    assert result[0] == np.float32(2**64)
