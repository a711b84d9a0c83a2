"""The warm path: a call like one before looks nothing up but what it must, and decides as the slow path does."""

from __future__ import annotations

import builtins
import contextlib
import threading

import numpy as np
import pytest

import tack
from tack.runtime import dispatch, fast_path, kernel_utils
from tack.runtime.dispatch import get_backend


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


def _forbid(*_args: object, **_kwargs: object) -> None:
    raise AssertionError("a warm call must not come here")


@contextlib.contextmanager
def only_the_warm_path(monkeypatch: pytest.MonkeyPatch):
    """Inside, imports, passes, the verifier, locks and every step of the slow path raise."""
    from tack.ir import pipeline, verify
    from tack.lang import kernel as kernel_module

    class NoLock:
        __enter__ = __exit__ = acquire = release = _forbid

    with monkeypatch.context() as patch:
        for module, names in (
            (kernel_utils, ("compile_ir", "infer_param_types", "arrays_disjoint", "shape_signature", "kernel_variant_key")),
            (kernel_utils, ("kernel_cache_slot", "check_dtypes", "check_arrays", "_build_variant", "remember")),
            (dispatch, ("device_of_call",)),
            (pipeline, ("compile_ir",)),
            (verify, ("verify_ir",)),
            (threading, ("Lock", "RLock", "Condition", "Event")),
        ):
            for name in names:
                patch.setattr(module, name, _forbid)
        patch.setattr(kernel_module, "_transform_lock", NoLock())
        patch.setattr(tack.Kernel, "template", _forbid)
        patch.setattr(tack.Kernel, "bind", _forbid)
        patch.setattr(builtins, "__import__", _forbid)
        yield


def test_a_warm_call_imports_locks_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = pair(16)
    a, b = tack.zeros((3, 4)), tack.ones((3, 4))
    with tack.device("cpu", num_threads=1):  # a fan-out is not this test's subject
        for _ in range(2):
            scale(x, out, 2.0)
            copy2(a, b)
        with only_the_warm_path(monkeypatch):
            scale(x, out, 3.0)
            copy2(a, b)
            scale(x, out, 4.0)
            copy2(a, b)
    assert out.numpy().tolist() == [4.0 * i for i in range(16)]
    assert (b.numpy() == 0).all()


def test_the_fast_path_serves_what_the_slow_path_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random calls of one kernel, with and without the fast path, give the same numbers and the same refusals."""

    @tack.kernel
    def mix(a, b, out, s, k):
        for i in range(out.shape[0]):
            out[i] = a[i] * s + b[b.shape[0] - 1 - i] + k

    def outcome(seed: int) -> object:
        rng = np.random.default_rng(seed)
        dtypes = rng.choice([np.float32, np.float64, np.int32], 3)
        n = int(rng.choice([4, 5, 8]))
        data = [tack.array(np.arange(2 * n, dtype=d) % 7) for d in dtypes]
        arrays = [d[int(k) : int(k) + n] for d, k in zip(data, rng.integers(0, n, 3), strict=True)]
        if rng.random() < 0.3:
            arrays[2] = arrays[int(rng.integers(0, 2))]  # the same array twice; only its own place is read, or none
            arrays[1] = data[1][:n] if arrays[2] is not arrays[1] else arrays[1]
        if rng.random() < 0.1:
            arrays[int(rng.integers(0, 2))] = tack.zeros((n, n))
        if rng.random() < 0.1:
            locked = np.zeros(n, np.float32)
            locked.flags.writeable = False
            arrays[2] = tack.from_dlpack(locked)
        s = rng.choice([2.5, 3, 2**33])
        s = float(s) if s == 2.5 else int(s)
        k = [1, np.int64(2**40), np.float32(0.5), True, "no"][int(rng.choice(5, p=[0.3, 0.2, 0.2, 0.2, 0.1]))]
        with tack.device("cpu"):
            try:
                mix(*arrays, s, k)
            except (TypeError, ValueError, IndexError) as error:
                return type(error), str(error)
            return [each.numpy().tobytes() for each in data]

    warm = [outcome(seed) for seed in range(150)] and [outcome(seed) for seed in range(150)]
    mix.forget_calls(get_backend()._cache.serial)
    monkeypatch.setattr(dispatch, "_fast_resolve", lambda *args: None)
    monkeypatch.setattr(kernel_utils, "_fast_resolve", lambda *args: None)
    assert warm == [outcome(seed) for seed in range(150)]
    assert any(isinstance(each, tuple) for each in warm) and any(isinstance(each, list) for each in warm)


@pytest.mark.rule("T1")
def test_scalars_whose_type_changes_from_call_to_call() -> None:
    """Whichever path a call takes, its integers get the type of their value."""

    @tack.kernel
    def put(bits, real, a):
        for i in range(bits.shape[0]):
            bits[i] = a
            real[i] = a / 2

    ints = [0, 1, -1, True, False, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)]
    values = [*ints, np.int8(-3), np.uint64(2**63), np.bool_(True), np.int64(2**31)]
    bits, real = tack.zeros(2, dtype=tack.u64), tack.zeros(2, dtype=tack.f64)
    rng = np.random.default_rng(5)
    for k in rng.integers(0, len(values), 300):
        for _ in range(int(rng.integers(1, 4))):
            put(bits, real, values[k])
        assert bits.numpy().tolist() == [int(values[k]) % 2**64] * 2, values[k]
        assert real[0] == int(values[k]) / 2, values[k]
    assert len(get_backend()._cache[put]) == 3


def test_a_wrong_call_after_a_right_one_is_refused_by_the_quick_path() -> None:
    x, out = pair()
    for wrong in ((x, out), (x, out, 2.0, 3.0), (x, 2.0, out), (out[0:0].reshape(0, 1), out, 2.0), (x, out, "a")):
        for _ in range(3):
            scale(x, out, 2.0)
        with pytest.raises((TypeError, IndexError)):
            scale(*wrong)
    assert out.numpy().tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [1], None, "s", 1j, np.complex64(1)])
def test_signatures_of_calls_that_the_fast_path_does_not_know(value: object) -> None:
    signature = fast_path._call_signature((value,))
    assert signature is None or signature == (None,)
