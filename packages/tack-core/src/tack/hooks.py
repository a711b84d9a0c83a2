"""The upward calls of the architecture, each a slot that a higher room fills when it is imported.

`lang` starts launches without importing `runtime`; the slots are plain attributes, so that a call costs one load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Hooks", "slots"]


def _unfilled(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError("tack.runtime is not imported; use `import tack`")


def _nothing_to_drop(_kernel: Any, _is_stale: Callable[[Any], bool]) -> None:
    pass


class Hooks:
    """`launch(kernel, args, kwargs)` runs a kernel call: filled by `runtime.dispatch`.

    `drop_variants(kernel, is_stale)` forgets variants by their keys: filled by `runtime.kernel_utils`; until then there are none.
    """

    __slots__ = ("drop_variants", "launch")

    def __init__(self) -> None:
        self.launch: Callable[..., Any] = _unfilled
        self.drop_variants: Callable[[Any, Callable[[Any], bool]], None] = _nothing_to_drop


slots = Hooks()
