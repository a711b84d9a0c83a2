"""The C emitter: its numbers, by running emitted CUDA C on the CPU, and its text."""

from __future__ import annotations

import numpy as np
import pytest
from host_c import HostUnit
from op_matrix import cast_cases, constant_kernel, constants, grid, literal_cases, op_cases, same, stored, values

from tack.codegen.c_expr import ExprWriter
from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.ir.numerics import convert, evaluate
from tack.ir.types import BOOL, ScalarType

ELEMENTARY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "hypot", "erf", "erfc",
}  # fmt: skip


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> HostUnit:
    kernels = [(case.func, case.name) for case in op_cases()]
    kernels += [(func, name) for name, _, _, func in cast_cases()]
    kernels += [(constant_kernel(t, value), name) for name, t, value in constants()]
    kernels += [(case[1], case[0]) for case in literal_cases()]
    return HostUnit(kernels, tmp_path_factory.mktemp("ops"))


def run(unit: HostUnit, name: str, inputs: list[np.ndarray], result: ScalarType) -> np.ndarray:
    n = inputs[0].size
    out = np.full(n + 300, 77).astype(stored(result).numpy)
    unit.run(name, [*inputs, out, n])
    assert (out[n:] == 77).all(), "lanes beyond the count ran"
    return out[:n]


@pytest.mark.rule("T4", "T5", "T6", "T7", "T10", "T11", "T12")
@pytest.mark.parametrize("case", list(op_cases()), ids=lambda case: case.name)
def test_operations_have_the_values_of_the_op_table(unit: HostUnit, case) -> None:
    inputs = grid(case.operands)
    actual = run(unit, case.name, inputs, case.result)
    args = [a != 0 if t is BOOL else a for a, t in zip(inputs, case.operands, strict=True)]
    if case.literal is not None:
        args.append(np.int32(case.literal))
    expected = np.asarray(evaluate(case.op, case.result, args)).astype(stored(case.result).numpy)
    if case.op in ELEMENTARY or (case.op == "pow" and case.result.is_float):
        np.testing.assert_allclose(actual, expected, rtol=4 * np.finfo(case.result.numpy).eps)
        return
    wrong = ~same(actual, expected)
    assert not wrong.any(), [*(a[wrong][:5] for a in inputs), actual[wrong][:5], expected[wrong][:5]]


@pytest.mark.rule("T4", "T7", "T9")
@pytest.mark.parametrize(("name", "source", "target"), [case[:3] for case in cast_cases()])
def test_casts_have_the_values_of_the_op_table(unit: HostUnit, name: str, source: ScalarType, target: ScalarType) -> None:
    data = values(source)
    actual = run(unit, name, [data], target)
    expected = np.asarray(convert(data != 0 if source is BOOL else data, source, target)).astype(stored(target).numpy)
    wrong = ~same(actual, expected)
    assert not wrong.any(), (data[wrong][:5], actual[wrong][:5], expected[wrong][:5])


@pytest.mark.rule("T2b", "T8")
def test_literals_are_exact(unit: HostUnit) -> None:
    """Limits, denormals, infinities, NaN and -0.0; floats are rounded once from their double."""
    for name, t, value in constants():
        actual = run(unit, name, [np.zeros(1, t.numpy)], t)
        assert same(actual, np.array([value], t.numpy)).all(), (name, value, actual)


@pytest.mark.rule("T4", "T5", "T6", "T10")
def test_literal_operands_change_no_value(unit: HostUnit) -> None:
    for name, _, op, t, other, value, first in literal_cases():
        data = values(t)
        with np.errstate(all="ignore"):
            args = [data, other.numpy.type(value)]
        expected = np.asarray(evaluate(op, t, args[::-1] if first else args))
        actual = run(unit, name, [data], t)
        wrong = ~same(actual, expected)
        assert not wrong.any(), (name, value, data[wrong][:5], actual[wrong][:5], expected[wrong][:5])


def test_a_float_literal_rounds_once_and_overflows_to_infinity() -> None:
    from tack.ir.types import f32

    assert CUDA.literal(0.1, f32) == "0x1.99999ap-4f"
    assert CUDA.literal(1e300, f32) == "__uint_as_float(0x7f800000u)"
    assert CUDA.literal(0.5, f32) == "0.5f"


def test_only_used_helpers_are_emitted_and_each_once() -> None:
    text = emit_kernel(next(c.func for c in op_cases() if c.name == "mod_i32_i32"), CUDA, "k")
    assert text.count("__device__") == 1
    assert text.count("tack_mod_i32(i32 a") == 1


def test_the_host_unit_sees_undefined_behaviour(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instrument itself: additions written as C's own are caught."""
    monkeypatch.setitem(ExprWriter._BY_OP, "add", ExprWriter._plain)
    case = next(c for c in op_cases() if c.name == "add_i32_i32")
    unit = HostUnit([(case.func, "add")], tmp_path)
    with pytest.raises(AssertionError, match=r"undefined behaviour in C: *v_value = v_in0\[v_i\] \+ v_in1\[v_i\];"):
        run(unit, "add", grid(case.operands), case.result)
