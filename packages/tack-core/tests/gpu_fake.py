"""A GPU that is none: a `GpuApi` whose queue runs as late as it may, and which notices memory that is used when it is gone.

It runs no kernels: a launch notes what it was given. What CUDA itself does stands in the tests on the simulated device.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tack.codegen.cuda_gen import CUDA
from tack.runtime import device as devices
from tack.runtime.cuda_backend import CAPABILITIES
from tack.runtime.gpu import GpuBackend
from tack.runtime.gpu_memory import GpuMemory
from tack.runtime.gpu_queue import Queued

__all__ = ["LateGpu", "late_devices"]

POISON = 0xA5


@dataclass
class Launch:
    """A launch: the entry, the numbers of workgroups, its arguments, and what their memory held when it ran."""

    entry: str
    grid: tuple[int, ...]
    words: tuple[int, ...]
    memory: list[bytes] = field(default_factory=list)


class LateGpu:
    """`calls` has the names of the methods called; `queue` what waits to run; `live` the memory, by address; `launches` what has
    run."""

    label = "CUDA"
    cuda_interface = True

    def __init__(self, index: int = 0, total: int = 1 << 20) -> None:
        self.name = f"cuda:{index}"
        self.dlpack_device = (2, index)
        self.queued = Queued()
        self.total = total
        self.calls: list[str] = []
        self.queue: list[Callable[[], object]] = []
        self.live: dict[int, Any] = {}
        self.launches: list[Launch] = []
        self.fails: Exception | None = None

    def allocate(self, nbytes: int) -> int | None:
        self.calls.append("allocate")
        if nbytes > self.memory()[0]:
            return None
        made = ctypes.create_string_buffer(bytes([POISON]) * nbytes, nbytes)
        self.live[ctypes.addressof(made)] = made
        return ctypes.addressof(made)

    def free(self, address: int) -> None:
        self.calls.append("free")
        del self.live[address]

    def memory(self) -> tuple[int, int]:
        return self.total - sum(len(each) for each in self.live.values()), self.total

    def _check(self, address: int, nbytes: int) -> None:
        inside = any(start <= address and address + nbytes <= start + len(each) for start, each in self.live.items())
        assert inside, f"{nbytes} bytes at {address:#x} belong to no memory of {self.name}"

    def _queue(self, name: str, nbytes: int, places: Sequence[int], work: Callable[[], object]) -> None:
        def run() -> None:
            for place in places:
                self._check(place, nbytes)
            work()

        self.calls.append(name)
        self.queue.append(run)

    def copy_in(self, address: int, host: int, nbytes: int) -> None:
        values = ctypes.string_at(host, nbytes)
        self._queue("copy_in", nbytes, [address], lambda: ctypes.memmove(address, values, nbytes))

    def copy_out(self, host: int, address: int, nbytes: int) -> None:
        self.wait()
        self._check(address, nbytes)
        ctypes.memmove(host, address, nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        assert abs(to - source) >= nbytes
        self._queue("copy", nbytes, [to, source], lambda: ctypes.memmove(to, source, nbytes))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        values = pattern * count
        self._queue("fill", len(values), [address], lambda: ctypes.memmove(address, values, len(values)))

    def wait(self) -> None:
        self.calls.append("wait")
        if self.fails:
            raise self.fails
        while self.queue:
            self.queue.pop(0)()

    def run(self, call: Callable[[], Any]) -> Any:
        self.calls.append("run")
        return call()

    def texture(self, extents: tuple[int, int, int], nearest: bool) -> None:
        return None

    def compile(self, source: str, kernel: str) -> bytes:
        self.calls.append("compile")
        return source.encode()

    def load(self, image: bytes, kernel: str) -> _Module:
        self.calls.append("load")
        return _Module(self)

    def launch(self, launch: Launch) -> None:
        self.calls.append("launch")

        def run() -> None:
            launch.memory += [bytes(self.live[word]) if word in self.live else b"" for word in launch.words]
            self.launches.append(launch)

        self.queue.append(run)

    def export(self, address: int, nbytes: int) -> int:
        self._check(address, nbytes)
        return 77


class _Module:
    def __init__(self, gpu: LateGpu) -> None:
        self.gpu = gpu

    def function(self, entry: str, words: int) -> Callable[[Sequence[int], Sequence[int]], None]:
        def queue(grid: Sequence[int], given: Sequence[int]) -> None:
            assert len(given) == words
            self.gpu.launch(Launch(entry, tuple(grid), tuple(given)))

        return queue

    def unload(self) -> None:
        self.gpu.calls.append("unload")


def late_devices(monkeypatch: Any, *gpus: LateGpu, max_grid: int = 2**31 - 1, **capabilities: Any) -> list[devices.Device]:
    """Devices of kind "cuda" on these, in place of what this machine has."""
    memories = [GpuMemory(gpu) for gpu in gpus]
    cell = dataclasses.replace(CAPABILITIES, max_iterations=max_grid * 256, **capabilities)

    def start(index: int) -> GpuBackend:
        facts = {"name": "late", "memory": gpus[index].total, "compute_units": 1, "limits": {}}
        grid = (max_grid, 65535, 65535)
        return GpuBackend(memories[index], CUDA, cell, target=("late",), max_grid=grid, image_mode="ptx", properties=facts)

    kind = devices.DeviceKind("cuda", "CUDA", True, count=lambda: len(gpus), start=start, memory=memories.__getitem__)
    monkeypatch.setitem(devices._KINDS, "cuda", kind)
    monkeypatch.setattr(devices, "_devices", {k: v for k, v in devices._devices.items() if k[0] != "cuda"})
    return [devices.device(f"cuda:{index}") for index in range(len(gpus))]
