"""Plain Python objects to frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import FileError, IdError, InputError
from rankwise.tables.by_position import RANKED, masked, number_column
from rankwise.tables.columns import ROLES, TableRole, names_of
from rankwise.tables.validation import check_exact

__all__ = [
    "columns_of",
    "from_document",
    "from_mapping",
    "from_mapping_of_columns",
    "from_rows",
    "holds_records",
    "id_series",
    "number_series",
    "refuse_tuples",
    "rows_of",
    "series_of",
]


def from_mapping(source: Mapping[Any, Any], role: TableRole) -> tuple[pl.DataFrame, str]:
    """Return a mapping as a frame, and its layout.

    Layouts are ``{user: [items]}``, ``{user: item}``, ``{user: [(item, number)]}``,
    ``{user: {item: number}}`` and ``{user: [records]}``, columns by name; for users also
    ``{user: number}``, their weights; and for all tables columns by name,
    ``{"user": [...], "item": [...]}``. A number is a recommendation's score, else a relevance.
    """
    as_columns = _columns(source, role)
    if as_columns is not None:
        return as_columns, "columns"
    if role == "users":
        return _weights(source), "weights"
    users, items, numbers = list(source), [_listed(value) for value in source.values()], None
    lengths = [_length(user, value, role) for user, value in zip(users, items, strict=True)]
    first = next((value for value, n in zip(items, lengths, strict=True) if n), None)
    _check_alike(users, items, lengths, first, role)
    one_each = all(kept is value for kept, value in zip(items, source.values(), strict=True))
    layout = "{user: [items]}" if one_each else "{user: item}"
    flat = list(chain.from_iterable(items))
    owner = np.repeat(np.arange(len(users)), lengths)
    ids = id_series("user", users, role).gather(owner)
    if not isinstance(first, Mapping) and flat and isinstance(flat[0], Mapping):
        return _records_by_user(ids, flat, role), "records by user"
    if isinstance(first, Mapping):
        layout = "{user: {item: number}}"
        numbers = list(chain.from_iterable(value.values() for value in items))
    elif flat and isinstance(flat[0], tuple | list):
        layout = "{user: [(item, number)]}"
        parts = next((pair for pair in flat if isinstance(pair, tuple) and len(pair) > 2), None)
        if parts is not None:
            raise parts_of_id(parts, role)
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in flat):
            raise InputError(
                f"{role}: lists hold items or (item, number) pairs, not both",
                found=repr(next(p for p in flat if not isinstance(p, tuple) or len(p) != 2)),
            )
        numbers = [pair[1] for pair in flat]
        flat = [pair[0] for pair in flat]
    frame = pl.DataFrame({"user": ids, "item": id_series("item", flat, role)})
    if numbers is not None:
        frame = frame.with_columns(number_series(number_column(role), numbers, role))
    return frame, layout


def _records_by_user(users: pl.Series, records: list[Any], role: TableRole) -> pl.DataFrame:
    """Return one row per record, with the columns by name and the user."""
    other = next((record for record in records if not isinstance(record, Mapping)), None)
    if other is not None:
        raise InputError(
            f"{role}: lists hold items, (item, number) pairs or records, and these hold several of them",
            found=f"{records[0]!r} and {other!r}",
        )
    frame = _from_records(records, role)
    names = names_of(frame.columns, role, "user")
    if names:
        raise InputError(
            f"{role}: records by user have a user of their own",
            where=f"user {users[0]!r}",
            found=repr(records[0])[:80],
            hint=f"drop {names[0]!r}, or pass all records as one list",
        )
    return frame.insert_column(0, users)


def _columns(source: Mapping[Any, Any], role: TableRole) -> pl.DataFrame | None:
    """Return columns by name as a frame; None if the mapping is not of this layout."""
    names = [name for name in source if isinstance(name, str)]
    ids = [role[:-1]] if role in ("users", "items") else ["user", "item"]
    found = [name for one in ids for name in names_of(names, role, one)]
    if len(found) == 1 and len(ids) == 2 and names_of(found, role, "user"):
        found += [name for name in names if name not in found and _holds_lists(source[name])]
    values = [source[name] for name in found]
    if len(found) < len(ids) or not all(map(_is_column, values)):
        if role == "items":
            raise InputError(
                "items: a mapping is read as columns by name, one of them the item",
                found=f"keys {', '.join(map(repr, list(source)[:5]))}",
                hint='pass {"item": [...], "genres": [...]}, a table, or the ids of the catalogue',
            )
        return None
    lengths = {name: len(source[name]) for name in found}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{role}: this is read as columns by name, which have one length; or as users called "
            f"{' and '.join(map(repr, found))}, each with a list",
            found=", ".join(f"{name!r}: {length} values" for name, length in lengths.items()),
            hint="pass a table, which is unambiguous",
        )
    return from_mapping_of_columns(source, role)


def from_mapping_of_columns(source: Mapping[Any, Any], where: str) -> pl.DataFrame:
    """Return ``{name: values}`` as a frame; a column whose values differ in type is one of objects."""
    columns = [series_of(str(name), values, where) for name, values in source.items()]
    try:
        return pl.DataFrame(columns)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{where}: these columns do not make a table", found=str(error).splitlines()[0]) from error


def series_of(name: str, values: Any, where: str) -> pl.Series:
    """Return a column; whole numbers and others together are floats, also in lists.

    Values that have no type in common stay Python's objects: `unreadable` is raised if the column
    is needed.
    """
    column = _values(values)
    first = next((value for value in column if value is not None), None) if isinstance(column, list) else None
    if isinstance(first, list | tuple | np.ndarray):
        return _lists_of(name, column, where)
    if isinstance(first, Mapping) and all(value is None or isinstance(value, Mapping) for value in column):
        return _records_of(name, column, where)
    try:
        return pl.Series(name, column)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if all(value is None or isinstance(value, Real) for value in column):
            return number_series(name, column, where)
        return pl.Series(name, list(column), dtype=pl.Object)


def _lists_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of lists.

    Polars takes the type of the first list for all of them: fractions in others would be cut off.
    """
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in column]
    if holds_records(lists):
        lists = [None if value is None else [_as_mapping(record) for record in value] for value in lists]
    if any(value is not None and not isinstance(value, list | tuple) for value in lists):
        return pl.Series(name, column, dtype=pl.Object)
    flat = series_of(name, list(chain.from_iterable(value for value in lists if value is not None)), where)
    if flat.dtype == pl.Object:
        return pl.Series(name, column, dtype=pl.Object)
    rows = pl.DataFrame({"row": np.arange(len(lists)), "gap": [value is None for value in lists]})
    owner = np.repeat(np.arange(len(lists)), [len(value or ()) for value in lists])
    grouped = pl.DataFrame({"row": owner, "list": flat}).group_by("row", maintain_order=True).agg("list")
    grouped = rows.join(grouped, on="row", how="left", maintain_order="left")
    made = pl.when(pl.col("gap").not_()).then(pl.col("list").fill_null([]))
    return grouped.select(made.alias(name))[name]


def holds_records(column: Iterable[Any]) -> bool:
    """Return whether lists hold records whose fields have names: named tuples, or Spark's rows."""
    first = next((value for value in column if isinstance(value, list | tuple | np.ndarray) and len(value)), [None])
    return isinstance(first[0], tuple) and _as_mapping(first[0]) is not first[0]


def _as_mapping(record: Any) -> Any:
    """Return a record by name."""
    by_name = getattr(record, "_asdict", getattr(record, "asDict", None))
    return record if by_name is None else by_name()


def _records_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of records, each of whose fields is read as a column is."""
    fields = dict.fromkeys(chain.from_iterable(value for value in column if value is not None))
    values = {str(field): [(value or {}).get(field) for value in column] for field in fields}
    columns = [series_of(field, cells, where) for field, cells in values.items()]
    if not columns or any(one.dtype == pl.Object for one in columns):
        return pl.Series(name, column, dtype=pl.Object)
    return pl.DataFrame(columns).to_struct(name)


def refuse_tuples(columns: Mapping[Any, Any], role: TableRole, given: Mapping[str, str | None]) -> None:
    """Raise if a column of ids holds tuples, each of which may be one id of several parts.

    Polars and Arrow have no tuples: they would become lists of items.
    """
    for name, values in columns.items():
        plain = str(name)
        is_id = plain in (given.get("user"), given.get("item")) or any(
            names_of([one], role, column)
            for one in (plain, plain.removesuffix("s"))
            for column in ("user", "item")
            if column in ROLES[role]
        )
        if not is_id:
            continue
        cells = values.values() if isinstance(values, Mapping) else values
        first = next((cell for cell in enumerate(cells, start=1) if not _is_gap(cell[1])), None)
        if first is not None and isinstance(first[1], tuple):
            raise parts_of_id(first[1], f"{role}, column {plain!r}, row {first[0]}")


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def parts_of_id(value: Sequence[Any], where: str) -> IdError:
    """Return the error for an id of several parts, such as the codes of a semantic id."""
    return IdError(
        "ids are integers or strings, and this is a tuple",
        where=where,
        found=repr(value)[:80],
        hint='join its codes into one text, "-".join(map(str, codes)); if it is a list of items, make it a list',
    )


def _is_column(values: object) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes | set | frozenset)


def _holds_lists(values: object) -> bool:
    """Return whether a column holds a list for each row."""
    return isinstance(values, list | tuple) and bool(values) and isinstance(values[0], list | tuple | np.ndarray)


def _values(column: Any) -> Any:
    """Return the values of a column; pandas' JSON has them by number of row."""
    if isinstance(column, Mapping):
        return list(column.values())
    if isinstance(column, np.ndarray) and column.dtype == object:
        return column.tolist()
    if isinstance(column, list | tuple):
        sets = (set, frozenset)
        return [sorted(value, key=str) if isinstance(value, sets) else value for value in column]
    return column


def _weights(source: Mapping[Any, Any]) -> pl.DataFrame:
    weights = list(source.values())
    wrong = next((w for w in weights if not isinstance(w, Real)), None)
    if wrong is not None:
        raise InputError(
            "users: a mapping holds a weight for each user, or columns by name",
            found=f"{wrong!r}",
            hint='pass {user: weight}, {"user": [...], "group": [...]}, or a table',
        )
    values = number_series("weight", weights, "users")
    return pl.DataFrame({"user": id_series("user", list(source), "users"), "weight": values})


def _listed(value: Any) -> Any:
    """Return the items of a user: one item is a list of one."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return [value] if whole or isinstance(value, str) else value


def _length(user: object, value: Any, role: TableRole) -> int:
    if isinstance(value, bytes) or not hasattr(value, "__len__"):
        raise InputError(
            f"{role}: each user needs an item or a list of items",
            where=f"user {user!r}",
            found=f"{value!r} ({type(value).__name__})",
        )
    if isinstance(value, np.ma.MaskedArray):
        raise masked(role)
    return len(value)


def _check_alike(
    users: Sequence[Any], items: Sequence[Any], lengths: Sequence[int], first: Any, role: TableRole
) -> None:
    """Raise unless all users have values of one layout, in an order where order counts."""
    for user, value, n in zip(users, items, lengths, strict=True):
        if role in RANKED and isinstance(value, set | frozenset):
            raise InputError(
                f"{role}: a set has no order",
                where=f"user {user!r}",
                hint="pass a list, best first, or (item, score) pairs",
            )
        if n and isinstance(value, Mapping) != isinstance(first, Mapping):
            raise InputError(
                f"{role}: users have lists, or dicts of item to number, not both",
                where=f"user {user!r}",
                found=type(value).__name__,
            )


def id_series(column: str, values: list[Any], role: TableRole) -> pl.Series:
    """Return ids, all integers or all strings, as a column."""
    try:
        return pl.Series(column, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        types = sorted({type(value).__name__ for value in values})
        found = " and ".join(types)
        if len(types) == 1:  # an integer beyond 128 bits, or text that is no Unicode
            found += f": {str(error).splitlines()[0]}"
        raise IdError(
            "ids are integers or strings, and all of one kind", where=f"{role}, {column}", found=found
        ) from None


def number_series(column: str, values: list[Any], where: str) -> pl.Series:
    """Return numbers, whole ones and others together, as floats."""
    try:
        floats = [None if value is None else float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: the {column} must be a number", found=str(error).splitlines()[0]) from error
    number = pl.Series(column, floats, pl.Float64)
    check_exact(values, number, column, where)
    return number


def rows_of(source: Sequence[Any]) -> bool:
    """Return whether a list holds rows: tuples (user, item), (user, item, number), or records."""
    return bool(len(source)) and all(isinstance(row, tuple | Mapping) for row in source)


def from_rows(source: Sequence[Any], role: TableRole) -> tuple[pl.DataFrame, str]:
    """Return rows, tuples or records by name, as a frame, and their layout."""
    if all(isinstance(row, Mapping) for row in source):
        return _from_records(source, role), "records"
    if all(hasattr(row, "_fields") for row in source):  # named tuples are read by name
        return _from_records([row._asdict() for row in source], role), "records"
    sizes = {len(row) if isinstance(row, tuple) else -1 for row in source}
    if sizes not in ({2}, {3}):
        odd = next((row for row in source if not isinstance(row, tuple) or len(row) not in (2, 3)), source[0])
        raise InputError(
            f"{role}: rows are tuples (user, item), or (user, item, number), all of one length",
            found=repr(odd)[:80],
            hint="a list for each user is a list, not a tuple",
        )
    columns = list(zip(*source, strict=True))
    frame = pl.DataFrame(
        {"user": id_series("user", list(columns[0]), role), "item": id_series("item", list(columns[1]), role)}
    )
    if len(columns) == 2:
        return frame, "[(user, item)]"
    number = number_column(role)
    return frame.with_columns(number_series(number, list(columns[2]), role)), "[(user, item, number)]"


def _from_records(source: Sequence[Mapping[Any, Any]], where: str) -> pl.DataFrame:
    return from_mapping_of_columns(columns_of(source), where)


def columns_of(records: Iterable[Mapping[Any, Any]]) -> dict[Any, list[Any]]:
    """Return records as columns by name, None where a record lacks a field."""
    rows = list(records)
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}


def from_document(document: Any, where: str) -> pl.DataFrame:
    """Return a JSON document as a frame: records, one record, columns, or a mapping by user.

    The numbers of ``{user: {item: number}}`` are in a column ``score``, which also says relevance.
    """
    if isinstance(document, list) and rows_of(document):
        return _from_records(document, where)
    if isinstance(document, dict) and document:
        names = list(document)
        user = names_of(names, "truth", "user")
        if user and not isinstance(document[user[0]], list | dict):
            return _from_records([document], where)
        try:
            return from_mapping(document, "recommendations")[0]
        except InputError as error:
            raise FileError(error.what, where=where, found=error.found, hint=error.hint) from error
    raise FileError(
        "this JSON does not hold a table",
        where=where,
        found=f"{type(document).__name__}: {str(document)[:60]}",
        hint='write records [{"user": …, "item": …}, …], or {user: [items]}, or {user: {item: number}}',
    )
