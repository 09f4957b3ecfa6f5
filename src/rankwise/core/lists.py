"""Rows to ranked lists: grouped by user, best first, using rows as they lie where they can be.

The order of preference, cheapest first:

1. rows already grouped by user and in order: used as they are, nothing is copied;
2. rows in any order whose rank column counts 1, 2, 3, … in each list: every row is written
   straight to its place, which needs no sort at all;
3. anything else: bucketed by user in linear time, then ordered inside each short list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.parallel import each, gather
from rankwise.core.segments import Ints, bucket, offsets, owners, positions, reorder
from rankwise.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.ids import Codes, Vocabulary

__all__ = ["Groups", "Lists", "Places", "Ties", "arrange", "group"]

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
class Places:
    """Where rows stand in rankings of which only these rows are at hand.

    Attributes
    ----------
    first, last : array of int, shape (n,)
        The ranks that each row may have: one, unless it ties with others.
    length : array of int, shape (n_lists,)
        How many candidates were ranked in all.
    """

    first: Ints
    last: Ints
    length: Ints


@dataclass(frozen=True)
class Lists:
    """Ranked lists of items, best first, one user after the other."""

    user: Codes
    starts: Ints
    items: Codes
    scores: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    has_ties: bool
    """Whether equal scores inside a list are ties that the measures have to deal with."""
    origin: Ints | None = None
    """The row of the table that each row was; None where rows lie as they did, or none asks."""
    gaps: int = 0
    """Lists whose ranks left some out; the gaps were closed."""
    dropped: Ints | None = None
    """How many repetitions each list lost; None if none did."""
    places: Places | None = None
    """Where rows stand, if lists hold only the judged items of longer rankings."""
    limit: int | None = None
    """The length of lists that also hold what ties with their last item; None: as they are."""

    @property
    def length(self) -> Ints:
        """How many items each list ranks."""
        if self.places is not None:
            return self.places.length
        lengths = np.diff(self.starts)
        return lengths if self.limit is None else np.minimum(lengths, self.limit)

    def part(self, chosen: slice) -> Lists:
        """Return some lists."""
        a, b = int(self.starts[chosen.start]), int(self.starts[chosen.stop])
        places = None
        if self.places is not None:
            first, last = self.places.first[a:b], self.places.last[a:b]
            places = Places(first, last, self.places.length[chosen])
        return replace(
            self,
            user=self.user[chosen],
            starts=self.starts[chosen.start : chosen.stop + 1] - a,
            items=self.items[a:b],
            scores=None if self.scores is None else self.scores[a:b],
            dropped=None if self.dropped is None else self.dropped[chosen],
            places=places,
        )

    @classmethod
    def none(cls) -> Lists:
        """Return no lists at all."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, np.zeros(1, dtype=np.int64), empty, np.empty(0), has_ties=False)

    def without(self, rows: Ints) -> Lists:
        """Return the lists less some rows; what stood below them moves up."""
        keep = np.ones(len(self.items), dtype=bool)
        keep[rows] = False
        lengths = np.add.reduceat(keep, self.starts[:-1], dtype=np.int64)
        scores = None if self.scores is None else self.scores[keep]
        starts = offsets(lengths)
        origin = None if self.origin is None else self.origin[keep]
        items, dropped = self.items[keep], np.diff(self.starts) - lengths
        return Lists(self.user, starts, items, scores, self.has_ties, origin, self.gaps, dropped)


def group(users: pl.Series, vocabulary: Vocabulary) -> Groups:
    """Group rows by user: as they lie if they are grouped, else bucketed in linear time."""
    starts, heads = _heads(users, vocabulary, threads=1)
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
    item_order: Callable[[Codes], Ints] | None = None,
    threads: int = 1,
    by_row: bool = False,
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
        Gives item codes numbers that grow with their ids; called for items that tie.
    threads : int
        Threads to use for tables that are not grouped.
    by_row : bool
        Give row numbers in the place of items if rows have to be moved.

    Returns
    -------
    Lists
        One list for each user that has a row.
    """
    starts, heads = _heads(users, vocabulary, threads)
    mine = False  # whether items and score are copies of ours, to be reordered in place
    if _distinct(heads, vocabulary.size):
        groups = Groups(heads, starts.astype(np.int64, copy=False), None)
    else:
        codes = _spread(heads, starts, len(users))
        items = _rows(items) if by_row else items
        if rank is not None:
            placed = _place(codes, vocabulary.size, items, rank, score, threads)
            if placed is not None:
                return placed
        groups = _bucketed(codes, vocabulary.size)
        assert groups.order is not None
        # One walk over all memory; what follows stays inside each list.
        items, mine = gather(_narrow(items), groups.order, threads), True
        score = None if score is None else gather(score, groups.order, threads)
        rank = None if rank is None else gather(rank, groups.order, threads)
    gaps = 0
    if rank is not None:
        if not _counts_up(groups.starts, rank, threads):
            items = _rows(items) if by_row and not mine else items
            columns = [np.array(rank), items, *([] if score is None else [score])]
            rank, items, *rest = reorder(groups.starts, rank, columns, in_place=mine)
            score = rest[0] if rest else None
            gaps = _gaps(groups, rank, vocabulary)
    elif score is not None and not _falls(groups.starts, score, strictly=ties != "input"):
        items = _rows(items) if by_row and not mine else items
        breaker = None
        if ties != "input" and item_order is not None:
            breaker = _breaker(items, ties, item_order)
        score, items = reorder(
            groups.starts, score, [score, items], breaker=breaker, descending=True, in_place=mine,
            threads=threads,
        )  # fmt: skip
    has_ties = (
        rank is None and score is not None and ties in ("expected", "optimistic", "pessimistic")
    )
    return Lists(groups.user, groups.starts, items, score, has_ties, gaps=gaps)


def _rows(items: Codes) -> Codes:
    return np.arange(len(items), dtype=np.int32 if len(items) < 2**31 else np.int64)


def _narrow(items: Codes) -> Codes:
    """Return codes in half the memory where they fit: they are about to be copied anyway."""
    fits = items.dtype.itemsize <= 4 or items.max() < 2**31
    return items.astype(np.int32, copy=False) if fits and items.dtype != np.uint32 else items


def _breaker(
    items: Codes, ties: Ties, item_order: Callable[[Codes], Ints]
) -> Callable[[Ints], Ints]:
    """Return what puts tied rows in order of item id."""
    sign = -1 if ties == "item_desc" else 1
    return lambda rows: sign * item_order(items[rows].ravel()).astype(np.int64).reshape(rows.shape)


def _heads(users: pl.Series, vocabulary: Vocabulary, threads: int) -> tuple[Ints, Codes]:
    """Return where runs of one user start, and the code of each run: few rows to encode."""
    n = len(users)
    text = users.dtype == pl.String
    values = users if text else users.to_numpy()

    def changes(first: int) -> Ints:
        stop = min(first + _STEP, n - 1)
        differ = values[first + 1 : stop + 1] != values[first:stop]
        return np.flatnonzero(differ.to_numpy() if text else differ) + (first + 1)

    jobs = range(0, n - 1, _STEP)
    if n > 1 and len(changes(0)) > min(_STEP, n - 1) // 2:  # hardly grouped: a run a row
        rows = np.arange(n + 1, dtype=np.int32 if n < 2**31 - 1 else np.int64)
        return rows, vocabulary.encode(users)
    starts = np.concatenate([[0], *each(changes, jobs, threads), [n]])
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
    threads: int,
) -> Lists | None:
    """Write every row straight to its place; None if the ranks do not count 1, 2, 3, …."""
    if rank.dtype.kind not in "iu" or rank.min() < 1:
        return None
    n, lengths = len(items), np.bincount(codes, minlength=size)
    starts = offsets(lengths)
    placed = np.full(n, -1, dtype=np.int32 if items.max() < 2**31 else np.int64)
    scores = None if score is None else np.empty(n)

    def put(first: int) -> bool:
        rows = slice(first, first + _STEP)
        place = starts[codes[rows]]
        place += rank[rows]
        place -= 1
        if place.max() >= n or place.min() < 0:
            return False
        placed[place] = items[rows]
        if scores is not None and score is not None:
            scores[place] = score[rows]
        return True

    # No place is left empty only if every list fills its own: the first list has no rows to
    # spare for the second, so nothing of it spills over, and so on down to the last.
    if not all(each(put, range(0, n, _STEP), threads)) or placed.min() < 0:
        return None
    user = np.flatnonzero(lengths)
    return Lists(user, offsets(lengths[user]), placed, scores, has_ties=False)


def _gaps(groups: Groups, rank: Ints, vocabulary: Vocabulary) -> int:
    """Count lists whose ranks leave some out; two of one rank are an error."""
    starts = groups.starts
    same = rank[1:] == rank[:-1]
    same[starts[1:-1] - 1] = False
    if same.any():
        row = int(np.flatnonzero(same)[0])
        user = vocabulary.decode(groups.user[owners(starts, np.array([row]))])[0]
        raise ScoreError(
            "two items of one list have the same rank",
            where=f"user {user!r}",
            found=f"rank {rank[row]} twice",
            hint="give every item of a list its own rank, or drop the column and pass scores",
        )
    jumps = np.diff(rank, append=rank[-1:]) != 1
    jumps[starts[1:] - 1] = False  # from one list to the next
    return int(np.add.reduceat(jumps, starts[:-1]).astype(bool).sum())


def _counts_up(starts: Ints, rank: Ints, threads: int) -> bool:
    """Whether ranks count 1, 2, 3, … down every list."""
    lengths = np.diff(starts)
    if np.ptp(lengths):
        return bool(np.all(rank == positions(starts) + 1))
    lists = max(1, _STEP // int(lengths[0]))
    wanted = np.tile(np.arange(1, lengths[0] + 1, dtype=rank.dtype), lists)

    def right(first: int) -> bool:
        own = rank[first : first + len(wanted)]
        return bool((own == wanted[: len(own)]).all())

    return all(each(right, range(0, len(rank), len(wanted)), threads))


def _falls(
    starts: Ints, score: np.ndarray[tuple[int], np.dtype[np.float64]], *, strictly: bool
) -> bool:
    """Whether scores fall down every list: without a tie, if ties are to be put in order."""
    falls = score[1:] < score[:-1] if strictly else score[1:] <= score[:-1]
    falls[starts[1:-1] - 1] = True
    return bool(falls.all())
