"""The counts and exact sums over users that values need; they are additive over users."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rankwise.core.choices import Undefined

__all__ = ["UserTotals", "add_groups"]

_G = TypeVar("_G")


@dataclass(frozen=True, kw_only=True)
class UserTotals:
    """What values take from their users: counts and exact sums, which add up over shares of users.

    Attributes
    ----------
    users, with_list, without_relevant : int
        Number of users, of those who have a list, and of those who have no relevant item.
    sums : mapping of str to tuple of ExactTotal
        By cell: for a mean the sum of the weighted values and that of the weights; for a pooled
        measure its sums; for a function of all values these.
    groups : mapping of str to mapping of str to UserTotals
        By column of user groups and group, for measures of groups.
    """

    users: int
    with_list: int
    without_relevant: int
    sums: Mapping[str, tuple[Any, ...]]
    groups: Mapping[str, Mapping[str, UserTotals]] = field(default_factory=dict)

    def __add__(self, other: UserTotals) -> UserTotals:
        sums = {
            cell: tuple(a + b for a, b in zip(mine, other.sums[cell], strict=True)) for cell, mine in self.sums.items()
        }
        groups = {column: add_groups(mine, other.groups[column]) for column, mine in self.groups.items()}
        return UserTotals(
            users=self.users + other.users,
            with_list=self.with_list + other.with_list,
            without_relevant=self.without_relevant + other.without_relevant,
            sums=sums,
            groups=groups,
        )

    def of_nobody(self) -> UserTotals:
        """Return the totals of no users, to which others can be added."""
        return UserTotals(
            users=0,
            with_list=0,
            without_relevant=0,
            sums={cell: tuple(type(part)() for part in own) for cell, own in self.sums.items()},
            groups={column: {} for column in self.groups},
        )

    def sum(self, cell: str, undefined: Undefined, *, judges: bool) -> float:
        """Return the sum of a cell over the users who have a value.

        ``judges`` says that a user without relevant items leaves the measure undefined: with
        ``undefined="nan"`` a single such user leaves no sum.
        """
        if judges and undefined == "nan" and self.without_relevant:
            return math.nan
        total: float = self.sums[cell][0].value
        return total

    def mean(self, cell: str, undefined: Undefined, *, judges: bool) -> float:
        """Return the mean of a cell over the users who have a value; ``judges`` as for `sum`."""
        size = self.sums[cell][1].value
        return self.sum(cell, undefined, judges=judges) / size if size else math.nan


def add_groups(mine: Mapping[_G, UserTotals], theirs: Mapping[_G, UserTotals]) -> dict[_G, UserTotals]:
    """Return the totals of every group that either of two shares of the users has."""
    out = dict(mine)
    for group, share in theirs.items():
        out[group] = out[group] + share if group in out else share
    return out
