"""Random bodies over all types, most of them odd: each is typed and verified, or refused with its place; and `optimize` keeps
their meaning, bit for bit, and leaves nothing for a second turn."""

import random

import numpy as np
import pytest
from typed_tools import TYPES, annotated

from tack.ir.fuse import fuse
from tack.ir.interpret import interpret
from tack.ir.optimize import optimize
from tack.ir.verify import verify_ir
from tack.testing import define

FUNCS = define("""
    @tack.func
    def pick(a, b, c):
        if a > b:
            return c
        if a == 0:
            return 1
        return b

    @tack.func
    def lit(a):
        if a > 0:
            return 0.25
        return 3

    @tack.func
    def grow(a, b):
        while a > 0 and a < 5:
            a = a + 1
            if a > b:
                return a
        return b
""")
FUNCS = {name: FUNCS[name] for name in ("pick", "lit", "grow")}
LEAVES = "a[i] b[i] c[i] i n x 0 1 -1 255 3000000000 0.5 1e10 True (i>1) ((2)if(i)else(300))".split()
FORMS = [f"({{}} {op} {{}})" for op in "+ - * / // % & | ^ < > <= == != <<".split()]
FORMS += [f"tack.{name}({{}})" for name in TYPES]
FORMS += (
    """
    ({} if {} else {}); -{}; ~{}; (not {}); min({}, {}, {}); ({} << 1); ({} >> k); ({} ** 2); ({} ** -1); int({}); float({})
    sqrt({}); abs({}); select({}, {}, {}); pick({}, {}, {}); lit({}); grow({}, {})
""".strip()
    .replace("\n", ";")
    .split(";")
)
STATEMENTS = ["if {}:\n    @ = {}\nelse:\n    @ = {}", "for q in range(2):\n    @ = {}", "@ = {}", "out[i] = {}", "@ += {}"]
REFUSALS = (TypeError, ValueError, IndexError, ZeroDivisionError)


def body(rng):
    locals = []

    def expr(depth):
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(LEAVES + locals * 4)
        form = rng.choice(FORMS)
        return form.strip().format(*(expr(depth - 1) for _ in range(form.count("{}"))))

    lines = []
    for name in "tuv":
        lines.append(f"{name} = {expr(1)}")
        locals.append(name)
    for _ in range(rng.randrange(1, 5)):
        text = rng.choice(STATEMENTS)
        while "@" in text:
            text = text.replace("@", rng.choice(locals), 1)
        lines.append(text.format(*(expr(2) for _ in range(text.count("{}")))))
    return "\n".join([*lines, "out[i] = t + u * v"])


def values(rng, name):
    t = TYPES[name.partition("[")[0]]
    found = rng.integers(0, 200, 4) if t.is_int else rng.normal(size=4) * 3
    return found.astype(t.numpy)


@pytest.mark.rule("T2", "T2b", "T3", "T7", "T8", "E5")
@pytest.mark.parametrize("seed", range(8))
def test_random_bodies(seed):
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    ran, places = 0, []
    for _ in range(60):
        text = body(rng)
        types = {name: rng.choice(list(TYPES)) + "[]" for name in ("a", "b", "c", "out")}
        default = "f64" if "f64[]" in types.values() else "f32"
        types |= {"x": rng.choice(["i32", "i64", "u64", default]), "k": "i32"}
        try:
            typed = annotated(text, types, TYPES[default], **FUNCS)
        except REFUSALS as error:
            places.append(error.diagnostic.span)
            continue
        verify_ir(typed, "typed")
        fused = fuse(typed)
        verify_ir(fused, "typed")
        smaller = optimize(fused)
        verify_ir(smaller, "typed")
        assert optimize(smaller) == smaller, text
        results = []
        given = {name: values(numbers, types[name]) for name in "abc"}
        for func in (fused, smaller):
            out = np.arange(4).astype(TYPES[types["out"][:-2]].numpy)
            interpret(func, [*given.values(), out, 3, 2, 4])
            results.append(out)
        np.testing.assert_array_equal(*results, err_msg=text)
        zeros = [np.signbit(out[out == 0]) for out in results]
        np.testing.assert_array_equal(*zeros, err_msg=text)
        ran += 1
    assert ran > 12 and all(places)
