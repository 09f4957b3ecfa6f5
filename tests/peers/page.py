"""The page of the documentation that says, library by library, what was found equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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

This page is generated: `python tests/peers/compare.py --page` writes it from what the libraries
themselves printed. Each was installed in an environment of its own and run on random data; each section
lists the edge cases that the data held for this library, and those that they did not. rankwise evaluated
the same tables with `convention="NAME"` and no other option. [Conventions](conventions.md) says how to
use them. The column *run* is the day on which the library was run; `python scripts/check_versions.py` lists the
versions of the package index beside these. `trec_eval` is version 10.0, which is no library: its sample outputs
of June 2026 are compared line by line.

- **equal**: the same number on all data of this library, to 1e-9 (1e-5 or 2e-6 where the library computes
  in 32 bits). For an edge case that the data did not hold, for the library or for this metric, nothing is
  claimed.
- **equal, except**: the same number except in the cases that the note names.
- **differs**: what the library computes is something else, and the note says what.
- **refused**: rankwise has nothing that gives the number; the name raises an error that says so.

"""


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
    rows = [
        (
            f"`{LIBRARIES[name].convention}`",
            f"{name} {outputs[name]['version']}",
            outputs[name]["date"],
            *(
                str(agreement.summary(outcomes).get(verdict, 0))
                for verdict in ("equal", "equal, except", "differs")
            ),
            str(len(_refused(LIBRARIES[name].convention))),
        )
        for name, outcomes in found.items()
    ]
    head = ("convention", "library", "run", "equal", "equal, except", "differs", "refused")
    return (
        HEAD
        + _table(head, rows)
        + implementations(found)
        + "".join(_section(name, outputs[name], outcomes) for name, outcomes in found.items())
        + SECOND_STAGE
        + "".join(map(_second_stage_section, second_stage()))
    )


COUNTED = """
## Metrics by independent implementations

Each metric is computed twice in rankwise, on arrays and by the plain definition in `rankwise.functional`; tests and
`scripts/soak` compare the two. The table counts the libraries that give the number of the metric, in one of its
variants, on the data above: those equal, or equal except where a note says so. Libraries of one lineage count once:
WarpRec follows Elliot, ir_measures calls pytrec_eval (which contains trec_eval), and RecBole and recommenders take rating
errors from scikit-learn. `python tests/peers/compare.py --metrics` prints the table.

"""


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
    ]
    alone = ", ".join(f"`{name}`" for name in sorted(set(registry.names()) - set(lineages)))
    return (
        COUNTED
        + _table(("metric", "libraries", ""), rows)
        + f"\nNo library: {alone}; they have cases by hand instead.\n"
    )


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


def _edges(values: Mapping[str, Mapping[str, float]]) -> str:
    """Return which edge cases the data of a library held, and which they did not."""
    held = _held(values)
    missing = [edge for edge in _held({key: {"": 0.0} for key in EDGES}) if edge not in held]
    return f"Held by the data: {', '.join(held)}." + (
        f" Not held: {', '.join(missing)}." if missing else ""
    )


def _note(
    outcome: agreement.Outcome, convention: rw.Convention, values: Mapping[str, Mapping[str, float]]
) -> str:
    """Return the reason of a verdict, and the edge cases that the data held for other metrics alone."""
    held = _held(values, outcome.metric)
    missing = [edge for edge in _held(values) if edge not in held]
    why = "" if outcome.why == convention.note else outcome.why
    return "; ".join(filter(None, (why, f"not held: {', '.join(missing)}" if missing else "")))


def _section(name: str, output: Mapping[str, Any], outcomes: Sequence[agreement.Outcome]) -> str:
    """Return the part about one library."""
    convention = rw.conventions()[LIBRARIES[name].convention]
    rows = [
        (
            f"`{outcome.metric}`",
            f"`{outcome.rankwise}`",
            outcome.verdict,
            _note(outcome, convention, output["values"]),
        )
        for outcome in outcomes
        if outcome.rankwise
    ]
    rows += [(f"`{name}`", "", "refused", why) for name, why in _refused(convention.name).items()]
    text = f'\n## {name} {output["version"]}: `convention="{convention.name}"`\n\n{_edges(output["values"])}\n\n'
    if convention.note:
        text += f"The library as a whole: {convention.note}. Where only this differs, no note is given.\n\n"
    return text + _table(("metric", "rankwise", "", "note"), rows)


SECOND_STAGE = """
## Rankers of the second stage and retrieval tools

These conventions are held against what each tool returned for 23 or 17 small worlds: tied and constant scores, queries
without a positive or with positives alone, weights, fractions and negative labels, short, empty and missing lists,
repeated documents. `tests/convention/test_second_stage_libraries.py` compares every name, to 1e-9 (2e-6 for
PyTorch-Ignite, whose sums are in 32 bits, and 6e-6 for BEIR and MTEB, which round); notes say what is not imitated. A
name marked *ours* is rankwise's: the library writes the metric in another way. `{k}` stands for the cut-off.
"""


def second_stage() -> list[str]:
    """Return the conventions of rankers and retrieval tools, which no runner of this folder runs."""
    held = {library.convention for library in LIBRARIES.values()}
    return [name for name in rw.conventions() if name not in held | {"trec_eval"}]


def _second_stage_section(name: str) -> str:
    """Return the part about one ranker or retrieval tool: its names and what they mean."""
    convention = rw.conventions()[name]
    rows = []
    for entry in convention.metrics.values():
        choices = ", ".join(f"{choice}={value}" for choice, value in entry.choices.items())
        verdict = "refused" if entry.refused else "ours" if entry.ours else ""
        meaning = "" if entry.refused else f"`{entry.text.removesuffix('@1000000')}`"
        note = "; ".join(filter(None, (choices, entry.refused or entry.note)))
        rows.append((f"`{entry.name}`", meaning, verdict, note))
    head = f'\n### {convention.library}: `convention="{name}"`\n\n'
    about = f"The library as a whole: {convention.note}.\n\n" if convention.note else ""
    return head + about + _table(("metric", "rankwise", "", "note"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
