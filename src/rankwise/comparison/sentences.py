"""Comparisons as sentences: the verdict of each pair, of all, and what one system costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.comparison.claims import stated_condition
from rankwise.comparison.design import Design, ServedByBoth
from rankwise.comparison.system_order import baseline_of, leader_of, means_by_system, system_order
from rankwise.core.terminal import brief, signed
from rankwise.findings.finding import OPPOSITE
from rankwise.findings.sentences import detectable_sentence
from rankwise.findings.sentences import pair_sentence as finding_sentence
from rankwise.findings.words import (
    CONDITIONAL,
    CORRECTIONS,
    DIFFERENT_IF,
    NAMED,
    OPEN_VERDICTS,
    group_name,
    group_words,
    interval_text,
    is_missing,
    listing,
    loss_text,
    places,
    rounded,
)

_ANY_USERS = ("better", "worse", "different", "equivalent")
"""The verdicts without a condition of their own."""
_DECIDED = ("better", "worse", "different", *DIFFERENT_IF)
"""The verdicts that say something of either side."""


def verdict_sentences(table: pl.DataFrame, design: Design) -> list[str]:
    """Return sentences on the primary metric, the effect of unserved users, and costs.

    Where no pair differs, the first sentence says how large a difference would have been found.
    """
    rows = table.filter(pl.col("primary")).to_dicts()
    if not rows:
        return ["Nothing was compared."]
    if len(rows) == 1:
        head = pair_sentence(rows[0], design)
    elif design.by is not None:
        head = _groups_sentence(rows, design)
    elif (baseline := baseline_of(rows, design)) is not None:
        head = _baseline_sentence(rows, baseline, design)
    else:
        head = _leader_sentence(rows, design)
    stated = _stated_of(rows[0]["metric"], design)
    if len(rows) > 1 and stated and any(row["verdict"] in _ANY_USERS for row in rows):
        head = f"{head.removesuffix('.')}, as long as {stated} (stated)."
    unseen = [_unseen_sentence(rows[0], design)] if len(rows) == 1 else []
    served = [served_sentence(pair) for pair in design.served_by_both if pair.decides]
    return [head, *filter(None, unseen), *served, *(text for _, text in costs(table, design))]


def _systems_with(rows: Sequence[Mapping[str, Any]], *verdicts: str) -> list[str]:
    return list(dict.fromkeys(row["system"] for row in rows if row["verdict"] in verdicts))


def _baseline_sentence(rows: Sequence[Mapping[str, Any]], baseline: str, design: Design) -> str:
    """Return which systems beat the baseline, and which do not."""
    metric = rows[0]["metric"]
    better = _systems_with(rows, "better", "better if")
    worse = _systems_with(rows, "worse", "worse if")
    same, open_ = _systems_with(rows, "equivalent"), _systems_with(rows, *OPEN_VERDICTS)
    if not better and not worse and not same and not _systems_with(rows, "equivalent if"):
        differs = _systems_with(rows, "different", "different if")
        return (
            _no_difference_sentence(rows)
            if not differs
            else f"{listing(differs)} differ from {baseline} on {metric}"
            f"{_condition_of(rows, 'different if', differs, design)}."
        )
    parts = _wins_over_baseline(rows, baseline, design)
    parts = parts or [f"No system is shown to beat {baseline} on {metric}"]
    parts += [
        f"{listing(names)} {_verb_of(names)} worse{_condition_of(rows, verdict, names, design)}"
        for verdict in ("worse", "worse if")
        if (names := _systems_with(rows, verdict))
    ]
    parts += [f"{listing(same)} {_verb_of(same)} equivalent within the margin"] if same else []
    same_if = _systems_with(rows, "equivalent if")
    condition = _condition_of(rows, "equivalent if", same_if, design)
    parts += (
        [f"{listing(same_if)} {_verb_of(same_if)} equivalent within the margin{condition}"]
        if same_if
        else []
    )
    parts += [f"{listing(open_)} {_verb_of(open_)} not shown to differ"] if open_ and better else []
    return "; ".join(parts) + "."


def _wins_over_baseline(
    rows: Sequence[Mapping[str, Any]], baseline: str, design: Design
) -> list[str]:
    """Return which systems beat the baseline for any users, and which under a condition."""
    parts: list[str] = []
    for verdict in ("better", "better if"):
        names = _systems_with(rows, verdict)
        if names:
            whom = "it" if parts else f"{baseline} on {rows[0]['metric']}"
            beat = "beats" if len(names) == 1 else "beat"
            parts.append(
                f"{listing(names)} {beat} {whom}{_condition_of(rows, verdict, names, design)}"
            )
    return parts


def _condition_of(
    rows: Sequence[Mapping[str, Any]], verdict: str, names: Sequence[str], design: Design
) -> str:
    """Return the condition under which the systems have a verdict; empty for any users."""
    if verdict not in CONDITIONAL:
        return ""
    losses = [
        row["condition"] for row in rows if row["verdict"] == verdict and row["system"] in names
    ]
    return "" if not losses else f" if {design.unit.condition(loss_text(min(losses)))}"


def _verb_of(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _leader_sentence(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Describe the leading system and the systems that are shown to be worse."""
    metric = rows[0]["metric"]
    leader = leader_of(metric, rows, design)
    if not any(row["verdict"] in _DECIDED for row in rows):
        return _no_difference_sentence(rows)

    candidates = [rank.system for rank in design.ranks if rank.may_be_best_if]
    if len(candidates) > 1:
        best = f"one of {len(candidates)}"
        if len(candidates) <= NAMED + 1:
            best = listing(candidates, named=NAMED + 1).replace(" and ", " or ")
        condition = condition_of_ranks(design)
        return f"The best system is {best} on {metric}{condition}; which one is not shown."

    verdicts = {} if leader is None else _verdicts_of(leader, rows)
    beaten = [name for name, verdict in verdicts.items() if verdict.startswith("better")]
    if not beaten:
        return f"{count_of_pairs(rows, design)} on {metric}."
    others = [name for name in verdicts if name not in beaten]
    rest = f"; {listing(others)} {_verb_of(others)} not shown to differ from it" if others else ""
    losses = [
        row["condition"]
        for row in rows
        if row["verdict"] in DIFFERENT_IF
        and leader in (row["system"], row["baseline"])
        and not {row["system"], row["baseline"]}.isdisjoint(beaten)
    ]
    if losses:
        rest = f" if {design.unit.condition(loss_text(min(losses)))}{rest}"
    return f"{leader} beats {listing(beaten, 'other systems')} on {metric}{rest}."


def _verdicts_of(leader: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the verdict of the leader against each other system."""
    verdicts = {row["baseline"]: row["verdict"] for row in rows if row["system"] == leader}
    for row in rows:
        if row["baseline"] == leader:
            verdicts[row["system"]] = OPPOSITE.get(row["verdict"], row["verdict"])
    return verdicts


def condition_of_ranks(design: Design) -> str:
    """Return the condition of all conditional verdicts that ranks count; empty if there is none."""
    losses = [rank.condition for rank in design.ranks if rank.condition is not None]
    return f" if {design.unit.condition(loss_text(min(losses)))}" if losses else ""


def count_of_pairs(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return how many pairs are shown to differ, for any users and under a condition."""
    any_users = sum(row["verdict"] in ("better", "worse", "different") for row in rows)
    losses = [row["condition"] for row in rows if row["verdict"] in DIFFERENT_IF]
    total = f"of {len(rows)} pairs of systems"
    if not losses:
        return f"{any_users} {total} are shown to differ"
    condition = design.unit.condition(loss_text(min(losses)))
    return (
        f"{any_users + len(losses)} {total} are shown to differ if {condition}, "
        f"{any_users} for any {design.unit.rows}"
    )


def _groups_sentence(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return in which groups of users systems differ."""
    metric, by = rows[0]["metric"], design.by
    pairs = {(row["system"], row["baseline"]) for row in rows}
    decided = [row for row in rows if row["verdict"] in _DECIDED]
    if not decided:
        return _no_difference_sentence(rows)
    if len(pairs) > 1:
        return (
            f"{len(decided)} of {len(rows)} comparisons on {metric} within {by} show a difference."
        )
    ((system, baseline),) = pairs
    said = {
        "better": "beats",
        "better if": "beats",
        "worse": "is worse than",
        "worse if": "is worse than",
        "different": "differs from",
        "different if": "differs from",
    }
    parts = []
    for verdict, verb in said.items():
        groups = [group_name(row["group"]) for row in rows if row["verdict"] == verdict]
        if groups:
            condition = _condition_of(rows, verdict, [system], design)
            parts.append(
                f"{verb} {baseline} on {metric} for {by} {listing(groups, 'groups', 6)}{condition}"
            )
    open_ = [group_name(row["group"]) for row in rows if row["verdict"] in OPEN_VERDICTS]
    rest = f"; no difference is shown for {listing(open_, 'groups', 6)}" if open_ else ""
    return f"{system} {', and '.join(parts)}{rest}."


def _no_difference_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence for pairs without a difference, with the detectable difference."""
    metric, same = rows[0]["metric"], sum(row["verdict"] == "equivalent" for row in rows)
    if same == len(rows):
        return f"All {same} pairs are equivalent on {metric} within the margin."
    equivalent = f" {same} of {len(rows)} pairs are equivalent within the margin." if same else ""
    sizes = [row["minimum_detectable"] for row in rows if not is_missing(row["minimum_detectable"])]
    if not sizes or (
        any(map(math.isinf, sizes)) and any(map(math.isfinite, sizes))
    ):  # no one number is true of all
        return f"No difference is shown on {metric}.{equivalent}"
    largest = max(
        rows, key=lambda row: -1 if is_missing(size := row["minimum_detectable"]) else size
    )
    return f"No difference is shown on {metric}.{detectable_sentence(largest)}{equivalent}"


def pair_sentence(row: Mapping[str, Any], design: Design) -> str:
    """Return one row of a comparison as a sentence.

    >>> row = {"system": "B", "baseline": "A", "metric": "ndcg@10", "group": None,
    ...        "mean_system": 0.331, "mean_baseline": 0.321,
    ...        "difference": 0.01, "low": 0.004, "high": 0.016, "lift": 0.031, "lift_low": 0.012,
    ...        "lift_high": 0.05, "p_adjusted": 0.002, "users": 943, "verdict": "better",
    ...        "minimum_detectable": 0.008, "primary": True, "data_sets": None,
    ...        "seeds_system": None}
    >>> pair_sentence(row, Design())
    'B beats A on ndcg@10: 0.331 against 0.321, +3.1 % (1.2 to 5.0).'
    """
    group = "" if design.by is None else f" for {group_words(design.by, row['group'])}"
    return finding_sentence(
        row,
        inside=f"{group}{_sample_counts(row)}",
        condition=_condition_in(row, design),
        p_name=adjusted_p_name([row], design),
        alpha=design.alpha,
    )


def _condition_in(row: Mapping[str, Any], design: Design) -> str:
    """Return the condition of the verdict of a row, or what was stated; empty for any users."""
    if row["verdict"] in CONDITIONAL:
        return design.unit.condition(loss_text(row["condition"]))
    stated = _stated_of(row["metric"], design)
    return f"{stated}, as stated" if stated else ""


def _stated_of(metric: str, design: Design) -> str:
    """Return the stated condition of a metric: what unseen users lose at most; empty without one."""
    losses = {cell: loss for cell, loss in design.largest_loss.items() if cell == metric}
    return stated_condition(design.unit, losses, design.largest_cluster)


def _unseen_sentence(row: Mapping[str, Any], design: Design) -> str:
    """Return the largest loss among these users, and how many users would lift a condition."""
    if row["verdict"] not in DIFFERENT_IF:
        return ""
    unit = design.unit
    seen = (
        f"nobody lost more than {brief(row['loss_seen'])}"
        if row["loss_seen"] > 0
        else "nobody lost anything"
    )
    possible = row["loss_possible"]
    limit = "" if is_missing(possible) else f"; {brief(possible)} is possible"
    text = f"Among these {unit.counted_in(row)} {seen}{limit}."
    low, high = row["users_for_any_low"], row["users_for_any_high"]
    if is_missing(possible):
        return text
    if low is None or high is None:
        return f"{text} A new sample of more {unit.rows} would decide it for any {unit.rows}."
    return (
        f"{text} About {rounded(low):,} to {rounded(high):,} {unit.rows} would show it for any "
        f"{unit.rows}."
    )


def _sample_counts(row: Mapping[str, Any]) -> str:
    """Return the numbers of seeds or of data sets that a row rests on."""
    if row["data_sets"]:
        return f" over {row['data_sets']} data sets"
    if row["seeds_system"] is None:
        return ""
    return f" ({row['seeds_system']} and {row['seeds_baseline']} seeds)"


def served_sentence(pair: ServedByBoth) -> str:
    """Describe the difference without the users whom only a single system of the pair serves.

    >>> pair = ServedByBoth(
    ...     system="b", baseline="a", metric="ndcg@10", users_with_one_list=153, users=2054, mean_baseline=0.05,
    ...     mean_system=0.05, difference=-0.00008, low=-0.0052, high=0.005, decides=True,
    ... )
    >>> served_sentence(pair)[:79]
    'Only one of b and a serves 153 users; among the 2,054 whom both serve, the diff'
    """
    row = vars(pair)
    size = f"{signed(pair.difference, places(row))} ({interval_text(row, signed)})"
    who = f"Only one of {pair.system} and {pair.baseline} serves {pair.users_with_one_list:,} users"
    return f"{who}; among the {pair.users:,} whom both serve, the difference is {size}."


def costs(table: pl.DataFrame, design: Design) -> list[tuple[dict[str, Any], str]]:
    """Return the largest loss of each winner over the baseline or runner-up, with its sentence."""
    if design.by is not None:
        return []
    rows = table.filter(pl.col("group").is_null()).to_dicts()
    primary, leaders = [row for row in rows if row["primary"]], {*system_order(table, design)[:2]}
    pairs = []
    for row in primary:
        if design.baseline is None and {row["system"], row["baseline"]} != leaders:
            continue
        if row["verdict"] in ("better", "better if"):
            pairs.append((row["system"], row["baseline"]))
        elif row["verdict"] in ("worse", "worse if") and design.baseline is None:
            pairs.append((row["baseline"], row["system"]))
    return [cost for pair in pairs[:NAMED] if (cost := _cost(pair, rows)) is not None]


def _cost(
    pair: tuple[str, str], rows: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], str] | None:
    """Return the largest loss, with its sentence, if ``pair[0]`` replaces ``pair[1]``, or None."""
    winner, loser = pair
    losses = {(winner, loser): "worse", (loser, winner): "better"}
    worse = [row for row in rows if losses.get((row["system"], row["baseline"])) == row["verdict"]]
    worse = [row for row in worse if not row["primary"]]
    if not worse:
        return None
    row = max(worse, key=lambda row: 0.0 if is_missing(row["lift"]) else abs(row["lift"]))
    means = means_by_system([row])
    others = [other["metric"] for other in worse if other is not row]
    more = f", and on {listing(others, 'other metrics', 2)}" if others else ""
    text = (
        f"{winner} is worse on {row['metric']}: {brief(means[loser])} → "
        f"{brief(means[winner])}{more} (exploratory)."
    )
    return row, text


def correction_of(rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the name of the correction of a family; None if a single test needs none."""
    if len(rows) + design.earlier < 2:
        return None
    return CORRECTIONS.get(design.correction if rows[0]["primary"] else "bh")


def adjusted_p_name(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return the label of the p-value beside a verdict, with the correction if there is one."""
    correction = correction_of(rows, design)
    return "p" if correction is None else f"p ({correction})"
