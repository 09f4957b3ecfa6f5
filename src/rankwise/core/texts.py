"""Columns of text: read where they lie, without a copy, by compiled loops.

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

WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is a whole number in canonical form."""
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
        count = kernels.load().rw_text_changes(self.views, self.buffers, first, stop, rows)
        return rows[:count]

    def number(self, share: tuple[int, int], *table: Any) -> int:
        """Write the codes of a range of rows; return the row before which the table was full.

        ``table`` is what the compiled loop `rw_text_codes` takes, which says what it holds.
        """
        row: int = kernels.load().rw_text_codes(self.views, self.buffers, *share, *table)
        return row

    def number_rows(self, rows: Any, first: int, *table: Any) -> int:
        """Write the codes of some rows, from place ``first`` on; return the place of the next."""
        place: int = kernels.load().rw_text_codes_at(
            self.views, self.buffers, first, len(rows), *table, rows
        )
        return place

    def look_up(self, share: tuple[int, int], *table: Any) -> Any:
        """Write the codes of the known texts in a range of rows; return the other rows.

        Returns
        -------
        array of int
        """
        first, stop = share
        rows = np.empty(stop - first, dtype=np.int64)
        unknown = kernels.load().rw_text_lookup(self.views, self.buffers, first, stop, *table, rows)
        return rows[:unknown]

    def numbers(self, first: int, stop: int, out: Any) -> None:
        """Write the numbers of a range of ids to an array with a place for every row."""
        kernels.load().rw_id_numbers(self.views, self.buffers, first, stop, out)


@contextmanager
def string_views(column: pl.Series) -> Iterator[StringViews | None]:
    """Lend the texts of a column without nulls; None where compiled loops cannot read them.

    They are there until the context ends.
    """
    if column.dtype != pl.String or not len(column) or kernels.load() is None:
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


def clean_labels(column: pl.Series) -> pl.Series:
    """Clean labels of groups or categories: strip blanks, and replace empty text by null.

    >>> clean_labels(pl.Series([" war", "", "war "])).to_list()
    ['war', None, 'war']
    """
    if isinstance(column.dtype, pl.Categorical | pl.Enum):  # kept where it can be: it has an order
        names = column.unique().cast(pl.String)
        return column if clean_labels(names).equals(names) else clean_labels(plain_strings(column))
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
    return text.replace("", None) if (text == "").any() else text
