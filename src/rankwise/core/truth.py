"""Ground truth: the judged items of every user, with their relevance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.grouping import group
from rankwise.core.ragged import Ints, bucket
from rankwise.core.vocabulary import Codes, Vocabulary

__all__ = ["Truth", "arrange_truth", "reaches"]


def reaches(relevance: Any, threshold: float) -> Any:
    """Return which relevances reach a threshold, as an array, expression or column of the same library.

    A relevance reaches the threshold if it is at least the threshold, or is the threshold in single
    precision: 0.7 stored as float32 is 0.69999999 as a double, and still 0.7. The data type of the
    column is not asked, because engines and file formats widen it on the way.

    >>> reaches(np.array([np.float32(0.7), 0.699999]), 0.7)
    array([ True, False])
    """
    with np.errstate(over="ignore"):
        single = float(np.float32(threshold))
    if single >= threshold or single == 0 or np.isinf(single):
        return relevance >= threshold
    return (relevance >= threshold) | (relevance == single)


@dataclass(frozen=True)
class Truth:
    """The judged items of every user, grouped by user.

    An item is relevant if its relevance `reaches` the threshold; without a threshold, if it is
    above 0. Rows that are not relevant are kept: rating errors are computed from all rows.
    """

    user: Codes
    starts: Ints
    items: Codes
    relevance: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    """The relevance of every row; None without such a column: every row counts 1."""
    relevant: np.ndarray[tuple[int], np.dtype[np.bool_]] | None
    """Which rows are relevant; None if all are."""
    origin: Ints | None = None
    """The row of each row in the table; None where rows have its order."""

    @classmethod
    def none(cls) -> Truth:
        """Return a ground truth of no items: one user's, who has none."""
        empty = np.empty(0, dtype=np.int64)
        return cls(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), empty, None, None)

    @cached_property
    def graded(self) -> bool:
        """Whether any relevant row has a gain other than 1."""
        if self.relevance is None:
            return False
        gains = self.relevance if self.relevant is None else self.relevance[self.relevant]
        return bool(np.any(gains != 1.0))

    @cached_property
    def n_judged(self) -> Ints:
        """The number of items of every group."""
        return np.diff(self.starts)

    @cached_property
    def n_relevant(self) -> Ints:
        """The number of relevant items of every group."""
        if self.relevant is None:
            return self.n_judged
        return np.add.reduceat(self.relevant, self.starts[:-1], dtype=np.int64)

    @cached_property
    def n_negative(self) -> Ints:
        """The number of items of every group with a negative grade that are not relevant."""
        if self.relevance is None or self.relevant is None:
            return np.zeros_like(self.n_judged)
        return np.add.reduceat((self.relevance < 0) & ~self.relevant, self.starts[:-1], dtype=np.int64)

    @cached_property
    def ideal(self) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Where the relevant gains of every group start, and those gains, best first."""
        gains = np.ones(len(self.items)) if self.relevance is None else self.relevance
        owner = np.repeat(np.arange(len(self.user)), self.n_judged)
        if self.relevant is not None:
            gains, owner = gains[self.relevant], owner[self.relevant]
        # By gain first, by owner second: the second pass is stable and linear.
        by_gain = np.argsort(-gains, kind="stable")
        starts, order = bucket(owner[by_gain], len(self.user))
        return starts, gains[by_gain][order]

    def groups_of(self, users: Codes) -> Ints:
        """Return the group of each user code, -1 where the user has no row."""
        groups: Ints = self._group.take(users, mode="clip")
        groups[users >= len(self._group)] = -1
        return groups

    @cached_property
    def _group(self) -> Ints:
        size = int(self.user.max()) + 1 if len(self.user) else 1
        groups = np.full(size, -1, dtype=np.int64)
        groups[self.user] = np.arange(len(self.user))
        return groups


def arrange_truth(
    users: pl.Series,
    items: Codes,
    relevance: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
    *,
    vocabulary: Vocabulary,
    threshold: float | None,
) -> Truth:
    """Return ground truth rows grouped by user, and which of them are relevant."""
    groups = group(users, vocabulary)
    if groups.order is not None:
        items = items[groups.order]
        relevance = None if relevance is None else relevance[groups.order]
    relevant = None
    if relevance is not None:
        relevant = relevance > 0 if threshold is None else reaches(relevance, threshold)
    if relevant is not None and relevant.all():
        relevant = None
    return Truth(groups.user, groups.starts, items, relevance, relevant, groups.order)
