"""The list of passes: stages in order, the verifier after each, the template left alone."""

import pickle
import sys

import pytest
from typed_tools import facts, template

import tack
from tack.ir import pipeline
from tack.ir.nodes import IRBreak
from tack.ir.pipeline import PASSES, compile_ir, lower_checks
from tack.ir.verify import IRError
from tack.ir.walk import with_parts

TYPES = {"a": "f32[,]", "out": "f32[]", "n": "i32"}
BODY = "t = a[i, 1] * 2 + n\nif t > 1:\n    out[i] = t"


@pytest.mark.spec("cache-023")
@pytest.mark.parametrize("position", range(len(PASSES)))
def test_every_pass_is_followed_by_the_verifier(position, monkeypatch):
    name, stage, run = PASSES[position]

    def broken(func, call):
        func = run(func, call)
        body = (IRBreak(), *func.loop.body)
        return with_parts(func, func.prologue, func.bound_prologue, func.loop.dims, body, func.epilogue, func.result)

    monkeypatch.setattr(pipeline, "PASSES", (*PASSES[:position], (name, stage, broken), *PASSES[position + 1 :]))
    with pytest.raises(IRError, match=f"stage {stage}: a break outside any serial loop"):
        compile_ir(template(BODY, list(TYPES)), facts(TYPES))


@pytest.mark.spec("cache-022")
def test_the_template_stays_as_it_was():
    lowered = template(BODY, list(TYPES))
    before = pickle.loads(pickle.dumps(lowered))
    one = compile_ir(lowered, facts(TYPES))
    two = compile_ir(lowered, facts({**TYPES, "a": "f64[,]"}))
    assert lowered == before and one != two and one == compile_ir(lowered, facts(TYPES))


def test_watching_sees_every_stage():
    seen = []
    func = compile_ir(template(BODY, list(TYPES)), facts(TYPES), lambda name, each: seen.append((name, each.stage)))
    assert seen == [
        ("split", "lowered"),
        ("sample", "lowered"),
        ("resolve", "resolved"),
        ("annotate", "typed"),
        ("fuse", "typed"),
        ("optimize", "typed"),
    ]
    assert func.fma and not func.disjoint_arrays and func.default_float.name == "f32"


@pytest.mark.spec("cache-020")
def test_lowering_ends_with_its_checks():
    lowered = template(BODY, list(TYPES))
    assert lower_checks(lowered) is lowered
    with pytest.raises(NameError, match="'t'"):
        template("out[i] = t\nt = 1", list(TYPES))


def test_what_is_nested_too_deeply_is_refused():
    deep = "out[i] = " + "(" * 60 + "a[i, 0]" + ")" * 60
    assert compile_ir(template(deep, list(TYPES)), facts(TYPES))
    long = "out[i] = " + " + ".join(["a[i, 0]"] * 900)
    with pytest.raises(tack.UnsupportedSyntaxError, match="nested too deeply"):
        compile_ir(template(long, list(TYPES)), facts(TYPES))


def test_a_call_from_too_deep_a_recursion_is_not_the_kernels_fault():
    """A kernel of one line is refused by the depth of its call alone; called from less deep, it runs."""

    @tack.kernel
    def line(out):
        for i in range(out.shape[0]):
            out[i] = out[i] * 2.0 + (1.0 + out[i])

    def deep(n):
        return line(tack.ones(2)) if n == 0 else deep(n - 1)

    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    said = set()
    line.template()  # what is to be imported is there
    for left in range(5, 60):
        line._ir = None
        try:
            deep(sys.getrecursionlimit() - used - left)
        except RecursionError as error:
            said.add(str(error).partition("\n")[0].partition(": its call")[0])
    assert "Kernel 'line': compiling it takes more of Python's stack than is left" in said
    assert all("nested" not in words for words in said)
    line._ir = None
    deep(0)
