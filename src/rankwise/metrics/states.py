"""From blocks to values: columns of users, states that can be added, and values of cells.

A block's users are columns first. What a value takes from its users is a state: sums of floats that
are kept without rounding (`ExactTotal`), counts, or all values. States add over any partition of
the users, on any machine and in any order, and become values when all users are there.

Groups of users have values of their own. Means of all groups are computed together
(``UsersByGroup``) where all users are in one place, and from states elsewhere, to the same bits.
Sums by item and group are rows of those that are not 0 (``GroupSums``, ``GroupRows``): a thousand
groups have hardly more rows than one. On tensors, whose states have one size, each group and item
has a place.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankwise.blocks.block import Groups
from rankwise.core.arrays import ExactTotal, exact_bincount
from rankwise.core.populations import PopulationName
from rankwise.core.ragged import counting_sort
from rankwise.metrics.inputs import CatalogueSums
from rankwise.options import DEFAULT_RULE, DEFAULT_RULES, AveragingRule, AveragingRules

__all__ = [
    "CellValues",
    "FinaliseInputs",
    "Floats",
    "State",
    "Totals",
    "UserFrame",
    "UsersByGroup",
    "add_groups",
    "mean_of",
]

_G = TypeVar("_G")

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

State: TypeAlias = tuple[Any, ...]
"""The state of one cell: entries such as `ExactTotal`, `SortedValues` or int, which add up elementwise."""


@dataclass(frozen=True, eq=False, repr=False)
class UserFrame:
    """Users of any number: their columns, weights (None: all equally), and groups by column."""

    users: pl.DataFrame
    weights: Floats | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    catalogue_size: int = 0
    rules: AveragingRules = DEFAULT_RULES
    evaluated: PopulationName = "truth"
    rule: AveragingRule = DEFAULT_RULE
    """The rule of the metric at hand."""
    inside: Any = None
    """Who belongs to the population of this rule, shape (U,); None: all users."""

    def for_metric(self, metric: Any) -> UserFrame:
        """Return the users under the rule of a metric."""
        rule = self.rules.of(metric)
        if rule not in self._under:
            inside = rule.includes(
                self.evaluated, self.column("n_relevant"), self.column("list_length")
            )
            self._under[rule] = replace(self, rule=rule, inside=inside)
        return self._under[rule]

    @cached_property
    def _under(self) -> dict[AveragingRule, UserFrame]:
        return {}  # mostly all metrics have one rule

    def select(self, rows: Any) -> UserFrame:
        """Return the users of the given rows, under the same rule."""
        return replace(
            self,
            users=self.users[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups={
                column: replace(groups, code=groups.code[rows])
                for column, groups in self.groups.items()
            },
            inside=None if self.inside is None else self.inside[rows],
        )

    @property
    def without_relevant(self) -> int:
        """The number of users without relevant items."""
        return int((self.column("n_relevant") == 0).sum())

    def column(self, name: str) -> Floats:
        """Return a column as an array."""
        return self.users[name].to_numpy()

    def mask_population(self, values: Floats) -> Floats:
        """Return the values of users, NaN outside the population of the rule."""
        return values if self.inside is None else np.where(self.inside, values, math.nan)

    def mean_state(self, values: Floats, weights: Floats | None = None, rows: Any = ...) -> State:
        """Return the sum of the weighted values of the users who have one, and of their weights.

        ``weights`` are those of the metric itself, which multiply the weights of users; ``rows``
        are the users to sum over, by default all.
        """
        values = (
            values[rows]
            if self.inside is None
            else np.where(self.inside[rows], values[rows], math.nan)
        )
        weights = None if weights is None else weights[rows]
        if self.weights is not None:
            weights = self.weights[rows] if weights is None else weights * self.weights[rows]
        if weights is None:
            total, count = ExactTotal.of_known(values)
            return total, ExactTotal.of([count])
        defined = ~np.isnan(values)
        return ExactTotal.of(values[defined] * weights[defined]), ExactTotal.of(weights[defined])


@dataclass(frozen=True, eq=False, repr=False)
class UsersByGroup:
    """Users of several groups.

    Attributes
    ----------
    users : UserFrame
        Their columns.
    codes : array of int, shape (U,)
        The number of each user's group, from 0.
    names : sequence of (str or None), shape (G,)
        The groups, None for that of users without one.
    by : str, default=""
        The column of the table of users that they are of.
    items : CatalogueSums or None
        Sums of the catalogue's items in these groups, if they are at hand.
    """

    users: UserFrame
    codes: Any
    names: Sequence[str | None]
    by: str = ""
    items: CatalogueSums | None = None

    @property
    def size(self) -> int:
        """The number of groups, G."""
        return len(self.names)

    def for_metric(self, metric: Any) -> UsersByGroup:
        """Return the users under the rule of a metric."""
        return replace(self, users=self.users.for_metric(metric))

    def __iter__(self) -> Iterator[UserFrame]:
        """Yield the users of each group."""
        starts, rows = counting_sort(self.codes, self.size)
        ordered = self.users.select(rows)
        return (ordered.select(slice(*ends)) for ends in pairwise(starts.tolist()))

    def counts(self, which: Any = ...) -> Any:
        """Return how many users of each group something is true of, by default all, shape (G,)."""
        return np.bincount(self.codes[which], minlength=self.size)

    def totals(self, values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """Return per group the sum of weighted values, and the sum of weights of users with values.

        They are those of `UserFrame.mean_state`, to the last bit: sums that are rounded once.
        """
        values = self.users.mask_population(values)
        own = self.users.weights
        weights = own if weights is None else weights if own is None else weights * own
        defined = ~np.isnan(values)
        terms = np.where(defined, values if weights is None else values * weights, 0.0)
        totals = exact_bincount(self.codes, terms, self.size)
        if weights is None:
            return totals, self.counts(defined).astype(np.float64)
        return totals, exact_bincount(self.codes, np.where(defined, weights, 0.0), self.size)


def mean_of(state: State) -> float:
    """Return the mean of a state from `UserFrame.mean_state`; NaN of no users."""
    total, weights, *_ = state
    size: float = weights.value
    return total.value / size if size else math.nan


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The counts and states of a set of users, which add up over disjoint sets.

    Attributes
    ----------
    users, with_list, without_relevant : int
        Number of users, of those who have a list, and of those who have no relevant item.
    cells : mapping of str to tuple
        The state of each cell; a metric of user groups has one per group.
    """

    users: int
    with_list: int
    without_relevant: int
    cells: Mapping[str, State]

    def __add__(self, other: Totals) -> Totals:
        cells = dict(self.cells)
        for cell, state in other.cells.items():
            cells[cell] = tuple(map(operator.add, cells[cell], state)) if cell in cells else state
        return Totals(
            users=self.users + other.users,
            with_list=self.with_list + other.with_list,
            without_relevant=self.without_relevant + other.without_relevant,
            cells=cells,
        )

    def zero(self) -> Totals:
        """Return the state of no users, the zero of addition."""
        cells = {
            cell: tuple(type(entry)() for entry in state) for cell, state in self.cells.items()
        }
        return Totals(users=0, with_list=0, without_relevant=0, cells=cells)


def add_groups(left: Mapping[_G, Totals], right: Mapping[_G, Totals]) -> dict[_G, Totals]:
    """Return the state of every group that either of two partitions of the users has."""
    groups = dict(left)
    for group, state in right.items():
        groups[group] = groups[group] + state if group in groups else state
    return groups


@dataclass(frozen=True, eq=False, repr=False)
class FinaliseInputs:
    """The inputs of a metric's value: states of users, sums by item, and the catalogue.

    Attributes
    ----------
    users : Totals
        The state of the users.
    items : CatalogueSums or None
        The sums by item; None where there are none.
    group_names : mapping of str to sequence of str
        The groups of users in order, by column.
    catalogue_size : int
        The number of items of the catalogue.
    rule : AveragingRule
        The rule of the metric.
    """

    users: Totals
    items: CatalogueSums | None
    group_names: Mapping[str, Sequence[str]]
    catalogue_size: int
    rule: AveragingRule

    def leaves_undefined(self, without_relevant: int, *, needs_relevant: bool) -> bool:
        """Whether users of the population without relevant items leave a metric undefined.

        ``needs_relevant`` says that the metric is not defined for such a user.
        """
        rule = self.rule
        return (
            needs_relevant
            and rule.undefined == "nan"
            and rule.counts_irrelevant
            and without_relevant > 0
        )


@dataclass(frozen=True, eq=False, repr=False)
class CellValues:
    """The values of a metric at one cut-off.

    Attributes
    ----------
    value : float or None
        The value of the metric; None if it has cells alone.
    cells : mapping of str to float
        The value of each group by label, such as ``"item_group=a"``.
    """

    value: float | None = None
    cells: Mapping[str, float] = field(default_factory=dict)
