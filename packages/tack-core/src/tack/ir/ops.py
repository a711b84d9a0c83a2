"""THE op table: one row for each operation of the language. Type rules, interpreter, emitters, stubs and docs read it.

A row says what the operation is called, how many operands it takes, how its operands and result are typed (`rule`), which
function of `numerics` defines its value, and how the C-like and LLVM emitters spell it where a word suffices. Where a
spelling is empty the emitter builds the operation from several instructions.

Rules (operand types of a typed IROp -> result type):

    arith    one common int or float type -> the same
    int      one common int type -> the same            (floats rejected)
    shift    left any int; right any int, its own type -> the left's
    div      one common float type -> the same            (integers go to the default float first)
    powi     a float and an i32 literal from -4 to 4 -> the float  (typed stage only; made from `x ** literal`)
    power    base int or float; int base: exponent any int, its own type -> the base's; floats: one common type
    compare  one common int or float type, or two truth values -> BOOL
    truth    BOOL -> BOOL
    extreme  two or more (a pair each when typed) of one common int or float type -> the same
    select   BOOL and two of one common type -> that type
    math     one common float type -> the same            (integers go to the default float first)
    test     one float -> BOOL                          (integers go to the default float first)
    bits     any int -> the same                         (a literal counts in the type it has alone)
    bitcast  any type -> the node's type, of the same width, which it has in every stage
    lane     no operands -> i64
    index    any int -> i64                              (untyped stage only; becomes IRCast)
    to_int to_float to_bool   casts whose type depends on the operand's (untyped stage only; become IRCast)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MATH_NAMES", "OPS", "Op", "Rule"]

Rule = Literal[
    "arith", "int", "shift", "div", "power", "powi", "compare", "truth", "extreme", "select", "math", "test", "bits", "bitcast",
    "lane", "index", "to_int", "to_float", "to_bool",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Op:
    """One row. `call`: the name users call it by ("" for operators); `python_math`: whether Python's `math` has that name.

    `c` and `c_float`: operator or function for integers and for floats ("" = built by the emitter); a function name in
    `c_float` is the double's, the float's has an `f` appended. `llvm`: (signed, unsigned, float) instruction or intrinsic base
    name ("" = built by the emitter).
    """

    name: str
    arity: int  # -2: two or more
    rule: Rule
    symbol: str = ""
    call: str = ""
    python_math: bool = False
    c: str = ""
    c_float: str = ""
    llvm: tuple[str, str, str] = ("", "", "")
    doc: str = ""


def _libm(name: str, arity: int, doc: str, python_math: bool = True, call: str = "") -> Op:
    return Op(name, arity, "math", call=call or name, python_math=python_math, c_float=name, llvm=("", "", name), doc=doc)


_ROWS = (
    Op("add", 2, "arith", "+", c="+", c_float="+", llvm=("add", "add", "fadd"), doc="Sum; integers wrap."),
    Op("sub", 2, "arith", "-", c="-", c_float="-", llvm=("sub", "sub", "fsub"), doc="Difference; integers wrap."),
    Op("mul", 2, "arith", "*", c="*", c_float="*", llvm=("mul", "mul", "fmul"), doc="Product; integers wrap."),
    Op("neg", 1, "arith", "-", c="-", c_float="-", llvm=("", "", "fneg"), doc="Negative; integers wrap."),
    Op("div", 2, "div", "/", c_float="/", llvm=("", "", "fdiv"), doc="True division; integers convert to the default float."),
    Op("floordiv", 2, "arith", "//", doc="Floored quotient; integers: x // 0 is 0, the minimum // -1 wraps."),
    Op("mod", 2, "arith", "%", doc="Remainder with the divisor's sign; integers: x % 0 is 0."),
    Op("pow", 2, "power", "**", doc="Power; integers keep the base's type and wrap."),
    Op("powi", 2, "powi", doc="A float to a literal integer power from -4 to 4, by multiplication."),
    Op("band", 2, "int", "&", c="&", llvm=("and", "and", ""), doc="Bitwise and."),
    Op("bor", 2, "int", "|", c="|", llvm=("or", "or", ""), doc="Bitwise or."),
    Op("bxor", 2, "int", "^", c="^", llvm=("xor", "xor", ""), doc="Bitwise exclusive or."),
    Op("invert", 1, "int", "~", c="~", doc="Bitwise complement."),
    Op("shl", 2, "shift", "<<", c="<<", llvm=("shl", "shl", ""), doc="Left shift, the count modulo the width."),
    Op("shr", 2, "shift", ">>", c=">>", llvm=("ashr", "lshr", ""), doc="Right shift, filling the sign of signed values."),
    Op("eq", 2, "compare", "==", c="==", c_float="==", llvm=("icmp eq", "icmp eq", "fcmp oeq"), doc="Equal."),
    Op("ne", 2, "compare", "!=", c="!=", c_float="!=", llvm=("icmp ne", "icmp ne", "fcmp une"), doc="Not equal (true for NaN)."),
    Op("lt", 2, "compare", "<", c="<", c_float="<", llvm=("icmp slt", "icmp ult", "fcmp olt"), doc="Less."),
    Op("le", 2, "compare", "<=", c="<=", c_float="<=", llvm=("icmp sle", "icmp ule", "fcmp ole"), doc="Less or equal."),
    Op("gt", 2, "compare", ">", c=">", c_float=">", llvm=("icmp sgt", "icmp ugt", "fcmp ogt"), doc="Greater."),
    Op("ge", 2, "compare", ">=", c=">=", c_float=">=", llvm=("icmp sge", "icmp uge", "fcmp oge"), doc="Greater or equal."),
    Op("not", 1, "truth", "not", c="!", doc="Logical not of a condition."),
    Op("select", 3, "select", call="select", doc="select(condition, a, b): a where true, else b; evaluates both."),
    Op("min", -2, "extreme", call="min", doc="Least value; prefers a number to NaN, -0.0 is less than 0.0."),
    Op("max", -2, "extreme", call="max", doc="Greatest value; prefers a number to NaN, -0.0 is less than 0.0."),
    Op("abs", 1, "arith", call="abs", c_float="fabs", llvm=("", "", "fabs"), doc="Magnitude; the least integer wraps to itself."),
    Op("fma", 3, "math", call="fma", c_float="fma", llvm=("", "", "fma"), doc="fma(a, b, c): a * b + c with one rounding."),
    Op(
        "floor",
        1,
        "math",
        call="floor",
        python_math=True,
        c_float="floor",
        llvm=("", "", "floor"),
        doc="Round down; stays a float.",
    ),
    Op("ceil", 1, "math", call="ceil", python_math=True, c_float="ceil", llvm=("", "", "ceil"), doc="Round up; stays a float."),
    Op(
        "trunc",
        1,
        "math",
        call="trunc",
        python_math=True,
        c_float="trunc",
        llvm=("", "", "trunc"),
        doc="Round to zero; stays a float.",
    ),
    Op(
        "round",
        1,
        "math",
        call="round",
        c_float="rint",
        llvm=("", "", "roundeven"),
        doc="Round half to even; stays a float, keeps -0.0.",
    ),
    Op(
        "sqrt",
        1,
        "math",
        call="sqrt",
        python_math=True,
        c_float="sqrt",
        llvm=("", "", "sqrt"),
        doc="Square root, correctly rounded.",
    ),
    Op(
        "copysign",
        2,
        "math",
        call="copysign",
        python_math=True,
        c_float="copysign",
        llvm=("", "", "copysign"),
        doc="Magnitude of a, sign of b.",
    ),
    Op(
        "fmod",
        2,
        "math",
        call="fmod",
        python_math=True,
        c_float="fmod",
        llvm=("", "", "frem"),
        doc="Remainder with a's sign (exact).",
    ),
    Op("isnan", 1, "test", call="isnan", python_math=True, doc="Whether the value is NaN."),
    Op("isinf", 1, "test", call="isinf", python_math=True, doc="Whether the value is an infinity."),
    Op("isfinite", 1, "test", call="isfinite", python_math=True, doc="Whether the value is neither NaN nor an infinity."),
    Op("thread_id", 0, "lane", doc="thread_id(): the number of the lane in its workgroup, 0 to 255."),
    Op("clz", 1, "bits", call="clz", llvm=("ctlz", "ctlz", ""), doc="Zero bits above the highest one; the width for 0."),
    Op("popcount", 1, "bits", call="popcount", llvm=("ctpop", "ctpop", ""), doc="One bits of an integer, in two's complement."),
    Op("bitcast", 1, "bitcast", call="bitcast", doc="bitcast(dtype, x): the bits of x as a dtype of the same width."),
    _libm("exp", 1, "e to the power x."),
    _libm("exp2", 1, "2 to the power x."),
    _libm("expm1", 1, "exp(x) - 1, accurate near 0."),
    _libm("log", 1, "Natural logarithm."),
    _libm("log2", 1, "Logarithm to base 2."),
    _libm("log10", 1, "Logarithm to base 10."),
    _libm("log1p", 1, "log(1 + x), accurate near 0."),
    _libm("sin", 1, "Sine of radians."),
    _libm("cos", 1, "Cosine of radians."),
    _libm("tan", 1, "Tangent of radians."),
    _libm("asin", 1, "Arc sine in radians."),
    _libm("acos", 1, "Arc cosine in radians."),
    _libm("atan", 1, "Arc tangent in radians."),
    _libm("atan2", 2, "atan2(y, x): angle of the point (x, y) in radians."),
    _libm("sinh", 1, "Hyperbolic sine."),
    _libm("cosh", 1, "Hyperbolic cosine."),
    _libm("tanh", 1, "Hyperbolic tangent."),
    _libm("asinh", 1, "Inverse hyperbolic sine."),
    _libm("acosh", 1, "Inverse hyperbolic cosine."),
    _libm("atanh", 1, "Inverse hyperbolic tangent."),
    _libm("cbrt", 1, "Cube root."),
    _libm("hypot", 2, "sqrt(x*x + y*y) without undue overflow."),
    _libm("erf", 1, "Error function."),
    _libm("erfc", 1, "Complementary error function."),
    Op("index", 1, "index", doc="An array index: an integer, converted to i64."),
    Op("to_int", 1, "to_int", call="int", doc="int(x): i64, or u64 from u64; floats truncate and saturate."),
    Op("to_float", 1, "to_float", call="float", doc="float(x): f64 stays, everything else becomes the default float."),
    Op("to_bool", 1, "to_bool", call="bool", doc="bool(x): whether x is nonzero (NaN is)."),
)

OPS: dict[str, Op] = {row.name: row for row in _ROWS}

# What kernels may call: user-visible name -> op name. `pow(a, b)` and `math.pow` are the operator's row.
MATH_NAMES: dict[str, str] = {row.call: row.name for row in _ROWS if row.call} | {"pow": "pow", "fabs": "abs"}
