"""Kernels, classes, functions and devices made per call go with the call: their keys, templates, variants and machine code, too.

`lifetimes.py` runs the same for as long as asked.
"""

from __future__ import annotations

import gc
import weakref

import lifetimes
import numpy as np
import pytest
from fresh_process import run_program
from key_tools import array, both_counts, like

import tack
from tack.runtime import cpu_jit
from tack.runtime.dispatch import get_backend


@pytest.mark.spec("cache-109", "cache-115", "cache-118", "cache-152", "cache-228")
@pytest.mark.parametrize("kind", lifetimes.KINDS)
def test_nothing_is_left_of_what_is_made_per_call(kind: str) -> None:
    first, *later = lifetimes.live_through(kind, 12, parts=3)
    assert {each.counts for each in later} == {first.counts}


@pytest.mark.slow
@pytest.mark.spec("cache-109", "cache-115", "cache-118", "cache-152", "cache-228")
@pytest.mark.parametrize("kind", lifetimes.KINDS)
def test_nothing_is_left_of_three_hundred(kind: str) -> None:
    left = list(lifetimes.live_through(kind, 300))
    assert {each.counts for each in left} == {left[0].counts}
    # What a linker notes of its libraries, 9 KiB each, grows until there are 256; anything more stands out from it.
    assert lifetimes.slope(left, 300) < 12


def test_the_command_counts_and_finds_nothing() -> None:
    code = "import lifetimes; print(lifetimes.main(['--count', '10', '--kind', 'kernels']) in (0, 1))"
    printed = run_program(code).splitlines()
    counts = [line.split()[:6] for line in printed if line.startswith("   ")]
    assert len(counts) == 12 and len(set(map(tuple, counts[:-1]))) == 1 and printed[-1] == "True"


def test_memory_of_dropped_code_is_used_again() -> None:
    """What ORC notes of a library stays until its linker goes, so linkers are taken in turn."""
    x = array(4)
    kernel = lifetimes.a_kernel(1)
    text = tack.inspect(kernel, x, like(x))
    image, names = cpu_jit.emit_object(text), cpu_jit.exported(text)

    def load(count: int) -> int:
        for _ in range(count):
            assert cpu_jit.load_object(image, names).address(names[0])
        gc.collect()
        return lifetimes._resident()

    before = load(2 * cpu_jit._LIBRARIES)
    after = load(4 * cpu_jit._LIBRARIES)
    assert after - before < 9 * cpu_jit._LIBRARIES / 2


def test_code_outlives_the_linker_that_made_it() -> None:
    kernel, x = lifetimes.a_kernel(3), array(4)
    out = like(x)
    kernel(x, out)
    text = tack.inspect(kernel, x, out)
    image, names = cpu_jit.emit_object(text), cpu_jit.exported(text)
    linker = cpu_jit._jit()._linker
    loaded = [cpu_jit.load_object(image, names) for _ in range(cpu_jit._LIBRARIES + 1)]
    assert cpu_jit._jit()._linker is not linker
    del linker, loaded
    gc.collect()
    for n in (4, 9):
        x = array(n)
        out = like(x)
        kernel(x, out)
        np.testing.assert_array_equal(out.numpy(), x.numpy() + 3)


def test_a_kernel_that_is_being_called_keeps_its_code() -> None:
    """Dropping every variant, and the last reference to the kernel, inside a call takes nothing from under it."""
    ran: list[float] = []

    @tack.kernel
    def shift(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + 1.0

    x = array(4)
    out = like(x)
    shift(x, out)
    backend = get_backend()
    variant = backend.resolve(shift, (x, out))
    code = weakref.ref(variant.payload.code)
    launch = variant.payload.launch
    del variant
    backend._cache[shift].clear()
    shift.forget_calls(backend._cache.serial)
    del shift
    gc.collect()
    assert code() is not None
    launch((x, out))
    ran += out.numpy().tolist()
    assert ran == [1, 2, 3, 4]
    del launch
    gc.collect()
    assert code() is None


def test_a_signature_that_the_fast_path_keeps_holds_no_array() -> None:
    x = array(4)
    scale = lifetimes.a_kernel(2)
    out = like(x)
    for _ in range(3):
        scale(x, out)
    gone = [weakref.ref(x), weakref.ref(out)]
    del x, out
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert both_counts(scale) == (1, 1)


def test_objects_that_were_arguments_are_not_kept() -> None:
    @tack.device_class
    class Shift:
        amount = 1.0

        @tack.func
        def at(self, v):
            return v + self.amount

    x = array(3)
    out = like(x)
    thing = Shift()
    for _ in range(3):
        lifetimes.lasting(thing, x, out)
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
