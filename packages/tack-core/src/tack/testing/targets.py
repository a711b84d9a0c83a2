"""What the conformance suite runs kernels on: a device, a device with every launch fanned out, the reference interpreter.

A target takes NumPy arrays and numbers and changes the arrays in place, whatever it does in between. Objects of device classes
hold arrays of Tack's on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tack.ir.facts import has_collectives
from tack.ir.interpret import interpret
from tack.ir.nodes import IRFunc
from tack.ir.pipeline import CallFacts, compile_ir
from tack.lang.array import Array
from tack.lang.call_shape import CallShape, describe_call
from tack.lang.kernel import Kernel
from tack.lang.texture import Texture3D
from tack.lang.type_inference import default_float, infer_param_types
from tack.runtime.backend import Capabilities
from tack.runtime.constructors import array
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.device import Device
from tack.runtime.kernel_utils import KernelVariant
from tack.runtime.launch_checks import check_full_workgroups, check_workgroup_support
from tack.runtime.variant_key import _KeyProbe, arrays_disjoint, shapes_of, store_texture_shapes, typed_params

__all__ = ["DeviceTarget", "FanoutTarget", "InterpreterTarget", "Target", "host_args", "typed", "typed_call"]


class Target(Protocol):
    """Runs kernels; `capabilities` say what it can."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def run(self, kernel: Kernel, args: Sequence[Any]) -> Any:
        """`kernel(*args)`, with NumPy arrays for arrays; they hold the results afterwards. Its value is the kernel's."""
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

    def run(self, kernel: Kernel, args: Sequence[Any]) -> Any:
        with self.device:
            values = [array(a, device=self.device) if isinstance(a, np.ndarray) else a for a in args]
            result = kernel(*values)
            for host, value in zip(args, values, strict=True):
                if isinstance(host, np.ndarray):
                    host[...] = value.numpy()
        return result


@dataclass(slots=True)
class FanoutTarget(DeviceTarget):
    """A CPU device of two or more threads, where every launch is cut into chunks of 1 to 7 iterations.

    `worker_chunks` counts the chunks that threads other than the caller's ran.
    """

    worker_chunks: int = 0

    def run(self, kernel: Kernel, args: Sequence[Any]) -> Any:
        with force_fanout() as forced:
            result = DeviceTarget.run(self, kernel, args)
        self.worker_chunks += forced.worker_chunks
        return result


@dataclass(frozen=True, slots=True)
class InterpreterTarget:
    """The reference interpreter, on what the passes made of the kernel for `capabilities`."""

    capabilities: Capabilities
    name: str = "interpreter"
    reverse: bool = False

    def run(self, kernel: Kernel, args: Sequence[Any]) -> Any:
        call = _described(kernel, args)
        check_workgroup_support(self.capabilities, kernel.template(call))
        func = typed_call(kernel, call, fma=self.capabilities.fma)
        launch = KernelVariant(func, None, ())
        launch.requires_full_workgroups = has_collectives(func)
        check_full_workgroups(launch, call.args + call.hidden)
        return interpret(func, host_args(kernel, args), reverse=self.reverse)


def host_args(kernel: Kernel, args: Sequence[Any]) -> list[Any]:
    """The arguments as the lowered kernel takes them: what objects hold, arrays and texels as NumPy's views of them."""
    call = describe_call(kernel.param_names, args)
    held = [a._copy if isinstance(a, Texture3D) else a for a in call.args]
    return [a.view_numpy() if isinstance(a, Array) else a for a in held]


def typed(kernel: Kernel, args: Sequence[Any], *, fma: bool, hardware: bool = False) -> IRFunc:
    """The kernel's typed IR after all passes, for a call with these NumPy arrays, numbers and objects of device classes.

    `hardware`: the target samples textures.
    """
    return typed_call(kernel, _described(kernel, args), fma=fma, hardware=hardware)


def _described(kernel: Kernel, args: Sequence[Any]) -> CallShape:
    return describe_call(kernel.param_names, [array(a, device="cpu") if isinstance(a, np.ndarray) else a for a in args])


def typed_call(kernel: Kernel, call: CallShape, *, fma: bool, hardware: bool = False) -> IRFunc:
    """`typed` for a call that has been described, with Tack's arrays; in debug mode with its hidden arguments."""
    values = call.args + call.hidden
    template = kernel.template(call)
    probe = _KeyProbe(template)
    infer_param_types(template, values, probe)
    store_texture_shapes(probe, values, hardware)
    params = typed_params(template, probe, values)
    shapes = shapes_of(params, values)
    facts = CallFacts(params, shapes, default_float(values), arrays_disjoint(template, values), fma)
    return compile_ir(template, facts)
