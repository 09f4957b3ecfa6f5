"""Hashes of 64 bits, of texts, columns and rows.

Hashes of rows depend on their values alone, not on row order, library or machine. Random choices in
a split are drawn from these hashes, and rows of equal time are ordered by them, so that the same
rows in another order give the same split. The mixing step is the finaliser of SplitMix64 (Steele,
Lea and Flood 2014); text is hashed with BLAKE2b, once per distinct value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.texts import WHOLE_NUMBER, string_views

Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_CHUNK = 1 << 17  # rows per step: few enough for their hashes to stay in the cache
_NULL = 0x9E3779B97F4A7C15  # the hash of a null


def json_hash(values: Any) -> str:
    """Return the SHA-256 of plain values, independent of key order and layout in JSON."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def id_numbers(column: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a 64-bit number for each id in text: whole numbers as themselves, a hash otherwise.

    The same bits everywhere: on every machine, with and without compiled loops.

    >>> id_numbers(pl.Series(["7", "-12"])).tolist(), id_numbers(pl.Series(["07"])).tolist() == [7]
    ([7, -12], False)
    """
    with string_views(column) as texts:
        if texts is not None:
            out = np.empty(len(column), dtype=np.int64)
            texts.numbers(0, len(out), out)
            return out
    if not len(column):
        return np.empty(0, dtype=np.int64)
    distinct = column.unique()
    numbers = distinct.set(~distinct.str.contains(WHOLE_NUMBER), None).cast(pl.Int64, strict=False)
    hashes = [
        _number_of_text(text) if number is None else number
        for text, number in zip(distinct, numbers, strict=True)
    ]
    return column.replace_strict(
        distinct, pl.Series(hashes, dtype=pl.Int64), return_dtype=pl.Int64
    ).to_numpy()


def _number_of_text(text: str) -> int:
    """Return the hash that the compiled loop gives a text, as a signed number."""
    data = text.encode()
    words = [
        len(data) | int.from_bytes(data[:4], "little") << 32
    ]  # Arrow's texts are shorter than 2^32 bytes
    words += [int.from_bytes(data[at : at + 8], "little") for at in range(4, max(len(data), 5), 8)]
    hash_ = 0
    for word in words:
        hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15 % 2**64
        hash_ ^= hash_ >> 32
    return hash_ - 2**64 if hash_ >= 2**63 else hash_


def hash_of_text(text: str) -> int:
    """Return the 64-bit hash of a text.

    >>> hash_of_text("ann") == hash_of_text("ann"), hash_of_text("ann") == hash_of_text("bob")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def digest_of_values(per_user: pl.DataFrame) -> str:
    """Return the SHA-256 of users' values, by which a decision knows what it was made from."""
    return hashlib.sha256(per_user.write_csv().encode()).hexdigest()


def hash_of_column(column: pl.Series, *, ids: bool = True) -> Hashes:
    """Return the hash of every value: equal for equal values of any data type.

    Whole numbers hash like equal floats (a text file has one, a table the other), and dates alike
    in every unit. Text that is a whole number hashes like that number; in columns that are not
    ids, so does text that is another number, a date or a Boolean, as a file would write it.
    """
    dtype = column.dtype
    if isinstance(dtype, pl.Date | pl.Datetime):
        column = column.cast(pl.Datetime("us")).to_physical()
    elif dtype.is_temporal():  # durations and times of day
        column = column.to_physical()
    elif dtype == pl.Boolean:
        column = column.cast(pl.Int64)
    elif not dtype.is_numeric() or dtype.is_decimal() or dtype in (pl.Int128, pl.UInt128):
        return _hash_of_texts(column, _hash_of_id if ids else _hash_of_value)
    elif dtype.is_float():
        column = column.fill_nan(None)  # pandas writes both as NaN
    nulls = column.is_null().to_numpy() if column.null_count() else None
    values = column.fill_null(0).to_numpy() if nulls is not None else column.to_numpy()
    if values.dtype.kind == "f":
        values = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        fits = np.abs(values) < 2.0**62
        whole = fits & (values == np.floor(values))
        bits = values.view(np.uint64).copy()
        bits[whole] = values[whole].astype(np.int64).view(np.uint64)
        values = bits
    hashes: Hashes = values.astype(np.int64, copy=False).view(np.uint64)
    if nulls is not None:
        hashes = np.where(nulls, np.uint64(_NULL), hashes)
    return hashes


def _hash_of_texts(column: pl.Series, hash_one: Callable[[str], int]) -> Hashes:
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        column = pl.Series([repr(value) for value in column.to_list()], dtype=pl.String)
    text = column.cast(pl.String)
    distinct = text.unique()
    hashes = [_NULL if value is None else hash_one(value) for value in distinct]
    joined = text.to_frame("text").join(
        pl.DataFrame({"text": distinct, "hash": pl.Series(hashes, dtype=pl.UInt64)}),
        on="text",
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )
    return joined["hash"].to_numpy()


_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?"
_BOOLEANS = {"true": 1, "True": 1, "false": 0, "False": 0}


def _hash_of_id(text: str) -> int:
    """Hash text that is a whole number as that number: a file could not tell the two apart."""
    return int(text) % 2**64 if re.fullmatch(WHOLE_NUMBER, text) else hash_of_text(text)


def _hash_of_value(text: str) -> int:
    """Hash text as the number, date or Boolean that a file would write in this way."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    try:
        if re.fullmatch(_DATE, text):
            since = datetime.fromisoformat(text) - datetime(1970, 1, 1)
            return since // timedelta(microseconds=1) % 2**64
        value = float(text)
    except ValueError:
        return hash_of_text(text)
    if repr(value) == text and np.isfinite(value):
        return int(hash_of_column(pl.Series([value]))[0])
    return _hash_of_id(text)


def combine_hashes(columns: Sequence[Hashes], seed: int) -> Hashes:
    """Return one hash per row of several columns of hashes, below 2**63.

    >>> users, items = np.array([1, 2], dtype=np.uint64), np.array([5, 5], dtype=np.uint64)
    >>> bool((combine_hashes([users, items], 0) == combine_hashes([users, items], 0)).all())
    True
    >>> bool((combine_hashes([users, items], 0) == combine_hashes([users, items], 1)).any())
    False
    """
    start = np.uint64(hash_of_text(f"seed {seed}"))
    hashes: Hashes = np.empty(len(columns[0]), dtype=np.uint64)
    for first in range(0, len(hashes), _CHUNK):
        chunk = hashes[first : first + _CHUNK]
        chunk[:] = start
        for column in columns:
            chunk ^= column[first : first + _CHUNK]
            _mix(chunk)
    hashes >>= np.uint64(1)  # leaves larger numbers free, which pad rows that are sorted by hash
    return hashes


def _mix(hashes: Hashes) -> None:
    hashes += np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)


def digest_of(columns: Sequence[pl.Series]) -> str:
    """Return a hash of the rows of columns, independent of the order of rows."""
    rows = combine_hashes([hash_of_column(column) for column in columns], 0)
    return f"{int(rows.sum(dtype=np.uint64)):016x}"
