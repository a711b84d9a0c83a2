"""What the GPU backends ask of a vendor's API, and which kernels are queued on a device that no wait has seen finish.

The errors of queued work surface at a wait, which knows no kernel: `Queued` has the names. Knows no vendor and no arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["GpuApi", "GpuModule", "GpuTextureApi", "Queued"]

T = TypeVar("T")
_SHOWN = 8  # kernels that a message names


class Queued:
    """The kernels launched since the last wait, by name."""

    __slots__ = ("_clock", "_kernels")

    def __init__(self) -> None:
        self._clock = itertools.count()
        self._kernels: dict[str, int] = {}

    def note(self, kernel: str) -> None:
        """A launch of `kernel` is queued."""
        self._kernels[kernel] = next(self._clock)

    def mark(self) -> int:
        """The time when a wait begins, for `finished`."""
        return next(self._clock)

    def finished(self, mark: int) -> None:
        """What was launched before `mark` has run."""
        for kernel, launched in tuple(self._kernels.items()):
            if launched < mark and self._kernels.get(kernel) == launched:
                self._kernels.pop(kernel, None)

    def in_words(self) -> str:
        """The kernels, the last one launched first."""
        names = sorted(self._kernels, key=lambda name: self._kernels.get(name, 0), reverse=True)
        if not names:
            return "no kernel of Tack's was queued"
        listed = ", ".join(f"'{name}'" for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"kernel{'s' if len(names) > 1 else ''} {listed}{more} {'were' if len(names) > 1 else 'was'} queued"


class GpuModule(Protocol):
    """Compiled code on a device. A function takes the numbers of workgroups and the 8-byte words that are its arguments, and
    queues a launch. It keeps state of a launch, so that its calls take turns; `unload` comes after the last has finished."""

    def function(self, entry: str, words: int) -> Callable[[Sequence[int], Sequence[int]], None]: ...
    def unload(self) -> None: ...


class GpuTextureApi(Protocol):
    """A 3-D texture of f32 on a device: kernels take its `handle`. Copies are queued; `free` comes after its last use."""

    @property
    def handle(self) -> int: ...
    def copy_in(self, host: int) -> None: ...
    def copy_from(self, address: int) -> None: ...
    def copy_out(self, host: int) -> None: ...
    def free(self) -> None: ...


class GpuApi(Protocol):
    """One device and its queue, whose work runs in the order it is queued, in the words of no vendor.

    Addresses are those of the device's memory, `host` addresses those of NumPy's. What a copy reads on the host may change when
    the call returns. Every method may raise what work queued earlier has done wrong. `name` is the device's spec, `label` names
    the backend in messages, `dlpack_device` is DLPack's (type, number), `cuda_interface` says whether arrays export the
    interface that CUDA's libraries share.
    """

    name: str
    label: str
    dlpack_device: tuple[int, int]
    cuda_interface: bool
    queued: Queued

    def allocate(self, nbytes: int) -> int | None:
        """The address of new memory; None where there is not enough."""
        ...

    def free(self, address: int) -> None:
        """Gives memory back that no queued work uses."""
        ...

    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and in all."""
        ...

    def copy_in(self, address: int, host: int, nbytes: int) -> None:
        """Queues a copy from the host."""
        ...

    def copy_out(self, host: int, address: int, nbytes: int) -> None:
        """Copies to the host, when the work queued before has finished."""
        ...

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Queues a copy within the device's memory; the two do not overlap."""
        ...

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Queues that `count` times `pattern` is stored."""
        ...

    def wait(self) -> None:
        """Waits for everything queued."""
        ...

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns, on a thread of Tack's own, which may use the device meanwhile."""
        ...

    def texture(self, extents: tuple[int, int, int], nearest: bool) -> GpuTextureApi | None:
        """A texture sampled by hardware; None on a device without."""
        ...

    def compile(self, source: str, kernel: str) -> bytes:
        """The image of a translation unit, for `load` in this and other processes."""
        ...

    def load(self, image: bytes, kernel: str) -> GpuModule:
        """Compiled code from an image."""
        ...

    def export(self, address: int, nbytes: int) -> Any:
        """A handle of the operating system for memory that `allocate` has made."""
        ...
