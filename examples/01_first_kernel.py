"""A first kernel: y = a * x + y for a million elements, compared with NumPy.

    python examples/01_first_kernel.py

The `for` loop directly in a kernel's body is the parallel loop: its iterations have no order and are spread over the cores.
"""

import numpy as np

import tack


@tack.kernel
def axpy(y, x, a):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


def main() -> None:
    """Runs the kernel twice, the second time with other types, and checks both results."""
    x = tack.linspace(0.0, 1.0, 1_000_000)
    y = tack.ones_like(x)
    axpy(y, x, 2.5)  # the first call compiles the kernel for these types

    got = y.numpy()
    error = np.abs(got - (2.5 * x.numpy() + 1)).max()
    print(f"{y.size:,} elements of {y.dtype} on {y.device}; the largest difference to NumPy is {error:.1e}")
    assert error < 1e-6

    ints = tack.arange(5)
    sums = tack.full(5, 100, dtype=tack.i64)
    axpy(sums, ints, 3)  # integers: another variant of the same kernel
    print("integers:", sums.numpy())
    np.testing.assert_array_equal(sums.numpy(), 100 + 3 * np.arange(5))


if __name__ == "__main__":
    main()
