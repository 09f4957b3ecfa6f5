"""Ranks of rows within groups whose rows are all judged, as rankers have them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.core import kernels
from rankwise.core.arrays import Array
from rankwise.core.ragged import Ints


class RankedRows(NamedTuple):
    """Rows in order of group and rank.

    Attributes
    ----------
    row, group : array of int, shape (n,)
        The number of each row, and that of its group.
    rank : array of int, shape (n,)
        Its rank by falling score, rows of equal scores as they come.
    first, last : array of int, shape (n,)
        The first and the last rank of the rows with its score.
    """

    row: Ints
    group: Ints
    rank: Ints
    first: Ints
    last: Ints


def rank_rows(
    scores: Array, starts: Ints, wanted: Array, deepest: int, groups: slice
) -> tuple[RankedRows, int]:
    """Return the wanted rows of some groups by rank, and the number of rows that tie.

    Parameters
    ----------
    scores : array of float, shape (n,)
        The finite score of every row.
    starts : array of int, shape (G + 1,)
        Where each group starts.
    wanted : array of bool, shape (n,)
        The rows that are returned.
    deepest : int
        The lowest first rank that is returned; ties below it are not counted.
    groups : slice
        The groups.

    Examples
    --------
    >>> scores, wanted = np.array([0.5, 0.9, 0.5, 0.1]), np.array([True, True, True, False])
    >>> rows, n_tied = rank_rows(scores, np.array([0, 4]), wanted, 10, slice(0, 1))
    >>> rows.row.tolist(), rows.rank.tolist(), rows.last.tolist(), n_tied
    ([1, 0, 2], [1, 2, 3], [1, 3, 3], 2)
    """
    compiled = kernels.rank_rows(
        scores, starts, wanted.view(np.uint8), deepest, groups.start, groups.stop
    )
    if compiled is not None:
        return RankedRows(*compiled[0]), compiled[1]
    return _rank_all_rows(scores, starts, wanted, deepest, groups)


def _rank_all_rows(
    scores: Array, starts: Ints, wanted: Array, deepest: int, groups: slice
) -> tuple[RankedRows, int]:
    """Return the same by sorting all rows."""
    lengths = np.diff(starts[groups.start : groups.stop + 1])
    group = np.repeat(np.arange(groups.start, groups.stop), lengths)
    begin = int(starts[groups.start])
    score = scores[begin : begin + len(group)]
    order = np.lexsort((-score, group))
    row, group, score = begin + order, group[order], score[order]

    is_head = np.ones(len(row), dtype=bool)
    is_head[1:] = (group[1:] != group[:-1]) | (score[1:] != score[:-1])
    heads = np.flatnonzero(is_head)
    sizes = np.diff(np.append(heads, len(row)))
    rank = begin + np.arange(len(row)) - starts[group] + 1
    first = np.repeat(rank[heads], sizes)
    last = first + np.repeat(sizes, sizes) - 1

    near = first <= deepest
    kept = near & wanted[row]
    columns = (column[kept] for column in (row, group, rank, first, last))
    return RankedRows(*columns), int((near & (last > first)).sum())
