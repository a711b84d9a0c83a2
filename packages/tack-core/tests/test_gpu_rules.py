"""What the tests of the language run on the CPU leaves the same bits on a simulated GPU: the cells of each rule, executed."""

import importlib

import pytest
from golden import kernels as golden
from replay import AS_LAUNCHED, EVERY_FORM, Replay
from simulated import simulated_cuda

# Modules, how many launches of theirs there are at least, and the tests that are about something else than what a kernel leaves.
MODULES = {
    "test_rules_evaluation": (90, {"test_results_do_not_depend_on_threads"}),
    "test_rules_functions": (20, set()),
    "test_rules_kernel": (150, {"test_every_index_runs_once_in_chunks_of_any_size"}),
    "test_rules_memory": (25, set()),
    "test_rules_numbers": (300, set()),
    "test_rules_types": (450, set()),
    "test_atomics": (70, set()),
    "test_device_class": (55, set()),
    "test_gpu_unit": (140, {"test_arrays_past_32_bits_run_with_64"}),
    "test_interpret_groups": (15, set()),
    "test_local_arrays": (60, set()),
    "test_matrices": (50, set()),
    "test_print": (40, {"test_lines_of_many_threads_stay_whole", "test_emitted_c_prints_the_same_lines"}),
    "test_results": (90, set()),
    "test_textures": (45, {"test_emitted_c_samples_in_software_or_by_hardware"}),
    "test_vector_arrays": (15, set()),
    "test_vector_c": (10, set()),
    "test_vectors": (200, set()),
    "test_workgroups": (
        10,
        {"test_a_barrier_that_some_lanes_miss_shows_in_the_emulation", "test_nvrtc_takes_all_of_it_for_every_dtype"},
    ),
}


@pytest.mark.rule(
    "E1", "E2", "E3", "E4", "E5", "K1", "K2", "K3", "K4", "K5", "K6", "N4", "N5", "T2", "T2b", "T3", "T4", "T5", "T6"
)
@pytest.mark.rule("T7", "T8", "T9", "T10", "T12", "V1", "V2", "F1", "F2", "M1", "M2", "M5", "A1", "W1", "P1")
@pytest.mark.parametrize("name", MODULES)
def test_kernels_of_the_rules_leave_the_same_on_a_gpu(name):
    (gpu,) = simulated_cuda()
    least, others = MODULES[name]
    replay = Replay(gpu)
    replay.note(importlib.import_module(name))
    assert {test.partition("(")[0].rpartition(".")[2] for test in replay.failed} == others, replay.failed
    assert len(replay.runs) >= least
    differences = replay.differences(EVERY_FORM if name == "test_gpu_unit" else AS_LAUNCHED)
    assert not differences, "\n".join(differences[:10])


def test_a_difference_is_told():
    """In an array, in a result, in what is printed, and a launch that fails."""
    (gpu,) = simulated_cuda()
    replay = Replay(gpu)
    replay.note(importlib.import_module("test_print"))
    run = next(run for run in replay.runs if run.lines and run.expected)
    run.lines, run.result, run.expected[0] = ["something else"], 1.0, run.expected[0] + 1
    replay.runs = [run]
    words = [each.partition("): ")[2].split(" ")[:2] for each in replay.differences()]
    assert words == [["the", "result"], ["it", "prints"], ["array", "0"]]
    run.given.args.clear()
    with pytest.raises(AssertionError, match="does not run"):
        replay.differences()


@pytest.mark.rule("K2", "K5", "E5", "M1", "P1")
def test_golden_kernels_execute():
    """Each by both its entries, in a grid and in a row of workgroups."""
    (gpu,) = simulated_cuda()
    replay = Replay(gpu)
    for name, args in golden.CALLS.items():
        replay.call(name, getattr(golden, name), args)
    assert {run.test for run in replay.runs} == set(golden.CALLS)
    assert any(run.variant.payload.form().layout.has_grid for run in replay.runs)
    differences = replay.differences(EVERY_FORM)
    assert not differences, "\n".join(differences[:10])
