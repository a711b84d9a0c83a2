"""Runs programs in every way that Tack has, and compares what they leave in their arrays with the oracle, bit for bit.

The passes and the code generator run as for any call; only the machine code of many programs is compiled as one module.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import oracle
from property.generator import Program

import tack
from tack.codegen.layout import pack_layout
from tack.codegen.llvm_gen import emit_kernels
from tack.ir.interpret import interpret
from tack.ir.nodes import IRFunc
from tack.ir.pipeline import CallFacts, compile_ir
from tack.lang.array import Array
from tack.lang.call_shape import describe_call
from tack.lang.type_inference import default_float, infer_param_types
from tack.runtime.cpu import CpuBackend
from tack.runtime.cpu_cost import Cost
from tack.runtime.cpu_entry import CpuCode
from tack.runtime.cpu_jit import compile_module, has_fma
from tack.runtime.cpu_pool import Pool, force_fanout
from tack.runtime.kernel_utils import _KeyProbe, resolve_variant
from tack.runtime.variant_key import shapes_of, typed_params

THREADS = (2, 3)  # beside one
WAYS = ("interpreter", "interpreter reversed", "serial", *(f"{n} threads" for n in THREADS))
_pools = {n: Pool(n) for n in (1, *THREADS)}


class Typed(CpuBackend):
    """A CPU backend whose payload is the typed IR, so that several kernels can be compiled together."""

    def build(self, func: IRFunc, args: Sequence[Any]) -> Any:
        return func


@dataclass(frozen=True)
class Failure:
    """`how`: the way of running that went wrong, or "compile"; `what`: the kind of failure, which shrinking keeps."""

    program: Program
    how: str
    what: str
    detail: str

    def __str__(self) -> str:
        return f"seed {self.program.seed}, {self.how}: {self.what}: {self.detail}\n{self.program.text()}"


class Known:
    """A program with its arguments, and what the oracle says. `fma`: whether the device has it."""

    def __init__(self, program: Program, folder: Path, name: str, *, fma: bool) -> None:
        self.program = program
        self.flat = program.arguments()
        self.arrays = [a for a in self.flat if isinstance(a, np.ndarray)]
        self.first = [a.copy() for a in self.arrays]
        oracle.run(program.source, self.flat, fma=fma, elements=program.elements())
        self.expected = [a.copy() for a in self.arrays]
        self.reset()
        path = folder / f"{name}.py"
        path.write_text(program.source, encoding="utf-8")
        namespace: dict[str, Any] = {}
        exec(compile(program.source, str(path), "exec"), namespace)
        self.kernel = namespace["kernel"]
        elements = program.elements()
        pairs = enumerate(self.flat)
        flat = [_tack_array(a, elements.get(k, ())) if isinstance(a, np.ndarray) else a for k, a in pairs]
        self.given = list(namespace["bind"](*flat)) if "bind" in namespace else flat
        self.call = describe_call(self.kernel.param_names, self.given)
        self.tack_args = list(self.call.args)  # for each parameter of the lowered kernel, and so are `args`
        arrays = {id(mine): array for mine, array in zip(flat, self.flat, strict=True)}
        self.args = [arrays[id(a)] if isinstance(a, Array) else a for a in self.tack_args]

    def reset(self) -> None:
        """The arrays' first values; arrays that share memory began with the same bytes."""
        for array, first in zip(self.arrays, self.first, strict=True):
            array[...] = first

    def difference(self, run: Callable[[], object], expected: list[np.ndarray] | None = None) -> str:
        """What is wrong after `run`, "" if nothing is. `expected`: what is right, if not what the oracle says."""
        self.reset()
        run()
        names = [p.name for p in self.program.params if p.type]
        for name, got, wanted in zip(names, self.arrays, expected or self.expected, strict=True):
            wrong = np.flatnonzero(_bits(got) != _bits(wanted))
            if wrong.size:
                at = int(wrong[0])
                return f"{name}[{at}] is {got.reshape(-1)[at]!r}, not {wanted.reshape(-1)[at]!r} ({wrong.size} wrong)"
        return ""


class Case(Known):
    """A program for the CPU, with its typed IR."""

    def __init__(self, program: Program, folder: Path, name: str) -> None:
        super().__init__(program, folder, name, fma=has_fma())
        self.func: IRFunc = resolve_variant(Typed(1), self.kernel, self.given, specialize_disjoint=True).payload

    def passes(self) -> dict[str, IRFunc]:
        """What each pass made of the kernel, by the pass's name, where it is typed."""
        template = self.kernel.template(self.call)
        probe = _KeyProbe(template)
        infer_param_types(template, self.tack_args, probe)
        params = typed_params(template, probe, self.tack_args)
        shapes = shapes_of(params, self.tack_args)
        made: dict[str, IRFunc] = {}
        facts = CallFacts(params, shapes, default_float(self.tack_args), self.func.disjoint_arrays, has_fma())
        compile_ir(template, facts, made.__setitem__)
        return {name: func for name, func in made.items() if func.stage == "typed"}


def _tack_array(array: np.ndarray, element: tuple[int, ...]) -> Any:
    t = tack.vec(*element, array.dtype) if len(element) == 1 else tack.mat(*element, array.dtype) if element else array.dtype
    shape = array.shape[: array.ndim - len(element)]
    return tack.array_from_ptr(array.ctypes.data, t, shape, writable=True, owner=array)


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers; every NaN is the same one."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), flat.dtype.type(np.nan), flat)
    return flat.view(f"u{flat.dtype.itemsize}")


class _Named:
    """The functions of one kernel in a module of many."""

    def __init__(self, code: Any, prefix: str) -> None:
        self.code, self.prefix = code, prefix

    def address(self, name: str) -> int:
        return self.code.address(self.prefix + name)


def check_passes(programs: Sequence[Program]) -> list[Failure]:
    """What goes wrong when each pass's result is interpreted; before `fuse` nothing is fused."""
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory() as folder:
        for k, program in enumerate(programs):
            case = Case(program, Path(folder), f"program_{k}")
            oracle.run(program.source, case.flat, fma=False, elements=program.elements())
            unfused = [a.copy() for a in case.arrays]
            for name, func in case.passes().items():
                difference = case.difference(lambda f=func: interpret(f, case.args), unfused if name == "annotate" else None)
                if difference:
                    failures.append(Failure(program, f"after {name}", "wrong result", difference))
    return failures


def check_calls(programs: Sequence[Program]) -> list[Failure]:
    """What goes wrong when the kernels are called as users call them, twice each."""
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory() as folder:
        for k, program in enumerate(programs):
            case = Case(program, Path(folder), f"program_{k}")
            for turn in ("first", "second"):
                difference = case.difference(lambda: case.kernel(*case.given))
                if difference:
                    failures.append(Failure(program, f"{turn} call", "wrong result", difference))
    return failures


def check(programs: Sequence[Program]) -> tuple[list[Failure], int]:
    """What goes wrong with the programs, and how many chunks of them worker threads ran."""
    failures: list[Failure] = []
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as folder:
        for k, program in enumerate(programs):
            try:
                cases.append(Case(program, Path(folder), f"program_{k}"))
            except Exception as error:  # whatever it is, it is the failure that is looked for
                failures.append(raised(program, "compile", error))
    chunks = 0
    if cases:
        code = compile_module(emit_kernels((f"k{k}_", case.func) for k, case in enumerate(cases)), kernel="programs")
        for k, case in enumerate(cases):
            found, ran = _run(case, _Named(code, f"k{k}_"))
            failures += found
            chunks += ran
    return failures, chunks


def _run(case: Case, code: Any) -> tuple[list[Failure], int]:
    """Runs one case in every way."""
    entries = {n: CpuCode(case.func, pack_layout(case.func), code, Cost(pool)) for n, pool in _pools.items()}
    runs: list[Callable[[], object]] = [
        lambda: interpret(case.func, case.args),
        lambda: interpret(case.func, case.args, reverse=True),
        *(lambda entry=entry: entry.launch(case.tack_args) for entry in entries.values()),
    ]
    failures: list[Failure] = []
    with force_fanout() as fanout:
        for way, run in zip(WAYS, runs, strict=True):
            try:
                difference = case.difference(run)
            except Exception as error:  # as above
                failures.append(raised(case.program, way, error))
            else:
                if difference:
                    failures.append(Failure(case.program, way, "wrong result", difference))
    return failures, fanout.worker_chunks


def raised(program: Program, how: str, error: Exception) -> Failure:
    """The failure that an exception is."""
    return Failure(program, how, type(error).__name__, str(error))
