"""The table of users: their groups and their weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rankwise.core.texts import labels
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.tables.align import matching
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.train_groups import GROUP_NAMES, TrainGroups
from rankwise.tables.validation import check_was_read

__all__ = ["UserTable"]


@dataclass(frozen=True)
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
        weights: str | Mapping[Any, float] | None,
        train_groups: Mapping[str, TrainGroups] | None = None,
    ) -> UserTable:
        """Return the table of users, checked for the columns that are needed.

        ``train_groups`` are the groups in ``by`` that training interactions define.
        """
        made = {} if train_groups is None else dict(train_groups)
        if users is not None and users.format == "weights" and weights is None and not by:
            raise ParameterError("users= holds weights, which belong in weights=", hint="write weights={user: weight}")
        columns = [name for name in by if name not in made or made[name].table is None]
        for name in [*columns, *([weights] if isinstance(weights, str) else [])]:
            _check_column(users, name)
        if users is not None:
            _check_once(users)
        if isinstance(weights, str):
            assert users is not None
            weight = pl.col(weights).cast(pl.Float64, strict=False).fill_nan(None).alias("weight")
            return cls(users, users.with_frame(users.frame.select("user", weight)), made)
        return cls(users, None if weights is None else read_table(weights, "users"), made)

    def for_users(self, users: Table, by: tuple[str, ...], weights: str | Mapping[Any, float] | None) -> UserTable:
        """Return the table of some users, with the weights that are not a column of it."""
        if isinstance(weights, str):
            return UserTable.check(users, by, weights, self.train_groups)
        return replace(UserTable.check(users, by, None, self.train_groups), weights=self.weights)

    def weights_of(self, users: pl.DataFrame) -> Any:
        """Return the weight of each user, in order; None if there are no weights."""
        if self.weights is None:
            return None
        known = matching(self.weights, "user", users["user"])
        joined = users.select("user").join(known, on="user", how="left", maintain_order="left")
        bad = joined.filter(pl.col("weight").is_null() | (pl.col("weight") < 0))
        if len(bad):
            weight = bad["weight"][0]
            raise InputError(
                "every evaluated user needs a weight of 0 or more",
                where=f"{self.weights.source}, user {bad['user'][0]!r}",
                found=f"{'no weight' if weight is None else weight} ({len(bad)} such users)",
            )
        return joined["weight"].cast(pl.Float64).to_numpy()

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

    def groups_of(self, users: pl.DataFrame, by: str) -> pl.Series:
        """Return the group of each user, in order; null where it is not known."""
        made = self.train_groups.get(by)
        if made is not None and made.table is not None:
            return made.groups_of(users, by).cast(GROUP_NAMES.dtype)
        assert self.users is not None
        known = matching(self.users, "user", users["user"])
        known = known.select("user", pl.col(by).alias("group"))
        joined = users.select("user").join(known, on="user", how="left", maintain_order="left")
        group = joined["group"]
        if made is not None:
            return group.cast(GROUP_NAMES.dtype)
        return group.replace(0.0, 0.0) if group.dtype.is_float() else labels(group)  # -0.0 as well


def _check_column(users: Table | None, name: str) -> None:
    if users is None:
        raise ParameterError(
            f"column {name!r} of the users was asked for, but there is no table of users", hint="pass users="
        )
    check_was_read(users, name)
    if name not in users.frame.columns:
        raise ColumnError(
            f"there is no column {name!r}",
            where=users.source,
            found=", ".join(map(repr, users.frame.columns)),
            hint=nearest(name, users.frame.columns),
        )
    if users.frame[name].dtype.is_nested():
        raise ColumnError(
            f"column {name!r} does not hold one group per row", where=users.source, found=str(users.frame[name].dtype)
        )


def _check_once(users: Table) -> None:
    ids = users.frame["user"]
    if ids.n_unique() < len(ids):
        raise ColumnError(
            "duplicate user in the table of users",
            where=users.source,
            found=f"user {ids.filter(ids.is_duplicated())[0]!r}",
            hint="keep one row per user",
        )
