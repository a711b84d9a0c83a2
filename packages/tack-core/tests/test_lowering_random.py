"""Random kernels: templates store what Python stores, in the same order, and load what Python loads (E1, E2, K4, F1)."""

import pytest
from lowered import Array, Run
from lowering_programs import Program

from tack.lang.func import func
from tack.lang.kernel import kernel


def agree(folder, seed):
    """Runs program `seed` both ways; its text is left in `folder`."""
    text = Program(seed).text()
    path = folder / f"program_{seed}.py"
    path.write_text(text)
    code = compile(text, str(path), "exec")
    tacks, plain = {"kernel": kernel, "func": func}, {"kernel": lambda f: f, "func": lambda f: f}
    for space in (tacks, plain):
        space["__name__"] = path.stem
        exec(code, space)
    template = tacks["k"].template()
    logs, ends = [], []
    for run in (lambda **a: serial(plain["k"], a), lambda **a: Run(template, a).run()):
        log = []
        arrays = [Array(name, [(7 * i + s) % 10 for i in range(8)], log) for name, s in (("a", 3), ("b", 1))]
        run(a=arrays[0], b=arrays[1], n=3 + seed % 4, m=seed % 5)
        logs.append(log)
        ends.append([a.values.tolist() for a in arrays])
    assert ends[0] == ends[1], text
    assert [e for e in logs[0] if e[0] == "store"] == [e for e in logs[1] if e[0] == "store"], text
    assert sorted(map(repr, logs[0])) == sorted(map(repr, logs[1])), text


def serial(function, args):
    function(*args.values())


@pytest.mark.rule("E1", "E2", "E3", "K4", "F1")
@pytest.mark.parametrize("start", range(0, 120, 40))
def test_random_kernels_do_what_python_does(tmp_path, start):
    for seed in range(start, start + 40):
        agree(tmp_path, seed)
