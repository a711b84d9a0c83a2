"""What the conformance suite runs kernels on: a device, a device with every launch fanned out, the reference interpreter.

A target takes NumPy arrays and numbers and changes the arrays in place, whatever it does in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tack.ir.interpret import interpret
from tack.ir.nodes import IRFunc, IRParam
from tack.ir.pipeline import CallFacts, compile_ir
from tack.lang.array import Array
from tack.lang.kernel import Kernel
from tack.lang.type_inference import default_float, infer_param_types
from tack.runtime.backend import Capabilities
from tack.runtime.constructors import array
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.device import Device
from tack.runtime.variant_key import _KeyProbe, arrays_disjoint

__all__ = ["DeviceTarget", "FanoutTarget", "InterpreterTarget", "Target", "typed"]


class Target(Protocol):
    """Runs kernels; `capabilities` say what it can."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def run(self, kernel: Kernel, args: Sequence[Any]) -> None:
        """`kernel(*args)`, with NumPy arrays for arrays; they hold the results afterwards."""
        ...


@dataclass(slots=True)
class DeviceTarget:
    """Kernels as users run them."""

    device: Device
    name: str

    @property
    def capabilities(self) -> Capabilities:
        """Those of the device's backend."""
        return self.device._backend.capabilities

    def run(self, kernel: Kernel, args: Sequence[Any]) -> None:
        with self.device:
            values = [array(a, device=self.device) if isinstance(a, np.ndarray) else a for a in args]
            kernel(*values)
            for host, value in zip(args, values, strict=True):
                if isinstance(host, np.ndarray):
                    host[...] = value.numpy()


@dataclass(slots=True)
class FanoutTarget(DeviceTarget):
    """A CPU device of two or more threads, where every launch is cut into chunks of 1 to 7 iterations.

    `worker_chunks` counts the chunks that threads other than the caller's ran.
    """

    worker_chunks: int = 0

    def run(self, kernel: Kernel, args: Sequence[Any]) -> None:
        with force_fanout() as forced:
            DeviceTarget.run(self, kernel, args)
        self.worker_chunks += forced.worker_chunks


@dataclass(frozen=True, slots=True)
class InterpreterTarget:
    """The reference interpreter, on what the passes made of the kernel for `capabilities`."""

    capabilities: Capabilities
    name: str = "interpreter"
    reverse: bool = False

    def run(self, kernel: Kernel, args: Sequence[Any]) -> None:
        func = typed(kernel, args, fma=self.capabilities.fma)
        interpret(func, args, reverse=self.reverse)


def typed(kernel: Kernel, args: Sequence[Any], *, fma: bool) -> IRFunc:
    """The kernel's typed IR after all passes, for a call with these NumPy arrays and numbers."""
    values = [array(a, device="cpu") if isinstance(a, np.ndarray) else a for a in args]
    template = kernel.template()
    probe = _KeyProbe(template)
    infer_param_types(template, values, probe)
    params = tuple(
        IRParam(param.name, entry._is_array, entry.type_annotation, param.span)
        for param, entry in zip(template.params, probe.params, strict=True)
    )
    shapes = {p.name: v.shape for p, v in zip(params, values, strict=True) if isinstance(v, Array)}
    facts = CallFacts(params, shapes, default_float(values), arrays_disjoint(template, values), fma)
    return compile_ir(template, facts)
