"""One token of a valid kernel is broken: a Tack error shows the place, or the result is that of the program as it now stands.

The programs are random ones, the kernels of the goldens, and those that the table of mistakes says to write instead.
"""

import ast
import inspect
import io
import linecache
import random
import re
import token
import tokenize
import warnings

import numpy as np
import oracle
import pytest
from golden import kernels as golden
from property.check import _tack_array
from property.generator import generate

import mistakes
import tack
from tack.errors import UnsupportedSyntaxError
from tack.lang.kernel import Kernel

RANDOM, BATCH, EACH = 200, 10, 5  # programs, programs of one test, mutations of one program
_ERRORS = (UnsupportedSyntaxError, NameError, TypeError, ValueError, IndexError)
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@", "and", "or", "<", "==", "!=", "is", "in")
_AUGMENTED = ("+=", "-=", "*=", "//=", "<<=", "|=", "=", "@=")
_NUMBERS = ("0", "-1", "1.5", "2", "99999999999999999999", "1j", "'text'", "None", "x_7", "(1, 2)")
_WORDS = ("break", "continue", "pass", "return", "return 1", "yield", "raise", "assert i", "del i", "import os", "global i", "i")


def tokens_of(text, first):
    """The tokens of `text` from line `first` on, which have a meaning."""
    skipped = (token.NEWLINE, token.NL, token.INDENT, token.DEDENT, token.COMMENT, token.ENDMARKER, token.ENCODING)
    return [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in skipped and t.start[0] >= first]


def others(tok, names, rng):
    """What a token may become."""
    if tok.type == token.NUMBER:
        return rng.choice(_NUMBERS)
    if tok.type == token.NAME and tok.string in ("break", "continue", "pass", "return"):
        return rng.choice(_WORDS)
    if tok.type == token.NAME and tok.string not in ("for", "in", "if", "else", "elif", "while", "def", "not", "and", "or"):
        return rng.choice([tok.string + "_", *names, *_NUMBERS])
    if tok.string in _OPERATORS:
        return rng.choice(_OPERATORS)
    return rng.choice(_AUGMENTED) if tok.string in _AUGMENTED else ""


def mutations(text, seed):
    """Programs that differ from `text` in one token of a kernel or device function, each with that token's place."""
    rng = random.Random(seed)
    lines = text.splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines, 1) if line.startswith(("@tack.kernel", "@tack.func")))
    toks = [t for t in tokens_of(text, first) if t.line.startswith((" ", "\t"))]  # in a body, not a head or a call
    names = sorted({t.string for t in toks if t.type == token.NAME and not t.string in ("tack", "math")})
    made = []
    for _ in range(200):
        tok = rng.choice(toks)
        new = others(tok, names, rng)
        (line, col), (_, end) = tok.start, tok.end
        old = lines[line - 1]
        mutant = "".join([*lines[: line - 1], old[:col] + new + old[end:], *lines[line:]])
        if new in ("", tok.string) or not compiles(mutant):
            continue
        made.append((mutant, line, col, col + len(new), f"line {line}: {tok.string!r} became {new!r}"))
        if len(made) == EACH:
            break
    return made


def compiles(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<mutant>", "exec")
        except SyntaxError:
            return False
    return True


def load(text, name):
    """The last kernel of `text`, whose source `linecache` holds."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": name, "tack": tack}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, name, "exec"), space)
    return [v for v in space.values() if isinstance(v, Kernel)][-1]


def refusal(text, name, args):
    """The error that a call of the kernel deserves, None if it would run; nothing is run."""
    kernel = load(text, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tack.RaceWarning)
            tack.inspect(kernel, *args)
    except _ERRORS as error:
        return error
    return None


def names_of(text, first, last):
    """The names in some lines."""
    nodes = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name | ast.arg))
    return {getattr(n, "id", None) or n.arg for n in nodes if first <= n.lineno <= last}


def check_place(error, text, mutant):
    """The caret covers the token, or is in its statement or where a name of its line is used, or the message names its line."""
    _, line, col, end, what = mutant
    assert hasattr(error, "diagnostic"), f"not Tack's own error: {error!r}\n{what}\n{text}"
    span = error.diagnostic.span
    shown = f"{what}\n{error}\n{text}"
    assert error.diagnostic.remedy or isinstance(error, NameError), f"no remedy: {shown}"
    if span is None:
        return "call"
    if span.called is not None and span.source.file != span.called.source.file:  # in a function of Tack's own
        span = span.called
    first, last = span.lineno, span.source.first_line + span.end_line
    assert text.splitlines()[first - 1].strip() in str(error), shown
    if (first, span.col) <= (line, end) and (line, col) <= (last, span.end_col):
        return "token"
    if first <= line <= last:
        return "line"
    is_head = text.splitlines()[first - 1].startswith("def ")
    mutated = names_of(text, line, line) | set(re.findall(r"'(\w+)' became", what))
    assert is_head or f"line {line}" in str(error) or names_of(text, first, last) & mutated, shown
    return "elsewhere"


def tack_args(program, args):
    """The arguments with arrays of Tack over the same memory."""
    elements = program.elements()
    return [_tack_array(a, elements.get(k, ())) if isinstance(a, np.ndarray) else a for k, a in enumerate(args)]


def may_be_run(text, mutant):
    """Whether the mutated program surely ends, and each local still has the one type that the oracle expects."""
    line = text.splitlines()[mutant[1] - 1]
    if mutant[4].endswith(("'<'", "'=='", "'!='", "'and'", "'or'")):  # truth values are NumPy's masks as indices
        return False
    inside = line.startswith(" " * 8)
    return inside and "while" not in text and not re.match(r"\s+(for |\w+ [-+*/%&|^<>]+= |\w+ = (?!tack\.))", line)


def agrees(text, name, program):
    """Whether the result is the oracle's; debug mode may refuse an index, and then nothing is asked of the result."""
    args = program.arguments()
    expected = program.arguments()
    try:
        with np.errstate(all="ignore"):
            oracle.run(text, expected, fma=oracle_fma(), elements=program.elements())
    except Exception:  # the mutated program has an index outside an array, or is none of the oracle's
        return None
    tack.set_debug(True)
    try:
        load(text, name)(*tack_args(program, args))
    except (IndexError, ValueError):  # an index outside, a step of zero
        return None
    finally:
        tack.set_debug(False)
    pairs = [(a, b) for a, b in zip(args, expected, strict=True) if isinstance(a, np.ndarray)]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def oracle_fma():
    from tack.runtime.cpu_jit import has_fma

    return has_fma()


@pytest.mark.slow
@pytest.mark.rule("K7", "N1", "N3", "T3", "T7", "M1")
@pytest.mark.parametrize("first", range(0, RANDOM, BATCH))
def test_random_kernels_with_a_broken_token(first):
    seen = []
    for seed in range(first, first + BATCH):
        program = generate(50000 + seed, features=False)
        args = tack_args(program, program.arguments())
        for k, mutant in enumerate(mutations(program.source, seed)):
            error = refusal(mutant[0], f"<mutant {seed}.{k}>", args)
            if error is not None:
                seen.append(check_place(error, mutant[0], mutant))
            elif may_be_run(mutant[0], mutant):
                assert agrees(mutant[0], f"<mutant {seed}.{k} run>", program) is not False, f"{mutant[4]}\n{mutant[0]}"
    assert seen.count("token") + seen.count("line") > 0.8 * len(seen) > 5


def golden_text(name):
    """A golden kernel as a program of its own."""
    text = "import math\nimport tack\nSTEPS = tack.constant(4)\nSCALE = tack.constant(0.1)\n"
    parts = [golden.first_above] if name == "inlined" else []
    return text + "".join(inspect.getsource(f.__wrapped__) for f in (*parts, getattr(golden, name)))


@pytest.mark.parametrize("name", golden.CALLS)
def test_golden_kernels_with_a_broken_token(name):
    text = golden_text(name)
    args = [tack.array(a) if isinstance(a, np.ndarray) else a for a in golden.CALLS[name]]
    assert refusal(text, f"<golden {name}>", args) is None
    for k, mutant in enumerate(mutations(text, name)):
        error = refusal(mutant[0], f"<golden {name}.{k}>", args)
        if error is not None:
            check_place(error, mutant[0], mutant)


@pytest.mark.parametrize("mistake", mistakes.MISTAKES, ids=lambda m: m.title)
def test_other_kernels_with_a_broken_token(mistake):
    """Those with vectors, local arrays, atomics and results; they run in debug mode, which stops at a bad index."""
    text = mistake.corrected
    if "\n@tack.kernel" not in "\n" + text:
        return
    for mutant in mutations(text, mistake.title):
        tack.set_debug(True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mistakes.run(mutant[0])
        except _ERRORS as error:
            check_place(error, mutant[0], mutant)
        finally:
            tack.set_debug(False)
