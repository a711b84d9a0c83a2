"""Typed kernels compiled by LLVM into one module, and called with NumPy arrays and numbers."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from tack.codegen.layout import PackLayout, pack_layout
from tack.codegen.llvm_gen import emit_kernels
from tack.ir.nodes import IRFunc
from tack.runtime.cpu_jit import Code, compile_module

__all__ = ["Unit"]

ENTER = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
BODY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class Unit:
    """Kernels by name."""

    def __init__(self, kernels: Iterable[tuple[str, IRFunc]], opt: int = 3) -> None:
        self.funcs = dict(kernels)
        self.text = emit_kernels((f"{name}.", func) for name, func in self.funcs.items())
        self.code: Code = compile_module(self.text, opt=opt)
        self.layouts: dict[str, PackLayout] = {name: pack_layout(func) for name, func in self.funcs.items()}

    def pack(self, name: str, *args: Any) -> Any:
        """A filled pack: sizes from the arrays' shapes, 8 words of its own that must stay as they are behind it."""
        layout = self.layouts[name]
        values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
        arrays = {p.name: a for p, a in zip(layout.params, args, strict=True)}
        values += [getattr(arrays[n], d) if isinstance(d, str) else arrays[n].shape[d] for n, d in layout.dims]
        words = (ctypes.c_uint64 * (layout.size + 8))(*[0x5A5A5A5A5A5A5A5A] * (layout.size + 8))
        struct.pack_into(layout.format, words, 0, *values)
        return words

    def enter(self, name: str, pack: Any) -> int:
        """The number of iterations, or a refusal."""
        return ENTER(self.code.address(f"{name}.enter"))(ctypes.addressof(pack))

    def body(self, name: str, lo: int, hi: int, pack: Any) -> None:
        """Some of the iterations."""
        BODY(self.code.address(f"{name}.body"))(lo, hi, ctypes.addressof(pack))

    def __call__(self, name: str, *args: Any, chunk: int = 0) -> int:
        """Runs a kernel: whole, or in pieces of `chunk` iterations, last piece first. The number of iterations."""
        pack = self.pack(name, *args)
        count = self.enter(name, pack)
        if not chunk:
            left = RUN(self.code.address(f"{name}.run"))(ctypes.addressof(pack), 1 << 62)
            assert left == min(count, 0)
        else:
            for lo in reversed(range(0, count, chunk)):
                self.body(name, lo, min(lo + chunk, count), pack)
        assert list(pack[-8:]) == [0x5A5A5A5A5A5A5A5A] * 8
        return count
