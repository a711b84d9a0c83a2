"""Rules T1 to T4: what type arguments, locals, literals and operations have. Expected values are Python's integers, wrapped."""

import itertools
import math

import numpy as np
import pytest
from rule_tools import kernel, of, refused, run, value

import tack
from tack.testing import kernel_from

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
BITS = {name: int(name[1:]) for name in (*SIGNED, *UNSIGNED)}


def dtype(name):
    return np.dtype(f"{name[0]}{int(name[1:]) // 8}")


def wrap(v, name):
    v &= (1 << BITS[name]) - 1
    return v - (1 << BITS[name]) if name[0] == "i" and v >> (BITS[name] - 1) else v


# ------------------------------------------------------------------------------------------------------- T1: arguments


@pytest.mark.rule("T1")
@pytest.mark.parametrize("name", BITS)
def test_array_elements_have_their_dtype(name):
    least, most = (0, (1 << BITS[name]) - 1) if name[0] == "u" else (-(1 << BITS[name] - 1), (1 << BITS[name] - 1) - 1)
    a = np.array([least, most], dtype(name))
    wide = np.uint64 if name == "u64" else np.int64
    assert value("a[i] + a[i]", a, dtype=wide) == [wrap(2 * least, name), wrap(2 * most, name)]
    assert value("a[i]", a, dtype=wide) == [least, most]


# 1 + 2**24 is 2**24 in f32 and exact in f64.
PROBE = "(a + 16777216.0) - 16777216.0"


@pytest.mark.rule("T1")
@pytest.mark.spec("cache-038")
@pytest.mark.parametrize("number", [1.0, np.float32(1), np.float64(1), np.float16(1)], ids=lambda v: type(v).__name__)
def test_float_arguments_are_f32_unless_an_array_is_f64(number):
    assert value(PROBE, number, dtype=np.float32) == [0]
    assert value(PROBE, number, of(np.float32, 0), dtype=np.float32) == [0]
    assert value(PROBE, number, of(np.float64, 0), dtype=np.float32) == [1]
    assert value(PROBE, number, dtype=np.float64) == [1]  # the array that is only written counts


@pytest.mark.rule("T1")
@pytest.mark.spec("cache-037")
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2**31 - 1, "i32"), (-(2**31), "i32"), (2**31, "i64"), (-(2**31) - 1, "i64"), (2**63 - 1, "i64"), (-(2**63), "i64"),
        (2**63, "u64"), (2**64 - 1, "u64"), (np.int8(-128), "i32"), (np.uint64(5), "i32"), (np.uint8(200), "i32"),
        (np.int64(2**40), "i64"), (True, "i32"), (np.bool_(True), "i32"), (False, "i32"),
    ],
    ids=repr,
)  # fmt: skip
def test_integer_arguments_are_typed_by_value(number, name):
    wide = np.uint64 if name == "u64" else np.int64
    v = int(number)
    assert value("a", number, dtype=wide) == [v]
    assert value("a + a", number, dtype=wide) == [wrap(2 * v, name)]
    assert value("a * a", number, dtype=wide) == [wrap(v * v, name)]


@pytest.mark.rule("T1")
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused(number):
    k = kernel("out[i] = a")
    out = tack.zeros(1, dtype=tack.i64)
    with pytest.raises(TypeError) as caught:
        k(number, out)
    assert "'k'" in str(caught.value) and "'a'" in str(caught.value) and str(number) in str(caught.value)
    assert "float(a)" in str(caught.value)


# ------------------------------------------------------------------------------------------------------- T2: locals


@pytest.mark.rule("T2")
def test_a_local_is_the_join_of_all_its_assignments():
    a, b = of(np.int8, 100), of(np.int16, 30000)
    assert value("t = a[i]\nif i > 5:\n    t = b[i]\nout[i] = t + t", a, b) == [200]  # i16, though only the i8 arrives
    assert value("t = a[i]\nu = t + t\nif i > 5:\n    t = b[i]\nout[i] = u", a, b) == [200]
    assert value("t = a[i]\nt = b[i]\nout[i] = t + t", a, b) == [wrap(60000, "i16")]
    # through a chain of locals and round a loop
    assert value("t = a[i]\nfor k in range(2):\n    u = t\n    t = u + u\n    if k > 5:\n        u = b[i]\nout[i] = t", a, b) == [
        400
    ]


JOINS = [
    (("a[i]", "b[i]"), np.int8, np.int16, "i16"), (("a[i]", "b[i]"), np.int8, np.uint8, "i16"),
    (("a[i]", "b[i]"), np.int32, np.uint32, "i64"), (("a[i]", "1"), np.int8, np.int8, "i32"),
    (("a[i]", "2166136261"), np.uint32, np.uint32, "u32"), (("a[i]", "1 << 40"), np.int32, np.int32, "i64"),
    (("a[i]", "-1"), np.uint32, np.uint32, "i64"), (("a[i]", "3"), np.uint64, np.uint64, "u64"),
    (("a[i]", "i > 0"), np.uint64, np.uint64, "u64"), (("1", "1 << 31"), np.int8, np.int8, "i64"),
    (("1", "1 << 63"), np.int8, np.int8, "u64"), (("1", "5"), np.int8, np.int8, "i32"),
    (("a[i]", "b[i]", "1"), np.int8, np.int64, "i64"), (("a[i]", "b[i]", "2166136261"), np.uint8, np.uint32, "u32"),
]  # fmt: skip


@pytest.mark.rule("T2")
@pytest.mark.parametrize(("values", "first", "second", "name"), JOINS, ids=[f"{'|'.join(j[0])} {j[3]}" for j in JOINS])
def test_the_join_does_not_depend_on_the_order(values, first, second, name):
    """Only the first assignment runs, of the value 1, and its complement shows the type: -2, or 2**N - 2."""
    for order in itertools.permutations(values):
        body = "\n".join(f"if i > {k + 9}:\n    t = {text}" for k, text in enumerate(order))
        body = f"t = a[i]\n{body}\n" if "a[i]" in values else f"t = {values[0]}\n{body}\n"
        wide = np.uint64 if name == "u64" else np.int64
        found = value(body + "out[i] = ~t", of(first, 1), of(second, 1), dtype=wide)
        assert found == [wrap(~1, name)]


@pytest.mark.rule("T2")
def test_integer_literals_in_joins():
    words = of(np.uint32, 1, 2**31, 77)
    fnv = "h = 2166136261\nfor k in range(3):\n    h = h ^ a[k]\n    h = h * 16777619\nout[i] = h"
    expected = 2166136261
    for word in words.tolist():
        expected = ((expected ^ word) * 16777619) % 2**32
    assert value(fnv, words, size=1) == [expected]
    assert value(
        "acc = 0\nfor k in range(2):\n    acc ^= a[k]\nout[i] = acc", of(np.uint64, 2**63, 1), dtype=np.uint64, size=1
    ) == [2**63 + 1]
    total = "acc = 0\nfor k in range(3):\n    acc += a[k]\nout[i] = acc"
    assert value(total, of(np.uint8, 200, 200, 200), size=1) == [600]
    assert value(total, of(np.int32, 2**31 - 1, 1, 0), size=1) == [-(2**31)]
    assert value("t = 1\nif i > 5:\n    t = 4294967296\nout[i] = t << 35", size=1) == [1 << 35]  # i64 through the unused literal


@pytest.mark.rule("T2", "T7")
def test_truth_values_join_as_truth_and_beside_integers_as_numbers():
    a = of(np.int32, 3, -3)
    assert value("t = a[i] > 0\nif i > 5:\n    t = a[i] == 0\nout[i] = not t", a) == [0, 1]
    assert value("t = a[i] > 0\nif i == 1:\n    t = a[i]\nout[i] = t", a) == [1, -3]
    assert value("t = a[i] > 0\nif i > 5:\n    t = b[i]\nout[i] = ~t", a, of(np.uint64, 0, 0), dtype=np.uint64) == [
        2**64 - 2, 2**64 - 1,
    ]  # fmt: skip


@pytest.mark.rule("T2", "T8")
def test_a_join_of_integer_and_float_is_a_float():
    a = of(np.float32, 0.5, 1.5)
    assert value("t = 0\nfor k in range(2):\n    t += a[k]\nout[i] = t", a, dtype=np.float32) == [2, 2]
    # the literal is that float: 2**24 + 1 is no f32
    assert value("t = 16777217\nif i > 5:\n    t = a[i]\nout[i] = t", a, dtype=np.float32) == [16777216] * 2
    assert value("t = 16777217\nif i > 5:\n    t = a[i]\nout[i] = t", a.astype(np.float64), dtype=np.float64) == [16777217] * 2
    # a typed integer too, as long as nothing asks whether it was one
    n = of(np.int32, 3, 5)
    assert value("t = b[i]\nif i == 1:\n    t = a[i]\nout[i] = t * 2", a, n, dtype=np.float32) == [6, 3]
    assert value("t = a[i]\nif i == 0:\n    t = b[i]\nout[i] = t / 2", a, n, dtype=np.float32) == [1.5, 0.75]


SEEN = [("t // 2", "t // 2"), ("t % 2", "t % 2"), ("t << 1", "t << 1"), ("3 % t", "3 % t"), ("a[t]", "t"), ("1 >> t", "1 >> t")]


@pytest.mark.rule("T2")
@pytest.mark.parametrize(("use", "at"), SEEN, ids=[use for use, _ in SEEN])
def test_operations_that_see_an_integer_of_a_float_local_are_refused(use, at):
    """Whichever comes first; both assignments are named by their lines."""
    a, n = of(np.float32, 1.5), of(np.int32, 3)
    for first, second in (("a[i]", "b[i]"), ("b[i]", "a[i]")):
        body = f"t = {first}\nif i > 0:\n    t = {second}\nout[i] = {use}"
        error = refused(TypeError, body, a, n, at=at, dtype=np.float32)
        if "//" in use or use == "t % 2":
            assert "line 4" in str(error) and "line 6" in str(error)
            assert "tack.i32" in str(error) and "tack.f32" in str(error)


@pytest.mark.rule("T2")
def test_a_float_local_may_be_divided_where_no_integer_arrives():
    a, n = of(np.float32, 7.5), of(np.int32, 3)
    assert value("t = b[i]\nout[i] = t\nt = a[i]\nout[i] += t // 2", a, n, dtype=np.float32) == [6]
    assert value("t = 0\nfor k in range(2):\n    t = t // 2 + a[i]\nout[i] = t", a, dtype=np.float32) == [10.5]


@pytest.mark.rule("T2", "T3")
def test_signed_with_u64_does_not_join():
    a, b = of(np.int32, 1), of(np.uint64, 1)
    refused(TypeError, "t = a[i]\nt = b[i]\nout[i] = 0", a, b, at="t", words=["tack.i32", "tack.u64", "line 5", "tack.u64(a[i])"])


@pytest.mark.rule("T2")
def test_annotations_fix_the_type_of_a_local():
    a = of(np.float64, 0.1)
    assert value("t: tack.f32 = a[i]\nout[i] = t", a, dtype=np.float64) == [float(np.float32(0.1))]
    assert value("t: tack.u8 = 300\nout[i] = t") == [44]
    assert value("t: tack.i8 = 0\nfor k in range(200):\n    t = t + 1\nout[i] = t") == [-56]
    assert value("t: tack.u64 = 1\nout[i] = t << 63", dtype=np.uint64) == [2**63]
    assert value("t: tack.f64 = 0.1\nout[i] = t == 0.1", of(np.float32, 0)) == [1]
    assert value("t: u16 = 65537\nout[i] = t", u16=tack.u16) == [1]


@pytest.mark.rule("T2", "K7")
def test_other_annotations_are_refused():
    refused(tack.UnsupportedSyntaxError, "t: int = 3\nout[i] = t", at="int", words=["annotation"])
    refused(tack.UnsupportedSyntaxError, "t: float = 3\nout[i] = t", at="float")
    refused(tack.UnsupportedSyntaxError, "t: 'tack.f32' = 3\nout[i] = t", at="'tack.f32'")
    refused(tack.UnsupportedSyntaxError, "t: tack.f32\nout[i] = 1", at="t: tack.f32", words=["value"])
    refused(TypeError, "t: tack.f32 = 1\nt: tack.f64 = 2\nout[i] = t", at="t: tack.f64 = 2", words=["tack.f32", "tack.f64"])


# --------------------------------------------------------------------------------------------------- T2b: weak integers


@pytest.mark.rule("T2b")
def test_loop_variables_are_i64():
    assert value("out[i] = i * 3000000000 + 1", of(np.int8, 0, 0, 0)) == [1, 3000000001, 6000000001]
    assert value("t = 0\nfor k in range(3):\n    t = k << 40\nout[i] = t") == [2 << 40]
    grid = kernel_from(
        "@tack.kernel\ndef k(out):\n    for i, j in tack.ndindex(2, 2):\n        out[i, j] = (i << 40) + (j << 20)\n"
    )
    assert run(grid, np.zeros((2, 2), np.int64)).tolist() == [[0, 1 << 20], [1 << 40, (1 << 40) + (1 << 20)]]


@pytest.mark.rule("T2b")
@pytest.mark.parametrize("name", BITS)
def test_an_integer_literal_takes_the_type_of_what_it_meets(name):
    most = (1 << BITS[name] - (name[0] == "i")) - 1
    a = np.array([most], dtype(name))
    wide = np.uint64 if name == "u64" else np.int64
    assert value("a[i] + 1", a, dtype=wide) == [wrap(most + 1, name)]
    assert value("1 + a[i]", a, dtype=wide) == [wrap(most + 1, name)]
    assert value("a[i] * 2", a, dtype=wide) == [wrap(most * 2, name)]
    assert value(f"a[i] & {most}", a, dtype=wide) == [most]
    assert value("-1 + a[i]" if name[0] == "i" else "a[i] - 1", a, dtype=wide) == [most - 1]


@pytest.mark.rule("T2b", "T3")
def test_a_literal_that_does_not_fit_is_typed_by_value():
    assert value("a[i] + 256", of(np.uint8, 255)) == [511]  # i32
    assert value("a[i] + (-1)", of(np.uint8, 0)) == [-1]
    assert value("a[i] + 2147483648", of(np.int32, 2**31 - 1)) == [2**32 - 1]  # i64
    assert value("a[i] + 4294967296", of(np.uint32, 1)) == [2**32 + 1]
    assert value("a[i] + (-1)", of(np.uint32, 0)) == [-1]  # u32 with i32 is i64
    assert value("a[i] * 747796405", of(np.uint32, 3)) == [3 * 747796405 % 2**32]
    refused(TypeError, "a[i] + (-1)", of(np.uint64, 0), at="a[i] + (-1)", words=["tack.i64(a[i])"])
    refused(TypeError, "a[i] + 9223372036854775808", of(np.int64, 0), at="a[i] + 9223372036854775808", words=["tack.u64(a[i])"])
    refused(TypeError, "a[i] + 18446744073709551616", of(np.int64, 0), at="a[i] + 18446744073709551616", words=["tack.u64"])


@pytest.mark.rule("T2b", "T8")
def test_an_integer_literal_next_to_a_float_is_that_float():
    assert value("a[i] + 16777217", of(np.float32, 0), dtype=np.float32) == [16777216]
    assert value("a[i] + 16777217", of(np.float64, 0), dtype=np.float64) == [16777217]
    assert value("a[i] * 3", of(np.float32, 0.1), dtype=np.float32) == [float(np.float32(0.1) * np.float32(3))]


EXACT = {
    "1 << 40": 1 << 40, "(1 << 40) >> 38": 4, "2 ** 62": 2**62, "3 - 5": -2, "7 // -2": -4, "-7 % 3": 2, "1 << 63 >> 60": 8,
    "2 ** 100 >> 90": 1024, "255 ^ 256": 511, "~5": -6, "-(2 ** 63)": -(2**63), "min(3, 2 ** 40, 5)": 3, "abs(-(2 ** 40))": 2**40,
    "2147483647 + 1": 2**31, "65536 * 65536": 2**32, "2 ** 64 - 2 ** 63 - 1": 2**63 - 1, "N * N": 10**12,
}  # fmt: skip


@pytest.mark.rule("T2b")
@pytest.mark.parametrize(("text", "number"), EXACT.items(), ids=EXACT)
def test_expressions_of_literals_are_exact_and_stay_weak(text, number):
    N = tack.constant(10**6)
    assert value(text, N=N) == [number]
    assert value(f"t = {text}\nout[i] = t", N=N) == [number]
    if 0 <= number < 256:
        assert value(f"a[i] + ({text})", of(np.uint8, 255), N=N) == [(255 + number) % 256]


@pytest.mark.rule("T2b", "T8")
def test_floats_of_literals_are_doubles():
    tenth = tack.constant(0.1)
    for text, number in {
        "1.0 / 3": 1 / 3, "7 / 2": 3.5, "0.1 + 0.2": 0.1 + 0.2, "1 / 3 + 1 / 3": 1 / 3 + 1 / 3, "T * 3": 0.1 * 3, "2 ** -1": 0.5,
        "2 ** 0.5": 2**0.5, "7.5 // 2": 3.0, "-7.5 % 2": 0.5, "math.pi / 4": math.pi / 4,
    }.items():  # fmt: skip
        assert value(text, dtype=np.float64, T=tenth) == [number], text
        assert value(text, dtype=np.float32, T=tenth) == [float(np.float32(number))], text
        assert value(f"a[i] * ({text})", of(np.float64, 3), dtype=np.float64, T=tenth) == [3.0 * number], text


# -------------------------------------------------------------------------------------------------------- T3: promotion

# The narrowest type that holds both ranges, written out; None is refused.
PROMOTED = {
    "i8 u8": "i16", "i8 i16": "i16", "i8 u16": "i32", "i8 i32": "i32", "i8 u32": "i64", "i8 i64": "i64", "i8 u64": None,
    "u8 i16": "i16", "u8 u16": "u16", "u8 i32": "i32", "u8 u32": "u32", "u8 i64": "i64", "u8 u64": "u64", "i16 u16": "i32",
    "i16 i32": "i32", "i16 u32": "i64", "i16 i64": "i64", "i16 u64": None, "u16 i32": "i32", "u16 u32": "u32", "u16 i64": "i64",
    "u16 u64": "u64", "i32 u32": "i64", "i32 i64": "i64", "i32 u64": None, "u32 i64": "i64", "u32 u64": "u64", "i64 u64": None,
    **{f"{t} {t}": t for t in BITS},
}  # fmt: skip


@pytest.mark.rule("T3")
@pytest.mark.parametrize(("pair", "result"), PROMOTED.items(), ids=PROMOTED)
def test_integer_promotion(pair, result):
    for left, right in {tuple(pair.split()), tuple(reversed(pair.split()))}:
        a, b = np.array([1], dtype(left)), np.array([0], dtype(right))
        if result is None:
            signed = "a[i]" if left[0] == "i" else "b[i]"
            words = [f"tack.{left}", f"tack.{right}", f"tack.u64({signed})"]
            refused(TypeError, "a[i] + b[i]", a, b, at="a[i] + b[i]", words=words)
            words[2] = f"tack.i64({'b[i]' if left[0] == 'i' else 'a[i]'})"  # -1 stays less than 0
            refused(TypeError, "a[i] < b[i]", a, b, at="a[i] < b[i]", words=words)
            continue
        wide = np.uint64 if result == "u64" else np.int64
        assert value("out[i] = ~(a[i] + b[i])", a, b, dtype=wide) == [wrap(~1, result)]
        b[0] = least = wrap(1 << BITS[right] - 1, right)
        assert value("out[i] = a[i] > b[i]", a, b) == [1 > least]


@pytest.mark.rule("T3")
def test_the_refusal_names_the_cast_to_write():
    """`i` is i64; `n` is what was passed."""
    a = of(np.uint64, 5, 6)
    refused(TypeError, "a[i] + i", a, at="a[i] + i", words=["tack.u64(i)"])
    assert value("a[i] + tack.u64(i)", a, dtype=np.uint64) == [5, 7]
    refused(TypeError, "a[i] * b", a, -3, at="a[i] * b", words=["tack.u64(b)"])
    assert value("a[i] * tack.u64(b)", a, 3, dtype=np.uint64) == [15, 18]
    refused(TypeError, "min(a[i], b)", a, 3, at="min(a[i], b)", words=["tack.u64(b)"])
    refused(TypeError, "a[i] if i else b", a, 3, at="a[i] if i else b", words=["tack.u64(b)"])


@pytest.mark.rule("T3")
def test_integer_with_float_is_f32_or_f64():
    big = 2**24 + 1
    for name in ("i32", "u32", "i64", "u64"):
        n = np.array([big], dtype(name))
        assert value("a[i] + b[i]", n, of(np.float32, 0), dtype=np.float32) == [2**24]
        assert value("a[i] + b[i]", n, of(np.float64, 0), dtype=np.float64) == [big]
        assert value("a[i] == b[i]", n, of(np.float32, 2**24)) == [1]  # compares in f32
        assert value("a[i] == b[i]", n, of(np.float64, 2**24)) == [0]
    assert value("a[i] + b[i]", of(np.int64, big), of(np.float32, 0), of(np.float64, 0), dtype=np.float32) == [2**24]


@pytest.mark.rule("T3")
def test_f32_with_f64_is_f64():
    a, b = of(np.float32, 0.1), of(np.float64, 0.1)
    assert value("a[i] + b[i]", a, b, dtype=np.float64) == [float(np.float32(0.1)) + 0.1]
    assert value("a[i] < b[i]", a, b) == [float(np.float32(0.1)) < 0.1]


# -------------------------------------------------------------------------------------------------------- T4: integers


@pytest.mark.rule("T4")
@pytest.mark.parametrize("name", BITS)
def test_casts_and_stores_reduce_and_extend_by_the_source(name):
    source = np.array([wrap(-1, name), wrap(1 << BITS[name] - 1, name), 5], dtype(name))
    stored, cast = [f"s_{t}" for t in BITS], [f"c_{t}" for t in BITS]
    lines = [f"s_{t}[i] = a[i]\nc_{t}[i] = tack.{t}(a[i])" for t in BITS]
    k = kernel("\n".join(lines), ", ".join(["a", *stored, *cast]), "range(a.shape[0])")
    narrow = [np.zeros(3, dtype(t)) for t in BITS]
    wide = [np.zeros(3, np.uint64 if t == "u64" else np.int64) for t in BITS]
    _, *results = run(k, source, *narrow, *wide)
    for target, one, other in zip(BITS, results[:8], results[8:]):
        assert one.tolist() == other.tolist() == [wrap(int(v), target) for v in source]


@pytest.mark.rule("T4")
def test_shifts_keep_the_left_type_and_the_count_never_joins():
    a = of(np.uint8, 0x81)
    for count in (np.int8, np.uint64, np.int64, np.uint32):
        assert value("a[i] << b[i]", a, of(count, 1)) == [2]
        assert value("a[i] >> b[i]", a, of(count, 1)) == [0x40]
        assert value("a[i] >> b[i]", a.view(np.int8), of(count, 1)) == [-64]
    # modulo the width, also for negative counts
    assert value("a[i] << b[i]", of(np.uint8, 1, 1, 1), of(np.int32, 8, 9, -1)) == [1, 2, 128]
    assert value("a[i] >> b[i]", of(np.int64, -8, -8), of(np.int8, 65, -63)) == [-4, -4]


@pytest.mark.rule("T4")
def test_weak_left_operands_of_shifts():
    assert value("1 << a[i]", of(np.uint32, 31)) == [1 << 31]  # u32
    assert value("1 << a[i]", of(np.int32, 31)) == [-(1 << 31)]
    assert value("1 << a[i]", of(np.int64, 40)) == [1 << 40]
    assert value("1 << a[i]", of(np.uint64, 63), dtype=np.uint64) == [1 << 63]
    assert value("1 << a[i]", of(np.uint8, 31)) == [-(1 << 31)]  # i32 beside narrower counts
    assert value("4294967296 << a[i]", of(np.int32, 4)) == [1 << 36]
    assert value("(-1) << a[i]", of(np.uint32, 4)) == [-16]  # u32 does not hold -1
    assert value("1 << i", size=3) == [1, 2, 4]


@pytest.mark.rule("T4")
def test_literal_counts_outside_the_width_are_refused():
    a = of(np.uint8, 1)
    for text, at in {"a[i] << 8": "8", "a[i] >> 8": "8", "a[i] << -1": "-1", "a[i] << (4 * 2)": "4 * 2"}.items():
        refused(ValueError, text, a, at=at, words=["[0, 8)", "tack.u8"])
    assert value("a[i] << 7", a) == [128]
    refused(ValueError, "a[i] << 64", of(np.int64, 1), at="64")
    refused(ValueError, "t = a[i]\nt <<= 8\nout[i] = t", a, at="8")


@pytest.mark.rule("T4")
def test_floats_have_no_bits():
    for text in ("a[i] & 1", "1 | a[i]", "a[i] ^ a[i]", "a[i] << 1", "1 >> a[i]", "~a[i]"):
        refused(TypeError, text, of(np.float32, 1), at="a[i]", words=["integer", "tack.f32", "int(a[i])"])
    refused(TypeError, "1.5 << 1", at="1.5", words=["integer"])


@pytest.mark.rule("T4")
@pytest.mark.parametrize("name", BITS)
def test_arithmetic_wraps(name):
    least, most = wrap(1 << BITS[name] - 1, name), wrap((1 << BITS[name] - 1) - 1, name)
    if name[0] == "u":
        least, most = 0, (1 << BITS[name]) - 1
    a, b = np.array([least, most, most], dtype(name)), np.array([1, 1, most], dtype(name))
    wide = np.uint64 if name == "u64" else np.int64
    for op, exact in {
        "+": int.__add__,
        "-": int.__sub__,
        "*": int.__mul__,
        "&": int.__and__,
        "|": int.__or__,
        "^": int.__xor__,
    }.items():
        expected = [wrap(exact(int(x), int(y)), name) for x, y in zip(a, b)]
        assert value(f"a[i] {op} b[i]", a, b, dtype=wide) == expected
    assert value("-a[i]", a, dtype=wide) == [wrap(-int(x), name) for x in a]
    assert value("~a[i]", a, dtype=wide) == [wrap(~int(x), name) for x in a]
