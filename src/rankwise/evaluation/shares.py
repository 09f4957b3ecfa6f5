"""Mergeable partial results of a share of the users, whatever machine evaluated it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from rankwise.core.exact_total import ExactTotal
from rankwise.core.hashing import digest_of
from rankwise.encoding.fact_tables import FactTables
from rankwise.evaluation.jackknife import JACKKNIFE, jackknifed
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.totals import UserColumns, fold, kinds_of_values, values_of_users
from rankwise.evaluation.user_table import UserTable
from rankwise.evaluation.user_totals import UserTotals, add_groups
from rankwise.measures.measure import ValueKind
from rankwise.results.group_columns import WEIGHT, group_column

__all__ = ["EvaluatedUsers", "UserShare"]


@dataclass(frozen=True, kw_only=True)
class UserShare:
    """What some users add to a result; shares of different users add up.

    Attributes
    ----------
    everyone : UserTotals
        The totals of all of these users.
    groups : mapping of str to mapping of (str or None) to UserTotals
        The totals of each group, by column of the users table; None is the group of users without
        one.
    names : mapping of str to polars.Series
        The distinct groups by column, with the type that they have in the table.
    without_group : mapping of str to int
        Number of users without a group, by column, for measures of groups.
    kinds : mapping of str to str
        What each value is made of.
    weight : ExactTotal
        The sum of the weights; 0 without weights.
    dealt : int, default=0
        The digest of users and jackknife groups, as a number below 2^64 that adds up.
    """

    everyone: UserTotals
    groups: Mapping[str, Mapping[str | None, UserTotals]]
    names: Mapping[str, pl.Series]
    without_group: Mapping[str, int]
    kinds: Mapping[str, ValueKind]
    weight: ExactTotal
    dealt: int = 0

    def __add__(self, other: UserShare) -> UserShare:
        return UserShare(
            everyone=self.everyone + other.everyone,
            groups={by: add_groups(mine, other.groups[by]) for by, mine in self.groups.items()},
            names={by: pl.concat([mine, other.names[by]]).unique() for by, mine in self.names.items()},
            without_group={by: count + other.without_group[by] for by, count in self.without_group.items()},
            kinds=self.kinds,
            weight=self.weight + other.weight,
            dealt=(self.dealt + other.dealt) % 2**64,
        )

    def ordered(self, by: str) -> list[tuple[str | None, UserTotals]]:
        """Return the groups of a column in order, users without one last."""
        names = self.names[by].sort(nulls_last=True).cast(pl.String).to_list()
        return [(name, self.groups[by][name]) for name in names]


@dataclass(frozen=True, kw_only=True)
class EvaluatedUsers:
    """Users with their columns, and what is asked about them.

    Attributes
    ----------
    frame : polars.DataFrame
        One row per user: ``user``, ``n_relevant``, ``list_length`` and the columns of measures.
    settings, plan : Settings, Plan
        What is asked.
    facts, user_table : FactTables, UserTable
        What is known of users: their groups and weights.
    catalogue_size : int
        The number of items of the catalogue; 0 where nothing needs it.
    """

    frame: pl.DataFrame
    settings: Settings
    plan: Plan
    facts: FactTables
    user_table: UserTable
    catalogue_size: int

    @cached_property
    def columns(self) -> UserColumns:
        """The columns of the users with their weights and groups."""
        return UserColumns(
            self.frame,
            self.user_table.weights_of(self.frame),
            self.facts.of_users(self.frame["user"]),
            self.catalogue_size,
            self.settings.rules,
            self.settings.evaluated,
        )

    @cached_property
    def groups(self) -> dict[str, pl.Series]:
        """The group of each user, by column of the table of users."""
        dealt = () if self.settings.jackknife is None else (JACKKNIFE,)
        return {by: self.user_table.groups_of(self.frame, by) for by in (*self.settings.by, *dealt)}

    def share(self) -> UserShare:
        """Return the partial result of these users."""
        measures, columns = self.plan.measures, self.columns
        groups, names = {}, {}
        for by, of_users in self.groups.items():
            some = measures
            if by == JACKKNIFE:
                some = jackknifed(measures, weighted=columns.weights is not None)
            names[by], text = of_users.unique(), of_users.cast(pl.String)
            groups[by] = {name: fold(some, columns.select(_is(text, name))) for name in names[by].cast(pl.String)}
        return UserShare(
            everyone=fold(measures, columns),
            groups=groups,
            names=names,
            without_group={
                column: int((known.code < 0).sum()) for column, known in columns.groups.items() if column != JACKKNIFE
            },
            kinds=kinds_of_values(measures, weighted=columns.weights is not None),
            weight=ExactTotal.of([] if columns.weights is None else columns.weights),
            dealt=self._dealt(),
        )

    def _dealt(self) -> int:
        if JACKKNIFE not in self.groups:
            return 0
        return int(digest_of([self.frame["user"], self.groups[JACKKNIFE]]), 16)

    def values(self) -> pl.DataFrame:
        """Return one row per user: counts, weight, groups, and every value that is defined per user."""
        frame = self.frame[["user", "n_relevant", "list_length"]]
        groups = [
            groups.cast(pl.String).alias(group_column(by)) for by, groups in self.groups.items() if by != JACKKNIFE
        ]
        values, weights = values_of_users(self.plan.measures, self.columns), self.columns.weights
        weight = [] if weights is None else [pl.Series(WEIGHT, weights)]
        return frame.hstack([*weight, *groups, *(pl.Series(name, each) for name, each in values.items())])


def _is(groups: pl.Series, name: str | None) -> Any:
    """Return whether each user is in a group, shape (U,)."""
    inside = groups.is_null() if name is None else (groups == name).fill_null(value=False)
    return inside.to_numpy()
