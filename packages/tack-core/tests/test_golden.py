"""The texts of a dozen kernels, stage by stage: a change of a pass or an emitter shows here as a difference of text.

`pytest tests/test_golden.py --update-golden` writes them anew. They are no oracle: other tests say whether a text is right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from golden import kernels

import tack
from tack.codegen.c_family import emit_kernel
from tack.codegen.cuda_gen import CUDA
from tack.codegen.llvm_gen import emit_module
from tack.ir.nodes import IRFunc
from tack.ir.printer import print_ir
from tack.lang.call_shape import describe_call
from tack.testing.targets import typed

FOLDER = Path(kernels.__file__).parent


@cache
def stage(name: str) -> IRFunc:
    return typed(getattr(kernels, name), kernels.CALLS[name], fma=True)


def template(name: str) -> IRFunc:
    kernel = getattr(kernels, name)
    args = [tack.array(arg) if isinstance(arg, np.ndarray) else arg for arg in kernels.CALLS[name]]
    return kernel.template(describe_call(kernel.param_names, args))


FORMS: dict[str, Callable[[str], str]] = {
    "lowered.txt": lambda name: print_ir(template(name)),
    "typed.txt": lambda name: print_ir(stage(name)),
    "ll": lambda name: emit_module(stage(name)),
    "cu": lambda name: emit_kernel(stage(name), CUDA, name),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", kernels.CALLS)
def test_text_is_as_it_was(name: str, form: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{name}.{form}"
    text = FORMS[form](name)
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), "run pytest with --update-golden"
    assert text == path.read_text(encoding="utf-8"), "if this change is wanted, run pytest with --update-golden"


def test_every_kernel_has_its_texts_and_no_other_is_kept() -> None:
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".txt", ".ll", ".cu")}
    assert kept == {f"{name}.{form}" for name in kernels.CALLS for form in FORMS}
