"""docs/reference/capabilities.md: the matrix, what a missing capability rejects, what is portable, from the backends' records.

The refusals on the page are raised by the code that refuses, on a device whose record lacks the capability.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mistakes
import tack
from tack.ir.types import DTYPES, ScalarType, f32, i32, u32
from tack.runtime import cpu, cuda_backend
from tack.runtime.backend import Capabilities, dtype_names, require_iterations

__all__ = ["BACKENDS", "REFUSALS", "Refusal", "lacking_device", "page", "portable"]


@dataclass(frozen=True, slots=True)
class Backend:
    """A column: the record of a kind of device, and the cells that its devices answer for themselves, in words.

    `planned`: this version has no such backend, and the record says what the specification says of it.
    """

    record: Capabilities
    depends: Mapping[str, str]
    planned: bool = False


_GPU: dict[str, Any] = {"supports_workgroups": True, "supports_device_reductions": True, "supports_textures": True}
_ATOMICS = (i32, u32, f32)
_NO_F64 = tuple(t for t in DTYPES if t is not tack.f64)
BACKENDS = (
    Backend(cpu.CAPABILITIES, cpu.DEPENDS),
    Backend(cuda_backend.CAPABILITIES, cuda_backend.DEPENDS),
    Backend(
        Capabilities("Metal", _NO_F64, _ATOMICS, max_iterations=2**32, **_GPU),
        {"max_iterations": "2^32"},
        True,
    ),
    Backend(
        Capabilities("HIP", DTYPES, cuda_backend.CAPABILITIES.supported_atomic_dtypes, max_iterations=2**32 - 256, **_GPU),
        {
            "supports_textures": "hardware where the device has image support",
            "max_iterations": "device limit, at most 2^32 - 256",
        },
        True,
    ),
    Backend(
        Capabilities("Level Zero", _NO_F64, _ATOMICS, max_iterations=2**32, **_GPU),
        {
            "supports_f64": "depends on the device",
            "supports_textures": "hardware where the device has samplers",
            "max_iterations": "device limit (largest group count x group size)",
        },
        True,
    ),
)


def _dtypes(types: Sequence[ScalarType]) -> str:
    return "all ten" if len(types) == len(DTYPES) else ", ".join(t.name for t in types)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# The rows: the field or property of the record, the capability in words, and its value in words. The specification says nothing
# of those in _OPEN, so they are open for planned backends.
_ROWS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("supports_f64", "f64 arrays", _yes),
    ("supports_workgroups", "Shared memory, barriers, `thread_id`, block reductions", _yes),
    ("supported_atomic_dtypes", "Atomic array types", _dtypes),
    ("supports_device_reductions", "`sum` `min` `max` on the device", lambda value: "f32" if value else "no (NumPy)"),
    ("supports_textures", "3-D textures", lambda value: "hardware" if value else "software"),
    ("max_iterations", "Iterations per launch", lambda value: "no limit" if value is None else f"{value:,}"),
    ("supported_dtypes", "Array types", _dtypes),
    ("supports_print", "`print`", _yes),
    ("fma", "Fused multiply-add", _yes),
    ("exact_sqrt", "Division and square root correctly rounded", _yes),
    ("f32_denormals", "f32 denormals keep their value", _yes),
)
_OPEN = ("supports_print", "fma", "exact_sqrt", "f32_denormals")


def _cell(backend: Backend, name: str, words: Callable[[Any], str]) -> str:
    if backend.planned and name in _OPEN:
        return "open"
    if backend.planned and name == "supported_dtypes" and "supports_f64" in backend.depends:
        return f"{words(backend.record.supported_dtypes)}; f64 {backend.depends['supports_f64']}"
    if name in backend.depends:
        value = getattr(backend.record, name)
        return backend.depends[name] if backend.planned or not isinstance(value, bool) else f"yes {backend.depends[name]}"
    return words(getattr(backend.record, name))


# ---------------------------------------------------------------------------------------------------------- refusals


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a device without one capability does: `rejects` in words and `when`; else it is `instead` that happens.

    `program` is refused by a device called `label` whose record has the fields `lacking`; without a program `direct` raises what
    the launch raises.
    """

    capability: str
    title: str
    rejects: str
    when: str
    instead: str = ""
    label: str = "CPU"
    lacking: Mapping[str, Any] = field(default_factory=dict)
    program: str = ""
    direct: Callable[[Capabilities], None] | None = None

    def message(self) -> str:
        """What the refusing code says, with the class of the error."""
        try:
            if self.direct is not None:
                self.direct(Capabilities(self.label, **self.lacking))
            with lacking_device(self.label, **self.lacking):
                mistakes.run(self.program)
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            return f"{type(error).__name__}: {error}"
        raise AssertionError(f"{self.capability} refuses nothing")


def lacking_device(label: str, **fields: Any) -> tack.Device:
    """A CPU device that says of itself that it is called `label` and has these fields in its record."""
    device = tack.device("cpu", num_threads=1)
    device._backend.capabilities = replace(device._backend.capabilities, label=label, **fields)
    return device


_NO_F64 = tuple(t for t in DTYPES if t is not tack.f64)
_KERNEL = "@tack.kernel\ndef kernel({0}):\n    for i in range(out.shape[0]):\n        {1}\n\n{2}\n"

REFUSALS = (
    Refusal(
        "supported_dtypes", "An array type", "an array, or an attribute that is one, of a type that the device does not have",
        "At the call, before anything is compiled. `tack.inspect` and `kernel.specialize` do the same.",
        label="Metal", lacking={"supported_dtypes": _NO_F64},
        program=_KERNEL.format("data, out", "out[i] = data[i]", "kernel(tack.ones(4, dtype=tack.f64), out)"),
    ),
    Refusal(
        "supports_f64", "64-bit floats in a kernel", "a value of `tack.f64` that a kernel computes, whatever its arrays hold",
        "At the call, when the kernel is compiled for its arguments' types.",
        label="Metal", lacking={"supported_dtypes": _NO_F64},
        program=_KERNEL.format("x, out", "out[i] = tack.f64(x[i]) * 0.1", "kernel(x, out)"),
    ),
    Refusal(
        "supports_workgroups", "Workgroups",
        "`tack.shared`, `tack.shared_like`, `tack.barrier`, `tack.thread_id`, `tack.block_sum`, `tack.block_min`, "
        "`tack.block_max`, also in a branch that never runs",
        "At the call, before anything is compiled: `RuntimeError`. `tack.inspect` raises `NotImplementedError`.",
        program=_KERNEL.format("x, out", "out[i] = tack.block_sum(x[i])", "kernel(x, out)"),
    ),
    Refusal(
        "supported_atomic_dtypes", "Atomics",
        "`tack.atomic_add`, `tack.atomic_min`, `tack.atomic_max` on an array of another type",
        "At the call, before the kernel is compiled for its arguments' types.",
        label="CUDA", lacking={"supported_atomic_dtypes": cuda_backend.CAPABILITIES.supported_atomic_dtypes},
        program=_KERNEL.format("counts, out", "tack.atomic_add(counts, i, 1)", "kernel(tack.zeros(4, dtype=tack.i16), out)"),
    ),
    Refusal(
        "supports_print", "Print", "`print`, also in a branch that never runs", "At the call, before anything is compiled.",
        label="this device", lacking={"supports_print": False},
        program=_KERNEL.format("x, out", 'print("x", i)', "kernel(x, out)"),
    ),
    Refusal(
        "max_iterations", "Iterations per launch", "a launch of more iterations than the device's limit",
        "At every call, before the launch is queued. An `ndindex` counts with the product of its sizes.",
        label="CUDA", lacking={"max_iterations": cuda_backend.CAPABILITIES.max_iterations},
        direct=lambda record: require_iterations(record, (record.max_iterations or 0) + 1, kernel="kernel"),
    ),
    Refusal(
        "supports_device_reductions", "Reductions on the device", "", "",
        "`a.sum()`, `a.min()` and `a.max()` work on every device and for every type: on the device where it can and the elements "
        "are f32, else on the host, which reads the array first.",
    ),
    Refusal(
        "supports_textures", "Texture hardware", "", "",
        "Textures work on every device. Without hardware Tack's own code samples them; hardware has weights of 8 bits between "
        "texels, so that results differ in the third digit.",
    ),
    Refusal(
        "fma", "Fused multiply-add", "", "",
        "`a * b + c` is rounded once on devices that fuse and twice on the others, as rule E5 of [the language](language.md) "
        "says. `tack.fma` is exact everywhere.",
    ),
    Refusal(
        "exact_sqrt", "Correct rounding of division and square root", "", "",
        "The results of f32 division and `sqrt` may differ in the last bit.",
    ),
    Refusal(
        "f32_denormals", "Denormals", "", "", "f32 numbers below 2^-126 may become zero.",
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- portable


@dataclass(frozen=True, slots=True)
class Portable:
    """What every backend can do, planned ones included."""

    dtypes: tuple[ScalarType, ...]
    atomic_dtypes: tuple[ScalarType, ...]
    iterations: int


def portable() -> Portable:
    """The common part of all records."""
    records = [backend.record for backend in BACKENDS]
    limits = [record.max_iterations for record in records if record.max_iterations is not None]
    return Portable(
        tuple(t for t in DTYPES if all(t in record.supported_dtypes for record in records)),
        tuple(t for t in DTYPES if all(t in record.supported_atomic_dtypes for record in records)),
        min(limits),
    )


# -------------------------------------------------------------------------------------------------------------- page


def page() -> str:
    """The page: the matrix, the refusals, the portable subset."""
    return "\n".join([*_INTRODUCTION.strip("\n").splitlines(), "", *_matrix(), *_refusals(), *_portable()]) + "\n"


def _matrix() -> Iterator[str]:
    names = [f"*{b.record.label}*" if b.planned else b.record.label for b in BACKENDS]
    yield "## The matrix"
    yield ""
    yield f"| capability | field | {' | '.join(names)} |"
    yield "|---" * (len(BACKENDS) + 2) + "|"
    for name, title, words in _ROWS:
        yield f"| {title} | `{name}` | {' | '.join(_cell(b, name, words) for b in BACKENDS)} |"
    yield ""
    yield from _NOTES.strip("\n").splitlines()
    yield ""


def _refusals() -> Iterator[str]:
    yield "## What a missing capability rejects, and when"
    yield ""
    yield "Whatever is rejected is rejected before it runs: no array has changed. The messages below are Tack's own."
    for refusal in REFUSALS:
        yield from ("", f"### {refusal.title}: `{refusal.capability}`", "")
        if refusal.instead:
            yield from textwrap.wrap(f"Nothing is rejected. {refusal.instead}", 120)
            continue
        yield from (*textwrap.wrap(f"Rejected: {refusal.rejects}.", 120), "")
        yield from (*textwrap.wrap(refusal.when, 120), "")
        if refusal.program:
            yield from ("```text", *refusal.program.rstrip("\n").splitlines(), "```", "")
        yield from ("```text", *refusal.message().splitlines(), "```")
    yield ""


def _portable() -> Iterator[str]:
    common = portable()
    yield "## What is portable to all five"
    yield ""
    yield f"- Arrays of {dtype_names(common.dtypes)}."
    yield f"- Atomics on {dtype_names(common.atomic_dtypes)}."
    yield from _PORTABLE.format(iterations=f"{common.iterations:,}").strip("\n").splitlines()


_INTRODUCTION = """
# Capabilities

Every backend runs the same kernel language, but within its own capabilities. A kernel that uses something a device lacks is
rejected with an error that names the kernel and the missing capability; it is never run with a different meaning.

Each device has one record, `tack.runtime.backend.Capabilities`, from which this page is printed. Programs ask the record, not the
backend's name:

```python
from tack.runtime.dispatch import get_backend

backend = get_backend()  # of the default device
backend.supports_f64, backend.supports_workgroups, backend.supported_atomic_dtypes
backend.capabilities.max_iterations  # None: no limit
```
"""

_NOTES = """
Columns in italics are backends that this version does not have; they show what is fixed for them, and *open* where
nothing is. A cell that names a condition is answered by each device when it starts: its record has the answer.
"""

_PORTABLE = """
- Launches of up to {iterations} iterations, or less where a device's own limit is lower.
- Textures, sampled by hardware or by Tack's code.
- `a.sum()`, `a.min()`, `a.max()`, `a.mean()` of every array, on the device or on the host.
- Local arrays, device functions, device classes, vectors and matrices, `tack.random`, kernel results: all of
  [the language](language.md) that is not named above.

Not portable: 64-bit floats, workgroup primitives (the CPU has none), and atomics on other types. `tack.local_array` takes the
place of shared memory for one iteration's scratch. A program that needs more asks the record first, as above, and has a second
version of the kernel.
"""
