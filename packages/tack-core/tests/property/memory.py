"""Local arrays and atomics in random programs (rules M5, A1).

Local arrays are written before they are read. Iterations share accumulators, each with one operation that may come in any order
and of which no old value is used; in an iteration's own elements any atomic may stand, and its old value counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from property.expressions import FLOATS, ArrayParam, Writer
from property.vectors import VectorArray, component, element, shape_of, type_text, vector

if TYPE_CHECKING:
    from property.generator import _Block, _Builder

OPS = ("add", "min", "max")


# ------------------------------------------------------------------------------------------------------ local arrays


def declaration(b: _Builder, w: Writer) -> tuple[ArrayParam, str]:
    """A new local array, and the statement that declares it."""
    shape = w.rng.choice([(1,), (2,), (3,), (4,), (5,), (2, 2), (2, 3)])
    t = w.any_type()
    array = ArrayParam(b.fresh(w, t, False).name, t, shape, False, shape[0], local=True)
    text = "FIVE" if shape == (5,) else str(shape[0] if len(shape) == 1 else shape)
    return array, f"{array.name} = tack.local_array(tack.{t}, {text})"


def fill(b: _Builder, w: Writer, block: _Block, array: ArrayParam) -> None:
    """Writes every element; afterwards the array may be read."""
    outer = list(w.variables)
    inner, at = block, []
    for k, n in enumerate(array.shape):
        if len(array.shape) == 1 and w.rng.random() < 0.2:
            for place in w.rng.sample(range(n), n):
                block.add(f"{array.name}[{place}] = {w.expr(array.type, 1)}")
            break
        var = b.fresh(w, "i64", False)
        inner.add(f"for {var.name} in range({w.rng.choice([str(n), f'{array.name}.shape[{k}]', f'{n - 1}, -1, -1'])}):")
        inner = inner.inner()
        w.variables.append(var)
        at.append(var.name)
    else:
        inner.add(f"{array.name}[{', '.join(at)}] = {w.expr(array.type if w.rng.random() < 0.7 else w.any_type(), 2)}")
    w.variables = outer
    w.arrays.append(array)


def declare(b: _Builder, w: Writer, block: _Block) -> None:
    """Declares and fills a local array."""
    shape = shape_of(w) if w.has_vectors and w.rng.random() < 0.5 else ()
    if len(shape) == 1:
        declare_vectors(b, w, block, shape)
        return
    array, text = declaration(b, w)
    block.add(text)
    fill(b, w, block, array)


def declare_vectors(b: _Builder, w: Writer, block: _Block, shape: tuple[int, ...]) -> None:
    """The same with elements that are vectors."""
    t, n = w.any_type(), w.rng.randint(1, 3)
    array = VectorArray(b.fresh(w, t, False).name, shape, t, n, False, local=True)
    block.add(f"{array.name} = tack.local_array({type_text(w, shape, t)}, {n})")
    for k in w.rng.sample(range(n), n):
        block.add(f"{array.name}[{k}] = {vector(w, shape, t, 1)}")
    w.vector_arrays = [*w.vector_arrays, array]


def vector_statement(w: Writer, block: _Block, array: VectorArray) -> None:
    """Changes an element of a local array of vectors, or a component of one."""
    place, t = element(w, array), array.type
    if w.rng.random() < 0.4:
        place, value = f"{place}{component(w, array.shape)}", w.expr(t, 2)
    else:
        value = vector(w, array.shape, t, 2)
    block.add(f"{place} {w.rng.choice(['=', '+=', '-='])} {value}")


def local_statement(b: _Builder, w: Writer, block: _Block) -> None:
    """Changes elements of a local array, or declares one."""
    rng = w.rng
    found = [a for a in w.arrays if a.local]
    vectors = [a for a in w.vector_arrays if a.local]
    if vectors and rng.random() < 0.5:
        vector_statement(w, block, rng.choice(vectors))
        return
    if not found or (len(found) < 4 and rng.random() < 0.15):
        declare(b, w, block)
        return
    array = rng.choice(found)
    name, t, n = array.name, array.type, array.shape[0]
    kind = rng.random()
    if kind < 0.35:
        block.add(f"{w.element(array)} = {w.expr(t if rng.random() < 0.6 else w.any_type(), 3)}")
    elif kind < 0.6:
        block.add(b.augmented(w, w.element(array), t, t))
    elif kind < 0.75:
        block.add(f"{w.element(array)}, {w.element(array)} = {w.element(array)}, tack.{t}({w.element(rng.choice(found))})")
    elif len(array.shape) == 1:
        var = b.fresh(w, "i64", False).name
        forms = [f"{name}[{var} - 1]", f"{name}[{n - 1} - {var}]", f"{name}[{var}] * {name}[0]", w.element(array)]
        block.add(f"for {var} in range(1, len({name})):")
        block.add(f"    {name}[{var}] {rng.choice(['=', '+=', '-='])} {rng.choice(forms)}")


def probes(w: Writer) -> list[str]:
    """Elements of every local array in scope, for the program to show at its end."""
    found = [f"{a.name}[{', '.join(str(w.rng.randrange(n)) for n in a.shape)}]" for a in w.arrays if a.local]
    vectors = [f"{element(w, a)}{component(w, a.shape)}" for a in w.vector_arrays if a.local]
    return [*found, *vectors]


def whole_function(b: _Builder, w: Writer, name: str) -> list[str]:
    """A device function that goes through a local array, changes it, and may leave early."""
    rng, t = w.rng, w.any_type()
    array = ArrayParam("arr", t, (1,), False, 1)
    b.used = set()
    w.variables += [type(w.variables[0])("v", t), type(w.variables[0])("total", t)]
    lines = [f"    total = tack.{t}(v)", f"    for k in range({rng.choice(['arr.shape[0]', 'len(arr)', 'arr.size'])}):"]
    if rng.random() < 0.6:
        lines += [f"        if {w.condition(1)}:", f"            {rng.choice(['return total', 'break', 'continue'])}"]
    if rng.random() < 0.6:
        lines += [f"        arr[k] {rng.choice(['=', '+=', '-='])} {w.expr(t, 1)}"]
    lines += [f"        total = tack.{t}(total {rng.choice('+-*')} arr[k])", f"    return tack.{t}({w.expr(t, 1)})"]
    b.whole_funcs.append((name, array.type))
    return ["", "@tack.func", f"def {name}(arr, v):", *lines]


def whole_call(w: Writer, t: str, d: int, funcs: list[tuple[str, str]]) -> str:
    """A call of such a function; "" if none serves."""
    found = [(name, a.name) for name, s in funcs for a in w.arrays if a.local and a.type == s == t and len(a.shape) == 1]
    return "{}({}, {})".format(*w.rng.choice(found), w.expr(t, d)) if found else ""


# ----------------------------------------------------------------------------------------------------------- atomics


def make_accumulators(b: _Builder) -> list[tuple[ArrayParam, str]]:
    """Parameters that iterations share, each with the operation that all of them use on it."""
    made: list[tuple[ArrayParam, str]] = []
    for k in range(b.rng.choice([1, 1, 2])):
        t, op = b.rng.choice(b.types), b.rng.choice(OPS)
        shape = b.rng.choice([(1,), (2,), (4,), (2, 2)])
        made.append((ArrayParam(f"acc{k}", t, shape, False), op))
        b.add_param(f"acc{k}", type=t, shape=shape, buffer=400 + k, tame=True, whole=True)
    return made


def accumulate(w: Writer, accumulators: list[tuple[ArrayParam, str]]) -> str:
    """A statement that updates an accumulator; sums of floats are exact, so that no order is better than another."""
    rng = w.rng
    array, op = rng.choice(accumulators)
    if array.type in FLOATS and op == "add":
        value = f"tack.i8({w.expr(w.any_type(), 2)})" if rng.random() < 0.8 else w.condition(1)
    else:
        value = w.expr(array.type if rng.random() < 0.5 else w.any_type(), 2) if rng.random() < 0.9 else w.literal(array.type)
    at = ", ".join(w.small(n) for n in array.shape)
    return f"tack.atomic_{op}({array.name}, {at if len(array.shape) == 1 else f'({at})'}, {value})"


def old_value(w: Writer, t: str, d: int) -> str:
    """An atomic on an element of the iteration's own, for its old value; "" if no array has the type."""
    own: list[Any] = [a for a in w.arrays if a.own and a.type == t]
    if not own or not w.slot:
        return ""
    array = w.rng.choice(own)
    at = w.element(array).removeprefix(f"{array.name}[")[:-1]
    other = w.any_type()
    value = w.expr(t if w.rng.random() < 0.6 else other, d) if w.rng.random() < 0.85 else w.literal(t)
    return f"tack.atomic_{w.rng.choice(OPS)}({array.name}, {at if len(array.shape) == 1 else f'({at})'}, {value})"
