"""The table of options by road in the documentation is that of the declaration of the options.

``UPDATE_ROADS=1 python -m pytest tests/test_roads_page.py -n 0`` writes it again.
"""

from __future__ import annotations

import os
from pathlib import Path

from rankwise.options import ROADS
from road_worlds import refused_on, rows

PAGE = Path(__file__).parents[1] / "docs" / "roads.md"
BEGIN, END = (
    "<!-- tests/test_roads_page.py writes what follows -->",
    "<!-- the end of what it writes -->",
)
HEADS = {
    "evaluate": "`rw.evaluate`",
    "pieces": "`rw.Evaluator`",
    "chunks": "`chunk_rows`",
    "command": "command line",
    "configuration": "YAML",
    "spark": "Spark",
    "torch": "PyTorch",
    "model": "`evaluate_model`",
    "ratings": "`evaluate_ratings`",
}


def tables() -> str:
    """Return which road takes which option, and why others do not."""
    head = ["option", *(HEADS[road] for road in ROADS)]
    lines = [_row(head), _row(["---"] * len(head))]
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows():
        refused = refused_on(row)
        lines.append(_row([f"`{row}`", *("–" if road in refused else "✓" for road in ROADS)]))
        for road, reason in refused.items():
            reasons.setdefault((HEADS[road], reason), []).append(f"`{row}`")
    lines += ["", _row(["not on", "because", "options"]), _row(["---"] * 3)]
    order = list(HEADS.values())
    for (road, reason), names in sorted(
        reasons.items(), key=lambda entry: order.index(entry[0][0])
    ):
        lines.append(_row([road, reason, ", ".join(names)]))
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def test_page_has_the_table_of_the_declaration():
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    written, after = rest.split(END)
    if os.environ.get("UPDATE_ROADS"):
        PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
        return
    assert written.strip() == tables(), (
        "UPDATE_ROADS=1 python -m pytest tests/test_roads_page.py -n 0 writes it again"
    )
    assert {*HEADS} == {*ROADS}
