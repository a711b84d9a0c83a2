"""A kernel as GPU code: its translation unit in a C-like language, with the layout that its host needs.

Knows no dialect by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from tack.codegen.c_family import emit_kernel
from tack.codegen.dialect import Dialect
from tack.codegen.gpu_layout import Field, GpuLayout, gpu_layout
from tack.ir.nodes import IRFunc

__all__ = ["Field", "GpuLayout", "GpuUnit", "gpu_unit"]


@dataclass(frozen=True, slots=True)
class GpuUnit:
    """The source text of a translation unit with one kernel, and how it is called."""

    source: str
    layout: GpuLayout


def gpu_unit(func: IRFunc, dialect: Dialect) -> GpuUnit:
    """The translation unit of a kernel at stage "typed", named after it.

    ValueError for a kernel that needs more shared memory than there is, RuntimeError for a type that the language has not.
    """
    layout = gpu_layout(func, grids=bool(dialect.row))
    return GpuUnit(emit_kernel(func, dialect, layout.entry), layout)
