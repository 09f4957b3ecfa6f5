"""Columns of any type as labels or numbers, for readers of columns beside ids, scores and times."""

from __future__ import annotations

import polars as pl

from rankwise.core.texts import clean_labels, plain_strings
from rankwise.errors import ColumnError

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
"""Text that is a number; with a leading zero it is a label, such as a postal code."""


def as_labels(column: pl.Series, where: str) -> pl.Series:
    """Return a column as labels of groups, categories or events; null where a label is missing.

    Text has no blanks around it, and blank text is missing, as is NaN. Whole and other numbers,
    truth values, dates and ordered categories keep their type, and with it their order.

    Parameters
    ----------
    column : polars.Series
        The column.
    where : str
        The table, and the column as its source calls it, for the error.

    Raises
    ------
    ColumnError
        If its values are no labels: lists, records, bytes, durations, Python's objects.

    Examples
    --------
    >>> as_labels(pl.Series([" war", "", "drama"]), "items, column 'genre'").to_list()
    ['war', None, 'drama']
    >>> as_labels(pl.Series([0.5, float("nan"), -0.0]), "items, column 'size'").to_list()
    [0.5, None, 0.0]
    """
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        raise ColumnError(
            f"column {column.name!r} does not hold one label per row",
            where=where,
            found=str(dtype),
            hint="write labels as text or numbers",
        )
    if dtype == pl.Null:
        return column.cast(pl.String)
    if dtype.is_float():
        return column.fill_nan(None) + 0.0  # -0.0 becomes 0.0
    return clean_labels(column)


def as_numbers(column: pl.Series, where: str) -> pl.Series:
    """Convert numbers, truth values or text to numbers; a missing number becomes null.

    Whole numbers stay whole, others become floats.

    Parameters
    ----------
    column : polars.Series
        The column.
    where : str
        The table, and the column as its source calls it, for the error.

    Raises
    ------
    ColumnError
        If a value is no number.

    Examples
    --------
    >>> as_numbers(pl.Series(["30", " 7.5", ""]), "users, column 'age'").to_list()
    [30.0, 7.5, None]
    """
    dtype, plain = column.dtype, plain_strings(column)
    if dtype.is_integer():
        return column
    if dtype == pl.Null or dtype == pl.Boolean or dtype.is_decimal():
        return column.cast(pl.Float64)
    if dtype.is_float():
        return column.cast(pl.Float64).fill_nan(None)
    if plain.dtype != pl.String:
        raise _no_numbers(column, where, str(dtype))

    text = plain.str.strip_chars().replace("", None)
    numbers = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & numbers.is_null()
    if bad.any():
        raise _no_numbers(column, where, f"{text.filter(bad)[0]!r} ({int(bad.sum()):,} such rows)")
    return _whole(text, numbers.fill_nan(None))


def _no_numbers(column: pl.Series, where: str, found: str) -> ColumnError:
    return ColumnError(f"column {column.name!r} does not hold numbers", where=where, found=found)


def numbers_in_text(column: pl.Series) -> pl.Series | None:
    """Parse a column of numbers in text; return None for any other column.

    A text file writes all values as text. Text with a leading zero is no number: it is a code.

    Examples
    --------
    >>> numbers_in_text(pl.Series(["100", "9", ""])).to_list()
    [100, 9, None]
    >>> numbers_in_text(pl.Series(["01234", "99999"])) is None
    True
    """
    if column.dtype != pl.String:
        return None
    text = column.str.strip_chars().replace("", None)
    written = text.drop_nulls()
    if not len(written) or not written.str.contains(_NUMBER).all():
        return None
    return _whole(text, text.cast(pl.Float64))


def _whole(text: pl.Series, numbers: pl.Series) -> pl.Series:
    """Return integers if all texts are whole numbers, as integers keep more digits than floats."""
    whole = text.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == text.null_count() else numbers
