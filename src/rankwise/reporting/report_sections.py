"""Sections of a report, from the decision and the systems to fairness and example users."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.decision import Decision, levels_of
from rankwise.comparison.methods_text import methods
from rankwise.comparison.sentences import adjusted_p_name, served_sentence
from rankwise.comparison.system_order import means_by_system
from rankwise.comparison.view import pair_view
from rankwise.core.terminal import (
    Cell,
    Marked,
    TableView,
    brief,
    change,
    count_of,
    decimals,
    format_number,
    level_text,
    signed,
)
from rankwise.errors import MetricError
from rankwise.findings.finding import oriented
from rankwise.findings.words import (
    CONDITIONAL,
    VERDICT_MARKS,
    deciding_p,
    group_name,
    interval_text,
    is_missing,
    listing,
    margin_level,
    margin_mark,
    named_p,
    natural_key,
    places,
    verdict_tone,
    verdict_words,
)
from rankwise.messages import call, parameter
from rankwise.metrics.inputs import read_label
from rankwise.reporting.chart_data import (
    FEWEST_USERS,
    MOST_GROUPS,
    SLICES,
    Estimate,
    curve_frame,
    curves_of,
    decided_limits,
    decision_frame,
    difference_frame,
    groups_of,
    limits,
    lorenz_frame,
    pareto_frame,
    reliability_frame,
    reliability_name,
)
from rankwise.reporting.forest import (
    Axis,
    Bar,
    Board,
    BoardCell,
    Forest,
    ForestRow,
    Stack,
    fitting,
    percent_axis,
    value_axis,
)
from rankwise.reporting.hints import ASK_FOR_COSTS, ASK_FOR_CURVES, ASK_FOR_GROUPS
from rankwise.reporting.plots import charts
from rankwise.reporting.report_data import (
    Block,
    Figure,
    Grid,
    Missing,
    Notes,
    Panels,
    ReportData,
    Text,
    check_lists_of_users,
    section,
)
from rankwise.reporting.report_head import SYSTEMS, pairs_with_reference, reference
from rankwise.results.display import plan_statements
from rankwise.results.intervals import group_column, interval_of, is_truth_slice
from rankwise.results.result import Result, knows_lists
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.results.values import labelled_values

_CELLS = 60  # rows of a table of groups


_COLUMNS = 9  # metrics of the table of systems, and of the matrix
_PANELS = 6  # charts side by side
_CUTOFFS = 30  # points of a curve
_ROWS, _VALUES = 150, 400  # rows of a folded table
_BEYOND = ("coverage", "novelty", "diversity", "popularity", "fairness")


def decision(material: ReportData) -> list[Block]:
    """Return the checks of the decision that the page is about."""
    if material.decision is None:
        raise MetricError(
            "no decision was asked for",
            hint=f"pass {parameter('decision')}, what {call('decide')} returns",
        )
    return checks(material.decision)


def checks(made: Decision) -> list[Block]:
    """Return a decision's checks in per cent of the baseline, with disallowed ranges shaded."""
    rule, rows = made.record["rule"], made.rows
    names = ("change", "change_low", "change_high")
    limits = [_not_allowed(row, made) or 0.0 for row in rows]
    whole = fitting([[row[name] for name in names] for row in rows if row["by"] is None], least=1.0)
    far = 3 * max((abs(value) for value in (*whole, *limits) if not math.isnan(value)), default=1.0)
    inside = [
        row[name]
        for row in rows
        for name in names
        if row["by"] is not None and abs(row[name]) <= far
    ]
    axis = percent_axis([*whole, *inside, *limits])
    drawn: list[ForestRow] = []
    title = ""
    for row in rows:
        if row["title"] != title:
            drawn.append(ForestRow(row["title"], heading=True))
        title = row["title"]
        drawn.append(_decision_row(row, made))
    text = (
        f"{rule['system']} in place of {rule['baseline']}. Change in % of {rule['baseline']}, with "
    )
    text += f"{_levels_text(rows)}. Shaded: not allowed."
    small = made.small_slices
    few = [Notes([f"Too few users to be checked: {', '.join(small)}."])] if small else []
    draw = partial(charts_of, axis=f"change in % of {rule['baseline']}", percent=True, limit=True)
    figure = Figure("decision", made.verdict, decision_frame(made), draw)
    return [Text(text), Forest(drawn, axis, heads=("change", "outcome"), figure=figure), *few]


def _levels_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe the levels of a decision's intervals; if several, with the parts of the rule."""
    levels = levels_of(rows)
    if len(levels) < 2:
        return f"{next(iter(levels), '')} intervals".strip()
    return "intervals of " + ", ".join(
        f"{level} ({', '.join(titles)})" for level, titles in levels.items()
    )


def charts_of(frame: pl.DataFrame, **options: Any) -> Any:
    """Return the chart of intervals that replaces an HTML chart among the files of a report."""
    return charts().interval_chart(frame, look=replace(charts().SMALL, width=720), **options)


def _decision_row(row: Mapping[str, Any], made: Decision) -> ForestRow:
    """Return one metric, within one slice, of a decision."""
    users = f"{row['users']:,}" if row["below"] else count_of(row["users"], "user")
    several = len(made.record["rule"]["slices"]) > 1
    name = group_name(row["group"]) if row["below"] and not several else row["name"]
    empty = row["outcome"] == "not checked" or not row["users"]
    needed = "" if row["users_needed"] is None else f"about {row['users_needed']:,} users needed"
    p = (
        ""
        if row["role"] != "success" or is_missing(row["p"])
        else named_p("p", row["p"], made.record["rule"]["alpha"])
    )
    tone = {"✓": "better", "✕": "worse"}.get(row["said"][0], "")
    return ForestRow(
        name,
        small=users,
        point=row["change"],
        low=row["change_low"],
        high=row["change_high"],
        value=""
        if empty
        else change(row["change"])
        if row["mean_baseline"]
        else signed(row["difference"]),
        value_small="" if empty else f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}",
        outcome=row["said"],
        outcome_small=needed or p,
        tone=tone,
        note=next(iter(row["flags"]), "no value")
        if empty
        else ""
        if row["mean_baseline"]
        else "no per cent of 0",
        limit=_not_allowed(row, made),
        limit_above=row["metric"] in made.record["lower_is_better"],
        indented=row["below"],
    )


def _not_allowed(row: Mapping[str, Any], made: Decision) -> float | None:
    """Return the end of a check's disallowed changes, as a share of the baseline; None if none."""
    if row["role"] != "guardrail":
        return 0.0
    margin, mean = row["margin"], row["mean_baseline"]
    if not margin or not mean:
        return None
    share = float(margin / abs(mean))
    return share if row["metric"] in made.record["lower_is_better"] else -share


def systems(material: ReportData) -> list[Block]:
    """Return systems by metrics with their intervals as bars, sorted by the primary metric."""
    cells = _columns(material)
    order = material.ranked
    baseline = material.design.baseline
    ranks = {rank.system: rank for rank in material.design.ranks}
    candidate = None if material.decision is None else material.decision.record["rule"]["system"]
    columns = [_board_column(material, cell, order) for cell in cells]
    rows = []
    for at, name in enumerate(order, 1):
        rank = ranks.get(name)
        place = str(at) if rank is None else _span(rank.rank_low, rank.rank_high)
        note = "baseline" if name == baseline else "candidate" if name == candidate else ""
        rows.append(
            (place, name, note, "cand" if note else "", [column[1][name] for column in columns])
        )
    heads = [column[0] for column in columns]
    notes = [f"Bars: {material.level} intervals of one system."]
    if baseline is not None:
        notes.append(f"▲▼: shown to be better or worse than {baseline}.")
    if ranks:
        notes.append("Ranks are confidence intervals, together.")
    return [Text(" ".join(notes)), Board(heads, rows)]


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


def _board_column(
    material: ReportData, cell: str, order: Sequence[str]
) -> tuple[tuple[str, str], dict[str, BoardCell]]:
    """Return a metric's heading and cells; over common users if systems have different users."""
    rows = [] if material.pairs is None else material.pairs.filter(metric=cell).to_dicts()
    rows = [row for row in rows if row["group"] is None]
    common = means_by_system(rows) if any(row["users_dropped"] for row in rows) else {}
    verdicts = {row["system"]: row["verdict"] for row in rows} if material.design.baseline else {}
    estimates = {name: material.estimates.of(name, cell) for name in order}
    ends = [v for e in estimates.values() for v in (e.value, e.low, e.high)]
    axis = Axis.of(ends, brief, zero=False)
    cells = {}
    for name, estimate in estimates.items():
        value = common.get(name, estimate.value)
        verdict = verdicts.get(name, "")
        bar = (
            Bar.on(axis, value, estimate.low, estimate.high)
            if not common
            else Bar.on(axis, value, math.nan, math.nan)
        )
        said = f"{name}: {cell} = {estimate}"
        cells[name] = BoardCell(
            cell, brief(value), said, bar, verdict_tone(verdict), VERDICT_MARKS.get(verdict, "")
        )
    users = material.unit.counted_in(rows[0]) if common else ""
    down = "lower is better" if material.direction(cell) is False else ""
    return (cell, ", ".join(filter(None, (users, down)))), cells


def _columns(material: ReportData) -> list[str]:
    """Return the values to show: of each metric that at the primary cut-off, or its last one."""
    chosen: dict[str, str] = {}
    for cell in material.single_cells:
        metric = material.metric_of(cell)
        name = cell if metric is None else str(metric @ ())
        kept = chosen.get(name)
        if kept is None or (
            metric is not None and kept not in (material.primary, str(metric @ material.k))
        ):
            chosen[name] = cell
    return list(chosen.values())[:_COLUMNS]


def _pairs(material: ReportData) -> pl.DataFrame:
    if material.pairs is None:
        raise MetricError(material.not_compared)
    return material.pairs


def differences(material: ReportData) -> list[Block]:
    """Return differences of the primary metric, with unadjusted and adjusted intervals."""
    if material.alone or material.design.by is not None:
        return []
    primary = _pairs(material).filter("primary").to_dicts()
    rows = pairs_with_reference(material)
    other = reference(material)
    if not rows:
        raise MetricError("no pair with a common system was compared")

    p_name = adjusted_p_name(primary, material.design)
    drawn = [_row_of_difference(row, p_name, material.design.alpha) for row in rows]
    names = ("low_alone", "high_alone", "difference")
    ends = [row[name] for row in rows for name in names]
    ends += [end for row in drawn for end in row.thin or ()]
    sides = {
        True: (f"◀ {other} better", "better than it ▶"),
        False: ("◀ better than it", f"{other} better ▶"),
        None: (f"◀ lower than {other}", "higher ▶"),
    }[material.direction(material.primary)]

    frame = difference_frame(rows, material.design)
    draw = partial(charts_of, axis=f"difference in mean {material.primary} from {other}")
    figure = Figure("differences", f"Differences in {material.primary} from {other}", frame, draw)
    forest = Forest(
        drawn,
        value_axis(ends),
        heads=("difference", "verdict"),
        ends=sides,
        form="wide",
        figure=figure,
    )

    notes = [served_sentence(pair) for pair in material.design.served_by_both if pair.decides]
    left = len(primary) - len(rows)
    if left > 0:
        are = "is" if left == 1 else "are"
        notes.append(f"{count_of(left, 'more pair')} {are} in the table of all pairs.")
    return [
        Text(_text_on_differences(material, rows, other)),
        forest,
        *(Notes([note]) for note in notes),
    ]


def _row_of_difference(row: Mapping[str, Any], p_name: str, alpha: float) -> ForestRow:
    """Return the difference of one pair with its intervals, its verdict and its p-value."""
    p = deciding_p(row)
    certainty = "" if is_missing(p) else named_p(p_name, p, alpha) + margin_mark(row)
    return ForestRow(
        row["system"],
        point=row["difference"],
        low=row["low_alone"],
        high=row["high_alone"],
        thin=decided_limits(row),
        value=signed(row["difference"], places(row)),
        value_small=interval_text(row, signed) + margin_level(row),
        outcome=f"{VERDICT_MARKS.get(row['verdict'], '·')} {verdict_words(row)}",
        outcome_small=certainty,
        tone=verdict_tone(row["verdict"]),
    )


def _text_on_differences(
    material: ReportData, rows: Sequence[Mapping[str, Any]], other: str
) -> str:
    """Return what differences are from, and which interval is thick and which is thin."""
    sample = material.unit.counted_in(rows[0])
    text = (
        f"Difference in mean {material.primary} from {other} "
        f"({brief(rows[0]['mean_baseline'])}), {sample}. "
        f"Thick: {material.level} interval of one pair."
    )
    same = [row for row in rows if row["verdict"] == "equivalent"]
    if any(decided_limits(row) for row in rows if row not in same):
        text += (
            " Thin: at the level that the correction leaves this pair; the verdict needs it "
            "clear of 0."
        )
    if same:
        levels = " and ".join(dict.fromkeys(level_text(row["confidence"]) for row in same))
        text += (
            f" Thin, of equivalent systems: {levels} interval; the verdict needs it within the "
            "margin."
        )
    return text


def other_metrics(material: ReportData) -> list[Block]:
    """Return each further metric's change against the reference in per cent, with its verdict."""
    if material.alone or material.design.by is not None:
        return []
    rows = _pairs(material).filter(~pl.col("primary") & pl.col("group").is_null()).to_dicts()
    if not rows:
        return []
    other = reference(material)
    rows = [oriented(row, other) for row in rows if other in (row["system"], row["baseline"])]
    names = [name for name in material.ranked if any(row["system"] == name for row in rows)][
        :SYSTEMS
    ]
    by_metric: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], {})[row["system"]] = row
    body: list[list[Cell]] = []
    for metric, pairs in list(by_metric.items())[: 2 * _COLUMNS]:
        first = next(iter(pairs.values()))
        cells: list[Cell] = [metric, brief(first["mean_baseline"])]
        for name in names:
            if name not in pairs:
                cells.append("–")
                continue
            verdict = pairs[name]["verdict"]
            text = f"{change(pairs[name]['lift'])} {VERDICT_MARKS.get(verdict, '·')}"
            cells.append(Marked(text, verdict_tone(verdict)))
        body.append(cells)
    share = (
        f"{100 * float(material.design.alpha):g} % of the differences shown are expected "
        "to be false."
    )
    has_condition = any(row["verdict"] in CONDITIONAL for row in rows)
    under = " (△ ▽ under a condition)" if has_condition else ""
    text = (
        f"Exploratory: change against {other}, ▲ better, ▼ worse{under}, · not shown; up to {share}"
    )
    return [
        Text(text),
        Grid(TableView(["metric", other, *names], body), compact=len(names) < SYSTEMS),
    ]


def for_whom(material: ReportData) -> list[Block]:
    """Return differences within groups, one panel per system, and who gains and loses."""
    columns = groups_of(material.results)
    blocks: list[Block] = []
    rows = pairs_with_reference(material)
    for by, sizes in columns.items():
        what = f"groups by {by}"
        if by in material.groups_not_compared:
            blocks.append(Missing(what, material.groups_not_compared[by]))
            continue
        panels = partial(_slice_panels, by=by, sizes=sizes, rows=rows)
        values = partial(_slice_values, by=by, sizes=sizes)
        blocks += section("", "", material, {what: panels if rows else values}).blocks
    counts = [row for row in rows if row["wins"] is not None]
    if counts:
        shares = [(row["system"], row["losses"], row["ties"], row["wins"]) for row in counts]
        who = "who" if material.unit.row == "user" else "that"
        text = (
            f"{material.unit.rows.title()} {who} lose, see no difference and gain, of "
            f"{sum(shares[0][1:]):,}, "
        )
        text += f"on {material.primary}."
        blocks += [Text(text), Stack(shares)]
    return blocks


def _slice_panels(
    material: ReportData,
    by: str,
    sizes: Sequence[tuple[str | None, int]],
    rows: Sequence[Mapping[str, Any]],
) -> list[Block]:
    """Return one panel per system: differences from the reference for all users and by group."""
    other = reference(material)
    differences = material.group_differences[by]
    inside = {(row["system"], row["group"]): row for row in differences.iter_rows(named=True)}
    largest = sorted(sizes, key=lambda size: -size[1])[:MOST_GROUPS]
    groups = sorted(largest, key=lambda size: natural_key(size[0]))
    unit = material.unit
    total = max(map(unit.users_in, rows))
    drawn: dict[str, list[ForestRow]] = {}
    for row in rows:
        panel = [_panel_row("all", row, total, unit, users=total, strong=True)]
        panel += [
            _panel_row(
                group_name(group),
                inside.get((row["system"], group)),
                total,
                unit,
                users=users,
                no_list=_no_list(material.results, row, by, group),
            )
            for group, users in groups
        ]
        drawn[row["system"]] = panel
    wide = [r for panel in drawn.values() for r in panel if r.strong or (r.size or 0) >= 0.05]
    axis = value_axis([v for r in wide for v in (r.point, r.low, r.high) if not r.note])
    forests = [Forest(panel, axis, form="mini", title=name) for name, panel in drawn.items()]
    text = (
        f"Difference in {material.primary} from {other}, by {by}; bars below the names are "
        "shares of users."
    )
    more = (
        [Notes([f"The {MOST_GROUPS} largest of {len(sizes):,} groups."])]
        if len(sizes) > MOST_GROUPS
        else []
    )
    return [Text(text), Panels(forests), *more]


def _no_list(
    results: Mapping[str, Result], row: Mapping[str, Any], by: str, group: str | None
) -> bool:
    """Return whether neither system of a pair gives any user of a group a list."""
    pair = [results[row[side]] for side in ("system", "baseline")]
    if is_truth_slice(by) or not all(map(knows_lists, pair)):
        return False
    column = group_column(by)
    return not any(
        column in r.per_user.columns
        and r.per_user.filter(pl.col(column).eq_missing(group))["list_length"].sum()
        for r in pair
    )


def _panel_row(
    name: str,
    row: Mapping[str, Any] | None,
    total: int,
    unit: SamplingUnit,
    *,
    users: int,
    strong: bool = False,
    no_list: bool = False,
) -> ForestRow:
    """Return a group's row in a panel; a group of few users has a value and no interval.

    ``users`` is their number where a group has no row.
    """
    users = users if row is None else unit.users_in(row)
    size = None if strong else users / max(total, 1)
    if row is None or no_list or is_missing(row["difference"]):
        return ForestRow(
            name,
            small=f"{users:,}",
            note="no list" if no_list else "no value",
            value="–",
            size=size,
        )
    value, few = signed(row["difference"], places(row)), users < FEWEST_USERS
    return ForestRow(
        name,
        small=f"{users:,}",
        point=row["difference"],
        low=math.nan if few else row["low"],
        high=math.nan if few else row["high"],
        value=value,
        outcome="" if few else row["verdict"],
        tone="" if few else verdict_tone(row["verdict"]),
        note="no interval" if few else "",
        strong=strong,
        size=size,
    )


def _slice_values(
    material: ReportData, by: str, sizes: Sequence[tuple[str | None, int]]
) -> list[Block]:
    """Return the primary metric by group, one panel per system, if no pairs were compared."""
    groups = sorted(
        sorted(sizes, key=lambda size: -size[1])[:MOST_GROUPS],
        key=lambda size: natural_key(size[0]),
    )
    total = max(
        result.counts.get("users", len(result.per_user)) for result in material.results.values()
    )
    drawn = {
        name: [_value_row(material, name, by, *group, total) for group in groups]
        for name in material.ranked
    }
    drawn = dict(list(drawn.items())[:SYSTEMS])
    ends = [
        v
        for panel in drawn.values()
        for row in panel
        for v in (row.point, row.low, row.high)
        if not row.note
    ]
    axis = Axis.of(ends, lambda value: brief(value, decimals(*ends)), zero=False)
    text = (
        f"{material.primary} by {by}, with {material.level} intervals; bars below the names are "
        "shares of users."
    )
    return [
        Text(text),
        Panels([Forest(panel, axis, form="mini", title=name) for name, panel in drawn.items()]),
    ]


def _value_row(
    material: ReportData, name: str, by: str, group: str | None, users: int, total: int
) -> ForestRow:
    """Return the value of a system in a group of users."""
    head, size = f"{users:,}", users / max(total, 1)
    if _no_list({name: material.results[name]}, {"system": name, "baseline": name}, by, group):
        return ForestRow(group_name(group), small=head, note="no list", value="–", size=size)
    estimate = material.estimates.of(name, material.primary, by, group)
    few = users < FEWEST_USERS
    return ForestRow(
        group_name(group),
        small=head,
        point=estimate.value,
        low=math.nan if few else estimate.low,
        high=math.nan if few else estimate.high,
        value=brief(estimate.value),
        note="no interval" if few else "",
        size=size,
    )


def trade_offs(material: ReportData) -> list[Block]:
    """Return accuracy against coverage, novelty, diversity and popularity bias, a chart each."""
    if material.alone:
        return []
    xs = [cell for cell in material.in_families(_BEYOND) if cell != material.primary][:_PANELS]
    if not xs:
        raise MetricError(
            "no metric of coverage, novelty, diversity or popularity bias was evaluated",
            hint=ASK_FOR_COSTS,
        )
    y, up = material.primary, material.direction(material.primary)
    baseline = material.design.baseline
    figures = []
    for x in xs:
        frame = pareto_frame(material.drawn, y, [x])
        draw = partial(
            charts().pareto_chart,
            y=y,
            up=up,
            right=material.direction(x),
            baseline=baseline,
            small=True,
        )
        figures.append(Figure(f"trade-off-{x}", f"{y} against {x}", frame, draw))
    text = f"{y} against metrics beyond accuracy, with {material.level} intervals; "
    text += "the dashed line joins the systems that no other beats on both."
    return [Text(text + material.left_out), Panels(figures)]


def _slices(name: str, caption: str, frame: pl.DataFrame, material: ReportData) -> Figure:
    with_intervals = frame["low"].null_count() < len(frame)
    ending = (
        f", with {material.level} confidence intervals."
        if with_intervals
        else "; no intervals are known."
    )
    caption += ending + material.left_out
    return Figure(name, caption, frame, lambda data: charts().slice_chart(data, material.primary))


def activity(material: ReportData) -> list[Block]:
    """Return the primary metric by thirds of users: by their number of training interactions."""
    counts = material.lists.history.group_by("user").agg(value=pl.len().cast(pl.Float64))
    return _thirds(material, counts, "activity", "training interactions", absent=0.0)


def truth_popularity(material: ReportData) -> list[Block]:
    """Return the primary metric by thirds of users: by the popularity of their relevant items."""
    popularity = material.lists.train.group_by("item").agg(pl.len().cast(pl.Float64))
    relevant = material.lists.relevant.join(popularity, on="item", how="left")
    counts = relevant.group_by("user").agg(value=pl.col("len").fill_null(0.0).mean())
    return _thirds(
        material,
        counts,
        "popularity-of-relevant-items",
        "mean training interactions of the user's relevant items",
    )


def _thirds(
    material: ReportData, values: pl.DataFrame, name: str, what: str, absent: float | None = None
) -> list[Block]:
    """Return the primary metric in three groups of users, by a number that each user has."""
    cell, rows = material.primary, []
    check_lists_of_users(material, value_from_means=True)
    systems = {
        system: result.units.select(pl.col("user").cast(pl.String), value=cell)
        for system, result in material.drawn.results.items()
        if result.is_mean_of_users(cell)
    }
    if not systems:
        raise MetricError(f"{cell} is not a mean over users, so groups of users have no value")
    users = pl.concat([frame.select("user") for frame in systems.values()]).unique()
    numbered = users.join(values.rename({"value": "number"}), on="user", how="left")
    if absent is not None:
        numbered = numbered.with_columns(pl.col("number").fill_null(absent))
    metrics = [metric for r in material.results.values() for metric in r.metrics]
    confidence = 1 - material.estimates.alpha
    for label, inside in _groups(numbered.drop_nulls("number")):
        for system, frame in systems.items():
            group = frame.join(inside, on="user", how="semi")["value"]
            interval = interval_of(
                cell, math.nan, group, None, confidence, "auto", 10_000, 0, metrics
            )
            estimate = Estimate(interval.estimate, interval.low, interval.high)
            text = f"{system}, {label} {what} ({len(group):,} users): {cell} = {estimate}"
            rows.append(
                {
                    "group": f"{label} ({len(inside):,} users)",
                    "users": len(group),
                    "system": system,
                    "text": text,
                }
                | limits(estimate)
            )
    frame = pl.DataFrame(rows, schema=SLICES)
    caption = f"{cell} by thirds of users: {what}"
    return [_slices(name, caption, frame, material)]


def _groups(users: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return users in thirds by their number; users with one number stay together."""
    if users.is_empty():
        raise MetricError("no evaluated user occurs in training")
    numbers = users["number"].to_numpy()
    upper = np.unique(np.quantile(numbers, [1 / 3, 2 / 3], method="lower"))
    which = np.searchsorted(upper, numbers, side="left")
    out = []
    for group in np.unique(which):
        low, high = float(numbers[which == group].min()), float(numbers[which == group].max())
        label = f"{low:g}" if low == high else f"{low:.4g} to {high:.4g}"
        out.append((label, users.filter(pl.Series(which == group))))
    return out


def exposure(material: ReportData) -> list[Block]:
    """Return the Lorenz curves of exposure of items."""
    exposures, missing = material.lists.exposures(material.drawn.systems, material.k)
    if not exposures:
        return [Missing.of_error("the exposure of items", next(iter(missing.values())))]
    without: list[Block] = [
        Missing.of_error(f"the exposure of {system}", error) for system, error in missing.items()
    ]
    caption = f"Lorenz curves of item exposure in the top {material.k} of all lists. The nearer to "
    caption += f"the diagonal, the more evenly items are recommended.{material.left_out}"
    return [Figure("exposure", caption, lorenz_frame(exposures), charts().lorenz_chart), *without]


def calibration(material: ReportData) -> list[Block]:
    """Return the reliability curves, and the parts of Brier scores."""
    curve = reliability_name(material.drawn.results, None)
    caption = (
        f"Reliability curves ({curve}): observed against predicted rates. On the diagonal "
        "both are the same."
    )
    frame = reliability_frame(material.drawn, curve)
    blocks: list[Block] = [
        Figure("reliability", caption + material.left_out, frame, charts().reliability_chart)
    ]
    scores = [
        m.cells[0] for m in next(iter(material.results.values())).metrics if m.name == "brier"
    ]
    values = next(iter(material.results.values())).values
    for name in scores:
        blocks += _table_of_cells(
            material, name, [label for label, _ in labelled_values(values, name) if label]
        )
    return blocks


def fairness(material: ReportData) -> list[Block]:
    """Return the metrics with a value per group, one table each."""
    metrics: dict[str, dict[str, None]] = {}
    for result in material.results.values():
        for name in (
            name for metric in result.metrics if metric.family != "rating" for name in metric.cells
        ):
            labels = [label for label, _ in labelled_values(result.values, name) if label]
            if labels:
                metrics.setdefault(name, {}).update(dict.fromkeys(labels))
    if not metrics:
        raise MetricError(
            "no metric with values of groups was evaluated",
            hint=ASK_FOR_GROUPS,
        )
    blocks: list[Block] = []
    for name, groups in metrics.items():
        blocks += _table_of_cells(material, name, list(groups))
    return blocks


def _table_of_cells(material: ReportData, name: str, labels: Sequence[str]) -> list[Block]:
    systems = material.estimates.systems
    names = [("", name), *((label, f"{name}[{label}]") for label in labels)]
    rows = [
        [
            " ".join(f"{key}={value}" for key, value in read_label(label).items()) or "overall",
            *(format_number(material.results[system].values.get(cell)) for system in systems),
        ]
        for label, cell in names[:_CELLS]
    ]
    blocks: list[Block] = [Grid(TableView([name, *systems], rows), sortable=True)]
    if len(names) > _CELLS:
        blocks.append(Notes([f"{len(names) - _CELLS:,} more groups are in the saved results"]))
    return blocks


def method(material: ReportData) -> list[Block]:
    """Return how pairs were tested, who counts, and by which rules, in a paragraph each."""
    blocks: list[Block] = []
    if material.pairs is not None:
        blocks.append(Text(methods(material.pairs, material.design, material.results).strip()))
    notes = [
        f"{who}: {label}"
        for label, who in _said_by(material, lambda r: [r.label] if r.label else []).items()
    ]
    plans = _said_by(material, lambda result: plan_statements([result.provenance]))
    doubts = _said_by(material, lambda result: result.provenance.get("doubts") or [])
    notes += [f"{who}: {statement}" for statement, who in plans.items()]
    notes += [f"check {who}: {doubt}" for doubt, who in doubts.items()]
    return [*blocks, *([Notes(notes)] if notes else [])]


def _said_by(material: ReportData, say: Callable[[Result], Sequence[str]]) -> dict[str, str]:
    """Return each note once, with the names of the results that have the note."""
    names: dict[str, list[str]] = {}
    for name, result in material.results.items():
        for text in say(result):
            names.setdefault(text, []).append(name)
    every = len(material.results)
    return {
        text: "all systems" if len(who) == every > 1 else ", ".join(who)
        for text, who in names.items()
    }


def evidence(material: ReportData) -> list[Block]:
    """Return the tables of further studies, each with its title above and its notes below."""
    blocks: list[Block] = []
    for view in material.evidence:
        blocks += [Text(view.title, strong=True)] if view.title else []
        blocks += [Grid(replace(view, notes=())), *([Notes(view.notes)] if view.notes else [])]
    return blocks


def all_values(material: ReportData) -> list[Block]:
    """Return every value of every system, in a table to be opened."""
    systems = material.estimates.systems
    rows = [
        [cell, *(format_number(material.results[name].values.get(cell)) for name in systems)]
        for cell in material.estimates.cells
    ]
    most = max(_VALUES // max(len(systems) // 4, 1), 40)
    blocks: list[Block] = [Grid(TableView(["metric", *systems], rows[:most]), sortable=True)]
    if len(rows) > most:
        blocks.append(Notes([f"{len(rows) - most:,} more values are in the saved results"]))
    return blocks


def pair_table(material: ReportData) -> list[Block]:
    """Return every row of the comparison, with tests and effect sizes."""
    if material.alone:
        return []
    rows = _pairs(material)
    view = pair_view(
        rows.sort("primary", descending=True, maintain_order=True).head(_ROWS), material.design
    )
    view = replace(view, head=("metric and pair", *view.head[1:]))
    more = [f"{len(rows) - _ROWS:,} more rows are in comparison.table"] if len(rows) > _ROWS else []
    return [Grid(replace(view, notes=()), sortable=True), Notes([*view.notes, *more])]


def curves(material: ReportData) -> list[Block]:
    """Return metrics against the cut-off k."""
    cells_by_name: Mapping[str, Mapping[int, str]] = curves_of(material.results)
    if not cells_by_name:
        raise MetricError("every metric was evaluated at one cut-off only", hint=ASK_FOR_CURVES)
    chosen = {name: _thinned(cells) for name, cells in list(cells_by_name.items())[:_PANELS]}
    marked = [name for name in (material.design.baseline, *material.ranked[:1]) if name]
    draw = partial(charts().curve_chart, banded=marked, small=True)
    figures = [
        Figure(f"curve-{name}", f"{name}@k", curve_frame(material.drawn, {name: cells}), draw)
        for name, cells in chosen.items()
    ]
    bands = f"bands: {material.level} intervals of {listing(list(dict.fromkeys(marked)))}"
    return [
        Text(f"Values at the evaluated cut-offs k; {bands}.{material.left_out}"),
        Panels(figures),
    ]


def _thinned(cells: Mapping[int, str]) -> dict[int, str]:
    """Return the first and last cut-offs, and evenly many between them: each has an interval."""
    step = (len(cells) - 1) / (_CUTOFFS - 1)
    every = list(cells.items())
    return (
        dict(every[round(step * index)] for index in range(_CUTOFFS)) if step > 1 else dict(every)
    )
