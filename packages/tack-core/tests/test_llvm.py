"""The LLVM emitter's numbers: every row of the op table with every type, against the table's NumPy meaning."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from llvm_unit import Unit
from op_matrix import (
    OpCase,
    cast_cases,
    constant_kernel,
    constants,
    elementwise,
    grid,
    literal_cases,
    op_cases,
    operand,
    same,
    stored,
    values,
)

from tack.ir.nodes import IRFunc, IROp
from tack.ir.numerics import convert, evaluate
from tack.ir.types import BOOL, FLOATS, INTS, ScalarType, f32, f64, i8, i32, i64, u8, u64

Cast = tuple[str, ScalarType, ScalarType, IRFunc]
OPS, CASTS = list(op_cases()), list(cast_cases())


def _compiled_well(operands: tuple[ScalarType, ...]) -> bool:
    """The selection that is tested as the product compiles it too; the whole table would take LLVM a quarter of a minute."""
    return len(set(operands)) == 1 and operands[0] in (f32, f64, i8, i32, i64, u8, u64, BOOL)


# Cells without LLVM's passes are all there; with them (vectorized, inlined) there is a selection.
CELLS = [(opt, case) for case in OPS for opt in (0, 3) if opt == 0 or _compiled_well(case.operands)]
CAST_CELLS = [(opt, cast) for cast in CASTS for opt in (0, 3) if opt == 0 or f32 in cast[1:3] or cast[1:3] == (f64, i64)]


def cell_id(value: object) -> str:
    return value.name if isinstance(value, OpCase) else value[0] if isinstance(value, tuple) else f"O{value}"


@cache
def unit(opt: int) -> Unit:
    kernels = [(case.name, case.func) for level, case in CELLS if level == opt]
    kernels += [(cast[0], cast[3]) for level, cast in CAST_CELLS if level == opt]
    if opt == 0:
        kernels += [(name, constant_kernel(t, value)) for name, t, value in constants()]
    return Unit(kernels, opt=opt)


def run(compiled: Unit, name: str, inputs: list[np.ndarray], result: ScalarType) -> np.ndarray:
    out = np.full(inputs[0].size + 70, 77).astype(stored(result).numpy)
    assert compiled(name, *inputs, out, inputs[0].size) == inputs[0].size
    assert (out[-70:] == 77).all()
    return out[:-70]


@pytest.mark.rule("T4", "T5", "T6", "T7", "T10", "T11", "T12")
@pytest.mark.parametrize(("opt", "case"), CELLS, ids=cell_id)
def test_operations_have_the_values_of_the_op_table(opt: int, case: OpCase) -> None:
    inputs = grid(case.operands)
    args = [x != 0 if t is BOOL else x for t, x in zip(case.operands, inputs, strict=True)]
    if case.literal is not None:
        args.append(np.int32(case.literal))
    expected = np.asarray(evaluate(case.op, case.result, args)).astype(stored(case.result).numpy)
    actual = run(unit(opt), case.name, inputs, case.result)
    wrong = ~same(actual, expected)
    assert not wrong.any(), [*(x[wrong][:5] for x in inputs), actual[wrong][:5], expected[wrong][:5]]


@pytest.mark.rule("T4", "T7", "T9")
@pytest.mark.parametrize(("opt", "cast"), CAST_CELLS, ids=cell_id)
def test_casts_have_the_values_of_the_op_table(opt: int, cast: Cast) -> None:
    name, source, target, _ = cast
    data = values(source)
    expected = np.asarray(convert(data != 0 if source is BOOL else data, source, target)).astype(stored(target).numpy)
    actual = run(unit(opt), name, [data], target)
    wrong = ~same(actual, expected)
    assert not wrong.any(), (data[wrong][:5], actual[wrong][:5], expected[wrong][:5])


@pytest.mark.rule("T2b", "T8")
def test_literals_are_exact() -> None:
    """Limits, denormals, infinities, NaN and -0.0; floats are rounded once from their double."""
    for name, t, value in constants():
        actual = run(unit(0), name, [np.zeros(1, t.numpy)], t)
        assert same(actual, np.array([value], t.numpy)).all(), (name, value, actual)


@pytest.mark.rule("T4", "T5", "T6", "T10")
def test_literal_operands_change_no_value() -> None:
    cases = literal_cases()
    compiled = Unit([(name, func) for name, func, *_ in cases], opt=1)
    for name, _, op, t, other, value, first in cases:
        data = values(t)
        with np.errstate(all="ignore"):
            args = [data, other.numpy.type(value)]
        expected = np.asarray(evaluate(op, t, args[::-1] if first else args))
        actual = run(compiled, name, [data], t)
        wrong = ~same(actual, expected)
        assert not wrong.any(), (name, value, data[wrong][:5], actual[wrong][:5], expected[wrong][:5])


@pytest.mark.rule("T5")
@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_remainders_near_multiples_of_the_divisor(t: ScalarType, fma: bool) -> None:
    """Operands whose quotient rounds up to a whole number, and quotients and divisors at the limits of the quick way."""
    rng = np.random.default_rng(1)
    divisors = np.concatenate([rng.uniform(0.1, 9, 300), 2.0 ** rng.uniform(-140, 130, 300)]).astype(t.numpy)
    divisors = np.concatenate([divisors, -divisors])
    whole = np.floor(2.0 ** rng.uniform(0, t.bits * 0.9, divisors.size))
    with np.errstate(all="ignore"):
        near = (whole * divisors).astype(t.numpy)
        inputs = [
            np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, t.numpy.type(np.inf)), -near]),
            np.tile(divisors, 4),
        ]
    ops = ("mod", "floordiv", "fmod")
    compiled = Unit(
        [(op, replace(elementwise(op, [t, t], IROp(op, (operand(0, t), operand(1, t)), t), t), fma=fma)) for op in ops]
    )
    for op in ops:
        expected = evaluate(op, t, inputs)
        actual = run(compiled, op, inputs, t)
        wrong = ~same(actual, expected)
        assert not wrong.any(), (op, [x[wrong][:3] for x in inputs], actual[wrong][:3], expected[wrong][:3])


@pytest.mark.rule("T4")
def test_integers_of_every_width_wrap_in_python_s_terms() -> None:
    """Against big integers, not NumPy: sums and products at the limits of each type."""
    compiled = Unit(
        [
            (f"{op}{t.name}", elementwise(op, [t, t], IROp(op, (operand(0, t), operand(1, t)), t), t))
            for op in ("add", "sub", "mul")
            for t in INTS
        ],
        opt=1,
    )
    big = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
    for t in INTS:
        a, b = grid((t, t))
        for op, exact in big.items():
            wrapped = [(exact(x, y) - t.min) % 2**t.bits + t.min for x, y in zip(a.tolist(), b.tolist(), strict=True)]
            assert run(compiled, f"{op}{t.name}", [a, b], t).tolist() == wrapped
