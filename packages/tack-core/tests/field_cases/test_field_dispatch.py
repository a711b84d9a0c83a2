"""Calling kernels: threads, forks, shapes, layouts, scalars, very long loops."""

import os
import threading

import numpy as np
import pytest
from field_tools import run, write

import tack
from tack.testing import field

# C01: one kernel called from several threads at once


def test_threads_do_not_share_arguments():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for step in range(60):
            n = int(rng.integers(1, 5000))
            dtype = np.float32 if step % 2 else np.float64
            x = rng.uniform(-1, 1, n).astype(dtype)
            factor = float(seed + 1)
            out = tack.array(np.zeros_like(x))
            field.scale(tack.array(x), out, factor)
            if not np.array_equal(out.numpy(), x * dtype(factor)):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


# C02: a process that has used the thread pool forks

FORK = """
    import multiprocessing
    import threading
    import numpy as np
    import tack

    tack.set_default_device("cpu")


    @tack.kernel
    def busy(x, out):
        for i in range(x.shape[0]):
            acc = x[i]
            for k in range(200):
                acc = acc * 0.5 + 1.0
            out[i] = acc


    def total(n):
        x = tack.array(np.zeros(n, dtype=np.float32))
        out = tack.empty_like(x)
        busy(x, out)
        return float(out.numpy().min()), float(out.numpy().max())


    def main():
        answers = [total(1 << 20)]
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            answers += pool.map(total, [1 << 20, 1 << 18, 5])
        held = []
        thread = threading.Thread(target=lambda: held.append(
            context.Pool(1).apply(total, (1 << 19,))))
        thread.start()
        thread.join()
        answers += held
        answers.append(total(1 << 20))
        print(answers)


    if __name__ == "__main__":
        main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_the_pool_has_run(tmp_path):
    write(tmp_path, main=FORK)
    answers = run(tmp_path, "main", timeout=180, cache="off")
    assert len(answers) == 6
    assert set(answers) == {answers[0]}
    assert answers[0] == pytest.approx((2.0, 2.0), rel=1e-6)


# C03: arrays without elements


def test_arrays_without_elements():
    field.arrays_without_elements()


# C04: arrays from views that are not laid out in order


@pytest.mark.parametrize("name", field.views())
def test_views_keep_their_values(name):
    field.view_keeps_its_values(name)


# C05: the same number as a Python or a NumPy scalar


@pytest.mark.parametrize("dtype", [tack.f32, tack.f64, tack.i32, tack.i64], ids=str)
def test_python_and_numpy_scalars(dtype):
    field.python_and_numpy_scalars(dtype)


# C06: ranges without iterations, and ranges that start elsewhere


def test_ranges():
    field.ranges()


# C07: more iterations than a 32-bit integer counts


@pytest.mark.slow
def test_iterations_past_two_to_the_31():
    field.iterations_past(2**31)
