"""Random programs of the kernel language: source text of a kernel and its device functions, and arguments for it.

A program follows from its seed alone. By construction it has no races (an iteration writes only its own slot of each array),
no index outside an array, and loops that end; every local is assigned before it is read and has one type, given by casts.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from oracle_scalars import common_type, range_of
from property import classes, memory, vectors
from property.expressions import FLOATS, INTS, ArrayParam, Func, Var, Writer, palette
from property.vectors import VectorArray, function

SLOTS = 9  # the most iterations of a program
SLOT_BYTES = 32
NAMES = (
    "t",
    "u",
    "double",
    "restrict",
    "register",
    "entry",
    "body",
    "self",
    "größe",
    "π",
    "threadIdx",
    "_x",
    "main",
    "i32",
    "next_",
)


_HEAD = """\
import math

import tack

FIVE = tack.constant(5)
HALF = tack.constant(0.5)
SEVEN = tack.constant(7, tack.u32)
"""
_SEVEN = Var("SEVEN", "u32", False)


def dtype(t: str) -> np.dtype[Any]:
    """The NumPy dtype of a type's name."""
    return np.dtype(f"{t[0]}{int(t[1:]) // 8}")


@dataclass
class Param:
    """A parameter: an array of `type` and `shape` that views buffer `buffer`, or a number.

    `element`: the shape of the components of each element.
    """

    name: str
    type: str = ""
    shape: tuple[int, ...] = ()
    buffer: int = 0
    value: Any = None
    tame: bool = False
    element: tuple[int, ...] = ()
    whole: bool = False  # integers alone


@dataclass
class Program:
    """`source` defines `kernel`; `arguments()` makes fresh arguments, always the same ones."""

    seed: int
    source: str
    params: list[Param]

    def arguments(self) -> list[Any]:
        """NumPy arrays, some of which share memory, and Python numbers."""
        rng = np.random.default_rng(self.seed)
        buffers: dict[int, np.ndarray] = {}
        args: list[Any] = []
        for p in self.params:
            if not p.type:
                args.append(p.value)
                continue
            shape = (*p.shape, *p.element)
            if p.buffer not in buffers:
                values = random_values(rng, p.type, math.prod(shape), p.tame)
                buffers[p.buffer] = (np.floor(values) if p.whole and p.type in FLOATS else values).view(np.uint8)
            args.append(buffers[p.buffer].view(dtype(p.type)).reshape(shape))
        return args

    def elements(self) -> dict[int, tuple[int, ...]]:
        """The shape of the components of those arguments, by position, that are arrays of vectors or matrices."""
        return {k: p.element for k, p in enumerate(self.params) if p.element}

    def text(self) -> str:
        """The program as a file that `read` reads: its arguments in a comment, then its source."""
        head = {"seed": self.seed, "params": [asdict(p) for p in self.params]}
        return f"# {json.dumps(head)}\n{self.source}"


def read(text: str) -> Program:
    """The program in a file that `Program.text` wrote."""
    head, _, source = text.partition("\n")
    facts = json.loads(head.removeprefix("# "))
    params = [Param(**{**p, "shape": tuple(p["shape"]), "element": tuple(p.get("element", ()))}) for p in facts["params"]]
    return Program(facts["seed"], source, params)


def random_values(rng: np.random.Generator, t: str, count: int, tame: bool) -> np.ndarray:
    """Values of a type: small, or unless `tame` some special ones and any bits at all."""
    kind = np.ones(count) if tame else rng.random(count) * rng.choice([0.3, 1.0, 10.0])
    if t in FLOATS:
        info = np.finfo(dtype(t))
        edges = [0.0, -0.0, np.nan, np.inf, -np.inf, info.tiny, -info.smallest_subnormal, info.max, 0.1, 1.5, -2.5, 1 / 3]
        small = np.where(rng.random(count) < 0.3, rng.integers(-16, 17, count) / 2, rng.uniform(-4, 4, count)).astype(dtype(t))
    else:
        low, high = range_of(t)
        edges = [low, high, low + 1, high - 1, high // 2, 1, 2, 3]
        small = rng.integers(-8 if t[0] == "i" else 0, 9, count).astype(dtype(t))
    special = rng.choice(np.array(edges, dtype(t)), count)
    bits = rng.integers(0, 256, count * dtype(t).itemsize, np.uint8).view(dtype(t))
    return np.where(kind < 0.15, special, np.where(kind < 0.3, bits, small))


def generate(seed: int, features: bool = True) -> Program:
    """The program of a seed. `features`: it may have local arrays, atomics and objects."""
    return _Builder(random.Random(seed), features).program(seed)


@dataclass
class _Block:
    """Where statements are being written: `lines` at `indent`, inside `loops` loops, in a function that returns `results`."""

    lines: list[str] = field(default_factory=list)
    indent: int = 1
    loops: int = 0
    results: tuple[str, ...] | None = None
    in_kernel: bool = False

    def add(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def inner(self, loops: int = 0) -> _Block:
        return _Block(self.lines, self.indent + 1, self.loops + loops, self.results, self.in_kernel)


class _Builder:
    """Builds one program."""

    def __init__(self, rng: random.Random, features: bool) -> None:
        self.rng = rng
        self.has_local = features and rng.random() < 0.3
        self.has_atomics = features and rng.random() < 0.25
        self.has_objects = features and rng.random() < 0.2
        self.things: list[classes.Thing] = []
        self.object_statements: list[Callable[..., None]] = []
        self.accumulators: list[tuple[ArrayParam, str]] = []
        self.whole_funcs: list[tuple[str, str]] = []
        self.types = palette(rng)
        self.params: list[Param] = []
        self.budget = 0
        self.used: set[str] = set()
        self.vector_arrays: list[VectorArray] = []
        self.vector_funcs: list[tuple[str, tuple[int, ...], str]] = []

    # ----------------------------------------------------------------------------------------------------- whole

    def program(self, seed: int) -> Program:
        rng = self.rng
        arrays = self.make_arrays()
        self.vector_arrays = self.make_vector_arrays() if rng.random() < 0.4 else []
        self.accumulators = memory.make_accumulators(self) if self.has_atomics else []
        default = "f64" if any(p.type == "f64" for p in self.params) else "f32"
        scalars = self.make_scalars(default)
        lines = _HEAD.splitlines()
        funcs: list[Func] = []
        for k in range(rng.choice([0, 1, 1, 2, 3])):
            lines += self.make_func(k, default, funcs)
        if self.vector_arrays and rng.random() < 0.6:
            lines += self.make_vector_func(default)
        if self.has_local and rng.random() < 0.5:
            lines += memory.whole_function(self, Writer(rng, self.types, default, [_SEVEN]), "whole")
        rng.shuffle(self.params)
        w = Writer(rng, self.types, default, [*scalars, _SEVEN], arrays, funcs)
        w.vector_arrays, w.vector_funcs = self.vector_arrays, self.vector_funcs
        params = [p.name for p in self.params]
        if self.has_objects:
            movable = [*arrays, *scalars, *self.vector_arrays, *(a for a, _ in self.accumulators)]
            self.things, texts = classes.make(self, w, movable)
            names = {each.name for each in movable} - {p.name for p in self.params}
            moved = {name.rpartition(".")[2] for name in names}
            params = [*(p for p in params if p not in moved), *(thing.path for thing in self.things)]
            rng.shuffle(params)
            lines += [*texts, *classes.bind([p.name for p in self.params], params, self.things)]
        lines += ["", "@tack.kernel", f"def kernel({', '.join(params)}):", *self.make_body(w)]
        return Program(seed, "\n".join(lines) + "\n", self.params)

    def make_arrays(self) -> list[ArrayParam]:
        rng = self.rng
        arrays: list[ArrayParam] = []
        groups: list[list[str]] = []  # the types of the arrays that share a buffer
        floats = sorted({t for t in self.types if t in FLOATS})
        for k in range(rng.randint(2, 4)):
            t = floats[0] if k == 0 and floats else rng.choice(self.types)
            width = SLOT_BYTES // dtype(t).itemsize
            shape = (SLOTS, width) if rng.random() < 0.25 else (SLOTS * width,)
            arrays.append(ArrayParam(f"out{k}", t, shape, True, width))
            # Integers of any width may share memory; floats share it with their own type alone, as a NaN's bits are free.
            sharing = [g for g in groups if (t in INTS and g[0] in INTS) or g[0] == t]
            group = rng.choice(sharing) if sharing and rng.random() < 0.4 else []
            if not group:
                groups.append(group)
            group.append(t)
            self.params.append(Param(f"out{k}", t, shape, groups.index(group)))
        for k in range(max(rng.randint(1, 3), len(floats))):
            shape = (rng.randint(1, 7),) if rng.random() < 0.7 else (rng.randint(1, 3), rng.randint(1, 4))
            t, tame = (floats[k], True) if k < len(floats) else (rng.choice(self.types), False)
            arrays.append(ArrayParam(f"in{k}", t, shape, False, tame=tame))
            self.params.append(Param(f"in{k}", t, shape, 100 + k, tame=tame))
        return arrays

    def add_param(self, name: str, **facts: Any) -> None:
        self.params.append(Param(name, **facts))

    def block(self, indent: int, results: tuple[str, ...]) -> _Block:
        return _Block(indent=indent, results=results)

    def make_vector_arrays(self) -> list[VectorArray]:
        """One or two arrays of vectors or matrices that iterations own, and one to read."""
        rng = self.rng
        made: list[VectorArray] = []
        for k in range(rng.choice([1, 1, 2])):
            element, t = rng.choice([(2,), (3,), (3,), (4,), (2, 2), (2, 3), (3, 3), (7,)]), rng.choice(self.types)
            made.append(VectorArray(f"vec{k}", element, t, SLOTS * 2, True, 2))
            self.params.append(Param(made[-1].name, t, (SLOTS * 2,), 200 + k, tame=rng.random() < 0.5, element=element))
        if rng.random() < 0.4:
            made.append(VectorArray("rest", made[0].shape, made[0].type, 2, False))
            self.params.append(Param("rest", made[0].type, (2,), 300, tame=True, element=made[0].shape))
        return made

    def make_vector_func(self, default: str) -> list[str]:
        w = Writer(self.rng, self.types, default, [_SEVEN])
        w.vector_funcs = self.vector_funcs
        return function(w, f"g{len(self.vector_funcs)}", self.rng)

    def make_scalars(self, default: str) -> list[Var]:
        rng = self.rng
        scalars: list[Var] = []
        for k in range(rng.randint(0, 3)):
            t, value = rng.choice([
                ("i32", rng.choice([0, 1, -1, 5, 100, 2**31 - 1, -(2**31)])),
                ("i64", rng.choice([2**31, -(2**40), 2**63 - 1])),
                ("u64", rng.choice([2**63, 2**64 - 1])),
                ("i32", rng.random() < 0.5),
                (default, rng.choice([0.0, -0.0, 0.1, 1.5, -3.25, 1e30, float("inf"), float("nan")])),
                (default, rng.uniform(-4, 4)),
                (default, rng.uniform(-4, 4)),
            ])  # fmt: skip
            scalars.append(Var(f"s{k}", t))
            self.params.append(Param(f"s{k}", value=value))
        return scalars

    def fresh(self, w: Writer, t: str, mutable: bool = True) -> Var:
        """A new local; functions reuse the names of other functions' locals."""
        taken = {v.name for v in w.variables} | self.used
        free = [n for n in NAMES if n not in taken]
        name = (
            self.rng.choice(free)
            if free and self.rng.random() < 0.3
            else next(f"v{k}" for k in range(999) if f"v{k}" not in taken)
        )
        self.used.add(name)
        return Var(name, t, mutable)

    # -------------------------------------------------------------------------------------------------- functions

    def make_func(self, k: int, default: str, funcs: list[Func]) -> list[str]:
        rng = self.rng
        self.used = set()
        params = [Var(name, rng.choice(self.types)) for name in "abc"[: rng.randint(1, 3)]]
        array = rng.choice(self.types) if rng.random() < 0.3 else ""
        results = tuple(rng.choice(self.types) for _ in range(2 if rng.random() < 0.2 else 1))
        func = Func(f"f{k}", tuple(p.type for p in params), results, array)
        w = Writer(rng, self.types, default, [*params, _SEVEN], [], list(funcs))
        names = [*(["arr", "at"] if array else []), *(p.name for p in params)]
        block = _Block(results=results)
        if array:
            value = f"tack.{array}({w.expr(rng.choice(params).type, 1)})"
            func.atomic = self.has_atomics and rng.random() < 0.5
            block.add(f"tack.atomic_add(arr, at, {value})" if func.atomic else f"arr[at] {rng.choice(['=', '+='])} {value}")
        self.budget = rng.randint(0, 3)
        self.statements(w, block)
        block.add(self.return_text(w, results))
        funcs.append(func)
        return ["", "@tack.func", f"def {func.name}({', '.join(names)}):", *block.lines]

    def return_text(self, w: Writer, results: tuple[str, ...]) -> str:
        return "return " + ", ".join(f"tack.{t}({w.expr(t, 2)})" for t in results)

    # ------------------------------------------------------------------------------------------------ the kernel

    def make_body(self, w: Writer) -> list[str]:
        """The kernel's prologue, loop and final stores."""
        rng = self.rng
        self.used = set()
        top = _Block(in_kernel=True)
        w.slot = "0"
        everything, w.funcs = w.funcs, [f for f in w.funcs if not f.array]  # the prologue stores nothing
        for _ in range(rng.choice([0, 0, 1, 2])):
            local = self.fresh(w, w.any_type())
            top.add(f"{local.name} = tack.{local.type}({w.expr(local.type, 2)})")
            w.variables.append(local)
        for a in [a for a in w.arrays if len(a.shape) == 2][:1]:
            top.add(f"h, w = {a.name}.shape")
            w.variables += [Var("h", "i64"), Var("w", "i64")]
        early = [memory.declaration(self, w) for _ in range(rng.randint(0, 1))] if self.has_local else []
        for _, text in early:
            top.add(text)
        block = self.parallel_loop(w, top)
        w.funcs = everything
        if self.has_atomics:
            w.extra.append(memory.old_value)
            w.statements.append(lambda b, w, block: block.add(memory.accumulate(w, b.accumulators)))
        if self.things:
            w.statements.append(classes.statement)
        if self.has_local:
            w.extra.append(lambda w, t, d: memory.whole_call(w, t, d, self.whole_funcs))
            w.statements.append(memory.local_statement)
        for array, _ in early:
            memory.fill(self, w, block, array)
        for _ in range(rng.randint(1, 3)):
            self.new_local(w, block)
        self.budget = rng.randint(2, 8)
        self.statements(w, block)
        own = [a for a in w.arrays if a.own]
        for k, v in enumerate(v for v in w.variables if v.mutable):
            array = rng.choice([a for a in own if a.type == v.type] or own)
            at = f"{w.slot}, {k % array.width}" if len(array.shape) == 2 else f"{w.slot} * {array.width} + {k % array.width}"
            block.add(f"{array.name}[{at}] = {v.name}")
        for v in w.vectors:
            array = rng.choice(own)
            at = f"{w.slot}, 0" if len(array.shape) == 2 else f"{w.slot} * {array.width}"
            block.add(f"{array.name}[{at}] = {v.name}[{', '.join(str(rng.randrange(n)) for n in v.shape)}]")
        for text in memory.probes(w):
            array = rng.choice(own)
            block.add(f"{w.element(array)} {rng.choice(['=', '+='])} tack.{array.type}({text})")
        for array in own:
            for _ in range(2 if array.type in FLOATS else 1):
                block.add(f"{w.element(array)} = {w.expr(array.type if rng.random() < 0.7 else w.any_type(), 2)}")
        return top.lines

    def parallel_loop(self, w: Writer, top: _Block) -> _Block:
        """Opens the loop; afterwards `w.slot` names the iteration's slot, from 0 to SLOTS - 1."""
        rng = self.rng
        if self.things and rng.random() < 0.4:
            return classes.parallel(w, top, rng.choice(self.things))
        n = rng.choice([1, 4, 5, 6, 7, 8, 9])
        if rng.random() < 0.2:
            h, wide = rng.choice([(2, 3), (3, 3), (1, 5), (4, 2), (0, 4)])
            top.add(f"for i, j in tack.ndindex({h}, {wide}):")
            block = top.inner()
            block.add(f"slot = tack.i64(i * {wide} + j)")
            w.variables += [Var("i", "i64"), Var("j", "i64", False)]
            w.slot = "slot"
            return block
        bound = str(n)
        numbers = [v for v in w.variables if v.type in INTS and v.name in {p.name for p in self.params}]
        if numbers and rng.random() < 0.5:
            v = rng.choice(numbers)
            bound = rng.choice([v.name, "n"])
            top.add(f"{bound} = tack.{v.type}({v.name} % {SLOTS + 1})")
        elif rng.random() < 0.3:
            top.add(f"n = tack.{rng.choice(['i32', 'u8', 'i64'])}({n})")
            bound = "n"
        flat = next((a for a in w.arrays if not a.own and len(a.shape) == 1), None)
        forms = [bound, f"0, {bound}", f"1, {bound}", f"{n}, 0", f"0, {n} - 1", "8, -1, -1", "7, 0, -3", f"0, {bound}, 2"]
        forms += [name for name in w.weak_ints for _ in range(2)]
        if flat is not None:
            forms += [f"{flat.name}.shape[0]", f"len({flat.name})", f"{flat.name}.size - 1"]
        top.add(f"for i in range({rng.choice(forms)}):")
        block = top.inner()
        w.slot = "i"
        if rng.random() < 0.2:
            block.add("slot = tack.i64(i)")
            w.slot = "slot"
        w.variables.append(Var("i", "i64", w.slot != "i"))
        return block

    # ------------------------------------------------------------------------------------------------- statements

    def statements(self, w: Writer, block: _Block) -> None:
        """Statements until the budget is spent; locals made inside are gone afterwards, unless at the outermost level."""
        while self.budget > 0:
            self.budget -= 1
            self.statement(w, block)

    def nested(self, w: Writer, block: _Block, count: int) -> None:
        """A block of `count` statements with a scope of its own."""
        outer, outer_vectors, outer_arrays = list(w.variables), list(w.vectors), (list(w.arrays), w.vector_arrays)
        for _ in range(count):
            self.budget -= 1
            self.statement(w, block)
        w.variables, w.vectors, (w.arrays, w.vector_arrays) = outer, outer_vectors, outer_arrays

    def statement(self, w: Writer, block: _Block) -> None:
        rng = self.rng
        if w.has_vectors and rng.random() < 0.4:
            for line in vectors.statement(w, lambda: self.fresh(w, "i32").name):
                block.add(line)
            return
        if w.statements and rng.random() < 0.3:
            rng.choice(w.statements)(self, w, block)
            return
        simple = [self.new_local, self.assign, self.augment, self.swap, self.two_results, self.call_statement]
        stores = [self.store, self.augmented_store] if w.slot else []
        compound = [self.if_statement, self.for_statement, self.while_statement] if block.indent < 5 else []
        jumps = [self.jump]
        weights = [2, 3, 4, 1, 1, 1] + [4, 3] * bool(stores) + [4, 2, 1] * bool(compound) + [2]
        rng.choices(simple + stores + compound + jumps, weights)[0](w, block)

    def new_local(self, w: Writer, block: _Block) -> None:
        local = self.fresh(w, w.any_type())
        value = w.expr(local.type, 3)
        if self.rng.random() < 0.2:
            block.add(f"{local.name}: tack.{local.type} = {value}")
        else:
            block.add(f"{local.name} = tack.{local.type}({value})")
        w.variables.append(local)

    def assign(self, w: Writer, block: _Block) -> None:
        targets = [v for v in w.variables if v.mutable]
        if not targets:
            return self.new_local(w, block)
        v = self.rng.choice(targets)
        block.add(f"{v.name} = tack.{v.type}({w.expr(v.type if self.rng.random() < 0.7 else w.any_type(), 3)})")

    def augment(self, w: Writer, block: _Block) -> None:
        """Augmented assignment that keeps the local's type."""
        targets = [v for v in w.variables if v.mutable]
        if not targets:
            return self.new_local(w, block)
        v = self.rng.choice(targets)
        block.add(self.augmented(w, v.name, v.type, v.type))

    def augmented(self, w: Writer, target: str, t: str, other: str) -> str:
        """`target op= value`, where the target has type `t` and the value `other`, or is a literal."""
        rng = self.rng
        value = w.literal(t) if rng.random() < 0.15 else w.expr(other, 2)
        if t in FLOATS or other in FLOATS:
            op = rng.choice(["+", "-", "*", "/", "//", "%", "+", "-"])
            if op in "+-" and rng.random() < 0.5:
                value = f"{w.expr(other, 1)} * {w.expr(other, 1)}"
            return f"{target} {op}= {value}"
        op = rng.choice(["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"])
        if op in ("<<", ">>"):
            value = str(rng.randrange(8)) if rng.random() < 0.5 else w.expr(w.int_type(), 1)
        return f"{target} {op}= {value}"

    def store(self, w: Writer, block: _Block) -> None:
        array = self.rng.choice([a for a in w.arrays if a.own])
        t = array.type if self.rng.random() < 0.6 else w.any_type()
        block.add(f"{w.element(array)} = {w.condition(2) if self.rng.random() < 0.05 else w.expr(t, 3)}")

    def augmented_store(self, w: Writer, block: _Block) -> None:
        array = self.rng.choice([a for a in w.arrays if a.own])
        other = array.type if self.rng.random() < 0.6 else w.any_type()
        try:
            common_type(array.type, other)
        except TypeError:
            other = array.type
        block.add(self.augmented(w, w.element(array), array.type, other))

    def swap(self, w: Writer, block: _Block) -> None:
        targets = [v for v in w.variables if v.mutable]
        if len(targets) < 2:
            return
        a, b = self.rng.sample(targets, 2)
        block.add(f"{a.name}, {b.name} = tack.{a.type}({b.name}), tack.{b.type}({w.expr(a.type, 1)})")

    def two_results(self, w: Writer, block: _Block) -> None:
        funcs = [f for f in w.funcs if len(f.results) == 2]
        call = w.call(self.rng.choice(funcs), 1) if funcs else ""
        if call:
            func = next(f for f in funcs if call.startswith(f"{f.name}("))
            locals_ = [self.fresh(w, t) for t in func.results]
            block.add(f"{', '.join(v.name for v in locals_)} = {call}")
            w.variables += locals_

    def call_statement(self, w: Writer, block: _Block) -> None:
        funcs = [f for f in w.funcs if f.array]
        call = w.call(self.rng.choice(funcs), 1) if funcs else ""
        if call:
            block.add(call)

    def if_statement(self, w: Writer, block: _Block) -> None:
        rng = self.rng
        block.add(f"if {w.test(2)}:")
        self.nested(w, self.filled(block), rng.randint(1, 2))
        if rng.random() < 0.25:
            block.add(f"elif {w.test(2)}:")
            self.nested(w, self.filled(block), 1)
        if rng.random() < 0.5:
            block.add("else:")
            self.nested(w, self.filled(block), rng.randint(1, 2))

    def filled(self, block: _Block, loops: int = 0) -> _Block:
        """An inner block that starts with a `pass`: nothing else is certain to be written into it."""
        inner = block.inner(loops)
        inner.add("pass")
        return inner

    def for_statement(self, w: Writer, block: _Block) -> None:
        if block.loops >= 2:
            return
        rng = self.rng
        var = self.fresh(w, "i64", rng.random() < 0.2)
        small = w.small(4)
        step = f"{w.small(5)} - 2"  # a run-time step of either sign; 0 runs nothing
        forms = [small, f"{rng.randint(1, 4)}", f"{small}, 4", f"{w.small(3)} - 2, {w.small(3)}", "3, -1, -1", f"-1, 3, {step}"]
        forms += w.weak_ints
        block.add(f"for {var.name} in range({rng.choice(forms)}):")
        outer = list(w.variables)
        w.variables.append(var)
        self.nested(w, self.filled(block, 1), rng.randint(1, 3))
        w.variables = outer

    def while_statement(self, w: Writer, block: _Block) -> None:
        """A counter ends the loop; it is raised first, so that `continue` cannot miss it."""
        if block.loops >= 2:
            return
        rng = self.rng
        counter = self.fresh(w, rng.choice(["i32", "u8", "i64"]), False)
        limit = rng.randint(1, 4)
        block.add(f"{counter.name} = tack.{counter.type}(0)")
        w.variables.append(counter)
        inner = block.inner(1)
        if rng.random() < 0.3:
            block.add("while True:")
            inner.add(f"if {counter.name} >= {limit}:")
            inner.add("    break")
        else:
            block.add(f"while {counter.name} < {limit} and {w.condition(2)}:")
        inner.add(f"{counter.name} += 1")
        self.nested(w, inner, rng.randint(1, 3))

    def jump(self, w: Writer, block: _Block) -> None:
        choices = (["break", "continue"] if block.loops else []) + (["continue"] if block.in_kernel and not block.loops else [])
        if block.results is not None:
            choices.append(self.return_text(w, block.results))
        if choices:
            block.add(f"if {w.test(2)}:")
            block.add(f"    {self.rng.choice(choices)}")
