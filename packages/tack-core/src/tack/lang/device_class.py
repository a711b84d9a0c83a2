"""`@tack.device_class`: classes whose objects are kernel arguments, and what one object is to a kernel in one call (F2).

`describe` reads an object once: what lowering needs of it, its part of the keys, and the values of its parameters. Knows no IR.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from tack.errors import fail
from tack.ir.types import MatrixType, ScalarType, VectorType
from tack.lang.array import Array
from tack.lang.class_token import _class_token, _ClassToken
from tack.lang.constant import Constant
from tack.lang.func import Func
from tack.lang.host_values import is_a
from tack.lang.intrinsics import Intrinsic
from tack.lang.texture import Texture3D

__all__ = ["LASTING", "Instance", "Template", "describe", "device_class", "is_device_object", "iterated", "member"]

C = TypeVar("C", bound=type)
_MARK = "_tack_device_class"  # inherited: a subclass of a device class is one
_ITERATE = "__tack_iterate__"
_MEMORY = "_tack_meanings"  # of each class alone
LASTING: Final = (Constant, Func, Intrinsic, ModuleType, ScalarType, VectorType, MatrixType)  # what a name keeps (N6)


def device_class(cls: C) -> C:
    """Makes objects of a class arguments of kernels: ``@tack.device_class``.

    Numbers on the class are compile-time constants (an object's attribute of that name stays one, with the object's value),
    numbers on the object run-time scalars, arrays parameters; methods decorated with `@tack.func` are called in kernels, those
    with `@tack.kernel` from Python. `__tack_iterate__` names one to three attributes that `for c in obj` counts up to, fastest
    first. Names that start with `_`, and values of other types, are not seen by kernels. `TypeError` for anything but a class.
    """
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        remedy = "Put it directly above `class`."
        raise fail(TypeError, f"@tack.device_class takes a class, not {type(cls).__name__}", remedy=remedy)
    iterated(cls)
    setattr(cls, _MARK, True)
    return cls


def is_device_object(thing: object) -> bool:
    """Whether `thing` is an object of a device class."""
    return getattr(type(thing), _MARK, False) is True


def is_device_class(thing: object) -> bool:
    """Whether `thing` is a device class."""
    return isinstance(thing, type) and getattr(thing, _MARK, False) is True


def member(cls: type, name: str, kernel: FunctionType, after: type | None = None) -> Any:
    """The class's attribute `name`, undecoded; one of `LASTING` keeps the meaning it had when `kernel` was first lowered (N6).

    `after`: a class in the order of the bases, of which only those that follow are asked, as `super()` does. None where there is
    no such attribute. The class itself remembers, so that one made per call still goes.
    """
    memory: WeakKeyDictionary[FunctionType, dict[tuple[str, type | None], Any]] | None = vars(cls).get(_MEMORY)
    kept = None if memory is None else memory.get(kernel)
    if kept is not None and (name, after) in kept:
        return kept[name, after]
    if after is None:
        found = inspect.getattr_static(cls, name, None)
    else:
        order = cls.__mro__
        found = next((vars(base)[name] for base in order[order.index(after) + 1 :] if name in vars(base)), None)
    if isinstance(found, (*LASTING, staticmethod)):
        if memory is None:
            memory = WeakKeyDictionary()
            setattr(cls, _MEMORY, memory)
        memory.setdefault(kernel, {})[name, after] = found
    return found  # pyright: ignore


def iterated(cls: type) -> tuple[str, ...]:
    """The attributes that `for c in obj` runs over, fastest first; none for most classes. `TypeError` for anything else."""
    names: Any = getattr(cls, _ITERATE, ())
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, (tuple, list)) or len(names) > 3 or not all(isinstance(name, str) for name in names):  # pyright: ignore
        remedy = f'Write {_ITERATE} = ("nx", "ny"), the name that runs fastest first.'
        raise fail(TypeError, f"{cls.__name__}.{_ITERATE} is not one to three names of attributes", remedy=remedy)
    return tuple(names)  # pyright: ignore


@dataclass(slots=True)
class Instance:
    """An object as lowering sees it. `path` names it ("line", "line.inner"); lives as long as one call.

    `constants` are numbers or `Constant`s; `scalars`, `arrays` and `textures` name the attributes that are parameters of the
    lowered kernel under `path`; `funcs` are device functions that the object itself holds; `ignored` maps every other attribute
    to its type.
    """

    path: str
    cls: type
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    scalars: list[str] = field(default_factory=list[str])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    textures: dict[str, Texture3D] = field(default_factory=dict[str, Texture3D])
    nested: dict[str, Instance] = field(default_factory=lambda: dict[str, Instance]())
    funcs: dict[str, Func] = field(default_factory=dict[str, Func])
    ignored: dict[str, type] = field(default_factory=dict[str, type])

    @property
    def seen(self) -> list[str]:
        """The attributes that kernels see, but for functions."""
        return [*self.constants, *self.scalars, *self.arrays, *self.textures, *self.nested]

    def parameter(self, name: str) -> str:
        """The parameter of the lowered kernel that holds attribute `name`."""
        return f"{self.path}.{name}"


@dataclass(slots=True)
class Template:
    """One argument that is an object: its `instance`, the rest of its key after "tmpl_<index>", and the parameters that it
    becomes, by name and value."""

    instance: Instance
    key: tuple[_ClassToken, tuple[Any, ...], tuple[Any, ...], tuple[str, ...]]
    names: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def tokens(self) -> Iterator[_ClassToken]:
        """The tokens in the key: of the class, of the classes of nested objects, and of functions held as attributes."""
        yield self.key[0]
        for _, kind, value in self.key[1]:
            if kind is _ClassToken:
                yield value


def describe(name: str, thing: Any) -> Template:
    """What `thing`, an object of a device class passed for parameter `name`, is to a kernel.

    `TypeError` where objects hold each other in a circle.
    """
    return _Reader().template(name, thing)


class _Reader:
    """Reads one object and those nested in it. Attributes go by name, so that the order they were assigned in means nothing."""

    def __init__(self) -> None:
        self.constants: list[tuple[str, Any, Any]] = []
        self.arrays: list[tuple[Any, ...]] = []
        self.scalars: list[str] = []
        self.names: list[str] = []
        self.values: list[Any] = []
        self.open: list[Any] = []

    def template(self, name: str, thing: Any) -> Template:
        instance = self.read(name, "", thing)
        key = (_class_token(type(thing)), tuple(self.constants), tuple(self.arrays), tuple(self.scalars))
        return Template(instance, key, tuple(self.names), tuple(self.values))

    def read(self, path: str, prefix: str, thing: Any) -> Instance:
        """`prefix`: the path without the parameter's name, as keys have it."""
        if any(thing is each for each in self.open):
            remedy = "Let the name of one of the attributes start with `_`: kernels do not see those."
            raise fail(TypeError, f"'{path}' is an object that holds itself", remedy=remedy)
        self.open.append(thing)
        instance = Instance(path, thing.__class__)
        on_class, own = _attributes(thing)
        for name in sorted(on_class.keys() | own.keys()):
            shared = on_class.get(name)
            value = own.get(name, shared)
            constant = is_number(shared) and is_number(value) if name in own else is_number(value)
            self._attribute(instance, prefix, name, value, constant or isinstance(value, Constant), name in own)
        self.open.pop()
        return instance

    def _attribute(self, instance: Instance, prefix: str, name: str, value: Any, constant: bool, own: bool) -> None:
        key = prefix + name
        if constant:
            instance.constants[name] = value if isinstance(value, Constant) else plain(value)
            self.constants.append((key, *_constant_key(value)))
        elif is_number(value):
            instance.scalars.append(name)
            self.scalars.append(key)
            self._parameter(instance, name, value)
        elif isinstance(value, Array):
            instance.arrays[name] = value
            self.arrays.append((key, value.dtype.scalar, value.shape, value.dtype.width))
            self._parameter(instance, name, value)
        elif isinstance(value, Texture3D):
            instance.textures[name] = value
            self.arrays.append((key, "texture", value.shape_3d, value.interp))
            self._parameter(instance, name, value)
        elif is_device_object(value):
            self.constants.append((key, _ClassToken, _class_token(type(value))))
            instance.nested[name] = self.read(instance.parameter(name), f"{key}.", value)
        elif isinstance(value, Func) and own:
            self.constants.append((key, _ClassToken, _class_token(value)))
            instance.funcs[name] = value
        else:
            instance.ignored[name] = type(value)

    def _parameter(self, instance: Instance, name: str, value: Any) -> None:
        self.names.append(instance.parameter(name))
        self.values.append(value)


def _attributes(thing: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The attributes that kernels may see: those of the class and its bases, and the object's own."""
    on_class: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for cls in type(thing).__mro__[:-1]:
        for name, value in vars(cls).items():
            if not name.startswith("_") and name not in on_class and name not in own:
                if isinstance(value, MemberDescriptorType):  # of __slots__
                    if hasattr(thing, name):
                        own[name] = getattr(thing, name)
                else:
                    on_class[name] = value
    held: dict[str, Any] = getattr(thing, "__dict__", {}).copy()  # in one step: another thread may be adding to it
    own.update((name, value) for name, value in held.items() if not name.startswith("_"))
    return on_class, own


def is_number(value: object) -> bool:
    """Whether kernels take `value` for a number."""
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_, Constant))


def plain(value: Any) -> int | float | bool:
    """A number as Python's own type has it."""
    if is_a(value, (bool, np.bool_)):
        return bool(value)
    return int(value) if is_a(value, (int, np.integer)) else float(value)


def _constant_key(value: Any) -> tuple[Any, Any]:
    """The type and the value of a constant, so that equal keys mean equal code: 1 and 1.0, 0.0 and -0.0 differ, NaN is NaN."""
    if isinstance(value, Constant):
        return (Constant, value.dtype), _components_key(value.value)
    number = plain(value)
    return type(number), _bits(number)


def _components_key(value: Any) -> Any:
    """The types and values of what a `tack.constant` holds: a number, or nested tuples of numbers."""
    if isinstance(value, tuple):
        return tuple([_components_key(each) for each in cast("tuple[Any, ...]", value)])
    return type(value), _bits(value)


def _bits(value: int | float | bool) -> Any:
    return struct.pack("!d", value) if isinstance(value, float) else value
