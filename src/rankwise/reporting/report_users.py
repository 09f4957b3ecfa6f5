"""The users of a report whose values differ most: who they are, and their lists side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.comparison.movers import find_movers
from rankwise.core.terminal import Marked, TableView, format_number
from rankwise.errors import MetricError
from rankwise.reporting.lookup import make_lookup
from rankwise.reporting.plots import changed_users
from rankwise.reporting.report_data import (
    Block,
    Folded,
    Grid,
    Notes,
    ReportData,
    Text,
    check_lists_of_users,
)

_EXAMPLES = 5  # users who gain most, and as many who lose most
_ITEMS = 10  # relevant items of a user that are named
_LIST = 20  # items of a list that are shown


def movers(material: ReportData) -> list[Block]:
    """Return the users that moved most, with both values: lists are not needed."""
    if material.alone:
        return []
    pair = most_telling_pair(material)
    check_lists_of_users(material, value_from_means=True)
    found = find_movers(material.results, pair, material.primary, n=_EXAMPLES)
    if found.table.is_empty():
        return []
    rows = found.views[-1]
    return [
        Text(found.sentence),
        Grid(replace(rows, title="", notes=()), compact=True),
        Notes(rows.notes),
    ]


def examples(material: ReportData) -> list[Block]:
    """Return the users where two systems differ most, with their lists and hits."""
    if material.alone:
        return []
    baseline, system = most_telling_pair(material)
    cell = material.primary
    check_lists_of_users(material)
    one, other = (material.results[name].units for name in (system, baseline))
    values = changed_users(one, other, cell)
    if values.is_empty():
        return [Text(f"{cell} is the same in {system} and {baseline} for every user.")]
    better = material.direction(cell)
    gain = pl.col("difference") * (-1 if better is False else 1)
    chosen = pl.concat(
        [values.filter(side > 0).sort(-side, "user").head(_EXAMPLES) for side in (gain, -gain)]
    )
    lists = {
        name: _by_user(material.lists.top(name, material.k), chosen["user"])
        for name in (baseline, system)
    }
    relevant = _by_user(material.lists.relevant, chosen["user"])
    folded: list[Block] = [
        _example(material, row, (baseline, system), lists, relevant.get(row["user"], []))
        for row in chosen.iter_rows(named=True)
    ]
    text = f"Up to {_EXAMPLES} users who gain with {system}, then up to {_EXAMPLES} who lose. "
    marks = Text(f"{text}Relevant items are in bold, after ✓.")
    return [
        make_lookup(material, (baseline, system)),
        Folded("Lists of the users that moved most", [marks, *folded]),
    ]


def most_telling_pair(material: ReportData) -> tuple[str, str]:
    """Return the compared pair of systems that ranks highest, to show example users of."""
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
    change = f"{format_number(row['baseline'])} with {pair[0]}, {format_number(row['value'])} with {pair[1]}"
    return Folded(
        f"User {row['user']}: {material.primary} {change}",
        [
            Text(f"Relevant: {', '.join(named)}{more}."),
            Grid(TableView(["rank", *pair], rows, left=(0, 1, 2))),
        ],
    )
