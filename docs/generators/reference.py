"""The pages of the metrics, from the registry: one page per metric, and one that lists them all."""

from __future__ import annotations

import csv
import re
from itertools import groupby
from pathlib import Path

import worked_examples
from worked_examples import Example

from rankwise.metrics.base import FAMILIES
from rankwise.metrics.description import Advice, Description, every_description

__all__ = ["TYPICAL", "make_anew", "write_pages"]

_NOT_TYPICAL = "not in the :doc:`case study </movietweetings>`"
TYPICAL = Path(__file__).parents[1] / "typical_values.csv"
"""The values of every metric in the case study."""


FULL_NAMES = {
    "aclt": "average coverage of long-tail items",
    "aplt": "average percentage of long-tail items",
    "arhr": "average reciprocal hit rank",
    "arp": "average recommendation popularity",
    "auc": "area under the ROC curve",
    "awrf": "attention-weighted rank fairness",
    "bpref": "binary preference",
    "brier": "Brier score",
    "cg": "cumulative gain",
    "dcg": "discounted cumulative gain",
    "ece": "expected calibration error",
    "ee_d": "expected exposure disparity",
    "ee_l": "expected exposure loss",
    "ee_r": "expected exposure relevance",
    "efd": "expected free discovery",
    "epc": "expected popularity complement",
    "err": "expected reciprocal rank",
    "f": "F-score, F1, F-measure",
    "fcp": "fraction of concordant pairs",
    "fn": "false negatives",
    "fp": "false positives",
    "gauc": "group area under the ROC curve",
    "gini": "Gini index of item exposure",
    "hit_rate": "hit rate, hit ratio",
    "iprec": "interpolated precision",
    "ips": "inverse propensity scoring",
    "lauc": "limited area under the ROC curve",
    "lrap": "label ranking average precision",
    "mae": "mean absolute error",
    "map": "mean average precision",
    "mar": "mean average recall",
    "mcc": "Matthews correlation coefficient",
    "mrr": "mean reciprocal rank",
    "mse": "mean squared error",
    "ncrr": "normalised cumulative reciprocal rank",
    "ndcg": "normalised discounted cumulative gain",
    "ndcg_binary": "normalised discounted cumulative gain with binary relevance",
    "r2": "coefficient of determination",
    "rbo": "rank-biased overlap",
    "rbp": "rank-biased precision",
    "reo": "ranking-based equal opportunity",
    "rmse": "root mean squared error",
    "rsp": "ranking-based statistical parity",
    "snips": "self-normalised inverse propensity scoring",
    "tn": "true negatives",
    "tp": "true positives",
    "xauc": "extended area under the ROC curve",
}
"""What abbreviations stand for, and a second usual name."""
_AMERICAN = {"normalised": "normalized"}


def write_pages(folder: Path) -> list[Path]:
    """Write the pages into a folder, made anew, and return them."""
    make_anew(folder)
    every, typical = every_description(), typical_values()
    pages = {description.cls.name: page(description, typical) for description in every}
    pages["index"] = index(every)
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    return [folder / f"{name}.rst" for name in pages]


def make_anew(folder: Path) -> None:
    """Make a folder without the pages of an earlier build."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()


def page(description: Description, typical: dict[str, str]) -> str:
    """Return the page of a metric: its properties, formula, advice, worked example, and the rest of its docstring."""
    cls = description.cls
    names = ", ".join(f"``{alias}``" for alias in (cls.name, *cls.aliases))
    facts = {
        "Names": names,
        "Family": FAMILIES.get(cls.family, cls.family),
        "Written": f"``{cls.name}{description.cutoff}``"
        + (" (the cut-off is optional)" if cls.cutoff == "optional" else ""),
        "Value": description.averaged,
        "Extra inputs": ", ".join(f"``{need}``" for need in description.needs) or "none",
        "Typical values": typical.get(cls.name, _NOT_TYPICAL),
        "Tied scores": ":doc:`the rule of all metrics <index>`",
        "Class": f"``{cls.__module__.split('.')[0]}.{cls.__name__}``",
        "Plain Python": f"``{description.plain}``" if description.plain else "none",
    }
    table = [".. list-table::", "   :widths: 20 80", "   :stub-columns: 1", ""]
    for name, fact in facts.items():
        table += [f"   * - {name}", f"     - {fact}"]
    sections = dict(description.sections)
    notes = sections.pop("Notes", "")
    parts = [
        *keywords(cls.name),
        heading(title(cls.name), "="),
        sections.pop(""),
        "\n".join(table),
        *when_to_use(description.advice, notes),
    ]
    if cls.name in worked_examples.NAMES:
        parts.append(by_hand(worked_examples.example(cls.name)))
    parts += [f"{heading(title)}\n\n{text}" for title, text in sections.items()]
    return "\n\n".join(parts) + "\n"


def title(name: str) -> str:
    """Return the name of a metric, and the full name of an abbreviation."""
    return f"{name}: {FULL_NAMES[name]}" if name in FULL_NAMES else name


def keywords(name: str) -> list[str]:
    """Return the keywords of a page for the search, which splits at commas: other spellings."""
    words = [_AMERICAN[word] for word in FULL_NAMES.get(name, "").split() if word in _AMERICAN]
    return [f".. meta::\n   :keywords: {', '.join(words)}"] if words else []


def heading(text: str, line: str = "-") -> str:
    """Return a title with its underline."""
    return f"{text}\n{line * len(text)}"


def when_to_use(advice: Advice | None, notes: str) -> list[str]:
    """Return the section about when to use a metric; other notes as they are; nothing without notes."""
    if advice is None:
        return [f"{heading('Notes')}\n\n{notes}"] if notes else []
    return [f"{heading('When to use it')}\n\n- {advice.use}\n- {advice.avoid}"]


def by_hand(example: Example) -> str:
    """Return the section of a worked example: the table, and the arithmetic with its value."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (example.head, *example.rows):
        lines += [
            f"   {mark} - {cell}".rstrip()
            for mark, cell in zip("*" + " " * (len(row) - 1), row, strict=True)
        ]
    signs = {"**": "^", " * ": " × ", "-": "−"}
    arithmetic = example.by_hand.arithmetic
    for written, shown in signs.items():
        arithmetic = arithmetic.replace(written, shown)
    return "\n\n".join(
        [
            heading("Example by hand"),
            f"``{example.by_hand.metric}`` {example.about} :ref:`the example <example-world>`:",
            "\n".join(lines),
            f"{example.by_hand.words}",
            f"``{arithmetic}`` = **{worked_examples.number(example.value)}**",
        ]
    )


def typical_values() -> dict[str, str]:
    """Return the values in the case study, which ``scripts/typical_values.py`` writes, by the name of the metric."""
    with TYPICAL.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    texts = {}
    for name, members in groupby(rows, key=lambda row: row["name"]):
        (metric, *_), systems = zip(
            *((row["metric"], f"{row['system']} {row['value']}") for row in members), strict=True
        )
        texts[name] = (
            f"{', '.join(systems)} (``{metric}`` in the :doc:`case study </movietweetings>`)"
        )
    return texts


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


_WORLD = """
.. _example-world:

The example of all pages
------------------------

Every page works its metric out by hand for these three users and eight films. The page builds only if the arithmetic
agrees with the value that rankwise computes.

.. literalinclude:: ../generators/example_world.py
   :language: python
   :lines: 3-

To repeat an example, save the block as ``example_world.py``:

.. code-block:: python

   import rankwise as rw
   from example_world import items, lists, reference, train, truth, users

   ann, her_truth = {"ann": lists["ann"]}, {"ann": truth["ann"]}
   rw.evaluate(ann, her_truth, "ndcg@5")  # one user
   rw.evaluate(lists, truth, "gini@2", items=items)  # the lists of all users
"""


def index(every: list[Description]) -> str:
    """Return the page that lists all metrics, family by family, with the tables of the worked examples."""
    lines = [
        heading("Metrics", "="),
        "",
        (
            "**You need** a name, or a question. **You get** its definition, when to use it, and an "
            "example by hand."
        ),
        "**Time** 1 minute per metric.",
        "",
        (
            f"{len(every)} metrics, by family. ``rankwise metrics`` lists their names; to choose, see "
            ":doc:`/choosing`."
        ),
        _CONVENTIONS,
    ]
    for family, members in groupby(every, key=lambda description: description.cls.family):
        lines += [
            heading(FAMILIES.get(family, family)),
            "",
            ".. list-table::",
            "   :header-rows: 1",
        ]
        lines += ["   :widths: 18 24 26 32", "   :class: metric-list", ""]
        head = ["metric, range, better", "definition", "use it", "when not"]
        for row in (head, *map(_row, members)):
            lines += [
                f"   {mark} - {cell}".rstrip() for mark, cell in zip("*   ", row, strict=True)
            ]
        lines.append("")
    names = [f"   {name} <{name}>" for name in (description.cls.name for description in every)]
    return "\n".join([*lines, _WORLD, ".. toctree::", "   :hidden:", "", *names, ""])


def _row(description: Description) -> list[str]:
    """Return what the list of metrics says of one."""
    needs = f" Needs {', '.join(description.needs)}." if description.needs else ""
    direction = {True: "↑", False: "↓", None: "–"}[description.cls.higher_is_better]
    use, avoid = description.advice or ("", "")
    name = description.cls.name
    start = re.compile(r"^(Use it|Do not use it) ")
    return [
        f":doc:`{name} <{name}>` {description.range} {direction}",
        description.summary + needs,
        *(_capital(start.sub("", text)) for text in (use, avoid)),
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
