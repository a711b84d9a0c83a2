"""Integer, logical and moving instructions on edge and random values, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ptx_cases import Case, check


def signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def quotient(a: int, b: int) -> int:
    """Rounded toward zero; -1, all ones, for a divisor of zero."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * quotient(a, b)


def funnel(a: int, b: int, c: int, left: bool, wrap: bool) -> int:
    n = c % 32 if wrap else min(c, 32)
    both = (b << 32) | a
    return (both << n) >> 32 if left else both >> n


def extracted(a: int, pos: int, length: int, bits: int, is_signed: bool) -> int:
    pos, length = pos & 255, length & 255
    if length == 0:
        return 0
    top = min(pos + length - 1, bits - 1)
    sign = (a >> top & 1) if is_signed else 0
    result = 0
    for k in range(bits):
        result |= (a >> (pos + k) & 1 if k < length and pos + k < bits else sign) << k
    return result


def inserted(a: int, b: int, pos: int, length: int, bits: int) -> int:
    pos, length = pos & 255, length & 255
    for k in range(length):
        if pos + k < bits:
            b = b & ~(1 << (pos + k)) | (a >> k & 1) << (pos + k)
    return b


def permuted(a: int, b: int, c: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    result = 0
    for k in range(4):
        pick = c >> 4 * k & 15
        byte = source[pick & 7]
        result |= ((0xFF if byte & 0x80 else 0) if pick & 8 else byte) << 8 * k
    return result


def modulo(value: int, bits: int) -> int:
    return value % (1 << bits)


def dot2(a: int, b: int, of_a: Callable[[int, int], int] = modulo, of_b: Callable[[int, int], int] = modulo) -> int:
    return of_a(a, 16) * of_b(b, 8) + of_a(a >> 16, 16) * of_b(b >> 8, 8)


def leading(a: int, bits: int) -> int:
    return bits - a.bit_length()


def found(a: int, bits: int, is_signed: bool, shift: bool) -> int:
    if is_signed and a >> (bits - 1):
        a = ~a % (1 << bits)
    return -1 if a == 0 else bits - a.bit_length() if shift else a.bit_length() - 1


def _arithmetic() -> list[Case]:
    cases: list[Case] = []
    for bits in (16, 32, 64):
        for kind in "su":
            t = f"{kind}{bits}"
            cases += [
                Case(f"add.{t}", (t, t), t, lambda a, b: a + b),
                Case(f"sub.{t}", (t, t), t, lambda a, b: a - b),
                Case(f"mul.lo.{t}", (t, t), t, lambda a, b: a * b),
                Case(f"mul.hi.{t}", (t, t), t, lambda a, b, n=bits: a * b >> n),
                Case(f"mad.lo.{t}", (t, t, t), t, lambda a, b, c: a * b + c),
                Case(f"mad.hi.{t}", (t, t, t), t, lambda a, b, c, n=bits: (a * b >> n) + c),
                Case(f"div.{t}", (t, t), t, quotient),
                Case(f"rem.{t}", (t, t), t, remainder),
                Case(f"min.{t}", (t, t), t, min),
                Case(f"max.{t}", (t, t), t, max),
                Case(f"sad.{t}", (t, t, t), t, lambda a, b, c: abs(a - b) + c),
                Case(f"shr.{t}", (t, "u32"), t, lambda a, n: a >> n),
            ]
            if bits < 64:
                wide = f"{kind}{2 * bits}"
                cases.append(Case(f"mul.wide.{t}", (t, t), wide, lambda a, b: a * b))
                cases.append(Case(f"mad.wide.{t}", (t, t, wide), wide, lambda a, b, c: a * b + c))
        t, b = f"s{bits}", f"b{bits}"
        cases += [
            Case(f"neg.{t}", (t,), t, lambda a: -a),
            Case(f"abs.{t}", (t,), t, abs),
            Case(f"and.{b}", (b, b), b, lambda a, c: a & c),
            Case(f"or.{b}", (b, b), b, lambda a, c: a | c),
            Case(f"xor.{b}", (b, b), b, lambda a, c: a ^ c),
            Case(f"not.{b}", (b,), b, lambda a: ~a),
            Case(f"cnot.{b}", (b,), b, lambda a: int(a == 0)),
            Case(f"shl.{b}", (b, "u32"), b, lambda a, n: a << min(n, 64)),
            Case(f"shr.{b}", (b, "u32"), b, lambda a, n: a >> n),
            *(Case(f"shl.{b}", (b, f"={n}"), b, lambda a, n: a << n) for n in (0, 3, bits, bits + 7)),
            *(Case(f"shr.{t}", (t, f"={n}"), t, lambda a, n: a >> n) for n in (1, bits - 1, bits, 200)),
        ]
    m24 = {"u32": lambda a: a % (1 << 24), "s32": lambda a: signed(a, 24)}
    for t, low in m24.items():
        cases += [
            Case(f"mul24.lo.{t}", (t, t), t, lambda a, b, f=low: f(a) * f(b)),
            Case(f"mul24.hi.{t}", (t, t), t, lambda a, b, f=low: f(a) * f(b) >> 16),
            Case(f"mad24.lo.{t}", (t, t, t), t, lambda a, b, c, f=low: f(a) * f(b) + c),
        ]
    s32 = (-(1 << 31), (1 << 31) - 1)
    cases += [
        Case("add.sat.s32", ("s32", "s32"), "s32", lambda a, b: clamp(a + b, *s32)),
        Case("sub.sat.s32", ("s32", "s32"), "s32", lambda a, b: clamp(a - b, *s32)),
        Case("mad.hi.sat.s32", ("s32", "s32", "s32"), "s32", lambda a, b, c: clamp((a * b >> 32) + c, *s32)),
        Case("add.u16x2", ("u32", "u32"), "u32", lambda a, b: (a + b) % 65536 | ((a >> 16) + (b >> 16)) % 65536 << 16),
        Case(
            "max.s16x2",
            ("u32", "u32"),
            "u32",
            lambda a, b: max(signed(a, 16), signed(b, 16)) % 65536 | max(signed(a >> 16, 16), signed(b >> 16, 16)) % 65536 << 16,
        ),
        Case(
            "dp4a.u32.u32",
            ("u32", "u32", "u32"),
            "u32",
            lambda a, b, c: c + sum((a >> k & 255) * (b >> k & 255) for k in (0, 8, 16, 24)),
        ),
        Case(
            "dp4a.s32.u32",
            ("u32", "u32", "s32"),
            "s32",
            lambda a, b, c: c + sum(signed(a >> k, 8) * (b >> k & 255) for k in (0, 8, 16, 24)),
        ),
        Case("dp2a.lo.s32.u32", ("u32", "u32", "s32"), "s32", lambda a, b, c: c + dot2(a, b, signed)),
        Case("dp2a.hi.s32.s32", ("u32", "u32", "s32"), "s32", lambda a, b, c: c + dot2(a, b >> 16, signed, signed)),
        Case("dp2a.lo.u32.u32", ("u32", "u32", "u32"), "u32", lambda a, b, c: c + dot2(a, b)),
    ]
    return cases


def _bits() -> list[Case]:
    cases: list[Case] = []
    for bits in (32, 64):
        b, u, s = f"b{bits}", f"u{bits}", f"s{bits}"
        cases += [
            Case(f"clz.{b}", (b,), "u32", lambda a, n=bits: leading(a, n)),
            Case(f"popc.{b}", (b,), "u32", lambda a: bin(a).count("1")),
            Case(f"brev.{b}", (b,), b, lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2)),
            Case(f"bfind.{u}", (u,), "u32", lambda a, n=bits: found(a, n, False, False)),
            Case(f"bfind.{s}", (b,), "u32", lambda a, n=bits: found(a, n, True, False)),
            Case(f"bfind.shiftamt.{u}", (u,), "u32", lambda a, n=bits: found(a, n, False, True)),
            Case(f"bfind.shiftamt.{s}", (b,), "u32", lambda a, n=bits: found(a, n, True, True)),
            Case(f"bfe.{u}", (b, "small", "small"), b, lambda a, p, c, n=bits: extracted(a, p, c, n, False)),
            Case(f"bfe.{s}", (b, "small", "small"), b, lambda a, p, c, n=bits: extracted(a, p, c, n, True)),
            Case(f"bfi.{b}", (b, b, "small", "small"), b, lambda a, c, p, m, n=bits: inserted(a, c, p, m, n)),
        ]
    for name, left, wrap in (
        ("l.wrap", True, True),
        ("l.clamp", True, False),
        ("r.wrap", False, True),
        ("r.clamp", False, False),
    ):
        cases.append(
            Case(f"shf.{name}.b32", ("u32", "u32", "small"), "u32", lambda a, b, c, x=left, y=wrap: funnel(a, b, c, x, y))
        )
    cases.append(Case("prmt.b32", ("u32", "u32", "u32"), "u32", permuted))
    for table in (0, 0x80, 0x96, 0xE8, 0x1B, 0xFF):

        def lop(a: int, b: int, c: int, _: int, table: int = table) -> int:
            return sum((table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k for k in range(32))

        cases.append(Case("lop3.b32", ("u32", "u32", "u32", f"={table}"), "u32", lop))
    return cases


def _conversions() -> list[Case]:
    cases: list[Case] = []
    types = [f"{k}{n}" for k in "su" for n in (8, 16, 32, 64)]
    for to in types:
        for source in types:
            cases.append(Case(f"cvt.{to}.{source}", (source,), to, lambda a: a))
            low, high = (-(1 << (int(to[1:]) - 1)), (1 << (int(to[1:]) - 1)) - 1) if to[0] == "s" else (0, (1 << int(to[1:])) - 1)
            cases.append(Case(f"cvt.sat.{to}.{source}", (source,), to, lambda a, x=low, y=high: clamp(a, x, y)))
    return cases


@pytest.mark.parametrize("make", [_arithmetic, _bits, _conversions])
def test_results_are_exact(make: Callable[[], list[Case]]) -> None:
    check(make())


def test_comparisons_and_selections() -> None:
    cases: list[Case] = []
    for kind in "su":
        for bits in (16, 32, 64):
            t = f"{kind}{bits}"
            for name, holds in {
                "eq": lambda a, b: a == b,
                "ne": lambda a, b: a != b,
                "lt": lambda a, b: a < b,
                "le": lambda a, b: a <= b,
                "gt": lambda a, b: a > b,
                "ge": lambda a, b: a >= b,
            }.items():
                cases.append(Case(f"setp.{name}.{t}", (t, t), "pred", holds))
    for name, holds in {
        "lo": lambda a, b: a < b,
        "ls": lambda a, b: a <= b,
        "hi": lambda a, b: a > b,
        "hs": lambda a, b: a >= b,
    }.items():
        cases.append(Case(f"setp.{name}.u32", ("u32", "u32"), "pred", holds))
    cases += [
        Case("set.lt.u32.s32", ("s32", "s32"), "u32", lambda a, b: -(a < b)),
        Case("slct.b32.s32", ("u32", "u32", "s32"), "u32", lambda a, b, c: a if c >= 0 else b),
    ]
    check(cases)


CARRIES = """
.visible .entry chain(.param .u64 out, .param .u64 a, .param .u64 b) {
.reg .b32 %r<40>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2]; ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3];
add.cc.u32 %r9, %r1, %r5; addc.cc.u32 %r10, %r2, %r6; addc.cc.u32 %r11, %r3, %r7; addc.u32 %r12, %r4, %r8;
sub.cc.u32 %r13, %r1, %r5; subc.cc.u32 %r14, %r2, %r6; subc.cc.u32 %r15, %r3, %r7; subc.u32 %r16, %r4, %r8;
mul.lo.u32 %r17, %r1, %r5; mul.hi.u32 %r18, %r1, %r5;
mad.lo.cc.u32 %r18, %r1, %r6, %r18; madc.hi.u32 %r19, %r1, %r6, 0;
mad.lo.cc.u32 %r18, %r2, %r5, %r18; madc.hi.cc.u32 %r19, %r2, %r5, %r19; addc.u32 %r20, 0, 0;
mad.lo.cc.u32 %r19, %r2, %r6, %r19; madc.hi.u32 %r20, %r2, %r6, %r20;
st.global.v4.u32 [%rd1], {%r9, %r10, %r11, %r12}; st.global.v4.u32 [%rd1+16], {%r13, %r14, %r15, %r16};
st.global.v4.u32 [%rd1+32], {%r17, %r18, %r19, %r20};
ret; }
"""


def test_carry_chains_add_subtract_and_multiply_long_numbers() -> None:
    from ptx_cases import HEADER
    from sim_tools import run

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = (rng.choice([0, 1, 0xFFFFFFFF, 0x80000000, int(rng.integers(1 << 32))], 4).astype("u4") for _ in range(2))
        out = np.zeros(12, "u4")
        assert run(HEADER + CARRIES, "chain", [out, a, b]) is None
        x, y = (int.from_bytes(v.tobytes(), "little") for v in (a, b))
        low = (1 << 64) - 1
        expected = [(x + y) % (1 << 128), (x - y) % (1 << 128), (x & low) * (y & low)]
        assert [int.from_bytes(out[k : k + 4].tobytes(), "little") for k in (0, 4, 8)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "mul.hi.sat.u32 %r1, 1, 2",
        "add.rn.s32 %r1, 1, 2",
        "shl.s32 %r1, 1, 2",
        "add.cc.rn.u32 %r1, 1, 2",
        "mul.s32 %r1, 1, 2",
        "add.s32 %r1, 1",
    ],
)
def test_what_is_not_an_instruction_is_refused_with_line_and_text(text: str) -> None:
    from ptx_cases import HEADER

    from tack_sim.engine import PtxError, load

    with pytest.raises(PtxError, match=r"PTX line 6: .*%r1") as caught:
        load(f"{HEADER}.visible .entry k() {{\n.reg .b32 %r<9>;\n{text};\nret; }}")
    assert text.split()[0] in str(caught.value)
