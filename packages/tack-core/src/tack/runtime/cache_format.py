"""How IR lies on the disk: values as rows of numbers, made again without running anything that the file says.

A reader makes tuples, dicts, numbers, strings, Tack's scalar types and objects of the classes listed here, and nothing else.
Equal values have equal bytes, in whatever process they are written. Places in source text refer to a `Source` by its number, so
that they follow a function that has moved. Knows neither files nor keys.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from tack.errors import Source, Span
from tack.ir import nodes
from tack.ir.facts import ArrayUses
from tack.ir.nodes import IRFunc
from tack.ir.races import RacePair
from tack.ir.types import SCALARS, IRTexture, ScalarType

__all__ = ["Unstorable", "dumps", "dumps_func", "joined", "loads", "loads_func", "split"]


class Unstorable(Exception):
    """A value that does not go on the disk: of a class that is not listed, or at a place in a source that has no number."""


# The order is part of the format: a row starts with the number of its class. Numbers 0 and 1 are tuple and dict.
_CLASSES: tuple[type[Any], ...] = (
    nodes.IRConst, nodes.IRName, nodes.IRDimSize, nodes.IRLoad, nodes.IROp, nodes.IRCast, nodes.IRCond, nodes.IRLogic,
    nodes.IRTextureSample, nodes.IRComponent, nodes.IRCheck, nodes.IRNonzero, nodes.IRAssign, nodes.IRStore, nodes.IRAtomic,
    nodes.IRDeclare,
    nodes.IRBarrier, nodes.IRBlockReduce, nodes.IREval, nodes.IRPrint, nodes.IRIf, nodes.IRRange, nodes.IRFor, nodes.IRWhile,
    nodes.IRBreak, nodes.IRContinue, nodes.IRRegion, nodes.IRLeave, nodes.IRParam, nodes.IRLocal, nodes.IRLocalArray,
    nodes.IRRank, nodes.IRSite, nodes.IRParallel, Span, IRTexture, ArrayUses, RacePair,
)  # fmt: skip
_NUMBERS = {cls: number for number, cls in enumerate(_CLASSES, 2)}
_FIELDS = {cls: tuple(field.name for field in fields(cls)) for cls in _CLASSES}


def _tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


def _dict(*parts: Any) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


_MAKERS: tuple[Callable[..., Any], ...] = (_tuple, _dict, *_CLASSES)

# ------------------------------------------------------------------------------------------------------------- writing


class _Writer:
    """Numbers the parts of a value, each once: leaves as ~0, ~1, ..., rows as 0, 1, ..., parts before what they are part of."""

    def __init__(self, places: Mapping[Source, int]) -> None:
        self.places = places
        self.leaves: list[Any] = []
        self.rows: list[tuple[int, ...]] = []
        self._numbers: dict[Any, int] = {}  # of equal leaves and rows
        self._seen: dict[int, int] = {}  # of objects, by identity: all live as long as the value being written

    def write(self, value: Any) -> int:
        """The number of a value."""
        kind = value.__class__
        if kind is str or kind is int or kind is bool or value is None:
            return self._leaf((kind, value), value)
        known = self._seen.get(id(value))
        if known is not None:
            return known
        if kind is tuple:
            row = (0, *[self.write(part) for part in value])
        elif kind is dict:
            row = (1, *[self.write(part) for item in value.items() for part in item])
        elif kind in _FIELDS:
            row = (_NUMBERS[kind], *[self.write(getattr(value, name)) for name in _FIELDS[kind]])
        else:
            return self._leaf(*self._special(value))
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self.rows)
            self.rows.append(row)
        self._seen[id(value)] = number
        return number

    def _leaf(self, key: Any, written: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = ~len(self.leaves)
            self.leaves.append(written)
        return number

    def _special(self, value: Any) -> tuple[Any, Any]:
        """The key and the written form of a leaf that JSON has not."""
        if value.__class__ is float:
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            return (float, bits), ["float", bits]
        if value.__class__ is ScalarType:
            return (ScalarType, value.name), ["type", value.name]
        if value.__class__ is Source and value in self.places:
            place = self.places[value]
            return (Source, place), ["source", place]
        raise Unstorable(f"{value!r} of {value.__class__}")


def dumps(value: Any, places: Mapping[Source, int] | None = None) -> bytes:
    """The bytes of a value; `places` numbers the sources that its spans may be in. `Unstorable` names a part without a form."""
    writer = _Writer(places or {})
    writer.write((value,))  # a row, whatever the value is
    count = len(writer.leaves)
    rows = [[kind, *[n + count if n >= 0 else ~n for n in parts]] for kind, *parts in writer.rows]
    return json.dumps([writer.leaves, rows], separators=(",", ":")).encode()


def loads(data: bytes, sources: Sequence[Source] = ()) -> Any:
    """The value that `dumps` has written, its spans in `sources`. Some exception for bytes that are not from `dumps`."""
    leaves, rows = json.loads(data)
    values: list[Any] = [leaf if leaf.__class__ is not list else _leaf(leaf, sources) for leaf in leaves]
    add, makers = values.append, _MAKERS
    for kind, *parts in rows:
        add(makers[kind](*[values[n] for n in parts]))
    if not rows:
        raise ValueError("a value is a row")
    return values[-1][0]


def _leaf(written: Any, sources: Sequence[Source]) -> Any:
    kind, value = written
    if kind == "float":
        return struct.unpack("<d", struct.pack("<Q", value))[0]
    return SCALARS[value] if kind == "type" else sources[value]


def joined(*parts: bytes) -> bytes:
    """Several parts as one; `split` takes them apart."""
    return b"".join((struct.pack(f"<{len(parts)}Q", *map(len, parts)), *parts))


def split(data: bytes, count: int) -> list[bytes]:
    """The `count` parts of `joined` bytes. `ValueError` where there are others."""
    at = 8 * count
    parts: list[bytes] = []
    for length in struct.unpack_from(f"<{count}Q", data):
        parts.append(data[at : at + length])
        at += length
    if at != len(data):
        raise ValueError("not as many bytes as its parts say")
    return parts


# ----------------------------------------------------------------------------------------------------------- functions

# What only passes, printers and error messages look at is read when it is first asked for: a launch does not.
_REST = ("prologue", "loop", "locals", "ranks", "bound_prologue", "epilogue", "sites", "extents")
_AT_ONCE = tuple(field.name for field in fields(IRFunc) if field.init and field.name not in (*_REST, "result"))
_LOADER = "_rest"


class _StoredFunc(IRFunc):
    """An `IRFunc` whose fields `_REST` (and `result`, if there is one) are still bytes: the first look makes it an `IRFunc`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:  # of a slot that is not filled yet
        load = self.facts.get(_LOADER)
        if load is not None:  # else another thread has just filled it
            for field, value in load():
                object.__setattr__(self, field, value)
            object.__setattr__(self, "__class__", IRFunc)
            self.facts.pop(_LOADER, None)
        return object.__getattribute__(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:  # a copy is made of the whole function
        getattr(self, _REST[0])
        return IRFunc.__reduce_ex__(self, protocol)


def dumps_func(func: IRFunc, facts: Mapping[str, Any], places: Mapping[Source, int]) -> bytes:
    """The bytes of a function with some of its facts, so that nobody derives these again."""
    at_once = tuple((name, getattr(func, name)) for name in _AT_ONCE)
    later = tuple((name, getattr(func, name)) for name in _REST)
    result = (("result", func.result),)
    at_once, later = (at_once + result, later) if func.result is None else (at_once, later + result)
    return joined(dumps((at_once, dict(facts)), places), zlib.compress(dumps(later, places), 1))


def loads_func(data: bytes, sources: Sequence[Source]) -> IRFunc:
    """The function that `dumps_func` has written, as one in this process would be, with the facts that came with it."""
    head, rest = split(data, 2)
    at_once, facts = loads(head, sources)
    func = object.__new__(_StoredFunc)
    for name, value in at_once:
        object.__setattr__(func, name, value)
    object.__setattr__(func, "facts", {**facts, _LOADER: partial(_decoded, rest, sources)})
    return func


def _decoded(rest: bytes, sources: Sequence[Source]) -> Any:
    return loads(zlib.decompress(rest), sources)
