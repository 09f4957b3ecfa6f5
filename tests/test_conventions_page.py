"""The page on conventions: its blocks print what stands below them, and its choices are all."""

from __future__ import annotations

import re
from pathlib import Path

from pages import code_and_output, printed_by
from rankwise.convention.convention import CHOICES

PAGE = Path(__file__).parents[1] / "docs" / "conventions.md"


def test_the_blocks_print_what_the_page_says():
    namespace: dict[str, object] = {}
    blocks = code_and_output(PAGE)
    assert len(blocks) == 8
    for code, expected in blocks:
        assert printed_by(code, namespace) == expected


def test_every_choice_is_described():
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| choice |") : text.index("In a configuration file, `convention:`")]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {*CHOICES}
