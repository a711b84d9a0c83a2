"""Locks that are held over a fork, so that a child never inherits one that another thread had taken.

Knows nothing of Tack: a module that owns a process-wide lock names it here, with its place in the order they are taken in.
"""

from __future__ import annotations

import os
import threading

__all__ = ["hold_over_fork", "importing"]

_held: list[tuple[int, threading.RLock]] = []
_taken: list[threading.RLock] = []


def hold_over_fork(order: int, lock: threading.RLock) -> threading.RLock:
    """Returns `lock`, which every fork from now on takes before and releases after, in parent and child.

    A thread that takes several of them must do so by rising `order`, as a fork does.
    """
    _held.append((order, lock))
    _held.sort(key=lambda entry: entry[0])
    return lock


# Held where a call imports a part of Tack: a child that another thread forked meanwhile would wait for the module for ever. It is
# first in the order, since imports take locks; who has one of the others leaves it out, for the fork waits for him anyway.
importing = hold_over_fork(-1, threading.RLock())


def _before() -> None:
    for _, lock in tuple(_held):
        lock.acquire()
        _taken.append(lock)


def _after() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
