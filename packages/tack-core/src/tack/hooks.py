"""The upward calls of the architecture, each a slot that a higher room fills when it is imported.

`lang` starts launches without importing `runtime`; the slots are plain attributes, so that a call costs one load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Hooks", "slots"]


def _unfilled(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError("tack.runtime is not imported; use `import tack`")


def _lowered(kernel: Any, call: Any) -> Any:
    return kernel._lower(call)


def _unheard(_launch: Callable[..., Any]) -> None:
    pass


def _nothing_to_drop(_kernel: Any, _is_stale: Callable[[Any], bool]) -> None:
    pass


class Hooks:
    """`launch(kernel, args, kwargs)` runs a kernel call: filled by `runtime.dispatch`.

    `template_store(kernel, call)` makes the template of a kernel for calls of one shape, called with the lock of templates held:
    filled by `runtime.disk_cache`; until then templates are lowered.

    `drop_variants(kernel, is_stale)` forgets variants by their keys: filled by `runtime.kernel_utils`; until then there are none.

    `specialize(kernel, args, kwargs)` compiles a call without running it, and `variants(kernel)` lists what is compiled: filled
    by `runtime.kernel_tools`.

    `launch_changed(launch)` hears of every function that becomes `launch`, since native code does not ask for it at each call.
    """

    __slots__ = ("drop_variants", "launch", "launch_changed", "specialize", "template_store", "variants")

    def __init__(self) -> None:
        self.launch_changed: Callable[[Callable[..., Any]], object] = _unheard
        self.launch: Callable[..., Any] = _unfilled
        self.drop_variants: Callable[[Any, Callable[[Any], bool]], None] = _nothing_to_drop
        self.template_store: Callable[[Any, Any], Any] = _lowered
        self.specialize: Callable[..., None] = _unfilled
        self.variants: Callable[[Any], list[Any]] = _unfilled

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "launch":
            self.launch_changed(value)


slots = Hooks()
