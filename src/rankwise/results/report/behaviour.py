"""The second half of a report: groups of users and items, exposure, fairness, example users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.view import Marked, TableView, number
from rankwise.errors import MeasureError
from rankwise.measures.cell_labels import read_label
from rankwise.results.intervals import interval_of
from rankwise.results.plots.chart_data import SLICES, changed_users, groups_of, limits, lorenz_frame, slice_frame
from rankwise.results.plots.estimates import Estimate
from rankwise.results.plots.plots import MOST_GROUPS, charts
from rankwise.results.report.blocks import Block, Figure, Folded, Grid, Missing, Notes, Text
from rankwise.results.report.material import Material
from rankwise.results.tidy import labelled_values

__all__ = ["activity", "examples", "exposure", "fairness", "given_slices", "truth_popularity"]

_EXAMPLES = 5  # users who gain most, and as many who lose most
_CELLS = 60  # rows of a table of groups
_ITEMS = 10  # relevant items of a user that are named
_LIST = 20  # items of a list that are shown
_MOST_ROWS, _FEWEST_GROUPS = 120, 6  # of a chart of groups and systems


def given_slices(material: Material) -> list[Block]:
    """Return the primary measure within the groups that results were evaluated with."""
    known = groups_of(material.results)
    if not known:
        raise MeasureError(
            "results were evaluated without groups", hint="evaluate with users= and by=, or with warm_and_cold=True"
        )
    most = max(_FEWEST_GROUPS, min(MOST_GROUPS, _MOST_ROWS // len(material.drawn.systems)))
    blocks: list[Block] = []
    for by, groups in known.items():
        frame = slice_frame(material.drawn, material.primary, by, groups[:most])
        caption = f"{material.primary} by {by}"
        blocks.append(_slices(f"slices-{len(blocks) + 1}", caption, frame, material))
        if len(groups) > most:
            text = f"The {most} largest of {len(groups):,} groups by {by} are drawn."
            blocks.append(Notes([text]))
    return blocks


def _slices(name: str, caption: str, frame: pl.DataFrame, material: Material) -> Figure:
    def draw(data: pl.DataFrame) -> Any:
        return charts().slice_chart(data, material.primary)

    with_intervals = frame["low"].null_count() < len(frame)
    ending = ", with 95 % confidence intervals." if with_intervals else "; no intervals are known."
    return Figure(name, caption + ending + material.left_out, frame, draw)


def activity(material: Material) -> list[Block]:
    """Return the primary measure by thirds of users: by their number of training interactions."""
    counts = material.lists.known.group_by("user").agg(value=pl.len().cast(pl.Float64))
    return _thirds(material, counts, "activity", "training interactions", absent=0.0)


def truth_popularity(material: Material) -> list[Block]:
    """Return the primary measure by thirds of users: by the popularity of their relevant items."""
    popularity = material.lists.train.group_by("item").agg(pl.len().cast(pl.Float64))
    relevant = material.lists.relevant.join(popularity, on="item", how="left")
    counts = relevant.group_by("user").agg(value=pl.col("len").fill_null(0.0).mean())
    return _thirds(
        material, counts, "popularity-of-relevant-items", "mean training interactions of the user's relevant items"
    )


def _thirds(material: Material, values: pl.DataFrame, name: str, what: str, absent: float | None = None) -> list[Block]:
    """Return the primary measure in three groups of users, by a number that each user has."""
    cell, rows = material.primary, []
    systems = {
        system: result.per_user.select(pl.col("user").cast(pl.String), value=cell)
        for system, result in material.drawn.results.items()
        if result.is_mean_of_users(cell)
    }
    if not systems:
        raise MeasureError(f"{cell} is not a mean over users, so groups of users have no value")
    users = pl.concat([frame.select("user") for frame in systems.values()]).unique()
    numbered = users.join(values.rename({"value": "number"}), on="user", how="left")
    if absent is not None:
        numbered = numbered.with_columns(pl.col("number").fill_null(absent))
    measures = [measure for r in material.results.values() for measure in r.measures]
    for label, inside in _groups(numbered.drop_nulls("number")):
        for system, frame in systems.items():
            own = frame.join(inside, on="user", how="semi")["value"]
            interval = interval_of(cell, math.nan, own, None, 0.95, "auto", 10_000, 0, measures)
            found = Estimate(interval.estimate, interval.low, interval.high)
            text = f"{system}, {label} {what} ({len(own):,} users): {cell} = {found}"
            rows.append(
                {"group": f"{label} ({len(inside):,} users)", "users": len(own), "system": system, "text": text}
                | limits(found)
            )
    frame = pl.DataFrame(rows, schema=SLICES)
    caption = f"{cell} by thirds of users: {what}"
    return [_slices(name, caption, frame, material)]


def _groups(users: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return users in thirds by their number; users with one number stay together."""
    if users.is_empty():
        raise MeasureError("no evaluated user occurs in training")
    numbers = users["number"].to_numpy()
    upper = np.unique(np.quantile(numbers, [1 / 3, 2 / 3], method="lower"))
    which = np.searchsorted(upper, numbers, side="left")
    out = []
    for group in np.unique(which):
        low, high = float(numbers[which == group].min()), float(numbers[which == group].max())
        label = f"{low:g}" if low == high else f"{low:.4g} to {high:.4g}"
        out.append((label, users.filter(pl.Series(which == group))))
    return out


def exposure(material: Material) -> list[Block]:
    """Return the Lorenz curves of exposure of items."""
    exposures, missing = material.lists.exposures(material.drawn.systems, material.k)
    if not exposures:
        return [Missing("the exposure of items", next(iter(missing.values())))]
    without: list[Block] = [Missing(f"the exposure of {system}", why) for system, why in missing.items()]
    caption = f"Lorenz curves of item exposure in the top {material.k} of all lists. The nearer to "
    caption += f"the diagonal, the more evenly items are recommended.{material.left_out}"
    return [Figure("exposure", caption, lorenz_frame(exposures), charts().lorenz_chart), *without]


def fairness(material: Material) -> list[Block]:
    """Return the measures with a value per group, one table each."""
    measures: dict[str, dict[str, None]] = {}
    for result in material.results.values():
        for name in (name for measure in result.measures for name in measure.cells):
            found = [label for label, _ in labelled_values(result.values, name) if label]
            if found:
                measures.setdefault(name, {}).update(dict.fromkeys(found))
    if not measures:
        raise MeasureError(
            "no measure with values of groups was evaluated",
            hint='ask for "group_gap(ndcg)@10" with users=, or "reo@10" with items=',
        )
    blocks: list[Block] = []
    for name, labels in measures.items():
        blocks += _fairness_table(material, name, list(labels))
    return blocks


def _fairness_table(material: Material, name: str, labels: Sequence[str]) -> list[Block]:
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


def examples(material: Material) -> list[Block]:
    """Return the users where two systems differ most, with their lists and hits."""
    baseline, system = _most_telling(material)
    cell = material.primary
    one, other = (material.results[name].per_user for name in (system, baseline))
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


def _most_telling(material: Material) -> tuple[str, str]:
    """Return the pair of systems to show users of: the two that are ahead, of those compared."""
    if material.pairs is None:
        raise MeasureError(material.not_compared)
    rows = material.pairs.filter(pl.col("primary") & pl.col("wins").is_not_null())
    if rows.is_empty():
        raise MeasureError(f"{material.primary} has no per-user values that were compared")
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
    material: Material,
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
