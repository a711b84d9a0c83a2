"""A kernel compiled for the CPU, and how one launch of it runs: pack the arguments, run serially or on the pool, read errors.

A pack belongs to one launch at a time, so that launches of one kernel from several threads do not meet. Knows no LLVM.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from tack.codegen.layout import PackLayout
from tack.ir.facts import prints_of
from tack.ir.nodes import Block, IRFor, IRFunc, IRWhile
from tack.ir.types import BOOL, u64
from tack.ir.walk import walk
from tack.runtime import cpu_pool
from tack.runtime.cpu_cost import MEASURE_EVERY, Cost
from tack.runtime.cpu_print import Printer
from tack.runtime.launch_checks import ranges_of_launch

__all__ = ["CpuCode", "MachineCode", "NativeCode"]

# Nodes of a body without loops, times iterations: by the code alone too little to let other threads of Python run meanwhile, let
# alone to share.
_KEEP_NODES = 4096

_Run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)  # both release the GIL while they run
_Finish = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Body = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class MachineCode(Protocol):
    """Loaded machine code, valid as long as the object lives."""

    def address(self, name: str) -> int: ...


@dataclass(frozen=True, slots=True)
class NativeCode:
    """A variant as the native entry launches it: addresses in `keep`, the `limits` of its `Cost`, and up to how many iterations
    are so few that they neither need these nor let go of the interpreter's lock."""

    enter: int
    body: int
    finish: int
    layout: PackLayout
    limits: array[int]
    keeps: int
    keep: Any


class _Pack:
    """The memory of one launch's arguments: `buffer` for `struct`, its `address` for native code."""

    __slots__ = ("address", "buffer")

    def __init__(self, slots: int) -> None:
        self.buffer = (ctypes.c_uint64 * slots)()
        self.address = ctypes.addressof(self.buffer)


class CpuCode:
    """The payload of a CPU variant. `launch(args)` runs the kernel on checked arguments and returns when it has finished, with
    the kernel's result if it has one.

    It raises `ValueError` for bounds that no launch can have. `code` is machine code, which takes arguments in a pack of this
    `layout`.
    """

    __slots__ = ("__weakref__", "code", "cost", "launch", "layout")

    def __init__(self, func: IRFunc, layout: PackLayout, code: MachineCode, cost: Cost) -> None:
        self.layout = layout
        self.code = code
        self.cost = cost
        self.launch = _launcher(func, layout, code, cost)

    def native(self, func: IRFunc) -> NativeCode | None:
        """What the native entry needs of this code, made of `func`.

        None for a kernel that prints, and for one whose prologue or result takes time that nobody knows, with the lock held.
        """
        outside = (*func.bound_prologue, *func.prologue, *func.epilogue)
        if self.layout.prints or _has_loops(outside):
            return None
        nodes = sum(1 for _ in walk(func.loop.body))
        keeps = 0 if _has_loops(func.loop.body) else _KEEP_NODES // max(1, nodes)
        finish = 0 if self.layout.result is None else self.code.address("finish")
        enter, body = self.code.address("enter"), self.code.address("body")
        return NativeCode(enter, body, finish, self.layout, self.cost.words, keeps, self)


def _has_loops(block: Block) -> bool:
    return any(isinstance(node, IRFor | IRWhile) for node in walk(block))


def _launcher(func: IRFunc, layout: PackLayout, code: MachineCode, cost: Cost) -> Callable[[Sequence[Any]], Any]:
    """`CpuCode.launch`, generated: straight code costs a third of loops over the arguments. Its globals keep `code`."""
    slots = {param.name: f"p{slot}" for slot, param in enumerate(layout.params)}
    values = [f"{slots[p.name]}._buffer.address" if p.is_array else slots[p.name] for p in layout.params]
    for name, dim in layout.dims:
        values.append(f"{slots[name]}.shape[{dim}]" if isinstance(dim, int) else f"{slots[name]}.{dim}")
    printer = Printer(prints_of(func)) if layout.prints else None
    values += ["printer.address"] if printer else []
    listed = ", ".join(values)
    scope: dict[str, Any] = {
        "count": itertools.count(1).__next__, "error": struct.error, "free": [], "new": partial(_Pack, layout.size),
        "numbers": _numbers, "pack_into": struct.Struct(layout.format).pack_into, "pool": cpu_pool, "cost": cost,
        "words": cost.words,
        "run": _Run(code.address("run")), "rest": partial(_run_rest, func, _Body(code.address("body")), cost, code),
        "printer": printer,
    }  # fmt: skip
    if layout.result is not None:
        scope |= {"finish": _Finish(code.address("finish")), "result": _reader(layout)}
    exec(
        f"""
def launch(args):
    {f"{', '.join(slots.values())}, = args" if slots else ""}
    try:
        pack = free.pop()
    except IndexError:
        pack = new()
    try:
        pack_into(pack.buffer, 0, {listed})
    except error:
        pack_into(pack.buffer, 0, *numbers({listed}))
    left = run(
        pack.address, cost.serial_max if count() & {MEASURE_EVERY - 1} and words[1] and pool.forced is None else 0
    )
    if left:
        rest(left, pack, args)
    {"printer.check()" if printer else ""}
    {"finish(pack.address)" if layout.result else ""}
    {"value = result(pack.buffer)" if layout.result else ""}
    free.append(pack)
    {"return value" if layout.result else ""}
""",
        scope,
    )
    return scope.pop("launch")  # left in its own globals it would be a cycle


def _reader(layout: PackLayout) -> Callable[[Any], Any]:
    """The function that reads the kernel's result from a pack, as a Python number."""
    t = layout.result
    assert t is not None
    unpack, at = struct.Struct("=d" if t.is_float else "=Q" if t is u64 else "=q").unpack_from, 8 * layout.result_slot
    kind = bool if t is BOOL else float if t.is_float else int

    def read(buffer: Any) -> Any:
        return kind(unpack(buffer, at)[0])

    return read


def _numbers(*values: Any) -> Iterator[Any]:
    """The values with NumPy's truth values as ints: `struct` takes all other scalars as they are."""
    return (int(value) if isinstance(value, np.bool_) else value for value in values)


def _run_rest(
    func: IRFunc, body: cpu_pool.Body, cost: Cost, code: MachineCode, count: int, pack: _Pack, args: Sequence[Any]
) -> None:
    """A launch that `run` left to us: `count` iterations, more than are run unmeasured, or an error."""
    if count < 0:
        _refuse(func, args)
    keep = (pack, args, code)
    if cost.pool.threads == 1:
        body(0, count, pack.address)
    elif cpu_pool.forced is None:
        cost.run(body, count, pack.address, keep)
    else:
        cost.pool.run(body, 0, count, pack.address, keep)


def _refuse(func: IRFunc, args: Sequence[Any]) -> None:
    """Raises the error of a launch whose range `run` refused. The interpreter has the words, and counts exactly."""
    ranges_of_launch(func, args)
    raise AssertionError(f"{func.name}: compiled code refused a range that can be run")
