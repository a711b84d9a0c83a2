"""Single PTX instructions on columns of operands: a kernel for each, all in one module, one lane for each row."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sim_tools import run

__all__ = ["HEADER", "Case", "check", "columns", "ptx_of"]

HEADER = ".version 8.5\n.target sm_75\n.address_size 64\n"
ROWS = 160
_EDGES = (0, 1, 2, 3, 5, 7, -1, -2, -7, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF)
_FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-45,
    -1e-40,
    1.2e-38,
    3e38,
    1e9,
    -1e10,
    127.5,
    255.4999,
    65535.7,
    2147483647.0,
    -2147483648.0,
    4294967296.0,
    9.3e18,
    -1e19,
    1.9e19,
)


@dataclass(frozen=True)
class Case:
    """`opcode` on operands of some types ("small": u32 below 300, "=5": the literal 5), and what it gives, as a Python function.

    Integer results are taken modulo the width of the result's type.
    """

    opcode: str
    operands: tuple[str, ...]
    result: str
    expected: Callable[..., Any]


def columns(operands: Sequence[str], rows: int = ROWS) -> list[np.ndarray | int]:
    """Values of each operand: edges met with edges, and random ones."""
    rng = np.random.default_rng(len(operands) * 1000 + sum(map(len, operands)))
    found: list[np.ndarray | int] = []
    for t in operands:
        if t.startswith("="):
            found.append(int(t[1:]))
            continue
        if t == "small":
            found.append(rng.integers(0, 300, rows).astype("u4") % rng.choice([3, 9, 33, 70, 300], rows).astype("u4"))
            continue
        bits = int(t[1:])
        if t[0] == "f":
            edges = np.array(_FLOATS, f"f{bits // 8}") if bits == 64 else np.array(_FLOATS, "f8").astype("f4")
            word = rng.integers(0, 1 << 63, rows, dtype="u8") * 2 + rng.integers(0, 2, rows, dtype="u8")
            wild = word.astype(f"u{bits // 8}").view(f"f{bits // 8}")
            plain = (rng.normal(size=rows) * 10.0 ** rng.integers(-3, 12, rows)).astype(wild.dtype)
            value = np.where(rng.random(rows) < 0.5, rng.choice(edges, rows), np.where(rng.random(rows) < 0.5, plain, wild))
            found.append(value.astype(wild.dtype))
            continue
        edges = [e % (1 << bits) for e in (*_EDGES, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << bits) - 1)]
        wild = rng.integers(0, 1 << 63, rows, dtype="u8") * 2 + rng.integers(0, 2, rows, dtype="u8")
        picks = rng.choice(np.array(edges, "u8"), rows)
        value = np.where(rng.random(rows) < 0.6, picks, wild)
        found.append(value.astype(f"u{bits // 8}").view(f"{'i' if t[0] == 's' else 'u'}{bits // 8}"))
    return found


_HOLDS = {8: "%rs", 16: "%rs", 32: "%r", 64: "%rd"}


def _width(t: str) -> int:
    return 32 if t in ("small", "pred") else int(t[1:])


def ptx_of(cases: Sequence[Case]) -> str:
    """A module with kernel k0, k1, ... for each case: parameters out and the columns that are no literals."""
    kernels: list[str] = []
    for n, case in enumerate(cases):
        inputs = [t for t in case.operands if not t.startswith("=")]
        params = ", ".join(f".param .u64 p{k}" for k in range(len(inputs) + 1))
        lines = ["mov.u32 %r1, %tid.x;"]
        names: list[str] = []
        for k, t in enumerate(inputs, 1):
            width = _width(t)
            lines += [f"ld.param.u64 %rd1, [p{k}];", f"mad.wide.u32 %rd2, %r1, {width // 8}, %rd1;"]
            lines.append(f"ld.global.b{width} {_HOLDS[width]}{10 + k}, [%rd2];")
            names.append(f"{_HOLDS[width]}{10 + k}")
        listed = iter(names)
        operands = [t[1:] if t.startswith("=") else next(listed) for t in case.operands]
        width = _width(case.result)
        dest = "%p1" if case.result == "pred" else f"{_HOLDS[width]}5"
        lines.append(f"{case.opcode} {dest}, {', '.join(operands)};")
        if case.result == "pred":
            lines.append("selp.u32 %r5, 1, 0, %p1;")
        lines += [
            "ld.param.u64 %rd1, [p0];",
            f"mad.wide.u32 %rd2, %r1, {width // 8}, %rd1;",
            f"st.global.b{width} [%rd2], {_HOLDS[width]}5;",
        ]
        regs = ".reg .pred %p<5>; .reg .b16 %rs<30>; .reg .b32 %r<30>; .reg .b64 %rd<30>;"
        kernels.append(f".visible .entry k{n}({params}) {{ {regs}\n" + "\n".join(lines) + "\nret; }")
    return HEADER + "\n".join(kernels)


def _same(got: Any, expected: Any, t: str) -> bool:
    if t[0] == "f":
        width = int(t[1:])
        word = "<I" if width == 32 else "<Q"
        want = np.float32(expected) if width == 32 else np.float64(expected)
        if np.isnan(want) and struct.pack(word, 0x7FFFFFFF) == np.asarray(got).tobytes():
            return True  # what arithmetic gives in single precision
        if np.isnan(want) and width == 64:
            return bool(np.isnan(got))
        return np.asarray(want).tobytes() == np.asarray(got).tobytes()
    return int(got) % (1 << _width(t)) == int(expected) % (1 << _width(t))


def check(cases: Sequence[Case]) -> None:
    """Runs all cases and compares every row."""
    ptx = ptx_of(cases)
    wrong: list[str] = []
    for n, case in enumerate(cases):
        values = columns(case.operands)
        width = _width(case.result)
        out = np.zeros(ROWS, f"{'f' if case.result[0] == 'f' else 'u'}{width // 8}")
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        fault = run(ptx, f"k{n}", [out, *arrays], block=ROWS)
        assert fault is None, (case.opcode, fault)
        for row in range(ROWS):
            args = [
                v[row] if isinstance(v, np.ndarray) and v.dtype.kind == "f" else int(v[row]) if isinstance(v, np.ndarray) else v
                for v in values
            ]
            with np.errstate(all="ignore"):
                expected = case.expected(*args)
            if not _same(out[row], expected, case.result):
                wrong.append(f"{case.opcode} {args}: {out[row]!r}, expected {expected!r}")
                break
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong[:20])
