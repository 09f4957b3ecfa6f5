"""Numbers that depend on what a row says and on nothing else: not on its place, library or machine.

Whatever is random in a split is drawn from these, and whatever is equal in time is put in order by
them, so that the same rows in another order give the same split. The mixing step is the finaliser
of SplitMix64 (Steele, Lea and Flood 2014); text goes through BLAKE2b, once for each distinct value.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.io.tables import WHOLE_NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Hashes", "combined", "hash_of_column", "hash_of_text"]

Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_CHUNK = 1 << 17  # rows worked on at a time: their numbers stay in the cache
_NOTHING = 0x9E3779B97F4A7C15  # a null


def hash_of_text(text: str) -> int:
    """Return a 64-bit number for a text.

    >>> hash_of_text("ann") == hash_of_text("ann"), hash_of_text("ann") == hash_of_text("bob")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def hash_of_column(column: pl.Series, *, ids: bool = True) -> Hashes:
    """Return a number for every value: equal for equal values, whatever holds them.

    Whole numbers are the same as floats (a file of text has one, a table the other), and dates
    are the same in every unit. Text that is a whole number is that number, and where it is no id
    also text that is another number, a date, true or false, as a file would write it.
    """
    kind = column.dtype
    if isinstance(kind, pl.Date | pl.Datetime):
        column = column.cast(pl.Datetime("us")).to_physical()
    elif kind.is_temporal():  # lengths of time, and times of day
        column = column.to_physical()
    elif kind == pl.Boolean:
        column = column.cast(pl.Int64)
    elif not kind.is_numeric() or kind.is_decimal() or kind in (pl.Int128, pl.UInt128):
        return _hash_of_texts(column, _of_id if ids else _of_value)
    elif kind.is_float():
        column = column.fill_nan(None)  # pandas has one word for both
    empty = column.is_null().to_numpy() if column.null_count() else None
    values = column.fill_null(0).to_numpy() if empty is not None else column.to_numpy()
    if values.dtype.kind == "f":
        values = values.astype(np.float64) + 0.0  # one zero, not two
        fits = np.abs(values) < 2.0**62
        whole = fits & (values == np.floor(values))
        bits = values.view(np.uint64).copy()
        bits[whole] = values[whole].astype(np.int64).view(np.uint64)
        values = bits
    out: Hashes = values.astype(np.int64, copy=False).view(np.uint64)
    if empty is not None:
        out = np.where(empty, np.uint64(_NOTHING), out)
    return out


def _hash_of_texts(column: pl.Series, number: Callable[[str], int]) -> Hashes:
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        column = pl.Series([repr(value) for value in column.to_list()], dtype=pl.String)
    text = column.cast(pl.String)
    distinct = text.unique()
    numbers = [_NOTHING if value is None else number(value) for value in distinct]
    each = text.to_frame("text").join(
        pl.DataFrame({"text": distinct, "hash": pl.Series(numbers, dtype=pl.UInt64)}),
        on="text", how="left", maintain_order="left", nulls_equal=True,
    )  # fmt: skip
    return each["hash"].to_numpy()


_WHOLE = re.compile(WHOLE_NUMBER)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?")
_WORDS = {"true": 1, "True": 1, "false": 0, "False": 0}


def _of_id(text: str) -> int:
    """Take text that a file could not tell from a whole number for that number."""
    return int(text) % 2**64 if _WHOLE.fullmatch(text) else hash_of_text(text)


def _of_value(text: str) -> int:
    """Take text for the number, the date, true or false that a file would write so."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        if _DATE.fullmatch(text):
            since = datetime.fromisoformat(text) - datetime(1970, 1, 1)
            return since // timedelta(microseconds=1) % 2**64
        value = float(text)
    except ValueError:
        return hash_of_text(text)
    if repr(value) == text and np.isfinite(value):
        return int(hash_of_column(pl.Series([value]))[0])
    return _of_id(text)


def combined(columns: Sequence[Hashes], seed: int) -> Hashes:
    """Return one number for each row of several columns of numbers, below 2**63.

    >>> one, two = np.array([1, 2], dtype=np.uint64), np.array([5, 5], dtype=np.uint64)
    >>> bool((combined([one, two], 0) == combined([one, two], 0)).all())
    True
    >>> bool((combined([one, two], 0) == combined([one, two], 1)).any())
    False
    """
    start = np.uint64(hash_of_text(f"seed {seed}"))
    out: Hashes = np.empty(len(columns[0]), dtype=np.uint64)
    for first in range(0, len(out), _CHUNK):
        part = out[first : first + _CHUNK]
        part[:] = start
        for column in columns:
            part ^= column[first : first + _CHUNK]
            _mix(part)
    out >>= np.uint64(1)  # room above every number, for whoever fills up with the largest
    return out


def _mix(numbers: Hashes) -> None:
    numbers += np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
