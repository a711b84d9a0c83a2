"""Runs PTX on the CPU: loads modules, launches kernels lane by lane, and reports the first thing that a GPU would not forgive.

The driver stands above and brings memory, textures and the addresses of a module's variables. Knows nothing of CUDA's calls.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from tack_sim.engine_fault import Fault, fault_of
from tack_sim.engine_jit import Code, compile_text
from tack_sim.engine_native import CRange, CTexture, Job, library
from tack_sim.ptx_model import Param, PtxError, Variable
from tack_sim.ptx_parse import parse
from tack_sim.ptx_translate import KERNEL, Range, Translation, translate
from tack_sim.ptx_writer import FUNCTIONS

__all__ = ["Fault", "Kernel", "Memory", "Module", "Param", "PtxError", "Texture", "Variable", "launch", "load"]

_MODULES = 256  # kept in the process


class Memory(Protocol):
    """A device's memory: addresses `base` to `base + size`, and where its shadow is.

    The shadow has a byte for each 8 bytes: 0 all may be used, 1 to 7 the first so many, 0xFD freed, anything else none.
    """

    @property
    def base(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def shadow(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Texture:
    """A 3-D texture of f32 with clamped addresses. Sizes are in texels; `texels` is the address of the first in host memory.

    x runs fastest, the `channels` (1, 2 or 4) of a texel are neighbours. `normalized`: coordinates are parts of the size.
    """

    handle: int
    texels: int
    width: int
    height: int
    depth: int
    channels: int = 1
    linear: bool = False
    normalized: bool = False


class Kernel:
    """A kernel of a module. Sizes are in bytes.

    `param_bytes` is the size of the argument buffer, `shared_bytes` of static shared memory; `max_threads` is what the kernel
    was compiled for. `float_atomics`: results may depend on the order of lanes, by rounding.
    """

    def __init__(self, name: str, translation: Translation) -> None:
        function = translation.module.functions[name]
        parts = [translation.functions[part] for part in translation.reachable(name)]
        self.name = name
        self.params: tuple[Param, ...] = function.params
        self.param_bytes = max((p.offset + p.size for p in function.params), default=0)
        self.max_threads = function.max_threads
        self.shared_bytes, self._ranges = translation.kernel_shared(name)
        self.local_bytes = translation.kernel_local(name)
        self.uses_barriers = any(part.barriers for part in parts)
        self.uses_shared = bool(set[str]().union(*(part.shared for part in parts)))
        self.float_atomics = any(part.float_atomics for part in parts)
        self._translation = translation
        self._lock = threading.Lock()
        self._code: Code | None = None

    def code(self) -> Code:
        """The kernel's machine code, compiled at its first launch."""
        with self._lock:
            if self._code is None:
                self._code = compile_text(self._translation.kernel_text(self.name), KERNEL, library())
            return self._code

    @property
    def translation(self) -> Translation:
        """The module's translation."""
        return self._translation

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Where static shared memory is in the simulator's layout."""
        return self._ranges


class Module:
    """A loaded module. `variables` are those in global and constant memory.

    The driver gives each of them memory in the device, writes `initial` bytes there, and passes the addresses to launches in
    the order of `variables`.
    """

    def __init__(self, translation: Translation) -> None:
        entries = (name for name, function in translation.module.functions.items() if function.entry)
        self.kernels = {name: Kernel(name, translation) for name in entries}
        self.variables: tuple[Variable, ...] = translation.variables
        self._numbers = translation.numbers

    def initial(self, variable: Variable, addresses: Sequence[int]) -> bytes:
        """The bytes a variable starts with, given the addresses of all `variables`."""
        data = bytearray(variable.data.ljust(variable.size, b"\0"))
        names = {v.name: k for k, v in enumerate(self.variables)}
        for offset, name, addend in variable.links:
            if name in names:
                value = addresses[names[name]] + addend
            elif name in self._numbers:
                value = FUNCTIONS + 16 * self._numbers[name]
            else:
                raise PtxError(f"variable {variable.name} holds the address of {name}, which is not known to the simulator")
            data[offset : offset + 8] = value.to_bytes(8, "little")
        return bytes(data)


@lru_cache(maxsize=_MODULES)
def load(ptx: str) -> Module:
    """The module of a PTX text; the same text gives the same module as long as the process keeps it.

    PtxError names the line and the instruction of what the simulator does not know: it never guesses.
    """
    return Module(translate(parse(ptx)))


def launch(
    kernel: Kernel,
    params: bytes,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    region: Memory,
    textures: Iterable[Texture] = (),
    *,
    variables: Sequence[int] = (),
    dynamic_shared: int = 0,
    reverse: bool = False,
    leaving: bool = False,
    silent: bool = False,
) -> Fault | None:
    """Runs a grid of blocks to its end, or to the first fault, which comes back; memory is then as the fault left it.

    `params`: the argument buffer, `kernel.param_bytes` long. `variables`: the addresses of the module's variables.
    `dynamic_shared`: bytes of shared memory beyond the static. `reverse`: blocks and lanes run from the last to the first.
    `leaving`: lanes that have ended do not count at barriers, as on devices of compute capability 7.0 and up; otherwise a
    barrier that some lanes reach after others ended is a fault. ValueError if sizes do not fit the kernel. What the kernel
    prints goes to file descriptor 1, or nowhere if `silent`. The region's pages must be readable and writable meanwhile.
    """
    translation = kernel.translation
    if len(params) != kernel.param_bytes:
        raise ValueError(f"kernel {kernel.name} takes {kernel.param_bytes} bytes of arguments, not {len(params)}")
    if len(variables) != len(translation.variables):
        raise ValueError(f"the module of kernel {kernel.name} has {len(translation.variables)} variables, not {len(variables)}")
    lanes = block[0] * block[1] * block[2]
    if min(*grid, *block) < 1 or lanes > min(kernel.max_threads, 1024) or dynamic_shared < 0:
        raise ValueError(
            f"kernel {kernel.name} cannot run with grid {grid}, block {block} and {dynamic_shared} bytes of shared memory"
        )
    job = Job()
    job.grid, job.block = grid, block
    job.base, job.size, job.shadow = region.base, region.size, region.shadow
    buffer = ctypes.create_string_buffer(params, len(params) + 16)
    ranges = [*kernel.ranges, *([Range(translation.dynamic, dynamic_shared)] if dynamic_shared else [])]
    c_ranges = (CRange * len(ranges))(*((r.start, r.size) for r in ranges))
    c_textures = [CTexture(t.handle, t.texels, t.width, t.height, t.depth, t.channels, t.linear, t.normalized) for t in textures]
    texture_table = (CTexture * len(c_textures))(*c_textures)
    addresses = (ctypes.c_uint64 * len(variables))(*variables)
    code = kernel.code()
    job.kernel = code.address
    job.params, job.params_size = ctypes.addressof(buffer), len(params)
    job.variables = ctypes.addressof(addresses)
    job.textures, job.texture_count = ctypes.addressof(texture_table), len(c_textures)
    job.shared, job.shared_count = ctypes.addressof(c_ranges), len(ranges)
    job.shared_span = max((r.start + r.size for r in ranges), default=0)
    job.local_bytes = kernel.local_bytes
    job.lines = ctypes.addressof(translation.site_lines)
    job.dynamic, job.total = dynamic_shared, kernel.shared_bytes + dynamic_shared
    job.barriers, job.reverse, job.leaving, job.silent = kernel.uses_barriers, reverse, leaving, silent
    status = library().sim_launch(ctypes.byref(job))
    if status == 2:
        raise MemoryError(f"no memory to run kernel {kernel.name} with block {block}")
    return fault_of(job, kernel.name, translation) if status else None
