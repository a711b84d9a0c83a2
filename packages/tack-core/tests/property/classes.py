"""Objects of device classes in random programs (rule F2).

Some of the program's arrays and numbers become attributes of objects, which a function `bind` in the program makes from the flat
arguments; classes add constants, methods that read all of these, functions held as attributes, a base class, and loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from property.expressions import TYPES, ArrayParam, Func, Var, Writer

if TYPE_CHECKING:
    from property.generator import _Block, _Builder

_LAYOUTS = [["obj"], ["obj", "obj.part"], ["obj", "other"], ["obj", "obj.part", "obj.part.core"]]


@dataclass
class Thing:
    """An object. `path`: what the kernel calls it; `names`: its attributes that come from arguments; `parts` are nested in it."""

    path: str
    names: list[str] = field(default_factory=list)
    arrays: list[ArrayParam] = field(default_factory=list)
    scalars: list[Var] = field(default_factory=list)
    parts: list[Thing] = field(default_factory=list)
    held: str = ""  # a device function that it holds
    iterates: tuple[str, ...] = ()

    @property
    def cls(self) -> str:
        return "Of" + self.path.title().replace(".", "")

    @property
    def made(self) -> str:
        """The call of the class that makes it."""
        return f"{self.cls}({', '.join([*self.names, *(part.made for part in self.parts), *([self.held] if self.held else [])])})"


def make(b: _Builder, w: Writer, movable: list[Any]) -> tuple[list[Thing], list[str]]:
    """The program's objects and the text of their classes. Of the `movable` arrays and numbers, some get paths for names.

    `w`: the kernel's writer, which learns what it can name.
    """
    things = [Thing(path) for path in w.rng.choice(_LAYOUTS)]
    for each in movable:
        if w.rng.random() < 0.5:
            thing = w.rng.choice(things)
            thing.names.append(each.name)
            if any(each is array for array, _ in b.accumulators):
                pass  # methods do not read it: other iterations update it meanwhile
            elif isinstance(each, ArrayParam):
                thing.arrays.append(replace(each, name=f"self.{each.name}"))
            elif isinstance(each, Var):
                thing.scalars.append(Var(f"self.{each.name}", each.type, False))
                each.mutable = False
            each.name = f"{thing.path}.{each.name}"
    for thing in things:
        owner = next((t for t in things if t.path == thing.path.rpartition(".")[0]), None)
        if owner is not None:
            owner.parts.append(thing)
    lines: list[str] = []
    for thing in reversed(things):  # the innermost first, as their owners' methods call theirs
        lines += _class(b, w, thing)
    return [thing for thing in things if "." not in thing.path], lines


def bind(flat: list[str], params: list[str], things: list[Thing]) -> list[str]:
    """The function that makes the kernel's arguments."""
    made = {thing.path: thing.made for thing in things}
    return ["", f"def bind({', '.join(flat)}):", f"    return ({', '.join(made.get(p, p) for p in params)},)"]


# ------------------------------------------------------------------------------------------------------------ classes


def _class(b: _Builder, w: Writer, thing: Thing) -> list[str]:
    rng = w.rng
    kind = rng.choice(TYPES)
    constants = _constants(w, kind)
    thing.iterates = rng.choice([("STEPS",), ("STEPS", "WIDE"), ("WIDE", "STEPS")])
    for part in thing.parts:  # what methods reach through `self`
        inner = part.path.rpartition(".")[2]
        thing.scalars += [Var(f"self.{inner}.{v.name.removeprefix('self.')}", v.type, False) for v in part.scalars]
        thing.arrays += [replace(a, name=f"self.{inner}.{a.name.removeprefix('self.')}") for a in part.arrays]
    own = [a for a in thing.arrays if a.own and len(a.shape) == 1]
    thing.scalars.append(Var("self.KIND", kind, False))
    w.weak_ints += [f"{thing.path}.STEPS", f"{thing.path}.WIDE"]
    w.weak_floats.append(f"{thing.path}.RATE")
    w.variables.append(Var(f"{thing.path}.KIND", kind, False))
    init = _init(b, w, thing)
    lines, methods = [], [line for k in range(rng.randint(1, 2)) for line in _method(b, w, thing, f"m{k}")]
    if own:
        methods += _put(b, w, thing, rng.choice(own))
    base = ""
    if rng.random() < 0.4:
        base = f"({thing.cls}Base)"
        lines = ["", "@tack.device_class", f"class {thing.cls}Base:", *constants, *_base_method(b, w, thing)]
        constants = rng.sample(_constants(w, kind), rng.randint(0, 2))
        methods += _override(b, w, thing) if rng.random() < 0.6 else []
    iterates = thing.iterates[0] if len(thing.iterates) == 1 and rng.random() < 0.5 else thing.iterates
    lines += ["", "@tack.device_class", f"class {thing.cls}{base}:", f"    __tack_iterate__ = {iterates!r}"]
    return lines + [*constants, *init, *methods] + (_user(b, w, thing) if rng.random() < 0.5 else [])


def _constants(w: Writer, kind: str) -> list[str]:
    """Numbers on the class: sizes whose product is no more than the slots of a program, a float, one of type `kind`."""
    rng = w.rng
    return [
        f"    STEPS = {rng.randint(1, 3)}",
        f"    WIDE = {rng.randint(1, 3)}",
        f"    RATE = {rng.choice(['0.1', '0.5', '-1.5', '1 / 3'])}",
        f"    KIND = tack.constant({rng.randint(0, 120)}, tack.{kind})",
    ]


def _init(b: _Builder, w: Writer, thing: Thing) -> list[str]:
    names = [*thing.names, *(part.path.rpartition(".")[2] for part in thing.parts)]
    funcs = [f for f in w.funcs if "." not in f.name and not f.array and not f.given and len(f.results) == 1]
    if funcs and w.rng.random() < 0.5:
        func = w.rng.choice(funcs)
        thing.held = func.name
        names.append("held")
        w.funcs.append(replace(func, name=f"{thing.path}.held"))
    body = [f"        self.{name} = {name}" for name in names]
    if w.rng.random() < 0.3:
        body.append(f"        self.{w.rng.choice(['STEPS', 'WIDE'])} = {w.rng.randint(1, 3)}")  # stays a constant
    return ["", f"    def __init__({', '.join(['self', *names])}):", *(body or ["        pass"])]


def _writer(b: _Builder, w: Writer, thing: Thing, params: list[Var]) -> Writer:
    """What a method can name."""
    prefix = f"{thing.path}."
    inner = Writer(w.rng, w.types, w.default_float, [*params, *thing.scalars], [a for a in thing.arrays if not a.own])
    inner.funcs = [replace(f, name=f"self.{f.name.removeprefix(prefix)}") if f.name.startswith(prefix) else f for f in w.funcs
                   if not f.array and not f.given and ("." not in f.name or f.name.startswith(prefix))]  # fmt: skip
    inner.weak_ints, inner.weak_floats = ["self.STEPS", "self.WIDE"], ["self.RATE"]
    b.used = {"self"}
    return inner


def _method(b: _Builder, w: Writer, thing: Thing, name: str) -> list[str]:
    """A method with statements of any kind, which may return early."""
    rng, t = w.rng, w.any_type()
    static = rng.random() < 0.2
    params = [Var(p, w.any_type()) for p in "ab"[: rng.randint(1, 2)]]
    inner = _writer(b, w, thing, params)
    if static:
        inner = Writer(rng, w.types, w.default_float, list(params))
    block = b.block(2, (t,))
    b.budget = rng.randint(0, 3)
    b.statements(inner, block)
    inner.slot = "0"  # it may read what iterations only read
    block.add(b.return_text(inner, (t,)))
    w.funcs.append(Func(f"{thing.path}.{name}", tuple(p.type for p in params), (t,)))
    marks = ["    @tack.func", "    @staticmethod"]
    marks = (marks if rng.random() < 0.5 else marks[::-1]) if static else marks[:1]
    return ["", *marks, f"    def {name}({', '.join([*([] if static else ['self']), *(p.name for p in params)])}):", *block.lines]


def _put(b: _Builder, w: Writer, thing: Thing, array: ArrayParam) -> list[str]:
    """A method that stores into the object's array."""
    value = f"tack.{array.type}({_writer(b, w, thing, [Var('v', array.type)]).expr(array.type, 2)})"
    text = f"{array.name}[at] {w.rng.choice(['=', '+=', '-='])} {value}"
    if b.has_atomics and w.rng.random() < 0.5:
        text = f"tack.atomic_max({array.name}, at, {value})"

    def statement(b: _Builder, w: Writer, block: _Block) -> None:
        at = f"{w.slot} * {array.width} + {w.small(array.width)}"
        block.add(f"{thing.path}.put({at}, tack.{array.type}({w.expr(array.type, 2)}))")

    b.object_statements.append(statement)
    return ["", "    @tack.func", "    def put(self, at, v):", f"        {text}"]


def _base_method(b: _Builder, w: Writer, thing: Thing) -> list[str]:
    """A method of the base class, which knows of the object no more than the constants."""
    t = w.any_type()
    inner = Writer(w.rng, w.types, w.default_float, [Var("a", t), Var("self.KIND", thing.scalars[-1].type, False)])
    inner.weak_ints = ["self.STEPS", "self.WIDE"]
    w.funcs.append(Func(f"{thing.path}.root", (t,), (t,)))
    return ["", "    @tack.func", "    def root(self, a):", f"        return tack.{t}({inner.expr(t, 2)})"]


def _override(b: _Builder, w: Writer, thing: Thing) -> list[str]:
    t = w.funcs[-1].results[0]
    text = _writer(b, w, thing, [Var("a", t)])
    text.funcs = []
    value = f"super().root(tack.{t}({text.expr(t, 1)})) {w.rng.choice('+-*')} {text.expr(t, 1)}"
    return ["", "    @tack.func", "    def root(self, a):", f"        return tack.{t}({value})"]


def _user(b: _Builder, w: Writer, thing: Thing) -> list[str]:
    """A device function that takes the object."""
    methods = [f for f in w.funcs if f.name in (f"{thing.path}.m0", f"{thing.path}.m1", f"{thing.path}.root")]
    func = w.rng.choice(methods)
    name = f"use_{thing.cls}"
    args = ", ".join(f"tack.{t}(a)" for t in func.params)
    t = func.results[0]
    text = f"thing.{func.name.rpartition('.')[2]}({args}) {w.rng.choice('+-')} thing.STEPS"
    w.funcs.append(Func(name, (w.any_type(),), (t,), given=thing.path))
    return ["", "@tack.func", f"def {name}(thing, a):", f"    return tack.{t}({text})"]


# -------------------------------------------------------------------------------------------------------------- loops


def parallel(w: Writer, top: _Block, thing: Thing) -> _Block:
    """The kernel's loop over an object."""
    sizes = [f"{thing.path}.{name}" for name in thing.iterates]
    block = top.inner()
    if len(sizes) == 1:
        top.add(f"for i in {thing.path}:")
        w.slot = "i"
        w.variables.append(Var("i", "i64", False))
        return block
    w.slot = "slot"
    if w.rng.random() < 0.4:
        top.add(f"for at in {thing.path}:")
        block.add(f"slot = tack.i64(at.x + at[1] * {sizes[0]})")
        w.variables += [Var("at.x", "i64", False), Var("at[1]", "i64", False)]
        return block
    top.add(f"for i, j in {thing.path}:")
    block.add(f"slot = tack.i64(j * {sizes[0]} + i)")
    w.variables += [Var("i", "i64"), Var("j", "i64", False)]
    return block


def statement(b: _Builder, w: Writer, block: _Block) -> None:
    """A store through a method, or an inner loop over an object."""
    if b.object_statements and (block.loops >= 2 or block.indent >= 5 or w.rng.random() < 0.5):
        w.rng.choice(b.object_statements)(b, w, block)
    elif block.loops < 2 and block.indent < 5:
        thing = w.rng.choice(b.things)
        names = [b.fresh(w, "i64", False) for _ in thing.iterates]
        if len(names) == 2 and names[0].name == names[1].name:
            names[1] = b.fresh(w, "i64", False)
        block.add(f"for {', '.join(v.name for v in names)} in {thing.path}:")
        outer = list(w.variables)
        w.variables += names
        b.nested(w, b.filled(block, 1), w.rng.randint(1, 3))
        w.variables = outer
