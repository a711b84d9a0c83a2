"""`tack.inspect`: the code that a call would run, in four forms, without running it."""

from __future__ import annotations

import numpy as np
import pytest

import tack
from tack.runtime.dispatch import get_backend


@tack.kernel
def plain(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + 1.0


def arrays() -> tuple[tack.Array, tack.Array]:
    return tack.array(np.arange(4, dtype=np.float32)), tack.full(4, 9.0)


@pytest.mark.spec("back-126")
@pytest.mark.parametrize(
    ("mode", "words"),
    [("ir", ("plain", "x", "out", "f32")), ("source", ("define", "@run", "@body", "fadd")), ("optimized", ("define", "fadd"))],
)
def test_each_mode_shows_its_own_text(mode: str, words: tuple[str, ...]) -> None:
    text = tack.inspect(plain, *arrays(), mode=mode)
    assert all(word in text for word in words), text


def test_assembly_names_the_functions() -> None:
    text = tack.inspect(plain, *arrays(), mode="asm")
    assert "body" in text and "define" not in text


def test_the_default_is_the_source() -> None:
    assert tack.inspect(plain, *arrays()) == tack.inspect(plain, *arrays(), mode="source")


def test_nothing_runs_and_the_variant_is_kept() -> None:
    @tack.kernel
    def fresh(x, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * 2.0

    x, out = arrays()
    for mode in ("ir", "source", "optimized", "asm"):
        tack.inspect(fresh, x, out, mode=mode)
        assert out.numpy().tolist() == [9] * 4
    (variant,) = get_backend()._cache[fresh].values()
    fresh(x, out)
    assert list(get_backend()._cache[fresh].values()) == [variant]
    assert out.numpy().tolist() == [0, 2, 4, 6]


def test_the_text_is_that_of_the_calls_variant() -> None:
    x, out = arrays()
    wide = tack.array(np.arange(4.0))
    assert "float" in tack.inspect(plain, x, out) and "double" not in tack.inspect(plain, x, out)
    assert "double" in tack.inspect(plain, wide, tack.zeros_like(wide))
    assert "f64" in tack.inspect(plain, wide, tack.zeros_like(wide), mode="ir")


def test_an_unknown_mode_lists_the_modes() -> None:
    with pytest.raises(ValueError, match="'ptx'") as caught:
        tack.inspect(plain, *arrays(), mode="ptx")
    assert all(repr(mode) in str(caught.value) for mode in ("ir", "source", "optimized", "asm"))


def test_a_wrong_call_is_refused_as_when_called() -> None:
    x, out = arrays()
    with pytest.raises(TypeError, match="argument 'out' is of type list"):
        tack.inspect(plain, x, [1.0])
    with pytest.raises(TypeError, match="plain"):
        tack.inspect(plain, x)
    with pytest.raises(IndexError, match="2 dimensions"):
        tack.inspect(plain, tack.zeros((2, 2)), out)


def test_only_kernels_are_inspected() -> None:
    with pytest.raises(TypeError, match=r"@tack\.kernel"):
        tack.inspect(plain.__wrapped__, *arrays())  # type: ignore[arg-type]
