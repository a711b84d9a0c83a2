"""The order of evaluation, and what each operand costs (E1, E2, E3): templates against the kernels' own Python source.

Run by `lowered.Run` on Python's numbers; types and machine code have tests of their own.
"""

import builtins
import itertools

import pytest
from lowered import agree

import tack.lang.func
from tack.ir.nodes import IRAssign, IRCast, IRCond, IRConst, IRDimSize, IRFor, IRIf, IRLoad, IRName, IROp, IRRegion, IRStore
from tack.ir.types import f32, i64, u8
from tack.ir.walk import walk
from tack.lang.constant import constant
from tack.lang.intrinsics import INTRINSICS
from tack.lang.kernel import kernel

select = INTRINSICS["select"]


def func(fn):
    return tack.lang.func.func(fn)


def check(source, **args):
    """A kernel whose functions the Python source calls too."""
    agree(kernel(source), python_of(source), args)


def python_of(source):
    """The same function with every device function it reaches replaced by its Python source."""
    names = dict(source.__globals__)
    for name, value in names.items():
        if isinstance(value, tack.lang.func.Func):
            names[name] = value.__wrapped__
    names["ndindex"] = lambda *s: itertools.product(*(builtins.range(*((0, n) if isinstance(n, int) else n)) for n in s))
    names["select"] = lambda c, a, b: a if c else b

    def rebuilt(fn):
        return type(fn)(fn.__code__, names, fn.__name__, fn.__defaults__, fn.__closure__)

    for name, value in source.__globals__.items():
        if isinstance(value, tack.lang.func.Func):
            names[name] = rebuilt(value.__wrapped__)
            names[name].__kwdefaults__ = value.__wrapped__.__kwdefaults__
    return rebuilt(source)


# Device functions that store, so that order shows


@func
def bump(a, k):
    a[k] = a[k] + 1
    return a[k]


@func
def note(log, n, value):
    log[log[0] + 1] = value
    log[0] = log[0] + 1
    return value


@func
def early(a, k):
    for j in range(4):
        if a[j] == k:
            return j
        a[j] = k
    return -1


@func
def both(a, k):
    a[0] = a[0] + k
    return a[0], a[0] * k


@func
def nothing(a):
    a[1] = a[1] + 1


A = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.mark.rule("E1")
def test_operands_run_left_to_right_each_once():
    def left(a, out):
        for i in range(1):
            out[0] = a[0] + bump(a, 0) * a[0]
            out[1] = bump(a, 0) - a[0] + bump(a, 0)
            out[2] = a[a[1]] + bump(a, 1) + a[a[1]]

    check(left, a=A, out=[0] * 3)


@pytest.mark.rule("E1")
def test_arguments_run_left_to_right():
    @func
    def three(x, y, z):
        return x * 100 + y * 10 + z

    def arguments(a, out):
        for i in range(1):
            out[0] = three(a[0], bump(a, 0), a[0])
            out[1] = three(z=a[0], y=bump(a, 0), x=a[0])
            out[2] = min(a[0], bump(a, 0), a[0] + bump(a, 0))

    k = kernel(arguments)

    def arguments_in_python(a, out):
        up, f = bump.__wrapped__, three.__wrapped__
        out[0] = f(a[0], up(a, 0), a[0])
        out[1] = f(z=a[0], y=up(a, 0), x=a[0])
        out[2] = min(a[0], up(a, 0), a[0] + up(a, 0))

    agree(k, arguments_in_python, dict(a=A, out=[0] * 3))


@pytest.mark.rule("E1", "K4")
def test_logic_evaluates_what_python_evaluates():
    def logic(a, out):
        for i in range(8):
            if a[i] > 2 and bump(out, 0) > 1 and a[bump(out, 1) - 1] > 0:
                out[2] = out[2] + 1
            if a[i] == 1 or bump(out, 3) > 2 or bump(out, 4) > 1:
                out[5] = out[5] + 1
            if not (a[i] and bump(out, 6)):
                out[7] = out[7] + 1

    check(logic, a=A, out=[0] * 8)


@pytest.mark.rule("E1", "K4")
def test_logic_as_a_value():
    def logic(a, out):
        for i in range(8):
            t = a[i] > 2 and bump(out, 0) > 1
            u = t or bump(out, 1) == 1
            out[2] = out[2] + (1 if t else 0) + (10 if u else 0)

    check(logic, a=A, out=[0] * 3)


@pytest.mark.rule("E1")
def test_conditional_expressions_evaluate_one_arm():
    def arms(a, out):
        for i in range(8):
            out[0] = out[0] + (bump(a, 0) if a[i] > 2 else a[0])
            out[1] = a[i] if i < 4 else (bump(a, 1) if i < 6 else bump(a, 2) * 2)
            out[2] = a[0] + (bump(a, 0) if i == 3 else 0) + a[0]

    check(arms, a=A, out=[0] * 3)


@pytest.mark.rule("E1")
def test_loads_under_a_condition_stay_there():
    """Spilling an earlier operand must not read an element that Python would not read."""

    def guarded(a, n, out):
        for i in range(4):
            out[i] = (a[i + 6] if i + 6 < n else -1) + bump(out, 4) + (a[i] if i < n and a[i] > 1 else 0)

    check(guarded, a=A, n=8, out=[0] * 5)


@pytest.mark.rule("E1", "K4")
def test_chained_comparisons_evaluate_the_middle_once():
    def chain(a, out):
        for i in range(8):
            if 1 < bump(a, i) < 5 < a[i] + 3 <= bump(out, 1):
                out[0] = out[0] + 1
            if 2 < a[i] * 2 < 9:
                out[2] = out[2] + 1
            t = 0 < bump(a, i) < bump(out, 3)
            if t:
                out[4] = out[4] + 1

    check(chain, a=A, out=[0] * 5)


@pytest.mark.rule("E1")
def test_select_evaluates_both_arms():
    def chosen(a, out):
        for i in range(4):
            out[i] = select(a[i] > 2, bump(a, 6), bump(a, 7))

    check(chosen, a=A, out=[0] * 4)


@pytest.mark.rule("E2")
def test_a_store_evaluates_the_value_then_the_index():
    def stores(a, out):
        for i in range(1):
            out[bump(a, 1)] = a[1]
            out[bump(a, 1)] = bump(a, 1)
            out[a[1]] = bump(a, 1) + a[bump(a, 1)]

    check(stores, a=A, out=[0] * 8)


@pytest.mark.rule("E2")
def test_augmented_assignment_evaluates_the_index_once_and_reads_before_the_value():
    def augmented(a, out):
        for i in range(1):
            out[bump(a, 1)] += bump(out, 2)
            out[a[3] + 1] -= a[3]
            a[a[1]] += bump(a, 2)
            a[i + 2] *= 3
            x = a[0]
            x += bump(a, 0)
            out[0] = x

    check(augmented, a=A, out=[0] * 8)


@pytest.mark.rule("E2", "K4")
def test_tuple_assignment_evaluates_the_whole_right_side_first():
    def tuples(a, out):
        for i in range(1):
            x, y = 1, 2
            x, y = y, x
            out[0], out[1] = x, y
            a[0], a[1] = a[1], a[0]
            x, a[x] = bump(a, 2), x + y
            a[x - 4], x = a[2], a[3]
            y, z = x, bump(a, x)
            x, y, z = z, x + y, x
            out[2], out[3], out[4] = x, y, z

    check(tuples, a=A, out=[0] * 5)


@pytest.mark.rule("E1", "K4")
def test_chained_assignment_evaluates_the_value_once():
    def chained(a, out):
        for i in range(1):
            x = y = bump(a, 0)
            out[0] = out[x - 3] = a[1] + x
            x = out[2] = x
            out[3] = x + y

    check(chained, a=A, out=[0] * 5)


@pytest.mark.rule("E3", "K4")
def test_bounds_of_inner_loops_are_evaluated_once():
    def bounds(a, out, n):
        for i in range(2):
            m = n
            for k in range(bump(a, 1) - 2, m, bump(a, 3) - 1):
                m = m - 1
                out[k] = out[k] + m
            for k in range(m, -1, -2):
                out[k] = out[k] + 1
                k = k + 5
                if k > 9:
                    continue
                out[0] = out[0] + k

    check(bounds, a=A, out=[0] * 9, n=7)


@pytest.mark.rule("K4", "E1")
def test_while_conditions_run_before_each_iteration():
    def loops(a, out):
        for i in range(3):
            while bump(a, 0) < 8 and bump(out, 0) > 0:
                if a[0] == 6:
                    continue
                out[1] = out[1] + 1
                if out[1] > 3:
                    break
            n = 0
            while True:
                n += 1
                if n > i:
                    break
            while 0 < n < 9:
                n *= 2
            out[2 + i] = n

    check(loops, a=A, out=[0] * 6)


@pytest.mark.rule("F1")
def test_functions_return_early_also_from_loops():
    def finds(a, out):
        for i in range(3):
            out[i] = early(a, 5 + i) + a[0]
            s, t = both(a, i)
            out[3] = out[3] + s - t
            nothing(out)

    check(finds, a=A, out=[0] * 4)


@func
def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


@func
def clamp_all(a, low, high=4, *, extra=0):
    total = 0
    for k in range(a.shape[0]):
        if a[k] < low:
            total += low
            continue
        v = a[k]
        if v > high:
            v = high
        if v == extra:
            while True:
                v += 1
                if v > 12:
                    return v
                if v % 7 == 0:
                    break
        total += v
    if total > 100:
        return total
    low = low + total
    return low


@pytest.mark.rule("F1")
def test_inlined_bodies_do_what_python_does():
    def calls(a, out):
        for i in range(8):
            out[i] = sign(a[i] - 3) + clamp_all(a, i, extra=9) + clamp_all(low=2, a=a)

    check(calls, a=A, out=[0] * 8)


@pytest.mark.rule("K1", "K2", "K5")
def test_prologue_and_bounds():
    def prologue(a, out, n, s):
        n = n - 1
        if s > 2:
            m = n * 2
        else:
            m = n
        first = a[0] + sign(s)
        k = early_bound(n)
        for i in range(k, m, 2):
            out[i] = first + n + m

    check(prologue, a=A, out=[0] * 20, n=5, s=1)
    check(prologue, a=A, out=[0] * 20, n=5, s=3)
    template = kernel(prologue).template()
    assert not any(isinstance(n, IRLoad) for n in walk(template.bound_prologue))


@pytest.mark.rule("K3", "N5")
def test_every_iteration_starts_from_the_values_of_the_prologue():
    def kernel_source(a, out, n):
        first = a[0]
        for i in range(n):
            n = n + i
            first += n
            out[i] = first

    def python(a, out, n):
        first = a[0]
        for i in range(n):
            out[i] = first + n + i

    agree(kernel(kernel_source), python, dict(a=A, out=[0] * 5, n=5))


@func
def early_bound(n):
    for k in range(n):
        if k * k > n:
            return k
    return 0


@pytest.mark.rule("K1", "K5")
def test_ndindex_walks_rows():
    def grid(out, log, n):
        for i, j, k in ndindex(2, (1, n), out.shape[2]):
            out[i, j, k] = log[0]
            log[0] = log[0] + 1
            if k == 1:
                continue
            out[i, j, k] += 100

    check(grid, out=[[[0] * 3 for _ in range(4)] for _ in range(2)], log=[1], n=4)

    def line(out):
        for i in ndindex((1, 4)):
            out[i] = i

    python = lambda out: [out.__setitem__(i, i) for i in range(1, 4)]  # noqa: E731
    agree(kernel(line), python, dict(out=[0] * 5))


@pytest.mark.rule("T10")
def test_sizes():
    def sizes(a, out):
        h, w = a.shape
        for i in range(1):
            p, q = a.shape
            out[0] = a.shape[0] + a.shape[1] * 10 + a.shape[-1] * 100
            out[1] = len(a) + a.ndim * 10 + a.size * 100 + h * w + p - q
            out[2] = a[h - 1, w - 1]

    check(sizes, a=[[1, 2, 3], [4, 5, 6]], out=[0] * 3)
    template = kernel(sizes).template()
    assert [(r.array, r.rank) for r in template.ranks] == [("a", 2), ("a", 2)]


@pytest.mark.rule("N3", "K4")
def test_names_used_again():
    def again(out):
        for i in range(3):
            acc = 0
            for k in range(2):
                acc += k
                k = k * 2
                acc += k
            k = 0
            while k < 3:
                acc += 10
                k += 1
            for k in range(2):
                for k in range(3):
                    acc += k
            i = i * 2
            out[i // 2] = acc + i

    check(again, out=[0] * 3)


@pytest.mark.rule("K4")
def test_assigning_the_loop_variable_lasts_for_the_iteration():
    def reassigned(out, n):
        for n in range(n):
            n = n + 1
            for m in range(3):
                m += n
                out[n] = out[n] + m

    check(reassigned, out=[0] * 5, n=3)


@pytest.mark.rule("K7")
def test_docstrings_pass_and_unreachable_code():
    def odd(out):
        """Says what it does."""
        for i in range(3):
            "a remark"
            pass
            if i == 1:
                continue
                out[i] = 7
            out[i] = i
            while True:
                break
                out[i] = 8

    check(odd, out=[5] * 3)


N = constant(3)
TYPED = constant(200, u8)
SCALE = constant(0.5, f32)


@pytest.mark.rule("N1", "T2b")
def test_constants_and_casts():
    @kernel
    def constants(a, out):
        for i in range(N):
            x: i64 = a[i]
            out[i] = f32(x) * SCALE + TYPED + math.pi

    func = constants.template()
    constants_in_body = {n.value: n.type for n in walk(func.loop.body) if isinstance(n, IRConst)}
    assert constants_in_body == {0.5: f32, 200: u8, math.pi: None}
    assert func.loop.dims[0].end == IRConst(3)
    assert [n.type for n in walk(func.loop.body) if isinstance(n, IRCast)] == [f32]
    assert [(v.source_name, v.type, v.declared) for v in func.locals] == [("x", i64, True)]


import math  # noqa: E402 -- the kernel above reads it when it is lowered


@pytest.mark.rule("E5", "T8", "F1")
def test_products_pass_calls_through_locals_and_literals_as_they_are():
    @func
    def same(v):
        return v

    @kernel
    def fused(x, out):
        for i in range(x.shape[0]):
            out[i] = same(x[i] * 2.0) + same(3) + same(i) + same(-1) + same(x.shape[0])

    body = fused.template().loop.body
    assert [type(s) for s in body] == [IRAssign, IRAssign, IRStore]
    store = body[-1]
    leaves = [n for n in walk(store.value) if not isinstance(n, IROp)]
    assert leaves[1:] == [IRConst(3), IRName("i"), IRConst(1), IRDimSize("x", 0)]
    weak = {v.name for v in fused.template().locals if v.weak}
    assert leaves[0].name in weak


@pytest.mark.rule("E1")
def test_plain_expressions_stay_whole():
    """No temporaries where nothing is stored in between: products meet their sums in one expression."""

    @kernel
    def plain(x, out, s):
        for i in range(x.shape[0]):
            out[i] = x[i] * s + (x[i + 1] if x[i] > 0 else s * s)
            out[i + 1] += x[i] * s

    func = plain.template()
    assert func.locals == () and len(func.loop.body) == 2


@pytest.mark.rule("F1")
def test_guard_clauses_need_no_region():
    @kernel
    def guarded(x, out):
        for i in range(x.shape[0]):
            out[i] = sign(x[i])

    nodes = list(walk(guarded.template().loop.body))
    assert not any(isinstance(n, IRRegion) for n in nodes)
    assert sum(isinstance(n, IRIf) for n in nodes) == 2


@pytest.mark.rule("N5", "K1")
def test_an_assigned_parameter_is_a_local_from_the_prologue_on():
    @kernel
    def moved(x, n):
        for i in range(x.shape[0]):
            n += 1
            x[i] = n

    func = moved.template()
    assert func.prologue == (IRAssign("n.1", IRName("n")),)
    assert func.bound_prologue == ()
    assert [p.name for p in func.params] == ["x", "n"]


@pytest.mark.rule("K4")
def test_a_loop_variable_itself_is_never_assigned():
    @kernel
    def loops(x):
        for i in range(x.shape[0]):
            for k in range(3):
                k = k + 1
                x[i] = k
            i = 0
            x[i] = 1

    func = loops.template()
    variables = {n.range.var for n in walk(func.loop.body) if isinstance(n, IRFor)} | {d.var for d in func.loop.dims}
    assigned = {n.name for n in walk(func.loop.body) if isinstance(n, IRAssign)}
    assert not variables & assigned
    assert len({v.name for v in func.locals} | variables) == len(func.locals) + len(variables)


@pytest.mark.rule("E1")
def test_conditional_loads_are_spilled_whole():
    @kernel
    def spilled(a, n, out):
        for i in range(1):
            out[0] = (a[i] if i < n else 0) + bump(out, 1)

    first = spilled.template().loop.body[0]
    assert isinstance(first, IRAssign) and isinstance(first.value, IRCond)


@pytest.mark.rule("K1b")
def test_a_serial_step_is_a_loop_of_one():
    def step(a, out):
        for _ in range(1):
            for k in range(1, 8):
                out[k] = out[k - 1] + a[k]

    check(step, a=A, out=[0] * 8)
