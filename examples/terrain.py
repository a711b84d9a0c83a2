"""Terrain analysis with Tack: slope and aspect, hill-shade, thermal smoothing and contour lines of real elevation data.

    python examples/terrain.py [FILE.npz|.tif|.png] [--out terrain.png]

Prints each kernel's time beside the same step in NumPy with the largest difference, and writes one PNG of four panels.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from terrain_parts import numpy_version, reading

import tack

STEPS, TALUS_DEGREES, RATE, LEVELS = 50, 12.0, 0.2, 16
AZIMUTH, ALTITUDE = math.radians(315), math.radians(40)


@tack.func
def clamped(z, i, j):
    return z[max(0, min(i, z.shape[0] - 1)), max(0, min(j, z.shape[1] - 1))]


@tack.kernel
def slope_aspect(z, slope, aspect, dx, dy):
    for i, j in tack.ndindex(z.shape[0], z.shape[1]):
        west = clamped(z, i - 1, j - 1) + 2.0 * clamped(z, i, j - 1) + clamped(z, i + 1, j - 1)
        east = clamped(z, i - 1, j + 1) + 2.0 * clamped(z, i, j + 1) + clamped(z, i + 1, j + 1)
        north = clamped(z, i - 1, j - 1) + 2.0 * clamped(z, i - 1, j) + clamped(z, i - 1, j + 1)
        south = clamped(z, i + 1, j - 1) + 2.0 * clamped(z, i + 1, j) + clamped(z, i + 1, j + 1)
        gx = (east - west) / (8.0 * dx)
        gy = (north - south) / (8.0 * dy)
        slope[i, j] = math.atan(math.sqrt(gx * gx + gy * gy))
        aspect[i, j] = math.atan2(-gx, -gy)


@tack.kernel
def hillshade(slope, aspect, shade, azimuth, altitude):
    high = math.sin(altitude)
    flat = math.cos(altitude)
    for i, j in tack.ndindex(slope.shape[0], slope.shape[1]):
        s = slope[i, j]
        lit = high * math.cos(s) + flat * math.sin(s) * math.cos(azimuth - aspect[i, j])
        shade[i, j] = max(0.0, min(lit, 1.0))


@tack.func
def slide(here, there, talus):
    d = there - here
    return math.copysign(max(abs(d) - talus, 0.0), d)


@tack.kernel
def smooth(z, out, talus, rate):
    for i, j in tack.ndindex(z.shape[0], z.shape[1]):
        here = z[i, j]
        total = slide(here, clamped(z, i - 1, j), talus)
        total += slide(here, clamped(z, i + 1, j), talus)
        total += slide(here, clamped(z, i, j - 1), talus)
        total += slide(here, clamped(z, i, j + 1), talus)
        out[i, j] = here + rate * total


@tack.kernel
def contour_count(z, levels, count):
    for i, j in tack.ndindex(count.shape[0], count.shape[1]):
        n = 0
        for k in range(levels.shape[0]):
            a = z[i, j] > levels[k]
            b = z[i, j + 1] > levels[k]
            c = z[i + 1, j + 1] > levels[k]
            d = z[i + 1, j] > levels[k]
            n += ((a != b) + (b != c) + (d != c) + (a != d)) // 2
        count[i, j] = n


@tack.func
def put(segments, k, x0, y0, x1, y1):
    segments[k, 0] = x0
    segments[k, 1] = y0
    segments[k, 2] = x1
    segments[k, 3] = y1


@tack.kernel
def contour_fill(z, levels, first, segments):
    for i, j in tack.ndindex(first.shape[0], first.shape[1]):
        k = first[i, j]
        a = z[i, j]
        b = z[i, j + 1]
        c = z[i + 1, j + 1]
        d = z[i + 1, j]
        x = tack.f32(j)
        y = tack.f32(i)
        for m in range(levels.shape[0]):
            v = levels[m]
            top = (a > v) != (b > v)
            right = (b > v) != (c > v)
            bottom = (d > v) != (c > v)
            left = (a > v) != (d > v)
            crossed = top + right + bottom + left
            xt = x + (v - a) / (b - a)
            yr = y + (v - b) / (c - b)
            xb = x + (v - d) / (c - d)
            yl = y + (v - a) / (d - a)
            if crossed == 4:
                if ((a + b + c + d) * 0.25 > v) == (a > v):
                    put(segments, k, xt, y, x + 1.0, yr)
                    put(segments, k + 1, xb, y + 1.0, x, yl)
                else:
                    put(segments, k, xt, y, x, yl)
                    put(segments, k + 1, x + 1.0, yr, xb, y + 1.0)
                k += 2
            elif crossed == 2:
                if top and right:
                    put(segments, k, xt, y, x + 1.0, yr)
                elif top and bottom:
                    put(segments, k, xt, y, xb, y + 1.0)
                elif top and left:
                    put(segments, k, xt, y, x, yl)
                elif right and bottom:
                    put(segments, k, x + 1.0, yr, xb, y + 1.0)
                elif right and left:
                    put(segments, k, x + 1.0, yr, x, yl)
                else:
                    put(segments, k, xb, y + 1.0, x, yl)
                k += 1


class Stopwatch:
    """Times each step in Tack and in NumPy, and remembers how long first calls (compiling) took."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float, float]] = []
        self.compiling = 0.0

    def step(self, name: str, run: Callable[[], Any], reference: Callable[[], Any], result: Callable[[], Any]) -> None:
        """Runs both; `result` gives what the kernels made, in the form that `reference` returns."""
        first, steady = _seconds(run, 1), _seconds(run, 5)
        self.compiling += max(0.0, first - steady)
        expected = reference()
        pairs = zip(result(), expected if isinstance(expected, tuple) else (expected,), strict=True)
        worst = max(float(np.max(np.abs(got.astype(np.float64) - want), initial=0.0)) for got, want in pairs)
        self.rows.append((name, steady, _seconds(reference, 3), worst))

    def table(self) -> str:
        """The rows as text."""
        lines = [f"{'step':<28}{'Tack':>12}{'NumPy':>12}{'times':>9}   largest difference"]
        for name, mine, numpys, worst in self.rows:
            lines.append(f"{name:<28}{mine * 1e3:>9.3f} ms{numpys * 1e3:>9.3f} ms{numpys / mine:>8.1f}x   {worst:.3g}")
        return "\n".join(lines)


def _seconds(run: Callable[[], Any], repeats: int) -> float:
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def analyse(terrain: reading.Terrain) -> tuple[Stopwatch, dict[str, np.ndarray], np.ndarray]:
    """All five steps; returns the times, the maps for the picture and the contour segments."""
    watch, dx, dy = Stopwatch(), terrain.dx, terrain.dy
    heights = terrain.elevation
    talus = math.tan(math.radians(TALUS_DEGREES)) * min(dx, dy)
    z = tack.array(heights)
    slope, aspect, shade = (tack.empty_like(z) for _ in range(3))
    watch.step(
        "slope and aspect",
        lambda: slope_aspect(z, slope, aspect, dx, dy),
        lambda: numpy_version.slope_aspect(heights, dx, dy),
        lambda: (slope.numpy(), aspect.numpy()),
    )
    watch.step(
        "hill-shade",
        lambda: hillshade(slope, aspect, shade, AZIMUTH, ALTITUDE),
        lambda: numpy_version.hillshade(slope.numpy(), aspect.numpy(), AZIMUTH, ALTITUDE),
        lambda: (shade.numpy(),),
    )
    maps = {"elevation": heights, "slope": slope.numpy(), "aspect": aspect.numpy(), "shade": shade.numpy()}

    ping, pong = tack.empty_like(z), tack.empty_like(z)

    def smoothing():
        tack.copyto(ping, z)
        for _ in range(STEPS // 2):
            smooth(ping, pong, talus, RATE)
            smooth(pong, ping, talus, RATE)

    def smoothing_numpy():
        h = heights
        for _ in range(STEPS):
            h = numpy_version.smooth(h, talus, RATE)
        return h

    watch.step(f"thermal smoothing, {STEPS} steps", smoothing, smoothing_numpy, lambda: (ping.numpy(),))
    maps["smoothed"] = smoothed = ping.numpy()
    slope_aspect(ping, slope, aspect, dx, dy)
    hillshade(slope, aspect, shade, AZIMUTH, ALTITUDE)
    maps["smoothed_shade"] = shade.numpy()
    return watch, maps, contours(watch, ping, smoothed)


def contours(watch: Stopwatch, z: tack.Array, heights: np.ndarray) -> np.ndarray:
    """Contour segments (n, 4): a pass that counts, a prefix sum, and a pass that fills."""
    values = np.linspace(heights.min(), heights.max(), LEVELS + 2, dtype=np.float32)[1:-1]
    levels = tack.array(values)
    count = tack.zeros((heights.shape[0] - 1, heights.shape[1] - 1), dtype=tack.i32)
    watch.step(
        "contours: count",
        lambda: contour_count(z, levels, count),
        lambda: numpy_version.contour_count(heights, values),
        lambda: (count.numpy(),),
    )
    numbers = count.numpy()
    before = np.cumsum(numbers.ravel(), dtype=np.int64) - numbers.ravel()
    first = tack.array(before.reshape(numbers.shape))
    segments = tack.zeros((int(numbers.sum()), 4))
    watch.step(
        "contours: fill",
        lambda: contour_fill(z, levels, first, segments),
        lambda: numpy_version.contour_fill(heights, values),
        lambda: (segments.numpy(),),
    )
    return segments.numpy()


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Terrain analysis with Tack, timed against NumPy.")
    parser.add_argument("file", nargs="?", help="elevation data: .npz, GeoTIFF or grey PNG (default: matplotlib's sample)")
    parser.add_argument("--out", default="terrain.png", help="the picture to write (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        terrain = reading.read(options.file) if options.file else reading.sample()
    except reading.UnreadableTerrain as error:
        print(f"terrain: {error}", file=sys.stderr)
        return 1
    rows, columns = terrain.elevation.shape
    low, high = terrain.elevation.min(), terrain.elevation.max()
    print(f"{terrain.name}: {rows} x {columns} cells of {terrain.dx:.1f} x {terrain.dy:.1f} m, {low:.0f} to {high:.0f} m\n")
    watch, maps, segments = analyse(terrain)
    print(watch.table())
    print(f"\nCompiling the five kernels took {watch.compiling:.2f} s, once.")
    from terrain_parts.picture import draw

    try:
        draw(options.out, terrain.name, maps, segments, terrain.dx, terrain.dy)
    except (OSError, ValueError) as error:
        print(f"terrain: {options.out}: the picture cannot be written ({error})", file=sys.stderr)
        return 1
    print(f"Wrote {options.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
