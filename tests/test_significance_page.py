"""The page on significance: its tables are the example's output."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "significance.py"
PAGE = EXAMPLE.parents[1] / "docs" / "significance.md"


@pytest.mark.slow
def test_the_tables_of_the_page(movietweetings, capsys):
    runpy.run_path(str(EXAMPLE))["main"](movietweetings)
    said = capsys.readouterr().out
    page = PAGE.read_text(encoding="utf-8")
    blocks = [part.split("\n```")[0] for part in page.split("```text\n")[1:]]
    printed = [block for block in blocks if block in said]  # blocks of other programs are not among them
    assert (len(printed), len(blocks)) == (4, 6)
    assert said.splitlines()[-1] in page
