"""Training interactions beside lists: seen items, and groups of users by what is known of them.

Terciles depend on all training interactions and are computed when a job is prepared, so all pieces
share them; users without training interactions are one more group. On Spark the boundaries are
counted, and each bucket makes its users' column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import polars as pl

from rankwise.core.arguments import TRAIN_GROUP_NAMES, TrainGroup
from rankwise.core.hashing import combine_hashes, id_numbers
from rankwise.core.units import unit_keys
from rankwise.core.vocabularies import whole_numbers
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.messages import mention, parameter
from rankwise.tables.ids import look_up
from rankwise.tables.places import are_places
from rankwise.tables.table import TRAINED, Recommendations, Table, Tables


def exclude_seen(
    recommendations: Recommendations, train: Table, truth: Table | None, *, required: bool = True
) -> Recommendations:
    """Return lists without their users' training interactions, which are counted.

    Ground truth rows that are training interactions can then no longer be hits; they are counted
    as well. If ``required``, at least one item and one such row must remain; a chunk of
    the users may have none.
    """
    if recommendations.is_exact:
        raise InputError(
            "training interactions cannot be removed from exact ranks",
            hint=f"pass them to rw.rank_relevant as {parameter('exclude')}",
        )
    pair = ["user", "item"]
    lists, seen = recommendations.frame, train.frame.select(pair).unique()
    kept = lists.join(seen, on=pair, how="anti", maintain_order="left")
    if kept.is_empty() and required:
        raise EmptyError(
            "every recommended item was seen in training", where=recommendations.source
        )
    kept = _without_rank_gaps(kept)
    counts = {**recommendations.counts, "seen_items_taken_out": len(lists) - len(kept)}
    if truth is not None:
        n_seen = len(truth.frame.join(seen, on=pair, how="semi"))
        counts["truth_rows_seen_in_training"] = n_seen
        if required and 0 < len(truth.frame) == n_seen:
            raise InputError(
                "every ground truth row is a training interaction, so "
                f"{mention('exclude_seen')} leaves no hit",
                where=train.source,
                found=f"{n_seen:,} such rows",
                hint=f"for a validation part pass as {mention('train')} what is known before it: "
                'split.known("validation")'
                if TRAINED in train.frame.columns
                else "pass as train what was known before the ground truth",
            )
    protocol = recommendations.protocol
    if protocol is not None:
        protocol = replace(protocol, candidates=f"{protocol.candidates}, lists less seen")
    return replace(recommendations, frame=kept, counts=counts, protocol=protocol)


SEEN = "recommendations_seen_in_training"
COMPARED = "recommendations_compared_with_training"
SEEN_TRUTH = "truth_rows_also_in_training"
_MOST_TRAINING = 1_000_000  # rows that are compared with lists; of more, those of some users


def seen_counts(lists: Table, truth: Table | None, train: Table) -> dict[str, int]:
    """Count recommended items and ground-truth rows that are training interactions of the user.

    Ground truth in which users meet known items again says that lists of known items are meant. If
    there are very many training interactions, the rows of some users are compared: always those of
    the same users. Lists of requests have a column ``request``, as has their ground truth.
    """
    pair = ["user", "item"]
    unit = unit_keys(lists.frame)
    with_unit = [*unit, "item"]

    tables = [lists.with_frame(lists.frame.select(with_unit))]
    tables += [train.with_frame(train.frame.select(pair))]
    tables += [] if truth is None else [truth.with_frame(truth.frame.select(with_unit))]
    share = 1 << (max(len(train.frame) - 1, 0) // _MOST_TRAINING).bit_length()
    if share > 1:
        tables = [table.with_frame(_of_some_users(table.frame, share)) for table in tables]
    recommended, known, *judged = (table.frame for table in tables)
    counts = {SEEN: len(recommended.join(known, on=pair, how="semi"))}
    if share > 1:
        counts[COMPARED] = len(recommended)
    for frame in judged:
        met_again = frame.join(known, on=pair, how="semi")
        if len(met_again):
            met_again = met_again.join(recommended, on=unit, how="semi", nulls_equal=True)
        counts[SEEN_TRUTH] = len(met_again)
    return counts


def _of_some_users(frame: pl.DataFrame, share: int) -> pl.DataFrame:
    """Return the rows of one user in so many, chosen by a hash of the id."""
    users = frame["user"]
    numbers = whole_numbers(users).to_numpy() if users.dtype.is_integer() else id_numbers(users)
    return frame.filter(
        pl.Series(
            combine_hashes([numbers.astype(np.int64, copy=False).view(np.uint64)], 0) % share == 0
        )
    )


def keep_judged(recommendations: Recommendations, truth: Table) -> Recommendations:
    """Return lists without the items that the ground truth does not judge, which are counted."""
    if recommendations.is_exact:
        raise InputError(
            "exact ranks are of judged items already", hint=f"leave {mention('judged_only')} out"
        )
    rows = truth.frame
    if "relevance" in rows.columns:
        rows = rows.filter(pl.col("relevance") >= 0)
    pair = ["user", "item"]
    lists = recommendations.frame
    places = lists.filter(are_places(lists["item"])).select(pair)  # a list may have no item
    kept = lists.join(
        pl.concat([rows.select(pair), places], how="vertical_relaxed"),
        on=pair,
        how="semi",
        maintain_order="left",
    )
    counts = {**recommendations.counts, "unjudged_items_taken_out": len(lists) - len(kept)}
    return replace(recommendations, frame=_without_rank_gaps(kept), counts=counts)


def _without_rank_gaps(lists: pl.DataFrame) -> pl.DataFrame:
    if "rank" not in lists.columns:
        return lists
    unit = [name for name in ("user", "request") if name in lists.columns]
    return lists.with_columns(pl.col("rank").rank("ordinal").over(unit).cast(pl.Int64))


def check_new_column(users: Table | None, name: str, option: str) -> None:
    """Raise if users already have the column that an option adds."""
    if users is not None and name in users.frame.columns:
        raise ParameterError(
            f"{option} adds a column {name!r} to users, which already have one",
            where=users.source,
            hint="rename that column",
        )


def with_user_column(
    users: Table | None,
    tables: list[Table],
    name: str,
    option: str,
    make: Callable[[pl.Series], pl.Series],
) -> Table:
    """Return the users of several tables, one row per user, with a column made from their ids."""
    check_new_column(users, name, option)
    with_users = tables if users is None else [*tables, users]
    runs = [without_repeats(table.frame["user"]) for table in with_users]
    ids = pl.concat(runs).unique(maintain_order=True)
    frame = ids.to_frame("user").with_columns(make(ids).alias(name))
    if users is None:
        return Table(frame, "users", "users", "made of ids", {"user": "user", name: name})
    return users.with_frame(frame.join(users.frame, on="user", how="left", maintain_order="left"))


def without_repeats(ids: pl.Series) -> pl.Series:
    """Return ids without those that repeat the one before: few are left of grouped rows."""
    return ids.filter(ids.ne_missing(ids.shift()))


TRAIN_GROUPS: tuple[TrainGroup, ...] = get_args(TrainGroup)
_VALUES: dict[str, str] = {
    "activity": "distinct training items of the user",
    "popularity": "mean number of training users of the user's training items",
}


def group_names(by: str) -> pl.Series:
    """Return the names of the groups that training defines, as categories in order."""
    names = TRAIN_GROUP_NAMES[by]
    return pl.Series(names, dtype=pl.Enum(names))


@dataclass(frozen=True)
class Terciles:
    """The boundaries of three groups of users, by a value that each of the n training users has.

    ``low`` and ``middle`` are the largest values of these groups: the ⌈n/3⌉-th and the ⌈2n/3⌉-th
    smallest value. Users of equal value are therefore in one group.
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
            float(ordered["value"][int(below.search_sorted(-(-part * n // 3), side="left"))])
            for part in (1, 2)
        )
        return cls(low, middle, n)

    def groups(self, values: pl.Series) -> pl.Series:
        """Return the group of each value; a null, where there is no value, is in ``"none"``."""
        low, middle, high, none = map(pl.lit, TRAIN_GROUP_NAMES["activity"])
        value = pl.lit(values)
        group = (
            pl.when(value.is_null())
            .then(none)
            .when(value <= self.low)
            .then(low)
            .when(value <= self.middle)
            .then(middle)
            .otherwise(high)
        )
        return pl.select(group=group).to_series()

    def to_dict(self, by: str) -> dict[str, Any]:
        """Return the group definition that a result records: value, boundaries, training users."""
        return {
            "value": _VALUES[by],
            "low_up_to": self.low,
            "middle_up_to": self.middle,
            "training_users": self.users,
        }


@dataclass(frozen=True, eq=False, repr=False)
class TrainGroups:
    """Groups of users by their training interactions: boundaries, and each training user's group.

    Groups by history have no boundaries. The group is in a column of the table that is called after
    the grouping; None where pieces bring this column in their table of users.
    """

    terciles: Terciles | None
    table: Table | None = None

    def groups(self, values: pl.Series) -> pl.Series:
        """Return the group of each value of `user_values`; a null is of a user without any."""
        if self.terciles is not None:
            return self.terciles.groups(values)
        warm, cold = map(pl.lit, TRAIN_GROUP_NAMES["history"])
        return pl.select(group=pl.when(pl.lit(values).is_null()).then(cold).otherwise(warm))[
            "group"
        ]

    def groups_of(self, users: pl.DataFrame, by: str) -> pl.Series:
        """Return the group of each user, in order, from a table of users and groups."""
        assert self.table is not None
        return look_up(self.table, users, by).fill_null(TRAIN_GROUP_NAMES[by][-1])


def groups_by_training(by: Iterable[str], users: Table | None) -> list[TrainGroup]:
    """Return the groupings in ``by`` that training interactions define.

    A column ``history`` of the users, as a split has it, says the same and is taken as it is.
    """
    has_history = users is not None and "history" in users.frame.columns
    names = {name for name in by if name != "history" or not has_history}
    return [name for name in TRAIN_GROUPS if name in names]


def check_train_groups(by: Iterable[str], users: Table | None, train: object) -> None:
    """Raise if groups by training interactions are ambiguous, or training interactions missing."""
    for name in groups_by_training(by, users):
        if users is not None and name in users.frame.columns:
            raise ParameterError(
                f"{parameter('by', name)} has two meanings: groups by training interactions, and "
                "a column of "
                "the users",
                where=users.source,
                found=f"a column {name!r}",
                hint="rename the column of the table of users",
            )
        if train is None:
            raise ParameterError(
                f"{parameter('by', name)} groups users by their training interactions",
                found="no train",
                hint=f"pass {parameter('train')}",
            )


def train_groups(names: Iterable[TrainGroup], train: Table | None) -> dict[str, TrainGroups]:
    """Return the groups of all training users by each of the groupings."""
    made: dict[str, TrainGroups] = {}
    for name in names:
        assert train is not None
        pairs = train.trained.frame.select("user", "item").unique()
        values = user_values(train.frame, name, pairs.group_by("item").len("count"))
        groups = TrainGroups(boundaries(name, values.group_by("value").len("count")))
        of_users = values.select("user", groups.groups(values["value"]).alias(name))
        made[name] = replace(groups, table=train.with_frame(of_users))
    return made


def boundaries(by: str, values: pl.DataFrame) -> Terciles | None:
    """Return the terciles of distinct values and their users; None for groups without them."""
    return None if by == "history" else Terciles.of(values)


def user_values(
    train: pl.DataFrame, by: TrainGroup, popularity: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the value of every training user: ``user``, ``value``; repeated rows count once.

    By activity and history it is the number of training items; by popularity their mean number of
    training users, from a table of ``item`` and ``count``, 0 for items that it lacks; by default counted in
    ``train``.
    """
    pairs = train.select("user", "item").unique()
    if by != "popularity":
        value = pl.len().cast(pl.Float64)
    else:
        counts = pairs.group_by("item").len("count") if popularity is None else popularity
        counts = counts.select(
            pl.col("item").cast(pairs.schema["item"]), pl.col("count").cast(pl.Int64)
        )
        pairs = pairs.join(counts, on="item", how="left").with_columns(pl.col("count").fill_null(0))
        value = pl.col("count").sum() / pl.len()  # whole numbers: the order moves no bit
    return pairs.group_by("user").agg(value=value)


def with_train_groups(
    piece: Tables, groups: Mapping[str, TrainGroups], popularity: pl.DataFrame | None
) -> Tables:
    """Add the columns of training groups to the users of a piece.

    ``popularity`` is that of all users, and so are the boundaries in ``groups``.
    """
    assert piece.truth is not None
    users = piece.users
    for name in TRAIN_GROUPS:
        if name not in groups:
            continue
        assert piece.train is not None
        trained = piece.train.with_frame(user_values(piece.train.frame, name, popularity))
        made = groups[name]

        def group(ids: pl.Series, trained: Table = trained, made: TrainGroups = made) -> pl.Series:
            frame = ids.to_frame("user").join(trained.frame, "user", "left", maintain_order="left")
            return made.groups(frame["value"])

        tables = [table for table in (piece.truth, piece.recommendations) if table is not None]
        users = with_user_column(users, tables, name, parameter("by", name), group)
    return replace(piece, users=users)
