"""The kernels whose calls are measured; those of the throughput rows are `tack.testing.throughput`'s."""

from __future__ import annotations

import tack


@tack.kernel
def one_array(x, a):
    for i in range(x.shape[0]):
        x[i] = x[i] * a


@tack.kernel
def three_arrays(x, y, out, a):
    for i in range(x.shape[0]):
        out[i] = a * (x[i] + y[i])


@tack.kernel
def eight_arrays(a, b, c, d, e, f, g, out, s):
    for i in range(a.shape[0]):
        out[i] = s * (a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i])


@tack.kernel
def of_object(line, a):
    for i in range(line.x.shape[0]):
        line.out[i] = a * (line.x[i] + line.y[i])
