r"""The kinds of metric, by how their values are computed.

A kind answers the questions of `rankwise.metrics.base.Metric`: what is measured of a block
(`columns`), each user's value (`user_values`), the state that adds up over users (`reduce`), and
the value of a state (`finalise`). Metrics define the mathematics, in a method that depends on the
kind:

* `PerUser.value`: a value for every user at a cut-off; the result is their mean or their sum.
* `RunningSum.terms` and `norm`: a value for every user that is a sum down the list over a norm,
  :math:`S_u(k) / (N_u(k) \, s(k))`, with a scale that is the same for all users. One definition
  gives the value and the curve over all cut-offs; `HitSum` also the weighting of relevant items.
* `Pooled.sums`: a few sums for every user, and `Pooled.pool`, which turns sums into the value. The
  same function gives one user's value, a group's and everyone's. `MeanOfRows` is the common case, a
  mean over rows of lists or of the ground truth.
* `Accumulated.value_from_items`: a function of what was summed for every item; `Catalogue.value_from_counts` is
  the common case, a function of how often each item was recommended.
* `GroupRates`: rates of groups of items,
  :math:`P_a = \sum_{i \in a} part_i \,/ \sum_{i \in a} whole_i`. The value is the population
  standard deviation of these rates over their mean; the rates are the cells.

Kinds of metric that are computed from other metrics are in `rankwise.metrics.composite_kinds`.

With only a plain definition (``@metric(…, plain=…)``) a `PerUser` metric is called user by user, on
any engine. The definition takes a recommendation list, best first, and, if it compares the list
with the ground truth, the relevant items with their relevance; then the cut-off and the parameters
of the metric by name. Items are codes, which can only be compared.

Intervals. The kind determines what a value is made of (``Result.kinds``), and so whether a t
interval is valid.

Sums by item are integers: counts are integers, and other values are split into three integer parts
(``core/arrays``), so no order of users, blocks or machines can change a digit. Item groups are
formed at the end from the sums of their items; each user group has its sums.

One definition for several uses. ``RunningSum`` defines the value and the curve over all cut-offs
(``rw.curve``); ``HitSum`` also the weighting by ``ips``, ``snips`` and ``stratified``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from rankwise.blocks.block import Block, Cutoffs, Groups
from rankwise.blocks.partial import UserSum
from rankwise.core.arrays import Array, ExactTotal, is_tensor, namespace
from rankwise.errors import MetricError, RankwiseError
from rankwise.metrics.arithmetic import coefficient_of_variation, divide, ratio
from rankwise.metrics.base import Metric, MetricFailure, ValueKind
from rankwise.metrics.inputs import (
    CatalogueSums,
    HistoryCount,
    Input,
    ItemSum,
    RecommendationCount,
    RepeatCount,
    cells_of_items,
)
from rankwise.metrics.states import (
    CellValues,
    FinaliseInputs,
    Floats,
    State,
    UserFrame,
    UsersByGroup,
    mean_of,
)
from rankwise.options import AveragingRule

__all__ = [
    "Accumulated",
    "AvailableCount",
    "Catalogue",
    "GroupRates",
    "HitSum",
    "ItemNumber",
    "ListedUsers",
    "MeanOfRows",
    "One",
    "OverItemGroups",
    "PerUser",
    "Pooled",
    "RunningSum",
    "ShareOfRelevant",
    "Sums",
    "Weightable",
    "at_cutoffs",
    "plain_inputs",
    "plain_values",
]


def plain_inputs(metric: Metric) -> tuple[Input, ...]:
    """Return the inputs of a plain definition: lists and, if they are judged, relevant items."""
    assert metric.plain is not None
    return ("recommended", "relevant") if _signature(metric.plain).judges else ("recommended",)


def plain_values(metric: Metric, block: Block, k: int) -> Array:
    """Return the plain definition's value of every user at a cut-off, shape (U,).

    It is not called for users without a defined value; their value is 0 here.
    """
    assert metric.plain is not None
    signature = _signature(metric.plain)
    options = {n: v for n, v in metric.parameters.items() if n in signature.options}
    if signature.has_cutoff:
        options["k"] = k if metric.k else None
    lists = _by_user(block.recommended.user, (block.recommended.item,), block.n_users)
    relevant: Sequence[list[Any]] = [[]] * block.n_users
    if signature.judges:
        rows = block.relevant
        relevant = _by_user(rows.user, (rows.item, rows.gain), block.n_users)
    values = []
    for user, (rows_of_list, rows_of_truth) in enumerate(zip(lists, relevant, strict=True)):
        items = [item for (item,) in rows_of_list]
        is_defined = bool(rows_of_truth if signature.judges else items)
        data = (items, dict(rows_of_truth)) if signature.judges else (items,)
        try:
            values.append(float(metric.plain(*data, **options)) if is_defined else 0.0)
        except Exception as error:
            raise MetricFailure(failed_error(metric, error), user) from error
    return block.xp.asarray(values, dtype=block.xp.float64)


def failed_error(metric: Metric, error: Exception) -> MetricError:
    """Return the error for a metric whose definition raised."""
    return MetricError(
        f"the definition of {metric} failed",
        found=f"{type(error).__name__}: {error}",
        hint="it is called with a list of items, best first, and a dict of relevant items to their "
        "gains; "
        "it returns a number, also for an empty list",
    )


def values_checked(metric: Metric, block: Block, rule: AveragingRule) -> dict[str, Array]:
    """Return the columns of a metric that rankwise does not define.

    Raises
    ------
    MetricFailure
        If its definition raises, or the value of a user is outside its range.
    """
    try:
        columns = metric.columns(block, rule)
    except (RankwiseError, MetricFailure):
        raise
    except Exception as error:
        raise MetricFailure(failed_error(metric, error)) from error
    if isinstance(metric, PerUser):
        of_users = {
            "relevance": block.n_relevant > 0,
            "list": block.list_length > 0,
            "user": block.list_length >= 0,
        }
        for cell, values in columns.items():
            _check_range(metric, cell, values, of_users[metric.defined_for])
    return columns


def _check_range(metric: PerUser, cell: str, values: Array, defined: Array) -> None:
    """Raise if a user's value is outside the range of a metric by more than rounding."""
    low, high = metric.range
    room = _ROUNDING * max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0)
    outside = defined & ((values < low - room) | (values > high + room))
    xp = namespace(values)
    if not bool(xp.any(outside)):
        return
    user = int(xp.argmax(xp.astype(outside, xp.int64)))
    error = MetricError(
        f"a value of {cell} is outside its range, {low:g} to {high:g}, by which intervals and "
        "tests are computed",
        found=f"{float(values[user]):g} ({int(xp.sum(xp.astype(outside, xp.int64)))} such users)",
        hint="state the range that its values have, @metric(…, range=(0, float('inf'))), or mend "
        "its definition",
    )
    raise MetricFailure(error, user)


class _Signature:
    """The parameters of a plain definition."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters
        data = [
            name
            for name, parameter in parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY and name != "k"
        ]
        if not 1 <= len(data) <= 2:
            raise MetricError(
                "a plain definition must take a list, or a list and the relevant items",
                found=f"{function.__name__}({', '.join(data)})",
                hint="def my_metric(recommended, relevant, k=None, *, …)",
            )
        self.judges = len(data) == 2
        self.has_cutoff = "k" in parameters
        self.options = {
            name
            for name, parameter in parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }


@cache
def _signature(function: Callable[..., Any]) -> _Signature:
    return _Signature(function)


def _by_user(user: Array, columns: tuple[Array, ...], n_users: int) -> list[list[tuple[Any, ...]]]:
    """Return the rows of every user, in the order in which they come."""
    out: list[list[tuple[Any, ...]]] = [[] for _ in range(n_users)]
    for number, *row in zip(user.tolist(), *(c.tolist() for c in columns), strict=True):
        out[number].append(tuple(row))
    return out


Sums: TypeAlias = tuple[Array, ...]
"""The sums of a pooled metric: one array per sum, each with an entry per user, or numbers."""


def at_cutoffs(metric: Metric, k: int | Sequence[int]) -> Metric:
    """Set the cut-offs of a part, or return a part without cut-offs as is."""
    return metric if metric.cutoff == "none" else metric @ k


_ROUNDING = 1e-9  # of the ends of a range: how far values may be beyond them


class MeanOfUsers(Metric):
    """A mean of users' values, weighted by user; kinds with further forms say so."""

    @property
    def has_user_values(self) -> bool:
        """Whether each user has a value."""
        return True

    def value_weights(self, users: UserFrame, at: int) -> Floats | None:
        """Return the metric's own weights of users, shape (U,); None for equal weights."""
        return None

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the sum of the weighted values and the sum of the weights, for each cell."""
        return {
            cell: users.mean_state(self.user_values(users, at), self.value_weights(users, at))
            for at, cell in enumerate(self.cells)
        }

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the mean."""
        users = aggregates.users
        undefined = aggregates.leaves_undefined(
            users.without_relevant, needs_relevant=self.needs_relevant
        )
        return CellValues(math.nan if undefined else self.value_of(users.cells[self.cells[at]]))

    def value_of(self, state: State) -> float:
        """Return the value of a state: the mean."""
        return mean_of(state)

    def group_values(self, groups: UsersByGroup, at: int) -> Floats | None:
        """Return the mean of each group, shape (G,)."""
        users = groups.users
        totals, sizes = groups.totals(self.user_values(users, at), self.value_weights(users, at))
        means = self.of_totals(totals, sizes)
        if self.needs_relevant and users.rule.undefined == "nan" and users.rule.counts_irrelevant:
            means = np.where(groups.counts(users.column("n_relevant") == 0) > 0, math.nan, means)
        return means

    def of_totals(self, totals: Floats, sizes: Floats) -> Floats:
        """Return the values for sums of values and of weights: the means."""
        means: Floats = np.where(sizes > 0, totals / np.where(sizes > 0, sizes, 1.0), math.nan)
        return means

    def fill_undefined(
        self, values: Array, n_relevant: Array, list_length: Array, rule: AveragingRule
    ) -> Array:
        """Return the values; users for whom the metric is undefined have the value of the rule."""
        if self.defined_for == "user":
            return values
        defined = list_length > 0 if self.defined_for == "list" else n_relevant > 0
        xp = namespace(values)
        if not is_tensor(defined) and bool(xp.all(defined)):
            return values
        choice = rule.without_list if self.defined_for == "list" else rule.undefined
        return xp.where(defined, values, 0.0 if choice == "zero" else math.nan)


@dataclass(frozen=True, kw_only=True, repr=False)
class PerUser(MeanOfUsers):
    """A value for every user; the result is the mean of the defined values, or the sum."""

    averages_users = True
    measures_values = True

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """Who has a value: users with relevant items, users with a list, or every user."""
        return "relevance"

    @property
    def reads_truth(self) -> bool:
        """Whether the metric compares lists with the ground truth."""
        return self.defined_for != "list"

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """How users' values become one."""
        return "mean"

    @property
    def value_kind(self) -> ValueKind:
        """The kind of the value: the ``aggregate`` of the metric."""
        return self.aggregate

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The arguments of the plain definition, if the metric has no further definition."""
        return plain_inputs(self) if self._is_plain else ()

    def value(self, block: Block, k: int) -> Array:
        """Return the value of every user at a cut-off, shape (U,)."""
        if not self._is_plain:
            raise MetricError(f"{self.name} does not define its value")
        return plain_values(self, block, k)

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the values at every cut-off: one array of shape (U,) each, or a tensor (C, U).

        For metrics that share work over cut-offs; by default `value` at each of them.
        """
        return [self.value(block, cutoff) for cutoff in k]

    def columns(self, block: Block, rule: AveragingRule) -> dict[str, Array]:
        """Return the values at every cut-off, by cell."""
        values = self.values(block, self.ks)
        users = block.n_relevant, block.list_length, rule
        if is_tensor(block.list_length):  # all cut-offs at once: a GPU waits for each operation
            together = values if is_tensor(values) else block.xp.stack(values)
            filled = list(self.fill_undefined(together, *users))
        else:
            filled = [self.fill_undefined(each, *users) for each in values]
        return dict(zip(self.cells, filled, strict=True))

    def user_values(self, users: UserFrame, at: int) -> Floats:
        """Return the values at a cut-off."""
        return users.column(self.cells[at])

    def sums(self, block: Block, k: int) -> Sums:
        """Return the value of every user, as the single sum to be pooled."""
        return (*self.values(block, (k,)),)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the one sum."""
        return sums[0]

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight all users equally."""
        return None

    def value_of(self, state: State) -> float:
        """Return the mean or the sum."""
        return float(state[0].value) if self.aggregate == "sum" else mean_of(state)

    def of_totals(self, totals: Floats, sizes: Floats) -> Floats:
        """Return the means or the sums."""
        return totals if self.aggregate == "sum" else super().of_totals(totals, sizes)

    def needs_jackknife(self, *, weighted: bool) -> bool:
        """Whether the value is no plain mean of users."""
        return weighted or self.value_kind != "mean"

    @property
    def _is_plain(self) -> bool:
        """Whether the plain definition is the only one."""
        cls = type(self)
        return cls.plain is not None and cls.value is PerUser.value and cls.values is PerUser.values


class Weightable(Metric):
    """A sum over relevant items, each of which can be given a weight: by ips, snips, stratified.

    It comes after the kind among the bases of a metric, because `PerUser` and `Pooled` define its
    methods.
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the sums from which each user's value is computed, arrays of shape (U,)."""
        raise NotImplementedError

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the value for sums."""
        raise NotImplementedError

    def user_weights(self, sums: Sums) -> Array | None:
        """Return the weight of each user in the mean; None: all equally."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, repr=False)
class Pooled(MeanOfUsers):
    """A function of sums over users."""

    def sums(self, block: Block, k: int) -> Sums:
        """Return each user's contribution to each sum at a cut-off, arrays of shape (U,)."""
        raise MetricError(f"{self.name} does not define its sums")

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the value for sums: of each user, or of any number of users together."""
        raise MetricError(f"{self.name} does not define the value of its sums")

    cancels: ClassVar[bool] = False
    """Whether the value subtracts large sums from each other, so that their terms must not be rounded."""

    def pool_totals(self, totals: Sequence[ExactTotal], catalogue_size: int) -> float:
        """Return the value for the exact sums of any number of users."""
        return float(self.pool(tuple(np.asarray(total.value) for total in totals), catalogue_size))

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is the mean of per-user values, not the value of all users' sums."""
        return False

    @property
    def value_kind(self) -> ValueKind:
        """The kind of the value: a mean over users, or pooled."""
        return "mean" if self.mean_of_users else "pooled"

    def user_weights(self, sums: Sums) -> Array | None:
        """Return the weight of each user in that mean; None: all equally."""
        return None

    @property
    def averages_users(self) -> bool:
        """Whether the value is the mean of per-user values."""
        return self.mean_of_users

    def columns(self, block: Block, rule: AveragingRule) -> dict[str, Array]:
        """Return each user's contribution to each sum, by column name."""
        return {
            str(UserSum(cell, number)): column
            for cell, k in zip(self.cells, self.ks, strict=True)
            for number, column in enumerate(self.sums(block, k))
        }

    def _user_sums(self, users: UserFrame, at: int) -> tuple[Floats, ...]:
        columns: list[Floats] = []
        while (name := str(UserSum(self.cells[at], len(columns)))) in users.users.columns:
            columns.append(users.column(name))
        return tuple(columns)

    def user_values(self, users: UserFrame, at: int) -> Floats:
        """Return the value for each user's sums."""
        values = self.pool(self._user_sums(users, at), users.catalogue_size)
        filled: Floats = self.fill_undefined(
            values, users.column("n_relevant"), users.column("list_length"), users.rule
        )
        return filled

    def value_weights(self, users: UserFrame, at: int) -> Floats | None:
        """Return the weights that follow from each user's sums."""
        weights: Floats | None = self.user_weights(self._user_sums(users, at))
        return weights

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the sums over users, or the sums of a mean over users."""
        if self.mean_of_users:
            return super().reduce(users)
        weights = 1 if users.weights is None else users.weights
        weights = weights if users.inside is None else weights * users.inside
        return {
            cell: tuple(
                ExactTotal.of_products(column, weights)
                if self.cancels
                else ExactTotal.of(column * weights)
                for column in self._user_sums(users, at)
            )
            for at, cell in enumerate(self.cells)
        }

    def group_values(self, groups: UsersByGroup, at: int) -> Floats | None:
        """Return the mean of each group; None if the value is computed from sums over users."""
        return super().group_values(groups, at) if self.mean_of_users else None

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the value for the sums over users, or the mean of users' values."""
        if self.mean_of_users:
            return super().finalise(aggregates, at)
        return CellValues(
            self.pool_totals(aggregates.users.cells[self.cells[at]], aggregates.catalogue_size)
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class MeanOfRows(Pooled):
    """A mean over rows: a user's sums are the total of the row values, and the number of rows.

    Parameters
    ----------
    average : {"rows", "users"}, default="rows"
        The mean over all rows of all users, or the mean over users of the value of each user.
    """

    average: Literal["rows", "users"] = "rows"

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is a mean of users' values, not of rows."""
        return self.average == "users"

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the mean, NaN without rows."""
        return ratio(*sums)


@dataclass(frozen=True, kw_only=True, repr=False)
class Accumulated(Metric):
    """A function of sums over users that are kept for every item."""

    value_kind = "all lists"
    sums_items = True

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The number of items in the catalogue."""
        return ("catalogue",)

    @property
    def reads_truth(self) -> bool:
        """Whether the sums by item depend on the ground truth."""
        return any(item_sum.reads_truth for item_sum in self.reads.item_sums)

    @property
    def has_groups(self) -> bool:
        """Whether a group of users can have a value: not if the cells are groups of users."""
        return not any(item_sum.by for item_sum in self.reads.item_sums) and not any(
            fact.kind == "source" for fact in self.reads.facts
        )

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the values; None without sums by item, or if groups of users have no value."""
        items = aggregates.items
        if items is None or (items.is_part and not self.has_groups):
            return None
        return self.value_from_items(items, self.ks[at])

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the value at a cut-off, with the values of its cells."""
        raise MetricError(f"{self.name} does not define its value of the sums")


@dataclass(frozen=True, kw_only=True, repr=False)
class Catalogue(Accumulated):
    """A function of how often each item of the catalogue was recommended."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """How often each item was recommended."""
        return (RecommendationCount(),)

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the one value."""
        return CellValues(self.value_from_counts(items.positive(self._counted, k), items.size))

    def group_values(self, groups: UsersByGroup, at: int) -> Floats | None:
        """Return the value of each group; None where no counts of items in groups are at hand."""
        items = groups.items
        if items is None or not self._is_of_counts:
            return None
        asked = self._counted, self.ks[at], groups.by, groups.names
        histograms = items.histograms(*asked) if self._is_of_histograms else None
        if histograms is not None:
            return self.values_from_histograms(histograms, items.size)
        return np.array(
            [self.value_from_counts(counts, items.size) for counts in items.in_groups(*asked)]
        )

    def values_without(
        self, items: CatalogueSums, by: str, groups: Sequence[str], at: int
    ) -> Floats | None:
        """Return the values without each group of users; None if histograms do not give them."""
        if not self._is_of_counts or not self._is_of_histograms:
            return None
        without = items.histograms_without(self._counted, self.ks[at], by, groups)
        return (
            None
            if without is None
            else np.concatenate([self.values_from_histograms(one, items.size) for one in without])
        )

    @property
    def _is_of_counts(self) -> bool:
        """Whether groups have values, and counts are all that they are made of."""
        made = (type(self).value_from_items, type(self).finalise) == (
            Catalogue.value_from_items,
            Catalogue.finalise,
        )
        return self.has_groups and made

    @property
    def _counted(self) -> ItemSum:
        """The item sum that is counted: recommendations, or the declared sum in their place."""
        sums, recommendations = self.reads.item_sums, RecommendationCount()
        return recommendations if recommendations in sums or not sums else sums[0]

    @property
    def _is_of_histograms(self) -> bool:
        """Whether histograms give the value; false where a class redefines `value_from_counts` alone."""
        values = {"value_from_counts", "values_from_histograms"}
        defines = next(
            vars(kind).keys() & values for kind in type(self).__mro__ if vars(kind).keys() & values
        )
        return self.has_histogram and "values_from_histograms" in defines

    @property
    def has_histogram(self) -> bool:
        """Whether the value follows from a histogram of counts, by `values_from_histograms`."""
        return False

    def values_from_histograms(self, items: Array, catalogue_size: int) -> Floats:
        """Return the value of each row of numbers of items that have the counts 0, 1, 2, …."""
        raise MetricError(f"{self.name} does not define its value of histograms")

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the value for the counts of the items, in any order; zeros may be left out."""
        raise MetricError(f"{self.name} does not define its value of the counts")


@dataclass(frozen=True, kw_only=True, repr=False)
class RunningSum(PerUser):
    """A sum down the list over a norm: each rank at which a relevant item may stand adds a term."""

    @property
    def as_running_sum(self) -> RunningSum:
        """The metric itself."""
        return self

    def terms(self, block: Block) -> Array:
        """Return the term of each row of the hits, shape (n,)."""
        raise MetricError(f"{self.name} does not define the terms of its sum")

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the divisor of each user's sum, shape (U,); None for no division."""
        return None

    def scale(self, k: Array) -> Array:
        """Return the divisor of all users' sums, for a cut-off or an array of cut-offs."""
        return 1.0

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm changes no more once k exceeds the number of relevant items."""
        return True

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the values at every cut-off: one array of shape (U,) each, or a tensor (C, U)."""
        sums = block.sum_hits_at(self.terms(block), k)
        ratios = [self.ratio(block, *one) for one in zip(sums, k, strict=True)]
        if not is_tensor(block.list_length):
            return [divide(above, below) for above, below in ratios]
        above, below = (block.xp.stack(parts) for parts in zip(*ratios, strict=True))
        return divide(above, below)

    def ratio(self, block: Block, sums: Array, k: int) -> tuple[Array, Array]:
        """Return numerator and denominator of every user's value, shape (U,) both."""
        norm, scale = self.norm(block, k), self.scale(k)
        if norm is None:
            return sums, block.xp.full((block.n_users,), float(scale), dtype=block.xp.float64)
        return sums, norm * scale


class HitSum(RunningSum, Weightable):
    """A running sum in which each relevant item has a term of its own, that can be weighted.

    Terms are multiplied by ``block.hits.probability``, which holds the weight of each hit and,
    where scores tie, the probability that a relevant item has the rank.
    """


@dataclass(frozen=True, kw_only=True, repr=False)
class ShareOfRelevant(HitSum):
    """A share of what the relevant items could give, with a choice for users who have none.

    Parameters
    ----------
    without_relevant : {"undefined", "zero", "one"}, default="undefined"
        The value of a user without relevant items: undefined, so that the option ``undefined`` of
        the evaluation applies; 0; or 1, as rankers of the second stage count a query without a
        positive, because no order of it is wrong (LightGBM, XGBoost, CatBoost).
    """

    without_relevant: Literal["undefined", "zero", "one"] = "undefined"

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """Users with relevant items, or every user if the others have a value as well."""
        return "relevance" if self.without_relevant == "undefined" else "user"

    def ratio(self, block: Block, sums: Array, k: int) -> tuple[Array, Array]:
        """Return numerator and denominator of every user's value, shape (U,) both."""
        above, below = super().ratio(block, sums, k)
        if self.without_relevant == "undefined":
            return above, below
        xp, has_relevant = block.xp, block.n_relevant > 0
        missing = 1.0 if self.without_relevant == "one" else 0.0
        return xp.where(has_relevant, above, missing), xp.where(has_relevant, below, 1.0)


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
    """For every item, the number of users with a list for whom the item was available.

    What a user has seen in training could not, unless it is in the list anyway.
    """

    inputs = (HistoryCount(), RepeatCount())

    def of(self, items: CatalogueSums, k: int) -> Any:
        """Return users with a list, minus users who have seen but were not shown the item."""
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
        """The inputs of both the part and the whole."""
        both = (self.part, self.whole)
        declared = [(n,) if isinstance(n, ItemSum) else n.inputs for n in both]
        return (*super().inputs, *declared[0], *declared[1])

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the group of every item of the catalogue."""
        raise NotImplementedError

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return the coefficient of variation of the rates, and the rates as cells."""
        groups = self.groups(items)
        part, whole = (
            groups.sum(items.sum(n, k) if isinstance(n, ItemSum) else n.of(items, k))
            for n in (self.part, self.whole)
        )
        rates = [p / w if w > 0 else math.nan for p, w in zip(part, whole, strict=True)]
        return CellValues(coefficient_of_variation(rates), cells_of_items(groups.names, rates))


@dataclass(frozen=True, kw_only=True, repr=False)
class OverItemGroups(Accumulated):
    """A function of the sums by item, group by group, with a cell per group.

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
