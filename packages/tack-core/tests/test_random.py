"""`tack.random`: the published answers of its generator, mirrors equal bit for bit, and the statistics of 10**7 draws."""

import math

import numpy as np
import pytest
from emitted import EmittedTarget
from nvrtc_tools import compile_all
from rule_tools import kernel, refuses, run

import tack
from tack.random import mirror
from tack.testing import kernel_from

DRAWS = 10_000_000

# Random123's kat_vectors: counter, key and result of Philox4x32-10.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

# What each function draws: its values and their type.
KINDS = {
    "bits_u32": (1, np.uint32), "bits4_u32": (4, np.uint32), "bits_u64": (1, np.uint64), "bits2_u64": (2, np.uint64),
    "uniform_f32": (1, np.float32), "uniform4_f32": (4, np.float32), "uniform_f64": (1, np.float64),
    "uniform2_f64": (2, np.float64), "normal_f32": (1, np.float32), "normal4_f32": (4, np.float32),
    "normal_f64": (1, np.float64), "normal2_f64": (2, np.float64), "integers": (1, np.int64),
}  # fmt: skip
SEEDS = [0, 1, -1, 2024, (1 << 63) + 5, (1 << 64) - 1]
EDGES = np.array([0, 1, 2, (1 << 32) - 1, 1 << 32, (1 << 64) - 1], np.uint64)


def drawing(name, extra=""):
    """A kernel that draws with one function for each pair of a stream and a counter."""
    count, _ = KINDS[name]
    names = ", ".join(f"out[i, {k}]" for k in range(count))
    return kernel_from(
        f"@tack.kernel\ndef draw_{name}(out, seed, streams, counters{extra}):\n    for i in range(out.shape[0]):\n"
        f"        {names} = tack.random.{name}(seed, streams[i], counters[i]{extra})\n"
    )


def draw(name, seed, streams, counters, *bounds):
    """The draws of a kernel, one row for each stream and counter."""
    count, dtype = KINDS[name]
    streams, counters = np.broadcast_arrays(streams, counters)
    out = tack.empty((streams.size, count), dtype)
    drawing(name, ", low, high" if bounds else "")(out, seed, tack.array(streams.ravel()), tack.array(counters.ravel()), *bounds)
    return out.numpy()


def expected(name, seed, streams, counters, *bounds):
    """The same draws by the mirror."""
    columns = getattr(mirror, name)(seed, np.asarray(streams).ravel(), np.asarray(counters).ravel(), *bounds)
    return np.stack(columns if isinstance(columns, tuple) else (columns,), axis=1)


def philox(counter, key):
    """Philox4x32-10 in Python's integers, word by word as the paper has it."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return tuple(c)


# The values


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_the_generator_gives_its_published_answers(counter, key, result):
    block = kernel_from(
        "@tack.kernel\ndef block(out, a, b, c, d, x, y):\n    for i in range(1):\n"
        "        out[0], out[1], out[2], out[3] = tack.random.philox4x32(a, b, c, d, x, y)\n"
    )
    out = tack.zeros(4, tack.u32)
    block(out, *counter, *key)
    assert tuple(out.numpy().tolist()) == result
    assert tuple(map(int, mirror.philox4x32(*counter, *key))) == result
    assert philox(counter, key) == result


@pytest.mark.parametrize("seed", SEEDS)
def test_words_of_seed_stream_and_counter(seed):
    """The key is the seed, the low half of the counter `counter`, the high half `stream`; integers count modulo 2**64."""
    streams, counters = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
    got = draw("bits4_u32", seed, streams, counters)
    for row, stream, counter in zip(got.tolist(), streams.tolist(), counters.tolist()):
        low = (1 << 32) - 1
        key = seed % (1 << 64)
        words = (counter & low, counter >> 32, stream & low, stream >> 32)
        assert tuple(row) == philox(words, (key & low, key >> 32))


@pytest.mark.parametrize("name", [name for name in KINDS if name != "integers"])
@pytest.mark.parametrize("seed", [-1, 1 << 40])
def test_mirrors_draw_the_same_values(name, seed):
    """Bit for bit; normal numbers as far as NumPy's logarithm, cosine and sine agree."""
    streams = np.concatenate([np.arange(500), np.array([-1, 1 << 40])])
    counters = (streams * 7919) % 1000
    got, want = draw(name, seed, streams, counters), expected(name, seed, streams, counters)
    assert got.dtype == want.dtype == KINDS[name][1]
    if name.startswith("normal"):
        np.testing.assert_allclose(got, want, rtol=8 * np.finfo(got.dtype).eps, atol=4 * np.finfo(got.dtype).eps)
    else:
        np.testing.assert_array_equal(got, want)


BOUNDS = [(0, 6), (-3, 4), (5, 6), (0, 1 << 40), (-(1 << 63), (1 << 63) - 1), (0, (1 << 62) * 2 - 1), (7, 7), (7, -7)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_integers_scale_all_the_bits_of_a_draw(low, high):
    streams, counters = np.arange(300), 3
    got = draw("integers", 11, streams, counters, low, high)[:, 0]
    np.testing.assert_array_equal(got, mirror.integers(11, streams, counters, low, high))
    b, a = (word.tolist() for word in mirror.bits2_u64(11, streams, counters))
    size = max(high - low, 0)
    assert got.tolist() == [low + ((((x << 64) | y) * size) >> 128) for x, y in zip(a, b)]


def test_values_of_one_draw_share_its_bits():
    """As the docstrings say: each single-valued function gives the first of its block."""
    streams, counters = np.arange(50), np.arange(50)[::-1].copy()
    bits = draw("bits4_u32", 3, streams, counters)
    np.testing.assert_array_equal(draw("bits_u32", 3, streams, counters)[:, 0], bits[:, 0])
    words = bits.astype(np.uint64)
    pairs = np.stack([words[:, 0] | words[:, 1] << np.uint64(32), words[:, 2] | words[:, 3] << np.uint64(32)], 1)
    np.testing.assert_array_equal(draw("bits2_u64", 3, streams, counters), pairs)
    np.testing.assert_array_equal(draw("uniform4_f32", 3, streams, counters), (bits >> 8) / 2.0**24)
    np.testing.assert_array_equal(draw("uniform2_f64", 3, streams, counters), (pairs >> np.uint64(11)) / 2.0**53)


def test_every_target_draws_the_same(tmp_path):
    """The interpreter and emitted CUDA C; what depends on logarithms and cosines is compared above."""
    text = """
    b, a = tack.random.bits2_u64(seed, i, 1)
    k = tack.random.integers(seed, i, 2, -5, 1 << 40)
    x, y, z, w = tack.random.uniform4_f32(seed, i, 3)
    bits[i], whole[i], real[i] = a ^ b, k, x + y + z + w + tack.random.uniform_f64(seed, i, 4)
    """
    draws = kernel(text, "seed, bits, whole, real", "range(bits.shape[0])")
    arrays = np.zeros(20, np.uint64), np.zeros(20, np.int64), np.zeros(20)
    compiled = run(draws, 42, *arrays)  # which compares with the interpreter
    target = EmittedTarget(tmp_path)
    target.run(draws, [42, *arrays])
    compile_all(target.kernels)
    for got, want in zip(arrays, compiled, strict=True):
        assert got.any()
        np.testing.assert_array_equal(got, want)


def test_uniform_numbers_are_never_1():
    """Not even from a word whose bits are all set."""
    ends = kernel_from(
        "@tack.kernel\ndef ends(a, b, w, v):\n    for i in range(a.shape[0]):\n"
        "        a[i] = unit_f32(w[i])\n        b[i] = unit_f64(v[i])\n",
        unit_f32=tack.random._unit_f32,
        unit_f64=tack.random._unit_f64,
    )
    a, b = tack.empty(2), tack.empty(2, tack.f64)
    ends(a, b, tack.array(np.array([0, 2**32 - 1], np.uint32)), tack.array(np.array([0, 2**64 - 1], np.uint64)))
    assert a.numpy().tolist() == [0.0, 1 - 2**-24] and b.numpy().tolist() == [0.0, 1 - 2**-53]


@pytest.mark.parametrize(("name", "reach"), [("_box_muller_f32", 6.77), ("_box_muller_f64", 9.5)])
def test_normal_numbers_are_finite_at_the_ends(name, reach):
    """From the words 0 and all ones; the radius is largest for the word 0."""
    dtype = np.uint32 if name.endswith("32") else np.uint64
    out = kernel_from(
        "@tack.kernel\ndef ends(out, w):\n    for i in range(w.shape[0]):\n        out[i, 0], out[i, 1] = box_muller(w[i], 0)\n",
        box_muller=getattr(tack.random, name),
    )
    values = tack.empty((2, 2), np.float32 if dtype is np.uint32 else np.float64)
    out(values, tack.array(np.array([0, np.iinfo(dtype).max], dtype)))
    (largest, zero), (least, _) = values.numpy()
    assert reach - 0.05 < largest < reach and zero == least == 0


# What users meet


def test_mirrors_broadcast_and_take_numbers():
    one = mirror.uniform_f32(5, 6, 7)
    assert isinstance(one, np.float32) and one.shape == ()
    table = mirror.integers(5, np.arange(4)[:, None], np.arange(3), 0, 10)
    assert table.shape == (4, 3) and table[2, 1] == mirror.integers(5, 2, 1, 0, 10)
    assert all(column.shape == (2, 3) for column in mirror.normal4_f32(np.arange(2)[:, None], 0, np.arange(3)))
    assert mirror.bits_u64(-1, True, np.int8(-1)) == mirror.bits_u64((1 << 64) - 1, 1, (1 << 64) - 1)


def test_mirrors_have_the_names_of_the_device_functions():
    assert set(mirror.__all__) == set(tack.random.__all__) - {"mirror"} == {*KINDS, "philox4x32"}


def test_seeds_are_integers():
    with pytest.raises(TypeError, match="integers"):
        mirror.bits_u32(1.5, 0, 0)
    with pytest.raises(TypeError, match="integers"):
        mirror.bits_u32(0, np.arange(3.0), 0)
    streams = np.arange(4)
    refuses(TypeError, lambda: draw("bits_u32", 1.5, streams, streams), "must be an integer", at="seed")
    refuses(TypeError, lambda: draw("bits_u32", 1, streams * 0.5, streams), "must be an integer", at="stream")


def test_device_functions_are_refused_outside_kernels():
    with pytest.raises(RuntimeError, match="uniform_f32.*inside a @tack.kernel"):
        tack.random.uniform_f32(1, 2, 3)


def test_draws_do_not_depend_on_the_number_of_threads():
    results = []
    for threads in (1, 2):
        device = tack.device("cpu", num_threads=threads)
        out = tack.empty((100_000, 1), tack.f32, device=device)
        streams = tack.arange(100_000, dtype=tack.i64, device=device)
        drawing("uniform_f32")(out, 9, streams, streams)
        results.append(out.numpy())
    np.testing.assert_array_equal(*results)


# Statistics. A correct generator fails none of these: the seeds are fixed, and the bounds are 5 standard deviations wide.

fill_u32 = kernel_from(
    "@tack.kernel\ndef fill_u32(out, seed, stream, along):\n    for i in range(out.shape[0]):\n"
    "        out[i] = tack.random.bits_u32(seed, stream + i * (1 - along), i * along)\n"
)
fill_f32 = kernel_from(
    "@tack.kernel\ndef fill_f32(out, seed, stream):\n    for i in range(out.shape[0]):\n"
    "        out[i] = tack.random.uniform_f32(seed, stream, i)\n"
)
fill_normal = kernel_from(
    "@tack.kernel\ndef fill_normal(out, seed):\n    for i in range(out.shape[0]):\n"
    "        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = tack.random.normal4_f32(seed, i, 0)\n"
)
fill_die = kernel_from(
    "@tack.kernel\ndef fill_die(out, seed):\n    for i in range(out.shape[0]):\n"
    "        out[i] = tack.random.integers(seed, i, 0, 1, 7)\n"
)
ONES = np.array([bin(n).count("1") for n in range(1 << 16)], np.uint8)


def ones(words):
    """How many bits of an array are set."""
    return int(ONES[words.view(np.uint16)].sum(dtype=np.int64))


def deviation(counts, probabilities=None):
    """Pearson's chi-square of the counts, in standard deviations from its mean (it is nearly normal for many cells)."""
    expected = counts.sum() * (np.full(counts.size, 1 / counts.size) if probabilities is None else probabilities)
    chi = float(((counts - expected) ** 2 / expected).sum())
    freedom = counts.size - 1
    return (chi - freedom) / math.sqrt(2 * freedom)


@pytest.fixture(scope="module", params=["along one stream", "across streams"])
def words(request):
    """10**7 u32: the counters of one stream, or the first draws of as many streams."""
    out = tack.empty(DRAWS, tack.u32)
    fill_u32(out, 20240607, 5, request.param == "along one stream")
    return out.numpy()


@pytest.mark.slow
def test_monobit(words):
    """NIST SP 800-22, 2.1, over all bits; and each bit of the words by itself."""
    bits = 32 * words.size
    assert abs(2 * ones(words) - bits) < 5 * math.sqrt(bits)
    for bit in range(32):
        count = int(np.count_nonzero(words & np.uint32(1 << bit)))
        assert abs(2 * count - words.size) < 5 * math.sqrt(words.size), bit


@pytest.mark.slow
def test_runs(words):
    """NIST SP 800-22, 2.3: the number of runs of equal bits, from the lowest bit of the first word on."""
    bits = 32 * words.size
    inner = ones((words ^ words >> np.uint32(1)) & np.uint32(0x7FFFFFFF))
    between = int(np.count_nonzero((words[:-1] >> np.uint32(31)) != (words[1:] & np.uint32(1))))
    share = ones(words) / bits
    mean = 2 * bits * share * (1 - share)
    assert abs(inner + between + 1 - mean) < 5 * 2 * math.sqrt(bits) * share * (1 - share)


@pytest.mark.slow
def test_chi_square_of_bytes_and_halves(words):
    for position in range(4):
        assert abs(deviation(np.bincount(words.view(np.uint8)[position::4], minlength=256))) < 5
    for position in range(2):
        assert abs(deviation(np.bincount(words.view(np.uint16)[position::2], minlength=1 << 16))) < 5


@pytest.mark.slow
def test_chi_square_of_successive_pairs(words):
    """The top bits of each two draws in a row, as one of 2**16 cells (the serial test)."""
    top = words >> np.uint32(24)
    assert abs(deviation(np.bincount(top[0::2] * np.uint32(256) + top[1::2], minlength=1 << 16))) < 5


def test_the_bounds_notice_weak_generators():
    """A counter times a constant is too regular; one bit in 50 that is always set is too many ones."""
    regular = np.arange(1 << 20, dtype=np.uint32) * np.uint32(0x9E3779B9)
    assert abs(deviation(np.bincount(regular >> np.uint32(24), minlength=256))) > 5
    biased = mirror.bits_u32(1, 2, np.arange(1 << 20))
    assert abs(2 * ones(biased) - biased.size * 32) < 5 * math.sqrt(biased.size * 32)
    biased[::50] |= np.uint32(1)
    assert abs(2 * np.count_nonzero(biased & np.uint32(1)) - biased.size) > 5 * math.sqrt(biased.size)


@pytest.mark.slow
def test_uniform_numbers_are_uniform():
    out = tack.empty(DRAWS)
    fill_f32(out, 1, 2)
    x = out.numpy()
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean(dtype=np.float64) - 0.5) < 5 * math.sqrt(1 / 12 / DRAWS)
    assert abs(deviation(np.bincount((x * 1000).astype(np.int64), minlength=1000))) < 5


@pytest.mark.slow
@pytest.mark.parametrize("other", [(1, 3), (2, 2), (1, 1 << 40)], ids=["next stream", "next seed", "far stream"])
def test_two_streams_are_uncorrelated(other):
    """Pearson's correlation of 10**7 draws, at equal counters and one apart."""
    a, b = tack.empty(DRAWS), tack.empty(DRAWS)
    fill_f32(a, 1, 2)
    fill_f32(b, *other)
    x, y = (array.numpy().astype(np.float64) - 0.5 for array in (a, b))
    for first, second in ((x, y), (x[1:], y[:-1]), (x[:-1], y[1:]), (x[1:], x[:-1])):
        assert abs(12 * np.dot(first, second) / first.size) < 5 / math.sqrt(first.size)
    cells = (x * 64 + 32).astype(np.int64) * 64 + (y * 64 + 32).astype(np.int64)
    assert abs(deviation(np.bincount(cells, minlength=4096))) < 5


@pytest.mark.slow
def test_normal_numbers_are_normal():
    """Moments, a chi-square over cells a tenth wide, and no correlation of the four of a draw."""
    out = tack.empty((DRAWS // 4, 4))
    fill_normal(out, 77)
    table = out.numpy().astype(np.float64)
    x = table.ravel()
    n = x.size
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**power).mean() - mean) < 5 * math.sqrt(variance / n), power
    below = np.array([0.5 + 0.5 * math.erf(k / 10 / math.sqrt(2)) for k in range(-40, 41)])
    shares = np.diff(np.concatenate(([0.0], below, [1.0])))
    assert abs(deviation(np.bincount(np.searchsorted(np.arange(-40, 41) / 10, x), minlength=82), shares)) < 5
    correlation = table.T @ table / len(table) - np.eye(4)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5 / math.sqrt(len(table))


@pytest.mark.slow
def test_integers_of_a_small_range_are_uniform():
    out = tack.empty(DRAWS, tack.i64)
    fill_die(out, 3)
    counts = np.bincount(out.numpy())
    assert counts[0] == 0 and counts.size == 7
    share = DRAWS / 6
    assert np.abs(counts[1:] - share).max() < 5 * math.sqrt(share * 5 / 6)
