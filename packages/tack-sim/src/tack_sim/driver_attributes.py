"""The attributes of a simulated device, by their numbers in CUdevice_attribute."""

from __future__ import annotations

from functools import lru_cache

from tack_sim.driver_state import Options

__all__ = ["NAME", "attribute", "known_names", "limit", "limits"]

NAME = "Simulated NVIDIA GPU (tack-sim)"

_LAST = 161  # the highest number of CUDA 13; attributes that are not listed below are 0

_VALUES: dict[str, tuple[int, int]] = {
    "MAX_THREADS_PER_BLOCK": (1, 1024),
    "MAX_BLOCK_DIM_X": (2, 1024),
    "MAX_BLOCK_DIM_Y": (3, 1024),
    "MAX_BLOCK_DIM_Z": (4, 64),
    "MAX_GRID_DIM_X": (5, 0),
    "MAX_GRID_DIM_Y": (6, 0),
    "MAX_GRID_DIM_Z": (7, 0),
    "MAX_SHARED_MEMORY_PER_BLOCK": (8, 48 << 10),
    "TOTAL_CONSTANT_MEMORY": (9, 64 << 10),
    "WARP_SIZE": (10, 32),
    "MAX_PITCH": (11, 2**31 - 1),
    "MAX_REGISTERS_PER_BLOCK": (12, 65536),
    "CLOCK_RATE": (13, 1_000_000),  # kHz
    "TEXTURE_ALIGNMENT": (14, 512),
    "GPU_OVERLAP": (15, 1),
    "MULTIPROCESSOR_COUNT": (16, 4),
    "CAN_MAP_HOST_MEMORY": (19, 1),
    "MAXIMUM_TEXTURE1D_WIDTH": (21, 131072),
    "MAXIMUM_TEXTURE2D_WIDTH": (22, 131072),
    "MAXIMUM_TEXTURE2D_HEIGHT": (23, 65536),
    "MAXIMUM_TEXTURE3D_WIDTH": (24, 16384),
    "MAXIMUM_TEXTURE3D_HEIGHT": (25, 16384),
    "MAXIMUM_TEXTURE3D_DEPTH": (26, 16384),
    "MAXIMUM_TEXTURE2D_LAYERED_WIDTH": (27, 32768),
    "MAXIMUM_TEXTURE2D_LAYERED_HEIGHT": (28, 32768),
    "MAXIMUM_TEXTURE2D_LAYERED_LAYERS": (29, 2048),
    "SURFACE_ALIGNMENT": (30, 512),
    "CONCURRENT_KERNELS": (31, 1),
    "PCI_BUS_ID": (33, 0),
    "MEMORY_CLOCK_RATE": (36, 1_000_000),  # kHz
    "GLOBAL_MEMORY_BUS_WIDTH": (37, 256),  # bits
    "L2_CACHE_SIZE": (38, 4 << 20),
    "MAX_THREADS_PER_MULTIPROCESSOR": (39, 2048),
    "ASYNC_ENGINE_COUNT": (40, 1),
    "UNIFIED_ADDRESSING": (41, 1),
    "MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE": (47, 8192),
    "MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE": (48, 8192),
    "MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE": (49, 32768),
    "TEXTURE_PITCH_ALIGNMENT": (51, 32),
    "COMPUTE_CAPABILITY_MAJOR": (75, 0),
    "COMPUTE_CAPABILITY_MINOR": (76, 0),
    "STREAM_PRIORITIES_SUPPORTED": (78, 1),
    "GLOBAL_L1_CACHE_SUPPORTED": (79, 1),
    "LOCAL_L1_CACHE_SUPPORTED": (80, 1),
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": (81, 228 << 10),
    "MAX_REGISTERS_PER_MULTIPROCESSOR": (82, 65536),
    "MANAGED_MEMORY": (83, 1),
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": (87, 2),
    "COMPUTE_PREEMPTION_SUPPORTED": (90, 1),
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": (97, 227 << 10),
    "MAX_BLOCKS_PER_MULTIPROCESSOR": (106, 32),
    "RESERVED_SHARED_MEMORY_PER_BLOCK": (111, 1 << 10),
    "MEMORY_POOLS_SUPPORTED": (115, 1),
    "UNIFIED_FUNCTION_POINTERS": (129, 0),
    "NUMA_ID": (131, -1),
    "HOST_NUMA_ID": (134, -1),
}


def known_names() -> frozenset[str]:
    """The attributes whose values can be chosen, by their names behind CU_DEVICE_ATTRIBUTE_."""
    return frozenset(_VALUES)


@lru_cache(maxsize=16)
def _table(max_grid: tuple[int, int, int], compute: tuple[int, int], chosen: tuple[tuple[str, int], ...]) -> dict[int, int]:
    fixed = dict(zip(("MAX_GRID_DIM_X", "MAX_GRID_DIM_Y", "MAX_GRID_DIM_Z"), max_grid, strict=True))
    fixed |= dict(zip(("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"), compute, strict=True))
    fixed |= dict(chosen)
    return {number: fixed.get(name, value) for name, (number, value) in _VALUES.items()}


def attribute(options: Options, number: int) -> int | None:
    """The value of an attribute by its number; None for a number that CUDA does not have."""
    table = _table(options.max_grid, options.compute, tuple(sorted(options.attributes.items())))
    return table.get(number, 0) if 1 <= number <= _LAST else None


def limit(options: Options, name: str) -> int:
    """The value of an attribute by its name behind CU_DEVICE_ATTRIBUTE_."""
    return attribute(options, _VALUES[name][0]) or 0


def limits(options: Options, name: str) -> tuple[int, int, int]:
    """The values of the attributes for x, y and z, given what their names begin with."""
    x, y, z = (limit(options, name + end) for end in "XYZ")
    return x, y, z
