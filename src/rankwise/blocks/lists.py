"""Recommendation lists and ground truth, grouped by user.

Lists are put in order as cheaply as their rows allow:

1. rows already grouped by user and in order: used as they are, nothing is copied;
2. rows in any order whose rank column counts 1, 2, 3, … in each list: every row is written
   straight to its position, without a sort;
3. rows with scores that need no order, because only matched rows need a rank
   (`rankwise.blocks.matching`): grouped by user in linear time;
4. anything else: grouped by user, then ordered inside each short list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.arrays import at_least
from rankwise.core.kernels import gather, map_threads, split_range
from rankwise.core.ragged import (
    Counts,
    Groups,
    Ints,
    are_distinct,
    are_small,
    counting_sort,
    expand_runs,
    group,
    group_by_code,
    group_scored_items,
    offsets,
    place_by_rank,
    positions,
    segments_of,
    sort_segments,
    user_runs,
)
from rankwise.core.vocabularies import Codes, Vocabulary
from rankwise.errors import ScoreError
from rankwise.messages import parameter
from rankwise.options import Ties

_STEP = 1 << 17  # rows per step where a temporary array of a whole column would cost memory


@dataclass(frozen=True, eq=False, repr=False)
class RankRange:
    """The ranks of rows in rankings of which only these rows are known.

    Attributes
    ----------
    first, last : array of int, shape (n,)
        The ranks that each row may have: one rank, unless it ties with others.
    length : array of int, shape (n_lists,)
        The size of each candidate set.
    """

    first: Ints
    last: Ints
    length: Ints


@dataclass(frozen=True, eq=False, repr=False)
class TieOrder:
    """How rows with equal scores are ordered, where only their scores are known."""

    ties: Ties
    item_order: Callable[[Codes], Ints] | None
    """Returns numbers that grow with the ids of item codes."""

    @property
    def is_open(self) -> bool:
        """Whether the rule leaves ties unbroken, so that metrics have to handle them."""
        return self.ties in ("expected", "optimistic", "pessimistic")

    def numbers(self, items: Codes) -> Ints:
        """Return numbers that grow, or fall, with the ids of items."""
        assert self.item_order is not None
        numbers = self.item_order(items.ravel()).astype(np.int64).reshape(items.shape)
        return -numbers if self.ties == "item_desc" else numbers

    def breaker(self, items: Codes) -> Callable[[Ints], Ints] | None:
        """Return the function that puts tied rows in order; None if they stay as they are."""
        if self.ties == "input" or self.item_order is None:
            return None
        return lambda rows: self.numbers(items[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Lists:
    """Recommendation lists, concatenated by user, best first unless ``tie_order`` is set."""

    user: Codes
    starts: Ints
    items: Codes
    scores: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    has_ties: bool
    """Whether equal scores inside a list are ties that the metrics have to handle."""
    gaps: int = 0
    """The number of lists with gaps between ranks; the gaps were closed."""
    dropped: Ints | None = None
    """The number of repeated items that each list lost; None if no list did."""
    rank_range: RankRange | None = None
    """The ranks of rows, if lists hold only the judged items of longer rankings."""
    limit: int | None = None
    """The length of lists that also hold rows tied with their last item; None: as they are."""
    tie_order: TieOrder | None = None
    """How to order lists by their scores, if they are in no order yet."""
    may_tie: bool = True
    """Whether scores may be equal inside a list."""

    @property
    def length(self) -> Ints:
        """The number of items that each list ranks."""
        if self.rank_range is not None:
            return self.rank_range.length
        lengths = np.diff(self.starts)
        return lengths if self.limit is None else np.minimum(lengths, self.limit)

    def limit_within(self, deepest: int) -> int:
        """Return the lowest rank that counts: that of the limit, or a higher one."""
        return deepest if self.limit is None else min(self.limit, deepest)

    def part(self, chosen: slice) -> Lists:
        """Return consecutive lists."""
        rows = slice(int(self.starts[chosen.start]), int(self.starts[chosen.stop]))
        ranks = self.rank_range
        if ranks is not None:
            ranks = RankRange(ranks.first[rows], ranks.last[rows], ranks.length[chosen])
        return replace(
            self,
            user=self.user[chosen],
            starts=self.starts[chosen.start : chosen.stop + 1] - rows.start,
            items=self.items[rows],
            scores=None if self.scores is None else self.scores[rows],
            dropped=None if self.dropped is None else self.dropped[chosen],
            rank_range=ranks,
        )

    @classmethod
    def none(cls) -> Lists:
        """Return no lists at all."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, np.zeros(1, dtype=np.int64), empty, np.empty(0), has_ties=False)

    def without(self, rows: Ints) -> Lists:
        """Drop rows from the lists; the rows below them move up."""
        keep = np.ones(len(self.items), dtype=bool)
        keep[rows] = False
        lengths = np.add.reduceat(keep, self.starts[:-1], dtype=np.int64)
        scores = None if self.scores is None else self.scores[keep]
        starts = offsets(lengths)
        items, dropped = self.items[keep], np.diff(self.starts) - lengths
        return Lists(self.user, starts, items, scores, self.has_ties, self.gaps, dropped)


def group_lists(
    users: pl.Series,
    items: Codes,
    *,
    vocabulary: Vocabulary,
    rank: Ints | None = None,
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None,
    ties: Ties = "input",
    item_order: Callable[[Codes], Ints] | None = None,
    threads: int = 1,
    in_order: bool = True,
) -> Lists:
    """Return lists made of rows.

    Parameters
    ----------
    users : polars.Series, shape (n,)
        The user id of every row.
    items : array of int, shape (n,)
        The item code of every row.
    vocabulary : Vocabulary
        Codes of the users; it grows as needed.
    rank : array, shape (n,), optional
        Orders each list, ascending; without it the scores do, and without both the row order.
    score : array of float, shape (n,), optional
        Finite scores; they order each list, descending, if there is no rank.
    ties : str, default="input"
        How equal scores are ordered: all rules except ``"input"`` order them by item.
    item_order : callable, optional
        Returns numbers that grow with the ids of item codes; called for items that tie.
    threads : int, default=1
        Threads to use for tables that are not grouped.
    in_order : bool, default=True
        Whether lists are needed best first; otherwise scores order only what is matched.

    Returns
    -------
    Lists
        One list for each user that has a row.
    """
    starts, codes = user_runs(users, vocabulary, threads)
    if are_distinct(codes, vocabulary.size):
        groups = Groups.of_runs(codes, starts)
        rows = _UserRows(groups, items, rank, score, are_copies=False)
    else:
        codes = expand_runs(codes, starts, len(users))
        if rank is not None:
            write = partial(
                _write_by_rank, codes, vocabulary.size, items, rank, score, threads=threads
            )
            lists = write(base=1)
            if lists is None and rank.min() == 0:
                lists = write(base=0)
            if lists is not None:
                return lists
        rows = _gather_by_user(codes, vocabulary.size, items, rank, score, threads)

    if rows.rank is not None:
        return _order_by_rank(rows, rows.rank, vocabulary, threads)
    if rows.score is not None:
        tie_order = TieOrder(ties, item_order)
        return _order_by_score(rows, rows.score, tie_order, threads, in_order=in_order)
    return Lists(rows.groups.user, rows.groups.starts, rows.items, None, has_ties=False)


@dataclass(frozen=True, eq=False, repr=False)
class _UserRows:
    """The rows of each user, side by side, before they are put in order."""

    groups: Groups
    items: Codes
    rank: Ints | None
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    are_copies: bool
    """Whether the columns are copies, which may be reordered in place."""


def _gather_by_user(
    codes: Ints,
    size: int,
    items: Codes,
    rank: Ints | None,
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
    threads: int,
) -> _UserRows:
    """Return rows in any order, gathered by user."""
    if rank is None and score is not None:
        groups, items, score = group_scored_items(codes, size, items, score, threads)
        return _UserRows(groups, items, None, score, are_copies=True)

    groups = group_by_code(codes, size)
    assert groups.order is not None
    # One pass over all memory; the rest is done inside each list.
    items = gather(_narrow(items), groups.order, threads)
    score = None if score is None else gather(score, groups.order, threads)
    rank = None if rank is None else gather(rank, groups.order, threads)
    return _UserRows(groups, items, rank, score, are_copies=True)


def _order_by_rank(rows: _UserRows, rank: Ints, vocabulary: Vocabulary, threads: int) -> Lists:
    """Return lists whose ranks ascend; gaps between ranks are counted and closed."""
    groups, items, score = rows.groups, rows.items, rows.score
    if _counts_up(groups.starts, rank, threads):
        return Lists(groups.user, groups.starts, items, score, has_ties=False)

    columns = [np.array(rank), items, *([] if score is None else [score])]
    rank, items, *rest = sort_segments(groups.starts, rank, columns, in_place=rows.are_copies)
    score = rest[0] if rest else None
    gaps = _gaps(groups, rank, items, vocabulary)
    return Lists(groups.user, groups.starts, items, score, has_ties=False, gaps=gaps)


def _order_by_score(
    rows: _UserRows,
    score: np.ndarray[tuple[int], np.dtype[np.float64]],
    tie_order: TieOrder,
    threads: int,
    *,
    in_order: bool,
) -> Lists:
    """Return lists whose scores fall, or unordered lists unless ``in_order``."""
    groups, items, has_ties = rows.groups, rows.items, tie_order.is_open
    strictly = tie_order.ties != "input"
    is_known_unordered = rows.are_copies and not in_order
    if not is_known_unordered and _falls(groups.starts, score, threads, strictly=strictly):
        return Lists(groups.user, groups.starts, items, score, has_ties, may_tie=not strictly)
    if not in_order:
        return Lists(groups.user, groups.starts, items, score, has_ties, tie_order=tie_order)

    score, items = sort_segments(
        groups.starts,
        score,
        [score, items],
        breaker=tie_order.breaker(items),
        descending=True,
        in_place=rows.are_copies,
        threads=threads,
    )
    return Lists(groups.user, groups.starts, items, score, has_ties)


def _narrow(items: Codes) -> Codes:
    """Return codes in half the memory where they fit; they are about to be copied anyway."""
    return items.astype(np.int32) if items.itemsize > 4 and are_small(items) else items


def _write_by_rank(
    codes: Codes,
    size: int,
    items: Codes,
    rank: Ints,
    score: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
    *,
    base: int,
    threads: int,
) -> Lists | None:
    """Return lists whose rows are written by rank; None if ranks do not count up from the base."""
    if rank.dtype.kind not in "iu":
        return None
    if score is None and rank.dtype == np.int64:
        counts = Counts.of(codes, size, items, threads)
        if counts is not None:
            in_order = place_by_rank(counts, codes, rank, items, threads, base)
            return None if in_order is None else Lists(*in_order, None, has_ties=False)
    if rank.min() < base:
        return None
    n, lengths = len(items), np.bincount(codes, minlength=size)
    starts = offsets(lengths)
    small = are_small(items)
    empty = -1 if small else np.iinfo(np.int64).min  # stands for no item; where it is one, sort
    ranked = np.full(n, empty, dtype=np.int32 if small else np.int64)
    scores = None if score is None else np.empty(n)

    def write(first: int) -> bool:
        rows = slice(first, first + _STEP)
        target = starts[codes[rows]]
        target += rank[rows]
        target -= base
        if target.max() >= n or target.min() < 0:
            return False
        ranked[target] = items[rows]
        if scores is not None and score is not None:
            scores[target] = score[rows]
        return True

    # All rows are filled only if every list fills its own range: the first list has no rows to
    # spare for the second, so none of them spill over, and so on down to the last list.
    if not all(map_threads(write, range(0, n, _STEP), threads)) or ranked.min() == empty:
        return None
    groups = Groups.of_lengths(lengths)
    return Lists(groups.user, groups.starts, ranked, scores, has_ties=False)


def _gaps(groups: Groups, rank: Ints, items: Codes, vocabulary: Vocabulary) -> int:
    """Return the number of lists with gaps between ranks; raise if two items share a rank.

    An item that stands twice at its rank is a repeated row, not two items.
    """
    starts = groups.starts
    same = rank[1:] == rank[:-1]
    same[starts[1:-1] - 1] = False
    differ = same & (items[1:] != items[:-1])
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        user = vocabulary.decode(groups.user[segments_of(starts, np.array([row]))])[0]
        raise ScoreError(
            "two items of one list have the same rank",
            where=f"user {user!r}",
            found=f"rank {rank[row]} twice",
            hint="give every item of a list its own rank, or leave the column unused: "
            f"{parameter('columns', {'rank': None})}",
        )
    jumps = np.diff(rank, append=rank[-1:]) != 1
    jumps[:-1] &= ~same
    first = rank[starts[:-1]]  # in place of the step to the next list: ranks count from 1 or from 0
    jumps[starts[1:] - 1] = (first != 1) & (not (first == 0).all())
    return int(np.add.reduceat(jumps, starts[:-1]).astype(bool).sum())


def _counts_up(starts: Ints, rank: Ints, threads: int) -> bool:
    """Whether ranks count 1, 2, 3, … down every list, or from 0 down every list."""
    base = int(not len(rank) or rank[0] != 0)
    threads = threads if len(rank) > _STEP else 1
    jobs = split_range(len(starts) - 1, threads)
    bases = [
        *map_threads(lambda share: kernels.counts_up(rank, starts, *share, base), jobs, threads)
    ]
    if None not in bases:
        return all(bases)
    lengths = np.diff(starts)
    if np.ptp(lengths):
        return bool(np.all(rank == positions(starts) + base))
    lists = max(1, _STEP // int(lengths[0]))
    expected = np.tile(np.arange(base, lengths[0] + base, dtype=rank.dtype), lists)

    def equal(first: int) -> bool:
        ranks = rank[first : first + len(expected)]
        return bool((ranks == expected[: len(ranks)]).all())

    return all(map_threads(equal, range(0, len(rank), len(expected)), threads))


def _falls(
    starts: Ints,
    score: np.ndarray[tuple[int], np.dtype[np.float64]],
    threads: int,
    *,
    strictly: bool,
) -> bool:
    """Whether scores fall down every list; strictly, if ties are to be put in order."""

    def falls(first: int) -> bool:
        above, below = score[first : first + _STEP], score[first + 1 : first + _STEP + 1]
        above = above[: len(below)]
        ordered = below < above if strictly else below <= above
        edges = np.searchsorted(starts, [first + 1, first + len(below) + 1])
        ordered[starts[slice(*edges)] - first - 1] = True
        return bool(ordered.all())

    return falls(0) and all(map_threads(falls, range(_STEP, len(score) - 1, _STEP), threads))


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The judged items of every user, grouped by user.

    An item is relevant if its relevance is at least the threshold; without a threshold, if it is
    above 0. Rows that are not relevant are kept: rating errors are computed from all rows.
    """

    user: Codes
    starts: Ints
    items: Codes
    relevance: np.ndarray[tuple[int], np.dtype[np.float64]] | None
    """The relevance of every row; None without such a column: every row counts 1."""
    relevant: np.ndarray[tuple[int], np.dtype[np.bool_]] | None
    """Which rows are relevant; None if all are."""

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
        return np.add.reduceat(
            (self.relevance < 0) & ~self.relevant, self.starts[:-1], dtype=np.int64
        )

    @cached_property
    def ideal(self) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """The starts of groups, and their relevant gains, best first in each group."""
        gains = np.ones(len(self.items)) if self.relevance is None else self.relevance
        owner = np.repeat(np.arange(len(self.user)), self.n_judged)
        if self.relevant is not None:
            gains, owner = gains[self.relevant], owner[self.relevant]
        # By gain first, by owner second: the second pass is stable and linear.
        by_gain = np.argsort(-gains, kind="stable")
        starts, order = counting_sort(owner[by_gain], len(self.user))
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
        relevant = relevance > 0 if threshold is None else at_least(relevance, threshold)
    if relevant is not None and relevant.all():
        relevant = None
    return Truth(groups.user, groups.starts, items, relevance, relevant)
