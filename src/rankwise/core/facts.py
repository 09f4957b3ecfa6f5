"""Facts: data about items and users beyond lists and ground truth, as arrays by code.

A measure names the facts that it needs; blocks then carry them. Item facts have one row per item
code, user facts one per user code; unknown items and users have the empty value described below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from rankwise.core.arrays import Array, bincount, count, namespace

__all__ = [
    "BASELINE",
    "HISTORY",
    "POPULARITY",
    "PROPENSITY",
    "SIMILARITY",
    "Categories",
    "Fact",
    "FactKind",
    "Facts",
    "Features",
    "Groups",
    "Popularity",
    "Propensity",
    "Similarity",
    "Source",
]

_K = TypeVar("_K")

FactKind: TypeAlias = Literal[
    "popularity",
    "history",
    "baseline",
    "categories",
    "features",
    "item_group",
    "user_group",
    "propensity",
    "similarity",
    "source",
]


@dataclass(frozen=True, order=True)
class Fact(Generic[_K]):
    """The name of a fact: its kind, and the column of the facts that are read from one.

    ``block[fact]`` is what is known, as the type that stands in brackets: `POPULARITY` is a
    ``Fact[Popularity]``.
    """

    kind: FactKind
    column: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.column})" if self.column else self.kind


@dataclass(frozen=True)
class Popularity:
    """How often each item occurs in training interactions.

    Attributes
    ----------
    count : array of float, shape (n_items,)
        Distinct training users of every item; 0 for items without any.
    above : array of float, shape (n_items,)
        The interactions of all more popular items. Ties are in order of item id, and items
        without interactions come last.
    popularity_rank : array of float, shape (n_items,)
        The dense rank of the item's popularity, 1 for the most popular items.
    n_users : int
        Training users.
    n_interactions : int
        The sum of the counts.
    most : float
        The largest count.
    """

    count: Array
    above: Array
    popularity_rank: Array
    n_users: int
    n_interactions: int
    most: float

    def is_tail(self, ratio: float, of: Literal["interactions", "items"] = "interactions") -> Array:
        """Whether each item is in the long tail: past the top ``ratio`` of interactions, or items.

        Of items: past the top ``ratio`` of those with interactions, rounded half up, at least one.
        """
        if of == "interactions":
            return self.above / self.n_interactions > ratio
        xp = namespace(self.above)
        n_warm = xp.sum(xp.astype(self.count > 0, xp.float64))
        # A share is meant as it is written: 0.15 of 10 is 1.5, whatever its float.
        n_head = xp.clip(xp.floor(ratio * n_warm + 0.5 + 1e-9), min=1.0)
        last = xp.take(xp.sort(self.above), xp.reshape(xp.astype(n_head, xp.int64) - 1, (1,)))
        return self.above > last

    @property
    def quantile(self) -> Array:
        """The rank of each item by ascending count over the number of items with interactions.

        Equal counts share their mean rank; 0 for items without interactions.
        """
        xp = namespace(self.count)
        ordered = xp.sort(self.count)
        n_cold = xp.sum(xp.astype(self.count == 0, xp.float64))
        below = xp.astype(xp.searchsorted(ordered, self.count, side="left"), xp.float64)
        to = xp.astype(xp.searchsorted(ordered, self.count, side="right"), xp.float64)
        rank = (below + 1.0 + to) / 2.0 - n_cold
        return xp.where(self.count > 0, rank / (self.count.shape[0] - n_cold), 0.0)


@dataclass(frozen=True)
class Groups:
    """The group of every item or user: a number in [0, n), or -1 for none."""

    code: Array
    names: tuple[str, ...]

    @staticmethod
    def of_items(column: str) -> Fact[Groups]:
        """Return the fact that has the groups of a column of ``items``."""
        return Fact("item_group", column)

    @staticmethod
    def of_users(column: str) -> Fact[Groups]:
        """Return the fact that has the groups of a column of ``users``."""
        return Fact("user_group", column)

    def sum(self, values: Array) -> Array:
        """Return the sum of a value of every row of ``code`` over each group, shape (n,)."""
        xp = namespace(self.code)
        inside = self.code >= 0
        weights = xp.astype(values[inside], xp.float64)
        return bincount(self.code[inside], weights, len(self.names))


@dataclass(frozen=True)
class Categories:
    """The categories of every item, item by item.

    Attributes
    ----------
    starts : array of int, shape (n_items + 1,)
        Where each item's categories start in ``code``.
    code : array of int
        Numbers of categories, which are in order of name.
    signature : array of int, shape (n_items,)
        A number for each distinct set of categories, in order: it decides between items
        independently of their ids. 0 is the empty set.
    names : tuple of str
        The categories.
    """

    starts: Array
    code: Array
    signature: Array
    names: tuple[str, ...]

    @staticmethod
    def fact(column: str) -> Fact[Categories]:
        """Return the fact that has the categories of a column of ``items``."""
        return Fact("categories", column)

    def of(self, items: Array) -> tuple[Array, Array]:
        """Return one row per item and category: which of ``items``, which category."""
        xp = namespace(items)
        first = xp.take(self.starts, items)
        lengths = xp.take(self.starts, items + 1) - first
        ends = xp.cumulative_sum(lengths)
        owner = xp.repeat(xp.arange(items.shape[0]), lengths)
        position = xp.arange(owner.shape[0]) - xp.take(ends - lengths, owner)
        return owner, xp.take(self.code, xp.take(first, owner) + position)

    def matrix(self, items: Array) -> Array:
        """Return 1.0 for each category of each of ``items``, else 0.0, shape (n, n_categories)."""
        xp = namespace(items)
        owner, category = self.of(items)
        n, width = items.shape[0], len(self.names)
        member = count(owner * width + category, n * width)
        return xp.reshape(xp.astype(member, xp.float64), (n, width))

    def count(self, user: Array, items: Array, n_users: int) -> Array:
        """Return the number of each user's items in every category, shape (U, n_categories)."""
        xp = namespace(items)
        owner, category = self.of(items)
        width = len(self.names)
        cell = xp.take(user, owner) * width + category
        counts = bincount(cell, xp.ones(cell.shape[0], dtype=xp.float64), n_users * width)
        return xp.reshape(counts, (n_users, width))


@dataclass(frozen=True)
class Features:
    """A feature vector per item: zeros for items that are not ``known`` to have one."""

    vector: Array
    known: Array

    @staticmethod
    def fact(column: str) -> Fact[Features]:
        """Return the fact that has the feature vectors of a column of ``items``."""
        return Fact("features", column)


@dataclass(frozen=True)
class Propensity:
    """The probability that each item is observed at all, in (0, 1]."""

    probability: Array


@dataclass(frozen=True)
class Similarity:
    """The similarity of every two items: the cosine of their columns of training users.

    ``row`` is each item code's row of ``cosine``; items without any share the last, of zeros.
    """

    row: Array
    cosine: Array


@dataclass(frozen=True)
class Source:
    """Distinct training users of every item per group of users, shape (n_items, n_groups)."""

    count: Array
    names: tuple[str, ...]

    @staticmethod
    def fact(column: str) -> Fact[Source]:
        """Return the fact that has the training users of every item per group of a column."""
        return Fact("source", column)


Facts: TypeAlias = "Mapping[Fact[Any], object]"

POPULARITY: Fact[Popularity] = Fact("popularity")
"""How often each item occurs in training."""
PROPENSITY: Fact[Propensity] = Fact("propensity", "propensity")
"""The probability that each item is observed, from the column of that name."""
SIMILARITY: Fact[Similarity] = Fact("similarity")
"""The cosine of every two items' training users."""
HISTORY: Fact[object] = Fact("history")
"""The training interactions: read as rows of a block, not as a fact."""
BASELINE: Fact[object] = Fact("baseline")
"""The lists of a baseline: read as rows of a block, not as a fact."""
