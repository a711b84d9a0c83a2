"""What the vector and matrix tests share: kernels over arrays of vectors, run serially, cut into chunks, and interpreted."""

import numpy as np
from rule_tools import kernel

import tack
from tack.lang.array import Array
from tack.testing import DeviceTarget, FanoutTarget, InterpreterTarget

POOL = tack.device("cpu", num_threads=2)
PLAIN = DeviceTarget(POOL, "cpu")  # the device of the pool's runs, so that a kernel is compiled once
FANOUT = FanoutTarget(POOL, "cpu pool")
INTERPRETER = InterpreterTarget(FANOUT.capabilities)
VECTORS = np.array([[1.5, -2.0, 3.25], [0.5, 4.0, -1.0], [-7.0, 0.125, 2.0], [1e-3, 1e3, -5.5]], np.float32)
OTHERS = np.array([[2.0, 3.0, -0.5], [-1.0, 0.25, 6.0], [0.75, -4.0, 1.0], [3.0, -2.0, 0.5]], np.float32)


def array(values, dtype):
    """A Tack array of vectors or matrices from nested lists or NumPy."""
    return tack.array(values, dtype)


def _copy(arg):
    return arg.copy() if isinstance(arg, Array) else arg


def _bits(a, b):
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def run(k, *args):
    """`k` on copies of Tack arrays and on numbers: the arrays afterwards as NumPy's, the last one alone if it is `out`.

    The interpreter, and a pool that gets a few iterations at a time, must leave the same bits.
    """
    mine = [_copy(arg) for arg in args]
    PLAIN.run(k, mine)
    found = [a.numpy() for a in mine if isinstance(a, Array)]
    for target in (INTERPRETER, FANOUT):
        theirs = [_copy(arg) for arg in args]
        target.run(k, theirs)
        for a, b in zip(found, [b.numpy() for b in theirs if isinstance(b, Array)], strict=True):
            _bits(a, b)
    return found[-1] if k.param_names[-1] == "out" else found


def value(text, *args, out=None, **names):
    """What a body leaves in `out` (by default an f32 array as long as the first argument), or the values of one expression.

    `a`, `b`, ... are the arguments.
    """
    letters = "abcdefgh"[: len(args)]
    body = text if "out[" in text else f"out[i] = {text.strip()}"
    if out is None:
        out = next((len(a) for a in args if isinstance(a, Array)), 1)
    out = tack.zeros(out) if isinstance(out, int) else out
    return run(kernel(body, ", ".join([*letters, "out"]), **names), *args, out)


def fma(x, y, z):
    """`x * y + z` with one rounding, of f32 values: their product is exact in f64, and the sum is rounded to odd before f32."""
    exact = np.float64(x) * np.float64(y)
    total = exact + np.float64(z)
    # TwoSum's error tells whether the f64 sum is exact; if not, its last bit is made odd, so that one rounding remains.
    part = total - exact
    error = (exact - (total - part)) + (np.float64(z) - part)
    bits = np.asarray(total).view(np.int64)
    inexact = (error != 0) & (bits % 2 == 0)
    toward = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + toward, bits).view(np.float64).astype(np.float32)


def chain(a, b):
    """The dot product along the last axis as rule E5 has it: an fma chain in index order."""
    total = a[..., 0] * b[..., 0]
    for k in range(1, a.shape[-1]):
        total = fma(a[..., k], b[..., k], total)
    return total
