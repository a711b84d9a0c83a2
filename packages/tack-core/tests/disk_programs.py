"""Programs of `test_disk_cache.py`, each in two versions that differ in one thing which lowering reads.

A name's program is `plain(names, value)`; that of an object is `of_object(classes, value)`. Expected values are closed forms.
"""

from __future__ import annotations

import math
import textwrap

__all__ = ["NAMES", "OBJECTS", "of_object", "plain"]


def _module(head: str, parameters: str, value: str, arguments: str, loop: str = "range(x.shape[0])") -> str:
    return f"""
import math
import numpy as np
import tack
{textwrap.dedent(head)}

@tack.kernel
def k({parameters}):
    for i in {loop}:
        out[i] = {value}

def answer():
    x = tack.array(np.array([1, 2, 5], np.float32))
    out = tack.zeros(3, tack.f64)
    k({arguments})
    return out.numpy().tolist()
"""


def plain(names: str, value: str) -> str:
    """A module whose kernel stores `value`, of x[i] = 1, 2, 5, with the lines `names` above it."""
    return _module(names, "x, out", value, "x, out")


def of_object(classes: str, value: str, loop: str = "range(x.shape[0])") -> str:
    """A module whose kernel stores `value`, of x[i] and the object `o` that `make()` of the lines `classes` gives."""
    return _module(classes, "o, x, out", value, "make(), x, out", loop)


_ADD = """
    @tack.func
    def f(v):
        return v + {}
"""

_NAMED = """
    @tack.func
    def one(v):
        return v + 1.0
    @tack.func
    def two(v):
        return v + 2.0
    inner = {}
    @tack.func
    def f(v):
        return inner(v)
"""

_MADE = """
    def make(amount):
        @tack.func
        def shift(v):
            return v + amount
        return shift
    f = make(tack.constant({}))
"""

_DEFAULT = """
    K = {}
    @tack.func
    def f(v, {}k=K):
        return v * k
"""

_ALIASED = """
    from types import ModuleType
    m = math if {} else ModuleType("math")
    m.__dict__.setdefault("pi", tack.constant(3))
"""

_CLASS_NAME = """
    @tack.device_class
    class A:
        @staticmethod
        @tack.func
        def at(v):
            return v + {}
"""

_LOCAL = """
    DTYPE = {}
    @tack.func
    def f(v):
        t = tack.local_array(DTYPE, 1)
        t[0] = v / 2.0
        return t[0]
"""

# What changes: the kernel's expression, then pairs of the names around it and what x = 1, 2, 5 give.
NAMES: dict[str, tuple[str, tuple[tuple[str, list[float]], ...]]] = {
    "a constant's value": ("x[i] * C", (("C = tack.constant(2)", [2, 4, 10]), ("C = tack.constant(3)", [3, 6, 15]))),
    "a constant's type": (
        "x[i] + (C + 1)",
        (("C = tack.constant(255)", [257, 258, 261]), ("C = tack.constant(255, tack.u8)", [1, 2, 5])),
    ),
    "a constant's zero": (
        "math.copysign(x[i], C)",
        (("C = tack.constant(0.0)", [1, 2, 5]), ("C = tack.constant(-0.0)", [-1, -2, -5])),
    ),
    "a constant's Python type": (
        "tack.i32(x[i]) * C * 1073741824",
        (("C = tack.constant(1)", [2**30, -(2**31), 2**30]), ("C = tack.constant(1.0)", [2**30, 2**31, 5 * 2**30])),
    ),
    "a constant vector's value": (
        "C.x * x[i] + C.y",
        (("C = tack.constant((2, 1))", [3, 5, 11]), ("C = tack.constant((2, 3))", [5, 7, 13])),
    ),
    "a constant vector's type": (
        "x[i] + (C.x + 1)",
        (("C = tack.constant((255, 0))", [257, 258, 261]), ("C = tack.constant((255, 0), tack.u8)", [1, 2, 5])),
    ),
    "a device function's body": ("f(x[i])", ((_ADD.format(1.0), [2, 3, 6]), (_ADD.format(2.0), [3, 4, 7]))),
    "a default": ("f(x[i])", ((_DEFAULT.format(2.0, ""), [2, 4, 10]), (_DEFAULT.format(3.0, ""), [3, 6, 15]))),
    "a default of another kind": (
        "f(x[i])",
        ((_DEFAULT.format("np.float32(2)", ""), [2, 4, 10]), (_DEFAULT.format("tack.constant(3)", ""), [3, 6, 15])),
    ),
    "a keyword's default": ("f(x[i])", ((_DEFAULT.format(2.0, "*, "), [2, 4, 10]), (_DEFAULT.format(3, "*, "), [3, 6, 15]))),
    "a device function's closure": ("f(x[i])", ((_MADE.format(1), [2, 3, 6]), (_MADE.format(2), [3, 4, 7]))),
    "what a device function names": ("f(x[i])", ((_NAMED.format("one"), [2, 3, 6]), (_NAMED.format("two"), [3, 4, 7]))),
    "an intrinsic that gets shadowed": (
        "max(x[i], 2.0)",
        (("", [2, 2, 5]), ("@tack.func\ndef max(a, b):\n    return a + b", [3, 4, 7])),
    ),
    "a function of Python's math": (
        "f(x[i] + 0.5)",
        (("from math import floor as f", [1, 2, 5]), ("from math import ceil as f", [2, 3, 6])),
    ),
    "a builtin under another name": ("f(-x[i], 2.0)", (("f = max", [2, 2, 2]), ("f = min", [-1, -2, -5]))),
    "an intrinsic under another name": (
        "f(x[i] + 0.5)",
        (("f = tack.math.floor", [1, 2, 5]), ("f = tack.math.ceil", [2, 3, 6])),
    ),
    "the module behind a name": (
        "m.pi",
        ((_ALIASED.format(True), [math.pi] * 3), (_ALIASED.format(False), [3] * 3)),
    ),
    "a scalar type": ("T(x[i] / 2.0)", (("T = tack.f32", [0.5, 1, 2.5]), ("T = tack.i32", [0, 1, 2]))),
    "a vector type": ("V(x[i] / 2.0, 1.0).x", (("V = tack.vec2", [0.5, 1, 2.5]), ("V = tack.ivec2", [0, 1, 2]))),
    "the size of a vector type": (
        "(tack.vec(N, tack.f32)(1.0) * x[i]).sum()",
        (("N = tack.constant(2)", [2, 4, 10]), ("N = tack.constant(3)", [3, 6, 15])),
    ),
    "the dtype of a vector type": (
        "tack.vec(2, T)(x[i] / 2.0, 1.0).x",
        (("T = np.float32", [0.5, 1, 2.5]), ("T = np.int32", [0, 1, 2])),
    ),
    "a local array's dtype": ("f(x[i])", ((_LOCAL.format('"f4"'), [0.5, 1, 2.5]), (_LOCAL.format('"i4"'), [0, 1, 2]))),
    "a local array's NumPy dtype": (
        "f(x[i])",
        ((_LOCAL.format("np.dtype('f4')"), [0.5, 1, 2.5]), (_LOCAL.format("np.dtype('i4')"), [0, 1, 2])),
    ),
    "a local array's Python type": ("f(x[i])", ((_LOCAL.format("float"), [0.5, 1, 2.5]), (_LOCAL.format("int"), [0, 1, 2]))),
    "a function of a class": ("A.at(x[i])", ((_CLASS_NAME.format(1.0), [2, 3, 6]), (_CLASS_NAME.format(2.0), [3, 4, 7]))),
}

_OBJECT = """
    {names}
    class Base:
        step = {step}
        @tack.func
        def twice(self, v):
            return {twice}
        @tack.func
        def more(self, v):
            return {more}

    class Middle(Base):
        @tack.func
        def more(self, v):
            return v + 2.0

    @tack.device_class
    class Shift({bases}):
        by = {by}
        {extra}
        @tack.func
        def at(self, v{default}):
            return {at}

    def make():
        o = Shift()
        {attributes}
        return o
"""


def _object(**parts: str) -> str:
    usual = {
        "names": "", "step": "1.0", "bases": "Base", "twice": "v * 2.0", "by": "1.0", "extra": "", "default": "",
        "more": "v + 1.0", "at": "v + self.by", "attributes": "o.offset = 1.0",
    }  # fmt: skip
    return _OBJECT.format(**(usual | parts))


_EXTRA = "@tack.func\n        def more(self, v):\n            return {}"
_STATIC = "{}\n        @tack.func\n        def two({}a, b=3.0):\n            return a * b"
_HELD = "\n        ".join(("o.f = {}", "o.offset = 1.0"))
_FUNCS = "\n    ".join(
    ("@tack.func", "def one(v):", "    return v + 1.0", "@tack.func", "def two(v):", "    return v + 2.0", "{}")
)
_OUTER = "\n    ".join(("f = {}", "@tack.func", "def g(v):", "    return f(v)"))
_INNER = "\n    ".join(
    (
        "@tack.device_class", "class Inner:", "    by = {}", "    @tack.func", "    def at(self, v):", "        return {}", "{}"
    )
)  # fmt: skip
_SUPER = "@tack.func\n        def more(self, v):\n            return super().more(v) * {}"
_TWO = "@tack.func\n    def f(a, b=3.0):\n        return b * 2.0"
_LAYERS = """
    def layer(base):
        class Layer(base):
            @tack.func
            def more(self, v):
                return super().more(v) + 1.0
        return Layer

    class Base:
        @tack.func
        def more(self, v):
            return v + 1.0

    One = layer(Base)
    Two = layer(One)

    @tack.device_class
    class Shift(Two):
        more = vars({})["more"]

    make = Shift
"""

# The same for objects. Each pair is the classes, and what x = 1, 2, 5 give.
OBJECTS: dict[str, tuple[str, tuple[tuple[str, list[float]], ...]]] = {
    "a constant of the class": ("o.at(x[i])", ((_object(by="1.0"), [2, 3, 6]), (_object(by="2.0"), [3, 4, 7]))),
    "a constant of a base": ("x[i] + o.step", ((_object(step="1.0"), [2, 3, 6]), (_object(step="2.0"), [3, 4, 7]))),
    "the type of a class's constant": (
        "math.floor(x[i]) // 2 + o.by / 2",
        ((_object(by="3"), [1.5, 2.5, 3.5]), (_object(by="tack.constant(255, tack.u8)"), [127.5, 128.5, 129.5])),
    ),
    "the sign of a class's zero": (
        "math.copysign(x[i], o.by)", ((_object(by="0.0"), [1, 2, 5]), (_object(by="-0.0"), [-1, -2, -5])),
    ),
    "an attribute over a class's constant": (
        "o.at(x[i])", ((_object(attributes="o.by = 2.0"), [3, 4, 7]), (_object(attributes="o.by = 4.0"), [5, 6, 9])),
    ),
    "a constant that becomes an attribute": (
        "x[i] + o.size // 2",
        ((_object(extra="size = 3", attributes="pass"), [2, 3, 6]), (_object(attributes="o.size = 5"), [3, 4, 7])),
    ),
    "a method": ("o.at(x[i])", ((_object(at="v + 1.0"), [2, 3, 6]), (_object(at="v + 2.0"), [3, 4, 7]))),
    "an inherited method": ("o.twice(x[i])", ((_object(twice="v * 2.0"), [2, 4, 10]), (_object(twice="v * 3.0"), [3, 6, 15]))),
    "a method that gets overridden": (
        "o.more(x[i])", ((_object(), [2, 3, 6]), (_object(extra=_EXTRA.format("v + 2.0")), [3, 4, 7])),
    ),
    "the base that super() finds": (
        "o.more(x[i])",
        ((_object(extra=_SUPER.format("2.0")), [4, 6, 12]), (_object(extra=_SUPER.format("2.0"), bases="Middle"), [6, 8, 14])),
    ),
    "the method that super() finds": (
        "o.more(x[i])",
        (
            (_object(extra=_SUPER.format("2.0"), more="v + 1.0"), [4, 6, 12]),
            (_object(extra=_SUPER.format("2.0"), more="v + 2.0"), [6, 8, 14]),
        ),
    ),
    "where super() starts": (
        "o.more(x[i])", ((_LAYERS.format("One"), [3, 4, 7]), (_LAYERS.format("Two"), [4, 5, 8])),
    ),
    "how a method is passed its object": (
        "o.two(x[i])",
        (
            (_object(names=_TWO, extra="two = staticmethod(f)"), [6, 6, 6]),
            (_object(names=_TWO, extra="two = f"), [2, 4, 10]),
        ),
    ),
    "an attribute more": (
        "o.at(x[i]) + o.offset",
        ((_object(attributes="o.offset = 1.0"), [3, 4, 7]), (_object(attributes="o.offset, o.another = 1.0, 2.0"), [3, 4, 7])),
    ),
    "a method that super() multiplies": (
        "o.more(x[i])", ((_object(extra=_SUPER.format("2.0")), [4, 6, 12]), (_object(extra=_SUPER.format("3.0")), [6, 9, 18])),
    ),
    "what a method names": (
        "o.at(x[i])",
        (
            (_object(names=_FUNCS.format("g = one"), at="g(v)"), [2, 3, 6]),
            (_object(names=_FUNCS.format("g = two"), at="g(v)"), [3, 4, 7]),
        ),
    ),
    "a method's default": (
        "o.at(x[i])",
        (
            (_object(names="K = 1.0", default=", k=K", at="v + k"), [2, 3, 6]),
            (_object(names="K = 2.0", default=", k=K", at="v + k"), [3, 4, 7]),
        ),
    ),
    "a static method": (
        "o.two(x[i])" , ((_object(extra=_STATIC.format("@staticmethod", "")), [3, 6, 15]),
                         (_object(extra=_STATIC.format("", "self, ")), [3, 6, 15])),
    ),
    "a function held as attribute": (
        "o.f(x[i])",
        (
            (_object(names=_FUNCS.format(""), attributes=_HELD.format("one")), [2, 3, 6]),
            (_object(names=_FUNCS.format(""), attributes=_HELD.format("two")), [3, 4, 7]),
        ),
    ),
    "what a function held as attribute names": (
        "o.f(x[i])",
        (
            (_object(names=_FUNCS.format(_OUTER.format("one")), attributes=_HELD.format("g")), [2, 3, 6]),
            (_object(names=_FUNCS.format(_OUTER.format("two")), attributes=_HELD.format("g")), [3, 4, 7]),
        ),
    ),
    "the class of an object it holds": (
        "o.inner.at(x[i])",
        (
            (_object(names=_INNER.format("1.0", "v + self.by", ""), attributes="o.inner = Inner()"), [2, 3, 6]),
            (_object(names=_INNER.format("1.0", "v - self.by", ""), attributes="o.inner = Inner()"), [0, 1, 4]),
        ),
    ),
    "a constant of an object it holds": (
        "o.inner.at(x[i])",
        (
            (_object(names=_INNER.format("1.0", "v + self.by", ""), attributes="o.inner = Inner()"), [2, 3, 6]),
            (_object(names=_INNER.format("2.0", "v + self.by", ""), attributes="o.inner = Inner()"), [3, 4, 7]),
        ),
    ),
    "the shape of an array it holds": (
        "x[i] + o.data.shape[0]",
        (
            (_object(attributes="o.data = tack.zeros(3)"), [4, 5, 8]),
            (_object(attributes="o.data = tack.zeros(4)"), [5, 6, 9]),
        ),
    ),
    "the dtype of an array it holds": (
        "x[i] + o.data[0] / 2",
        (
            (_object(attributes="o.data = tack.full(3, 3, tack.i32)"), [2.5, 3.5, 6.5]),
            (_object(attributes="o.data = tack.full(3, 3.5, tack.f64)"), [2.75, 3.75, 6.75]),
        ),
    ),
    "the width of an array it holds": (
        "x[i] + (o.data[0] * 2.0).sum()",
        (
            (_object(attributes="o.data = tack.ones(3, tack.vec2)"), [5, 6, 9]),
            (_object(attributes="o.data = tack.ones(3, tack.vec3)"), [7, 8, 11]),
        ),
    ),
}  # fmt: skip
