"""Names that classes have a part in: `__x` in a class body, and what `super().m` and `Class.m` keep as their meaning (N1, N6)."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from disk_tools import Project
from rule_tools import CPU, INTERPRETER

import tack

__c = tack.constant(2.0)
_A__c = tack.constant(3.0)
_B__c = tack.constant(5.0)


@tack.func
def __g(x):
    return x + 100.0


@tack.func
def _A__g(x):
    return x + 1000.0


def value(kernel, *args) -> float:
    """What the kernel leaves in `out`, its last argument; the interpreter must leave the same."""
    mine, theirs = np.zeros(1, np.float32), np.zeros(1, np.float32)
    CPU.run(kernel, [*args, mine])
    INTERPRETER.run(kernel, [*args, theirs])
    assert mine[0] == theirs[0]
    return float(mine[0])


@tack.device_class
class A:
    __k = tack.constant(7.0)
    __trailing__ = tack.constant(11.0)

    def __init__(self) -> None:
        self.__hidden = 1.0

    @tack.func
    def __helper(self, __x, *, __y=0.5):
        __t = __g(__x)
        __t += __y
        for __i in range(2):
            __t += __i
        return __t

    @tack.func
    def at(self, x):
        return self.__helper(x) * __c

    @tack.func
    def reads(self):
        return A.__k + A.__trailing__

    @tack.func
    def hidden(self):
        return self.__hidden

    @staticmethod
    @tack.func
    def fixed(__x):
        return __x * __c

    @tack.kernel
    def run(self, __out):
        for __j in range(__out.shape[0]):
            __out[__j] = self.at(1.0) + A.fixed(10.0)

    def made(self):
        c = __c

        @tack.kernel
        def inner(out):
            for i in range(out.shape[0]):
                out[i] = __g(1.0) + c

        return inner

    def closes(self):
        __c = tack.constant(40.0)

        @tack.kernel
        def inner(out):
            for i in range(out.shape[0]):
                out[i] = __c

        return inner

    global outside

    @tack.kernel
    def outside(out):
        for i in range(out.shape[0]):
            out[i] = __c

    class ___:
        @tack.kernel
        def kernel(out):
            for i in range(out.shape[0]):
                out[i] = __c

    class __B:
        @tack.kernel
        def kernel(out):
            for i in range(out.shape[0]):
                out[i] = __c

        @tack.kernel
        def print(out):
            for i in range(out.shape[0]):
                out[i] = __c
                print(f"{__c}")


@tack.kernel
def plain(out):
    for i in range(out.shape[0]):
        out[i] = __c + _A__c


@tack.kernel
def reads(a, out):
    for i in range(out.shape[0]):
        out[i] = a.reads()


@tack.kernel
def hidden(a, out):
    for i in range(out.shape[0]):
        out[i] = a.hidden()


@pytest.mark.rule("N1", "N2")
def test_names_in_a_class_body_are_those_that_python_reads(capfd: pytest.CaptureFixture[str]) -> None:
    a = A()
    assert A._A__helper.__wrapped__.__code__.co_varnames[:3] == ("self", "_A__x", "_A__y")
    assert value(A.run, a) == (1.0 + 1000.0 + 0.5 + 1.0) * 3.0 + 10.0 * 3.0
    assert value(reads, a) == 18.0
    assert value(a.made()) == 1001.0 + 3.0
    assert value(a.closes()) == 40.0
    assert value(outside) == 3.0  # noqa: F821
    assert value(getattr(A, "___").kernel) == 2.0  # a class of underscores has no part in names
    assert value(A._A__B.kernel) == 5.0
    assert value(plain) == 5.0
    A._A__B.print(tack.zeros(1))
    assert capfd.readouterr().out == "5.0\n"


@pytest.mark.rule("N1")
def test_parameters_of_a_kernel_in_a_class_have_the_names_that_python_gives_them() -> None:
    out = tack.zeros(1)
    A.run(A(), _A__out=out)
    assert out[0] == 3037.5
    with pytest.raises(TypeError, match="no parameter named '__out'"):
        A.run(A(), **{"__out": out})


@pytest.mark.rule("F2")
def test_private_attributes_are_refused_by_the_name_they_have() -> None:
    with pytest.raises(TypeError, match=r"kernels do not see '_A__hidden' of class A(.|\n)*Name it `hidden`"):
        hidden(A(), tack.zeros(1))


# ------------------------------------------------------------------------------------------------------ N6: meanings stay

TEXT = """
    import tack

    @tack.device_class
    class Base:
        factor = tack.constant(2.0)
        real = tack.f32

        @tack.func
        def at(self, x):
            return x * 2.0

        @staticmethod
        @tack.func
        def fixed(x):
            return x * 2.0

    @tack.func
    def changed_at(self, x):
        return x * 50.0

    @tack.func
    def changed_fixed(x):
        return x * 50.0

    @tack.device_class
    class Derived(Base):
        @tack.func
        def at(self, x):
            return {read}

        @tack.func
        def fixed(self, x):
            return {read}

        @tack.func
        def read(self, x):
            return {read}

    @tack.kernel
    def k(d, v, out):
        for i in range(out.shape[0]):
            out[i] = d.read(v[i].x)

    def answer():
        answers = []
        for width in {widths}:
            out = tack.zeros(1)
            k(Derived(), tack.ones(1, width), out)
            answers.append(out[0])
            {change}
        return answers
"""
CASES = {  # what a method reads, 2.0 for 1.0, and a statement that gives it another meaning
    "super().at(x)": "Base.at = changed_at",
    "super().fixed(x)": "Base.fixed = staticmethod(changed_fixed)",
    "super().at(x) * 1.0": "Base.at = 5",
    "Base.at(self, x)": "Base.at = changed_at",
    "Base.fixed(x)": "Base.fixed = staticmethod(changed_fixed)",
    "Base.factor * x": "Base.factor = tack.constant(50.0)",
    "Base.real(x) * 2.0": "Base.real = tack.i8",
}


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    return Project(monkeypatch, tmp_path)


def text(read: str, change: str, *widths: int) -> str:
    return TEXT.format(read=read, change=change, widths="(" + "".join(f"tack.vec{n}, " for n in widths) + ")")


@pytest.mark.rule("N6")
@pytest.mark.spec("cache-195")
@pytest.mark.parametrize("read", CASES)
def test_what_a_class_holds_keeps_its_meaning(read: str, project: Project) -> None:
    """With the templates made here, with those from the disk, and with one of each."""
    change = CASES[read]
    first = project.run(main=text(read, change, 2, 3))
    assert first.answer == [2.0, 2.0] and len(first.lowered) == 2
    assert project.run().answer == [2.0, 2.0]
    assert project.run(main=text(read, change, 2, 4)).answer == [2.0, 2.0]


@pytest.mark.rule("N6")
@pytest.mark.parametrize("read", ["super().at(x)", "super().fixed(x)"])
def test_an_entry_made_with_a_meaning_kept_is_not_served_where_it_is_another(read: str, project: Project) -> None:
    """A kernel lowered after the change has the new meaning, whatever lies on the disk."""
    change = CASES[read]
    assert project.run(main=text(read, change, 2, 3)).answer == [2.0, 2.0]
    later = text(read, "pass", 3).replace("answers = []", f"answers = []; {change}")
    assert project.run(main=later).answer == [50.0]
    assert project.run(main=later).answer == [50.0]


def test_super_finds_the_next_class_of_the_object(project: Project) -> None:
    """One function with `super()` in two classes whose bases follow in another order, from memory and from the disk."""
    program = """
        import tack

        @tack.device_class
        class Root:
            @tack.func
            def at(self, x):
                return x + 1.0

        class Left(Root):
            @tack.func
            def at(self, x):
                return super().at(x) * 2.0

        class Right(Root):
            @tack.func
            def at(self, x):
                return super().at(x) * 10.0 + 3.0

        class Both(Left, Right):
            pass

        class Other(Right, Left):
            pass

        @tack.kernel
        def k(d, out):
            for i in range(out.shape[0]):
                out[i] = d.at(1.0)

        def answer():
            answers = []
            for kind in (Left, Right, Both, Other):
                out = tack.zeros(1)
                k(kind(), out)
                answers.append(out[0])
            return answers
    """
    assert project.run(main=program).answer == [4.0, 23.0, 46.0, 43.0]
    again = project.run()
    assert again.answer == [4.0, 23.0, 46.0, 43.0] and again.from_disk


# ---------------------------------------------------------------------------------------------------- keys on the disk

SAME_TEXT = """
    import tack

    _A__c, _B__c = tack.constant(3.0), tack.constant(5.0)

    def renamed(made):
        made.__qualname__ = "kernel"
        return made

    class {name}:
        {head}
        @tack.kernel
        @renamed
        def kernel(out):
            for i in range(out.shape[0]):
                out[i] = __c

    kernel = {name}.kernel if "kernel" in vars({name}) else kernel

    def answer():
        out = tack.zeros(1)
        kernel(out)
        return out[0]
"""


@pytest.mark.parametrize("head", ["pass", "global kernel"])
def test_equal_lines_in_two_classes_are_two_kernels(head: str, project: Project) -> None:
    """Even where `__qualname__` does not tell them apart."""
    for name, again in itertools.product("AB", (False, True)):
        run = project.run(main=SAME_TEXT.format(name=name, head=head))
        assert run.answer == {"A": 3.0, "B": 5.0}[name]
        assert run.from_disk == again
