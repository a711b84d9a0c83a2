"""What the GPU backends share: how a kernel is compiled for a device, and how one launch is queued.

Each backend is this class with its dialect, its capabilities and its `GpuApi`. Knows no vendor.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tack.codegen.dialect import Dialect
from tack.codegen.gpu_layout import NARROW_ELEMENTS, GpuLayout
from tack.codegen.gpu_unit import gpu_unit
from tack.ir.nodes import IRFunc
from tack.ir.types import BOOL
from tack.lang.array import Array
from tack.runtime.backend import Backend, Capabilities, require_iterations
from tack.runtime.cache_format import dumps, joined, loads, split
from tack.runtime.gpu_memory import GpuMemory
from tack.runtime.gpu_reduce import reduce_on_device
from tack.runtime.kernel_utils import KernelVariant, new_kernel_cache, resolve_variant
from tack.runtime.launch_ranges import launch_ranges

__all__ = ["GpuBackend", "GpuCode"]

_ONE = (1, 1, 1)  # workgroup


class GpuBackend(Backend):
    """Kernels on one GPU. A call returns when its launch is queued.

    `target` is what compiled images depend on besides the source; `max_grid` the most workgroups of a launch in each direction.
    `image_mode` is the name of the images of kernels in `tack.inspect`, "" where they are no text.
    """

    def __init__(
        self,
        memory: GpuMemory,
        dialect: Dialect,
        capabilities: Capabilities,
        *,
        target: tuple[str, ...],
        max_grid: tuple[int, int, int],
        image_mode: str,
        properties: dict[str, Any],
    ) -> None:
        self.memory = memory
        self.dialect = dialect
        self.capabilities = capabilities
        self.max_grid = max_grid
        self.code_modes = ("source", image_mode) if image_mode else ("source",)
        self._target = target
        self._properties = properties
        self._cache = new_kernel_cache()

    def resolve(self, kernel: Any, args: Any) -> KernelVariant:
        """The variant for a call, compiled if need be."""
        return resolve_variant(self, kernel, args)

    def build(self, func: IRFunc, args: Any) -> GpuCode:
        """Compiles a typed kernel."""
        unit = gpu_unit(func, self.dialect)
        return GpuCode(self, func, unit.layout, self.memory.api.compile(unit.source, func.name))

    def cache_target(self) -> tuple[str, ...]:
        """What names the device, its driver and its compiler."""
        return self._target

    def variant_artifact(self, payload: GpuCode) -> bytes:
        """The image and how its entries are called."""
        return joined(dumps(payload.layout.stored()), payload.image)

    def load_variant(self, ir_func: IRFunc, artifact: bytes, effective_args: Any) -> GpuCode:
        """Loads the image. The pack's memory is made anew."""
        head, image = split(artifact, 2)
        return GpuCode(self, ir_func, GpuLayout.restored(loads(head)), image)

    def launch(self, variant: KernelVariant, args: Sequence[Any]) -> Any:
        """Queues a variant on checked arguments. The kernel's result, if it has one, which waits."""
        return variant.payload.launch(variant.dispatch_lock, args)

    def launcher(self, variant: KernelVariant) -> Callable[[Sequence[Any]], object]:
        """`launch` of one variant; it does not hold the device."""
        return partial(variant.payload.launch, variant.dispatch_lock)

    def code(self, variant: KernelVariant, mode: str) -> str:
        """The source handed to the device's compiler ("source"), or what that makes of it."""
        return gpu_unit(variant.ir, self.dialect).source if mode == "source" else variant.payload.image.decode()

    def properties(self) -> dict[str, Any]:
        """`name`, `memory` (bytes), `compute_units` and `limits`."""
        return {**self._properties, "limits": dict(self._properties["limits"])}

    def reduce(self, array: Array, name: str) -> Any:
        """The "sum", "min" or "max" of an array's elements, computed on the device; None where the host shall do it."""
        return reduce_on_device(array, name) if self.capabilities.supports_device_reductions else None


class GpuCode:
    """The payload of a GPU variant: the functions of a module, and the device memory from which they read their scalars.

    The pack and the functions' arguments belong to one launch at a time, from their update until the launch is queued: the lock
    that `launch` is given. What is given back with this object is given back after a wait, since queued work may use it.
    """

    __slots__ = (
        "__weakref__", "_before", "_carried", "_host", "_module", "_narrow", "_own", "_pack", "_ranges", "_result", "_wide",
        "_written", "backend", "func", "image", "layout",
    )  # fmt: skip

    def __init__(self, backend: GpuBackend, func: IRFunc, layout: GpuLayout, image: bytes) -> None:
        self.backend = backend
        self.func = func
        self._ranges = launch_ranges(func)
        self.layout = layout
        self.image = image
        self._written = b""
        memory = backend.memory
        self._pack = memory.empty(np.dtype(np.uint8), (layout.pack_size,))
        self._host = ctypes.create_string_buffer(layout.pack_size)  # from which the pack is copied
        self._carried = memory.empty(np.dtype(np.uint8), (layout.carried_size,))
        self._module = memory.api.load(image, func.name)
        self._own = [buffer.address for buffer in (self._pack, self._carried) if buffer.nbytes]
        words = len(layout.pointers) + len(self._own)
        entries = (layout.entry, words), (layout.narrow, words), (layout.before, words), (layout.result, words + 1)
        functions = [self._module.function(entry, count) if entry else _absent for entry, count in entries]
        self._wide, self._narrow, self._before, self._result = functions

    def __del__(self) -> None:
        module = getattr(self, "_module", None)  # a constructor that has failed leaves none
        if module is not None:
            self.backend.memory.later(module.unload)

    def launch(self, lock: threading.Lock, args: Sequence[Any]) -> Any:
        """Queues a launch on checked arguments; with a result waits for that and returns it."""
        layout, backend = self.layout, self.backend
        ranges = self._ranges(args)
        sizes = [max(0, -(-(each.stop - each.start) // each.step)) for each in ranges]  # some are past what `len` counts
        count = prod(sizes)
        if not count and not layout.result:
            return None
        require_iterations(backend.capabilities, count, kernel=self.func.name)
        grid, flag = layout.grid(sizes, backend.max_grid)
        buffers = [args[slot]._buffer for slot in layout.pointers]
        words = [buffer.address for buffer in buffers]
        words += self._own
        entry = self._narrow if layout.narrow and self._fits(buffers, args, ranges) else self._wide
        first = bool(layout.before) and layout.comes_first(lambda slot: args[slot]._buffer.span)
        pack = layout.pack(args, ranges, flag, first)
        out = backend.memory.empty(_result_dtype(layout), (1,)) if layout.result else None
        with lock:
            if pack != self._written:
                self._update(pack)
            if first:
                self._before(_ONE, words)
            if count:
                entry(grid, words)
            if out is not None:
                self._result(_ONE, [*words, out.address])
        backend.memory.api.queued.note(self.func.name)
        if out is not None:
            return out.load((0,)).item()
        for buffer in buffers:
            if buffer.block.shared:
                backend.memory.wait()
                break
        return None

    def _fits(self, buffers: Sequence[Any], args: Sequence[Any], ranges: Sequence[range]) -> bool:
        """Whether indices of 32 bits will do for a launch."""
        spans = [buffer.span for buffer in buffers]
        if all(span is None or span[1] - span[0] < NARROW_ELEMENTS for span in spans):
            return self.layout.fits_narrow((), ranges)
        arrays = [arg for arg in args if isinstance(arg, Array)]
        return self.layout.fits_narrow([array.nbytes // array.dtype.scalar.itemsize for array in arrays], ranges)

    def _update(self, pack: bytes) -> None:
        """Queues that the pack's memory holds these bytes."""
        self._written = b""  # if the copy fails nobody knows what it holds
        self._host.raw = pack
        self.backend.memory.api.copy_in(self._pack.address, ctypes.addressof(self._host), len(pack))
        self._written = pack


def _absent(grid: Sequence[int], words: Sequence[int]) -> None:
    raise AssertionError("a launch of an entry that the kernel does not have")


def _result_dtype(layout: GpuLayout) -> np.dtype[Any]:
    t = layout.result_type
    assert t is not None
    return np.dtype(np.bool_) if t is BOOL else t.numpy
