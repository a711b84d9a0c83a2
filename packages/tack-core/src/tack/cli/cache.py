"""`tack cache info|clear|prune|bundle`: what the functions of `tack.cache` return, in words."""

from __future__ import annotations

import argparse
from typing import Any

from tack import cache
from tack.runtime.cache_bundle import bundle_path
from tack.runtime.cache_mode import folder
from tack.runtime.cache_prune import Removed
from tack.runtime.cache_report import size_text
from tack.runtime.cache_store import version

__all__ = ["add"]


def add(commands: Any) -> None:
    """Adds `cache` and its commands to those of the parser."""
    about = "the disk cache of compiled kernels"
    parser = commands.add_parser("cache", help=about, description=f"Shows and empties {about}.")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(actions, "info", _info, "what the cache holds: versions, entries, sizes, hits and misses, damaged entries")
    _add(actions, "clear", _clear, "delete everything that the cache has stored")
    _add(actions, "prune", _prune, "delete the least recently used entries past TACK_CACHE_SIZE")
    bundle = _add(actions, "bundle", _bundle, "write all entries of this version of Tack to one file, for MPI jobs")
    bundle.add_argument("path", nargs="?", metavar="PATH", help="the file (default: where MPI jobs look for it)")


def _add(actions: Any, name: str, run: Any, about: str) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    parser.set_defaults(run=run, name=f"tack cache {name}")
    return parser


def _info(_: argparse.Namespace) -> str:
    return str(cache.info())


def _clear(_: argparse.Namespace) -> str:
    return _removed(cache.clear())


def _prune(_: argparse.Namespace) -> str:
    return _removed(cache.prune())


def _bundle(chosen: argparse.Namespace) -> str:
    count = cache.bundle(chosen.path)
    path = chosen.path or bundle_path(folder() or "", version())
    return f"{count} {'entry' if count == 1 else 'entries'} in {path}"


def _removed(removed: Removed) -> str:
    return f"Deleted {removed.entries} {'entry' if removed.entries == 1 else 'entries'}, {size_text(removed.size)}"
