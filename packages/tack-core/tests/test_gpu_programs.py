"""Random kernels on a simulated GPU leave what the oracle says, bit for bit. `property/run.py --on cuda` checks any number."""

from pathlib import Path

import pytest
from property.generator import generate, read
from property.simulated import check_simulated

BATCH, COUNT = 45, 225  # some need atomics of 8 or 16 bits, which GPUs lack
CASES = sorted((Path(__file__).parent / "property" / "cases").glob("*.txt"))


@pytest.mark.rule("E1", "E2", "E4", "E5", "F1", "K1", "K2", "K3", "K4", "M1", "M2", "N3", "N4", "N5")
@pytest.mark.rule("T2b", "T3", "T4", "T5", "T6", "T7", "T9", "T10", "T12", "A1", "F2", "M5", "V1", "V2")
@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_random_kernels_have_the_bits_of_the_oracle(first):
    """The oracle's bits are the interpreter's and the CPU's: `test_property` compares the same programs."""
    failures, ran = check_simulated([generate(seed) for seed in range(first, first + BATCH)])
    assert not failures, "\n".join(map(str, failures[:3]))
    assert ran >= 0.8 * BATCH


def test_programs_that_failed_once_have_them_too():
    failures, ran = check_simulated([read(path.read_text(encoding="utf-8")) for path in CASES])
    assert not failures, "\n".join(map(str, failures[:3]))
    assert ran


def test_the_command_goes_on_where_it_stopped(monkeypatch, capsys, tmp_path):
    from property import run

    monkeypatch.setattr(
        "sys.argv", ["run.py", "--on", "cuda", "--count", "3", "--seed", "40", "--batch", "2", "--save", str(tmp_path)]
    )
    assert run.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed 40" and lines[-1].startswith("3 of 3 checked, 0 failed") and lines[-1].endswith("next: --seed 43")


def test_a_wrong_bit_and_a_failed_launch_are_told(monkeypatch):
    """What compares is not blind: a kernel with another constant in it, and one whose launch fails."""
    from gpu_batch import Batch

    import tack

    program = next(p for p in map(generate, range(99)) if "out0" in p.source and "atomic" not in p.source)
    launch = Batch.launch_by

    def other(self, variant, args, *, wide, rows):
        launch(self, variant, args, wide=wide, rows=rows)
        array = next(each for each in args if isinstance(each, tack.Array))
        array._buffer.fill(1 if not array.dtype.shape else [1] * array.dtype.width)

    def fails(self, variant, args, *, wide, rows):
        raise RuntimeError("no launch")

    for fault, what in ((other, ["wrong result"] * 2), (fails, ["RuntimeError"])):
        monkeypatch.setattr(Batch, "launch_by", fault)
        failures, ran = check_simulated([program])
        assert ran == 1 and [each.what for each in failures] == what
