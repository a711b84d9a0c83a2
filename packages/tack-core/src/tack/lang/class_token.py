"""`_ClassToken`: the identity of a class in keys, without a reference to it, and what happens when the class is collected.

A key that held the class would keep one made per call alive, with its templates and variants, as long as the kernel. Device
functions that objects hold as attributes are keyed the same way.
"""

from __future__ import annotations

import weakref
from typing import Any, cast

from tack.hooks import slots

__all__ = ["_ClassToken", "_class_token", "_class_tokens", "_names_token", "_retire_class"]


class _ClassToken:
    """Stands for one class (or device function) in keys. `kernels` are those with a template made for it."""

    __slots__ = ("__weakref__", "kernels", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels: weakref.WeakSet[Any] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<token of {self.name}>"


_class_tokens: weakref.WeakKeyDictionary[Any, _ClassToken] = weakref.WeakKeyDictionary()


def _class_token(cls: Any) -> _ClassToken:
    """The token of a class, always the same one; made at first use."""
    token = _class_tokens.get(cls)
    if token is None:
        made = _ClassToken(cls.__qualname__)
        token = _class_tokens.setdefault(cls, made)
        if token is made:
            weakref.finalize(cls, _retire_class, token).atexit = False
    return token


def _retire_class(token: _ClassToken) -> None:
    """Drops every template and every variant whose key names the token of a class that is gone.

    Runs inside a garbage collection, in whatever thread that is: takes no lock, and walks copies only.
    """
    for kernel in tuple(token.kernels):
        for key in kernel._ir_cache.copy():
            if _names_token(key, token):
                kernel._ir_cache.pop(key, None)
        slots.drop_variants(kernel, lambda key: _names_token(key[2], token))


def _names_token(key: Any, token: _ClassToken) -> bool:
    """Whether a template key (nested tuples, or None) holds the token."""
    return key is token or (isinstance(key, tuple) and any(_names_token(part, token) for part in cast("tuple[Any, ...]", key)))
