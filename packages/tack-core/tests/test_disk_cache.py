"""The disk cache: what a later process may run without lowering or compiling it again, and everything that must not be served.

Led by the faults that such caches have had: a device function edited in another file, kernels of one factory replacing each
other, damaged entries, and a debug process that read the plain kernel. Runs are described in `disk_tools`.
"""

from __future__ import annotations

import gc
import inspect
import math
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk_programs import NAMES, OBJECTS, of_object, plain
from disk_tools import Project
from fresh_process import run_program

import tack
from tack.ir.printer import print_ir
from tack.runtime import cache_bundle, cache_store, kernel_utils
from tack.runtime.dispatch import get_backend

TESTS = Path(__file__).parent


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    return Project(monkeypatch, tmp_path)


def entries(project: Project, kind: str) -> list[Path]:
    return sorted((project.folder / "cache").rglob(f"*.{kind}"))


MAIN = """
    import numpy as np
    import tack
    from kernels import apply

    def answer():
        x = tack.array(np.arange(4, dtype=np.float32))
        out = tack.empty_like(x)
        apply(x, out)
        return out.numpy().tolist()
"""

KERNELS = """
    import tack
    import helper
    from helper import bump

    @tack.kernel
    def apply(x, out):
        for i in range(x.shape[0]):
            out[i] = bump(x[i])
"""

HELPER = """
    import tack

    AMOUNT = tack.constant({})

    @tack.func
    def bump(v):
        return v + AMOUNT
"""

# --------------------------------------------------------------------------------------------- the faults there have been


@pytest.mark.spec("cache-002", "cache-016", "cache-104", "cache-194", "cache-195")
def test_an_edited_device_function_of_another_file_is_compiled(project: Project) -> None:
    """Bindings do not change during a process; across processes a device function is edited, a constant changes."""
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    first, again = project.run(main=MAIN), project.run()
    assert first.answer == again.answer == [1, 2, 3, 4]
    assert (first.lowered, first.compiled, first.loaded) == (["apply"], 1, 0)
    assert (again.lowered, again.compiled, again.loaded) == ([], 0, 1)
    assert project.run(helper=HELPER.format(1.0).replace("v + AMOUNT", "v * 10 + AMOUNT")).answer == [1, 11, 21, 31]
    assert project.run(helper=HELPER.format(2.0)).answer == [2, 3, 4, 5]
    back = project.run(helper=HELPER.format(1.0))  # its template was replaced, its variant is still there
    assert back.answer == [1, 2, 3, 4] and back.lowered == ["apply"] and (back.compiled, back.loaded) == (0, 1)


FACTORY = """
    import numpy as np
    import tack

    @tack.func
    def double(v):
        return v * 2.0

    @tack.func
    def negate(v):
        return -v

    def make(fn):
        @tack.kernel
        def kernel(x, out):
            for i in range(x.shape[0]):
                out[i] = fn(x[i])
        return kernel

    def answer():
        x = tack.array(np.arange(1, 4, dtype=np.float32))
        answers = []
        for fn in {}:
            out = tack.empty_like(x)
            make(fn)(x, out)
            answers.append(out.numpy().tolist())
        return answers
"""


@pytest.mark.spec("cache-189", "cache-198")
def test_kernels_of_one_factory_keep_their_own_entries(project: Project) -> None:
    doubled, negated = [2, 4, 6], [-1, -2, -3]
    first = project.run(main=FACTORY.format("(double, negate)"))
    assert first.answer == [doubled, negated] and first.compiled == 2
    for order, expected in (("(double, negate)", [doubled, negated]), ("(negate, double, negate)", [negated, doubled, negated])):
        run = project.run(main=FACTORY.format(order))
        assert run.answer == expected and run.from_disk and run.loaded == len(expected)
    assert len(entries(project, "ir")) == 2


TWINS = """
    import numpy as np
    import tack

    def made(number):
        AMOUNT = tack.constant(number)

        @tack.func
        def amount():
            return AMOUNT

        @tack.device_class
        class Has:
            @tack.func
            def amount(self):
                return AMOUNT

        class Holds:
            def __init__(self, part):
                self.part = part

        return amount, Has, tack.device_class(Holds)

    (f, A, H), (g, B, _) = made(1.0), made(2.0)

    @tack.device_class
    class Calls:
        def __init__(self, amount):
            self.amount = amount

    def of_functions(f, g):
        @tack.kernel
        def kernel(x):
            for i in range(x.shape[0]):
                x[i] = f() + g() * 10.0
        return kernel

    def of_objects():
        @tack.kernel
        def kernel(a, b, x):
            for i in range(x.shape[0]):
                x[i] = a.amount() + b.amount() * 10.0
        return kernel

    def of_parts():
        @tack.kernel
        def kernel(a, b, x):
            for i in range(x.shape[0]):
                x[i] = a.part.amount() + b.part.amount() * 10.0
        return kernel

    def run(kernel, *args):
        x = tack.zeros(1)
        kernel(*args, x)
        return x[0]

    def answer():
        return [{}]
"""
_PAIRS = {
    "of_functions": ("run(of_functions(f, f))", "run(of_functions(f, g))", "run(of_functions(g, f))"),
    "of_classes": ("run(of_objects(), A(), A())", "run(of_objects(), A(), B())", "run(of_objects(), B(), A())"),
    "of_attributes": (
        "run(of_objects(), Calls(f), Calls(f))",
        "run(of_objects(), Calls(f), Calls(g))",
        "run(of_objects(), Calls(g), Calls(f))",
    ),
    "of_parts": ("run(of_parts(), H(A()), H(A()))", "run(of_parts(), H(A()), H(B()))", "run(of_parts(), H(B()), H(A()))"),
}


@pytest.mark.spec("cache-195", "cache-196", "cache-198")
@pytest.mark.parametrize("case", _PAIRS)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_functions_of_equal_text_are_told_apart_by_which_are_the_same(
    case: str, order: tuple[int, ...], project: Project
) -> None:
    """Two names of one function, then of two that differ in what their own names mean; within a process and after an edit."""
    expected = [11, 21, 12]
    assert project.run(main=TWINS.format(", ".join(_PAIRS[case][k] for k in order))).answer == [expected[k] for k in order]
    for k in order:
        assert project.run(main=TWINS.format(_PAIRS[case][k])).answer == [expected[k]]


@pytest.mark.spec("cache-191", "cache-192")
def test_debug_and_plain_kernels_never_share_an_entry(project: Project) -> None:
    """In either direction, and a checked kernel from the disk still names the access that it caught."""
    main = MAIN.replace("tack.empty_like(x)", "tack.zeros(3)")
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    texts = []
    for _ in range(2):
        tack.set_debug(True)
        try:
            with pytest.raises(IndexError) as caught:
                project.run(main=main)
        finally:
            tack.set_debug(False)
        texts.append(str(caught.value))
        whole = project.run(main=MAIN)
        assert whole.answer == [1, 2, 3, 4]
    assert whole.from_disk
    assert texts[0] == texts[1] and "index 3 is outside 'out', which has 3 elements, at i = 3" in texts[0]
    assert f'File "{project.folder / "kernels.py"}", line 9' in texts[0] and "out[i] = bump(x[i])" in texts[0]


@pytest.mark.parametrize("first", [False, True])
def test_a_debug_process_after_a_plain_one(first: bool, project: Project) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    for debug in (first, not first, first, not first):
        tack.set_debug(debug)
        try:
            run = project.run(main=MAIN)
        finally:
            tack.set_debug(False)
        assert run.answer == [1, 2, 3, 4]
    assert run.from_disk


@pytest.mark.parametrize("kind", ["ir", "variant"])
@pytest.mark.parametrize("damage", ["another", "empty", "half", "text"])
def test_an_entry_that_cannot_be_used_is_a_miss(kind: str, damage: str, project: Project) -> None:
    """Also one that is whole, and stands under its key, but means nothing: the kernel is compiled, and the entry made anew."""
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    project.run(main=MAIN)
    store, (path,) = project.store, entries(project, kind)
    key = bytes.fromhex(path.stem)
    payload = store.get(kind, key)
    assert payload is not None
    (other,) = entries(project, "variant" if kind == "ir" else "ir")
    wrong = {
        "another": store.get(other.suffix[1:], bytes.fromhex(other.stem)), "empty": b"", "half": payload[: len(payload) // 2],
        "text": b"cos\nsystem\n(S'false'\ntR.",
    }[damage]  # fmt: skip
    assert wrong is not None
    store.put(kind, key, wrong)
    bad = store.stats[kind].bad
    run = project.run()
    assert run.answer == [1, 2, 3, 4] and not run.from_disk and store.stats[kind].bad == bad + 1
    assert project.run().from_disk


# ----------------------------------------------------------------------------------------------- edits that must be seen


def _each_version_is_seen(project: Project, versions: list[tuple[str, list[float]]]) -> None:
    """The versions of a program in turn: each is compiled once, served from the disk while it stands, and gives its numbers."""
    for text, expected in versions:
        for again in range(2):
            run = project.run(main=text)
            assert run.answer == expected
            assert run.from_disk == bool(again)
    for text, expected in versions:
        assert project.run(main=text).answer == expected


@pytest.mark.spec("cache-002", "cache-189")
def test_an_edit_of_the_kernel_itself_is_seen(project: Project) -> None:
    """Each text has an entry of its own, also where other names, modules or comments make no difference."""
    _each_version_is_seen(project, [(plain("", "x[i] + 1.0"), [2, 3, 6]), (plain("", "x[i] + 2.0"), [3, 4, 7])])
    for changed in (
        "    # a comment\n        out[i] = ",
        "    out[i] = 0.0\n        out[i] = ",
        "    out[i]=",
        "    out[ i ] = ",
    ):
        text = plain("", "x[i] + 1.0").replace("    out[i] = ", changed)
        assert [project.run(main=text).from_disk for _ in range(2)] == [False, True]
    assert project.run(main=plain("", "x[i] + 1.0")).from_disk


RESULT = """
    import tack

    R = {}

    @tack.kernel
    def k(x) -> R:
        for i in range(x.shape[0]):
            x[i] += 1.0
        return x[0] / 2.0

    def answer():
        return k(tack.zeros(2))
"""


@pytest.mark.spec("cache-189")
def test_the_type_of_a_kernels_value_is_in_the_key(project: Project) -> None:
    for kind, value in (("tack.f64", 0.5), ("int", 0), ("bool", True)) * 2:
        run = project.run(main=RESULT.format(kind))
        assert run.answer == value and type(run.answer) is type(value)
    assert run.from_disk and len(entries(project, "ir")) == 3


@pytest.mark.spec("cache-002", "cache-104", "cache-194", "cache-195")
@pytest.mark.rule("N6")
@pytest.mark.parametrize("case", NAMES)
def test_an_edit_of_what_a_name_means_is_seen(case: str, project: Project) -> None:
    value, versions = NAMES[case]
    _each_version_is_seen(project, [(plain(names, value), expected) for names, expected in versions])


@pytest.mark.spec("cache-002", "cache-193", "cache-196")
@pytest.mark.parametrize("case", OBJECTS)
def test_an_edit_of_what_an_object_is_is_seen(case: str, project: Project) -> None:
    value, versions = OBJECTS[case]
    _each_version_is_seen(project, [(of_object(classes, value), expected) for classes, expected in versions])


@pytest.mark.spec("cache-193")
@pytest.mark.parametrize(
    "case", ["a method", "the method that super() finds", "the shape of an array it holds", "the class's name"]
)
def test_the_content_of_objects_is_in_the_key(case: str, project: Project) -> None:
    """Not only is the other version seen: both keep their entries, and nothing is lowered when the first comes back."""
    value, versions = OBJECTS["a method" if case == "the class's name" else case]
    texts = [of_object(classes, value) for classes, _ in versions]
    if case == "the class's name":
        texts[1] = texts[0].replace("Shift", "Move")
    for text in texts * 2:
        run = project.run(main=text)
    assert run.from_disk and len(entries(project, "ir")) == 2


FAKE = """
    from types import ModuleType
    m = ModuleType("math")
    m.pi = math.pi
"""


def test_a_module_that_only_looks_like_another_is_told_apart(project: Project) -> None:
    """`math.pi` is part of the language; a plain number of some module could change, and is refused."""
    assert project.run(main=plain("m = math", "m.pi")).answer == [math.pi] * 3
    with pytest.raises(NameError, match="plain number outside the kernel"):
        project.run(main=plain(FAKE, "m.pi"))
    assert project.run(main=plain("m = math", "m.pi")).from_disk


GRID = """
    import tack

    @tack.device_class
    class Grid:
        __tack_iterate__ = {}
        def __init__(self):
            self.nx, self.ny = 2, 3

    @tack.kernel
    def k(grid, out):
        for {} in grid:
            out[{}] += 1

    def answer():
        out = tack.zeros(6, tack.i32)
        k(Grid(), out)
        return out.numpy().tolist()
"""


@pytest.mark.spec("cache-193")
def test_an_edit_of_what_a_loop_over_an_object_runs_over_is_seen(project: Project) -> None:
    ones, twos = GRID.format('("nx",)', "i", "i"), GRID.format('("ny",)', "i", "i")
    _each_version_is_seen(project, [(ones, [1, 1, 0, 0, 0, 0]), (twos, [1, 1, 1, 0, 0, 0])])


SHADOWED = """
    import numpy as np
    import tack

    class Base:
        @tack.func
        def at(self, v):
            return v + 1.0

    @tack.device_class
    class Shift(Base):
        {}

    @tack.kernel
    def k(o, x, out):
        for i in range(x.shape[0]):
            out[i] = o.at(x[i])

    def answer():
        x = tack.ones(2)
        out = tack.zeros(2)
        k(Shift(), x, out)
        return out.numpy().tolist()
"""


@pytest.mark.parametrize("hidden", ["at = 3.0", "at = property(lambda self: 1)", "def at(self, v): return v"])
def test_a_method_that_gets_hidden_is_refused_as_without_a_cache(hidden: str, project: Project) -> None:
    assert project.run(main=SHADOWED.format("pass")).answer == [2, 2]
    assert project.run(main=SHADOWED.format("pass")).from_disk
    with pytest.raises((TypeError, tack.UnsupportedSyntaxError)):
        project.run(main=SHADOWED.format(hidden))


def test_modules_of_equal_text_are_told_apart_by_what_their_names_mean(project: Project) -> None:
    """The device function has the same source in both modules, and reads a constant of its own module."""
    project.write(one=HELPER.format(1.0), two=HELPER.format(2.0))
    main = KERNELS.replace("import helper", "import {0} as helper").replace("from helper", "from {0}")
    for name, expected in (("one", [1, 2, 3, 4]), ("two", [2, 3, 4, 5])) * 2:
        assert project.run(kernels=main.format(name), main=MAIN).answer == expected


ARRAYS = """
    import numpy as np
    import tack

    @tack.kernel
    def k(v, out):
        for i in range(out.shape[0]):
            out[i] = (v[i] * v[i]).sum()

    def answer():
        out = tack.zeros(2)
        k(tack.array(np.arange(12, dtype=np.float32)[:2 * {0}].reshape(2, {0}), tack.vec{0}), out)
        return out.numpy().tolist()
"""


@pytest.mark.spec("cache-190")
def test_vector_widths_are_told_apart(project: Project) -> None:
    """LC3: width 2, then width 3, gave wrong norms once."""
    two, three = ARRAYS.format(2), ARRAYS.format(3)
    _each_version_is_seen(project, [(two, [0 + 1, 4 + 9]), (three, [0 + 1 + 4, 9 + 16 + 25])])


CALLS = """
    import numpy as np
    import tack

    @tack.kernel
    def k(a, out, c):
        for i, j in tack.ndindex(a.shape[0], a.shape[1]):
            out[i, j] = a[i, j] * c

    def answer():
        a = tack.array(np.arange({0} * {1}, dtype=np.{2}).reshape({0}, {1}))
        out = {3}
        k(a, out, {4})
        return out.numpy().tolist()
"""


@pytest.mark.spec("cache-003", "cache-190")
@pytest.mark.parametrize(
    "other",
    [(2, 4, "float32", "a.copy()", "2.0"), (2, 3, "float64", "a.copy()", "2.0"), (2, 3, "float32", "a.copy()", "2"),
     (2, 3, "float32", "a.copy()", "2**40"), (2, 3, "float32", "a", "2.0")],
    ids=["row stride", "dtype", "kind of scalar", "width of scalar", "overlap"],
)  # fmt: skip
def test_what_a_variant_bakes_in_is_in_its_key(other: tuple[Any, ...], project: Project) -> None:
    usual = (2, 3, "float32", "a.copy()", "2.0")
    for case, compiled in ((usual, 1), (other, 1), (usual, 0), (other, 0)):
        run = project.run(main=CALLS.format(*case))
        rows, cols, dtype, _, factor = case
        assert run.answer == (np.arange(rows * cols, dtype=dtype).reshape(rows, cols) * eval(factor)).tolist()
        assert run.compiled == compiled
    longer = project.run(main=CALLS.format(7, *usual[1:4], "-3.5"))  # neither the launch length nor the number is
    assert longer.from_disk and longer.answer == (np.arange(21, dtype=np.float32).reshape(7, 3) * np.float32(-3.5)).tolist()


TEXTURE = """
    import numpy as np
    import tack

    @tack.kernel
    def k(tex, out):
        for i in range(out.shape[0]):
            out[i] = tex.sample((i + 0.25) / {0}, 0.5, 0.5)

    def answer():
        tex = tack.texture3d(np.arange({0}, dtype=np.float32).reshape(1, 1, {0}){1})
        out = tack.zeros({0})
        k(tex, out)
        return out.numpy().tolist()
"""


def test_textures_are_told_apart_by_extents_and_filter(project: Project) -> None:
    nearest = ', interp="nearest"'
    versions = [(TEXTURE.format(4, ""), [0, 0.75, 1.75, 2.75]), (TEXTURE.format(4, nearest), [0, 1, 2, 3])]
    _each_version_is_seen(project, [*versions, (TEXTURE.format(2, ""), [0, 0.75])])


# ------------------------------------------------------------------------------------------- what is not kept on the disk

UNKEPT = {
    "an explicit namespace": """
        @tack.func
        def f(v):
            return v + 1.0

        @tack.kernel(namespace={"g": f})
        def k(x):
            for i in range(x.shape[0]):
                x[i] = g(x[i])
    """,
    "an object without a fingerprint": """
        thing = object()

        @tack.kernel
        def k(x: thing):
            for i in range(x.shape[0]):
                x[i] += 1.0
    """,
    "an annotation that holds such an object": """
        from typing import Annotated

        thing = Annotated[int, object()]

        @tack.kernel
        def k(x: thing):
            for i in range(x.shape[0]):
                x[i] += 1.0
    """,
    "an object that says nothing about itself": """
        class Quiet:
            def __getattr__(self, name):
                raise RuntimeError("not now")

        thing = Quiet()

        @tack.kernel
        def k(x: thing):
            for i in range(x.shape[0]):
                x[i] += 1.0
    """,
    "a source whose end only parsing finds": """
        @tack.kernel
        def k(x):
            for i in range(x.shape[0]):
                x[i] = (x[i] + 1.0
        )
    """,
}


@pytest.mark.spec("cache-197")
@pytest.mark.parametrize("case", UNKEPT)
def test_what_cannot_be_told_again_is_not_kept(case: str, project: Project) -> None:
    answer = "def answer():\n    x = tack.zeros(2)\n    k(x)\n    return x.numpy().tolist()\n"
    text = f"import tack\n{inspect.cleandoc(UNKEPT[case])}\n{answer}"
    for _ in range(2):
        run = project.run(main=text)
        assert run.answer == [1, 1] and run.lowered == ["k"] and run.compiled == 1
    assert not entries(project, "ir") and not entries(project, "variant")


SPLIT = """
@tack.func
def f():
    return (-
{})

@tack.func
def g(a, b):
    return a + b
"""


def test_a_device_function_whose_end_only_parsing_finds_keeps_its_kernel_off_the_disk(project: Project) -> None:
    """Python's code for it ends a line early, so that its lines would be equal for both; no place in the IR is in it."""
    for number, expected in ((1.0, [0, 1, 4]), (2.0, [-1, 0, 3])) * 2:
        run = project.run(main=plain(SPLIT.format(number), "g(x[i], f())"))
        assert run.answer == expected and run.lowered == ["k"]


NOTES = """
    from typing import Any, Optional
    import numpy.typing as npt

    A = npt.NDArray[np.float32]
    B = Optional[tack.Array]
    C = int | None

    class D:
        pass

    @tack.func
    def f(a: A, b: Any, c: C, d: D, e: np.ndarray, f: B, g: "no name") -> float:
        return a
"""


def test_annotations_of_every_usual_kind_do_not_keep_a_kernel_off_the_disk(project: Project) -> None:
    for again in range(2):
        run = project.run(main=plain(NOTES, "f(x[i], 1, 1, 1, 1, 1, 1)"))
        assert run.answer == [1, 2, 5] and run.from_disk == bool(again)


@pytest.mark.spec("cache-195")
def test_a_bundle_of_before_an_edit_does_not_hide_what_was_stored_after_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_bundle, "loaded", {})
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    project.run(main=MAIN)
    tack.cache.bundle(project.folder / "b")
    project.write(helper=HELPER.format(2.0))
    for again in range(3):
        tack.cache.load_bundle(project.folder / "b")
        run = project.run()
        assert run.answer == [2, 3, 4, 5] and run.from_disk == bool(again)


# ------------------------------------------------------------------------------------------------------ names in a process

TWICE = """
    import numpy as np
    import tack

    C = tack.constant(1.0)

    @tack.func
    def f(v):
        return v + C

    @tack.device_class
    class Shift:
        @tack.func
        def at(self, v):
            return v * 2.0

    @tack.kernel
    def k(o, v, out):
        for i in range(out.shape[0]):
            out[i] = o.at(f(v[i].x))

    @tack.func
    def other(self, v):
        return v * 100.0

    def answer():
        global C
        answers = []
        for width in (tack.vec2, tack.vec3):
            out = tack.zeros(1)
            k(Shift(), tack.ones(1, width), out)
            answers += out.numpy().tolist()
            C, Shift.at = tack.constant(50.0), other
        return answers
"""


@pytest.mark.rule("N6")
@pytest.mark.spec("cache-195")
def test_names_keep_the_meaning_of_a_template_from_the_disk(project: Project) -> None:
    """A name that is bound anew between two specializations means what it meant at the first, wherever that came from."""
    first = project.run(main=TWICE)
    assert first.answer == [4, 4] and len(first.lowered) == 2
    again = project.run()
    assert again.answer == [4, 4]
    project.write(main=TWICE.replace("(tack.vec2, tack.vec3)", "(tack.vec2, tack.vec4)"))
    mixed = project.run()
    assert mixed.answer == [4, 4] and len(mixed.lowered) == 1


# ------------------------------------------------------------------------------------------------------- moved programs

MISTAKES = """
    import tack
    from helper import pick

    @tack.kernel
    def racy(x):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1]

    @tack.kernel
    def flat(x, out):
        for i in range(x.shape[0]):
            out[i] = pick(x, i)

    def answer():
        flat(tack.ones(3), tack.zeros(3))
        racy(tack.ones(3))
"""

PICK = """
    import tack

    @tack.func
    def pick(a, k):
        return a[k]
"""


def test_lines_above_and_another_directory_leave_the_keys_equal_and_the_places_right(project: Project) -> None:
    """Errors, warnings and debug mode speak of the lines as they stand where the program is run."""
    for lines, folder in ((0, project.folder), (7, project.folder), (3, project.folder / "elsewhere")):
        folder.mkdir(exist_ok=True)
        project.folder = folder
        above = "\n" * lines + "# a comment\n"
        with pytest.warns(tack.RaceWarning) as warned:
            run = project.run(helper=above + inspect.cleandoc(PICK), main=above + inspect.cleandoc(MISTAKES))
        assert run.from_disk == (lines > 0)
        (race,) = warned
        assert (race.filename, race.lineno) == (str(folder / "main.py"), lines + 8)
        with pytest.raises(IndexError) as caught:
            run.module.flat(tack.ones((3, 3)), tack.zeros(3))
        assert f'File "{folder / "helper.py"}", line {lines + 6}' in str(caught.value)
        assert caught.value.lineno == lines + 6
        variant = next(iter(get_backend()._cache[run.module.flat].values()))
        assert variant.ir.loop.body[-1].span.source.file == str(folder / "main.py")
        assert variant.ir.loop.body[-1].span.lineno == lines + 13


# -------------------------------------------------------------------------------------------------- what a hit does not do


@pytest.mark.spec("cache-138", "cache-188")
def test_the_disk_is_asked_only_where_memory_has_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    module = project.run(main=MAIN).module
    with monkeypatch.context() as patch:
        for name in ("get", "put"):
            patch.setattr(cache_store.Store, name, _forbidden)
        patch.setattr(cache_store, "store", _forbidden)
        for n in (4, 5, 600):
            x = tack.zeros(n)
            module.apply(x, x.copy())


def _forbidden(*_args: Any, **_kwargs: Any) -> None:
    raise AssertionError("nothing of this kind should happen here")


def test_a_kernel_from_the_disk_runs_no_pass_and_generates_no_code(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from tack.ir import verify
    from tack.lang import source
    from tack.runtime import cpu_jit

    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    project.run(main=MAIN)
    with monkeypatch.context() as patch:
        patch.setattr(kernel_utils, "compile_ir", _forbidden)
        patch.setattr(verify, "verify_ir", _forbidden)
        patch.setattr(source, "parse", _forbidden)
        for name in ("compile_module", "emit_object", "_compiled"):
            patch.setattr(cpu_jit, name, _forbidden)
        patch.setattr(tack.Kernel, "_lower", _forbidden)
        patch.setattr("tack.runtime.cache_format._decoded", _forbidden)  # nor is the IR read
        assert project.run().answer == [1, 2, 3, 4]


def test_what_is_inspected_is_the_same_from_the_disk(project: Project) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    texts = []
    for again in range(2):
        run = project.run(main=MAIN)
        assert run.from_disk == bool(again)
        args = tack.zeros(4), tack.zeros(4)
        texts.append([tack.inspect(run.module.apply, *args, mode=mode) for mode in ("ir", "source", "optimized", "asm")])
        texts[-1].append(print_ir(run.module.apply.template()))
    assert texts[0] == texts[1]


def test_origins_say_where_variants_came_from(project: Project) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    for again in range(2):
        module = project.run(main=MAIN).module
        (variant,) = get_backend()._cache[module.apply].values()
        origin = kernel_utils.origins[variant]
        assert origin.from_disk == bool(again) and 0 < origin.seconds < 60


FEATURES = """
    import numpy as np
    import tack

    @tack.kernel
    def total(x) -> float:
        start = 0.5
        for i in range(x.shape[0]):
            x[i] += start
        return x[0] + start

    @tack.kernel
    def histogram(x, bins):
        for i in range(x.shape[0]):
            tack.atomic_add(bins, x[i], 1)

    @tack.kernel
    def told(x):
        for i in range(1):
            print("first:", x[i], "of", x.shape[0])

    @tack.kernel
    def early(x, out):
        for i in range(x.shape[0]):
            t = tack.local_array(tack.i64, 4)
            for j in range(4):
                t[j] = j * x[i]
                if j == 2:
                    break
            k = 0
            while k < 3 and t[k] < 4:
                k += 1
            out[i] = k if x[i] > 0 else -t[2]

    def answer():
        x = tack.array(np.array([1, 0, 3], np.float32))
        first = total(x)
        bins, out = tack.zeros(4, tack.i32), tack.zeros(3, tack.i32)
        keys = tack.array(np.array([1, 0, 1], np.int32))
        histogram(keys, bins)
        told(x)
        early(keys, out)
        return first, x.numpy().tolist(), bins.numpy().tolist(), out.numpy().tolist()
"""


def test_kernels_of_every_kind_come_back_from_the_disk(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    expected = (2.0, [1.5, 0.5, 3.5], [1, 2, 0, 0], [3, 0, 3])
    for again in range(2):
        run = project.run(main=FEATURES)
        assert run.answer == expected and run.from_disk == bool(again)
        assert capfd.readouterr().out == "first: 1.5 of 3\n"


REFUSED = """
    import tack

    @tack.kernel
    def grouped(x):
        for i in range(x.shape[0]):
            x[i] = tack.thread_id()

    @tack.kernel
    def counted(x):
        for i in range(x.shape[0]):
            tack.atomic_add(x, i, 1)

    @tack.kernel
    def broken(x):
        for i in range(x.shape[0]):
            x[i] = x[i].y

    def answer():
        texts = []
        for kernel, args in ((grouped, ()), (counted, ()), (broken, ())):
            try:
                kernel(tack.zeros(3, tack.i32))
            except Exception as error:
                texts.append(str(error))
        return texts
"""


def test_refusals_are_the_same_from_the_disk(project: Project) -> None:
    """What a kernel needs and the device has not is told with its place, from the disk too; mistakes are not kept."""
    first, again = project.run(main=REFUSED), project.run()
    assert first.answer == again.answer and len(first.answer) == 2
    assert 'main.py", line 7' in again.answer[0] and "`tack.thread_id` needs workgroup execution" in again.answer[0]
    assert first.lowered == ["grouped", "counted", "broken"] and again.lowered == ["broken"]


# ---------------------------------------------------------------------------------------------------------------- entries


def _no_target(backend: Any) -> None:
    return None


def _failing_target(backend: Any) -> None:
    raise OSError("the driver does not say its version")


@pytest.mark.spec("cache-201")
@pytest.mark.parametrize("target", [_no_target, _failing_target])
def test_a_backend_without_a_target_keeps_templates_alone(project: Project, monkeypatch: pytest.MonkeyPatch, target: Any) -> None:
    """Nor does one fail a call that cannot tell its target: the cache never does."""
    monkeypatch.setattr(type(get_backend()), "cache_target", target)
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    for again in range(2):
        run = project.run(main=MAIN)
        assert run.answer == [1, 2, 3, 4] and (len(run.lowered), run.compiled) == (1 - again, 1)
    assert len(entries(project, "ir")) == 1 and not entries(project, "variant")


@pytest.mark.spec("cache-190", "cache-201")
def test_variants_of_another_target_are_not_loaded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    project.run(main=MAIN)
    target = get_backend().cache_target()
    assert target is not None and len(target) == 6
    version, triple, cpu, features, width, code = target
    assert all(part.isdigit() for part in version.split(".")) and triple.count("-") >= 2 and cpu and features
    assert width in ("128", "256", "512") and code.startswith("llvm ")
    for place in range(len(target)):
        other = (*target[:place], "another", *target[place + 1 :])
        with monkeypatch.context() as patch:
            patch.setattr(type(get_backend()), "cache_target", lambda backend, other=other: other)
            run = project.run()
            assert run.answer == [1, 2, 3, 4] and (run.lowered, run.compiled) == ([], 1)
    assert project.run().from_disk


def test_an_artifact_that_does_not_load_is_compiled_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    project.run(main=MAIN)
    with monkeypatch.context() as patch:
        patch.setattr(type(get_backend()), "load_variant", _forbidden)
        run = project.run()
        assert run.answer == [1, 2, 3, 4] and (run.lowered, run.compiled) == ([], 1)


@pytest.mark.parametrize("mode", ["read", "off"])
def test_modes_that_do_not_write_store_nothing(mode: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    monkeypatch.setenv("TACK_CACHE", mode)
    for _ in range(2):
        assert project.run(main=MAIN).compiled == 1
    assert not entries(project, "ir") and not entries(project, "variant")


@pytest.mark.spec("cache-209")
def test_two_writers_of_an_entry_write_the_same_bytes(project: Project) -> None:
    project.write(helper=HELPER.format(1.0), kernels=KERNELS)
    written = []
    for _ in range(2):
        project.run(main=MAIN)
        found = [*entries(project, "ir"), *entries(project, "variant")]
        written.append([(path.name, path.read_bytes()) for path in found])
        for path in found:
            path.unlink()
    assert written[0] == written[1] and len(written[0]) == 2


@pytest.mark.slow
@pytest.mark.spec("cache-209")
def test_processes_with_other_hash_seeds_write_the_same_bytes(tmp_path: Path) -> None:
    program = f"""
        import sys
        sys.path.insert(0, {str(TESTS)!r})
        import numpy as np
        import tack
        from golden import kernels

        for name, args in kernels.CALLS.items():
            try:
                getattr(kernels, name)(*[tack.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args])
            except RuntimeError:  # what the CPU has not
                pass
    """
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        run_program(program, PYTHONHASHSEED=seed, TACK_CACHE="write", TACK_CACHE_DIR=str(folder))
        written.append({p.name: p.read_bytes() for kind in ("ir", "variant") for p in folder.rglob(f"*.{kind}")})
    assert written[0] == written[1] and len(written[0]) > 20


# -------------------------------------------------------------------------------------------------------------- lifetimes


def test_classes_and_kernels_of_one_call_are_let_go(project: Project) -> None:
    """Neither an entry that is written nor one that is read keeps anything alive."""
    classes = """
        def make():
            @tack.device_class
            class Shift:
                by = 1.0
                @tack.func
                def at(self, v):
                    return v + self.by
            return Shift()
    """
    for again in range(2):
        run = project.run(main=of_object(classes, "o.at(x[i])"))
        assert run.answer == [2, 3, 6] and run.from_disk == bool(again)
        thing = run.module.make()
        x, out = tack.ones(3), tack.zeros(3, tack.f64)
        run.module.k(thing, x, out)
        assert out.numpy().tolist() == [2, 2, 2]
        gone = weakref.ref(type(thing))
        del thing
        gc.collect()
        assert gone() is None
        kernel = weakref.ref(run.module.k)
        del run
        gc.collect()
        assert kernel() is None
