"""`tack.inspect`: what Tack makes of a kernel for one call, as text. Compiles, but never runs."""

from __future__ import annotations

from types import MethodType
from typing import Any

from tack.errors import fail
from tack.forks import importing
from tack.lang.kernel import Kernel, end_at_the_call
from tack.runtime import debug

__all__ = ["inspect"]


def inspect(kernel: Kernel, *args: Any, mode: str = "source") -> str:
    """The code that `kernel(*args)` would run, on the device where it would run.

    `mode`: "ir" is Tack's intermediate representation after all passes, "source" the text handed to the device's compiler (LLVM
    IR on the CPU), and on the CPU "optimized" is LLVM IR after its passes and "asm" assembly. An unknown mode is `ValueError`;
    what is wrong with a kernel or with its arguments is raised as by a call.
    """
    try:
        return _inspect(kernel, args, mode)
    except Exception as error:  # whatever it is, it is raised again
        end_at_the_call(error)
        raise


def _inspect(kernel: Kernel, args: tuple[Any, ...], mode: str) -> str:
    with importing:
        from tack.ir.printer import print_ir  # with the rest of the compiler, not with `import tack`
        from tack.lang.call_shape import describe_call
        from tack.runtime.checked_launch import checked_call
        from tack.runtime.dispatch import device_of_call
        from tack.runtime.launch_checks import check_workgroup_support

    if isinstance(kernel, MethodType) and isinstance(kernel.__func__, Kernel):  # obj.kernel
        kernel, args = kernel.__func__, (kernel.__self__, *args)
    if not isinstance(kernel, Kernel):
        raise fail(TypeError, f"inspect takes a kernel, not {type(kernel).__name__}", remedy="Decorate it with @tack.kernel.")
    call = describe_call(kernel.param_names, kernel.bind(args, {}))
    device = device_of_call(kernel, call)
    backend = device._backend
    check_workgroup_support(backend.capabilities, kernel.template(call), NotImplementedError)
    modes = ("ir", *backend.code_modes)
    if mode not in modes:
        listed = ", ".join(map(repr, modes))
        raise fail(ValueError, f"inspect has no mode {mode!r} on {backend.label}", remedy=f"Modes: {listed}.")
    variant = backend.resolve(kernel, checked_call(kernel, call, device) if debug.is_on() else call)
    return print_ir(variant.ir) if mode == "ir" else backend.code(variant, mode)
