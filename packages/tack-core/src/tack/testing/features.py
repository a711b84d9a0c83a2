"""What else a device must do: debug mode, `print`, textures, vectors, classes, names, random numbers, arrays on the host's side.

Expected values come from NumPy and Python. Knows no backend.
"""

from __future__ import annotations

import io
import math
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

import tack
from tack.ir.types import DTYPES, ScalarType, f32, i32, i64, u32
from tack.runtime import debug
from tack.testing.cases import Case, arr, refused, same
from tack.testing.sources import define, kernel_from

__all__ = ["CASES"]

# --------------------------------------------------------------------------------------------------------- debug mode


@tack.kernel
def _ahead(x, out, shift):
    for i in range(out.shape[0]):
        out[i] = x[i + shift]


@tack.kernel
def _poke(out, row, column):
    for _ in range(1):
        out[row, column] = 5


def _debug_mode() -> None:
    """M1: an index outside is reported with kernel, place, array, index and size, and nothing outside is written."""
    before = debug.is_on()
    debug.set_debug(True)
    try:
        x, out = arr(np.arange(600), f32), arr(np.full(600, 9), f32)
        words = "'_ahead'", "index 60", "'x', which has 600 elements", "features.py"
        refused(lambda: _wait(_ahead, x, out, 2), IndexError, *words)
        same(out.numpy(), np.array([*range(2, 600), 9, 9], np.float32), "an iteration ends where a check fails")
        _ahead(x, out, 0)
        same(out.numpy(), x.numpy(), "after an error")
        whole = arr(np.zeros((6, 8)), i32)
        for row, column in ((0, 8), (2, 0), (1, -1), (-1, 0), (2**40, 0)):
            refused(lambda row=row, column=column: _wait(_poke, whole[2:4], row, column), IndexError, "'_poke'", "'out'")
        same(whole.numpy(), np.zeros((6, 8), np.int32), "nothing outside is written")
    finally:
        debug.set_debug(before)


def _wait(kernel: Any, *args: Any) -> None:
    kernel(*args)
    tack.get_default_device().synchronize()


# -------------------------------------------------------------------------------------------------------------- print


def _printed(call: Callable[[], object]) -> list[str]:
    """The lines that a call prints, through Python or past it, sorted."""
    sys.stdout.flush()
    kept = os.dup(1)
    text = io.StringIO()
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            with redirect_stdout(text):
                call()
                tack.get_default_device().synchronize()
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return sorted([*text.getvalue().splitlines(), *file.read().decode().splitlines()])


def _prints_whole_lines() -> None:
    """P1: one call is one line, for strings, numbers of every width, truth values and fields."""
    kernel = kernel_from(
        "@tack.kernel\ndef k(n):\n    for i in range(n):\n        if i % 3 == 0:\n"
        "            print('line', i, f'of {n}: {i * 1099511627776}', i > 4, '100% é \\\\ \"?\"', sep=' | ')\n"
    )
    expected = [f'line | {i} | of 700: {i << 40} | {i > 4} | 100% é \\ "?"' for i in range(0, 700, 3)]
    same(_printed(lambda: kernel(700)), sorted(expected))
    same(_printed(lambda: kernel(0)), [])


def _prints_numbers(t: ScalarType) -> None:
    """The ends of each type, and floats with as many digits as give them back."""
    values = [t.min, t.max, 7] if t.is_int else [0.1, -1 / 3, 1e10, 1.5e-7, float(np.finfo(t.numpy).max), math.inf]
    kernel = kernel_from("@tack.kernel\ndef k(x):\n    for i in range(x.shape[0]):\n        print(i, x[i])\n")
    x = np.array(values, t.numpy)
    found = dict(line.split(" ") for line in _printed(lambda: kernel(tack.array(x))))
    read = [int(found[str(k)]) if t.is_int else float(found[str(k)]) for k in range(len(x))]
    same(np.array(read, t.numpy), x)


# ----------------------------------------------------------------------------------------------------------- textures

_SAMPLER = """
@tack.kernel
def sampled(tex, u, v, w, out):
    for i in range(out.shape[0]):
        out[i] = tex.sample(u[i], v[i], w[i])
"""


def _trilinear(a: Any, u: Any, v: Any, w: Any) -> Any:
    """In f64, of texels indexed [z, y, x], with edges that continue."""
    total = np.zeros(np.shape(u))
    axes: list[Any] = []
    for c, n in zip((w, v, u), a.shape, strict=True):
        x = np.clip(np.asarray(c, np.float64) * n - 0.5, 0, n - 1)
        low = np.floor(x).astype(int)
        axes.append(((low, 1 - (x - low)), (np.minimum(low + 1, n - 1), x - low)))
    for z, wz in axes[0]:
        for y, wy in axes[1]:
            for x, wx in axes[2]:
                total += a[z, y, x].astype(np.float64) * wz * wy * wx
    return total


def _sample(tex: Any, *places: Any) -> Any:
    out = arr(np.full(len(places[0]), 77), f32)
    kernel_from(_SAMPLER)(tex, *(arr(c, f32) for c in places), out)
    return out.numpy()


def _linear_textures() -> None:
    """Inside, outside and at texel centres. Hardware has weights of 8 bits, which may be off by 1/256 on each axis."""
    rng = np.random.default_rng(3)
    hardware = tack.get_default_device()._backend.capabilities.supports_textures
    for shape in ((3, 5, 7), (1, 4, 6), (2, 1, 9), (1, 1, 1), (4, 8, 16)):
        a = rng.uniform(-1, 1, shape).astype(np.float32)
        u, v, w = rng.uniform(-0.5, 1.5, (3, 2000)).astype(np.float32)
        got = _sample(tack.texture3d(a), u, v, w)
        off = float(np.abs(got - _trilinear(a, u, v, w)).max())
        most = 3 * float(a.max() - a.min()) / 256 if hardware else 2e-6
        same(off <= most, True, f"texture of {shape}: off by {off}, at most {most}")
    z, y, x = (c.ravel() for c in np.indices((4, 8, 16)))
    a = rng.uniform(-1, 1, (4, 8, 16)).astype(np.float32)
    centres = (x + 0.5) / 16, (y + 0.5) / 8, (z + 0.5) / 4
    same(_sample(tack.texture3d(a), *centres), a.ravel(), "texel centres hold the texels")


def _nearest_textures() -> None:
    """The texel in which a place lies, and the edges' outside; `update()` copies again."""
    rng = np.random.default_rng(4)
    a = tack.array(rng.uniform(-1, 1, (4, 8, 16)).astype(np.float32))
    tex = tack.texture3d(a, interp="nearest")
    x, y, z = (rng.integers(-n, 2 * n, 2000) for n in (16, 8, 4))
    part = rng.uniform(0.05, 0.95, (3, 2000))  # away from borders, where hardware may round the place
    places = [(c + p) / n for c, p, n in zip((x, y, z), part, (16, 8, 4), strict=True)]
    index = tuple(np.clip(c, 0, n - 1) for c, n in ((z, 4), (y, 8), (x, 16)))
    same(_sample(tex, *places), a.numpy()[index])
    a.fill(3)
    same(_sample(tex, *places) == 3, np.zeros(2000, bool), "before update()")
    tex.update()
    same(_sample(tex, *places), np.full(2000, 3, np.float32), "after update()")


# ------------------------------------------------------------------------------------- vectors, classes, names, random


def _vectors_and_matrices() -> None:
    """Elements with components: arithmetic, products and stores per component. All values are small integers, so exact."""
    rng = np.random.default_rng(5)
    x, y = (rng.integers(-9, 9, (500, 3)).astype(np.float32) for _ in range(2))
    m = rng.integers(-5, 5, (500, 3, 3)).astype(np.float32)
    vectors = [tack.empty(500, tack.vec3) for _ in range(4)]
    matrices = tack.empty(500, tack.mat3)
    for array, values in ((vectors[0], x), (vectors[1], y), (matrices, m)):
        tack.copyto(array, values)
    dots = tack.zeros(500)
    kernel_from(
        "@tack.kernel\ndef k(x, y, m, sums, turned, dots):\n    for i in range(x.shape[0]):\n"
        "        sums[i] = 2 * x[i] - y[i] + tack.vec3(1, 2, i)\n        turned[i] = m[i] @ x[i]\n"
        "        turned[i].y += 1.0\n        dots[i] = x[i].dot(y[i]) + m[i][2, 0]\n"
    )(vectors[0], vectors[1], matrices, vectors[2], vectors[3], dots)
    i = np.arange(500)
    same(vectors[2].numpy(), 2 * x - y + np.stack([i * 0 + 1, i * 0 + 2, i], 1).astype(np.float32), "sums")
    turned = np.einsum("nij,nj->ni", m, x)
    turned[:, 1] += 1
    same(vectors[3].numpy() + np.float32(0), turned + np.float32(0), "matrix times vector")
    same(dots.numpy() + np.float32(0), (x * y).sum(1) + m[:, 2, 0] + np.float32(0), "dot products")


_CLASSES = """
@tack.func
def first_above(line, x, limit):
    for k in range(8):
        if line.at(x, k) > limit:
            return k
    return -1

@tack.device_class
class Line:
    __tack_iterate__ = ("n",)
    scale = 2

    def __init__(self, offset, table, n):
        self.offset = offset
        self.table = table
        self.n = n

    @tack.func
    def at(self, x, k):
        return self.table[k] * self.scale + x + self.offset

@tack.kernel
def k(line, out):
    for i in line:
        out[i] = first_above(line, i, 20)
"""


def _classes_and_functions() -> None:
    """An object with a constant, a number, an array and methods; a function that returns from inside a loop."""
    space = define(_CLASSES)
    table = np.array([0, 1, 4, 9, 16, 25, 36, 49], np.int32)
    for offset in (0, 3):
        out = arr(np.full(30, 77), i32)
        space["k"](space["Line"](offset, tack.array(table), 30), out)
        above = table * 2 + np.arange(30)[:, None] + offset > 20
        same(out.numpy(), np.where(above.any(1), above.argmax(1), -1), f"offset {offset}")


def _names() -> None:
    """N4: words of C, of vendors and of no ASCII letters are names like others."""
    kernel = kernel_from(
        "@tack.kernel\ndef größe(float, int, blockIdx, λ, out, threadIdx, __global__):\n    double = λ * 2\n"
        "    for main in range(out.shape[0]):\n        struct = blockIdx[main] + double\n"
        "        out[main] = struct + float + int + threadIdx + __global__\n"
    )
    out = arr(np.zeros(300), i64)
    kernel(1, 2, arr(np.arange(300), i32), 5, out, 100, 1000)
    same(out.numpy(), np.arange(300) + 10 + 1103)


def _random_bits() -> None:
    """The counter-based generator draws NumPy's mirror's values, bit for bit."""
    out = [arr(np.zeros(2000), u32) for _ in range(4)] + [arr(np.zeros(2000), f32)]
    kernel_from(
        "@tack.kernel\ndef k(seed, a, b, c, d, u):\n    for i in range(a.shape[0]):\n"
        "        a[i], b[i], c[i], d[i] = tack.random.bits4_u32(seed, i, 7)\n        u[i] = tack.random.uniform_f32(seed, 3, i)\n"
    )(2**40 + 1, *out)
    mirror, i = tack.random.mirror, np.arange(2000)
    for got, expected in zip(out, (*mirror.bits4_u32(2**40 + 1, i, 7), mirror.uniform_f32(2**40 + 1, 3, i)), strict=True):
        same(got.numpy(), expected)


def _control_flow() -> None:
    """While loops, breaks and continues that differ from iteration to iteration: Collatz lengths below 3,000."""
    kernel = kernel_from(
        "@tack.kernel\ndef k(out):\n    for i in range(1, out.shape[0]):\n        n = i\n        steps = 0\n"
        "        while True:\n            if n == 1:\n                break\n            steps += 1\n            if n % 2:\n"
        "                n = 3 * n + 1\n                continue\n            n //= 2\n        out[i] = steps\n"
    )
    expected = [0]
    for k in range(1, 3000):
        n, steps = k, 0
        while n != 1:
            n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
        expected.append(steps)
    out = arr(np.zeros(3000), i64)
    kernel(out)
    same(out.numpy(), expected)


# ------------------------------------------------------------------------------------------------------------- arrays


def _copies(t: ScalarType) -> None:
    """Constructors, conversions, slices, copies and the way through the CPU keep every value."""
    x = (np.arange(3000) * 37 % 251 - (125 if t.kind != "uint" else 0)).astype(t.numpy).reshape(30, 100)
    a = tack.array(x)
    same(a.numpy(), x)
    same(a[3:20].numpy(), x[3:20], "a slice")
    same(a.reshape(-1).numpy(), x.ravel(), "reshape")
    same(a[7, 99], x[7, 99], "an element")
    same(a.to_device("cpu").numpy(), x, "to the CPU")
    same(a.to_device("cpu").to_device(tack.get_default_device()).numpy(), x, "there and back")
    same(tack.concatenate([a[:2], a[28:]]).numpy(), np.concatenate([x[:2], x[28:]]), "concatenate")
    b = a.copy()
    tack.copyto(b[1:], b[:-1])
    same(b.numpy(), np.concatenate([x[:1], x[:-1]]), "an overlapping copy")
    a[5, 6] = 3
    x[5, 6] = 3
    same(a.numpy(), x, "an element written")
    same(tack.full(7, 3, t).numpy(), np.full(7, 3, t.numpy), "full")
    same(tack.arange(5, dtype=t).numpy(), np.arange(5).astype(t.numpy), "arange")


def _reductions(t: ScalarType) -> None:
    """Sums of integers are exact, those of floats near the exact sum; NaN propagates through extremes."""
    rng = np.random.default_rng(6)
    for n in (1, 255, 257, 100_003):
        x = rng.integers(t.min, t.max, n, t.numpy, endpoint=True) if t.is_int else rng.uniform(-1, 3, n).astype(t.numpy)
        a = tack.array(x)
        same(a.min(), x.min().item(), f"min of {n}")
        same(a.max(), x.max().item(), f"max of {n}")
        if t.is_int:
            total = sum(map(int, x))
            same(a.sum() % 2**64, total % 2**64, f"sum of {n}")
        else:
            exact, size = math.fsum(map(float, x)), math.fsum(map(abs, map(float, x)))
            near = abs(a.sum() - exact) <= 4 * float(np.finfo(t.numpy).eps) * size
            same(near, True, f"sum of {n}: {a.sum()!r}, not {exact!r}")
            a[n // 2] = math.nan
            same((a.min(), a.max()), (math.nan, math.nan), "extremes with NaN")


def _exchange() -> None:
    """DLPack hands an array of the device on without a copy: each side sees what the other writes."""
    a = arr(np.arange(100), f32)
    b = tack.from_dlpack(a)
    same(str(b.device), str(a.device))
    b[3] = 77
    same(a[3], 77.0)
    _ahead(a, b, 0)
    same(b.numpy(), a.numpy())


def _waiting_from_asyncio() -> None:
    """`numpy_async` has what the launches before it have stored, and `sync_async` returns."""
    import asyncio  # which nothing else here needs

    async def program() -> Any:
        x, out = arr(np.arange(5000), f32), arr(np.zeros(5000), f32)
        _ahead(x, out, 0)
        found = await out.numpy_async()
        _ahead(out, x, 0)
        await tack.sync_async()
        return found

    same(asyncio.run(program()), np.arange(5000, dtype=np.float32))


CASES = (
    Case("debug mode", _debug_mode),
    Case("print lines", _prints_whole_lines, needs="supports_print"),
    Case("print numbers", _prints_numbers, DTYPES, needs="supports_print"),
    Case("linear textures", _linear_textures),
    Case("nearest textures", _nearest_textures),
    Case("vectors and matrices", _vectors_and_matrices),
    Case("classes and functions", _classes_and_functions),
    Case("names", _names),
    Case("random bits", _random_bits),
    Case("control flow", _control_flow),
    Case("copies", _copies, DTYPES),
    Case("reductions", _reductions, DTYPES),
    Case("exchange by DLPack", _exchange),
    Case("waiting from asyncio", _waiting_from_asyncio),
)
