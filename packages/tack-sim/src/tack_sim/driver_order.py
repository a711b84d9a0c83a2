"""What a kernel's PTX says about the order of lanes: whether results may depend on it, and where it stores what others see."""

from __future__ import annotations

from functools import lru_cache

from tack_sim.engine import Kernel
from tack_sim.ptx_model import Address, Function, Instruction, Pair, Reg, Sink, Vector

__all__ = ["stores_of", "takes_turns"]


def _functions(kernel: Kernel) -> list[Function]:
    translation = kernel.translation
    return [translation.module.functions[name] for name in translation.reachable(kernel.name)]


def _instructions(function: Function) -> list[Instruction]:
    return [item for item in function.body if isinstance(item, Instruction)]


def _registers(operand: object) -> list[str]:
    if isinstance(operand, Reg):
        return [operand.name]
    if isinstance(operand, Address):
        return _registers(operand.base)
    if isinstance(operand, Vector):
        return [name for item in operand.items for name in _registers(item)]
    if isinstance(operand, Pair):
        return [*_registers(operand.first), *_registers(operand.second)]
    return []


@lru_cache(maxsize=256)
def takes_turns(kernel: Kernel) -> bool:
    """Whether a lane uses what an atomic operation found in memory, which depends on the lanes before it for good reason."""
    for function in _functions(kernel):
        instructions = _instructions(function)
        used = [name for i in instructions for operand in i.operands for name in _registers(operand)]
        used += [i.predicate.name for i in instructions if i.predicate is not None]
        for i in instructions:
            if i.name == "atom" and not isinstance(i.operands[0], Sink):
                if any(used.count(name) > 1 for name in _registers(i.operands[0])):
                    return True
    return False


@lru_cache(maxsize=256)
def stores_of(kernel: Kernel) -> tuple[tuple[str, int], ...]:
    """The source places, (file, line), where a kernel writes memory that is not shared or local; none if the PTX has no lines."""
    found: dict[tuple[str, int], None] = {}
    for function in _functions(kernel):
        for i in _instructions(function):
            if (
                i.name in ("st", "red", "atom")
                and not {"shared", "shared::cta", "local", "param"} & set(i.words)
                and i.place.line
            ):
                found[i.place.outer_file or i.place.file, i.place.outer_line or i.place.line] = None
    return tuple(found)
