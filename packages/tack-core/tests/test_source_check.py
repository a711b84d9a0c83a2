"""Where a kernel's source is found, and what of Python is refused, with its place (K1 to K7)."""

import gc
import linecache
import textwrap
import threading
import weakref

import pytest
from refusals import UNSUPPORTED, check, load

from tack.errors import UnsupportedSyntaxError
from tack.ir.nodes import IRStore
from tack.ir.walk import walk
from tack.lang.func import func
from tack.lang.kernel import kernel

# K7: constructs, each inside the loop of a kernel

CONSTRUCTS = {
    "try": ("«try:\n            out[i] = 1\n        except ValueError:\n            pass»", "`try`"),
    "with": ("«with open('f') as f:\n            out[i] = 1»", "`with`"),
    "yield": ("«yield» ", "`yield`"),
    "yield from": ("«yield from x»", "`yield from`"),
    "lambda": ("f = «lambda v: v»", "`lambda`"),
    "list comprehension": ("t = «[k for k in range(3)]»", "a list comprehension"),
    "set comprehension": ("t = «{k for k in range(3)}»", "a set comprehension"),
    "dict comprehension": ("t = «{k: k for k in range(3)}»", "a dict comprehension"),
    "generator": ("t = max«(k for k in range(3))»", "a generator expression"),
    "def": ("«def f(v):\n            return v»", "a nested function"),
    "class": ("«class C:\n            pass»", "a class definition"),
    "import": ("«import math»", "an import"),
    "from import": ("«from math import sin»", "an import"),
    "assert": ("«assert x[i] > 0»", "`assert`"),
    "global": ("«global g»", "`global`"),
    "starred": ("out[i] = max(«*x»)", "a starred expression"),
    "starred target": ("a, «*b» = x", "a starred expression"),
    "double star": ("out[i] = max(«**x»)", "`**` arguments"),
    "del": ("«del x»", "`del`"),
    "walrus": ("out[i] = («t := x[i]»)", "walrus"),
    "f-string": ("t = «f'{i}'»", "an f-string"),
    "is": ("t = «x is out»", "`is`"),
    "is not": ("t = «x is not out»", "`is not`"),
    "in": ("t = «i in x»", "`in`"),
    "not in": ("t = «i not in x»", "`not in`"),
    "set": ("t = «{1, 2}»", "a set"),
    "dict": ("t = «{1: 2}»", "a dict"),
    "slice": ("t = x[«1:3»]", "a slice"),
    "string": ("t = «'text'»", "a string"),
    "bytes": ("t = «b'text'»", "a bytes string"),
    "complex": ("t = «1j»", "a complex number"),
    "ellipsis": ("out[«...»] = 1", "`...`"),
    "None": ("t = «None»", "`None`"),
    "raise": ("«raise ValueError»", "`raise`"),
    "match": ("«match i:\n            case 1:\n                pass»", "`match`"),
    "annotation without a value": ("«t: f32»", "an annotation without a value"),
    "annotated element": ("«out[i]»: f32 = 1.0", "an annotation of anything but a name"),
    "other annotation": ("t: «float» = 1.0", "an annotation of a local is a Tack scalar type"),
    "quoted annotation": ("t: «'f32'» = 1.0", "an annotation of a local is a Tack scalar type"),
    "for else": ("for k in range(3):\n            pass\n        «else»:\n            out[i] = 1", "`else` of a loop"),
    "while else": ("while i < 3:\n            i += 1\n        «else»:\n            out[i] = 1", "`else` of a loop"),
    "attribute target": ("«x.y» = 1", "assigning an attribute"),
    "augmented attribute": ("«x.y» += 1", "assigning an attribute"),
    "nested targets": ("(a, b), c = x[i], 1", None),
    "ordinary function": ("out[i] = «helper(x[i])»", "an ordinary Python function"),
    "builtin": ("out[i] = «sum(x)»", "Python's `sum`"),
    "bare builtin": ("out[i] = «sorted(x)»", "Python's `sorted`"),
    "method": ("out[i] = «x.dot(x)»", "no methods"),
    "called parameter": ("out[i] = «x(i)»", "no function"),
    "called expression": ("out[i] = «x[i](1)»", "only functions can be called"),
    "class call": ("out[i] = «Holder(1)»", "class `Holder`"),
    "tuple value": ("t = «1, 2»", "a tuple is no value"),
    "iterated array": ("for v in «x»:\n            out[i] = v", "runs over range(...)"),
    "enumerate": ("for v in «enumerate(x)»:\n            out[i] = v", "Python's `enumerate`"),
    "range value": ("t = «range(3)»", "head of a `for` loop"),
    "inner ndindex": ("for k in «ndindex(3)»:\n            out[i] = k", "for the parallel loop"),
    "element twice": ("out[i] = «x[i]»[0]", "a[i][j]"),
    "whole shape": ("t = «x.shape»", "a shape as a whole"),
    "shape of expression": ("t = x.shape[«i»]", None),
    "other attribute": ("t = «x.dtype»", "'.dtype'"),
    "indexed call": ("out[i] = «max(1, 2)»[0]", "only arrays can be indexed"),
    "array of tuple variable": ("for «k, m» in range(3):\n            out[i] = k", "one variable"),
    "loop into element": ("for «x[0]» in range(3):\n            pass", "a loop variable that is no name"),
    "break": ("if x[i] > 0:\n            «break»", "`break` of the parallel loop"),
    "return": ("«return»", "`return` in the parallel loop"),
    "returned value": ("«return x[i]»", "`return` in the parallel loop"),
}


@pytest.mark.rule("K7", "K3", "K4")
@pytest.mark.parametrize("construct", [c for c in CONSTRUCTS if CONSTRUCTS[c][1]])
def test_constructs_are_refused_with_name_and_place(tmp_path, construct):
    body, phrase = CONSTRUCTS[construct]
    head = "g = 0\nclass Holder: pass\ndef helper(v):\n    return v\n"
    text = f"{head}@kernel\ndef k(x, out):\n    for i in range(x.shape[0]):\n        {body}\n"
    check(tmp_path, text, UNSUPPORTED, phrase)


@pytest.mark.rule("K7")
@pytest.mark.parametrize("construct", ["try", "lambda", "slice", "ordinary function", "method", "returned value"])
def test_unreachable_code_is_validated(tmp_path, construct):
    body, phrase = CONSTRUCTS[construct]
    text = f"""
def helper(v):
    return v

@kernel
def k(x, out):
    for i in range(x.shape[0]):
        out[i] = 0
        continue
        {body}
"""
    check(tmp_path, text, UNSUPPORTED, phrase)
    text = text.replace("        continue\n", "        if False: pass\n")
    check(tmp_path, text, UNSUPPORTED, phrase)


@pytest.mark.rule("K7")
@pytest.mark.parametrize("construct", ["try", "lambda", "slice", "f-string", "in", "dict"])
def test_constructs_in_device_functions_are_refused_where_they_stand(tmp_path, construct):
    body, phrase = CONSTRUCTS[construct]
    text = f"""
@func
def inner(x, out, i):
    if i > 0:
        {body}
    return 1

@kernel
def k(x, out):
    for i in range(x.shape[0]):
        out[i] = inner(x, out, i)
"""
    check(tmp_path, text, UNSUPPORTED, phrase)


def test_nested_targets_are_refused(tmp_path):
    text = "@kernel\ndef k(x):\n    for i in range(3):\n        «(a, b)», c = x[i], 1\n"
    check(tmp_path, text, UNSUPPORTED, "nested targets")


@pytest.mark.rule("K7")
def test_an_async_kernel_is_refused(tmp_path):
    check(tmp_path, "@kernel\nasync def «k»(x):\n    for i in range(3):\n        x[i] = 1\n", UNSUPPORTED, "`async def`")


# K1: the one loop

ONE_LOOP = {
    "none": ("def «k»(x):\n    t = 1\n", "no parallel loop"),
    "two": ("def k(x):\n    for i in range(3):\n        x[i] = 1\n    «for j in range(3)»:\n        x[j] = 2\n", "a second loop"),
    "in if": ("def k(x, n):\n    if n > 1:\n        «for i in range(3)»:\n            x[i] = 1\n", "inside another statement"),
    "in while": (
        "def k(x, n):\n    while n > 1:\n        «for i in range(3)»:\n            x[i] = 1\n",
        "inside another statement",
    ),
    "beside one in if": (
        "def k(x, n):\n    if n > 1:\n        «for i in range(3)»:\n            n = 1\n    for i in range(n):\n        n = 1\n",
        "inside a statement outside the parallel loop",
    ),
    "over an array": ("def k(x):\n    for v in «x»:\n        t = v\n", "runs over range(...)"),
    "over a function": ("def k(x):\n    for v in «math.sqrt(2)»:\n        t = v\n", "runs over range(...)"),
    "pair from range": ("def k(x):\n    for «i, j» in range(3):\n        x[i] = j\n", "gives one index"),
    "twice one name": ("def k(x):\n    for «i, i» in ndindex(3, 4):\n        x[i] = 1\n", "two loop variables of one name"),
    "statement after": ("def k(x):\n    for i in range(3):\n        x[i] = 1\n    «t = 1»\n", "after the parallel loop"),
}


@pytest.mark.rule("K1")
@pytest.mark.parametrize("case", ONE_LOOP)
def test_one_parallel_loop_directly_in_the_body(tmp_path, case):
    text, phrase = ONE_LOOP[case]
    check(tmp_path, "@kernel\n" + text, UNSUPPORTED, phrase)


HEADS = {
    "no bound": ("range«()»", TypeError, "1 to 3 arguments"),
    "four bounds": ("«range(1, 2, 3, 4)»", TypeError, "1 to 3 arguments"),
    "keyword": ("range(«stop=3»)", TypeError, "no keyword"),
    "zero step": ("range(0, 9, «0»)", ValueError, "step of zero"),
    "five sizes": ("«ndindex(1, 2, 3, 4, 5)»", TypeError, "1 to 4 sizes"),
    "no sizes": ("«ndindex()»", TypeError, "1 to 4 sizes"),
    "triple": ("ndindex(«(1, 2, 3)»)", TypeError, "a pair (start, end)"),
    "sizes by keyword": ("ndindex(«n=3»)", TypeError, "no keyword"),
}


@pytest.mark.rule("K1")
@pytest.mark.parametrize("case", [c for c in HEADS if c != "no bound"])
def test_heads_of_the_loop(tmp_path, case):
    head, kind, phrase = HEADS[case]
    check(tmp_path, f"@kernel\ndef k(x):\n    for i in {head}:\n        x[i] = 1\n", kind, phrase)


@pytest.mark.rule("K1")
def test_sizes_and_variables_of_ndindex_match(tmp_path):
    check(
        tmp_path,
        "@kernel\ndef k(x):\n    for «i, j» in ndindex(3, 4, 5):\n        x[i] = j\n",
        ValueError,
        "2 loop variables for",
    )


@pytest.mark.rule("K1")
@pytest.mark.parametrize(
    "lines",
    [
        ("for i in range(«x[0]»):",),
        ("for i in range(1, n, «x[0]»):",),
        ("for i in ndindex(n, (0, «x[0]»)):",),
        ("t = «x[0]»", "for i in range(t):"),
        ("t = «x[0]»", "u = t + n", "if n > 3:", "    u = 1", "for i in range(u):"),
        ("u = 1", "if «x[0]» > 2:", "    u = 2", "for i in range(u):"),
        ("for i in range(pick(x)):",),
    ],
)
def test_no_array_element_in_a_bound(tmp_path, lines):
    mark = "«a[0]»" if "pick" in lines[0] else "a[0]"
    head = f"@func\ndef pick(a):\n    return {mark} + 1\n@kernel\ndef k(x, n):\n"
    text = head + "".join(f"    {line}\n" for line in lines) + "        x[i] = 1\n"
    text = text.replace("for i in ndindex", "for i, j in ndindex")
    check(tmp_path, text, TypeError, "an element of 'x' decides a bound", "Pass it as an argument")


@pytest.mark.rule("K1")
def test_loads_that_do_not_reach_the_bound_are_no_matter(tmp_path):
    text = """
@func
def first(n):
    for k in range(n):
        if k * k > n:
            return k
    return 0

@kernel
def k(x, n):
    m = first(n)
    s = x[m] if n > 3 else 0.0
    if x[0] > 1.0:
        s = 2.0
    for i in range(m, n):
        x[i] = s + m
"""
    load(tmp_path, text)["k"].template()


# K2: outside the loop

PROLOGUE = {
    "store": "«x[0]» = 1",
    "augmented store": "«x[0] += 1»",
    "store under if": "if x[0] > 1:\n        «x[1]» = 1",
    "after the loop": None,
}


@pytest.mark.rule("K2")
@pytest.mark.parametrize("case", PROLOGUE)
def test_no_stores_outside_the_loop(tmp_path, case):
    before = f"    {PROLOGUE[case]}\n" if PROLOGUE[case] else ""
    after = "" if PROLOGUE[case] else "    «x[0]» = 1\n"
    text = f"@kernel\ndef k(x):\n{before}    for i in range(3):\n        x[i] = 1\n{after}"
    check(tmp_path, text, UNSUPPORTED, "array 'x' is stored to outside the parallel loop")


@pytest.mark.rule("K2")
def test_no_stores_outside_the_loop_through_functions(tmp_path):
    text = """
@func
def poke(a, k):
    «a[k]» = 1
    return k

@func
def deeper(a):
    return poke(a, 2)

@kernel
def k(x):
    t = deeper(x)
    for i in range(3):
        x[i] = t
"""
    check(tmp_path, text, UNSUPPORTED, "stored to outside the parallel loop", "in poke (called on line 12)")


# K6: values of kernels (`test_results` has the rest)


@pytest.mark.rule("K6")
@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("def k(x):\n    for i in range(3):\n        x[i] = 1\n    «return x»\n", "no return annotation"),
        ("def k(x):\n    for i in range(3):\n        x[i] = 1\n    «return 3»\n", "no return annotation"),
        ("def k(x) -> «float»:\n    for i in range(3):\n        x[i] = 1\n", "a return annotation without a `return`"),
        ("def k(x):\n    «return 3»\n    for i in range(3):\n        x[i] = 1\n", "before the parallel loop"),
        ("def k(x):\n    if x[0] > 1:\n        «return»\n    for i in range(3):\n        x[i] = 1\n", "before the parallel loop"),
    ],
)
def test_returns(tmp_path, text, phrase):
    check(tmp_path, "@kernel\n" + text, UNSUPPORTED, phrase)


@pytest.mark.rule("K6")
def test_a_plain_return_at_the_end_is_python(tmp_path):
    for ending in ("return", "return None", "pass"):
        text = f"@kernel\ndef k(x) -> None:\n    for i in range(3):\n        x[i] = 1\n    {ending}\n"
        load(tmp_path, text)["k"].template()


# Where the source is


def kernels_of_one_name():
    made = []
    for _ in range(2):

        @kernel
        def same(x):
            for i in range(3):
                x[i] = 1

        made.append(same)

    @kernel
    def same(x):
        for i in range(3):
            x[i] = 2

    return [*made, same]


class Holder:
    class Inner:
        @staticmethod
        @kernel
        def method(x, __private):
            # a comment
            for i in range(3):
                x[i] = (
    1 +
2)  # fmt: skip

            # a last comment


def stored_values(k):
    return [getattr(n.value, "value", None) for n in walk(k.template().loop.body) if isinstance(n, IRStore)]


def test_two_kernels_of_one_name_keep_their_sources():
    assert [stored_values(k) for k in kernels_of_one_name()] == [[1], [1], [2]]


def test_kernels_in_classes_and_odd_layouts():
    (store,) = Holder.Inner.method.template().loop.body
    assert store.value.op == "add"
    span = store.value.span
    assert span.source.lines[span.line].strip() == "1 +" and span.col == 4
    assert span.source.lines[-1].startswith("2)")


LAYOUTS = {
    "tabs": "class C:\n\tif True:\n\t\t@kernel\n\t\tdef k(x):\n\t\t\tfor i in range(3):\n\t\t\t\tx[i] = «y»\n",
    "decorators": "def plain(f):\n    return f\n@kernel\n@plain\n@plain\ndef k(x):\n    for i in range(3):\n        x[i] = «y»\n",
    "factory": "@kernel(\n    namespace={\n'a': 1}\n)\ndef k(\n    x,\nn=None) :\n    for i in range(3):\n        x[i] = «y»\n",
    "one line": "@kernel\ndef k(x): «return 5»\nz = 1\n",
    "continued": "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = 1 + \\\n  «y»\n",
    "strings": '@kernel\ndef k(x):\n    """One\ntwo\n    three"""\n'
    '    for i in range(3):\n        x[i] = «y»\n        """\nend\n"""\n',
    "unicode": "@kernel\ndef k(größe, ŷ):\n    for i in range(3):\n        größe[i] = ŷ + größe[i] + «ω» + ŷ\n",
    "wide strings": "@kernel\ndef k(x):\n    '''Größe ≤ 𝔸'''\n    for i in range(3):\n        'ß𝔸'; x[i] = «ω»  # ß\n",
    "comments": "@kernel\n# between\ndef k(x):\n# margin\n    for i in range(3):\n  # odd\n        x[i] = «y»\n\n\n# after\n",
    "last line": "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = «y»",
    "else of the file": "if True:\n  @kernel\n  def k(x):\n      for i in range(3):\n          x[i] = «y»\nelse:\n  pass\n",
    "escapes": "@kernel\ndef k(x):\n    r'\\d'\n    for i in range(3):\n        x[i] = «y»\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_places_are_right_in_any_layout(tmp_path, layout):
    text = LAYOUTS[layout].replace("n=None", "n")
    if layout == "tabs":
        text += "k = C.k\n"
    kind = UNSUPPORTED if layout == "one line" else NameError
    if layout == "one line":
        text = text.replace("«return 5»", "return 5").replace("def k", "def «k»")
    check(tmp_path, text, kind)


def test_a_kernel_without_source(tmp_path):
    text = "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = 1\n"
    space = {"kernel": kernel, "__name__": "nowhere"}
    exec(compile(text, "<string>", "exec"), space)
    with pytest.raises(UnsupportedSyntaxError, match="source of kernel 'k' cannot be read"):
        space["k"].template()


def test_source_that_is_not_the_functions(tmp_path):
    path = tmp_path / "other.py"
    path.write_text("# nothing\n# here\nkernel = None\n\n\n\n")
    space = {"kernel": kernel, "__name__": "other"}
    exec(compile("@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = 1\n", str(path), "exec"), space)
    with pytest.raises(UnsupportedSyntaxError, match="is not that of kernel 'k'"):
        space["k"].template()


def test_source_from_linecache_alone():
    """Notebook cells and the interactive shell hand their text to `linecache`."""
    text = "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = 7\n"
    name = "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"kernel": kernel, "__name__": "cell"}
    exec(compile(text, name, "exec"), space)
    assert stored_values(space["k"]) == [7]


def test_an_edit_after_the_import_does_not_reach_the_kernel(tmp_path):
    text = "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = 7\n"
    space = load(tmp_path, text)
    (path,) = tmp_path.iterdir()
    path.write_text(text.replace("7", "8888"))
    linecache.checkcache(str(path))
    assert stored_values(space["k"]) == [7]


# The object


def test_lowering_waits_for_the_first_call_and_happens_once():
    def broken(x):
        for i in range(3):
            x[i] = misspelt

    k = kernel(broken)
    assert k.lowerings == 0
    for n in (1, 2):
        with pytest.raises(NameError):
            k.template()
        assert k.lowerings == n
    fine = kernels_of_one_name()[0]
    assert fine.template() is fine.template() is fine._ir
    assert fine.lowerings == 1


def test_threads_that_miss_together_lower_once():
    k = kernels_of_one_name()[0]
    start = threading.Barrier(4)
    found = []

    def call():
        start.wait()
        found.append(k.template())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert k.lowerings == 1 and all(f is found[0] for f in found)


@pytest.mark.parametrize("body", ["pass", "'a remark'", "continue", "t = 1"])
def test_loops_without_stores_are_kernels(tmp_path, body):
    load(tmp_path, f"@kernel\ndef k():\n    for i in range(3):\n        {body}\n")["k"].template()


def test_kernels_carry_their_functions_names():
    def source(x, n):
        """What it does."""
        for i in range(n):
            x[i] = 1

    k = kernel(source)
    assert (k.__name__, k.__doc__, k.__wrapped__) == ("source", "What it does.", source)
    assert k.__qualname__.endswith("<locals>.source") and k.__module__ == __name__
    assert str(k.__signature__) == "(x, n)"
    ref = weakref.ref(k)
    del k
    gc.collect()
    assert ref() is None


def test_arguments_bind_as_in_python():
    @kernel
    def k(x, n, scale):
        for i in range(n):
            x[i] = scale

    assert k.bind((1, 2, 3), {}) == k.bind((1,), {"scale": 3, "n": 2}) == (1, 2, 3)
    for args, kwargs, phrase in (
        ((1, 2), {}, "misses 1 argument: 'scale'"),
        ((1, 2, 3, 4), {}, "takes 3 arguments but 4 were given"),
        ((1, 2), {"size": 3}, "has no parameter named 'size'"),
        ((1, 2, 3), {"n": 3}, "got two values for parameter 'n'"),
    ):
        with pytest.raises(TypeError) as caught:
            k.bind(args, kwargs)
        assert str(caught.value).startswith("Kernel 'k': k() ") and phrase in str(caught.value)


def test_cache_keys_of_templates():
    k = kernels_of_one_name()[0]
    assert k._make_cache_key({}, {}, {}, False) is None
    assert k._make_cache_key({}, {}, {}, True) == (("debug",),)
    assert k._make_cache_key({1: 3, 0: 2}, {}, {}, True) == (("debug",), ("vec", (0, 2), (1, 3)))
    assert k._ir_cache == {}


@pytest.mark.parametrize("decorator", [kernel, func])
def test_only_functions_are_decorated(decorator):
    def stars(*x):
        pass

    def double(**x):
        pass

    for thing in (3, int, len, Holder, lambda x: x, kernels_of_one_name()[0], func(lambda_free)):
        with pytest.raises(TypeError):
            decorator(thing)
    for thing in (stars, double):
        with pytest.raises(UnsupportedSyntaxError, match="fixed number of parameters") as caught:
            decorator(thing)
        assert caught.value.lineno == thing.__code__.co_firstlineno


def lambda_free(x):
    return x


def test_kernels_have_no_defaults():
    def defaults(x, n=3):
        for i in range(n):
            x[i] = 1

    def only(x, *, n):
        for i in range(n):
            x[i] = 1

    with pytest.raises(UnsupportedSyntaxError, match="no default arguments") as caught:
        kernel(defaults)
    assert "def defaults(x, n=3):" in str(caught.value) and "^" in str(caught.value)
    with pytest.raises(UnsupportedSyntaxError, match="no keyword-only"):
        kernel(only)
    with pytest.raises(TypeError, match="namespace"):
        kernel(namespace={1: 2})


def test_long_sums_and_chains_of_elif_are_no_nesting(tmp_path):
    chain = "".join(f"        elif i == {n}:\n            x[i] = {n}\n" for n in range(300))
    text = (
        "@kernel\ndef k(x):\n    for i in range(3):\n        x[i] = "
        + "x[i] + " * 600
        + f"1\n        if i < 0:\n            pass\n{chain}"
    )
    load(tmp_path, text)["k"].template()


def test_deep_nesting_is_refused_cleanly(tmp_path):
    text = "@kernel\ndef «k»(x):\n    for i in range(3):\n        x[i] = " + "- " * 700 + "x[0]\n"
    check(tmp_path, textwrap.dedent(text), UNSUPPORTED, "nested too deeply")
