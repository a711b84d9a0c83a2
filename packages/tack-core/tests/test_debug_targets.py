"""Debug mode's checks on every target: compiled for the CPU, as C and in the interpreter they note and leave the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from debug_tools import checked, first_failure
from golden import kernels as golden
from host_c import HostUnit
from nvrtc_tools import compile_all
from property.check import Case
from property.generator import generate

import tack
from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.ir.interpret import interpret
from tack.ir.printer import print_ir
from tack.testing.targets import typed


@pytest.fixture(autouse=True)
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


@tack.kernel
def gather(x, keys, out):
    for i in range(out.shape[0]):
        out[i] = x[keys[i]] if keys[i] != 7 else -1.0
        out[i] += 0.5


@tack.kernel
def grid(a, out, k):
    for i, j in tack.ndindex(out.shape[0], out.shape[1]):
        row = a[i, j] * a[i + k, j] - (a[i, j - k] if j > 0 and a[i, j] > 0 else 0.0)
        out[i, j] = row


@tack.func
def find(x, value):
    for k in range(9):
        if x[k] == value:
            return k
    return -1


@tack.kernel
def searching(x, wanted, out):
    for i in range(0, out.shape[0], 2):
        out[i] = find(x, wanted[i])


@tack.kernel
def stepping(steps, out):
    for i in range(out.shape[0]):
        n = 0
        for k in range(0, 4, steps[i]):
            n += 1
            if k > 2:
                continue
            n += 10
        out[i] = n


@tack.kernel
def scratch(x, n, out):
    for i in range(out.shape[0]):
        tmp = tack.local_array(tack.f32, (2, 2))
        for k in range(n[i]):
            tmp[k // 2, k % 2] = x[k]
        tmp[0, 0] += 1.0
        out[i] = tmp[0, 0] + tmp[1, 0]


@tack.kernel
def counting(keys, counts, out):
    first = keys[0]
    for i in range(keys.shape[0]):
        tack.atomic_add(counts, keys[i], 2)
        out[i] = i + first


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


FOUR = f32(1, 2, 3, 4)
# Kernel, arguments, and what is noted first: (iteration, index, extent), or None.
CASES: list[tuple[Any, tuple[Any, ...], tuple[int, int, int] | None]] = [
    (gather, (FOUR, i32(3, 0, 7, 1), np.zeros(4, np.float32)), None),
    (gather, (FOUR, i32(3, 4, 7, -1), np.zeros(4, np.float32)), (1, 4, 4)),
    (gather, (FOUR, i32(3, 0), np.zeros(4, np.float32)), (2, 2, 2)),
    (gather, (f32(), i32(7, 0), np.zeros(2, np.float32)), (1, 0, 0)),
    (grid, (np.ones((4, 5), np.float32), np.zeros((3, 5), np.float32), 1), None),
    (grid, (np.ones((3, 5), np.float32), np.zeros((3, 5), np.float32), 1), (10, 3, 3)),
    (grid, (np.ones((4, 5), np.float32), np.zeros((3, 5), np.float32), -2), (0, -2, 4)),
    (grid, (np.ones((3, 3), np.float32), np.zeros((3, 5), np.float32), 0), (3, 3, 3)),
    (searching, (FOUR, f32(2, 0, 4, 0, 1), i32(0, 0, 0, 0, 0)), None),
    (searching, (FOUR, f32(2, 0, 5, 0, 6), i32(0, 0, 0, 0, 0)), (1, 4, 4)),
    (stepping, (i32(1, 2, 3, -1), i32(9, 9, 9, 9)), None),
    (stepping, (i32(1, 2, 0, 0), i32(9, 9, 9, 9)), (2, 0, 0)),
    (scratch, (FOUR, i32(3, 4), np.zeros(2, np.float32)), None),
    (scratch, (FOUR, i32(4, 2, 0), np.zeros(3, np.float32)), (1, 2, 0)),
    (scratch, (f32(*range(9)), i32(4, 5, 2), np.zeros(3, np.float32)), (1, 2, 2)),
    (counting, (i32(0, 1, 1), i32(5, 6), i32(0, 0, 0)), None),
    (counting, (i32(0, 3, -2), i32(5, 6), i32(0, 0, 0)), (1, 3, 2)),
]


def outcome(func: Any, args: list[Any], run: Any) -> tuple[tuple[int, ...] | None, list[bytes]]:
    """What is noted first, and the kernel's arrays after it."""
    run()
    arrays = [arg.tobytes() for param, arg in zip(func.params[:-2], args, strict=False) if param.is_array]
    return first_failure(args[-2]), arrays


@pytest.mark.rule("M1", "M5", "K4", "A1")
def test_all_targets_note_the_same_and_leave_the_same(tmp_path: Path) -> None:
    functions = [checked(kernel, args)[0] for kernel, args, _ in CASES]
    entries = [f"k{n}" for n in range(len(CASES))]
    compile_all(zip(functions, entries, strict=True))
    unit = HostUnit(list(zip(functions, entries, strict=True)), tmp_path)
    for (kernel, args, expected), entry in zip(CASES, entries, strict=True):
        found: list[Any] = []
        for run in ("interpreter", "backwards", "C"):
            func, values = checked(kernel, args)
            if run == "C":
                found.append(outcome(func, values, lambda v=values: unit.run(entry, v)))
            else:
                found.append(outcome(func, values, lambda f=func, v=values: interpret(f, v, reverse=run == "backwards")))
        arrays = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
        if expected is None:
            kernel(*arrays)
        else:
            with pytest.raises((IndexError, ValueError)):
                kernel(*arrays)
        on_the_cpu = [a.numpy().tobytes() for a in arrays if isinstance(a, tack.Array)]
        note = found[0][0]
        assert (note and (note[0], *note[2:])) == expected, kernel
        assert found == [found[0]] * 3, kernel
        assert on_the_cpu == found[0][1], kernel


@pytest.mark.rule("M5", "W1")
def test_shared_arrays_are_checked_with_their_own_sizes() -> None:
    @tack.kernel
    def reversed_blocks(x, out):
        for i in range(x.shape[0]):
            tile = tack.shared(tack.f32, 256)
            lane = tack.thread_id()
            tile[255 - lane] = x[i]
            tack.barrier()
            out[i] = tile[lane] + tack.block_max(x[i])

    func, _ = checked(reversed_blocks, (np.ones(512, np.float32), np.zeros(512, np.float32)))
    ptx = compile_all([(func, "reversed_blocks")])["reversed_blocks"]
    assert "atom" in ptx and ".shared" in ptx
    assert [site.array for site in func.sites if site.kind == "index"].count("tile") == 2
    assert [(array.shape, array.shared) for array in func.arrays] == [((256,), True)] * 2, "what is stored is shared, too"


@pytest.mark.spec("cache-030")
def test_c_without_debug_mode_is_what_it_was() -> None:
    def texts() -> list[str]:
        found: list[str] = []
        for name, args in golden.CALLS.items():
            func = typed(getattr(golden, name), args, fma=True)
            found += [emit_kernel(func, CUDA, name), print_ir(func)]
        return found

    before = texts()
    for name, args in golden.CALLS.items():
        assert "tack_note(" in emit_kernel(checked(getattr(golden, name), args)[0], CUDA, name)
    assert texts() == before
    assert not any("note" in text or "errors" in text for text in before)


@pytest.mark.rule("E1", "E2", "E3", "E4", "E5")
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_random_kernels_do_the_same_in_debug_mode(seeds: range, tmp_path: Path) -> None:
    ran = 0
    for seed in seeds:
        case = Case(generate(seed), tmp_path, f"program_{seed}")
        try:
            wrong = case.difference(lambda case=case: case.kernel(*case.given))
        except ValueError as error:
            if "the step of this `range` is 0" not in str(error):
                raise
            continue
        ran += 1
        assert not wrong, f"seed {seed}: {wrong}\n{case.program.source}"
    assert ran > len(seeds) * 0.8


def test_sites_travel_with_the_code() -> None:
    func, _ = checked(gather, CASES[0][1])
    again = pickle.loads(pickle.dumps(func))
    assert again.sites == func.sites and again.extents == func.extents
    assert [site.span.excerpt() for site in again.sites] == [site.span.excerpt() for site in func.sites]
