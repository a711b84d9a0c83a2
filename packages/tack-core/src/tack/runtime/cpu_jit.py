"""From LLVM IR text to callable machine code, and to text for reading. Knows nothing of kernels but a name for messages.

llvmlite is imported at the first use. One lock stands around LLVM: every function here may be called from any thread.
"""

from __future__ import annotations

import itertools
import platform
import re
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tack.errors import fail
from tack.forks import hold_over_fork

if TYPE_CHECKING:
    from llvmlite import binding

__all__ = ["Code", "asm", "compile_module", "emit_object", "exported", "has_fma", "load_object", "optimized", "target_key"]

_lock = hold_over_fork(2, threading.RLock())
_serial = itertools.count()
_LIBRARIES = 256  # of one linker; what it notes of a library, about 9 KB, is freed with the linker alone
_DEFINED = re.compile(r"^define (?!internal)[^@\n]*@([\w.]+)\(", re.MULTILINE)


class Code:
    """Loaded machine code; `names` are its exported functions, `image` the object file. The memory is freed with this object.

    Freeing takes llvmlite's own lock alone, which it holds for each call.
    """

    __slots__ = ("__weakref__", "_tracker", "image", "names")

    def __init__(self, tracker: Any, names: tuple[str, ...], image: bytes) -> None:
        self._tracker = tracker
        self.names = names
        self.image = image

    def address(self, name: str) -> int:
        """Where the exported function `name` is; KeyError if there is none. Valid while this object lives."""
        return self._tracker[name]

    def __del__(self, lock: Any = _lock) -> None:  # bound here: at exit the module's names go first
        with lock:
            del self._tracker


class _Jit:
    """The process's LLVM: the target machine, the settings of the passes, and the linker."""

    def __init__(self) -> None:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        if sys.platform.startswith("linux"):
            try:  # where Python was linked without it; musl has these functions in the C library
                binding.load_library_permanently("libm.so.6")
            except RuntimeError:
                pass
        self.binding = binding
        self.cpu = binding.get_host_cpu_name()
        self.features = binding.get_host_cpu_features()
        self.triple = binding.get_process_triple()
        # JITLink lays an object out in one piece, as the small code model needs; for Windows LLVM has only the old linker.
        self.code_model = "jitdefault" if sys.platform == "win32" else "small"
        self.machine = self.new_machine(3)
        self.layout = str(self.machine.target_data)
        version = ".".join(str(part) for part in binding.llvm_version_info)
        self.target = (version, self.triple, self.cpu, self.features.flatten(), str(self._vector_bits()))
        self._linker: Any = None
        self._builders: dict[int, Any] = {}

    def new_machine(self, opt: int) -> binding.TargetMachine:
        """A target machine for this processor."""
        return self.binding.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features.flatten(),
            opt=opt,
            reloc="pic",
            codemodel=self.code_model,
            jit=True,
        )

    def _vector_bits(self) -> int:
        """The width of the processor's widest vector registers."""
        has = self.features.get
        return 512 if has("avx512f", False) else 256 if has("avx", False) else 128

    def link(self, library: Any) -> Any:
        """Links a `JITLibraryBuilder`; the tracker that keeps its code. A linker goes with the last of its libraries."""
        number = next(_serial)
        if number % _LIBRARIES == 0:
            jit_link = self.code_model == "small"
            self._linker = self.binding.create_lljit_compiler(self.new_machine(3), use_jit_link=jit_link, suppress_errors=True)
        return library.link(self._linker, f"tack{number}")

    def optimize(self, module: binding.ModuleRef, opt: int) -> None:
        """Runs LLVM's pipeline of level `opt`."""
        binding = self.binding
        builder = self._builders.get(opt)
        if builder is None:
            tuning = binding.create_pipeline_tuning_options(speed_level=opt)
            tuning.loop_vectorization = opt > 1  # SLP took a third of the passes' time on scalar code
            builder = self._builders[opt] = binding.create_pass_builder(self.machine, tuning)
        passes = builder.getModulePassManager()
        passes.run(module, builder)
        # llvmlite (0.45 to 0.50) never frees one: its class inherits the empty `_dispose` first. 80 KB a module.
        binding.NewPassManager._dispose(passes)
        passes.detach()


_process: _Jit | None = None


def _jit() -> _Jit:
    """The one `_Jit`; call it with the lock held."""
    global _process
    if _process is None:
        _process = _Jit()
    return _process


def has_fma() -> bool:
    """Whether this processor multiplies and adds with one rounding."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return True
    with _lock:
        return bool(_jit().features.get("fma", False))


def target_key() -> tuple[str, ...]:
    """What machine code depends on besides its IR text: LLVM's version, triple, processor, features and vector width in bits."""
    with _lock:
        return _jit().target


def exported(text: str) -> tuple[str, ...]:
    """The names of the functions that a module defines for others."""
    return tuple(_DEFINED.findall(text))


def _failure(kernel: str, verb: str, error: str, text: str = "") -> Exception:
    """The error of a native compile: LLVM's own words and the one to three lines that they are about, not the whole source."""
    lines = text.splitlines()
    at = re.search(r"<string>:(\d+):(\d+): ", error)
    words = [line.strip() for line in error.strip().splitlines() if line.strip() and line.strip() != "LLVM IR parsing error"]
    if at is None:
        shown = words[:4]
    else:
        k = int(at[1]) - 1
        around = range(max(0, k - 1), min(k + 2, len(lines)))
        shown = [words[0].replace("<string>:", "line "), *(f"{n + 1:5} | {lines[n]}" for n in around)]
    body = "\n    ".join(line[:200] for line in shown)
    return fail(RuntimeError, f"the CPU backend could not {verb} it. LLVM says:\n    {body}", kernel=kernel)


def _parse(jit: _Jit, text: str, kernel: str) -> binding.ModuleRef:
    """The verified module, in a context of its own, so that nothing of it stays in the process."""
    try:
        module = jit.binding.parse_assembly(text, context=jit.binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise _failure(kernel, "compile", str(error), text) from None
    module.triple = jit.triple
    module.data_layout = jit.layout
    return module


def _compiled(jit: _Jit, text: str, kernel: str, opt: int) -> binding.ModuleRef:
    module = _parse(jit, text, kernel)
    jit.optimize(module, opt)
    return module


def emit_object(text: str, kernel: str = "", *, opt: int = 3, passes: bool = True) -> bytes:
    """The object file of a module of LLVM IR text, for this processor. RuntimeError names the kernel and the lines at fault.

    Without `passes` the text is only translated, by a code generator of level `opt`: a third of the time, for text that is
    written as it shall run.
    """
    with _lock:
        jit = _jit()
        if not passes:
            return jit.new_machine(opt).emit_object(_parse(jit, text, kernel))
        return jit.machine.emit_object(_compiled(jit, text, kernel, opt))


def load_object(data: bytes, names: Iterable[str], kernel: str = "") -> Code:
    """Loads an object file and finds the functions `names` in it. C library functions resolve in this process."""
    wanted = tuple(names)
    with _lock:
        jit = _jit()
        builder = jit.binding.JITLibraryBuilder().add_object_img(data).add_current_process()
        for name in wanted:
            builder.export_symbol(name)
        try:
            return Code(jit.link(builder), wanted, data)
        except RuntimeError as error:
            raise _failure(kernel, "load", str(error)) from None


def compile_module(text: str, kernel: str = "", *, opt: int = 3) -> Code:
    """Compiles and loads a module of LLVM IR text, by way of its object file, as cached code is loaded."""
    return load_object(emit_object(text, kernel, opt=opt), exported(text), kernel)


def optimized(text: str, kernel: str = "") -> str:
    """The module after LLVM's passes, as text."""
    with _lock:
        return str(_compiled(_jit(), text, kernel, 3))


def asm(text: str, kernel: str = "") -> str:
    """The module's machine code, as assembly text."""
    with _lock:
        jit = _jit()
        return jit.machine.emit_assembly(_compiled(jit, text, kernel, 3))
