"""The command `tack`, also `python -m tack`: finds the command's function and prints its errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tack.cli import cache, doctor

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line, by default the process' own; the exit status: 0 done, 1 failed. A wrong one exits with 2."""
    parser = argparse.ArgumentParser(prog="tack", description="Python functions compiled to parallel kernels.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    cache.add(commands)
    doctor.add(commands)
    chosen = parser.parse_args(arguments)
    try:
        print(chosen.run(chosen))
    except (OSError, RuntimeError, ValueError) as error:  # what users can mend
        print(f"{chosen.name}: {error}", file=sys.stderr)
        return 1
    return 0
