"""Vocabularies: ids to codes, small integers that are the same in all tables, and back.

There are three kinds:

* `PlainIntegers`: integers are their own codes, for ids that are only compared.
* `IntegerVocabulary`: integers below a limit are their own codes (no hashing, no copy); other ids,
  negative or in the billions, are numbered.
* `StringVocabulary`: texts are numbered in the order in which they first appear, by a hash table
  that compares the texts themselves.

Codes are private to one process; results that leave it (a `Partial`, a `Result`) carry ids.

In each run of equal users only the first row is encoded. Codes of texts are computed in the memory
where Polars has the texts.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.texts import StringViews, string_views
from rankwise.errors import IdError

_ROOMY = 8  # places for each id, up to which a table is quicker than a join
_FEWEST = 6  # bits of the smallest table of texts: 64 slots
_LARGE = 16  # bits of the largest table to begin with: the second level of a cache holds it
_MOST = 32  # bits of the largest table, whose codes still have 31 bits
_BATCH = 32  # texts that there is always room for, as the source has it
_HEAD = 1 << 16  # rows after which texts are looked up before they are numbered
_WINDOW = 1 << 20  # rows that threads share
_RARE = 16  # rows for each new text, from which on looking texts up first saves time

Codes: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""Codes of ids: a one-dimensional NumPy array of an integer type."""


class Vocabulary(Protocol):
    """A mapping of ids to codes and back."""

    @property
    def size(self) -> int:
        """One more than the largest code assigned so far."""

    def encode(self, ids: pl.Series, *, threads: int = 1) -> Codes:
        """Return the code of each id; unknown ids get new codes. Threads look up texts."""

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""

    def sort_keys(self, codes: Codes) -> Codes:
        """Return for each code a number that grows with its id."""


class PlainIntegers:
    """A vocabulary of integers as their own codes: not dense, and without lookups.

    Examples
    --------
    >>> PlainIntegers().encode(pl.Series([3, -1, 10**12])).tolist()
    [3, -1, 1000000000000]
    """

    @property
    def size(self) -> int:
        """Any integers are no index of counts."""
        raise TypeError("plain integers are not dense")

    def encode(self, ids: pl.Series, *, threads: int = 1) -> Codes:
        """Return the ids themselves, without a copy."""
        if ids.dtype == pl.UInt64:
            ids = whole_numbers(ids)
        return ids.to_numpy()

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        return pl.Series(codes.astype(np.int64))

    def sort_keys(self, codes: Codes) -> Codes:
        """Return the codes, which grow with their ids."""
        return codes


class IntegerVocabulary:
    """A vocabulary of integers as their own codes up to a limit, and numbers for all other ids.

    The first id beyond the limit brings the limit down to where codes end by then, so that codes
    stay dense: ids that come later are their own codes only below it.

    Parameters
    ----------
    limit : int
        Ids in [0, limit) are their own code.

    Examples
    --------
    >>> vocabulary = IntegerVocabulary(10)
    >>> vocabulary.encode(pl.Series([3, 7])).tolist()
    [3, 7]
    >>> vocabulary.encode(pl.Series([3, -1, 10**12])).tolist()
    [3, 8, 9]
    >>> vocabulary.decode(np.array([9, 3])).to_list()
    [1000000000000, 3]
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._end = 0  # one more than the largest id that is its own code
        self._outside = pl.Series([], dtype=pl.Int64)

    @property
    def size(self) -> int:
        """One more than the largest code assigned so far."""
        return self._end + len(self._outside)

    def encode(self, ids: pl.Series, *, threads: int = 1) -> Codes:
        """Return the code of each id; unknown ids get new codes."""
        if not len(ids):
            return np.empty(0, dtype=np.int64)
        values = ids.to_numpy()
        # As unsigned integers, negative ids are above all others: one pass tells whether all are
        # in range.
        limit = min(self.limit, 2 ** (8 * values.dtype.itemsize - (values.dtype.kind == "i")))
        largest = int(values.view(f"u{values.dtype.itemsize}").max())
        if largest < limit:
            self._end = max(self._end, largest + 1)
            return values.view(np.int64) if values.dtype == np.uint64 else values
        ids = whole_numbers(ids)
        if not len(self._outside):
            inside = ids.filter(ids.is_between(0, self.limit, closed="left")).to_numpy()
            self.limit = self._end = max(self._end, int(inside.max(initial=-1)) + 1)
        outside = ~ids.is_between(0, self.limit, closed="left")
        outliers = ids.filter(outside)
        new = outliers.unique(maintain_order=True)
        new = new.filter(~new.is_in(self._outside.implode()))
        self._outside = pl.concat([self._outside, new])
        numbers = self.limit + np.arange(len(self._outside))
        codes = ids.to_numpy().copy()  # Polars may lend the memory of a single id for writing
        codes[outside.to_numpy()] = outliers.replace_strict(
            self._outside, numbers, return_dtype=pl.Int64
        ).to_numpy()
        return codes

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        ids = codes.astype(np.int64)
        outside = ids >= self.limit
        if outside.any():
            ids[outside] = self._outside.to_numpy()[ids[outside] - self.limit]
        return pl.Series(ids)

    def sort_keys(self, codes: Codes) -> Codes:
        """Return for each code a number that grows with its id."""
        return self.decode(codes).to_numpy() if len(self._outside) else codes


class StringVocabulary:
    """Strings numbered in the order in which they first appear.

    Examples
    --------
    >>> vocabulary = StringVocabulary()
    >>> vocabulary.encode(pl.Series(["b", "a", "b"])).tolist()
    [0, 1, 0]
    >>> vocabulary.decode(np.array([1])).to_list()
    ['a']
    """

    def __init__(self) -> None:
        self._texts: list[pl.Series] = []  # distinct, in the order of their codes
        self._size = 0
        self._table: _TextTable | None = None

    @property
    def size(self) -> int:
        """One more than the largest code assigned so far."""
        return self._size

    def encode(self, ids: pl.Series, *, threads: int = 1) -> Codes:
        """Return the code of each id; unknown ids get new codes."""
        with string_views(ids) as texts:
            if texts is None or (self._size and self._table is None):
                return self._encode_by_joins(ids)

            if self._table is None:
                self._table = _TextTable(len(ids))
            codes, new = self._table.encode(texts, len(ids), threads)
            self._add(ids.gather(new))
        return codes

    def _encode_by_joins(self, ids: pl.Series) -> Codes:
        """Return the code of each id without compiled loops: their twin."""
        rows = lookup_rows(ids, self._known())
        new = ids.filter(pl.Series(rows < 0)).unique(maintain_order=True)
        self._add(new)
        self._table = None  # it does not have these texts
        if len(new):
            rows = lookup_rows(ids, self._known())
        return rows.astype(np.int32)

    def _add(self, new: pl.Series) -> None:
        if len(new):
            self._texts.append(new)
            self._size += len(new)

    def _known(self) -> pl.Series:
        """Return the distinct texts in the order of their codes."""
        if len(self._texts) != 1:
            self._texts = [
                pl.concat(self._texts) if self._texts else pl.Series([], dtype=pl.String)
            ]
        return self._texts[0]

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        return self._known().gather(codes)

    def sort_keys(self, codes: Codes) -> Codes:
        """Return for each code a number that grows with its id."""
        return ascending_ranks(self._known())[codes]


class _TextTable:
    """A hash table of distinct texts and their numbers, for the compiled loop.

    Texts of more than 12 bytes are kept once each, so that no column has to live on.

    Parameters
    ----------
    n : int
        The number of texts that are expected, distinct or not.
    """

    def __init__(self, n: int) -> None:
        self._bits = min(max(n.bit_length() + 1, _FEWEST), _LARGE)
        self._slots = np.zeros(1 << self._bits, dtype=np.uint64)
        self._known = np.empty((len(self._slots) // 2, 2), dtype=np.uint64)
        self._pool = np.empty(1 << 10, dtype=np.uint8)
        self._used = np.zeros(2, dtype=np.int64)  # texts, and bytes of the pool

    def encode(self, texts: StringViews, n: int, threads: int) -> tuple[Codes, Any]:
        """Return the code of each of ``n`` texts, and the rows of those that are new.

        Where few texts are new, those that are known are looked up first, which threads can do
        together; the others are numbered afterwards in the order of their rows, so that codes are
        the same.
        """
        codes = np.empty(n, dtype=np.int32)
        head = min(n, _HEAD)
        new = [self._number(texts, codes, range(head))]
        seen = head

        for first in range(head, n, _WINDOW):
            rows: Any = range(first, min(first + _WINDOW, n))
            if len(new[-1]) * _RARE <= seen:
                rows, seen = self._unknown(texts, codes, rows, threads), len(rows)
            else:
                seen = len(rows)
            new.append(self._number(texts, codes, rows))
        return codes, np.concatenate(new)

    def _unknown(self, texts: StringViews, codes: Codes, rows: range, threads: int) -> Any:
        """Write the codes of the texts that are known, and return the other rows in order."""
        table = self._slots, self._bits, self._known, self._pool, codes
        parts = (
            (rows.start + first, rows.start + stop)
            for first, stop in kernels.split_range(len(rows), threads)
        )
        unknown = kernels.map_threads(lambda part: texts.look_up(part, *table), [*parts], threads)
        return np.concatenate([*unknown])

    def _number(self, texts: StringViews, codes: Codes, rows: Any) -> Any:
        """Write the codes of a range of rows, or of an array of them; return the rows of new texts."""
        is_range = isinstance(rows, range)
        place, stop = (rows.start, rows.stop) if is_range else (0, len(rows))
        new: list[Any] = []
        while place < stop:
            before = int(self._used[0])
            origins = np.empty(len(self._known), dtype=np.int64)
            table = (
                self._slots,
                self._bits,
                self._known,
                self._pool,
                len(self._pool),
                self._used,
                origins,
                codes,
            )
            place = (
                texts.number((place, stop), *table)
                if is_range
                else texts.number_rows(rows, place, *table)
            )
            new.append(origins[before : self._used[0]])
            if place < stop:
                self._grow()
        return np.concatenate(new) if new else np.empty(0, dtype=np.int64)

    def _grow(self) -> None:
        """Make room: more slots if half of them may be taken, and a larger pool of bytes."""
        if self._used[0] + _BATCH > len(self._known):
            self._bits += 2
            if self._bits > _MOST:
                raise IdError(
                    "there are too many different ids of text", found=f"{self._used[0]:,}"
                )
            slots = np.zeros(1 << self._bits, dtype=np.uint64)
            kernels.load().rw_spread_slots(self._slots, len(self._slots), slots, self._bits)
            self._slots, self._known = slots, _enlarge(self._known, len(slots) // 2)
        else:
            self._pool = _enlarge(self._pool, 4 * len(self._pool))


def _enlarge(array: Any, size: int) -> Any:
    """Return an array of ``size`` rows that begins with the rows of the given one."""
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def lookup_rows(ids: pl.Series, others: pl.Series) -> Codes:
    """Return the first row of each id in another column of the same kind, -1 if absent.

    >>> lookup_rows(pl.Series([7, 5, 3]), pl.Series([3, 7, 3])).tolist()
    [1, -1, 0]
    """
    if ids.dtype != others.dtype and ids.dtype.is_integer():  # of another width
        ids, others = whole_numbers(ids), whole_numbers(others)
    if len(others) and others.dtype == pl.Int64 and not ids.null_count() + others.null_count():
        low, high = np.array([others.min(), others.max()], dtype=np.int64).tolist()
        if high - low <= _ROOMY * (len(ids) + len(others)):
            rows = np.full(high - low + 2, -1)  # the last for all other ids
            rows[others.to_numpy()[::-1] - low] = np.arange(len(others))[::-1]
            row: Codes = rows[
                np.minimum((ids.to_numpy() - low).view(np.uint64), np.uint64(high - low + 1))
            ]
            return row
    right = pl.DataFrame({"id": others, "row": np.arange(len(others))}).unique("id", keep="first")
    joined = ids.to_frame("id").join(right, on="id", how="left", maintain_order="left")
    return joined["row"].fill_null(-1).to_numpy()


def ascending_ranks(ids: pl.Series) -> Codes:
    """Return the ascending rank of each id, from 0.

    >>> ascending_ranks(pl.Series(["b", "c", "a"])).tolist()
    [1, 2, 0]
    """
    places = np.empty(len(ids), dtype=np.int64)
    places[ids.arg_sort().to_numpy()] = np.arange(len(ids))
    return places


def vocabulary_for(columns: list[pl.Series], *, dense: bool) -> Vocabulary:
    """Return an empty vocabulary for columns of one kind: all integers or all strings.

    Parameters
    ----------
    columns : list of polars.Series
        The columns that will be encoded, all integer or all string.
    dense : bool
        Whether codes will index counts, so that the largest code matters. Integers are then
        their own codes up to about four times the number of rows, and numbered beyond; if not
        dense, every integer is its own code.

    Returns
    -------
    Vocabulary
    """
    if columns[0].dtype == pl.String:
        return StringVocabulary()
    if not dense:
        return PlainIntegers()
    return IntegerVocabulary(4 * sum(len(column) for column in columns) + 1024)


def whole_numbers(ids: pl.Series) -> pl.Series:
    """Return integer ids as signed 64-bit integers; raise if they do not fit."""
    try:
        return ids.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError as error:
        raise IdError(
            "integer ids must fit 64 bits with a sign",
            where=f"column {ids.name!r}",
            found=str(ids.max()),
            hint="cast the column to strings in both tables",
        ) from error
