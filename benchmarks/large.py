"""The large kernel of the cold-call rows: classify a cell, interpolate its edges, shade it; about 190 lines, as source text.

The same body serves Tack and Numba, so that both compile the same program.
"""

from __future__ import annotations

import re

import numpy as np

M, ISO = 16, 0.1
HEADS = {
    "tack": "import math\nimport tack\n\n\n@tack.kernel\ndef large(p, out, m, iso):\n    for i in range(m * m * m):\n",
    "numba": "import math\nimport numba\nimport numpy as np\n\n\n@numba.njit(parallel=True)\n"
    "def large(p, out, m, iso):\n    for i in numba.prange(m * m * m):\n",
}
CORNERS = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]


def _cell() -> list[str]:
    lines = ["iz = i // (m * m)", "iy = (i // m) % m", "ix = i % m", "sy = m + 1", "sz = sy * sy", "b = ix + iy * sy + iz * sz"]
    lines += [f"v{k} = p[b + {x} + {y} * sy + {z} * sz]" for k, (x, y, z) in enumerate(CORNERS)]
    lines.append("code = 0")
    for k in range(8):
        lines += [f"if v{k} > iso:", f"    code = code + {1 << k}"]
    return lines


def _edges() -> list[str]:
    lines = [f"{w} = F(0.0)" for w in ("cx", "cy", "cz", "res")] + ["cnt = 0"]
    edges = [(a, c) for a in range(8) for c in range(a + 1, 8) if (a ^ c).bit_count() == 1]
    for e, (a, c) in enumerate(edges):
        lines += [f"if (v{a} - iso) * (v{c} - iso) < F(0.0):", f"    t{e} = (iso - v{a}) / (v{c} - v{a})"]
        for axis, w in enumerate(("cx", "cy", "cz")):
            p, q = float(CORNERS[a][axis]), float(CORNERS[c][axis])
            lines.append(f"    {w} = {w} + F({p})" if p == q else f"    {w} = {w} + F({p}) + t{e} * F({q - p})")
        lines.append("    cnt = cnt + 1")
    return lines


def _shading() -> list[str]:
    lines = [
        "gx = (v1 - v0 + v3 - v2 + v5 - v4 + v7 - v6) * F(0.25)",
        "gy = (v2 - v0 + v3 - v1 + v6 - v4 + v7 - v5) * F(0.25)",
        "gz = (v4 - v0 + v5 - v1 + v6 - v2 + v7 - v3) * F(0.25)",
        "ln = math.sqrt(gx * gx + gy * gy + gz * gz) + F(1e-6)",
        "nx = gx / ln", "ny = gy / ln", "nz = gz / ln",
        "if cnt > 0:", "    inv = F(1.0) / TOF(cnt)",
        "    px = TOF(ix) + cx * inv", "    py = TOF(iy) + cy * inv", "    pz = TOF(iz) + cz * inv",
    ]  # fmt: skip
    for n in range(6):
        lines += [
            f"    lx{n} = F({3.0 + 2 * n}) - px", f"    ly{n} = F({20.0 - 3 * n}) - py", f"    lz{n} = F({-4.0 + n}) - pz",
            f"    d{n} = math.sqrt(lx{n} * lx{n} + ly{n} * ly{n} + lz{n} * lz{n})",
            f"    f{n} = (nx * lx{n} + ny * ly{n} + nz * lz{n}) / d{n}",
            f"    if f{n} > F(0.0):", f"        h{n} = f{n} * f{n}", f"        h{n} = h{n} * h{n} * h{n}",
            f"        res = res + (F({0.5 + 0.1 * n}) * f{n} + F(0.25) * h{n}) * math.exp(F(-0.05) * d{n})",
            "    else:", f"        res = res + F({0.01 * (n + 1)}) * math.sin(d{n})",
        ]  # fmt: skip
    return lines + [
        "    for s in range(4):", "        q = TOF(s) * F(0.3) + px * F(0.1)",
        "        res = res + F(0.05) * math.cos(q) * math.sin(q + py * F(0.2))",
        "else:", "    res = TOF(code) * F(0.001)", "out[i] = res + TOF(cnt) * F(0.125)",
    ]  # fmt: skip


def source(kind: str) -> str:
    """The module text for "tack" or "numba"."""
    body = "".join(f"        {line}\n" for line in _cell() + _edges() + _shading())
    if kind == "numba":
        body = re.sub(r"\bF\(([^)]*)\)", r"np.float32(\1)", body).replace("TOF(", "np.float32(")
    else:
        body = re.sub(r"\bF\(([^)]*)\)", r"\1", body).replace("TOF(", "float(")
    return HEADS[kind] + body


def data() -> tuple[np.ndarray, np.ndarray]:
    """(corner values, flat, f32; an output of 16^3)."""
    g = np.linspace(-1, 1, M + 1, dtype=np.float32)
    z, y, x = np.meshgrid(g, g, g, indexing="ij")
    values = (np.sin(4 * x) * np.cos(3 * y) + 0.7 * np.sin(5 * z)).astype(np.float32)
    return values.ravel().copy(), np.zeros(M**3, np.float32)
