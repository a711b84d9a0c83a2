"""Calling kernels: threads, forks, shapes, layouts, scalars, very long loops."""

import os
import threading

import numpy as np
import pytest
from field_tools import run, write

import tack


@tack.kernel
def scale(x, out, factor):
    for i in range(x.shape[0]):
        out[i] = x[i] * factor


@tack.kernel
def copy2(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[i, j] = a[i, j]


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
            scale(tack.array(x), out, factor)
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
    x = tack.array(np.zeros(0, dtype=np.float32))
    out = tack.empty_like(x)
    scale(x, out, 2.0)
    assert out.numpy().shape == (0,) and out.numpy().dtype == np.float32
    for shape in ((0, 5), (5, 0), (0, 0)):
        a = tack.array(np.zeros(shape, dtype=np.int32))
        b = tack.empty_like(a)
        copy2(a, b)
        assert b.numpy().shape == shape
    a = tack.array(np.arange(6, dtype=np.int32).reshape(2, 3))
    b = tack.empty_like(a)
    copy2(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy())


# C04: arrays from views that are not laid out in order


def views():
    base = np.arange(60, dtype=np.float32)
    grid = base.reshape(6, 10)
    return {
        "every second": base[::2],
        "backwards": base[::-1],
        "a column": grid[:, 3],
        "columns": grid[:, 2:7],
        "transposed": grid.T,
        "fortran": np.asfortranarray(grid),
        "rows backwards": grid[::-1],
        "repeated": np.broadcast_to(base[:5], (4, 5)),
        "swapped": grid.reshape(2, 3, 10).swapaxes(0, 2)[1],
    }


@pytest.mark.parametrize("name", list(views()))
def test_views_keep_their_values(name):
    view = views()[name]
    x = tack.array(view)
    assert x.numpy().shape == view.shape
    np.testing.assert_array_equal(x.numpy(), view)
    out = tack.array(np.zeros(view.shape, dtype=view.dtype))
    if view.ndim == 1:
        scale(x, out, 2.0)
        np.testing.assert_array_equal(out.numpy(), view * 2)
    else:
        copy2(x, out)
        np.testing.assert_array_equal(out.numpy(), view)


# C05: the same number as a Python or a NumPy scalar


@pytest.mark.parametrize(
    "factor", [5, 5.0, np.float32(5), np.float64(5), np.int8(5), np.uint8(5), np.int32(5), np.int64(5), np.uint32(5)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_python_and_numpy_scalars(factor, dtype):
    x = np.array([1, 2, 3], dtype=dtype)
    out = tack.array(np.zeros_like(x))
    scale(tack.array(x), out, factor)
    assert out.numpy().tolist() == [5, 10, 15]


# C07: more iterations than a 32-bit integer counts


@tack.kernel
def tail(out, n, base):
    for i in range(n):
        if i >= base:
            out[i - base] = i


@pytest.mark.slow
def test_iterations_past_two_to_the_31():
    base = 2**31
    out = tack.array(np.full(8, -1, dtype=np.int64))
    tail(out, base + 8, base)
    assert out.numpy().tolist() == [base + k for k in range(8)]


# C06: ranges without iterations, and ranges that start elsewhere


@tack.kernel
def span(out, first, last):
    for i in range(first, last):
        out[i] = i


def test_ranges():
    for first, last in ((0, 0), (5, 5), (7, 3), (2, 6), (0, 10), (9, 10)):
        out = tack.array(np.full(10, -1, dtype=np.int32))
        span(out, first, last)
        want = [i if first <= i < last else -1 for i in range(10)]
        assert out.numpy().tolist() == want, (first, last)
