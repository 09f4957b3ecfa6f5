"""Frames of any library, plain Python objects, arrays and matrices to tables."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import check_sparse, is_masked
from rankwise.core.kernels import default_threads, each
from rankwise.core.texts import WHOLE_NUMBER
from rankwise.errors import ColumnError, DuplicateError, FileError, IdError, InputError
from rankwise.tables.columns import (
    EVENT,
    LOG_ROLES,
    ROLES,
    check_exact,
    could_decide,
    may_have_names,
    names_of,
    one_row_per_item,
    recognise,
    undecided,
    unreadable,
)
from rankwise.tables.containers import (
    has_labels,
    holds_records,
    is_series,
    list_in_text,
    read_labelled,
    record_of,
    refuse_frame_by_user,
    with_distinct_levels,
    with_levels,
)
from rankwise.tables.table import Recommendations, Table, TableRole
from rankwise.tables.values import as_labels

RANKED = ("recommendations", "reference")
"""Roles of tables that have a score in place of a relevance."""


def _number_column(role: TableRole) -> str:
    """Return the column of the numbers of a source that does not name them."""
    return "score" if role in RANKED else "relevance"


def from_array(source: Any, role: TableRole) -> tuple[pl.DataFrame, int]:
    """Return item ids, one row per user, as a frame, and the number of padding entries (-1, "")."""
    rows = source if isinstance(source, list | tuple) else [source]
    if any(is_masked(row) for row in rows):
        raise masked(role)
    _refuse_labelled_rows(rows, role)
    if role not in (*RANKED, "items"):
        raise InputError(
            f"{role}: an array, or a list of lists, does not say which user has which items",
            hint="pass a table, a list of tuples (user, item), or {user: {items}}",
        )
    try:
        array = np.asarray(source)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of different lengths
        raise _ragged(role) from error
    if array.dtype == object and array.ndim == 2:
        raise InputError(
            f"{role}: a dense array holds item ids of one type, best first",
            found="values of several types",
            hint="rows of users and items are a table, or a list of tuples",
        )
    if array.dtype == object:
        raise _ragged(role)
    if array.ndim != 2:
        raise InputError(
            f"{role}: a dense array has one row per user",
            found=f"an array of shape {array.shape}",
            hint="pass item ids of shape (users, k)",
        )
    if array.dtype.kind not in "iuU":
        raise IdError(
            "a dense array holds item ids, best first",
            where=role,
            found=f"{array.dtype} values",
            hint="rank a score matrix with rw.rank(scores, k)",
        )
    if _may_be_pairs(array):
        raise InputError(
            f"{role}: this array may hold rows of user and item, or an ordered list for each user",
            found=f"shape {array.shape}, and each value of the first column on rows that follow "
            "one another",
            hint="pass rows as a table or as a list of tuples, lists as {user: [items]}",
        )
    users = np.repeat(np.arange(array.shape[0], dtype=np.int64), array.shape[1])
    frame = pl.DataFrame({"user": users, "item": array.ravel()})
    if array.dtype.kind == "U":
        empty = int((array == "").sum())  # what text is filled up with
        return (frame.filter(pl.col("item") != "") if empty else frame), empty
    padding = int((array == -1).sum())
    return (frame.filter(pl.col("item") != -1) if padding else frame), padding


def _refuse_labelled_rows(rows: Any, role: TableRole) -> None:
    """Raise if rows of an array are series with labels, as the rows of a frame are."""
    for number, row in enumerate(rows):
        if is_series(type(row)) and has_labels(row):
            raise InputError(
                f"{role}: rows of an array have no labels, and this series has some",
                where=f"row {number + 1}",
                found=f"labels {', '.join(map(repr, row.index.to_list()[:5]))}",
                hint="if these are rows of a frame, pass the frame; else {user: series} by user",
            )
        if not is_series(type(row)):
            return


def _may_be_pairs(array: Any) -> bool:
    """Return whether an array of two or three columns looks like users beside their items.

    Lists that are short and alike are no such rows: users do not have an item twice.
    """
    if array.shape[1] not in (2, 3) or len(array) < 4:
        return False
    first, changes = array[:, 0], array[1:, 0] != array[:-1, 0]
    grouped = len(np.unique(first)) == 1 + int(changes.sum()) < len(array)
    return grouped and len(np.unique(array[:, :2], axis=0)) == len(array)


def masked(role: TableRole) -> InputError:
    """Return the error for NumPy's masked arrays."""
    return InputError(
        f"{role}: the mask of a masked array is not read",
        hint="fill masked entries: with -1, which is padding, or drop them",
    )


def _ragged(role: TableRole) -> InputError:
    return InputError(
        f"{role}: the rows of the array have different lengths",
        hint="pass {user: [items]} instead, or fill short rows up with -1",
    )


def from_sparse(source: Any, role: TableRole) -> pl.DataFrame:
    """Return a SciPy sparse matrix of scores or relevances, users by items, as a frame.

    Every stored entry is a row, also when its value is 0.
    """
    check_sparse(source, f"the matrix of {role}")
    if role in (*RANKED, "truth"):
        _check_distinct(source, role)
    matrix = source.tocoo()
    number = pl.Series(_number_column(role), matrix.data.astype(np.float64))
    if matrix.dtype.kind in "iu":
        check_exact(pl.Series(matrix.data), number, number.name, role)
    users, items = (pl.Series(index.astype(np.int64)) for index in matrix.coords)
    return pl.DataFrame([users.alias("user"), items.alias("item"), number])


def _check_distinct(matrix: Any, role: TableRole) -> None:
    """Raise if a sparse matrix has duplicate entries, which SciPy adds up."""
    csr = matrix.tocsr()
    if csr.has_canonical_format and csr.nnz == matrix.nnz:
        return
    csr = csr.copy()
    csr.sum_duplicates()
    repeated = matrix.nnz - csr.nnz
    if repeated:
        raise DuplicateError(
            "a sparse matrix has several entries of one user and item",
            where=role,
            found=f"{repeated} such entries",
            hint="matrix.sum_duplicates() adds them up, as SciPy does",
        )


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

    users = list(source)
    items = _without_labels(users, list(source.values()), role)
    items, layout = _in_lists(items)
    examples = _example_of_each_type(items)
    _check_kinds(users, items, examples, role)
    lengths = _lengths(users, items, role)
    first = next((value for value, n in zip(items, lengths, strict=True) if n), None)
    if len({isinstance(example, Mapping) for example in examples.values()}) > 1:
        _check_alike(users, items, first, role)

    ids = _repeated(id_series("user", users, role), lengths)
    flat, numbers = list(chain.from_iterable(items)), None
    if isinstance(first, Mapping):
        layout = "{user: {item: number}}"
        numbers = list(chain.from_iterable(value.values() for value in items if len(value)))
    elif flat and record_of(flat[0]) is not None:
        return _records_by_user(ids, flat, role), "records by user"
    elif flat and isinstance(flat[0], tuple | list):
        layout = "{user: [(item, number)]}"
        flat, numbers = _pairs(flat, role)

    frame = pl.DataFrame({"user": ids, "item": id_series("item", flat, role)})
    if numbers is not None:
        frame = frame.with_columns(number_series(_number_column(role), numbers, role))
    return frame, layout


def _in_lists(items: list[Any]) -> tuple[list[Any], str]:
    """Put items that stand alone into lists; also return the layout."""
    single = {kind for kind in _example_of_each_type(items) if _is_id(kind)}
    if not single:
        return items, "{user: [items]}"
    return [[value] if type(value) in single else value for value in items], "{user: item}"


def _example_of_each_type(values: Sequence[Any]) -> dict[type, Any]:
    """Return a value of each type: checks need no look at all values."""
    return dict(zip(map(type, values), values, strict=True))


def _without_labels(users: Sequence[Any], items: list[Any], role: TableRole) -> list[Any]:
    """Convert labelled series of users to lists, or to dicts of item to number.

    Raises if labels may be items or not, and for frames.
    """
    kinds = {*map(type, items)}
    for kind in kinds:
        user, value = next(
            (user, value) for user, value in zip(users, items, strict=True) if type(value) is kind
        )
        refuse_frame_by_user(user, value, role)
    if not any(map(is_series, kinds)):
        return items
    return [
        read_labelled(value, role, f"user {user!r}") if is_series(type(value)) else value
        for user, value in zip(users, items, strict=True)
    ]


def _lengths(users: Sequence[Any], items: Sequence[Any], role: TableRole) -> list[int]:
    """Return how many items each user has; raise for arrays of no dimension, which have none."""
    try:
        return list(map(len, items))
    except TypeError:
        user, value = next(
            (u, v) for u, v in zip(users, items, strict=True) if not getattr(v, "ndim", 1)
        )
        raise _no_items(user, value, role) from None


def _no_items(user: Any, value: Any, role: TableRole) -> InputError:
    return InputError(
        f"{role}: each user needs an item or a list of items",
        where=f"user {user!r}",
        found=f"{value!r} ({type(value).__name__})",
    )


def _repeated(ids: pl.Series, lengths: list[int]) -> pl.Series:
    """Repeat each id by its length: whole numbers directly, other ids by row number."""
    if ids.dtype == pl.Int64 and not ids.null_count():
        return pl.Series(ids.name, np.repeat(ids.to_numpy(), lengths))
    return ids.gather(np.repeat(np.arange(len(ids)), lengths))


def _records_by_user(users: pl.Series, records: list[Any], role: TableRole) -> pl.DataFrame:
    """Return one row per record, with the columns by name and the user."""
    rows = _as_records(records)
    if rows is None:
        odd = next(record for record in records if record_of(record) is None)
        raise InputError(
            f"{role}: lists hold items, (item, number) pairs or records, and these hold several of "
            "them",
            found=f"{records[0]!r} and {odd!r}",
        )
    frame = from_mapping_of_columns(columns_of(rows), role)
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
    ids = _ids_of_role(role)
    columns = _columns_of_ids(source, role, ids)
    if len(columns) < len(ids) or not all(_is_column(source[name]) for name in columns):
        if role == "items":
            raise InputError(
                "items: a mapping is read as columns by name, one of them the item",
                found=f"keys {', '.join(map(repr, list(source)[:5]))}",
                hint='pass {"item": [...], "genres": [...]}, a table, or the ids of the catalogue',
            )
        return None

    lengths = {name: len(source[name]) for name in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{role}: this is read as columns by name, which have one length; or as users called "
            f"{' and '.join(map(repr, columns))}, each with a list",
            found=", ".join(f"{name!r}: {length} values" for name, length in lengths.items()),
            hint="pass a table, which is unambiguous",
        )
    return from_mapping_of_columns(source, role)


def _ids_of_role(role: TableRole) -> list[str]:
    """Return the columns of ids that a table of a role has at least."""
    if role in ("users", "items"):
        return [role[:-1]]
    return ["item"] if role in LOG_ROLES else ["user", "item"]


def _columns_of_ids(source: Mapping[Any, Any], role: TableRole, ids: Sequence[str]) -> list[str]:
    """Return the keys of a mapping that are names of columns of ids, or hold lists beside a user."""
    has_names = any(issubclass(kind, str) for kind in {*map(type, source)})
    names = [name for name in source if isinstance(name, str)] if has_names else []
    if not may_have_names(names, role, ids):
        return []  # of users, mostly
    columns = [name for column in ids for name in names_of(names, role, column)]
    if len(columns) == 1 and len(ids) == 2 and names_of(columns, role, "user"):
        columns += [name for name in names if name not in columns and _holds_lists(source[name])]
    return columns


def from_mapping_of_columns(source: Mapping[Any, Any], where: str) -> pl.DataFrame:
    """Convert ``{name: values}`` to a frame; values of mixed types become objects."""
    columns = [_series_of(str(name), values, where) for name, values in source.items()]
    try:
        return pl.DataFrame(columns)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{where}: these columns do not make a table", found=str(error).splitlines()[0]
        ) from error


def _series_of(name: str, values: Any, where: str) -> pl.Series:
    """Convert values to a column; whole numbers mixed with floats become floats, also in lists.

    Values that have no type in common stay Python's objects: `unreadable` is raised if the column
    is needed.
    """
    column = _values(values)
    _check_no_padding(name, column, where)
    if isinstance(column, list) and _is_named_tuple(_first_value(column)):
        column = [_as_mapping(value) for value in column]

    first = _first_value(column) if isinstance(column, list) else None
    if isinstance(first, list | tuple | np.ndarray):
        return _lists_of(name, column, where)
    if isinstance(first, Mapping) and _all_are(Mapping, column):
        return _records_of(name, column, where)
    try:
        return pl.Series(name, column)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if _all_are(Real, column):
            return number_series(name, column, where)
        return pl.Series(name, list(column), dtype=pl.Object)


def _check_no_padding(name: str, column: Any, where: str) -> None:
    """Raise if rows of an array in a column hold -1, as padding does."""
    if not isinstance(column, np.ndarray) or column.ndim != 2 or column.dtype.kind != "i":
        return
    n_padding = int((column == -1).sum())
    if n_padding:
        raise InputError(
            f"{where}: the rows of an array in a column are lists of one length, and -1 is no item",
            where=f"column {name!r}",
            found=f"{n_padding} times -1",
            hint="if it is padding, pass lists without it: [row[row != -1].tolist() for row in "
            "array]",
        )


def _first_value(column: list[Any]) -> Any:
    """Return the first value that is not None, or None."""
    return next((value for value in column if value is not None), None)


def _is_named_tuple(value: Any) -> bool:
    """Return whether a value is a named tuple."""
    return isinstance(value, tuple) and record_of(value) is not None


def _all_are(kind: type, column: Iterable[Any]) -> bool:
    """Return whether all values that are not None are of a kind."""
    return all(value is None or isinstance(value, kind) for value in column)


def _lists_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of lists.

    Polars takes the type of the first list for all of them: fractions in others would be cut off.
    """
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in column]
    if _holds_records(lists):
        lists = [
            None if value is None else [_as_mapping(record) for record in value] for value in lists
        ]
    if any(value is not None and not isinstance(value, list | tuple) for value in lists):
        return pl.Series(name, column, dtype=pl.Object)
    flat = _series_of(
        name, list(chain.from_iterable(value for value in lists if value is not None)), where
    )
    if flat.dtype == pl.Object:
        return pl.Series(name, column, dtype=pl.Object)
    rows = pl.DataFrame({"row": np.arange(len(lists)), "gap": [value is None for value in lists]})
    owner = np.repeat(np.arange(len(lists)), [len(value or ()) for value in lists])
    grouped = (
        pl.DataFrame({"row": owner, "list": flat}).group_by("row", maintain_order=True).agg("list")
    )
    grouped = rows.join(grouped, on="row", how="left", maintain_order="left")
    made = pl.when(pl.col("gap").not_()).then(pl.col("list").fill_null([]))
    return grouped.select(made.alias(name))[name]


_NESTED = (list, tuple, np.ndarray)
_COLUMN = (list, np.ndarray)


def _first_of(cells: Iterable[Any]) -> Any:
    """Return the first value that is no gap, which tells of all; None if there is none."""
    return next((cell for cell in cells if not _is_gap(cell)), None)


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def _holds_records(column: Collection[Any]) -> bool:
    """Return whether lists hold records whose fields have names: named tuples, or Spark's rows."""
    nested = {kind for kind in {*map(type, column)} if issubclass(kind, _NESTED)}
    first = (
        next((value for value in column if type(value) in nested and len(value)), [None])
        if nested
        else [None]
    )
    return _is_named_tuple(first[0])


def _as_mapping(record: Any) -> Any:
    fields = record_of(record)
    return record if fields is None else fields


def _as_records(rows: Collection[Any]) -> list[Mapping[Any, Any]] | None:
    """Return rows as mappings of field names to values; None if a row has no field names."""
    records = [record_of(row) for row in rows]
    named = [record for record in records if record is not None]
    return named if len(named) == len(records) else None


def _records_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of records, each of whose fields is read as a column is."""
    fields = dict.fromkeys(chain.from_iterable(value for value in column if value is not None))
    if not all(isinstance(field, str) for field in fields):
        return _maps_of(name, column, where)
    values = {str(field): [(value or {}).get(field) for value in column] for field in fields}
    columns = [_series_of(field, cells, where) for field, cells in values.items()]
    if not columns or any(one.dtype == pl.Object for one in columns):
        return pl.Series(name, column, dtype=pl.Object)
    return pl.DataFrame(columns).to_struct(name)


def _maps_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Convert dicts whose keys are not field names to lists of entries with a key and a value."""
    entries = [
        None if value is None else [{"key": key, "value": number} for key, number in value.items()]
        for value in column
    ]
    return _lists_of(name, entries, where)


def refuse_tuples(
    columns: Mapping[Any, Any], role: TableRole, overrides: Mapping[str, str | None]
) -> None:
    """Raise if a column of ids holds tuples, each of which may be one id of several parts.

    Polars and Arrow have no tuples: they would become lists of items.
    """
    for name, values in columns.items():
        plain = str(name)
        is_id = plain in (overrides.get("user"), overrides.get("item")) or any(
            names_of([one], role, column)
            for one in (plain, plain.removesuffix("s"))
            for column in ("user", "item")
            if column in ROLES[role]
        )
        if not is_id:
            continue
        cells = values.values() if isinstance(values, Mapping) else values
        for row, cell in enumerate(cells, start=1):
            if isinstance(cell, tuple):
                raise parts_of_id(cell, f"{role}, column {plain!r}, row {row}")
            if not _is_gap(cell):
                break  # the first that is no gap tells of all


def parts_of_id(value: Sequence[Any], where: str) -> IdError:
    """Return the error for an id of several parts, such as the codes of a semantic id."""
    return IdError(
        "ids are integers or strings, and this is a tuple",
        where=where,
        found=repr(value)[:80],
        hint='join its codes into one text, "-".join(map(str, codes)); if it is a list of items, '
        "make it a list",
    )


def _is_column(values: object) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes | set | frozenset)


def _holds_lists(values: object) -> bool:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return True
    return (
        isinstance(values, list | tuple)
        and bool(values)
        and isinstance(values[0], list | tuple | np.ndarray)
    )


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


def _is_id(kind: type) -> bool:
    """Return whether values of a type are one id, which stands for a list of one."""
    return issubclass(kind, str | int | np.integer) and not issubclass(kind, bool)


def _pairs(flat: list[Any], role: TableRole) -> tuple[list[Any], list[Any]]:
    """Return the first and the second values of pairs."""
    if not all(issubclass(kind, tuple | list) for kind in {*map(type, flat)}) or {
        *map(len, flat)
    } != {2}:
        parts = next((pair for pair in flat if isinstance(pair, tuple) and len(pair) > 2), None)
        if parts is not None:
            raise parts_of_id(parts, role)
        raise InputError(
            f"{role}: lists hold items or (item, number) pairs, not both",
            found=repr(
                next(pair for pair in flat if not isinstance(pair, tuple) or len(pair) != 2)
            ),
        )
    return [item for item, _ in flat], [number for _, number in flat]


def _check_kinds(
    users: Sequence[Any], items: Sequence[Any], examples: Mapping[type, Any], role: TableRole
) -> None:
    """Raise if a user's value has an unreadable type, or is a set where order matters."""
    for kind, example in examples.items():
        if is_masked(example):
            raise masked(role)
        is_record = not isinstance(example, Mapping) and record_of(example) is not None
        readable = not isinstance(example, bytes) and hasattr(example, "__len__") and not is_record
        if readable and not (role in RANKED and isinstance(example, set | frozenset)):
            continue
        user, value = next(
            (user, value) for user, value in zip(users, items, strict=True) if type(value) is kind
        )
        if readable:
            raise InputError(
                f"{role}: a set has no order",
                where=f"user {user!r}",
                hint="pass a list, best first, or (item, score) pairs",
            )
        raise _no_items(user, value, role)
    if tuple in examples:
        _refuse_two_columns(users, items, role)


def _refuse_two_columns(users: Sequence[Any], items: Sequence[Any], role: TableRole) -> None:
    """Raise if a user's value may be a pair of lists, items and numbers, as models return them."""
    for user, value in zip(users, items, strict=True):
        if (
            type(value) is not tuple
            or len(value) != 2
            or not all(isinstance(part, _COLUMN) for part in value)
        ):
            continue
        if all(len(part) == len(value[0]) for part in value) and all(
            _is_id(type(item)) for item in value[0]
        ):
            raise InputError(
                f"{role}: these two lists may be the items and their numbers, or two (item, "
                "number) pairs",
                where=f"user {user!r}",
                found=repr(value)[:80],
                hint="pass pairs as tuples in a list: [(item, number), …]; of two lists: "
                "list(zip(items, numbers))",
            )


def _check_alike(users: Sequence[Any], items: Sequence[Any], first: Any, role: TableRole) -> None:
    """Raise if users have lists and dicts of numbers mixed."""
    for user, value in zip(users, items, strict=True):
        if len(value) and isinstance(value, Mapping) != isinstance(first, Mapping):
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
        # An integer beyond 128 bits, or text that is no Unicode, if there is only one type.
        reason = f": {str(error).splitlines()[0]}" if len(types) == 1 else ""
        raise IdError(
            "ids are integers or strings, and all of one kind",
            where=f"{role}, {column}",
            found=" and ".join(types) + reason,
        ) from None


def number_series(column: str, values: list[Any], where: str) -> pl.Series:
    """Convert numbers to a column of floats; raise if a value is not a number."""
    try:
        if {*map(type, values)} <= {int, float}:
            number = pl.Series(column, np.array(values, dtype=np.float64))
        else:
            number = pl.Series(
                column, [None if value is None else float(value) for value in values], pl.Float64
            )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: the {column} must be a number", found=str(error).splitlines()[0]
        ) from error
    check_exact(values, number, column, where)
    return number


def types_of_rows(source: Sequence[Any]) -> set[type]:
    """Return the types of rows that are all tuples or records; an empty set for any other list."""
    types = {*map(type, source)}
    return (
        types if all(issubclass(kind, tuple) or holds_records([kind]) for kind in types) else set()
    )


def from_rows(
    source: Sequence[Any], kinds: Collection[type], role: TableRole
) -> tuple[pl.DataFrame, str]:
    """Convert rows, tuples or records by name, to a frame; also return the name of their layout."""
    records = _as_records(source) if holds_records(kinds) else None
    if records is not None:
        return from_mapping_of_columns(columns_of(records), role), "records"
    _refuse_rows_of_frames(source, role)
    if not all(issubclass(kind, tuple) for kind in kinds) or {*map(len, source)} not in ({2}, {3}):
        odd = next(
            (row for row in source if not isinstance(row, tuple) or len(row) not in (2, 3)),
            source[0],
        )
        raise InputError(
            f"{role}: rows are tuples (user, item), or (user, item, number), all of one length",
            found=repr(odd)[:80],
            hint="a list for each user is a list, not a tuple",
        )
    users, items = ([row[at] for row in source] for at in (0, 1))
    frame = pl.DataFrame(
        {"user": id_series("user", users, role), "item": id_series("item", items, role)}
    )
    if len(source[0]) == 2:
        return frame, "[(user, item)]"
    numbers = number_series(_number_column(role), [row[2] for row in source], role)
    return frame.with_columns(numbers), "[(user, item, number)]"


def _refuse_rows_of_frames(source: Sequence[Any], role: TableRole) -> None:
    """Raise for the rows of `iterrows`, each of which is a label and a series."""
    first = source[0]
    if isinstance(first, tuple) and any(is_series(type(cell)) for cell in first):
        raise InputError(
            f"{role}: rows of a frame are read from the frame",
            found="tuples of a label and a series",
            hint="pass the frame itself, or [*df.itertuples(index=False)]",
        )


def columns_of(records: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return records as columns by name, None where a record lacks a field."""
    rows = [_as_mapping(record) for record in records]
    return {
        name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))
    }


def from_document(document: Any, where: str) -> pl.DataFrame:
    """Return a JSON document as a frame: records, one record, columns, or a mapping by user.

    The numbers of ``{user: {item: number}}`` are in a column ``score``, which also says relevance.
    """
    if isinstance(document, list) and types_of_rows(document):
        return from_mapping_of_columns(columns_of(document), where)
    if isinstance(document, dict) and document:
        names = list(document)
        user = names_of(names, "truth", "user")
        if user and not isinstance(document[user[0]], list | dict):
            return from_mapping_of_columns(columns_of([document]), where)
        try:
            return from_mapping(document, "recommendations")[0]
        except InputError as error:
            raise FileError(error.what, where=where, found=error.found, hint=error.hint) from error
    raise FileError(
        "this JSON does not hold a table",
        where=where,
        found=f"{type(document).__name__}: {str(document)[:60]}",
        hint='write records [{"user": …, "item": …}, …], or {user: [items]}, or {user: {item: '
        "number}}",
    )


QRELS = "relevance judgements (qrels)"
_GAPS = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""What programs write into columns of numbers where there is none, in lower case."""
_WORTH_THREADS = 1 << 18
NUMBERS = (
    "rank",
    "score",
    "relevance",
    "weight",
    "position",
    "propensity",
    "probability",
    "reward",
)
"""The columns that hold numbers."""
KEEP_OTHERS = ("users", "items", "interactions", *LOG_ROLES)
"""Roles of tables that keep their other columns: groups, categories, sessions, …."""


def as_table(
    frame: pl.DataFrame,
    role: TableRole,
    source: str,
    layout: str,
    columns: dict[str, str] | None = None,
    counts: Mapping[str, int] | None = None,
    unread: tuple[str, ...] = (),
) -> Table:
    """Return a frame with standard column names as the table of a role."""
    columns = {name: name for name in frame.columns} if columns is None else columns
    if role == "recommendations":
        return Recommendations(
            frame, role, source, layout, columns, unread=unread, counts=counts or {}
        )
    return Table(frame, role, source, layout, columns, unread=unread)


def in_one_piece(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns are each in one piece of memory, as arrays need them.

    Readers of files leave a hundred pieces, which every look as an array would join again.
    """
    if max(frame.n_chunks("all"), default=1) == 1:
        return frame
    threads = default_threads() if len(frame) >= _WORTH_THREADS else 1
    columns = each(pl.Series.rechunk, frame.get_columns(), threads)
    return pl.DataFrame(dict(zip(frame.columns, columns, strict=True)))


def from_arrow(source: Any, name: str) -> pl.DataFrame:
    """Return a table of any library with the Arrow PyCapsule interface as a Polars table."""
    if isinstance(source, pl.DataFrame):  # as its owner made it
        return source
    frame = readable_columns(source, name)
    column = next((column for column in frame if column.dtype == pl.Object), None)
    if column is not None:
        raise unreadable(column, name)
    return frame


def readable_columns(source: Any, name: str) -> pl.DataFrame:
    """Convert a table as `from_arrow` does; columns that Polars cannot read become objects.

    Whoever does not need such a column can do without it.
    """
    if isinstance(source, pl.DataFrame):
        return source
    if hasattr(source, "reset_index"):
        return _of_pandas(source, name)
    try:
        return source.collect() if isinstance(source, pl.LazyFrame) else pl.DataFrame(source)
    except (Exception, pl.exceptions.PanicException) as error:
        if hasattr(source, "column_names") and hasattr(source, "to_pydict"):  # a table of PyArrow
            return pl.DataFrame([_column(source.select([one]), one) for one in source.column_names])
        is_lazy = isinstance(source, pl.LazyFrame)
        if not is_lazy and isinstance(error, TypeError | ValueError | pl.exceptions.PolarsError):
            raise InputError(
                "a column of this table is of a type that cannot be read",
                where=name,
                found=str(error).splitlines()[0],
                hint="select the columns that are needed, or cast it to integers, floats or text",
            ) from error
        # A lazy relation of another library, such as DuckDB's, that fails; 256-bit numbers panic.
        lines = str(error).splitlines()
        raise InputError(
            "this query fails when it runs",
            where=name,
            found=lines[0] if lines else type(error).__name__,
            hint="collect it first, and check the result",
        ) from error


def _of_pandas(source: Any, name: str) -> pl.DataFrame:
    """Convert a pandas frame, column by column if a column cannot be read."""
    if not source.columns.is_unique:
        twice = source.columns[source.columns.duplicated()][0]
        raise ColumnError(
            f"two columns are called {twice!r}", where=name, hint="rename or drop one of them"
        )
    source = _dense(_with_index(source, name))
    objects = [
        column
        for column, dtype in source.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind == "O"
    ]
    nested = [
        column for column in objects if isinstance(_first_of(source[column].to_numpy()), _NESTED)
    ]
    records = [column for column in nested if _holds_records(source[column].to_numpy())]
    # Whatever other libraries raise of their types; ImportError of pandas' text, without PyArrow.
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not records:
            texts = {
                column: text for column in objects if (text := _text(source[column])) is not None
            }
            rest = pl.DataFrame(source.drop(columns=[*texts]))
            return rest.with_columns(texts.values()).select(map(str, source.columns))
    return pl.DataFrame([_column(source[[column]], column) for column in source])


def _text(column: Any) -> pl.Series | None:
    """Return an object column of text without pandas' slow gap search; None if not all text."""
    with contextlib.suppress(TypeError):
        values = column.to_numpy()
        text = pl.Series(str(column.name), values) if isinstance(_first_of(values), str) else None
        return (
            text if text is not None and text.dtype == pl.String else None
        )  # objects where None comes first
    return None


def _column(source: Any, name: Any) -> pl.Series:
    """Return the only column of a table, gaps in text as nulls; mixed types become objects."""
    column = source[name]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    with contextlib.suppress(Exception, pl.exceptions.PanicException):
        if not _holds_records(values):
            return pl.DataFrame(source).to_series()
    if hasattr(column, "isna") and any(isinstance(value, str) for value in values):
        values = [
            None if gap else value
            for value, gap in zip(values, column.isna().to_list(), strict=True)
        ]
    return _series_of(str(name), values, str(name))


def _dense(source: Any) -> Any:
    """Convert sparse columns of a pandas frame to dense columns, as Arrow has no sparse type."""
    sparse = [column for column, dtype in source.dtypes.items() if hasattr(dtype, "fill_value")]
    return (
        source.assign(**{column: source[column].sparse.to_dense() for column in sparse})
        if sparse
        else source
    )


def _with_index(source: Any, where: str) -> Any:
    """Convert named index levels of a pandas frame to columns; unnamed levels are row numbers.

    An index of times needs no name where no column holds the times.
    """
    source = with_distinct_levels(source, where)
    if type(source.index).__name__ == "DatetimeIndex" and source.index.name is None:
        times = names_of([*map(str, source.columns)], "interactions", "timestamp")
        source = source if times else source.rename_axis("timestamp")
    names = [name for name in source.index.names if isinstance(name, str)]
    twice = [name for name in names if name in source.columns]
    for name in twice:
        if not (source.index.get_level_values(name).to_numpy() == source[name].to_numpy()).all():
            raise ColumnError(
                f"the index and a column are both called {name!r}, and differ",
                where=where,
                hint="rename one of them, or drop the index: df.reset_index(drop=True)",
            )
    levels = [name for name in names if name not in twice]
    return source.reset_index(level=levels) if levels else source


def series_as_frame(
    source: Any, role: TableRole, overrides: Mapping[str, str | None]
) -> tuple[pl.DataFrame | dict[Any, Any], Mapping[str, str | None]]:
    """Return a pandas Series as a mapping by user, or as a frame if its index has several levels.

    Also the names of columns that the caller has chosen, with that of the values: a Series has one
    column of values, which needs no usual name to be the score or the relevance.
    """
    if source.index.nlevels == 1:
        _check_user_level(source.index, role)
        if source.index.is_unique:
            return dict(zip(source.index, source, strict=True)), overrides
        rows = list(zip(source.index, source, strict=True))  # one row per interaction
        return from_rows(rows, [tuple], role)[0], overrides
    number = _number_column(role)
    name = number if source.name is None else str(source.name)
    frame = readable_columns(with_levels(source, name, role), role)
    _check_level_names([*source.index.names], frame.columns, role, overrides)
    is_known = (
        any(names_of([name], role, column) for column in ROLES[role]) or name in overrides.values()
    )
    if is_known or number in overrides or number not in ROLES[role]:
        return frame, overrides
    return frame, {**overrides, number: name}


def _check_level_names(
    levels: list[Any], columns: list[str], role: TableRole, overrides: Mapping[str, str | None]
) -> None:
    """Raise if unnamed index levels of a Series may hold the users or items."""
    missing = [
        one for one in ("user", "item") if one not in overrides and not names_of(columns, role, one)
    ]
    if not missing or levels.count(None) < len(missing):
        return
    names = iter(missing)
    named = [
        next(names, f"level_{at}") if level is None else level for at, level in enumerate(levels)
    ]
    raise ColumnError(
        "levels of the index of a Series have no names, and one of them should be the "
        + " and one the ".join(missing),
        where=role,
        found=f"levels {levels}",
        hint=f"name them, in their order: series.rename_axis({named})",
    )


def _check_user_level(index: Any, role: TableRole) -> None:
    """Raise if the only level of the index of a Series has a name that users do not have."""
    name = index.name
    if not isinstance(name, str) or names_of([name], role, "user"):
        return
    columns = [column for column in ROLES[role] if column not in ("user", "timestamp")]
    column = next((column for column in columns if names_of([name], role, column)), None)
    if column is not None:
        raise ColumnError(
            f"the index of a Series holds users, and this one is called {name!r}, as the {column} "
            "is",
            where=role,
            hint="pass a frame: series.reset_index(), with a column for the user; or rename it: "
            'series.rename_axis("user")',
        )


def from_frame(
    frame: pl.DataFrame,
    role: TableRole,
    overrides: Mapping[str, str | None],
    source: str,
    layout: str,
) -> Table:
    """Return a frame with named columns as the table of a role.

    Raises
    ------
    ColumnError
        If a column is missing, ambiguous, or of an unsuitable type; or if no column orders the
        lists, or defines relevance, although a column of numbers could.
    """
    names, whole = frame.columns, frame
    if role not in KEEP_OTHERS:
        frame, names = one_row_per_item(frame, role, overrides, source)
    _refuse_lists_in_text(frame, role, overrides, source)

    columns = recognise(frame.columns, role, overrides, source)
    _check_decided(frame, role, columns, could_decide(names, role, columns, overrides), source)

    kept, unread = _columns_kept(frame, role, columns, source)
    out = _with_floats(pl.DataFrame(kept), columns, source)
    table = as_table(out, role, source, layout, columns, unread=tuple(unread))
    if whole is frame or "request" not in columns:
        return table
    requests = whole.select(pl.col(columns[name]).alias(name) for name in ("user", "request"))
    return replace(table, empty_lists=requests.join(out, on=["user", "request"], how="anti"))


def _refuse_lists_in_text(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None], source: str
) -> None:
    """Raise if a column holds lists of items that are written as text."""
    text = list_in_text(frame, role, overrides)
    if text is not None:
        raise ColumnError(
            f"column {text!r} holds lists that are written as text",
            where=source,
            found=repr(frame[text].drop_nulls()[0])[:80],
            hint=f'columns={{"item": {text!r}}} reads lists in square brackets; write ids without '
            "brackets",
        )


def _check_decided(
    frame: pl.DataFrame,
    role: TableRole,
    columns: Mapping[str, str],
    candidates: Iterable[str],
    source: str,
) -> None:
    """Raise if a column of numbers could order the lists, or define relevance, and none does.

    ``candidates`` are the columns whose names do not tell.
    """
    deciding = [name for name in candidates if _holds_numbers(frame[name])]
    if not deciding:
        return
    if role != "truth" and any(name.lower() in ("iteration", "iter") for name in deciding):
        raise swapped(QRELS, role, source, frame.columns)
    ranks: list[str] = []
    if "rank" in ROLES[role]:
        ranks = [name for name in deciding if _counts_up(frame, columns["user"], name)]
    raise undecided(role, deciding, source, ranks)


def _columns_kept(
    frame: pl.DataFrame, role: TableRole, columns: Mapping[str, str], source: str
) -> tuple[dict[str, pl.Series], list[str]]:
    """Return the columns of a table by their names here, and the names of those not read."""
    kept = {column: frame[name] for column, name in columns.items()}
    if EVENT in kept:
        kept[EVENT] = as_labels(kept[EVENT], source)
    for column in kept.values():
        if column.dtype == pl.Object:
            raise unreadable(column, source)

    unread = [name for name in frame.columns if name not in columns.values()]
    if role not in KEEP_OTHERS:
        return kept, unread
    free = [name for name in unread if name not in columns]  # not called as a column in its place
    kept |= {name: frame[name] for name in free if frame.schema[name] != pl.Object}
    return kept, [name for name in unread if name in columns or name not in kept]


def _with_floats(frame: pl.DataFrame, columns: Mapping[str, str], source: str) -> pl.DataFrame:
    """Return a frame whose columns of numbers are floats, except whole ranks, and text as it is."""
    for column in NUMBERS:
        if column not in columns or frame[column].dtype == pl.String:
            continue
        if column != "rank" or frame[column].dtype.is_decimal():
            frame = frame.with_columns(_as_float(frame[column], columns[column], source))
    return frame


def swapped(content: str, role: TableRole, source: str, names: Iterable[str]) -> InputError:
    """Return the error for ranked lists in the place of the ground truth, or for the reverse."""
    return InputError(
        f"this table holds {content}, and is passed as the {role}",
        where=source,
        found=f"columns {', '.join(names)}",
        hint="are the recommendations and the ground truth swapped?",
    )


def _counts_up(frame: pl.DataFrame, user: str, name: str) -> bool:
    """Return whether a column has the numbers 1 to n, or 0 to n - 1, in the list of each user."""
    if frame.schema[name].is_nested():
        return False
    numbers = frame[name].cast(pl.Float64, strict=False)
    lists = pl.DataFrame({"user": frame[user], "rank": numbers}).group_by("user")
    ends = lists.agg(
        first=pl.min("rank"), last=pl.max("rank"), rows=pl.len(), distinct=pl.n_unique("rank")
    )
    counted = (pl.col("last") - pl.col("first") + 1 == pl.col("rows")) & (
        pl.col("distinct") == pl.col("rows")
    )
    starts = ends["first"].unique().to_list()
    return (
        not numbers.null_count()
        and starts in ([0.0], [1.0])
        and bool(ends.select(counted.all()).item())
    )


def _holds_numbers(column: pl.Series) -> bool:
    """Return whether a column, or its lists, have numbers; of text all, with commas and gaps.

    Text with one other word holds names, of which some are numbers, such as titles.
    """
    if isinstance(column.dtype, pl.List | pl.Array):
        column = column.explode(empty_as_null=False)
    if column.dtype != pl.String:
        return column.dtype.is_numeric() or column.dtype == pl.Boolean
    text = column.str.strip_chars()
    text = text.filter(~text.str.to_lowercase().is_in(_GAPS))
    number = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return len(text) > 0 and (is_truth_values(text) or not number.null_count())


def is_truth_values(text: pl.Series) -> bool:
    """Return whether all values of a text column are true or false, as pandas writes booleans."""
    return bool(text.str.contains("(?i)^(true|false)$").all()) and not text.null_count()


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(
            f"column {name!r} does not hold numbers", where=source, found=str(column.dtype)
        )
    number = column.cast(pl.Float64)
    if (
        column.dtype == pl.Float16
    ):  # has three digits: the decimal number that they write is what was stored
        halves = column.unique().drop_nulls()
        decimals = [float(str(value)) for value in halves.to_numpy()]
        number = column.replace_strict(halves, decimals, default=None, return_dtype=pl.Float64)
    if column.dtype.is_integer() or column.dtype.is_decimal():
        check_exact(column, number, name, source)
    return number


def with_integers(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are integers, if all values are written as integers."""
    for name in names:
        if frame.schema[name] == pl.String and frame[name].str.contains(WHOLE_NUMBER).all():
            number = frame[name].cast(pl.Int64, strict=False)
            frame = frame if number.null_count() else frame.with_columns(number)
    return frame


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a frame whose columns of text are numbers, if all values are numbers."""
    for name in names:
        column = frame[name]
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count():
            frame = frame.with_columns(number)
    return frame
