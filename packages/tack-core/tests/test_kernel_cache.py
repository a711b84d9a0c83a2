"""Where variants live and how long: the cache is keyed on the kernel object, weakly.

It was once keyed on `id(kernel)`: a collected kernel's address was reused, and the next kernel ran its code. The first test is
that fault.
"""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import threading
import weakref

import numpy as np
import pytest

import tack
from tack.ir import pipeline
from tack.ir.printer import print_ir
from tack.lang.call_shape import describe_call
from tack.runtime import fast_path
from tack.runtime.dispatch import get_backend
from tack.runtime.kernel_utils import _kernel_caches, drop_variants, kernel_cache_slot, new_kernel_cache


def array(n: int, dtype: object = np.float32) -> tack.Array:
    return tack.array(np.arange(n, dtype=dtype))


def add(amount: float) -> tack.Kernel:
    namespace = {"amount": tack.constant(amount)}

    @tack.kernel(namespace=namespace)
    def kernel(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + amount

    return kernel


def run(kernel: tack.Kernel, n: int = 4, dtype: object = np.float32) -> list[float]:
    x = array(n, dtype)
    out = tack.zeros_like(x)
    kernel(x, out)
    return out.numpy().tolist()


def cache() -> weakref.WeakKeyDictionary:
    return get_backend()._cache


@pytest.mark.spec("cache-108")
def test_a_kernel_at_the_address_of_a_collected_one_runs_its_own_code() -> None:
    seen: set[int] = set()
    for k in range(200):  # the allocator soon hands an address out again
        kernel = add(float(k))
        assert run(kernel) == [k + 0.0, k + 1.0, k + 2.0, k + 3.0]
        if id(kernel) in seen:
            return
        seen.add(id(kernel))
        del kernel
        gc.collect()
    pytest.fail("no address was used twice, so this run shows nothing")


@pytest.mark.spec("cache-109")
def test_variants_go_with_their_kernel() -> None:
    kernel = add(1.0)
    run(kernel)
    (variant,) = cache()[kernel].values()
    gone = [weakref.ref(kernel), weakref.ref(variant.payload.code)]
    before = len(cache())
    del kernel, variant
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert len(cache()) == before - 1


@pytest.mark.spec("cache-099")
def test_kernels_of_one_name_have_slots_of_their_own() -> None:
    one, two = add(1.0), add(2.0)
    assert run(one) == [1, 2, 3, 4] and run(two) == [2, 3, 4, 5] and run(one) == [1, 2, 3, 4]
    assert cache()[one] is not cache()[two]


@pytest.mark.spec("cache-107")
def test_slot_of_a_kernel_is_made_once_even_by_threads_at_once() -> None:
    kernel, own = add(1.0), new_kernel_cache()
    barrier = threading.Barrier(8)
    found: list[dict] = []

    def work() -> None:
        barrier.wait()
        found.append(kernel_cache_slot(own, kernel))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 8 and all(slot is found[0] for slot in found)
    assert kernel_cache_slot(own, kernel) is found[0]


@pytest.mark.spec("cache-105", "cache-106", "cache-113")
def test_caches_are_registered_weakly() -> None:
    own = new_kernel_cache()
    assert sum(ref() is own for ref in _kernel_caches) == 1
    assert any(ref() is cache() for ref in _kernel_caches)
    count = len(_kernel_caches)
    del own
    gc.collect()
    assert len(_kernel_caches) == count - 1


@pytest.mark.spec("cache-114")
def test_drop_variants_reaches_every_live_cache_and_the_fast_path() -> None:
    kernel = add(1.0)
    serial = tack.device("cpu", num_threads=1)
    for dtype in (np.float32, np.float64):
        run(kernel, dtype=dtype)
        with serial:
            run(kernel, dtype=dtype)
    caches = [cache(), serial._backend._cache]
    kept = [next(v for k, v in each[kernel].items() if k[0][0][0] is tack.f64) for each in caches]
    assert [len(each[kernel]) for each in caches] == [2, 2]
    drop_variants(kernel, lambda key: key[0][0][0] is tack.f32)
    assert [list(each[kernel].values()) for each in caches] == [[one] for one in kept]
    assert all(each.serial not in kernel.signatures for each in caches)
    run(kernel)  # resolved afresh
    assert len(cache()[kernel]) == 2
    drop_variants(kernel, lambda key: True)
    assert [len(each[kernel]) for each in caches] == [0, 0]
    drop_variants(add(2.0), lambda key: True)  # a kernel that no cache knows


def test_a_device_made_with_options_has_an_empty_cache_that_goes_with_it() -> None:
    kernel = add(1.0)
    serial = tack.device("cpu", num_threads=1)
    with serial:
        run(kernel)
    gone = weakref.ref(serial._backend._cache)
    del serial
    gc.collect()
    assert gone() is None
    assert run(kernel) == [1, 2, 3, 4]


@pytest.mark.spec("cache-110")
def test_switching_the_default_device_keeps_variants() -> None:
    kernel = add(1.0)
    run(kernel)
    before = dict(cache()[kernel])
    tack.set_default_device(tack.device("cpu", num_threads=1))
    try:
        run(kernel)
    finally:
        tack.set_default_device("cpu")
    run(kernel)
    assert cache()[kernel] == before


def test_the_fast_path_forgets_at_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "MAX_SIGNATURES", 3)

    @tack.kernel
    def fill(out, a, b):
        for i in range(out.shape[0]):
            out[i] = a + b

    out = tack.zeros(2, dtype=tack.f64)
    kinds = (1, 2**40, 2.0)
    for a in kinds:
        for b in kinds:
            fill(out, a, b)
            assert out[0] == float(a + b)
            assert len(fill.signatures[cache().serial]) <= 3
    assert len(cache()[fill]) == 9
    assert fast_path.MAX_SIGNATURES == 3


@pytest.mark.spec("cache-132")
def test_the_fast_path_keeps_256_signatures_and_then_starts_anew() -> None:
    """Five integers of three types each are 243 signatures of one array, and as many of another."""
    assert fast_path.MAX_SIGNATURES == 256

    @tack.kernel
    def fill(out, a, b, c, d, e):
        for i in range(out.shape[0]):
            out[i] = 1

    template = fill.template()
    values = (1, 2**40, 2**63)
    variant, counts = object(), []
    for out in (tack.zeros(2), tack.zeros(2, tack.f64)):
        for args in itertools.product(values, repeat=5):
            call = describe_call(fill.param_names, (out, *args))
            fast_path.remember(cache().serial, fill, template, call, variant, True)
            counts.append(len(fill.signatures[cache().serial]))
    assert counts == [*range(1, 257), *range(1, 2 * 3**5 - 255)]
    other = tack.device("cpu", num_threads=1)._backend._cache
    fast_path.remember(other.serial, fill, template, call, variant, True)
    assert len(fill.signatures[other.serial]) == 1 and len(fill.signatures[cache().serial]) == counts[-1]


# ------------------------------------------------------------------------------------------------------------- templates


@pytest.mark.spec("cache-018", "cache-019")
def test_a_plain_kernel_has_one_template_and_no_key() -> None:
    kernel = add(1.0)
    assert kernel._ir is None
    run(kernel)
    run(kernel, dtype=np.float64)
    assert kernel._ir is kernel.template()
    assert kernel._ir_cache == {}
    assert kernel.lowerings == 1
    assert kernel._make_cache_key({}, {}, {}, False) is None
    vectors, debug = kernel._make_cache_key({0: 3}, {}, {}, False), kernel._make_cache_key({0: 3}, {}, {}, True)
    assert len({vectors, debug, kernel._make_cache_key({0: 2}, {}, {}, False), None}) == 4
    assert debug is not None and debug[0] == ("debug",)


@pytest.mark.spec("cache-020", "cache-022")
def test_a_template_is_verified_and_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    verify = pipeline.verify_ir
    monkeypatch.setattr(pipeline, "verify_ir", lambda func, stage: (stages.append(stage), verify(func, stage))[1])
    kernel, twin = add(1.0), add(1.0)
    template, untouched = kernel.template(), twin.template()
    assert set(stages) == {"lowered"} and template.stage == "lowered"
    run(kernel)
    run(kernel, dtype=np.int64)
    assert kernel.template() is template
    assert print_ir(template) == print_ir(untouched)
    assert all(param.type is None for param in template.params)
    assert stages[-1] == "typed"


@pytest.mark.spec("cache-103")
def test_a_device_function_that_is_bound_anew_is_not_seen() -> None:
    @tack.func
    def one(v):
        return v + 1.0

    @tack.func
    def two(v):
        return v + 2.0

    namespace = {"step": one}

    def make() -> tack.Kernel:
        @tack.kernel(namespace=namespace)
        def kernel(x, out):
            for i in range(x.shape[0]):
                out[i] = step(x[i])

        return kernel

    kernel = make()
    assert run(kernel, 2) == [1, 2]
    namespace["step"] = two
    assert run(kernel, 2) == [1, 2]
    assert run(kernel, 2, np.float64) == [1, 2]
    assert run(make(), 2) == [2, 3]


@tack.kernel
def picklable(x):
    for i in range(x.shape[0]):
        x[i] = 1.0


def test_kernels_are_copied_and_pickled_as_functions_are():
    assert copy.deepcopy(picklable) is picklable
    assert pickle.loads(pickle.dumps(picklable)) is picklable
