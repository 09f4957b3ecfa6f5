"""The pages on comparing systems: their tables are the example's output."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "significance.py"
DOCS = EXAMPLE.parents[1] / "docs"
TABLES = {"compare.md": 1, "statistics.md": 1}
"""How many tables of each page the example prints."""


@pytest.mark.slow
def test_the_tables_of_the_pages(movietweetings, capsys):
    runpy.run_path(str(EXAMPLE))["main"](movietweetings)
    said = capsys.readouterr().out
    for name, count in TABLES.items():
        page = (DOCS / name).read_text(encoding="utf-8")
        blocks = [part.split("\n```")[0] for part in page.split("```text\n")[1:]]
        assert sum(block in said for block in blocks) == count, name
    assert said.splitlines()[-1] in " ".join(
        (DOCS / "sample_size.md").read_text(encoding="utf-8").split()
    )
