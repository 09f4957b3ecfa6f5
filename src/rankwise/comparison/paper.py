"""Comparisons for papers: tables of systems by metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.comparison.alignment import marks
from rankwise.comparison.rows import IN_SYSTEM_TABLE, is_missing
from rankwise.comparison.view import labels_of, means_by_system, metric_name, sample_notes, tests_of
from rankwise.core.terminal import Cell, Marked, Style, TableView, number

__all__ = ["system_view"]

_STYLES: tuple[Style, ...] = ("bold", "underlined")


def system_view(table: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return systems by metrics: best and second marked, and who is significantly worse."""
    systems = list(dict.fromkeys([*table["baseline"], *table["system"]]))
    letters = dict(zip(systems, marks(len(systems)), strict=True))
    heads: dict[str, list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        heads.setdefault(metric_name(row, settings), []).append(row)
    columns = [_column(pairs, letters, settings["directions"].get(pairs[0]["metric"])) for pairs in heads.values()]
    rows: list[tuple[Cell, ...]] = [
        (f"{system} ({letter})", *(column[system] for column in columns)) for system, letter in letters.items()
    ]
    against = "" if settings["baseline"] is None else f" Pairs with {settings['baseline']} only."
    caption = (
        f"Best in bold, second underlined. Raised letters: significantly better than that system "
        f"({', '.join(f'{letter} {system}' for system, letter in letters.items())}); "
        f"{tests_of(table)}, two-sided, level {settings['alpha']:g}; {settings['primary']} "
        f"corrected by {settings['correction']} over its pairs, the other metrics exploratory, by "
        f"Benjamini and Hochberg.{against}" + "".join(f" {label}." for label in labels_of(settings))
    )
    spreads = " After ±: the standard deviation between seeds." if settings["seeds"] else ""
    caption += "".join(f" {note}" for note in sample_notes(table, settings)) + spreads
    counts = sorted(set(table["users"].to_list()))
    users = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    notes, title = settings.get("plans", ()), f"Values over {users} users."
    return TableView(("", *heads), rows, notes, caption=caption, title=title, label="rankwise-comparison")


def _column(
    pairs: Sequence[Mapping[str, Any]], letters: Mapping[str, str], higher_is_better: bool | None
) -> dict[str, Marked]:
    """Return the marked value of each system, from the pairs of one metric and group."""
    values = means_by_system(pairs, "mean")
    texts = dict.fromkeys(letters, "")
    for name, form in IN_SYSTEM_TABLE.items():
        for system, value in means_by_system(pairs, name).items():
            texts[system] += "" if is_missing(value) else form.format(number(value))
    worse: dict[str, list[str]] = {system: [] for system in letters}
    for row in pairs:
        if row["verdict"] == "better":
            worse[row["system"]].append(letters[row["baseline"]])
        elif row["verdict"] == "worse":
            worse[row["baseline"]].append(letters[row["system"]])
    numbers = {value for value in values.values() if value == value}
    ranked = sorted(numbers, reverse=bool(higher_is_better))
    styles = {} if higher_is_better is None else dict(zip(ranked, _STYLES, strict=False))
    return {
        system: Marked(texts[system] or "–", styles.get(values.get(system), ""), ",".join(raised))
        for system, raised in worse.items()
    }
