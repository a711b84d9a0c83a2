"""The memory of a context: red zones, shadow, poison, quarantine, and pages that the host cannot touch."""

import ctypes
import random
import subprocess
import sys

import pytest

from tack_sim.memory import ALIGNMENT, POISON, Region, fill_bytes, read_bytes, write_bytes


@pytest.fixture
def region():
    made = Region(1 << 26)
    yield made
    made.close()


def shadow(region, address):
    return ctypes.c_uint8.from_address(region.shadow + (address - region.base) // 8).value


@pytest.mark.parametrize("nbytes", [1, 7, 8, 9, 255, 256, 257, 4096, 100_003])
def test_shadow_says_which_bytes_may_be_used(region, nbytes):
    made = region.allocate(nbytes)
    assert made.address % ALIGNMENT == 0
    for k in range(nbytes // 8):
        assert shadow(region, made.address + 8 * k) == 0
    if nbytes % 8:
        assert shadow(region, made.end) == nbytes % 8
    for k in range(-32, 0):
        assert shadow(region, made.address + 8 * k) == 0xFA
    for k in range(-(-nbytes // 8), -(-nbytes // 8) + 32):
        assert shadow(region, made.address + 8 * k) == 0xFA
    region.free(made)
    assert shadow(region, made.address) == shadow(region, made.end - 1) == 0xFD


def test_fresh_memory_is_poisoned_also_when_its_addresses_come_again(region):
    for _ in range(100):  # more than the region has addresses for
        made = region.allocate(3 << 20)
        with region.opened():
            assert read_bytes(made.address, made.nbytes) == bytes([POISON]) * made.nbytes
            fill_bytes(made.address, b"\x11\x22\x33", 1 << 20)
        region.free(made)
    assert region.used == 0


def test_freed_addresses_are_not_used_at_once(region):
    first = region.allocate(1000)
    region.free(first)
    assert all(region.allocate(1000).address != first.address for _ in range(100))
    assert region.find(first.address) is first
    assert first.freed


def test_allocations_never_overlap_whatever_the_order(region):
    draw = random.Random(5)
    live = []
    for _ in range(2000):
        if live and draw.random() < 0.48:
            region.free(live.pop(draw.randrange(len(live))))
        else:
            live.append(region.allocate(draw.choice((1, 8, 300, 5000, 70_000)), draw.choice(("device", "pinned", "module"))))
    assert region.live() == sorted(live, key=lambda made: made.address)
    for before, after in zip(region.live(), region.live()[1:], strict=False):
        assert before.end + ALIGNMENT <= after.address
    assert region.used == sum(-(-made.nbytes // ALIGNMENT) * ALIGNMENT for made in live)


def test_no_addresses_left_is_a_memory_error(region):
    with pytest.raises(MemoryError):
        region.allocate(1 << 27)
    region.allocate(1 << 20)


def test_addresses_are_described_by_what_is_near(region):
    made = region.allocate(1000)
    assert region.describe(made.address + 3).startswith("byte 3 of 1000 bytes of device memory")
    assert region.describe(made.end).startswith("0 bytes behind the end of 1000 bytes")
    assert region.describe(made.address - 4).startswith("4 bytes before 1000 bytes")
    assert region.describe(region.base + region.span - 8) == ""


def test_a_snapshot_holds_every_live_byte(region):
    one, other = region.allocate(100), region.allocate(50, "managed")
    write_bytes(other.address, bytes(range(50)))  # the host may: no block is needed
    held = region.snapshot()
    assert held == {one: bytes([POISON]) * 100, other: bytes(range(50))}
    with region.opened():
        fill_bytes(one.address, b"\0", 100)
    assert region.changes(held) == {one: b"\0" * 100}
    region.restore(held)
    assert region.snapshot() == held
    assert region.changes(held) == {}


@pytest.mark.parametrize("kind", ["device", "module", "pinned", "managed"])
def test_a_host_that_follows_a_device_pointer_ends(kind):
    program = f"""
from tack_sim.memory import Region, read_bytes
region = Region(1 << 24)
made = region.allocate(100, {kind!r})
with region.opened():
    assert len(read_bytes(made.address, 100)) == 100
read_bytes(made.address, 1)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == (0 if kind in ("pinned", "managed") else -11)
