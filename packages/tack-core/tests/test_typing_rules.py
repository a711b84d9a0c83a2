"""The types of expressions and locals, for every pair of types (T1 to T11). What they compute is shown elsewhere."""

import itertools
import random
import re

import numpy as np
import pytest
from typed_tools import TYPES, annotated, compiled, local, nodes, operations, typed

import tack
from tack.ir.nodes import IRCond, IRConst, IRName, IRStore
from tack.ir.types import BOOL, DTYPES, FLOATS, INTS, f32, f64
from tack.testing import kernel_from

PAIRS = list(itertools.product(INTS, INTS))
AB = {"a": "i32[]", "b": "f32[]"}


def ab(a, b):
    return {"a": f"{a.name}[]", "b": f"{b.name}[]"}


def joined(a, b):
    """T3 for integers, by NumPy's table, which agrees wherever an integer type will do."""
    t = np.promote_types(a.numpy, b.numpy)
    return None if t.kind == "f" else next(each for each in INTS if each.numpy == t)


# ------------------------------------------------------------------------------------------------------ pairs of types


@pytest.mark.rule("T3")
@pytest.mark.parametrize("op", ["a[i] + b[i]", "a[i] // b[i]", "a[i] ^ b[i]", "min(a[i], b[i])", "a[i] if i else b[i]"])
def test_every_pair_of_integers(op):
    for a, b in PAIRS:
        want = joined(a, b)
        if want is None:
            signed = "a[i]" if a.signed else "b[i]"
            with pytest.raises(TypeError, match=rf"tack\.u64\({signed[0]}\[i\]\)"):
                typed(op, ab(a, b))
        else:
            assert typed(op, ab(a, b)) == want.name, (a, b)


@pytest.mark.rule("T3")
def test_comparisons_promote_in_the_same_way():
    for a, b in PAIRS:
        want = joined(a, b)
        if want is not None:
            (lt,) = operations(annotated("out[i] = a[i] < b[i]", {**ab(a, b), "out": "i32[]"}), "lt")
            assert lt.type is BOOL and all(arg.type is want for arg in lt.args)
    for a in INTS:
        (lt,) = operations(annotated("out[i] = a[i] < b[i]", {**ab(a, f32), "out": "i32[]"}), "lt")
        assert all(arg.type is f32 for arg in lt.args)
    with pytest.raises(TypeError, match=r"tack\.i64\(a\[i\]\)"):
        typed("i < a[i]", {"a": "u64[]"})


@pytest.mark.rule("T3")
def test_integers_with_floats():
    for a, b in itertools.product(INTS, FLOATS):
        for default in FLOATS:
            assert typed("a[i] * b[i]", ab(a, b), default) == b.name
            assert typed("b[i] / a[i]", ab(a, b), default) == b.name
            assert typed("b[i] ** a[i]", ab(a, b), default) == b.name
            assert typed("a[i] ** b[i]", ab(a, b), default) == b.name
    assert typed("a[i] - b[i]", ab(f32, f64)) == "f64"
    assert typed("max(a[i], b[i], 3)", ab(f32, f64)) == "f64"


@pytest.mark.rule("T4", "T6")
def test_shifts_and_integer_powers_keep_the_left_type():
    for a, b in PAIRS:
        assert typed("a[i] << b[i]", ab(a, b)) == a.name
        assert typed("a[i] >> b[i]", ab(a, b)) == a.name
        assert typed("a[i] ** b[i]", ab(a, b)) == a.name
    for b in INTS:
        for value in (1, -1, 2**31, 2**40, 2**63):
            own = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
            want = b.name if b.bits >= 32 and b.min <= value <= b.max else own
            assert typed(f"({value}) << b[i]", ab(f32, b)) == want, (value, b)
            assert typed(f"({value}) ** b[i]", ab(f32, b)) == want, (value, b)


@pytest.mark.rule("T6", "T11")
@pytest.mark.parametrize("default", FLOATS)
def test_integers_become_the_default_float(default):
    for a, b in PAIRS:
        assert typed("a[i] / b[i]", ab(a, b), default) == default.name
    for a in INTS:
        for text in ("sqrt(a[i])", "floor(a[i])", "a[i] / 2", "a[i] * 0.5", "a[i] ** 0.5", "float(a[i])", "atan2(a[i], a[i])"):
            assert typed(text, ab(a, a), default) == default.name
        assert typed("hypot(a[i], b[i])", ab(a, f32), default) == default.name
        assert typed("hypot(2, b[i])", ab(a, f32), default) == "f32"


# ---------------------------------------------------------------------------------------------------------- literals


@pytest.mark.rule("T2b", "T3")
def test_integer_literals_beside_every_integer_type():
    values = [0, 1, -1, 127, 128, 255, 256, -129, 32768, 65536, 2**31 - 1, 2**31, 2**32, -(2**31) - 1, 2**63 - 1, 2**63]
    for t, value in itertools.product(INTS, values):
        own = next(each for each in (TYPES["i32"], TYPES["i64"], TYPES["u64"]) if each.min <= value <= each.max)
        want = t if t.min <= value <= t.max else joined(t, own)
        if want is None:
            advised = "Write `tack.i64(a[i])`, if" if value < 0 else "Write `tack.u64(a[i])`."
            with pytest.raises(TypeError, match=re.escape(advised)):
                typed(f"a[i] + ({value})", ab(t, t))
        else:
            assert typed(f"a[i] + ({value})", ab(t, t)) == want.name, (t, value)
            assert typed(f"({value}) if i else a[i]", ab(t, t)) == want.name, (t, value)


@pytest.mark.rule("T2b", "T8")
def test_literals_beside_floats_take_that_float():
    for t, text in itertools.product(FLOATS, ("1", "0.5", "2 ** 70", "1 / 3", "-1", "(1 if i else 2)", "(0.5 if i else 2)")):
        for default in FLOATS:
            assert typed(f"a[i] + {text}", ab(t, t), default) == t.name
            assert typed(f"{text} if i > 5 else a[i]", ab(t, t), default) == t.name
            assert typed(f"select(i > 5, {text}, a[i])", ab(t, t), default) == t.name


ALONE = {
    "1": "i32",
    "-1": "i32",
    "2147483647": "i32",
    "2147483648": "i64",
    "-2147483649": "i64",
    "1 << 40": "i64",
    "1 << 63": "u64",
    "2 ** 70 >> 60": "i32",
    "7 // 2": "i32",
    "7 / 2": "f32",
    "2 ** -1": "f32",
    "0.5": "f32",
    "1 if i else 300": "i32",
    "1 if i else 3.5": "f32",
    "(1 if i else 2) << 40": "i64",
    "i > 3": "bool",
    "True": "bool",
    "not 5": "bool",
    "(i > 3) + (i < 9)": "i32",
    "(i > 3) << 31": "i64",
    "-(i > 3)": "i32",
    "(i > 3) & (i < 9)": "i32",
    "abs(-3)": "i32",
    "min(1, 2.5)": "f32",
    "min(i > 3, i < 9)": "i32",
    "(i > 3) / 2": "f32",
    "(i > 3) // 2": "i32",
    "(i > 3) ** 2": "i32",
    "(i > 3) * 0.5": "f32",
    "int(2.5)": "i64",
    "int(3)": "i64",
    "int(i > 3)": "i64",
    "int(1 << 63)": "u64",
    "float(1)": "f32",
    "bool(3)": "bool",
    "sqrt(2)": "f32",
    "isnan(2)": "bool",
    "tack.u8(300)": "u8",
    "1 < 2": "bool",
    "1 if True else 2": "i32",
    "math.pi": "f32",
    "True + True": "i32",
    "select(i > 1, 1, 2)": "i32",
    "(1 if i else 2) * (3 if i else 1.5)": "f32",
}


@pytest.mark.rule("T2", "T2b", "T7", "T8", "T10")
@pytest.mark.parametrize(("text", "want"), ALONE.items(), ids=ALONE)
def test_what_meets_nothing_is_typed_by_value(text, want):
    assert typed(text, {}) == want
    if want == "f32":
        assert typed(text, {}, f64) == "f64"


@pytest.mark.rule("T10")
def test_conversions_of_typed_values():
    for t in DTYPES:
        assert typed("int(a[i])", ab(t, t)) == ("u64" if t.name == "u64" else "i64")
        assert typed("float(a[i])", ab(t, t)) == ("f64" if t is f64 else "f32")
        assert typed("float(a[i])", ab(t, t), f64) == "f64"
        assert typed("bool(a[i])", ab(t, t)) == "bool"
        assert typed("abs(a[i])", ab(t, t)) == t.name
        assert typed("round(a[i])", ab(t, t)) == (t.name if t.is_float else "f32")
    assert typed("a.shape[0]", ab(f32, f32)) == "i64"
    assert typed("len(a) + a.ndim + a.size", ab(f32, f32)) == "i64"


@pytest.mark.rule("T7")
def test_truth_values_take_the_type_they_meet():
    for t in DTYPES:
        assert typed("a[i] + (i > 3)", ab(t, t)) == t.name
        assert typed("(i > 3) - a[i]", ab(t, t)) == t.name
        assert typed("(i > 3) if i else a[i]", ab(t, t)) == t.name
        assert typed("a[i] == (i > 3)", ab(t, t)) == "bool"
    assert typed("a[i] - ((i > 3) - (i > 4))", ab(TYPES["u8"], f32)) == "i32"  # -1 does not fit
    assert typed("a[i] + ((i > 3) + (i > 4))", ab(TYPES["u64"], f32)) == "u64"
    (eq,) = operations(annotated("out[i] = (i > 3) == (i < 4)", {"out": "i32[]"}), "eq")
    assert eq.args[0].type is BOOL
    (lt,) = operations(annotated("out[i] = (i == 3) < (i == 4)", {"out": "i32[]"}), "lt")
    assert lt.args[0].type.name == "i32"


@pytest.mark.rule("T8")
def test_float_literals_are_converted_once():
    tenth = float(np.float32(0.1))
    func = compiled("dt = 0.1\nout[i] = a[i] * dt + (0.1 if i else 0.3)", {"a": "f32[]", "out": "f32[]"})
    assert {tenth} == {c.value for c in nodes(func, IRConst) if c.value in (0.1, tenth)}
    func = compiled("dt = 0.1\nout[i] = a[i] * dt", {"a": "f64[]", "out": "f64[]"}, f64)
    assert [c.value for c in nodes(func, IRConst) if c.type is f64] == [0.1]
    (store,) = nodes(compiled("out[i] = 0.1", {"out": "f64[]"}), IRStore)
    assert store.value == IRConst(0.1, f64)
    (store,) = nodes(compiled("out[i] = 2.9 if i else -2.9", {"out": "i32[]"}), IRStore)
    assert (store.value.then.value, store.value.orelse.value) == (2, -2)


# ------------------------------------------------------------------------------------- literals through device functions

FUNCS = """
    @tack.func
    def sign(v):
        if v < 0.0:
            return -1.0
        return 1.0

    @tack.func
    def step(v):
        if v < 0.0:
            return 0
        return 200

    @tack.func
    def twice(v):
        return v + v

    @tack.func
    def count(v):
        while v < 10:
            v = v + 1
        return v
"""


def funcs():
    from tack.testing import define

    return {k: v for k, v in define(FUNCS).items() if k in ("sign", "step", "twice", "count")}


@pytest.mark.rule("T8", "F1")
def test_literals_stay_weak_through_arguments_and_returns():
    names = funcs()
    for t in FLOATS:
        for default in FLOATS:
            for text in ("a[i] * sign(a[i])", "a[i] * twice(0.1)", "a[i] * twice(twice(1))", "a[i] * (0.5 * sign(a[i]))"):
                assert typed(text, ab(t, t), default, **names) == t.name
    assert typed("sign(b[i])", AB, **names) == "f32"
    assert typed("sign(b[i])", AB, f64, **names) == "f64"
    assert typed("a[i] + step(b[i])", {"a": "u8[]", "b": "f32[]"}, **names) == "u8"
    assert typed("a[i] + step(b[i])", {"a": "i8[]", "b": "f32[]"}, **names) == "i32"  # 200 is no i8
    assert typed("step(b[i])", AB, **names) == "i32"
    assert typed("count(0)", AB, **names) == "i32"
    assert typed("count(a[i])", {"a": "u8[]"}, **names) == "u8"


@pytest.mark.rule("T8")
def test_a_weak_result_is_held_once_for_each_type_it_meets():
    text = "s = sign(a[i])\nout[i] = a[i] * sign(a[i]) + b[i] * sign(a[i])"
    func = compiled(text, {"a": "f32[]", "b": "f64[]", "out": "f64[]"}, f64, **funcs())
    assert {each.type for each in func.locals if "sign" in each.source_name} <= {f32, f64}
    assert sorted(c.type.name for c in nodes(func, IRConst) if c.type.is_float and c.value) == ["f32", "f32", "f64", "f64"]
    body = "s = sign(b[i])\nout[i] = s"
    assert local(annotated(body, {**AB, "out": "f32[]"}, **funcs()), "s") == "f32"


# --------------------------------------------------------------------------------------------------------- T2: joins

U8, U32, U64, I64, F32, F64 = ({"a": f"{t}[]"} for t in ("u8", "u32", "u64", "i64", "f32", "f64"))
JOINS = [
    ("t = 0\nt += a[i]", U8, "i32"),
    ("t = 0\nt += a[i]", U32, "u32"),
    ("t = 0\nt ^= a[i]", U64, "u64"),
    ("t = 0\nt += a[i]", I64, "i64"),
    ("t = 2166136261\nt = t ^ a[i]", U32, "u32"),
    ("t = 2166136261\nt = t ^ a[i]", U8, "i64"),
    ("t = -1\nt = t + a[i]", U32, "i64"),
    ("t = 0\nt = t + 1", {}, "i32"),
    ("t = 0\nt = t + 3000000000", {}, "i64"),
    ("t = 0\nt = t * 0.5", {}, "f32"),
    ("t = 1\nt = t / 2", {}, "f32"),
    ("t = 0\nt = t + a[i]", F64, "f64"),
    ("t = 0\nt = t + a[i] * 2", F32, "f32"),
    ("t = 0.5\nt = t * a[i]", F64, "f64"),
    ("t = 1 << 40\nt = 2", {}, "i64"),
    ("t = 1 << 63\nt = 2", {}, "u64"),
    ("t = i > 3\nt = i > 4", {}, "bool"),
    ("t = i > 3\nt = not t", {}, "bool"),
    ("t = i > 3\nt = 5", {}, "i32"),
    ("t = i > 3\nt = a[i]", U64, "u64"),
    ("t = i > 3\nt = a[i]", U8, "i32"),
    ("t = i > 3\nt = 0.5", {}, "f32"),
    ("t = 0\nt = max(t, a[i])", U8, "i32"),
    ("t = 0\nt = t if i else a[i]", U32, "u32"),
    ("t = a[i]\nt = t << 3", U8, "u8"),
    ("t = a[i]\nt = t + 300", U8, "i32"),
    ("t = 0\nt = t ^ (1 << a[i])", U32, "u32"),
    ("t = 0\nt = t ^ (1 << a[i])", U8, "i32"),
    ("t = a[i]\nt = sqrt(t)", U8, "f32"),
    ("t = a[i]\nt = t ** 2", U8, "u8"),
    ("t = i > 1\nt = t & (i > 2)", {}, "i32"),
]


@pytest.mark.rule("T2")
@pytest.mark.parametrize(("body", "types", "want"), JOINS, ids=[f"{b} {t}" for b, t, _ in JOINS])
def test_joins(body, types, want):
    lines = body.split("\n")
    loop = f"{lines[0]}\nfor q in range(3):\n    {lines[1]}\nout[i] = t"
    assert local(annotated(loop, {**types, "out": "f64[]"}), "t") == want


@pytest.mark.rule("T2", "T8")
def test_a_float_default_is_not_mixed_into_a_cycle():
    """f32 values stay f32 beside an f64 array, though integers meet `0.5` and `/` on the way to the fixed point."""
    body = """
        w = a[i]
        t = 0
        for q in range(3):
            z = t / 2
            u = t + 0.5
            t = w
            t = z
            t = u
        out[i] = t
    """
    func = annotated(body, {"a": "f32[]", "out": "f64[]"}, f64)
    assert [local(func, name) for name in "wtzu"] == ["f32"] * 4


VALUES = """
    a[i]; b[i]; c[i]; 0; -1; 200; 2166136261; 0.5; i > 3; v + w; w + 300; v ^ u; u * 2; w if i else 7; 1 << u; u / 2; v + 0.5
    sqrt(w); float(u); t & v; u if v else t; min(t, u, 3); (i > 3) & t; t ** 2; 3 ** u; w << 1; not t; step(w) + u
    u * sign(0.5); twice(t)
"""


@pytest.mark.rule("T2")
@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_statements_does_not_matter(seed):
    rng = random.Random(seed)
    values = [each.strip() for each in VALUES.replace("\n", ";").split(";") if each.strip()]
    for _ in range(12):
        types = {"a": rng.choice(["u8[]", "i64[]"]), "b": rng.choice(["u16[]", "i8[]", "f32[]"])}
        types["c"] = rng.choice(["u32[]", "i32[]", "u64[]", "f32[]", "f64[]"])
        first = [f"{name} = {rng.choice(['a[i]', 'b[i]', 'c[i]', '0', '300', '0.5', 'i > 3'])}" for name in "tuvw"]
        chosen = [(rng.choice("tuvw"), rng.choice(values)) for _ in range(7)]
        found = set()
        for _ in range(4):
            rng.shuffle(chosen)
            lines = [f"if i == {k}:\n    {name} = {value}" for k, (name, value) in enumerate(chosen)]
            try:
                func = annotated("\n".join(first + lines), types, f64, **funcs())
                found.add(tuple(local(func, name) for name in "tuvw"))
            except (TypeError, ValueError):
                found.add("refused")
        assert len(found) == 1, (types, first, chosen, found)


@pytest.mark.rule("T2")
def test_a_join_no_integer_type_holds_is_refused_with_both_places():
    cases = [
        ("t = i", "t = a[i]", "tack.u64(i)", U64),
        ("t = -1", "t = a[i]", "tack.i64(a[i])", U64),
        ("t = -1", "t = 1 << 63", "", {}),
        ("t = a[i]", "t = 1 << 63", "tack.u64(a[i])", I64),
    ]
    for one, two, cast, types in cases:
        for first, second in ((one, two), (two, one)):
            with pytest.raises(TypeError) as caught:
                annotated(f"{first}\n{second}", types)
            text = str(caught.value)
            assert (f"`{cast}`" if cast else "or use two names") in text and "'t'" in text and "u64" in text
            other = 5 if first == one else 4  # the line of the other assignment
            assert f"in line {other}:" in text, text


@pytest.mark.rule("T2", "K7")
def test_code_that_cannot_be_reached_is_typed_too():
    assert annotated("while True:\n    out[i] = 1\nt = t + 1\nout[i] = t", {"out": "f32[]"})
    with pytest.raises(TypeError, match="must be an integer"):
        annotated("for q in range(3):\n    break\n    out[i] = b[i] << 1", {**AB, "out": "f32[]"})


@pytest.mark.rule("T2", "K4")
def test_loop_variables_stay_i64():
    assert typed("i", {}) == "i64"
    assert local(annotated("i = 0.5\nout[0] = i", {"out": "f32[]"}), "i") == "f32"
    with pytest.raises(TypeError, match=r"tack\.u64\(i\)|tack\.u64\("):
        annotated("for q in range(3):\n    q = a[i]", U64)


@pytest.mark.rule("T2")
def test_declared_locals_convert_what_they_get():
    func = annotated("t: tack.u8 = 300\nt = a[i]\nt = 2.9\nt = i > 2\nout[i] = t", {"a": "f32[]", "out": "i32[]"})
    assert local(func, "t") == "u8"
    with pytest.raises(TypeError, match="does not fit any integer type"):
        annotated("t: tack.u8 = 1 << 64", {})
    assert annotated("t: tack.f32 = 1 << 64", {})


# ------------------------------------------------------------------------------- T2: integers seen through float locals


@pytest.mark.rule("T2")
@pytest.mark.parametrize(
    "body",
    [
        "t = a[i]\nif i > 3:\n    t = b[i]\nout[i] = t // 2.0",
        "t = b[i]\nfor q in range(3):\n    out[i] = t % 2.0\n    t = a[i]",
        "t = b[i]\nwhile i > q0:\n    if i > 3:\n        t = a[i]\n        break\n    t = b[i]\nout[i] = t // 2.0",
        "t = b[i]\nfor q in range(3):\n    out[i] = t // 2.0\n    t = a[i]\n    if i > 3:\n        continue\n    t = b[i]",
        "t = b[i]\nt = a[i]\nout[i] = 3 // -t",
        "t = b[i]\nt = a[i]\nout[i] = 3 // (b[i] if i else t)",
        "t = b[i]\nt = a[i]\nout[i] = 3 // min(t, 2)",
    ],
)
def test_an_integer_that_may_arrive_at_floor_division_is_refused(body):
    with pytest.raises(TypeError) as caught:
        annotated(body, {**AB, "q0": "i32", "out": "f32[]"})
    assert "'t', which is assigned tack.i32 in line" in str(caught.value) and "tack.f32 in line" in str(caught.value)


@pytest.mark.rule("T2")
@pytest.mark.parametrize(
    "body",
    [
        "t = a[i]\nout[i] = t\nt = b[i]\nout[i] = t // 2.0",
        "t = a[i]\nif i > 3:\n    t = 1.5\nelse:\n    t = b[i]\nout[i] = t // 2.0",
        "t = a[i]\nwhile True:\n    t = b[i]\n    if i > 3:\n        break\nout[i] = t % 2.0",
        "t = b[i]\nif i > 3:\n    t = a[i]\n    out[i] = t\nelse:\n    out[i] = t // 2.0",
        "t = b[i]\nfor q in range(3):\n    out[i] = t // 2.0\n    t = a[i]\n    t = b[i]",
        "t = b[i]\nt = a[i]\nout[i] = tack.f32(t) // 2.0",
        "t = b[i]\nt = a[i]\nout[i] = (t + 1) // 2.0",
        "t = 3\nt = b[i]\nt = 7\nout[i] = t // 2",
    ],
)
def test_where_only_the_float_arrives_nothing_is_refused(body):
    assert annotated(body, {**AB, "out": "f32[]"})


# ------------------------------------------------------------------------------------------------------- refusals


REFUSED = [
    ("out[i] = a[i] or 1", TypeError, "`(a[i] if a[i] else 1)`", AB),
    ("out[i] = a[i] and b[i]", TypeError, "`(b[i] if a[i] else a[i])`", AB),
    ("out[i] = (a[i] > 0) and 1", TypeError, "truth values", AB),
    ("out[i] = ~(a[i] > 0)", TypeError, "`(not a[i] > 0)`", AB),
    ("out[i] = ~b[i]", TypeError, "`int(b[i])`", AB),
    ("out[i] = b[i] & 1", TypeError, "`int(b[i])`", AB),
    ("out[i] = a[i] << b[i]", TypeError, "`int(b[i])`", AB),
    ("out[i] = a[b[i]]", TypeError, "`int(b[i])`", AB),
    ("out[i] = a[-1]", IndexError, "-1", AB),
    ("out[i] = a[0 - 2]", IndexError, "-2", AB),
    ("a[-2 if i else -1] = 0", IndexError, "-2", AB),
    ("out[i] = a[i] << 32", ValueError, "[0, 32)", AB),
    ("out[i] = a[i] >> -1", ValueError, "-1", AB),
    ("out[i] = (i > 3) << 64", TypeError, "does not fit", AB),
    ("out[i] = (i > 3) << 65", ValueError, "[0, 32)", AB),
    ("out[i] = a[i] << (1 if i else 40)", ValueError, "40", AB),
    ("out[i] = 1 // 0", ZeroDivisionError, "1 // 0", AB),
    ("out[i] = 1.0 / 0", ZeroDivisionError, "1.0 / 0", AB),
    ("out[i] = 1 % 0.0", ZeroDivisionError, "1 % 0.0", AB),
    ("out[i] = 0 ** -1", ZeroDivisionError, "0 ** -1", AB),
    ("out[i] = 1 << -1", ValueError, "1 << -1", AB),
    ("out[i] = (-8) ** 0.5", ValueError, "not real", AB),
    ("out[i] = 10 ** 10 ** 10", ValueError, "too many bits", AB),
    ("out[i] = 1 << 10 ** 9", ValueError, "too many bits", AB),
    ("out[i] = 10.0 ** 400", ValueError, "10.0 ** 400", AB),
    ("out[i] = a[i] ** -1", ValueError, "`float(a[i]) ** -1`", AB),
    ("c[i] = 1 << 64", TypeError, "18446744073709551616", {"c": "u8[]"}),
    ("t = 1 << 64", TypeError, "18446744073709551616", {}),
    ("c[i] = int(1 << 64)", TypeError, "18446744073709551616", {"c": "u8[]"}),
    ("for q in range(0.5):\n    pass", TypeError, "`int(0.5)`", {}),
    ("for q in range(1 << 63):\n    pass", TypeError, "does not hold 9223372036854775808", {}),
    ("out[i] = a[i] + (-1 if i else 1 << 63)", TypeError, "both -1 and 9223372036854775808", AB),
    ("for q in range(b[i]):\n    pass", TypeError, "`int(b[i])`", AB),
    ("out[i] = a[i] + (1 << 64)", TypeError, "does not fit", AB),
    ("out[i] = (1 << 62) * (4 if i else 8) + a[i]", TypeError, "does not fit", AB),
]


@pytest.mark.rule("T2b", "T4", "T5", "T6", "T7", "M1")
@pytest.mark.parametrize(("body", "kind", "words", "types"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refusals(body, kind, words, types):
    with pytest.raises(kind) as caught:
        annotated(body, {**types, "out": "f32[]"})
    assert type(caught.value) is kind and words in str(caught.value), caught.value
    assert caught.value.diagnostic.span is not None


@pytest.mark.rule("T7")
def test_conditions_take_any_scalar():
    body = "if a[i] and b[i] or not i:\n    out[i] = 1\nwhile b[i]:\n    break\nout[i] = bool(a[i] and b[i])"
    assert annotated(body, {**AB, "out": "f32[]"})
    assert annotated("t = not (a[i] and b[i])\nif (a[i] if i else b[i]):\n    pass", AB)
    assert annotated("if 0.0 < 1:\n    pass\nif math.nan:\n    pass\nif (1 if i else 0):\n    pass", AB)


@pytest.mark.rule("E5", "T6")
def test_powers_by_small_literals():
    for k in range(-4, 5):
        (op,) = operations(annotated(f"out[i] = b[i] ** ({k})", {**AB, "out": "f32[]"}), "powi", "pow")
        assert op.op == "powi" and op.args[1] == IRConst(k, TYPES["i32"])
    for text in ("b[i] ** 5", "b[i] ** 2.0", "b[i] ** a[i]", "b[i] ** -5", "a[i] ** 2", "2 ** a[i]"):
        (op,) = operations(annotated(f"out[i] = {text}", {**AB, "out": "f32[]"}), "powi", "pow")
        assert op.op == "pow"


# ----------------------------------------------------------------------------------------------------- weak constants


@pytest.mark.rule("T2b", "T8")
def test_conditional_literals_are_folded_arm_by_arm():
    func = compiled("out[i] = a[i] * ((0.1 if i else 0.3) * 3)", {"a": "f64[]", "out": "f64[]"}, f64)
    (cond,) = nodes(func, IRCond)
    assert (cond.then.value, cond.orelse.value) == (0.1 * 3, 0.3 * 3)
    assert not [node for node in nodes(func, IRName) if node.name not in ("i", "n")]


@pytest.mark.rule("T2b")
def test_typed_constants_are_not_weak():
    k = kernel_from(
        "@tack.kernel\ndef k(a, out):\n    for i in range(4):\n        out[i] = a[i] + C\n", C=tack.constant(1, tack.i64)
    )
    assert k.template()
    assert typed("a[i] + C", U8, C=tack.constant(1, tack.i64)) == "i64"
    assert typed("a[i] + C", U8, C=tack.constant(1)) == "u8"
