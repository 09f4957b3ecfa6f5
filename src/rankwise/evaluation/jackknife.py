"""Values without each group of users: the jackknife, for values that are not per-user means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import polars as pl

from rankwise.core.hashing import Hashes, combined, hash_of_column
from rankwise.evaluation.user_totals import UserTotals
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import Measure
from rankwise.tables.align import matching
from rankwise.tables.seen import with_column
from rankwise.tables.table import Table, Tables

__all__ = ["JACKKNIFE", "deal_groups", "jackknifed", "user_hash", "without_each"]

_G = TypeVar("_G")

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
        order = pl.DataFrame({"irrelevant": ~ids.is_in(with_relevant.implode()), "hash": user_hash(ids)}).select(
            pl.struct(pl.all()).rank("ordinal").cast(pl.Int64)
        )
        return (order.to_series() % n_groups).cast(pl.String)

    given = [table for table in (truth, recommendations) if table is not None]
    users = with_column(tables.users, given, JACKKNIFE, "jackknife", group)
    return replace(tables, users=users)


def user_hash(ids: pl.Series) -> Hashes:
    """Return the number by which users are dealt to groups."""
    return combined([hash_of_column(ids)], 0)


def jackknifed(measures: tuple[Measure, ...], *, weighted: bool) -> tuple[Measure, ...]:
    """Return the measures that need a jackknife: per-user means without weights do not."""
    return tuple(
        measure
        for measure in measures
        if weighted or not (isinstance(measure, PerUser) and measure.value_kind == "mean")
    )


def without_each(groups: Mapping[_G, UserTotals]) -> Iterator[tuple[_G, UserTotals]]:
    """Yield each group with the totals of all others.

    Totals add up and are never taken away: an infinite value leaves with its group. Two passes of
    sums, from the front and from the back, need three additions per group.
    """
    names = list(groups)
    before = groups[names[0]].of_nobody()
    behind = [before]
    for name in reversed(names[1:]):
        behind.append(groups[name] + behind[-1])
    for name in names:
        yield name, before + behind.pop()
        before = before + groups[name]
