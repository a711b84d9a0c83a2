"""The names that a lowering resolves, recorded in order, so that a later process can tell whether they mean the same there.

Reading an entry resolves its names by the same code that recorded them. Knows neither files nor keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from tack.errors import Source
from tack.lang.bindings import CallBindings
from tack.lang.call_shape import CallShape
from tack.lang.device_class import Instance
from tack.lang.func import Func
from tack.runtime.cache_fingerprint import Print, Unstable, lines_of, method_print, methods_of, value_print

__all__ = ["Name", "_Recorder", "_lookup"]

# (owner's number or object's path, dotted name, fingerprint and, of a device function, its number): functions of one fingerprint
# may read names that mean different things, so it counts which of them are the same one.
Name = tuple[int | str, str, Print]
_MISSING = object()  # a part of the dotted name is not there


class _Recorder(CallBindings):
    """Resolves names for one lowering of `kernel` and notes each in `names`: where it was read, and what it is bound to.

    `owners` are the functions whose names are resolved, by number: the kernel, the methods and function attributes of the
    objects in the call, then each device function that a name or method resolved to, in the order of `names`. `unstable`: an
    object was met that has no fingerprint.
    """

    def __init__(self, kernel: Any, call: CallShape | None) -> None:
        super().__init__(kernel.__wrapped__, None, kernel._meanings)
        self.names: list[Name] = []
        self.unstable = False
        self.owners: list[Any] = []
        self.objects: dict[str, Instance] = {}
        self._numbers: dict[FunctionType, int] = {}
        self._noted: set[tuple[Any, str]] = set()
        first = [self._own(kernel)]
        for thing in _instances(call):
            self.objects[thing.path] = thing
            first += [self._own(func) for func in (*methods_of(thing.cls), *thing.funcs.values())]
        self.names.append((0, "", tuple(first)))

    def resolve(self, owner: FunctionType, dotted: str) -> Any:
        """`CallBindings.resolve`, noted."""
        where = self._numbers.get(owner)
        try:
            value = super().resolve(owner, dotted)
        except LookupError:
            self._note(where, dotted, _MISSING)
            raise
        self._note(where, dotted, value)
        return value

    def method(self, thing: Instance, name: str, after: type | None = None) -> Any:
        """`CallBindings.method`, noted; `super().name` with the place of the class that it stands in, "1.name"."""
        value = super().method(thing, name, after)
        noted = name if after is None else f"{thing.cls.__mro__.index(after)}.{name}"
        self._note(thing.path if thing.path in self.objects else None, noted, value)
        return value

    def _note(self, where: int | str | None, name: str, value: Any) -> None:
        if (where, name) in self._noted or self.unstable:
            return
        self._noted.add((where, name))
        if where is None:
            self.unstable = True
            return
        try:
            mark = ("missing",) if value is _MISSING else (method_print if isinstance(where, str) else value_print)(value)
        except Exception:  # `Unstable`, or whatever an object of the user's says when it is looked at
            self.unstable = True
            return
        func = value.__func__ if isinstance(value, staticmethod) else value
        self.names.append((where, name, (*mark, self._own(func)) if isinstance(func, Func) else mark))

    def _own(self, thing: Any) -> int:
        """The number of an owner, a new one for one that has none."""
        number = self._numbers.setdefault(thing.__wrapped__, len(self.owners))
        if number == len(self.owners):
            self.owners.append(thing)
        return number

    def sources(self) -> tuple[Source, ...]:
        """Where each owner stands; `Unstable` where a source cannot be read, or is more than its fingerprint tells."""
        found: list[Source] = []
        for each in self.owners:
            text, lines = each._text, lines_of(each)
            found.append(Source(text.file, text.first_line, lines, each.__wrapped__.__qualname__))
            parsed = each._parsed if isinstance(each, Func) else None
            if parsed is not None and parsed.source != found[-1]:
                raise Unstable(each)
        return tuple(found)


def _instances(call: CallShape | None) -> Iterator[Instance]:
    """The objects of device classes in a call, those that others hold after these."""
    waiting = [] if call is None else [call.templates[index].instance for index in sorted(call.templates)]
    while waiting:
        thing = waiting.pop(0)
        yield thing
        waiting += thing.nested.values()


def _lookup(kernel: Any, call: CallShape | None, names: Sequence[Name]) -> _Recorder | None:
    """Resolves the names of an entry anew; None unless each means what it meant when the entry was made.

    From here on the kernel keeps these meanings (N6), as after a lowering of its own.
    """
    recorder = _Recorder(kernel, call)
    if recorder.names != list(names[:1]):
        return None
    for number, name in enumerate(names[1:], 1):
        where, dotted, _ = name
        try:
            if isinstance(where, str):
                thing, (place, _, attribute) = recorder.objects[where], dotted.rpartition(".")
                recorder.method(thing, attribute, thing.cls.__mro__[int(place)] if place else None)
            else:
                recorder.resolve(recorder.owners[where].__wrapped__, dotted)
        except LookupError:
            pass  # has been noted, unless the entry is not one of this kernel
        if len(recorder.names) != number + 1 or recorder.names[number] != name:
            return None
    return recorder
