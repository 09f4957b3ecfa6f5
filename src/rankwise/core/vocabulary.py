"""Ids to codes: users and items as small integers that are the same in all tables.

A vocabulary turns ids into codes and back. There are four kinds:

* `PlainIntegers`: integers are their own codes, for items that are only compared.
* `IntegerVocabulary`: integers below a limit are their own codes (no hashing, no copy); other ids,
  negative or in the billions, are numbered.
* `StringVocabulary`: Polars' categories, a concurrent hash table that grows as tables come in.
* `HashedStrings`: 64-bit hashes, many times as fast, for items that are only compared. Equal hashes
  are confirmed by comparing the strings themselves; if those differ (`HashCollision`), the run
  starts again with a `StringVocabulary`.

Codes are private to one process; results that leave it (a `Partial`, a `Result`) carry ids.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.texts import text_hashes
from rankwise.errors import IdError

__all__ = [
    "Codes",
    "HashCollision",
    "HashedStrings",
    "IntegerVocabulary",
    "PlainIntegers",
    "StringVocabulary",
    "Vocabulary",
    "vocabulary_for",
    "whole_numbers",
]

Codes: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""Codes of ids: a one-dimensional NumPy array of an integer type."""


class Vocabulary(Protocol):
    """A mapping of ids to codes and back."""

    @property
    def size(self) -> int:
        """One more than the largest code assigned so far."""

    def encode(self, ids: pl.Series) -> Codes:
        """Return the code of each id; unknown ids get new codes."""

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""

    def ordered(self, codes: Codes) -> Codes:
        """Return for each code a number that grows with its id."""


class PlainIntegers:
    """Integers as their own codes, whatever they are: not dense, and nothing to look at.

    Examples
    --------
    >>> PlainIntegers().encode(pl.Series([3, -1, 10**12])).tolist()
    [3, -1, 1000000000000]
    """

    @property
    def size(self) -> int:
        """Any integers are no index of counts."""
        raise TypeError("plain integers are not dense")

    def encode(self, ids: pl.Series) -> Codes:
        """Return the ids themselves, without a copy."""
        if ids.dtype == pl.UInt64:
            ids = whole_numbers(ids)
        return ids.to_numpy()

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        return pl.Series(codes.astype(np.int64))

    def ordered(self, codes: Codes) -> Codes:
        """Return the codes, which grow with their ids."""
        return codes


class IntegerVocabulary:
    """Integers as their own codes, up to a limit; other ids are numbered.

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

    def encode(self, ids: pl.Series) -> Codes:
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
        others = ids.filter(outside)
        new = others.unique(maintain_order=True)
        new = new.filter(~new.is_in(self._outside.implode()))
        self._outside = pl.concat([self._outside, new])
        numbers = self.limit + np.arange(len(self._outside))
        codes = ids.to_numpy(writable=True)
        codes[outside.to_numpy()] = others.replace_strict(self._outside, numbers, return_dtype=pl.Int64).to_numpy()
        return codes

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        ids = codes.astype(np.int64)
        outside = ids >= self.limit
        if outside.any():
            ids[outside] = self._outside.to_numpy()[ids[outside] - self.limit]
        return pl.Series(ids)

    def ordered(self, codes: Codes) -> Codes:
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
        self._dtype = pl.Categorical(pl.Categories.random("rankwise"))
        # Polars forgets categories that no column uses any more; this column keeps them.
        self._anchor = pl.Series([], dtype=self._dtype)
        self._size = 0

    @property
    def size(self) -> int:
        """One more than the largest code assigned so far."""
        return self._size

    def encode(self, ids: pl.Series) -> Codes:
        """Return the code of each id; unknown ids get new codes."""
        codes = ids.cast(self._dtype).to_physical().to_numpy()
        self._size = max(self._size, int(codes.max(initial=0)) + 1 if len(codes) else 0)
        return codes

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each code."""
        return pl.Series(codes.astype(np.uint32)).cat.to(self._dtype).cast(pl.String)

    def ordered(self, codes: Codes) -> Codes:
        """Return for each code a number that grows with its id."""
        ids = self.decode(np.arange(self.size))
        order = np.empty(len(ids), dtype=np.int64)
        order[ids.arg_sort().to_numpy()] = np.arange(len(ids))
        return order[codes]


class HashCollision(Exception):  # noqa: N818 - not an error: an event that is handled
    """Two strings have the same hash, so hashes cannot stand for strings here."""


class HashedStrings:
    """Strings as their 64-bit hashes: not dense, not ordered, to be confirmed.

    Parameters
    ----------
    threads : int, default=1
        Threads to use.

    Examples
    --------
    >>> vocabulary = HashedStrings()
    >>> codes = vocabulary.encode(pl.Series(["b", "a", "b"]))
    >>> bool(codes[0] == codes[2]), bool(codes[0] == codes[1])
    (True, False)
    >>> vocabulary.decode(codes[:1]).to_list()
    ['b']
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._columns: list[pl.Series] = []

    @property
    def size(self) -> int:
        """Hashes are no index of counts."""
        raise TypeError("hashes are not dense")

    def encode(self, ids: pl.Series) -> Codes:
        """Return the hash of each id."""
        # For messages: the ground truth, which comes first, and the latest lists.
        self._columns = [*self._columns[:1], ids]
        return text_hashes(ids, self._threads)

    def decode(self, codes: Codes) -> pl.Series:
        """Return the id of each hash by a search: for messages, not for tables."""
        wanted, ids = codes.tolist(), dict[int, str]()
        for column in self._columns:
            hashes = pl.Series(text_hashes(column, self._threads))
            for code in wanted:
                if code not in ids and (row := hashes.index_of(code)) is not None:
                    ids[code] = column[row]
        return pl.Series([ids[code] for code in wanted], dtype=pl.String)

    def ordered(self, codes: Codes) -> Codes:
        """Hashes have no order."""
        raise TypeError("hashes have no order")


def vocabulary_for(columns: list[pl.Series], *, dense: bool, hashed: bool = False, threads: int = 1) -> Vocabulary:
    """Return an empty vocabulary for columns of one kind: all integers or all strings.

    Parameters
    ----------
    columns : list of polars.Series
        The columns that will be encoded, all integer or all string.
    dense : bool
        Whether codes will index counts, so that the largest code matters. Integers are then
        their own codes up to about four times the number of rows, and numbered beyond; if not
        dense, every integer is its own code.
    hashed : bool, default=False
        Whether strings may be hashed: nothing needs their order or their number.
    threads : int, default=1
        Threads to hash with.

    Returns
    -------
    Vocabulary
    """
    if columns[0].dtype == pl.String:
        return HashedStrings(threads) if hashed else StringVocabulary()
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
