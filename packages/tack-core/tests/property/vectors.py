"""Random expressions and statements of vectors and matrices: every one has exactly the components and the type asked for.

A shape is written as (n,) or (rows, cols), as NumPy has it. Adds to `expressions.Writer`; knows nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from property.expressions import Writer

INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")
LETTERS = "xyzw"
_SHORT = {"f32": "", "f64": "d", "i32": "i", "u32": "u"}
Shape = tuple[int, ...]


@dataclass
class VectorVar:
    """A local of several components."""

    name: str
    shape: Shape
    type: str


@dataclass
class VectorArray:
    """An array parameter whose elements have components; `own`: each iteration has `width` elements of its own."""

    name: str
    shape: Shape
    type: str
    length: int
    own: bool
    width: int = 0
    local: bool = False


def type_text(w: Writer, shape: Shape, t: str) -> str:
    """A vector or matrix type, by its short name or in full."""
    if len(shape) == 1:
        short = t in _SHORT and shape[0] <= 4 and w.rng.random() < 0.5
        return f"tack.{_SHORT[t]}vec{shape[0]}" if short else f"tack.vec({shape[0]}, tack.{t})"
    short = t == "f32" and shape[0] == shape[1] and w.rng.random() < 0.5
    return f"tack.mat{shape[0]}" if short else f"tack.mat({shape[0]}, {shape[1]}, tack.{t})"


def vector(w: Writer, shape: Shape, t: str, d: int) -> str:
    """An expression of a vector or matrix of type `t`, at most `d` deep."""
    if d <= 0 or w.rng.random() < 0.2:
        return leaf(w, shape, t)
    forms = list(_FORMS) + (_VECTOR_FORMS if len(shape) == 1 else _MATRIX_FORMS)
    forms += _FLOAT_FORMS if t in FLOATS else _INT_FORMS
    return w.rng.choice(forms)(w, shape, t, d - 1) or leaf(w, shape, t)


def leaf(w: Writer, shape: Shape, t: str) -> str:
    """A variable, an element, or a value made of scalars."""
    found = [v.name for v in w.vectors if v.shape == shape and v.type == t]
    loads = [a for a in w.vector_arrays if a.shape == shape and a.type == t] if w.slot else []
    if loads and w.rng.random() < 0.4:
        return element(w, w.rng.choice(loads))
    return w.rng.choice(found) if found and w.rng.random() < 0.8 else construct(w, shape, t, 0)


def construct(w: Writer, shape: Shape, t: str, d: int) -> str:
    """A constructor's call."""
    if len(shape) == 2:
        rows = ", ".join(f"[{', '.join(w.expr(t, d) for _ in range(shape[1]))}]" for _ in range(shape[0]))
        return f"{type_text(w, shape, t)}({f'[{rows}]' if w.rng.random() < 0.3 else rows})"
    (n,) = shape
    other = w.any_type()
    if w.rng.random() < 0.2:
        return f"{type_text(w, shape, t)}({w.expr(other, d)})"
    if n > 2 and w.rng.random() < 0.3:
        parts = [vector(w, (n - 1,), other, d), w.expr(t, d)]
        w.rng.shuffle(parts)
        return f"{type_text(w, shape, t)}({', '.join(parts)})"
    return f"{type_text(w, shape, t)}({', '.join(w.expr(t if w.rng.random() < 0.8 else other, d) for _ in range(n))})"


def element(w: Writer, array: VectorArray) -> str:
    """An element that this iteration may read, and write if the array is its own."""
    if not array.own:
        return f"{array.name}[{w.small(array.length)}]"
    return f"{array.name}[{w.slot} * {array.width} + {w.small(array.width)}]"


def component(w: Writer, shape: Shape) -> str:
    """What names one component, to be written after a value: `.x`, `[1]`, `[0, k % 2]`."""
    rng = w.rng
    if len(shape) == 1 and rng.random() < 0.5:
        return f".{rng.choice(LETTERS[: shape[0]])}"
    return f"[{', '.join(w.small(n) if rng.random() < 0.4 else str(rng.randrange(n)) for n in shape)}]"


def shape_of(w: Writer) -> Shape:
    """A shape, the more often the more there is of it."""
    known = [v.shape for v in (*w.vectors, *w.vector_arrays)]
    return w.rng.choice(known) if known and w.rng.random() < 0.8 else w.rng.choice([(2,), (3,), (4,), (2, 2), (3, 3), (2, 3)])


def known(w: Writer, dims: int = 0) -> tuple[Shape, str] | None:
    """The shape and type of a variable or array, of so many dimensions if any."""
    found = [(v.shape, v.type) for v in (*w.vectors, *w.vector_arrays) if not dims or len(v.shape) == dims]
    return w.rng.choice(found) if found else None


# ------------------------------------------------------------------------------------------------------ vector forms

Form = Callable[[Any, Shape, str, int], str]


def _operand(w: Writer, shape: Shape, t: str, d: int) -> str:
    """A value beside a vector of type `t` in an operation of that type: a vector, a number, or literals."""
    kind = w.rng.random()
    if kind < 0.55:
        return vector(w, shape, t, d)
    if kind < 0.75:
        return w.expr(t, d)
    if kind < 0.9 or len(shape) == 2:
        return w.literal(t)
    return f"[{', '.join(w.literal(t) for _ in range(shape[0]))}]"


def _pair(w: Writer, shape: Shape, t: str, d: int) -> tuple[str, str]:
    if w.rng.random() < 0.2:
        a, b = w.pair(t)
        return vector(w, shape, a, d), vector(w, shape, b, d) if w.rng.random() < 0.6 else w.expr(b, d)
    pair = vector(w, shape, t, d), _operand(w, shape, t, d)
    return pair if w.rng.random() < 0.6 else pair[::-1]


def _arith(w: Writer, shape: Shape, t: str, d: int) -> str:
    a, b = _pair(w, shape, t, d)
    return f"({a} {w.rng.choice(['+', '-', '*', '//', '%'])} {b})"


def _unary(w: Writer, shape: Shape, t: str, d: int) -> str:
    return w.rng.choice(["(-{})", "abs({})"]).format(vector(w, shape, t, d))


def _extreme(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{w.rng.choice(['min', 'max'])}({vector(w, shape, t, d)}, {_operand(w, shape, t, d)})"


def _cast(w: Writer, shape: Shape, t: str, d: int) -> str:
    inner = vector(w, shape, w.any_type(), d)
    return f"tack.{t}({inner})" if w.rng.random() < 0.7 or len(shape) == 2 else f"{type_text(w, shape, t)}({inner})"


def _conditional(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"({vector(w, shape, t, d)} if {w.test(min(d, 1))} else {vector(w, shape, t, d)})"


def mask(w: Writer, shape: Shape, d: int) -> str:
    """A mask."""
    t = w.any_type()
    a, b = _pair(w, shape, t, d)
    text = f"({a} {w.rng.choice(['<', '<=', '>', '>=', '==', '!='])} {b})"
    kind = w.rng.random()
    if kind < 0.15 and d > 0:
        return f"({text} {w.rng.choice('&|')} {mask(w, shape, d - 1)})"
    return f"(not {text})" if kind > 0.9 else text


def _select(w: Writer, shape: Shape, t: str, d: int) -> str:
    test = mask(w, shape, d) if w.rng.random() < 0.7 else w.condition(min(d, 1))
    return f"tack.select({test}, {vector(w, shape, t, d)}, {_operand(w, shape, t, d)})"


def _swizzle(w: Writer, shape: Shape, t: str, d: int) -> str:
    n = w.rng.choice([2, 3, 4])
    if shape[0] > len(LETTERS):
        return ""
    return f"{vector(w, (n,), t, d)}.{''.join(w.rng.choices(LETTERS[:n], k=shape[0]))}"


def _cross(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{vector(w, shape, t, d)}.cross({vector(w, shape, t, d)})" if shape == (3,) else ""


def _matrix_times_vector(w: Writer, shape: Shape, t: str, d: int) -> str:
    k = w.rng.choice([2, 3])
    if shape[0] > 4:
        return ""
    if w.rng.random() < 0.5:
        return f"({vector(w, (k,), t, d)} @ {vector(w, (k, shape[0]), t, d)})"
    return f"({vector(w, (shape[0], k), t, d)} @ {vector(w, (k,), t, d)})"


def _matrices(w: Writer, shape: Shape, t: str, d: int) -> str:
    k = w.rng.choice([2, 3])
    return f"({vector(w, (shape[0], k), t, d)} @ {vector(w, (k, shape[1]), t, d)})"


def _transpose(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{vector(w, shape[::-1], t, d)}.transpose()"


def _outer(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{vector(w, shape[:1], t, d)}.outer({vector(w, shape[1:], t, d)})"


def _inverse(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{vector(w, shape, t, d)}.inverse()" if shape in ((2, 2), (3, 3)) else ""


def _fusible(w: Writer, shape: Shape, t: str, d: int) -> str:
    """Sums with products, of vectors and numbers: rule E5."""
    a, b, c = vector(w, shape, t, d), _operand(w, shape, t, d), _operand(w, shape, t, d)
    if w.rng.random() < 0.3:
        a, b, c = w.expr(t, d), w.expr(t, d), vector(w, shape, t, d)  # a number's product beside a vector
    forms = ["{a} * {b} + {c}", "{c} + {a} * {b}", "{c} - {a} * {b}", "{a} * {b} - {c}", "-({a} * {b}) + {c}",
             "{c} - -({a} * {b})", "{a} * {b} - {a} * {c}"]  # fmt: skip
    return f"({w.rng.choice(forms).format(a=a, b=b, c=c)})"


def _quotient(w: Writer, shape: Shape, t: str, d: int) -> str:
    a, b = _pair(w, shape, t, d)
    return f"({a} / {b})"


def _rounding(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{w.rng.choice(['floor', 'ceil', 'trunc', 'round', 'sqrt', 'math.floor'])}({vector(w, shape, t, d)})"


def _normalized(w: Writer, shape: Shape, t: str, d: int) -> str:
    return f"{vector(w, shape, t, d)}.normalized()" if len(shape) == 1 else ""


def _bits(w: Writer, shape: Shape, t: str, d: int) -> str:
    if w.rng.random() < 0.2:
        return f"(~{vector(w, shape, t, d)})"
    if w.rng.random() < 0.3:
        return f"({vector(w, shape, t, d)} {w.rng.choice(['<<', '>>'])} {w.rng.randrange(8)})"
    a, b = _pair(w, shape, t, d)
    return f"({a} {w.rng.choice('&|^')} {b})"


_FORMS: list[Form] = [_arith, _arith, _unary, _extreme, _cast, _conditional, _select]
_VECTOR_FORMS: list[Form] = [_swizzle, _swizzle, _cross, _matrix_times_vector, lambda w, s, t, d: construct(w, s, t, d)]
_MATRIX_FORMS: list[Form] = [_matrices, _transpose, _outer]
_FLOAT_FORMS: list[Form] = [_fusible, _fusible, _quotient, _rounding, _normalized, _inverse]
_INT_FORMS: list[Form] = [_bits, _bits]

# ------------------------------------------------------------------------------------------- numbers made of vectors


def number(w: Writer, t: str, d: int) -> str:
    """A number of type `t` made of a vector or matrix; "" if the program has none."""
    if not w.vectors and not w.vector_arrays:
        return ""
    shape = shape_of(w)
    value = vector(w, shape, t, min(d, 2))
    forms = [f"{value}{component(w, shape)}"] * 3 + [f"{value}.{w.rng.choice(['sum', 'min', 'max', 'norm_sqr'])}()"]
    if len(shape) == 1:
        other = vector(w, shape, t, 1)
        forms += [f"{value}.dot({other})", f"({value} @ {other})"]
        forms += [f"{value}.cross({other})"] if shape == (2,) else []
    elif shape[0] == shape[1]:
        forms += [f"{value}.{w.rng.choice(['trace', 'determinant'])}()"]
    forms += [f"{value}.norm()"] if t in FLOATS else []
    return w.rng.choice(forms)


def truth(w: Writer, d: int) -> str:
    """A truth value made of a mask."""
    return f"{w.rng.choice(['any', 'all'])}({mask(w, shape_of(w), d)})"


# -------------------------------------------------------------------------------------------------------- statements


def statement(w: Writer, fresh: Callable[[], str]) -> list[str]:
    """One statement about vectors, as lines; `fresh` gives the name of a new local."""
    rng = w.rng
    own = [a for a in w.vector_arrays if a.own] if w.slot else []
    makers = [_new, _new, _assign, _component_store, _swap, *([_store, _element_component] if own else [])]
    return rng.choice(makers)(w, fresh)


def _typed(w: Writer, shape: Shape, t: str, text: str) -> str:
    return f"tack.{t}({text})"


def _new(w: Writer, fresh: Callable[[], str]) -> list[str]:
    shape, t = shape_of(w), w.any_type()
    value, name = vector(w, shape, t, 2), fresh()
    w.vectors.append(VectorVar(name, shape, t))
    if w.rng.random() < 0.2:
        full = f"tack.{_SHORT[t]}vec{shape[0]}" if t in _SHORT and len(shape) == 1 and shape[0] <= 4 else ""
        return [f"{name}: {full} = {value}"] if full else [f"{name} = {value}"]
    return [f"{name} = {_typed(w, shape, t, value)}"]


def _assign(w: Writer, fresh: Callable[[], str]) -> list[str]:
    if not w.vectors:
        return _new(w, fresh)
    v = w.rng.choice(w.vectors)
    if w.rng.random() < 0.5:
        return [f"{v.name} = {_typed(w, v.shape, v.type, vector(w, v.shape, w.any_type(), 2))}"]
    value = _operand(w, v.shape, v.type, 2)
    if v.type in FLOATS and w.rng.random() < 0.4:
        value = f"{vector(w, v.shape, v.type, 1)} * {_operand(w, v.shape, v.type, 1)}"
    return [f"{v.name} {w.rng.choice(['+', '-', '*'])}= {value}"]


def _augmented(w: Writer, place: str, t: str) -> str:
    if w.rng.random() < 0.5:
        return f"{place} = tack.{t}({w.expr(w.any_type(), 2)})"
    value = f"{w.expr(t, 1)} * {w.expr(t, 1)}" if t in FLOATS and w.rng.random() < 0.4 else w.expr(t, 2)
    return f"{place} {w.rng.choice(['+', '-', '*'])}= {value}"


def _component_store(w: Writer, fresh: Callable[[], str]) -> list[str]:
    if not w.vectors:
        return _new(w, fresh)
    v = w.rng.choice(w.vectors)
    return [_augmented(w, f"{v.name}{component(w, v.shape)}", v.type)]


def _swap(w: Writer, fresh: Callable[[], str]) -> list[str]:
    found = [(a, b) for a in w.vectors for b in w.vectors if a is not b and (a.shape, a.type) == (b.shape, b.type)]
    if not found:
        return _assign(w, fresh)
    a, b = w.rng.choice(found)
    if w.rng.random() < 0.5 or len(a.shape) == 2:
        return [f"{a.name}, {b.name} = {b.name}, {a.name}"]
    return [f"{a.name}.x, {a.name}.y = {a.name}.y, {b.name}.x"]


def _store(w: Writer, fresh: Callable[[], str]) -> list[str]:
    array = w.rng.choice([a for a in w.vector_arrays if a.own])
    place = element(w, array)
    kind = w.rng.random()
    if kind < 0.2:
        return [f"{place} = {w.expr(w.any_type(), 2)}"]  # every component
    if kind < 0.7:
        return [f"{place} = {vector(w, array.shape, array.type if kind < 0.5 else w.any_type(), 2)}"]
    return [f"{place} {w.rng.choice(['+', '-', '*'])}= {_operand(w, array.shape, array.type, 2)}"]


def _element_component(w: Writer, fresh: Callable[[], str]) -> list[str]:
    array = w.rng.choice([a for a in w.vector_arrays if a.own])
    return [_augmented(w, f"{element(w, array)}{component(w, array.shape)}", array.type)]


def function(w: Writer, name: str, rng: Any) -> list[str]:
    """A device function of a vector and a number, which changes its own copy of the vector."""
    shape, t = w.rng.choice([(2,), (3,), (2, 2)]), w.any_type()
    w.vectors, w.variables = [VectorVar("v", shape, t)], [*w.variables, type(w.variables[0])("s", t)]
    lines = [f"    v{component(w, shape)} = tack.{t}({w.expr(w.any_type(), 1)})"] if rng.random() < 0.5 else []
    if rng.random() < 0.4:
        lines += [f"    if {w.condition(1)}:", f"        return tack.{t}({vector(w, shape, t, 1)})"]
    lines.append(f"    return tack.{t}({vector(w, shape, t, 2)})")
    w.vector_funcs.append((name, shape, t))
    return ["", "@tack.func", f"def {name}(v, s):", *lines]


def call(w: Writer, shape: Shape, t: str, d: int) -> str:
    """A call of a device function of vectors."""
    found = [f for f in w.vector_funcs if f[1:] == (shape, t)]
    return f"{w.rng.choice(found)[0]}({vector(w, shape, t, d)}, tack.{t}({w.expr(t, d)}))" if found else ""


_FORMS += [call]
