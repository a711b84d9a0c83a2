"""The demo's picture: four panels in one PNG."""

from __future__ import annotations

import numpy as np


def draw(path: str, name: str, maps: dict[str, np.ndarray], segments: np.ndarray, dx: float, dy: float) -> None:
    """Writes `path`: `maps` holds elevation, slope, aspect (radians), shade and smoothed, all of one shape."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize, hsv_to_rgb

    elevation, slope, shade, smoothed = (maps[k] for k in ("elevation", "slope", "shade", "smoothed"))
    rows, columns = elevation.shape
    shape = dict(aspect=dy / dx, interpolation="bilinear")
    figure, axes = plt.subplots(2, 2, figsize=(13, 10.6 * rows * dy / (columns * dx) + 1.2), layout="constrained")
    heights = Normalize(np.percentile(elevation, 0.5), np.percentile(elevation, 99.5))

    def relief(ax, z, title, light=shade):
        colour = plt.cm.gist_earth(0.15 + 0.8 * heights(z).filled(0).clip(0, 1))[..., :3]
        ax.imshow(colour * (0.35 + 0.65 * light[..., None]), **shape)
        bar = plt.cm.ScalarMappable(heights, plt.cm.gist_earth)
        figure.colorbar(bar, ax=ax, shrink=0.8, label="m")
        ax.set_title(title, loc="left")

    relief(axes[0, 0], elevation, f"{name}: elevation, hill-shaded")
    steep = axes[0, 1].imshow(np.degrees(slope), cmap="magma", vmin=0, vmax=np.percentile(np.degrees(slope), 99.5), **shape)
    figure.colorbar(steep, ax=axes[0, 1], shrink=0.8, label="degrees")
    axes[0, 1].set_title("Slope", loc="left")

    turn = (maps["aspect"] / (2 * np.pi)) % 1
    strength = np.clip(np.degrees(slope) / 12, 0, 1)
    wheel = np.stack([turn, 0.75 * strength, 0.35 + 0.6 * shade], -1)
    axes[1, 0].imshow(hsv_to_rgb(wheel), **shape)
    axes[1, 0].set_title("Aspect (hue: facing north red, east green, south cyan, west violet)", loc="left")

    relief(axes[1, 1], smoothed, f"After 50 smoothing steps: {len(segments)} contour segments", maps["smoothed_shade"])
    lines = segments.reshape(-1, 2, 2)
    axes[1, 1].add_collection(LineCollection(lines, colors="black", linewidths=0.45, alpha=0.75))
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[], xlim=(0, columns - 1), ylim=(rows - 1, 0))
    figure.savefig(path, dpi=110)
    plt.close(figure)
