"""The programs that faults are planted under, with the numbers that they give. Each takes devices and a seed.

They use no device by itself: `planted` runs them on simulated ones.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cuda.bindings import driver

import tack

N = 300  # elements: more than a workgroup, and no whole number of them
GROUPS = 512  # two whole workgroups

Gpus = Sequence[tack.Device]


@tack.kernel
def scale(x, out, factor):
    for i in range(x.size):
        out[i] = x[i] * factor


@tack.kernel
def less_first(x):
    first = x[0]
    for i in range(x.size):
        x[i] = x[i] - first


@tack.kernel
def numbers(out, start):
    for i in range(start, start + out.size):
        out[i - start] = i


@tack.kernel
def places(out):
    for y, x in tack.ndindex(out.shape[0], out.shape[1]):
        out[y, x] = 1000 * y + x


@tack.kernel
def product_then_sum(x, out):
    for i in range(x.size):
        square = x[i] * x[i]
        out[i] = square + x[i]


@tack.kernel
def sample(texture, out):
    for i in range(out.size):
        out[i] = texture.sample((i + 0.5) / out.size, 0.5, 0.5)


@tack.kernel
def mirror(x, out):
    for i in range(x.size):
        cells = tack.shared(tack.f32, 256)
        lane = tack.thread_id()
        cells[lane] = x[i]
        tack.barrier()
        out[i] = cells[255 - lane]


@tack.kernel
def totals(x, out):
    for i in range(x.size):
        out[i] = tack.block_sum(x[i])


@tack.kernel
def both_totals(x, out):
    for i in range(x.size):
        out[i] = tack.block_sum(x[i])
        out[i] = out[i] - tack.block_sum(1.0)


@tack.kernel
def wait_between(x, out):
    for i in range(x.size):
        out[i] = x[i]
        tack.barrier()
        out[i] = out[i] * 2


@tack.kernel
def half_waits(x, out):
    for i in range(x.size):
        if tack.thread_id() < 128:
            tack.barrier()
        out[i] = x[i]


def inputs(seed: int, count: int = N, dtype: Any = np.float32) -> Any:
    """The numbers that programs start from."""
    return np.arange(count, dtype=dtype) * seed + 1


def scaled(gpus: Gpus, seed: int, dtype: Any = np.float32) -> Any:
    """Two launches with their own factors, and an array that is dropped before anything has run."""
    x = tack.array(inputs(seed, dtype=dtype), device=gpus[0])
    out = tack.empty_like(x)
    scale(x, out, 2.0)
    scale(out, out, 0.5 * seed)
    del x
    return out.numpy()


def scaled_numbers(seed: int) -> Any:
    return inputs(seed) * seed


def in_groups(kernel: Any, count: int = GROUPS) -> Callable[[Gpus, int], Any]:
    """The program that calls a kernel of an input and an output."""

    def program(gpus: Gpus, seed: int) -> Any:
        x = tack.array(inputs(seed, count), device=gpus[0])
        out = tack.empty_like(x)
        kernel(x, out)
        return out.numpy()

    return program


def mirrored_numbers(seed: int) -> Any:
    return inputs(seed, GROUPS).reshape(-1, 256)[:, ::-1].ravel()


def total_numbers(seed: int) -> Any:
    return np.repeat(inputs(seed, GROUPS).reshape(-1, 256).sum(axis=1), 256)


def dropped_in_flight(gpus: Gpus, seed: int) -> Any:
    x = tack.array(inputs(seed), device=gpus[0])
    out = tack.empty_like(x)
    gpus[0].synchronize()
    scale(x, out, 2.0)
    del x
    return out.numpy()


def both_total_numbers(seed: int) -> Any:
    return total_numbers(seed) - 256


def waited_for_elsewhere(gpus: Gpus, seed: int) -> Any:
    """A thread that has never used the device waits for it, as `sync_async` does."""
    x = tack.array(inputs(seed), device=gpus[0])
    scale(x, x, 2.0)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            gpus[0].synchronize()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return x.numpy()


def dropped_and_waited(gpus: Gpus, seed: int) -> Any:
    """Memory that is dropped goes back at the second wait after it."""
    x = tack.array(inputs(seed), device=gpus[0])
    y = x.copy()
    del x
    for _ in range(3):
        gpus[0].synchronize()
    return y.numpy()


def used_again(gpus: Gpus, seed: int) -> Any:
    """Two arrays are made where one was."""
    x = tack.array(inputs(seed), device=gpus[0])
    del x
    y, z = tack.empty(N, device=gpus[0]), tack.empty(N, device=gpus[0])
    y.fill(seed)
    z.fill(seed + 1)
    return np.concatenate([y.numpy(), z.numpy()])


def not_given_back(gpus: Gpus, seed: int) -> Any:
    """Bytes of device memory in use after all arrays are gone."""
    before = gpus[0].memory.api.memory()[0]
    x = tack.array(inputs(seed), device=gpus[0])
    del x
    for _ in range(3):
        gpus[0].synchronize()
    return before - gpus[0].memory.api.memory()[0]


def on_two_devices(gpus: Gpus, seed: int) -> Any:
    x = tack.array(inputs(seed), device=gpus[0])
    out = tack.empty(N, device=gpus[1])
    scale(x, out, 2.0)
    gpus[0].synchronize()
    return out.numpy()


def texture_dropped(gpus: Gpus, seed: int) -> Any:
    texels = inputs(seed, 64).reshape(1, 1, 64)
    texture = tack.texture3d(texels, device=gpus[0])
    out = tack.empty(64, device=gpus[0])
    gpus[0].synchronize()
    sample(texture, out)
    del texture
    return out.numpy()


def kernel_dropped(gpus: Gpus, seed: int) -> Any:
    """The last reference to a kernel goes before its launch has run."""

    @tack.kernel
    def double(x, out):
        for i in range(x.size):
            out[i] = 2 * x[i]

    x = tack.array(inputs(seed), device=gpus[0])
    out = tack.empty_like(x)
    double(x, out)
    del double
    gc.collect()
    return out.numpy()


def read_by_another(gpus: Gpus, seed: int) -> Any:
    """A consumer of a DLPack export reads on a stream of its own, which waits for nobody."""
    x = tack.array(inputs(seed), device=gpus[0])
    scale(x, x, 2.0)
    capsule = x.__dlpack__()
    found = np.zeros(N, np.float32)
    _, stream = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    driver.cuMemcpyDtoHAsync(found.ctypes.data, x._buffer.address, found.nbytes, stream)
    driver.cuStreamSynchronize(stream)
    driver.cuStreamDestroy(stream)
    del capsule
    return found


def moved_by_one(gpus: Gpus, seed: int) -> Any:
    x = tack.array(inputs(seed), device=gpus[0])
    tack.copyto(x[1:], x[:-1])
    return x.numpy()


def zeros_plus(gpus: Gpus, seed: int) -> Any:
    x = tack.zeros(N, device=gpus[0])
    scale(x, x, 2.0)
    return x.numpy() + seed


def first_taken_off(gpus: Gpus, seed: int) -> Any:
    x = tack.array(inputs(seed), device=gpus[0])
    less_first(x)
    return x.numpy()


def numbered_from_far(gpus: Gpus, seed: int) -> Any:
    out = tack.empty(N, dtype=tack.i64, device=gpus[0])
    numbers(out, (1 << 31) + seed)
    return out.numpy()


def squared(gpus: Gpus, seed: int) -> Any:
    x = tack.array(inputs(seed) / 3, device=gpus[0])
    out = tack.empty_like(x)
    product_then_sum(x, out)
    return out.numpy()


def placed(gpus: Gpus, seed: int) -> Any:
    out = tack.empty((100, 256), dtype=tack.i32, device=gpus[0])
    places(out)
    return out.numpy().ravel()[:: 64 + seed]


def place_numbers(seed: int) -> Any:
    y, x = np.indices((100, 256), np.int32)
    return (1000 * y + x).ravel()[:: 64 + seed]


def square_numbers(seed: int) -> Any:
    x = inputs(seed) / 3
    return x * x + x
