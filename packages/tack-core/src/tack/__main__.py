"""`python -m tack`: the command line of `tack.cli`."""

from __future__ import annotations

import sys

from tack.cli import main

if __name__ == "__main__":
    sys.exit(main())
