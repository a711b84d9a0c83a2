"""Debug mode, in which every array index is checked. This version refuses to turn it on, rather than pass silently."""

from __future__ import annotations

from tack import settings
from tack.errors import fail

__all__ = ["require_no_debug", "set_debug"]

_decided = False  # set_debug was called, which beats the environment


def set_debug(on: bool) -> None:
    """Turns debug mode on or off for the process; it beats `TACK_DEBUG`. Turning it on is not possible in this version yet.

    `NotImplementedError` when `on`.
    """
    global _decided
    if on:
        raise fail(
            NotImplementedError,
            "debug mode (bounds checks of every array index) is not part of this version yet",
            remedy="Check indices in the kernel, or run its Python source over NumPy arrays.",
        )
    _decided = True


def require_no_debug() -> None:
    """`NotImplementedError` when `TACK_DEBUG=1` asks for debug mode and no `set_debug(False)` came after it."""
    if not _decided:
        settings.DEBUG.read()
