"""Tables with one row per user and columns of lists, as one row per item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import ColumnError, InputError
from rankwise.messages import parameter
from rankwise.tables.columns import (
    ROLES,
    are_not_finite,
    may_have_names,
    names_of,
    not_finite_error,
    null_ids_error,
    several_error,
)
from rankwise.tables.table import TableRole


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
    frame = _with_lists_of_text(frame, role, overrides)
    frame = _with_fields(_with_maps(frame, role, overrides, source), role, overrides, source)
    lists = _list_columns(frame, role, overrides)
    if "item" not in lists:
        return frame, frame.columns
    singular = {name: _singular(name, column, role, overrides) for column, name in lists.items()}
    taken = next(
        (new for name, new in singular.items() if new != name and new in frame.columns), None
    )
    if taken is not None:
        raise ColumnError(
            f"two columns could be the {taken}",
            where=source,
            found=f"{taken!r} and {taken + 's'!r}",
        )
    _check_one_number_per_item(frame, lists, role, overrides, source)
    for column, name in lists.items():
        _check_lists(frame[name], column, f"{source}, column {name!r}")
    _check_user_lists(frame, role, overrides, source)
    try:
        flat = frame.explode([*lists.values()], empty_as_null=False).rename(singular)
    except pl.exceptions.PolarsError as error:
        raise ColumnError(
            "the lists of one row are of different lengths",
            where=source,
            found=", ".join(lists.values()),
        ) from error
    return flat, [
        singular.get(name, name) for name in frame.columns if _is_nested(frame.schema[name])
    ]


_BRACKETED = r"^\s*[\[(].*[\])]\s*$"
_IN_ORDER_OF_CERTAINTY = ("|", ";", ",")


def _with_lists_of_text(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None]
) -> pl.DataFrame:
    """Parse columns of lists written as text, such as ``[1, 2]`` or ``1|2``.

    Only columns with a name in the plural, or that the caller chose, and only if every cell is a
    list in brackets or, in the plural, one of cells with one sign between ids.
    """
    if role in ("users", "items"):
        return frame

    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    chosen = [name for name in text if name == overrides.get("item")]
    if names_of(frame.columns, role, "item") and not chosen:
        return frame

    plural = [name for name in text if _is_plural(name, role)]
    items = [name for name in plural if names_of([name[:-1]], role, "item")]
    for name in (*chosen, *items):
        lists = _parsed_lists(frame[name], may_be_bare=name in items)
        if lists is not None:
            others = [other for other in plural if other != name]
            return _with_numbers_beside(frame.with_columns(lists), others, lists.list.len())
    return frame


def _is_plural(name: str, role: TableRole) -> bool:
    return name.lower().endswith("s") and not names_of([name], role, "item")


def _with_numbers_beside(
    frame: pl.DataFrame, names: Sequence[str], lengths: pl.Series
) -> pl.DataFrame:
    """Parse lists of numbers that are as long, in every row, as the lists of items."""
    for name in names:
        numbers = _parsed_lists(frame[name], may_be_bare=True)
        if numbers is not None and (numbers.list.len() == lengths).all():
            frame = frame.with_columns(numbers.cast(pl.List(pl.Float64), strict=False))
    return frame


def _parsed_lists(cells: pl.Series, *, may_be_bare: bool) -> pl.Series | None:
    """Parse lists written as text; return None if a cell is not a list."""
    if cells.null_count() or not len(cells):
        return None
    is_bracketed = bool(cells.str.contains(_BRACKETED).all())
    if not is_bracketed and not may_be_bare:
        return None
    plain = (
        cells.str.strip_chars().str.strip_chars("[]()") if is_bracketed else cells.str.strip_chars()
    )
    mark = next(
        (mark for mark in _IN_ORDER_OF_CERTAINTY if plain.str.contains(mark, literal=True).any()),
        None,
    )
    if mark is None:  # blanks: of numbers alone, as a title may have some
        if not plain.str.contains(r"^([-+.\deE]+(\s+[-+.\deE]+)*)?$").all():
            return None if not is_bracketed else _of_texts(plain.str.split("\0"), cells.name)
        plain, mark = plain.str.replace_all(r"\s+", " "), " "
    return _of_texts(plain.str.split(mark), cells.name)


def _of_texts(lists: pl.Series, name: str) -> pl.Series:
    """Strip blanks and quotation marks from ids; convert ids to integers if all are integers."""
    texts = lists.list.eval(pl.element().str.strip_chars().str.strip_chars("'\"")).list.eval(
        pl.element().filter(pl.element() != "")
    )
    flat = texts.explode(empty_as_null=False)
    if len(flat) and flat.str.contains(WHOLE_NUMBER).all():
        return texts.cast(pl.List(pl.Int64)).alias(name)
    return texts.alias(name)


def _is_nested(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List | pl.Array)


_MAP = ["key", "value"]
"""The fields of a map's entries in Arrow, DuckDB and Spark."""


def _with_maps(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> pl.DataFrame:
    """Split a map of items to numbers into two columns of lists, if no column holds the items.

    A map has a type of its own, is a list of entries with a key and a value, or a record whose
    fields are items.
    """
    if overrides.get("item") in frame.columns or _singular_or_plural(frame.columns, "item", role):
        return frame
    maps = [name for name, dtype in frame.schema.items() if _is_map(dtype, role)]
    if len(maps) > 1:
        raise several_error("map of items", maps, source, "drop the others")
    if not maps:
        return frame
    number = "relevance" if "relevance" in ROLES[role] else "score"
    if number in frame.columns or "item" in frame.columns:
        raise ColumnError(
            f"column {maps[0]!r} maps items to numbers, and there is a column {number!r}",
            where=source,
        )
    entries = _entries(frame[maps[0]])
    if entries.null_count():
        row = int(entries.is_null().arg_true()[0])
        raise InputError("a map is null", where=f"{source}, column {maps[0]!r}, row {row + 1}")
    parts = [entries.list.eval(pl.element().struct.field(field)) for field in _MAP]
    return frame.drop(maps[0]).with_columns(parts[0].alias("item"), parts[1].alias(number))


def _is_map(dtype: pl.DataType, role: TableRole) -> bool:
    if _has_map_type(dtype):
        return True
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return [field.name for field in dtype.inner.fields] == _MAP
    if not isinstance(dtype, pl.Struct) or not dtype.fields:
        return False
    names = [field.name for field in dtype.fields]
    are_numbers = all(field.dtype.is_numeric() for field in dtype.fields)
    return are_numbers and not may_have_names(names, role, [*ROLES[role]])


def _has_map_type(dtype: pl.DataType) -> bool:
    """Return whether a type is Polars' type of maps, which its first versions lack."""
    return type(dtype).__name__ == "Map"


def _entries(column: pl.Series) -> pl.Series:
    """Return the entries of each map; record fields without a value are left out."""
    if isinstance(column.dtype, pl.List):
        return column
    if _has_map_type(column.dtype):
        kind: Any = column.dtype
        return column.cast(pl.List(pl.Struct({"key": kind.key, "value": kind.value})))
    fields = [field.name for field in column.dtype.fields]  # type: ignore[attr-defined]
    values = column.struct.unnest()
    entry = [
        pl.struct(pl.lit(name).alias("key"), pl.col(name).cast(pl.Float64).alias("value"))
        for name in fields
    ]
    absent = pl.element().struct.field("value").is_null()
    return values.select(
        pl.concat_list(entry).list.eval(pl.element().filter(~absent)).alias(column.name)
    ).to_series()


def _with_fields(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> pl.DataFrame:
    """Return a frame whose list of records, if that has the items, is a list for each field."""
    if overrides.get("item") in frame.columns or any(
        _singular_or_plural(frame.columns, "item", role)
    ):
        return frame
    for name, fields in _columns_of_records(frame).items():
        if overrides.get("item") in fields or names_of(fields, role, "item"):
            return _one_list_per_field(frame, name, fields, source)
    return frame


def _columns_of_records(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return the names of the fields of each column of lists of records."""
    inner = {
        name: dtype.inner  # type: ignore[attr-defined]
        for name, dtype in frame.schema.items()
        if _is_nested(dtype)
    }
    return {
        name: [field.name for field in dtype.fields]
        for name, dtype in inner.items()
        if isinstance(dtype, pl.Struct)
    }


def _one_list_per_field(
    frame: pl.DataFrame, name: str, fields: Sequence[str], source: str
) -> pl.DataFrame:
    taken = next((field for field in fields if field != name and field in frame.columns), None)
    if taken is not None:
        raise ColumnError(
            f"there is a column {taken!r}, and the records in column {name!r} have a field of "
            "this name",
            where=source,
            hint=f"drop or rename column {taken!r}",
        )
    records = frame[name].cast(pl.List(frame.schema[name].inner))  # type: ignore[attr-defined]
    lists = [records.list.eval(pl.element().struct.field(field)).alias(field) for field in fields]
    return frame.drop(name).with_columns(lists)


def _singular_or_plural(names: list[str], column: str, role: TableRole) -> list[str]:
    """Return the names that a column may have, in the singular or, for lists, in the plural."""
    return names_of(names, role, column) or [
        n for n in names if names_of([n.removesuffix("s")], role, column)
    ]


def _list_columns(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None]
) -> dict[str, str]:
    """Return, for each standard column that holds lists, its name."""
    nested = [name for name, dtype in frame.schema.items() if _is_nested(dtype)]
    lists = {}
    for column in ROLES[role]:
        if column in ("user", "request", "timestamp"):
            continue
        matches = _singular_or_plural(nested, column, role)
        if column in overrides:
            matches = [name for name in nested if name == overrides[column]]
        if matches:
            lists[column] = matches[0]
    return lists


def _singular(name: str, column: str, role: TableRole, overrides: Mapping[str, str | None]) -> str:
    """Return the name that a column of lists has once there is one row per item."""
    return name if column in overrides or names_of([name], role, column) else name.removesuffix("s")


def _check_one_number_per_item(
    frame: pl.DataFrame,
    lists: Mapping[str, str],
    role: TableRole,
    overrides: Mapping[str, str | None],
    source: str,
) -> None:
    """Raise if a rank, score or relevance column has one number per list, not one per item.

    The same holds for lists of numbers in text that were not parsed: of other lengths than the
    lists of items, or with a null.
    """
    single = [name for name, dtype in frame.schema.items() if not _is_nested(dtype)]
    texts = [
        name
        for name in single
        if frame.schema[name] == pl.String and frame[name].str.contains(_BRACKETED).any()
    ]
    for column in ("rank", "score", "relevance"):
        if column not in ROLES[role] or column in lists:
            continue
        usual = names_of(single, role, column) or _singular_or_plural(texts, column, role)
        names = usual if column not in overrides else [overrides[column]]
        name = next((name for name in names if name in single), None)
        otherwise = (
            "every item of a list is relevant"
            if column == "relevance"
            else "lists are in order, best first"
        )
        if name is not None:
            kind = "text" if name in texts else "number"
            plural_name = f", in a column {name.removesuffix('s') + 's'!r}" if name in texts else ""
            raise ColumnError(
                f"column {name!r} has one {kind} per list, which is no {column} of an item",
                where=source,
                found=f"lists of items in column {lists['item']!r}",
                hint=f"write as many numbers as items{plural_name}; or leave the column unused, "
                f"so that {otherwise}: "
                f"{parameter('columns', {f'{role}.{column}': None})}",
            )


def _check_lists(values: pl.Series, column: str, where: str) -> None:
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
    bad = are_not_finite(flat)
    if column != "item":
        bad = bad & (flat.dtype.is_numeric() or flat.dtype == pl.Null)
    if not bad.any():
        return
    ends = np.cumsum(values.list.len() if isinstance(values.dtype, pl.List) else values.arr.len())
    first = int(bad.arg_true()[0])
    place = f"{where}, row {int(np.searchsorted(ends, first, side='right')) + 1}"
    if flat[first] is None and column == "item":
        raise null_ids_error("item", place, flat.null_count())
    if column != "item":
        raise not_finite_error(column, place, f"{flat[first]} ({int(bad.sum())} such numbers)")


def _check_user_lists(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> None:
    """Raise if a user has several rows of lists that no request column tells apart."""
    names = [overrides["user"]] if overrides.get("user") else names_of(frame.columns, role, "user")
    if len(names) != 1 or names[0] not in frame.columns:
        return  # told when columns are recognised
    users = frame[names[0]].drop_nulls()
    if users.dtype.is_nested() or users.dtype == pl.Object or users.n_unique() == len(users):
        return
    if _has_requests(frame, names[0], role, overrides):
        return

    user = users.filter(users.is_duplicated())[0]
    raise InputError(
        "a user has several rows of lists",
        where=f"{source}, user {user!r}",
        found=f"{int((users == user).sum())} rows",
        hint="write one list per user, or one row per item; if each row is a request of its own, "
        f"name its column: {parameter('columns', {'request': '…'})}; if a row is one item with "
        "an id of several "
        "parts, join them into one text",
    )


def _has_requests(
    frame: pl.DataFrame, user: str, role: TableRole, overrides: Mapping[str, str | None]
) -> bool:
    """Return whether a column of requests tells all rows of each user apart."""
    if "request" not in ROLES[role]:
        return False
    others = [name for name in frame.columns if name != user]
    requests = names_of(others, role, "request")
    if "request" in overrides:
        requests = [name for name in others if name == overrides["request"]]
    return bool(requests) and not frame.select(user, *requests).is_duplicated().any()
