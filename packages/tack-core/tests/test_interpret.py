"""The reference interpreter on IR built by hand: statements, bounds, names and order."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tack.errors import Source, Span
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
from tack.ir.types import BOOL, f32, f64, i32, i64, u8, u64


def const(value, t=i64):
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


def count(end, start=0, step=1, var="i"):
    return IRRange(var, *(const(v) if isinstance(v, int) else v for v in (start, end, step)))


def kernel(body, *, loop=8, params=(), prologue=(), bound_prologue=()):
    """A typed kernel over `out` (i64) and further parameters; `loop` is its end, a range or several."""
    dims = loop if isinstance(loop, tuple) else (loop if isinstance(loop, IRRange) else count(loop),)
    out = IRParam("out", True, i64)
    return IRFunc(
        "k", (out, *params), tuple(prologue), IRParallel(dims, tuple(body)), (), (), tuple(bound_prologue), "typed", f32
    )


def run(func, *args, size=8, **options):
    out = np.zeros(size, np.int64)
    interpret(func, (out, *args), **options)
    return out.tolist()


I = name("i")
ADD_I = store("out", I, op("add", load("out", I), const(1)))
# Appends the digit i: shows the order of iterations, which no kernel may rely on.
LOG_I = store("out", const(0), op("add", op("mul", load("out", const(0)), const(10)), I))


# --------------------------------------------------------------------------------------------------------- the loop


@pytest.mark.rule("K1", "K5")
@pytest.mark.parametrize("bounds", [(0, 8, 1), (2, 7, 3), (6, -1, -1), (7, 1, -4), (3, 3, 1), (5, 2, 1), (2, 5, -1)])
def test_every_index_of_the_range_runs_once(bounds):
    start, end, step = bounds
    expected = [int(i in range(*bounds)) for i in range(8)]
    func = kernel([ADD_I], loop=count(end, start, step))
    assert run(func) == expected
    assert run(func, reverse=True) == expected


@pytest.mark.rule("K1")
def test_zero_step_is_a_value_error_before_anything_runs():
    with pytest.raises(ValueError, match="step of the parallel loop is zero"):
        run(kernel([ADD_I], loop=count(8, 0, 0), prologue=[IREval(load("out", const(99)))]))


@pytest.mark.rule("K5")
def test_too_many_points_are_refused():
    square = (count(1 << 40, var="i"), count(1 << 40, var="j"))
    with pytest.raises(ValueError, match=f"a launch of {1 << 80} iterations is past the limit of {(1 << 63) - 1}"):
        run(kernel([ADD_I], loop=square))
    with pytest.raises(ValueError, match=f"a launch of {1 << 63} iterations .* is past the limit of {(1 << 63) - 1}"):
        run(kernel([ADD_I], loop=count(const(1 << 63, u64), step=1)))
    least, most = -(1 << 63), (1 << 63) - 1
    with pytest.raises(ValueError, match=f"a launch of {(1 << 64) - 1} iterations is past the limit of {(1 << 63) - 1}"):
        run(kernel([ADD_I], loop=count(most, least, 1)))
    assert run(kernel([ADD_I], loop=(count(1 << 40), count(-5, var="j"), count(1 << 40, var="k")))) == [0] * 8


@pytest.mark.rule("K5")
def test_ndindex_walks_rows_with_the_last_dimension_fastest():
    index = op("add", op("mul", I, const(3)), name("j"))
    body = [store("out", index, op("add", load("out", index), const(1)))]
    log = [store("out", const(0), op("add", op("mul", load("out", const(0)), const(10)), index))]
    dims = (count(2), count(3, var="j"))
    assert run(kernel(body, loop=dims), size=6) == [1] * 6
    assert run(kernel(log, loop=dims), size=1) == [12345]
    assert run(kernel(log, loop=dims), size=1, reverse=True) == [543210]


@pytest.mark.rule("K3")
def test_continue_ends_one_iteration():
    odd = op("eq", op("mod", I, const(2)), const(1))
    assert run(kernel([IRIf(odd, (IRContinue(),)), ADD_I])) == [1, 0] * 4


# ------------------------------------------------------------------------------------------------------- the prologue


@pytest.mark.rule("K2", "K3")
def test_prologue_runs_once_and_each_iteration_starts_from_its_values():
    prologue = [IRAssign("t", load("out", const(7)))]
    body = [IRAssign("t", op("add", name("t"), I)), store("out", I, name("t"))]
    out = np.full(8, 100)
    interpret(kernel(body, prologue=prologue), [out])
    assert out.tolist() == [100 + i for i in range(8)]


@pytest.mark.rule("K2")
def test_prologue_does_not_run_without_iterations():
    func = kernel([], loop=0, prologue=[IRAssign("t", load("out", const(99)))])
    assert run(func) == [0] * 8
    with pytest.raises(IndexError):
        run(replace(func, loop=IRParallel((count(1),), ())))


@pytest.mark.rule("K1", "N5")
def test_bounds_come_from_the_bound_prologue():
    n = IRParam("n", False, i64)
    bound = [IRAssign("m", op("sub", name("n"), const(2)))]
    func = kernel([ADD_I], loop=count(name("m")), params=[n], prologue=bound, bound_prologue=bound)
    assert run(func, 5) == [1] * 3 + [0] * 5


@pytest.mark.rule("K1", "T10")
def test_sizes_of_arrays():
    a = IRParam("a", True, f64)
    for dim, expected in ((0, 2), (-1, 3), ("ndim", 2), ("size", 6)):
        func = kernel([ADD_I], loop=count(IRDimSize("a", dim, i64)), params=[a])
        assert run(func, np.zeros((2, 3))) == [1] * expected + [0] * (8 - expected)
        assert run(func, np.zeros(6), shapes={"a": (2, 3)}) == [1] * expected + [0] * (8 - expected)


@pytest.mark.rule("N5", "K3")
def test_an_assigned_parameter_starts_afresh_in_each_iteration():
    body = [IRAssign("x", op("add", name("x"), I)), store("out", I, name("x"))]
    assert run(kernel(body, prologue=[IRAssign("x", name("n"))], params=[IRParam("n", False, i64)]), 3) == list(range(3, 11))


# --------------------------------------------------------------------------------------------------------- inner loops


def inner(body, end=5, start=0, step=1):
    """A kernel of one iteration that runs `body` in an inner loop over j and then stores t."""
    return kernel(
        [IRAssign("t", const(0)), IRFor(count(end, start, step, "j"), tuple(body)), store("out", const(0), name("t"))], loop=1
    )


DIGIT = IRAssign("t", op("add", op("mul", name("t"), const(10)), name("j")))
IS_2 = op("eq", name("j"), const(2))


@pytest.mark.rule("K4", "E3")
def test_inner_ranges_break_and_continue():
    assert run(inner([DIGIT]), size=1) == [1234]
    assert run(inner([DIGIT], -1, 5, -2), size=1) == [531]
    assert run(inner([DIGIT], 5, 0, 0), size=1) == [0]
    assert run(inner([IRIf(IS_2, (IRBreak(),)), DIGIT]), size=1) == [1]
    assert run(inner([IRIf(IS_2, (IRContinue(),), (DIGIT,))]), size=1) == [134]
    # The end is evaluated once: t grows, the count does not.
    once = inner([IRAssign("t", op("add", name("t"), const(1)))], end=op("add", name("t"), const(3)))
    assert run(once, size=1) == [3]


@pytest.mark.rule("K4")
def test_assigning_a_loop_variable_lasts_for_one_iteration():
    assert run(inner([IRAssign("j", op("add", name("j"), const(1))), DIGIT]), size=1) == [12345]


@pytest.mark.rule("K4", "E1")
def test_while_runs_its_condition_statements_before_each_test():
    bump = IRAssign("n", op("add", name("n"), const(1)))
    odd = op("eq", op("band", name("n"), const(1)), const(1))
    body = (IRIf(odd, (IRContinue(),)), IRIf(op("gt", name("n"), const(6)), (IRBreak(),)), ADD_I)
    loop = IRWhile((bump,), op("lt", name("n"), const(100)), body)
    assert run(kernel([IRAssign("n", const(0)), loop], loop=1), size=1) == [3]
    assert run(kernel([IRAssign("n", const(0)), IRWhile((), op("lt", name("n"), const(4)), (bump, ADD_I))], loop=1), size=1) == [
        4
    ]


@pytest.mark.rule("F1")
def test_leave_goes_to_the_end_of_its_region_out_of_loops():
    deep = IRFor(count(5, var="k"), (IRIf(IS_2, (IRLeave("f"),)), DIGIT, IRBreak()))
    body = [
        IRRegion("f", (IRFor(count(5, var="j"), (deep,)), IRAssign("t", const(-1)))),
        IRAssign("t", op("add", name("t"), const(500))),
    ]
    func = kernel([IRAssign("t", const(0)), *body, store("out", const(0), name("t"))], loop=1)
    assert run(func, size=1) == [501]
    # An inner region lets a leave of the outer one pass, and so does a while.
    nested = IRRegion("a", (IRWhile((), const(True, BOOL), (IRRegion("b", (IRLeave("a"),)),)), ADD_I))
    assert run(kernel([nested, ADD_I], loop=1), size=1) == [1]


# -------------------------------------------------------------------------------------------------------- expressions


@pytest.mark.rule("E1")
def test_conditions_evaluate_only_what_they_need():
    outside = op("gt", load("out", const(99)), const(0))
    small = op("lt", I, const(100))
    assert run(kernel([IRIf(IRLogic("or", small, outside, BOOL), (ADD_I,))])) == [1] * 8
    assert run(kernel([IRIf(IRLogic("and", op("not", small), outside, BOOL), (ADD_I,))])) == [0] * 8
    assert run(kernel([store("out", I, IRCond(small, const(5), load("out", const(99)), i64))])) == [5] * 8
    with pytest.raises(IndexError):
        run(kernel([IREval(op("select", small, const(5), load("out", const(99))))]))


@pytest.mark.rule("T4", "T7", "T9")
def test_operations_and_casts_use_the_op_table():
    x = IRParam("x", True, f64)
    value = IRCast(IRCast(load("x", I, f64), u8), i64)
    assert (
        run(kernel([store("out", I, value)], params=[x], loop=4), np.array([1.9, -3.0, 300.0, np.nan]))
        == [1, 0, 255, 0] + [0] * 4
    )
    truth = IRCast(IRCast(load("x", I, f64), BOOL), i64)
    assert run(kernel([store("out", I, truth)], params=[x], loop=4), np.array([0.5, -0.0, 0.0, np.nan]))[:4] == [1, 0, 0, 1]
    with_min = IRCast(op("min", IRCast(I, i32), const(3, i32)), i64)
    assert run(kernel([store("out", I, with_min)])) == [0, 1, 2, 3, 3, 3, 3, 3]


@pytest.mark.rule("E5")
def test_fma_and_single_precision():
    a = IRParam("a", True, f32)
    x = load("a", I, f32)
    func = kernel([store("a", I, op("fma", x, x, const(-1.0, f32)))], params=[a], loop=2)
    values = np.array([1 + 2**-12, 3], np.float32)
    run(func, values)
    assert values.tolist() == [2**-11 + 2**-24, 8]


# -------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.rule("E4", "M2")
def test_a_load_sees_stores_through_an_alias():
    b = IRParam("b", True, i64)
    body = [store("out", I, const(7)), store("b", I, op("add", load("b", I), load("out", I)))]
    out = np.zeros(4, np.int64)
    interpret(kernel(body, params=[b], loop=4), [out, out])
    assert out.tolist() == [14] * 4


@pytest.mark.rule("M1")
@pytest.mark.parametrize("index", [8, -1])
def test_an_index_outside_the_array_names_the_place(index):
    span = Span(Source("file.py", 40, ("def k(out):", "    out[i] = 1"), "k"), 1, 4, 1, 10)
    with pytest.raises(IndexError, match=f"index {index} is outside 'out', which has 8 elements") as caught:
        run(kernel([IRStore("out", (const(index),), const(1), span)]))
    assert caught.value.lineno == 41
    with pytest.raises(IndexError):
        run(kernel([IREval(load("out", const(index)))]))


@pytest.mark.rule("M1")
def test_arrays_of_several_dimensions_are_indexed_flat():
    a = IRParam("a", True, i64)
    assert run(kernel([store("out", I, load("a", I))], params=[a], loop=6), np.arange(6).reshape(2, 3))[:6] == [0, 1, 2, 3, 4, 5]


@pytest.mark.rule("M3")
def test_read_only_arrays_are_not_written():
    out = np.zeros(8, np.int64)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        interpret(kernel([ADD_I]), [out])


def test_arguments_are_checked_and_the_stage_too():
    func = kernel([ADD_I])
    for wrong in (np.zeros(8), np.zeros(16, np.int64)[::2], [0] * 8):
        with pytest.raises(TypeError, match=r"out: expected a contiguous array of tack\.i64"):
            interpret(func, [wrong])
    with pytest.raises(ValueError, match="typed functions, not lowered"):
        interpret(replace(func, stage="lowered"), [np.zeros(8, np.int64)])
    with pytest.raises(ValueError, match="argument"):
        interpret(func, [])


def test_the_compiled_form_is_kept_but_not_pickled():
    func = kernel([ADD_I])
    assert run(func) == run(func) == [1] * 8
    copy = pickle.loads(pickle.dumps(func))
    assert copy == func
    assert run(copy) == [1] * 8
