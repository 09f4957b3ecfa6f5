"""The exact top k of a block of scores, in little more than one pass over it.

Items are dealt into groups, and one vectorised pass takes the largest score of every group. The
k-th largest of these maxima is at most the k-th largest score, because k groups hold a score at
least as large. So only scores from there up matter; they are in the few groups whose maximum is as
large, and only those groups are read again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.core.ragged import Ints, positions, reorder, runs
from rankwise.ranking.scores import Floats

__all__ = ["TopRows", "cut_lists", "groups_for", "largest_of_groups", "top"]

_GROUPS = 16  # groups per top-k item: few of the top k then share a group


@dataclass(frozen=True)
class TopRows:
    """Rows of recommendation lists: the user's position in the block, the item, its score."""

    user: Ints
    item: Ints
    score: Floats


def groups_for(k: int, n_items: int) -> int:
    """Return the number of groups for the items: a power of two.

    >>> groups_for(10, 26_744), groups_for(500, 1000)
    (512, 1024)
    """
    least = max(512, _GROUPS * k)
    most = max(64, 1 << (n_items - 1).bit_length())
    return min(1 << (least - 1).bit_length(), most)


def largest_of_groups(scores: Floats, groups: int) -> Floats:
    """Return the largest score of every group, shape (B, groups); item i is in i mod groups."""
    largest: Floats = scores.reshape(len(scores), -1, groups).max(axis=1)
    return largest


def top(scores: Floats, largest: Floats, k: int) -> TopRows:
    """Return every row whose score is at least its user's k-th largest, and perhaps a few more.

    Rows are in order of user. ``scores`` has minus infinity for non-candidates, and its width is a
    multiple of the number of groups; ``largest`` is from `largest_of_groups`.
    """
    n, groups = largest.shape
    dealt = scores.reshape(n, -1, groups)
    if k < groups:
        least = np.partition(largest, groups - k, axis=1)[:, groups - k]
    else:
        least = np.full(n, -np.inf, dtype=scores.dtype)
    # A user with candidates in fewer than k groups keeps all candidates.
    floor = np.where(least == -np.inf, np.finfo(scores.dtype).min, least)
    user, group = np.nonzero(largest >= floor[:, None])
    kept = dealt[user, :, group]
    row, layer = np.nonzero(kept >= floor[user][:, None])
    return TopRows(user[row], layer * groups + group[row], kept[row, layer])


def cut_lists(rows: TopRows, k: int, id_rank: Ints | None, *, descending: bool, keep_ties: bool) -> TopRows:
    """Sort each user's rows by descending score, and cut the list at k.

    Equal scores are ordered by ``id_rank``, None for the item's code; ``keep_ties`` keeps all items
    that tie with the k-th. Rows are in order of user.
    """
    starts = runs(rows.user)

    def breaker(some: Ints) -> Ints:
        number = rows.item[some] if id_rank is None else id_rank[rows.item[some]]
        return -number if descending else number

    columns = [rows.item, rows.score]
    item, score = reorder(starts, rows.score, columns, breaker=breaker, descending=True)
    keep = positions(starts) < k
    if keep_ties and len(item):
        lengths = np.diff(starts)
        kth = score[starts[:-1] + np.minimum(lengths, k) - 1]
        keep |= score == np.repeat(kth, lengths)
    return TopRows(rows.user[keep], item[keep], score[keep])
