"""Checks of the values of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from rankwise.core.texts import plain_texts
from rankwise.errors import ColumnError, EmptyError, IdError, ScoreError
from rankwise.tables.columns import TableRole
from rankwise.tables.table import Table

__all__ = [
    "EXACT",
    "POLARS_FAILURES",
    "check_exact",
    "check_finite",
    "check_numeric",
    "check_ranks",
    "check_was_read",
    "checked_ids",
    "empty_table",
    "may_be_missing",
    "not_finite",
    "null_ids",
    "unreadable",
    "where_in",
]

POLARS_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises: a panic, which damaged files can cause, is no `Exception`."""
EXACT = 2**53
"""Whole numbers below this are floats without loss."""


def checked_ids(ids: pl.Series, column: str, table: Table) -> pl.Series:
    """Return ids as integers or strings; raise if they are null or of another type."""
    where = where_in(table, column)
    ids = plain_texts(ids)
    if ids.dtype in (pl.Int128, pl.UInt128) or (
        ids.dtype == pl.UInt64 and int(cast("int | None", ids.max()) or 0) >= 2**63
    ):
        ids = _narrow(ids, where)
    if ids.null_count():
        row = int(ids.is_null().arg_true()[0])
        raise null_ids(column, f"{where}, row {row + 1}", ids.null_count())
    if not (ids.dtype.is_integer() or ids.dtype == pl.String or not len(ids)):
        hint = "cast the column to integers or strings"
        if ids.dtype.is_nested():
            hint = "join the parts of an id into one text; several items of a user are one row each"
        if ids.dtype.is_float():
            hint += " (a column with gaps becomes float in pandas: drop or fill the gaps first)"
        raise IdError("ids are integers or strings", where=where, found=str(ids.dtype), hint=hint)
    return ids


def null_ids(column: str, where: str, count: int) -> IdError:
    """Return the error for ids that are null."""
    return IdError(
        f"{'an' if column == 'item' else 'a'} {column} id is null",
        where=where,
        found=f"{count} null ids",
        hint="drop those rows or give them an id",
    )


def unreadable(column: pl.Series, where: str) -> ColumnError:
    """Return the error for a column of Python's objects that has to be read."""
    types = sorted({type(value).__name__ for value in column if value is not None})
    return _of_no_type(column.name, where, " and ".join(types) or None)


def check_was_read(table: Table, name: str | None) -> None:
    """Raise if a table of items or users has a column that could not be read."""
    if name in table.unread:
        raise _of_no_type(str(name), table.source, None)


def _of_no_type(name: str, where: str, types: str | None) -> ColumnError:
    return ColumnError(
        f"column {name!r} holds values of several types, or of one that cannot be read",
        where=where,
        found=types,
        hint="give the column one type: integers, floats or text",
    )


def empty_table(table: Table) -> EmptyError:
    """Return the error for a table without rows."""
    return EmptyError(f"the table of {table.role} is empty", where=table.source, found="0 rows")


def where_in(table: Table, column: str) -> str:
    """Return the place of a column in a message, under the name that the source has for it."""
    return f"{table.role}, column {table.columns.get(column, column)!r}"


def _narrow(ids: pl.Series, where: str) -> pl.Series:
    try:
        return ids.cast(pl.Int64)
    except pl.exceptions.PolarsError as error:
        raise IdError("integer ids must fit 64 bits with a sign", where=where, found=str(ids.max())) from error


def may_be_missing(role: TableRole, column: str) -> bool:
    """Whether a number may be missing: no metric reads the ratings of training, nor does a split."""
    return role == "interactions" or (role == "train" and column == "relevance")


def check_finite(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless all values of a column are finite numbers."""
    if values.dtype.is_float() and not values.null_count() and math.isfinite(values.sum()):
        return  # the sum of NaN, or of infinity, and anything else is not finite
    check_numeric(values, column, table)
    bad = values.is_null()
    if values.dtype.is_float():
        bad = bad | ~values.is_finite()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise not_finite(column, _place(table, column, row), f"{values[row]} ({int(bad.sum())} such rows)")


def not_finite(column: str, where: str, found: str) -> ScoreError:
    """Return the error for a number that is null, NaN or infinite."""
    hint = "drop those rows, or find out why the model gives no number"
    if column == "relevance":
        hint = "drop those rows, or give each of them a relevance"
    elif column == "weight":
        hint = "give each user a weight"
    return ScoreError(f"a {column} is null, NaN or infinite", where=where, found=found, hint=hint)


def check_ranks(rank: pl.Series, table: Table) -> None:
    """Raise if a rank is negative: some libraries write -1 for an item that is not ranked."""
    if float(cast("float", rank.min())) >= 0:
        return
    bad = rank < 0
    row = int(bad.arg_true()[0])
    raise ScoreError(
        "a rank is negative: ranks count from 0 or 1",
        where=_place(table, "rank", row),
        found=f"{rank[row]} ({int(bad.sum())} such rows)",
        hint="drop the rows of items that are not ranked",
    )


def _place(table: Table, column: str, row: int) -> str:
    """Return the place of a value in a message: column, row and user."""
    user = f", user {table.frame['user'][row]!r}" if "user" in table.frame.columns else ""
    return f"{where_in(table, column)}, row {row + 1}{user}"


def check_numeric(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless a column holds numbers, of which some may be missing."""
    if not (values.dtype.is_float() or values.dtype.is_integer()):
        raise ColumnError(f"the {column} must be a number", where=where_in(table, column), found=str(values.dtype))


def check_exact(values: pl.Series | Sequence[Any], number: pl.Series, name: str, source: str) -> None:
    """Raise if numbers lose digits as floats, so that different ones become equal."""
    decimals = isinstance(values, pl.Series) and values.dtype.is_decimal()
    if not decimals and float(number.abs().max() or 0) < EXACT:  # type: ignore[arg-type]
        return
    before = values.n_unique() if isinstance(values, pl.Series) else len(set(values))
    if number.n_unique() < before:
        raise ScoreError(
            f"numbers in column {name!r} have too many digits to be told apart as floats",
            where=source,
            found=f"{before} values, of which {number.n_unique()} are left",
            hint="subtract the smallest from all, or pass ranks",
        )
