"""What to write instead of names that kernels do not have, many of them other libraries': the last paragraph of messages.

Knows names and Python objects; no syntax trees and no IR.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import numpy as np

__all__ = [
    "ARRAY_NAMES", "BUILTINS", "CLASS_METHOD", "HELPERS", "TEXT", "VECTOR_NAMES", "did_you_mean", "for_name", "from_library",
    "listed", "numpy_remedy",
]  # fmt: skip

# Device functions of `tack.math`, beside the functions of the op table.
HELPERS: Final = (
    "clamp", "cross", "degrees", "distance", "dot", "fract", "length", "mix", "normalize", "radians", "reflect", "saturate",
    "sign", "smoothstep", "step",
)  # fmt: skip

CLASS_METHOD = "Write `@staticmethod` for `@classmethod`, and leave `cls` out; a method with `self` reads the class's numbers."
TEXT = "Let a number stand for it; `print` takes strings and f-strings as arguments of their own."
_MOST = 12  # names that a message lists


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """ "Did you mean 'x'?" for the closest candidate, or nothing."""
    import difflib

    known = list(candidates)
    close = [each for each in known if each.lower() == name.lower()] or difflib.get_close_matches(name, known, n=2, cutoff=0.7)
    other = [candidate for candidate in close if candidate != name]
    return f"Did you mean '{other[0]}'?" if other else ""


def listed(names: Sequence[str]) -> str:
    """Names in a row, as far as a message has room."""
    return ", ".join(names[:_MOST]) + (", ..." if len(names) > _MOST else "")


# ------------------------------------------------------------------------------------------- names that are not bound

_INDEX = "The loop variable is the index: `for i in range(n):` runs its iterations in parallel."
_PARALLEL = "Write `range`: the kernel's one loop is the parallel one."
_LOCAL = "Write `t = tack.local_array(dtype, n)`, and store its elements."
_SUM = "Add the elements in a loop: `total += a[k]`; of a vector write `v.sum()`."
_RANDOM = "Write tack.random.uniform_f32(seed, i, 0), or another function of tack.random."
_ADD = "Write `tack.atomic_add(a, i, value)`."
_ATOMICS = "Kernels have tack.atomic_add, tack.atomic_min and tack.atomic_max."
_CUDA = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("grid", "gridsize", "tid", "laneid", "get_global_id", "program_id"), _INDEX),
    **dict.fromkeys(("prange", "parallel_range", "pfor"), _PARALLEL),
    **dict.fromkeys(("syncthreads", "sync_threads", "block.sync"), "Write `tack.barrier()`."),
    **dict.fromkeys(("atomic.add", "atomicAdd"), _ADD),
    **dict.fromkeys(("atomic_sub", "atomic.sub", "atomicSub"), "Write `tack.atomic_add(a, i, -value)`."),
    **dict.fromkeys(("atomic_cas", "atomic_exch", "atomic_inc", "atomic_and", "atomic_or", "atomic_xor"), _ATOMICS),
    "atomic.min": _ADD.replace("add", "min"),
    "atomic.max": _ADD.replace("add", "max"),
    "shared.array": "Write `s = tack.shared(dtype, n)`.",
    "local.array": _LOCAL,
    "static": "Leave it out: literals and tack.constants are known when the kernel is compiled.",
    **dict.fromkeys(("Vector", "Matrix"), "Write a list, `[x, y]`, or a type, tack.vec2(x, y)."),
    **dict.fromkeys(("random.random", "rand", "randn", "random", "randf", "uniform"), _RANDOM),
    "clip": "Write tack.math.clamp(x, low, high).",
    "lerp": "Write tack.math.mix(a, b, t).",
    "rsqrt": "Write `1.0 / sqrt(x)`.",
    "where": "Write `a if condition else b`, or tack.select(mask, a, b).",
}
_DTYPES = {
    "float32": "f32", "float64": "f64", "double": "f64", "single": "f32", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "byte": "u8", "uint": "u32", "bool_": "u8",
    **{name: name for name in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64")},
}  # fmt: skip
_NO_DTYPES = ("float16", "f16", "half", "bfloat16", "float128", "longdouble", "complex64", "complex128")


def for_name(dotted: str, *, called: bool = False) -> str:
    """What to write for a name that has a meaning elsewhere: a dotted one, a function's if `called`, a type's; or nothing."""
    parts = dotted.split(".")
    last = parts[-1]
    if any(part in _CUDA for part in parts):
        return _INDEX
    if called or len(parts) > 1:
        found = _ELSEWHERE.get(".".join(parts[-2:])) or _ELSEWHERE.get(last)
        if found:
            return found
    if last in _DTYPES:
        return f"Write `tack.{_DTYPES[last]}`."
    if last[3:].isdigit() and last[:3] in ("vec", "mat"):
        return "Write tack.vec(n, tack.f32) or tack.mat(rows, cols, tack.f32)."
    if last in ("pi", "tau", "inf", "nan"):
        return f"Write `math.{last}`."
    if last in _NO_DTYPES:
        return "Kernels compute with tack.f32 and tack.f64."
    return f"Write `tack.math.{last}`." if last in HELPERS and (called or len(parts) > 1) else ""


def _module(value: object) -> str:
    """The module of a function, or of the object that a method belongs to."""
    module: object = getattr(value, "__module__", None)
    return module if isinstance(module, str) else type(getattr(value, "__self__", None)).__module__


_LIBRARIES = ("numba", "taichi", "warp", "cupy", "cupyx", "jax", "torch", "triton", "random", "time")


def from_library(dotted: str, value: object) -> str:
    """What to write for a function of another library, or nothing."""
    root = _module(value).partition(".")[0]
    if root not in _LIBRARIES:
        return ""
    return for_name(dotted, called=True) or ("Do it before and after the launch." if root == "time" else "")


# -------------------------------------------------------------------------------------------------- Python's builtins

_OVER_ELEMENTS = "Loop over the indices: `for k in range(len(a))`."
_BEFORE = "Do it before the launch, and pass numbers and arrays."
_NO_TEXT = "Text goes to `print` alone; kernels compute with numbers."
_CONTAINER = "Use separate locals, or pass an array."
BUILTINS: dict[str, str] = {
    "sum": _SUM, "enumerate": _OVER_ELEMENTS, "zip": _OVER_ELEMENTS, "map": _OVER_ELEMENTS, "filter": _OVER_ELEMENTS,
    "reversed": "Count down: `for k in range(n - 1, -1, -1)`.", "divmod": "Write `a // b` and `a % b`.", "str": _NO_TEXT,
    "repr": _NO_TEXT, "format": _NO_TEXT, "chr": _NO_TEXT, "ord": _NO_TEXT, "list": _LOCAL, "tuple": _CONTAINER,
    "dict": _CONTAINER, "set": _CONTAINER, "frozenset": _CONTAINER, "bytes": _CONTAINER, "bytearray": _LOCAL, "open": _BEFORE,
    "input": _BEFORE, "sorted": _BEFORE, "complex": "Pass its real and imaginary part as two numbers.",
    "isinstance": "Leave it out: every name has one type, known when the kernel is compiled.",
    "type": "Leave it out: every name has one type, known when the kernel is compiled.",
    "hash": "Write the mixing of bits out, with `^`, `*` and shifts of a tack.u32.",
    "iter": _OVER_ELEMENTS, "next": _OVER_ELEMENTS,
    "getattr": "Write `obj.name`.", "hasattr": "Write `obj.name`.", "setattr": "Store into an array of the object.",
    "slice": "Index one element, in a loop over the range.", "super": "Write `super()` in a method of a device class.",
}  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- NumPy

_NUMPY_NAMES = {
    "absolute": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "minimum": "min", "fmin": "min", "maximum": "max", "fmax": "max", "power": "pow",
    "float_power": "pow", "rint": "round", "around": "round", "where": "tack.select", "remainder": "%", "mod": "%",
    "floor_divide": "//", "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "left_shift": "<<",
    "right_shift": ">>", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "invert": "~", "logical_and": "and",
    "logical_or": "or", "logical_not": "not", "negative": "(-?)", "square": "(? * ?)", "reciprocal": "(1.0 / ?)",
    "clip": "tack.math.clamp(x, low, high)", "deg2rad": "tack.math.radians", "rad2deg": "tack.math.degrees", "norm": "v.norm()",
    "bitwise_count": "popcount",
}  # fmt: skip
_ELEMENTS = "Write a loop over the elements."
_MADE = "Compute each value from the loop variable, or pass the array."
_NUMPY_WORDS = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"), _LOCAL),
    **dict.fromkeys(("array", "asarray"), "Write a list: `[x, y, z]` is a vector."),
    **dict.fromkeys(("arange", "linspace", "meshgrid", "indices"), _MADE),
    **dict.fromkeys(("sum", "nansum"), _SUM),
    **dict.fromkeys(("mean", "prod", "dot", "vdot", "inner", "argmin", "argmax", "cumsum", "std", "var"), _ELEMENTS),
    "matmul": "Write `a @ b`, of vectors and matrices with 2 to 4 components a side, or loops.",
    **dict.fromkeys(("rand", "randn", "random", "random_sample", "randint", "uniform", "normal"), _RANDOM),
}  # fmt: skip


def numpy_remedy(value: object, math_names: dict[str, str], argument: str = "x", operand: str = "x") -> str | None:
    """For something of NumPy's, what to write instead ("" where there is nothing); None for anything else.

    `argument` is what it is called with, `operand` the same as an operand.
    """
    scalar: Any = value
    if isinstance(scalar, type) and issubclass(scalar, np.generic):
        kind: np.dtype[Any] = np.dtype(cast(Any, scalar))
        short = {"b": "", "i": "i", "u": "u", "f": "f"}.get(kind.kind)
        if not short:
            return f"Write bool({argument})." if kind.kind == "b" else ""
        return f"Write tack.{short}{kind.itemsize * 8}({argument})."
    if not isinstance(value, np.ufunc) and _module(value).partition(".")[0] != "numpy":
        return None
    name = str(getattr(value, "__name__", ""))
    if name in math_names:
        return f"Write {name}(...)."
    if name in _NUMPY_NAMES:
        return f"Write `{_NUMPY_NAMES[name].replace('?', operand)}`."
    words = _NUMPY_WORDS.get(name, "")
    return f"Write tack.math.{name}(...)." if name in HELPERS and not words else words


# --------------------------------------------------------------------- attributes and methods of arrays and of vectors

_SHAPE = "Do it in the call: the kernel takes what you pass."
_LOOP = "Loop over the elements here, or compute it before the launch and pass the number."
_SIZE = "Arrays keep their size; store into an element."
ARRAY_NAMES: dict[str, str] = {
    **dict.fromkeys(("sum", "mean", "min", "max", "any", "all", "std", "var", "prod", "dot", "argmin", "argmax"), _LOOP),
    **dict.fromkeys(("ravel", "flatten", "reshape", "view", "squeeze", "flat", "transpose", "swapaxes"), _SHAPE),
    **dict.fromkeys(("append", "extend", "insert", "pop", "remove", "resize", "push", "clear"), _SIZE),
    **dict.fromkeys(("copy", "clone"), "Store each element into an array that is passed: `b[i] = a[i]`."),
    **dict.fromkeys(("sort", "argsort", "numpy", "tolist", "to_device", "tobytes"), "Do it before or after the launch."),
    "T": "Swap the indices: `a[j, i]`.",
    "fill": "Store the value in every iteration: `a[i] = value`.",
    "astype": "Convert elements: tack.f32(a[i]).",
    "item": "Leave it out: an element is a number.",
    "dtype": "Leave it out: values have their types; to convert one, write tack.f32(v).",
    "len": "Write `len(a)`.",
    "length": "Write `len(a)`.",
    "at": "Index with brackets: `a[i]`.",
    "real": "Pass the real parts as an array.",
    "imag": "Pass the imaginary parts as an array.",
}  # for `a.name`, called or not, where `a` is an array or a number

VECTOR_NAMES: dict[str, str] = {  # what methods of vectors and matrices are called elsewhere
    "length": "norm", "magnitude": "norm", "mag": "norm", "len": "norm", "norm2": "norm_sqr", "norm_squared": "norm_sqr",
    "length_squared": "norm_sqr", "normalize": "normalized", "unit": "normalized", "det": "determinant", "inv": "inverse",
    "T": "transpose", "tr": "trace",
}  # fmt: skip
