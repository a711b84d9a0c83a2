"""What a name in a kernel means outside the kernel: the one lookup through closures, globals and modules (N1, N2, N6).

Knows Python objects, not syntax trees. Every lookup of a lowering goes through `CallBindings.resolve`.
"""

from __future__ import annotations

import builtins
import math
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from tack.lang.constant import Constant
from tack.lang.device_class import LASTING, Instance, is_device_class, member

__all__ = ["UNBOUND", "CallBindings", "MissingAttribute", "NotAModule", "builtin_name", "math_name"]

MATH_CONSTANTS: Final = ("pi", "e", "tau", "inf", "nan")


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()
Meanings = WeakKeyDictionary[FunctionType, dict[str, Any]]


class MissingAttribute(LookupError):
    """`module.name` where the module has no such name: args are the dotted module, the name, and the module."""


class NotAModule(LookupError):
    """`thing.name` where the thing is no module: args are the dotted thing, the name, and the thing."""


class CallBindings:
    """Resolves the names of one lowering; what it found once, it gives again (N6).

    `namespace`: names that come before the kernel's closure and globals. They do not apply to device functions, which resolve
    in their own defining namespace (N2). `meanings`: what earlier lowerings of the kernel found, by function and name; classes
    are not kept there, since one made per call must go with it.
    """

    def __init__(self, kernel: FunctionType, namespace: dict[str, Any] | None, meanings: Meanings | None = None) -> None:
        self.kernel = kernel
        self._namespace = namespace or {}
        self._found: dict[tuple[FunctionType, str], Any] = {}
        self._meanings: Meanings = WeakKeyDictionary() if meanings is None else meanings

    def resolve(self, owner: FunctionType, dotted: str) -> Any:
        """What `dotted` ("f", "module.f") means in the function `owner`: the object, or UNBOUND.

        Builtins count as unbound. Raises `MissingAttribute` or `NotAModule` where a part after the first has no meaning.
        """
        key = (owner, dotted)
        if key not in self._found:
            kept = self._meanings.setdefault(owner, {})
            value = kept[dotted] if dotted in kept else self._lookup(owner, dotted)
            if isinstance(value, LASTING) and isinstance(self._bare(owner, dotted.partition(".")[0]), LASTING):
                kept[dotted] = value
            self._found[key] = value
        return self._found[key]

    def method(self, thing: Instance, name: str, after: type | None = None) -> Any:
        """What `thing.name` is in the object's class, undecoded, or in the bases that follow class `after`, for `super().name`; a
        device function keeps its meaning for the kernel (N6)."""
        return member(thing.cls, name, self.kernel, after)

    def _lookup(self, owner: FunctionType, dotted: str) -> Any:
        first, *rest = dotted.split(".")
        value = self._bare(owner, first)
        so_far = first
        for part in rest:
            if value is UNBOUND:
                return UNBOUND
            if not (isinstance(value, ModuleType) or is_device_class(value)):
                raise NotAModule(so_far, part, value)
            try:
                value = self._attribute(value, part)
            except AttributeError:
                raise MissingAttribute(so_far, part, value) from None
            so_far = f"{so_far}.{part}"
        return value

    def _attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`; of a class, which may go before the kernel does, the class keeps the meaning."""
        if not isinstance(owner, ModuleType):
            kept = member(owner, name, self.kernel)
            kept = kept.__func__ if isinstance(kept, staticmethod) else kept  # pyright: ignore
            if isinstance(kept, LASTING):
                return kept
        return getattr(owner, name)

    def _bare(self, owner: FunctionType, name: str) -> Any:
        if owner is self.kernel and name in self._namespace:
            return self._namespace[name]
        free = owner.__code__.co_freevars
        if name in free and owner.__closure__ is not None:
            try:
                return owner.__closure__[free.index(name)].cell_contents
            except ValueError:  # the enclosing function has not assigned it yet
                return UNBOUND
        return owner.__globals__.get(name, UNBOUND)

    def visible(self, owner: FunctionType) -> list[str]:
        """Names bound around `owner` that a kernel may use, for suggestions."""
        names = {**owner.__globals__, **(self._namespace if owner is self.kernel else {})}
        usable = (Constant, FunctionType, BuiltinFunctionType, ModuleType)
        return [*owner.__code__.co_freevars, *(n for n, v in names.items() if isinstance(v, usable) or hasattr(v, "__wrapped__"))]


def builtin_name(value: Any) -> str | None:
    """The name of a function or type of Python's builtins, if `value` is one."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) and vars(builtins).get(name) is value else None


def math_name(value: Any) -> str | None:
    """The name of a function of Python's `math` module, if `value` is one."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) and callable(value) and vars(math).get(name) is value else None
