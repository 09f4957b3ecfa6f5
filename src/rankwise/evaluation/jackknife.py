"""Values without each group of users: the jackknife, for values that are not per-user means."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankwise.core.hashing import combined, hash_of_column
from rankwise.evaluation.totals import UserColumns, totals
from rankwise.measures.item_sums import CatalogueSums
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import Measure
from rankwise.tables.align import matching
from rankwise.tables.seen import with_column
from rankwise.tables.table import Table, Tables

__all__ = ["JACKKNIFE", "deal_groups", "replicates"]

JACKKNIFE = "jackknife group"
"""The column of users that says which group each is left out with."""


def deal_groups(tables: Tables, n_groups: int, threshold: float | None) -> Tables:
    """Return the tables with users dealt to groups of one size, give or take a user.

    Values that depend on the number of users would otherwise differ because groups do. Users with
    relevant items are dealt first, in order of a hash of their ids, so that groups depend on the
    ground truth and not on the lists: two systems have the same.
    """
    truth, recommendations = tables.truth, tables.recommendations
    assert recommendations is not None
    relevant: Table = recommendations  # without a ground truth lists must tell
    if truth is not None:
        relevant = truth.with_frame(truth.relevant(threshold))

    def group(ids: pl.Series) -> pl.Series:
        with_relevant = matching(relevant, "user", ids)["user"]
        order = pl.DataFrame({
            "irrelevant": ~ids.is_in(with_relevant.implode()),
            "hash": combined([hash_of_column(ids)], 0),
        }).select(pl.struct(pl.all()).rank("ordinal").cast(pl.Int64))  # fmt: skip
        return (order.to_series() % n_groups).cast(pl.String)

    given = [table for table in (truth, recommendations) if table is not None]
    users = with_column(tables.users, given, JACKKNIFE, "jackknife", group)
    return replace(tables, users=users)


def replicates(
    measures: tuple[Measure, ...],
    users: UserColumns,
    group: pl.Series,
    items: CatalogueSums | None,
) -> pl.DataFrame:
    """Return every value without each group; per-user means need no jackknife."""
    if users.weights is None:
        measures = tuple(
            measure for measure in measures
            if not (isinstance(measure, PerUser) and measure.value_kind == "mean")
        )  # fmt: skip
    rows = []
    for name in group.unique().sort().to_list():
        kept = users.select((group != name).to_numpy())
        sums = None
        if items is not None:
            sums = replace(items, users=kept.users, without=(JACKKNIFE, name))
        rows.append({"group": name, **totals(measures, kept, sums)})
    return pl.DataFrame(rows, infer_schema_length=None)
