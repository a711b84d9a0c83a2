"""`fma`, `bitcast`, `clz` and `popcount`: their values (`test_conformance` has every type), their types, and what they refuse."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from rule_tools import kernel, of, refused, run, value

import tack
from tack.testing.values import edges, rounded

F32 = np.float32


# ------------------------------------------------------------------------------------------------------------- fma


@pytest.mark.rule("T11", "E5")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    t = tack.f32 if dtype is np.float32 else tack.f64
    a, b, c = np.random.default_rng(1).uniform(-2, 2, (3, 200)).astype(dtype)
    c[::2] = -(a * b)[::2]  # what is left is the rounding of the product
    got = value("fma(a[i], b[i], c[i])", a, b, c, dtype=dtype)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c)]
    assert got == [float(rounded(each, t)) for each in exact]


@pytest.mark.rule("T11", "T8")
def test_fma_takes_the_float_type_of_its_operands():
    n = of(np.int32, 3)
    assert value("fma(a[i], a[i], 1)", n, dtype=np.float32) == [10]
    assert value("fma(0.1, 1, 0) - a[i]", of(np.float64, 0), dtype=np.float64) == [0.1]
    assert value("fma(a[i], 0.1, 0)", of(np.float32, 1), dtype=np.float32) == [float(F32(0.1))]
    assert value("fma(a[i], b[i], 0)", of(np.float32, 3), of(np.float64, 0.1), dtype=np.float64) == [math.fsum([3 * 0.1])]


@pytest.mark.rule("E5")
def test_an_fma_is_no_product_that_fuses():
    x = F32(1 + 2**-12)
    plain = F32(x * x) + F32(-1)  # fma(x, x, 0) rounds the product
    assert value("fma(a[i], a[i], 0.0) - 1.0", of(np.float32, x), dtype=np.float32) == [float(plain)]


# ---------------------------------------------------------------------------------------------------------- bitcast


@pytest.mark.rule("T4")
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "u32"),
        ("f32", "i32"),
        ("f64", "u64"),
        ("f64", "i64"),
        ("u32", "f32"),
        ("i64", "f64"),
        ("i8", "u8"),
        ("u16", "i16"),
    ],
)
def test_bitcast_keeps_the_bits(source, target):
    of_source, of_target = getattr(tack, source), getattr(tack, target)
    given = np.array(edges(of_source), of_source.numpy)
    k = kernel(f"out[i] = tack.bitcast(tack.{target}, a[i])")
    got = run(k, given, np.zeros(given.size, of_target.numpy))
    expected = given.view(of_target.numpy)
    same = got.view(f"u{got.itemsize}") == expected.view(f"u{got.itemsize}")
    assert (same | ((got != got) & (expected != expected))).all()


@pytest.mark.rule("T2b", "T8")
def test_a_literal_becomes_a_number_of_its_kind_and_of_the_dtypes_width():
    assert value("tack.bitcast(tack.u32, 1.5)") == [struct.unpack("<I", struct.pack("<f", 1.5))[0]]
    assert value("tack.bitcast(tack.u64, 1.5)", dtype=np.uint64) == [struct.unpack("<Q", struct.pack("<d", 1.5))[0]]
    assert value("tack.bitcast(tack.f32, 0x3FC00000)", dtype=np.float32) == [1.5]
    assert value("tack.bitcast(tack.f32, 0xBFC00000)", dtype=np.float32) == [-1.5]
    assert value("tack.bitcast(tack.f64, 0x3FF8000000000000)", dtype=np.float64) == [1.5]
    assert value("tack.bitcast(tack.i8, 200)") == [-56]
    assert value("tack.bitcast(tack.u8, -1)") == [255]
    assert value("tack.bitcast(tack.u64, -1)", dtype=np.uint64) == [2**64 - 1]
    assert value("tack.bitcast(tack.u32, a[i] > 0)", of(np.int32, 5)) == [1]
    assert value("tack.bitcast(tack.u32, math.pi)") == [struct.unpack("<I", struct.pack("<f", math.pi))[0]]


@pytest.mark.rule("T2b")
def test_its_type_is_the_dtype():
    assert value("tack.bitcast(tack.u8, a[i]) + 250", of(np.int8, 10)) == [4]  # wraps as u8 does
    assert value("x = tack.bitcast(tack.u32, a[i])\nout[i] = x >> 31", of(np.float32, -0.0)) == [1]


def test_bitcast_of_a_vector_is_per_component():
    v = "tack.bitcast(tack.u32, tack.vec2(a[i], 1.0))"
    assert value(f"v = {v}\nout[i] = v.x + v.y * 2", of(np.float32, 0.0), dtype=np.int64) == [0x7F000000]


def test_bitcast_refusals():
    x = of(np.float32, 1)
    refused(
        TypeError, "tack.bitcast(tack.u64, a[i])", x, at="tack.bitcast(tack.u64, a[i])", words=["32 bits and not 64", "tack.u32"]
    )
    refused(TypeError, "tack.bitcast(tack.u8, 0.5)", at="tack.bitcast(tack.u8, 0.5)", words=["and not 8"])
    refused(TypeError, "tack.bitcast(tack.u8, 300)", at="tack.bitcast(tack.u8, 300)", words=["and not 8"])
    refused(TypeError, "tack.bitcast(a[i], tack.u32)", x, at="a[i]", words=["the first argument", "tack.bitcast(tack.u32, x)"])
    refused(TypeError, "tack.bitcast(int, a[i])", x, at="int", words=["Tack scalar type"])
    refused(TypeError, "tack.bitcast(tack.u32)", at="tack.bitcast(tack.u32)", words=["2 arguments, not 1"])


# ------------------------------------------------------------------------------------------------------ counting bits


@pytest.mark.rule("T2b", "T4")
def test_bits_are_counted_in_the_operands_type():
    assert value("clz(a[i])", of(np.uint8, 0, 1, 255)) == [8, 7, 0]
    assert value("clz(a[i])", of(np.int16, 1, -1)) == [15, 0]
    assert value("popcount(a[i])", of(np.int8, -1, -128, 127, 0)) == [8, 1, 7, 0]
    assert value("popcount(a[i])", of(np.uint64, 2**64 - 1)) == [64]
    assert value("clz(a[i])", of(np.int64, 1)) == [63]
    assert value("popcount(a[i]) + 255", of(np.uint8, 3)) == [1]  # a u8, as the operand


@pytest.mark.rule("T2b", "T7")
def test_a_literal_counts_in_the_type_it_has_alone():
    assert value("clz(1)") == [31]
    assert value("clz(1 << 40)") == [23]
    assert value("popcount(-1)") == [32]
    assert value("popcount(0xFFFFFFFF)") == [32]
    assert value("popcount(2**64 - 1)") == [64]
    assert value("clz(0)") == [32]
    assert value("clz(a[i] > 0)", of(np.int32, 1)) == [31]
    assert value("n = 3\nout[i] = clz(n)") == [30]
    assert value("popcount(tack.u8(-1)) + clz(tack.i8(1))") == [15]


def test_floats_have_no_bits_to_count():
    for name in ("clz", "popcount"):
        refused(TypeError, f"{name}(a[i])", of(np.float32, 1), at="a[i]", words=["int("])
        refused(TypeError, f"{name}(1.5)", at="1.5", words=["int("])
    refused(TypeError, "clz(2**70)", at="2**70", words=["does not fit any integer type"])
    refused(TypeError, "popcount(1, 2)", at="popcount(1, 2)", words=["one argument, not 2"])


def test_they_have_their_names_everywhere():
    for name in ("fma", "bitcast", "clz", "popcount"):
        assert getattr(tack, name) is getattr(tack.math, name)
        with pytest.raises(RuntimeError, match="belongs inside"):
            getattr(tack, name)(1)
    assert value("tack.popcount(7) + tack.math.popcount(7) + popcount(7)") == [9]
