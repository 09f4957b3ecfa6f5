"""Facts: what is known about items and users beyond lists and truth, as arrays by code.

A measure names the facts that it needs; blocks then carry them. Item facts have a row for every
item code, user facts for every user code; whoever is not known has the empty value said below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankwise.core.backend import Array, bincount, namespace
from rankwise.core.segments import Ints, offsets, ragged_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.core.ids import Codes

__all__ = [
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
    "UserItems",
]

FactKind: TypeAlias = Literal[
    "popularity", "history", "baseline", "categories", "features", "item_group", "user_group",
    "propensity", "similarity", "source",
]  # fmt: skip


@dataclass(frozen=True, order=True)
class Fact:
    """The name of a fact: its kind, and for those that are columns which column."""

    kind: FactKind
    column: str = ""

    def __str__(self) -> str:
        return f"{self.kind}({self.column})" if self.column else self.kind


@dataclass(frozen=True)
class Popularity:
    """How often each item was used in training.

    Attributes
    ----------
    count : array of float, shape (n_items,)
        Distinct training users of every item; 0 for items never seen there.
    above : array of float, shape (n_items,)
        The interactions of all more popular items. Ties are in order of item id, and items never
        seen come last.
    place : array of float, shape (n_items,)
        How many popularities there are from the item's up, 1 for the most popular items.
    n_users : int
        Training users.
    n_interactions : int
        The sum of the counts.
    most : float
        The largest count.
    """

    count: Array
    above: Array
    place: Array
    n_users: int
    n_interactions: int
    most: float

    def is_tail(self, ratio: float) -> Array:
        """Whether each item is in the long tail: outside the most popular that hold ``ratio``."""
        return self.above / self.n_interactions > ratio


@dataclass(frozen=True)
class Groups:
    """The group of every item or user: a number in [0, n), or -1 for none."""

    code: Array
    names: tuple[str, ...]

    def sum(self, values: Array) -> Array:
        """Sum a value of every row of ``code`` over each group, shape (n,)."""
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
        A number for each distinct set of categories, in order: it decides between items without
        regard to their ids. 0 is the empty set.
    names : tuple of str
        The categories.
    """

    starts: Array
    code: Array
    signature: Array
    names: tuple[str, ...]

    def of(self, items: Array) -> tuple[Array, Array]:
        """Return a row for every category of every item: which of ``items``, which category."""
        xp = namespace(items)
        first = xp.take(self.starts, items)
        lengths = xp.take(self.starts, items + 1) - first
        ends = xp.cumulative_sum(lengths)
        owner = xp.repeat(xp.arange(items.shape[0]), lengths)
        within = xp.arange(owner.shape[0]) - xp.take(ends - lengths, owner)
        return owner, xp.take(self.code, xp.take(first, owner) + within)

    def count(self, user: Array, items: Array, n_users: int) -> Array:
        """Count each user's items in every category, shape (U, n_categories)."""
        xp = namespace(items)
        owner, category = self.of(items)
        width = len(self.names)
        cell = xp.take(user, owner) * width + category
        counts = bincount(cell, xp.ones(cell.shape[0], dtype=xp.float64), n_users * width)
        return xp.reshape(counts, (n_users, width))


@dataclass(frozen=True)
class Features:
    """A vector for every item; ``known`` says which items have one, the others have zeros."""

    vector: Array
    known: Array


@dataclass(frozen=True)
class Propensity:
    """The chance that each item is observed at all, in (0, 1]."""

    chance: Array


@dataclass(frozen=True)
class Similarity:
    """How alike every two items are: the cosine of their columns of training users.

    ``place`` gives each item code its row of ``cosine``; items never seen share the last, of zeros.
    """

    place: Array
    cosine: Array


@dataclass(frozen=True)
class Source:
    """Distinct training users of every item in each group of users, shape (n_items, n_groups)."""

    count: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class UserItems:
    """Some items for every user code, one user after the other."""

    starts: Ints
    items: Codes

    def rows_of(self, users: Codes) -> tuple[Ints, Ints]:
        """Return the rows of some users one after the other, and where each user starts."""
        known = users < len(self.starts) - 1
        lengths = np.where(known, np.diff(self.starts).take(users, mode="clip"), 0)
        first = self.starts[:-1].take(users, mode="clip")
        return ragged_rows(first, lengths), offsets(lengths)


Facts: TypeAlias = "Mapping[Fact, object]"
