"""The sections of a report: verdict, leaderboard, differences, groups, exposure, fairness, example users."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.paper import system_view
from rankwise.comparison.view import leader_first, pair_view, verdict_sentences
from rankwise.core.terminal import Cell, Marked, TableView, number
from rankwise.errors import MetricError
from rankwise.metrics.inputs import read_label
from rankwise.reporting.plots import (
    MOST_GROUPS,
    SLICES,
    Estimate,
    changed_users,
    charts,
    curve_frame,
    curves_of,
    difference_frame,
    gains,
    groups_of,
    histogram_frame,
    limits,
    lorenz_frame,
    pareto_frame,
    reliability_frame,
    reliability_name,
    slice_frame,
)
from rankwise.reporting.report_data import Block, Figure, Folded, Grid, Missing, Notes, ReportData, Text
from rankwise.results.display import plan_statements
from rankwise.results.intervals import interval_of
from rankwise.results.result import Result
from rankwise.results.values import labelled_values
from rankwise.stats.differences import Floats

__all__ = [
    "activity",
    "all_values",
    "calibration",
    "curves",
    "decision",
    "differences",
    "distribution",
    "evidence",
    "examples",
    "exposure",
    "fairness",
    "given_slices",
    "leaderboard",
    "pair_table",
    "trade_offs",
    "truth_popularity",
    "verdict",
]

_EXAMPLES = 5  # users who gain most, and as many who lose most
_CELLS = 60  # rows of a table of groups
_ITEMS = 10  # relevant items of a user that are named
_LIST = 20  # items of a list that are shown
_MOST_ROWS, _FEWEST_GROUPS = 120, 6  # of a chart of groups and systems


def given_slices(material: ReportData) -> list[Block]:
    """Return the primary metric within the groups that results were evaluated with."""
    columns = groups_of(material.results)
    if not columns:
        raise MetricError(
            "results were evaluated without groups", hint="evaluate with users= and by=, or with warm_and_cold=True"
        )
    most = max(_FEWEST_GROUPS, min(MOST_GROUPS, _MOST_ROWS // len(material.drawn.systems)))
    blocks: list[Block] = []
    for by, groups in columns.items():
        frame = slice_frame(material.drawn, material.primary, by, groups[:most])
        caption = f"{material.primary} by {by}"
        blocks.append(_slices(f"slices-{len(blocks) + 1}", caption, frame, material))
        if len(groups) > most:
            text = f"The {most} largest of {len(groups):,} groups by {by} are drawn."
            blocks.append(Notes([text]))
    return blocks


def _slices(name: str, caption: str, frame: pl.DataFrame, material: ReportData) -> Figure:
    with_intervals = frame["low"].null_count() < len(frame)
    ending = ", with 95 % confidence intervals." if with_intervals else "; no intervals are known."
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
        material, counts, "popularity-of-relevant-items", "mean training interactions of the user's relevant items"
    )


def _check_lists_of_users(material: ReportData) -> None:
    """Raise if lists belong to requests, whose users are not in the tables that are drawn."""
    if any(result.has_requests for result in material.results.values()):
        raise MetricError("lists belong to requests of users; this is drawn for one list per user")


def _thirds(
    material: ReportData, values: pl.DataFrame, name: str, what: str, absent: float | None = None
) -> list[Block]:
    """Return the primary metric in three groups of users, by a number that each user has."""
    cell, rows = material.primary, []
    _check_lists_of_users(material)
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
    for label, inside in _groups(numbered.drop_nulls("number")):
        for system, frame in systems.items():
            group = frame.join(inside, on="user", how="semi")["value"]
            interval = interval_of(cell, math.nan, group, None, 0.95, "auto", 10_000, 0, metrics)
            estimate = Estimate(interval.estimate, interval.low, interval.high)
            text = f"{system}, {label} {what} ({len(group):,} users): {cell} = {estimate}"
            rows.append(
                {"group": f"{label} ({len(inside):,} users)", "users": len(group), "system": system, "text": text}
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
        return [Missing("the exposure of items", next(iter(missing.values())))]
    without: list[Block] = [Missing(f"the exposure of {system}", why) for system, why in missing.items()]
    caption = f"Lorenz curves of item exposure in the top {material.k} of all lists. The nearer to "
    caption += f"the diagonal, the more evenly items are recommended.{material.left_out}"
    return [Figure("exposure", caption, lorenz_frame(exposures), charts().lorenz_chart), *without]


def calibration(material: ReportData) -> list[Block]:
    """Return the reliability curves, and the parts of Brier scores."""
    curve = reliability_name(material.drawn.results, None)
    caption = f"Reliability curves ({curve}): observed against predicted rates. On the diagonal both are the same."
    frame = reliability_frame(material.drawn, curve)
    blocks: list[Block] = [Figure("reliability", caption + material.left_out, frame, charts().reliability_chart)]
    scores = [m.cells[0] for m in next(iter(material.results.values())).metrics if m.name == "brier"]
    values = next(iter(material.results.values())).values
    for name in scores:
        blocks += _table_of_cells(material, name, [label for label, _ in labelled_values(values, name) if label])
    return blocks


def fairness(material: ReportData) -> list[Block]:
    """Return the metrics with a value per group, one table each."""
    metrics: dict[str, dict[str, None]] = {}
    for result in material.results.values():
        for name in (name for metric in result.metrics if metric.family != "rating" for name in metric.cells):
            labels = [label for label, _ in labelled_values(result.values, name) if label]
            if labels:
                metrics.setdefault(name, {}).update(dict.fromkeys(labels))
    if not metrics:
        raise MetricError(
            "no metric with values of groups was evaluated",
            hint='ask for "group_gap(ndcg)@10" with users=, or "reo@10" with items=',
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
            *(number(material.results[system].values.get(cell)) for system in systems),
        ]
        for label, cell in names[:_CELLS]
    ]
    blocks: list[Block] = [Grid(TableView([name, *systems], rows), sortable=True)]
    if len(names) > _CELLS:
        blocks.append(Notes([f"{len(names) - _CELLS:,} more groups are in the saved results"]))
    return blocks


def examples(material: ReportData) -> list[Block]:
    """Return the users where two systems differ most, with their lists and hits."""
    baseline, system = _most_telling(material)
    cell = material.primary
    _check_lists_of_users(material)
    one, other = (material.results[name].units for name in (system, baseline))
    values = changed_users(one, other, cell)
    if values.is_empty():
        return [Text(f"{cell} is the same in {system} and {baseline} for every user.")]
    better = material.direction(cell)
    gain = pl.col("difference") * (-1 if better is False else 1)
    chosen = pl.concat([values.filter(side > 0).sort(-side, "user").head(_EXAMPLES) for side in (gain, -gain)])
    lists = {name: _by_user(material.lists.top(name, material.k), chosen["user"]) for name in (baseline, system)}
    relevant = _by_user(material.lists.relevant, chosen["user"])
    folded: list[Block] = [
        _example(material, row, (baseline, system), lists, relevant.get(row["user"], []))
        for row in chosen.iter_rows(named=True)
    ]
    text = f"The users with the largest differences in {cell} between {system} and {baseline}: up "
    text += f"to {_EXAMPLES} who gain with {system}, then up to {_EXAMPLES} who lose. Relevant "
    return [Text(f"{text}items are in bold, after ✓."), *folded]


def _most_telling(material: ReportData) -> tuple[str, str]:
    """Return the pair of systems to show users of: the two that are ahead, of those compared."""
    if material.pairs is None:
        raise MetricError(material.not_compared)
    rows = material.pairs.filter(pl.col("primary") & pl.col("wins").is_not_null())
    if rows.is_empty():
        raise MetricError(f"{material.primary} has no per-user values that were compared")
    place = {name: index for index, name in enumerate(material.ranked)}
    pairs = [(row["baseline"], row["system"]) for row in rows.iter_rows(named=True)]
    best = min(pairs, key=lambda pair: place[pair[0]] + place[pair[1]])
    return best if place[best[1]] < place[best[0]] else (best[1], best[0])


def _by_user(rows: pl.DataFrame, users: pl.Series) -> dict[str, list[str]]:
    inside = rows.filter(pl.col("user").is_in(users.to_list()))
    if "position" in inside.columns:
        inside = inside.sort("user", "position")
    return dict(inside.group_by("user", maintain_order=True).agg("item").rows())


def _example(
    material: ReportData,
    row: dict[str, Any],
    pair: tuple[str, str],
    lists: dict[str, dict[str, list[str]]],
    relevant: Sequence[str],
) -> Folded:
    """Return the lists of one user side by side, hits marked."""
    titles, hits = material.lists.titles, set(relevant)
    columns = [lists[name].get(row["user"], []) for name in pair]
    rows = []
    for place in range(min(max(map(len, columns), default=0), _LIST)):
        items = [column[place] if place < len(column) else None for column in columns]
        rows.append(
            [
                str(place + 1),
                *(
                    ""
                    if item is None
                    else Marked(f"✓ {titles.get(item, item)}", "bold")
                    if item in hits
                    else titles.get(item, item)
                    for item in items
                ),
            ]
        )
    if max(map(len, columns), default=0) > _LIST:
        rows.append(["…", "", ""])
    named = [titles.get(item, item) for item in relevant[:_ITEMS]]
    more = f" and {len(relevant) - _ITEMS:,} more" if len(relevant) > _ITEMS else ""
    change = f"{number(row['baseline'])} with {pair[0]}, {number(row['value'])} with {pair[1]}"
    return Folded(
        f"User {row['user']}: {material.primary} {change}",
        [Text(f"Relevant: {', '.join(named)}{more}."), Grid(TableView(["rank", *pair], rows, left=(0, 1, 2)))],
    )


_COLUMNS = 8  # metrics of the leaderboard: the others are in the table of all values
_PANELS = 6  # charts side by side
_PAIRS = 12  # pairs in a chart
_CUTOFFS = 30  # points of a curve
_LETTERS = 12  # systems with a letter in the leaderboard
_ROWS, _VALUES = 150, 400  # rows of a folded table
_BEYOND = ("coverage", "novelty", "diversity", "popularity", "fairness")


def verdict(material: ReportData) -> list[Block]:
    """Return the verdict in one sentence, and the pairs behind it."""
    if material.pairs is None:
        return [*_single(material), *_not_compared(material)]
    head, *rest = verdict_sentences(material.pairs, material.settings)
    notes = [
        *rest,
        *(
            f"{who}: {label}"
            for label, who in _said_by(material, lambda result: [result.label] if result.label else []).items()
        ),
    ]
    doubts = _said_by(material, lambda result: result.provenance.get("doubts") or [])
    plans = _said_by(material, lambda result: plan_statements([result.provenance]))
    notes += [f"{who}: {statement}" for statement, who in plans.items()]
    notes += [f"check {who}: {doubt}" for doubt, who in doubts.items()]
    return [Text(head, strong=True), *([Notes(notes)] if notes else [])]


def _said_by(material: ReportData, say: Callable[[Result], Sequence[str]]) -> dict[str, str]:
    """Return the notes of all results, each once, with the names of the results that have it."""
    names: dict[str, list[str]] = {}
    for name, result in material.results.items():
        for text in say(result):
            names.setdefault(text, []).append(name)
    every = len(material.results)
    return {text: "all systems" if len(who) == every > 1 else ", ".join(who) for text, who in names.items()}


def _single(material: ReportData) -> list[Block]:
    texts = []
    for name in material.estimates.systems:
        estimate = material.estimates.of(name, material.primary)
        users = material.results[name].counts.get("users", 0)
        texts.append(f"{name}: {material.primary} = {estimate} over {users:,} users.")
    return [Text(text, strong=True) for text in texts[:_PAIRS]]


def _not_compared(material: ReportData) -> list[Block]:
    if len(material.results) == 1:
        return [
            Text("One system was evaluated: nothing is compared. Is it better than another? Add the other's result.")
        ]
    return [Missing("the comparison", material.not_compared)]


def decision(material: ReportData) -> list[Block]:
    """Return the outcome of a decision, why, and its checks."""
    view = material.decision
    if view is None:
        raise MetricError("no decision was asked for", hint="pass decision=rw.decide(…)")
    grid = TableView(view.head, view.rows, left=view.left)
    return [Text(view.caption, strong=True), Notes(view.notes), Grid(grid, sortable=True)]


def evidence(material: ReportData) -> list[Block]:
    """Return the tables of other studies, each with its title above and its notes below."""
    blocks: list[Block] = []
    for view in material.evidence:
        blocks += [Text(view.title, strong=True)] if view.title else []
        blocks += [Grid(replace(view, notes=())), *([Notes(view.notes)] if view.notes else [])]
    return blocks


def leaderboard(material: ReportData) -> list[Block]:
    """Return systems by metrics with intervals, and marks for significance; the best first."""
    cells = _columns(material)
    marks, notes = _marks(material)
    rows = []
    for system in material.ranked:
        row: list[Cell] = [marks.get((system, ""), Marked(system))]
        for cell in cells:
            mark = marks.get((system, cell), Marked(""))
            row.append(Marked(str(material.estimates.of(system, cell)), mark.style, mark.raised))
        rows.append(row)
    missing: dict[str, list[str]] = {}
    for cell in cells:
        for system in material.ranked:
            if why := material.estimates.of(system, cell).missing:
                missing.setdefault(f"{cell}: {why}", []).append(system)
    for text, systems in missing.items():
        who = "" if len(systems) == len(rows) else f" ({', '.join(systems[:6])})"
        notes.append(f"no interval of {text}{who}")
    notes = ["In brackets: 95 % confidence intervals over users.", *notes]
    return [Grid(TableView(["system", *cells], rows), sortable=True), Notes(notes)]


def _columns(material: ReportData) -> list[str]:
    """Return the values to show: of each metric that at the primary cut-off, or its last one."""
    chosen: dict[str, str] = {}
    for cell in material.single_cells:
        metric = material.metric_of(cell)
        name = cell if metric is None else str(metric @ ())
        kept = chosen.get(name)
        if kept is None or (metric is not None and kept not in (material.primary, str(metric @ material.k))):
            chosen[name] = cell
    return list(chosen.values())[:_COLUMNS]


def _marks(material: ReportData) -> tuple[dict[tuple[str, str], Marked], list[str]]:
    """Return the marks of a comparison by system and value, and what they mean.

    The mark of the value ``""`` is the name of the system with its letter.
    """
    if material.pairs is None or material.settings["by"] is not None:
        return {}, []
    systems = list(dict.fromkeys([*material.pairs["baseline"], *material.pairs["system"]]))
    view = system_view(material.pairs, material.settings)
    few = len(systems) <= _LETTERS
    marks: dict[tuple[str, str], Marked] = {}
    for system, row in zip(systems, view.rows, strict=True):
        if few:
            marks[system, ""] = Marked(str(row[0]))
        for cell, mark in zip(view.head[1:], row[1:], strict=True):
            raised = mark.raised if isinstance(mark, Marked) else ""
            count = f"{raised.count(',') + 1}" if raised else ""
            if isinstance(mark, Marked):
                marks[system, str(cell)] = Marked("", mark.style, raised if few else count)
    caption = (
        "Best in bold, second underlined. Raised: the number of systems that it is significantly "
        f"better than, level {material.settings['alpha']:g}."
    )
    return marks, [view.caption if few else caption]


def all_values(material: ReportData) -> list[Block]:
    """Return every value of every system, in a table to be opened."""
    systems = material.estimates.systems
    rows = [
        [cell, *(number(material.results[name].values.get(cell)) for name in systems)]
        for cell in material.estimates.cells
    ]
    most = max(_VALUES // max(len(systems) // 4, 1), 40)
    blocks: list[Block] = [Grid(TableView(["metric", *systems], rows[:most]), sortable=True)]
    if len(rows) > most:
        blocks.append(Notes([f"{len(rows) - most:,} more values are in the saved results"]))
    return [Folded(f"All {len(rows):,} values", blocks)]


def differences(material: ReportData) -> list[Block]:
    """Return paired differences as dots and intervals, those of the primary metric first."""
    pairs = _pairs(material)
    main = leader_first(pairs.filter(pl.col("primary")), material.settings)
    blocks: list[Block] = [_difference_figure("differences", main.head(_PAIRS), material)]
    if len(main) > _PAIRS:
        text = f"{_PAIRS} of {len(main):,} pairs are drawn, those of the best system first."
        blocks.append(Notes([text]))
    exploratory = pairs.filter(~pl.col("primary"))
    names = exploratory["metric"].unique(maintain_order=True).to_list()[:_PANELS]
    few = [leader_first(exploratory.filter(metric=name), material.settings).head(_PAIRS) for name in names]
    if few:
        figure = _difference_figure("differences-of-other-metrics", pl.concat(few), material)
        blocks.append(Folded("Other metrics (exploratory)", [figure]))
    return blocks


def _difference_figure(name: str, rows: pl.DataFrame, material: ReportData) -> Figure:
    return Figure(
        name,
        f"Paired differences with {100 - 100 * material.settings['alpha']:g} % confidence "
        "intervals, each of one pair alone; verdicts are corrected over all pairs. An interval "
        "across the dashed line includes a difference of 0.",
        difference_frame(rows),
        charts().difference_chart,
    )


def pair_table(material: ReportData) -> list[Block]:
    """Return every row of the comparison, with tests and effect sizes."""
    rows = _pairs(material)
    view = pair_view(rows.sort("primary", descending=True, maintain_order=True).head(_ROWS), material.settings)
    view = replace(view, head=("metric and pair", *view.head[1:]))
    more = [f"{len(rows) - _ROWS:,} more rows are in comparison.table"] if len(rows) > _ROWS else []
    return [Folded(f"All {len(rows):,} paired comparisons", [Grid(view, sortable=True), Notes([*view.notes, *more])])]


def _pairs(material: ReportData) -> pl.DataFrame:
    if material.pairs is None:
        raise MetricError(material.not_compared)
    return material.pairs


def curves(material: ReportData) -> list[Block]:
    """Return metrics against the cut-off k."""
    cells_by_name: Mapping[str, Mapping[int, str]] = curves_of(material.results)
    if not cells_by_name:
        raise MetricError("every metric was evaluated at one cut-off only", hint='ask for "ndcg@[1,5,10,20]"')
    chosen = {name: _thinned(cells) for name, cells in list(cells_by_name.items())[:_PANELS]}
    frame = curve_frame(material.drawn, chosen)
    caption = f"{', '.join(chosen)} against the cut-off k, with 95 % confidence bands."
    caption += material.left_out
    return [Figure("curves", caption, frame, charts().curve_chart)]


def _thinned(cells: Mapping[int, str]) -> dict[int, str]:
    """Return the first and last cut-offs, and evenly many between them: each has an interval."""
    step = (len(cells) - 1) / (_CUTOFFS - 1)
    every = list(cells.items())
    return dict(every[round(step * index)] for index in range(_CUTOFFS)) if step > 1 else dict(every)


def trade_offs(material: ReportData) -> list[Block]:
    """Return accuracy against coverage, novelty, diversity and popularity bias."""
    xs = [cell for cell in material.in_families(_BEYOND) if cell != material.primary][:_PANELS]
    if not xs:
        raise MetricError(
            "no metric of coverage, novelty, diversity or popularity bias was evaluated",
            hint='ask for "catalog_coverage@10", "gini@10" or "novelty@10"',
        )
    frame = pareto_frame(material.drawn, material.primary, xs)
    y = material.primary
    caption = f"{y} (vertical) against metrics beyond accuracy, with 95 % confidence intervals."
    caption += material.left_out
    return [Figure("trade-offs", caption, frame, lambda data: charts().pareto_chart(data, y))]


def distribution(material: ReportData) -> list[Block]:
    """Return how many users win and lose, and by how much."""
    rows = _pairs(material).filter(pl.col("primary") & pl.col("group").is_null())
    rows = leader_first(rows.drop_nulls("wins"), material.settings).head(_PANELS)
    if rows.is_empty():
        raise MetricError(f"{material.primary} has no per-user values that were compared")
    values: dict[str, Floats] = {}
    counts = []
    for row in rows.iter_rows(named=True):
        pair = f"{row['system']} − {row['baseline']}"
        counts.append([pair, *_wins(row, material)])
        one, other = (material.results[row[side]].units for side in ("system", "baseline"))
        with contextlib.suppress(MetricError):  # the table says that no user differs
            values[pair] = gains(one, other, material.primary)
    head = ["pair", "users who gain", "users without a difference", "users who lose"]
    return [Grid(TableView(head, counts)), *_gains_figure(values, material)]


def _gains_figure(values: Mapping[str, Floats], material: ReportData) -> list[Block]:
    if not values:
        return []
    primary = material.primary

    def draw(data: pl.DataFrame) -> Any:
        return charts().histogram_chart(
            data, f"difference in {primary}", signed=True, better=material.direction(primary)
        )

    caption = f"Users whose {primary} differs, by the difference; equal bins around 0."
    return [Figure("users", caption, histogram_frame(values, symmetric=True), draw)]


def _wins(row: Mapping[str, Any], material: ReportData) -> list[str]:
    """Return who gains, stays and loses; of some metrics small values are the gain."""
    counts = [row["wins"], row["ties"], row["losses"]]
    if material.direction(row["metric"]) is False:
        counts.reverse()
    total = max(sum(counts), 1)
    return [f"{count:,} ({count / total:.0%})" for count in counts]
