"""The memory of a context: a reserved range of addresses, its shadow, and the allocations in it. Knows nothing of CUDA's calls.

Pages of device memory can be touched only inside `Region.opened`, so that a host that follows a device pointer ends as it does on
hardware. Pinned and managed memory lies in the same range, on pages that are always open.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["ALIGNMENT", "POISON", "Allocation", "Region", "fill_bytes", "read_bytes", "write_bytes"]

ALIGNMENT = 256  # of allocations, in bytes: that of CUDA
POISON = 0xCB  # what fresh memory holds
_OUTSIDE, _FREED = 0xFA, 0xFD  # shadow of 8 bytes
_LARGEST_RED_ZONE = 1 << 20
_GROWTH = 1 << 20  # bytes by which the used part grows; its shadow is whole pages
_QUARANTINE = 1 << 30  # bytes of freed addresses that wait for their next use
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_NONE = 0
_NORESERVE = 0x4000
_DONTNEED = 4

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mmap.restype = ctypes.c_void_p
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


def read_bytes(address: int, nbytes: int) -> bytes:
    """The bytes at an address of this process."""
    return (ctypes.c_char * nbytes).from_address(address).raw


def write_bytes(address: int, data: bytes) -> None:
    """Stores bytes at an address of this process."""
    ctypes.memmove(address, data, len(data))


def fill_bytes(address: int, pattern: bytes, count: int) -> None:
    """Stores a pattern of bytes `count` times."""
    if len(pattern) == 1:
        ctypes.memset(address, pattern[0], count)
        return
    total, done = len(pattern) * count, min(count, 4096) * len(pattern)
    write_bytes(address, pattern * min(count, 4096))
    while done < total:
        more = min(done, total - done)
        ctypes.memmove(address + done, address, more)
        done += more


def _checked(status: int, call: str) -> None:
    if status:
        code = ctypes.get_errno()
        raise MemoryError(f"tack-sim: {call} has failed: {os.strerror(code)}")


def _reserve(nbytes: int) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    address = _libc.mmap(None, nbytes, _NONE, flags, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"tack-sim cannot reserve {nbytes} bytes of addresses: {os.strerror(ctypes.get_errno())}")
    return address


def _protect(start: int, end: int, protection: int) -> None:
    _checked(_libc.mprotect(start, end - start, protection), "mprotect")


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(slots=True, eq=False)
class Allocation:
    """Memory that was asked for. `kind`: "device", "pinned", "managed", or "module" for the variables of one.

    `start` and `extent` are the addresses it takes up with its red zones, in bytes.
    """

    address: int
    nbytes: int
    kind: str
    start: int
    extent: int
    freed: bool = False

    @property
    def end(self) -> int:
        """The address behind its last byte."""
        return self.address + self.nbytes

    @property
    def host(self) -> bool:
        """Whether the host may follow its address."""
        return self.kind in ("pinned", "managed")

    def __str__(self) -> str:
        return f"{self.nbytes} bytes of {'freed ' if self.freed else ''}{self.kind} memory at {self.address:#x}"


class _Arena:
    """Address ranges of one sort, free or in use. `spans` are the page ranges it has, `free` sorted (start, extent) pairs."""

    def __init__(self) -> None:
        self.spans: list[list[int]] = []
        self.free: list[list[int]] = []

    def add(self, start: int, extent: int) -> None:
        if self.spans and self.spans[-1][1] == start:
            self.spans[-1][1] += extent
        else:
            self.spans.append([start, start + extent])
        self.give(start, extent)

    def give(self, start: int, extent: int) -> None:
        at = bisect_right(self.free, [start, 0])
        self.free.insert(at, [start, extent])
        for k in (at, at - 1):  # merges with the range after it, then with the one before
            if 0 <= k < len(self.free) - 1 and sum(self.free[k]) == self.free[k + 1][0]:
                self.free[k][1] += self.free.pop(k + 1)[1]

    def take(self, extent: int) -> int | None:
        for k, (start, size) in enumerate(self.free):
            if size >= extent:
                if size == extent:
                    del self.free[k]
                else:
                    self.free[k] = [start + extent, size - extent]
                return start
        return None


class Region:
    """The addresses `base` to `base + size` of one context and their shadow, a byte for each 8 bytes at `shadow`.

    A shadow byte is 0 if all 8 bytes may be used, 1 to 7 if the first so many may, 0xFA outside of allocations, 0xFD where one
    was freed. `span`: the most bytes of addresses that the region can take. Not for several threads at once.
    """

    def __init__(self, span: int) -> None:
        self.span = _up(span, _GROWTH)
        self.base = _reserve(self.span)
        self.shadow = _reserve(self.span // 8 + _GROWTH)
        self.size = 0
        self.used = 0  # bytes of live allocations, as counted against a device's memory
        self._arenas = {False: _Arena(), True: _Arena()}  # by whether the host may follow the addresses
        self._starts: list[int] = []  # sorted, of `_known`
        self._known: dict[int, Allocation] = {}  # by start: live, or freed and not used again
        self._waiting: deque[Allocation] = deque()  # freed; the oldest first
        self._waiting_bytes = 0
        self._open = 0

    def close(self) -> None:
        """Gives the addresses back to the process. Nothing may use the region after it."""
        _libc.munmap(self.base, self.span)
        _libc.munmap(self.shadow, self.span // 8 + _GROWTH)

    # ------------------------------------------------------------------------------------------------------- allocation

    def allocate(self, nbytes: int, kind: str = "device") -> Allocation:
        """New memory that holds 0xCB in every byte, with red zones around it. MemoryError if the region has no addresses left."""
        body = _up(nbytes, ALIGNMENT)
        red = min(max(ALIGNMENT, _up(nbytes // 4, ALIGNMENT)), _LARGEST_RED_ZONE)
        extent = body + 2 * red
        host = kind in ("pinned", "managed")
        start = self._take(extent, host)
        made = Allocation(start + red, nbytes, kind, start, extent)
        self._mark(start, extent, _OUTSIDE)
        self._mark(made.address, nbytes // 8 * 8, 0)
        if nbytes % 8:
            ctypes.memset(self._shadow_of(made.address + nbytes // 8 * 8), nbytes % 8, 1)
        with self.opened():
            ctypes.memset(made.address, POISON, nbytes)
        insort(self._starts, start)
        self._known[start] = made
        self.used += body
        return made

    def free(self, allocation: Allocation) -> None:
        """Ends an allocation. Its addresses stay out of use until a GiB of others was freed after it."""
        allocation.freed = True
        self.used -= _up(allocation.nbytes, ALIGNMENT)
        self._mark(allocation.address, _up(allocation.nbytes, 8), _FREED)
        first, last = _up(allocation.address, mmap.PAGESIZE), allocation.end // mmap.PAGESIZE * mmap.PAGESIZE
        if first < last:
            _checked(_libc.madvise(first, last - first, _DONTNEED), "madvise")
        self._waiting.append(allocation)
        self._waiting_bytes += allocation.extent
        while self._waiting_bytes > _QUARANTINE and len(self._waiting) > 1:
            self._recycle(self._waiting.popleft())

    def find(self, address: int) -> Allocation | None:
        """The allocation, live or freed, whose bytes or red zones an address is among."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        found = self._known[self._starts[at]]
        return found if address < found.start + found.extent else None

    def live(self) -> list[Allocation]:
        """The allocations that were not freed, by address."""
        return [self._known[start] for start in self._starts if not self._known[start].freed]

    def __contains__(self, address: int) -> bool:
        return self.base <= address < self.base + self.span

    def _take(self, extent: int, host: bool) -> int:
        arena = self._arenas[host]
        start = arena.take(extent)
        if start is None:
            growth = _up(extent, _GROWTH)
            if self.size + growth > self.span:
                while self._waiting and start is None:
                    self._recycle(self._waiting.popleft())
                    start = arena.take(extent)
                if start is None:
                    raise MemoryError(f"no {extent} bytes of addresses left")
                return start
            begin = self.base + self.size
            _protect(begin, begin + growth, _READ_WRITE if host or self._open else _NONE)
            _protect(self._shadow_of(begin), self._shadow_of(begin + growth), _READ_WRITE)
            self._mark(begin, growth, _OUTSIDE)
            self.size += growth
            arena.add(begin, growth)
            start = arena.take(extent)
            assert start is not None
        return start

    def _recycle(self, allocation: Allocation) -> None:
        self._waiting_bytes -= allocation.extent
        del self._known[allocation.start]
        del self._starts[bisect_right(self._starts, allocation.start) - 1]
        self._mark(allocation.start, allocation.extent, _OUTSIDE)
        self._arenas[allocation.host].give(allocation.start, allocation.extent)

    def _shadow_of(self, address: int) -> int:
        return self.shadow + (address - self.base) // 8

    def _mark(self, start: int, extent: int, value: int) -> None:
        ctypes.memset(self._shadow_of(start), value, extent // 8)

    # ---------------------------------------------------------------------------------------------------------- access

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Device memory can be read and written by this process inside the block."""
        if not self._open:
            self._set_protection(_READ_WRITE)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._set_protection(_NONE)

    def _set_protection(self, protection: int) -> None:
        for start, end in self._arenas[False].spans:
            _protect(start, end, protection)

    def snapshot(self) -> dict[Allocation, bytes]:
        """The bytes of all live allocations."""
        with self.opened():
            return {each: read_bytes(each.address, each.nbytes) for each in self.live()}

    def changes(self, snapshot: dict[Allocation, bytes]) -> dict[Allocation, bytes]:
        """The bytes of those allocations of a snapshot that do not hold what they held."""
        with self.opened():
            return {
                each: read_bytes(each.address, each.nbytes)
                for each, data in snapshot.items()
                if _libc.memcmp(each.address, data, each.nbytes)
            }

    def restore(self, snapshot: dict[Allocation, bytes]) -> None:
        """Stores the bytes of a snapshot again."""
        with self.opened():
            for allocation, data in snapshot.items():
                write_bytes(allocation.address, data)

    def describe(self, address: int) -> str:
        """Where an address is, in words; "" if it is near no allocation."""
        found = self.find(address)
        if found is None:
            return ""
        if address < found.address:
            return f"{found.address - address} bytes before {found}"
        if address >= found.end:
            return f"{address - found.end} bytes behind the end of {found}"
        return f"byte {address - found.address} of {found}"
