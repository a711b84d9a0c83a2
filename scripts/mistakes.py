"""The mistakes that users make most often, each as a program, what Tack says about it, and the program to write instead.

One table for the tests, which run every program, and for docs/reference/errors.md, which prints the real messages.
"""

from __future__ import annotations

import linecache
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import tack

__all__ = ["FILE", "MISTAKES", "Mistake", "arguments", "complaint", "page"]

FILE = "program.py"
_UNSUPPORTED = tack.UnsupportedSyntaxError
_HEAD = "@tack.kernel\ndef kernel({0}):\n    for i in range(len(out)):\n        {1}\n\nkernel({0})\n"


@dataclass(frozen=True, slots=True)
class Mistake:
    """`wrong`: a program with the mistaken place between « and »; `right`: what to write instead.

    Programs without `@` are the body of the loop of a kernel of `takes`. `says`: what the message must contain about the
    mistake; `write`: what its last paragraph must contain, "" where there is nothing to write.
    """

    group: str
    title: str
    wrong: str
    right: str
    error: type[Exception]
    says: str
    write: str
    takes: str = "x, out"

    @property
    def marked(self) -> str:
        return self._whole(self.wrong)

    @property
    def program(self) -> str:
        """The wrong program without its marks."""
        return self.marked.replace("«", "").replace("»", "")

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The marked range: line and end line from 1, columns from 0."""
        before, rest = self.marked.split("«")
        inside, _ = rest.split("»")
        last = (before + inside).rpartition("\n")[2]
        return before.count("\n") + 1, len(before.rpartition("\n")[2]), (before + inside).count("\n") + 1, len(last)

    @property
    def corrected(self) -> str:
        return self._whole(self.right)

    def _whole(self, text: str) -> str:
        if "tack.kernel" in text or ("\n" not in text and text.startswith("!")):
            return text.lstrip("!").strip("\n") + "\n"
        head, _, body = text.rpartition("\n---\n")
        return (head + "\n\n" if head else "") + _HEAD.format(self.takes, body.strip("\n").replace("\n", "\n        "))


def arguments() -> dict[str, Any]:
    """The names that every program starts with."""
    return {
        "tack": tack,
        "math": math,
        "np": np,
        "x": tack.arange(4.0),
        "out": tack.zeros(4),
        "counts": tack.arange(4),
        "big": tack.ones(4, tack.u64),
        "grid": tack.ones((4, 3)),
        "points": tack.zeros(4, tack.vec3),
        "n": 4,
    }


def run(text: str) -> dict[str, Any]:
    """Runs a program from a file of that text, as the interactive shell does."""
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    names = arguments() | {"__name__": "__main__"}
    exec(compile(text, FILE, "exec"), names)
    return names


def complaint(mistake: Mistake) -> Exception:
    """What the wrong program raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own remarks about comparisons with `is`
            run(mistake.program)
    except Exception as error:  # which class it is, is the caller's question
        return error
    finally:
        tack.set_debug(False)
    raise AssertionError(f"nothing is wrong with: {mistake.title}")


def page() -> str:
    """docs/reference/errors.md: the table of mistakes with the messages."""
    lines = _INTRODUCTION.strip("\n").splitlines()
    group = ""
    for mistake in MISTAKES:
        if mistake.group != group:
            group = mistake.group
            lines += ["", f"## {group}"]
        error = complaint(mistake)
        lines += ["", f"### {mistake.title}", "", "```text", *mistake.program.rstrip("\n").splitlines(), "```", ""]
        lines += ["```text", *f"{type(error).__name__}: {error}".splitlines(), "```", "", "Write:", ""]
        lines += ["```text", *mistake.corrected.rstrip("\n").splitlines(), "```"]
    return "\n".join(lines) + "\n"


_INTRODUCTION = """
# Error messages

Whatever is wrong with a kernel is told before anything runs, and every array is as it was. A message names the kernel and what
is wrong, shows the place, and ends with what to write instead; for an argument, the traceback ends at the call.

| class | for |
|---|---|
| `UnsupportedSyntaxError` (a `NotImplementedError`) | Python that is not part of the kernel language |
| `NameError`, `TypeError`, `ValueError`, `IndexError` | what Python would raise them for |
| `RuntimeError` | devices and compilers |

`TACK_FULL_TRACEBACK=1` shows the frames inside Tack, too. Below are the mistakes that are made most often, each with the message
and a program that is right. Before each program stand these lines:

```python
import math

import numpy as np
import tack

x, out, counts = tack.arange(4.0), tack.zeros(4), tack.arange(4)
big, grid, points, n = tack.ones(4, tack.u64), tack.ones((4, 3)), tack.zeros(4, tack.vec3), 4
```
"""

# fmt: off
_CALLS, _LOOPS, _SYNTAX, _NAMES, _TYPES = "Calls", "Loops and returns", "Python that kernels do not speak", "Names and functions", "Types"
_CLASSES = "Objects of device classes"
_LINE = """@tack.device_class
class Line:
    __tack_iterate__ = ("n",)

    def __init__(self, n):
        self.n = n
        self.offset = 1.0

    def twice(self, v):
        return 2 * v

line = Line(4.0)
"""
_KLINE = "\n@tack.kernel\ndef kernel(line, out):\n    for i in range(len(out)):\n        out[i] = {}\n\n"
_METHOD = """@tack.device_class
class Ramp:
    def __init__(self):
        self.n = 4

    @tack.kernel
    def fill(self, out):
        for i in range({}):
            out[i] = i

"""
_K = "@tack.kernel\ndef kernel({}):\n    for i in range(len(out)):\n        out[i] = {}\n\n"

MISTAKES = (
    # ------------------------------------------------------------------------------------------------------- names
    Mistake(_NAMES, "A misspelt name", "scale = 2.0\nout[i] = «scael» * x[i]", "scale = 2.0\nout[i] = scale * x[i]",
            NameError, "name 'scael' is not defined", "Did you mean 'scale'?"),
    Mistake(_NAMES, "A misspelt function", "out[i] = «sqr»(x[i])", "out[i] = sqrt(x[i])", NameError, "name 'sqr' is not defined",
            "Did you mean 'sqrt'?"),
    Mistake(_NAMES, "A function that a module does not have", "out[i] = «math.sine»(x[i])", "out[i] = math.sin(x[i])", NameError,
            "module 'math' has no 'sine'", "Did you mean 'sin'?"),
    Mistake(_NAMES, "A type without its module", "out[i] = «f32»(i)", "out[i] = tack.f32(i)", NameError,
            "name 'f32' is not defined", "Write `tack.f32`."),
    Mistake(_NAMES, "A number of the program around the kernel", "G = 9.81\n---\nout[i] = «G» * x[i]",
            "G = tack.constant(9.81)\n---\nout[i] = G * x[i]", NameError, "plain number", "G = tack.constant(9.81)"),
    Mistake(_NAMES, "A list of the program around the kernel", "TABLE = [1.0, 2.0, 3.0, 4.0]\n---\nout[i] = «TABLE»[i]",
            _K.format("table, out", "table[i]") + "kernel(tack.array([1.0, 2.0, 3.0, 4.0]), out)", NameError,
            "'TABLE' is no parameter", "Pass the array"),
    Mistake(_NAMES, "Changing a global", "total = 0\n---\n«global total»\ntotal += 1",
            "@tack.kernel\ndef kernel(total, x):\n    for i in range(len(x)):\n        tack.atomic_add(total, 0, 1)\n\n"
            "kernel(tack.zeros(1, tack.i32), x)",
            _UNSUPPORTED, "`global` is not part of the kernel language", "Pass an array of one element"),
    Mistake(_NAMES, "A local that is not assigned on every path", "if x[i] > 1:\n    y = 1.0\nout[i] = «y»",
            "y = 0.0\nif x[i] > 1:\n    y = 1.0\nout[i] = y", NameError, "local 'y' may be read before it is assigned: it is not when the condition on line 4", "Assign it a first value before."),
    Mistake(_NAMES, "A loop variable after its loop", "for k in range(3):\n    out[i] += k\nout[i] += «k»",
            "last = 0\nfor k in range(3):\n    out[i] += k\n    last = k\nout[i] += last", NameError, "'k'", "set it to `k` inside"),
    Mistake(_NAMES, "Calling NumPy", "out[i] = «np.sqrt(x[i])»", "out[i] = sqrt(x[i])", _UNSUPPORTED, "NumPy's `np.sqrt`",
            "Write sqrt(...)"),
    Mistake(_NAMES, "Calling a plain Python function",
            "def half(v):\n    return v / 2\n---\nout[i] = «half(x[i])»", "@tack.func\ndef half(v):\n    return v / 2\n---\nout[i] = half(x[i])",
            _UNSUPPORTED, "an ordinary Python function", "@tack.func"),
    Mistake(_NAMES, "Calling a builtin that kernels do not have", "out[i] = «sum(x)»",
            "total = 0.0\nfor k in range(len(x)):\n    total += x[k]\nout[i] = total", _UNSUPPORTED, "Python's `sum` cannot be called", "Add the elements in a loop"),
    Mistake(_NAMES, "Calling a kernel in a kernel", """
@tack.kernel
def inner(x, out):
    for i in range(len(out)):
        out[i] = x[i]

@tack.kernel
def outer(x, out):
    for i in range(len(out)):
        «inner(x, out)»

outer(x, out)
""", """
@tack.func
def inner(x, out, i):
    out[i] = x[i]

@tack.kernel
def outer(x, out):
    for i in range(len(out)):
        inner(x, out, i)

outer(x, out)
""", _UNSUPPORTED, "kernel `inner` cannot be called in kernels", "@tack.func"),
    Mistake(_NAMES, "Recursion", "@tack.func\ndef factorial(k):\n    return 1 if k < 2 else k * «factorial(k - 1)»\n---\nout[i] = factorial(i)",
            "@tack.func\ndef factorial(k):\n    product = 1\n    for j in range(2, k + 1):\n        product *= j\n    return product\n"
            "---\nout[i] = factorial(i)", _UNSUPPORTED, "recursion (factorial -> factorial)", "Write a loop"),
    Mistake(_NAMES, "The wrong number of arguments for a function", "@tack.func\ndef mean(a, b):\n    return (a + b) / 2\n---\nout[i] = «mean(x[i])»",
            "@tack.func\ndef mean(a, b):\n    return (a + b) / 2\n---\nout[i] = mean(x[i], 1.0)", TypeError, "mean() misses argument 'b'", "Call mean(a, b)."),
    Mistake(_NAMES, "The wrong number of arguments for an operation", "out[i] = «sqrt(x[i], 2)»", "out[i] = sqrt(x[i])", TypeError,
            "sqrt() takes one argument, not 2", "Write `sqrt(a)`."),
    Mistake(_NAMES, "A method of an array", "out[i] = «x.sum()»", "total = 0.0\nfor k in range(len(x)):\n    total += x[k]\nout[i] = total",
            _UNSUPPORTED, "arrays have no methods", "Loop over the elements"),
    Mistake(_NAMES, "The index of a thread, as other systems have it", "k = «cuda».grid(1)\nout[k] = x[k]", "out[i] = x[i]", NameError,
            "name 'cuda' is not defined", "The loop variable is the index"),
    Mistake(_NAMES, "An array made by NumPy", "t = «np.zeros(3)»\nt[0] = x[i]\nout[i] = t[0]", "t = tack.local_array(tack.f32, 3)\nt[0] = x[i]\nout[i] = t[0]",
            _UNSUPPORTED, "NumPy's `np.zeros`", "tack.local_array(dtype, n)"),
    Mistake(_NAMES, "A random number of NumPy", "out[i] = «np.random.rand()»", "out[i] = tack.random.uniform_f32(2024, i, 0)", _UNSUPPORTED,
            "NumPy's `np.random.rand`", "tack.random.uniform_f32"),
    Mistake(_NAMES, "A function as an argument of a function", "@tack.func\ndef twice(f, v):\n    return f(f(v))\n\n@tack.func\ndef half(v):\n    return v / 2\n---\nout[i] = twice(«half», x[i])",
            "@tack.func\ndef half(v):\n    return v / 2\n\n@tack.func\ndef twice(v):\n    return half(half(v))\n---\nout[i] = twice(x[i])", TypeError,
            "function 'half' cannot be an argument", "Name it inside the function"),
    Mistake(_NAMES, "A mistake inside a function", "@tack.func\ndef odd(v):\n    return «v» & 1\n---\nout[i] = odd(x[i])",
            "@tack.func\ndef odd(v):\n    return int(v) & 1\n---\nout[i] = odd(x[i])", TypeError, "(called on line 8)", "`int(v)`"),
    # --------------------------------------------------------------------------------------------- device classes
    Mistake(_CLASSES, "An object of a plain class", _LINE.replace("@tack.device_class\n", "") + _KLINE.format("line.offset") + "«kernel(line, out)»",
            _LINE + _KLINE.format("line.offset") + "kernel(line, out)", TypeError, "'line' is an object of class Line, which is no device class", "@tack.device_class"),
    Mistake(_CLASSES, "A misspelt attribute", _LINE + "---\nout[i] = «line.ofset»", _LINE + "---\nout[i] = line.offset", NameError,
            "the object passed for 'line', of class Line, has no 'ofset'", "Did you mean 'offset'?", "line, out"),
    Mistake(_CLASSES, "A method that is a plain function", _LINE + "---\nout[i] = «line.twice»(x[i])", _LINE.replace("    def twice", "    @tack.func\n    def twice") + "---\nout[i] = line.twice(x[i])",
            _UNSUPPORTED, "`Line.twice`, an ordinary Python method", "@tack.func", "line, x, out"),
    Mistake(_CLASSES, "Changing an object", _LINE + "---\n«line.offset» = x[i]\nout[i] = line.offset", _LINE.replace("1.0", "tack.zeros(4)") + "---\nline.offset[i] = x[i]\nout[i] = line.offset[i]",
            _UNSUPPORTED, "assigning an attribute", "Store into an array", "line, x, out"),
    Mistake(_CLASSES, "A loop over an object whose size is a float", _LINE + "---\nfor k in «line»:\n    out[i] += k", _LINE.replace("= n", "= int(n)") + "---\nfor k in line:\n    out[i] += k",
            TypeError, "counts up to 'line.n', which must be an integer", "`line.n = int(line.n)`", "line, out"),
    Mistake(_CLASSES, "A kernel of a class called without its object", _METHOD.format("«self.n»") + "Ramp.fill(4, out)", _METHOD.format("self.n") + "Ramp().fill(out)", TypeError,
            "'self' has no 'n': a number was passed for it", "`obj.fill(...)`"),
    # ------------------------------------------------------------------------------------------------------- calls
    Mistake(_CALLS, "The wrong number of arguments", _K.format("x, out", "x[i]") + "«kernel(out)»", "out[i] = x[i]", TypeError,
            "misses 1 argument: 'out'", "Call kernel(x, out)."),
    Mistake(_CALLS, "A wrong argument name", _K.format("x, out", "x[i]") + "«kernel(x, result=out)»",
            _K.format("x, out", "x[i]") + "kernel(x, out=out)", TypeError, "has no parameter named 'result'", "Call kernel(x, out)."),
    Mistake(_CALLS, "A Python list as an argument", _K.format("x, out", "x[i]") + "«kernel([1, 2, 3, 4], out)»",
            _K.format("x, out", "x[i]") + "kernel(tack.array([1, 2, 3, 4]), out)", TypeError, "argument 'x' is of type list",
            "Write tack.array(x)."),
    Mistake(_CALLS, "A NumPy array as an argument", _K.format("x, out", "x[i]") + "«kernel(np.ones(4), out)»",
            _K.format("x, out", "x[i]") + "kernel(tack.array(np.ones(4)), out)", TypeError, "argument 'x' is of type numpy.ndarray",
            "or tack.array(x) for a copy"),
    Mistake(_CALLS, "A string as an argument", _K.format("k, out", "k") + "«kernel('4', out)»", _K.format("k, out", "k") + "kernel(int('4'), out)",
            TypeError, "argument 'k' is of type str", "Pass an array or a number."),
    Mistake(_CALLS, "None as an argument", _K.format("x, out", "x[i]") + "«kernel(None, out)»", "out[i] = x[i]", TypeError,
            "argument 'x' is None", "Pass an array or a number."),
    Mistake(_CALLS, "An array for a number", _K.format("k, out", "«k»") + "kernel(x, out)", _K.format("k, out", "k[i]") + "kernel(x, out)",
            TypeError, "'k' is an array, but is used as a number", "k[i]"),
    Mistake(_CALLS, "A number for an array", _K.format("x, out", "«x[i]»") + "kernel(2.0, out)", _K.format("x, out", "x") + "kernel(2.0, out)",
            TypeError, "'x' is used as an array, but a number was passed", "Pass an array for 'x'."),
    Mistake(_CALLS, "An array without dimensions", _K.format("k, out", "k") + "«kernel(tack.array(2.0), out)»",
            _K.format("k, out", "k") + "kernel(tack.array(2.0)[()], out)", TypeError, "an array without dimensions", "k[()]"),
    Mistake(_CALLS, "A read-only array", "fixed = np.zeros(4)\nfixed.flags.writeable = False\n\n" + _K.format("out", "i") + "«kernel(tack.from_dlpack(fixed))»",
            "fixed = np.zeros(4)\nfixed.flags.writeable = False\n\n" + _K.format("out", "i") + "kernel(tack.from_dlpack(fixed).copy())",
            ValueError, "array 'out' is read-only", "out.copy()"),
    Mistake(_CALLS, "A dtype that Tack does not have", "!half = «tack.array(np.ones(4, np.float16))»",
            "!half = tack.array(np.ones(4, np.float16), dtype=tack.f32)", TypeError, "float16", "dtype=tack.f32"),
    Mistake(_CALLS, "An integer beyond 64 bits", _K.format("k, out", "k") + "«kernel(1 << 64, out)»",
            _K.format("k, out", "k") + "kernel(float(1 << 64), out)", TypeError, "which no 64-bit integer holds", "float(k)"),
    Mistake(_CALLS, "A parameter with a default", "@tack.kernel\n«def kernel(x, out, factor=2.0):»\n    for i in range(len(out)):\n        out[i] = factor * x[i]\n",
            "@tack.kernel\ndef kernel(x, out, factor):\n    for i in range(len(out)):\n        out[i] = factor * x[i]\n\nkernel(x, out, 2.0)",
            _UNSUPPORTED, "a kernel has no default arguments", "Pass the value at each call"),
    Mistake(_CALLS, "A dict as an argument", _K.format("x, out", "x[i]") + "«kernel({'x': x}, out)»", _K.format("x, out", "x[i]") + "kernel(x, out)", TypeError,
            "argument 'x' is of type dict", "Pass an array or a number."),
    Mistake(_CALLS, "A launch configuration", _K.format("x, out", "x[i]") + "«kernel[1, 32]»(x, out)", _K.format("x, out", "x[i]") + "kernel(x, out)", TypeError,
            "a kernel has no launch configuration", "Call kernel(x, out)."),
    Mistake(_CALLS, "A device function called from Python", "!«tack.barrier()»", "!pass", RuntimeError, "tack.barrier() belongs inside a @tack.kernel", "Write a kernel that calls it"),
    # ------------------------------------------------------------------------------------------------------- loops
    Mistake(_LOOPS, "No loop", "@tack.kernel\ndef «kernel»(x, out):\n    out[0] = x[0]\n\nkernel(x, out)",
            "@tack.kernel\ndef kernel(x, out):\n    for i in range(1):\n        out[0] = x[0]\n\nkernel(x, out)", _UNSUPPORTED, "it has no parallel loop", "range(1)"),
    Mistake(_LOOPS, "Two loops", """
@tack.kernel
def kernel(x, out):
    for i in range(len(out)):
        out[i] = x[i]
    «for i in range(1, len(out))»:
        out[i] += x[i - 1]

kernel(x, out)
""", """
@tack.kernel
def first(x, out):
    for i in range(len(out)):
        out[i] = x[i]

@tack.kernel
def second(x, out):
    for i in range(1, len(out)):
        out[i] += x[i - 1]

first(x, out)
second(x, out)
""", _UNSUPPORTED, "a second loop", "kernel of its own"),
    Mistake(_LOOPS, "The loop in an `if`", "@tack.kernel\ndef kernel(x, out, n):\n    if n > 0:\n        «for i in range(n)»:\n            out[i] = x[i]\n\nkernel(x, out, n)",
            "@tack.kernel\ndef kernel(x, out, n):\n    for i in range(n):\n        if n > 0:\n            out[i] = x[i]\n\nkernel(x, out, n)",
            _UNSUPPORTED, "stands inside another statement", "directly in its body"),
    Mistake(_LOOPS, "`break` of the parallel loop", "if x[i] > 2:\n    «break»\nout[i] = x[i]", "if x[i] > 2:\n    continue\nout[i] = x[i]",
            _UNSUPPORTED, "`break` of the parallel loop", "`continue`"),
    Mistake(_LOOPS, "`return` in the loop", "if x[i] > 2:\n    «return»\nout[i] = x[i]", "if x[i] > 2:\n    continue\nout[i] = x[i]",
            _UNSUPPORTED, "`return` in the parallel loop", "`continue`"),
    Mistake(_LOOPS, "A step of zero", "@tack.kernel\ndef kernel(out):\n    for i in range(0, 4, «0»):\n        out[i] = 1\n\nkernel(out)",
            "@tack.kernel\ndef kernel(out):\n    for i in range(0, 4, 1):\n        out[i] = 1\n\nkernel(out)", ValueError, "range() with a step of zero", "Use another step."),
    Mistake(_LOOPS, "An array element in a bound", "@tack.kernel\ndef kernel(counts, out):\n    for i in range(«counts[3]»):\n        out[i] = 1\n\nkernel(counts, out)",
            "@tack.kernel\ndef kernel(m, out):\n    for i in range(m):\n        out[i] = 1\n\nkernel(counts[3], out)", TypeError,
            "element of 'counts'", "Pass it as an argument."),
    Mistake(_LOOPS, "A float as a bound", "@tack.kernel\ndef kernel(out):\n    for i in range(«len(out) / 2»):\n        out[i] = 1\n\nkernel(out)",
            "@tack.kernel\ndef kernel(out):\n    for i in range(len(out) // 2):\n        out[i] = 1\n\nkernel(out)", TypeError, "a bound of a loop must be an integer, not tack.f32", "int(len(out) / 2)"),
    Mistake(_LOOPS, "A loop over an array's elements", "@tack.kernel\ndef kernel(x, out):\n    for v in «x»:\n        out[0] = v\n\nkernel(x, out)",
            "out[i] = x[i]", _UNSUPPORTED, "runs over range(...)", "`for i in range(x.shape[0])`"),
    Mistake(_LOOPS, "`enumerate`", "@tack.kernel\ndef kernel(x, out):\n    for i, v in «enumerate(x)»:\n        out[i] = v\n\nkernel(x, out)",
            "out[i] = x[i]", _UNSUPPORTED, "Python's `enumerate`", "range(len(a))"),
    Mistake(_LOOPS, "A store before the loop", "@tack.kernel\ndef kernel(x, out):\n    «out[0]» = 1\n    for i in range(len(out)):\n        out[i] = x[i]\n\nkernel(x, out)",
            "out[i] = 1.0 if i == 0 else x[i]", _UNSUPPORTED, "'out' is stored to outside the parallel loop", "Move it into the loop"),
    Mistake(_LOOPS, "Too few sizes in `ndindex`", "@tack.kernel\ndef kernel(grid):\n    for «i, j» in tack.ndindex(len(grid)):\n        grid[i, j] = 1\n\nkernel(grid)",
            "@tack.kernel\ndef kernel(grid):\n    for i, j in tack.ndindex(4, 3):\n        grid[i, j] = 1\n\nkernel(grid)", ValueError, "2 loop variables for the 1 size of tack.ndindex", "tack.ndindex("),
    Mistake(_LOOPS, "A result without an annotation", "@tack.kernel\ndef kernel(x, out):\n    for i in range(len(out)):\n        out[i] = x[i]\n    «return out[0]»\n\nkernel(x, out)",
            "@tack.kernel\ndef kernel(x, out) -> float:\n    for i in range(len(out)):\n        out[i] = x[i]\n    return out[0]\n\nkernel(x, out)",
            _UNSUPPORTED, "it has no return annotation", "`-> float`"),
    Mistake(_LOOPS, "A sum over the loop", "@tack.kernel\ndef kernel(x) -> float:\n    total = 0.0\n    for i in range(len(x)):\n        «total += x[i]»\n    return total\n\nkernel(x)",
            "@tack.kernel\ndef kernel(x, total) -> float:\n    for i in range(len(x)):\n        tack.atomic_add(total, 0, x[i])\n    return total[0]\n\nkernel(x, tack.zeros(1))",
            _UNSUPPORTED, "each iteration updates its own 'total'", "tack.atomic_add(total, 0, value)"),
    Mistake(_LOOPS, "A local of the loop as the result", "@tack.kernel\ndef kernel(x) -> float:\n    for i in range(len(x)):\n        last = x[i]\n    return «last»\n\nkernel(x)",
            "@tack.kernel\ndef kernel(x) -> float:\n    for i in range(len(x)):\n        x[i] = x[i]\n    return x[len(x) - 1]\n\nkernel(x)",
            NameError, "each iteration has its own", "Store it in an array"),
    Mistake(_LOOPS, "A value returned from an iteration", "«return x[i]»", "out[i] = x[i]", _UNSUPPORTED, "`return` in the parallel loop", "`out[i] = value`"),
    Mistake(_LOOPS, "A shape as the sizes of `ndindex`", "@tack.kernel\ndef kernel(grid):\n    for i, j in tack.ndindex(«grid.shape»):\n        grid[i, j] = 1\n\nkernel(grid)",
            "@tack.kernel\ndef kernel(grid):\n    for i, j in tack.ndindex(grid.shape[0], grid.shape[1]):\n        grid[i, j] = 1\n\nkernel(grid)",
            _UNSUPPORTED, "a shape as a whole", "`tack.ndindex(grid.shape[0], grid.shape[1])`"),
    Mistake(_LOOPS, "A loop over a number", "for k in «4»:\n    out[i] += x[k]", "for k in range(4):\n    out[i] += x[k]", _UNSUPPORTED, "runs over range(...)", "`range(4)`"),
    Mistake(_LOOPS, "A function with a path without return", "@tack.func\ndef «sign»(v):\n    if v > 0:\n        return 1.0\n---\nout[i] = sign(x[i])",
            "@tack.func\ndef sign(v):\n    if v > 0:\n        return 1.0\n    return -1.0\n---\nout[i] = sign(x[i])", TypeError, "sign() returns a value on some paths only", "End every path with `return` and a value."),
    # ------------------------------------------------------------------------------------------------------ syntax
    Mistake(_SYNTAX, "`try`", "«try:\n    out[i] = 1 / x[i]\nexcept ZeroDivisionError:\n    out[i] = 0»",
            "out[i] = 1 / x[i] if x[i] != 0 else 0.0", _UNSUPPORTED, "`try`", "if"),
    Mistake(_SYNTAX, "`with`", "«with tack.device('cpu'):\n    out[i] = x[i]»", _K.format("x, out", "x[i]") + "with tack.device('cpu'):\n    kernel(x, out)",
            _UNSUPPORTED, "`with`", "Move it around the kernel's call."),
    Mistake(_SYNTAX, "`lambda`", "half = «lambda v: v / 2»\nout[i] = half(x[i])", "@tack.func\ndef half(v):\n    return v / 2\n---\nout[i] = half(x[i])",
            _UNSUPPORTED, "`lambda`", "@tack.func"),
    Mistake(_SYNTAX, "A function in a kernel", "«def half(v):\n    return v / 2»\nout[i] = half(x[i])",
            "@tack.func\ndef half(v):\n    return v / 2\n---\nout[i] = half(x[i])", _UNSUPPORTED, "a nested function", "@tack.func"),
    Mistake(_SYNTAX, "A comprehension", "squares = «[x[k] * x[k] for k in range(4)]»\nout[i] = squares[i]", "out[i] = x[i] * x[i]",
            _UNSUPPORTED, "a list comprehension", "range(...)"),
    Mistake(_SYNTAX, "A dict", "weights = «{0: 0.5, 1: 1.5}»\nout[i] = weights[0]", "first = 0.5\nsecond = 1.5\nout[i] = first",
            _UNSUPPORTED, "a dict", "separate locals"),
    Mistake(_SYNTAX, "A set", "seen = «{1, 2}»\nout[i] = 1", "seen = tack.local_array(tack.i32, 2)\nseen[0] = 1\nseen[1] = 2\nout[i] = seen[0]",
            _UNSUPPORTED, "a set", "separate locals"),
    Mistake(_SYNTAX, "An f-string", "text = «f'{i}'»\nout[i] = x[i]", "print(f'{i}')\nout[i] = x[i]", _UNSUPPORTED, "an f-string", "`print` takes strings and f-strings"),
    Mistake(_SYNTAX, "`is`", "out[i] = 1 if «i is 0» else x[i]", "out[i] = 1 if i == 0 else x[i]", _UNSUPPORTED, "`is`", "`==`"),
    Mistake(_SYNTAX, "`in`", "out[i] = 1 if «i in (0, 3)» else x[i]", "out[i] = 1 if i == 0 or i == 3 else x[i]", _UNSUPPORTED, "`in`", "`or`"),
    Mistake(_SYNTAX, "The walrus", "out[i] = («v := x[i]») * v", "v = x[i]\nout[i] = v * v", _UNSUPPORTED, "walrus", "statement of its own"),
    Mistake(_SYNTAX, "`assert`", "«assert x[i] >= 0»\nout[i] = sqrt(x[i])", "out[i] = sqrt(x[i]) if x[i] >= 0 else -1.0", _UNSUPPORTED, "`assert`", "flag"),
    Mistake(_SYNTAX, "`raise`", "if x[i] < 0:\n    «raise ValueError('negative')»\nout[i] = x[i]", "out[i] = x[i] if x[i] >= 0 else -1.0",
            _UNSUPPORTED, "`raise`", "flag"),
    Mistake(_SYNTAX, "`del`", "v = x[i]\nout[i] = v\n«del v»", "v = x[i]\nout[i] = v", _UNSUPPORTED, "`del`", "Leave it out."),
    Mistake(_SYNTAX, "An import", "«import math»\nout[i] = math.sin(x[i])", "out[i] = math.sin(x[i])", _UNSUPPORTED, "an import", "top of the file"),
    Mistake(_SYNTAX, "A slice", "row = grid[i, «0:2»]\nout[i] = row[0]", "total = 0.0\nfor k in range(0, 2):\n    total += grid[i, k]\nout[i] = total",
            _UNSUPPORTED, "a slice", "Index one element", "grid, out"),
    Mistake(_SYNTAX, "A string", "mode = «'fast'»\nout[i] = x[i]", "mode = 1\nout[i] = x[i]", _UNSUPPORTED, "a string", "Let a number stand for it"),
    Mistake(_SYNTAX, "A string compared with another", "out[i] = x[i] if n == «'fast'» else 0.0", "FAST = tack.constant(1)\n---\nout[i] = x[i] if n == FAST else 0.0",
            _UNSUPPORTED, "a string", "Let a number stand for it", "n, x, out"),
    Mistake(_SYNTAX, "A format in an f-string", "print(f'{«x[i]»:.3f}')\nout[i] = x[i]", "print(f'{x[i]}')\nout[i] = x[i]", _UNSUPPORTED, "an f-string field with a format", "Write `{x}`"),
    Mistake(_SYNTAX, "A list that grows", "found = «[]»\nout[i] = x[i]", "found = tack.local_array(tack.f32, 4)\nfound[0] = x[i]\nout[i] = found[0]", TypeError, "a list of 0", "tack.local_array(dtype, n)"),
    Mistake(_SYNTAX, "A tuple", "pair = «(x[i], 1.0)»\nout[i] = pair[0]", "pair = [x[i], 1.0]\nout[i] = pair[0]", _UNSUPPORTED, "a tuple is no value here", "`[x, y]`, which is a vector"),
    Mistake(_SYNTAX, "A variable number of parameters", "@tack.func\n«def first(*values):»\n    return values[0]\n---\nout[i] = first(x[i])", "@tack.func\ndef first(a, b):\n    return a\n---\nout[i] = first(x[i], 1.0)",
            _UNSUPPORTED, "a fixed number of parameters", "Name each parameter."),
    Mistake(_SYNTAX, "A starred argument", "pair = (x[i], 1.0)\nout[i] = max(«*pair»)", "out[i] = max(x[i], 1.0)", _UNSUPPORTED, "a starred", "one by one"),
    # ------------------------------------------------------------------------------------------------------- types
    Mistake(_TYPES, "A float as an index", "out[i] = x[«i / 2»]", "out[i] = x[i // 2]", TypeError, "an index must be an integer, not tack.f32", "`int(i / 2)`"),
    Mistake(_TYPES, "Too few indices", "out[i] = «grid[i]»", "out[i] = grid[i, 0]", IndexError, "'grid' has 2 dimensions", "grid.ravel()", "grid, out"),
    Mistake(_TYPES, "Too many indices", "out[i] = «x[i, 0]»", "out[i] = x[i]", IndexError, "'x' has 1 dimension, but 2 indices", "`x[i]`"),
    Mistake(_TYPES, "A negative index", "out[i] = x[«-1»]", "out[i] = x[len(x) - 1]", IndexError, "the index -1 is outside every array", "a.shape[0] - 1"),
    Mistake(_TYPES, "An index outside the array, in debug mode", "tack.set_debug(True)\n---\nout[i] = «x[i + 1]»", "out[i] = x[min(i + 1, len(x) - 1)]",
            IndexError, "index 4 is outside 'x', which has 4 elements, at i = 3", "the last one is 3"),
    Mistake(_TYPES, "A dimension that is not there", "out[i] = «x.shape[1]»", "out[i] = x.shape[0]", IndexError, "'x.shape[1]' does not exist: 'x' has 1 dimension", "an index below 1"),
    Mistake(_TYPES, "A shape as a value", "out[i] = «x.shape»", "out[i] = x.shape[0]", _UNSUPPORTED, "a shape as a whole is no value", "`a.shape[0]`"),
    Mistake(_TYPES, "A whole array as a value", "out[i] = «x» + 1", "out[i] = x[i] + 1", TypeError, "'x' is an array", "x[i]"),
    Mistake(_TYPES, "Assigning to an array", "«out» = x", "out[i] = x[i]", TypeError, "'out' is an array and cannot be assigned", "`out[i] = ...`"),
    Mistake(_TYPES, "A second name for an array", "y = «x»\nout[i] = y[i]", "out[i] = x[i]", TypeError, "'x' is an array", "Write 'x' in place of 'y'"),
    Mistake(_TYPES, "Parentheses for an index", "out[i] = «x»(i)", "out[i] = x[i]", TypeError, "'x' is an array and no function", "Write brackets: `x[i]`."),
    Mistake(_TYPES, "The least element of an array", "out[i] = «min(x)»", "least = x[0]\nfor k in range(len(x)):\n    least = min(least, x[k])\nout[i] = least", TypeError,
            "min() takes two or more arguments, not 1", "compare an array's elements in a loop"),
    Mistake(_TYPES, "An element for an atomic", "tack.atomic_add(«out[0]», 0, x[i])", "tack.atomic_add(out, 0, x[i])", TypeError, "`out[0]` is an element", "`tack.atomic_add(out, 0, value)`"),
    Mistake(_TYPES, "An element of a number", "«n[i]» = 1\nout[i] = n", "out[i] = n", TypeError, "'n' is used as an array, but a number", "Pass an array", "n, out"),
    Mistake(_TYPES, "A mask as a condition", "if «points[i] > 0»:\n    out[i] = 1", "if all(points[i] > 0):\n    out[i] = 1", TypeError, "each component is true or false on its own", "any(...) or all(...)", "points, out"),
    Mistake(_TYPES, "A vector of another width", "v = tack.vec2(1.0, 2.0)\n«points[i]» = v\nout[i] = 1", "v = tack.vec3(1.0, 2.0, 0.0)\npoints[i] = v\nout[i] = 1",
            TypeError, "a vector of 2 cannot be stored into 'points'", "such as `tack.vec3(x, y, z)`", "points, out"),
    Mistake(_TYPES, "A vector stored as a number", "«out[i]» = points[i]", "out[i] = points[i].x", TypeError, "a vector of 3 cannot be stored into 'out', whose elements are numbers", "one by one", "points, out"),
    Mistake(_TYPES, "A component that a vector does not have", "v = tack.vec2(x[i], 1.0)\nout[i] = «v.z»", "v = tack.vec2(x[i], 1.0)\nout[i] = v.y",
            TypeError, "a vector of 2 has no '.z'", "Its components are .x, .y"),
    Mistake(_TYPES, "A vector taken apart", "«a, b, c = points[i]»\nout[i] = a", "a, b, c = points[i].x, points[i].y, points[i].z\nout[i] = a", ValueError,
            "a vector of 3, which is one value, for 3 targets", "`a, b, c = points[i].x, points[i].y, points[i].z`", "points, out"),
    Mistake(_TYPES, "A method that has another name", "out[i] = «points[i].length»()", "out[i] = points[i].norm()", TypeError, "a vector of 3 has no method 'length'", "`v.norm()`", "points, out"),
    Mistake(_TYPES, "A method without parentheses", "out[i] = «points[i].norm»", "out[i] = points[i].norm()", TypeError, "a vector of 3 has no '.norm'", "Call the method: `v.norm()`.", "points, out"),
    Mistake(_TYPES, "A sum of vectors that starts as a number", "total = 0.0\nfor k in range(4):\n    «total» += points[k]\nout[i] = total.x",
            "total = tack.vec3(0.0)\nfor k in range(4):\n    total += points[k]\nout[i] = total.x", TypeError, "'total' is a number and is assigned a vector of 3", "tack.vec3(0.0)", "points, out"),
    Mistake(_TYPES, "The length of a vector", "out[i] = len(«[x[i], 1.0]»)", "v = [x[i], 1.0]\nout[i] = v[1]", _UNSUPPORTED, "only arrays can be indexed or have a length", "is a vector"),
    Mistake(_TYPES, "u64 with a signed integer", "out[i] = «big[i] + i»", "out[i] = big[i] + tack.u64(i)", TypeError, "`+` of tack.i64 and tack.u64: no integer type", "`tack.u64(i)`", "big, out"),
    Mistake(_TYPES, "`or` for a default", "out[i] = «x[i]» or 1.0", "out[i] = x[i] if x[i] else 1.0", TypeError, "`or` used as a value takes truth values, not tack.f32", "x[i] if x[i] else 1.0"),
    Mistake(_TYPES, "`~` of a comparison", "out[i] = «~(x[i] > 1)»", "out[i] = not x[i] > 1", TypeError, "`~` of a truth value", "not"),
    Mistake(_TYPES, "A negative power of an integer", "out[i] = counts[i] ** «-1»", "out[i] = tack.f32(counts[i]) ** -1", ValueError, "the integer power -1 is negative", "`float(counts[i]) ** -1`", "counts, out"),
    Mistake(_TYPES, "Bits of a float", "out[i] = «x[i]» & 1", "out[i] = int(x[i]) & 1", TypeError, "an operand of `&` must be an integer, not tack.f32", "`int(x[i])`"),
    Mistake(_TYPES, "A shift past the width", "out[i] = counts[i] << «32»", "out[i] = tack.i64(counts[i]) << 32", ValueError, "the shift count 32 is outside [0, 32)", "a wider type", "counts, out"),
    Mistake(_TYPES, "A local that is an integer and a float", "k = counts[i]\nif k > 1:\n    k = x[i]\nout[i] = x[«k»]",
            "k = counts[i]\nif k > 1:\n    k = int(x[i])\nout[i] = x[k]", TypeError, "an index sees 'k', which is assigned tack.i32 in line 4 and tack.f32 in line 6", "`int(x[i])` in line 6", "counts, x, out"),
    Mistake(_TYPES, "An annotation of Python's", "v: «float» = x[i]\nout[i] = v", "v: tack.f32 = x[i]\nout[i] = v", _UNSUPPORTED, "an annotation of a local is a Tack scalar type", "tack.f32"),
    Mistake(_TYPES, "A local array of a run-time size", "t = tack.local_array(tack.f32, «n»)\nt[0] = 1.0\nout[i] = t[0]",
            "t = tack.local_array(tack.f32, 4)\nt[0] = 1.0\nout[i] = t[0]", TypeError, "the shape of a local array is made of integer literals and constants", "tack.constant", "n, out"),
)
