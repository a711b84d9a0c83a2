"""All driver functions: importing it fills the table of entries."""

from __future__ import annotations

from tack_sim import driver_copies, driver_devices, driver_launch, driver_memory, driver_modules, driver_streams, driver_textures
from tack_sim.driver_entry import TABLE, callback, use

__all__ = ["TABLE", "callback", "use"]

_ROOMS = (driver_copies, driver_devices, driver_launch, driver_memory, driver_modules, driver_streams, driver_textures)
