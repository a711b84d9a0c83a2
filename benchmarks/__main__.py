"""`python -m benchmarks [--quick] [throughput] [latency]`: prints one table; exit status 1 if a goal is missed."""

from __future__ import annotations

import argparse
import os
import platform
import sys

import numpy as np


def _machine() -> str:
    """The processor, its vector instructions and how busy it is: what the figures depend on."""
    name, flags = platform.processor() or platform.machine(), ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        name = next((v.strip() for k, v in fields.items() if k.startswith("model name")), name)
        present = next((v.split() for k, v in fields.items() if k.startswith("flags")), [])
        flags = " ".join(f for f in ("avx2", "fma", "avx512f") if f in present)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"{name} [{flags}], {os.cpu_count()} CPUs, load {load:.2f}, Python {platform.python_version()}, NumPy {np.__version__}"


def _verdict(ratio: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return f"goal {goal:g}: {'reached' if ratio <= goal else 'MISSED'}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts that were asked for, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("parts", nargs="*", metavar="part", help="throughput, latency (default: both)")
    parser.add_argument("--quick", action="store_true", help="small data: checks that everything runs, no figures to quote")
    options = parser.parse_args(arguments)
    parts = options.parts or ["throughput", "latency"]
    unknown = set(parts) - {"throughput", "latency"}
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are: throughput, latency")
    print(_machine())
    missed = False
    if "throughput" in parts:
        from benchmarks import throughput

        print("\nSteady state, 1 thread, time over C++ (g++ -O3 -march=native)")
        print(f"{'row':<34}{'Tack best':>12}{'median':>11}{'C++ best':>12}{'median':>11}{'ratio':>8}")
        for name, t, goal in throughput.measure(options.quick):
            times = "".join(
                f"{v * 1e3:>{w}.3f} ms" for v, w in ((t.best, 9), (t.median, 8), (t.reference_best, 9), (t.reference_median, 8))
            )
            print(f"{name:<34}{times}{t.ratio:>8.3f}  {_verdict(t.ratio, goal)}")
            missed |= t.ratio > goal
    if "latency" in parts:
        from benchmarks import latency

        print("\nLatency\n" + f"{'row':<46}{'divided by':<32}{'ratio':>8}")
        for name, other, ratio, goal in latency.measure():
            print(f"{name:<46}{other:<32}{ratio:>8.3f}  {_verdict(ratio, goal)}")
            missed |= goal is not None and ratio > goal
    return int(missed and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
