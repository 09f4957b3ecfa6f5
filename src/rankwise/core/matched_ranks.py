"""The ranks of matched rows: read off where lists are in order, found by their scores elsewhere.

Lists in no order are not put in one: few of their rows are matched, and only these need a rank. The
scores of each list are sorted alone, without the items that they belong to, and every matched row
is sought among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rankwise.core import kernels
from rankwise.core.lists import Lists
from rankwise.core.match import Matches
from rankwise.core.ragged import Ints, offsets, padded, positions, ragged_rows, reorder, similar

__all__ = ["Ranks", "ranks_of"]

Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_LOOKS = 32  # looks at a row that take less time than putting its list in order
_ROWS = 1 << 19  # rows whose scores are sorted at a time: they stay in the cache


@dataclass(frozen=True)
class Ranks:
    """The rows that are matched, by list and rank, and their ranks.

    Attributes
    ----------
    order : array of int, shape (n,), or None
        The order in which the matches come by list and rank; None: the one in which they are.
    rank : array of int, shape (n,)
        The rank of each match; where scores tie, and nothing asks for more, that of the first.
    tied : tuple of two arrays of int, shape (n,), or None
        The first and the last rank that each match may have; None if no two scores tie.
    n_tied : int
        The number of rows whose scores tie, matched or not.
    """

    order: Ints | None
    rank: Ints
    tied: tuple[Ints, Ints] | None = None
    n_tied: int = 0


def ranks_of(lists: Lists, matches: Matches, *, exactly: bool) -> Ranks:
    """Return the ranks of matched rows.

    Parameters
    ----------
    lists : Lists
        The lists.
    matches : Matches
        The rows, in ascending order.
    exactly : bool
        Whether rows that tie need a rank each, although all orders of them count.
    """
    rows, list_of_row = matches.rows, matches.lists
    if lists.rank_range is not None:
        first, last = lists.rank_range.first[rows], lists.rank_range.last[rows]
        n_tied = int((last > first).sum())
        return Ranks(None, first, (first, last) if n_tied else None, n_tied)
    if lists.tie_order is not None:
        return _by_score(lists, matches, exactly=exactly)
    before = lists.starts[list_of_row] - 1
    if not lists.has_ties or not lists.may_tie or lists.scores is None:
        return Ranks(None, rows - before)
    is_first = np.ones(len(lists.items), dtype=bool)
    np.not_equal(lists.scores[1:], lists.scores[:-1], out=is_first[1:])
    is_first[lists.starts[:-1]] = True
    if is_first.all():
        return Ranks(None, rows - before)
    bounds = np.append(np.flatnonzero(is_first), len(is_first))
    sizes = np.diff(bounds)
    group = np.searchsorted(bounds, rows, side="right") - 1
    tied = bounds[group] - before, bounds[group + 1] - 1 - before
    return Ranks(None, rows - before, tied, int(sizes[sizes > 1].sum()))


def _by_score(lists: Lists, matches: Matches, *, exactly: bool) -> Ranks:
    """Return ranks in lists that are in no order."""
    rows, list_of_row = matches.rows, matches.lists
    first, last, n_tied = _places(lists, matches)
    ties = np.flatnonzero(last > first)
    rank, by_item = first, np.zeros(0, dtype=np.int64)
    assert lists.tie_order is not None
    if len(ties) and (exactly or not lists.has_ties):
        rank = first.copy()
        rank[ties] = _in_full(lists, rows[ties], list_of_row[ties])
    elif len(ties):  # any order will do, as long as it does not follow that of the table
        by_item = np.zeros(len(rows), dtype=np.int64)
        by_item[ties] = lists.tie_order.numbers(lists.items[rows[ties]])
    if len(by_item):
        order = np.lexsort((by_item, rank, list_of_row))
    else:
        order = np.argsort(list_of_row * (len(lists.items) + 1) + rank)
    tied = (first[order], last[order]) if lists.has_ties and n_tied else None
    return Ranks(order, rank[order], tied, n_tied if lists.has_ties else 0)


def _places(lists: Lists, matches: Matches) -> tuple[Ints, Ints, int]:
    """Return the first and last rank that each matched row may have, and how many rows of the lists tie."""
    assert lists.scores is not None
    rows, list_of_row = matches.rows, matches.lists
    first, last = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    n_tied = 0
    lengths = np.diff(lists.starts)
    for chosen, scores, filled in _matrices(lists):
        scores.sort(axis=1)
        equal = scores[:, 1:] == scores[:, :-1]
        if filled is not None:  # what fills a row stands at its end, after infinite scores
            equal &= filled[:, 1:]
        any_tie = bool(equal.any())
        if any_tie:
            none = np.zeros((len(equal), 1), dtype=bool)
            n_tied += int((np.hstack([none, equal]) | np.hstack([equal, none])).sum())
        place = np.full(len(lengths), -1)
        place[chosen] = np.arange(len(chosen))
        here = np.flatnonzero(place[list_of_row] >= 0)
        row, size = place[list_of_row[here]], lengths[list_of_row[here]]
        below = _count_below(scores, row, lists.scores[rows[here]])
        last[here] = size - below
        up_to = below + 1
        if any_tie:
            up_to = _count_below(scores, row, lists.scores[rows[here]], or_equal=True)
            up_to = np.minimum(up_to, size)
        first[here] = size - up_to + 1
    return first, last, n_tied


def _matrices(lists: Lists) -> Iterator[tuple[Ints, Scores, Ints | None]]:
    """Yield some lists at a time, and their scores in rows of one length, filled with infinity.

    The last says how much of each row is scores; None if all is.
    """
    assert lists.scores is not None
    lengths = np.diff(lists.starts)
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        width = int(lengths[0])
        step = max(1, _ROWS // width)
        for at in range(0, len(lengths), step):
            chosen = np.arange(at, min(at + step, len(lengths)))
            scores = lists.scores[at * width : (at + len(chosen)) * width]
            yield chosen, scores.reshape(len(chosen), width).copy(), None
        return
    for chosen in similar(lists.starts, _ROWS):
        rows, filled = padded(lists.starts, chosen)
        scores = lists.scores[rows]
        yield chosen, scores if filled is None else np.where(filled, scores, np.inf), filled


def _count_below(ascending: Scores, row: Ints, values: Ints, *, or_equal: bool = False) -> Ints:
    """Return how many numbers of a row are below a value: a binary search, of all at once."""
    width, flat = ascending.shape[1], ascending.ravel()
    start, below = row * width - 1, np.zeros(len(row), dtype=np.int64)
    step = 1 << (width.bit_length() - 1)
    while step:
        further = below + step
        fits = further <= width
        found = flat.take(start + further, mode="clip")
        fits &= found <= values if or_equal else found < values
        below = np.where(fits, further, below)
        step //= 2
    return below


def _in_full(lists: Lists, rows: Ints, list_of_row: Ints) -> Ints:
    """Return the ranks of rows, with rows that tie in the order of the rule."""
    assert lists.tie_order is not None
    assert lists.scores is not None
    chosen, at = np.unique(list_of_row, return_inverse=True)
    lengths = np.diff(lists.starts)[chosen]
    all_rows, starts = ragged_rows(lists.starts[chosen], lengths), offsets(lengths)
    if lengths[at].sum() <= _LOOKS * len(all_rows):
        by_row = lists.tie_order.ties == "input"
        items = lists.items[all_rows]
        counted = kernels.ranks(
            lists.scores[all_rows],
            all_rows if by_row else lists.tie_order.numbers(items),
            starts,
            np.searchsorted(all_rows, rows),
            at,
        )
        if counted is not None:
            return counted
    (order,) = reorder(
        starts,
        lists.scores[all_rows],
        [np.arange(len(all_rows))],
        descending=True,
        breaker=lists.tie_order.breaker(lists.items[all_rows]),
    )
    rank = np.empty(len(all_rows), dtype=np.int64)
    rank[order] = positions(starts) + 1
    found: Ints = rank[np.searchsorted(all_rows, rows)]
    return found
