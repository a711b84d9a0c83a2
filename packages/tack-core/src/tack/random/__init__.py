"""Random numbers for kernels: a counter-based generator, as device functions without state.

A draw is a pure function of three integers (each taken modulo 2**64): the `seed` chooses the experiment, the `stream` a sequence
of it (most often the index of the parallel loop), the `counter` the draw in that sequence. So iterations are independent of
one another, of their order and of the device, and each draw can be made again. ``tack.random.mirror`` draws the same from NumPy.

    @tack.kernel
    def hits(count, seed, samples):
        for i in range(count.shape[0]):
            for k in range(samples):
                x, y, _, _ = tack.random.uniform4_f32(seed, i, k)
                if x * x + y * y < 1.0:
                    count[i] += 1

    count = tack.zeros(1000, tack.i64)
    hits(count, 2024, 10_000)
    pi = 4 * count.sum() / (1000 * 10_000)

Two draws with equal seed, stream and counter are equal: give each use of randomness in an iteration a counter of its own (two
functions called with the same three integers share their bits).

The generator is Philox4x32-10 of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC '11, doi:10.1145/2063384.2063405, which passes TestU01's BigCrush. Its key is the seed; the low half of its counter is
`counter`, the high half `stream` (each as two 32-bit words, low word first). It is no cryptographic generator.
"""

from __future__ import annotations

import math as _math

from tack.ir.types import f32, f64, i64, u32, u64
from tack.lang.func import func
from tack.random import mirror

__all__ = [
    "bits2_u64", "bits4_u32", "bits_u32", "bits_u64", "integers", "mirror", "normal2_f64", "normal4_f32", "normal_f32",
    "normal_f64", "philox4x32", "uniform2_f64", "uniform4_f32", "uniform_f32", "uniform_f64",
]  # fmt: skip


@func
def philox4x32(c0, c1, c2, c3, k0, k1):
    """The generator itself: four u32 from a counter of four words and a key of two (Philox4x32-10)."""
    x0, x1, x2, x3 = u32(c0), u32(c1), u32(c2), u32(c3)
    y0, y1 = u32(k0), u32(k1)
    for _ in range(10):
        a = u64(x0) * 0xD2511F53
        b = u64(x2) * 0xCD9E8D57
        x0, x1, x2, x3 = u32(b >> 32) ^ x1 ^ y0, u32(b), u32(a >> 32) ^ x3 ^ y1, u32(a)
        y0 += 0x9E3779B9
        y1 += 0xBB67AE85
    return x0, x1, x2, x3


@func
def bits4_u32(seed, stream, counter):
    """Four u32 of random bits: all that one draw has. It costs what one value costs."""
    key, high, low = u64(seed | 0), u64(stream | 0), u64(counter | 0)  # `| 0` refuses floats
    return philox4x32(u32(low), u32(low >> 32), u32(high), u32(high >> 32), u32(key), u32(key >> 32))


@func
def bits_u32(seed, stream, counter):
    """A u32 of random bits: the first of `bits4_u32`."""
    a, _, _, _ = bits4_u32(seed, stream, counter)
    return a


@func
def bits2_u64(seed, stream, counter):
    """Two u64 of random bits: the words of `bits4_u32` in pairs, the low word first."""
    a, b, c, d = bits4_u32(seed, stream, counter)
    return u64(a) | u64(b) << 32, u64(c) | u64(d) << 32


@func
def bits_u64(seed, stream, counter):
    """A u64 of random bits: the first of `bits2_u64`."""
    a, _ = bits2_u64(seed, stream, counter)
    return a


@func
def _unit_f32(word):
    return f32(word >> 8) * 5.9604644775390625e-08  # 2**-24


@func
def _unit_f64(word):
    return f64(word >> 11) * 1.1102230246251565e-16  # 2**-53


@func
def uniform4_f32(seed, stream, counter):
    """Four f32 in [0, 1), never 1: multiples of 2**-24, each equally likely."""
    a, b, c, d = bits4_u32(seed, stream, counter)
    return _unit_f32(a), _unit_f32(b), _unit_f32(c), _unit_f32(d)


@func
def uniform_f32(seed, stream, counter):
    """An f32 in [0, 1), never 1: the first of `uniform4_f32`."""
    return _unit_f32(bits_u32(seed, stream, counter))


@func
def uniform2_f64(seed, stream, counter):
    """Two f64 in [0, 1), never 1: multiples of 2**-53, each equally likely."""
    a, b = bits2_u64(seed, stream, counter)
    return _unit_f64(a), _unit_f64(b)


@func
def uniform_f64(seed, stream, counter):
    """An f64 in [0, 1), never 1: the first of `uniform2_f64`."""
    return _unit_f64(bits_u64(seed, stream, counter))


@func
def _mulhi(a, b):
    """The high 64 bits of the product of two u64."""
    low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)
    middle = (a >> 32) * (b & 0xFFFFFFFF) + (low >> 32)
    other = (a & 0xFFFFFFFF) * (b >> 32) + (middle & 0xFFFFFFFF)
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)


@func
def integers(seed, stream, counter, low, high):
    """An i64 in [low, high); low where that is empty. low and high are integers of i64's range.

    All 128 bits of the draw are scaled to the interval, so no value is more likely than another by more than 2**-64.
    """
    first, end = i64(low | 0), i64(high | 0)
    size = u64(end - first) if end > first else 0
    b, a = bits2_u64(seed, stream, counter)
    carry = _mulhi(b, size)
    middle = a * size + carry
    return first + i64(_mulhi(a, size) + (middle < carry))


@func
def _box_muller_f32(radius, angle):
    u = f32(radius) * 2.3283064365386963e-10 + 1.1641532182693481e-10  # (0, 1]: steps of 2**-32, from 2**-33
    r = _math.sqrt(-2.0 * _math.log(u))
    phi = _unit_f32(angle) * 6.283185307179586
    return r * _math.cos(phi), r * _math.sin(phi)


@func
def _box_muller_f64(radius, angle):
    u = f64(radius) * 5.421010862427522e-20 + 2.710505431213761e-20  # (0, 1]: steps of 2**-64, from 2**-65
    r = _math.sqrt(-2.0 * _math.log(u))
    phi = _unit_f64(angle) * 6.283185307179586
    return r * _math.cos(phi), r * _math.sin(phi)


@func
def normal4_f32(seed, stream, counter):
    """Four independent f32 of the standard normal distribution (mean 0, variance 1), below 6.8 in magnitude.

    G. Box and M. Muller, "A note on the generation of random normal deviates", 1958, doi:10.1214/aoms/1177706645.
    """
    a, b, c, d = bits4_u32(seed, stream, counter)
    x, y = _box_muller_f32(a, b)
    z, w = _box_muller_f32(c, d)
    return x, y, z, w


@func
def normal_f32(seed, stream, counter):
    """An f32 of the standard normal distribution: the first of `normal4_f32`."""
    x, _, _, _ = normal4_f32(seed, stream, counter)
    return x


@func
def normal2_f64(seed, stream, counter):
    """Two independent f64 of the standard normal distribution (mean 0, variance 1), below 9.5 in magnitude (Box-Muller)."""
    a, b = bits2_u64(seed, stream, counter)
    x, y = _box_muller_f64(a, b)
    return x, y


@func
def normal_f64(seed, stream, counter):
    """An f64 of the standard normal distribution: the first of `normal2_f64`."""
    x, _ = normal2_f64(seed, stream, counter)
    return x
