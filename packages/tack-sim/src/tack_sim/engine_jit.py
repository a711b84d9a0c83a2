"""From LLVM IR text to callable machine code, through llvmlite. Knows nothing of PTX; one lock stands around LLVM."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from llvmlite import binding

from tack_sim.ptx_helpers import NATIVE

__all__ = ["Code", "compile_text"]

# NVIDIA's compiler has optimized the PTX, and a kernel of a test runs once or twice: LLVM only inlines the checks, takes
# registers out of memory and translates fast. That takes a tenth of the time of level 1; loops run half as fast.
_LEVEL = 0
_PASSES = ("always_inliner", "sroa", "simplify_cfg")
_LIBRARIES = 256  # of one linker, whose memory is freed as a whole
_lock = threading.RLock()


class Code:
    """Loaded machine code; `address` is where its function is, as long as this object lives."""

    def __init__(self, tracker: Any, name: str) -> None:
        self._tracker = tracker
        self.address: int = tracker[name]

    def __del__(self, lock: Any = _lock) -> None:
        with lock:
            del self._tracker


class _Jit:
    """The process's target machine, passes and linker."""

    def __init__(self) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.triple = binding.get_process_triple()
        self.machine = self._new_machine()
        self.layout = str(self.machine.target_data)
        self.builder = binding.create_pass_builder(self.machine, binding.create_pipeline_tuning_options(speed_level=_LEVEL))
        self.serial = 0
        self.linker: Any = None

    def _new_machine(self) -> binding.TargetMachine:
        return binding.Target.from_triple(self.triple).create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=_LEVEL,
            reloc="pic",
            codemodel="small",
            jit=True,
        )

    def object_of(self, text: str) -> bytes:
        """The object file of a module."""
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
        module.triple, module.data_layout = self.triple, self.layout
        passes = binding.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, self.builder)
        binding.NewPassManager._dispose(passes)  # its own class inherits a method that frees nothing
        passes.detach()
        return self.machine.emit_object(module)

    def link(self, image: bytes, name: str, library: ctypes.CDLL) -> Code:
        """Loads an object file; the functions of lanes.cpp that it calls are those of `library`."""
        if self.serial % _LIBRARIES == 0:
            self.linker = binding.create_lljit_compiler(self._new_machine(), use_jit_link=True, suppress_errors=True)
        self.serial += 1
        builder = binding.JITLibraryBuilder().add_object_img(image).add_current_process().export_symbol(name)
        for native in NATIVE:
            builder.import_symbol(native, ctypes.cast(getattr(library, native), ctypes.c_void_p).value)
        return Code(builder.link(self.linker, f"tack_sim{self.serial}"), name)


_jit: _Jit | None = None


def compile_text(text: str, name: str, library: ctypes.CDLL) -> Code:
    """Compiles a module of LLVM IR text and finds its function `name`."""
    global _jit
    with _lock:
        if _jit is None:
            _jit = _Jit()
        return _jit.link(_jit.object_of(text), name, library)
