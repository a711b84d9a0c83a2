"""Definite assignment: which reads are refused, and that the message names the path (N3)."""

import pytest
from refusals import check, load

from tack.ir.assigned import base_name, check_assigned


def kernel_text(lines, params="x, n"):
    return f"@kernel\ndef k({params}):\n    for i in range(n):\n" + "".join(f"        {line}\n" for line in lines)


REFUSED = {
    "never before": (["x[i] = «t»", "t = 1"], "local 't' is read before it is assigned"),
    "itself": (["«t» += 1"], "local 't' is read before it is assigned"),
    "if alone": (["if n > 1:", "    t = 1", "x[i] = «t»"], "not when the condition on line 4 is false"),
    "else alone": (["if n > 1:", "    pass", "else:", "    t = 1", "x[i] = «t»"], "not when the condition on line 4 is true"),
    "one of three": (
        ["if n > 1:", "    t = 1", "elif n > 0:", "    u = 1", "else:", "    t = 2", "x[i] = «t»"],
        "not when the condition on line 6 is true",
    ),
    "nested": (
        ["if n > 1:", "    if n > 2:", "        t = 1", "else:", "    t = 2", "x[i] = «t»"],
        "the condition on line 5 is false",
    ),
    "loop": (["for k in range(n):", "    t = k", "x[i] = «t»"], "not when the loop on line 4 runs no iteration"),
    "loop of literals": (["for k in range(3):", "    t = k", "x[i] = «t»"], "not when the loop on line 4 runs no iteration"),
    "while": (["while n > 1:", "    t = 1", "    n -= 1", "x[i] = «t»"], "not when the loop on line 4 runs no iteration"),
    "while true": (
        ["while True:", "    if n > 2:", "        break", "    t = 1", "    n += 1", "x[i] = «t»"],
        "the loop is left by the `break` on line 6",
    ),
    "while condition": (["while «t» < 3:", "    t = 1"], "local 't' is read before it is assigned"),
    "second round": (
        ["k = 1", "while n > 0:", "    x[i] = «k»", "    for k in range(2):", "        n -= k"],
        "the variable of the loop on line 7, which has ended",
    ),
    "loop variable": (["k = 5", "for k in range(3):", "    pass", "x[i] = «k»"], "the variable of the loop on line 5"),
    "under a condition": (
        ["k = 5", "if n > 2:", "    for k in range(3):", "        pass", "x[i] = «k»"],
        "the variable of the loop on line 6",
    ),
    "parameter as loop variable": (["for n in range(3):", "    pass", "x[i] = «n»"], "the variable of the loop on line 4"),
    "the parallel variable": (["for i in range(3):", "    pass", "x[0] = «i»"], "the variable of the loop on line 4"),
    "copied loop variable": (["for k in range(3):", "    k = k + 1", "k += «k»"], None),
    "condition of an arm": (["x[i] = «t» if n > 1 else 2", "t = 1"], "read before it is assigned"),
    "index": (["x[«t»] = 1", "t = 1"], "read before it is assigned"),
    "continue": (
        ["for k in range(n):", "    if k > 1:", "        continue", "    t = k", "x[i] = «t»"],
        "the loop on line 4 runs no iteration",
    ),
    "in a function": (["x[i] = f(n)"], "not when the condition on line 3 is false"),
    "intrinsic shadowed later": (["x[i] = «sqrt»", "sqrt = 2"], "read before it is assigned"),
}


@pytest.mark.rule("N3")
@pytest.mark.parametrize("case", [c for c in REFUSED if REFUSED[c][1]])
def test_reads_before_assignment_are_refused(tmp_path, case):
    lines, phrase = REFUSED[case]
    text = kernel_text(lines)
    if case == "in a function":
        text = "@func\ndef f(n):\n    if n > 1:\n        t = 2\n    return «t»\n" + text
    check(tmp_path, text, NameError, phrase)


@pytest.mark.rule("N3")
def test_prologue_locals_are_checked_too(tmp_path):
    text = "@kernel\ndef k(x, n):\n    if n > 1:\n        t = 2\n    for i in range(n):\n        x[i] = «t»\n"
    check(tmp_path, text, NameError, "not when the condition on line 3 is false")
    text = "@kernel\ndef k(x, n):\n    if n > 1:\n        t = 2\n    for i in range(«t»):\n        x[i] = 1\n"
    check(tmp_path, text, NameError, "not when the condition on line 3 is false")


ACCEPTED = {
    "both arms": ["if n > 1:", "    t = 1", "else:", "    t = 2", "x[i] = t"],
    "other arm ends": ["if n > 1:", "    t = 1", "else:", "    continue", "x[i] = t"],
    "while true": ["while True:", "    t = n", "    if t > 2:", "        break", "    n += 1", "x[i] = t"],
    "while one": ["while 1:", "    t = n", "    if t > 2:", "        break", "    n += 1", "x[i] = t"],
    "endless": ["if n > 1:", "    t = 1", "else:", "    while True:", "        n += 1", "x[i] = t"],
    "break in the same arm": ["for k in range(3):", "    if k > n:", "        break", "    t = k", "    x[i] = t"],
    "loop, then again": ["for k in range(3):", "    pass", "k = 1", "x[i] = k"],
    "again in the loop": ["k = 0", "while k < 3:", "    for k in range(2):", "        pass", "    k = 4", "x[i] = k"],
    "again in a branch": ["if n > 1:", "    for k in range(3):", "        pass", "    k = 1", "else:", "    k = 2", "x[i] = k"],
    "nested loops of one name": ["for k in range(3):", "    for k in range(2):", "        x[i] = k"],
    "self": ["t = 1", "t += t", "x[i] = t"],
    "dead code": ["t = 1", "continue", "x[i] = t"],
    "dead loop": ["k = 1", "for j in range(3):", "    break", "    for k in range(2):", "        pass", "x[i] = k"],
    "dead jump": ["while True:", "    t = 1", "    break", "    break", "x[i] = t"],
    "condition first": ["x[i] = f(n) if n > 1 else 0", "t = n > 1 and f(n) > 2"],
    "early return": ["x[i] = f(n)"],
    "while pre": ["while f(n) > 1:", "    n = n - 1", "x[i] = n"],
}


@pytest.mark.rule("N3")
@pytest.mark.parametrize("case", ACCEPTED)
def test_assigned_on_every_path(tmp_path, case):
    function = """
@func
def f(n):
    for k in range(n):
        t = k
        if t > 2:
            return t
    if n > 1:
        u = 2
    else:
        return 3
    return u
"""
    space = load(tmp_path, function + kernel_text(ACCEPTED[case]))
    check_assigned(space["k"].template())


def test_base_names():
    assert [base_name(n) for n in ("k", "k.1", "f.2.k", "f.2.k.11", "x1", "x1.2")] == ["k", "k", "f.2.k", "f.2.k", "x1", "x1"]
