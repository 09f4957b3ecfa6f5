"""Comparisons as a verdict in words, and as tables for a terminal or a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.comparison.claims import stated_condition
from rankwise.comparison.design import Design, ServedByBoth
from rankwise.comparison.rows import IN_PAIR_TABLE
from rankwise.core.terminal import (
    Cell,
    Detail,
    Marked,
    TableView,
    brief,
    change,
    count_of,
    first_names,
    level_text,
    signed,
)
from rankwise.findings.finding import OPPOSITE
from rankwise.findings.sentences import detectable_sentence
from rankwise.findings.sentences import pair_sentence as finding_sentence
from rankwise.findings.tables import finding_view
from rankwise.findings.words import (
    _NAMED,
    CONDITIONAL,
    CORRECTIONS,
    DIFFERENT_IF,
    OPEN_VERDICTS,
    VERDICT_MARKS,
    group_name,
    group_words,
    interval_text,
    is_missing,
    level_of,
    listing,
    loss_in_cells,
    loss_text,
    pair_name,
    places,
    rounded,
    verdict_tone,
)
from rankwise.metrics.coverage import WIDE
from rankwise.results.sampling_unit import SamplingUnit

_CAVEATS = 3  # that are printed unless everything is asked for
_MOST_PAIRED = 12  # systems up to which all pairs are printed; of more, their ranks
_MOST_RANKED = 40  # systems whose ranks are printed


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
        head = _over_groups(rows, design)
    elif (baseline := _baseline(rows, design)) is not None:
        head = _against(rows, baseline, design)
    else:
        head = _of_all_pairs(rows, design)
    stated = _stated_of(rows[0]["metric"], design)
    if len(rows) > 1 and stated and any(row["verdict"] in _ANY_USERS for row in rows):
        head = f"{head.removesuffix('.')}, as long as {stated} (stated)."
    unseen = [_unseen_sentence(rows[0], design)] if len(rows) == 1 else []
    served = [served_sentence(pair) for pair in design.served_by_both if pair.decides]
    return [head, *filter(None, unseen), *served, *(text for _, text in costs(table, design))]


def _baseline(rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the common baseline of all pairs, or None."""
    if design.baseline is not None:
        return str(design.baseline)
    names = {row["baseline"] for row in rows}
    return names.pop() if len(names) == 1 and len({row["system"] for row in rows}) == 1 else None


def _systems_with(rows: Sequence[Mapping[str, Any]], *verdicts: str) -> list[str]:
    return list(dict.fromkeys(row["system"] for row in rows if row["verdict"] in verdicts))


def _against(rows: Sequence[Mapping[str, Any]], baseline: str, design: Design) -> str:
    """Return which systems beat the baseline, and which do not."""
    metric = rows[0]["metric"]
    better = _systems_with(rows, "better", "better if")
    worse = _systems_with(rows, "worse", "worse if")
    same, open_ = _systems_with(rows, "equivalent"), _systems_with(rows, *OPEN_VERDICTS)
    if not better and not worse and not same and not _systems_with(rows, "equivalent if"):
        differs = _systems_with(rows, "different", "different if")
        return (
            _nothing(rows)
            if not differs
            else f"{listing(differs)} differ from {baseline} on {metric}"
            f"{_if(rows, 'different if', differs, design)}."
        )
    parts = _wins_over_baseline(rows, baseline, design)
    parts = parts or [f"No system is shown to beat {baseline} on {metric}"]
    parts += [
        f"{listing(names)} {_is(names)} worse{_if(rows, verdict, names, design)}"
        for verdict in ("worse", "worse if")
        if (names := _systems_with(rows, verdict))
    ]
    parts += [f"{listing(same)} {_is(same)} equivalent within the margin"] if same else []
    same_if = _systems_with(rows, "equivalent if")
    condition = _if(rows, "equivalent if", same_if, design)
    parts += (
        [f"{listing(same_if)} {_is(same_if)} equivalent within the margin{condition}"]
        if same_if
        else []
    )
    parts += [f"{listing(open_)} {_is(open_)} not shown to differ"] if open_ and better else []
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
            parts.append(f"{listing(names)} {beat} {whom}{_if(rows, verdict, names, design)}")
    return parts


def _if(
    rows: Sequence[Mapping[str, Any]], verdict: str, names: Sequence[str], design: Design
) -> str:
    """Return the condition under which the systems have a verdict; empty for any users."""
    if verdict not in CONDITIONAL:
        return ""
    losses = [
        row["condition"] for row in rows if row["verdict"] == verdict and row["system"] in names
    ]
    return "" if not losses else f" if {design.unit.condition(loss_text(min(losses)))}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _of_all_pairs(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Describe the leading system and the systems that are shown to be worse."""
    metric = rows[0]["metric"]
    leader = _leader(metric, rows, design)
    if not any(row["verdict"] in _DECIDED for row in rows):
        return _nothing(rows)

    candidates = [rank.system for rank in design.ranks if rank.may_be_best_if]
    if len(candidates) > 1:
        best = f"one of {len(candidates)}"
        if len(candidates) <= _NAMED + 1:
            best = listing(candidates, named=_NAMED + 1).replace(" and ", " or ")
        condition = _condition_of_ranks(design)
        return f"The best system is {best} on {metric}{condition}; which one is not shown."

    verdicts = {} if leader is None else _verdicts_of(leader, rows)
    beaten = [name for name, verdict in verdicts.items() if verdict.startswith("better")]
    if not beaten:
        return f"{_count_of_pairs(rows, design)} on {metric}."
    others = [name for name in verdicts if name not in beaten]
    rest = f"; {listing(others)} {_is(others)} not shown to differ from it" if others else ""
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


_ANY_USERS = ("better", "worse", "different", "equivalent")
"""The verdicts without a condition of their own."""
_DECIDED = ("better", "worse", "different", *DIFFERENT_IF)
"""The verdicts that say something of either side."""


def _condition_of_ranks(design: Design) -> str:
    """Return the condition of all conditional verdicts that ranks count; empty if there is none."""
    losses = [rank.condition for rank in design.ranks if rank.condition is not None]
    return f" if {design.unit.condition(loss_text(min(losses)))}" if losses else ""


def _count_of_pairs(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
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


def _over_groups(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return in which groups of users systems differ."""
    metric, by = rows[0]["metric"], design.by
    pairs = {(row["system"], row["baseline"]) for row in rows}
    decided = [row for row in rows if row["verdict"] in _DECIDED]
    if not decided:
        return _nothing(rows)
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
            condition = _if(rows, verdict, [system], design)
            parts.append(
                f"{verb} {baseline} on {metric} for {by} {listing(groups, 'groups', 6)}{condition}"
            )
    open_ = [group_name(row["group"]) for row in rows if row["verdict"] in OPEN_VERDICTS]
    rest = f"; no difference is shown for {listing(open_, 'groups', 6)}" if open_ else ""
    return f"{system} {', and '.join(parts)}{rest}."


def _nothing(rows: Sequence[Mapping[str, Any]]) -> str:
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
    """Return what was stated about unseen users on a metric; empty for nothing."""
    losses = {cell: loss for cell, loss in design.largest_loss.items() if cell == metric}
    return stated_condition(design.unit, losses, design.largest_cluster)


def _unseen_sentence(row: Mapping[str, Any], design: Design) -> str:
    """Return what was seen of losses, and how many users would lift the condition of a verdict."""
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


def _condition_notes(table: pl.DataFrame, design: Design) -> list[str]:
    """Return what conditional verdicts rest on, and which pairs a t test alone would show."""
    rows = table.filter(pl.col("primary")).to_dicts() or table.to_dicts()
    conditional = [row for row in rows if row["verdict"] in CONDITIONAL]
    alone = [row for row in rows if row["verdict"] == "not shown" and _is_shown_by_t(row, design)]
    notes = []
    if conditional:
        notes.append(_note_on_conditions(conditional, design.unit))
    if alone:
        more = " further" if len(alone) < len(rows) else ""
        pairs = "pair" if len(alone) == 1 else "pairs"
        names = first_names([pair_name(row) for row in alone])
        test = "a paired t test" if design.unit.clusters is None else "a clustered t test"
        notes.append(
            f"By {test} alone, as most tools report: {len(alone)}{more} {pairs} ({names})."
        )
    return notes


def _is_shown_by_t(row: Mapping[str, Any], design: Design) -> bool:
    """Return whether a t test alone would show the difference of a pair."""
    p = row["p_design_adjusted"]
    return not is_missing(p) and p < design.alpha


def _note_on_conditions(rows: Sequence[Mapping[str, Any]], unit: SamplingUnit) -> str:
    """Return which loss of the users who were not sampled would undo conditional verdicts."""
    losses = [row["condition"] for row in rows]
    cells, words = loss_in_cells(losses[0]), loss_text(losses[0])
    if len(set(map(loss_text, losses))) > 1:
        cells = words = "L"
    seen = max(row["loss_seen"] for row in rows)
    possible = rows[0]["loss_possible"]
    limit = "" if is_missing(possible) else f"; possible: {brief(possible)}"
    worth = "" if unit.clusters is None else f" {unit.rows}' worth"
    return (
        f"if ≤ {cells}: shown, unless {unit.unseen} lose more than {words}{worth} (largest "
        f"loss among these {unit.counted_in(rows[0])}: {brief(seen)}{limit})."
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
    return [cost for pair in pairs[:_NAMED] if (cost := _cost(pair, rows)) is not None]


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


def system_order(table: pl.DataFrame, design: Design) -> list[str]:
    """Return the systems, the baseline first and then the best on the primary metric first."""
    rows = table.filter(pl.col("primary")).to_dicts()
    means, up = means_by_system(rows), design.directions.get(design.primary) is not False
    worst = -math.inf if up else math.inf
    names = sorted(
        means, key=lambda name: worst if is_missing(means[name]) else means[name], reverse=up
    )
    baseline = _baseline(rows, design) if design.by is None else None
    return sorted(names, key=lambda name: name != baseline)


def _leader(metric: str, rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the system with the best mean of the metric of these pairs, if one is best."""
    better = design.directions.get(metric)
    if better is None:
        return None
    defined = {name: mean for name, mean in means_by_system(rows).items() if not is_missing(mean)}
    if not defined:
        return None
    best: str = (max if better else min)(defined, key=lambda name: defined[name])
    return best


def means_by_system(rows: Sequence[Mapping[str, Any]], name: str = "mean") -> dict[str, Any]:
    """Return a value that pairs have of both systems, by system."""
    values = {row["baseline"]: row[f"{name}_baseline"] for row in rows}
    return values | {row["system"]: row[f"{name}_system"] for row in rows}


def comparison_views(
    table: pl.DataFrame, design: Design, detail: Detail = "table"
) -> list[TableView]:
    """Return the verdict alone, or with the metrics and the method, or with all pairs in full."""
    head, *rest = verdict_sentences(table, design)
    verdict = TableView((), (), rest, caption=head)
    if detail == "verdict":
        return [verdict]
    if detail == "full" or not table["primary"].any():
        return [verdict, pair_view(table, design)]
    primary = table.filter(pl.col("primary"))
    is_board = design.baseline is None and len(design.ranks) > _MOST_PAIRED
    main = _board_view(primary, design) if is_board else _primary_view(primary, design)
    others = table.filter(~pl.col("primary"))
    baseline = _baseline(table.to_dicts(), design)
    views = (
        [main]
        if others.is_empty()
        else [main, _other_view(others, design, baseline, system_order(table, design))]
    )
    return [verdict, *views[:-1], replace(views[-1], notes=_notes(table, design, _CAVEATS))]


def _primary_view(rows: pl.DataFrame, design: Design) -> TableView:
    """Return the pairs of the primary metric: one row per system against a baseline, or pair."""
    dicts = rows.to_dicts()
    baseline = _baseline(dicts, design) if design.by is None else None
    by_system = baseline is not None
    if by_system:
        place = {name: at for at, name in enumerate(system_order(rows, design))}
        dicts.sort(key=lambda row: place[row["system"]])
    users, level = rows["users"].unique().to_list(), level_of(dicts)
    heads = {
        "verdict": "",
        "users": design.unit.rows,
        "interval": _interval_head(level, dicts, design),
        "p": adjusted_p_name(dicts, design),
        **({"system": "mean"} if by_system else {}),
    }
    return finding_view(
        dicts,
        IN_PAIR_TABLE,
        name=_row_namer(dicts, design, by_system=by_system),
        corner=_corner(str(dicts[0]["metric"]), users, design),
        heads=heads,
        level=level,
        hidden={*(["users"] if len(users) == 1 else []), *(["baseline"] if by_system else [])},
        staying={"system"} if by_system else (),
        above=[(str(baseline), {"system": brief(dicts[0]["mean_baseline"])})] if by_system else (),
    )


def _board_view(rows: pl.DataFrame, design: Design) -> TableView:
    """Return one row per system: its mean, its rank, and the ranks that verdicts allow."""
    users = rows["users"].unique().to_list()
    has_condition = any(rank.condition is not None for rank in design.ranks)
    head = [_corner(design.primary, users, design), "mean", "rank", "for any users"]
    head += ["if"] if has_condition else []
    body: list[list[Cell]] = []
    for rank in design.ranks[:_MOST_RANKED]:
        cells: list[Cell] = [rank.system, brief(rank.mean), f"{rank.rank:,}"]
        cells.append(range_text(rank.rank_low, rank.rank_high))
        cells += [range_text(rank.rank_low_if, rank.rank_high_if)] if has_condition else []
        body.append(cells)
    left = len(design.ranks) - _MOST_RANKED
    notes = [f"… and {count_of(left, 'more system')}."] if left > 0 else []
    notes.append(f"{_count_of_pairs(rows.to_dicts(), design)}.")
    return TableView(head, body, notes, left=(0,))


def range_text(low: int, high: int) -> str:
    """Return a range of ranks.

    >>> range_text(1, 3), range_text(2, 2)
    ('1 to 3', '2')
    """
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _corner(metric: str, users: Sequence[int], design: Design) -> str:
    """Return the metric with its sample, if all rows have one, and the grouping."""
    head = f"{metric}, {design.unit.counted(users[0])}" if len(users) == 1 else metric
    return head if design.by is None else f"{head}, by {design.by}"


def _row_namer(
    rows: Sequence[Mapping[str, Any]], design: Design, *, by_system: bool
) -> Callable[[Mapping[str, Any]], str]:
    """Return what names a row: its system or pair, within groups first the group."""
    one_pair = len({(row["system"], row["baseline"]) for row in rows}) == 1

    def name(row: Mapping[str, Any]) -> str:
        pair = str(row["system"]) if by_system else pair_name(row)
        if design.by is None:
            return pair
        return group_name(row["group"]) + ("" if one_pair else f": {pair}")

    return name


def _other_view(
    rows: pl.DataFrame, design: Design, baseline: str | None, order: Sequence[str]
) -> TableView:
    """Return exploratory metrics, one row each: values of systems, or changes within groups."""
    dicts = rows.to_dicts()
    if design.by is not None or design.data_sets:
        by_metric = _changes_by_metric(dicts, design)
        columns = list(dict.fromkeys(name for cells in by_metric.values() for name in cells))
        marks = ": ▲ better, ▼ worse"
    else:
        by_metric = _values_by_metric(dicts, baseline)
        present = {name for cells in by_metric.values() for name in cells}
        columns = [name for name in order if name in present]
        marks = "" if baseline is None else ": ▲ better, ▼ worse"
    if marks and any(row["verdict"] in CONDITIONAL for row in dicts):
        marks += ", △ ▽ if"
    return TableView(
        (f"exploratory{marks}", *columns),
        [(name, *(cells.get(c, "") for c in columns)) for name, cells in by_metric.items()],
    )


def _changes_by_metric(
    rows: Sequence[Mapping[str, Any]], design: Design
) -> dict[str, dict[str, Cell]]:
    """Return the change of each metric, of each pair if there are several, within each group."""
    several = len({(row["system"], row["baseline"]) for row in rows}) > 1
    by_metric: dict[str, dict[str, Cell]] = {}
    for row in rows:
        name = f"{row['metric']}, {pair_name(row)}" if several else str(row["metric"])
        over_all = design.data_sets and row["group"] is None
        column = "all" if over_all else group_name(row["group"])
        by_metric.setdefault(name, {})[column] = _with_verdict(change(row["lift"]), row)
    return by_metric


def _values_by_metric(
    rows: Sequence[Mapping[str, Any]], baseline: str | None
) -> dict[str, dict[str, Cell]]:
    """Return the value of each system of each metric, marked if there is a baseline."""
    by_metric: dict[str, dict[str, Cell]] = {}
    for row in rows:
        cells = by_metric.setdefault(row["metric"], {})
        cells.setdefault(row["baseline"], brief(row["mean_baseline"]))
        value = brief(row["mean_system"])
        cells[row["system"]] = value if baseline is None else _with_verdict(value, row)
    return by_metric


def _with_verdict(text: str, row: Mapping[str, Any]) -> Marked:
    """Return a text with the mark and the colour of the verdict of a row."""
    mark = VERDICT_MARKS.get(row["verdict"], " ")
    return Marked(f"{text} {mark}", verdict_tone(row["verdict"]))


def pair_view(table: pl.DataFrame, design: Design) -> TableView:
    """Return one row per pair and metric with every column and note, the primary metric first."""
    dicts = table.sort("primary", descending=True, maintain_order=True).to_dicts()
    several = {row["primary"] for row in dicts} == {True, False}
    level = math.nan if several else level_of(dicts)
    return finding_view(
        dicts,
        IN_PAIR_TABLE,
        name=lambda row: f"{metric_name(row, design)}  {pair_name(row)}",
        heads={
            "interval": _interval_head(level, dicts, design),
            "p": "p adjusted" if several else adjusted_p_name(dicts, design),
            "users": design.unit.rows,
        },
        level=level,
        may_leave=False,
        notes=_notes(table, design),
    )


def _correction_of(rows: Sequence[Mapping[str, Any]], design: Design) -> str | None:
    """Return the name of the correction of a family; None if a single test needs none."""
    if len(rows) + design.earlier < 2:
        return None
    return CORRECTIONS.get(design.correction if rows[0]["primary"] else "bh")


def adjusted_p_name(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return the label of the p-value beside a verdict, with the correction if there is one."""
    correction = _correction_of(rows, design)
    return "p" if correction is None else f"p ({correction})"


def _interval_head(level: float, rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return the head of intervals: the level, and the correction if the level depends on one."""
    if math.isnan(level):
        return "interval"
    correction = _correction_of(rows, design)
    joint = design.correction in ("max_t", "tukey") and rows[0]["primary"]
    named = correction is not None and (joint or abs(level - 1 + design.alpha) > 1e-9)
    return f"{level_text(level)} interval" + (f" ({correction})" if named else "")


def metric_name(row: Mapping[str, Any], design: Design) -> str:
    """Return the metric of a row, with its group of users or data set."""
    if design.data_sets:
        return f"{row['metric']}, {row['group'] or 'mean of data sets'}"
    if design.by is None:
        return str(row["metric"])
    return f"{row['metric']}, {design.by} {group_name(row['group'])}"


def tests_of(table: pl.DataFrame) -> str:
    """Return the tests of a comparison, each once."""
    return ", ".join(table["test"].drop_nulls().unique(maintain_order=True))


def labels_of(design: Design) -> list[str]:
    """Return the labels of systems whose values are over sampled candidates."""
    return [f"{name}: {label}" for name, label in design.labels.items() if label]


def method_line(table: pl.DataFrame, design: Design) -> str:
    """Return how the pairs were tested, and over how many pairs p-values are corrected."""
    family, others = table.filter(pl.col("primary")), table.filter(~pl.col("primary"))
    tests = tests_of(family) or tests_of(table)
    text = f"{tests[:1].upper()}{tests[1:]}"
    pairs = len(family) + design.earlier
    correction = CORRECTIONS.get(design.correction)
    if pairs > 1:
        where = "" if design.by is None else f" and groups by {design.by}"
        text += (
            ", without correction"
            if correction is None
            else f", {correction} over {pairs} pairs{where}"
        )
    text += f"; {_levels(family.to_dicts() or table.to_dicts())}."
    if not len(others):
        return text
    return (
        f"{text} Exploratory: Benjamini–Hochberg over {len(others)}; {_levels(others.to_dicts())}."
    )


def _levels(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the confidence level of the intervals beside verdicts."""
    same = [row for row in rows if row["verdict"] == "equivalent"]
    levels = dict.fromkeys(level_text(row["confidence"]) for row in rows if row not in same)
    texts = [f"{' and '.join(levels)} intervals"] if levels else []
    of_margins = dict.fromkeys(level_text(row["confidence"]) for row in same)
    texts += [f"{' and '.join(of_margins)} intervals of equivalence"] if same else []
    return ", ".join(texts)


def _notes(table: pl.DataFrame, design: Design, most: int | None = None) -> list[str]:
    """Return the method, the metrics not compared, and caveats (at most ``most``)."""
    notes = [
        method_line(table, design),
        *sample_notes(table, design),
        *_ranks(design),
        *_reuse(design),
        *statement_notes(design),
        *_notes_on_runs(design),
    ]
    notes = [*_condition_notes(table, design), *notes]
    notes += [", ".join(f"{name}: {source}" for name, source in design.sources.items())]
    notes += [
        *design.plans,
        *design.unchecked,
        *not_compared_notes(design.not_compared),
    ]
    lines = _caveats(table, design, left_out=() if most is None else (WIDE,))
    more = (
        []
        if most is None or len(lines) <= most
        else [f"… and {count_of(len(lines) - most, 'more note')}"]
    )
    return [note for note in (*notes, *labels_of(design), *lines[:most], *more) if note]


def _caveats(table: pl.DataFrame, design: Design, left_out: Sequence[str] = ()) -> list[str]:
    """Return the flags of rows, each with its rows, except the flags in ``left_out``."""
    caveats: dict[str, dict[str, dict[str, None]]] = {}
    pairs: dict[str, set[str]] = {}
    for row in table.iter_rows(named=True):
        metric, pair = metric_name(row, design), pair_name(row)
        pairs.setdefault(metric, set()).add(pair)
        dropped = [row["dropped_because"]] if row["dropped_because"] else []
        for flag in (*row["flags"], *dropped):
            if flag not in left_out:
                caveats.setdefault(flag, {}).setdefault(metric, {})[pair] = None
    return [
        f"{first_names([_where(metric, list(those), len(pairs[metric])) for metric, those in where.items()])}: {flag}"
        for flag, where in caveats.items()
    ]


def _where(metric: str, flagged: Sequence[str], pairs: int) -> str:
    """Return a metric with its flagged pairs; the metric alone if all pairs are flagged."""
    return metric if len(flagged) == pairs else f"{metric} of {first_names(flagged)}"


def _ranks(design: Design) -> list[str]:
    """Return the confidence intervals of the ranks of the first ten systems."""
    ranks = design.ranks
    if not ranks or (design.baseline is None and len(ranks) > _MOST_PAIRED):  # in the table
        return []
    texts = [f"{rank.system} {range_text(rank.rank_low, rank.rank_high)}" for rank in ranks[:10]]
    more = f", … ({len(ranks)} systems)" if len(ranks) > 10 else ""
    lines = [f"Ranks, {_rank_claim(design)}: {', '.join(texts)}{more}."]
    condition = _condition_of_ranks(design)
    if condition:
        with_conditions = [
            f"{rank.system} {range_text(rank.rank_low_if, rank.rank_high_if)}"
            for rank in ranks[:10]
        ]
        lines.append(f"Ranks{condition}: {', '.join(with_conditions)}{more}.")
    return lines


def _rank_claim(design: Design) -> str:
    """Describe the error control of ranks: family-wise, false discovery rate, or per pair."""
    correction = design.correction
    if correction == "none":
        return f"each pair at level {design.alpha:g}, without correction"
    if correction in ("bh", "by"):
        return f"with a false discovery rate of {design.alpha:g} ({CORRECTIONS[correction]})"
    return f"together with {level_text(1 - design.alpha)} confidence"


def statement_notes(design: Design) -> list[str]:
    """Return what was stated about unseen users and clusters, and whether a plan has it."""
    stated = stated_condition(design.unit, design.largest_loss, design.largest_cluster)
    if not stated:
        return []
    where = "" if design.plans else "; it is not in a plan"
    return [f"Verdicts hold as long as {stated}, as stated{where}."]


def _notes_on_runs(design: Design) -> list[str]:
    """Return whether intervals hold for other runs of systems that were run once."""
    if design.noise:
        runs = {f"{count_of(count, 'run')} of {name}" for name, count in design.noise.items()}
        known = listing(sorted(runs)) if len({*design.noise.values()}) > 1 else ""
        known = known or count_of(next(iter(design.noise.values())), "run")
        return [f"Intervals hold for other runs as well: the noise is known from {known}."]
    several = {} if design.seeds is None else design.seeds.counts
    if any(count > 1 for count in several.values()) or design.data_sets:
        return []
    note = "Each system has one run: the noise between runs is not in these intervals"
    return [f"{note} (`rankwise stability`)."]


def _reuse(design: Design) -> list[str]:
    """Return how often the ground truth was used before, and whether the correction knows."""
    earlier, notes = design.earlier, []
    if earlier:
        pairs = "1 pair that was" if earlier == 1 else f"{earlier:,} pairs that were"
        notes.append(f"P-values are corrected for {pairs} compared earlier on this test set, too.")
    uses = design.test_set
    others = uses.get("systems", 0) - uses.get("compared", 0)
    if others > earlier:
        notes.append(
            f"{uses['systems']:,} systems are saved on this test set, of which "
            f"{uses['compared']:,} are compared here: "
            "the best of many looks better than it is. To correct for the others, set earlier to "
            f"{others:,}."
        )
    return notes


def sample_of(rows: Sequence[Mapping[str, Any]], unit: SamplingUnit) -> str:
    """Describe the sample of the means: the users of all rows, or their requests.

    >>> rows = [{"users": 233, "clusters": 80}, {"users": 213, "clusters": 80}]
    >>> sample_of(rows, SamplingUnit("request", "user"))
    '213 to 233 requests of 80 users'
    >>> sample_of([{"users": 9, "clusters": None}], SamplingUnit()), sample_of([], SamplingUnit())
    ('9 users', 'no users')
    """
    if not rows:
        return f"no {unit.rows}"
    text = _spread([row["users"] for row in rows], unit.row)
    people = [row["clusters"] for row in rows if row["clusters"] is not None]
    return f"{text} of {_spread(people, 'user')}" if unit.is_of_requests and people else text


def _spread(counts: Sequence[int], noun: str) -> str:
    """Return the smallest and the largest count of things."""
    low, high = min(counts), max(counts)
    return count_of(high, noun) if low == high else f"{low:,} to {count_of(high, noun)}"


def sample_notes(table: pl.DataFrame, design: Design) -> list[str]:
    """Return notes on random samples besides users: clusters of users, seeds and data sets."""
    notes = []
    if design.clusters and table["clusters"].drop_nulls().len():
        unit, sizes = design.unit, table["clusters"].drop_nulls().to_list()
        each = "" if design.by is None else " in each group"
        if unit.is_of_requests:
            notes.append(
                f"Lists are of requests: those of {_spread(sizes, 'user')}{each}, the sampling "
                "units."
            )
        else:
            spread = _spread(sizes, "cluster")
            notes.append(
                f"{unit.rows.title()} are in {spread} by {unit.clusters}{each}, which are the "
                "sampling units."
            )
    if design.data_sets:
        notes.append(
            f"Over {len(design.data_sets)} data sets, as a random sample with equal "
            "weights; results on each alone are exploratory."
        )
    if design.seeds:
        numbers = design.seeds.counts
        counts = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        counts = (
            f"{next(iter(numbers.values()))} each" if len(set(numbers.values())) == 1 else counts
        )
        notes.append(
            f"Values are means over seeds ({counts}), {design.seeds.design} between "
            "systems; intervals and tests generalise to other users and other seeds."
        )
    return notes


def not_compared_notes(reasons: Mapping[str, str]) -> list[str]:
    """Return why metrics are left out, the first six of each reason by name."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in reasons.items():
        by_reason.setdefault(reason, []).append(cell)
    return [
        f"Not compared: {', '.join(cells[:6])}{', …' if len(cells) > 6 else ''}: {reason}."
        for reason, cells in by_reason.items()
    ]
