"""`tack cache info|clear|prune|bundle` and the functions of `tack.cache` behind them: what they print, delete and refuse."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cache_tools import OTHER, OWN, age, files, fresh_cache, key, payload, the_store

import tack
from tack.cli import main
from tack.runtime.cache_report import size_text
from tack.runtime.cache_store import Store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    with fresh_cache(tmp_path / "cache", monkeypatch) as path:
        yield path


def fill() -> None:
    for n in range(3):
        the_store().put("ir", key(n), payload(n, 1000))
        the_store().put("variant", key(n), payload(n, 20_000))


def command(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command line prints that succeeds."""
    assert main(["cache", *words]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    return printed.out


def test_info_of_an_empty_cache(folder, capsys):
    assert command(capsys, "info").splitlines() == [
        f"Disk cache: {folder}",
        "Mode: write",
        "Size: 0 bytes of at most 1 GiB, in 0 entries",
    ]
    assert not folder.exists(), "asking makes nothing"


def test_info_shows_entries_sizes_hits_and_versions(folder, capsys, monkeypatch):
    monkeypatch.setenv("TACK_CACHE_SIZE", "512M")
    fill()
    store = the_store()
    store.get("ir", key(0))
    store.get("ir", key(5))
    damaged = Path(store.folder) / f"{key(1).hex()}.variant"
    damaged.write_bytes(b"x" * 10)
    store.get("variant", key(1))
    store.write_counts()
    store.get("ir", key(0))
    Store(str(folder), OTHER).put("ir", key(0), b"")
    named = f"Tack .*, Python 3.*, in {re.escape(os.path.dirname(tack.__file__))}"
    expected = [
        re.escape(f"Disk cache: {folder}"),
        "Mode: write",
        r"Size: 42\.5 KiB of at most 512 MiB, in 7 entries",
        "",
        rf"{named} \({OWN[:16]}, this one\)",
        "  Kernels lowered: 3 entries, 3.2 KiB; 1 hit, 1 miss, 0 bad, 3 stored",
        "  Variants compiled: 3 entries, 39.3 KiB; 0 hits, 0 misses, 1 bad, 3 stored",
        "",
        rf"{named} \({OTHER[:16]}\)",
        "  Kernels lowered: 1 entry, 91 bytes; 0 hits, 0 misses, 0 bad, 0 stored",
        "  Variants compiled: 0 entries, 0 bytes; 0 hits, 0 misses, 0 bad, 0 stored",
        "",
        "This process, kernels lowered: 2 hits, 1 miss, 0 bad, 3 stored",
        "This process, variants compiled: 0 hits, 0 misses, 1 bad, 3 stored",
    ]
    lines = command(capsys, "info").splitlines()
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected):
        assert re.fullmatch(pattern, line), line


def test_clear_deletes_what_is_the_caches_own(folder, capsys):
    """Entries, counts, marks, names, bundles, and what killed writers left; never a stranger's file."""
    fill()
    the_store().write_counts()
    Store(str(folder), OTHER).put("ir", key(0), payload(0, 1000))
    tack.cache.bundle()
    own = Path(the_store().folder)
    (own / f".tmp-{1:016x}").write_bytes(b"half")
    (folder / f".tmp-{2:016x}").write_bytes(b"half")
    strangers = [".pruned.txt", f"{OWN[:16]}.bundle.old", "0123", f"{OWN[:16]}/notes", f"{OWN[:16]}/{'a' * 64}.py", "x/1.ir"]
    for name in strangers:
        (folder / name).parent.mkdir(exist_ok=True, mode=0o700)
        (folder / name).write_text("mine")
    sizes = 3 * (1000 + 20_000) + 2 * (0 + 1 + 2) + 1000 + 7 * 91
    assert command(capsys, "clear") == f"Deleted 7 entries, {size_text(sizes)}\n"
    assert files(folder) == sorted(strangers)
    assert not (folder / OTHER[:16]).exists()
    fill()
    assert command(capsys, "clear").startswith("Deleted 6 entries")
    assert command(capsys, "clear") == "Deleted 0 entries, 0 bytes\n"


def test_prune_keeps_to_the_limit(folder, capsys, monkeypatch):
    fill()
    assert command(capsys, "prune") == "Deleted 0 entries, 0 bytes\n"
    age(Path(the_store().folder) / f"{key(1).hex()}.variant", 100)
    monkeypatch.setenv("TACK_CACHE_SIZE", "60K")
    assert command(capsys, "prune") == f"Deleted 1 entry, {size_text(20_001 + 91)}\n"
    assert the_store().get("variant", key(1)) is None
    assert the_store().get("variant", key(2)) == payload(2, 20_000)


def test_bundle(folder, capsys, tmp_path):
    fill()
    assert command(capsys, "bundle") == f"6 entries in {folder}/{OWN[:16]}.bundle\n"
    assert command(capsys, "bundle", str(tmp_path / "b")) == f"6 entries in {tmp_path}/b\n"
    size = size_text((tmp_path / "b").stat().st_size)
    assert f"Bundle {OWN[:16]}.bundle: {size}, 6 entries" in command(capsys, "info").splitlines()
    command(capsys, "clear")
    assert tack.cache.load_bundle(tmp_path / "b") == 6


@pytest.mark.spec("cache-212")
def test_a_refused_directory_is_shown_and_left_alone(folder, capsys):
    fill()
    folder.chmod(0o777)
    before = files(folder)
    reason = f"others may write to {folder} (mode 0777); take that from them: chmod go-w"
    assert command(capsys, "info").splitlines() == [f"Disk cache: {folder}", "Mode: write", f"Not used, since {reason}"]
    for name in ("clear", "prune", "bundle"):
        assert main(["cache", name]) == 1
        printed = capsys.readouterr()
        assert (printed.out, printed.err) == ("", f"tack cache {name}: The disk cache is not touched, since {reason}\n")
    assert files(folder) == before


@pytest.mark.spec("cache-212")
def test_a_refused_version_is_named(folder, capsys):
    """What is left is told, after all else is deleted; and nothing is bundled of it."""
    fill()
    Store(str(folder), OTHER).put("ir", key(0), payload(0))
    own = Path(the_store().folder)
    own.chmod(0o770)
    before = files(own)
    reason = f"others may write to {own} (mode 0770); take that from them: chmod go-w"
    for name, told in (("bundle", "Nothing is bundled"), ("clear", "Not all of the disk cache is deleted")):
        assert main(["cache", name]) == 1
        printed = capsys.readouterr()
        assert (printed.out, printed.err) == ("", f"tack cache {name}: {told}, since {reason}\n")
    assert files(own) == before
    assert sorted(path.name for path in folder.iterdir()) == [own.name]
    own.chmod(0o700)
    assert command(capsys, "clear").startswith("Deleted 6 entries")


@pytest.mark.parametrize(
    ("words", "variable", "text"),
    [
        (["bundle"], None, "tack cache bundle: There is nothing to bundle"),
        (["bundle", "/no/such/place/b"], None, "tack cache bundle: There is nothing to bundle"),
        (["info"], ("TACK_CACHE", "rw"), "tack cache info: TACK_CACHE='rw': the variable takes"),
        (["prune"], ("TACK_CACHE_SIZE", "much"), "tack cache prune: TACK_CACHE_SIZE='much': the variable takes"),
    ],
)
def test_errors_are_one_message_and_status_1(folder, capsys, monkeypatch, words, variable, text):
    if variable:
        monkeypatch.setenv(*variable)
    assert main(["cache", *words]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(text)
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(
    "words", [[], ["cache"], ["cache", "delete"], ["cach"], ["cache", "info", "--fast"], ["cache", "clear", "all"]]
)
def test_a_wrong_command_line_is_status_2(capsys, words):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tack")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--help"], ["cache"]),
        (["cache", "--help"], ["info", "clear", "prune", "bundle"]),
        (["cache", "bundle", "--help"], ["PATH"]),
    ],
)
def test_help(capsys, words, told):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: tack")
    for word in told:
        assert word in printed


def test_the_command_is_installed():
    project = tomllib.loads((Path(tack.__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"tack": "tack.cli:main"}


def test_python_m_tack(folder):
    """A process of its own: it computes the fingerprint of this Tack."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    runs = [
        subprocess.run(
            [sys.executable, "-m", "tack", "cache", *words], capture_output=True, text=True, env=environment, timeout=60
        )
        for words in (["info"], ["bundle"])
    ]
    assert [run.returncode for run in runs] == [0, 1]
    assert runs[0].stdout.startswith(f"Disk cache: {folder}\nMode: write\n")
    assert runs[1].stderr.startswith("tack cache bundle: There is nothing to bundle")
    assert runs[0].stderr == runs[1].stdout == ""


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1 << 30, "1 GiB"), (3 << 50, "3072 TiB")],
)
def test_sizes_in_words(size, text):
    assert size_text(size) == text
