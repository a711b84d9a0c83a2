"""The upward calls of the architecture, each a slot that a higher room fills when it is imported.

`lang` starts launches without importing `runtime`; the slots are plain attributes, so that a call costs one load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Hooks", "slots"]


def _unfilled(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError("tack.runtime is not imported; use `import tack`")


class Hooks:
    """`launch(kernel, args, kwargs)` runs a kernel call: filled by `runtime.dispatch`."""

    __slots__ = ("launch",)

    def __init__(self) -> None:
        self.launch: Callable[..., Any] = _unfilled


slots = Hooks()
