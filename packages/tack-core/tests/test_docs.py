"""The Python blocks of the README and of the user's guide run as they are printed, each page as one program.

Pages that use a GPU run in a process of their own, on a simulated one.
"""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from fresh_process import run_program

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/users-guide").glob("*.md"))]
SIMULATED = {"backends.md": "cuda"}
GIVEN = {"numpy_image": np.linspace(0.0, 1.0, 48).reshape(6, 8)}  # what a page says the reader has


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path):
    program = program_of(page)
    kind = SIMULATED.get(page.name)
    if kind is not None:
        run_program(program, TACK_SIMULATE=kind)
        return
    file = tmp_path / "page.py"
    file.write_text(program, "utf-8")
    runpy.run_path(str(file), init_globals=GIVEN)


def program_of(page):
    """The Python blocks of a page, one after the other."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, "a page of the guide without a program"
    return "\n".join(blocks)
