"""A comparison as tables: one row per pair for reading, systems by measures for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice, product
from string import ascii_lowercase
from typing import Any

import polars as pl

from rankwise.core.view import Cell, Marked, Style, TableView, number
from rankwise.results.display.p_values import p_value

__all__ = ["marks", "pair_view", "system_view"]

_STYLES: tuple[Style, ...] = ("bold", "underlined")


def pair_view(table: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return one row per pair of systems and measure, the primary measure first."""
    ordered = table.sort("primary", descending=True, maintain_order=True)
    rows = [
        (
            f"{_measure(row, settings)}  {_pair(row)}",
            number(row["mean_baseline"]),
            number(row["mean_system"]),
            f"{row['difference']:+.4f}",
            f"{number(row['low'])} to {number(row['high'])}",
            _lift(row),
            p_value(row["p"]),
            p_value(row["p_adjusted"]),
            number(row["d_z"]),
            f"{row['users']:,}",
            _verdict(row),
        )
        for row in ordered.iter_rows(named=True)
    ]
    head = ("", "baseline", "system", "difference", "interval", "lift", "p", "adjusted", "d_z", "users", "verdict")
    return TableView(head, rows, _notes(table, settings), left=(0, len(head) - 1))


def _lift(row: Mapping[str, Any]) -> str:
    """Return the relative difference, with its interval where that is known."""
    if _missing(row["lift"]):
        return "–"
    limits = [row["lift_low"], row["lift_high"]]
    if any(_missing(limit) for limit in limits):
        return f"{row['lift']:+.1%}"
    return f"{row['lift']:+.1%} [{', '.join(f'{100 * limit:+.1f}' for limit in limits)}]"


def _verdict(row: Mapping[str, Any]) -> str:
    """Return the verdict with its qualification: the detectable difference, or the margin."""
    verdict, detectable = str(row["verdict"]), row["minimum_detectable"]
    if verdict == "undecided":
        if _missing(detectable):
            return verdict
        size = "nothing is detectable here" if math.isinf(detectable) else f"detectable: {number(detectable)}"
        return f"{verdict} ({size})"
    if verdict != "equivalent" and row["within_margin"]:
        verdict += ", within the margin"
    return verdict if row["primary"] else f"{verdict} (exploratory)"


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['system']} − {row['baseline']}"


def _measure(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the measure of a row, and the group of users that it is about."""
    if settings["data_sets"]:
        return f"{row['measure']}  {row['group'] or 'mean of data sets'}"
    if settings["by"] is None:
        return str(row["measure"])
    return f"{row['measure']}  {settings['by']}={'–' if row['group'] is None else row['group']}"


def _tests(table: pl.DataFrame) -> str:
    return ", ".join(table["test"].unique(maintain_order=True))


def _labels(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {label}" for name, label in settings["labels"].items() if label]


def _notes(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return how the pairs were tested, and the first twelve caveats."""
    primary = f"primary measure: {settings['primary']}, corrected by {settings['correction']}"
    primary += "" if settings["by"] is None else f" over groups by {settings['by']}"
    level = f"{1 - settings['alpha']:.0%}"
    rate = next(iter(table.filter(pl.col("primary"))["error_rate"]), "")
    notes = [
        (
            f"{primary} ({rate} error rate); others are exploratory (bh, false discovery rate). "
            f"Tests: {_tests(table)}. Intervals: {level}, of each pair alone. Detectable: with "
            "probability 0.8."
        )
    ]
    notes += [*_samples(table, settings), *_ranks(table, settings)]
    notes += [", ".join(f"{name}: {source}" for name, source in settings["sources"].items())]
    notes += settings["unchecked"]
    notes += _not_compared(settings["not_compared"])
    caveats: dict[str, dict[str, None]] = {}
    for row in table.iter_rows(named=True):
        for flag in row["flags"]:
            if flag not in ("exploratory", "of all lists together"):
                caveats.setdefault(flag, {})[f"{_measure(row, settings)}, {_pair(row)}"] = None
        if row["dropped_because"]:
            caveats.setdefault(row["dropped_because"], {})[_measure(row, settings)] = None
    lines = [f"{_listed(list(where))}: {flag}" for flag, where in caveats.items()]
    more_notes = [f"… and {len(lines) - 12} more notes"] if len(lines) > 12 else []
    return notes + _labels(settings) + lines[:12] + more_notes


def _listed(names: Sequence[str]) -> str:
    """Return the first three names, and how many more there are."""
    more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def _ranks(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the confidence intervals of the ranks of the first ten systems."""
    ranks = settings["ranks"]
    if not ranks:
        return []
    texts = [
        f"{row['system']} {row['rank_low']}"
        + ("" if row["rank_low"] == row["rank_high"] else f" to {row['rank_high']}")
        for row in ranks[:10]
    ]
    more = f", … ({len(ranks)} systems)" if len(ranks) > 10 else ""
    level = f"{1 - settings['alpha']:.0%}"
    names = ", ".join(texts) + more
    primary = table.filter(pl.col("primary"))
    flags = {flag for some in primary["flags"].to_list() for flag in some}
    about = ", approximate as p is" if any("skewness" in flag for flag in flags) else ""
    return [f"Ranks on {settings['primary']}, together with {level} confidence{about}: {names}."]


def _samples(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return notes on other random samples: clusters of users, seeds and data sets."""
    notes = []
    if settings["clusters"] and table["clusters"].drop_nulls().len():
        numbers = sorted(set(table["clusters"].drop_nulls().to_list()))
        spread = " to ".join(f"{count:,}" for count in dict.fromkeys((numbers[0], numbers[-1])))
        notes.append(f"Users are in {spread} clusters by {settings['clusters']}, which are the sampling units.")
    if settings["data_sets"]:
        notes.append(
            f"Over {len(settings['data_sets'])} data sets, as a random sample with equal "
            "weights; results on each alone are exploratory."
        )
    if settings["seeds"]:
        known = settings["seeds"]["counts"]
        counts = ", ".join(f"{name}: {count}" for name, count in known.items())
        counts = f"{next(iter(known.values()))} each" if len(set(known.values())) == 1 else counts
        notes.append(
            f"Values are means over seeds ({counts}), {settings['seeds']['design']} between "
            "systems; intervals and tests generalise to other users and other seeds."
        )
    return notes


def _not_compared(reasons: Mapping[str, str]) -> list[str]:
    """Return why measures are left out, the first six of each reason by name."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in reasons.items():
        by_reason.setdefault(reason, []).append(cell)
    return [
        f"not compared: {', '.join(cells[:6])}{', …' if len(cells) > 6 else ''}: {reason}"
        for reason, cells in by_reason.items()
    ]


def marks(count: int) -> list[str]:
    """Return one letter mark per system: a, b, …, z, aa, ab, ….

    >>> marks(28)[-3:]
    ['z', 'aa', 'ab']
    """
    texts = ("".join(w) for n in range(1, count + 1) for w in product(ascii_lowercase, repeat=n))
    return list(islice(texts, count))


def system_view(table: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return systems by measures: best and second marked, and who is significantly worse."""
    systems = list(dict.fromkeys([*table["baseline"], *table["system"]]))
    letters = dict(zip(systems, marks(len(systems)), strict=True))
    heads: dict[str, list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        heads.setdefault(_measure(row, settings), []).append(row)
    columns = [_column(pairs, letters, settings["directions"].get(pairs[0]["measure"])) for pairs in heads.values()]
    rows: list[tuple[Cell, ...]] = [
        (f"{system} ({letter})", *(column[system] for column in columns)) for system, letter in letters.items()
    ]
    against = "" if settings["baseline"] is None else f" Pairs with {settings['baseline']} only."
    caption = (
        f"Best in bold, second underlined. Raised letters: significantly better than that system "
        f"({', '.join(f'{letter} {system}' for system, letter in letters.items())}); "
        f"{_tests(table)}, two-sided, level {settings['alpha']:g}; {settings['primary']} "
        f"corrected by {settings['correction']} over its pairs, the other measures exploratory, by "
        f"Benjamini and Hochberg.{against}" + "".join(f" {label}." for label in _labels(settings))
    )
    spreads = " After ±: the standard deviation between seeds." if settings["seeds"] else ""
    caption += "".join(f" {note}" for note in _samples(table, settings)) + spreads
    counts = sorted(set(table["users"].to_list()))
    users = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    return TableView(
        ("", *heads), rows, caption=caption, title=f"Values over {users} users.", label="rankwise-comparison"
    )


def _column(
    pairs: Sequence[Mapping[str, Any]], letters: Mapping[str, str], higher_is_better: bool | None
) -> dict[str, Marked]:
    """Return the marked value of each system, from the pairs of one measure and group."""
    values = {row["baseline"]: row["mean_baseline"] for row in pairs}
    values |= {row["system"]: row["mean_system"] for row in pairs}
    spreads = {row["baseline"]: row["deviation_baseline"] for row in pairs}
    spreads |= {row["system"]: row["deviation_system"] for row in pairs}
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
        name: Marked(
            number(values.get(name)) + _spread(spreads.get(name)), styles.get(values.get(name), ""), ",".join(raised)
        )
        for name, raised in worse.items()
    }


def _spread(deviation: float | None) -> str:
    return "" if _missing(deviation) else f" ± {number(deviation)}"
