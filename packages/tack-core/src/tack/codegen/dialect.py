"""The words in which the C-like languages differ, as one record for each, and the literals spelled with them.

Knows types and the op table; nothing of statements, devices or vendors. A dialect's own words stand in `<name>_gen.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from tack.ir.ops import OPS
from tack.ir.types import ScalarType, f32, u32, u64

__all__ = ["Dialect", "unsigned_word"]


def unsigned_word(t: ScalarType) -> ScalarType:
    """The unsigned type in which arithmetic of integer type `t` is done: wide enough that C never promotes it to `int`."""
    return u64 if t.bits == 64 else u32


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """A C-like language. Format fields are named in braces.

    `types`: the C type for each Tack type name; a type that is absent does not exist there. `suffixes`: of literals, by type
    name. `header` opens a translation unit. `kernel` ({entry}) and `helper` stand before a kernel's parameter list and a
    helper function. `array` ({const}, {type}, {restrict}, {name}, {slot}) and `pack` ({type}, {name}, {slot}) declare a
    parameter, `slot` counting them from 0; `const` and `restrict` are the words put in where they hold. `extra_params` follow.
    `linear_index`: the number of the lane in its row of workgroups, a u64 expression; `row` and `plane`: the numbers of the row
    and of the plane, "" where all workgroups stand in one row. `line` ({line}, {name}): says where in which source the next line
    comes from, "" where nothing says it. `from_bits`: how the float of a type is made
    of {bits}, an unsigned literal of its width. `math`: spellings of operations that differ from the op table's, by row name;
    f32 functions get `f32_suffix`.

    Memory: `shared` ({type}, {name}, {size}) declares an array of the workgroup, `lane` is the number of a lane in it, `barrier`
    makes all of them wait; `most_shared`: bytes that a workgroup may have. `atomics`: operations on {p} and {v} that return the
    old value, by "add.i32" and so on; those in `flushing` may take subnormal numbers for zero. `compare_and_swap` ({p}, {old},
    {new}) for words of 32 and 64 bits, `to_bits` ({value}) the reverse of `from_bits`. `pointer` ({type}) points to an element
    of an array parameter, `relaxed` ({type}, {place}) is an element that other lanes update meanwhile.

    `bits`: the counts "clz" and "popcount" of the word {x}, by "clz.u32" and so on. `prints`: conversions of `printf` by type
    name, none where there is no `printf`. `texture` ({name}, {slot}) declares a 3-D texture, `sample` ({texture}, {u}, {v}, {w})
    reads it.
    """

    name: str
    types: Mapping[str, str]
    suffixes: Mapping[str, str]
    kernel: str
    helper: str
    array: str
    pack: str
    linear_index: str
    from_bits: Mapping[str, str]
    header: str = ""
    row: str = ""
    plane: str = ""
    line: str = ""
    const: str = "const "
    restrict: str = ""
    extra_params: tuple[str, ...] = ()
    math: Mapping[str, str] = field(default_factory=dict[str, str])
    f32_suffix: str = "f"
    shared: str = ""
    lane: str = ""
    barrier: str = ""
    leave: str = "return;"
    most_shared: int = 48 << 10
    atomics: Mapping[str, str] = field(default_factory=dict[str, str])
    flushing: frozenset[str] = frozenset()
    compare_and_swap: Mapping[str, str] = field(default_factory=dict[str, str])
    to_bits: Mapping[str, str] = field(default_factory=dict[str, str])
    pointer: str = "{type}*"
    relaxed: str = "{place}"
    bits: Mapping[str, str] = field(default_factory=dict[str, str])
    prints: Mapping[str, str] = field(default_factory=dict[str, str])
    texture: str = ""
    sample: str = ""

    def function(self, op: str, t: ScalarType) -> str:
        """The name of the math function of row `op` for float type `t`."""
        name = self.math.get(op) or OPS[op].c_float or op
        return name + self.f32_suffix if t is f32 else name

    def literal(self, value: float, t: ScalarType) -> str:
        """An expression of type `t` with exactly this value, floats rounded to `t` once. Negative ones come in parentheses."""
        if t.is_float:
            return self._float(value, t)
        if not t.is_int:
            return "true" if value else "false"
        suffix = self.suffixes.get(t.name, "")
        number = int(value)
        if number >= 0:
            return f"{number}{suffix}"
        if number == t.min and t.bits >= 32:  # C has no negative literals: the positive one would not fit
            return f"(-{-number - 1}{suffix} - 1)"
        return f"({number}{suffix})"

    def _float(self, value: float, t: ScalarType) -> str:
        with np.errstate(over="ignore"):
            rounded = t.numpy.type(value)
        number = float(rounded)
        if not np.isfinite(rounded):
            word = u32 if t is f32 else u64
            bits = int(rounded.view(word.numpy))
            return self.from_bits[t.name].format(bits=f"{bits:#x}{self.suffixes.get(word.name, '')}")
        text = repr(number)
        if len(text) > 12 or Decimal(text) != Decimal(number):  # only a decimal of exactly this value leaves nothing to rounding
            mantissa, exponent = number.hex().split("p")
            text = f"{mantissa.rstrip('0')}p{exponent}" if "." in mantissa else f"{mantissa}p{exponent}"
            text = text.replace(".p", ".0p")
        text += self.suffixes.get(t.name, "")
        return f"({text})" if text.startswith("-") else text
