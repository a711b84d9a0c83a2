"""Tiny kernels whose emitted text is kept: one for each thing that an emitter or a pass does in its own way."""

import math

import numpy as np

import tack

STEPS = tack.constant(4)
SCALE = tack.constant(0.1)


@tack.kernel
def saxpy(x, y, a):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


@tack.kernel
def integers(a, b, out):
    for i in range(len(out)):
        q, r = a[i] // b[i], a[i] % b[i]
        out[i] = (q << 3) ^ (r >> b[i]) | ~a[i] + r**2


@tack.kernel
def casts(x, n, out):
    for i in range(out.size):
        k = tack.i32(x[i])
        out[i] = tack.u8(k) + (x[i] < 0.5) if n[i] and k > 0 else int(-x[i])


@tack.kernel
def literals(out):
    for i in range(3):
        out[i] = SCALE * i + math.pi + (1.0 / 3) + (math.inf if i else -0.0)


@tack.kernel
def extremes(x, out):
    for i in range(x.shape[0]):
        out[i] = min(x[i], 1.0) + max(x[i], abs(x[i]), 0.5) + round(x[i]) + x[i] ** 3 + x[i] ** -1 + math.sqrt(x[i])


@tack.kernel
def stencil(u, out, k):
    for i, j in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        out[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] - 2 * u[i, j])


@tack.kernel
def window(x, out, first, last, step):
    n = last - 1
    scale = x[0]
    for i in range(first, n, step):
        out[i] = x[i] * scale


@tack.kernel
def rows(start, value, out):
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k]
        out[i] = total


@tack.kernel
def countdown(n, out):
    for i in range(len(out)):
        steps = 0
        v = n[i]
        while v > 1:
            if v % 2:
                v = 3 * v + 1
                continue
            v //= 2
            steps += 1
            if steps > 100:
                break
        out[i] = steps


@tack.func
def first_above(x, limit):
    for k in range(STEPS):
        if x[k] > limit:
            return k
    return -1


@tack.kernel
def inlined(x, limit, out):
    for i in range(len(out)):
        k = first_above(x, limit[i])
        out[i] = k if k >= 0 or first_above(x, -limit[i]) > 1 else 7


@tack.kernel
def shared_storage(double, restrict, größe):
    for int in range(1, größe):
        double[int] = restrict[int] + restrict[int - 1]


@tack.kernel
def selects(x, out):
    for i in range(9, -1, -3):
        first: tack.f64 = x[i]
        out[i] = tack.select(first > 0 and not first == 2, first, math.copysign(first, -1.0)) // 0.3


@tack.kernel
def histogram(x, bins, least):
    for i in range(x.shape[0]):
        old = tack.atomic_add(bins, int(x[i] + 3.0), 1)
        if old == 0:
            tack.atomic_min(least, 0, x[i])


@tack.kernel
def ring(x, out):
    last = tack.local_array_like(x, STEPS)
    for i in range(x.shape[0]):
        for k in range(STEPS):
            last[k] = x[max(i - k, 0)]
        total = 0.0
        for k in range(STEPS):
            total += last[STEPS - 1 - k]
        out[i] = total


@tack.kernel
def mean(x, out) -> float:
    n = len(x)
    for i in range(n):
        out[i] = x[i] * x[i]
    total = 0.0
    if n > 1:
        total = out[0] + out[n - 1]
    return total / n


@tack.kernel
def printed(x, code):
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            print("100%", i, f"{x[i]}: {tack.bitcast(tack.u32, x[i])}", clz(code[i]) + popcount(code[i]), x[i] > 2, sep="; ")


@tack.kernel
def volume(tex, u, v, w, out):
    for i in range(out.shape[0]):
        out[i] = tex.sample(u[i], v[i], w[i]) if u[i] >= 0.0 else 0.0


@tack.kernel
def turned(points, turns, out):
    corner = [0.25, -0.5]
    for i in range(points.shape[0]):
        v = turns[i % 2] @ points[i] * 2.0 + corner
        v[i % 2] += v.dot(points[i])
        out[i] = tack.select(v < 0.0, v.yx, v)
        out[i].x -= 1.0


def _f32(*shape: int) -> np.ndarray:
    return np.linspace(-3, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)


_TURNS = tack.array(_f32(2, 2, 2), tack.mat2)
_SIZES = np.arange(-2, 6, dtype=np.int64)

# Name -> the arguments of the call that the texts are made for.
CALLS = {
    "saxpy": (_f32(8), _f32(8), 2.0),
    "integers": (_SIZES.astype(np.int16), _SIZES.astype(np.int32)[::-1].copy(), _SIZES.copy()),
    "casts": (_f32(8), _SIZES.astype(np.uint8), _SIZES.copy()),
    "literals": (np.zeros(3),),
    "extremes": (_f32(8), _f32(8)),
    "stencil": (_f32(6, 5), _f32(6, 5), 0.25),
    "window": (_f32(8), _f32(8), 1, 8, 2),
    "rows": (np.arange(9, dtype=np.int32) // 3 * 2, _f32(8), _f32(8)),
    "countdown": (_SIZES.astype(np.int32), np.zeros(8, np.uint32)),
    "inlined": (_f32(4), _f32(8), _SIZES.astype(np.int32)),
    "shared_storage": (_f32(8), _f32(8), 8),
    "selects": (np.linspace(-2, 2, 10), np.zeros(10)),
    "histogram": (_f32(64), np.zeros(7, np.uint32), np.ones(1, np.float32)),
    "ring": (_f32(8), _f32(8)),
    "mean": (_f32(8), _f32(8)),
    "printed": (_f32(8), np.arange(8, dtype=np.uint8)),
    "turned": (tack.array(_f32(8, 2), tack.vec2), _TURNS, tack.zeros(8, tack.vec2)),
    "volume": (tack.texture3d(_f32(2, 3, 4)), *(_f32(8) for _ in "uvwo")),
}
