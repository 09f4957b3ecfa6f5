"""The exact top k of a block of scores, in little more than one pass over it.

The items are dealt into groups, and the largest score of every group is taken: one pass, which the
processor does many at a time. The k-th largest of these maxima cannot be above the k-th largest
score, because k groups hold a score at least as large. So only scores from there up matter, and
they stand in the few groups whose maximum is as large: those alone are looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise.core.segments import positions, runs

if TYPE_CHECKING:
    from rankwise.core.segments import Ints
    from rankwise.ranking.scores import Floats

__all__ = ["Rows", "cut", "groups_for", "largest_of_groups", "top"]

_GROUPS = 16  # groups for every item wanted: few of the wanted then share one


@dataclass(frozen=True)
class Rows:
    """Rows of lists: the user's number in the block, the item, its score."""

    user: Ints
    item: Ints
    score: Floats


def groups_for(k: int, n_items: int) -> int:
    """Return into how many groups to deal the items: a power of two.

    >>> groups_for(10, 26_744), groups_for(500, 1000)
    (512, 1024)
    """
    wanted = max(512, _GROUPS * k)
    most = max(64, 1 << (n_items - 1).bit_length())
    return min(1 << (wanted - 1).bit_length(), most)


def largest_of_groups(scores: Floats, groups: int) -> Floats:
    """Return the largest score of every group, shape (B, groups); items are dealt in turn."""
    largest: Floats = scores.reshape(len(scores), -1, groups).max(axis=1)
    return largest


def top(scores: Floats, largest: Floats, k: int) -> Rows:
    """Return every row whose score is at least its user's k-th largest, and perhaps a few more.

    Parameters
    ----------
    scores : array of float, shape (B, width)
        Minus infinity where there is no candidate; ``width`` is a multiple of the groups.
    largest : array of float, shape (B, groups)
        From `largest_of_groups`.
    k : int
        How many items are wanted.

    Returns
    -------
    Rows
        In order of user.
    """
    n, groups = largest.shape
    dealt = scores.reshape(n, -1, groups)
    if k < groups:
        least = np.partition(largest, groups - k, axis=1)[:, groups - k]
    else:
        least = np.full(n, -np.inf, dtype=scores.dtype)
    # A user with fewer than k groups of candidates keeps all that are candidates.
    floor = np.where(least == -np.inf, np.finfo(scores.dtype).min, least)
    user, group = np.nonzero(largest >= floor[:, None])
    near = dealt[user, :, group]
    row, layer = np.nonzero(near >= floor[user][:, None])
    return Rows(user[row], layer * groups + group[row], near[row, layer])


def cut(rows: Rows, k: int | None, order: Ints | None, *, falling: bool, keep_ties: bool) -> Rows:
    """Put rows in order, best first, and cut each user's list at k.

    Parameters
    ----------
    rows : Rows
        In order of user.
    k : int or None
        The length of lists; None leaves them whole.
    order : array of int or None
        A number for each item that grows with its id; None: the item's own.
    falling : bool
        Whether equal scores are ordered by falling id.
    keep_ties : bool
        Whether all items that tie with the k-th stay.
    """
    number = rows.item if order is None else order[rows.item]
    by = np.lexsort((-number if falling else number, -rows.score, rows.user))
    user, item, score = rows.user[by], rows.item[by], rows.score[by]
    if k is None or not len(user):
        return Rows(user, item, score)
    starts = runs(user)
    lengths = np.diff(starts)
    keep = positions(starts) < k
    if keep_ties:
        kth = score[starts[:-1] + np.minimum(lengths, k) - 1]
        keep |= score == np.repeat(kth, lengths)
    return Rows(user[keep], item[keep], score[keep])
