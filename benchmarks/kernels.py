"""The kernels that are measured, as a user would write them."""

from __future__ import annotations

import tack


@tack.kernel
def saxpy(x, y, out, a):
    for i in range(x.shape[0]):
        out[i] = a * x[i] + y[i]


@tack.kernel
def stencil2d(u, out, c):
    for i, j in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        out[i, j] = u[i, j] + c * (u[i, j - 1] + u[i, j + 1] + u[i - 1, j] + u[i + 1, j] - 4.0 * u[i, j])


@tack.kernel
def stencil3d(u, out, c):
    for i, j, k in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1), (1, u.shape[2] - 1)):
        around = u[i, j, k - 1] + u[i, j, k + 1] + u[i, j - 1, k] + u[i, j + 1, k] + u[i - 1, j, k] + u[i + 1, j, k]
        out[i, j, k] = u[i, j, k] + c * (around - 6.0 * u[i, j, k])


@tack.kernel
def spmv(p, idx, v, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(p[i], p[i + 1]):
            s += v[k] * x[idx[k]]
        y[i] = s


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
