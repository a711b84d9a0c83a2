"""`tack doctor`: what is installed here, which devices can be started and what the others lack, the cache, and the settings.

It answers where nothing else works, so it starts no device and shows what is wrong instead of failing.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tack import cache, settings
from tack.runtime.cache_report import size_text
from tack.runtime.cpu_topology import available_cpus, default_threads
from tack.runtime.device_report import DeviceInfo, devices

__all__ = ["add"]

_GOOD, _BAD, _DIM = "green", "yellow", "dim"


def add(commands: Any) -> None:
    """Adds `doctor` to the commands of the parser."""
    about = "what Tack finds on this machine: devices, what the others lack and how to install it, cache, settings"
    parser = commands.add_parser("doctor", help=about, description=f"Shows {about}.")
    parser.set_defaults(run=_run, name="tack doctor")


def _run(_: argparse.Namespace) -> str:
    console = Console(highlight=False, soft_wrap=True)  # commands are copied, so no line is broken
    with console.capture() as shown:
        for title, lines in (
            ("", _versions()),
            ("Devices", _devices()),
            ("CPU", _cpu()),
            ("Cache", _cache()),
            ("Settings", _set()),
        ):
            if title:
                console.print(Text(f"\n{title}", style="bold"))
            for line in lines:
                console.print(line)
    return shown.get().rstrip("\n")


def _line(name: str, value: str, style: str = "") -> Text:
    return Text("  ").append(f"{name:<12}").append(value, style=style)


def _versions() -> Iterator[Text]:
    folder = Path(__file__).resolve().parent.parent
    yield Text(f"Tack {_version('tack-core')} in {folder}")
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "llvmlite"))
    yield Text(f"{platform.python_implementation()} {platform.python_version()} in {sys.prefix}, {packages}")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _devices() -> Iterator[Text]:
    for row in devices():
        yield from _device(row)


def _device(row: DeviceInfo) -> Iterator[Text]:
    if row.available:
        yield _line(row.spec, row.found, _GOOD)
        return
    yield _line(row.spec, row.missing, _BAD)
    for text in filter(None, (row.found, row.install)):
        yield _line("", f"  {text}", _DIM)


def _cpu() -> Iterator[Text]:
    try:
        from tack.runtime.cpu_jit import target_key

        _, triple, cpu, _, bits = target_key()
        yield _line("target", f"{triple}, {cpu}, vectors of {bits} bits")
    except (ImportError, OSError) as error:
        yield _line("target", f"unknown: {error}", _BAD)
    try:
        threads = settings.CPU_THREADS.read() or default_threads()
        yield _line("threads", f"{threads}, of {len(available_cpus())} logical CPUs that this process may use")
    except ValueError as error:
        yield _line("threads", str(error), _BAD)


def _cache() -> Iterator[Text]:
    try:
        info = cache.info()
    except (OSError, ValueError) as error:
        yield _line("unusable", str(error), _BAD)
        return
    yield _line("folder", info.folder or "none")
    yield _line("mode", info.mode)
    if info.refused:
        yield _line("not used", info.refused, _BAD)
    else:
        yield _line("size", f"{size_text(info.size)} of at most {size_text(info.limit)}, entries: {info.entries}")


def _set() -> Iterator[Text]:
    given = [row for row in settings.SETTINGS if row.given()]
    for row in given:
        try:
            row.read()
        except ValueError as error:
            yield Text(f"  {error}", style=_BAD)
        else:
            yield Text(f"  {row.name}={row.given()}")
    if not given:
        yield Text("  no TACK_ variable is set", style=_DIM)
