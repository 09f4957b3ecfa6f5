"""Rows to ranked lists: grouped by user, best first, using rows as they lie where they can be.

The order of preference, cheapest first:

1. rows already grouped by user and in order: used as they are, nothing is copied;
2. rows in any order whose rank column counts 1, 2, 3, … in each list: every row is written
   straight to its place, which needs no sort at all;
3. anything else: bucketed by user in linear time, then ordered inside each short list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.segments import Ints, bucket, offsets, order_within, positions
from rankwise.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.ids import Codes, Vocabulary

__all__ = ["Groups", "Lists", "Ties", "arrange", "group"]

Ties: TypeAlias = Literal["input", "expected", "item", "item_desc", "optimistic", "pessimistic"]

_STEP = 1 << 17  # rows handled at a time where a whole-column temporary would cost memory


@dataclass(frozen=True)
class Groups:
    """Rows grouped by user: whose each group is, where it starts, and where its rows lie."""

    user: Codes
    starts: Ints
    order: Ints | None
    """Row numbers, group by group; None where the rows already lie so."""


@dataclass(frozen=True)
class Lists:
    """Ranked lists of items, best first, one user after the other."""

    user: Codes
    starts: Ints
    items: Codes
    scores: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    has_ties: bool
    """Whether equal scores inside a list are ties that the measures have to deal with."""
    gaps: int = 0
    """Lists whose ranks did not count 1, 2, 3, …; the gaps were closed."""

    def without(self, rows: Ints) -> Lists:
        """Return the lists less some rows; what stood below them moves up."""
        keep = np.ones(len(self.items), dtype=bool)
        keep[rows] = False
        lengths = np.add.reduceat(keep, self.starts[:-1], dtype=np.int64)
        scores = None if self.scores is None else self.scores[keep]
        starts = offsets(lengths)
        return Lists(self.user, starts, self.items[keep], scores, self.has_ties, self.gaps)


def group(users: pl.Series, vocabulary: Vocabulary) -> Groups:
    """Group rows by user: as they lie if they are grouped, else bucketed in linear time."""
    starts, heads = _heads(users, vocabulary)
    if _distinct(heads, vocabulary.size):
        return Groups(heads, starts.astype(np.int64, copy=False), None)
    return _bucketed(_spread(heads, starts, len(users)), vocabulary.size)


def arrange(
    users: pl.Series,
    items: Codes,
    *,
    vocabulary: Vocabulary,
    rank: Ints | None = None,
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None,
    ties: Ties = "input",
    item_order: Callable[[], Ints] | None = None,
) -> Lists:
    """Turn rows into ranked lists.

    Parameters
    ----------
    users : polars.Series, shape (n,)
        The user id of every row.
    items : array of int, shape (n,)
        The item code of every row.
    vocabulary : Vocabulary
        Codes of the users; grows as needed.
    rank : array, shape (n,), optional
        Orders each list, ascending. Without it the score does; without both, the rows' order.
    score : array of float, shape (n,), optional
        Finite scores; they order each list, descending, if there is no rank.
    ties : str
        How equal scores are ordered. All but ``"input"`` order them by item.
    item_order : callable, optional
        Gives the place of each item code in the order of ids; called if ties need it.

    Returns
    -------
    Lists
        One list for each user that has a row.
    """
    starts, heads = _heads(users, vocabulary)
    if _distinct(heads, vocabulary.size):
        groups = Groups(heads, starts.astype(np.int64, copy=False), None)
    else:
        codes = _spread(heads, starts, len(users))
        if rank is not None:
            placed = _place(codes, vocabulary.size, items, rank, score)
            if placed is not None:
                return placed
        groups = _bucketed(codes, vocabulary.size)
        # One walk over all memory; what follows stays inside each list.
        items = items[groups.order]
        score = None if score is None else score[groups.order]
        rank = None if rank is None else rank[groups.order]
    inside, gaps = None, 0
    if rank is not None:
        inside, gaps = _by_rank(groups, rank, vocabulary)
    elif score is not None:
        inside = _by_score(groups.starts, score, _breaker(items, ties, item_order))
    if inside is not None:
        items = items[inside]
        score = None if score is None else score[inside]
    has_ties = (
        rank is None and score is not None and ties in ("expected", "optimistic", "pessimistic")
    )
    return Lists(groups.user, groups.starts, items, score, has_ties, gaps)


def _breaker(
    items: Codes, ties: Ties, item_order: Callable[[], Ints] | None
) -> Callable[[Ints], Ints] | None:
    """Return what puts tied items in order: rows in, places of their ids out; None: as is."""
    if ties == "input" or item_order is None:
        return None
    places = item_order()
    sign = -1 if ties == "item_desc" else 1
    return lambda rows: sign * places[items[rows]]


def _heads(users: pl.Series, vocabulary: Vocabulary) -> tuple[Ints, Codes]:
    """Return where runs of one user start, and the code of each run: few rows to encode."""
    if users.dtype == pl.String:
        change = (users != users.shift(1)).fill_null(value=True).to_numpy()[1:]
    else:
        values = users.to_numpy()
        change = values[1:] != values[:-1]
    n = len(users)
    if np.count_nonzero(change) > n // 2:  # hardly grouped: every row is a run of its own
        return np.arange(n + 1, dtype=np.int32 if n < 2**31 - 1 else np.int64), vocabulary.encode(
            users
        )
    starts = np.concatenate([[0], np.flatnonzero(change) + 1, [n]])
    return starts, vocabulary.encode(users.gather(starts[:-1]))


def _spread(heads: Codes, starts: Ints, n: int) -> Codes:
    """Give every row the code of its run."""
    return heads if len(heads) == n else np.repeat(heads, np.diff(starts))


def _distinct(codes: Codes, size: int) -> bool:
    if len(codes) > size:
        return False
    return bool(np.bincount(codes, minlength=size).max(initial=0) <= 1)


def _bucketed(codes: Codes, size: int) -> Groups:
    starts, order = bucket(codes, size)
    lengths = np.diff(starts)
    user = np.flatnonzero(lengths)
    return Groups(user, offsets(lengths[user]), order)


def _place(
    codes: Codes,
    size: int,
    items: Codes,
    rank: Ints,
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
) -> Lists | None:
    """Write every row straight to its place; None if the ranks do not count 1, 2, 3, …."""
    if rank.dtype.kind not in "iu" or rank.min() < 1:
        return None
    n, lengths = len(items), np.bincount(codes, minlength=size)
    starts = offsets(lengths)
    placed = np.full(n, -1, dtype=np.int32 if items.max() < 2**31 else np.int64)
    scores = None if score is None else np.empty(n)
    for first in range(0, n, _STEP):
        rows = slice(first, first + _STEP)
        place = starts[codes[rows]]
        place += rank[rows] - 1
        if place.max() >= n:
            return None
        placed[place] = items[rows]
        if scores is not None and score is not None:
            scores[place] = score[rows]
    # No place is left empty only if every list fills its own: the first list has no rows to
    # spare for the second, so nothing of it spills over, and so on down to the last.
    if placed.min() < 0:
        return None
    user = np.flatnonzero(lengths)
    return Lists(user, offsets(lengths[user]), placed, scores, has_ties=False)


def _by_rank(groups: Groups, rank: Ints, vocabulary: Vocabulary) -> tuple[Ints | None, int]:
    starts = groups.starts
    if _counts_up(starts, rank):
        return None, 0
    inside = order_within(starts, rank)
    ordered = rank[inside]
    same = ordered[1:] == ordered[:-1]
    same[starts[1:-1] - 1] = False
    if same.any():
        row = int(np.flatnonzero(same)[0])
        owner = np.searchsorted(starts, row, side="right") - 1
        user = vocabulary.decode(groups.user[[owner]])[0]
        raise ScoreError(
            "two items of one list have the same rank",
            where=f"user {user!r}",
            found=f"rank {ordered[row]} twice",
            hint="give every item of a list its own rank, or drop the column and pass scores",
        )
    gaps = ordered != positions(starts) + 1
    return inside, int(np.add.reduceat(gaps, starts[:-1]).astype(bool).sum())


def _counts_up(starts: Ints, rank: Ints) -> bool:
    """Whether ranks count 1, 2, 3, … down every list."""
    lengths = np.diff(starts)
    if len(lengths) and bool(np.all(lengths == lengths[0])):
        return bool(np.all(rank.reshape(-1, lengths[0]) == np.arange(1, lengths[0] + 1)))
    return bool(np.all(rank == positions(starts) + 1))


def _by_score(
    starts: Ints,
    score: np.ndarray[tuple[int], np.dtype[np.float64]],
    breaker: Callable[[Ints], Ints] | None,
) -> Ints | None:
    # Without ties to break, falling scores are in order; with them only strictly falling ones.
    falls = score[1:] <= score[:-1] if breaker is None else score[1:] < score[:-1]
    falls[starts[1:-1] - 1] = True
    return None if falls.all() else order_within(starts, -score, breaker)
