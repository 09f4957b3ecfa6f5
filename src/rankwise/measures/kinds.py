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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from rankwise.core.facts import Fact, Groups
from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.arithmetic import spread
from rankwise.measures.measure import Measure
from rankwise.measures.tallies import Recommended

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.measures.tallies import ItemSums, Tally

__all__ = [
    "Accumulated",
    "Catalogue",
    "Composed",
    "Grouped",
    "Labelled",
    "OverItemGroups",
    "PerUser",
    "Pooled",
    "at_cutoffs",
    "cells_of_items",
    "label",
    "rates_of_items",
    "read_label",
]

Labelled: TypeAlias = "dict[str, float]"
"""Values by label: ``""`` is the measure's own, ``"item_group=a"`` that of a cell."""


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


def cells_of_items(names: tuple[str, ...], values: Iterable[float]) -> Labelled:
    """Return a cell for each group of items."""
    return {label(item_group=name): float(value) for name, value in zip(names, values, strict=True)}


def rates_of_items(groups: Groups, part: Any, whole: Any) -> Labelled:
    """Return part over whole of each group of items as cells, and how unequal these are."""
    sums = zip(groups.sum(part), groups.sum(whole), strict=True)
    rates = [p / w if w > 0 else math.nan for p, w in sums]
    return {"": spread(rates), **cells_of_items(groups.names, rates)}


def at_cutoffs(measure: Measure, k: tuple[int, ...]) -> Measure:
    """Set the cut-offs of a part, if it has any."""
    return measure if measure.cutoff == "none" else measure @ k


@dataclass(frozen=True, kw_only=True, repr=False)
class PerUser(Measure):
    """A value for every user; the result is the mean of those that are defined, or the sum."""

    about: ClassVar[Literal["relevance", "list", "user"]] = "relevance"
    """Who has a value: users with relevant items, users with a list, or every user."""

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """How users' values become one."""
        return "mean"

    def values(self, block: Block, k: Array) -> Array:
        """Return the value of every user at every cut-off, shape (U, n_k)."""
        raise MeasureError(f"{self.name} does not say how its values are worked out")


@dataclass(frozen=True, kw_only=True, repr=False)
class Pooled(Measure):
    """A function of sums over users."""

    @property
    def about(self) -> Literal["relevance", "list", "user"]:
        """Whose own value means something: users with relevant items, or whoever has sums."""
        return "user"

    def sums(self, block: Block, k: Array) -> Array:
        """Return what each user adds to each sum, shape (U, n_k, n_sums)."""
        raise MeasureError(f"{self.name} does not say what it sums")

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the value for sums of any number of users, shape (..., n_sums) to (...)."""
        raise MeasureError(f"{self.name} does not say what its sums come to")

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is the mean of each user's own, not that of everyone's sums."""
        return False

    def weigh(self, sums: Array) -> Array | None:
        """Return the weight of each user in that mean; None: all the same."""
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Accumulated(Measure):
    """A function of what was added up for every item."""

    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "counted"

    @property
    def has_groups(self) -> bool:
        """Whether groups of users can have values of their own: not if its cells are such."""
        return not any(tally.by for tally in self.tallies) and not any(
            fact.kind == "source" for fact in self.facts
        )

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the value at a cut-off, and those of its cells."""
        raise MeasureError(f"{self.name} does not say what it makes of the sums")


@dataclass(frozen=True, kw_only=True, repr=False)
class Catalogue(Accumulated):
    """A function of how often each item of the catalogue was recommended."""

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """How often each item was recommended."""
        return (Recommended(),)

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return the one value."""
        return {"": self.of_counts(items.sum(Recommended(), k), items.size)}

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the value for the counts of all items recommended, in any order."""
        raise MeasureError(f"{self.name} does not say what it makes of the counts")


class _OfParts(Measure):
    """Made of other measures, which leave the cut-off to it."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        _check_parts(self)


@dataclass(frozen=True, kw_only=True, repr=False)
class Composed(_OfParts):
    """A function of other measures' values: each user's values, or their means."""

    @property
    def of(self) -> Literal["users", "means"]:
        """Whether it is worked out for every user and averaged, or once on the results."""
        return "users"

    def combine(self, *values: Array) -> Array:
        """Return the value for values of the parts, elementwise."""
        raise MeasureError(f"{self.name} does not say how its parts combine")


@dataclass(frozen=True, kw_only=True, repr=False)
class Grouped(_OfParts):
    """A function of the means of user groups, with those means as its cells."""

    user_group: str = "group"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure whose means are compared."""
        return ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The groups."""
        return (Fact("user_group", self.user_group),)

    def of_means(self, means: Array) -> float:
        """Return the value for the means of all groups that have one."""
        raise MeasureError(f"{self.name} does not say what it makes of the means")


def _check_parts(owner: Measure) -> None:
    given = [value for value in owner.parameters.values() if isinstance(value, Measure)]
    for value in owner.parameters.values():
        if isinstance(value, tuple):
            given += [entry for entry in value if isinstance(entry, Measure)]
    for part in given:
        if part.k:
            raise ParameterError(
                f"{owner.name}: its parts take its own cut-off",
                found=str(part),
                hint=f"write {owner.name}(…)@10",
            )
        if part.only_cells:
            raise ParameterError(
                f"{owner.name}: {part.name} has several values and none of its own", found=str(part)
            )
        has_values = isinstance(part, PerUser | Pooled) or (
            isinstance(part, Composed) and part.of == "users"
        )
        if not has_values and (isinstance(owner, Grouped) or getattr(owner, "of", "") == "users"):
            raise ParameterError(
                f"{owner.name}: {part.name} has no value for a single user",
                found=str(part),
                hint="take a measure of users, or of=means where there is that choice",
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class OverItemGroups(Accumulated):
    """A function of what was added up for items, group by group, with a cell for each."""

    item_group: str = "group"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The groups of items."""
        return (Fact("item_group", self.item_group),)

    def groups(self, items: ItemSums) -> Groups:
        """Return the group of every item of the catalogue."""
        return items.fact(Fact("item_group", self.item_group), Groups)
