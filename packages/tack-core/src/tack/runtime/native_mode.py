"""The word that says which calls the native entry may serve: the serial number of the default device's cache, or -1 for none.

The entry knows no thread, so one thread that is in the `with` block of another device sends the calls of all to Python; so does
whoever takes the place of the plain launch function (debug mode, a recorder) or looks at every launch. Knows no device.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from typing import Any

from tack.forks import hold_over_fork

__all__ = ["NONE", "enter", "hold", "leave", "only", "release", "set_default", "set_launch", "word"]

NONE = -1

word = ctypes.c_int64(NONE)
_lock = hold_over_fork(3, threading.RLock())
_default: Any = None
_serial = NONE  # of the default device's cache; NONE until the device has started
_entered: dict[Any, int] = {}  # devices in whose blocks threads are, and how often
_plain = False  # whether kernel calls go to the plain launch function
_held = 0


def _allowed() -> int:
    others = any(device is not _default for device in tuple(_entered))
    return NONE if others or _held or not _plain else _serial


def _write() -> None:
    word.value = _allowed()
    while word.value != _allowed():  # a collection or a signal has changed something meanwhile
        word.value = _allowed()


def set_default(device: Any, serial: int) -> None:
    """`device` is the default of the process, and its cache has this serial number; NONE if it has not started."""
    global _default, _serial
    with _lock:
        _default, _serial = device, serial
        _write()


def enter(device: Any) -> None:
    """A thread enters a block in which `device` is the default."""
    with _lock:
        _entered[device] = _entered.get(device, 0) + 1
        _write()


def leave(device: Any) -> None:
    """The thread leaves the block."""
    with _lock:
        left = _entered.get(device, 1) - 1
        if left > 0:
            _entered[device] = left
        else:
            _entered.pop(device, None)
        _write()


def only(devices: Iterable[Any]) -> None:
    """The blocks that are open are those of `devices`: after a fork, in which the other threads are gone."""
    with _lock:
        _entered.clear()
        for device in devices:
            _entered[device] = _entered.get(device, 0) + 1
        _write()


def hold() -> None:
    """No call is served natively until `release` was called as often."""
    global _held
    with _lock:
        _held += 1
        _write()


def release() -> None:
    """Takes one `hold` back."""
    global _held
    with _lock:
        _held -= 1
        _write()


def set_launch(plain: bool) -> None:
    """Whether kernel calls go to the plain launch function."""
    global _plain
    with _lock:
        _plain = plain
        _write()
