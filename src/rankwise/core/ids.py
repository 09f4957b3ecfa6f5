"""Ids as codes: columns of text, vocabularies, and 64-bit hashes.

Compiled loops read columns of text without a copy. Polars hands a column out through Arrow's C
stream interface, as string views (Apache Arrow, "The Arrow C stream interface" and "Variable-size
Binary View Layout"): two structures of pointers, which are read here with ctypes. Where loops are
not compiled, Polars does the work.

Hashes of rows depend on their values alone, not on row order, library or machine. Random choices in
a split are drawn from these hashes, and rows of equal time are ordered by them, so that the same
rows in another order give the same split. The mixing step is the finaliser of SplitMix64 (Steele,
Lea and Flood 2014); text is hashed with BLAKE2b, once per distinct value.

A vocabulary turns ids into codes, small integers that are the same in all tables, and back. There
are four kinds:

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

import ctypes
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.kernels import each, shares
from rankwise.errors import IdError

__all__ = [
    "WHOLE_NUMBER",
    "Codes",
    "HashCollision",
    "HashedStrings",
    "Hashes",
    "IntegerVocabulary",
    "PlainIntegers",
    "StringViews",
    "StringVocabulary",
    "Vocabulary",
    "combined",
    "digest_of",
    "hash_of_column",
    "hash_of_text",
    "id_numbers",
    "json_hash",
    "labels",
    "places_of",
    "plain_strings",
    "rows_among",
    "string_views",
    "text_hashes",
    "vocabulary_for",
    "whole_numbers",
]


def json_hash(values: Any) -> str:
    """Return the SHA-256 of plain values, independent of key order and layout in JSON."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is a whole number in canonical form."""
_ROOMY = 8  # places for each id, up to which a table is quicker than a join
_FEW = 1 << 16  # texts that no thread is started for
_VIEW = 16  # bytes of a string view
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Schema(ctypes.Structure):
    """The start of Arrow's ``struct ArrowSchema``, and its end."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("not_read", ctypes.c_void_p * 6),
        ("release", _Release),
        ("private_data", ctypes.c_void_p),
    )


class _Array(ctypes.Structure):
    """Arrow's ``struct ArrowArray``."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("not_read", ctypes.c_void_p * 2),
        ("release", _Release),
        ("private_data", ctypes.c_void_p),
    )


class _Stream(ctypes.Structure):
    """The start of Arrow's ``struct ArrowArrayStream``."""

    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class StringViews:
    """The texts of a column: the addresses of their views, and of the buffers behind the views."""

    views: int
    buffers: int

    def changes(self, first: int, stop: int) -> Any:
        """Return the rows from ``first``, at least 1, up to ``stop`` that differ from that before.

        Returns
        -------
        array of int
        """
        rows = np.empty(max(stop - first, 0), dtype=np.int64)
        count = kernels.loaded().rw_text_changes(self.views, self.buffers, first, stop, rows)
        return rows[:count]

    def hashes(self, first: int, stop: int, out: Any) -> None:
        """Write the hashes of a range of rows to an array with a place for every row."""
        kernels.loaded().rw_text_hashes(self.views, self.buffers, first, stop, out)

    def numbers(self, first: int, stop: int, out: Any) -> None:
        """Write the numbers of a range of ids to an array with a place for every row."""
        kernels.loaded().rw_id_numbers(self.views, self.buffers, first, stop, out)


@contextmanager
def string_views(column: pl.Series) -> Iterator[StringViews | None]:
    """Lend the texts of a column without nulls; None where compiled loops cannot read them.

    They are there until the context ends.
    """
    if column.dtype != pl.String or not len(column) or kernels.loaded() is None:
        yield None
        return
    column = column.rechunk()
    capsule = column.__arrow_c_stream__(None)  # frees the stream when it is deleted
    array = _first_array(_pointer_of(capsule, b"arrow_array_stream"))
    if array is None:
        yield None
        return
    try:
        buffers = ctypes.addressof(array.buffers.contents)
        texts = buffers + 2 * ctypes.sizeof(ctypes.c_void_p)  # behind validity and views
        yield StringViews((array.buffers[1] or 0) + _VIEW * array.offset, texts)
    finally:
        array.release(ctypes.addressof(array))


def _first_array(address: int) -> _Array | None:
    """Return the first array of a stream; None unless the stream has string views."""
    stream, schema, array = _Stream.from_address(address), _Schema(), _Array()
    if stream.get_schema(address, ctypes.addressof(schema)):
        return None
    are_views = schema.format == b"vu"
    schema.release(ctypes.addressof(schema))
    if not are_views or stream.get_next(address, ctypes.addressof(array)):
        return None
    return array


def plain_strings(column: pl.Series) -> pl.Series:
    """Convert a column of categories to text; return any other column unchanged.

    >>> plain_strings(pl.Series(["b", "a", "b"], dtype=pl.Categorical)).to_list()
    ['b', 'a', 'b']
    """
    dtype = column.dtype
    if not isinstance(dtype, pl.Categorical | pl.Enum):
        return column
    codes = column.to_physical()
    largest = codes.max()
    if not isinstance(largest, int) or largest >= len(column):  # categories of other columns
        return column.cast(pl.String)
    # Each category becomes text once, and rows get its view: five times as fast as a cast of rows.
    every = pl.Series(column.name, np.arange(largest + 1), codes.dtype)
    return every.cat.to(dtype).cast(pl.String).gather(codes)


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
        _hash_of_text(text) if number is None else number
        for text, number in zip(distinct, numbers, strict=True)
    ]
    return column.replace_strict(
        distinct, pl.Series(hashes, dtype=pl.Int64), return_dtype=pl.Int64
    ).to_numpy()


def _hash_of_text(text: str) -> int:
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


def labels(column: pl.Series) -> pl.Series:
    """Clean labels of groups or categories: strip blanks, and replace empty text by null.

    >>> labels(pl.Series([" war", "", "war "])).to_list()
    ['war', None, 'war']
    """
    if isinstance(column.dtype, pl.Categorical | pl.Enum):  # kept where it can be: it has an order
        names = column.unique().cast(pl.String)
        return column if labels(names).equals(names) else labels(plain_strings(column))
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
    return text.replace("", None) if (text == "").any() else text


def text_hashes(column: pl.Series, threads: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a hash of 64 bits for every text of a column without nulls.

    >>> one, other, same = text_hashes(pl.Series(["a", "b", "a"])).tolist()
    >>> one == same, one == other
    (True, False)
    """
    with string_views(column) as texts:
        if texts is None:
            return column.hash().to_numpy().view(np.int64)
        out = np.empty(len(column), dtype=np.uint64)
        threads = threads if len(column) > _FEW else 1
        list(each(lambda share: texts.hashes(*share, out), shares(len(out), threads), threads))
        return out.view(np.int64)


Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_CHUNK = 1 << 17  # rows per step: few enough for their hashes to stay in the cache
_NULL = 0x9E3779B97F4A7C15  # the hash of a null


def hash_of_text(text: str) -> int:
    """Return the 64-bit hash of a text.

    >>> hash_of_text("ann") == hash_of_text("ann"), hash_of_text("ann") == hash_of_text("bob")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


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


def combined(columns: Sequence[Hashes], seed: int) -> Hashes:
    """Return one hash per row of several columns of hashes, below 2**63.

    >>> users, items = np.array([1, 2], dtype=np.uint64), np.array([5, 5], dtype=np.uint64)
    >>> bool((combined([users, items], 0) == combined([users, items], 0)).all())
    True
    >>> bool((combined([users, items], 0) == combined([users, items], 1)).any())
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
    rows = combined([hash_of_column(column) for column in columns], 0)
    return f"{int(rows.sum(dtype=np.uint64)):016x}"


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
        outliers = ids.filter(outside)
        new = outliers.unique(maintain_order=True)
        new = new.filter(~new.is_in(self._outside.implode()))
        self._outside = pl.concat([self._outside, new])
        numbers = self.limit + np.arange(len(self._outside))
        codes = ids.to_numpy(writable=True)
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
        return places_of(self.decode(np.arange(self.size)))[codes]


def rows_among(ids: pl.Series, others: pl.Series) -> Codes:
    """Return the first row of each id in another column of the same type, -1 if absent.

    >>> rows_among(pl.Series([7, 5, 3]), pl.Series([3, 7, 3])).tolist()
    [1, -1, 0]
    """
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


def places_of(ids: pl.Series) -> Codes:
    """Return the ascending rank of each id, from 0.

    >>> places_of(pl.Series(["b", "c", "a"])).tolist()
    [1, 2, 0]
    """
    places = np.empty(len(ids), dtype=np.int64)
    places[ids.arg_sort().to_numpy()] = np.arange(len(ids))
    return places


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
        hashes_of_rows, ids = codes.tolist(), dict[int, str]()
        for column in self._columns:
            hashes = pl.Series(text_hashes(column, self._threads))
            for code in hashes_of_rows:
                if code not in ids and (row := hashes.index_of(code)) is not None:
                    ids[code] = column[row]
        return pl.Series([ids[code] for code in hashes_of_rows], dtype=pl.String)

    def ordered(self, codes: Codes) -> Codes:
        """Hashes have no order."""
        raise TypeError("hashes have no order")


def vocabulary_for(
    columns: list[pl.Series], *, dense: bool, hashed: bool = False, threads: int = 1
) -> Vocabulary:
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
