"""Workgroup primitives (W1): refused on the CPU, checked for participation, and right as CUDA C and in the interpreter."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_c import HostUnit
from nvrtc_tools import compile_all
from rule_tools import functions, kernel, refuses

import tack
from tack.codegen.c_family import emit_unit
from tack.codegen.cuda_gen import CUDA
from tack.errors import UnsupportedSyntaxError
from tack.ir.facts import has_collectives, workgroup_features
from tack.ir.interpret import interpret
from tack.ir.nodes import LANES
from tack.ir.types import DTYPES, f32, i32, u8
from tack.ir.uniformity import check_collectives
from tack.runtime.launch_checks import check_workgroup_launch, check_workgroup_support
from tack.testing import kernel_from
from tack.testing.targets import typed

PRIMITIVES = {
    "shared": "s = tack.shared(tack.f32, 256)",
    "shared_like": "s = tack.shared_like(out, 256)",
    "barrier": "tack.barrier()",
    "thread_id": "t = tack.thread_id()",
    "block_sum": "t = tack.block_sum(1.0)",
    "block_min": "t = tack.block_min(i)",
    "block_max": "t = tack.block_max(i)",
}
PLACES = {
    "plain": "{0}\nout[i] = 1",
    "a branch that never runs": "if n < 0:\n    {0}\nout[i] = 1",
    "dead code": "if False:\n    {0}\nout[i] = 1",
    "a loop that runs nothing": "for k in range(0):\n    {0}\nout[i] = 1",
    "after a continue": "out[i] = 1\ncontinue\n{0}",
    "a function": "f(out, i)\nout[i] = 1",
}


def spot(text):
    """The call in a line of PRIMITIVES."""
    return text.rpartition(" = ")[2]


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.rule("W1")
@pytest.mark.spec("back-039", "back-040", "back-044", "back-079", "back-080", "back-081", "back-082")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_cpu_refuses_before_anything_is_compiled(name, place, monkeypatch):
    text = PRIMITIVES[name]
    names = functions(f"@tack.func\ndef f(out, i):\n    if i < 0:\n        {text}\n")
    k = kernel(PLACES[place].format(text), "n, out", "range(out.shape[0])", **names)
    out = tack.full(4, 9.0)
    backend = tack.get_default_device()._backend
    monkeypatch.setattr(type(backend), "build", lambda *_: pytest.fail("something was compiled"))
    for _ in range(2):
        error = refuses(RuntimeError, lambda: k(3, out), "'k'", f"`tack.{name}`", "not supported on CPU", at=spot(text))
        assert "tack.local_array or tack.local_array_like, which work on every device" in str(error)
        assert out.numpy().tolist() == [9.0] * 4
    for mode in ("source", "ir", "asm"):
        refuses(NotImplementedError, lambda mode=mode: tack.inspect(k, 3, out, mode=mode), f"`tack.{name}`", at=spot(text))
    assert not backend._cache.get(k)


@pytest.mark.rule("W1")
def test_the_refusal_names_the_first_primitive_also_in_front_of_the_loop():
    k = kernel("out[i] = 1", "out", before="s = tack.shared(tack.f32, 16)")
    refuses(RuntimeError, lambda: k(tack.zeros(3)), "`tack.shared`", at="tack.shared(tack.f32, 16)")
    # a mistake of the kernel's text comes first
    k = kernel("tack.barrier()\nout[i] = y", "out")
    refuses(NameError, lambda: k(tack.zeros(3)), "'y'", at="y")


def test_primitives_belong_into_kernels():
    for name in PRIMITIVES:
        with pytest.raises(RuntimeError, match=rf"tack\.{name}\(\) belongs inside"):
            getattr(tack, name)()


@pytest.mark.rule("W1", "K2", "K7", "A1")
def test_what_they_do_not_take():
    out = tack.zeros(4)
    cases = [
        ("tack.barrier(1)", TypeError, "0 arguments, not 1", "tack.barrier(1)"),
        ("out[i] = tack.barrier()", TypeError, "returns no value", "tack.barrier()"),
        ("out[i] = tack.thread_id(0)", TypeError, "0 arguments, not 1", "tack.thread_id(0)"),
        ("out[i] = tack.block_sum()", TypeError, "one argument, not 0", "tack.block_sum()"),
        ("out[i] = tack.block_sum(out)", TypeError, "'out' is an array", "out"),
        ("s = tack.shared(tack.f32, 0)\nout[i] = 0", ValueError, "at least one element", "0"),
        ("s = tack.shared(tack.f32, 12289)\nout[i] = 0", ValueError, "49156 bytes, past the 49152", "12289"),
        ("s = tack.shared(tack.i32, 4)\ntack.atomic_add(s, 0, 1)", UnsupportedSyntaxError, "'s' is a shared array", "s"),
    ]
    for body, kind, words, at in cases:
        k = kernel(body, "out")
        if "is an array" in words:  # known with the arguments, which the refusal of the device comes before
            with pytest.raises(TypeError, match=words):
                typed(k, (np.zeros(4, np.float32),), fma=True)
        else:
            refuses(kind, lambda k=k: k(out), words, at=at)
    for text in ("tack.barrier()", "t = tack.block_sum(1)", "t = tack.thread_id()"):
        k = kernel("out[i] = 0", "out", before=text)
        refuses(UnsupportedSyntaxError, lambda k=k: k(out), "outside the parallel loop", at=spot(text))
        names = functions(f"@tack.func\ndef f():\n    {text}\n    return 1\n")
        k = kernel("out[i] = t", "out", before="t = f()", **names)
        refuses(UnsupportedSyntaxError, lambda k=k: k(out), "outside the parallel loop", "called on line", at=spot(text))


# ----------------------------------------------------------------------------------------------------- participation

UNIFORM = {
    "at the top": "tack.barrier()",
    "under a condition on an argument": "if n > 3:\n    tack.barrier()",
    "under a condition on a size and a constant": "if x.shape[0] > 3 and C > 1:\n    tack.barrier()",
    "under a condition on what the prologue read": "if first > 0.0:\n    tack.barrier()",
    "in a loop of uniform bounds": "for k in range(n):\n    tack.barrier()\n    t = tack.block_sum(x[i] * k)",
    "in a loop whose bound is a reduction": "m = tack.block_max(i)\nfor k in range(m):\n    tack.barrier()",
    "in a while on a reduction": "go = 1\nwhile go > 0:\n    tack.barrier()\n    go = tack.block_max(n - 1)",
    "after a varying loop": "for k in range(i):\n    if k > x[i]:\n        break\ntack.barrier()",
    "after a varying continue of an inner loop": "for k in range(n):\n    if k > i:\n        continue\ntack.barrier()",
    "after a function that returns early": "t = early(x[i])\ntack.barrier()",
    "after a uniform continue": "if n > 3:\n    continue\ntack.barrier()",
    "after a uniform break": "for k in range(9):\n    if k > n:\n        break\n    tack.barrier()",
    "with a uniform local changed in uniform code": "s = 0\nfor k in range(n):\n    s += k\nif s > 3:\n    tack.barrier()",
    "a varying value of an expression": "t = tack.block_min(x[i] if i > 3 else 0.0)",
}
VARYING = {
    "a condition on the index": "if i > 3:\n    tack.barrier()",
    "an element": "if x[0] > 3:\n    tack.barrier()",
    "an else branch": "if i > 3:\n    out[i] = 1\nelse:\n    tack.barrier()",
    "the lane": "if tack.thread_id() == 0:\n    tack.barrier()",
    "a local computed from the index": "s = i * 2\nif s > 3:\n    tack.barrier()",
    "a local changed under a varying condition": "s = 0\nif i > 3:\n    s = 1\nif s > 0:\n    tack.barrier()",
    "an old value": "if tack.atomic_add(x, 0, 1.0) > 3:\n    tack.barrier()",
    "a loop of varying range": "for k in range(i):\n    tack.barrier()",
    "a while on an element": "while x[i] > 0:\n    tack.barrier()",
    "after a varying continue": "if i > 3:\n    continue\ntack.barrier()",
    "after a varying break, in the loop": "for k in range(n):\n    tack.barrier()\n    if i > k:\n        break",
    "a conditional expression": "t = tack.block_sum(1) if i > 3 else 0",
    "the right of an and": "t = i > 3 and tack.block_sum(1) > 2",
    "a function called under a condition": "if i > 3:\n    t = reduce(n)",
    "a loop variable of a varying loop": "s = 0\nfor k in range(i):\n    s = k\nif s > 1:\n    tack.barrier()",
    "a count of a varying loop": "s = 0\nwhile s < x[i]:\n    s += 1\nif s > 1:\n    tack.barrier()",
    "a second round of a loop": "s = n\nfor k in range(n):\n    if s > 3:\n        tack.barrier()\n    s = i",
}
FUNCTIONS = functions(
    "@tack.func\ndef early(v):\n    for k in range(9):\n        if v > k:\n            return k\n    return 0\n"
    "@tack.func\ndef reduce(v):\n    return tack.block_sum(v)\n"
)


def collective(body):
    text = body if "out[" in body else f"{body}\nout[i] = 1"
    return kernel(text, "n, x, out", "range(x.shape[0])", before="first = x[0]", C=tack.constant(2), **FUNCTIONS)


GPU = replace(tack.get_default_device()._backend.capabilities, label="GPU", supports_workgroups=True)


@pytest.mark.rule("W1")
@pytest.mark.parametrize("case", UNIFORM)
def test_uniform_control_flow_is_recognised(case):
    template = collective(UNIFORM[case]).template()
    check_workgroup_support(GPU, template)
    assert has_collectives(template)


@pytest.mark.rule("W1")
@pytest.mark.parametrize("case", VARYING)
def test_collectives_that_some_lanes_may_miss_are_refused(case):
    template = collective(VARYING[case]).template()
    words = r"not reached by every lane of a workgroup: the (condition|range) on line \d+ can differ"
    with pytest.raises(ValueError, match=words) as caught:
        check_workgroup_support(GPU, template)
    assert "Kernel 'k'" in str(caught.value) and "the same for all lanes" in str(caught.value)


@pytest.mark.rule("W1")
def test_shared_arrays_and_lane_numbers_alone_need_no_full_groups():
    template = collective("s = tack.shared(tack.f32, 4)\nif i > 3:\n    s[tack.thread_id()] = x[i]").template()
    check_collectives(template)
    assert not has_collectives(template)
    assert list(workgroup_features(template)) == ["shared", "thread_id"]


@pytest.mark.rule("W1")
@pytest.mark.spec("cache-010")
def test_launches_of_collectives_have_full_groups():
    class Variant:
        ir = collective("tack.barrier()").template()
        requires_full_workgroups = True

    for count in (0, LANES, 10 * LANES):
        check_workgroup_launch(Variant, count)
    for count in (1, LANES - 1, LANES + 1):
        with pytest.raises(ValueError, match=rf"launch of {count} iterations has a workgroup without all its 256 lanes"):
            check_workgroup_launch(Variant, count)
    Variant.requires_full_workgroups = False
    check_workgroup_launch(Variant, 3)


# -------------------------------------------------------------------------------------------------- emitted as CUDA C


def emitted(k, args, folder: Path, reverse=False):
    """Runs a kernel as emitted C with real barriers, and in the interpreter, which must agree; the arguments, changed."""
    func = typed(k, args, fma=True)
    compile_all([(func, "k")])
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    HostUnit([(func, "k")], folder).run("k", mine, reverse=reverse)
    interpret(func, theirs, reverse=reverse)
    assert [a.tobytes() for a in mine if isinstance(a, np.ndarray)] == [a.tobytes() for a in theirs if isinstance(a, np.ndarray)]
    return mine


def folded(values, function):
    """A reduction in pairs, as the language defines it."""
    values = list(values)
    while len(values) > 1:
        half = len(values) // 2
        values = [function(a, b) for a, b in zip(values[:half], values[half:], strict=True)]
    return values[0]


@pytest.mark.rule("W1", "T4", "T10")
@pytest.mark.parametrize("op", ["sum", "min", "max"])
def test_block_reductions_of_every_dtype(op, tmp_path):
    """Each lane gets its own group's value, twice, and float sums have the bits of the documented order."""
    rng = np.random.default_rng(11)
    lines, params, args = [], [], []
    for t in DTYPES:
        params += [f"x_{t.name}", f"y_{t.name}"]
        lines.append(f"y_{t.name}[i] = tack.block_{op}(x_{t.name}[i])")
        low = -100 if t.kind != "uint" else 0
        x = rng.integers(low, 100, 2 * LANES) if t.is_int else rng.standard_normal(2 * LANES) * 1000
        args += [x.astype(t.numpy), np.zeros(2 * LANES, t.numpy)]
    text = f"@tack.kernel\ndef k({', '.join(params)}):\n    for i in range(x_i8.shape[0]):\n"
    k = kernel_from(text + "".join(f"        {line}\n" for line in lines))
    for reverse in (False, True):
        out = emitted(k, args, tmp_path, reverse)
        for x, y in zip(args[::2], out[1::2], strict=True):
            for group in (slice(0, LANES), slice(LANES, None)):
                with np.errstate(over="ignore"):
                    function = {"sum": lambda a, b: x.dtype.type(a + b), "min": min, "max": max}[op]
                    expected = folded(x[group], function)
                assert (y[group] == expected).all()


@pytest.mark.rule("W1", "M5")
def test_shared_arrays_barriers_and_lanes(tmp_path):
    """A group turned round through shared memory, a scan with a barrier on each side of every step, and a 2-D shared array."""
    k = kernel(
        """
        lane = tack.thread_id()
        s[lane] = x[i]
        tack.barrier()
        turned[i] = s[255 - lane]
        tack.barrier()
        step = 1
        while step < 256:
            before = s[lane - step] if lane >= step else 0.0
            tack.barrier()
            s[lane] += before
            tack.barrier()
            step *= 2
        scanned[i] = s[lane]
        m = tack.shared_like(lanes, (16, 16))
        m[lane // 16, lane % 16] = lane
        tack.barrier()
        lanes[i] = m[lane % 16, lane // 16]
        """,
        "x, turned, scanned, lanes", "range(x.shape[0])", before="s = tack.shared(tack.f32, 256)",
    )  # fmt: skip
    x = np.random.default_rng(5).integers(0, 9, 2 * LANES).astype(np.float32)
    zeros = np.zeros(2 * LANES, np.float32)
    for reverse in (False, True):
        _, turned, scanned, lanes = emitted(k, (x, zeros, zeros, np.zeros(2 * LANES, np.int32)), tmp_path, reverse)
        groups = x.reshape(2, LANES)
        assert (turned.reshape(2, LANES) == groups[:, ::-1]).all()
        assert (scanned.reshape(2, LANES) == groups.cumsum(1)).all()
        assert (lanes.reshape(2, 16, 16) == np.arange(256).reshape(16, 16).T).all()


@pytest.mark.rule("W1", "A1")
def test_a_group_hands_its_sum_to_an_atomic(tmp_path):
    body = "total = tack.block_sum(x[i])\nif tack.thread_id() == 0:\n    tack.atomic_add(out, 0, total)"
    k = kernel(body, "x, out", "range(x.shape[0])")
    x = np.arange(4 * LANES, dtype=np.int32)
    assert emitted(k, (x, np.zeros(1, np.int64)), tmp_path)[1][0] == x.sum()


@pytest.mark.rule("W1", "T7", "T2b")
def test_what_a_reduction_makes_of_truth_values_and_literals(tmp_path):
    k = kernel(
        "out[i] = tack.block_sum(x[i] > 3)\nout[i] += tack.block_sum(1) * 1000\nwide[i] = tack.block_sum(1 << 40)\n"
        "f[i] = tack.block_sum(0.5)\nn = tack.block_sum(small[i])\nf[i] += n",
        "x, small, out, wide, f", "range(x.shape[0])",
    )  # fmt: skip
    x = np.arange(LANES, dtype=np.int32)
    args = (x, np.full(LANES, 3, np.uint8), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.float32))
    *_, out, wide, f = emitted(k, args, tmp_path)
    assert (out == 252 + 256000).all() and (wide == 1 << 48).all()
    assert (f == 128 + (3 * 256) % 256).all()  # a sum of u8 wraps as u8
    func = typed(k, args, fma=True)
    results = {local.source_name: local.type for local in func.locals if local.source_name.startswith("block")}
    assert f32 in results.values() or i32 in results.values() or u8 in results.values()


def test_a_barrier_that_some_lanes_miss_shows_in_the_emulation(tmp_path):
    """The tool itself: a divergent barrier, which the checks would refuse, is reported."""
    k = kernel("if i < 5:\n    tack.barrier()\nout[i] = 1", "out")
    with pytest.raises(AssertionError, match="barrier that others do not reach"):
        emitted(k, (np.zeros(LANES, np.float32),), tmp_path)


@pytest.mark.rule("W1", "A1")
def test_nvrtc_takes_all_of_it_for_every_dtype():
    kernels = []
    for t in DTYPES:
        ops = ("add", "min", "max") if t.bits >= 32 else ()
        atomics = "".join(f"old[i] = tack.atomic_{op}(x, i % 3, v)\n" for op in ops)
        body = f"""
        v = x[i]
        t = tack.local_array(tack.{t.name}, (2, 3))
        s = tack.shared(tack.{t.name}, 256)
        s[tack.thread_id()] = v
        t[1, 2] = v
        tack.barrier()
        """
        k = kernel(
            body + atomics.replace("\n", "\n        ") + "old[i] = t[1, i % 3] + s[255 - tack.thread_id()] + tack.block_sum(v)\n"
            "        old[i] += tack.block_min(v) + tack.block_max(v)", "x, old", "range(x.shape[0])",
        )  # fmt: skip
        args = (np.zeros(LANES, t.numpy), np.zeros(LANES, t.numpy))
        kernels.append((typed(k, args, fma=True), f"k_{t.name}"))
    for arch in ("compute_75", "compute_90", "compute_120"):
        text = compile_all(kernels, arch)["k_i32"]
        assert re.search(r"atom[\w.]*\.add\.", text) and "bar.sync" in text and ".shared" in text
    source = emit_unit(kernels, CUDA)
    assert "atomicCAS" in source and "__syncthreads();" in source and "__shared__ f64 v_s[256];" in source
