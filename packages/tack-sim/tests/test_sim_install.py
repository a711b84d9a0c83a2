"""How the simulated driver comes into a process and what it says at its end; each program is a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

START = """
import tack_sim
tack_sim.install("cuda")
from cuda.bindings import driver
driver.cuInit(0)
_, context = driver.cuDevicePrimaryCtxRetain(0)
driver.cuCtxSetCurrent(context)
"""


def run(program):
    """The output and the errors of a program that ends well."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_readmes_example_prints_what_it_says():
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[:1]
    expected = re.search(r"It prints\n\n(.*?)\n\nand", README.read_text("utf-8"), re.DOTALL)[1]
    out, err = run(example)
    assert out.split("\n")[:-1] == [line.strip() for line in expected.split("\n")]
    assert err.count("\n") == 1
    assert "scale.cu:5, block (3, 0, 0), lane 232" in err
    assert "0 bytes behind the end of 4000 bytes" in err


def test_the_readmes_conftest_fails_a_test_that_leaves_a_report(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (tmp_path / "conftest.py").write_text(blocks[1])
    (tmp_path / "test_it.py").write_text("""
from cuda.bindings import driver
def test_nothing(): driver.cuInit(0)
def test_wrong(): driver.cuInit(0), driver.cuDeviceGet(7)
""")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "2 passed, 1 error" in done.stdout


def test_a_driver_that_is_loaded_stays():
    out, _ = run("""
import sys, tack_sim
sys.modules["tack_sim.install"]._is_loaded = lambda: True
try:
    tack_sim.install("cuda")
except RuntimeError as error:
    print(error)
""")
    assert "before cuda.bindings is used" in out


def test_nvrtc_alone_loads_no_driver_and_works_before_and_after():
    out, _ = run("""
from cuda.bindings import nvrtc
def compiles():
    _, program = nvrtc.nvrtcCreateProgram(b"__global__ void f() {}", b"f.cu", 0, [], [])
    return int(nvrtc.nvrtcCompileProgram(program, 0, [])[0])
print(compiles())
import tack_sim
tack_sim.install("cuda")
print(compiles())
""")
    assert out.split() == ["0", "0"]


def test_what_cannot_be_installed_is_an_error():
    out, _ = run("""
import tack_sim
for call in (lambda: tack_sim.reports(), lambda: tack_sim.install("hip"), lambda: tack_sim.install("cuda", count=-1),
             lambda: tack_sim.install("cuda", memory=0), lambda: tack_sim.install("cuda", attributes={"NOTHING": 1}),
             lambda: tack_sim.install("cuda", colour=3), lambda: tack_sim.install("cuda"), lambda: tack_sim.install("cuda"),
             lambda: tack_sim.install("cuda", count=2)):
    try:
        call()
        print("installed")
    except Exception as error:
        print(type(error).__name__)
""")
    errors = "RuntimeError", "ValueError", "ValueError", "ValueError", "ValueError", "TypeError"
    assert out.split() == [*errors, "installed", "installed", "RuntimeError"]


def test_leaks_are_told_at_exit():
    _, err = run(START + "driver.cuMemAlloc(100)\n")
    assert re.sub("0x[0-9a-f]+", "ADDRESS", err).splitlines() == [
        "tack-sim: leak: 100 bytes of device memory at ADDRESS, in the primary context of device 0",
        "tack-sim: leak: the primary context of device 0, retained 1 times more than released",
    ]


def test_a_program_that_gives_everything_back_ends_without_a_word():
    assert run(START + "_, p = driver.cuMemAlloc(100)\ndriver.cuMemFree(p)\ndriver.cuDevicePrimaryCtxRelease(0)\n") == ("", "")
    assert run('import tack_sim\ntack_sim.install("cuda")\n') == ("", "")


def test_faults_of_work_that_nobody_waits_for_are_told_at_exit():
    _, err = run(START + "_, p = driver.cuMemAlloc(100)\ndriver.cuMemsetD8(p, 1, 100)\ndriver.cuMemFree(p)\n")
    lines = [line for line in err.splitlines() if "leak" not in line]
    assert [line.split(":")[1].strip() for line in lines] == ["freed while in flight in cuMemFree", "use after free"]


def test_reset_makes_everything_fresh():
    out, _ = run(
        START
        + """
_, p = driver.cuMemAlloc(100)
driver.cuMemFree(p), driver.cuMemFree(p)
tack_sim.reset(count=3)
print(tack_sim.reports(), tack_sim.check_leaks(), int(driver.cuMemAlloc(4)[0]))
driver.cuInit(0)
print(driver.cuDeviceGetCount()[1], int(driver.cuMemAlloc(4)[0]))
"""
    )
    assert out.splitlines() == ["() () 3", "3 201"]


def test_a_forked_process_cannot_use_the_devices():
    out, err = run(
        START
        + """
import os
if not os.fork():
    print(int(driver.cuMemAlloc(4)[0]), flush=True)
    os._exit(0)
os.wait()
print(int(driver.cuMemAlloc(4)[0]))
"""
    )
    assert out.split() == ["3", "0"]
    assert "forked" in err


def test_an_interrupt_comes_after_the_call():
    out, _ = run(
        START
        + """
import time
from tack_sim.memory import Region
def interrupted(*_):
    raise KeyboardInterrupt
Region.allocate = interrupted
try:
    code = int(driver.cuMemAlloc(4)[0])
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert out.strip() == "interrupted"


def test_a_bare_install_takes_what_is_there():
    """A program chooses options, then what it calls installs by itself."""
    run("""
import tack_sim
tack_sim.install("cuda", count=3, ptx_version=[9, 0])
tack_sim.install("cuda")
try:
    tack_sim.install("cuda", count=1)
    raise AssertionError
except RuntimeError as error:
    assert "other options" in str(error)
from cuda.bindings import driver
driver.cuInit(0)
assert driver.cuDeviceGetCount()[1] == 3
tack_sim.reset(ptx_version=None)
""")


def test_an_option_that_cannot_be_is_named_with_what_it_takes():
    out, _ = run("""
import tack_sim
for wrong in ({"ptx_version": 78}, {"gpus": 2}, {"max_grid": 5}, {"compute": "90"}, {"compute": (9, 0.5)}, {"count": "two"},
              {"count": True}, {"memory": 1e9}, {"driver_version": None}, {"early_exit": 1}, {"attributes": 3},
              {"attributes": {"WARP_SIZE": "32"}}, {"ptx_version": (7,)}, {"max_grid": (1, 1)}, {"max_grid": (1, 1, 0)},
              {"max_grid": (2**31, 1, 1)}, {"compute": (9, 0, 0)}, {"count": -1}, {"memory": 0}, {"memory": 1 << 60},
              {"driver_version": 1 << 31}, {"attributes": {"NOTHING": 1}}, {"attributes": {"WARP_SIZE": 1 << 31}}):
    ((name, value),) = wrong.items()
    try:
        tack_sim.install("cuda", **wrong)
        print("installed")
    except (TypeError, ValueError) as error:
        assert name in str(error) and (name == "gpus" or " takes " in str(error) and repr(value) in str(error)), error
        print(type(error).__name__)
""")
    assert out.split() == ["TypeError"] * 12 + ["ValueError"] * 11
