"""Groups of users that training interactions define: terciles of activity and of popularity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import polars as pl

from rankwise.core.choices import TRAIN_GROUP_NAMES, TrainGroup
from rankwise.errors import ParameterError
from rankwise.tables.align import matching
from rankwise.tables.seen import with_column
from rankwise.tables.table import Table, Tables

__all__ = [
    "GROUP_NAMES",
    "TRAIN_GROUPS",
    "Terciles",
    "TrainGroups",
    "check_train_groups",
    "train_groups",
    "user_values",
    "with_train_groups",
]

GROUP_NAMES = pl.Series(TRAIN_GROUP_NAMES, dtype=pl.Enum(TRAIN_GROUP_NAMES))
"""The names of the groups in order; the last is that of users without training interactions."""
_LOW, _MIDDLE, _HIGH, _NONE = TRAIN_GROUP_NAMES
_VALUES: dict[str, str] = {
    "activity": "distinct training items of the user",
    "popularity": "mean number of training users of the user's training items",
}
TRAIN_GROUPS: tuple[TrainGroup, ...] = get_args(TrainGroup)


@dataclass(frozen=True)
class Terciles:
    """The boundaries of three groups of users, by a value that each training user has.

    Attributes
    ----------
    low, middle : float
        The largest value of the groups ``"low"`` and ``"middle"``: the ⌈n/3⌉-th and the ⌈2n/3⌉-th
        smallest value. Users of equal value are therefore in one group.
    users : int
        The number n of training users.
    """

    low: float
    middle: float
    users: int

    @classmethod
    def of(cls, values: pl.DataFrame) -> Terciles:
        """Return the terciles of distinct values (``value``) and their users (``count``)."""
        ordered = values.sort("value")
        below = ordered["count"].cast(pl.Int64).cum_sum()
        n = int(below[-1])
        low, middle = (
            float(ordered["value"][int(below.search_sorted(-(-part * n // 3), side="left"))]) for part in (1, 2)
        )
        return cls(low, middle, n)

    def groups(self, values: pl.Series) -> pl.Series:
        """Return the group of each value; a null, where there is no value, is in ``"none"``."""
        value = pl.lit(values)
        group = (
            pl.when(value.is_null())
            .then(pl.lit(_NONE))
            .when(value <= self.low)
            .then(pl.lit(_LOW))
            .when(value <= self.middle)
            .then(pl.lit(_MIDDLE))
            .otherwise(pl.lit(_HIGH))
        )
        return pl.select(group=group).to_series()

    def to_dict(self, by: str) -> dict[str, Any]:
        """Return what a result says about the groups."""
        return {"value": _VALUES[by], "low_up_to": self.low, "middle_up_to": self.middle, "training_users": self.users}


@dataclass(frozen=True, eq=False)
class TrainGroups:
    """Groups of users by their training interactions.

    Attributes
    ----------
    terciles : Terciles
        The boundaries.
    table : Table or None, default=None
        Every training user with the group, in a column that is called after the grouping. None
        where pieces bring this column in their table of users.
    """

    terciles: Terciles
    table: Table | None = None

    def groups_of(self, users: pl.DataFrame, by: str) -> pl.Series:
        """Return the group of each user, in order, from a table of users and groups."""
        assert self.table is not None
        known = matching(self.table, "user", users["user"]).select("user", pl.col(by))
        joined = users.select("user").join(known, on="user", how="left", maintain_order="left")
        return joined[by].fill_null(_NONE)


def check_train_groups(by: Iterable[str], users: Table | None, train: Table | None) -> None:
    """Raise if users are to be grouped by training interactions that are missing, or ambiguously.

    Raises
    ------
    ParameterError
        If there are none, or the table of users has a column of the same name.
    """
    for name in by:
        if name not in TRAIN_GROUPS:
            continue
        if users is not None and name in users.frame.columns:
            raise ParameterError(
                f"by={name!r} has two meanings: terciles of training users, and a column of the users",
                where=users.source,
                found=f"a column {name!r}",
                hint="rename the column of the table of users",
            )
        if train is None:
            raise ParameterError(
                f"by={name!r} groups users by their training interactions", found="no train", hint="pass train="
            )


def train_groups(by: Iterable[str], train: Table | None) -> dict[str, TrainGroups]:
    """Return the groups of all training users, for each name that is one of such groups."""
    made: dict[str, TrainGroups] = {}
    for name in TRAIN_GROUPS:
        if name in by:
            assert train is not None
            pairs = train.trained.frame.select("user", "item").unique()
            users = user_values(train.frame, name, pairs.group_by("item").len("count"))
            terciles = Terciles.of(users.group_by("value").len("count"))
            groups = terciles.groups(users["value"]).alias(name)
            made[name] = TrainGroups(terciles, train.with_frame(users.select("user", groups)))
    return made


def user_values(train: pl.DataFrame, by: TrainGroup, popularity: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the value of every training user: ``user``, ``value``.

    Parameters
    ----------
    train : polars.DataFrame
        Training interactions, of which repeated rows count once.
    by : {"activity", "popularity"}
        Number of training items, or their mean number of training users.
    popularity : polars.DataFrame, optional
        The number of training users of every item (``item``, ``count``), 0 for items that it lacks;
        by default counted in ``train``.
    """
    pairs = train.select("user", "item").unique()
    if by == "activity":
        value = pl.len().cast(pl.Float64)
    else:
        counts = pairs.group_by("item").len("count") if popularity is None else popularity
        counts = counts.select(pl.col("item").cast(pairs.schema["item"]), pl.col("count").cast(pl.Int64))
        pairs = pairs.join(counts, on="item", how="left").with_columns(pl.col("count").fill_null(0))
        value = pl.col("count").sum() / pl.len()  # whole numbers: the order moves no bit
    return pairs.group_by("user").agg(value=value)


def with_train_groups(piece: Tables, groups: Mapping[str, TrainGroups], popularity: pl.DataFrame | None) -> Tables:
    """Return the tables of some users with the columns of their groups.

    ``popularity`` is that of all users, and so are the boundaries in ``groups``.
    """
    assert piece.truth is not None
    users = piece.users
    for name in TRAIN_GROUPS:
        if name not in groups:
            continue
        assert piece.train is not None
        known = piece.train.with_frame(user_values(piece.train.frame, name, popularity))
        terciles = groups[name].terciles

        def group(ids: pl.Series, known: Table = known, terciles: Terciles = terciles) -> pl.Series:
            values = matching(known, "user", ids)
            frame = ids.to_frame("user").join(values, "user", "left", maintain_order="left")
            return terciles.groups(frame["value"])

        others = [table for table in (piece.truth, piece.recommendations) if table is not None]
        users = with_column(users, others, name, f"by={name!r}", group)
    return replace(piece, users=users)
