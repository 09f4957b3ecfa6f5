"""Frames whose rows hold whole lists: to one row per item, once it is clear what each number is of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, InputError
from rankwise.tables.columns import ROLES, names_of, not_finite, null_ids
from rankwise.tables.table import TableRole

__all__ = ["one_row_per_item"]


def one_row_per_item(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> tuple[pl.DataFrame, list[str]]:
    """Return a frame with one row per item, and the columns that may say something of single items.

    Rows of whole lists have a list of items, and lists as long of their scores, ranks or
    relevances; or one list of records, each with an item. Other columns are repeated for every item
    of a row: they tell nothing of single items.

    Raises
    ------
    ColumnError
        If lists of one row differ in length, or a score, rank or relevance is one per list.
    InputError
        If a user has two lists, or a list is null or holds nulls.
    """
    frame = _with_fields(frame, role, overrides, source)
    lists = _list_columns(frame, role, overrides)
    if "item" not in lists:
        return frame, frame.columns
    singular = {name: _singular(name, column, role, overrides) for column, name in lists.items()}
    taken = next((new for name, new in singular.items() if new != name and new in frame.columns), None)
    if taken is not None:
        raise ColumnError(f"two columns could be the {taken}", where=source, found=f"{taken!r} and {taken + 's'!r}")
    _check_numbers(frame, lists, role, overrides, source)
    for column, name in lists.items():
        _check_values(frame[name], column, f"{source}, column {name!r}")
    _check_user_lists(frame, role, overrides, source)
    try:
        flat = frame.explode([*lists.values()], empty_as_null=False).rename(singular)
    except pl.exceptions.PolarsError as error:
        raise ColumnError(
            "the lists of one row are of different lengths", where=source, found=", ".join(lists.values())
        ) from error
    return flat, [singular.get(name, name) for name in frame.columns if _is_nested(frame.schema[name])]


def _is_nested(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List | pl.Array)


def _with_fields(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> pl.DataFrame:
    """Return a frame whose list of records, if that has the items, is a list for each field."""
    if overrides.get("item") in frame.columns or any(_names(frame.columns, "item", role)):
        return frame
    for name, dtype in frame.schema.items():
        if not _is_nested(dtype) or not isinstance(dtype.inner, pl.Struct):  # type: ignore[attr-defined]
            continue
        fields = [field.name for field in dtype.inner.fields]  # type: ignore[attr-defined]
        if overrides.get("item") not in fields and not names_of(fields, role, "item"):
            continue
        taken = next((field for field in fields if field != name and field in frame.columns), None)
        if taken is not None:
            raise ColumnError(
                f"there is a column {taken!r}, and the records in column {name!r} have a field of this name",
                where=source,
                hint=f"drop or rename column {taken!r}",
            )
        records = frame[name].cast(pl.List(dtype.inner))  # type: ignore[attr-defined]
        lists = [records.list.eval(pl.element().struct.field(field)).alias(field) for field in fields]
        return frame.drop(name).with_columns(lists)
    return frame


def _names(names: list[str], column: str, role: TableRole) -> list[str]:
    """Return the names that a column may have, in the singular or, for lists, in the plural."""
    return names_of(names, role, column) or [n for n in names if names_of([n.removesuffix("s")], role, column)]


def _list_columns(frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None]) -> dict[str, str]:
    """Return, for each standard column that holds lists, its name."""
    nested = [name for name, dtype in frame.schema.items() if _is_nested(dtype)]
    lists = {}
    for column in ROLES[role]:
        if column in ("user", "timestamp"):
            continue
        matches = _names(nested, column, role)
        if column in overrides:
            matches = [name for name in nested if name == overrides[column]]
        if matches:
            lists[column] = matches[0]
    return lists


def _singular(name: str, column: str, role: TableRole, overrides: Mapping[str, str | None]) -> str:
    """Return the name that a column of lists has once there is one row per item."""
    return name if column in overrides or names_of([name], role, column) else name.removesuffix("s")


def _check_numbers(
    frame: pl.DataFrame, lists: Mapping[str, str], role: TableRole, overrides: Mapping[str, str | None], source: str
) -> None:
    """Raise if a column that orders items, or says how relevant they are, has one number per list."""
    single = [name for name, dtype in frame.schema.items() if not _is_nested(dtype)]
    for column in ("rank", "score", "relevance"):
        if column not in ROLES[role] or column in lists:
            continue
        names = names_of(single, role, column) if column not in overrides else [overrides[column]]
        name = next((name for name in names if name in single), None)
        if name is not None:
            otherwise = (
                "every item of a list is relevant" if column == "relevance" else "lists are in order, best first"
            )
            raise ColumnError(
                f"column {name!r} has one number per list, which is no {column} of an item",
                where=source,
                found=f"lists of items in column {lists['item']!r}",
                hint=f"write as many numbers as items; or leave the column unused, so that {otherwise}: "
                f'columns={{"{role}.{column}": None}}',
            )


def _check_values(values: pl.Series, column: str, where: str) -> None:
    """Raise if a list is null, or holds nulls or, of numbers, NaN or infinity."""
    if values.null_count():
        row = int(values.is_null().arg_true()[0])
        raise InputError(
            "a list is null",
            where=f"{where}, row {row + 1}",
            found=f"{values.null_count()} such rows",
            hint="drop those rows, or give them an empty list",
        )
    flat = values.explode(empty_as_null=False)
    bad = flat.is_null()
    if flat.dtype.is_float():
        bad = bad | ~flat.is_finite()
    if column != "item":
        bad = bad & (flat.dtype.is_numeric() or flat.dtype == pl.Null)
    if not bad.any():
        return
    ends = np.cumsum(values.list.len() if isinstance(values.dtype, pl.List) else values.arr.len())
    first = int(bad.arg_true()[0])
    place = f"{where}, row {int(np.searchsorted(ends, first, side='right')) + 1}"
    if flat[first] is None and column == "item":
        raise null_ids("item", place, flat.null_count())
    if column != "item":
        raise not_finite(column, place, f"{flat[first]} ({int(bad.sum())} such numbers)")


def _check_user_lists(frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str) -> None:
    """Raise if a user has two rows of lists, which may be requests, or items with ids of several parts."""
    names = [overrides["user"]] if overrides.get("user") else names_of(frame.columns, role, "user")
    if len(names) != 1 or names[0] not in frame.columns:
        return  # told when columns are recognised
    users = frame[names[0]].drop_nulls()
    if users.dtype.is_nested() or users.dtype == pl.Object or users.n_unique() == len(users):
        return
    user = users.filter(users.is_duplicated())[0]
    raise InputError(
        "a user has several rows of lists",
        where=f"{source}, user {user!r}",
        found=f"{int((users == user).sum())} rows",
        hint="write one list per user, or one row per item; if each row is a request of its own, the user is "
        'its id: columns={"user": "…"}; if a row is one item with an id of several parts, join them into one text',
    )
