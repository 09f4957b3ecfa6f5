"""The page on conventions describes every choice."""

from __future__ import annotations

import re
from pathlib import Path

from rankwise.convention.convention import CHOICES

PAGE = Path(__file__).parents[1] / "docs" / "conventions.md"


def test_every_choice_is_described():
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| choice |") : text.index("In a configuration file, `convention:`")]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {*CHOICES}
