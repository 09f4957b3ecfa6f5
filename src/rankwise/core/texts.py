"""Columns of text: plain text of categories, and the bytes for compiled loops, without a copy.

Polars hands a column out through Arrow's C stream interface, as string views (Apache Arrow, "The
Arrow C stream interface" and "Variable-size Binary View Layout"): two structures of pointers, which
are read here with ctypes. Where loops are not compiled, Polars does the work.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.threads import each, shares

__all__ = ["WHOLE_NUMBER", "Texts", "id_numbers", "labels", "plain_texts", "text_hashes", "texts_of"]

WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is a whole number in canonical form."""
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


@dataclass(frozen=True)
class Texts:
    """The texts of a column: the address of their views, and that of the buffers behind these."""

    views: int
    buffers: int

    def changes(self, first: int, stop: int) -> Any:
        """Return the rows from ``first``, at least 1, up to ``stop`` that differ from that before.

        Returns
        -------
        array of int
        """
        rows = np.empty(max(stop - first, 0), dtype=np.int64)
        found = kernels.loaded().rw_text_changes(self.views, self.buffers, first, stop, rows)
        return rows[:found]

    def hashes(self, first: int, stop: int, out: Any) -> None:
        """Write the hash of each of some rows to an array with a place for every row."""
        kernels.loaded().rw_text_hashes(self.views, self.buffers, first, stop, out)

    def numbers(self, first: int, stop: int, out: Any) -> None:
        """Write a number for each id of some rows to an array with a place for every row."""
        kernels.loaded().rw_id_numbers(self.views, self.buffers, first, stop, out)


@contextmanager
def texts_of(column: pl.Series) -> Iterator[Texts | None]:
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
        yield Texts((array.buffers[1] or 0) + _VIEW * array.offset, texts)
    finally:
        array.release(ctypes.addressof(array))


def _first_array(address: int) -> _Array | None:
    """Return the first array of a stream; None if it does not consist of string views."""
    stream, schema, array = _Stream.from_address(address), _Schema(), _Array()
    if stream.get_schema(address, ctypes.addressof(schema)):
        return None
    are_views = schema.format == b"vu"
    schema.release(ctypes.addressof(schema))
    if not are_views or stream.get_next(address, ctypes.addressof(array)):
        return None
    return array


def plain_texts(column: pl.Series) -> pl.Series:
    """Return the texts of a column of categories; any other column as it is.

    >>> plain_texts(pl.Series(["b", "a", "b"], dtype=pl.Categorical)).to_list()
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
    """Return a number of 64 bits for every id in text: a whole number itself, a hash of other text.

    The same bits everywhere: on every machine, with and without compiled loops.

    >>> id_numbers(pl.Series(["7", "-12"])).tolist(), id_numbers(pl.Series(["07"])).tolist() == [7]
    ([7, -12], False)
    """
    with texts_of(column) as texts:
        if texts is not None:
            out = np.empty(len(column), dtype=np.int64)
            texts.numbers(0, len(out), out)
            return out
    if not len(column):
        return np.empty(0, dtype=np.int64)
    distinct = column.unique()
    numbers = distinct.set(~distinct.str.contains(WHOLE_NUMBER), None).cast(pl.Int64, strict=False)
    hashes = [_hash_of_text(text) if number is None else number for text, number in zip(distinct, numbers, strict=True)]
    return column.replace_strict(distinct, pl.Series(hashes, dtype=pl.Int64), return_dtype=pl.Int64).to_numpy()


def _hash_of_text(text: str) -> int:
    """Return the hash that the compiled loop gives a text, as a signed number."""
    data = text.encode()
    words = [len(data) % 2**32 | int.from_bytes(data[:4], "little") << 32]
    words += [int.from_bytes(data[at : at + 8], "little") for at in range(4, max(len(data), 5), 8)]
    hash_ = 0
    for word in words:
        hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15 % 2**64
        hash_ ^= hash_ >> 32
    return hash_ - 2**64 if hash_ >= 2**63 else hash_


def labels(column: pl.Series) -> pl.Series:
    """Return a column of names of groups or categories: text without blanks around it, empty text as null.

    >>> labels(pl.Series([" war", "", "war "])).to_list()
    ['war', None, 'war']
    """
    if isinstance(column.dtype, pl.Categorical | pl.Enum):  # kept where it can be: it has an order
        names = column.unique().cast(pl.String)
        return column if labels(names).equals(names) else labels(plain_texts(column))
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
    with texts_of(column) as texts:
        if texts is None:
            return column.hash().to_numpy().view(np.int64)
        out = np.empty(len(column), dtype=np.uint64)
        threads = threads if len(column) > _FEW else 1
        list(each(lambda share: texts.hashes(*share, out), shares(len(out), threads), threads))
        return out.view(np.int64)
