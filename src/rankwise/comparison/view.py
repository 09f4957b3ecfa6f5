"""Comparisons as a verdict in words, and as tables for a terminal or a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.core.terminal import (
    Cell,
    Detail,
    Marked,
    Style,
    TableView,
    brief,
    change,
    count_of,
    first_names,
    level_text,
    signed,
)
from rankwise.findings.columns import Column
from rankwise.findings.finding import ALL_LISTS, IN_PAIR_TABLE
from rankwise.findings.words import (
    _NAMED,
    CORRECTIONS,
    change_text,
    group_name,
    group_words,
    interval_text,
    is_missing,
    listing,
    margin_mark,
    named_p,
    pair_name,
    places,
)
from rankwise.metrics.coverage import WIDE
from rankwise.results.sampling_unit import SamplingUnit

_CAVEATS = 3  # that are printed unless everything is asked for


def verdict_sentences(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return sentences on the primary metric, the effect of unserved users, and costs.

    Where no pair differs, the first sentence says how large a difference would have been found.
    """
    rows = table.filter(pl.col("primary")).to_dicts()
    if not rows:
        return ["Nothing was compared."]
    if len(rows) == 1:
        head = pair_sentence(rows[0], settings)
    elif settings["by"] is not None:
        head = _over_groups(rows, settings)
    elif (baseline := _baseline(rows, settings)) is not None:
        head = _against(rows, baseline)
    else:
        head = _of_all_pairs(rows, settings)
    leads = [lead_sentence(lead) for lead in settings.get("leads", ()) if lead["decides"]]
    return [head, *leads, *(text for _, text in costs(table, settings))]


def _baseline(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str | None:
    """Return the common baseline of all pairs, or None."""
    if settings["baseline"] is not None:
        return str(settings["baseline"])
    names = {row["baseline"] for row in rows}
    return names.pop() if len(names) == 1 and len({row["system"] for row in rows}) == 1 else None


def _with_verdict(rows: Sequence[Mapping[str, Any]], verdict: str) -> list[str]:
    return list(dict.fromkeys(row["system"] for row in rows if row["verdict"] == verdict))


def _against(rows: Sequence[Mapping[str, Any]], baseline: str) -> str:
    """Return which systems beat the baseline, and which do not."""
    metric = rows[0]["metric"]
    better, worse, same, open_ = (
        _with_verdict(rows, verdict) for verdict in ("better", "worse", "equivalent", "not shown")
    )
    if not better and not worse and not same:
        differs = _with_verdict(rows, "different")
        return (
            _nothing(rows)
            if not differs
            else f"{listing(differs)} differ from {baseline} on {metric}."
        )
    if better:
        parts = [
            f"{listing(better)} {'beats' if len(better) == 1 else 'beat'} {baseline} on {metric}"
        ]
    else:
        parts = [f"No system is shown to beat {baseline} on {metric}"]
    parts += [f"{listing(worse)} {_is(worse)} worse"] if worse else []
    parts += [f"{listing(same)} {_is(same)} equivalent within the margin"] if same else []
    parts += [f"{listing(open_)} {_is(open_)} not shown to differ"] if open_ and better else []
    return "; ".join(parts) + "."


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _of_all_pairs(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """Describe the leading system and the systems that are shown to be worse."""
    metric, leader = rows[0]["metric"], _leader(rows, settings)
    decided = [row for row in rows if row["verdict"] in ("better", "worse", "different")]
    if not decided:
        return _nothing(rows)
    verdicts = {row["baseline"]: row["verdict"] for row in rows if row["system"] == leader}
    opposite = {"better": "worse", "worse": "better"}
    verdicts |= {
        row["system"]: opposite.get(row["verdict"], row["verdict"])
        for row in rows
        if row["baseline"] == leader
    }
    beaten = [name for name, verdict in verdicts.items() if verdict == "better"]
    candidates = [row["system"] for row in settings["ranks"] if row["may_be_best"]]
    if len(candidates) > 1:
        names = listing(candidates, named=_NAMED + 1).replace(" and ", " or ")
        best = f"the best system is {names}" if len(candidates) <= _NAMED + 1 else ""
        best = best or f"the best system is one of {len(candidates)}"
        return f"{best[0].upper()}{best[1:]} on {metric}; which one is not shown."
    if leader is None or not beaten:
        return f"{len(decided)} of {len(rows)} pairs of systems are shown to differ on {metric}."
    others = [name for name in verdicts if name not in beaten]
    rest = f"; {listing(others)} {_is(others)} not shown to differ from it" if others else ""
    return f"{leader} beats {listing(beaten, 'other systems')} on {metric}{rest}."


def _over_groups(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """Return in which groups of users systems differ."""
    metric, by = rows[0]["metric"], settings["by"]
    pairs = {(row["system"], row["baseline"]) for row in rows}
    decided = [row for row in rows if row["verdict"] in ("better", "worse", "different")]
    if not decided:
        return _nothing(rows)
    if len(pairs) > 1:
        return (
            f"{len(decided)} of {len(rows)} comparisons on {metric} within {by} show a difference."
        )
    ((system, baseline),) = pairs
    said = {"better": "beats", "worse": "is worse than", "different": "differs from"}
    parts = []
    for verdict, verb in said.items():
        groups = [group_name(row["group"]) for row in rows if row["verdict"] == verdict]
        if groups:
            parts.append(f"{verb} {baseline} on {metric} for {by} {listing(groups, 'groups', 6)}")
    open_ = [group_name(row["group"]) for row in rows if row["verdict"] == "not shown"]
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
    return f"No difference is shown on {metric}.{_would_find(largest)}{equivalent}"


def _would_find(row: Mapping[str, Any]) -> str:
    """Return the difference that would be found with a probability of 80 %."""
    size, mean = row["minimum_detectable"], abs(row["mean_baseline"])
    if math.isinf(size):
        return " No difference that is possible would have been found 4 times in 5."
    share = f" ({change(size / mean).removeprefix('+')})" if mean else ""
    return f" One of {brief(size)}{share} would have been found 4 times in 5."


def pair_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return one row of a comparison as a sentence.

    >>> row = {"system": "B", "baseline": "A", "metric": "ndcg@10", "group": None,
    ...        "mean_system": 0.331, "mean_baseline": 0.321,
    ...        "difference": 0.01, "low": 0.004, "high": 0.016, "lift": 0.031, "lift_low": 0.012,
    ...        "lift_high": 0.05, "p_adjusted": 0.002, "users": 943, "verdict": "better",
    ...        "minimum_detectable": 0.008, "primary": True, "data_sets": None,
    ...        "seeds_system": None}
    >>> pair_sentence(row, {"correction": "holm", "by": None, "alpha": 0.05})
    'B beats A on ndcg@10: 0.331 against 0.321, +3.1 % (1.2 to 5.0).'
    """
    one, other, metric = row["system"], row["baseline"], row["metric"]
    inside = "" if settings["by"] is None else f" for {group_words(settings['by'], row['group'])}"
    on = f"on {metric}{inside}{_sample_counts(row)}"
    means = f"{brief(row['mean_system'])} against {brief(row['mean_baseline'])}, {_size(row)}"
    verdict = row["verdict"]
    if verdict in ("better", "worse"):
        return f"{one} {'beats' if verdict == 'better' else 'is worse than'} {other} {on}: {means}."
    if verdict == "different":
        return (
            f"{one} and {other} differ {on}: {means}; neither direction of this metric is better."
        )
    if verdict == "equivalent":
        return f"{one} and {other} are equivalent {on}, within the margin: {means}."
    if is_missing(row["p_adjusted"]):
        why = ", ".join(
            flag for flag in row.get("flags", ()) if flag not in ("exploratory", ALL_LISTS)
        )
        return (
            f"{one} is not tested against {other} {on}: {means}; "
            f"{why or 'no p-value could be computed'}."
        )
    p = named_p(adjusted_p_name([row], settings), row["p_adjusted"], settings["alpha"])
    would = "" if is_missing(row["minimum_detectable"]) else _would_find(row)
    return f"{one} is not shown to differ from {other} {on}: {_size(row)}, {p}.{would}"


def _size(row: Mapping[str, Any]) -> str:
    """Return the size of a difference: relative where its interval is known, else absolute."""
    if all(
        row[name] is not None and math.isfinite(row[name])
        for name in ("lift", "lift_low", "lift_high")
    ):
        return change_text(row)
    limits = interval_text(row, signed)
    return signed(row["difference"], places(row)) + ("" if limits == "–" else f" ({limits})")


def _sample_counts(row: Mapping[str, Any]) -> str:
    """Return the numbers of seeds or of data sets that a row rests on."""
    if row["data_sets"]:
        return f" over {row['data_sets']} data sets"
    if row["seeds_system"] is None:
        return ""
    return f" ({row['seeds_system']} and {row['seeds_baseline']} seeds)"


def lead_sentence(lead: Mapping[str, Any]) -> str:
    """Describe the difference without the users whom only a single system of the pair serves.

    >>> lead = {"system": "b", "baseline": "a", "metric": "ndcg@10", "users_with_one_list": 153, "users": 2054,
    ...         "mean_baseline": 0.05, "mean_system": 0.05, "difference": -0.00008, "low": -0.0052, "high": 0.005}
    >>> print(lead_sentence(lead))
    153 users get a list from only one of b and a; over the other 2,054 the difference is −0.0001 (−0.0052 to +0.0050).
    """
    size = f"{signed(lead['difference'], places(lead))} ({interval_text(lead, signed)})"
    who = (
        f"{lead['users_with_one_list']:,} users get a list from only one of {lead['system']} and "
        f"{lead['baseline']}"
    )
    return f"{who}; over the other {lead['users']:,} the difference is {size}."


def costs(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the largest loss of each winner over the baseline or runner-up, with its sentence."""
    if settings["by"] is not None:
        return []
    rows = table.filter(pl.col("group").is_null()).to_dicts()
    primary, leaders = [row for row in rows if row["primary"]], {*system_order(table, settings)[:2]}
    pairs = []
    for row in primary:
        if settings["baseline"] is None and {row["system"], row["baseline"]} != leaders:
            continue
        if row["verdict"] == "better":
            pairs.append((row["system"], row["baseline"]))
        elif row["verdict"] == "worse" and settings["baseline"] is None:
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


def system_order(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the systems, the baseline first and then the best on the primary metric first."""
    rows = table.filter(pl.col("primary")).to_dicts()
    means, up = means_by_system(rows), settings["directions"].get(settings["primary"]) is not False
    worst = -math.inf if up else math.inf
    names = sorted(
        means, key=lambda name: worst if is_missing(means[name]) else means[name], reverse=up
    )
    baseline = _baseline(rows, settings) if settings["by"] is None else None
    return sorted(names, key=lambda name: name != baseline)


def leader_first(rows: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Move pairs with the system of the best mean to the front; the order stays otherwise."""
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
    table: pl.DataFrame, settings: Mapping[str, Any], detail: Detail = "table"
) -> list[TableView]:
    """Return the verdict alone, or with the metrics and the method, or with all pairs in full."""
    head, *rest = verdict_sentences(table, settings)
    verdict = TableView((), (), rest, caption=head)
    if detail == "verdict":
        return [verdict]
    if detail == "full" or not table["primary"].any():
        return [verdict, pair_view(table, settings)]
    main = _primary_view(table.filter(pl.col("primary")), settings)
    others = table.filter(~pl.col("primary"))
    baseline = _baseline(table.to_dicts(), settings)
    views = (
        [main]
        if others.is_empty()
        else [main, _other_view(others, settings, baseline, system_order(table, settings))]
    )
    return [verdict, *views[:-1], replace(views[-1], notes=_notes(table, settings, _CAVEATS))]


def _primary_view(rows: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return the pairs of the primary metric: one row per system against a baseline, or pair."""
    dicts = rows.to_dicts()
    baseline = _baseline(dicts, settings) if settings["by"] is None else None
    place = {name: at for at, name in enumerate(system_order(rows, settings))}
    if baseline is not None:
        dicts.sort(key=lambda row: place[row["system"]])
    by_system = baseline is not None
    users, unit = rows["users"].unique().to_list(), SamplingUnit.of_comparison(settings)
    hidden = {"users"} if len(users) == 1 else set()
    hidden |= {"baseline"} if by_system else set()
    shown = [column for column in IN_PAIR_TABLE if column.head not in hidden]
    head = (
        f"{dicts[0]['metric']}, {unit.counted(users[0])}"
        if len(users) == 1
        else str(dicts[0]["metric"])
    )
    level, p_name = level_of(dicts), adjusted_p_name(dicts, settings)
    names = {
        "verdict": "",
        "users": unit.rows,
        "interval": _interval_head(level, dicts, settings),
        "p": p_name,
    }
    names |= {"system": "mean"} if by_system else {}
    heads = [names.get(column.head, column.head) for column in shown]
    body: list[list[Cell]] = []
    if by_system:
        mean = brief(dicts[0]["mean_baseline"])
        body.append([str(baseline), *(mean if column.head == "system" else "" for column in shown)])
    pairs = {(row["system"], row["baseline"]) for row in dicts}
    for row in dicts:
        name = str(row["system"]) if by_system else pair_name(row)
        if settings["by"] is not None:
            name = group_name(row["group"]) + ("" if len(pairs) == 1 else f": {name}")
        body.append([name, *(_pair_cell(column, row, level) for column in shown)])
    if settings["by"] is not None:
        head = f"{head}, by {settings['by']}"
    stays = {"system"} if by_system else set()
    leaving = sorted(
        (at for at, column in enumerate(shown, 1) if column.leaves and column.head not in stays),
        key=lambda at: (-shown[at - 1].leaves, -at),
    )
    return TableView((head, *heads), body, left=(0, len(heads)), leaving=leaving)


_MARKS = {"better": " ▲", "worse": " ▼", "different": " ◆"}
_TONES: dict[str, Style] = {"better": "better", "worse": "worse"}


def _other_view(
    rows: pl.DataFrame, settings: Mapping[str, Any], baseline: str | None, order: Sequence[str]
) -> TableView:
    """Return exploratory metrics, one row each: values of systems, or changes within groups."""
    dicts = rows.to_dicts()
    groups = settings["by"] is not None or settings["data_sets"]
    pairs = list(dict.fromkeys((row["system"], row["baseline"]) for row in dicts))
    by_metric: dict[str, dict[str, Cell]] = {}
    for row in dicts:
        mark, tone = _MARKS.get(row["verdict"], "  "), _TONES.get(row["verdict"], "")
        if groups:
            name = str(row["metric"]) + ("" if len(pairs) == 1 else f", {pair_name(row)}")
            column = (
                "all"
                if settings["data_sets"] and row["group"] is None
                else group_name(row["group"])
            )
            by_metric.setdefault(name, {})[column] = Marked(change(row["lift"]) + mark, tone)
            continue
        cells = by_metric.setdefault(row["metric"], {})
        cells.setdefault(row["baseline"], brief(row["mean_baseline"]))
        value = brief(row["mean_system"])
        cells[row["system"]] = Marked(value + mark, tone) if baseline is not None else value
    names = dict.fromkeys(name for cells in by_metric.values() for name in cells)
    columns = list(names) if groups else [name for name in order if name in names]
    marks = "" if baseline is None and not groups else ": ▲ better, ▼ worse"
    head = (f"exploratory{marks}", *columns)
    return TableView(
        head, [(name, *(cells.get(c, "") for c in columns)) for name, cells in by_metric.items()]
    )


def pair_view(table: pl.DataFrame, settings: Mapping[str, Any]) -> TableView:
    """Return one row per pair and metric with every column and note, the primary metric first."""
    ordered = table.sort("primary", descending=True, maintain_order=True)
    dicts = ordered.to_dicts()
    several = {row["primary"] for row in dicts} == {True, False}
    level = math.nan if several else level_of(dicts)
    rows = [
        (
            f"{metric_name(row, settings)}  {pair_name(row)}",
            *(_pair_cell(column, row, level) for column in IN_PAIR_TABLE),
        )
        for row in dicts
    ]
    heads = {"interval": _interval_head(level, dicts, settings)}
    heads |= {"p": "p adjusted" if several else adjusted_p_name(dicts, settings)}
    heads |= {"users": SamplingUnit.of_comparison(settings).rows}
    head = ("", *(heads.get(column.head, column.head) for column in IN_PAIR_TABLE))
    return TableView(head, rows, _notes(table, settings), left=(0, len(head) - 1))


def level_of(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the confidence level of a family's intervals, except equivalence; NaN if several."""
    levels = {row["confidence"] for row in rows if row["verdict"] != "equivalent"}
    levels = levels or {row["confidence"] for row in rows}
    levels.discard(None)
    return float(levels.pop()) if len(levels) == 1 else math.nan


def _correction_of(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str | None:
    """Return the name of the correction of a family; None if a single test needs none."""
    if len(rows) + settings.get("earlier", 0) < 2:
        return None
    return CORRECTIONS.get(settings["correction"] if rows[0]["primary"] else "bh")


def adjusted_p_name(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """Return the label of the p-value beside a verdict, with the correction if there is one."""
    correction = _correction_of(rows, settings)
    return "p" if correction is None else f"p ({correction})"


def _interval_head(
    level: float, rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> str:
    """Return the head of intervals: the level, and the correction if the level depends on one."""
    if math.isnan(level):
        return "interval"
    correction = _correction_of(rows, settings)
    joint = settings["correction"] in ("max_t", "tukey") and rows[0]["primary"]
    named = correction is not None and (joint or abs(level - 1 + settings["alpha"]) > 1e-9)
    return f"{level_text(level)} interval" + (f" ({correction})" if named else "")


def _pair_cell(column: Column, row: Mapping[str, Any], level: float) -> Cell:
    """Return the cell of a pair; an interval names its level if different from the head's."""
    text = column.text(row)
    if column.head == "p" and (mark := margin_mark(row)):
        return f"{text}{mark}"
    if (
        column.head != "interval"
        or text == "–"
        or is_missing(row["confidence"])
        or row["confidence"] == level
    ):
        return text
    return f"{text} ({level_text(row['confidence'])})"


def metric_name(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the metric of a row, with its group of users or data set."""
    if settings["data_sets"]:
        return f"{row['metric']}, {row['group'] or 'mean of data sets'}"
    if settings["by"] is None:
        return str(row["metric"])
    return f"{row['metric']}, {settings['by']} {group_name(row['group'])}"


def tests_of(table: pl.DataFrame) -> str:
    """Return the tests of a comparison, each once."""
    return ", ".join(table["test"].drop_nulls().unique(maintain_order=True))


def labels_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the labels of systems whose values are over sampled candidates."""
    return [f"{name}: {label}" for name, label in settings["labels"].items() if label]


def method_line(table: pl.DataFrame, settings: Mapping[str, Any]) -> str:
    """Return how the pairs were tested, and over how many pairs p-values are corrected."""
    family, others = table.filter(pl.col("primary")), table.filter(~pl.col("primary"))
    tests = tests_of(family) or tests_of(table)
    text = f"{tests[:1].upper()}{tests[1:]}"
    pairs = len(family) + settings.get("earlier", 0)
    correction = CORRECTIONS.get(settings["correction"])
    if pairs > 1:
        where = "" if settings["by"] is None else f" and groups by {settings['by']}"
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


def _notes(table: pl.DataFrame, settings: Mapping[str, Any], most: int | None = None) -> list[str]:
    """Return the method, the metrics not compared, and caveats (at most ``most``)."""
    notes = [
        method_line(table, settings),
        *sample_notes(table, settings),
        *_ranks(settings),
        *_reuse(settings),
    ]
    notes += [", ".join(f"{name}: {source}" for name, source in settings["sources"].items())]
    notes += [
        *settings.get("plans", ()),
        *settings["unchecked"],
        *not_compared_notes(settings["not_compared"]),
    ]
    lines = _caveats(table, settings, left_out=() if most is None else (WIDE,))
    more = (
        []
        if most is None or len(lines) <= most
        else [f"… and {count_of(len(lines) - most, 'more note')}"]
    )
    return [note for note in (*notes, *labels_of(settings), *lines[:most], *more) if note]


def _caveats(
    table: pl.DataFrame, settings: Mapping[str, Any], left_out: Sequence[str] = ()
) -> list[str]:
    """Return the flags of rows, each with its rows, except the flags in ``left_out``."""
    caveats: dict[str, dict[str, dict[str, None]]] = {}
    pairs: dict[str, set[str]] = {}
    for row in table.iter_rows(named=True):
        metric, pair = metric_name(row, settings), pair_name(row)
        pairs.setdefault(metric, set()).add(pair)
        dropped = [row["dropped_because"]] if row["dropped_because"] else []
        for flag in (*row["flags"], *dropped):
            if flag not in ("exploratory", ALL_LISTS, *left_out):
                caveats.setdefault(flag, {}).setdefault(metric, {})[pair] = None
    return [
        f"{first_names([_where(metric, list(those), len(pairs[metric])) for metric, those in where.items()])}: {flag}"
        for flag, where in caveats.items()
    ]


def _where(metric: str, flagged: Sequence[str], pairs: int) -> str:
    """Return a metric with its flagged pairs; the metric alone if all pairs are flagged."""
    return metric if len(flagged) == pairs else f"{metric} of {first_names(flagged)}"


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
    about = ", approximate for the skewness of differences" if settings["ranks_approximate"] else ""
    return [f"Ranks, {_rank_claim(settings)}{about}: {', '.join(texts)}{more}."]


def _rank_claim(settings: Mapping[str, Any]) -> str:
    """Describe the error control of ranks: family-wise, false discovery rate, or per pair."""
    correction = settings["correction"]
    if correction == "none":
        return f"each pair at level {settings['alpha']:g}, without correction"
    if correction in ("bh", "by"):
        return f"with a false discovery rate of {settings['alpha']:g} ({CORRECTIONS[correction]})"
    return f"together with {level_text(1 - settings['alpha'])} confidence"


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
            f"{uses['systems']:,} systems are saved on this test set, of which "
            f"{uses['compared']:,} are compared here: "
            f"the best of many looks better than it is. earlier={others} corrects for the others."
        )
    return notes


def sample_of(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """Describe the sample of the means: the users of all rows, or their requests.

    >>> rows = [{"users": 233, "clusters": 80}, {"users": 213, "clusters": 80}]
    >>> sample_of(rows, {"clusters": "user", "unit": "request"})
    '213 to 233 requests of 80 users'
    >>> sample_of([{"users": 9, "clusters": None}], {"clusters": None}), sample_of([], {"clusters": None})
    ('9 users', 'no users')
    """
    unit = SamplingUnit.of_comparison(settings)
    if not rows:
        return f"no {unit.rows}"
    text = _spread([row["users"] for row in rows], unit.row)
    people = [row["clusters"] for row in rows if row["clusters"] is not None]
    return f"{text} of {_spread(people, 'user')}" if unit.is_of_requests and people else text


def _spread(counts: Sequence[int], noun: str) -> str:
    """Return the smallest and the largest count of things."""
    low, high = min(counts), max(counts)
    return count_of(high, noun) if low == high else f"{low:,} to {count_of(high, noun)}"


def sample_notes(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return notes on random samples besides users: clusters of users, seeds and data sets."""
    notes = []
    if settings["clusters"] and table["clusters"].drop_nulls().len():
        unit, sizes = SamplingUnit.of_comparison(settings), table["clusters"].drop_nulls().to_list()
        each = "" if settings["by"] is None else " in each group"
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
    if settings["data_sets"]:
        notes.append(
            f"Over {len(settings['data_sets'])} data sets, as a random sample with equal "
            "weights; results on each alone are exploratory."
        )
    if settings["seeds"]:
        numbers = settings["seeds"]["counts"]
        counts = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        counts = (
            f"{next(iter(numbers.values()))} each" if len(set(numbers.values())) == 1 else counts
        )
        notes.append(
            f"Values are means over seeds ({counts}), {settings['seeds']['design']} between "
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
