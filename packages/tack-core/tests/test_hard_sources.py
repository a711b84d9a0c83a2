"""Kernels whose source is hard to find: notebooks, shells, odd layouts, archives, text that nobody keeps, files edited later."""

import importlib
import io
import linecache
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import tack
from tack.errors import UnsupportedSyntaxError

KERNEL = "import tack\n\n@tack.kernel\ndef fill(x, v):\n    for i in range(len(x)):\n        x[i] = v * {0}\n"


def filled(kernel, value=2.0):
    x = tack.zeros(3)
    kernel(x, value)
    return x.numpy().tolist()


def cell(text, number):
    """Runs text as IPython does: compiled under a name of its own, which `linecache` knows without a time of change."""
    name = f"<ipython-input-{number}-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), space)
    return space, name


def test_notebook_cells():
    space, _ = cell(KERNEL.format(3), 1)
    again, _ = cell(KERNEL.format(5), 2)  # the same cell, edited and run again
    assert filled(space["fill"]) == [6] * 3
    assert filled(again["fill"]) == [10] * 3
    linecache.checkcache()
    later, name = cell(KERNEL.format("w"), 3)
    with pytest.raises(NameError) as caught:
        filled(later["fill"])
    assert f'File "{name}", line 6, column 20' in str(caught.value)
    assert caught.value.lineno == 6


def test_a_cell_that_is_run_after_its_lines_are_gone():
    space, name = cell(KERNEL.format(7), 4)
    del linecache.cache[name]
    assert filled(space["fill"]) == [14] * 3


def python(*arguments, text=None, folder=None):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, cwd=folder)
    return done.stdout + done.stderr


CALL = "x = tack.zeros(2)\nfill(x, 2.0)\nprint(x.numpy().tolist())\n"


def test_python_with_a_command():
    printed = python("-c", KERNEL.format(3) + CALL)
    if sys.version_info >= (3, 13):  # which keeps the text for tracebacks
        assert "[6.0, 6.0]" in printed
    else:
        assert "the source of kernel 'fill' cannot be read" in printed
        assert "define it in a file or a notebook cell" in printed


def test_the_interactive_shell():
    printed = python("-i", "-q", text=KERNEL.format(3) + "\n" + CALL)
    if sys.version_info >= (3, 13):
        assert "[6.0, 6.0]" in printed
    else:
        assert "the source of kernel 'fill' cannot be read" in printed


def test_a_program_from_standard_input():
    printed = python("-", text=KERNEL.format(3) + CALL)
    assert "[6.0, 6.0]" in printed or "the source of kernel 'fill' cannot be read" in printed
    assert "Traceback" not in printed or "UnsupportedSyntaxError" in printed


def test_a_program_in_an_archive(tmp_path, monkeypatch):
    """`zipimport` reads the source through the module's loader; a traceback's place names the archive."""
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("zipped_kernels/__init__.py", "")
        made.writestr("zipped_kernels/parts.py", KERNEL.format(3) + "\n" + KERNEL.format("w").replace("fill", "wrong"))
        made.writestr("__main__.py", KERNEL.format(4) + CALL)
    monkeypatch.syspath_prepend(str(archive))
    parts = importlib.import_module("zipped_kernels.parts")
    assert filled(parts.fill) == [6] * 3
    with pytest.raises(NameError) as caught:
        filled(parts.wrong)
    assert "bundle.zip" in str(caught.value) and "x[i] = v * w" in str(caught.value)
    assert "[8.0, 8.0]" in python(str(archive))


def test_compiled_files_without_source(tmp_path, monkeypatch):
    """As frozen programs ship them: the error says what a kernel needs, at the call, and nothing else breaks."""
    import py_compile

    source = tmp_path / "shipped.py"
    source.write_text(KERNEL.format(3))
    py_compile.compile(str(source), cfile=str(tmp_path / "shipped.pyc"), dfile="shipped_source_is_elsewhere.py")
    source.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    shipped = importlib.import_module("shipped")
    with pytest.raises(UnsupportedSyntaxError, match="source of kernel 'fill' cannot be read") as caught:
        filled(shipped.fill)
    assert "compiled from its source text" in str(caught.value)


def test_frozen_modules():
    """A frozen module's file is called `<frozen name>`, and its loader has no source."""
    space = {"__name__": "frozen_program"}
    exec(compile(KERNEL.format(3), "<frozen frozen_program>", "exec"), space)
    with pytest.raises(UnsupportedSyntaxError, match="source of kernel 'fill' cannot be read"):
        filled(space["fill"])


def test_device_functions_without_source():
    space = {"__name__": "nowhere", "tack": tack}
    exec("@tack.func\ndef half(v):\n    return v / 2\n", space)
    made, _ = cell("import tack\n@tack.kernel\ndef k(x, v):\n    for i in range(len(x)):\n        x[i] = half(v)\n", 5)
    made["half"] = space["half"]
    with pytest.raises(UnsupportedSyntaxError, match="source of device function 'half' cannot be read"):
        filled(made["k"])


def test_exec_with_and_without_lines():
    text = KERNEL.format(3)
    space = {"__name__": "made"}
    exec(text, space)
    with pytest.raises(UnsupportedSyntaxError, match=r"not by exec. `python -c` and the REPL keep theirs from Python 3.13 on"):
        filled(space["fill"])
    name = "<made 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    assert filled(space["fill"]) == [6] * 3


def test_a_file_that_was_edited_after_the_import(tmp_path, monkeypatch):
    """The kernel is what was imported; one that is decorated after the edit and does not match its file is refused."""
    path = tmp_path / "edited_later.py"
    path.write_text(KERNEL.format(3))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("edited_later")
    fill = module.fill
    path.write_text("# a longer line\n" * 40 + KERNEL.format(55))
    linecache.checkcache()
    assert filled(fill) == [6] * 3
    with pytest.raises(UnsupportedSyntaxError, match="may have changed since it was imported"):
        filled(tack.kernel(fill.__wrapped__))
    assert filled(importlib.reload(module).fill) == [110] * 3


def twice(function):
    return function


def scaled(by):
    @tack.kernel
    @twice
    @twice
    def fill(x, v):
        for i in range(len(x)):
            x[i] = v * 3

    @tack.func
    def more(v):
        return v * 5

    @tack.kernel
    def other(x, v):
        for i in range(len(x)):
            x[i] = more(v)

    return other if by else fill


class Holder:
    class Inner:
        @staticmethod
        @tack.kernel
        def fill(x, v):
            for i in range(len(x)):
                x[i] = v * 7

    if True:
        with np.errstate():

            @tack.kernel
            def deep(x, v):
                for i in range(len(x)):
                    x[i] = v * 9

    @tack.func
    def half(v):
        return v * 11


@tack.kernel
def größe(λ, wert_ß):
    for ι in range(len(λ)):
        λ[ι] = wert_ß * 13


first = größe


@tack.kernel
def größe(λ, wert_ß):
    for ι in range(len(λ)):
        λ[ι] = wert_ß * 17


@tack.kernel
def through_a_class(x, v):
    for i in range(len(x)):
        x[i] = half(v)


half = Holder.half

PLACES = {
    "stacked decorators in a function": (lambda: scaled(False), 3),
    "a function of the same function": (lambda: scaled(True), 5),
    "a class in a class": (lambda: Holder.Inner.fill, 7),
    "an indented block in a class, continued": (lambda: Holder.deep, 9),
    "a device function in a class": (lambda: through_a_class, 11),
    "Unicode": (lambda: first, 13),
    "a second kernel of one name": (lambda: größe, 17),
}


@pytest.mark.parametrize("place", PLACES)
def test_places_in_a_file(place):
    kernel, factor = PLACES[place]
    assert filled(kernel()) == [2 * factor] * 3


LAYOUTS = {
    "tabs": "class C:\n\tif True:\n\t\t@tack.kernel\n\t\tdef k(x, v):\n\t\t\tfor i in range(3):\n\t\t\t\tx[i] = v * 3\nk = C.k\n",
    "tabs after spaces": "if 1:\n  @tack.kernel\n  def k(x, v):\n  \tfor i in range(3):\n  \t\tx[i] = v * 3\n",
    "line ends of Windows": "@tack.kernel\r\ndef k(x, v):\r\n    for i in range(3):\r\n        x[i] = v * 3\r\n",
    "form feed": "\f\n@tack.kernel\ndef k(x, v):\n    for i in range(3):\n        x[i] = v * 3\n",
    "continued head": "@tack.kernel\ndef k(\n  x,\n  v,\n):\n    for i in range(\n3):\n        x[i] = \\\n  v \\\n * 3\n",
    "one line": "@tack.kernel\ndef k(x, v):\n    for i in range(3): x[i] = v * 3; y = 1\n",
    "two on a line of decorators": "deco = tack.kernel\n@deco\n\n# between\n\ndef k(x, v):\n"
    "    for i in range(3):\n        x[i] = v * 3\n",
    "text that is flush left": "if 1:\n    @tack.kernel\n    def k(x, v):\n        '''one\ntwo\n'''\n"
    "        for i in range(3):\n# flush\n"
    "            x[i] = (v *\n3)\n",
    "a file in Latin-1": "# -*- coding: latin-1 -*-\nname = 'größe'\n@tack.kernel\ndef k(x, größe):\n    for i in range(3):\n"
    "        x[i] = größe * 3\n",
    "a mark of byte order": "\ufeff@tack.kernel\ndef k(x, v):\n    for i in range(3):\n        x[i] = v * 3\n",
    "no last line end": "@tack.kernel\ndef k(x, v):\n    for i in range(3):\n        x[i] = v * 3",
    "called at once": "(lambda f: f)(1); k = None\n@tack.kernel\ndef k(x, v):\n    for i in range(3): x[i] = v * 3\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_a_file(layout, tmp_path, monkeypatch):
    encoding = "latin-1" if "latin-1" in LAYOUTS[layout] else "utf-8"
    name = f"layout_{list(LAYOUTS).index(layout)}"
    (tmp_path / f"{name}.py").write_bytes(LAYOUTS[layout].encode(encoding))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.tack", tack, raising=False)
    module = importlib.import_module(name)
    x = tack.zeros(3)
    module.k(x, 2.0)
    assert x.numpy().tolist() == [6] * 3


def test_a_method_is_a_kernel():
    class Model:
        @tack.kernel
        def fill(x, v):
            for i in range(len(x)):
                x[i] = v * 2

    assert filled(Model.fill) == [4] * 3


def test_a_traceback_shows_the_call_in_a_cell():
    """The last line of the program in the traceback is the call."""
    import traceback

    text = KERNEL.format("w") + "\ndef call():\n    fill(tack.zeros(2), 1.0)\n"
    space, name = cell(text, 6)
    with pytest.raises(NameError) as caught:
        space["call"]()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == (name, 9, "fill(tack.zeros(2), 1.0)")
    shown = io.StringIO()
    traceback.print_exception(caught.value, file=shown)
    assert "tack/lang" not in shown.getvalue() and "During handling" not in shown.getvalue()
    assert textwrap.dedent("    fill(tack.zeros(2), 1.0)") in shown.getvalue()
