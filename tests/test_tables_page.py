"""The page on input tables: the names of columns that it lists are those that are recognised."""

from __future__ import annotations

import re
from pathlib import Path

from rankwise.tables.columns import ROLES, names_of

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"


def test_every_name_of_the_page_is_recognised():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:2] == "| "]
    known = [row for row in rows if row[0] in ROLES["recommendations"] | ROLES["truth"]]
    assert len(known) == 6
    for column, usual, rare in known:
        role = "recommendations" if column in ("rank", "score") else "truth"
        for name in (*usual.split(", "), *rare.split(", ")):
            if re.fullmatch(r"\w+", name):
                assert names_of([name], role, column) == [name], name
