"""Compiling and loading LLVM IR text on this machine: code, its life, its errors, several threads."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
import weakref

import pytest

from tack.runtime import cpu_jit

TEXT = """\
declare double @cos(double) #0
define i64 @add(i64 %a, i64 %b) nounwind {
  %r = add i64 %a, %b
  ret i64 %r
}
define internal double @twice(double %x) {
  %r = fmul double %x, 2.0
  ret double %r
}
define double @"wave"(double %x) nounwind {
  %c = call double @cos(double %x)
  %r = call double @twice(double %c)
  ret double %r
}
attributes #0 = { nobuiltin nounwind willreturn memory(none) }
""".replace('@"wave"', "@wave")


def call(code: cpu_jit.Code, name: str, kind, *args):
    return ctypes.CFUNCTYPE(kind, *[kind] * len(args))(code.address(name))(*args)


def test_compiled_functions_run_and_call_the_c_library() -> None:
    code = cpu_jit.compile_module(TEXT)
    assert code.names == ("add", "wave")
    assert call(code, "add", ctypes.c_int64, 40, 2) == 42
    assert call(code, "wave", ctypes.c_double, 0.0) == 2.0
    with pytest.raises(KeyError):
        code.address("twice")


def test_an_object_file_is_loaded_any_number_of_times() -> None:
    data = cpu_jit.emit_object(TEXT)
    assert isinstance(data, bytes)
    codes = [cpu_jit.load_object(data, ["add"]) for _ in range(3)]
    assert len({code.address("add") for code in codes}) == 3
    del codes[0]
    assert [call(code, "add", ctypes.c_int64, 1, 2) for code in codes] == [3, 3]


def test_code_is_freed_with_its_object() -> None:
    code = cpu_jit.compile_module(TEXT)
    tracker = code._tracker
    seen = weakref.ref(code)
    assert not tracker.closed
    tracker = weakref.ref(tracker)
    del code
    gc.collect()
    assert seen() is None
    assert tracker() is None


def test_text_for_reading() -> None:
    assert "fadd" in cpu_jit.optimized(TEXT) or "fmul" in cpu_jit.optimized(TEXT)
    assert "@twice" not in cpu_jit.optimized(TEXT)
    assert re.search(r"^add:", cpu_jit.asm(TEXT), re.MULTILINE)


def test_levels_compile_the_same_program() -> None:
    for opt in (0, 1, 2, 3):
        assert call(cpu_jit.compile_module(TEXT, opt=opt), "wave", ctypes.c_double, 0.0) == 2.0


def test_a_syntax_error_names_kernel_backend_and_lines_only() -> None:
    broken = TEXT.replace("%r = add i64 %a, %b", "%r = add i64 %a, 1.5")
    with pytest.raises(RuntimeError) as caught:
        cpu_jit.compile_module(broken, "scale")
    text = str(caught.value)
    assert text.startswith("Kernel 'scale': the CPU backend could not compile it.")
    assert "line 3:" in text
    assert "%r = add i64 %a, 1.5" in text
    assert "define i64 @add" in text
    assert "cos" not in text
    assert len(text.splitlines()) <= 6


def test_an_invalid_module_and_a_missing_symbol_are_errors_of_the_same_kind() -> None:
    invalid = "define i64 @f(i64 %a) {\n  br label %x\ny:\n  %v = add i64 %a, 1\n  br label %x\nx:\n  ret i64 %v\n}\n"
    with pytest.raises(RuntimeError, match=r"Kernel 'k': the CPU backend .*\n.*does not dominate all uses"):
        cpu_jit.compile_module(invalid, "k")
    missing = (
        "declare i64 @tack_no_such_function()\ndefine i64 @f() {\n  %v = call i64 @tack_no_such_function()\n  ret i64 %v\n}\n"
    )
    with pytest.raises(RuntimeError, match=r"Kernel 'k': the CPU backend could not load it\. LLVM says:\n.*symbols"):
        cpu_jit.compile_module(missing, "k")
    assert call(cpu_jit.compile_module(TEXT), "add", ctypes.c_int64, 1, 1) == 2


def test_threads_compile_and_free_at_once() -> None:
    results: list[int] = []
    errors: list[BaseException] = []
    barrier = threading.Barrier(4)

    def work(seed: int) -> None:
        try:
            barrier.wait()
            for k in range(5):
                code = cpu_jit.compile_module(TEXT.replace("%a, %b", f"%a, {seed * 10 + k}"))
                results.append(call(code, "add", ctypes.c_int64, 0, 0) - seed * 10 - k)
        except BaseException as error:  # shown in the main thread, whatever it is
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert results == [0] * 20


def test_the_target_is_named_in_words() -> None:
    version, triple, cpu, features, width = cpu_jit.target_key()
    assert int(width) in (128, 256, 512) or "x86" not in triple
    assert int(version.split(".")[0]) >= 20
    assert triple.count("-") >= 2
    assert cpu
    assert isinstance(features, str)
    assert cpu_jit.has_fma() in (True, False)
    assert cpu_jit.has_fma() == ("+fma" in features.split(",") or "aarch64" in triple or "arm64" in triple)
