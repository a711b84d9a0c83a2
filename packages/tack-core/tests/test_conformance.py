"""Every operation with every type on every device that is here, and what the type rules refuse: the cells of `tack.testing`."""

import pytest

import tack
from tack.ir.ops import OPS
from tack.ir.types import DTYPES
from tack.testing import DeviceTarget, FanoutTarget, InterpreterTarget, run_cells, run_refusals, suite
from tack.testing import device as command
from tack.testing.cells import groups

_CPU = tack.device("cpu", num_threads=1)
TARGETS = {
    "cpu": lambda: DeviceTarget(_CPU, "cpu, one thread"),
    "pool": lambda: FanoutTarget(tack.device("cpu", num_threads=3), "cpu, three threads in chunks of 1 to 7 iterations"),
    "interpreter": lambda: InterpreterTarget(_CPU._backend.capabilities),
    "interpreter-backwards": lambda: InterpreterTarget(_CPU._backend.capabilities, "interpreter, backwards", reverse=True),
}


@pytest.mark.slow
@pytest.mark.rule("T3", "T4", "T5", "T6", "T7", "T9", "T10", "T11", "T12", "E5")
@pytest.mark.parametrize("name", TARGETS)
def test_every_operation_with_every_type(name, record_property):
    target = TARGETS[name]()
    report = run_cells(target)
    assert not report.failures, str(report)
    assert report.cells, "a device ran no cell"
    record_property("conformance", str(report).splitlines()[0])
    assert report.cells + report.skipped.total() == sum(len(group.cells) for group in groups())
    if isinstance(target, FanoutTarget):
        assert target.worker_chunks > 50  # at least one in each launch


@pytest.mark.rule("T3", "T4", "M1")
@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_what_is_refused(name):
    """By the type rules, and for want of a capability."""
    report = run_refusals(TARGETS[name]())
    assert not report.failures, str(report)
    assert report.cells > 100


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


def test_the_command_line_runs_the_suite(capsys, monkeypatch):
    few = groups()[:1]
    monkeypatch.setattr(suite, "groups", lambda: few)
    monkeypatch.setattr(suite, "refusals", lambda: iter(()))
    assert command.main(["cpu"]) == 0
    assert f"cpu: {len(few[0].cells)} cells, 0 skipped, 0 wrong" in capsys.readouterr().out
    monkeypatch.setattr(suite, "groups", lambda: ())
    assert command.main(["cpu"]) == 1  # nothing ran
    assert command.main(["vulkan"]) == 2
    assert "vulkan" in capsys.readouterr().err
    assert command.main(["cpu", "cuda"]) == 2
