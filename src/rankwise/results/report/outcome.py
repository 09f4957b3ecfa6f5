"""The first half of a report: verdict, leaderboard, differences, curves over k, trade-offs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.core.view import Cell, Marked, TableView, number
from rankwise.errors import MeasureError
from rankwise.measures.measure import Measure
from rankwise.results.display.comparison_view import pair_view, system_view
from rankwise.results.display.verdict import leader_first, verdict_sentences
from rankwise.results.plots.chart_data import (
    curve_frame,
    curves_of,
    difference_frame,
    gains,
    histogram_frame,
    pareto_frame,
)
from rankwise.results.plots.plots import charts
from rankwise.results.report.blocks import Block, Figure, Folded, Grid, Missing, Notes, Text
from rankwise.results.report.material import Material
from rankwise.results.result import Result
from rankwise.stats.differences import Floats

__all__ = [
    "all_values",
    "curves",
    "decision",
    "differences",
    "distribution",
    "leaderboard",
    "pair_table",
    "trade_offs",
    "verdict",
]

_COLUMNS = 8  # measures of the leaderboard: the others are in the table of all values
_PANELS = 6  # charts side by side
_PAIRS = 12  # pairs in a chart
_CUTOFFS = 30  # points of a curve
_LETTERS = 12  # systems with a letter in the leaderboard
_ROWS, _VALUES = 150, 400  # rows of a folded table
_BEYOND = ("coverage", "novelty", "diversity", "popularity", "fairness")


def verdict(material: Material) -> list[Block]:
    """Return the verdict in one sentence, and the pairs behind it."""
    if material.pairs is None:
        return [*_single(material), *_not_compared(material)]
    head, *others = verdict_sentences(material.pairs, material.settings)
    notes = [
        *others,
        *(
            f"{who}: {label}"
            for label, who in _said_by(material, lambda result: [result.label] if result.label else []).items()
        ),
    ]
    doubts = _said_by(material, lambda result: result.provenance.get("doubts") or [])
    notes += [f"check {who}: {doubt}" for doubt, who in doubts.items()]
    return [Text(head, strong=True), *([Notes(notes)] if notes else [])]


def _said_by(material: Material, say: Callable[[Result], Sequence[str]]) -> dict[str, str]:
    """Return the notes of all results, each once, with the names of the results that have it."""
    names: dict[str, list[str]] = {}
    for name, result in material.results.items():
        for text in say(result):
            names.setdefault(text, []).append(name)
    every = len(material.results)
    return {text: "all systems" if len(who) == every > 1 else ", ".join(who) for text, who in names.items()}


def _single(material: Material) -> list[Block]:
    texts = []
    for name in material.estimates.systems:
        found = material.estimates.of(name, material.primary)
        users = material.results[name].counts.get("users", 0)
        texts.append(f"{name}: {material.primary} = {found} over {users:,} users.")
    return [Text(text, strong=True) for text in texts[:_PAIRS]]


def _not_compared(material: Material) -> list[Block]:
    if len(material.results) == 1:
        return [
            Text("One system was evaluated: nothing is compared. Is it better than another? Add the other's result.")
        ]
    return [Missing("the comparison", material.not_compared)]


def decision(material: Material) -> list[Block]:
    """Return the outcome of a decision, why, and its checks."""
    view = material.decision
    if view is None:
        raise MeasureError("no decision was asked for", hint="pass decision=rw.decide(…)")
    grid = TableView(view.head, view.rows, left=view.left)
    return [Text(view.caption, strong=True), Notes(view.notes), Grid(grid, sortable=True)]


def leaderboard(material: Material) -> list[Block]:
    """Return systems by measures with intervals, and marks for significance; the best first."""
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


def _columns(material: Material) -> list[str]:
    """Return the values to show: of each measure that at the primary cut-off, or its last one."""
    chosen: dict[str, str] = {}
    for cell in material.whole_cells:
        measure = material.measure_of(cell)
        name = cell if measure is None else str(measure @ ())
        kept = chosen.get(name)
        if kept is None or (measure is not None and kept not in _wanted(measure, material)):
            chosen[name] = cell
    return list(chosen.values())[:_COLUMNS]


def _wanted(measure: Measure, material: Material) -> tuple[str, ...]:
    """Return the values of a measure that are kept when another of its cut-offs comes."""
    return material.primary, str(measure @ material.k)


def _marks(material: Material) -> tuple[dict[tuple[str, str], Marked], list[str]]:
    """Return the marks of a comparison by system and value, and what they mean.

    The mark of the value ``""`` is the name of the system with its letter.
    """
    if material.pairs is None or material.settings["by"] is not None:
        return {}, []
    systems = list(dict.fromkeys([*material.pairs["baseline"], *material.pairs["system"]]))
    view = system_view(material.pairs, material.settings)
    few = len(systems) <= _LETTERS
    found: dict[tuple[str, str], Marked] = {}
    for system, row in zip(systems, view.rows, strict=True):
        if few:
            found[system, ""] = Marked(str(row[0]))
        for cell, mark in zip(view.head[1:], row[1:], strict=True):
            raised = mark.raised if isinstance(mark, Marked) else ""
            count = f"{raised.count(',') + 1}" if raised else ""
            if isinstance(mark, Marked):
                found[system, str(cell)] = Marked("", mark.style, raised if few else count)
    caption = (
        "Best in bold, second underlined. Raised: the number of systems that it is significantly "
        f"better than, level {material.settings['alpha']:g}."
    )
    return found, [view.caption if few else caption]


def all_values(material: Material) -> list[Block]:
    """Return every value of every system, in a table to be opened."""
    systems = material.estimates.systems
    rows = [
        [cell, *(number(material.results[name].values.get(cell)) for name in systems)]
        for cell in material.estimates.cells
    ]
    most = max(_VALUES // max(len(systems) // 4, 1), 40)
    blocks: list[Block] = [Grid(TableView(["measure", *systems], rows[:most]), sortable=True)]
    if len(rows) > most:
        blocks.append(Notes([f"{len(rows) - most:,} more values are in the saved results"]))
    return [Folded(f"All {len(rows):,} values", blocks)]


def differences(material: Material) -> list[Block]:
    """Return paired differences as dots and intervals, those of the primary measure first."""
    pairs = _pairs(material)
    main = leader_first(pairs.filter(pl.col("primary")), material.settings)
    blocks: list[Block] = [_difference_figure("differences", main.head(_PAIRS), material)]
    if len(main) > _PAIRS:
        text = f"{_PAIRS} of {len(main):,} pairs are drawn, those of the best system first."
        blocks.append(Notes([text]))
    others = pairs.filter(~pl.col("primary"))
    names = others["measure"].unique(maintain_order=True).to_list()[:_PANELS]
    few = [leader_first(others.filter(measure=name), material.settings).head(_PAIRS) for name in names]
    if few:
        figure = _difference_figure("differences-of-other-measures", pl.concat(few), material)
        blocks.append(Folded("Other measures (exploratory)", [figure]))
    return blocks


def _difference_figure(name: str, rows: pl.DataFrame, material: Material) -> Figure:
    return Figure(
        name,
        f"Paired differences with {100 - 100 * material.settings['alpha']:g} % confidence "
        "intervals, each of one pair alone; verdicts are corrected over all pairs. An interval "
        "across the dashed line includes a difference of 0.",
        difference_frame(rows),
        charts().difference_chart,
    )


def pair_table(material: Material) -> list[Block]:
    """Return every row of the comparison, with tests and effect sizes."""
    rows = _pairs(material)
    view = pair_view(rows.sort("primary", descending=True, maintain_order=True).head(_ROWS), material.settings)
    view = replace(view, head=("measure and pair", *view.head[1:]))
    more = [f"{len(rows) - _ROWS:,} more rows are in comparison.table"] if len(rows) > _ROWS else []
    return [Folded(f"All {len(rows):,} paired comparisons", [Grid(view, sortable=True), Notes([*view.notes, *more])])]


def _pairs(material: Material) -> pl.DataFrame:
    if material.pairs is None:
        raise MeasureError(material.not_compared)
    return material.pairs


def curves(material: Material) -> list[Block]:
    """Return measures against the cut-off k."""
    known: Mapping[str, Mapping[int, str]] = curves_of(material.results)
    if not known:
        raise MeasureError("every measure was evaluated at one cut-off only", hint='ask for "ndcg@[1,5,10,20]"')
    chosen = {name: _some(cells) for name, cells in list(known.items())[:_PANELS]}
    frame = curve_frame(material.drawn, chosen)
    caption = f"{', '.join(chosen)} against the cut-off k, with 95 % confidence bands."
    caption += material.left_out
    return [Figure("curves", caption, frame, charts().curve_chart)]


def _some(cells: Mapping[int, str]) -> dict[int, str]:
    """Return the first and last cut-offs, and evenly many between them: each has an interval."""
    step = (len(cells) - 1) / (_CUTOFFS - 1)
    every = list(cells.items())
    return dict(every[round(step * index)] for index in range(_CUTOFFS)) if step > 1 else dict(every)


def trade_offs(material: Material) -> list[Block]:
    """Return accuracy against coverage, novelty, diversity and popularity bias."""
    xs = [cell for cell in material.in_families(_BEYOND) if cell != material.primary][:_PANELS]
    if not xs:
        raise MeasureError(
            "no measure of coverage, novelty, diversity or popularity bias was evaluated",
            hint='ask for "catalog_coverage@10", "gini@10" or "novelty@10"',
        )
    frame = pareto_frame(material.drawn, material.primary, xs)
    y = material.primary

    def draw(data: pl.DataFrame) -> Any:
        return charts().pareto_chart(data, y)

    caption = f"{y} (vertical) against metrics beyond accuracy, with 95 % confidence intervals."
    caption += material.left_out
    return [Figure("trade-offs", caption, frame, draw)]


def distribution(material: Material) -> list[Block]:
    """Return how many users win and lose, and by how much."""
    rows = _pairs(material).filter(pl.col("primary") & pl.col("group").is_null())
    rows = leader_first(rows.drop_nulls("wins"), material.settings).head(_PANELS)
    if rows.is_empty():
        raise MeasureError(f"{material.primary} has no per-user values that were compared")
    values: dict[str, Floats] = {}
    counts = []
    for row in rows.iter_rows(named=True):
        pair = f"{row['system']} − {row['baseline']}"
        counts.append([pair, *_wins(row, material)])
        one, other = (material.results[row[side]].per_user for side in ("system", "baseline"))
        with contextlib.suppress(MeasureError):  # the table says that no user differs
            values[pair] = gains(one, other, material.primary)
    head = ["pair", "users who gain", "users without a difference", "users who lose"]
    return [Grid(TableView(head, counts)), *_gains_figure(values, material)]


def _gains_figure(values: Mapping[str, Floats], material: Material) -> list[Block]:
    if not values:
        return []
    primary = material.primary

    def draw(data: pl.DataFrame) -> Any:
        return charts().histogram_chart(
            data, f"difference in {primary}", signed=True, better=material.direction(primary)
        )

    caption = f"Users whose {primary} differs, by the difference; equal bins around 0."
    return [Figure("users", caption, histogram_frame(values, symmetric=True), draw)]


def _wins(row: Mapping[str, Any], material: Material) -> list[str]:
    """Return who gains, stays and loses; of some measures small values are the gain."""
    counts = [row["wins"], row["ties"], row["losses"]]
    if material.direction(row["measure"]) is False:
        counts.reverse()
    total = max(sum(counts), 1)
    return [f"{count:,} ({count / total:.0%})" for count in counts]
