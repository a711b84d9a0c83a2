"""Kernels on a simulated GPU, many of them compiled together, so that compilers do not dominate; each is launched as any other.

Arguments that share memory on the host do so on the device.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import tack
from tack.codegen.c_family import emit_unit
from tack.codegen.gpu_layout import GpuLayout, gpu_layout
from tack.ir.nodes import IRFunc
from tack.lang.array import Array
from tack.lang.texture import Texture3D
from tack.runtime.gpu import GpuBackend, GpuCode
from tack.runtime.gpu_memory import GpuBuffer
from tack.runtime.kernel_utils import KernelVariant

__all__ = ["Batch", "OnDevice"]

_UNIT = 40  # kernels compiled together
_ALIGNED = 16  # bytes; addresses keep their remainder


class Batch(GpuBackend):
    """The backend of a device that compiles kernels with the first launch, all that were resolved before it together.

    Beside `launch`, which decides as ever, `launch_by` runs the other entry and the other form of grid.
    """

    def __init__(self, device: tack.Device) -> None:
        of = device._backend
        super().__init__(
            device.memory, of.dialect, of.capabilities, target=of.cache_target(), max_grid=of.max_grid, image_mode="ptx",
            properties=of.properties(),
        )  # fmt: skip
        self.pending: list[_Later] = []
        self.rows = copy.copy(self)  # which has only rows of workgroups
        self.rows.max_grid = (self.max_grid[0], 0, 0)

    def build(self, func: IRFunc, args: Any) -> Any:
        self.pending.append(_Later(self, func))
        return self.pending[-1]

    def variant(self, func: IRFunc) -> KernelVariant:
        """A typed kernel as `resolve` gives it."""
        return KernelVariant(func, self.build(func, ()), ())

    def launch_by(self, variant: KernelVariant, args: Sequence[Any], *, wide: bool, rows: bool) -> Any:
        """`launch` with 64-bit indices (`wide`), and with workgroups in one row (`rows`)."""
        return variant.payload.form(wide, rows).launch(variant.dispatch_lock, args)

    def compile(self) -> None:
        """Compiles what was resolved."""
        while self.pending:
            part = self.pending[:_UNIT]
            named = [(each.func, f"k{k}") for k, each in enumerate(part)]
            image = self.memory.api.compile(emit_unit(named, self.dialect), "unit")
            for each, (func, entry) in zip(part, named, strict=True):
                each.image, each.layout = image, gpu_layout(func, grids=bool(self.dialect.row), entry=entry)
            del self.pending[:_UNIT]


class _Later:
    """The payload of a kernel that is compiled with others."""

    def __init__(self, batch: Batch, func: IRFunc) -> None:
        self.batch = batch
        self.func = func
        self.image = b""
        self.layout: GpuLayout | None = None
        self.forms: dict[tuple[bool, bool], GpuCode] = {}

    def form(self, wide: bool = False, rows: bool = False) -> GpuCode:
        """The code for a form of launch."""
        if self.layout is None:
            self.batch.compile()
        if (wide, rows) not in self.forms:
            assert self.layout is not None
            layout = replace(self.layout, narrow="") if wide else self.layout
            self.forms[wide, rows] = GpuCode(self.batch.rows if rows else self.batch, self.func, layout, self.image)
        return self.forms[wide, rows]

    def launch(self, lock: Any, args: Sequence[Any]) -> Any:
        return self.form().launch(lock, args)


class OnDevice:
    """Copies of arguments, NumPy's arrays or Tack's on the CPU, on a device.

    `args` are for kernels; `bring_back` stores what the copies hold in NumPy's arrays.
    """

    def __init__(self, args: Sequence[Any], device: tack.Device) -> None:
        self._device = device
        self._parts: list[tuple[int, int, Array]] = []  # host memory from, to, and where its bytes are on the device
        arrays = [_host(each) for each in args if isinstance(each, np.ndarray | Array)]
        for low, high in _merged([_span(each) for each in arrays if each.size]):
            shift = low % _ALIGNED
            room = tack.empty(shift + high - low, tack.u8, device=device)
            self._parts.append((low, high, room[shift:]))
        self.send()
        self.args = [self._argument(each) for each in args]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Texture3D):
            texels = value._copy.numpy().reshape(value.shape_3d[::-1])
            return tack.texture3d(texels, interp=value.interp, device=self._device)
        if not isinstance(value, np.ndarray | Array):
            return value
        host = _host(value)
        if isinstance(value, Array):
            wanted, shape, writable = value.dtype, value.shape, value.writable
        else:
            wanted, shape, writable = tack.empty(0, host.dtype, device="cpu").dtype, host.shape, host.flags.writeable
        low, _ = _span(host)
        part = next((p for p in self._parts if p[0] <= low < p[1]), None)
        if part is None:  # it has no elements
            return tack.empty(shape, wanted, device=self._device)
        of = part[2]._buffer
        buffer = GpuBuffer(of.memory, of.block, of.address + low - part[0], wanted.numpy, host.shape, writable)
        return Array(buffer, wanted, shape, self._device)

    def send(self) -> None:
        """Copies what NumPy's arrays hold to the device."""
        for low, high, room in self._parts:
            room._buffer.write(np.frombuffer(ctypes.string_at(low, high - low), np.uint8))

    def bring_back(self) -> None:
        """Waits, and stores what the copies hold where they were made from."""
        for low, high, room in self._parts:
            ctypes.memmove(low, room.numpy().tobytes(), high - low)


def _host(value: np.ndarray | Array) -> np.ndarray:
    return value.view_numpy() if isinstance(value, Array) else value


def _span(array: np.ndarray) -> tuple[int, int]:
    assert array.flags.c_contiguous
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges that these cover."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found
