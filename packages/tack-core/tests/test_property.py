"""Random kernels: compiled code serially and on two and three threads, the interpreter in both directions, and the oracle agree
bit for bit. `property/run.py` checks any number; what it saves in `property/cases` is checked here for ever.
"""

import ast
from pathlib import Path

import oracle_memory
import pytest
from property.generator import Program, generate, read
from property.shrink import shrink

BATCH, COUNT, FAST = 40, 2000, 200
CASES = sorted((Path(__file__).parent / "property" / "cases").glob("*.txt"))


@pytest.mark.rule("E1", "E2", "E4", "E5", "F1", "K1", "K3", "K4", "M1", "M2", "N3", "N4", "N5")
@pytest.mark.rule("T2b", "T3", "T4", "T5", "T6", "T7", "T9", "T10", "T12", "A1", "F2", "M5", "V1", "V2")
@pytest.mark.parametrize(
    "first", [pytest.param(k, marks=[pytest.mark.slow] if k >= FAST else []) for k in range(0, COUNT, BATCH)]
)
def test_random_kernels_agree(first):
    from property.check import check

    failures, worker_chunks = check([generate(seed) for seed in range(first, first + BATCH)])
    assert not failures, "\n".join(map(str, failures[:3]))
    assert worker_chunks >= BATCH, "worker threads did not take part"


def test_programs_that_failed_once_agree():
    from property.check import check

    failures, _ = check([read(path.read_text(encoding="utf-8")) for path in CASES])
    assert not failures, "\n".join(map(str, failures[:3]))


@pytest.mark.rule("E5", "T2b", "T8")
def test_each_pass_keeps_the_meaning():
    from property.check import check_passes

    failures = check_passes([generate(seed) for seed in range(10000, 10080)])
    assert not failures, "\n".join(map(str, failures[:3]))


def test_calls_go_the_same_way():
    from property.check import check_calls

    failures = check_calls([generate(seed) for seed in range(20000, 20020)])
    assert not failures, "\n".join(map(str, failures[:3]))


def test_programs_follow_from_their_seed_and_survive_saving():
    for seed in range(20):
        program = generate(seed)
        assert program.source == generate(seed).source
        again = read(program.text())
        assert again == program or "nan" in program.text().lower()
        assert [str(a) for a in again.arguments()] == [str(a) for a in program.arguments()]


def test_programs_cover_the_language():
    sources = [generate(seed).source for seed in range(300)]
    kinds = {type(node).__name__ for source in sources for node in ast.walk(ast.parse(source))}
    assert {"For", "While", "If", "IfExp", "Break", "Continue", "Return", "AugAssign", "AnnAssign", "Tuple", "BoolOp"} <= kinds
    assert {"Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "LShift", "RShift", "BitAnd", "BitOr", "BitXor"} <= kinds
    text = "\n".join(sources)
    for word in ("ndindex", "select", "min(", "round(", "fmod(", "copysign(", "isnan(", "int(", "float(", ".shape", "len("):
        assert word in text, word
    for word in ("local_array(tack.", "atomic_add(out", "atomic_min(acc", "whole(", "super()", "@static", ".held(", "in obj:"):
        assert word in text, word
    for t in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"):
        assert f"tack.{t}(" in text


@pytest.mark.slow
@pytest.mark.rule("A1", "F2", "M5")
def test_other_atomics_local_arrays_and_loops_would_be_noticed(monkeypatch):
    """The oracle with a fault in it disagrees with some of the programs that use the feature."""
    import oracle
    from property.check import check

    def differ(word: str, first: int) -> bool:
        programs = [p for p in map(generate, range(first, first + 300)) if word in p.source]
        return bool(check(programs[:16])[0])

    right, at = oracle.atomic, oracle.iterate
    faults = {
        ("atomic_min(acc", "atomic"): lambda op: right("max" if op == "min" else op),
        ("for i, j in o", "iterate"): lambda thing, together: (p if together else p[::-1] for p in at(thing, together)),
        ("local_array(", "local_array"): lambda make, shape: _Forgetful(oracle_memory.local_array(make, shape)),
    }
    for (word, name), fault in faults.items():
        with monkeypatch.context() as patch:
            assert not differ(word, 30000)
            patch.setattr(oracle, name, fault)
            assert differ(word, 30000), word


class _Forgetful(oracle_memory.LocalArray):
    """A local array that keeps what an element was first given."""

    def __init__(self, array: oracle_memory.LocalArray) -> None:
        super().__init__(array.data, array.element)

    def __setitem__(self, index, value):
        if not self.known[self.at(index)]:
            super().__setitem__(index, value)


def test_shrinking_keeps_the_fault_and_little_else():
    source = """
def kernel(out):
    a = tack.i32(1)
    for i in range(4):
        b = tack.i32(a + 2)
        if b > 1:
            out[i] = (b + 1) // (a * 7)
        else:
            out[i] = 3
"""
    program = Program(0, source, [])
    small = shrink(program, lambda p: "//" in p.source)
    assert "//" in small.source
    assert len(small.source) < 60
