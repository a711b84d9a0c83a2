"""Under MPI: ranks that a real launcher started share one bundle, touch no other file of the cache, and wait for no other."""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
from mpi_tools import launch, run_ranks

from tack.runtime import cache_bundle

HEAT = Path(__file__).resolve().parents[3] / "examples/mpi_heat.py"
KINDS = ("ir", "variant")


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and directory of the folder's cache, with its time and size."""
    cache = folder / "cache"
    return {str(path.relative_to(cache)): (path.stat().st_mtime_ns, path.stat().st_size) for path in cache.rglob("*")}


def entries(folder: Path, kind: str) -> int:
    """How many entries of a kind the folder's cache has."""
    return len(list((folder / "cache").rglob(f"*.{kind}")))


def done_with(found: dict, *events: str) -> list[str]:
    """The files of the cache with which a rank did one of these."""
    return [name for event, name in found["touched"] if event in events]


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """A folder whose cache has three kernels, and a bundle of them: a process alone made them."""
    folder = tmp_path_factory.mktemp("filled")
    (alone,) = run_ranks(folder, 0, "run('scale', 'shift', 'square'); report(bundled=tack.cache.bundle())")
    assert alone["mode"] == "write" and alone["compiled"] and alone["bundled"] == 6
    assert alone["counts"] == {kind: {"misses": 3, "stored": 3} for kind in KINDS}
    return folder


@pytest.fixture
def bundled(filled, tmp_path) -> Path:
    """A copy of `filled`; the bundle is named `bundle_of(...)`."""
    return shutil.copytree(filled, tmp_path / "project")


def bundle_of(folder: Path) -> Path:
    """The bundle in the folder's cache."""
    (bundle,) = (folder / "cache").glob("*.bundle")
    return bundle


# ------------------------------------------------------------------------------------------------------ what ranks do by default


@pytest.mark.slow
def test_the_variables_of_a_real_launcher_choose_the_mode(tmp_path):
    """A rank among two or more works in bundle mode; a process alone, also one that a launcher started, in write mode."""
    program = "world = cache_mode.world(); report(world=world and [world.rank, world.size], real=[comm.rank, comm.size])"
    for ranks in (0, 1):
        (alone,) = run_ranks(tmp_path, ranks, program)
        assert alone["mode"] == "write" and alone["world"] is None and alone["real"] == [0, 1]
    for rank, found in enumerate(run_ranks(tmp_path, 3, program)):
        assert found["mode"] == "bundle" and found["world"] == found["real"] == [rank, 3]
    assert [found["mode"] for found in run_ranks(tmp_path, 2, program, TACK_CACHE="read")] == ["read", "read"]


@pytest.mark.spec("cache-216")
def test_ranks_share_a_bundle_and_touch_no_file_of_a_kernel(bundled):
    """By default each rank reads the bundle, is served everything from it, and neither looks up nor writes another file."""
    before, bundle = files(bundled), bundle_of(bundled).name
    for found in run_ranks(bundled, 2, "run('scale', 'square', 'shift'); report()"):
        assert found["mode"] == "bundle" and not found["compiled"]
        assert found["counts"] == {kind: {"hits": 3} for kind in KINDS}
        assert done_with(found, "read") == [bundle]
        assert {name for _, name in found["touched"]} <= {".", bundle}
    assert files(bundled) == before


@pytest.mark.spec("cache-216")
def test_ranks_without_a_bundle_compile_and_leave_nothing(bundled):
    """The kernels' own files, which are there, are not looked up."""
    bundle_of(bundled).unlink()
    before = files(bundled)
    for found in run_ranks(bundled, 2, "run('scale', 'square'); report()"):
        assert found["compiled"] and found["counts"] == {kind: {"misses": 2} for kind in KINDS}
        assert all(name == "." or name.endswith(".bundle") for _, name in found["touched"])
    assert files(bundled) == before


def test_ranks_go_on_without_a_damaged_bundle(bundled):
    """The bundle that nobody named is not worth an error."""
    bundle = bundle_of(bundled)
    bundle.write_bytes(spoiled(bundle.read_bytes(), "one bit"))
    for found in run_ranks(bundled, 2, "run('scale'); report(bad=cache_store.current().bad_bundles)"):
        assert found["compiled"] and found["bad"] == 1 and found["counts"] == {kind: {"misses": 1} for kind in KINDS}


# ------------------------------------------------------------------------------------------------------ one rank reads for all


@pytest.mark.spec("cache-216")
@pytest.mark.parametrize("mode", [None, "write"])
def test_rank_0_reads_a_bundle_for_all(mode, bundled):
    """`load_bundle(path, comm=...)`: the others get it by broadcast and open nothing, in bundle mode and in write mode."""
    bundle_of(bundled).rename(bundled / "cache/moved")
    program = "loaded = tack.cache.load_bundle('{}', comm=comm); run('shift', 'square', 'scale'); report(loaded=loaded)"
    ranks = run_ranks(bundled, 3, program.format(bundled / "cache/moved"), TACK_CACHE=mode)
    for rank, found in enumerate(ranks):
        assert found["loaded"] == 6 and not found["compiled"]
        assert found["counts"] == {kind: {"hits": 3} for kind in KINDS}
        assert done_with(found, "read") == ["moved"] * (rank == 0)
        assert not [name for _, name in found["touched"] if name.endswith(KINDS)]


def test_rank_0_reads_the_bundle_of_the_cache_for_all(bundled):
    """`load_bundle(comm=...)`: nor does a rank open it at its first compilation."""
    program = "loaded = tack.cache.load_bundle(comm=comm); run('scale', 'shift', 'square'); report(loaded=loaded)"
    for rank, found in enumerate(run_ranks(bundled, 2, program)):
        assert found["loaded"] == 6 and not found["compiled"]
        assert done_with(found, "read") == [bundle_of(bundled).name] * (rank == 0)


def spoiled(data: bytes, how: str) -> bytes:
    """A bundle that was damaged, or is none."""
    middle = len(data) // 2
    changed = {
        "empty": b"",
        "foreign": b"PK" + data[2:],
        "longer": data + b"0",
        "one bit": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "shorter": data[:middle],
    }
    return changed[how]


BAD = {
    "empty": "ValueError", "folder": "IsADirectoryError", "foreign": "ValueError", "longer": "ValueError",
    "missing": "FileNotFoundError", "one bit": "ValueError", "other": "RuntimeWarning", "shorter": "ValueError",
}  # fmt: skip


def test_every_rank_gets_the_error_of_a_bad_bundle(bundled):
    """Missing, damaged, unreadable or another Tack's: each rank raises the same error, which names the file, and goes on."""
    data = bundle_of(bundled).read_bytes()
    bundle_of(bundled).unlink()
    (bundled / "bad/folder").mkdir(parents=True)
    cache_bundle.write_bundle(str(bundled / "bad/other"), "0" * 64, [])  # its warning is an error here
    for how in BAD:
        if how not in ("folder", "missing", "other"):
            (bundled / "bad" / how).write_bytes(spoiled(data, how))
    program = """
    errors = {}
    for name in NAMES:
        try:
            errors[name] = tack.cache.load_bundle(os.path.join("bad", name), comm=comm)
        except Exception as error:
            errors[name] = [type(error).__name__, str(error), getattr(error, "__notes__", [])]
    comm.Barrier()
    run("scale")
    report(errors=errors)
    """.replace("NAMES", repr(list(BAD)))
    ranks = run_ranks(bundled, 3, program)
    assert {name: kind for name, (kind, _, _) in ranks[0]["errors"].items()} == BAD
    assert all(f"bad/{name}" in text.replace("\\", "/") for name, (_, text, _) in ranks[0]["errors"].items())
    for found in ranks:
        assert found["compiled"] and found["errors"] == ranks[0]["errors"]


def test_a_bundle_is_whole_while_another_rank_replaces_it(bundled):
    """One rank writes the bundle a hundred times, the other reads it all the time: what it reads is whole."""
    program = """
    if comm.rank == 0:
        found = {tack.cache.bundle() for _ in range(100)}
        comm.send("done", 1)
    else:
        found = set()
        while not comm.iprobe(source=0):
            found.add(tack.cache.load_bundle())
        comm.recv(source=0)
    run("scale")
    report(found=sorted(found))
    """
    for found in run_ranks(bundled, 2, program):
        assert found["found"] == [6]


# ------------------------------------------------------------------------------------------------------ writing, and waiting


@pytest.mark.spec("cache-217")
def test_only_rank_0_stores(tmp_path):
    """In write mode, and what it has stored the others read."""
    program = """
    if comm.rank == 0:  # rank 1 is ready first, and has made no directory
        comm.recv(source=1)
        made = os.path.exists(folder)
        run("scale")
        comm.send("stored", 1)
    else:
        run("shift", "square")
        comm.send("ready", 0)
        comm.recv(source=0)
        made = False
        run("scale")
    report(made=made)
    """
    first, second = run_ranks(tmp_path, 2, program, TACK_CACHE="write")
    assert not first["made"]
    assert first["counts"] == {kind: {"misses": 1, "stored": 1} for kind in KINDS}
    assert second["counts"] == {kind: {"misses": 2, "hits": 1} for kind in KINDS}
    assert {event for event, _ in second["touched"]} <= {"read", "ask", "os.listdir", "os.scandir"}
    assert [entries(tmp_path, kind) for kind in KINDS] == [1, 1]


@pytest.mark.slow
@pytest.mark.spec("cache-218")
@pytest.mark.parametrize("mode", ["bundle", "write", "read", "off"])
def test_no_rank_waits_for_another_to_compile(mode, tmp_path):
    """One compiles while the other waits for its word, then the other way round, and each other kernels: both come to the end."""
    program = """
    if comm.rank == 0:
        run("scale")
        comm.send("one kernel", 1)
        comm.recv(source=1)
        run("shift")
    else:
        comm.recv(source=0)
        run("square", "scale")
        comm.send("two kernels", 0)
    report()
    """
    for found in run_ranks(tmp_path, 2, program, TACK_CACHE=mode):
        assert found["mode"] == mode and found["compiled"]


# ------------------------------------------------------------------------------------------------------ the example


@pytest.fixture(scope="module")
def checksum() -> str:
    """That of the plate of examples/mpi_heat.py, by NumPy. Products with 0.125 and 4 are exact, so fusing changes nothing."""
    y, x = np.ogrid[0:402, 0:300]
    plate = np.where((y - 150) ** 2 + (x - 100) ** 2 < 60**2, 100.0, 20.0)
    for _ in range(400):
        middle = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = middle + 0.125 * (around - 4 * middle)
    return f"{zlib.crc32(plate[1:-1].tobytes()):08x}"


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [0, 1, 2, 3])
def test_the_heat_example_gives_the_bits_of_one_process(ranks, checksum, tmp_path):
    """On any number of ranks, and without a launcher (0): the bits of NumPy."""
    assert_heat(launch(tmp_path, ranks, str(HEAT)), ranks, checksum)


@pytest.mark.slow
def test_the_heat_example_gives_the_same_bits_on_a_simulated_gpu(checksum, tmp_path):
    """Each of two ranks has its block on a GPU, whose memory MPI cannot read."""
    assert_heat(launch(tmp_path, 2, str(HEAT), TACK_SIMULATE="cuda", TACK_DEVICE="cuda"), 2, checksum)


def assert_heat(printed: str, ranks: int, checksum: str) -> None:
    """The example has found this checksum, on all ranks together and alone."""
    together, _alone = printed.splitlines()  # rank 0 alone prints
    assert f"on {ranks or 1} rank(s)" in together
    assert re.findall(r"checksum (\w+)", printed) == [checksum, checksum]
