"""What calls cost on a device: launches in a queue, and first calls of kernels, compiled anew or loaded from the disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tack
from tack.runtime.device import Device

__all__ = ["FirstCalls", "LaunchCost", "first_calls", "launch_costs"]


@dataclass(frozen=True, slots=True)
class LaunchCost:
    """Seconds a launch of a kernel that does next to nothing: `call` until the call returns, `launch` until it has run, both
    for one of many in a row without a wait between; `alone` for one launch and the wait for it.
    """

    name: str
    call: float
    launch: float
    alone: float


@dataclass(frozen=True, slots=True)
class FirstCalls:
    """Seconds of first calls in a fresh process, each with the wait for it.

    `start`: of the device. `first`: of the process' first kernel, which also loads the compiler. `small` and `medium`: of a
    saxpy and of a 2-D stencil after it. `from_disk`: whether those came from the disk cache.
    """

    start: float
    first: float
    small: float
    medium: float
    from_disk: bool


# ------------------------------------------------------------------------------------------------------- launch costs


@tack.kernel
def _nothing(out):
    for i in range(1):
        out[i] = 1.0


@tack.kernel
def _three_arrays(x, y, out, a):
    for i in range(x.shape[0]):
        out[i] = a * (x[i] + y[i])


def launch_costs(device: Device, seconds: float) -> list[LaunchCost]:
    """Of a kernel with one array and one iteration, and of one with three arrays and a scalar over 16 elements."""
    with device:
        x, y, out = (tack.zeros(16) for _ in range(3))
        return [
            _cost(device, "1 array", lambda: _nothing(out), seconds / 2),
            _cost(device, "3 arrays and a scalar", lambda: _three_arrays(x, y, out, 2.0), seconds / 2),
        ]


def _cost(device: Device, name: str, call: Callable[[], object], seconds: float) -> LaunchCost:
    call()
    device.synchronize()
    alone = min(sum(_timed(device, call, 1)) for _ in range(20))
    many = max(10, min(2000, int(seconds / 8 / max(alone, 1e-7))))
    blocks = [_timed(device, call, many) for _ in range(7)]
    returned = min(block[0] for block in blocks) / many
    return LaunchCost(name, returned, min(sum(block) for block in blocks) / many, alone)


def _timed(device: Device, call: Callable[[], object], count: int) -> tuple[float, float]:
    """Seconds of so many calls, and of the wait for them."""
    device.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    returned = time.perf_counter()
    device.synchronize()
    return returned - begin, time.perf_counter() - returned


# -------------------------------------------------------------------------------------------------------- first calls

# A program for a fresh process. The token makes its kernels new to every cache.
_PROGRAM = """
import json, sys, time
sys.path[:0] = json.loads(sys.argv[2])
import tack

TOKEN = tack.constant({token})

@tack.kernel
def first(x):
    for i in range(x.shape[0]):
        x[i] = TOKEN

@tack.kernel
def small(x, y, out, a):
    for i in range(x.shape[0]):
        out[i] = a * x[i] + y[i] + TOKEN

@tack.kernel
def medium(u, out, c):
    for i, j in tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        out[i, j] = u[i, j] + c * (u[i, j - 1] + u[i, j + 1] + u[i - 1, j] + u[i + 1, j] - TOKEN * u[i, j])

def seconds(call, *args):
    begin = time.perf_counter()
    call(*args)
    device.synchronize()
    return time.perf_counter() - begin

begin = time.perf_counter()
device = tack.device(sys.argv[1])
device.properties
times = dict(start=time.perf_counter() - begin)
with device:
    x, u = tack.zeros(64), tack.zeros((8, 8))
    out, v = tack.zeros(64), tack.zeros((8, 8))
    for kernel, args in ((first, (x,)), (small, (x, x, out, 2.0)), (medium, (u, v, 0.5))):
        times[kernel.__name__] = seconds(kernel, *args)
    times["from_disk"] = all(v.from_disk for kernel in (small, medium) for v in kernel.variants())
print(json.dumps(times))
"""


def first_calls(spec: str, seconds: float, left_out: list[str]) -> list[FirstCalls]:
    """First calls on the device of a spec in two fresh processes: compiled there, then by the second from the disk cache.

    The entries are stored in the cache directory that the environment names. What could not be measured within about so many
    `seconds` is told in `left_out`.
    """
    found: list[FirstCalls] = []
    token = str(uuid.uuid4().int % 10**9 + 0.5)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "first_calls.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_PROGRAM.replace("{token}", token))
        for name in ("compiled", "from the disk cache"):
            times = _child([sys.executable, path, spec, json.dumps([p for p in sys.path if p])], seconds / 2)
            if isinstance(times, str):
                left_out.append(f"first calls, {name}: {times}")
                break
            found.append(FirstCalls(**times))
        else:
            if not found[1].from_disk:
                left_out.append("first calls, from the disk cache: the cache did not serve them (is TACK_CACHE off?)")
    return found


def _child(command: list[str], seconds: float) -> dict[str, Any] | str:
    """What the program measured, or why it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        return f"not done within {seconds:.0f} seconds"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])
