"""Programs that tests run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap


def run_program(code: str, **env: str) -> str:
    """What a Python program prints; `env` are variables of its environment. It is a file, since kernels need their source."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(code))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **env}
        done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
