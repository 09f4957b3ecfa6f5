"""Groups of users that values are worked out without, for intervals of what is no mean of users."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankwise.io.align import matching
from rankwise.measures.kinds import PerUser
from rankwise.measures.totals import totals
from rankwise.seen import with_column
from rankwise.splits.hashing import combined, hash_of_column

if TYPE_CHECKING:
    from rankwise.io.tables import Table
    from rankwise.measures.plan import Plan
    from rankwise.measures.tallies import ItemSums
    from rankwise.measures.totals import Some

__all__ = ["GROUP", "digest", "replicates", "with_groups"]

GROUP = "jackknife group"
"""The column of users that says which group each is left out with."""


def with_groups(
    users: Table | None, truth: Table, listed: Table, groups: int, threshold: float | None
) -> Table:
    """Deal users out to groups: first those with relevant items, in order of a hash of their ids.

    Groups are of one size, give or take a user: values that depend on how many users there are
    would otherwise differ because the groups do. They depend on the truth and not on the lists, so
    that two systems have the same.
    """

    def group(ids: pl.Series) -> pl.Series:
        asked = matching(truth.with_frame(truth.relevant(threshold)), "user", ids)["user"]
        order = pl.DataFrame({
            "irrelevant": ~ids.is_in(asked.implode()),
            "hash": combined([hash_of_column(ids)], 0),
        }).select(pl.struct(pl.all()).rank("ordinal").cast(pl.Int64))  # fmt: skip
        return (order.to_series() % groups).cast(pl.String)

    return with_column(users, [truth, listed], GROUP, "jackknife", group)


def digest(columns: list[pl.Series]) -> str:
    """Hash rows of some columns, whatever their order."""
    keys = combined([hash_of_column(column) for column in columns], 0)
    return f"{int(keys.sum(dtype=np.uint64)):016x}"


def replicates(
    plan: Plan, everyone: Some, group: pl.Series, items: ItemSums | None
) -> pl.DataFrame:
    """Work out every value without each group; plain means of users need none."""
    plain = everyone.weights is None
    measures = tuple(
        one for one in plan.measures
        if not (plain and isinstance(one, PerUser) and one.aggregate == "mean")
    )  # fmt: skip
    rows = []
    for name in group.unique().sort().to_list():
        mask = (group != name).to_numpy()
        weights = None if everyone.weights is None else everyone.weights[mask]
        kept = {
            column: replace(own, code=own.code[mask]) for column, own in everyone.groups.items()
        }
        some = replace(everyone, users=everyone.users.filter(mask), weights=weights, groups=kept)
        sums = None
        if items is not None:
            sums = replace(items, users=some.users, without=(GROUP, name))
        rows.append({"group": name, **totals(measures, some, sums)})
    return pl.DataFrame(rows, infer_schema_length=None)
