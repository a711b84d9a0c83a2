"""What cannot start says what is missing and what installs it: the errors, `tack.devices()`, `tack doctor`, `TACK_SIMULATE`."""

import dataclasses
import os
import subprocess
import sys
import types

import pytest

import tack
from tack import settings
from tack.cli import main
from tack.runtime import device as devices
from tack.runtime.backend import NEEDS, missing_compiler, missing_dependency, missing_driver, no_device

INSTALL = {kind: f"pip install -e 'packages/tack-core[{kind}]'   (or: uv sync --extra {kind})" for kind in settings.DEVICE_KINDS}


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch):
    for row in settings.SETTINGS:
        if row.name not in ("TACK_CACHE", "TACK_CACHE_DIR"):
            monkeypatch.delenv(row.name, raising=False)
    monkeypatch.setattr(devices, "_devices", {key: made for key, made in devices._devices.items() if key[0] == "cpu"})
    before = set(devices._simulated)
    devices._simulated.clear()
    yield
    devices._simulated.clear()
    devices._simulated.update(before)


@pytest.fixture
def row(monkeypatch):
    """A function that changes the fields of a kind's row in the table of devices."""

    def put(kind, **fields):
        monkeypatch.setitem(devices._KINDS, kind, dataclasses.replace(devices._KINDS[kind], **fields))

    return put


def fails(error):
    """A probe that raises `error`."""

    def probe():
        raise error

    return probe


def report(kind):
    return [found for found in tack.devices() if found.kind == kind]


# --------------------------------------------------------------------------------------------------------- the errors


def test_every_kind_says_what_it_needs():
    assert tuple(NEEDS) == settings.DEVICE_KINDS
    for kind, needs in NEEDS.items():
        assert needs.words in str(missing_dependency(kind, ImportError("no")))


@pytest.mark.spec("back-124")
@pytest.mark.parametrize(
    ("error", "first", "found", "lead", "install"),
    [
        (missing_dependency("cuda", ImportError("No module named 'cuda'")), "missing dependency", "No module named 'cuda'",
         "in a clone", INSTALL["cuda"]),
        (missing_compiler("cuda", RuntimeError("libnvrtc.so was not found\nin 20 places")), "missing NVRTC",
         "libnvrtc.so was not found", "in a clone", INSTALL["cuda"]),
        (missing_driver("cuda", OSError("no libcuda.so.1")), "missing driver", "no libcuda.so.1",
         "the driver comes with the system", NEEDS["cuda"].driver),
        (no_device("cuda", "its driver sees no device"), "no device", "its driver sees no device",
         "to see what the driver sees", NEEDS["cuda"].look),
    ],
    ids=["dependency", "compiler", "driver", "device"],
)  # fmt: skip
def test_what_is_missing_has_one_form(error, first, found, lead, install):
    """The form of the specification: what is missing, what was found, what is required, the command."""
    assert type(error) is RuntimeError
    assert str(error).split("\n") == [
        f"Cannot start the 'cuda' device: {first}.",
        f"  {found}",
        f"  Requires {NEEDS['cuda'].words}; {lead}:",
        f"    {install}",
    ]
    assert (error.unavailable.missing, error.unavailable.install) == (first, install)


def test_an_error_without_words_is_named():
    assert "\n  ImportError\n" in str(missing_dependency("hip", ImportError()))


# ------------------------------------------------------------------------------------------------------ tack.devices()


def test_devices_lists_every_kind_and_starts_none(row):
    row("cpu", start=fails(AssertionError("started")))
    found = tack.devices()
    assert {each.kind for each in found} == set(settings.DEVICE_KINDS)
    (cpu,) = report("cpu")
    assert (cpu.spec, cpu.label, cpu.available, cpu.missing, cpu.install, cpu.simulated) == ("cpu", "CPU", True, "", "", False)
    assert "thread" in cpu.found and "LLVM" in cpu.found
    for each in found:
        assert each.available or each.missing
        assert all(type(v) in (str, bool) for v in dataclasses.astuple(each))


def test_devices_names_each_device_of_a_kind(row):
    row("hip", probe=lambda: None, count=lambda: 2, start=lambda index: None, describe=lambda index: f"GPU number {index}")
    assert [(d.spec, d.available, d.found) for d in report("hip")] == [
        ("hip:0", True, "GPU number 0"),
        ("hip:1", True, "GPU number 1"),
    ]


@pytest.mark.parametrize(
    ("error", "missing", "found", "install"),
    [
        (ImportError("No module named 'hip'"), "missing dependency", "No module named 'hip'", INSTALL["hip"]),
        (missing_driver("cuda", OSError("no libcuda")), "missing driver", "no libcuda", NEEDS["cuda"].driver),
        (ZeroDivisionError("a broken binding"), "it fails", "ZeroDivisionError: a broken binding", ""),
    ],
)
def test_devices_raises_nothing_and_says_what_is_missing(row, error, missing, found, install):
    row("hip", probe=fails(error), start=lambda index: None)
    (only,) = report("hip")
    assert (only.spec, only.available, only.missing, only.found, only.install) == ("hip", False, missing, found, install)


def test_a_kind_without_devices_has_a_row(row):
    row("hip", probe=lambda: None, count=lambda: 0, start=lambda index: None)
    (only,) = report("hip")
    assert (only.available, only.missing) == (False, "no device")


def test_a_kind_of_a_later_version_says_so(row):
    row("metal", probe=lambda: None, start=None)
    (only,) = report("metal")
    assert (only.available, only.missing) == (False, "this version of Tack has no Metal backend yet")


def test_without_llvmlite_the_cpu_says_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    (cpu,) = report("cpu")
    assert (cpu.available, cpu.missing, cpu.install) == (False, "missing dependency", INSTALL["cpu"])
    assert "llvmlite" in cpu.found


def test_a_bad_setting_is_told_and_not_raised(monkeypatch):
    monkeypatch.setenv("TACK_CPU_THREADS", "many")
    (cpu,) = report("cpu")
    assert not cpu.available and "TACK_CPU_THREADS='many': the variable takes" in cpu.found


# ------------------------------------------------------------------------------------------------------ TACK_SIMULATE


@pytest.fixture
def simulator(monkeypatch):
    """A module in the place of tack_sim; the list of kinds that it was asked to install."""
    installed = []

    def install(kind):
        if kind != "hip":
            raise ValueError(f"tack-sim has no {kind} driver")
        installed.append(kind)

    monkeypatch.setitem(sys.modules, "tack_sim", types.SimpleNamespace(install=install))
    return installed


def test_the_simulated_driver_is_installed_once_and_before_the_binding(monkeypatch, simulator, row):
    seen = []
    row("hip", probe=lambda: seen.append(list(simulator)), start=lambda index: None, memory=lambda index: None, count=lambda: 1)
    monkeypatch.setenv("TACK_SIMULATE", "cuda, hip")
    tack.device("cpu")
    assert simulator == []
    (only,) = report("hip")
    assert seen == [["hip"]] and only.simulated
    devices._check_startable(devices._KINDS["hip"])
    assert tack.device_count("hip") == 1 and simulator == ["hip"]


def test_counting_devices_simulates_too(monkeypatch, simulator, row):
    row("hip", count=lambda: len(simulator))
    assert tack.device_count("hip") == 0
    monkeypatch.setenv("TACK_SIMULATE", "hip")
    assert tack.device_count("hip") == 1


def test_a_kind_that_cannot_be_simulated_is_refused(monkeypatch, simulator):
    monkeypatch.setenv("TACK_SIMULATE", "level_zero")
    with pytest.raises(RuntimeError, match=r"'level_zero' device: missing simulator\.\n  tack-sim has no level_zero driver\n"):
        tack.device("level_zero")


def test_without_tack_sim_the_error_says_what_installs_it(monkeypatch, row):
    row("cuda", start=lambda index: None)
    monkeypatch.setenv("TACK_SIMULATE", "cuda")
    monkeypatch.setitem(sys.modules, "tack_sim", None)
    for call in (tack.device, tack.device_count):
        with pytest.raises(RuntimeError) as error:
            call("cuda")
        first, found, lead, install = str(error.value).split("\n")
        assert first == "Cannot start the 'cuda' device: missing simulator."
        assert "tack_sim" in found
        assert lead == "  TACK_SIMULATE asks for 'cuda', which requires tack-sim; in a clone:"
        assert install == "    pip install -e packages/tack-sim"
    assert report("cuda")[0].missing == "missing simulator"


@pytest.mark.parametrize("call", [tack.device, tack.device_count])
def test_a_bad_list_of_kinds_is_refused_at_first_use(monkeypatch, call):
    monkeypatch.setenv("TACK_SIMULATE", "cuda=2")
    with pytest.raises(ValueError, match="TACK_SIMULATE='cuda=2': the variable takes device kinds separated by commas"):
        call("hip")


# -------------------------------------------------------------------------------------------------------- tack doctor


def doctor(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert not printed.err and "\x1b" not in printed.out, "no colours where nobody looks"
    return printed.out


def test_doctor_shows_what_is_here(capsys, monkeypatch, tmp_path, row):
    monkeypatch.setenv("TACK_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TACK_CPU_THREADS", "3")
    row("hip", probe=fails(ImportError("No module named 'hip'")), start=lambda index: None)
    out = doctor(capsys)
    (cpu,) = report("cpu")
    for text in (f"Tack {tack_version()}", "numpy ", "llvmlite ", cpu.found, "3, of ", "vectors of", f"folder      {tmp_path}",
                 "of at most 1 GiB", "TACK_CPU_THREADS=3", f"TACK_CACHE_DIR={tmp_path}"):  # fmt: skip
        assert text in out, text
    lines = [line.strip() for line in out.splitlines()]
    at = lines.index("hip         missing dependency")
    assert lines[at + 1 : at + 3] == ["No module named 'hip'", INSTALL["hip"]]


def tack_version():
    from importlib.metadata import version

    return version("tack-core")


def test_doctor_answers_where_nothing_works(capsys, monkeypatch):
    """Bad values, no compiler, an unreadable cache folder: all told, nothing raised."""
    monkeypatch.setenv("TACK_CACHE", "rw")
    monkeypatch.setenv("TACK_CPU_THREADS", "0")
    monkeypatch.setenv("TACK_SIMULATE", "vulkan")
    for name in ("llvmlite", "llvmlite.binding", "cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, name, None)
    out = doctor(capsys)
    for name in ("TACK_CACHE='rw'", "TACK_CPU_THREADS='0'", "TACK_SIMULATE='vulkan'"):
        assert f"{name}: the variable takes" in out
    assert not any(found.available for found in tack.devices())


def test_doctor_is_a_command():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-m", "tack", "doctor"], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith(f"Tack {tack_version()} in ")
