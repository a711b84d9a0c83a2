"""The C emitter on whole kernels: random ones, the conformance suite's, the golden ones and the examples'.

All run as C on the CPU with the right results, and NVIDIA's compiler takes them.
"""

from __future__ import annotations

import runpy
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emitted import EmittedTarget
from golden import kernels as golden
from host_c import HostUnit
from nvrtc_tools import UNIT, compile_all
from property.check import Case
from property.generator import generate

import tack
import tack.runtime.dispatch  # fills the launch slot, which the recorder stands in for
from tack import hooks
from tack.ir.facts import atomic_targets
from tack.ir.nodes import IRFunc
from tack.runtime.cpu_jit import has_fma
from tack.testing.suite import run_cells
from tack.testing.targets import host_args, typed

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SEEDS = 10_000  # not the programs of test_property


@pytest.mark.rule("E1", "E2", "E4", "E5", "F1", "K1", "K2", "K3", "K4", "M1", "M2", "N4", "N5")
@pytest.mark.rule("T2b", "T3", "T4", "T5", "T6", "T7", "T9", "T10", "T12")
@pytest.mark.parametrize("batch", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_random_kernels_emitted_as_c_agree_with_the_oracle(batch: int, tmp_path: Path) -> None:
    seeds = count(SEEDS + batch * 10 * UNIT)
    cases: list[Case] = []
    while len(cases) < UNIT:
        case = Case(generate(seed := next(seeds)), tmp_path, f"program_{seed}")
        cases += [] if _has_narrow_atomics(case.func) else [case]
    kernels = [(case.func, f"k{k}") for k, case in enumerate(cases)]
    compile_all(kernels)
    unit = HostUnit(kernels, tmp_path)
    for case, (_, entry) in zip(cases, kernels, strict=True):
        wrong = case.difference(lambda case=case, entry=entry: unit.run(entry, case.args))
        assert not wrong, f"seed {case.program.seed}: {wrong}\n{case.program.source}"


def _has_narrow_atomics(func: IRFunc) -> bool:
    """Whether an atomic's target has elements of 8 or 16 bits, which CUDA has no atomics on."""
    targets = atomic_targets(func)
    return any(p.name in targets and p.type is not None and p.type.bits < 32 for p in func.params)


@pytest.mark.rule("T3", "T4", "T5", "T6", "T7", "T9", "T10", "T11", "T12")
@pytest.mark.slow
def test_the_conformance_suite_emitted_as_c(tmp_path: Path) -> None:
    target = EmittedTarget(tmp_path)
    report = run_cells(target)
    assert not report.failures, str(report)
    assert report.cells > 1000
    compile_all(target.kernels)


def _held(kernel: Any, args: Any) -> list[Any]:
    """The arguments as compiled code takes them, arrays as they are now."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in host_args(kernel, args)]


class Recorder:
    """Stands in the launch slot: keeps each kernel's first call as typed IR, arguments before, and arrays after."""

    def __init__(self, launch: Any) -> None:
        self.launch = launch
        self.calls: dict[str, tuple[IRFunc, list[Any], list[Any]]] = {}

    def __call__(self, kernel: Any, args: Any, kwargs: Any) -> Any:
        before = _held(kernel, args)
        func = typed(kernel, args, fma=has_fma())
        result = self.launch(kernel, args, kwargs)
        self.calls.setdefault(func.name, (func, before, _held(kernel, args)))
        return result

    def check(self, folder: Path) -> None:
        """The same calls as emitted C give the same bits, and NVRTC compiles them."""
        kernels = [(func, name) for name, (func, _, _) in self.calls.items()]
        unit = HostUnit(kernels, folder)
        for name, (_, args, after) in self.calls.items():
            unit.run(name, args)
            for got, expected in zip(args, after, strict=True):
                np.testing.assert_array_equal(got, expected, name)
        compile_all(kernels)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder(hooks.slots.launch)
    monkeypatch.setattr(hooks.slots, "launch", recorder)
    return recorder


def test_golden_kernels_emitted_as_c_do_what_they_do_on_the_cpu(recorder: Recorder, tmp_path: Path) -> None:
    for name, args in golden.CALLS.items():
        getattr(golden, name)(*(tack.array(a) if isinstance(a, np.ndarray) else a for a in args))
    assert set(recorder.calls) == set(golden.CALLS)
    recorder.check(tmp_path)


def run_terrain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the terrain example on a small map."""
    monkeypatch.syspath_prepend(EXAMPLES)
    import terrain
    from terrain_parts.reading import Terrain

    y, x = np.mgrid[0:30, 0:40].astype(np.float32)
    heights = (50 * np.sin(x / 6) * np.cos(y / 5) + 3 * np.sin(x * y)).astype(np.float32)
    terrain.analyse(Terrain("waves", heights, 30.0, 25.0))
    for module in ("terrain", "terrain_parts", "terrain_parts.reading", "terrain_parts.numpy_version"):
        sys.modules.pop(module, None)


def test_the_examples_emitted_as_c_do_what_they_do_on_the_cpu(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_terrain(monkeypatch)
    assert len(recorder.calls) >= 5
    recorder.check(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(path.name for path in EXAMPLES.glob("[0-9]*.py")))
def test_numbered_examples_emitted_as_c_do_what_they_do_on_the_cpu(program: str, recorder: Recorder, tmp_path: Path) -> None:
    runpy.run_path(str(EXAMPLES / program), run_name="__main__")
    assert recorder.calls
    recorder.check(tmp_path)
