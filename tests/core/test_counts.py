"""Names of counts: each that is counted has words, and each that has words is counted."""

from __future__ import annotations

import ast
from pathlib import Path

import rankwise
from rankwise.core.counts import COUNT_WORDS, SAID_WITH, TOTALS

SOURCE = Path(rankwise.__file__).parent
COUNTING = ("blocks", "candidates.py", "encoding", "evaluation", "ranking", "tables")
"""What counts under the names of this module: the other engines call it."""
OTHERS = {"name", "count", "total", "value"}
"""Columns of tables that are called counts as well."""


def modules(*parts):
    for part in parts:
        path = SOURCE / part
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def strings(tree):
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def counted(tree):
    """Return the names in ``counts["name"]``, read or written."""
    return {
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and getattr(node.value, "id", getattr(node.value, "attr", "")).endswith("counts")
    }


def test_what_is_counted_has_words():
    names = set().union(*(counted(ast.parse(path.read_text())) for path in modules(*COUNTING)))
    assert names - OTHERS <= COUNT_WORDS.keys() | TOTALS
    assert len(names) > 20


def test_what_has_words_is_counted():
    written = set().union(
        *(strings(ast.parse(path.read_text())) for path in modules(".") if path.name != "counts.py")
    )
    kinds = {f"{kind}_{name}" for kind in ("codes", "titles") for name in written}
    tables = {f"{role}_rows_of_unknown_ids" for role in ("history", "reference")}
    scores = {f"{role}_without_scores" for role in ("candidates", "excluded")}
    assert COUNT_WORDS.keys() <= written | kinds | tables | scores
    assert written >= TOTALS
    assert SAID_WITH.keys() <= COUNT_WORDS.keys()
    assert not COUNT_WORDS.keys() & TOTALS
