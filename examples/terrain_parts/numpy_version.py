"""The demo's five steps in plain NumPy: what the kernels are compared with, in time and in values."""

from __future__ import annotations

import numpy as np

f32 = np.float32


def slope_aspect(z: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """Slope (radians) and aspect (radians clockwise from north, facing downhill) by Horn's third-order differences."""
    p = np.pad(z, 1, mode="edge")
    nw, n, ne = p[:-2, :-2], p[:-2, 1:-1], p[:-2, 2:]
    w, e = p[1:-1, :-2], p[1:-1, 2:]
    sw, s, se = p[2:, :-2], p[2:, 1:-1], p[2:, 2:]
    gx = ((ne + f32(2) * e + se) - (nw + f32(2) * w + sw)) / f32(8 * dx)
    gy = ((nw + f32(2) * n + ne) - (sw + f32(2) * s + se)) / f32(8 * dy)
    return np.arctan(np.sqrt(gx * gx + gy * gy)), np.arctan2(-gx, -gy)


def hillshade(slope: np.ndarray, aspect: np.ndarray, azimuth: float, altitude: float) -> np.ndarray:
    """Brightness 0 to 1 under a sun at `azimuth` and `altitude` (radians)."""
    lit = f32(np.sin(altitude)) * np.cos(slope) + f32(np.cos(altitude)) * np.sin(slope) * np.cos(f32(azimuth) - aspect)
    return np.clip(lit, f32(0), f32(1))


def smooth(z: np.ndarray, talus: float, rate: float) -> np.ndarray:
    """One step of thermal smoothing: what exceeds the height difference `talus` to a neighbour slides towards the lower cell."""
    p = np.pad(z, 1, mode="edge")
    total = np.zeros_like(z)
    for other in (p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]):
        d = other - z
        total = total + np.copysign(np.maximum(np.abs(d) - f32(talus), f32(0)), d)
    return z + f32(rate) * total


def _edges(z: np.ndarray, level: float) -> tuple[np.ndarray, ...]:
    a, b, c, d = (q > level for q in (z[:-1, :-1], z[:-1, 1:], z[1:, 1:], z[1:, :-1]))
    return a != b, b != c, d != c, a != d


def contour_count(z: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Segments that each cell (rows-1, columns-1) will hold, over all levels."""
    return sum(np.add.reduce([e.astype(np.int32) for e in _edges(z, v)]) // 2 for v in levels).astype(np.int32)


def contour_fill(z: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Contour segments (n, 4) as x0, y0, x1, y1 in cell units, ordered by cell and then by level."""
    found = []
    a, b, c, d = z[:-1, :-1], z[:-1, 1:], z[1:, 1:], z[1:, :-1]
    y, x = np.indices(a.shape).astype(f32)
    cell = np.arange(a.size).reshape(a.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for rank, v in enumerate(levels):
            top, right, bottom, left = _edges(z, v)
            points = [
                np.stack(p, -1)
                for p in (
                    (x + (v - a) / (b - a), y),
                    (x + f32(1), y + (v - b) / (c - b)),
                    (x + (v - d) / (c - d), y + f32(1)),
                    (x, y + (v - a) / (d - a)),
                )
            ]
            crossed = np.stack([top, right, bottom, left])
            number = crossed.sum(0)
            with_a = ((a + b + c + d) * f32(0.25) > v) == (a > v)
            pairs = [((i, j), (number == 2) & crossed[i] & crossed[j], 0) for i in range(4) for j in range(i + 1, 4)]
            saddle = number == 4
            pairs += [((0, 1), saddle & with_a, 0), ((2, 3), saddle & with_a, 1)]
            pairs += [((0, 3), saddle & ~with_a, 0), ((1, 2), saddle & ~with_a, 1)]
            for (i, j), where, second in pairs:
                order = (cell[where] * len(levels) + rank) * 2 + second
                found.append((order, np.concatenate([points[i][where], points[j][where]], axis=1)))
    order = np.concatenate([o for o, _ in found])
    return np.concatenate([s for _, s in found]).astype(f32)[np.argsort(order, kind="stable")]
