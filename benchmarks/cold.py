"""Cold first calls, in a fresh process: Tack against bare llvmlite on the same IR, and against Numba on the same kernel.

Run as `python -m benchmarks.cold`; prints one JSON object of seconds. What a process pays once (starting LLVM) is paid by an
unrelated kernel first.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import large

SMALL = "def small(x, y, out, a):\n    for i in RANGE(x.shape[0]):\n        out[i] = a * x[i] + y[i]\n"
MEDIUM = """def medium(u, out, c):
    for i{0} in {1}:
{2}            out[i, j] = u[i, j] + c * (u[i, j - 1] + u[i, j + 1] + u[i - 1, j] + u[i + 1, j] - F(4.0) * u[i, j])
"""
TACK_LOOP = (", j", "tack.ndindex((1, u.shape[0] - 1), (1, u.shape[1] - 1))", "")
NUMBA_LOOP = ("", "numba.prange(1, u.shape[0] - 1)", "        for j in range(1, u.shape[1] - 1):\n")
ROUNDS = 7


def sources(kind: str) -> dict[str, str]:
    """The modules with the kernels, by size, for "tack" or "numba"."""
    if kind == "tack":
        medium = MEDIUM.format(*TACK_LOOP).replace("            out", "        out").replace("F(4.0)", "4.0")
        head = "import tack\n\n\n@tack.kernel\n"
    else:
        medium = MEDIUM.format(*NUMBA_LOOP).replace("F(4.0)", "np.float32(4.0)")
        head = "import numba\nimport numpy as np\n\n\n@numba.njit(parallel=True)\n"
    return {
        "small": head + SMALL.replace("RANGE", "range" if kind == "tack" else "numba.prange"),
        "medium": head + medium,
        "large": large.source(kind),
    }


def arguments() -> dict[str, tuple[Any, ...]]:
    """What the kernels are called with, by size."""
    random = np.random.default_rng(5)
    x, y, out = (random.random(64, dtype=np.float32) for _ in range(3))
    u, v = (random.random((16, 16), dtype=np.float32) for _ in range(2))
    values, result = large.data()
    return {"small": (x, y, out, 2.5), "medium": (u, v, 0.125), "large": (values, result, large.M, large.ISO)}


def _written(folder: Path, name: str, text: str, attribute: str) -> Callable[..., Any]:
    (folder / f"{name}.py").write_text(text)
    return load(folder, name, attribute)


def load(folder: Path, name: str, attribute: str) -> Callable[..., Any]:
    """The function `attribute` of the module `name` in `folder`, which is imported anew."""
    path = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, attribute)


def first_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def _bare_llvm(text: str) -> float:
    """Seconds that llvmlite alone needs to parse, optimize (O3) and generate code for `text`."""
    import llvmlite.binding as llvm

    start = time.perf_counter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    machine.emit_object(module)
    return time.perf_counter() - start


def measure() -> dict[str, dict[str, float]]:
    """{"small": {"tack": s, "llvm": s, "numba": s}, ...}: medians of fresh kernels, taken in turn."""
    import numba

    import tack

    data = arguments()
    tack_arguments = {k: tuple(tack.array(a) if isinstance(a, np.ndarray) else a for a in v) for k, v in data.items()}
    times: dict[str, dict[str, list[float]]] = {k: {"tack": [], "llvm": [], "numba": []} for k in data}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = "import tack\n\n\n@tack.kernel\ndef warm(x):\n    for i in range(x.shape[0]):\n        x[i] = 1.0\n"
        _written(folder, "warm_tack", warm, "warm")(tack.zeros(4))
        numba.njit(lambda x: x[0] + 1.0)(np.zeros(4, np.float32))
        for turn in range(ROUNDS):
            for size in data:
                kernel = _written(folder, f"tack_{size}_{turn}", sources("tack")[size], size)
                times[size]["tack"].append(first_call(kernel, tack_arguments[size]))
                times[size]["llvm"].append(_bare_llvm(tack.inspect(kernel, *tack_arguments[size], mode="source")))
                if turn < 3:
                    peer = _written(folder, f"numba_{size}_{turn}", sources("numba")[size], size)
                    times[size]["numba"].append(first_call(peer, data[size]))
    return {size: {k: statistics.median(v) for k, v in row.items()} for size, row in times.items()}


if __name__ == "__main__":
    print(json.dumps(measure()))
