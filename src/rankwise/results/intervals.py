"""Confidence intervals of single values, and groups and clusters of users in per-user values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rankwise.core.arguments import TRAIN_GROUP_NAMES, TrainGroup, check_choice, is_slice_of_truth
from rankwise.core.arrays import ExactTotal
from rankwise.errors import MetricError, ParameterError, nearest
from rankwise.messages import call, parameter
from rankwise.metrics.base import GroupsCompared, Metric
from rankwise.results.sampling_unit import REQUESTS, SamplingUnit
from rankwise.tables.requests import row_named, such_rows

if TYPE_CHECKING:
    from rankwise.stats.differences import Interval
    from rankwise.stats.intervals import BootstrapMethod

WEIGHT = "weight"
"""The column of per-user values that holds the users' weights, where users are weighted."""
CROSSED = " × "
"""Between the names, and between the groups, of several groupings that are taken together."""
_NUMBER_OR_BIN = r"(below )?(?P<number>-?\d+(\.\d+)?(e[+-]?\d+)?)( to -?\d\S*| and above)?"


def group_column(by: str) -> str:
    """Return the column of per-user values that holds the users' groups.

    >>> group_column("country")
    'group(country)'
    """
    return f"group({by})"


def read_group_column(column: str) -> str | None:
    """Return the name of the grouping in a column of per-user values; None for other columns."""
    match = re.fullmatch(r"group\((.*)\)", column, flags=re.DOTALL)
    return None if match is None else match[1]


def is_truth_slice(by: str) -> bool:
    """Return whether groups are slices of relevant items, not groups of users.

    >>> [is_truth_slice(by) for by in ("item:genre", "truth:channel", "repeat", "country", "country × repeat")]
    [True, True, True, False, True]
    """
    return any(map(is_slice_of_truth, by.split(CROSSED)))


def within(per_user: pl.DataFrame, by: str, group: object) -> pl.DataFrame:
    """Return the rows of one group of users; None is the group of users without one."""
    columns = [name for name in map(read_group_column, per_user.columns) if name is not None]
    if by not in columns:
        raise ParameterError(
            f"the result has no groups of users by {by!r}",
            found=", ".join(columns) or "no groups",
            hint=_group_hint(str(by), columns),
        )
    name = None if group is None else str(group)
    inside = per_user.filter(pl.col(group_column(by)).eq_missing(name))
    if not len(inside):
        names = [str(other) for other in group_names(per_user, by)]
        raise ParameterError(
            f"no user is in the group {group!r} of {by!r}",
            found=", ".join(names[:12]),
            hint=nearest(str(group), names),
        )
    return inside


def group_names(per_user: pl.DataFrame, by: str) -> list[str | None]:
    """Return the groups of users in order, users without one last."""
    return groups_in({"": per_user}, by)


def _group_hint(by: str, names: Iterable[str]) -> str:
    """Return how a result gets groups by ``by``, if its groups are by ``names``."""
    table = "train" if by in get_args(TrainGroup) else "users"
    return nearest(by, names) or f"evaluate with {parameter(table)} and {parameter('by', by)}"


def groups_in(tables: Mapping[str, pl.DataFrame], by: str) -> list[str | None]:
    """Return the groups of several results in order, those of training from low to none."""
    names = {name for table in tables.values() for name in table[group_column(by)].unique()}
    groups = [
        *in_order(name for name in names if name is not None),
        *([None] if None in names else []),
    ]
    names_of_training = TRAIN_GROUP_NAMES.get(by, ())
    if set(groups) <= set(names_of_training):
        return [name for name in names_of_training if name in groups]
    return groups


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of groups in their natural order: numbers, and bins of numbers, by value.

    >>> in_order(["100", "9"]), in_order(["30 to 50", "50 and above", "below 30"]), in_order(["b", "a"])
    (['9', '100'], ['below 30', '30 to 50', '50 and above'], ['a', 'b'])
    """
    every = list(names)
    matches = [re.fullmatch(_NUMBER_OR_BIN, name) for name in every]
    if not all(matches):
        return sorted(every)
    numbers = {
        name: float(match["number"])
        for name, match in zip(every, matches, strict=True)
        if match is not None
    }
    return sorted(every, key=lambda name: (numbers[name], not name.startswith("below"), name))


def shared_groups(tables: Mapping[str, pl.DataFrame], by: str) -> dict[str, pl.DataFrame]:
    """Return the per-user values of several results, all with the groups that any of them knows.

    Raises
    ------
    ParameterError
        If none knows them, or a user is in two groups.
    """
    column = group_column(by)
    id_type = (
        pl.Int64() if all(f["user"].dtype.is_integer() for f in tables.values()) else pl.String()
    )
    frames = {name: f.with_columns(pl.col("user").cast(id_type)) for name, f in tables.items()}
    columns = [f.select("user", column) for f in frames.values() if column in f.columns]
    if not columns:
        names = {
            name
            for f in frames.values()
            for name in map(read_group_column, f.columns)
            if name is not None
        }
        raise ParameterError(
            f"no result has groups of users by {by!r}", hint=_group_hint(by, names)
        )
    groups = pl.concat(columns).drop_nulls().unique()
    twice = groups.filter(groups["user"].is_duplicated()).sort("user", column)
    if len(twice):
        raise ParameterError(
            f"a user is in two groups by {by!r}",
            found=f"user {twice['user'][0]!r}: {twice[column][0]!r} and {twice[column][1]!r}",
            hint="evaluate every model with the same table of users",
        )
    return {
        name: frame.drop(column, strict=False).join(
            groups, on="user", how="left", maintain_order="left"
        )
        for name, frame in frames.items()
    }


def groups_of_users(tables: Mapping[str, pl.DataFrame], by: str) -> pl.DataFrame:
    """Return every user of several results with the group: ``user`` and ``group(by)``.

    Raises
    ------
    ParameterError
        If no result knows the groups, or a user is in two of them.
    """
    frames = shared_groups(tables, by).values()
    return pl.concat([f.select("user", group_column(by)) for f in frames]).unique("user")


def check_clusters(clusters: object) -> None:
    """Raise unless clusters of users are one column, or None for independent users."""
    if not isinstance(clusters, str | None):
        raise ParameterError(
            "clusters is the name of one column of the users", found=parameter("clusters", clusters)
        )


def cluster_codes(users: pl.Series, clusters: pl.DataFrame) -> Any:
    """Return the cluster number of each user, from 0; ``clusters`` has each user's group."""
    codes = users.to_frame("user").join(
        clusters.with_columns(pl.col("user").cast(users.dtype)),
        on="user",
        how="left",
        maintain_order="left",
    )
    column = clusters.columns[1]
    without = codes.filter(pl.col(column).is_null())
    if len(without):
        raise ParameterError(
            f"some users have no cluster by {read_group_column(column)!r}",
            found=f"{row_named(without['user'][0])} "
            f"({such_rows(without['user'][0], len(without))})",
            hint="give every user a cluster: a user alone is one of its own",
        )
    return codes[column].rank("dense").to_numpy().astype(np.int64) - 1


def mean_of(values: pl.Series, weights: pl.Series | None = None) -> float:
    """Return the (weighted) mean of the defined values of users; NaN without any."""
    if weights is None:
        defined = values.drop_nans()
        return ExactTotal.of(defined.to_numpy()).value / len(defined) if len(defined) else math.nan
    size = ExactTotal.of(weights.filter(values.is_not_nan()).to_numpy()).value
    return sum_of(values, weights) / size if size else math.nan


def sum_of(values: pl.Series, weights: pl.Series | None = None) -> float:
    """Return the (weighted) sum of the defined values of users."""
    terms = values if weights is None else values * weights
    return ExactTotal.of(terms.filter(values.is_not_nan()).to_numpy()).value


IntervalMethod: TypeAlias = Literal[
    "auto", "bounded", "t", "bca", "percentile", "basic", "studentised", "jackknife"
]


def interval_of(
    cell: str,
    value: float,
    user_values: pl.Series | None,
    replicates: pl.DataFrame | None,
    confidence: float,
    method: IntervalMethod,
    n_resamples: int,
    seed: int,
    metrics: Iterable[Metric],
) -> Interval:
    """Return the confidence interval of a value; see `Result.interval`.

    ``user_values`` are the values that it is the mean of; None if it is not a mean over users:
    then only the jackknife is valid.
    """
    check_choice("method", method, IntervalMethod)
    if user_values is None or method == "jackknife":
        return _interval_by_jackknife(cell, value, replicates, confidence, method, metrics)

    values = user_values.drop_nans().to_numpy()
    bounds = range_of(metrics, cell)
    return _interval_of_mean(cell, values, bounds, confidence, method, n_resamples, seed)


def _interval_of_mean(
    cell: str,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    bounds: tuple[float, float],
    confidence: float,
    method: Literal["auto", "t", "bounded"] | BootstrapMethod,
    n_resamples: int,
    seed: int,
) -> Interval:
    """Return the interval of a mean over users; ``bounds`` are those of one user's value."""
    # What evaluates needs no statistics: they are loaded for the first interval.
    from rankwise.stats.bounded_means import bounded_mean_interval
    from rankwise.stats.differences import MANY, check_level, differences
    from rankwise.stats.intervals import bootstrap, constant_interval
    from rankwise.stats.paired_tests import t_interval

    check_level("confidence", confidence)
    is_bounded = math.isfinite(bounds[1] - bounds[0]) and bool(np.isfinite(values).all())
    if len(values) > 1 and not differences(values).deviation:  # nothing to resample
        return constant_interval(float(values[0]), len(values), *bounds, confidence=confidence)

    if method == "auto":
        method = "bounded" if is_bounded else "t" if len(values) >= MANY else "studentised"
    if method == "bounded" and not is_bounded:
        raise ParameterError(
            f"{cell} has no bounds",
            found=parameter("method", "bounded"),
            hint=f'{parameter("method", "studentised")} or "t" need none',
        )
    if method == "t":
        return t_interval(values, confidence=confidence)
    if method == "bounded":
        return bounded_mean_interval(values, bounds=bounds, confidence=confidence)
    return bootstrap(
        values, method=method, confidence=confidence, n_resamples=n_resamples, seed=seed
    )


def _interval_by_jackknife(
    cell: str,
    value: float,
    replicates: pl.DataFrame | None,
    confidence: float,
    method: IntervalMethod,
    metrics: Iterable[Metric],
) -> Interval:
    """Return the interval of a value from its replicates, each without one group of users."""
    from rankwise.stats.data_sets import jackknife

    if replicates is None or cell not in replicates.columns:
        raise MetricError(
            f"{cell} is not a mean over users, so its interval needs the jackknife",
            found="no jackknife replicates" + (" of it" if replicates is not None else ""),
            hint=f"{call('evaluate', jackknife=64)} computes it without each of 64 groups of users",
        )
    if method not in ("auto", "jackknife"):
        raise ParameterError(
            f"the bootstrap is not valid for {cell}",
            found=parameter("method", method),
            hint="each resample omits 37 % of the users, and with them their items; pass "
            f"{parameter('method', 'jackknife')}",
        )
    interval = jackknife(value, replicates[cell].to_numpy(), confidence=confidence)
    return replace(interval, flags=(*interval.flags, *jackknife_caveats(metrics, cell)))


def groups_compared(metrics: Iterable[Metric], cell: str) -> GroupsCompared | None:
    """Return the group statistic of a value whose interval uses all pairs of groups, else None."""
    return next(filter(None, (metric.groups_compared(cell) for metric in metrics)), None)


def values_by_group(compared: GroupsCompared, cell: str, per_user: pl.DataFrame) -> pl.DataFrame:
    """Return each row with the value that groups are compared in, and the group.

    Rows are users; or requests, whose users are in a column ``cluster``.

    Raises
    ------
    MetricError
        If the result lacks either, or its users are weighted.
    """
    value, column = compared.value, group_column(compared.user_group)
    lacking = [name for name in (value, column) if name not in per_user.columns]
    if lacking:
        raise MetricError(
            f"{cell} needs each user's value and group for its interval",
            found=f"no {' and no '.join(lacking)}",
            hint=f"evaluate {value} too, with {parameter('by', compared.user_group)}",
        )
    if WEIGHT in per_user.columns:
        raise MetricError(f"{cell} has no interval over weighted users")
    defined = pl.col(value).is_not_nan() & pl.col(column).is_not_null()
    of_user = group_column(str(REQUESTS.clusters))
    cluster = [pl.col(of_user).alias("cluster")] if of_user in per_user.columns else []
    return per_user.filter(defined).select("user", *cluster, value=value, group=column)


def group_interval_of(
    compared: GroupsCompared,
    cell: str,
    value: float,
    per_user: pl.DataFrame,
    confidence: float,
    method: IntervalMethod,
    n_resamples: int,
    seed: int,
) -> Interval:
    """Return the confidence interval of a value that depends on the extremes of group means."""
    from rankwise.stats.group_means import group_interval

    check_choice("method", method, IntervalMethod)
    if method != "auto":
        raise ParameterError(
            f"neither jackknife nor bootstrap is valid for {cell}",
            found=parameter("method", method),
            hint=f"the extreme of noisy means is biased; {parameter('method', 'auto')} uses "
            "intervals of all pairs "
            "of groups",
        )
    users = values_by_group(compared, cell, per_user)
    interval = group_interval(
        users["value"].to_numpy(),
        users["group"].to_numpy(),
        compared.statistic,
        cluster=users["cluster"].to_numpy() if "cluster" in users.columns else None,
        confidence=confidence,
        n_resamples=n_resamples,
        seed=seed,
    )
    return replace(interval, estimate=value)


def clustered_interval(
    cell: str,
    users: pl.DataFrame,
    unit: SamplingUnit,
    confidence: float,
    method: IntervalMethod,
    metrics: Iterable[Metric],
) -> Interval:
    """Return the confidence interval of a mean, with clusters of rows as the random sample."""
    from rankwise.stats.data_sets import clustered
    from rankwise.stats.differences import UNVARIED
    from rankwise.stats.intervals import constant_interval

    check_choice("method", method, IntervalMethod)
    over_users = (
        f", or any method after evaluating with {parameter('mean_over', 'users')}"
        if unit.is_of_requests
        else ""
    )
    if method not in ("auto", "t"):
        raise ParameterError(
            "with clusters the interval is that of a t test of their variance",
            found=parameter("method", method),
            hint=parameter("method", "auto") + over_users,
        )
    users = users.filter(pl.col(cell).is_not_nan())
    codes = cluster_codes(users["user"], groups_of_users({"": users}, str(unit.clusters)))
    interval = clustered(users[cell].to_numpy(), codes, confidence=confidence)
    flags, bounds = tuple(unit.flags(interval.n)), range_of(metrics, cell)
    if UNVARIED not in interval.flags:  # few clusters give limits beyond any mean
        low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
        return replace(interval, low=low, high=high, flags=(*interval.flags, *flags))
    flags = (unit.unvaried_flag, *flags)
    return constant_interval(
        interval.estimate, interval.n, *bounds, confidence=confidence, flags=flags
    )


def range_of(metrics: Iterable[Metric], cell: str) -> tuple[float, float]:
    """Return the smallest and the largest value of a user; infinite for anything else."""
    ranges = (metric.range for metric in metrics if cell in metric.cells)
    return next(ranges, (-math.inf, math.inf))


def jackknife_caveats(metrics: Iterable[Metric], cell: str) -> tuple[str, ...]:
    """Return the caveats of the jackknife interval of a value."""
    for metric in metrics:
        if cell in metric.cells and metric.jackknife_caveat:
            return (metric.jackknife_caveat,)
    return ()
