"""Recommendation lists and ground truth in codes, and the blocks of users cut from them.

A metric sees list lengths, numbers of relevant items and hits; on request also the ideal order,
judged items, all rows, training histories, overlaps and facts. A block holds at most eight million
rows, half of that if a metric reads whole lists, and there are as many blocks as threads or a
multiple of them: memory stays flat, and threads seldom wait for each other between short NumPy
calls, for which only one of them can have the interpreter at a time. Where hits up to each cut-off
end is found once in a block, for all metrics. The thread that measured a block copies it to its
place among all users (``blocks/partial.BlockCollector``), and the block's memory serves the next
one. Each thread takes one block, and matrix products inside it use one thread: two thread pools on
the same processors cost ten times what they gain.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.blocks.block import (
    WHOLE_LIST,
    WHOLE_LISTS,
    Block,
    Categories,
    Facts,
    Ideal,
    ItemRows,
    JudgedRows,
    Needs,
    Overlap,
    RecommendedRows,
    RowSets,
)
from rankwise.blocks.hits import Hits, expect, resolve
from rankwise.blocks.lists import Lists, RankRange, Truth
from rankwise.blocks.matching import Matches, Ranks, match, ranks_of
from rankwise.core import kernels
from rankwise.core.ragged import (
    Ints,
    UserItems,
    offsets,
    positions,
    ragged_rows,
    rows_of_groups,
    runs,
    segments_of,
)
from rankwise.core.units import Units
from rankwise.core.vocabularies import Codes, Vocabulary
from rankwise.errors import DuplicateError
from rankwise.messages import parameter
from rankwise.options import Ties

_CELLS = 1 << 24  # users times categories of a block: metrics hold a few such matrices
_ROWS = 1 << 22  # rows of a block: enough to keep Python idle, few beside those of the input
_MOST_ROWS = 1 << 23  # rows of a block where items are so many: small beside the input


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Encoded:
    """Everything that blocks are cut from: lists, ground truth, facts, and who is evaluated.

    Codes are private to the process; ``users`` and ``items`` turn them back into ids. Where lists
    belong to requests, these are ``users``.

    Attributes
    ----------
    evaluated : array of bool
        Whether each user code is evaluated.
    unlisted : array of int
        Codes of evaluated users without a list.
    deepest : int
        The lowest rank at which a hit counts.
    numbers_items : bool
        Whether item codes are numbers from 0 that something is counted by; else items are only
        compared.
    facts, history, reference
        What is known beyond lists and ground truth, by code.
    seen_items : tuple of arrays of int
        Codes of the items that occur in some table: the catalogue where none is given.
    counts : Counter
        What was counted in this piece.
    shared_counts : dict of str to int
        What was counted in the tables that all pieces share.
    """

    lists: Lists
    truth: Truth
    evaluated: np.ndarray[tuple[int], np.dtype[np.bool_]]
    unlisted: Ints
    ties: Ties
    needs: Needs
    users: Vocabulary
    items: Vocabulary
    deepest: int = WHOLE_LIST
    numbers_items: bool = False
    facts: Facts = field(default_factory=dict)
    history: UserItems | None = None
    reference: UserItems | None = None
    seen_items: tuple[Ints, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    shared_counts: dict[str, int] = field(default_factory=dict)

    def units_of(self, codes: Codes) -> pl.DataFrame:
        """Return the users, or the users and requests, that codes stand for."""
        if isinstance(self.users, Units):
            return self.users.frame[codes]
        return self.users.decode(codes).to_frame("user")

    @cached_property
    def n_items(self) -> int | None:
        """The number of item codes; None where items are only compared."""
        return self.items.size if self.numbers_items else None

    @cached_property
    def most_users(self) -> int:
        """The largest number of users in a block, independent of the length of their lists."""
        sizes = [len(f.names) for f in self.facts.values() if isinstance(f, Categories)]
        return max(1, _CELLS // max(sizes)) if sizes else 1 << 62

    @property
    def most_rows(self) -> int:
        """The largest number of rows in a block: fewer if blocks hold whole lists, not only hits.

        There are not fewer than items, of which each block has sums.
        """
        rows = min(max(_ROWS, self.n_items or 0), _MOST_ROWS)
        return rows // 2 if WHOLE_LISTS & self.needs else rows

    def is_evaluated(self, codes: Ints) -> Ints:
        """Return whether each of these users is evaluated."""
        return self.evaluated.take(codes, mode="clip") & (codes < len(self.evaluated))


@dataclass(frozen=True, eq=False, repr=False)
class MatchedLists:
    """A set of lists, with their matches and the evaluated users among them."""

    lists: Lists
    groups: Ints
    """The group of each list in the ground truth, -1 for none."""
    matches: Matches
    """Rows of ``lists`` that are judged, by list and rank; ``judged`` are rows of the whole ground
    truth."""
    ranks: Ranks
    """The ranks of these rows."""
    number: Ints
    """The number of each list in the block, -1 if its user is not evaluated."""

    @property
    def evaluated(self) -> Ints:
        """Whether each list's user is evaluated."""
        return self.number >= 0


def assemble(encoded: Encoded, matched: MatchedLists) -> Block:
    """Build the block of matched lists, with all rows that the metrics need."""
    truth, lists = encoded.truth, matched.lists
    # Often all lists are evaluated, and nothing is copied.
    evaluated = slice(None) if matched.evaluated.all() else matched.evaluated
    users, groups = lists.user[evaluated], matched.groups[evaluated]
    length = lists.length[evaluated]

    rows = _matched_rows(encoded, matched)
    return Block(
        list_length=length,
        n_candidates=None if lists.rank_range is None else length,
        n_relevant=_of_groups(truth.n_relevant, groups),
        n_judged=_of_groups(truth.n_judged, groups),
        n_dropped=np.zeros_like(users) if lists.dropped is None else lists.dropped[evaluated],
        user=users,
        hits=_hits(rows, encoded.ties, lists.limit_within(encoded.deepest)),
        n_item_codes=encoded.n_items,
        ties=encoded.ties,
        row_sets=_row_sets(encoded, matched, rows, users, groups),
        n_tied_rows=matched.ranks.n_tied,
        n_hits=int(rows.relevant.sum()),
        facts=encoded.facts,
        limit=lists.limit,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _MatchedRows:
    """The rows of lists that are judged, in the numbers of a block, each array of shape (N,)."""

    user: Ints
    item: Ints
    gain: Ints
    rank: Ints
    tied: tuple[Ints, Ints] | None
    """The range of ranks of each row; None without ties."""
    row: Ints
    """The row in the lists."""
    evaluated: Ints
    """Whether the user is evaluated."""
    relevant: Ints
    """Whether the user is evaluated and the item relevant."""
    chosen: slice | Ints
    """The rows that can be hits: relevant, and with a rank that counts."""

    @property
    def ranges(self) -> tuple[Ints, Ints] | None:
        """The ranges of ranks of the rows that can be hits."""
        return None if self.tied is None else (self.tied[0][self.chosen], self.tied[1][self.chosen])


def _matched_rows(encoded: Encoded, matched: MatchedLists) -> _MatchedRows:
    truth, matches = encoded.truth, matched.matches
    gain = np.ones(len(matches.rows))
    if truth.relevance is not None:
        gain = truth.relevance[matches.judged]

    evaluated = matched.evaluated[matches.lists]
    relevant = evaluated
    if truth.relevant is not None:
        relevant = evaluated & truth.relevant[matches.judged]

    tied = matched.ranks.tied
    first = matched.ranks.rank if tied is None else tied[0]
    reached = relevant
    limit = matched.lists.limit_within(encoded.deepest)
    if limit < WHOLE_LIST:
        # Tied or not: errors about hits must not depend on which users share a block.
        reached = relevant & (first <= limit)
    return _MatchedRows(
        user=matched.number[matches.lists],
        item=truth.items[matches.judged],  # nearer in memory than those of the lists
        gain=gain,
        rank=matched.ranks.rank,
        tied=tied,
        row=matches.rows,
        evaluated=evaluated,
        relevant=relevant,
        chosen=slice(None) if reached.all() else reached,
    )


def _row_sets(
    encoded: Encoded, matched: MatchedLists, rows: _MatchedRows, users: Ints, groups: Ints
) -> RowSets:
    """Return the sets of rows that the metrics need, and no other."""
    truth = encoded.truth
    make: dict[str, Callable[[], Any]] = {
        "ideal": lambda: ideal_of(truth, groups),
        "judged": lambda: _judged(rows, matched.lists, _of_groups(truth.n_negative, groups)),
        "recommended": lambda: _recommended(matched, rows.row[rows.chosen]),
        "relevant": lambda: _relevant(truth, groups),
        "history": lambda: _history(encoded, users),
        "overlap_history": lambda: _overlap(encoded.history, matched, truth),
        "overlap_reference": lambda: _overlap(encoded.reference, matched, truth),
    }
    return RowSets(**{name: make[name]() for name in make if name in encoded.needs})


def _hits(rows: _MatchedRows, ties: Ties, limit: int) -> Hits:
    user, rank = rows.user[rows.chosen], rows.rank[rows.chosen]
    gain, item = rows.gain[rows.chosen], rows.item[rows.chosen]
    if rows.ranges is not None:
        low, high = rows.ranges
        if ties == "expected":
            return expect(user, gain, item, low, high, limit=limit)
        rank, gain, item = resolve(user, gain, item, low, high, ties)

    position = kernels.positions(user)
    if position is None:
        position = positions(runs(user)) + 1.0
    return Hits(user, rank, np.ones(len(user)), position, gain, item)


def _judged(rows: _MatchedRows, lists: Lists, n_negative: Ints) -> JudgedRows:
    """Return the judged rows of evaluated users."""
    kept = rows.evaluated
    if lists.limit is not None:
        kept = kept & (rows.rank <= lists.limit)  # without rows that only tie with the last item
    return JudgedRows(
        rows.user[kept],
        rows.rank[kept],
        rows.item[kept],
        rows.gain[kept],
        rows.relevant[kept].astype(np.float64),
        n_negative,
        None if lists.scores is None else lists.scores[rows.row[kept]],
        None if rows.tied is None else rows.tied[0][kept],
    )


def _recommended(matched: MatchedLists, relevant: Ints) -> RecommendedRows:
    lists = matched.lists
    user = np.repeat(matched.number, np.diff(lists.starts))
    rank = positions(lists.starts) + 1
    if lists.limit is not None:
        user = np.where(rank <= lists.limit, user, -1)  # ties with the last item: not recommended
    label = None
    if lists.scores is not None:
        label = np.zeros(len(rank))
        label[relevant] = 1.0
    if user.size == 0 or user.min() >= 0:
        return RecommendedRows(user, rank, lists.items, lists.scores, label)
    kept = np.flatnonzero(user >= 0)
    score = None if lists.scores is None else lists.scores[kept]
    label = None if label is None else label[kept]
    return RecommendedRows(user[kept], rank[kept], lists.items[kept], score, label)


def _of_groups(counts: Ints, groups: Ints) -> Ints:
    """Return the count of each group; 0 for group -1."""
    if not len(counts):
        return np.zeros(len(groups), dtype=np.int64)
    counts_of_rows: Ints = counts.take(groups, mode="clip")
    counts_of_rows[groups < 0] = 0
    return counts_of_rows


def ideal_of(truth: Truth, groups: Ints) -> Ideal | Literal["ones"]:
    """Return the ideal lists of groups of the ground truth."""
    if not truth.graded:
        return "ones"
    starts, gains = truth.ideal
    lengths = _of_groups(np.diff(starts), groups)
    rows = ragged_rows(starts.take(groups, mode="clip"), lengths)
    user = np.repeat(np.arange(len(groups)), lengths)
    return Ideal(user, positions(offsets(lengths)) + 1, gains[rows])


def _relevant_rows(truth: Truth, groups: Ints) -> tuple[Ints, Ints]:
    """Return the relevant rows of groups, and where each group starts."""
    all_rows, starts = rows_of_groups(truth.starts, groups)
    rows = np.arange(all_rows.start, all_rows.stop) if isinstance(all_rows, slice) else all_rows
    if truth.relevant is None:
        return rows, starts
    keep = truth.relevant[rows]
    return rows[keep], offsets(keep)[starts]


def _relevant(truth: Truth, groups: Ints) -> ItemRows:
    rows, starts = _relevant_rows(truth, groups)
    user = np.repeat(np.arange(len(groups)), np.diff(starts))
    gain = np.ones(len(rows)) if truth.relevance is None else truth.relevance[rows]
    return ItemRows(user, truth.items[rows], gain)


def _history(encoded: Encoded, users: Ints) -> ItemRows:
    assert encoded.history is not None  # a metric that needs it cannot be asked without train
    rows, starts = encoded.history.rows_of(users)
    user = np.repeat(np.arange(len(users)), np.diff(starts))
    return ItemRows(user, encoded.history.items[rows], np.ones(len(rows)))


def _overlap(other: UserItems | None, matched: MatchedLists, truth: Truth) -> Overlap:
    assert other is not None  # a metric that needs it cannot be asked without its table
    lists, evaluated = matched.lists, matched.evaluated
    other_rows, starts = other.rows_of(lists.user)
    items = other.items[other_rows]
    common = match(lists.items, lists.starts, items, starts)
    elsewhere = np.ones(len(items), dtype=bool)
    elsewhere[common.judged] = False
    relevant, relevant_starts = _relevant_rows(truth, matched.groups)
    elsewhere[match(items, starts, truth.items[relevant], relevant_starts).rows] = False
    rows = common.rows
    list_of_row = common.lists
    kept = evaluated[list_of_row]
    if lists.limit is not None:
        kept = kept & (rows - lists.starts[list_of_row] < lists.limit)
    return Overlap(
        user=matched.number[list_of_row][kept],
        rank=(rows - lists.starts[list_of_row] + 1)[kept],
        item=lists.items[rows[kept]],
        rank_there=(common.judged - starts[list_of_row] + 1)[kept],
        length=np.diff(starts)[evaluated],
        n_elsewhere=np.diff(offsets(elsewhere)[starts])[evaluated],
    )


Part: TypeAlias = slice | Ints
"""The users of a block: consecutive lists, or codes of users without a list."""
_FEW = 1 << 20  # rows that no thread is started for


def blocks(encoded: Encoded, size: int | None = None) -> Iterator[Block]:
    """Yield the blocks of all encoded lists and ground truth.

    Parameters
    ----------
    encoded : Encoded
        Lists and ground truth.
    size : int, optional
        Users per block; by default chosen from the number of rows.
    """
    for part in plan_blocks(encoded, size):
        yield make_block(encoded, part)


def plan_blocks(encoded: Encoded, size: int | None = None, threads: int = 1) -> Iterator[Part]:
    """Say which users each block has, so that blocks can be cut on several threads.

    Blocks have equally many rows, up to a list, and threads equally many blocks, so that they end
    together.
    """
    starts = encoded.lists.starts
    first, last = 0, len(starts) - 1
    n_rows = max(int(starts[-1]), 1)
    n_blocks = max(math.ceil(n_rows / encoded.most_rows), min(threads, math.ceil(n_rows / _FEW)))
    if n_blocks > threads:
        n_blocks = math.ceil(n_blocks / threads) * threads
    rows = math.ceil(n_rows / n_blocks)
    while first < last:
        if size is not None:
            stop = min(first + size, last)
        else:
            stop = int(np.searchsorted(starts, starts[first] + rows))
            stop = min(max(stop, first + 1), first + encoded.most_users, last)
        yield slice(first, stop)
        first = stop
    unlisted = encoded.unlisted
    step = min(encoded.most_users, max(len(unlisted), 1))
    # Without any list there is one block without users: results have their columns all the same.
    for first in range(0, len(unlisted) if last else max(len(unlisted), 1), step):
        yield unlisted[first : first + step]


def make_block(encoded: Encoded, part: Part) -> Block:
    """Make the block of a part of the users.

    Raises
    ------
    DuplicateError
        If an item stands twice in a list.
    """
    return _listed(encoded, part) if isinstance(part, slice) else _unlisted(encoded, part)


def _listed(encoded: Encoded, chosen: slice) -> Block:
    """Match consecutive lists with the ground truth, and make their block."""
    lists, truth = encoded.lists.part(chosen), encoded.truth
    first_row = int(encoded.lists.starts[chosen.start])
    groups = truth.groups_of(lists.user)
    matches = match(lists.items, lists.starts, truth.items, truth.starts, groups)
    if len(matches.repeated):
        raise _duplicate(encoded, first_row + int(matches.repeated.min()))
    evaluated = encoded.is_evaluated(lists.user)
    number = np.arange(len(evaluated))
    if not evaluated.all():
        number = np.where(evaluated, np.cumsum(evaluated) - 1, -1)
    ranks = ranks_of(lists, matches, exactly="judged" in encoded.needs)
    if ranks.order is not None:
        matches = matches.take(ranks.order)
    return assemble(encoded, MatchedLists(lists, groups, matches, ranks, number))


def _unlisted(encoded: Encoded, users: Ints) -> Block:
    none, zeros = np.empty(0, dtype=np.int64), np.zeros(len(users), dtype=np.int64)
    empty = replace(
        encoded.lists,
        user=users,
        starts=np.zeros(len(users) + 1, dtype=np.int64),
        items=none,
        scores=None if encoded.lists.scores is None else np.empty(0),
        dropped=None,
        rank_range=None if encoded.lists.rank_range is None else RankRange(none, none, zeros),
    )
    groups = encoded.truth.groups_of(users)
    nothing = Matches(none, none, none, none)
    numbers = np.arange(len(users))
    return assemble(encoded, MatchedLists(empty, groups, nothing, Ranks(None, none), numbers))


def _duplicate(encoded: Encoded, row: int) -> DuplicateError:
    lists = encoded.lists
    owner = segments_of(lists.starts, np.array([row]))
    user = encoded.users.decode(lists.user[owner])[0]
    item = encoded.items.decode(lists.items[[row]])[0]
    return DuplicateError(
        "duplicate item in a recommendation list",
        where=f"recommendations, user {user!r}",
        found=f"item {item!r} more than once",
        hint=f"drop the duplicate, or keep the best-ranked with {parameter('duplicates', 'first')}",
    )
