"""The kinds of measure, by what they add up to.

* `PerUser.values`: a value for every user and cut-off; the result is their mean or their sum.
* `Pooled.sums`: a few sums for every user, and `Pooled.pool`, which turns sums into the value.
  The same function gives one user's value, a group's and everyone's.
* `Accumulated.of_items`: a function of what was added up for every item; `Catalogue.of_counts` is
  the common case, a function of how often each item was recommended.
* `Composed.combine`: a function of other measures' values.
* `Grouped.of_means`: a function of the means of user groups.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from rankwise.core.arrays import Array
from rankwise.core.block import Block, Cutoffs
from rankwise.core.facts import Fact, Groups
from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.arithmetic import spread
from rankwise.measures.item_sums import CatalogueSums, RecommendationCount
from rankwise.measures.measure import Measure, ValueKind

__all__ = [
    "Accumulated", "Catalogue", "Composed", "GroupRates", "Grouped", "OverItemGroups", "PerUser",
    "Pooled", "Values", "at_cutoffs", "cells_of_items", "label", "read_label",
]  # fmt: skip


@dataclass(frozen=True)
class Values:
    """What a measure of all lists gives at one cut-off.

    Attributes
    ----------
    value : float or None
        The value of the measure; None if it has cells alone.
    cells : mapping of str to float
        The value of each group by label, such as ``"item_group=a"``.
    """

    value: float | None = None
    cells: Mapping[str, float] = field(default_factory=dict)


def label(**groups: str) -> str:
    """Write the label of a cell.

    >>> label(user_group="a", item_group="science fiction")
    'user_group=a,item_group=science fiction'
    >>> label(item_group="a,b")
    'item_group="a,b"'
    """
    return ",".join(f"{axis}={_quoted(name)}" for axis, name in groups.items())


def read_label(text: str) -> dict[str, str]:
    """Read a label that `label` wrote.

    >>> read_label('user_group=a,item_group="b,c"')
    {'user_group': 'a', 'item_group': 'b,c'}
    """
    found = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]*)', text)
    return {axis: json.loads(name) if name.startswith('"') else name for axis, name in found}


def _quoted(name: str) -> str:
    odd = any(sign in name for sign in '[]=,"\\#') or not name.isprintable() or name != name.strip()
    return json.dumps(name, ensure_ascii=False) if odd or not name else name


def cells_of_items(names: tuple[str, ...], values: Iterable[float]) -> dict[str, float]:
    """Return a cell for each group of items."""
    return {label(item_group=name): float(value) for name, value in zip(names, values, strict=True)}


def at_cutoffs(measure: Measure, k: int | Sequence[int]) -> Measure:
    """Set the cut-offs of a part, if it has any."""
    return measure if measure.cutoff == "none" else measure @ k


@dataclass(frozen=True, kw_only=True, repr=False)
class PerUser(Measure):
    """A value for every user; the result is the mean of those that are defined, or the sum."""

    defined_for: ClassVar[Literal["relevance", "list", "user"]] = "relevance"
    """Who has a value: users with relevant items, users with a list, or every user."""

    @property
    def reads_truth(self) -> bool:
        """Whether it compares lists with the ground truth."""
        return self.defined_for != "list"

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """How users' values become one."""
        return "mean"

    @property
    def value_kind(self) -> ValueKind:
        """What the value is made of."""
        return self.aggregate

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the value of every user at every cut-off, shape (U, n_k)."""
        raise MeasureError(f"{self.name} does not say how its values are worked out")


@dataclass(frozen=True, kw_only=True, repr=False)
class Pooled(Measure):
    """A function of sums over users."""

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """Which users have a value that means something: those with relevant items, or all."""
        return "user"

    def sums(self, block: Block, k: Cutoffs) -> Array:
        """Return what each user adds to each sum, shape (U, n_k, n_sums)."""
        raise MeasureError(f"{self.name} does not say what it sums")

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the value for sums of any number of users, shape (..., n_sums) to (...)."""
        raise MeasureError(f"{self.name} does not say what its sums come to")

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is the mean of users' values, and not that of the sums of all users."""
        return False

    @property
    def value_kind(self) -> ValueKind:
        """What the value is made of."""
        return "mean" if self.mean_of_users else "pooled"

    def user_weights(self, sums: Array) -> Array | None:
        """Return the weight of each user in that mean; None: all the same."""
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Accumulated(Measure):
    """A function of sums over users that are kept for every item."""

    needs_catalogue = "counted"
    value_kind = "all lists"
    jackknife_caveat: ClassVar[str] = ""
    """What a reader of its jackknife interval should know."""

    @property
    def reads_truth(self) -> bool:
        """Whether what is summed for items depends on the ground truth."""
        return any(item_sum.reads_truth for item_sum in self.item_sums)

    @property
    def has_groups(self) -> bool:
        """Whether a group of users can have a value: not if the cells are groups of users."""
        return not any(item_sum.by for item_sum in self.item_sums) and not any(
            fact.kind == "source" for fact in self.facts
        )

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the value at a cut-off, and those of its cells."""
        raise MeasureError(f"{self.name} does not say what it makes of the sums")


@dataclass(frozen=True, kw_only=True, repr=False)
class Catalogue(Accumulated):
    """A function of how often each item of the catalogue was recommended."""

    item_sums = (RecommendationCount(),)

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the one value."""
        return Values(self.of_counts(items.sum(RecommendationCount(), k), items.size))

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the value for the counts of all items recommended, in any order."""
        raise MeasureError(f"{self.name} does not say what it makes of the counts")


class _OfParts(Measure):
    """Made of other measures, which leave the cut-off to it."""

    @property
    def reads_truth(self) -> bool:
        """Whether one of its parts compares lists with the ground truth."""
        return any(part.reads_truth for part in self.parts)

    def __post_init__(self) -> None:
        """Check the measures that it is made of."""
        super().__post_init__()
        for value in self.parameters.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Measure):
                    self._check_part(part)

    def _check_part(self, part: Measure) -> None:
        if part.k:
            raise ParameterError(
                f"{self.name}: its parts take its own cut-off",
                found=str(part),
                hint=f"write {self.name}(…)@10",
            )
        if part.cells_only:
            raise ParameterError(
                f"{self.name}: {part.name} has several values and none of its own", found=str(part)
            )
        has_values = isinstance(part, PerUser | Pooled) or (
            isinstance(part, Composed) and part.of == "users"
        )
        if not has_values and (isinstance(self, Grouped) or getattr(self, "of", "") == "users"):
            raise ParameterError(
                f"{self.name}: {part.name} has no value for a single user",
                found=str(part),
                hint="take a measure of users, or of=means where there is that choice",
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class Composed(_OfParts):
    """A function of other measures' values: each user's values, or their means."""

    @property
    def of(self) -> Literal["users", "means"]:
        """Whether it is computed for every user and averaged, or once from the results."""
        return "users"

    @property
    def value_kind(self) -> ValueKind:
        """What the value is made of."""
        return "mean" if self.of == "users" else "composed"

    def combine(self, *values: Array) -> Array:
        """Return the value for values of the parts, elementwise."""
        raise MeasureError(f"{self.name} does not say how its parts combine")


@dataclass(frozen=True, kw_only=True, repr=False)
class Grouped(_OfParts):
    """A function of the means of user groups, with those means as its cells.

    Parameters
    ----------
    user_group : str, default="group"
        The column of ``users`` with the groups.
    """

    user_group: str = "group"
    value_kind = "groups"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The groups."""
        return (Fact("user_group", self.user_group),)

    def of_means(self, means: Array) -> float:
        """Return the value for the means of all groups that have one."""
        raise MeasureError(f"{self.name} does not say what it makes of the means")


class GroupRates(Accumulated):
    """How unequal a rate is over groups of items: part over whole, which are the cells."""

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the coefficient of variation of the rates, and the rates as cells."""
        groups = self.groups(items)
        sums = zip(*map(groups.sum, self.part_and_whole(items, k)), strict=True)
        rates = [part / whole if whole > 0 else math.nan for part, whole in sums]
        return Values(spread(rates), cells_of_items(groups.names, rates))

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the group of every item of the catalogue."""
        raise NotImplementedError

    def part_and_whole(self, items: CatalogueSums, k: int) -> tuple[Any, Any]:
        """Return numerator and denominator of the rate of each item: by default the two sums."""
        part, whole = self.item_sums
        return items.sum(part, k), items.sum(whole, k)


@dataclass(frozen=True, kw_only=True, repr=False)
class OverItemGroups(Accumulated):
    """A function of what was added up for items, group by group, with a cell for each.

    Parameters
    ----------
    item_group : str, default="group"
        The column of ``items`` with the groups.
    """

    item_group: str = "group"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The groups of items."""
        return (Fact("item_group", self.item_group),)

    def groups(self, items: CatalogueSums) -> Groups:
        """Return the group of every item of the catalogue."""
        return items.fact(Fact("item_group", self.item_group), Groups)
