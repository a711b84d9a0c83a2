"""Kernels of vectors and matrices as emitted CUDA C: they give the CPU's bits, and NVIDIA's compiler takes them (V1, E5)."""

from pathlib import Path

import numpy as np
import pytest
from host_c import HostUnit
from nvrtc_tools import compile_all
from rule_tools import functions, kernel
from vector_tools import OTHERS, VECTORS

import tack
from tack.runtime.cpu_jit import has_fma
from tack.testing.targets import host_args, typed

BODIES = (
    "out[i] = a[i] + b[i] * 2.0",
    "out[i] = a[i].cross(b[i]).normalized() * a[i].dot(b[i])",
    "out[i] = m[i] @ a[i] - a[i] @ m[i].transpose()",
    "out[i] = m[i].inverse() @ b[i] * m[i].determinant()",
    "out[i] = out[i].zxy + a[i].outer(b[i])[i % 3, 2]",
    "out[i] = tack.select(a[i] < b[i], a[i], floor(b[i]))\nout[i].y += 1.0\nout[i][i % 3] *= 3.0",
    "v = a[i]\nv[i % 3] = v.x if any(a[i] > b[i]) else 2.0\nout[i] = v if all(v > -3.0) else -v",
    "n = m[i]\nn[i % 3, 1] = 0.5\nn[0, 0], n[1, 1] = n[1, 1], n[0, 0]\nout[i] = n @ a[i]",
    "out[i] = clamped(a[i], b[i].min(), 2.0) + tack.i32(b[i]) // 2",
    "t = [0.0, 0.0, 0.0]\nfor k in range(4):\n    t += a[k] * k\n    if t.norm() > 3.0:\n        break\nout[i] = t",
    "t = tack.local_array(tack.vec3, 2)\nt[0] = a[i]\nt[1] = t[0].yzx\nout[i] = t[1] - t[0]",
)


@pytest.mark.rule("V1", "V2", "E2", "E5")
def test_emitted_c_gives_the_bits_of_the_cpu(tmp_path: Path) -> None:
    names = functions("@tack.func\ndef clamped(v, low, high):\n    return min(max(v, low), high)\n")
    matrices = np.linspace(-2, 3, 36, dtype=np.float32).reshape(4, 3, 3) ** 2 + np.eye(3, dtype=np.float32)
    units, expected = [], []
    for n, body in enumerate(BODIES):
        k = kernel(body, "a, b, m, out", **names)
        args = [tack.array(VECTORS, tack.vec3), tack.array(OTHERS, tack.vec3), tack.array(matrices, tack.mat3)]
        args.append(tack.ones(4, tack.vec3))
        units.append((k, typed(k, args, fma=has_fma()), f"vectors{n}", [a.copy() for a in args]))
        k(*args)
        expected.append(args[-1].numpy())
    kernels = [(func, entry) for _, func, entry, _ in units]
    compile_all(kernels)
    library = HostUnit(kernels, tmp_path)
    for (k, _, entry, args), wanted in zip(units, expected, strict=True):
        library.run(entry, host_args(k, args))
        np.testing.assert_array_equal(args[-1].numpy(), wanted, entry)
