"""Checks of the values of columns."""

from __future__ import annotations

import polars as pl

from rankwise.errors import ColumnError, IdError, ScoreError
from rankwise.tables.table import Table

__all__ = ["check_finite", "checked_ids"]


def checked_ids(ids: pl.Series, column: str, table: Table) -> pl.Series:
    """Return ids as integers or strings; raise if they are null or of another type."""
    where = f"{table.role}, column {table.columns.get(column, column)!r}"
    if isinstance(ids.dtype, pl.Categorical | pl.Enum):
        ids = ids.cast(pl.String)
    if ids.dtype in (pl.Int128, pl.UInt128):
        ids = _narrow(ids, where)
    if ids.null_count():
        row = int(ids.is_null().arg_true()[0])
        raise IdError(
            f"{'an' if column == 'item' else 'a'} {column} id is null",
            where=f"{where}, row {row + 1}",
            found=f"{ids.null_count()} null ids",
            hint="drop those rows or give them an id",
        )
    if not (ids.dtype.is_integer() or ids.dtype == pl.String or not len(ids)):
        hint = "cast the column to integers or strings"
        if ids.dtype.is_float():
            hint += " (a column with gaps becomes float in pandas: drop or fill the gaps first)"
        raise IdError("ids are integers or strings", where=where, found=str(ids.dtype), hint=hint)
    return ids


def _narrow(ids: pl.Series, where: str) -> pl.Series:
    try:
        return ids.cast(pl.Int64)
    except pl.exceptions.PolarsError as error:
        raise IdError(
            "integer ids must fit 64 bits with a sign", where=where, found=str(ids.max())
        ) from error


def check_finite(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless all values of a column are finite numbers."""
    where = f"{table.role}, column {table.columns.get(column, column)!r}"
    bad = values.is_null()
    if values.dtype.is_float():
        bad = bad | ~values.is_finite()
    elif not values.dtype.is_integer():
        raise ColumnError(f"the {column} must be a number", where=where, found=str(values.dtype))
    if bad.any():
        row = int(bad.arg_true()[0])
        user = f", user {table.frame['user'][row]!r}" if "user" in table.frame.columns else ""
        raise ScoreError(
            f"a {column} is null, NaN or infinite",
            where=f"{where}, row {row + 1}{user}",
            found=f"{values[row]} ({int(bad.sum())} such rows)",
            hint="drop those rows, or find out why the model gives no number",
        )
