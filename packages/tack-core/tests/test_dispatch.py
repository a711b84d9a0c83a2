"""A call from end to end: binding and refusing arguments, where it runs, launch ranges, warnings and modes."""

from __future__ import annotations

import dataclasses
import traceback

import numpy as np
import pytest

import tack
from tack.codegen import llvm_gen
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import new_kernel_cache


@tack.kernel
def scale(x, out, a):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


def array(n: int, dtype: object = np.float32) -> tack.Array:
    return tack.array(np.arange(n, dtype=dtype))


def pair(n: int = 4) -> tuple[tack.Array, tack.Array]:
    return array(n), tack.full(n, 9.0)


# ------------------------------------------------------------------------------------------------------------- arguments


class Thing:
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0, 2.0], "type list"), ((1, 2), "type tuple"), ("text", "type str"), (None, "None"), (1 + 2j, "type complex"),
        (np.arange(4.0), "type numpy.ndarray"), (np.array(1.0), "type numpy.ndarray"), (np.complex64(1), "numpy.complex64"),
        (Thing(), "Thing"), (range(3), "type range"), (tack.f32, "ScalarType"), (scale, "Kernel"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 2])
def test_arguments_that_are_neither_arrays_nor_numbers(value: object, words: str, place: int) -> None:
    x, out = pair()
    args = [x, out, 2.0]
    args[place] = value
    name = {0: "x", 2: "a"}[place]
    for _ in range(2):
        with pytest.raises(TypeError, match=f"Kernel 'scale': argument '{name}' is") as caught:
            scale(*args)
        assert words in str(caught.value)
        if isinstance(value, np.ndarray) and not value.ndim:
            assert f"{name}.item()" in str(caught.value)
        elif isinstance(value, (list, tuple, range, np.ndarray)):
            assert f"tack.array({name})" in str(caught.value)
    assert out.numpy().tolist() == [9] * 4


def test_tensors_of_other_libraries_are_told_their_import() -> None:
    class Tensor:
        def __dlpack__(self) -> None: ...

    x, out = pair()
    with pytest.raises(TypeError, match=r"Write tack\.from_dlpack\(x\)"):
        scale(Tensor(), out, 2.0)


def test_arrays_without_dimensions() -> None:
    x, out = pair()
    point = tack.array(3.0)
    for args, name in (((point, out, 2.0), "x"), ((x, out, point), "a")):
        with pytest.raises(TypeError, match=f"'{name}' is an array without dimensions") as caught:
            scale(*args)
        assert f"{name}[()]" in str(caught.value) and f"{name}.reshape(1)" in str(caught.value)


@pytest.mark.rule("T1")
@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**40])
def test_integers_that_no_type_holds(value: int) -> None:
    x, out = pair()
    with pytest.raises(TypeError, match=f"argument 'a' is {value}"):
        scale(x, out, value)


@pytest.mark.rule("T1")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(
    "factor",
    [
        5, 5.0, True, np.bool_(True), np.float16(5), np.float32(5), np.float64(5), np.longdouble(5), np.int8(5), np.uint8(5),
        np.int16(5), np.int32(5), np.int64(5), np.uint32(5), np.uint64(5),
    ],
)  # fmt: skip
def test_python_and_numpy_scalars(factor: object, dtype: type) -> None:
    x = tack.array(np.array([1, 2, 3], dtype))
    out = tack.zeros_like(x)
    for _ in range(2):
        scale(x, out, factor)
        assert out.numpy().tolist() == [int(factor) * v for v in (1, 2, 3)]  # type: ignore[call-overload]


def test_arrays_and_numbers_in_each_others_place() -> None:
    x, out = pair()
    scale(x, out, 2.0)
    with pytest.raises(TypeError, match="'a' is an array") as caught:
        scale(x, out, x)
    assert caught.value.lineno == scale.__wrapped__.__code__.co_firstlineno + 3
    with pytest.raises(TypeError, match="'x' is used as an array"):
        scale(1.0, out, 2.0)
    assert out.numpy().tolist() == [0, 2, 4, 6]


def test_keywords_and_order() -> None:
    x, out = pair()
    scale(a=3.0, out=out, x=x)
    assert out.numpy().tolist() == [0, 3, 6, 9]
    scale(x, a=2.0, out=out)
    assert out.numpy().tolist() == [0, 2, 4, 6]
    for call in (
        lambda: scale(x, out),
        lambda: scale(x, out, 1.0, 2.0),
        lambda: scale(x, out, b=1.0),
        lambda: scale(x, out, 2.0, x=x),
        lambda: scale(),
    ):
        with pytest.raises(TypeError, match="Kernel 'scale'"):
            call()
    assert out.numpy().tolist() == [0, 2, 4, 6]


@pytest.mark.spec("back-062")
def test_a_call_returns_none() -> None:
    x, out = pair()
    assert scale(x, out, 2.0) is None
    assert scale(x, out, 2.0) is None


@pytest.mark.rule("M3")
def test_read_only_arrays_are_never_stored_to() -> None:
    values = np.full(4, 9, np.float32)
    values.flags.writeable = False
    frozen = tack.from_dlpack(values)
    assert not frozen.writable
    x, out = pair()
    scale(frozen, out, 2.0)  # reading is fine
    assert out.numpy().tolist() == [18] * 4
    for _ in range(3):  # refused by the slow path, and by the fast one after a call that was right
        with pytest.raises(ValueError, match=r"Kernel 'scale': array 'out' is read-only") as caught:
            scale(x, frozen, 2.0)
        assert "out.copy()" in str(caught.value)
        scale(x, out, 2.0)
    assert values.tolist() == [9] * 4


@pytest.mark.rule("M3")
def test_a_store_that_never_runs_counts_as_a_store() -> None:
    @tack.kernel
    def never(x):
        for i in range(x.shape[0]):
            if x[i] < 0.0:
                x[i] = 0.0

    values = np.ones(4, np.float32)
    values.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        never(tack.from_dlpack(values))


@pytest.mark.rule("M4")
def test_unaligned_arrays() -> None:
    raw = np.zeros(4 * 8 + 1, np.uint8)
    values = raw[1:].view(np.float64)
    values[:] = [1, 2, 3, 4]
    x = tack.array_from_ptr(values.ctypes.data, tack.f64, (4,), owner=raw)
    out = tack.zeros(4, dtype=tack.f64)
    scale(x, out, 2.0)
    assert out.numpy().tolist() == [2, 4, 6, 8]


@pytest.mark.spec("back-130", "back-132")
def test_dtypes_that_the_device_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    @tack.kernel
    def my_kernel(data):
        for i in range(data.shape[0]):
            data[i] = data[i] + 1.0

    narrow = tuple(t for t in get_backend().supported_dtypes if t is not tack.f64)
    limited = dataclasses.replace(get_backend().capabilities, label="Metal", supported_dtypes=narrow)
    monkeypatch.setattr(get_backend(), "capabilities", limited)
    expected = (
        "Kernel 'my_kernel': parameter 'data' has dtype tack.f64, which is not supported on Metal. Supported dtypes: "
        "tack.f32, tack.i16, tack.i32, tack.i64, tack.i8, tack.u16, tack.u32, tack.u64, tack.u8"
    )
    data = array(4, np.float64)
    for call in (lambda: my_kernel(data), lambda: tack.inspect(my_kernel, data)):
        with pytest.raises(TypeError) as caught:
            call()
        assert " ".join(str(caught.value).split()) == expected
    assert data.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.spec("back-125")
def test_a_failed_native_compile_names_kernel_backend_and_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    @tack.kernel
    def broken(x):
        for i in range(x.shape[0]):
            x[i] = x[i] + 1.0

    emit = llvm_gen.emit_module
    monkeypatch.setattr(llvm_gen, "emit_module", lambda *args: emit(*args).replace("fadd", "fused"))
    x = array(4)
    with pytest.raises(RuntimeError, match="Kernel 'broken'") as caught:
        broken(x)
    text = str(caught.value)
    assert "CPU" in text and "fused" in text
    assert len(text) < 800 and "define i64 @run" not in text
    assert x.numpy().tolist() == [0, 1, 2, 3]
    monkeypatch.undo()
    broken(x)
    assert x.numpy().tolist() == [1, 2, 3, 4]


# --------------------------------------------------------------------------------------------------------- launch ranges


@tack.kernel
def span(out, first, last, step):
    for i in range(first, last, step):
        out[i] = i


@pytest.mark.rule("K5")
@pytest.mark.parametrize(
    ("first", "last", "step"),
    [(0, 0, 1), (5, 5, 1), (7, 3, 1), (2, 6, 1), (0, 10, 1), (9, 10, 1), (0, 10, 3), (9, -1, -1), (9, 0, -4), (3, 7, -1)],
)
def test_ranges(first: int, last: int, step: int) -> None:
    for _ in range(2):
        out = tack.full(10, -1, dtype=tack.i32)
        span(out, first, last, step)
        assert out.numpy().tolist() == [i if i in range(first, last, step) else -1 for i in range(10)]


@pytest.mark.rule("K1")
def test_a_step_of_zero_is_refused_before_the_launch() -> None:
    out = tack.full(10, -1, dtype=tack.i32)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Kernel 'span'.*step.*zero"):
            span(out, 0, 10, 0)
        span(out, 0, 0, 1)
    assert out.numpy().tolist() == [-1] * 10


@tack.kernel
def plane(out, n, m):
    for i, j in tack.ndindex(n, m):
        out[i] = j


@pytest.mark.rule("K5")
@pytest.mark.parametrize(("n", "m"), [(2**40, 2**40), (2**63 - 1, 2), (2**32, 2**31)])
def test_launches_past_the_limit_name_kernel_count_and_limit(n: int, m: int) -> None:
    out = tack.full(4, 9, dtype=tack.i64)
    with pytest.raises(ValueError, match="Kernel 'plane'") as caught:
        plane(out, n, m)
    assert str(n * m) in str(caught.value) and str(2**63 - 1) in str(caught.value)
    assert "Split the work" in str(caught.value)
    assert out.numpy().tolist() == [9] * 4


@pytest.mark.rule("K5")
def test_bounds_past_the_limit_are_refused() -> None:
    @tack.kernel
    def count(out, n):
        for i in range(n):
            out[0] = i

    out = tack.full(1, 9, dtype=tack.i64)
    with pytest.raises(ValueError, match=f"{2**64 - 1} iterations.*{2**63 - 1}"):
        count(out, 2**64 - 1)
    assert out[0] == 9


@pytest.mark.rule("K5")
def test_a_negative_size_runs_nothing() -> None:
    out = tack.full(4, 9, dtype=tack.i64)
    plane(out, 4, -2)
    plane(out, -4, -2)
    plane(out, -4, 2**62)
    assert out.numpy().tolist() == [9] * 4


@pytest.mark.rule("K5")
def test_indices_past_32_bits() -> None:
    @tack.kernel
    def late(out, first):
        for i in range(first, first + 8):
            out[i - first] = i

    out = tack.zeros(8, dtype=tack.i64)
    late(out, 2**40)
    assert out.numpy().tolist() == [2**40 + k for k in range(8)]


# --------------------------------------------------------------------------------------------------------------- devices


class OtherMemory:
    name = "elsewhere"
    dlpack_device = (1, 0)


class OtherDevice:
    """A device that shares no memory with the CPU, and records its launches."""

    kind, index = "elsewhere", 0

    def __init__(self) -> None:
        self.memory = OtherMemory()
        self.launched: list[tuple] = []
        self._backend = self
        self._cache = new_kernel_cache()

    def resolve(self, kernel: object, args: tuple) -> str:
        return "variant"

    def launch(self, variant: str, args: tuple) -> None:
        self.launched.append(args)

    def __str__(self) -> str:
        return "elsewhere:0"


def on(device: OtherDevice, n: int = 4) -> tack.Array:
    host = tack.zeros(n)
    return tack.Array(host._buffer, host.dtype, host.shape, device)


def test_a_kernel_runs_where_its_arrays_are() -> None:
    other = OtherDevice()
    x, out = on(other), on(other)
    scale(x, out, 2.0)
    assert other.launched == [(x, out, 2.0)]
    scale(*pair(), 2.0)
    assert len(other.launched) == 1


def test_arrays_on_devices_without_shared_memory() -> None:
    other = OtherDevice()
    x, out = pair()
    for args in ((on(other), out, 2.0), (x, on(other), 2.0)):
        for _ in range(2):
            with pytest.raises(ValueError, match="share no memory") as caught:
                scale(*args)
            text = str(caught.value)
            assert "Kernel 'scale'" in text and "'x'" in text and "'out'" in text and "to_device" in text
            assert "elsewhere:0" in text and "cpu" in text
    assert other.launched == [] and out.numpy().tolist() == [9] * 4


def test_arrays_of_cpu_devices_mix() -> None:
    serial = tack.device("cpu", num_threads=1)
    x = array(4)
    with serial:
        out = tack.zeros(4)
    assert out.device is serial
    scale(x, out, 2.0)
    with serial:
        scale(out, x, 2.0)
    assert x.numpy().tolist() == [0, 4, 8, 12]


def test_calls_without_arrays_run_on_the_default_device() -> None:
    @tack.kernel
    def nothing(n):
        for i in range(n):
            pass

    serial = tack.device("cpu", num_threads=1)
    nothing(5)
    assert nothing in get_backend()._cache
    with serial:
        assert nothing not in serial._backend._cache
        nothing(5)
        assert nothing in serial._backend._cache


# ------------------------------------------------------------------------------------------------------ warnings and modes


def make_racy() -> tack.Kernel:
    @tack.kernel
    def smooth(x):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1]

    return smooth


@pytest.mark.rule("E6")
def test_a_race_is_warned_of_once_per_kernel() -> None:
    smooth = make_racy()
    x = array(4)
    with pytest.warns(tack.RaceWarning, match="Kernel 'smooth'") as caught:
        smooth(x)
    assert len(caught) == 1
    first = smooth.__wrapped__.__code__.co_firstlineno
    assert caught[0].filename == __file__ and first < caught[0].lineno <= first + 3
    smooth(x)
    smooth(array(4, np.float64))
    with tack.device("cpu", num_threads=1):
        smooth(x)
    with pytest.warns(tack.RaceWarning):
        make_racy()(x)


@pytest.mark.rule("E6")
def test_a_race_warning_that_is_an_error_stops_the_first_call() -> None:
    smooth = make_racy()
    x = array(4)
    with pytest.raises(tack.RaceWarning):
        smooth(x)
    assert x.numpy().tolist() == [0, 1, 2, 3]
    smooth(x)


@pytest.mark.parametrize("full", ["", "1"])
def test_a_traceback_ends_at_the_users_call(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACK_FULL_TRACEBACK", full)
    x, out = pair()
    for call in (lambda: scale(x, out, "a"), lambda: tack.inspect(scale, x, out, "a")):
        with pytest.raises(TypeError) as caught:
            call()
        frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert (frames[-1] == __file__) is not bool(full)
