"""Launches on several threads: the pool's threads, Python's own, and forked processes."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest
from fresh_process import run_program

import tack
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.cpu_topology import default_threads


@tack.kernel
def scale(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


@tack.kernel
def copy2(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[i, j] = a[i, j]


def array(n: int, dtype: object = np.float32) -> tack.Array:
    return tack.array(np.arange(n, dtype=dtype))


def pair(n: int = 4) -> tuple[tack.Array, tack.Array]:
    return array(n), tack.full(n, 9.0)


@pytest.mark.spec("back-070", "back-071")
@pytest.mark.rule("K3", "K5")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_do_not_depend_on_the_thread_count(threads: int) -> None:
    @tack.kernel
    def poly(x, out):
        for i in range(x.shape[0]):
            acc = x[i]
            for k in range(i % 5):
                acc = acc * 0.75 + x[i]
            out[i] = acc

    x = np.random.default_rng(3).standard_normal(1013).astype(np.float32)
    serial = tack.zeros(1013)
    with tack.device("cpu", num_threads=1):
        poly(tack.array(x), serial)
    device = tack.device("cpu", num_threads=threads)
    with device, force_fanout() as forced:
        out = tack.zeros(1013)
        for _ in range(3):
            poly(tack.array(x), out)
        grid = tack.full((17, 19), -1.0)
        copy2(tack.array(x[: 17 * 19].reshape(17, 19)), grid)
    assert out.numpy().tobytes() == serial.numpy().tobytes()
    np.testing.assert_array_equal(grid.numpy(), x[: 17 * 19].reshape(17, 19))
    assert (forced.worker_chunks > 0) is (threads > 1)
    assert len(device._backend.pool._workers) == threads - 1


@pytest.mark.rule("K2")
def test_the_prologue_runs_once_per_launch() -> None:
    """Its values come from the pack: a chunk that evaluated it again would see what other chunks stored."""

    @tack.kernel
    def spread(x):
        first = x[0]
        for i in range(x.shape[0]):
            x[i] = first + 1.0

    with tack.device("cpu", num_threads=3), force_fanout((1,)):
        x = tack.array(np.full(300, 5, np.float32))
        spread(x)
    assert (x.numpy() == 6).all()


@pytest.mark.spec("back-078")
def test_one_thread_starts_none() -> None:
    code = """
        import threading, numpy as np, tack
        @tack.kernel
        def busy(x, out):
            for i in range(x.shape[0]):
                acc = x[i]
                for k in range(100):
                    acc = acc * 0.5 + 1.0
                out[i] = acc
        x = tack.array(np.zeros(200000, np.float32))
        with tack.device("cpu", num_threads=1):
            for _ in range(5):
                busy(x, tack.empty_like(x))
        print(threading.active_count())
    """
    assert run_program(code) == "1"


@pytest.mark.spec("back-076")
def test_thread_counts_and_who_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
        import tack
        print(tack.device("cpu")._backend.pool.threads, tack.device("cpu", num_threads=3)._backend.pool.threads)
    """
    assert run_program(code, TACK_CPU_THREADS="5") == "5 3"
    assert run_program(code, TACK_CPU_THREADS="") == f"{default_threads()} 3"


def test_a_bad_thread_count_names_the_variable_at_first_use() -> None:
    code = """
        import numpy as np, tack
        x = tack.zeros(3)
        @tack.kernel
        def one(x):
            for i in range(x.shape[0]):
                x[i] = 1.0
        try:
            one(x)
        except ValueError as error:
            print("TACK_CPU_THREADS" in str(error))
    """
    assert run_program(code, TACK_CPU_THREADS="many") == "True"


def test_import_loads_no_compiler_and_arrays_do_not_either() -> None:
    code = """
        import sys, numpy as np, tack
        x = tack.array(np.arange(4, dtype=np.float32))
        x.sum(), str(x.device), repr(x)
        print([name for name in sys.modules if name.split(".")[0] in ("llvmlite", "cuda", "hip", "Metal")])
    """
    assert run_program(code) == "[]"


@pytest.mark.spec("back-104", "cache-130")
def test_threads_do_not_share_arguments() -> None:
    wrong: list[tuple[int, int]] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for step in range(40):
            n = int(rng.integers(1, 5000))
            dtype = np.float32 if step % 2 else np.float64
            x = rng.uniform(-1, 1, n).astype(dtype)
            out = tack.array(np.zeros_like(x))
            scale(tack.array(x), out, float(seed + 1))
            if not np.array_equal(out.numpy(), x * dtype(seed + 1)):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []


def test_concurrent_fan_outs_of_one_kernel() -> None:
    wrong: list[int] = []
    device = tack.device("cpu", num_threads=3)

    def work(seed: int) -> None:
        with device:
            for n in range(20, 40):
                x, out = array(n), tack.zeros(n)
                scale(x, out, float(seed))
                if out.numpy().tolist() != [float(seed * i) for i in range(n)]:
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    with force_fanout():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kernels_run_in_a_forked_child() -> None:
    device = tack.device("cpu", num_threads=2)
    with device, force_fanout():
        x, out = pair(100)
        scale(x, out, 2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of what this test is about
            child = os.fork()
        if child == 0:
            code = 1
            try:
                scale(x, out, 3.0)  # compiled before the fork
                scale(x, out, 4)  # compiled in the child
                code = 0 if out.numpy().tolist() == [4.0 * i for i in range(100)] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert out.numpy().tolist() == [2.0 * i for i in range(100)]
        scale(x, out, 5.0)
    assert out.numpy().tolist() == [5.0 * i for i in range(100)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("module", "lock"), [("lang.kernel", "_transform_lock"), ("runtime.device", "_lock"), ("runtime.cpu_jit", "_lock")]
)
def test_a_child_forked_while_a_thread_holds_a_lock_compiles(module: str, lock: str) -> None:
    program = f"""
        import os, sys, threading, warnings
        import tack
        from tack.{module} import {lock} as lock
        import tack.runtime.cpu_jit

        warnings.simplefilter("ignore")

        @tack.kernel
        def fill(x, value):
            for i in range(x.shape[0]):
                x[i] = value

        taken, never = threading.Event(), threading.Event()

        def hold():
            with lock:
                taken.set()
                never.wait(0.2)  # far longer than a fork that does not wait for the lock

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()
        child = os.fork()
        if child == 0:
            x = tack.zeros(20)
            fill(x, 5)
            os._exit(int(x.sum()) - 93)
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run_program(program) == "7"
