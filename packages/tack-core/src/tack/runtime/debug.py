"""Whether debug mode is on, in which every array index is checked. Toggling it exchanges the launch hook, so that a call of a
kernel that is warm sees it at once and no call pays for the question. Knows no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tack import settings
from tack.hooks import slots

__all__ = ["install", "is_on", "set_debug"]

_Launch = Callable[..., Any]
_decided: bool | None = None  # what set_debug said last, which beats the environment
_launches: tuple[_Launch, _Launch] | None = None


def set_debug(on: bool) -> None:
    """Turns debug mode on or off for the process, from the next kernel call on; it beats `TACK_DEBUG`.

    In debug mode kernels run checked code: an access outside an array does nothing, and after the launch an `IndexError` names
    the kernel, the place, the array, the index and the size.
    """
    global _decided
    _decided = bool(on)
    _choose()


def is_on() -> bool:
    """Whether kernels run checked code. `ValueError` for a bad `TACK_DEBUG`."""
    return settings.DEBUG.read() if _decided is None else _decided


def install(plain: _Launch, checked: _Launch) -> None:
    """Takes the two launch functions between which debug mode decides: of `hooks.slots.launch`."""
    global _launches
    _launches = plain, checked
    try:
        _choose()
    except ValueError:  # a bad TACK_DEBUG: each call says so
        slots.launch = _undecided


def _choose() -> None:
    if _launches is not None:
        slots.launch = _launches[is_on()]


def _undecided(*args: Any) -> Any:
    _choose()
    return slots.launch(*args)
