"""Which test shows which sentence of the specification and which rule of the language: read from the tests' markers.

Markers are read from the source, not by running pytest, so an id must be a literal string: `@pytest.mark.spec("cache-001")`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Claim", "citations", "claims", "page", "problems"]

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = ROOT / "docs/developers-guide/spec-sentences.toml"
TESTS = ROOT / "packages/tack-core/tests"
_SHOWN = 3  # tests named in one row of the page
_EXPECTS = re.compile(r"_*(raises|warns|reject|refuse)")  # how a function that expects an error is called


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence (`kind` "spec") or language rule ("rule"). It must have a test unless it waits for an issue or was dropped."""

    kind: str
    id: str
    document: str
    section: str
    text: str
    issue: str = ""
    dropped: str = ""
    rejects: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """One id cited by one test; `rejects` tells that the test expects an error or a warning."""

    kind: str
    id: str
    test: str
    rejects: bool


def claims() -> list[Claim]:
    """Everything spec-sentences.toml lists, in its order."""
    tables = tomllib.loads(SENTENCES.read_text("utf-8"))
    rules = [Claim("rule", document="The kernel language", section="", **row) for row in tables["rules"]]
    return rules + [
        Claim("spec", document=section["document"], section=section["title"], **row)
        for section in tables["section"]
        for row in section["sentences"]
    ]


def _marks(node: ast.AST) -> list[tuple[str, list[ast.expr]]]:
    """The `pytest.mark.name(...)` calls within a node, as names and arguments."""
    calls = [(n.func, n.args) for n in ast.walk(node) if isinstance(n, ast.Call)]
    return [(f.attr, args) for f, args in calls if isinstance(f, ast.Attribute) and ast.unparse(f.value) == "pytest.mark"]


def _never_runs(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in ("skip", "xfail") for d in node.decorator_list for n in ast.walk(d))


def _expects_an_error(node: ast.AST) -> bool:
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(_EXPECTS.match(c.attr if isinstance(c, ast.Attribute) else getattr(c, "id", "")) for c in calls)


def _of_file(path: Path) -> list[Citation]:
    found: list[Citation] = []

    def cite(place: ast.AST, test: str, rejects: bool) -> None:
        for kind, arguments in _marks(place):
            for argument in arguments if kind in ("rule", "spec") else ():
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"{path}:{argument.lineno}: a cited id must be a literal string")
                found.append(Citation(kind, argument.value, test, rejects))

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                if _never_runs(node) or not node.name.lower().startswith("test"):
                    continue
                for decorator in node.decorator_list:
                    cite(decorator, f"{prefix}::{node.name}", _expects_an_error(node))
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}::{node.name}")
            elif isinstance(node, ast.Assign | ast.AnnAssign):  # pytestmark, and lists of pytest.param(..., marks=...)
                cite(node, prefix, False)

    visit(ast.parse(path.read_text("utf-8")).body, path.relative_to(TESTS).as_posix())
    return found


def citations() -> dict[tuple[str, str], list[Citation]]:
    """Every citation in the tests, by kind and id."""
    found: dict[tuple[str, str], list[Citation]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for citation in _of_file(path):
            found.setdefault((citation.kind, citation.id), []).append(citation)
    return found


def problems() -> list[str]:
    """What is wrong with the coverage: cited ids that do not exist, and claims without a test."""
    listed = {(claim.kind, claim.id): claim for claim in claims()}
    cited = citations()
    unknown = [citation for key, found in cited.items() for citation in found if key not in listed]
    out = [f"{citation.test} cites the unknown {citation.kind} {citation.id!r}" for citation in unknown]
    for key, claim in listed.items():
        found = cited.get(key, [])
        if claim.issue or claim.dropped:
            continue
        if not found:
            out.append(f"no test shows {claim.kind} {claim.id}: {claim.text}")
        elif claim.rejects and not any(c.rejects for c in found):
            out.append(f"no test shows what {claim.kind} {claim.id} rejects: {claim.text}")
    return out


def _row(claim: Claim, found: list[Citation]) -> str:
    tests = sorted({c.test for c in found})
    shown = [f"`{test}`" for test in tests[:_SHOWN]]
    if len(tests) > _SHOWN:
        shown.append(f"{len(tests) - _SHOWN} more")
    if claim.issue:
        shown.append(f"waits for {claim.issue}")
    if claim.dropped:
        shown.append(f"dropped: {claim.dropped}")
    text = claim.text.replace("|", "\\|").replace("<", "&lt;")
    return f"| {claim.id} | {text} | {', '.join(shown) or '**no test**'} |"


def page() -> str:
    """docs/developers-guide/spec-coverage.md."""
    listed, cited = claims(), citations()
    waiting, dropped = sum(1 for c in listed if c.issue), sum(1 for c in listed if c.dropped)
    due = [c for c in listed if not c.issue and not c.dropped]
    shown = sum(1 for c in due if (c.kind, c.id) in cited)
    lines = [
        "<!-- Generated by `make docs` from spec-sentences.toml and the markers of the tests; edit those instead. -->",
        "",
        "# Specification coverage",
        "",
        "Each sentence of the specification that states a behaviour, and each rule of the kernel language, with the tests",
        "that show it. A sentence without a test waits for the named piece of work, or was dropped because the architecture",
        "keeps the guarantee without the mechanism.",
        "",
        f"{len(listed)} entries: {shown} of {len(due)} that are due are shown by tests, {waiting} wait, {dropped} were dropped.",
    ]
    document = section = ""
    for claim in listed:
        if claim.document != document:
            lines += ["", f"## {claim.document}"]
        if (claim.document, claim.section) != (document, section):
            lines += ["", f"### {claim.section}"] * bool(claim.section) + ["", "| id | states | shown by |", "|---|---|---|"]
        document, section = claim.document, claim.section
        lines.append(_row(claim, cited.get((claim.kind, claim.id), [])))
    return "\n".join(lines) + "\n"
