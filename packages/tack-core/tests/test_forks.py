"""Forks while another thread imports parts of Tack: the child must not wait for a module that nobody finishes."""

from __future__ import annotations

import os

import pytest
from fresh_process import run_program

from tack import forks

PROGRAM = """
    import os, signal, sys, threading
    import tack

    @tack.kernel
    def k(x):
        for i in range(x.shape[0]):
            x[i] = x[i] + 1.0

    reached, forked = threading.Event(), threading.Event()

    class Stop:  # an import of `module` stands still until the process has forked, or clearly waits
        def find_spec(name, path=None, target=None):
            if name == "{module}" and not reached.is_set():
                reached.set()
                forked.wait(0.3)

    sys.meta_path.insert(0, Stop)
    x, y = tack.zeros(3), tack.zeros(3, tack.f64)
    thread = threading.Thread(target=lambda: {first})
    thread.start()
    reached.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)  # ends a child that hangs
        k(y)
        k(y)
        os._exit(int(y[0]))
    forked.set()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
    k(x)
    print(x[0])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "module", "calls"),
    [
        ("k(x)", "tack.runtime.dispatch", 2),
        ("k(x)", "tack.runtime.fast_path", 2),
        ("k(x)", "tack.runtime.cpu", 2),
        ("k(x)", "tack.ir.pipeline", 2),
        ("k(x)", "tack.codegen.llvm_gen", 2),
        ("k.specialize(x)", "tack.runtime.dispatch", 1),
        ("tack.inspect(k, x, mode='asm')", "tack.runtime.dispatch", 1),
        ("tack.inspect(k, x)", "tack.codegen.llvm_gen", 1),
        ("tack.cache.info()", "tack.cache", 1),
    ],
)
def test_a_fork_waits_for_the_imports_of_another_thread(first: str, module: str, calls: int) -> None:
    assert run_program(PROGRAM.format(first=first, module=module), TACK_CACHE="off") == f"2\n{calls}.0"


def test_the_import_lock_is_the_first_that_a_fork_takes() -> None:
    """So a thread that takes others while it imports does not wait for the fork that waits for it."""
    assert forks._held[0][1] is forks.importing
    assert [order for order, _ in forks._held].count(forks._held[0][0]) == 1
