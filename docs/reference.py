"""The pages of the metrics, from the registry: one page per metric, and one that lists them all."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rankwise.metrics.base import FAMILIES
from rankwise.metrics.description import Description, every_description

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["make_anew", "write_pages"]


def write_pages(folder: Path) -> list[Path]:
    """Write the pages into a folder, made anew, and return them."""
    make_anew(folder)
    every = every_description()
    pages = {found.cls.name: page(found) for found in every}
    pages["index"] = index(every)
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    return [folder / f"{name}.rst" for name in pages]


def make_anew(folder: Path) -> None:
    """Make a folder without the pages of an earlier build."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()


def page(found: Description) -> str:
    """Return the page of a metric: its properties, and its docstring."""
    cls = found.cls
    names = ", ".join(f"``{alias}``" for alias in (cls.name, *cls.aliases))
    facts = {
        "Names": names,
        "Family": FAMILIES.get(cls.family, cls.family),
        "Written": f"``{cls.name}{found.cutoff}``" + (" (the cut-off is optional)" if cls.cutoff == "optional" else ""),
        "Value": found.averaged,
        "Extra inputs": ", ".join(f"``{need}``" for need in found.needs) or "none",
        "Tied scores": ":doc:`the rule of all metrics <index>`",
        "Class": f"``{cls.__module__.split('.')[0]}.{cls.__name__}``",
        "Plain Python": f"``{found.plain}``" if found.plain else "none",
    }
    table = [".. list-table::", "   :widths: 20 80", "   :stub-columns: 1", ""]
    for name, fact in facts.items():
        table += [f"   * - {name}", f"     - {fact}"]
    return "\n".join([cls.name, "=" * len(cls.name), "", *table, "", found.text, ""])


_CONVENTIONS = """
Each page has the formula, every parameter with its default, the range and the better direction,
the source and an example. Unless a page says otherwise:

- A metric is the **mean over users** with a relevant item in the ground truth; a user without a
  recommendation list scores 0. ``population=`` selects other users.
- **Tied scores** (where scores order the lists): relevance metrics are means over all orders of
  tied items. Metrics that describe lists (coverage, Gini, novelty, diversity) and alpha-nDCG,
  subtopic recall, serendipity and the mean gains of item groups take tied items in order of id.
- **Without a cut-off** the whole list counts. ``"ndcg@[5,10]"`` evaluates several cut-offs.
- Parameters are written in brackets, ``"ndcg(gain=exponential)@10"``, or given to objects,
  ``rankwise.NDCG(gain="exponential") @ 10``.
"""


def index(every: list[Description]) -> str:
    """Return the page that lists all metrics, family by family."""
    lines = ["Metrics", "=======", ""]
    lines += [
        f"{len(every)} metrics (also called metrics), by family.",
        "``rankwise metrics`` lists them in a terminal; :doc:`/choosing` helps to choose.",
        _CONVENTIONS,
    ]
    for family, members in groupby(every, key=lambda found: found.cls.family):
        title = FAMILIES.get(family, family)
        lines += [
            title,
            "-" * len(title),
            "",
            ".. list-table::",
            "   :header-rows: 1",
            "   :widths: 24 14 10 52",
            "",
            "   * - metric",
            "     - range",
            "     - better",
            "     - definition",
        ]
        for found in members:
            needs = f" Needs {', '.join(found.needs)}." if found.needs else ""
            lines += [
                f"   * - :doc:`{found.cls.name}`",
                f"     - {found.range}",
                f"     - {found.better}",
                f"     - {found.summary}{needs}",
            ]
        lines.append("")
    names = [f"   {found.cls.name}" for found in every]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *names, ""])
