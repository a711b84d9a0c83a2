"""How launches behave on any device: their ranges, what the prologue sees, results, their order among host accesses, and limits.

Expected values come from NumPy and Python. Knows no backend.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

import tack
from tack.ir.types import DTYPES, ScalarType, f32, i32, i64, u8
from tack.testing.cases import Case, arr, refused, same
from tack.testing.sources import kernel_from

__all__ = ["CASES"]

# ------------------------------------------------------------------------------------------------------------- ranges

_FACTORS = (1_000_003, 1009, 31, 1)
_SHAPES = {
    1: ((1,), (255,), (256,), (257,), (1001,)),
    2: ((1, 1), (3, 5), (17, 31), (255, 257), (41, 250), (3, 512), (70_001, 2), (2, 70_001)),
    3: ((3, 5, 7), (1, 1, 301), (3, 7, 499), (66_001, 1, 2), (2, 66_001, 1), (1, 2, 66_001)),
    4: ((3, 2, 5, 7), (1, 9, 1, 11), (2, 3, 5, 129), (2, 3, 5, 249)),
}


def _loop(rank: int, spans: bool) -> Any:
    """A kernel over `rank` dimensions that adds to each element what tells its place; with `spans` over part of the array."""
    names = "ijkl"[:rank]
    if spans:
        params = [f"{n}{end}" for n in names for end in "01"]
        dims = ", ".join(f"({n}0, {n}1)" for n in names)
    else:
        params, dims = [], ", ".join(f"out.shape[{d}]" for d in range(rank))
    value = " + ".join(f"{n} * {factor}" for n, factor in zip(names, _FACTORS, strict=False))
    index = ", ".join(names)
    return kernel_from(
        f"@tack.kernel\ndef places({', '.join(['out', *params])}):\n    for {index} in tack.ndindex({dims}):\n"
        f"        out[{index}] += 1 + {value}\n"
    )


def _places(shape: tuple[int, ...]) -> Any:
    return 1 + sum(index.astype(np.int64) * factor for index, factor in zip(np.indices(shape), _FACTORS, strict=False))


def _every_index_once() -> None:
    """Each point of an `ndindex` runs exactly once, in 1 to 4 dimensions, also where one is longer than a grid's short sides."""
    for rank, shapes in _SHAPES.items():
        kernel = _loop(rank, spans=False)
        for shape in shapes:
            out = arr(np.zeros(shape), i64)
            kernel(out)
            same(out.numpy(), _places(shape), f"ndindex{shape}")


def _parts_of_an_array() -> None:
    """`ndindex` of (start, end) pairs touches that part alone, and nothing where a pair is empty or reversed."""
    shape = (7, 9, 11, 5)
    spans = ((2, 6), (0, 9), (3, 4), (1, 5))
    for rank in range(1, 5):
        kernel = _loop(rank, spans=True)
        whole = _places(shape[:rank])
        for empty in (None, *range(rank)):
            chosen = [(s, s - 1) if d == empty else (s, e) for d, (s, e) in enumerate(spans[:rank])]
            out = arr(np.zeros(shape[:rank]), i64)
            kernel(out, *(bound for pair in chosen for bound in pair))
            part = tuple(slice(s, max(s, e)) for s, e in chosen)
            expected = np.zeros(shape[:rank], np.int64)
            expected[part] = whole[part]
            same(out.numpy(), expected, f"ndindex{tuple(chosen)}")


@tack.kernel
def _steps(out, first, last, step):
    for i in range(first, last, step):
        out[i] += i + 1


def _steps_of_either_sign() -> None:
    """The parallel `range` takes any non-zero step; zero is refused before the launch."""
    for first, last, step in ((0, 1000, 1), (0, 1000, 7), (999, -1, -1), (998, 3, -5), (3, 3, -1), (0, 5, -1), (5, 0, 2)):
        out = arr(np.zeros(1000), i64)
        _steps(out, first, last, step)
        expected = np.zeros(1000, np.int64)
        for i in range(first, last, step):
            expected[i] += i + 1
        same(out.numpy(), expected, f"range({first}, {last}, {step})")
    out = arr(np.zeros(10), i64)
    refused(lambda: _steps(out, 0, 10, 0), ValueError, "_steps")
    same(out.numpy(), np.zeros(10, np.int64))


@tack.kernel
def _ones(out):
    for i, j in tack.ndindex(out.shape[0], out.shape[1]):
        out[i, j] += 1


def _more_rows_than_a_grid_is_high() -> None:
    """65,541 rows of 250 columns, each of which would fill a workgroup."""
    out = arr(np.zeros((65_541, 250)), u8)
    _ones(out)
    same(out.numpy(), np.ones((65_541, 250), np.uint8))


@tack.kernel
def _far(out, places, first):
    for i in range(first, first + out.shape[0]):
        out[i - first] = i * 3_000_000_000 + 7
        places[(i - first) * 100_003 * 100_003 % places.shape[0]] += 1


def _ranges_far_from_zero() -> None:
    """Indices, and what is computed from them, have 64 bits wherever the range starts."""
    n = 1009  # a prime, so that every place is met once
    for first in (0, -5, 2**31 - 3, 2**31 + 5, -(2**31) - 9, 2**32 - 500, 2**61, -(2**62)):
        out, places = arr(np.zeros(n), i64), arr(np.zeros(n), i32)
        _far(out, places, first)
        values = [((first + k) * 3_000_000_000 + 7 + 2**63) % 2**64 - 2**63 for k in range(n)]
        same(out.numpy(), values, f"from {first}")
        same(places.numpy(), np.ones(n, np.int32), f"places from {first}")


def _launch_limit() -> None:
    """One iteration past the device's limit is refused before the launch, by the kernel's name, the count and the limit."""
    limit = tack.get_default_device()._backend.capabilities.max_iterations
    assert limit is not None
    out = arr([77], i64)
    refused(lambda: _steps(out, 0, limit + 1, 1), ValueError, "_steps", str(limit + 1), str(limit))
    same(out.numpy(), [77])


# ----------------------------------------------------------------------------------------------- prologue and results


@tack.kernel
def _shift_by_first(x, y):
    first = y[0]
    for i in range(x.shape[0]):
        x[i] = x[i] + first


def _prologue_reads_what_the_body_writes() -> None:
    """K2: its value is that from before the launch, with overlapping arrays and without, in one compiled kernel."""
    for n in (3, 1000, 20_000):
        values = np.arange(n, dtype=np.int64) + 5
        for overlap in (False, True, False):
            x = tack.array(values)
            _shift_by_first(x, x if overlap else tack.array(values))
            same(x.numpy(), values + 5, f"{n} iterations, overlapping: {overlap}")


@tack.kernel
def _never(x, out):
    first = x[0]
    for i in range(out.shape[0]):
        out[i] = first


def _empty_launches() -> None:
    """Nothing runs, and the prologue reads nothing: x has no first element."""
    out = arr(np.zeros(0), f32)
    _never(arr(np.zeros(0), f32), out)
    same(out.numpy(), np.zeros(0, np.float32))


@tack.kernel
def _through_another(a, b, out):
    for i in range(out.shape[0]):
        a[i] = i * 3
        out[i] = b[i + 4]


def _aliasing_arguments() -> None:
    """E4: a load sees its own iteration's store through another array, and does not where they are apart."""
    base = arr(np.zeros(1004), i64)
    out = arr(np.full(1000, -1), i64)
    _through_another(base[4:], base, out)
    same(out.numpy(), np.arange(1000) * 3, "one storage")
    other = arr(np.full(1004, 9), i64)
    _through_another(base[4:], other, out)
    same(out.numpy(), np.full(1000, 9), "two storages")


def _results() -> None:
    """K6: a kernel's value comes from after the launch, with the prologue's locals from before it, as its annotation says."""
    for annotation in ("float", "int", "bool", "tack.u8", "tack.i64", "tack.f32"):
        expected = {"float": 11.0, "tack.f32": 11.0, "bool": True}.get(annotation, 11)
        kernel = kernel_from(
            f"@tack.kernel\ndef k(x) -> {annotation}:\n    first = x[0]\n    for i in range(x.shape[0]):\n"
            "        x[i] = x[i] * 10\n    return first + x[599]\n"
        )
        for _ in range(2):
            found = kernel(arr(np.ones(600), i32))
            same(type(found) is type(expected) and found == expected, True, f"{annotation} gives {found!r}")


def _result_of_an_empty_launch() -> None:
    kernel = kernel_from(
        "@tack.kernel\ndef k(x, n) -> int:\n    first = x[0]\n    for i in range(n):\n        x[i] = 0\n    return first\n"
    )
    same(kernel(arr([41, 2], i32), 0), 41)


# -------------------------------------------------------------------------------------------------------- queued work


@tack.kernel
def _put(out, k, value):
    for i in range(out.shape[1]):
        out[k, i] = value


def _scalars_of_queued_launches(t: ScalarType) -> None:
    """Each of many launches has its own scalars, though nobody waits between them."""
    count = 300 if t is i64 else 20
    out = arr(np.zeros((count, 3)), t)
    values = [k % 100 if t.is_int else k * 0.5 for k in range(count)]
    for k, value in enumerate(values):
        _put(out, k, value)
    same(out.numpy(), np.repeat(np.array(values, t.numpy), 3).reshape(count, 3))


@tack.kernel
def _advance(x, factor, term):
    for i in range(x.shape[0]):
        x[i] = x[i] * factor + term


def _order_of_launches_and_host_writes() -> None:
    """Fills, copies, element writes and launches take effect in the order they were made, without a wait between."""
    x = arr(np.arange(5000) % 7, i64)
    expected = np.arange(5000) % 7
    _advance(x, 3, 1)
    y = x.copy()
    _advance(x, 2, 0)
    x[0] = 1000
    _advance(x, 1, 5)
    same(y.numpy(), expected * 3 + 1, "a copy")
    expected = (expected * 3 + 1) * 2
    expected[0] = 1000
    same(x.numpy(), expected + 5, "an element written between launches")
    x.fill(4)
    _advance(x, 10, 2)
    tack.copyto(y, x)
    x.fill(0)
    same(y.numpy(), np.full(5000, 42), "a fill between launches")
    same(x.numpy(), np.zeros(5000, np.int64), "a fill after a launch")
    _advance(x, 1, 9)
    same(x[4999], 9, "an element read after a launch")
    _advance(x, 1, 1)
    same(x.sum(), 50_000, "a sum after a launch")


@tack.kernel
def _add_to(total, x):
    for i in range(x.shape[0]):
        total[i] += x[i]


def _arrays_dropped_while_queued() -> None:
    """Memory that nobody holds any more is not given away while a launch that uses it waits in the queue."""
    total = arr(np.zeros(3000), i64)
    for k in range(50):
        _add_to(total, arr(np.full(3000, k), i64))
    gc.collect()
    same(total.numpy(), np.full(3000, sum(range(50))))


@tack.kernel
def _sum_rows(a, out):
    for i in range(a.shape[0]):
        total = 0
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total


def _changing_shapes() -> None:
    """One kernel, called with one shape after another, does not keep the first."""
    for rows, columns in ((4, 2), (4, 3), (300, 1), (1, 300), (4, 2)):
        a = np.arange(rows * columns).reshape(rows, columns)
        out = arr(np.zeros(rows), i64)
        _sum_rows(arr(a, i64), out)
        same(out.numpy(), a.sum(1), f"{rows} x {columns}")


# -------------------------------------------------------------------------------------------------------- large arrays


@tack.kernel
def _mark(out, base):
    for i in range(base, base + 8):
        out[i] = out[i - base] + i % 251


def elements_past(base: int) -> None:
    """Elements number `base` and later of an array of `base` + 8 bytes are stored, loaded, sliced and read right."""
    out = tack.empty(base + 8, u8)
    out[:8].fill(3)
    _mark(out, base)
    expected = np.array([3 + (base + k) % 251 for k in range(8)]).astype(np.uint8)
    same(out[base:].numpy(), expected)
    same(out[base + 5], expected[5])


_named: tuple[tuple[str, Callable[[], None]], ...] = (
    ("ndindex runs every index once", _every_index_once),
    ("ndindex over parts", _parts_of_an_array),
    ("parallel steps", _steps_of_either_sign),
    ("more rows than a grid is high", _more_rows_than_a_grid_is_high),
    ("ranges far from zero", _ranges_far_from_zero),
    ("prologue reads what the body writes", _prologue_reads_what_the_body_writes),
    ("empty launches", _empty_launches),
    ("aliasing arguments", _aliasing_arguments),
    ("kernel results", _results),
    ("result of an empty launch", _result_of_an_empty_launch),
    ("order of launches and host writes", _order_of_launches_and_host_writes),
    ("arrays dropped while queued", _arrays_dropped_while_queued),
    ("changing shapes", _changing_shapes),
)
CASES = (
    *(Case(name, run) for name, run in _named),
    Case("scalars of queued launches", _scalars_of_queued_launches, DTYPES),
    Case("launch limit", _launch_limit, needs="max_iterations"),
)
