"""Which recommended items are judged, and at which ranks.

Matching is the hot loop. Where it is compiled, every list fills a small hash table of its own rows,
in which its judged items are then looked up. What follows is the same for NumPy.

For some 65 thousand rows at a time, every recommended row writes its number into a small hash
table, which the processor's caches hold, in a slot computed from its user and its item. Reading the
table back shows the rows that were overwritten: either the item occurs twice in the list (a
duplicate, found here at no further cost) or another row happens to share the slot; those few go
through another round. The judged items of the same users then look up their slots, and the row
numbers there are compared, user and item, before they count: a hit is never a guess.

The table does not grow with the catalogue, so ten thousand and ten million items cost the same,
and it needs no clearing, because row numbers of earlier lists fail the comparison.

The ranks of matched rows are read off where lists are in order. Lists in no order are not put in
one: few of their rows are matched, and only these need a rank. The scores of each list are sorted
alone, without the items that they belong to, and every matched row is sought among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from rankwise.blocks.lists import Lists
from rankwise.core import kernels
from rankwise.core.ragged import (
    Ints,
    batches_by_length,
    offsets,
    padded_rows,
    positions,
    ragged_rows,
    rows_of_groups,
    segments_of,
    sort_segments,
)
from rankwise.core.vocabularies import Codes

# The most rows that row numbers of 16 bits can count: larger parts mean fewer calls of NumPy,
# between which threads wait for the interpreter.
_PART_ROWS = (1 << 16) - 1
_SLOTS = 32  # slots for each row of a part, so that few rows share one
_SLOTS_OF_LONG = 8  # the same where a list is longer than a part
_STEP = 0x9E3779B1  # odd, so that its multiples are distinct modulo the table's size
_NONE = np.empty(0, dtype=np.int64)
_PRIMES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


@dataclass(frozen=True, eq=False, repr=False)
class Matches:
    """Recommended rows that are judged, in list order, and rows that repeat an item."""

    rows: Ints
    judged: Ints
    """The judged row that each of ``rows`` matches."""
    lists: Ints
    """The list of each of ``rows``."""
    repeated: Ints
    """Rows whose item occurs again further down the same list."""

    def take(self, order: Ints) -> Matches:
        """Return the matches in another order."""
        return replace(
            self, rows=self.rows[order], judged=self.judged[order], lists=self.lists[order]
        )


def match(
    items: Codes, starts: Ints, judged: Codes, judged_starts: Ints, groups: Ints | None = None
) -> Matches:
    """Return which items of each list are among its judged items.

    Parameters
    ----------
    items : array of int, shape (n,)
        Item codes of all lists, one list after the other.
    starts : array of int, shape (n_lists + 1,)
        Where each list starts in ``items``.
    judged : array of int, shape (m,)
        Codes of judged items, one group after the other, without repetition inside a group.
    judged_starts : array of int, shape (n_groups + 1,)
        Where each group starts in ``judged``.
    groups : array of int, shape (n_lists,), optional
        The group of each list, -1 for none; by default the first list has the first group, ….

    Returns
    -------
    Matches
        Row numbers into ``items`` and ``judged``.

    Examples
    --------
    >>> matches = match(np.array([5, 3, 9, 9]), np.array([0, 2, 4]),
    ...                 np.array([3, 4, 9]), np.array([0, 2, 3]))
    >>> matches.rows.tolist(), matches.judged.tolist(), matches.repeated.tolist()
    ([1, 3], [0, 2], [2])
    """
    if not len(items):
        return Matches(_NONE, _NONE, _NONE, _NONE)
    all_groups = np.arange(len(starts) - 1) if groups is None else groups
    compiled = kernels.match(items, starts, judged, judged_starts, all_groups)
    if compiled is not None:
        return Matches(*compiled)
    if groups is None:
        return _match_by_table(items, starts, judged, judged_starts)
    rows, edges = rows_of_groups(judged_starts, groups)
    matches = _match_by_table(items, starts, judged[rows], edges)
    in_all = matches.judged + rows.start if isinstance(rows, slice) else rows[matches.judged]
    return replace(matches, judged=in_all)


def _match_by_table(items: Codes, starts: Ints, judged: Codes, judged_starts: Ints) -> Matches:
    """Match lists and ground truth like `match`, with one hash table for all lists."""
    table = _Table(starts, judged_starts, judged)
    parts: list[_Part] = []
    first, last = 0, len(starts) - 1
    while first < last:
        stop = int(np.searchsorted(starts, starts[first] + table.rows, side="right")) - 1
        # Lists of a part start in different slots: it has no more of them, empty ones included.
        stop = min(max(stop, first + 1), first + table.mask, last)
        if starts[stop] > starts[first]:  # else all of these lists are empty
            parts.append(table.match(items, first, stop))
        first = stop
    rows = _join([part.rows for part in parts])
    judged_rows = _join([part.judged for part in parts])
    overwritten = _join([part.overwritten for part in parts])
    repeated = _join([part.repeated for part in parts])
    if len(overwritten):
        contested = _join([part.contested for part in parts])
        more = _settle(_Rows(items, starts), overwritten, _Rows(judged, judged_starts), contested)
        rows, judged_rows = _join([rows, more[0]]), _join([judged_rows, more[1]])
        repeated = _join([repeated, more[2]])
    order = np.argsort(rows)
    rows = rows[order]
    return Matches(rows, judged_rows[order], segments_of(starts, rows), np.sort(repeated))


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """The matches of consecutive lists, and the rows that need another round."""

    rows: Ints
    judged: Ints
    repeated: Ints
    overwritten: Ints
    contested: Ints
    """Judged rows that found another item in their slot: they may match an overwritten row."""


class _Table:
    """The hash table and its work space, used again for every part."""

    def __init__(self, starts: Ints, judged_starts: Ints, judged: Codes) -> None:
        lengths = np.diff(starts)
        self.starts, self.judged_starts, self.judged = starts, judged_starts, judged
        self.uniform = int(lengths[0]) if len(lengths) and np.ptp(lengths) == 0 else 0
        self.lengths = lengths
        rows_at_once = min(_PART_ROWS, max(int(starts[-1]), len(lengths)))
        self.rows = max(rows_at_once, int(lengths.max(initial=0)))
        bits = (max(rows_at_once * _SLOTS, self.rows * _SLOTS_OF_LONG) - 1).bit_length()
        dtype: type[np.unsignedinteger[Any]] = np.uint16 if self.rows < 1 << 16 else np.uint32
        self.mask = (1 << bits) - 1
        self.table = np.zeros(1 << bits, dtype=dtype)
        self.numbers = np.arange(self.rows, dtype=dtype)
        self.slots = np.empty(self.rows, dtype=np.int64)
        self.occupants = np.empty(self.rows, dtype=dtype)
        # Where each list starts in the table. An odd step spreads the lists of a part without ever
        # giving two of them the same start, so that slot and item together identify the list.
        self.base = (np.arange(len(lengths)) * _STEP) & self.mask
        self.judged_slots = (np.repeat(self.base, np.diff(judged_starts)) + judged) & self.mask

    def match(self, items: Codes, first: int, stop: int) -> _Part:
        """Match consecutive lists, at most ``rows`` rows together (or one list)."""
        a, b = int(self.starts[first]), int(self.starts[stop])
        c, d = int(self.judged_starts[first]), int(self.judged_starts[stop])
        part, slots, numbers = items[a:b], self.slots[: b - a], self.numbers[: b - a]
        self._write_slots(part, first, stop, slots)
        self.table[slots] = numbers
        occupants = self.table.take(slots, out=self.occupants[: b - a], mode="wrap")
        overwritten = np.flatnonzero(occupants != numbers)

        judged_slots = self.judged_slots[c:d]
        row = self.table.take(judged_slots, mode="wrap")
        # An earlier part may have left any row number in the table: slot and item must both agree.
        judged = np.flatnonzero(slots.take(row, mode="clip") == judged_slots)
        row = row[judged].astype(np.int64)
        judged += c
        same = part[row] == self.judged[judged]
        row += a
        # In a slot with another item, the judged item may be that of an overwritten row.
        matched, contested = judged[same], judged[~same]
        repeats = part[occupants[overwritten]] == part[overwritten]  # and in the same list
        overwritten += a
        return _Part(row[same], matched, overwritten[repeats], overwritten[~repeats], contested)

    def _write_slots(self, items: Codes, first: int, stop: int, out: Ints) -> None:
        base = self.base[first:stop]
        if self.uniform:
            shape = (stop - first, self.uniform)
            np.add(items.reshape(shape), base[:, None], out=out.reshape(shape))
        else:
            np.add(items, np.repeat(base, self.lengths[first:stop]), out=out)
        out &= self.mask


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Rows of lists as (list, item) pairs."""

    items: Codes
    starts: Ints

    def are_in(self, rows: Ints, lists: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row is in the given list."""
        inside: np.ndarray[Any, np.dtype[np.bool_]] = (rows >= self.starts[lists]) & (
            rows < self.starts[lists + 1]
        )
        return inside


def _settle(
    listed: _Rows, overwritten: Ints, judged: _Rows, contested: Ints
) -> tuple[Ints, Ints, Ints]:
    """Match overwritten rows in further rounds, all lists together, until none is left.

    Returns matching rows, the judged row of each, and rows that repeat an item.
    """
    rows, judged_rows, repeated = [], [], []
    bits = (len(overwritten) * 4).bit_length()
    table = np.zeros(1 << bits, dtype=np.int64)
    shift, factors = np.uint64(64 - bits), _PRIMES
    row_list = segments_of(listed.starts, overwritten)
    judged_list = segments_of(judged.starts, contested)
    item, judged_item = listed.items[overwritten], judged.items[contested]
    while len(overwritten):
        slots = _slots(item, row_list, factors, shift)
        table[slots] = overwritten
        row = table[_slots(judged_item, judged_list, factors, shift)]
        hit = (listed.items[row] == judged_item) & listed.are_in(row, judged_list)
        rows.append(row[hit])
        judged_rows.append(contested[hit])
        contested, judged_item, judged_list = contested[~hit], judged_item[~hit], judged_list[~hit]
        occupants = table[slots]
        again = np.flatnonzero(occupants != overwritten)
        overwritten, occupants = overwritten[again], occupants[again]
        item, row_list = item[again], row_list[again]
        same = (listed.items[occupants] == item) & listed.are_in(occupants, row_list)
        repeated.append(overwritten[same])
        overwritten, item, row_list = overwritten[~same], item[~same], row_list[~same]
        factors = factors * _PRIMES[2] | np.uint64(1)  # other slots in every round
    return _join(rows), _join(judged_rows), _join(repeated)


def _slots(items: Codes, lists: Ints, factors: np.ndarray[Any, Any], shift: np.uint64) -> Ints:
    mixed = items.astype(np.uint64) * factors[0] + lists.astype(np.uint64) * factors[1]
    mixed ^= mixed >> np.uint64(29)
    slots: Ints = ((mixed * factors[2]) >> shift).astype(np.int64)
    return slots


def _join(parts: list[Ints]) -> Ints:
    return np.concatenate([_NONE, *parts])


Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_LOOKS = 32  # looks at a row that take less time than putting its list in order
_SORTED_ROWS = 1 << 19  # rows whose scores are sorted at a time: they stay in the cache


@dataclass(frozen=True, eq=False, repr=False)
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
    """Return the first and last possible rank of each matched row, and the number of tied rows."""
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
    """Yield batches of lists, with their scores as a matrix padded with infinity, and a mask.

    The last says how much of each row is scores; None if all is.
    """
    assert lists.scores is not None
    lengths = np.diff(lists.starts)
    if len(lengths) and lengths[0] and bool((lengths == lengths[0]).all()):
        width = int(lengths[0])
        step = max(1, _SORTED_ROWS // width)
        for at in range(0, len(lengths), step):
            chosen = np.arange(at, min(at + step, len(lengths)))
            scores = lists.scores[at * width : (at + len(chosen)) * width]
            yield chosen, scores.reshape(len(chosen), width).copy(), None
        return
    for chosen in batches_by_length(lists.starts, _SORTED_ROWS):
        rows, filled = padded_rows(lists.starts, chosen)
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
        value = flat.take(start + further, mode="clip")
        fits &= value <= values if or_equal else value < values
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
    (order,) = sort_segments(
        starts,
        lists.scores[all_rows],
        [np.arange(len(all_rows))],
        descending=True,
        breaker=lists.tie_order.breaker(lists.items[all_rows]),
    )
    rank = np.empty(len(all_rows), dtype=np.int64)
    rank[order] = positions(starts) + 1
    ranks: Ints = rank[np.searchsorted(all_rows, rows)]
    return ranks
