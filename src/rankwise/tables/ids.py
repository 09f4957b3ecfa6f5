"""The type of ids: one for each kind (user, item, request) in all tables that are matched.

Ids are whole numbers or text. ``"1"`` and ``1`` would never match in silence, so one rule decides,
for each kind by itself:

* Where a table of rows (lists, ground truth, training, reference lists) has text, ids are text in
  all tables. Integers that were text in a file become text again: only text that is written as
  integers are was read as integers, so nothing is lost. Other integers beside text are an error.
* Elsewhere ids are integers. A table that is looked up (users, items, weights) may name them as
  text: text that is a whole number in canonical form is that number, and any other text names a
  user whom no other table has. An item that no other table can have is an error.

Integers have one width in all tables: 32 bits if these hold every table's type, else 64.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import polars as pl

from rankwise.core.texts import WHOLE_NUMBER
from rankwise.core.units import REQUEST, unit_rows
from rankwise.core.vocabularies import whole_numbers
from rankwise.errors import IdError
from rankwise.tables.spelling import other_spelling
from rankwise.tables.table import Table, TableRole, Tables

NO_ITEM = "\x00"
"""What stands before a name that no item has, where ids are text."""
_LOOKED_UP = ("users", "items", "weights")
"""The tables in which ids of the others are looked up."""
_NARROW = (pl.Int8, pl.UInt8, pl.Int16, pl.UInt16, pl.Int32)
"""The types of integers that 32 bits hold."""
_INTEGERS = {pl.Int32(), pl.Int64()}
_SETTLED = {*_INTEGERS, pl.String()}
"""The types of settled ids."""


def settle_ids(tables: Tables, known: Mapping[str, pl.DataType] | None = None) -> Tables:
    """Return tables in which each kind of id has one type.

    A table that has this type already is returned as it is, and so are ``tables`` if all do.

    Parameters
    ----------
    tables : Tables
        The tables of one evaluation, or the tables that pieces share beside those of a piece.
    known : mapping of str to DataType, optional
        The types of ids that were evaluated before, of ``"user"`` and ``"item"``, as far as known.

    Raises
    ------
    IdError
        If integers stand beside text, or an integer does not fit 64 bits with a sign.
    """
    before = tables.by_role
    numbered = () if tables.units is None else ("recommendations", "truth", "unlisted")
    after = settle_all(before, known, numbered)
    changed = {role: table for role, table in after.items() if table is not before[role]}
    return tables.with_tables(changed) if changed else tables


def settle_all(
    tables: Mapping[TableRole, Table],
    known: Mapping[str, pl.DataType] | None = None,
    numbered: Collection[str] = (),
) -> dict[TableRole, Table]:
    """Return tables by role in which each kind of id has one type, as in `settle_ids`.

    The ``numbered`` tables have numbers of requests for users. Ids of requests are settled where
    lists belong to requests.
    """
    types = {} if known is None else known
    settled, lists = dict(tables), tables.get("recommendations")
    by_request = REQUEST in types or (lists is not None and REQUEST in lists.frame.columns)
    for column in ("user", "item", *([REQUEST] if by_request else [])):
        with_ids = {
            role: table
            for role, table in settled.items()
            if column in table.frame.columns and (column != "user" or role not in numbered)
        }
        if not _have_one_type(with_ids.values(), column, types.get(column)):
            settled |= _settle_column(with_ids, column, types.get(column))
    return settled


def _have_one_type(tables: Iterable[Table], column: str, known: pl.DataType | None) -> bool:
    """Return whether nothing is to be settled: the quick way, which nearly all tables take."""
    types = {table.frame[column].dtype for table in tables}
    if len(types) > 1 or not types <= _SETTLED:
        return False
    return known is None or types <= ({known} if known == pl.String else _INTEGERS)


def _settle_column(
    tables: Mapping[TableRole, Table], column: str, known: pl.DataType | None
) -> dict[TableRole, Table]:
    """Return tables whose ids of a kind have one type."""
    rows = {role: table for role, table in tables.items() if role not in _LOOKED_UP}
    if not rows and known is None:
        return dict(tables)  # nothing says yet what ids are
    strings = [table for table in rows.values() if _has_text(table, column)]
    if strings and known is not None and known != pl.String:
        raise _earlier_type(column, strings[0])
    if known == pl.String or strings or _items_are_text(tables, rows.values()):
        return {role: _as_text(table, column, strings) for role, table in tables.items()}
    return _as_integers(tables, column, [*rows.values()])


def _as_integers(
    tables: Mapping[TableRole, Table], column: str, rows: list[Table]
) -> dict[TableRole, Table]:
    """Return tables with integers of one width, where no table of ``rows`` has text."""
    integers = {role: _numbers_of_text(table, column, rows) for role, table in tables.items()}
    types = {table.frame.schema[column] for table in integers.values()}
    if len(types) < 2 and types <= _SETTLED:
        return integers
    width = pl.Int32() if all(kind in _NARROW for kind in types) else pl.Int64()
    return {role: _of_width(table, column, width) for role, table in integers.items()}


def _has_text(table: Table, column: str) -> bool:
    return table.frame.schema[column] == pl.String


def _items_are_text(tables: Mapping[TableRole, Table], rows: Collection[Table]) -> bool:
    """Return whether rows were text in files, and items have text that is no whole number."""
    items = tables.get("items")
    if items is None or not rows or not all(table.is_text for table in rows):
        return False
    ids = items.frame["item"] if "item" in items.frame.columns else None
    return ids is not None and ids.dtype == pl.String and not _are_whole(ids).all()


def _are_whole(ids: pl.Series) -> pl.Series:
    """Return which texts are whole numbers in canonical form: "01" is another id than 1."""
    return ids.str.contains(WHOLE_NUMBER)


def _as_text(table: Table, column: str, strings: list[Table]) -> Table:
    """Return the table with ids of text; raise if its integers never were text."""
    if _has_text(table, column):
        return table
    if not table.is_text:
        raise _mixed(column, table, strings[0]) if strings else _earlier_type(column, table)
    return table.with_ids(column, table.frame[column].cast(pl.String))


def _numbers_of_text(table: Table, column: str, rows: list[Table]) -> Table:
    """Return the rows of a table that is looked up whose text is a whole number, as integers."""
    if not _has_text(table, column):
        return table
    are_whole = _are_whole(table.frame[column])
    if table.role == "items" and not are_whole.all():
        others = table.frame[column].filter(~are_whole)
        raise IdError(
            "an id of the catalogue is of another type than the items recommended",
            where=table.source,
            found=f"{others[0]!r} beside {rows[0].frame[column].first()!r} ({len(others)} such ids)",
            hint=f"cast the {column} column to one type in both tables",
        )
    if len(are_whole) and not are_whole.any():
        raise _mixed(column, rows[0], table) if rows else _earlier_type(column, table)
    frame = table.frame if are_whole.all() else table.frame.filter(are_whole)
    numbers = frame.with_columns(pl.col(column).cast(pl.Int64, strict=False))
    return table.with_frame(numbers.drop_nulls(column))


def _of_width(table: Table, column: str, width: pl.DataType) -> Table:
    """Return the table with integers of a width."""
    ids = table.frame[column]
    if ids.dtype == width:
        return table
    return table.with_ids(column, ids.cast(width) if width == pl.Int32 else whole_numbers(ids))


def look_up(table: Table, units: pl.DataFrame, value: str) -> pl.Series:
    """Return the value of each unit in a table by user or request; null for one that it lacks."""
    row = pl.Series(unit_rows(units, table.frame))
    return table.frame[value].gather(row.set(row < 0, None))


def _earlier_type(column: str, table: Table) -> IdError:
    return IdError(
        f"{column} ids are of another type than in earlier chunks",
        where=table.source,
        found="strings" if _has_text(table, column) else "integers",
        hint="cast the column to one type in every chunk",
    )


def align(tables: list[Table], column: str) -> list[Table]:
    """Return tables whose ids in a column have one type, 64-bit integers or text.

    Tables whose types are equal are returned as they are, as are those without the column. Integers
    that were text in a file become text again beside text; other integers beside it are an error.
    """
    with_ids = [table for table in tables if column in table.frame.columns]
    strings = [table for table in with_ids if _has_text(table, column)]
    if len({table.frame.schema[column] for table in with_ids}) < 2:
        return tables
    return [
        table
        if column not in table.frame.columns
        else _as_text(table, column, strings)
        if strings
        else _of_width(table, column, pl.Int64())
        for table in tables
    ]


def matching(table: Table, column: str, ids: pl.Series) -> pl.DataFrame:
    """Return the rows of a table that is looked up, with ids of the type of the given ids.

    Text that is no whole number is none of the given integers.
    """
    given = Table(ids.to_frame(column), "truth", "the evaluated tables", "ids", {})
    looked_up = replace(table, role="users")
    settled = settle_all({"truth": given, "users": looked_up}, {column: ids.dtype})
    of_type = pl.col(column).cast(ids.dtype, strict=False)
    return settled["users"].frame.with_columns(of_type).drop_nulls(column)


def _mixed(column: str, integers: Table, strings: Table) -> IdError:
    text = strings.frame[column]
    numeric = text.str.contains(r"^(0|-?[1-9][0-9]*)$")  # unchanged by a cast to integer and back
    hint = f"cast the {column} column to strings in both tables"
    spelling = other_spelling(integers.frame[column], text)
    types = f"{integers.frame[column].dtype} beside {text.dtype}"
    if numeric.all():
        types += f": {text[0]!r} is not {integers.frame[column][0]!r}"
        hint = f"cast the {column} column to one type in both tables, e.g. .cast(pl.Int64)"
    else:
        written = text.filter(~numeric)[0].removeprefix(NO_ITEM).partition(NO_ITEM)[0]
        types += f", such as {written!r}"
    if spelling is not None and not numeric.all():
        hint = f"name {column}s in the same way in both tables: {spelling}"
    return IdError(
        f"{column} ids are integers in one table and strings in another, so none would match",
        where=f"{integers.source} has integers, {strings.source} strings",
        found=types,
        hint=hint,
    )
