"""Bundles: all entries of one version in a file, found by MPI ranks or loaded by one of them for all."""

from __future__ import annotations

import os
import pickle
import warnings
from hashlib import sha256
from pathlib import Path

import pytest
from cache_tools import KINDS, OTHER, OWN, files, fresh_cache, key, payload, run_light, snapshot, the_store, without_memory

import tack
from tack.runtime import cache_bundle, cache_files, cache_store
from tack.runtime.cache_store import Store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache with six entries."""
    with fresh_cache(tmp_path / "cache", monkeypatch) as path:
        for kind in KINDS:
            for n in range(3):
                the_store().put(kind, key(n), payload(n, 100 * n))
        yield path


def default(folder: Path) -> Path:
    return folder / f"{OWN[:16]}.bundle"


def as_rank(monkeypatch: pytest.MonkeyPatch, rank: int = 1, size: int = 2) -> Store:
    """The store of a process that a launcher started and that has loaded nothing."""
    cache_bundle.loaded.clear()
    monkeypatch.setattr(cache_store, "_current", None)
    monkeypatch.setenv("PMI_RANK", str(rank))
    monkeypatch.setenv("PMI_SIZE", str(size))
    return the_store()


# The file


@pytest.mark.parametrize("path", [None, "kernels.bundle"])
def test_a_bundle_holds_all_entries_of_the_version(folder, tmp_path, monkeypatch, path):
    Store(str(folder), OTHER).put("ir", key(9), payload(9))
    (Path(the_store().folder) / f"{key(8).hex()}.ir").write_bytes(b"damaged")
    before = snapshot(folder)
    target = default(folder) if path is None else tmp_path / path
    assert tack.cache.bundle(None if path is None else target) == 6
    assert {name: data for name, data in snapshot(folder).items() if not name.endswith("bundle")} == before
    assert not target.stat().st_mode & 0o022
    tack.cache.clear() if path else [file.unlink() for file in Path(the_store().folder).iterdir()]
    assert the_store().get("ir", key(0)) is None
    assert tack.cache.load_bundle(None if path is None else target) == 6
    for kind in KINDS:
        for n in range(3):
            assert the_store().get(kind, key(n)) == payload(n, 100 * n)
    assert the_store().get("ir", key(9)) is None, "of another version"


def test_equal_entries_make_equal_bundles(folder, tmp_path):
    tack.cache.bundle(tmp_path / "one")
    tack.cache.bundle(str(tmp_path / "two"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_bundle_is_replaced_whole(folder, tmp_path, monkeypatch):
    """A write that fails leaves the old bundle; none leaves a half one."""
    tack.cache.bundle(tmp_path / "b")
    before = snapshot(tmp_path)

    def fails(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises(OSError, match="No space left"):
            tack.cache.bundle(tmp_path / "b")
    assert snapshot(tmp_path) == before


def test_what_cannot_be_bundled_says_so(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"There is no directory {tmp_path}/none for the bundle"):
        tack.cache.bundle(tmp_path / "none" / "b")
    tack.cache.clear()
    with pytest.raises(RuntimeError, match=f"There is nothing to bundle: {folder} holds no entries .*\n.*TACK_CACHE=write"):
        tack.cache.bundle(tmp_path / "b")
    assert not (tmp_path / "b").exists()


def damaged(good: bytes) -> dict[str, bytes]:
    cases = {f"byte {i} flipped": good[:i] + bytes([good[i] ^ (1 << i % 8)]) + good[i + 1 :] for i in range(len(good))}
    cases |= {f"cut at {i}": good[:i] for i in range(0, len(good), 3)}
    return cases | {"a byte too many": good + b"\0", "twice": good * 2, "an entry": b"tack cache entry 1\n" + good}


def test_a_damaged_bundle_is_refused(folder, tmp_path):
    """Every flipped byte and every truncation: an error where it was asked for by name, and nothing of it is loaded."""
    for name in [*Path(the_store().folder).glob("*.variant"), Path(the_store().folder) / f"{key(2).hex()}.ir"]:
        name.unlink()
    path = tmp_path / "b"
    tack.cache.bundle(path)
    for name, data in damaged(path.read_bytes()).items():
        path.write_bytes(data)
        with pytest.raises(ValueError) as error:
            tack.cache.load_bundle(path)
        text = str(error.value)
        assert text.startswith((f"{path} is no bundle of Tack's disk cache", f"The bundle {path} is damaged")), name
    assert not cache_bundle.loaded


def test_a_bundle_of_another_version_is_ignored(folder, tmp_path, monkeypatch):
    tack.cache.bundle(tmp_path / "b")
    monkeypatch.setattr(cache_store, "_version", OTHER)
    with pytest.warns(RuntimeWarning) as caught:
        assert tack.cache.load_bundle(tmp_path / "b") == 0
    [warning] = caught
    assert str(warning.message) == (
        f"The bundle {tmp_path}/b is ignored: it was made by another version of Tack ({OWN[:16]}, and this is {OTHER[:16]}). "
        "Make it anew with `tack cache bundle`."
    )
    assert warning.filename == __file__
    assert not cache_bundle.loaded


def test_a_bundle_that_is_not_there(folder, tmp_path):
    for path, text in ((tmp_path / "b", f"{tmp_path}/b"), (None, str(default(folder)))):
        with pytest.raises(FileNotFoundError, match=f"There is no bundle at {text}\n  Make one with `tack cache bundle`."):
            tack.cache.load_bundle(path)
    with pytest.raises(IsADirectoryError):
        tack.cache.load_bundle(tmp_path)


@pytest.mark.parametrize("path", [None, "b"])
def test_a_bundle_that_memory_does_not_hold(folder, tmp_path, monkeypatch, path):
    """Nobody may be asked for its bytes: `OSError` where it was named, ignored and counted where it is found."""
    target = None if path is None else tmp_path / path
    tack.cache.bundle(target)
    for module in (cache_files, cache_bundle):
        monkeypatch.setattr(module, "open", without_memory, raising=False)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        tack.cache.load_bundle(target)
    if path is None:
        assert [bundle.entries for bundle in tack.cache.info().bundles] == [None]
        assert as_rank(monkeypatch).bad_bundles == 1


def test_a_directory_in_the_place_of_a_bundle(folder, monkeypatch):
    default(folder).mkdir(mode=0o700)
    text = f"The bundle {default(folder)} is a directory"
    with pytest.raises(IsADirectoryError, match=text):
        tack.cache.load_bundle()
    with pytest.raises(IsADirectoryError, match=text):
        tack.cache.bundle()
    assert f"Bundle {OWN[:16]}.bundle" in str(tack.cache.info())
    assert tack.cache.clear().entries == 6
    assert as_rank(monkeypatch).bad_bundles == 1


@pytest.mark.parametrize("useless", [lambda data: None if data == b"old" else data, lambda data: data[3]])
def test_a_useless_entry_of_a_bundle_makes_room_for_the_file(folder, tmp_path, monkeypatch, useless):
    """Outdated or damaged, it hides a younger file no more than once; where no files are read, nothing is looked for."""
    store = the_store()
    store.put("ir", key(0), b"old")
    tack.cache.bundle(tmp_path / "b")
    store.put("ir", key(0), b"younger")
    tack.cache.load_bundle(tmp_path / "b")
    assert store.use("ir", key(0), useless) == useless(b"younger")
    counts = store.stats["ir"]
    assert (counts.hits, counts.misses + counts.bad) == (1, 1)
    assert store.get("ir", key(0)) == b"younger"
    assert store.use("ir", key(0), lambda _: None) is None
    tack.cache.load_bundle(tmp_path / "b")
    monkeypatch.setenv("TACK_CACHE", "bundle")
    store = the_store()
    for number in (1, 2):
        assert store.use("ir", key(0), useless) is None
        assert store.stats["ir"].misses + store.stats["ir"].bad == number


def test_two_bundles_are_one(folder, tmp_path):
    tack.cache.bundle(tmp_path / "one")
    the_store().put("ir", key(7), payload(7))
    tack.cache.bundle(tmp_path / "two")
    assert (tack.cache.load_bundle(tmp_path / "two"), tack.cache.load_bundle(tmp_path / "one")) == (7, 6)
    tack.cache.clear()
    assert the_store().get("ir", key(7)) == payload(7)


def test_with_the_cache_off_nothing_is_served(folder, tmp_path, monkeypatch):
    tack.cache.bundle(tmp_path / "b")
    monkeypatch.setenv("TACK_CACHE", "off")
    assert tack.cache.load_bundle(tmp_path / "b") == 6
    assert cache_store.store() is None


# Bundle mode


def touched(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    """The files of the cache that this process opens, lists, makes, renames, deletes or asks about from here on."""
    seen: list[str] = []
    for name in ("open", "lstat", "stat", "scandir", "listdir", "mkdir", "replace", "unlink", "utime", "rmdir"):

        def noting(path, *args, _real=getattr(os, name), **kwargs):
            if isinstance(path, str) and path.startswith(str(folder)):
                seen.append(os.path.relpath(path, folder))
            return _real(path, *args, **kwargs)

        monkeypatch.setattr(os, name, noting)
    return seen


@pytest.mark.spec("cache-216")
def test_ranks_read_one_file(folder, monkeypatch):
    """By default a rank looks up no per-kernel file and writes none: it reads the bundle of its version, once."""
    tack.cache.bundle()
    Store(str(folder), OWN).put("ir", key(5), payload(5))  # after the bundle
    before = snapshot(folder)
    with monkeypatch.context() as patch:
        seen = touched(patch, folder)
        store = as_rank(monkeypatch)
        for _ in range(3):
            store = the_store()
            for n in range(3):
                assert store.get("ir", key(n)) == payload(n, 100 * n)
            assert store.get("ir", key(5)) is None
            store.put("ir", key(6), payload(6))
        store.write_counts()
    assert seen == [".", default(folder).name], "the directory is trusted and the bundle is opened, once"
    assert snapshot(folder) == before
    assert (store.stats["ir"].hits, store.stats["ir"].misses, store.stats["ir"].stored) == (9, 3, 0)


@pytest.mark.parametrize("state", ["missing", "damaged", "of another version", "writable by others", "in a writable folder"])
def test_a_bundle_found_by_default_does_no_harm(folder, monkeypatch, state):
    """It is ignored, and counted; a rank compiles what it needs."""
    tack.cache.bundle()
    path = default(folder)
    if state == "missing":
        path.unlink()
    elif state == "damaged":
        path.write_bytes(path.read_bytes()[:-1])
    elif state == "of another version":  # whose fingerprint begins with the same digits
        cache_bundle.write_bundle(str(path), OWN[:16] + OTHER[16:], [("ir", key(0), payload(0))])
    elif state == "writable by others":
        path.chmod(0o666)
    else:
        folder.chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = as_rank(monkeypatch)
    assert store.get("ir", key(0)) is None
    assert (store.bad_bundles, store.refused) == {"missing": (0, 0), "in a writable folder": (0, 1)}.get(state, (1, 0))
    if state in ("writable by others", "in a writable folder"):
        with pytest.raises(PermissionError, match="others may write"):
            tack.cache.load_bundle()


def test_info_lists_bundles(folder):
    tack.cache.bundle()
    (folder / f"{OTHER[:16]}.bundle").write_bytes(b"damaged")
    (folder / "notes.bundle").write_bytes(b"a stranger's")
    own, other = tack.cache.info().bundles
    assert (own.name, own.entries, own.size) == (f"{OWN[:16]}.bundle", 6, default(folder).stat().st_size)
    assert (other.name, other.entries, other.size) == (f"{OTHER[:16]}.bundle", None, 7)
    assert f"Bundle {other.name}: 7 bytes, damaged" in str(tack.cache.info())


# One rank reads for all


class Comm:
    """An mpi4py communicator whose ranks run one after another, rank 0 first; what is broadcast is pickled, as there."""

    def __init__(self) -> None:
        self.rank = 0
        self.sent: list[bytes] = []
        self.received = 0

    def Get_rank(self) -> int:
        return self.rank

    def bcast(self, value: object, root: int) -> object:
        assert root == 0
        if self.rank == 0:
            self.sent.append(pickle.dumps(value))
        else:
            assert value is None
            self.received += 1
        return pickle.loads(self.sent[-1])

    def on_every_rank(self, task):
        """What the task gives, or raises, on each of three ranks."""
        results = []
        for self.rank in range(3):
            cache_bundle.loaded.clear()
            try:
                results.append(task())
            except Exception as error:
                results.append((type(error), str(error)))
        return results


@pytest.mark.spec("cache-216", "cache-218")
def test_rank_0_reads_and_broadcasts(folder, tmp_path, monkeypatch):
    """The only collective call of the cache is in load_bundle; a lookup after it asks neither the disk nor another rank."""
    tack.cache.bundle(tmp_path / "b")
    monkeypatch.setenv("TACK_CACHE", "bundle")
    comm, opened = Comm(), []
    real = cache_bundle.read_bundle
    monkeypatch.setattr(cache_bundle, "read_bundle", lambda *a, **k: opened.append(comm.rank) or real(*a, **k))

    def task():
        monkeypatch.setattr(cache_store, "_current", None)
        count = tack.cache.load_bundle(tmp_path / "b", comm=comm)
        calls = len(comm.sent) + comm.received
        seen = [the_store().get(kind, key(n)) == payload(n, 100 * n) for kind in KINDS for n in range(3)]
        assert the_store().get("ir", key(9)) is None
        assert len(comm.sent) + comm.received == calls
        return count, all(seen), the_store().bad_bundles

    assert comm.on_every_rank(task) == [(6, True, 0)] * 3
    assert opened == [0]
    assert (len(comm.sent), comm.received) == (1, 2)


@pytest.mark.parametrize("what", ["missing", "damaged", "directory", "default missing", "default refused", "no version"])
def test_an_error_on_rank_0_reaches_every_rank(folder, tmp_path, monkeypatch, what):
    """No rank waits for a broadcast that never comes: all raise the same error, after one broadcast."""
    path: Path | None = tmp_path / "b"
    if what == "damaged":
        (tmp_path / "b").write_bytes(b"tack cache bundle 1\n")
    elif what == "directory":
        path = tmp_path
    elif what.startswith("default"):
        path = None
        if what == "default refused":
            folder.chmod(0o777)
    elif what == "no version":
        tack.cache.bundle(tmp_path / "b")
        monkeypatch.setattr(cache_store, "_version", None)
        monkeypatch.setattr(cache_store, "_make_version", lambda: {}["no such thing"])
    comm = Comm()
    first, *others = comm.on_every_rank(lambda: tack.cache.load_bundle(path, comm=comm))
    assert isinstance(first, tuple) and issubclass(first[0], Exception)
    assert others == [first, first]
    assert (len(comm.sent), comm.received) == (1, 2)


def test_a_bundle_of_another_version_is_ignored_on_every_rank(folder, tmp_path, monkeypatch):
    """Rank 0 warns, once, and sends nothing."""
    tack.cache.bundle(tmp_path / "b")
    monkeypatch.setattr(cache_store, "_version", OTHER)
    comm = Comm()
    with pytest.warns(RuntimeWarning, match="is ignored") as caught:
        assert comm.on_every_rank(lambda: tack.cache.load_bundle(tmp_path / "b", comm=comm)) == [0, 0, 0]
    assert len(caught) == 1
    assert len(comm.sent[0]) < 200


def test_a_rank_with_another_tack_keeps_it_out(folder, tmp_path, monkeypatch):
    """A node where another version is installed ignores what rank 0 sends, and says so itself."""
    tack.cache.bundle(tmp_path / "b")
    comm = Comm()

    def task():
        monkeypatch.setattr(cache_store, "_version", OTHER if comm.rank == 2 else OWN)
        return tack.cache.load_bundle(tmp_path / "b", comm=comm)

    with pytest.warns(RuntimeWarning, match="is ignored") as caught:
        assert comm.on_every_rank(task) == [6, 6, 0]
    assert len(caught) == 1


def test_a_bundle_serves_another_process(folder, tmp_path):
    """Made here, found by a process that a launcher started."""
    tack.cache.bundle()
    for file in Path(the_store().folder).iterdir():
        file.unlink()
    program = "print([cache_store.store().get('ir', key(n)) == payload(n, 100 * n) for n in range(3)])"
    assert run_light(program, TACK_CACHE_DIR=str(folder), PMI_RANK="0", PMI_SIZE="4") == "[True, True, True]\n"
    assert files(folder) == [".pruned", default(folder).name]


def test_the_format_is_what_the_module_says(folder, tmp_path):
    """Magic, fingerprint, entries, and at the end the hash of all that."""
    tack.cache.bundle(tmp_path / "b")
    data = (tmp_path / "b").read_bytes()
    assert data[-32:] == sha256(data[:-32]).digest()
    assert data.startswith(b"tack cache bundle 1\n" + len(OWN).to_bytes(2, "little") + OWN.encode())
