"""Measurements: `python -m benchmarks` prints one table; every figure in the documentation comes from here."""
