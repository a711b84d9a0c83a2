"""Devices: identity, options, the default and its blocks, what cannot start and why, and capability records in error texts."""

import asyncio
import copy
import ctypes
import dataclasses
import gc
import pickle
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import tack
from tack import settings
from tack.ir.types import DTYPES
from tack.runtime import device as devices
from tack.runtime.backend import (
    Backend,
    Capabilities,
    require,
    require_atomic_dtype,
    require_dtype,
    require_iterations,
)

GPUS = {
    "metal": ("Metal", "Metal", "Apple silicon, plus pyobjc-framework-Metal"),
    "cuda": ("CUDA", "cuda.bindings", "NVIDIA GPU with its driver, plus cuda-python>=13.2 and NVRTC 13"),
    "hip": ("HIP", "hip", "AMD GPU with ROCm, plus hip-python"),
    "level_zero": ("Level Zero", "libze_loader", "Intel GPU with the Level Zero runtime and libocloc"),
}


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    """The process default as in a fresh process, and no device but the CPU; restored afterwards."""
    monkeypatch.delenv("TACK_DEVICE", raising=False)
    monkeypatch.setattr(devices, "_default", None)
    monkeypatch.setattr(devices, "_devices", {key: made for key, made in devices._devices.items() if key[0] == "cpu"})


@pytest.fixture
def dependency(monkeypatch):
    """A function that makes a GPU kind's module or library present or absent."""

    def put(kind, present):
        if kind == "level_zero":

            def load(name):
                assert "ze_loader" in name
                if not present:
                    raise OSError("libze_loader.so.1: cannot open shared object file")
                return object()

            monkeypatch.setattr(devices.ctypes, "CDLL", load)
            return
        module = GPUS[kind][1]
        if "." in module:
            monkeypatch.setitem(sys.modules, module.partition(".")[0], types.ModuleType("cuda") if present else None)
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module) if present else None)

    return put


class Fake(Backend):
    """A backend that only counts."""

    def __init__(self, label="Fake", **fields):
        self.capabilities = Capabilities(label, **fields)

    def properties(self):
        return {"name": "fake", "memory": 1, "compute_units": 2, "limits": {}}


# ------------------------------------------------------------------------------------------------- identity


@pytest.mark.spec("back-008", "back-010", "back-012")
def test_the_same_device_each_time():
    cpu = tack.device("cpu")
    assert cpu is tack.device("cpu") is tack.device() is tack.get_default_device()
    assert (cpu.kind, cpu.index, str(cpu), repr(cpu)) == ("cpu", 0, "cpu", "tack.device('cpu')")
    assert copy.copy(cpu) is cpu and copy.deepcopy(cpu) is cpu and pickle.loads(pickle.dumps(cpu)) is cpu


@pytest.mark.spec("back-034")
def test_options_make_a_separate_device():
    cpu, one, other = tack.device("cpu"), tack.device("cpu", num_threads=1), tack.device("cpu", num_threads=np.int64(1))
    assert len({cpu, one, other}) == 3 and one != cpu and one != other and one == one
    assert (one.kind, str(one), repr(one)) == ("cpu", "cpu", "tack.device('cpu', num_threads=1)")
    assert tack.device("cpu") is cpu and copy.deepcopy(one) is one
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(one)


@pytest.mark.parametrize("value", [0, -1, 1.0, "2", True, None, 2.5])
def test_thread_counts(value):
    with pytest.raises(ValueError, match="num_threads=.*a whole number of at least 1"):
        tack.device("cpu", num_threads=value)


@pytest.mark.parametrize(
    "spec",
    ["", "gpu", "CPU", "cpu:0", "metal:0", "cuda:", "cuda:-1", "cuda:x", "cuda:1:2", "cuda: 1", "cuda:\u0661", 3, None, b"cpu"],
)
def test_unknown_specs_list_what_is_accepted(spec):
    for call in (lambda: tack.device(spec), lambda: tack.device_count(spec)):
        with pytest.raises(ValueError) as error:
            call()
        assert repr(spec) in str(error.value)
        for kind in ("cpu", "metal", "cuda", "hip", "level_zero", "cuda:1"):
            assert f'"{kind}"' in str(error.value)


@pytest.mark.parametrize(
    ("spec", "option", "accepted"),
    [("cpu", "threads", "num_threads="), ("hip", "num_threads", "none"), ("level_zero:1", "context", "external_context=")],
)
def test_unknown_options_list_what_is_accepted(spec, option, accepted):
    with pytest.raises(ValueError, match=rf"has no option '{option}'\n  Options: {accepted}\."):
        tack.device(spec, **{option: 1})


def test_the_table_agrees_with_the_settings():
    assert tuple(devices._KINDS) == settings.DEVICE_KINDS


# ------------------------------------------------------------------------------------------------- what cannot start


@pytest.mark.spec("back-124")
def test_hip_without_its_binding_gives_the_text_of_the_specification(monkeypatch):
    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name == "hip":
                raise ModuleNotFoundError("No module named 'hip'", name="hip")

    monkeypatch.delitem(sys.modules, "hip", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(RuntimeError) as error:
        tack.device("hip")
    assert str(error.value) == (
        "Cannot start the 'hip' device: missing dependency.\n"
        "  No module named 'hip'\n"
        "  Requires an AMD GPU with ROCm, plus hip-python; in a clone:\n"
        "    pip install -e 'packages/tack-core[hip]'   (or: uv sync --extra hip)"
    )
    assert isinstance(error.value.__cause__, ModuleNotFoundError)


@pytest.mark.spec("back-124", "back-029")
@pytest.mark.parametrize("kind", GPUS)
def test_missing_dependencies(kind, dependency):
    _, module, requires = GPUS[kind]
    dependency(kind, present=False)
    specs = [kind] if kind == "metal" else [kind, f"{kind}:0", f"{kind}:7"]
    for spec in specs:
        for call in (tack.device, tack.set_default_device, lambda spec: tack.zeros(3, device=spec), tack.zeros(3).to_device):
            with pytest.raises(RuntimeError) as error:
                call(spec)
            first, why, hardware, install = str(error.value).split("\n")
            assert first == f"Cannot start the '{kind}' device: missing dependency."
            assert module in why and requires in hardware and hardware.endswith("; in a clone:")
            assert install == f"    pip install -e 'packages/tack-core[{kind}]'   (or: uv sync --extra {kind})"
            assert isinstance(error.value.__cause__, (ImportError, OSError))
    assert tack.device_count(kind) == 0


@pytest.mark.parametrize("kind", [kind for kind in GPUS if devices._KINDS[kind].start is None])
def test_a_dependency_without_a_backend(kind, dependency):
    dependency(kind, present=True)
    with pytest.raises(RuntimeError) as error:
        tack.device(kind)
    assert f"Cannot start the '{kind}' device: this version of Tack has no {GPUS[kind][0]} backend yet." in str(error.value)
    assert tack.device_count(kind) == 0


def test_the_loader_is_asked_for_the_level_zero_library():
    probe = devices._library("no_such_library_of_ours")
    with pytest.raises(OSError, match=r"libno_such_library_of_ours\.so\.1"):
        probe()
    assert devices._library("c")() is not None and isinstance(devices._library("c")(), ctypes.CDLL)


@pytest.mark.spec("back-029")
def test_device_count():
    assert tack.device_count("cpu") == 1 == tack.device_count()
    with pytest.raises(ValueError, match=r"device_count\('cuda'\)"):
        tack.device_count("cuda:1")


def test_the_cpu_device_itself_needs_no_compiler(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert tack.ones(3, device=tack.device("cpu", num_threads=1)).sum() == 3


# ------------------------------------------------------------------------------------------------- the default


@pytest.mark.spec("back-011", "back-012", "back-013", "back-025", "back-026", "back-084")
def test_default_device():
    cpu, serial = tack.device("cpu"), tack.device("cpu", num_threads=1)
    before = tack.arange(3)
    assert tack.get_default_device() is cpu
    tack.set_default_device(serial)
    assert tack.get_default_device() is serial and tack.zeros(2).device is serial and before.device is cpu
    assert tack.from_dlpack(np.ones(2)).device is serial and tack.array([1]).device is serial
    tack.set_default_device("cpu")
    assert tack.get_default_device() is cpu and before.numpy().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="unknown device"):
        tack.set_default_device("tpu")
    assert tack.get_default_device() is cpu


@pytest.mark.spec("back-014", "back-015")
def test_blocks_nest_and_end_with_errors_too():
    cpu, a, b = tack.device("cpu"), tack.device("cpu", num_threads=1), tack.device("cpu", num_threads=2)
    with a as entered:
        assert entered is a and tack.get_default_device() is a
        with b, a:
            assert tack.zeros(1).device is a
            tack.set_default_device(b)  # of the process: blocks stay as they are
            assert tack.get_default_device() is a
        assert tack.get_default_device() is a
    assert tack.get_default_device() is b
    tack.set_default_device(cpu)
    with pytest.raises(LookupError), a:
        raise LookupError
    assert tack.get_default_device() is cpu


@pytest.mark.spec("back-014")
def test_blocks_hold_on_their_own_thread():
    serial = tack.device("cpu", num_threads=1)
    seen = []
    inside, checked = threading.Event(), threading.Event()

    def other():
        seen.append(tack.get_default_device())
        with tack.device("cpu", num_threads=3) as mine:
            seen.append(tack.get_default_device() is mine)
            inside.set()
            assert checked.wait(30)

    with serial:
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
        assert tack.get_default_device() is serial
        checked.set()
        thread.join()
    assert seen == [tack.device("cpu"), True]


def test_tack_device_sets_the_default(monkeypatch, dependency):
    monkeypatch.setenv("TACK_DEVICE", "cpu")
    assert tack.get_default_device() is tack.device("cpu")
    monkeypatch.setattr(devices, "_default", None)
    monkeypatch.setenv("TACK_DEVICE", "hip")
    dependency("hip", present=False)
    with pytest.raises(RuntimeError, match="Cannot start the 'hip' device"):
        tack.zeros(3)
    assert tack.zeros(3, device="cpu").device.kind == "cpu"
    monkeypatch.setenv("TACK_DEVICE", "tpu")
    with pytest.raises(ValueError, match="TACK_DEVICE='tpu': the variable takes a device"):
        tack.zeros(3)
    with tack.device("cpu"):
        tack.zeros(3)
    tack.set_default_device("cpu")
    assert tack.zeros(3).device is tack.device("cpu")


@pytest.mark.spec("back-016")
def test_every_constructor_takes_a_device():
    serial = tack.device("cpu", num_threads=1)
    a = tack.ones(2)
    host = np.ones(2, np.float32)
    for made in (
        tack.array([1], device=serial), tack.empty(2, device=serial), tack.zeros(2, device=serial), tack.ones(2, device=serial),
        tack.full(2, 1, device=serial), tack.arange(2, device=serial), tack.arange(2.0, device=serial),
        tack.linspace(0, 1, device=serial), tack.empty_like(a, device=serial), tack.zeros_like(a, device=serial),
        tack.ones_like(a, device=serial), tack.full_like(a, 2, device=serial), tack.concatenate([a], device=serial),
        tack.stack([a], device=serial), tack.from_dlpack(host, device=serial),
        tack.array_from_ptr(host.ctypes.data, tack.f32, 2, device=serial),
    ):  # fmt: skip
        assert made.device is serial
    assert tack.zeros(2, device="cpu").device is tack.device("cpu")


# ------------------------------------------------------------------------------------------------- backends and waiting


@pytest.fixture
def fake_start(monkeypatch):
    """Backends of new CPU devices are `Fake`s; the list of their options."""
    started = []

    def start(index, **options):
        started.append(options)
        return Fake(**({"supports_workgroups": True} if options else {}))

    kind = dataclasses.replace(devices._KINDS["cpu"], start=start)
    monkeypatch.setitem(devices._KINDS, "cpu", kind)
    return started


def test_the_backend_is_made_once_and_late(fake_start):
    d = tack.device("cpu", num_threads=2)
    d.synchronize()
    assert fake_start == []
    threads = [threading.Thread(target=lambda: d._backend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fake_start == [{"num_threads": 2}] and d._backend is d._backend and d._backend.supports_workgroups
    assert d.properties == {"name": "fake", "memory": 1, "compute_units": 2, "limits": {}}
    with pytest.raises(AttributeError, match="no attribute 'backend'"):
        d.backend


class Queue:
    """A memory that counts the waits for its queue."""

    def __init__(self):
        self.waits = 0

    def wait(self):
        self.waits += 1

    def run(self, call):
        return call()


@pytest.mark.spec("back-027", "back-028")
def test_waiting(fake_start, monkeypatch):
    """Also for a device on which no kernel has run: copies are queued, too."""
    queues = []

    def memory(index):
        queues.append(Queue())
        return queues[-1]

    monkeypatch.setitem(devices._KINDS, "cpu", dataclasses.replace(devices._KINDS["cpu"], memory=memory))
    a, b = (tack.device("cpu", num_threads=n) for n in (1, 2))
    a.synchronize()
    assert [queue.waits for queue in queues] == [1, 0]
    tack.sync()
    assert [queue.waits for queue in queues] == [2, 1]
    asyncio.run(tack.sync_async())
    assert [queue.waits for queue in queues] == [3, 2]
    assert fake_start == [] and b not in devices.started_devices()


def test_a_device_that_nobody_holds_is_freed(fake_start):
    d = tack.device("cpu", num_threads=1)
    backend = weakref.ref(d._backend)
    del d
    gc.collect()
    assert backend() is None


# ------------------------------------------------------------------------------------------------- capabilities


def test_a_record_without_anything_is_safe():
    bare = Capabilities("Bare")
    assert not any((bare.supports_f64, bare.supports_workgroups, bare.supports_device_reductions, bare.fma, bare.f32_denormals))
    assert tack.f64 not in bare.supported_dtypes and len(bare.supported_dtypes) == 9 and bare.supported_atomic_dtypes == ()
    with pytest.raises(AttributeError):
        bare.label = "other"


def test_a_backend_answers_from_its_record():
    backend = Fake(supported_dtypes=DTYPES, supported_atomic_dtypes=(tack.i32,), supports_device_reductions=True)
    assert backend.label == "Fake" and backend.supports_f64 and not backend.supports_workgroups
    assert backend.supported_dtypes == DTYPES and backend.supported_atomic_dtypes == (tack.i32,)
    assert backend.supports_device_reductions


@pytest.mark.spec("back-131")
def test_the_dtype_error_is_the_text_of_the_specification():
    metal = Capabilities("Metal")
    with pytest.raises(TypeError) as error:
        require_dtype(metal, tack.f64, kernel="my_kernel", parameter="data")
    assert str(error.value) == (
        "Kernel 'my_kernel': parameter 'data' has dtype tack.f64, which is not supported on Metal. Supported dtypes: tack.f32, "
        "tack.i16, tack.i32, tack.i64, tack.i8, tack.u16, tack.u32, tack.u64, tack.u8"
    )
    require_dtype(metal, tack.f32, kernel="my_kernel", parameter="data")


def test_refusals_name_kernel_capability_and_device():
    record = Capabilities("Fake", supported_atomic_dtypes=(tack.i32, tack.f32), max_iterations=2**32)
    with pytest.raises(RuntimeError, match=r"Kernel 'k': workgroup execution .* is not supported on Fake\n  .*tack.local_array"):
        require(record, "supports_workgroups", kernel="k")
    with pytest.raises(NotImplementedError, match=r"tack.barrier needs workgroup execution .* not supported on Fake\n  Leave it"):
        require(record, "supports_workgroups", kernel="k", what="tack.barrier", remedy="Leave it out.", kind=NotImplementedError)
    with pytest.raises(TypeError, match=r"'k': parameter 'n' .* dtype tack.i64, .* on Fake. Atomic dtypes: tack.f32, tack.i32"):
        require_atomic_dtype(record, tack.i64, kernel="k", parameter="n")
    with pytest.raises(
        ValueError, match=rf"'k': a launch of {2**32 + 1} iterations is past the limit of {2**32} on Fake\n  Split"
    ):
        require_iterations(record, 2**32 + 1, kernel="k")
    require(Capabilities("Full", supports_workgroups=True), "supports_workgroups")
    require_atomic_dtype(record, tack.i32, kernel="k", parameter="n")
    require_iterations(record, 2**32, kernel="k")
    require_iterations(Capabilities("Endless"), 2**70, kernel="k")
