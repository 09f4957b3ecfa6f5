"""The pages of the measures, from the registry: one a measure, and one that lists them all."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rankwise.measures.describe import FAMILIES, Description, every_description

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_pages"]


def write_pages(folder: Path) -> list[Path]:
    """Write the pages into a folder, made anew, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()
    every = every_description()
    pages = {found.cls.name: page(found) for found in every}
    pages["index"] = index(every)
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    return [folder / f"{name}.rst" for name in pages]


def page(found: Description) -> str:
    """Return the page of a measure: what is known about it, and its docstring."""
    cls = found.cls
    facts = {
        "family": FAMILIES.get(cls.family, cls.family),
        "written": f"``{cls.name}{found.cutoff}``",
        "range": found.range,
        "better": found.better,
        "needs": ", ".join(found.needs) or "lists and truth",
        "class": f"``{cls.__module__.split('.')[0]}.{cls.__name__}``",
        "plain Python": f"``{found.plain}``" if found.plain else "none",
    }
    head = [cls.name, "=" * len(cls.name), ""]
    if cls.aliases:
        head += ["Also " + ", ".join(f"``{alias}``" for alias in cls.aliases) + ".", ""]
    table = [".. list-table::", "   :header-rows: 1", ""]
    for row in (facts.keys(), facts.values()):
        table += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(row)]
    return "\n".join([*head, *table, "", found.text, ""])


def index(every: list[Description]) -> str:
    """Return the page that lists all measures, family by family."""
    lines = ["The measures", "============", ""]
    lines += [f"{len(every)} measures. ``rankwise measures`` lists them in a terminal.", ""]
    for family, own in groupby(every, key=lambda found: found.cls.family):
        title = FAMILIES.get(family, family)
        lines += [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1",
                  "   :widths: 24 14 10 52", "", "   * - measure", "     - range",
                  "     - better", "     - what it says"]  # fmt: skip
        for found in own:
            needs = f" Needs {', '.join(found.needs)}." if found.needs else ""
            lines += [f"   * - :doc:`{found.cls.name}`", f"     - {found.range}",
                      f"     - {found.better}", f"     - {found.summary}{needs}"]  # fmt: skip
        lines.append("")
    names = [f"   {found.cls.name}" for found in every]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *names, ""])
