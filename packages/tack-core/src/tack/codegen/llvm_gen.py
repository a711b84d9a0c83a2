"""A typed kernel as an LLVM module with three functions over one argument pack (`layout.PackLayout`):

`i64 enter(ptr pack)` computes the launch range, writes it, and runs the prologue; it returns the number of iterations, -1 for a
zero step and -2 for a range of more than 2^63 - 1 points. `void body(i64 lo, i64 hi, ptr pack)` runs a part of them.
`i64 run(ptr pack, i64 serial_max)` does both if there are at most `serial_max`, then returns 0. A kernel with a result has also
`void finish(ptr pack)`, which computes it after all iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tack.codegen.layout import BodyNames, PackLayout, body_names, pack_layout
from tack.codegen.llvm_stmt import BlockWriter
from tack.codegen.llvm_text import LLVM_TYPES, ModuleText
from tack.codegen.llvm_walk import write_rows, write_steps
from tack.ir.bounds import result_prologue
from tack.ir.facts import atomic_targets, local_arrays, prints_of
from tack.ir.nodes import AFTER, ERRORS, NONE, IRConst, IREval, IRExpr, IRFunc, IRParam, IRRange
from tack.ir.types import BOOL, ScalarType, f32, i64, u64
from tack.ir.walk import assigned_names

__all__ = ["emit_kernels", "emit_module"]

# Iteration numbers and sizes are never negative: saying so lets LLVM drop the floor corrections of `//` and `%`.
_COUNT = "i64 noundef range(i64 0, -9223372036854775808)"


def emit_module(func: IRFunc, layout: PackLayout | None = None, prefix: str = "") -> str:
    """The module of one kernel; its exported functions are named `{prefix}enter`, `{prefix}body` and `{prefix}run`.

    `prefix` is empty or starts with a letter, and has letters, digits, `_` and `.` only.
    """
    module = ModuleText()
    _emit(module, func, layout, prefix)
    return module.text()


def emit_kernels(kernels: Iterable[tuple[str, IRFunc]]) -> str:
    """One module of several kernels, each with a prefix of its own."""
    module = ModuleText()
    for prefix, func in kernels:
        _emit(module, func, None, prefix)
    return module.text()


def _emit(module: ModuleText, func: IRFunc, layout: PackLayout | None, prefix: str) -> None:
    names = body_names(func.loop.body)
    layout = layout or pack_layout(func, names)
    module.functions += [
        _enter(module, func, layout, prefix),
        _loop(module, func, layout, names, prefix),
        _body(module, func, layout, prefix),
        _run(prefix),
    ]
    if func.result is not None:
        module.functions.append(_finish(module, func, func.result, layout, prefix))


# ---------------------------------------------------------------------------------------------------- reading the pack


def _slot(f: BlockWriter, k: int) -> str:
    return f.op(f"getelementptr inbounds i64, ptr %pack, i64 {k}") if k else "%pack"


def _read(f: BlockWriter, k: int, t: str) -> str:
    return f.op(f"load {t}, ptr {_slot(f, k)}")


def _read_param(f: BlockWriter, param: IRParam, k: int) -> str:
    assert param.type is not None
    if param.is_array:
        return _read(f, k, "ptr")
    if param.type.is_float:
        value = _read(f, k, "double")
        return f.op(f"fptrunc double {value} to float") if param.type is f32 else value
    value = _read(f, k, "i64")
    return value if param.type.bits == 64 else f.op(f"trunc i64 {value} to {LLVM_TYPES[param.type]}")


def _read_carried(f: BlockWriter, type: ScalarType, k: int) -> str:
    if type is BOOL:
        return f.op(f"trunc i8 {_read(f, k, 'i8')} to i1")
    return _read(f, k, LLVM_TYPES[type])


def _write_carried(f: BlockWriter, value: str, type: ScalarType, k: int) -> None:
    t = LLVM_TYPES[type]
    if type is BOOL:
        t, value = "i8", f.op(f"zext i1 {value} to i8")
    f.do(f"store {t} {value}, ptr {_slot(f, k)}")


# ----------------------------------------------------------------------------------------------------------- enter


def _enter(module: ModuleText, func: IRFunc, layout: PackLayout, prefix: str) -> str:
    f = BlockWriter(module, func.fma)
    for k, param in enumerate(func.params):
        (f.arrays if param.is_array else f.values)[param.name] = _read_param(f, param, k)
    for k, dim in enumerate(layout.dims, len(func.params)):
        f.dims[dim] = _read(f, k, "i64")
    f.relaxed = atomic_targets(func).keys()
    used = body_names(func.bound_prologue + func.prologue)
    types = {local.name: local.type for local in func.locals}
    for name in sorted(used.single | used.shared):
        f.slot(name, types.get(name) or i64)
    f.statements(func.bound_prologue)
    count = _bounds(f, func, layout)
    f.branch(f.op(f"icmp eq i64 {count}, 0"), "none", "prologue")
    f.label("prologue")
    f.statements(func.prologue)
    _carry(f, layout, {name for name, _ in layout.carried})
    f.do(f"ret i64 {count}")
    if func.result is not None:
        f.label("none")
        needed = result_prologue(func)
        f.statements(needed)
        _carry(f, layout, assigned_names(needed))
        f.do("ret i64 0")
    for label, value in (("none", 0), ("zero", -1), ("refused", -2))[func.result is not None :]:
        f.label(label)
        f.do(f"ret i64 {value}")
    _end_failed(f, "ret i64 0")
    return f.text(f"define i64 @{prefix}enter(ptr %pack) nounwind")


def _end_failed(f: BlockWriter, leave: str) -> None:
    """Debug mode: where a check outside the loop goes that has failed."""
    if ERRORS in f.arrays:
        f.label(f.failed)
        f.do(leave)


def _carry(f: BlockWriter, layout: PackLayout, names: set[str]) -> None:
    """Writes the values of `names` to the pack, as far as it carries them."""
    for k, (name, type) in enumerate(layout.carried, layout.carried_slot):
        if name in names:
            _write_carried(f, f.op(f"load {LLVM_TYPES[type]}, ptr {f.slots[name]}"), type, k)


def _finish(module: ModuleText, func: IRFunc, result: IRExpr, layout: PackLayout, prefix: str) -> str:
    f = BlockWriter(module, func.fma)
    for k, param in enumerate(func.params):
        (f.arrays if param.is_array else f.values)[param.name] = _read_param(f, param, k)
    f.relaxed = atomic_targets(func).keys()
    used = body_names((*func.epilogue, IREval(result)))
    types = {local.name: local.type for local in func.locals}
    for name in sorted(used.single | used.shared):
        f.slot(name, types.get(name) or i64)
    for k, (name, type) in enumerate(layout.carried, layout.carried_slot):
        if name in used.reads:
            f.assign(name, _read_carried(f, type, k))
    f.iteration = str(AFTER)
    if ERRORS in f.arrays:  # what failed has left its locals without values
        first = f.op(f"load i64, ptr {f.arrays[ERRORS]}")
        f.branch(f.op(f"icmp eq i64 {first}, {NONE}"), "sound", f.failed)
        f.label("sound")
    f.statements(func.epilogue)
    f.do(f"store {f.wide(f.expr(result), result.type)}, ptr {_slot(f, layout.result_slot)}")
    f.do("ret void")
    _end_failed(f, "ret void")
    return f.text(f"define void @{prefix}finish(ptr %pack) nounwind")


def _bounds(f: BlockWriter, func: IRFunc, layout: PackLayout) -> str:
    """Evaluates the bounds, writes the loop's slots, and leaves for `zero` and `refused`; the number of points."""
    dims = func.loop.dims
    bounds = [(f.expr(d.start), f.expr(d.end), f.expr(d.step)) for d in dims]
    steps = [step for d, (_, _, step) in zip(dims, bounds, strict=True) if not isinstance(d.step, IRConst) or d.step.value == 0]
    _leave_if(f, [f.op(f"icmp eq i64 {step}, 0") for step in steps], "zero")
    sizes: list[str] = []
    refusals: list[str] = []
    for dim, (start, end, step) in zip(dims, bounds, strict=True):
        size = f.trip_count(start, end, step, dim.step)
        if u64 in (dim.start.type, dim.end.type):
            size, refusal = _beyond_i64(f, dim, (start, end, step), size)
            refusals.append(refusal)
        sizes.append(size)
    if refusals and len(sizes) > 1:
        full = f.op(f"xor i1 {_empty(f, sizes)}, true")
        refusals = [f.op(f"and i1 {each}, {full}") for each in refusals]
    _leave_if(f, refusals, "refused")
    for k, ((start, _, step), size) in enumerate(zip(bounds, sizes, strict=True)):
        for j, value in enumerate((start, size, step)):
            f.do(f"store i64 {value}, ptr {_slot(f, layout.loop_slot + 3 * k + j)}")
    count, over = (sizes[0], []) if len(sizes) == 1 else _product(f, sizes)
    _leave_if(f, [*over, f.op(f"icmp slt i64 {count}, 0")], "refused")
    return count


def _beyond_i64(f: BlockWriter, dim: IRRange, values: tuple[str, str, str], size: str) -> tuple[str, str]:
    """For u64 bounds: `size`, or 1 or 0 if a bound is beyond i64; and whether there are points then, which no index can be."""
    start, end, step = values
    wide = [
        f.op(f"icmp slt i64 {value}, 0") if node.type is u64 else "false" for node, value in ((dim.start, start), (dim.end, end))
    ]
    up = "true" if dim.step.type is u64 else f.op(f"icmp sgt i64 {step}, 0")
    low, high = (f.op(f"select i1 {up}, i64 {a}, i64 {b}") for a, b in ((start, end), (end, start)))
    low_wide, high_wide = (f.op(f"select i1 {up}, i1 {a}, i1 {b}") for a, b in (wide, wide[::-1]))
    narrow = f.op(f"xor i1 {low_wide}, true")  # only `high` is beyond: above `low`; only `low` is: above `high`
    above = f.op(f"select i1 {narrow}, i1 {high_wide}, i1 {f.op(f'icmp ult i64 {low}, {high}')}")
    some = f.op(f"and i1 {high_wide}, {above}")
    any_wide = f.op(f"or i1 {low_wide}, {high_wide}")
    return f.op(f"select i1 {any_wide}, i64 {f.op(f'zext i1 {some} to i64')}, i64 {size}"), some


def _leave_if(f: BlockWriter, tests: list[str], label: str) -> None:
    """Jumps to `label` if one of the tests holds."""
    if not tests:
        return
    test = tests[0]
    for other in tests[1:]:
        test = f.op(f"or i1 {test}, {other}")
    n = f.fresh()
    f.branch(test, label, f"checked{n}")
    f.label(f"checked{n}")


def _empty(f: BlockWriter, sizes: list[str]) -> str:
    """Whether a dimension has no points: then nothing runs, whatever the others have (K5)."""
    empty = f.op(f"icmp eq i64 {sizes[0]}, 0")
    for size in sizes[1:]:
        empty = f.op(f"or i1 {empty}, {f.op(f'icmp eq i64 {size}, 0')}")
    return empty


def _product(f: BlockWriter, sizes: list[str]) -> tuple[str, list[str]]:
    """The number of points, 0 if one of the sizes is, and whether it overflowed."""
    name = "@llvm.umul.with.overflow.i64"
    f.module.declare(name, f"declare {{ i64, i1 }} {name}(i64, i64)")
    empty = _empty(f, sizes)
    count, over = sizes[0], "false"
    for size in sizes[1:]:
        both = f.op(f"call {{ i64, i1 }} {name}(i64 {count}, i64 {size})")
        count = f.op(f"extractvalue {{ i64, i1 }} {both}, 0")
        over = f.op(f"or i1 {over}, {f.op(f'extractvalue {{ i64, i1 }} {both}, 1')}")
    full = f.op(f"xor i1 {empty}, true")
    return f.op(f"select i1 {empty}, i64 0, i64 {count}"), [f.op(f"and i1 {over}, {full}")]


# ------------------------------------------------------------------------------------------------------- loop and body


def _range_words(func: IRFunc, layout: PackLayout) -> list[tuple[str, int]]:
    """Of starts, sizes and steps those that the loop must be told: (argument, slot), in order."""
    words: list[tuple[str, int]] = []
    for k, dim in enumerate(func.loop.dims):
        slot = layout.loop_slot + 3 * k
        if not isinstance(dim.start, IRConst):
            words.append((f"%t_start{k}", slot))
        if k and not (isinstance(dim.start, IRConst) and isinstance(dim.end, IRConst)):
            words.append((f"%t_size{k}", slot + 1))
        if not isinstance(dim.step, IRConst):
            words.append((f"%t_step{k}", slot + 2))
    return words


def _pass(param: IRParam) -> str:
    assert param.type is not None
    return "ptr" if param.is_array else LLVM_TYPES[param.type]


def _loop(module: ModuleText, func: IRFunc, layout: PackLayout, names: BodyNames, prefix: str) -> str:
    """The iterations `lo` to `hi`, as a function of typed arguments: only arguments can be promised not to alias."""
    f = BlockWriter(module, func.fma)
    f.relaxed = atomic_targets(func).keys()
    heads = [f"{_COUNT} %lo", f"{_COUNT} %hi"]
    for param in func.params:
        place = "%" + f.names(param.name)
        if param.is_array:
            f.arrays[param.name] = place
            alone = "noalias " if func.disjoint_arrays and param.name not in f.relaxed else ""
            only = "" if param.name in names.stored else "readonly "
            heads.append(f"ptr {alone}{only}captures(none) {place}")
        else:
            f.values[param.name] = place
            heads.append(f"{_pass(param)} noundef {place}")
    heads += ["ptr noundef %t_print"] if layout.prints else []
    heads += [f"{_COUNT if 'size' in word else 'i64 noundef'} {word}" for word, _ in _range_words(func, layout)]
    types = {local.name: local.type for local in func.locals}
    for name in sorted(names.shared):
        f.slot(name, types.get(name) or i64)
    _allocate(f, func)
    if layout.prints:
        nodes = prints_of(func)
        f.sites = {id(node): k for k, node in enumerate(nodes)}
        f.do(f"%t_printed = alloca [{max(len(node.parts) for node in nodes)} x i64]")
    fresh: list[tuple[str, str]] = []
    for name, type in layout.carried:
        place = "%" + f.names(name)
        heads.append(f"{LLVM_TYPES[type]} {place}")
        if name in f.slots:
            fresh.append((name, place))
        else:
            f.values[name] = place
    (write_steps if len(func.loop.dims) == 1 else write_rows)(f, func.loop, fresh)
    return f.text(f"define internal void @{prefix}loop({', '.join(heads)}) noinline nounwind")


def _allocate(f: BlockWriter, func: IRFunc) -> None:
    """Gives each local array its place, one for all iterations: what an iteration finds in it is undefined (M5)."""
    f.own = local_arrays(func).keys()
    for array in func.arrays:
        assert array.type is not None and not array.shared
        place = f.arrays[array.name] = "%" + f.names(array.name)
        f.do(f"{place} = alloca [{prod((*array.shape, *array.element))} x {LLVM_TYPES[array.type]}], align 16")


def _body(module: ModuleText, func: IRFunc, layout: PackLayout, prefix: str) -> str:
    f = BlockWriter(module, func.fma)
    args = ["i64 %lo", "i64 %hi"]
    args += [f"{_pass(param)} {_read_param(f, param, k)}" for k, param in enumerate(func.params)]
    args += [f"ptr {_read(f, layout.print_slot, 'ptr')}"] if layout.prints else []
    args += [f"i64 {_read(f, slot, 'i64')}" for _, slot in _range_words(func, layout)]
    for k, (_, type) in enumerate(layout.carried, layout.carried_slot):
        args.append(f"{LLVM_TYPES[type]} {_read_carried(f, type, k)}")
    f.do(f"tail call void @{prefix}loop({', '.join(args)})")
    f.do("ret void")
    return f.text(f"define void @{prefix}body(i64 %lo, i64 %hi, ptr noalias readonly captures(none) %pack) noinline nounwind")


def _run(prefix: str) -> str:
    return f"""\
define i64 @{prefix}run(ptr %pack, i64 %serial_max) nounwind {{
  %n = call i64 @{prefix}enter(ptr %pack)
  %some = icmp sgt i64 %n, 0
  %few = icmp sle i64 %n, %serial_max
  %here = and i1 %some, %few
  br i1 %here, label %serial, label %other
serial:
  call void @{prefix}body(i64 0, i64 %n, ptr %pack)
  ret i64 0
other:
  ret i64 %n
}}
"""
