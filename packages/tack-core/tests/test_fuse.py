"""E5: which sums become an fma, and which do not. Values are shown to be libm's by the conformance suite."""

import pytest
from typed_tools import annotated, compiled, nodes, operations

from tack.ir.fuse import fuse
from tack.ir.nodes import IRStore
from tack.ir.printer import print_expr
from tack.ir.types import f64
from tack.testing import define

TYPES = {"a": "f32[]", "b": "f32[]", "c": "f32[]", "d": "f64[]", "m": "i32[]", "out": "f32[]"}


def fused(text, types=None, default=None, **more):
    """The value of the one store after fuse, with short names."""
    func = fuse(annotated(f"out[i] = {text}", types or TYPES, *([default] if default else []), **more))
    (store,) = nodes(func, IRStore)
    shown = print_expr(store.value)
    for name in "abcdm":
        shown = shown.replace(f"{name}[i]", name)
    return shown.replace(".f32", "").replace(":f32", "")


FUSED = {
    "a[i] * b[i] + c[i]": "fma(a, b, c)",
    "c[i] + a[i] * b[i]": "fma(a, b, c)",
    "a[i] * b[i] - c[i]": "fma(a, b, neg(c))",
    "c[i] - a[i] * b[i]": "fma(neg(a), b, c)",
    "-(a[i] * b[i]) + c[i]": "fma(neg(a), b, c)",
    "c[i] + -(a[i] * b[i])": "fma(neg(a), b, c)",
    "-(a[i] * b[i]) - c[i]": "fma(neg(a), b, neg(c))",
    "c[i] - -(a[i] * b[i])": "fma(a, b, c)",
    "(-a[i]) * b[i] + c[i]": "fma(neg(a), b, c)",
    "((a[i]) * (b[i])) + (c[i])": "fma(a, b, c)",
    "a[i] * b[i] * c[i] + a[i]": "fma((a * b), c, a)",
    "a[i] * b[i] + c[i] + a[i]": "(fma(a, b, c) + a)",
    "a[i] * (b[i] * c[i] + a[i]) + b[i]": "fma(a, fma(b, c, a), b)",
    "2 * a[i] + 1": "fma(2.0, a, 1.0)",
    "m[i] * a[i] + b[i]": "fma(f32(m), a, b)",
    "a[i] * a[i] + 0.5": "fma(a, a, 0.5)",
    "a[i] * b[i] + c[i] * a[i] + b[i] * c[i]": "fma(b, c, ((a * b) + (c * a)))",
}
KEPT = {
    "a[i] * b[i] - c[i] * a[i]": "((a * b) - (c * a))",
    "a[i] * b[i] + -(c[i] * a[i])": "((a * b) + neg((c * a)))",
    "- -(a[i] * b[i]) + c[i]": "(neg(neg((a * b))) + c)",
    "a[i] ** 2 + c[i]": "(powi(a, 2:i32) + c)",
    "(a[i] * b[i]) ** 1 + c[i]": "(powi((a * b), 1:i32) + c)",
    "tack.f32(a[i] * b[i]) + c[i]": "(f32((a * b)) + c)",
    "float(a[i] * b[i]) + c[i]": "(f32((a * b)) + c)",
    "abs(a[i] * b[i]) + c[i]": "(abs((a * b)) + c)",
    "(a[i] * b[i] if i else c[i]) + c[i]": "(((a * b) if bool(i) else c) + c)",
    "a[i] * b[i] / c[i] + a[i]": "(((a * b) / c) + a)",
    "m[i] * m[i] + m[i]": "f32(((m *.i32 m) +.i32 m))",
    "a[i] * b[i] + d[i]": "f32((f64((a * b)) +.f64 d))",
    "m[i] * m[i] + a[i]": "(f32((m *.i32 m)) + a)",
    "a[i] * b[i] > c[i] + a[i]": "f32(((a * b) > (c + a)))",
}


@pytest.mark.rule("E5")
@pytest.mark.parametrize(("text", "want"), (FUSED | KEPT).items(), ids=FUSED | KEPT)
def test_what_becomes_an_fma(text, want):
    assert fused(text) == want


@pytest.mark.rule("E5")
def test_products_through_locals_and_calls_are_not_fused():
    assert not operations(compiled("t = a[i] * b[i]\nout[i] = t + c[i]", TYPES), "fma")
    names = define("@tack.func\ndef prod(x, y):\n    return x * y\n@tack.func\ndef add(x, y):\n    return x + y\n")
    names = {name: names[name] for name in ("prod", "add")}
    assert not operations(compiled("out[i] = prod(a[i], b[i]) + c[i]", TYPES, **names), "fma")
    assert not operations(compiled("out[i] = add(a[i] * b[i], c[i])", TYPES, **names), "fma")
    assert operations(compiled("out[i] = prod(a[i], b[i]) * c[i] + a[i]", TYPES, **names), "fma")


@pytest.mark.rule("E5", "E2")
def test_augmented_assignment_is_fused():
    for body in ("out[i] += a[i] * b[i]", "out[i] -= a[i] * b[i]", "t = a[i]\nt += b[i] * c[i]\nout[i] = t"):
        assert len(operations(compiled(body, TYPES), "fma")) == 1
    assert not operations(compiled("out[i] *= a[i] + b[i]", TYPES), "fma")


@pytest.mark.rule("E5")
def test_a_target_without_fma_gets_none():
    func = compiled("out[i] = a[i] * b[i] + c[i]", TYPES, fma=False)
    assert not operations(func, "fma") and not func.fma
    assert operations(func, "add") and operations(func, "mul")


@pytest.mark.rule("E5")
def test_literals_take_part_as_what_they_are():
    types = {"d": "f64[]", "out": "f64[]"}
    func = compiled("out[i] = 0.1 * d[i] + 0.3\nout[i] = 2.0 * 3.0 + d[i]", types, f64)
    assert len(operations(func, "fma")) == 1  # the product of literals is a literal
    func = compiled("out[i] = tack.f64(2) * tack.f64(3) + d[i]", types, f64)
    assert len(operations(func, "fma")) == 1  # that of typed values is a product


@pytest.mark.rule("E5")
def test_nothing_to_fuse_is_the_same_object():
    func = annotated("out[i] = a[i] + b[i]", TYPES)
    assert fuse(func) is func
