"""The parts of ``docs/benchmarks.md`` that benchmarks write, each between two marks."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DOCS", "write_part"]

DOCS = Path(__file__).parents[1] / "docs"


def write_part(writer: str, text: str) -> None:
    """Replace what a benchmark wrote before; ``writer`` is its path, which the marks name."""
    page = DOCS / "benchmarks.md"
    start = f"<!-- {writer} writes what follows -->"
    end = f"<!-- the end of what {writer} writes -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{start}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
