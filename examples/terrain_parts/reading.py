"""Reading elevation data: matplotlib's sample model, or a GeoTIFF, npz or grey-scale PNG of the user's."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

METRES_PER_DEGREE = 111_320.0
PIXEL_SCALE_TAG, MODEL_TYPE_TAG, TIEPOINT_TAG, GEO_KEYS_TAG = 33550, 1024, 33922, 34735


class UnreadableTerrain(Exception):
    """The file cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Terrain:
    """Elevations in metres, shape (rows, columns), rows from north to south; `dx`, `dy`: metres between columns and rows."""

    name: str
    elevation: np.ndarray
    dx: float
    dy: float


def sample() -> Terrain:
    """The Jacksboro fault in Tennessee, 344 x 403 cells of 3 arc seconds, from matplotlib's sample data."""
    from matplotlib.cbook import get_sample_data

    with get_sample_data("jacksboro_fault_dem.npz") as file:
        return _checked("Jacksboro fault", *_from_npz(file))


def read(path: str) -> Terrain:
    """The terrain in the file `path`; `UnreadableTerrain` with one clear line if there is none."""
    file = Path(path)
    readers = {".npz": _read_npz, ".tif": _read_image, ".tiff": _read_image, ".png": _read_image}
    reader = readers.get(file.suffix.lower())
    if not file.is_file():
        raise UnreadableTerrain(f"{path}: " + ("is not a file" if file.exists() else "no such file"))
    if reader is None:
        raise UnreadableTerrain(f"{path}: expected a .npz, .tif, .tiff or .png file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a damaged picture, the error that follows says enough
            parts = reader(file)
    except UnreadableTerrain as error:
        raise UnreadableTerrain(f"{path}: {error}") from error
    except Exception as error:  # a damaged file makes the readers fail in any way they like
        raise UnreadableTerrain(f"{path}: cannot be read as elevation data ({_first_line(error)})") from error
    return _checked(file.name, *parts)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _checked(name: str, elevation: np.ndarray, dx: float, dy: float) -> Terrain:
    if elevation.ndim != 2 or min(elevation.shape) < 3:
        raise UnreadableTerrain(f"{name}: needs a 2-D grid of at least 3 x 3 elevations, has shape {elevation.shape}")
    if elevation.dtype.kind not in "iuf":
        raise UnreadableTerrain(f"{name}: elevations must be real numbers, not {elevation.dtype}")
    if not (dx > 0 and dy > 0 and math.isfinite(dx) and math.isfinite(dy)):
        raise UnreadableTerrain(f"{name}: the cell size must be positive, not {dx} x {dy}")
    heights = np.ascontiguousarray(elevation, dtype=np.float32)
    good = np.isfinite(heights) & (heights > -1e4) & (heights < 1e5)
    if not good.any():
        raise UnreadableTerrain(f"{name}: holds no usable elevation")
    return Terrain(name, np.where(good, heights, heights[good].min()).astype(np.float32), dx, dy)


def _read_npz(file: Path) -> tuple[np.ndarray, float, float]:
    with np.load(file, allow_pickle=False) as data:
        return _from_npz(data)


def _from_npz(data: Any) -> tuple[np.ndarray, float, float]:
    names = [n for n in ("elevation", "dem", "z") if n in data.files] or [n for n in data.files if data[n].ndim == 2]
    if not names:
        raise UnreadableTerrain("the archive holds no 2-D array called elevation, dem or z")
    elevation = data[names[0]]
    if not {"dx", "dy", "ymin"} <= set(data.files):
        return elevation, 1.0, 1.0
    latitude = math.radians(float(data["ymin"]))
    return elevation, METRES_PER_DEGREE * float(data["dx"]) * math.cos(latitude), METRES_PER_DEGREE * float(data["dy"])


def _read_image(file: Path) -> tuple[np.ndarray, float, float]:
    from PIL import Image

    with Image.open(file) as image:
        tags: Any = getattr(image, "tag_v2", {})
        pixels = np.asarray(image)
    if pixels.ndim == 3:  # a grey picture saved as colour
        pixels = pixels[..., :3].mean(axis=2)
    scale = tags.get(PIXEL_SCALE_TAG)
    if scale is None:
        return pixels, 1.0, 1.0
    dx, dy = float(scale[0]), float(scale[1])
    if _geographic(tags.get(GEO_KEYS_TAG, ())):
        latitude = float(tags.get(TIEPOINT_TAG, (0,) * 6)[4])
        dx, dy = dx * METRES_PER_DEGREE * math.cos(math.radians(latitude)), dy * METRES_PER_DEGREE
    return pixels, dx, dy


def _geographic(keys: Any) -> bool:
    """Whether the GeoTIFF's model is in degrees: its key directory says model type 2."""
    entries = zip(keys[4::4], keys[7::4], strict=False)
    return any(key == MODEL_TYPE_TAG and value == 2 for key, value in entries)
