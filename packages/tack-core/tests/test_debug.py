"""Debug mode: every index, inner step and read of a local array is checked, and nothing outside an array is touched."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fresh_process import run_program
from golden import kernels as golden

import tack
from tack.runtime.cpu_pool import force_fanout
from tack.runtime.kernel_utils import kernel_cache_slot


@pytest.fixture(autouse=True)
def debug() -> Iterator[None]:
    tack.set_debug(True)
    yield
    tack.set_debug(False)


@tack.kernel
def shifted(x, out, ahead):
    for i in range(out.shape[0]):
        out[i] = x[i + ahead]


@tack.kernel
def poke(out, where, value):
    for i in range(1):
        out[where] = value


@tack.kernel
def poke2(out, row, column, value):
    for i in range(1):
        out[row, column] = value


@tack.kernel
def doubled(a, out):
    for i, j in tack.ndindex(a.shape[0], a.shape[1]):
        out[i, j] = a[i, j] * 2


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def floats(n: int) -> tack.Array:
    return tack.array(np.arange(n, dtype=np.float32))


def variants(kernel: Any) -> list[Any]:
    return list(kernel_cache_slot(tack.device("cpu")._backend._cache, kernel))


# ------------------------------------------------------------------------------------------------- what is reported


@pytest.mark.rule("M1")
@pytest.mark.spec("cache-027")
def test_an_index_outside_is_reported_with_everything_there_is_to_know() -> None:
    x, out = floats(4), tack.full(4, 9.0)
    with pytest.raises(IndexError) as caught:
        shifted(x, out, 2)
    line = line_of("out[i] = x[i + ahead]")
    assert str(caught.value) == (
        "Kernel 'shifted': index 4 is outside 'x', which has 4 elements, at i = 2\n"
        f'  File "{__file__}", line {line}, column 18, in shifted\n'
        "    out[i] = x[i + ahead]\n"
        "             ^^^^^^^^^^^^\n"
        "  Check the index: the last one is 3."
    )
    assert caught.value.lineno == line
    assert out.numpy().tolist() == [2.0, 3.0, 9.0, 9.0]  # an iteration ends where a check fails
    shifted(x, out, 0)
    assert out.numpy().tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.rule("M1")
@pytest.mark.parametrize("where", [8, -1, 1000, -(2**40), 2**40])
def test_nothing_outside_is_written(where: int) -> None:
    base = np.zeros(16, np.float32)
    middle = tack.from_dlpack(base[4:12])
    with pytest.raises(IndexError, match=f"index {where} is outside 'out', which has 8 elements, at i = 0"):
        poke(middle, where, 5.0)
    assert not base.any()
    poke(middle, 7, 5.0)
    assert base[11] == 5.0 and base.sum() == 5.0


@pytest.mark.rule("M1")
def test_each_dimension_is_checked_by_itself() -> None:
    base = np.zeros((6, 8), np.float32)
    middle = tack.from_dlpack(base[2:4])
    for row, column, words in ((0, 8, "8 is outside dimension 1"), (2, 0, "2 is outside dimension 0"), (1, -1, "-1 is outside")):
        with pytest.raises(IndexError, match=f"index {words}.* of 'out', which has size {2 if row == 2 else 8}"):
            poke2(middle, row, column, 5.0)
        assert not base.any()
    poke2(middle, 1, 7, 5.0)
    assert base[3, 7] == 5.0


def test_a_negative_index_and_an_empty_array_have_words_of_their_own() -> None:
    with pytest.raises(IndexError, match="Negative indices do not count from the end: the last one is 2"):
        poke(floats(3), -1, 0.0)
    with pytest.raises(IndexError, match="index 0 is outside 'out', which has 0 elements.*\n.*\n.*\n.*\n.*there are no elements"):
        poke(tack.zeros(0), 0, 0.0)
    with pytest.raises(IndexError, match="which has 1 element,"):
        poke(tack.zeros(1), 1, 0.0)


@pytest.mark.rule("E1", "E2")
def test_of_several_wrong_accesses_the_first_in_order_of_evaluation_is_reported() -> None:
    @tack.kernel
    def both(a, b, c, n):
        for i in range(1):
            a[n] = b[n] + c[n]

    small, large = floats(2), floats(4)
    for arrays, name in (((small, small, small), "b"), ((small, large, small), "c"), ((small, large, large), "a")):
        with pytest.raises(IndexError, match=f"outside '{name}'"):
            both(*arrays, 3)


@pytest.mark.rule("E1")
def test_what_is_not_evaluated_is_not_checked() -> None:
    @tack.kernel
    def guarded(x, out, n):
        for i in range(out.shape[0]):
            k = i + n
            out[i] = x[k] if 0 <= k and k < x.shape[0] and x[k] > 1.0 else -1.0

    x, out = floats(4), tack.zeros(4)
    guarded(x, out, 2)
    assert out.numpy().tolist() == [2.0, 3.0, -1.0, -1.0]
    guarded(x, out, -2)
    assert out.numpy().tolist() == [-1.0, -1.0, -1.0, -1.0]


def test_a_loop_that_runs_out_of_its_array_ends() -> None:
    @tack.kernel
    def search(x, out, value):
        for i in range(1):
            k = 0
            while x[k] != value:
                k += 1
            out[i] = k

    x, out = floats(5), tack.zeros(1, tack.i32)
    search(x, out, 3.0)
    assert out.numpy().tolist() == [3]
    with pytest.raises(IndexError, match="index 5 is outside 'x'"):
        search(x, out, 9.0)


def test_a_value_that_nobody_uses_is_checked_too() -> None:
    @tack.kernel
    def unused(x, out, n):
        for i in range(out.shape[0]):
            float(x[i + n])
            y = x[i + n]
            out[i] = 1.0

    with pytest.raises(IndexError, match="index 3 is outside 'x'"):
        unused(floats(3), tack.zeros(3), 1)


@pytest.mark.rule("K4")
def test_a_step_of_zero_is_reported() -> None:
    @tack.kernel
    def stepped(out, step):
        for i in range(out.shape[0]):
            n = 0
            for k in range(0, 6, step):
                n += 1
            out[i] = n

    out = tack.full(2, 9, tack.i32)
    stepped(out, 2)
    assert out.numpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match=r"the step of this `range` is 0, at i = 0\n(.|\n)*range\(0, 6, step\)"):
        stepped(out, 0)
    tack.set_debug(False)
    stepped(out, 0)
    assert out.numpy().tolist() == [0, 0]


@tack.func
def second(values, k):
    return values[k + 1]


@pytest.mark.rule("F1")
def test_an_access_in_a_function_is_shown_there() -> None:
    @tack.kernel
    def outer(x, out):
        for i in range(out.shape[0]):
            out[i] = second(x, i)

    with pytest.raises(IndexError) as caught:
        outer(floats(3), tack.zeros(3))
    place = f"line {line_of('return values[k + 1]')}, column 12, in second (called on line {line_of('out[i] = second(x, i)')})"
    assert f"{place}\n    return values[k + 1]\n" in str(caught.value)
    assert "index 3 is outside 'x'" in str(caught.value)


@pytest.mark.rule("K2", "K6")
def test_the_prologue_and_the_result_are_checked() -> None:
    @tack.kernel
    def total(x, out, first, last) -> float:
        s = x[first]
        for i in range(out.shape[0]):
            out[i] = s
        return s + x[last]

    x, out = floats(4), tack.zeros(2)
    assert total(x, out, 1, 2) == 3.0
    with pytest.raises(IndexError, match="index 4 is outside 'x', which has 4 elements, before the parallel loop"):
        total(x, out, 4, 0)
    assert out.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(IndexError, match="index -1 is outside 'x', which has 4 elements, in the kernel's result"):
        total(x, out, 2, -1)


@pytest.mark.rule("K6")
def test_the_result_is_not_computed_from_what_has_failed() -> None:
    @tack.func
    def counted(n):
        total = 0
        for k in range(n):
            total += k
        return total

    @tack.kernel
    def steps(x, at) -> int:
        n = x[at]
        for i in range(1):
            x[i + at] = n
        return counted(n)

    x = tack.array(np.array([5, 3], np.int64))
    assert steps(x, 1) == 3
    with pytest.raises(IndexError, match="before the parallel loop"):
        steps(x, 2)  # the count of the call before


def test_loop_variables_are_named_whatever_the_loop_is() -> None:
    @tack.kernel
    def down(x):
        for i in range(9, -1, -3):
            x[i] = 1.0

    @tack.kernel
    def box(x, lo, hi):
        for a, b, c in tack.ndindex((lo, hi), (lo, hi), (1, 4)):
            x[a, b, c] = 1.0

    with pytest.raises(IndexError, match="index 9 is outside 'x', which has 5 elements, at i = 9"):
        down(tack.zeros(5))
    with pytest.raises(IndexError, match="index 3 is outside dimension 1 of 'x', which has size 3, at a = 2, b = 3, c = 1"):
        box(tack.zeros((9, 3, 9)), 2, 5)


@pytest.mark.rule("A1")
def test_atomics_are_checked() -> None:
    @tack.kernel
    def count(keys, counts):
        for i in range(keys.shape[0]):
            tack.atomic_add(counts, keys[i], 1)

    counts = tack.zeros(3, tack.i32)
    with pytest.raises(IndexError, match="index 7 is outside 'counts', which has 3 elements, at i = 2"):
        count(tack.array(np.array([0, 1, 7, 1], np.int32)), counts)
    assert counts.numpy().tolist() == [1, 2, 0]


@pytest.mark.rule("V1", "M1")
def test_elements_of_vector_arrays_are_checked_as_one() -> None:
    @tack.kernel
    def lift(v, m, k):
        for i in range(v.shape[0]):
            v[i + k].y = 3.0
            m[i, k] = m[i, 0] @ m[i, 1]

    v, m = tack.zeros(4, tack.vec3), tack.zeros((4, 2), tack.mat2)
    lift(v, m, 0)
    assert v.numpy()[:, 1].tolist() == [3.0] * 4
    with pytest.raises(IndexError, match="index 4 is outside 'v', which has 4 elements, at i = 3"):
        lift(v, m, 1)
    with pytest.raises(IndexError, match="index 2 is outside dimension 1 of 'm', which has size 2, at i = 0"):
        lift(v, m, 2)


@tack.device_class
class Line:
    scale = 2

    def __init__(self, data: tack.Array, offset: int) -> None:
        self.data, self.offset = data, offset

    @tack.func
    def at(self, k):
        return self.data[k + self.offset] * self.scale


@pytest.mark.rule("F2")
def test_arrays_of_objects_are_named_by_their_path() -> None:
    @tack.kernel
    def sample(line, out):
        for i in range(out.shape[0]):
            out[i] = line.at(i)

    x, out = floats(4), tack.zeros(4)
    sample(Line(x, 0), out)
    assert out.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    for offset, at in ((1, 3), (3, 1)):
        with pytest.raises(IndexError, match=f"index 4 is outside 'line.data', which has 4 elements, at i = {at}") as caught:
            sample(Line(x, offset), out)
        assert "return self.data[k + self.offset]" in str(caught.value)
    assert len(variants(sample)) == 1


# --------------------------------------------------------------------------------------------------- local arrays


@tack.kernel
def scratch(x, out, stores, at):
    for i in range(out.shape[0]):
        tmp = tack.local_array(tack.f32, (2, 3))
        for k in range(stores):
            tmp[k // 3, k % 3] = x[k]
        out[i] = tmp[at // 3, at % 3]


@pytest.mark.rule("M5")
def test_local_arrays_are_checked_like_others() -> None:
    x, out = floats(8), tack.zeros(2)
    scratch(x, out, 6, 5)
    assert out.numpy().tolist() == [5.0, 5.0]
    with pytest.raises(IndexError, match="index 2 is outside dimension 0 of 'tmp', which has size 2"):
        scratch(x, out, 7, 0)


@pytest.mark.rule("M5")
def test_an_element_of_a_local_array_is_stored_before_it_is_read() -> None:
    x, out = floats(8), tack.zeros(2)
    scratch(x, out, 4, 3)
    with pytest.raises(ValueError, match=r"element \[1, 1\] of local array 'tmp' is read before it is stored, at i = 0"):
        scratch(x, out, 4, 4)


@pytest.mark.rule("M5", "V1")
def test_components_of_a_local_array_of_vectors() -> None:
    @tack.kernel
    def halves(out, n):
        for i in range(out.shape[0]):
            tmp = tack.local_array(tack.vec2, 3)
            for k in range(n):
                tmp[k] = tack.vec2(k, k + 0.5)
            tmp[1].x = 8.0
            out[i] = tmp[1].x + tmp[2].y

    out = tack.zeros(1)
    halves(out, 3)
    assert out.numpy().tolist() == [10.5]
    with pytest.raises(ValueError, match=r"element \[2\] of local array 'tmp' is read before it is stored"):
        halves(out, 2)
    with pytest.raises(IndexError, match="index 3 is outside 'tmp', which has 3 elements"):
        halves(out, 4)


@pytest.mark.rule("M5")
def test_each_iteration_starts_with_nothing_stored() -> None:
    @tack.kernel
    def inside(out):
        for i in range(out.shape[0]):
            tmp = tack.local_array(tack.i32, 2)
            if i == 0:
                tmp[1] = 5
            out[i] = tmp[1]

    @tack.kernel
    def before(out):
        tmp = tack.local_array(tack.i32, 2)
        for i in range(out.shape[0]):
            if i == 0:
                tmp[1] = 5
            out[i] = tmp[1]

    for kernel in (inside, before):
        out = tack.zeros(3, tack.i32)
        with pytest.raises(ValueError, match=r"element \[1\] of local array 'tmp'.* at i = 1"):
            kernel(out)
        assert out.numpy().tolist() == [5, 0, 0]


# -------------------------------------------------------------------------------------------- templates and variants


@pytest.mark.spec("cache-029")
def test_one_variant_for_all_sizes() -> None:
    @tack.kernel
    def middle(x, out):
        for i in range(out.shape[0]):
            out[i] = x[i] + x[x.shape[0] - 1]

    for n in (8, 16, 32):
        shifted(floats(n), tack.zeros(n), 0)
        middle(floats(n), tack.zeros(n))
        doubled(tack.ones((n, n + 1)), tack.zeros((n, n + 1)))
    for kernel in (shifted, middle, doubled):
        assert len([key for key in variants(kernel) if len(key[0]) > len(kernel.param_names)]) == 1
    tack.set_debug(False)
    for n in (8, 16, 32):
        doubled(tack.ones((n, n + 1)), tack.zeros((n, n + 1)))
    assert len(variants(doubled)) == 4


@pytest.mark.spec("cache-028", "cache-101")
def test_the_template_and_its_keys() -> None:
    @tack.kernel
    def twice(x, out):
        for i in range(out.shape[0]):
            out[i] = x[i] * 2

    twice(floats(3), tack.zeros(3))
    assert twice._make_cache_key({}, {}, {}, True) == (("debug",),)
    assert twice._make_cache_key({0: 3}, {}, {}, True)[0] == ("debug",)
    (template,) = twice._ir_cache.values()
    assert list(twice._ir_cache) == [(("debug",),)]
    assert [param.name for param in template.params] == ["x", "out", "tack.errors", "tack.extents"]
    tack.set_debug(False)
    twice(floats(3), tack.zeros(3))
    plain, checked = sorted(variants(twice), key=lambda key: len(key[0]))
    assert checked[0][:2] == plain[0] and len(checked[0]) == 4
    assert checked[2] is plain[2] is None


@pytest.mark.spec("cache-025", "cache-030")
def test_code_without_debug_mode_is_what_it_was() -> None:
    def texts() -> list[str]:
        found: list[str] = []
        for name, args in golden.CALLS.items():
            values = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
            found += [tack.inspect(getattr(golden, name), *values, mode=mode) for mode in ("ir", "source")]
        return found

    tack.set_debug(False)
    before = texts()
    tack.set_debug(True)
    assert all("tack.errors" in text or "@tack.note" in text for text in texts())
    tack.set_debug(False)
    assert texts() == before
    assert not any("tack.errors" in text or "note" in text for text in before)


def test_results_are_the_same_in_debug_mode() -> None:
    for name, args in golden.CALLS.items():
        results: list[list[bytes]] = []
        for on in (False, True):
            tack.set_debug(on)
            values = [tack.array(a) if isinstance(a, np.ndarray) else a for a in args]
            try:
                getattr(golden, name)(*values)
            except IndexError:
                pytest.fail(f"{name} is a correct kernel")
            results.append([a.numpy().tobytes() for a in values if isinstance(a, tack.Array)])
        assert results[0] == results[1], name


# ------------------------------------------------------------------------------------------------------ switching


def test_a_warm_kernel_sees_the_switch_at_its_next_call() -> None:
    @tack.kernel
    def put(out, where):
        for i in range(1):
            out[where] = 1.0

    base = np.zeros(8, np.float32)
    part = tack.from_dlpack(base[2:6])
    tack.set_debug(False)
    for _ in range(3):
        put(part, 5)  # the caller's error, and in memory of its own
    assert base[7] == 1.0
    for _ in range(2):
        tack.set_debug(True)
        for _ in range(2):
            base[7] = 0.0
            with pytest.raises(IndexError):
                put(part, 5)
            assert base[7] == 0.0
        tack.set_debug(False)
        put(part, 5)
        assert base[7] == 1.0


def test_the_environment_turns_it_on() -> None:
    code = """
        import tack
        @tack.kernel
        def one(x, n):
            for i in range(n):
                x[i] = 1.0
        x = tack.zeros(3)
        for call in (one, one, lambda *args: tack.inspect(one, *args, mode="ir")):
            for n in (3, 4):
                try:
                    print("tack.errors" in (call(x, n) or "done"))
                except Exception as error:
                    print(type(error).__name__, str(error).splitlines()[0])
        tack.set_debug(False)
        one(x, 3)
    """
    error = "IndexError Kernel 'one': index 3 is outside 'x', which has 3 elements, at i = 3"
    assert run_program(code, TACK_DEBUG="1").split("\n") == ["False", error, "False", error, "True", "True"]
    assert run_program(code, TACK_DEBUG="yes").split("\n") == ["ValueError TACK_DEBUG='yes': the variable takes 0 or 1"] * 6


def test_what_else_is_wrong_with_a_call_is_said_as_ever() -> None:
    with pytest.raises(TypeError, match="argument 'x' is of type list"):
        shifted([1.0], tack.zeros(1), 0)
    with pytest.raises(IndexError, match="'x' has 2 dimensions, but 1 index here"):
        shifted(tack.zeros((2, 2)), tack.zeros(1), 0)
    with pytest.raises(TypeError, match="'out' is used as an array, but a number was passed"):
        shifted(floats(2), 3, 0)
    read_only = np.zeros(3, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        poke(tack.from_dlpack(read_only), 0, 1.0)


@pytest.mark.rule("E6")
def test_the_race_warning_is_the_same() -> None:
    @tack.kernel
    def racing(x, n):
        for i in range(n):
            x[i] = x[i + 1]

    with pytest.warns(tack.RaceWarning, match="stored at i and read at i \\+ 1"):
        racing(tack.zeros(4), 3)


# --------------------------------------------------------------------------------------------------- many threads


def test_the_least_iteration_is_reported_however_work_is_shared() -> None:
    x, out = floats(5000), tack.zeros(5000)
    device = tack.device("cpu", num_threads=4)
    with device, force_fanout():
        for bad in (4321, 17, 4999):
            for _ in range(5):
                with pytest.raises(IndexError, match=f"index 5000 is outside 'x', which has 5000 elements, at i = {bad}"):
                    shifted(x, out, 5000 - bad)


@pytest.mark.rule("K3")
def test_the_other_iterations_run() -> None:
    x, out = floats(1000), tack.full(1000, -1.0)
    with tack.device("cpu", num_threads=3), force_fanout(), pytest.raises(IndexError):
        shifted(x, out, 10)
    np.testing.assert_array_equal(out.numpy(), np.append(np.arange(10, 1000), np.full(10, -1.0)))


def test_calls_from_several_threads_do_not_mix_their_errors() -> None:
    found: dict[int, list[str]] = {}

    def work(ahead: int) -> None:
        messages: list[str] = []
        x, out = floats(64), tack.zeros(64)
        for _ in range(20):
            try:
                shifted(x, out, ahead)
                messages.append("")
            except IndexError as error:
                messages.append(str(error))
        found[ahead] = messages

    threads = [threading.Thread(target=work, args=(ahead,)) for ahead in (0, 1, 5, -3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found[0]) == {""}
    for ahead, index, at in ((1, 64, 63), (5, 64, 59), (-3, -3, 0)):
        assert all(f"index {index} is outside 'x', which has 64 elements, at i = {at}" in text for text in found[ahead])
