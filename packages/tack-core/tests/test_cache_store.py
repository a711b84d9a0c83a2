"""The disk cache's files: what is written and read, whom they belong to, how large they may grow, and who may write them."""

from __future__ import annotations

import ast
import errno
import os
import re
import stat
from hashlib import sha256
from pathlib import Path

import pytest
from cache_tools import KINDS, OTHER, OWN, age, files, fresh_cache, key, payload, run_light, snapshot, the_store, without_memory

import tack
from tack.runtime import cache_counts, cache_files, cache_mode, cache_prune, cache_store
from tack.runtime.cache_store import Store

RUNTIME = Path(cache_store.__file__).parent
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
HOUR = 3600.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    with fresh_cache(tmp_path / "cache", monkeypatch) as path:
        yield path


def path_of(store: Store, n: int, kind: str = "ir") -> Path:
    return Path(store.folder) / f"{key(n).hex()}.{kind}"


def fill(store: Store, count: int, size: int = 300) -> None:
    for n in range(count):
        store.put("ir", key(n), payload(n, size))


def counted(store: Store, kind: str = "ir") -> tuple[int, int, int, int, int]:
    c = store.stats[kind]
    return c.hits, c.misses, c.bad, c.stored, c.failed


# Writing and reading


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 300, 1_000_000])
def test_what_is_stored_comes_back(folder, kind, size):
    store = the_store()
    assert store.get(kind, key(1)) is None
    store.put(kind, key(1), payload(1, size))
    assert store.get(kind, key(1)) == payload(1, size)
    assert Store(str(folder), OWN).get(kind, key(1)) == payload(1, size), "another process reads it too"
    store.put(kind, key(1), b"anew")
    assert store.get(kind, key(1)) == b"anew"
    assert counted(store, kind) == (2, 1, 0, 2, 0)
    other = next(k for k in KINDS if k != kind)
    assert store.get(other, key(1)) is None
    assert counted(store, other) == (0, 1, 0, 0, 0)


@pytest.mark.spec("cache-200")
def test_the_fingerprint_names_the_directory(folder):
    store, other = the_store(), Store(str(folder), OTHER)
    assert Path(store.folder) == folder / OWN[:16]
    store.put("ir", key(1), payload(1))
    assert other.get("ir", key(1)) is None
    other.put("ir", key(1), b"of the other version")
    assert store.get("ir", key(1)) == payload(1)
    assert other.get("ir", key(1)) == b"of the other version"


@pytest.mark.spec("cache-209")
def test_an_entry_appears_whole(folder, monkeypatch):
    """Written beside its place and renamed: before that, nothing has its name."""
    renamed = []

    def rename(source, target):
        assert not os.path.lexists(target)
        assert os.path.dirname(source) == os.path.dirname(target)
        assert cache_files.TEMPORARY.fullmatch(os.path.basename(source))
        renamed.append((Path(source).read_bytes(), target))
        real(source, target)

    real = os.replace
    store = the_store()
    fill(store, 1)  # makes the directory and what it says about itself
    monkeypatch.setattr(os, "replace", rename)
    store.put("variant", key(7), payload(7))
    [(data, target)] = renamed
    assert Path(target) == path_of(store, 7, "variant")
    assert Path(target).read_bytes() == data


@pytest.mark.spec("cache-209")
def test_writers_of_one_entry_write_the_same_bytes(folder):
    run_light("Store(sys.argv[1], 64 * '1').put('ir', key(5), payload(5))", folder)
    here = Store(str(folder), "2" * 64)
    here.put("ir", key(5), payload(5))
    name = f"{key(5).hex()}.ir"
    assert (folder / ("1" * 16) / name).read_bytes() == (folder / ("2" * 16) / name).read_bytes()


@pytest.mark.spec("cache-211")
def test_an_entry_holds_magic_hash_and_its_own_key(folder):
    store = the_store()
    fill(store, 1)
    data = path_of(store, 0).read_bytes()
    magic, rest = data.split(b"\n", 1)
    assert magic == b"tack cache entry 1"
    assert rest[:32] == sha256(rest[32:]).digest()
    assert rest[32:40] == b"ir".ljust(8, b"\0")
    assert rest[40:72] == key(0)
    assert rest[72:] == payload(0)


def _damage(good: bytes, other: bytes) -> dict[str, bytes]:
    """Files that are not the entry `good`."""
    cases = {f"byte {i} flipped": good[:i] + bytes([good[i] ^ (1 << i % 8)]) + good[i + 1 :] for i in range(len(good))}
    cases |= {f"cut at {i}": good[:i] for i in range(len(good))}
    cases |= {
        "a byte too many": good + b"\0",
        "twice": good * 2,
        "another entry": other,
        "zeros": bytes(len(good)),
        "text": b"hello\n",
    }
    return cases


@pytest.mark.spec("cache-211")
def test_anything_else_is_ignored_and_counted(folder):
    """Every single flipped byte, every truncation, and entries that stand under another's name."""
    store = the_store()
    for n in (1, 2):
        store.put("ir", key(n), payload(n, 40))
    path, good = path_of(store, 1), path_of(store, 1).read_bytes()
    store.put("variant", key(1), payload(1, 40))
    cases = _damage(good, path_of(store, 2).read_bytes()) | {"another kind": path_of(store, 1, "variant").read_bytes()}
    for number, (name, data) in enumerate(cases.items(), 1):
        path.write_bytes(data)
        assert store.get("ir", key(1)) is None, name
        assert store.stats["ir"].bad == number, name
    assert store.get("ir", key(2)) == payload(2, 40), "what is whole is served"
    store.put("ir", key(1), payload(1, 40))
    assert store.get("ir", key(1)) == payload(1, 40), "a damaged entry is replaced"
    assert counted(store) == (2, 0, len(cases), 3, 0)


@pytest.mark.spec("cache-211")
@pytest.mark.parametrize("thing", ["directory", "pipe", "dangling link", "loop of links", "link to another entry"])
def test_what_is_no_file_is_ignored(folder, thing):
    """A named pipe would keep a reader waiting for ever."""
    store = the_store()
    fill(store, 2)
    path = path_of(store, 0)
    path.unlink()
    open_files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    if thing == "directory":
        path.mkdir()
    elif thing == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.symlink_to({"dangling link": "nothing", "loop of links": path.name}.get(thing, path_of(store, 1).name))
    assert store.get("ir", key(0)) is None
    assert not open_files or len(os.listdir("/proc/self/fd")) == open_files
    store.put("ir", key(0), payload(0))
    if thing == "directory":
        assert store.stats["ir"].failed == 1
    else:
        assert store.get("ir", key(0)) == payload(0)
    assert store.get("ir", key(1)) == payload(1)


@pytest.mark.spec("cache-211")
def test_a_file_larger_than_any_entry_is_bad(folder):
    """Its size is looked at before anything is read."""
    store = the_store()
    fill(store, 2)
    os.truncate(path_of(store, 0), 1 << 42)
    assert store.get("ir", key(0)) is None
    os.truncate(path_of(store, 1), (1 << 30) + 1)
    assert [entry[1] for entry in store.payloads()] == []
    (path_of(store, 1).parent / "counters").touch(0o600)
    os.truncate(path_of(store, 1).parent / "counters", 1 << 42)
    assert "0 hits" in str(tack.cache.info())
    store.put("ir", key(0), payload(0))
    assert store.get("ir", key(0)) == payload(0)
    assert counted(store) == (1, 0, 1, 3, 0)


@pytest.mark.spec("cache-211")
def test_an_entry_that_memory_does_not_hold_is_bad(folder, monkeypatch):
    store = the_store()
    fill(store, 1)
    with monkeypatch.context() as patch:
        patch.setattr(cache_files, "open", without_memory, raising=False)
        assert store.get("ir", key(0)) is None
        assert list(store.payloads()) == []
    assert counted(store) == (0, 0, 1, 1, 0)


def test_a_reader_may_turn_a_hit_down(folder):
    """What cannot be used is bad; what was made with names that mean something else is a miss."""
    store = the_store()
    fill(store, 1)
    assert store.use("ir", key(0), len) == len(payload(0))
    assert store.use("ir", key(0), lambda _: None) is None
    assert store.use("ir", key(0), lambda data: data.nothing) is None
    assert store.use("ir", key(1), lambda _: pytest.fail("there is nothing to read")) is None
    assert counted(store) == (1, 2, 1, 1, 0)


@pytest.mark.spec("cache-210")
def test_there_are_no_locks(folder, monkeypatch):
    """A writer that stands still in the middle of a write keeps nobody from reading or writing, even the same entry."""
    store, other = the_store(), Store(str(folder), OWN)
    fill(store, 2)

    def while_writing(source, target):
        monkeypatch.setattr(os, "replace", real)
        assert other.get("ir", key(1)) == payload(1)
        other.put("ir", key(0), payload(0))
        assert other.get("ir", key(0)) == payload(0)
        real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", while_writing)
    store.put("ir", key(0), payload(0))
    assert store.get("ir", key(0)) == payload(0)
    assert counted(store) == (1, 0, 0, 3, 0)
    for path in RUNTIME.glob("cache_*.py"):
        imported = {a.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import) for a in node.names}
        assert not imported & {"fcntl", "msvcrt", "threading", "multiprocessing"}, path


# Failing writes


STEPS = ("open", "replace", "mkdir")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.ESTALE)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
def test_a_failing_write_leaves_nothing(folder, monkeypatch, step, code):
    store = the_store()
    if step != "mkdir":
        fill(store, 2)
    before = snapshot(folder) if folder.exists() else {}

    def fails(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fails)
        store.put("ir", key(1), b"new")
        store.put("ir", key(9), payload(9))
    assert store.stats["ir"].failed == 2
    assert (snapshot(folder) if folder.exists() else {}) == before
    store.put("ir", key(9), payload(9))
    assert store.get("ir", key(9)) == payload(9), "the next write succeeds"


@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
def test_a_full_disk_in_the_middle_of_a_file(folder, monkeypatch, code):
    store = the_store()
    fill(store, 2)
    before = snapshot(folder)

    class Full:
        def __init__(self, *args):
            self.file = open(*args)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def writelines(self, parts):
            self.file.write(list(parts)[0])
            raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(cache_files, "open", Full, raising=False)
        store.put("ir", key(1), b"new")
    assert store.stats["ir"].failed == 1
    assert snapshot(folder) == before


def test_a_file_may_not_grow_past_the_limit_of_the_process(folder):
    """The kernel itself refuses the write (RLIMIT_FSIZE), in the middle of the payload."""
    printed = run_light(
        """
        import resource

        store = Store(sys.argv[1], 64 * "1")
        store.put("ir", key(1), payload(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        store.put("ir", key(2), payload(2, 1_000_000))
        store.put("ir", key(3), payload(3))
        print(store.stats["ir"].stored, store.stats["ir"].failed)
        print([store.get("ir", key(n)) == payload(n) for n in (1, 3)], store.get("ir", key(2)))
        """,
        folder,
    )
    assert printed.splitlines() == ["2 1", "[True, True] None"]
    assert [name for name in files(folder) if "tmp" in name] == []


def test_an_interrupted_write_leaves_nothing(folder, monkeypatch):
    store = the_store()
    fill(store, 1)
    before = snapshot(folder)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put("ir", key(1), payload(1))
    assert snapshot(folder) == before


@pytest.mark.parametrize("which", ["folder", "root", "root and above"])
def test_a_directory_deleted_meanwhile_is_made_again(tmp_path, monkeypatch, which):
    import shutil

    with fresh_cache(tmp_path / "a" / "b", monkeypatch) as root:
        store = the_store()
        fill(store, 1)
        shutil.rmtree({"folder": store.folder, "root": root, "root and above": tmp_path / "a"}[which])
        assert store.get("ir", key(0)) is None
        store.put("ir", key(0), payload(0))
        assert store.get("ir", key(0)) == payload(0)
        assert counted(store) == (1, 1, 0, 2, 0)


def test_a_directory_deleted_in_the_middle_of_a_write(folder, monkeypatch):
    """By a prune of another process, say: the write is tried once more."""
    import shutil

    store = the_store()
    fill(store, 1)

    def deleting(source, target):
        monkeypatch.setattr(os, "replace", real)
        shutil.rmtree(store.folder)
        real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", deleting)
    store.put("ir", key(1), payload(1))
    assert store.get("ir", key(1)) == payload(1)
    assert counted(store) == (1, 0, 0, 2, 0)


# Whose directories they are


@pytest.mark.spec("cache-212")
@pytest.mark.parametrize("umask", [0o002, 0o022, 0o000, 0o077])
def test_directories_are_made_for_the_user_alone(tmp_path, monkeypatch, umask):
    """Mode 0700 under every umask, the missing parents too; and then they are trusted."""
    with fresh_cache(tmp_path / "home" / ".cache" / "tack", monkeypatch) as root:
        old = os.umask(umask)
        try:
            store = the_store()
            fill(store, 1)
        finally:
            os.umask(old)
        for path in (tmp_path / "home", tmp_path / "home/.cache", root, root / OWN[:16]):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
        for path in root.rglob("*"):
            assert not path.stat().st_mode & 0o022, path
        assert store.get("ir", key(0)) == payload(0)
        assert store.refused == 0


@pytest.mark.spec("cache-212")
def test_directories_of_any_depth_are_made(folder):
    """As deep as the file system takes them, not as deep as Python calls itself."""
    deep = os.path.join(folder, *"a" * 150)
    run_light("sys.setrecursionlimit(100)\ncache_files.make_private(sys.argv[1])", deep)
    assert stat.S_IMODE(os.stat(deep).st_mode) == 0o700


@pytest.mark.spec("cache-212")
@pytest.mark.parametrize("which", ["root", "version"])
def test_a_directory_of_another_user_is_refused(folder, monkeypatch, which):
    """And the user is told what to do."""
    store = the_store()
    fill(store, 1)
    path, user = folder if which == "root" else Path(store.folder), os.geteuid()
    if which == "version":
        real = os.lstat
        monkeypatch.setattr(os, "lstat", lambda name: _of_user(real(name), user + 1 if os.fspath(name) == str(folder) else user))
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert store.get("ir", key(0)) is None
    info = tack.cache.info()
    reason = f"{path} belongs to user {user}, and you are user {user + 1}; set TACK_CACHE_DIR to a directory of your own"
    assert (info.refused or info.versions[0].refused) == reason
    if which == "root":
        with pytest.raises(PermissionError, match="set TACK_CACHE_DIR"):
            tack.cache.bundle()


def _of_user(found, user):
    return os.stat_result((*found[:4], user, *found[5:]))


@pytest.mark.spec("cache-212")
@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777, 0o2775])
@pytest.mark.parametrize("which", ["root", "version"])
def test_a_directory_that_others_may_write_to_is_refused(folder, mode, which):
    """Nothing is read from it and nothing is written to it; the user is told why, and how to mend it."""
    store = the_store()
    fill(store, 2)
    path = folder if which == "root" else Path(store.folder)
    path.chmod(mode)
    before = snapshot(folder)
    assert store.get("ir", key(0)) is None
    store.put("ir", key(1), b"new")
    store.put("ir", key(5), payload(5))
    store.write_counts()
    assert store.refused == 4
    assert counted(store) == (0, 1, 0, 2, 0)
    assert snapshot(folder) == before
    reason = tack.cache.info().refused if which == "root" else tack.cache.info().versions[0].refused
    assert reason == f"others may write to {path} (mode {mode:04o}); take that from them: chmod go-w"
    assert f"Not used, since {reason}" in str(tack.cache.info())
    path.chmod(0o700)
    assert store.get("ir", key(0)) == payload(0), "it is used again as soon as it is the user's alone"


@pytest.mark.spec("cache-212")
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750, 0o500])
def test_a_directory_that_others_may_only_read_is_used(folder, mode):
    store = the_store()
    fill(store, 1)
    folder.chmod(mode)
    assert store.get("ir", key(0)) == payload(0)
    folder.chmod(0o700)


@pytest.mark.spec("cache-212")
def test_an_entry_that_others_may_write_to_is_bad(folder):
    """The directory may let others in who cannot write to it; a file under a umask of 0 would be theirs to change."""
    store = the_store()
    fill(store, 1)
    assert stat.S_IMODE(path_of(store, 0).stat().st_mode) == 0o600
    path_of(store, 0).chmod(0o666)
    assert store.get("ir", key(0)) is None
    assert store.stats["ir"].bad == 1


@pytest.mark.spec("cache-212")
@pytest.mark.parametrize("which", ["root", "version"])
def test_a_file_in_the_place_of_a_directory(folder, which):
    path = folder if which == "root" else folder / OWN[:16]
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.write_text("not a directory")
    store = the_store()
    assert store.get("ir", key(0)) is None
    store.put("ir", key(0), payload(0))
    assert store.refused == 2
    assert path.read_text() == "not a directory"


def test_a_version_that_cannot_be_read_is_shown(folder, monkeypatch):
    """And keeps nobody from seeing and pruning the others."""
    for fingerprint in (OWN, OTHER):
        Store(str(folder), fingerprint).put("ir", key(0), payload(0))
    real = os.scandir

    def scandir(path):
        if path.endswith(OTHER[:16]):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    own, other = tack.cache.info().versions
    assert (own.refused, other.refused) == ("", f"{folder}/{OTHER[:16]} cannot be read: Permission denied")
    monkeypatch.setenv("TACK_CACHE_SIZE", "0")
    assert tack.cache.prune().entries == 1


@pytest.mark.spec("cache-212")
@pytest.mark.skipif(not AS_ROOT, reason="only root can give files away")
def test_a_link_of_another_user_is_refused(folder):
    """Who owns a link chooses what is read through it; one of the user's own, say to a larger disk, is followed."""
    store = the_store()
    fill(store, 1)
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    assert store.get("ir", key(0)) == payload(0)
    os.chown(folder, 65534, 65534, follow_symlinks=False)
    assert store.get("ir", key(0)) is None
    assert store.refused == 1
    assert "is a link of user 65534" in tack.cache.info().refused


# The size limit


def sized(folder: Path, fingerprint: str, ages: list[float], size: int = 1000) -> list[Path]:
    """Entries of about `size` bytes that were last used so many seconds ago."""
    store = Store(str(folder), fingerprint, limit=1 << 60)
    paths = []
    for n, seconds in enumerate(ages):
        store.put("ir", key(n), payload(n, size))
        paths.append(path_of(store, n))
        age(paths[-1], seconds)
    return paths


@pytest.mark.spec("cache-213")
def test_the_least_recently_used_entries_go(folder):
    """Of all versions together, until 90 % of the limit are left; nothing below the limit."""
    ours = sized(folder, OWN, [50, 10, 40, 20, 30])
    theirs = sized(folder, OTHER, [45, 15, 35, 25, 5])
    total = sum(path.stat().st_size for path in ours + theirs)
    assert cache_prune.prune(str(folder), total) == cache_prune.Removed(0, 0)
    removed = cache_prune.prune(str(folder), total - 1)
    left = sum(path.stat().st_size for path in ours + theirs if path.exists())
    assert removed == cache_prune.Removed(2, total - left)
    assert [path for path in ours + theirs if not path.exists()] == [ours[0], theirs[0]], "50 and 45 seconds ago"
    assert left <= (total - 1) * 0.9 < left + 1100, "no more went than had to"
    cache_prune.prune(str(folder), 4000)
    assert [path for path in ours + theirs if path.exists()] == [ours[1], theirs[1], theirs[4]]
    cache_prune.prune(str(folder), 0)
    assert not [path for path in ours + theirs if path.exists()]


@pytest.mark.spec("cache-213")
@pytest.mark.parametrize(("text", "limit"), [(None, 1 << 30), ("4000", 4000), ("4K", 4096), ("512M", 512 << 20), ("2G", 2 << 30)])
def test_the_limit_is_a_variable(folder, monkeypatch, text, limit):
    if text is not None:
        monkeypatch.setenv("TACK_CACHE_SIZE", text)
    assert the_store().limit == limit
    assert tack.cache.info().limit == limit


@pytest.mark.spec("cache-213", "cache-214")
def test_a_writing_process_prunes_once_an_hour(folder, monkeypatch):
    """One scan for all puts of all processes within an hour, told by the time of the mark; never one per kernel."""
    monkeypatch.setenv("TACK_CACHE_SIZE", "5000")
    scans = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scans.append(path) or real(path))
    fill(the_store(), 20, 1000)
    assert scans.count(str(folder)) <= 2, "only the first put looked, before there was anything to delete"
    assert len(list(Path(the_store().folder).glob("*.ir"))) == 20
    mark = folder / ".pruned"
    scans.clear()
    Store(str(folder), OWN, limit=5000).put("ir", key(99), payload(99, 1000))
    assert scans == [], "another process knows by the mark"
    age(mark, HOUR + 1)
    Store(str(folder), OWN, limit=5000, writes=False).get("ir", key(99))
    assert scans == [], "a process that only reads never scans"
    Store(str(folder), OWN, limit=5000).put("ir", key(100), payload(100, 1000))
    assert str(folder) in scans
    assert sum(path.stat().st_size for path in Path(the_store().folder).glob("*.ir")) <= 4500
    assert abs(mark.stat().st_mtime - path_of(the_store(), 100).stat().st_mtime) < 60, "and the mark is new"


@pytest.mark.spec("cache-214")
def test_a_long_process_scans_again_after_an_hour(folder, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(cache_store.time, "monotonic", lambda: clock[0])
    pruned = []
    monkeypatch.setattr(cache_prune, "prune", lambda *args: pruned.append(args))
    store = the_store()
    fill(store, 3)
    assert pruned == [(str(folder), 1 << 30)]
    age(folder / ".pruned", HOUR / 2)
    clock[0] += HOUR - 1
    fill(store, 3)
    assert len(pruned) == 1
    clock[0] += 2  # the process looks at the mark again, and another process has touched it half an hour ago
    fill(store, 3)
    assert len(pruned) == 1
    age(folder / ".pruned", HOUR)
    clock[0] += HOUR / 2 + 1
    fill(store, 3)
    assert len(pruned) == 2


@pytest.mark.spec("cache-214")
def test_without_a_mark_nobody_scans(folder, monkeypatch):
    """Where no mark can be made, every process would scan at every put."""
    store = the_store()
    fill(store, 1)
    (folder / ".pruned").unlink()
    (folder / ".pruned").mkdir()
    age(folder / ".pruned", HOUR + 1)
    monkeypatch.setattr(cache_prune, "prune", lambda *_: pytest.fail("scanned"))
    Store(str(folder), OWN).put("ir", key(1), payload(1))


@pytest.mark.spec("cache-214")
def test_a_mark_of_a_wrong_clock_is_old(folder):
    fill(the_store(), 1)
    age(folder / ".pruned", -10 * HOUR)
    assert cache_prune.seconds_to_scan(str(folder)) == 0.0
    assert 0.0 < cache_prune.seconds_to_scan(str(folder)) <= HOUR


@pytest.mark.spec("cache-215")
def test_a_hit_renews_its_entry_at_most_once_an_hour(folder):
    store = the_store()
    fill(store, 2)
    path = path_of(store, 0)
    age(path, HOUR - 60)
    before = path.stat().st_mtime_ns
    assert store.get("ir", key(0)) == payload(0)
    assert path.stat().st_mtime_ns == before
    age(path, 120)
    assert store.get("ir", key(0)) == payload(0)
    renewed = path.stat().st_mtime_ns
    assert renewed > before
    store.get("ir", key(0))
    assert path.stat().st_mtime_ns == renewed


@pytest.mark.spec("cache-215")
def test_bundles_are_neither_counted_nor_deleted(folder):
    paths = sized(folder, OWN, [20, 10])
    assert tack.cache.bundle() == 2
    bundle = folder / f"{OWN[:16]}.bundle"
    other = folder / f"{OTHER[:16]}.bundle"
    other.write_bytes(bytes(100_000))
    age(other, 100 * HOUR)
    total = sum(path.stat().st_size for path in paths)
    assert cache_prune.prune(str(folder), total) == cache_prune.Removed(0, 0)
    assert tack.cache.info().size == total
    assert cache_prune.prune(str(folder), 0).entries == 2
    assert bundle.exists() and other.exists()


def test_what_killed_writers_left_goes_when_it_is_old(folder):
    """A young temporary file may still be written; a stranger's file is never deleted."""
    store = the_store()
    fill(store, 1)
    old, young = (Path(store.folder) / f".tmp-{n:016x}" for n in (1, 2))
    root, stranger = folder / f".tmp-{3:016x}", Path(store.folder) / "notes.txt"
    for path in (old, young, root, stranger):
        path.write_bytes(b"half")
    for path in (old, root, stranger):
        age(path, HOUR + 1)
    assert cache_prune.prune(str(folder), 1 << 30) == cache_prune.Removed(0, 0)
    assert not old.exists() and not root.exists()
    assert young.exists() and stranger.exists()


def test_an_empty_directory_of_another_version_goes(folder):
    for fingerprint in (OWN, OTHER):
        Store(str(folder), fingerprint).put("ir", key(0), payload(0))
    (folder / OTHER[:16] / f"{key(0).hex()}.ir").unlink()
    cache_prune.prune(str(folder), 1 << 30)
    assert (folder / OTHER[:16]).exists(), "a process may just have made it"
    age(folder / OTHER[:16], HOUR + 1)
    cache_prune.prune(str(folder), 1 << 30)
    assert sorted(path.name for path in folder.iterdir()) == [".pruned", OWN[:16]]


@pytest.mark.spec("cache-211")
def test_directories_with_names_of_the_cache_stay(folder, monkeypatch):
    """They are none of the cache's: they count for nothing, and keep nothing else from being deleted."""
    store = the_store()
    fill(store, 2)
    held = tack.cache.info().size
    own = Path(store.folder)
    names = [f"{key(7).hex()}.ir", f".tmp-{1:016x}", "counters"]
    for path in [*(own / name for name in names), folder / f"{OWN[:16]}.bundle", folder / f".tmp-{2:016x}"]:
        path.mkdir()
        age(path, HOUR + 1)
    assert (tack.cache.info().entries, tack.cache.info().size) == (2, held)
    monkeypatch.setenv("TACK_CACHE_SIZE", "0")
    assert tack.cache.prune() == cache_prune.Removed(2, held)
    fill(store, 2)
    (folder / ".pruned").unlink()
    (folder / ".pruned").mkdir()
    assert tack.cache.clear() == cache_prune.Removed(2, held)
    assert sorted(path.name for path in folder.iterdir()) == sorted([OWN[:16], ".pruned", f"{OWN[:16]}.bundle", f".tmp-{2:016x}"])
    assert sorted(path.name for path in own.iterdir()) == sorted(names)


def test_named_pipes_keep_no_process_waiting(folder):
    """In the place of the counts, which are written at the end of a process, and of the mark."""
    store = the_store()
    fill(store, 1)
    (folder / ".pruned").unlink()
    for path in (folder / ".pruned", Path(store.folder) / "counters"):
        os.mkfifo(path, 0o600)
        age(path, HOUR + 1)
    program = "import signal; signal.alarm(20)\ncache_store.store().put('ir', key(1), payload(1))"
    run_light(program, TACK_CACHE_DIR=str(folder))
    assert store.get("ir", key(1)) == payload(1)


# Modes


def test_modes(folder, monkeypatch):
    """write reads and stores; read stores nothing, no time, no count, no directory; off is no store; bundle knows no files."""
    fill(the_store(), 1)
    age(path_of(the_store(), 0), 2 * HOUR)
    monkeypatch.setenv("TACK_CACHE", "read")
    store = the_store()  # and the counts of the one before are written
    before = snapshot(folder)
    assert store.get("ir", key(0)) == payload(0)
    assert store.get("ir", key(1)) is None
    store.put("ir", key(1), payload(1))
    store.write_counts()
    assert counted(store) == (1, 1, 0, 0, 0)
    assert snapshot(folder) == before
    monkeypatch.setenv("TACK_CACHE", "off")
    assert cache_store.store() is None
    monkeypatch.setenv("TACK_CACHE", "bundle")
    store = the_store()
    assert store.get("ir", key(0)) is None
    store.put("ir", key(0), payload(0))
    assert counted(store) == (0, 1, 0, 0, 0)
    assert snapshot(folder) == before
    monkeypatch.setenv("TACK_CACHE", "read")
    monkeypatch.setenv("TACK_CACHE_DIR", str(folder / "none"))
    the_store().put("ir", key(1), payload(1))
    assert not (folder / "none").exists()


@pytest.mark.parametrize(("name", "text"), [("TACK_CACHE", "rw"), ("TACK_CACHE_SIZE", "1.5G"), ("TACK_CACHE_SIZE", "9" * 400)])
def test_bad_variables_name_themselves(folder, monkeypatch, name, text):
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=rf"{name}='{re.escape(text)}': the variable takes ") as error:
        cache_store.store()
    assert error.value.__cause__ is error.value.__context__ is None, "one traceback, not two"


LINUX = {"XDG_CACHE_HOME": "", "LOCALAPPDATA": "", "HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "/home/ada/.cache/tack"),
        ("linux", {"XDG_CACHE_HOME": "/scratch/ada"}, "/scratch/ada/tack"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/ada/.cache/tack"),
        ("darwin", {}, "/home/ada/Library/Caches/tack"),
        ("darwin", {"XDG_CACHE_HOME": "/scratch/ada"}, "/scratch/ada/tack"),
        ("win32", {"LOCALAPPDATA": "/c/ada/Local"}, "/c/ada/Local/tack/cache"),
        ("win32", {}, "/home/ada/AppData/Local/tack/cache"),
        ("linux", {"TACK_CACHE_DIR": "/data/cache"}, "/data/cache"),
        ("linux", {"TACK_CACHE_DIR": "~/cache"}, "/home/ada/cache"),
        ("linux", {"TACK_CACHE_DIR": "here"}, os.path.join(os.getcwd(), "here")),
    ],
)
def test_the_folder(folder, monkeypatch, platform, variables, expected):
    monkeypatch.delenv("TACK_CACHE_DIR")
    for name, value in (LINUX | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache_mode.sys, "platform", platform)
    assert cache_mode.folder() == expected


def test_without_a_home_there_is_no_cache(folder, monkeypatch):
    monkeypatch.delenv("TACK_CACHE_DIR")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cache_store.store() is None
    assert "TACK_CACHE_DIR" in tack.cache.info().refused
    for command in (tack.cache.clear, tack.cache.prune, tack.cache.bundle, tack.cache.load_bundle):
        with pytest.raises(RuntimeError, match="no home directory is known"):
            command()


def test_a_relative_folder_stays_where_it_is(tmp_path, folder, monkeypatch):
    """Wherever the process goes; another value of the variable counts from there."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    monkeypatch.setenv("TACK_CACHE_DIR", "kept")
    first = the_store()
    monkeypatch.chdir(tmp_path / "b")
    assert the_store() is first and first.root == str(tmp_path / "a" / "kept")
    monkeypatch.setenv("TACK_CACHE_DIR", "other")
    assert the_store().root == str(tmp_path / "b" / "other")


def test_without_a_working_directory_there_is_no_cache(tmp_path, folder, monkeypatch):
    """Nobody knows what a relative folder is, where the working directory has been deleted."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("TACK_CACHE_DIR", "unknown")
    assert cache_store.store() is None
    assert "the working directory is gone" in tack.cache.info().refused
    with pytest.raises(RuntimeError, match="the working directory is gone\n  Set TACK_CACHE_DIR to an absolute path"):
        tack.cache.clear()
    monkeypatch.chdir(tmp_path)
    assert the_store().root == str(tmp_path / "unknown")


WORLDS = [
    ({}, None),
    ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}, (3, 8)),
    ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, None),
    ({"OMPI_COMM_WORLD_RANK": "0"}, None),
    ({"OMPI_COMM_WORLD_SIZE": "8"}, None),
    ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
    ({"PMIX_RANK": "1", "PMIX_SIZE": "2"}, (1, 2)),
    ({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "4"}, (1, 4)),
    ({"PMIX_RANK": "1"}, None),
    ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"}, (1, 2)),
    ({"MVP_COMM_WORLD_RANK": "1", "MVP_COMM_WORLD_SIZE": "2"}, (1, 2)),
    ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, (5, 6)),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, None),
    ({"SLURM_NTASKS": "6"}, None),
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6", "SLURM_NPROCS": "6"}, None),  # the shell of a batch script
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "6", "PMI_RANK": "2", "PMI_SIZE": "6"}, (2, 6)),  # mpiexec in it
    ({"PMI_RANK": "x", "PMI_SIZE": "2"}, None),
    ({"PMI_RANK": "-1", "PMI_SIZE": "2"}, None),
    ({"PMI_RANK": "0", "PMI_SIZE": "9" * 5000}, None),
    ({"PMI_RANK": "9" * 5000, "PMI_SIZE": "2"}, None),
]


@pytest.mark.spec("cache-216", "cache-217")
@pytest.mark.parametrize(("variables", "world"), WORLDS)
def test_launchers(folder, monkeypatch, variables, world):
    """The default is bundle under MPI, a rank and a size above one; and in write mode only rank 0 stores."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_mode.world() == (None if world is None else cache_mode.World(*world))
    assert cache_mode.mode() == ("write" if world is None else "bundle")
    store = the_store()
    assert (store.files, store.writes) == ((True, True) if world is None else (False, False))
    monkeypatch.setenv("TACK_CACHE", "write")
    store = the_store()
    assert store.files
    assert store.writes == (world is None or world[0] == 0)


@pytest.mark.spec("cache-217")
def test_only_rank_0_stores(folder, monkeypatch):
    """The other ranks read, and leave no trace: no entry, no time, no count."""
    monkeypatch.setenv("TACK_CACHE", "write")
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "0")
    fill(the_store(), 2)
    age(path_of(the_store(), 0), 2 * HOUR)
    monkeypatch.setenv("PMI_RANK", "1")
    rank1 = the_store()  # and rank 0's counts are written
    before = snapshot(folder)
    assert rank1.get("ir", key(0)) == payload(0)
    rank1.put("ir", key(9), payload(9))
    rank1.write_counts()
    assert snapshot(folder) == before


# Counts


def test_counts_are_summed_over_processes(folder, monkeypatch):
    program = """
        store = cache_store.store()
        for n in range(int(sys.argv[1])):
            if store.get("ir", key(n)) is None:
                store.put("ir", key(n), payload(n))
        store.get("variant", key(0))
    """
    for count in (2, 3, 3):
        run_light(program, count, TACK_CACHE_DIR=str(folder))
    run_light(program, 3, TACK_CACHE_DIR=str(folder), TACK_CACHE="read")
    run_light("cache_store.store()", TACK_CACHE_DIR=str(folder))
    lines = (folder / OWN[:16] / "counters").read_text().splitlines()
    assert len(lines) == 3, "neither a process that may not write nor one that asked for nothing adds a line"
    [version] = tack.cache.info().versions
    assert version.counts["ir"] == cache_counts.Counts(hits=2 + 3, misses=2 + 1, stored=2 + 1)
    assert version.counts["variant"] == cache_counts.Counts(misses=3)


def test_a_forked_process_counts_its_own(folder):
    run_light(
        """
        store = cache_store.store()
        store.get("ir", key(0))
        sys.stdout.flush()
        pid = os.fork()
        child = cache_store.store()
        for n in range(2 if pid else 5):
            child.get("ir", key(n))
        if pid:
            join([pid])
            store.put("ir", key(0), payload(0))
        else:
            Store(store.root, store.fingerprint).put("variant", key(0), payload(0))
        """,
        TACK_CACHE_DIR=str(folder),
    )
    [version] = tack.cache.info().versions
    assert version.counts["ir"] == cache_counts.Counts(misses=1 + 2 + 5, stored=1)


def test_counters_that_are_damaged_do_no_harm(folder):
    store = the_store()
    fill(store, 1)
    store.write_counts()
    path = Path(store.folder) / "counters"
    good = path.read_text()
    long = b"9" * 5000 + b" 0" * 9 + b"\n"
    path.write_bytes(good.encode() + b"1 2 3\n\xff\xfe\0\n-1 0 0 0 0 0 0 0 0 0\n" + long + good.encode() + good[:5].encode())
    assert cache_counts.totals(store.folder)["ir"].stored == 2
    path.unlink()
    path.mkdir()
    store.write_counts()
    assert not cache_counts.totals(store.folder)["ir"]


def test_long_counters_become_one_line(folder):
    store = the_store()
    fill(store, 1)
    path = Path(store.folder) / "counters"
    path.write_text("1 2 3 4 5 6 7 8 9 10\n" * 10)
    cache_prune.prune(str(folder), 1 << 30)
    assert len(path.read_text().splitlines()) == 10
    path.write_text("1 2 3 4 5 6 7 8 9 10\n" * 4000)
    cache_prune.prune(str(folder), 1 << 30)
    assert path.read_text() == "4000 8000 12000 16000 20000 24000 28000 32000 36000 40000\n"


def test_the_version_names_itself(folder):
    fill(the_store(), 1)
    text = (folder / OWN[:16] / "version").read_text()
    assert re.fullmatch(rf"Tack .*, Python 3\.\d+, in .*tack\n{OWN}\n", text)
    assert tack.cache.info().versions[0].text == text.split("\n")[0]


@pytest.mark.parametrize("fault", ["no text", "no metadata"])
def test_a_version_that_cannot_be_named_does_no_harm(folder, monkeypatch, fault):
    """Tack stands in a folder whose name is no text, or what the installer has written about it is damaged."""
    import importlib.metadata

    def version(_name):
        raise KeyError("Version")

    if fault == "no text":
        monkeypatch.setattr(cache_store, "__file__", os.fsdecode(b"/a/\xff/tack/runtime/cache_store.py"))
    else:
        monkeypatch.setattr(importlib.metadata, "version", version)
    fill(the_store(), 1)
    assert the_store().get("ir", key(0)) == payload(0)
    assert tack.cache.info().versions[0].text.startswith("Tack")


def test_import_loads_no_cache():
    from fresh_process import run_program

    loaded = run_program("import sys, tack; print(*(name for name in sys.modules if 'cache' in name))").split()
    assert not [name for name in loaded if name.startswith("tack")]
