"""Interactions as a splitter sees them: users in codes, moments in ticks, and orders of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.ids import Vocabulary, vocabulary_for
from rankwise.core.segments import Ints, bucket, owners, ragged_rows, reorder, runs
from rankwise.io.tables import Table, read_table
from rankwise.splits.hashing import combined, hash_of_column
from rankwise.splits.times import Times, TimeUnit, read_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.io.columns import Columns
    from rankwise.splits.hashing import Hashes

__all__ = ["Codes", "Grouped", "Mask", "Rows", "pieces", "read_rows", "spread"]

_PIECE = 1 << 22
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of ids as small integers."""

    of_row: Ints
    words: Vocabulary

    @property
    def size(self) -> int:
        """One more than the largest code; not every number below it need be one."""
        return self.words.size

    def count(self, mask: Mask | None = None) -> Ints:
        """Return how many rows, or how many of some, each code has."""
        counts: Ints = np.zeros(self.size, dtype=np.int64)
        for part in pieces(len(self.of_row)):  # so that no copy of a whole column is made
            own = self.of_row[part] if mask is None else self.of_row[part][mask[part]]
            counts += np.bincount(own, minlength=self.size)
        return counts


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows user by user, in some order inside each: row ``order[starts[u] : starts[u + 1]]``."""

    starts: Ints
    order: Ints

    @property
    def lengths(self) -> Ints:
        """How many rows each user has."""
        return np.diff(self.starts)

    def tail(self, lengths: Ints) -> Mask:
        """Return which rows are among the last so many of their user."""
        mask: Mask = np.zeros(len(self.order), dtype=bool)
        mask[self.order[ragged_rows(self.starts[1:] - lengths, lengths)]] = True
        return mask

    def places(self) -> Ints:
        """Return the place of every row (in the order of the table) among its user's, from 0."""
        out: Ints = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = np.arange(len(self.order)) - np.repeat(self.starts[:-1], self.lengths)
        return out


@dataclass(frozen=True, eq=False)
class Rows:
    """Interactions, and what can be asked of them."""

    table: Table
    time_unit: TimeUnit | None = None

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
        words = vocabulary_for([column], dense=True)
        return Codes(words.encode(column), words)

    @property
    def has_times(self) -> bool:
        """Whether rows say when they happened."""
        return "timestamp" in self.table.frame.columns

    @cached_property
    def time(self) -> Times:
        """When every row happened."""
        return read_times(self.table, self.time_unit)

    def select(self, mask: Mask) -> Rows:
        """Return some rows as rows of their own; their moments keep their unit."""
        frame = pl.DataFrame([_taken(column, mask) for column in self.table.frame])
        own = replace(self, table=self.table.with_frame(frame))
        if "time" in self.__dict__:
            time, column = self.time, frame["timestamp"]
            same = not time.is_date and column.dtype == pl.Int64 and time.values.dtype.kind == "i"
            taken = column.to_numpy() if same else time.values[mask]  # as they lie in the frame
            own.__dict__["time"] = replace(time, values=taken)
        return own

    def key(self, seed: int, rows: Ints | None = None) -> Hashes:
        """Return a number for rows that depends on user, item, moment and seed alone."""
        frame = self.table.frame if rows is None else self.table.frame[rows]
        columns = [hash_of_column(frame["user"]), hash_of_column(frame["item"])]
        if self.has_times:
            own = self.time if rows is None else self.time.take(rows)
            columns += _ticks(own)
        return combined(columns, seed)

    def pairs_in(self, asked: Mask, known: Mask) -> Mask:
        """Return which of the asked rows have a pair of user and item that stands in known ones."""

        def pairs(at: Any) -> Ints:
            users = self.user.of_row[at].astype(np.int64)
            pair: Ints = users * self.item.size + self.item.of_row[at]
            return pair

        distinct, place = np.unique(pairs(np.flatnonzero(asked)), return_inverse=True)
        found: Mask = np.zeros(len(distinct), dtype=bool)
        for part in pieces(len(self)):
            others = np.sort(pairs(part.start + np.flatnonzero(known[part])))
            at = np.searchsorted(distinct, others)
            at[at == len(distinct)] = 0
            found[at[distinct[at] == others]] = True
        return spread(asked, found[place])

    def shuffled(self, seed: int) -> Ints:
        """Return all rows in an order that the seed decides."""
        key = self.key(seed)
        return self.settled(np.argsort(key, kind="stable"), key)

    def in_time(self) -> Grouped:
        """Return every user's rows by time; equal ones in order of a hash of the ids."""
        time = self.time.values
        return self._grouped(time, lambda rows: self.key(0, rows))

    def at_random(self, seed: int) -> Grouped:
        """Return every user's rows in an order that the seed decides."""
        return self._grouped(self.key(seed), None)

    def _grouped(self, key: Ints, breaker: Callable[[Ints], Hashes] | None) -> Grouped:
        starts, order = bucket(self.user.of_row, self.user.size)
        by_user = key[order]
        order = order.astype(np.int32 if len(order) < 2**31 else np.int64, copy=False)
        broken = None
        if breaker is not None:

            def broken(at: Ints) -> Ints:  # place among the bucketed rows to number
                return breaker(order[at].ravel()).reshape(at.shape)

        reorder(starts, by_user, [order], breaker=broken, in_place=True)
        del by_user
        self._settle(starts, order, key)
        return Grouped(starts, order)

    def settled(self, order: Ints, key: Ints) -> Ints:
        """Put rows that are equal in key and ids in order of their other columns; in place."""
        self._settle(np.array([0, len(order)]), order, key)
        return order

    def _settle(self, starts: Ints, order: Ints, key: Ints) -> None:
        """Do it inside segments: without it, which of two such rows comes first were chance."""
        ids = ("user", "item", "timestamp")
        others = sorted(name for name in self.table.frame.columns if name not in ids)
        if not others or not len(order):
            return
        own = key[order]
        same = np.flatnonzero(own[1:] == own[:-1])
        if not len(same):
            return
        near = np.union1d(same, same + 1)
        edges = runs(owners(starts, near), own[near], self.key(0, order[near]))
        lengths = np.diff(edges)
        mine = ragged_rows(edges[:-1][lengths > 1], lengths[lengths > 1])
        if not len(mine):
            return
        rows = order[near[mine]]
        frame = self.table.frame[rows]
        rest = combined([hash_of_column(frame[name], ids=False) for name in others], 0)
        group = np.repeat(np.arange((lengths > 1).sum()), lengths[lengths > 1])
        order[near[mine]] = rows[np.lexsort((rest, group))]

    def moments(self, mask: Mask | None = None) -> tuple[Any, Any] | None:
        """Return the first and the last moment of some rows; None without rows or moments."""
        if not self.has_times:
            return None
        own = self.time.values if mask is None else self.time.values[mask]
        return (own.min(), own.max()) if len(own) else None


def pieces(rows: int) -> Iterator[slice]:
    """Return slices of some millions of rows each."""
    for first in range(0, rows, _PIECE):
        yield slice(first, first + _PIECE)


def spread(kept: Mask, mask: Mask) -> Mask:
    """Return a mask of the kept rows as one of all rows."""
    out: Mask = np.zeros(len(kept), dtype=bool)
    out[kept] = mask
    return out


def _taken(column: pl.Series, mask: Mask) -> pl.Series:
    """Take some rows of a column in one piece: Polars would leave many, and join them each time."""
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        return pl.Series(column.name, column.to_numpy()[mask])
    return column.filter(pl.Series(mask)).rechunk()


def _ticks(times: Times) -> list[Hashes]:
    """Return moments as numbers to hash; dates in microseconds, and what they do not hold."""
    values = [times.values]
    if times.is_date and times.unit == "ns":
        values = [times.values // 1000, times.values % 1000]
    return [hash_of_column(pl.Series(each)) for each in values]


def read_rows(source: Any, columns: Columns | None, time_unit: TimeUnit | None) -> Rows:
    """Read interactions from anything that holds them."""
    return Rows(read_table(source, "interactions", columns), time_unit)
