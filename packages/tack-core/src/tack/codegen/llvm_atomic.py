"""Atomic updates of array elements as LLVM instructions (A1): one instruction where LLVM has it, else a compare-and-swap loop."""

from __future__ import annotations

from tack.codegen.llvm_math import operate
from tack.codegen.llvm_text import LLVM_TYPES, FunctionText, ModuleText
from tack.ir.nodes import AtomicOp, IRName, IROp
from tack.ir.types import ScalarType

__all__ = ["atomic"]


def atomic(f: FunctionText, op: AtomicOp, type: ScalarType, place: str, value: str) -> str:
    """Updates the element of `type` at `place`, which is naturally aligned, with `value`; its old value. Relaxed order."""
    t = LLVM_TYPES[type]
    if type.is_float and op != "add":  # LLVM's own have other rules for NaN and signed zeros than T10
        return f.op(f"call {t} {_float_extreme(f.module, op, type)}(ptr {place}, {t} {value})")
    word = "fadd" if type.is_float else op if op == "add" or type.signed else f"u{op}"
    return f.op(f"atomicrmw {word} ptr {place}, {t} {value} monotonic, align {type.itemsize}")


def _float_extreme(module: ModuleText, op: AtomicOp, type: ScalarType) -> str:
    """Declares and names the function that lowers or raises a float to a value and returns the old one."""
    t, i, align = LLVM_TYPES[type], f"i{type.bits}", type.itemsize
    name = f"@tack.atomic.{op}.{type.name}"
    if module.has(name):
        return name
    f = FunctionText(module)
    f.do(f"%first = load atomic {i}, ptr %p monotonic, align {align}")
    f.goto("again")
    f.label("again")
    f.do(f"%seen = phi {i} [ %first, %entry ], [ %now, %swap ]")
    f.do(f"%old = bitcast {i} %seen to {t}")
    operands = (IRName("old", type), IRName("v", type))
    best = operate(f, IROp(op, operands, type), ["%old", "%v"], False)
    f.do(f"%next = bitcast {t} {best} to {i}")
    f.branch(f.op(f"icmp eq {i} %next, %seen"), "done", "swap")
    f.label("swap")
    pair = f.op(f"cmpxchg ptr %p, {i} %seen, {i} %next monotonic monotonic, align {align}")
    f.do(f"%now = extractvalue {{ {i}, i1 }} {pair}, 0")
    f.branch(f.op(f"extractvalue {{ {i}, i1 }} {pair}, 1"), "done", "again")
    f.label("done")
    f.do(f"ret {t} %old")
    module.declare(name, f.text(f"define internal {t} {name}(ptr %p, {t} %v) nounwind"))
    return name
