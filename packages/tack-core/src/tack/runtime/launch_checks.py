"""What is checked of a call before it may launch, and what of a kernel once: each refusal has its words here.

Checks on every call are those that a signature cannot stand for; the others run once for each new signature.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tack.errors import RaceWarning, fail, warning_text
from tack.ir.nodes import IRFunc
from tack.ir.races import race_pairs
from tack.lang.array import Array
from tack.runtime.backend import Backend, require_dtype

if TYPE_CHECKING:
    from tack.runtime.kernel_utils import KernelVariant

__all__ = ["check_dtypes", "check_writable_arrays", "warn_of_races"]


def check_writable_arrays(variant: KernelVariant, args: Sequence[Any]) -> None:
    """M3: `ValueError` for a read-only array that the kernel may store to."""
    for slot, name in variant.written_arrays:
        if not args[slot].writable:
            raise fail(
                ValueError,
                f"array '{name}' is read-only, and the kernel may store to it",
                kernel=variant.ir.name,
                remedy=f"Pass a copy: {name}.copy().",
            )


def check_dtypes(backend: Backend, template: IRFunc, args: Sequence[Any]) -> None:
    """`TypeError` for an array whose dtype the device does not support."""
    for param, arg in zip(template.params, args, strict=True):
        if isinstance(arg, Array):
            require_dtype(backend.capabilities, arg.dtype, kernel=template.name, parameter=param.name)


def warn_of_races(kernel: Any, template: IRFunc) -> None:
    """E6: a `RaceWarning` at the store of each race that the source shows; once per kernel."""
    if kernel.warned_of_races:
        return
    kernel.warned_of_races = True  # before the warning, which may be an error
    for pair in race_pairs(template):
        if pair.store is not None:
            at = pair.var if not pair.offset else f"{pair.var} {'+' if pair.offset > 0 else '-'} {abs(pair.offset)}"
            text = warning_text(
                f"'{pair.array}' is stored at {pair.var} and read at {at}: iterations have no order, so what is read may be "
                "the old or the new value",
                kernel=template.name,
                span=pair.store,
                remedy="Store into another array than the one that is read.",
            )
            warnings.warn_explicit(text, RaceWarning, pair.store.source.file, pair.store.lineno)
