"""What a device can do (`Capabilities`), what every backend provides (`Backend`), and the one voice in which both refuse.

Knows no vendor API, no code generator and no kernel: callers pass names and spans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tack.errors import Span, fail
from tack.ir.types import DTYPES, ScalarType, f64

__all__ = [
    "NEEDS", "Backend", "Capabilities", "Needs", "Unavailable", "dtype_names", "missing_compiler", "missing_dependency",
    "missing_driver", "no_backend", "no_device", "require", "require_atomic_dtype", "require_dtype", "require_iterations",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What kernels may use on one device. A field's default is the safe answer: without the capability.

    `label` names the backend in messages. `fma`: fused multiply-add is exact and cheap, so rule E5 fuses. `exact_sqrt`: division
    and square root are correctly rounded. `supports_textures`: by hardware; without it Tack's own code samples them.
    `f32_denormals`: they keep their value. `max_iterations`: of one launch, None for no limit.
    """

    label: str
    supported_dtypes: tuple[ScalarType, ...] = tuple(t for t in DTYPES if t is not f64)
    supported_atomic_dtypes: tuple[ScalarType, ...] = ()
    supports_workgroups: bool = False
    supports_device_reductions: bool = False
    supports_textures: bool = False
    supports_print: bool = False
    fma: bool = False
    exact_sqrt: bool = False
    f32_denormals: bool = False
    max_iterations: int | None = None

    @property
    def supports_f64(self) -> bool:
        """Whether kernels may use f64 arrays."""
        return f64 in self.supported_dtypes


# A capability in the words of a refusal, and what to write instead.
_WORDS = {
    "supports_f64": ("64-bit floating point (tack.f64)", "Use tack.f32."),
    "supports_workgroups": (
        "workgroup execution (tack.shared, tack.shared_like, tack.barrier, tack.thread_id, tack.block_sum/min/max)",
        "For scratch storage of one iteration use tack.local_array or tack.local_array_like, which work on every device.",
    ),
    "supports_print": ("printing from kernels", "Store what you want to see to an array."),
}


def require(
    capabilities: Capabilities,
    capability: str,
    *,
    kernel: str = "",
    span: Span | None = None,
    what: str = "",
    remedy: str = "",
    kind: type[Exception] = RuntimeError,
) -> None:
    """Raise `kind` unless the device has the `capability` (a field of `Capabilities`).

    `what` names the construct that needs it, else the capability's own words are used.
    """
    if getattr(capabilities, capability):
        return
    words, default_remedy = _WORDS.get(capability, (capability, ""))
    text = f"{what} needs {words}, which is" if what else f"{words} is"
    raise fail(kind, f"{text} not supported on {capabilities.label}", kernel=kernel, span=span, remedy=remedy or default_remedy)


@dataclass(frozen=True, slots=True)
class Needs:
    """What the devices of one kind need beside Tack: all of it in `words`, and where what PyPI does not have comes from.

    `driver` is the command that installs the driver, `look` the one that shows which devices the driver sees; `compiler` names
    the compiler, which comes with the extra of the kind's name.
    """

    words: str
    driver: str = ""
    look: str = ""
    compiler: str = ""


NEEDS = {
    "cpu": Needs("llvmlite"),
    "metal": Needs("a Mac with Apple silicon, plus pyobjc-framework-Metal"),
    "cuda": Needs(
        "an NVIDIA GPU with its driver, plus cuda-python>=13.2 and NVRTC 13",
        "sudo apt-get install nvidia-driver   (Ubuntu: sudo ubuntu-drivers install; others: https://www.nvidia.com/drivers)",
        "nvidia-smi   (in a container: start that with its GPUs, as `docker run --gpus all` does)",
        "NVRTC",
    ),
    "hip": Needs("an AMD GPU with ROCm, plus hip-python"),
    "level_zero": Needs("an Intel GPU with the Level Zero runtime and libocloc"),
}


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a device of a `kind` cannot start here; the errors below carry it as `.unavailable`.

    `missing` says in a few words what is not there, `found` what was met instead, and `install` is the command that helps, which
    `lead` introduces.
    """

    kind: str
    missing: str
    found: str
    lead: str
    install: str = ""

    def error(self) -> RuntimeError:
        """The error to raise."""
        text = f"Cannot start the {self.kind!r} device: {self.missing}.\n  {self.found}\n  {self.lead}"
        error = RuntimeError(f"{text}:\n    {self.install}" if self.install else text)
        error.__dict__["unavailable"] = self
        return error


def missing_dependency(kind: str, error: Exception) -> RuntimeError:
    """The error for a device whose Python packages or runtime are not there, as `error` says; raise it from that."""
    return _from_extra(kind, "missing dependency", error)


def missing_compiler(kind: str, error: Exception) -> RuntimeError:
    """The error for a device whose compiler is not there, as `error` says; raise it from that."""
    return _from_extra(kind, f"missing {NEEDS[kind].compiler}", error)


def missing_driver(kind: str, error: Exception) -> RuntimeError:
    """The error for a device whose driver is not there, as `error` says; raise it from that."""
    lead = f"Requires {NEEDS[kind].words}; the driver comes with the system"
    return Unavailable(kind, "missing driver", _first_line(error), lead, NEEDS[kind].driver).error()


def failing_driver(kind: str, error: Exception) -> RuntimeError:
    """The error for a kind whose driver is there and does not start, as `error` says; raise it from that."""
    lead = f"Requires {NEEDS[kind].words}; to see whether the driver works elsewhere"
    return Unavailable(kind, "its driver fails", _first_line(error), lead, NEEDS[kind].look).error()


def forked(kind: str, error: Exception) -> RuntimeError:
    """The error for a kind that does not work in this process because it was forked, as `error` says; raise it from that."""
    lead = 'Start processes with multiprocessing\'s method "spawn".'
    return Unavailable(kind, "it was used before this process was forked", _first_line(error), lead).error()


def no_device(kind: str, found: str) -> RuntimeError:
    """The error for a kind whose driver works and, as `found` says in words, sees no device."""
    lead = f"Requires {NEEDS[kind].words}; to see what the driver sees"
    return Unavailable(kind, "no device", found, lead, NEEDS[kind].look).error()


def no_backend(kind: str, label: str) -> RuntimeError:
    """The error for a kind that this version of Tack cannot start, whatever is installed."""
    found = "Whatever is installed for it, nothing here uses it"
    return Unavailable(kind, f"this version of Tack has no {label} backend yet", found, "Use tack.device('cpu').").error()


def _from_extra(kind: str, missing: str, error: Exception) -> RuntimeError:
    install = f"pip install -e 'packages/tack-core[{kind}]'   (or: uv sync --extra {kind})"
    return Unavailable(kind, missing, _first_line(error), f"Requires {NEEDS[kind].words}; in a clone", install).error()


def _first_line(error: Exception) -> str:
    """What an error says, without the list of places that loaders add."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def dtype_names(dtypes: tuple[ScalarType, ...]) -> str:
    """The dtypes in words, sorted by name."""
    return ", ".join(sorted(map(str, dtypes))) or "none"


def require_dtype(capabilities: Capabilities, dtype: ScalarType, *, kernel: str, parameter: str) -> None:
    """Raise `TypeError` unless arrays of `dtype` can be arguments on the device."""
    if dtype not in capabilities.supported_dtypes:
        raise fail(
            TypeError,
            f"parameter '{parameter}' has dtype {dtype}, which is not supported on {capabilities.label}. "
            f"Supported dtypes: {dtype_names(capabilities.supported_dtypes)}",
            kernel=kernel,
        )


def require_atomic_dtype(
    capabilities: Capabilities, dtype: ScalarType, *, kernel: str, parameter: str, span: Span | None = None
) -> None:
    """Raise `TypeError` unless atomics on arrays of `dtype` work on the device."""
    if dtype not in capabilities.supported_atomic_dtypes:
        raise fail(
            TypeError,
            f"parameter '{parameter}' is the target of atomics and has dtype {dtype}, which has no atomics on "
            f"{capabilities.label}. Atomic dtypes: {dtype_names(capabilities.supported_atomic_dtypes)}",
            kernel=kernel,
            span=span,
        )


def require_iterations(capabilities: Capabilities, count: int, *, kernel: str) -> None:
    """Raise `ValueError` when one launch of `count` iterations is past the device's limit."""
    limit = capabilities.max_iterations
    if limit is not None and count > limit:
        raise fail(
            ValueError,
            f"a launch of {count} iterations is past the limit of {limit} on {capabilities.label}",
            kernel=kernel,
            remedy="Split the work across several calls.",
        )


class Backend:
    """Compiles and runs kernels on one device. A subclass sets `capabilities` and `_cache` (from `new_kernel_cache()`).

    `code_modes` are the kinds of generated code that `code` can show; `has_native_calls` says whether `native` gives anything.
    """

    capabilities: Capabilities
    code_modes: tuple[str, ...] = ("source",)
    has_native_calls: bool = False
    _cache: Any

    @property
    def label(self) -> str:
        """The backend's name in messages."""
        return self.capabilities.label

    @property
    def supports_f64(self) -> bool:
        """Whether kernels may use f64 arrays."""
        return self.capabilities.supports_f64

    @property
    def supports_workgroups(self) -> bool:
        """Whether kernels may use shared memory, barriers, thread ids and block reductions."""
        return self.capabilities.supports_workgroups

    @property
    def supports_device_reductions(self) -> bool:
        """Whether `a.sum()`, `min()` and `max()` run on the device."""
        return self.capabilities.supports_device_reductions

    @property
    def supported_dtypes(self) -> tuple[ScalarType, ...]:
        """The dtypes of array arguments."""
        return self.capabilities.supported_dtypes

    @property
    def supported_atomic_dtypes(self) -> tuple[ScalarType, ...]:
        """The dtypes of arrays that atomics may update."""
        return self.capabilities.supported_atomic_dtypes

    def resolve(self, kernel: Any, args: Any) -> Any:
        """The `KernelVariant` that runs `kernel` on these arguments, compiled if need be (`resolve_variant`)."""
        raise NotImplementedError

    def build(self, func: Any, args: Any) -> Any:
        """Compile a typed `IRFunc` for these arguments; the payload that a `KernelVariant` keeps."""
        raise NotImplementedError

    def launch(self, variant: Any, args: Any) -> None:
        """Run a variant and return the kernel's result, if it has one; the arguments have been checked."""
        raise NotImplementedError

    def launcher(self, variant: Any) -> Callable[[Any], object]:
        """`launch` of one variant, as a function of the arguments alone."""
        return partial(self.launch, variant)

    def cache_target(self) -> tuple[str, ...] | None:
        """What compiled code depends on besides the IR and this backend's `label`: part of the key of variants on the disk.

        Code made for one target must run, with the same results, wherever the target is equal. None: variants are not kept.
        """
        return None

    def variant_artifact(self, payload: Any) -> bytes | None:
        """What of a payload that `build` has returned goes on the disk; None if it cannot be kept."""
        raise NotImplementedError

    def load_variant(self, ir_func: Any, artifact: bytes, effective_args: Any) -> Any:
        """The payload that `build(ir_func, effective_args)` would return, made of its artifact by another process.

        Runs no optimization and generates no code; leaves `ir_func` but its name, parameters and result unread where it can.
        Raises any exception for an artifact that it cannot use: the variant is then compiled.
        """
        raise NotImplementedError

    def native(self, variant: Any) -> Any:
        """What the native entry needs to launch a variant (`cpu_entry.NativeCode`); None where Python launches it."""
        return None

    def code(self, variant: Any, mode: str) -> str:
        """The generated code of a variant, in one of `code_modes`."""
        raise NotImplementedError

    def reduce(self, array: Any, name: str) -> Any:
        """The "sum", "min" or "max" of an array's elements, computed on the device; None where the host shall do it."""
        return None

    def properties(self) -> dict[str, Any]:
        """Facts about the device: `name`, `memory` (bytes), `compute_units` and `limits` (a dict)."""
        raise NotImplementedError
