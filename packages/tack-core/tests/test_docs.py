"""The Python blocks of the README and of the user's guide run as they are printed, each page as one program."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/users-guide").glob("*.md"))]
GIVEN = {"numpy_image": np.linspace(0.0, 1.0, 48).reshape(6, 8)}  # what a page says the reader has


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, "a page of the guide without a program"
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), "utf-8")
    runpy.run_path(str(program), init_globals=GIVEN)
