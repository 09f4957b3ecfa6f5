"""From values of users to values of all users, of a group, and of items: sums that add over pieces.

From sums over users to values: of every user, of all users, and of a group.

Whatever a value takes from its users is a sum of floats, kept without rounding (`ExactTotal`) until
all users are there: `fold` makes the sums of some users, which add up over any shares of them, on
any machine and in any order, and `totals` turns them into values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankwise.blocks.block import Groups
from rankwise.blocks.partial import UserSum
from rankwise.core.arrays import AllValues, ExactTotal
from rankwise.errors import MetricError
from rankwise.metrics.base import Metric, ValueKind
from rankwise.metrics.inputs import CatalogueSums, label
from rankwise.metrics.kinds import Accumulated, Composed, Grouped, OverUsers, PerUser, Pooled, Sums, Values
from rankwise.options import BY_DEFAULT, EVERYONE, Population, Undefined, UserRule, UserRules

__all__ = ["UserColumns", "UserTotals", "add_groups", "fold", "kinds_of_values", "totals", "values_of_users"]

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
        metric its sums; for a function of all values these.
    groups : mapping of str to mapping of str to UserTotals
        By column of user groups and group, for metrics of groups.
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

        ``judges`` says that a user without relevant items leaves the metric undefined: with
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


Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class UserColumns:
    """Some users: their columns, weights (None: all equally), and groups by column."""

    users: pl.DataFrame
    weights: Floats | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    catalogue_size: int = 0
    rules: UserRules = EVERYONE
    evaluated: Population = "truth"
    rule: UserRule = BY_DEFAULT
    """The rule of the metric at hand."""
    inside: Any = None
    """Who belongs to the population of this rule, shape (U,); None: everyone."""

    def under(self, metric: Metric) -> UserColumns:
        """Return the users as the rule of a metric takes them."""
        rule = self.rules.of(str(metric @ ()))
        if rule not in self._under:
            inside = rule.includes(self.evaluated, self.column("n_relevant"), self.column("list_length"))
            self._under[rule] = replace(self, rule=rule, inside=inside)
        return self._under[rule]

    @cached_property
    def _under(self) -> dict[UserRule, UserColumns]:
        return {}  # mostly all metrics have one rule

    def select(self, mask: Any) -> UserColumns:
        """Return some of the users."""
        return replace(
            self,
            users=self.users.filter(mask),
            weights=None if self.weights is None else self.weights[mask],
            groups={column: replace(groups, code=groups.code[mask]) for column, groups in self.groups.items()},
        )

    @property
    def without_relevant(self) -> Any:
        """Whether each user has no relevant item."""
        return self.users["n_relevant"].to_numpy() == 0

    def column(self, name: str) -> Floats:
        """Return a column as an array."""
        return self.users[name].to_numpy()

    def sums(self, metric: Pooled, at: int) -> Sums:
        """Return each user's contributions to the sums of a metric, arrays of shape (U,)."""
        columns: list[Floats] = []
        while (name := str(UserSum(metric.cells[at], len(columns)))) in self.users.columns:
            columns.append(self.column(name))
        return tuple(columns)


def fold(metrics: Iterable[Metric], users: UserColumns) -> UserTotals:
    """Return the counts and sums over these users that the values of metrics need."""
    sums: dict[str, tuple[Any, ...]] = {}
    parts: dict[str, list[tuple[Metric, Metric]]] = {}
    for metric in metrics:
        _add_sums(metric, users.under(metric), sums, parts)
    return _totals_of(users, sums, {column: _fold_groups(users, column, wanted) for column, wanted in parts.items()})


def _totals_of(
    users: UserColumns,
    sums: Mapping[str, tuple[Any, ...]],
    groups: Mapping[str, Mapping[str, UserTotals]] | None = None,
) -> UserTotals:
    return UserTotals(
        users=len(users.users),
        with_list=int((users.users["list_length"] > 0).sum()),
        without_relevant=int(users.without_relevant.sum()),
        sums=sums,
        groups=groups or {},
    )


def _add_sums(
    metric: Metric, users: UserColumns, sums: dict[str, tuple[Any, ...]], parts: dict[str, list[tuple[Metric, Metric]]]
) -> None:
    """Add the sums of one metric, and what is wanted of each group of users."""
    if isinstance(metric, Grouped):
        parts.setdefault(metric.user_group, []).extend((part, metric) for part in metric.parts)
    elif isinstance(metric, Composed) and metric.of == "means":
        for part in metric.parts:
            _add_sums(part, users, sums, parts)
    elif isinstance(metric, OverUsers):
        for at, cell in enumerate(metric.cells):
            sums[cell] = (_values_of(metric, at, users),)
    elif not isinstance(metric, Accumulated):
        for at, cell in enumerate(metric.cells):
            if cell in sums:  # a part of several metrics
                continue
            if isinstance(metric, Pooled) and not metric.mean_of_users:
                columns = users.sums(metric, at)
                weights = 1 if users.weights is None else users.weights
                weights = weights if users.inside is None else weights * users.inside
                sums[cell] = tuple(
                    ExactTotal.of_products(column, weights) if metric.cancels else ExactTotal.of(column * weights)
                    for column in columns
                )
            else:
                sums[cell] = _weighted(metric, at, users, _weights(metric, at, users))


def _fold_groups(users: UserColumns, column: str, metrics: Sequence[tuple[Metric, Metric]]) -> dict[str, UserTotals]:
    """Return the sums of users' values in each group that has users.

    Metrics come with the metric that they are part of, which has the rule.
    """
    out: dict[str, UserTotals] = {}
    groups = users.groups[column]
    for code, name in enumerate(groups.names):
        if (groups.code == code).any():
            inside = users.select(groups.code == code)
            out[name] = _totals_of(
                inside,
                {
                    cell: _weighted(part, at, inside.under(metric))
                    for part, metric in metrics
                    for at, cell in enumerate(part.cells)
                },
            )
    return out


def _weighted(
    metric: Metric, at: int, users: UserColumns, weights: Floats | None = None
) -> tuple[ExactTotal, ExactTotal]:
    """Return the sum of the weighted values of the users who have one, and of their weights."""
    values = _of_users(metric, at, users)
    assert values is not None
    if users.weights is not None:
        weights = users.weights if weights is None else weights * users.weights
    if weights is None:
        total, count = ExactTotal.of_known(values)
        return total, ExactTotal.of([count])
    known = ~np.isnan(values)
    return ExactTotal.of(values[known] * weights[known]), ExactTotal.of(weights[known])


def _values_of(metric: OverUsers, at: int, users: UserColumns) -> AllValues:
    """Return the values of the users who have one."""
    if users.weights is not None:
        raise MetricError(
            f"{metric.name} cannot be weighted by user", hint="leave weights= out, or evaluate it without them"
        )
    values = _of_users(metric.parts[0], at, users)
    assert values is not None
    return AllValues((values[~np.isnan(values)],))


@dataclass(frozen=True)
class _Reader:
    """Reads values from the totals of users and of items."""

    users: UserTotals
    items: CatalogueSums | None
    group_names: Mapping[str, Sequence[str]]
    catalogue_size: int
    rule: UserRule

    def value(self, metric: Metric, at: int) -> Values | None:
        """Return the value at a cut-off; None without the sums of items that it needs."""
        at = min(at, len(metric.cells) - 1)  # a part without cut-off is the same at all of them
        if isinstance(metric, Accumulated):
            if self.items is None or (self.items.is_part and not metric.has_groups):
                return None
            return metric.of_items(self.items, metric.ks[at])
        cell = metric.cells[at]
        if isinstance(metric, Grouped):
            return self._grouped(metric, at)
        if isinstance(metric, OverUsers):
            return self._over_users(metric, cell)
        if isinstance(metric, Pooled) and not metric.mean_of_users:
            return Values(metric.pool_totals(self.users.sums[cell], self.catalogue_size))
        if isinstance(metric, Composed) and metric.of == "means":
            parts = [self.value(part, at) for part in metric.parts]
            if any(part is None for part in parts):
                return None
            means = [np.asarray(part.value) for part in parts if part is not None]
            return Values(float(metric.combine(*means)))
        is_sum = isinstance(metric, PerUser) and metric.aggregate == "sum"
        reduce = self.users.sum if is_sum else self.users.mean
        return Values(reduce(cell, self.rule.undefined, judges=self._judges(metric)))

    def _judges(self, metric: Metric) -> bool:
        """Whether a user of the population may leave the metric undefined."""
        return self.rule.counts_irrelevant and _judges(metric)

    def _over_users(self, metric: OverUsers, cell: str) -> Values:
        (values,) = self.users.sums[cell]
        ordered = values.ascending
        unknown = self.rule.undefined == "nan" and self._judges(metric.parts[0])
        if not len(ordered) or (unknown and self.users.without_relevant):
            return Values(math.nan)
        return Values(metric.of_values(ordered))

    def _grouped(self, metric: Grouped, at: int) -> Values:
        (part,) = metric.parts
        cell = part.cells[min(at, len(part.cells) - 1)]
        groups = self.users.groups[metric.user_group]
        cells = {
            label(user_group=name): groups[name].mean(cell, self.rule.undefined, judges=self._judges(part))
            for name in self.group_names[metric.user_group]
            if name in groups
        }
        means = [m for m in cells.values() if self.rule.undefined == "nan" or not math.isnan(m)]
        value = metric.of_means(np.array(means)) if len(means) > 1 else math.nan
        return Values(value, cells)


def totals(
    metrics: Iterable[Metric],
    users: UserTotals,
    items: CatalogueSums | None,
    *,
    group_names: Mapping[str, Sequence[str]],
    catalogue_size: int,
    rules: UserRules,
) -> dict[str, float]:
    """Return the value of every metric at every cut-off, and of their cells.

    Without ``items`` metrics that sum over items have no value and are left out. Groups of users
    come in the order of ``group_names``, by column.
    """
    out: dict[str, float] = {}
    for metric in metrics:
        rule = rules.of(str(metric @ ()))
        reader = _Reader(users, items, group_names, catalogue_size, rule)
        for at, name in enumerate(metric.cells):
            values = reader.value(metric, at)
            if values is not None:
                out |= {} if values.value is None else {name: values.value}
                out |= {f"{name}[{cell}]": value for cell, value in values.cells.items()}
    return out


def values_of_users(metrics: tuple[Metric, ...], users: UserColumns) -> dict[str, Floats]:
    """Return every user's value of every metric, where a user has one at all."""
    out: dict[str, Floats] = {}
    for metric in metrics:
        inside = users.under(metric)
        for at, cell in enumerate(metric.cells):
            values = _of_users(metric, at, inside)
            if values is not None:
                out[cell] = values
    return out


def kinds_of_values(metrics: tuple[Metric, ...], *, weighted: bool) -> dict[str, ValueKind]:
    """Return how the value of every cell is aggregated: mean over users, pooled, all lists, …."""
    kinds: dict[str, ValueKind] = {}
    for metric in metrics:
        mean = metric.value_kind == "mean"
        kinds |= dict.fromkeys(metric.cells, "weighted mean" if mean and weighted else metric.value_kind)
    return kinds


def _weights(metric: Metric, at: int, users: UserColumns) -> Floats | None:
    """Return the weights that the metric itself gives to users."""
    if not isinstance(metric, Pooled) or not metric.mean_of_users:
        return None
    return metric.user_weights(users.sums(metric, at))


def _of_users(metric: Metric, at: int, users: UserColumns) -> Floats | None:
    """Return every user's value, NaN outside the population of the rule."""
    values = _of_everyone(metric, at, users)
    if values is None or users.inside is None:
        return values
    return np.where(users.inside, values, math.nan)


def _of_everyone(metric: Metric, at: int, users: UserColumns) -> Floats | None:
    at = min(at, len(metric.cells) - 1)  # a part without cut-off is the same at all of them
    if isinstance(metric, PerUser):
        return users.column(metric.cells[at])
    if isinstance(metric, Pooled):
        values: Floats = metric.pool(users.sums(metric, at), users.catalogue_size)
        if metric.defined_for == "relevance":
            nothing = 0.0 if users.rule.undefined == "zero" else math.nan
            values = np.where(users.without_relevant, nothing, values)
        elif metric.defined_for == "list":
            nothing = 0.0 if users.rule.without_list == "zero" else math.nan
            values = np.where(users.column("list_length") == 0, nothing, values)
        return values
    if isinstance(metric, Composed) and metric.of == "users":
        parts = [_of_everyone(part, at, users) for part in metric.parts]
        combined: Floats = metric.combine(*parts)
        return combined
    return None


def _judges(metric: Metric) -> bool:
    """Whether a user without relevant items leaves the metric undefined."""
    if isinstance(metric, Composed):
        return any(_judges(part) for part in metric.parts)
    return isinstance(metric, PerUser | Pooled) and metric.defined_for == "relevance"
