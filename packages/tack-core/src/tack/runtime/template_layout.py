"""How the warm path reads objects of device classes: by a layout, learned from one object and valid for all that look like it.

A layout is Python text that asks only what can have changed since: the class and the number of its state, how many attributes the
object has, and the values and types behind the names. It holds no class, and `lang.device_class` alone decides what means what.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from tack.lang.array import Array
from tack.lang.class_token import _class_token, _ClassToken
from tack.lang.constant import Constant
from tack.lang.device_class import Instance, Template, _constant_key, describe, is_device_object, is_number
from tack.lang.func import Func
from tack.lang.texture import Texture3D
from tack.runtime.class_versions import version_word

__all__ = ["Layout", "Reading", "layout_of", "read_object"]

_HEAP_TYPE = 1 << 9  # of `__flags__`: a class that can go, or become a device class
_KEPT = 64  # layouts of one class that are remembered

# What each class's objects looked like last, and all that they have looked like, by description.
_template_layouts: weakref.WeakKeyDictionary[type[Any], Layout] = weakref.WeakKeyDictionary()
_known: weakref.WeakKeyDictionary[type[Any], dict[Any, Layout]] = weakref.WeakKeyDictionary()


class _Unreadable(Exception):
    """The object's attributes are not where objects have them: it is described anew at each call."""


@dataclass(eq=False, slots=True)
class _Node:
    """One object, the argument itself or one nested in it. `version` is the state in which the class was looked at, and `word`
    shows the one it has. `count`: how many attributes its `__dict__` has, None without one; `private` are those of them that
    kernels do not see by their names.

    `reads` are attributes that each call looks at: (name, place, role, what is known). A place is "dict", "slot" or "class".
    A role is "number", "array", "texture" (parameters), "constant" (its key), "object" (a node), "func" (a token and a weak
    reference), "static" (a type that kernels do not see) or "unseen" (a value of any such type).
    """

    token: _ClassToken
    cls: weakref.ref[type[Any]]
    word: Any
    version: int
    count: int | None
    private: tuple[str, ...]
    reads: list[tuple[str, str, str, Any]] = field(default_factory=list)

    @property
    def description(self) -> Any:
        """What is read of objects, without the state of the class."""
        reads = tuple((name, place, role, _described(role, what)) for name, place, role, what in self.reads)
        return self.token, self.count, self.private, reads

    def nodes(self) -> Iterator[_Node]:
        """The node and those nested in it."""
        yield self
        for _, _, role, what in self.reads:
            if role == "object":
                yield from what.nodes()


def _described(role: str, what: Any) -> Any:
    return what.description if role == "object" else what[0] if role == "func" else what


class Reading:
    """Lines of a function that read objects, the names in their `scope`, and the expressions of the parameters' `values`.

    A line that finds something else than the layouts say runs `miss`; attributes that are gone raise KeyError or AttributeError.
    """

    def __init__(self, miss: str) -> None:
        self.miss = miss
        self.lines: list[str] = []
        self.values: list[str] = []
        self.scope: dict[str, Any] = {}

    def bind(self, kind: str, value: Any) -> str:
        """A name for `value` in the scope."""
        name = f"{kind}{len(self.scope)}"
        self.scope[name] = value
        return name

    def test(self, wrong: str) -> None:
        """Leaves if `wrong` holds."""
        self.lines.append(f"if {wrong}: {self.miss}")

    def object(self, node: _Node, thing: str, *, known: bool = False) -> None:
        """Reads the object that the variable `thing` holds. `known`: its class has been compared."""
        if not known:
            cls, state, word = self.bind("cls", node.cls), self.bind("node", node), self.bind("word", node.word)
            self.test(f"{cls}() is not type({thing}) or {word}.value != {state}.version")
        own = f"own{len(self.lines)}"
        if node.count is not None:
            self.lines.append(f"{own} = {thing}.__dict__")
            wrong = [
                f"type({own}) is not dict",
                f"len({own}) != {node.count}",
                *(f"{name!r} not in {own}" for name in node.private),
            ]
            self.test(" or ".join(wrong))
        for name, place, role, what in node.reads:
            found = f"{own}[{name!r}]" if place == "dict" else f"{thing if place == 'slot' else f'type({thing})'}.{name}"
            self._attribute(found, role, what)

    def _attribute(self, found: str, role: str, what: Any) -> None:
        if role in ("number", "array", "texture"):
            self.values.append(found)
        elif role == "constant":
            self.test(f"not {self.bind('same', _Same(what))}({found})")
        elif role == "func":
            self.test(f"{self.bind('func', what[1])}() is not {found}")
        elif role == "static":
            self.test(f"type({found}) is not {self.bind('type', what)}")
        elif role == "unseen":
            self.test(f"{self.bind('seen', _seen)}({found})")
        else:
            inner = self.bind("inner", None)  # the name of a variable
            self.lines.append(f"{inner} = {found}")
            self.object(what, inner)


class _Same:
    """Whether a value has the key of a constant. A value that was asked about last is known, if it holds nothing of a class."""

    __slots__ = ("key", "last")

    def __init__(self, key: tuple[Any, Any]) -> None:
        self.key = key
        self.last: Any = self

    def __call__(self, value: Any) -> bool:
        if value is self.last:
            return True
        if not is_number(value) or _constant_key(value) != self.key:
            return False
        if not type(value).__flags__ & _HEAP_TYPE or type(value) is Constant:
            self.last = value
        return True


class Layout:
    """How objects of one class are read. Its identity stands for the class, its constants' values, and the names and roles of
    everything that kernels see of the objects: what a template key has besides the arrays' types and shapes.

    `read(thing)` is the values of the parameters, in the order of the key, or None where the object has another layout; `roles`
    are theirs.
    """

    __slots__ = ("__weakref__", "_arrays", "_constants", "_scalars", "node", "read", "roles")

    def __init__(self, node: _Node, template: Template) -> None:
        self.node = node
        self._constants, self._scalars = template.key[1], template.key[3]
        self._arrays = tuple([entry[0] for entry in template.key[2]])
        self.roles = tuple(_roles(node))
        self.read = _reader(node)

    @property
    def description(self) -> Any:
        """Equal for layouts that say the same of objects, though perhaps of other states of their classes."""
        return self.node.description, self._constants, self._scalars, self._arrays

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether the values of parameters are what `roles` say."""
        return all(map(_fits, self.roles, values))

    def agrees(self, template: Template) -> bool:
        """Whether the layout says of an object what its description says, but for the values of its parameters."""
        token, constants, arrays, scalars = template.key
        names = tuple([entry[0] for entry in arrays])
        return token is self.node.token and (self._constants, self._scalars, self._arrays) == (constants, scalars, names)


def _roles(node: _Node) -> Iterator[str]:
    for _, _, role, what in node.reads:
        if role in ("number", "array", "texture"):
            yield role
        elif role == "object":
            yield from _roles(what)


def _reader(node: _Node) -> Callable[[Any], tuple[Any, ...] | None]:
    reading = Reading("return None")
    reading.object(node, "thing")
    lines = ["try:", *(f" {line}" for line in reading.lines), f" return ({''.join(f'{value}, ' for value in reading.values)})"]
    lines += ["except (AttributeError, KeyError): return None"]
    exec("def read(thing):\n " + "\n ".join(lines), reading.scope)
    return reading.scope.pop("read")  # left in its own globals it would be a cycle


def read_object(thing: Any) -> tuple[Layout | None, tuple[Any, ...], Template | None]:
    """An object as the warm path sees it: its layout, learned if need be, and the values of its parameters.

    An object that no layout fits gives its description instead. TypeError for one that cannot be an argument.
    """
    layout = _template_layouts.get(type(thing))
    values = None if layout is None else layout.read(thing)
    if layout is None or values is None or not layout.fits(values):
        template = describe("", thing)
        layout = _relearn(thing, template)
        values = None if layout is None else layout.read(thing)
        if layout is None or values is None or not layout.fits(values):
            return None, template.values, template
    return layout, values, None


def layout_of(thing: Any, template: Template) -> Layout | None:
    """The layout that says of an object what its description says; None where there is none."""
    layout = _template_layouts.get(type(thing))
    return layout if layout is not None and layout.agrees(template) else _relearn(thing, template)


def _relearn(thing: Any, template: Template) -> Layout | None:
    """The layout of an object that has just been described; the next object of its class is tried with it, too.

    None where its attributes are not where objects have them, or have changed meanwhile.
    """
    cls = type(thing)
    try:
        node = _learn(thing, template.instance)
    except _Unreadable:
        return None
    layout = Layout(node, template)
    if not (layout.agrees(template) and layout.agrees(describe("", thing))):  # after the states of the classes were read
        return None
    known = _known.get(cls)
    if known is None:
        known = _known.setdefault(cls, {})
    former = known.get(layout.description)
    if former is None:
        if len(known) >= _KEPT:
            known.clear()
        known[layout.description] = layout
    else:  # the same again, in a later state of the classes
        for old, new in zip(former.node.nodes(), node.nodes(), strict=True):
            old.version = new.version
        layout = former
    _template_layouts[cls] = layout
    return layout


def _learn(thing: Any, instance: Instance) -> _Node:
    """The node of an object and of those nested in it, as `instance` has described them.

    The states of the classes are read first: a change in between makes the node one that nothing fits.
    """
    cls = type(thing)
    word = version_word(cls)
    if word is None or not word.value or cls.__getattribute__ is not object.__getattribute__ or thing.__class__ is not cls:
        raise _Unreadable
    version, places = word.value, _places(thing)
    own: dict[str, Any] | None = thing.__dict__ if _has_dict(cls) else None
    if own is not None and type(own) is not dict:
        raise _Unreadable
    own = None if own is None else own.copy()
    private = tuple(sorted(name for name in own or () if name.startswith("_")))
    node = _Node(_class_token(cls), weakref.ref(cls), word, version, None if own is None else len(own), private)
    for name in sorted((*instance.seen, *instance.funcs, *instance.ignored)):
        place = places.get(name, "class")
        if place != "class":
            node.reads.append((name, place, *_role(instance, name, _value(thing, name, place))))
        elif name in instance.constants or name in instance.ignored:
            continue  # they change with the state of the class
        else:
            node.reads.append((name, place, *_role(instance, name, _shared(cls, name))))
    return node


def _shared(cls: type[Any], name: str) -> Any:
    """An attribute of the class that its objects share, if asking the class for it gives just that."""
    for each in cls.__mro__:
        if name in vars(each) and type(cls) is type and _is_name(name) and not hasattr(type(vars(each)[name]), "__get__"):
            return vars(each)[name]
    raise _Unreadable


def _role(instance: Instance, name: str, value: Any) -> tuple[str, Any]:
    """What `instance` has made of an attribute, whose value is asked only for what is not in the description."""
    if name in instance.constants:
        return "constant", _constant_key(instance.constants[name])
    if name in instance.scalars:
        return "number", None
    if name in instance.arrays:
        return "array", None
    if name in instance.textures:
        return "texture", None
    if name in instance.nested:
        return "object", _learn(value, instance.nested[name])
    if name in instance.funcs:
        func = instance.funcs[name]
        return "func", (_class_token(func), weakref.ref(func))
    kind = instance.ignored[name]
    return ("unseen", None) if kind.__flags__ & _HEAP_TYPE else ("static", kind)


def _places(thing: Any) -> dict[str, str]:
    """Where the object itself has attributes. `_Unreadable` for slots that are empty, or not called by a name."""
    places: dict[str, str] = {}
    shared: dict[str, Any] = {}
    for cls in reversed(type(thing).__mro__[:-1]):
        shared.update(vars(cls))
    for name, value in shared.items():
        if isinstance(value, MemberDescriptorType) and not name.startswith("_"):
            if not hasattr(thing, name) or not _is_name(name):
                raise _Unreadable
            places[name] = "slot"
    if _has_dict(type(thing)):
        places.update((name, "dict") for name in thing.__dict__ if not name.startswith("_"))
    return places


def _is_name(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def _has_dict(cls: type[Any]) -> bool:
    """Whether objects have a `__dict__`, which is theirs as Python made it."""
    found = next((vars(each)["__dict__"] for each in cls.__mro__ if "__dict__" in vars(each)), None)
    if found is not None and not isinstance(found, GetSetDescriptorType):
        raise _Unreadable
    return found is not None


def _value(thing: Any, name: str, place: str) -> Any:
    try:
        return thing.__dict__[name] if place == "dict" else getattr(thing, name)
    except (AttributeError, KeyError):
        raise _Unreadable from None


def _seen(value: Any) -> bool:
    """Whether kernels see a value."""
    return is_number(value) or isinstance(value, (Array, Texture3D, Func)) or is_device_object(value)


def _fits(role: str, value: Any) -> bool:
    kind = type(value)
    if role == "array":
        return kind is Array
    if role == "texture":
        return kind is Texture3D
    return kind is float or kind is int or (is_number(value) and kind is not Constant)
