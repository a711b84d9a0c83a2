"""The functions of `tack.random` for NumPy: the same names, arguments and values, over arrays that broadcast.

Bits, uniform numbers and integers are equal bit for bit; normal ones as far as NumPy's `log`, `cos` and `sin` agree with the
kernel's (a few units in the last place). Knows NumPy alone, nothing of kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "bits2_u64", "bits4_u32", "bits_u32", "bits_u64", "integers", "normal2_f64", "normal4_f32", "normal_f32", "normal_f64",
    "philox4x32", "uniform2_f64", "uniform4_f32", "uniform_f32", "uniform_f64",
]  # fmt: skip

_Values = Any  # a NumPy array, or a NumPy number where all arguments are numbers
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def _u64(value: Any) -> _Values:
    """Integers modulo 2**64."""
    if isinstance(value, int):
        return np.uint64(value & 0xFFFFFFFFFFFFFFFF)
    array = np.asarray(value)
    if array.dtype.kind not in "biu":
        raise TypeError(f"tack.random takes integers below 2**64, not {array.dtype}")
    return array.astype(np.int64 if array.dtype.kind == "i" else np.uint64).astype(np.uint64)


def philox4x32(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[_Values, _Values, _Values, _Values]:
    """Four u32 from a counter of four words and a key of two (Philox4x32-10)."""
    x0, x1, x2, x3, y0, y1 = (_u64(word) & _LOW for word in (c0, c1, c2, c3, k0, k1))
    for _ in range(10):
        a = x0 * np.uint64(0xD2511F53)
        b = x2 * np.uint64(0xCD9E8D57)
        x0, x1, x2, x3 = (b >> _HALF) ^ x1 ^ y0, b & _LOW, (a >> _HALF) ^ x3 ^ y1, a & _LOW
        y0 = (y0 + np.uint64(0x9E3779B9)) & _LOW
        y1 = (y1 + np.uint64(0xBB67AE85)) & _LOW
    a, b, c, d = (word.astype(np.uint32) for word in np.broadcast_arrays(x0, x1, x2, x3))
    return a[()], b[()], c[()], d[()]


def bits4_u32(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values, _Values, _Values]:
    """Four u32 of random bits."""
    key, high, low = _u64(seed), _u64(stream), _u64(counter)
    return philox4x32(low, low >> _HALF, high, high >> _HALF, key, key >> _HALF)


def bits_u32(seed: Any, stream: Any, counter: Any) -> _Values:
    """A u32 of random bits."""
    return bits4_u32(seed, stream, counter)[0]


def bits2_u64(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values]:
    """Two u64 of random bits."""
    a, b, c, d = (word.astype(np.uint64) for word in bits4_u32(seed, stream, counter))
    return a | b << _HALF, c | d << _HALF


def bits_u64(seed: Any, stream: Any, counter: Any) -> _Values:
    """A u64 of random bits."""
    return bits2_u64(seed, stream, counter)[0]


def _unit_f32(word: _Values) -> _Values:
    return (word >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def _unit_f64(word: _Values) -> _Values:
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform4_f32(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values, _Values, _Values]:
    """Four f32 in [0, 1), never 1."""
    a, b, c, d = (_unit_f32(word) for word in bits4_u32(seed, stream, counter))
    return a, b, c, d


def uniform_f32(seed: Any, stream: Any, counter: Any) -> _Values:
    """An f32 in [0, 1), never 1."""
    return _unit_f32(bits_u32(seed, stream, counter))


def uniform2_f64(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values]:
    """Two f64 in [0, 1), never 1."""
    a, b = bits2_u64(seed, stream, counter)
    return _unit_f64(a), _unit_f64(b)


def uniform_f64(seed: Any, stream: Any, counter: Any) -> _Values:
    """An f64 in [0, 1), never 1."""
    return _unit_f64(bits_u64(seed, stream, counter))


def _mulhi(a: _Values, b: _Values) -> _Values:
    low = (a & _LOW) * (b & _LOW)
    middle = (a >> _HALF) * (b & _LOW) + (low >> _HALF)
    other = (a & _LOW) * (b >> _HALF) + (middle & _LOW)
    return (a >> _HALF) * (b >> _HALF) + (middle >> _HALF) + (other >> _HALF)


def integers(seed: Any, stream: Any, counter: Any, low: Any, high: Any) -> _Values:
    """An i64 in [low, high); low where that is empty."""
    first, end = (_u64(bound).astype(np.int64) for bound in (low, high))
    b, a = bits2_u64(seed, stream, counter)
    with np.errstate(over="ignore"):  # NumPy warns where a product of two numbers wraps, not where one of arrays does
        size = np.where(end > first, (end - first).astype(np.uint64), np.uint64(0))[()]
        carry = _mulhi(b, size)
        middle = a * size + carry
        return first + (_mulhi(a, size) + (middle < carry).astype(np.uint64)).astype(np.int64)


def _box_muller(u: _Values, phi: _Values) -> tuple[_Values, _Values]:
    r = np.sqrt(u.dtype.type(-2.0) * np.log(u))
    return r * np.cos(phi), r * np.sin(phi)


def _box_muller_f32(radius: _Values, angle: _Values) -> tuple[_Values, _Values]:
    u = radius.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
    return _box_muller(u, _unit_f32(angle) * np.float32(2.0 * np.pi))


def _box_muller_f64(radius: _Values, angle: _Values) -> tuple[_Values, _Values]:
    u = radius.astype(np.float64) * 2.0**-64 + 2.0**-65
    return _box_muller(u, _unit_f64(angle) * (2.0 * np.pi))


def normal4_f32(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values, _Values, _Values]:
    """Four independent f32 of the standard normal distribution."""
    a, b, c, d = bits4_u32(seed, stream, counter)
    return *_box_muller_f32(a, b), *_box_muller_f32(c, d)


def normal_f32(seed: Any, stream: Any, counter: Any) -> _Values:
    """An f32 of the standard normal distribution."""
    return normal4_f32(seed, stream, counter)[0]


def normal2_f64(seed: Any, stream: Any, counter: Any) -> tuple[_Values, _Values]:
    """Two independent f64 of the standard normal distribution."""
    a, b = bits2_u64(seed, stream, counter)
    return _box_muller_f64(a, b)


def normal_f64(seed: Any, stream: Any, counter: Any) -> _Values:
    """An f64 of the standard normal distribution."""
    return normal2_f64(seed, stream, counter)[0]
