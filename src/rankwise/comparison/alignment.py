"""The systems of a comparison: results that may be compared, with their users aligned by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.comparability import check_ids
from rankwise.core.arguments import Missing
from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter
from rankwise.results.intervals import cluster_codes, groups_of_users
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.clusters import UserClusters
from rankwise.stats.data_sets import cluster_values
from rankwise.stats.differences import Differences, Floats, SortedColumn, moments_of_pairs
from rankwise.stats.effect_sizes import deltas_of_pairs
from rankwise.tables.requests import row_named, such_rows


def some_missing(metric: str, details: str) -> ParameterError:
    """Return the error for users with a value in one result and none in another."""
    return ParameterError(
        f"some users have a value of {metric} in one result, and none in another",
        found=details,
        hint=f"{parameter('missing', 'zero')} counts it as 0, as for a list that was not "
        "delivered; "
        f"{parameter('missing', 'common')} compares the users who have all values",
    )


@dataclass(frozen=True, eq=False)
class AlignedUsers:
    """Values of one metric for the same users.

    Attributes
    ----------
    values : array, shape (n, k)
        One row per user, one column per result; no NaN.
    users : int
        Number of users that any result has.
    undefined, dropped : int
        Users left out because no result, or not every result, has a value for them.
    filled : int
        Missing values replaced by 0.
    clusters : UserClusters or None
        The clusters of users; None if users are independent.
    ids : polars.Series or None
        The id of each user, where it was asked for.
    """

    values: Floats
    users: int
    undefined: int
    dropped: int
    filled: int
    clusters: UserClusters | None = None
    ids: pl.Series | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters of users."""
        return 0 if self.clusters is None else self.clusters.count

    @property
    def unit_values(self) -> Floats:
        """One row per sampling unit: a user, or a cluster, as `cluster_values` has them."""
        if self.clusters is None:
            return self.values
        codes = self.clusters.codes
        return np.column_stack([cluster_values(column, codes) for column in self.values.T])

    @cached_property
    def _columns(self) -> list[SortedColumn]:
        return [SortedColumn(column) for column in self.values.T]

    def differences(self, pairs: Sequence[tuple[int, int]]) -> list[Differences]:
        """Return the paired values of results, the first of each pair minus the second."""
        moments = moments_of_pairs(self._columns, pairs)
        columns = [(self._columns[x], self._columns[y]) for x, y in pairs]
        return [
            Differences(x.values, y.values, columns=(x, y), moments=m)
            for (x, y), m in zip(columns, moments, strict=True)
        ]

    def deltas(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Return Cliff's delta of pairs of results, the first against the second."""
        return deltas_of_pairs([column.values for column in self._columns], pairs)

    @property
    def reasons(self) -> str:
        """How many users were left out or filled, and why."""
        reasons = {
            "excluded: no value in any result": self.undefined,
            "excluded: no value in at least one result": self.dropped,
            "missing values taken for 0": self.filled,
        }
        return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)


def align_users(
    results: Mapping[str, Result],
    metric: str,
    missing: Missing,
    clusters: pl.DataFrame | None = None,
    largest_cluster: int | None = None,
    *,
    with_ids: bool = False,
) -> AlignedUsers:
    """Return the values of a metric for the same users in the same order.

    ``clusters`` has every user with the group of users who are not independent, the largest of
    which was stated to have ``largest_cluster`` users.
    """
    check_ids(results)
    users, values = _joined(results, metric)
    _check_finite(values, users, [*results], metric)
    aligned = align_values(values, missing)
    gaps: Any
    if aligned.dropped and missing == "error":
        gaps = np.isnan(values)
        row = int(np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))[0])
        without = [name for name, gap in zip(results, gaps[row], strict=True) if gap]
        raise some_missing(
            metric,
            f"{row_named(users[row])} has none in {', '.join(without)} "
            f"({such_rows(users[row], aligned.dropped)} of {len(values)})",
        )
    if clusters is None and not with_ids:
        return aligned
    gaps = np.isnan(values)
    compared = ~gaps.all(axis=1) if missing == "zero" else ~gaps.any(axis=1)
    ids = users.filter(compared)
    aligned = replace(aligned, ids=ids)
    if clusters is None:
        return aligned
    return replace(aligned, clusters=UserClusters(cluster_codes(ids, clusters), largest_cluster))


def align_units(
    results: Mapping[str, Result],
    metric: str,
    missing: Missing,
    unit: SamplingUnit,
    *,
    largest_cluster: int | None = None,
    with_ids: bool = False,
) -> AlignedUsers:
    """Return the values of a metric as `align_users` does, with the clusters of a sampling unit."""
    units = {name: result.units for name, result in results.items()}
    clusters = None if unit.clusters is None else groups_of_users(units, unit.clusters)
    return align_users(results, metric, missing, clusters, largest_cluster, with_ids=with_ids)


def _joined(results: Mapping[str, Result], metric: str) -> tuple[pl.Series, Floats]:
    """Return the users of any result in ascending order, and their values, NaN for none."""
    tables = [result.units for result in results.values()]
    dtype = tables[0].schema["user"]
    users = [table["user"].cast(pl.Int64() if dtype.is_integer() else dtype) for table in tables]
    columns = [table[metric].cast(pl.Float64) for table in tables]
    if all(column.equals(users[0]) for column in users[1:]):
        values = np.empty((len(users[0]), len(columns)), order="F")
        for at, column in enumerate(columns):
            values[:, at] = column.to_numpy()
        if users[0].is_sorted():
            return users[0], values
        order = users[0].arg_sort()
        return users[0][order], values[order]
    joined = users[0].to_frame().with_columns(columns[0].alias("0"))
    for at, column in enumerate(columns[1:], start=1):
        other = users[at].to_frame().with_columns(column.alias(str(at)))
        joined = joined.join(other, on="user", how="full", coalesce=True)
    joined = joined.sort("user")
    return joined["user"], joined.drop("user").to_numpy().astype(np.float64)


def _check_finite(values: Floats, users: pl.Series, systems: Sequence[str], metric: str) -> None:
    """Raise if a user's value is infinite: no mean is a number then."""
    infinite: Any = np.isinf(values)
    if not infinite.any():
        return
    row, column = np.argwhere(infinite)[0].tolist()
    raise infinite_value(
        metric, f"{systems[column]!r}, {row_named(users[row])}", values[row, column]
    )


def infinite_value(metric: str, where: str | None, found: object) -> InputError:
    """Return the error for users with an infinite value."""
    return InputError(
        f"a value of {metric} is infinite, and so is every mean with it",
        where=where,
        found=f"{found}",
        hint="give such users another value, or none (NaN)",
    )


def align_values(values: Floats, missing: Missing) -> AlignedUsers:
    """Return the users who have all values, or any with ``missing="zero"``; NaN is no value."""
    gaps: Any = np.isnan(values)
    if not gaps.any():
        return AlignedUsers(np.asfortranarray(values), len(values), 0, 0, 0)
    undefined = gaps.all(axis=1)
    partial = gaps.any(axis=1) & ~undefined
    users, n_undefined = len(gaps), int(undefined.sum())
    if missing == "zero":
        filled = int((gaps & ~undefined[:, None]).sum())
        kept = np.asfortranarray(np.where(gaps, 0.0, values)[~undefined])
        return AlignedUsers(kept, users, n_undefined, 0, filled)
    kept = np.asfortranarray(values[~gaps.any(axis=1)])  # every system's values side by side
    return AlignedUsers(kept, users, n_undefined, int(partial.sum()), 0)
