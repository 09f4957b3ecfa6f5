"""Sets of rows of a block: what measures may read of its users beyond hits.

A measure declares the sets that it reads, and blocks hold those alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankwise.core.arrays import Array

__all__ = ["WHOLE_LISTS", "Ideal", "ItemRows", "JudgedRows", "Needs", "Overlap", "RecommendedRows", "RowSet", "RowSets"]

RowSet: TypeAlias = Literal[
    "ideal", "judged", "recommended", "relevant", "history", "overlap_history", "overlap_baseline"
]
"""The sets of rows that a block can hold."""

Needs: TypeAlias = frozenset[RowSet | Literal["scores"]]
"""What a block must hold beyond hits: sets of rows, and the scores of the lists."""

WHOLE_LISTS: Needs = frozenset({"recommended", "overlap_history", "overlap_baseline"})
"""The sets for which every row of a list is read, in the order of the list."""


@dataclass(frozen=True)
class Ideal:
    """The relevant items of every user in decreasing gain: the best possible list."""

    user: Array
    rank: Array
    gain: Array


@dataclass(frozen=True)
class JudgedRows:
    """Recommended items that are in the ground truth, relevant or not, in order of user and rank.

    Unlike hits they are in the order of the list even where scores tie.
    """

    user: Array
    rank: Array
    item: Array
    truth: Array
    relevant: Array
    """1 where the item is relevant, else 0."""
    n_negative: Array
    """The number of ground truth rows of each user with a negative grade that are not relevant,
    recommended or not, shape (U,)."""
    score: Array = None
    """None where lists have no scores: measures that read them declare ``"scores"``."""
    tie: Array | None = None
    """The first rank of the tied group of each item; None if ties do not matter."""


@dataclass(frozen=True)
class RecommendedRows:
    """All rows of the lists; scores and labels (1 if relevant) where lists have scores, else None.

    Measures that read these declare ``"scores"``.
    """

    user: Array
    rank: Array
    item: Array
    score: Array = None
    label: Array = None


@dataclass(frozen=True)
class ItemRows:
    """Items of users apart from their lists: relevant items, or training interactions."""

    user: Array
    item: Array
    gain: Array


@dataclass(frozen=True)
class Overlap:
    """Items of the lists that are also in another set of items of the same user.

    Attributes
    ----------
    user, rank, item : array of int
        The user, the rank and the code of each such item.
    rank_there : array of int
        Its position in the other set, from 1.
    length : array of int, shape (U,)
        The size of the other set.
    n_elsewhere : array of int, shape (U,)
        How many items of the other set are neither in the list nor relevant.
    """

    user: Array
    rank: Array
    item: Array
    rank_there: Array
    length: Array
    n_elsewhere: Array


@dataclass(frozen=True)
class RowSets:
    """The sets of rows that a block holds; None for those that no measure declared.

    Attributes
    ----------
    ideal : Ideal, "ones" or None
        The best possible lists; ``"ones"`` if all gains are 1, so that no rows are needed.
    judged, recommended : rows
        Judged items of the lists, and all rows of the lists.
    relevant, history : ItemRows
        All relevant items, and the training interactions.
    overlap_history, overlap_baseline : Overlap
        What lists have in common with the training interactions, and with the lists of a baseline.
    """

    ideal: Ideal | Literal["ones"] | None = None
    judged: JudgedRows | None = None
    recommended: RecommendedRows | None = None
    relevant: ItemRows | None = None
    history: ItemRows | None = None
    overlap_history: Overlap | None = None
    overlap_baseline: Overlap | None = None
