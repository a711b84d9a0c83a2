"""Every `TACK_*` variable, one row each, and the only reader of the environment. Knows nothing of the rest of Tack.

A row's `read()` parses the variable at each call, so a bad value raises at first use, never at import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["DEVICE_KINDS", "SETTINGS", "Setting", "foreign"]

T_co = TypeVar("T_co", covariant=True)

DEVICE_KINDS = ("cpu", "metal", "cuda", "hip", "level_zero")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """One variable: its parser, the value it has when unset, and what the reference page says about it.

    `takes` completes "takes ..." in words; `unset` says in words what holds when the variable is unset or empty.
    """

    name: str
    takes: str
    parse: Callable[[str], T_co]
    default: T_co
    unset: str
    doc: str

    def given(self) -> str:
        """What the variable holds now; "" when it is unset."""
        return foreign(self.name)

    def read(self) -> T_co:
        """The value now; `ValueError` names the variable, what it holds and what it takes."""
        text = self.given()
        if not text:
            return self.default
        try:
            return self.parse(text)
        except ValueError:
            message = f"{self.name}={text!r}: the variable takes {self.takes}"
        wrong = ValueError(message)
        wrong.__dict__["diagnostic"] = message  # whatever has one is shown at the user's call, like what `errors.fail` makes
        raise wrong


def foreign(name: str) -> str:
    """What a variable holds, be it Tack's or another's, such as a launcher's rank; "" when it is unset."""
    return os.environ.get(name, "").strip()


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return parse


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


def _device(text: str) -> str:
    kind, colon, index = text.partition(":")
    if kind not in DEVICE_KINDS or (colon and (kind in ("cpu", "metal") or not _is_number(index))):
        raise ValueError(text)
    return text


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _positive(text: str) -> int:
    if not _is_number(text) or int(text) < 1:
        raise ValueError(text)
    return int(text)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,18})([KMGT]?)", text)
    if match is None:
        raise ValueError(text)
    return int(match[1]) << (10 * " KMGT".index(match[2] or " "))


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(kind.strip() for kind in text.split(","))
    if not set(kinds) <= set(DEVICE_KINDS[1:]):
        raise ValueError(text)
    return kinds


_LATER = " No effect in this version yet."

DEVICE = Setting(
    "TACK_DEVICE", 'a device: "cpu", "metal", "cuda", "hip", "level_zero", or a numbered one such as "cuda:1"',
    _device, "cpu", "the CPU", "The default device of the process, looked up before the first use.",
)  # fmt: skip
DEBUG = Setting(
    "TACK_DEBUG", "0 or 1", _switch, False, "off",
    "1: every array index of every kernel is checked, as after `tack.set_debug(True)`. Read at the first kernel call.",
)  # fmt: skip
CPU_THREADS = Setting(
    "TACK_CPU_THREADS", "a whole number of threads, 1 or more", _positive, None, "the physical cores this process may use",
    "Threads of a CPU device made without `num_threads=`; 1 runs everything on the calling thread.",
)  # fmt: skip
CPU_POOL = Setting(
    "TACK_CPU_POOL", '"python"', _one_of("python"), None, "the fastest pool this version has",
    "python: fan out through a ThreadPoolExecutor." + _LATER,
)  # fmt: skip
DUMP_MSL = Setting(
    "TACK_DUMP_MSL", "0 or 1", _switch, False, "off",
    "1: the Metal backend also writes each compiled kernel's source to /tmp; other backends ignore it." + _LATER,
)  # fmt: skip
CACHE = Setting(
    "TACK_CACHE", '"write", "read", "off" or "bundle"', _one_of("write", "read", "off", "bundle"), None,
    "write, and bundle under MPI",
    "What the disk cache may do: read and store entries, read them, neither, or read one bundle file instead.",
)  # fmt: skip
CACHE_DIR = Setting(
    "TACK_CACHE_DIR", "a folder", str, None, "$XDG_CACHE_HOME/tack, or the platform's cache folder",
    "Where the disk cache lives; made when it is not there. It must belong to you, and nobody else may write to it.",
)  # fmt: skip
CACHE_SIZE = Setting(
    "TACK_CACHE_SIZE", "a number of bytes, also with K, M, G or T: 512M, 2G", _bytes, 1 << 30, "1 GiB",
    "The size past which the disk cache deletes its least recently used entries, of all versions of Tack together.",
)  # fmt: skip
NATIVE_DISPATCH = Setting(
    "TACK_NATIVE_DISPATCH", "0 or 1", _switch, True, "on",
    "0: warm calls are dispatched by Python code alone. Read before the first warm call; interpreters on which the native entry "
    "does not work do so by themselves.",
)  # fmt: skip
FULL_TRACEBACK = Setting(
    "TACK_FULL_TRACEBACK", "0 or 1", _switch, False, "off", "1: tracebacks also show the frames inside Tack."
)
SIMULATE = Setting(
    "TACK_SIMULATE", "device kinds separated by commas: metal, cuda, hip, level_zero", _kinds, (), "none",
    "Kinds of GPU to simulate on the CPU, by the drivers of tack-sim: `pip install -e packages/tack-sim`. Read when a device is "
    "first asked for.",
)  # fmt: skip

SETTINGS: tuple[Setting[object], ...] = (
    DEVICE, DEBUG, CPU_THREADS, CPU_POOL, DUMP_MSL, CACHE, CACHE_DIR, CACHE_SIZE, NATIVE_DISPATCH, FULL_TRACEBACK, SIMULATE,
)  # fmt: skip
