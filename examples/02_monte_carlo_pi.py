"""Monte-Carlo: pi from random points, with a random stream of its own for each iteration.

    python examples/02_monte_carlo_pi.py

A draw of `tack.random` depends on (seed, stream, counter) alone, so the result is the same on every run, with any number of
threads and on every device, and NumPy can make the same draws.
"""

import numpy as np

import tack
from tack.random import mirror

STREAMS, DRAWS = 4096, 1000


@tack.kernel
def count_hits(hits, seed, draws):
    for i in range(hits.shape[0]):
        inside = 0
        for k in range(draws):
            x, y, z, w = tack.random.uniform4_f32(seed, i, k)  # two points
            inside += x * x + y * y < 1.0
            inside += z * z + w * w < 1.0
        hits[i] = inside


def main() -> None:
    """Estimates pi with its standard error, and draws one stream again in NumPy."""
    hits = tack.empty(STREAMS, dtype=tack.i32)
    count_hits(hits, 2024, DRAWS)

    points = 2 * STREAMS * DRAWS
    estimate = 4 * hits.sum() / points
    error = 4 * np.sqrt(np.pi / 4 * (1 - np.pi / 4) / points)
    print(f"{points:,} points: pi is about {estimate:.5f} (off by {estimate - np.pi:+.5f}, standard error {error:.5f})")
    assert abs(estimate - np.pi) < 4 * error

    x, y, z, w = (values.astype(np.float64) for values in mirror.uniform4_f32(2024, 17, np.arange(DRAWS)))
    again = np.count_nonzero(x * x + y * y < 1) + np.count_nonzero(z * z + w * w < 1)
    print(f"stream 17 hit {hits[17]} times; NumPy's draws of it {again} times")
    assert again == hits[17]


if __name__ == "__main__":
    main()
