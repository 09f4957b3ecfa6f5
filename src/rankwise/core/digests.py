"""Digests of tables: equal for equal rows in any container, order and pieces.

The digest of a table is the sum, modulo 2^64, of a hash of each row. Digests of the pieces of a
table add up to that of the table. A row is hashed as SplitMix64's finaliser (Steele, Lea and Flood
2014) of its words times odd numbers, one for each column; the compiled loop and NumPy give the same
bits. Ids are hashed by value: whole numbers alike in every integer type and as text. Numbers that
are no ids are hashed in single precision, so that a file of float32 and its text are the same
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.hashing import combine_hashes, hash_of_text, id_numbers
from rankwise.core.kernels import default_threads, map_threads
from rankwise.core.texts import plain_strings

Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
"""One number of 64 bits for each row: its value, or a hash of it."""
_START = hash_of_text("seed 0")
"""Where the hash of a row starts: any number would do."""
_NOTHING = np.uint64(0x9E3779B97F4A7C15)
"""The word of a missing value."""
FINALISER = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and factors of the hash of a row, before a last shift of 31."""
_PART = 1 << 18  # rows whose words are made at a time
_FEW_PARTS = 1  # that take less time than another thread


def add_digests(digests: Iterable[int]) -> int:
    """Combine the digests of pieces into the digest of their table.

    >>> add_digests([2**64 - 1, 3])
    2
    """
    return sum(digests) % 2**64


def id_words(ids: pl.Series) -> Words:
    """Return a word for each id: whole numbers as themselves, also in text; a hash otherwise.

    >>> id_words(pl.Series(["7", "07"])).tolist()[0], id_words(pl.Series([7])).tolist()
    (7, [7])
    """
    if ids.dtype == pl.String:
        return id_numbers(ids).view(np.uint64)
    values: Any = ids.to_numpy()
    words: Words = (
        values if values.dtype == np.uint64 else values.astype(np.int64, copy=False).view(np.uint64)
    )
    return words


def text_words(texts: Sequence[str]) -> Words:
    """Return a word for each text."""
    return id_numbers(pl.Series(texts, dtype=pl.String)).view(np.uint64)


def number_words(values: Any) -> Words:
    """Return a word for each number, an array of any shape, in single precision; NaN is missing.

    >>> a, b = number_words(np.array([np.float32(0.7), 0.7]))
    >>> bool(a == b)
    True
    """
    with np.errstate(over="ignore"):
        single = np.asarray(values).astype(np.float32) + np.float32(0)  # -0.0 becomes 0.0
    words = single.view(np.uint32).astype(np.uint64)
    missing = np.isnan(single)
    return np.where(missing, _NOTHING, words) if missing.any() else words


def set_words(code: Any, words: Words, starts: Any) -> Words:
    """Return a word for each set of named values: the sum of their hashes, in any order.

    Parameters
    ----------
    code : array of int
        The number of each value's name, -1 for none.
    words : array, shape (names,)
        The word of each name.
    starts : array of int, or None
        Where each set starts, and the end of the last; None if there is one value each.
    """
    values: Words = np.append(combine_hashes([words], 0), _NOTHING)[code]
    if starts is None:
        return values
    running: Words = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
    sums: Words = running[starts[1:]] - running[starts[:-1]]
    return sums


def row_digest(columns: Sequence[Words | None]) -> int:
    """Return the sum of the hashes of rows; a column that is None holds 1.0 in every row.

    >>> rows = [np.array([1, 2], np.uint64), np.array([5, 6], np.uint64)]
    >>> row_digest(rows) == row_digest([column[::-1] for column in rows])
    True
    """
    start, factors = start_and_factors(tuple(column is None for column in columns))
    arrays = [column for column in columns if column is not None]
    total = kernels.row_digest(arrays, factors, start)
    return _sum_of_hashes(arrays, factors, start) if total is None else total


def digest_in_parts(n: int, words: Callable[[slice], Sequence[Words | None]], threads: int) -> int:
    """Return the digest of a table of n rows, in parts whose words stay in the cache.

    Parameters
    ----------
    n : int
        Number of rows.
    words : callable
        Returns the words of some rows, by column.
    threads : int
        Number of threads, for tables of many parts.
    """
    parts = [slice(first, first + _PART) for first in range(0, max(n, 1), _PART)]
    return add_digests(
        map_threads(
            lambda rows: row_digest(words(rows)), parts, threads if len(parts) > _FEW_PARTS else 1
        )
    )


@cache
def start_and_factors(is_one: tuple[bool, ...]) -> tuple[int, Any]:
    """Return where the hash of a row starts, and the factors of the columns that are there."""
    factors = combine_hashes([np.arange(len(is_one), dtype=np.uint64)], 0) | np.uint64(1)
    one = int(number_words(np.ones(1))[0])
    start = add_digests(
        [
            _START,
            *(one * int(factor) for factor, absent in zip(factors, is_one, strict=True) if absent),
        ]
    )
    return start, factors[[not absent for absent in is_one]]


def _sum_of_hashes(columns: Sequence[Words], factors: Any, start: int) -> int:
    """Compute in NumPy the sum of hashes that the compiled loop returns."""
    hashes = np.full(len(columns[0]), start, dtype=np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        hashes += column * factor
    for shift, factor in FINALISER:
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return int(hashes.sum(dtype=np.uint64))


def digest_of_rows(frame: pl.DataFrame, number: str, users: Words | None = None) -> int:
    """Return the digest of users, items and numbers; numbers are 1 without the column.

    ``users`` are the words of users, if the table has numbers in their place.
    """
    user, item = frame["user"], frame["item"]
    values = frame[number].to_numpy() if number in frame.columns else None

    def words(rows: slice) -> list[Words | None]:
        return [
            id_words(user[rows]) if users is None else users[user[rows].to_numpy()],
            id_words(item[rows]),
            None if values is None else number_words(values[rows]),
        ]

    return digest_in_parts(len(user), words, default_threads())


def column_words(column: pl.Series) -> Words:
    """Return a word for each number in a column; text that is not a number counts as missing."""
    return number_words(plain_strings(column).cast(pl.Float64, strict=False).to_numpy())
