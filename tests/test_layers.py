"""Who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rankwise

SOURCE = Path(rankwise.__file__).parent
ALLOWED = {
    "core": {"core", "errors"},
    "measures": {"measures", "core", "errors"},
    "functional": {"functional", "errors"},
    "knowledge": {"knowledge", "core", "measures", "io", "prepare", "errors"},
    "io": {"io", "errors", "protocol"},
    "ranking": {
        "ranking",
        "core",
        "io",
        "errors",
        "arguments",
        "candidates",
        "progress",
        "protocol",
    },
    "report": {"report", "result", "compared"},
    "cli": {
        "cli",
        "errors",
        "_version",
        "evaluation",
        "measures",
        "io",
        "result",
        "demo",
        "splits",
        "auditing",
        "comparison",
        "compared",
        "per_user",
    },
    "models": {"models", "errors"},
    "splits": {"splits", "core", "io", "errors", "arguments", "_version"},
    "auditing": {"auditing", "splits", "models", "core", "io", "errors", "arguments"},
    "stats": {"stats", "core", "arguments", "errors"},
    "datasets": {"datasets", "errors"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_layers(path):
    folder = path.relative_to(SOURCE).parts[0]
    for name in imported(path):
        assert name.split(".")[0] not in {"torch", "pandas", "pyarrow", "sklearn"}
        if folder in ALLOWED and name.startswith("rankwise."):
            assert name.split(".")[1] in ALLOWED[folder], f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 360
