"""Titles of sections that say the finding, each from the rows that the section shows.

A title never says more than these rows: a system is first only where its rank is alone first, and a
group is named with the verdict of its own test. Where nothing is shown, the section has its topic
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.core.terminal import brief, count_of, signed
from rankwise.findings.finding import oriented
from rankwise.findings.words import (
    is_missing,
    listing,
    natural_key,
    places,
    verdict_tone,
    verdict_words,
)
from rankwise.reporting.chart_data import FEWEST_USERS
from rankwise.reporting.report_data import ReportData
from rankwise.reporting.report_head import pairs_with_reference, reference

_WORDS = (
    "better",
    "better under a condition",
    "equivalent",
    "not shown to differ",
    "worse under a condition",
    "worse",
)
"""What a title says of verdicts, the best first."""


def finding_of(section: str, material: ReportData) -> str:
    """Return the finding of a section, in one sentence; empty where nothing is shown."""
    say = _SENTENCES.get(section)
    if say is None or (material.pairs is None and section != "systems"):
        return ""
    return say(material)


def _word(row: Mapping[str, Any]) -> str:
    """Return the word of a title for the verdict of a row."""
    verdict = row["verdict"]
    if verdict in ("better if", "worse if"):
        return f"{verdict_tone(verdict)} under a condition"
    return verdict if verdict in _WORDS else "not shown to differ"


def _counts(words: Sequence[str], before: str = "") -> list[str]:
    """Return how often each word occurs, as ``2 better`` or, with ``before``, ``better on 2``."""
    counts = {word: words.count(word) for word in _WORDS if word in words}
    if before:
        return [f"{word} {before} {count}" for word, count in counts.items()]
    return [f"{count} {word}" for word, count in counts.items()]


def _decision(material: ReportData) -> str:
    """Return which checks of the decision do not hold."""
    if material.decision is None:
        return ""
    rows = material.decision.rows
    failed = [row for row in rows if row["outcome"] == "failed"]
    if failed:
        return f"{listing([*dict.fromkeys(row['metric'] for row in failed)], 'metrics')} failed"
    open_rows = [row for row in rows if row["outcome"] in ("not shown", "not checked")]
    if open_rows:
        return f"{count_of(len(open_rows), 'check')} of {len(rows)} left open"
    return f"{'The check holds' if len(rows) == 1 else f'All {len(rows)} checks hold'}"


def _systems(material: ReportData) -> str:
    """Return which system is alone first; else how many may be."""
    ranks = material.design.ranks
    if material.alone or not ranks:
        return ""
    first = [rank.system for rank in ranks if rank.rank_low == 1]
    if len(first) == 1:
        return f"{first[0]} is first of {len(ranks)} on {material.primary}"
    return f"{len(first)} of {len(ranks)} systems may be first on {material.primary}"


def _differences(material: ReportData) -> str:
    """Return how many systems differ from the reference; of one system by how much."""
    rows = pairs_with_reference(material)
    if not rows:
        return ""
    other = reference(material)
    if len(rows) == 1:
        row = rows[0]
        if is_missing(row["difference"]):
            return ""
        size = signed(row["difference"], places(row))
        return f"{row['system']} − {other}: {size}, {verdict_words(row)}"
    counts = _counts([_word(row) for row in rows])
    return f"Against {other}: {listing(counts, named=len(counts))}"


def _other_metrics(material: ReportData) -> str:
    """Return on how many other metrics the first systems are better, and worse."""
    if material.design.by is not None:
        return ""
    rows = material.pairs.filter(~pl.col("primary") & pl.col("group").is_null())  # type: ignore[union-attr]
    other = reference(material)
    pairs = [
        oriented(row, other)
        for row in rows.iter_rows(named=True)
        if other in (row["system"], row["baseline"])
    ]
    parts = []
    for system in [name for name in material.ranked if name != other][:2]:
        words = [_word(row) for row in pairs if row["system"] == system]
        counts = _counts(words, "on")
        if words:
            metrics = count_of(len(words), "other metric")
            parts.append(f"{system}: {listing(counts, named=len(counts))} of {metrics}")
    return "; ".join(parts)


def _for_whom(material: ReportData) -> str:
    """Return the groups with another verdict than all users."""
    rows = pairs_with_reference(material)
    said = [_of_groups(material, by, rows[0]) for by in material.group_differences] if rows else []
    return "; ".join(filter(None, said))


def _of_groups(material: ReportData, by: str, row: Mapping[str, Any]) -> str:
    """Return for which groups the first system's verdict differs from that over all users."""
    groups = material.group_differences[by].filter(
        (pl.col("system") == row["system"]) & pl.col("group").is_not_null()
    )
    tested = [
        each
        for each in groups.iter_rows(named=True)
        if material.unit.users_in(each) >= FEWEST_USERS and not is_missing(each["difference"])
    ]
    if not tested:
        return ""
    overall = _word(row)
    tested.sort(key=lambda each: natural_key(each["group"]))
    words = {str(each["group"]): _word(each) for each in tested}
    if set(words.values()) == {overall}:
        names = listing([*words], "groups")
        return f"{row['system']} is {overall} for {names} ({by})"
    said = [
        f"{word} for {listing([group for group in words if words[group] == word], 'groups')}"
        for word in sorted(_WORDS, key=lambda word: (word == overall, -_WORDS.index(word)))
        if word in words.values()
    ]
    return f"{row['system']} is {', '.join(said)} ({by})"


def _costs(material: ReportData) -> str:
    """Return which metrics beyond accuracy the first system loses."""
    rows = pairs_with_reference(material)
    if not rows:
        return ""
    other, system = reference(material), rows[0]["system"]
    beyond = set(material.in_families(("coverage", "novelty", "diversity", "popularity")))
    pairs = [
        oriented(row, other)
        for row in material.pairs.iter_rows(named=True)  # type: ignore[union-attr]
        if row["group"] is None
        and row["metric"] in beyond
        and {row["system"], row["baseline"]} == {system, other}
    ]
    worse = [row for row in pairs if _word(row) == "worse"]
    if worse:
        row = worse[0]
        means = f"{brief(row['mean_baseline'])} to {brief(row['mean_system'])}"
        more = f", and {len(worse) - 1} more" if len(worse) > 1 else ""
        return f"{system} is worse on {row['metric']} ({means}{more})"
    return f"{system} is not shown to lose beyond accuracy" if pairs else ""


def _examples(material: ReportData) -> str:
    """Return the user who loses most and the user who gains most."""
    moved = material.moved
    said = [
        f"{users[0]} {word} most"
        for users, word in ((moved.losses, "loses"), (moved.gains, "gains"))
        if users
    ]
    return f"With {moved.system}, {listing(said)}" if said else ""


_SENTENCES: dict[str, Callable[[ReportData], str]] = {
    "decision": _decision,
    "systems": _systems,
    "differences": _differences,
    "other-metrics": _other_metrics,
    "for-whom": _for_whom,
    "costs": _costs,
    "examples": _examples,
}
