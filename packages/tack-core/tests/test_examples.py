"""Each program in `examples/` runs as a user would run it, on the CPU and on a simulated GPU, and says what it cannot read."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = sorted(p.name for p in EXAMPLES.glob("*.py"))
# Arguments that make a program leave its results in the test's folder.
ARGUMENTS = {"terrain.py": ["--out", "picture.png"]}


def start(folder, program, *arguments, **variables):
    """Runs a program in `folder`, with warnings as errors; `variables` are added to its environment."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / program), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ | variables)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_run(program, tmp_path):
    done = start(tmp_path, program, *ARGUMENTS.get(program, []))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() and not done.stderr.strip()


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_run_on_a_simulated_gpu(program, tmp_path):
    done = start(tmp_path, program, *ARGUMENTS.get(program, []), TACK_SIMULATE="cuda", TACK_DEVICE="cuda")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() and not done.stderr.strip()


@pytest.mark.slow
def test_the_terrain_demo_agrees_with_numpy_and_writes_a_picture(tmp_path):
    """On elevation data of the user's, as npz."""
    y, x = np.mgrid[0:60, 0:80].astype(np.float32)
    heights = 300 + 80 * np.sin(x / 9) * np.cos(y / 7) + 0.5 * x
    np.savez(tmp_path / "hills.npz", elevation=heights)
    done = start(tmp_path, "terrain.py", "hills.npz", "--out", "hills.png")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "hills.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    lines = done.stdout.splitlines()
    head = next(n for n, line in enumerate(lines) if "largest difference" in line)
    rows = lines[head + 1 : lines.index("", head)]
    assert len(rows) == 5
    for row in rows:
        difference = float(row.split()[-1])
        assert difference < 0.05, row
    assert any("Compiling" in line for line in lines)


def bad_files(folder):
    """Files that hold no elevation data."""
    (folder / "text.npz").write_text("this is no archive")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    (folder / "broken.tif").write_bytes(b"II*\0" + b"\xff" * 40)
    (folder / "terrain.xyz").write_text("1 2 3")
    (folder / "folder.npz").mkdir()
    np.savez(folder / "flat.npz", z=np.arange(12.0))
    np.savez(folder / "words.npz", z=np.array([["a", "b"], ["c", "d"]]))
    np.savez(folder / "nothing.npz", z=np.full((5, 5), np.nan, np.float32))


BAD = ["missing.npz", "text.npz", "broken.png", "broken.tif", "terrain.xyz", "folder.npz", "flat.npz", "words.npz", "nothing.npz"]


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gives_one_clear_line(name, tmp_path):
    bad_files(tmp_path)
    done = start(tmp_path, "terrain.py", name, "--out", "picture.png")
    assert done.returncode == 1, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert "Traceback" not in line and name in line
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.slow
def test_a_picture_that_cannot_be_written_gives_one_clear_line(tmp_path):
    done = start(tmp_path, "terrain.py", "--out", "no/such/folder/picture.png")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "no/such/folder/picture.png" in line
