"""The disk cache under fire, 200 rounds in all: processes that race, are killed in the middle of a write, run out of disk or of
rights, and files that are damaged. Nothing wrong is ever loaded, nothing valid is lost, and no call fails.

Random choices are the same in every run. What a scenario does over and over it does in forked children of one light process.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import textwrap
from pathlib import Path

import pytest
from cache_tools import KINDS, OTHER, OWN, age, fresh_cache, key, payload, run_light, the_store

from tack.runtime import cache_prune
from tack.runtime.cache_store import Store

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

ROUNDS = {
    "race": 20,
    "kill at any line": 40,
    "kill at any time": 20,
    "flip": 40,
    "truncate": 20,
    "failing write": 20,
    "rights": 13,
    "limit": 7,
    "versions": 10,
    "ranks": 10,
}


def test_there_are_200_rounds():
    assert sum(ROUNDS.values()) == 200


@pytest.fixture
def folder(tmp_path, monkeypatch):
    with fresh_cache(tmp_path / "cache", monkeypatch) as path:
        yield path


def run(program: str, scenario: str, *arguments: object, **env: str) -> None:
    """Runs a scenario's program, in which `root` is the cache and `rounds` the number of rounds."""
    head = """
root, rounds = sys.argv[1], int(sys.argv[2])
random.seed(sys.argv[3])


def check(store, numbers, kinds=("ir", "variant"), missing_is_fine=False, size=300):
    # Every entry is right; none is damaged; and none is missing, unless that is fine.
    for kind in kinds:
        for n in numbers:
            found = store.get(kind, key(n))
            assert found == payload(n, size) or (found is None and missing_is_fine), (kind, n, found and len(found))
        assert not store.stats[kind].bad, store.stats


"""
    run_light(head + textwrap.dedent(program), arguments[0], ROUNDS[scenario], scenario, *arguments[1:], **env)


@pytest.mark.slow
@pytest.mark.spec("cache-209", "cache-210")
def test_processes_race_for_one_directory(folder):
    """Four processes at once store and look up the same entries, from an empty directory, while they prune or clear it."""
    run(
        """
        def work(order, kind_first, disturb):
            store = Store(root, 64 * "1")
            for n in order:
                for kind in (kind_first, "variant" if kind_first == "ir" else "ir"):
                    check(store, [n], [kind], missing_is_fine=True)
                    store.put(kind, key(n), payload(n))
                    check(store, [n], [kind], missing_is_fine=disturb is not None)
                    if disturb is not None and n % 3 == 0:
                        disturb()
            for counts in store.stats.values():
                assert counts.stored + counts.failed == len(order) and not counts.bad, counts
                assert not counts.failed or disturb is clear, counts  # which may take the directory away twice


        def clear():
            cache_prune.clear(root)


        disturbances = [None, None, lambda: cache_prune.prune(root, 2000), clear]
        for turn in range(rounds):
            disturb = disturbances[turn % 4]
            join([fork(lambda: work(random.sample(range(6), 6), random.choice(["ir", "variant"]), disturb)) for _ in range(4)])
            check(Store(root, 64 * "1"), range(6), missing_is_fine=disturb is not None)
            left = [name for _, _, names in os.walk(root) for name in names if name.startswith(".tmp")]
            assert not left, left
            cache_prune.clear(root)
        """,
        "race",
        folder,
    )


@pytest.mark.slow
@pytest.mark.spec("cache-209", "cache-211")
def test_writers_killed_at_any_line_of_a_write(folder):
    """`kill -9` before a random line of the store's code that replaces an entry, makes a new one, or makes the directories."""
    run(
        """
        import signal

        ours = (cache_store.__file__, cache_files.__file__, cache_prune.__file__)


        def die_at(line):
            # In the child: kill -9 before the line of that number that the store runs.
            def trace(frame, event, _):
                nonlocal line
                if frame.f_code.co_filename in ours and event == "line":
                    line -= 1
                    if not line:
                        os.kill(os.getpid(), signal.SIGKILL)
                return trace

            return trace


        def write(store, line):
            sys.settrace(die_at(line))
            store.put("ir", key(1), payload(1))
            store.put("variant", key(50), payload(50))
            sys.settrace(None)


        killed = 0
        for turn in range(rounds):
            if turn % 8 == 0:
                cache_prune.clear(root)
                known = []
            store = Store(root, 64 * "1")
            pid = fork(lambda: write(store, random.randrange(1, 60)))
            _, status = os.waitpid(pid, 0)
            assert status in (0, signal.SIGKILL), status
            killed += status != 0
            check(store, known)
            check(store, [1, 50], missing_is_fine=True)
            store.put("ir", key(turn), payload(turn))
            store.put("variant", key(turn), payload(turn))
            known.append(turn)
        assert killed > rounds // 2, killed

        # What they left is found by its name, and goes when it is old.
        left = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name.startswith(".tmp")]
        for path in left:
            os.utime(path, (0, 0))
        cache_prune.prune(root, 1 << 30)
        assert not any(map(os.path.exists, left))
        check(Store(root, 64 * "1"), known)
        """,
        "kill at any line",
        folder,
    )


@pytest.mark.slow
@pytest.mark.spec("cache-209", "cache-211")
def test_writers_killed_at_any_time(folder):
    """`kill -9` from outside, in the middle of system calls, of a process that does nothing but store large entries."""
    run(
        """
        import signal

        size = 300_000
        store = Store(root, 64 * "1")
        store.put("ir", key(100), payload(100, size))
        for turn in range(rounds):
            begun, ready = os.pipe()

            def write():
                while True:
                    for n in range(3):
                        store.put("ir", key(n), payload(n, size))
                        os.write(ready, b".")

            pid = fork(write)
            os.close(ready)
            for _ in range(random.randrange(1, 4)):
                assert os.read(begun, 1) == b"."
            for _ in range(random.randrange(20_000)):
                pass
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            check(store, range(3), ["ir"], missing_is_fine=turn == 0, size=size)
            check(store, [100], ["ir"], size=size)
            os.close(begun)
        """,
        "kill at any time",
        folder,
    )


@pytest.mark.spec("cache-211")
@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_damaged_files(folder, damage):
    """Flipped bits, or a file cut short, anywhere: a miss that is counted, while every other entry is served."""
    rng = random.Random(damage)
    store = the_store()
    for n in range(6):
        for kind in KINDS:
            store.put(kind, key(n), payload(n))
    for turn in range(ROUNDS[damage]):
        hit, kind = rng.randrange(6), rng.choice(KINDS)
        path = Path(store.folder) / f"{key(hit).hex()}.{kind}"
        data = bytearray(path.read_bytes())
        if damage == "flip":
            for place in rng.sample(range(len(data)), rng.choice([1, 1, 2, 50])):
                data[place] ^= 1 << rng.randrange(8)
        else:
            del data[rng.choice([0, 1, len(data) - 1, rng.randrange(len(data))]) :]
        path.write_bytes(data)
        bad = store.stats[kind].bad
        for n in range(6):
            for other in KINDS:
                assert store.get(other, key(n)) == (None if (n, other) == (hit, kind) else payload(n))
        assert store.stats[kind].bad == bad + 1, turn
        store.put(kind, key(hit), payload(hit))
        assert store.get(kind, key(hit)) == payload(hit)


def test_failing_writes(folder):
    """The system refuses a write at a random byte, or a random call fails: nothing is lost and nothing is left."""
    run(
        """
        import errno, resource

        store = Store(root, 64 * "1")
        for n in range(4):
            store.put("ir", key(n), payload(n))
            store.put("variant", key(n), payload(n))


        def out_of_disk(limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            store.put("ir", key(1), payload(1, 100_000))
            store.put("variant", key(9), payload(9, 100_000))
            assert store.stats["ir"].failed == store.stats["variant"].failed == 1


        def broken(name, code, after):
            real = getattr(os, name)

            def failing(*args, **kwargs):
                nonlocal after
                after -= 1
                if after < 0:
                    raise OSError(code, os.strerror(code))
                return real(*args, **kwargs)

            setattr(os, name, failing)
            for n in range(4):
                store.get("ir", key(n))
                store.put("ir", key(n), payload(n))
                store.put("variant", key(n), payload(n))
            setattr(os, name, real)


        codes = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.ESTALE, errno.EINVAL, errno.EMFILE]
        calls = ["open", "replace", "lstat", "stat", "fstat", "mkdir", "unlink", "utime", "scandir", "urandom"]
        for turn in range(rounds):
            if turn % 2:
                join([fork(lambda: out_of_disk(random.randrange(1, 90_000)))])
            else:
                join([fork(lambda: broken(random.choice(calls), random.choice(codes), random.randrange(12)))])
            check(Store(root, 64 * "1"), range(4))
            assert Store(root, 64 * "1").get("variant", key(9)) is None
        """,
        "failing write",
        folder,
    )


RIGHTS = """
def as_user(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def use(reads, writes, refused, umask=0o022):
    # What the user may do with the cache; whatever it is, no call fails and nothing wrong comes back.
    as_user(me)
    os.umask(umask)
    store = Store(cache, 64 * "1")
    for _ in range(2):
        assert (store.get("ir", key(1)) == payload(1)) == reads, store.stats
        store.put("ir", key(2), payload(2))
        assert (store.get("ir", key(2)) == payload(2)) == writes, store.stats
    assert bool(store.refused) == refused, store.refused
    assert store.stats["ir"].bad == 0
    store.write_counts()


def made_by(uid):
    # A cache with one entry, made by a user.
    def make():
        as_user(uid)
        Store(cache, 64 * "1").put("ir", key(1), payload(1))

    return make


me, stranger, top = 65533, 65534, sys.argv[1]
cases = {
    "the user's own": lambda: join([fork(made_by(me))]),
    "a stranger's, closed": lambda: join([fork(made_by(stranger))]),
    "a stranger's, for all to read": lambda: (join([fork(made_by(stranger))]), chmod(0o755)),
    "a stranger's, for all to write": lambda: (join([fork(made_by(stranger))]), chmod(0o777)),
    "the user's, for all to write": lambda: (join([fork(made_by(me))]), chmod(0o777)),
    "the user's, for the group to write": lambda: (join([fork(made_by(me))]), chmod(0o770)),
    "the user's, read-only": lambda: (join([fork(made_by(me))]), chmod(0o500)),
    "the user's, closed to himself": lambda: (join([fork(made_by(me))]), chmod(0o000)),
    "the version is a stranger's": lambda: (join([fork(made_by(stranger))]), chmod(0o755), os.chown(cache, me, me)),
    "the entry is a stranger's": lambda: (join([fork(made_by(me))]), chown_entry()),
    "a stranger's link": lambda: (join([fork(made_by(me))]), os.rename(cache, cache + "2"), link(stranger)),
    "a stranger's folder above": lambda: os.chmod(os.path.dirname(cache), 0o755),
    "made under umask 000": lambda: None,
}
# reads what was there, reads what it writes, is refused
expected = {
    "the user's own": (True, True, False),
    "a stranger's, closed": (False, False, True),
    "a stranger's, for all to read": (False, False, True),
    "a stranger's, for all to write": (False, False, True),
    "the user's, for all to write": (False, False, True),
    "the user's, for the group to write": (False, False, True),
    "the user's, read-only": (True, False, False),
    "the user's, closed to himself": (False, False, False),
    "the version is a stranger's": (False, False, True),
    "the entry is a stranger's": (False, True, False),
    "a stranger's link": (False, False, True),
    "a stranger's folder above": (False, False, False),
    "made under umask 000": (False, True, False),
}


def chmod(mode):
    os.chmod(os.path.join(cache, 16 * "1"), mode)
    os.chmod(cache, mode)


def chown_entry():
    os.chown(os.path.join(cache, 16 * "1", key(1).hex() + ".ir"), stranger, stranger)


def link(uid):
    os.symlink(cache + "2", cache)
    os.chown(cache, uid, uid, follow_symlinks=False)


assert len(cases) == len(expected) == int(sys.argv[2])
for number, (name, prepare) in enumerate(cases.items()):
    above = os.path.join(top, str(number))
    os.mkdir(above)
    os.chmod(above, 0o777)
    cache = os.path.join(above, "cache")
    prepare()
    before = {os.path.join(f, n) for f, _, names in os.walk(top) for n in names}
    reads, writes, refused = expected[name]

    def task():
        store_reads, umask = reads, 0 if "umask" in name else 0o022
        if name == "the entry is a stranger's":
            # Whoever owns a file can change it: it counts as bad.
            as_user(me)
            store = Store(cache, 64 * "1")
            assert store.get("ir", key(1)) is None
            assert store.stats["ir"].bad == 1
            store.put("ir", key(1), payload(1))
            assert store.get("ir", key(1)) == payload(1)
            return
        use(reads, writes, refused, umask)

    print(name)
    join([fork(task)])
    if not writes:
        after = {os.path.join(f, n) for f, _, names in os.walk(top) for n in names}
        assert after == before, (name, after ^ before)
"""


@pytest.mark.spec("cache-212")
@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_directories_of_others(folder):
    """A process of another user, since root may read and write whatever the modes say."""
    with tempfile.TemporaryDirectory() as top:  # a folder of the test's own is closed to others
        os.chmod(top, 0o755)
        printed = run_light(RIGHTS, top, ROUNDS["rights"])
        assert len(printed.splitlines()) == ROUNDS["rights"]


@pytest.mark.spec("cache-213", "cache-214")
def test_entries_past_the_limit(folder):
    """Processes of two versions store more than the limit, again and again; every hour the least recently used entries go, the
    bundles stay, and what is left is right.
    """
    rng = random.Random("limit")
    limit = 20_000
    stores = [Store(str(folder), fingerprint, limit=limit) for fingerprint in (OWN, OTHER)]
    bundle = folder / f"{OWN[:16]}.bundle"
    for turn in range(ROUNDS["limit"]):
        used = []
        for n in rng.sample(range(30), 20):
            store, kind = rng.choice(stores), rng.choice(KINDS)
            store.put(kind, key(n), payload(n, 1500))
            path = Path(store.folder) / f"{key(n).hex()}.{kind}"
            age(path, rng.randrange(1, 3000))
            used.append(path)
        if not bundle.exists():
            bundle.write_bytes(bytes(3 * limit))
        entries = sorted({p for p in folder.glob("*/*.*") if p.suffix in (".ir", ".variant")}, key=lambda p: p.stat().st_mtime)
        sizes = [p.stat().st_size for p in entries]
        while sum(sizes) > limit * 0.9:
            del sizes[0]
        age(folder / ".pruned", 3601)
        Store(str(folder), OWN, limit=limit, writes=True)._scan()
        kept = entries[len(entries) - len(sizes) :]
        assert [p for p in entries if p.exists()] == kept, turn
        for path in kept:
            store = stores[path.parent.name == OTHER[:16]]
            n = next(n for n in range(30) if key(n).hex() == path.stem)
            assert store.get(path.suffix[1:], key(n)) == payload(n, 1500)
        assert bundle.stat().st_size == 3 * limit
    assert not any(store.stats[kind].bad for store in stores for kind in KINDS)


@pytest.mark.slow
@pytest.mark.spec("cache-200")
def test_two_versions_side_by_side(folder):
    """Processes of two versions of Tack store other payloads under equal keys at once; each reads its own."""
    run(
        """
        def work(digit, shift):
            store = Store(root, 64 * digit)
            for n in random.sample(range(6), 6):
                for kind in ("ir", "variant"):
                    assert store.get(kind, key(n)) in (None, payload(n + shift)), (digit, n)
                    store.put(kind, key(n), payload(n + shift))
                    assert store.get(kind, key(n)) == payload(n + shift)


        for turn in range(rounds):
            join([fork(lambda: work(digit, shift)) for digit, shift in (("1", 0), ("2", 100)) * 2])
            for digit, shift in (("1", 0), ("2", 100)):
                store = Store(root, 64 * digit)
                assert all(store.get(kind, key(n)) == payload(n + shift) for kind in ("ir", "variant") for n in range(6))
            if turn % 3 == 2:
                cache_prune.clear(root)
        """,
        "versions",
        folder,
    )


@pytest.mark.spec("cache-216", "cache-217")
def test_ranks_share_one_bundle(folder):
    """Ranks find the bundle, whatever state it is in, and neither look up nor write another file; in write mode rank 0 stores."""
    run(
        """
        def start(rank, **variables):
            os.environ.update(TACK_CACHE_DIR=root, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="4", **variables)
            return cache_store.store()


        def rank(number, sound):
            seen = []
            for name in ("open", "lstat", "stat", "scandir", "listdir", "mkdir", "replace", "unlink", "utime"):
                real = getattr(os, name)
                setattr(os, name, lambda path, *a, real=real, **k: (seen.append(path), real(path, *a, **k))[1])
            store = start(number)
            for n in random.sample(range(5), 5):
                for kind in ("ir", "variant"):
                    assert store.get(kind, key(n)) == (payload(n) if sound else None)
                    assert store.get(kind, key(n + 50)) is None
                    store.put(kind, key(n + 50), payload(n + 50))
            store.write_counts()
            assert set(filter(lambda path: str(path).startswith(root), seen)) <= {root, bundle}, seen
            assert store.bad_bundles == (not sound and os.path.exists(bundle))


        def rank_that_writes(number):
            store = start(number, TACK_CACHE="write")
            check(store, range(5))
            store.put("ir", key(10 + number), payload(10 + number))


        first = cache_store.Store(root, cache_store.version())
        for n in range(5):
            for kind in ("ir", "variant"):
                first.put(kind, key(n), payload(n))
        bundle = cache_bundle.bundle_path(root, first.fingerprint)
        cache_bundle.write_bundle(bundle, first.fingerprint, first.payloads())
        with open(bundle, "rb") as file:
            whole = file.read()
        for turn in range(rounds):
            data = bytearray(whole)
            state = ("sound", "flipped", "cut", "sound", "missing")[turn % 5]
            if state == "flipped":
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            elif state == "cut":
                del data[random.randrange(len(data)) :]
            os.unlink(bundle)
            if state != "missing":
                with open(os.open(bundle, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                    file.write(data)
            before = {(f, n) for f, _, names in os.walk(root) for n in names}
            join([fork(lambda: rank(number, state == "sound")) for number in range(4)])
            assert {(f, n) for f, _, names in os.walk(root) for n in names} == before
            if state == "missing":
                with open(bundle, "wb") as file:
                    file.write(whole)
        join([fork(lambda: rank_that_writes(number)) for number in range(4)])
        store = Store(root, first.fingerprint)
        assert [store.get("ir", key(10 + number)) == payload(10 + number) for number in range(4)] == [True, False, False, False]
        """,
        "ranks",
        folder,
    )


def test_the_whole_cache_is_deleted_while_it_is_used(folder):
    """`rm -rf` of the directory at any moment; what is stored after it is served."""
    store = the_store()
    for n in range(5):
        store.put("ir", key(n), payload(n))
        shutil.rmtree(folder)
        assert store.get("ir", key(n)) is None
        store.put("ir", key(n), payload(n))
        assert store.get("ir", key(n)) == payload(n)
        assert cache_prune.prune(str(folder), 1 << 30) == cache_prune.Removed(0, 0)
    assert store.stats["ir"].bad == store.stats["ir"].failed == 0
