"""`python -m tack.testing.device`: what its parts find, what they say of a device that is wrong, and what the report holds."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import tack
from tack.ir.types import DTYPES, f32, f64, i32, u8
from tack.runtime.backend import Capabilities
from tack.testing import DeviceTarget, InterpreterTarget, agreement, device, latency, suite, throughput, workgroups
from tack.testing.cases import Case, refused, run_cases, same
from tack.testing.cells import groups
from tack.testing.report import DeviceReport

CPU = tack.device("cpu")
CAPABILITIES = CPU._backend.capabilities
WORKGROUPS = replace(CAPABILITIES, label="GPU", supports_workgroups=True)


@pytest.fixture
def short(monkeypatch):
    """Few cells, and small measurements."""
    few = groups()[:1]
    for module in (suite, agreement):
        monkeypatch.setattr(module, "groups", lambda: few)
    monkeypatch.setattr(suite, "refusals", lambda: iter(()))
    monkeypatch.setattr(device.features, "CASES", ())
    monkeypatch.setattr(device, "run_memory", lambda target: suite.Report(target.name, Counter(atomics=1)))
    for module in (device.launches, device.field):
        monkeypatch.setattr(module, "CASES", (Case("ranges", device.field.ranges),))
    monkeypatch.setattr(device, "run_throughput", lambda *_: ([throughput.Row("copy f32", 8, 0.5, 64, 0)], []))
    monkeypatch.setattr(device, "launch_costs", lambda *_: [latency.LaunchCost("1 array", 1e-6, 2e-6, 3e-6)])
    monkeypatch.setattr(device, "first_calls", lambda *_: [latency.FirstCalls(0.1, 0.2, 0.3, 0.4, True)])
    return few


# ------------------------------------------------------------------------------------------------------ the whole run


def test_the_command_writes_one_report(short, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(device.features, "CASES", device.field.CASES)
    monkeypatch.setattr(device, "_large", lambda *_: None)
    path = tmp_path / "report.json"
    assert device.main(["cpu", str(path)]) == 0
    said, found = capsys.readouterr().out, json.loads(path.read_text())
    assert f"conformance   {len(short[0].cells):>6} cells, 0 wrong" in said and f"written to {path}" in said
    assert found["ok"] and found["format"] == 1 and found["spec"] == "cpu" and not found["wrong"]
    assert found["device"]["kind"] == "cpu" and found["device"]["memory"] == CPU.properties["memory"]
    assert found["device"]["capabilities"]["supported_dtypes"] == [t.name for t in DTYPES]
    assert found["versions"]["numpy"] == np.__version__
    sections = found["sections"]
    assert list(sections) == ["conformance", "memory", "refusals", "field cases", "launches", "features", "agreement"]
    assert sections["conformance"]["cells"] == sum(sections["conformance"]["ran"].values()) == len(short[0].cells)
    assert sections["agreement"]["cells"] == len(short[0].cells) and not sections["agreement"]["failures"]
    assert found["throughput"] == [
        {"name": "copy f32", "elements": 8, "seconds": 0.5, "bytes": 64, "flops": 0, "roof": "", "ratio": None,
         "bytes_per_second": 128.0, "flops_per_second": 0.0}
    ]  # fmt: skip
    assert found["launch_costs"][0]["call"] == 1e-6 and found["first_calls"][0]["from_disk"]
    assert found["left_out"] == ["workgroups: the device has none"]


def test_its_exit_status(short, capsys, tmp_path, monkeypatch):
    path = str(tmp_path / "report.json")
    assert device.main(["cpu", path]) == 1  # a section ran nothing
    assert "features           0 cells" in capsys.readouterr().out
    assert device.main(["vulkan", path]) == 2
    assert "vulkan" in capsys.readouterr().err
    assert device.main(["cpu", str(tmp_path / "missing" / "report.json")]) == 2
    assert device.main(["cpu", path, "more"]) == 2
    assert "usage" in capsys.readouterr().err

    def too_old():
        raise RuntimeError("the driver is too old")

    monkeypatch.setattr(device.field, "ranges", too_old)
    assert device.main(["cpu", path]) == 2
    assert capsys.readouterr().err == "the driver is too old\n"


def test_what_is_wrong_is_counted_and_shown(short, capsys, tmp_path, monkeypatch):
    def broken():
        same([1, 2], [1, 3], "some values")

    monkeypatch.setattr(device.features, "CASES", (Case("broken", broken), Case("raises", lambda: 1 / 0)))
    monkeypatch.setattr(device, "run_memory", lambda _: 1 / 0)
    monkeypatch.setattr(device, "run_throughput", lambda *_: ([], ["copy f32: AssertionError: other values"]))
    path = tmp_path / "report.json"
    assert device.main(["cpu", str(path)]) == 1
    said, found = capsys.readouterr().out, json.loads(path.read_text())
    assert not found["ok"]
    assert [f["cell"] for f in found["sections"]["features"]["failures"]] == ["broken", "raises"]
    assert found["wrong"] == [
        "memory ended with ZeroDivisionError: division by zero", "throughput of copy f32: AssertionError: other values",
    ]  # fmt: skip
    assert "WRONG broken" in said and "some values" in said and "WRONG memory ended" in said and "SOMETHING IS WRONG" in said


def test_checks_are_never_cut_short_and_what_is_left_out_is_told(short):
    report = DeviceReport("cpu", {}, {})
    device.check_device(CPU, report, 0.0)
    left_out = [each.partition(":")[0] for each in report.left_out]
    assert [each for each in left_out if "past 2^31" not in each] == [
        "workgroups", "agreement with the CPU", "throughput", "launch costs", "first calls",
    ]  # fmt: skip
    assert report.sections["conformance"][0].cells == len(short[0].cells)


def test_a_report_of_nothing_is_not_right_and_odd_values_are_json():
    report = DeviceReport("cpu", {"name": np.float32(1.5), "odd": (math.nan, math.inf, f32)}, {})
    assert not report.ok
    assert json.loads(report.to_json())["device"] == {"name": 1.5, "odd": ["nan", "inf", "tack.f32"]}


# -------------------------------------------------------------------------------------------------------------- cases


def test_cases_run_on_the_device_for_each_type_it_has(monkeypatch):
    one = tack.device("cpu", num_threads=1)
    few = replace(CAPABILITIES, supported_dtypes=(f32, i32), supported_atomic_dtypes=(i32,))
    monkeypatch.setattr(one._backend, "capabilities", few)
    seen = []
    report = run_cases(
        one, "some",
        [
            Case("typed", lambda t: seen.append((t, tack.get_default_device())), (u8, i32, f32, f64)),
            Case("atomic", seen.append, (i32, f32), atomics=True), Case("grouped", lambda: 1 / 0, needs="supports_workgroups"),
        ],
    )  # fmt: skip
    assert seen == [(i32, one), (f32, one), i32]
    assert report.ran == {"typed": 2, "atomic": 1} and not report.failures
    assert report.skipped == {"tack.u8": 1, "tack.f64": 1, "atomics on tack.f32": 1, "supports_workgroups": 1}


@pytest.mark.parametrize(
    ("got", "expected"), [([1.0], [1.5]), ([0.0], [-0.0]), ([1, 2], [1]), ([math.nan], [1.0]), ([1], [[1]]), (True, False)]
)
def test_same_tells_values_signs_and_shapes_apart(got, expected):
    same(got, got)
    with pytest.raises(AssertionError):
        same(got, expected)


def test_refused_wants_the_error_and_its_words():
    def fails():
        raise ValueError("Kernel 'k': a mistake")

    refused(fails, ValueError, "'k'", "mistake")
    with pytest.raises(AssertionError, match="does not say"):
        refused(fails, ValueError, "'j'")
    with pytest.raises(AssertionError, match="no TypeError"):
        refused(lambda: None, TypeError)
    with pytest.raises(ValueError):
        refused(fails, TypeError)


@pytest.mark.slow
@pytest.mark.rule("K1", "K2", "K3", "K4", "K5", "K6", "E4", "M1", "N4", "P1", "V1", "F1", "F2")
@pytest.mark.parametrize("name", ["launches", "features"])
def test_the_cases_hold_on_the_cpu(name, capfd):
    report = run_cases(CPU, "cpu", getattr(device, name).CASES)
    assert not report.failures, str(report)
    assert report.cells > 20
    assert capfd.readouterr().out == ""  # what kernels print is caught


# ---------------------------------------------------------------------------------------------------------- agreement

TYPES = [group for group in groups() if group.operands in ((f32,), (f32, f32), (i32, i32))]


def test_a_device_agrees_with_itself_on_random_bits():
    one = tack.device("cpu", num_threads=1)
    found = agreement.run_agreement(DeviceTarget(CPU, "cpu"), DeviceTarget(one, "one"), chosen=TYPES)
    assert not found.report.failures and found.report.cells == sum(len(group.cells) for group in TYPES)
    assert found.ulps["sin f32"] == 0 and "add f32" not in found.ulps


def test_one_wrong_bit_is_told_with_its_operands():
    class Broken(DeviceTarget):
        def run(self, kernel, args):
            DeviceTarget.run(self, kernel, args)
            for column in args[-9:-1]:
                column.view(np.uint8)[5 * column.itemsize] ^= 1

    (group,) = [each for each in TYPES if each.operands == (i32, i32) and each.floating is f32]
    found = agreement.run_agreement(Broken(CPU, "broken"), DeviceTarget(CPU, "cpu"), chosen=[group])
    exact = [cell for cell in group.cells[-8:] if not cell.ulp]
    assert len(found.report.failures) == len(exact) > 4
    failure, operands = found.report.failures[0], agreement.random_operands(group.operands)
    assert failure.operands == tuple(column[5].item() for column in operands) and failure.wrong == 1


def test_cells_that_one_of_the_two_cannot_run_are_skipped():
    lacking = Capabilities("Small", supported_dtypes=(f32,))
    found = agreement.run_agreement(InterpreterTarget(lacking), DeviceTarget(CPU, "cpu"), chosen=TYPES[:1])
    assert found.report.skipped["exact_sqrt"] == 1 and found.report.cells and not found.report.failures


def test_operands_are_any_bits():
    for t in DTYPES:
        (column,) = agreement.random_operands((t,))
        assert column.dtype == t.numpy
        ones = np.unpackbits(column.view(np.uint8)[: 600 * t.itemsize]).mean()
        assert 0.47 < ones < 0.53
    (floats,) = agreement.random_operands((f32,))
    assert np.isnan(floats).any() and ((abs(floats) > 0.1) & (abs(floats) < 10)).sum() > 300


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_count_floats(dtype):
    one, tiny = dtype(1), np.finfo(dtype).smallest_subnormal
    pairs = [(one, one, 0), (one, np.nextafter(one, dtype(2)), 1), (tiny, -tiny, 2), (dtype(0), dtype(-0.0), 0)]
    pairs += [(-one, np.nextafter(-one, dtype(0)), 1), (dtype(math.nan), dtype(math.nan), 0), (dtype(math.nan), one, math.inf)]
    pairs += [(np.finfo(dtype).max, dtype(math.inf), 1), (dtype(-math.inf), dtype(-math.inf), 0)]
    for a, b, apart in pairs:
        assert agreement._distance(np.array([a]), np.array([b])) == apart == agreement._distance(np.array([b]), np.array([a]))


# --------------------------------------------------------------------------------------------------------- workgroups


@pytest.mark.rule("W1", "A1", "T4", "T10")
@pytest.mark.parametrize("reverse", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_workgroup_cells_hold_in_the_interpreter(reverse):
    report = workgroups.run_workgroups(InterpreterTarget(WORKGROUPS, reverse=reverse))
    assert not report.failures, str(report)
    for cell in ("shared", "shared_like", "barrier", "block_sum", "block_min", "block_max", "group to atomic"):
        assert report.ran[cell] >= len(DTYPES), cell
    assert {"thread_id", "uniform loop", "ndindex", "partial group"} <= set(report.ran)


def test_every_workgroup_cell_can_fail():
    class Broken(InterpreterTarget):
        def run(self, kernel, args):
            try:
                InterpreterTarget.run(self, kernel, args)
            except ValueError:
                return
            for array in args:
                if isinstance(array, np.ndarray):
                    array.reshape(-1).view(np.uint8)[-1] ^= 64  # the last byte of the last element

    report = workgroups.run_workgroups(Broken(WORKGROUPS))
    assert len(report.failures) == report.cells


def test_a_device_without_workgroups_skips_them():
    report = workgroups.run_workgroups(InterpreterTarget(CAPABILITIES))
    assert not report.cells and report.skipped == {"supports_workgroups": 1}


# ---------------------------------------------------------------------------------------------------------- measuring


@pytest.mark.slow
def test_throughput_rows_and_their_ratios(monkeypatch):
    monkeypatch.setattr(throughput, "_MOST", 1 << 15)
    left_out = []
    rows, wrong = throughput.run_throughput(CPU, 60.0, left_out)
    assert not wrong and left_out == ["throughput of block_sum and atomics i32: the device lacks supports_workgroups"]
    found = {row.name: row for row in rows}
    assert set(found) == {*throughput._ROOFS, *throughput._ROWS} - {"block_sum and atomics i32"}
    copy, loop = found["copy f32"], found["FMA loop f32"]
    assert copy.ratio is None and loop.ratio is None and loop.flops == 2 * 8 * 256 * loop.elements
    for row in rows[3:]:
        at_least = max(row.bytes * copy.seconds / copy.bytes, row.flops * loop.seconds / loop.flops)
        assert row.ratio == pytest.approx(at_least / row.seconds) and row.roof in ("copy", "FMA loop")


def test_throughput_tells_wrong_results_and_rows_without_time(monkeypatch):
    def work(n):
        return throughput._Work(n, 8 * n, 0, lambda: None, lambda: same(1, 2))

    monkeypatch.setattr(throughput, "_ROOFS", {"copy f32": work})
    monkeypatch.setattr(throughput, "_ROWS", {})
    rows, wrong = throughput.run_throughput(CPU, 1.0, [])
    assert not rows and wrong[0].startswith("copy f32: AssertionError")
    left_out = []
    assert throughput.run_throughput(CPU, 0.0, left_out) == ([], [])
    assert left_out == ["throughput of copy f32: no time was left"]


def test_launch_costs_are_of_the_call_and_of_the_launch():
    costs = latency.launch_costs(CPU, 0.02)
    assert [cost.name for cost in costs] == ["1 array", "3 arrays and a scalar"]
    for cost in costs:
        assert 0 < cost.call <= cost.launch < 1 and 0 < cost.alone < 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["write", "off"])
def test_first_calls_are_measured_in_fresh_processes(mode, monkeypatch, tmp_path):
    monkeypatch.setenv("TACK_CACHE", mode)
    monkeypatch.setenv("TACK_CACHE_DIR", str(tmp_path))
    left_out = []
    found = latency.first_calls("cpu", 120, left_out)
    assert len(found) == 2, left_out
    compiled, second = found
    assert not compiled.from_disk and second.from_disk == (mode == "write")
    assert all(t > 0 for each in (compiled, second) for t in (each.start, each.first, each.small, each.medium))
    assert left_out == (
        [] if second.from_disk else ["first calls, from the disk cache: the cache did not serve them (is TACK_CACHE off?)"]
    )


@pytest.mark.slow
def test_first_calls_that_cannot_be_made_are_left_out(monkeypatch):
    left_out = []
    assert latency.first_calls("vulkan", 60, left_out) == []
    assert left_out[0].startswith("first calls, compiled: ")
    monkeypatch.setattr(latency, "_PROGRAM", "while True: pass")
    assert latency.first_calls("cpu", 0, left_out) == []
    assert left_out[1] == "first calls, compiled: not done within 0 seconds"
