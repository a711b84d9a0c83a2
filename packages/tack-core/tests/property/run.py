"""Checks any number of random programs, and goes on where it stopped.

    python packages/tack-core/tests/property/run.py --count 20000 --seed 0
    python packages/tack-core/tests/property/run.py --count 2000 --seed 0 --on cuda

The first checks the passes' result in the interpreter and on the CPU, the second on a simulated GPU. Prints the next seed after
each batch: give it as `--seed` to resume. A failing program is shrunk and saved in `--save`, by default beside this file in
`cases/`, where the tests find it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from property.check import Failure, check  # noqa: E402
from property.generator import Program, generate  # noqa: E402
from property.shrink import shrink  # noqa: E402

Check = Callable[[Sequence[Program]], tuple[list[Failure], int]]


def on_simulated_gpu() -> Check:
    from property.simulated import check_simulated  # which loads the simulator

    return check_simulated


CHECKS: dict[str, Callable[[], Check]] = {"cpu": lambda: check, "cuda": on_simulated_gpu}


def main() -> int:
    """The command; 1 if a program failed."""
    parser = argparse.ArgumentParser(description="Check random programs.")
    parser.add_argument("--count", type=int, default=1000, help="programs to check (1000)")
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000, help="the first program's seed (from the clock)")
    parser.add_argument("--batch", type=int, default=40, help="programs compiled together (40)")
    parser.add_argument("--on", choices=CHECKS, default="cpu", help="where they run: cpu, or cuda, a simulated GPU (cpu)")
    parser.add_argument("--save", type=Path, default=HERE / "cases", help="where failing programs go")
    options = parser.parse_args()
    end, failed, start = options.seed + options.count, 0, time.perf_counter()
    checked = CHECKS[options.on]()
    print(f"seed {options.seed}", flush=True)
    for first in range(options.seed, end, options.batch):
        seeds = range(first, min(first + options.batch, end))
        failures, _ = checked([generate(seed) for seed in seeds])
        by_seed = {failure.program.seed: failure for failure in reversed(failures)}
        for failure in by_seed.values():
            failed += 1
            print(f"seed {failure.program.seed} FAILS, {failure.how}: {failure.what}: {failure.detail}", flush=True)
            save(shrunk(failure, checked), options.save)
        done = seeds.stop - options.seed
        rate = done / (time.perf_counter() - start)
        print(f"{done} of {options.count} checked, {failed} failed, {rate:.0f} a second; next: --seed {seeds.stop}", flush=True)
    return 1 if failed else 0


def shrunk(failure: Failure, check: Check) -> Program:
    """A smaller program that fails in the same way."""

    def fails(program: Program) -> bool:
        found, _ = check([program])
        return any((f.how, f.what) == (failure.how, failure.what) for f in found)

    return shrink(failure.program, fails)


def save(program: Program, folder: Path) -> None:
    """Writes the program where the tests find it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed_{program.seed}.txt"
    path.write_text(program.text(), encoding="utf-8")
    print(f"saved {path}\n{program.source}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
