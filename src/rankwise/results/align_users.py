"""The values of several results for the same users, aligned by user id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.choices import Missing
from rankwise.core.threads import default_threads, each
from rankwise.errors import MeasureError, ParameterError
from rankwise.results.group_columns import cluster_codes
from rankwise.results.result import Result
from rankwise.stats.differences import Differences, Floats
from rankwise.stats.effects import Distribution, deltas_of_pairs
from rankwise.stats.moments import Moments, moments_of_pairs
from rankwise.stats.values import Side

__all__ = ["Aligned", "align_users", "align_values", "check_ids", "main_measure", "some_missing"]

_WORTH_A_THREAD = 10_000  # users


def some_missing(measure: str, found: str) -> ParameterError:
    """Return the error for users who have a value in some results only."""
    return ParameterError(
        f"some users have a value of {measure} in one result, and none in another",
        found=found,
        hint='missing="zero" counts it as 0, as for a list that was not delivered; '
        'missing="common" compares the users who have all values',
    )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Values of one measure for the same users.

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
    cluster : array, shape (n,), or None
        The number of the cluster of each user, from 0; None if users are independent.
    """

    values: Floats
    users: int
    undefined: int
    dropped: int
    filled: int
    cluster: Any = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters of users."""
        return 0 if self.cluster is None else int(self.cluster.max(initial=-1)) + 1

    @cached_property
    def _distributions(self) -> list[Distribution]:
        # How often each value of each result occurs, which is counted once for all pairs.
        threads = default_threads() if len(self.values) > _WORTH_A_THREAD else 1
        return list(each(Distribution.of, self.values.T, threads))

    @cached_property
    def _sides(self) -> list[Side]:
        return [Side(column) for column in self.values.T]

    def differences(self, pairs: Sequence[tuple[int, int]]) -> list[Differences]:
        """Return the paired values of results, the first of each pair minus the second."""
        found = moments_of_pairs(self._sides, pairs)
        return [self._pair(*pair, known) for pair, known in zip(pairs, found, strict=True)]

    def _pair(self, x: int, y: int, known: Moments) -> Differences:
        sides = self._sides[x], self._sides[y]
        return Differences(sides[0].values, sides[1].values, sides=sides, known=known)

    def deltas(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Return Cliff's delta of pairs of results, the first against the second."""
        return deltas_of_pairs(self._distributions, pairs)

    @property
    def reasons(self) -> str:
        """How many users were left out or filled, and why."""
        reasons = {
            "without a value in any result": self.undefined,
            "without a value in some result": self.dropped,
            "missing values taken for 0": self.filled,
        }
        return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)


def check_ids(results: Mapping[str, Result]) -> None:
    """Raise unless user ids have one type in all results."""
    types = {name: result.per_user.schema["user"] for name, result in results.items()}
    if len({dtype.is_integer() for dtype in types.values()}) > 1:
        raise ParameterError(
            "users are integers in one result and strings in another, so none would match",
            found="; ".join(f"{name}: {dtype}" for name, dtype in types.items()),
            hint="give ids one type before evaluating",
        )


def main_measure(result: Result) -> str:
    """Return the default primary measure: ``ndcg@10``, or the first mean over users."""
    means = [cell for cell in result.values if result.is_mean_of_users(cell)]
    if not means:
        raise MeasureError("the result has no measure that is a mean of users", found=", ".join(result.values))
    return "ndcg@10" if "ndcg@10" in means else means[0]


def align_users(
    results: Mapping[str, Result], measure: str, missing: Missing, clusters: pl.DataFrame | None = None
) -> Aligned:
    """Return the values of a measure for the same users in the same order.

    ``clusters`` has every user with the group of users who are not independent.
    """
    check_ids(results)
    users, values = _joined(results, measure)
    aligned = align_values(values, missing)
    if aligned.dropped and missing == "error":
        gaps: Any = np.isnan(values)
        row = int(np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))[0])
        without = [name for name, gap in zip(results, gaps[row], strict=True) if gap]
        raise some_missing(
            measure,
            f"user {users[row]!r} has none in {', '.join(without)} ({aligned.dropped} such users of {len(values)})",
        )
    if clusters is None:
        return aligned
    return replace(aligned, cluster=cluster_codes(users.filter(_kept(values, missing)), clusters))


def _joined(results: Mapping[str, Result], measure: str) -> tuple[pl.Series, Floats]:
    """Return the users of any result in ascending order, and their values, NaN for none."""
    tables = [result.per_user for result in results.values()]
    dtype = tables[0].schema["user"]
    users = [table["user"].cast(pl.Int64() if dtype.is_integer() else dtype) for table in tables]
    columns = [table[measure].cast(pl.Float64) for table in tables]
    if all(some.equals(users[0]) for some in users[1:]):
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


def _kept(values: Floats, missing: Missing) -> Any:
    """Return which users are compared: those with all values, or any with ``missing="zero"``."""
    gaps: Any = np.isnan(values)
    return ~gaps.all(axis=1) if missing == "zero" else ~gaps.any(axis=1)


def align_values(values: Floats, missing: Missing) -> Aligned:
    """Return the users who have all values, or any with ``missing="zero"``; NaN is no value."""
    gaps: Any = np.isnan(values)
    if not gaps.any():
        return Aligned(np.asfortranarray(values), len(values), 0, 0, 0)
    undefined = gaps.all(axis=1)
    partial = gaps.any(axis=1) & ~undefined
    users, n_undefined = len(gaps), int(undefined.sum())
    if missing == "zero":
        filled = int((gaps & ~undefined[:, None]).sum())
        kept = np.asfortranarray(np.nan_to_num(values[~undefined]))
        return Aligned(kept, users, n_undefined, 0, filled)
    kept = np.asfortranarray(values[~gaps.any(axis=1)])  # every system's values side by side
    return Aligned(kept, users, n_undefined, int(partial.sum()), 0)
