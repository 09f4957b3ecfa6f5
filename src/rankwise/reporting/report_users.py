"""The users of a report whose values differ most: who they are, and their lists side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.core.terminal import Marked, TableView, format_number
from rankwise.reporting.chart_data import changed_users
from rankwise.reporting.lookup import items_by_user, make_lookup
from rankwise.reporting.report_data import (
    MOVERS,
    Block,
    Folded,
    Grid,
    Notes,
    ReportData,
    Text,
    check_lists_of_users,
)

_ITEMS = 10  # relevant items of a user that are named
_LIST = 20  # items of a list that are shown


def movers(material: ReportData) -> list[Block]:
    """Return the users that moved most, with both values: lists are not needed."""
    if material.alone:
        return []
    check_lists_of_users(material, value_from_means=True)
    found = material.moved
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
    baseline, system = material.telling_pair
    cell = material.primary
    check_lists_of_users(material)
    one, other = (material.results[name].units for name in (system, baseline))
    values = changed_users(one, other, cell)
    if values.is_empty():
        return [Text(f"{cell} is the same in {system} and {baseline} for every user.")]
    better = material.direction(cell)
    gain = pl.col("difference") * (-1 if better is False else 1)
    chosen = pl.concat(
        [values.filter(side > 0).sort(-side, "user").head(MOVERS) for side in (gain, -gain)]
    )
    lists = {
        name: items_by_user(_of_users(material.lists.top(name, material.k), chosen["user"]))
        for name in (baseline, system)
    }
    relevant = items_by_user(_of_users(material.lists.relevant, chosen["user"]))
    folded: list[Block] = [
        _example(material, row, (baseline, system), lists, relevant.get(row["user"], []))
        for row in chosen.iter_rows(named=True)
    ]
    text = f"Up to {MOVERS} users who gain with {system}, then up to {MOVERS} who lose. "
    marks = Text(f"{text}Relevant items are in bold, after ✓.")
    return [
        make_lookup(material, (baseline, system)),
        Folded("Lists of the users that moved most", [marks, *folded]),
    ]


def _of_users(rows: pl.DataFrame, users: pl.Series) -> pl.DataFrame:
    """Return the rows of some users."""
    return rows.filter(pl.col("user").is_in(users.to_list()))


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
