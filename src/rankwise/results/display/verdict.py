"""The verdict of a comparison, in sentences that can be quoted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.core.view import number
from rankwise.results.display.p_values import named_p

__all__ = ["leader_first", "pair_sentence", "verdict_sentences"]

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
    """Return the verdict on the primary measure: who is ahead, then each pair, the leader's first.

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
    """Return the system with the best mean of the measure of these pairs, if one is best."""
    better = settings["directions"].get(rows[0]["measure"]) if rows else None
    if better is None:
        return None
    means = {row["baseline"]: row["mean_baseline"] for row in rows}
    means |= {row["system"]: row["mean_system"] for row in rows}
    defined = {name: mean for name, mean in means.items() if not _missing(mean)}
    if not defined:
        return None
    best: str = (max if better else min)(defined, key=lambda name: defined[name])
    return best


def _head(rows: list[dict[str, Any]], settings: Mapping[str, Any]) -> str:
    """Return one sentence over several pairs."""
    measure, by = rows[0]["measure"], settings["by"]
    decided = [row for row in rows if row["verdict"] in ("better", "worse", "different")]
    if not decided:
        return _undecided(rows, measure)
    if by is not None:
        return f"On {measure}, {len(decided)} of {len(rows)} comparisons within {by} are decided."
    leader = _leader(rows, settings)
    own = [row for row in rows if leader in (row["system"], row["baseline"])]
    beaten = [row for row in own if row["verdict"] == ("better" if row["system"] == leader else "worse")]
    against = {name for row in rows for name in (row["system"], row["baseline"])} - {leader}
    if len(beaten) == len(against):
        return f"{leader} beats every other system on {measure}."
    if settings["baseline"] is not None and leader != settings["baseline"]:
        return _against(rows, settings["baseline"], measure)
    if beaten and len(own) == len(against):
        text = f"{leader} is ahead on {measure}: it beats {len(beaten)} of {len(against)} others"
        open_ = [row for row in own if row["verdict"] == "undecided"]
        if len(open_) + len(beaten) < len(against) or len(open_) > _NAMED:
            return f"{text}."
        names = (row["baseline"] if row["system"] == leader else row["system"] for row in open_)
        return f"{text}; against {', '.join(names)} nothing can be claimed."
    return f"On {measure}, {len(decided)} of {len(rows)} pairs of systems differ significantly."


def _undecided(rows: Sequence[Mapping[str, Any]], measure: str) -> str:
    """Return the sentence for a comparison in which no pair differs significantly."""
    same = sum(row["verdict"] == "equivalent" for row in rows)
    if same == len(rows):
        return f"All {same} pairs are equivalent on {measure} within the margin."
    found = [row["minimum_detectable"] for row in rows if not _missing(row["minimum_detectable"])]
    apart = any(map(math.isinf, found)) and any(map(math.isfinite, found))  # no one number is true of all
    would = _would_find(max(found)) if found and not apart else ""
    equivalent = f", and {same} are equivalent within the margin" if same else ""
    return (
        f"Nothing can be claimed on {measure}: none of {len(rows)} comparisons shows a difference{equivalent}.{would}"
    )


def _against(rows: Sequence[Mapping[str, Any]], baseline: str, measure: str) -> str:
    """Return how many systems beat the baseline, and how many it beats."""
    count = {name: sum(row["verdict"] == name for row in rows) for name in ("better", "worse")}
    text = f"{count['better']} of {len(rows)} systems beat {baseline} on {measure}"
    return text + (f", worse: {count['worse']}." if count["worse"] else ".")


def _would_find(difference: float) -> str:
    if math.isinf(difference):
        return " No difference that is possible would be found with a probability of 80 %."
    return f" A difference of {number(difference)} or more would be found with a probability of 80 %."


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def pair_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return one row of a comparison as a sentence.

    >>> row = {"system": "B", "baseline": "A", "measure": "ndcg@10", "group": None,
    ...        "difference": 0.01, "low": 0.004, "high": 0.016, "lift": 0.031, "lift_low": 0.012,
    ...        "lift_high": 0.05, "p_adjusted": 0.002, "users": 943, "verdict": "better",
    ...        "minimum_detectable": 0.008, "primary": True, "data_sets": None,
    ...        "seeds_system": None}
    >>> pair_sentence(row, {"correction": "holm", "by": None, "alpha": 0.05})
    'B beats A on ndcg@10 by 3.1 % [1.2, 5.0], Holm-adjusted p = 0.0020, 943 users.'
    """
    one, other, measure = row["system"], row["baseline"], row["measure"]
    inside = "" if settings["by"] is None else f" ({settings['by']} = {row['group']})"
    evidence = f"{_p(row, settings)}, {row['users']:,} users{inside}{_samples(row)}"
    size = _size(row, signed=False)
    signed = _size(row, signed=True)
    detectable = row["minimum_detectable"]
    would = "" if _missing(detectable) else _would_find(detectable)
    return {
        "better": f"{one} beats {other} on {measure} by {size}, {evidence}.",
        "worse": f"{one} is worse than {other} on {measure} by {size}, {evidence}.",
        "different": f"{one} and {other} differ on {measure} by {signed}, {evidence}; neither "
        "direction of this measure is better.",
        "equivalent": f"{one} and {other} are equivalent on {measure} within the margin: "
        f"difference {signed}, {evidence}.",
        "undecided": f"Nothing can be claimed between {one} and {other} on {measure}: difference "
        f"{signed}, {evidence}.{would}",
    }[row["verdict"]]


def _samples(row: Mapping[str, Any]) -> str:
    """Return the numbers of seeds or of data sets that a row rests on."""
    if row["data_sets"]:
        return f" on {row['data_sets']} data sets"
    if row["seeds_system"] is None:
        return ""
    return f", {row['seeds_system']} and {row['seeds_baseline']} seeds"


def _p(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    p = row["p_adjusted"]
    name = _CORRECTIONS.get(settings["correction"], "p") if row["primary"] else "adjusted p"
    if _missing(p):
        return "not testable"
    return named_p(name, p)


def _size(row: Mapping[str, Any], *, signed: bool) -> str:
    """Return the size of a difference: relative where its interval is known, else absolute.

    Without ``signed`` the verdict tells the direction.
    """
    lift = [row[name] for name in ("lift", "lift_low", "lift_high")]
    known = all(value is not None and math.isfinite(value) for value in lift)
    if known:
        # A measure of which small values are good falls by as much.
        if not signed and lift[0] < 0:
            lift = [-lift[0], -lift[2], -lift[1]]
        value, low, high = (f"{100 * part:+.1f}" if signed else f"{100 * part:.1f}" for part in lift)
        return f"{value} % [{low}, {high}]"
    limits = [row[name] for name in ("difference", "low", "high")]
    if not signed and limits[0] < 0:
        limits = [-limits[0], -limits[2], -limits[1]]
    value, *ends = (f"{part:+.4f}" if signed else number(part) for part in limits)
    return f"{value} [{', '.join(ends)}]"
