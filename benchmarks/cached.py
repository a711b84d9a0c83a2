"""First calls of kernels that are in the disk cache, against the same calls without it; each in fresh processes.

`python -m benchmarks.cached FOLDER` runs the kernels that `measure` has written to FOLDER once, and prints one JSON object of
seconds. What a process pays once (LLVM, the cache's own modules, Tack's fingerprint) is paid by an unrelated kernel first, whose
time is a row of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import cold

ROUNDS = 5
FIRST = "import tack\n\n\n@tack.kernel\ndef first(x):\n    for i in range(x.shape[0]):\n        x[i] = 1.0\n"


def _run(folder: Path) -> dict[str, list[float]]:
    """The seconds of each first call in this process, by size; "first": of the unrelated kernel."""
    import tack

    x = tack.zeros(4)
    times = {"first": [cold.first_call(cold.load(folder, "first", "first"), (x,))]}
    for size, data in cold.arguments().items():
        values = tuple(tack.array(value) if isinstance(value, np.ndarray) else value for value in data)
        kernels = [cold.load(folder, f"{size}_{turn}", size) for turn in range(ROUNDS)]
        times[size] = [cold.first_call(kernel, values) for kernel in kernels]
    return times


def measure() -> dict[str, dict[str, float]]:
    """{"small": {"cold": s, "cached": s}, ..., "first": ...}: medians over kernels and processes, taken in turn."""
    times: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first.py").write_text(FIRST)
        for size, text in cold.sources("tack").items():
            for turn in range(ROUNDS):
                (folder / f"{size}_{turn}.py").write_text(text)
        for kind, mode in (("", "write"), *[("cold", "off"), ("cached", "write")] * 3):
            environment = dict(os.environ, TACK_CACHE=mode, TACK_CACHE_DIR=str(folder / "cache"))
            command = [sys.executable, "-m", "benchmarks.cached", name]
            text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
            for size, seconds in json.loads(text).items() if kind else ():
                times.setdefault(size, {}).setdefault(kind, []).extend(seconds)
    return {size: {kind: statistics.median(seconds) for kind, seconds in row.items()} for size, row in times.items()}


if __name__ == "__main__":
    print(json.dumps(_run(Path(sys.argv[1]))))
