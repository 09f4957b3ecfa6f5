"""Comparisons as tables and as sentences that can be quoted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice, product
from string import ascii_lowercase
from typing import Any

import polars as pl

from rankwise.comparison.rows import ALL_LISTS, IN_PAIR_TABLE, IN_SYSTEM_TABLE, is_missing, named_p
from rankwise.core.terminal import Cell, Marked, Style, TableView, number

__all__ = ["leader_first", "marks", "pair_sentence", "pair_view", "system_view", "verdict_sentences"]

_CORRECTIONS = {
    "holm": "Holm-adjusted p",
    "bonferroni": "Bonferroni-adjusted p",
    "none": "p",
    "hochberg": "Hochberg-adjusted p",
    "bh": "Benjamini-Hochberg-adjusted p",
    "by": "Benjamini-Yekutieli-adjusted p",
    "max_t": "max-t-adjusted p",
    "tukey": "randomised-Tukey p",
}
_NAMED = 3  # systems that one sentence names
_MOST = 6  # sentences about pairs: more are in the tables


def verdict_sentences(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the verdict on the primary metric: who is ahead, then each pair, the leader's first.

    Where no pair differs, the sentence says that nothing can be claimed, and how large a
    difference would have been found.
    """
    primary = table.filter(pl.col("primary"))
    if primary.is_empty():
        return ["Nothing was compared."]
    rows = leader_first(primary, settings).to_dicts()
    pairs = [pair_sentence(row, settings) for row in rows[:_MOST]]
    if len(rows) > _MOST:
        pairs.append(f"{len(rows) - _MOST:,} more pairs are in the table below.")
    return pairs if len(rows) == 1 else [_head(rows, settings), *_best(settings), *pairs]


def _best(settings: Mapping[str, Any]) -> list[str]:
    """Return which systems may be the best, where more than one may."""
    names = [row["system"] for row in settings["ranks"] if row["may_be_best"]]
    if len(names) < 2:
        return []
    level = f"{100 * (1 - settings['alpha']):g} % confidence"
    if len(names) == len(settings["ranks"]):
        return [f"Any of the {len(names)} systems may be the best ({level})."]
    return [f"The best of them is one of {', '.join(names)} ({level})."]


def leader_first(rows: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return pairs in the same order, but those with the system of the best mean first."""
    leader = _leader(rows.to_dicts(), settings) if settings["by"] is None else None
    if leader is None:
        return rows
    inside = (pl.col("system") == leader) | (pl.col("baseline") == leader)
    return rows.sort(inside, descending=True, maintain_order=True)


def _leader(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str | None:
    """Return the system with the best mean of the metric of these pairs, if one is best."""
    better = settings["directions"].get(rows[0]["metric"]) if rows else None
    if better is None:
        return None
    defined = {name: mean for name, mean in _by_system(rows, "mean").items() if not is_missing(mean)}
    if not defined:
        return None
    best: str = (max if better else min)(defined, key=lambda name: defined[name])
    return best


def _by_system(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return a value that pairs have of both systems, by system."""
    values = {row["baseline"]: row[f"{name}_baseline"] for row in rows}
    return values | {row["system"]: row[f"{name}_system"] for row in rows}


def _head(rows: list[dict[str, Any]], settings: Mapping[str, Any]) -> str:
    """Return one sentence over several pairs."""
    metric, by = rows[0]["metric"], settings["by"]
    decided = [row for row in rows if row["verdict"] in ("better", "worse", "different")]
    if not decided:
        return _undecided(rows, metric)
    if by is not None:
        return f"On {metric}, {len(decided)} of {len(rows)} comparisons within {by} are decided."
    leader = _leader(rows, settings)
    of_leader = [row for row in rows if leader in (row["system"], row["baseline"])]
    beaten = [row for row in of_leader if row["verdict"] == ("better" if row["system"] == leader else "worse")]
    against = {name for row in rows for name in (row["system"], row["baseline"])} - {leader}
    if len(beaten) == len(against):
        return f"{leader} beats every other system on {metric}."
    if settings["baseline"] is not None and leader != settings["baseline"]:
        return _against(rows, settings["baseline"], metric)
    if beaten and len(of_leader) == len(against):
        text = f"{leader} is ahead on {metric}: it beats {len(beaten)} of {len(against)} others"
        open_ = [row for row in of_leader if row["verdict"] == "undecided"]
        if len(open_) + len(beaten) < len(against) or len(open_) > _NAMED:
            return f"{text}."
        names = (row["baseline"] if row["system"] == leader else row["system"] for row in open_)
        return f"{text}; against {', '.join(names)} nothing can be claimed."
    return f"On {metric}, {len(decided)} of {len(rows)} pairs of systems differ significantly."


def _undecided(rows: Sequence[Mapping[str, Any]], metric: str) -> str:
    """Return the sentence for a comparison in which no pair differs significantly."""
    same = sum(row["verdict"] == "equivalent" for row in rows)
    if same == len(rows):
        return f"All {same} pairs are equivalent on {metric} within the margin."
    differences = [row["minimum_detectable"] for row in rows if not is_missing(row["minimum_detectable"])]
    apart = any(map(math.isinf, differences)) and any(map(math.isfinite, differences))  # no one number is true of all
    would = _would_find(max(differences)) if differences and not apart else ""
    equivalent = f", and {same} are equivalent within the margin" if same else ""
    return f"Nothing can be claimed on {metric}: none of {len(rows)} comparisons shows a difference{equivalent}.{would}"


def _against(rows: Sequence[Mapping[str, Any]], baseline: str, metric: str) -> str:
    """Return how many systems beat the baseline, and how many it beats."""
    count = {name: sum(row["verdict"] == name for row in rows) for name in ("better", "worse")}
    text = f"{count['better']} of {len(rows)} systems beat {baseline} on {metric}"
    return text + (f", worse: {count['worse']}." if count["worse"] else ".")


def _would_find(difference: float) -> str:
    if math.isinf(difference):
        return " No difference that is possible would be found with a probability of 80 %."
    return f" A difference of {number(difference)} or more would be found with a probability of 80 %."


def pair_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return one row of a comparison as a sentence.

    >>> row = {"system": "B", "baseline": "A", "metric": "ndcg@10", "group": None,
    ...        "difference": 0.01, "low": 0.004, "high": 0.016, "lift": 0.031, "lift_low": 0.012,
    ...        "lift_high": 0.05, "p_adjusted": 0.002, "users": 943, "verdict": "better",
    ...        "minimum_detectable": 0.008, "primary": True, "data_sets": None,
    ...        "seeds_system": None}
    >>> pair_sentence(row, {"correction": "holm", "by": None, "alpha": 0.05})
    'B beats A on ndcg@10 by 3.1 % [1.2, 5.0], Holm-adjusted p = 0.0020, 943 users.'
    """
    one, other, metric = row["system"], row["baseline"], row["metric"]
    inside = "" if settings["by"] is None else f" ({settings['by']} = {row['group']})"
    evidence = f"{_p(row, settings)}, {row['users']:,} users{inside}{_sample_counts(row)}"
    size = _size(row, signed=False)
    signed = _size(row, signed=True)
    detectable = row["minimum_detectable"]
    would = "" if is_missing(detectable) else _would_find(detectable)
    return {
        "better": f"{one} beats {other} on {metric} by {size}, {evidence}.",
        "worse": f"{one} is worse than {other} on {metric} by {size}, {evidence}.",
        "different": f"{one} and {other} differ on {metric} by {signed}, {evidence}; neither "
        "direction of this metric is better.",
        "equivalent": f"{one} and {other} are equivalent on {metric} within the margin: "
        f"difference {signed}, {evidence}.",
        "undecided": f"Nothing can be claimed between {one} and {other} on {metric}: difference "
        f"{signed}, {evidence}.{would}",
    }[row["verdict"]]


def _sample_counts(row: Mapping[str, Any]) -> str:
    """Return the numbers of seeds or of data sets that a row rests on."""
    if row["data_sets"]:
        return f" on {row['data_sets']} data sets"
    if row["seeds_system"] is None:
        return ""
    return f", {row['seeds_system']} and {row['seeds_baseline']} seeds"


def _p(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    p = row["p_adjusted"]
    name = _CORRECTIONS.get(settings["correction"], "p") if row["primary"] else "adjusted p"
    if is_missing(p):
        return "not testable"
    return named_p(name, p)


def _size(row: Mapping[str, Any], *, signed: bool) -> str:
    """Return the size of a difference: relative where its interval is known, else absolute.

    Without ``signed`` the verdict tells the direction.
    """
    lift = [row[name] for name in ("lift", "lift_low", "lift_high")]
    if all(value is not None and math.isfinite(value) for value in lift):
        # A metric of which small values are good falls by as much.
        if not signed and lift[0] < 0:
            lift = [-lift[0], -lift[2], -lift[1]]
        value, low, high = (f"{100 * part:+.1f}" if signed else f"{100 * part:.1f}" for part in lift)
        return f"{value} % [{low}, {high}]"
    limits = [row[name] for name in ("difference", "low", "high")]
    if not signed and limits[0] < 0:
        limits = [-limits[0], -limits[2], -limits[1]]
    value, *ends = (f"{part:+.4f}" if signed else number(part) for part in limits)
    return f"{value} [{', '.join(ends)}]"


_STYLES: tuple[Style, ...] = ("bold", "underlined")


def pair_view(table: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return one row per pair of systems and metric, the primary metric first."""
    ordered = table.sort("primary", descending=True, maintain_order=True)
    rows = [
        (f"{_metric(row, settings)}  {_pair(row)}", *(column.text(row) for column in IN_PAIR_TABLE))
        for row in ordered.iter_rows(named=True)
    ]
    head = ("", *(column.head for column in IN_PAIR_TABLE))
    return TableView(head, rows, _notes(table, settings), left=(0, len(head) - 1))


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['system']} − {row['baseline']}"


def _metric(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the metric of a row, and the group of users that it is about."""
    if settings["data_sets"]:
        return f"{row['metric']}  {row['group'] or 'mean of data sets'}"
    if settings["by"] is None:
        return str(row["metric"])
    return f"{row['metric']}  {settings['by']}={'–' if row['group'] is None else row['group']}"


def _tests(table: pl.DataFrame) -> str:
    return ", ".join(table["test"].unique(maintain_order=True))


def _labels(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {label}" for name, label in settings["labels"].items() if label]


def _notes(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return how the pairs were tested, and the first twelve caveats."""
    primary = f"primary metric: {settings['primary']}, corrected by {settings['correction']}"
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
    notes += [*_sample_notes(table, settings), *_ranks(settings), *_reuse(settings)]
    notes += [", ".join(f"{name}: {source}" for name, source in settings["sources"].items())]
    notes += [*settings.get("plans", ()), *settings["unchecked"]]
    notes += _not_compared(settings["not_compared"])
    caveats: dict[str, dict[str, None]] = {}
    for row in table.iter_rows(named=True):
        for flag in row["flags"]:
            if flag not in ("exploratory", ALL_LISTS):
                caveats.setdefault(flag, {})[f"{_metric(row, settings)}, {_pair(row)}"] = None
        if row["dropped_because"]:
            caveats.setdefault(row["dropped_because"], {})[_metric(row, settings)] = None
    lines = [f"{_listed(list(where))}: {flag}" for flag, where in caveats.items()]
    more_notes = [f"… and {len(lines) - 12} more notes"] if len(lines) > 12 else []
    return notes + _labels(settings) + lines[:12] + more_notes


def _listed(names: Sequence[str]) -> str:
    """Return the first three names, and how many more there are."""
    more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def _ranks(settings: Mapping[str, Any]) -> list[str]:
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
    about = ", approximate for the skewness of differences" if settings["ranks_approximate"] else ""
    return [f"Ranks on {settings['primary']}, together with {level} confidence{about}: {names}."]


def _reuse(settings: Mapping[str, Any]) -> list[str]:
    """Return how often the ground truth was used before, and whether the correction knows."""
    earlier, notes = settings.get("earlier", 0), []
    if earlier:
        pairs = "1 pair that was" if earlier == 1 else f"{earlier:,} pairs that were"
        notes.append(f"P-values are corrected for {pairs} compared earlier on this test set, too.")
    uses = settings.get("test_set", {})
    others = uses.get("systems", 0) - uses.get("compared", 0)
    if others > earlier:
        notes.append(
            f"{uses['systems']:,} systems are saved on this test set, of which {uses['compared']:,} are compared here: "
            f"the best of many looks better than it is. earlier={others} corrects for the others."
        )
    return notes


def _sample_notes(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return notes on other random samples: clusters of users, seeds and data sets."""
    notes = []
    if settings["clusters"] and table["clusters"].drop_nulls().len():
        sizes = sorted(set(table["clusters"].drop_nulls().to_list()))
        spread = " to ".join(f"{count:,}" for count in dict.fromkeys((sizes[0], sizes[-1])))
        if settings["clusters"] == "user":
            notes.append(f"Lists, and the column users, are of requests: those of {spread} users, the sampling units.")
        else:
            notes.append(f"Users are in {spread} clusters by {settings['clusters']}, which are the sampling units.")
    if settings["data_sets"]:
        notes.append(
            f"Over {len(settings['data_sets'])} data sets, as a random sample with equal "
            "weights; results on each alone are exploratory."
        )
    if settings["seeds"]:
        numbers = settings["seeds"]["counts"]
        counts = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        counts = f"{next(iter(numbers.values()))} each" if len(set(numbers.values())) == 1 else counts
        notes.append(
            f"Values are means over seeds ({counts}), {settings['seeds']['design']} between "
            "systems; intervals and tests generalise to other users and other seeds."
        )
    return notes


def _not_compared(reasons: Mapping[str, str]) -> list[str]:
    """Return why metrics are left out, the first six of each reason by name."""
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
    """Return systems by metrics: best and second marked, and who is significantly worse."""
    systems = list(dict.fromkeys([*table["baseline"], *table["system"]]))
    letters = dict(zip(systems, marks(len(systems)), strict=True))
    heads: dict[str, list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        heads.setdefault(_metric(row, settings), []).append(row)
    columns = [_column(pairs, letters, settings["directions"].get(pairs[0]["metric"])) for pairs in heads.values()]
    rows: list[tuple[Cell, ...]] = [
        (f"{system} ({letter})", *(column[system] for column in columns)) for system, letter in letters.items()
    ]
    against = "" if settings["baseline"] is None else f" Pairs with {settings['baseline']} only."
    caption = (
        f"Best in bold, second underlined. Raised letters: significantly better than that system "
        f"({', '.join(f'{letter} {system}' for system, letter in letters.items())}); "
        f"{_tests(table)}, two-sided, level {settings['alpha']:g}; {settings['primary']} "
        f"corrected by {settings['correction']} over its pairs, the other metrics exploratory, by "
        f"Benjamini and Hochberg.{against}" + "".join(f" {label}." for label in _labels(settings))
    )
    spreads = " After ±: the standard deviation between seeds." if settings["seeds"] else ""
    caption += "".join(f" {note}" for note in _sample_notes(table, settings)) + spreads
    counts = sorted(set(table["users"].to_list()))
    users = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    notes, title = settings.get("plans", ()), f"Values over {users} users."
    return TableView(("", *heads), rows, notes, caption=caption, title=title, label="rankwise-comparison")


def _column(
    pairs: Sequence[Mapping[str, Any]], letters: Mapping[str, str], higher_is_better: bool | None
) -> dict[str, Marked]:
    """Return the marked value of each system, from the pairs of one metric and group."""
    values = _by_system(pairs, "mean")
    texts = dict.fromkeys(letters, "")
    for name, form in IN_SYSTEM_TABLE.items():
        for system, value in _by_system(pairs, name).items():
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
