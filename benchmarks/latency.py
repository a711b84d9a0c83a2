"""What a call costs: warm calls against plain ctypes and Numba, the import against NumPy's, cold first calls."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

import tack
from benchmarks import cached, kernels, reference
from benchmarks.timing import compare_calls
from tack.runtime import native_entry

N = 16
Line = tuple[str, str, float, float | None]  # row, what it is divided by, ratio, goal


_GOALS = {1: 0.35, 3: 0.35, 8: 0.30}  # of Numba's call, by the number of arrays


def warm_calls() -> list[Line]:
    """Calls of 1, 3 and 8 arrays of 16 elements and a scalar: natively, by generated Python alone, and with an object."""
    import numba

    lib, lines = reference.load(), []
    for count, kernel in ((1, kernels.one_array), (3, kernels.three_arrays), (8, kernels.eight_arrays)):
        data = [np.ones(N, np.float32) for _ in range(count)]
        arrays = [tack.array(d) for d in data]
        plain = getattr(lib, f"c_k{count}")
        peer = numba.njit(_numba_body(count))
        runs = {
            "tack": (_warm(kernel, count, arrays), [*arrays, 1.0]),
            "python": (_by_python_alone(kernel, count, arrays), [*arrays, 1.0]),
            "ctypes": (plain, [*(reference.ptr(d) for d in data), 1.0, N]),
            "numba": (peer, [*data, np.float32(1.0)]),
        }
        if count == 3:
            line = _Line(*arrays)
            runs["object"] = (_warm(kernels.of_object, 0, [line]), [line, 1.0])
        times = compare_calls(runs)
        size = f"{count} array{'s' * (count > 1)} + scalar"
        lines.append((f"warm call, {size} ({_ns(times['tack'])})", "Numba", times["tack"] / times["numba"], _GOALS[count]))
        lines.append((f"fallback path, {size} ({_ns(times['python'])})", "plain ctypes", times["python"] / times["ctypes"], 4.0))
        if count == 3:
            name = f"warm call, an object with {size} ({_ns(times['object'])})"
            lines.append((name, "Numba's plain call", times["object"] / times["numba"], 0.8))
    return lines


@tack.device_class
class _Line:
    """Three arrays."""

    def __init__(self, x: tack.Array, y: tack.Array, out: tack.Array) -> None:
        self.x, self.y, self.out = x, y, out


def _warm(kernel: Any, count: int, arguments: list[Any]) -> Any:
    """The kernel after calls like the measured ones, and after a variant of another dtype."""
    if count:
        kernel(*(tack.ones(N, dtype=tack.f64) for _ in range(count)), 1.0)
    for _ in range(3):
        kernel(*arguments, 1.0)
    return kernel


def _by_python_alone(kernel: Any, count: int, arguments: list[Any]) -> Any:
    """A twin of the kernel, as it is where the native entry does not work."""
    entry, native_entry._entry = native_entry.entry(), None
    try:
        return _warm(tack.kernel(kernel.__wrapped__), count, arguments)
    finally:
        native_entry._entry = entry


def _ns(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns"


def _numba_body(count: int) -> Any:
    if count == 1:

        def one(x, a):
            for i in range(x.shape[0]):
                x[i] = x[i] * a

        return one
    if count == 3:

        def three(x, y, out, a):
            for i in range(x.shape[0]):
                out[i] = a * (x[i] + y[i])

        return three

    def eight(a, b, c, d, e, f, g, out, s):
        for i in range(a.shape[0]):
            out[i] = s * (a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i])

    return eight


def importing(rounds: int = 11) -> list[Line]:
    """`import tack` against `import numpy`, in fresh processes, in turn, without the interpreter's own start."""
    times: dict[str, list[float]] = {"pass": [], "import numpy": [], "import tack": []}
    for _ in range(rounds):
        for statement, taken in times.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            taken.append(time.perf_counter() - start)
    base, numpys, mine = (statistics.median(taken) for taken in times.values())
    return [(f"import tack ({(mine - base) * 1e3:.0f} ms)", "import numpy", (mine - base) / (numpys - base), 1.4)]


def cold_calls() -> list[Line]:
    """First calls of small, medium and large kernels in a process of their own, without the disk cache."""
    environment = dict(os.environ, TACK_CACHE="off")
    text = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold"], check=True, capture_output=True, text=True, env=environment
    ).stdout
    times = json.loads(text.splitlines()[-1])
    lines: list[Line] = []
    for size, row in times.items():
        name = f"cold first call, {size} ({row['tack'] * 1e3:.1f} ms)"
        lines.append((name, "bare llvmlite on the same IR", row["tack"] / row["llvm"], 1.3))
        lines.append((name, "Numba's cold call", row["tack"] / row["numba"], 0.1))
    lines.append(("cold first call, large", "its own small", times["large"]["tack"] / times["small"]["tack"], 6.0))
    return lines


_CACHED = {"small": 0.1, "medium": 0.1, "large": 0.05, "first": None}


def cached_calls() -> list[Line]:
    """First calls of kernels from the disk cache; "first" is what a process pays once, with the unrelated kernel that pays it."""
    lines: list[Line] = []
    for size, row in cached.measure().items():
        what = "once per process" if size == "first" else size
        name = f"first call from the disk cache, {what} ({row['cached'] * 1e3:.2f} ms)"
        lines.append((name, "its own cold call", row["cached"] / row["cold"], _CACHED[size]))
    return lines


def measure() -> list[Line]:
    """All latency rows that this version has."""
    return warm_calls() + importing() + cold_calls() + cached_calls()
