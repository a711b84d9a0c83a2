"""Numbers that came out wrong without a word, reported against kernel compilers. The cases are in `tack.testing.field`."""

import pytest

from tack.ir.types import FLOATS, INTS
from tack.testing import field


@pytest.mark.parametrize("dtype", field.SIGNED + FLOATS, ids=str)
def test_floor_division_and_modulo_of_negatives(dtype):
    field.floor_division_and_modulo(dtype)


@pytest.mark.parametrize(("left", "right"), field.MIXED, ids=str)
def test_mixed_signedness_holds_both_operands(left, right):
    field.mixed_signedness(left, right)


def test_comparisons_count_as_zero_or_one():
    field.comparisons_count_as_zero_or_one()


def test_loop_variable_name_used_again():
    field.loop_variable_name_used_again()


def test_branches_of_int_and_float():
    field.branches_of_int_and_float()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_min_max_prefer_the_number(dtype):
    field.min_max_prefer_the_number(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_runtime_negative_step(dtype):
    field.runtime_step_of_either_sign(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sweeps_forward_and_back(dtype):
    field.sweeps_forward_and_back(dtype)


def test_chained_comparison():
    field.chained_comparison()


def test_one_array_as_input_and_output():
    field.one_array_as_input_and_output()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_literal_takes_the_array_precision(dtype):
    field.literal_takes_the_precision_of_the_array(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_argument_takes_the_array_precision(dtype):
    field.argument_takes_the_precision_of_the_array(dtype)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_shifts(dtype):
    field.shifts(dtype)


def test_integer_division_is_exact():
    field.integer_division_is_exact()
