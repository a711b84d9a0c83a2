"""Devices and contexts on the simulated driver, through the real binding."""

import re
import threading
from pathlib import Path

import pytest
from cuda.bindings import driver
from driver_tools import code, kinds, machine, ok

import tack_sim

A = driver.CUdevice_attribute


def test_what_is_not_simulated_is_not_found(cuda):
    with pytest.raises(RuntimeError, match="cuGraphCreate is not found"):
        driver.cuGraphCreate(0)


def test_a_device_names_itself_and_its_driver_as_no_real_one_does(cuda):
    assert ok(driver.cuDeviceGetCount()) == 2
    assert ok(driver.cuDeviceGetName(100, 1)).split(b"\0")[0] == b"Simulated NVIDIA GPU (tack-sim)"
    assert ok(driver.cuDriverGetVersion()) == 13997
    assert ok(driver.cuDeviceGetUuid(0)).bytes != ok(driver.cuDeviceGetUuid(1)).bytes
    assert ok(driver.cuDeviceTotalMem(0)) == 1 << 30
    assert code(driver.cuDeviceGet(2)) == 101
    assert kinds() == ["wrong device"]


def test_attributes_are_those_chosen():
    with machine(compute=(7, 5), max_grid=(7, 6, 5), attributes={"MULTIPROCESSOR_COUNT": 132}):
        wanted = {A.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: 1024, A.CU_DEVICE_ATTRIBUTE_WARP_SIZE: 32,
                  A.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 7, A.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 5,
                  A.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: 7, A.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: 5,
                  A.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 132, A.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: 1,
                  A.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: 0, A.CU_DEVICE_ATTRIBUTE_INTEGRATED: 0}  # fmt: skip
        assert {number: ok(driver.cuDeviceGetAttribute(number, 0)) for number in wanted} == wanted
        for number in A:
            if number.name != "CU_DEVICE_ATTRIBUTE_MAX" and int(number) <= 161:
                ok(driver.cuDeviceGetAttribute(number, 0))
        assert tack_sim.reports() == ()


def test_nothing_works_before_cuinit(cuda):
    with tack_sim.fresh():
        assert code(driver.cuDeviceGetCount()) == 3
        assert code(driver.cuMemAlloc(4)) == 3
        assert code(driver.cuInit(0)) == 0


def test_no_device_is_an_answer_of_cuinit(cuda):
    with tack_sim.fresh(count=0):
        assert code(driver.cuInit(0)) == 100


def test_a_context_is_current_on_the_thread_that_made_it_so(cuda):
    results = []

    def other():
        results.append(code(driver.cuMemAlloc(4)))
        results.append(int(ok(driver.cuCtxGetCurrent())))
        ok(driver.cuCtxSetCurrent(cuda.context))
        results.append(code(driver.cuMemAlloc(4)))

    for _ in range(2):  # a thread may get the system's number of one that has ended
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert results == [201, 0, 0] * 2
    assert kinds() == ["no current context"] * 2


def test_contexts_stack(cuda):
    own = ok(driver.cuCtxCreate(None, 0, 1))
    assert int(ok(driver.cuCtxGetDevice())) == 1
    ok(driver.cuCtxPushCurrent(cuda.context))
    assert int(ok(driver.cuCtxGetDevice())) == 0
    assert int(ok(driver.cuCtxPopCurrent())) == int(cuda.context)
    assert int(ok(driver.cuCtxGetCurrent())) == int(own)
    ok(driver.cuCtxDestroy(own))
    assert int(ok(driver.cuCtxGetCurrent())) == int(cuda.context)
    assert code(driver.cuCtxPushCurrent(own)) == 201
    ok(driver.cuCtxPopCurrent())
    assert code(driver.cuCtxPopCurrent()) == 201
    assert kinds() == ["destroyed handle", "no current context"]


def test_a_primary_context_lives_as_long_as_it_is_retained(cuda):
    assert ok(driver.cuDevicePrimaryCtxGetState(0))[1] == 1
    assert int(ok(driver.cuDevicePrimaryCtxRetain(0))) == int(cuda.context)
    ok(driver.cuDevicePrimaryCtxRelease(0))
    ok(driver.cuMemAlloc(4))
    ok(driver.cuDevicePrimaryCtxRelease(0))
    assert ok(driver.cuDevicePrimaryCtxGetState(0))[1] == 0
    assert code(driver.cuMemAlloc(4)) == 709
    assert code(driver.cuDevicePrimaryCtxRelease(0)) == 201
    assert code(driver.cuCtxDestroy(ok(driver.cuDevicePrimaryCtxRetain(0)))) == 201
    ok(driver.cuDevicePrimaryCtxReset(0))
    assert kinds() == ["destroyed handle", "invalid value", "wrong handle"]


def test_error_codes_have_cudas_names_and_meanings(cuda):
    for number, name, words in ((0, b"CUDA_SUCCESS", b"no error"), (1, b"CUDA_ERROR_INVALID_VALUE", b"invalid argument"),
                                (700, b"CUDA_ERROR_ILLEGAL_ADDRESS", b"an illegal memory access was encountered")):  # fmt: skip
        assert ok(driver.cuGetErrorName(driver.CUresult(number))) == name
        assert ok(driver.cuGetErrorString(driver.CUresult(number))) == words
    from tack_sim.driver_codes import MEANINGS, code_name

    assert {n: code_name(n) for n in MEANINGS} == {n: driver.CUresult(n).name for n in MEANINGS}


def test_a_python_exception_never_escapes(cuda, monkeypatch, capsys):
    from tack_sim.memory import Region

    monkeypatch.setattr(Region, "allocate", lambda *_: 1 / 0)
    assert code(driver.cuMemAlloc(8)) == 999
    assert kinds() == ["internal error"]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_reports_and_faults_have_the_kinds_that_are_documented():
    from tack_sim import Report
    from tack_sim.driver_codes import FAULT_CODES
    from tack_sim.ptx_helpers import FAULTS

    assert set(FAULT_CODES) == {kind for kind in FAULTS if kind}
    made = set()
    for path in Path(tack_sim.__file__).parent.glob("driver*.py"):
        made |= set(re.findall(r'(?:CuError|Report)\((?:[\w.]+, )?"([a-z ]+)"', path.read_text("utf-8")))
    assert len(made) > 15
    assert not [kind for kind in made if f'"{kind}"' not in Report.__doc__]
