"""Codes to a block: everything that the measures need to know about its users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankwise.core import kernels
from rankwise.core.block import Block
from rankwise.core.choices import Ties
from rankwise.core.encoded import Encoded
from rankwise.core.hits import Hits, expect, resolve
from rankwise.core.lists import Lists
from rankwise.core.match import Matches, match
from rankwise.core.matched_ranks import Ranks
from rankwise.core.ragged import Ints, UserItems, offsets, positions, ragged_rows, rows_of_groups, runs
from rankwise.core.row_sets import Ideal, ItemRows, JudgedRows, Overlap, RecommendedRows, RowSets
from rankwise.core.truth import Truth

__all__ = ["MatchedLists", "assemble"]


@dataclass(frozen=True)
class MatchedLists:
    """Some lists, what they match, and who of their users counts."""

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
    def counted(self) -> Ints:
        """Whether each list's user is evaluated."""
        return self.number >= 0


def assemble(encoded: Encoded, matched: MatchedLists) -> Block:
    """Return the block of some matched lists, with all rows that the measures need."""
    truth, lists, needs = encoded.truth, matched.lists, encoded.needs
    counted, rows, judged_rows = matched.counted, matched.matches.rows, matched.matches.judged
    list_of_row = matched.matches.lists
    here = slice(None) if counted.all() else counted  # often all are, and nothing is copied
    groups, users = matched.groups[here], lists.user[here]
    gain = np.ones(len(rows)) if truth.relevance is None else truth.relevance[judged_rows]
    kept = counted[list_of_row]
    relevant = kept if truth.relevant is None else kept & truth.relevant[judged_rows]
    user, item = matched.number[list_of_row], truth.items[judged_rows]  # nearer than lists.items
    rank, tied = matched.ranks.rank, matched.ranks.tied
    chosen = slice(None) if relevant.all() else relevant
    ranges = None if tied is None else (tied[0][chosen], tied[1][chosen])
    hits = _hits(user[chosen], rank[chosen], gain[chosen], item[chosen], ranges, encoded.ties, lists.limit)
    judged = None
    if lists.limit is not None:
        kept = kept & (rank <= lists.limit)  # without what only ties with the last item
    if "judged" in needs:
        score = None if lists.scores is None else lists.scores[rows[kept]]
        label = relevant[kept].astype(np.float64)
        tie = None if tied is None else tied[0][kept]
        n_negative = _of_groups(truth.n_negative, groups)
        judged = JudgedRows(user[kept], rank[kept], item[kept], gain[kept], label, n_negative, score, tie)
    length = lists.length[here]
    return Block(
        list_length=length,
        n_candidates=None if lists.rank_range is None else length,
        n_relevant=_of_groups(truth.n_relevant, groups),
        n_judged=_of_groups(truth.n_judged, groups),
        n_dropped=np.zeros_like(users) if lists.dropped is None else lists.dropped[here],
        user=users,
        hits=hits,
        n_item_codes=encoded.n_items,
        ties=encoded.ties,
        row_sets=RowSets(
            ideal=_ideal(truth, groups) if "ideal" in needs else None,
            judged=judged,
            recommended=_recommended(matched, rows[chosen]) if "recommended" in needs else None,
            relevant=_relevant(truth, groups) if "relevant" in needs else None,
            history=_history(encoded, users) if "history" in needs else None,
            overlap_history=_overlap(encoded.history, matched, truth) if "overlap_history" in needs else None,
            overlap_baseline=_overlap(encoded.baseline, matched, truth) if "overlap_baseline" in needs else None,
        ),
        n_tied_rows=matched.ranks.n_tied,
        facts=encoded.facts,
        limit=lists.limit,
    )


def _hits(
    user: Ints, rank: Ints, gain: Ints, item: Ints, ranges: tuple[Ints, ...] | None, ties: Ties, limit: int | None
) -> Hits:
    if ranges is not None:
        low, high = ranges
        if ties == "expected":
            return expect(user, gain, item, low, high, limit=limit)
        rank, gain, item = resolve(user, gain, item, low, high, ties)
    position = kernels.positions(user)
    position = positions(runs(user)) + 1.0 if position is None else position
    return Hits(user, rank, np.ones(len(user)), position, gain, item)


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
    """Return the count of each of some groups; 0 for group -1."""
    if not len(counts):
        return np.zeros(len(groups), dtype=np.int64)
    found: Ints = counts.take(groups, mode="clip")
    found[groups < 0] = 0
    return found


def _ideal(truth: Truth, groups: Ints) -> Ideal | Literal["ones"]:
    if not truth.graded:
        return "ones"
    starts, gains = truth.ideal
    lengths = _of_groups(np.diff(starts), groups)
    rows = ragged_rows(starts.take(groups, mode="clip"), lengths)
    user = np.repeat(np.arange(len(groups)), lengths)
    return Ideal(user, positions(offsets(lengths)) + 1, gains[rows])


def _relevant_rows(truth: Truth, groups: Ints) -> tuple[Ints, Ints]:
    """Return the relevant rows of some groups, and where each group starts."""
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
    assert encoded.history is not None  # a measure that needs it cannot be asked without train
    rows, starts = encoded.history.rows_of(users)
    user = np.repeat(np.arange(len(users)), np.diff(starts))
    return ItemRows(user, encoded.history.items[rows], np.ones(len(rows)))


def _overlap(other: UserItems | None, matched: MatchedLists, truth: Truth) -> Overlap:
    assert other is not None  # a measure that needs it cannot be asked without its table
    lists, counted = matched.lists, matched.counted
    other_rows, starts = other.rows_of(lists.user)
    items = other.items[other_rows]
    common = match(lists.items, lists.starts, items, starts)
    elsewhere = np.ones(len(items), dtype=bool)
    elsewhere[common.judged] = False
    relevant, relevant_starts = _relevant_rows(truth, matched.groups)
    elsewhere[match(items, starts, truth.items[relevant], relevant_starts).rows] = False
    rows = common.rows
    list_of_row = common.lists
    kept = counted[list_of_row]
    if lists.limit is not None:
        kept = kept & (rows - lists.starts[list_of_row] < lists.limit)
    return Overlap(
        user=matched.number[list_of_row][kept],
        rank=(rows - lists.starts[list_of_row] + 1)[kept],
        item=lists.items[rows[kept]],
        rank_there=(common.judged - starts[list_of_row] + 1)[kept],
        length=np.diff(starts)[counted],
        n_elsewhere=np.diff(offsets(elsewhere)[starts])[counted],
    )
