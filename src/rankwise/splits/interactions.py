"""Interactions as splitters use them: ids as codes, rows by time, and the sizes of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankwise.core.arguments import TimeUnit, check_count
from rankwise.core.hashing import Hashes, combine_hashes, hash_of_column
from rankwise.core.ragged import (
    Ints,
    counting_sort,
    positions,
    ragged_rows,
    runs,
    segments_of,
    sort_segments,
)
from rankwise.core.vocabularies import Vocabulary, vocabulary_for
from rankwise.errors import ParameterError
from rankwise.tables.columns import (
    Columns,
    check_columns,
)
from rankwise.tables.frames import from_arrow
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.times import Times, read_times

MAX_FOLDS = 1_000_000
"""The largest number of folds: each costs a pass over the table."""

_Size = TypeVar("_Size", int, Ints)


def check_share(name: str, share: object) -> None:
    """Raise unless a share lies between 0 and 1."""
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 < share < 1:  # type: ignore[operator]
        raise ParameterError(
            f"{name} must lie between 0 and 1",
            found=f"{name}={share!r}",
            hint="0.2 keeps a fifth of the rows for testing",
        )


def check_seed(name: str, seed: object) -> None:
    """Raise unless a seed is a whole number of at most 64 bits."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise ParameterError("a seed is a whole number", found=f"{name}={seed!r}")
    if not -(2**63) <= seed < 2**64:
        raise ParameterError("a seed has at most 64 bits", found=f"{int(seed).bit_length()} bits")


def _check_folds(name: str, value: int, *, least: int = 2) -> None:
    check_count(least=least, **{name: value})
    if value > MAX_FOLDS:
        raise ParameterError(
            f"{name} must be at most {MAX_FOLDS:,}",
            found=f"{name}={value}",
            hint="every fold is a pass over the table",
        )


Share: TypeAlias = Annotated[float, check_share]
"""A number between 0 and 1."""
Seed: TypeAlias = Annotated[int, check_seed]
Folds: TypeAlias = Annotated[int, _check_folds]
"""A number of folds, of which every row is tested in one."""
Draws: TypeAlias = Annotated[int, partial(_check_folds, least=1)]
"""A number of splits, each of which tests some rows."""


def rounded(share: float, size: _Size) -> _Size:
    """Return r·n, the share r of n rows, rounded half up.

    The share is read as the decimal that it is written as: 0.29 of 50 rows is 14.5, and hence 15,
    although the binary number nearest to 0.29 is slightly smaller.

    >>> rounded(0.2, 12), rounded(0.29, 50), rounded(1 / 3, 3)
    (2, 15, 1)
    """
    exact = Fraction(repr(float(share))).limit_denominator(10**11)
    above, below = exact.numerator, exact.denominator
    return (2 * above * size + below) // (2 * below)


_CHUNK = 1 << 22
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of ids as small integers."""

    of_row: Ints
    vocabulary: Vocabulary

    @classmethod
    def of(cls, ids: pl.Series) -> Codes:
        """Return the codes of the ids of all rows."""
        vocabulary = vocabulary_for([ids], dense=True)
        return cls(vocabulary.encode(ids), vocabulary)

    @property
    def size(self) -> int:
        """One more than the largest code; smaller codes may be unused."""
        return self.vocabulary.size

    def count(self, mask: Mask | None = None) -> Ints:
        """Return the number of rows per code, over all rows or the rows of a mask."""
        counts: Ints = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks(len(self.of_row)):  # so that no copy of a whole column is made
            codes = self.of_row[chunk] if mask is None else self.of_row[chunk][mask[chunk]]
            counts += np.bincount(codes, minlength=self.size)
        return counts

    def at_random(self, seed: int) -> Ints:
        """Return the codes that have rows in a random order, which ids and seed decide."""
        used = np.flatnonzero(self.count())
        key = combine_hashes([hash_of_column(self.vocabulary.decode(used))], seed)
        return used[np.argsort(key, kind="stable")]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Row numbers by user: the rows of user u are ``order[starts[u] : starts[u + 1]]``."""

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
    """Interactions with their codes, times and orders, each computed on first use."""

    table: Table
    time_unit: TimeUnit | None = None
    time_format: str | None = None

    def __len__(self) -> int:
        return len(self.table.frame)

    @cached_property
    def user(self) -> Codes:
        """The user of every row."""
        return Codes.of(self.table.frame["user"])

    @cached_property
    def item(self) -> Codes:
        """The item of every row."""
        return Codes.of(self.table.frame["item"])

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
            same = not time.is_date and column.dtype == pl.Int64
            values = column.to_numpy() if same else time.values[mask]  # shared with the frame
            selected.__dict__["time"] = replace(time, values=values)
        return selected

    def key(self, seed: int, rows: Ints | None = None) -> Hashes:
        """Return a hash per row that depends on user, item, time and seed alone."""
        frame = self.table.frame if rows is None else self.table.frame[rows]
        columns = [hash_of_column(frame["user"]), hash_of_column(frame["item"])]
        if self.has_times:
            columns += _hash_of_times(self.time, slice(None) if rows is None else rows)
        return combine_hashes(columns, seed)

    def draw(self, seed: int) -> Hashes:
        """Return a hash per row for random draws: `key`, with repeated hashes numbered.

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

    def pairs_in(self, mask: Mask, earlier: Mask) -> Mask:
        """Return the rows of ``mask`` whose user-item pair also occurs in the rows ``earlier``."""
        distinct, inverse = np.unique(self._pairs(np.flatnonzero(mask)), return_inverse=True)
        if not len(distinct):  # the part was emptied already
            return mask
        is_repeated: Mask = np.zeros(len(distinct), dtype=bool)
        for chunk in chunks(len(self)):
            pairs = np.sort(self._pairs(chunk.start + np.flatnonzero(earlier[chunk])))
            index = np.searchsorted(distinct, pairs)
            index[index == len(distinct)] = 0
            is_repeated[index[distinct[index] == pairs]] = True
        return spread(mask, is_repeated[inverse])

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
        return self._grouped(self.time.values, lambda rows: self.key(0, rows))

    def at_random(self, seed: int) -> Grouped:
        """Return every user's rows in a random order that the seed decides."""
        return self._grouped(self.draw(seed), None)

    def _grouped(self, key: Ints, breaker: Callable[[Ints], Hashes] | None) -> Grouped:
        starts, order = counting_sort(self.user.of_row, self.user.size)
        by_user = key[order]
        order = order.astype(np.int32 if len(order) < 2**31 else np.int64, copy=False)
        break_ties = None
        if breaker is not None:

            def break_ties(index: Ints) -> Ints:  # of rows as they are bucketed
                return breaker(order[index].ravel()).reshape(index.shape)

        sort_segments(starts, by_user, [order], breaker=break_ties, in_place=True)
        del by_user
        return Grouped(starts, self.settled(order, key, starts))

    def settled(self, order: Ints, key: Ints, starts: Ints | None = None) -> Ints:
        """Order rows of equal key and ids by their remaining columns, in place, within segments."""
        starts = np.array([0, len(order)]) if starts is None else starts
        if not _other_columns(self.table.frame) or not len(order):
            return order
        ordered = key[order]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        if not len(same):
            return order
        near = np.union1d(same, same + 1)
        edges = runs(segments_of(starts, near), ordered[near], self.key(0, order[near]))
        lengths = np.diff(edges)
        tied = near[ragged_rows(edges[:-1][lengths > 1], lengths[lengths > 1])]
        if not len(tied):
            return order
        rows = order[tied]
        rest = hash_of_other_columns(self.table.frame[rows])
        group = np.repeat(np.arange((lengths > 1).sum()), lengths[lengths > 1])
        order[tied] = rows[np.lexsort((rest, group))]
        return order


def _other_columns(frame: pl.DataFrame) -> list[str]:
    return sorted(name for name in frame.columns if name not in ("user", "item", "timestamp"))


def numbered(key: Hashes, number: Ints) -> Hashes:
    """Combine hashes of repeated rows with their running number; number 0 keeps the hash."""
    return np.where(number == 0, key, combine_hashes([key, number.astype(np.uint64)], 0))


def hash_of_other_columns(frame: pl.DataFrame) -> Hashes:
    """Hash each row's columns except user, item and time, to decide between equal rows."""
    hashes = [hash_of_column(frame[name], ids=False) for name in _other_columns(frame)]
    return combine_hashes(hashes, 0) if hashes else np.zeros(len(frame), dtype=np.uint64)


def chunks(size: int) -> Iterator[slice]:
    """Yield slices of about four million rows each that together cover all rows."""
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


def read_rows(
    source: Any, columns: Columns | None, time_unit: TimeUnit | None, time_format: str | None
) -> Rows:
    """Return the interactions that any source holds."""
    check_columns(columns, ["interactions"])
    return Rows(read_table(source, "interactions", columns), time_unit, time_format)


def cut_rows(source: Any, mask: Mask, rows: Rows) -> Any:
    """Return the rows of a mask as a table of the source's own library."""
    library = library_of(source)
    if library == "pandas":
        return source[mask]
    if library == "pyarrow":
        return source.filter(pl.Series(mask).to_arrow())
    return as_polars(source, rows).filter(pl.Series(mask))


def take_rows(source: Any, positions: Ints, rows: Rows) -> Any:
    """Return the rows at ``positions``, in this order, as a table of the source's own library."""
    library = library_of(source)
    if library == "pandas":
        return source.iloc[positions]
    if library == "pyarrow":
        return source.take(positions)
    return as_polars(source, rows)[positions]


def library_of(source: Any) -> Literal["polars", "pandas", "pyarrow"] | None:
    """Return the library of a table that a mask can filter; None for any other source."""
    cls = type(source)
    library: Any = cls.__module__.split(".")[0]
    tables = {("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "Table")}
    return library if (library, cls.__name__) in tables else None


def as_polars(source: Any, rows: Rows) -> pl.DataFrame:
    """Return the source as a Polars table with its original column names."""
    if isinstance(source, pl.DataFrame):
        return source
    if library_of(source) is not None:
        return from_arrow(source, "interactions")
    return rows.table.frame.rename(rows.table.columns)
