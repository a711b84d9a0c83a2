"""Fingerprints: what stands for an object in the keys of the disk cache, the same in every process, and that of Tack itself.

A fingerprint is made of nested tuples of strings, ints, bools and None, so that its `repr` can be hashed and compared.
"""

from __future__ import annotations

import inspect
import os
import struct
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, GenericAlias, ModuleType, UnionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tack.ir.types import MatrixType, ScalarType, VectorType, mat, vec
from tack.lang.bindings import UNBOUND, builtin_name, math_name
from tack.lang.constant import Constant
from tack.lang.device_class import Instance, iterated
from tack.lang.func import Func
from tack.lang.intrinsics import INTRINSICS, Intrinsic
from tack.lang.source import private_names, written_lines

__all__ = [
    "Print", "Unstable", "digest", "instance_print", "lines_of", "method_print", "methods_of", "tack_version", "value_print",
]  # fmt: skip

Print = tuple[Any, ...]


class Unstable(Exception):
    """An object that nothing stands for in another process."""


def digest(value: Any) -> bytes:
    """The SHA-256 of a fingerprint, or of any nesting of tuples, strings, numbers, bytes and element types."""
    return sha256(repr(value).encode("utf-8", "surrogatepass")).digest()


# ------------------------------------------------------------------------------------------------------------ functions

_lines: WeakKeyDictionary[Any, tuple[str, ...]] = WeakKeyDictionary()
_texts: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def lines_of(thing: Any) -> tuple[str, ...]:
    """The own lines of a kernel or device function; `Unstable` where its source cannot be read."""
    lines = _lines.get(thing)
    if lines is None:
        lines = _lines[thing] = written_lines(thing.__wrapped__, thing._text)
    if not lines:
        raise Unstable(thing)
    return lines


def _text_print(thing: Any) -> str:
    found = _texts.get(thing)
    if found is None:
        found = _texts[thing] = digest((lines_of(thing), private_names(thing.__wrapped__))).hex()
    return found


def _func_print(func: Func) -> Print:
    """A device function: its source, and what lowering reads of it besides: the values of defaults, and where `super()` starts.

    The names that its body reads are recorded one by one, when it is inlined.
    """
    fn = func.__wrapped__
    by_name = sorted((fn.__kwdefaults__ or {}).items())
    defaults = (*map(_default_print, fn.__defaults__ or ()), *((name, _default_print(value)) for name, value in by_name))
    cls = _cell(fn, "__class__")
    order = tuple(map(_class_name, cls.__mro__)) if isinstance(cls, type) else ()
    return "func", func.__name__, func.__qualname__, func.is_static, _text_print(func), defaults, order


def _cell(fn: FunctionType, name: str) -> Any:
    free = fn.__code__.co_freevars
    try:
        return fn.__closure__[free.index(name)].cell_contents if fn.__closure__ and name in free else None
    except ValueError:  # empty
        return None


def _default_print(value: Any) -> Print:
    """The default of a parameter; of those that are no numbers only that they are none: a kernel cannot use one."""
    number = isinstance(value, (Constant, bool, int, float, np.generic))
    return _number_print(value) if number else ("no number",)


def _class_name(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


# --------------------------------------------------------------------------------------------------------------- values


def value_print(value: Any) -> Print:
    """What a name outside a kernel is bound to. `Unstable` for an object that a later process could not tell from another."""
    if value is UNBOUND:
        return ("unbound",)
    if isinstance(value, Func):
        return _func_print(value)
    if isinstance(value, (Constant, bool, int, float, np.generic)):
        return _number_print(value)
    if isinstance(value, (ScalarType, VectorType, MatrixType)):
        return "type", str(value)
    if isinstance(value, ModuleType):
        return "module", value.__name__, sys.modules.get(value.__name__) is value
    if isinstance(value, Intrinsic) and INTRINSICS.get(value.__name__) is value:
        return "intrinsic", value.__name__
    if value is vec or value is mat:
        return "maker", value.__name__
    for kind, name in (("builtin", builtin_name(value)), ("math", math_name(value))):
        if name is not None:
            return kind, name
    if isinstance(value, type):
        dtype = inspect.getattr_static(value, "dtype", None)  # which NumPy takes for the dtype that the class stands for
        return "class", *_class_name(value), dtype.str if isinstance(dtype, np.dtype) else None
    if isinstance(value, np.dtype):
        return "dtype", value.str
    if value is None or type(value) is str:
        return "literal", value
    if isinstance(value, (GenericAlias, UnionType)) or type(value).__module__ == "typing":
        text = repr(value)
        if " at 0x" not in text:  # of an object without a name
            return "annotation", text
    raise Unstable(value)


def _number_print(value: Any) -> Print:
    """A number, or a `tack.constant`, by type and value: 1, 1.0 and True differ, as do 0.0 and -0.0, and NaNs by their bits."""
    if isinstance(value, Constant):
        return "constant", str(value.dtype), _components(value.value)
    if isinstance(value, np.generic):
        return "numpy", value.dtype.str, value.tobytes().hex()
    if type(value) not in (bool, int, float):  # of a class of its own, which may say anything
        raise Unstable(value)
    return "number", *_components(value)


def _components(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_components, value))
    return type(value).__name__, struct.pack("!d", value).hex() if isinstance(value, float) else value


# -------------------------------------------------------------------------------------------------------------- objects


def instance_print(thing: Instance) -> Print:
    """An object of a device class, as far as lowering sees it: the content for which a template's key has identities."""
    return (
        _class_print(thing.cls),
        tuple((name, _number_print(value)) for name, value in thing.constants.items()),
        tuple(thing.scalars),
        tuple((name, str(each.dtype), each.shape) for name, each in thing.arrays.items()),
        tuple((name, each.shape_3d, each.interp) for name, each in thing.textures.items()),
        tuple((name, _func_print(func)) for name, func in thing.funcs.items()),
        tuple((name, instance_print(inner)) for name, inner in thing.nested.items()),
    )


def _class_print(cls: type) -> Print:
    """A class by its method resolution order, what its objects are looped over by, and its device functions."""
    try:
        over = iterated(cls)
    except TypeError:
        over = None
    functions = tuple((place, name, method_print(value)) for place, name, value in _functions(cls))
    return tuple(map(_class_name, cls.__mro__)), over, functions


def method_print(value: Any) -> Print:
    """What a class holds under a name: a device function, as Python passes the object to it or not, or something else."""
    func = _function(value)
    return ("other",) if func is None else (isinstance(value, staticmethod), *_func_print(func))


def methods_of(cls: type) -> list[Func]:
    """The device functions of a class and its bases, in a fixed order."""
    return [func for _, _, value in _functions(cls) if (func := _function(value)) is not None]


def _functions(cls: type) -> Iterator[tuple[int, str, Any]]:
    """Each name that is a device function in one of the places where attributes of the class are looked for, in all of them that
    have it: (place, name, what is there), since another thing hides a function, too."""
    meta: type = type(cls)
    places = [vars(each) for each in (*cls.__mro__, *meta.__mro__)]
    names = sorted({name for place in places for name, value in place.items() if _function(value) is not None})
    for name in names:
        for number, place in enumerate(places):
            if name in place:
                yield number, name, place[name]


def _function(value: Any) -> Func | None:
    found: Any = value.__func__ if isinstance(value, staticmethod) else value
    return found if isinstance(found, Func) else None


# ---------------------------------------------------------------------------------------------------------- Tack itself

_FORMAT = 1  # of entries; the code that reads and writes them is part of the fingerprint, too


def tack_version() -> str:
    """Tack's fingerprint, hexadecimal digits: its code, the format of entries and Python's minor version.

    The code is the RECORD of an installed package, which has the hash of each file, or every source file of a source tree.
    """
    found = sha256(f"tack {_FORMAT} python {sys.version_info[0]}.{sys.version_info[1]} {sys.byteorder}".encode())
    try:
        spec = find_spec("tack")
        folders = None if spec is None else spec.submodule_search_locations
        for folder in folders or ():
            for part in _code(Path(folder)):
                found.update(part)
    except Exception:  # nobody can say what code this is, as without `__spec__`: what other processes have stored is not for it
        found.update(os.urandom(16))
    return found.hexdigest()


def _code(root: Path) -> Iterator[bytes]:
    """What names the code of the package in the folder `root`."""
    for record in sorted(root.parent.glob("tack_*.dist-info/RECORD")):
        text = record.read_bytes()
        if f"\n{root.name}/__init__.py,".encode() in b"\n" + text:
            yield text
            return
    files = sorted(root.rglob("*.py"))
    if not files:
        raise FileNotFoundError(root)
    for path in files:
        text = path.read_bytes()
        yield f"{path.relative_to(root).as_posix()} {len(text)}\n".encode()
        yield text
