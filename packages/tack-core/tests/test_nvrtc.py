"""NVIDIA's compiler accepts every kernel that the C emitter writes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from nvrtc_tools import compile_all, compile_unit
from op_matrix import cast_cases, op_cases

from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.ir.nodes import IRConst, IRFunc, IRLoad, IRParallel, IRParam, IRRange, IRStore
from tack.ir.types import f32, i32, i64

ARCHES = ("compute_75", "compute_90", "compute_120")


def test_every_operation_compiles_for_every_type() -> None:
    kernels = [(case.func, case.name) for case in op_cases()]
    kernels += [(func, name) for name, _, _, func in cast_cases()]
    assert len(kernels) > 500
    compile_all(kernels)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_sample_compiles_for_old_and_new_devices(arch: str) -> None:
    kernels = [(case.func, case.name) for case in op_cases() if len(set(case.operands)) == 1][::7]
    ptx = compile_all(kernels, arch)
    assert all(f".target sm_{arch.removeprefix('compute_')}" in text for text in ptx.values())


def test_nothing_contracts() -> None:
    """E5: fma instructions come from fma nodes alone (conversions of divisions use them inside, so those are left out)."""
    plain = [(c.func, c.name) for c in op_cases() if c.op in ("add", "sub", "mul", "powi") and c.literal in (None, 2, 3, 4)]
    assert "fma.rn" not in next(iter(compile_all(plain).values()))


@pytest.mark.rule("E4", "M2")
@pytest.mark.parametrize("arch", ARCHES)
def test_arrays_of_different_types_may_share_memory(arch: str) -> None:
    """The compiler must not conclude from C's types that a float store leaves an integer array alone."""
    zero = IRConst(0, i64)
    body = (
        IRStore("a", (zero,), IRConst(1, i32)),
        IRStore("b", (zero,), IRConst(2.0, f32)),
        IRStore("a", (IRConst(1, i64),), IRLoad("a", (zero,), i32)),
    )
    params = (IRParam("a", True, i32), IRParam("b", True, f32))
    func = IRFunc("k", params, (), IRParallel((IRRange("i", zero, IRConst(1, i64), IRConst(1, i64)),), body), stage="typed")
    loads = r"ld\.global\.(?!nc)"  # those of the pack are of constant memory
    assert re.search(loads, compile_all([(func, "k")], arch)["k"])
    assert not re.search(loads, compile_all([(replace(func, disjoint_arrays=True), "k")], arch)["k"])


def test_a_failed_compile_shows_the_line() -> None:
    case = next(iter(op_cases()))
    source = emit_unit([(case.func, "broken")], CUDA).replace("v_out[", "v_oops[")
    with pytest.raises(RuntimeError, match=r"tack\(\d+\): error: .*\n *v_oops\[v_i\] = v_value;"):
        compile_unit(source)


def test_ptx_is_the_same_in_every_working_directory(tmp_path, monkeypatch) -> None:
    """What is kept on the disk names no directory, and two processes that store a kernel store the same bytes."""
    source = emit_unit([(next(iter(op_cases())).func, "placed")], CUDA)
    found = []
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found.append(compile_unit(source))
    assert found[0] == found[1] and re.search(r'\.file\s+\d+ "tack"', found[0])
