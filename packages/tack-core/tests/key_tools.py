"""What the tests of keys and caches share: counts, and a backend that compiles to text alone, so that code can be compared."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tack
from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.codegen.layout import pack_layout
from tack.codegen.llvm_gen import emit_module
from tack.hooks import slots
from tack.ir.facts import workgroup_features
from tack.ir.nodes import IRFunc, IRTextureSample
from tack.ir.printer import print_ir
from tack.ir.types import DTYPES
from tack.ir.walk import walk_func
from tack.lang.call_shape import describe_call
from tack.runtime.backend import Backend, Capabilities
from tack.runtime.checked_launch import checked_call
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import KernelVariant, new_kernel_cache, resolve_variant

__all__ = ["TextBackend", "array", "both_counts", "counted", "keys", "like", "templates", "variants"]

ALL = Capabilities(
    "text", supported_dtypes=DTYPES, supported_atomic_dtypes=tuple(t for t in DTYPES if t.bits >= 32), supports_workgroups=True,
    supports_print=True, fma=True, exact_sqrt=True, f32_denormals=True,
)  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- counts


def keys(kernel: tack.Kernel) -> list[Any]:
    """The keys of the kernel's variants on the default device."""
    return list(get_backend()._cache.get(kernel, {}))


def variants(kernel: tack.Kernel) -> int:
    """How many variants of the kernel the default device has."""
    return len(keys(kernel))


def templates(kernel: tack.Kernel) -> int:
    """How many IR templates the kernel has."""
    return len(kernel._ir_cache) + (kernel._ir is not None)


def both_counts(kernel: tack.Kernel) -> tuple[int, int]:
    """The numbers of variants and of IR templates."""
    return variants(kernel), templates(kernel)


@contextlib.contextmanager
def counted(patch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Iterator[Counter[str]]:
    """Inside, every call of `owner.name`, for each of the places, adds one to the counter's `name`."""
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    with patch.context() as inside:
        for owner, name in places:
            inside.setattr(owner, name, counting(name, getattr(owner, name)))
        yield counts


# -------------------------------------------------------------------------------------------------------------- arrays


def array(*shape: int, dtype: Any = np.float32) -> tack.Array:
    """0, 1, 2, ... in an array of this shape."""
    return tack.array(np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape))


def like(x: tack.Array, value: float = -1) -> tack.Array:
    """Another array of the same type and shape, filled with one value."""
    return tack.full_like(x, value)


# ---------------------------------------------------------------------------------------------------------------- code


class TextBackend(Backend):
    """Compiles to text: a payload tells everything that a launch of the variant uses, LLVM's text and CUDA's among it.

    `capabilities` are changes to those of a device that can do everything but sample textures by hardware.
    """

    def __init__(self, disjoint: bool = True, **capabilities: Any) -> None:
        self.capabilities = replace(ALL, **capabilities)
        self._disjoint = disjoint
        self._cache = new_kernel_cache()
        self.compiled = 0

    def resolve(self, kernel: Any, args: Any) -> KernelVariant:
        return resolve_variant(self, kernel, args, specialize_disjoint=self._disjoint)

    def build(self, func: IRFunc, args: Sequence[Any]) -> str:
        self.compiled += 1
        llvm: tuple[Any, ...] = ()
        if not workgroup_features(func) and not any(isinstance(node, IRTextureSample) for node in walk_func(func)):
            layout = pack_layout(func)  # on the CPU there are neither
            llvm = (emit_module(func, layout), layout.format, layout.dims, layout.size, layout.result)
        return repr((emit_kernel(func, CUDA, "kernel"), llvm, print_ir(func)))

    def cache_target(self) -> tuple[str, ...]:
        return ("text",)

    def variant_artifact(self, payload: str) -> bytes:
        return payload.encode()

    def load_variant(self, ir_func: IRFunc, artifact: bytes, effective_args: Sequence[Any]) -> str:
        return artifact.decode()

    def compile(self, kernel: tack.Kernel, args: Sequence[Any], debug: bool = False) -> tuple[Any, Any]:
        """The key and the code that a call with these arguments runs."""
        variant = self.resolve(kernel, self._call(kernel, args) if debug else tuple(args))
        (key,) = (key for key, each in self._cache[kernel].items() if each is variant)
        return key, (
            variant.payload, variant.written_arrays, variant.atomic_targets, variant.requires_full_workgroups,
            variant.has_textures,
        )  # fmt: skip

    def _call(self, kernel: tack.Kernel, args: Sequence[Any]) -> Any:
        return checked_call(kernel, describe_call(kernel.param_names, args), tack.device("cpu"))

    def forget(self, kernel: tack.Kernel) -> None:
        """Drops all variants of the kernel, on every device."""
        slots.drop_variants(kernel, lambda key: True)
