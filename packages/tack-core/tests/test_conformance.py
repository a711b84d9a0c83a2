"""Every operation with every type on every device that is here, and what the type rules refuse: the cells of `tack.testing`."""

from collections import Counter

import pytest
from simulated import simulated_cuda

import tack
from tack.ir.ops import OPS
from tack.ir.types import DTYPES
from tack.testing import (
    DeviceTarget,
    FanoutTarget,
    InterpreterTarget,
    run_agreement,
    run_cells,
    run_memory,
    run_refusals,
    run_workgroups,
)
from tack.testing import device as command
from tack.testing.cases import run_cases
from tack.testing.cells import groups
from tack.testing.suite import Report, with_capabilities

_CPU = tack.device("cpu", num_threads=1)
TARGETS = {
    "cpu": lambda: DeviceTarget(_CPU, "cpu, one thread"),
    "pool": lambda: FanoutTarget(tack.device("cpu", num_threads=3), "cpu, three threads in chunks of 1 to 7 iterations"),
    "interpreter": lambda: InterpreterTarget(_CPU._backend.capabilities),
    "interpreter-backwards": lambda: InterpreterTarget(_CPU._backend.capabilities, "interpreter, backwards", reverse=True),
    "cuda": lambda: DeviceTarget(simulated_cuda()[0], "cuda, simulated"),
}


def cells_of(capabilities):
    """How many cells a device with these capabilities runs."""
    return sum(len(with_capabilities(group, capabilities, Report("")).cells) for group in groups())


@pytest.mark.slow
@pytest.mark.rule("T3", "T4", "T5", "T6", "T7", "T9", "T10", "T11", "T12", "E5")
@pytest.mark.parametrize("name", TARGETS)
def test_every_operation_with_every_type(name, record_property):
    target = TARGETS[name]()
    report = run_cells(target)
    assert not report.failures, str(report)
    assert report.cells, "a device ran no cell"
    assert report.cells >= cells_of(_CPU._backend.capabilities), "a device ran fewer cells than the CPU"
    record_property("conformance", str(report).splitlines()[0])
    assert report.cells + report.skipped.total() == sum(len(group.cells) for group in groups())
    if isinstance(target, FanoutTarget):
        assert target.worker_chunks > 50  # at least one in each launch


@pytest.mark.rule("T3", "T4", "M1")
@pytest.mark.parametrize("name", ["cpu", "interpreter", "cuda"])
def test_what_is_refused(name):
    """By the type rules, and for want of a capability."""
    report = run_refusals(TARGETS[name]())
    assert not report.failures, str(report)
    assert report.cells > 100


@pytest.mark.slow
@pytest.mark.rule("E5", "T4", "T9", "T11", "T12")
def test_a_gpu_has_the_bits_of_the_cpu(record_property):
    """Every basic operation on random bits; elementary functions within a few units in the last place."""
    found = run_agreement(TARGETS["cuda"](), TARGETS["cpu"]())
    assert not found.report.failures, str(found.report)
    assert found.report.cells == cells_of(_CPU._backend.capabilities)
    record_property("conformance", f"cuda, simulated, against the CPU: {found.report.cells} cells on random bits, none differs")


@pytest.mark.slow
@pytest.mark.rule("W1", "A1")
@pytest.mark.spec("back-038", "back-045", "back-048")
def test_workgroups_and_atomics_of_a_gpu(record_property):
    target = TARGETS["cuda"]()
    memory, workgroups = run_memory(target), run_workgroups(target)
    for report in (memory, workgroups):
        assert not report.failures, str(report)
    assert memory.skipped == Counter({f"atomics on tack.{name}": 3 for name in ("i8", "u8", "i16", "u16")})
    assert workgroups.ran["shared"] == workgroups.ran["barrier"] == workgroups.ran["block_sum"] == len(DTYPES)
    record_property("conformance", f"cuda, simulated: {workgroups.cells} workgroup cells, {memory.cells} of memory")


@pytest.mark.slow
@pytest.mark.rule("K1", "K2", "K3", "K4", "K5", "K6", "E4", "M1", "N4", "P1", "V1", "F1", "F2")
@pytest.mark.parametrize("name", ["field", "launches", "features"])
def test_whole_programs_on_a_gpu(name):
    report = run_cases(simulated_cuda()[0], "cuda, simulated", getattr(command, name).CASES)
    assert not report.failures, str(report)
    assert report.cells > 20


def test_every_row_of_the_op_table_has_cells_for_every_type_it_takes():
    types = {}
    for group in groups():
        for cell in group.cells:
            types.setdefault(cell.op, set()).update(group.operands)
    assert set(types) == {*OPS, *(f"cast to {t.name}" for t in DTYPES)} - {
        "index",
        "thread_id",
    }  # test_rules_memory, test_workgroups
    for op, found in types.items():
        row = OPS.get(op)
        expected = 8 if row and row.rule in ("int", "shift", "bits") else 2 if op in ("powi", "fma") else 10
        assert len(found) == expected, op


@pytest.mark.rule("T4")
def test_a_wrong_result_is_reported():
    """The suite itself: a target that changes one bit fails in every cell it touches."""

    class Broken(InterpreterTarget):
        def run(self, kernel, args):
            InterpreterTarget.run(self, kernel, args)
            args[-2][3] = 99 if args[-2][3] != 99 else 98

    few = [group for group in groups() if len(group.operands) == 1][:4]
    report = run_cells(Broken(_CPU._backend.capabilities), chosen=few)
    assert len(report.failures) >= 1
    assert "not" in str(report.failures[0])
