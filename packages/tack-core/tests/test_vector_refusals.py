"""What is refused of vectors: each mistake with its place, the words that say why, and nothing stored (V1, V2)."""

import pytest
from rule_tools import functions, kernel, refuses
from vector_tools import VECTORS, array

import tack
from tack.errors import UnsupportedSyntaxError

A = array(VECTORS, tack.vec3)


FUNCTIONS = functions("""
@tack.func
def either(i):
    if i > 0:
        return [1.0, 2.0]
    return [1.0, 2.0, 3.0]

@tack.func
def number(i):
    if i > 0:
        return 1.0
    return [1.0, 2.0, 3.0]
""")


def three():
    return tack.zeros(4, tack.vec3)


@pytest.mark.rule("V1", "V2")
@pytest.mark.parametrize(
    ("kind", "text", "at", "words"),
    [
        (TypeError, "out[i] = a[i] + c[i]", "a[i] + c[i]", ("`+` of a vector of 3 and a vector of 2",)),
        (TypeError, "out[i] = a[i] * m[i]", "a[i] * m[i]", ("Write `@`",)),
        (TypeError, "out[i] = vec3(1.0, 2.0)", "vec3(1.0, 2.0)", ("takes 3 components, not 2",)),
        (TypeError, "out[i] = vec3(a[i], 1.0)", "vec3(a[i], 1.0)", ("takes 3 components, not 4",)),
        (TypeError, "out[i] = vec3(m[i])", "m[i]", ("a 3x3 matrix as part of tack.vec3",)),
        (TypeError, "out[i] = vec3(x=1.0)", "x=1.0", ("no keyword arguments",)),
        (TypeError, "out[i] = c[i]", "out[i]", ("a vector of 2 cannot be stored into 'out'", "a vector of 3")),
        (TypeError, "s[i] = a[i]", "s[i]", ("a vector of 3 cannot be stored into 's', whose elements are numbers",)),
        (TypeError, "out[i].x = a[i]", "out[i].x", ("cannot be stored into a component",)),
        (TypeError, "if a[i] > 0.0:\n    out[i] = a[i]", "a[i] > 0.0", ("a mask of 3 as a condition", "any(...) or all(...)")),
        (TypeError, "v = a[i]\nt = len(v)", "v", ("'v' is a vector of 3 and no array",)),
        (TypeError, "while a[i]:\n    pass", "a[i]", ("as a condition",)),
        (TypeError, "out[i] = 1.0 if a[i] < 1.0 else 2.0", "a[i] < 1.0", ("as a condition",)),
        (TypeError, "t = a[i] > 0.0 and a[i] < 1.0", "a[i] > 0.0", ("Combine masks with `&`",)),
        (TypeError, "t = 0.0 < a[i] < 1.0", "0.0 < a[i] < 1.0", ("joined by `&`",)),
        (TypeError, "t = any(i > 1)", "any(i > 1)", ("any() takes a mask",)),
        (IndexError, "t = a[i][3]", "a[i][3]", ("index 3 is outside a vector of 3", "Use 0 to 2")),
        (IndexError, "t = a[i][-1]", "a[i][-1]", ("index -1",)),
        (IndexError, "v = a[i]\nv[K] = 1.0", "v[K]", ("index 5",)),
        (IndexError, "t = a[i][0, 1]", "a[i][0, 1]", ("takes one index",)),
        (IndexError, "t = m[i][0]", "m[i][0]", ("takes two indices: `m[i, j]`",)),
        (TypeError, "t = a[i].w", "a[i].w", ("a vector of 3 has no '.w'", ".x, .y, .z")),
        (TypeError, "t = a[i].xq", "a[i].xq", ("has no '.xq'",)),
        (TypeError, "t = a[i].xyzxy", "a[i].xyzxy", ("more than 4 letters",)),
        (TypeError, "t = m[i].x", "m[i].x", ("Write `m[i, j]`",)),
        (TypeError, "t = a[i].length()", "a[i].length", ("no method 'length'", "norm")),
        (TypeError, "t = a[i].dot(c[i])", "c[i]", ("dot() takes a vector of 3, not a vector of 2",)),
        (TypeError, "t = a[i].dot(2.0)", "2.0", ("dot() takes a vector of 3, not a number",)),
        (TypeError, "t = a[i].dot()", "a[i].dot()", ("one argument",)),
        (TypeError, "t = vec4(0.0).cross(vec4(0.0))", "vec4(0.0).cross(vec4(0.0))", ("of 2 or of 3",)),
        (TypeError, "t = a[i].determinant()", "a[i].determinant()", ("method of matrices",)),
        (TypeError, "t = m[i].dot(m[i])", "m[i].dot(m[i])", ("method of vectors",)),
        (TypeError, "v = a[i]\nv = c[i]", "v", ("'v' is a vector of 3 and is assigned a vector of 2",)),
        (TypeError, "v = 1.0\nv = c[i]", "v", ("'v' is a number and is assigned a vector of 2",)),
        (TypeError, "v = a[i]\nv = 1.0", "v", ("'v' is a vector of 3 and is assigned a number",)),
        (IndexError, "t = s[a[i]]", "s[a[i]]", ("'s' has 1 dimension, but 3 indices",)),
        (TypeError, "for k in range(a[i]):\n    pass", "a[i]", ("where one number is needed",)),
        (TypeError, "t = [1, a[i]]", "[1, a[i]]", ("a list of a number, a vector of 3",)),
        (TypeError, "t = [1]", "[1]", ("a list of 1",)),
        (ValueError, "v = a[i]\nx, y = v", "x, y = v", ("a vector of 3, which is one value, for 2 targets", "`x, y = v.x, v.y`")),
        (TypeError, "out[i] = either(i)", "return [1.0, 2.0, 3.0]", ("a vector of 3 here and a vector of 2 elsewhere",)),
        (TypeError, "out[i] = number(i)", "return [1.0, 2.0, 3.0]", ("a vector of 3 here and a number elsewhere",)),
        (UnsupportedSyntaxError, "[t, u] = 1, 2", "[t, u]", ("a list of targets",)),
        (UnsupportedSyntaxError, "v = a[i]\nv.xy = 1.0", "v.xy", ("one by one",)),
        (UnsupportedSyntaxError, "(a[i] + c[i]).x = 2.0", "(a[i] + c[i]).x", ("assigning an attribute",)),
        (TypeError, "t = tack.vec(3, tack.f32)", "tack.vec(3, tack.f32)", ("is a type", "tack.vec(3, tack.f32)(...)")),
        (ValueError, "t = tack.vec(17)(1.0)", "tack.vec(17)", ("2 to 16 components",)),
        (TypeError, "t = tack.vec(i)(1.0)", "i", ("integer literal or constant",)),
        (TypeError, "out[i] = a[i].x + 1.0 if i else c[i]", "out[i]", ("a vector of 2 cannot be stored",)),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_their_place(kind, text, at, words) -> None:
    k = kernel(text, "a, c, m, s, out", vec3=tack.vec3, vec4=tack.vec4, K=tack.constant(5), **FUNCTIONS)
    arrays = [A, tack.zeros(4, tack.vec2), tack.zeros(4, tack.mat3), tack.zeros(4)]
    refuses(kind, lambda: k(*arrays, three()), "'k'", *words, at=at)


@pytest.mark.rule("V1", "N3")
def test_a_vector_is_assigned_before_it_is_read() -> None:
    k = kernel("if i > 1:\n    v = a[i]\nout[i] = v", "a, out")
    refuses(NameError, lambda: k(A, three()), "local 'v' may be read before it is assigned", at="v")


@pytest.mark.rule("V1", "N3")
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("k = 0\nwhile k < 2:\n    if k > 0:\n        out[i] = v\n    v = a[i]\n    k += 1", "v"),
        ("v += a[i]", "v"),
        ("v = a[i] + v", "v"),
    ],
)
def test_a_vector_is_read_only_below_its_first_assignment(text, at) -> None:
    k = kernel(text, "a, out")
    refuses(NameError, lambda: k(A, three()), "local 'v' is read before it is assigned", at=at)


@pytest.mark.rule("V1")
def test_numbers_have_no_components() -> None:
    numbers = tack.zeros(4)
    for text, at in (("out[i] = a[i].x", "a[i].x"), ("out[i] = a[i][0]", "a[i]"), ("out[i] = a[i].dot(a[i])", "a[i].dot(a[i])")):
        k = kernel(text, "a, out")
        refuses(UnsupportedSyntaxError, lambda k=k: k(numbers, numbers.copy()), at=at)
