"""The floor plan, held: who imports whom, how big a file and a function may be, what `import tack` loads, where the environment
is read, and that the generated pages and the packaging say what the code does.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import generate_docs
import spec_coverage
from tack import math, settings
from tack.ir.ops import MATH_NAMES, OPS
from tack.lang.bindings import MATH_CONSTANTS

ROOT = Path(__file__).resolve().parents[3]
TACK = ROOT / "packages/tack-core/src/tack"
TESTS = ROOT / "packages/tack-core/tests"
MODULES = sorted(TACK.rglob("*.py"))
SIM = sorted((ROOT / "packages/tack-sim/src/tack_sim").rglob("*.py"))
SIZED = MODULES + SIM + sorted(p for d in ("scripts", "benchmarks", "examples") for p in (ROOT / d).rglob("*.py"))

# Room -> the rooms it may import besides itself. `__init__` may import anything; a room that is not here must be placed.
MAY_IMPORT = {
    "errors": set(),
    "settings": set(),
    "hooks": set(),
    "forks": set(),
    "ir": {"errors", "settings"},
    "lang": {"ir", "errors", "settings", "hooks", "forks"},
    "codegen": {"ir", "errors"},
    "math": {"lang", "ir", "errors"},
    "random": {"lang", "ir", "errors"},
    "mathlib": {"lang", "ir", "errors", "hooks"},
    "runtime": {"codegen", "lang", "ir", "errors", "settings", "hooks", "forks"},
}
_ABOVE = {"runtime", "math", "random", "mathlib", *MAY_IMPORT["runtime"]}
MAY_IMPORT |= {room: _ABOVE for room in ("algorithms", "interop", "profiler", "graphs", "cache")}
MAY_IMPORT |= {room: set(MAY_IMPORT) | {"__init__", "cli", "testing"} for room in ("__main__", "cli", "testing")}

# Third-party modules and the files that may import them. Everything may import NumPy.
OWNERS = {
    "llvmlite": ("codegen/llvm_*", "runtime/cpu*", "testing/*"),
    "cuda": ("runtime/cuda_*.py", "testing/*"),
    "hip": ("runtime/hip_backend.py",),
    "Metal": ("runtime/metal.py",),
    "rich": ("cli/*",),
}
HEAVY = (
    "asyncio",
    "concurrent.futures.process",
    "http",
    "multiprocessing",
    "sqlite3",
    "subprocess",
    "unittest",
    "urllib.request",
    "xml",
)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module a file names in an import statement, with the line."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def _room(path: Path) -> str:
    return path.relative_to(TACK).parts[0].removesuffix(".py")


def _run(*command: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("TACK_")} | environment
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Layers


def test_rooms_import_only_the_rooms_below_them():
    wrong = []
    for path in MODULES:
        room = _room(path)
        if room == "__init__":
            continue
        assert room in MAY_IMPORT, f"{path.name}: place the room {room!r} in MAY_IMPORT and in the import-linter contract"
        for name, line in _imports(path):
            parts = name.split(".")
            if parts[0] == "tack" and (parts[1] if parts[1:] else "__init__") not in MAY_IMPORT[room] | {room}:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_import_linter_contracts_hold():
    _run(str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache")


def test_foreign_modules_are_imported_only_where_they_belong():
    wrong = []
    for path in MODULES:
        place = path.relative_to(TACK)
        for name, line in _imports(path):
            top = name.split(".")[0]
            if top in ("tack", "numpy", *sys.stdlib_module_names):
                continue
            if not any(place.match(pattern) for pattern in OWNERS.get(top, ())):
                wrong.append(f"{place}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_tack_and_its_simulator_know_nothing_of_each_other():
    """tack-sim gets only what the vendor's API gets; Tack imports it by name in one place, where `TACK_SIMULATE` is read."""
    assert SIM
    assert not [path for path in SIM for name, _ in _imports(path) if name.split(".")[0] == "tack"]
    assert [path.relative_to(TACK).as_posix() for path in MODULES if "tack_sim" in path.read_text("utf-8")] == [
        "runtime/device.py"
    ]


def test_only_settings_reads_the_environment():
    wrong = []
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in ("environ", "environb", "getenv", "putenv")
                and path.name != "settings.py"
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


# Sizes and style


def test_files_and_functions_stay_small():
    wrong = []
    for path in SIZED:
        lines = len(path.read_text("utf-8").splitlines())
        if lines > 600:
            wrong.append(f"{path.relative_to(ROOT)}: {lines} lines, at most 600")
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = node.end_lineno - node.lineno + 1
                # The large kernel of the benchmarks is large on purpose.
                if size > 60 and path.name != "large.py":
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {size} lines, at most 60")
    assert not wrong, "\n".join(wrong)


def test_every_module_says_what_it_owns():
    silent = [str(path.relative_to(ROOT)) for path in SIZED if not ast.get_docstring(_tree(path))]
    assert not silent, silent


def test_broad_handlers_give_their_reason():
    wrong = []
    for path in MODULES:
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
                if broad and "#" not in "".join(lines[node.lineno - 2 : node.lineno + 1]):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong, wrong


# What `import tack` loads


def _loaded(statement: str, **environment: str) -> set[str]:
    program = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    return set(_run(sys.executable, "-c", program, **environment).split())


def test_import_loads_no_compiler_and_no_binding():
    extra = _loaded("import tack") - _loaded("import numpy")
    foreign = {name for name in extra if name.split(".")[0] not in ("tack", "numpy", *sys.stdlib_module_names)}
    assert not foreign
    lazy = {
        name
        for name in extra
        if re.match(r"tack\.(codegen\.(llvm|c_|cuda|hip|msl|opencl)|ir\.nodes|runtime\.cpu_jit|testing|cli)", name)
    }
    assert not lazy, "these load on first use"
    assert not [name for name in extra if name in HEAVY]


def test_import_reads_no_variable():
    """A bad value raises at first use, never at import."""
    _loaded("import tack", **{row.name: "no such value" for row in settings.SETTINGS})


# Generated pages and stubs


@pytest.mark.parametrize("path", generate_docs.PAGES)
def test_generated_pages_are_current(path):
    assert (ROOT / path).read_text("utf-8") == generate_docs.PAGES[path](), f"{path} is stale: run `make docs`"


def test_the_specification_is_covered():
    wrong = spec_coverage.problems()
    assert not wrong, "\n".join(wrong)


def test_ids_of_the_specification_are_unique_and_in_order():
    rows = [claim for claim in spec_coverage.claims() if claim.kind == "spec"]
    assert len({row.id for row in rows}) == len(rows)
    for prefix in ("cache", "back"):
        numbers = [int(row.id.removeprefix(prefix + "-")) for row in rows if row.id.startswith(prefix + "-")]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    issues = {claim.issue for claim in spec_coverage.claims()}
    assert issues <= {"", "LANGUAGE", "CACHING", "CUDA", "GPU", "CPU-SPEED", "ECOSYSTEM"}


def test_stub_has_every_function_of_the_module():
    names = {node.name for node in ast.walk(_tree(TACK / "math.pyi")) if isinstance(node, ast.FunctionDef)}
    assert names == set(math.__all__) - set(MATH_CONSTANTS)
    assert {call for call, name in MATH_NAMES.items() if not OPS[name].rule.startswith(("to_", "select"))} < names


def test_guide_has_every_page_of_its_menu():
    menu = re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert set(menu) == pages


# The environment


VARIABLES = {
    "TACK_DEVICE": ("cuda:1", "cuda:1", ("gpu", "cpu:0", "cuda:", "cuda:-1", "CPU")),
    "TACK_DEBUG": ("1", True, ("yes", "2")),
    "TACK_CPU_THREADS": ("3", 3, ("0", "-1", "1.5", "all", "²")),
    "TACK_CPU_POOL": ("python", "python", ("Python", "openmp")),
    "TACK_DUMP_MSL": ("1", True, ("on",)),
    "TACK_CACHE": ("bundle", "bundle", ("rw", "OFF")),
    "TACK_CACHE_DIR": ("/some/folder", "/some/folder", ()),
    "TACK_CACHE_SIZE": ("512M", 512 << 20, ("1.5G", "-1", "2X", "M")),
    "TACK_NATIVE_DISPATCH": ("0", False, ("no",)),
    "TACK_FULL_TRACEBACK": ("1", True, ("true",)),
    "TACK_SIMULATE": ("cuda, hip", ("cuda", "hip"), ("cpu", "cuda;hip", "vulkan")),
}


@pytest.mark.parametrize("row", settings.SETTINGS, ids=lambda row: row.name)
def test_variables_are_parsed_at_each_use(row, monkeypatch):
    text, value, wrong = VARIABLES[row.name]
    monkeypatch.delenv(row.name, raising=False)
    assert row.read() == row.default
    monkeypatch.setenv(row.name, " ")
    assert row.read() == row.default
    monkeypatch.setenv(row.name, text)
    assert row.read() == value
    for bad in wrong:
        monkeypatch.setenv(row.name, bad)
        with pytest.raises(ValueError) as error:
            row.read()
        assert str(error.value) == f"{row.name}={bad!r}: the variable takes {row.takes}"


def test_the_table_has_every_variable():
    assert [row.name for row in settings.SETTINGS] == list(VARIABLES)


# Packaging and commands


def _project() -> dict:
    return tomllib.loads((ROOT / "packages/tack-core/pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.spec("back-002", "back-083", "back-088", "back-095", "back-109")
def test_extras_install_what_each_backend_needs():
    extras = {name: [r.split(";")[0].strip() for r in needs] for name, needs in _project()["optional-dependencies"].items()}
    assert set(extras) == {"cpu", "cuda", "hip", "metal", "level_zero", "mpi", "test", "bench", "all"}
    assert extras["cpu"] == ["llvmlite>=0.45"]
    assert extras["cuda"] == ["cuda-python>=13.2", "nvidia-cuda-nvrtc>=13,<14"]
    assert extras["hip"] == ["hip-python"]
    assert extras["metal"] == ["pyobjc-framework-Metal"]
    assert extras["level_zero"] == []
    assert extras["mpi"] == ["mpi4py>=4"], "a cluster has an MPI library of its own"
    assert (TACK / "py.typed").is_file()
    assert "project" not in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8")), "the workspace is virtual"
    commands = (ROOT / ".ci/run").read_text("utf-8")
    assert "install --quiet --disable-pip-version-check -e 'packages/tack-core[cpu]'" in commands
    assert "sync --quiet --python" in commands
    assert "--extra cpu" in commands


def test_ci_ends_with_the_tests():
    lines = (ROOT / ".ci/run").read_text("utf-8").rstrip().splitlines()
    assert lines[-1] == "make test"
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_license_is_packaged():
    assert (ROOT / "LICENSE").read_text("utf-8") == (ROOT / "packages/tack-core/LICENSE").read_text("utf-8")


def test_hooks_fetch_nothing():
    repos = re.findall(r"repo:\s*(\S+)", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert repos == ["local"]


@pytest.mark.spec("cache-168")
def test_files_the_specification_names_exist():
    for name in ("test_variant_cache.py", "test_kernel_cache.py", "test_array_shape.py", "test_disjoint_arrays.py"):
        assert (TESTS / name).is_file(), name


@pytest.mark.spec("cache-219")
def test_the_suite_compiles_from_scratch():
    program = "import os, runpy; runpy.run_path('packages/tack-core/tests/conftest.py'); print(os.environ['TACK_CACHE'])"
    assert _run(sys.executable, "-c", program).strip() == "off"
    assert _run(sys.executable, "-c", program, TACK_CACHE="write").strip() == "write"
