"""The same ids in every table: types compared, and what cannot match explained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankwise.errors import IdError

if TYPE_CHECKING:
    from rankwise.io.tables import Table

__all__ = ["align", "matching"]


def align(tables: list[Table], role: str) -> list[Table]:
    """Give one id column the same kind, integer or string, in all tables.

    Integers that were text in a file become text again if another table has strings: nothing is
    lost by that, since only numbers that write back to the same text were taken for numbers.
    Anything else is an error, because ``"1"`` and ``1`` would silently never match.

    Parameters
    ----------
    tables : list of Table
        Tables to be matched with one another; those without the column stay as they are.
    role : {"user", "item"}
        The column.

    Returns
    -------
    list of Table
    """
    having = [table for table in tables if role in table.frame.columns]
    strings = [table for table in having if table.frame[role].dtype == pl.String]
    if not strings or len(strings) == len(having):
        return tables
    out = []
    for table in tables:
        if role in table.frame.columns and table.frame[role].dtype != pl.String:
            if not table.is_text:
                raise _mixed(role, table, strings[0])
            table = table.with_ids(role, table.frame[role].cast(pl.String))
        out.append(table)
    return out


def matching(table: Table, role: str, ids: pl.Series) -> pl.DataFrame:
    """Return a table with its ids of the type of these; rows that cannot match any go."""
    evaluated = replace(
        table, frame=ids.to_frame(role), source="the evaluated tables", is_text=True
    )
    aligned = align([evaluated, table], role)[1].frame
    own = aligned.with_columns(pl.col(role).cast(ids.dtype, strict=False))
    return own.filter(pl.col(role).is_not_null())


def _mixed(role: str, integers: Table, strings: Table) -> IdError:
    text = strings.frame[role]
    numeric = text.str.contains(r"^(0|-?[1-9][0-9]*)$")  # what a cast would keep as it is
    hint = f"cast the {role} column to strings in both tables"
    found = f"{integers.frame[role].dtype} beside {text.dtype}"
    if numeric.all():
        found += f": {text[0]!r} is not {integers.frame[role][0]!r}"
        hint = f"cast the {role} column to one type in both tables, e.g. .cast(pl.Int64)"
    else:
        odd = text.filter(~numeric)[0]
        found += f", such as {odd!r}"
    return IdError(
        f"{role} ids are integers in one table and strings in another, so none would match",
        where=f"{integers.source} has integers, {strings.source} strings",
        found=found,
        hint=hint,
    )
