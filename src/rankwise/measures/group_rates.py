r"""Rates of groups of items and how unequal they are: part over whole, summed over each group.

:math:`P_a = \sum_{i \in a} part_i \,/ \sum_{i \in a} whole_i` is the rate of group a. The value is
the population standard deviation of these rates over their mean; the rates are the cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.facts import Groups
from rankwise.measures.arithmetic import spread
from rankwise.measures.cell_labels import cells_of_items
from rankwise.measures.input_kinds import Input
from rankwise.measures.item_sums import CatalogueSums, HistoryCount, ItemSum, RepeatCount
from rankwise.measures.kinds import Accumulated, Values

__all__ = ["AvailableCount", "GroupRates", "ItemNumber", "ListedUsers", "One", "OverItemGroups"]


class ItemNumber:
    """A number for every item of the catalogue."""

    inputs: tuple[Input, ...] = ()

    def of(self, items: CatalogueSums, k: int) -> Any:
        """Return the numbers, shape (n_items,)."""
        raise NotImplementedError


class One(ItemNumber):
    """1 for every item, so that a group counts its items."""

    def of(self, items: CatalogueSums, k: int) -> Any:
        """Return ones."""
        return np.ones(items.size)


class ListedUsers(ItemNumber):
    """For every item the number of users with a list."""

    def of(self, items: CatalogueSums, k: int) -> Any:
        """Return the same number for every item."""
        return np.full(items.size, items.n_listed)


class AvailableCount(ItemNumber):
    """For every item the number of users with a list who could have been recommended it.

    What a user has seen in training could not, unless it is in the list anyway.
    """

    inputs = (HistoryCount(), RepeatCount())

    def of(self, items: CatalogueSums, k: int) -> Any:
        """Return users with a list, minus those who have seen the item and were not shown it."""
        return items.n_listed - (items.sum(HistoryCount(), 0) - items.sum(RepeatCount(), 0))


class GroupRates(Accumulated):
    """How unequal a rate is over groups of items: ``part`` over ``whole``."""

    @property
    def part(self) -> ItemSum | ItemNumber:
        """The numerator of the rate."""
        raise NotImplementedError

    @property
    def whole(self) -> ItemSum | ItemNumber:
        """The denominator of the rate."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What both are made of."""
        both = (self.part, self.whole)
        declared = [(n,) if isinstance(n, ItemSum) else n.inputs for n in both]
        return (*super().inputs, *declared[0], *declared[1])

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the group of every item of the catalogue."""
        raise NotImplementedError

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the coefficient of variation of the rates, and the rates as cells."""
        groups = self.groups(items)
        part, whole = (
            groups.sum(items.sum(n, k) if isinstance(n, ItemSum) else n.of(items, k)) for n in (self.part, self.whole)
        )
        rates = [p / w if w > 0 else math.nan for p, w in zip(part, whole, strict=True)]
        return Values(spread(rates), cells_of_items(groups.names, rates))


@dataclass(frozen=True, kw_only=True, repr=False)
class OverItemGroups(Accumulated):
    """A function of what was summed for items, group by group, with a cell for each.

    Parameters
    ----------
    item_group : str, default="group"
        The column of ``items`` with the groups.
    """

    item_group: str = "group"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The groups of items."""
        return (*super().inputs, Groups.of_items(self.item_group))

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the group of every item of the catalogue."""
        return items[Groups.of_items(self.item_group)]
