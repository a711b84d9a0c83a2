"""Things people asked for, as far as Tack's documents promise them. What any device can do is in `tack.testing.field`."""

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES
from tack.testing import field

# F01: atomics on every array type the CPU has


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_atomic_add_counts_every_iteration(dtype):
    field.atomic_add_counts_every_iteration(dtype)


@pytest.mark.parametrize("dtype", [tack.i32, tack.i64, tack.u32], ids=str)
def test_histogram(dtype):
    field.histogram(dtype)


# F03: two and three indices


def test_two_indices():
    field.two_indices()


def test_three_indices():
    field.three_indices()


# F04: group primitives on a device without groups


def test_group_primitives_are_refused_on_the_cpu():
    @tack.kernel
    def grouped(x, out):
        for i in range(x.shape[0]):
            if x[i] > 1e30:
                tack.barrier()
            out[i] = x[i]

    x = tack.array(np.arange(4, dtype=np.float32))
    out = tack.array(np.full(4, 9.0, dtype=np.float32))
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            grouped(x, out)
        assert "grouped" in str(caught.value)
        assert out.numpy().tolist() == [9.0] * 4
    with pytest.raises(NotImplementedError):
        tack.inspect(grouped, x, out, mode="source")


# F05: seeing what was generated does not run it


def test_inspect_shows_and_does_not_run():
    field.inspect_shows_and_does_not_run()


# F02: device functions that give two values, and a swap


def test_two_results():
    field.two_results()


def test_swap_in_one_statement():
    field.swap_in_one_statement()
