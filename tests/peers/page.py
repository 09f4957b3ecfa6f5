"""The page of the documentation that says, library by library, what was found equal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase
from typing import Any

import agreement
from edge_data import EDGES

import rankwise as rw
from libraries import LIBRARIES
from rankwise.metrics import registry

__all__ = ["implementations", "written_page"]

HEAD = """\
# Agreement with other libraries

**You need** a number of another library. **You get** whether rankwise gives the same one. **Time** 2 minutes per
metric.

`python tests/peers/compare.py --page` writes this page from the outputs of the libraries. Each ran in its own environment
on random data, on the day in the column *run*. rankwise evaluated the same tables with `convention="NAME"` and no other
option ([how to use one](conventions.md)). `python scripts/check_versions.py` lists newer versions. `trec_eval` 10.0 is
no library: its sample outputs of June 2026 are compared line by line.

"""

SIGNS = {"equal": "", "equal, except": "≈", "differs": "≠", "refused": "–"}
"""How a table marks a verdict."""

LEGEND = """
The table of a library marks each verdict:

- no mark, **equal**: the same number on all data of this library, to 1e-9 (1e-5 or 2e-6 where it computes in 32 bits);
- **≈**, equal, except: the same number except in the cases that the note of the row, or of the library, names;
- **≠**, differs: the library computes something else, and the note says what;
- **–**, refused: rankwise has nothing that gives the number, and the name raises an error that says so.

Nothing is claimed about an edge case that the data did not hold. The column *not held* has its letter, and *not b* marks a
metric that was checked without it:

{edges}.

Names with the same result share a row. In "`a1` to `a3`" the number runs from the first to the last. Notes of several rows
stand here:

{reasons}
"""

COUNTED = """
## Metrics by independent implementations

rankwise computes each metric twice, on arrays and by the plain definition in `rankwise.functional`; tests and
`scripts/soak` compare the two. The table counts the libraries with an equal number, or one equal except where a note says
so, for one variant of the metric. Libraries of one lineage count once: WarpRec follows Elliot, ir_measures calls
pytrec_eval (which contains trec_eval), and RecBole and recommenders take rating errors from scikit-learn.
`python tests/peers/compare.py --metrics` prints the table.

"""

SECOND_STAGE = """
## Rankers of the second stage and retrieval tools

Each tool ran on 23 or 17 small worlds: tied and constant scores, queries without a positive or with positives alone,
weights, fractions and negative labels, short, empty and missing lists, repeated documents.
`tests/convention/test_second_stage_libraries.py` compares every name, to 1e-9 (2e-6 for PyTorch-Ignite, whose sums are in
32 bits, and 6e-6 for BEIR and MTEB, which round). Notes say what is not imitated. A name marked *ours* is rankwise's: the
library writes the metric in another way. `{k}` stands for the cut-off.
"""

OLDER_VERSIONS = {"warprec_1_4": "warprec"}
"""Earlier versions of a library, whose sections show only the rows that differ from its own."""

EDGE_LETTERS = dict(
    zip(
        dict.fromkeys(edge for edges in EDGES.values() for edge in edges),
        ascii_lowercase,
        strict=False,
    )
)
"""The letter of each edge case of the data."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SHORT = 30
"""How many characters of a reason stand in every row that has it."""
_SAME = "the same name"


@dataclass(frozen=True)
class Row:
    """A name of a library, rankwise's definition, and the verdict with its reason.

    ``not_held`` has the letters of edge cases that the data held for other metrics alone.
    """

    name: str
    rankwise: str
    mark: str
    reason: str = ""
    not_held: str = ""


def written_page(
    outputs: Mapping[str, Mapping[str, Any]], found: Mapping[str, Sequence[agreement.Outcome]]
) -> str:
    """Return the text of the page.

    Parameters
    ----------
    outputs : mapping of str to mapping
        What each library printed, by ``SEED/CASE``.
    found : mapping of str to sequence of Outcome
        What came of the comparison.
    """
    head = ("convention", "library", "run", "equal", "equal, except", "differs", "refused")
    counts = [
        (*_counts(name, outputs[name], outcomes), _letters(_not_held(outputs[name]["values"])))
        for name, outcomes in found.items()
    ]
    of_library = {name: _rows(name, outputs[name], outcomes) for name, outcomes in found.items()}
    of_tool = {name: _second_stage_rows(name) for name in second_stage()}
    reasons = _repeated_reasons([*of_library.values(), *of_tool.values()])
    legend = LEGEND.format(
        edges=", ".join(f"**{letter}** {edge}" for edge, letter in EDGE_LETTERS.items()),
        reasons="\n".join(f"{number}. {reason}" for reason, number in reasons.items()),
    )
    return (
        HEAD
        + _table((*head, "not held"), counts)
        + legend
        + implementations(found)
        + "".join(_section(name, outputs[name], of_library, reasons) for name in found)
        + SECOND_STAGE
        + "".join(_second_stage_section(name, rows, reasons) for name, rows in of_tool.items())
    )


def _counts(
    name: str, output: Mapping[str, Any], outcomes: Sequence[agreement.Outcome]
) -> tuple[str, ...]:
    """Return the version of a library, its day, and how many names have each verdict."""
    convention, summary = LIBRARIES[name].convention, agreement.summary(outcomes)
    verdicts = [summary.get(verdict, 0) for verdict in ("equal", "equal, except", "differs")]
    numbers = map(str, (*verdicts, len(_refused(convention))))
    return (f"`{convention}`", f"{name} {output['version']}", output["date"], *numbers)


def implementations(found: Mapping[str, Sequence[agreement.Outcome]]) -> str:
    """Return the section that counts, for each metric, the independent libraries with the same number.

    Parameters
    ----------
    found : mapping of str to sequence of Outcome
        What came of the comparison.
    """
    lineages: dict[str, set[str]] = defaultdict(set)
    for name, outcomes in found.items():
        for outcome in outcomes:
            if outcome.verdict.startswith("equal"):
                metric, library = rw.parse(outcome.rankwise), LIBRARIES[name]
                own = library.rating_lineage if metric.family == "rating" else library.lineage
                lineages[metric.name].add(own or name)
    rows = [
        (f"`{metric}`", str(len(names)), ", ".join(sorted(names)))
        for metric, names in sorted(lineages.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        if len(names) > 1
    ]
    single = defaultdict(list)
    for metric, names in sorted(lineages.items()):
        if len(names) == 1:
            single[min(names)].append(metric)
    return (
        COUNTED
        + _table(("metric", "libraries", ""), rows)
        + "\nBy one library:\n\n"
        + "".join(f"- {name}: {_code(single[name])}\n" for name in sorted(single))
        + f"\nBy no library, but with cases by hand: {_code(sorted(set(registry.names()) - set(lineages)))}.\n"
    )


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refused(convention: str) -> dict[str, str]:
    """Return the names that a convention refuses, with what the library computes."""
    entries = rw.conventions()[convention].metrics.values()
    return {entry.name: entry.refused for entry in entries if entry.refused}


def _held(values: Mapping[str, Mapping[str, float]], metric: str | None = None) -> list[str]:
    """Return the edge cases of the data on which a library printed a number, for one metric or any."""
    cases = [
        place.rpartition("/")[2]
        for place, numbers in values.items()
        if any(metric in (None, name.partition("@")[0]) for name in numbers)
    ]
    return list(
        dict.fromkeys(edge for case, edges in EDGES.items() if case in cases for edge in edges)
    )


def _not_held(values: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the edge cases that the data of a library did not hold."""
    held = _held(values)
    return [edge for edge in EDGE_LETTERS if edge not in held]


def _letters(edges: Iterable[str]) -> str:
    return " ".join(sorted(EDGE_LETTERS[edge] for edge in edges))


def _rows(name: str, output: Mapping[str, Any], outcomes: Sequence[agreement.Outcome]) -> list[Row]:
    """Return what was found for one library, and the names that its convention refuses."""
    convention, values = rw.conventions()[LIBRARIES[name].convention], output["values"]
    held, rows = _held(values), []
    for outcome in outcomes:
        if outcome.rankwise:
            held_here = _held(values, outcome.metric)
            missing = _letters(edge for edge in held if edge not in held_here)
            why = "" if outcome.why == convention.note else outcome.why
            rows.append(Row(outcome.metric, outcome.rankwise, SIGNS[outcome.verdict], why, missing))
    refused = _refused(convention.name).items()
    return rows + [Row(metric, "", SIGNS["refused"], why) for metric, why in refused]


def _section(
    name: str,
    output: Mapping[str, Any],
    of_library: Mapping[str, Sequence[Row]],
    reasons: Mapping[str, int],
) -> str:
    """Return the part about one library; of an earlier version, the rows that differ from the later one."""
    convention, rows = rw.conventions()[LIBRARIES[name].convention], of_library[name]
    text = f'\n## {name} {output["version"]}: `convention="{convention.name}"`\n\n'
    if convention.note:
        text += f"≈ without a note: {convention.note}.\n\n"
    if name in OLDER_VERSIONS:
        newer = of_library[OLDER_VERSIONS[name]]
        names = {row.name for row in rows}
        same = [row for row in rows if row in newer]
        missing = [row for row in newer if row.name not in names]
        rows = [row for row in rows if row not in newer]
        text += (
            f"{len(same)} names have the rows of {OLDER_VERSIONS[name]} above. Not here: "
            f"{', '.join(cells[0] for cells in _cells(missing, reasons))}. The others:\n\n"
        )
    return text + _table(("metric", "rankwise", ""), _cells(rows, reasons))


def second_stage() -> list[str]:
    """Return the conventions of rankers and retrieval tools, which no runner of this folder runs."""
    held = {library.convention for library in LIBRARIES.values()}
    return [name for name in rw.conventions() if name not in held | {"trec_eval"}]


def _second_stage_rows(name: str) -> list[Row]:
    """Return the names of one ranker or retrieval tool, and what they mean."""
    rows = []
    for entry in rw.conventions()[name].metrics.values():
        choices = ", ".join(f"{choice}={value}" for choice, value in entry.choices.items())
        mark = SIGNS["refused"] if entry.refused else "ours" if entry.ours else ""
        meaning = "" if entry.refused else entry.text.removesuffix("@1000000")
        note = "; ".join(filter(None, (choices, entry.refused or entry.note)))
        rows.append(Row(entry.name, meaning, mark, note))
    return rows


def _second_stage_section(name: str, rows: Sequence[Row], reasons: Mapping[str, int]) -> str:
    """Return the part about one ranker or retrieval tool."""
    convention = rw.conventions()[name]
    head = f'\n### {convention.library}: `convention="{name}"`\n\n'
    about = f"{convention.note[:1].upper()}{convention.note[1:]}.\n\n" if convention.note else ""
    return head + about + _table(("metric", "rankwise", ""), _cells(rows, reasons))


def _merged(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows that share a line: of one definition but for its numbers, or of rankwise's own name."""
    merged: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        definition, shape = row.rankwise, ""
        if row.name.lower() == definition:
            definition = _SAME
        elif _NUMBER.search(definition):
            definition, shape = (_NUMBER.sub("#", text) for text in (definition, row.name))
        merged[(definition, shape, row.mark, row.reason, row.not_held)].append(row)
    return list(merged.values())


def _repeated_reasons(tables: Sequence[Sequence[Row]]) -> dict[str, int]:
    """Return the reasons that stand in several rows of the page, numbered from 1."""
    counts = Counter(rows[0].reason for table in tables for rows in _merged(table))
    repeated = [reason for reason, count in counts.items() if count > 1 and len(reason) > _SHORT]
    return {reason: number for number, reason in enumerate(repeated, 1)}


def _cells(rows: Sequence[Row], reasons: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return the lines of a table: names, definitions, and the mark with the note."""
    lines = []
    for group in _merged(rows):
        first = group[0]
        number = reasons.get(first.reason)
        reason = f"note {number}" if number else first.reason
        not_held = f"not {first.not_held}" if first.not_held else ""
        note = " ".join(filter(None, (first.mark, "; ".join(filter(None, (reason, not_held))))))
        definitions = _names(row.rankwise for row in group)
        if all(row.name.lower() == row.rankwise for row in group):
            definitions = _SAME
        lines.append((_names(row.name for row in group), definitions, note))
    return lines


def _names(names: Iterable[str]) -> str:
    """Return different names, those that only differ in a number as the first and the last of them."""
    shown = []
    for _, same in groupby(filter(None, dict.fromkeys(names)), lambda name: _NUMBER.sub("#", name)):
        first, *others = same
        many = len(others) > 1
        shown += (
            [f"`{first}` to `{others[-1]}`"] if many else [f"`{name}`" for name in (first, *others)]
        )
    return ", ".join(shown)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    first, *lines = [f"| {' | '.join(line)} |\n" for line in escaped]
    return "".join([first, f"|{'---|' * len(head)}\n", *lines])
