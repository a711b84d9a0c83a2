"""Entries of the disk cache from within: the format that can run nothing, what stands for Tack itself, and whole processes."""

from __future__ import annotations

import copy
import dataclasses
import io
import math
import os
import pickle
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from disk_tools import Project
from fresh_process import run_program
from golden import kernels

import tack
from tack.errors import Source, Span
from tack.ir import nodes
from tack.ir.facts import ArrayUses, array_uses
from tack.ir.nodes import IRConst, IRFunc, IRName, IROp
from tack.ir.printer import print_ir
from tack.ir.races import RacePair
from tack.ir.types import SCALARS, IRTexture, f32
from tack.ir.verify import verify_ir
from tack.ir.walk import walk_func
from tack.lang.call_shape import describe_call
from tack.runtime import cache_fingerprint, cache_format, cache_store, kernel_utils
from tack.runtime.cache_format import Unstorable, dumps, dumps_func, loads, loads_func
from tack.testing.targets import typed

TESTS = Path(__file__).resolve().parent
EXAMPLES = TESTS.parents[2] / "examples"

# ------------------------------------------------------------------------------------------------------------- the format


def spans_of(func: IRFunc) -> list[Span]:
    parts = (*func.params, *func.arrays, *func.ranks, *func.sites, func, func.loop, *walk_func(func))
    return [part.span for part in parts if part.span is not None]


def places_of(func: IRFunc) -> dict[Source, int]:
    return {source: number for number, source in enumerate(dict.fromkeys(span.source for span in spans_of(func)))}


def on_the_device(args: Sequence[Any]) -> list[Any]:
    return [tack.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]


@pytest.mark.parametrize("stage", ["lowered", "debug", "typed"])
@pytest.mark.parametrize("name", kernels.CALLS)
def test_functions_come_back_as_they_were(name: str, stage: str) -> None:
    """Every node, fact and place; and whoever writes it again writes the same bytes."""
    kernel, args = getattr(kernels, name), kernels.CALLS[name]
    call = describe_call(kernel.param_names, on_the_device(args))
    if stage == "typed":
        func = typed(kernel, args, fma=True)
    else:
        func = kernel.template(dataclasses.replace(call, debug=stage == "debug"))
    places = places_of(func)
    facts = {} if func.sites else {"_array_uses": array_uses(func)}
    data = dumps_func(func, facts, places)
    back = loads_func(data, list(places))
    assert type(back) is not IRFunc
    assert (back.name, back.params, back.stage, back.fma) == (func.name, func.params, func.stage, func.fma)
    assert print_ir(back) == print_ir(func)  # the first look
    assert type(back) is IRFunc and back == func and spans_of(back) == spans_of(func)
    assert back.facts == facts or {key: back.facts[key] for key in facts} == facts
    assert dumps_func(back, facts, places) == data
    verify_ir(back, func.stage)


@pytest.mark.parametrize("name", kernels.CALLS)
def test_a_template_that_was_read_compiles_to_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, args = getattr(kernels, name), kernels.CALLS[name]
    expected, template = typed(kernel, args, fma=True), kernel.template(describe_call(kernel.param_names, on_the_device(args)))
    places = places_of(template)
    back = loads_func(dumps_func(template, {}, places), list(places))
    monkeypatch.setattr(tack.Kernel, "template", lambda kernel, call: back)
    func = typed(kernel, args, fma=True)
    assert func == expected and spans_of(func) == spans_of(expected)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda func: pickle.loads(pickle.dumps(func)), dataclasses.replace])
def test_a_function_that_nobody_has_looked_at_is_copied_whole(copied: Callable[[IRFunc], IRFunc]) -> None:
    name = next(iter(kernels.CALLS))
    func = typed(getattr(kernels, name), kernels.CALLS[name], fma=True)
    places = places_of(func)
    back = copied(loads_func(dumps_func(func, {}, places), list(places)))
    assert type(back) is IRFunc and back == func


def test_spans_follow_their_sources() -> None:
    here, there = (Source(file, line, ("def f(v):\n", "    return v\n"), "f") for file, line in (("a.py", 3), ("b.py", 90)))
    span = Span(here, 1, 11, 1, 12)
    name = IRName("v", f32, span)
    back = loads(dumps((name, span), {here: 0}), [there])
    assert back == (name, dataclasses.replace(span, source=there)) and back[0].span is back[1]
    with pytest.raises(Unstorable):
        dumps(name, {there: 0})


VALUES = [
    (), ((),), ((), ((),)), {}, {"b": 1, "a": (2, {3: 4})}, None, "", "a\x00b", "\ud800 \U0001f600 ☃", 0, -1, 2**4000, -(2**64),
    True, False, (1, True, 1.0), (0, False, 0.0), 0.0, -0.0, 5e-324, math.inf, -math.inf, math.pi, f32, IRConst(True), IRConst(1),
    IROp("add", (IRConst(1.0), IRConst(-0.0))), IRTexture((1, 2, 3), True),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value: Any) -> None:
    back = loads(dumps(value))
    assert back == value and repr(back) == repr(value) and type(back) is type(value)


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0xFFFFFFFFFFFFFFFF])
def test_nans_keep_their_bits(bits: int) -> None:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    assert struct.pack("<d", loads(dumps((value, 1.0)))[0]) == struct.pack("<Q", bits)


def test_equal_values_have_equal_bytes_whatever_they_share() -> None:
    """A pickle would tell one object named twice from two equal ones."""
    one, two = IRConst(1.5), IRConst(float("1.5"))
    assert one is not two
    shared, apart = IROp("add", (one, one)), IROp("add", (one, two))
    assert dumps(shared) == dumps(apart) and pickle.dumps(shared) != pickle.dumps(apart)


def test_types_stay_the_only_ones_of_their_name() -> None:
    for name, scalar in SCALARS.items():
        assert loads(dumps(scalar)) is scalar is SCALARS[name]


@pytest.mark.spec("cache-189")
def test_every_class_of_the_ir_has_a_form() -> None:
    """A new node must be named in the format, or its kernels are never kept."""
    found = {each for each in vars(nodes).values() if isinstance(each, type) and each.__module__ == nodes.__name__}
    assert set(cache_format._CLASSES) == found - {IRFunc} | {Span, IRTexture, ArrayUses, RacePair}


def test_a_reader_makes_nothing_but_values_of_the_ir() -> None:
    """Making an object of a listed class runs no code of the entry's choice: they are frozen dataclasses that check nothing."""
    for cls in cache_format._CLASSES:
        assert dataclasses.is_dataclass(cls) and cls.__module__.startswith("tack.") and not hasattr(cls, "__post_init__")
        assert cls.__dataclass_params__.frozen
    assert cache_format._MAKERS == (cache_format._tuple, cache_format._dict, *cache_format._CLASSES)


class Trap:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('the entry has run')",)


HOSTILE: dict[str, bytes] = {
    "a pickle": pickle.dumps(Trap()),
    "nothing": b"",
    "no JSON": b"[[",
    "another JSON": b'{"a": 1}',
    "no rows": b'[["a"],[]]',
    "a class that is not there": b'[["os.system","true"],[[999,0,1]]]',
    "a class by name": b'[["os.system","true"],[["os.system",0,1]]]',
    "a part that is not there": b'[["a"],[[0,7]]]',
    "a type that is not there": b'[[["type","os"]],[[0,0]]]',
    "a source that is not there": b'[[["source",3]],[[0,0]]]',
    "another leaf": b'[[["eval","1"]],[[0,0]]]',
    "too many fields": b'[["a"],[[2,0,0,0,0,0,0]]]',
}


@pytest.mark.parametrize("case", HOSTILE)
def test_bytes_of_others_are_refused(case: str) -> None:
    with pytest.raises(Exception) as caught:
        loads(HOSTILE[case])
    assert not isinstance(caught.value, (SystemExit, NameError))


@pytest.mark.parametrize(
    "value", [object(), [], {1}, b"", np.float32(1), np.int64(1), len, Trap, Trap(), 1j, IRConst(np.float64(1))]
)
def test_what_is_not_of_the_ir_is_not_written(value: Any) -> None:
    with pytest.raises(Unstorable):
        dumps(("x", value))


def test_threads_that_look_at_once_see_the_whole_function() -> None:
    func = typed(kernels.stencil, kernels.CALLS["stencil"], fma=True)
    places = places_of(func)
    data = dumps_func(func, {}, places)
    for _ in range(50):
        back = loads_func(data, list(places))
        start, seen = threading.Barrier(4), []

        def look(back: IRFunc = back, start: threading.Barrier = start, seen: list[Any] = seen) -> None:
            start.wait()
            seen.append((back.loop, back.prologue, back.facts.keys() <= {"_rest"}))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [(func.loop, func.prologue, True)] * 4
        with pytest.raises(AttributeError):
            back.no_such_field  # noqa: B018
        assert type(back) is IRFunc and pickle.loads(pickle.dumps(back)) == func == dataclasses.replace(back)


# -------------------------------------------------------------------------------------------------------------- Tack itself


def code_of(root: Path) -> bytes:
    return b"".join(cache_fingerprint._code(root))


@pytest.mark.spec("cache-199")
def test_every_file_of_a_source_tree_counts(tmp_path: Path) -> None:
    root = tmp_path / "tack"
    (root / "ir").mkdir(parents=True)
    (root / "__init__.py").write_text("a = 1\n")
    (root / "ir" / "nodes.py").write_text("b = 2\n")
    seen = {code_of(root)}
    for name, text in (("ir/nodes.py", "b = 3\n"), ("ir/more.py", ""), ("__init__.py", "a = 1\n# more\n"), ("ir/more.py", "c")):
        (root / name).write_text(text)
        seen.add(code_of(root))
    (root / "ir" / "more.py").rename(root / "more.py")
    seen.add(code_of(root))
    assert len(seen) == 6
    (root / "notes.txt").write_text("no code")
    assert code_of(root) in seen


@pytest.mark.spec("cache-199")
def test_an_installed_package_is_its_record(tmp_path: Path) -> None:
    """One read. A record that stands there for another package, or an editable one, is not the package's."""
    root, dist = tmp_path / "tack", tmp_path / "tack_core-0.1.0.dist-info"
    for folder in (root, dist, tmp_path / "tack_more-1.dist-info"):
        folder.mkdir()
    (root / "__init__.py").write_text("a = 1\n")
    from_files = code_of(root)
    (tmp_path / "tack_more-1.dist-info" / "RECORD").write_text("tack_more/__init__.py,sha256=x,1\n")
    (dist / "RECORD").write_text("__editable__.tack_core.pth,,\n")
    assert code_of(root) == from_files
    record = "tack/__init__.py,sha256=abc,6\ntack/kernel.py,sha256=def,7\n"
    (dist / "RECORD").write_text(record)
    assert code_of(root) == record.encode()


@pytest.mark.spec("cache-199", "cache-200")
def test_tacks_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    version = cache_fingerprint.tack_version
    own = version()
    assert re.fullmatch("[0-9a-f]{64}", own) and version() == own
    with monkeypatch.context() as patch:
        patch.setattr(cache_fingerprint, "_FORMAT", 0)
        assert version() != own
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 99))
        assert version() != own
    with monkeypatch.context() as patch:
        patch.setattr(cache_fingerprint, "_code", _unreadable)
        assert len({own, version(), version()}) == 3  # code that nobody can read is nobody's
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tack", ModuleType("tack"))  # without a spec
        assert len({own, version(), version()}) == 3


def _unreadable(_root: Path) -> Any:
    raise PermissionError


@pytest.mark.spec("cache-200")
def test_tacks_fingerprint_names_the_directory_and_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(monkeypatch, tmp_path)
    assert Path(project.store.folder).name == cache_fingerprint.tack_version()[:16]
    with monkeypatch.context() as patch:
        patch.setattr(cache_fingerprint, "_code", _unreadable)
        cache_store.store()
    monkeypatch.setenv("TACK_CACHE", "off")
    with monkeypatch.context() as patch:
        patch.setattr(cache_store, "version", _unreadable)
        assert cache_store.store() is None


# ------------------------------------------------------------------------------------------------------- slow compilations

SLOW = """
    import tack

    @tack.kernel
    def k(x):
        for i in range(x.shape[0]):
            x[i] += 1.0

    def answer():
        k(tack.zeros(2))
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_compilations_say_so_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names the kernel and the seconds; none for short ones, in pipes, and for what comes from the disk."""
    project = Project(monkeypatch, tmp_path)

    def printed(stream: Any) -> str:
        monkeypatch.setattr(sys, "stderr", stream)
        project.run(main=SLOW)
        return "" if stream is None else stream.getvalue()

    assert kernel_utils._SLOW == 0.5
    monkeypatch.setattr(kernel_utils, "_SLOW", 0.0)
    assert re.fullmatch(r"tack: compiled kernel 'k' in \d+\.\d s\n", printed(Terminal()))
    assert printed(Terminal()) == ""
    monkeypatch.setenv("TACK_CACHE", "off")
    assert printed(io.StringIO()) == printed(None) == ""
    assert printed(Terminal()) != ""
    monkeypatch.setattr(kernel_utils, "_SLOW", 100.0)
    assert printed(Terminal()) == ""


# ------------------------------------------------------------------------------------------------------------- processes

PROCESS = """
    import sys
    sys.argv = ["terrain.py", "--out", {out!r}]
    sys.path.insert(0, {examples!r})
    import tack
    from tack.runtime import cache_store, kernel_utils

    made = []
    origin = kernel_utils.Origin
    kernel_utils.Origin = lambda *parts: made.append(origin(*parts)) or made[-1]
    import terrain
    assert terrain.main() == 0
    kernels = [each for each in vars(terrain).values() if isinstance(each, tack.Kernel)]
    compilers = [name for name in sys.modules if name.startswith(("tack.codegen.llvm_gen", "tack.lang.ast_"))]
    print(sum(each.lowerings for each in kernels), len(made), sum(each.from_disk for each in made), compilers)
"""


@pytest.mark.slow
@pytest.mark.spec("cache-016", "cache-187", "cache-202", "cache-220", "back-007")
def test_a_second_process_runs_the_demo_without_a_compiler(tmp_path: Path) -> None:
    """Neither the lowering nor the code generator is even imported."""
    program = PROCESS.format(out=str(tmp_path / "a.png"), examples=str(EXAMPLES), path=str(EXAMPLES / "terrain.py"))
    results = []
    for _ in range(2):
        printed = run_program(program, TACK_CACHE="write", TACK_CACHE_DIR=str(tmp_path / "cache"), MPLBACKEND="Agg")
        results.append(printed.splitlines()[-1].split(maxsplit=3))
    (lowered, made, loaded, _), again = results
    assert int(lowered) >= 4 and int(made) >= 4 and int(loaded) == 0
    assert again == ["0", made, made, "[]"]


@pytest.mark.slow
@pytest.mark.spec("cache-221")
def test_the_suite_run_twice_serves_most_from_the_disk(tmp_path: Path) -> None:
    """And says the share; a run without a cache, which is the default, says nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / "test_results.py")]
    environment = {name: value for name, value in os.environ.items() if name != "TACK_CACHE"}
    environment |= {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TACK_CACHE_DIR": str(tmp_path)}
    shares: list[list[str]] = []
    for mode in ({"TACK_CACHE": "write"}, {"TACK_CACHE": "write"}, {}):
        done = subprocess.run(command, env=environment | mode, capture_output=True, text=True, timeout=120, cwd=TESTS)
        assert done.returncode == 0, done.stdout
        shares.append(re.findall(r"disk cache: \d+ of \d+ lookups served \((\d+)%\)", done.stdout))
    (first,), (second,), none = shares
    assert int(first) < 50 < int(second) and not none
