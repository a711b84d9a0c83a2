"""Runs tests a second time for a simulated GPU: what they run on the CPU is interpreted, noted, and then executed there.

A test's own assertions hold for what the interpreter leaves; where the GPU leaves the same bits they hold for the GPU. All
kernels of a module are compiled together, so that this costs little more than running them.
"""

from __future__ import annotations

import inspect
import io
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gpu_batch import Batch, OnDevice
from host_c import HostUnit

import tack
from tack.ir.interpret import interpret
from tack.ir.nodes import IRFunc, IROp
from tack.ir.ops import OPS
from tack.ir.walk import walk_func
from tack.lang.array import Array
from tack.lang.call_shape import CallShape, describe_call
from tack.lang.texture import Texture3D
from tack.runtime.kernel_utils import resolve_variant
from tack.testing import DeviceTarget, FanoutTarget, InterpreterTarget
from tack.testing.targets import typed_call

__all__ = ["AS_LAUNCHED", "EVERY_FORM", "Replay"]

Form = tuple[bool, bool]  # with 64-bit indices, with workgroups in a row
AS_LAUNCHED: tuple[Form, ...] = ((False, False),)
EVERY_FORM: tuple[Form, ...] = ((False, False), (True, False), (False, True), (True, True))

_EXACT = {"floor", "ceil", "trunc", "round", "sqrt", "copysign", "fmod"}  # of the functions
_ELEMENTARY = {row.name for row in OPS.values() if row.rule in ("math", "power")} - _EXACT
_TEXTURES = 1 / 64  # of the largest value: hardware weighs texels by 256ths
_LACKS = "which has no atomics on CUDA"  # of 8 and 16 bits


def tests_of(module: ModuleType) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each test of a module with each of its parameters, by name; those of other fixtures than a folder are left out."""
    for name, function in list(vars(module).items()):
        if not (name.startswith("test_") and inspect.isfunction(function)):
            continue
        marks = getattr(function, "pytestmark", [])
        sets = [_parameters(mark) for mark in marks if mark.name == "parametrize"]
        wanted = set(inspect.signature(function).parameters)
        for chosen in itertools.product(*sets):
            given = {k: v for each in chosen for k, v in each.items()}
            if wanted - set(given) <= {"tmp_path"}:
                shown = ", ".join(str(getattr(v, "__name__", v))[:30] for v in given.values())
                yield f"{name}({shown})", lambda f=function, g=given, folder="tmp_path" in wanted: _call(f, g, folder)


def _parameters(mark: pytest.Mark) -> list[dict[str, Any]]:
    names, values = mark.args[:2]
    names = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    rows = [row.values if isinstance(row, type(pytest.param())) else row if len(names) > 1 else (row,) for row in values]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _call(function: Callable[..., object], given: dict[str, Any], folder: bool) -> None:
    with tempfile.TemporaryDirectory() as path:
        function(**given, **({"tmp_path": Path(path)} if folder else {}))


@dataclass(slots=True)
class Run:
    """A launch that waits for the GPU: what it is given there, and what it must leave, return and print."""

    test: str
    kernel: Any  # kept alive, since its code goes with it
    variant: Any
    given: OnDevice
    hosts: list[np.ndarray]
    first: list[np.ndarray]
    expected: list[np.ndarray]
    result: Any
    lines: list[str]
    tolerance: float


@dataclass
class Replay:
    """`note` runs a test on the interpreter in place of the CPU; `differences` then runs all of it on the GPU.

    `lacking` counts runs that need what the device lacks; `failed` has the tests that did not pass on the interpreter, and why.
    """

    device: tack.Device
    runs: list[Run] = field(default_factory=list[Run])
    lacking: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])
    test: str = ""

    def __post_init__(self) -> None:
        self.batch = Batch(self.device)

    def note(self, module: ModuleType) -> None:
        """Runs the tests of a module."""
        with pytest.MonkeyPatch.context() as patch:
            replay = self
            patch.setattr(DeviceTarget, "run", lambda self, kernel, args: replay._kernel(kernel, args))
            patch.setattr(FanoutTarget, "run", lambda self, kernel, args: InterpreterTarget(self.capabilities).run(kernel, args))
            patch.setattr(
                HostUnit, "__init__", lambda self, kernels, folder: self.__dict__.update(functions={e: f for f, e in kernels})
            )
            patch.setattr(
                HostUnit, "run", lambda self, entry, args, *_, **how: replay._function(self.functions[entry], args, **how)
            )
            if hasattr(module, "compile_all"):
                patch.setattr(module, "compile_all", lambda kernels, *_: {})
            for name, test in tests_of(module):
                self.test = f"{module.__name__}.{name}"
                try:
                    test()
                except (Exception, pytest.fail.Exception) as error:
                    self.failed[self.test] = f"{type(error).__name__}: {error}"

    def call(self, test: str, kernel: Any, args: Sequence[Any]) -> None:
        """Notes one call, under the name `test`."""
        self.test = test
        self._kernel(kernel, args)

    def _kernel(self, kernel: Any, args: Sequence[Any]) -> Any:
        given = [tack.array(a, device="cpu") if isinstance(a, np.ndarray) else a for a in args]
        call = describe_call(kernel.param_names, given)
        func = typed_call(kernel, call, fma=self.batch.capabilities.fma)
        result = self._noted(func, call.args, lambda there: self._resolved(kernel, call, there), kernel)
        for host, value in zip(args, given, strict=True):
            if isinstance(host, np.ndarray):
                host[...] = value.numpy()
        return result

    def _resolved(self, kernel: Any, call: CallShape, there: OnDevice) -> Any:
        try:
            return resolve_variant(self.batch, kernel, replace(call, args=tuple(there.args)))
        except TypeError as error:
            if _LACKS not in str(error):
                raise
            self.lacking += 1
            return None

    def _function(self, func: IRFunc, args: Sequence[Any], *, reverse: bool = False, leaving: bool = False) -> Any:
        return self._noted(func, args, lambda there: self.batch.variant(func), func)

    def _noted(self, func: IRFunc, args: Sequence[Any], resolve: Callable[[OnDevice], Any], kernel: Any) -> Any:
        """Interprets a function, and notes what the GPU must do."""
        there = OnDevice(args, self.device)
        variant = resolve(there)
        hosts = [_host(each) for each in args]
        arrays = [h for h, a in zip(hosts, args, strict=True) if isinstance(h, np.ndarray) and not isinstance(a, Texture3D)]
        first = [each.copy() for each in arrays]
        text = io.StringIO()
        with redirect_stdout(text):
            result = interpret(func, hosts)
        print(text.getvalue(), end="")
        if variant is not None:
            expected, lines = [each.copy() for each in arrays], text.getvalue().splitlines()
            tolerance = _tolerance(variant.ir)
            self.runs.append(Run(self.test, kernel, variant, there, arrays, first, expected, result, lines, tolerance))
        return result

    def differences(self, forms: Sequence[Form] = AS_LAUNCHED) -> list[str]:
        """What the GPU leaves, returns or prints otherwise than the interpreter, in words."""
        self.batch.compile()
        return [each for run in self.runs for form in forms for each in self._differences(run, form)]

    def _differences(self, run: Run, form: Form) -> Iterator[str]:
        wide, rows = form
        for host, first in zip(run.hosts, run.first, strict=True):
            host[...] = first
        run.given.send()
        where = run.test + (" with 64-bit indices" if wide else "") + (" in a row" if rows else "")
        try:
            with _printed() as lines:
                result = self.batch.launch_by(run.variant, run.given.args, wide=wide, rows=rows)
                self.device.synchronize()
        except Exception as error:
            raise AssertionError(f"{where} does not run: {error}") from error  # and nothing may run after it
        run.given.bring_back()
        if not _same(result, run.result, run.tolerance):
            yield f"{where}: the result is {result!r}, not {run.result!r}"
        if sorted(map(_numbers, lines)) != sorted(map(_numbers, run.lines)):
            yield f"{where}: it prints {lines}, not {run.lines}"
        for k, (mine, expected) in enumerate(zip(run.hosts, run.expected, strict=True)):
            if not _same(mine, expected, run.tolerance):
                yield f"{where}: array {k} is {mine.tolist()}, not {expected.tolist()}"[:500]


@contextmanager
def _printed() -> Iterator[list[str]]:
    """The lines that come on file descriptor 1 meanwhile."""
    lines: list[str] = []
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode().splitlines()


_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


def _numbers(line: str) -> str:
    """A printed line with its numbers in one form: GPUs print floats with more digits than they need, and no `.0`."""
    return _NUMBER.sub(lambda found: _number(found[0]), line)


def _number(text: str) -> str:
    value = float(text)
    if text.lstrip("-").isdigit() and value:
        return str(int(text))
    if value.is_integer() and abs(value) < 1 << 53:
        return f"{value:.0f}"
    with np.errstate(over="ignore", under="ignore"):
        return repr(float(np.float32(value)) or value)


def _tolerance(func: IRFunc) -> float:
    """How far floats may be off, as a part of the largest: not at all where all operations are exact."""
    if any(param.texture is not None and param.texture.hardware for param in func.params):
        return _TEXTURES
    inexact = any(isinstance(node, IROp) and node.op in _ELEMENTARY for node in walk_func(func))
    return 1e-6 if inexact else 0.0


def _host(value: Any) -> Any:
    if isinstance(value, Texture3D):
        value = value._copy
    return value.view_numpy() if isinstance(value, Array) else value


def _same(got: Any, expected: Any, tolerance: float) -> bool:
    """Whether values are of one type and have the same bits, any NaN being NaN; nearly so with a tolerance."""
    if type(got) is not type(expected):
        return False
    if expected is None:
        return True
    a, b = np.asarray(got), np.asarray(expected)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    if tolerance:
        most = np.abs(b[np.isfinite(b)]).max(initial=0) if tolerance == _TEXTURES else 0
        return np.allclose(a, b, rtol=tolerance, atol=tolerance * most, equal_nan=True)
    same = a.reshape(-1).view(f"u{a.itemsize}") == b.reshape(-1).view(f"u{b.itemsize}")
    return bool((same | (np.isnan(a) & np.isnan(b)).reshape(-1)).all())
