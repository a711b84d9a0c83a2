"""`ir.uniformity`: what all iterations share and reach together, as workgroups (W1) and race warnings (E6) ask for it."""

import pytest
from rule_tools import kernel

from tack.ir.races import race_pairs
from tack.ir.uniformity import uniformity

MEETS = {
    "plain": "a[i] = a[i + 1]",
    "after a loop that some leave early": "for k in range(9):\n    if a[i] > k:\n        break\na[i] = a[i + 1]",
    "after a loop of varying length": "s = 0\nfor k in range(i):\n    s += k\na[i] = a[i + 1]",
    "under a uniform condition": "if n > 3:\n    a[i] = a[i + 1]",
    "before a continue": "a[i] = a[i + 1]\nif b[i] > 0:\n    continue\nb[i] = 1",
    "in a uniform loop": "for k in range(n):\n    a[i] = a[i + 1] + k",
}
MAY_NOT_MEET = {
    "under a varying condition": "if b[i] > 3:\n    a[i] = a[i + 1]",
    "after a continue of some": "if b[i] > 0:\n    continue\na[i] = a[i + 1]",
    "in a loop that some leave": "for k in range(n):\n    a[i] = a[i + 1]\n    if b[i] > k:\n        break",
    "in a loop of varying length": "for k in range(i):\n    a[i] = a[i + 1]",
    "a conditional load": "a[i] = a[i + 1] if b[i] > 0 else 0",
    "atomics": "tack.atomic_add(a, i, 1)\nb[i] = a[i + 1]",
    "a local array": "t = tack.local_array(tack.i32, 4)\nt[i] = 1\nb[i] = t[i + 1]",
    "another array": "a[i] = b[i + 1]",
}


def template(body):
    return kernel(body, "n, a, b", "range(n)").template()


@pytest.mark.rule("E6")
@pytest.mark.parametrize("case", MEETS)
def test_races_that_every_iteration_runs_into(case):
    (pair,) = race_pairs(template(MEETS[case]))
    assert (pair.array, pair.var, pair.offset) == ("a", "i", 1)


@pytest.mark.rule("E6", "A1", "M5")
@pytest.mark.parametrize("case", MAY_NOT_MEET)
def test_races_that_a_condition_may_prevent(case):
    assert race_pairs(template(MAY_NOT_MEET[case])) == ()


@pytest.mark.rule("E6", "W1")
def test_values_that_differ():
    body = """
    c = n + 1
    d = i * 2
    e = a[0]
    f = 0
    if d > 3:
        f = 1
    g = c
    for k in range(c):
        g += k
    for m in range(d):
        h = m
    j = 0
    while j < c:
        j += g
    p = tack.atomic_add(a, 0, 1)
    q = tack.block_sum(d)
    r = tack.thread_id()
    b[i] = c + d + e + f + g + j + p + q + r
    """
    found = uniformity(template(body))
    names = {name.split(".")[0].removesuffix("()") for name in found.varying}
    assert names == {"i", "d", "e", "f", "m", "h", "p", "r", "atomic_add"}


@pytest.mark.rule("W1")
def test_statements_come_with_the_reason_why_some_do_not_reach_them():
    found = [(type(stmt).__name__, why) for stmt, why in uniformity(template("if i > n:\n    a[i] = 1\nb[i] = 2")).statements()]
    assert found == [("IRIf", ""), ("IRStore", "the condition on line 4 can differ between iterations"), ("IRStore", "")]
