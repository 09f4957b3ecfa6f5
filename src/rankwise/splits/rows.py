"""Interactions as splitters use them: ids as codes, times as ticks, rows in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.hashing import Hashes, combined, hash_of_column
from rankwise.core.ragged import Ints, bucket, owners, positions, ragged_rows, reorder, runs
from rankwise.core.vocabulary import Vocabulary, vocabulary_for
from rankwise.splits.times import Times, TimeUnit, read_times
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["Codes", "Grouped", "Mask", "Rows", "chunks", "hash_of_others", "numbered", "read_rows", "spread"]

_CHUNK = 1 << 22
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of ids as small integers."""

    of_row: Ints
    vocabulary: Vocabulary

    @property
    def size(self) -> int:
        """One more than the largest code; numbers below it may be unused."""
        return self.vocabulary.size

    def count(self, mask: Mask | None = None) -> Ints:
        """Return the number of rows per code, of all rows or those of a mask."""
        counts: Ints = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks(len(self.of_row)):  # so that no copy of a whole column is made
            codes = self.of_row[chunk] if mask is None else self.of_row[chunk][mask[chunk]]
            counts += np.bincount(codes, minlength=self.size)
        return counts

    def at_random(self, seed: int) -> Ints:
        """Return the codes that have rows in a random order, which ids and seed decide."""
        used = np.flatnonzero(self.count())
        key = combined([hash_of_column(self.vocabulary.decode(used))], seed)
        return used[np.argsort(key, kind="stable")]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Row numbers by user: those of user u are ``order[starts[u] : starts[u + 1]]``."""

    starts: Ints
    order: Ints

    @property
    def lengths(self) -> Ints:
        """Rows per user."""
        return np.diff(self.starts)

    def tail(self, lengths: Ints) -> Mask:
        """Return the mask of each user's last rows, as many as ``lengths`` says."""
        mask: Mask = np.zeros(len(self.order), dtype=bool)
        mask[self.order[ragged_rows(self.starts[1:] - lengths, lengths)]] = True
        return mask

    def positions(self) -> Ints:
        """Return the position of every row of the table among its user's rows, from 0."""
        out: Ints = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = positions(self.starts)
        return out


@dataclass(frozen=True, eq=False)
class Rows:
    """Interactions with their codes, times and orders, each computed when it is first used."""

    table: Table
    time_unit: TimeUnit | None = None
    time_format: str | None = None

    def __len__(self) -> int:
        return len(self.table.frame)

    @cached_property
    def user(self) -> Codes:
        """The user of every row."""
        return self._codes("user")

    @cached_property
    def item(self) -> Codes:
        """The item of every row."""
        return self._codes("item")

    def _codes(self, role: str) -> Codes:
        column = self.table.frame[role]
        vocabulary = vocabulary_for([column], dense=True)
        return Codes(vocabulary.encode(column), vocabulary)

    @property
    def has_times(self) -> bool:
        """Whether rows have timestamps."""
        return "timestamp" in self.table.frame.columns

    @cached_property
    def time(self) -> Times:
        """The timestamp of every row."""
        return read_times(self.table, self.time_unit, self.time_format)

    def select(self, mask: Mask) -> Rows:
        """Return the rows of a mask; their timestamps keep their unit."""
        frame = pl.DataFrame([_filtered(column, mask) for column in self.table.frame])
        selected = replace(self, table=self.table.with_frame(frame))
        if "time" in self.__dict__:
            time, column = self.time, frame["timestamp"]
            same = not time.is_date and column.dtype == pl.Int64 and time.values.dtype.kind == "i"
            values = column.to_numpy() if same else time.values[mask]  # shared with the frame
            selected.__dict__["time"] = replace(time, values=values)
        return selected

    def key(self, seed: int, rows: Ints | None = None) -> Hashes:
        """Return a hash per row that depends on user, item, time and seed alone."""
        frame = self.table.frame if rows is None else self.table.frame[rows]
        columns = [hash_of_column(frame["user"]), hash_of_column(frame["item"])]
        if self.has_times:
            columns += _hash_of_times(self.time, slice(None) if rows is None else rows)
        return combined(columns, seed)

    def draw(self, seed: int) -> Hashes:
        """Return a hash per row that decides random draws: that of `key`, numbered where it repeats.

        Rows of equal user, item and time get a running number, in order of their other columns.
        With one hash for all of them, a draw would take them all, or none.
        """
        key = self.key(seed)
        ordered = np.sort(key)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(repeated):
            return key
        rows = np.flatnonzero(np.isin(key, np.unique(repeated)))
        rows = self.settled(rows[np.argsort(key[rows], kind="stable")], key)
        key[rows] = numbered(key[rows], positions(runs(key[rows])))
        return key

    def pairs_in(self, mask: Mask, known: Mask) -> Mask:
        """Return the rows of ``mask`` whose user-item pair also occurs in the rows ``known``."""
        distinct, inverse = np.unique(self._pairs(np.flatnonzero(mask)), return_inverse=True)
        if not len(distinct):  # the part was emptied already
            return mask
        is_known: Mask = np.zeros(len(distinct), dtype=bool)
        for chunk in chunks(len(self)):
            others = np.sort(self._pairs(chunk.start + np.flatnonzero(known[chunk])))
            index = np.searchsorted(distinct, others)
            index[index == len(distinct)] = 0
            is_known[index[distinct[index] == others]] = True
        return spread(mask, is_known[inverse])

    def count_pairs(self, mask: Mask) -> int:
        """Return the number of distinct user-item pairs in the rows of a mask."""
        return pl.Series(self._pairs(mask)).n_unique()

    def _pairs(self, rows: Any) -> Ints:
        users = self.user.of_row[rows].astype(np.int64)
        pair: Ints = users * self.item.size + self.item.of_row[rows]
        return pair

    def shuffled(self, seed: int) -> Ints:
        """Return all row numbers in a random order that the seed decides."""
        order: Ints = np.argsort(self.draw(seed), kind="stable")
        return order

    def in_time(self) -> Grouped:
        """Return every user's rows by time; rows of equal time by a hash of the ids."""
        time = self.time.values
        return self._grouped(time, lambda rows: self.key(0, rows))

    def at_random(self, seed: int) -> Grouped:
        """Return every user's rows in a random order that the seed decides."""
        return self._grouped(self.draw(seed), None)

    def _grouped(self, key: Ints, breaker: Callable[[Ints], Hashes] | None) -> Grouped:
        starts, order = bucket(self.user.of_row, self.user.size)
        by_user = key[order]
        order = order.astype(np.int32 if len(order) < 2**31 else np.int64, copy=False)
        break_ties = None
        if breaker is not None:

            def break_ties(index: Ints) -> Ints:  # of rows as they are bucketed
                return breaker(order[index].ravel()).reshape(index.shape)

        reorder(starts, by_user, [order], breaker=break_ties, in_place=True)
        del by_user
        return Grouped(starts, self.settled(order, key, starts))

    def settled(self, order: Ints, key: Ints, starts: Ints | None = None) -> Ints:
        """Order rows of equal key and ids by their other columns, in place, within segments."""
        starts = np.array([0, len(order)]) if starts is None else starts
        if not _others(self.table.frame) or not len(order):
            return order
        ordered = key[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        if not len(same):
            return order
        near = np.union1d(same, same + 1)
        edges = runs(owners(starts, near), ordered[near], self.key(0, order[near]))
        lengths = np.diff(edges)
        tied = near[ragged_rows(edges[:-1][lengths > 1], lengths[lengths > 1])]
        if not len(tied):
            return order
        rows = order[tied]
        rest = hash_of_others(self.table.frame[rows])
        group = np.repeat(np.arange((lengths > 1).sum()), lengths[lengths > 1])
        order[tied] = rows[np.lexsort((rest, group))]
        return order

    def time_range(self, mask: Mask) -> tuple[Any, Any] | None:
        """Return the first and last time of the rows of a mask; None without rows or times."""
        if not self.has_times:
            return None
        values = self.time.values[mask]
        return (values.min(), values.max()) if len(values) else None


def _others(frame: pl.DataFrame) -> list[str]:
    return sorted(name for name in frame.columns if name not in ("user", "item", "timestamp"))


def numbered(key: Hashes, number: Ints) -> Hashes:
    """Return the hashes of rows that repeat others, by their running number; 0 keeps the hash."""
    return np.where(number == 0, key, combined([key, number.astype(np.uint64)], 0))


def hash_of_others(frame: pl.DataFrame) -> Hashes:
    """Return a hash of each row's columns except user, item and time: it decides between equals."""
    hashes = [hash_of_column(frame[name], ids=False) for name in _others(frame)]
    return combined(hashes, 0) if hashes else np.zeros(len(frame), dtype=np.uint64)


def chunks(size: int) -> Iterator[slice]:
    """Return slices of some million rows each, which together are all rows."""
    for first in range(0, size, _CHUNK):
        yield slice(first, first + _CHUNK)


def spread(kept: Mask, mask: Mask) -> Mask:
    """Return a mask of the kept rows as a mask of all rows."""
    out: Mask = np.zeros(len(kept), dtype=bool)
    out[kept] = mask
    return out


def _filtered(column: pl.Series, mask: Mask) -> pl.Series:
    """Return the rows of a mask as one chunk: Polars would leave many, and join them each time."""
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        return pl.Series(column.name, column.to_numpy()[mask])
    return column.filter(pl.Series(mask)).rechunk()


def _hash_of_times(times: Times, rows: Any) -> list[Hashes]:
    """Return the hashes of times: for dates, of microseconds and of any nanoseconds beyond them."""
    values = times.values[rows]
    nanoseconds = times.is_date and times.unit == "ns"
    parts = [values // 1000, values % 1000] if nanoseconds else [values]
    return [hash_of_column(pl.Series(part)) for part in parts]


def read_rows(source: Any, columns: Columns | None, time_unit: TimeUnit | None, time_format: str | None) -> Rows:
    """Return the interactions that any source holds."""
    return Rows(read_table(source, "interactions", columns), time_unit, time_format)
