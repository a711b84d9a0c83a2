"""Control flow, predicates, scopes and generic addresses in hand-written PTX, and what the parser takes and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_cases import HEADER
from sim_tools import Device, compiled, run

from tack_sim import engine

REGS = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"


def kernel(body: str, params: str = ".param .u64 out", before: str = "") -> str:
    return f"{HEADER}{before}\n.visible .entry k({params}) {{ {REGS}\n{body}\nret; }}"


OUT = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;"


def results(ptx: str, lanes: int = 8) -> list[int]:
    out = np.zeros(lanes, "i4")
    assert run(ptx, "k", [out], block=lanes) is None
    return out.tolist()


def test_branch_tables() -> None:
    body = f"""{OUT} mov.u32 %r2, 0; and.b32 %r3, %r1, 3;
        TABLE: .branchtargets A, B, C, B;
        brx.idx %r3, TABLE;
        A: add.s32 %r2, %r2, 100;
        B: add.s32 %r2, %r2, 10;
        C: st.global.u32 [%rd1], %r2;"""
    assert results(kernel(body), 4) == [110, 10, 0, 10]
    found = run(kernel(body.replace("and.b32 %r3, %r1, 3", "mov.u32 %r3, %r1")), "k", [np.zeros(5, "i4")], block=5)
    assert found is not None
    assert (found.kind, found.lane) == ("bad branch", 4)


def test_predicated_instructions_keep_the_old_value() -> None:
    body = f"""{OUT} setp.lt.u32 %p1|%p2, %r1, 3; mov.u32 %r2, 7; @%p1 mov.u32 %r2, 1; @!%p1 add.s32 %r2, %r2, %r1;
        @%p2 st.global.u32 [%rd1], %r2; @%p1 st.global.u32 [%rd1], 5; @!%p2 ret; st.global.u32 [%rd1], %r2;"""
    assert results(kernel(body)) == [5, 5, 5, 10, 11, 12, 13, 14]


def test_combined_predicates_and_both_results() -> None:
    body = f"""{OUT} setp.gt.u32 %p1, %r1, 1; setp.lt.and.u32 %p2|%p3, %r1, 4, %p1; setp.eq.or.u32 %p4, %r1, 7, !%p1;
        selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; selp.u32 %r4, 4, 0, %p4; add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4;
        st.global.u32 [%rd1], %r2;"""
    expected = [(1 < n < 4) + 2 * (n >= 4 and n > 1) + 4 * (n == 7 or n <= 1) for n in range(8)]
    assert results(kernel(body)) == expected


def test_loops_carry_registers_and_registers_start_as_zero() -> None:
    body = f"""{OUT} LOOP: add.s32 %r5, %r5, 2; setp.lt.s32 %p1, %r5, %r1; @%p1 bra LOOP; st.global.u32 [%rd1], %r5;"""
    assert results(kernel(body)) == [2, 2, 2, 4, 4, 6, 6, 8]


def test_scopes_have_registers_of_their_own() -> None:
    body = f"""{OUT} mov.u32 %r2, 1; {{ .reg .b32 %r2; .reg .b32 t; mov.u32 %r2, 50; mov.b64 {{t, _}}, 0x500000004;
        {{ .reg .b32 t; mov.b64 {{_, t}}, 0x700000000; add.s32 %r3, t, %r2; }} add.s32 %r3, %r3, t; }}
        add.s32 %r3, %r3, %r2; st.global.u32 [%rd1], %r3;"""
    assert results(kernel(body), 1) == [50 + 7 + 4 + 1]


def test_packing_and_wider_registers() -> None:
    body = f"""{OUT} mov.b32 %r2, 0x80FF7F01; mov.b32 {{%rs1, %rs2}}, %r2; cvt.s32.s8 %r3, %rs1; cvt.s32.s16 %r4, %rs2;
        mov.b32 %r5, {{%rs2, %rs1}}; st.global.u32 [%rd1], %r3; st.global.u32 [%rd1+4], %r4; st.global.u32 [%rd1+8], %r5;
        mov.u64 %rd2, -2; st.global.u8 [%rd1+12], %rd2; ld.global.s8 %rd3, [%rd1+12]; st.global.u32 [%rd1+16], %rd3;"""
    out = np.zeros(8, "i4")
    assert run(kernel(body), "k", [out]) is None
    assert out.view("u4")[:5].tolist() == [1, 0xFFFF80FF, 0x7F0180FF, 0xFE, 0xFFFFFFFE]


def test_vectors_of_32_bytes() -> None:
    body = """ld.param.u64 %rd1, [out]; ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
        st.global.v8.b32 [%rd1+32], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};"""
    out = np.arange(16, dtype="i4")
    assert run(kernel(body), "k", [out]) is None
    assert out.tolist() == [*range(8), *range(7, -1, -1)]
    found = run(kernel(body), "k", [np.zeros(15, "i4")])
    assert found is not None
    assert (found.kind, found.size) == ("out of bounds", 32)


def test_addresses_into_param_space() -> None:
    body = f"""{OUT} mov.b64 %rd2, words; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd2, %rd3;
        ld.param.u32 %r2, [%rd2]; st.global.u32 [%rd1], %r2;"""
    ptx = kernel(body, ".param .u64 out, .param .align 4 .b8 words[16]")
    out, words = np.zeros(4, "i4"), np.array([3, 1, 4, 1], "i4").tobytes()
    assert run(ptx, "k", [out, words], block=4) is None
    assert out.tolist() == [3, 1, 4, 1]
    found = run(ptx, "k", [np.zeros(9, "i4"), words], block=9)
    assert found is not None
    assert (found.kind, found.lane) == ("out of bounds", 4)


GENERIC = r"""
__device__ __noinline__ float take(const float* p, int i) { return p[i]; }
__device__ __noinline__ void give(float* p, int i, float x) { p[i] = x; }
__device__ __noinline__ int count(int* p) { return atomicAdd(p, 1); }
extern "C" __global__ void generic(float* g, float* o, int where, int i) {
    __shared__ float s[8];
    __shared__ int n;
    float l[8];
    if (threadIdx.x == 0) n = 0;
    for (int k = 0; k < 8; k++) give(l, k, k + 10.0f * threadIdx.x);
    give(s, threadIdx.x, threadIdx.x);
    __syncthreads();
    float* all[3] = {g, s, l};
    o[threadIdx.x] = take(all[where], i);
    count(&n);
    __syncthreads();
    if (threadIdx.x == 0) o[8] = n;
}
"""


@pytest.mark.parametrize("arch", ["compute_75", "compute_120"])
def test_generic_addresses_reach_all_memories_and_are_checked(arch: str) -> None:
    ptx = compiled(GENERIC, arch)
    g, o = np.full(8, 77, "f4"), np.zeros(9, "f4")
    for where, expected in ((0, [77.0] * 8), (1, [3.0] * 8), (2, [3 + 10.0 * t for t in range(8)])):
        assert run(ptx, "generic", [g, o, np.int32(where), np.int32(3)], block=8) is None
        assert o.tolist() == [*expected, 8]
        found = run(ptx, "generic", [g, o, np.int32(where), np.int32(8 if where == 0 else 40)], block=8)
        assert found is not None
        assert found.kind == "out of bounds"
    found = run(ptx, "generic", [g, o, np.int32(1), np.int32(7)], block=7)
    assert found is not None
    assert found.kind == "uninitialized shared memory"


def test_comments_and_statements_across_lines() -> None:
    body = f"""{OUT} /* a comment; with a statement
        over lines */ add.s32 // and another; one
        %r2,
        %r1, 0x10; st.global.u32 [%rd1], %r2;"""
    assert results(kernel(body), 2) == [16, 17]


def test_two_devices_have_memories_of_their_own_for_variables() -> None:
    before = ".global .align 4 .u32 counter = 5;"
    ptx = kernel("ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [counter]; add.s32 %r1, %r1, 1; st.global.u32 [counter], %r1; "
                 "st.global.u32 [%rd1], %r1;", before=before)  # fmt: skip
    for device in (Device(), Device()):
        out = np.zeros(1, "i4")
        assert run(ptx, "k", [out], device=device) is None
        assert out[0] == 6


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("vote.sync.all.pred %p1, %p2, -1;", "instruction is not known"),
        ("bar.sync 0, 64;", "only barriers of the whole block"),
        ("barrier.sync %r1;", "only barriers with a constant number"),
        ("bar.arrive 0, 64;", "instruction is not known"),
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];", "instruction is not known"),
        ("mov.u32 %r1, %smid;", "operand %smid is not known"),
        ("mov.u32 %r99999x, 1;", "operand %r99999x is not known"),
        ("bra NOWHERE;", "no label NOWHERE"),
        ("ld.param.u64 %rd1, [out+8];", "out has 8 bytes"),
        ("ld.global.u32 %rs1, [%rd1];", "register %rs1 of 16 bits for a result of 32"),
        ("mul.lo.s64 %rd1, %r1, 3;", "register %r1 of 32 bits where 64 are needed"),
        ("add.f64 %rd1, 0f3F800000, %rd2;", "a literal of 32 bits as .f64"),
        ("ld.shared.u32 %r1, [counter];", "a .global variable as .shared"),
        ("call.uni other, ();", "other is not known"),
        (".alias a, b;", "directive .alias is not known"),
        ("cvt.f32.s32 %f1, %r1;", "rounding"),
        ("cvt.rn.f16.f32 %rs1, %f1;", "instruction is not known"),
    ],
)
def test_everything_else_is_refused_with_line_and_instruction(body: str, message: str) -> None:
    with pytest.raises(engine.PtxError) as caught:
        engine.load(kernel(f"\n\n{body}", before=".global .align 4 .u32 counter;"))
    assert f"PTX line 8: {message}" in str(caught.value)
    assert body.split()[0].rstrip(";") in str(caught.value)
