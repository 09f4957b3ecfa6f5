"""Users whose lists were read in one way: their part of a value, for any population rule.

Whom a value is taken over changes no user's value. Definitions that read lists alike therefore
share the values of users, and every sum that two of their rules have in common is made once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.core.arrays import Array
from rankwise.core.choices import Population
from rankwise.core.exact_total import ExactTotal
from rankwise.core.user_rules import UserRule, members
from rankwise.evaluation.totals import UserColumns, values_of_users
from rankwise.measures.kinds import PerUser, Pooled
from rankwise.measures.measure import Measure

__all__ = ["UsersOfReading", "is_of_users", "value_and_users"]


@dataclass(frozen=True)
class _Sums:
    """What users add to a value: its sums, and how many of these users have a value."""

    sums: tuple[ExactTotal, ...]
    users: int

    def __add__(self, other: _Sums) -> _Sums:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return _Sums(sums, self.users + other.users)


@dataclass(frozen=True, eq=False)
class UsersOfReading:
    """Some users under one reading of lists and ground truth.

    Users to whom a measure does not apply must have no value: what they count is decided here.

    Attributes
    ----------
    columns : UserColumns
        What was measured of each user.
    judged : array of bool, shape (U,)
        Whether each user has rows in the ground truth.
    alone : int
        Users who have rows in the ground truth, nothing relevant and no list; not among these.
    """

    columns: UserColumns
    judged: Array
    alone: int
    _known: dict[tuple[str, str, bool], _Sums] = field(default_factory=dict)
    _populations: dict[Population, Any] = field(default_factory=dict)

    @cached_property
    def _n_relevant(self) -> Array:
        return self.columns.column("n_relevant")

    @cached_property
    def _listed(self) -> Array:
        return self.columns.column("list_length") > 0

    def _inside(self, population: Population) -> Any:
        """Return which users belong to a population; None: they all do."""
        if population not in self._populations:
            inside = members(population, self._n_relevant > 0, self._listed, self.judged)
            self._populations[population] = None if inside.all() else inside
        return self._populations[population]

    def has_user_without_relevant_items(self, population: Population) -> bool:
        """Whether some user of a population has no relevant item."""
        without, inside = self._n_relevant == 0, self._inside(population)
        alone = population == "judged" and self.alone > 0
        return alone or bool((without if inside is None else without & inside).any())

    def has_list(self, population: Population) -> bool:
        """Whether some user of a population has a list."""
        inside = self._inside(population)
        return bool((self._listed if inside is None else self._listed & inside).any())

    def sums(self, measure: Measure, rule: UserRule) -> _Sums:
        """Return the partial sums of a value over the users of a population."""
        nothing, filled = self._nothing(measure), _filled(measure, rule)
        fills = filled and bool(nothing.any())
        population = "everyone" if self._inside(rule.population) is None else rule.population
        key = (str(measure), population, fills)
        if key not in self._known:
            inside = self._inside(rule.population)
            self._known[key] = _sums(self.columns, measure, inside, nothing if fills else None)
        found = self._known[key]
        unseen = self.alone if filled and rule.population == "judged" else 0
        return replace(found, users=found.users + unseen) if unseen else found

    def _nothing(self, measure: Measure) -> Array:
        """Return the users to whom a measure does not apply, shape (U,)."""
        return self._n_relevant == 0 if _of_relevance(measure) else ~self._listed


def is_of_users(measure: Measure) -> bool:
    """Whether a value is a mean or a ratio of sums over users with a list or a relevant item."""
    means = isinstance(measure, PerUser) and measure.aggregate == "mean"
    pools = isinstance(measure, Pooled) and not measure.mean_of_users
    return (means or pools) and getattr(measure, "defined_for", "user") != "user"


def value_and_users(measure: Measure, rule: UserRule, parts: Sequence[UsersOfReading]) -> tuple[float, int]:
    """Return a measure's value over the users of all parts, and how many of them have a value."""
    first, *others = [users.sums(measure, rule) for users in parts]
    total = sum(others, start=first)
    if isinstance(measure, Pooled):
        return measure.pool_totals(total.sums, 0), total.users
    unknown = rule.undefined == "nan" and _of_relevance(measure)
    if (
        unknown
        and rule.counts_irrelevant
        and any(users.has_user_without_relevant_items(rule.population) for users in parts)
    ):
        return math.nan, total.users
    return total.sums[0].value / total.users if total.users else math.nan, total.users


def _of_relevance(measure: Measure) -> bool:
    """Whether a measure applies to users with relevant items; else to those with a list."""
    return getattr(measure, "defined_for", "user") == "relevance"


def _filled(measure: Measure, rule: UserRule) -> bool:
    """Whether users to whom a measure does not apply count 0."""
    return (rule.undefined if _of_relevance(measure) else rule.without_list) == "zero"


def _sums(columns: UserColumns, measure: Measure, inside: Any, nothing: Any) -> _Sums:
    """Return the sums over the users inside; users without a value (``nothing``) count 0."""
    (values,) = values_of_users((measure,), columns).values()
    values = values if nothing is None else np.where(nothing, 0.0, values)
    defined = ~np.isnan(values)
    defined = defined if inside is None else defined & inside
    n = int(defined.sum())
    if isinstance(measure, Pooled):
        parts = columns.sums(measure, 0)
        inside = 1 if inside is None else inside
        return _Sums(tuple(ExactTotal.of(part * inside) for part in parts), n)
    return _Sums((ExactTotal.of(values if n == len(values) else values[defined]),), n)
