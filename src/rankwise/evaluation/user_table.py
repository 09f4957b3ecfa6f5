"""Groups and weights of users, and the jackknife group that each is left out with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.hashing import Hashes, combine_hashes, hash_of_column
from rankwise.core.vocabularies import lookup_rows
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.messages import parameter
from rankwise.tables.columns import check_once, check_was_read, where_in
from rankwise.tables.ids import look_up
from rankwise.tables.requests import has_requests
from rankwise.tables.table import Table, Tables
from rankwise.tables.training import TrainGroups, group_names, with_user_column, without_repeats
from rankwise.tables.values import as_labels, as_numbers


@dataclass(frozen=True, eq=False, repr=False)
class UserTable:
    """The groups and weights of users that an evaluation uses."""

    users: Table | None = None
    weights: Table | None = None
    train_groups: Mapping[str, TrainGroups] = field(default_factory=dict)

    @classmethod
    def check(
        cls,
        users: Table | None,
        by: tuple[str, ...],
        weights: str | Table | None,
        train_groups: Mapping[str, TrainGroups] | None = None,
    ) -> UserTable:
        """Return the table of users, checked for the columns that are needed.

        ``weights`` are a column of the users or a table of their own; ``train_groups`` are the
        groups in ``by`` that training interactions define.
        """
        made = {} if train_groups is None else dict(train_groups)
        if users is not None and users.format == "weights" and weights is None and not by:
            raise ParameterError(
                f"{parameter('users')} holds weights, which belong in {parameter('weights')}",
                hint=f"write {parameter('weights', {'ann': 0.5})}",
            )
        grouping = [name for name in by if name not in made or made[name].table is None]
        weighting = [weights] if isinstance(weights, str) else []
        for name in (*grouping, *weighting):
            _check_column(users, name)
        if users is not None:
            _check_groups(users, grouping)

        if not isinstance(weights, str):
            return cls(users, weights, made)
        assert users is not None
        numbers = as_numbers(users.frame[weights], where_in(users, weights)).cast(pl.Float64)
        frame = users.frame.select("user", numbers.alias("weight"))
        return cls(users, users.with_frame(frame), made)

    def weights_of(self, units: pl.DataFrame) -> Any:
        """Return the weight of each user, in order; None if there are no weights."""
        if self.weights is None:
            return None
        weights = look_up(self.weights, units, "weight")
        bad = units.select("user", weight=weights).filter(
            pl.col("weight").is_null() | (pl.col("weight") < 0)
        )
        if len(bad):
            weight = bad["weight"][0]
            raise InputError(
                "every evaluated user needs a weight of 0 or more",
                where=f"{self.weights.source}, user {bad['user'][0]!r}",
                found=f"{'no weight' if weight is None else weight} ({bad['user'].n_unique()} such "
                "users)",
            )
        return weights.cast(pl.Float64).to_numpy()

    def check_total(self, total: float) -> None:
        """Raise unless the weights of all users add up to a number that can be divided by."""
        if self.weights is None:
            return
        if total == 0:
            raise InputError("all weights are 0", where=self.weights.source)
        if not math.isfinite(total * total):  # sums of products stay finite
            raise InputError(
                "the sum of the weights is too large for a float",
                where=self.weights.source,
                found=f"a total of {total:g}",
                hint="divide all of them by the largest",
            )

    def groups_of(self, units: pl.DataFrame, by: str) -> pl.Series:
        """Return the group of each user or request, in order; null if the group is unknown.

        Requests have groups of their own where the table of users has their attributes.
        """
        made = self.train_groups.get(by)
        if made is not None and made.table is not None:
            return made.groups_of(units, by).cast(group_names(by).dtype)
        assert self.users is not None
        group = look_up(self.users, units, by)
        if made is not None:
            return group.cast(group_names(by).dtype)
        return as_labels(group, self.users.source)


def _check_groups(users: Table, grouping: Sequence[str]) -> None:
    """Raise if a user has two rows, or a column that groups users has no labels."""
    if not has_requests(users):  # of whom each pair was checked
        check_once(users, "user")
    for name in grouping:
        as_labels(users.frame[name].head(0), users.source)


def _check_column(users: Table | None, name: str) -> None:
    if users is None:
        raise ParameterError(
            f"column {name!r} of the users was asked for, but there is no table of users",
            hint=f"pass {parameter('users')}",
        )
    check_was_read(users, name)
    if name not in users.frame.columns:
        raise ColumnError(
            f"there is no column {name!r}",
            where=users.source,
            found=", ".join(map(repr, users.frame.columns)),
            hint=nearest(name, users.frame.columns),
        )


JACKKNIFE = "jackknife group"
"""The column of users that says which group each is left out with."""


def assign_jackknife_groups(tables: Tables, n_groups: int, threshold: float | None) -> Tables:
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
        is_relevant = lookup_rows(ids, without_repeats(relevant.frame["user"])) >= 0
        hashes = user_hash(ids)
        place = np.empty(len(ids), dtype=np.int64)
        before = 0
        for dealt in (is_relevant, ~is_relevant):
            place[dealt] = before + pl.Series(hashes[dealt]).rank("ordinal").to_numpy()
            before += int(dealt.sum())
        return pl.Series(place % n_groups)

    present = [table for table in (truth, recommendations) if table is not None]
    users = with_user_column(tables.users, present, JACKKNIFE, "jackknife", group)
    return replace(tables, users=users)


def user_hash(ids: pl.Series) -> Hashes:
    """Return the number by which users are dealt to groups."""
    return combine_hashes([hash_of_column(ids)], 0)
