"""Confidence intervals of single values: of a mean from its users, else by the jackknife."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.kinds import Accumulated, OverUsers
from rankwise.measures.measure import Measure
from rankwise.results.group_columns import cluster_codes, cluster_flags, groups_of_users
from rankwise.stats.bootstrap import bootstrap, usual_interval
from rankwise.stats.clusters import clustered, jackknife
from rankwise.stats.differences import UNVARIED, Interval, differences
from rankwise.stats.matching_interval import constant_interval
from rankwise.stats.paired import t_interval
from rankwise.stats.values import check_level

__all__ = ["IntervalMethod", "clustered_interval", "interval_of", "jackknife_caveats", "range_of"]

IntervalMethod: TypeAlias = Literal["auto", "t", "bca", "percentile", "basic", "studentised", "jackknife"]


def interval_of(
    cell: str,
    value: float,
    user_values: pl.Series | None,
    replicates: pl.DataFrame | None,
    confidence: float,
    method: IntervalMethod,
    n_resamples: int,
    seed: int,
    measures: Iterable[Measure],
) -> Interval:
    """Return the confidence interval of a value; see `Result.interval`.

    ``user_values`` are the values that it is the mean of; None if it is not a mean over users:
    then only the jackknife is valid. ``bounds`` are those of one user's value.
    """
    check_choice("method", method, IntervalMethod)
    if method != "jackknife" and user_values is not None:
        values = user_values.drop_nans().to_numpy()
        check_level("confidence", confidence)
        if len(values) > 1 and not differences(values).deviation:  # nothing to resample
            bounds = range_of(measures, cell)
            return constant_interval(float(values[0]), len(values), *bounds, confidence=confidence)
        if method == "t":
            return t_interval(values, confidence=confidence)
        if method == "auto":
            return usual_interval(values, confidence=confidence, n_resamples=n_resamples, seed=seed)
        return bootstrap(values, method=method, confidence=confidence, n_resamples=n_resamples, seed=seed)
    if replicates is None or cell not in replicates.columns:
        raise MeasureError(
            f"{cell} is not a mean over users, so its interval needs the jackknife",
            found="no jackknife replicates" + (" of it" if replicates is not None else ""),
            hint="evaluate(…, jackknife=64) computes it without each of 64 groups of users",
        )
    if method not in ("auto", "jackknife"):
        raise ParameterError(
            f"the bootstrap is not valid for {cell}",
            found=f"method={method!r}",
            hint='each resample omits 37 % of the users, and with them their items; pass method="jackknife"',
        )
    found = jackknife(value, replicates[cell].to_numpy(), confidence=confidence)
    return replace(found, flags=(*found.flags, *jackknife_caveats(measures, cell)))


def clustered_interval(
    cell: str,
    users: pl.DataFrame,
    clusters: str,
    confidence: float,
    method: IntervalMethod,
    measures: Iterable[Measure],
) -> Interval:
    """Return the confidence interval of a per-user mean, with clusters of users as the random sample."""
    check_choice("method", method, IntervalMethod)
    if method not in ("auto", "t"):
        raise ParameterError(
            "with clusters the interval is that of a t test of their variance",
            found=f"method={method!r}",
            hint='method="auto"',
        )
    users = users.filter(pl.col(cell).is_not_nan())
    codes = cluster_codes(users["user"], groups_of_users({"": users}, clusters))
    interval = clustered(users[cell].to_numpy(), codes, confidence=confidence)
    flags = tuple(cluster_flags(interval.n, clusters))
    if UNVARIED not in interval.flags:
        return replace(interval, flags=(*interval.flags, *flags))
    bounds, flags = range_of(measures, cell), ("clusters do not vary", *flags)
    return constant_interval(interval.estimate, interval.n, *bounds, confidence=confidence, flags=flags)


def range_of(measures: Iterable[Measure], cell: str) -> tuple[float, float]:
    """Return the smallest and the largest value of a user; infinite for anything else."""
    found = (measure.range for measure in measures if cell in measure.cells)
    return next(found, (-math.inf, math.inf))


def jackknife_caveats(measures: Iterable[Measure], cell: str) -> tuple[str, ...]:
    """Return the caveats of the jackknife interval of a value."""
    for measure in measures:
        if cell not in measure.cells:
            continue
        if isinstance(measure, Accumulated | OverUsers) and measure.jackknife_caveat:
            return (measure.jackknife_caveat,)
    return ()
