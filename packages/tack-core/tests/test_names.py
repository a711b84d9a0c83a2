"""What names mean in kernels, and which are refused (N1, N2, N4, N6; N3 and N5 are in test_assigned and test_lowering)."""

import math
import types

import numpy as np
import pytest
from lowered import agree
from refusals import UNSUPPORTED, check, load

from tack.ir.nodes import IRAssign, IRCast, IRConst, IRFor, IRLoad, IRName, IROp, IRStore
from tack.ir.types import f32, f64, i32, u8
from tack.ir.walk import walk
from tack.lang.bindings import UNBOUND, CallBindings, MissingAttribute
from tack.lang.constant import Constant, constant
from tack.lang.func import func
from tack.lang.kernel import kernel


def body(k):
    return list(walk(k.template().loop.body))


def ops(k):
    return [n.op for n in body(k) if isinstance(n, IROp)]


def loop(line, head=""):
    return f"{head}@kernel\ndef k(x, n):\n    for i in range(n):\n        {line}\n"


# N1: what a name may be

READ = {
    "unknown": ("x[i] = «misspelt»", "", NameError, ("name 'misspelt' is not defined",)),
    "near a parameter": ("widht = 1\n        x[i] = «width»", "", NameError, ("Did you mean 'widht'?",)),
    "near an intrinsic": ("x[i] = «sqr»(n)", "", NameError, ("Did you mean 'sqrt'?",)),
    "near a global": ("x[i] = «scal»", "scale_of = constant(2)\nscale = constant(2)\n", NameError, ("Did you mean 'scale'?",)),
    "global number": ("x[i] = «G»", "G = 9.81\n", NameError, ("plain number", "G = tack.constant(9.81)")),
    "global bool": ("x[i] = «FLAG»", "FLAG = True\n", NameError, ("tack.constant(True)",)),
    "numpy number": ("x[i] = «G»", "G = np.float32(2)\n", NameError, ("tack.constant(",)),
    "number of a module": ("x[i] = «np.pi»", "", NameError, ("Write math.pi.",)),
    "imported pi": ("x[i] = «pi»", "from math import pi\n", NameError, ("Write math.pi.",)),
    "missing in a module": ("x[i] = «math.sine»(n)", "", NameError, ("module 'math' has no 'sine'", "Did you mean 'sin'?")),
    "global list": ("x[i] = «TABLE»[0]", "TABLE = [1, 2]\n", NameError, ("'TABLE' is no parameter", "Pass the array")),
    "global array": ("x[i] = «TABLE»[i]", "TABLE = np.zeros(3)\n", NameError, ("'TABLE' is no parameter",)),
    "list as a value": ("x[i] = «TABLE»", "TABLE = [1, 2]\n", NameError, ("a list",)),
    "unknown array": ("x[i] = «y»[i]", "", NameError, ("name 'y' is not defined",)),
    "module as a value": ("x[i] = «math»", "", NameError, ("a module",)),
    "function as a value": ("x[i] = «math.sin»", "", NameError, ("function", "Call it")),
    "intrinsic as a value": ("x[i] = «sqrt»", "", NameError, ("function", "Call it")),
    "type as a value": ("x[i] = «f32»", "", NameError, ("function or type",)),
    "attribute of an object": ("x[i] = «thing.size»", "thing = [1]\n", NameError, ("only modules",)),
    "unknown module": ("x[i] = «nothing».size", "", NameError, ("name 'nothing' is not defined",)),
    "unknown function": ("x[i] = «wrong»(n)", "", NameError, ("name 'wrong' is not defined",)),
    "unknown annotation": ("t: «f33» = 1.0", "", UNSUPPORTED, ("a Tack scalar type",)),
    "numpy function": ("x[i] = «np.sin(x[i])»", "", UNSUPPORTED, ("NumPy's `np.sin`", "Write sin(...)")),
    "numpy minimum": ("x[i] = «np.minimum(x[i], 1)»", "", UNSUPPORTED, ("Write `min`",)),
    "numpy where": ("x[i] = «np.where(x[i], 1, 2)»", "", UNSUPPORTED, ("Write `tack.select`",)),
    "numpy cast": ("x[i] = «np.float64(x[i])»", "", UNSUPPORTED, ("Write tack.f64(x[i])",)),
    "numpy bool": ("x[i] = «np.bool_(x[i])»", "", UNSUPPORTED, ("Write bool(x[i])",)),
    "numpy anything": ("x[i] = «np.linalg.norm(x)»", "", UNSUPPORTED, ("NumPy's `np.linalg.norm`",)),
    "math without a row": ("x[i] = «math.gcd(2, 4)»", "", UNSUPPORTED, ("`math.gcd`",)),
    "kernel": ("x[i] = «other(x)»", "@kernel\ndef other(x):\n    pass\n", UNSUPPORTED, ("kernel `other`", "@tack.func")),
    "number called": ("x[i] = «G(2)»", "G = 2\n", TypeError, ("is a int and no function",)),
    "global rebound": ("x[i] = «g(2)»", "g = print\n", TypeError, ("returns no value",)),
    "local as array": ("t = 1\n        x[i] = «t»[0]", "", TypeError, ("local 't' is a number and no array",)),
    "assigned array": ("x = 1\n        t = «x»[0]", "", TypeError, ("'x' holds a number here",)),
    "loop variable as array": ("x[i] = «i»[0]", "", TypeError, ("'i' is a loop variable here and no array",)),
    "loop variable after": ("for k in range(3):\n            pass\n        x[i] = «k»", "", NameError, ("only inside its loop",)),
    "len of a number": ("x[i] = len(«n + 1»)", "", UNSUPPORTED, ("only arrays can be indexed or have a length",)),
    "size of a local": ("t = 1\n        x[i] = «t».shape[0]", "", TypeError, ("local 't' is a number",)),
}


@pytest.mark.rule("N1")
@pytest.mark.parametrize("case", READ)
def test_other_names_are_refused(tmp_path, case):
    line, head, kind, phrases = READ[case]
    check(tmp_path, loop(line, head), kind, *phrases)


ARGUMENTS = {
    "too few": ("x[i] = «math.sin()»", "sin() takes one argument, not 0"),
    "too many": ("x[i] = «sin(1, 2)»", "sin() takes one argument, not 2"),
    "two": ("x[i] = «atan2(1)»", "atan2() takes 2 arguments, not 1"),
    "extremes": ("x[i] = «max(x[i])»", "max() takes two or more arguments"),
    "digits": ("x[i] = «round(x[i], 2)»", "round() takes one argument"),
    "modular power": ("x[i] = «pow(2, 3, 4)»", "pow() takes 2 arguments"),
    "keyword": ("x[i] = sin(«x=1»)", "no keyword argument 'x'"),
    "select": ("x[i] = «select(1, 2)»", "select() takes 3 arguments"),
    "cast": ("x[i] = «f32()»", "tack.f32() takes one argument"),
    "int": ("x[i] = «int()»", "int() takes one argument"),
    "base": ("x[i] = «int(1, 2)»", "int() takes one argument"),
    "key": ("x[i] = max(1, 2, «key=3»)", "no keyword argument 'key'"),
}


@pytest.mark.rule("N1", "T10")
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_of_intrinsics_are_counted(tmp_path, case):
    line, phrase = ARGUMENTS[case]
    check(tmp_path, loop(line), TypeError, phrase)


@pytest.mark.rule("N1", "T10")
def test_math_by_every_name():
    from math import cos as c
    from math import sqrt

    @kernel
    def named(x):
        for i in range(3):
            x[i] = math.sin(sin(x[i])) + c(cos(sqrt(x[i]))) + math.pow(2.0, 3) + pow(2, 3) + math.fabs(x[i]) + abs(x[i])
            x[i] = min(1, 2) + max(1, 2, 3) + round(x[i]) + int(x[i]) + float(x[i]) + bool(x[i]) + isnan(x[i])

    unary = [op for op in ops(named) if op not in ("add",)]
    assert unary == [
        "sin", "sin", "cos", "cos", "sqrt", "pow", "pow", "abs", "abs", "min", "max", "round", "to_int", "to_float", "to_bool",
        "isnan",
    ]  # fmt: skip


@pytest.mark.rule("N1")
def test_constants_of_math():
    @kernel
    def named(x):
        for i in range(3):
            x[i] = math.pi + math.e + math.tau + math.inf + math.nan

    values = [n.value for n in body(named) if isinstance(n, IRConst) and isinstance(n.value, float)]
    assert repr(values) == repr([math.pi, math.e, math.tau, math.inf, math.nan])


@pytest.mark.rule("N1")
def test_parameters_and_locals_shadow_all_else():
    @kernel
    def shadows(math, sqrt, range_):
        sin = 2.0
        for abs in range(range_):
            max = sqrt + sin + abs
            math[abs] = max

    template = shadows.template()
    assert not [n for n in body(shadows) if isinstance(n, IROp) and n.op != "add"]
    assert [p.name for p in template.params] == ["math", "sqrt", "range_"]


def test_a_shadowed_function_cannot_be_called(tmp_path):
    check(tmp_path, loop("sin = 2.0\n        x[i] = «sin(x[i])»"), UNSUPPORTED, "parameter or local and no function")


# N2: whose names


def module(name, text, tmp_path):
    made = types.ModuleType(name)
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    made.__dict__.update(func=func, constant=constant, math=math)
    exec(compile(text, str(path), "exec"), made.__dict__)
    return made


@pytest.mark.rule("N2")
def test_device_functions_resolve_where_they_are_defined(tmp_path):
    one = module("one", "K = constant(1)\n@func\ndef f(v):\n    return v + K\n@func\ndef g(v):\n    return f(v)\n", tmp_path)
    two = module("two", "K = constant(2)\n@func\ndef f(v):\n    return v * K\n", tmp_path)
    K = constant(7)
    alias, f = one.g, two.f

    @kernel
    def mixed(x):
        for i in range(3):
            x[i] = one.f(K) + two.f(x[i]) + alias(5) + f(6)

    def python(x):
        for i in range(3):
            x[i] = (7 + 1) + x[i] * 2 + (5 + 1) + 6 * 2

    agree(mixed, python, dict(x=[3, 4, 5]))


@pytest.mark.rule("N2")
def test_a_namespace_comes_before_the_globals_of_the_kernel_alone(tmp_path):
    text = """
@func
def op(v):
    return v + 100

@func
def outer(v):
    return op(v)

def source(x):
    for i in range(3):
        x[i] = op(x[i]) + outer(0) + op2(1)
"""
    space = load(tmp_path, text)
    other = load(tmp_path, "@func\ndef op(v):\n    return v * 2\n")["op"]
    made = kernel(namespace={"op": other, "op2": other})(space["source"])

    def python(x):
        for i in range(3):
            x[i] = x[i] * 2 + 100 + 2

    agree(made, python, dict(x=[3, 4, 5]))
    with pytest.raises(NameError, match="'op2' is not defined"):
        kernel(space["source"]).template()


@pytest.mark.rule("N2")
@pytest.mark.parametrize(
    ("functions", "chain"),
    [
        ("@func\ndef f(v):\n    return «f(v)»\n", "f -> f"),
        (
            "@func\ndef f(v):\n    return g(v)\n@func\ndef g(v):\n    return h(v)\n@func\ndef h(v):\n    return «g(v)»\n",
            "g -> h -> g",
        ),
    ],
)
def test_recursion_is_refused(tmp_path, functions, chain):
    check(tmp_path, loop("x[i] = f(x[i])", functions), UNSUPPORTED, f"recursion ({chain})")


@pytest.mark.rule("N2")
def test_kernels_of_a_factory_keep_their_own_functions():
    @func
    def double(v):
        return v * 2

    @func
    def square(v):
        return v * v

    def factory(f):
        @kernel
        def apply(x):
            for i in range(3):
                x[i] = f(x[i])

        return apply

    for f in (double, square):

        def python(x, f=f.__wrapped__):
            for i in range(3):
                x[i] = f(x[i])

        agree(factory(f), python, dict(x=[3, 4, 5]))


def test_an_unassigned_closure_variable_is_unbound(tmp_path):
    text = """
def factory():
    @kernel
    def k(x):
        for i in range(3):
            x[i] = «later»
    made = k
    if made is None:
        later = 1
    return made

k = factory()
"""
    check(tmp_path, text, NameError, "name 'later' is not defined")


# N4: identifiers


@pytest.mark.rule("N4")
def test_any_identifier_works():
    def words(int_, float, void, struct, größe, i64, lo, hi, pack, __x, self, out):
        register = int_ + float
        for double in range(3):
            _ = double + register + void + struct + größe + i64 + lo + hi + pack + __x
            ﬁ = _ * 2  # the identifier is NFKC-normalized, as in Python
            out[double] = fi + _ + self

    names = list(words.__code__.co_varnames[: words.__code__.co_argcount])
    args = dict(zip(names, range(1, 12))) | {"out": [0] * 3}
    k = kernel(words)
    assert [p.name for p in k.template().params] == names
    agree(k, words, args)


# N5 has its own tests; N6: meanings are kept


@pytest.mark.rule("N6")
def test_a_name_keeps_the_meaning_it_had_at_the_first_lowering(tmp_path):
    space = load(tmp_path, "K = constant(3)\n@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = K\n")
    before = space["k"].template()
    space["K"] = constant(4)
    assert space["k"].template() is before
    assert any(isinstance(n, IRConst) and n.value == 3 for n in walk(before.loop.body))


def test_every_lookup_goes_through_one_function():
    K = constant(2)

    def source(x):
        return K + math.sin(x) + sqrt(x)

    bindings = CallBindings(source, {"extra": 5})
    assert bindings.resolve(source, "K") is K
    assert bindings.resolve(source, "math.sin") is math.sin
    assert bindings.resolve(source, "sqrt") is UNBOUND
    assert bindings.resolve(source, "extra") == 5
    assert bindings.resolve(test_any_identifier_works, "extra") is UNBOUND
    with pytest.raises(MissingAttribute):
        bindings.resolve(source, "math.sine")


# tack.constant


@pytest.mark.rule("N1", "T2b")
def test_constants_hold_one_number():
    assert (constant(3).value, constant(3).dtype) == (3, None)
    assert constant(np.int16(3)).value == 3 and type(constant(np.int16(3)).value) is int
    assert constant(True).value is True
    assert constant(0.1, f32).value == float(np.float32(0.1))
    assert constant(2, np.float64).value == 2.0 and constant(2, np.float64).dtype is f64
    assert constant(255.0, u8).value == 255
    assert constant(constant(4), i32).dtype is i32
    assert math.isnan(constant(math.nan, f32).value) and constant(1e300, f32).value == math.inf
    assert repr(constant(4, u8)) == "tack.constant(4, tack.u8)" and int(constant(4)) == 4 and float(constant(4)) == 4.0
    assert list(range(constant(2))) == [0, 1]
    for value, dtype, kind in (
        ([1], None, TypeError),
        ("a", None, TypeError),
        (256, u8, OverflowError),
        (-1, u8, OverflowError),
        (0.5, i32, TypeError),
        (math.inf, i32, TypeError),
        (1, np.float16, TypeError),
        (1, "nonsense", TypeError),
    ):
        with pytest.raises(kind, match=r"tack\.constant"):
            constant(value, dtype)
    with pytest.raises(TypeError):
        [0][constant(0.5)]


@pytest.mark.rule("N1")
def test_constants_stand_wherever_literals_do():
    N, FIRST = constant(4), constant(-1)

    @kernel
    def uses(x):
        for i in range(N):
            for k in range(0, N, N):
                x[i] = x.shape[FIRST] + tack_constant_of_a_module.K

    nodes = body(uses)
    assert [n.range.step for n in nodes if isinstance(n, IRFor)] == [IRConst(4)]
    assert IRConst(9, u8) in nodes
    assert isinstance(N, Constant)


tack_constant_of_a_module = types.ModuleType("constants")
tack_constant_of_a_module.K = constant(9, u8)


def test_names_in_the_ir_are_unique_and_say_what_they_were():
    @func
    def f(v):
        t = v * 2
        t = t + 1
        return t

    @kernel
    def k(t, x):
        for i in range(3):
            t = f(t)
            t = f(x[i]) + t
            x[i] = t

    func_ir = k.template()
    names = [local.name for local in func_ir.locals]
    assert len(set(names)) == len(names) and not {"t", "x"} & set(names)
    assert {local.source_name for local in func_ir.locals if local.source_name.isidentifier()} == {"t", "v"}
    assigned = {n.name for n in walk((*func_ir.prologue, *func_ir.loop.body)) if isinstance(n, IRAssign)}
    assert assigned == set(names)
    read = {n.name for n in body(k) if isinstance(n, IRName)}
    assert read <= assigned | {"i", "t", "x"}
    assert [type(n) for n in body(k) if isinstance(n, (IRLoad, IRStore, IRCast))] == [IRLoad, IRStore]


@pytest.mark.rule("T2", "T2b", "K4")
@pytest.mark.parametrize(
    "text",
    [
        "@kernel\ndef k(o):\n    for i in range(300):\n        o[i] = 1\n        «i»: u8 = 0\n",
        "@kernel\ndef k(o):\n    for i in range(3):\n        for j in range(9):\n            o[i] = j\n            «j»: u8 = 4\n",
    ],
)
def test_a_loop_variable_cannot_be_declared(tmp_path, text):
    error = check(tmp_path, text, UNSUPPORTED)
    assert "loop variable" in str(error)
    assert "another name" in str(error)


@pytest.mark.rule("T2", "N5")
def test_a_parameter_cannot_be_declared(tmp_path):
    text = "@kernel\ndef k(o, n):\n    for i in range(3):\n        o[i] = n\n        «n»: u8 = 4\n"
    error = check(tmp_path, text, UNSUPPORTED)
    assert "parameter 'n'" in str(error)


@pytest.mark.rule("T2", "N3")
def test_a_local_may_be_declared_after_a_loop_of_its_name(tmp_path):
    text = "@kernel\ndef k(o):\n    for i in range(3):\n        for j in range(4):\n            o[i] = j\n"
    text += "        j: u8 = 4\n        o[i] = j\n"
    space = load(tmp_path, text)
    assert space["k"].template() is not None
