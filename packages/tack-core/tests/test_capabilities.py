"""The page of capabilities: a refusal for each one that a device lacks, the matrix of the specification, the portable part."""

import dataclasses
import re

import numpy as np
import pytest
from fresh_process import run_program

import capabilities
import mistakes
import tack
from tack.ir.types import DTYPES
from tack.runtime import cpu, cuda_backend
from tack.runtime.backend import Capabilities
from tack.testing import kernel_from

FIELDS = {f.name for f in dataclasses.fields(Capabilities)} - {"label"} | {"supports_f64"}
REFUSED = [refusal for refusal in capabilities.REFUSALS if refusal.program]

# The table of the specification, with its words.
SPECIFIED = {
    "f64 arrays": ("yes", "no", "yes", "yes", "depends on the device"),
    "Shared memory, barriers, `thread_id`, block reductions": ("no", "yes", "yes", "yes", "yes"),
    "Atomic array types": (
        "all ten", "i32, u32, f32", "i32, u32, i64, u64, f32, f64", "i32, u32, i64, u64, f32, f64", "i32, u32, f32",
    ),
    "`sum` `min` `max` on the device": ("no (NumPy)", "f32", "f32", "f32", "f32"),
    "3-D textures": (
        "software", "hardware", "hardware", "hardware where the device has image support",
        "hardware where the device has samplers",
    ),
    "Iterations per launch": (
        "no limit", "2^32", "the device's largest grid x 256", "device limit, at most 2^32 - 256",
        "device limit (largest group count x group size)",
    ),
}  # fmt: skip


def cells(title):
    """The cells of a row of the page's matrix, by backend."""
    page = capabilities.page()
    rows = (re.search(rf"^\| {re.escape(text)} \|.*$", page, re.MULTILINE)[0] for text in ("capability", title))
    names, values = ([cell.strip().strip("*") for cell in row.split("|")[3:-1]] for row in rows)
    return dict(zip(names, values, strict=True))


def test_every_field_of_the_record_is_on_the_page():
    assert {name for name, *_ in capabilities._ROWS} == FIELDS == {refusal.capability for refusal in capabilities.REFUSALS}


@pytest.mark.spec(
    "back-041", "back-042", "back-044", "back-045", "back-047", "back-048", "back-050", "back-051", "back-053", "back-054"
)
@pytest.mark.spec("back-056", "back-057", "back-060", "back-133", "back-135")
@pytest.mark.parametrize("title", SPECIFIED)
def test_the_matrix_is_that_of_the_specification(title):
    cpu_, metal, cuda, hip, level_zero = SPECIFIED[title]
    assert cells(title) == {"CPU": cpu_, "CUDA": cuda, "Metal": metal, "HIP": hip, "Level Zero": level_zero}


@pytest.mark.spec("back-060")
def test_what_is_portable_to_all_five():
    common = capabilities.portable()
    assert common.dtypes == tuple(t for t in DTYPES if t is not tack.f64)
    assert common.atomic_dtypes == (tack.i32, tack.u32, tack.f32)
    assert common.iterations == 2**32 - 256
    page = capabilities.page()
    for heading in ("## The matrix", "## What a missing capability rejects, and when", "## What is portable to all five"):
        assert f"\n{heading}\n" in page


@pytest.mark.spec("back-061")
def test_the_program_of_the_page_runs():
    for block in re.findall(r"^```python\n(.*?)^```", capabilities.page(), re.MULTILINE | re.DOTALL):
        mistakes.run(block)


@pytest.mark.spec("back-039", "back-040", "back-060")
@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: refusal.title)
def test_a_missing_capability_is_refused(refusal, monkeypatch):
    """The error names the kernel and the device, nothing is stored, and the same program runs where the capability is there."""
    with capabilities.lacking_device(refusal.label, **refusal.lacking):
        given = mistakes.arguments()
        monkeypatch.setattr(mistakes, "arguments", lambda: given)
        with pytest.raises((RuntimeError, TypeError)) as error:
            mistakes.run(refusal.program)
    message = str(error.value)
    assert message.startswith("Kernel 'kernel': ") and f" on {refusal.label}" in message
    assert f"{type(error.value).__name__}: {message}" in capabilities.page()
    assert given["out"].numpy().tolist() == [0.0] * 4
    if refusal.lacking:
        mistakes.run(refusal.program)


@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: refusal.title)
def test_inspecting_is_refused_as_a_call_is(refusal):
    program = refusal.program.replace("\nkernel(", "\ntack.inspect(kernel, ")
    with capabilities.lacking_device(refusal.label, **refusal.lacking), pytest.raises((RuntimeError, TypeError)) as error:
        mistakes.run(program)
    assert " on " in str(error.value)


@pytest.mark.spec("back-059")
def test_a_launch_past_the_limit_names_kernel_count_and_limit():
    (refusal,) = (refusal for refusal in capabilities.REFUSALS if refusal.capability == "max_iterations")
    limit = refusal.lacking["max_iterations"]
    assert refusal.message().startswith(
        f"ValueError: Kernel 'kernel': a launch of {limit + 1} iterations is past the limit of {limit}"
    )
    assert refusal.message() in capabilities.page()


F64_BODIES = {
    "a cast": "out[i] = tack.f64(x[i]) + 1.0",
    "a local array": "t = tack.local_array(tack.f64, 2)\n        t[0] = 1.0\n        out[i] = t[0]",
    "a bitcast": "out[i] = tack.bitcast(tack.f64, tack.i64(i))",
    "an annotation": "t: tack.f64 = x[i]\n        out[i] = t",
    "a random number": "out[i] = tack.random.uniform_f64(1, i, 0)",
}


@pytest.mark.parametrize("body", F64_BODIES)
def test_every_way_to_a_64_bit_float_is_refused_without_f64(body):
    kernel = kernel_from(f"@tack.kernel\ndef k(x, out):\n    for i in range(4):\n        {F64_BODIES[body]}\n")
    with capabilities.lacking_device("Metal", supported_dtypes=capabilities._NO_F64):
        out = tack.full(4, 77.0)
        with pytest.raises(RuntimeError, match=r"Kernel 'k': 64-bit floating point \(tack.f64\) is not supported on Metal"):
            kernel(tack.ones(4), out)
        assert out.numpy().tolist() == [77.0] * 4 and not kernel.variants()


def test_kernels_of_32_bit_floats_run_without_f64():
    kernel = kernel_from(
        "@tack.kernel\ndef k(x, out, a):\n    for i in range(4):\n"
        "        out[i] = tack.select(x[i] > 0.1, a * sqrt(x[i]) / 3 + 1e-3, tack.random.uniform_f32(1, i, 0)) // 0.25\n"
    )
    x, out = tack.arange(4.0), tack.zeros(4)
    with capabilities.lacking_device("Metal", supported_dtypes=capabilities._NO_F64):
        kernel(x, out, 2.5)
    again = tack.zeros(4)
    kernel(x, again, 2.5)
    np.testing.assert_array_equal(out.numpy(), again.numpy())


def test_a_device_refines_no_other_fields_than_those_that_depend_on_it():
    started = tack.device("cpu")._backend.capabilities
    same = {name: getattr(cpu.CAPABILITIES, name) for name in cpu.DEPENDS}
    assert dataclasses.replace(started, **same) == cpu.CAPABILITIES
    assert set(cpu.DEPENDS) | set(cuda_backend.DEPENDS) < FIELDS


@pytest.mark.spec("back-042", "back-045", "back-048", "back-051", "back-054", "back-057", "back-059", "back-135")
def test_a_simulated_gpu_has_the_record_of_its_kind_and_keeps_its_limit():
    program = """
        import dataclasses

        import tack
        from tack.runtime import cuda_backend

        (row,) = [row for row in tack.devices() if row.kind == "cuda"]
        assert (row.spec, row.available, row.simulated) == ("cuda:0", True, True) and "Simulated" in row.found, row
        started = tack.device("cuda")._backend.capabilities
        same = {name: getattr(cuda_backend.CAPABILITIES, name) for name in cuda_backend.DEPENDS}
        assert dataclasses.replace(started, **same) == cuda_backend.CAPABILITIES


        @tack.kernel
        def store(out, n):
            for i in range(n):
                out[i % 4] = 1.0


        limit = started.max_iterations
        out = tack.zeros(4, device="cuda")
        try:
            store(out, limit + 1)
        except ValueError as error:
            text = f"Kernel 'store': a launch of {limit + 1} iterations is past the limit of {limit} on CUDA"
            assert str(error).startswith(text), error
            print("refused")
        assert out.numpy().tolist() == [0.0] * 4
    """
    assert run_program(program, TACK_SIMULATE="cuda") == "refused"
