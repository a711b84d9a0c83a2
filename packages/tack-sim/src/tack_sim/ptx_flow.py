"""Writes branches, calls and returns."""

from __future__ import annotations

from tack_sim.ptx_helpers import FAULTS
from tack_sim.ptx_memory import param_place
from tack_sim.ptx_model import Address, Call, Instruction, Label, Name, Reg, Signature
from tack_sim.ptx_writer import FUNCTIONS, Writer, block_name, instruction

__all__: list[str] = []


def _target(w: Writer, name: str) -> str:
    if Label(name) not in w.function.body:
        raise w.error(f"no label {name}")
    return f"label %{block_name(name)}"


@instruction("bra", words="uni", operands=[1])
def _bra(w: Writer, i: Instruction) -> None:
    (where,) = i.operands
    if not isinstance(where, Name):
        raise w.error("no label")
    if i.predicate is None:
        w.end(f"br {_target(w, where.name)}")
        return
    onward = w.fresh()
    w.end(f"br i1 {w.condition(i)}, {_target(w, where.name)}, label %{onward}")
    w.begin(onward)


@instruction("brx", words="idx uni", operands=[2])
def _brx(w: Writer, i: Instruction) -> None:
    index, table = i.operands
    if not isinstance(table, Name) or table.name not in w.function.branch_targets:
        raise w.error("no branch targets")
    wrong = w.fresh()
    value = w.get(index, "u32")
    targets = w.function.branch_targets[table.name]
    cases = " ".join(f"i32 {k}, {_target(w, name)}" for k, name in enumerate(targets))
    w.end(f"switch i32 {value}, label %{wrong} [ {cases} ]")
    w.begin(wrong)
    fault(w, "bad branch", w.op(f"zext i32 {value} to i64"))


def fault(w: Writer, kind: str, detail: str) -> None:
    """Ends the launch here with a fault; `detail` is an i64."""
    w.call("void", "sim_fault", "ptr %lane", f"i32 {FAULTS.index(kind)}", f"i64 {detail}", w.site())
    w.end("unreachable")


@instruction("ret", words="uni", operands=[])
def _ret(w: Writer, i: Instruction) -> None:
    w.leave()


@instruction("exit", operands=[])
def _exit(w: Writer, i: Instruction) -> None:
    if not w.function.entry:
        raise w.error("exit from a device function is not simulated")
    w.call("void", "sim_exit", "ptr %lane")
    w.leave()


@instruction("trap", operands=[])
def _trap(w: Writer, i: Instruction) -> None:
    fault(w, "trap", "0")


@instruction("call", words="uni", operands=[])
def _call(w: Writer, i: Instruction) -> None:
    call = w.function.calls[i.position]
    given = Signature(*(tuple(w.function.arrays[name] for name in names) for names in (call.results, call.arguments)))
    if isinstance(call.target, Reg):
        _indirect(w, call, call.target, given)
    elif call.target.name in w.layout.module.functions:
        _direct(w, call, call.target.name, given)
    elif call.target.name == "vprintf" and given.params == (8, 8):
        text, values = (_argument(w, call, k, "i64") for k in range(2))
        printed = w.call("i32", "sim_printf", "ptr %lane", f"i64 {text}", f"i64 {values}", w.site())
        w.line(f"store i32 {printed}, ptr {_array(call.results[0])}")
    elif call.target.name == "__assertfail" and given.params == (8, 8, 4, 8, 8):
        message, file, line, function = (_argument(w, call, k, kind) for k, kind in enumerate(("i64", "i64", "i32", "i64")))
        args = (f"i64 {message}", f"i64 {file}", f"i32 {line}", f"i64 {function}")
        w.call("void", "sim_assert", "ptr %lane", *args, w.site())
        w.end("unreachable")
    else:
        raise w.error(f"{call.target.name} is not known to the simulator")


def _array(name: str) -> str:
    return f'%"a {name}"'


def _argument(w: Writer, call: Call, k: int, kind: str) -> str:
    pointer = param_place(w, Address(Name(call.arguments[k]), 0), 4 if kind == "i32" else 8)
    return w.op(f"load {kind}, ptr {pointer}, align 1")


def _direct(w: Writer, call: Call, name: str, given: Signature) -> None:
    function = w.layout.module.functions[name]
    if function.entry or function.signature != given:
        raise w.error(f"call does not fit the parameters of {name}")
    w.callees.add(name)
    listed = ", ".join(f"ptr {_array(array)}" for array in (*call.results, *call.arguments))
    w.line(f"call void @func.{w.layout.functions[name]}(ptr %lane{', ' if listed else ''}{listed})")


def _indirect(w: Writer, call: Call, target: Reg, given: Signature) -> None:
    if w.function.prototypes.get(call.prototype) != given:
        raise w.error("call does not fit its prototype")
    fitting = {n: f for n, f in w.layout.module.functions.items() if not f.entry and f.signature == given}
    wrong, behind = w.fresh(), w.fresh()
    blocks = {name: w.fresh() for name in fitting}
    value = w.get(target, "u64")
    cases = " ".join(f"i64 {FUNCTIONS + 16 * w.layout.functions[name]}, label %{block}" for name, block in blocks.items())
    w.end(f"switch i64 {value}, label %{wrong} [ {cases} ]")
    for name, block in blocks.items():
        w.begin(block)
        _direct(w, call, name, given)
        w.end(f"br label %{behind}")
    w.begin(wrong)
    fault(w, "bad call", value)
    w.begin(behind)
