"""Emitted CUDA C as a target of the conformance suite: it runs on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host_c import HostUnit

from tack.ir.nodes import IRFunc
from tack.ir.types import DTYPES
from tack.lang.kernel import Kernel
from tack.runtime.backend import Capabilities
from tack.testing.targets import host_args, typed

__all__ = ["EmittedTarget"]

_CAPABILITIES = Capabilities("CUDA", supported_dtypes=DTYPES, fma=True, exact_sqrt=True, f32_denormals=True)


@dataclass(frozen=True, slots=True)
class EmittedTarget:
    """Runs each kernel through the C emitter, and keeps what was emitted in `kernels`."""

    folder: Path
    capabilities: Capabilities = _CAPABILITIES
    name: str = "emitted CUDA C"
    kernels: list[tuple[IRFunc, str]] = field(default_factory=list[tuple[IRFunc, str]])

    def run(self, kernel: Kernel, args: Sequence[Any]) -> Any:
        entry = f"k{len(self.kernels)}"
        self.kernels.append((typed(kernel, args, fma=self.capabilities.fma), entry))
        return HostUnit(self.kernels[-1:], self.folder).run(entry, host_args(kernel, args))
