"""Which recommended items are judged: the hot loop.

For a few hundred lists at a time every recommended row writes its number into a small hash
table that fits the processor's cache, at a place made from its user and its item. Reading the
table back shows the rows that lost their place: either the item stands twice in the list (a
duplicate, found here at no further cost) or another row happens to share the place; those few go
through another round. The judged items of the same users then look up their own places, and what
they find there is compared, user and item, before it counts: a hit is never a guess.

The table does not grow with the catalogue, so ten thousand and ten million items cost the same,
and it needs no clearing, because whatever was left in it fails the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core.segments import Ints, owners

if TYPE_CHECKING:
    from rankwise.core.ids import Codes

__all__ = ["Matches", "match"]

_ROWS = 1 << 15  # rows of a part: a 32nd of the table, so that few share a place
_BITS = 20  # places of the table: with 16-bit row numbers 2 MiB, about an L2 cache
_STEP = 0x9E3779B1  # odd, so that its multiples are distinct modulo the table's size
_NONE = np.empty(0, dtype=np.int64)
_PRIMES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


@dataclass(frozen=True)
class Matches:
    """Recommended rows that are judged, in list order, and rows that repeat another."""

    rows: Ints
    judged: Ints
    """For each of ``rows`` the judged row it matches."""
    repeated: Ints
    """Rows whose item stands elsewhere in the same list."""


def match(items: Codes, starts: Ints, judged: Codes, judged_starts: Ints) -> Matches:
    """Match lists of items with lists of judged items, list by list.

    Parameters
    ----------
    items : array of int, shape (n,)
        Item codes of all lists, one list after the other.
    starts : array of int, shape (n_lists + 1,)
        Where each list starts in ``items``.
    judged : array of int, shape (m,)
        Judged item codes, without repetition inside one list.
    judged_starts : array of int, shape (n_lists + 1,)
        Where the judged items of each list start.

    Returns
    -------
    Matches
        Row numbers into ``items`` and ``judged``.

    Examples
    --------
    >>> found = match(np.array([5, 3, 9, 9]), np.array([0, 2, 4]),
    ...               np.array([3, 4, 9]), np.array([0, 2, 3]))
    >>> found.rows.tolist(), found.judged.tolist(), found.repeated.tolist()
    ([1, 3], [0, 2], [2])
    """
    if not len(items):
        return Matches(_NONE, _NONE, _NONE)
    table = _Table(starts, judged_starts, judged)
    parts: list[_Part] = []
    first, last = 0, len(starts) - 1
    while first < last:
        stop = int(np.searchsorted(starts, starts[first] + table.rows, side="right")) - 1
        stop = min(max(stop, first + 1), last)
        parts.append(table.match(items, first, stop))
        first = stop
    rows = _join([part.rows for part in parts])
    found = _join([part.found for part in parts])
    lost = _join([part.lost for part in parts])
    repeated = _join([part.repeated for part in parts])
    if len(lost):
        contested = _join([part.contested for part in parts])
        more_rows, more_found, more = _settle(
            _Pairs(items, starts), lost, _Pairs(judged, judged_starts), contested
        )
        rows, found = _join([rows, more_rows]), _join([found, more_found])
        repeated = _join([repeated, more])
    order = np.argsort(rows)
    return Matches(rows[order], found[order], repeated)


@dataclass(frozen=True)
class _Part:
    """What one part found, in row numbers of the whole."""

    rows: Ints
    found: Ints
    repeated: Ints
    lost: Ints
    contested: Ints
    """Judged rows that found another item at their place: a lost row may be theirs."""


class _Table:
    """The hash table and its work space, used again for every part."""

    def __init__(self, starts: Ints, judged_starts: Ints, judged: Codes) -> None:
        lengths = np.diff(starts)
        self.starts, self.judged_starts, self.judged = starts, judged_starts, judged
        self.uniform = int(lengths[0]) if len(lengths) and np.ptp(lengths) == 0 else 0
        self.lengths = lengths
        self.rows = max(_ROWS, int(lengths.max(initial=0)))
        bits = max(_BITS, (self.rows * 8 - 1).bit_length())
        dtype: type[np.unsignedinteger[Any]] = np.uint16 if self.rows < 1 << 16 else np.uint32
        self.mask = (1 << bits) - 1
        self.table = np.zeros(1 << bits, dtype=dtype)
        self.numbers = np.arange(self.rows, dtype=dtype)
        self.places = np.empty(self.rows, dtype=np.int64)
        self.back = np.empty(self.rows, dtype=dtype)
        # Where each list starts in the table. An odd step spreads lists without ever giving two
        # of them the same start, so that place and item together tell the list.
        self.base = (np.arange(len(lengths)) * _STEP) & self.mask
        self.wanted = (np.repeat(self.base, np.diff(judged_starts)) + judged) & self.mask

    def match(self, items: Codes, first: int, stop: int) -> _Part:
        """Match some lists, at most ``rows`` rows together (or one list)."""
        a, b = int(self.starts[first]), int(self.starts[stop])
        c, d = int(self.judged_starts[first]), int(self.judged_starts[stop])
        part, places, numbers = items[a:b], self.places[: b - a], self.numbers[: b - a]
        self._place(part, first, stop, places)
        self.table[places] = numbers
        back = self.table.take(places, out=self.back[: b - a], mode="wrap")
        lost = np.flatnonzero(back != numbers)

        wanted = self.wanted[c:d]
        row = self.table.take(wanted, mode="wrap")
        # What an earlier part left in the table may be any row: place and item must both agree.
        near = np.flatnonzero(places.take(row, mode="clip") == wanted)
        row = row[near].astype(np.int64)
        near += c
        same = part[row] == self.judged[near]
        row += a
        # At a place with another item, the item looked for may have been a row that lost.
        found, contested = near[same], near[~same]
        again = part[back[lost]] == part[lost]  # the same place and item: the same list
        lost += a
        return _Part(row[same], found, lost[again], lost[~again], contested)

    def _place(self, items: Codes, first: int, stop: int, out: Ints) -> None:
        base = self.base[first:stop]
        if self.uniform:
            shape = (stop - first, self.uniform)
            np.add(items.reshape(shape), base[:, None], out=out.reshape(shape))
        else:
            np.add(items, np.repeat(base, self.lengths[first:stop]), out=out)
        out &= self.mask


class _Pairs:
    """Rows of lists as (list, item) pairs."""

    def __init__(self, items: Codes, starts: Ints) -> None:
        self.items = items
        self.starts = starts

    def within(self, rows: Ints, lists: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row stands in the list named."""
        own: np.ndarray[Any, np.dtype[np.bool_]] = (rows >= self.starts[lists]) & (
            rows < self.starts[lists + 1]
        )
        return own


def _settle(listed: _Pairs, lost: Ints, judged: _Pairs, contested: Ints) -> tuple[Ints, Ints, Ints]:
    """Give the rows that lost their place further rounds, all together, until none is left."""
    rows, found, repeated = [], [], []
    bits = (len(lost) * 4).bit_length()
    table = np.zeros(1 << bits, dtype=np.int64)
    shift, factors = np.uint64(64 - bits), _PRIMES
    list_of, judged_list = owners(listed.starts, lost), owners(judged.starts, contested)
    item, judged_item = listed.items[lost], judged.items[contested]
    while len(lost):
        places = _spread(item, list_of, factors, shift)
        table[places] = lost
        row = table[_spread(judged_item, judged_list, factors, shift)]
        hit = (listed.items[row] == judged_item) & listed.within(row, judged_list)
        rows.append(row[hit])
        found.append(contested[hit])
        contested, judged_item, judged_list = contested[~hit], judged_item[~hit], judged_list[~hit]
        winners = table[places]
        beaten = np.flatnonzero(winners != lost)
        lost, winners, item, list_of = lost[beaten], winners[beaten], item[beaten], list_of[beaten]
        same = (listed.items[winners] == item) & listed.within(winners, list_of)
        repeated.append(lost[same])
        lost, item, list_of = lost[~same], item[~same], list_of[~same]
        factors = factors * _PRIMES[2] | np.uint64(1)  # another spread every round
    return _join(rows), _join(found), _join(repeated)


def _spread(items: Codes, lists: Ints, factors: np.ndarray[Any, Any], shift: np.uint64) -> Ints:
    mixed = items.astype(np.uint64) * factors[0] + lists.astype(np.uint64) * factors[1]
    mixed ^= mixed >> np.uint64(29)
    places: Ints = ((mixed * factors[2]) >> shift).astype(np.int64)
    return places


def _join(parts: list[Ints]) -> Ints:
    return np.concatenate([_NONE, *parts])
