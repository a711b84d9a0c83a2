"""The C++ side, lanes.cpp, as Python calls it: its structs and its one entry."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_int, c_uint32, c_uint64, c_void_p
from functools import cache
from pathlib import Path

from tack_sim.build import shared_object

__all__ = ["LOCAL", "NOWHERE", "SHARED", "CFault", "CRange", "CTexture", "Job", "library"]

NOWHERE = 0xFFFFFFFF  # no site
SHARED, LOCAL = 1, 2  # spaces of an address

# Fields in the order of the structs of the same names in lanes.cpp.


class CRange(ctypes.Structure):
    """Bytes of shared memory that belong to a variable."""

    _fields_ = [("start", c_uint32), ("size", c_uint32)]


class CTexture(ctypes.Structure):
    """A 3-D texture of floats: `channels` of a texel are neighbours, x runs fastest."""

    _fields_ = [
        ("handle", c_uint64),
        ("texels", c_void_p),
        *((name, c_uint32) for name in ("width", "height", "depth", "channels", "linear", "normalized")),
    ]


class CFault(ctypes.Structure):
    """What ended a launch."""

    _fields_ = [
        *((name, c_uint32) for name in ("kind", "site", "other_site", "lane", "other_lane", "waiting", "lanes", "size")),
        ("block", c_uint32 * 3),
        ("space", c_uint32),
        ("address", c_uint64),
    ]


class Job(ctypes.Structure):
    """One launch."""

    _fields_ = [
        ("kernel", c_void_p),
        ("params", c_void_p),
        ("params_size", c_uint64),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("base", c_uint64),
        ("size", c_uint64),
        ("shadow", c_uint64),
        ("variables", c_void_p),
        ("textures", c_void_p),
        ("texture_count", c_uint64),
        ("shared", c_void_p),
        ("shared_count", c_uint64),
        ("shared_span", c_uint64),
        ("local_bytes", c_uint64),
        ("lines", c_void_p),
        *((name, c_uint32) for name in ("dynamic", "total", "barriers", "reverse", "leaving", "silent")),
        ("fault", CFault),
        ("message", c_char * 512),
    ]


@cache
def library() -> ctypes.CDLL:
    """The built C++ side. RuntimeError if there is no compiler."""
    loaded = ctypes.CDLL(str(shared_object(Path(__file__).with_name("lanes.cpp"))))
    loaded.sim_launch.argtypes = [POINTER(Job)]
    loaded.sim_launch.restype = c_int
    return loaded
