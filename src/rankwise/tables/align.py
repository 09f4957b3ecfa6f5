"""The same type of ids in all tables, and an explanation of ids that cannot match."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import IdError
from rankwise.tables.table import Table

__all__ = ["align", "matching"]


def align(tables: list[Table], column: str) -> list[Table]:
    """Return tables whose ids in a column have one type, integer or string.

    Integers that were text in a file become text again if another table has strings. Nothing is
    lost: only text that is written as integers are was read as integers. Any other mixture is an
    error, because ``"1"`` and ``1`` would silently never match.

    Parameters
    ----------
    tables : list of Table
        Tables to be matched with one another; those without the column stay as they are.
    column : {"user", "item"}
        The column of ids.

    Returns
    -------
    list of Table
    """
    with_ids = [table for table in tables if column in table.frame.columns]
    strings = [table for table in with_ids if table.frame[column].dtype == pl.String]
    if not strings or len(strings) == len(with_ids):
        return tables
    out = []
    for table in tables:
        if column in table.frame.columns and table.frame[column].dtype != pl.String:
            if not table.is_text:
                raise _mixed(column, table, strings[0])
            table = table.with_ids(column, table.frame[column].cast(pl.String))
        out.append(table)
    return out


def matching(table: Table, column: str, ids: pl.Series) -> pl.DataFrame:
    """Return the rows of a table with ids cast to the type of other ids, where that is possible."""
    evaluated = replace(table, frame=ids.to_frame(column), source="the evaluated tables", is_text=True)
    aligned = align([evaluated, table], column)[1].frame
    if aligned.schema[column] == pl.String and ids.dtype != pl.String:
        # Only text that is written as integers are can be meant: "01" is another id than 1.
        aligned = aligned.filter(pl.col(column).str.contains(WHOLE_NUMBER))
    cast = aligned.with_columns(pl.col(column).cast(ids.dtype, strict=False))
    return cast.filter(pl.col(column).is_not_null())


def _mixed(column: str, integers: Table, strings: Table) -> IdError:
    text = strings.frame[column]
    numeric = text.str.contains(r"^(0|-?[1-9][0-9]*)$")  # unchanged by a cast to integer and back
    hint = f"cast the {column} column to strings in both tables"
    found = f"{integers.frame[column].dtype} beside {text.dtype}"
    if numeric.all():
        found += f": {text[0]!r} is not {integers.frame[column][0]!r}"
        hint = f"cast the {column} column to one type in both tables, e.g. .cast(pl.Int64)"
    else:
        found += f", such as {text.filter(~numeric)[0]!r}"
    return IdError(
        f"{column} ids are integers in one table and strings in another, so none would match",
        where=f"{integers.source} has integers, {strings.source} strings",
        found=found,
        hint=hint,
    )
