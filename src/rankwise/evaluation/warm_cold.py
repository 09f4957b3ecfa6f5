"""Warm and cold users and items, evaluated side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import polars as pl

from rankwise.errors import EmptyError, ParameterError
from rankwise.results.group_columns import HISTORY, RELEVANT_ITEMS
from rankwise.results.result import Result
from rankwise.tables.align import matching
from rankwise.tables.seen import with_column
from rankwise.tables.table import Table, Tables

__all__ = ["warm_and_cold_truth", "with_history", "with_item_slices"]

_T = TypeVar("_T")


def with_history(tables: Tables) -> Tables:
    """Return the tables with a column of users that says whether something is known of each."""
    train, truth, recommendations = tables.train, tables.truth, tables.recommendations
    assert train is not None
    if truth is None:
        raise ParameterError("warm_and_cold needs a ground truth", found="no truth")
    training: Table = train

    def state(ids: pl.Series) -> pl.Series:
        warm = matching(training, "user", ids)["user"].unique()
        return ids.is_in(warm.implode()).replace_strict({True: "warm", False: "cold"})

    named = [truth] if recommendations is None else [truth, recommendations]
    users = with_column(tables.users, named, HISTORY, "warm_and_cold", state)
    return replace(tables, users=users)


def warm_and_cold_truth(truth: Table, train: Table) -> dict[str, Table]:
    """Return the ground truth of the items that are in training, and of those that are not."""
    warm = matching(train.trained, "item", truth.frame["item"])["item"].unique()
    is_warm = truth.frame["item"].is_in(warm.implode())
    parts = {"warm": is_warm, "cold": ~is_warm}
    return {name: truth.with_frame(truth.frame.filter(keep)) for name, keep in parts.items()}


def with_item_slices(result: Result, parts: Mapping[str, _T], again: Callable[[_T], Result]) -> Result:
    """Return the result with slices for warm and for cold relevant items.

    ``again`` evaluates the same lists against another ground truth, of which ``parts`` has one for
    each slice.
    """
    rows = [] if result.slices is None else [result.slices]
    for group, part in parts.items():
        try:
            sliced = again(part)
        except EmptyError:  # no user with a list has such an item
            users, values = 0, dict.fromkeys(result.values, float("nan"))
        else:
            users, values = sliced.counts["users"], sliced.values
        head = {"by": RELEVANT_ITEMS, "group": group, "users": users}
        rows.append(pl.DataFrame({name: [value] for name, value in {**head, **values}.items()}))
    slices = pl.concat(rows, how="diagonal_relaxed")
    filled = pl.exclude("by", "group", "users", "label").fill_null(float("nan"))
    slices = slices.with_columns(filled)
    if result.label:
        slices = slices.with_columns(label=pl.lit(result.label))
    return replace(result, slices=slices)
