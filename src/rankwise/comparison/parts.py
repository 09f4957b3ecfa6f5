"""The parts that systems are compared within: groups of users, slices, and data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from rankwise.comparison.comparability import check_ids, check_slices
from rankwise.comparison.systems import Systems
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.results.intervals import (
    group_column,
    groups_in,
    is_truth_slice,
    mean_of,
    shared_groups,
)
from rankwise.results.result import Result
from rankwise.results.values import Values

MEANS_OF_GROUPS = "groups of users are compared by means over users alone"
"""Why only means over users are compared in groups."""


_MANY_GROUPS = 1_000  # so that by="user" ends with a message and not after hours


def partition_results(
    systems: Systems, by: str | None, *, force: bool
) -> dict[str | None, dict[str, Result]]:
    """Return all results, or the results of each group of users, or on each data set."""
    if systems.data_sets:
        return {data_set: systems.on(data_set) for data_set in systems.data_sets}
    return (
        {None: dict(systems.results)}
        if by is None
        else _in_groups(systems.results, by, force=force)
    )


def _in_groups(
    results: Mapping[str, Result], by: str, *, force: bool = False
) -> dict[str | None, dict[str, Result]]:
    """Return the results of each group of users: the values that are means of its users."""
    check_ids(results)
    if is_truth_slice(by):
        return _in_slices(results, by, force=force)
    tables = shared_groups({name: result.per_user for name, result in results.items()}, by)
    groups = groups_in(tables, by)
    if len(groups) > _MANY_GROUPS:
        raise ParameterError(
            f"users are compared within at most {_MANY_GROUPS:,} groups",
            found=f"{len(groups):,} groups by {by!r}",
            hint="put users into larger groups",
        )
    return {
        group: {
            name: _of_group(result, tables[name], by, group) for name, result in results.items()
        }
        for group in groups
    }


def _in_slices(
    results: Mapping[str, Result], by: str, *, force: bool
) -> dict[str | None, dict[str, Result]]:
    """Return the results within each slice of relevant items."""
    for name, result in results.items():
        if result.sliced is None or by not in result.sliced["by"]:
            raise ParameterError(
                f"{name} has no slices by {by!r}",
                found=", ".join([] if result.slices is None else result.slices["by"].unique())
                or "no slices",
                hint=f"evaluate every model with {parameter('by', by)}",
            )
    if not force:
        check_slices(results, by)
    first = next(iter(results.values()))
    assert first.slices is not None
    groups = first.slices.filter(pl.col("by") == by, pl.col("users") > 0)["group"].to_list()
    return {
        group: {
            name: with_users(result, result.units_within(by, group))
            for name, result in results.items()
        }
        for group in groups
    }


def _of_group(result: Result, per_user: pl.DataFrame, by: str, group: str | None) -> Result:
    return with_users(result, per_user.filter(pl.col(group_column(by)).eq_missing(group)))


def with_users(result: Result, inside: pl.DataFrame) -> Result:
    """Return a result restricted to users: means over these users, and NaN for further values."""
    means = [
        cell for cell in result.values if cell in inside.columns and result.is_mean_of_users(cell)
    ]
    values = dict.fromkeys(result.values, math.nan) | {
        cell: mean_of(inside[cell]) for cell in means
    }
    return replace(
        result, values=Values(values), per_user=inside, replicates=None, slices=None, sliced=None
    )
