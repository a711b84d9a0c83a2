"""The CPU backend: what the CPU can do, and how a kernel is compiled for it and launched. LLVM loads with the first compile."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from tack import settings
from tack.codegen.layout import CODE_VERSION, PackLayout, pack_layout
from tack.forks import importing
from tack.ir.nodes import IRFunc
from tack.ir.types import DTYPES
from tack.runtime.backend import Backend, Capabilities, missing_dependency
from tack.runtime.cache_format import dumps, joined, loads, split
from tack.runtime.cpu_cost import Cost
from tack.runtime.cpu_entry import CpuCode, NativeCode
from tack.runtime.cpu_pool import Pool
from tack.runtime.cpu_topology import default_threads
from tack.runtime.kernel_utils import KernelVariant, new_kernel_cache, resolve_variant

__all__ = ["CAPABILITIES", "DEPENDS", "CpuBackend", "describe"]

# Calls whose written arrays overlap no other array run a variant of their own, which promises that to LLVM.
_SPECIALIZE_DISJOINT = True

CAPABILITIES = Capabilities(
    label="CPU",
    supported_dtypes=DTYPES,
    supported_atomic_dtypes=DTYPES,
    supports_print=True,
    exact_sqrt=True,
    f32_denormals=True,
)
# What a device may answer otherwise when it starts, and on what that depends.
DEPENDS = {"fma": "where the processor has instructions for it"}


class CpuBackend(Backend):
    """Kernels on this machine's CPU cores. A kernel call returns when the kernel has finished.

    `num_threads` (1 or more) beats `TACK_CPU_THREADS`, which beats the number that fits the machine.
    """

    code_modes = ("source", "optimized", "asm")
    has_native_calls = True

    def __init__(self, num_threads: int | None = None) -> None:
        self.capabilities = replace(CAPABILITIES, fma=_has_fma())
        self._cache = new_kernel_cache()
        settings.CPU_POOL.read()  # refuses what it does not take; what it takes is the pool there is
        self.pool = Pool(num_threads or settings.CPU_THREADS.read() or default_threads())

    def resolve(self, kernel: Any, args: Sequence[Any]) -> KernelVariant:
        """The variant for a call, compiled if need be."""
        return resolve_variant(self, kernel, args, specialize_disjoint=_SPECIALIZE_DISJOINT)

    def build(self, func: IRFunc, args: Sequence[Any]) -> CpuCode:
        """Compiles a typed kernel."""
        with importing:
            from tack.codegen.llvm_gen import emit_module
            from tack.runtime.cpu_jit import compile_module

        layout = pack_layout(func)
        return CpuCode(func, layout, compile_module(emit_module(func, layout), func.name), Cost(self.pool))

    def cache_target(self) -> tuple[str, ...]:
        """LLVM's version, triple, processor, features, vector width, and the version of Tack's code generator."""
        from tack.runtime.cpu_jit import target_key

        return (*target_key(), CODE_VERSION)

    def variant_artifact(self, payload: CpuCode) -> bytes:
        """The object file, the functions it exports, and the layout of the pack but for the parameters."""
        code: Any = payload.code
        _, *parts = (getattr(payload.layout, field.name) for field in fields(PackLayout))
        return joined(dumps((code.names, tuple(parts))), code.image)

    def load_variant(self, ir_func: IRFunc, artifact: bytes, effective_args: Sequence[Any]) -> CpuCode:
        """Links the object file."""
        from tack.runtime.cpu_jit import load_object

        head, image = split(artifact, 2)
        names, parts = loads(head)
        return CpuCode(ir_func, PackLayout(ir_func.params, *parts), load_object(image, names, ir_func.name), Cost(self.pool))

    def launch(self, variant: KernelVariant, args: Sequence[Any]) -> Any:
        """Runs a variant on checked arguments; the kernel's result, if it has one."""
        return variant.payload.launch(args)

    def launcher(self, variant: KernelVariant) -> Callable[[Sequence[Any]], object]:
        """The function that runs a variant on checked arguments; it does not hold the device."""
        return variant.payload.launch

    def native(self, variant: KernelVariant) -> NativeCode | None:
        """The variant as the native entry launches it; None for one that it does not launch."""
        return variant.payload.native(variant.ir)

    def code(self, variant: KernelVariant, mode: str) -> str:
        """LLVM IR before ("source") and after ("optimized") LLVM's passes, or assembly ("asm")."""
        with importing:
            from tack.codegen.llvm_gen import emit_module
            from tack.runtime import cpu_jit

        source = emit_module(variant.ir, variant.payload.layout)
        return source if mode == "source" else getattr(cpu_jit, mode)(source, variant.ir.name)

    def properties(self) -> dict[str, Any]:
        """`name`, `memory` (bytes), `compute_units` (threads used) and `limits`."""
        return {
            "name": platform.processor() or platform.machine(),
            "memory": _memory(),
            "compute_units": self.pool.threads,
            "limits": {"max_iterations": 2**63 - 1},
        }


def describe() -> str:
    """The processor, LLVM's version and the number of threads, in words. `RuntimeError` without llvmlite."""
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        raise missing_dependency("cpu", error) from error
    threads = settings.CPU_THREADS.read() or default_threads()
    version = ".".join(map(str, binding.llvm_version_info))
    return f"{binding.get_host_cpu_name()}, {threads} thread{'s' * (threads > 1)}, LLVM {version}"


def _has_fma() -> bool:
    try:
        from tack.runtime.cpu_jit import has_fma

        return has_fma()
    except ImportError as error:
        raise missing_dependency("cpu", error) from error


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return None
