"""The simulated device finds faults in Tack's own code: each row of the table plants one and says what must be found of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import planted
import pytest


class Machine:
    """A process that runs rows on simulated devices."""

    def __init__(self, told) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TACK_CACHE": "off"}
        for name in ("TACK_SIMULATE", "TACK_DEVICE"):
            environment.pop(name, None)
        self.told = told
        self.process = subprocess.Popen(
            [sys.executable, planted.__file__], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told,
        )  # fmt: skip
        self.answer()

    def run(self, row):
        """What the row's program does without the fault, and with it."""
        print(row.name, file=self.process.stdin, flush=True)
        return json.loads(self.answer())

    def answer(self):
        line = self.process.stdout.readline()
        if not line:  # it has ended
            self.told.seek(0)
            pytest.fail(self.told.read())
        return line


@pytest.fixture(scope="module")
def machine():
    with tempfile.TemporaryFile("w+") as told:
        made = Machine(told)
        yield made
        made.process.stdin.close()
        made.process.wait(timeout=60)
        made.process.stdout.close()
        told.seek(0)
        assert not made.process.returncode, told.read()


def is_right(numbers, row, seed):
    return np.array_equal(np.asarray(numbers), np.asarray(row.expected(seed)))


@pytest.mark.parametrize("row", planted.TABLE, ids=lambda row: row.name)
def test_the_simulator_catches(row, machine):
    healthy, faulty = machine.run(row)
    assert not healthy["reports"] and not healthy["leaks"], healthy
    if row.refused:
        assert healthy["error"].startswith(row.refused), healthy["error"]
    else:
        assert not healthy["error"], healthy["error"]
        assert is_right(healthy["numbers"], row, planted.SEEDS[0]), healthy["numbers"]

    assert [each["kind"] for each in faulty["reports"]] == list(row.reports), faulty
    assert row.fails in faulty["error"] and bool(row.fails) == bool(faulty["error"]), faulty["error"]
    assert [each for each in faulty["leaks"] if row.leaks in each] if row.leaks else not faulty["leaks"], faulty["leaks"]
    if row.at is not None:
        name, line = row.place()
        last = faulty["reports"][-1]
        assert (os.path.basename(last["file"]), last["line"]) == (name, line), last
        assert last["kernel"] in (f"k_{name}", f"k_{name}_narrow")
    if not (row.reports or row.leaks):
        assert not is_right(faulty["numbers"], row, planted.SEEDS[1]), "the fault has changed nothing"


def test_the_table_has_the_faults_of_the_issue():
    assert len(planted.TABLE) == len({row.name for row in planted.TABLE}) >= 16
    assert {kind for row in planted.TABLE for kind in row.reports} >= {
        "freed while in flight", "no current context", "barrier divergence", "shared memory race", "wrong argument size",
        "double free", "host pointer", "not device memory", "uninitialized shared memory", "out of bounds",
    }  # fmt: skip
