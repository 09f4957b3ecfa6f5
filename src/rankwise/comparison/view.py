"""Comparisons as tables for a terminal or a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.comparison.design import Design
from rankwise.comparison.notes import MOST_PAIRED, metric_name, notes_of, range_text
from rankwise.comparison.rows import IN_PAIR_TABLE
from rankwise.comparison.sentences import (
    adjusted_p_name,
    correction_of,
    count_of_pairs,
    verdict_sentences,
)
from rankwise.comparison.system_order import baseline_of, system_order
from rankwise.core.terminal import (
    Cell,
    Detail,
    Marked,
    TableView,
    brief,
    change,
    count_of,
    level_text,
)
from rankwise.findings.tables import finding_view
from rankwise.findings.words import (
    CONDITIONAL,
    VERDICT_MARKS,
    group_name,
    level_of,
    pair_name,
    verdict_tone,
)

_CAVEATS = 3  # that are printed unless everything is asked for
_MOST_RANKED = 40  # systems whose ranks are printed


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
    is_board = design.baseline is None and len(design.ranks) > MOST_PAIRED
    main = _board_view(primary, design) if is_board else _primary_view(primary, design)
    others = table.filter(~pl.col("primary"))
    baseline = baseline_of(table.to_dicts(), design)
    views = (
        [main]
        if others.is_empty()
        else [main, _other_view(others, design, baseline, system_order(table, design))]
    )
    return [verdict, *views[:-1], replace(views[-1], notes=notes_of(table, design, _CAVEATS))]


def _primary_view(rows: pl.DataFrame, design: Design) -> TableView:
    """Return the pairs of the primary metric: one row per system against a baseline, or pair."""
    dicts = rows.to_dicts()
    baseline = baseline_of(dicts, design) if design.by is None else None
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
    notes.append(f"{count_of_pairs(rows.to_dicts(), design)}.")
    return TableView(head, body, notes, left=(0,))


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
        notes=notes_of(table, design),
    )


def _interval_head(level: float, rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return the head of intervals: the level, and the correction if the level depends on one."""
    if math.isnan(level):
        return "interval"
    correction = correction_of(rows, design)
    joint = design.correction in ("max_t", "tukey") and rows[0]["primary"]
    named = correction is not None and (joint or abs(level - 1 + design.alpha) > 1e-9)
    return f"{level_text(level)} interval" + (f" ({correction})" if named else "")
