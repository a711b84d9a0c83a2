"""NVIDIA's assembler accepts what NVRTC makes of every kernel, for the oldest, the present and the newest device."""

from __future__ import annotations

import importlib.metadata
import runpy
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_c_programs
from golden import kernels as golden
from nvrtc_tools import UNIT, compile_unit
from op_matrix import cast_cases, op_cases
from property.check import Case
from property.generator import generate

import tack
from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.ir.nodes import IRFunc
from tack.testing.suite import run_cells
from tack.testing.targets import typed

ARCHES = ("75", "90", "120")
PACKAGE = "nvidia-cuda-nvcc"
recorder = test_c_programs.recorder  # the fixture


def ptxas() -> Path:
    """The assembler of the wheel, of NVRTC's version: an older one may not read what NVRTC writes. AssertionError without it."""
    found = [file for file in importlib.metadata.files(PACKAGE) or () if file.name in ("ptxas", "ptxas.exe")]
    assert found, f"{PACKAGE} has no ptxas"
    assert importlib.metadata.version(PACKAGE) == importlib.metadata.version("nvidia-cuda-nvrtc")
    return Path(str(found[0].locate()))


def assemble(ptx: str, arch: str, folder: Path, name: str) -> None:
    source = folder / f"{name}_{arch}.ptx"
    source.write_text(ptx, encoding="utf-8")
    command = [str(ptxas()), f"--gpu-name=sm_{arch}", "-O0", str(source), "-o", str(source.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (name, done.stderr[:3000])


def accepted(kernels: list[tuple[IRFunc, str]], folder: Path, *, each: bool = True) -> None:
    """Every kernel, in units of `UNIT`, is assembled for every architecture.

    `each`: from what NVRTC makes for that architecture, else from what it makes for the oldest, as a driver does.
    """
    units = [kernels[k : k + UNIT] for k in range(0, len(kernels), UNIT)]

    def unit(number: int) -> None:
        source = emit_unit(units[number], CUDA)
        ptx = compile_unit(source, f"compute_{ARCHES[0]}")
        for arch in ARCHES:
            if each and arch != ARCHES[0]:
                ptx = compile_unit(source, f"compute_{arch}")
            assemble(ptx, arch, folder, f"unit{number}")

    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(unit, range(len(units))):
            pass


def test_the_assembler_takes_the_golden_kernels(tmp_path: Path) -> None:
    accepted([(typed(getattr(golden, name), args, fma=True), name) for name, args in golden.CALLS.items()], tmp_path)


@pytest.mark.slow
def test_the_assembler_takes_every_operation_and_cast(tmp_path: Path) -> None:
    kernels = [(case.func, case.name) for case in op_cases()]
    accepted(kernels + [(func, name) for name, _, _, func in cast_cases()], tmp_path)


class _Collector:
    """A target of the conformance suite that runs nothing: it keeps what would run, and leaves the cells' verdicts aside."""

    name = "collector"
    capabilities = test_c_programs.EmittedTarget(Path()).capabilities

    def __init__(self) -> None:
        self.kernels: list[tuple[IRFunc, str]] = []

    def run(self, kernel: Any, args: Any) -> Any:
        self.kernels.append((typed(kernel, args, fma=True), f"k{len(self.kernels)}"))


@pytest.mark.slow
def test_the_assembler_takes_every_kernel_of_the_conformance_suite(tmp_path: Path) -> None:
    target = _Collector()
    assert run_cells(target).cells > 1000
    accepted(target.kernels, tmp_path, each=False)


@pytest.mark.slow
def test_the_assembler_takes_random_kernels(tmp_path: Path) -> None:
    kernels: list[tuple[IRFunc, str]] = []
    for seed in count(20_000):
        case = Case(generate(seed), tmp_path, f"program_{seed}")
        if not test_c_programs._has_narrow_atomics(case.func):
            kernels.append((case.func, f"k{len(kernels)}"))
        if len(kernels) == 200:
            break
    accepted(kernels, tmp_path, each=False)


@pytest.mark.slow
def test_the_assembler_takes_the_kernels_of_the_examples(recorder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_c_programs.run_terrain(monkeypatch)
    for path in sorted(test_c_programs.EXAMPLES.glob("[0-9]*.py")):
        runpy.run_path(str(path), run_name="__main__")
    assert len(recorder.calls) >= 8
    accepted([(func, f"k{n}") for n, (func, _, _) in enumerate(recorder.calls.values())], tmp_path)


@pytest.mark.rule("W1", "A1")
def test_the_assembler_takes_workgroups_atomics_and_textures(tmp_path: Path) -> None:
    texture = tack.texture3d(np.zeros((2, 3, 4), np.float32))
    args = (texture, np.zeros(256, np.float32), np.zeros(256, np.int64))

    @tack.kernel
    def everything(tex, x, n):
        part = tack.shared(tack.f32, 256)
        for i in range(256):
            part[tack.thread_id()] = tex.sample(x[i], 0.5, 0.25)
            tack.barrier()
            tack.atomic_min(n, 0, tack.block_max(n[i]))
            tack.atomic_add(x, 0, part[255 - tack.thread_id()] + tack.block_sum(x[i]))

    accepted([(typed(everything, args, fma=True, hardware=True), "everything")], tmp_path)
