"""What the disk cache holds and what became of it, as a value that prints itself for `tack cache info`. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tack import settings
from tack.runtime import cache_bundle, cache_mode, cache_prune, cache_store
from tack.runtime.cache_counts import Counts, no_counts, totals
from tack.runtime.cache_files import KINDS, distrust, read_private

__all__ = ["Info", "size_text", "survey"]

_NAMES = {"ir": "Kernels lowered", "variant": "Variants compiled"}


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One version of Tack: `entries` and `size` (bytes) by kind, and what all its processes that have ended counted."""

    name: str  # of its directory
    text: str  # which Tack it is, in words
    is_own: bool  # whether it is the Tack that runs here
    refused: str  # why it is not used, or ""
    entries: Mapping[str, int]
    size: Mapping[str, int]
    counts: Mapping[str, Counts]


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """A bundle in the cache directory: `entries` is None when it is damaged or cannot be read."""

    name: str
    size: int
    entries: int | None


@dataclass(frozen=True, slots=True)
class Info:
    """The disk cache: its `mode`, its `folder` (None: there is none), why that is not used (`refused`, or ""), its size limit in
    bytes, what it holds, and what this process has counted so far.
    """

    mode: str
    folder: str | None
    refused: str
    limit: int
    versions: tuple[VersionInfo, ...]
    bundles: tuple[BundleInfo, ...]
    process: Mapping[str, Counts]

    @property
    def entries(self) -> int:
        """How many entries all versions have together."""
        return sum(sum(version.entries.values()) for version in self.versions)

    @property
    def size(self) -> int:
        """The bytes of all entries; bundles do not count."""
        return sum(sum(version.size.values()) for version in self.versions)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def survey() -> Info:
    """The disk cache as it is. `ValueError` for a bad variable, `OSError` if its directory cannot be read."""
    folder = cache_mode.folder()
    refused = "" if folder is not None else f"{cache_mode.NOWHERE}; set TACK_CACHE_DIR to an absolute path"
    versions: tuple[VersionInfo, ...] = ()
    bundles: tuple[BundleInfo, ...] = ()
    if folder is not None:
        with suppress(FileNotFoundError):  # nothing was stored yet
            refused = distrust(folder)
            if not refused:
                versions = tuple(map(_version_info, cache_prune.versions(folder)))
                bundles = tuple(_bundles(folder))
    store = cache_store.current()
    process = no_counts() if store is None else store.stats
    return Info(cache_mode.mode(), folder, refused, settings.CACHE_SIZE.read(), versions, bundles, process)


def size_text(size: int) -> str:
    """A number of bytes as people read it."""
    if size < 1 << 10:
        return f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, 4)
    number = size / (1 << 10 * power)
    return f"{number:.{0 if number == int(number) else 1}f} {' KMGT'[power]}iB"


def _version_info(found: cache_prune.VersionFolder) -> VersionInfo:
    name = os.path.basename(found.path)
    text = ""
    with suppress(OSError):
        words = None if found.refused else read_private(os.path.join(found.path, cache_prune.NAME))
        text = words[0].decode(errors="replace").split("\n")[0] if words else ""
    sizes = {kind: [entry.size for entry in found.entries if entry.kind == kind] for kind in KINDS}
    return VersionInfo(
        name,
        text or "unnamed",
        name == cache_store.version()[:16],
        found.refused,
        {kind: len(each) for kind, each in sizes.items()},
        {kind: sum(each) for kind, each in sizes.items()},
        no_counts() if found.refused else totals(found.path),
    )


def _bundles(folder: str) -> Iterator[BundleInfo]:
    for name in sorted(os.listdir(folder)):
        if cache_prune.BUNDLE.fullmatch(name):
            with suppress(FileNotFoundError):  # another process deleted it
                path = os.path.join(folder, name)
                size = os.path.getsize(path)
                entries = None
                with suppress(ValueError, OSError):
                    entries = len(cache_bundle.unpack(cache_bundle.read_bundle(path, own=True), path).entries)
                yield BundleInfo(name, size, entries)


def _lines(info: Info) -> Iterator[str]:
    yield f"Disk cache: {info.folder or 'none'}"
    yield f"Mode: {info.mode}"
    if info.refused:
        yield f"Not used, since {info.refused}"
        return
    yield f"Size: {size_text(info.size)} of at most {size_text(info.limit)}, in {_plural(info.entries, 'entry', 'entries')}"
    for version in info.versions:
        yield ""
        yield f"{version.text} ({version.name}{', this one' * version.is_own})"
        if version.refused:
            yield f"  Not used, since {version.refused}"
            continue
        for kind in KINDS:
            held = f"{_plural(version.entries[kind], 'entry', 'entries')}, {size_text(version.size[kind])}"
            yield f"  {_NAMES[kind]}: {held}; {_counts(version.counts[kind])}"
    if info.bundles:
        yield ""
    for bundle in info.bundles:
        held = "damaged" if bundle.entries is None else _plural(bundle.entries, "entry", "entries")
        yield f"Bundle {bundle.name}: {size_text(bundle.size)}, {held}"
    if any(info.process.values()):
        yield ""
        for kind in KINDS:
            yield f"This process, {_NAMES[kind].lower()}: {_counts(info.process[kind])}"


def _counts(counts: Counts) -> str:
    words = [_plural(counts.hits, "hit", "hits"), _plural(counts.misses, "miss", "misses"), f"{counts.bad} bad"]
    words += [f"{counts.stored} stored"] + [f"{counts.failed} not stored"] * bool(counts.failed)
    return ", ".join(words)


def _plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
